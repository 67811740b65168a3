//! A device's counts against the interpreter's, for every shader of a corpus.

use super::super::profile::crew::{Crew, Worker};
use super::super::shaders::Shaders;
use super::super::targets::SOFTWARE;
use super::super::{count, read};
use super::Args;
use crate::failure::{Failure, Kind};
use crate::progress;
use crate::report::Column::{Below, Keep, Spare};
use crate::report::{out, table};
use serde::Serialize;
use serde_json::json;
use std::path::Path;
use std::time::Duration;
use warpsight_run::DeviceInfo;
use warpsight_shader::Shader;
use warpsight_shader::corpus::{self, Entry};
use warpsight_shader::interpret::Program;
use warpsight_shader::scene::Noise;
use warpsight_shader::trace::sample;

/// The frame where none is asked for: every pixel is interpreted.
const FRAME: [u32; 2] = [64, 48];

/// Counts of a shader whose branches depend on rounded values may differ by so much of all counts.
const ALLOWED: f64 = 1e-3;

/// Differing shaders that the terminal shows.
const SHOWN: usize = 20;

/// A shader of the corpus.
#[derive(Serialize)]
struct Compared {
    id: String,
    name: String,
    source: String,
    #[serde(flatten)]
    found: Found,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case", tag = "status")]
enum Found {
    Counted(Counted),
    /// Nothing was compared.
    Failed {
        reason: String,
    },
}

#[derive(Serialize)]
struct Counted {
    /// Whether branches depend on values of implementation-defined precision.
    flagged: bool,
    /// Executions of blocks in the frame, by the device.
    counts: u64,
    /// The sum of differences.
    differing: u64,
    /// Blocks that differ: their number, the device's count, the interpreter's.
    blocks: Vec<(usize, u64, u64)>,
}

impl Counted {
    fn share(&self) -> f64 {
        self.differing as f64 / self.counts.max(1) as f64
    }
}

/// How many shaders agree.
#[derive(Default, Serialize)]
struct Summary {
    /// Shaders whose counts nothing may change.
    exact_expected: usize,
    /// Those of them that are exact.
    exact: usize,
    /// Shaders with branches that depend on rounded values.
    flagged: usize,
    flagged_exact: usize,
    flagged_within: usize,
    /// The largest share of a flagged shader.
    flagged_worst: f64,
    failed: usize,
}

impl Summary {
    fn of(all: &[Compared]) -> Self {
        let mut sum = Self::default();
        for compared in all {
            match &compared.found {
                Found::Failed { .. } => sum.failed += 1,
                Found::Counted(c) if c.flagged => {
                    sum.flagged += 1;
                    sum.flagged_exact += usize::from(c.differing == 0);
                    sum.flagged_within += usize::from(c.share() <= ALLOWED);
                    sum.flagged_worst = sum.flagged_worst.max(c.share());
                }
                Found::Counted(c) => {
                    sum.exact_expected += 1;
                    sum.exact += usize::from(c.differing == 0);
                }
            }
        }
        sum
    }

    fn wrong(&self) -> usize {
        self.exact_expected - self.exact
    }
}

/// Compares the shaders of a corpus; fails where one differs that nothing may change.
pub fn run(args: &Args, device: &str, json: bool) -> Result<(), Failure> {
    progress::catch_interrupt();
    let Shaders { folder, mut entries, .. } = Shaders::open(Some(&args.file), &args.only)?;
    if let Some(count) = args.sample {
        entries = corpus::sample(entries, count as usize, args.seed);
    }
    let crew = Crew::open(device, Duration::from_secs(args.timeout), None, None)?;
    let (bar, noise) = (progress::bar(entries.len(), "shaders"), Noise::default());
    let work = |worker: &mut Worker, entry: &Entry| Compared {
        id: entry.id.clone(),
        name: entry.name.clone(),
        source: entry.source.clone(),
        found: match compare(args, &folder, worker, entry, &noise) {
            Ok(counted) => Found::Counted(counted),
            Err(failure) => Found::Failed { reason: failure.to_string() },
        },
    };
    let mut all = Vec::with_capacity(entries.len());
    crew.each(&entries, work, |compared| {
        bar.inc(1);
        all.push(compared);
        !progress::interrupted()
    });
    bar.finish_and_clear();
    all.sort_by(|a, b| a.id.cmp(&b.id));
    let summary = Summary::of(&all);
    show(crew.info(), frame(args), &all, &summary, json)?;
    match summary.wrong() {
        _ if progress::interrupted() => Err(Failure::new(Kind::Interrupted, format!("interrupted: {} shaders were compared", all.len()))),
        _ if summary.exact_expected + summary.flagged == 0 => Err(Failure::new(Kind::NothingVerified, "no shader could be compared")),
        0 => Ok(()),
        n => Err(Failure::new(Kind::NothingVerified, format!("{n} shaders differ whose counts nothing may change"))),
    }
}

fn frame(args: &Args) -> [u32; 2] {
    args.scene.resolution.unwrap_or(FRAME)
}

fn compare(args: &Args, folder: &Path, worker: &mut Worker, entry: &Entry, noise: &Noise) -> Result<Counted, Failure> {
    let path = folder.join("spv").join(&entry.id).with_extension("spv");
    let bytes = warpsight_files::read(&path, warpsight_files::TEXT)?;
    let Shader { module, cfg, .. } = read(&path, &bytes)?;
    let mut scene = args.scene.scene(&entry.uniforms);
    (scene.frame, scene.noise) = (frame(args), noise.clone());
    let (inputs, _) = scene.inputs(&module)?;
    let program = Program::new(&module, &cfg)?;
    let trace = sample(&program, &inputs, usize::MAX, 0)?;
    let counts = count::counts(worker.device()?, &module, &cfg, &inputs)?;
    // Every quad was executed: these are whole numbers.
    let pairs = counts.iter().zip(&trace.counts).map(|(theirs, ours)| (*theirs, *ours as u64));
    let blocks: Vec<(usize, u64, u64)> =
        pairs.enumerate().filter(|(_, (theirs, ours))| theirs != ours).map(|(b, (theirs, ours))| (b, theirs, ours)).collect();
    let differing = blocks.iter().map(|(_, theirs, ours)| theirs.abs_diff(*ours)).sum();
    Ok(Counted { flagged: trace.is_rough(), counts: counts.iter().sum(), differing, blocks })
}

fn show(info: &DeviceInfo, [width, height]: [u32; 2], all: &[Compared], sum: &Summary, json: bool) -> Result<(), Failure> {
    let software = info.is_cpu.then_some(SOFTWARE);
    if json {
        return out(json!({
            "device": {"id": info.id, "name": info.name, "driver": info.driver, "software": software}, "frame": [width, height],
            "sources": {"device": "measured", "interpreter": "simulated"}, "allowed": ALLOWED, "summary": sum, "shaders": all,
        }));
    }
    let mut differing: Vec<(&Compared, &Counted)> = all
        .iter()
        .filter_map(|compared| match &compared.found {
            Found::Counted(counted) if counted.differing > 0 => Some((compared, counted)),
            _ => None,
        })
        .collect();
    // What nothing may change first, then the farthest off.
    differing.sort_by(|(_, a), (_, b)| a.flagged.cmp(&b.flagged).then(b.share().total_cmp(&a.share())));
    let mut rows = table(&[
        Keep("shader"),
        Spare(1, "source"),
        Spare(2, "name"),
        Spare(3, "counts (measured)"),
        Keep("differing"),
        Keep("%"),
        Below(""),
    ]);
    for (compared, counted) in differing.iter().take(SHOWN) {
        rows.add_row([
            compared.id.clone(),
            compared.source.clone(),
            compared.name.clone(),
            counted.counts.to_string(),
            counted.differing.to_string(),
            format!("{:.4}", 100.0 * counted.share()),
            if counted.flagged { "branches on a rounded value" } else { "nothing may change it" }.to_owned(),
        ]);
    }
    let more = differing.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!("and {more} more that differ\n") } else { String::new() };
    let failed: String = all
        .iter()
        .filter_map(|c| if let Found::Failed { reason } = &c.found { Some(format!("{} {}: {reason}\n", c.id, c.name)) } else { None })
        .collect();
    let software = software.map_or(String::new(), |s| format!(", {s}"));
    out(format!(
        "{rows}\n{more}{failed}{} ({}){software}: counts (measured) against the interpreter's (simulated), every pixel of {width}×{height}\n\
         {} of {} shaders are exact that nothing may change\nof {} with branches on rounded values {} are exact, {} differ by at most {} % of \
         all counts, the worst by {:.3} %\n{} could not be compared",
        info.name,
        info.driver,
        sum.exact,
        sum.exact_expected,
        sum.flagged,
        sum.flagged_exact,
        sum.flagged_within,
        100.0 * ALLOWED,
        100.0 * sum.flagged_worst,
        sum.failed,
    ))
}
