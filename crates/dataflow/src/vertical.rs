//! Vertical fusion: operators one after the other in one kernel, tile by tile, as far as shared memory holds what they need
//! (paper 003, section 3).
//!
//! A work-group takes a tile of rows through all operators. A product that reads from memory streams both operands through staging
//! buffers. One that reads a tile holds its weights, which the next tile needs again. A tile stays in shared memory where a product, a
//! row-wise operator or a reduction reads it, or a row-wise operator writes it: all these need whole rows, so that a large hidden
//! dimension does not fit (figure 2a). Elementwise operators work on registers.

use crate::graph::{Class, Graph, NodeId, TensorId};
use crate::group::Group;
use crate::pattern::{Patterns, is_row_wise};
use crate::select::linked;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use warpsight_ir::Bytes;

/// Rows of a tile with products: four warps with the 16 rows of a matrix instruction each (PTX ISA, mma.m16n8k16), and multiples; 128 rows
/// are the paper's, whose 768 columns of two bytes are just the 192 KB of its figure 2a.
const ROWS: [u64; 3] = [64, 128, 256];
/// Columns of a tile where no operator needs whole rows.
const COLUMNS: [u64; 3] = [64, 128, 256];
/// Products that are summed between two loads: two matrix instructions (k16).
const DEPTH: u64 = 32;
/// Staging buffers of each operand: one is filled while the other is used.
const STAGES: u64 = 2;

/// Groups that run as one kernel each, and what did not fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Vertical {
    /// The groups, each with the shared memory that it needs.
    pub groups: Vec<(Group, Footprint)>,
    /// Operators that patterns link and shared memory keeps apart, ascending, each set once.
    pub refusals: Vec<(Vec<NodeId>, Footprint)>,
}

/// Shared memory of a work-group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Footprint {
    /// Rows of a tile.
    pub rows: u64,
    /// Weights that stay.
    pub weights: Bytes,
    /// Input and output tiles, where the most live at once.
    pub tiles: Bytes,
    /// Buffers through which operands stream.
    pub staging: Bytes,
    /// What a work-group may have.
    pub limit: Bytes,
}

impl Footprint {
    /// All of it.
    pub fn bytes(&self) -> Bytes {
        self.weights + self.tiles + self.staging
    }

    /// Whether a work-group may have that much.
    pub fn fits(&self) -> bool {
        self.bytes().0 <= self.limit.0
    }
}

impl fmt::Display for Footprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, weights, tiles, staging, limit } = self;
        let sign = if self.fits() { "≤" } else { ">" };
        let [weights, tiles, staging, all, limit] = [*weights, *tiles, *staging, self.bytes(), *limit].map(|bytes| bytes.0);
        write!(f, "{rows} rows: weights {weights} B + tiles {tiles} B + staging {staging} B = {all} B {sign} {limit} B")
    }
}

/// Merges what the patterns link, producers first, while shared memory of a work-group holds it.
pub fn vertical(graph: &Graph, patterns: &Patterns, shared: Bytes) -> Vertical {
    let mut refused = BTreeMap::new();
    let groups = linked(graph, patterns, |_, nodes| {
        let footprint = footprint(graph, nodes, shared);
        if !footprint.fits() {
            refused.insert(nodes.to_vec(), footprint);
        }
        footprint.fits()
    });
    let groups = groups.into_iter().map(|group| (footprint(graph, &group.nodes, shared), group)).map(|(bytes, group)| (group, bytes));
    Vertical { groups: groups.collect(), refusals: refused.into_iter().collect() }
}

/// What operators need in one kernel, over all tiles the least; `nodes` ascend.
pub fn footprint(graph: &Graph, nodes: &[NodeId], limit: Bytes) -> Footprint {
    let products = nodes.iter().any(|&id| graph.node(id).class == Class::Tensor);
    // Without a product, a work-group may take row by row.
    let rows: &[u64] = if products { &ROWS } else { &[1] };
    let tiles = rows.iter().flat_map(|&rows| COLUMNS.map(|columns| (rows, columns)));
    let all = tiles.map(|(rows, columns)| Kernel { graph, nodes, rows, columns }.footprint(limit));
    // There is a tile; of equals, the first.
    all.reduce(|best, other| if other.bytes().0 < best.bytes().0 { other } else { best }).unwrap_or(Footprint {
        rows: 1,
        weights: Bytes(0.0),
        tiles: Bytes(0.0),
        staging: Bytes(0.0),
        limit,
    })
}

/// Operators as one kernel with a tile.
struct Kernel<'a> {
    graph: &'a Graph,
    nodes: &'a [NodeId],
    rows: u64,
    columns: u64,
}

impl Kernel<'_> {
    fn has(&self, node: NodeId) -> bool {
        self.nodes.binary_search(&node).is_ok()
    }

    /// Whether an operator needs whole rows of what it reads.
    fn needs_rows(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        matches!(node.class, Class::Tensor | Class::Reduce | Class::Gather) || is_row_wise(self.graph, node)
    }

    /// Whether the result of one of the operators lies in shared memory.
    fn is_tile(&self, id: TensorId) -> bool {
        let tensor = self.graph.tensor(id);
        let row_wise = tensor.producer.is_some_and(|producer| is_row_wise(self.graph, self.graph.node(producer)));
        row_wise || tensor.consumers.iter().any(|&consumer| self.has(consumer) && self.needs_rows(consumer))
    }

    fn columns_of(&self, id: TensorId) -> u64 {
        self.graph.tensor(id).shape.last().copied().unwrap_or(1)
    }

    /// Columns that a product computes at once: all, where a tile of whole rows follows, also behind elementwise operators.
    fn width(&self, id: TensorId) -> u64 {
        let columns = self.columns_of(id);
        let mut open = vec![id];
        // Ways part and meet again: each tensor once.
        let mut seen = BTreeSet::from([id]);
        while let Some(id) = open.pop() {
            if self.is_tile(id) {
                return columns;
            }
            let inside = self.graph.tensor(id).consumers.iter().filter(|consumer| self.has(**consumer));
            let behind = inside.flat_map(|&consumer| self.graph.node(consumer).outputs.iter().copied());
            open.extend(behind.filter(|&id| seen.insert(id)));
        }
        columns.min(self.columns)
    }

    fn footprint(&self, limit: Bytes) -> Footprint {
        let (mut weights, mut tiles, mut staging) = (0, 0, 0);
        for (at, &id) in self.nodes.iter().enumerate() {
            let node = self.graph.node(id);
            if let Some(gemm) = node.gemm {
                let element = self.graph.tensor(gemm.right).element;
                let inside = |tensor: TensorId| self.graph.tensor(tensor).producer.is_some_and(|producer| self.has(producer));
                if inside(gemm.left) || inside(gemm.right) {
                    weights += gemm.n * gemm.k * element;
                } else {
                    staging = staging.max(STAGES * DEPTH * (self.rows + self.width(node.outputs[0])) * element);
                }
            }
            tiles = tiles.max(self.live(at));
        }
        let bytes = |bytes: u64| Bytes(bytes as f64);
        Footprint { rows: self.rows, weights: bytes(weights), tiles: bytes(tiles), staging: bytes(staging), limit }
    }

    /// Bytes of the tiles that an operator reads or writes, and of those that wait for a later one.
    fn live(&self, at: usize) -> u64 {
        let waits =
            |id: &TensorId| self.graph.tensor(*id).consumers.iter().any(|consumer| self.nodes[at..].binary_search(consumer).is_ok());
        let written = |node: &NodeId| self.graph.node(*node).outputs.iter().copied();
        let before = self.nodes[..at].iter().flat_map(written).filter(waits);
        let tiles = before.chain(written(&self.nodes[at])).filter(|&id| self.is_tile(id));
        tiles.map(|id| self.rows * self.columns_of(id) * self.graph.tensor(id).element).sum()
    }
}
