//! The phases of the battery, the most valuable first: lists of measurements, and the [aspects of a device](crate::aspects).

pub mod counters;
mod launches;
mod peaks;
mod queues;
pub mod rocprof;
mod room;
mod stencils;
mod streams;

use crate::{Phase, aspects};

/// All phases, the most valuable first.
pub fn all() -> Vec<Phase> {
    let aspects = || aspects::all().into_iter().map(|aspect| aspect.phase).collect();
    [stencils::phases(), streams::phases(), peaks::phases(), aspects(), queues::phases(), launches::phases()]
        .into_iter()
        .flatten()
        .collect()
}

/// So many of each list, again and again until all are empty: an early end cuts all alike.
fn turns<T>(lists: impl IntoIterator<Item = Vec<T>>, each: usize) -> impl Iterator<Item = T> {
    let mut ranked: Vec<(usize, T)> =
        lists.into_iter().flat_map(|list| list.into_iter().enumerate().map(|(i, item)| (i / each, item))).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, item)| item)
}
