//! An outcome as tables. Every number says where it is from.

use super::derived::{limiter, saved, shares_of_stages};
use super::options::{policy_name, scheduler_name};
use super::outcome::Outcome;
use super::simulate::{Ran, Simulated};
use crate::predict::show::time;
use crate::report::Column::{Below, Keep, Spare};
use crate::report::{Table, clean, table};
use std::fmt::Write;
use warpsight_dataflow::proof::ASSUMPTIONS;
use warpsight_dataflow::{Execution, GroupPlan, NodeId, Pipelined, Quadrants, Role, Stage};
use warpsight_ir::{Bytes, Seconds, StageClass};

/// All of it.
pub fn text(of: &Outcome) -> String {
    let mut text = format!(
        "{} ({}, {} operators) on {}, policy {}\n\n",
        clean(&of.graph.name),
        clean(&of.file),
        of.graph.nodes.len(),
        of.device,
        policy_name(of.policy)
    );
    let _ = writeln!(text, "{}\n", executions(of));
    let (selected, together) = (of.planned.covered()[1], of.planned.together());
    if together < selected {
        let cut = of.planned.reduction(&of.planned.running);
        let _ = writeln!(
            text,
            "Of the {selected} operators that the policy selects, {together} run in groups (traffic cut {cut:.2} %): see what is refused.\n"
        );
    }
    let (saves, seconds) = saved(of);
    if seconds > Seconds::ZERO {
        let _ = writeln!(text, "Dataflow saves most in {saves}: {} of bulk-synchronous execution (predicted).\n", time(seconds));
    }
    for (at, (plan, own)) in of.planned.plan.groups.iter().zip(&of.planned.groups).enumerate() {
        group(&mut text, of, at, plan, own);
    }
    for own in &of.planned.plan.kernels {
        let nodes = operators(of, &own.fused.group.nodes);
        let _ = writeln!(text, "one kernel: {nodes}: {} (predicted); {}", time(own.run.seconds), own.footprint);
    }
    if !of.planned.plan.kernels.is_empty() {
        text.push('\n');
    }
    for (group, why) in &of.planned.plan.refused {
        let _ = writeln!(text, "refused: {}: {}", operators(of, &group.nodes), clean(&why.to_string()));
    }
    if !of.planned.plan.refused.is_empty() {
        text.push('\n');
    }
    for (group, bytes) in &of.planned.vertical.groups {
        let _ = writeln!(text, "vertical: {}: {bytes}", operators(of, &group.nodes));
    }
    for (nodes, bytes) in &of.planned.vertical.refusals {
        let _ = writeln!(text, "not vertical: {}: {bytes}", operators(of, nodes));
    }
    let proved = of.planned.groups.iter().filter(|own| own.proof.is_ok()).count();
    let _ = writeln!(text, "\n{proved} of {} pipelines are proved to end, assuming", of.planned.groups.len());
    for assumption in ASSUMPTIONS {
        let _ = writeln!(text, "- {assumption}");
    }
    match &of.simulated {
        None => {}
        Some(Ok(own)) => simulated(&mut text, of, own),
        Some(Err(why)) => {
            let _ = writeln!(text, "\nnot simulated: {}", clean(why));
        }
    }
    for note in &of.notes {
        let _ = writeln!(text, "- {}", clean(note));
    }
    text
}

fn executions(of: &Outcome) -> Table<'static> {
    let (times, ops, cut) = (&of.planned.plan.times, of.planned.covered(), of.planned.reductions());
    let mut rows = table(&[
        Keep("predicted"),
        Spare(6, "operators selected"),
        Spare(5, "launches"),
        Keep("time"),
        Keep("speedup"),
        Spare(4, "in a graph of kernels"),
        Spare(4, "speedup"),
        Keep("traffic"),
        Spare(7, "cut"),
        Spare(1, "both low"),
        Spare(2, "SM low"),
        Spare(2, "DRAM low"),
        Spare(1, "neither"),
    ]);
    let each: [(&str, &Execution, Option<usize>); 3] =
        [("bulk-synchronous", &times.bsp, None), ("vertical", &times.vertical, Some(0)), ("dataflow", &times.dataflow, Some(1))];
    for (at, (name, own, grouped)) in each.into_iter().enumerate() {
        let mut cells = vec![
            name.to_owned(),
            grouped.map_or_else(|| "-".to_owned(), |at| ops[at].to_string()),
            own.runs.len().to_string(),
            time(own.eager),
            ratio(times.bsp.eager, own.eager),
            time(own.graph),
            ratio(times.bsp.graph, own.graph),
            bytes(of.planned.traffic[at].bytes()),
            grouped.map_or_else(|| "-".to_owned(), |at| format!("{:.2} %", cut[at])),
        ];
        let (forward, backward) = (&own.forward, &own.backward);
        cells.extend(percents(&Quadrants {
            low_both: forward.low_both + backward.low_both,
            low_sm: forward.low_sm + backward.low_sm,
            low_dram: forward.low_dram + backward.low_dram,
            neither: forward.neither + backward.neither,
        }));
        rows.add_row(cells);
    }
    rows
}

fn group(text: &mut String, of: &Outcome, at: usize, plan: &GroupPlan, own: &Pipelined) {
    let _ = writeln!(
        text,
        "group {at}: {} ({} operators; {})\n  {} (predicted), by themselves {} (predicted): {}; bound by {}; {}",
        operators(of, &plan.group.nodes),
        plan.group.nodes.len(),
        plan.group.rule,
        time(plan.seconds),
        time(own.alone),
        ratio(own.alone, plan.seconds),
        limiter(&plan.design, plan.allocation.limiter, own),
        match &own.proof {
            Ok(certificate) => format!("proved, {} of {} work-groups resident", certificate.resident.0, certificate.resident.1),
            Err(why) => format!("not proved: {why}"),
        },
    );
    let mut stages = table(&[
        Keep("stage"),
        Spare(2, "class"),
        Keep("CTAs"),
        Spare(1, "parts"),
        Keep("time"),
        Keep("limiter (predicted)"),
        Below("operators"),
    ]);
    for (at, stage) in plan.design.stages.iter().enumerate() {
        stages.add_row([
            at.to_string(),
            if stage.class == StageClass::Tensor { "tensor" } else { "simt" }.to_owned(),
            plan.allocation.ctas[at].to_string(),
            stage.parts.to_string(),
            format!("{} ({})", time(own.seconds[at]), own.sources[at].name()),
            own.estimates[at].limiter().name().to_owned(),
            work(of, stage),
        ]);
    }
    let _ = writeln!(text, "{stages}");
    let mut channels = table(&[Keep("channel"), Keep("from"), Keep("to"), Spare(3, "payload"), Spare(2, "slots"), Spare(1, "tokens")]);
    for queue in &plan.design.queues {
        channels.add_row([
            of.graph.tensor(queue.tensor).name.clone(),
            queue.producer.to_string(),
            queue.consumers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            bytes(queue.payload),
            queue.depth.to_string(),
            queue.tokens.to_string(),
        ]);
    }
    if !plan.design.queues.is_empty() {
        let _ = writeln!(text, "{channels}");
    }
    text.push('\n');
}

fn simulated(text: &mut String, of: &Outcome, own: &Simulated) {
    let _ = writeln!(text, "\non sim {} ({} scheduler)", own.silicon.name, scheduler_name(own.scheduler));
    let mut rows = table(&[
        Keep("simulated"),
        Keep("time"),
        Keep("speedup"),
        Spare(4, "in a graph of kernels"),
        Spare(4, "speedup"),
        Spare(3, "dependent launches"),
        Spare(1, "both low"),
        Spare(2, "SM low"),
        Spare(2, "DRAM low"),
        Spare(1, "neither"),
    ]);
    let mut row = |name: &str, ran: &Ran| {
        let mut cells = vec![
            name.to_owned(),
            time(ran.eager),
            ratio(own.bsp.eager, ran.eager),
            time(ran.graph),
            ratio(own.bsp.graph, ran.graph),
            time(ran.dependent),
        ];
        cells.extend(percents(&ran.quadrants));
        rows.add_row(cells);
    };
    row("bulk-synchronous", &own.bsp);
    row("vertical", &own.vertical);
    if let Ok(ran) = &own.dataflow {
        row("dataflow", ran);
    }
    let _ = writeln!(text, "{rows}");
    if let Err(why) = &own.dataflow {
        let _ = writeln!(text, "dataflow: unknown: {why}");
    }
    let mut groups = table(&[
        Keep("group"),
        Keep("simulated"),
        Keep("predicted"),
        Spare(1, "by themselves (simulated)"),
        Keep("speedup (simulated)"),
        Below("stages that work most (share of time, simulated)"),
    ]);
    for (at, (run, plan)) in own.groups.iter().zip(&of.planned.plan.groups).enumerate() {
        let alone: Seconds = plan.group.nodes.iter().map(|id| own.bsp.runs[id.0]).sum();
        let (found, faster, most) = match run {
            Ok(run) => (time(run.time), ratio(alone, run.time), busiest(&shares_of_stages(of, at, run))),
            Err(_) => ("-".to_owned(), "-".to_owned(), "-".to_owned()),
        };
        groups.add_row([at.to_string(), found, time(plan.seconds), time(alone), faster, most]);
    }
    if !own.groups.is_empty() {
        let _ = writeln!(text, "{groups}");
    }
}

/// The three stages that work most.
fn busiest(shares: &[[f64; 3]]) -> String {
    let mut stages: Vec<(usize, f64)> = shares.iter().map(|share| share[0]).enumerate().collect();
    stages.sort_by(|a, b| b.1.total_cmp(&a.1));
    stages.iter().take(3).map(|(at, share)| format!("{at}: {:.0} %", 100.0 * share)).collect::<Vec<_>>().join(", ")
}

/// Operators with their names, runs of equal ones together.
fn operators(of: &Outcome, nodes: &[NodeId]) -> String {
    let name = |&id: &NodeId| format!("{} `{}`", of.graph.node(id).op, of.graph.node(id).name);
    match nodes {
        [first, _, _, .., last] => clean(&format!("{} … {}", name(first), name(last))).into_owned(),
        few => clean(&few.iter().map(name).collect::<Vec<_>>().join(", ")).into_owned(),
    }
}

/// What a stage does: its operators, and its part in a split one.
fn work(of: &Outcome, stage: &Stage) -> String {
    let each = stage.nodes.iter().map(|&id| format!("{} {}", of.graph.node(id).op, of.graph.node(id).name));
    let own = each.collect::<Vec<_>>().join(" + ");
    match stage.role {
        Role::Whole => own,
        Role::FanIn => format!("{own} (fan-in)"),
        Role::Final => format!("{own} (final)"),
    }
}

fn ratio(before: Seconds, after: Seconds) -> String {
    format!("{:.2}×", before / after)
}

fn percents(own: &Quadrants) -> [String; 4] {
    let all = own.low_both + own.low_sm + own.low_dram + own.neither;
    [own.low_both, own.low_sm, own.low_dram, own.neither].map(|part| format!("{:.0} %", 100.0 * (part / all)))
}

fn bytes(bytes: Bytes) -> String {
    match bytes.0 {
        b if b < 1e3 => format!("{b:.0} B"),
        b if b < 1e6 => format!("{:.1} KB", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.2} GB", b / 1e9),
    }
}
