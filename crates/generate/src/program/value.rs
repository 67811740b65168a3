//! A value of an expression while it is written.

use warpsight_ir::interpret::cast;
use warpsight_ir::{BinaryOp, Const, Expr, Scalar};

/// A value, its vector width (1, or the nest's) and what it is: `F32`, `Half`, `I32` or `Bool`.
#[derive(Clone)]
pub struct Value {
    pub expr: Expr,
    pub width: u8,
    pub kind: Scalar,
}

impl Value {
    /// Parts side by side.
    pub fn joined(mut parts: Vec<Expr>, width: u8, kind: Scalar) -> Self {
        let expr = if parts.len() == 1 { parts.remove(0) } else { Expr::Concat(parts) };
        Self { expr, width, kind }
    }

    /// The same as something else: integers towards zero, truth values as 1 or 0, numbers as whether they are not 0.
    pub fn to(self, kind: Scalar) -> Self {
        let expr = match (self.kind, kind, self.expr) {
            (own, kind, expr) if own == kind => expr,
            (_, Scalar::I32 | Scalar::Half, Expr::Const(Const::F32(value))) => literal(kind, value.into()),
            (Scalar::Bool, _, expr) => {
                let [one, zero] = [1.0, 0.0].map(|value| Box::new(splat(literal(kind, value), self.width)));
                Expr::Select(Box::new(expr), one, zero)
            }
            (own, Scalar::Bool, expr) => Expr::binary(BinaryOp::Ne, expr, splat(literal(own, 0.0), self.width)),
            (_, kind, expr) => Expr::Cast(kind, Box::new(expr)),
        };
        Self { expr, kind, ..self }
    }

    /// As so many lanes.
    pub fn widen(self, width: u8) -> Expr {
        if self.width == width { self.expr } else { splat(self.expr, width) }
    }

    /// One lane of it, or the value that all lanes have.
    pub fn lane(&self, lane: u8) -> Expr {
        if self.width == 1 { self.expr.clone() } else { lane_of(&self.expr, self.width, lane) }
    }
}

/// One lane of a vector of so many: of what it is made of, so that nothing is computed for lanes that nobody asks for.
fn lane_of(vector: &Expr, width: u8, lane: u8) -> Expr {
    let of = |own: &Expr| Box::new(lane_of(own, width, lane));
    match vector {
        Expr::Splat(a, _) => (**a).clone(),
        // As many parts as lanes are one lane each.
        Expr::Concat(parts) if parts.len() == usize::from(width) => parts[usize::from(lane)].clone(),
        Expr::Unary(op, a) => Expr::Unary(*op, of(a)),
        Expr::Binary(op, a, b) => Expr::Binary(*op, of(a), of(b)),
        Expr::Select(condition, a, b) => Expr::Select(of(condition), of(a), of(b)),
        Expr::Cast(to, a) => Expr::Cast(*to, of(a)),
        other => Expr::Slice { vector: Box::new(other.clone()), start: lane, width: 1 },
    }
}

/// A number as a literal: of `I32` towards zero.
pub fn literal(kind: Scalar, value: f64) -> Expr {
    match kind {
        Scalar::I32 => Expr::int(value as i64),
        _ => Expr::Const(cast(kind, Const::F64(value))),
    }
}

/// A scalar as so many lanes.
pub fn splat(e: Expr, width: u8) -> Expr {
    if width == 1 { e } else { Expr::Splat(Box::new(e), width) }
}
