//! The vocabulary of CUDA C++: reserved words, type names, literals.

use warpsight_ir::{Const, Scalar, Type};

/// Whether a name means something in CUDA C++ already. What OpenCL C reserves is left free too: the texts of one Program in both
/// languages use the same identifiers.
pub fn reserved(name: &str) -> bool {
    crate::opencl::reserved(name)
        || PREFIXES.split_whitespace().any(|prefix| name.starts_with(prefix))
        || WORDS.split_whitespace().any(|word| word == name)
}

/// Beginnings of macros, and of functions and types of the language.
const PREFIXES: &str = "WS_ CUDA cuda nvcuda make_ tex surf atomic";

/// Keywords of C++17, alternative operators, and what CUDA adds.
const WORDS: &str = "\
    alignas alignof and and_eq bitand bitor catch char16_t char32_t compl const_cast constexpr decltype delete dynamic_cast explicit \
    export false friend mutable new noexcept not not_eq nullptr operator or or_eq private protected public reinterpret_cast static_assert \
    static_cast template thread_local throw true try typeid typename using virtual wchar_t xor xor_eq std dim3 threadIdx blockIdx \
    blockDim gridDim warpSize clock memcpy memset malloc free abort exit assert WARPSIGHT_HOST";

/// The name of a value's type.
pub fn type_name(ty: Type) -> String {
    let scalar = scalar_name(ty.scalar.widened());
    if ty.width == 1 { scalar.to_owned() } else { format!("ws_vec<{scalar}, {}>", ty.width) }
}

fn scalar_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool => "bool",
        Scalar::I32 => "int",
        Scalar::U32 => "unsigned",
        Scalar::I64 => "long long",
        Scalar::U64 => "unsigned long long",
        Scalar::F16 => "ws_f16",
        Scalar::Bf16 => "ws_bf16",
        Scalar::F32 => "float",
        Scalar::F64 => "double",
    }
}

/// The type of an element in memory.
pub fn memory_name(scalar: Scalar) -> &'static str {
    if scalar == Scalar::Bool { "ws_bool" } else { scalar_name(scalar) }
}

/// A literal that reads back as exactly the value.
pub fn literal(value: Const) -> String {
    match value {
        Const::Bool(v) => v.to_string(),
        Const::I32(i32::MIN) => "(-2147483647 - 1)".to_owned(),
        Const::I32(v) => v.to_string(),
        Const::U32(v) => format!("{v}u"),
        Const::I64(i64::MIN) => "(-9223372036854775807ll - 1)".to_owned(),
        Const::I64(v) => format!("{v}ll"),
        Const::U64(v) => format!("{v}ull"),
        // `{:?}` prints the shortest decimal that reads back as the same float.
        Const::F32(v) if v.is_finite() => format!("{v:?}f"),
        Const::F64(v) if v.is_finite() => format!("{v:?}"),
        Const::F32(v) => format!("ws_bits<float>({:#010x}u)", v.to_bits()),
        Const::F64(v) => format!("ws_bits<double>({:#018x}ull)", v.to_bits()),
    }
}

/// Zero of a type.
pub fn zero(ty: Type) -> String {
    let scalar = match ty.scalar {
        Scalar::Bool => "false",
        Scalar::I32 => "0",
        Scalar::U32 => "0u",
        Scalar::I64 => "0ll",
        Scalar::U64 => "0ull",
        Scalar::F64 => "0.0",
        _ => "0.0f",
    };
    if ty.width == 1 { scalar.to_owned() } else { format!("{}{{}}", type_name(ty)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_exact() {
        assert_eq!(literal(Const::F32(1e-45)), "1e-45f");
        assert_eq!(literal(Const::F32(f32::NEG_INFINITY)), "ws_bits<float>(0xff800000u)");
        assert_eq!(literal(Const::F64(f64::INFINITY)), "ws_bits<double>(0x7ff0000000000000ull)");
        assert_eq!(literal(Const::I64(-3)), "-3ll");
        assert_eq!(literal(Const::U64(u64::MAX)), "18446744073709551615ull");
        assert_eq!(zero(Type::vector(Scalar::F16, 4)), "ws_vec<float, 4>{}");
    }

    #[test]
    fn words_of_both_languages_are_reserved() {
        assert!(reserved("float4") && reserved("ws_x") && reserved("template") && reserved("threadIdx") && reserved("tex2D"));
        assert!(!reserved("x") && !reserved("tile_a") && !reserved("column"));
    }
}
