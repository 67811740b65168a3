//! Which powers of two divide integers: what a wide access must know of its position.
//!
//! Powers of two survive arithmetic that wraps, so nothing here asks for ranges.

use std::collections::HashMap;
use warpsight_ir::{BinaryOp, Const, Expr, Name, Program, Scalar, UnaryOp};

/// More than any access asks for; what divides 0.
const MOST: u32 = 31;

/// Exponents of powers of two that divide the integers in scope; 0 where nothing is known.
#[derive(Clone, Debug, Default)]
pub struct Divisors(HashMap<Name, u32>);

impl Divisors {
    /// The sizes and axes of a Program: only what has one value divides by more than 1.
    pub fn of_program(program: &Program) -> Self {
        let mut divisors = Self::default();
        for size in program.sizes.iter().filter(|size| size.lo == size.hi) {
            divisors.declare(&size.name, of_value(size.lo));
        }
        let groups = program.launch.groups.iter().filter(|axis| axis.extent.as_int() == Some(1)).map(|axis| &axis.name);
        let lanes = program.launch.lanes.iter().filter(|axis| axis.extent == 1).map(|axis| &axis.name);
        groups.chain(lanes).for_each(|name| divisors.declare(name, MOST));
        divisors
    }

    /// Sets what is known of a name.
    pub fn declare(&mut self, name: &Name, exponent: u32) {
        match exponent {
            0 => self.0.remove(name),
            exponent => self.0.insert(name.clone(), exponent),
        };
    }

    /// The exponent of a power of two that divides every value of the expression.
    pub fn of(&self, expr: &Expr) -> u32 {
        let exponent = match expr {
            Expr::Const(c) => c.as_int().map_or(0, of_value),
            Expr::Size(name) | Expr::Var(name) => self.0.get(name).copied().unwrap_or(0),
            // Narrowing saturates: the largest value is odd.
            Expr::Cast(Scalar::I64, a) | Expr::Unary(UnaryOp::Neg, a) => self.of(a),
            Expr::Select(_, a, b) => self.of(a).min(self.of(b)),
            Expr::Binary(op, a, b) => self.of_operation(*op, a, b),
            _ => 0,
        };
        exponent.min(MOST)
    }

    fn of_operation(&self, op: BinaryOp, a: &Expr, b: &Expr) -> u32 {
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Min | BinaryOp::Max | BinaryOp::Rem | BinaryOp::Or | BinaryOp::Xor => {
                self.of(a).min(self.of(b))
            }
            BinaryOp::Mul => self.of(a) + self.of(b),
            BinaryOp::And => self.of(a).max(self.of(b)),
            // Exact where the divisor divides: no rounding brings lower bits in.
            BinaryOp::Div => match constant(b) {
                Some(b) if b > 0 && b.count_ones() == 1 => self.of(a).saturating_sub(b.trailing_zeros()),
                _ => 0,
            },
            BinaryOp::Shl => self.of(a) + constant(b).map_or(0, |count| (count & 31) as u32),
            _ => 0,
        }
    }
}

fn constant(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Const(Const::I32(v)) => Some((*v).into()),
        Expr::Const(Const::I64(v)) => Some(*v),
        _ => None,
    }
}

fn of_value(value: i64) -> u32 {
    if value == 0 { MOST } else { value.trailing_zeros().min(MOST) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is claimed of an operation holds for every pair of values that keeps the claims about the operands.
    #[test]
    fn claims_hold_by_brute_force() {
        use BinaryOp::{Add, And, Div, Max, Min, Mul, Or, Rem, Shl, Sub, Xor};
        let mut proved = 0;
        for (da, db) in [(0, 0), (2, 1), (1, 3), (3, 3)] {
            let mut divisors = Divisors::default();
            divisors.declare(&"a".into(), da);
            divisors.declare(&"b".into(), db);
            for op in [Add, Sub, Mul, Min, Max, And, Or, Xor, Div, Rem, Shl] {
                for literal in [None, Some(4), Some(8), Some(12)] {
                    let b = literal.map_or_else(|| Expr::var("b"), Expr::int);
                    let claimed = divisors.of(&Expr::binary(op, Expr::var("a"), b));
                    proved += u32::from(claimed > 0);
                    for (x, y) in (-16..16).flat_map(|x| (-16..16).map(move |y| (x << da, literal.unwrap_or(y << db)))) {
                        let value: i64 = match op {
                            Add => x + y,
                            Sub => x - y,
                            Mul => x * y,
                            Min => x.min(y),
                            Max => x.max(y),
                            And => x & y,
                            Or => x | y,
                            Xor => x ^ y,
                            Div | Rem if y == 0 => continue,
                            Div => x / y,
                            Rem => x % y,
                            _ => x << (y & 31),
                        };
                        assert_eq!(value & ((1 << claimed) - 1), 0, "{x} {op:?} {y} = {value} is no multiple of 2^{claimed}");
                    }
                }
            }
        }
        assert!(proved > 60, "{proved}");
    }
}
