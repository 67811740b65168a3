//! A group as a pipeline: stages that run at the same time, and the queues between them (paper 003, section 5.2).

use crate::graph::{Gemm, NodeId, TensorId};
use warpsight_ir::{Bytes, StageClass};

/// Stages and queues of a group. Every queue leads from earlier stages to later ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// The stages, producers first.
    pub stages: Vec<Stage>,
    /// The queues.
    pub queues: Vec<Queue>,
}

/// Operators that the same work-groups carry out, tile by tile.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// Unique within the design.
    pub name: String,
    /// The unit it needs.
    pub class: StageClass,
    /// Its part in a split operator.
    pub role: Role,
    /// The operators, in order: one, and what is applied to its tiles at once (epilogue).
    pub nodes: Vec<NodeId>,
    /// The product at its heart, of one part where the operator is split over n or k.
    pub gemm: Option<Gemm>,
    /// Parts that an operator is split into along n or k, each a set of work-groups of its own; 1 where it is whole.
    pub parts: u32,
    /// Floating-point operations of one execution.
    pub flops: f64,
    /// Bytes from memory of one execution: parameters and inputs of the group.
    pub read: Bytes,
    /// Bytes to memory: outputs of the group, and side outputs such as activations that a backward pass needs.
    pub written: Bytes,
    /// Tokens (tiles) that it puts into each of its queues in one execution.
    pub tokens: u64,
    /// Shared memory of a work-group: resident operands, live tiles, staging.
    pub shared: Bytes,
}

/// What a stage is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A whole operator.
    Whole,
    /// Reduces a share of the elements (the fan-in of Algorithm 1).
    FanIn,
    /// Reduces what fan-ins left.
    Final,
}

/// A ring of slots in the second-level cache, or in shared memory of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// The tensor whose tiles pass.
    pub tensor: TensorId,
    /// Position of the stage that fills it.
    pub producer: usize,
    /// Positions of the stages that empty it; each receives every token (multicast).
    pub consumers: Vec<usize>,
    /// Bytes of a token.
    pub payload: Bytes,
    /// Slots.
    pub depth: u32,
    /// Tokens that pass in one execution.
    pub tokens: u64,
}
