//! Local memory: its banks, and how much of it a group may have.

use super::ask::{Answer, Asked, Series, Spread, Stop, go_on, if_possible, largest, points, told};
use super::cores::full;
use super::kernels::loads::Locals;
use super::steady::plan;
use super::timer::unknown;
use super::{Aspect, Seen};
use crate::{Context, Curve, Findings, Needs, Phase};
use warpsight_ir::profile::{Fact, Source};
use warpsight_run::DeviceInfo;

const NAME: &str = "local";
/// Work-items: few, so that they reach far apart.
const LANES: u32 = 32;
/// Distances up to this are tried one by one, beyond it powers of two: no hardware is known to have more banks.
const BANKS: u32 = 64;
/// More conflicts take so much longer at least.
const MORE: f64 = 1.15;

pub(super) fn aspect() -> Aspect {
    Aspect {
        phase: Phase {
            name: NAME,
            purpose: "the most local memory of a group, by what runs, and its banks, by the distance of lanes at which conflicts no longer grow",
            needs: Needs::Programs,
            share: 0.3,
            plan: |context: &Context| {
                let words = words(context.device);
                let lanes = LANES.min(full(context.device));
                plan(NAME, move |asked| {
                    go_on(room(asked, lanes))?;
                    banks(asked, lanes, words)
                })
            },
        },
        analyse,
    }
}

/// Words that arrays which are tried differ by, and the most of them.
const STEP: u32 = 64;
const STEPS: u32 = 4096;

/// Steps of the largest array with which a group runs.
fn room(asked: &Asked, lanes: u32) -> Answer<u32> {
    let places = lanes.next_power_of_two();
    let runs = |steps: u32| {
        let spare = (steps * STEP).saturating_sub(places);
        let kernel = Locals { groups: 1, lanes, width: 1, stride: 1, places, spare }.kernel();
        Ok(if_possible(asked.time(&kernel, 1))?.is_some())
    };
    if !runs(1)? {
        return Err(Stop::Refused(format!("no group runs with {} bytes of local memory", 4 * STEP)));
    }
    largest(1, STEPS, runs)
}

/// Words of the largest array whose size is a power of two.
fn words(device: &DeviceInfo) -> u32 {
    let limits = &device.limits;
    let bytes = limits.local_bytes.unwrap_or(0).min(limits.local_arrays.unwrap_or(u64::MAX)).min(1 << 20);
    // At most 2²⁰.
    (bytes as u32 / 4).checked_ilog2().map_or(0, |bits| 1 << bits)
}

/// Words between neighbours of one bank, and times of a trip by the distance of lanes.
fn banks(asked: &Asked, lanes: u32, words: u32) -> Answer<(Option<u32>, Series<u32>)> {
    let most = words / lanes.max(1);
    if most < 2 {
        return Err(Stop::Refused(format!("{words} words of local memory are too few to reach across its banks")));
    }
    let mut times = vec![];
    let mut at = |stride: u32| {
        let trip = asked.trip(&Locals { groups: 1, lanes, width: 1, stride, places: words, spare: 0 }.kernel())?;
        times.push((stride, trip));
        Ok(trip.value)
    };
    let strides: Vec<u32> = (1..=BANKS.min(most)).chain((BANKS.ilog2() + 1..=most.ilog2()).map(|bit| 1 << bit)).collect();
    let mut each = vec![];
    for &stride in &strides {
        each.push(at(stride)?);
    }
    let mut worst = each.iter().copied().fold(0.0, f64::max);
    let alike = worst < MORE * each[0];
    // The first as slow as any; what becomes slower up to the end may go on.
    let first = strides.iter().zip(&each).find(|own| MORE * own.1 >= worst).map(|own| *own.0);
    let Some(mut found) = first.filter(|stride| !alike && Some(stride) != strides.last()) else { return Ok((None, times)) };
    // Of more banks than were tried it may be a part.
    for more in [2, 3, 5].map(|times| times * found).into_iter().filter(|more| (BANKS + 1..=most).contains(more)) {
        let time = at(more)?;
        if time > MORE * worst {
            (found, worst) = (more, time);
        }
    }
    times.sort_by_key(|(stride, _)| *stride);
    times.dedup_by_key(|(stride, _)| *stride);
    Ok((Some(found), times))
}

fn analyse(seen: &Seen) -> Findings {
    let mut found = Findings::default();
    let lanes = LANES.min(full(seen.device));
    match told(room(&Asked::new(NAME, seen.records), lanes)) {
        Ok(steps) => {
            let bytes = |steps: u32| f64::from(4 * STEP * steps);
            let cite = "the largest array of local memory with which a group runs";
            let (lo, hi) = (bytes(steps), if steps < STEPS { bytes(steps + 1) - 1.0 } else { bytes(steps) });
            found.number("local.capacity_bytes", Fact::between(lo, lo, hi, Source::Measured, cite));
        }
        Err(why) => unknown(&mut found, &["local.capacity_bytes"], &why),
    }
    match told(banks(&Asked::new(NAME, seen.records), lanes, words(seen.device))) {
        Ok((banks, times)) => {
            let fact = match banks {
                Some(banks) => {
                    let cite = "words between lanes from which on no larger distance is slower: all lanes then use one bank";
                    Spread::exact(f64::from(banks)).fact(cite)
                }
                None if times.iter().all(|(_, time)| time.value < MORE * times[0].1.value) => {
                    Fact::absent("loads of local memory take as long at any distance of lanes")
                }
                None => Fact::unknown("loads become slower up to the largest distance that local memory has room for"),
            };
            found.number("local.banks", fact);
            found.curves.push(Curve {
                title: "time of 8 loads of local memory against the distance of lanes".into(),
                x: "words".into(),
                y: "s".into(),
                log_x: true,
                points: points(&times),
                changes: banks.map(f64::from).into_iter().collect(),
                ..Curve::default()
            });
        }
        Err(why) => unknown(&mut found, &["local.banks"], &why),
    }
    found
}
