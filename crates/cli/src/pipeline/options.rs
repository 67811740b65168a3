//! Options of `pipeline`.

use crate::names::{named, suggested};
use crate::predict::input::Setting;
use crate::target::profiles::profiles;
use std::path::PathBuf;
use warpsight_dataflow::Policy;
use warpsight_sim::pipeline::Scheduler;

/// Plan a graph of operators as pipelines: which run together, as which stages on how many work-groups, why that cannot deadlock, and what
/// it saves over operators by themselves and over vertical fusion (paper 003).
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// Graphs: `dataflow-graph/1` or `/2` as JSON (see examples/dataflow), or ONNX models (.onnx).
    pub files: Vec<PathBuf>,
    /// Built-in profiles, or files of profiles (.toml); several after each other or separated by commas.
    #[arg(long, value_name = "NAME", required = true, num_args = 1.., value_delimiter = ',', value_parser = suggested(profiles()))]
    pub device: Vec<String>,
    /// How groups are selected: `kitsune`, the paper's patterns; `best`, what saves most time by prediction.
    #[arg(long, value_name = "NAME", default_value = "best", value_parser = named(POLICIES))]
    pub policy: Policy,
    /// Execute all three executions on the simulated GPU of that name (sim/devices) too.
    #[arg(long)]
    pub simulate: bool,
    /// How work-groups of a pipeline come onto the simulated multiprocessors: `grid`, one arbiter as GPUs have it; `two-arbiter`, the paper's,
    /// one for each class; `cooperative`, one persistent kernel whose work-groups take roles by ticket.
    #[arg(long, value_name = "NAME", default_value = "two-arbiter", value_parser = named(SCHEDULERS), requires = "simulate")]
    pub scheduler: Scheduler,
    /// Write a report with figures: one page that needs nothing else.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Put published numbers beside these: data/dataflow/paper.toml, or a file of that form.
    #[arg(long, value_name = "FILE")]
    pub compare: Option<PathBuf>,
    /// Replaces a number of the profiles, by its path in their text or an end of it: execution.cores=216, memory.l2.bandwidth=10.8TB/s; may be
    /// repeated.
    #[arg(long = "override", value_name = "KEY=VALUE")]
    pub overrides: Vec<Setting>,
    /// The shape of a model's input where it leaves dimensions open, as in x=1,3,48,192; may be repeated.
    #[arg(long, value_name = "NAME=EXTENTS")]
    pub input_shape: Vec<String>,
    /// Values of a model's input that others are shaped by, as in axes=0,2: the model is read for these; may be repeated.
    #[arg(long, value_name = "NAME=N,N,…")]
    pub input_value: Vec<String>,
    /// What a model's elements are stored as; without it f32, as ONNX files hold them.
    #[arg(long, value_name = "TYPE", value_parser = named([("f16", 2u64), ("f32", 4u64)]))]
    pub elements: Option<u64>,
    /// A store with samples of stages: their seconds take the place of the model's.
    #[arg(long, value_name = "DB")]
    pub samples: Option<PathBuf>,
    /// Writes the simulated dataflow execution as Chrome trace JSON, which Perfetto opens.
    #[arg(long, value_name = "FILE.json", requires = "simulate")]
    pub trace: Option<PathBuf>,
    /// Instead of planning, proves that somebody else's plan of a persistent kernel (`persistent-plan/1`) cannot deadlock, or shows the circle
    /// of waits and ends with exit code 4.
    #[arg(long, value_name = "PLAN.json", conflicts_with_all = ["files", "trace", "samples", "input_shape", "input_value", "html", "compare"])]
    pub check: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  Which operators run together, how much faster, and why that cannot deadlock:
    warpsight pipeline examples/dataflow/nerf.json --device a100-40
  By the paper's patterns, simulated too, everything drawn on one page:
    warpsight pipeline examples/dataflow/mgn.json --device a100-40 --policy kitsune --simulate \\
      --html report.html
  Whether somebody else's plan of a persistent kernel can deadlock:
    warpsight pipeline --check examples/plans/norm.json --device a100-40";

const POLICIES: &[(&str, Policy)] = &[("best", Policy::Best), ("kitsune", Policy::Kitsune)];

const SCHEDULERS: &[(&str, Scheduler)] =
    &[("grid", Scheduler::Greedy), ("two-arbiter", Scheduler::TwoArbiters), ("cooperative", Scheduler::Cooperative)];

/// What the option is called.
pub fn policy_name(policy: Policy) -> &'static str {
    POLICIES.iter().find(|own| own.1 == policy).map_or("", |own| own.0)
}

/// What the option is called.
pub fn scheduler_name(scheduler: Scheduler) -> &'static str {
    SCHEDULERS.iter().find(|own| own.1 == scheduler).map_or("", |own| own.0)
}
