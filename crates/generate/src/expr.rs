//! The expression layer: an operator as a sequence of tensor expressions.
//!
//! A [`TensorExpr`] computes one output tensor: for every point of its `axes` it combines `body` over all points of its
//! `reduce` axes (nothing to combine where there are none: then the accumulator is `body` itself), then evaluates `epilogue`,
//! in which [`ScalarExpr::Acc`] is the combined value. Other reductions over the same axes may be made `before`, so that a softmax is one
//! expression: maximum and sum of a row before, then a value for each of its elements ([`Combine::Each`]). Every tensor index is affine in the axes. An index outside a
//! tensor's shape reads as 0 where the load is `padded`; it must not happen otherwise.
//!
//! Nothing below this layer knows an operator by name.

use std::sync::Arc;
use warpsight_ir::interpret::{larger, rounded, smaller};
use warpsight_ir::{Affine, BinaryOp, Name, Scalar, UnaryOp};

/// An operator: tensor expressions executed in order, joined by temporaries.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    /// For people: `conv2d`, `softmax`.
    pub kind: Name,
    /// The expressions; a later one may read what an earlier one writes, by tensor name.
    pub steps: Vec<TensorExpr>,
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
    /// The value combined; refers to all axes.
    pub body: ScalarExpr,
    /// The value stored; refers to the axes of results and [`ScalarExpr::Acc`].
    pub epilogue: ScalarExpr,
    /// Where each result is stored: one form per output dimension. Every output element is written exactly once.
    pub store: Vec<Index>,
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

/// What a scalar is evaluated with beside tensors.
#[derive(Clone, Copy)]
struct Known<'a> {
    acc: f64,
    before: &'a [f64],
}

impl TensorExpr {
    /// The walks over the reduction axes: those before, then the expression's own, which alone stores.
    pub fn passes(&self) -> impl Iterator<Item = Pass<'_>> {
        let before = self.before.iter().map(|own| Pass { combine: own.combine, body: &own.body, epilogue: &own.epilogue });
        before.chain([self.own_pass()])
    }
    /// The last one of them.
    pub fn own_pass(&self) -> Pass<'_> {
        Pass { combine: self.combine, body: &self.body, epilogue: &self.epilogue }
    }
    /// Whether each point of the reduction axes has a result of its own.
    pub fn stores_each(&self) -> bool {
        self.combine == Combine::Each
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
    ///
    /// This is the reference that every kernel is verified against.
    pub fn evaluate<T: Copy + Into<f64>>(&self, point: &[i64], inputs: &[&[T]]) -> f64 {
        debug_assert_eq!(point.len(), self.result_axes().count());
        let mut all: Vec<i64> =
            point.iter().copied().chain(self.reduce.iter().map(|_| 0)).take(self.axes.len() + self.reduce.len()).collect();
        let before = self.reductions(&mut all.clone(), inputs);
        self.result(&mut all, inputs, &before)
    }

    /// The same of all results of a point of the parallel axes, in order.
    pub fn evaluate_row<T: Copy + Into<f64>>(&self, row: &[i64], inputs: &[&[T]], mut f: impl FnMut(&[i64], f64)) {
        let mut all: Vec<i64> = row.iter().copied().chain(self.reduce.iter().map(|_| 0)).collect();
        let before = self.reductions(&mut all, inputs);
        let results = self.result_axes().count();
        loop {
            let value = self.result(&mut all, inputs, &before);
            f(&all[..results], value);
            if !self.stores_each() || !self.next(&mut all) {
                return;
            }
        }
    }

    /// What the reductions made before come to.
    fn reductions<T: Copy + Into<f64>>(&self, all: &mut [i64], inputs: &[&[T]]) -> Vec<f64> {
        let mut before = vec![];
        for pass in self.passes().take(self.before.len()) {
            let acc = self.reduced(pass, all, inputs, &before);
            before.push(self.value(pass.epilogue, all, inputs, Known { acc, before: &before }));
        }
        before
    }

    fn result<T: Copy + Into<f64>>(&self, all: &mut [i64], inputs: &[&[T]], before: &[f64]) -> f64 {
        let acc = if self.reduce.is_empty() || self.stores_each() {
            self.value(&self.body, all, inputs, Known { acc: 0.0, before })
        } else {
            self.reduced(self.own_pass(), all, inputs, before)
        };
        self.value(&self.epilogue, all, inputs, Known { acc, before })
    }

    /// The next point of the reduction axes, the last one fastest; back at the first where there is none.
    fn next(&self, all: &mut [i64]) -> bool {
        let inner = all[self.axes.len()..].iter_mut().zip(&self.reduce);
        inner.rev().any(|(at, axis)| {
            *at = (*at + 1) % axis.extent;
            *at != 0
        })
    }

    /// What all points of the reduction axes come to; these are at their first point before and after.
    fn reduced<T: Copy + Into<f64>>(&self, pass: Pass, all: &mut [i64], inputs: &[&[T]], before: &[f64]) -> f64 {
        let mut acc = pass.combine.start();
        all[self.axes.len()..].fill(0);
        loop {
            let value = self.value(pass.body, all, inputs, Known { acc: 0.0, before });
            acc = apply_binary(pass.combine.operation(), acc, value);
            if !self.next(all) {
                return acc;
            }
        }
    }

    fn value<T: Copy + Into<f64>>(&self, scalar: &ScalarExpr, point: &[i64], inputs: &[&[T]], known: Known) -> f64 {
        match scalar {
            ScalarExpr::Const(c) => *c,
            ScalarExpr::Acc => known.acc,
            ScalarExpr::Before(n) => known.before[*n],
            ScalarExpr::Load { tensor, index, padded } => {
                let mut flat = 0;
                for (form, &extent) in index.iter().zip(&self.inputs[*tensor].shape) {
                    // What is beyond all numbers is outside, too.
                    let Some(at) = form.eval(|a| point[a.0]).filter(|at| (0..extent).contains(at)) else {
                        debug_assert!(
                            *padded,
                            "{}: {form:?} at {point:?} is outside {extent} in `{}`",
                            self.name, self.inputs[*tensor].name
                        );
                        return 0.0;
                    };
                    flat = flat * extent + at;
                }
                inputs[*tensor][flat as usize].into()
            }
            ScalarExpr::Unary(op, a) => apply_unary(*op, self.value(a, point, inputs, known)),
            ScalarExpr::Round(to, a) => rounded(*to, self.value(a, point, inputs, known)),
            ScalarExpr::Binary(op, a, b) => apply_binary(*op, self.value(a, point, inputs, known), self.value(b, point, inputs, known)),
        }
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
