//! `warpsight battery`: everything that can be measured of a GPU, within minutes, into a folder.

mod ahead;
pub mod measuring;
pub mod prepare;
mod tools;

use crate::battery::measuring::{MeasureArgs, compiler, last_resort, minutes, summary_table, verdict, watch};
use crate::failure::Failure;
use crate::names::named;
use crate::progress;
use crate::report::Column::{Below, Keep};
use crate::report::{note, out, table};
use clap::ValueEnum;
use serde_json::json;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use warpsight_probe::battery::{self, DeviceLock, Event, Folder, Options, Summary, Task};
use warpsight_probe::{Needs, Scale, phases};
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
    #[command(flatten)]
    measure: MeasureArgs,
    /// Say what would be measured, and nothing else.
    #[arg(long)]
    list: bool,
    /// The OpenCL device that the texture phases run on a second time [default: the one of the same name].
    #[arg(long, value_name = "DEVICE")]
    opencl: Option<String>,
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
    /// What is measured of each phase: lists everything, aspects what tells most within the time that they share with lists.
    fn scale(&self) -> Scale {
        match self.scale {
            ScaleArg::Full => Scale::Quick,
            ScaleArg::Tiny => Scale::Tiny,
        }
    }
    fn is_tiny(&self) -> bool {
        self.scale == ScaleArg::Tiny
    }
    /// Whether a phase of a tool is wanted: on CUDA devices, or by name; not by a tool itself.
    fn wants(&self, tool: &str, device: &DeviceInfo) -> bool {
        !self.once && if self.phase.is_empty() { device.backend == "cuda" } else { self.phase.iter().any(|name| name == tool) }
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
    if let (true, Some(cache)) = (args.prepare, &args.measure.cache) {
        progress::catch_interrupt();
        return prepare::run(args, &phases, cache, json);
    }
    let Some(dir) = &args.out else { return Err(Failure::input("--out DIR says where the measurements go")) };
    progress::catch_interrupt();
    let open = |id: &str, timeout: Duration| warpsight_run::open(id, &args.measure.options(timeout));
    let device = args.measure.device(&args.device)?;
    // Run by a tool it belongs to the battery that holds the lock.
    let _lock = if args.once { None } else { Some(DeviceLock::take(&device, &std::env::temp_dir())?) };
    let cache = args.measure.options(Duration::ZERO).cache;
    let toolkit = compiler(&device, cache.as_deref())?;
    let twin = opencl_twin(args, &device);
    let mut folder =
        Folder::open(dir, args.measure.origin(&device, args.scale()), args.measure.seed, args.measure.again, Box::new(last_resort))?;
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
        scale: args.scale(),
        budget: whole.mul_f64(1.0 - counting - checking).saturating_sub(begun.elapsed()),
        patience: args.measure.patience(),
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
    let (plans, scale, seed) = (ours.collect(), args.scale(), folder.seed());
    let ahead = toolkit
        .as_ref()
        .filter(|_| !args.once)
        .and_then(|toolkit| Some(ahead::Ahead { toolkit, cache: cache?, device: &device, scale, seed, plans }));
    let mut cached = ahead::Cached::default();
    let mut tell = |event: Event<'_>| {
        if let Event::Taken(record) = &event {
            cached.note(record);
        }
        watch(&event);
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
    let listing = warpsight_run::devices(&args.measure.options(args.measure.patience()));
    let same = |other: &&DeviceInfo| other.backend == "opencl" && !other.is_cpu && other.name == device.name;
    let found = listing.devices.iter().find(same).map(|other| other.id.clone());
    if found.is_none() {
        note(format_args!("textures through OpenCL: skipped, no OpenCL device `{}`", device.name));
    }
    found
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
    out(summary_table("phase", summaries))
}
