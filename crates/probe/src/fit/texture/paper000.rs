//! The model of paper 000 fitted as there: ordinary least squares over histograms of strides (section 3.1, step IV), and over logarithms of
//! what lanes together take longer (section 4).

use super::{Sample, mean};
use warpsight_ir::Seconds;
use warpsight_ir::texture::paper000::{BLOCKS, Paper000, Weights, exponent, histogram};

/// Fits it to walks; `lines` are the cache's. `None` where there are too few walks.
pub fn paper000(samples: &[Sample], lines: f64) -> Option<Paper000> {
    let mut sizes: Vec<u32> = samples.iter().map(|sample| sample.texel_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let thread = |sample: &&Sample| sample.is_thread() && sample.seconds > 0.0;
    let weights = sizes.into_iter().filter_map(|texel_bytes| {
        let seen = samples.iter().filter(thread).filter(|sample| sample.texel_bytes == texel_bytes && !sample.held_out);
        let seen: Vec<(Vec<f64>, f64)> = seen.map(|sample| (histogram(&sample.path()), sample.seconds)).collect();
        let enough = seen.len() >= 2 * BLOCKS.len();
        enough.then(|| Weights { texel_bytes, bars: ordinary(&seen).into_iter().map(Seconds).collect() })
    });
    let weights: Vec<Weights> = weights.collect();
    if weights.is_empty() {
        return None;
    }
    let mut paper = Paper000 { weights, lines, divergence: 1.0, ..Paper000::default() };
    // What a pattern takes with several lanes, beside what it takes with one.
    let alone = |sample: &Sample| {
        let same = |other: &&Sample| (other.lanes, other.pattern, other.texel_bytes) == (1, sample.pattern, sample.texel_bytes);
        samples.iter().find(same).map(|other| other.seconds)
    };
    let patterns = || samples.iter().filter_map(|sample| Some((sample, sample.pattern?.1))).filter(|(sample, _)| sample.seconds > 0.0);
    let (mut product, mut square) = (0.0, 0.0);
    for (sample, distance) in patterns().filter(|(sample, _)| !sample.held_out) {
        let Some(alone) = alone(sample).filter(|alone| *alone > 0.0) else { continue };
        let power = exponent(sample.lanes as f64 * f64::from(distance), lines);
        product += power * (sample.seconds / alone).ln();
        square += power * power;
    }
    if square > 0.0 {
        paper.divergence = (product / square).exp();
    }
    let off = |sample: &Sample, distance: Option<u32>| {
        let thread = paper.thread(sample.texel_bytes, &histogram(&sample.path()))?;
        let told = distance.map_or(thread, |distance| paper.warp(thread, sample.lanes as f64, distance.into()));
        Some((told.0 / sample.seconds - 1.0).abs())
    };
    let error = mean(samples.iter().filter(thread).filter(|sample| sample.held_out).filter_map(|sample| off(sample, None)));
    let warp_error = mean(patterns().filter(|(sample, _)| sample.held_out).filter_map(|(sample, distance)| off(sample, Some(distance))));
    (paper.error, paper.warp_error) = (error.unwrap_or(f64::NAN), warp_error);
    Some(paper)
}

/// Ordinary least squares, of whatever sign.
fn ordinary(seen: &[(Vec<f64>, f64)]) -> Vec<f64> {
    let columns = seen.first().map_or(0, |own| own.0.len());
    let rows: Vec<f64> = seen.iter().flat_map(|own| own.0.iter().copied()).collect();
    let targets: Vec<f64> = seen.iter().map(|own| own.1).collect();
    crate::fit::solved(&crate::fit::normal(&rows, &targets, columns), columns + 1, &(0..columns).collect::<Vec<_>>())
}
