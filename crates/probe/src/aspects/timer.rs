//! The clock's step, and what a launch takes that does nothing.

use super::ask::{Answer, Asked, Series, Spread, points, told};
use super::kernels::chains::Chains;
use super::kernels::pairs::nothing;
use super::steady::plan;
use super::{Aspect, Seen};
use crate::{Context, Curve, Findings, Needs, Phase, Record};
use warpsight_ir::profile::{Fact, Source};

const NAME: &str = "timer";
/// Trips of the launches that are timed: differences of these have no common divisor.
const TRIPS: [u64; 13] = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377];
/// So many different times lie on multiples of a step by chance hardly ever.
const DISTINCT: usize = 8;
/// Parts that the least difference of times may be of a step.
const PARTS: u32 = 12;
/// How far from a multiple a time may be, in steps.
const OFF: f64 = 0.02;

pub(super) fn aspect() -> Aspect {
    Aspect {
        phase: Phase {
            name: NAME,
            purpose: "the step of the clock and the time of a launch that does nothing, which all other times contain",
            needs: Needs::Programs,
            share: 0.2,
            plan: |_: &Context| plan(NAME, measured),
        },
        analyse,
    }
}

/// Seconds of a launch that does nothing, and of others by their trips.
fn measured(asked: &Asked) -> Answer<(Spread, Series<u64>)> {
    let chain = Chains { groups: 1, lanes: 1, chains: 1, steps: 16, waits: false }.kernel();
    let empty = asked.time(&nothing(), 0)?;
    let times: Answer<_> = TRIPS.iter().map(|&trips| Ok((trips, asked.time(&chain, trips)?))).collect();
    Ok((empty, times?))
}

fn analyse(seen: &Seen) -> Findings {
    let mut found = Findings::default();
    let (empty, times) = match told(measured(&Asked::new(NAME, seen.records))) {
        Ok(measured) => measured,
        Err(why) => {
            unknown(&mut found, &["launch.overhead_s", "timer.quantum_s"], &why);
            return found;
        }
    };
    found.number("launch.overhead_s", empty.fact("a launch of one work-item that does nothing"));
    found.number("timer.quantum_s", quantum(seen.of(NAME)));
    found.curves.push(Curve {
        title: "time of a launch against its trips".into(),
        x: "trips of 16 dependent multiply-adds".into(),
        y: "s".into(),
        points: points(&times),
        ..Curve::default()
    });
    found
}

/// The step of which all times are multiples.
fn quantum<'r>(records: impl Iterator<Item = &'r Record>) -> Fact<f64> {
    let mut times: Vec<f64> = records.flat_map(|record| &record.times_s).copied().filter(|t| t.is_finite()).collect();
    times.sort_by(f64::total_cmp);
    // Sums of steps are rounded: what is nearer than that is one time.
    times.dedup_by(|a, b| (*a - *b).abs() <= 1e-12 * a.abs());
    let (Some(&first), true) = (times.first(), times.len() >= DISTINCT) else {
        return Fact::unknown(format!("only {} different times were seen", times.len()));
    };
    let least = times.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
    let on_steps = |step: &f64| times.iter().all(|t| (((t - first) / step) - ((t - first) / step).round()).abs() <= OFF);
    let step = (1..=PARTS).map(|parts| least / f64::from(parts)).find(on_steps);
    let several = times.len();
    match step {
        Some(step) => {
            // The longest difference tells it best.
            let longest = times[several - 1] - first;
            let step = longest / (longest / step).round();
            Fact::between(
                step * (1.0 - OFF),
                step,
                step * (1.0 + OFF),
                Source::Measured,
                format!("{several} times are multiples of it apart"),
            )
        }
        None => Fact::absent(format!("{several} different times, {least:.2e} s apart and more, have no step in common")),
    }
}

/// The reason, where an algorithm found none of the facts that these keys stand for.
pub(super) fn unknown(found: &mut Findings, keys: &[&str], why: &str) {
    keys.iter().for_each(|key| found.number(*key, Fact::unknown(why)));
}

#[cfg(test)]
mod tests {
    use super::super::ask::Stop;
    use super::*;

    fn record(times: &[f64]) -> Record {
        Record { times_s: times.to_vec(), ..Record::skipped(NAME, "", "") }
    }

    #[test]
    fn times_on_steps_tell_the_step_and_others_that_there_is_none() {
        let steps = [100, 103, 107, 112, 118, 130, 147, 190, 255].map(|n| f64::from(n) * 52e-9);
        let step = quantum([record(&steps[..4]), record(&steps[4..])].iter());
        assert!((step.get().expect("a step") / 52e-9 - 1.0).abs() < 1e-3, "{step:?}");
        let noisy = steps.map(|t| t * (1.0 + 0.013 * (t * 1e9).sin()));
        assert!(matches!(quantum([record(&noisy)].iter()), Fact::Absent { .. }));
        assert!(matches!(quantum([record(&steps[..3])].iter()), Fact::Unknown { .. }));
    }

    #[test]
    fn nothing_measured_is_unknown_with_the_reason() {
        let stop: Answer<()> = Err(Stop::Refused("no device".into()));
        assert_eq!(told(stop), Err("no device".into()));
    }
}
