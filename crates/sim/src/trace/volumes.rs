//! What a trace finds.

use std::ops::{AddAssign, Mul, Sub};
use warpsight_ir::Name;
use warpsight_ir::occupancy::Occupancy;

/// Bytes of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Volumes {
    /// Distinct sectors of each load of each warp; atomics are loads and stores.
    pub l1_requested: f64,
    /// Of these what the first level had.
    pub l1_hits: f64,
    /// From the second level to the first.
    pub l2_load: f64,
    /// Of these what the second level had.
    pub l2_hits: f64,
    /// Distinct sectors of each store of each warp.
    pub l2_store: f64,
    /// From device memory.
    pub dram_load: f64,
    /// Of these what lines are filled up with that stores left in part.
    pub read_back: f64,
    /// To device memory, counted when a sector is written that was not waiting to be stored: each is stored once later.
    pub dram_store: f64,
}

/// What a launch moves, as it was executed.
#[derive(Clone, Debug, PartialEq)]
pub struct Traced {
    /// Of the whole launch.
    pub volumes: Volumes,
    /// By tensor in device memory, in the order of the kernel's.
    pub per_tensor: Vec<(Name, Volumes)>,
    /// How much was executed.
    pub part: Part,
    /// What a core held at once.
    pub occupancy: Occupancy,
}

/// The part of a launch that was executed: from its begin on. What came first, while caches filled, counts once; what was executed after
/// that (in whole waves of groups, where there are some) stands for all the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Accesses of warps that were executed.
    pub executed: u64,
    /// Accesses of warps of the launch.
    pub of: u64,
    /// Lanes that took part in what was executed.
    pub lanes: u64,
    /// Waves of groups that were begun.
    pub waves: f64,
    /// From so many executed accesses to so many: what stands for the rest; `None` where all was executed.
    pub stands: Option<(u64, u64)>,
}

impl Part {
    /// The share of the launch that was executed.
    pub fn share(&self) -> f64 {
        if self.of == 0 { 1.0 } else { self.executed as f64 / self.of as f64 }
    }

    /// Whether what was executed is less than two waves of many: what comes late in a group may be missing.
    pub fn short(&self) -> bool {
        self.stands.is_some() && self.waves < 2.0
    }
}

impl Volumes {
    fn with(self, other: Self, join: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            l1_requested: join(self.l1_requested, other.l1_requested),
            l1_hits: join(self.l1_hits, other.l1_hits),
            l2_load: join(self.l2_load, other.l2_load),
            l2_hits: join(self.l2_hits, other.l2_hits),
            l2_store: join(self.l2_store, other.l2_store),
            dram_load: join(self.dram_load, other.dram_load),
            read_back: join(self.read_back, other.read_back),
            dram_store: join(self.dram_store, other.dram_store),
        }
    }
}

impl AddAssign for Volumes {
    fn add_assign(&mut self, other: Self) {
        *self = self.with(other, |a, b| a + b);
    }
}

impl Sub for Volumes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.with(other, |a, b| a - b)
    }
}

impl Mul<f64> for Volumes {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        self.with(self, |a, _| a * factor)
    }
}
