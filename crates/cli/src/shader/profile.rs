//! `warpsight shader profile`: what the shaders of a corpus take on a device.

pub mod crew;
mod report;

use super::SceneArgs;
use super::shaders::Shaders;
use crate::failure::{Failure, Kind};
use crate::progress;
use crew::{Crew, Step};
use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use warpsight_ir::sample::Device;
use warpsight_learn::measured::{self, Outcome, PROTOCOL, Shot};
use warpsight_learn::{RunInfo, Store, StoreError};
use warpsight_run::DeviceInfo;
use warpsight_shader::corpus;

/// Measure the shaders of a corpus on a Vulkan device: off screen, in processes of their own, one a core. What is in the store
/// already, by the same device, driver, scene and protocol, is not measured again.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// A folder that `shader collect` wrote [default: the shaders that come with the program; `shader calibrate --licences` says whose they are].
    corpus: Option<PathBuf>,
    /// Where they are drawn: vulkan:N, or vulkan:gpu for the first device that is no CPU rasteriser.
    #[arg(long, value_name = "DEVICE", default_value = "vulkan:0")]
    device: String,
    /// The store that takes what is measured, one by one.
    #[arg(long, value_name = "STORE.sqlite")]
    into: PathBuf,
    /// Also write all that the store has of this device: a line a shader and scene.
    #[arg(long, value_name = "FILE.csv")]
    csv: Option<PathBuf>,
    /// Only shaders whose id begins so, or whose name or source contains it; may be repeated.
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Only so many shaders, about as many of each source.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sample: Option<u32>,
    /// Which shaders of each source: equal seeds choose equally.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "sample")]
    seed: u64,
    /// Also measure again what hung, was lost or was refused.
    #[arg(long)]
    retry: bool,
    #[command(flatten)]
    scene: SceneArgs,
    /// Processes that measure at the same time [default: one a core on CPU rasterisers, else one].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    workers: Option<u16>,
    /// Seconds after which a shader counts as hanging: of its process' processor time on CPU rasterisers (and ten times as many by the
    /// wall), by the wall on all others.
    #[arg(long, value_name = "S", default_value_t = 300, value_parser = crate::target::seconds(1))]
    timeout: u64,
    /// The width of vectors that lavapipe works with, instead of its own choice.
    #[arg(long, value_name = "BITS", value_parser = parse_bits)]
    vector_bits: Option<u32>,
}

const EXAMPLES: &str = "Examples:
  The shaders of a corpus on the first Vulkan device:
    warpsight shader profile corpus --into shots.sqlite --csv shots.csv
  Forty of the shaders that come with the program, on the first GPU:
    warpsight shader profile --device vulkan:gpu --sample 40 --into shots.sqlite";

fn parse_bits(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|bits| [128, 256, 512].contains(bits)).ok_or_else(|| "128, 256 or 512".to_owned())
}

/// What a scene of a shader on a device is known by.
type Key = (String, [u32; 2], u32, String);

fn key(shot: &Shot) -> Key {
    (shot.shader.clone(), shot.frame, shot.texture, shot.inputs.clone())
}

/// How a device is known in stores.
pub fn stored(info: &DeviceInfo) -> Device {
    Device { backend: info.backend.clone(), name: info.name.clone(), driver: info.driver.clone() }
}

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    progress::catch_interrupt();
    let Shaders { folder, entries, .. } = &Shaders::open(args.corpus.as_deref(), &args.only)?;
    let sample = args.sample.map(|count| corpus::sample(entries.clone(), count as usize, args.seed));
    let entries = sample.as_ref().unwrap_or(entries);
    let crew = Crew::open(&args.device, Duration::from_secs(args.timeout), args.vector_bits, args.workers)?;
    let device = stored(crew.info());
    let refused = |e: StoreError| Failure::from(e).help("--into FILE names another store");
    let mut store = Store::open(&args.into).map_err(refused)?;
    let known: HashSet<Key> = store
        .shots(Some(&device))
        .map_err(refused)?
        .iter()
        .filter(|s| s.protocol == PROTOCOL && (!args.retry || matches!(s.outcome, Outcome::Done(_))))
        .map(key)
        .collect();
    let run = store.begin_run(&RunInfo::here(std::env::args(), None)).map_err(refused)?;
    let (begin, bar) = (Instant::now(), progress::bar(entries.len(), "shaders"));
    let mut counts = report::Counts::default();
    let mut failed = None;
    let step = |step: Step| {
        bar.inc(1);
        counts.add(&step);
        match step {
            Step::Known => {}
            // What is stored stays, whatever happens to this process.
            Step::Shot(shot) => {
                bar.set_message(crate::report::clean(&shot.shader).into_owned());
                if let Err(error) = store.append_shot(run, &shot) {
                    failed = Some(refused(error));
                }
            }
            Step::Gone(error) => failed = Some(Failure::from(error)),
        }
        failed.is_none() && !progress::interrupted()
    };
    crew.measure(folder, entries, &args.scene, &known, step);
    bar.finish_and_clear();
    if let Some(failure) = failed {
        return Err(failure);
    }
    counts.seconds = begin.elapsed().as_secs_f64();
    let shots: Vec<Shot> =
        measured::newest(store.shots(Some(&device)).map_err(refused)?).into_iter().filter(|s| s.protocol == PROTOCOL).collect();
    if let Some(file) = &args.csv {
        warpsight_files::write(file, &report::csv(&shots)?)?;
    }
    report::print(crew.info(), crew.workers(), &counts, &shots, json)?;
    if progress::interrupted() {
        return Err(Failure::new(Kind::Interrupted, "interrupted").help("the same command goes on with the rest"));
    }
    let measured: HashSet<&str> = shots.iter().filter(|s| matches!(s.outcome, Outcome::Done(_))).map(|s| s.shader.as_str()).collect();
    if entries.iter().any(|entry| measured.contains(entry.id.as_str())) {
        return Ok(());
    }
    let failure = Failure::new(Kind::NothingVerified, format!("none of {} shaders could be measured on {}", entries.len(), args.device));
    Err(failure.help("why is said above; --retry tries again what failed before"))
}

#[cfg(test)]
mod tests;
