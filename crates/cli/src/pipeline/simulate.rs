//! The three executions on a simulated GPU. Of planning, only definitions come here: which firings there are; how long they take is found
//! from `sim/devices`.

use std::collections::BTreeMap;
use warpsight_dataflow::plan::LOW;
use warpsight_dataflow::{Execution, NodeId, Outcome, Pipelined, Platform, Quadrants, Rates, View, launched};
use warpsight_ir::{Bytes, Pipeline, Profile, Seconds, StageClass};
use warpsight_sim::pipeline::{PipelineRun, Scheduler, simulate};
use warpsight_sim::{LaunchSilicon, PipelineSilicon, Silicon};

/// Bytes of an element that the matrix units of `sim/devices` are described for.
const ELEMENT: u32 = 2;

/// What the simulator says of a plan.
pub struct Simulated {
    /// The device, scaled where the profile's multiprocessors or second-level bandwidth were.
    pub silicon: Silicon,
    /// From the end of a kernel to the begin of the next.
    pub launch: LaunchSilicon,
    /// How work-groups of pipelines come onto multiprocessors.
    pub scheduler: Scheduler,
    /// Each planned group; `Err` where it does not come to its end.
    pub groups: Vec<Result<PipelineRun, String>>,
    /// A kernel for each operator.
    pub bsp: Ran,
    /// Fused kernels, and the rest as before.
    pub vertical: Ran,
    /// Pipelines, and the rest as before; `Err` where one of them does not come to its end.
    pub dataflow: Result<Ran, String>,
}

/// An execution of all operators.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// Of each of [`Execution::runs`], without its launch.
    pub runs: Vec<Seconds>,
    /// With every kernel launched by itself.
    pub eager: Seconds,
    /// Within a graph of kernels.
    pub graph: Seconds,
    /// Each launched while the one before still runs (programmatic dependent launch).
    pub dependent: Seconds,
    /// Bytes that device memory moved.
    pub dram: Bytes,
    /// How long resources were little used; between kernels, all of them.
    pub quadrants: Quadrants,
    /// The same of each run with its launch.
    pub used: Vec<Quadrants>,
}

/// Simulates a plan, where this device has silicon.
pub fn simulated(
    graph: &View,
    planned: &Outcome,
    profile: &Profile,
    platform: &Platform,
    scheduler: Scheduler,
    rates: &dyn Rates,
) -> Result<Simulated, String> {
    let (silicon, units) = silicon(profile, platform)?;
    let launch = units.launch.clone();
    let plan = &planned.plan;
    for own in plan.groups.iter().flat_map(|group| &group.design.stages).filter(|stage| stage.class == StageClass::Tensor) {
        if own.element != ELEMENT {
            return Err(format!(
                "stage `{}` multiplies elements of {} B, the matrix units of sim/devices are described for {ELEMENT} B",
                own.name, own.element
            ));
        }
    }
    // Layers repeat: kernels that do the same are executed once.
    let mut known: Vec<(Pipeline, PipelineRun)> = Vec::new();
    let mut kernel = |pipeline: Pipeline| match known.iter().find(|(own, _)| *own == pipeline) {
        Some((_, run)) => Ok(run.clone()),
        None => {
            let run = simulate(&pipeline, &silicon, Scheduler::Greedy).map_err(|fault| fault.to_string())?;
            known.push((pipeline, run.clone()));
            Ok::<_, String>(run)
        }
    };
    let mut alone = |id| {
        let pipeline = launched::operator(graph, id, platform, rates).map_err(|why| why.to_string())?;
        kernel(pipeline).map_err(|why| format!("node `{}`: {why}", graph.node(id).name))
    };
    let singles = graph.ids().map(&mut alone).collect::<Result<Vec<_>, String>>()?;
    let vector = units.vector();
    let mut kernels = BTreeMap::new();
    for group in planned.fused().into_iter().chain(plan.kernels.iter().map(|kernel| kernel.fused.clone())) {
        let pipeline = launched::fused(graph, &group, platform, rates, vector).map_err(|why| why.to_string())?;
        let first = group.group.nodes[0];
        kernels.insert(
            group.group.nodes,
            kernel(pipeline).map_err(|why| format!("the kernel from node `{}` on: {why}", graph.node(first).name))?,
        );
    }
    let run = |own: &Pipelined| simulate(&own.lowered.pipeline, &silicon, scheduler).map_err(|fault| fault.to_string());
    let groups: Vec<Result<PipelineRun, String>> = planned.groups.iter().map(run).collect();
    let pipelines = |nodes: &[NodeId]| plan.groups.iter().position(|group| group.group.nodes == nodes).map(|at| (at, &groups[at]));

    let single = |execution: &Execution| -> Vec<&PipelineRun> { execution.runs.iter().map(|run| &singles[run.nodes[0].0]).collect() };
    let bsp = Ran::of(&single(&plan.times.bsp), &launch);
    let vertical = plan.times.vertical.runs.iter();
    let vertical = vertical.map(|run| kernels.get(&run.nodes).unwrap_or(&singles[run.nodes[0].0]));
    let vertical = Ran::of(&vertical.collect::<Vec<_>>(), &launch);
    let of_run = |run: &warpsight_dataflow::Run| match pipelines(&run.nodes) {
        Some((at, pipeline)) => pipeline.as_ref().map_err(|why| format!("group {at}: {why}")),
        None => Ok(kernels.get(&run.nodes).unwrap_or(&singles[run.nodes[0].0])),
    };
    let dataflow = plan.times.dataflow.runs.iter().map(of_run).collect::<Result<Vec<_>, String>>();
    let dataflow = dataflow.map(|runs| Ran::of(&runs, &launch));
    Ok(Simulated { silicon, launch, scheduler, groups, bsp, vertical, dataflow })
}

/// The silicon of a profile's device; where numbers of the profile were overridden, those that silicon can follow are scaled alike.
fn silicon(profile: &Profile, platform: &Platform) -> Result<(Silicon, PipelineSilicon), String> {
    let name = &profile.name;
    let (silicon, units) = Silicon::with_pipelines(name)?;
    let plain = warpsight_ir::profile::builtin(name).and_then(Result::ok).and_then(|plain| Platform::of(&plain).ok());
    let plain = plain.ok_or_else(|| format!("`{name}` is no profile that pipelines are planned for"))?;
    let scaled = silicon.scaled(f64::from(platform.cores) / f64::from(plain.cores), platform.l2_rate / plain.l2_rate);
    Ok((scaled, units))
}

impl Ran {
    fn of(runs: &[&PipelineRun], launch: &LaunchSilicon) -> Self {
        let work: Seconds = runs.iter().map(|run| run.time).sum();
        let launches = |each: f64| work + Seconds(each * runs.len() as f64);
        let (mut quadrants, mut used) = (Quadrants::default(), Vec::with_capacity(runs.len()));
        for run in runs {
            let [both, low_sm, low_dram, neither] = run.meter.quadrants(run.time.0, LOW).map(Seconds);
            let own = Quadrants { low_both: both + Seconds(launch.eager), low_sm, low_dram, neither };
            quadrants.low_both += own.low_both;
            quadrants.low_sm += own.low_sm;
            quadrants.low_dram += own.low_dram;
            quadrants.neither += own.neither;
            used.push(own);
        }
        Self {
            runs: runs.iter().map(|run| run.time).collect(),
            eager: launches(launch.eager),
            graph: launches(launch.graph),
            dependent: launches(launch.dependent),
            dram: runs.iter().map(|run| run.dram).sum(),
            quadrants,
            used,
        }
    }
}
