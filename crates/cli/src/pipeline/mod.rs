//! `warpsight pipeline`: from a graph of operators to a proven pipeline, its time and its traffic.

mod check;
mod derived;
mod input;
mod json;
mod options;
mod outcome;
mod report;
mod samples;
mod simulate;
mod text;
mod trace;

pub use options::Args;

use crate::failure::Failure;
use crate::network::Given;
use crate::predict::input::{Device, devices};
use crate::progress;
use crate::report::{clean, out};
use indicatif::ProgressBar;
use input::Input;
use outcome::Outcome;
use report::{Figures, Paper};
use samples::Sampled;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use warpsight_dataflow::{Measured, Modelled, Question};
use warpsight_files::Output;
use warpsight_ir::StageWork;
use warpsight_predict::StageRoofline;

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    let (mut names, mut files) = (args.device.clone(), args.files.clone());
    if let Some(plan) = &args.check {
        let devices = devices(&names, &args.overrides)?;
        check::check(plan, &devices, args.simulate, json)?;
        devices.iter().for_each(Device::say);
        return Ok(());
    }
    // `--device NAME… FILE`: the last one is the file.
    if files.is_empty() && names.len() > 1 {
        files.extend(names.pop().map(PathBuf::from));
    }
    if files.is_empty() {
        return Err(Failure::input("no graph is given").help("warpsight pipeline GRAPH.json --device NAME"));
    }
    // Once each, as devices are.
    let mut seen = BTreeSet::new();
    files.retain(|file| seen.insert(file.clone()));
    let devices = devices(&names, &args.overrides)?;
    if args.trace.is_some() && (files.len(), devices.len()) != (1, 1) {
        return Err(Failure::input("a trace is of one graph on one device").at("--trace"));
    }
    let models = files.iter().any(|file| Input::is_model(file));
    if !args.input_shape.is_empty() && !models {
        return Err(Failure::input("only models (.onnx) leave shapes open").at("--input-shape"));
    }
    if !args.input_value.is_empty() && !models {
        return Err(Failure::input("only models (.onnx) have inputs that may be constants").at("--input-value"));
    }
    if args.elements.is_some() && !models {
        return Err(Failure::input("a graph in JSON states the bytes of its elements, only models (.onnx) do not").at("--elements"));
    }
    let element = args.elements.unwrap_or(4);
    let given = Given { shapes: &args.input_shape, values: &args.input_value };
    let inputs = files.iter().map(|file| Input::read(file, given, element)).collect::<Result<Vec<_>, Failure>>()?;
    // What cannot be read or written is said before anything is planned.
    let paper = args.compare.as_deref().map(Paper::read).transpose()?;
    let page = args.html.as_deref().map(Output::create).transpose()?;
    let bar = progress::bar(inputs.len() * devices.len(), "planning");
    let mut outcomes = Vec::new();
    for input in &inputs {
        for device in &devices {
            outcomes.push(planned(args, input, device, &bar)?);
        }
    }
    if let (Some(file), [outcome]) = (&args.trace, outcomes.as_slice()) {
        write_trace(file, outcome)?;
    }
    let asked = args.html.is_some() || args.compare.is_some();
    let figures = asked.then(|| figures(args, &inputs, &devices, &outcomes, paper.as_ref(), &bar)).transpose()?;
    bar.finish_and_clear();
    if let (Some(mut page), Some(figures)) = (page, &figures) {
        page.write(figures.html()?.as_bytes())?;
        page.finish()?;
    }
    devices.iter().for_each(Device::say);
    if json {
        let mut all = value(&outcomes, inputs.len(), devices.len());
        if let Some(figures) = figures {
            all["figures"] = serde_json::to_value(&figures).map_err(|error| Failure::input(error.to_string()))?;
        }
        return out(all);
    }
    outcomes.iter().try_for_each(|outcome| out(text::text(outcome)))?;
    figures.map_or(Ok(()), |figures| figures.text().map_or(Ok(()), out))
}

/// What the report shows; devices with more of something are planned for.
fn figures(
    args: &Args,
    inputs: &[Input],
    devices: &[Device],
    outcomes: &[Outcome],
    paper: Option<&Paper>,
    bar: &ProgressBar,
) -> Result<Figures, Failure> {
    let mut changed = Vec::new();
    let changes = devices.iter().map(|device| report::changes(device).len()).sum::<usize>();
    bar.inc_length((inputs.len() * changes) as u64);
    for (at, input) in inputs.iter().enumerate() {
        for (on, device) in devices.iter().enumerate() {
            for (change, device) in report::changes(device) {
                changed.push((at * devices.len() + on, change, planned(args, input, &device, bar)?));
            }
        }
    }
    Figures::of(outcomes, &changed, paper)
}

fn planned(args: &Args, input: &Input, device: &Device, bar: &ProgressBar) -> Result<Outcome, Failure> {
    bar.set_message(format!("{} on {}", clean(&input.file), clean(&device.name)));
    let model = StageRoofline::new().map_err(|why| Failure::input(why.to_string()))?;
    let modelled = Modelled { model: &model, on: &device.profile };
    let sampled = args.samples.as_deref().map(|file| Sampled::read(file, &device.profile)).transpose()?.unwrap_or_default();
    let source = |stage: &StageWork| sampled.source(stage);
    let rates = Measured { table: sampled.table.clone(), model: modelled };
    let simulate = args.simulate.then_some(args.scheduler);
    let ask = Question { policy: args.policy, rates: &rates, source: &source, model: &model, profile: &device.profile };
    let outcome = Outcome::of(input, device, &ask, simulate)?;
    bar.inc(1);
    Ok(outcome)
}

/// The simulated execution.
fn write_trace(file: &Path, outcome: &Outcome) -> Result<(), Failure> {
    let refused = |why: &str| Failure::input(format!("there is no trace: {why}")).at("--trace");
    let simulated = match &outcome.simulated {
        Some(simulated) => simulated.as_ref().map_err(|why| refused(why))?,
        None => return Err(refused("nothing was simulated")),
    };
    let trace = trace::trace(outcome, simulated).map_err(|why| refused(&why))?;
    Ok(warpsight_files::write(file, trace.to_string().as_bytes())?)
}

/// One graph on one device speaks for itself; several go by their files, several devices by their names.
fn value(outcomes: &[Outcome], graphs: usize, devices: usize) -> Value {
    let of_graph = |own: &[Outcome]| match own {
        [one] if devices == 1 => json::value(one),
        all => Value::Object(all.iter().map(|outcome| (outcome.device.clone(), json::value(outcome))).collect()),
    };
    let all: Map<String, Value> = outcomes.chunks(devices).map(|own| (own[0].file.clone(), of_graph(own))).collect();
    let single = if graphs == 1 { all.values().next().cloned() } else { None };
    single.unwrap_or(Value::Object(all))
}
