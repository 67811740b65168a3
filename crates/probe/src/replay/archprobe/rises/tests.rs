use super::*;

/// Footprints in steps of 16 bytes with latencies, with noise of a part of these, and outliers by a fifth.
fn curve(seed: u64, most: u64, noise: f64, outliers: f64, latency: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut point = |bytes: f64| {
        // The sum of twelve uniform numbers is nearly normal.
        let normal = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let outlier = if random.f64() < outliers { 1.2 } else { 1.0 };
        (bytes, latency(bytes) * (1.0 + noise * normal) * outlier)
    };
    (1..=most / 16).map(|step| point((16 * step) as f64)).collect()
}

fn ramp(from: f64, until: f64, at: f64) -> f64 {
    ((at - from) / (until - from)).clamp(0.0, 1.0)
}

#[test]
fn flat_curves_have_no_rises() {
    for seed in 0..12 {
        for (noise, outliers) in [(0.0, 0.0), (0.001, 0.0), (0.03, 0.0), (0.1, 0.0), (0.001, 0.02), (0.01, 0.01)] {
            let found = rises(&curve(seed, 1 << 17, noise, outliers, |_| 1e-7));
            assert_eq!(found, vec![], "seed {seed}, noise {noise}, outliers {outliers}");
        }
        // Slow creep, as of pages; and waves of some per cent.
        let creep = curve(seed, 1 << 17, 0.002, 0.0, |bytes| 1e-7 * (1.0 + 0.03 * ramp(90e3, 131e3, bytes)));
        assert_eq!(rises(&creep), vec![], "seed {seed}");
        let waves = curve(seed, 1 << 17, 0.002, 0.0, |bytes| 1e-7 * (1.0 + 0.01 * (bytes.log2() * 9.0).sin()));
        assert_eq!(rises(&waves), vec![], "seed {seed}");
    }
    assert!(rises(&[]).is_empty() && rises(&[(16.0, 1.0), (32.0, f64::NAN), (48.0, 2.0)]).is_empty());
}

#[test]
fn rises_are_found_where_they_begin() {
    for seed in 0..6 {
        for noise in [0.0, 0.003, 0.03] {
            let latency = |bytes: f64| 1e-7 * (1.0 + 0.3 * ramp(3072.0, 3584.0, bytes) + 0.5 * ramp(65536.0, 70000.0, bytes));
            let found = rises(&curve(seed, 1 << 18, noise, 0.0, latency));
            assert_eq!(found.len(), 2, "seed {seed}, noise {noise}: {found:?}");
            for (rise, from) in found.iter().zip([3072.0, 65536.0]) {
                let (least, beyond) = rise.between;
                assert!((rise.from / from - 1.0).abs() < 0.02 + noise, "seed {seed}, noise {noise}: {rise:?}");
                assert!(least <= from && from < beyond, "seed {seed}, noise {noise}: {rise:?}");
            }
            assert!((found[0].before / 1e-7 - 1.0).abs() < 0.02 && (found[0].after / 1.3e-7 - 1.0).abs() < 0.02, "{found:?}");
        }
    }
}

#[test]
fn a_ramp_that_has_not_ended_begins_somewhere() {
    let found = rises(&curve(1, 140_000, 0.005, 0.0, |bytes| 1e-7 * (1.0 + 0.5 * ramp(131_072.0, 150_000.0, bytes))));
    assert_eq!((found.len(), found[0].until), (1, None));
    assert!((found[0].from / 131_072.0 - 1.0).abs() < 0.01, "{found:?}");
}

#[test]
fn the_other_finders_of_changes_see_something_else() {
    // As the Adreno 640's buffers: latency creeps by 2.5 %, then rises over the last few per cent of what was walked.
    let creeping = |bytes: f64| 1e-7 * (1.0 + 0.025 * ramp(95e3, 131_072.0, bytes) + 0.4 * ramp(131_072.0, 137e3, bytes));
    let curve = curve(1, 137_000, 0.001, 0.0, creeping);
    let found = rises(&curve);
    assert!(found.len() == 1 && found[0].between.0 <= 131_072.0 && 131_072.0 <= found[0].between.1, "{found:?}");
    let rows: Vec<(f64, Vec<f64>)> = stretches(&curve).into_iter().map(|(bytes, seconds)| (bytes, vec![seconds])).collect();
    let steps = crate::fit::steps::steps(&rows).changes;
    assert!(steps.iter().all(|change| change.left < 120e3), "steps could take its place: {steps:?}");

    // A walk in order through a cache of 64 KiB misses from there on.
    let walked = curve_of_a_ramp();
    let found = rises(&walked);
    assert!(found.len() == 1 && found[0].between.0 <= 65_536.0 && 65_536.0 <= found[0].between.1, "{found:?}");
    let point = |(bytes, seconds)| crate::fit::levels::Point { bytes, seconds, noise: 0.001 };
    let levels = crate::fit::levels::fit(&stretches(&walked).into_iter().map(point).collect::<Vec<_>>()).expect("levels").caches;
    assert!(levels.iter().all(|level| level.between.0 > 66_000.0), "levels could take its place: {levels:?}");
}

fn curve_of_a_ramp() -> Vec<(f64, f64)> {
    curve(2, 1 << 18, 0.001, 0.0, |bytes| 1e-7 * (1.0 + 0.5 * ramp(65_536.0, 70_000.0, bytes)))
}
