//! `warpsight shader calibrate`: a model fitted to a user's own device by a few measurements there.

use super::profile::crew::{Crew, Step};
use super::shaders::{self, Shaders};
use super::subject::{Subject, TraceArgs};
use super::targets::{self, SOFTWARE, Target};
use crate::explore::pool;
use crate::failure::{Failure, Kind};
use crate::progress;
use crate::report::Column::{Keep, Spare};
use crate::report::{out, table};
use serde_json::json;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use warpsight_ir::Seconds;
use warpsight_learn::calibration::{Head, HeadError, LEAST, choose};
use warpsight_learn::evaluate::CALIBRATION;
use warpsight_learn::measured::{Outcome, Shot, usual_reference};
use warpsight_learn::models::{INTERVAL, Row};
use warpsight_learn::predictor::Device;
use warpsight_shader::corpus::Entry;
use warpsight_shader::scene::Scene;

/// Measure some shaders on a Vulkan device and fit a model of another device to it; `shader predict --calibration` takes the result.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// What is measured: vulkan:N, or vulkan:gpu for the first device that is no CPU rasteriser.
    #[arg(long, value_name = "DEVICE", default_value = "vulkan:gpu")]
    device: String,
    /// Where the calibration is written.
    #[arg(long, value_name = "HEAD.json", required_unless_present = "licences")]
    out: Option<PathBuf>,
    /// What the device is called in predictions [default: as its driver calls it].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The model that is fitted to it [default: the one that ships for lavapipe].
    #[arg(long, value_name = "MODEL.json")]
    model: Option<PathBuf>,
    /// The shaders to choose from: a folder that `shader collect` wrote [default: the shaders that come with the program].
    #[arg(long, value_name = "FOLDER")]
    corpus: Option<PathBuf>,
    /// Say whose the shaders are that come with the program, and under which licences; nothing is measured.
    #[arg(long, conflicts_with_all = ["out", "corpus", "model", "name"])]
    licences: bool,
    /// How many are measured.
    #[arg(long, value_name = "N", default_value_t = CALIBRATION, value_parser = clap::value_parser!(u16).range(LEAST as i64..=1000))]
    count: u16,
    /// Seconds after which a shader counts as hanging; see `shader profile`.
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = crate::target::seconds(1))]
    timeout: u64,
    #[command(flatten)]
    trace: TraceArgs,
}

const EXAMPLES: &str = "Examples:
  A model of the first GPU that there is, by 20 shaders which come with the program:
    warpsight shader calibrate --out my-gpu.json
  A model of lavapipe, under another name:
    warpsight shader calibrate --device vulkan:0 --name laptop --out laptop.json";

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    let Some(file) = args.out.as_ref().filter(|_| !args.licences) else { return licences(json) };
    progress::catch_interrupt();
    let base = targets::base(args.model.as_deref())?;
    // What cannot be written is said before minutes of measuring.
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::metadata(folder).map_err(|e| Failure::io(folder, &e))?;
    // The device first: where there is none, nothing else needs to be done.
    let crew = Crew::open(&args.device, Duration::from_secs(args.timeout), None, Some(1))?;
    let shaders = Shaders::open(args.corpus.as_deref(), &[])?;
    let scene = args.trace.scene.scene(&BTreeMap::new());
    // One scene for all: a head does not look at it.
    let entries: Vec<&Entry> = shaders.entries.iter().filter(|e| e.resolution.is_none() && e.texture.is_none()).collect();
    let mut left_out = BTreeMap::new();
    let mut known: Vec<(&Entry, Row)> = Vec::new();
    let bar = progress::bar(entries.len(), "tracing");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = |at: u64| (!progress::interrupted()).then(|| seen(args, &shaders.folder, entries[at as usize], &scene, &base));
    pool::each(entries.len() as u64, threads, work, |at, seen| {
        let entry = entries[at as usize];
        bar.inc(1);
        match seen {
            Some(Ok(row)) => known.push((entry, row)),
            Some(Err(failure)) => drop(left_out.insert(entry.name.clone(), failure.to_string())),
            None => {}
        }
        Ok(())
    })?;
    bar.finish_and_clear();
    let rows: Vec<&Row> = known.iter().map(|(_, row)| row).collect();
    let chosen: Vec<&(&Entry, Row)> = choose(&base.predictor, &rows, args.count.into()).into_iter().map(|at| &known[at]).collect();
    let (bar, mut shots) = (progress::bar(chosen.len(), "shaders"), Vec::<Shot>::new());
    let wished: Vec<Entry> = chosen.iter().map(|(entry, _)| (*entry).clone()).collect();
    let mut gone = None;
    crew.measure(&shaders.folder, &wished, &args.trace.scene, &HashSet::new(), |step| {
        bar.inc(1);
        match step {
            Step::Shot(shot) => shots.push(*shot),
            Step::Gone(error) => gone = Some(error),
            Step::Known => {}
        }
        gone.is_none() && !progress::interrupted()
    });
    bar.finish_and_clear();
    if progress::interrupted() {
        return Err(Failure::new(Kind::Interrupted, "interrupted: no calibration was written"));
    }
    if let Some(error) = gone {
        return Err(Failure::from(error));
    }
    let reference = shots.first().and_then(|shot| usual_reference(&shots, &shot.device)).unwrap_or(Seconds(f64::NAN));
    let mut measured = Vec::new();
    for (entry, row) in chosen {
        let Some(shot) = shots.iter().find(|shot| shot.shader == entry.id) else { continue };
        match &shot.outcome {
            Outcome::Done(timed) => measured.push((entry.name.clone(), row.clone(), timed.seconds(reference))),
            other => drop(left_out.insert(entry.name.clone(), other.reason().unwrap_or(other.name()).to_owned())),
        }
    }
    let info = crew.info();
    let name = args.name.clone().unwrap_or_else(|| info.name.clone());
    let device = Device { name, description: format!("{}, {}", info.name, info.driver), software: info.is_cpu };
    let head = Head::fit(device, &base.predictor, &measured).map_err(|error| {
        let failure = Failure::input(error.to_string());
        match error {
            HeadError::Few { .. } => failure.help(reasons(&left_out)),
            _ => failure,
        }
    })?;
    warpsight_files::write(file, head.text().map_err(|e| Failure::input(e.to_string()))?.as_bytes())?;
    if json {
        let shots: Vec<_> = head.shots.iter().map(|s| json!({"name": s.name, "seconds": s.measured, "left_out": s.left_out})).collect();
        return out(json!({
            "source": "measured", "file": file, "device": head.device.name, "description": head.device.description,
            "note": head.device.software.then_some(SOFTWARE), "model_of": base.name, "error": head.error(), "spread": head.spread(),
            "coverage": INTERVAL, "shaders": shots, "failed": left_out,
        }));
    }
    let mut rows = table(&[Keep("shader"), Keep("measured"), Keep("predicted, left out"), Spare(1, "off by")]);
    for shot in &head.shots {
        let off = format!("{:+.1} %", 100.0 * (shot.left_out.0 / shot.measured.0 - 1.0));
        rows.add_row([shot.name.clone(), super::predict::show::time(shot.measured), super::predict::show::time(shot.left_out), off]);
    }
    let note = if head.device.software { format!("\nthis is {SOFTWARE}") } else { String::new() };
    out(format!(
        "{rows}\n\n{}: {} shaders measured on {}; each predicted from the others is off by {:.1} % on average, {:.0} % are within a factor of {:.2}{note}\n{}",
        file.display(),
        head.shots.len(),
        head.device.name,
        100.0 * head.error(),
        100.0 * INTERVAL,
        head.spread(),
        reasons(&left_out)
    ))
}

/// Whose the program's shaders are.
fn licences(json: bool) -> Result<(), Failure> {
    let text = shaders::licences();
    if json { out(json!({"licences": text})) } else { out(text) }
}

/// An entry's row.
fn seen(args: &Args, folder: &Path, entry: &Entry, scene: &Scene, base: &Target) -> Result<Row, Failure> {
    let path = folder.join("spv").join(&entry.id).with_extension("spv");
    let subject = Subject::read(&path, None)?.with_uniforms(&entry.uniforms);
    Ok(subject.see(&args.trace, scene, None, std::slice::from_ref(base))?.1)
}

/// What was not measured, and why.
fn reasons(left_out: &BTreeMap<String, String>) -> String {
    let all: Vec<String> = left_out.iter().map(|(name, why)| format!("not measured: {name}: {why}")).collect();
    all.join("\n")
}
