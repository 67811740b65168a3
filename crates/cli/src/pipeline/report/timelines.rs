//! What runs when, in the three executions (paper 003, figures 11 and 14).

use super::{Case, EXECUTIONS, Execution, Figures, Together, drawn, pairs};
use crate::failure::Failure;
use crate::page::{Page, Tag, column};
use crate::plot::{Figure, Panel, Span};
use serde::Serialize;
use std::collections::BTreeMap;
use warpsight_dataflow::{NodeId, Phase, Run, View};
use warpsight_ir::Seconds;

/// What runs from one launch to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An operator by itself.
    Operator,
    /// An operator by itself here that is part of a pipeline in dataflow execution.
    Taken,
    /// A kernel of several operators.
    Fused,
    /// A pipeline.
    Pipeline,
}

const KINDS: [(Kind, &str); 4] = [
    (Kind::Taken, "operator that a pipeline takes"),
    (Kind::Fused, "fused kernel"),
    (Kind::Pipeline, "pipeline"),
    (Kind::Operator, "operator by itself"),
];

/// A piece of time.
#[derive(Clone, Debug, Serialize)]
pub struct Ran {
    /// The graph.
    pub graph: String,
    /// The device.
    pub device: String,
    /// Which execution.
    pub execution: Execution,
    /// Where the times come from.
    pub tag: Tag,
    /// What it is.
    pub kind: Kind,
    /// Which of the pipelines or fused kernels.
    pub group: Option<usize>,
    /// Its pass.
    pub pass: Phase,
    /// From the begin of the first launch to the end of its own.
    pub begin_s: f64,
    /// To its end.
    pub end_s: f64,
    /// Its operators.
    pub nodes: Vec<String>,
}

/// All executions of a graph on a device.
pub fn runs(case: &Case) -> Vec<Ran> {
    let (outcome, times) = (case.outcome, &case.outcome.planned.plan.times);
    let seconds = |runs: &[Run]| runs.iter().map(|run| run.seconds).collect::<Vec<_>>();
    let mut rows = Vec::new();
    for execution in EXECUTIONS {
        let (planned, ran) = match execution {
            Execution::BulkSynchronous => (&times.bsp, case.simulated().map(|own| &own.bsp)),
            Execution::Vertical => (&times.vertical, case.simulated().map(|own| &own.vertical)),
            Execution::Dataflow => (&times.dataflow, case.simulated().and_then(|own| own.dataflow.as_ref().ok())),
        };
        rows.extend(timeline(case, execution, Tag::Predicted, &planned.runs, &seconds(&planned.runs), outcome.platform.launch));
        if let (Some(ran), Some(simulated)) = (ran, case.simulated()) {
            rows.extend(timeline(case, execution, Tag::Simulated, &planned.runs, &ran.runs, Seconds(simulated.launch.eager)));
        }
    }
    rows
}

fn timeline(case: &Case, execution: Execution, tag: Tag, runs: &[Run], seconds: &[Seconds], launch: Seconds) -> Vec<Ran> {
    let (graph, plan) = (&case.outcome.graph, &case.outcome.planned.plan);
    let mut now = Seconds::ZERO;
    let mut rows = Vec::with_capacity(runs.len());
    for at in order(graph, runs) {
        let run = &runs[at];
        let begin = now + launch;
        now = begin + seconds.get(at).copied().unwrap_or(Seconds::ZERO);
        let taken = || plan.groups.iter().any(|group| group.group.has(run.nodes[0]));
        let together = case.together(execution, run);
        let kind = match together {
            Some((Together::Pipeline, _)) => Kind::Pipeline,
            Some((Together::Kernel, _)) => Kind::Fused,
            None if execution == Execution::BulkSynchronous && taken() => Kind::Taken,
            None => Kind::Operator,
        };
        rows.push(Ran {
            graph: case.name.clone(),
            device: case.outcome.device.clone(),
            execution,
            tag,
            kind,
            group: together.map(|(_, at)| at),
            pass: run.phase,
            begin_s: begin.0,
            end_s: now.0,
            nodes: run.nodes.iter().map(|&id| graph.node(id).name.clone()).collect(),
        });
    }
    rows
}

/// Runs such that each has what it reads: of those that could be next, the one with the first operator.
fn order(graph: &View, runs: &[Run]) -> Vec<usize> {
    let of: BTreeMap<NodeId, usize> = runs.iter().enumerate().flat_map(|(at, run)| run.nodes.iter().map(move |&id| (id, at))).collect();
    let waits = |at: usize, done: &[bool]| {
        let producers = runs[at].nodes.iter().flat_map(|&id| graph.producers(id));
        producers.into_iter().filter_map(|id| of.get(&id)).any(|&other| other != at && !done[other])
    };
    let (mut done, mut order) = (vec![false; runs.len()], Vec::with_capacity(runs.len()));
    while let Some(next) = (0..runs.len()).find(|&at| !done[at] && !waits(at, &done)) {
        done[next] = true;
        order.push(next);
    }
    order
}

/// The section.
pub fn show(figures: &Figures, page: &mut Page) -> Result<(), Failure> {
    page.section(
        "timelines",
        "Timelines",
        "Kernels one after another, with the gaps of their launches; one axis for all executions of a graph on a device.",
    );
    for (graph, device) in pairs(figures.timelines.iter().map(|row| (row.graph.as_str(), row.device.as_str()))) {
        let own = |row: &&Ran| row.graph == graph && row.device == device;
        let rows: Vec<&Ran> = figures.timelines.iter().filter(own).collect();
        let name = |row: &Ran| format!("{}, {}", row.execution.word(), row.tag.word());
        let names: Vec<String> = pairs(rows.iter().map(|row| (row.execution.word(), row.tag.word())))
            .into_iter()
            .map(|(execution, tag)| format!("{execution}, {tag}"))
            .collect();
        let span = |row: &Ran| Span {
            row: names.iter().position(|other| *other == name(row)).unwrap_or(0),
            from: row.begin_s * 1e6,
            to: row.end_s * 1e6,
            label: row.group.map_or_else(String::new, |group| group.to_string()),
        };
        let parts = KINDS.map(|(kind, word)| (word.to_owned(), rows.iter().filter(|row| row.kind == kind).map(|row| span(row)).collect()));
        let panel = Panel::Spans { x: "time, µs".to_owned(), rows: names.clone(), parts: parts.to_vec() };
        let figure = Figure {
            title: format!("{graph} on {device}"),
            note: "numbers are those of pipelines and of fused kernels".to_owned(),
            panels: vec![panel],
        };
        page.drawing(drawn(&figure)?.as_deref());
    }
    page.details("All numbers", |page| {
        page.table(
            &figures.timelines,
            "/timelines",
            &[
                column!(graph, "graph"),
                column!(device, "device"),
                column!(execution, "execution"),
                column!(tag, "tag", Tag),
                column!(kind, "what"),
                column!(group, "group"),
                column!(pass, "pass"),
                column!(begin_s, "begin", Micros),
                column!(end_s, "end", Micros),
                column!(nodes, "operators"),
            ],
        );
    });
    Ok(())
}
