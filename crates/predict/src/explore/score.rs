//! How well a model ranks and picks what was measured.

/// How well predicted seconds rank measured ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// How many.
    pub rows: usize,
    /// Kendall's τ-b: 1 where all pairs are in the measured order.
    pub tau: f64,
    /// What the one predicted to be the fastest takes, over the best measured. Of equals, the slowest.
    pub pick: f64,
    /// The best of the ten predicted to be the fastest, over the best measured.
    pub best_of_ten: f64,
}

impl Score {
    /// Of pairs (predicted, measured), none of them NaN; what has no prediction is infinite.
    pub fn of(pairs: &[(f64, f64)]) -> Self {
        let measured = |i: &usize| pairs[*i].1;
        let best = pairs.iter().map(|pair| pair.1).fold(f64::INFINITY, f64::min);
        let order = ranked(pairs);
        let ten = order.iter().take(10).map(measured).fold(f64::INFINITY, f64::min);
        let pick = order.first().map_or(f64::INFINITY, measured);
        Self { rows: pairs.len(), tau: tau(pairs), pick: pick / best, best_of_ten: ten / best }
    }
}

/// Numbers of the pairs (predicted, measured), those that are predicted to be the fastest first; of equals, the slowest first, to the
/// model's disadvantage.
pub fn ranked(pairs: &[(f64, f64)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_by(|&a, &b| pairs[a].0.total_cmp(&pairs[b].0).then(pairs[b].1.total_cmp(&pairs[a].1)));
    order
}

/// Kendall's τ-b of pairs, in n log n (W. R. Knight, "A Computer Method for Calculating Kendall's Tau with Ungrouped Data", 1966). NaN where
/// one side is the same everywhere.
pub fn tau(pairs: &[(f64, f64)]) -> f64 {
    let mut order = pairs.to_vec();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let all = twos(order.len());
    let equal_first = ties(order.iter().map(|pair| pair.0));
    let both = order.chunk_by(|a, b| a == b).map(|run| twos(run.len())).sum::<f64>();
    let mut second: Vec<f64> = order.iter().map(|pair| pair.1).collect();
    let swaps = exchanges(&mut second);
    let equal_second = ties(second.into_iter());
    // Concordant ones without discordant ones: all that are tied nowhere, without twice the discordant ones.
    (all - equal_first - equal_second + both - 2.0 * swaps) / ((all - equal_first) * (all - equal_second)).sqrt()
}

/// Pairs among so many.
fn twos(n: usize) -> f64 {
    n as f64 * (n as f64 - 1.0) / 2.0
}

/// Pairs of equals among ascending values.
fn ties(ascending: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = ascending.collect();
    values.chunk_by(|a, b| a == b).map(|run| twos(run.len())).sum()
}

/// Sorts, and counts the pairs that were in descending order.
fn exchanges(values: &mut [f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let (left, right) = values.split_at_mut(values.len() / 2);
    let mut count = exchanges(left) + exchanges(right);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut i, mut j) = (0, 0);
    while i < left.len() || j < right.len() {
        if j == right.len() || (i < left.len() && left[i] <= right[j]) {
            merged.push(left[i]);
            i += 1;
        } else {
            merged.push(right[j]);
            count += (left.len() - i) as f64;
            j += 1;
        }
    }
    values.copy_from_slice(&merged);
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By its definition.
    fn defined(pairs: &[(f64, f64)]) -> f64 {
        let (mut sum, mut x, mut y) = (0.0, 0.0, 0.0);
        for (i, a) in pairs.iter().enumerate() {
            for b in &pairs[..i] {
                let order = |a: f64, b: f64| a.partial_cmp(&b).map_or(0.0, |order| f64::from(order as i8));
                let (p, q) = (order(a.0, b.0), order(a.1, b.1));
                (sum, x, y) = (sum + p * q, x + p * p, y + q * q);
            }
        }
        sum / f64::sqrt(x * y)
    }

    #[test]
    fn tau_is_what_it_is_defined_as() {
        let mut rng = fastrand::Rng::with_seed(3);
        for case in 0..300 {
            let (n, values) = (rng.usize(2..60), rng.u32(2..40));
            let mut draw = || if rng.u8(0..20) == 0 { f64::INFINITY } else { f64::from(rng.u32(0..values)) };
            let pairs: Vec<(f64, f64)> = (0..n).map(|_| (draw(), draw())).collect();
            let (own, other) = (tau(&pairs), defined(&pairs));
            assert!((own - other).abs() < 1e-12 || own.is_nan() && other.is_nan(), "case {case}: {own} {other}");
        }
    }

    #[test]
    fn picks_are_the_worst_of_equals_and_ten_the_best_of_ten() {
        let pairs: Vec<(f64, f64)> = (0..12).map(|i| (f64::from(i / 2), f64::from(12 - i))).collect();
        let score = Score::of(&pairs);
        assert_eq!((score.rows, score.pick, score.best_of_ten), (12, 12.0, 3.0));
        assert!(score.tau < -0.9);
        assert_eq!(Score::of(&[(1.0, 2.0), (f64::INFINITY, 1.0)]).pick, 2.0);
    }
}
