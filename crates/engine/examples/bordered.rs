//! What leaving padding to samplers gains: the same drawn configurations, inputs in images, with bounds and without, on a simulated device.
//!
//! `cargo run --release -p warpsight-engine --example bordered -- DEVICE OPERATOR…`: of each operator how many of the drawn Programs differ, the
//! mean (geometric), least and greatest time without bounds over that with them, and the best of either.

use std::error::Error;
use warpsight_engine::search::times;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::{Meeting, Pass, Passes, ScheduleFamily};
use warpsight_ir::{Config, Seconds};
use warpsight_run::sim::Sim;

/// Configurations that are timed.
const CONFIGS: usize = 24;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let device = args.next().ok_or("a device, then operators")?;
    let sim = Sim::open(&device)?;
    for text in args {
        let step = parse_operator(&text)?.steps.into_iter().next().ok_or("no expression")?;
        let [with, without] = [true, false].map(|on| ScheduleFamily::by(step.clone(), Passes::default().set(Pass::Sampler, on)));
        let mut drawn = with.sample(1, 2000, Meeting::default());
        fastrand::Rng::with_seed(1).shuffle(&mut drawn);
        let images = |own: &Config| with.places(own).is_some_and(|places| places[0].is_image());
        let differ = |own: &Config| with.finish(own).ok().zip(without.finish(own).ok()).is_some_and(|(one, two)| *one != *two);
        let configs: Vec<Config> = drawn.into_iter().filter(|own| images(own) && differ(own)).take(CONFIGS).collect();
        let longest = Seconds(f64::INFINITY);
        let timed = times(&with, &sim, &configs, longest)?.into_iter().zip(times(&without, &sim, &configs, longest)?);
        let pairs: Vec<(f64, f64)> = timed.filter_map(|(one, two)| Some((one?.0, two?.0))).collect();
        let ratios: Vec<f64> = pairs.iter().map(|(one, two)| one / two).collect();
        let mean = (ratios.iter().map(|own| own.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp();
        let [least, most] = [f64::min as fn(f64, f64) -> f64, f64::max].map(|end| ratios.iter().copied().reduce(end).unwrap_or(f64::NAN));
        let best = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).fold(f64::INFINITY, f64::min);
        let (one, two) = (best(|own| own.0), best(|own| own.1));
        println!(
            "{device} {text}: {} configurations, ×{mean:.3} ({least:.3} to {most:.3}); the best {:.1} µs, with bounds {:.1}",
            pairs.len(),
            one * 1e6,
            two * 1e6
        );
    }
    Ok(())
}
