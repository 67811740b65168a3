//! What a model may see of a kernel, a pipeline stage or a shader.

pub mod facts;
pub mod lanes;
pub mod meanwhile;

use crate::accesses::Accesses;
use crate::program::{Name, UnaryOp};
use crate::types::Scalar;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All that a model may see of one kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    /// Its name.
    pub name: Name,
    /// How it touches memory.
    pub accesses: Accesses,
    /// Its launch.
    pub launch: LaunchShape,
    /// 32-bit registers per work-item.
    pub registers: u32,
    /// Words of 32 bits that a work-item has loaded and uses again later, most of them at once, where loops that are written out happen in the
    /// order of the text: what a compiler that keeps this order needs besides [`registers`](Self::registers). Others move uses to loads.
    #[serde(default, skip_serializing_if = "nothing")]
    pub kept: u32,
    /// What of all words is kept so, and how often it is used again.
    #[serde(default, skip_serializing_if = "Reused::is_nothing")]
    pub reused: Reused,
    /// Local memory per group.
    pub local: Bytes,
    /// Arithmetic of one work-item, executions of loop bodies counted.
    pub ops: OpCounts,
    /// The longest row of operations of a work-item that wait for each other: assignments of what mentions the variable itself, executions of loop
    /// bodies counted, the most of any variable that is declared in the same block, and of blocks one after another all; what a trip declares is
    /// taken to wait for the trip before. Of the sides of an `If` the longer counts. What waits by way of other variables, or within an expression,
    /// is not in it. `None` where nothing tells, as of texts that do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<u64>,
    /// The tensors, by number, that are known before any kernel runs: a network's pass meets each once, where it meets what one kernel hands to
    /// another soon. Programs do not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<u16>,
}

impl Kernel {
    /// Whether a tensor of this name is [known](Self::known).
    pub fn knows(&self, name: &Name) -> bool {
        self.known.iter().any(|&n| self.accesses.tensors.get(usize::from(n)).is_some_and(|own| own.name == *name))
    }
}

/// Words of 32 bits that a work-item keeps, see [`Kernel::kept`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reused {
    /// Distinct ones.
    pub words: u32,
    /// How often they are used after they were put aside.
    pub uses: u32,
}

impl Reused {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

fn nothing(kept: &u32) -> bool {
    *kept == 0
}

/// A launch with its sizes known, fastest axis first.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LaunchShape {
    /// Work-groups along each group axis.
    pub groups: Vec<u32>,
    /// Work-items of a group along each lane axis.
    pub lanes: Vec<u32>,
}

impl LaunchShape {
    /// Work-groups in all.
    pub fn group_count(&self) -> u64 {
        self.groups.iter().map(|&g| u64::from(g)).product()
    }
    /// Work-items in a group.
    pub fn group_size(&self) -> u32 {
        self.lanes.iter().product()
    }
}

/// A class of arithmetic that hardware executes at its own rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpClass {
    /// a·b + c
    Fma,
    /// Additions, multiplications, comparisons, selections, minima of floats.
    Float,
    /// Divisions, roots, exponentials, sines.
    Special,
    /// Integer arithmetic that is not address computation.
    Int,
    /// Tile multiply-accumulates, counted per scalar multiply-add, under the type of their operands; `I32` stands for integers of 8 bits,
    /// which are summed in 32.
    Mma,
}

impl OpClass {
    /// What an operation of one operand is for floats.
    pub fn of_unary(op: UnaryOp) -> Self {
        match op {
            UnaryOp::Neg | UnaryOp::Not | UnaryOp::Abs | UnaryOp::Floor | UnaryOp::Ceil => Self::Float,
            UnaryOp::Exp | UnaryOp::Log | UnaryOp::Sqrt | UnaryOp::Rsqrt | UnaryOp::Tanh | UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Erf => {
                Self::Special
            }
        }
    }
}

/// How often each class of operation is executed, by scalar type and vector width. A width-4 `fma` is one entry of width 4.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpCounts(pub BTreeMap<(OpClass, Scalar, u8), u64>);

impl OpCounts {
    /// Counts `n` more; what is computed in `Half` counts as `F16`.
    pub fn add(&mut self, class: OpClass, scalar: Scalar, width: u8, n: u64) {
        if n > 0 {
            *self.0.entry((class, scalar.stored(), width)).or_default() += n;
        }
    }
    /// So many times as many of each.
    pub fn times(self, n: u64) -> Self {
        Self(self.0.into_iter().map(|(class, own)| (class, own * n)).collect())
    }
    /// Floating-point operations: an FMA counts two a lane, the other float classes one.
    pub fn flops(&self) -> u64 {
        self.0
            .iter()
            .map(|(&(class, scalar, width), &n)| match class {
                OpClass::Fma => 2 * u64::from(width) * n,
                OpClass::Mma => 2 * n,
                OpClass::Float | OpClass::Special if scalar.is_float() => u64::from(width) * n,
                _ => 0,
            })
            .sum()
    }
}

/// A pipeline stage as a model sees it. An ordinary kernel is one too: its work-groups are the tokens, and it has no queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageWork {
    /// Its name.
    pub name: Name,
    /// Which unit limits it by nature.
    pub class: StageClass,
    /// Problem shape, named extents.
    pub shape: BTreeMap<Name, i64>,
    /// Bytes of an element of its operands, which decide the rate of matrix units.
    pub element: u32,
    /// Work-groups that carry out a token together, each holding its part of a resident operand; `ctas / parts` such sets share the tokens.
    pub parts: u32,
    /// Floating-point operations of one token, on the units of its class.
    pub flops_per_token: f64,
    /// Floating-point operations of one token on vector units, of what a stage on matrix units applies to its tiles.
    pub epilogue_per_token: f64,
    /// Bytes moved to and from device memory by one token, queues excluded.
    pub bytes_per_token: Bytes,
    /// Bytes that its work-groups exchange with the second-level cache for one token, those of device memory included, queues excluded.
    pub cached_per_token: Bytes,
    /// Bytes that each part takes from queues for one token.
    pub received_per_token: Bytes,
    /// Bytes put into queues by one token.
    pub sent_per_token: Bytes,
    /// Slots of queues that are taken or filled for one token.
    pub messages_per_token: f64,
    /// Tokens of one execution.
    pub tokens: u64,
    /// Thread blocks (work-groups) it runs on, one a core.
    pub ctas: u32,
}

/// The two classes that a load balance tells apart (paper 003).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageClass {
    /// Matrix units.
    Tensor,
    /// Vector units.
    Simt,
}

/// A shader as a model sees it: facts of its SPIR-V and, where traced, how often each basic block ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shader {
    /// Hash of its SPIR-V words.
    pub hash: String,
    /// The SPIR-V words.
    pub words: Vec<u32>,
    /// Executions of each reachable basic block in order of appearance, over all invocations; empty where not traced.
    pub block_counts: Vec<u64>,
    /// Invocations (fragments) of the traced run.
    pub invocations: u64,
}
