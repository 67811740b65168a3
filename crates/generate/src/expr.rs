//! The expression layer: an operator as a sequence of tensor expressions.
//!
//! A [`TensorExpr`] computes one output tensor: for every point of its `axes` it combines `body` over all points of its
//! `reduce` axes (nothing to combine where there are none: then the accumulator is `body` itself), then evaluates `epilogue`,
//! in which [`ScalarExpr::Acc`] is the combined value. Other reductions over the same axes may be made `before`, so that a softmax is one
//! expression: maximum and sum of a row before, then a value for each of its elements ([`Combine::Each`]). Results may also be normalised along
//! rows of them before they are stored ([`Across`]). Every tensor index is affine in the axes. An index outside a
//! tensor's shape reads as 0 where the load is `padded`; it must not happen otherwise. An element may also be found through numbers
//! ([`ScalarExpr::Gather`]): what a tensor of integers holds, or what is computed of a position.
//!
//! A scalar is of one of three kinds ([`ScalarExpr::kind`]): a number in `f32`, an integer in `i32`, the truth value of a comparison. An operation
//! on numbers and integers is one on numbers; a truth value that is used as a number is 1 or 0. Accumulators are numbers, and an integer that is stored
//! is one of what was a number: exact up to 2²⁴.
//!
//! Nothing below this layer knows an operator by name.

mod demand;
mod evaluate;
mod terms;

pub use evaluate::Evaluator;

use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;
use warpsight_ir::interpret::{larger, smaller};
use warpsight_ir::range::Interval;
use warpsight_ir::{Affine, BinaryOp, Name, Scalar, UnaryOp};

/// An operator: tensor expressions executed in order, joined by temporaries. Several of them may write parts of one tensor ([`crate::parts`]).
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

    /// Bytes of what lies between its kernels, and of the constants that are made for them: of what one writes and another reads.
    pub fn temporary_bytes(&self) -> u64 {
        let read = |own: &Tensor| self.steps.iter().flat_map(|step| &step.inputs).any(|input| input.name == own.name);
        self.written().filter(|own| read(own)).map(|own| own.len() as u64 * u64::from(own.element.bytes())).sum()
    }

    /// The tensors that it writes, each once.
    pub fn written(&self) -> impl Iterator<Item = &Tensor> {
        let first = |n: usize| self.steps[..n].iter().all(|own| own.output.name != self.steps[n].output.name);
        (0..self.steps.len()).filter(move |n| first(*n)).map(|n| &self.steps[n].output)
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
    /// The value stored, or normalised first; refers to the axes of results and [`ScalarExpr::Acc`].
    pub epilogue: ScalarExpr,
    /// What is made of rows of results before they are stored; `None` where each is stored as it is.
    pub across: Option<Across>,
    /// Where each result is stored: one form per output dimension. Every output element is written exactly once, by this expression or by another
    /// one of the operator whose output has the same name.
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

/// What is made of rows of results while a group holds them, as of scores by a softmax or of sums by a layer normalisation: reductions along
/// one of the parallel axes, then the value stored for each point of it. An expression that has it has nothing [`before`](TensorExpr::before)
/// and one result for each point of its parallel axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Across {
    /// The parallel axis that a row lies along.
    pub along: AxisId,
    /// Reductions of what the expression's epilogue came to ([`ScalarExpr::Acc`] of a body), in this order; what they come to is
    /// [`ScalarExpr::Before`] to later ones and to the value stored. They load nothing. What is `kept` takes the place of what was held.
    pub made: Vec<Reduction>,
    /// The value stored; refers to the parallel axes and, as [`ScalarExpr::Acc`], what is held.
    pub epilogue: ScalarExpr,
}

/// A reduction whose result for each point of the parallel axes, or each row of results ([`Across`]), is used and not stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduction {
    /// How values are combined: not [`Combine::Each`].
    pub combine: Combine,
    /// The value combined; refers to all axes, across rows to what is held ([`ScalarExpr::Acc`]).
    pub body: ScalarExpr,
    /// What it comes to; refers to the parallel axes and [`ScalarExpr::Acc`].
    pub epilogue: ScalarExpr,
    /// Whether the values combined take the place of what is held, or, before results are there, are put where these will be, for the walk that stores these to load: what costs much is made once.
    /// One reduction of an expression that stores each point, at most, whose numbers are elements of the output as they are.
    pub kept: bool,
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
    /// Whether the values combined are stored, too ([`Reduction::kept`]).
    pub kept: bool,
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
    /// What a weight holds that follows from the operator itself, such as the places of a resizing: one number an element.
    pub values: Option<Arc<[f64]>>,
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
    /// Starts at 1.
    Product,
    /// Nothing is combined: each point of the reduction axes, too, has a result, which `store` and `epilogue` may refer to.
    Each,
}

/// A scalar expression in numbers ([`TensorExpr::arithmetic`], called `F32` here whatever they are) and `i32`, evaluated in `f64` by the
/// reference.
#[derive(Clone, Debug, PartialEq)]
pub enum ScalarExpr {
    /// A number, or an integer where it meets one.
    Const(f64),
    /// The integer that an affine form is.
    Position(Index),
    /// The combined value of the reduction, in epilogues; in what is made across rows, what is held.
    Acc,
    /// What the reduction of this number among those made [`before`](TensorExpr::before), or [`across`](TensorExpr::across) results, came to.
    Before(usize),
    /// An element of `inputs[tensor]`.
    Load {
        /// Position in [`TensorExpr::inputs`]; behind them, of what a reduction [kept](Reduction::kept) in the output.
        tensor: usize,
        /// One form per dimension.
        index: Vec<Index>,
        /// Whether indices outside the shape occur and read as 0.
        padded: bool,
    },
    /// An element of `inputs[tensor]` that is found through numbers; 0 where it is outside of the shape.
    Gather {
        /// Position in [`TensorExpr::inputs`].
        tensor: usize,
        /// One form per dimension.
        index: Vec<Index>,
        /// What is added to the form of a dimension, towards zero: at most once for each.
        found: Vec<(usize, ScalarExpr)>,
    },
    /// One operand.
    Unary(UnaryOp, Box<ScalarExpr>),
    /// Two operands. A quotient of integers is rounded towards zero. `And` and `Or` are of truth values alone.
    Binary(BinaryOp, Box<ScalarExpr>, Box<ScalarExpr>),
    /// The second where the first holds, else the third; both are evaluated.
    Select(Box<ScalarExpr>, Box<ScalarExpr>, Box<ScalarExpr>),
    /// The operand rounded to `F16` or `Bf16`, towards zero to an integer (`I32`), or an integer as a number (`F32`).
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
    /// condition ? a : b
    pub fn select(condition: Self, a: Self, b: Self) -> Self {
        Self::Select(Box::new(condition), Box::new(a), Box::new(b))
    }
    /// The operand rounded.
    pub fn round(to: Scalar, a: Self) -> Self {
        Self::Round(to, Box::new(a))
    }
    /// What it is made of.
    pub fn operands(&self) -> SmallVec<[&Self; 3]> {
        match self {
            Self::Const(_) | Self::Position(_) | Self::Acc | Self::Before(_) | Self::Load { .. } => SmallVec::new(),
            Self::Gather { found, .. } => found.iter().map(|own| &own.1).collect(),
            Self::Unary(_, a) | Self::Round(_, a) => SmallVec::from_slice(&[&**a]),
            Self::Binary(_, a, b) => SmallVec::from_slice(&[&**a, &**b]),
            Self::Select(condition, a, b) => SmallVec::from_slice(&[&**condition, &**a, &**b]),
        }
    }
    /// Calls `f` for it and all that it is made of.
    pub fn each<'a>(&'a self, f: &mut impl FnMut(&'a Self)) {
        f(self);
        self.operands().into_iter().for_each(|own| own.each(f));
    }
    /// Replaces everything without operands, and what is found through numbers once these are replaced.
    pub fn with_leaves(&self, f: &mut impl FnMut(&Self) -> Self) -> Self {
        match self {
            Self::Const(_) | Self::Position(_) | Self::Acc | Self::Before(_) | Self::Load { .. } => f(self),
            Self::Gather { tensor, index, found } => {
                let found = found.iter().map(|(d, own)| (*d, own.with_leaves(f))).collect();
                f(&Self::Gather { tensor: *tensor, index: index.clone(), found })
            }
            Self::Unary(op, a) => Self::unary(*op, a.with_leaves(f)),
            Self::Binary(op, a, b) => Self::binary(*op, a.with_leaves(f), b.with_leaves(f)),
            Self::Select(condition, a, b) => Self::select(condition.with_leaves(f), a.with_leaves(f), b.with_leaves(f)),
            Self::Round(to, a) => Self::round(*to, a.with_leaves(f)),
        }
    }
    /// With another scalar wherever it holds one.
    pub fn replaced(&self, what: &Self, by: &Self) -> Self {
        let own = |a: &Self| a.replaced(what, by);
        match self {
            same if same == what => by.clone(),
            Self::Unary(op, a) => Self::unary(*op, own(a)),
            Self::Round(to, a) => Self::round(*to, own(a)),
            Self::Binary(op, a, b) => Self::binary(*op, own(a), own(b)),
            Self::Select(condition, a, b) => Self::select(own(condition), own(a), own(b)),
            Self::Gather { tensor, index, found } => {
                Self::Gather { tensor: *tensor, index: index.clone(), found: found.iter().map(|(d, a)| (*d, own(a))).collect() }
            }
            Self::Const(_) | Self::Position(_) | Self::Acc | Self::Before(_) | Self::Load { .. } => self.clone(),
        }
    }
    /// With a form in place of each axis; `None` where one exceeds its numbers.
    pub fn substitute(&self, forms: &[Index]) -> Option<Self> {
        let mut near = true;
        let mut moved = |index: &[Index]| -> Vec<Index> {
            let own: Option<_> = index.iter().map(|form| form.substitute(|a| forms.get(a.0))).collect();
            near &= own.is_some();
            own.unwrap_or_default()
        };
        let own = self.with_leaves(&mut |leaf| match leaf {
            Self::Position(form) => moved(std::slice::from_ref(form)).pop().map_or(Self::Acc, Self::Position),
            Self::Load { tensor, index, padded } => Self::Load { tensor: *tensor, index: moved(index), padded: *padded },
            Self::Gather { tensor, index, found } => Self::Gather { tensor: *tensor, index: moved(index), found: found.clone() },
            other => other.clone(),
        });
        near.then_some(own)
    }
    /// The narrowest type that anything in it is rounded to.
    pub fn rounds_to(&self) -> Option<Scalar> {
        let mut narrowest = None;
        self.each(&mut |own| {
            // `Bf16`, which keeps fewer bits, is the greater one.
            if let Self::Round(to @ (Scalar::F16 | Scalar::Bf16), _) = own {
                narrowest = narrowest.max(Some(*to));
            }
        });
        narrowest
    }
    /// Calls `f` for every load.
    pub fn loads<'a>(&'a self, f: &mut impl FnMut(usize, &'a [Index], bool)) {
        self.each(&mut |own| {
            if let Self::Load { tensor, index, padded } = own {
                f(*tensor, index, *padded);
            }
        });
    }
    /// Calls `f` for every affine form: of positions, loads, and what is found through numbers.
    pub fn forms<'a>(&'a self, f: &mut impl FnMut(&'a Index)) {
        self.each(&mut |own| match own {
            Self::Position(form) => f(form),
            Self::Load { index, .. } | Self::Gather { index, .. } => index.iter().for_each(&mut *f),
            _ => {}
        });
    }
    /// What it is: `Bool`, `I32` or `F32`.
    pub fn kind(&self, inputs: &[Tensor]) -> Scalar {
        match self {
            Self::Const(_) | Self::Acc | Self::Before(_) => Scalar::F32,
            Self::Position(_) => Scalar::I32,
            Self::Load { tensor, .. } | Self::Gather { tensor, .. } => {
                // What is kept is a number.
                if inputs.get(*tensor).is_some_and(|own| own.element == Scalar::I32) { Scalar::I32 } else { Scalar::F32 }
            }
            Self::Unary(UnaryOp::Not, _) => Scalar::Bool,
            Self::Unary(UnaryOp::Neg | UnaryOp::Abs, a) if a.kind(inputs) == Scalar::I32 => Scalar::I32,
            Self::Unary(..) => Scalar::F32,
            Self::Binary(op, ..) if op.is_comparison() || matches!(op, BinaryOp::And | BinaryOp::Or) => Scalar::Bool,
            Self::Binary(_, a, b) => Self::together(a, b, inputs),
            Self::Select(_, a, b) => match (a.kind(inputs), b.kind(inputs)) {
                (Scalar::Bool, Scalar::Bool) => Scalar::Bool,
                _ => Self::together(a, b, inputs),
            },
            Self::Round(Scalar::I32, _) => Scalar::I32,
            Self::Round(..) => Scalar::F32,
        }
    }
    /// What two operands are together.
    pub fn together(a: &Self, b: &Self, inputs: &[Tensor]) -> Scalar {
        Self::joined((a, a.kind(inputs)), (b, b.kind(inputs)))
    }
    /// The same of operands whose kinds are known: integers where one is and the other is one, too, or may be.
    pub fn joined(a: (&Self, Scalar), b: (&Self, Scalar)) -> Scalar {
        let whole = |(own, kind): (&Self, Scalar)| match own {
            Self::Const(value) => value.fract() == 0.0 && value.abs() <= f64::from(i32::MAX),
            _ => kind == Scalar::I32,
        };
        let constants = matches!((a.0, b.0), (Self::Const(_), Self::Const(_)));
        if whole(a) && whole(b) && !constants { Scalar::I32 } else { Scalar::F32 }
    }
    /// Whether all elements it reads lie at affine places, and all its values are numbers or what comparisons of them say: nothing in it is
    /// an integer.
    pub fn is_plain(&self, inputs: &[Tensor]) -> bool {
        let mut plain = true;
        self.each(&mut |own| {
            plain &= match own {
                Self::Position(_) | Self::Gather { .. } | Self::Round(Scalar::I32, _) => false,
                Self::Load { tensor, .. } => inputs.get(*tensor).is_none_or(|own| own.element != Scalar::I32),
                _ => true,
            };
        });
        plain
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
            Self::Product => BinaryOp::Mul,
        }
    }

    /// What a reduction starts with.
    pub fn start(self) -> f64 {
        match self {
            Self::Sum | Self::Each => 0.0,
            Self::Max => f64::NEG_INFINITY,
            Self::Product => 1.0,
        }
    }
}

impl TensorExpr {
    /// The walks over the reduction axes: those before, then the expression's own, which alone stores.
    pub fn passes(&self) -> impl Iterator<Item = Pass<'_>> {
        let before = self.before.iter().map(|own| {
            let Reduction { combine, body, epilogue, kept } = own;
            Pass { combine: *combine, coefficients: None, body, epilogue, kept: *kept }
        });
        before.chain([self.own_pass()])
    }
    /// The last one of them.
    pub fn own_pass(&self) -> Pass<'_> {
        Pass { combine: self.combine, coefficients: self.coefficients.as_ref(), body: &self.body, epilogue: &self.epilogue, kept: false }
    }
    /// Whether each point of the reduction axes has a result of its own.
    pub fn stores_each(&self) -> bool {
        self.combine == Combine::Each
    }
    /// The tensor of a load, an input or the output.
    pub fn tensor(&self, position: usize) -> &Tensor {
        self.inputs.get(position).unwrap_or(&self.output)
    }
    /// The reduction whose values are kept.
    pub fn kept(&self) -> Option<&Reduction> {
        self.before.iter().find(|own| own.kept)
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
    /// Extents of the parallel axes whose results are made by themselves ([`Evaluator::row`]): of the axis that rows are held along, one point
    /// stands for all.
    pub fn rows(&self) -> Vec<i64> {
        let along = self.across.as_ref().map(|own| own.along.0);
        self.axes.iter().enumerate().map(|(a, axis)| if Some(a) == along { 1 } else { axis.extent }).collect()
    }
    /// Values of bodies that such a point is made of, of all walks.
    pub fn work_per_row(&self) -> usize {
        let terms = self.reduce.iter().map(|a| a.extent as usize).fold(1, usize::saturating_mul);
        match &self.across {
            Some(own) => terms.saturating_add(own.made.len()).saturating_mul(self.axes[own.along.0].extent as usize),
            None => terms.saturating_mul(self.before.len() + 1),
        }
    }
    /// What its numbers are computed in: `Half` where elements of a tensor are halves to compute with, else `F32`.
    pub fn arithmetic(&self) -> Scalar {
        let halves = self.inputs.iter().chain([&self.output]).any(|tensor| tensor.element == Scalar::Half);
        if halves { Scalar::Half } else { Scalar::F32 }
    }
    /// Everything that it evaluates.
    pub fn scalars(&self) -> impl Iterator<Item = &ScalarExpr> {
        let across =
            self.across.iter().flat_map(|own| own.made.iter().flat_map(|made| [&made.body, &made.epilogue]).chain([&own.epilogue]));
        self.passes().flat_map(|pass| [pass.body, pass.epilogue]).chain(across)
    }
    /// What each result comes to where it is stored.
    pub fn stored(&self) -> &ScalarExpr {
        self.across.as_ref().map_or(&self.epilogue, |own| &own.epilogue)
    }
    /// Whether every value is a number and every place affine ([`ScalarExpr::is_plain`]).
    pub fn is_plain(&self) -> bool {
        self.scalars().all(|own| own.is_plain(&self.inputs))
    }
    /// The dimensions along which elements of a tensor are found through numbers; `None` where it is read by its axes alone.
    pub fn found_along(&self, tensor: usize) -> Option<SmallVec<[usize; 4]>> {
        let mut along: Option<SmallVec<[usize; 4]>> = None;
        self.finds(&mut |own, _, found| {
            if own == tensor {
                along.get_or_insert_default().extend(found.iter().map(|own| own.0));
            }
        });
        along
    }
    /// Calls `f` for every element that is found through numbers: with its tensor, its forms and its numbers.
    pub fn finds<'a>(&'a self, f: &mut impl FnMut(usize, &'a [Index], &'a [(usize, ScalarExpr)])) {
        let mut see = |own: &'a ScalarExpr| {
            if let ScalarExpr::Gather { tensor, index, found } = own {
                f(*tensor, index, found);
            }
        };
        self.scalars().for_each(|own| own.each(&mut see));
    }
    /// Whether it reads constants alone: what it writes is known with them, before any kernel runs.
    pub fn is_known(&self) -> bool {
        self.inputs.iter().all(|tensor| tensor.role == Role::Weight)
    }
    /// The inputs, by number, that are known before any kernel runs.
    pub fn known_inputs(&self) -> Vec<u16> {
        (0..).zip(&self.inputs).filter(|own| own.1.role == Role::Weight).map(|own| own.0).collect()
    }
    /// Terms whose known factor is not 0, over one walk through all points of the axes that it depends on, and the most of any result; `None` where
    /// terms have none.
    pub fn known_terms(&self) -> Option<(u64, u64)> {
        let own = self.coefficients.as_ref()?;
        let axes: Vec<(AxisId, i64)> = own.at.terms().iter().filter_map(|(a, _)| Some((*a, self.all_axes().nth(a.0)?.extent))).collect();
        let points: i64 = axes.iter().map(|axis| axis.1).product();
        let mut each: BTreeMap<Vec<i64>, u64> = BTreeMap::new();
        for flat in 0..points {
            let mut left = flat;
            let mut digit = |extent: i64| {
                let own = left % extent;
                left /= extent;
                own
            };
            let digits: Vec<i64> = axes.iter().map(|axis| digit(axis.1)).collect();
            let there = own.value(|a| axes.iter().position(|axis| axis.0 == a).map_or(0, |n| digits[n])) != 0.0;
            let result = axes.iter().zip(digits).filter(|own| own.0.0.0 < self.axes.len()).map(|own| own.1).collect();
            *each.entry(result).or_default() += u64::from(there);
        }
        Some((each.values().sum(), each.values().copied().max().unwrap_or(0)))
    }
    /// Whether each work-item walks over all of an axis: one that known factors depend on.
    pub fn written_out(&self, a: AxisId) -> bool {
        self.coefficients.as_ref().is_some_and(|own| own.at.coefficient(a) != 0)
    }
    /// Whether a result, a point of [`Self::result_axes`], is outside of the output and not stored.
    #[inline]
    pub fn leaves_out(&self, point: &[i64]) -> bool {
        let outside = |(form, extent): (&Index, &i64)| form.eval(|a| point[a.0]).is_none_or(|at| !(0..*extent).contains(&at));
        self.clipped && self.store.iter().zip(&self.output.shape).any(outside)
    }
    /// Whether every result that is stored has its place in the output.
    pub fn stays_inside(&self) -> bool {
        let axes: SmallVec<[Interval; 8]> = self.all_axes().map(|axis| Interval::below(axis.extent)).collect();
        let inside = |(form, extent): (&Index, &i64)| form.range(|a: AxisId| axes[a.0]).within(Interval::below(*extent));
        self.clipped || self.store.iter().zip(&self.output.shape).all(inside)
    }
    /// All axes, parallel ones first.
    pub fn all_axes(&self) -> impl Iterator<Item = &Axis> {
        self.axes.iter().chain(&self.reduce)
    }
    /// The value of one result, a point of [`Self::result_axes`], in `f64`, reading inputs (row-major, one slice per input).
    pub fn evaluate<T: Copy + Into<f64>>(&self, point: &[i64], inputs: &[&[T]]) -> f64 {
        Evaluator::of_one(self, inputs).result(point)
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

/// The meaning of a binary operation in `f64`, truth values being 1 and 0. Quotients are those of numbers; exclusive or and shifts do not occur in
/// expressions and give NaN.
pub fn apply_binary(op: BinaryOp, a: f64, b: f64) -> f64 {
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / b,
        BinaryOp::Rem => a % b,
        BinaryOp::Min => smaller(a, b),
        BinaryOp::Max => larger(a, b),
        BinaryOp::Lt => f64::from(a < b),
        BinaryOp::Le => f64::from(a <= b),
        BinaryOp::Eq => f64::from(a == b),
        BinaryOp::Ne => f64::from(a != b),
        BinaryOp::And => f64::from(a != 0.0 && b != 0.0),
        BinaryOp::Or => f64::from(a != 0.0 || b != 0.0),
        BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr => f64::NAN,
    }
}

/// A name from anything that makes one.
pub fn name(text: impl Into<Arc<str>>) -> Name {
    text.into()
}
