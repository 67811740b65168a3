//! Whether choosing says the same as before, to the bit: outlines, coarse seconds and exact estimates, an expression and a device a line.
//!
//!     cargo run --release -p warpsight-engine --example same -- [--cases GRID,NEAR] [--schedules N] [--profile FILE.toml]… > before.txt
//!
//! Before a change and after it, and `diff`. Expressions are those of the operators of `choose` at drawn sizes and of all sequences that compute the
//! same. Of each, configurations of some schedules are drawn, judged as `optimize` judges them, and four counted exactly.

#[path = "choose/cases.rs"]
mod cases;

use cases::{Most, OPERATORS, drawn};
use std::error::Error;
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::{Allowance, prune};
use warpsight_generate::{ScheduleFamily, candidates};
use warpsight_ir::profile::{Text, builtin};
use warpsight_ir::{Profile, RankFamily};
use warpsight_predict::KernelModel;

/// Where nobody asks for others: images and waves in step, without images, AMD.
const DEVICES: [&str; 4] = ["sim-adreno740", "sim-mali-g77", "a100-40", "mi250x"];
const SEED: u64 = 20_261_126;
/// Configurations of an expression on a device, evenly spread.
const JUDGED: usize = 60;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut cases, mut schedules, mut devices) = ((2, 1), 12, vec![]);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word}: a value is missing"))?;
        match word.as_str() {
            "--cases" => {
                let (grid, near) = value.split_once(',').ok_or("--cases GRID,NEAR")?;
                cases = (grid.parse()?, near.parse()?);
            }
            "--schedules" => schedules = value.parse()?,
            "--profile" => {
                let text = Text { text: std::fs::read_to_string(&value)?.into(), name: value };
                devices.push(Profile::read(text, &mut |_, _| Err("it inherits".into())).map_err(|error| error.sentence())?);
            }
            _ => return Err(format!("{word}: no such option").into()),
        }
    }
    if devices.is_empty() {
        for name in DEVICES {
            devices.push(builtin(name).ok_or("no such device")?.map_err(|error| error.sentence())?);
        }
    }
    let most = Most { macs: 2e9, bytes: 256e6 };
    for text in OPERATORS.into_iter().flat_map(|operator| drawn(operator, SEED, cases, most)) {
        for way in candidates(&parse_operator(&text)?) {
            for expr in way.operator.kernels() {
                let family = ScheduleFamily::new(expr.clone());
                for on in &devices {
                    println!("{text} | {} | {} | {} | {}", way.name, expr.name, on.name, said(&family, on, schedules)?);
                }
            }
        }
    }
    Ok(())
}

/// How many configurations were judged, and digests of their outlines, coarse seconds and best estimates.
fn said(family: &ScheduleFamily, on: &Profile, schedules: usize) -> Result<String, Box<dyn Error>> {
    let allowance = Allowance::of(on);
    let all = family.sample(SEED, schedules, allowance.meeting);
    let own = all.iter().step_by(all.len().div_ceil(JUDGED).max(1)).cloned();
    let mut ranking = KernelModel.ranking(family, on, 4)?;
    let mut pruned = prune(family, own, &allowance);
    let (mut outlines, mut seconds) = (Digest::default(), Digest::default());
    for (config, outline) in &mut pruned {
        outlines.take(&(&config, &outline));
        seconds.take(&ranking.take(config, &outline));
    }
    let (left, dropped) = (pruned.left, format!("{:?}", pruned.dropped));
    outlines.take(&dropped);
    let mut estimates = Digest::default();
    estimates.take(&ranking.nearest(4).map_err(|error| error.to_string()));
    Ok(format!("{} drawn, {left} judged | {:x} {:x} {:x}", all.len(), outlines.state(), seconds.state(), estimates.state()))
}

#[derive(Default)]
struct Digest(DefaultHasher);

impl Digest {
    /// Numbers are written with all their digits.
    fn take(&mut self, what: &impl Debug) {
        format!("{what:?}").hash(&mut self.0);
    }

    fn state(&self) -> u64 {
        self.0.finish()
    }
}
