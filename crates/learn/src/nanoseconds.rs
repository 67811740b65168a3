//! Durations as decimal text in nanoseconds, exact in both directions.
//!
//! A time in seconds multiplied by 10⁹ and divided again may come back one bit off. Decimal text does not: writing moves the point
//! nine digits to the right, reading moves it back, and the shortest decimal form of a float reads as that float.

use warpsight_ir::Seconds;

/// A finite duration as a JSON number of nanoseconds.
pub(crate) fn write(time: Seconds) -> String {
    let seconds = format!("{:e}", time.0);
    // `{:e}` of a finite float always has an exponent, which is a small integer.
    let Some((digits, exponent)) = seconds.split_once('e') else { return seconds };
    let shifted = format!("{digits}e{}", exponent.parse::<i32>().unwrap_or(0) + 9);
    // Without an exponent it is easier to read, where that loses nothing.
    match shifted.parse::<f64>() {
        Ok(ns) if read(&ns.to_string()) == Some(time) => ns.to_string(),
        _ => shifted,
    }
}

/// The duration that [`write`] wrote; `None` for other text.
pub(crate) fn read(text: &str) -> Option<Seconds> {
    let text = text.trim();
    let seconds = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => format!("{digits}e{}", exponent.parse::<i32>().ok()?.checked_sub(9)?),
        None => format!("{text}e-9"),
    };
    seconds.parse().ok().filter(|s: &f64| s.is_finite()).map(Seconds)
}

/// Durations as a JSON array of nanoseconds.
pub(crate) fn write_all(times: &[Seconds]) -> String {
    format!("[{}]", times.iter().map(|t| write(*t)).collect::<Vec<_>>().join(","))
}

/// The durations that [`write_all`] wrote; `None` for other text.
pub(crate) fn read_all(text: &str) -> Option<Vec<Seconds>> {
    let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    if inner.trim().is_empty() { Some(Vec::new()) } else { inner.split(',').map(read).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well() {
        assert_eq!(write(Seconds(1.2345e-6)), "1234.5");
        assert_eq!(write(Seconds(1e-9)), "1");
        assert_eq!(write(Seconds(0.0)), "0");
        assert_eq!(write_all(&[Seconds(2.5e-6), Seconds(3.0)]), "[2500,3000000000]");
        assert_eq!(read_all("[2500, 1e3]"), Some(vec![Seconds(2.5e-6), Seconds(1e-6)]));
        assert_eq!(read_all("[]"), Some(Vec::new()));
        for text in ["", "2500", "[1,]", "[x]", "[NaN]", "[1e999]", "[1e99999999999]"] {
            assert_eq!(read_all(text), None, "{text}");
        }
    }

    /// The property the naive product lacks: about one time in ten would come back changed.
    #[test]
    fn every_time_comes_back_bit_for_bit() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut naive_is_wrong = 0;
        for case in 0..200_000 {
            let time = match case % 3 {
                0 => random.f64() * 10f64.powi(random.i32(-12..4)),
                1 => f64::from(random.u32(..)) * 1e-9,
                _ => f64::from_bits(random.u64(..0x7ff0_0000_0000_0000)),
            };
            let text = write(Seconds(time));
            let back = read(&text).unwrap_or_else(|| panic!("{time:e} became {text}"));
            assert_eq!(back.0.to_bits(), time.to_bits(), "{time:e} became {text}");
            assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok() || time > 1e290, "{text} is no JSON number");
            naive_is_wrong += u32::from((time * 1e9) / 1e9 != time);
        }
        assert!(naive_is_wrong > 1000, "the naive product would do: {naive_is_wrong}");
    }
}
