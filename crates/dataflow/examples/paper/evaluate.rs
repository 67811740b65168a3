//! The applications of paper 003, planned on an A100 and executed on the simulated one.
#![allow(dead_code, reason = "the tables and the tests each use a part")]

use std::cell::RefCell;
use warpsight_dataflow::group::traffic;
use warpsight_dataflow::lower::lower;
use warpsight_dataflow::select::vertical::vertical;
use warpsight_dataflow::{
    Execution, Fused, Group, GroupPlan, Modelled, Patterns, Plan, Platform, Policy, Run, Terms, View, launched, planned,
};
use warpsight_graph::Graph;
use warpsight_ir::profile::{Fact, Source, builtin};
use warpsight_ir::{BytesPerSecond, Pipeline, Profile};
use warpsight_predict::StageRoofline;
use warpsight_sim::Silicon;
use warpsight_sim::pipeline::{Scheduler, simulate};

/// An application and what table 2 has of it: operators and per cent of traffic kept on chip, of vertical fusion and of dataflow.
pub struct App {
    /// Its file in examples/dataflow.
    pub file: &'static str,
    /// As the paper calls it.
    pub name: &'static str,
    /// Whether it is a training step.
    pub training: bool,
    /// Operators that vertical fusion and dataflow cover.
    pub operators: [usize; 2],
    /// Per cent of traffic that they keep on chip.
    pub kept: [f64; 2],
}

const fn app(file: &'static str, name: &'static str, training: bool, operators: [usize; 2], kept: [f64; 2]) -> App {
    App { file, name, training, operators, kept }
}

/// Table 2 of the paper.
pub const APPS: [App; 11] = [
    app("dlrm", "DLRM", false, [17, 17], [22.53, 44.27]),
    app("grc", "GRC", false, [21, 29], [23.98, 57.20]),
    app("mgn", "MGN", false, [36, 41], [56.54, 57.76]),
    app("nerf", "NERF", false, [18, 24], [40.19, 98.58]),
    app("llama_ctx_t512", "LL-CTX", false, [10, 19], [10.04, 49.07]),
    app("llama_tok", "LL-TOK", false, [10, 19], [0.01, 0.07]),
    app("train_dlrm", "DLRM", true, [18, 46], [7.86, 25.07]),
    app("train_grc", "GRC", true, [20, 76], [9.06, 40.06]),
    app("train_mgn", "MGN", true, [36, 108], [21.76, 40.26]),
    app("train_nerf", "NERF", true, [18, 56], [14.13, 45.47]),
    app("train_llama", "LLAMA", true, [10, 34], [2.85, 45.16]),
];

/// A device as planning sees it.
pub fn a100() -> Profile {
    builtin("a100-40").expect("a profile").expect("it parses")
}

/// The same with twice the multiprocessors and second-level bandwidth, device memory as it is (paper, sections 1 and 6.3).
pub fn doubled() -> Profile {
    let mut larger = a100();
    let cores = *larger.execution.cores.get().expect("known");
    larger.execution.cores = Fact::known(2 * cores, Source::Assumed, "twice");
    let rate = larger.memory.l2.bandwidth.get().expect("known").0;
    larger.memory.l2.bandwidth = Fact::known(BytesPerSecond(2.0 * rate), Source::Assumed, "twice");
    larger
}

/// The text of an example.
pub fn text(file: &str) -> String {
    let path = format!("{}/../../examples/dataflow/{file}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// An application planned on a device.
pub struct Planned {
    /// The graph.
    pub graph: View,
    /// The device.
    pub platform: Platform,
    /// Its plan.
    pub plan: Plan,
    /// Kernels of vertical fusion.
    pub fused: Vec<Fused>,
}

impl Planned {
    /// Under a policy.
    pub fn of(json: &str, policy: Policy, profile: &Profile) -> Self {
        let graph = View::of(&Graph::read(json).expect("a graph")).expect("operators");
        let platform = Platform::of(profile).expect("numbers");
        let model = StageRoofline::new().expect("constants");
        let plan = planned(&graph, policy, &platform, &Modelled { model: &model, on: profile }).expect("a plan");
        let fused = vertical(&graph, &Patterns::vertical(), platform.shared).groups.into_iter();
        let fused = fused.map(|(group, bytes)| Fused { group, rows: bytes.rows }).collect();
        Self { graph, platform, plan, fused }
    }

    /// Groups of vertical fusion, and of dataflow.
    pub fn groups(&self) -> [Vec<Group>; 2] {
        // As selected: the paper counts what is a candidate, whether or not it pays.
        let selected = warpsight_dataflow::select::kitsune(&self.graph, &Patterns::kitsune());
        [self.fused.iter().map(|fused| fused.group.clone()).collect(), selected]
    }

    /// Operators that these groups cover.
    pub fn operators(&self) -> [usize; 2] {
        self.groups().map(|groups| groups.iter().map(|group| group.nodes.len()).sum())
    }

    /// Per cent of the traffic that these groups keep on chip.
    pub fn kept(&self) -> [f64; 2] {
        self.groups().map(|groups| 100.0 * (1.0 - traffic(&self.graph, &groups).bytes() / self.graph.bytes()))
    }

    /// Where seconds of bulk-synchronous and of dataflow execution go.
    pub fn terms(&self) -> [Terms; 2] {
        [&self.plan.times.bsp, &self.plan.times.dataflow].map(|execution| execution.terms(&self.platform))
    }
}

/// Seconds of three executions, and of each planned group, without launches: its operators by themselves, and as a pipeline.
#[derive(Clone, Debug)]
pub struct Times {
    /// A kernel for each operator, launched one by one.
    pub bsp: f64,
    /// Fused kernels.
    pub vertical: f64,
    /// Pipelines.
    pub dataflow: f64,
    /// Of each group.
    pub groups: Vec<(f64, f64)>,
    /// The same executions as graphs of kernels.
    pub graph: [f64; 3],
}

impl Times {
    /// As predicted.
    pub fn predicted(of: &Planned) -> Self {
        let times = &of.plan.times;
        let alone = |group: &GroupPlan| group.group.nodes.iter().map(|id| times.bsp.runs[id.0].seconds.0).sum();
        Self {
            bsp: times.bsp.eager.0,
            vertical: times.vertical.eager.0,
            dataflow: times.dataflow.eager.0,
            groups: of.plan.groups.iter().map(|group| (alone(group), group.seconds.0)).collect(),
            graph: [&times.bsp, &times.vertical, &times.dataflow].map(|execution| execution.graph.0),
        }
    }

    /// As the simulated device takes.
    pub fn simulated(of: &Planned, profile: &Profile, on: &Silicon) -> Self {
        let Planned { graph, platform, plan, fused } = of;
        let model = StageRoofline::new().expect("constants");
        let rates = Modelled { model: &model, on: profile };
        // Layers repeat.
        let known: RefCell<Vec<(Pipeline, f64)>> = RefCell::default();
        let seconds = |pipeline: Pipeline, scheduler: Scheduler| {
            if let Some((_, seconds)) = known.borrow().iter().find(|(own, _)| *own == pipeline) {
                return *seconds;
            }
            let seconds = simulate(&pipeline, on, scheduler).expect("it ends").time.0;
            known.borrow_mut().push((pipeline, seconds));
            seconds
        };
        let alone = |id| seconds(launched::operator(graph, id, platform, &rates).expect("a kernel"), Scheduler::Greedy);
        let alone: Vec<f64> = graph.ids().map(alone).collect();
        let units = on.pipeline.as_ref().expect("a section for pipelines");
        let vector = units.vector();
        let kernel = |own: &Fused| seconds(launched::fused(graph, own, platform, &rates, vector).expect("a kernel"), Scheduler::Greedy);
        let groups: Vec<f64> = plan.groups.iter().map(|own| seconds(lower(graph, "group", own).pipeline, Scheduler::TwoArbiters)).collect();
        let of_run = |run: &Run| {
            let pipeline = plan.groups.iter().position(|own| own.group.nodes == run.nodes).map(|at| groups[at]);
            let own = fused.iter().chain(plan.kernels.iter().map(|own| &own.fused)).find(|own| own.group.nodes == run.nodes);
            pipeline.or_else(|| own.map(&kernel)).unwrap_or_else(|| alone[run.nodes[0].0])
        };
        let total = |execution: &Execution| -> f64 { execution.runs.iter().map(of_run).sum() };
        let kernels: Vec<f64> = plan
            .times
            .vertical
            .runs
            .iter()
            .map(|run| {
                let own = fused.iter().find(|own| own.group.nodes == run.nodes);
                own.map_or_else(|| alone[run.nodes[0].0], &kernel)
            })
            .collect();
        let work = [alone.iter().sum(), kernels.iter().sum(), total(&plan.times.dataflow)];
        let counts = [&plan.times.bsp, &plan.times.vertical, &plan.times.dataflow].map(|execution| execution.runs.len() as f64);
        let [bsp, vertical, dataflow] = std::array::from_fn(|at| work[at] + counts[at] * units.launch.eager);
        let by_group = plan.groups.iter().zip(&groups);
        Self {
            bsp,
            vertical,
            dataflow,
            groups: by_group.map(|(own, &seconds)| (own.group.nodes.iter().map(|id| alone[id.0]).sum(), seconds)).collect(),
            graph: std::array::from_fn(|at| work[at] + counts[at] * units.launch.graph),
        }
    }

    /// Over bulk-synchronous execution: vertical fusion, dataflow.
    pub fn speedups(&self) -> [f64; 2] {
        [self.bsp / self.vertical, self.bsp / self.dataflow]
    }

    /// Of each group.
    pub fn of_groups(&self) -> impl Iterator<Item = f64> + '_ {
        self.groups.iter().map(|(alone, pipeline)| alone / pipeline)
    }
}

/// The simulated device.
pub fn silicon() -> Silicon {
    Silicon::named("a100-40").expect("silicon")
}

/// Of positive numbers.
pub fn geomean(values: &[f64]) -> f64 {
    (values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64).exp()
}
