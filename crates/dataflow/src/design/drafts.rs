//! Which operators share a stage, and how many tokens an execution has.

use super::DesignError;
use super::reduce::{rows, sums_rows};
use crate::group::Group;
use crate::view::{Gemm, Node, NodeId, View};
use std::collections::{BTreeMap, BTreeSet};
use warpsight_graph::Class;
use warpsight_ir::StageClass;

/// Operations per element beyond which an operator is taken to need whole rows, such as a softmax: it is no epilogue of tiles.
pub const EPILOGUE_FLOPS: f64 = 4.0;
/// Tokens beyond this are a multiple of it, so that reductions find divisors.
const ROUND: u64 = 16;

/// Operators of one stage, before reductions are split.
pub struct Draft {
    /// The first one is at its heart.
    pub nodes: Vec<NodeId>,
    /// The unit it needs.
    pub class: StageClass,
    /// Whether it sums over rows, so that it has a result after the last token only.
    pub sums: bool,
}

/// Element-wise operators and reductions of rows join the stage before them where all they receive comes from it.
pub fn drafts(graph: &View, group: &Group, epilogues: bool) -> Result<Vec<Draft>, DesignError> {
    let mut drafts: Vec<Draft> = Vec::new();
    let mut of: BTreeMap<NodeId, usize> = BTreeMap::new();
    for &id in &group.nodes {
        let node = graph.node(id);
        if node.class == Class::Gather {
            return Err(DesignError::Gather { node: graph.named(id) });
        }
        if node.windows {
            return Err(DesignError::Windows { node: graph.named(id) });
        }
        let sums = sums_rows(graph, node);
        let before: BTreeSet<usize> = graph.producers(id).iter().filter_map(|producer| of.get(producer).copied()).collect();
        let joined = match (before.first(), before.len()) {
            (Some(&at), 1) if !sums && node.class != Class::Tensor && !drafts[at].sums => {
                let draft = &drafts[at];
                let joins = match draft.class {
                    StageClass::Simt => true,
                    StageClass::Tensor => epilogues && is_epilogue(graph, graph.node(draft.nodes[0]), node),
                };
                joins.then_some(at)
            }
            _ => None,
        };
        let at = joined.unwrap_or(drafts.len());
        if joined.is_none() {
            let class = if node.class == Class::Tensor { StageClass::Tensor } else { StageClass::Simt };
            drafts.push(Draft { nodes: Vec::new(), class, sums });
        }
        drafts[at].nodes.push(id);
        of.insert(id, at);
    }
    Ok(drafts)
}

/// Whether an operator can be applied to tiles of a product's output as they are finished.
fn is_epilogue(graph: &View, product: &Node, node: &Node) -> bool {
    let (own, output) = (graph.tensor(product.outputs[0]), graph.tensor(node.outputs[0]));
    let alike = node.outputs.len() == 1 && output.elements() == own.elements();
    node.class == Class::Simt && alike && node.flops <= EPILOGUE_FLOPS * output.elements() as f64
}

/// A product such that its right operand is the one that can be held: where both would do by size, that is the one nobody computes.
pub fn oriented(graph: &View, node: &Node) -> Option<Gemm> {
    let gemm = node.gemm?;
    let (left, right) = (graph.tensor(gemm.left), graph.tensor(gemm.right));
    let swaps = right.producer.is_some() && left.producer.is_none() && gemm.m == gemm.n && left.elements() == gemm.n * gemm.k;
    Some(if swaps { Gemm { left: gemm.right, right: gemm.left, ..gemm } } else { gemm })
}

/// Which draft has an operator.
pub fn owners(drafts: &[Draft]) -> BTreeMap<NodeId, usize> {
    drafts.iter().enumerate().flat_map(|(at, draft)| draft.nodes.iter().map(move |&id| (id, at))).collect()
}

/// Tokens of one execution: so many that each has the wanted rows of the product with the most (without products, of the tensor with the
/// most), and at least one row of every tensor.
pub fn tokens(graph: &View, group: &Group, drafts: &[Draft], wanted: u64) -> u64 {
    let summed: BTreeSet<NodeId> = drafts.iter().filter(|d| d.sums).flat_map(|d| d.nodes.iter().copied()).collect();
    let streams = group.nodes.iter().filter(|id| !summed.contains(id)).flat_map(|&id| graph.node(id).outputs.iter());
    let into_sums = summed.iter().flat_map(|&id| graph.node(id).inputs.iter());
    let extents: Vec<u64> = streams.chain(into_sums).map(|&id| rows(graph.tensor(id))).filter(|&rows| rows > 1).collect();
    let of_product = |&id: &NodeId| graph.node(id).gemm.map(|gemm| if summed.contains(&id) { gemm.k } else { gemm.m });
    let most = group.nodes.iter().filter_map(of_product).max().or_else(|| extents.iter().copied().max()).unwrap_or(1);
    let least = extents.iter().copied().min().unwrap_or(1);
    let tokens = most.div_ceil(wanted.max(1));
    let rounded = if tokens > ROUND { tokens.next_multiple_of(ROUND) } else { tokens };
    rounded.min(least).max(1)
}
