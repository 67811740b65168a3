//! Every node in one cluster, and an order in which the clusters can run one after the other.

use crate::graph::{Graph, NodeId};
use crate::group::Group;

/// Clusters of nodes without a cycle among them: each is convex, and no two wait for each other. Begins with every node by itself.
#[derive(Clone)]
pub struct Partition<'a> {
    graph: &'a Graph,
    /// The cluster of each node.
    of: Vec<usize>,
    /// Their nodes, ascending; empty where a cluster has become part of another.
    members: Vec<Vec<NodeId>>,
}

impl<'a> Partition<'a> {
    /// Every node by itself.
    pub fn new(graph: &'a Graph) -> Self {
        Self { graph, of: (0..graph.nodes.len()).collect(), members: graph.ids().map(|id| vec![id]).collect() }
    }

    /// With these groups; `None` where groups share nodes or wait for each other.
    pub fn of(graph: &'a Graph, groups: &[Group]) -> Option<Self> {
        let mut partition = Self::new(graph);
        let mut taken = vec![false; graph.nodes.len()];
        for group in groups {
            let &first = group.nodes.first()?;
            for node in &group.nodes {
                if std::mem::replace(&mut taken[node.0], true) {
                    return None;
                }
                partition.of[node.0] = first.0;
                partition.members[node.0].clear();
            }
            partition.members[first.0] = group.nodes.clone();
        }
        let sound = partition.clusters().all(|cluster| !partition.detour(cluster, cluster));
        sound.then_some(partition)
    }

    /// The cluster that a node is in.
    pub fn cluster(&self, node: NodeId) -> usize {
        self.of[node.0]
    }

    /// The nodes of a cluster, ascending.
    pub fn nodes(&self, cluster: usize) -> &[NodeId] {
        &self.members[cluster]
    }

    /// Clusters that have nodes.
    pub fn clusters(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.members.len()).filter(|&cluster| !self.members[cluster].is_empty())
    }

    /// Both clusters' nodes, ascending.
    pub fn union(&self, a: usize, b: usize) -> Vec<NodeId> {
        let mut nodes = [self.nodes(a), self.nodes(b)].concat();
        nodes.sort_unstable();
        nodes
    }

    /// Whether two clusters can be one: no path leads from one to the other through a third.
    pub fn fit(&self, a: usize, b: usize) -> bool {
        a != b && !self.detour(a, b) && !self.detour(b, a)
    }

    /// Makes two clusters one, known by the lower number.
    pub fn merge(&mut self, a: usize, b: usize) -> usize {
        let (into, from) = (a.min(b), a.max(b));
        let nodes = self.union(a, b);
        self.members[from].clear();
        nodes.iter().for_each(|node| self.of[node.0] = into);
        self.members[into] = nodes;
        into
    }

    /// Takes nodes out of a cluster into one of their own, which is returned. Nothing of the cluster may lie both before and behind them.
    pub fn split(&mut self, cluster: usize, nodes: &[NodeId]) -> usize {
        let rest: Vec<NodeId> = self.members[cluster].iter().copied().filter(|node| nodes.binary_search(node).is_err()).collect();
        // A cluster for each node there is: one of them is free, or this one keeps its number and nodes.
        let free = (0..self.members.len()).find(|&at| self.members[at].is_empty());
        let (Some(free), false) = (free, rest.is_empty()) else { return cluster };
        nodes.iter().for_each(|node| self.of[node.0] = free);
        self.members[free] = nodes.to_vec();
        self.members[cluster] = rest;
        free
    }

    /// Whether a path leads from one cluster to another, or back to itself, through a third.
    fn detour(&self, from: usize, to: usize) -> bool {
        let mut seen = vec![false; self.members.len()];
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            for &node in &self.members[at] {
                for next in self.graph.consumers(node) {
                    let next = self.of[next.0];
                    if next == to {
                        if at != from {
                            return true;
                        }
                    } else if next != from && !std::mem::replace(&mut seen[next], true) {
                        open.push(next);
                    }
                }
            }
        }
        false
    }
}
