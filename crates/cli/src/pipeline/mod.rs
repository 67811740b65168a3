//! `warpsight pipeline`: from a graph of operators to a proven pipeline, its time and its traffic.

mod json;
mod options;
mod outcome;
mod simulate;
mod text;

pub use options::Args;

use crate::failure::Failure;
use crate::predict::input::{self, Device};
use crate::report::out;
use outcome::{Outcome, Question};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use warpsight_dataflow::{Graph, Modelled};
use warpsight_predict::StageRoofline;

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    let (mut names, mut files) = (args.device.clone(), args.files.clone());
    // `--device NAME… FILE`: the last one is the file.
    if files.is_empty() && names.len() > 1 {
        files.extend(names.pop().map(PathBuf::from));
    }
    if names.is_empty() || files.is_empty() {
        let what = if files.is_empty() { "no graph is given" } else { "no device is given" };
        return Err(Failure::input(what).help("warpsight pipeline GRAPH.json --device NAME"));
    }
    let devices = input::devices(&names, &args.overrides)?;
    let graphs = files.iter().map(|file| Ok((file.display().to_string(), read(file)?))).collect::<Result<Vec<_>, Failure>>()?;
    let mut outcomes = Vec::new();
    for (file, graph) in &graphs {
        for device in &devices {
            outcomes.push(planned(args, file, graph, device)?);
        }
    }
    if json {
        return out(value(&outcomes, graphs.len(), devices.len()));
    }
    outcomes.iter().try_for_each(|outcome| out(text::text(outcome)))
}

fn planned(args: &Args, file: &str, graph: &Graph, device: &Device) -> Result<Outcome, Failure> {
    let model = StageRoofline::new().map_err(|why| Failure::input(why.to_string()))?;
    let rates = Modelled { model: &model, on: &device.profile };
    let simulate = args.simulate.then_some(args.scheduler);
    Outcome::of(file, graph, device, &Question { policy: args.policy, rates: &rates, measured: &|_| false, simulate })
}

/// A graph from a file.
fn read(file: &Path) -> Result<Graph, Failure> {
    let bytes = std::fs::read(file).map_err(|error| Failure::io(file, &error))?;
    let name = file.display().to_string();
    let text = String::from_utf8(bytes).map_err(|_| Failure::input("this is not text (UTF-8)").at(&name))?;
    Graph::read(&text).map_err(|error| Failure::input(error.to_string()).at(&name))
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
