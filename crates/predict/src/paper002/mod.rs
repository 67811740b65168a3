//! The model of paper 002 as its authors published it: a baseline to compare with, not what this crate believes.
//! .
//! Volumes per level by address expressions, four Gompertz curves for what caches lose, and the least of four limiters, as the public
//! implementation has them (`data-volumes.md`, sections 1 to 5 and 7), with what is wrong there (section 6): waves whose rows and layers are
//! rounded up by the domain, one corner of the grid for all waves, occupancy by registers alone, no latency, no last-level cache. Sets of
//! lines, residue classes and fields are those of [`crate::volumes`]; curves, rules and boxes are the paper's own. Against the implementation's own
//! outputs: `tests/paper002.rs`.

mod behind;
pub(crate) mod curves;
mod device;
mod field;
mod first_level;

pub use behind::Behind;
pub use device::{Device, Rule, is_theirs};
pub use first_level::FirstLevel;

use field::Launch;
use warpsight_ir::accesses::text::Written;
use warpsight_ir::occupancy::Resident;
use warpsight_ir::{Limiter, NoEstimate, Profile, Scalar, Seconds};

/// 32-bit registers of a core, the granule of a thread's, and the least: "NVIDIA's rule for AMD too" (section 6).
const REGISTERS: (u64, u64, u64) = (65536, 8, 32);
/// Blocks of a core at most.
const BLOCKS: u64 = 32;

/// What the model says of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// Of the launch.
    pub seconds: Seconds,
    /// Points per second: the least of the limits.
    pub points_per_second: f64,
    /// Floating-point operations per second, an FMA counts two.
    pub flops_per_second: f64,
    /// Which limit is the least.
    pub limiter: Limiter,
    /// Points per second that each of the four allows alone; one that a kernel does not touch is left out.
    pub limits: Vec<(Limiter, f64)>,
    /// Per point.
    pub first_level: FirstLevel,
    /// Per point.
    pub behind: Behind,
    /// Blocks of a core at once.
    pub blocks: u64,
    /// Warps of a core at once.
    pub warps: u64,
    /// What limits them.
    pub limited_by: Resident,
    /// How often the device is filled with blocks.
    pub waves: f64,
    /// Where the numbers come from, and what the model leaves out.
    pub provenance: Vec<String>,
}

/// What the model says of a kernel on a device with this profile.
///
/// # Errors
/// [`NoEstimate::NotCovered`] of kernels that it has no words for, [`NoEstimate::CannotRun`] where registers fit no block,
/// [`NoEstimate::Missing`] where neither the authors nor the profile know a number.
pub fn baseline(written: &Written, on: &Profile) -> Result<Baseline, NoEstimate> {
    if crate::volumes::cpu::is_cpu(on) {
        return Err(NoEstimate::NotCovered("the model of paper 002 has no CPUs".to_owned()));
    }
    on_device(written, &Device::of(on)?)
}

/// What the model says of a kernel on a device.
///
/// # Errors
/// As [`baseline`].
pub fn on_device(written: &Written, device: &Device) -> Result<Baseline, NoEstimate> {
    let kernel = &written.kernel;
    let launch = Launch::of(written, device)?;
    let threads = launch.block.iter().product::<i64>().unsigned_abs();
    let blocks = resident(threads, kernel.registers);
    if threads == 0 || written.points == 0 || blocks == 0 {
        let registers = kernel.registers;
        return Err(NoEstimate::CannotRun(format!("a block of {threads} threads with {registers} registers each does not fit")));
    }
    let on_cores = blocks as f64 * device.cores;
    let first = FirstLevel::of(&launch, device);
    let behind = Behind::of(&launch, device, on_cores as i64, &first)?;

    // Updates of a thread, folded points and trips of grid-stride loops.
    let domain = launch.domain.iter().map(|&extent| extent as f64).product::<f64>();
    let per_thread = written.fold.iter().map(|&points| f64::from(points)).product::<f64>() * written.points as f64 / domain;
    let first = FirstLevel {
        cycles: first.cycles / per_thread,
        requested: first.requested / per_thread,
        compulsory: first.compulsory / per_thread,
        load: first.load / per_thread,
        store: first.store / per_thread,
    };
    let behind = Behind { loads: behind.loads.map(|bytes| bytes / per_thread), stores: behind.stores.map(|bytes| bytes / per_thread) };

    let flops = kernel.ops.flops() as f64 / per_thread;
    let doubles = kernel.ops.0.keys().any(|(_, scalar, _)| *scalar == Scalar::F64);
    let lanes = if doubles { device.fp64 } else { device.fp32 };
    let cycles = device.cores * device.clock;
    let limits = [
        // "flins": two operations an instruction.
        (Limiter::Fp, cycles * lanes, (flops / 2.0).ceil()),
        (Limiter::L1, cycles, first.cycles),
        (Limiter::L2, device.l2_bandwidth, first.load + first.store),
        (Limiter::Dram, device.memory_bandwidth, behind.loads[3] + behind.stores[1]),
    ];
    let limits: Vec<(Limiter, f64)> =
        limits.into_iter().filter(|limit| limit.2 > 0.0).map(|(name, rate, cost)| (name, rate / cost)).collect();
    let least = limits.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
    let Some((limiter, points_per_second)) = least.filter(|least| least.1 > 0.0) else {
        return Err(NoEstimate::NotCovered(
            "a kernel that takes no time, or a rate that is not known, in the model of paper 002".to_owned(),
        ));
    };
    let mut provenance = vec![
        "the model of paper 002 as published: four limiters, volumes and curves of its authors' implementation; a baseline, with no interval".to_owned(),
        device.source.to_owned(),
    ];
    provenance.extend(launch.notes);
    provenance.extend(written.unknowns.iter().map(|own| format!("`{}` is not known: taken for {}", own.key, own.typical)));
    provenance.extend(written.repeated.iter().cloned());
    Ok(Baseline {
        seconds: Seconds(written.points as f64 / points_per_second),
        points_per_second,
        flops_per_second: flops * points_per_second,
        limiter,
        limits,
        first_level: first,
        behind,
        blocks,
        warps: blocks * threads.div_ceil(u64::from(device.warp)),
        limited_by: if blocks < BLOCKS { Resident::Registers } else { Resident::Groups },
        waves: kernel.launch.group_count() as f64 / on_cores,
        provenance,
    })
}

/// Blocks of so many threads that a core's registers hold.
fn resident(threads: u64, registers: u32) -> u64 {
    let (all, granule, least) = REGISTERS;
    let each = u64::from(registers).max(least).next_multiple_of(granule);
    (all / (threads * each).max(1)).min(BLOCKS)
}
