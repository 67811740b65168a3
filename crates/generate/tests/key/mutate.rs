//! Operators of nothing that makes sense, and changes of one field of any operator.

use fastrand::Rng;
use warpsight_generate::expr::{
    Across, Axis, AxisId, Coefficients, Combine, Index, Operator, Reduction, Role, ScalarExpr, Tensor, TensorExpr,
};
use warpsight_ir::text::Word;
use warpsight_ir::{BinaryOp, Scalar, UnaryOp};

const ROLES: [Role; 3] = [Role::Activation, Role::Weight, Role::Output];
const NUMBERS: [i64; 8] = [0, 1, 2, -1, 255, 256, i64::MAX, i64::MIN];
const COEFFICIENTS: [i64; 7] = [1, 2, -1, 255, 256, i32::MAX as i64, i32::MIN as i64];
const AXES: [usize; 5] = [0, 1, 2, 3, usize::MAX];
const CONSTANTS: [f64; 8] = [0.0, -0.0, 1.0, 0.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MIN_POSITIVE];

/// What [`mutate`] changes, in alphabetical order.
pub const FIELDS: [&str; 44] = [
    "across",
    "along",
    "axes",
    "axes to reduce",
    "axis of a term",
    "before",
    "binary",
    "body",
    "clipped",
    "coefficient",
    "coefficients",
    "combine",
    "constant",
    "constant of a form",
    "dimension found",
    "element",
    "epilogue",
    "extent",
    "extent of a reduction",
    "factor",
    "factors",
    "forms of a load",
    "forms of what is found",
    "inputs",
    "kept",
    "made across",
    "number before",
    "operands",
    "padded",
    "reduce",
    "role",
    "round",
    "shape",
    "sides",
    "steps",
    "store",
    "tensor",
    "tensor looked into",
    "tensor of a load",
    "terms",
    "terms of the next form",
    "unary",
    "what is found",
    "which node",
];

fn pick<T: Copy>(rng: &mut Rng, all: &[T]) -> T {
    all[rng.usize(..all.len())]
}

fn few<T>(rng: &mut Rng, most: usize, mut one: impl FnMut(&mut Rng) -> T) -> Vec<T> {
    (0..rng.usize(..=most)).map(|_| one(rng)).collect()
}

/// An operator that obeys no rule, from so few values that two are sometimes the same.
pub fn wild(rng: &mut Rng) -> Operator {
    // Most are tiny: those meet by chance.
    let most = pick(rng, &[0, 1, 3]);
    let mut steps = few(rng, most, |rng| expression(rng, most));
    if steps.is_empty() {
        steps.push(expression(rng, most));
    }
    Operator { kind: "wild".into(), steps }
}

fn expression(rng: &mut Rng, most: usize) -> TensorExpr {
    TensorExpr {
        name: "e".into(),
        inputs: few(rng, most, tensor),
        output: tensor(rng),
        axes: few(rng, most, axis),
        reduce: few(rng, most, axis),
        before: few(rng, most.min(1), reduction),
        combine: pick(rng, &COMBINED),
        coefficients: few(rng, most.min(1), coefficients).pop(),
        body: scalar(rng, most),
        epilogue: scalar(rng, most),
        store: few(rng, most, index),
        across: few(rng, most.min(1), across).pop(),
        clipped: rng.bool(),
    }
}

const COMBINED: [Combine; 4] = [Combine::Sum, Combine::Max, Combine::Product, Combine::Each];

fn reduction(rng: &mut Rng) -> Reduction {
    Reduction { combine: pick(rng, &COMBINED), body: scalar(rng, 1), epilogue: scalar(rng, 1), kept: rng.bool() }
}

fn across(rng: &mut Rng) -> Across {
    Across { along: AxisId(rng.usize(..2)), made: few(rng, 2, reduction), epilogue: scalar(rng, 1) }
}

fn coefficients(rng: &mut Rng) -> Coefficients {
    Coefficients { values: few(rng, 2, |rng| pick(rng, &CONSTANTS)).into(), at: index(rng) }
}

fn tensor(rng: &mut Rng) -> Tensor {
    let (element, role) = (pick(rng, Scalar::ALL), pick(rng, &ROLES));
    Tensor { name: pick(rng, &["a", "b", "c", "d"]).into(), shape: few(rng, 2, |rng| pick(rng, &NUMBERS)), element, role, values: None }
}

fn axis(rng: &mut Rng) -> Axis {
    Axis { name: "x".into(), extent: pick(rng, &NUMBERS) }
}

fn index(rng: &mut Rng) -> Index {
    let axes = [rng.usize(..2), 2 + rng.usize(..2)];
    let terms: Vec<_> = few(rng, 2, |_| ()).iter().zip(axes).map(|((), axis)| (AxisId(axis), pick(rng, &COEFFICIENTS))).collect();
    form(terms, pick(rng, &NUMBERS))
}

fn form(terms: Vec<(AxisId, i64)>, constant: i64) -> Index {
    Index::of(terms, constant).expect("each axis once")
}

fn terms(form: &Index) -> Vec<(AxisId, i64)> {
    form.terms().iter().map(|&(axis, coefficient)| (axis, i64::from(coefficient))).collect()
}

fn scalar(rng: &mut Rng, depth: usize) -> ScalarExpr {
    match rng.u8(..if depth == 0 { 6 } else { 14 }) {
        0 => ScalarExpr::Const(pick(rng, &CONSTANTS)),
        1 => ScalarExpr::Acc,
        2 | 3 => ScalarExpr::Load { tensor: rng.usize(..3), index: few(rng, 2, index), padded: rng.bool() },
        4 => ScalarExpr::Before(rng.usize(..2)),
        5 => ScalarExpr::Position(index(rng)),
        10 => ScalarExpr::select(scalar(rng, depth - 1), scalar(rng, depth - 1), scalar(rng, depth - 1)),
        11 => ScalarExpr::Gather { tensor: rng.usize(..3), index: few(rng, 2, index), found: few(rng, 2, |rng| found(rng, depth - 1)) },
        6 | 12 => ScalarExpr::unary(pick(rng, UnaryOp::ALL), scalar(rng, depth - 1)),
        7 => ScalarExpr::Round(pick(rng, Scalar::ALL), Box::new(scalar(rng, depth - 1))),
        _ => ScalarExpr::binary(pick(rng, BinaryOp::ALL), scalar(rng, depth - 1), scalar(rng, depth - 1)),
    }
}

fn found(rng: &mut Rng, depth: usize) -> (usize, ScalarExpr) {
    (rng.usize(..3), scalar(rng, depth))
}

/// Changes one field, every kind of field as likely as any other that the operator has, and says which.
pub fn mutate(rng: &mut Rng, operator: &mut Operator) -> &'static str {
    let mut walk = Walk { rng: rng.fork(), target: None, seen: vec![] };
    walk.operator(&mut operator.clone());
    let mut kinds = walk.seen.clone();
    kinds.sort_unstable();
    kinds.dedup();
    let what = pick(rng, &kinds);
    let places: Vec<usize> = (0..walk.seen.len()).filter(|&i| walk.seen[i] == what).collect();
    Walk { rng: rng.fork(), target: Some(pick(rng, &places)), seen: vec![] }.operator(operator);
    what
}

/// Visits every field in one order, and changes the one at `target`.
struct Walk {
    rng: Rng,
    target: Option<usize>,
    seen: Vec<&'static str>,
}

impl Walk {
    fn here(&mut self, what: &'static str) -> bool {
        self.seen.push(what);
        self.target == Some(self.seen.len() - 1)
    }

    fn value<T: Copy + PartialEq>(&mut self, what: &'static str, value: &mut T, all: &[T]) {
        if self.here(what) {
            let old = *value;
            *value = std::iter::repeat_with(|| pick(&mut self.rng, all)).find(|new| *new != old).expect("endless");
        }
    }

    /// One more, one fewer, or two that change places.
    fn list<T>(&mut self, what: &'static str, list: &mut Vec<T>, one: impl FnOnce(&mut Rng) -> T) {
        if self.here(what) {
            let count = list.len();
            match self.rng.u8(..3) {
                0 if count > 0 => drop(list.remove(self.rng.usize(..count))),
                1 if count > 1 => list.swap(0, self.rng.usize(1..count)),
                _ => list.insert(self.rng.usize(..=count), one(&mut self.rng)),
            }
        }
    }

    fn operator(&mut self, operator: &mut Operator) {
        self.list("steps", &mut operator.steps, |rng| expression(rng, 2));
        // Never two at once: what was just added or taken away ends the walk.
        if self.target == Some(0) {
            return;
        }
        let names: Vec<_> = operator.steps.iter().flat_map(|s| s.inputs.iter().chain([&s.output])).map(|t| t.name.clone()).collect();
        for step in &mut operator.steps {
            for tensor in step.inputs.iter_mut().chain([&mut step.output]) {
                // Which tensor it is: another one of the operator, or one of its own.
                if self.here("tensor") {
                    let old = tensor.name.clone();
                    tensor.name = self.rng.choice(&names).filter(|n| **n != old).cloned().unwrap_or_else(|| "fresh, never drawn".into());
                }
                self.list("shape", &mut tensor.shape, |rng| pick(rng, &NUMBERS));
                self.value("element", &mut tensor.element, Scalar::ALL);
                self.value("role", &mut tensor.role, &ROLES);
                for extent in &mut tensor.shape {
                    self.value("shape", extent, &NUMBERS);
                }
            }
            self.list("inputs", &mut step.inputs, tensor);
            for (what, list, axes) in [("extent", "axes", &mut step.axes), ("extent of a reduction", "reduce", &mut step.reduce)] {
                for axis in axes.iter_mut() {
                    self.value(what, &mut axis.extent, &NUMBERS);
                }
                self.list(list, axes, axis);
            }
            // The same numbers in the same order, parted elsewhere.
            if !step.axes.is_empty() && self.here("axes to reduce") {
                step.reduce.splice(0..0, step.axes.pop());
            }
            if let [first, next, ..] = &mut step.store[..]
                && let Some((last, rest)) = terms(first).split_last()
                && next.coefficient(last.0) == 0
                && self.here("terms of the next form")
            {
                *next = form([&terms(next)[..], &[*last]].concat(), next.constant);
                *first = form(rest.to_vec(), first.constant);
            }
            self.list("before", &mut step.before, reduction);
            for own in &mut step.before {
                self.value("combine", &mut own.combine, &COMBINED);
                self.scalar(&mut own.body);
                self.scalar(&mut own.epilogue);
                self.value("kept", &mut own.kept, &[false, true]);
            }
            self.value("combine", &mut step.combine, &COMBINED);
            self.value("clipped", &mut step.clipped, &[false, true]);
            let mut own: Vec<Coefficients> = step.coefficients.take().into_iter().collect();
            if self.here("coefficients") && own.pop().is_none() {
                own.push(coefficients(&mut self.rng));
            }
            for Coefficients { values, at } in &mut own {
                let mut numbers = values.to_vec();
                numbers.iter_mut().for_each(|value| self.value("factor", value, &CONSTANTS));
                self.list("factors", &mut numbers, |rng| pick(rng, &CONSTANTS));
                *values = numbers.into();
                self.index(at);
            }
            step.coefficients = own.pop();
            let mut own: Vec<Across> = step.across.take().into_iter().collect();
            if self.here("across") && own.pop().is_none() {
                own.push(across(&mut self.rng));
            }
            for Across { along, made, epilogue } in &mut own {
                self.value("along", &mut along.0, &AXES);
                self.list("made across", made, reduction);
                for own in made.iter_mut() {
                    self.value("combine", &mut own.combine, &COMBINED);
                    self.scalar(&mut own.body);
                    self.scalar(&mut own.epilogue);
                    self.value("kept", &mut own.kept, &[false, true]);
                }
                self.scalar(epilogue);
            }
            step.across = own.pop();
            for form in &mut step.store {
                self.index(form);
            }
            self.list("store", &mut step.store, index);
            for (what, tree) in [("body", &mut step.body), ("epilogue", &mut step.epilogue)] {
                self.scalar(tree);
                if self.here(what) {
                    *tree = ScalarExpr::unary(UnaryOp::Neg, tree.clone());
                }
            }
        }
    }

    fn index(&mut self, index: &mut Index) {
        let mut terms = terms(index);
        let free: Vec<usize> = AXES.into_iter().filter(|a| index.coefficient(AxisId(*a)) == 0).collect();
        for (axis, coefficient) in &mut terms {
            self.value("axis of a term", &mut axis.0, &free);
            self.value("coefficient", coefficient, &COEFFICIENTS);
        }
        self.value("constant of a form", &mut index.constant, &NUMBERS);
        if self.here("terms") {
            match terms.pop() {
                Some(_) if self.rng.bool() => {}
                last => terms.extend(last.into_iter().chain([(AxisId(pick(&mut self.rng, &free)), pick(&mut self.rng, &COEFFICIENTS))])),
            }
        }
        *index = form(terms, index.constant);
    }

    fn scalar(&mut self, tree: &mut ScalarExpr) {
        if self.here("which node") {
            let old = std::mem::discriminant(tree);
            *tree = std::iter::repeat_with(|| scalar(&mut self.rng, 2)).find(|s| std::mem::discriminant(s) != old).expect("endless");
            return;
        }
        match tree {
            ScalarExpr::Const(value) => self.value("constant", value, &CONSTANTS),
            ScalarExpr::Acc => {}
            ScalarExpr::Before(number) => self.value("number before", number, &[0, 1, 2, usize::MAX]),
            ScalarExpr::Load { tensor, index: forms, padded } => {
                self.value("tensor of a load", tensor, &[0, 1, 2, usize::MAX]);
                self.value("padded", padded, &[false, true]);
                for form in forms.iter_mut() {
                    self.index(form);
                }
                self.list("forms of a load", forms, index);
            }
            ScalarExpr::Position(form) => self.index(form),
            ScalarExpr::Gather { tensor, index: forms, found: list } => {
                self.value("tensor looked into", tensor, &[0, 1, 2, usize::MAX]);
                for form in forms.iter_mut() {
                    self.index(form);
                }
                self.list("forms of what is found", forms, index);
                for (d, own) in list.iter_mut() {
                    self.value("dimension found", d, &[0, 1, 2, usize::MAX]);
                    self.scalar(own);
                }
                self.list("what is found", list, |rng| found(rng, 1));
            }
            ScalarExpr::Select(condition, a, b) => {
                self.scalar(condition);
                self.scalar(a);
                self.scalar(b);
                if self.here("sides") {
                    std::mem::swap(a, b);
                }
            }
            ScalarExpr::Unary(op, a) => {
                self.value("unary", op, UnaryOp::ALL);
                self.scalar(a);
            }
            ScalarExpr::Round(to, a) => {
                self.value("round", to, Scalar::ALL);
                self.scalar(a);
            }
            ScalarExpr::Binary(op, a, b) => {
                self.value("binary", op, BinaryOp::ALL);
                self.scalar(a);
                self.scalar(b);
                if self.here("operands") {
                    std::mem::swap(a, b);
                }
            }
        }
    }
}
