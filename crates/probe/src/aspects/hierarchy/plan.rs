//! Which walk comes next.

use super::super::steady::Steady;
use super::route::{APART, Known, LEAST_LINES, PAGE, PAIRED, distances, trusted};
use super::spec::{Effort, Spec};
use super::timed::{Timed, Walks};
use crate::fit::levels::{self, Level, Levels, Point, Victims};
use crate::kernels::walk::Route;
use crate::{Context, Plan, Record, Scale};
use std::collections::HashMap;
use warpsight_ir::{ImageKind, TimeSource};
use warpsight_run::DeviceInfo;

/// Ranges of one level that are tried beyond the ladder.
const REFINED: usize = 24;
/// Parts of a cache's size that are walked through at other strides than what a miss brings.
const AROUND: [f64; 9] = [0.25, 0.45, 0.6, 0.85, 0.97, 1.05, 1.2, 1.5, 2.1];
/// Ranges that are asked for before levels are fitted again.
const BUNDLE: usize = 8;
/// The ladder's end before ranges around the ends of caches are tried; what is larger takes long, and few devices have a cache of it.
const NEAR: u64 = 64 << 20;
/// Groups that walk at once.
const WALKERS: [u32; 7] = [2, 3, 4, 6, 8, 12, 16];
/// More of them, while each still has a cache of its own.
const MANY: [u32; 14] = [24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048];
/// Caches of which all groups together would need more are not asked for sharing.
const SHARED: u64 = 64 << 20;

/// Standard error that a walk may have, as a part of what it takes: noisier clocks are read more often.
const PRECISE: f64 = 0.002;
/// Passes, at least and at most.
const RUNS: (u32, u32) = (7, 63);
/// Rungs of a ladder that are tried in turns, one after the other, before the next ones.
const TOGETHER: usize = 8;

/// What limits a plan.
#[derive(Clone, Copy)]
struct Limits {
    route: Route,
    most: u64,
    /// Steps of a timed launch, at least.
    steps: u32,
    /// Seconds of one measurement, as far as that can be told before.
    seconds: f64,
    /// Turns of a walk, some time after each other, until two agree.
    turns: u32,
    seed: u64,
}

/// Rungs of a ladder for each doubling: where a cache ends is a matter of parts of its size.
const RUNGS: f64 = 4.0;

/// Whether walks are of simulated time.
fn simulated(device: &DeviceInfo) -> bool {
    device.clock == Some(TimeSource::Simulated)
}

/// Bytes of the longest walk of a whole probe.
fn longest(device: &DeviceInfo) -> u64 {
    if simulated(device) { 64 << 20 } else { 512 << 20 }
}

/// Bytes that the last walk of a whole probe of a device reaches at least, if it is through buffers: images may be too small for it, and a rung
/// farther would be too long.
pub(super) fn whole(device: &DeviceInfo) -> f64 {
    longest(device).min(Route::Buffer.most_bytes(device)) as f64 * 2_f64.powf(-1.0 / RUNGS)
}

pub(super) fn plan(context: &Context) -> Plan {
    let simulated = simulated(context.device);
    let (most, steps, seconds, turns) = match context.scale {
        Scale::Full => (longest(context.device), 32768, 0.1, 6),
        Scale::Quick => (if simulated { 16 << 20 } else { 64 << 20 }, 8192, 0.02, 3),
        Scale::Tiny => (64 << 10, 1024, 0.01, 1),
    };
    // Simulated clocks need no long walks, host time is what they cost, passes after the first cost none, and nobody else runs there.
    let (steps, seconds, turns) = if simulated { (2048.min(steps), f64::INFINITY, 1) } else { (steps, seconds, turns) };
    let limits = |route: Route| {
        let most = most.min(route.most_bytes(context.device));
        (most >= 4 * u64::from(APART)).then_some(Limits { route, most, steps, seconds, turns, seed: context.seed })
    };
    let images = [ImageKind::Image1dBuffer, ImageKind::Image2d].map(Route::Image).into_iter().find_map(limits);
    let routes: Vec<Limits> = limits(Route::Buffer).into_iter().chain(images).chain(limits(Route::Constant)).collect();
    let (mut read, mut steady) = (Read::default(), Steady::default());
    let mut next = move |records: &[Record]| {
        read.on(records);
        let walked: Vec<&Limits> = routes.iter().filter(|limits| limits.walked(&read)).collect();
        let next = walked.iter().find_map(|limits| limits.first(&read, NEAR).or_else(|| limits.closer(&mut read)));
        let next = next.or_else(|| walked.iter().find_map(|limits| limits.first(&read, limits.most)));
        next.map(|(spec, effort)| spec.measurement(effort))
    };
    Plan::reacting(move |records| steady.next(records, &mut next))
}

/// What was read of records that were there before, and fits that were made of them. They say what reading and fitting again would say.
#[derive(Default)]
struct Read {
    records: usize,
    /// How often a walk was tried, by its name.
    tried: HashMap<String, u32>,
    walks: Walks,
    /// Of each route how many records there are, and what was known when the last bundle of them was whole.
    bundles: HashMap<Route, (usize, Vec<Timed>)>,
    /// Of each route the points that levels were fitted to last, and these.
    fits: HashMap<Route, (Vec<Point>, Option<Levels>)>,
}

impl Read {
    /// Reads on. Records become fewer where some turned out doubtful.
    fn on(&mut self, records: &[Record]) {
        if records.len() < self.records {
            *self = Self::default();
        }
        for record in &records[self.records.min(records.len())..] {
            *self.tried.entry(Spec::named(&record.name).to_owned()).or_default() += 1;
            let Some((spec, _)) = Spec::of(&record.params).filter(|_| record.ran()) else { continue };
            self.walks.add(record);
            let (records, known) = self.bundles.entry(spec.route).or_default();
            *records += 1;
            if *records % BUNDLE == 0 {
                *known = self.walks.seen.iter().filter(|timed| timed.spec.route == spec.route).cloned().collect();
            }
        }
        self.records = records.len();
    }

    /// What is known of a route, its levels fitted to all records but the last few: ranges are asked for in bundles.
    fn route(&mut self, name: Route) -> Known {
        let (_, known) = self.bundles.entry(name).or_default();
        let points = Known::fitted(known, name, |_| None).points;
        let (fitted, levels) = self.fits.entry(name).or_default();
        // Walks of other kinds say nothing new of where caches end.
        let same = |(a, b): (&Point, &Point)| (a.bytes, a.seconds) == (b.bytes, b.seconds);
        if fitted.len() != points.len() || !fitted.iter().zip(&points).all(same) {
            *levels = levels::fit(&points);
            *fitted = points;
        }
        Known::fitted(&self.walks.seen, name, |_| levels.clone())
    }
}

impl Limits {
    /// Whether this route can be walked: one that cannot at all is left after three tries.
    fn walked(&self, read: &Read) -> bool {
        let word = self.route.word();
        let tries = read.tried.keys().filter(|name| name.split(' ').next() == Some(word)).count();
        tries < 3 || read.walks.seen.iter().any(|timed| timed.spec.route == self.route)
    }

    fn walk(&self, range: u64, stride: u32) -> Spec {
        Spec::random(self.route, range, stride)
    }

    /// Of some walks the first that was tried least, but for those whose turns agree.
    fn ask(&self, read: &Read, specs: impl Iterator<Item = Spec>) -> Option<(Spec, Effort)> {
        let turns = |spec: &Spec| read.tried.get(&spec.name()).copied().unwrap_or(0);
        let settled = |spec: &Spec, turns: u32| {
            // What was not told by one turn is not told by another.
            let agreed = |timed: &Timed| timed.turns.len() > 1 && timed.agrees();
            turns >= self.turns || turns > 0 && read.walks.get(*spec, self.seed).is_none_or(agreed)
        };
        let open = specs.map(|spec| (turns(&spec), spec)).filter(|(turns, spec)| !settled(spec, *turns));
        let (turn, spec) = open.min_by_key(|(turns, _)| *turns)?;
        Some((spec, Effort { steps: self.steps, runs: self.runs(read, &spec), seed: self.seed, turn }))
    }

    /// Passes by what the clock's noise needs, as far as there is time.
    fn runs(&self, read: &Read, spec: &Spec) -> u32 {
        let own = || read.walks.seen.iter().filter(|timed| timed.spec.route == self.route);
        // What the least of n launches is off by falls with n.
        let mut alone: Vec<f64> = own().map(|timed| timed.noise * timed.samples as f64).collect();
        alone.sort_by(f64::total_cmp);
        let needed = alone.get(alone.len() / 2).map_or(0.0, |alone| alone / PRECISE);
        let smaller = own().filter(|timed| timed.spec.range <= spec.range).max_by_key(|timed| timed.spec.range);
        let pass = spec.steps(self.steps) * smaller.map_or(0.0, |timed| timed.seconds);
        let there = if pass > 0.0 { self.seconds / pass } else { f64::INFINITY };
        (needed as u32).clamp(RUNS.0, RUNS.1).min((there as u32).max(1))
    }

    /// Pairs of near places in a range of so many bytes.
    fn pairs(&self, range: u64) -> impl Iterator<Item = Spec> + use<> {
        let walk = self.walk(range.min(self.most - u64::from(APART)), APART);
        distances(self.route).map(move |on| Spec { pair: Some(on), ..walk })
    }

    /// How walks of a range stride, as far as is known.
    fn grain(&self, read: &Read, known: &Known) -> impl Fn(f64) -> u32 + use<> {
        let own = trusted(&read.walks.seen, self.route);
        known.striding(&own)
    }

    /// Pairs, then a ladder of ranges up to one, rung by rung in turns, until a stretch of it is disturbed whatever one does.
    fn first(&self, read: &Read, most: u64) -> Option<(Spec, Effort)> {
        if let Some(next) = PAIRED.into_iter().find_map(|range| self.ask(read, self.pairs(range))) {
            return Some(next);
        }
        let before = Known::fitted(&read.walks.seen, self.route, |_| None);
        let grain = self.grain(read, &before);
        let ladder = (0_i32..).map(|n| (LEAST_LINES * u64::from(before.nearest_grain())) as f64 * 2_f64.powf(f64::from(n) / RUNGS));
        let rungs = ladder.map(|bytes| self.walk(multiple(bytes, grain(bytes)), grain(bytes)));
        let rungs: Vec<Spec> = rungs.take_while(|walk| walk.range <= most.min(self.most)).collect();
        for together in rungs.chunks(TOGETHER) {
            let next = self.ask(read, together.iter().copied());
            if next.is_some() {
                return next;
            }
            let agree = together.iter().filter(|walk| read.walks.get(**walk, self.seed).is_some_and(Timed::agrees)).count();
            if 2 * agree < together.len() {
                return None;
            }
        }
        None
    }

    /// The largest range of which two turns agree: longer walks are disturbed, and tell nothing.
    fn reach(&self, read: &Read) -> u64 {
        let own = read.walks.seen.iter().filter(|timed| timed.spec.route == self.route && timed.spec.walkers == 1 && timed.agrees());
        own.map(|timed| timed.spec.range).max().unwrap_or(0).min(self.most)
    }

    /// Groups that walk at once, each through a part of a cache of its own: the part that was walked through before, if one was, since the next fit
    /// moves its end a bit. Beside each, as many that walk through next to nothing: where these take longer together, too, they only wait for each
    /// other.
    fn together(&self, read: &Read, known: &Known, level: &Level, grain: u32, reach: u64) -> impl Iterator<Item = Spec> + use<> {
        let there = known.part(&read.walks.seen, level).map(|spec| (spec.range, spec.stride));
        let (part, grain) = there.unwrap_or(((0.7 * level.bytes / f64::from(grain)) as u64 * u64::from(grain), grain));
        // Those that were seen, and one number more.
        let more = known.alone(&read.walks.seen, level).unwrap_or(0);
        let many = MANY.into_iter().filter(move |&walkers| walkers < 2 * more);
        let few = WALKERS.into_iter().chain(many).filter(move |&walkers| u64::from(walkers) * part <= SHARED.min(2 * reach));
        let ranges = [part.max(2 * u64::from(grain)), LEAST_LINES * u64::from(grain)];
        let walk = Spec::random(self.route, 0, grain);
        std::iter::once(1).chain(few).flat_map(move |walkers| ranges.map(|range| Spec { range, walkers, ..walk }))
    }

    /// What is a cache at all and who shares the nearest, then ranges around the ends of caches, then what tells their lines and sets.
    fn closer(&self, read: &mut Read) -> Option<(Spec, Effort)> {
        let known = &read.route(self.route);
        let read = &*read;
        let grain = self.grain(read, known);
        let levels = known.levels.as_ref()?;
        // What is a cache at all: where pages are too many, nothing more is to be told.
        let reach = self.reach(read);
        let few = levels.caches.iter().flat_map(|level| known.paged(&read.walks.seen, level, reach));
        if let Some(next) = self.ask(read, few) {
            return Some(next);
        }
        let cache: Vec<bool> = (0..levels.caches.len()).map(|n| !known.is_translation(&read.walks.seen, n)).collect();
        // Whose the nearest is gives all levels their names: before their ends, so that less is unknown of walks that end early.
        let nearest = levels.caches.iter().zip(&cache).find(|(_, cache)| **cache).map(|(level, _)| level);
        let shared = nearest.into_iter().flat_map(|level| self.together(read, known, level, grain(level.bytes), reach));
        if let Some(next) = self.ask(read, shared) {
            return Some(next);
        }
        for (n, level) in levels.caches.iter().enumerate() {
            let stride = grain(level.bytes);
            let finest = if cache[n] { stride } else { stride.max(PAGE) };
            let near = |spec: &Spec| {
                let ratio = spec.range as f64 / level.bytes;
                let dense = spec.pair.is_none() && spec.walkers == 1 && spec.stride == stride;
                spec.route == self.route && dense && (0.8..1.5).contains(&ratio)
            };
            let there: Vec<Spec> = read.walks.seen.iter().map(|timed| timed.spec).filter(near).collect();
            // A range that was disturbed would lead astray.
            if let Some(next) = self.ask(read, there.iter().copied()) {
                return Some(next);
            }
            if there.len() >= REFINED {
                continue;
            }
            let between = known.bracket(n).filter(|(flat, risen)| risen - flat > 1.5 * f64::from(finest));
            let halves = between.map(|(flat, risen)| multiple(0.5 * (flat + risen), finest));
            let ranges = halves.into_iter().chain(refined(level, stride).filter(|_| cache[n]));
            if let Some(next) = self.ask(read, ranges.map(|range| self.walk(range, stride))) {
                return Some(next);
            }
        }
        // What larger caches fetch: pairs beyond their ends.
        let apart = u64::from(APART / known.nearest_grain().min(APART));
        let beyond = levels.caches.iter().map(|level| ((4.0 * level.bytes) as u64 * apart).next_power_of_two().min(reach));
        let beyond = beyond.filter(|range| PAIRED.iter().all(|paired| range > paired));
        if let Some(next) = self.ask(read, beyond.flat_map(|range| self.pairs(range))) {
            return Some(next);
        }
        for (n, (level, line)) in levels.caches.iter().zip(known.lines()).enumerate().filter(|(n, _)| cache[*n]) {
            let grain = grain(level.bytes);
            let around =
                |stride| around(f64::from(stride) / f64::from(grain)).map(move |part| (multiple(part * level.bytes, stride), stride));
            let others = known.other_strides(n).flat_map(around);
            let walks = others.chain(strided(level, line.unwrap_or(grain))).map(|(range, stride)| self.walk(range, stride));
            if let Some(next) = self.ask(read, walks.chain(self.together(read, known, level, grain, reach))) {
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
        Victims::Random(_) | Victims::Hashed(_) | Victims::Scattered(_) => bytes,
    };
    let (lo, hi) = level.between;
    let ends = [bytes, lo, hi, (bytes * lo).sqrt(), (bytes * hi).sqrt()];
    let along = [0.125, 0.25, 0.5, 0.75, 1.0, 1.25, -0.25, -0.5].map(|part| bytes + part * ramp.max(4.0 * lines));
    let near = [1.0, -1.0, 2.0, -2.0, 3.0, 4.0].map(|beyond| bytes + beyond * lines);
    ends.into_iter().chain(along).chain(near).map(move |bytes| multiple(bytes, grain))
}

/// Parts of a cache's size that are walked through at a stride that is this part of what a miss brings. Where lines are as short as that, the cache
/// may hold as few places as it does of those farther apart, or twice as many for each bit by which these miss sets: each is told from the next.
fn around(shorter: f64) -> impl Iterator<Item = f64> {
    let fewer = std::iter::successors(Some(1.2 * shorter), |part| Some(2.0 * part)).take_while(|part| *part < AROUND[0]);
    AROUND.into_iter().chain(fewer)
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
