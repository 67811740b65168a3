//! Numbers of 8 and 16 bits.
//!
//! In a cell they have 32 bits: a floating point number is the one of 32 bits with the same value, an integer has zeros above its own
//! bits. So operations are those of 32 bits, with their results fitted to the type; integers that an operation takes as signed are
//! extended before. For sums, products, quotients and roots, rounding to 24 bits and then to 11 is rounding once, as 24 ≥ 2·11 + 2
//! (Figueroa, When is double rounding innocuous?, 1995).

use super::glsl::Ext;
use super::step::{LaneFun, Lanes};
use crate::module::{ComponentType, Op};
use half::f16;

/// What makes a result of 32 bits one of this type, where that has fewer.
pub(crate) fn fit(of: ComponentType) -> Option<fn(Lanes) -> Lanes> {
    Some(match of {
        ComponentType::Float { bits: 16 } => |x| x.map(|a| f16::from_f32(f32::from_bits(a)).to_f32().to_bits()),
        ComponentType::Int { bits: 16, .. } => |x| x.map(|a| a & 0xffff),
        ComponentType::Int { bits: 8, .. } => |x| x.map(|a| a & 0xff),
        _ => return None,
    })
}

/// What gives an integer the sign that its own highest bit says.
pub(crate) fn extend(of: ComponentType) -> Option<fn(Lanes) -> Lanes> {
    Some(match of {
        ComponentType::Int { bits: 16, .. } => |x| x.map(|a| i32::from(a as u16 as i16).cast_unsigned()),
        ComponentType::Int { bits: 8, .. } => |x| x.map(|a| i32::from(a as u8 as i8).cast_unsigned()),
        _ => return None,
    })
}

/// The cell of a number whose bits, as memory has them, are the lowest of this word.
pub(crate) fn cell(of: ComponentType, word: u32) -> u32 {
    match of {
        ComponentType::Float { bits: 16 } => f16::from_bits(word as u16).to_f32().to_bits(),
        ComponentType::Int { bits: 16, .. } => word & 0xffff,
        ComponentType::Int { bits: 8, .. } => word & 0xff,
        _ => word,
    }
}

/// What turns cells into bits as memory has them, and back, where that is something else.
pub(crate) fn to_bits(of: ComponentType) -> Option<fn(Lanes) -> Lanes> {
    matches!(of, ComponentType::Float { bits: 16 }).then_some(|x| x.map(|a| f16::from_f32(f32::from_bits(a)).to_bits().into()))
}

pub(crate) fn from_bits(of: ComponentType) -> Option<fn(Lanes) -> Lanes> {
    matches!(of, ComponentType::Float { bits: 16 }).then_some(|x| x.map(|a| f16::from_bits(a as u16).to_f32().to_bits()))
}

/// Bits in pieces of one width as the same bits in pieces of another, the low ones first. 64 bits are two pieces of 32.
pub(crate) fn repack(from: u32, to: u32) -> Option<LaneFun> {
    Some(match (from, to) {
        (8, 16) => join::<2, 8>,
        (8, 32) => join::<4, 8>,
        (16, 32) => join::<2, 16>,
        (16, 8) => split::<2, 8>,
        (32, 8) => split::<4, 8>,
        (32, 16) => split::<2, 16>,
        _ => return None,
    })
}

fn join<const N: usize, const BITS: u32>(from: &[u32], to: &mut [u32]) {
    for (to, parts) in to.iter_mut().zip(from.chunks(N)) {
        *to = parts.iter().rev().fold(0, |word, part| word << BITS | part);
    }
}

fn split<const N: usize, const BITS: u32>(from: &[u32], to: &mut [u32]) {
    for (parts, from) in to.chunks_mut(N).zip(from) {
        (0..).zip(parts).for_each(|(i, part)| *part = from >> (BITS * i) & ((1 << BITS) - 1));
    }
}

/// Whether an instruction takes integers as signed ones, whatever their type says.
pub(crate) fn signed(op: Op) -> bool {
    use Op as O;
    matches!(
        op,
        O::SNegate
            | O::SDiv
            | O::SRem
            | O::SMod
            | O::SConvert
            | O::ConvertSToF
            | O::ShiftRightArithmetic
            | O::SLessThan
            | O::SLessThanEqual
            | O::SGreaterThan
            | O::SGreaterThanEqual
    )
}

/// The same for the instructions of `GLSL.std.450`.
pub(crate) fn signed_ext(op: Ext) -> bool {
    matches!(op, Ext::SAbs | Ext::SSign | Ext::SMin | Ext::SMax | Ext::SClamp | Ext::FindSMsb | Ext::Ldexp)
}
