//! What a network is and how it is trained, with the two presets.

use serde::{Deserialize, Serialize};
use warpsight_shader::tokens::{COMPACT_LIMIT, Dialect, LIMIT};

/// What a compact word says of amounts: logarithms of count and scalars, and whether it is executed.
pub(super) const AMOUNTS: usize = 3;

/// Bits of a count that are a part of the embedding (paper 004, equation 5).
pub const COUNT_BITS: usize = u64::BITS as usize;

/// How the encoder's output becomes a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Readout {
    /// From the first position, by a regression head (paper 004, equation 7).
    First,
    /// Each word has a cost in its context; the time is the sum of costs times executions.
    Sum,
}

/// What a network is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Its words.
    pub dialect: Dialect,
    /// Layers of the encoder.
    pub layers: usize,
    /// Numbers for each position.
    pub width: usize,
    /// Heads of attention; they divide the width.
    pub heads: usize,
    /// Width of the feed-forward layers.
    pub inner: usize,
    /// The longest sequence, with the word that begins it.
    pub positions: usize,
    /// The share of numbers that are dropped in training.
    pub dropout: f64,
    /// How the output is read.
    pub readout: Readout,
}

impl Shape {
    /// How many weights it has, or why it cannot be.
    ///
    /// # Errors
    /// A sentence.
    pub fn weights(&self) -> Result<u64, String> {
        let within = |name: &str, value: usize, least: usize, most: usize| {
            if (least..=most).contains(&value) { Ok(value as u64) } else { Err(format!("{name} is {value}, not from {least} to {most}")) }
        };
        let layers = within("layers", self.layers, 1, 64)?;
        let width = within("width", self.width, COUNT_BITS, 1 << 13)?;
        let inner = within("inner", self.inner, 1, 1 << 15)?;
        let positions = within("positions", self.positions, 1, LIMIT + 1)?;
        within("heads", self.heads, 1, self.width)?;
        if !self.width.is_multiple_of(self.heads) {
            return Err(format!("{} heads do not divide a width of {}", self.heads, self.width));
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(format!("dropout is {}, not from 0 to below 1", self.dropout));
        }
        if self.dialect == Dialect::Published && self.positions <= LIMIT {
            return Err(format!("published sequences are never shortened, they need {} positions", LIMIT + 1));
        }
        if (self.dialect, self.readout) == (Dialect::Published, Readout::Sum) {
            return Err("published words do not say on how many scalars they work, so no sum can be read out".to_owned());
        }
        let words = u64::from(self.dialect.vocabulary());
        let tables = match self.dialect {
            Dialect::Published => words + positions,
            Dialect::Compact => words * (1 + warpsight_shader::tokens::OPERANDS as u64) + positions + AMOUNTS as u64 + 1,
        };
        let layer = 4 * width * (width + 1) + 2 * width * inner + inner + width + 4 * width;
        let head = match self.readout {
            Readout::First => width * (width + 1),
            Readout::Sum => 0,
        };
        Ok(tables * width + layers * layer + head + width + 1)
    }
}

/// What it is trained on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Processor {
    /// This machine's cores.
    #[default]
    Cpu,
    /// The first CUDA device. Its kernels are compiled at run time: that takes a driver, NVRTC and the CUDA headers (`CUDA_PATH`).
    Cuda,
}

/// A network and its training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The network.
    pub shape: Shape,
    /// The highest learning rate of Adam (β 0.9 and 0.999, ε 1e-8).
    pub rate: f64,
    /// The share of all steps in which the rate rises from 0; it falls to 0 in the others.
    pub warm_up: f64,
    /// Shaders of a step.
    pub batch: usize,
    /// Times that each shader is seen.
    pub epochs: usize,
    /// The largest norm of a step's gradient.
    pub clip: f64,
    /// What weights, order and dropout are drawn from.
    pub seed: u64,
    /// Positions, padding included, that are computed at once: a step is done in parts, so that it fits the memory.
    pub at_once: usize,
    /// The share of shaders that epochs are chosen by.
    pub selection: f64,
    /// The share of shaders that is put aside to judge the network by.
    pub unseen: f64,
}

impl Options {
    /// ShaderPerFormer as published (paper 004, sections 6.2 and 7.2.1; what the paper leaves open is that of its public code).
    #[must_use]
    pub fn paper() -> Self {
        Self {
            shape: Shape {
                dialect: Dialect::Published,
                layers: 9,
                width: 768,
                heads: 12,
                inner: 3072,
                positions: LIMIT + 1,
                dropout: 0.1,
                readout: Readout::First,
            },
            rate: 3e-5,
            warm_up: 0.1,
            batch: 40,
            epochs: 50,
            clip: 1.0,
            seed: 0,
            at_once: 2 * (LIMIT + 1),
            selection: 0.05,
            unseen: 0.15,
        }
    }

    /// For some thousand shaders and half an hour of one CPU core: one word an instruction, and costs that add up.
    #[must_use]
    pub fn small() -> Self {
        Self {
            shape: Shape {
                dialect: Dialect::Compact,
                layers: 2,
                width: 96,
                heads: 4,
                inner: 192,
                positions: COMPACT_LIMIT,
                dropout: 0.1,
                readout: Readout::Sum,
            },
            rate: 1e-3,
            warm_up: 0.1,
            batch: 16,
            epochs: 24,
            clip: 1.0,
            seed: 0,
            at_once: COMPACT_LIMIT,
            selection: 0.05,
            unseen: 0.15,
        }
    }

    /// For rows that others judge the network without: nothing is put aside for that, more to choose the epoch and to measure errors by.
    #[must_use]
    pub fn judged_by_others(self) -> Self {
        Self { selection: 0.1, unseen: 0.0, ..self }
    }

    /// Why it cannot be trained so, if it cannot.
    ///
    /// # Errors
    /// A sentence.
    pub fn check(&self) -> Result<(), String> {
        self.shape.weights()?;
        let good = [
            ("rate", self.rate > 0.0 && self.rate.is_finite()),
            ("warm_up", (0.0..1.0).contains(&self.warm_up)),
            ("batch", self.batch > 0),
            ("epochs", (1..=100_000).contains(&self.epochs)),
            ("clip", self.clip > 0.0),
            ("at_once", self.at_once > 0),
            ("selection", self.selection > 0.0 && self.selection < 1.0),
            ("unseen", self.unseen >= 0.0 && self.selection + self.unseen < 1.0),
        ];
        good.iter().find(|(_, good)| !good).map_or(Ok(()), |(name, _)| Err(format!("{name} is out of range")))
    }

    /// The learning rate of a step, from 0, of `all`.
    #[must_use]
    pub fn rate_at(&self, step: usize, all: usize) -> f64 {
        let (step, all) = (step as f64 + 1.0, all as f64 + 1.0);
        let rise = (self.warm_up * all).max(1.0);
        self.rate * (step / rise).min((all - step) / (all - rise).max(1.0))
    }
}
