//! `warpsight battery --prepare`: every kernel of the battery compiled ahead, without a GPU, for machines whose driver has no NVRTC.

use super::Args;
use crate::failure::{Failure, Kind};
use crate::progress;
use crate::report::out;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use warpsight_ir::Checked;
use warpsight_probe::{Context, Phase, Plan, Scale, battery};
use warpsight_run::cuda::{Arch, Toolkit, prepare, prepare_own};
use warpsight_run::{Code, DeviceInfo, DeviceLimits};

/// The file beside prepared kernels with the seed they were prepared for.
const SEED: &str = "seed.txt";

/// The simulated GPU that aspects are rehearsed on, and the longest for each.
const REHEARSED: &str = "sim:h200";
const REHEARSAL: Duration = Duration::from_secs(20);

/// The seed that kernels in a cache were prepared for.
pub fn seed(cache: &Path) -> Option<u64> {
    warpsight_files::read_text(&cache.join(SEED), warpsight_files::TEXT).ok()?.trim().parse().ok()
}

/// Whether a folder holds compiled kernels.
pub fn has_kernels(cache: &Path) -> bool {
    let entries = warpsight_files::entries(cache).unwrap_or_default();
    entries.iter().any(|entry| entry.extension().is_some_and(|ending| ending == "bin"))
}

/// Compiles the kernels of these phases into the cache.
pub fn run(args: &Args, phases: &[Phase], cache: &Path, json: bool) -> Result<(), Failure> {
    let archs = archs(&args.arch)?;
    let toolkit = Toolkit::find()
        .map_err(|error| Failure::new(Kind::Device, error.to_string()).help("WARPSIGHT_CUDA or CUDA_HOME names the folder of a toolkit"))?;
    let like = args.like.as_deref().map(described).transpose()?;
    let seed = args.measure.seed.unwrap_or_else(fresh_seed);
    let texts = |&arch: &Arch| texts(args, phases, like.as_ref().unwrap_or(&typical(arch)), arch, seed);
    let kernels: BTreeSet<(Arch, String, String)> = archs.iter().flat_map(texts).collect();
    let refused = compile(&toolkit, &kernels, &archs, cache)?;
    // Some kernels hold the seed: a battery that uses them must draw the same inputs.
    warpsight_files::write(&cache.join(SEED), format!("{seed}\n").as_bytes())?;
    if progress::interrupted() {
        return Err(Failure::new(Kind::Interrupted, "interrupted").help("what was compiled is kept"));
    }
    let compiled = kernels.len() - refused.len();
    if json {
        let refused: Vec<Value> = refused.iter().map(|(kernel, why)| json!({"kernel": kernel, "error": why})).collect();
        out(json!({"compiled": compiled, "refused": refused, "cache": cache}))?;
    } else {
        for (kernel, why) in &refused {
            out(format_args!("{kernel}: {why}"))?;
        }
        out(format_args!("{compiled} of {} kernels are in {}", kernels.len(), cache.display()))?;
    }
    if compiled > 0 { Ok(()) } else { Err(Failure::new(Kind::Device, "no kernel could be compiled")) }
}

/// Reads `sm_80,sm_90a`.
fn archs(texts: &[String]) -> Result<Vec<Arch>, Failure> {
    let read = |text: &String| text.parse::<Arch>().map_err(|error| Failure::input(error.to_string()));
    texts.iter().map(read).collect()
}

/// Kernels for an architecture as CUDA C++ with their names; what has no such form, and what an aspect asks for
/// after other answers than the simulated GPU's, is left to the device.
fn texts(args: &Args, phases: &[Phase], device: &DeviceInfo, arch: Arch, seed: u64) -> Vec<(Arch, String, String)> {
    let mut found = BTreeMap::new();
    // What reacts is asked what it would measure by a simulated GPU, at sizes that take no time: kernels hold no sizes of data.
    let options = warpsight_run::Options { in_process: true, cache: None, ..warpsight_run::Options::default() };
    let mut rehearsed = warpsight_run::open(REHEARSED, &options);
    for phase in phases {
        let reacts = matches!((phase.plan)(&Context { device, scale: Scale::Tiny, seed }), Plan::Reacting(_));
        let codes = match &mut rehearsed {
            Ok(simulator) if reacts => {
                let context = Context { device, scale: Scale::Tiny, seed };
                battery::rehearse(phase, &context, &mut **simulator, Instant::now() + REHEARSAL).0
            }
            _ => (phase.plan)(&Context { device, scale: args.scale(), seed }).into_iter().flat_map(|own| own.job.programs).collect(),
        };
        found.extend(codes.into_iter().filter_map(as_cuda));
    }
    found.into_iter().map(|(text, entry)| (arch, text, entry)).collect()
}

/// A kernel as CUDA C++ with its name; `None` where it has no such form.
pub(super) fn as_cuda(code: Code) -> Option<(String, String)> {
    match code {
        Code::Cuda(text) => Some((text.text, text.entry.to_string())),
        Code::Program(program) => {
            let source = warpsight_emit::cuda(&Checked::new(program).ok()?).ok()?;
            Some((source.text(), source.entry.to_string()))
        }
    }
}

/// Compiles on all processors; what the compiler refused.
fn compile(
    toolkit: &Toolkit,
    kernels: &BTreeSet<(Arch, String, String)>,
    archs: &[Arch],
    cache: &Path,
) -> Result<Vec<(String, String)>, Failure> {
    warpsight_files::make_folder(cache)?;
    for &arch in archs {
        prepare_own(toolkit, arch, cache).map_err(|error| Failure::new(Kind::Device, error.to_string()))?;
    }
    let all: Vec<_> = kernels.iter().collect();
    let (next, refused) = (AtomicUsize::new(0), Mutex::new(vec![]));
    let bar = progress::bar(all.len(), "compiling");
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((arch, text, entry)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if progress::interrupted() {
                        return;
                    }
                    if let Err(error) = prepare(toolkit, text, entry, *arch, cache) {
                        let mut refused = refused.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                        refused.push((format!("{entry} for {arch}"), error.to_string()));
                    }
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    Ok(refused.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// The device that a file of a battery (or of `devices --json`) describes.
fn described(path: &Path) -> Result<DeviceInfo, Failure> {
    let text = warpsight_files::read_text(path, warpsight_files::RECORDS)?;
    let wrong = |what: String| Failure::input(what).at(path.display().to_string());
    let value: Value = serde_json::from_str(&text).map_err(|error| wrong(format!("it is no JSON: {error}")))?;
    let device = value.get("device").or_else(|| value.pointer("/origin/device")).unwrap_or(&value);
    serde_json::from_value(device.clone()).map_err(|error| wrong(format!("field `device`: {error}")))
}

/// The data-centre GPU of an architecture: A100 80 GB below 9.0, H200 from there on, with what plans ask of a device as its driver
/// says it. Kernels hold some of it as constants, so that another GPU needs `--like`.
fn typical(arch: Arch) -> DeviceInfo {
    let old = arch.capability < 90;
    let units: u32 = if old { 108 } else { 132 };
    let shared_optin: u64 = if old { 166_912 } else { 232_448 };
    let facts = [
        ("multiprocessor_count", units.into()),
        ("l2_cache_bytes", if old { 40 << 20 } else { 60 << 20 }),
        ("max_shared_memory_per_multiprocessor", if old { 167_936 } else { 233_472 }),
        ("max_shared_memory_per_block_optin", shared_optin),
        ("max_threads_per_multiprocessor", 2048),
        ("max_registers_per_multiprocessor", 65_536),
        ("max_blocks_per_multiprocessor", 32),
        ("max_persisting_l2_cache_size", if old { 30 << 20 } else { 32 << 20 }),
        ("max_access_policy_window_size", 128 << 20),
        ("warp_size", 32),
    ];
    let capability = format!("{}.{}", arch.capability / 10, arch.capability % 10);
    DeviceInfo {
        id: "cuda:0".into(),
        backend: "cuda".into(),
        name: format!("a typical GPU of {arch}"),
        driver: "none".into(),
        is_cpu: false,
        limits: DeviceLimits {
            max_group_size: Some(1024),
            max_group_dims: Some([1024, 1024, 64]),
            local_bytes: Some(shared_optin),
            local_arrays: None,
            image_2d: Some((131_072, 65_536)),
            image_1d: Some(32_768),
            image_buffer: Some(1 << 28),
            image_pitch: Some(32),
            max_allocation: None,
            memory: Some(if old { 80 << 30 } else { 140 << 30 }),
            compute_units: Some(units),
            f64: true,
            f16: true,
        },
        clock: None,
        facts: facts
            .into_iter()
            .map(|(name, value): (&str, u64)| (name.to_owned(), value.to_string()))
            .chain([("compute_capability".to_owned(), capability)])
            .collect(),
    }
}

/// Below 2⁵³: readers that take every number for a double keep it.
pub(super) fn fresh_seed() -> u64 {
    fastrand::u64(..1 << 53)
}
