//! What to believe of a driver's event times.

use warpsight_ir::range::gcd;

/// Whether event times look like times.
///
/// `events` holds, per pass, the nanoseconds each launch took by its events; `wall` the nanoseconds of each pass by the host's
/// clock, from before the first enqueue to after the last kernel's end. Launches of a pass run one after the other, so that
/// honest events add up to no more than the pass, and to a visible part of it when the pass is long enough for launch overhead
/// (well under a millisecond per kernel on every driver known) not to explain the rest.
pub(super) fn credible(events: &[Vec<u64>], wall: &[f64]) -> bool {
    let sum = |pass: &[u64]| pass.iter().map(|&ns| ns as f64).sum::<f64>();
    let all_tiny = events.iter().flatten().all(|&ns| ns <= 1);
    // 10 % and 10 µs for two clocks that are not one.
    let longer = events.iter().zip(wall).any(|(pass, &wall)| sum(pass) > 1.1 * wall + 1e4);
    // 1/20 for drivers that time only a part of the kernel. One pass that explains itself is enough: a busy machine may hold up
    // any of them for long.
    let explained = events.iter().zip(wall).any(|(pass, &wall)| wall <= sum(pass) + 1e6 * pass.len() as f64 || sum(pass) >= wall / 20.0);
    !all_tiny && !longer && explained
}

/// The step of a clock in nanoseconds: what the driver claims, or what its times show, where enough of them are seen.
///
/// A clock with 10 ns steps whose unit is 1 ns gives multiples of 10 only.
pub(super) fn quantum(claimed: u64, durations: impl IntoIterator<Item = u64>) -> u64 {
    let mut seen: Vec<u64> = durations.into_iter().filter(|&d| d > 0).collect();
    seen.sort_unstable();
    seen.dedup();
    let common = seen.iter().copied().fold(0, gcd);
    // Eight different durations that share a divisor by chance: 2⁻⁸ for the divisor 2, less for others.
    if seen.len() >= 8 { common.max(claimed) } else { claimed }
}

/// The smallest step of the host's clock, in seconds.
pub(super) fn host_quantum() -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..64 {
        let start = std::time::Instant::now();
        let step = loop {
            let elapsed = start.elapsed().as_secs_f64();
            if elapsed > 0.0 {
                break elapsed;
            }
        };
        best = best.min(step);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn honest_events_are_believed() {
        // One launch of 2 ms in 2.1 ms; three short ones whose launches cost more than they do; a slow pass after a fast one.
        assert!(credible(&[vec![2_000_000]], &[2.1e6]));
        assert!(credible(&[vec![1_500, 2_000, 900]], &[1.2e5]));
        assert!(credible(&[vec![2_000_000], vec![9_000_000]], &[2.1e6, 9.05e6]));
        // The launches of an empty kernel on a driver that needs 213 µs for one.
        assert!(credible(&[vec![2_000; 4]], &[4.0 * 2.13e5]));
        // A machine that was busy with something else during one of the passes.
        assert!(credible(&[vec![2_000], vec![2_000]], &[3.0e7, 3.0e4]));
        // One zero among real times is a fast kernel, not a broken clock.
        assert!(credible(&[vec![0, 50_000]], &[1.0e5]));
    }

    #[test]
    fn dishonest_events_are_not() {
        assert!(!credible(&[vec![0, 0], vec![0, 0]], &[5.0e4, 5.0e4]), "all zero");
        assert!(!credible(&[vec![1, 0], vec![1, 1]], &[5.0e4, 5.0e4]), "all at most 1 ns");
        assert!(!credible(&[vec![100], vec![100]], &[5.0e7, 5.0e7]), "100 ns of a pass of 50 ms");
        assert!(!credible(&[vec![2_000_000], vec![40_000_000]], &[2.1e6, 2.1e6]), "longer than the pass");
        assert!(!credible(&[], &[]), "no event at all");
    }

    #[test]
    fn steps_of_a_coarse_clock_are_seen() {
        assert_eq!(quantum(1, (1..20).map(|i| 10 * i)), 10);
        assert_eq!(quantum(1, [1003, 999, 1001, 1002, 1004, 1008, 1009, 1010]), 1);
        assert_eq!(quantum(1, [5000, 5000, 5000]), 1, "too few to judge");
        assert_eq!(quantum(80, [100, 200]), 80);
        assert!(host_quantum() > 0.0 && host_quantum() < 1e-3);
    }
}
