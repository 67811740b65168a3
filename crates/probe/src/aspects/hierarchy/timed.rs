//! What walks took: all turns of one walk together.

use super::spec::Spec;
use crate::{Parameter, Record};
use std::collections::HashMap;

/// Samples by which the least of many is judged: those next to it.
const NEXT: usize = 3;

/// Two turns of a walk agree that differ by no more than this part: memory is got anew for each, and lies elsewhere.
pub(super) const AGREED: f64 = 0.05;

/// What the records of one walk say of a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Timed {
    pub(crate) spec: Spec,
    pub(crate) seed: u64,
    /// Seconds of a step beyond what launches have in common: of the fastest ones, since what disturbs a walk makes it longer.
    pub(crate) seconds: f64,
    /// Standard error of `seconds`, as a part of them, as far as launches of one turn tell.
    pub(crate) noise: f64,
    /// Timed launches of each kind.
    pub(crate) samples: usize,
    /// Seconds by the launches of each turn alone, the least first.
    pub(crate) turns: Vec<f64>,
    launches: Launches,
}

impl Timed {
    /// Whether two turns agree, or there was but one: what disturbs a walk does not disturb two alike. A turn may show too little, too, where
    /// all of its launches once around were disturbed.
    pub(crate) fn agrees(&self) -> bool {
        let alike = |two: &[f64]| two[0] > 0.0 && two[1] <= two[0] * (1.0 + AGREED);
        self.seconds > 0.0 && (self.turns.len() < 2 || self.turns.windows(2).any(alike))
    }
}

/// Times of launches, the least first: once around, and several times.
#[derive(Clone, Debug, Default, PartialEq)]
struct Launches {
    short: Vec<f64>,
    long: Vec<f64>,
    /// Steps by which they differ.
    apart: f64,
}

impl Launches {
    fn of(record: &Record) -> Option<Self> {
        let Some(Parameter::Int(before)) = record.params.get("steps_before") else { return None };
        let sorted = |times: &[f64]| {
            let mut times = times.to_vec();
            times.retain(|time| time.is_finite() && *time > 0.0);
            times.sort_by(f64::total_cmp);
            times
        };
        let (short, long) = (sorted(record.earlier_times_s.first()?), sorted(&record.times_s));
        let launches = Self { short, long, apart: record.amounts.steps - *before as f64 };
        launches.seconds().is_finite().then_some(launches)
    }

    fn seconds(&self) -> f64 {
        let least = |times: &[f64]| times.first().copied().unwrap_or(f64::NAN);
        (least(&self.long) - least(&self.short)) / self.apart
    }

    /// Standard error of the seconds: the least of many lies as far from where it would end as those next to it lie from each other.
    fn error(&self) -> f64 {
        let gap = |times: &[f64]| {
            let next = NEXT.min(times.len().saturating_sub(1));
            if next == 0 { 0.0 } else { (times[next] - times[0]) / next as f64 }
        };
        gap(&self.short).hypot(gap(&self.long)) / self.apart
    }

    fn extend(&mut self, other: Self) {
        let both = [(&mut self.short, other.short), (&mut self.long, other.long)];
        for (own, more) in both {
            own.extend(more);
            own.sort_by(f64::total_cmp);
        }
    }
}

/// Walks of which there are records, in the order of their first.
#[derive(Default)]
pub(crate) struct Walks {
    pub(crate) seen: Vec<Timed>,
    places: HashMap<(Spec, u64), usize>,
}

impl Walks {
    pub(crate) fn of<'r>(records: impl Iterator<Item = &'r Record>) -> Self {
        let mut walks = Self::default();
        records.for_each(|record| walks.add(record));
        walks
    }

    /// Another record of a walk.
    pub(crate) fn add(&mut self, record: &Record) {
        let Some(((spec, seed), launches)) = Spec::of(&record.params).zip(Launches::of(record)) else { return };
        let turn = launches.seconds();
        let place = *self.places.entry((spec, seed)).or_insert_with(|| {
            self.seen.push(Timed { spec, seed, seconds: turn, noise: 0.0, samples: 0, turns: vec![], launches: launches.clone() });
            self.seen.len() - 1
        });
        let timed = &mut self.seen[place];
        // Turns differ in their steps only where the programs that took them did; and the first was put there above.
        if timed.launches.apart == launches.apart && !timed.turns.is_empty() {
            timed.launches.extend(launches);
        }
        timed.turns.push(turn);
        timed.turns.sort_by(f64::total_cmp);
        timed.seconds = timed.launches.seconds();
        timed.noise = timed.launches.error() / timed.seconds;
        timed.samples = timed.launches.short.len().min(timed.launches.long.len());
    }

    /// What is known of a walk.
    pub(crate) fn get(&self, spec: Spec, seed: u64) -> Option<&Timed> {
        self.places.get(&(spec, seed)).map(|place| &self.seen[*place])
    }
}

#[cfg(test)]
mod tests {
    use super::super::spec::Effort;
    use super::*;
    use crate::Outcome;
    use crate::kernels::walk::Route;

    /// A record of a walk whose launches take these times.
    fn record(turn: u32, short: &[f64], long: &[f64]) -> Record {
        let spec = Spec::random(Route::Buffer, 4096, 512);
        let measurement = spec.measurement(Effort { steps: 64, runs: 1, seed: 7, turn });
        Record {
            params: measurement.params,
            amounts: measurement.amounts,
            outcome: Outcome::Verified,
            earlier_times_s: vec![short.to_vec()],
            times_s: long.to_vec(),
            ..Record::skipped("hierarchy", &measurement.name, "")
        }
    }

    fn of(records: &[Record]) -> Vec<Timed> {
        Walks::of(records.iter()).seen
    }

    #[test]
    fn the_fastest_launches_of_all_turns_count() {
        // 7 and 71 steps: 64 apart.
        let seen = of(&[record(0, &[2e-6, 1e-6], &[9e-6, f64::NAN]), record(1, &[3e-6, 1.5e-6], &[7.4e-6, 8e-6])]);
        assert_eq!(seen.len(), 1);
        assert!((seen[0].seconds - 1e-7).abs() < 1e-12, "{seen:?}");
        assert!((seen[0].turns[0] - 5.9e-6 / 64.0).abs() < 1e-12 && seen[0].turns.len() == 2, "{seen:?}");
        assert_eq!(seen[0].samples, 3);
    }

    #[test]
    fn noise_is_what_the_fastest_launches_differ_by() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut launches = |seconds: f64, many: usize| (0..many).map(|_| seconds * (1.0 + 0.1 * random.f64())).collect::<Vec<f64>>();
        for many in [7, 63] {
            let errors: Vec<(f64, f64)> = (0..200)
                .map(|_| {
                    let timed = of(&[record(0, &launches(7e-7, many), &launches(71e-7, many))]).remove(0);
                    (timed.seconds / 1e-7 - 1.0, timed.noise)
                })
                .collect();
            let root = |of: &dyn Fn(&(f64, f64)) -> f64| (errors.iter().map(|e| of(e).powi(2)).sum::<f64>() / 200.0).sqrt();
            let (off, said) = (root(&|e| e.0), root(&|e| e.1));
            assert!((0.5..2.0).contains(&(said / off)), "{many} launches: off by {off}, said {said}");
        }
    }

    #[test]
    fn what_no_walk_is_of_is_nothing() {
        let mut strange = record(0, &[1e-6], &[9e-6]);
        strange.params.remove("steps_before");
        assert_eq!(of(&[strange, record(0, &[], &[1e-6])]), vec![]);
    }

    #[test]
    fn a_turn_that_shows_too_little_is_found_out() {
        // Once around was disturbed in the first turn, several times in the second; two others agree.
        let turns =
            [record(0, &[9e-6], &[8e-6]), record(1, &[1e-6], &[9e-6]), record(2, &[1.2e-6], &[7.6e-6]), record(3, &[1e-6], &[7.4e-6])];
        assert!(!of(&turns[..1])[0].agrees() && !of(&turns[..2])[0].agrees());
        let seen = &of(&turns)[0];
        assert!(seen.agrees() && (seen.seconds - 1e-7).abs() < 1e-12, "{seen:?}");
    }
}
