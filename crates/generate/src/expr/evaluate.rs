//! What expressions mean, in `f64`: the reference that every kernel is verified against.

use super::terms::{Position, Terms};
use super::{AxisId, Combine, Index, Pass, ScalarExpr, TensorExpr, apply_binary, apply_unary};
use crate::indices::for_indices;
use crate::parallel::each;
use smallvec::SmallVec;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};
use warpsight_ir::interpret::rounded;
use warpsight_ir::range::Interval;
use warpsight_ir::{BinaryOp, Scalar, UnaryOp};

/// An expression on inputs (row-major, one slice per input), ready to be evaluated at many points.
pub struct Evaluator<'a, T> {
    expr: &'a TensorExpr,
    passes: Vec<Walk<'a, T>>,
    across: Option<Row<'a, T>>,
    /// Where a result is stored.
    place: Position,
}

/// One walk over the reduction axes.
struct Walk<'a, T> {
    pass: Pass<'a>,
    body: Node<'a, T>,
    epilogue: Node<'a, T>,
    /// What the body comes to, where that is found at once.
    terms: Option<Terms<'a, T>>,
}

/// What is made of rows of results.
struct Row<'a, T> {
    along: usize,
    /// How values are combined, their body and epilogue, whether they are kept.
    made: Vec<(Combine, Node<'a, T>, Node<'a, T>, bool)>,
    epilogue: Node<'a, T>,
}

/// A scalar whose loads are positions in their inputs.
enum Node<'a, T> {
    Const(f64),
    Acc,
    Before(usize),
    Position(&'a Index),
    Load {
        values: &'a [T],
        at: Position,
        bound: SmallVec<[(&'a Index, i64); 2]>,
    },
    Gather {
        values: &'a [T],
        shape: &'a [i64],
        index: &'a [Index],
        found: Vec<(usize, Self)>,
    },
    Unary(UnaryOp, Box<Self>),
    Binary(BinaryOp, Box<Self>, Box<Self>),
    /// A quotient of integers.
    Quotient(Box<Self>, Box<Self>),
    Select(Box<Self>, Box<Self>, Box<Self>),
    Round(Scalar, Box<Self>),
}

/// What a scalar is evaluated with beside tensors.
#[derive(Clone, Copy)]
struct Known<'a> {
    acc: f64,
    before: &'a [f64],
}

/// Combines terms of so many points along an axis.
fn combine<T: Copy + Into<f64>>(terms: &Terms<T>, how: Combine, point: &[i64], along: usize, accs: &mut [f64]) {
    match how {
        Combine::Sum => terms.combine(point, along, accs, |acc, value| acc + value),
        other => terms.combine(point, along, accs, |acc, value| apply_binary(other.operation(), acc, value)),
    }
}

/// Values that are computed by one thread, at least.
const AT_ONCE: usize = 1 << 16;
/// Results that are computed together, at most: so many sums are in a first-level cache.
const PIECE: i64 = 1 << 10;

impl<T: Copy + Into<f64> + Sync> Evaluator<'_, T> {
    /// The output with all results that are stored, computed on as many processors as there are, and what it held elsewhere.
    ///
    /// # Errors
    /// The point of a result that is stored outside of it.
    pub fn output(&self, held: Vec<f64>) -> Result<Vec<f64>, Vec<i64>> {
        // All axes but one, and the pieces of that.
        let along = self.along();
        let mut extents: Vec<i64> = self.expr.axes.iter().map(|axis| axis.extent).collect();
        let length = along.map_or(1, |along| extents.remove(along));
        // What is made of rows is of whole ones.
        let longest = if self.across.is_some() { length } else { PIECE };
        extents.push((length + longest - 1) / longest);
        let runs = extents.iter().product::<i64>() as usize;
        let rows = if self.across.is_some() { 1 } else { length.clamp(1, longest) as usize };
        let some = (AT_ONCE / self.expr.work_per_row().saturating_mul(rows)).max(1);
        let parts: Vec<_> = (0..runs).step_by(some).map(|first| first..runs.min(first + some)).collect();
        // Each result has an element of its own.
        let output: Vec<AtomicU64> = held.into_iter().map(|value| AtomicU64::new(value.to_bits())).collect();
        let unplaced = each(&parts, |part| {
            let mut unplaced = None;
            let mut row: Vec<i64> = vec![];
            let mut store = |point: &[i64], position: usize, value: f64| match output.get(position) {
                Some(element) => element.store(value.to_bits(), Ordering::Relaxed),
                None => unplaced = unplaced.take().or_else(|| Some(point.to_vec())),
            };
            for_indices(&extents, part.clone(), |_, own| {
                let [others @ .., piece] = own else { return };
                row.clear();
                row.extend_from_slice(others);
                let Some(along) = along else { return self.row(&row, &mut store) };
                let first = piece * longest;
                row.insert(along, first);
                self.run(&row, along, (length - first).min(longest), &mut store);
            });
            unplaced
        });
        match unplaced.into_iter().flatten().next() {
            Some(point) => Err(point),
            None => Ok(output.into_iter().map(|element| f64::from_bits(element.into_inner())).collect()),
        }
    }
}

impl<'a, T: Copy + Into<f64>> Evaluator<'a, T> {
    /// Of one slice per input.
    pub fn new(expr: &'a TensorExpr, inputs: &[&'a [T]]) -> Self {
        let mut own = Self::of_one(expr, inputs);
        for walk in &mut own.passes {
            walk.terms = walk.body.product().and_then(|loads| Terms::new(expr, loads, walk.pass.coefficients));
        }
        own
    }

    /// The same for one result: what many have in common is not looked for.
    pub(super) fn of_one(expr: &'a TensorExpr, inputs: &[&'a [T]]) -> Self {
        let node = |scalar| Node::of(scalar, expr, inputs);
        let walk = |pass: Pass<'a>| Walk { pass, body: node(pass.body), epilogue: node(pass.epilogue), terms: None };
        let across = expr.across.as_ref().map(|own| Row {
            along: own.along.0,
            made: own.made.iter().map(|made| (made.combine, node(&made.body), node(&made.epilogue), made.kept)).collect(),
            epilogue: node(&own.epilogue),
        });
        Self { expr, passes: expr.passes().map(walk).collect(), across, place: Position::new(&expr.store, &expr.output.shape) }
    }

    /// The value of one result, a point of [`TensorExpr::result_axes`].
    pub fn result(&self, point: &[i64]) -> f64 {
        debug_assert_eq!(point.len(), self.expr.result_axes().count());
        let axes = self.expr.axes.len() + self.expr.reduce.len();
        let mut all: Vec<i64> = point.iter().copied().chain(self.expr.reduce.iter().map(|_| 0)).take(axes).collect();
        if let Some(across) = &self.across {
            return self.held(across, point)[point[across.along] as usize];
        }
        let before = self.reductions(&mut all.clone());
        self.own(&mut all, &before)
    }

    /// The same of all results of a point of the parallel axes ([`TensorExpr::rows`]) that are stored, in order: each with its point and its
    /// position in the output, row-major, which no output has where an expression stores outside of its own.
    pub fn row(&self, row: &[i64], mut f: impl FnMut(&[i64], usize, f64)) {
        let mut all: SmallVec<[i64; 8]> = row.iter().copied().chain(self.expr.reduce.iter().map(|_| 0)).collect();
        let results = self.expr.result_axes().count();
        if let Some(across) = &self.across {
            return self.whole_row(across, row, &mut f);
        }
        let before = self.reductions(&mut all);
        loop {
            if !self.expr.leaves_out(&all[..results]) {
                let value = self.own(&mut all, &before);
                f(&all[..results], self.place.at(&all), value);
            }
            if !self.expr.stores_each() || !self.next(&mut all) {
                return;
            }
        }
    }

    /// The parallel axis along which results are computed together: the longest one that no known factor depends on, of these the last.
    fn along(&self) -> Option<usize> {
        if let Some(across) = &self.across {
            return Some(across.along);
        }
        let known = self.expr.coefficients.as_ref();
        let free = |a: &usize| known.is_none_or(|own| own.at.coefficient(AxisId(*a)) == 0);
        (0..self.expr.axes.len()).filter(free).max_by_key(|&a| self.expr.axes[a].extent)
    }

    /// The same of so many points of the parallel axes, one behind the other along one of them that no known factor depends on.
    fn run(&self, first: &[i64], along: usize, count: i64, mut f: impl FnMut(&[i64], usize, f64)) {
        let mut row: SmallVec<[i64; 8]> = first.into();
        if let Some(across) = &self.across {
            return self.whole_row(across, first, &mut f);
        }
        let ([Walk { pass, terms: Some(terms), epilogue, .. }], false) = (&self.passes[..], self.expr.stores_each()) else {
            for _ in 0..count {
                self.row(&row, &mut f);
                row[along] += 1;
            }
            return;
        };
        row.extend(self.expr.reduce.iter().map(|_| 0));
        let mut accs = vec![pass.combine.start(); count as usize];
        combine(terms, pass.combine, &row, along, &mut accs);
        let (start, step) = (self.place.at(&row), self.place.step(along));
        for (n, acc) in accs.into_iter().enumerate() {
            let point = &row[..first.len()];
            if !self.expr.leaves_out(point) {
                f(point, start.wrapping_add(step.wrapping_mul(n)), epilogue.value(&row, Known { acc, before: &[] }));
            }
            row[along] += 1;
        }
    }

    /// All results of the row that a point of the parallel axes is in, as in [`Self::row`].
    fn whole_row(&self, across: &Row<T>, point: &[i64], f: &mut impl FnMut(&[i64], usize, f64)) {
        let mut all: SmallVec<[i64; 8]> = point.iter().copied().chain(self.expr.reduce.iter().map(|_| 0)).collect();
        for (n, value) in (0..).zip(self.held(across, point)) {
            all[across.along] = n;
            if !self.expr.leaves_out(&all[..point.len()]) {
                f(&all[..point.len()], self.place.at(&all), value);
            }
        }
    }

    /// The results of the row that a point of the parallel axes is in.
    fn held(&self, across: &Row<T>, point: &[i64]) -> Vec<f64> {
        let mut all: SmallVec<[i64; 8]> = point.iter().copied().chain(self.expr.reduce.iter().map(|_| 0)).collect();
        let Walk { pass, terms, epilogue, .. } = &self.passes[0];
        let mut held = vec![pass.combine.start(); self.expr.axes[across.along].extent as usize];
        all[across.along] = 0;
        match terms {
            Some(terms) if !self.expr.reduce.is_empty() => {
                combine(terms, pass.combine, &all, across.along, &mut held);
                self.at_each(across, &mut all, &mut held, |at, acc| epilogue.value(at, Known { acc, before: &[] }));
            }
            _ => self.at_each(across, &mut all, &mut held, |at, _| self.own(&mut at.to_vec(), &[])),
        }
        let mut before = vec![];
        for (how, body, epilogue, kept) in &across.made {
            let mut acc = how.start();
            self.at_each(across, &mut all, &mut held, |at, held| {
                let value = body.value(at, Known { acc: held, before: &before });
                acc = apply_binary(how.operation(), acc, value);
                if *kept { value } else { held }
            });
            before.push(epilogue.value(&all, Known { acc, before: &before }));
        }
        self.at_each(across, &mut all, &mut held, |at, acc| across.epilogue.value(at, Known { acc, before: &before }));
        held
    }

    /// Replaces each value of a row by what it becomes.
    fn at_each(&self, across: &Row<T>, all: &mut [i64], held: &mut [f64], mut f: impl FnMut(&[i64], f64) -> f64) {
        for (n, value) in held.iter_mut().enumerate() {
            all[across.along] = n as i64;
            *value = f(all, *value);
        }
        all[across.along] = 0;
    }

    /// What the reductions made before come to.
    fn reductions(&self, all: &mut [i64]) -> Vec<f64> {
        let mut before = vec![];
        for number in 0..self.expr.before.len() {
            let acc = self.reduced(number, all, &before);
            before.push(self.passes[number].epilogue.value(all, Known { acc, before: &before }));
        }
        before
    }

    fn own(&self, all: &mut [i64], before: &[f64]) -> f64 {
        let last = self.expr.before.len();
        let Walk { body, epilogue, .. } = &self.passes[last];
        let acc = if self.expr.reduce.is_empty() || self.expr.stores_each() {
            body.value(all, Known { acc: 0.0, before })
        } else {
            self.reduced(last, all, before)
        };
        epilogue.value(all, Known { acc, before })
    }

    /// The next point of the reduction axes, the last one fastest; back at the first where there is none.
    fn next(&self, all: &mut [i64]) -> bool {
        let inner = all[self.expr.axes.len()..].iter_mut().zip(&self.expr.reduce);
        inner.rev().any(|(at, axis)| {
            *at = (*at + 1) % axis.extent;
            *at != 0
        })
    }

    /// What all points of the reduction axes come to; these are at their first point before and after.
    fn reduced(&self, number: usize, all: &mut [i64], before: &[f64]) -> f64 {
        let Walk { pass, body, terms, .. } = &self.passes[number];
        let mut acc = pass.combine.start();
        all[self.expr.axes.len()..].fill(0);
        if let Some(terms) = terms {
            combine(terms, pass.combine, all, 0, slice::from_mut(&mut acc));
            return acc;
        }
        loop {
            let factor = pass.coefficients.map_or(1.0, |own| own.value(|a| all[a.0]));
            if factor != 0.0 {
                let value = factor * body.value(all, Known { acc: 0.0, before });
                acc = apply_binary(pass.combine.operation(), acc, value);
            }
            if !self.next(all) {
                return acc;
            }
        }
    }
}

impl<'a, T: Copy + Into<f64>> Node<'a, T> {
    fn of(scalar: &'a ScalarExpr, expr: &'a TensorExpr, inputs: &[&'a [T]]) -> Self {
        let node = |scalar| Box::new(Self::of(scalar, expr, inputs));
        match scalar {
            ScalarExpr::Const(c) => Self::Const(*c),
            ScalarExpr::Acc => Self::Acc,
            ScalarExpr::Before(n) => Self::Before(*n),
            ScalarExpr::Unary(op, a) => Self::Unary(*op, node(a)),
            ScalarExpr::Position(form) => Self::Position(form),
            ScalarExpr::Gather { tensor, index, found } => Self::Gather {
                values: inputs[*tensor],
                shape: &expr.inputs[*tensor].shape,
                index,
                found: found.iter().map(|(d, own)| (*d, Self::of(own, expr, inputs))).collect(),
            },
            ScalarExpr::Binary(BinaryOp::Div, a, b) if ScalarExpr::together(a, b, &expr.inputs) == Scalar::I32 => {
                Self::Quotient(node(a), node(b))
            }
            ScalarExpr::Binary(op, a, b) => Self::Binary(*op, node(a), node(b)),
            ScalarExpr::Select(condition, a, b) => Self::Select(node(condition), node(a), node(b)),
            ScalarExpr::Round(to, a) => Self::Round(*to, node(a)),
            ScalarExpr::Load { tensor, .. } if *tensor == inputs.len() => {
                // What was kept is as it was when it was made.
                expr.kept().map_or(Self::Const(f64::NAN), |own| Self::of(&own.body, expr, inputs))
            }
            ScalarExpr::Load { tensor, index, padded } => {
                let shape = &expr.inputs[*tensor].shape;
                let at = Position::new(index, shape);
                let axes: SmallVec<[Interval; 8]> = expr.all_axes().map(|axis| Interval::below(axis.extent)).collect();
                let leaves = |(form, extent): &(&Index, i64)| !form.range(|a: AxisId| axes[a.0]).within(Interval::below(*extent));
                let bound: SmallVec<[(&Index, i64); 2]> = index.iter().zip(shape.iter().copied()).filter(leaves).collect();
                debug_assert!(
                    *padded || bound.is_empty() || expr.clipped,
                    "{}: {index:?} leaves `{}`",
                    expr.name,
                    expr.inputs[*tensor].name
                );
                Self::Load { values: inputs[*tensor], at, bound }
            }
        }
    }

    /// The elements that it is the product of, if it is that of elements that are always there.
    fn product(&self) -> Option<Vec<(&'a [T], Position)>> {
        match self {
            Self::Load { values, at, bound } if bound.is_empty() => Some(vec![(*values, at.clone())]),
            Self::Binary(BinaryOp::Mul, a, b) => Some([a.product()?, b.product()?].concat()),
            _ => None,
        }
    }

    fn value(&self, point: &[i64], known: Known) -> f64 {
        match self {
            Self::Const(c) => *c,
            Self::Acc => known.acc,
            Self::Before(n) => known.before[*n],
            Self::Load { values, at, bound } => {
                // What is beyond all numbers is outside, too.
                let outside = |(form, extent): &(&Index, i64)| form.eval(|a| point[a.0]).is_none_or(|at| !(0..*extent).contains(&at));
                if bound.iter().any(outside) { 0.0 } else { values[at.at(point)].into() }
            }
            // Positions have 32 bits.
            Self::Position(form) => form.eval(|a| point[a.0]).unwrap_or_default() as f64,
            Self::Gather { values, shape, index, found } => {
                let mut flat = 0;
                for (d, (form, &extent)) in index.iter().zip(*shape).enumerate() {
                    let more: f64 = found.iter().filter(|own| own.0 == d).map(|own| own.1.value(point, known).trunc()).sum();
                    let Some(at) =
                        form.eval(|a| point[a.0]).and_then(|at| at.checked_add(more as i64)).filter(|at| (0..extent).contains(at))
                    else {
                        return 0.0;
                    };
                    flat = flat * extent + at;
                }
                values[flat as usize].into()
            }
            // No integer is -0.
            Self::Quotient(a, b) => (a.value(point, known) / b.value(point, known)).trunc() + 0.0,
            Self::Select(condition, a, b) => {
                let (a, b) = (a.value(point, known), b.value(point, known));
                if condition.value(point, known) != 0.0 { a } else { b }
            }
            Self::Unary(op, a) => apply_unary(*op, a.value(point, known)),
            Self::Round(Scalar::I32, a) => a.value(point, known).trunc() + 0.0,
            Self::Round(to, a) => rounded(*to, a.value(point, known)),
            Self::Binary(op, a, b) => apply_binary(*op, a.value(point, known), b.value(point, known)),
        }
    }
}
