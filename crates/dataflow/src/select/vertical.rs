//! Vertical fusion: operators one after the other in one kernel, tile by tile, as far as shared memory holds what they need
//! (paper 003, section 3).
//!
//! A work-group takes a tile of rows through all operators. A product that reads from memory streams both operands through staging
//! buffers. One that reads a tile holds its weights, which the next tile needs again. A tile stays in shared memory where a product, a
//! row-wise operator or a reduction reads it, or a row-wise operator writes it: all these need whole rows, so that a large hidden
//! dimension does not fit (figure 2a). Elementwise operators work on registers.

use super::linked::linked;
use super::pattern::{Patterns, is_row_wise};
use crate::group::Group;
use crate::view::{NodeId, TensorId, View};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use warpsight_graph::Class;
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
pub fn vertical(graph: &View, patterns: &Patterns, shared: Bytes) -> Vertical {
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
pub fn footprint(graph: &View, nodes: &[NodeId], limit: Bytes) -> Footprint {
    let products = nodes.iter().any(|&id| graph.node(id).class == Class::Tensor);
    // Without a product, a work-group may take row by row.
    let rows: &[u64] = if products { &ROWS } else { &[1] };
    let kernel = Kernel::of(graph, nodes);
    let tiles = rows.iter().flat_map(|&rows| COLUMNS.map(|columns| (rows, columns)));
    let all = tiles.map(|(rows, columns)| kernel.footprint(rows, columns, limit));
    // There is a tile; of equals, the first.
    all.reduce(|best, other| if other.bytes().0 < best.bytes().0 { other } else { best }).unwrap_or(Footprint {
        rows: 1,
        weights: Bytes(0.0),
        tiles: Bytes(0.0),
        staging: Bytes(0.0),
        limit,
    })
}

/// Operators as one kernel, whatever its tile.
struct Kernel {
    /// Of all products that read a tile.
    weights: u64,
    /// Of products that stream: bytes of an element, columns of the result, and whether a tile of whole rows follows.
    streams: Vec<(u64, u64, bool)>,
    /// Bytes of the tiles that live at once for each row, where most do.
    live: u64,
}

impl Kernel {
    fn of(graph: &View, nodes: &[NodeId]) -> Self {
        let inside: HashMap<NodeId, usize> = nodes.iter().enumerate().map(|(at, &id)| (id, at)).collect();
        let columns = |id: TensorId| graph.tensor(id).shape.last().copied().unwrap_or(1);
        // Whether an operator needs whole rows of what it reads.
        let needs_rows = |id: &NodeId| {
            let node = graph.node(*id);
            matches!(node.class, Class::Tensor | Class::Reduce | Class::Gather) || is_row_wise(graph, node)
        };
        // Results in shared memory, and those behind which such a one follows, also behind elementwise operators. Readers come later.
        let (mut tiles, mut leads) = (HashSet::new(), HashSet::new());
        for &id in nodes.iter().rev() {
            let row_wise = is_row_wise(graph, graph.node(id));
            for &output in &graph.node(id).outputs {
                let readers = || graph.tensor(output).consumers.iter().filter(|reader| inside.contains_key(reader));
                if row_wise || readers().any(needs_rows) {
                    tiles.insert(output);
                    leads.insert(output);
                } else if readers().any(|reader| graph.node(*reader).outputs.iter().any(|next| leads.contains(next))) {
                    leads.insert(output);
                }
            }
        }
        let (mut weights, mut streams) = (0, Vec::new());
        // What begins to live and what ends, by position.
        let mut ends = vec![0; nodes.len() + 1];
        let (mut now, mut live) = (0, 0);
        for (at, &id) in nodes.iter().enumerate() {
            let node = graph.node(id);
            if let Some(gemm) = node.gemm {
                let element = graph.tensor(gemm.right).element;
                let computed = |tensor: TensorId| graph.tensor(tensor).producer.is_some_and(|producer| inside.contains_key(&producer));
                if computed(gemm.left) || computed(gemm.right) {
                    weights += gemm.n * gemm.k * element;
                } else {
                    streams.push((element, columns(node.outputs[0]), leads.contains(&node.outputs[0])));
                }
            }
            for &output in node.outputs.iter().filter(|output| tiles.contains(output)) {
                let bytes = columns(output) * graph.tensor(output).element;
                let last = graph.tensor(output).consumers.iter().filter_map(|reader| inside.get(reader)).max();
                now += bytes;
                ends[last.map_or(at, |&last| last.max(at)) + 1] += bytes;
            }
            live = live.max(now - ends[at]);
            now -= ends[at];
        }
        Self { weights, streams, live }
    }

    fn footprint(&self, rows: u64, columns: u64, limit: Bytes) -> Footprint {
        let width = |all: u64, whole: bool| if whole { all } else { all.min(columns) };
        let staged = self.streams.iter().map(|&(element, all, whole)| STAGES * DEPTH * (rows + width(all, whole)) * element);
        let bytes = |bytes: u64| Bytes(bytes as f64);
        let staging = bytes(staged.max().unwrap_or(0));
        Footprint { rows, weights: bytes(self.weights), tiles: bytes(rows * self.live), staging, limit }
    }
}
