//! `warpsight battery`: everything that can be measured of a GPU, within minutes, into a folder.

mod ahead;
mod prepare;
mod tools;

use crate::failure::{Failure, Kind};
use crate::names::named;
use crate::progress;
use crate::report::Column::{Below, Keep, Spare};
use crate::report::{Json, note, out, table};
use clap::ValueEnum;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use warpsight_probe::battery::{self, BatteryError, DeviceLock, Event, Folder, Host, Options, Origin, Summary, Task};
use warpsight_probe::{Needs, Outcome, Record, Scale, phases};
use warpsight_run::cuda::Toolkit;
use warpsight_run::{Device, DeviceError, DeviceInfo};

/// Measure all there is to measure of a GPU: bandwidths, latencies, peaks, stencil volumes, textures, queues, launches.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// What is measured: cuda:N, opencl:N or sim:NAME (see `warpsight devices`).
    #[arg(long, default_value = "cuda:0", value_name = "DEVICE")]
    device: String,
    /// Folder for one JSON file per phase; an interrupted battery goes on where it stopped.
    #[arg(long, value_name = "DIR", required_unless_present_any = ["list", "prepare"])]
    out: Option<PathBuf>,
    /// For all phases together.
    #[arg(long, default_value_t = 8.0, value_name = "N", value_parser = minutes, allow_negative_numbers = true)]
    minutes: f64,
    /// Only these phases; may be repeated.
    #[arg(long, value_name = "NAME", value_parser = named(names().map(|name| (name, name.to_owned())).collect::<Vec<_>>()))]
    phase: Vec<String>,
    /// How much: everything, or a few small measurements of each kind.
    #[arg(long, value_enum, default_value = "full")]
    scale: ScaleArg,
    /// Seed of all random inputs [default: that of kernels prepared in --cache, or a fresh one].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Measure phases once more that the folder already holds; the old files are kept under other names.
    #[arg(long)]
    again: bool,
    /// Say what would be measured, and nothing else.
    #[arg(long)]
    list: bool,
    /// The OpenCL device that the texture phases run on a second time [default: the one of the same name].
    #[arg(long, value_name = "DEVICE")]
    opencl: Option<String>,
    /// Where compiled kernels are kept [default: below $XDG_CACHE_HOME].
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Compile all kernels ahead into --cache, without a GPU, and measure nothing.
    #[arg(long, requires_all = ["arch", "cache"])]
    prepare: bool,
    /// What to compile for: sm_80, sm_90a, …
    #[arg(long, value_name = "ARCH,…", value_delimiter = ',', requires = "prepare")]
    arch: Vec<String>,
    /// A file of a battery (or an entry of `devices --json`): kernels are compiled for that device, not for a typical one.
    #[arg(long, value_name = "FILE", requires = "prepare")]
    like: Option<PathBuf>,
    /// Nsight Compute, for hardware counters [default: ncu on PATH].
    #[arg(long, value_name = "FILE")]
    ncu: Option<PathBuf>,
    /// [default: compute-sanitizer on PATH].
    #[arg(long, value_name = "FILE")]
    compute_sanitizer: Option<PathBuf>,
    /// Seconds after which a job that does not end is stopped.
    #[arg(long, default_value_t = 60, value_name = "S", value_parser = crate::target::seconds(1))]
    timeout: u64,
    /// Run the driver inside this process (a crash or hang of the driver is then ours).
    #[arg(long)]
    in_process: bool,
    /// Run every kernel once and time nothing, for tools that count or check.
    #[arg(long)]
    once: bool,
    /// Spoil one kernel, to see that its check finds out.
    #[arg(long, hide = true)]
    plant_wrong: bool,
}

const EXAMPLES: &str = "Examples:
  What would be measured:
    warpsight battery --list
  A few small measurements of each kind on the simulated GPU, as a rehearsal:
    warpsight battery --device sim:adreno640 --scale tiny --out measured
  Everything on an NVIDIA GPU, within eight minutes:
    warpsight battery --device cuda:0 --out h200
  Kernels compiled ahead, where there is no GPU:
    warpsight battery --prepare --arch sm_90a --cache kernels";

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScaleArg {
    /// Everything.
    Full,
    /// A few small ones of each kind.
    Tiny,
}

impl From<ScaleArg> for Scale {
    fn from(scale: ScaleArg) -> Self {
        match scale {
            ScaleArg::Full => Self::Full,
            ScaleArg::Tiny => Self::Tiny,
        }
    }
}

impl Args {
    fn is_tiny(&self) -> bool {
        self.scale == ScaleArg::Tiny
    }
    /// Whether a phase of a tool is wanted: on CUDA devices, or by name; not by a tool itself.
    fn wants(&self, tool: &str, device: &DeviceInfo) -> bool {
        !self.once && if self.phase.is_empty() { device.backend == "cuda" } else { self.phase.iter().any(|name| name == tool) }
    }
    fn options(&self, timeout: Duration) -> warpsight_run::Options {
        let options =
            warpsight_run::Options { in_process: self.in_process, simulator_too: true, timeout, ..warpsight_run::Options::default() };
        warpsight_run::Options { cache: self.cache.clone().or(options.cache), ..options }
    }
}

fn minutes(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(minutes) if minutes > 0.0 && minutes <= 10_000.0 => Ok(minutes),
        _ => Err("a number of minutes above 0, at most 10000".into()),
    }
}

/// Phases that other programs do.
const TOOLS: [&str; 2] = ["counters", "sanitizer"];

/// Ends the names of phases that run through OpenCL.
const OPENCL: &str = "-opencl";

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    if args.list {
        return list(json);
    }
    let phases = chosen(args)?;
    if let (true, Some(cache)) = (args.prepare, &args.cache) {
        progress::catch_interrupt();
        return prepare::run(args, &phases, cache, json);
    }
    let Some(dir) = &args.out else { return Err(Failure::input("--out DIR says where the measurements go")) };
    progress::catch_interrupt();
    let open = |id: &str, timeout: Duration| warpsight_run::open(id, &args.options(timeout));
    let device = open(&args.device, Duration::from_secs(args.timeout))?.info().clone();
    if device.backend == "vulkan" {
        let why = format!("{} draws shaders and runs no kernels, which is all that a battery measures", args.device);
        return Err(Failure::input(why).help(format!("`warpsight shader profile --device {}` measures what it draws", args.device)));
    }
    // Run by a tool it belongs to the battery that holds the lock.
    let _lock = if args.once { None } else { Some(DeviceLock::take(&device, &std::env::temp_dir())?) };
    let cache = args.options(Duration::ZERO).cache;
    let toolkit = compiler(&device, cache.as_deref())?;
    let twin = opencl_twin(args, &device);
    let mut folder = Folder::open(dir, origin(args, &device), args.seed, args.again, Box::new(last_resort))?;
    note(format_args!("{} ({}, {}): {} minutes, seed {}", device.name, device.id, device.driver, args.minutes, folder.seed()));
    let tasks: Vec<Task> = phases.into_iter().flat_map(|phase| with_twin(phase, twin.is_some())).collect();
    let whole = Duration::from_secs_f64(60.0 * args.minutes);
    let begun = Instant::now();
    let setup = |share: f64| tools::Setup { args, device: &device, dir, time: whole.mul_f64(share) };
    let counters = args.wants("counters", &device).then(|| tools::may_count(&setup(tools::COUNTERS_SHARE), &folder));
    let counting = if let Some(Ok(_)) = counters { tools::COUNTERS_SHARE } else { 0.0 };
    let sanitizer = args.wants("sanitizer", &device).then(|| tools::find(args.compute_sanitizer.as_deref(), "compute-sanitizer"));
    let checking = if let Some(Ok(_)) = sanitizer { tools::SANITIZER_SHARE } else { 0.0 };
    let options = Options {
        scale: args.scale.into(),
        budget: whole.mul_f64(1.0 - counting - checking).saturating_sub(begun.elapsed()),
        patience: Duration::from_secs(args.timeout),
        pause: Duration::from_millis(500),
        once: args.once,
        plant_wrong: args.plant_wrong,
        stop: &progress::interrupted,
    };
    let mut through = |task: &Task, timeout: Duration| -> Result<Box<dyn Device>, DeviceError> {
        let id = if task.name.ends_with(OPENCL) { twin.as_deref().unwrap_or(&args.device) } else { &args.device };
        open(id, timeout)
    };
    let ours = tasks.iter().filter(|task| !task.name.ends_with(OPENCL) && !folder.is_done(&task.name)).map(|task| task.phase.plan);
    let (plans, scale, seed) = (ours.collect(), args.scale.into(), folder.seed());
    let ahead = toolkit
        .as_ref()
        .filter(|_| !args.once)
        .and_then(|toolkit| Some(ahead::Ahead { toolkit, cache: cache?, device: &device, scale, seed, plans }));
    let mut cached = ahead::Cached::default();
    let mut tell = |event: Event<'_>| {
        if let Event::Taken(record) = &event {
            cached.note(record);
        }
        watch(event);
    };
    let mut summaries = ahead::during(ahead.as_ref(), || battery::run(tasks, &options, &mut folder, &mut through, &mut tell));
    let cached = cached.count();
    if device.backend == "cuda" {
        note(format_args!("{} of {} kernels were in the cache", cached.0, cached.1));
    }
    if let Some(tool) = counters.filter(|_| !progress::interrupted()) {
        summaries.push(tools::counters(&setup(counting), &mut folder, tool));
    }
    if let Some(tool) = sanitizer.filter(|_| !progress::interrupted()) {
        summaries.push(tools::sanitizer(&setup(checking), &mut folder, tool));
    }
    if let Some(trouble) = folder.trouble() {
        note(format_args!("not everything could be written to {}: {trouble}; those records are on the standard output", dir.display()));
    }
    report(&summaries, &device, cached, json)?;
    verdict(&summaries)
}

/// Says what compiles kernels of a CUDA device: nothing is begun where nothing does, and nothing was compiled ahead.
fn compiler(device: &DeviceInfo, cache: Option<&Path>) -> Result<Option<Toolkit>, Failure> {
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

/// What phases are called.
fn names() -> impl Iterator<Item = &'static str> {
    phases::all().into_iter().map(|phase| phase.name).chain(TOOLS)
}

/// The phases asked for, in the battery's order.
fn chosen(args: &Args) -> Result<Vec<warpsight_probe::Phase>, Failure> {
    let all = phases::all();
    Ok(all.into_iter().filter(|phase| args.phase.is_empty() || args.phase.iter().any(|name| name == phase.name)).collect())
}

/// A phase, and where it is of textures, the same through OpenCL.
fn with_twin(phase: warpsight_probe::Phase, twin: bool) -> Vec<Task> {
    let copy = (twin && phase.name.starts_with("texture"))
        .then(|| Task { name: format!("{}{OPENCL}", phase.name), phase: warpsight_probe::Phase { ..phase } });
    std::iter::once(Task::from(phase)).chain(copy).collect()
}

/// The OpenCL device that is the same GPU.
fn opencl_twin(args: &Args, device: &DeviceInfo) -> Option<String> {
    if args.opencl.is_some() || device.backend != "cuda" || args.once {
        return args.opencl.clone();
    }
    let listing = warpsight_run::devices(&args.options(Duration::from_secs(args.timeout)));
    let same = |other: &&DeviceInfo| other.backend == "opencl" && !other.is_cpu && other.name == device.name;
    let found = listing.devices.iter().find(same).map(|other| other.id.clone());
    if found.is_none() {
        note(format_args!("textures through OpenCL: skipped, no OpenCL device `{}`", device.name));
    }
    found
}

fn origin(args: &Args, device: &DeviceInfo) -> Origin {
    let program = std::env::args().next().unwrap_or_default();
    let program = std::path::Path::new(&program).file_name().map_or("warpsight".into(), |name| name.to_string_lossy().into_owned());
    Origin {
        command: std::iter::once(program).chain(std::env::args().skip(1)).collect(),
        warpsight: env!("CARGO_PKG_VERSION").into(),
        git: option_env!("WARPSIGHT_GIT").map(str::to_owned),
        host: Host::here(),
        device: device.clone(),
        scale: args.scale.into(),
        seed: args.cache.as_deref().and_then(prepare::seed).unwrap_or_else(fresh_seed),
    }
}

/// Below 2⁵³: readers that take every number for a double keep it.
fn fresh_seed() -> u64 {
    fastrand::u64(..1 << 53)
}

/// Where a record goes that cannot be written.
fn last_resort(line: &str) {
    // Should this fail too, there is no place left.
    let _ = out(Json(line));
}

fn watch(event: Event<'_>) {
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

fn list(json: bool) -> Result<(), Failure> {
    let all = phases::all();
    if json {
        let phases: Vec<_> =
            all.iter().map(|p| json!({"name": p.name, "purpose": p.purpose, "share": p.share, "needs": needs(p.needs)})).collect();
        return out(json!({ "phases": phases }));
    }
    let mut rows = table(&[Keep("phase"), Keep("share"), Keep("needs"), Below("purpose")]);
    for phase in &all {
        rows.add_row([phase.name.to_owned(), phase.share.to_string(), needs(phase.needs).to_owned(), phase.purpose.to_owned()]);
    }
    out(rows)
}

fn needs(needs: Needs) -> &'static str {
    match needs {
        Needs::Programs => "any device",
        Needs::Tiles => "matrix tiles",
        Needs::CudaText => "CUDA",
    }
}

fn report(summaries: &[Summary], device: &DeviceInfo, (cached, kernels): (usize, usize), json: bool) -> Result<(), Failure> {
    if json {
        return out(json!({ "device": device, "phases": summaries, "kernels": { "cached": cached, "of": kernels } }));
    }
    let mut rows = table(&[
        Keep("phase"),
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
    out(rows)
}

/// What is wrong or failed is stored and stated; only a battery without any verified record has failed.
fn verdict(summaries: &[Summary]) -> Result<(), Failure> {
    if progress::interrupted() {
        return Err(
            Failure::new(Kind::Interrupted, "interrupted").help("what was measured is kept; the same command goes on with the rest")
        );
    }
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
