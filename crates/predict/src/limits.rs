//! The first model: what each resource alone would take, and how they overlap.

use crate::traffic::{Lines, Traffic, traffic};
use warpsight_ir::occupancy::{Residency, occupancy};
use warpsight_ir::profile::Fact;
use warpsight_ir::{
    Bytes, Config, CostModel, Estimate, Family, Kernel, Limiter, Limits, ModelId, NoEstimate, OpClass, Profile, RankFamily, Ranked,
    Seconds, Volumes,
};

/// Resources overlap, but not perfectly: their times are combined by a norm of this order (∞ would be a perfect overlap, 1 none).
const OVERLAP_NORM: f64 = 4.0;
/// Instructions that address a memory access when they were hoisted as lowering does: one addition on average.
const ADDRESS_INSTRUCTIONS: f64 = 1.0;
/// Instructions per judged condition: a comparison and a selection.
const CONDITION_INSTRUCTIONS: f64 = 2.0;
/// Instructions by which a device without texture units emulates one texel read: a matmul whose operands moved from buffers to images ran
/// 3 to 7.4 times slower on two CPU runtimes (docs/provenance.md, "images on CPUs").
const EMULATED_TEXEL: f64 = 40.0;
/// Relative half-width of the interval: the model has no fitted term, so this is a statement of ignorance, not a calibration.
const IGNORANCE: f64 = 3.0;

/// Roofline with occupancy, waves and latency. Nothing is fitted: every number is the profile's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Roofline;

impl CostModel<Kernel> for Roofline {
    fn id(&self) -> ModelId {
        ModelId { name: "roofline".to_owned(), version: 3, fit: String::new() }
    }

    fn estimate(&self, kernel: &Kernel, on: &Profile) -> Result<Estimate, NoEstimate> {
        Machine::of(on)?.estimate(kernel)
    }
}

impl RankFamily for Roofline {
    fn rank(&self, family: &dyn Family, configs: &[Config], on: &Profile, k: usize) -> Result<Vec<Ranked>, NoEstimate> {
        let machine = Machine::of(on)?;
        let mut ranked: Vec<(f64, usize, Estimate)> = vec![];
        let mut first_error = None;
        for (i, config) in configs.iter().enumerate() {
            match machine.estimate(&family.kernel(config)) {
                Ok(estimate) => {
                    let key = estimate.time.0;
                    // `ranked` is kept sorted and short.
                    if ranked.len() < k || ranked.last().is_some_and(|worst| key < worst.0) {
                        let at = ranked.partition_point(|r| r.0 <= key);
                        ranked.insert(at, (key, i, estimate));
                        ranked.truncate(k);
                    }
                }
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        match (ranked.is_empty(), first_error) {
            (true, Some(error)) => Err(error),
            _ => Ok(ranked.into_iter().map(|(_, i, estimate)| Ranked { config: configs[i].clone(), estimate }).collect()),
        }
    }
}

/// The numbers of a profile that the model needs, in cycles of its clock.
struct Machine<'a> {
    profile: &'a Profile,
    clock: f64,
    cores: f64,
    warp: u32,
    fma: f64,
    special: f64,
    issue: f64,
    vector: f64,
    launch: f64,
    lines: Lines,
    /// Bytes per cycle, whole device; `None` where the level does not exist or nobody knows its rate.
    texture_rate: Option<f64>,
    l1_rate: Option<f64>,
    l2_rate: Option<f64>,
    local_rate: Option<f64>,
    dram_rate: f64,
    l2_bytes: f64,
    texture_bytes: f64,
    texture_instances: f64,
    l1_bytes: Option<f64>,
    load_latency: f64,
    residency: Residency,
}

impl<'a> Machine<'a> {
    fn of(profile: &'a Profile) -> Result<Self, NoEstimate> {
        let (e, m) = (&profile.execution, &profile.memory);
        let clock = e.clock.need(profile, "execution.clock")?.0;
        let rate = |fact: &Fact<warpsight_ir::BytesPerSecond>| fact.get().map(|r| r.0 / clock);
        let cores = f64::from(e.cores.need(profile, "execution.cores")?);
        let warp = e.warp.need(profile, "execution.warp")?;
        let fma = e.fma_per_clock.need(profile, "execution.fma_per_clock")?;
        let has_l1 = m.buffer_l1.bytes.get().is_some();
        let line = |fact: &Fact<Bytes>, usual: f64| fact.get().map_or(usual, |b| b.0);
        let first = if has_l1 { &m.buffer_l1 } else { &m.l2 };
        // Latency that a load meets first; the profile's slowest known one stands in for what is unknown.
        let latency = [&first.latency, &m.l2.latency, &m.dram_latency].into_iter().find_map(Fact::get).map_or(100.0, |c| c.0);
        Ok(Self {
            profile,
            clock,
            cores,
            warp,
            fma,
            special: e.special_per_clock.get().copied().unwrap_or(fma / 4.0),
            issue: e.issue_per_clock.get().copied().unwrap_or(fma / f64::from(warp)),
            vector: f64::from(e.vector_width.get().copied().unwrap_or(1)),
            launch: e.launch_overhead.get().map_or(0.0, |s| s.0 * clock),
            lines: Lines { warp, texture: line(&m.texture_l1.line, 64.0), buffer: line(&first.line, 64.0) },
            texture_rate: rate(&m.texture_l1.bandwidth),
            l1_rate: if has_l1 { rate(&m.buffer_l1.bandwidth) } else { None },
            l2_rate: rate(&m.l2.bandwidth),
            local_rate: rate(&m.local_bandwidth),
            dram_rate: m.dram_bandwidth.need(profile, "memory.dram_bandwidth")?.0 / clock,
            l2_bytes: m.l2.bytes.get().map_or(0.0, |b| b.0) * m.l2.instances.get().map_or(1.0, |&n| f64::from(n))
                + m.llc.bytes.get().map_or(0.0, |b| b.0),
            texture_bytes: m.texture_l1.bytes.get().map_or(0.0, |b| b.0),
            texture_instances: m.texture_l1.instances.get().map_or(cores, |&n| f64::from(n)),
            l1_bytes: m.buffer_l1.bytes.get().map(|b| b.0),
            load_latency: latency,
            residency: Residency::of(profile),
        })
    }

    fn estimate(&self, kernel: &Kernel) -> Result<Estimate, NoEstimate> {
        let group_size = kernel.launch.group_size();
        let fit =
            occupancy(&self.residency, kernel.registers, group_size, kernel.local).map_err(|e| NoEstimate::CannotRun(e.to_string()))?;
        let groups = kernel.launch.group_count() as f64;
        let warps_per_group = f64::from(group_size.div_ceil(self.warp));
        let warps = groups * warps_per_group;
        let lanes = warps * f64::from(self.warp);
        let items = groups * f64::from(group_size);
        // Groups are dealt to cores whole: the busiest core has this many times its fair share.
        let share = (groups / self.cores).ceil() * self.cores / groups;
        let requests = traffic(kernel, self.lines);

        let (fp, arithmetic, other) = self.instructions(kernel, &requests);
        let fp = fp * lanes / (self.fma * self.cores) * share;
        let slots = |instructions: f64| (instructions * warps) / (self.issue * self.cores) * share;
        let issue = slots(other);
        let resident_groups = f64::from(fit.groups).min((groups / self.cores).ceil()).max(1.0);
        let resident_warps = resident_groups * warps_per_group;
        // How long one warp takes by itself: it issues an instruction a cycle at best, and waits for its loads. Resident warps overlap.
        let alone = arithmetic + other + requests.waits * self.load_latency;
        let latency = alone * warps / (self.cores * resident_warps) * share;

        let texel_bytes = 16.0;
        let texture_volume = if self.texture_rate.is_some() { requests.texels * items * texel_bytes } else { 0.0 };
        let misses = self.texture_misses(&requests, warps, groups, resident_warps);
        let buffer_lines = requests.buffer_lines * warps * self.lines.buffer;
        // Where buffers have no first-level cache, load-store units hand every lane its bytes at the rate of the second level, also when
        // all lanes want the same ones: the recorded Adreno 640 reads 16 bytes over and over at 72 GB/s, no faster than its L2.
        let shared_requests = if self.l1_bytes.is_none() { requests.buffer_bytes * items } else { 0.0 };
        let l2_volume = misses + self.buffer_misses(&requests, buffer_lines, groups);
        let dram_volume = self.dram(&requests, groups, resident_groups * self.cores);
        let local_volume = requests.local_words * items * 4.0;
        let per = |volume: f64, rate: Option<f64>| rate.map_or(0.0, |r| volume / r);
        let cycles = [
            (Limiter::Launch, self.launch),
            (Limiter::Fp, fp),
            (Limiter::Issue, issue),
            (Limiter::L1, per(buffer_lines, self.l1_rate) + per(shared_requests, self.l2_rate)),
            (Limiter::Texture, per(texture_volume, self.texture_rate)),
            (Limiter::Local, per(local_volume, self.local_rate)),
            (Limiter::L2, per(l2_volume, self.l2_rate)),
            (Limiter::Dram, dram_volume / self.dram_rate),
            (Limiter::Latency, latency),
        ];
        // The launch comes before everything else; the others overlap. Arithmetic takes issue slots too, so that those two do not.
        let core = fp.max(slots(arithmetic + other));
        let rest = cycles.iter().filter(|c| !matches!(c.0, Limiter::Launch | Limiter::Fp | Limiter::Issue)).map(|c| c.1);
        let work = rest.chain([core]).map(|c| c.powf(OVERLAP_NORM)).sum::<f64>().powf(1.0 / OVERLAP_NORM);
        let seconds = |c: f64| Seconds(c / self.clock);
        let time = seconds(self.launch + work);
        Ok(Estimate {
            time,
            interval: (time / IGNORANCE, time * IGNORANCE),
            limits: Limits(cycles.into_iter().filter(|c| c.1 > 0.0).map(|(l, c)| (l, seconds(c))).collect()),
            volumes: Volumes {
                texture: Bytes(texture_volume),
                l1: Bytes(if self.l1_rate.is_some() { buffer_lines } else { shared_requests }),
                l2: Bytes(l2_volume),
                dram: Bytes(dram_volume),
                local: Bytes(local_volume),
            },
            bound: None,
        })
    }

    /// Per work-item: lane-operations of the FMA units, instructions that are arithmetic, and other instructions.
    fn instructions(&self, kernel: &Kernel, requests: &Traffic) -> (f64, f64, f64) {
        let (mut lanes, mut instructions) = (0.0, 0.0);
        for (&(class, scalar, width), &count) in &kernel.ops.0 {
            let vectors = (f64::from(width) / self.vector).ceil();
            let wide = if scalar.bytes() == 8 { 2.0 } else { 1.0 };
            let slower = if class == OpClass::Special { self.fma / self.special } else { 1.0 };
            lanes += count as f64 * vectors * self.vector * slower * wide;
            instructions += count as f64 * vectors;
        }
        let emulated = if self.texture_rate.is_none() { requests.texels * EMULATED_TEXEL } else { 0.0 };
        let memory = requests.instructions * (1.0 + ADDRESS_INSTRUCTIONS) + requests.conditions * CONDITION_INSTRUCTIONS;
        // A scalar architecture takes a vector of four from a buffer in one instruction, wider ones in pieces.
        let pieces = requests.buffer_bytes / (16.0 * self.vector.max(1.0));
        let spilled = self.spilled(kernel) * 2.0;
        (lanes, instructions, memory.max(pieces) + emulated + spilled)
    }

    /// Registers beyond what a work-item may have: each is written and read back about once.
    fn spilled(&self, kernel: &Kernel) -> f64 {
        let max = self.profile.execution.max_registers.get().copied().unwrap_or(u32::MAX);
        f64::from(kernel.registers.saturating_sub(max)) / self.vector
    }

    /// Bytes from L2 to the texture caches. Lines of one straight-line block stay when all resident warps' blocks fit.
    fn texture_misses(&self, requests: &Traffic, warps: f64, groups: f64, resident_warps: f64) -> f64 {
        if self.texture_rate.is_none() || requests.texture_lines == 0.0 {
            return 0.0;
        }
        let requested = requests.texture_lines * warps * self.lines.texture;
        let once: f64 = requests.tensors.iter().filter(|t| t.image && t.touched).map(|t| t.group_bytes * groups).sum();
        let per_instance = resident_warps * self.cores / self.texture_instances;
        let working_set = (requests.texture_block_lines * self.lines.texture * per_instance).max(1.0);
        let kept = (self.texture_bytes / working_set).min(1.0);
        requested.min(once.max(requested * (1.0 - kept)))
    }

    /// Bytes from L2 on behalf of buffers.
    fn buffer_misses(&self, requests: &Traffic, requested: f64, groups: f64) -> f64 {
        let Some(capacity) = self.l1_bytes else { return requested };
        let once: f64 = requests.tensors.iter().filter(|t| !t.image && t.touched).map(|t| t.group_bytes * groups).sum();
        let per_group = once / groups;
        let kept = (capacity / per_group.max(1.0)).min(1.0);
        requested.min(once.max(requested * (1.0 - kept)))
    }

    /// Bytes from memory: every touched tensor once, and again for each sweep that the last cache does not hold.
    fn dram(&self, requests: &Traffic, groups: f64, concurrent: f64) -> f64 {
        let touched = || requests.tensors.iter().filter(|t| t.touched);
        let total: f64 = touched().map(|t| t.bytes).sum();
        let missing = if total > 0.0 { ((total - self.l2_bytes) / total).max(0.0) } else { 0.0 };
        touched()
            .map(|t| {
                let sweeps = (groups / t.distinct_groups / concurrent.max(1.0)).max(1.0);
                let once = t.bytes.min(t.group_bytes * t.distinct_groups);
                if t.written { once } else { once * (1.0 + (sweeps - 1.0) * missing) }
            })
            .sum()
    }
}
