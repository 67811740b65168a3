//! What moving bytes takes, by level of memory: bytes of the models times constants of `data/dataflow/energy.toml`.

use super::{Case, EXECUTIONS, Execution, Figures, drawn, pairs};
use crate::failure::Failure;
use crate::page::{Page, Tag, column};
use crate::plot::{Figure, Panel};
use serde::{Deserialize, Serialize};

const CONSTANTS: &str = include_str!("../../../data/energy.toml");

/// Levels of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Device memory, into the second-level cache.
    Dram,
    /// The second-level cache, into a multiprocessor.
    L2,
}

/// A level of an execution.
#[derive(Clone, Debug, Serialize)]
pub struct Spent {
    /// The graph.
    pub graph: String,
    /// The device.
    pub device: String,
    /// Which execution.
    pub execution: Execution,
    /// Which level.
    pub level: Level,
    /// Where the energy comes from; bytes are predicted.
    pub tag: Tag,
    /// Bytes that move in one execution.
    pub moved_bytes: f64,
    /// Picojoules of one.
    pub pj_per_byte: f64,
    /// Joules of all.
    pub spent_j: f64,
    /// Who measured the constant.
    pub source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Constants {
    dram: Constant,
    l2: Constant,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Constant {
    pj_per_byte: f64,
    source: String,
}

/// Of all graphs on all devices.
pub fn spent(cases: &[Case]) -> Result<Vec<Spent>, Failure> {
    let wrong = |error: toml::de::Error| Failure::input(error.to_string()).at("data/dataflow/energy.toml");
    let constants: Constants = toml::from_str(CONSTANTS).map_err(wrong)?;
    let mut rows = Vec::new();
    for case in cases {
        let times = &case.outcome.planned.plan.times;
        for (execution, own) in EXECUTIONS.into_iter().zip([&times.bsp, &times.vertical, &times.dataflow]) {
            for (level, bytes, constant) in [(Level::Dram, own.dram.0, &constants.dram), (Level::L2, own.l2.0, &constants.l2)] {
                rows.push(Spent {
                    graph: case.name.clone(),
                    device: case.outcome.device.clone(),
                    execution,
                    level,
                    tag: Tag::Estimated,
                    moved_bytes: bytes,
                    pj_per_byte: constant.pj_per_byte,
                    spent_j: bytes * constant.pj_per_byte * 1e-12,
                    source: constant.source.clone(),
                });
            }
        }
    }
    Ok(rows)
}

/// The section.
pub fn show(figures: &Figures, page: &mut Page) -> Result<(), Failure> {
    page.section(
        "energy",
        "Energy of moved bytes, estimated",
        "Bytes that move between memory, second-level cache and multiprocessors (predicted), times picojoules per byte that others measured \
         on another chip: an estimate for comparing executions. Computing, leakage and clocks are not in it.",
    );
    let mut sources: Vec<(&str, f64)> = Vec::new();
    for row in &figures.energy {
        if !sources.contains(&(row.source.as_str(), row.pj_per_byte)) {
            sources.push((&row.source, row.pj_per_byte));
        }
    }
    sources.iter().for_each(|(source, constant)| page.text(&format!("{constant} pJ per byte (estimated): {source}.")));
    let mut names = Vec::new();
    let (mut dram, mut l2) = (Vec::new(), Vec::new());
    for (graph, device) in pairs(figures.energy.iter().map(|row| (row.graph.as_str(), row.device.as_str()))) {
        for execution in EXECUTIONS {
            let of = |level: Level| {
                let own = |row: &&Spent| row.graph == graph && row.device == device && row.execution == execution && row.level == level;
                figures.energy.iter().find(own).map_or(0.0, |row| 1e3 * row.spent_j)
            };
            names.push(format!("{graph} on {device}, {}", execution.word()));
            dram.push(of(Level::Dram));
            l2.push(of(Level::L2));
        }
    }
    let parts = vec![("device memory".to_owned(), dram), ("second-level cache".to_owned(), l2)];
    let panel = Panel::Bars { x: "mJ of one execution".to_owned(), rows: names, stacked: true, parts };
    page.drawing(drawn(&Figure { title: "Moved bytes".to_owned(), note: "estimated".to_owned(), panels: vec![panel] })?.as_deref());
    page.table(
        &figures.energy,
        "/energy",
        &[
            column!(graph, "graph"),
            column!(device, "device"),
            column!(execution, "execution"),
            column!(level, "level"),
            column!(moved_bytes, "moved, predicted", Megabytes),
            column!(pj_per_byte, "pJ per byte"),
            column!(spent_j, "energy", Millijoules),
            column!(tag, "tag", Tag),
        ],
    );
    Ok(())
}
