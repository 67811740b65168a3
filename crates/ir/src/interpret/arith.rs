//! What each operation gives, one lane at a time: the numbers of [`crate::program`]'s semantics.
//!
//! Integers are computed exactly in `i128` and wrapped to their type; `f32` is computed in `f32`. Transcendental functions of a
//! `half` or `f32` are computed in `f64` and rounded once, with software functions, so that a result does not depend on the host.

use crate::program::{BinaryOp, UnaryOp};
use crate::types::{Const, Scalar};
use half::{bf16, f16};
use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Rem, Sub};

/// Why an operation has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undefined {
    /// An integer was divided by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// The operation is not defined for operands of these types; a validated Program has none such.
    #[error("operands of the wrong type")]
    Types,
}

/// `op a`.
///
/// # Errors
/// [`Undefined::Types`] where the operation is not defined for the operand.
pub fn unary(op: UnaryOp, a: Const) -> Result<Const, Undefined> {
    match (op, a) {
        (UnaryOp::Not, Const::Bool(v)) => Ok(Const::Bool(!v)),
        (UnaryOp::Neg | UnaryOp::Not | UnaryOp::Abs, _) if a.scalar().is_int() => {
            let v = int(a).ok_or(Undefined::Types)?;
            Ok(wrap(
                a.scalar(),
                if op == UnaryOp::Neg {
                    -v
                } else if op == UnaryOp::Not {
                    !v
                } else {
                    v.abs()
                },
            ))
        }
        (_, Const::Half(v)) => Ok(Const::Half(half(function(op, v.into())?))),
        (_, Const::F32(v)) => Ok(Const::F32(function(op, v.into())? as f32)),
        (_, Const::F64(v)) => Ok(Const::F64(function(op, v)?)),
        _ => Err(Undefined::Types),
    }
}

/// `a op b`.
///
/// # Errors
/// Integer division by zero; operands whose types differ or do not suit the operation.
pub fn binary(op: BinaryOp, a: Const, b: Const) -> Result<Const, Undefined> {
    match (a, b) {
        (Const::Bool(a), Const::Bool(b)) => logic(op, a, b).map(Const::Bool),
        // Sums, products and quotients of halves, rounded to 24 bits first, are rounded to 11 as if at once.
        (Const::Half(a), Const::Half(b)) => float(op, a, b, Const::Half),
        (Const::F32(a), Const::F32(b)) => float(op, a, b, Const::F32),
        (Const::F64(a), Const::F64(b)) => float(op, a, b, Const::F64),
        _ if a.scalar() == b.scalar() => {
            let (Some(x), Some(y)) = (int(a), int(b)) else { return Err(Undefined::Types) };
            integer(op, a.scalar(), x, y)
        }
        _ => Err(Undefined::Types),
    }
}

/// `a · b + c`, rounded once.
///
/// # Errors
/// [`Undefined::Types`] unless all three are `half`, `f32` or `f64`.
pub fn fma(a: Const, b: Const, c: Const) -> Result<Const, Undefined> {
    match (a, b, c) {
        (Const::Half(a), Const::Half(b), Const::Half(c)) => Ok(Const::Half(half(exact_fma([a, b, c].map(f64::from))))),
        (Const::F32(a), Const::F32(b), Const::F32(c)) => Ok(Const::F32(a.mul_add(b, c))),
        (Const::F64(a), Const::F64(b), Const::F64(c)) => Ok(Const::F64(a.mul_add(b, c))),
        _ => Err(Undefined::Types),
    }
}

/// `a · b + c` of halves, near enough to be rounded to a half as if at once: the product is exact, and of a sum that is not, no bit is lost
/// that could decide.
#[inline(always)]
pub fn exact_fma([a, b, c]: [f64; 3]) -> f64 {
    a * b + c
}

/// The smaller of two floats; NaN where either is, as IEEE 754's `minimum`.
#[inline(always)]
pub fn smaller<T: Copy + PartialOrd + Add<Output = T>>(a: T, b: T) -> T {
    if a <= b {
        a
    } else if b < a {
        b
    } else {
        a + b
    }
}

/// The larger of two floats; NaN where either is, as IEEE 754's `maximum`.
#[inline(always)]
pub fn larger<T: Copy + PartialOrd + Add<Output = T>>(a: T, b: T) -> T {
    if a >= b {
        a
    } else if b > a {
        b
    } else {
        a + b
    }
}

/// Converts to a scalar type: to integers towards zero and saturating (from every type), to floats to nearest even, to `bool`
/// whether it differs from zero. A 16-bit float is rounded once and given as `f32`.
pub fn cast(to: Scalar, a: Const) -> Const {
    match a {
        Const::Half(v) => cast_float(to, v.into()),
        Const::F32(v) => cast_float(to, v.into()),
        Const::F64(v) => cast_float(to, v),
        _ => cast_int(to, int(a).unwrap_or(0)),
    }
}

/// What a floating-point type keeps of a number, rounded once; other types are not asked.
pub fn rounded(to: Scalar, v: f64) -> f64 {
    match cast_float(to, v) {
        Const::Half(kept) => kept.into(),
        Const::F32(kept) => kept.into(),
        _ => v,
    }
}

/// The zero of a scalar type, as a register holds it.
pub fn zero(scalar: Scalar) -> Const {
    cast_int(scalar, 0)
}

/// Whether two values are the same bit by bit (a NaN is the same as itself).
pub fn same(a: Const, b: Const) -> bool {
    match (a, b) {
        (Const::Half(a), Const::Half(b)) => a.to_bits() == b.to_bits(),
        (Const::F32(a), Const::F32(b)) => a.to_bits() == b.to_bits(),
        (Const::F64(a), Const::F64(b)) => a.to_bits() == b.to_bits(),
        _ => a == b,
    }
}

/// An integer's or truth value's number.
fn int(a: Const) -> Option<i128> {
    match a {
        Const::Bool(v) => Some(v.into()),
        Const::I32(v) => Some(v.into()),
        Const::U32(v) => Some(v.into()),
        Const::I64(v) => Some(v.into()),
        Const::U64(v) => Some(v.into()),
        Const::Half(_) | Const::F32(_) | Const::F64(_) => None,
    }
}

/// The integer modulo its type's range.
fn wrap(scalar: Scalar, v: i128) -> Const {
    match scalar {
        Scalar::I32 => Const::I32(v as i32),
        Scalar::U32 => Const::U32(v as u32),
        Scalar::I64 => Const::I64(v as i64),
        Scalar::U64 => Const::U64(v as u64),
        _ => Const::Bool(v != 0),
    }
}

fn logic(op: BinaryOp, a: bool, b: bool) -> Result<bool, Undefined> {
    Ok(match op {
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor | BinaryOp::Ne => a ^ b,
        BinaryOp::Eq => a == b,
        _ => return Err(Undefined::Types),
    })
}

fn integer(op: BinaryOp, scalar: Scalar, a: i128, b: i128) -> Result<Const, Undefined> {
    let count = (b & i128::from(scalar.bytes() * 8 - 1)) as u32;
    let exact = match op {
        BinaryOp::Div | BinaryOp::Rem if b == 0 => return Err(Undefined::DivisionByZero),
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        // Two u64s: the product may pass i128, its low 64 bits stay right.
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div => a / b,
        BinaryOp::Rem => a % b,
        BinaryOp::Min => a.min(b),
        BinaryOp::Max => a.max(b),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl => a << count,
        BinaryOp::Shr => a >> count,
        BinaryOp::Lt => return Ok(Const::Bool(a < b)),
        BinaryOp::Le => return Ok(Const::Bool(a <= b)),
        BinaryOp::Eq => return Ok(Const::Bool(a == b)),
        BinaryOp::Ne => return Ok(Const::Bool(a != b)),
    };
    Ok(wrap(scalar, exact))
}

fn float<T>(op: BinaryOp, a: T, b: T, of: fn(T) -> Const) -> Result<Const, Undefined>
where
    T: Copy + PartialOrd + Add<Output = T> + Sub<Output = T> + Mul<Output = T> + Div<Output = T> + Rem<Output = T>,
{
    Ok(match op {
        BinaryOp::Add => of(a + b),
        BinaryOp::Sub => of(a - b),
        BinaryOp::Mul => of(a * b),
        BinaryOp::Div => of(a / b),
        BinaryOp::Rem => of(a % b),
        BinaryOp::Min => of(smaller(a, b)),
        BinaryOp::Max => of(larger(a, b)),
        BinaryOp::Lt => Const::Bool(a < b),
        BinaryOp::Le => Const::Bool(a <= b),
        BinaryOp::Eq => Const::Bool(a == b),
        BinaryOp::Ne => Const::Bool(a != b),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr => return Err(Undefined::Types),
    })
}

fn function(op: UnaryOp, x: f64) -> Result<f64, Undefined> {
    Ok(match op {
        UnaryOp::Neg => -x,
        UnaryOp::Abs => x.abs(),
        UnaryOp::Floor => x.floor(),
        UnaryOp::Ceil => x.ceil(),
        UnaryOp::Exp => libm::exp(x),
        UnaryOp::Log => libm::log(x),
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Rsqrt => 1.0 / x.sqrt(),
        UnaryOp::Tanh => libm::tanh(x),
        UnaryOp::Sin => libm::sin(x),
        UnaryOp::Cos => libm::cos(x),
        UnaryOp::Erf => libm::erf(x),
        UnaryOp::Not => return Err(Undefined::Types),
    })
}

fn cast_int(to: Scalar, v: i128) -> Const {
    match to {
        Scalar::Bool => Const::Bool(v != 0),
        Scalar::I32 => Const::I32(v.clamp(i32::MIN.into(), i32::MAX.into()) as i32),
        Scalar::U32 => Const::U32(v.clamp(0, u32::MAX.into()) as u32),
        Scalar::I64 => Const::I64(v.clamp(i64::MIN.into(), i64::MAX.into()) as i64),
        Scalar::U64 => Const::U64(v.clamp(0, u64::MAX.into()) as u64),
        Scalar::F32 => Const::F32(v as f32),
        Scalar::F64 => Const::F64(v as f64),
        // No integer of more than 24 bits is a half: beyond them all is infinite.
        Scalar::Half => Const::Half(half(v as f64)),
        Scalar::F16 | Scalar::Bf16 => {
            let near = v as f32;
            Const::F32(round16(to, odd(near, v.cmp(&(near as i128)))))
        }
    }
}

fn cast_float(to: Scalar, v: f64) -> Const {
    match to {
        Scalar::Bool => Const::Bool(v != 0.0),
        Scalar::I32 => Const::I32(v as i32),
        Scalar::U32 => Const::U32(v as u32),
        Scalar::I64 => Const::I64(v as i64),
        Scalar::U64 => Const::U64(v as u64),
        Scalar::F32 => Const::F32(v as f32),
        Scalar::F64 => Const::F64(v),
        Scalar::Half => Const::Half(half(v)),
        Scalar::F16 | Scalar::Bf16 => Const::F32(narrowed(to, v)),
    }
}

/// A number rounded to half precision once.
fn half(v: f64) -> f16 {
    f16::from_f32(narrowed(Scalar::F16, v))
}

/// A number rounded to a 16-bit type once.
fn narrowed(to: Scalar, v: f64) -> f32 {
    let near = v as f32;
    round16(to, v.partial_cmp(&near.into()).map_or(near, |order| odd(near, order)))
}

/// Rounds to a 16-bit storage type, to nearest even; other types are left as they are.
pub(super) fn round16(to: Scalar, v: f32) -> f32 {
    match to {
        Scalar::F16 => f16::from_f32(v).to_f32(),
        Scalar::Bf16 => bf16::from_f32(v).to_f32(),
        _ => v,
    }
}

/// Of the two `f32`s around an exact value, the one with an odd last bit, given the nearest one and how the exact value compares
/// to it: rounding that to 16 bits equals rounding the exact value, where rounding the nearest one could round twice.
fn odd(near: f32, exact: Ordering) -> f32 {
    match exact {
        Ordering::Equal => near,
        _ if near.to_bits() & 1 == 1 => near,
        Ordering::Greater => near.next_up(),
        Ordering::Less => near.next_down(),
    }
}
