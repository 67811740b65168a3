//! Aspects of a device: phases that react to what was measured so far, each with the analysis of its records.

mod arithmetic;
mod ask;
mod bandwidth;
mod control;
mod hierarchy;
mod kernels;
mod local;
mod reads;
mod registers;
mod timer;
mod warp;

use crate::{Findings, Phase, Record};
use warpsight_run::DeviceInfo;

/// An aspect of a device: how it is measured, and what the measurements say.
pub struct Aspect {
    /// Its measurements. Its name is a word: `registers`.
    pub phase: Phase,
    /// What its records say, and those of aspects before it where it needs them.
    pub analyse: fn(&Seen) -> Findings,
}

/// What an analysis sees.
pub struct Seen<'a> {
    /// The device as its driver describes it: limits of images, say. Nothing of this is a measurement.
    pub device: &'a DeviceInfo,
    /// Records of this phase and all others.
    pub records: &'a [Record],
    /// What aspects before this one found.
    pub found: &'a Findings,
}

impl Seen<'_> {
    /// The records of a phase that ran and whose results were right.
    pub fn of<'s>(&'s self, phase: &'s str) -> impl Iterator<Item = &'s Record> {
        self.records.iter().filter(move |record| record.phase == phase && record.outcome == crate::Outcome::Verified)
    }
}

/// All aspects, in the order in which they are measured and analysed.
pub fn all() -> Vec<Aspect> {
    vec![
        timer::aspect(),
        warp::aspect(),
        arithmetic::aspect(),
        registers::aspect(),
        hierarchy::aspect(),
        bandwidth::aspect(),
        local::aspect(),
        control::aspect(),
        reads::aspect(),
    ]
}
