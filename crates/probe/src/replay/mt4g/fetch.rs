//! How many bytes a miss brings: of first touches at a stride s, a share of s over that misses, until each does.

use crate::fit::steps::quantile;
use warpsight_ir::profile::{Fact, Source};

/// How much slower than a hit, at least, the next memory answers.
pub const SLOWER: f64 = 1.25;
/// Share of loads, on average, that a granularity may leave unexplained.
const UNEXPLAINED: f64 = 0.1;
/// How much better than any other power of two the best explains them.
const BETTER: f64 = 1.5;

/// What a file of strides shows.
pub struct Fetch {
    pub bytes: Fact<f64>,
    /// Share of misses against stride.
    pub shares: Vec<(f64, f64)>,
}

/// The bytes that a miss brings: a power of two, as addresses are split by bits.
pub fn granularity(rows: &[(f64, Vec<f64>)]) -> Fetch {
    // The first load of a chase waits for more than its memory: for a translation.
    let rows: Vec<(f64, &[f64])> = rows.iter().filter(|(_, loads)| loads.len() > 1).map(|(stride, loads)| (*stride, &loads[1..])).collect();
    let Some((least, loads)) = rows.first() else {
        return Fetch { bytes: Fact::unknown("the recording has no stride with more than one load"), shares: vec![] };
    };
    let mut hits = loads.to_vec();
    hits.sort_by(f64::total_cmp);
    // Most loads at the smallest stride touch what the one before them brought; where not, none is slower than them.
    let slow = SLOWER * quantile(&hits, 0.5);
    let share = |loads: &[f64]| loads.iter().filter(|load| **load > slow).count() as f64 / loads.len() as f64;
    let shares: Vec<(f64, f64)> = rows.iter().map(|(stride, loads)| (*stride, share(loads))).collect();
    let bytes = bytes(&shares, *least).unwrap_or_else(Fact::unknown);
    Fetch { bytes, shares }
}

/// The share of misses that a granularity explains.
pub fn expected(stride: f64, bytes: f64) -> f64 {
    (stride / bytes).min(1.0)
}

/// The fact, or why there is none.
fn bytes(shares: &[(f64, f64)], least: f64) -> Result<Fact<f64>, String> {
    let most = shares.last().map_or(least, |(stride, _)| *stride);
    if shares.iter().all(|(_, share)| *share < 0.5) {
        return Err(format!("loads at strides up to {most} bytes are as fast as at {least}: every one hits, or every one misses"));
    }
    let powers = (0..).map(|bit| 2f64.powi(bit)).skip_while(|bytes| *bytes <= least).take_while(|bytes| *bytes <= most);
    let mut tried: Vec<(f64, f64)> = powers.map(|bytes| (misfit(shares, bytes), bytes)).collect();
    tried.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some(&(best, bytes)) = tried.first() else { return Err(format!("strides from {least} to {most} bytes span no power of two")) };
    let next = tried.get(1).map_or(f64::INFINITY, |(misfit, _)| *misfit);
    if best > UNEXPLAINED || next < BETTER * best {
        return Err(format!("no power of two explains which loads miss: {bytes} bytes leave {:.0} % unexplained", 100.0 * best));
    }
    // Of all strides tried, those that explain nearly as much.
    let near = shares.iter().map(|(stride, _)| *stride).filter(|stride| misfit(shares, *stride) <= BETTER * best);
    let (lo, hi) = near.fold((bytes, bytes), |(lo, hi), stride| (stride.min(lo), stride.max(hi)));
    let cite =
        format!("MT4G's first touches at strides from {least} to {most} bytes: stride / {bytes} of them miss, to {:.1} %", 100.0 * best);
    Ok(Fact::between(lo, bytes, hi, Source::Measured, cite))
}

/// Share of misses that a granularity does not explain, averaged over the strides at which it shows.
fn misfit(shares: &[(f64, f64)], bytes: f64) -> f64 {
    let seen: Vec<f64> = shares
        .iter()
        .filter(|(stride, _)| *stride <= 2.0 * bytes)
        .map(|(stride, share)| (share - expected(*stride, bytes)).abs())
        .collect();
    seen.iter().sum::<f64>() / seen.len() as f64
}
