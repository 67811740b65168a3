//! What several tests share.
#![allow(dead_code)]

pub mod cases;
pub mod node;

/// Numbers in [−1, 1), the same as `draw` of `fixtures/make.py`.
pub fn draw(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f64 / f64::from(1 << 23) - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// The largest difference relative to the largest magnitude expected.
pub fn relative(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let scale = expected.iter().fold(1e-30f64, |m, v| m.max(v.abs()));
    let worst = found.iter().zip(expected).map(|(f, e)| (f - e).abs()).fold(0.0, f64::max);
    assert!(found.iter().all(|v| v.is_finite()), "not finite: {found:?}");
    worst / scale
}
