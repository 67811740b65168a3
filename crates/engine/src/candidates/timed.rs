//! Which of an operator's sequences is taken where several may be timed: the fastest of those that the model expects to be close.

use super::{Chosen, Considered, Offer, choose_within, offered};
use crate::EngineError;
use crate::found::Found;
use crate::network::{Doing, Network};
use crate::tune::{self, Attempt, Judge};
use fastrand::Rng;
use warpsight_generate::{Operator, ScheduleFamily};
use warpsight_graph::Plan;
use warpsight_ir::{Seconds, TimeSource};
use warpsight_run::Device;

/// Sequences that the model expects to take more than this times what the one it chose does are not timed, nor are more than so many.
const CLOSE: f64 = 1.5;
const MOST: usize = 4;

/// Times the sequences that are close to the one that the model chose, each with as many configurations of its kernels as the judge times, and takes the
/// fastest, with the gaps between kernels that the profile knows of; the model's where the device has no clock, or none of them works. What each took stands in [`Considered::timed`].
///
/// # Errors
/// As of [`super::choose`]; those of the device that no other kernel escapes, and [`EngineError::Interrupted`] where `goes_on` says so.
pub fn choose(
    operator: &Operator,
    judge: &Judge,
    offer: &Offer,
    (device, rng): (&mut dyn Device, &mut Rng),
    observe: &mut dyn FnMut(&ScheduleFamily, &Attempt) -> Result<(), EngineError>,
    goes_on: &mut dyn FnMut(&'static str) -> bool,
) -> Result<Chosen, EngineError> {
    let mut chosen = choose_within(operator, judge, offer, CLOSE)?;
    let predicted = |own: &Considered| own.time.filter(|_| own.whole).map(|time| time.0);
    let first = chosen.considered.iter().find(|own| own.name == chosen.taken.name).and_then(predicted);
    let Some(most) = first.filter(|_| device.info().clock.is_some()).map(|first| CLOSE * first) else { return Ok(chosen) };
    let all = chosen.considered.iter().enumerate().filter_map(|(position, own)| Some((predicted(own)?, position)));
    let mut close: Vec<(f64, usize)> = all.filter(|own| own.0 <= most).collect();
    close.sort_by(|a, b| a.0.total_cmp(&b.0));
    close.truncate(MOST);
    if close.len() < 2 {
        return Ok(chosen);
    }
    let all = offered(operator, offer);
    let mut least = f64::INFINITY;
    for (_, position) in close {
        let name = chosen.considered[position].name;
        if !goes_on(name) {
            return Err(EngineError::Interrupted);
        }
        let Some(candidate) = all.iter().find(|own| own.name == name) else { continue };
        let time = match taken(operator, &candidate.operator, judge, device, rng, observe) {
            Err(EngineError::NothingVerified { .. } | EngineError::NoPlace { .. }) => None,
            time => time?,
        };
        chosen.considered[position].timed = time.as_ref().map(|(times, source)| (times.iter().copied().sum(), *source));
        // What lies between kernels is not in their times.
        let together = time.map(|(times, _)| judge.profile.in_turn(times).0);
        if let Some(time) = together.filter(|&time| time < least) {
            (least, chosen.taken) = (time, candidate.clone());
        }
    }
    Ok(chosen)
}

/// What each kernel of a sequence takes on a device.
fn taken(
    operator: &Operator,
    sequence: &Operator,
    judge: &Judge,
    device: &mut dyn Device,
    rng: &mut Rng,
    observe: &mut dyn FnMut(&ScheduleFamily, &Attempt) -> Result<(), EngineError>,
) -> Result<Option<(Vec<Seconds>, TimeSource)>, EngineError> {
    // A kernel by itself has its tensors wherever it likes, as it will run.
    if let (Some(step), 1) = (sequence.kernels().next(), sequence.steps.len()) {
        let family = ScheduleFamily::by(step.clone(), judge.passes);
        let (_, ranked) = tune::rank_all(&family, judge)?;
        let again = |tight: &Judge| Ok(tune::rank_all(&family, tight)?.1);
        let tuned = tune::choose_fitting(&family, &ranked, judge, device, rng, &mut |attempt| observe(&family, attempt), again)?;
        return Ok(tuned.time.map(|(time, source)| (vec![time], source)));
    }
    let mut plan = Plan::of_operator(operator, |n| (0..n).map(|_| rng.f64() * 2.0 - 1.0).collect());
    if sequence != operator {
        plan.replace(0, sequence.clone());
    }
    let network = Network::by(&plan, judge.passes)?;
    let choice = network.optimize(judge, &Found::default(), device, rng, observe, &mut |_: Doing, _| true)?;
    let times = network.steps.iter().map(|step| choice.tuned[&network.key(&choice.selection, step)].time);
    let times: Option<Vec<(Seconds, TimeSource)>> = times.collect();
    Ok(times.and_then(|all| Some((all.iter().map(|own| own.0).collect(), all.last()?.1))))
}
