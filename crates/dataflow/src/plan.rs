//! A plan of a whole graph: groups as pipelines with their work-groups, the rest operator by operator, and what each execution takes.

mod chooser;
pub mod kernel;
mod parts;
mod pipelined;

pub use parts::{GroupPlan, KernelPlan};
pub use pipelined::pipeline;

use crate::design::DesignError;
use crate::group::Group;
use crate::platform::Platform;
use crate::rates::{Curves, Rates};
use crate::select::pattern::Patterns;
use crate::select::vertical::vertical;
use crate::select::{Policy, best, kitsune};
use crate::view::{NodeId, View};
use chooser::Chooser;
use kernel::{Fused, Run, alone, fused};
use parts::Chosen;
use pipelined::Pipelines;
use serde::Serialize;
use std::collections::HashSet;
use warpsight_graph::Phase;
use warpsight_ir::{Bytes, Seconds};

/// Below this share of its peak a resource counts as little used (paper 003, figures 3 and 13).
pub const LOW: f64 = 0.33;

/// How a graph is executed.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Groups that the policy selects: what table 2 of the paper counts. Not all of them need be possible, or pay.
    pub selected: Vec<Group>,
    /// Groups that run as pipelines.
    pub groups: Vec<GroupPlan>,
    /// Groups that run as one kernel each, where that is faster ([`Policy::Best`]).
    pub kernels: Vec<KernelPlan>,
    /// Groups that do not, or operators of groups, and why; they are among the rest.
    pub refused: Vec<(Group, DesignError)>,
    /// Operators that run by themselves, ascending.
    pub rest: Vec<NodeId>,
    /// What bulk-synchronous, vertically fused and dataflow execution take.
    pub times: Times,
}

/// Predicted times of three executions of the same graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// A kernel for each operator.
    pub bsp: Execution,
    /// Fused kernels, and the rest as before.
    pub vertical: Execution,
    /// Pipelines and the plan's own fused kernels, and the rest as before.
    pub dataflow: Execution,
}

/// One way to execute a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// What runs, in order of its first operator.
    pub runs: Vec<Run>,
    /// With every kernel launched by itself.
    pub eager: Seconds,
    /// Within a graph of kernels.
    pub graph: Seconds,
    /// Through device memory, operands that pipelines read again included; the paper's counting is [`crate::group::traffic`].
    pub dram: Bytes,
    /// Through the second-level cache, device memory's included.
    pub l2: Bytes,
    /// How long resources are little used, of the forward pass.
    pub forward: Quadrants,
    /// And of the backward pass.
    pub backward: Quadrants,
}

/// Seconds by what is little used (less than a third of its peak).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quadrants {
    /// Multiprocessors and memory.
    pub low_both: Seconds,
    /// Multiprocessors alone.
    pub low_sm: Seconds,
    /// Memory alone.
    pub low_dram: Seconds,
    /// Neither.
    pub neither: Seconds,
}

/// Plans a graph as a policy has it. [`Policy::Best`] begins with the paper's plan, with the kernels of vertical fusion, with the best of
/// both and with neither, so that it is never slower than any of them.
///
/// # Errors
/// An operator that cannot be timed even by itself.
pub fn planned(graph: &View, policy: Policy, platform: &Platform, rates: &dyn Rates) -> Result<Plan, DesignError> {
    let fused = vertical(graph, &Patterns::vertical(), platform.shared).groups.into_iter();
    let fused: Vec<Fused> = fused.map(|(group, bytes)| Fused { group, rows: bytes.rows }).collect();
    let paper = plan(graph, &kitsune(graph, &Patterns::kitsune()), &fused, platform, rates)?;
    if policy == Policy::Kitsune {
        return Ok(paper);
    }
    let chooser = Chooser::new(graph, platform, rates);
    let starts = [paper.groups.into_iter().map(|plan| plan.group).collect(), fused.into_iter().map(|fused| fused.group).collect()];
    let (mut groups, mut kernels) = (Vec::new(), Vec::new());
    let selected = best(graph, &chooser, &starts);
    for group in &selected {
        match chooser.chosen(group, true) {
            Some(Chosen::Pipeline(plan)) => groups.push(*plan),
            Some(Chosen::Kernel(plan)) => kernels.push(plan),
            None => {}
        }
    }
    let Times { bsp, vertical, .. } = paper.times;
    Ok(Plan { selected, ..Plan::of(graph, groups, kernels, bsp, vertical, platform) })
}

/// Plans a graph with these groups as pipelines, where that is faster than their operators by themselves (the paper's exclusion of what is
/// bulk-synchronous friendly, by estimate); `vertical` are the groups of the plan to compare with.
///
/// # Errors
/// An operator that cannot be timed even by itself.
pub fn plan(graph: &View, groups: &[Group], vertical: &[Fused], platform: &Platform, rates: &dyn Rates) -> Result<Plan, DesignError> {
    let singles = graph.ids().map(|id| alone(graph, id, platform, rates)).collect::<Result<Vec<Run>, _>>()?;
    let pipelines = Pipelines { graph, platform, curves: Curves::new(rates, platform.cores) };
    let (mut planned, mut refused) = (Vec::new(), Vec::new());
    for group in groups {
        let mut group = group.clone();
        loop {
            match pipelines.fastest(&group, true) {
                Ok(plan) => {
                    let alone = group.nodes.iter().map(|id| singles[id.0].seconds + platform.launch).sum();
                    let pipeline = plan.seconds + platform.launch;
                    if pipeline < alone {
                        planned.push(plan);
                    } else {
                        refused.push((group, DesignError::Slower { pipeline, alone }));
                    }
                    break;
                }
                Err(why) => {
                    let smaller = why.node().and_then(|node| without(graph, &group, node.id));
                    let left = |id: &NodeId| smaller.as_ref().is_none_or(|smaller| !smaller.has(*id));
                    refused.push((Group { nodes: group.nodes.iter().copied().filter(left).collect(), ..group.clone() }, why));
                    let Some(smaller) = smaller else { break };
                    group = smaller;
                }
            }
        }
    }
    let kernels = vertical.iter().map(|group| fused(graph, group, platform, rates)).collect::<Result<Vec<Run>, _>>()?;
    let bsp = Execution::of(singles, platform);
    let vertical = bsp.with(kernels, platform);
    Ok(Plan { selected: groups.to_vec(), refused, ..Plan::of(graph, planned, Vec::new(), bsp, vertical, platform) })
}

impl Plan {
    fn of(
        graph: &View,
        groups: Vec<GroupPlan>,
        kernels: Vec<KernelPlan>,
        bsp: Execution,
        vertical: Execution,
        platform: &Platform,
    ) -> Self {
        let pipelines = groups.iter().map(|plan| plan.run.clone());
        let dataflow = bsp.with(pipelines.chain(kernels.iter().map(|plan| plan.run.clone())).collect(), platform);
        let together = groups.iter().map(|plan| &plan.group).chain(kernels.iter().map(|plan| &plan.fused.group));
        let together: HashSet<NodeId> = together.flat_map(|group| group.nodes.iter().copied()).collect();
        let rest = graph.ids().filter(|id| !together.contains(id)).collect();
        Self { selected: Vec::new(), groups, kernels, refused: Vec::new(), rest, times: Times { bsp, vertical, dataflow } }
    }

    /// Groups that run as one, as pipelines or as kernels: those of [`Plan::selected`] that are possible and pay.
    pub fn together(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().map(|plan| &plan.group).chain(self.kernels.iter().map(|plan| &plan.fused.group))
    }
}

/// The rest of a group without the operator that stands in the way, where that can run by itself before or after the others.
fn without(graph: &View, group: &Group, node: NodeId) -> Option<Group> {
    let nodes: Vec<NodeId> = group.nodes.iter().copied().filter(|&id| id != node).collect();
    let shrinks = nodes.len() < group.nodes.len() && nodes.len() > 1;
    (shrinks && graph.is_convex(&nodes)).then(|| Group { nodes, ..group.clone() })
}

/// Where the seconds of an execution go; together, all of them (eager launches).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// Launches.
    pub launch: Seconds,
    /// What device memory needs for all that moves.
    pub memory: Seconds,
    /// What the busiest units need beyond that, averaged over multiprocessors.
    pub units: Seconds,
    /// The rest: fill, rounds that do not come out even, unequal stages, the second-level cache.
    pub waiting: Seconds,
}

impl Terms {
    /// Each with its name.
    pub fn named(&self) -> [(&'static str, Seconds); 4] {
        [("launches", self.launch), ("device memory", self.memory), ("units", self.units), ("waiting", self.waiting)]
    }

    /// What another execution saves most in, and how much.
    pub fn most_saved(&self, by: &Self) -> (&'static str, Seconds) {
        let saved = self.named().into_iter().zip(by.named()).map(|((name, own), (_, other))| (name, own - other));
        saved.reduce(|most, next| if next.1 > most.1 { next } else { most }).unwrap_or(("launches", Seconds::ZERO))
    }
}

impl Execution {
    /// Where its seconds go.
    pub fn terms(&self, platform: &Platform) -> Terms {
        let mut terms = Terms { launch: platform.launch * self.runs.len() as f64, ..Terms::default() };
        for run in &self.runs {
            let memory = (run.dram / platform.dram).min(run.seconds);
            let units = run.busy.min(run.seconds).max(memory) - memory;
            terms.memory += memory;
            terms.units += units;
            terms.waiting += run.seconds - memory - units;
        }
        terms
    }

    /// The same with some operators together.
    fn with(&self, together: Vec<Run>, platform: &Platform) -> Self {
        let inside: HashSet<NodeId> = together.iter().flat_map(|run| run.nodes.iter().copied()).collect();
        let covered = |run: &Run| inside.contains(&run.nodes[0]);
        let mut runs: Vec<Run> = self.runs.iter().filter(|run| !covered(run)).cloned().collect();
        runs.extend(together);
        runs.sort_by_key(|run| run.nodes[0]);
        Self::of(runs, platform)
    }

    fn of(runs: Vec<Run>, platform: &Platform) -> Self {
        let work: Seconds = runs.iter().map(|run| run.seconds).sum();
        let count = runs.len() as f64;
        let mut execution = Self {
            eager: work + platform.launch * count,
            graph: work + platform.graph_launch * count,
            dram: runs.iter().map(|run| run.dram).sum(),
            l2: runs.iter().map(|run| run.l2).sum(),
            forward: Quadrants::default(),
            backward: Quadrants::default(),
            runs: Vec::new(),
        };
        for run in &runs {
            let seconds = run.seconds + platform.launch;
            let low_sm = run.busy / seconds < LOW;
            let low_dram = run.dram / platform.dram / seconds < LOW;
            let quadrants = match run.phase {
                Phase::Forward => &mut execution.forward,
                Phase::Backward => &mut execution.backward,
            };
            *quadrants.of(low_sm, low_dram) += seconds;
        }
        Self { runs, ..execution }
    }
}

impl Quadrants {
    fn of(&mut self, low_sm: bool, low_dram: bool) -> &mut Seconds {
        match (low_sm, low_dram) {
            (true, true) => &mut self.low_both,
            (true, false) => &mut self.low_sm,
            (false, true) => &mut self.low_dram,
            (false, false) => &mut self.neither,
        }
    }
}
