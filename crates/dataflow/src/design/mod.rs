//! A group as a pipeline: stages that run at the same time, and the queues between them (paper 003, section 5.2).
//!
//! One execution is cut into tokens along the rows of every tensor that passes a queue, so that all queues of a stage carry the same
//! number of tokens. A product's operand that is held whole is divided over the shared memory of several work-groups (figure 2a), or read
//! again from the second-level cache for every token where they would be more than a design allows. What a design decides ([`Tiling`]) does
//! not ask how many multiprocessors there are: a larger device has every choice of a smaller one.

mod build;
mod depth;
mod drafts;
mod reduce;
mod tiles;

use crate::platform::Platform;
use crate::view::{Gemm, Named, NodeId, TensorId};
use std::collections::BTreeMap;
use warpsight_ir::{Bytes, NoEstimate, Seconds, StageClass};

pub use build::{design, widths};
pub use depth::deepen;
pub use reduce::sums_rows;

/// Stages and queues of a group. Every queue leads from earlier stages to later ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// The stages, producers first.
    pub stages: Vec<Stage>,
    /// The queues.
    pub queues: Vec<Queue>,
    /// How it was cut.
    pub tiling: Tiling,
}

/// The choices of a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// Rows of a token, of the tensor with the most rows.
    pub rows: u64,
    /// Whether an element-wise operator behind a product is applied to its tiles by the same work-groups (epilogue fusion); otherwise it is
    /// a stage on vector units.
    pub epilogues: bool,
    /// Work-groups that an operand may take to be held in shared memory; what needs more is read from the second-level cache for every
    /// token, so that work-groups need not come in sets.
    pub held: u32,
    /// Partial results of a product that sums over rows, at least, where the tokens can be divided so.
    pub partials: u64,
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
    /// The product at its heart, whole.
    pub gemm: Option<Gemm>,
    /// Parts that an operator is divided into along n (for products that sum over rows: tiles of m and n). Each is held by a work-group of
    /// its own, all of which carry out a firing together; 1 where it is whole.
    pub parts: u32,
    /// Bytes of an element of its operands.
    pub element: u32,
    /// Floating-point operations of one execution, on the units of its class.
    pub flops: f64,
    /// Floating-point operations on vector units that a stage on matrix units carries out too.
    pub epilogue: f64,
    /// Bytes from memory of one execution: parameters and inputs of the group.
    pub read: Bytes,
    /// Of an operand that the second-level cache does not hold between tokens: bytes read from memory again, which [`crate::Traffic`], as
    /// the paper counts, leaves out.
    pub reread: Bytes,
    /// Bytes to memory: outputs of the group, and side outputs such as activations that a backward pass needs.
    pub written: Bytes,
    /// Those of its outputs that go to memory besides a queue.
    pub side_outputs: Vec<TensorId>,
    /// Firings of one execution, shared by its sets of work-groups: tokens, or tokens times tiles where an operand is not held.
    pub firings: u64,
    /// Firings that one token takes.
    pub firings_per_token: u64,
    /// Tokens (tiles) that it puts into each of its queues in one execution, before a payload too large is divided.
    pub tokens: u64,
    /// Shared memory of a work-group: resident operands, live tiles, staging.
    pub shared: Bytes,
    /// What its work-groups move on chip in one execution.
    pub moved: Moved,
}

/// Bytes of one execution that a stage moves on chip.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moved {
    /// To and from the second-level cache, queues excluded, memory's included.
    pub cached: Bytes,
    /// Taken from queues by each part.
    pub received: Bytes,
    /// Put into queues.
    pub sent: Bytes,
    /// Slots that each work-group set takes and fills.
    pub messages: f64,
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
    /// Slots that a consumer must have at once: the pieces of a token whose payload was too large, where it is needed whole.
    pub whole: u32,
}

/// Why a group is no pipeline on this device.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DesignError {
    /// Tokens of a gather could come from anywhere.
    #[error("node `{node}` reads through indices: its input does not come in tokens")]
    Gather {
        /// The node.
        node: Named,
    },
    /// Windows overlap.
    #[error("node `{node}` reads windows of its input, which overlap or reach beyond it: it does not come in tokens")]
    Windows {
        /// The node.
        node: Named,
    },
    /// An input that is needed whole would come in tokens.
    #[error("node `{node}` needs {what} whole, but it would come token by token")]
    Whole {
        /// The node.
        node: Named,
        /// Which input.
        what: String,
    },
    /// A stage that fits no multiprocessor.
    #[error("node `{node}` needs {needs} B of shared memory, a work-group of its class has {has} B")]
    Shared {
        /// The node.
        node: Named,
        /// Its bytes.
        needs: f64,
        /// What there is.
        has: f64,
    },
    /// Sums that registers do not hold until the last token.
    #[error(
        "node `{node}` keeps {tiles} tiles of sums, each in the registers of a work-group of its own, and {has} multiprocessors are there"
    )]
    Sums {
        /// The node.
        node: Named,
        /// Tiles of 128 × 256 sums.
        tiles: u32,
        /// Multiprocessors.
        has: u32,
    },
    /// Queues that the second-level cache does not hold.
    #[error(
        "queues need {needs} B at least, the second-level cache has {has} B for them; the largest, behind node `{node}`, needs {largest} B"
    )]
    Capacity {
        /// Who fills the largest.
        node: String,
        /// Of all, at their least depth.
        needs: f64,
        /// What there is.
        has: f64,
        /// Of the largest.
        largest: f64,
    },
    /// A stage whose rate is not known.
    #[error("node `{node}`: {why}")]
    Rate {
        /// The node.
        node: String,
        /// Why.
        why: NoEstimate,
    },
    /// A pipeline that does not pay.
    #[error("as a pipeline it takes {:.1} µs, its operators by themselves {:.1} µs (predicted)", .pipeline.0 * 1e6, .alone.0 * 1e6)]
    Slower {
        /// The pipeline, launched.
        pipeline: Seconds,
        /// Its operators, each launched.
        alone: Seconds,
    },
    /// Stages that are more than the device holds.
    #[error(transparent)]
    Balance(#[from] crate::balance::BalanceError),
}

impl DesignError {
    /// The node that stands in the way.
    pub fn node(&self) -> Option<&Named> {
        match self {
            Self::Gather { node }
            | Self::Windows { node }
            | Self::Whole { node, .. }
            | Self::Shared { node, .. }
            | Self::Sums { node, .. } => Some(node),
            Self::Capacity { .. } | Self::Rate { .. } | Self::Slower { .. } | Self::Balance(_) => None,
        }
    }
}

impl Stage {
    /// As a model sees it, on so many work-groups.
    pub fn work(&self, ctas: u32) -> warpsight_ir::StageWork {
        let firings = self.firings.max(1) as f64;
        let mut shape = BTreeMap::new();
        if let Some(gemm) = self.gemm {
            shape.extend([("m", gemm.m), ("n", gemm.n), ("k", gemm.k)].map(|(name, extent)| (name.into(), extent as i64)));
        }
        warpsight_ir::StageWork {
            name: self.name.as_str().into(),
            class: self.class,
            shape,
            element: self.element,
            parts: self.parts,
            flops_per_token: self.flops / firings,
            epilogue_per_token: self.epilogue / firings,
            bytes_per_token: (self.read + self.reread + self.written) / firings,
            cached_per_token: self.moved.cached / firings,
            received_per_token: self.moved.received / firings,
            sent_per_token: self.moved.sent / firings,
            messages_per_token: self.moved.messages / firings,
            tokens: self.firings,
            ctas,
        }
    }
}

impl Design {
    /// Tokens of one execution.
    pub fn tokens(&self) -> u64 {
        self.stages.iter().map(|stage| stage.tokens).max().unwrap_or(1)
    }

    /// Bytes of device memory in one execution, operands read again included.
    pub fn dram(&self) -> Bytes {
        self.stages.iter().map(|stage| stage.read + stage.reread + stage.written).sum()
    }

    /// Bytes through the second-level cache in one execution.
    pub fn l2(&self) -> Bytes {
        let of = |stage: &Stage| stage.moved.cached + stage.moved.received * f64::from(stage.parts) + stage.moved.sent;
        self.stages.iter().map(of).sum()
    }

    /// Bytes of all slots.
    pub fn slots(&self) -> Bytes {
        self.queues.iter().fold(Bytes::ZERO, |sum, queue| sum + queue.payload * f64::from(queue.depth))
    }

    /// What its memory accesses take at least.
    pub fn caps(&self, platform: &Platform) -> crate::balance::Caps {
        crate::balance::Caps { dram: self.dram() / platform.dram, l2: self.l2() / platform.l2_rate }
    }
}
