//! `warpsight shader train`: a model of a device from what was measured on it, and the card that says what it is worth.

use super::evaluate::{methods, percent, rank};
use super::network;
use super::rows::{Rows, RowsArgs};
use super::targets::SOFTWARE;
use crate::failure::Failure;
use crate::progress;
use crate::report::{dash, out};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};
use warpsight_learn::evaluate::{APART, Judged, SOURCE, Scores, Way, judge};
use warpsight_learn::models::{Method, Row};
use warpsight_learn::predictor::Predictor;
use warpsight_probe::battery::rfc3339;

/// Fit a model to measured shaders and write it to a file that `shader predict --model` takes.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    rows: RowsArgs,
    /// The model.
    #[arg(long, value_name = "NAME", default_value_t = Method::DEFAULT, value_parser = methods())]
    model: Method,
    /// Where it is written.
    #[arg(long, value_name = "MODEL.json")]
    out: PathBuf,
    /// Also judge the model on shaders that it did not see, and write what is to be known of it to this file.
    #[arg(long, value_name = "FILE.md")]
    card: Option<PathBuf>,
    #[command(flatten)]
    network: network::NetworkArgs,
    #[command(flatten)]
    curve: network::CurveArgs,
}

const EXAMPLES: &str = "Examples:
  A model from a corpus and what was measured of it:
    warpsight shader train --corpus corpus --shots shots.csv --out model.json --card model.md";

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    args.curve.check(args.model)?;
    let rows = args.rows.rows(&args.network.dialects(&[args.model])?)?;
    let bar = progress::bar(1, "trained");
    let trainer = args.network.trainer(false, &bar)?;
    let own: Vec<&Row> = rows.table.rows.iter().collect();
    let refused = |e: &dyn std::fmt::Display| Failure::input(e.to_string());
    let predictor = Predictor::fit(rows.table.device.clone(), &*trainer.fit(args.model), &own).map_err(|e| trainer.failure(e))?;
    let text = predictor.text().map_err(|e| refused(&e))?;
    let id = predictor.id().map_err(|e| refused(&e))?;
    if let Some(to) = &args.card {
        let ways = Way::ALL.map(|(_, way)| way);
        let judging = args.network.trainer(true, &bar)?;
        let judged = [args.model, Method::Nnls, Method::Sh].map(|method| judge(&*judging.fit(method), &own, &ways));
        let judged = judged.into_iter().collect::<Result<Vec<_>, _>>().map_err(|e| judging.failure(e))?;
        let judged: Vec<Judged> = judged.into_iter().flatten().collect();
        warpsight_files::write(to, card(&rows, &predictor, &id, &judged).as_bytes())?;
    }
    warpsight_files::write(&args.out, text.as_bytes())?;
    let (how, words) = args.curve.told(&predictor, &own)?;
    bar.finish_and_clear();
    let mutants = own.iter().filter(|row| row.mutant).count();
    if json {
        return out(json!({
            "file": args.out, "id": id, "bytes": text.len(), "model": args.model, "device": predictor.device,
            "shaders": own.len() - mutants, "mutants": mutants, "left_out": rows.left_out, "sources": predictor.trained, "network": how,
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
    said.push_str(&words);
    rows.left_out.iter().for_each(|(why, n)| said.push_str(&format!("\n{n} left out: {why}")));
    out(said)
}

/// What is to be known of a model: where it comes from and how far it is off.
fn card(rows: &Rows, predictor: &Predictor, id: &str, judged: &[Judged]) -> String {
    let device = &predictor.device;
    let all = &rows.table.rows;
    let mutants = all.iter().filter(|row| row.mutant).count();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    // Where other folders lie is nobody's business.
    let shown = |a: String| if a.starts_with('/') { a.rsplit('/').next().unwrap_or("").to_owned() } else { a };
    let command: Vec<String> = ["warpsight".to_owned()].into_iter().chain(std::env::args().skip(1).map(shown)).collect();
    let command = command.join(" ");
    let mut text = format!("# Model of {}\n\n", device.name);
    let mut put = |line: String| text.push_str(&(line + "\n"));
    put(format!("Predicts the seconds of a frame of a fragment shader on `{}`.", device.description));
    if device.software {
        put(format!("\nThis is {SOFTWARE}."));
    }
    let frames: BTreeMap<u64, usize> = all.iter().fold(BTreeMap::new(), |mut frames, row| {
        *frames.entry(row.pixels as u64).or_default() += 1;
        frames
    });
    let frames: Vec<String> = frames.into_iter().map(|(pixels, n)| format!("{pixels} pixels ({n})")).collect();
    put(format!("\n- id {id}, made {} by `{command}`", rfc3339(now)));
    put(format!(
        "- {} measured shaders, {mutants} mutants of them to learn from; {} of all loop",
        all.len() - mutants,
        all.iter().filter(|row| row.loops).count()
    ));
    put(format!("- frames of {}; textures are noise, uniforms the source's or named defaults", frames.join(", ")));
    put("- times are measured, counts of blocks simulated by the interpreter on 64 quads of the frame, what the model says is predicted"
        .to_owned());
    for (why, n) in &rows.left_out {
        put(format!("- {n} left out: {why}"));
    }
    put("\n## Sources\n\n| source | licence | shaders | mutants |\n|---|---|---|---|".to_owned());
    let mut sources: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    all.iter().for_each(|row| sources.entry(&row.source).or_default()[usize::from(row.mutant)] += 1);
    for (source, [own, mutants]) in sources {
        put(format!("| {source} | {} | {own} | {mutants} |", dash(rows.table.licences.get(source))));
    }
    put(format!(
        "\n## Errors on shaders that were held out\n\nIn percent, with Spearman's rank correlation. By group: near-duplicates in five parts. By source: mean over \
         sources of at least {SOURCE} shaders without {APART}*, each predicted by all others. No trace: as if every block ran once a pixel.\n"
    ));
    put("| model | by group: MAPE | median | ρ | by source: MAPE | ρ | looping: MAPE | no trace: MAPE | 80 % intervals hold | by source |"
        .to_owned());
    put("|---|---|---|---|---|---|---|---|---|---|".to_owned());
    for own in judged {
        let mape = |s: Option<&Scores>| dash(s.map(|s| percent(s.mape)));
        put(format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            own.model,
            mape(own.group.as_ref()),
            dash(own.group.map(|s| percent(s.median_ape))),
            rank(own.group.and_then(|s| s.spearman)),
            mape(own.macro_average.as_ref()),
            rank(own.macro_average.as_ref().and_then(|s| s.spearman)),
            mape(own.looping.as_ref()),
            mape(own.untraced.as_ref()),
            dash(own.coverage.map(percent)),
            dash(own.source_coverage.map(percent)),
        ));
    }
    if let Some(own) = judged.first() {
        put(format!("\n{}, each source by all others:\n\n| source | shaders | MAPE | median | ρ |\n|---|---|---|---|---|", own.model));
        for (source, s) in &own.sources {
            put(format!("| {source} | {} | {} | {} | {} |", s.shaders, percent(s.mape), percent(s.median_ape), rank(s.spearman)));
        }
    }
    text
}
