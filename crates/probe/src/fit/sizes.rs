//! Sizes of hardware: what is likely before anything is measured.
//!
//! Memories are made of equal parts, most often of a power of two of them: a size needs few binary digits. The chance of one halves with each
//! digit that it needs, as a description's does with each bit. That weighs no more than it does: a rounder number wins where measurements
//! cannot tell it from others, and a number that they do tell (of 72 MiB, 50 KiB) stands.

/// Digits of a number without the zeros behind them; 0 of 0.
pub fn digits(of: u64) -> u32 {
    (of >> of.trailing_zeros().min(63)).checked_ilog2().map_or(0, |digits| digits + 1)
}

/// −2 ln of the chance of a size before anything is measured, beside that of one of a single digit more.
pub fn against(bytes: u64) -> f64 {
    2.0 * std::f64::consts::LN_2 * f64::from(digits(bytes))
}

/// The likeliest size of whole parts of `unit` bytes, at least one, from `lo` to `hi`, where a measurement says `best`, from which the size is
/// off by a `spread` of it, below and above; the nearest to that where there is none. With infinite ones all between are alike for the measurement.
pub fn likeliest(lo: f64, best: f64, hi: f64, [below, above]: [f64; 2], unit: f64) -> f64 {
    let (lo, best, hi) = (lo / unit, best / unit, hi / unit);
    let near = best.clamp(lo, hi);
    let off = |parts: f64| ((parts - best) / (best * if parts < best { below } else { above })).powi(2);
    // Of each power of two the multiples next to the best: others need as many digits, and are farther.
    let next = |bit: i32| {
        let power = 2_f64.powi(bit);
        [(near / power).floor() * power, (near / power).ceil() * power]
    };
    let possible = (0..f64::MANTISSA_DIGITS as i32).flat_map(next).filter(|parts| *parts >= 1.0 && (lo..=hi).contains(parts));
    let cost = |parts: &f64| (off(*parts) + against(*parts as u64), (parts - best).abs());
    let likeliest = possible.min_by(|a, b| cost(a).partial_cmp(&cost(b)).unwrap_or(std::cmp::Ordering::Equal));
    likeliest.unwrap_or(best.round().max(1.0)) * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_numbers_need_few_digits() {
        assert_eq!([0, 1, 64, 96, 72 << 20, 50, 51].map(digits), [0, 1, 1, 2, 4, 5, 6]);
    }

    /// Last levels of vendors, in MiB, and what a measurement of a few per cent makes of them.
    #[test]
    fn sizes_of_vendors_come_back() {
        for mib in [
            1.0, 1.5, 2.0, 3.0, 4.0, 4.5, 5.5, 6.0, 8.0, 20.0, 24.0, 25.0, 28.0, 30.0, 32.0, 36.0, 40.0, 48.0, 50.0, 60.0, 64.0, 72.0, 96.0,
        ] {
            for off in [-0.02, -0.01, 0.0, 0.01, 0.02] {
                let best = mib * (1.0 + off) * 1048576.0;
                let found = likeliest(0.8 * best, best, 1.2 * best, [0.02; 2], 1.0) / 1048576.0;
                assert!((found / mib - 1.0).abs() <= 0.05, "{mib} MiB, measured {off} off: {found}");
            }
        }
    }

    #[test]
    fn what_is_told_stands_and_what_is_not_is_round() {
        // 72 MiB, to a part in a hundred, are not 64, and 50 KiB not 48; from 115 to 130 nothing is known of.
        assert_eq!(likeliest(60.0, 72.0, 80.0, [0.01; 2], 1.0), 72.0);
        assert_eq!(likeliest(40.0, 50.0, 60.0, [0.005; 2], 1.0), 50.0);
        assert_eq!(likeliest(115.0, 116.0, 130.0, [f64::INFINITY; 2], 1.0), 128.0);
        assert_eq!(likeliest(171.0, 172.0, 193.0, [f64::INFINITY; 2], 1.0), 192.0);
        // What may well be less, but hardly more.
        assert_eq!(likeliest(130.0, 139.0, 140.0, [0.035, 0.005], 1.0), 136.0);
        assert_eq!(likeliest(126.0, 135.0, 140.0, [0.035, 0.005], 1.0), 128.0);
        // Whole lines, and nothing between the ends.
        assert_eq!(likeliest(140.0, 158.0, 170.0, [0.02; 2], 32.0), 160.0);
        assert_eq!(likeliest(10.2, 10.3, 10.4, [0.1; 2], 1.0), 10.0);
    }
}
