//! An order in which nodes can run: that of the file, as far as it is one.

use super::{Draft, FormatError};
use crate::graph::Graph;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Positions of nodes, each behind those whose outputs it reads; of those that are ready, the first of the file.
pub(super) fn runnable(drafts: &[Draft], graph: &Graph) -> Result<Vec<usize>, FormatError> {
    let mut writer = vec![None; graph.tensors.len()];
    for (at, draft) in drafts.iter().enumerate() {
        draft.node.outputs.iter().for_each(|id| writer[id.0] = Some(at));
    }
    let producers = |at: usize| -> BTreeSet<usize> { drafts[at].node.inputs.iter().filter_map(|id| writer[id.0]).collect() };
    let mut waits = vec![0; drafts.len()];
    let mut readers = vec![Vec::new(); drafts.len()];
    for (at, waits) in waits.iter_mut().enumerate() {
        let producers = producers(at);
        *waits = producers.len();
        producers.into_iter().for_each(|producer| readers[producer].push(at));
    }
    let mut ready: BinaryHeap<Reverse<usize>> = (0..drafts.len()).filter(|&at| waits[at] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(drafts.len());
    while let Some(Reverse(at)) = ready.pop() {
        order.push(at);
        for &reader in &readers[at] {
            waits[reader] -= 1;
            if waits[reader] == 0 {
                ready.push(Reverse(reader));
            }
        }
    }
    if order.len() < drafts.len() { Err(cycle(drafts, &waits, producers)) } else { Ok(order) }
}

/// One of the cycles among nodes that still wait: every one of them has a producer that waits.
fn cycle(drafts: &[Draft], waits: &[usize], producers: impl Fn(usize) -> BTreeSet<usize>) -> FormatError {
    let mut path: Vec<usize> = waits.iter().position(|&n| n > 0).into_iter().collect();
    while let Some(&at) = path.last() {
        let Some(before) = producers(at).into_iter().find(|&producer| waits[producer] > 0) else { break };
        if let Some(begin) = path.iter().position(|&seen| seen == before) {
            path.drain(..begin);
            path.push(before);
            break;
        }
        path.push(before);
    }
    path.reverse();
    FormatError::Cycle(path.into_iter().map(|at| drafts[at].node.name.clone()).collect())
}
