//! Dates.

/// Seconds since 1970 as RFC 3339 says it, in UTC: `2026-11-21T08:23:32Z`.
pub fn rfc3339(unix: u64) -> String {
    let (days, second) = (unix / 86400, unix % 86400);
    // Years that begin in March end with the leap day; 719468 days lie between 0000-03-01 and 1970-01-01.
    let day = days + 719_468;
    let era = day / 146_097;
    let of_era = day % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march = (5 * of_year + 2) / 153;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = year_of_era + 400 * era + u64::from(month <= 2);
    let date = of_year - (153 * march + 2) / 5 + 1;
    format!("{year:04}-{month:02}-{date:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn dates_agree_with_the_calendar() {
        // From `date -u -d @N --rfc-3339=seconds`.
        for (unix, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(unix), date);
        }
    }
}
