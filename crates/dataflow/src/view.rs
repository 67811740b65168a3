//! What planning sees of a graph of operators. What only moves or renames elements is no operator there, and a bias belongs to its product,
//! as in the graphs of paper 003.

mod of;
mod order;

pub use of::Nothing;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use warpsight_graph::{Class, Extents, Phase, TensorKind};
use warpsight_ir::Bytes;

/// Position of a node in [`View::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub usize);

/// Position of a tensor in [`View::tensors`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TensorId(pub usize);

/// Operators in an order that names and the order of the file have no influence on: producers before consumers, equals by what they
/// compute and from what. Every tensor is produced once and before its use.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Its name.
    pub name: String,
    /// The operators.
    pub nodes: Vec<Node>,
    /// The tensors, by their first use in the order of the nodes.
    pub tensors: Vec<Tensor>,
}

/// An operator.
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
    /// The products that its result consists of, where it computes on matrix units: stacks of them, convolutions and attention too.
    pub products: Option<Products>,
    /// Whether elements of its result come from windows of the input, which overlap or reach beyond it, so that its input does not come in
    /// rows.
    pub windows: bool,
}

/// Equal products of matrices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Products {
    /// Rows of each result.
    pub m: u64,
    /// Columns of each result.
    pub n: u64,
    /// Products that each element sums: from shapes, where the operator is known; of opaque work what its operations come to.
    pub k: f64,
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
    fn new(Extents { m, n, k }: Extents, left: TensorId, right: TensorId) -> Self {
        Self { m, n, k, right, left }
    }

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

impl View {
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
