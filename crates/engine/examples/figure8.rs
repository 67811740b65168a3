//! Which pattern of access is best by the shape of the output: figure 8 of paper 000.
//!
//!     cargo run --release -p warpsight-engine --example figure8 -- [--device NAME] [--profile FILE.toml] [--from N] [--to N] [--tried N]
//!
//! SoftMax and MatMul are said to leave blocks as shapes grow, Conv2Ds1 and DwConv2D to keep them. Heights and widths are powers of two from 2^FROM to
//! 2^TO. Of each pattern that the first input may lie in, the model's best configurations (`--tried`) of those drawn are timed on the
//! simulator; the best counts. Beside it how many times as fast that is as the best of what has neither tiles nor patterns. Times are simulated.

#[path = "choose/kinds.rs"]
mod kinds;

use kinds::{is_plain, is_vanilla, words};
use std::error::Error;
use warpsight_engine::search::times;
use warpsight_engine::tune::{self, Judge};
use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::Allowance;
use warpsight_generate::{Pass, Passes, ScheduleFamily, candidates};
use warpsight_ir::profile::Text;
use warpsight_ir::{Config, Family, Profile, Seconds};
use warpsight_predict::KernelModel;
use warpsight_run::sim::Sim;

/// Places of the first input, and their names in the paper.
const PATTERNS: [(&str, &str); 6] = [
    ("image_column", "column"),
    ("image", "row"),
    ("image_block2", "block-2"),
    ("image_block4", "block-4"),
    ("image_block8", "block-8"),
    ("buffer", "buffer"),
];
/// Schedules that are drawn of a space.
const DRAWN: usize = 400;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut device, mut file, mut from, mut to, mut tried) = ("adreno740".to_owned(), "profiles/sim-adreno740.toml".to_owned(), 4, 6, 6);
    let mut options = std::env::args().skip(1);
    while let Some(word) = options.next() {
        let value = options.next().ok_or_else(|| format!("{word}: a value is missing"))?;
        match word.as_str() {
            "--device" => device = value,
            "--profile" => file = value,
            "--from" => from = value.parse()?,
            "--to" => to = value.parse()?,
            "--tried" => tried = value.parse()?,
            _ => return Err(format!("{word}: no such option").into()),
        }
    }
    let text = Text { text: std::fs::read_to_string(&file)?.into(), name: file };
    let on = Profile::read(text, &mut |_, _| Err("it inherits".into())).map_err(|error| error.sentence())?;
    let sim = Sim::open(&device)?;
    let passes = Passes::default().set(Pass::Patterns, true);
    println!(
        "| operator | height x width | best | over vanilla | {} | configuration |",
        PATTERNS.map(|own| format!("{} us", own.1)).join(" | ")
    );
    println!("|---|---|---|---|{}---|", "---|".repeat(PATTERNS.len()));
    for kind in ["SoftMax", "MatMul", "Conv2Ds1", "DwConv2D"] {
        for (height, width) in (from..=to).flat_map(|h| (from..=to).map(move |w| (1_i64 << h, 1_i64 << w))) {
            let text = match kind {
                "SoftMax" => format!("softmax n={height} c={width}"),
                "MatMul" => format!("matmul m={height} n={width} k=64"),
                "Conv2Ds1" => format!("conv2d n=1 c=16 h={height} w={width} k=16 r=3 s=3 stride=1 pad=1"),
                _ => format!("dwconv2d n=1 c=32 h={height} w={width} r=3 s=3 stride=1 pad=1"),
            };
            let operator = parse_operator(&text)?;
            let ways = candidates(&operator);
            let one = ways.iter().find(|way| way.operator.steps.len() == 1).ok_or("several kernels")?;
            let family = ScheduleFamily::by(one.operator.steps[0].clone(), passes);
            let judge = Judge { profile: &on, model: &KernelModel, allowance: Allowance::of(&on), passes, top: tried, runs: 5 };
            println!("| {kind} | {height} x {width} | {} |", row(&family, &judge, &sim, tried)?);
        }
    }
    Ok(())
}

/// The cells of a shape.
fn row(family: &ScheduleFamily, judge: &Judge, sim: &Sim, tried: usize) -> Result<String, Box<dyn Error>> {
    let drawn = family.sample(1, DRAWN, judge.allowance.meeting);
    let place = format!("place_{}", family.expr().inputs[0].name);
    let lies = |config: &Config| family.space().describe(config).get(place.as_str()).map(ToString::to_string);
    let fastest = |configs: Vec<Config>| -> Result<Option<(f64, Config)>, Box<dyn Error>> {
        let Ok((_, ranked)) = tune::rank(family, configs.into_iter(), judge) else { return Ok(None) };
        let few: Vec<Config> = ranked.into_iter().take(tried).map(|own| own.config).collect();
        let taken = times(family, sim, &few, Seconds(f64::INFINITY))?.into_iter().zip(few);
        let taken = taken.filter_map(|(time, config)| Some((time?.0, config)));
        Ok(taken.min_by(|a, b| a.0.total_cmp(&b.0)))
    };
    let mut all = vec![];
    for (label, name) in PATTERNS {
        let own = drawn.iter().filter(|config| lies(config).as_deref() == Some(label)).cloned().collect();
        all.push((name, fastest(own)?));
    }
    let plain: Vec<Config> = family.configs().filter(|config| is_vanilla(family, config)).collect();
    // Of what has no such configuration at all, what has no patterns stands for it.
    let plain = if plain.is_empty() { drawn.iter().filter(|config| is_plain(family, config)).cloned().collect() } else { plain };
    let vanilla = fastest(plain)?.map(|own| own.0);
    let best = all.iter().filter_map(|own| Some((own.0, own.1.as_ref()?))).min_by(|a, b| a.1.0.total_cmp(&b.1.0)).ok_or("nothing runs")?;
    let us = |own: &Option<(f64, Config)>| own.as_ref().map_or("-".to_owned(), |own| format!("{:.2}", 1e6 * own.0));
    let cells: Vec<String> = all.iter().map(|own| us(&own.1)).collect();
    let gained = vanilla.map_or("-".to_owned(), |vanilla| format!("×{:.2}", vanilla / best.1.0));
    Ok(format!("{} | {gained} | {} | {}", best.0, cells.join(" | "), words(family, &best.1.1)))
}
