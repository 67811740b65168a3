//! A reference launch between measurements: where it takes longer than it can, the device had got slower (it was hot, or others used it), and
//! what was measured meanwhile is measured again.
//!
//! Which measurements these are follows from the records alone, so that a run that goes on asks for the same, and the analysis sees the same.

use super::ask::{Answer, Asked, Spread, Stop, Trips};
use super::kernels::Kernel;
use super::kernels::chains::Chains;
use crate::{Curve, Findings, Measurement, Outcome, Plan, Record};
use std::collections::BTreeMap;
use warpsight_ir::profile::Fact;

/// The first word of a reference's name.
const REFERENCE: &str = "reference";
/// What is behind the name of a measurement that is made again.
const AGAIN: &str = ", again";
/// Measurements between two references.
const EVERY: usize = 8;
/// A reference so much slower than the best was disturbed, where clocks are steady.
const SLOWED: f64 = 1.05;
/// The share of references right behind each other that differ by no more than the device's clock does.
const ALIKE: f64 = 0.9;
/// So few references right behind each other say nothing of a clock's jumps.
const PAIRS: usize = 8;
/// A clock's jumps are no larger: processors of two virtual machines jump by 3 to 7 %.
const JUMP: f64 = 1.1;
/// References one after the other while they are slow.
const COOLING: usize = 8;
/// Times that one measurement is made.
const TRIES: usize = 3;
/// A reference takes so long at least: what starts a launch is a small part of it.
const LONG_S: f64 = 2e-5;
/// Its trips are multiplied by this until it does.
const LONGER: u64 = 8;

/// A plan that asks for what an algorithm wants.
pub(crate) fn plan<T>(phase: &'static str, algorithm: impl Fn(&Asked) -> Answer<T> + 'static) -> Plan {
    let mut steady = Steady::default();
    Plan::reacting(move |records| {
        steady.next(records, |kept| match algorithm(&Asked::new(phase, kept)) {
            Err(Stop::Wanted(measurement)) => Some(*measurement),
            _ => None,
        })
    })
}

/// What can be relied on of the records so far, read on as they become more.
#[derive(Default)]
pub(crate) struct Steady {
    kept: Vec<Record>,
    /// Of each record that was read whether it was doubtful then.
    doubts: Vec<bool>,
}

impl Steady {
    /// What is measured next: a reference where one is due, or else what an algorithm wants that sees reliable records only.
    pub(crate) fn next(&mut self, records: &[Record], algorithm: impl FnOnce(&[Record]) -> Option<Measurement>) -> Option<Measurement> {
        if let Some(due) = due(records) {
            return Some(due);
        }
        self.on(records);
        let Some(mut measurement) = algorithm(&self.kept) else {
            // What was measured last has to be followed by one, too.
            return closing(records);
        };
        while records.iter().any(|record| record.name == measurement.name) && measurement.name.matches(AGAIN).count() < TRIES {
            measurement.name += AGAIN;
        }
        Some(measurement)
    }

    fn on(&mut self, records: &[Record]) {
        let all: Vec<&Record> = records.iter().collect();
        let doubts = doubtful(&all);
        if !doubts.starts_with(&self.doubts) {
            (self.kept, self.doubts) = (vec![], vec![]);
        }
        let new = all.iter().zip(&doubts).skip(self.doubts.len());
        self.kept.extend(new.filter(|(record, doubt)| !**doubt && !is_reference(record)).map(|(record, _)| reliable(record)));
        self.doubts = doubts;
    }
}

/// The records that can be relied on, of every phase, without references; under the names that were asked for.
pub fn kept(records: &[Record]) -> Vec<Record> {
    phases(records)
        .into_values()
        .flat_map(|own| {
            let doubts = doubtful(&own);
            let kept = own.into_iter().zip(doubts).filter(|(record, doubt)| !doubt && !is_reference(record));
            kept.map(|(record, _)| reliable(record)).collect::<Vec<_>>()
        })
        .collect()
}

fn phases(records: &[Record]) -> BTreeMap<&str, Vec<&Record>> {
    let mut phases: BTreeMap<&str, Vec<&Record>> = BTreeMap::new();
    records.iter().for_each(|record| phases.entry(&record.phase).or_default().push(record));
    phases
}

/// A record under the name that was asked for.
fn reliable(record: &Record) -> Record {
    // Its text is long, and nobody's affair who analyses.
    let mut own = Record {
        outcome: record.outcome.clone(),
        params: record.params.clone(),
        ..Record::skipped(&record.phase, asked(&record.name), "")
    };
    own.amounts = record.amounts;
    own.times_s.clone_from(&record.times_s);
    own.earlier_times_s.clone_from(&record.earlier_times_s);
    (own.quantum_s, own.empty_launch_s, own.source) = (record.quantum_s, record.empty_launch_s, record.source);
    own
}

/// A name without what says that it was measured again.
fn asked(name: &str) -> &str {
    name.find(AGAIN).map_or(name, |end| &name[..end])
}

fn is_reference(record: &Record) -> bool {
    record.name.split(' ').next() == Some(REFERENCE)
}

/// Trips and seconds of a reference.
fn timed(record: &Record) -> Option<(u64, f64)> {
    if !is_reference(record) || record.outcome != Outcome::Verified {
        return None;
    }
    let trips = record.name.split(' ').nth(1)?.parse().ok()?;
    let least = record.times_s.iter().copied().filter(|time| time.is_finite() && *time > 0.0).min_by(f64::total_cmp)?;
    Some((trips, least))
}

/// The reference that is to be measured now.
fn due(records: &[Record]) -> Option<Measurement> {
    let references: Vec<&Record> = records.iter().filter(|record| is_reference(record)).collect();
    let Some(last) = references.last() else { return Some(reference(LONGER, 0)) };
    // What shows no time, shows no disturbance.
    let (trips, seconds) = timed(last)?;
    if seconds < LONG_S && references.len() < 8 && trips * LONGER <= kernel().bounds().1 {
        return Some(reference(trips * LONGER, references.len()));
    }
    let behind = records.iter().rev().take_while(|record| is_reference(record)).count();
    let all: Vec<&Record> = records.iter().collect();
    let slow = Usual::of(&self::references(&all)).is_some_and(|usual| seconds > usual.slow);
    // One work-item leaves the device nearly idle: it may cool.
    if slow && (1..=COOLING).contains(&behind) {
        return Some(reference(trips, references.len()));
    }
    let since = records.iter().rev().take_while(|record| !is_reference(record)).count();
    (since >= EVERY).then(|| reference(trips, references.len()))
}

/// A last reference, where something was measured since the one before.
fn closing(records: &[Record]) -> Option<Measurement> {
    let last = records.iter().rposition(is_reference)?;
    let (trips, _) = timed(&records[last])?;
    (last + 1 < records.len()).then(|| reference(trips, records.iter().filter(|record| is_reference(record)).count()))
}

fn reference(trips: u64, number: usize) -> Measurement {
    Measurement { name: format!("{REFERENCE} {trips} {number}"), ..kernel().measurement(trips) }
}

fn kernel() -> Kernel {
    Chains { groups: 1, lanes: 1, chains: 4, steps: 16, waits: false }.kernel()
}

/// Seconds of the references that are long enough, by the place among the records.
fn references(records: &[&Record]) -> Vec<(usize, f64)> {
    let all: Vec<_> = records.iter().enumerate().filter_map(|(at, record)| Some((at, timed(record)?))).collect();
    let Some((_, (trips, _))) = all.last().copied() else { return vec![] };
    all.into_iter().filter(|(_, (own, _))| *own == trips).map(|(at, (_, seconds))| (at, seconds)).collect()
}

/// What references take that nothing disturbs.
struct Usual {
    /// The best: what two in a row reach, since one alone may be a clock's mistake, or as fast as the device is for a moment.
    best: f64,
    /// From here on it was slowed down. Clocks of processors jump from one launch to the next: what references right behind each other differ by
    /// is no heat, which comes and goes more slowly.
    slow: f64,
}

impl Usual {
    fn of(references: &[(usize, f64)]) -> Option<Self> {
        let pairs = || references.windows(2).map(|two| (two[1].0 - two[0].0, two[0].1.min(two[1].1), two[0].1.max(two[1].1)));
        let best = pairs().map(|(_, _, slower)| slower).reduce(f64::min).or(references.first().map(|only| only.1))?;
        let mut jumps: Vec<f64> = pairs().filter(|(apart, ..)| *apart == 1).map(|(_, faster, slower)| slower / faster).collect();
        jumps.sort_by(f64::total_cmp);
        let usual = (ALIKE * jumps.len().saturating_sub(1) as f64) as usize;
        let jump = if jumps.len() < PAIRS { 1.0 } else { jumps[usual].min(JUMP) };
        Some(Self { best, slow: best * SLOWED * jump })
    }
}

/// Of each record of a phase, in order, whether a reference before or behind it was slow and it was, or can be, measured again.
fn doubtful(records: &[&Record]) -> Vec<bool> {
    let references = references(records);
    let mut doubts = vec![false; records.len()];
    let Some(usual) = Usual::of(&references) else { return doubts };
    for pair in references.windows(2) {
        if pair[0].1.max(pair[1].1) > usual.slow {
            doubts[pair[0].0 + 1..pair[1].0].fill(true);
        }
    }
    // The last of several tries stands, whatever it is.
    let mut tries: BTreeMap<&str, usize> = BTreeMap::new();
    for (record, doubt) in records.iter().zip(&mut doubts) {
        let tried = tries.entry(asked(&record.name)).or_default();
        *tried += 1;
        *doubt &= *tried < TRIES && !is_reference(record);
    }
    doubts
}

/// How much slower the device got, and what that touched.
pub(super) fn analyse(records: &[Record]) -> Findings {
    let mut found = Findings::default();
    let (mut worst, mut slowed): (Option<f64>, bool) = (None, false);
    let mut points = vec![];
    for (phase, own) in phases(records) {
        let references = references(&own);
        let Some(Usual { best, slow }) = Usual::of(&references) else { continue };
        let slowest = references.iter().map(|(_, seconds)| seconds / best).fold(1.0, f64::max);
        worst = Some(worst.map_or(slowest, |worst| worst.max(slowest)));
        points.extend(references.iter().map(|(_, seconds)| seconds / best));
        if slowest * best > slow {
            slowed = true;
            let doubts = doubtful(&own).iter().filter(|doubt| **doubt).count();
            found.contradictions.push(format!(
                "`{phase}`: a reference launch between measurements took up to {slowest:.2} times as long as it can: {doubts} measurements do not count"
            ));
        }
    }
    let fact = match worst {
        // Times of two launches, neither of which is an estimate.
        Some(worst) => Spread::exact(worst).fact("a reference launch between measurements, its slowest over its best"),
        None => Fact::unknown("no reference launch was timed"),
    };
    found.number("timer.slowdown", fact);
    if !slowed {
        return found;
    }
    found.curves.push(Curve {
        title: "time of a reference launch between measurements, of all aspects in alphabetical order".into(),
        x: "launch".into(),
        y: "of the best".into(),
        points: (0_u32..).zip(points).map(|(n, ratio)| [f64::from(n), ratio, ratio, ratio]).collect(),
        ..Curve::default()
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, seconds: f64) -> Record {
        Record { outcome: Outcome::Verified, times_s: vec![seconds], ..Record::skipped("a phase", name, "") }
    }

    fn names(records: &[Record]) -> Vec<String> {
        kept(records).into_iter().map(|record| format!("{} {}", record.name, record.times_s[0])).collect()
    }

    #[test]
    fn what_lies_between_slow_references_does_not_count() {
        let mut records = vec![
            record("reference 8 0", 1e-6),
            record("reference 64 1", 3e-5),
            record("a", 1.0),
            record("reference 64 2", 3e-5),
            record("b", 2.0),
            record("reference 64 3", 4e-5),
            record("c", 3.0),
            record("reference 64 4", 3.01e-5),
            record("d", 4.0),
        ];
        assert_eq!(names(&records), ["a 1", "d 4"]);
        records.extend([record("b, again", 1.5), record("c, again", 2.5), record("reference 64 5", 3e-5)]);
        assert_eq!(names(&records), ["a 1", "d 4", "b 1.5", "c 2.5"]);
        let found = analyse(&records);
        assert!((found.get("timer.slowdown").expect("known") - 4.0 / 3.0).abs() < 1e-9);
        assert!(found.contradictions[0].contains("2 measurements do not count"), "{:?}", found.contradictions);
    }

    /// A clock that jumps from launch to launch, and is faster than ever twice, is not hot; heat shows beyond what it jumps by.
    #[test]
    fn a_clock_that_jumps_is_not_hot() {
        let mut records = vec![];
        for n in 0..40 {
            let jump = [1.0, 1.07, 1.03, 1.07][n % 4] * if n % 20 == 7 { 0.9 } else { 1.0 } * if n == 30 { 1.4 } else { 1.0 };
            records.push(record(&format!("reference 64 {n}"), 3e-5 * jump));
            records.extend((n % 3 == 0).then(|| record(&format!("own {n}"), 1.0)));
        }
        let gone: Vec<usize> = (0..40).step_by(3).filter(|n| !names(&records).contains(&format!("own {n} 1"))).collect();
        assert_eq!(gone, [30]);
    }

    #[test]
    fn what_was_tried_often_stands() {
        let mut records = vec![record("reference 64 0", 3e-5), record("x", 0.0), record("reference 64 1", 3e-5), record("y", 0.0)];
        for (n, name) in ["b", "b, again", "b, again, again"].into_iter().enumerate() {
            records.extend([record(&format!("reference 64 {}", n + 2), 9e-5), record(name, n as f64)]);
        }
        records.push(record("reference 64 9", 9e-5));
        assert_eq!(names(&records), ["x 0", "b 2"]);
    }

    #[test]
    fn a_reference_is_due_first_and_after_every_few_measurements() {
        let mut records = vec![];
        let mut asked = vec![];
        let mut steady = Steady::default();
        for n in 0..24 {
            let wanted = |_: &[Record]| Some(Measurement { name: format!("own {n}"), ..due(&[]).expect("the first") });
            let next = steady.next(&records, wanted).expect("one");
            asked.push(next.name.clone());
            records.push(record(&next.name, if next.name.starts_with("reference 8 ") { 1e-5 } else { 3e-5 }));
        }
        let references: Vec<usize> = (0..asked.len()).filter(|n| asked[*n].starts_with(REFERENCE)).collect();
        assert_eq!(references, [0, 1, 10, 19], "{asked:?}");
    }

    #[test]
    fn a_clock_that_shows_nothing_shows_no_disturbance() {
        for seconds in [0.0, f64::NAN] {
            let records = [record("reference 8 0", seconds), record("a", 1.0)];
            assert!(due(&records).is_none());
            assert_eq!(names(&records), ["a 1"]);
        }
    }
}
