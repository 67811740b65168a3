//! Arithmetic: the latency of a multiply-add, how many cores work at once, and how much they do together.

use super::ask::{Answer, Asked, Series, Spread, if_possible, largest, plan, points, told};
use super::kernels::chains::Chains;
use super::timer::unknown;
use super::{Aspect, Seen};
use crate::{Context, Curve, Finding, Findings, Needs, Phase};
use warpsight_ir::profile::{Fact, Source};
use warpsight_run::DeviceInfo;

const NAME: &str = "arithmetic";
/// Work-items of a group where the device does not say what it takes.
const GROUP: u32 = 256;
/// Chains of a work-item that fill the pipelines of a core together with the other work-items of a full group.
const FILLING: u32 = 8;
/// Groups of one core that are so much slower than one are on a core together with another.
const SLOWER: f64 = 1.25;
/// Cores at most.
const MOST_CORES: u32 = 4096;
/// Groups for every core in a launch of all: a number that most numbers of schedulers divide.
const EACH: u32 = 96;
/// What a launch of all cores may look like: the part of a full group that groups are, and the chains of a work-item.
const SHAPES: [(u32, u32); 4] = [(8, 4), (32, 4), (8, 16), (1, 4)];
/// Cycles of a dependent multiply-add, where no clock is known.
const LATENCY_CYCLES: f64 = 4.0;

pub(super) fn aspect() -> Aspect {
    Aspect {
        phase: Phase {
            name: NAME,
            purpose: "latency of a dependent multiply-add, number of cores, peak rate of f32",
            needs: Needs::Programs,
            share: 1.0,
            plan: |context: &Context| {
                let full = full(context.device);
                plan(NAME, move |asked| measured(asked, full))
            },
        },
        analyse,
    }
}

/// Work-items of the largest group that the device takes.
pub(super) fn full(device: &DeviceInfo) -> u32 {
    device.limits.max_group_size.unwrap_or(GROUP).clamp(1, 1024)
}

struct Measured {
    /// Seconds of a dependent multiply-add.
    latency: Spread,
    cores: u32,
    /// Groups, and the seconds that they took.
    by_groups: Series<u32>,
    /// Operations a second of all cores.
    peak: Spread,
}

/// The number of full groups that take as long as one, which each of them would slow down on its core; and times by groups.
pub(super) fn cores(asked: &Asked, full: u32) -> Answer<(u32, Series<u32>)> {
    let filling = |groups| Chains { groups, lanes: full, chains: FILLING, steps: 8, waits: false }.kernel();
    let trips = asked.trips(&filling(1))?;
    let alone = asked.time(&filling(1), trips)?;
    let mut by_groups = vec![(1, alone)];
    let cores = largest(1, MOST_CORES, |groups| {
        let time = asked.time(&filling(groups), trips)?;
        by_groups.push((groups, time));
        Ok(time.value < SLOWER * alone.value)
    })?;
    by_groups.sort_by_key(|(groups, _)| *groups);
    Ok((cores, by_groups))
}

fn measured(asked: &Asked, full: u32) -> Answer<Measured> {
    let one = |steps| Chains { groups: 1, lanes: 1, chains: 1, steps, waits: false }.kernel();
    // A trip of more steps takes longer by these steps alone.
    let latency = asked.trip(&one(96))?.less(asked.trip(&one(32))?).times(1.0 / 64.0);
    let (cores, by_groups) = cores(asked, full)?;
    let mut peak: Option<Spread> = None;
    for (part, chains) in SHAPES {
        let groups = cores * EACH * part / SHAPES[0].0;
        let kernel = Chains { groups, lanes: (full / part).max(1), chains, steps: 256 / chains, waits: false }.kernel();
        if let Some(trip) = if_possible(asked.trip(&kernel))? {
            let rate = trip.under(kernel.amounts.operations);
            peak = Some(peak.filter(|best| best.value >= rate.value).unwrap_or(rate));
        }
    }
    // Something ran, or the algorithm would not have come here.
    Ok(Measured { latency, cores, by_groups, peak: peak.unwrap_or(Spread::exact(f64::NAN)) })
}

fn analyse(seen: &Seen) -> Findings {
    let mut found = Findings::default();
    found.number("peak.fp16", Fact::unknown("Programs widen f16 to f32 before they compute: there is no packed half arithmetic to time"));
    let measured = match told(measured(&Asked::new(NAME, seen.records), full(seen.device))) {
        Ok(measured) => measured,
        Err(why) => {
            unknown(&mut found, &["fma.latency_s", "cores", "peak.fp32", "alu.in_flight", "alu.per_core"], &why);
            return found;
        }
    };
    let Measured { latency, cores, by_groups, peak } = measured;
    let number = f64::from(cores);
    found.number("fma.latency_s", latency.fact("trips of 96 and of 32 dependent multiply-adds by one work-item"));
    found.number("cores", Spread::exact(number).fact("full groups up to so many take as long as one"));
    found.number("peak.fp32", peak.fact("independent multiply-adds of full cores, 2 operations each"));
    // Multiply-adds that a core begins while one lasts.
    let in_flight = Spread {
        lo: peak.lo * latency.lo / 2.0 / number,
        value: peak.value * latency.value / 2.0 / number,
        hi: peak.hi * latency.hi / 2.0 / number,
    };
    found.number("alu.in_flight", in_flight.fact("multiply-adds that a core begins within the latency of one"));
    found.facts.insert("alu.per_core".into(), Finding::Number(alus(in_flight)));
    found.curves.push(Curve {
        title: "time against the number of full groups".into(),
        x: "groups".into(),
        y: "s".into(),
        log_x: true,
        points: points(&by_groups),
        changes: vec![number],
        ..Curve::default()
    });
    found
}

/// Times alone do not tell a wide core from a fast one: this takes what is under way for the work of so many cycles.
fn alus(in_flight: Spread) -> Fact<f64> {
    let [lo, value, hi] = [in_flight.lo, in_flight.value, in_flight.hi].map(|v| v / LATENCY_CYCLES);
    if !value.is_finite() {
        return Fact::unknown("the latency of a multiply-add or the peak is unknown");
    }
    let cite = format!("alu.in_flight, where a dependent multiply-add takes {LATENCY_CYCLES} cycles, as Jia et al. 2018 found on Volta");
    Fact::between(lo, value, hi, Source::Assumed, cite)
}
