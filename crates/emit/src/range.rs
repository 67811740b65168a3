//! Which values integers can take, as far as a Program tells: axes, sizes and loops have ranges, data has none.
//!
//! Emitters use it to leave out bounds that always hold, and to see where signed arithmetic could overflow (it wraps in Programs,
//! but is undefined in C).

use std::collections::HashMap;
use warpsight_ir::{BinaryOp, Const, Expr, Name, Program, Scalar, UnaryOp};

/// An inclusive range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Smallest value.
    pub lo: i128,
    /// Largest value.
    pub hi: i128,
}

impl Interval {
    /// One value.
    pub fn exactly(value: i64) -> Self {
        Self { lo: value.into(), hi: value.into() }
    }
    /// Whether every value fits the signed type.
    pub fn fits(self, scalar: Scalar) -> bool {
        match scalar {
            Scalar::I32 => self.lo >= i32::MIN.into() && self.hi <= i32::MAX.into(),
            Scalar::I64 => self.lo >= i64::MIN.into() && self.hi <= i64::MAX.into(),
            _ => false,
        }
    }
}

/// Ranges of the signed scalar integers in scope.
#[derive(Clone, Debug, Default)]
pub struct Ranges(HashMap<Name, Interval>);

impl Ranges {
    /// The axes and sizes of a Program.
    pub fn of_program(program: &Program) -> Self {
        let mut ranges = Self::default();
        for size in &program.sizes {
            ranges.declare(&size.name, Some(Interval { lo: size.lo.into(), hi: size.hi.into() }));
        }
        for axis in &program.launch.groups {
            let extent = ranges.of(&axis.extent, Scalar::I32);
            ranges.declare(&axis.name, extent.map(|e| Interval { lo: 0, hi: (e.hi - 1).max(0) }));
        }
        for axis in &program.launch.lanes {
            ranges.declare(&axis.name, Some(Interval { lo: 0, hi: i128::from(axis.extent) - 1 }));
        }
        ranges
    }

    /// Sets what is known of a name.
    pub fn declare(&mut self, name: &Name, interval: Option<Interval>) {
        match interval {
            Some(interval) => self.0.insert(name.clone(), interval),
            None => self.0.remove(name),
        };
    }

    /// The values an expression of the given scalar type takes; `None` where nothing is known or the type's range may be left.
    pub fn of(&self, expr: &Expr, scalar: Scalar) -> Option<Interval> {
        let interval = match expr {
            Expr::Const(c @ (Const::I32(_) | Const::I64(_))) => Interval::exactly(c.as_int()?),
            Expr::Size(name) | Expr::Var(name) => *self.0.get(name)?,
            Expr::Cast(Scalar::I64, a) => match &**a {
                Expr::Const(Const::I32(_)) | Expr::Size(_) | Expr::Var(_) => self.of(a, Scalar::I32)?,
                _ => return None,
            },
            Expr::Splat(a, _) => self.of(a, scalar)?,
            Expr::Unary(UnaryOp::Neg, a) => {
                let a = self.of(a, scalar)?;
                Interval { lo: -a.hi, hi: -a.lo }
            }
            Expr::Select(_, a, b) => union(self.of(a, scalar)?, self.of(b, scalar)?),
            Expr::Binary(op, a, b) => combine(*op, self.of(a, scalar), self.of(b, scalar))?,
            _ => return None,
        };
        interval.fits(scalar).then_some(interval)
    }
}

fn union(a: Interval, b: Interval) -> Interval {
    Interval { lo: a.lo.min(b.lo), hi: a.hi.max(b.hi) }
}

fn combine(op: BinaryOp, a: Option<Interval>, b: Option<Interval>) -> Option<Interval> {
    if let (BinaryOp::Rem, None, Some(b)) = (op, a, b) {
        // The remainder is smaller than the divisor whatever the dividend.
        let most = b.lo.abs().max(b.hi.abs()) - 1;
        return (most >= 0).then_some(Interval { lo: -most, hi: most });
    }
    if op == BinaryOp::And {
        // A mask that is not negative bounds the result, whatever it is applied to.
        let most = [a, b].into_iter().flatten().filter(|i| i.lo >= 0).map(|i| i.hi).min()?;
        return Some(Interval { lo: 0, hi: most });
    }
    let (a, b) = (a?, b?);
    Some(match op {
        BinaryOp::Add => Interval { lo: a.lo + b.lo, hi: a.hi + b.hi },
        BinaryOp::Sub => Interval { lo: a.lo - b.hi, hi: a.hi - b.lo },
        BinaryOp::Mul => {
            let corners = [a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi];
            corners.into_iter().map(|v| Interval { lo: v, hi: v }).reduce(union)?
        }
        BinaryOp::Div if b.lo >= 1 => {
            let corners = [a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi];
            corners.into_iter().map(|v| Interval { lo: v, hi: v }).reduce(union)?
        }
        BinaryOp::Rem if b.lo >= 1 => {
            let most = b.hi - 1;
            Interval { lo: if a.lo < 0 { a.lo.max(-most) } else { 0 }, hi: if a.hi > 0 { a.hi.min(most) } else { 0 } }
        }
        BinaryOp::Min => Interval { lo: a.lo.min(b.lo), hi: a.hi.min(b.hi) },
        BinaryOp::Max => Interval { lo: a.lo.max(b.lo), hi: a.hi.max(b.hi) },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each operation's interval holds every value of it.
    #[test]
    fn intervals_hold_brute_force() {
        let ops = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Rem, BinaryOp::Min, BinaryOp::Max, BinaryOp::And];
        for (alo, ahi) in [(-5, 3), (0, 7), (2, 4), (-6, -2)] {
            for (blo, bhi) in [(1, 3), (-2, 2), (4, 4)] {
                for op in ops {
                    let Some(i) = combine(op, Some(Interval { lo: alo, hi: ahi }), Some(Interval { lo: blo, hi: bhi })) else { continue };
                    for a in alo..=ahi {
                        for b in (blo..=bhi).filter(|b| *b != 0 || !matches!(op, BinaryOp::Div | BinaryOp::Rem)) {
                            let v = match op {
                                BinaryOp::Add => a + b,
                                BinaryOp::Sub => a - b,
                                BinaryOp::Mul => a * b,
                                BinaryOp::Div => a / b,
                                BinaryOp::Rem => a % b,
                                BinaryOp::Min => a.min(b),
                                BinaryOp::And => a & b,
                                _ => a.max(b),
                            };
                            assert!(i.lo <= v && v <= i.hi, "{a} {op:?} {b} = {v} outside {i:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn overflow_is_unknown() {
        let mut ranges = Ranges::default();
        ranges.declare(&"n".into(), Some(Interval { lo: 0, hi: 1 << 20 }));
        let square = Expr::binary(BinaryOp::Mul, Expr::var("n"), Expr::var("n"));
        assert_eq!(ranges.of(&square, Scalar::I32), None);
        assert_eq!(ranges.of(&square, Scalar::I64), Some(Interval { lo: 0, hi: 1 << 40 }));
        assert_eq!(ranges.of(&Expr::binary(BinaryOp::Rem, Expr::var("data"), Expr::int(8)), Scalar::I32), Some(Interval { lo: -7, hi: 7 }));
    }
}
