//! What a report is asked about, and what it holds.

use super::measured::{Compared, Measured};
use crate::time::{Limit, Parts};
use crate::volumes::fitted::caches::Caches;
use crate::volumes::fitted::expected::Kind;
use warpsight_ir::accesses::Order;
use warpsight_ir::occupancy::Occupancy;
use warpsight_ir::{Kernel, Limiter, Meanwhile, Seconds, Volumes};

/// A launch and what it is good for.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Points that the launch computes.
    pub points: u64,
}

/// What is known beside the kernel and the profile. Another number of the profile is another profile ([`warpsight_ir::Profile::with`]).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// Replaces what would be predicted.
    pub measured: Option<Measured>,
    /// Which of a kernel's accesses happens first.
    pub order: Order,
    /// Leaves out what is said of a kernel in words that take long to find: how far it goes beyond its fields, which conditions are taken to
    /// hold. All numbers are there.
    pub brief: bool,
    /// Replaces the fitted numbers of caches, as where a fit is judged by what it has not seen.
    pub caches: Option<Caches>,
    /// What is touched between two launches of this kernel. Not of recorded GPUs, of which nothing that a launch leaves is counted.
    pub meanwhile: Meanwhile,
}

/// What a kernel costs on a device, predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Of one launch.
    pub seconds: Seconds,
    /// Points per second.
    pub points_per_second: f64,
    /// What the launch's own instructions come to in that time.
    pub effective: Effective,
    /// Where the time is expected to lie.
    pub interval: Interval,
    /// What kind of kernel it is, as intervals are made; `None` of CPUs and of launches that do nothing.
    pub kind: Option<Kind>,
    /// Seconds at the highest clock and at the lowest that long runs keep.
    pub span: [Seconds; 2],
    /// What no run can be shorter than: arithmetic at the highest clock.
    pub bound: Option<Seconds>,
    /// The limiter with the longest time.
    pub limiter: Option<Limiter>,
    /// Seconds of each limiter alone, or which number is missing.
    pub limits: Vec<Limit>,
    /// What those seconds are made of, before fitted numbers enter.
    pub parts: Parts,
    /// Cycles of one core's first-level cache per point; `None` where no rule is known.
    pub l1_cycles_per_point: Option<f64>,
    /// Bytes per point.
    pub volumes: PointVolumes,
    /// Bytes of the launch, where they are known.
    pub moved: Volumes,
    /// Each access to memory, in program order.
    pub instructions: Vec<InstructionCost>,
    /// What a core holds at once.
    pub occupancy: Occupancy,
    /// How often the device is filled with blocks.
    pub waves: f64,
    /// Blocks of an average core over blocks of the busiest.
    pub tail_efficiency: f64,
    /// What [`Settings::measured`] replaced; all else is predicted.
    pub measured: Vec<Compared>,
    /// Where numbers come from that are neither counted nor the profile's, and what was left out.
    pub provenance: Vec<String>,
}

/// Rates that people compare with a device's peaks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effective {
    /// Bytes that lanes load and store of buffers and images, equal ones for each lane again, per second.
    pub bytes: f64,
    /// Floating-point operations per second; an FMA counts two.
    pub flops: f64,
}

impl Effective {
    /// Of a launch of this kernel, which asks for so many bytes.
    pub(super) fn of(kernel: &Kernel, asked: f64, time: Seconds) -> Self {
        let threads = kernel.launch.group_count() as f64 * f64::from(kernel.launch.group_size());
        Self { bytes: asked / time.0, flops: kernel.ops.flops() as f64 * threads / time.0 }
    }
}

/// A range of times.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Shortest.
    pub lo: Seconds,
    /// Longest.
    pub hi: Seconds,
    /// What makes it so wide.
    pub basis: String,
}

impl Interval {
    /// Makes it reach as far as another.
    pub fn cover(&mut self, other: &Self) {
        (self.lo, self.hi) = (Seconds(self.lo.0.min(other.lo.0)), self.hi.max(other.hi));
    }
}

/// Bytes per point. `None` is unknown; the provenance says why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointVolumes {
    /// Distinct sectors of each load of each warp.
    pub l1_requested: Option<f64>,
    /// Distinct sectors of each block's loads.
    pub l2_load_compulsory: Option<f64>,
    /// From the second level to the first, repeated loads included.
    pub l2_load: Option<f64>,
    /// Distinct sectors of each store of each warp.
    pub l2_store: Option<f64>,
    /// Distinct pieces that a wave loads, as if nothing were left of earlier waves.
    pub dram_load_wave: Option<f64>,
    /// Loaded from memory.
    pub dram_load: Option<f64>,
    /// Stored to memory.
    pub dram_store: Option<f64>,
    /// Parts of the above by what causes them.
    pub by_cause: Vec<(String, f64)>,
    /// The same by field.
    pub per_field: Vec<FieldVolumes>,
}

/// Bytes per point of one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldVolumes {
    /// Its name.
    pub field: String,
    /// As in [`PointVolumes`].
    pub l1_requested: f64,
    /// As in [`PointVolumes`].
    pub l2_load_compulsory: f64,
    /// As in [`PointVolumes`].
    pub l2_store: f64,
    /// As in [`PointVolumes`].
    pub dram_load: Option<f64>,
    /// As in [`PointVolumes`].
    pub dram_store: Option<f64>,
}

/// What one access costs.
#[derive(Clone, Debug, PartialEq)]
pub struct InstructionCost {
    /// The field's name.
    pub field: String,
    /// Position among all accesses of the kernel, in program order; of the first where AMD's compilers make one of several neighbours.
    pub access: usize,
    /// Executions by warps.
    pub executions: u64,
    /// Wavefronts of the data pipe, a mean over executions; unknown of images, which go another way.
    pub wavefronts: Option<f64>,
}
