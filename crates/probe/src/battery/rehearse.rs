//! What a phase asks for, whatever it measures: to compile its kernels ahead, and to see that it comes to an end.

use super::measure::take;
use crate::{Context, Phase, Plan, Record};
use std::time::Instant;
use warpsight_run::{Code, Device};

/// Every piece of code that a phase runs: all of a list, and of what reacts what it asks this device for until then, with the records.
pub fn rehearse(phase: &Phase, context: &Context, device: &mut dyn Device, until: Instant) -> (Vec<Code>, Vec<Record>) {
    let mut next = match (phase.plan)(context) {
        Plan::List(list) => return (list.flat_map(|measurement| measurement.job.programs).collect(), vec![]),
        Plan::Reacting(next) => next,
    };
    let (mut codes, mut records) = (vec![], vec![]);
    while let Some(measurement) = next(&records) {
        codes.extend(measurement.job.programs.iter().cloned());
        let (record, lost) = take(phase.name, measurement, device);
        records.push(record);
        if lost.is_some() || Instant::now() >= until {
            break;
        }
    }
    (codes, records)
}
