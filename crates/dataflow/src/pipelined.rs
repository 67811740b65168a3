//! A group as a pipeline: the fastest of the designs that it can be, with its work-groups.

use crate::assign::assign;
use crate::balance::{Demand, Pools, balance, slowest};
use crate::design::{Design, DesignError, Stage, Tiling, deepen, design};
use crate::graph::{Graph, Phase};
use crate::group::Group;
use crate::kernel::{Run, computing};
use crate::machine::Machine;
use crate::plan::GroupPlan;
use crate::rates::{Curves, Rates};
use warpsight_ir::{NoEstimate, Seconds, StageClass};

/// Rows of a token that are tried, of the tensor with the most rows. Small ones fill a pipeline sooner, large ones pay less for slots.
const ROWS: [u64; 6] = [32, 64, 128, 256, 512, 1024];

/// A group as the fastest of the pipelines that it can be.
///
/// # Errors
/// Why it is none, where no choice of tokens makes it one.
pub fn pipeline(graph: &Graph, group: &Group, machine: &Machine, rates: &dyn Rates) -> Result<GroupPlan, DesignError> {
    Pipelines { graph, machine, curves: Curves::new(rates, machine.cores) }.fastest(group, true)
}

/// Of [`ROWS`], this one and those next to it.
fn near_rows(rows: u64) -> &'static [u64] {
    let at = ROWS.iter().position(|&own| own == rows).unwrap_or(0);
    &ROWS[at.saturating_sub(1)..(at + 2).min(ROWS.len())]
}

/// Pipelines of a graph on a device.
pub struct Pipelines<'a> {
    /// The graph.
    pub graph: &'a Graph,
    /// The device.
    pub machine: &'a Machine,
    /// What stages take.
    pub curves: Curves<'a>,
}

/// A design before work-groups are given out.
struct Draft {
    design: Design,
    demands: Vec<Demand>,
    /// What it takes at least: its slowest stage, memory.
    bound: Seconds,
}

impl Pipelines<'_> {
    /// The fastest pipeline of a group; `both` if the fastest that decides otherwise on epilogues is wanted too.
    ///
    /// # Errors
    /// Why there is none, where no choice of tokens makes one.
    pub fn fastest(&self, group: &Group, both: bool) -> Result<GroupPlan, DesignError> {
        let mut failure = None;
        let mut try_all = |rows: &[u64], epilogues: bool, held: bool, below: f64| {
            let tilings = rows.iter().map(|&rows| Tiling { rows, epilogues, held });
            self.best(group, tilings, Seconds(below), &mut failure)
        };
        let held = try_all(&ROWS, true, true, f64::INFINITY);
        let read = try_all(&ROWS, true, false, held.as_ref().map_or(f64::INFINITY, |held| held.seconds.0));
        let Some(joined) = read.or(held) else {
            return Err(failure.unwrap_or_else(|| unreachable!("every choice is found or a failure")));
        };
        let Tiling { rows, held, .. } = joined.design.tiling;
        // Epilogues apart where these did best, and to both sides of it.
        let apart = try_all(near_rows(rows), false, held, if both { f64::INFINITY } else { joined.seconds.0 });
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
        // What is bound to take longer than one that was found need not be looked at.
        drafts.sort_by(|a, b| a.bound.0.total_cmp(&b.bound.0));
        let mut best: Option<GroupPlan> = None;
        for draft in drafts {
            if draft.bound >= best.as_ref().map_or(below, |best| best.seconds) {
                break;
            }
            match self.allocated(group, draft) {
                Ok(plan) if best.as_ref().is_none_or(|best| plan.seconds < best.seconds) => best = Some(plan),
                Ok(_) => {}
                Err(why) => *failure = Some(why),
            }
        }
        best.filter(|best| best.seconds < below)
    }

    fn draft(&self, group: &Group, tiling: Tiling) -> Result<Draft, DesignError> {
        let design = design(self.graph, group, tiling, self.machine)?;
        let demand = |stage: &Stage| self.curves.of(stage).map_err(|why| self.unrated(stage, why));
        let demands = design.stages.iter().map(demand).collect::<Result<Vec<_>, _>>()?;
        let caps = design.caps(self.machine);
        let bound = slowest(&demands, self.pools())?.max(caps.dram).max(caps.l2);
        Ok(Draft { design, demands, bound })
    }

    fn pools(&self) -> Pools {
        Pools { tensor: self.machine.cores, simt: self.machine.cores }
    }

    /// Work-groups, depths and times of a design.
    fn allocated(&self, group: &Group, draft: Draft) -> Result<GroupPlan, DesignError> {
        let Draft { mut design, demands, .. } = draft;
        let (graph, machine) = (self.graph, self.machine);
        let allocation = balance(&demands, self.pools(), design.caps(machine))?;
        deepen(&mut design, graph, &allocation.ctas, machine)?;
        let classes: Vec<(StageClass, u32)> =
            design.stages.iter().zip(&allocation.ctas).map(|(stage, &ctas)| (stage.class, ctas)).collect();
        // The pools are the multiprocessors.
        let assignment = assign(&classes, machine.cores).unwrap_or_default();

        let (mut latest, mut busy) = (vec![Seconds::ZERO; design.stages.len()], [Seconds::ZERO; 2]);
        let (mut round, mut stage_seconds, mut upstream) = (latest.clone(), latest.clone(), latest.clone());
        for (at, stage) in design.stages.iter().enumerate() {
            let sets = u64::from(allocation.ctas[at] / stage.parts.max(1)).max(1);
            stage_seconds[at] = Seconds(demands[at].on(allocation.ctas[at]));
            round[at] = stage_seconds[at] / stage.firings.div_ceil(sets).max(1) as f64;
            upstream[at] = stage_seconds[at] / design.tokens() as f64;
            let mut begins = Seconds::ZERO;
            for queue in design.queues.iter().filter(|queue| queue.consumers.contains(&at)) {
                // Work-groups that do not carry out all pieces of a token at once need their whole input before the first of them.
                let waits = stage.class == StageClass::Tensor && sets < stage.firings_per_token;
                let waits = waits && design.stages[queue.producer].firings_per_token > 1;
                let whole = if waits { upstream[queue.producer] } else { Seconds::ZERO };
                begins = begins.max(latest[queue.producer] + whole);
                upstream[at] = upstream[at].max(upstream[queue.producer]);
            }
            latest[at] = begins + round[at];
            let computes = self.curves.rates.seconds(&computing(&stage.work(stage.parts))).map_err(|why| self.unrated(stage, why))?;
            busy[(stage.class == StageClass::Simt) as usize] += computes * f64::from(stage.parts) / f64::from(machine.cores);
        }
        // The slowest stage works from its first token to its last; before and behind it the longest path is filled and emptied. Memory
        // works all the while, so that what it needs is a bound of its own.
        let slowest = (0..design.stages.len()).max_by(|&a, &b| stage_seconds[a].0.total_cmp(&stage_seconds[b].0));
        let longest = latest.iter().copied().fold(Seconds::ZERO, Seconds::max);
        let (steady, within) = slowest.map_or((Seconds::ZERO, Seconds::ZERO), |at| (stage_seconds[at], round[at]));
        let fill = longest - within;
        let seconds = allocation.seconds.max(steady + fill);
        let phase = group.nodes.last().map_or(Phase::Forward, |&id| graph.node(id).phase);
        let run = Run { nodes: group.nodes.clone(), phase, seconds, busy: busy[0].max(busy[1]), dram: design.dram(), l2: design.l2() };
        Ok(GroupPlan { group: group.clone(), design, allocation, assignment, fill, seconds, otherwise: None, run })
    }

    fn unrated(&self, stage: &Stage, why: NoEstimate) -> DesignError {
        let node = stage.nodes.first().map_or_else(String::new, |&id| self.graph.node(id).name.clone());
        DesignError::Rate { node, why }
    }
}
