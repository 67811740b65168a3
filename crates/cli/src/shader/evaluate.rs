//! `warpsight shader evaluate`: how well models predict shaders that they were not fitted on.

mod page;
mod show;
mod trained;

pub use show::{percent, rank};

use super::network;
use super::rows::RowsArgs;
use super::targets::SOFTWARE;
use crate::failure::Failure;
use crate::optimize::write_atomically;
use crate::progress;
use crate::report::out;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use warpsight_learn::shader::evaluate::{Judged, Transfer, Way, judge, transfer};
use warpsight_learn::shader::models::table::Table;
use warpsight_learn::shader::models::{Method, Row};

/// Compare models on shaders that they were not fitted on: near-duplicates held out together, whole sources held out, with and without a
/// trace.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    rows: RowsArgs,
    /// Models, after commas [default: all that rows are enough for].
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    model: Vec<Method>,
    /// How shaders are held out, after commas: by groups of near-duplicates, the same without a trace, by source [default: all].
    #[arg(long, value_name = "group|trace|source", value_delimiter = ',')]
    only: Vec<Way>,
    /// Rows of another device: how well its times and models tell this one's.
    #[arg(long, value_name = "FILE.jsonl")]
    transfer: Option<PathBuf>,
    /// Instead of fitting any: ask a model that `shader train` wrote, or the one that ships, about all of the shaders, mutants too.
    #[arg(long, value_name = "MODEL.json", num_args = 0..=1, conflicts_with_all = ["model", "only", "transfer", "html"])]
    trained: Option<Option<PathBuf>>,
    /// Also write a page with heat maps and all tables to this file.
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    #[command(flatten)]
    network: network::NetworkArgs,
}

/// All that there is to tell.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// Times are measured; what models say is predicted.
    source: &'static str,
    device: warpsight_learn::shader::predictor::Device,
    /// Said of devices that are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
    /// Shaders that are scored, and mutants of them that are learned from.
    shaders: usize,
    mutants: usize,
    left_out: BTreeMap<String, usize>,
    /// The strongest of others' models first, then ours from the best, then the rest.
    models: Vec<Judged>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transfer: Option<(String, Transfer)>,
}

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    if let Some(model) = &args.trained {
        return trained::run(model.as_deref(), &args.rows.rows(&[].into())?, json);
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
    let other = args.transfer.as_ref().map(|path| -> Result<_, Failure> {
        let text = std::fs::read_to_string(path).map_err(|e| Failure::io(path, &e))?;
        let there = Table::read(&text).map_err(|e| refused(&e).at(path.display().to_string()))?;
        let method = models.iter().find(|m| !m.peer).map_or(Method::DEFAULT, |m| m.model);
        let there_rows: Vec<&Row> = there.rows.iter().collect();
        let found = transfer(&*trainer.fit(method), &there_rows, &rows).map_err(|e| trainer.failure(e))?;
        let none = || Failure::input("the two tables share no shader").at(path.display().to_string());
        Ok((there.device.name, found.ok_or_else(none)?))
    });
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
        transfer: other.transpose()?,
    };
    if let Some(to) = &args.html {
        write_atomically(to, page::page(&outcome)?.as_bytes())?;
    }
    if json { out(serde_json::to_string(&outcome).map_err(|e| refused(&e))?) } else { out(show::text(&outcome)) }
}
