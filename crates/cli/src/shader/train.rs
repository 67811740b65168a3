//! `warpsight shader train`: a model of a device from what was measured on it.

use super::rows::RowsArgs;
use crate::failure::Failure;
use crate::optimize::write_atomically;
use crate::report::out;
use serde_json::json;
use std::path::PathBuf;
use warpsight_learn::shader::models::{Method, Row};
use warpsight_learn::shader::predictor::Predictor;

/// Fit a model to measured shaders and write it to a file that `shader predict --model` takes.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    rows: RowsArgs,
    /// The model.
    #[arg(long, value_name = "NAME", default_value_t = Method::DEFAULT)]
    model: Method,
    /// Where it is written.
    #[arg(long, value_name = "MODEL.json")]
    out: PathBuf,
}

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    let rows = args.rows.rows()?;
    let own: Vec<&Row> = rows.table.rows.iter().collect();
    let predictor = Predictor::fit(rows.table.device.clone(), args.model, &own)
        .map_err(|e| Failure::input(e.to_string()).help("see `shader profile`"))?;
    let refused = |e: &dyn std::fmt::Display| Failure::input(e.to_string());
    let text = predictor.text().map_err(|e| refused(&e))?;
    write_atomically(&args.out, text.as_bytes())?;
    let id = predictor.id().map_err(|e| refused(&e))?;
    let mutants = own.iter().filter(|row| row.mutant).count();
    if json {
        return out(json!({
            "file": args.out, "id": id, "bytes": text.len(), "model": args.model, "device": predictor.device,
            "shaders": own.len() - mutants, "mutants": mutants, "left_out": rows.left_out, "sources": predictor.trained,
        }));
    }
    let mut said = format!(
        "{}: {} for {}, of {} measured shaders and {mutants} mutants; {:.1} KiB, id {id}",
        args.out.display(),
        args.model,
        predictor.device.name,
        own.len() - mutants,
        text.len() as f64 / 1024.0
    );
    rows.left_out.iter().for_each(|(why, n)| said.push_str(&format!("\n{n} left out: {why}")));
    out(said)
}
