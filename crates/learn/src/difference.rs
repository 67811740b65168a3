//! By how much one shader is slower than another.
//!
//! Predictions of two shaders are off for the same reasons so far as the two do the same: a model that takes a sine for too cheap
//! says too little of both. If every kind of operation has an error of its own, the error of a prediction is these errors weighted by
//! what each kind takes of the frame, and the error of the difference is left where the weights differ.

use super::predictor::Prediction;
use serde::Serialize;

/// How far off the logarithm of a ratio may be for shaders that do the same, only more often: a part of it. Rasterisers have costs
/// that grow less than the work, which a model may see or not.
const SCALE: f64 = 0.15;

/// Kinds have less in common than their operations' names say: by so much errors of unlike shaders are larger. From pairs of 1,139 shaders
/// measured on lavapipe, each predicted by a model that had seen neither: with both constants 80 % of near-duplicates' ratios lie
/// within their intervals.
const APART: f64 = 1.5;
/// What is left of the logarithm's error, however little two shaders that are not the same differ.
const FLOOR: f64 = 0.03;

/// How one shader compares with another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The seconds of the second by those of the first.
    pub ratio: f64,
    /// Within which that is as often as a time is within the interval of its prediction.
    pub interval: [f64; 2],
}

/// What a shader is predicted to take, and what for.
pub struct Side<'a> {
    /// The prediction.
    pub prediction: &'a Prediction,
    /// What each kind of operation takes of it, in any unit; a kind's place is the same on both sides.
    pub parts: &'a [f64],
}

/// Splits the change from the first's seconds to the second's among parts, each with what it costs in either by a model whose costs add up,
/// in any unit; as shares of the first's seconds, which sum to the ratio less one.
///
/// Predictions are not what parts add up to: a model corrects the sum for the shader as a whole. A part changes by its cost at the mean of both
/// corrections, and what the corrections differ by is of no part: it comes second.
#[must_use]
pub fn attributed(seconds: [f64; 2], parts: &[[f64; 2]]) -> (Vec<f64>, f64) {
    let whole = [0, 1].map(|side: usize| parts.iter().map(|p| p[side]).sum::<f64>());
    let scale = [0, 1].map(|side: usize| if whole[side] > 0.0 { seconds[side] / whole[side] } else { 0.0 });
    let mean = 0.5 * (scale[0] + scale[1]);
    let changes: Vec<f64> = parts.iter().map(|[first, second]| mean * (second - first) / seconds[0]).collect();
    let rest = (seconds[1] - seconds[0]) / seconds[0] - changes.iter().sum::<f64>();
    (changes, rest)
}

/// The second by the first. `sampled` is the standard error of the ratio's logarithm that comes from executing a part of the frame.
#[must_use]
pub fn difference(first: &Side, second: &Side, sampled: f64) -> Difference {
    let ratio = second.prediction.seconds.0 / first.prediction.seconds.0;
    // Half of an interval's width in logarithms, and the direction of its error among those of all kinds.
    let width = |side: &Side| 0.5 * (side.prediction.interval[1].0 / side.prediction.interval[0].0).ln();
    let length = |side: &Side| side.parts.iter().map(|p| p * p).sum::<f64>().sqrt();
    let (widths, lengths) = ([width(first), width(second)], [length(first), length(second)]);
    let component = |side: &Side, which: usize, at: usize| {
        let part = side.parts.get(at).copied().unwrap_or(0.0);
        if lengths[which] > 0.0 { widths[which] * part / lengths[which] } else { 0.0 }
    };
    let kinds = first.parts.len().max(second.parts.len());
    let model: f64 = if lengths.contains(&0.0) {
        // Nothing is known of what they share.
        if ratio == 1.0 && lengths == [0.0; 2] { 0.0 } else { widths[0].powi(2) + widths[1].powi(2) }
    } else {
        (0..kinds).map(|at| (component(second, 1, at) - component(first, 0, at)).powi(2)).sum()
    };
    let scale = SCALE * ratio.ln();
    let floor = if ratio == 1.0 && first.parts == second.parts { 0.0 } else { FLOOR };
    // An interval of four cases in five has 1.28 standard errors on either side.
    let half = (APART * APART * model + scale * scale + floor * floor + (1.2816 * sampled).powi(2)).sqrt();
    Difference { ratio, interval: [ratio * (-half).exp(), ratio * half.exp()] }
}
