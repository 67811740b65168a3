//! What one walk is: how it reads, which places, in which order. Its record says all of it, so that the places can be made again.

use crate::kernels::walk::{MOST_BYTES, Route, Walk};
use crate::kernels::{count, int, word};
use crate::{Measurement, Parameter, Parameters, Record};
use fastrand::Rng;

/// Places of a long walk: one time around takes its time, and averages what disturbs it.
pub(crate) const LONG: usize = 1 << 16;

/// One walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Spec {
    pub(crate) route: Route,
    /// Bytes from the first place to behind the last.
    pub(crate) range: u64,
    /// Bytes between places.
    pub(crate) stride: u32,
    /// Bytes from each place to another that is visited right behind it.
    pub(crate) pair: Option<u32>,
    /// Groups that walk at once, each in a range of its own.
    pub(crate) walkers: u32,
}

/// How much work a walk is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Steps of a timed pass, at least.
    pub(crate) steps: u32,
    /// Timed passes.
    pub(crate) runs: u32,
    /// Seed of the order.
    pub(crate) seed: u64,
}

impl Spec {
    /// A walk in random order.
    pub(crate) fn random(route: Route, range: u64, stride: u32) -> Self {
        Self { route, range, stride, pair: None, walkers: 1 }
    }

    pub(crate) fn name(&self) -> String {
        let mut name = format!("{} {} B by {} B", self.route.word(), self.range, self.stride);
        if let Some(pair) = self.pair {
            name += &format!(" and {pair} B on");
        }
        if self.walkers > 1 {
            name += &format!(", {} walkers", self.walkers);
        }
        name
    }

    /// Byte addresses in the order of the walk, from the start of its range.
    pub(crate) fn addresses(&self, seed: u64) -> Vec<u64> {
        let mut places: Vec<u64> = (0..(self.range / u64::from(self.stride)).max(1)).map(|i| i * u64::from(self.stride)).collect();
        Rng::with_seed(seed).shuffle(&mut places);
        match self.pair {
            Some(on) => places.into_iter().flat_map(|place| [place, place + u64::from(on)]).collect(),
            None => places,
        }
    }

    /// Takes its time.
    pub(crate) fn measurement(&self, effort: Effort) -> Measurement {
        let route = self.route;
        let unit = u64::from(route.unit());
        let cycle: Vec<u32> = self.addresses(effort.seed).into_iter().map(|address| (address / unit) as u32).collect();
        let mut params = Parameters::from([
            ("range_bytes".into(), count(self.range)),
            ("stride_bytes".into(), int(self.stride)),
            ("order_seed".into(), word(&effort.seed.to_string())),
        ]);
        if let Some(pair) = self.pair {
            params.insert("pair_bytes".into(), int(pair));
        }
        let end = self.range.max(u64::from(self.stride)) + u64::from(self.pair.unwrap_or(0));
        let rounds = effort.steps.div_ceil(cycle.len() as u32).max(if cycle.len() > LONG { 1 } else { 3 });
        Walk {
            route,
            extent: (end / unit).max(2) as u32,
            cycle,
            rounds,
            walkers: self.walkers,
            runs: effort.runs,
            name: self.name(),
            params,
        }
        .measurement()
    }

    /// What walk a record is of, and the seed of its order.
    pub(crate) fn of(record: &Record) -> Option<(Self, u64)> {
        let int = |name: &str| match record.params.get(name)? {
            Parameter::Int(value) => Some(*value),
            _ => None,
        };
        let word = |name: &str| match record.params.get(name)? {
            Parameter::Word(value) => Some(value.as_str()),
            _ => None,
        };
        let spec = Self {
            route: Route::of(word("route")?)?,
            range: int("range_bytes")?.try_into().ok()?,
            stride: int("stride_bytes")?.try_into().ok()?,
            pair: int("pair_bytes").map(u32::try_from).transpose().ok()?,
            walkers: int("walkers")?.try_into().ok()?,
        };
        // Files may say anything: no walk has such places.
        let possible = spec.stride > 0 && spec.walkers > 0 && spec.range <= MOST_BYTES;
        possible.then_some((spec, word("order_seed")?.parse().ok()?))
    }
}

/// What a record says of a step: seconds, and their relative spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Timed {
    pub(crate) spec: Spec,
    pub(crate) seed: u64,
    /// Seconds of a step beyond the first time around: of the fastest passes, since what disturbs a walk makes it longer.
    pub(crate) seconds: f64,
    /// How much longer the median of passes would make it, as a part.
    pub(crate) spread: f64,
}

impl Timed {
    pub(crate) fn of(record: &Record) -> Option<Self> {
        let (spec, seed) = Spec::of(record)?;
        let Some(Parameter::Int(before)) = record.params.get("steps_before") else { return None };
        let sorted = |times: &[f64]| {
            let mut times = times.to_vec();
            times.retain(|time| time.is_finite() && *time > 0.0);
            times.sort_by(f64::total_cmp);
            times
        };
        let (times, first) = (sorted(&record.times_s), sorted(record.earlier_times_s.first()?));
        let (least, median) = (*times.first()?, *times.get(times.len() / 2)?);
        let (steps, before) = (record.amounts.steps, *before as f64);
        let seconds = (least - first.first()?) / (steps - before);
        // Both times vary, and only their difference counts.
        let spread = (median - least) / least * (steps + before) / (steps - before);
        (seconds > 0.0 && seconds.is_finite()).then_some(Self { spec, seed, seconds, spread })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(stride: i64, range: i64) -> Record {
        let spec = Spec { pair: Some(64), walkers: 2, ..Spec::random(Route::Buffer, 4096, 512) };
        let measurement = spec.measurement(Effort { steps: 64, runs: 1, seed: 7 });
        let mut record = Record { params: measurement.params, ..Record::skipped("hierarchy", &measurement.name, "") };
        record.params.extend([("stride_bytes".to_owned(), Parameter::Int(stride)), ("range_bytes".to_owned(), Parameter::Int(range))]);
        record
    }

    #[test]
    fn a_record_says_which_walk_it_is_of() {
        let (spec, seed) = Spec::of(&record(512, 4096)).expect("a walk");
        assert_eq!((spec.name(), seed), ("buffer 4096 B by 512 B and 64 B on, 2 walkers".to_owned(), 7));
        let mut addresses = spec.addresses(seed);
        addresses.sort_unstable();
        assert_eq!(addresses[..4], [0, 64, 512, 576]);
    }

    #[test]
    fn records_of_files_that_no_walk_can_be_of_are_none() {
        for (stride, range) in [(0, 4096), (-4, 4096), (512, -1), (512, i64::MAX)] {
            assert_eq!(Spec::of(&record(stride, range)), None, "{stride} {range}");
        }
    }
}
