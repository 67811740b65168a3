//! What the verbs share that measure a device into a folder: `battery` and `probe`.

use super::prepare;
use crate::failure::{Failure, Kind};
use crate::progress;
use crate::report::Column::{Below, Keep, Spare};
use crate::report::{Json, Table, note, out, table};
use std::path::{Path, PathBuf};
use std::time::Duration;
use warpsight_probe::battery::{BatteryError, Event, Host, Origin, Summary};
use warpsight_probe::{Outcome, Record, Scale};
use warpsight_run::DeviceInfo;
use warpsight_run::cuda::Toolkit;

/// How a device is driven and its measurements are kept.
#[derive(clap::Args)]
pub struct MeasureArgs {
    /// Seed of all random inputs [default: that of kernels prepared in --cache, or a fresh one].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Measure once more what the folder already holds; the old files are kept under other names.
    #[arg(long)]
    pub again: bool,
    /// Where compiled kernels are kept [default: below $XDG_CACHE_HOME].
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Seconds after which a job that does not end is stopped.
    #[arg(long, default_value_t = 60, value_name = "S", value_parser = crate::target::seconds(1))]
    pub timeout: u64,
    /// Run the driver inside this process (a crash or hang of the driver is then ours).
    #[arg(long)]
    pub in_process: bool,
}

impl MeasureArgs {
    /// How long one job may take.
    pub fn patience(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }

    /// How devices are opened. The simulator, too, runs in a child process: it may be asked for more than it can do in time.
    pub fn options(&self, timeout: Duration) -> warpsight_run::Options {
        let options =
            warpsight_run::Options { in_process: self.in_process, simulator_too: true, timeout, ..warpsight_run::Options::default() };
        warpsight_run::Options { cache: self.cache.clone().or(options.cache), ..options }
    }

    /// The device of this name, which runs kernels.
    pub fn device(&self, id: &str) -> Result<DeviceInfo, Failure> {
        let device = warpsight_run::open(id, &self.options(self.patience()))?.info().clone();
        if device.backend == "vulkan" {
            let why = format!("{id} draws shaders and runs no kernels, which is all that is measured here");
            return Err(Failure::input(why).help(format!("`warpsight shader profile --device {id}` measures what it draws")));
        }
        Ok(device)
    }

    /// What every file says of its origin.
    pub fn origin(&self, device: &DeviceInfo, scale: Scale) -> Origin {
        let program = std::env::args().next().unwrap_or_default();
        let program = Path::new(&program).file_name().map_or("warpsight".into(), |name| name.to_string_lossy().into_owned());
        Origin {
            command: std::iter::once(program).chain(std::env::args().skip(1)).collect(),
            warpsight: env!("CARGO_PKG_VERSION").into(),
            git: option_env!("WARPSIGHT_GIT").map(str::to_owned),
            host: Host::here(),
            device: device.clone(),
            scale,
            seed: self.cache.as_deref().and_then(prepare::seed).unwrap_or_else(prepare::fresh_seed),
        }
    }
}

/// Reads a time for everything together.
pub fn minutes(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(minutes) if minutes > 0.0 && minutes <= 10_000.0 => Ok(minutes),
        _ => Err("a number of minutes above 0, at most 10000".into()),
    }
}

/// Says what compiles kernels of a CUDA device: nothing is begun where nothing does, and nothing was compiled ahead.
pub fn compiler(device: &DeviceInfo, cache: Option<&Path>) -> Result<Option<Toolkit>, Failure> {
    if device.backend != "cuda" {
        return Ok(None);
    }
    let version = |toolkit: Toolkit| toolkit.version().map(|version| (toolkit, version));
    let prepared = || cache.filter(|cache| prepare::has_kernels(cache));
    match (Toolkit::find().and_then(version), prepared()) {
        (Ok((toolkit, version)), _) => {
            note(format_args!("kernels are compiled by {version} ({})", toolkit.nvrtc.display()));
            Ok(Some(toolkit))
        }
        (Err(error), Some(cache)) => {
            note(format_args!("{error}; only kernels in {} can run", cache.display()));
            Ok(None)
        }
        (Err(error), None) => Err(Failure::new(Kind::Device, error.to_string())
            .help("`warpsight battery --prepare` compiles all kernels ahead, on another machine, into a folder for --cache")),
    }
}

/// Where a record goes that cannot be written.
pub fn last_resort(line: &str) {
    // Should this fail too, there is no place left.
    let _ = out(Json(line));
}

/// Says what happens.
pub fn watch(event: &Event<'_>) {
    match event {
        Event::Begins(task, time_box) => note(format_args!("{}: {:.0} s for: {}", task.name, time_box.as_secs_f64(), task.phase.purpose)),
        Event::Taken(record) => watch_record(record),
        Event::Reopens(error) => note(format_args!("  the device is opened again: {error}")),
        Event::Ended(summary) => note(format_args!(
            "{}: {} verified, {} wrong, {} failed, {} skipped in {:.1} s{}",
            summary.name,
            summary.verified,
            summary.wrong,
            summary.failed,
            summary.skipped,
            summary.seconds,
            summary.note.as_ref().map(|note| format!("; {note}")).unwrap_or_default()
        )),
    }
}

fn watch_record(record: &Record) {
    match &record.outcome {
        Outcome::Wrong { what } => note(format_args!("  WRONG {}: {what}", record.name)),
        Outcome::Failed { why, .. } => note(format_args!("  failed {}: {why}", record.name)),
        Outcome::Verified | Outcome::Skipped { .. } => {}
    }
}

/// What came of each, under a heading for what they are.
pub fn summary_table<'a>(of: &'a str, summaries: &[Summary]) -> Table<'a> {
    let mut rows = table(&[
        Keep(of),
        Keep("verified"),
        Keep("wrong"),
        Keep("failed"),
        Spare(2, "skipped"),
        Spare(1, "seconds"),
        Spare(3, "times"),
        Below("note"),
    ]);
    for s in summaries {
        let counts = [s.verified, s.wrong, s.failed, s.skipped].map(|count| count.to_string());
        let [verified, wrong, failed, skipped] = counts;
        let source = s.source.map_or("-", |source| source.name());
        let note = s.note.clone().unwrap_or_default();
        rows.add_row([s.name.clone(), verified, wrong, failed, skipped, format!("{:.1}", s.seconds), source.to_owned(), note]);
    }
    rows
}

/// That the user wants an end.
pub fn interruption() -> Result<(), Failure> {
    if progress::interrupted() {
        return Err(
            Failure::new(Kind::Interrupted, "interrupted").help("what was measured is kept; the same command goes on with the rest")
        );
    }
    Ok(())
}

/// What is wrong or failed is stored and stated; only measurements of which none was verified have failed.
pub fn verdict(summaries: &[Summary]) -> Result<(), Failure> {
    interruption()?;
    if summaries.iter().any(|summary| summary.verified > 0) {
        return Ok(());
    }
    Err(Failure::new(Kind::NothingVerified, "nothing was verified"))
}

impl From<BatteryError> for Failure {
    fn from(error: BatteryError) -> Self {
        let kind = match error {
            BatteryError::FolderBusy { .. }
            | BatteryError::Foreign { .. }
            | BatteryError::Nothing { .. }
            | BatteryError::Damaged { .. } => Kind::Input,
            BatteryError::DeviceBusy { .. } => Kind::Device,
            BatteryError::Io { .. } => Kind::Io,
        };
        Self::new(kind, error.to_string())
    }
}
