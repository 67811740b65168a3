//! Integer expressions of coordinates: constant folding and linearisation.
//!
//! Everything here is exact modulo 2³², like the `i32` arithmetic of Programs: sums are reassociated only to gather constants.

use warpsight_ir::{BinaryOp, Const, Expr, Scalar};

/// The row-major position of a coordinate vector, in Horner's form: `(c*56 + y)*56 + x`. With `wide`, in `i64`.
pub fn linearise(index: &[Expr], dims: &[Expr], wide: bool) -> Expr {
    let coordinate = |e: &Expr| {
        let e = fold(e.clone());
        if wide && e.as_int().is_none() { Expr::Cast(Scalar::I64, Box::new(e)) } else { e }
    };
    let mut position = Expr::int(0);
    for (i, (index, dim)) in index.iter().zip(dims).enumerate() {
        position = if i == 0 { coordinate(index) } else { add(mul(position, coordinate(dim)), coordinate(index)) };
    }
    if wide { widen(position) } else { position }
}

/// Literals among `i64` operands become `i64`, so that both sides of each operation have one type.
fn widen(expr: Expr) -> Expr {
    match expr {
        Expr::Const(Const::I32(v)) => Expr::Const(Const::I64(v.into())),
        Expr::Binary(op, a, b) => Expr::binary(op, widen(*a), widen(*b)),
        other => other,
    }
}

/// Folds constants in `i32` arithmetic: `x + 0`, `x * 1`, `(x + 2) + 3`, …
pub fn fold(expr: Expr) -> Expr {
    expr.map(&mut |e| match e {
        Expr::Binary(BinaryOp::Add, a, b) => add(*a, *b),
        Expr::Binary(BinaryOp::Sub, a, b) => sub(*a, *b),
        Expr::Binary(BinaryOp::Mul, a, b) => mul(*a, *b),
        Expr::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), a, b) => divide(op, *a, *b),
        Expr::Binary(op @ (BinaryOp::Min | BinaryOp::Max), a, b) => match (constant(&a), constant(&b)) {
            (Some(x), Some(y)) => Expr::Const(Const::I32(if op == BinaryOp::Min { x.min(y) } else { x.max(y) })),
            _ => Expr::Binary(op, a, b),
        },
        other => other,
    })
}

/// a + b
pub fn add(a: Expr, b: Expr) -> Expr {
    match (constant(&a), constant(&b)) {
        (Some(x), Some(y)) => x.checked_add(y).map_or_else(|| Expr::binary(BinaryOp::Add, a, b), literal),
        (_, Some(0)) => a,
        (Some(0), _) => b,
        (Some(_), _) => add(b, a),
        (_, Some(y)) => match split(a) {
            (x, 0) => Expr::binary(BinaryOp::Add, x, literal(y)),
            (x, c) => add(x, literal(c.wrapping_add(y))),
        },
        _ => match (split(a), split(b)) {
            ((x, 0), (Expr::Binary(BinaryOp::Add, y, z), 0)) => add(add(x, *y), *z),
            ((x, 0), (y, 0)) => Expr::binary(BinaryOp::Add, x, y),
            ((x, c), (y, d)) => add(add(x, y), literal(c.wrapping_add(d))),
        },
    }
}

/// a − b
pub fn sub(a: Expr, b: Expr) -> Expr {
    match constant(&b) {
        Some(y) if y != i32::MIN => add(a, literal(-y)),
        _ => Expr::binary(BinaryOp::Sub, a, b),
    }
}

/// a · b
pub fn mul(a: Expr, b: Expr) -> Expr {
    match (constant(&a), constant(&b)) {
        // A product that leaves the type is left to whoever evaluates it: a launch counts in 64 bits.
        (Some(x), Some(y)) => x.checked_mul(y).map_or_else(|| Expr::binary(BinaryOp::Mul, a, b), literal),
        (_, Some(0)) | (Some(0), _) => literal(0),
        (_, Some(1)) => a,
        (Some(1), _) => b,
        (Some(_), _) => mul(b, a),
        (_, Some(y)) => match a {
            Expr::Binary(BinaryOp::Mul, x, c) if constant(&c).is_some() => mul(*x, literal(constant(&c).unwrap_or(1).wrapping_mul(y))),
            a => Expr::binary(BinaryOp::Mul, a, literal(y)),
        },
        _ => Expr::binary(BinaryOp::Mul, a, b),
    }
}

/// a / b or a % b
pub fn divide(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    match (op, constant(&a), constant(&b)) {
        (BinaryOp::Div, Some(x), Some(y)) if y != 0 => literal(x.wrapping_div(y)),
        (BinaryOp::Rem, Some(x), Some(y)) if y != 0 => literal(x.wrapping_rem(y)),
        (BinaryOp::Div, _, Some(1)) => a,
        (BinaryOp::Rem, _, Some(1)) => literal(0),
        _ => Expr::binary(op, a, b),
    }
}

/// Π factors; 1 where there is none.
pub fn product(factors: &[Expr]) -> Expr {
    factors.iter().fold(Expr::int(1), |n, f| mul(n, f.clone()))
}

fn literal(value: i32) -> Expr {
    Expr::Const(Const::I32(value))
}

fn constant(expr: &Expr) -> Option<i32> {
    match expr {
        Expr::Const(Const::I32(v)) => Some(*v),
        _ => None,
    }
}

/// A sum without its constant, and the constant.
pub fn split(expr: Expr) -> (Expr, i32) {
    match expr {
        Expr::Binary(BinaryOp::Add, a, b) => match constant(&b) {
            Some(c) => (*a, c),
            None => (Expr::Binary(BinaryOp::Add, a, b), 0),
        },
        other => (other, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(e: &Expr, x: i32, y: i32) -> i32 {
        match e {
            Expr::Const(Const::I32(v)) => *v,
            Expr::Var(n) => {
                if &**n == "x" {
                    x
                } else {
                    y
                }
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (eval(a, x, y), eval(b, x, y));
                match op {
                    BinaryOp::Add => a.wrapping_add(b),
                    BinaryOp::Sub => a.wrapping_sub(b),
                    BinaryOp::Mul => a.wrapping_mul(b),
                    BinaryOp::Div => a.wrapping_div(b),
                    BinaryOp::Rem => a.wrapping_rem(b),
                    BinaryOp::Min => a.min(b),
                    BinaryOp::Max => a.max(b),
                    _ => unreachable!(),
                }
            }
            _ => unreachable!(),
        }
    }

    fn random(rng: &mut fastrand::Rng, depth: u32) -> Expr {
        let op = match rng.u32(0..9) {
            _ if depth == 0 => None,
            0 | 1 => Some(BinaryOp::Add),
            2 => Some(BinaryOp::Sub),
            3 | 4 => Some(BinaryOp::Mul),
            5 => Some(BinaryOp::Min),
            6 => Some(BinaryOp::Max),
            7 => Some(BinaryOp::Rem),
            _ => Some(BinaryOp::Div),
        };
        match op {
            Some(op @ (BinaryOp::Div | BinaryOp::Rem)) => Expr::binary(op, random(rng, depth - 1), Expr::int(rng.i64(1..5))),
            Some(op) => Expr::binary(op, random(rng, depth - 1), random(rng, depth - 1)),
            None if rng.bool() => Expr::int(*rng.choice(&[-3, -1, 0, 1, 2, 56, i64::from(i32::MAX), i64::from(i32::MIN)]).unwrap()),
            None => Expr::var(if rng.bool() { "x" } else { "y" }),
        }
    }

    #[test]
    fn folding_keeps_values() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..5_000 {
            let e = random(&mut rng, 5);
            let (x, y) = (rng.i32(..), rng.i32(-9..9));
            assert_eq!(eval(&fold(e.clone()), x, y), eval(&e, x, y), "{e:?} at {x}, {y}");
        }
    }

    #[test]
    fn linear_positions() {
        let index = [Expr::var("x"), add(Expr::var("y"), Expr::int(-1))];
        let dims = [Expr::int(9), Expr::int(7)];
        let position = linearise(&index, &dims, false);
        assert_eq!(eval(&position, 3, 5), 3 * 7 + 4);
        // The constant is gathered at the end.
        assert_eq!(split(position).1, -1);
    }
}
