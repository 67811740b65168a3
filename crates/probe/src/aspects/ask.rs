//! Algorithms that measure: one runs from its beginning on the records there are, and stops where it wants to know more.
//!
//! So the same function says what is measured next and, once everything is there, what was found; a run that goes on where another was
//! interrupted asks for the same.

use crate::{Measurement, Outcome, Record};
use warpsight_ir::profile::{Fact, Source};

/// Passes of each launch: the least of so many is within a fraction of a per cent of an undisturbed one.
pub(crate) const RUNS: u32 = 15;
/// A long loop makes so many times the trips of a short one.
const LONGER: u64 = 4;
/// A launch of several trips takes so many times as long as one of a single trip.
const LASTING: f64 = 3.0;
/// Launches of this length are long enough, however much their times vary.
const LONG_S: f64 = 2e-4;
/// Trips of launches of twice the length take as long but for this part where nothing else counts.
const ALIKE: f64 = 0.015;
/// So often launches are made longer to find out.
const DOUBLINGS: u32 = 4;
/// Times are read from clocks in at least so many steps.
const TICKS: f64 = 20.0;

/// Why an algorithm cannot go on.
pub(crate) enum Stop {
    /// It wants this measured.
    Wanted(Box<Measurement>),
    /// There was no time to measure something: what it would have said nobody knows.
    Late(String),
    /// The device cannot do it, or nothing can be told from what it did.
    Refused(String),
}

/// What an algorithm comes to.
pub(crate) type Answer<T> = Result<T, Stop>;

/// A positive number with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) lo: f64,
    pub(crate) value: f64,
    pub(crate) hi: f64,
}

impl Spread {
    /// A number that is known exactly.
    pub(crate) fn exact(value: f64) -> Self {
        Self { lo: value, value, hi: value }
    }
    /// So much divided by it.
    pub(crate) fn under(self, dividend: f64) -> Self {
        Self { lo: dividend / self.hi, value: dividend / self.value, hi: dividend / self.lo }
    }
    pub(crate) fn times(self, factor: f64) -> Self {
        Self { lo: self.lo * factor, value: self.value * factor, hi: self.hi * factor }
    }
    /// Both multiplied.
    pub(crate) fn product(self, other: Self) -> Self {
        Self { lo: self.lo * other.lo, value: self.value * other.value, hi: self.hi * other.hi }
    }
    /// What it is of another.
    pub(crate) fn over(self, other: Self) -> Self {
        self.product(other.under(1.0))
    }
    /// The difference to another; nothing of it is below 0.
    pub(crate) fn less(self, other: Self) -> Self {
        Self { lo: (self.lo - other.hi).max(0.0), value: (self.value - other.value).max(0.0), hi: (self.hi - other.lo).max(0.0) }
    }
    /// A measured fact.
    pub(crate) fn fact(self, cite: impl Into<String>) -> Fact<f64> {
        if [self.lo, self.value, self.hi].iter().all(|v| v.is_finite()) {
            Fact::between(self.lo.min(self.value), self.value, self.hi.max(self.value), Source::Measured, cite)
        } else {
            Fact::unknown("the clock cannot tell it from nothing")
        }
    }
}

/// What was measured by something that varies.
pub(crate) type Series<X> = Vec<(X, Spread)>;

/// Points of a curve.
pub(crate) fn points<X: Copy + TryInto<u32>>(series: &[(X, Spread)]) -> Vec<[f64; 4]> {
    // Trips, lanes and footprints are below 2³².
    let x = |x: X| f64::from(x.try_into().unwrap_or(u32::MAX));
    series.iter().map(|(at, y)| [x(*at), y.value, y.lo, y.hi]).collect()
}

/// Of the times of one launch: the least, since whatever disturbs a launch makes it longer, and the median.
fn times(record: &Record) -> Option<Spread> {
    let mut times: Vec<f64> = record.times_s.iter().copied().filter(|t| t.is_finite() && *t >= 0.0).collect();
    times.sort_by(f64::total_cmp);
    let least = *times.first()?;
    Some(Spread { lo: least - record.quantum_s.max(0.0) / 2.0, value: least, hi: times[times.len() / 2] })
}

/// What makes trips: the time of a launch is asked by their number.
pub(crate) trait Trips {
    /// Its name, unique in its phase.
    fn name(&self) -> &str;
    /// Trips of the first launch, which begins to find out how many are enough, and most trips.
    fn bounds(&self) -> (u64, u64);
    /// Takes the time of so many trips.
    fn measurement(&self, trips: u64) -> Measurement;
    /// The name of that measurement.
    fn named(&self, trips: u64) -> String {
        format!("{} {trips} trips", self.name())
    }
}

/// The records of a phase, which are asked.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'r> {
    phase: &'r str,
    records: &'r [Record],
}

impl<'r> Asked<'r> {
    pub(crate) fn new(phase: &'r str, records: &'r [Record]) -> Self {
        Self { phase, records }
    }

    /// The record of a measurement that ran and was right.
    pub(crate) fn record(&self, name: &str, measurement: impl FnOnce() -> Measurement) -> Answer<&'r Record> {
        // The last one: what failed may have been tried again.
        let Some(record) = self.records.iter().rfind(|record| record.phase == self.phase && record.name == name) else {
            return Err(Stop::Wanted(Box::new(measurement())));
        };
        match &record.outcome {
            Outcome::Verified => Ok(record),
            Outcome::Wrong { what } => Err(Stop::Refused(format!("`{name}` gave wrong results: {what}"))),
            Outcome::Skipped { why, later: true } => Err(Stop::Late(format!("`{name}` did not run: {why}"))),
            Outcome::Failed { why, .. } | Outcome::Skipped { why, .. } => Err(Stop::Refused(format!("`{name}` did not run: {why}"))),
        }
    }

    /// Seconds of a launch that makes so many trips.
    pub(crate) fn time(&self, kernel: &impl Trips, trips: u64) -> Answer<Spread> {
        let name = kernel.named(trips);
        let record = self.record(&name, || kernel.measurement(trips))?;
        times(record).ok_or_else(|| Stop::Refused(format!("no clock showed a time of `{name}`")))
    }

    /// Trips of a launch long enough that its start is a small part of its time.
    pub(crate) fn trips(&self, kernel: &impl Trips) -> Answer<u64> {
        let (mut trips, most) = kernel.bounds();
        let mut before = self.time(kernel, trips)?;
        loop {
            let longer = trips * LONGER;
            if longer > most {
                return Err(Stop::Refused(format!("`{}` does not take longer with more trips", kernel.name())));
            }
            let after = self.time(kernel, longer)?;
            let trip = after.less(before);
            let quantum = (before.value - before.lo) * 2.0;
            let told = trip.hi - trip.lo <= 0.1 * trip.value || after.value >= LONG_S;
            // Then the start is at most half of the short one, a fifth of the long one.
            if before.value > 0.0 && after.value >= 2.5 * before.value && after.value >= TICKS * quantum && told {
                return Ok(longer);
            }
            (trips, before) = (longer, after);
        }
    }

    /// Seconds of a trip, from two launches of different length: what they have in common is not in it. The shorter is long enough as well
    /// to hide what goes on beside its trips, as the dispatch of many groups.
    pub(crate) fn trip(&self, kernel: &impl Trips) -> Answer<Spread> {
        let trips = self.trips(kernel)?;
        self.between(kernel, trips / 2, trips)
    }

    /// Trips, at least so many, of a launch that takes several times as long as one of a single trip.
    pub(crate) fn lasting(&self, kernel: &impl Trips, least: u64) -> Answer<u64> {
        let one = self.time(kernel, 1)?;
        let (mut trips, most) = (least.max(2), kernel.bounds().1);
        loop {
            let time = self.time(kernel, trips)?;
            let beyond = time.less(one);
            let told = beyond.hi - beyond.lo <= 0.2 * beyond.value || time.value >= LONG_S;
            if one.value > 0.0 && time.value >= LASTING * one.value && told {
                return Ok(trips);
            }
            trips *= 2;
            if trips > most {
                return Err(Stop::Refused(format!("`{}` does not take longer with more trips", kernel.name())));
            }
        }
    }

    /// The same where launches are so wide that what goes on beside trips, as their dispatch, may take longer than short ones: from longer and
    /// longer launches, until a trip takes as long in those of twice the length.
    pub(crate) fn even_trip(&self, kernel: &impl Trips) -> Answer<Spread> {
        let mut trips = self.trips(kernel)?;
        let mut trip = self.between(kernel, trips / 2, trips)?;
        for _ in 0..DOUBLINGS {
            if 2 * trips > kernel.bounds().1 {
                break;
            }
            let longer = self.between(kernel, trips, 2 * trips)?;
            let alike = (longer.value / trip.value - 1.0).abs() <= ALIKE;
            (trip, trips) = (longer, 2 * trips);
            if alike {
                break;
            }
        }
        Ok(trip)
    }

    /// Seconds of a trip, from launches of one trip and of at least so many: where each is expensive, or their sum has to reach far.
    pub(crate) fn beyond_one(&self, kernel: &impl Trips, least: u64) -> Answer<Spread> {
        let trips = self.lasting(kernel, least)?;
        self.between(kernel, 1, trips)
    }

    /// Seconds of a trip, from launches of so many trips.
    pub(crate) fn between(&self, kernel: &impl Trips, short: u64, long: u64) -> Answer<Spread> {
        let (short_time, long_time) = (self.time(kernel, short)?, self.time(kernel, long)?);
        let trip = long_time.less(short_time).times(1.0 / (long - short) as f64);
        if trip.value > 0.0 { Ok(trip) } else { Err(Stop::Refused(format!("`{}` takes no time", kernel.name()))) }
    }
}

/// What was found, or why it is unknown.
pub(crate) fn told<T>(answer: Answer<T>) -> Result<T, String> {
    answer.map_err(|stop| match stop {
        Stop::Wanted(measurement) => format!("`{}` was not measured", measurement.name),
        Stop::Late(why) | Stop::Refused(why) => why,
    })
}

/// The answer, or `None` where the device refuses: an algorithm that can do without. What there was no time for it cannot do without.
pub(crate) fn if_possible<T>(answer: Answer<T>) -> Answer<Option<T>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(Stop::Refused(_)) => Ok(None),
        Err(stop) => Err(stop),
    }
}

/// Passes on only what is wanted, in a plan of several algorithms: what one comes to, or cannot, or has no time for, does not keep back others.
pub(crate) fn go_on<T>(answer: Answer<T>) -> Answer<()> {
    match answer {
        Err(Stop::Wanted(measurement)) => Err(Stop::Wanted(measurement)),
        _ => Ok(()),
    }
}

/// Of a series what the device has.
pub(crate) fn series<X: Copy>(of: impl IntoIterator<Item = X>, each: impl Fn(X) -> Answer<Spread>) -> Answer<Series<X>> {
    of.into_iter().filter_map(|x| if_possible(each(x)).map(|own| own.map(|own| (x, own))).transpose()).collect()
}

/// The largest of several rates that the device has; where there was no time for one, that may be larger.
pub(crate) fn fastest(rates: impl IntoIterator<Item = Answer<Spread>>) -> Answer<Spread> {
    let mut best: Option<Spread> = None;
    for rate in rates {
        match (if_possible(rate), best) {
            (Err(Stop::Late(why)), Some(best)) => return Err(Stop::Late(format!("{why}; {:.3e} at least", best.lo))),
            (rate, _) => best = rate?.into_iter().chain(best).max_by(|a, b| a.value.total_cmp(&b.value)),
        }
    }
    best.ok_or_else(|| Stop::Refused("no kernel ran".into()))
}

/// The largest number from `first` to `most` of which something holds; it holds of `first`, and of all numbers below one of which it holds.
/// By doubling and bisection.
pub(crate) fn largest(first: u32, most: u32, mut holds: impl FnMut(u32) -> Answer<bool>) -> Answer<u32> {
    let (mut low, mut high) = (first, most.saturating_add(1));
    let mut next = first.saturating_mul(2);
    while next < high {
        if holds(next)? {
            (low, next) = (next, next.saturating_mul(2));
        } else {
            high = next;
        }
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle)? { low = middle } else { high = middle }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bisection_finds_the_last_that_holds() {
        for (first, most, truth) in [(1, 1000, 1), (1, 1000, 64), (1, 1000, 181), (2, 300, 300), (5, 5, 5), (1, 7, 6)] {
            let mut asked = 0;
            let found = largest(first, most, |n| {
                asked += 1;
                Ok(n <= truth)
            });
            assert_eq!(told(found), Ok(truth));
            assert!(asked <= 20, "{asked}");
        }
    }

    #[test]
    fn quotients_turn_intervals_round() {
        let trip = Spread { lo: 2.0, value: 4.0, hi: 5.0 };
        assert_eq!(trip.under(20.0), Spread { lo: 4.0, value: 5.0, hi: 10.0 });
        assert_eq!(trip.less(Spread::exact(1.0)), Spread { lo: 1.0, value: 3.0, hi: 4.0 });
        assert!(Spread::exact(0.0).under(1.0).fact("").get().is_none());
    }
}
