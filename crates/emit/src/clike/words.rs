//! What languages of the C family call types, and how they write numbers.

use super::text::{Text, UNARY};
use half::f16;
use warpsight_ir::{Const, Scalar, Type};

/// What a language calls integers other than `int`, and how their literals end.
pub(crate) struct Integers {
    pub u32: &'static str,
    pub i64: &'static str,
    pub u64: &'static str,
    /// Of `i64` literals.
    pub long: &'static str,
    /// Of `u64` literals.
    pub unsigned_long: &'static str,
}

/// The vocabulary of a language of the C family.
pub(crate) trait Words {
    /// Whether lanes of truth values are `bool`, like single ones; else they are integers of −1 and 0.
    const BOOL_LANES: bool;
    /// Integers.
    const INTEGERS: Integers;
    /// Half precision in registers.
    const HALF: &'static str;

    /// Whether a name means something already.
    fn reserved(name: &str) -> bool;
    /// The type of several lanes of a scalar type.
    fn vector(scalar: &str, width: u8) -> String;
    /// A value of a vector type with the same scalar in every lane, zero.
    fn zeros(ty: &str, zero: &str) -> String;
    /// The smallest `i32` or `i64`, which is no number with a minus: that number would be too large.
    fn smallest(scalar: Scalar) -> &'static str;
    /// A literal in half precision.
    fn half(value: f16) -> String;
    /// An `f32` that is infinite or no number.
    fn special_f32(value: f32) -> String;
    /// An `f64`, likewise.
    fn special_f64(value: f64) -> String;
    /// The type of an element in memory, in an array or behind a pointer.
    fn memory_name(scalar: Scalar, array: bool) -> &'static str;

    /// The name of a scalar's type in registers.
    fn scalar_name(scalar: Scalar) -> &'static str {
        match scalar {
            Scalar::Bool => "bool",
            Scalar::I32 => "int",
            Scalar::U32 => Self::INTEGERS.u32,
            Scalar::I64 => Self::INTEGERS.i64,
            Scalar::U64 => Self::INTEGERS.u64,
            Scalar::F16 | Scalar::Bf16 | Scalar::F32 => "float",
            Scalar::Half => Self::HALF,
            Scalar::F64 => "double",
        }
    }
    /// The scalar type of a value's lanes.
    fn lane_type(ty: Type) -> Scalar {
        if ty.width > 1 && ty.scalar == Scalar::Bool && !Self::BOOL_LANES { Scalar::I32 } else { ty.scalar }
    }
    /// The name of a value's type.
    fn type_name(ty: Type) -> String {
        let scalar = Self::scalar_name(Self::lane_type(ty));
        if ty.width == 1 { scalar.to_owned() } else { Self::vector(scalar, ty.width) }
    }
    /// A literal that reads back as exactly the value.
    fn literal(value: Const) -> String {
        match value {
            Const::Bool(v) => v.to_string(),
            Const::I32(i32::MIN) | Const::I64(i64::MIN) => Self::smallest(value.scalar()).to_owned(),
            Const::I32(v) => v.to_string(),
            Const::U32(v) => format!("{v}u"),
            Const::I64(v) => format!("{v}{}", Self::INTEGERS.long),
            Const::U64(v) => format!("{v}{}", Self::INTEGERS.unsigned_long),
            Const::Half(v) => Self::half(v),
            // `{:?}` prints the shortest decimal that reads back as the same float.
            Const::F32(v) if v.is_finite() => format!("{v:?}f"),
            Const::F64(v) if v.is_finite() => format!("{v:?}"),
            Const::F32(v) => Self::special_f32(v),
            Const::F64(v) => Self::special_f64(v),
        }
    }
    /// Zero of a type.
    fn zero(ty: Type) -> String {
        let scalar = Self::literal(match Self::lane_type(ty) {
            Scalar::Bool => Const::Bool(false),
            Scalar::I32 => Const::I32(0),
            Scalar::U32 => Const::U32(0),
            Scalar::I64 => Const::I64(0),
            Scalar::U64 => Const::U64(0),
            Scalar::F16 | Scalar::Bf16 | Scalar::F32 => Const::F32(0.0),
            Scalar::Half => Const::Half(f16::ZERO),
            Scalar::F64 => Const::F64(0.0),
        });
        if ty.width == 1 { scalar } else { Self::zeros(&Self::type_name(ty), &scalar) }
    }
    /// A value in another type, as C converts.
    fn as_type(a: &Text, ty: Type) -> Text {
        Text::new(format!("({}){}", Self::type_name(ty), a.at(UNARY)), UNARY, ty)
    }
}
