//! `--model paper002`: what the model of paper 002 as published says, in the keys of our own where they mean the same.

use super::Args;
use super::input::{Device, Input};
use super::show::{bytes, label, time};
use crate::failure::Failure;
use crate::report::Column::{Keep, Spare};
use crate::report::{clean, dash, out, table};
use serde_json::{Map, Value, json};
use std::fmt::Write;
use warpsight_ir::Seconds;
use warpsight_predict::paper002::{Baseline, baseline, is_theirs};

/// What there is to say of a device.
type Answer = Result<Baseline, Failure>;

/// Names what was asked for and changes nothing here.
pub fn refuse(args: &Args, devices: &[Device]) -> Result<(), Failure> {
    let refused = |what: String| Err(Failure::input(what).at("--model").help("--model counts, which is what is taken without --model"));
    let given = [
        ("--volumes", args.volumes.is_some()),
        ("--in-order", args.in_order),
        ("--between", args.between > 0),
        ("--pass", args.pass.is_some()),
        ("--html", args.html.is_some()),
        ("--diff", args.diff.is_some()),
        ("--witness", args.witness),
    ];
    if let Some((name, _)) = given.into_iter().find(|own| own.1) {
        return refused(format!("{name} changes nothing in the model of paper 002"));
    }
    match devices.iter().find(|device| !args.overrides.is_empty() && is_theirs(&device.profile.name)) {
        Some(device) => refused(format!("--override changes nothing: the model of paper 002 has numbers of its own for {}", device.name)),
        None => Ok(()),
    }
}

/// All devices after each other.
pub fn run(input: &Input, devices: &[Device], as_json: bool) -> Result<(), Failure> {
    let of = |device: &Device| -> Answer {
        let mut found = baseline(&input.written, &device.profile).map_err(|error| input.refused(&error, device))?;
        if input.written.registers_guessed {
            found.provenance.push(super::REGISTERS_GUESSED.to_owned());
        }
        found.provenance.extend(device.notes.iter().cloned());
        Ok(found)
    };
    let all: Vec<(&Device, Answer)> = devices.iter().map(|device| (device, of(device))).collect();
    if all.iter().all(|(_, answer)| answer.is_err()) {
        return Err(super::none(all.into_iter().filter_map(|(_, answer)| answer.err()).collect()));
    }
    devices.iter().for_each(Device::say);
    if as_json {
        let values = all.iter().map(|(device, answer)| (device.name.clone(), answer.as_ref().map_or_else(Failure::json, value)));
        return out(super::by_device(values.collect()));
    }
    if all.len() > 1 {
        out(ranking(&all))?;
    }
    for (device, found) in all.iter().filter_map(|(device, answer)| Some((device, answer.as_ref().ok()?))) {
        out(tables(input, device, found))?;
    }
    Ok(())
}

/// Seconds that each limiter takes alone.
fn alone(of: &Baseline) -> impl Iterator<Item = (&'static str, Seconds)> {
    let points = of.points_per_second * of.seconds.0;
    of.limits.iter().map(move |(limiter, rate)| (limiter.name(), Seconds(points / rate)))
}

/// Bytes per point by what causes them.
fn by_cause(of: &Baseline) -> [(&'static str, f64); 5] {
    let (first, [_, warm, partial, all]) = (&of.first_level, of.behind.loads);
    [
        ("l2_load: compulsory", first.compulsory),
        ("l2_load: capacity", first.load - first.compulsory),
        ("dram_load: of a wave, less what earlier blocks left", warm),
        ("dram_load: read back for stores", partial - warm),
        ("dram_load: evicted within a wave", all - partial),
    ]
}

/// The keys of [`super::json::value`]; what the model does not have is `null`.
fn value(of: &Baseline) -> Value {
    let (first, behind) = (&of.first_level, &of.behind);
    let limits: Map<String, Value> = alone(of).map(|(name, seconds)| (name.to_owned(), json!(seconds.0))).collect();
    let causes: Map<String, Value> = by_cause(of).into_iter().map(|(cause, bytes)| (cause.to_owned(), json!(bytes))).collect();
    json!({
        "seconds": of.seconds.0,
        "points_per_second": of.points_per_second,
        "effective": {"bytes_per_second": null, "flops_per_second": of.flops_per_second},
        "interval": null,
        "limiter": of.limiter.name(),
        "limits_s": limits,
        "l1_cycles_per_point": first.cycles,
        "volumes": {
            "l1_requested": first.requested,
            "l2_load_compulsory": first.compulsory,
            "l2_load": first.load,
            "l2_store": first.store,
            "dram_load_wave": behind.loads[0],
            "dram_load": behind.loads[3],
            "dram_store": behind.stores[1],
            "by_cause": causes,
            "per_field": null,
        },
        "instructions": null,
        "occupancy": {"blocks": of.blocks, "warps": of.warps, "limited_by": of.limited_by},
        "waves": of.waves,
        "tail_efficiency": null,
        "provenance": of.provenance,
    })
}

fn tables(input: &Input, device: &Device, of: &Baseline) -> String {
    let (first, behind) = (&of.first_level, &of.behind);
    let kernel = &input.written.kernel;
    let mut text = format!(
        "{} ({}) on {}, block {:?}, by the model of paper 002 as published\n",
        clean(&kernel.name),
        clean(&input.name),
        clean(&device.name),
        kernel.launch.lanes
    );
    let mut head = table(&[Keep(""), Keep("predicted (paper 002)")]);
    let volume = |key, each: f64| (label(key), bytes(Some(each)));
    let rows = [
        ("time", time(of.seconds)),
        ("points/s", format!("{:.3e}", of.points_per_second)),
        ("effective Gflop/s", format!("{:.1}", of.flops_per_second / 1e9)),
        ("limiter", of.limiter.name().to_owned()),
        (label("l1_cycles_per_point"), format!("{:.3}", first.cycles)),
        volume("l1_requested", first.requested),
        volume("l2_load_compulsory", first.compulsory),
        volume("l2_load", first.load),
        volume("l2_store", first.store),
        volume("dram_load_wave", behind.loads[0]),
        volume("dram_load", behind.loads[3]),
        volume("dram_store", behind.stores[1]),
        ("blocks (warps) per core", format!("{} ({})", of.blocks, of.warps)),
        ("waves", format!("{:.2}", of.waves)),
    ];
    rows.into_iter().for_each(|(name, value)| {
        head.add_row([name.to_owned(), value]);
    });
    let mut limits = table(&[Keep("limiter"), Keep("alone (paper 002)")]);
    alone(of).for_each(|(name, seconds)| {
        limits.add_row([name.to_owned(), time(seconds)]);
    });
    let mut causes = table(&[Keep("cause"), Keep("B/point (paper 002)")]);
    by_cause(of).into_iter().for_each(|(cause, each)| {
        causes.add_row([cause.to_owned(), bytes(Some(each))]);
    });
    let _ = writeln!(text, "{head}\n\n{limits}\n\n{causes}\n");
    for note in &of.provenance {
        let _ = writeln!(text, "- {}", clean(note));
    }
    text
}

/// The fastest first, those without an answer last with the reason.
fn ranking(all: &[(&Device, Answer)]) -> String {
    let mut sorted: Vec<(&Device, &Baseline)> = all.iter().filter_map(|(device, answer)| Some((*device, answer.as_ref().ok()?))).collect();
    sorted.sort_by(|a, b| a.1.seconds.0.total_cmp(&b.1.seconds.0));
    let mut ranking = table(&[Keep("device"), Keep("time (paper 002)"), Spare(1, "points/s (paper 002)"), Spare(2, "limiter (paper 002)")]);
    for (device, of) in sorted {
        ranking.add_row([device.name.clone(), time(of.seconds), format!("{:.3e}", of.points_per_second), dash(Some(of.limiter.name()))]);
    }
    let mut text = format!("{ranking}\n");
    for failure in all.iter().filter_map(|(_, answer)| answer.as_ref().err()) {
        let _ = writeln!(text, "no answer: {failure}");
    }
    text
}
