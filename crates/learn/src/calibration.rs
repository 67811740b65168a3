//! A model of one device fitted to another by a few measurements there.
//!
//! Between two devices times differ by a factor that depends on little: how long a frame takes, and how much of it goes into textures
//! and transcendental functions. A [`Head`] is linear in these, in logarithms, and drawn to the plain factor as far as that predicts
//! shaders better that were left out.

use super::models::algebra::Normal;
use super::models::{INTERVAL, Row};
use super::predictor::{Device, Outside, Prediction, Predictor, PredictorError};
use serde::{Deserialize, Serialize};
use warpsight_ir::Seconds;

/// How files of this version begin.
pub const FORMAT: &str = "warpsight-shader-head/1";

/// The fewest shaders that a head is fitted to.
pub const LEAST: usize = 8;

/// How strongly coefficients are drawn to 0, in units of one shader's information; the first leaves the factor alone.
const RIDGES: [f64; 7] = [1e9, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1];

/// What a head looks at.
const INPUTS: usize = 3;

/// A shader that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shot {
    /// Its name.
    pub name: String,
    /// What a frame took.
    pub measured: Seconds,
    /// What the head says that was fitted to all others.
    pub left_out: Seconds,
}

/// What a device adds to a model of another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    format: String,
    /// The device that was measured.
    pub device: Device,
    /// The id of the model that it belongs to.
    pub model: String,
    /// The logarithm of the factor where all inputs are at their centre.
    factor: f64,
    centre: [f64; INPUTS],
    slopes: [f64; INPUTS],
    /// Logarithms of how far times are off, either way, for [`INTERVAL`] of shaders that were left out.
    spread: f64,
    /// The shortest and longest of the model's seconds that it was fitted to.
    range: [f64; 2],
    /// What it was fitted to.
    pub shots: Vec<Shot>,
}

/// Why there is no head.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeadError {
    /// Too few to learn from.
    #[error("{found} shaders were measured; a head needs {LEAST}")]
    Few {
        /// How many there are.
        found: usize,
    },
    /// A time that is none.
    #[error("{name} is said to take {seconds} s")]
    Time {
        /// The shader.
        name: String,
        /// What it is said to take.
        seconds: f64,
    },
    /// Another version.
    #[error("its format is `{found}`; `{FORMAT}` can be read")]
    Format {
        /// What it says.
        found: String,
    },
    /// Nothing that was fitted.
    #[error("it is no calibration: {0}")]
    Json(#[from] serde_json::Error),
    /// Numbers that are none.
    #[error("its {0} cannot be")]
    Number(&'static str),
    /// The model that it is fitted to has no text.
    #[error(transparent)]
    Predictor(#[from] PredictorError),
    /// It belongs to another model.
    #[error("it was fitted to the model {found}; this one is {wants}")]
    Model {
        /// The model that it belongs to.
        found: String,
        /// The one at hand.
        wants: String,
    },
}

impl Head {
    /// Fits a head to shaders that were measured: name, row, seconds.
    ///
    /// # Errors
    /// [`HeadError::Few`], [`HeadError::Time`].
    pub fn fit(device: Device, predictor: &Predictor, measured: &[(String, Row, Seconds)]) -> Result<Self, HeadError> {
        if measured.len() < LEAST {
            return Err(HeadError::Few { found: measured.len() });
        }
        if let Some((name, _, Seconds(seconds))) = measured.iter().find(|(_, _, s)| !(s.0.is_finite() && s.0 > 0.0)) {
            return Err(HeadError::Time { name: name.clone(), seconds: *seconds });
        }
        let said: Vec<f64> = measured.iter().map(|(_, row, _)| predictor.predict(row).seconds.0).collect();
        let points: Vec<Point> = measured
            .iter()
            .zip(&said)
            .map(|((_, row, seconds), said)| Point { inputs: inputs(predictor, row, *said), target: (seconds.0 / said).ln() })
            .collect();
        // How far each is off where it was left out, for the ridge for which that is the least.
        let left_out = |ridge: f64| -> Vec<f64> {
            (0..points.len())
                .map(|held| {
                    let others: Vec<&Point> = points.iter().enumerate().filter(|(i, _)| *i != held).map(|(_, p)| p).collect();
                    points[held].target - Line::fit(&others, ridge).at(&points[held].inputs)
                })
                .collect()
        };
        let off = |errors: &[f64]| errors.iter().map(|e| e.abs()).sum::<f64>();
        let mut best = (RIDGES[0], left_out(RIDGES[0]));
        for ridge in &RIDGES[1..] {
            let errors = left_out(*ridge);
            if off(&errors) < off(&best.1) {
                best = (*ridge, errors);
            }
        }
        let (ridge, errors) = best;
        let line = Line::fit(&points.iter().collect::<Vec<_>>(), ridge);
        let shots = measured.iter().zip(&errors).map(|((name, _, measured), error)| Shot {
            name: name.clone(),
            measured: *measured,
            left_out: Seconds(measured.0 * (-error).exp()),
        });
        let shots = shots.collect();
        let low = said.iter().copied().fold(f64::INFINITY, f64::min);
        let high = said.iter().copied().fold(0.0, f64::max);
        Ok(Self {
            format: FORMAT.to_owned(),
            device,
            model: predictor.id()?,
            factor: line.mean,
            centre: line.centre,
            slopes: line.slopes,
            spread: quantile(errors.iter().map(|e| e.abs()).collect(), INTERVAL),
            range: [low, high],
            shots,
        })
    }

    /// Reads a file's text, for this model.
    ///
    /// # Errors
    /// See [`HeadError`].
    pub fn read(text: &str, predictor: &Predictor) -> Result<Self, HeadError> {
        #[derive(Deserialize)]
        struct First {
            format: String,
        }
        let first: First = serde_json::from_str(text)?;
        if first.format != FORMAT {
            return Err(HeadError::Format { found: first.format });
        }
        let head: Self = serde_json::from_str(text)?;
        let wants = predictor.id()?;
        if head.model != wants {
            return Err(HeadError::Model { found: head.model, wants });
        }
        if !(head.spread.is_finite() && head.spread >= 0.0) {
            return Err(HeadError::Number("spread"));
        }
        Ok(head)
    }

    /// A file's text.
    ///
    /// # Errors
    /// A number that JSON cannot hold.
    pub fn text(&self) -> Result<String, HeadError> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// What a frame takes on this device.
    #[must_use]
    pub fn predict(&self, predictor: &Predictor, row: &Row) -> Prediction {
        let base = predictor.predict(row);
        let line = Line { mean: self.factor, centre: self.centre, slopes: self.slopes };
        let seconds = base.seconds.0 * line.at(&inputs(predictor, row, base.seconds.0)).exp();
        let interval = [seconds * (-self.spread).exp(), seconds * self.spread.exp()].map(Seconds);
        let mut extrapolating = base.extrapolating;
        let [low, high] = self.range;
        if !(low..=high).contains(&base.seconds.0) {
            let what = "seconds on the model's device".to_owned();
            extrapolating.insert(0, Outside { what, value: base.seconds.0, trained: Some(self.range) });
        }
        Prediction { seconds: Seconds(seconds), interval, extrapolating }
    }

    /// The mean relative error of shaders that were left out.
    #[must_use]
    pub fn error(&self) -> f64 {
        let error = |shot: &Shot| (shot.left_out.0 / shot.measured.0 - 1.0).abs();
        self.shots.iter().map(error).sum::<f64>() / self.shots.len().max(1) as f64
    }

    /// By how much the interval's ends differ from the prediction, as a factor.
    #[must_use]
    pub fn spread(&self) -> f64 {
        self.spread.exp()
    }
}

struct Point {
    inputs: [f64; INPUTS],
    target: f64,
}

/// What a head looks at: how long the frame takes on the model's device, and the parts of its additive base that are textures and
/// functions of the extended instruction set.
fn inputs(predictor: &Predictor, row: &Row, said: f64) -> [f64; INPUTS] {
    let parts = predictor.parts(row);
    let whole: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
    let share = |family: &str| {
        let sum: f64 = parts.iter().filter(|(name, _)| name.starts_with(family)).map(|(_, seconds)| seconds).sum();
        if whole > 0.0 { sum / whole } else { 0.0 }
    };
    [said.max(1e-9).ln(), share("texture."), share("ext.")]
}

/// A linear function of inputs around their centre.
struct Line {
    mean: f64,
    centre: [f64; INPUTS],
    slopes: [f64; INPUTS],
}

impl Line {
    /// Least squares, the slopes of inputs of deviation one being drawn to 0.
    fn fit(points: &[&Point], ridge: f64) -> Self {
        let n = points.len() as f64;
        let mean = |of: &dyn Fn(&Point) -> f64| points.iter().map(|p| of(p)).sum::<f64>() / n;
        let centre: [f64; INPUTS] = std::array::from_fn(|i| mean(&|p: &Point| p.inputs[i]));
        let deviation: [f64; INPUTS] = std::array::from_fn(|i| mean(&|p: &Point| (p.inputs[i] - centre[i]).powi(2)).sqrt());
        // The mean of the middle half: a few shaders that a device takes quite differently move no other's factor.
        let mut targets: Vec<f64> = points.iter().map(|p| p.target).collect();
        targets.sort_by(f64::total_cmp);
        let half = &targets[targets.len() / 4..targets.len() - targets.len() / 4];
        let middle = half.iter().sum::<f64>() / half.len() as f64;
        let rows: Vec<(Vec<f64>, f64)> = points
            .iter()
            .map(|p| {
                // An input that is the same everywhere tells nothing.
                let scaled = (0..INPUTS).map(|i| if deviation[i] > 1e-9 { (p.inputs[i] - centre[i]) / deviation[i] } else { 0.0 });
                (scaled.collect(), p.target - middle)
            })
            .collect();
        // The equations are of columns of length one, these are of length √n: the ridge is a number of shaders.
        let normal = Normal::new(INPUTS, rows.iter().map(|(row, target)| (&row[..], *target, 1.0))).ridge(ridge / n);
        let found = normal.solve();
        let slopes = std::array::from_fn(|i| if deviation[i] > 1e-9 { found[i] / deviation[i] } else { 0.0 });
        Self { mean: middle, centre, slopes }
    }

    fn at(&self, inputs: &[f64; INPUTS]) -> f64 {
        self.mean + (0..INPUTS).map(|i| self.slopes[i] * (inputs[i] - self.centre[i])).sum::<f64>()
    }
}

/// Which rows to measure so that a head sees all there is: the one nearest the middle, then always the one farthest from all that
/// were chosen (maximin distance: Johnson, Moore and Ylvisaker, Journal of Statistical Planning and Inference 26, 1990), in the
/// inputs of a head in units of their deviation. Fewer where there are fewer.
#[must_use]
pub fn choose(predictor: &Predictor, rows: &[&Row], count: usize) -> Vec<usize> {
    let mut points: Vec<[f64; INPUTS]> = rows.iter().map(|row| inputs(predictor, row, predictor.predict(row).seconds.0)).collect();
    let n = points.len().max(1) as f64;
    for i in 0..INPUTS {
        let mean = points.iter().map(|p| p[i]).sum::<f64>() / n;
        let deviation = (points.iter().map(|p| (p[i] - mean).powi(2)).sum::<f64>() / n).sqrt().max(1e-9);
        points.iter_mut().for_each(|p| p[i] = (p[i] - mean) / deviation);
    }
    let distance = |a: &[f64; INPUTS], b: &[f64; INPUTS]| a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
    // The first is the one that is nearest to the middle.
    let mut near: Vec<f64> = points.iter().map(|p| -distance(p, &[0.0; INPUTS])).collect();
    let mut chosen = Vec::new();
    while chosen.len() < count.min(points.len()) {
        // Of equals the first.
        let farthest = (0..points.len()).max_by(|a, b| near[*a].total_cmp(&near[*b]).then(b.cmp(a)));
        let Some(next) = farthest else { break };
        let first = chosen.is_empty();
        chosen.push(next);
        for (at, point) in points.iter().enumerate() {
            let far = distance(point, &points[next]);
            near[at] = if chosen.contains(&at) {
                f64::NEG_INFINITY
            } else if first {
                far
            } else {
                near[at].min(far)
            };
        }
    }
    chosen
}

/// The error that a share of further ones will not exceed: the ⌈share·(n + 1)⌉-th smallest (Vovk, Gammerman and Shafer, Algorithmic
/// Learning in a Random World, 2005), the largest where there are too few; 0 of none.
fn quantile(mut errors: Vec<f64>, share: f64) -> f64 {
    errors.sort_by(f64::total_cmp);
    let rank = (share * (errors.len() as f64 + 1.0)).ceil() as usize;
    errors.get(rank.saturating_sub(1).min(errors.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn the_quantile_of_few_is_the_largest() {
        assert_eq!(quantile(vec![], 0.8), 0.0);
        assert_eq!(quantile(vec![3.0, 1.0, 2.0], 0.8), 3.0);
        assert_eq!(quantile((1..=20).map(f64::from).collect(), 0.8), 17.0);
        assert_eq!(quantile((1..=99).rev().map(f64::from).collect(), 0.8), 80.0);
    }
}
