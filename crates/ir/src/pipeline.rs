//! Several Programs that run together, joined by channels.

use crate::kernel::StageClass;
use crate::program::{Name, Program};
use crate::types::Scalar;
use serde::{Deserialize, Serialize};

/// Stages joined by channels. Stages run at the same time; a token sent is received by every consumer, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pipeline {
    /// Its name.
    pub name: Name,
    /// The stages; names are unique.
    pub stages: Vec<PipelineStage>,
    /// The channels; names are unique.
    pub channels: Vec<Channel>,
    /// Tensors a stage writes to device memory besides its tokens (for instance activations saved for a backward pass).
    pub side_outputs: Vec<SideOutput>,
    /// The proof that it cannot deadlock, where one was made.
    pub certificate: Option<Certificate>,
}

/// A stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PipelineStage {
    /// Its name.
    pub name: Name,
    /// The unit it needs.
    pub class: StageClass,
    /// Work-groups (CTAs) it is given; all are resident together.
    pub ctas: u32,
    /// What each does. Its channel parameters are matched to the pipeline's channels by name.
    pub program: Program,
}

/// A bounded queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Channel {
    /// Its name.
    pub name: Name,
    /// Of one element of a token.
    pub element: Scalar,
    /// Extents of a token (a tile).
    pub dims: Vec<u32>,
    /// Tokens that fit.
    pub depth: u32,
    /// The stages that put tokens in.
    pub producers: Vec<Name>,
    /// The stages that take tokens out; each receives every token.
    pub consumers: Vec<Name>,
}

impl Channel {
    /// Bytes of one token.
    pub fn payload(&self) -> u64 {
        self.dims.iter().map(|&d| u64::from(d)).product::<u64>() * u64::from(self.element.bytes())
    }
}

/// A tensor written besides the tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideOutput {
    /// The stage that writes it.
    pub stage: Name,
    /// The buffer parameter of its Program.
    pub param: Name,
}

/// Why a pipeline cannot deadlock: what a checker found, for others to check again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// Stages in an order in which every channel leads forward.
    pub order: Vec<Name>,
    /// Tokens that pass each channel in one execution.
    pub tokens: Vec<(Name, u64)>,
    /// Work-groups that must be resident together, and how many the device holds.
    pub resident: (u32, u32),
}
