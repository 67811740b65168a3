//! A graph planned on a device: all that text, JSON, report and trace tell. Nothing is computed again from here on.

use super::input::Input;
use super::simulate::{Simulated, simulated};
use crate::failure::Failure;
use crate::predict::input::Device;
use std::collections::BTreeSet;
use warpsight_dataflow::group::{Traffic, traffic};
use warpsight_dataflow::lower::{Lowered, lower};
use warpsight_dataflow::proof::{Launch, Objection, Resources, prove};
use warpsight_dataflow::vertical::vertical;
use warpsight_dataflow::{DesignError, Fused, Graph, Group, Machine, Patterns, Plan, Policy, Rates, Vertical, planned};
use warpsight_ir::occupancy::Residency;
use warpsight_ir::{Certificate, CostModel, Estimate, Profile, Seconds, Stage, TimeSource};
use warpsight_predict::StageRoofline;
use warpsight_sim::pipeline::Scheduler;

/// What an overridden number means where something is simulated.
const FOLLOWED: &str =
    "the simulated device follows execution.cores and memory.l2.bandwidth: other numbers that are overridden change the plan alone";

/// One graph on one device.
pub struct Outcome {
    /// The file it was read from.
    pub file: String,
    /// The graph; its name is `graph.name`.
    pub graph: Graph,
    /// The device, as it was asked for.
    pub device: String,
    /// Its numbers, overridden ones in place.
    pub profile: Profile,
    /// What planning takes from them.
    pub machine: Machine,
    /// How groups were selected.
    pub policy: Policy,
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
    /// What the simulator says, where it was asked; `Err` where it cannot say it of this device.
    pub simulated: Option<Result<Simulated, String>>,
    /// What was overridden, measured or assumed.
    pub notes: Vec<String>,
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
    pub source: &'a dyn Fn(&Stage) -> TimeSource,
    /// How work-groups come onto multiprocessors in the simulation; `None` where nothing is simulated.
    pub simulate: Option<Scheduler>,
}

impl Outcome {
    /// Plans, lowers, proves and simulates.
    pub fn of(input: &Input, device: &Device, ask: &Question) -> Result<Self, Failure> {
        let (graph, profile) = (&input.graph, &device.profile);
        let refused = |why: DesignError| input.refused(&device.name, &why);
        let lacks = |why| Failure::input(format!("{}: {why}", device.name)).at(&input.file);
        let machine = Machine::of(profile).map_err(|why| lacks(why).help("a profile with this number, or another device"))?;
        let vertical = vertical(graph, &Patterns::vertical(), machine.shared);
        let plan = planned(graph, ask.policy, &machine, ask.rates).map_err(refused)?;
        let core = Residency::of(profile);
        let of = |at: usize| pipelined(graph, &plan, at, &machine, &core, profile, ask);
        let groups = (0..plan.groups.len()).map(of).collect::<Result<Vec<_>, _>>().map_err(refused)?;
        let moved = |groups: &mut dyn Iterator<Item = &Group>| traffic(graph, &groups.cloned().collect::<Vec<_>>());
        let traffic =
            [moved(&mut std::iter::empty()), moved(&mut vertical.groups.iter().map(|group| &group.0)), moved(&mut plan.selected.iter())];
        let running = moved(&mut plan.together());
        let mut outcome = Self {
            file: input.file.clone(),
            graph: graph.clone(),
            device: device.name.clone(),
            profile: profile.clone(),
            machine,
            policy: ask.policy,
            plan,
            vertical,
            groups,
            traffic,
            running,
            simulated: None,
            notes: device.notes.clone(),
        };
        if let Some(scheduler) = ask.simulate {
            if !device.notes.is_empty() {
                outcome.notes.push(FOLLOWED.to_owned());
            }
            outcome.simulated = Some(simulated(&outcome, scheduler, ask.rates));
        }
        Ok(outcome)
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
}

fn operators<'a>(groups: impl Iterator<Item = &'a Group>) -> usize {
    groups.flat_map(|group| &group.nodes).collect::<BTreeSet<_>>().len()
}

/// Vertical groups as kernels.
pub fn fused(vertical: &Vertical) -> Vec<Fused> {
    vertical.groups.iter().map(|(group, bytes)| Fused { group: group.clone(), rows: bytes.rows }).collect()
}

fn pipelined(
    graph: &Graph,
    plan: &Plan,
    at: usize,
    machine: &Machine,
    core: &Residency,
    profile: &Profile,
    ask: &Question,
) -> Result<Pipelined, DesignError> {
    let own = &plan.groups[at];
    let lowered = lower(graph, &format!("group{at}"), own);
    let proof = prove(&lowered.pipeline, &Resources { core, cores: machine.cores, launch: Launch::Placed(&lowered.placement) });
    let model = StageRoofline::new();
    let (mut seconds, mut sources, mut estimates) = (Vec::new(), Vec::new(), Vec::new());
    for (stage, &ctas) in own.design.stages.iter().zip(&own.allocation.ctas) {
        let work = stage.work(ctas);
        let wrong = |why| DesignError::Rate { node: stage.name.clone(), why };
        seconds.push(ask.rates.seconds(&work).map_err(wrong)?);
        sources.push((ask.source)(&work));
        estimates.push(model.as_ref().map_err(Clone::clone).and_then(|model| model.estimate(&work, profile)).map_err(wrong)?);
    }
    let alone = own.group.nodes.iter().map(|id| plan.times.bsp.runs[id.0].seconds).sum();
    Ok(Pipelined { lowered, proof, seconds, sources, estimates, alone })
}
