//! Predictions as tables.

use super::input::Device;
use super::witness::Witness;
use super::{Answer, Predicted};
use crate::report::Column::{Below, Keep, Spare};
use crate::report::{Table, clean, dash, from_left, table};
use std::fmt::Write;
use warpsight_ir::Seconds;
use warpsight_ir::occupancy::Resident;

/// Rows of instructions that are shown; JSON has all.
const INSTRUCTIONS: usize = 40;

/// Three significant digits with a unit.
pub fn time(seconds: Seconds) -> String {
    let s = seconds.0;
    match s {
        _ if s == 0.0 => "0".to_owned(),
        _ if s < 1e-6 => format!("{:.3} ns", s * 1e9),
        _ if s < 1e-3 => format!("{:.2} µs", s * 1e6),
        _ if s < 1.0 => format!("{:.3} ms", s * 1e3),
        _ => format!("{s:.3} s"),
    }
}

pub(super) fn bytes(value: Option<f64>) -> String {
    dash(value.map(|bytes| format!("{bytes:.2}")))
}

fn resident(what: Option<Resident>) -> &'static str {
    match what {
        Some(Resident::Registers) => "registers",
        Some(Resident::Warps) => "warps",
        Some(Resident::Local) => "local memory",
        Some(Resident::Groups) => "blocks",
        None => "no known number",
    }
}

/// What tables call a number of the report.
pub(super) fn label(key: &'static str) -> &'static str {
    match key {
        "seconds" => "time, s",
        "l1_cycles_per_point" => "L1 cycles/point",
        "l1_requested" => "L1 requested, B/point",
        "l2_load_compulsory" => "L2 load compulsory, B/point",
        "l2_load" => "L2 load, B/point",
        "l2_store" => "L2 store, B/point",
        "behind_l2" => "load behind L2, B/point",
        "dram_load_wave" => "DRAM load of a wave, B/point",
        "dram_load" => "DRAM load, B/point",
        "dram_store" => "DRAM store, B/point",
        other => other,
    }
}

/// Numbers that are shown for one prediction and compared between two; the value where it is a number.
fn headline(of: &Predicted) -> Vec<(&'static str, String, Option<f64>)> {
    let (r, v) = (&of.report, &of.report.volumes);
    let volume = |key, value: Option<f64>| (label(key), bytes(value), value);
    vec![
        ("time", time(r.seconds), Some(r.seconds.0)),
        ("interval", format!("{} – {}", time(r.interval.lo), time(r.interval.hi)), None),
        ("points/s", format!("{:.3e}", r.points_per_second), Some(r.points_per_second)),
        ("effective GB/s", format!("{:.1}", r.effective.bytes / 1e9), Some(r.effective.bytes / 1e9)),
        ("effective Gflop/s", format!("{:.1}", r.effective.flops / 1e9), Some(r.effective.flops / 1e9)),
        ("limiter", dash(r.limiter.map(|limiter| limiter.name())), None),
        (label("l1_cycles_per_point"), dash(r.l1_cycles_per_point.map(|cycles| format!("{cycles:.3}"))), r.l1_cycles_per_point),
        volume("l1_requested", v.l1_requested),
        volume("l2_load_compulsory", v.l2_load_compulsory),
        volume("l2_load", v.l2_load),
        volume("l2_store", v.l2_store),
        volume("dram_load_wave", v.dram_load_wave),
        volume("dram_load", v.dram_load),
        volume("dram_store", v.dram_store),
        (
            "blocks (warps) per core, limited by",
            format!("{} ({}), {}", r.occupancy.groups, r.occupancy.warps, resident(r.occupancy.limiter)),
            None,
        ),
        ("waves", format!("{:.2}", r.waves), Some(r.waves)),
        ("tail efficiency", format!("{:.3}", r.tail_efficiency), Some(r.tail_efficiency)),
    ]
}

/// Everything about one prediction.
pub fn tables(of: &Predicted) -> String {
    let r = &of.report;
    let mut text = format!(
        "{} ({}) on {}, block {:?}\n",
        clean(&of.input.written.kernel.name),
        clean(&of.input.name),
        clean(&of.device.name),
        lanes(of)
    );
    let mut section = |table: &Table| {
        let _ = writeln!(text, "{table}\n");
    };
    let mut head = table(&[Keep(""), Keep("predicted")]);
    for (name, value, _) in headline(of) {
        let tag = if r.measured.iter().any(|own| label(own.what) == name) { " (measured)" } else { "" };
        head.add_row([name.to_owned(), format!("{value}{tag}")]);
    }
    section(&head);

    if !r.measured.is_empty() {
        let mut sides = table(&[Keep(""), Keep("measured"), Keep("predicted"), Spare(1, "measured / predicted")]);
        for own in &r.measured {
            let number = |value: f64| if own.what == "seconds" { format!("{value:.4e}") } else { format!("{value:.3}") };
            let ratio = own.predicted.filter(|predicted| *predicted > 0.0).map(|predicted| format!("{:.3}", own.measured / predicted));
            sides.add_row([label(own.what).to_owned(), number(own.measured), dash(own.predicted.map(number)), dash(ratio)]);
        }
        section(&sides);
    }

    if let Some(witness) = &of.witness {
        section(&witness.table(&r.volumes));
    }

    let mut limits = table(&[Keep("limiter"), Keep("alone (predicted)"), Below("unknown because")]);
    for (limiter, alone) in &r.limits {
        let (known, reason) = match alone {
            Ok(seconds) => (time(*seconds), String::new()),
            Err(reason) => ("-".to_owned(), reason.to_string()),
        };
        limits.add_row([limiter.name().to_owned(), known, reason]);
    }
    section(&limits);

    let mut causes = table(&[Keep("cause"), Keep("B/point (predicted)")]);
    for (cause, value) in &r.volumes.by_cause {
        causes.add_row([cause.clone(), bytes(Some(*value))]);
    }
    section(&causes);

    let mut fields = table(&[
        Keep("field, B/point (predicted)"),
        Spare(1, "L1 requested"),
        Spare(2, "L2 compulsory"),
        Spare(3, "L2 store"),
        Keep("DRAM load"),
        Keep("DRAM store"),
    ]);
    for field in &r.volumes.per_field {
        let counted = [field.l1_requested, field.l2_load_compulsory, field.l2_store].map(Some);
        let numbers = counted.into_iter().chain([field.dram_load, field.dram_store]);
        fields.add_row(std::iter::once(field.field.clone()).chain(numbers.map(bytes)));
    }
    section(&fields);

    let mut instructions = table(&from_left(&["access", "field", "wavefronts per execution (predicted)", "executions (predicted)"]));
    for cost in r.instructions.iter().take(INSTRUCTIONS) {
        let cells = [
            cost.access.to_string(),
            cost.field.clone(),
            dash(cost.wavefronts.map(|each| format!("{each:.3}"))),
            cost.executions.to_string(),
        ];
        instructions.add_row(cells);
    }
    section(&instructions);
    if r.instructions.len() > INSTRUCTIONS {
        let _ = writeln!(text, "and {} accesses more: --json\n", r.instructions.len() - INSTRUCTIONS);
    }
    let _ = writeln!(text, "Interval: {}.", r.interval.basis);
    for note in r.provenance.iter().cloned().chain(of.witness.iter().flat_map(Witness::notes)) {
        let _ = writeln!(text, "- {}", clean(&note));
    }
    text
}

fn lanes<'a>(of: &'a Predicted) -> &'a [u32] {
    &of.input.written.kernel.launch.lanes
}

/// Devices after each other, the fastest first, those without an answer last with the reason.
pub fn ranking(all: &[(&Device, Answer)]) -> String {
    let mut sorted: Vec<&Predicted> = all.iter().filter_map(|(_, answer)| Some(&answer.as_ref().ok()?.0)).collect();
    sorted.sort_by(|a, b| a.report.seconds.0.total_cmp(&b.report.seconds.0));
    let mut ranking = table(&[Keep("device"), Keep("time (predicted)"), Spare(1, "points/s (predicted)"), Spare(2, "limiter (predicted)")]);
    for of in sorted {
        let limiter = dash(of.report.limiter.map(|limiter| limiter.name()));
        ranking.add_row([of.device.name.clone(), time(of.report.seconds), format!("{:.3e}", of.report.points_per_second), limiter]);
    }
    let mut text = format!("{ranking}\n");
    for failure in all.iter().filter_map(|(_, answer)| answer.as_ref().err()) {
        let _ = writeln!(text, "no answer: {failure}");
    }
    text
}

/// Two kernels on one device side by side.
pub fn comparison(first: &Predicted, second: &Predicted) -> String {
    let [left, right] = [first, second].map(|of| format!("{} (predicted)", of.input.written.kernel.name));
    let mut sides = table(&[Keep(""), Keep(&left), Keep(&right), Spare(1, "ratio (predicted)")]);
    for ((what, a, x), (_, b, y)) in headline(first).into_iter().zip(headline(second)) {
        // Nothing is no multiple of nothing.
        let ratio = x.zip(y).filter(|(x, _)| *x != 0.0).map(|(x, y)| format!("{:.3}", y / x));
        sides.add_row([what.to_owned(), a, b, dash(ratio)]);
    }
    for (limiter, alone) in &first.report.limits {
        let other = second.report.limits.iter().find(|(own, _)| own == limiter).and_then(|(_, alone)| alone.as_ref().ok());
        let alone = alone.as_ref().ok();
        let ratio = alone.zip(other).filter(|(x, _)| x.0 != 0.0).map(|(x, y)| format!("{:.3}", y.0 / x.0));
        let shown = |alone: Option<&Seconds>| dash(alone.map(|alone| time(*alone)));
        sides.add_row([format!("{} alone", limiter.name()), shown(alone), shown(other), dash(ratio)]);
    }
    format!("on {}\n{sides}\n", clean(&first.device.name))
}
