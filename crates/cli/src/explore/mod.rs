//! `warpsight explore`: which block, folding and problem size of a kernel are fastest, of all there are.

mod check;
mod figures;
mod json;
pub(crate) mod pool;
mod rows;
mod show;
mod table;

use crate::failure::{Failure, Kind};
use crate::names::suggested;
use crate::predict::input::{Device, Input, Setting, devices};
use crate::predict::{REGISTERS_GUESSED, outside};
use crate::progress;
use crate::report::{clean, extents, note, out};
use crate::target::profiles::profiles;
use std::path::PathBuf;
use std::rc::Rc;
use warpsight_ir::Profile;
use warpsight_ir::accesses::text::Document;
use warpsight_predict::explore::{Blocks, Configuration, Explorer, Fold, Ranking, Refusals, Space, SpaceError, Sweep, Winners, sample};
use warpsight_predict::volumes::known::Known;
use warpsight_predict::volumes::report::Report;

/// Predict every configuration of a kernel and rank them by points per second: blocks, foldings, problem sizes, devices.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// A kernel's accesses as text; `-` reads them from standard input.
    file: PathBuf,
    /// Built-in profiles, or files of profiles (.toml); several after each other or separated by commas are ranked together.
    #[arg(long, value_name = "NAME", required = true, num_args = 1.., value_delimiter = ',', value_parser = suggested(profiles()))]
    device: Vec<String>,
    /// Which blocks: `all` (every x, y, z whose product is a multiple of the device's warp and at most its largest block), `pow2` (those
    /// whose extents are powers of two), a number (every block of exactly so many threads), 16x4x16 (this one), `file` (the one in the
    /// file). Several are separated by commas. Without it pow2, or file where accesses mention lanes or blocks.
    #[arg(long, value_name = "all|pow2|N|XxYxZ|file", value_delimiter = ',')]
    block_sizes: Vec<Blocks>,
    /// Points a thread computes: 1, 2y (two along y), 4x, 2y2z, … separated by commas. Without it as in the file.
    #[arg(long, value_name = "1|2y|2z|2y2z|…", value_delimiter = ',')]
    fold: Vec<Fold>,
    /// Values of a parameter of the file, from..to, both included, with :STEP where that is not 1: n=64..1024:32; or one by one:
    /// n=64,96,500. Names that are separated by commas are equal: nx,ny=64..1024. May be repeated: every combination is predicted.
    #[arg(long, value_name = "NAME=FROM..TO[:STEP]|A,B,…")]
    sweep: Vec<Sweep>,
    /// Replaces a key or parameter of the file for all configurations, for instance n=640 or registers=64; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<Setting>,
    /// Replaces a number of the profiles: l2_effective=40MB, memory.l2.bandwidth=1.4TB/s; may be repeated.
    #[arg(long = "override", value_name = "KEY=VALUE")]
    overrides: Vec<Setting>,
    /// Refuses a kernel that, as it stands in the file, touches what lies beside its fields, where otherwise this is noted.
    #[arg(long)]
    strict: bool,
    /// How many of the best are shown.
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    top: u16,
    /// Writes every configuration as a line of CSV, in the order of the space.
    #[arg(long, value_name = "FILE.csv")]
    csv: Option<PathBuf>,
    /// Draws volumes and time against the first --sweep (the layer conditions of paper 002, section 5.7) as SVG: all blocks and foldings if
    /// they are at most 8, or else those that are fastest most often. Without a sweep, the times of the best with their intervals.
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Draws recorded bandwidths into --plot: CSV whose head is the first --sweep's parameter and gb_per_s (what lanes load and store).
    #[arg(long, value_name = "FILE.csv", requires = "plot")]
    recorded: Option<PathBuf>,
    /// Draws what the best configurations spend as SVG: time by limiter, volumes by cause.
    #[arg(long, value_name = "FILE.svg")]
    breakdown: Option<PathBuf>,
    /// Compares with configurations that others measured: CSV, which may be packed (.gz), with a column for each parameter of the file and one of
    /// milliseconds, ms, empty where a configuration did not run; or a cache file of Kernel Tuner, or results in the format T4. How well they are ranked (Kendall's tau-b), what the pick and the best of the ten
    /// predicted to be the fastest take over the best, and by groups of rows how far off the model is. --csv then has a line for each row.
    #[arg(long, value_name = "FILE.csv", conflicts_with_all = ["block_sizes", "fold", "sweep", "plot", "recorded", "breakdown", "sample_check", "top"])]
    table: Option<PathBuf>,
    /// Predicts so many configurations once more, each read anew from the file as `predict --set` does, and compares all numbers exactly; a
    /// difference ends with exit code 4.
    #[arg(long, default_value_t = 0, value_name = "N")]
    sample_check: u64,
    /// Which configurations are drawn for --sample-check.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Threads that predict; results do not depend on it. Without it one per core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

impl Args {
    /// Threads that predict.
    fn at_once(&self) -> usize {
        self.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
    }
}

const EXAMPLES: &str = "Examples:
  The best of all blocks of whole warps, and what folding gains:
    warpsight explore examples/accesses/star3d-r4-f64.toml --device a100-40 --block-sizes all \\
      --fold 1,2y,2z
  The blocks of 1024 threads on several devices, everything into a file:
    warpsight explore examples/accesses/star3d-r1-f64.toml --device v100 a100-40 h200 \\
      --block-sizes 1024 --csv out.csv
  How DRAM volumes of five blocks depend on the size of a plane, as a figure:
    warpsight explore examples/accesses/star3d-r4-f64.toml --device a100-40 \\
      --sweep nx,ny=256..1024:16 --block-sizes 256x4x1,128x4x2,64x4x4,32x4x8,16x4x16 \\
      --plot layers.svg --breakdown parts.svg
  How well configurations that others measured are ranked, unmeasured:
    warpsight explore examples/accesses/clblast-gemm.toml --device rtx3090 --table TABLE.csv.gz
All times and volumes are predicted.";

/// Configurations of which outcomes are held at once, so that memory does not grow with their number.
const HELD: u64 = 1 << 17;

/// What is explored.
struct Task {
    input: Input,
    fixed: Vec<(String, String)>,
    document: Document,
    devices: Vec<Profile>,
    /// The devices' names, and what was overridden.
    named: Vec<(String, Vec<String>)>,
    space: Space,
}

impl Task {
    fn explorer(&self) -> Explorer<'_> {
        Explorer { document: &self.document, fixed: &self.fixed, devices: &self.devices, space: &self.space }
    }

    /// `a100-40, block 16x4x16, fold 2y, n = 640`.
    fn name(&self, of: &Configuration) -> String {
        let device = self.device(of);
        let values = self.values(of).map(|(name, value)| format!(", {name} = {value}"));
        format!("{device}, block {}, fold {}{}", extents(&of.block), show::fold(&of.fold), values.collect::<String>())
    }

    fn device(&self, of: &Configuration) -> &str {
        &self.named[of.device].0
    }

    /// Swept parameters and their values.
    fn values<'a>(&'a self, of: &'a Configuration) -> impl Iterator<Item = (&'a str, i64)> {
        let sweeps = self.space.sweeps().iter().zip(&of.values);
        sweeps.flat_map(|(sweep, &value)| sweep.names.iter().map(move |name| (name.as_str(), value)))
    }
}

/// What came of it.
struct Explored {
    best: Vec<Best>,
    predicted: u64,
    refusals: Refusals,
    checked: Option<u64>,
}

/// One of the best, with all that is predicted of it.
struct Best {
    configuration: Configuration,
    report: Report,
}

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    let given = devices(&args.device, &args.overrides)?;
    let (devices, named): (Vec<_>, Vec<_>) = given.iter().map(|own| (own.profile.clone(), (own.name.clone(), own.notes.clone()))).unzip();
    let input = Input::read(&args.file, &args.set)?;
    let beside = outside(&input, args.strict)?;
    let fixed: Vec<_> = args.set.iter().map(|own| (own.key.clone(), own.value.clone())).collect();
    if let Some(table) = &args.table {
        beside.iter().for_each(|what| note(format_args!("note: {}", clean(what))));
        return table::run(args, table, &input, &given, &fixed, json);
    }
    let document = input.document.clone();
    let blocks = match args.block_sizes.as_slice() {
        [] if input.written.tied_to_block || document.launched_in_blocks(&fixed) => vec![Blocks::File],
        [] => vec![Blocks::PowersOfTwo],
        given => given.to_vec(),
    };
    let space = Space::new(&document, &fixed, &devices, &blocks, &args.fold, &args.sweep).map_err(|error| refused(error, &input))?;
    let task = Task { input, fixed, document, devices, named, space };
    let explored = explore(args, &task)?;
    if explored.predicted == 0 {
        let (reason, _, first) = explored.refusals.reasons().first().copied().unwrap_or(("there is none", 0, 0));
        let what = format!(
            "none of {} configurations can be predicted, for instance {}: {reason}",
            task.space.len(),
            task.name(&task.space.get(first))
        );
        return Err(Failure::input(what).help("other blocks (--block-sizes), fewer registers (--set registers=64), or another device"));
    }
    beside.iter().for_each(|what| note(format_args!("note: {}", clean(what))));
    given.iter().for_each(Device::say);
    if json { out(json::value(&task, &explored, args)) } else { out(show::text(&task, &explored, args)) }
}

/// Predicts all, and checks some.
fn explore(args: &Args, task: &Task) -> Result<Explored, Failure> {
    let explorer = task.explorer();
    let len = task.space.len();
    let drawn = sample(len, args.sample_check, args.seed);
    let mut sampled = Vec::new();
    let mut ranking = Ranking::new(usize::from(args.top));
    let plot = args.plot.as_deref().map(figures::Canvas::create).transpose()?;
    let breakdown = args.breakdown.as_deref().map(figures::Canvas::create).transpose()?;
    let swept = !task.space.sweeps().is_empty();
    let recorded = match (&args.recorded, task.space.sweeps().first()) {
        (Some(file), Some(sweep)) => Some(figures::recorded(file, sweep.names.first().map_or("", String::as_str))?),
        (Some(_), None) => return Err(Failure::input("--recorded is drawn over a --sweep, and nothing is swept")),
        (None, _) => None,
    };
    let mut winners = Winners::default();
    let mut table = args.csv.as_deref().map(|file| rows::Table::create(file, task)).transpose()?;
    // What is written to is open: a pipe that nobody reads is waited for above.
    progress::catch_interrupt();
    let threads = args.at_once();
    let bar = progress::bar(len as usize, "predicted");
    let row = |index, found: &Result<_, _>| if args.csv.is_some() { rows::row(task, index, found) } else { vec![] };
    let predict = |index, known: &Rc<Known>| {
        let found = explorer.outcome_knowing(index, known);
        let row = row(index, &found);
        (found, row)
    };
    // Those that differ in swept values alone have much in common; results come in the order of the space.
    let together = |alike: &Vec<u64>| -> Vec<_> {
        if progress::interrupted() {
            return vec![];
        }
        let known = Rc::default();
        let found = alike.iter().map(|&index| predict(index, &known)).collect();
        bar.inc(alike.len() as u64);
        found
    };
    for begin in (0..len).step_by(HELD as usize) {
        let alike: Vec<Vec<u64>> = task.space.alike(begin..len.min(begin + HELD)).map(Iterator::collect).collect();
        let mut round: Vec<Option<_>> = (begin..len.min(begin + HELD)).map(|_| None).collect();
        pool::each(
            alike.len() as u64,
            threads,
            |i| together(&alike[i as usize]),
            |i, found| {
                alike[i as usize].iter().zip(found).for_each(|(index, found)| round[(index - begin) as usize] = Some(found));
                Ok(())
            },
        )?;
        if progress::interrupted() {
            return Err(Failure::new(Kind::Interrupted, "interrupted: no file was written"));
        }
        for (index, (found, row)) in (begin..).zip(round.into_iter().flatten()) {
            ranking.take(index, &found);
            if let (Some(_), Ok(outcome)) = (plot.as_ref().filter(|_| swept), &found) {
                winners.take(task.space.along(index).position, index, outcome);
            }
            if let Some(table) = &mut table {
                table.line(&row)?;
            }
            if drawn.contains(&index) {
                sampled.push((index, found));
            }
        }
    }
    bar.finish_and_clear();
    check::compare(task, &sampled)?;
    if let Some(table) = table {
        table.finish()?;
    }
    let checked = (args.sample_check > 0).then_some(sampled.len() as u64);
    let (predicted, refusals) = (ranking.predicted, ranking.refusals.clone());
    let best = ranking.best().into_iter().map(|ranked| best(task, ranked.index)).collect::<Result<_, _>>()?;
    let explored = Explored { best, predicted, refusals, checked };
    if predicted == 0 {
        // There is nothing to draw.
        return Ok(explored);
    }
    if let Some(canvas) = plot {
        canvas.finish(&if swept { figures::layers(task, &winners, threads, recorded)? } else { figures::times(task, &explored) })?;
    }
    if let Some(canvas) = breakdown {
        canvas.finish(&figures::breakdown(task, &explored))?;
    }
    Ok(explored)
}

fn best(task: &Task, index: u64) -> Result<Best, Failure> {
    // It was predicted before.
    let (written, mut report) = task.explorer().report(index).map_err(|refusal| Failure::input(refusal.to_string()))?;
    if written.registers_guessed {
        report.provenance.push(REGISTERS_GUESSED.to_owned());
    }
    let configuration = task.space.get(index);
    report.provenance.extend(task.named[configuration.device].1.iter().cloned());
    Ok(Best { configuration, report })
}

/// Why there is nothing to explore.
fn refused(error: SpaceError, input: &Input) -> Failure {
    let failure = Failure::input(error.to_string());
    match error {
        SpaceError::Text(error) => input.wrong(error),
        SpaceError::Device(_) => failure.help("--block-sizes 256 or 16x4x4 need no number of the profile; or another device"),
        SpaceError::NoParameter { .. } => failure.help("parameters stand under [params] of the file"),
        SpaceError::Tied(_) => failure.help("--block-sizes file without --fold keeps its own; --sweep and several devices remain"),
        SpaceError::InBlocks(_) => failure.help("--set domain=… gives the domain in points"),
        SpaceError::TooMany | SpaceError::Axes { .. } | SpaceError::Twice(_) => failure,
    }
}
