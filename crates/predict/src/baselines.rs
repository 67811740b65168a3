//! What models are held against: simpler ones that others use.

use crate::coarse::Coarse;
use crate::model::EachAlone;
use crate::path::fetches;
use warpsight_ir::bound::peak;
use warpsight_ir::occupancy::{Residency, occupancy};
use warpsight_ir::texture::{Block, Path, Strides};
use warpsight_ir::{
    CostModel, Estimate, Family, Kernel, LaneOrder, Limiter, Limits, Meanwhile, ModelId, NoEstimate, Profile, RankFamily, Ranking, Seconds,
    Volumes,
};

/// Roofline (Williams et al. 2009): arithmetic at its peak or every tensor moved once, whichever takes longer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Roofline;

/// Misses of the texture cache by the distances at which lines come back, as PPT-GPU counts them (Arafa et al. 2020): of one warp's path, in a
/// cache that replaces the least recently used of its lines. No occupancy, no order of texels in memory but lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReuseDistance;

fn runs(kernel: &Kernel, on: &Profile) -> Result<(), NoEstimate> {
    let fits = occupancy(&Residency::of(on), kernel.registers, kernel.launch.group_size(), kernel.local);
    fits.map(drop).map_err(|error| NoEstimate::CannotRun(error.to_string()))
}

fn estimate(limits: Vec<(Limiter, Seconds)>) -> Estimate {
    let time = limits.iter().fold(Seconds::ZERO, |most, own| most.max(own.1));
    Estimate { time, interval: (time, time), limits: Limits(limits), volumes: Volumes::default(), bound: None }
}

impl CostModel<Kernel> for Roofline {
    fn id(&self) -> ModelId {
        ModelId { name: "roofline".to_owned(), version: 1, fit: String::new() }
    }

    fn estimate(&self, kernel: &Kernel, on: &Profile) -> Result<Estimate, NoEstimate> {
        runs(kernel, on)?;
        let e = &on.execution;
        e.fma_per_clock.need(on, "execution.fma_per_clock")?;
        e.clock.need(on, "execution.clock")?;
        e.cores.need(on, "execution.cores")?;
        let peak = peak(on).map_or(f64::INFINITY, |peak| peak.0);
        let items = kernel.launch.group_count() as f64 * f64::from(kernel.launch.group_size());
        let bytes: f64 =
            Coarse::of(on, Meanwhile::default())?.requests(kernel).tensors.iter().filter(|own| own.touched).map(|own| own.bytes).sum();
        let memory = bytes / on.memory.dram_bandwidth.need(on, "memory.dram_bandwidth")?.0;
        Ok(estimate(vec![(Limiter::Fp, Seconds(kernel.ops.flops() as f64 * items / peak)), (Limiter::Dram, Seconds(memory))]))
    }
}

/// Fetches of an input that are followed.
const FOLLOWED: usize = 64;

impl CostModel<Kernel> for ReuseDistance {
    fn id(&self) -> ModelId {
        ModelId { name: "reuse-distance".to_owned(), version: 1, fit: String::new() }
    }

    fn estimate(&self, kernel: &Kernel, on: &Profile) -> Result<Estimate, NoEstimate> {
        runs(kernel, on)?;
        let (warp, cache) = (on.execution.warp.need(on, "execution.warp")?, &on.memory.texture_l1);
        let (line, bytes) = (cache.line.need(on, "memory.texture_l1.line")?.0, cache.bytes.need(on, "memory.texture_l1.bytes")?.0);
        let group = kernel.launch.group_size();
        let warps = kernel.launch.group_count() as f64 * f64::from(group.div_ceil(warp.max(1)));
        let ordered = kernel.in_lane_order(LaneOrder::of(on));
        let missed = fetches(&ordered, warp, FOLLOWED).into_iter().filter(|own| !own.texels.is_empty()).map(|own| {
            let width = (line / f64::from(own.texel_bytes.max(1))).max(1.0) as u32;
            let path = Path::new(warp.min(group).max(1) as usize, &own.texels);
            let kept = |since: f64| if since < bytes / line { 1.0 } else { 0.0 };
            own.all * warps * Strides::of(&path.returns(Block { width, height: 1 }), kept).blocks
        });
        let moved: f64 = missed.sum::<f64>() * line;
        Ok(estimate(vec![(Limiter::L2, Seconds(moved / on.memory.l2.bandwidth.need(on, "memory.l2.bandwidth")?.0))]))
    }
}

impl RankFamily for Roofline {
    fn ranking<'a>(&'a self, family: &'a dyn Family, on: &'a Profile, k: usize) -> Result<Box<dyn Ranking + Send + 'a>, NoEstimate> {
        Ok(Box::new(EachAlone::new(self, family, on, k)))
    }
}

impl RankFamily for ReuseDistance {
    fn ranking<'a>(&'a self, family: &'a dyn Family, on: &'a Profile, k: usize) -> Result<Box<dyn Ranking + Send + 'a>, NoEstimate> {
        Ok(Box::new(EachAlone::new(self, family, on, k)))
    }
}
