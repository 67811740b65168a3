//! The warp: how many neighbouring lanes have to go one way together, which take tickets in order, how many more are free, and how many begin
//! before any ends.

use super::ask::{Answer, Asked, Series, Spread, Stop, go_on, if_possible, largest, points, told};
use super::cores::full;
use super::kernels::pairs::{quotients, split_holding};
use super::kernels::tickets::{begun, tickets};
use super::steady::plan;
use super::timer::unknown;
use super::{Aspect, Seen};
use crate::{Context, Curve, Finding, Findings, Needs, Phase};
use warpsight_ir::profile::{Fact, Source};

const NAME: &str = "warp";
/// Lanes of the group whose blocks go different ways: two of the widest warps.
const LANES: u32 = 256;
/// Two ways one after the other take so much longer than one at least.
const BOTH: f64 = 1.4;
/// A warp more takes so much longer at least.
const STEP: f64 = 1.06;
/// Values that work-items hold meanwhile: with as many as this some devices run narrower warps, or wider ones with none.
const HOLDING: [u32; 2] = [48, 96];
/// Groups that keep every core busy with dividing (001, section 3.1).
const SATURATING: u32 = 1024;
/// The figure of paper 001 that shows in which order lanes run.
const FIGURE_8: Option<&str> = Some("001, figure 8");
/// Where all are busy, a second warp of every group takes so much longer at least: as long again, but for cores with one group less.
const SECOND: f64 = 1.4;

pub(super) fn aspect() -> Aspect {
    Aspect {
        phase: Phase {
            name: NAME,
            purpose: "sizes of warps, by blocks of lanes that take different ways through a branch and by what a lane more takes longer; ALUs of a core, by the order in which lanes begin and end",
            needs: Needs::Programs,
            share: 0.5,
            plan: |context: &Context| {
                let full = full(context.device);
                plan(NAME, move |asked| {
                    go_on(by_ways(asked, full))?;
                    go_on(by_order(asked, full))?;
                    go_on(by_latency(asked, full))?;
                    go_on(by_steps(asked, full))?;
                    HOLDING.into_iter().try_for_each(|values| go_on(by_ways_holding(asked, full, values)))?;
                    go_on(begun_before(asked, full))
                })
            },
        },
        analyse,
    }
}

/// The smallest blocks of lanes that go different ways without waiting for each other, and times by size of the blocks.
pub(super) fn by_ways(asked: &Asked, full: u32) -> Answer<(Option<u32>, Series<u32>)> {
    by_ways_holding(asked, full, 0)
}

/// The same of work-items that hold so many values; a second size of warps is a power of two.
fn by_ways_holding(asked: &Asked, full: u32, values: u32) -> Answer<(Option<u32>, Series<u32>)> {
    let lanes = LANES.min(full);
    let split = |lanes, block| split_holding(lanes, block, values);
    let whole = split(lanes, lanes);
    let trips = asked.trips(&whole)?;
    let together = asked.time(&whole, trips)?;
    let mut times = vec![(lanes, together)];
    let mut alone = |block: u32| -> Answer<bool> {
        if block == lanes {
            return Ok(true);
        }
        let time = asked.time(&split(lanes, block), trips)?;
        times.push((block, time));
        Ok(time.value < BOTH * together.value)
    };
    let warp = if alone(1)? {
        // Every lane goes its own way, or branches cost nothing.
        None
    } else {
        // A power of two as a rule, so that these are asked first.
        let powers = (1..).map(|bit| 1 << bit).take_while(|&block| block <= lanes / 2);
        let others = (3..=lanes / 2).filter(|block| values == 0 && !block.is_power_of_two());
        let mut found = None;
        for block in powers.chain(others) {
            if alone(block)? {
                found = Some(block);
                break;
            }
        }
        found
    };
    times.sort_by_key(|(block, _)| *block);
    times.dedup_by_key(|(block, _)| *block);
    Ok((warp, times))
}

/// The largest blocks of lanes whose tickets are in order where warps were made to come in another; `None` where all are in order, or none.
fn by_order(asked: &Asked, full: u32) -> Answer<Option<u32>> {
    let lanes = LANES.min(full);
    let told = tickets(lanes, 1, true);
    let trips = asked.lasting(&told, 1)?;
    let (broken, whole) = (asked.time(&told, trips)?.value, asked.time(&tickets(lanes, 1, false), trips)?.value);
    let in_order = |block| Ok(asked.time(&tickets(lanes, block, false), trips)?.value < (broken + whole) / 2.0);
    let mut found = None;
    for block in (1..).map(|bit| 1 << bit).take_while(|&block| block <= lanes) {
        if !in_order(block)? {
            return Ok(found);
        }
        found = Some(block);
    }
    Ok(None)
}

/// Lanes of a group that begin their work before the first of them ends it, and times by lanes; `None` where all do.
fn begun_before(asked: &Asked, full: u32) -> Answer<(Option<u32>, Series<u32>)> {
    let always = begun(full, 1);
    let trips = asked.lasting(&always, 1)?;
    let (so, never) = (asked.time(&always, trips)?, asked.time(&begun(full, full + 1), trips)?);
    if so.value < BOTH * never.value {
        return Err(Stop::Refused("trips that are made or not take as long".into()));
    }
    let mut times = vec![(1, so), (full + 1, never)];
    let mut holds = |least: u32| -> Answer<bool> {
        let time = asked.time(&begun(full, least), trips)?;
        times.push((least, time));
        Ok(time.value >= (so.value + never.value) / 2.0)
    };
    // Where warps take turns, all have begun: no further question is needed.
    let all = full == 1 || holds(full)?;
    let before = if all { None } else { Some(largest(1, full - 1, holds)?) };
    times.sort_by_key(|(lanes, _)| *lanes);
    Ok((before, times))
}

/// Lanes of groups that keep all cores busy which divide as fast as one lane does, and times by lanes; `None` where any number does.
fn by_latency(asked: &Asked, full: u32) -> Answer<(Option<u32>, Series<u32>)> {
    let groups = |lanes| quotients(SATURATING, lanes);
    let trips = asked.trips(&groups(1))?;
    let one = asked.time(&groups(1), trips)?;
    let mut times = vec![(1, one)];
    let lanes = largest(1, LANES.min(full), |lanes| {
        let time = asked.time(&groups(lanes), trips)?;
        times.push((lanes, time));
        Ok(time.value < SECOND * one.value)
    })?;
    times.sort_by_key(|(lanes, _)| *lanes);
    Ok(((lanes < LANES.min(full)).then_some(lanes), times))
}

/// Lanes that divide as fast as one does, and times by lanes.
fn by_steps(asked: &Asked, full: u32) -> Answer<(u32, Series<u32>)> {
    let trips = asked.trips(&quotients(1, 1))?;
    let one = asked.time(&quotients(1, 1), trips)?;
    let mut times = vec![(1, one)];
    let free = largest(1, full, |lanes| {
        let time = asked.time(&quotients(1, lanes), trips)?;
        times.push((lanes, time));
        Ok(time.value < STEP * one.value)
    })?;
    times.sort_by_key(|(lanes, _)| *lanes);
    Ok((free, times))
}

fn analyse(seen: &Seen) -> Findings {
    let mut found = Findings::default();
    let (asked, full) = (Asked::new(NAME, seen.records), full(seen.device));
    let (ways, steps) = (told(by_ways(&asked, full)), told(by_steps(&asked, full)));
    let warp = match &ways {
        Ok((warp, times)) => {
            found.curves.push(curve("time against blocks of lanes that go different ways", "lanes of a block", None, times, *warp));
            *warp
        }
        Err(_) => None,
    };
    let sizes = match (&ways, warp) {
        (_, Some(warp)) => {
            // What the device refuses no kernel has; what there was no time for may be another size.
            let other = |values| Ok((values, if_possible(by_ways_holding(&asked, full, values))?.and_then(|(other, _)| other)));
            let others = told(HOLDING.into_iter().map(other).collect::<Answer<Vec<_>>>());
            others.map_or_else(Fact::unknown, |others| sizes(warp, &others))
        }
        (Ok(_), None) => Fact::absent("lanes that go different ways through a branch do not wait for each other"),
        (Err(why), None) => Fact::unknown(&**why),
    };
    found.facts.insert("warp.sizes".into(), Finding::Numbers(sizes));
    let order = match told(by_order(&asked, full)) {
        Ok(Some(lanes)) => {
            if let Some(warp) = warp
                && warp != lanes
                && (lanes > warp || !warp.is_multiple_of(lanes))
            {
                found.contradictions.push(format!("{lanes} lanes take tickets in order, where {warp} go one way together"));
            }
            Spread::exact(lanes.into()).fact("largest power of two of neighbouring lanes that take tickets of an atomic counter in order")
        }
        Ok(None) => Fact::unknown("tickets of an atomic counter show no order of some lanes and not of others"),
        Err(why) => Fact::unknown(why),
    };
    found.number("warp.by_order", order);
    latency(&mut found, told(by_latency(&asked, full)), warp);
    alus(&mut found, told(begun_before(&asked, full)), warp, full);
    match steps {
        Ok((free, times)) => {
            found.curves.push(curve("time of dependent quotients against lanes", "lanes of one group", None, &times, Some(free)));
            found.number("warp.free_lanes", Spread::exact(free.into()).fact("lanes of one group that divide as fast as one"));
            if let Some(warp) = warp
                && free < full
                && free % warp != 0
            {
                found.contradictions.push(format!("{free} lanes divide as fast as one, which is no multiple of a warp of {warp}"));
            }
        }
        Err(why) => unknown(&mut found, &["warp.free_lanes"], &why),
    }
    found
}

/// All sizes of warps that were seen, that of work-items with few values first, and by what each was told.
fn sizes(warp: u32, holding: &[(u32, Option<u32>)]) -> Fact<Vec<f64>> {
    let mut all = vec![warp];
    let mut cite =
        format!("blocks of fewer lanes that go different ways through a branch wait for each other: {warp} lanes with few values");
    for (values, told) in holding {
        match told {
            Some(other) => {
                cite += &format!(", {other} with {values} more");
                if !all.contains(other) {
                    all.push(*other);
                }
            }
            None => cite += &format!(", none told with {values} more"),
        }
    }
    let numbers = || all.iter().copied().map(f64::from).collect::<Vec<_>>();
    Fact::between(numbers(), numbers(), numbers(), Source::Measured, cite)
}

/// ALUs of a core, where lanes that find all of these in use wait until some are done (001, figure 8): whole warps, the first of which ends after a
/// few lanes of others have begun.
fn alus(found: &mut Findings, told: Result<(Option<u32>, Series<u32>), String>, warp: Option<u32>, full: u32) {
    let (before, times) = match told {
        Ok(told) => told,
        Err(why) => return unknown(found, &["alu.by_order"], &why),
    };
    let x = "lanes that are to begin before one ends";
    found.curves.push(curve("time of trips that are made where so many lanes begin before one ends", x, FIGURE_8, &times, before));
    let fact = match (before, warp) {
        (None, _) => Fact::unknown(format!(
            "all {full} lanes of the largest group begin before the first ends: warps that wait for units take turns, or there are units for more"
        )),
        (Some(before), Some(warp)) if before < warp => {
            Fact::unknown(format!("{before} lanes begin before the first ends, fewer than the {warp} of a warp"))
        }
        (Some(before), warp) => {
            let whole = before - before % warp.unwrap_or(1);
            let [whole, before] = [whole, before].map(f64::from);
            let cite = "lanes of one group, in whole warps, that take a ticket before their work before the first takes one behind it";
            Spread { lo: whole, value: whole, hi: before }.fact(cite)
        }
    };
    found.number("alu.by_order", fact);
}

/// What groups that keep all cores busy tell.
fn latency(found: &mut Findings, told: Result<(Option<u32>, Series<u32>), String>, warp: Option<u32>) {
    let (lanes, times) = match told {
        Ok(told) => told,
        Err(why) => return unknown(found, &["warp.by_latency"], &why),
    };
    let title = format!("time of dependent quotients against lanes, {SATURATING} groups");
    found.curves.push(curve(&title, "lanes of a group", Some("001, figure 7"), &times, lanes));
    let fact = match lanes {
        Some(lanes) => {
            if let Some(warp) = warp
                && !lanes.is_multiple_of(warp)
            {
                found
                    .contradictions
                    .push(format!("{lanes} lanes of many groups divide as fast as one, which is no multiple of a warp of {warp}"));
            }
            Spread::exact(lanes.into()).fact(format!("lanes of each of {SATURATING} groups that divide as fast as one"))
        }
        None => Fact::unknown("groups of any number of lanes take as long: nothing shows a second warp"),
    };
    found.number("warp.by_latency", fact);
}

fn curve(title: &str, x: &str, figure: Option<&str>, times: &[(u32, Spread)], change: Option<u32>) -> Curve {
    Curve {
        title: title.into(),
        figure: figure.map(Into::into),
        x: x.into(),
        y: "s".into(),
        log_x: true,
        points: points(times),
        changes: change.map(f64::from).into_iter().collect(),
        ..Curve::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outcome, Record};

    /// Records of a device whose warps have so many lanes where work-items hold so many values at most, and of whose lanes so many begin before
    /// the first ends.
    fn records(warps: &[(u32, u32)], before: u32) -> Vec<Record> {
        let info = warpsight_run::open("sim:adreno640", &warpsight_run::Options::default()).expect("a device").info().clone();
        let mut plan = (aspect().phase.plan)(&Context { device: &info, scale: crate::Scale::Quick, seed: 1 });
        let mut records: Vec<Record> = vec![];
        while let Some(measurement) = plan.ask(&records) {
            let words: Vec<&str> = measurement.name.split(' ').collect();
            let number = |word: &str| words.iter().position(|own| *own == word).and_then(|at| words[at + 1].parse::<u32>().ok());
            let trips = words[words.len() - 2].parse::<f64>().expect("trips");
            let mut record = Record::skipped(NAME, &measurement.name, "nothing of the kind");
            let times = match words[0] {
                "split" => {
                    let held = number("holding").unwrap_or(0);
                    let warp = warps.iter().find(|(values, _)| held <= *values).map_or(1, |own| own.1);
                    Some(if number("by").expect("a block") < warp { 2.0 } else { 1.0 })
                }
                "begun" => Some(if number("by").expect("lanes") <= before { 1.0 } else { 0.0 }),
                _ => None,
            };
            if let Some(times) = times {
                record = Record { times_s: vec![1e-6 + 1e-6 * trips * times; 3], outcome: Outcome::Verified, ..record };
            }
            records.push(record);
        }
        records
    }

    fn analysed(records: &[Record]) -> Findings {
        let info = warpsight_run::open("sim:adreno640", &warpsight_run::Options::default()).expect("a device").info().clone();
        (aspect().analyse)(&Seen { device: &info, records, found: &Findings::default() })
    }

    /// Warps of 128 lanes while these hold few values, and of 64 beyond: both are listed, with what tells them.
    #[test]
    fn warps_of_two_sizes_are_both_found() {
        let of = |warps: &[(u32, u32)]| match analysed(&records(warps, 1024)).facts.get("warp.sizes") {
            Some(Finding::Numbers(Fact::Known { value, lo, hi, cite, .. })) => {
                assert!(lo.as_ref() == Some(value) && hi.as_ref() == Some(value));
                (value.clone(), cite.clone())
            }
            other => panic!("{other:?}"),
        };
        let (sizes, cite) = of(&[(64, 128), (600, 64)]);
        assert_eq!(sizes, [128.0, 64.0]);
        assert!(cite.ends_with("128 lanes with few values, 128 with 48 more, 64 with 96 more"), "{cite}");
        assert_eq!(of(&[(600, 32)]).0, [32.0]);
    }

    /// Figure 8 of paper 001: three warps of 128 at once, the first of which ends as the 389th, since two others have begun. Where all begin
    /// before one ends, the order tells nothing.
    #[test]
    fn lanes_that_begin_before_one_ends_are_alus() {
        let of = |before: u32| {
            let found = analysed(&records(&[(600, 128)], before));
            let curve = found.curves.iter().find(|curve| curve.figure.as_deref() == Some("001, figure 8")).expect("a curve");
            match found.facts.get("alu.by_order") {
                Some(Finding::Number(fact)) => (fact.clone(), curve.changes.clone()),
                other => panic!("{other:?}"),
            }
        };
        let (fact, changes) = of(388);
        assert!(matches!(&fact, Fact::Known { value: 384.0, lo: Some(384.0), hi: Some(388.0), .. }), "{fact:?}");
        assert_eq!(changes, [388.0]);
        let why = |before: u32| match of(before).0 {
            Fact::Unknown { unknown } => unknown,
            other => panic!("{other:?}"),
        };
        assert!(why(1024).contains("all 1024 lanes") && why(60).contains("fewer than the 128 of a warp"));
    }
}
