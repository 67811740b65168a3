//! How long multiprocessors and memory are little used (paper 003, figures 3 and 13).

use super::{Case, EXECUTIONS, Execution, Figures, drawn, pairs};
use crate::failure::Failure;
use crate::page::{Page, Tag, column};
use crate::plot::{Figure, Panel};
use serde::Serialize;
use warpsight_dataflow::plan::LOW;
use warpsight_dataflow::{Phase, Quadrants};
use warpsight_ir::Seconds;

/// Which passes a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pass {
    /// Of inference too.
    Forward,
    /// Gradients.
    Backward,
    /// All of it.
    Both,
}

/// Shares of an execution's time.
#[derive(Clone, Debug, Serialize)]
pub struct Used {
    /// The graph.
    pub graph: String,
    /// The device.
    pub device: String,
    /// Which execution.
    pub execution: Execution,
    /// Of which pass.
    pub pass: Pass,
    /// Where the numbers come from.
    pub tag: Tag,
    /// Its time, launches included.
    pub time_s: f64,
    /// Multiprocessors and memory are little used.
    pub low_both_percent: f64,
    /// Multiprocessors alone.
    pub low_sm_percent: f64,
    /// Memory alone.
    pub low_dram_percent: f64,
    /// Neither.
    pub neither_percent: f64,
}

/// Of all executions of a graph on a device.
pub fn used(case: &Case) -> Vec<Used> {
    let times = &case.outcome.planned.plan.times;
    let mut rows = Vec::new();
    for execution in EXECUTIONS {
        let (planned, ran) = match execution {
            Execution::BulkSynchronous => (&times.bsp, case.simulated().map(|own| &own.bsp)),
            Execution::Vertical => (&times.vertical, case.simulated().map(|own| &own.vertical)),
            Execution::Dataflow => (&times.dataflow, case.simulated().and_then(|own| own.dataflow.as_ref().ok())),
        };
        let mut rows_of = |tag, forward: &Quadrants, backward: &Quadrants| {
            rows.extend(share(case, execution, Pass::Forward, tag, forward));
            if case.trains() {
                rows.extend(share(case, execution, Pass::Backward, tag, backward));
                rows.extend(share(case, execution, Pass::Both, tag, &sum(forward, backward)));
            }
        };
        rows_of(Tag::Predicted, &planned.forward, &planned.backward);
        if let Some(ran) = ran {
            let of = |phase: Phase| {
                let own = planned.runs.iter().zip(&ran.used).filter(|(run, _)| run.phase == phase);
                own.fold(Quadrants::default(), |all, (_, used)| sum(&all, used))
            };
            rows_of(Tag::Simulated, &of(Phase::Forward), &of(Phase::Backward));
        }
    }
    rows
}

fn sum(a: &Quadrants, b: &Quadrants) -> Quadrants {
    Quadrants {
        low_both: a.low_both + b.low_both,
        low_sm: a.low_sm + b.low_sm,
        low_dram: a.low_dram + b.low_dram,
        neither: a.neither + b.neither,
    }
}

fn share(case: &Case, execution: Execution, pass: Pass, tag: Tag, own: &Quadrants) -> Option<Used> {
    let all = own.low_both + own.low_sm + own.low_dram + own.neither;
    let percent = |part: Seconds| 100.0 * (part / all);
    (all > Seconds::ZERO).then(|| Used {
        graph: case.name.clone(),
        device: case.outcome.device.clone(),
        execution,
        pass,
        tag,
        time_s: all.0,
        low_both_percent: percent(own.low_both),
        low_sm_percent: percent(own.low_sm),
        low_dram_percent: percent(own.low_dram),
        neither_percent: percent(own.neither),
    })
}

/// The section.
pub fn show(figures: &Figures, page: &mut Page) -> Result<(), Failure> {
    page.section(
        "utilisation",
        "Utilisation",
        &format!(
            "Shares of the time in which multiprocessors and device memory are used for less than {:.0} % of their peak. Between kernels \
             both are idle.",
            100.0 * LOW
        ),
    );
    for (graph, device) in pairs(figures.utilisation.iter().map(|row| (row.graph.as_str(), row.device.as_str()))) {
        let rows: Vec<&Used> = figures.utilisation.iter().filter(|row| row.graph == graph && row.device == device).collect();
        let pass = |own: &Used| match own.pass {
            Pass::Forward => "forward",
            Pass::Backward => "backward",
            Pass::Both => "both passes",
        };
        let name = |row: &&Used| format!("{}, {}, {}", row.execution.word(), pass(row), row.tag.word());
        let part = |word: &str, of: fn(&Used) -> f64| (word.to_owned(), rows.iter().map(|row| of(row)).collect());
        let parts = vec![
            part("both little used", |row| row.low_both_percent),
            part("multiprocessors little used", |row| row.low_sm_percent),
            part("memory little used", |row| row.low_dram_percent),
            part("neither", |row| row.neither_percent),
        ];
        let panel = Panel::Bars { x: "share of the time, %".to_owned(), rows: rows.iter().map(name).collect(), stacked: true, parts };
        let figure = Figure { title: format!("{graph} on {device}"), note: String::new(), panels: vec![panel] };
        page.drawing(drawn(&figure)?.as_deref());
    }
    page.details("All numbers", |page| {
        page.table(
            &figures.utilisation,
            "/utilisation",
            &[
                column!(graph, "graph"),
                column!(device, "device"),
                column!(execution, "execution"),
                column!(pass, "pass"),
                column!(tag, "tag", Tag),
                column!(time_s, "time", Micros),
                column!(low_both_percent, "both low", Percent),
                column!(low_sm_percent, "low SM", Percent),
                column!(low_dram_percent, "low DRAM", Percent),
                column!(neither_percent, "neither", Percent),
            ],
        );
    });
    Ok(())
}
