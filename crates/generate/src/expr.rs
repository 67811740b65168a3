//! The expression layer: an operator as a sequence of tensor expressions.
//!
//! A [`TensorExpr`] computes one output tensor: for every point of its `axes` it combines `body` over all points of its
//! `reduce` axes (nothing to combine where there are none: then the accumulator is `body` itself), then evaluates `epilogue`,
//! in which [`ScalarExpr::Acc`] is the combined value. Other reductions over the same axes may be made `before`, so that a softmax is one
//! expression: maximum and sum of a row before, then a value for each of its elements ([`Combine::Each`]). Every tensor index is affine in the axes. An index outside a
//! tensor's shape reads as 0 where the load is `padded`; it must not happen otherwise.
//!
//! Nothing below this layer knows an operator by name.

mod evaluate;

pub use evaluate::Evaluator;

use std::sync::Arc;
use warpsight_ir::interpret::{larger, smaller};
use warpsight_ir::{Affine, BinaryOp, Name, Scalar, UnaryOp};

/// An operator: tensor expressions executed in order, joined by temporaries.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    /// For people: `conv2d`, `softmax`.
    pub kind: Name,
    /// The expressions; a later one may read what an earlier one writes, by tensor name.
    pub steps: Vec<TensorExpr>,
}

impl Operator {
    /// The expressions that are kernels: all but those that only make constants of constants for others, which is done before any runs.
    pub fn kernels(&self) -> impl Iterator<Item = &TensorExpr> {
        let last = self.steps.len().saturating_sub(1);
        self.steps.iter().enumerate().filter(move |(n, step)| *n == last || !step.is_known()).map(|(_, step)| step)
    }

    /// Bytes of what lies between its kernels, and of the constants that are made for them.
    pub fn temporary_bytes(&self) -> u64 {
        let between = self.steps.iter().rev().skip(1).map(|step| &step.output);
        between.map(|own| own.len() as u64 * u64::from(own.element.bytes())).sum()
    }
}

/// One output tensor as a function of inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorExpr {
    /// A C identifier.
    pub name: Name,
    /// Tensors read, in argument order.
    pub inputs: Vec<Tensor>,
    /// The tensor written; its role is `Output`.
    pub output: Tensor,
    /// Parallel axes.
    pub axes: Vec<Axis>,
    /// Reduction axes; empty for elementwise expressions.
    pub reduce: Vec<Axis>,
    /// Reductions over the same axes that are made first, in this order; later ones and the expression itself may refer to what they come to.
    pub before: Vec<Reduction>,
    /// How values are combined over the reduction.
    pub combine: Combine,
    /// Known factors of the terms of a sum, where it has them.
    pub coefficients: Option<Coefficients>,
    /// The value combined; refers to all axes.
    pub body: ScalarExpr,
    /// The value stored; refers to the axes of results and [`ScalarExpr::Acc`].
    pub epilogue: ScalarExpr,
    /// Where each result is stored: one form per output dimension. Every output element is written exactly once.
    pub store: Vec<Index>,
    /// Whether results outside of the output occur: these are not stored. It must not happen otherwise.
    pub clipped: bool,
}

/// Numbers that the terms of a sum are multiplied by, known when kernels are made: a term is `values[at]` times the body. Where that is 0 there
/// is no term, whatever the body would be.
///
/// All reduction axes occur in `at`. Every work-item walks over all points of the axes that do, so that its terms are written out with
/// their numbers in them: linear transforms of small tiles, as in Winograd's convolution.
#[derive(Clone, Debug, PartialEq)]
pub struct Coefficients {
    /// The numbers.
    pub values: Arc<[f64]>,
    /// Which of them: within the list at every point.
    pub at: Index,
}

impl Coefficients {
    /// The number at a point of all axes.
    pub fn value(&self, point: impl Fn(AxisId) -> i64) -> f64 {
        // Forms of small lists stay within them.
        let at = self.at.eval(point).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.values.get(at)).copied().unwrap_or(f64::NAN)
    }
}

/// A reduction whose result for each point of the parallel axes is used and not stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduction {
    /// How values are combined: [`Combine::Sum`] or [`Combine::Max`].
    pub combine: Combine,
    /// The value combined; refers to all axes.
    pub body: ScalarExpr,
    /// What it comes to; refers to the parallel axes and [`ScalarExpr::Acc`].
    pub epilogue: ScalarExpr,
}

/// A reduction of an expression, or the values it stores: one walk over the reduction axes.
#[derive(Clone, Copy, Debug)]
pub struct Pass<'a> {
    /// How values are combined.
    pub combine: Combine,
    /// Known factors of the values combined.
    pub coefficients: Option<&'a Coefficients>,
    /// The value combined.
    pub body: &'a ScalarExpr,
    /// What it comes to.
    pub epilogue: &'a ScalarExpr,
}

/// A tensor of an expression, logical shape, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// A C identifier, unique in its expression.
    pub name: Name,
    /// Extents, slowest first; at least one dimension.
    pub shape: Vec<i64>,
    /// Element type in memory.
    pub element: Scalar,
    /// Whether it is known when kernels are made and may be laid out at will.
    pub role: Role,
}

impl Tensor {
    /// Elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product::<i64>() as usize
    }
    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What a tensor is to its expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Computed before the launch.
    Activation,
    /// Constant: may be packed in advance.
    Weight,
    /// Written.
    Output,
}

/// A named range `0..extent`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Axis {
    /// A C identifier, unique in its expression.
    pub name: Name,
    /// At least 1.
    pub extent: i64,
}

/// Position of an axis: parallel axes first, then reduction axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AxisId(pub usize);

/// An affine form over axes.
pub type Index = Affine<AxisId>;

/// How a reduction combines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Combine {
    /// Starts at 0.
    Sum,
    /// Starts at −∞; NaN where any value is.
    Max,
    /// Nothing is combined: each point of the reduction axes, too, has a result, which `store` and `epilogue` may refer to.
    Each,
}

/// A scalar expression in `f32` (evaluated in `f64` by the reference).
#[derive(Clone, Debug, PartialEq)]
pub enum ScalarExpr {
    /// A number.
    Const(f64),
    /// The combined value of the reduction; epilogues only.
    Acc,
    /// What the reduction of this number among those made [`before`](TensorExpr::before) came to.
    Before(usize),
    /// An element of `inputs[tensor]`.
    Load {
        /// Position in [`TensorExpr::inputs`].
        tensor: usize,
        /// One form per dimension.
        index: Vec<Index>,
        /// Whether indices outside the shape occur and read as 0.
        padded: bool,
    },
    /// One operand.
    Unary(UnaryOp, Box<ScalarExpr>),
    /// Two operands; comparisons are not allowed.
    Binary(BinaryOp, Box<ScalarExpr>, Box<ScalarExpr>),
    /// The operand rounded to `F16` or `Bf16`.
    Round(Scalar, Box<ScalarExpr>),
}

impl ScalarExpr {
    /// a op b
    pub fn binary(op: BinaryOp, a: Self, b: Self) -> Self {
        Self::Binary(op, Box::new(a), Box::new(b))
    }
    /// op a
    pub fn unary(op: UnaryOp, a: Self) -> Self {
        Self::Unary(op, Box::new(a))
    }
    /// Replaces the accumulator by an expression: how a following elementwise operator is fused.
    pub fn with_acc(&self, acc: &Self) -> Self {
        self.with_leaves(&mut |leaf| if *leaf == Self::Acc { acc.clone() } else { leaf.clone() })
    }
    /// Replaces every number, load, accumulator and result of an earlier reduction.
    pub fn with_leaves(&self, f: &mut impl FnMut(&Self) -> Self) -> Self {
        match self {
            Self::Const(_) | Self::Acc | Self::Before(_) | Self::Load { .. } => f(self),
            Self::Unary(op, a) => Self::unary(*op, a.with_leaves(f)),
            Self::Binary(op, a, b) => Self::binary(*op, a.with_leaves(f), b.with_leaves(f)),
            Self::Round(to, a) => Self::Round(*to, Box::new(a.with_leaves(f))),
        }
    }
    /// The narrowest type that anything in it is rounded to.
    pub fn rounds_to(&self) -> Option<Scalar> {
        match self {
            Self::Const(_) | Self::Acc | Self::Before(_) | Self::Load { .. } => None,
            Self::Unary(_, a) => a.rounds_to(),
            Self::Binary(_, a, b) => a.rounds_to().max(b.rounds_to()),
            // `Bf16`, which keeps fewer bits, is the greater one.
            Self::Round(to, a) => a.rounds_to().max(Some(*to)),
        }
    }
    /// Calls `f` for every load.
    pub fn loads<'a>(&'a self, f: &mut impl FnMut(usize, &'a [Index], bool)) {
        match self {
            Self::Load { tensor, index, padded } => f(*tensor, index, *padded),
            Self::Unary(_, a) | Self::Round(_, a) => a.loads(f),
            Self::Binary(_, a, b) => {
                a.loads(f);
                b.loads(f);
            }
            Self::Const(_) | Self::Acc | Self::Before(_) => {}
        }
    }
}

impl<'a> Pass<'a> {
    /// What is evaluated at each point of the reduction axes.
    pub fn in_steps(self) -> impl Iterator<Item = &'a ScalarExpr> + Clone {
        [Some(self.body), (self.combine == Combine::Each).then_some(self.epilogue)].into_iter().flatten()
    }
}

impl Combine {
    /// How two values are combined.
    pub fn operation(self) -> BinaryOp {
        match self {
            Self::Sum | Self::Each => BinaryOp::Add,
            Self::Max => BinaryOp::Max,
        }
    }

    /// What a reduction starts with.
    pub fn start(self) -> f64 {
        match self {
            Self::Sum | Self::Each => 0.0,
            Self::Max => f64::NEG_INFINITY,
        }
    }
}

impl TensorExpr {
    /// The walks over the reduction axes: those before, then the expression's own, which alone stores.
    pub fn passes(&self) -> impl Iterator<Item = Pass<'_>> {
        let before =
            self.before.iter().map(|own| Pass { combine: own.combine, coefficients: None, body: &own.body, epilogue: &own.epilogue });
        before.chain([self.own_pass()])
    }
    /// The last one of them.
    pub fn own_pass(&self) -> Pass<'_> {
        Pass { combine: self.combine, coefficients: self.coefficients.as_ref(), body: &self.body, epilogue: &self.epilogue }
    }
    /// Whether each point of the reduction axes has a result of its own.
    pub fn stores_each(&self) -> bool {
        self.combine == Combine::Each
    }
    /// Whether values are combined in a walk after that of a number.
    pub fn combines_after(&self, number: usize) -> bool {
        number + 1 < self.before.len() || !self.stores_each()
    }
    /// The axes that a result has a position along.
    pub fn result_axes(&self) -> impl Iterator<Item = &Axis> {
        let inner = if self.stores_each() { self.reduce.as_slice() } else { &[] };
        self.axes.iter().chain(inner)
    }
    /// Values of bodies that a point of the parallel axes is made of, of all walks.
    pub fn work_per_row(&self) -> usize {
        let terms = self.reduce.iter().map(|a| a.extent as usize).fold(1, usize::saturating_mul);
        terms.saturating_mul(self.before.len() + 1)
    }
    /// Whether it reads constants alone: what it writes is known with them, before any kernel runs.
    pub fn is_known(&self) -> bool {
        self.inputs.iter().all(|tensor| tensor.role == Role::Weight)
    }
    /// Terms whose known factor is not 0, over one walk through all points of the axes that it depends on; `None` where terms have none.
    pub fn known_terms(&self) -> Option<u64> {
        let own = self.coefficients.as_ref()?;
        let axes: Vec<(AxisId, i64)> = own.at.terms().iter().filter_map(|(a, _)| Some((*a, self.all_axes().nth(a.0)?.extent))).collect();
        let points: i64 = axes.iter().map(|axis| axis.1).product();
        let there = |flat: &i64| {
            let mut left = *flat;
            let mut digit = |extent: i64| {
                let own = left % extent;
                left /= extent;
                own
            };
            let digits: Vec<i64> = axes.iter().map(|axis| digit(axis.1)).collect();
            own.value(|a| axes.iter().position(|axis| axis.0 == a).map_or(0, |n| digits[n])) != 0.0
        };
        let terms = (0..points).filter(there).count() as u64;
        Some(terms)
    }
    /// Whether each work-item walks over all of an axis: one that known factors depend on.
    pub fn written_out(&self, a: AxisId) -> bool {
        self.coefficients.as_ref().is_some_and(|own| own.at.coefficient(a) != 0)
    }
    /// Whether a result, a point of [`Self::result_axes`], is outside of the output and not stored.
    pub fn leaves_out(&self, point: &[i64]) -> bool {
        let outside = |(form, extent): (&Index, &i64)| form.eval(|a| point[a.0]).is_none_or(|at| !(0..*extent).contains(&at));
        self.clipped && self.store.iter().zip(&self.output.shape).any(outside)
    }
    /// The position of a result, a point of [`Self::result_axes`], in the output, row-major; `None` beyond all numbers.
    pub fn output_position(&self, point: &[i64]) -> Option<usize> {
        let forms = self.store.iter().zip(&self.output.shape);
        let at =
            forms.into_iter().try_fold(0_i64, |at, (form, extent)| at.checked_mul(*extent)?.checked_add(form.eval(|a| point[a.0])?))?;
        usize::try_from(at).ok()
    }
    /// All axes, parallel ones first.
    pub fn all_axes(&self) -> impl Iterator<Item = &Axis> {
        self.axes.iter().chain(&self.reduce)
    }
    /// The value of one result, a point of [`Self::result_axes`], in `f64`, reading inputs (row-major, one slice per input).
    pub fn evaluate<T: Copy + Into<f64>>(&self, point: &[i64], inputs: &[&[T]]) -> f64 {
        Evaluator::new(self, inputs).result(point)
    }
}

/// The meaning of a unary operation in `f64`.
pub fn apply_unary(op: UnaryOp, x: f64) -> f64 {
    match op {
        UnaryOp::Neg => -x,
        UnaryOp::Not => f64::from(x == 0.0),
        UnaryOp::Abs => x.abs(),
        UnaryOp::Floor => x.floor(),
        UnaryOp::Ceil => x.ceil(),
        UnaryOp::Exp => x.exp(),
        UnaryOp::Log => x.ln(),
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Rsqrt => 1.0 / x.sqrt(),
        UnaryOp::Tanh => x.tanh(),
        UnaryOp::Sin => x.sin(),
        UnaryOp::Cos => x.cos(),
        UnaryOp::Erf => libm::erf(x),
    }
}

/// The meaning of a binary arithmetic operation in `f64`; bit operations and comparisons do not occur in expressions and give NaN.
pub fn apply_binary(op: BinaryOp, a: f64, b: f64) -> f64 {
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / b,
        BinaryOp::Rem => a % b,
        BinaryOp::Min => smaller(a, b),
        BinaryOp::Max => larger(a, b),
        _ => f64::NAN,
    }
}

/// A name from anything that makes one.
pub fn name(text: impl Into<Arc<str>>) -> Name {
    text.into()
}
