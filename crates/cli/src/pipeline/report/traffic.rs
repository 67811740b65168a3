//! Operators that run as one, and bytes through device memory (paper 003, table 2).

use super::{Case, EXECUTIONS, Execution, Figures, drawn, pairs};
use crate::failure::Failure;
use crate::page::{Page, Tag, column};
use crate::plot::{Figure, Panel};
use serde::Serialize;

/// A row of the table.
#[derive(Clone, Debug, Serialize)]
pub struct Moved {
    /// The graph.
    pub graph: String,
    /// The device.
    pub device: String,
    /// Which execution.
    pub execution: Execution,
    /// Where the numbers come from.
    pub tag: Tag,
    /// Operators of the graph.
    pub operators: usize,
    /// Of these, those selected to run as one with others.
    pub covered: usize,
    /// Of these, those that do; the groups of the others do not pay, or are impossible.
    pub together: usize,
    /// Their share.
    pub covered_percent: f64,
    /// As the paper counts: each operand of what runs as one moves once.
    pub counted_bytes: f64,
    /// Of the bulk-synchronous bytes, what does not move.
    pub reduction_percent: f64,
    /// What the model of time has: operands that pipelines read again included.
    pub moved_bytes: f64,
    /// What the simulator counted.
    pub simulated_bytes: Option<f64>,
    /// Operators that run as one, published.
    pub published_covered: Option<f64>,
    /// The reduction that was published.
    pub published_percent: Option<f64>,
}

/// Of all executions of a graph on a device.
pub fn moved(case: &Case) -> Vec<Moved> {
    let (outcome, times) = (case.outcome, &case.outcome.planned.plan.times);
    let (operators, [vertical, dataflow]) = (outcome.graph.nodes.len(), outcome.planned.covered());
    let [of_vertical, of_dataflow] = outcome.planned.reductions();
    let row = |(at, execution): (usize, Execution)| {
        let (covered, reduction_percent, planned, simulated) = match execution {
            Execution::BulkSynchronous => (0, 0.0, &times.bsp, case.simulated().map(|own| own.bsp.dram.0)),
            Execution::Vertical => (vertical, of_vertical, &times.vertical, case.simulated().map(|own| own.vertical.dram.0)),
            Execution::Dataflow => {
                (dataflow, of_dataflow, &times.dataflow, case.simulated().and_then(|own| own.dataflow.as_ref().ok()).map(|own| own.dram.0))
            }
        };
        Moved {
            graph: case.name.clone(),
            device: outcome.device.clone(),
            execution,
            tag: Tag::Predicted,
            operators,
            covered,
            together: if execution == Execution::Dataflow { outcome.planned.together() } else { covered },
            covered_percent: 100.0 * covered as f64 / operators.max(1) as f64,
            counted_bytes: outcome.planned.traffic[at].bytes().0,
            reduction_percent,
            moved_bytes: planned.dram.0,
            simulated_bytes: simulated,
            published_covered: None,
            published_percent: None,
        }
    };
    EXECUTIONS.into_iter().enumerate().map(row).collect()
}

/// The section.
pub fn show(figures: &Figures, page: &mut Page) -> Result<(), Failure> {
    page.section(
        "traffic",
        "Operators in groups, and traffic",
        "Bytes through device memory. Counted as table 2 of paper 003 does: bulk-synchronous execution moves each operand of each operator \
         once, what runs as one reads each outside input once and keeps what passes within.",
    );
    let own = |execution: Execution| figures.traffic.iter().filter(move |row| row.execution == execution);
    let cases = pairs(figures.traffic.iter().map(|row| (row.graph.as_str(), row.device.as_str())));
    let part = |execution: Execution, tag: &str, of: fn(&Moved) -> Option<f64>| {
        let numbers: Vec<f64> = own(execution).map(|row| of(row).unwrap_or(0.0)).collect();
        numbers.iter().any(|&number| number != 0.0).then(|| (format!("{}, {tag}", execution.word()), numbers))
    };
    let parts = [Execution::Vertical, Execution::Dataflow].into_iter().flat_map(|execution| {
        [part(execution, "predicted", |row| Some(row.reduction_percent)), part(execution, "published", |row| row.published_percent)]
    });
    let rows = cases.iter().map(|(graph, device)| format!("{graph} on {device}")).collect();
    let panel = Panel::Bars { x: "bytes that do not move, %".to_owned(), rows, stacked: false, parts: parts.flatten().collect() };
    page.drawing(drawn(&Figure { title: "Traffic reduction".to_owned(), note: String::new(), panels: vec![panel] })?.as_deref());
    page.table(
        &figures.traffic,
        "/traffic",
        &[
            column!(graph, "graph"),
            column!(device, "device"),
            column!(execution, "execution"),
            column!(tag, "tag", Tag),
            column!(operators, "operators"),
            column!(covered, "selected"),
            column!(covered_percent, "selected", Percent),
            column!(together, "run in groups"),
            column!(published_covered, "selected, published"),
            column!(counted_bytes, "counted", Megabytes),
            column!(reduction_percent, "reduction", Percent),
            column!(published_percent, "reduction, published", Percent),
            column!(moved_bytes, "moved in the model of time", Megabytes),
            column!(simulated_bytes, "moved, simulated", Megabytes),
        ],
    );
    Ok(())
}
