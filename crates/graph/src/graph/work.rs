//! What a node takes, as far as numbers say it, and how it computes.

use serde::{Deserialize, Serialize};
use warpsight_ir::Bytes;

/// What a node takes beside writing its outputs (paper 003, section 5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// How it computes.
    pub class: Class,
    /// Floating-point operations.
    pub flops: f64,
    /// Bytes it reads, where these are others than those of its inputs once each: of a gather, the rows that it touches.
    pub read: Option<Bytes>,
}

/// How an operator computes (paper 003, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Matrix products, on matrix units.
    Tensor,
    /// Element by element or row by row.
    Simt,
    /// Many elements to one.
    Reduce,
    /// Through indices, so that an element may come from anywhere.
    Gather,
}

/// Passes of a training step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Of inference too.
    #[default]
    Forward,
    /// Gradients.
    Backward,
}

/// Where positions along a dimension come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum IndexSource {
    /// From an input of the node, for one dimension of the tensor that is read or written through it.
    Input {
        /// Position among the node's inputs.
        input: usize,
        /// The dimension.
        axis: usize,
    },
    /// Where bags of indexed rows begin: an input of the node.
    Offsets {
        /// Position among the node's inputs.
        input: usize,
    },
    /// Pairs of two neighbouring dimensions below the diagonal, row by row.
    LowerTriangle {
        /// The first dimension.
        axis: usize,
        /// 0 with the diagonal, -1 without.
        diagonal: i64,
    },
}
