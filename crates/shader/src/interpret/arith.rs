//! Core instructions on components: IEEE arithmetic in the order of the instructions, no contraction.

use super::step::{Fun, Lanes, WideFun};
use crate::module::Op;
use std::array::from_fn;
use std::cmp::Ordering;

// A function of one lane becomes one of four; a macro, as a function pointer cannot be made of a closure that holds another one.
macro_rules! f1 {
    ($f:expr) => {
        Fun::One(|x: Lanes| {
            x.map(|a| {
                let f: fn(f32) -> f32 = $f;
                f(f32::from_bits(a)).to_bits()
            })
        })
    };
}
macro_rules! f2 {
    ($f:expr) => {
        Fun::Two(|x: Lanes, y: Lanes| {
            from_fn(|l| {
                let f: fn(f32, f32) -> f32 = $f;
                f(f32::from_bits(x[l]), f32::from_bits(y[l])).to_bits()
            })
        })
    };
}
macro_rules! f3 {
    ($f:expr) => {
        Fun::Three(|x: Lanes, y: Lanes, z: Lanes| {
            from_fn(|l| {
                let f: fn(f32, f32, f32) -> f32 = $f;
                f(f32::from_bits(x[l]), f32::from_bits(y[l]), f32::from_bits(z[l])).to_bits()
            })
        })
    };
}
macro_rules! c2 {
    ($f:expr) => {
        Fun::Two(|x: Lanes, y: Lanes| {
            from_fn(|l| {
                let f: fn(f32, f32) -> bool = $f;
                u32::from(f(f32::from_bits(x[l]), f32::from_bits(y[l])))
            })
        })
    };
}
macro_rules! u1 {
    ($f:expr) => {
        Fun::One(|x: Lanes| x.map($f))
    };
}
macro_rules! u2 {
    ($f:expr) => {
        Fun::Two(|x: Lanes, y: Lanes| {
            from_fn(|l| {
                let f: fn(u32, u32) -> u32 = $f;
                f(x[l], y[l])
            })
        })
    };
}
macro_rules! i2 {
    ($f:expr) => {
        Fun::Two(|x: Lanes, y: Lanes| {
            from_fn(|l| {
                let f: fn(i32, i32) -> i32 = $f;
                f(x[l].cast_signed(), y[l].cast_signed()).cast_unsigned()
            })
        })
    };
}
pub(super) use {f1, f2, f3, i2, u1, u2};

/// x − y·⌊x/y⌋, as the specification derives it.
fn floor_mod(a: f32, b: f32) -> f32 {
    a - b * (a / b).floor()
}

fn floor_mod_64(a: f64, b: f64) -> f64 {
    a - b * (a / b).floor()
}

/// The remainder with the divisor's sign.
fn signed_mod(a: i64, b: i64) -> i64 {
    let remainder = a.checked_rem(b).unwrap_or(0);
    if remainder != 0 && (remainder ^ b) < 0 { remainder + b } else { remainder }
}

/// Shifts by the width or more are undefined; here they take the width's remainder.
fn shift(b: u32) -> u32 {
    b & 31
}

/// The operation on components of 32 bits, where the instruction is one.
pub(crate) fn narrow(op: Op) -> Option<Fun> {
    Some(match op {
        Op::FNegate => f1!(|a| -a),
        Op::FAdd => f2!(|a, b| a + b),
        Op::FSub => f2!(|a, b| a - b),
        Op::FMul | Op::VectorTimesScalar | Op::MatrixTimesScalar => f2!(|a, b| a * b),
        Op::FDiv => f2!(|a, b| a / b),
        Op::FRem => f2!(|a, b| a % b),
        Op::FMod => f2!(floor_mod),
        Op::SNegate => u1!(u32::wrapping_neg),
        Op::IAdd => u2!(u32::wrapping_add),
        Op::ISub => u2!(u32::wrapping_sub),
        Op::IMul => u2!(u32::wrapping_mul),
        Op::UDiv => u2!(|a, b| a.checked_div(b).unwrap_or(0)),
        Op::UMod => u2!(|a, b| a.checked_rem(b).unwrap_or(0)),
        Op::SDiv => i2!(|a, b| if b == 0 { 0 } else { a.wrapping_div(b) }),
        Op::SRem => i2!(|a, b| if b == 0 { 0 } else { a.wrapping_rem(b) }),
        Op::SMod => i2!(|a, b| signed_mod(a.into(), b.into()) as i32),
        Op::ShiftRightLogical => u2!(|a, b| a >> shift(b)),
        Op::ShiftRightArithmetic => u2!(|a, b| (a.cast_signed() >> shift(b)).cast_unsigned()),
        Op::ShiftLeftLogical => u2!(|a, b| a << shift(b)),
        Op::BitwiseOr | Op::LogicalOr => u2!(|a, b| a | b),
        Op::BitwiseXor | Op::LogicalNotEqual => u2!(|a, b| a ^ b),
        Op::BitwiseAnd | Op::LogicalAnd => u2!(|a, b| a & b),
        Op::Not => u1!(|a| !a),
        Op::LogicalNot => u1!(|a| a ^ 1),
        Op::LogicalEqual => u2!(|a, b| a ^ b ^ 1),
        Op::BitReverse => u1!(u32::reverse_bits),
        Op::BitCount => u1!(u32::count_ones),
        Op::IEqual => u2!(|a, b| u32::from(a == b)),
        Op::INotEqual => u2!(|a, b| u32::from(a != b)),
        Op::ULessThan => u2!(|a, b| u32::from(a < b)),
        Op::ULessThanEqual => u2!(|a, b| u32::from(a <= b)),
        Op::UGreaterThan => u2!(|a, b| u32::from(a > b)),
        Op::UGreaterThanEqual => u2!(|a, b| u32::from(a >= b)),
        Op::SLessThan => i2!(|a, b| i32::from(a < b)),
        Op::SLessThanEqual => i2!(|a, b| i32::from(a <= b)),
        Op::SGreaterThan => i2!(|a, b| i32::from(a > b)),
        Op::SGreaterThanEqual => i2!(|a, b| i32::from(a >= b)),
        Op::FOrdEqual => c2!(|a, b| a == b),
        Op::FOrdNotEqual => c2!(|a, b| a.partial_cmp(&b).is_some_and(Ordering::is_ne)),
        Op::FOrdLessThan => c2!(|a, b| a < b),
        Op::FOrdLessThanEqual => c2!(|a, b| a <= b),
        Op::FOrdGreaterThan => c2!(|a, b| a > b),
        Op::FOrdGreaterThanEqual => c2!(|a, b| a >= b),
        Op::FUnordEqual => c2!(|a, b| a.partial_cmp(&b).is_none_or(Ordering::is_eq)),
        Op::FUnordNotEqual => c2!(|a, b| a != b),
        Op::FUnordLessThan => c2!(|a, b| a.partial_cmp(&b).is_none_or(Ordering::is_lt)),
        Op::FUnordLessThanEqual => c2!(|a, b| a.partial_cmp(&b).is_none_or(Ordering::is_le)),
        Op::FUnordGreaterThan => c2!(|a, b| a.partial_cmp(&b).is_none_or(Ordering::is_gt)),
        Op::FUnordGreaterThanEqual => c2!(|a, b| a.partial_cmp(&b).is_none_or(Ordering::is_ge)),
        Op::Ordered => c2!(|a, b| !a.is_nan() && !b.is_nan()),
        Op::Unordered => c2!(|a, b| a.is_nan() || b.is_nan()),
        Op::IsNan => u1!(|a| u32::from(f32::from_bits(a).is_nan())),
        Op::IsInf => u1!(|a| u32::from(f32::from_bits(a).is_infinite())),
        Op::ConvertFToU => u1!(|a| f32::from_bits(a) as u32),
        Op::ConvertFToS => u1!(|a| (f32::from_bits(a) as i32).cast_unsigned()),
        Op::ConvertSToF => u1!(|a| (a.cast_signed() as f32).to_bits()),
        Op::ConvertUToF => u1!(|a| (a as f32).to_bits()),
        Op::QuantizeToF16 => f1!(|a| half::f16::from_f32(a).to_f32()),
        Op::Bitcast | Op::UConvert | Op::SConvert | Op::FConvert | Op::CopyObject => u1!(|a| a),
        Op::BitFieldUExtract => Fun::Three(|x, y, z| from_fn(|l| field(x[l], y[l], z[l]))),
        Op::BitFieldSExtract => Fun::Three(|x, y, z| from_fn(|l| signed_field(x[l], y[l], z[l]))),
        _ => return None,
    })
}

/// Bits `offset..offset + count` of `base`.
fn field(base: u32, offset: u32, count: u32) -> u32 {
    let mask = 1u64.checked_shl(count.min(32)).unwrap_or(0).wrapping_sub(1);
    (u64::from(base).checked_shr(offset).unwrap_or(0) & mask) as u32
}

fn signed_field(base: u32, offset: u32, count: u32) -> u32 {
    match count.min(32) {
        0 => 0,
        count => {
            let spare = 32 - count;
            ((field(base, offset, count) << spare).cast_signed() >> spare).cast_unsigned()
        }
    }
}

/// `OpBitFieldInsert` in one lane: base, insert, offset and count.
pub(crate) fn insert_field(args: &[u32], out: &mut [u32]) {
    let (n, offset, count) = (out.len(), args[args.len() - 2], args[args.len() - 1]);
    let mask = (1u64.checked_shl(count.min(32)).unwrap_or(0).wrapping_sub(1)).checked_shl(offset).unwrap_or(0) as u32;
    for (i, out) in out.iter_mut().enumerate() {
        *out = args[i] & !mask | args[n + i].checked_shl(offset).unwrap_or(0) & mask;
    }
}

/// The two halves of instructions that return a struct of two: the low one first.
pub(crate) fn halves(op: Op) -> Option<[Fun; 2]> {
    Some(match op {
        Op::IAddCarry => [u2!(u32::wrapping_add), u2!(|a, b| u32::from(a.checked_add(b).is_none()))],
        Op::ISubBorrow => [u2!(u32::wrapping_sub), u2!(|a, b| u32::from(b > a))],
        Op::UMulExtended => [u2!(u32::wrapping_mul), u2!(|a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32)],
        Op::SMulExtended => [u2!(u32::wrapping_mul), i2!(|a, b| ((i64::from(a) * i64::from(b)) >> 32) as i32)],
        _ => return None,
    })
}

macro_rules! d1 {
    ($f:expr) => {
        |a, _, _| {
            let f: fn(f64) -> f64 = $f;
            f(f64::from_bits(a)).to_bits()
        }
    };
}
macro_rules! d2 {
    ($f:expr) => {
        |a, b, _| {
            let f: fn(f64, f64) -> f64 = $f;
            f(f64::from_bits(a), f64::from_bits(b)).to_bits()
        }
    };
}
macro_rules! d3 {
    ($f:expr) => {
        |a, b, c| {
            let f: fn(f64, f64, f64) -> f64 = $f;
            f(f64::from_bits(a), f64::from_bits(b), f64::from_bits(c)).to_bits()
        }
    };
}
macro_rules! e2 {
    ($f:expr) => {
        |a, b, _| {
            let f: fn(f64, f64) -> bool = $f;
            u64::from(f(f64::from_bits(a), f64::from_bits(b)))
        }
    };
}
macro_rules! s2 {
    ($f:expr) => {
        |a, b, _| {
            let f: fn(i64, i64) -> i64 = $f;
            f(a.cast_signed(), b.cast_signed()).cast_unsigned()
        }
    };
}
pub(super) use {d1, d2, d3};

/// The operation where operands are of 64 bits. Conversions have their own table.
pub(crate) fn wide(op: Op) -> Option<WideFun> {
    Some(match op {
        Op::FNegate => d1!(|a| -a),
        Op::FAdd => d2!(|a, b| a + b),
        Op::FSub => d2!(|a, b| a - b),
        Op::FMul | Op::VectorTimesScalar | Op::MatrixTimesScalar => d2!(|a, b| a * b),
        Op::FDiv => d2!(|a, b| a / b),
        Op::FRem => d2!(|a, b| a % b),
        Op::FMod => d2!(floor_mod_64),
        Op::SNegate => |a, _, _| a.wrapping_neg(),
        Op::IAdd => |a, b, _| a.wrapping_add(b),
        Op::ISub => |a, b, _| a.wrapping_sub(b),
        Op::IMul => |a, b, _| a.wrapping_mul(b),
        Op::UDiv => |a, b, _| a.checked_div(b).unwrap_or(0),
        Op::UMod => |a, b, _| a.checked_rem(b).unwrap_or(0),
        Op::SDiv => s2!(|a, b| if b == 0 { 0 } else { a.wrapping_div(b) }),
        Op::SRem => s2!(|a, b| if b == 0 { 0 } else { a.wrapping_rem(b) }),
        Op::SMod => s2!(signed_mod),
        Op::ShiftRightLogical => |a, b, _| a >> (b & 63),
        Op::ShiftRightArithmetic => |a, b, _| (a.cast_signed() >> (b & 63)).cast_unsigned(),
        Op::ShiftLeftLogical => |a, b, _| a << (b & 63),
        Op::BitwiseOr => |a, b, _| a | b,
        Op::BitwiseXor => |a, b, _| a ^ b,
        Op::BitwiseAnd => |a, b, _| a & b,
        Op::Not => |a, _, _| !a,
        Op::BitReverse => |a, _, _| a.reverse_bits(),
        Op::BitCount => |a, _, _| u64::from(a.count_ones()),
        Op::IEqual => |a, b, _| u64::from(a == b),
        Op::INotEqual => |a, b, _| u64::from(a != b),
        Op::ULessThan => |a, b, _| u64::from(a < b),
        Op::ULessThanEqual => |a, b, _| u64::from(a <= b),
        Op::UGreaterThan => |a, b, _| u64::from(a > b),
        Op::UGreaterThanEqual => |a, b, _| u64::from(a >= b),
        Op::SLessThan => s2!(|a, b| i64::from(a < b)),
        Op::SLessThanEqual => s2!(|a, b| i64::from(a <= b)),
        Op::SGreaterThan => s2!(|a, b| i64::from(a > b)),
        Op::SGreaterThanEqual => s2!(|a, b| i64::from(a >= b)),
        Op::FOrdEqual => e2!(|a, b| a == b),
        Op::FOrdNotEqual => e2!(|a, b| a.partial_cmp(&b).is_some_and(Ordering::is_ne)),
        Op::FOrdLessThan => e2!(|a, b| a < b),
        Op::FOrdLessThanEqual => e2!(|a, b| a <= b),
        Op::FOrdGreaterThan => e2!(|a, b| a > b),
        Op::FOrdGreaterThanEqual => e2!(|a, b| a >= b),
        Op::FUnordEqual => e2!(|a, b| a.partial_cmp(&b).is_none_or(Ordering::is_eq)),
        Op::FUnordNotEqual => e2!(|a, b| a != b),
        Op::FUnordLessThan => e2!(|a, b| a.partial_cmp(&b).is_none_or(Ordering::is_lt)),
        Op::FUnordLessThanEqual => e2!(|a, b| a.partial_cmp(&b).is_none_or(Ordering::is_le)),
        Op::FUnordGreaterThan => e2!(|a, b| a.partial_cmp(&b).is_none_or(Ordering::is_gt)),
        Op::FUnordGreaterThanEqual => e2!(|a, b| a.partial_cmp(&b).is_none_or(Ordering::is_ge)),
        Op::IsNan => |a, _, _| u64::from(f64::from_bits(a).is_nan()),
        Op::IsInf => |a, _, _| u64::from(f64::from_bits(a).is_infinite()),
        Op::CopyObject => |a, _, _| a,
        _ => return None,
    })
}

/// Conversions with 64 bits on at least one side: (operand is wide, result is wide).
pub(crate) fn convert(op: Op, from: bool, to: bool) -> Option<WideFun> {
    Some(match (op, from, to) {
        (Op::FConvert, false, true) => |a, _, _| f64::from(f32::from_bits(a as u32)).to_bits(),
        (Op::FConvert, true, false) => |a, _, _| u64::from((f64::from_bits(a) as f32).to_bits()),
        (Op::ConvertFToU, false, true) => |a, _, _| f32::from_bits(a as u32) as u64,
        (Op::ConvertFToU, true, false) => |a, _, _| u64::from(f64::from_bits(a) as u32),
        (Op::ConvertFToU, true, true) => |a, _, _| f64::from_bits(a) as u64,
        (Op::ConvertFToS, false, true) => |a, _, _| (f32::from_bits(a as u32) as i64).cast_unsigned(),
        (Op::ConvertFToS, true, false) => |a, _, _| u64::from((f64::from_bits(a) as i32).cast_unsigned()),
        (Op::ConvertFToS, true, true) => |a, _, _| (f64::from_bits(a) as i64).cast_unsigned(),
        (Op::ConvertSToF, false, true) => |a, _, _| f64::from((a as u32).cast_signed()).to_bits(),
        (Op::ConvertSToF, true, false) => |a, _, _| u64::from((a.cast_signed() as f32).to_bits()),
        (Op::ConvertSToF, true, true) => |a, _, _| (a.cast_signed() as f64).to_bits(),
        (Op::ConvertUToF, false, true) => |a, _, _| f64::from(a as u32).to_bits(),
        (Op::ConvertUToF, true, false) => |a, _, _| u64::from((a as f32).to_bits()),
        (Op::ConvertUToF, true, true) => |a, _, _| (a as f64).to_bits(),
        (Op::SConvert, false, true) => |a, _, _| i64::from((a as u32).cast_signed()).cast_unsigned(),
        (Op::UConvert, false, true) => |a, _, _| u64::from(a as u32),
        (Op::SConvert | Op::UConvert, true, false) => |a, _, _| u64::from(a as u32),
        (Op::SConvert | Op::UConvert | Op::FConvert, true, true) => |a, _, _| a,
        _ => return None,
    })
}

/// Whether Vulkan leaves the result's last bits open (Vulkan specification, "Precision and operation of SPIR-V instructions"):
/// division has 2.5 units in the last place, remainders derive from it.
pub(crate) fn is_rough(op: Op) -> bool {
    matches!(op, Op::FDiv | Op::FRem | Op::FMod)
}
