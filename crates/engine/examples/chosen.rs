//! How long choosing takes: processor time of one thread for 540 shapes of `Conv2Ds1` of paper 000's Table 3 (its Table 5 has 1.92 s for all of
//! them; it does not say how many shapes and configurations these are).
//!
//!     cargo run --release -p warpsight-engine --example chosen -- [--shapes N] [--configs N] [--exact N] [--seed N] [--profile FILE.toml]
//!
//! For each shape its space is opened, schedules are drawn until there are so many configurations that the device can run, and these are ranked as
//! `optimize` ranks: all coarsely, the best again exactly (48 of them there; `--exact` says how many here).

#[path = "choose/cases.rs"]
mod cases;

use cases::{Most, OPERATORS, drawn};
use std::error::Error;
use warpsight_generate::ScheduleFamily;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::{Allowance, prune};
use warpsight_ir::profile::Text;
use warpsight_ir::{Config, Profile, RankFamily};
use warpsight_predict::KernelModel;

/// Schedules that are drawn for each configuration that is wanted, at most.
const MOST: usize = 32;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut shapes, mut configs, mut exact, mut seed, mut file) = (540, 500, 48, 20_261_126, "profiles/sim-adreno740.toml".to_owned());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word}: a value is missing"))?;
        match word.as_str() {
            "--shapes" => shapes = value.parse()?,
            "--configs" => configs = value.parse()?,
            "--exact" => exact = value.parse()?,
            "--seed" => seed = value.parse()?,
            "--profile" => file = value,
            _ => return Err(format!("{word}: no such option").into()),
        }
    }
    let text = Text { text: std::fs::read_to_string(&file)?.into(), name: file };
    let on = Profile::read(text, &mut |_, _| Err("it inherits".into())).map_err(|error| error.sentence())?;
    let allowance = Allowance::of(&on);
    let any = Most { macs: f64::INFINITY, bytes: f64::INFINITY };
    let texts = drawn(OPERATORS[1], seed, (shapes, 0), any);
    let (mut parts, mut judged, mut least, mut predicted) = ([0.0; 4], 0, usize::MAX, 0.0);
    for text in &texts {
        let operator = parse_operator(text)?;
        let start = now()?;
        let family = ScheduleFamily::new(operator.steps.into_iter().next().ok_or("no expression")?);
        let opened = now()?;
        let own: Vec<Config> = family.drawn(seed, MOST * configs, allowance.meeting, |_| true, &[]).take(configs + configs / 4).collect();
        let drawn = now()?;
        let mut ranking = KernelModel.ranking(&family, &on, exact)?;
        let mut pruned = prune(&family, own.into_iter(), &allowance);
        for (config, outline) in &mut pruned {
            let _ = ranking.take(config, &outline);
        }
        let coarse = now()?;
        let ranked = ranking.nearest(exact)?;
        let ended = now()?;
        for (part, (from, to)) in parts.iter_mut().zip([(start, opened), (opened, drawn), (drawn, coarse), (coarse, ended)]) {
            *part += to - from;
        }
        judged += pruned.left;
        least = least.min(pruned.left);
        predicted += ranked.first().ok_or("nothing runs")?.estimate.time.0;
    }
    println!(
        "{} shapes, {judged} configurations judged ({least} at least): {:.2} s of one processor (measured): {:.2} to open spaces, {:.2} to draw configurations, \
         {:.2} to judge them, {:.2} to count the best {exact} of each exactly; what is chosen takes {predicted:.3} s in all (predicted)",
        texts.len(),
        parts.iter().sum::<f64>(),
        parts[0],
        parts[1],
        parts[2],
        parts[3]
    );
    Ok(())
}

/// Processor time of this thread, seconds.
fn now() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("no time")?.parse::<f64>()? * 1e-9)
}
