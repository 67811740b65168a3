//! A plan of a whole graph: groups as pipelines with their work-groups, the rest operator by operator, and what each execution takes.

use crate::assign::{Pair, assign};
use crate::balance::{Allocation, Demand, Pools, balance};
use crate::design::{Design, DesignError, Stage, Tiling, deepen, design};
use crate::graph::{Graph, NodeId, Phase};
use crate::group::Group;
use crate::kernel::{Fused, Run, alone, computing, fused};
use crate::machine::Machine;
use crate::rates::Rates;
use crate::select::Judge;
use serde::Serialize;
use warpsight_ir::{Bytes, NoEstimate, Seconds, StageClass};

/// Rows of a token that are tried, of the tensor with the most rows. Small ones fill a pipeline sooner, large ones pay less for slots.
const ROWS: [u64; 6] = [32, 64, 128, 256, 512, 1024];
/// Below this share of its peak a resource counts as little used (paper 003, figures 3 and 13).
pub const LOW: f64 = 0.33;

/// How a graph is executed.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Groups that run as pipelines.
    pub groups: Vec<GroupPlan>,
    /// Groups that do not, or operators of groups, and why; they are among the rest.
    pub refused: Vec<(Group, DesignError)>,
    /// Operators that run by themselves, ascending.
    pub rest: Vec<NodeId>,
    /// What bulk-synchronous, vertically fused and dataflow execution take.
    pub times: Times,
}

/// A group as a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupPlan {
    /// The group.
    pub group: Group,
    /// Its stages and queues.
    pub design: Design,
    /// Work-groups of each stage, and what limits.
    pub allocation: Allocation,
    /// What each multiprocessor holds.
    pub assignment: Vec<Pair>,
    /// Until the slowest stage has its first token, and from its last one to the end.
    pub fill: Seconds,
    /// Predicted for one execution, without the launch.
    pub seconds: Seconds,
    /// The best design that decides otherwise on epilogues, with its time: why this one was taken.
    pub otherwise: Option<(Tiling, Seconds)>,
    /// What its units compute.
    pub run: Run,
}

/// Predicted times of three executions of the same graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// A kernel for each operator.
    pub bsp: Execution,
    /// Fused kernels, and the rest as before.
    pub vertical: Execution,
    /// Pipelines, and the rest as before.
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

/// Plans a graph with these groups as pipelines, where that is faster than their operators by themselves (the paper's exclusion of what is
/// bulk-synchronous friendly, by estimate); `vertical` are the groups of the plan to compare with.
///
/// # Errors
/// An operator that cannot be timed even by itself.
pub fn plan(graph: &Graph, groups: &[Group], vertical: &[Fused], machine: &Machine, rates: &dyn Rates) -> Result<Plan, DesignError> {
    let singles = graph.ids().map(|id| alone(graph, id, machine, rates)).collect::<Result<Vec<Run>, _>>()?;
    let (mut planned, mut refused) = (Vec::new(), Vec::new());
    for group in groups {
        let mut group = group.clone();
        loop {
            match pipeline(graph, &group, machine, rates) {
                Ok(plan) => {
                    let alone = group.nodes.iter().map(|id| singles[id.0].seconds + machine.launch).sum();
                    let pipeline = plan.seconds + machine.launch;
                    if pipeline < alone {
                        planned.push(plan);
                    } else {
                        refused.push((group, DesignError::Slower { pipeline, alone }));
                    }
                    break;
                }
                Err(why) => {
                    let smaller = without(graph, &group, &why);
                    let left = |id: &NodeId| smaller.as_ref().is_none_or(|smaller| !smaller.has(*id));
                    refused.push((Group { nodes: group.nodes.iter().copied().filter(left).collect(), ..group.clone() }, why));
                    let Some(smaller) = smaller else { break };
                    group = smaller;
                }
            }
        }
    }
    let kernels = vertical.iter().map(|group| fused(graph, group, machine, rates)).collect::<Result<Vec<Run>, _>>()?;
    let with = |together: Vec<Run>| {
        let covered = |run: &Run| together.iter().any(|other| other.nodes.contains(&run.nodes[0]));
        let mut runs: Vec<Run> = singles.iter().filter(|run| !covered(run)).cloned().collect();
        runs.extend(together);
        runs.sort_by_key(|run| run.nodes[0]);
        Execution::of(runs, machine)
    };
    let times = Times {
        bsp: Execution::of(singles.clone(), machine),
        vertical: with(kernels),
        dataflow: with(planned.iter().map(|group: &GroupPlan| group.run.clone()).collect()),
    };
    let rest = graph.ids().filter(|&id| !planned.iter().any(|plan| plan.group.has(id))).collect();
    Ok(Plan { groups: planned, refused, rest, times })
}

/// The rest of a group without the operator that stands in the way, where that can run by itself before or after the others.
fn without(graph: &Graph, group: &Group, why: &DesignError) -> Option<Group> {
    let name = why.node()?;
    let nodes: Vec<NodeId> = group.nodes.iter().copied().filter(|&id| graph.node(id).name != name).collect();
    let shrinks = nodes.len() < group.nodes.len() && nodes.len() > 1;
    (shrinks && graph.is_convex(&nodes)).then(|| Group { nodes, ..group.clone() })
}

/// Judges groups by the pipelines that they become.
pub struct Planner<'a> {
    /// The device.
    pub machine: &'a Machine,
    /// Where seconds of stages come from.
    pub rates: &'a dyn Rates,
}

impl Judge for Planner<'_> {
    fn seconds(&self, graph: &Graph, group: &Group) -> Option<f64> {
        pipeline(graph, group, self.machine, self.rates).ok().map(|plan| (plan.seconds + self.machine.launch).0)
    }

    fn alone(&self, graph: &Graph, node: NodeId) -> f64 {
        alone(graph, node, self.machine, self.rates).map_or(f64::INFINITY, |run| (run.seconds + self.machine.launch).0)
    }

    fn bound(&self, graph: &Graph, group: &Group) -> f64 {
        (group.traffic(graph).bytes() / self.machine.dram + self.machine.launch).0
    }
}

/// A group as the fastest of the pipelines that it can be.
///
/// # Errors
/// Why it is none, where no choice of tokens makes it one.
pub fn pipeline(graph: &Graph, group: &Group, machine: &Machine, rates: &dyn Rates) -> Result<GroupPlan, DesignError> {
    let mut search = Search { graph, group, machine, rates, seen: Vec::new(), found: Vec::new(), failure: None };
    search.try_rows(&ROWS, true, true);
    search.try_rows(&ROWS, true, false);
    // Epilogues apart where these did best, and to both sides of it.
    if let Some(best) = search.found.iter().min_by(|a, b| a.seconds.0.total_cmp(&b.seconds.0)).map(|plan| plan.design.tiling) {
        let at = ROWS.iter().position(|&rows| rows == best.rows).unwrap_or(0);
        search.try_rows(&ROWS[at.saturating_sub(1)..(at + 2).min(ROWS.len())], false, best.held);
    }
    let Search { mut found, failure, .. } = search;
    let fastest = |epilogues: Option<bool>| {
        let of = found.iter().enumerate().filter(|(_, plan)| epilogues.is_none_or(|own| plan.design.tiling.epilogues == own));
        of.min_by(|a, b| a.1.seconds.0.total_cmp(&b.1.seconds.0)).map(|(at, _)| at)
    };
    match (fastest(None), failure) {
        (Some(at), _) => {
            let other = fastest(Some(!found[at].design.tiling.epilogues));
            let otherwise = other.map(|other| (found[other].design.tiling, found[other].seconds));
            Ok(GroupPlan { otherwise, ..found.swap_remove(at) })
        }
        (None, Some(why)) => Err(why),
        (None, None) => unreachable!("every choice is found, the same as one before, or a failure"),
    }
}

/// Designs of one group that were tried.
struct Search<'a> {
    graph: &'a Graph,
    group: &'a Group,
    machine: &'a Machine,
    rates: &'a dyn Rates,
    seen: Vec<Design>,
    found: Vec<GroupPlan>,
    failure: Option<DesignError>,
}

impl Search<'_> {
    fn try_rows(&mut self, rows: &[u64], epilogues: bool, held: bool) {
        for &rows in rows {
            let planned = design(self.graph, self.group, Tiling { rows, epilogues, held }, self.machine).and_then(|design| {
                // Choices that come to the same are one design.
                if self.seen.iter().any(|other| other.stages == design.stages && other.queues == design.queues) {
                    return Ok(None);
                }
                self.seen.push(design.clone());
                allocated(self.graph, self.group, design, self.machine, self.rates).map(Some)
            });
            match planned {
                Ok(plan) => self.found.extend(plan),
                Err(why) => self.failure = Some(why),
            }
        }
    }
}

/// Work-groups, depths and times of a design.
fn allocated(graph: &Graph, group: &Group, mut design: Design, machine: &Machine, rates: &dyn Rates) -> Result<GroupPlan, DesignError> {
    let mut demands = Vec::with_capacity(design.stages.len());
    for stage in &design.stages {
        let mut work = stage.work(1);
        let mut seconds = Vec::with_capacity(machine.cores as usize);
        let (mut rounds, mut last) = (u64::MAX, Seconds(f64::INFINITY));
        for ctas in 1..=machine.cores {
            work.ctas = ctas;
            let sets = u64::from(ctas / stage.parts.max(1));
            let taken = if sets == 0 { u64::MAX } else { stage.firings.div_ceil(sets) };
            if taken < rounds {
                (rounds, last) = (taken, rates.seconds(&work).map_err(|why| unrated(graph, stage, why))?);
            }
            seconds.push(last);
        }
        demands.push(Demand::new(stage.class, seconds));
    }
    let pools = Pools { tensor: machine.cores, simt: machine.cores };
    let allocation = balance(&demands, pools, design.caps(machine))?;
    deepen(&mut design, graph, &allocation.ctas, machine)?;
    let classes: Vec<(StageClass, u32)> = design.stages.iter().zip(&allocation.ctas).map(|(stage, &ctas)| (stage.class, ctas)).collect();
    // The pools are the multiprocessors.
    let assignment = assign(&classes, machine.cores).unwrap_or_default();

    let (mut latest, mut busy) = (vec![Seconds::ZERO; design.stages.len()], [Seconds::ZERO; 2]);
    let (mut round, mut stage_seconds, mut upstream) = (latest.clone(), latest.clone(), latest.clone());
    for (at, stage) in design.stages.iter().enumerate() {
        let wrong = |why| unrated(graph, stage, why);
        let sets = u64::from(allocation.ctas[at] / stage.parts.max(1)).max(1);
        stage_seconds[at] = rates.seconds(&stage.work(allocation.ctas[at])).map_err(wrong)?;
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
        let computes = rates.seconds(&computing(&stage.work(stage.parts))).map_err(wrong)? * f64::from(stage.parts);
        busy[(stage.class == StageClass::Simt) as usize] += computes / f64::from(machine.cores);
    }
    // The slowest stage works from its first token to its last; before and behind it the longest path is filled and emptied. Memory works
    // all the while, so that what it needs is a bound of its own.
    let slowest = (0..design.stages.len()).max_by(|&a, &b| stage_seconds[a].0.total_cmp(&stage_seconds[b].0));
    let longest = latest.iter().copied().fold(Seconds::ZERO, Seconds::max);
    let (steady, within) = slowest.map_or((Seconds::ZERO, Seconds::ZERO), |at| (stage_seconds[at], round[at]));
    let fill = longest - within;
    let seconds = allocation.seconds.max(steady + fill);
    let phase = group.nodes.last().map_or(Phase::Forward, |&id| graph.node(id).phase);
    let run = Run { nodes: group.nodes.clone(), phase, seconds, busy: busy[0].max(busy[1]), dram: design.dram(), l2: design.l2() };
    Ok(GroupPlan { group: group.clone(), design, allocation, assignment, fill, seconds, otherwise: None, run })
}

fn unrated(graph: &Graph, stage: &Stage, why: NoEstimate) -> DesignError {
    DesignError::Rate { node: stage.nodes.first().map_or_else(String::new, |&id| graph.node(id).name.clone()), why }
}

impl Execution {
    fn of(runs: Vec<Run>, machine: &Machine) -> Self {
        let work: Seconds = runs.iter().map(|run| run.seconds).sum();
        let count = runs.len() as f64;
        let mut execution = Self {
            eager: work + machine.launch * count,
            graph: work + machine.graph_launch * count,
            dram: runs.iter().map(|run| run.dram).sum(),
            l2: runs.iter().map(|run| run.l2).sum(),
            forward: Quadrants::default(),
            backward: Quadrants::default(),
            runs: Vec::new(),
        };
        for run in &runs {
            let seconds = run.seconds + machine.launch;
            let low_sm = run.busy / seconds < LOW;
            let low_dram = run.dram / machine.dram / seconds < LOW;
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
