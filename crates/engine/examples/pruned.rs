//! What pruning by hardware leaves of the spaces of paper 001's figure 17, and what is lost by it. Makes bench/pruning.md.
//!
//!     cargo run --release -p warpsight-engine --example pruned -- [--device NAME]… [--op OPERATOR]… [--sample N] [--seed N]
//!         [--with patterns] [--out FILE.md]
//!
//! Devices are simulated, and pruned for by the profile that `optimize` takes there, mostly what a probe found; times are simulated. Of a space all that is left is timed, and as many
//! others that the device can run, drawn by the seed, as the sample has room for: the best of all of these is the best that is known.

use std::collections::HashSet;
use std::error::Error;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Instant;
use warpsight_engine::search::times;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::{Allowance, CRITERIA, Cut, Hardware, Rule, cut};
use warpsight_generate::{Operator, Pass, Passes, ScheduleFamily};
use warpsight_ir::profile::of_simulated;
use warpsight_ir::sample::middle;
use warpsight_ir::{Config, Family, Seconds};
use warpsight_run::sim::Sim;

/// Height and width, channels in and out of the convolutions of paper 001, figure 17.
const FIGURE_17: [[u32; 4]; 4] = [[64, 64, 512, 256], [18, 18, 128, 768], [56, 56, 128, 128], [28, 28, 256, 256]];
/// What a configuration may take of the least so far and be timed to its end: what takes longer is not the best.
const LONGEST: f64 = 1.02;
/// Configurations that are timed between two looks at the least.
const ROUND: usize = 64;

struct Asked {
    devices: Vec<String>,
    operators: Vec<String>,
    sample: usize,
    seed: u64,
    passes: Passes,
    out: Option<PathBuf>,
}

fn asked() -> Result<Asked, Box<dyn Error>> {
    let mut asked = Asked { devices: vec![], operators: vec![], sample: 0, seed: 1, passes: Passes::default(), out: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word}: a value is missing"))?;
        match word.as_str() {
            "--device" => asked.devices.push(value),
            "--op" => asked.operators.push(value),
            "--sample" => asked.sample = value.parse()?,
            "--seed" => asked.seed = value.parse()?,
            "--with" if value == Pass::Patterns.name() => asked.passes = asked.passes.set(Pass::Patterns, true),
            "--out" => asked.out = Some(value.into()),
            _ => return Err(format!("{word} {value}: no such option").into()),
        }
    }
    if asked.devices.is_empty() {
        asked.devices = vec!["adreno640".into()];
    }
    if asked.operators.is_empty() {
        let conv = |[h, w, c, k]: [u32; 4]| format!("conv2d n=1 c={c} h={h} w={w} k={k} r=1 s=1 stride=1 pad=0 dtype=f16s");
        asked.operators = FIGURE_17.into_iter().map(conv).collect();
    }
    Ok(asked)
}

fn main() -> Result<(), Box<dyn Error>> {
    let asked = asked()?;
    let mut page = HEAD.to_owned();
    let mut reductions = vec![];
    for device in &asked.devices {
        for text in &asked.operators {
            let operator: Operator = parse_operator(text)?;
            let family = ScheduleFamily::by(operator.steps.into_iter().next().ok_or("no expression")?, asked.passes);
            let row = row(device, text, &family, (asked.sample, asked.seed))?;
            reductions.push(row.reduction);
            print!("{}", row.line);
            page += &row.line;
        }
    }
    let median = middle(reductions).ok_or("no operator")?;
    writeln!(page, "\nMedian reduction: {:.2} %.", 100.0 * median)?;
    println!("median {:.2} %", 100.0 * median);
    if let Some(out) = &asked.out {
        std::fs::write(out, page)?;
    }
    Ok(())
}

const HEAD: &str = "# Pruning by hardware

Made by the example `pruned` of `engine`: the 1 × 1 convolutions of paper 001's figure 17, halves in memory, every legal configuration (`--space full`), pruned
by `--prune hardware` for the profile by which `optimize` judges the device. `runs`: what the device can run, and has something for; `left`: of these, what no other one beats;
`reduction`: 1 − left / space. `by criterion`: what each criterion drops. `paper001`: what the paper's criteria leave, word by word. `loss`: what the best of what is left takes more than
the best of a sample that has all of it (simulated).

| device | operator | space | runs | left | reduction | by criterion | paper001 | sample | loss |
|---|---|---|---|---|---|---|---|---|---|
";

struct Row {
    line: String,
    reduction: f64,
}

fn row(device: &str, text: &str, family: &ScheduleFamily, (sample, seed): (usize, u64)) -> Result<Row, Box<dyn Error>> {
    let profile = of_simulated(device).ok_or("no such profile")??;
    let allow = Allowance::of(&profile);
    let on = Hardware::of(&profile, allow.residency);
    let space = |rule| cut(family, family.configs(), &allow, &on, rule);
    let start = Instant::now();
    let (runs, hardware) = (space(Rule::None), space(Rule::Hardware));
    eprintln!("{text}: {:.1} s; {:?}", start.elapsed().as_secs_f64(), runs.dropped);
    let paper = space(Rule::Paper001);
    let reduction = 1.0 - hardware.left.len() as f64 / hardware.total().max(1) as f64;
    let by: Vec<String> = CRITERIA.iter().map(|name| format!("{name} {}", hardware.dropped.get(name).unwrap_or(&0))).collect();
    let (timed, loss) = match sample {
        0 => (0, "-".to_owned()),
        _ => loss(device, family, &runs, &hardware, (sample, seed)).map(|(timed, loss)| (timed, format!("{loss:.2} %")))?,
    };
    let line = format!(
        "| sim:{device} ({}) | `{text}` | {} | {} | {} | {:.2} % | {} | {} | {timed} | {loss} |\n",
        profile.name,
        hardware.total(),
        runs.left.len(),
        hardware.left.len(),
        100.0 * reduction,
        by.join(", "),
        paper.left.len(),
    );
    Ok(Row { line, reduction })
}

/// How many were timed, and what the best of what is left takes more than the best of all of these, percent.
fn loss(
    device: &str,
    family: &ScheduleFamily,
    runs: &Cut,
    left: &Cut,
    (sample, seed): (usize, u64),
) -> Result<(usize, f64), Box<dyn Error>> {
    let kept: HashSet<&Config> = left.left.iter().collect();
    let mut others: Vec<Config> = runs.left.iter().filter(|own| !kept.contains(own)).cloned().collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut others);
    others.truncate(sample.saturating_sub(left.left.len()));
    let mut least = f64::INFINITY;
    let survivors = fastest(device, family, &left.left, &mut least)?;
    let rest = fastest(device, family, &others, &mut least)?;
    let named =
        |own: &Option<(f64, Config)>| own.as_ref().map(|own| format!("{:.2} us {:?}", 1e6 * own.0, family.space().describe(&own.1)));
    eprintln!("left: {:?}\nothers: {:?}", named(&survivors), named(&rest));
    let best = survivors.ok_or("nothing that is left runs")?.0;
    Ok((left.left.len() + others.len(), 100.0 * (best / rest.map_or(best, |own| own.0.min(best)) - 1.0)))
}

/// The fastest of configurations, simulated.
fn fastest(device: &str, family: &ScheduleFamily, configs: &[Config], least: &mut f64) -> Result<Option<(f64, Config)>, Box<dyn Error>> {
    let sim = Sim::open(device)?;
    let mut best: Option<(f64, Config)> = None;
    for round in configs.chunks(ROUND) {
        let found = times(family, &sim, round, Seconds(*least * LONGEST))?;
        for (time, config) in found.into_iter().zip(round) {
            let Some(time) = time.filter(|time| time.0.is_finite()) else { continue };
            *least = least.min(time.0);
            if best.as_ref().is_none_or(|best| time.0 < best.0) {
                best = Some((time.0, config.clone()));
            }
        }
    }
    Ok(best)
}
