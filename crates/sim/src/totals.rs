//! What a launch has taken so far, in numbers that parts of it add up to.

use crate::report::MemoryCounters;

/// Ticks and counts. Real numbers, since parts are scaled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Ticks until the end.
    pub end: f64,
    /// Ticks that ports issued, and of them those on floats.
    pub issue: f64,
    /// See `issue`.
    pub float: f64,
    /// Ticks that texture units, load-store units, local memories, slices and channels were busy, summed over all of a kind.
    pub units: [f64; 5],
    /// Instructions issued, and of them memory instructions.
    pub instructions: [f64; 2],
    /// What moved, in the order of [`MemoryCounters::numbers`].
    pub traffic: [f64; MemoryCounters::COUNT],
}

impl Totals {
    fn numbers(&mut self) -> impl Iterator<Item = &mut f64> {
        let Self { end, issue, float, units, instructions, traffic } = self;
        [end, issue, float].into_iter().chain(units).chain(instructions).chain(traffic)
    }

    /// What was added since.
    pub fn since(&self, before: &Self) -> Self {
        let mut rest = self.clone();
        rest.add(before, -1.0);
        rest
    }

    /// Adds so many times another.
    pub fn add(&mut self, other: &Self, times: f64) {
        let mut other = other.clone();
        self.numbers().zip(other.numbers()).for_each(|(own, more)| *own += *more * times);
    }

    /// So many times as much of everything.
    pub fn scale(&mut self, times: f64) {
        self.numbers().for_each(|own| *own *= times);
    }
}
