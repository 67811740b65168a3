//! What the unmeasured pick of an operator loses to the best of many configurations, and how many of those that are proposed compile and run.
//!
//!     cargo run --release -p warpsight-engine --example picked -- [--device DEVICE]… [--op OPERATOR]… [--model N] [--drawn N] [--seed N]
//!         [--again N] [--cases GRID,NEAR] [--exhaustive N]
//!
//! Of each kernel of an operator as it is (no other sequence) the model's N best (50) and N drawn by the seed (400), of all that the device can
//! run, are compiled and run: `ran`, `slower` (simulated: given up since they take several times as long as the best), and the rest by why they
//! do not. On a device that measures results are verified, and times are of the processor where that is told. The pick, the model's eight
//! best and the fastest five others are then timed again, N times in turn (5), and medians count. `loss` is of the pick, `top 8` of the best of
//! the model's eight. With `--cases` operators are drawn as `choose` draws them, of 4e6 multiply-adds at most; else they are a product and four
//! convolutions of ResNet-18.
//!
//! With `--exhaustive` N of the default space of `--search exhaustive` are simulated instead, drawn by the seed, as that search does: what all of it
//! would take follows from what these do.

#[path = "choose/cases.rs"]
mod cases;

use cases::{Most, OPERATORS, drawn};
use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;
use warpsight_engine::search::{LONGEST, launchable, times};
use warpsight_engine::tune::{self, Attempt, Judge};
use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::{Allowance, prune};
use warpsight_generate::{Passes, ScheduleFamily};
use warpsight_ir::sample::{Status, median};
use warpsight_ir::{Config, Family, Profile, Ranked, Seconds, profile};
use warpsight_predict::KernelModel;
use warpsight_run::sim::Sim;
use warpsight_run::{Device, Options};

const FEW: [&str; 5] = [
    "matmul m=197 n=768 k=768",
    "conv2d n=1 c=64 h=56 w=56 k=64 r=3 s=3 stride=1 pad=1",
    "conv2d n=1 c=64 h=56 w=56 k=128 r=1 s=1 stride=2 pad=0",
    "conv2d n=1 c=128 h=28 w=28 k=256 r=3 s=3 stride=2 pad=1",
    "conv2d n=1 c=512 h=7 w=7 k=512 r=3 s=3 stride=1 pad=1",
];
const MOST: Most = Most { macs: 4e6, bytes: 16e6 };
/// What a configuration may take of the least so far and be simulated to its end.
const SLOWER: f64 = 4.0;
/// Configurations of the default space of an exhaustive search.
const DEFAULT: usize = 12_000;
/// Configurations that are simulated between two looks at the least.
const ROUND: usize = 64;
/// The model's best that `--top 8` times, and the fastest that are timed again beside them.
const TOP: usize = 8;
const FASTEST: usize = 5;

struct Asked {
    devices: Vec<String>,
    operators: Vec<String>,
    model: usize,
    drawn: usize,
    seed: u64,
    again: usize,
    exhaustive: Option<usize>,
}

fn asked() -> Result<Asked, Box<dyn Error>> {
    let mut asked = Asked { devices: vec![], operators: vec![], model: 50, drawn: 400, seed: 1, again: 5, exhaustive: None };
    let mut words = std::env::args().skip(1);
    let mut counts = None;
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word}: a value is missing"))?;
        match word.as_str() {
            "--device" => asked.devices.push(value),
            "--op" => asked.operators.push(value),
            "--model" => asked.model = value.parse()?,
            "--drawn" => asked.drawn = value.parse()?,
            "--seed" => asked.seed = value.parse()?,
            "--again" => asked.again = value.parse()?,
            "--exhaustive" => asked.exhaustive = Some(value.parse()?),
            "--cases" => {
                let (grid, near) = value.split_once(',').ok_or("--cases GRID,NEAR")?;
                counts = Some((grid.parse()?, near.parse()?));
            }
            _ => return Err(format!("{word}: no such option").into()),
        }
    }
    if let Some(counts) = counts {
        asked.operators.extend(OPERATORS.iter().flat_map(|operator| drawn(operator, asked.seed, counts, MOST)));
    } else if asked.operators.is_empty() {
        asked.operators = FEW.map(str::to_owned).to_vec();
    }
    if asked.devices.is_empty() {
        asked.devices.push("opencl:0".into());
    }
    Ok(asked)
}

/// What came of a configuration.
enum Came {
    Ran(Seconds),
    Slower,
    Not(&'static str),
}

/// Where configurations run.
enum On {
    Simulated(Box<Sim>),
    Device(Box<dyn Device>),
}

struct Bench<'a> {
    family: &'a ScheduleFamily,
    judge: &'a Judge<'a>,
    rng: fastrand::Rng,
}

impl Bench<'_> {
    /// Runs configurations, the first ones first.
    fn run(&mut self, all: &[Ranked], on: &mut On) -> Result<Vec<Came>, Box<dyn Error>> {
        let mut came = vec![];
        match on {
            On::Simulated(sim) => {
                let mut least = f64::INFINITY;
                for round in all.chunks(ROUND) {
                    let configs: Vec<Config> = round.iter().map(|own| own.config.clone()).collect();
                    for time in times(self.family, sim, &configs, Seconds(least * SLOWER))? {
                        least = least.min(time.map_or(f64::INFINITY, |time| time.0));
                        came.push(
                            time.map_or(Came::Not("not_run"), |time| if time.0.is_finite() { Came::Ran(time) } else { Came::Slower }),
                        );
                    }
                }
            }
            On::Device(device) => {
                for own in all {
                    came.push(self.measure(own, &mut **device)?);
                }
            }
        }
        Ok(came)
    }

    fn measure(&mut self, own: &Ranked, device: &mut dyn Device) -> Result<Came, Box<dyn Error>> {
        let mut why = "not_run";
        let mut observe = |attempt: &Attempt| {
            why = match attempt.status {
                Status::BuildFailed(_) => "build_failed",
                Status::Wrong(_) => "wrong",
                Status::DeviceLost(_) => "device_lost",
                _ => "not_run",
            };
            Ok(())
        };
        let done = tune::attempt(self.family, own, self.judge, device, &mut self.rng, &mut observe)?;
        let time = match &done {
            Ok(tuned) => Some(tuned.cpu_time.or(tuned.time.map(|own| own.0)).ok_or("the device has no clock")?),
            Err(error) => {
                eprintln!("{why}: {error}: {:?}", self.family.space().describe(&own.config));
                None
            }
        };
        Ok(time.map_or(Came::Not(why), Came::Ran))
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    if let Some(code) = warpsight_run::child_main() {
        return Ok(code);
    }
    let asked = asked()?;
    if let Some(drawn) = asked.exhaustive {
        return exhaustive(&asked, drawn).map(|()| ExitCode::SUCCESS);
    }
    println!(
        "| device | operator | kernel | proposed | ran | slower | not | pick us | best us | loss | top 8 |\n|---|---|---|---|---|---|---|---|---|---|---|"
    );
    let (mut proposed, mut refused, mut losses) = (0, 0, vec![]);
    for name in &asked.devices {
        let (mut on, profile) = match name.strip_prefix("sim:") {
            Some(device) => (On::Simulated(Box::new(Sim::open(device)?)), profile::of_simulated(device).ok_or("no such profile")??),
            None => (On::Device(warpsight_run::open(name, &Options::default())?), warpsight_run::host::host_profile()),
        };
        for text in &asked.operators {
            let operator = parse_operator(text)?;
            for step in operator.kernels() {
                let row = row((name, text), ScheduleFamily::new(step.clone()), &profile, &mut on, &asked)?;
                proposed += row.proposed;
                refused += row.refused;
                losses.extend(row.losses);
            }
        }
    }
    let part = 100.0 * (1.0 - refused as f64 / proposed.max(1) as f64);
    let mean = |n: usize| losses.iter().map(|own: &[f64; 2]| own[n]).sum::<f64>() / losses.len().max(1) as f64;
    println!(
        "\n{proposed} proposed, {refused} of them do not compile and run: {part:.2} % do. Mean loss {:.1} %, of the best of 8 {:.1} %.",
        mean(0),
        mean(1)
    );
    Ok(ExitCode::SUCCESS)
}

/// Simulates a part of what an exhaustive search does.
fn exhaustive(asked: &Asked, drawn: usize) -> Result<(), Box<dyn Error>> {
    println!("| device | kernel | space | can be launched | simulated | given up | s | all, s |\n|---|---|---|---|---|---|---|---|");
    for (name, text) in asked.devices.iter().flat_map(|name| asked.operators.iter().map(move |text| (name, text))) {
        let device = name.strip_prefix("sim:").ok_or("--exhaustive is of simulated devices")?;
        let (sim, profile) = (Sim::open(device)?, profile::of_simulated(device).ok_or("no such profile")??);
        let allowance = Allowance::of(&profile);
        let judge = Judge { profile: &profile, model: &KernelModel, allowance, passes: Passes::default(), top: 1, runs: 5 };
        for step in parse_operator(text)?.kernels() {
            let family = ScheduleFamily::new(step.clone());
            let space = family.some(DEFAULT);
            let able: Vec<Config> = prune(&family, space.iter().cloned(), &launchable(&sim.info().limits)).map(|own| own.0).collect();
            let pick = tune::rank(&family, space.iter().cloned(), &judge)?.1.remove(0).config;
            let mut some = able.clone();
            fastrand::Rng::with_seed(asked.seed).shuffle(&mut some);
            some.truncate(drawn);
            let begun = Instant::now();
            let mut least = times(&family, &sim, &[pick], Seconds(f64::INFINITY))?.remove(0).map_or(f64::INFINITY, |time| time.0);
            let mut slower = 0;
            for round in some.chunks(ROUND) {
                let found = times(&family, &sim, round, Seconds(least * LONGEST))?;
                slower += found.iter().flatten().filter(|time| time.0.is_infinite()).count();
                least = found.iter().flatten().fold(least, |least, time| least.min(time.0));
            }
            let took = begun.elapsed().as_secs_f64();
            let all = took * able.len() as f64 / some.len().max(1) as f64;
            let kernel = family.name();
            println!("| {name} | {kernel} | {} | {} | {} | {slower} | {took:.1} | {all:.0} |", space.len(), able.len(), some.len());
        }
    }
    Ok(())
}

struct Row {
    proposed: usize,
    refused: usize,
    /// Of the pick and of the best of the model's first few, percent.
    losses: Option<[f64; 2]>,
}

fn row((name, text): (&str, &str), family: ScheduleFamily, profile: &Profile, on: &mut On, asked: &Asked) -> Result<Row, Box<dyn Error>> {
    let begun = Instant::now();
    let judge = Judge {
        profile,
        model: &KernelModel,
        allowance: Allowance::of(profile),
        passes: Passes::default(),
        top: asked.model.max(TOP),
        runs: 5,
    };
    let mut all = tune::rank_all(&family, &judge)?.1;
    all.truncate(asked.model.max(TOP));
    let top = all.len().min(TOP);
    let best: HashSet<Config> = all.iter().map(|own| own.config.clone()).collect();
    let mut others: Vec<Config> =
        prune(&family, family.configs(), &judge.allowance).map(|own| own.0).filter(|own| !best.contains(own)).collect();
    let mut rng = fastrand::Rng::with_seed(asked.seed);
    rng.shuffle(&mut others);
    for config in others.into_iter().take(asked.drawn) {
        all.extend(tune::rank(&family, std::iter::once(config), &judge).map(|own| own.1).unwrap_or_default());
    }
    let mut bench = Bench { family: &family, judge: &judge, rng };
    let came = bench.run(&all, on)?;
    let mut not: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut ran, mut slower) = (vec![], 0);
    for (at, came) in came.iter().enumerate() {
        match came {
            Came::Ran(time) => ran.push((time.0, at)),
            Came::Slower => slower += 1,
            Came::Not(why) => *not.entry(why).or_default() += 1,
        }
    }
    // The model's first few in its order, the others by what they took.
    let mut finals: Vec<usize> = ran.iter().map(|own| own.1).filter(|&at| at < top).collect();
    let first = finals.len();
    ran.sort_by(|a, b| a.0.total_cmp(&b.0));
    finals.extend(ran.iter().map(|own| own.1).filter(|&at| at >= top).take(FASTEST));
    let timed = again(&mut bench, &finals.iter().map(|&at| all[at].clone()).collect::<Vec<_>>(), on, asked.again)?;
    let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    let best = least(&timed);
    // Of a pick that did not run nothing is said.
    let pick = timed.first().filter(|time| finals.first() == Some(&0) && time.is_finite());
    let losses = pick.map(|pick| [*pick, least(&timed[..first])].map(|own| 100.0 * (own / best - 1.0)));
    let words = |own: Option<f64>, unit: &str| own.map_or("-".to_owned(), |own| format!("{own:.1}{unit}"));
    println!(
        "| {name} | `{text}` | {} | {} | {} | {slower} | {not:?} | {} | {} | {} | {} |",
        family.name(),
        all.len(),
        ran.len(),
        words(losses.map(|_| 1e6 * timed[0]), ""),
        words(losses.map(|_| 1e6 * best), ""),
        words(losses.map(|own| own[0]), " %"),
        words(losses.map(|own| own[1]), " %"),
    );
    if let Some(at) = (0..timed.len()).min_by(|&a, &b| timed[a].total_cmp(&timed[b])) {
        let knobs = |own: usize| family.space().describe(&all[own].config);
        eprintln!("{:.0} s; pick {:?}; best, {} in rank, {:?}", begun.elapsed().as_secs_f64(), knobs(0), finals[at], knobs(finals[at]));
    }
    Ok(Row { proposed: all.len(), refused: not.values().sum(), losses })
}

/// What each takes, timed again in turn where time is measured: medians.
fn again(bench: &mut Bench, finals: &[Ranked], on: &mut On, rounds: usize) -> Result<Vec<f64>, Box<dyn Error>> {
    let rounds = if matches!(on, On::Simulated(_)) { 1 } else { rounds.max(1) };
    let mut all: Vec<Vec<Seconds>> = vec![vec![]; finals.len()];
    for _ in 0..rounds {
        for (times, came) in all.iter_mut().zip(bench.run(finals, on)?) {
            times.extend(if let Came::Ran(time) = came { Some(time) } else { None });
        }
    }
    Ok(all.iter().map(|times| median(times).map_or(f64::INFINITY, |time| time.0)).collect())
}
