//! `warpsight import`: the files of a battery into the store.

use crate::failure::{Failure, Kind};
use crate::record::StoreArgs;
use crate::report::Column::{Keep, Spare};
use crate::report::{out, table};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use warpsight_ir::{Sample, Seconds, Status, SubjectKind, TimeSource, sample, text};
use warpsight_learn::{Filter, RunInfo, Store, StoreError, subject_hash};
use warpsight_probe::battery::{PhaseFile, recorded};
use warpsight_probe::{Cause, Outcome, Record};

/// Take what a battery measured into the store. What is there already is not added again.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// A folder that `warpsight battery` wrote, its archive (.tar.gz, as scripts/gpu-battery packs it), or one file of it.
    #[arg(value_name = "FOLDER|ARCHIVE|FILE")]
    from: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
}

const EXAMPLES: &str = "Examples:
  What a battery measured, into the store:
    warpsight import measured";

/// What became of a file's records.
#[derive(Default, serde::Serialize)]
struct Counts {
    file: String,
    added: usize,
    known: usize,
    /// Not tried: there is nothing to store.
    untried: usize,
}

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    let files = recorded(&args.from)?;
    let mut store = args.store.open_store()?;
    let (mut all, mut wrong) = (vec![], vec![]);
    for (path, read) in &files {
        match read {
            Ok(file) => match without_source(file) {
                Some(name) => wrong.push(format!("`{}`: the times of `{name}` do not say whether they were measured", path.display())),
                None => all.push(take_in(path, file, &mut store, &mut wrong)?),
            },
            Err(error) => wrong.push(error.to_string()),
        }
    }
    if json {
        out(json!({ "files": all, "errors": wrong }))?;
    } else if !all.is_empty() {
        let mut rows = table(&[Keep("file"), Keep("added"), Keep("known"), Spare(1, "not tried")]);
        for counts in &all {
            rows.add_row([counts.file.clone(), counts.added.to_string(), counts.known.to_string(), counts.untried.to_string()]);
        }
        out(rows)?;
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::new(Kind::Input, wrong.join("\n")).help("everything else was imported; importing again adds nothing twice"))
}

/// A record with times of which nobody knows whether they were measured.
fn without_source(file: &PhaseFile) -> Option<&str> {
    let unknown = |record: &&Record| !record.times_s.is_empty() && source(file, record).is_none();
    file.records.iter().find(unknown).map(|record| record.name.as_str())
}

/// Where a record's times come from: as it says, else as its device does.
fn source(file: &PhaseFile, record: &Record) -> Option<TimeSource> {
    record.source.or(file.device.clock)
}

/// Stores the records of a file; those whose times cannot be are named.
fn take_in(path: &Path, file: &PhaseFile, store: &mut Store, wrong: &mut Vec<String>) -> Result<Counts, Failure> {
    let mut counts = Counts { file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(), ..Counts::default() };
    let mut known = HashMap::<String, HashSet<String>>::new();
    let mut run = None;
    for record in &file.records {
        let Some(sample) = to_sample(file, record) else {
            counts.untried += 1;
            continue;
        };
        if let Some(bad) = impossible(record) {
            wrong.push(format!("`{}`: `{}`: {bad}", path.display(), record.name));
            continue;
        }
        if !known.contains_key(&sample.subject) {
            let stored = store.samples(Filter { subject: Some(&sample.subject), device: Some(&sample.device) })?;
            known.insert(sample.subject.clone(), stored.into_iter().map(|stored| stored.sample.config).collect());
        }
        // The configuration holds the moment of the measurement, so that one taken again is another.
        let new = known.get_mut(&sample.subject).is_none_or(|configs| configs.insert(sample.config.clone()));
        if !new {
            counts.known += 1;
            continue;
        }
        let run = match run {
            Some(run) => run,
            None => *run.insert(store.begin_run(&origin(file))?),
        };
        store.append(run, &sample, None, Some(&record.feedback)).map_err(|error| at_record(error, path, record))?;
        counts.added += 1;
    }
    Ok(counts)
}

/// What a record says that cannot be.
fn impossible(record: &Record) -> Option<String> {
    let timed = matches!(record.outcome, Outcome::Verified) && record.timing.is_some();
    if timed && record.times_s.is_empty() {
        return Some("it was timed, and has no times".to_owned());
    }
    if timed && record.launches == 0 {
        return Some("it was timed, and launched nothing".to_owned());
    }
    let times = record.times_s.iter().chain(&record.pass_times_s);
    let wrong = times.copied().find_map(|time| sample::time(time).err().map(|why| why.to_string()));
    let negative = |name: &str, number: f64| (number.is_nan() || number < 0.0).then(|| format!("`{name}` is {number}"));
    wrong
        .or_else(|| negative("empty_launch_s", record.empty_launch_s.unwrap_or(0.0)))
        .or_else(|| negative("quantum_s", record.quantum_s))
        .or_else(|| negative("amounts.bytes", record.amounts.bytes))
        .or_else(|| negative("amounts.operations", record.amounts.operations))
        .or_else(|| negative("amounts.steps", record.amounts.steps))
}

/// Who measured: the battery, not this command.
fn origin(file: &PhaseFile) -> RunInfo {
    RunInfo { host: file.host.cpu.clone(), argv: file.command.clone(), git: file.git.clone() }
}

fn at_record(error: StoreError, path: &Path, record: &Record) -> Failure {
    Failure::from(error).at(format!("{}: {}", path.display(), record.name))
}

/// A record as a sample; `None` where nothing was tried.
fn to_sample(file: &PhaseFile, record: &Record) -> Option<Sample> {
    let text = file.programs.get(&record.code)?;
    let status = match &record.outcome {
        Outcome::Verified => Status::Done,
        Outcome::Wrong { what } => Status::Wrong(what.clone()),
        Outcome::Failed { why, cause } => match cause {
            Cause::Build => Status::BuildFailed(why.clone()),
            // As where candidates are tried: results of a kernel that reaches beyond its memory are wrong.
            Cause::Fault => Status::Wrong(why.clone()),
            Cause::Lost => Status::DeviceLost(why.clone()),
            Cause::Refused | Cause::Waves => Status::Refused(why.clone()),
        },
        Outcome::Skipped { .. } => return None,
    };
    let config = json!({
        "phase": file.phase, "name": record.name, "params": record.params, "amounts": record.amounts, "sizes": record.sizes,
        "timing": record.timing, "launches": record.launches, "launch": record.launch, "clock": record.clock,
        "empty_launch_s": record.empty_launch_s, "scale": file.scale, "seed": file.seed, "unix_time": record.unix_time,
    });
    let clocks: Vec<f64> = record.clocks.iter().filter_map(|clock| clock.sm_mhz).map(|mhz| 1e6 * f64::from(mhz)).collect();
    Some(Sample {
        subject: subject_hash(text),
        kind: if text::parse(text).is_ok() { SubjectKind::Program } else { SubjectKind::Probe },
        text: text.clone(),
        config: config.to_string(),
        device: sample::Device { backend: file.device.backend.clone(), name: file.device.name.clone(), driver: file.device.driver.clone() },
        times: record.times_s.iter().map(|&time| Seconds(time)).collect(),
        quantum: Seconds(record.quantum_s),
        clock_hz: (!clocks.is_empty()).then(|| clocks.iter().sum::<f64>() / clocks.len() as f64),
        reference: None,
        // Where there are no times, the lesser claim.
        source: source(file, record).unwrap_or(TimeSource::Simulated),
        verified: status == Status::Done,
        status,
    })
}
