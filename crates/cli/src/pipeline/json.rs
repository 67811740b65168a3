//! An outcome as JSON. Seconds and bytes; `null` is unknown, and the reason stands beside it. All is predicted but what stands under
//! `simulated`, and seconds of stages that say `measured`.

use super::derived::{limiter, saved, shares_of_stages};
use super::options::{policy_name, scheduler_name};
use super::outcome::Outcome;
use super::simulate::{Ran, Simulated};
use serde_json::{Value, json};
use warpsight_dataflow::proof::{ASSUMPTIONS, Objection};
use warpsight_dataflow::rates::key;
use warpsight_dataflow::{Execution, GroupPlan, NodeId, Pipelined, Quadrants};
use warpsight_ir::Seconds;
use warpsight_ir::validate::{InvalidPipeline, PipelineError};

/// All of it.
pub fn value(of: &Outcome) -> Value {
    let (times, ops) = (&of.planned.plan.times, of.planned.covered());
    let cut = of.planned.reductions();
    let execution = |at: usize, own: &Execution| {
        json!({
            "ops": ops[at],
            "s": own.eager.0,
            "graph_launch_s": own.graph.0,
            "launches": own.runs.len(),
            "speedup": times.bsp.eager / own.eager,
            "graph_launch_speedup": times.bsp.graph / own.graph,
            "traffic_reduction_percent": cut[at],
            "traffic_bytes": of.planned.traffic[at + 1].bytes().0,
            "dram_bytes": own.dram.0,
        })
    };
    let mut dataflow = execution(1, &times.dataflow);
    // What is selected stands above, as the paper counts; of it, what runs as one.
    dataflow["ops_run_together"] = json!(of.planned.together());
    dataflow["traffic_reduction_run_together_percent"] = json!(of.planned.reduction(&of.planned.running));
    let (saves, saved) = saved(of);
    let simulated = match &of.simulated {
        None => json!(null),
        Some(Ok(own)) => simulation(of, own),
        Some(Err(why)) => json!({"unknown": why}),
    };
    json!({
        "graph": of.graph.name,
        "file": of.file,
        "device": of.device,
        "kind": "predicted",
        "policy": policy_name(of.policy),
        "ops": of.graph.nodes.len(),
        "bsp_s": times.bsp.eager.0,
        "bsp": {
            "graph_launch_s": times.bsp.graph.0,
            "launches": times.bsp.runs.len(),
            "traffic_bytes": of.planned.traffic[0].bytes().0,
        },
        "vertical": execution(0, &times.vertical),
        "dataflow": dataflow,
        "saves_most": {"in": saves, "s": saved.0},
        "utilisation": {
            "bsp": utilisation(&times.bsp),
            "vertical": utilisation(&times.vertical),
            "dataflow": utilisation(&times.dataflow),
        },
        "groups": of.planned.plan.groups.iter().zip(&of.planned.groups).map(|(plan, own)| group(of, plan, own)).collect::<Vec<_>>(),
        "kernels": of.planned.plan.kernels.iter().map(|own| json!({
            "nodes": names(of, &own.fused.group.nodes), "s": own.run.seconds.0, "shared_bytes": own.footprint.bytes().0,
            "decided": own.footprint.to_string(),
        })).collect::<Vec<_>>(),
        "refused": of.planned.plan.refused.iter().map(|(group, why)| json!({
            "nodes": names(of, &group.nodes), "rule": group.rule, "reason": why.to_string(),
        })).collect::<Vec<_>>(),
        "rest": names(of, &of.planned.plan.rest),
        "vertical_groups": of.planned.vertical.groups.iter().map(|(group, bytes)| json!({
            "nodes": names(of, &group.nodes), "rule": group.rule, "shared_bytes": bytes.bytes().0, "decided": bytes.to_string(),
        })).collect::<Vec<_>>(),
        "vertical_refused": of.planned.vertical.refusals.iter().map(|(nodes, bytes)| json!({
            "nodes": names(of, nodes), "shared_bytes": bytes.bytes().0, "decided": bytes.to_string(),
        })).collect::<Vec<_>>(),
        "proof": proof(of),
        "simulated": simulated,
        "notes": of.notes,
    })
}

fn names(of: &Outcome, nodes: &[NodeId]) -> Vec<String> {
    nodes.iter().map(|&id| of.graph.node(id).name.clone()).collect()
}

/// Shares of the time: of the whole, and of each pass.
fn utilisation(own: &Execution) -> Value {
    let (forward, backward) = (&own.forward, &own.backward);
    let mut both = shares(&Quadrants {
        low_both: forward.low_both + backward.low_both,
        low_sm: forward.low_sm + backward.low_sm,
        low_dram: forward.low_dram + backward.low_dram,
        neither: forward.neither + backward.neither,
    });
    both["forward"] = shares(forward);
    both["backward"] = shares(backward);
    both
}

/// `null` where no time passes.
fn shares(own: &Quadrants) -> Value {
    let all = own.low_both + own.low_sm + own.low_dram + own.neither;
    let share = |part: Seconds| (all > Seconds::ZERO).then(|| part / all);
    json!({"low_both": share(own.low_both), "low_sm": share(own.low_sm), "low_dram": share(own.low_dram), "neither": share(own.neither)})
}

fn group(of: &Outcome, plan: &GroupPlan, own: &Pipelined) -> Value {
    let stages = plan.design.stages.iter().enumerate().map(|(at, stage)| {
        json!({
            "name": stage.name,
            "nodes": names(of, &stage.nodes),
            "class": stage.class,
            "ctas": plan.allocation.ctas[at],
            "parts": stage.parts,
            "s": own.seconds[at].0,
            "kind": own.sources[at].name(),
            "limiter": own.estimates[at].limiter().name(),
            "shared_bytes": stage.shared.0,
            "firings": stage.firings,
            "key": key(&stage.work(plan.allocation.ctas[at])),
        })
    });
    let channels = plan.design.queues.iter().map(|queue| {
        json!({
            "tensor": of.graph.tensor(queue.tensor).name,
            "producer": queue.producer,
            "consumers": queue.consumers,
            "payload_bytes": queue.payload.0,
            "depth": queue.depth,
            "tokens": queue.tokens,
        })
    });
    let launch = of.platform.launch;
    json!({
        "nodes": names(of, &plan.group.nodes),
        "rule": plan.group.rule,
        "s": plan.seconds.0,
        "fill_s": plan.fill.0,
        "alone_s": own.alone.0,
        "speedup": own.alone / plan.seconds,
        "speedup_with_launches": (own.alone + launch * plan.group.nodes.len() as f64) / (plan.seconds + launch),
        "stages": stages.collect::<Vec<_>>(),
        "channels": channels.collect::<Vec<_>>(),
        "limiter": limiter(&plan.design, plan.allocation.limiter, own),
        "assignment": plan.assignment,
        "proof": {
            "proved": own.proof.is_ok(),
            "certificate": own.proof.as_ref().ok(),
            "objection": own.proof.as_ref().err().map(ToString::to_string),
        },
    })
}

/// Who waits for whom, the first again at the end: work-groups, or whole stages; `null` where nobody does.
pub fn cycle(objection: &Objection) -> Value {
    match objection {
        Objection::Waits(waits) => json!(waits),
        Objection::Invalid(InvalidPipeline { kind: PipelineError::Cycle(stages), .. }) => {
            stages.iter().map(|stage| json!({"stage": stage})).collect()
        }
        _ => Value::Null,
    }
}

/// Of all groups together.
fn proof(of: &Outcome) -> Value {
    let objection = of.planned.groups.iter().enumerate().find_map(|(at, own)| own.proof.as_ref().err().map(|why| (at, why)));
    json!({
        "proved": objection.is_none(),
        "assumptions": ASSUMPTIONS,
        "cycle": objection.map(|(_, why)| cycle(why)),
        "objection": objection.map(|(at, why)| format!("group {at}: {why}")),
    })
}

fn simulation(of: &Outcome, own: &Simulated) -> Value {
    let ops = [of.planned.covered()[0], of.planned.together()];
    let execution = |at: usize, ran: &Ran| {
        json!({
            "ops": ops[at],
            "s": ran.eager.0,
            "graph_launch_s": ran.graph.0,
            "dependent_launch_s": ran.dependent.0,
            "speedup": own.bsp.eager / ran.eager,
            "graph_launch_speedup": own.bsp.graph / ran.graph,
            "dram_bytes": ran.dram.0,
            "utilisation": shares(&ran.quadrants),
        })
    };
    let groups = own.groups.iter().zip(&of.planned.plan.groups).enumerate().map(|(at, (run, plan))| match run {
        Ok(run) => {
            let alone: Seconds = plan.group.nodes.iter().map(|id| own.bsp.runs[id.0]).sum();
            let stages: Vec<Value> = shares_of_stages(of, at, run).iter().map(|own| json!({"busy": own[0], "starved": own[1], "blocked": own[2]})).collect();
            json!({"stages": stages, "s": run.time.0, "alone_s": alone.0, "speedup": alone / run.time, "dram_bytes": run.dram.0, "queue_bytes": run.queues.0})
        }
        Err(why) => json!({"s": null, "unknown": why}),
    });
    json!({
        "kind": "simulated",
        "device": own.silicon.name,
        "scheduler": scheduler_name(own.scheduler),
        "bsp_s": own.bsp.eager.0,
        "bsp": {
            "graph_launch_s": own.bsp.graph.0,
            "dependent_launch_s": own.bsp.dependent.0,
            "dram_bytes": own.bsp.dram.0,
            "utilisation": shares(&own.bsp.quadrants),
        },
        "vertical": execution(0, &own.vertical),
        "dataflow": match &own.dataflow {
            Ok(ran) => execution(1, ran),
            Err(why) => json!({"ops": ops[1], "s": null, "unknown": why}),
        },
        "groups": groups.collect::<Vec<_>>(),
    })
}
