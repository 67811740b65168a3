//! The dataflow execution in time as Chrome trace JSON, which Perfetto opens: kernels and pipelines one after another, and within each
//! pipeline the firings of its work-groups by multiprocessor, all simulated.

use super::outcome::Outcome;
use super::simulate::Simulated;
use serde_json::{Value, json};
use warpsight_dataflow::NodeId;
use warpsight_ir::StageClass;
use warpsight_sim::pipeline::PipelineRun;

/// All events; launches as in a graph of kernels. `Err` where an execution does not come to its end.
pub fn trace(of: &Outcome, own: &Simulated) -> Result<Value, String> {
    let ran = own.dataflow.as_ref().map_err(Clone::clone)?;
    let mut events = vec![named("process_name", 0, None, "execution"), named("thread_name", 0, Some(0), "launches")];
    let mut now = 0.0;
    let mut cut = false;
    for (run, seconds) in of.planned.plan.times.dataflow.runs.iter().zip(&ran.runs) {
        now += own.launch.graph;
        let group = of.planned.plan.groups.iter().position(|group| run.nodes.len() > 1 && group.group.nodes == run.nodes);
        let name = group.map_or_else(|| operators(of, &run.nodes), |at| format!("group {at}"));
        events.push(json!({
            "name": name, "cat": "launch", "ph": "X", "ts": micros(now), "dur": micros(seconds.0), "pid": 0, "tid": 0,
            "args": {"operators": operators(of, &run.nodes), "kind": "simulated"},
        }));
        if let Some((at, Ok(pipeline))) = group.map(|at| (at, &own.groups[at])) {
            firings(&mut events, of, at, pipeline, now);
            let all: u64 = of.planned.groups[at].lowered.pipeline.stages.iter().filter_map(|stage| firings_of(&stage.body)).sum();
            cut |= (pipeline.spans.len() as u64) < all;
        }
        now += seconds.0;
    }
    Ok(json!({
        "displayTimeUnit": "ns",
        "otherData": {"kind": "simulated", "graph": of.graph.name, "device": own.silicon.name, "firings": if cut { "the first of each pipeline" } else { "all" }},
        "traceEvents": events,
    }))
}

fn firings_of(body: &warpsight_ir::StageBody) -> Option<u64> {
    match body {
        warpsight_ir::StageBody::Firings(firings) => Some(firings.count),
        warpsight_ir::StageBody::Program(_) => None,
    }
}

/// The firings of a pipeline that begins at a time, and how busy its device is.
fn firings(events: &mut Vec<Value>, of: &Outcome, at: usize, run: &PipelineRun, begin: f64) {
    let (process, pipeline) = (at + 1, &of.planned.groups[at].lowered.pipeline);
    events.push(named("process_name", process, None, &format!("group {at}")));
    // Work-groups that share a multiprocessor fire at the same time: each has a row of its own.
    let mut rows: std::collections::BTreeMap<(usize, usize, u32), usize> = std::collections::BTreeMap::new();
    for span in &run.spans {
        rows.insert((span.core, span.stage, span.group), 0);
    }
    for (row, (key, number)) in rows.iter_mut().enumerate() {
        *number = row;
        let class = if pipeline.stages[key.1].class == StageClass::Tensor { "tensor" } else { "simt" };
        events.push(named("thread_name", process, Some(row), &format!("multiprocessor {} {class}", key.0)));
    }
    for span in &run.spans {
        let stage = &pipeline.stages[span.stage];
        events.push(json!({
            "name": &*stage.name, "cat": "firing", "ph": "X", "ts": micros(begin + span.begin.0), "dur": micros(span.end.0 - span.begin.0),
            "pid": process, "tid": rows[&(span.core, span.stage, span.group)],
            "args": {"firing": span.firing, "work_group": span.group},
        }));
    }
    for (bin, busy) in run.meter.bins.iter().enumerate() {
        let share = |at: usize| busy[at] / run.meter.width;
        events.push(json!({
            "name": "share of peak", "ph": "C", "ts": micros(begin + bin as f64 * run.meter.width), "pid": process,
            "args": {"matrix units": share(0), "vector units": share(1), "memory": share(2)},
        }));
    }
}

fn named(what: &str, process: usize, thread: Option<usize>, name: &str) -> Value {
    json!({"name": what, "ph": "M", "pid": process, "tid": thread.unwrap_or(0), "args": {"name": name}})
}

fn operators(of: &Outcome, nodes: &[NodeId]) -> String {
    nodes.iter().map(|&id| format!("{} {}", of.graph.node(id).op, of.graph.node(id).name)).collect::<Vec<_>>().join(" + ")
}

/// Traces are in microseconds.
fn micros(seconds: f64) -> f64 {
    seconds * 1e6
}
