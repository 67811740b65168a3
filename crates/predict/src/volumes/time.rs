//! Seconds per limiter from what a launch asks of the device, and how they combine. A rate that the profile does not know makes its
//! limiter unknown, by name, and nothing else.

use super::dram::Dram;
use super::speed::{Shared, Speed};
use std::collections::BTreeMap;
use warpsight_ir::occupancy::Occupancy;
use warpsight_ir::profile::Fact;
use warpsight_ir::{BytesPerSecond, Kernel, Limiter, Nest, OpClass, Profile, Scalar, Seconds};

/// A limiter and its seconds, or which number is missing.
pub type Limit = (Limiter, Result<Seconds, String>);

/// Integer instructions that a memory instruction comes with: the update of a pointer, most offsets being part of the instruction.
const ADDRESS_INSTRUCTIONS: f64 = 1.0;
/// Instructions per judged condition: a comparison and a branch or selection.
const CONDITION_INSTRUCTIONS: f64 = 2.0;
/// Trips of a loop that compilers write out one after another, so that their loads are in flight together (nvcc's default).
const UNROLLED: f64 = 4.0;
/// The part of a thread's registers that holds loaded values which nothing has used yet; the rest are addresses and results.
const LOADED_REGISTERS: f64 = 0.5;

/// What a launch asks for, summed over it.
#[derive(Clone, Debug)]
pub struct Demand<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// What a core holds at once.
    pub resident: Occupancy,
    /// Lanes of a warp.
    pub warp: u32,
    /// Cycles of the first-level caches of all cores, or why they are unknown.
    pub l1: Result<f64, String>,
    /// Wavefronts of local memory.
    pub local: u64,
    /// Executions of memory instructions by warps.
    pub instructions: u64,
    /// Additional executions by loads of constants whose lanes want different ones.
    pub replays: u64,
    /// Judged conditions of memory instructions, by warps.
    pub conditions: f64,
    /// Bytes that loads request of the first level.
    pub requested: f64,
    /// Bytes from the second level to the first.
    pub l2_load: Result<f64, String>,
    /// Bytes from the first level to the second.
    pub l2_store: f64,
    /// What moves behind the second level, or why it is unknown.
    pub dram: Result<Dram, String>,
}

/// Resources of a device, and the launch's share of the busiest core.
struct Machine<'a> {
    on: &'a Profile,
    groups: f64,
    warps: f64,
}

/// What the limiters' seconds are made of, before fitted numbers enter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// Before the first block runs.
    pub launch: Option<Seconds>,
    /// Limiters that no fitted number touches.
    pub fixed: Vec<Limit>,
    /// What memory moves.
    pub moved: Result<Moved, String>,
    /// What blocks do one after another.
    pub life: Result<Life, String>,
}

/// What memory moves, and how fast it would as a copy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved {
    /// Seconds at the profile's bandwidth.
    pub copy: Seconds,
    /// The part of the bytes that are loads.
    pub loaded: f64,
}

/// The lives of blocks that follow each other in one place of the busiest core, in seconds of the whole launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Life {
    /// Instructions, and waits for loads where nobody else is in the way.
    pub alone: Seconds,
    /// The part of [`alone`](Self::alone) that loads from memory take.
    pub memory: Seconds,
    /// For each cycle between two blocks in one place.
    pub turnover: Seconds,
    /// For each latency of memory that the end of a block's stores takes.
    pub drain: Seconds,
}

/// What the seconds of the launch are made of. Levels that a device does not have are left out.
pub fn parts(demand: &Demand, on: &Profile) -> Parts {
    let groups = demand.kernel.launch.group_count() as f64;
    let warps = groups * f64::from(demand.kernel.launch.group_size().div_ceil(demand.warp.max(1)));
    let machine = Machine { on, groups, warps };
    let m = &on.memory;
    let mut limits = vec![(Limiter::Fp, machine.fp(demand)), (Limiter::Issue, machine.issue(demand))];
    let l1 = demand.l1.as_ref().map_err(Clone::clone);
    if !matches!(m.buffer_l1.bytes, Fact::Absent { .. }) {
        limits.push((Limiter::L1, l1.and_then(|&cycles| machine.busiest(cycles))));
    }
    // Local memory answers a wavefront a cycle, whatever path its bytes take afterwards.
    limits.push((Limiter::Local, if demand.local == 0 { Ok(Seconds::ZERO) } else { machine.busiest(demand.local as f64) }));
    let l2 =
        demand.l2_load.as_ref().map_err(Clone::clone).and_then(|load| over(load + demand.l2_store, &m.l2.bandwidth, "memory.l2.bandwidth"));
    limits.push((Limiter::L2, l2));
    let dram = demand.dram.as_ref().map_err(Clone::clone);
    if !matches!(m.llc.bytes, Fact::Absent { .. }) {
        let bytes = dram.clone().map(|dram| dram.behind_l2 + dram.store);
        limits.push((Limiter::Llc, bytes.and_then(|bytes| over(bytes, &m.llc.bandwidth, "memory.llc.bandwidth"))));
    }
    let moved = dram.and_then(|dram| {
        let bytes = dram.load + dram.store;
        let copy = over(bytes, &m.dram_bandwidth, "memory.dram_bandwidth")?;
        Ok(Moved { copy, loaded: if bytes > 0.0 { dram.load / bytes } else { 0.0 } })
    });
    Parts { launch: on.execution.launch_overhead.get().copied(), fixed: limits, moved, life: machine.life(demand) }
}

impl Parts {
    /// The seconds of each limiter.
    pub fn limits(&self, speed: &Speed) -> Vec<Limit> {
        let dram = self.moved.clone().map(|moved| Seconds(moved.copy.0 / speed.own.peak * speed.mix(moved.loaded)));
        let latency = self.life.clone().map(|life| life.seconds(speed, dram.as_ref().map_or(0.0, |dram| dram.0)));
        let launch = self.launch.map(|launch| (Limiter::Launch, Ok(launch)));
        launch.into_iter().chain(self.fixed.iter().cloned()).chain([(Limiter::Dram, dram), (Limiter::Latency, latency)]).collect()
    }
}

impl Life {
    /// With a device's turnover, and waits that grow with how busy memory is (Little's law: bytes in flight over latency bound the bandwidth,
    /// and latency grows with it). `dram`: seconds for which memory is busy.
    fn seconds(&self, speed: &Speed, dram: f64) -> Seconds {
        let alone = self.alone.0 + speed.own.turnover * self.turnover.0 + speed.drain * self.drain.0;
        let queue = speed.shared.queue * self.memory.0;
        // Memory is busy for dram of the time t: t = alone + queue · dram / t, with at most the whole queue.
        let busy = (alone + (alone * alone + 4.0 * queue * dram).sqrt()) / 2.0;
        Seconds(if alone + queue <= dram { alone + queue } else { busy })
    }
}

/// Units of a core, which work for the same warps.
const CORE: [Limiter; 5] = [Limiter::Fp, Limiter::Issue, Limiter::L1, Limiter::Texture, Limiter::Local];

/// The launch's start, then the norm of the other known limits, those of a core's units as one; and the longest of all. `None` where none is
/// known.
pub fn combined(limits: &[Limit], shared: &Shared) -> Option<(Seconds, Limiter)> {
    let known = || limits.iter().filter_map(|(limiter, limit)| Some((*limiter, limit.as_ref().ok()?.0)));
    let (limiter, longest) = known().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    if longest <= 0.0 {
        return Some((Seconds::ZERO, limiter));
    }
    // Relative to the longest, so that no power underflows.
    let sum = |keep: &dyn Fn(Limiter) -> bool, order: f64| -> f64 {
        known().filter(|limit| keep(limit.0)).map(|(_, seconds)| (seconds / longest).powf(order)).sum()
    };
    let core = sum(&|limiter| CORE.contains(&limiter), shared.core_norm).powf(1.0 / shared.core_norm);
    let others = sum(&|limiter| limiter != Limiter::Launch && !CORE.contains(&limiter), shared.norm);
    let start: f64 = known().filter(|limit| limit.0 == Limiter::Launch).map(|limit| limit.1).sum();
    Some((Seconds(start + longest * (others + core.powf(shared.norm)).powf(1.0 / shared.norm)), limiter))
}

fn over(bytes: f64, rate: &Fact<BytesPerSecond>, field: &str) -> Result<Seconds, String> {
    if bytes == 0.0 {
        return Ok(Seconds::ZERO);
    }
    known(rate, field).map(|rate| Seconds(bytes / rate.0))
}

/// A fact's number, or its field and why it is not known.
pub fn known<'f, T>(fact: &'f Fact<T>, field: &str) -> Result<&'f T, String> {
    match fact {
        Fact::Known { value, .. } => Ok(value),
        Fact::Absent { absent: reason } | Fact::Unknown { unknown: reason } => Err(format!("{field}: {reason}")),
    }
}

impl Machine<'_> {
    fn cores(&self) -> Result<f64, String> {
        known(&self.on.execution.cores, "execution.cores").map(|&cores| f64::from(cores))
    }

    /// Seconds of core cycles that are spread over the cores as groups are: whole groups, so that one core has the most.
    fn busiest(&self, cycles: f64) -> Result<Seconds, String> {
        let most = (self.groups / self.cores()?).ceil();
        let clock = known(&self.on.execution.clock, "execution.clock")?;
        Ok(Seconds(cycles / self.groups * most / clock.0))
    }

    /// Each type's units work by themselves: the slowest counts. Lanes of a cut warp wait with the others.
    fn fp(&self, demand: &Demand) -> Result<Seconds, String> {
        let e = &self.on.execution;
        let vector = f64::from(e.vector_width.get().copied().unwrap_or(1));
        let mut lanes: BTreeMap<&str, (f64, &Fact<f64>)> = BTreeMap::new();
        let no_units = Fact::absent("no matrix unit takes operands of this type");
        for (&(class, scalar, width), &count) in &demand.kernel.ops.0 {
            let (field, rate) = match (class, scalar) {
                (OpClass::Mma, Scalar::F16) => ("execution.matrix.f16", &e.matrix.f16),
                (OpClass::Mma, Scalar::Bf16) => ("execution.matrix.bf16", &e.matrix.bf16),
                (OpClass::Mma, Scalar::F32) => ("execution.matrix.f32", &e.matrix.f32),
                (OpClass::Mma, Scalar::F64) => ("execution.matrix.f64", &e.matrix.f64),
                (OpClass::Mma, Scalar::I32) => ("execution.matrix.int8", &e.matrix.int8),
                (OpClass::Mma, _) => ("execution.matrix", &no_units),
                (OpClass::Special, _) => ("execution.special_per_clock", &e.special_per_clock),
                (OpClass::Fma | OpClass::Float, Scalar::F64) => ("execution.fma64_per_clock", &e.fma64_per_clock),
                (OpClass::Fma | OpClass::Float, Scalar::F16 | Scalar::Bf16) => ("execution.fma16_per_clock", &e.fma16_per_clock),
                _ => ("execution.fma_per_clock", &e.fma_per_clock),
            };
            let vectors = (f64::from(width) / vector).ceil() * vector;
            lanes.entry(field).or_insert((0.0, rate)).0 += count as f64 * vectors * self.warps * f64::from(demand.warp);
        }
        let mut longest = Seconds::ZERO;
        for (field, (lanes, rate)) in lanes {
            longest = longest.max(self.busiest(lanes / known(rate, field)?)?);
        }
        Ok(longest)
    }

    /// Warp instructions of the launch.
    fn instructions(&self, demand: &Demand) -> f64 {
        let vector = f64::from(self.on.execution.vector_width.get().copied().unwrap_or(1));
        let counted = |class| if class == OpClass::Mma { 0.0 } else { 1.0 };
        let ops = demand.kernel.ops.0.iter();
        let arithmetic: f64 = ops.map(|(&(class, _, width), &n)| counted(class) * n as f64 * (f64::from(width) / vector).ceil()).sum();
        arithmetic * self.warps
            + demand.instructions as f64 * (1.0 + ADDRESS_INSTRUCTIONS)
            + demand.replays as f64
            + demand.conditions * CONDITION_INSTRUCTIONS
    }

    fn issue(&self, demand: &Demand) -> Result<Seconds, String> {
        let rate = known(&self.on.execution.issue_per_clock, "execution.issue_per_clock")?;
        self.busiest(self.instructions(demand) / rate)
    }

    /// What the launch takes where nothing but waiting counts: a warp issues an instruction a cycle and waits for its loads, as many at
    /// once as program order and registers allow.
    fn life(&self, demand: &Demand) -> Result<Life, String> {
        let m = &self.on.memory;
        let mut rounds = Vec::new();
        loads_in_flight(demand.kernel, &demand.kernel.accesses.nest, 1.0, 1.0, &mut rounds);
        let stores = demand.l2_store > 0.0;
        let (mut waiting, mut memory) = (0.0, 0.0);
        let last = if stores || !rounds.is_empty() { known(&m.dram_latency, "memory.dram_latency")?.0 } else { 0.0 };
        if !rounds.is_empty() {
            let l2 = known(&m.l2.latency, "memory.l2.latency")?.0;
            let first = if matches!(m.buffer_l1.bytes, Fact::Absent { .. }) {
                l2
            } else {
                known(&m.buffer_l1.latency, "memory.buffer_l1.latency")?.0
            };
            let part = |bytes: f64| if demand.requested > 0.0 { (bytes / demand.requested).min(1.0) } else { 0.0 };
            let dram = demand.dram.as_ref().map_err(Clone::clone)?;
            let (beyond_l1, beyond_l2, beyond_llc) = (part(demand.l2_load.clone()?), part(dram.behind_l2), part(dram.load));
            // Where there is no last level, all that leaves the second comes from memory.
            let llc = m.llc.latency.get().map_or(last, |latency| latency.0.min(last));
            for (times, together) in rounds {
                // The slowest of the loads that are in flight together ends the wait; a line that one of them misses is a hit to the others.
                let any = |miss: f64| (miss * together).min(1.0);
                let cached = first + (l2 - first).max(0.0) * any(beyond_l1);
                waiting += times * (cached + (llc - l2).max(0.0) * any(beyond_l2) + (last - llc) * any(beyond_llc));
                memory += times * last * any(beyond_llc);
            }
        }
        let instructions = self.instructions(demand);
        let per_group = f64::from(demand.kernel.launch.group_size().div_ceil(demand.warp.max(1)));
        // A core has no more groups at once than its share.
        let at_once = f64::from(demand.resident.groups).min((self.groups / self.cores()?).ceil()).max(1.0) * per_group;
        let each = |cycles: f64| self.busiest(cycles * self.warps / at_once);
        Ok(Life {
            alone: each(instructions / self.warps + waiting)?,
            memory: each(memory)?,
            // Blocks without an instruction are nobody's kernel.
            turnover: each(if instructions > 0.0 { 1.0 } else { 0.0 })?,
            drain: each(if stores { last } else { 0.0 })?,
        })
    }
}

/// How often a thread waits for loads, and for how many at once: (times, loads) for each straight run of loads.
fn loads_in_flight(kernel: &Kernel, nest: &[Nest], times: f64, unrolled: f64, to: &mut Vec<(f64, f64)>) {
    let (mut loads, mut registers) = (0.0, 0.0);
    let mut end = |loads: &mut f64, registers: &mut f64| {
        if *loads > 0.0 {
            let room = (f64::from(kernel.registers) * LOADED_REGISTERS / (*registers / *loads)).floor().max(1.0);
            let all = *loads * unrolled;
            let rounds = (all / room).ceil();
            to.push((times / unrolled * rounds, all / rounds));
        }
        (*loads, *registers) = (0.0, 0.0);
    };
    let mut inner = Vec::new();
    for node in nest {
        match node {
            Nest::Access(access) => {
                let bytes = match &kernel.accesses.tensors[usize::from(access.tensor)].place {
                    warpsight_ir::TensorPlace::Buffer { space: warpsight_ir::Space::Global, element, .. } => element.bytes(),
                    warpsight_ir::TensorPlace::Image { format, .. } => format.bytes(),
                    warpsight_ir::TensorPlace::Buffer { .. } => continue,
                };
                if !matches!(access.kind, warpsight_ir::AccessKind::Store(_)) {
                    loads += 1.0;
                    registers += (f64::from(access.width) * f64::from(bytes) / 4.0).max(1.0);
                }
            }
            Nest::Barrier => end(&mut loads, &mut registers),
            Nest::Loop { var, body } => {
                end(&mut loads, &mut registers);
                let trips = f64::from(kernel.accesses.vars[usize::from(var.0)].trips.unwrap_or(1));
                let straight = !body.iter().any(|node| matches!(node, Nest::Barrier));
                inner.push((body, times * trips, if straight { trips.min(UNROLLED) } else { 1.0 }));
            }
        }
    }
    end(&mut loads, &mut registers);
    for (body, times, unrolled) in inner {
        loads_in_flight(kernel, body, times, unrolled, to);
    }
}
