//! `warpsight shader evaluate`: how well models predict shaders that they were not fitted on.

mod page;
mod show;
mod trained;

pub use show::{percent, rank};

use super::network;
use super::rows::RowsArgs;
use super::targets::{self, SOFTWARE};
use crate::failure::Failure;
use crate::names::{Named, listed, named};
use crate::progress;
use crate::report::out;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use warpsight_learn::evaluate::{Judged, Platform, Transfer, Way, judge, transfers};
use warpsight_learn::models::table::Table;
use warpsight_learn::models::{Method, Row};
use warpsight_learn::predictor::Device;

/// What `--model` takes where models are fitted.
pub(super) fn methods() -> Named<Method> {
    listed(Method::ALL.iter().map(|method| method.name()).collect(), str::parse)
}

/// Compare models on shaders that they were not fitted on: near-duplicates held out together, whole sources held out, with and without a
/// trace.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    rows: RowsArgs,
    /// Models, after commas [default: all that rows are enough for].
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = methods())]
    model: Vec<Method>,
    /// How shaders are held out, after commas: by groups of near-duplicates, the same without a trace, by source [default: all].
    #[arg(long, value_name = "WAY", value_delimiter = ',', value_parser = named(Way::ALL))]
    only: Vec<Way>,
    /// Rows of another device: how well models of each device predict the others. May be repeated.
    #[arg(long, value_name = "FILE.jsonl")]
    transfer: Vec<PathBuf>,
    /// Instead of fitting any: ask a model that `shader train` wrote, or the one that ships, about all of the shaders, mutants too.
    #[arg(long, value_name = "MODEL.json", num_args = 0..=1, conflicts_with_all = ["model", "only", "transfer", "html"])]
    trained: Option<Option<PathBuf>>,
    /// Also write a page with heat maps and all tables to this file.
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    #[command(flatten)]
    network: network::NetworkArgs,
}

const EXAMPLES: &str = "Examples:
  Models side by side on shaders that they did not see:
    warpsight shader evaluate --corpus corpus --shots shots.csv --html models.html
  How well the built-in model does on your measurements:
    warpsight shader evaluate --corpus corpus --shots shots.csv --trained";

/// All that there is to tell.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// Times are measured; what models say is predicted.
    source: &'static str,
    device: Device,
    /// Said of devices that are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
    /// Shaders that are scored, and mutants of them that are learned from.
    shaders: usize,
    mutants: usize,
    left_out: BTreeMap<String, usize>,
    /// The strongest of others' models first, then ours from the best, then the rest.
    models: Vec<Judged>,
    /// Models of one device asked about another, by the best of ours.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    transfer: Vec<Transfer>,
}

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    if let Some(model) = &args.trained {
        let target = targets::base(model.as_deref())?;
        let words = target.predictor.model.model().dialect().into_iter().collect();
        return trained::run(&target, &args.rows.rows(&words)?, json);
    }
    let quick = || Method::ALL.iter().copied().filter(|method| method.dialect().is_none());
    let methods: Vec<Method> = if args.model.is_empty() { quick().collect() } else { args.model.clone() };
    let ways = if args.only.is_empty() { Way::ALL.map(|(_, way)| way).to_vec() } else { args.only.clone() };
    let made = args.rows.rows(&args.network.dialects(&methods)?)?;
    let rows: Vec<&Row> = made.table.rows.iter().collect();
    let bar = progress::bar(methods.len(), "judged");
    let trainer = args.network.trainer(true, &bar)?;
    let mut models = Vec::new();
    let refused = |e: &dyn std::fmt::Display| Failure::input(e.to_string());
    for method in methods {
        bar.set_message(method.name());
        models.extend(judge(&*trainer.fit(method), &rows, &ways).map_err(|e| trainer.failure(e))?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    if models.is_empty() {
        return Err(Failure::input("none of the shaders can be scored: all are mutants, or not measured"));
    }
    models.sort_by(|a, b| a.error().total_cmp(&b.error()));
    if let Some(strongest) = models.iter().position(|m| m.peer) {
        models[..=strongest].rotate_right(1);
    }
    // Networks are trained on one device.
    let method = models.iter().find(|m| !m.peer && m.model.dialect().is_none()).map_or(Method::DEFAULT, |m| m.model);
    let transfer = across(method, &made.table, &args.transfer)?;
    let mutants = rows.iter().filter(|row| row.mutant).count();
    let device = made.table.device.clone();
    let outcome = Outcome {
        source: "predicted, compared with measured",
        note: device.software.then_some(SOFTWARE),
        device,
        shaders: rows.len() - mutants,
        mutants,
        left_out: made.left_out,
        models,
        transfer,
    };
    if let Some(to) = &args.html {
        warpsight_files::write(to, page::page(&outcome)?.as_bytes())?;
    }
    if json { out(serde_json::to_value(&outcome).map_err(|e| refused(&e))?) } else { out(show::text(&outcome)) }
}

/// Models of this device and of others, each asked about all of them.
fn across(method: Method, here: &Table, others: &[PathBuf]) -> Result<Vec<Transfer>, Failure> {
    if others.is_empty() {
        return Ok(Vec::new());
    }
    let read = |path: &PathBuf| -> Result<Table, Failure> {
        let text = warpsight_files::read_text(path, warpsight_files::RECORDS)?;
        let table = Table::read(&text).map_err(|e| Failure::input(e.to_string()).at(path.display().to_string()))?;
        let ids: HashSet<&str> = here.rows.iter().map(|row| row.id.as_str()).collect();
        match table.rows.iter().any(|row| ids.contains(row.id.as_str())) {
            true => Ok(table),
            false => Err(Failure::input("the two tables share no shader").at(path.display().to_string())),
        }
    };
    let tables = others.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let rows: Vec<(&Device, Vec<&Row>)> =
        std::iter::once(here).chain(&tables).map(|table| (&table.device, table.rows.iter().collect())).collect();
    let platforms: Vec<Platform> = rows.iter().map(|(device, rows)| Platform { device, rows }).collect();
    transfers(method, &platforms).map_err(|e| Failure::input(e.to_string()))
}
