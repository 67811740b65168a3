//! The phases of the battery, the most valuable first.

mod bandwidth;
pub mod counters;
mod latency;
mod launches;
mod peaks;
mod queues;
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
