//! The model of paper 000 (Guan et al., TMModel, ICS 2025, section 4) as published, a baseline: equations 1 to 7, but for three readings.
//!
//! Equation 6 counts groups where occupancy counts warps: groups are multiplied by their warps. The exponent of equations 2, 3 and 7 is 0 at
//! least, as the text has it. wᵢ, which the paper leaves open, is how many lanes have addresses of their own in input i. What threads do with
//! an input is followed for its first fetches: the histogram H is of these, times the number of all; s is how many lines of the input a thread
//! has under way when it comes back to one, as the nearest of 1, 2, 4 and 8, and 0 where it comes back to none. A buffer is taken for an image
//! of one row.

use crate::model::EachAlone;
use crate::path::{Fetches, fetches};
use warpsight_ir::occupancy::{Residency, occupancy};
use warpsight_ir::texture::paper000::{Paper000 as Fit, exponent, histogram};
use warpsight_ir::texture::{Block, Path};
use warpsight_ir::{
    CostModel, Estimate, Family, Kernel, LaneOrder, Limiter, Limits, ModelId, NoEstimate, Profile, RankFamily, Ranking, Seconds, Volumes,
};

/// Fetches of an input that are followed.
const FOLLOWED: usize = 128;

/// The model as published.
#[derive(Clone, Copy, Debug, Default)]
pub struct Paper000;

/// How much of the model judges: the levels of figure 10.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Equation 1: what threads wait for fetches, one thread after the other.
    Thread,
    /// Equations 1 to 4: what warps wait, one warp after the other.
    Warp,
    /// All seven: warps that are resident together wait together.
    Integrated,
}

/// The model up to a level, for its ablation.
#[derive(Clone, Copy, Debug)]
pub struct UpTo(pub Level);

impl CostModel<Kernel> for Paper000 {
    fn id(&self) -> ModelId {
        ModelId { name: "paper000".to_owned(), version: 1, fit: String::new() }
    }

    fn estimate(&self, kernel: &Kernel, on: &Profile) -> Result<Estimate, NoEstimate> {
        UpTo(Level::Integrated).estimate(kernel, on)
    }
}

impl CostModel<Kernel> for UpTo {
    fn id(&self) -> ModelId {
        ModelId { name: format!("paper000 up to {:?}", self.0), version: 1, fit: String::new() }
    }

    fn estimate(&self, kernel: &Kernel, on: &Profile) -> Result<Estimate, NoEstimate> {
        let fit = on.probed.texture_paper000.known_as("probed.texture_paper000").map_err(|unknown| unknown.of(on))?;
        let (cores, warp) = (on.execution.cores.need(on, "execution.cores")?, on.execution.warp.need(on, "execution.warp")?);
        let line = on.memory.texture_l1.line.need(on, "memory.texture_l1.line")?;
        let group = kernel.launch.group_size();
        let resident =
            occupancy(&Residency::of(on), kernel.registers, group, kernel.local).map_err(|e| NoEstimate::CannotRun(e.to_string()))?;
        let warps_per_group = f64::from(group.div_ceil(warp.max(1)));
        let inputs: Vec<Input> = fetches(&kernel.in_lane_order(LaneOrder::of(on)), warp, FOLLOWED)
            .iter()
            .filter(|own| !own.texels.is_empty())
            .map(|own| Input::of(own, warp.min(group), line.0, fit))
            .collect();
        let lines = inputs.iter().map(|own| own.lanes * own.distance).sum();
        let thread_level = inputs.iter().fold(Seconds::ZERO, |sum, own| sum + own.thread);
        let warp_level = thread_level * fit.divergence.powf(exponent(lines, fit.lines));
        let warps = kernel.launch.group_count() as f64 * warps_per_group;
        let together = f64::from(cores) * f64::from(resident.groups.max(1)) * warps_per_group;
        let time = match self.0 {
            Level::Thread => thread_level * (kernel.launch.group_count() as f64 * f64::from(group)),
            Level::Warp => warp_level * warps,
            Level::Integrated => warp_level * (warps / together).ceil(),
        };
        Ok(Estimate {
            time,
            interval: (time, time),
            limits: Limits(vec![(Limiter::Texture, time)]),
            volumes: Volumes::default(),
            bound: None,
        })
    }
}

impl RankFamily for Paper000 {
    fn ranking<'a>(&'a self, family: &'a dyn Family, on: &'a Profile, k: usize) -> Result<Box<dyn Ranking + Send + 'a>, NoEstimate> {
        Ok(Box::new(EachAlone::new(self, family, on, k)))
    }
}

impl RankFamily for UpTo {
    fn ranking<'a>(&'a self, family: &'a dyn Family, on: &'a Profile, k: usize) -> Result<Box<dyn Ranking + Send + 'a>, NoEstimate> {
        Ok(Box::new(EachAlone::new(self, family, on, k)))
    }
}

/// What one input is to equations 1 and 3.
struct Input {
    /// ⟨β, H⟩ of all its fetches.
    thread: Seconds,
    /// wᵢ
    lanes: f64,
    /// sᵢ
    distance: f64,
}

impl Input {
    fn of(own: &Fetches, lanes: u32, line: f64, fit: &Fit) -> Self {
        let lanes = lanes.max(1) as usize;
        let thread: Vec<(u32, u32)> = own.texels.iter().step_by(lanes).copied().collect();
        let thread = Path::new(1, &thread);
        let mut first: Vec<(u32, u32)> = own.texels.iter().take(lanes).copied().collect();
        first.sort_unstable();
        first.dedup();
        let apart = |bytes: u32| (f64::from(bytes) / f64::from(own.texel_bytes.max(1))).log2().abs();
        let sizes = fit.weights.iter().map(|weights| weights.texel_bytes);
        let nearest = sizes.min_by(|a, b| apart(*a).total_cmp(&apart(*b))).unwrap_or(own.texel_bytes);
        let mean = fit.thread(nearest, &histogram(&thread)).unwrap_or(Seconds::ZERO);
        let width = (line / f64::from(own.texel_bytes.max(1))).max(1.0) as u32;
        Self {
            thread: mean.max(Seconds::ZERO) * own.all,
            lanes: first.len() as f64,
            distance: distance(&thread, Block { width, height: 1 }),
        }
    }
}

/// s of a thread's path.
fn distance(path: &Path, line: Block) -> f64 {
    let returns = path.returns(line);
    let mut since: Vec<u32> = returns.fetches().filter_map(|fetch| fetch.first().copied().flatten()).collect();
    since.sort_unstable();
    match since.get(since.len() / 2) {
        None => 0.0,
        Some(median) => f64::from(*median + 1).log2().round().clamp(0.0, 3.0).exp2(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_figure_3() {
        let line = Block { width: 2, height: 1 };
        let of = |texel: &dyn Fn(u32) -> (u32, u32)| {
            let texels: Vec<(u32, u32)> = (0..64).map(texel).collect();
            distance(&Path::new(1, &texels), line)
        };
        // Down a column, along a row, and through blocks of two and four rows.
        assert_eq!(of(&|n| (0, n)), 0.0);
        assert_eq!(of(&|n| (n, 0)), 1.0);
        assert_eq!(of(&|n| (n / 2, n % 2)), 2.0);
        assert_eq!(of(&|n| (n / 4, n % 4)), 4.0);
        assert_eq!(of(&|n| (n / 8, n % 8)), 8.0);
    }
}
