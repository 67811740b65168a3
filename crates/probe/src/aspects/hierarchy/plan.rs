//! Which walk comes next.

use super::route::{APART, Route};
use super::spec::{Effort, LONG, RouteName, Spec, Timed};
use crate::fit::levels::{self, Level, Levels, Victims};
use crate::{Context, Plan, Record, Scale};
use std::collections::{HashMap, HashSet};
use warpsight_ir::TimeSource;

/// Distances within a pair.
const PAIRS: [u32; 7] = [4, 8, 16, 32, 64, 128, 256];
/// Ranges of pairs, the first and, where a cache holds that much, larger ones.
const PAIRED: u64 = 8 << 20;
/// Lines of the smallest range.
const LEAST_LINES: u64 = 4;
/// Ranges of one level that are tried beyond the ladder.
const REFINED: usize = 24;
/// Parts of a cache's size that are walked through at other strides than what a miss brings.
const AROUND: [f64; 9] = [0.25, 0.45, 0.6, 0.85, 0.97, 1.05, 1.2, 1.5, 2.1];
/// Ranges that are asked for before levels are fitted again.
const BUNDLE: usize = 8;
/// Groups that walk at once.
const WALKERS: [u32; 7] = [2, 3, 4, 6, 8, 12, 16];
/// Caches of which all groups together would need more are not asked for sharing.
const SHARED: u64 = 64 << 20;

/// What limits a plan.
#[derive(Clone, Copy)]
struct Limits {
    route: RouteName,
    most: u64,
    effort: Effort,
}

pub(super) fn plan(context: &Context) -> Plan {
    let simulated = context.device.clock == Some(TimeSource::Simulated);
    let (most, steps) = match context.scale {
        Scale::Full => (if simulated { 64 << 20 } else { 512 << 20 }, 32768),
        Scale::Quick => (if simulated { 16 << 20 } else { 64 << 20 }, 8192),
        Scale::Tiny => (64 << 10, 1024),
    };
    // Simulated clocks need no long walks, and host time is what they cost.
    let effort = Effort { steps: if simulated { 2048.min(steps) } else { steps }, runs: 7, seed: context.seed };
    let limits = |route: RouteName| {
        let most = most.min(route.route().most_bytes(context.device));
        (most >= 4 * u64::from(APART)).then_some(Limits { route, most, effort })
    };
    let images = [RouteName::Image1dBuffer, RouteName::Image2d].into_iter().find_map(limits);
    let routes: Vec<Limits> = limits(RouteName::Buffer).into_iter().chain(images).collect();
    let mut fits = Fits::default();
    Plan::reacting(move |records| {
        let next = routes.iter().find_map(|limits| limits.next(records, &mut fits));
        let runs =
            |spec: &Spec, effort: Effort| if spec.range / u64::from(spec.stride) > LONG as u64 { effort.runs.min(3) } else { effort.runs };
        next.map(|(spec, effort)| spec.measurement(Effort { runs: runs(&spec, effort), ..effort }))
    })
}

/// Fits that were made before, by the points that they are of. They say what fitting again would say.
#[derive(Default)]
struct Fits(HashMap<(RouteName, usize), Option<Levels>>);

impl Fits {
    /// What is known of a route, its levels fitted to all points but the last few: ranges are asked for in bundles.
    fn route(&mut self, seen: &[Timed], name: RouteName) -> Route {
        Route::fitted(seen, name, |points| {
            let count = points.len() / BUNDLE * BUNDLE;
            self.0.entry((name, count)).or_insert_with(|| levels::fit(&points[..count])).clone()
        })
    }
}

impl Limits {
    /// The next walk of this route; `None` where enough is known.
    fn next(&self, records: &[Record], fits: &mut Fits) -> Option<(Spec, Effort)> {
        let tried: HashSet<String> = records.iter().map(|record| record.name.clone()).collect();
        let untried = |spec: &Spec| !tried.contains(&spec.name());
        let walk = |range: u64, stride: u32| Spec::random(self.route, range, stride);
        let seen: Vec<Timed> = records.iter().filter(|record| record.ran()).filter_map(Timed::of).collect();
        // A route that cannot be walked at all is left after three tries.
        if seen.iter().all(|timed| timed.spec.route != self.route) {
            let name = self.route.route().word();
            if records.iter().filter(|record| record.name.starts_with(name)).count() >= 3 {
                return None;
            }
        }
        let pairs = |range: u64| {
            let unit = self.route.route().unit();
            let pair = move |on: u32| Spec { pair: Some(on), ..walk(range.min(self.most - u64::from(APART)), APART) };
            PAIRS.into_iter().filter(move |on| *on >= unit).map(pair)
        };
        if let Some(next) = pairs(PAIRED).find(untried) {
            return Some((next, self.effort));
        }
        let before = Route::fitted(&seen, self.route, |_| None);
        let own: Vec<&Timed> = seen.iter().filter(|timed| timed.spec.route == self.route && timed.spec.walkers == 1).collect();
        let turn = before.turn(&own);
        let grain = |bytes: f64| before.grain(bytes, turn);
        // Where a cache ends is a matter of parts of its size.
        let ladder = (0_i32..).map(|n| (LEAST_LINES * u64::from(before.nearest_grain())) as f64 * 2_f64.powf(f64::from(n) / 4.0));
        let rungs = ladder.map(|bytes| walk(multiple(bytes, grain(bytes)), grain(bytes))).take_while(|walk| walk.range <= self.most);
        if let Some(next) = rungs.into_iter().find(untried) {
            return Some((next, self.effort));
        }
        let known = fits.route(&seen, self.route);
        let levels = known.levels.as_ref()?;
        for (n, level) in levels.caches.iter().enumerate() {
            let near = |spec: &Spec| {
                let ratio = spec.range as f64 / level.bytes;
                let dense = spec.pair.is_none() && spec.walkers == 1 && spec.stride == grain(level.bytes);
                spec.route == self.route && dense && (0.8..1.5).contains(&ratio)
            };
            let few = seen.iter().filter(|timed| near(&timed.spec)).count() < REFINED;
            let between = known.bracket(n).filter(|(flat, risen)| few && risen - flat > 1.5 * f64::from(grain(level.bytes)));
            let halves = between.map(|(flat, risen)| walk(multiple(0.5 * (flat + risen), grain(level.bytes)), grain(level.bytes)));
            if let Some(next) = halves.filter(untried) {
                return Some((next, self.effort));
            }
            if few && let Some(next) = refined(level, grain(level.bytes)).map(|range| walk(range, grain(level.bytes))).find(untried) {
                return Some((next, self.effort));
            }
        }
        // What larger caches fetch: pairs beyond their ends.
        for level in &levels.caches {
            let beyond =
                ((4.0 * level.bytes) as u64 * u64::from(APART / before.nearest_grain().min(APART))).next_power_of_two().min(self.most);
            if beyond > PAIRED
                && let Some(next) = pairs(beyond).find(untried)
            {
                return Some((next, self.effort));
            }
        }
        for (n, (level, line)) in levels.caches.iter().zip(known.lines()).enumerate() {
            let grain = grain(level.bytes);
            let others = known.other_strides(n);
            let ranges = others.flat_map(|stride| AROUND.map(|part| walk(multiple(part * level.bytes, stride), stride)));
            if let Some(next) = ranges.into_iter().find(untried) {
                return Some((next, self.effort));
            }
            if let Some(next) = strided(level, line.unwrap_or(grain)).map(|(range, stride)| walk(range, stride)).find(untried) {
                return Some((next, self.effort));
            }
            let part = (0.7 * level.bytes / f64::from(grain)) as u64 * u64::from(grain);
            let together = |walkers: u32| Spec { walkers, ..walk(part.max(2 * u64::from(grain)), grain) };
            let few = WALKERS.into_iter().filter(|&walkers| u64::from(walkers) * part <= SHARED.min(2 * self.most));
            if let Some(next) = std::iter::once(1).chain(few).map(together).find(untried) {
                return Some((next, self.effort));
            }
        }
        None
    }
}

/// A number of bytes to whole grains.
fn multiple(bytes: f64, grain: u32) -> u64 {
    (bytes / f64::from(grain)).round().max(1.0) as u64 * u64::from(grain)
}

/// Ranges around a cache's end, the most telling first: along its misses' rise, and between the largest that fits and the smallest that
/// does not.
fn refined(level: &Level, grain: u32) -> impl Iterator<Item = u64> + use<> {
    let (bytes, lines) = (level.bytes, f64::from(grain));
    let ramp = match level.victims {
        Victims::Lru(steepness) => bytes / steepness,
        Victims::Random(_) | Victims::Hashed(_) => bytes,
    };
    let (lo, hi) = level.between;
    let ends = [bytes, lo, hi, (bytes * lo).sqrt(), (bytes * hi).sqrt()];
    let along = [0.125, 0.25, 0.5, 0.75, 1.0, 1.25, -0.25, -0.5].map(|part| bytes + part * ramp.max(4.0 * lines));
    let near = [1.0, -1.0, 2.0, -2.0, 3.0, 4.0].map(|beyond| bytes + beyond * lines);
    ends.into_iter().chain(along).chain(near).map(move |bytes| multiple(bytes, grain))
}

/// Walks of as many places as a cache has, or one more, some lines apart: those of one set are too many where its ways are fewer.
fn strided(level: &Level, line: u32) -> impl Iterator<Item = (u64, u32)> + use<> {
    let lines = (level.bytes / f64::from(line)).round() as u64;
    let strides = (1..).map(|k| 1_u64 << k).take_while(move |&apart| apart <= lines / 2 && apart * u64::from(line) <= 1 << 24);
    strides.flat_map(move |apart| {
        let (stride, places) = (apart * u64::from(line), lines / apart);
        [places + 1, places + places.div_ceil(4).max(2)].map(|places| (places * stride, stride as u32))
    })
}
