//! What one walk is: how it reads, which places, in which order. Its record says all of it, so that the places can be made again.

use crate::kernels::walk::{MOST_BYTES, Route, Walk};
use crate::kernels::{count, int, word};
use crate::{Measurement, Parameter, Parameters};
use fastrand::Rng;

/// Places of a long walk: one more time around averages enough, and the shorter a launch, the rarer is it disturbed.
const LONG: usize = 1 << 13;

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

/// What stands between a walk's name and the number of its turn.
const TURN: &str = ", turn ";

/// How much work a walk is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Steps of a timed pass, at least.
    pub(crate) steps: u32,
    /// Timed passes.
    pub(crate) runs: u32,
    /// Seed of the order.
    pub(crate) seed: u64,
    /// How often the same walk was measured before.
    pub(crate) turn: u32,
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

    /// Steps of a pass, of so many timed ones at least: once around, and once around before these.
    pub(crate) fn steps(&self, least: u32) -> f64 {
        let places = (self.range / u64::from(self.stride)).max(1) as usize * if self.pair.is_some() { 2 } else { 1 };
        places as f64 * f64::from(2 + rounds(places, least))
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
        let name = if effort.turn == 0 { self.name() } else { format!("{}{TURN}{}", self.name(), effort.turn + 1) };
        Walk {
            route,
            extent: (end / unit).max(2) as u32,
            rounds: rounds(cycle.len(), effort.steps),
            cycle,
            walkers: self.walkers,
            runs: effort.runs,
            name,
            params,
        }
        .measurement()
    }

    /// The name of the walk, whichever turn a measurement's name is of.
    pub(crate) fn named(measurement: &str) -> &str {
        measurement.split(TURN).next().unwrap_or(measurement)
    }

    /// What walk has these parameters, and the seed of its order.
    pub(crate) fn of(params: &Parameters) -> Option<(Self, u64)> {
        let int = |name: &str| match params.get(name)? {
            Parameter::Int(value) => Some(*value),
            _ => None,
        };
        let word = |name: &str| match params.get(name)? {
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

/// Times around so many places after the first, for so many steps at least.
fn rounds(places: usize, steps: u32) -> u32 {
    steps.div_ceil(places as u32).max(if places > LONG { 1 } else { 3 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(stride: i64, range: i64) -> Parameters {
        let spec = Spec { pair: Some(64), walkers: 2, ..Spec::random(Route::Buffer, 4096, 512) };
        let mut params = spec.measurement(Effort { steps: 64, runs: 1, seed: 7, turn: 2 }).params;
        params.extend([("stride_bytes".to_owned(), Parameter::Int(stride)), ("range_bytes".to_owned(), Parameter::Int(range))]);
        params
    }

    #[test]
    fn a_record_says_which_walk_it_is_of() {
        let (spec, seed) = Spec::of(&params(512, 4096)).expect("a walk");
        assert_eq!((spec.name(), seed), ("buffer 4096 B by 512 B and 64 B on, 2 walkers".to_owned(), 7));
        let mut addresses = spec.addresses(seed);
        addresses.sort_unstable();
        assert_eq!(addresses[..4], [0, 64, 512, 576]);
    }

    #[test]
    fn a_measurement_says_which_walk_it_is_of_and_which_turn() {
        let spec = Spec::random(Route::Buffer, 4096, 64);
        let names = [0, 1].map(|turn| spec.measurement(Effort { steps: 64, runs: 1, seed: 7, turn }).name);
        assert_eq!(names, ["buffer 4096 B by 64 B", "buffer 4096 B by 64 B, turn 2"]);
        assert!(names.iter().all(|name| Spec::named(name) == spec.name()));
    }

    #[test]
    fn records_of_files_that_no_walk_can_be_of_are_none() {
        for (stride, range) in [(0, 4096), (-4, 4096), (512, -1), (512, i64::MAX)] {
            assert_eq!(Spec::of(&params(stride, range)), None, "{stride} {range}");
        }
    }
}
