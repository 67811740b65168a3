//! Scalar and vector types, and literals.

use serde::{Deserialize, Serialize};

/// A scalar type. `F16` and `Bf16` are storage types: loads widen them to `F32`. `Half` is computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scalar {
    /// Truth value.
    Bool,
    /// 32-bit signed integer; the type of coordinates.
    I32,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit signed integer.
    I64,
    /// 64-bit unsigned integer.
    U64,
    /// IEEE half precision, storage only.
    F16,
    /// bfloat16, storage only.
    Bf16,
    /// IEEE half precision, in registers as in memory.
    Half,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
}

impl Scalar {
    /// Bytes of one element in memory.
    pub fn bytes(self) -> u32 {
        match self {
            Self::Bool => 1,
            Self::F16 | Self::Bf16 | Self::Half => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
    /// The type a value of this storage type has in a register.
    pub fn widened(self) -> Self {
        match self {
            Self::F16 | Self::Bf16 => Self::F32,
            other => other,
        }
    }
    /// The type whose elements lie in memory as this one's do, whatever they are computed with: what models and hosts know.
    pub fn stored(self) -> Self {
        if self == Self::Half { Self::F16 } else { self }
    }
    /// The greatest finite number of a floating-point type; of others, infinity.
    pub fn greatest(self) -> f64 {
        match self {
            Self::F16 | Self::Half => 65504.0,
            Self::Bf16 => f64::from(half::bf16::MAX),
            Self::F32 => f64::from(f32::MAX),
            Self::F64 => f64::MAX,
            _ => f64::INFINITY,
        }
    }
    /// A known number as it is stored where it is finite: the greatest where it is beyond that, as what fills masks is among halves.
    pub fn finite(self, value: f64) -> f64 {
        if value.is_finite() { value.clamp(-self.greatest(), self.greatest()) } else { value }
    }
    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::Half | Self::F32 | Self::F64)
    }
    /// Whether it is an integer type.
    pub fn is_int(self) -> bool {
        matches!(self, Self::I32 | Self::U32 | Self::I64 | Self::U64)
    }
    /// Its name in the text form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Half => "half",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

/// The widths a vector may have; 1 is a scalar.
pub const WIDTHS: [u8; 6] = [1, 2, 3, 4, 8, 16];

/// The type of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Type {
    /// Of each lane.
    pub scalar: Scalar,
    /// Lanes, one of [`WIDTHS`].
    pub width: u8,
}

impl Type {
    /// A scalar's type.
    pub const fn scalar(scalar: Scalar) -> Self {
        Self { scalar, width: 1 }
    }
    /// A vector's type.
    pub const fn vector(scalar: Scalar, width: u8) -> Self {
        Self { scalar, width }
    }
    /// 32-bit registers a value occupies (a 16-bit float takes half a register, rounded up over the vector: lanes of a `half` vector lie in
    /// pairs, as on every device whose registers hold two).
    pub fn words(self) -> u32 {
        (self.scalar.bytes().max(if self.scalar == Scalar::Bool { 4 } else { 1 }) * u32::from(self.width)).div_ceil(4)
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.width == 1 { f.write_str(self.scalar.name()) } else { write!(f, "{}x{}", self.scalar.name(), self.width) }
    }
}

/// A literal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Const {
    /// Truth value.
    Bool(bool),
    /// 32-bit signed.
    I32(i32),
    /// 32-bit unsigned.
    U32(u32),
    /// 64-bit signed.
    I64(i64),
    /// 64-bit unsigned.
    U64(u64),
    /// Half precision.
    Half(half::f16),
    /// Single precision.
    F32(f32),
    /// Double precision.
    F64(f64),
}

impl Const {
    /// Its type.
    pub fn scalar(self) -> Scalar {
        match self {
            Self::Bool(_) => Scalar::Bool,
            Self::I32(_) => Scalar::I32,
            Self::U32(_) => Scalar::U32,
            Self::I64(_) => Scalar::I64,
            Self::U64(_) => Scalar::U64,
            Self::Half(_) => Scalar::Half,
            Self::F32(_) => Scalar::F32,
            Self::F64(_) => Scalar::F64,
        }
    }
    /// Its value where it is an integer that fits.
    pub fn as_int(self) -> Option<i64> {
        match self {
            Self::I32(v) => Some(v.into()),
            Self::U32(v) => Some(v.into()),
            Self::I64(v) => Some(v),
            Self::U64(v) => v.try_into().ok(),
            _ => None,
        }
    }
}
