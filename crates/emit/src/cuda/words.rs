//! The reserved words of CUDA C++.

use crate::clike::text::{begins, listed};

/// Whether a name means something in CUDA C++ already. What OpenCL C reserves is left free too: the texts of one Program in both
/// languages use the same identifiers.
pub fn reserved(name: &str) -> bool {
    crate::opencl::reserved(name) || begins(PREFIXES, name) || listed(WORDS, name)
}

/// Beginnings of macros, and of functions and types of the language.
const PREFIXES: &str = "WS_ CUDA cuda nvcuda make_ tex surf atomic";

/// Keywords of C++17, alternative operators, and what CUDA adds.
const WORDS: &str = "\
    alignas alignof and and_eq bitand bitor catch char16_t char32_t compl const_cast constexpr decltype delete dynamic_cast explicit \
    export false friend mutable new noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast static_assert \
    static_cast template thread_local throw true try typeid typename using virtual wchar_t xor xor_eq std dim3 threadIdx blockIdx \
    blockDim gridDim warpSize clock memcpy memset malloc free abort exit assert WARPSIGHT_HOST";

#[cfg(test)]
mod tests {
    use super::super::dialect::Cuda;
    use super::*;
    use crate::clike::Dialect;
    use warpsight_ir::{Const, Scalar, Type};

    #[test]
    fn literals_are_exact() {
        assert_eq!(Cuda::literal(Const::F32(1e-45)), "1e-45f");
        assert_eq!(Cuda::literal(Const::F32(f32::NEG_INFINITY)), "ws_bits<float>(0xff800000u)");
        assert_eq!(Cuda::literal(Const::F64(f64::INFINITY)), "ws_bits<double>(0x7ff0000000000000ull)");
        assert_eq!(Cuda::literal(Const::I64(-3)), "-3ll");
        assert_eq!(Cuda::literal(Const::U64(u64::MAX)), "18446744073709551615ull");
        assert_eq!(Cuda::zero(Type::vector(Scalar::F16, 4)), "ws_vec<float, 4>{}");
    }

    #[test]
    fn words_of_both_languages_are_reserved() {
        assert!(reserved("float4") && reserved("ws_x") && reserved("template") && reserved("threadIdx") && reserved("tex2D"));
        assert!(!reserved("x") && !reserved("tile_a") && !reserved("column"));
    }
}
