//! Speedups over bulk-synchronous execution, of groups and end to end (paper 003, figures 10 to 12 and 14).

use super::{Case, Execution, Figures, Together, drawn, geometric_mean, mean_name, pairs};
use crate::failure::Failure;
use crate::page::{Page, Tag, column};
use crate::plot::{Figure, Panel};
use serde::Serialize;
use warpsight_dataflow::{NodeId, Phase, Run};
use warpsight_ir::Seconds;

/// What a speedup is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// All operators, every kernel with its launch.
    EndToEnd,
    /// A pipeline, without launches.
    Pipeline,
    /// A fused kernel, without launches.
    Kernel,
    /// All groups: the geometric mean of their speedups.
    Groups,
    /// Several graphs: the geometric mean of their speedups end to end.
    Graphs,
}

/// A bar.
#[derive(Clone, Debug, Serialize)]
pub struct Speedup {
    /// The graph; of several, what they are.
    pub graph: String,
    /// The device.
    pub device: String,
    /// What of it.
    pub part: Part,
    /// Which of the pipelines or fused kernels.
    pub group: Option<usize>,
    /// Its pass.
    pub pass: Option<Phase>,
    /// How it runs.
    pub execution: Execution,
    /// Where the numbers come from.
    pub tag: Tag,
    /// Operators by themselves.
    pub bsp_s: Option<f64>,
    /// As executed.
    pub taken_s: Option<f64>,
    /// The one over the other.
    pub speedup: f64,
    /// What was published.
    pub published: Option<f64>,
}

/// Bars beside each other.
const BARS: [(Execution, Tag); 4] = [
    (Execution::Vertical, Tag::Predicted),
    (Execution::Dataflow, Tag::Predicted),
    (Execution::Vertical, Tag::Simulated),
    (Execution::Dataflow, Tag::Simulated),
];

/// Of all graphs on all devices.
pub fn speedups(cases: &[Case]) -> Vec<Speedup> {
    let mut rows: Vec<Speedup> = cases.iter().flat_map(of).collect();
    for (_, device) in pairs(cases.iter().map(|case| ("", case.outcome.device.as_str()))) {
        for kind in ["inference", "training"] {
            for bar in BARS {
                let of_kind = |row: &Speedup| cases.iter().any(|case| case.name == row.graph && case.kind() == kind);
                let ends = rows.iter().filter(|row| row.part == Part::EndToEnd && row.device == device);
                let own: Vec<f64> = ends.filter(|row| (row.execution, row.tag) == bar && of_kind(row)).map(|row| row.speedup).collect();
                if let Some(mean) = geometric_mean(&own).filter(|_| own.len() > 1) {
                    rows.push(row(&mean_name(own.len(), kind), device, Part::Graphs, bar, mean));
                }
            }
        }
    }
    rows
}

fn row(graph: &str, device: &str, part: Part, (execution, tag): (Execution, Tag), speedup: f64) -> Speedup {
    let (graph, device) = (graph.to_owned(), device.to_owned());
    Speedup { graph, device, part, group: None, pass: None, execution, tag, bsp_s: None, taken_s: None, speedup, published: None }
}

/// Of one graph on one device.
pub fn of(case: &Case) -> Vec<Speedup> {
    let (outcome, plan) = (case.outcome, &case.outcome.planned.plan);
    let new = |part, bar| row(&case.name, &outcome.device, part, bar, 1.0);
    let timed = |row: Speedup, bsp: Seconds, taken: Seconds| {
        let speedup = if taken > Seconds::ZERO { bsp / taken } else { 1.0 };
        Speedup { bsp_s: Some(bsp.0), taken_s: Some(taken.0), speedup, ..row }
    };
    let mut rows = Vec::new();
    for bar in BARS {
        let (execution, tag) = bar;
        let simulated = match tag {
            Tag::Simulated => match case.simulated() {
                Some(simulated) => Some(simulated),
                None => continue,
            },
            _ => None,
        };
        let planned = if execution == Execution::Vertical { &plan.times.vertical } else { &plan.times.dataflow };
        // Of each run its seconds; of each operator, its seconds by itself.
        let (bsp, taken, runs, singles): (Seconds, Seconds, Vec<Seconds>, Vec<Seconds>) = match simulated {
            None => {
                let of = |execution: &warpsight_dataflow::Execution| execution.runs.iter().map(|run| run.seconds).collect();
                (plan.times.bsp.eager, planned.eager, of(planned), of(&plan.times.bsp))
            }
            Some(own) => {
                let ran = if execution == Execution::Vertical { Ok(&own.vertical) } else { own.dataflow.as_ref() };
                let Ok(ran) = ran else { continue };
                (own.bsp.eager, ran.eager, ran.runs.clone(), own.bsp.runs.clone())
            }
        };
        rows.push(timed(new(Part::EndToEnd, bar), bsp, taken));
        let alone = |nodes: &[NodeId]| nodes.iter().filter_map(|id| singles.get(id.0)).copied().sum::<Seconds>();
        let group = |(run, seconds): (&Run, Seconds)| {
            let (what, group) = case.together(execution, run)?;
            let part = if what == Together::Pipeline { Part::Pipeline } else { Part::Kernel };
            let row = timed(new(part, bar), alone(&run.nodes), seconds);
            Some(Speedup { group: Some(group), pass: Some(run.phase), ..row })
        };
        let mut groups: Vec<Speedup> = planned.runs.iter().zip(runs).filter_map(group).collect();
        groups.sort_by_key(|row| (row.part == Part::Kernel, row.group));
        let mean = geometric_mean(&groups.iter().map(|row| row.speedup).collect::<Vec<_>>());
        rows.extend(groups);
        rows.extend(mean.map(|speedup| Speedup { speedup, ..new(Part::Groups, bar) }));
    }
    rows
}

/// The section.
pub fn show(figures: &Figures, page: &mut Page) -> Result<(), Failure> {
    page.section(
        "speedups",
        "Speedups",
        "Over bulk-synchronous execution, a kernel for each operator. End to end every kernel is launched by itself; groups are compared \
         without launches.",
    );
    let ends: Vec<&Speedup> = figures.speedups.iter().filter(|row| matches!(row.part, Part::EndToEnd | Part::Graphs)).collect();
    let name = |row: &Speedup| format!("{} on {}", row.graph, row.device);
    page.drawing(bars("End to end", &ends, &name)?.as_deref());
    for (graph, device) in pairs(figures.speedups.iter().map(|row| (row.graph.as_str(), row.device.as_str()))) {
        let own = |row: &&Speedup| row.graph == graph && row.device == device;
        let groups: Vec<&Speedup> =
            figures.speedups.iter().filter(own).filter(|row| matches!(row.part, Part::Pipeline | Part::Kernel | Part::Groups)).collect();
        if groups.is_empty() {
            if figures.speedups.iter().filter(own).any(|row| row.part == Part::EndToEnd) {
                page.text(&format!("{graph} on {device}: no operators run as one, neither in fused kernels nor as pipelines."));
            }
            continue;
        }
        for execution in [Execution::Vertical, Execution::Dataflow] {
            let own: Vec<&Speedup> = groups.iter().filter(|row| row.execution == execution).copied().collect();
            let pass = |row: &Speedup| if row.pass == Some(Phase::Backward) { " (backward)" } else { "" };
            let what = |row: &Speedup| if row.part == Part::Pipeline { "pipeline" } else { "kernel" };
            let name = |row: &Speedup| row.group.map_or("geometric mean".to_owned(), |group| format!("{} {group}{}", what(row), pass(row)));
            page.drawing(bars(&format!("{graph} on {device}: groups, {}", execution.word()), &own, &name)?.as_deref());
        }
    }
    page.details("All numbers", |page| {
        page.table(
            &figures.speedups,
            "/speedups",
            &[
                column!(graph, "graph"),
                column!(device, "device"),
                column!(part, "of"),
                column!(group, "group"),
                column!(pass, "pass"),
                column!(execution, "execution"),
                column!(tag, "tag", Tag),
                column!(bsp_s, "bulk-synchronous", Micros),
                column!(taken_s, "taken", Micros),
                column!(speedup, "speedup"),
                column!(published, "published"),
            ],
        );
    });
    Ok(())
}

/// Bars of rows that go by their names.
fn bars(title: &str, rows: &[&Speedup], name: &dyn Fn(&Speedup) -> String) -> Result<Option<String>, Failure> {
    let mut names: Vec<String> = Vec::new();
    for row in rows {
        let own = name(row);
        if !names.contains(&own) {
            names.push(own);
        }
    }
    let mut parts = Vec::new();
    let mut part = |of: String, own: &dyn Fn(&Speedup) -> Option<f64>| {
        let at = |wanted: &String| rows.iter().filter(|row| name(row) == *wanted).find_map(|row| own(row)).unwrap_or(0.0);
        let numbers: Vec<f64> = names.iter().map(at).collect();
        if numbers.iter().any(|&number| number > 0.0) {
            parts.push((of, numbers));
        }
    };
    for (execution, tag) in BARS {
        let label = |tag: Tag| format!("{}, {}", execution.word(), tag.word());
        part(label(tag), &|row| ((row.execution, row.tag) == (execution, tag)).then_some(row.speedup));
        if tag == Tag::Predicted {
            part(label(Tag::Published), &|row| row.published.filter(|_| row.execution == execution));
        }
    }
    let panel = Panel::Bars { x: "× over bulk-synchronous".to_owned(), rows: names, stacked: false, parts };
    drawn(&Figure { title: title.to_owned(), note: String::new(), panels: vec![panel] })
}
