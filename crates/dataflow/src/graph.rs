//! Operators and the tensors between them. A graph that exists is sound: every tensor is produced once and before its use, sizes fit.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use warpsight_ir::Bytes;

/// Position of a node in [`Graph::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub usize);

/// Position of a tensor in [`Graph::tensors`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TensorId(pub usize);

/// Operators in an order that names and the order of the file have no influence on: producers before consumers, equals by what they
/// compute and from what.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Its name.
    pub name: String,
    /// The operators.
    pub nodes: Vec<Node>,
    /// The tensors, by their first use in the order of the nodes.
    pub tensors: Vec<Tensor>,
}

/// An operator. Views, transposes and casts are none.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What the input calls it.
    pub name: String,
    /// Its operator, as in `linear`; for people, nothing depends on it.
    pub op: String,
    /// How it computes.
    pub class: Class,
    /// Which pass it is part of.
    pub phase: Phase,
    /// What it reads, in order; a tensor may occur twice.
    pub inputs: SmallVec<[TensorId; 4]>,
    /// What it writes.
    pub outputs: SmallVec<[TensorId; 2]>,
    /// Floating-point operations.
    pub flops: f64,
    /// Bytes it reads: of its inputs once each, a gather only the rows that it touches.
    pub read: Bytes,
    /// Bytes it writes.
    pub written: Bytes,
    /// Its shape, where it is a plain matrix product.
    pub gemm: Option<Gemm>,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Of inference too.
    Forward,
    /// Gradients.
    Backward,
}

/// output\[m, n\] = left\[m, k\] · right\[k, n\], either operand possibly transposed. The right operand is held whole in one tensor; the
/// left one may be a slice of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gemm {
    /// Rows of the output.
    pub m: u64,
    /// Columns of the output.
    pub n: u64,
    /// Products that are summed.
    pub k: u64,
    /// Which tensor is the right operand.
    pub right: TensorId,
    /// Which is the left one.
    pub left: TensorId,
}

/// What flows between operators.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// What the input calls it.
    pub name: String,
    /// Extents, slowest first; none is zero.
    pub shape: SmallVec<[u64; 4]>,
    /// Of one element.
    pub element: u64,
    /// Where it comes from and goes to.
    pub kind: TensorKind,
    /// Who writes it; only what comes from outside has no producer.
    pub producer: Option<NodeId>,
    /// Who reads it, ascending, each once.
    pub consumers: SmallVec<[NodeId; 4]>,
}

/// Where a tensor comes from and goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TensorKind {
    /// From outside, anew for each execution (training graphs do not tell parameters apart).
    Input,
    /// From outside, the same for many executions.
    Param,
    /// Known when the graph is made, such as zeros.
    Const,
    /// Between operators.
    Act,
    /// What the graph is for: written to memory, whoever else reads it.
    Output,
}

impl Tensor {
    /// Number of elements.
    pub fn elements(&self) -> u64 {
        // No graph takes a tensor with more than 64 bits can count.
        self.shape.iter().fold(1, |product, extent| product.saturating_mul(*extent))
    }

    /// Bytes of all elements.
    pub fn bytes(&self) -> u64 {
        self.elements().saturating_mul(self.element)
    }
}

impl Gemm {
    /// Multiplications and additions.
    pub fn flops(&self) -> f64 {
        2.0 * self.m as f64 * self.n as f64 * self.k as f64
    }
}

/// A node as an error names it: which one it is, and what people call it. Two nodes may have one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Which.
    pub id: NodeId,
    /// What the input calls it.
    pub name: String,
}

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

impl Graph {
    /// A node for an error.
    pub fn named(&self, id: NodeId) -> Named {
        Named { id, name: self.node(id).name.clone() }
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0]
    }

    /// A tensor.
    pub fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.0]
    }

    /// Positions of all nodes, producers first.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId)
    }

    /// Nodes whose outputs this one reads, each once, ascending.
    pub fn producers(&self, id: NodeId) -> SmallVec<[NodeId; 4]> {
        let mut found: SmallVec<[NodeId; 4]> = self.node(id).inputs.iter().filter_map(|&t| self.tensor(t).producer).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Nodes that read an output of this one, each once, ascending.
    pub fn consumers(&self, id: NodeId) -> SmallVec<[NodeId; 4]> {
        let mut found: SmallVec<[NodeId; 4]> =
            self.node(id).outputs.iter().flat_map(|&t| self.tensor(t).consumers.iter().copied()).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether a path leads from one of these nodes out of them and back in: such nodes cannot run as one (paper 003, section 5.1).
    /// `nodes` ascend.
    pub fn is_convex(&self, nodes: &[NodeId]) -> bool {
        let (Some(&first), Some(&last)) = (nodes.first(), nodes.last()) else { return true };
        // What lies behind a node of the set, outside of it.
        let mut outside = vec![false; last.0 - first.0 + 1];
        (first.0..=last.0).all(|at| {
            let id = NodeId(at);
            let inside = nodes.binary_search(&id).is_ok();
            let producers = self.producers(id);
            let behind = producers.iter().any(|p| p.0 >= first.0 && outside[p.0 - first.0]);
            if inside {
                return !behind;
            }
            outside[at - first.0] = behind || producers.iter().any(|p| nodes.binary_search(p).is_ok());
            true
        })
    }

    /// Bytes that all operators move, each by itself: every operand through memory once.
    pub fn bytes(&self) -> Bytes {
        self.nodes.iter().map(|node| node.read + node.written).sum()
    }
}
