//! What a launch did, in time: waves on their cores, what they waited for, and what caches answered.
//!
//! Spans of waves and of their waits are kept from the launch's beginning on, so many ([`Bounds`]); what is left out is said. Bins cover all
//! of the launch and add up to its [`Report`](crate::Report): they become wider as it goes on, so that they stay as few. Times count from when
//! the launch was asked for, the launch overhead included, as [`Report::time`](crate::Report::time) does.

use crate::report::MemoryCounters;
use serde::Serialize;
use warpsight_ir::{Name, Seconds};

/// How much of a launch is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Waves and waits, together.
    pub spans: usize,
    /// Bins in which the launch is counted, at least 1.
    pub bins: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { spans: 100_000, bins: 256 }
    }
}

/// A launch in time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timeline {
    /// Waves, in the order in which they were dispatched.
    pub waves: Vec<WaveSpan>,
    /// What they waited for. The waits of a wave follow one another and lie within it.
    pub waits: Vec<Wait>,
    /// Waves and waits that are not listed.
    pub left_out: Option<LeftOut>,
    /// When the first bin begins: after the launch overhead.
    pub begin: Seconds,
    /// What a bin covers.
    pub width: Seconds,
    /// By core; a core that did nothing has no bins.
    pub cores: Vec<Vec<Bin>>,
}

/// A wave, from its dispatch to its end. What it stored may reach the second level later.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaveSpan {
    /// Its core.
    pub core: usize,
    /// A row of the core that is its own as long as it lives: the lowest that was free.
    pub slot: usize,
    /// The number of its group, in the order of dispatch.
    pub group: u64,
    /// Its number in the group.
    pub wave: u32,
    /// When it begins.
    pub begin: Seconds,
    /// When it ends.
    pub end: Seconds,
}

/// A wave that could not go on. That it has to wait for an issue port is counted ([`Bin::issue`]), not listed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Wait {
    /// Position in [`Timeline::waves`].
    pub wave: usize,
    /// For what.
    pub cause: Cause,
    /// Since when.
    pub begin: Seconds,
    /// Until when.
    pub end: Seconds,
}

/// What a wave waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Cause {
    /// A load or atomic of this tensor, which was answered from there.
    Load(Name, Level),
    /// A store to this tensor, taken by nobody yet.
    Store(Name),
    /// Values beyond the registers, stored and loaded.
    Spill,
    /// The other waves of its group.
    Barrier,
}

/// The furthest of the places that the lines of an access came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Level {
    /// Local memory.
    Local,
    /// A texture cache or a first-level cache of buffers, if only from lines under way to it.
    First,
    /// The second level.
    Second,
    /// Device memory.
    Dram,
}

impl Level {
    /// For reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local memory",
            Self::First => "L1",
            Self::Second => "L2",
            Self::Dram => "DRAM",
        }
    }
}

/// What is not listed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// Waves.
    pub waves: u64,
    /// Waits, those of such waves among them.
    pub waits: u64,
    /// When the first of them begins: before, everything is listed.
    pub from: Seconds,
}

/// What a core did for a while.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bin {
    /// What the accesses that its waves issued then moved, whenever that was done.
    pub traffic: MemoryCounters,
    /// Seconds that waves were resident, all added up: divided by what the bin covers, so many were on average.
    pub resident: Seconds,
    /// Of them, waiting for memory,
    pub memory: Seconds,
    /// at a barrier,
    pub barrier: Seconds,
    /// and for an issue port.
    pub issue: Seconds,
}
