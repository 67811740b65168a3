//! Kernels of several shapes, run where it matters.

use super::{Kept, Observer, Shape};
use crate::EngineError;
use crate::dynamic::generic::Generic;
use crate::tune::{self, Judge, refused};
use crate::verify::{Trial, Verdict};
use fastrand::Rng;
use warpsight_generate::ScheduleFamily;
use warpsight_ir::sample::median;
use warpsight_ir::{Checked, Config, Seconds, TimeSource};
use warpsight_run::{Device, TimingSpec};

/// A shape at which a kernel ran, and was right.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The position of the shape.
    pub shape: usize,
    /// How right.
    pub verdict: Verdict,
    /// What it took; `None` where it was not timed, or the device has no clock.
    pub time: Option<(Seconds, TimeSource)>,
    /// What the shape's own choice takes there, where it runs.
    pub own: Option<Seconds>,
}

impl Tried {
    /// What the shape loses by the kernel: 0.05 where it takes 5 % longer than the shape's own choice.
    pub fn loss(&self) -> Option<f64> {
        Some(self.time?.0.0 / self.own?.0 - 1.0)
    }
}

/// A result, or why there is none.
type Ran = Result<(Verdict, Option<(Seconds, TimeSource)>), String>;

fn run(
    family: &ScheduleFamily,
    config: &Config,
    program: &Checked,
    sizes: Vec<i64>,
    runs: Option<u32>,
    device: &mut dyn Device,
    rng: &mut Rng,
) -> Result<Ran, EngineError> {
    let layouts = family.layouts(config)?;
    let trial = Trial::new(family.expr(), &layouts, rng);
    let timing = runs.filter(|_| device.info().clock.is_some()).map(TimingSpec::runs);
    let mut job = trial.job(program, timing);
    job.launches.iter_mut().for_each(|launch| launch.sizes = sizes.clone());
    let result = match device.run(&job) {
        Ok(result) => result,
        Err(error) => return refused(&error).map(|_| Err(error.to_string())),
    };
    let times: Vec<Seconds> = result.timed.times.first().map(|times| times.iter().collect()).unwrap_or_default();
    Ok(trial.judge(&result).map(|verdict| (verdict, median(&times).zip(result.timed.source))).map_err(|wrong| wrong.to_string()))
}

/// Keeps of the simpler forms of a kernel those at all of whose shapes it is right, which are given as [`Generic::of`] takes them.
///
/// # Errors
/// A device that is lost.
pub fn simpler(
    generic: &mut Generic,
    shapes: &[(usize, i64, &ScheduleFamily, Config)],
    device: &mut dyn Device,
    rng: &mut Rng,
) -> Result<(), EngineError> {
    let mut right = vec![];
    for form in std::mem::take(&mut generic.simpler) {
        let mut all = true;
        for (_, value, family, config) in shapes.iter().filter(|own| form.contains(&own.0)) {
            all = all && run(family, config, &generic.program, vec![*value], None, device, rng)?.is_ok();
        }
        right.extend(all.then_some(form));
    }
    generic.simpler = right;
    Ok(())
}

/// Runs and times a kernel at the first and the last shape that it serves, and at the greatest prime size between, beside the shape's own choice; where it has a
/// Program for each shape, all others run, too. The inner error says where and why it is wrong.
pub fn verify(
    kept: &Kept,
    shapes: &[Shape],
    judge: &Judge,
    device: &mut dyn Device,
    rng: &mut Rng,
    observe: &mut Observer,
) -> Result<Result<Vec<Tried>, String>, EngineError> {
    let prime = kept.serves.iter().rev().find(|&&shape| shapes[shape].sizes.iter().any(|&size| is_prime(size)));
    let ends: Vec<usize> = kept.serves.first().into_iter().chain(prime).chain(kept.serves.last()).copied().collect();
    let mut all = vec![];
    for &shape in kept.serves.iter().filter(|shape| kept.generic.is_none() || ends.contains(shape)) {
        let runs = ends.contains(&shape).then_some(judge.runs);
        let Shape { family, sizes, ranked, .. } = &shapes[shape];
        let Some(config) = kept.meant.at(&shapes[shape], shapes) else { return Ok(Err(format!("not legal at {sizes:?}"))) };
        let ran = match &kept.generic {
            Some(generic) => run(family, &config, &generic.program, vec![sizes[0]], runs, device, rng)?,
            None => run(family, &config, &family.finish(&config)?, vec![], runs, device, rng)?,
        };
        let (verdict, time) = match ran {
            Ok(own) => own,
            Err(reason) => return Ok(Err(format!("at {sizes:?}: {reason}"))),
        };
        // Where it is the shape's own choice, and no other Program, it is not timed again.
        let own = match ranked.first().filter(|_| runs.is_some()) {
            Some(first) if kept.generic.is_none() && first.config == config => time.map(|time| time.0),
            Some(first) => tune::attempt(family, first, judge, device, rng, &mut |attempt| observe(family, attempt))?
                .ok()
                .and_then(|own| own.time)
                .map(|time| time.0),
            None => None,
        };
        all.push(Tried { shape, verdict, time, own });
    }
    Ok(Ok(all))
}

fn is_prime(n: i64) -> bool {
    n >= 2 && (2..).take_while(|d| d * d <= n).all(|d| n % d != 0)
}
