//! The report of planned graphs: a page that needs nothing beside itself. Every number on it is one of [`Figures`], which is also what
//! `--json` prints; a number tells where it comes from by its tag.

mod asked;
mod compare;
mod energy;
mod groups;
mod layout;
mod published;
mod sensitivity;
mod speedups;
mod timelines;
mod traffic;
mod utilisation;

use super::outcome::Outcome;
use crate::failure::Failure;
use crate::page::Page;
use crate::plot::{Figure, PlotError, svg};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;
use warpsight_dataflow::{Phase, Run};

pub use published::Paper;
pub use sensitivity::{Change, changes};

/// The ways to execute a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Execution {
    /// A kernel for each operator.
    BulkSynchronous,
    /// Fused kernels.
    Vertical,
    /// Pipelines.
    Dataflow,
}

/// All of them, in the order of figures.
const EXECUTIONS: [Execution; 3] = [Execution::BulkSynchronous, Execution::Vertical, Execution::Dataflow];

/// What the report shows.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// Graphs and devices.
    pub asked: Vec<asked::Asked>,
    /// What was selected and is no pipeline.
    pub refused: Vec<asked::Refused>,
    /// Bars: end to end and of groups.
    pub speedups: Vec<speedups::Speedup>,
    /// What runs when.
    pub timelines: Vec<timelines::Ran>,
    /// How long resources are little used.
    pub utilisation: Vec<utilisation::Used>,
    /// Operators in groups, and bytes through device memory.
    pub traffic: Vec<traffic::Moved>,
    /// What larger devices gain.
    pub sensitivity: Vec<sensitivity::Gain>,
    /// Stages, queues and places of each group.
    pub groups: Vec<groups::Drawn>,
    /// What moving bytes takes.
    pub energy: Vec<energy::Spent>,
    /// The paper that published numbers come from.
    pub paper: Option<String>,
    /// Published numbers beside these.
    pub compared: Vec<compare::Compared>,
    /// Where a paper disagrees with itself.
    pub conflicts: Vec<compare::Conflict>,
}

/// How operators run as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Together {
    /// As stages with queues between them.
    Pipeline,
    /// In one kernel.
    Kernel,
}

/// A graph on a device, under the name that the report has for it.
pub struct Case<'a> {
    /// Unique among graphs.
    pub name: String,
    /// All there is to tell.
    pub outcome: &'a Outcome,
}

impl Case<'_> {
    /// Whether it has a backward pass.
    pub fn trains(&self) -> bool {
        self.outcome.graph.nodes.iter().any(|node| node.phase == Phase::Backward)
    }

    /// What a run is, and which of its kind: of `groups`, `kernels` or `vertical_groups` of the JSON. An operator by itself is neither.
    fn together(&self, execution: Execution, run: &Run) -> Option<(Together, usize)> {
        let (plan, vertical) = (&self.outcome.planned.plan, &self.outcome.planned.vertical.groups);
        let kernel = |at: Option<usize>| Some((Together::Kernel, at?));
        match execution {
            Execution::BulkSynchronous => None,
            Execution::Vertical => kernel(vertical.iter().position(|(group, _)| group.nodes == run.nodes)),
            Execution::Dataflow => match plan.groups.iter().position(|plan| plan.group.nodes == run.nodes) {
                Some(at) => Some((Together::Pipeline, at)),
                None => kernel(plan.kernels.iter().position(|plan| plan.fused.group.nodes == run.nodes)),
            },
        }
    }

    /// Which aggregate it belongs to.
    fn kind(&self) -> &'static str {
        if self.trains() { "training" } else { "inference" }
    }

    /// What the simulator said, where it did.
    fn simulated(&self) -> Option<&super::simulate::Simulated> {
        self.outcome.simulated.as_ref()?.as_ref().ok()
    }
}

impl Figures {
    /// Of outcomes; `changed` are those of devices with more of something, each with the position of the outcome that it belongs to.
    pub fn of(outcomes: &[Outcome], changed: &[(usize, Change, Outcome)], paper: Option<&Paper>) -> Result<Self, Failure> {
        let cases = cases(outcomes);
        let gains = sensitivity::gains(&cases, changed);
        let mut figures = Self {
            asked: cases.iter().map(asked::asked).collect(),
            refused: cases.iter().flat_map(asked::refused).collect(),
            speedups: speedups::speedups(&cases),
            timelines: cases.iter().flat_map(timelines::runs).collect(),
            utilisation: cases.iter().flat_map(utilisation::used).collect(),
            traffic: cases.iter().flat_map(traffic::moved).collect(),
            sensitivity: gains,
            groups: cases.iter().flat_map(groups::drawn).collect(),
            energy: energy::spent(&cases)?,
            paper: paper.map(|paper| paper.paper.title.clone()),
            compared: Vec::new(),
            conflicts: Vec::new(),
        };
        if let Some(paper) = paper {
            figures.compared = compare::compared(paper, &cases, &figures);
            figures.conflicts = compare::conflicts(paper);
            compare::beside(&mut figures);
        }
        Ok(figures)
    }

    /// What was compared, for a terminal; nothing where nothing was.
    pub fn text(&self) -> Option<String> {
        (!self.compared.is_empty()).then(|| compare::text(&self.compared))
    }

    /// As a page.
    pub fn html(&self) -> Result<String, Failure> {
        let mut page = Page::new(
            "Pipelines: what dataflow execution is worth",
            "Times, bytes and speedups are predicted by models unless a column or a tag says simulated, measured, estimated or published.",
        );
        let sections = [
            asked::show,
            speedups::show,
            timelines::show,
            utilisation::show,
            traffic::show,
            sensitivity::show,
            groups::show,
            energy::show,
            compare::show,
        ];
        sections.iter().try_for_each(|show| show(self, &mut page))?;
        Ok(page.finish())
    }
}

/// Short names as far as they tell graphs apart: a file's name without its folder and ending, or all of it.
fn cases(outcomes: &[Outcome]) -> Vec<Case<'_>> {
    let files: BTreeSet<&str> = outcomes.iter().map(|own| own.file.as_str()).collect();
    let name = |file: &str| {
        let own = stem(file);
        if files.iter().filter(|other| stem(other) == own).count() > 1 { file.to_owned() } else { own }
    };
    outcomes.iter().map(|outcome| Case { name: name(&outcome.file), outcome }).collect()
}

/// A file's name without folder and ending.
fn stem(file: &str) -> String {
    Path::new(file).file_stem().map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// Graph and device of rows, each pair once, in order.
fn pairs<'a>(rows: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<(&'a str, &'a str)> {
    let mut found = Vec::new();
    for pair in rows {
        if !found.contains(&pair) {
            found.push(pair);
        }
    }
    found
}

/// A figure as SVG; `None` where there is nothing to draw.
fn drawn(figure: &Figure) -> Result<Option<String>, Failure> {
    match svg(figure) {
        Ok(text) => Ok(Some(text)),
        Err(PlotError::Empty) => Ok(None),
        Err(error @ PlotError::Drawing(_)) => Err(Failure::input(error.to_string())),
    }
}

/// The geometric mean; `None` of nothing.
fn geometric_mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp())
}

impl Execution {
    fn word(self) -> &'static str {
        match self {
            Self::BulkSynchronous => "bulk-synchronous",
            Self::Vertical => "vertical",
            Self::Dataflow => "dataflow",
        }
    }
}

/// What a mean over graphs is called.
fn mean_name(graphs: usize, kind: &str) -> String {
    format!("geometric mean of {graphs} {kind} graphs")
}
