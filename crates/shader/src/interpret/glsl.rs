//! The extended instructions of `GLSL.std.450`, component by component.

use super::arith::{d1, d2, d3, f1, f2, f3, i2, u1, u2};
use super::step::{Fun, Lanes, WideFun};
pub(crate) use rspirv::spirv::GlslStd450Op as Ext;
use std::array::from_fn;
use std::f32::consts::PI;

fn sign(a: f32) -> f32 {
    if a > 0.0 {
        1.0
    } else if a < 0.0 {
        -1.0
    } else {
        a
    }
}

/// The smaller one; the other one where one is no number.
fn min(a: f32, b: f32) -> f32 {
    if b < a || a.is_nan() { b } else { a }
}

fn max(a: f32, b: f32) -> f32 {
    if a < b || a.is_nan() { b } else { a }
}

/// Vulkan derives pow from log2 of its first operand, so that negative ones give no number; C's would. Drivers make squares and their
/// squares products first (Mesa's nir_opt_algebraic), and shaders count on that.
fn power(a: f32, b: f32) -> f32 {
    match (a < 0.0, b) {
        (true, 1.0 | 2.0 | 4.0) | (false, _) => libm::powf(a, b),
        _ => f32::NAN,
    }
}

fn smooth(low: f32, high: f32, x: f32) -> f32 {
    let t = min(max((x - low) / (high - low), 0.0), 1.0);
    t * t * (3.0 - 2.0 * t)
}

fn smooth_64(low: f64, high: f64, x: f64) -> f64 {
    let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// The highest bit that differs from the sign.
fn signed_msb(a: u32) -> u32 {
    let a = if a.cast_signed() < 0 { !a } else { a };
    31u32.wrapping_sub(a.leading_zeros())
}

/// The operation on components of 32 bits, where the instruction works on each component alone.
///
/// `sin` and its kin are libm's, so that results are the same on every machine; Vulkan leaves their last bits open.
pub(crate) fn narrow(op: Ext) -> Option<Fun> {
    Some(match op {
        Ext::Round | Ext::RoundEven => f1!(f32::round_ties_even),
        Ext::Trunc => f1!(f32::trunc),
        Ext::FAbs => f1!(f32::abs),
        Ext::SAbs => u1!(|a| a.cast_signed().wrapping_abs().cast_unsigned()),
        Ext::FSign => f1!(sign),
        Ext::SSign => u1!(|a| a.cast_signed().signum().cast_unsigned()),
        Ext::Floor => f1!(f32::floor),
        Ext::Ceil => f1!(f32::ceil),
        Ext::Fract => f1!(|a| a - a.floor()),
        Ext::Radians => f1!(|a| a * (PI / 180.0)),
        Ext::Degrees => f1!(|a| a * (180.0 / PI)),
        Ext::Sin => f1!(libm::sinf),
        Ext::Cos => f1!(libm::cosf),
        Ext::Tan => f1!(libm::tanf),
        Ext::Asin => f1!(libm::asinf),
        Ext::Acos => f1!(libm::acosf),
        Ext::Atan => f1!(libm::atanf),
        Ext::Sinh => f1!(libm::sinhf),
        Ext::Cosh => f1!(libm::coshf),
        Ext::Tanh => f1!(libm::tanhf),
        Ext::Asinh => f1!(libm::asinhf),
        Ext::Acosh => f1!(libm::acoshf),
        Ext::Atanh => f1!(libm::atanhf),
        Ext::Atan2 => f2!(libm::atan2f),
        Ext::Pow => f2!(power),
        Ext::Exp => f1!(libm::expf),
        Ext::Log => f1!(libm::logf),
        Ext::Exp2 => f1!(libm::exp2f),
        Ext::Log2 => f1!(libm::log2f),
        Ext::Sqrt => f1!(f32::sqrt),
        Ext::InverseSqrt => f1!(|a| 1.0 / a.sqrt()),
        Ext::FMin | Ext::NMin => f2!(min),
        Ext::FMax | Ext::NMax => f2!(max),
        Ext::UMin => u2!(Ord::min),
        Ext::UMax => u2!(Ord::max),
        Ext::SMin => i2!(Ord::min),
        Ext::SMax => i2!(Ord::max),
        Ext::FClamp | Ext::NClamp => f3!(|x, low, high| min(max(x, low), high)),
        Ext::UClamp => Fun::Three(|x, low, high| from_fn(|l| x[l].max(low[l]).min(high[l]))),
        Ext::SClamp => {
            Fun::Three(|x, low, high| from_fn(|l| x[l].cast_signed().max(low[l].cast_signed()).min(high[l].cast_signed()).cast_unsigned()))
        }
        Ext::FMix => f3!(|x, y, a| x * (1.0 - a) + y * a),
        Ext::Step => f2!(|edge, x| if x < edge { 0.0 } else { 1.0 }),
        Ext::SmoothStep => f3!(smooth),
        Ext::Fma => f3!(f32::mul_add),
        Ext::FindILsb => u1!(|a| if a == 0 { u32::MAX } else { a.trailing_zeros() }),
        Ext::FindUMsb => u1!(|a| 31u32.wrapping_sub(a.leading_zeros())),
        Ext::FindSMsb => u1!(signed_msb),
        Ext::Ldexp => Fun::Two(|x, e| from_fn(|l| libm::ldexpf(f32::from_bits(x[l]), e[l].cast_signed()).to_bits())),
        _ => return None,
    })
}

/// The same with operands of 64 bits.
pub(crate) fn wide(op: Ext) -> Option<WideFun> {
    Some(match op {
        Ext::Round | Ext::RoundEven => d1!(f64::round_ties_even),
        Ext::Trunc => d1!(f64::trunc),
        Ext::FAbs => d1!(f64::abs),
        Ext::SAbs => |a, _, _| a.cast_signed().wrapping_abs().cast_unsigned(),
        Ext::FSign => d1!(|a| if a == 0.0 || a.is_nan() { a } else { a.signum() }),
        Ext::SSign => |a, _, _| a.cast_signed().signum().cast_unsigned(),
        Ext::Floor => d1!(f64::floor),
        Ext::Ceil => d1!(f64::ceil),
        Ext::Fract => d1!(|a| a - a.floor()),
        Ext::Sqrt => d1!(f64::sqrt),
        Ext::InverseSqrt => d1!(|a| 1.0 / a.sqrt()),
        Ext::FMin | Ext::NMin => d2!(f64::min),
        Ext::FMax | Ext::NMax => d2!(f64::max),
        Ext::UMin => |a, b, _| a.min(b),
        Ext::UMax => |a, b, _| a.max(b),
        Ext::SMin => |a, b, _| a.cast_signed().min(b.cast_signed()).cast_unsigned(),
        Ext::SMax => |a, b, _| a.cast_signed().max(b.cast_signed()).cast_unsigned(),
        Ext::FClamp | Ext::NClamp => d3!(|x, low, high| x.max(low).min(high)),
        Ext::UClamp => |x, low, high| x.max(low).min(high),
        Ext::SClamp => |x, low, high| x.cast_signed().max(low.cast_signed()).min(high.cast_signed()).cast_unsigned(),
        Ext::FMix => d3!(|x, y, a| x * (1.0 - a) + y * a),
        Ext::Step => d2!(|edge, x| if x < edge { 0.0 } else { 1.0 }),
        Ext::SmoothStep => d3!(smooth_64),
        Ext::Fma => d3!(f64::mul_add),
        Ext::Ldexp => |x, e, _| libm::ldexp(f64::from_bits(x), (e as u32).cast_signed()).to_bits(),
        _ => return None,
    })
}

/// Whether Vulkan leaves the result's last bits open: everything but what rounds correctly or does not round at all. A mix is
/// derived from exact operations, but which of its two formulas is meant is left open.
pub(crate) fn is_rough(op: Ext) -> bool {
    use Ext as E;
    !matches!(
        op,
        E::Round
            | E::RoundEven
            | E::Trunc
            | E::FAbs
            | E::SAbs
            | E::FSign
            | E::SSign
            | E::Floor
            | E::Ceil
            | E::Fract
            | E::FMin
            | E::UMin
            | E::SMin
            | E::FMax
            | E::UMax
            | E::SMax
            | E::FClamp
            | E::UClamp
            | E::SClamp
            | E::Step
            | E::NMin
            | E::NMax
            | E::NClamp
            | E::FindILsb
            | E::FindSMsb
            | E::FindUMsb
            | E::FaceForward
            | E::Ldexp
            | E::Modf
            | E::ModfStruct
            | E::Frexp
            | E::FrexpStruct
            | E::PackDouble2x32
            | E::UnpackDouble2x32
            | E::PackHalf2x16
            | E::UnpackHalf2x16
            | E::InterpolateAtCentroid
            | E::InterpolateAtSample
            | E::InterpolateAtOffset
    )
}
