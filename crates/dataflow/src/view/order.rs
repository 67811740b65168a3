//! An order of nodes that depends on what they compute alone: not on names, not on the order of the file.

use super::{Node, NodeId, Tensor, TensorId, View};
use std::collections::{BTreeSet, HashSet};

/// Producers before consumers; among those that are ready, the lowest level and then the fingerprint decide. Where even these are equal,
/// nodes do the same to the same, and either order gives the same plan.
pub fn canonical(nodes: &[Node], tensors: &[Tensor]) -> Vec<NodeId> {
    let producers = |at: usize| -> BTreeSet<usize> {
        nodes[at].inputs.iter().filter_map(|id| tensors[id.0].producer).map(|producer| producer.0).collect()
    };
    let mut waits: Vec<usize> = (0..nodes.len()).map(|at| producers(at).len()).collect();
    let mut levels = vec![0_usize; nodes.len()];
    let mut order: Vec<usize> = (0..nodes.len()).filter(|&at| waits[at] == 0).collect();
    let mut next = 0;
    while let Some(&at) = order.get(next) {
        next += 1;
        let consumers: BTreeSet<usize> =
            nodes[at].outputs.iter().flat_map(|id| tensors[id.0].consumers.iter().map(|consumer| consumer.0)).collect();
        for consumer in consumers {
            waits[consumer] -= 1;
            levels[consumer] = levels[consumer].max(levels[at] + 1);
            if waits[consumer] == 0 {
                order.push(consumer);
            }
        }
    }
    let prints = fingerprints(nodes, tensors, &order);
    order.sort_by_key(|&at| (levels[at], prints[at], at));
    order.into_iter().map(NodeId).collect()
}

/// What a node computes, from what and for whom, as a number: told along the whole graph and back, until no more nodes can be told apart.
/// `order` has producers before consumers.
fn fingerprints(nodes: &[Node], tensors: &[Tensor], order: &[usize]) -> Vec<u64> {
    let words = |node: &Node| [node.class as u64, node.phase as u64, node.flops.to_bits(), node.read.0.to_bits(), node.written.0.to_bits()];
    let begin = |tensor: &Tensor| mixed(tensor.shape.iter().copied().chain([tensor.element, tensor.kind as u64]));
    let mut of_tensors: Vec<u64> = tensors.iter().map(begin).collect();
    let mut of_nodes: Vec<u64> = nodes.iter().map(|node| mixed(words(node))).collect();
    // Who reads a tensor, and in which place.
    let mut uses: Vec<Vec<(usize, u64)>> = vec![Vec::new(); tensors.len()];
    for (at, node) in nodes.iter().enumerate() {
        node.inputs.iter().zip(0..).for_each(|(input, place)| uses[input.0].push((at, place)));
    }
    // Readers have no order of their own.
    let read = |tensor: usize, of_tensors: &[u64], of_nodes: &[u64]| {
        let mut readers: Vec<u64> = uses[tensor].iter().map(|&(node, place)| mixed([of_nodes[node], place])).collect();
        readers.sort_unstable();
        mixed([of_tensors[tensor]].into_iter().chain(readers))
    };
    let distinct = |prints: &[u64]| prints.iter().collect::<HashSet<_>>().len();
    let mut told_apart = 0;
    loop {
        let now = distinct(&of_nodes) + distinct(&of_tensors);
        if now <= told_apart {
            return of_nodes;
        }
        told_apart = now;
        for &at in order {
            of_nodes[at] = mixed([of_nodes[at]].into_iter().chain(nodes[at].inputs.iter().map(|id| of_tensors[id.0])));
            for (id, place) in nodes[at].outputs.iter().zip(0..) {
                of_tensors[id.0] = mixed([of_tensors[id.0], of_nodes[at], place]);
            }
        }
        for &at in order.iter().rev() {
            for id in &nodes[at].outputs {
                of_tensors[id.0] = read(id.0, &of_tensors, &of_nodes);
            }
            of_nodes[at] = mixed([of_nodes[at]].into_iter().chain(nodes[at].outputs.iter().map(|id| of_tensors[id.0])));
        }
        for at in (0..tensors.len()).filter(|&at| tensors[at].producer.is_none()) {
            of_tensors[at] = read(at, &of_tensors, &of_nodes);
        }
    }
}

/// A number for a sequence (the finaliser of splitmix64 after each word).
fn mixed(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(0x9e37_79b9_7f4a_7c15, |state: u64, word| {
        let z = state.wrapping_mul(31).wrapping_add(word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

/// Nodes in this order, tensors by first use; what nobody uses is left out.
pub fn arranged(name: String, nodes: Vec<Node>, tensors: Vec<Tensor>, order: &[NodeId]) -> View {
    let mut place = vec![NodeId(0); nodes.len()];
    order.iter().enumerate().for_each(|(at, id)| place[id.0] = NodeId(at));
    let mut used: Vec<Option<TensorId>> = vec![None; tensors.len()];
    let mut sources = Vec::new();
    for id in order {
        for tensor in nodes[id.0].inputs.iter().chain(&nodes[id.0].outputs) {
            used[tensor.0].get_or_insert_with(|| {
                sources.push(*tensor);
                TensorId(sources.len() - 1)
            });
        }
    }
    // Every tensor of a node was given a place just now.
    let at = |id: TensorId| used[id.0].unwrap_or(id);
    let node = |id: &NodeId| {
        let mut node = nodes[id.0].clone();
        node.inputs.iter_mut().chain(&mut node.outputs).for_each(|tensor| *tensor = at(*tensor));
        if let Some(gemm) = &mut node.gemm {
            (gemm.left, gemm.right) = (at(gemm.left), at(gemm.right));
        }
        node
    };
    let tensor = |id: &TensorId| {
        let mut tensor = tensors[id.0].clone();
        tensor.producer = tensor.producer.map(|id| place[id.0]);
        tensor.consumers.iter_mut().for_each(|id| *id = place[id.0]);
        tensor.consumers.sort_unstable();
        tensor
    };
    View { name, nodes: order.iter().map(node).collect(), tensors: sources.iter().map(tensor).collect() }
}
