//! Words of the text form that are read and written: axes of the grid, classes of operations.

use crate::kernel::OpClass;
use crate::text::Word;
use crate::types::{Scalar, Type, WIDTHS};

/// The number of a block along an axis: bx by bz b3 b4 …
pub(super) fn block_axis(axis: usize) -> String {
    ["bx", "by", "bz"].get(axis).map_or_else(|| format!("b{axis}"), |name| (*name).to_owned())
}

/// The lane of a block along an axis: lx ly lz l3 l4 …
pub(super) fn lane_axis(axis: usize) -> String {
    format!("l{}", &block_axis(axis)[1..])
}

/// Whether a name is that of an axis of grid or block beyond the third.
pub(super) fn is_further_axis(name: &str) -> bool {
    (3..10).any(|axis| name == block_axis(axis) || name == lane_axis(axis))
}

/// Classes that have a name of their own.
const NAMED: [(&str, OpClass, Scalar); 7] = [
    ("mma", OpClass::Mma, Scalar::F16),
    ("mma_bf16", OpClass::Mma, Scalar::Bf16),
    ("mma_f32", OpClass::Mma, Scalar::F32),
    ("mma_f64", OpClass::Mma, Scalar::F64),
    ("mma_int8", OpClass::Mma, Scalar::I32),
    ("sfu", OpClass::Special, Scalar::F32),
    ("int", OpClass::Int, Scalar::I32),
];

/// What a class adds to its type; nothing where the type's own arithmetic is meant.
fn suffix(class: OpClass, scalar: Scalar) -> Option<&'static str> {
    match class {
        OpClass::Fma if scalar.is_float() => Some("_fma"),
        OpClass::Special if scalar.is_float() => Some("_sfu"),
        OpClass::Float if scalar.is_float() => Some(""),
        OpClass::Int if scalar.is_int() => Some(""),
        OpClass::Mma => Some("_mma"),
        _ => None,
    }
}

/// The word of a class of operations: `f32`, `f32x4_fma`, `sfu`; `None` where there is no such arithmetic.
pub(super) fn word(class: OpClass, scalar: Scalar, width: u8) -> Option<String> {
    let named = NAMED.iter().find(|own| width == 1 && (own.1, own.2) == (class, scalar)).map(|own| own.0.to_owned());
    named.or_else(|| Some(format!("{}{}", Type::vector(scalar, width), suffix(class, scalar)?)))
}

/// The class of a word.
pub(super) fn operation(name: &str) -> Option<(OpClass, Scalar, u8)> {
    if let Some(&(_, class, scalar)) = NAMED.iter().find(|own| own.0 == name) {
        return Some((class, scalar, 1));
    }
    let (of, own) = name.split_at(name.find('_').unwrap_or(name.len()));
    let (scalar, width) = match of.split_once('x') {
        Some((scalar, width)) => (scalar, *WIDTHS.iter().find(|own| **own > 1 && own.to_string() == width)?),
        None => (of, 1),
    };
    let scalar = Scalar::of(scalar)?;
    let classes = [OpClass::Fma, OpClass::Float, OpClass::Special, OpClass::Int, OpClass::Mma];
    classes.into_iter().find(|&class| suffix(class, scalar) == Some(own)).map(|class| (class, scalar, width))
}

/// The words of single operations.
pub(super) fn known_operations() -> impl Iterator<Item = &'static str> {
    ["f64", "f64_fma", "f32", "f32_fma", "f16", "f16_fma"].into_iter().chain(NAMED.iter().map(|own| own.0))
}

pub(super) fn help_on_operations() -> String {
    format!("known are {}; of vectors f32x4 f32x4_fma f32x4_sfu", known_operations().collect::<Vec<_>>().join(" "))
}
