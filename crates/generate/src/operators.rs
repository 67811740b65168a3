//! Constructors of [`Operator`]s as tensor expressions, and the grammar of operators on the command line.
//!
//! An axis of extent 1 is left out and its coefficient vanishes (an expression whose every parallel axis has extent 1 keeps the
//! last one, so that there is always something to launch over). Whether a load is `padded` follows from its forms, exactly.
//!
//! ```
//! let conv = warpsight_generate::operators::parse_operator("conv2d n=1 c=64 h=56 w=56 k=64 r=3 s=3 stride=1 pad=1").unwrap();
//! let names: Vec<&str> = conv.steps[0].all_axes().map(|a| &*a.name).collect();
//! assert_eq!(names, ["k", "y", "x", "c", "r", "s"]);
//! ```

mod conv;
mod grammar;
mod lookup;
mod matmul;
mod movement;
mod normalise;
mod pool;
mod scatter;
mod shapes;
pub(crate) mod split;

pub use conv::{Conv, Deconv, Window, conv, deconv};
pub use grammar::{DTYPES, forms, parse_operator};
pub use lookup::{
    BAGS, Coordinates, EXACT, Interpolation, Lookup, MOST_ROWS, Nearest, Taps, embedding_bag, gather, gather_elements, lower_triangle,
    resize,
};
pub use matmul::{MatMul, matmul};
pub use movement::{Beyond, border, concat, copy, elementwise, pad, slice, split, transpose, update};
pub use normalise::{GRADIENTS, STATISTICS, layernorm, layernorm_gradient, softmax};
pub use pool::{Pool, PoolKind, ReduceKind, global_average_pool, pool, reduce};
pub use scatter::{ScatterKind, scatter};
pub use shapes::{MOST_SHAPES, Shapes, is_open, parse_shapes};
pub use split::LONGEST;

use crate::expr::{Axis, AxisId, Combine, Index, Operator, Role, ScalarExpr, Tensor, TensorExpr};
use crate::parts::{self, PartsError};
use std::collections::HashSet;
use warpsight_ir::near::did_you_mean;
use warpsight_ir::range::Interval;
use warpsight_ir::{BinaryOp, Name, Scalar, UnaryOp};

/// Why an operator cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OperatorError {
    /// Nothing was written.
    #[error("no operator given; one of: {known}")]
    Empty {
        /// The operators there are.
        known: String,
    },
    /// The first word names no operator.
    #[error("unknown operator `{name}`; one of: {known}{}", did_you_mean(name, known.split(' ')))]
    UnknownOperator {
        /// The word.
        name: String,
        /// The operators there are.
        known: String,
    },
    /// A word without `=`.
    #[error("`{word}` is not of the form key=value (operator `{operator}`)")]
    NotAPair {
        /// The operator.
        operator: String,
        /// The word.
        word: String,
    },
    /// A key that the operator does not have.
    #[error("`{operator}` has no key `{key}`; it takes: {known}{}", did_you_mean(key, known.split(' ').map(|own| own.trim_matches(['[', ']', '=']))))]
    UnknownKey {
        /// The operator.
        operator: String,
        /// The key.
        key: String,
        /// The keys it takes.
        known: String,
    },
    /// A key given twice.
    #[error("`{operator}`: `{key}` is given twice")]
    DuplicateKey {
        /// The operator.
        operator: String,
        /// The key.
        key: String,
    },
    /// A key without which the operator has no size.
    #[error("`{operator}` needs `{key}=`; it takes: {known}")]
    MissingKey {
        /// The operator.
        operator: String,
        /// The key.
        key: String,
        /// The keys it takes.
        known: String,
    },
    /// A value that is no number or none of the words allowed.
    #[error("`{operator}`: `{key}={value}` is not {expected}")]
    BadValue {
        /// The operator.
        operator: String,
        /// The key.
        key: String,
        /// What was written.
        value: String,
        /// What may be written.
        expected: String,
    },
    /// A range, or a list, of what is no size.
    #[error("`{operator}`: `{key}={value}`: only sizes of tensors may be ranges or lists")]
    NotASize {
        /// The operator.
        operator: String,
        /// The key.
        key: String,
        /// What was written.
        value: String,
    },
    /// More shapes than are chosen for together.
    #[error("`{operator}`: with the sizes of `{key}` there are at least {shapes} shapes, at most {most} are chosen for together")]
    TooManyShapes {
        /// The operator.
        operator: String,
        /// The key of which there are too many sizes.
        key: String,
        /// How many there are at least.
        shapes: usize,
        /// How many there may be.
        most: usize,
    },
    /// A size below its minimum.
    #[error("`{operator}`: {what} must be {minimum} or more, not {value}")]
    TooSmall {
        /// The operator.
        operator: String,
        /// The size's name.
        what: String,
        /// Its least value.
        minimum: i64,
        /// The value given.
        value: i64,
    },
    /// Two sizes that do not go together.
    #[error("`{operator}`: {what}")]
    Mismatch {
        /// The operator.
        operator: String,
        /// Which, and how.
        what: String,
    },
    /// The kernel is larger than the padded input.
    #[error("`{operator}`: the output is empty: {what}")]
    EmptyOutput {
        /// The operator.
        operator: String,
        /// The extents that make it so.
        what: String,
    },
    /// A tensor with more than 2³¹ − 1 elements; indices of kernels are 32-bit.
    #[error("`{operator}`: tensor `{tensor}` of shape {shape:?} has more than 2147483647 elements")]
    TooLarge {
        /// The operator.
        operator: String,
        /// The tensor.
        tensor: String,
        /// Its shape.
        shape: Vec<i64>,
    },
    /// Positions that kernels could not compute.
    #[error("`{operator}` reads or writes positions beyond 32 bits")]
    TooFar {
        /// The operator.
        operator: String,
    },
    /// Expressions that may not write one tensor together.
    #[error("`{operator}`: {why}")]
    Parts {
        /// The operator.
        operator: String,
        /// Why.
        why: PartsError,
    },
    /// Something that cannot be expressed yet.
    #[error("`{operator}`: {what} is not supported")]
    Unsupported {
        /// The operator.
        operator: String,
        /// What is missing.
        what: String,
    },
}

/// Tensors an operator reads from outside, in the order of their first appearance: the order of a kernel sequence's arguments.
pub fn external_inputs(operator: &Operator) -> Vec<&Tensor> {
    let mut known: HashSet<&str> = HashSet::new();
    let mut inputs = Vec::new();
    for step in &operator.steps {
        inputs.extend(step.inputs.iter().filter(|t| known.insert(&t.name)));
        known.insert(&step.output.name);
    }
    inputs
}

/// Tensors that join an operator's steps: every step's output but the last one's. One that several steps write is there for each.
pub fn temporaries(operator: &Operator) -> Vec<&Tensor> {
    let steps = operator.steps.len().saturating_sub(1);
    operator.steps[..steps].iter().map(|s| &s.output).collect()
}

/// What `next` makes of what an operator makes, which it reads as `input`: the steps of both. Of two tensors of one name that of `next` gets
/// another one, but where `shared` says what it is called in the first. `None` where it reads no such tensor, or one of another shape or type.
pub fn then(operator: &Operator, next: &Operator, input: &str, shared: &[(Name, Name)]) -> Option<Operator> {
    let output = &operator.steps.last()?.output;
    let reads = external_inputs(next).into_iter().find(|own| *own.name == *input)?;
    if reads.shape != output.shape || reads.element != output.element {
        return None;
    }
    let tensors = |own: &Operator| -> HashSet<Name> {
        own.steps.iter().flat_map(|step| step.inputs.iter().chain([&step.output])).map(|tensor| tensor.name.clone()).collect()
    };
    let (mut own, others) = (tensors(operator), tensors(next));
    let mut fresh = |stem: &str| -> Option<Name> {
        let name = (0..).map(|n| format!("{stem}{}", if n == 0 { String::new() } else { n.to_string() }).into());
        let name: Name = name.into_iter().find(|name| !own.contains(name) && !others.contains(name))?;
        own.insert(name.clone());
        Some(name)
    };
    let joint = fresh("between")?;
    let made = output.name.clone();
    let mut names: Vec<(Name, Name)> = std::iter::once((input.into(), joint.clone())).chain(shared.iter().cloned()).collect();
    let named = |name: &Name| **name != *input && shared.iter().all(|own| own.0 != *name);
    let mut taken: Vec<Name> = tensors(next).into_iter().filter(|name| named(name) && tensors(operator).contains(name)).collect();
    taken.sort();
    for name in taken {
        names.push((name.clone(), fresh(&format!("{name}_after"))?));
    }
    let rename = |step: &TensorExpr, named: &dyn Fn(&Name) -> Name| {
        let mut step = step.clone();
        step.inputs.iter_mut().chain([&mut step.output]).for_each(|tensor| tensor.name = named(&tensor.name));
        step
    };
    let first = |name: &Name| if *name == made { joint.clone() } else { name.clone() };
    let second = |name: &Name| names.iter().find(|own| own.0 == *name).map_or_else(|| name.clone(), |own| own.1.clone());
    let steps = operator.steps.iter().map(|step| rename(step, &first)).chain(next.steps.iter().map(|step| rename(step, &second)));
    Some(Operator { kind: format!("{}_{}", operator.kind, next.kind).into(), steps: steps.collect() })
}

/// The index of a tensor of `shape` that is broadcast against an output stored at `store` (ONNX: aligned at the last dimension).
pub fn broadcast_index(shape: &[i64], store: &[Index]) -> Vec<Index> {
    let skip = store.len().saturating_sub(shape.len());
    shape.iter().zip(&store[skip..]).map(|(&extent, form)| if extent == 1 { Index::constant(0) } else { form.clone() }).collect()
}

/// A tensor's name, shape, element type and role.
pub fn tensor(name: &str, shape: &[i64], element: Scalar, role: Role) -> Tensor {
    let shape = if shape.is_empty() { vec![1] } else { shape.to_vec() };
    Tensor { name: name.into(), shape, element, role, values: None }
}

/// x · (1 + erf(x/√2)) / 2
pub fn gelu(x: ScalarExpr) -> ScalarExpr {
    let scaled = mul(x.clone(), ScalarExpr::Const(std::f64::consts::FRAC_1_SQRT_2));
    let whole = add(ScalarExpr::unary(UnaryOp::Erf, scaled), ScalarExpr::Const(1.0));
    mul(mul(x, ScalarExpr::Const(0.5)), whole)
}

/// 1 / (1 + e⁻ˣ)
pub fn sigmoid(x: ScalarExpr) -> ScalarExpr {
    let power = ScalarExpr::unary(UnaryOp::Exp, ScalarExpr::unary(UnaryOp::Neg, x));
    ScalarExpr::binary(BinaryOp::Div, ScalarExpr::Const(1.0), add(ScalarExpr::Const(1.0), power))
}

/// x · (1 + tanh(√(2/π) · (x + 0.044715 · x³))) / 2: the other function of that name, which ONNX calls its approximation.
pub fn gelu_tanh(x: ScalarExpr) -> ScalarExpr {
    let cubed = mul(mul(x.clone(), x.clone()), mul(x.clone(), ScalarExpr::Const(GELU_TANH.1)));
    let inner = mul(add(x.clone(), cubed), ScalarExpr::Const(GELU_TANH.0));
    mul(mul(x, ScalarExpr::Const(0.5)), add(ScalarExpr::unary(UnaryOp::Tanh, inner), ScalarExpr::Const(1.0)))
}

/// √(2/π) and the factor of the cube (Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016).
pub const GELU_TANH: (f64, f64) = (std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2, 0.044715);

/// A weight whose values follow from the operator itself.
pub(crate) fn table(name: &str, shape: &[i64], element: Scalar, values: Vec<f64>) -> Tensor {
    Tensor { values: Some(values.into()), ..tensor(name, shape, element, Role::Weight) }
}

/// One expression under construction: axes first, then its inputs, then its body.
pub(crate) struct Builder {
    name: Name,
    axes: Vec<Axis>,
    reduce: Vec<Axis>,
    inputs: Vec<Tensor>,
}

impl Builder {
    /// Declares the axes; returns the form of each (parallel ones, reduction ones), 0 for an axis that is left out.
    pub(crate) fn new(name: &str, parallel: &[(&str, i64)], reduce: &[(&str, i64)]) -> (Self, Vec<Index>, Vec<Index>) {
        let lonely = parallel.iter().all(|p| p.1 == 1);
        let keep = |i: usize, last: usize, extent: i64| extent != 1 || (lonely && i == last);
        let mut builder = Self { name: name.into(), axes: vec![], reduce: vec![], inputs: vec![] };
        let forms = |list: &[(&str, i64)], axes: &mut Vec<Axis>, before: usize, always: usize| -> Vec<Index> {
            let of = |(i, &(name, extent)): (usize, &(&str, i64))| {
                if !keep(i, always, extent) {
                    return Index::constant(0);
                }
                axes.push(Axis { name: name.into(), extent });
                Index::var(AxisId(before + axes.len() - 1))
            };
            list.iter().enumerate().map(of).collect()
        };
        let outer = forms(parallel, &mut builder.axes, 0, parallel.len().saturating_sub(1));
        let inner = forms(reduce, &mut builder.reduce, builder.axes.len(), usize::MAX);
        (builder, outer, inner)
    }

    /// With these axes, and no inputs yet.
    pub(crate) fn of(name: &str, axes: &[Axis], reduce: &[Axis]) -> Self {
        Self { name: name.into(), axes: axes.to_vec(), reduce: reduce.to_vec(), inputs: vec![] }
    }

    /// Adds an input (or finds it) and loads from it; padded exactly where an index outside the shape occurs.
    pub(crate) fn load(&mut self, tensor: &Tensor, index: Vec<Index>) -> ScalarExpr {
        let position = self.input(tensor);
        let inside = |(form, &extent): (&Index, &i64)| form.range(|a| self.values(a)).within(Interval::below(extent));
        let padded = !index.iter().zip(&tensor.shape).all(inside);
        ScalarExpr::Load { tensor: position, index, padded }
    }

    /// Adds an input (or finds it) and what is read of it through numbers.
    pub(crate) fn gather(&mut self, tensor: &Tensor, index: Vec<Index>, found: Vec<(usize, ScalarExpr)>) -> ScalarExpr {
        ScalarExpr::Gather { tensor: self.input(tensor), index, found }
    }

    fn input(&mut self, tensor: &Tensor) -> usize {
        self.inputs.iter().position(|t| t.name == tensor.name).unwrap_or_else(|| {
            self.inputs.push(tensor.clone());
            self.inputs.len() - 1
        })
    }

    fn values(&self, axis: AxisId) -> Interval {
        Interval::below(self.axes.get(axis.0).unwrap_or_else(|| &self.reduce[axis.0 - self.axes.len()]).extent)
    }

    /// Ends the expression.
    pub(crate) fn finish(self, combine: Combine, body: ScalarExpr, epilogue: ScalarExpr, output: Tensor, store: Vec<Index>) -> TensorExpr {
        let Self { name, axes, reduce, inputs } = self;
        TensorExpr {
            name,
            inputs,
            output,
            axes,
            reduce,
            before: vec![],
            combine,
            coefficients: None,
            body,
            epilogue,
            store,
            across: None,
            clipped: false,
        }
    }
}

/// Names for the axes of a tensor of some rank.
pub(crate) fn axis_names(rank: usize) -> Vec<String> {
    let usual: &[&str] = match rank {
        1 => &["x"],
        2 => &["n", "c"],
        3 => &["n", "c", "x"],
        4 => &["n", "c", "y", "x"],
        5 => &["n", "c", "z", "y", "x"],
        _ => &[],
    };
    if usual.is_empty() { (0..rank).map(|i| format!("i{i}")).collect() } else { usual.iter().map(|s| (*s).to_string()).collect() }
}

/// (name, extent) of each dimension.
pub(crate) fn named<'a>(names: &'a [String], shape: &[i64]) -> Vec<(&'a str, i64)> {
    names.iter().map(String::as_str).zip(shape.iter().copied()).collect()
}

/// Checks that every size is at least its minimum.
pub(crate) fn at_least(operator: &str, minimum: i64, sizes: &[(&str, i64)]) -> Result<(), OperatorError> {
    match sizes.iter().find(|(_, value)| *value < minimum) {
        None => Ok(()),
        Some(&(what, value)) => Err(OperatorError::TooSmall { operator: operator.into(), what: what.into(), minimum, value }),
    }
}

/// An operator whose tensors all fit 32-bit indices and whose reductions are short enough for one work-item.
pub(crate) fn operator(kind: &str, steps: Vec<TensorExpr>) -> Result<Operator, OperatorError> {
    for tensor in steps.iter().flat_map(|s| s.inputs.iter().chain([&s.output])) {
        if tensor.shape.iter().try_fold(1i64, |n, &e| n.checked_mul(e)).is_none_or(|n| n > i64::from(i32::MAX)) {
            return Err(OperatorError::TooLarge { operator: kind.into(), tensor: tensor.name.to_string(), shape: tensor.shape.clone() });
        }
    }
    if steps.iter().any(|step| !stays_near(step)) {
        return Err(OperatorError::TooFar { operator: kind.into() });
    }
    let operator = Operator { kind: kind.into(), steps: split::split(steps) };
    parts::check(&operator).map_err(|why| OperatorError::Parts { operator: kind.into(), why })?;
    Ok(operator)
}

/// Whether no position that an expression reads or writes exceeds 32 bits.
fn stays_near(step: &TensorExpr) -> bool {
    let axes: Vec<Interval> = step.all_axes().map(|a| Interval::below(a.extent)).collect();
    let near = |forms: &[Index]| forms.iter().all(|form| form.range(|a| axes[a.0]).fits(Scalar::I32));
    let mut all = near(&step.store);
    step.scalars().for_each(|own| own.forms(&mut |form| all &= near(std::slice::from_ref(form))));
    all
}

/// A form of an operator, unless it exceeds its numbers.
pub(crate) fn near(operator: &str, form: Option<Index>) -> Result<Index, OperatorError> {
    form.ok_or_else(|| OperatorError::TooFar { operator: operator.into() })
}

pub(crate) fn mul(a: ScalarExpr, b: ScalarExpr) -> ScalarExpr {
    ScalarExpr::binary(BinaryOp::Mul, a, b)
}
pub(crate) fn add(a: ScalarExpr, b: ScalarExpr) -> ScalarExpr {
    ScalarExpr::binary(BinaryOp::Add, a, b)
}
pub(crate) fn sub(a: ScalarExpr, b: ScalarExpr) -> ScalarExpr {
    ScalarExpr::binary(BinaryOp::Sub, a, b)
}

#[cfg(test)]
mod tests;
