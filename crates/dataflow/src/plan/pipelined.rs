//! A group as a pipeline: the fastest of the designs that it can be, with its work-groups.

use super::kernel::{Run, computing};
use super::parts::GroupPlan;
use crate::assign::assign;
use crate::balance::{Allocation, Bound, Demand, Pools, balance, slowest};
use crate::design::{Design, DesignError, Stage, Tiling, deepen, design, widths};
use crate::group::Group;
use crate::platform::Platform;
use crate::rates::{Curves, Rates};
use crate::view::View;
use warpsight_graph::Phase;
use warpsight_ir::{NoEstimate, Seconds, StageClass};

/// Rows of a token that are tried, of the tensor with the most rows. Small ones fill a pipeline sooner, large ones pay less for slots.
const ROWS: [u64; 6] = [32, 64, 128, 256, 512, 1024];
/// Partial results that are tried of a product that sums over rows: many let many work-groups share it, fewer are sooner brought together.
/// With less than these, sets of work-groups wait for tokens that are dealt to another partial result.
const PARTIALS: [u64; 2] = [16, 64];

/// A group as the fastest of the pipelines that it can be.
///
/// # Errors
/// Why it is none, where no choice of tokens makes it one.
pub fn pipeline(graph: &View, group: &Group, platform: &Platform, rates: &dyn Rates) -> Result<GroupPlan, DesignError> {
    Pipelines { graph, platform, curves: Curves::new(rates, platform.cores) }.fastest(group, true)
}

/// Pipelines of a graph on a device.
pub struct Pipelines<'a> {
    /// The graph.
    pub graph: &'a View,
    /// The device.
    pub platform: &'a Platform,
    /// What stages take.
    pub curves: Curves<'a>,
}

/// A design before work-groups are given out.
struct Draft {
    design: Design,
    /// Of each stage from the begin of the pipeline to its end.
    demands: Vec<Demand>,
    /// What of these is not its own.
    fill: Vec<Seconds>,
    /// What it takes: its latest stage, memory.
    seconds: Seconds,
}

impl Pipelines<'_> {
    /// The fastest pipeline of a group; `both` if the fastest that decides otherwise on epilogues is wanted too.
    ///
    /// # Errors
    /// Why there is none, where no choice of tokens makes one.
    pub fn fastest(&self, group: &Group, both: bool) -> Result<GroupPlan, DesignError> {
        let (widths, sums) = widths(self.graph, group, self.platform);
        let held: Vec<u32> = std::iter::once(0).chain(widths).collect();
        let partials = if sums { &PARTIALS[..] } else { &PARTIALS[..1] };
        let mut failure = None;
        let mut try_all = |rows: &[u64], epilogues: bool, held: &[u32], below: f64| {
            let tiling = |&rows: &u64| {
                let held = held.iter().flat_map(move |&held| partials.iter().map(move |&partials| (held, partials)));
                held.map(move |(held, partials)| Tiling { rows, epilogues, held, partials })
            };
            self.best(group, rows.iter().flat_map(tiling), Seconds(below), &mut failure)
        };
        let Some(joined) = try_all(&ROWS, true, &held, f64::INFINITY) else {
            return Err(failure.unwrap_or_else(|| unreachable!("every choice is found or a failure")));
        };
        let apart = try_all(&ROWS, false, &held, if both { f64::INFINITY } else { joined.seconds.0 });
        let same = |apart: &GroupPlan| apart.design.stages == joined.design.stages && apart.design.queues == joined.design.queues;
        let told = |other: &GroupPlan| Some((other.design.tiling, other.seconds));
        Ok(match apart.filter(|apart| !same(apart)) {
            Some(apart) if apart.seconds < joined.seconds => GroupPlan { otherwise: told(&joined), ..apart },
            apart => GroupPlan { otherwise: apart.as_ref().and_then(told), ..joined },
        })
    }

    /// The fastest of these that takes less than this, the first of equals; the last failure, where there are any.
    fn best(
        &self,
        group: &Group,
        tilings: impl Iterator<Item = Tiling>,
        below: Seconds,
        failure: &mut Option<DesignError>,
    ) -> Option<GroupPlan> {
        let mut drafts = Vec::new();
        for tiling in tilings {
            match self.draft(group, tiling) {
                Ok(draft) => drafts.push(draft),
                Err(why) => *failure = Some(why),
            }
        }
        drafts.sort_by(|a, b| a.seconds.0.total_cmp(&b.seconds.0));
        for draft in drafts.into_iter().filter(|draft| draft.seconds < below) {
            match self.allocated(group, draft) {
                Ok(plan) => return Some(plan),
                Err(why) => *failure = Some(why),
            }
        }
        None
    }

    fn draft(&self, group: &Group, tiling: Tiling) -> Result<Draft, DesignError> {
        let design = design(self.graph, group, tiling, self.platform)?;
        let demand = |stage: &Stage| self.curves.of(stage).map_err(|why| self.unrated(stage, why));
        let demands = design.stages.iter().map(demand).collect::<Result<Vec<_>, _>>()?;
        // One firing, without others beside it.
        let firing = |(stage, demand): (&Stage, &Demand)| Seconds(demand.on(stage.parts) / stage.firings.max(1) as f64);
        let firings: Vec<Seconds> = design.stages.iter().zip(&demands).map(firing).collect();
        let caps = design.caps(self.platform);
        let steady = slowest(&demands, self.pools())?.max(caps.dram).max(caps.l2);
        let fill = fill(&design, &firings, steady);
        let demands: Vec<Demand> = demands.iter().zip(&fill).map(|(demand, &fill)| demand.later(fill)).collect();
        let seconds = slowest(&demands, self.pools())?.max(caps.dram).max(caps.l2);
        Ok(Draft { design, demands, fill, seconds })
    }

    fn pools(&self) -> Pools {
        Pools { tensor: self.platform.cores, simt: self.platform.cores }
    }

    /// Work-groups and depths of a design.
    fn allocated(&self, group: &Group, draft: Draft) -> Result<GroupPlan, DesignError> {
        let Draft { mut design, demands, fill, seconds } = draft;
        let (graph, platform) = (self.graph, self.platform);
        let Allocation { ctas, limiter, .. } = balance(&demands, self.pools(), design.caps(platform))?;
        deepen(&mut design, graph, &ctas, platform)?;
        let classes: Vec<(StageClass, u32)> = design.stages.iter().zip(&ctas).map(|(stage, &ctas)| (stage.class, ctas)).collect();
        // The pools are the multiprocessors.
        let assignment = assign(&classes, platform.cores).unwrap_or_default();
        let mut busy = [Seconds::ZERO; 2];
        for stage in &design.stages {
            let computes = self.curves.rates.seconds(&computing(&stage.work(stage.parts))).map_err(|why| self.unrated(stage, why))?;
            busy[(stage.class == StageClass::Simt) as usize] += computes * f64::from(stage.parts) / f64::from(platform.cores);
        }
        let fill = if let Bound::Stage(at) = limiter { fill[at] } else { Seconds::ZERO };
        let phase = group.nodes.last().map_or(Phase::Forward, |&id| graph.node(id).phase);
        let run = Run { nodes: group.nodes.clone(), phase, seconds, busy: busy[0].max(busy[1]), dram: design.dram(), l2: design.l2() };
        let allocation = Allocation { ctas, seconds: seconds - fill, limiter };
        Ok(GroupPlan { group: group.clone(), design, allocation, assignment, fill, seconds, otherwise: None, run })
    }

    fn unrated(&self, stage: &Stage, why: NoEstimate) -> DesignError {
        let node = stage.nodes.first().map_or_else(String::new, |&id| self.graph.node(id).name.clone());
        DesignError::Rate { node, why }
    }
}

/// Of each stage, what passes before its first firing begins and after its last one ends: of all paths through it the longest, a firing of
/// each other stage on it. What does not depend on how many work-groups there are lets them be given out exactly. `steady` is what the
/// slowest stage takes at best.
fn fill(design: &Design, firings: &[Seconds], steady: Seconds) -> Vec<Seconds> {
    // A product that takes its input in pieces needs all of a token before the first of its own.
    let pieces = |at: usize| design.stages[at].class == StageClass::Tensor && design.stages[at].firings_per_token > 1;
    let token = steady / design.tokens() as f64;
    let over = |from: usize, to: usize| if pieces(to) && design.stages[from].firings_per_token > 1 { token } else { Seconds::ZERO };
    let edges = || design.queues.iter().flat_map(|queue| queue.consumers.iter().map(move |&to| (queue.producer, to)));
    let (mut before, mut after) = (vec![Seconds::ZERO; firings.len()], vec![Seconds::ZERO; firings.len()]);
    // Queues lead from earlier stages to later ones.
    let mut sorted: Vec<(usize, usize)> = edges().collect();
    sorted.sort_unstable();
    for &(from, to) in &sorted {
        before[to] = before[to].max(before[from] + firings[from] + over(from, to));
    }
    for &(from, to) in sorted.iter().rev() {
        after[from] = after[from].max(after[to] + firings[to] + over(from, to));
    }
    before.into_iter().zip(after).map(|(before, after)| before + after).collect()
}
