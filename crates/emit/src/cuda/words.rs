//! The vocabulary of CUDA C++: reserved words, type names, literals.

use crate::clike::text::{begins, listed};
use crate::clike::{Integers, Words};
use half::f16;
use warpsight_ir::Scalar;

/// Beginnings of macros, and of functions and types of the language.
const PREFIXES: &str = "WS_ CUDA cuda nvcuda make_ tex surf atomic";

/// Keywords of C++17, alternative operators, and what CUDA adds.
const WORDS: &str = "\
    alignas alignof and and_eq bitand bitor catch char16_t char32_t compl const_cast constexpr decltype delete dynamic_cast explicit \
    export false friend mutable new noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast static_assert \
    static_cast template thread_local throw true try typeid typename using virtual wchar_t xor xor_eq std dim3 threadIdx blockIdx \
    blockDim gridDim warpSize clock memcpy memset malloc free abort exit assert WARPSIGHT_HOST";

/// How CUDA C++ calls types and writes literals.
pub struct Vocabulary;

impl Words for Vocabulary {
    const BOOL_LANES: bool = true;
    const HALF: &'static str = "ws_real16";
    const INTEGERS: Integers = Integers { u32: "unsigned", i64: "long long", u64: "unsigned long long", long: "ll", unsigned_long: "ull" };

    /// Whether a name means something in CUDA C++ already. What OpenCL C reserves is left free too: the texts of one Program in both
    /// languages use the same identifiers.
    fn reserved(name: &str) -> bool {
        crate::opencl::Vocabulary::reserved(name) || begins(PREFIXES, name) || listed(WORDS, name)
    }
    fn vector(scalar: &str, width: u8) -> String {
        format!("ws_vec<{scalar}, {width}>")
    }
    fn zeros(ty: &str, _zero: &str) -> String {
        format!("{ty}{{}}")
    }
    fn half(value: f16) -> String {
        format!("ws_half_of({:#06x})", value.to_bits())
    }
    fn smallest(scalar: Scalar) -> &'static str {
        if scalar == Scalar::I64 { "(-9223372036854775807ll - 1)" } else { "(-2147483647 - 1)" }
    }
    fn special_f32(value: f32) -> String {
        format!("ws_bits<float>({:#010x}u)", value.to_bits())
    }
    fn special_f64(value: f64) -> String {
        format!("ws_bits<double>({:#018x}ull)", value.to_bits())
    }
    fn memory_name(scalar: Scalar, _array: bool) -> &'static str {
        match scalar {
            Scalar::Bool => "ws_bool",
            Scalar::F16 => "ws_f16",
            Scalar::Bf16 => "ws_bf16",
            other => Self::scalar_name(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsight_ir::{Const, Type};

    #[test]
    fn literals_are_exact() {
        assert_eq!(Vocabulary::literal(Const::F32(1e-45)), "1e-45f");
        assert_eq!(Vocabulary::literal(Const::F32(f32::NEG_INFINITY)), "ws_bits<float>(0xff800000u)");
        assert_eq!(Vocabulary::literal(Const::F64(f64::INFINITY)), "ws_bits<double>(0x7ff0000000000000ull)");
        assert_eq!(Vocabulary::literal(Const::I64(-3)), "-3ll");
        assert_eq!(Vocabulary::literal(Const::U64(u64::MAX)), "18446744073709551615ull");
        assert_eq!(Vocabulary::zero(Type::vector(Scalar::F16, 4)), "ws_vec<float, 4>{}");
    }

    #[test]
    fn words_of_both_languages_are_reserved() {
        assert!(
            Vocabulary::reserved("float4")
                && Vocabulary::reserved("ws_x")
                && Vocabulary::reserved("template")
                && Vocabulary::reserved("threadIdx")
                && Vocabulary::reserved("tex2D")
        );
        assert!(!Vocabulary::reserved("x") && !Vocabulary::reserved("tile_a") && !Vocabulary::reserved("column"));
    }
}
