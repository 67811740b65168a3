//! Every node in one cluster, and an order in which the clusters can run one after the other.

use crate::group::Group;
use crate::view::{NodeId, View};
use std::collections::BTreeSet;

/// Clusters of nodes without a cycle among them: each is convex, and no two wait for each other. Begins with every node by itself.
#[derive(Clone)]
pub struct Partition<'a> {
    graph: &'a View,
    /// The cluster of each node.
    of: Vec<usize>,
    /// Their nodes, ascending; empty where a cluster has become part of another.
    members: Vec<Vec<NodeId>>,
    /// A number for each cluster, above those of all clusters that it reads from: paths are looked for between two ranks alone.
    ranks: Vec<usize>,
}

impl<'a> Partition<'a> {
    /// Every node by itself.
    pub fn new(graph: &'a View) -> Self {
        let each = 0..graph.nodes.len();
        // Producers come first.
        Self { graph, of: each.clone().collect(), members: graph.ids().map(|id| vec![id]).collect(), ranks: each.collect() }
    }

    /// With these groups; `None` where groups share nodes or wait for each other.
    pub fn of(graph: &'a View, groups: &[Group]) -> Option<Self> {
        let mut partition = Self::new(graph);
        groups.iter().all(|group| partition.join(&group.nodes)).then_some(partition)
    }

    /// Makes nodes that are by themselves one cluster; whether they are, and no path leads from one to another through a third cluster.
    pub fn join(&mut self, nodes: &[NodeId]) -> bool {
        let (Some(&NodeId(into)), false) = (nodes.first(), nodes.iter().any(|node| self.members[node.0] != [*node])) else { return false };
        let mut inside = nodes.to_vec();
        inside.sort_unstable();
        let has = |cluster: usize| inside.binary_search(&NodeId(cluster)).is_ok();
        // Ranks ascend along every path.
        let highest = inside.iter().map(|node| self.ranks[node.0]).max().unwrap_or(0);
        let mut seen = BTreeSet::new();
        let mut open: Vec<usize> = inside.iter().flat_map(|node| self.readers(node.0)).filter(|&reader| !has(reader)).collect();
        while let Some(at) = open.pop() {
            if has(at) {
                return false;
            }
            if self.ranks[at] < highest && seen.insert(at) {
                open.extend(self.readers(at));
            }
        }
        for node in &inside {
            self.of[node.0] = into;
            self.members[node.0].clear();
        }
        self.members[into] = inside;
        self.ranks[into] = highest;
        self.raise(vec![into]);
        true
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

    /// Makes two clusters that fit one, known by the lower number.
    pub fn merge(&mut self, a: usize, b: usize) -> usize {
        let (into, from) = (a.min(b), a.max(b));
        let nodes = self.union(a, b);
        self.members[from].clear();
        nodes.iter().for_each(|node| self.of[node.0] = into);
        self.members[into] = nodes;
        self.ranks[into] = self.ranks[a].max(self.ranks[b]);
        self.raise(vec![into]);
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
        self.ranks[free] = self.ranks[cluster];
        self.raise(vec![cluster, free]);
        free
    }

    /// Clusters that read from a cluster, one for each edge.
    fn readers(&self, cluster: usize) -> impl Iterator<Item = usize> + '_ {
        let readers = self.members[cluster].iter().flat_map(|&node| self.graph.consumers(node)).map(|node| self.of[node.0]);
        readers.filter(move |&reader| reader != cluster)
    }

    /// Raises what is behind clusters whose rank rose, as far as it has to be; there is no cycle, so that this ends.
    fn raise(&mut self, mut risen: Vec<usize>) {
        while let Some(cluster) = risen.pop() {
            let readers: Vec<usize> = self.readers(cluster).collect();
            for reader in readers {
                if self.ranks[reader] <= self.ranks[cluster] {
                    self.ranks[reader] = self.ranks[cluster] + 1;
                    risen.push(reader);
                }
            }
        }
    }

    /// Whether a path leads from one cluster to another through a third.
    fn detour(&self, from: usize, to: usize) -> bool {
        // Ranks ascend along every path, and its last step comes from a third cluster.
        let producers = || self.members[to].iter().flat_map(|&node| self.graph.producers(node)).map(|node| self.of[node.0]);
        let third = |&producer: &usize| producer != from && producer != to && self.ranks[producer] > self.ranks[from];
        if self.ranks[from] >= self.ranks[to] || !producers().any(|producer| third(&producer)) {
            return false;
        }
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            for next in self.readers(at) {
                if next == to {
                    if at != from {
                        return true;
                    }
                } else if self.ranks[next] < self.ranks[to] && seen.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, Value, json};

    /// Operators that each read one to three of those before.
    fn graph(rng: &mut fastrand::Rng, count: usize) -> View {
        let tensor = |kind: &str| json!({"shape": [8, 8], "dtype_bytes": 2, "kind": kind});
        let mut tensors = Map::from_iter([("t0".to_owned(), tensor("input"))]);
        let mut nodes: Vec<Value> = Vec::new();
        for at in 1..=count {
            let inputs: Vec<String> = (0..rng.usize(1..=3)).map(|_| format!("t{}", rng.usize(at.saturating_sub(6)..at))).collect();
            nodes.push(json!({"id": at, "op": "f", "cls": "simt", "inputs": inputs, "outputs": [format!("t{at}")], "flops": 64}));
            tensors.insert(format!("t{at}"), tensor("act"));
        }
        let file = json!({"format": "dataflow-graph/1", "tensors": tensors, "nodes": nodes});
        View::of(&warpsight_graph::Graph::read(&file.to_string()).expect("a graph")).expect("operators")
    }

    /// Whether groups that hold all nodes can run one after the other: by trying.
    fn runs(graph: &View, groups: &[Group]) -> bool {
        let mut left: Vec<&Group> = groups.iter().collect();
        let mut done = BTreeSet::new();
        loop {
            let before = left.len();
            left.retain(|group| {
                let ready = |&node: &NodeId| graph.producers(node).iter().all(|producer| group.has(*producer) || done.contains(producer));
                let ready = group.nodes.iter().all(ready);
                if ready {
                    done.extend(group.nodes.iter().copied());
                }
                !ready
            });
            if left.len() == before {
                return left.is_empty();
            }
        }
    }

    /// Paths are looked for between two ranks alone: what fits is what leaves no cycle, and ranks ascend along edges.
    #[test]
    fn clusters_fit_where_no_cycle_comes_of_it() {
        let mut rng = fastrand::Rng::with_seed(5);
        let (mut fits, mut others) = (0, 0);
        for _ in 0..40 {
            let graph = graph(&mut rng, 24);
            let mut partition = Partition::new(&graph);
            for _ in 0..120 {
                let clusters: Vec<usize> = partition.clusters().collect();
                let [a, b] = [0; 2].map(|_| clusters[rng.usize(..clusters.len())]);
                if a == b {
                    // Producers come before consumers, so that any cut leaves no cycle.
                    let nodes = partition.nodes(a).to_vec();
                    partition.split(a, &nodes[..rng.usize(..nodes.len())]);
                } else {
                    let group = Group { nodes: partition.union(a, b), rule: String::new() };
                    let others_of = |cluster: &&usize| **cluster != a && **cluster != b;
                    let rest = clusters.iter().filter(others_of).map(|&at| partition.nodes(at).to_vec());
                    let groups: Vec<Group> = rest.map(|nodes| Group { nodes, rule: String::new() }).chain([group]).collect();
                    assert_eq!(partition.fit(a, b), runs(&graph, &groups), "{groups:?}");
                    assert_eq!(partition.fit(a, b), Partition::of(&graph, &groups).is_some(), "{groups:?}");
                    *if partition.fit(a, b) { &mut fits } else { &mut others } += 1;
                    if partition.fit(a, b) {
                        partition.merge(a, b);
                    }
                }
                let ascends = |cluster: usize| partition.readers(cluster).all(|reader| partition.ranks[cluster] < partition.ranks[reader]);
                assert!(partition.clusters().all(ascends));
            }
        }
        assert!(fits > 300 && others > 300, "{fits} fit, {others} do not");
    }
}
