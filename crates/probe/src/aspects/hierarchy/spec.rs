//! What one walk is: how it reads, which places, in which order. Its record says all of it, so that the places can be made again.

use crate::kernels::walk::{Route, Walk};
use crate::kernels::{count, int, word};
use crate::{Measurement, Parameter, Parameters, Record};
use fastrand::Rng;
use warpsight_ir::ImageKind;

/// Places of a long walk: one time around takes its time, and averages what disturbs it.
pub(crate) const LONG: usize = 1 << 16;

/// One walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Spec {
    pub(crate) route: RouteName,
    /// Bytes from the first place to behind the last.
    pub(crate) range: u64,
    /// Bytes between places.
    pub(crate) stride: u32,
    /// Bytes from each place to another that is visited right behind it.
    pub(crate) pair: Option<u32>,
    /// Groups that walk at once, each in a range of its own.
    pub(crate) walkers: u32,
    /// The same walk is taken again under other numbers.
    pub(crate) again: u32,
}

/// A route as a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RouteName {
    Buffer,
    Image1dBuffer,
    Image2d,
}

impl RouteName {
    pub(crate) fn route(self) -> Route {
        match self {
            Self::Buffer => Route::Buffer,
            Self::Image1dBuffer => Route::Image(ImageKind::Image1dBuffer),
            Self::Image2d => Route::Image(ImageKind::Image2d),
        }
    }
    fn of(word: &str) -> Option<Self> {
        [Self::Buffer, Self::Image1dBuffer, Self::Image2d].into_iter().find(|name| name.route().word() == word)
    }
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
    pub(crate) fn random(route: RouteName, range: u64, stride: u32) -> Self {
        Self { route, range, stride, pair: None, walkers: 1, again: 0 }
    }

    pub(crate) fn name(&self) -> String {
        let mut name = format!("{} {} B by {} B", self.route.route().word(), self.range, self.stride);
        if let Some(pair) = self.pair {
            name += &format!(" and {pair} B on");
        }
        if self.walkers > 1 {
            name += &format!(", {} walkers", self.walkers);
        }
        if self.again > 0 {
            name += &format!(", again {}", self.again);
        }
        name
    }

    /// Byte addresses in the order of the walk, from the start of its range.
    pub(crate) fn addresses(&self, seed: u64) -> Vec<u64> {
        let mut places: Vec<u64> = (0..(self.range / u64::from(self.stride)).max(1)).map(|i| i * u64::from(self.stride)).collect();
        Rng::with_seed(seed ^ u64::from(self.again)).shuffle(&mut places);
        match self.pair {
            Some(on) => places.into_iter().flat_map(|place| [place, place + u64::from(on)]).collect(),
            None => places,
        }
    }

    /// Takes its time.
    pub(crate) fn measurement(&self, effort: Effort) -> Measurement {
        let route = self.route.route();
        let unit = u64::from(route.unit());
        let cycle: Vec<u32> = self.addresses(effort.seed).into_iter().map(|address| (address / unit) as u32).collect();
        let mut params = Parameters::from([
            ("range_bytes".into(), count(self.range)),
            ("stride_bytes".into(), int(self.stride)),
            ("again".into(), int(self.again)),
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
            route: RouteName::of(word("route")?)?,
            range: int("range_bytes")?.try_into().ok()?,
            stride: int("stride_bytes")?.try_into().ok()?,
            pair: int("pair_bytes").map(u32::try_from).transpose().ok()?,
            walkers: int("walkers")?.try_into().ok()?,
            again: int("again")?.try_into().ok()?,
        };
        Some((spec, word("order_seed")?.parse().ok()?))
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
