//! A model for one device as a file keeps it: what predicts, how sure it is, and what it was trained on.
//!
//! The file is JSON. Its `format` says how it is to be read; one of another format, or of another version of it, is refused.

use super::models::{Calibrated, Fit, FitError, LeanOperations, Linear, Method, Model, Operations, Row};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use warpsight_ir::Seconds;
use warpsight_shader::cfg::Cfg;
use warpsight_shader::features;
use warpsight_shader::lean::Lean;
use warpsight_shader::lines::{Item, executed, left};
use warpsight_shader::module::{Module, ModuleError};
use warpsight_shader::trace::Trace;

/// How files of this version begin.
pub const FORMAT: &str = "warpsight-shader-model/1";

/// The device that a model speaks of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// What the user calls it, for instance `lavapipe`.
    pub name: String,
    /// What it calls itself, with driver and versions.
    pub description: String,
    /// Whether it is a CPU that rasterises.
    pub software: bool,
}

/// Costs of operations that add up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Additive {
    /// Branches are taken.
    Taken(Linear<Operations>),
    /// What a driver's compiler leaves, and branches are masked: both sides of them run ([`Lean`], [`Trace::predicated`]).
    Lean(Linear<LeanOperations>),
}

/// A model for one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predictor {
    format: String,
    /// What was measured.
    pub device: Device,
    /// What predicts, and how sure it is.
    pub model: Calibrated,
    /// What each operation costs: where shares of lines come from.
    pub base: Additive,
    /// The least and the most of everything that a row has, among what was trained on.
    pub ranges: BTreeMap<String, [f64; 2]>,
    /// How many shaders it was trained on, from each source.
    pub trained: BTreeMap<String, usize>,
}

/// Why a file is no model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PredictorError {
    /// Another version.
    #[error("its format is `{found}`; `{FORMAT}` can be read")]
    Format {
        /// What it says.
        found: String,
    },
    /// A model of a kind that this build lacks, or that there is not.
    #[error("{0}")]
    Method(String),
    /// No model at all.
    #[error("it is no model of shaders: {0}")]
    Json(#[from] serde_json::Error),
}

/// What a frame takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The most likely time.
    pub seconds: Seconds,
    /// What [`INTERVAL`](super::models::INTERVAL) of times lie between.
    pub interval: [Seconds; 2],
    /// What lies outside of all that was trained on, the farthest first.
    pub extrapolating: Vec<Outside>,
}

/// Something of which a shader has more than any that was trained on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outside {
    /// What: a feature, a size, or `pixels`.
    pub what: String,
    /// How much of it there is; of features a pixel.
    pub value: f64,
    /// The least and the most of it in training; nothing where it never was.
    pub trained: Option<[f64; 2]>,
}

impl Additive {
    /// Seconds for one of each operation.
    #[must_use]
    pub fn costs(&self) -> &BTreeMap<String, f64> {
        match self {
            Self::Taken(linear) => &linear.costs,
            Self::Lean(linear) => &linear.costs,
        }
    }

    /// Seconds that a draw takes besides.
    #[must_use]
    pub fn intercept(&self) -> f64 {
        match self {
            Self::Taken(linear) => linear.intercept,
            Self::Lean(linear) => linear.intercept,
        }
    }

    /// What a row has of operations, as they are counted here; a pixel.
    fn amounts<'r>(&self, row: &'r Row) -> impl Iterator<Item = (&'r String, f64)> + use<'r> {
        let lean = matches!(self, Self::Lean(_));
        let all = if lean { &row.lean } else { &row.operations };
        all.iter().map(move |(name, amount)| (name, if lean { amount.masked } else { amount.traced }))
    }

    /// The costs in the order of [`features::names`].
    #[must_use]
    pub fn weights(&self) -> Vec<f64> {
        features::names().iter().map(|name| self.costs().get(name).copied().unwrap_or(0.0)).collect()
    }

    /// What a frame does, as it is counted here, and where. `lean` is what is left of it ([`Lean::of`]), where it can be evaluated.
    ///
    /// # Errors
    /// [`ModuleError`] where a type or an id is missing.
    pub fn items(&self, module: &Module, cfg: &Cfg, trace: &Trace, lean: Option<&Lean>) -> Result<Vec<Item>, ModuleError> {
        let Self::Lean(_) = self else { return executed(module, cfg, &trace.counts) };
        let masked = trace.predicated(cfg);
        // A quad is four pixels. What is too large to be evaluated counts as it stands, as in rows.
        match lean {
            Some(lean) => Ok(left(lean, 4.0 * masked.first().copied().unwrap_or(0.0))),
            None => executed(module, cfg, &masked.into_iter().map(|quads| 4.0 * quads).collect::<Vec<_>>()),
        }
    }
}

impl Predictor {
    /// Fits a model to rows that were measured on a device.
    ///
    /// # Errors
    /// See [`FitError`].
    pub fn fit(device: Device, by: impl Fit, rows: &[&Row]) -> Result<Self, FitError> {
        let mut ranges: BTreeMap<String, [f64; 2]> = BTreeMap::new();
        let mut trained = BTreeMap::new();
        for row in rows {
            for (what, value) in quantities(row) {
                let [low, high] = ranges.entry(what.to_owned()).or_insert([value; 2]);
                (*low, *high) = (low.min(value), high.max(value));
            }
            *trained.entry(row.source.clone()).or_default() += 1;
        }
        let model = Calibrated::fit(&by, rows)?;
        let mut sorted = rows.to_vec();
        // Sums of floating-point numbers depend on their order.
        sorted.sort_by(|a, b| a.id.cmp(&b.id).then(a.pixels.total_cmp(&b.pixels)));
        let base = match device.software {
            true => Additive::Lean(Linear::fit(&sorted)?),
            false => Additive::Taken(Linear::fit(&sorted)?),
        };
        Ok(Self { format: FORMAT.to_owned(), device, model, base, ranges, trained })
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// See [`PredictorError`].
    pub fn read(text: &str) -> Result<Self, PredictorError> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
        }
        // What else another version holds is not this one's to judge.
        let head: Head = serde_json::from_str(text)?;
        if head.format != FORMAT {
            return Err(PredictorError::Format { found: head.format });
        }
        serde_json::from_str(text).map_err(|error| method(text).map_or_else(|| error.into(), PredictorError::Method))
    }

    /// A file's text.
    ///
    /// # Errors
    /// A number that JSON cannot hold.
    pub fn text(&self) -> Result<String, PredictorError> {
        Ok(serde_json::to_string(self)?)
    }

    /// What tells this model from others: the first 16 hexadecimal digits of the SHA-256 of its text.
    ///
    /// # Errors
    /// A number that JSON cannot hold.
    pub fn id(&self) -> Result<String, PredictorError> {
        let hash = Sha256::digest(self.text()?.as_bytes());
        Ok(hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect())
    }

    /// What a frame takes.
    #[must_use]
    pub fn predict(&self, row: &Row) -> Prediction {
        let (seconds, interval) = self.model.predict(row);
        let mut extrapolating: Vec<(f64, Outside)> = Vec::new();
        for (what, value) in quantities(row) {
            let trained = self.ranges.get(what).copied();
            let far = match trained {
                None => f64::INFINITY,
                Some([_, high]) if value > high => value / high,
                // A smaller frame is another one; less of an operation is not.
                Some([low, _]) if what == "pixels" && value < low => low / value,
                Some(_) => continue,
            };
            extrapolating.push((far, Outside { what: what.to_owned(), value, trained }));
        }
        extrapolating.sort_by(|a, b| b.0.total_cmp(&a.0));
        Prediction { seconds, interval, extrapolating: extrapolating.into_iter().map(|(_, o)| o).collect() }
    }

    /// What a row's operations take by the additive base, by name, in seconds a frame.
    #[must_use]
    pub fn parts(&self, row: &Row) -> Vec<(String, f64)> {
        let costs = self.base.costs();
        let part = |(name, amount): (&String, f64)| Some((name.clone(), costs.get(name)? * amount * row.pixels));
        self.base.amounts(row).filter_map(part).collect()
    }
}

/// Why a text's model is none of this build, if it is none.
fn method(text: &str) -> Option<String> {
    let file: serde_json::Value = serde_json::from_str(text).ok()?;
    file["model"]["model"].as_object()?.keys().find_map(|name| name.parse::<Method>().err())
}

/// Everything of a row that has a range, where the row has some of it.
fn quantities(row: &Row) -> impl Iterator<Item = (&str, f64)> {
    let operations = row.operations.iter().map(|(name, amount)| (name.as_str(), amount.traced));
    let sizes = row.sizes.iter().map(|(name, size)| (name.as_str(), *size));
    operations.chain(sizes).chain([("pixels", row.pixels)]).filter(|(_, value)| *value > 0.0)
}
