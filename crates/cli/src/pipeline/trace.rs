//! The dataflow execution in time as Chrome trace JSON, which Perfetto opens: kernels and pipelines one after another, and within each
//! pipeline the firings of its work-groups by multiprocessor, all simulated.

use super::outcome::Outcome;
use super::simulate::Simulated;
use crate::report::timeline::{Row, Timeline};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use warpsight_dataflow::NodeId;
use warpsight_ir::{Seconds, StageClass};
use warpsight_sim::pipeline::PipelineRun;

/// All events; launches as in a graph of kernels. `Err` where an execution does not come to its end.
pub fn trace(of: &Outcome, own: &Simulated) -> Result<Value, String> {
    let ran = own.dataflow.as_ref().map_err(Clone::clone)?;
    let mut events = Timeline::default();
    events.process(0, "execution");
    events.row(Row(0, 0), "launches");
    let mut now = Seconds::ZERO;
    let mut cut = false;
    for (run, &length) in of.planned.plan.times.dataflow.runs.iter().zip(&ran.runs) {
        now += Seconds(own.launch.graph);
        let group = of.planned.plan.groups.iter().position(|group| run.nodes.len() > 1 && group.group.nodes == run.nodes);
        let name = group.map_or_else(|| operators(of, &run.nodes), |at| format!("group {at}"));
        let args = json!({"operators": operators(of, &run.nodes), "kind": "simulated"});
        events.span(Row(0, 0), "launch", &name, now, length, args);
        if let Some((at, Ok(pipeline))) = group.map(|at| (at, &own.groups[at])) {
            firings(&mut events, of, at, pipeline, now);
            let all: u64 = of.planned.groups[at].lowered.pipeline.stages.iter().filter_map(|stage| firings_of(&stage.body)).sum();
            cut |= (pipeline.spans.len() as u64) < all;
        }
        now += length;
    }
    let firings = if cut { "the first of each pipeline" } else { "all" };
    Ok(events.finish(json!({"kind": "simulated", "graph": of.graph.name, "device": own.silicon.name, "firings": firings})))
}

fn firings_of(body: &warpsight_ir::StageBody) -> Option<u64> {
    match body {
        warpsight_ir::StageBody::Firings(firings) => Some(firings.count),
        warpsight_ir::StageBody::Program(_) => None,
    }
}

/// The firings of a pipeline that begins at a time, and how busy its device is.
fn firings(events: &mut Timeline, of: &Outcome, at: usize, run: &PipelineRun, begin: Seconds) {
    let (process, pipeline) = (at + 1, &of.planned.groups[at].lowered.pipeline);
    events.process(process, &format!("group {at}"));
    // Work-groups that share a multiprocessor fire at the same time: each has a row of its own.
    let mut rows: BTreeMap<(usize, usize, u32), usize> = BTreeMap::new();
    for span in &run.spans {
        rows.insert((span.core, span.stage, span.group), 0);
    }
    for (row, (key, number)) in rows.iter_mut().enumerate() {
        *number = row;
        let class = if pipeline.stages[key.1].class == StageClass::Tensor { "tensor" } else { "simt" };
        events.row(Row(process, row), &format!("multiprocessor {} {class}", key.0));
    }
    for span in &run.spans {
        let row = Row(process, rows[&(span.core, span.stage, span.group)]);
        let args = json!({"firing": span.firing, "work_group": span.group});
        events.span(row, "firing", &pipeline.stages[span.stage].name, begin + span.begin, span.end - span.begin, args);
    }
    for (bin, busy) in run.meter.bins.iter().enumerate() {
        let share = |at: usize| busy[at] / run.meter.width;
        let shares = json!({"matrix units": share(0), "vector units": share(1), "memory": share(2)});
        events.counter(process, "share of peak", begin + Seconds(bin as f64 * run.meter.width), shares);
    }
}

fn operators(of: &Outcome, nodes: &[NodeId]) -> String {
    nodes.iter().map(|&id| format!("{} {}", of.graph.node(id).op, of.graph.node(id).name)).collect::<Vec<_>>().join(" + ")
}
