//! What copies of images to local memory cost or gain: the same drawn configurations, the first input in an image, which the work-items of a group
//! copy together or which each fetches by itself, on a simulated device.
//!
//! `cargo run --release -p warpsight-engine --example copied -- DEVICE OPERATOR…`: of each operator the mean (geometric), least and greatest time with
//! copies over that without them, the best of either and what the best with copies is.

use std::error::Error;
use warpsight_engine::search::times;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::{Meeting, ScheduleFamily};
use warpsight_ir::{Config, Family, Seconds};
use warpsight_run::sim::Sim;

/// Configurations that are timed.
const CONFIGS: usize = 96;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let device = args.next().ok_or("a device, then operators")?;
    let sim = Sim::open(&device)?;
    for text in args {
        let family = ScheduleFamily::new(parse_operator(&text)?.steps.into_iter().next().ok_or("no expression")?);
        let knobs = &family.space().knobs;
        let stage = knobs.iter().position(|knob| &*knob.name == "stage").ok_or("nothing is copied")?;
        let name = &family.expr().inputs.first().ok_or("no input")?.name;
        let copies =
            |own: &Config| knobs[stage].labels.get(own.0[stage] as usize).is_some_and(|label| label.split('+').any(|own| *own == **name));
        let image = |own: &Config| family.places(own).is_some_and(|places| places[0].is_image());
        let fetched = |own: &Config| {
            let first = |(knob, value): (&warpsight_ir::Knob, &i32)| if knob.name.starts_with("stage") { knob.values[0] } else { *value };
            Config(knobs.iter().zip(&own.0).map(first).collect())
        };
        let mut drawn = family.sample(1, 6000, Meeting { copies: true, shares: false });
        fastrand::Rng::with_seed(1).shuffle(&mut drawn);
        let both = drawn.into_iter().filter(|own| copies(own) && image(own) && family.layouts(&fetched(own)).is_ok());
        let (copied, fetched): (Vec<Config>, Vec<Config>) = both.take(CONFIGS).map(|own| (own.clone(), fetched(&own))).unzip();
        let longest = Seconds(f64::INFINITY);
        let timed = times(&family, &sim, &copied, longest)?.into_iter().zip(times(&family, &sim, &fetched, longest)?);
        let pairs: Vec<(f64, f64, &Config)> = timed.zip(&copied).filter_map(|((one, two), own)| Some((one?.0, two?.0, own))).collect();
        let ratios: Vec<f64> = pairs.iter().map(|(one, two, _)| one / two).collect();
        let mean = (ratios.iter().map(|own| own.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp();
        let [least, most] = [f64::min as fn(f64, f64) -> f64, f64::max].map(|end| ratios.iter().copied().reduce(end).unwrap_or(f64::NAN));
        let best = pairs.iter().min_by(|a, b| a.0.total_cmp(&b.0)).ok_or("no configuration runs")?;
        let direct = pairs.iter().map(|own| own.1).fold(f64::INFINITY, f64::min);
        println!(
            "{device} {text}: {} configurations, ×{mean:.3} ({least:.3} to {most:.3}); the best {:.1} µs, without copies {:.1}\n    {:?}",
            pairs.len(),
            best.0 * 1e6,
            direct * 1e6,
            family.space().describe(best.2)
        );
    }
    Ok(())
}
