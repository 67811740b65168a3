//! Operators one after another: each a kernel of its own (bulk-synchronous execution), or several in one kernel whose work-groups do not
//! exchange anything (vertical fusion; paper 003, sections 2 and 3).

use crate::design::DesignError;
use crate::group::Group;
use crate::platform::Platform;
use crate::rates::{Rates, worthwhile};
use crate::view::{Node, NodeId, Products, View};
use std::collections::BTreeMap;
use warpsight_graph::{Class, Phase};
use warpsight_ir::{Bytes, Seconds, StageClass, StageWork};

/// Tiles of products that libraries choose from.
const TILES: [(u64, u64); 6] = [(256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64)];
/// Into how many partial sums a product may be split.
const SPLITS: [u64; 6] = [1, 2, 4, 8, 16, 32];
/// Elements of the output of an element-wise operator that a work-group makes.
const ELEMENTS: u64 = 4096;

/// What runs from one launch to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its operators.
    pub nodes: Vec<NodeId>,
    /// Their pass; of a group, that of its last operator.
    pub phase: Phase,
    /// Predicted, without the launch.
    pub seconds: Seconds,
    /// Of these, how long the units that are needed most compute, averaged over multiprocessors.
    pub busy: Seconds,
    /// Through device memory.
    pub dram: Bytes,
    /// Through the second-level cache, device memory's included.
    pub l2: Bytes,
}

/// Operators in one kernel: work-groups keep what passes between them in shared memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Fused {
    /// The operators.
    pub group: Group,
    /// Rows of a tile that a work-group carries through all of them.
    pub rows: u64,
}

/// An operator as a kernel of its own; every operand goes through memory once.
///
/// # Errors
/// The operator whose rate is not known.
pub fn alone(graph: &View, id: NodeId, platform: &Platform, rates: &dyn Rates) -> Result<Run, DesignError> {
    let node = graph.node(id);
    let (stage, seconds) = launched(node, rates, tiled(graph, id, platform, rates)?)?;
    let own = computing(&stage);
    let busy = share_of_cores(rate(node, rates, &own)?, &own, platform);
    let l2 = stage.cached_per_token * stage.tokens as f64;
    Ok(Run { nodes: vec![id], phase: node.phase, seconds, busy, dram: node.read + node.written, l2 })
}

/// Operators fused vertically: each multiprocessor holds one work-group, which carries out one operator after another, since a second one
/// would halve the shared memory of both (temporal multiplexing, section 3). Matrix units wait while vector units work; operands are loaded
/// while products are computed, results are stored behind.
///
/// # Errors
/// The operator whose rate is not known.
pub fn fused(graph: &View, fused: &Fused, platform: &Platform, rates: &dyn Rates) -> Result<Run, DesignError> {
    let nodes = &fused.group.nodes;
    let traffic = fused.group.traffic(graph);
    let (mut compute, mut busy, mut groups) = ([Seconds::ZERO; 2], [Seconds::ZERO; 2], f64::from(platform.cores));
    let mut l2 = traffic.bytes();
    for (&id, own) in nodes.iter().zip(parts(graph, fused, platform, rates)?) {
        if own.tiled {
            groups = groups.min(own.stage.tokens as f64);
        }
        l2 += own.again;
        let seconds = rate(graph.node(id), rates, &own.stage)?;
        let class = usize::from(own.stage.class == StageClass::Simt);
        compute[class] += seconds;
        busy[class] += share_of_cores(seconds, &own.stage, platform);
    }
    // As many multiprocessors as have work share memory.
    let rate = platform.dram.min(platform.l2_rate).min(platform.port * groups);
    let seconds = compute[0].max(traffic.read / rate) + compute[1] + traffic.written / rate;
    let phase = nodes.last().map_or(Phase::Forward, |&id| graph.node(id).phase);
    Ok(Run { nodes: nodes.clone(), phase, seconds, busy: busy[0].max(busy[1]), dram: traffic.bytes(), l2 })
}

/// What one operator of a fused kernel computes.
pub struct Part {
    /// Without memory.
    pub stage: StageWork,
    /// Whether its tokens are the tiles of rows that a work-group carries through all operators.
    pub tiled: bool,
    /// Bytes of its operands that come from the second-level cache beyond once.
    pub again: Bytes,
}

/// What each operator of a fused kernel computes, in their order.
///
/// # Errors
/// The operator whose rate is not known.
pub fn parts(graph: &View, fused: &Fused, platform: &Platform, rates: &dyn Rates) -> Result<Vec<Part>, DesignError> {
    let chained = chained(graph, &fused.group);
    let part = |&id: &NodeId| {
        let node = graph.node(id);
        Ok(match node.gemm {
            // Who goes on with a tile of rows needs all of its columns: rows alone are shared.
            Some(gemm) if chained => {
                let rows = fused.rows.max(1);
                let flops = 2.0 * (rows.next_multiple_of(16) * gemm.n.next_multiple_of(8) * gemm.k) as f64;
                let stage = kernel(node, StageClass::Tensor, element(graph, node), gemm.m.div_ceil(rows), flops, Bytes::ZERO, platform);
                // Weights stay: each work-group has its own.
                let others = f64::from(platform.cores).min(stage.tokens as f64) - 1.0;
                let again = Bytes(graph.tensor(gemm.right).bytes() as f64) * others;
                Part { stage: computing(&stage), tiled: true, again }
            }
            _ => {
                // What passes through memory counts for all operators together.
                let stage = fastest(graph, id, platform, rates, computing)?;
                let again = (stage.cached_per_token * stage.tokens as f64 - node.read - node.written).max(Bytes::ZERO);
                Part { stage: computing(&stage), tiled: false, again }
            }
        })
    };
    fused.group.nodes.iter().map(part).collect()
}

/// The fastest of the tiles for an operator that is a kernel of its own; a token is a tile.
///
/// # Errors
/// The operator whose rate is not known.
pub fn tiled(graph: &View, id: NodeId, platform: &Platform, rates: &dyn Rates) -> Result<StageWork, DesignError> {
    fastest(graph, id, platform, rates, StageWork::clone)
}

/// Whether a product of a group depends on another one.
fn chained(graph: &View, group: &Group) -> bool {
    let mut behind = std::collections::BTreeSet::new();
    for &id in &group.nodes {
        let after = graph.producers(id).iter().any(|producer| behind.contains(producer));
        let product = graph.node(id).class == Class::Tensor;
        if product && after {
            return true;
        }
        if product || after {
            behind.insert(id);
        }
    }
    false
}

/// A stage that only computes.
pub fn computing(stage: &StageWork) -> StageWork {
    StageWork {
        bytes_per_token: Bytes::ZERO,
        cached_per_token: Bytes::ZERO,
        received_per_token: Bytes::ZERO,
        sent_per_token: Bytes::ZERO,
        messages_per_token: 0.0,
        ..stage.clone()
    }
}

/// Of seconds on the busiest multiprocessor, the average of all.
fn share_of_cores(seconds: Seconds, stage: &StageWork, platform: &Platform) -> Seconds {
    let rounds = stage.tokens.div_ceil(u64::from(stage.ctas.max(1)));
    seconds * (stage.tokens as f64 / (rounds as f64 * f64::from(platform.cores)))
}

fn rate(node: &Node, rates: &dyn Rates, stage: &StageWork) -> Result<Seconds, DesignError> {
    rates.seconds(stage).map_err(|why| DesignError::Rate { node: node.name.clone(), why })
}

fn element(graph: &View, node: &Node) -> u32 {
    let operand = node.gemm.map_or(node.inputs[0], |gemm| gemm.left);
    graph.tensor(operand).element as u32
}

/// On as many work-groups as take the least time, and of those on the fewest: not on all multiprocessors, whatever it costs.
fn launched(node: &Node, rates: &dyn Rates, stage: StageWork) -> Result<(StageWork, Seconds), DesignError> {
    let mut best: Option<(StageWork, Seconds)> = None;
    for ctas in worthwhile(stage.tokens, 1, stage.ctas) {
        let stage = StageWork { ctas, ..stage.clone() };
        let seconds = rate(node, rates, &stage)?;
        if best.as_ref().is_none_or(|(_, least)| seconds < *least) {
            best = Some((stage, seconds));
        }
    }
    let seconds = rate(node, rates, &stage)?;
    Ok(best.unwrap_or((stage, seconds)))
}

/// Of the tiles for an operator those that take the least time, of what counts of it.
fn fastest(
    graph: &View,
    id: NodeId,
    platform: &Platform,
    rates: &dyn Rates,
    counts: fn(&StageWork) -> StageWork,
) -> Result<StageWork, DesignError> {
    let node = graph.node(id);
    let mut best: Option<(Seconds, StageWork)> = None;
    for stage in candidates(graph, node, platform) {
        let seconds = rate(node, rates, &counts(&stage))?;
        if best.as_ref().is_none_or(|(least, _)| seconds < *least) {
            best = Some((seconds, stage));
        }
    }
    // Every class has a candidate.
    best.map(|(_, stage)| stage).ok_or_else(|| DesignError::Gather { node: graph.named(id) })
}

fn candidates(graph: &View, node: &Node, platform: &Platform) -> Vec<StageWork> {
    let output = graph.tensor(node.outputs[0]);
    let elements = element(graph, node);
    let bytes = node.read + node.written;
    if let Some(Products { m, n, k }) = node.products {
        let batch = output.elements() / (m * n).max(1);
        let tiles = TILES.iter().flat_map(|&tile| SPLITS.iter().map(move |&split| (tile, split)));
        let stage = |((rows, columns), split): ((u64, u64), u64)| {
            let tokens = m.div_ceil(rows) * n.div_ceil(columns) * batch.max(1) * split;
            let depth = k / split as f64;
            let (down, across) = (rows.min(m) as f64, columns.min(n) as f64);
            let sums = if split > 1 { 2.0 * 4.0 } else { f64::from(elements) };
            let cached = Bytes((down + across) * depth * f64::from(elements) + down * across * sums);
            let flops = 2.0 * (rows.min(m.next_multiple_of(16)) * columns.min(n.next_multiple_of(8))) as f64 * depth;
            kernel(node, StageClass::Tensor, elements, tokens, flops, cached, platform)
        };
        return tiles.filter(|(_, split)| *split as f64 * 64.0 <= k || *split == 1).map(stage).collect();
    }
    let most = node.inputs.iter().map(|&id| graph.tensor(id).elements()).max().unwrap_or(1).max(output.elements());
    let sums_rows = crate::design::sums_rows(graph, node);
    let stage = |tokens: u64| {
        let flops = node.flops.max(most as f64) / tokens as f64;
        kernel(node, StageClass::Simt, elements, tokens, flops, bytes / tokens as f64, platform)
    };
    if !sums_rows {
        return vec![stage(most.div_ceil(ELEMENTS))];
    }
    // Work-groups of whole lines, or of fewer columns as long as these fill what device memory fetches at once.
    let most = platform.reduction_columns.max(1);
    let least = platform.fetch.map_or(most, |fetch| fetch.0 as u64 / u64::from(elements).max(1)).clamp(1, most);
    let columns = std::iter::successors(Some(most), |columns| Some(columns / 2)).take_while(|&columns| columns >= least);
    columns.map(|columns| stage(output.elements().div_ceil(columns))).collect()
}

/// A kernel is a stage without queues, on as many work-groups as there are multiprocessors.
fn kernel(node: &Node, class: StageClass, element: u32, tokens: u64, flops: f64, cached: Bytes, platform: &Platform) -> StageWork {
    StageWork {
        name: node.name.as_str().into(),
        class,
        shape: BTreeMap::new(),
        element,
        parts: 1,
        flops_per_token: flops,
        epilogue_per_token: 0.0,
        bytes_per_token: (node.read + node.written) / tokens as f64,
        cached_per_token: cached,
        received_per_token: Bytes::ZERO,
        sent_per_token: Bytes::ZERO,
        messages_per_token: 0.0,
        tokens,
        ctas: platform.cores,
    }
}
