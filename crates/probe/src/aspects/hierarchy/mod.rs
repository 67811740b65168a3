//! Caches of buffers and images, by walks of dependent loads in random order.
//!
//! Pairs of near places among far ones show what one miss brings. Then walks through growing ranges show where a cache ends; ranges between
//! are tried until its end is found to a line. Walks of strides in powers of two tell its sets from its ways, and groups that walk at once in
//! ranges of their own whether they share it. What is asked next follows from the records so far, through the fits of [`crate::fit`].

mod analyse;
mod plan;
mod route;
pub(crate) mod spec;
#[cfg(test)]
mod tests;
mod timed;

use super::Aspect;
use crate::{Needs, Phase};

/// The name of the phase.
pub const NAME: &str = "hierarchy";

/// The aspect.
pub(super) fn aspect() -> Aspect {
    let phase = Phase {
        name: NAME,
        purpose: "capacity, line, sets and ways, latency and sharing of each cache that buffers and images go through",
        needs: Needs::Programs,
        share: 6.0,
        plan: plan::plan,
    };
    Aspect { phase, analyse: analyse::analyse }
}
