//! How far predictions are off.

use serde::{Deserialize, Serialize};

/// A measured time and what was predicted for it, in seconds.
pub type Pair = (f64, f64);

/// The least that logarithms are taken of: linear models may predict less than nothing.
const LEAST: f64 = 1e-9;

/// Errors of predictions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// How many shaders.
    pub shaders: usize,
    /// The mean of |predicted - measured| / measured.
    pub mape: f64,
    /// The median of the same.
    pub median_ape: f64,
    /// The factor by which predictions are off on geometric average, at least 1: `exp(mean |ln(predicted / measured)|)`. Predictions
    /// below a nanosecond count as one.
    pub geometric: f64,
    /// Spearman's rank correlation; none where one side is constant.
    pub spearman: Option<f64>,
    /// Kendall's rank correlation (τ-b); none where one side is constant.
    pub kendall: Option<f64>,
    /// Predictions of nothing or less.
    pub not_positive: usize,
}

impl Scores {
    /// Of pairs; none where there are none.
    #[must_use]
    pub fn of(pairs: &[Pair]) -> Option<Self> {
        if pairs.is_empty() {
            return None;
        }
        let mut errors: Vec<f64> = pairs.iter().map(|(t, p)| (p - t).abs() / t).collect();
        let logs: Vec<f64> = pairs.iter().map(|(t, p)| (p.max(LEAST) / t).ln().abs()).collect();
        let mape = mean(&errors);
        Some(Self {
            shaders: pairs.len(),
            mape,
            median_ape: median(&mut errors),
            geometric: mean(&logs).exp(),
            spearman: spearman(pairs),
            kendall: kendall(pairs),
            not_positive: pairs.iter().filter(|(_, p)| *p <= 0.0).count(),
        })
    }

    /// The mean of each number over several; rank correlations where all have one. None of nothing.
    #[must_use]
    pub fn macro_average(all: &[Self]) -> Option<Self> {
        if all.is_empty() {
            return None;
        }
        let mean_of = |of: fn(&Self) -> f64| mean(&all.iter().map(of).collect::<Vec<_>>());
        let ranks = |of: fn(&Self) -> Option<f64>| all.iter().map(of).collect::<Option<Vec<f64>>>().map(|all| mean(&all));
        Some(Self {
            shaders: all.iter().map(|s| s.shaders).sum(),
            mape: mean_of(|s| s.mape),
            median_ape: mean_of(|s| s.median_ape),
            geometric: mean_of(|s| s.geometric),
            spearman: ranks(|s| s.spearman),
            kendall: ranks(|s| s.kendall),
            not_positive: all.iter().map(|s| s.not_positive).sum(),
        })
    }
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let n = numbers.len();
    0.5 * (numbers[(n - 1) / 2] + numbers[n / 2])
}

/// Ranks from 1; equal numbers share the mean of theirs.
fn ranks(numbers: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|a, b| numbers[*a].total_cmp(&numbers[*b]));
    let mut out = vec![0.0; numbers.len()];
    for equal in order.chunk_by(|a, b| numbers[*a] == numbers[*b]) {
        // The chunk is a part of `order`, which tells where it begins.
        let before = order.partition_point(|i| numbers[*i] < numbers[equal[0]]);
        equal.iter().for_each(|i| out[*i] = before as f64 + 0.5 * (equal.len() as f64 + 1.0));
    }
    out
}

fn spearman(pairs: &[Pair]) -> Option<f64> {
    let (measured, predicted): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (a, b) = (ranks(&measured), ranks(&predicted));
    let middle = 0.5 * (pairs.len() as f64 + 1.0);
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle)).sum::<f64>();
    let scale = (product(&a, &a) * product(&b, &b)).sqrt();
    (scale > 0.0).then(|| product(&a, &b) / scale)
}

fn kendall(pairs: &[Pair]) -> Option<f64> {
    let (mut order, mut measured, mut predicted) = (0i64, 0i64, 0i64);
    for (i, a) in pairs.iter().enumerate() {
        for b in &pairs[..i] {
            let sign = |x: f64, y: f64| i64::from(x > y) - i64::from(x < y);
            let (t, p) = (sign(a.0, b.0), sign(a.1, b.1));
            order += t * p;
            measured += t.abs();
            predicted += p.abs();
        }
    }
    let scale = (measured as f64 * predicted as f64).sqrt();
    (scale > 0.0).then(|| order as f64 / scale)
}

/// The paper's heat map (figure 7): how many shaders of a measured time (column) were predicted a time (row, from the shortest), in
/// equal steps of the logarithm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeatMap {
    /// The shortest and the longest time of both axes, in seconds.
    pub range: (f64, f64),
    /// Rows of counts.
    pub counts: Vec<Vec<u32>>,
}

impl HeatMap {
    /// Bins along each axis.
    pub const BINS: usize = 50;

    /// Of pairs within a range of seconds; what lies outside counts at the border. None where the range is empty.
    #[must_use]
    pub fn of(pairs: &[Pair], range: (f64, f64)) -> Option<Self> {
        let (low, high) = (range.0.max(LEAST).ln(), range.1.ln());
        if high.partial_cmp(&low) != Some(std::cmp::Ordering::Greater) {
            return None;
        }
        let bin = |seconds: f64| {
            let share = (seconds.max(LEAST).ln() - low) / (high - low);
            ((share * Self::BINS as f64) as usize).min(Self::BINS - 1)
        };
        let mut counts = vec![vec![0; Self::BINS]; Self::BINS];
        pairs.iter().for_each(|(t, p)| counts[bin(*p)][bin(*t)] += 1);
        Some(Self { range, counts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_by_hand() {
        // Errors of 1/2, 0, 1 and 1/4; logarithms of 1/2, 1, 2 and 3/4.
        let s = Scores::of(&[(2.0, 1.0), (3.0, 3.0), (1.0, 2.0), (8.0, 6.0)]).unwrap();
        assert_eq!(s.shaders, 4);
        assert!((s.mape - 0.4375).abs() < 1e-12);
        assert!((s.median_ape - 0.375).abs() < 1e-12);
        // The fourth root of 2 · 1 · 2 · 4/3.
        assert!((s.geometric - (16.0f64 / 3.0).powf(0.25)).abs() < 1e-12);
        // Ranks 2 3 1 4 and 1 3 2 4: 1 - 6 (1 + 0 + 1 + 0) / (4 · 15).
        assert!((s.spearman.unwrap() - 0.8).abs() < 1e-12);
        // Of six pairs one is in the other order.
        assert!((s.kendall.unwrap() - 4.0 / 6.0).abs() < 1e-12);
        assert_eq!(s.not_positive, 0);
    }

    #[test]
    fn ties_share_ranks() {
        assert_eq!(ranks(&[5.0, 1.0, 5.0, 7.0]), [2.5, 1.0, 2.5, 4.0]);
        // Ranks 1 2 3 and 1.5 1.5 3: covariance 1.5, variances 2 and 1.5.
        let pairs = [(1.0, 4.0), (2.0, 4.0), (3.0, 9.0)];
        assert!((spearman(&pairs).unwrap() - 1.5 / 3f64.sqrt()).abs() < 1e-12);
        // Two pairs in order, one tied on one side: 2 / √(3 · 2).
        assert!((kendall(&pairs).unwrap() - 2.0 / 6f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn what_has_no_order_has_no_correlation() {
        let s = Scores::of(&[(1.0, 2.0), (3.0, 2.0)]).unwrap();
        assert_eq!((s.spearman, s.kendall), (None, None));
        assert_eq!(Scores::of(&[]), None);
        assert_eq!(Scores::macro_average(&[]), None);
    }

    #[test]
    fn less_than_nothing_is_a_large_error_and_said() {
        let s = Scores::of(&[(1e-3, -1e-3), (1e-3, 1e-3)]).unwrap();
        assert_eq!(s.not_positive, 1);
        assert!((s.mape - 1.0).abs() < 1e-12);
        assert!((s.geometric - 1e3).abs() < 1e-6, "half of ln 1e6");
    }

    #[test]
    fn averages_weigh_sources_alike() {
        let one = Scores::of(&[(1.0, 1.5), (2.0, 3.0)]).unwrap();
        let other = Scores::of(&[(1.0, 1.0); 8]).unwrap();
        let both = Scores::macro_average(&[one, other]).unwrap();
        assert_eq!((both.shaders, both.spearman), (10, None));
        assert!((both.mape - 0.25).abs() < 1e-12);
    }

    #[test]
    fn a_heat_map_has_the_exact_on_its_diagonal() {
        let map = HeatMap::of(&[(1e-3, 1e-3), (1.0, 1e-3), (1e-3, 5.0), (0.5, 0.5)], (1e-3, 1.0)).unwrap();
        assert_eq!(map.counts[0][0], 1);
        assert_eq!(map.counts[0][49], 1, "measured to the right");
        assert_eq!(map.counts[49][0], 1, "beyond the range at its border");
        // ln(500) / ln(1000) of 50.
        assert_eq!(map.counts[44][44], 1);
        assert_eq!(map.counts.iter().flatten().sum::<u32>(), 4);
        assert_eq!(HeatMap::of(&[], (1.0, 1.0)), None);
    }
}
