//! Which nodes become one kernel: a node with elementwise nodes that follow it.
//!
//! A group has one node that computes (its anchor) and elementwise nodes whose values are functions of the anchor's value at the same
//! place and of other tensors. One value leaves the group, that of its last node, to which all its nodes lead; a value used twice
//! (`x · clip(x + 3)`) stays inside where all its uses do.
//!
//! So the tensors that a group reads never depend on it: a path from the anchor to one of them would leave the group at a value that
//! is not the last one, or at the last one and come back to an earlier node, a cycle. A squeeze-and-excite product `x · s(x)` is
//! therefore in no group with what computes `x`. For the same reason groups never wait for each other in a circle.

use crate::graph::Graph;
use crate::graph::op::Op;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use warpsight_generate::candidates::through::MOST_TERMS;

/// Nodes that become one kernel.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// The node that computes.
    pub(crate) anchor: usize,
    /// Elementwise nodes after it, in order; the last one's value leaves the group.
    pub(crate) followers: Vec<usize>,
}

impl Group {
    /// The node whose value leaves the group.
    pub(crate) fn exit(&self) -> usize {
        self.followers.last().copied().unwrap_or(self.anchor)
    }
}

/// All nodes but aliases in groups, in an order in which these can run.
pub(crate) fn groups(graph: &Graph) -> Vec<Group> {
    let count = graph.nodes.len();
    let readers = graph.readers();
    let mut owner: Vec<Option<usize>> = vec![None; count];
    let mut groups: Vec<Group> = Vec::new();
    let is_anchor = |n: &usize| graph.nodes[*n].op() != Some(&Op::Alias);
    // Nodes with work first, the last of them first: `conv + conv` then fuses into the second one, and the order stays as it is.
    let (light, heavy): (Vec<usize>, Vec<usize>) = (0..count).filter(is_anchor).partition(|&n| graph.nodes[n].is_elementwise());
    for anchor in heavy.into_iter().rev().chain(light) {
        if owner[anchor].is_some() {
            continue;
        }
        let group = Group { anchor, followers: followers(graph, &readers, &owner, anchor) };
        owner[anchor] = Some(groups.len());
        group.followers.iter().for_each(|&n| owner[n] = Some(groups.len()));
        groups.push(group);
    }
    ordered(graph, groups, &owner)
}

/// The largest set of nodes that may follow an anchor in its group.
fn followers(graph: &Graph, readers: &[Vec<usize>], owner: &[Option<usize>], anchor: usize) -> Vec<usize> {
    // Parts of a tensor are values of several expressions.
    if matches!(graph.nodes[anchor].op(), Some(Op::Update { .. })) {
        return vec![];
    }
    let output = graph.nodes[anchor].output();
    let shape = &graph.tensor(output).shape;
    // Terms of the expression of a value of the group; 0 for all other tensors.
    let mut terms = vec![0; graph.tensors.len()];
    terms[output.0] = 1;
    let mut candidates = Vec::new();
    for (position, node) in graph.nodes.iter().enumerate().skip(anchor + 1) {
        let inside = node.inputs.iter().any(|i| terms[i.0] > 0);
        let size = 4 + node.inputs.iter().map(|i| terms[i.0].max(1)).sum::<usize>();
        let fits = node.is_elementwise() && graph.tensor(node.output()).shape == *shape && size <= MOST_TERMS;
        if inside && fits && owner[position].is_none() {
            terms[node.output().0] = size;
            candidates.push(position);
        }
    }
    let closures = candidates.iter().rev().map(|&exit| closure(graph, &candidates, exit));
    let legal = closures.filter(|members| only_exit_leaves(graph, readers, anchor, members));
    legal.max_by_key(Vec::len).unwrap_or_default()
}

/// The candidates that lead to `exit`, and itself, in order.
fn closure(graph: &Graph, candidates: &[usize], exit: usize) -> Vec<usize> {
    let mut wanted = vec![exit];
    for &candidate in candidates.iter().rev().skip_while(|c| **c != exit).skip(1) {
        let output = graph.nodes[candidate].output();
        if wanted.iter().any(|&w| graph.nodes[w].inputs.contains(&output)) {
            wanted.push(candidate);
        }
    }
    wanted.reverse();
    wanted
}

/// Whether nothing outside reads a value of the group but that of its last member.
fn only_exit_leaves(graph: &Graph, readers: &[Vec<usize>], anchor: usize, members: &[usize]) -> bool {
    let inner = &members[..members.len() - 1];
    std::iter::once(&anchor).chain(inner).all(|&n| {
        let output = graph.nodes[n].output();
        !graph.outputs.contains(&output) && readers[output.0].iter().all(|r| members.contains(r))
    })
}

/// Groups in an order in which they can run, that of their anchors where it is one.
fn ordered(graph: &Graph, groups: Vec<Group>, owner: &[Option<usize>]) -> Vec<Group> {
    let writers = graph.writers();
    // The group whose value a tensor is, through aliases.
    let source = |mut tensor: usize| loop {
        let writer = writers[tensor]?;
        match owner[writer] {
            Some(group) => return Some(group),
            None => tensor = graph.nodes[writer].inputs[0].0,
        }
    };
    let mut waits = vec![0usize; groups.len()];
    let mut next = vec![Vec::new(); groups.len()];
    for (g, group) in groups.iter().enumerate() {
        let nodes = std::iter::once(&group.anchor).chain(&group.followers);
        let mut needs: Vec<usize> = nodes.flat_map(|&n| &graph.nodes[n].inputs).filter_map(|i| source(i.0)).filter(|&s| s != g).collect();
        needs.sort_unstable();
        needs.dedup();
        waits[g] = needs.len();
        needs.iter().for_each(|&s| next[s].push(g));
    }
    let mut ready: BinaryHeap<_> = (0..groups.len()).filter(|&g| waits[g] == 0).map(|g| Reverse((groups[g].anchor, g))).collect();
    let mut order = Vec::with_capacity(groups.len());
    while let Some(Reverse((_, g))) = ready.pop() {
        order.push(groups[g].clone());
        for &reader in &next[g] {
            waits[reader] -= 1;
            if waits[reader] == 0 {
                ready.push(Reverse((groups[reader].anchor, reader)));
            }
        }
    }
    debug_assert_eq!(order.len(), groups.len(), "groups wait for each other");
    order
}
