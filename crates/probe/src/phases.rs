//! The phases of the battery, the most valuable first.

mod bandwidth;
pub mod counters;
mod latency;
mod launches;
mod peaks;
mod queues;
pub mod rocprof;
mod room;
mod stencils;
mod texture;

use crate::Phase;

/// All phases, the most valuable first.
pub fn all() -> Vec<Phase> {
    [stencils::phases(), bandwidth::phases(), peaks::phases(), latency::phases(), texture::phases(), queues::phases(), launches::phases()]
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
