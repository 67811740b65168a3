//! Operators that run as one, and what moves through memory then (paper 003, section 6.2; the counting of its table 2).

use crate::view::{NodeId, Tensor, TensorId, View};
use std::collections::{BTreeMap, BTreeSet};
use warpsight_graph::{Phase, TensorKind};
use warpsight_ir::Bytes;

/// Operators that run as one. No path leaves them and comes back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// Its operators, ascending.
    pub nodes: Vec<NodeId>,
    /// The rule that made it, for people.
    pub rule: String,
}

/// What moves through device memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Bytes read.
    pub read: Bytes,
    /// Bytes written.
    pub written: Bytes,
}

impl Traffic {
    /// Both directions.
    pub fn bytes(&self) -> Bytes {
        self.read + self.written
    }
}

impl std::ops::Add for Traffic {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { read: self.read + other.read, written: self.written + other.written }
    }
}

impl Group {
    /// Whether it has this operator.
    pub fn has(&self, node: NodeId) -> bool {
        self.nodes.binary_search(&node).is_ok()
    }

    /// Tensors that it reads from memory, each once.
    pub fn external_inputs(&self, graph: &View) -> BTreeSet<TensorId> {
        let inputs = self.nodes.iter().flat_map(|&id| graph.node(id).inputs.iter().copied());
        inputs.filter(|&id| graph.tensor(id).producer.is_none_or(|producer| !self.has(producer))).collect()
    }

    /// Tensors that it writes to memory: outputs of the graph, and what operators outside read (in training, what the backward pass needs).
    pub fn external_outputs(&self, graph: &View) -> BTreeSet<TensorId> {
        let outputs = self.nodes.iter().flat_map(|&id| graph.node(id).outputs.iter().copied());
        let leaves = |&id: &TensorId| {
            let tensor = graph.tensor(id);
            tensor.kind == TensorKind::Output || tensor.consumers.is_empty() || tensor.consumers.iter().any(|&consumer| !self.has(consumer))
        };
        outputs.filter(leaves).collect()
    }

    /// What it writes for the backward pass alone and reads itself: activations that are stored (paper 003, section 6.4). Part of its
    /// traffic; table 2 of the paper seems not to count it.
    pub fn side_outputs(&self, graph: &View) -> Bytes {
        let late = |reader: &NodeId| graph.node(*reader).phase == Phase::Backward;
        let stored = |tensor: &&Tensor| {
            let (inside, outside): (Vec<NodeId>, Vec<NodeId>) = tensor.consumers.iter().partition(|reader| self.has(**reader));
            tensor.kind == TensorKind::Act && inside.iter().any(|reader| !late(reader)) && outside.iter().all(late)
        };
        let outputs = self.external_outputs(graph).into_iter().map(|id| graph.tensor(id));
        outputs.filter(stored).map(|tensor| Bytes(tensor.bytes() as f64)).sum()
    }

    /// Its traffic: what comes from outside once, what goes outside once, and nothing of what stays within.
    pub fn traffic(&self, graph: &View) -> Traffic {
        // A gather reads less of a tensor than there is.
        let mut read: BTreeMap<TensorId, f64> = BTreeMap::new();
        for node in self.nodes.iter().map(|&id| graph.node(id)) {
            for &id in &node.inputs {
                if graph.tensor(id).producer.is_none_or(|producer| !self.has(producer)) {
                    let most = read.entry(id).or_default();
                    *most = most.max(node.read.0);
                }
            }
        }
        let read = read.into_iter().map(|(id, most)| Bytes((graph.tensor(id).bytes() as f64).min(most)));
        let bytes = |id: &TensorId| Bytes(graph.tensor(*id).bytes() as f64);
        Traffic { read: read.sum(), written: self.external_outputs(graph).iter().map(bytes).sum() }
    }
}

/// Of the whole graph, where these groups run as one each and all other operators by themselves.
pub fn traffic(graph: &View, groups: &[Group]) -> Traffic {
    let inside: BTreeSet<NodeId> = groups.iter().flat_map(|group| group.nodes.iter().copied()).collect();
    let alone = graph.ids().filter(|id| !inside.contains(id));
    let alone = alone.map(|id| Traffic { read: graph.node(id).read, written: graph.node(id).written });
    groups.iter().map(|group| group.traffic(graph)).chain(alone).fold(Traffic::default(), |a, b| a + b)
}
