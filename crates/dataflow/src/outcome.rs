//! A graph planned on a device: its groups lowered, proved and judged stage by stage, and what each execution moves.

use crate::design::DesignError;
use crate::group::{Group, Traffic, traffic};
use crate::lower::{Lowered, lower};
use crate::plan::kernel::Fused;
use crate::plan::{Plan, planned};
use crate::platform::Platform;
use crate::proof::{Launch, Objection, Resources, prove};
use crate::rates::Rates;
use crate::select::Policy;
use crate::select::pattern::Patterns;
use crate::select::vertical::{Vertical, vertical};
use crate::view::View;
use std::collections::BTreeSet;
use warpsight_ir::occupancy::Residency;
use warpsight_ir::{Certificate, CostModel, Estimate, Profile, Seconds, StageWork, TimeSource};

/// One graph on one device.
pub struct Outcome {
    /// Groups as pipelines, what was refused, and the predicted times of the three executions.
    pub plan: Plan,
    /// Groups fused vertically with the bytes that admitted them, and what shared memory kept apart.
    pub vertical: Vertical,
    /// What there is to say of each of `plan.groups` beyond its plan.
    pub groups: Vec<Pipelined>,
    /// Bytes through device memory as table 2 of paper 003 counts them, of what a policy selects: bulk-synchronous, vertical, dataflow.
    pub traffic: [Traffic; 3],
    /// The same of those of dataflow's groups that run.
    pub running: Traffic,
}

/// A planned group lowered, proved and judged stage by stage.
pub struct Pipelined {
    /// Its firings, and where they run.
    pub lowered: Lowered,
    /// Whether it can deadlock.
    pub proof: Result<Certificate, Objection>,
    /// Seconds of each stage of the design on its work-groups.
    pub seconds: Vec<Seconds>,
    /// Where they come from: measured (or simulated) where there is a sample, else predicted.
    pub sources: Vec<TimeSource>,
    /// What a model says of each stage: its limiter.
    pub estimates: Vec<Estimate>,
    /// Its operators by themselves, without launches (predicted).
    pub alone: Seconds,
}

/// What is asked of a graph on a device.
pub struct Question<'a> {
    /// How groups are selected.
    pub policy: Policy,
    /// Where seconds of stages come from.
    pub rates: &'a dyn Rates,
    /// Where that is of each.
    pub source: &'a dyn Fn(&StageWork) -> TimeSource,
    /// What says the limiter of a stage.
    pub model: &'a dyn CostModel<StageWork>,
    /// The device.
    pub profile: &'a Profile,
}

impl Outcome {
    /// Plans, lowers and proves.
    ///
    /// # Errors
    /// Why a stage has no seconds.
    pub fn of(graph: &View, platform: &Platform, ask: &Question) -> Result<Self, DesignError> {
        let vertical = vertical(graph, &Patterns::vertical(), platform.shared);
        let plan = planned(graph, ask.policy, platform, ask.rates)?;
        let core = Residency::of(ask.profile);
        let groups = (0..plan.groups.len()).map(|at| pipelined(graph, &plan, at, platform, &core, ask)).collect::<Result<Vec<_>, _>>()?;
        let moved = |groups: &mut dyn Iterator<Item = &Group>| traffic(graph, &groups.cloned().collect::<Vec<_>>());
        let traffic =
            [moved(&mut std::iter::empty()), moved(&mut vertical.groups.iter().map(|group| &group.0)), moved(&mut plan.selected.iter())];
        let running = moved(&mut plan.together());
        Ok(Self { plan, vertical, groups, traffic, running })
    }

    /// Operators in groups, as table 2 counts them: those that vertical fusion selects, those that the policy does.
    pub fn covered(&self) -> [usize; 2] {
        [operators(self.vertical.groups.iter().map(|group| &group.0)), operators(self.plan.selected.iter())]
    }

    /// Those of the policy's that run in groups: the others' groups do not pay, or are impossible here.
    pub fn together(&self) -> usize {
        operators(self.plan.together())
    }

    /// Percent of bulk-synchronous bytes that do not move.
    pub fn reduction(&self, traffic: &Traffic) -> f64 {
        100.0 * (1.0 - traffic.bytes().0 / self.traffic[0].bytes().0)
    }

    /// Of vertical fusion, of dataflow, for what is selected.
    pub fn reductions(&self) -> [f64; 2] {
        [self.reduction(&self.traffic[1]), self.reduction(&self.traffic[2])]
    }

    /// Vertical groups as kernels.
    pub fn fused(&self) -> Vec<Fused> {
        self.vertical.groups.iter().map(|(group, bytes)| Fused { group: group.clone(), rows: bytes.rows }).collect()
    }
}

fn operators<'a>(groups: impl Iterator<Item = &'a Group>) -> usize {
    groups.flat_map(|group| &group.nodes).collect::<BTreeSet<_>>().len()
}

fn pipelined(
    graph: &View,
    plan: &Plan,
    at: usize,
    platform: &Platform,
    core: &Residency,
    ask: &Question,
) -> Result<Pipelined, DesignError> {
    let own = &plan.groups[at];
    let lowered = lower(graph, &format!("group{at}"), own);
    let proof = prove(&lowered.pipeline, &Resources { core, cores: platform.cores, launch: Launch::Placed(&lowered.placement) });
    let (mut seconds, mut sources, mut estimates) = (Vec::new(), Vec::new(), Vec::new());
    for (stage, &ctas) in own.design.stages.iter().zip(&own.allocation.ctas) {
        let work = stage.work(ctas);
        let wrong = |why| DesignError::Rate { node: stage.name.clone(), why };
        seconds.push(ask.rates.seconds(&work).map_err(wrong)?);
        sources.push((ask.source)(&work));
        estimates.push(ask.model.estimate(&work, ask.profile).map_err(wrong)?);
    }
    let alone = own.group.nodes.iter().map(|id| plan.times.bsp.runs[id.0].seconds).sum();
    Ok(Pipelined { lowered, proof, seconds, sources, estimates, alone })
}
