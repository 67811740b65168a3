//! Arithmetic: the latency of a multiply-add, how many cores work at once, and how much they do together, by vectors of any width.

use super::ask::{Answer, Asked, Series, Spread, fastest, go_on, points, series, told};
use super::cores::{cores, full};
use super::kernels::Kernel;
use super::kernels::chains::Chains;
use super::kernels::vectors::{Of, Vectors};
use super::steady::plan;
use super::timer::unknown;
use super::{Aspect, Seen};
use crate::{Context, Curve, Finding, Findings, Needs, Phase};
use warpsight_ir::profile::{Fact, Source};
use warpsight_run::DeviceInfo;

const NAME: &str = "arithmetic";
/// Work-items of a group that are whole warps of any device: parts of the largest group may not be, as those of 384 by warps of 64.
const WHOLE: u32 = 128;
/// Groups of so many for every core in a launch of all: a number that most numbers of schedulers divide.
const EACH: u32 = 48;
/// What a launch of all cores may look like: work-items of a group, if there may be so many, and the chains of each.
const SHAPES: [(u32, u32); 4] = [(WHOLE, 4), (WHOLE / 4, 4), (WHOLE, 16), (u32::MAX, 4)];
/// Chains of one warp that keep its scheduler busy, whatever the latency.
const BUSY: u32 = 32;
/// Numbers of a vector.
const WIDTHS: [u32; 5] = [1, 2, 4, 8, 16];
/// A width is as good as the best but for this part.
const AS_GOOD: f64 = 0.05;
const NO_HALVES: &str = "the device does not compute in half precision";
/// Cycles of a dependent multiply-add, where nobody says a clock rate.
const LATENCY_CYCLES: f64 = 4.0;

pub(super) fn aspect() -> Aspect {
    Aspect {
        phase: Phase {
            name: NAME,
            purpose: "latency of a dependent multiply-add, number of cores, peak rates of f32 and f16 by the width of vectors, ALUs of a core",
            needs: Needs::Programs,
            share: 1.0,
            plan: |context: &Context| {
                let (full, limits) = (full(context.device), &context.device.limits);
                let (halves, doubles) = (limits.f16, limits.f64);
                plan(NAME, move |asked| measured(asked, full, halves, doubles))
            },
        },
        analyse,
    }
}

/// Everything, one after the other.
fn measured(asked: &Asked, full: u32, halves: bool, doubles: bool) -> Answer<()> {
    go_on(latency(asked))?;
    go_on(peak(asked, full))?;
    go_on(one_core(asked, full))?;
    go_on(alone(asked))?;
    go_on(by_width(asked, full, Of::Floats))?;
    if halves {
        go_on(by_width(asked, full, Of::Halves))?;
    }
    go_on(of_vectors(asked, full, 1, Of::Roots))?;
    if doubles {
        go_on(of_vectors(asked, full, 1, Of::Doubles))?;
    }
    Ok(())
}

/// Seconds of a dependent multiply-add.
fn latency(asked: &Asked) -> Answer<Spread> {
    let one = |steps| Chains { groups: 1, lanes: 1, chains: 1, steps, waits: false }.kernel();
    // A trip of more steps takes longer by these steps alone.
    Ok(asked.trip(&one(96))?.less(asked.trip(&one(32))?).times(1.0 / 64.0))
}

/// Operations a second of all cores.
fn peak(asked: &Asked, full: u32) -> Answer<Spread> {
    let cores = cores(asked, full)?.0;
    fastest(SHAPES.into_iter().map(|(lanes, chains)| {
        let lanes = lanes.min(full);
        rate(asked, &Chains { groups: cores * (EACH * WHOLE).div_ceil(lanes), lanes, chains, steps: 256 / chains, waits: false }.kernel())
    }))
}

/// Operations a second of one core: of one group of as many work-items as there may be, which has it for itself.
fn one_core(asked: &Asked, full: u32) -> Answer<Spread> {
    let shapes = [4, 16].into_iter().flat_map(|chains| shared(full).map(|lanes| (lanes, chains)));
    fastest(shapes.map(|(lanes, chains)| {
        let kernel = Chains { groups: 1, lanes, chains, steps: 256 / chains, waits: false }.kernel();
        Ok(asked.trip(&kernel)?.under(kernel.amounts.operations))
    }))
}

/// Work-items of large groups, whose warps the units of a core share evenly where they are two, four or three: as many as there may be, and a
/// power of two and three quarters of it, since that may be neither.
fn shared(full: u32) -> [u32; 3] {
    let even = 1 << full.ilog2();
    [full, even, (even / 4 * 3).max(1)]
}

/// Operations a second of a kernel that all cores work on.
fn rate(asked: &Asked, kernel: &Kernel) -> Answer<Spread> {
    Ok(asked.even_trip(kernel)?.under(kernel.amounts.operations))
}

/// Operations a second of one work-item, which has the scheduler of a warp for itself.
fn alone(asked: &Asked) -> Answer<Spread> {
    let alone = Chains { groups: 1, lanes: 1, chains: BUSY, steps: 1024 / BUSY, waits: false }.kernel();
    Ok(asked.trip(&alone)?.under(alone.amounts.operations))
}

/// Operations a second of all cores by the numbers of a vector, of the widths that the device has.
fn by_width(asked: &Asked, full: u32, of: Of) -> Answer<Series<u32>> {
    series(WIDTHS, |width| of_vectors(asked, full, width, of))
}

/// Operations a second of all cores in half precision, of the width that is the fastest.
fn of_halves(asked: &Asked, full: u32) -> Answer<Spread> {
    fastest(WIDTHS.into_iter().map(|width| of_vectors(asked, full, width, Of::Halves)))
}

/// Operations a second of all cores on vectors of so many numbers: of many groups, the last of which may leave units of a core without work, and of
/// one group for each core.
fn of_vectors(asked: &Asked, full: u32, width: u32, of: Of) -> Answer<Spread> {
    let cores = cores(asked, full)?.0;
    let shapes = std::iter::once((cores * EACH, WHOLE.min(full))).chain(shared(full).map(|lanes| (cores, lanes)));
    fastest(shapes.map(|(groups, lanes)| rate(asked, &Vectors { groups, lanes, width, of }.kernel())))
}

/// Hz, as the driver says it.
fn stated_clock(device: &DeviceInfo) -> Option<f64> {
    let kilohertz: f64 = device.facts.get("clock_rate")?.parse().ok()?;
    (kilohertz.is_finite() && kilohertz > 0.0).then_some(1e3 * kilohertz)
}

fn analyse(seen: &Seen) -> Findings {
    let mut found = Findings::default();
    if let Some(clock) = stated_clock(seen.device) {
        found
            .number("clock.hz", Fact::known(clock, Source::Vendor, "what the driver says of its highest rate; nothing was measured of it"));
    }
    let (asked, full) = (Asked::new(NAME, seen.records), full(seen.device));
    let [latency, peak] = [told(latency(&asked)), told(peak(&asked, full))];
    let fact =
        |told: &Result<Spread, String>, cite| told.as_ref().map_or_else(|why| Fact::unknown(why.as_str()), |number| number.fact(cite));
    found.number("fma.latency_s", fact(&latency, "trips of 96 and of 32 dependent multiply-adds by one work-item"));
    found.number("peak.fp32", fact(&peak, "independent multiply-adds of full cores, 2 operations each"));
    let one = told(one_core(&asked, full));
    found
        .number("peak.fp32_one_core", fact(&one, "independent multiply-adds of one group as large as may be, which has a core for itself"));
    let halves = match seen.device.limits.f16.then(|| told(of_halves(&asked, full))) {
        None => Fact::absent(NO_HALVES),
        Some(rate) => {
            fact(&rate, "independent multiply-adds of full cores in half precision, 2 operations each, of the width that is the fastest")
        }
    };
    found.number("peak.fp16", halves);
    let doubles = match seen.device.limits.f64.then(|| told(of_vectors(&asked, full, 1, Of::Doubles))) {
        None => Fact::absent("the device does not compute in double precision"),
        Some(rate) => fact(&rate, "independent multiply-adds of full cores in double precision, 2 operations each"),
    };
    found.number("peak.fp64", doubles);
    let roots = told(of_vectors(&asked, full, 1, Of::Roots));
    found.number("special.rate", fact(&roots, "independent square roots of full cores"));
    let kinds = [("peak.fp32", "f32", Of::Floats), ("peak.fp16", "f16", Of::Halves)];
    for (key, number, of) in kinds {
        let there = of == Of::Floats || seen.device.limits.f16;
        // What was measured before time was over is told.
        let mut rates: Series<u32> = vec![];
        for width in WIDTHS {
            let fact = match there.then(|| told(of_vectors(&asked, full, width, of))) {
                None => Fact::absent(NO_HALVES),
                Some(Ok(rate)) => {
                    rates.push((width, rate));
                    rate.fact(format!("independent multiply-adds of {number} on vectors of {width}"))
                }
                Some(Err(why)) => Fact::unknown(why),
            };
            found.number(format!("{key}_x{width}"), fact);
        }
        if !rates.is_empty() {
            found.curves.push(of_widths(number, &rates));
        }
    }
    components(&mut found, told(by_width(&asked, full, Of::Floats)));
    let (cores, by_groups) = match told(cores(&asked, full)) {
        Ok(cores) => cores,
        Err(why) => {
            unknown(&mut found, &["cores", "alu.in_flight", "alu.per_core", "warp.at_once"], &why);
            return found;
        }
    };
    let number = f64::from(cores);
    found.number(
        "cores",
        Spread::exact(number).fact("groups up to so many, each of which uses a core's local memory up, take as long as one"),
    );
    match (peak, latency) {
        (Ok(peak), Ok(latency)) => {
            // Multiply-adds that a core begins while one lasts.
            let in_flight = peak.product(latency).times(0.5 / number);
            found.number("alu.in_flight", in_flight.fact("multiply-adds that a core begins within the latency of one"));
            found.number("alu.per_core", alus(stated_clock(seen.device), peak.times(0.5 / number), in_flight));
            found.number("warp.at_once", at_once(peak, told(alone(&asked)).ok(), number, seen.found));
        }
        (Err(why), _) | (_, Err(why)) => unknown(&mut found, &["alu.in_flight", "alu.per_core", "warp.at_once"], &why),
    }
    found.curves.push(Curve {
        title: "time against the number of groups that use up a core's local memory".into(),
        x: "groups".into(),
        y: "s".into(),
        log_x: true,
        points: points(&by_groups),
        changes: vec![number],
        ..Curve::default()
    });
    found
}

/// Multiply-adds that a core begins in a cycle. Times alone do not tell a wide core from a fast one: the clock rate is the driver's word.
/// Where it says none, what is under way is taken for the work of as many cycles as on a known design.
fn alus(clock: Option<f64>, rate: Spread, in_flight: Spread) -> Fact<f64> {
    if !in_flight.value.is_finite() {
        return Fact::unknown("the latency of a multiply-add or the peak is unknown");
    }
    match clock {
        Some(clock) => {
            rate.times(1.0 / clock).fact("multiply-adds that a core begins within a cycle of the clock rate that the driver says")
        }
        None => {
            let Spread { lo, value, hi } = in_flight.times(1.0 / LATENCY_CYCLES);
            let cite =
                format!("alu.in_flight, where a dependent multiply-add takes {LATENCY_CYCLES} cycles, as Jia et al. 2018 found on Volta");
            Fact::between(lo, value, hi, Source::Assumed, cite)
        }
    }
}

/// How many warps of a core compute at once: its peak is so many times that of one warp.
fn at_once(peak: Spread, one: Option<Spread>, cores: f64, known: &Findings) -> Fact<f64> {
    let warp = match known.facts.get("warp.sizes") {
        Some(Finding::Numbers(fact)) => fact.get().and_then(|sizes| sizes.first().copied()),
        _ => None,
    };
    let (Some(one), Some(warp)) = (one, warp) else {
        return Fact::unknown("the size of a warp, or the rate of one alone, is unknown");
    };
    let several = peak.over(one).times(1.0 / (cores * warp));
    several.fact("peak of a core over that of one warp with many chains: so many schedulers issue at once (001, figure 8)")
}

/// The shortest vector that is as fast as any.
fn components(found: &mut Findings, by_width: Result<Series<u32>, String>) {
    let by_width = match by_width {
        Ok(rates) => rates,
        Err(why) => return unknown(found, &["alu.vector_components"], &why),
    };
    let best = by_width.iter().map(|(_, rate)| rate.value).fold(0.0, f64::max);
    let least = by_width.iter().find(|(_, rate)| rate.value >= (1.0 - AS_GOOD) * best);
    let components = least.map_or(Fact::unknown("no width was measured"), |(width, _)| {
        Spread::exact(f64::from(*width)).fact("numbers of the shortest vector that reaches the best rate")
    });
    found.number("alu.vector_components", components);
}

fn of_widths(number: &str, rates: &[(u32, Spread)]) -> Curve {
    Curve {
        title: format!("operations a second against the width of vectors of {number}"),
        figure: Some("001, figure 11".into()),
        x: "numbers of a vector".into(),
        y: "operations/s".into(),
        log_x: true,
        points: points(rates),
        ..Curve::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every width has its number or the reason, whether the device has halves or not, and what has no points is no curve.
    #[test]
    fn widths_that_were_not_measured_have_the_reason() {
        let mut device = warpsight_run::open("sim:adreno640", &warpsight_run::Options::default()).expect("a device").info().clone();
        for halves in [true, false] {
            device.limits.f16 = halves;
            let found = analyse(&Seen { device: &device, records: &[], found: &Findings::default() });
            let fact = |key: &str| match found.facts.get(key) {
                Some(Finding::Number(fact)) => fact.clone(),
                other => panic!("{key}: {other:?}"),
            };
            for width in WIDTHS {
                let (single, half) = (fact(&format!("peak.fp32_x{width}")), fact(&format!("peak.fp16_x{width}")));
                assert!(matches!(&single, Fact::Unknown { unknown } if unknown.contains("was not measured")), "{width}: {single:?}");
                match (&half, halves) {
                    (Fact::Unknown { unknown }, true) => assert!(unknown.contains("was not measured"), "{width}: {unknown}"),
                    (Fact::Absent { absent }, false) => assert_eq!(absent, NO_HALVES),
                    _ => panic!("{width}: {half:?}"),
                }
            }
            assert!(found.curves.is_empty(), "{:?}", found.curves);
        }
    }
}
