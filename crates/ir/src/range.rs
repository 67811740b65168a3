//! Which values integers can take: intervals, and what is known of the names of a Program. Axes, sizes and loops have ranges, data has none.
//!
//! Address elimination uses it to see where a tensor can be linearised, emitters to leave out bounds that always hold and to see where
//! signed arithmetic could overflow (it wraps in Programs, but is undefined in C).

use crate::program::{BinaryOp, Expr, Name, Program, UnaryOp};
use crate::types::{Const, Scalar};
use std::collections::HashMap;
use std::ops::{Add, Neg, Rem, Sub};

/// The greatest common divisor; of 0 the other one. Of a negative number it may be negative.
pub fn gcd<T: Copy + Default + PartialEq + Rem<Output = T>>(a: T, b: T) -> T {
    if b == T::default() { a } else { gcd(b, a % b) }
}

/// An inclusive range. Its numbers have so many bits that sums and products of 64-bit ones are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Smallest value.
    pub lo: i128,
    /// Largest value.
    pub hi: i128,
}

impl Interval {
    /// lo ≤ value ≤ hi
    pub fn new(lo: i64, hi: i64) -> Self {
        Self { lo: lo.into(), hi: hi.into() }
    }
    /// One value.
    pub fn exactly(value: i64) -> Self {
        Self::new(value, value)
    }
    /// The values of `0..count`; of an empty range, 0.
    pub fn below(count: i64) -> Self {
        Self::new(0, (count - 1).max(0))
    }
    /// Smallest and largest value, or the 64-bit numbers next to them.
    pub fn ends(self) -> (i64, i64) {
        let near = |v: i128| v.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        (near(self.lo), near(self.hi))
    }
    /// All values of a signed type; `None` of other types.
    pub fn whole(scalar: Scalar) -> Option<Self> {
        match scalar {
            Scalar::I32 => Some(Self::new(i32::MIN.into(), i32::MAX.into())),
            Scalar::I64 => Some(Self::new(i64::MIN, i64::MAX)),
            _ => None,
        }
    }
    /// Whether every value fits the signed type.
    pub fn fits(self, scalar: Scalar) -> bool {
        Self::whole(scalar).is_some_and(|whole| self.within(whole))
    }
    /// Whether every value is one of the other.
    pub fn within(self, other: Self) -> bool {
        other.lo <= self.lo && self.hi <= other.hi
    }
    /// The smallest one that holds both.
    pub fn hull(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }
    /// What both hold; `None` where that is nothing.
    pub fn and(self, other: Self) -> Option<Self> {
        let both = Self { lo: self.lo.max(other.lo), hi: self.hi.min(other.hi) };
        (both.lo <= both.hi).then_some(both)
    }
    /// Every value times a number.
    pub fn times(self, factor: i32) -> Self {
        let (a, b) = (self.lo * i128::from(factor), self.hi * i128::from(factor));
        Self { lo: a.min(b), hi: a.max(b) }
    }
    /// The hull of what an operation makes of the ends.
    fn corners(self, other: Self, op: impl Fn(i128, i128) -> i128) -> Self {
        let corners = [op(self.lo, other.lo), op(self.lo, other.hi), op(self.hi, other.lo), op(self.hi, other.hi)];
        let [first, rest @ ..] = corners.map(|v| Self { lo: v, hi: v });
        rest.into_iter().fold(first, Self::hull)
    }
}

impl From<(i64, i64)> for Interval {
    fn from((lo, hi): (i64, i64)) -> Self {
        Self::new(lo, hi)
    }
}

impl Add for Interval {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { lo: self.lo + other.lo, hi: self.hi + other.hi }
    }
}

impl Neg for Interval {
    type Output = Self;
    fn neg(self) -> Self {
        Self { lo: -self.hi, hi: -self.lo }
    }
}

impl Sub for Interval {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
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
            ranges.declare(&size.name, Some(Interval::new(size.lo, size.hi)));
        }
        for axis in &program.launch.groups {
            let extent = ranges.of(&axis.extent, Scalar::I32);
            ranges.declare(&axis.name, extent.map(|e| Interval { lo: 0, hi: (e.hi - 1).max(0) }));
        }
        for axis in &program.launch.lanes {
            ranges.declare(&axis.name, Some(Interval::below(axis.extent.into())));
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

    /// What is known of a name.
    pub fn get(&self, name: &Name) -> Option<Interval> {
        self.0.get(name).copied()
    }

    /// The values of a loop's variable within its body.
    pub fn of_loop(&self, from: &Expr, to: &Expr) -> Option<Interval> {
        let (from, to) = (self.of(from, Scalar::I32)?, self.of(to, Scalar::I32)?);
        Some(Interval { lo: from.lo, hi: from.lo.max(to.hi - 1) })
    }

    /// The values an expression of the given scalar type takes; `None` where nothing is known or the type's range may be left.
    pub fn of(&self, expr: &Expr, scalar: Scalar) -> Option<Interval> {
        let interval = match expr {
            Expr::Const(c @ (Const::I32(_) | Const::I64(_))) => Interval::exactly(c.as_int()?),
            Expr::Size(name) | Expr::Var(name) => self.get(name)?,
            Expr::Cast(Scalar::I64, a) => match &**a {
                Expr::Const(Const::I32(_)) | Expr::Size(_) | Expr::Var(_) => self.of(a, Scalar::I32)?,
                _ => return None,
            },
            Expr::Splat(a, _) => self.of(a, scalar)?,
            Expr::Unary(UnaryOp::Neg, a) => -self.of(a, scalar)?,
            Expr::Select(_, a, b) => self.of(a, scalar)?.hull(self.of(b, scalar)?),
            // The smaller of anything and a bound is no larger than the bound, whatever data says.
            Expr::Binary(op @ (BinaryOp::Min | BinaryOp::Max), a, b) => {
                let of = |own: &Expr| self.of(own, scalar).or(Interval::whole(scalar));
                combine(*op, of(a), of(b))?
            }
            Expr::Binary(op, a, b) => combine(*op, self.of(a, scalar), self.of(b, scalar))?,
            _ => return None,
        };
        interval.fits(scalar).then_some(interval)
    }
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
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a.corners(b, |a, b| a * b),
        BinaryOp::Div if b.lo >= 1 => a.corners(b, |a, b| a / b),
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
    fn data_between_two_bounds_is_within() {
        let clamped = Expr::binary(BinaryOp::Max, Expr::binary(BinaryOp::Min, Expr::var("data"), Expr::int(55)), Expr::int(0));
        assert_eq!(Ranges::default().of(&clamped, Scalar::I32), Some(Interval { lo: 0, hi: 55 }));
        assert_eq!(Ranges::default().of(&Expr::binary(BinaryOp::Add, clamped.clone(), Expr::var("data")), Scalar::I32), None);
        assert_eq!(Ranges::default().of(&clamped, Scalar::F32), None);
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
