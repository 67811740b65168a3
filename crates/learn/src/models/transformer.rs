//! A transformer that reads a shader with its trace (ShaderPerFormer, paper 004, section 6.2), and its training.
//!
//! [`Options::paper`] is the published network with the published protocol. [`Options::small`] trains within minutes on a CPU: one
//! word an instruction instead of five, and a time that is a sum over words of executions times scalars times a cost that the
//! encoder reads off the context. [`roles`] makes the published shares, 80/5/15 (of groups, for near-duplicates are never divided);
//! [`fit`] learns from the first, keeps the weights of the epoch that does best on the second, and does not see the third. A [`Study`]
//! does that with rows; where all of a model's rows are put aside by others to judge it, as `shader evaluate` does, it has no third part.
//!
//! A prediction depends on its shader alone: sequences are padded at their end and padding is masked.
//!
//! burn computes: on the cores by its backend `flex`, and with the feature `nn-cuda` on a GPU, for which cubecl compiles kernels at
//! run time, so that the same binary runs with and without CUDA. candle was measured beside it (`bench/nn/README.md`); its CUDA
//! needs nvcc when it is built.
//!
//! ```no_run
//! use warpsight_learn::models::Model;
//! use warpsight_learn::models::transformer::{Nothing, Options, Processor, Role, Study, roles};
//! # let rows: Vec<&warpsight_learn::models::Row> = Vec::new();
//! let options = Options::small();
//! let trained = Study { options: &options, processor: Processor::Cpu, keep: &Nothing }.train(&rows)?;
//! for (row, _) in roles(&rows, &options).into_iter().filter(|(_, role)| *role == Role::Unseen) {
//!     println!("{}: {:?}, {:?} s measured", row.id, trained.predict(row), row.seconds);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod checkpoint;
mod curve;
mod draws;
mod network;
mod shape;
mod study;
mod training;
mod weights;

pub use checkpoint::{Checkpoint, FileError};
pub use curve::{Curve, Epoch};
pub use shape::{Options, Processor, Readout, Shape};
pub use study::{Keep, Nothing, Role, Study, roles};
pub use training::{Report, Start, fit};

use burn::module::Module;
use network::{Batch, Network};
use serde::{Deserialize, Serialize};
use warpsight_shader::tokens::Tokens;

/// A shader that was measured.
#[derive(Clone, Debug)]
pub struct Example {
    /// The shader with its trace.
    pub tokens: Tokens,
    /// What a frame takes.
    pub seconds: f64,
}

/// Why there is no network, or no prediction.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// No such network.
    #[error("no network can be trained so: {0}")]
    Options(String),
    /// Nothing to learn from.
    #[error("{found} shaders are too few to {what}; at least {least} are needed")]
    Few {
        /// How many there are.
        found: usize,
        /// How many are needed.
        least: usize,
        /// For what.
        what: &'static str,
    },
    /// A time that is none.
    #[error("shader {index} of those given is said to take {seconds} s")]
    Time {
        /// Its place.
        index: usize,
        /// What it is said to take.
        seconds: f64,
    },
    /// A sequence that this network cannot read.
    #[error("shader {index} of those given {what}")]
    Sequence {
        /// Its place.
        index: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Numbers ran away.
    #[error("the loss of step {step} is no number; a lower learning rate may help")]
    Diverged {
        /// The step, from 0.
        step: usize,
    },
    /// A checkpoint of another training.
    #[error("the checkpoint is of another training: {0} differ")]
    Checkpoint(&'static str),
    /// No such device.
    #[error("{0}")]
    Device(String),
    /// What was told after an epoch said no.
    #[error("training was stopped: {0}")]
    Stopped(String),
    /// Weights could not be read or written.
    #[error("the weights cannot be kept: {0}")]
    Weights(String),
}

/// What turns the network's output into seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scale {
    /// Mean of the logarithms of seconds that were learned from.
    mean: f64,
    /// Their standard deviation.
    deviation: f64,
    /// Added to sums of costs, in logarithms.
    offset: f64,
}

impl Scale {
    /// The standardised target.
    fn target(&self, seconds: f64) -> f64 {
        (seconds.ln() - self.mean) / self.deviation
    }

    fn seconds(&self, readout: Readout, output: f64) -> f64 {
        match readout {
            Readout::First => (self.mean + self.deviation * output).exp(),
            Readout::Sum => (output + self.offset).exp(),
        }
    }
}

/// A network that was trained.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "weights::Kept", try_from = "weights::Kept")]
pub struct Trained {
    options: Options,
    scale: Scale,
    curve: Curve,
    network: Box<Network>,
}

impl Trained {
    /// How it was trained.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// How training went; nothing of a network that was read from a file.
    #[must_use]
    pub fn curve(&self) -> &Curve {
        &self.curve
    }

    /// How many weights it has.
    #[must_use]
    pub fn weights(&self) -> usize {
        self.network.num_params()
    }

    /// What a frame of each shader takes, in seconds.
    ///
    /// # Errors
    /// [`NetworkError::Sequence`] for a sequence of another dialect, too long, or with words that do not exist.
    pub fn predict_all<'t>(&self, shaders: impl IntoIterator<Item = &'t Tokens>) -> Result<Vec<f64>, NetworkError> {
        let shaders: Vec<&Tokens> = shaders.into_iter().collect();
        check_sequences(&self.options.shape, shaders.iter().copied())?;
        let readout = self.options.shape.readout;
        Ok(outputs(&self.network, &self.options, &shaders).into_iter().map(|o| self.scale.seconds(readout, o)).collect())
    }

    /// What a frame of a shader takes, in seconds, if the network can read it; of a long one those words that do most.
    #[must_use]
    pub fn say(&self, tokens: &Tokens) -> Option<f64> {
        let tokens = tokens.at_most(self.options.shape.positions);
        self.predict_all([tokens.as_ref()]).ok().and_then(|said| said.first().copied())
    }
}

/// What a network that does not learn says of each shader.
fn outputs(network: &Network, options: &Options, shaders: &[&Tokens]) -> Vec<f64> {
    let device = network.devices().first().cloned().unwrap_or_default();
    let mut out = vec![0.0; shaders.len()];
    for part in parts(shaders, &(0..shaders.len()).collect::<Vec<_>>(), options.at_once) {
        let sequences: Vec<&Tokens> = part.iter().map(|at| shaders[*at]).collect();
        let outputs = network.forward(Batch::new(&sequences, &options.shape, &device));
        part.iter().zip(numbers(outputs)).for_each(|(at, output)| out[*at] = f64::from(output));
    }
    out
}

fn numbers(tensor: burn::tensor::Tensor<1>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

/// Cuts a selection of shaders into parts of similar lengths that are computed at once.
fn parts(shaders: &[&Tokens], selection: &[usize], at_once: usize) -> Vec<Vec<usize>> {
    let mut order = selection.to_vec();
    order.sort_by_key(|at| (shaders[*at].words.len(), *at));
    let mut out: Vec<Vec<usize>> = Vec::new();
    for at in order {
        match out.last_mut() {
            // The longest of a part is its last.
            Some(part) if (part.len() + 1) * shaders[at].words.len() <= at_once => part.push(at),
            _ => out.push(vec![at]),
        }
    }
    out
}

/// Whether a network of this shape can read all of them.
fn check_sequences<'t>(shape: &Shape, shaders: impl Iterator<Item = &'t Tokens>) -> Result<(), NetworkError> {
    let vocabulary = shape.dialect.vocabulary();
    for (index, tokens) in shaders.enumerate() {
        let known = |id: &u32| *id < vocabulary;
        let what = match () {
            () if tokens.dialect != shape.dialect => "was written in the words of another network",
            () if tokens.words.is_empty() => "has no words",
            () if tokens.words.len() > shape.positions => "is longer than any sequence of this network",
            () if !tokens.words.iter().all(|w| known(&w.id) && w.operands.iter().all(known)) => "has words that this network does not know",
            () => continue,
        };
        return Err(NetworkError::Sequence { index, what });
    }
    Ok(())
}

/// The mean absolute error relative to what was measured.
#[must_use]
pub fn mape(predicted: &[f64], measured: &[f64]) -> f64 {
    let sum: f64 = predicted.iter().zip(measured).map(|(p, m)| ((p - m) / m).abs()).sum();
    sum / predicted.len().max(1) as f64
}
