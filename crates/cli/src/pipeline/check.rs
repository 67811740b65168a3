//! Somebody else's plan for a persistent kernel: proved, or the circle of waits.

use super::input::{stated, text, wrong};
use super::json::cycle;
use crate::failure::{Failure, Kind};
use crate::predict::input::Device;
use crate::predict::show::time;
use crate::progress;
use crate::report::clean;
use serde_json::{Map, Value, json};
use std::path::Path;
use warpsight_dataflow::foreign;
use warpsight_dataflow::proof::{ASSUMPTIONS, Launch, Objection, Resources, prove};
use warpsight_graph::format::Malformed;
use warpsight_ir::occupancy::Residency;
use warpsight_ir::{Certificate, Pipeline};
use warpsight_sim::Silicon;
use warpsight_sim::pipeline::{Scheduler, simulate};

/// What is said of a plan on a device.
struct Checked<'a> {
    device: &'a Device,
    proof: Result<Certificate, Objection>,
    /// Where it was asked: seconds, or why there are none.
    simulated: Option<Result<f64, String>>,
}

/// Judges a plan on devices; a plan that is not proved on one of them ends with a failure of its own kind, behind what was found.
pub fn check(file: &Path, devices: &[Device], simulated: bool, json: bool) -> Result<(), Failure> {
    let (name, text) = (file.display().to_string(), text(file)?);
    let refused = |error: Malformed| {
        let at = error.place.and_then(|place| stated(&text, place));
        wrong(&name, &text, &format!("this is no persistent-plan/1: {error}"), at)
    };
    let plan = foreign::read(&text).map_err(refused)?;
    let bar = progress::bar(devices.len(), "proving");
    let all = devices.iter().map(|device| checked(&plan, &name, device, simulated).inspect(|_| bar.inc(1)));
    let all = all.collect::<Result<Vec<_>, _>>()?;
    bar.finish_and_clear();
    if json {
        let values: Map<String, Value> = all.iter().map(|own| (own.device.name.clone(), value(&plan, own))).collect();
        let single = if values.len() == 1 { values.values().next().cloned() } else { None };
        crate::report::out(single.unwrap_or(Value::Object(values)))?;
    } else {
        all.iter().try_for_each(|own| crate::report::out(said(&plan, own)))?;
    }
    let failed: Vec<&str> = all.iter().filter(|own| own.proof.is_err()).map(|own| own.device.name.as_str()).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(Kind::NothingVerified, format!("`{}` is not proved on {}", plan.name, failed.join(", "))).at(name)),
    }
}

fn checked<'a>(plan: &Pipeline, file: &str, device: &'a Device, simulated: bool) -> Result<Checked<'a>, Failure> {
    let cores = device.profile.execution.cores.need(&device.profile, "execution.cores");
    let cores = cores.map_err(|why| Failure::input(format!("{}: {why}", device.name)).at(file))?;
    let core = Residency::of(&device.profile);
    let proof = prove(plan, &Resources { core: &core, cores, launch: Launch::Cooperative });
    let run = || {
        let name = &device.profile.name;
        let (silicon, _) = Silicon::with_pipelines(name)?;
        simulate(plan, &silicon, Scheduler::Cooperative).map(|run| run.time.0).map_err(|fault| fault.to_string())
    };
    Ok(Checked { device, proof, simulated: simulated.then(run) })
}

fn value(plan: &Pipeline, own: &Checked) -> Value {
    let mut value = json!({
        "plan": plan.name,
        "device": own.device.name,
        "proof": {
            "proved": own.proof.is_ok(),
            "assumptions": ASSUMPTIONS,
            "cycle": own.proof.as_ref().err().map(cycle),
            "objection": own.proof.as_ref().err().map(ToString::to_string),
            "certificate": own.proof.as_ref().ok(),
        },
    });
    if let Some(run) = &own.simulated {
        value["simulated"] = json!({"kind": "simulated", "s": run.as_ref().ok(), "unknown": run.as_ref().err()});
    }
    value
}

fn said(plan: &Pipeline, own: &Checked) -> String {
    let (name, device) = (clean(&plan.name), clean(&own.device.name));
    let mut text = match &own.proof {
        Ok(certificate) => {
            let order: Vec<&str> = certificate.order.iter().map(|name| &**name).collect();
            let (needed, held) = certificate.resident;
            format!(
                "{name} on {device}: proved to end, {needed} work-groups of {held} that are resident; stages in order: {}\nassuming",
                clean(&order.join(", "))
            )
        }
        Err(Objection::Waits(waits)) => {
            let circle: Vec<String> = waits.iter().map(|wait| format!("\n  {}", clean(&wait.to_string()))).collect();
            format!("{name} on {device}: it can deadlock; work-groups wait for each other:{}\nassuming", circle.concat())
        }
        Err(why) => format!("{name} on {device}: not proved: {}\nassuming", clean(&why.to_string())),
    };
    for assumption in ASSUMPTIONS {
        text += &format!("\n- {assumption}");
    }
    match &own.simulated {
        None => text,
        Some(Ok(seconds)) => format!("{text}\n{} (simulated)", time(warpsight_ir::Seconds(*seconds))),
        Some(Err(why)) => format!("{text}\nnot simulated to its end: {why}"),
    }
}
