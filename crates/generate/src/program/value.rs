//! A value of an expression while it is written.

use warpsight_ir::{BinaryOp, Const, Expr, Scalar};

/// A value, its vector width (1, or the nest's) and what it is: `F32`, `I32` or `Bool`.
#[derive(Clone)]
pub struct Value {
    pub expr: Expr,
    pub width: u8,
    pub kind: Scalar,
}

impl Value {
    /// A float.
    pub fn number(expr: Expr, width: u8) -> Self {
        Self { expr, width, kind: Scalar::F32 }
    }

    /// Parts side by side.
    pub fn joined(mut parts: Vec<Expr>, width: u8, kind: Scalar) -> Self {
        let expr = if parts.len() == 1 { parts.remove(0) } else { Expr::Concat(parts) };
        Self { expr, width, kind }
    }

    /// The same as something else: integers towards zero, truth values as 1 or 0, numbers as whether they are not 0.
    pub fn to(self, kind: Scalar) -> Self {
        let constant = |value: f64| if kind == Scalar::I32 { Expr::int(value as i64) } else { Expr::f32(value as f32) };
        let expr = match (self.kind, kind, self.expr) {
            (own, kind, expr) if own == kind => expr,
            (_, Scalar::I32, Expr::Const(Const::F32(value))) => Expr::int(value as i64),
            (Scalar::Bool, _, expr) => {
                let [one, zero] = [1.0, 0.0].map(|value| Box::new(splat(constant(value), self.width)));
                Expr::Select(Box::new(expr), one, zero)
            }
            (own, Scalar::Bool, expr) => {
                let zero = if own == Scalar::I32 { Expr::int(0) } else { Expr::f32(0.0) };
                Expr::binary(BinaryOp::Ne, expr, splat(zero, self.width))
            }
            (_, kind, expr) => Expr::Cast(kind, Box::new(expr)),
        };
        Self { expr, kind, ..self }
    }

    /// As so many lanes.
    pub fn widen(self, width: u8) -> Expr {
        if self.width == width { self.expr } else { splat(self.expr, width) }
    }

    /// As so many lanes of floats.
    pub fn float(self, width: u8) -> Expr {
        self.to(Scalar::F32).widen(width)
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

/// A scalar as so many lanes.
pub fn splat(e: Expr, width: u8) -> Expr {
    if width == 1 { e } else { Expr::Splat(Box::new(e), width) }
}
