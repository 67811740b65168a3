//! What a simulated launch reports.

use serde::Serialize;
use warpsight_ir::occupancy::Resident;
use warpsight_ir::{Cycles, Limiter, Seconds};

/// What a simulated launch took, and where.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// From launch to the last result, the launch's own overhead included.
    pub time: Seconds,
    /// The same without the launch overhead.
    pub cycles: Cycles,
    /// Per core the share of the time its issue ports were busy, from 0 to 1.
    pub core_busy: Vec<f64>,
    /// Per resource the share of the time it was busy, all instances together.
    pub busy: Vec<(Limiter, f64)>,
    /// What held it up most: the busiest resource, `latency` where none was busy for long.
    pub limiter: Limiter,
    /// Instructions issued by waves, a vector operation counted as its scalar instructions.
    pub instructions: u64,
    /// Memory instructions issued by waves.
    pub memory_instructions: u64,
    /// What moved.
    pub traffic: MemoryCounters,
    /// What was resident.
    pub occupancy: Occupancy,
    /// 32-bit registers of a work-item.
    pub registers: u32,
    /// Registers beyond what a work-item can have, kept in memory.
    pub spilled: u32,
    /// Numbers of the silicon that have no source.
    pub assumed: usize,
    /// Where not every group was simulated.
    pub sampled: Option<Sampled>,
}

/// A launch of which parts stand for the whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sampled {
    /// Groups that were simulated.
    pub groups: u64,
    /// Groups that there are.
    pub of: u64,
    /// How far such times were from those of whole launches.
    pub error: SampleError,
}

/// How far sampled times were from whole ones, on 200 kernels and the Adreno 640's silicon (`cargo run --release -p warpsight-engine --example
/// sampled`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SampleError {
    /// Half of them were no further off, as a part of the time.
    pub median: f64,
    /// 95 of 100.
    pub p95: f64,
    /// All.
    pub worst: f64,
}

/// What moved through each level.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryCounters {
    /// Bytes that work-items loaded and stored in buffers.
    pub buffer_bytes: u64,
    /// Bytes that work-items fetched from images.
    pub texture_bytes: u64,
    /// Bytes that work-items wrote to images.
    pub image_write_bytes: u64,
    /// Bytes that work-items loaded and stored in local memory.
    pub local_bytes: u64,
    /// Lines that texture caches held, once for each instruction and line.
    pub texture_hits: u64,
    /// Lines they fetched.
    pub texture_misses: u64,
    /// Lines that first-level caches of buffers held whole, once for each instruction and line.
    pub l1_hits: u64,
    /// Lines they had to fetch parts of.
    pub l1_misses: u64,
    /// Lines that the second level held, once for each request.
    pub l2_hits: u64,
    /// Lines it did not.
    pub l2_misses: u64,
    /// Bytes read from device memory.
    pub dram_read: u64,
    /// Bytes written to device memory; what is dirty at the end stays in the second level.
    pub dram_written: u64,
}

impl MemoryCounters {
    /// How many numbers there are.
    pub(crate) const COUNT: usize = 12;

    /// Adds what another counted.
    pub(crate) fn add(&mut self, mut other: Self) {
        self.numbers().into_iter().zip(other.numbers()).for_each(|(own, more)| *own += *more);
    }

    /// What was added since.
    pub(crate) fn since(&self, mut before: Self) -> Self {
        let mut rest = self.clone();
        rest.numbers().into_iter().zip(before.numbers()).for_each(|(own, before)| *own -= *before);
        rest
    }

    /// All of them, in order.
    pub(crate) fn numbers(&mut self) -> [&mut u64; Self::COUNT] {
        [
            &mut self.buffer_bytes,
            &mut self.texture_bytes,
            &mut self.image_write_bytes,
            &mut self.local_bytes,
            &mut self.texture_hits,
            &mut self.texture_misses,
            &mut self.l1_hits,
            &mut self.l1_misses,
            &mut self.l2_hits,
            &mut self.l2_misses,
            &mut self.dram_read,
            &mut self.dram_written,
        ]
    }
}

/// What was resident on a core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Occupancy {
    /// Waves that fit.
    pub waves: u32,
    /// Groups that fit; 0 where a group's waves take turns.
    pub groups: u32,
    /// What there was not enough of.
    pub limiter: Option<Resident>,
}
