//! The vocabulary of OpenCL C: reserved words, type names, qualifiers, literals.

use crate::clike::text::{begins, listed};
use crate::clike::{Integers, Words};
use half::f16;
use warpsight_ir::{Scalar, Space};

/// Beginnings of macros and built-in functions, and of the emitter's helpers.
const PREFIXES: &str = "ws_ __ CL_ CLK_ FLT_ DBL_ HALF_ M_ as_ convert_ vload vstore read_image write_image get_image native_ \
    atomic_ atom_ get_global_ get_local_ get_group_ cl_";

/// Types, of which most come in vectors too.
const TYPES: &str = "bool char uchar short ushort int uint long ulong half float double quad size_t ptrdiff_t intptr_t uintptr_t";

/// Keywords of C99 and OpenCL C, and macros.
const KEYWORDS: &str = "\
    auto break case const continue default do else enum extern for goto if inline register restrict return signed sizeof static struct \
    switch typedef union unsigned void volatile while _Bool _Complex _Imaginary kernel global local constant private generic pipe \
    uniform read_only write_only read_write complex imaginary sampler_t event_t queue_t reserve_id_t true false asm typeof this class \
    namespace template main NULL INFINITY NAN HUGE_VAL HUGE_VALF MAXFLOAT INT_MAX INT_MIN LONG_MAX LONG_MIN UINT_MAX ULONG_MAX \
    CHAR_BIT CHAR_MAX CHAR_MIN SHRT_MAX SHRT_MIN";

/// Built-in functions.
const FUNCTIONS: &str = "\
    half_cos half_divide half_exp half_exp2 half_exp10 half_log half_log2 half_log10 half_powr half_recip half_rsqrt half_sin \
    half_sqrt half_tan abs abs_diff acos acosh add_sat all any asin asinh atan atan2 atanh barrier bitselect cbrt ceil clamp clz \
    copysign cos cosh cospi cross degrees distance dot erf erfc exp exp10 exp2 expm1 fabs fdim floor fma fmax fmin fmod fract frexp \
    hadd hypot ilogb isequal isfinite isinf isnan isnormal ldexp length lgamma log log10 log1p log2 logb mad mad24 mad_hi mad_sat max \
    maxmag mem_fence min minmag mix modf mul24 mul_hi nan nextafter normalize popcount pow pown powr prefetch printf radians remainder \
    rint rotate round rsqrt select shuffle sign sin sincos sinh sinpi smoothstep sqrt step sub_sat tan tanh tanpi tgamma trunc upsample vec_step async_work_group_copy wait_group_events";

/// How OpenCL C calls types and writes literals.
pub struct Vocabulary;

impl Words for Vocabulary {
    const BOOL_LANES: bool = false;
    const HALF: &'static str = "half";
    const INTEGERS: Integers = Integers { u32: "uint", i64: "long", u64: "ulong", long: "L", unsigned_long: "UL" };

    /// Whether a name means something in OpenCL C already, or is kept for helpers of the emitter (`ws_…`).
    fn reserved(name: &str) -> bool {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        begins(PREFIXES, name)
            || (name.starts_with("image") && name.ends_with("_t"))
            || listed(KEYWORDS, name)
            || listed(FUNCTIONS, name)
            || listed(TYPES, stem)
    }
    fn vector(scalar: &str, width: u8) -> String {
        format!("{scalar}{width}")
    }
    fn zeros(ty: &str, zero: &str) -> String {
        format!("({ty})({zero})")
    }
    fn smallest(scalar: Scalar) -> &'static str {
        if scalar == Scalar::I64 { "LONG_MIN" } else { "INT_MIN" }
    }
    fn half(value: f16) -> String {
        let value = value.to_f32();
        if value.is_finite() { format!("{value:?}h") } else { format!("(half)({})", special(value.into())) }
    }
    fn special_f32(value: f32) -> String {
        special(value.into()).to_owned()
    }
    fn special_f64(value: f64) -> String {
        format!("(double)({})", special(value))
    }
    /// Half-precision floats are `half` behind pointers only; arrays hold their bits.
    fn memory_name(scalar: Scalar, array: bool) -> &'static str {
        match scalar {
            Scalar::Bool => "uchar",
            Scalar::F16 if !array => "half",
            Scalar::F16 | Scalar::Bf16 => "ushort",
            other => Self::scalar_name(other),
        }
    }
}

/// The qualifier of an address space; `None` for tiles, which OpenCL C lacks.
pub fn space_name(space: Space) -> Option<&'static str> {
    match space {
        Space::Global => Some("__global"),
        Space::Constant => Some("__constant"),
        Space::Local => Some("__local"),
        Space::Private => Some("__private"),
        Space::Tile => None,
    }
}

/// A float that is infinite or no number.
fn special(value: f64) -> &'static str {
    match (value.is_nan(), value > 0.0) {
        (true, _) => "NAN",
        (_, true) => "INFINITY",
        _ => "-INFINITY",
    }
}

/// The swizzle of lanes `start .. start + width`: `.s0123`.
pub fn swizzle(start: u8, width: u8) -> String {
    let lanes = (start..start + width).filter_map(|lane| char::from_digit(lane.into(), 16)).map(|c| c.to_ascii_uppercase());
    format!(".s{}", lanes.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsight_ir::Const;

    #[test]
    fn literals_are_exact() {
        assert_eq!(Vocabulary::literal(Const::F32(0.1)), "0.1f");
        assert_eq!(Vocabulary::literal(Const::F32(-0.0)), "-0.0f");
        assert_eq!(Vocabulary::literal(Const::F32(1e-45)), "1e-45f");
        assert_eq!(Vocabulary::literal(Const::F32(f32::NEG_INFINITY)), "-INFINITY");
        assert_eq!(Vocabulary::literal(Const::F64(f64::NAN)), "(double)(NAN)");
        assert_eq!(Vocabulary::literal(Const::I32(i32::MIN)), "INT_MIN");
        assert_eq!(Vocabulary::literal(Const::U64(u64::MAX)), "18446744073709551615UL");
        let mut rng = fastrand::Rng::with_seed(1);
        for v in std::iter::repeat_with(|| f32::from_bits(rng.u32(..))).take(2000).filter(|v| v.is_finite()) {
            let text = Vocabulary::literal(Const::F32(v));
            assert_eq!(text.trim_end_matches('f').parse::<f32>().unwrap().to_bits(), v.to_bits());
        }
    }

    #[test]
    fn swizzles_and_words() {
        assert_eq!(swizzle(8, 4), ".s89AB");
        assert!(
            Vocabulary::reserved("float4")
                && Vocabulary::reserved("half")
                && Vocabulary::reserved("min")
                && Vocabulary::reserved("ws_x")
                && Vocabulary::reserved("convert_int")
        );
        assert!(!Vocabulary::reserved("x") && !Vocabulary::reserved("floats") && !Vocabulary::reserved("t0"));
    }
}
