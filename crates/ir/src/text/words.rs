//! The words that stand for the variants of small enums. Each table lists every variant once; printing and parsing both use it.

use crate::kernel::StageClass;
use crate::program::{AtomicOp, BinaryOp, Border, Direction, ImageFormat, ImageKind, Order, Scope, Space, StorePolicy, UnaryOp};
use crate::types::Scalar;

/// A small enum with a word for each variant.
pub trait Word: Copy + PartialEq + 'static {
    /// What the words are, for error messages.
    const WHAT: &'static str;
    /// Every variant.
    const ALL: &'static [Self];
    /// The variant's word.
    fn word(self) -> &'static str;
    /// The variant of that word.
    fn of(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|v| v.word() == word)
    }
}

/// Implements [`Word`] from one table; the match is exhaustive, so no variant can be forgotten.
macro_rules! words {
    ($type:ident, $what:literal, { $($variant:ident = $word:literal),* $(,)? }) => {
        impl Word for $type {
            const WHAT: &'static str = $what;
            const ALL: &'static [Self] = &[$(Self::$variant),*];
            fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }
    };
}

words!(Scalar, "a scalar type", {
    Bool = "bool", I32 = "i32", U32 = "u32", I64 = "i64", U64 = "u64", F16 = "f16", Bf16 = "bf16", Half = "half", F32 = "f32", F64 = "f64",
});
words!(Space, "an address space", { Global = "global", Constant = "constant", Local = "local", Tile = "tile", Private = "private" });
words!(ImageFormat, "an image format", {
    Rgba32F = "rgba32f", Rgba16F = "rgba16f", Rgba16H = "rgba16h", Rgba32I = "rgba32i", Rgba32U = "rgba32u", Rgba8Unorm = "rgba8unorm",
});
words!(ImageKind, "a kind of image", {
    Image1d = "image1d", Image1dBuffer = "image1d_buffer", Image2d = "image2d", Image2dFromBuffer = "image2d_from_buffer",
});
words!(Border, "a border", { Zero = "zero", ClampToEdge = "clamp", None = "none" });
words!(Direction, "a direction", { Send = "send", Receive = "receive" });
words!(AtomicOp, "an atomic operation", {
    Add = "add", Sub = "sub", Min = "min", Max = "max", And = "and", Or = "or", Xor = "xor", Exchange = "exchange",
    CompareExchange = "compare_exchange",
});
words!(Order, "a memory order", { Relaxed = "relaxed", Acquire = "acquire", Release = "release", AcquireRelease = "acquire_release" });
words!(Scope, "a scope", { Subgroup = "subgroup", Group = "group", Device = "device" });
words!(StorePolicy, "a store policy", { WriteBack = "write_back", WriteThrough = "write_through", NonTemporal = "non_temporal" });
words!(StageClass, "a stage's class", { Tensor = "tensor", Simt = "simt" });
words!(UnaryOp, "an operation", {
    Neg = "-", Not = "!", Abs = "abs", Floor = "floor", Ceil = "ceil", Exp = "exp", Log = "log", Sqrt = "sqrt", Rsqrt = "rsqrt",
    Tanh = "tanh", Sin = "sin", Cos = "cos", Erf = "erf",
});
words!(BinaryOp, "an operation", {
    Add = "+", Sub = "-", Mul = "*", Div = "/", Rem = "%", Min = "min", Max = "max", And = "&", Or = "|", Xor = "^", Shl = "<<", Shr = ">>",
    Lt = "<", Le = "<=", Eq = "==", Ne = "!=",
});

/// Binds looser than every operator.
pub(super) const COMPARISON: u8 = 0;
/// What a bound's operands are: anything but a comparison.
pub(super) const BELOW_COMPARISON: u8 = 1;
/// A prefix operator, or a negative number.
pub(super) const UNARY: u8 = 7;
/// Names, literals, calls, loads, slices.
pub(super) const PRIMARY: u8 = 8;

/// How tightly an infix operator binds; `PRIMARY` for those written as calls.
pub(super) fn binding(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Lt | BinaryOp::Le | BinaryOp::Eq | BinaryOp::Ne => COMPARISON,
        BinaryOp::Or => 1,
        BinaryOp::Xor => 2,
        BinaryOp::And => 3,
        BinaryOp::Shl | BinaryOp::Shr => 4,
        BinaryOp::Add | BinaryOp::Sub => 5,
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 6,
        BinaryOp::Min | BinaryOp::Max => PRIMARY,
    }
}
