//! Set-associative caches with least-recently-used replacement, fitted to the mean latencies of walks.
//!
//! A walk visits a cycle of addresses again and again, one dependent load a step. After one cycle an LRU cache is in a steady state, in
//! which each step hits or misses as the [`Shape`] says; the mean latency is then linear in the share of misses. So a shape is judged by
//! how well one straight line, from the latency of a hit to that of a miss, goes through all walks.
//!
//! ```
//! use warpsight_probe::fit::lru::{Walk, candidates, consistent, fit};
//! // 1 KiB of 32-byte lines in 2 sets; hits of 130 ns, misses of 190 ns.
//! let truth = candidates(1024, 32).find(|shape| shape.sets == 2).expect("a candidate");
//! let walk = |stride: u64| {
//!     let addresses: Vec<u64> = (0..65).map(|step| step * stride % 1040).collect();
//!     let seconds = 130e-9 + 60e-9 * warpsight_probe::fit::lru::misses(&truth, &addresses);
//!     Walk { addresses, seconds, sigma: 0.5e-9 }
//! };
//! let walks: Vec<Walk> = (1..65).map(|step| walk(16 * step)).collect();
//! let fitted = fit(&walks, candidates(1024, 32));
//! let best = &consistent(&fitted)[0];
//! assert!(best.shapes.contains(&truth));
//! assert!((best.miss_s - 190e-9).abs() < 1e-12);
//! ```

mod candidates;
mod trace;

pub use candidates::candidates;
use std::collections::BTreeMap;
use trace::Trace;

/// How a cache is organised.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    /// Bytes of a line.
    pub line_bytes: u64,
    /// Sets; any number.
    pub sets: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Per bit of the set's number, lowest first, the address bits whose XOR it is; the line's number modulo the sets where there is none.
    pub hash: Option<Vec<Vec<u32>>>,
}

impl Shape {
    /// Bytes that it holds.
    pub fn capacity_bytes(&self) -> u64 {
        self.line_bytes * u64::from(self.sets) * u64::from(self.ways)
    }
}

/// The share of steps that miss, in the steady state, when a cycle of byte addresses is walked again and again. Exact; 0 for an empty cycle.
pub fn misses(shape: &Shape, addresses: &[u64]) -> f64 {
    share(Trace::new(addresses, shape.line_bytes).misses(shape), addresses.len())
}

fn share(misses: u64, steps: usize) -> f64 {
    misses as f64 / steps.max(1) as f64
}

/// A measured walk.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// The cycle: the byte address of each step.
    pub addresses: Vec<u64>,
    /// Mean latency of a step.
    pub seconds: f64,
    /// Standard error of that mean. Where it is not known, any number that is the same for all walks: errors larger than stated are found
    /// out by [`consistent`].
    pub sigma: f64,
}

/// What walks say of shapes that they cannot tell apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// Shapes that miss equally often in every walk, in the order in which they came; never empty.
    pub shapes: Vec<Shape>,
    /// The share of misses in each walk.
    pub shares: Vec<f64>,
    /// Latency of a hit; equal to `miss_s` where all walks miss equally often.
    pub hit_s: f64,
    /// Latency of a miss.
    pub miss_s: f64,
    /// Standard error of `hit_s`; infinite where the walks do not determine it.
    pub hit_sigma_s: f64,
    /// Standard error of `miss_s`; infinite where the walks do not determine it.
    pub miss_sigma_s: f64,
    /// Root mean square of what the fit misses the walks by, relative to each.
    pub error: f64,
    /// Sum of the squares of what it misses them by, each in standard errors.
    pub chi2: f64,
    /// Walks beyond the two latencies that were fitted to them.
    pub freedom: usize,
}

impl Fitted {
    /// Mean latency of a step where this share of them misses.
    pub fn seconds(&self, share: f64) -> f64 {
        self.hit_s + share * (self.miss_s - self.hit_s)
    }

    /// The walks that it was fitted to, by the share of their steps that miss: seconds of a step with two standard errors on either side, and
    /// what the fit says of each.
    pub fn drawn(&self, walks: &[Walk]) -> (Vec<[f64; 4]>, Vec<[f64; 2]>) {
        let point = |(walk, &share): (&Walk, &f64)| [share, walk.seconds, walk.seconds - 2.0 * walk.sigma, walk.seconds + 2.0 * walk.sigma];
        let mut points: Vec<[f64; 4]> = usable(walks).zip(&self.shares).map(point).collect();
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let model = points.iter().map(|point| [point[0], self.seconds(point[0])]).collect();
        (points, model)
    }

    /// How much worse it is than the best fit to the same walks: −2 ln of the ratio of their likelihoods. Where even the best misses the
    /// walks by more than their stated errors, the errors were larger than stated, by an unknown factor.
    pub fn deviance(&self, best: &Self) -> f64 {
        let freedom = best.freedom as f64;
        if best.chi2 > freedom { freedom * (self.chi2 / best.chi2).ln() } else { self.chi2 - best.chi2 }
    }
}

/// Walks with finite numbers: those that are fitted.
fn usable(walks: &[Walk]) -> impl Iterator<Item = &Walk> {
    walks.iter().filter(|w| w.seconds.is_finite() && w.sigma.is_finite() && w.sigma > 0.0 && !w.addresses.is_empty())
}

/// Fits latencies of hit and miss to the walks for each of the shapes by weighted least squares, with 0 ≤ hit ≤ miss; best first. Walks
/// without finite numbers are left out; without walks nothing is fitted.
pub fn fit(walks: &[Walk], shapes: impl IntoIterator<Item = Shape>) -> Vec<Fitted> {
    let walks: Vec<&Walk> = usable(walks).collect();
    if walks.is_empty() {
        return vec![];
    }
    let mut of_line: BTreeMap<u64, Vec<(usize, Shape)>> = BTreeMap::new();
    for (place, shape) in shapes.into_iter().enumerate() {
        of_line.entry(shape.line_bytes).or_default().push((place, shape));
    }
    // Shapes by their misses: what misses equally is fitted once.
    let mut alike: BTreeMap<Vec<u64>, Vec<(usize, Shape)>> = BTreeMap::new();
    for (line_bytes, shapes) in of_line {
        let mut counts = vec![Vec::with_capacity(walks.len()); shapes.len()];
        for walk in &walks {
            let trace = Trace::new(&walk.addresses, line_bytes);
            for (counts, (_, shape)) in counts.iter_mut().zip(&shapes) {
                counts.push(trace.misses(shape));
            }
        }
        for (counts, shape) in counts.into_iter().zip(shapes) {
            alike.entry(counts).or_default().push(shape);
        }
    }
    let mut fitted: Vec<(usize, Fitted)> = alike
        .into_iter()
        .map(|(counts, mut shapes)| {
            shapes.sort_by_key(|(place, _)| *place);
            let first = shapes.first().map_or(0, |(place, _)| *place);
            let shares = counts.iter().zip(&walks).map(|(&misses, walk)| share(misses, walk.addresses.len())).collect();
            (first, line(&walks, shares, shapes.into_iter().map(|(_, shape)| shape).collect()))
        })
        .collect();
    fitted.sort_by(|(a_place, a), (b_place, b)| a.chi2.total_cmp(&b.chi2).then(a_place.cmp(b_place)));
    fitted.into_iter().map(|(_, fitted)| fitted).collect()
}

/// The straight line through (share of misses, seconds).
fn line(walks: &[&Walk], shares: Vec<f64>, shapes: Vec<Shape>) -> Fitted {
    let points = || walks.iter().zip(&shares).map(|(walk, &share)| (share, walk.seconds, walk.sigma.powi(-2)));
    let total: f64 = points().map(|(_, _, weight)| weight).sum();
    let mean = points().map(|(share, _, weight)| weight * share).sum::<f64>() / total;
    let level = points().map(|(_, seconds, weight)| weight * seconds).sum::<f64>() / total;
    let spread: f64 = points().map(|(share, _, weight)| weight * (share - mean).powi(2)).sum();
    let determined = spread > total * 1e-12;
    let slope = points().map(|(share, seconds, weight)| weight * (share - mean) * (seconds - level)).sum::<f64>() / spread;
    let slope = if determined { slope.max(0.0) } else { 0.0 };
    let (hit_s, slope) = if level >= slope * mean {
        (level - slope * mean, slope)
    } else {
        let squares: f64 = points().map(|(share, _, weight)| weight * share * share).sum();
        (0.0, points().map(|(share, seconds, weight)| weight * share * seconds).sum::<f64>() / squares)
    };
    let missed = |(share, seconds, _): (f64, f64, f64)| seconds - hit_s - slope * share;
    let chi2: f64 = points().map(|point| point.2 * missed(point).powi(2)).sum();
    let error = (points().map(|point| (missed(point) / point.1).powi(2)).sum::<f64>() / walks.len() as f64).sqrt();
    let freedom = walks.len().saturating_sub(2);
    // Errors larger than stated show in chi2; the latencies' errors grow with them.
    let scale = (chi2 / freedom.max(1) as f64).max(1.0).sqrt();
    let sigma = |at: f64| if determined { scale * (1.0 / total + (at - mean).powi(2) / spread).sqrt() } else { f64::INFINITY };
    let (hit_sigma_s, miss_sigma_s) = (sigma(0.0), sigma(1.0));
    Fitted { shapes, shares, hit_s, miss_s: hit_s + slope, hit_sigma_s, miss_sigma_s, error, chi2, freedom }
}

/// How often the truth may be lost from [`consistent`] by chance.
const LOST: f64 = 0.01;

/// Those of what [`fit`] returned that the walks cannot tell from the best; the best first.
///
/// A likelihood-ratio test between simple hypotheses. Were one of the N fits the truth, another one would have a likelihood k times its
/// own with probability at most 1/k, and one of all N with probability N/k (Markov's inequality); the two latencies fitted along take
/// what a χ² of two degrees of freedom takes. So the [deviance](Fitted::deviance) of the truth is small.
pub fn consistent(fitted: &[Fitted]) -> Vec<&Fitted> {
    consistent_among(fitted, |fit| fit)
}

/// The same among whatever has a fit: of several hypotheses of where addresses are, say.
pub fn consistent_among<T>(all: &[T], of: impl Fn(&T) -> &Fitted) -> Vec<&T> {
    let Some(best) = all.iter().min_by(|a, b| of(a).chi2.total_cmp(&of(b).chi2)) else { return vec![] };
    let limit = 2.0 * (all.len() as f64 / LOST).ln() + 2.0 * (1.0 / LOST).ln();
    let mut kept: Vec<&T> = all.iter().filter(|fit| of(fit).deviance(of(best)) <= limit).collect();
    kept.sort_by(|a, b| of(a).chi2.total_cmp(&of(b).chi2));
    kept
}

#[cfg(test)]
mod tests;
