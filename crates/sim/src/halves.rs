//! Half precision in registers of `f32`, without branches, so that rows of lanes become vectors.

/// The nearest half, of two as near the even one: what `half::f16` gives, its NaN too.
#[inline(always)]
pub fn nearest(v: f32) -> f32 {
    let (sign, size) = (v.to_bits() & 0x8000_0000, v.to_bits() & 0x7fff_ffff);
    // Halves below 2^-14 are multiples of 2^-24, as are numbers between a half and one.
    let small = ((f32::from_bits(size) + 0.5) - 0.5).to_bits();
    // Others have 13 bits less.
    let large = size.wrapping_add(0xfff).wrapping_add(size >> 13 & 1) & !0x1fff;
    let finite = if size < 0x3880_0000 { small } else { large };
    let number = if large >= 0x4780_0000 { 0x7f80_0000 } else { finite };
    let nan = (size | 0x40_0000) & !0x1fff;
    f32::from_bits(sign | if size > 0x7f80_0000 { nan } else { number })
}

/// `a · b + c` of halves, rounded once.
#[inline(always)]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    // The product is exact. What the sum loses is, too (Knuth's sum of two).
    let product = a * b;
    let sum = product + c;
    let added = sum - product;
    let lost = (product - (sum - added)) + (c - added);
    // Of the two numbers around what is exact, the one whose last bit is odd is rounded to the half that the exact one is nearest to.
    let bits = sum.to_bits();
    let other = if (lost < 0.0) == (sum < 0.0) { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    let inexact = (lost < 0.0) | (lost > 0.0);
    nearest(f32::from_bits(if inexact & (bits & 1 == 0) { other } else { bits }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;
    use warpsight_ir::Scalar;
    use warpsight_ir::interpret as arith;

    fn halves() -> impl Iterator<Item = f32> {
        (0..=u16::MAX).map(|bits| f16::from_bits(bits).to_f32())
    }

    /// Each half, what lies in the middle of two, and the numbers around both.
    #[test]
    fn the_nearest_half_is_that_of_the_crate() {
        let middles = halves().map(|v| f32::from_bits(v.to_bits().wrapping_add(0x1000)));
        let tiny = (0..2048).map(|n| n as f32 * 2f32.powi(-25));
        let all = halves().chain(middles).chain(tiny).chain([f32::MAX, f32::MIN_POSITIVE, 65519.0, 65520.0, f32::from_bits(1)]);
        for bits in all.flat_map(|v| [0, 1, 2].map(|more: u32| v.to_bits().wrapping_add(more).wrapping_sub(1))) {
            let (v, wanted) = (f32::from_bits(bits), f16::from_f32(f32::from_bits(bits)).to_f32());
            assert_eq!(nearest(v).to_bits(), wanted.to_bits(), "{v:e}");
        }
    }

    /// As the interpreter has it, where sums are halves, lie between two, cancel, overflow, or are no numbers.
    #[test]
    fn products_and_sums_are_rounded_once() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut inexact = 0;
        for n in 0..400_000 {
            let any = |rng: &mut fastrand::Rng| f16::from_bits(rng.u16(..)).to_f32();
            let [a, b] = [any(&mut rng), any(&mut rng)];
            // A sum whose parts are about as large, every other time: else the smaller one hardly ever counts.
            let c = if n % 2 == 0 { any(&mut rng) } else { nearest(-a * b * 2f32.powi(rng.i32(-12..13))) };
            let wanted = arith::rounded(Scalar::F16, arith::exact_fma([a, b, c].map(f64::from))) as f32;
            let found = fma(a, b, c);
            inexact += u32::from(!found.is_nan() && found != nearest(a.mul_add(b, c)));
            assert!(
                found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan(),
                "{a:e} · {b:e} + {c:e} is {wanted:e}, not {found:e}"
            );
        }
        assert!(inexact > 0, "none where rounding twice would be wrong");
    }
}
