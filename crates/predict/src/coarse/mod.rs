//! The coarse count of what a launch asks for: microseconds a kernel, for thousands of configurations. Blocks touch boxes, warps the lines of
//! the first one, caches hold whole working sets or parts of them; the exact count is [`crate::volumes`].

pub mod requests;

use crate::texture::{Fetch, Images, runs};
use crate::time::{Counts, Parts, nothing_known, parts, waits};
use crate::volumes::behind::dram::{Curve, Dram};
use crate::volumes::behind::steps::in_step;
use crate::volumes::count::asked_at_once;
use crate::volumes::cpu::{self, is_cpu};
use crate::volumes::first_level::banks::banks;
use crate::volumes::first_level::images;
use crate::volumes::first_level::l1::Rule;
use crate::volumes::fitted::caches::Caches;
use crate::volumes::fitted::speed::Speed;
use crate::volumes::kernel::image::ASSUMED;
use requests::{Lines, Requests, TensorTraffic, Warps, requests};
use std::cell::RefCell;
use warpsight_ir::occupancy::{Residency, occupancy};
use warpsight_ir::profile::{Cache, Fact};
use warpsight_ir::{Bytes, Kernel, LaneOrder, Limiter, Meanwhile, NoEstimate, Profile, Seconds, Unknown};

/// What coarse counts need of a profile, once for all kernels.
#[derive(Debug)]
pub struct Coarse<'p> {
    on: &'p Profile,
    residency: Residency,
    speed: Speed,
    rule: Result<Rule, Unknown>,
    lines: Lines,
    cores: f64,
    l2_bytes: f64,
    /// How the second level lets go of lines, where launches find what those before them left.
    left: Option<Curve>,
    llc_bytes: f64,
    texture_bytes: f64,
    texture_instances: f64,
    /// `None` where buffers have no first-level cache.
    l1_bytes: Option<f64>,
    meanwhile: Meanwhile,
    lanes: LaneOrder,
    /// What warps of all kernels so far asked for: those of one schedule in several places mostly do the same.
    warps: RefCell<Warps>,
}

impl<'p> Coarse<'p> {
    /// Of a device, where other launches touch so much between two of a kernel.
    ///
    /// # Errors
    /// What nothing can be said without: warps, cores, clock and the bandwidth of memory.
    pub fn of(on: &'p Profile, meanwhile: Meanwhile) -> Result<Self, NoEstimate> {
        let (e, m) = (&on.execution, &on.memory);
        e.clock.need(on, "execution.clock")?;
        m.dram_bandwidth.need(on, "memory.dram_bandwidth")?;
        let cores = f64::from(e.cores.need(on, "execution.cores")?);
        let first = if m.buffer_l1.bytes.get().is_some() { &m.buffer_l1 } else { &m.l2 };
        let line = |fact: &Fact<Bytes>| fact.get().map_or(64.0, |bytes| bytes.0);
        let all = |cache: &Cache| cache.bytes.get().map_or(0.0, |bytes| bytes.0) * cache.instances.get().map_or(1.0, |&n| f64::from(n));
        Ok(Self {
            on,
            residency: Residency::of(on),
            speed: Speed::of(on),
            rule: Rule::of(on),
            lines: Lines {
                warp: e.warp.need(on, "execution.warp")?,
                texture: line(&m.texture_l1.line),
                buffer: line(&first.line),
                sector: m.sector.get().map_or(line(&first.line), |bytes| bytes.0.min(asked_at_once(on).unwrap_or(f64::INFINITY))),
                layout: on.likely_layout().unwrap_or(ASSUMED),
                banks: banks(on),
            },
            cores,
            l2_bytes: all(&m.l2),
            left: in_step(on).then(|| Caches::fitted().second(on).curve),
            llc_bytes: all(&m.llc),
            texture_bytes: m.texture_l1.bytes.get().map_or(0.0, |bytes| bytes.0),
            texture_instances: m.texture_l1.instances.get().map_or(cores, |&n| f64::from(n)),
            l1_bytes: m.buffer_l1.bytes.get().map(|bytes| bytes.0),
            meanwhile,
            lanes: LaneOrder::of(on),
            warps: RefCell::default(),
        })
    }

    /// The time of a kernel, and what limits it.
    ///
    /// # Errors
    /// A kernel that cannot run, or of which nothing is known.
    pub fn seconds(&self, kernel: &Kernel) -> Result<(Seconds, Limiter), NoEstimate> {
        let kernel = &*kernel.in_lane_order(self.lanes);
        if is_cpu(self.on) {
            return cpu::coarse(kernel, self.on, self.meanwhile, &self.requests(kernel));
        }
        let parts: Parts = parts(&self.counts(kernel)?, self.on);
        let limits = parts.limits(&self.speed);
        parts.together(&limits, &self.speed).ok_or_else(|| nothing_known(&limits, self.on))
    }

    /// What one launch requests.
    pub fn requests(&self, kernel: &Kernel) -> Requests {
        requests(kernel, self.lines, self.rule.as_ref().ok().copied(), &mut self.warps.borrow_mut())
    }

    /// What a launch asks for.
    ///
    /// # Errors
    /// A kernel that cannot run.
    pub fn counts<'k>(&self, kernel: &'k Kernel) -> Result<Counts<'k>, NoEstimate> {
        let group_size = kernel.launch.group_size();
        let resident =
            occupancy(&self.residency, kernel.registers, group_size, kernel.local).map_err(|e| NoEstimate::CannotRun(e.to_string()))?;
        let groups = kernel.launch.group_count() as f64;
        let warps_per_group = f64::from(group_size.div_ceil(self.lines.warp));
        let warps = groups * warps_per_group;
        let items = groups * f64::from(group_size);
        let resident_groups = f64::from(resident.groups).min((groups / self.cores).ceil()).max(1.0);
        let found = self.requests(kernel);
        let requested = found.load_lines * warps * self.lines.sector;
        let once = |keep: &dyn Fn(&TensorTraffic) -> bool| -> f64 {
            found.tensors.iter().filter(|own| own.touched && !own.written && keep(own)).map(|own| own.group_bytes * groups).sum()
        };
        let texture = self.texture_misses(&found, warps, once(&|own| own.image), resident_groups * warps_per_group);
        let texture_asked = found.texture_lines * warps * self.lines.texture;
        let l2_load = texture + self.buffer_misses(requested, once(&|own| !own.image), groups);
        let concurrent = resident_groups * self.cores;
        let images = Fetch::of(kernel, self.on).map(|fetch| {
            let fetches = found.fetches * warps;
            let lines = texture / self.lines.texture / fetches.max(1.0);
            let behind = self.moved(&found, groups, concurrent, self.l2_bytes, |own| own.image).0;
            Images { fetch, fetches, lines, any: lines.min(1.0), bytes: [texture_asked, texture, behind], runs: runs(kernel) }
        });
        let (behind_l2, store) = self.moved(&found, groups, concurrent, self.l2_bytes, |_| true);
        let (load, _) = self.moved(&found, groups, concurrent, self.l2_bytes + self.llc_bytes, |_| true);
        Ok(Counts {
            kernel,
            resident,
            warp: self.lines.warp,
            l1: self.rule.as_ref().map(|_| found.cycles * warps).map_err(Clone::clone),
            asked: found.buffer_bytes * items,
            texels: (found.texels > 0.0).then_some(found.texel_bytes * items),
            local: found.local * warps,
            instructions: found.instructions * warps,
            replays: 0.0,
            conditions: found.conditions * warps,
            lines: requested,
            requested: requested + texture_asked,
            l2_load: Ok(l2_load),
            l2_store: found.store_lines * warps * self.lines.sector,
            contended: 0.0,
            dram: Ok(Dram { load_wave: load, load, store, spilled: 0.0, behind_l2, by_cause: vec![], per_field: vec![] }),
            waits: waits(kernel, self.on),
            images,
        })
    }

    /// Bytes from L2 to the texture caches. Lines of one straight-line block stay when all resident warps' blocks fit.
    fn texture_misses(&self, found: &Requests, warps: f64, once: f64, resident_warps: f64) -> f64 {
        let requested = found.texture_lines * warps * self.lines.texture;
        let per_instance = resident_warps * self.cores / self.texture_instances;
        images::missed(requested, once, found.texture_block_lines * self.lines.texture * per_instance, self.texture_bytes)
    }

    /// Bytes from L2 on behalf of buffers.
    fn buffer_misses(&self, requested: f64, once: f64, groups: f64) -> f64 {
        let Some(capacity) = self.l1_bytes else { return requested };
        let kept = (capacity / (once / groups).max(1.0)).min(1.0);
        requested.min(once.max(requested * (1.0 - kept)))
    }

    /// Bytes from and to what is behind a cache of that size: every touched tensor once, and again for each sweep that the cache does not hold. Of
    /// some of the tensors, which share the cache with all.
    fn moved(&self, found: &Requests, groups: f64, concurrent: f64, cache: f64, of: impl Fn(&TensorTraffic) -> bool) -> (f64, f64) {
        let touched = || found.tensors.iter().filter(|own| own.touched);
        let total: f64 = touched().map(|own| own.bytes).sum();
        let missing = if total > 0.0 { ((total - cache) / total).max(0.0) } else { 0.0 };
        let cold = |own: &TensorTraffic| self.left.map_or(1.0, |curve| curve.cold(total + self.meanwhile.bytes(own.known), self.l2_bytes));
        let (mut load, mut store) = (0.0, 0.0);
        for own in touched().filter(|own| of(own)) {
            let sweeps = (groups / own.distinct_groups / concurrent.max(1.0)).max(1.0);
            let once = own.bytes.min(own.group_bytes * own.distinct_groups);
            if own.written {
                store += once * cold(own);
            } else {
                load += once * (cold(own) + (sweeps - 1.0) * missing);
            }
        }
        (load, store)
    }
}
