//! What more multiprocessors and a faster second-level cache gain while device memory stays as it is (paper 003, sections 1 and 6.3).

use super::speedups::{self, Part, Speedup};
use super::{Case, EXECUTIONS, Execution, Figures, drawn, geometric_mean, mean_name, pairs};
use crate::failure::Failure;
use crate::page::{Page, Tag, column};
use crate::pipeline::outcome::Outcome;
use crate::plot::{Figure, Panel};
use crate::predict::input::Device;
use serde::Serialize;
use warpsight_ir::BytesPerSecond;
use warpsight_ir::profile::{Fact, Source};

/// What a device has twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Multiprocessors.
    Multiprocessors,
    /// The bandwidth of the second-level cache.
    L2,
    /// The two of them.
    Both,
}

/// All changes.
const CHANGES: [Change; 3] = [Change::Both, Change::Multiprocessors, Change::L2];
const TWICE: &str = "twice what the device has";

/// What a change gains.
#[derive(Clone, Debug, Serialize)]
pub struct Gain {
    /// The graph; of several, what they are.
    pub graph: String,
    /// The device.
    pub device: String,
    /// What there is twice.
    pub twice: Change,
    /// Which execution.
    pub execution: Execution,
    /// Where the numbers come from.
    pub tag: Tag,
    /// As it is.
    pub plain_s: Option<f64>,
    /// With twice of that.
    pub changed_s: Option<f64>,
    /// The one over the other.
    pub speedup: f64,
    /// Over bulk-synchronous execution on the device as it is: the geometric mean of what runs as one.
    pub groups_plain: Option<f64>,
    /// The same on the changed device.
    pub groups_changed: Option<f64>,
}

impl Change {
    fn words(self) -> &'static str {
        match self {
            Self::Multiprocessors => "the multiprocessors",
            Self::L2 => "the second-level bandwidth",
            Self::Both => "the multiprocessors and the second-level bandwidth",
        }
    }
}

/// A device with twice of something; what its profile does not know stays unknown.
pub fn changes(device: &Device) -> Vec<(Change, Device)> {
    let changed = |change: Change| {
        let mut profile = device.profile.clone();
        if matches!(change, Change::Multiprocessors | Change::Both)
            && let Some(&cores) = profile.execution.cores.get()
        {
            profile.execution.cores = Fact::known(cores.saturating_mul(2), Source::Assumed, TWICE);
        }
        if matches!(change, Change::L2 | Change::Both)
            && let Some(rate) = profile.memory.l2.bandwidth.get()
        {
            profile.memory.l2.bandwidth = Fact::known(BytesPerSecond(2.0 * rate.0), Source::Assumed, TWICE);
        }
        (change, Device { name: device.name.clone(), profile, notes: device.notes.clone(), unlikely: vec![] })
    };
    CHANGES.into_iter().map(changed).collect()
}

/// Of outcomes on changed devices, each with the position of the plain one.
pub fn gains(cases: &[Case], changed: &[(usize, Change, Outcome)]) -> Vec<Gain> {
    let mut rows = Vec::new();
    for (at, change, outcome) in changed {
        let Some(plain) = cases.get(*at) else { continue };
        let with = Case { name: plain.name.clone(), outcome };
        for execution in EXECUTIONS {
            for tag in [Tag::Predicted, Tag::Simulated] {
                let (Some(before), Some(after)) = (seconds(plain, execution, tag), seconds(&with, execution, tag)) else { continue };
                let graph = plain.name.clone();
                let (device, twice, speedup) = (plain.outcome.device.clone(), *change, before / after);
                let mean = |case: &Case| groups(case, execution, tag);
                let (groups_plain, groups_changed) = (mean(plain), mean(&with));
                let (plain_s, changed_s) = (Some(before), Some(after));
                rows.push(Gain { graph, device, twice, execution, tag, plain_s, changed_s, speedup, groups_plain, groups_changed });
            }
        }
    }
    let mut means = Vec::new();
    for (_, device) in pairs(cases.iter().map(|case| ("", case.outcome.device.as_str()))) {
        for kind in ["inference", "training"] {
            for (twice, execution, tag) in rows_of(&rows) {
                let of_kind = |row: &&Gain| cases.iter().any(|case| case.name == row.graph && case.kind() == kind);
                let own = rows.iter().filter(|row| row.device == device && (row.twice, row.execution, row.tag) == (twice, execution, tag));
                let own: Vec<f64> = own.filter(of_kind).map(|row| row.speedup).collect();
                let mean = geometric_mean(&own).filter(|_| own.len() > 1);
                let (graph, device) = (mean_name(own.len(), kind), device.to_owned());
                let (plain_s, changed_s, groups_plain, groups_changed) = (None, None, None, None);
                means.extend(mean.map(|speedup| Gain {
                    graph,
                    device,
                    twice,
                    execution,
                    tag,
                    plain_s,
                    changed_s,
                    speedup,
                    groups_plain,
                    groups_changed,
                }));
            }
        }
    }
    rows.extend(means);
    rows
}

/// What rows there are, each once, in order.
fn rows_of(rows: &[Gain]) -> Vec<(Change, Execution, Tag)> {
    let mut found = Vec::new();
    for own in rows.iter().map(|row| (row.twice, row.execution, row.tag)) {
        if !found.contains(&own) {
            found.push(own);
        }
    }
    found
}

/// The mean speedup of what runs as one.
fn groups(case: &Case, execution: Execution, tag: Tag) -> Option<f64> {
    let own = |row: &Speedup| row.part == Part::Groups && (row.execution, row.tag) == (execution, tag);
    speedups::of(case).into_iter().find(own).map(|row| row.speedup)
}

/// End to end.
fn seconds(case: &Case, execution: Execution, tag: Tag) -> Option<f64> {
    let times = &case.outcome.planned.plan.times;
    let seconds = match (tag, execution) {
        (Tag::Simulated, _) => {
            let own = case.simulated()?;
            match execution {
                Execution::BulkSynchronous => own.bsp.eager,
                Execution::Vertical => own.vertical.eager,
                Execution::Dataflow => own.dataflow.as_ref().ok()?.eager,
            }
        }
        (_, Execution::BulkSynchronous) => times.bsp.eager,
        (_, Execution::Vertical) => times.vertical.eager,
        (_, Execution::Dataflow) => times.dataflow.eager,
    };
    Some(seconds.0)
}

/// The section.
pub fn show(figures: &Figures, page: &mut Page) -> Result<(), Failure> {
    page.section(
        "sensitivity",
        "Sensitivity",
        "How many times faster each execution becomes on a device with twice the multiprocessors, twice the bandwidth of the second-level \
         cache, or both; device memory stays as it is. Every change is planned anew. Groups: the geometric mean of their speedups over \
         bulk-synchronous execution on the same device.",
    );
    if figures.sensitivity.is_empty() {
        page.text("No changed device was planned for.");
        return Ok(());
    }
    for tag in [Tag::Predicted, Tag::Simulated] {
        let panel = |twice: Change| {
            let rows: Vec<&Gain> = figures.sensitivity.iter().filter(|row| row.tag == tag && row.twice == twice).collect();
            let cases = pairs(rows.iter().map(|row| (row.graph.as_str(), row.device.as_str())));
            let of = |execution: Execution| {
                let at = |(graph, device): &(&str, &str)| {
                    let own = rows.iter().find(|row| row.graph == *graph && row.device == *device && row.execution == execution);
                    own.map_or(0.0, |row| row.speedup)
                };
                (execution.word().to_owned(), cases.iter().map(at).collect())
            };
            let names = cases.iter().map(|(graph, device)| format!("{graph} on {device}")).collect();
            let x = format!("× as fast with twice {}", twice.words());
            Panel::Bars { x, rows: names, stacked: false, parts: EXECUTIONS.map(of).to_vec() }
        };
        let figure = Figure { title: "Sensitivity".to_owned(), note: tag.word().to_owned(), panels: CHANGES.map(panel).into() };
        page.drawing(drawn(&figure)?.as_deref());
    }
    page.table(
        &figures.sensitivity,
        "/sensitivity",
        &[
            column!(graph, "graph"),
            column!(device, "device"),
            column!(twice, "twice"),
            column!(execution, "execution"),
            column!(tag, "tag", Tag),
            column!(plain_s, "as it is", Micros),
            column!(changed_s, "with twice of that", Micros),
            column!(speedup, "speedup"),
            column!(groups_plain, "groups over bulk-synchronous, as it is"),
            column!(groups_changed, "the same with twice of that"),
        ],
    );
    Ok(())
}
