//! Expressions: what a statement evaluates.

use super::{Bound, Name};
use crate::types::{Const, Scalar};
use serde::{Deserialize, Serialize};

/// An expression. It has no side effect; every node has one [`Type`](crate::types::Type).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Expr {
    /// A literal scalar.
    Const(Const),
    /// A size parameter, `i32`.
    Size(Name),
    /// A group or lane axis, loop variable, `Let` or `Var`.
    Var(Name),
    /// Elements of a buffer or array (not a tile).
    Load {
        /// A buffer parameter or an array.
        source: Name,
        /// Coordinate vector, slowest first.
        index: Vec<Expr>,
        /// Consecutive elements along the last dimension.
        width: u8,
        /// When it gives zero instead.
        guard: Vec<Bound>,
    },
    /// A texel: four components.
    Texel {
        /// An image parameter that is read.
        image: Name,
        /// Column.
        x: Box<Expr>,
        /// Row; the constant 0 of one-dimensional images.
        y: Box<Expr>,
        /// When it gives zero instead.
        guard: Vec<Bound>,
    },
    /// One operand.
    Unary(UnaryOp, Box<Expr>),
    /// Two operands of one type; comparisons give `bool`s of the same width.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// a·b + c, rounded once; floats.
    Fma(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `if condition { a } else { b }` lane by lane; both are evaluated. The condition has their width.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Converts each lane to the scalar type: to integers towards zero (saturating), to floats to nearest even.
    Cast(Scalar, Box<Expr>),
    /// A scalar repeated.
    Splat(Box<Expr>, u8),
    /// The lanes of its parts in order; the sum of widths is a vector width.
    Concat(Vec<Expr>),
    /// Lanes `start .. start + width` of a vector.
    Slice {
        /// The vector.
        vector: Box<Expr>,
        /// First lane.
        start: u8,
        /// How many.
        width: u8,
    },
    /// One lane of a vector chosen at run time; the lane must exist.
    Lane(Box<Expr>, Box<Expr>),
}

/// Operations on one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum UnaryOp {
    /// −x
    Neg,
    /// logical or bitwise complement
    Not,
    /// |x|
    Abs,
    /// largest integer ≤ x
    Floor,
    /// smallest integer ≥ x
    Ceil,
    /// eˣ
    Exp,
    /// natural logarithm
    Log,
    /// √x
    Sqrt,
    /// 1/√x
    Rsqrt,
    /// hyperbolic tangent
    Tanh,
    /// sine
    Sin,
    /// cosine
    Cos,
    /// error function
    Erf,
}

/// Operations on two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BinaryOp {
    /// a + b
    Add,
    /// a − b
    Sub,
    /// a · b
    Mul,
    /// a / b
    Div,
    /// a − b·trunc(a/b)
    Rem,
    /// the smaller; NaN where either is
    Min,
    /// the larger; NaN where either is
    Max,
    /// logical or bitwise and
    And,
    /// logical or bitwise or
    Or,
    /// bitwise exclusive or
    Xor,
    /// a · 2ᵇ
    Shl,
    /// a / 2ᵇ, arithmetic for signed types
    Shr,
    /// a < b
    Lt,
    /// a ≤ b
    Le,
    /// a = b
    Eq,
    /// a ≠ b
    Ne,
}

impl BinaryOp {
    /// Whether the result is a `bool`.
    pub fn is_comparison(self) -> bool {
        matches!(self, Self::Lt | Self::Le | Self::Eq | Self::Ne)
    }
}

impl Expr {
    /// An `i32` literal.
    pub fn int(value: i64) -> Self {
        Self::Const(Const::I32(value as i32))
    }
    /// An `f32` literal.
    pub fn f32(value: f32) -> Self {
        Self::Const(Const::F32(value))
    }
    /// A variable.
    pub fn var(name: &str) -> Self {
        Self::Var(name.into())
    }
    /// a op b
    pub fn binary(op: BinaryOp, a: Self, b: Self) -> Self {
        Self::Binary(op, Box::new(a), Box::new(b))
    }
    /// op a
    pub fn unary(op: UnaryOp, a: Self) -> Self {
        Self::Unary(op, Box::new(a))
    }
    /// The literal's value where this is an integer literal.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Const(c) => c.as_int(),
            _ => None,
        }
    }
    /// The direct operands, guards included.
    pub fn children(&self) -> Vec<&Expr> {
        fn guard_exprs(guard: &[Bound]) -> impl Iterator<Item = &Expr> {
            guard.iter().flat_map(|b| [&b.value, &b.extent])
        }
        match self {
            Self::Const(_) | Self::Size(_) | Self::Var(_) => vec![],
            Self::Load { index, guard, .. } => index.iter().chain(guard_exprs(guard)).collect(),
            Self::Texel { x, y, guard, .. } => [&**x, &**y].into_iter().chain(guard_exprs(guard)).collect(),
            Self::Unary(_, a) | Self::Cast(_, a) | Self::Splat(a, _) => vec![a],
            Self::Slice { vector, .. } => vec![vector],
            Self::Binary(_, a, b) | Self::Lane(a, b) => vec![a, b],
            Self::Fma(a, b, c) | Self::Select(a, b, c) => vec![a, b, c],
            Self::Concat(parts) => parts.iter().collect(),
        }
    }
    /// Whether a variable is read, in coordinates and guards, too.
    pub fn mentions(&self, name: &Name) -> bool {
        match self {
            Self::Var(own) => own == name,
            other => other.children().into_iter().any(|operand| operand.mentions(name)),
        }
    }
    /// Rebuilds the expression bottom-up: `f` sees every node after its operands were rebuilt.
    pub fn map(self, f: &mut impl FnMut(Expr) -> Expr) -> Expr {
        fn boxed(e: Expr, f: &mut impl FnMut(Expr) -> Expr) -> Box<Expr> {
            Box::new(e.map(f))
        }
        fn bounds(guard: Vec<Bound>, f: &mut impl FnMut(Expr) -> Expr) -> Vec<Bound> {
            guard.into_iter().map(|b| Bound { value: b.value.map(f), extent: b.extent.map(f), per_lane: b.per_lane }).collect()
        }
        let rebuilt = match self {
            leaf @ (Self::Const(_) | Self::Size(_) | Self::Var(_)) => leaf,
            Self::Load { source, index, width, guard } => {
                Self::Load { source, index: index.into_iter().map(|e| e.map(f)).collect(), width, guard: bounds(guard, f) }
            }
            Self::Texel { image, x, y, guard } => Self::Texel { image, x: boxed(*x, f), y: boxed(*y, f), guard: bounds(guard, f) },
            Self::Unary(op, a) => Self::Unary(op, boxed(*a, f)),
            Self::Cast(to, a) => Self::Cast(to, boxed(*a, f)),
            Self::Splat(a, width) => Self::Splat(boxed(*a, f), width),
            Self::Slice { vector, start, width } => Self::Slice { vector: boxed(*vector, f), start, width },
            Self::Binary(op, a, b) => Self::Binary(op, boxed(*a, f), boxed(*b, f)),
            Self::Lane(a, b) => Self::Lane(boxed(*a, f), boxed(*b, f)),
            Self::Fma(a, b, c) => Self::Fma(boxed(*a, f), boxed(*b, f), boxed(*c, f)),
            Self::Select(a, b, c) => Self::Select(boxed(*a, f), boxed(*b, f), boxed(*c, f)),
            Self::Concat(parts) => Self::Concat(parts.into_iter().map(|e| e.map(f)).collect()),
        };
        f(rebuilt)
    }
}
