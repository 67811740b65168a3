//! What a device has room for.

use crate::Context;
use crate::kernels::{Occupancy, WARP};

const MIB: u64 = 1 << 20;

/// What the device has room for.
pub(super) struct Room {
    /// Multiprocessors.
    pub(super) units: u32,
    /// Bytes of the last-level cache.
    pub(super) l2: u64,
    /// Bytes that the arrays of one stream may take.
    pub(super) stream: u64,
    /// Threads of a block.
    pub(super) threads: u32,
    /// Whether caches can be emptied before a launch.
    pub(super) flushes: bool,
    threads_per_unit: u32,
    blocks_per_unit: u32,
    /// Bytes of shared memory of a multiprocessor, and of a block.
    shared_per_unit: u64,
    shared: u64,
}

impl Room {
    pub(super) fn of(context: &Context) -> Self {
        let limits = &context.device.limits;
        let fact = |name: &str, default: u32| context.fact(name).and_then(|n| u32::try_from(n).ok()).unwrap_or(default);
        let threads = limits.max_group_size.unwrap_or(256);
        let memory = limits.memory.unwrap_or(256 * MIB).min(limits.max_allocation.unwrap_or(u64::MAX));
        Self {
            units: context.units(),
            l2: context.l2_bytes(),
            stream: (memory / 4).min(1 << 30),
            threads,
            // OpenCL knows neither the size of the last level nor a way around it.
            flushes: context.device.backend != "opencl",
            threads_per_unit: fact("max_threads_per_multiprocessor", threads),
            blocks_per_unit: fact("max_blocks_per_multiprocessor", 16),
            shared_per_unit: context.fact("max_shared_memory_per_multiprocessor").or(limits.local_bytes).unwrap_or(16 << 10),
            shared: limits.local_bytes.unwrap_or(16 << 10),
        }
    }

    /// So many warps on each multiprocessor in blocks of so many threads; `None` where they cannot all be resident.
    pub(super) fn blocks(&self, threads: u32, warps: u32) -> Option<Occupancy> {
        let per_unit = warps * WARP / threads;
        let resident = threads <= self.threads
            && per_unit * threads == warps * WARP
            && warps * WARP <= self.threads_per_unit
            && per_unit <= self.blocks_per_unit;
        resident.then_some(Occupancy { threads, per_unit, units: self.units })
    }

    /// Whether blocks with so many bytes of shared memory are all resident. CUDA takes another KiB for itself.
    pub(super) fn holds(&self, occupancy: Occupancy, bytes: u32) -> bool {
        let bytes = u64::from(bytes);
        bytes <= self.shared
            && u64::from(occupancy.per_unit) * (bytes + if occupancy.per_unit > 1 { 1024 } else { 0 }) <= self.shared_per_unit
    }

    /// So many warps, in blocks of 128 threads or, for few, of 32: two Programs serve all.
    pub(super) fn warps(&self, warps: u32) -> Option<Occupancy> {
        self.blocks(if warps.is_multiple_of(4) { 128 } else { 32 }, warps)
    }

    /// The most warps.
    pub(super) fn fullest(&self) -> u32 {
        (1..=self.threads_per_unit / WARP).rev().find(|&warps| self.warps(warps).is_some()).unwrap_or(1)
    }

    /// Resident warps per multiprocessor: the most, and the powers of two below.
    pub(super) fn ladder(&self) -> Vec<u32> {
        let fullest = self.fullest();
        let powers = (0..=fullest.ilog2()).rev().map(|power| 1 << power).filter(|&warps| warps < fullest);
        [fullest].into_iter().chain(powers).collect()
    }
}
