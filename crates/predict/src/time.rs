//! The one time model of GPUs: seconds per limiter from what a launch asks of the device, however that was counted, and how they combine. A
//! rate that the profile does not know makes its limiter unknown, by name, and nothing else.

use crate::path::texel_bytes;
use crate::texture::Images;
use crate::volumes::behind::dram::Dram;
use crate::volumes::behind::spilled::beyond_registers;
use crate::volumes::first_level::banks::wavefront;
use crate::volumes::first_level::l1::Rule;
use crate::volumes::fitted::speed::Speed;
use smallvec::SmallVec;
use warpsight_ir::occupancy::{Occupancy, Residency, occupancy};
use warpsight_ir::profile::Fact;
use warpsight_ir::{
    AccessKind, AccessRef, AffineBound, BytesPerSecond, Hertz, Kernel, Limiter, Nest, NoEstimate, OpClass, Profile, Scalar, Seconds, Space,
    TensorPlace, Unknown, VarId,
};

/// A limiter and its seconds, or which number is missing.
pub type Limit = (Limiter, Result<Seconds, Unknown>);

/// Integer instructions that a memory instruction comes with: the update of a pointer, most offsets being part of the instruction.
const ADDRESS_INSTRUCTIONS: f64 = 1.0;
/// Instructions per judged condition: a comparison and a branch or selection.
const CONDITION_INSTRUCTIONS: f64 = 2.0;
/// Groups that a core holds at once where nobody counted them: the least that vendors document of any GPU with compute shaders (16 on Kepler
/// and Turing, 24 on Ada, 32 on Volta and Hopper).
const USUAL_GROUPS: f64 = 16.0;
/// Bytes that a scalar architecture loads or stores by one instruction of a lane.
const INSTRUCTION_BYTES: f64 = 16.0;
/// Bytes of four halves.
const HALF_TEXEL: u32 = 8;

/// What a launch asks for, summed over it. There are two ways to count it: [`crate::coarse`] and [`crate::volumes`].
#[derive(Clone, Debug)]
pub struct Counts<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// What a core holds at once.
    pub resident: Occupancy,
    /// Lanes of a warp.
    pub warp: u32,
    /// Cycles of the first-level caches of all cores, or why they are unknown.
    pub l1: Result<f64, Unknown>,
    /// Bytes that lanes ask for of buffers, equal ones for each lane again.
    pub asked: f64,
    /// Bytes of texels that lanes ask for; `None` where there are no images.
    pub texels: Option<f64>,
    /// Wavefronts of local memory.
    pub local: f64,
    /// Executions of memory instructions by warps.
    pub instructions: f64,
    /// Additional executions by loads of constants whose lanes want different ones.
    pub replays: f64,
    /// Judged conditions of memory instructions, by warps.
    pub conditions: f64,
    /// Bytes that loads request of the first level.
    pub requested: f64,
    /// Those of buffers alone.
    pub lines: f64,
    /// Bytes from the second level to the first.
    pub l2_load: Result<f64, Unknown>,
    /// Bytes from the first level to the second.
    pub l2_store: f64,
    /// Clocks for which atomics of one address wait for each other.
    pub contended: f64,
    /// What moves behind the second level, or why it is unknown.
    pub dram: Result<Dram, Unknown>,
    /// How often a thread waits for loads, and for how many at once.
    pub waits: Waits,
    /// What units do for images, where fetches of the device were fitted.
    pub images: Option<Images>,
}

/// How often a thread has so many loads in flight together, and waits for them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wait {
    /// Times.
    pub times: f64,
    /// Loads.
    pub together: f64,
    /// Whether it computes meanwhile ([`AccessRef::ahead`](warpsight_ir::AccessRef)).
    pub ahead: bool,
}

/// All waits of a thread.
pub type Waits = SmallVec<[Wait; 4]>;

/// Resources of a device, and the launch's share of the busiest core.
struct Machine<'a> {
    on: &'a Profile,
    /// Its clock, where that is not the profile's.
    clock: Option<Hertz>,
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
    pub moved: Result<Moved, Unknown>,
    /// What blocks do one after another.
    pub life: Result<Life, Unknown>,
    /// How warps share the units of a core; `None` where they are taken to overlap like everything else.
    pub shared: Option<Shared>,
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
pub fn parts(counts: &Counts, on: &Profile) -> Parts {
    parts_at(counts, on, None)
}

/// The same at another clock than the profile's.
pub fn parts_at(counts: &Counts, on: &Profile, clock: Option<Hertz>) -> Parts {
    let groups = counts.kernel.launch.group_count() as f64;
    let warps = groups * f64::from(counts.kernel.launch.group_size().div_ceil(counts.warp.max(1)));
    let machine = Machine { on, clock, groups, warps };
    let m = &on.memory;
    let mut limits = vec![(Limiter::Fp, machine.fp(counts)), (Limiter::Issue, machine.issue(counts))];
    let (bandwidth, field) = first_level_bandwidth(on);
    let l1 = if !matches!(m.buffer_l1.bytes, Fact::Absent { .. }) {
        match &counts.l1 {
            Ok(cycles) => machine.busiest(*cycles),
            // Nothing is known but its bandwidth, at which it hands out the lines that the lanes of a warp touch, each whole.
            Err(unknown) => over(counts.lines, bandwidth, field).map_err(|_| unknown.clone()),
        }
    } else {
        over(counts.asked, bandwidth, field)
    };
    limits.push((Limiter::L1, l1));
    if let Some(bytes) = counts.texels {
        let (bandwidth, field) = texel_bandwidth(counts.kernel, on);
        let texels = over(bytes, bandwidth, field);
        limits.push((
            Limiter::Texture,
            texels.map(|texels| texels + counts.images.as_ref().map_or(Seconds::ZERO, |images| filling(images, on))),
        ));
    }
    limits.push((Limiter::Local, if counts.local == 0.0 { Ok(Seconds::ZERO) } else { machine.busiest(counts.local * wavefront(on)) }));
    let l2 =
        counts.l2_load.as_ref().map_err(Clone::clone).and_then(|load| over(load + counts.l2_store, &m.l2.bandwidth, "memory.l2.bandwidth"));
    // The slice of the busiest address is what all wait for.
    let l2 = if counts.contended > 0.0 { l2.and_then(|l2| Ok(l2.max(Seconds(counts.contended / machine.clock()?.0)))) } else { l2 };
    limits.push((Limiter::L2, l2));
    let dram = counts.dram.as_ref().map_err(Clone::clone);
    if !matches!(m.llc.bytes, Fact::Absent { .. }) {
        let bytes = dram.clone().map(|dram| dram.behind_l2 + dram.store);
        limits.push((Limiter::Llc, bytes.and_then(|bytes| over(bytes, &m.llc.bandwidth, "memory.llc.bandwidth"))));
    }
    let moved = dram.and_then(|dram| {
        let bytes = dram.load + dram.store;
        let copy = over(bytes, &m.dram_bandwidth, "memory.dram_bandwidth")?;
        Ok(Moved { copy, loaded: if bytes > 0.0 { dram.load / bytes } else { 0.0 } })
    });
    let shared = machine.shared(counts);
    let units = [Limiter::Fp, Limiter::Issue, Limiter::L1, Limiter::Texture, Limiter::Local];
    let busy = limits.iter().filter(|limit| units.contains(&limit.0)).filter_map(|limit| limit.1.as_ref().ok());
    let life = machine.life(counts, busy.fold(Seconds::ZERO, |most, &own| most.max(own)));
    Parts { launch: on.execution.launch_overhead.get().copied(), fixed: limits, moved, life, shared }
}

impl Parts {
    /// The seconds of each limiter.
    pub fn limits(&self, speed: &Speed) -> Vec<Limit> {
        let dram = self.moved.clone().map(|moved| Seconds(moved.copy.0 / speed.own.peak * speed.mix(moved.loaded)));
        let latency = self.life.clone().map(|life| life.seconds(speed, dram.as_ref().map_or(0.0, |dram| dram.0)));
        let launch = self.launch.map(|launch| (Limiter::Launch, Ok(launch)));
        launch.into_iter().chain(self.fixed.iter().cloned()).chain([(Limiter::Dram, dram), (Limiter::Latency, latency)]).collect()
    }

    /// The time together, of [`limits`](Self::limits); see [`combined`].
    pub fn together(&self, limits: &[Limit], speed: &Speed) -> Option<(Seconds, Limiter)> {
        let norms = Norms { all: speed.shared.norm, first: speed.first };
        let Some(shared) = &self.shared else { return combined(limits, norms) };
        // Which limiter is the longest one does not depend on how they overlap.
        let longest = combined(limits, norms)?.1;
        Some((combined(&shared.over(limits, norms.all), norms)?.0, longest))
    }
}

impl Life {
    /// What lies between blocks that follow each other in one place.
    pub fn between(&self, speed: &Speed) -> Seconds {
        Seconds(speed.own.turnover * self.turnover.0 + speed.drain * self.drain.0)
    }

    /// With a device's turnover, and waits that grow with how busy memory is (Little's law: bytes in flight over latency bound the bandwidth,
    /// and latency grows with it). `dram`: seconds for which memory is busy.
    fn seconds(&self, speed: &Speed, dram: f64) -> Seconds {
        let alone = self.alone.0 + self.between(speed).0;
        let queue = speed.shared.queue * self.memory.0;
        // Memory is busy for dram of the time t: t = alone + queue · dram / t, with at most the whole queue.
        let busy = (alone + (alone * alone + 4.0 * queue * dram).sqrt()) / 2.0;
        Seconds(if alone + queue <= dram { alone + queue } else { busy })
    }
}

/// How the warps of a core share its units: each issues its instructions, and waits for its loads from caches and local memory, in turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shared {
    /// Runs of instructions that are under way at once.
    runs: u32,
    /// Schedulers, each with a part of the warps.
    schedulers: f64,
    /// Waits of all warps for local memory, one after another, where nobody else is in the way.
    waits: Seconds,
    /// Whether the first level and local memory have one path.
    one_path: bool,
}

/// Runs of a warp that overlap: compilers have the loads of the next trip under way while the arithmetic of the last one is done. Not where these come
/// from memory, whose waits are longer than that.
const AHEAD: u32 = 2;

impl Shared {
    /// The limits with those of units as one: many warps overlap them as recordings show, by this norm, few of them less.
    fn over(&self, limits: &[Limit], order: f64) -> SmallVec<[Limit; 10]> {
        let of = |unit: Limiter| limits.iter().find(|own| own.0 == unit).and_then(|own| own.1.as_ref().ok()).map_or(0.0, |own| own.0);
        let units: &[Limiter] = if self.one_path { &[Limiter::L1, Limiter::Local] } else { &[Limiter::Local] };
        let (fp, issue, path) = (of(Limiter::Fp), of(Limiter::Issue), units.iter().map(|&unit| of(unit)).sum::<f64>());
        let longest = fp.max(issue).max(path);
        let many = [fp, issue, path].map(|own| if longest > 0.0 { (own / longest).powf(order) } else { 0.0 });
        let many = longest * many.iter().sum::<f64>().powf(1.0 / order);
        let together = self.seconds(fp.max(issue), path).max(many);
        let others = limits.iter().filter(|own| !units.contains(&own.0) && !matches!(own.0, Limiter::Fp | Limiter::Issue)).cloned();
        others.chain([(Limiter::Fp, Ok(Seconds(together)))]).collect()
    }

    /// Seconds of arithmetic and of a path of loads, each of which serves one run after another, shared by so many runs: mean value analysis of a
    /// closed network (M. Reiser, S. S. Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks", 1980). Of several schedulers, one
    /// serves a run; a run's own time there is beside the queue (A. Seidmann et al., 1987).
    fn seconds(&self, arithmetic: f64, path: f64) -> f64 {
        let alone = self.waits.0 + (self.schedulers - 1.0) * arithmetic;
        let (mut queued, mut took) = ([0.0; 2], 0.0);
        for runs in 1..=self.runs {
            let there = [arithmetic * (1.0 + queued[0]), path * (1.0 + queued[1])];
            let all = alone + there[0] + there[1];
            took = all / f64::from(runs);
            queued = there.map(|own| if all > 0.0 { own / took } else { 0.0 });
        }
        took
    }
}

/// First levels, and what lies behind them.
const FIRST: [Limiter; 2] = [Limiter::L1, Limiter::Texture];
const BEHIND: [Limiter; 3] = [Limiter::L2, Limiter::Llc, Limiter::Dram];

/// Orders of the norms that combine limiters: 1 is no overlap, ∞ a perfect one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Norms {
    /// Levels of memory, as one, units and waits.
    pub all: f64,
    /// First levels and what lies behind them.
    pub first: f64,
}

/// The launch's start, then the norm of the other known limits: those of memory's levels as one, then with units and waits; and the longest of
/// all. `None` where none is known.
pub fn combined(limits: &[Limit], norms: Norms) -> Option<(Seconds, Limiter)> {
    let known = || limits.iter().filter_map(|(limiter, limit)| Some((*limiter, limit.as_ref().ok()?.0)));
    let (limiter, longest) = known().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    if longest <= 0.0 {
        return Some((Seconds::ZERO, limiter));
    }
    // Relative to the longest, so that no power underflows.
    let sum = |keep: &dyn Fn(Limiter) -> bool, order: f64| -> f64 {
        known().filter(|limit| limit.1 > 0.0 && keep(limit.0)).map(|(_, seconds)| (seconds / longest).powf(order)).sum()
    };
    let behind = sum(&|limiter| BEHIND.contains(&limiter), norms.all).powf(norms.first / norms.all);
    let levels = (sum(&|limiter| FIRST.contains(&limiter), norms.first) + behind).powf(norms.all / norms.first);
    let others = sum(&|limiter| limiter != Limiter::Launch && !FIRST.contains(&limiter) && !BEHIND.contains(&limiter), norms.all);
    let start: f64 = known().filter(|limit| limit.0 == Limiter::Launch).map(|limit| limit.1).sum();
    Some((Seconds(start + longest * (others + levels).powf(1.0 / norms.all)), limiter))
}

/// That nothing can be said: the first limiter's missing number.
pub fn nothing_known(limits: &[Limit], on: &Profile) -> NoEstimate {
    let first = limits.iter().find_map(|(_, limit)| limit.as_ref().err().cloned());
    first.unwrap_or_else(|| Unknown::new("execution", "none of its limiters takes any time")).of(on)
}

/// What texture units take for lines that are not held.
pub fn filling(images: &Images, on: &Profile) -> Seconds {
    let units = on.memory.texture_l1.instances.get().or(on.execution.cores.get()).map_or(1.0, |&units| f64::from(units));
    images.filling() / units
}

/// What first levels of all cores hand out, and the field that says it. Where buffers have no first-level cache, load-store units hand every lane
/// its bytes at the rate of the second level, also when all lanes want the same ones: the recorded Adreno 640 reads 16 bytes over and over at 72
/// GB/s, no faster than its L2.
pub fn first_level_bandwidth(on: &Profile) -> (&Fact<BytesPerSecond>, &'static str) {
    let m = &on.memory;
    match m.buffer_l1.bytes {
        Fact::Absent { .. } => (&m.l2.bandwidth, "memory.l2.bandwidth"),
        _ => (&m.buffer_l1.bandwidth, "memory.buffer_l1.bandwidth"),
    }
}

/// What texture units of all cores hand out where the kernel's texels are as wide as the widest that it loads, and the field that says it: units
/// that count texels give half the bytes where these are halves.
pub fn texel_bandwidth<'p>(kernel: &Kernel, on: &'p Profile) -> (&'p Fact<BytesPerSecond>, &'static str) {
    let mut widest = 0;
    kernel.accesses.each(&mut |access| {
        let place = &kernel.accesses.tensors[usize::from(access.tensor)].place;
        if access.kind == AccessKind::Load && matches!(place, TensorPlace::Image { .. }) {
            widest = widest.max(texel_bytes(place).unwrap_or(0));
        }
    });
    let narrow = widest == HALF_TEXEL;
    match &on.probed.half_texels {
        known @ Fact::Known { .. } if narrow => (known, "probed.half_texels"),
        _ => (&on.memory.texture_l1.bandwidth, "memory.texture_l1.bandwidth"),
    }
}

/// Instructions that a core issues a cycle.
///
/// # Errors
/// A profile that knows no rate of arithmetic either.
pub fn issue_rate(on: &Profile, warp: u32) -> Result<f64, Unknown> {
    let e = &on.execution;
    // What issues is no slower than what it issues to.
    match (e.issue_per_clock.known_as("execution.issue_per_clock"), e.fma_per_clock.get()) {
        (Ok(rate), _) => Ok(*rate),
        (Err(_), Some(lanes)) => Ok(lanes / f64::from(warp.max(1))),
        (Err(unknown), None) => Err(unknown),
    }
}

/// Groups that the busiest core holds at once.
///
/// # Errors
/// A profile that does not know its cores.
pub fn groups_at_once(counts: &Counts, on: &Profile) -> Result<f64, Unknown> {
    let groups = counts.kernel.launch.group_count() as f64;
    let warps = groups * f64::from(counts.kernel.launch.group_size().div_ceil(counts.warp.max(1)));
    Machine { on, clock: None, groups, warps }.at_once(counts)
}

fn over(bytes: f64, rate: &Fact<BytesPerSecond>, field: &'static str) -> Result<Seconds, Unknown> {
    if bytes == 0.0 {
        return Ok(Seconds::ZERO);
    }
    rate.known_as(field).map(|rate| Seconds(bytes / rate.0))
}

impl Machine<'_> {
    fn clock(&self) -> Result<Hertz, Unknown> {
        self.clock.map_or_else(|| self.on.execution.clock.known_as("execution.clock").copied(), Ok)
    }

    fn cores(&self) -> Result<f64, Unknown> {
        self.on.execution.cores.known_as("execution.cores").map(|&cores| f64::from(cores))
    }

    /// Seconds of core cycles that are spread over the cores as groups are: whole groups, so that one core has the most.
    fn busiest(&self, cycles: f64) -> Result<Seconds, Unknown> {
        let most = (self.groups / self.cores()?).ceil();
        Ok(Seconds(cycles / self.groups * most / self.clock()?.0))
    }

    /// Each type's units work by themselves: the slowest counts. Lanes of a cut warp wait with the others.
    fn fp(&self, demand: &Counts) -> Result<Seconds, Unknown> {
        let e = &self.on.execution;
        let vector = f64::from(e.vector_width.get().copied().unwrap_or(1));
        let no_units = Fact::absent("no matrix unit takes operands of this type");
        let mut lanes: SmallVec<[(&'static str, f64, &Fact<f64>); 4]> = SmallVec::new();
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
            let own = count as f64 * vectors * self.warps * f64::from(demand.warp);
            match lanes.iter_mut().find(|unit| unit.0 == field) {
                Some(unit) => unit.1 += own,
                None => lanes.push((field, own, rate)),
            }
        }
        // The first that is unknown is named, by the order of names.
        lanes.sort_unstable_by_key(|unit| unit.0);
        let mut longest = Seconds::ZERO;
        for (field, lanes, rate) in lanes {
            longest = longest.max(self.busiest(lanes / rate.known_as(field)?)?);
        }
        Ok(longest)
    }

    /// Warp instructions of the launch.
    fn instructions(&self, demand: &Counts) -> f64 {
        let vector = f64::from(self.on.execution.vector_width.get().copied().unwrap_or(1));
        let counted = |class| if class == OpClass::Mma { 0.0 } else { 1.0 };
        let ops = demand.kernel.ops.0.iter();
        let size = |class, scalar| counted(class) * if scalar == Scalar::F16 && class != OpClass::Special { self.half() } else { 1.0 };
        let arithmetic: f64 =
            ops.map(|(&(class, scalar, width), &n)| size(class, scalar) * n as f64 * (f64::from(width) / vector).ceil()).sum();
        // Wide accesses are several instructions, which share an address.
        let pieces = demand.asked / (INSTRUCTION_BYTES * vector * f64::from(demand.warp.max(1)));
        // What a thread has no registers for is written and read back.
        let spilled = 2.0 * beyond_registers(demand.kernel, self.on).1 / vector;
        (arithmetic + spilled) * self.warps
            + (demand.instructions * (1.0 + ADDRESS_INSTRUCTIONS)).max(pieces)
            + demand.replays
            + demand.conditions * CONDITION_INSTRUCTIONS
    }

    /// How much of an instruction's slot one in half precision takes: such instructions are of two lanes, or end the sooner.
    fn half(&self) -> f64 {
        let e = &self.on.execution;
        e.fma_per_clock.get().zip(e.fma16_per_clock.get()).map_or(1.0, |(whole, half)| (whole / half).min(1.0))
    }

    fn issue(&self, demand: &Counts) -> Result<Seconds, Unknown> {
        let rate = issue_rate(self.on, demand.warp)?;
        self.busiest(self.instructions(demand) / rate)
    }

    /// Cycles of all warps in which texture and load-store units and local memory hand a warp what it asked for, nobody else being in the way.
    /// Of devices with a first-level cache of buffers, latencies have been measured with it.
    fn delivery(&self, demand: &Counts) -> Result<f64, Unknown> {
        let m = &self.on.memory;
        if !matches!(m.buffer_l1.bytes, Fact::Absent { .. }) {
            return Ok(0.0);
        }
        let cores = self.cores()?;
        let units = m.texture_l1.instances.get().map_or(cores, |&n| f64::from(n));
        let (bandwidth, field) = texel_bandwidth(demand.kernel, self.on);
        let texels = over(demand.texels.unwrap_or(0.0), bandwidth, field)?;
        let buffers = over(demand.asked, &m.l2.bandwidth, "memory.l2.bandwidth")?;
        let filling = demand.images.as_ref().map_or(0.0, |images| images.filling().0);
        Ok((texels.0 * units + filling + buffers.0 * cores) * self.clock()?.0 + demand.local * wavefront(self.on))
    }

    /// Groups that a core has at once of a kernel that copies to local memory in a loop: compilers hold more than is counted.
    fn holding(&self, demand: &Counts) -> u32 {
        let kernel = demand.kernel;
        let most = self.on.execution.max_registers.get().copied().unwrap_or(u32::MAX);
        let registers = ((f64::from(kernel.registers) * HELD) as u32).clamp(kernel.registers.min(most), most);
        let fits = occupancy(&Residency::of(self.on), registers, kernel.launch.group_size(), kernel.local);
        fits.map_or(demand.resident.groups, |own| own.groups.min(demand.resident.groups))
    }

    /// Groups that the busiest core holds at once: no more than its share.
    fn at_once(&self, demand: &Counts) -> Result<f64, Unknown> {
        let most = self.on.execution.max_groups.get().map_or(USUAL_GROUPS, |&most| f64::from(most));
        let nest = &demand.kernel.accesses.nest;
        let meets = Habits::of(self.on).meets && meets_in_loops(nest);
        let held = if meets { self.holding(demand) } else { demand.resident.groups };
        Ok(f64::from(held).min(most).min((self.groups / self.cores()?).ceil()).max(1.0))
    }

    /// How warps share the units of a core, where vendors say what these are.
    fn shared(&self, demand: &Counts) -> Option<Shared> {
        let e = &self.on.execution;
        let one_path = match Rule::of(self.on).ok()? {
            Rule::Nvidia { .. } => true,
            // Elsewhere caches have a path of their own.
            _ if demand.local > 0.0 => false,
            _ => return None,
        };
        let latency = self.on.memory.buffer_l1.latency.get()?.0;
        let per_group = f64::from(demand.kernel.launch.group_size().div_ceil(demand.warp.max(1)));
        let groups = f64::from(demand.resident.groups).min((self.groups / self.cores().ok()?).ceil()).max(1.0);
        let waits = local_waits(demand.kernel, &demand.kernel.accesses.nest, 1.0);
        Some(Shared {
            runs: (groups * per_group) as u32 * if loads_in_trips(demand.kernel, &demand.kernel.accesses.nest) { 1 } else { AHEAD },
            schedulers: e.issue_per_clock.get().copied()?.max(1.0),
            waits: self.busiest(waits * latency * self.warps).ok()?,
            one_path,
        })
    }

    /// What the launch takes where nothing but waiting counts: a warp issues an instruction a cycle and waits for its loads, as many at
    /// once as program order and registers allow. Where warps of a group meet, each waits until all have done what the unit that is `busy`
    /// longest does for them; other groups use it meanwhile.
    fn life(&self, demand: &Counts, busy: Seconds) -> Result<Life, Unknown> {
        let m = &self.on.memory;
        let habits = Habits::of(self.on);
        let stores = demand.l2_store > 0.0;
        let (mut waiting, mut memory) = (0.0, 0.0);
        // What is waited for while computing.
        let mut beside = (0.0, 0.0);
        let last = if stores || !demand.waits.is_empty() { m.dram_latency.known_as("memory.dram_latency")?.0 } else { 0.0 };
        if !demand.waits.is_empty() {
            let l2 = m.l2.latency.known_as("memory.l2.latency")?.0;
            let first = if matches!(m.buffer_l1.bytes, Fact::Absent { .. }) {
                l2
            } else {
                m.buffer_l1.latency.known_as("memory.buffer_l1.latency")?.0
            };
            let part = |bytes: f64| if demand.requested > 0.0 { (bytes / demand.requested).min(1.0) } else { 0.0 };
            let dram = demand.dram.as_ref().map_err(Clone::clone)?;
            let (mut beyond_l1, mut beyond_l2, mut beyond_llc) = (part(demand.l2_load.clone()?), part(dram.behind_l2), part(dram.load));
            // Where there is no last level, all that leaves the second comes from memory.
            let llc = m.llc.latency.get().map_or(last, |latency| latency.0.min(last));
            if let Some(images) = &demand.images {
                let clock = self.clock()?.0;
                let [asked, second, behind] = images.bytes;
                let buffers = (demand.requested - asked).max(0.0);
                let part = |bytes: f64| if buffers > 0.0 { (bytes.max(0.0) / buffers).min(1.0) } else { 0.0 };
                // Of buffers alone.
                (beyond_l1, beyond_l2) = (part(demand.l2_load.clone()? - second), part(dram.load - behind));
                beyond_llc = beyond_l2;
                for &(times, loads, fetches) in &images.runs {
                    let any = |miss: f64| 1.0 - (1.0 - miss).powf(loads);
                    let own = if loads > 0.0 {
                        first + (l2 - first).max(0.0) * any(beyond_l1) + (last - l2).max(0.0) * any(beyond_l2)
                    } else {
                        0.0
                    };
                    let fetched = if fetches > 0.0 { images.wait(fetches).0 * clock } else { 0.0 };
                    waiting += times * own.max(fetched);
                    memory += times * (last * any(beyond_l2)).max(images.memory(fetches).0 * clock);
                }
            }
            for &Wait { times, together, ahead } in demand.waits.iter().filter(|own| own.ahead || demand.images.is_none()) {
                // The slowest of the loads that are in flight together ends the wait; a line that one of them misses is a hit to the others.
                let any = |miss: f64| (miss * together).min(1.0);
                let cached = first + (l2 - first).max(0.0) * any(beyond_l1);
                let (all, behind) = if ahead { (&mut beside.0, &mut beside.1) } else { (&mut waiting, &mut memory) };
                *all += times * (cached + (llc - l2).max(0.0) * any(beyond_l2) + (last - llc) * any(beyond_llc));
                *behind += times * last * any(beyond_llc);
            }
        }
        let instructions = self.instructions(demand);
        let per_group = f64::from(demand.kernel.launch.group_size().div_ceil(demand.warp.max(1)));
        let at_once = self.at_once(demand)? * per_group;
        let lives = (self.groups / self.cores()?).ceil() * per_group / at_once;
        let whole = if habits.in_step { lives.ceil() / lives } else { 1.0 };
        let each = |cycles: f64| self.busiest(cycles * self.warps / at_once * whole);
        let own = (instructions + self.delivery(demand)?) / self.warps;
        let meets = habits.meets && has_barrier(&demand.kernel.accesses.nest);
        let group = if meets { busy.0 * self.clock()?.0 / (self.groups / self.cores()?).ceil() } else { 0.0 };
        let busy = own.max(group);
        // Of loads ahead a trip waits for what it has not computed through; what stands outside of the loop is a small part of what a thread computes.
        memory += beside.1 * if beside.0 > busy { 1.0 - busy / beside.0 } else { 0.0 };
        Ok(Life {
            alone: each(busy.max(beside.0) + waiting)?,
            memory: each(memory)?,
            // Blocks without an instruction are nobody's kernel. What was recorded from one block to the next is of GPUs whose blocks do not live
            // in step; of others nothing is, and what an empty kernel takes has the first of them.
            turnover: each(if instructions > 0.0 && !habits.in_step { 1.0 } else { 0.0 })?,
            drain: each(if stores { last } else { 0.0 })?,
        })
    }
}

/// Trips that compilers write out of loops however much a body loads.
const LEAST_UNROLLED: f64 = 4.0;
/// Operations of a body that they write out no further.
const MOST_OPERATIONS: f64 = 256.0;

/// How compilers and schedulers of a device treat loads and groups.
#[derive(Clone, Copy)]
struct Habits {
    /// Whether trips of loops are written out one after another until so many loads are in flight together.
    unrolls: bool,
    /// Loads of a straight run that are in flight before the first is needed; longer runs wait again.
    in_flight: f64,
    /// Whether groups that begin together end together, so that one more than a core holds takes a life more.
    in_step: bool,
    /// Whether warps that meet at barriers wait for what units do for the others of their group.
    meets: bool,
}

impl Habits {
    fn of(on: &Profile) -> Self {
        match Rule::of(on) {
            // Trips: short bodies are written out at least four times (nvcc's default, and near it LLVM's for AMD), and sweeps of caches reach the
            // bandwidth of the second level with 8 warps of two loads a trip. Loads: compilers batch a block's, and recordings do not tell 8
            // from 24. Lives: recordings of long launches do not tell whole ones from parts.
            // Barriers: what groups lose by them is in the fitted norm.
            Ok(_) => Self { unrolls: true, in_flight: 16.0, in_step: false, meets: false },
            // Of others nothing is recorded: kernels are taken as they are written.
            Err(_) => Self { unrolls: false, in_flight: f64::INFINITY, in_step: true, meets: true },
        }
    }
}

/// How a thread waits for a straight run of so many loads that is executed so often, so many trips of it written out.
fn wait(waits: &mut Waits, times: f64, loads: f64, (unrolled, in_flight): (f64, f64)) {
    let all = loads * unrolled;
    let rounds = (all / in_flight).ceil().max(1.0);
    add(waits, Wait { times: times / unrolled * rounds, together: all / rounds, ahead: false });
}

fn add(waits: &mut Waits, own: Wait) {
    match waits.iter_mut().find(|other| (other.together, other.ahead) == (own.together, own.ahead)) {
        _ if own.together == 0.0 => {}
        Some(other) => other.times += own.times,
        None => waits.push(own),
    }
}

/// Whether work-items of a group meet somewhere.
pub(crate) fn has_barrier(nest: &[Nest]) -> bool {
    nest.iter().any(|node| match node {
        Nest::Barrier => true,
        Nest::Loop { body, .. } => has_barrier(body),
        Nest::Access(_) => false,
    })
}

/// Whether work-items of a group meet in each trip of a loop.
fn meets_in_loops(nest: &[Nest]) -> bool {
    nest.iter().any(|node| matches!(node, Nest::Loop { body, .. } if has_barrier(body)))
}

/// Registers of kernels that copy to local memory in a loop, of those counted: compilers load what is read next ahead. The median of 84 drawn
/// kernels on the simulated Adreno 640, 2026-11-25 (`docs/where-we-are-wrong.md`); without copies it was 0.99. Of 440 that load ahead what
/// they copy 1.5 (2026-11-29).
const HELD: f64 = 1.4;

/// How many trips of a loop's body run as one straight run: none beyond the first across a barrier.
fn straight(kernel: &Kernel, body: &[Nest], (times, trips): (f64, f64), habits: Habits) -> f64 {
    // A loop that holds none of them has all of them here.
    let operations = kernel.ops.0.values().sum::<u64>() as f64 / (times * trips);
    if !habits.unrolls || body.iter().any(|node| matches!(node, Nest::Barrier)) {
        return 1.0;
    }
    let loads = body.iter().map(|node| waited_for(kernel, node).0).sum::<u32>().max(1);
    trips.min((habits.in_flight / f64::from(loads)).max(LEAST_UNROLLED)).min((MOST_OPERATIONS / operations).max(1.0))
}

/// How many loads from memory a node is that are waited for where they stand, and how many that are not.
fn waited_for(kernel: &Kernel, node: &Nest) -> (u32, u32) {
    let Nest::Access(access) = node else { return (0, 0) };
    let place = &kernel.accesses.tensors[usize::from(access.tensor)].place;
    let memory = matches!(place, TensorPlace::Image { .. } | TensorPlace::Buffer { space: Space::Global, .. });
    match access.kind {
        AccessKind::Store(_) => (0, 0),
        _ if !memory => (0, 0),
        _ if access.ahead => (0, access.times),
        _ => (access.times, 0),
    }
}

/// Whether trips of an innermost loop load from memory what they compute with.
fn loads_in_trips(kernel: &Kernel, nest: &[Nest]) -> bool {
    nest.iter().any(|node| match node {
        Nest::Loop { body, .. } if body.iter().any(|node| matches!(node, Nest::Loop { .. })) => loads_in_trips(kernel, body),
        Nest::Loop { body, .. } => body.iter().any(|node| waited_for(kernel, node).0 > 0),
        _ => false,
    })
}

/// How often a thread waits for loads from local memory, which it makes together between loops and barriers.
fn local_waits(kernel: &Kernel, nest: &[Nest], times: f64) -> f64 {
    let local = |node: &Nest| match node {
        Nest::Access(access) => {
            access.kind == AccessKind::Load
                && matches!(kernel.accesses.tensors[usize::from(access.tensor)].place, TensorPlace::Buffer { space: Space::Local, .. })
        }
        _ => false,
    };
    let runs = nest.chunk_by(|a, b| matches!((a, b), (Nest::Access(_), Nest::Access(_)))).filter(|run| run.iter().any(local)).count();
    let inner = nest.iter().map(|node| match node {
        Nest::Loop { var, body } => {
            local_waits(kernel, body, times * f64::from(kernel.accesses.vars[usize::from(var.0)].trips.unwrap_or(1)))
        }
        _ => 0.0,
    });
    times * runs as f64 + inner.sum::<f64>()
}

/// How a thread waits for loads: for each straight run of them.
pub fn waits(kernel: &Kernel, on: &Profile) -> Waits {
    let mut found = Waits::new();
    runs(kernel, &kernel.accesses.nest, (1.0, 1.0, Habits::of(on)), None, &mut found);
    found
}

/// `times`: executions, trips of it written out, and how many would be; `of`: the loop whose body it is, and its trips.
fn runs(kernel: &Kernel, nest: &[Nest], (times, together, habits): (f64, f64, Habits), of: Option<(VarId, u32)>, to: &mut Waits) {
    let straight_run = (together, habits.in_flight);
    let (mut loads, mut ahead, mut last) = (0.0, 0.0, true);
    for node in nest {
        match node {
            Nest::Access(access) => {
                let own = waited_for(kernel, node);
                (loads, ahead) = (loads + f64::from(own.0), ahead + f64::from(own.1));
                last &= own.1 == 0 || of.is_none_or(|of| !ends_before(access, of));
            }
            Nest::Barrier => wait(to, times, std::mem::take(&mut loads), straight_run),
            Nest::Loop { var, body } => {
                wait(to, times, std::mem::take(&mut loads), straight_run);
                let trips = f64::from(kernel.accesses.vars[usize::from(var.0)].trips.unwrap_or(1));
                let own = (times * trips, straight(kernel, body, (times, trips), habits), habits);
                runs(kernel, body, own, Some((*var, trips as u32)), to);
            }
        }
    }
    wait(to, times, loads, straight_run);
    let trips = of.map_or(1.0, |of| f64::from(of.1.max(1)));
    add(to, Wait { times: if last { times } else { times - times / trips }, together: ahead, ahead: true });
}

/// Whether the last trip of a loop makes an access no more: none follows that it could be for.
fn ends_before(access: &AccessRef, (var, trips): (VarId, u32)) -> bool {
    let ends = |own: &AffineBound| own.value.terms() == [(var, 1)] && own.value.constant + i64::from(trips) > own.extent;
    access.guard.iter().any(ends)
}
