//! Which walk comes next.

use super::super::steady::Steady;
use super::route::{APART, Known};
use super::spec::{Effort, LONG, Spec, Timed};
use crate::fit::levels::{self, Level, Levels, Victims};
use crate::kernels::walk::Route;
use crate::{Context, Plan, Record, Scale};
use std::collections::{HashMap, HashSet};
use warpsight_ir::{ImageKind, TimeSource};

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
    route: Route,
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
    let limits = |route: Route| {
        let most = most.min(route.most_bytes(context.device));
        (most >= 4 * u64::from(APART)).then_some(Limits { route, most, effort })
    };
    let images = [ImageKind::Image1dBuffer, ImageKind::Image2d].map(Route::Image).into_iter().find_map(limits);
    let routes: Vec<Limits> = limits(Route::Buffer).into_iter().chain(images).chain(limits(Route::Constant)).collect();
    let (mut read, mut steady) = (Read::default(), Steady::default());
    let mut next = move |records: &[Record]| {
        read.on(records);
        let next = routes.iter().find_map(|limits| limits.next(&mut read));
        let runs =
            |spec: &Spec, effort: Effort| if spec.range / u64::from(spec.stride) > LONG as u64 { effort.runs.min(3) } else { effort.runs };
        next.map(|(spec, effort)| spec.measurement(Effort { runs: runs(&spec, effort), ..effort }))
    };
    Plan::reacting(move |records| steady.next(records, &mut next))
}

/// What was read of records that were there before, and fits that were made of them. They say what reading and fitting again would say.
#[derive(Default)]
struct Read {
    records: usize,
    tried: HashSet<String>,
    seen: Vec<Timed>,
    fits: HashMap<(Route, usize), Option<Levels>>,
}

impl Read {
    /// Reads on. Records become fewer where some turned out doubtful.
    fn on(&mut self, records: &[Record]) {
        if records.len() < self.records {
            *self = Self::default();
        }
        for record in &records[self.records.min(records.len())..] {
            self.tried.insert(record.name.clone());
            self.seen.extend(record.ran().then(|| Timed::of(record)).flatten());
        }
        self.records = records.len();
    }

    /// What is known of a route, its levels fitted to all points but the last few: ranges are asked for in bundles.
    fn route(&mut self, name: Route) -> Known {
        Known::fitted(&self.seen, name, |points| {
            let count = points.len() / BUNDLE * BUNDLE;
            self.fits.entry((name, count)).or_insert_with(|| levels::fit(&points[..count])).clone()
        })
    }
}

impl Limits {
    /// The next walk of this route; `None` where enough is known.
    fn next(&self, read: &mut Read) -> Option<(Spec, Effort)> {
        // A route that cannot be walked at all is left after three tries.
        let word = self.route.word();
        let tries = read.tried.iter().filter(|name| name.split(' ').next() == Some(word)).count();
        if tries >= 3 && read.seen.iter().all(|timed| timed.spec.route != self.route) {
            return None;
        }
        // Pairs and ladder first: levels are fitted to them.
        self.first(read).or_else(|| {
            let known = read.route(self.route);
            self.closer(read, &known)
        })
    }

    fn walk(&self, range: u64, stride: u32) -> Spec {
        Spec::random(self.route, range, stride)
    }

    fn ask(&self, read: &Read, specs: impl Iterator<Item = Spec>) -> Option<(Spec, Effort)> {
        let mut specs = specs;
        specs.find(|spec| !read.tried.contains(&spec.name())).map(|spec| (spec, self.effort))
    }

    /// Pairs of near places in a range of so many bytes.
    fn pairs(&self, range: u64) -> impl Iterator<Item = Spec> + use<> {
        let (unit, walk) = (self.route.unit(), self.walk(range.min(self.most - u64::from(APART)), APART));
        PAIRS.into_iter().filter(move |on| *on >= unit).map(move |on| Spec { pair: Some(on), ..walk })
    }

    /// How walks of a range stride, as far as is known.
    fn grain(&self, read: &Read, known: &Known) -> impl Fn(f64) -> u32 + use<> {
        let own: Vec<&Timed> = read.seen.iter().filter(|timed| timed.spec.route == self.route && timed.spec.walkers == 1).collect();
        known.striding(&own)
    }

    /// Pairs, then a ladder of ranges.
    fn first(&self, read: &Read) -> Option<(Spec, Effort)> {
        if let Some(next) = self.ask(read, self.pairs(PAIRED)) {
            return Some(next);
        }
        let before = Known::fitted(&read.seen, self.route, |_| None);
        let grain = self.grain(read, &before);
        // Where a cache ends is a matter of parts of its size.
        let ladder = (0_i32..).map(|n| (LEAST_LINES * u64::from(before.nearest_grain())) as f64 * 2_f64.powf(f64::from(n) / 4.0));
        let rungs = ladder.map(|bytes| self.walk(multiple(bytes, grain(bytes)), grain(bytes)));
        self.ask(read, rungs.take_while(|walk| walk.range <= self.most))
    }

    /// Ranges around the ends of caches, then what tells their lines, sets and sharing.
    fn closer(&self, read: &Read, known: &Known) -> Option<(Spec, Effort)> {
        let grain = self.grain(read, known);
        let levels = known.levels.as_ref()?;
        for (n, level) in levels.caches.iter().enumerate() {
            let stride = grain(level.bytes);
            let near = |spec: &Spec| {
                let ratio = spec.range as f64 / level.bytes;
                let dense = spec.pair.is_none() && spec.walkers == 1 && spec.stride == stride;
                spec.route == self.route && dense && (0.8..1.5).contains(&ratio)
            };
            if read.seen.iter().filter(|timed| near(&timed.spec)).count() >= REFINED {
                continue;
            }
            let between = known.bracket(n).filter(|(flat, risen)| risen - flat > 1.5 * f64::from(stride));
            let halves = between.map(|(flat, risen)| multiple(0.5 * (flat + risen), stride));
            let ranges = halves.into_iter().chain(refined(level, stride));
            if let Some(next) = self.ask(read, ranges.map(|range| self.walk(range, stride))) {
                return Some(next);
            }
        }
        // What larger caches fetch: pairs beyond their ends.
        let apart = u64::from(APART / known.nearest_grain().min(APART));
        let beyond = levels.caches.iter().map(|level| ((4.0 * level.bytes) as u64 * apart).next_power_of_two().min(self.most));
        if let Some(next) = self.ask(read, beyond.filter(|range| *range > PAIRED).flat_map(|range| self.pairs(range))) {
            return Some(next);
        }
        for (n, (level, line)) in levels.caches.iter().zip(known.lines()).enumerate() {
            let grain = grain(level.bytes);
            let others = known.other_strides(n).flat_map(|stride| AROUND.map(|part| (multiple(part * level.bytes, stride), stride)));
            let walks = others.chain(strided(level, line.unwrap_or(grain))).map(|(range, stride)| self.walk(range, stride));
            let part = (0.7 * level.bytes / f64::from(grain)) as u64 * u64::from(grain);
            let few = WALKERS.into_iter().filter(|&walkers| u64::from(walkers) * part <= SHARED.min(2 * self.most));
            let together = |walkers: u32| Spec { walkers, ..self.walk(part.max(2 * u64::from(grain)), grain) };
            if let Some(next) = self.ask(read, walks.chain(std::iter::once(1).chain(few).map(together))) {
                return Some(next);
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
