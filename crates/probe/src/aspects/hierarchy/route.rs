//! What is known of one way to memory so far.

use super::spec::Timed;
use crate::fit::levels::{self, Level, Levels, Point};
use crate::fit::lru::{self, Fitted};
use crate::kernels::walk::Route;

/// Places of pairs are this far from each other: no line is longer.
pub(super) const APART: u32 = 512;
/// Where nothing shows what a miss brings, places are this far apart: lines of most machines.
const LIKELY_LINE: u32 = 64;
/// A step takes longer when it takes longer by this part.
const LONGER: f64 = 0.06;
/// The next level answers later by this factor; rows of memory that are open or not make less of a difference.
const ANOTHER_LEVEL: f64 = 1.25;
/// Walks of places lines apart are told from those of a ladder by their number: no ladder's range has more lines than this part of a cache.
const FEW: f64 = 0.75;
/// The sum of squares, in standard errors, that a shape may leave for each walk.
const EXPLAINED: f64 = 3.0;
/// Shapes of a cache that are held against walks at most.
const SHAPES: usize = 12_000;
/// Lines of a cache whose shapes are looked for: larger ones have too many.
const LARGEST: f64 = 16384.0;
/// No line is shorter.
const LEAST_LINE: u32 = 16;
/// Lines of a cache whose line is looked for at several strides: of larger ones what a miss brings is taken for it.
const SMALL: f64 = 1024.0;

/// What is known of one route so far.
pub(super) struct Known {
    pub(super) name: Route,
    /// Bytes that one miss brings, of the nearest cache and of farther ones where they bring more; or what is likely.
    grains: Vec<u32>,
    /// Seconds a step against the range, at strides of what a miss brings.
    pub(super) points: Vec<Point>,
    /// Seconds a step of pairs: the range, the distance within a pair, seconds.
    pairs: Vec<(u64, u32, f64)>,
    /// The range of pairs that was tried first.
    paired: Option<u64>,
    /// Caches.
    pub(super) levels: Option<Levels>,
    /// Relative noise of a point.
    pub(super) noise: f64,
}

impl Known {
    pub(super) fn of(seen: &[Timed], name: Route) -> Self {
        Self::fitted(seen, name, levels::fit)
    }

    /// The same with another way to fit levels to points.
    pub(super) fn fitted(seen: &[Timed], name: Route, fit: impl FnOnce(&[Point]) -> Option<Levels>) -> Self {
        let own: Vec<&Timed> = seen.iter().filter(|timed| timed.spec.route == name && timed.spec.walkers == 1).collect();
        let mut spreads: Vec<f64> = own.iter().map(|timed| timed.spread).collect();
        spreads.sort_by(f64::total_cmp);
        // The fastest of a few passes is closer to what it would be than the median is.
        let noise = spreads.get(spreads.len() / 2).map_or(0.0, |spread| spread / 2.0);
        let mut pairs: Vec<(u64, u32, f64)> =
            own.iter().filter_map(|timed| Some((timed.spec.range, timed.spec.pair?, timed.seconds))).collect();
        let paired = pairs.first().map(|pair| pair.0);
        pairs.sort_by_key(|pair| (pair.0, pair.1));
        let mut route = Self { name, grains: vec![], points: vec![], pairs, paired, levels: None, noise };
        let ladder = own.iter().filter(|timed| timed.spec.pair.is_none());
        route.grains = route.steps(ladder.min_by_key(|timed| timed.spec.range).map(|timed| timed.seconds));
        let grain = route.striding(&own);
        let dense = own.iter().filter(|timed| timed.spec.pair.is_none() && timed.spec.stride == grain(timed.spec.range as f64));
        route.points = dense
            .map(|timed| Point { bytes: timed.spec.range as f64, seconds: timed.seconds, noise: noise.max(timed.spread / 2.0) })
            .collect();
        route.levels = fit(&route.points);
        route
    }

    /// Distances from which on the second of two near places is answered by another level, in the range of pairs that was tried first; `first`
    /// is what a step takes in the nearest cache.
    fn steps(&self, first: Option<f64>) -> Vec<u32> {
        let own: Vec<_> = self.pairs.iter().filter(|pair| Some(pair.0) == self.paired).collect();
        let mut steps = vec![];
        for two in own.windows(2) {
            // The second of two places right beside each other is in the nearest cache; of others it waits as much longer as pairs do.
            let second = |pair: &(u64, u32, f64)| first.unwrap_or(0.0) + 2.0 * (pair.2 - own[0].2);
            let nearest = steps.is_empty() && two[1].2 > two[0].2 * (1.0 + LONGER.max(4.0 * self.noise));
            if nearest || (!steps.is_empty() && first.is_some() && second(two[1]) > ANOTHER_LEVEL * second(two[0])) {
                steps.push(two[1].1);
            }
        }
        if steps.is_empty() { vec![LIKELY_LINE.max(self.name.unit())] } else { steps }
    }

    /// The stride of walks by their range.
    pub(super) fn striding(&self, own: &[&Timed]) -> impl Fn(f64) -> u32 + use<> {
        // What the nearest cache brings before its end shows, what farther ones bring beyond.
        let (turn, near) = (self.turn(own), self.nearest_grain());
        let far = self.grains.get(1).copied().unwrap_or(near);
        move |range| if range <= turn { near } else { far }
    }

    /// Well beyond the range in which the first cache ends, as far as that has shown.
    fn turn(&self, own: &[&Timed]) -> f64 {
        let near = self.grains.first().copied();
        let mut dense: Vec<_> = own.iter().filter(|timed| timed.spec.pair.is_none() && Some(timed.spec.stride) == near).collect();
        dense.sort_by_key(|timed| timed.spec.range);
        let first = dense.first().map_or(0.0, |timed| timed.seconds);
        let risen = dense.iter().find(|timed| timed.seconds > first * (1.0 + 2.0 * LONGER));
        risen.map_or(f64::INFINITY, |timed| 4.0 * timed.spec.range as f64)
    }

    /// The nearest cache's.
    pub(super) fn nearest_grain(&self) -> u32 {
        self.grains.first().copied().unwrap_or(LIKELY_LINE)
    }

    /// What a miss of each cache brings: the nearest place behind one that missed which a level farther away answers.
    pub(super) fn lines(&self) -> Vec<Option<u32>> {
        let Some(levels) = &self.levels else { return vec![] };
        let line = |(n, level): (usize, &Level)| {
            // Most first places miss this cache.
            let apart = f64::from(APART / self.nearest_grain().min(APART));
            let ranges = self.pairs.iter().filter(|pair| pair.0 as f64 >= 1.5 * level.bytes * apart);
            let range = ranges.map(|pair| pair.0).max()?;
            let own: Vec<_> = self.pairs.iter().filter(|pair| pair.0 == range).collect();
            // The second of two places right beside each other is in the nearest cache; of others it waits as much longer as pairs do.
            let second = |pair: &&(u64, u32, f64)| levels.first + 2.0 * (pair.2 - own[0].2);
            let between = 0.5 * (levels.latency(n) + levels.latency(n + 1));
            let first = own.iter().find(|pair| second(pair) > between)?;
            (first.1 > own[0].1).then_some(first.1)
        };
        levels.caches.iter().enumerate().map(line).collect()
    }

    /// The largest range of which a cache still has everything, as far as noise lets one see, and the next one that was tried.
    pub(super) fn bracket(&self, n: usize) -> Option<(f64, f64)> {
        let levels = self.levels.as_ref()?;
        let level = levels.caches.get(n)?;
        let mut near: Vec<&Point> = self.points.iter().filter(|point| (0.3..2.0).contains(&(point.bytes / level.bytes))).collect();
        near.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
        let mut flat: Vec<f64> = near.iter().filter(|point| point.bytes <= 0.65 * level.bytes).map(|point| point.seconds).collect();
        flat.sort_by(f64::total_cmp);
        let held = *flat.get(flat.len() / 2)?;
        let above = |point: &Point| point.seconds > held * (1.0 + self.rise(point));
        // One point alone may be noise.
        let risen = near.windows(2).position(|two| above(two[0]) && above(two[1]))?;
        Some((near.get(risen.checked_sub(1)?)?.bytes, near[risen].bytes))
    }

    /// By what part a step must take longer for one to see it in a point.
    fn rise(&self, point: &Point) -> f64 {
        (3.0 * point.noise.max(self.noise)).max(0.0015)
    }

    /// Capacities of a cache whose victims nobody knows that are consistent with its [`bracket`](Self::bracket): misses may have begun before
    /// one sees them.
    pub(super) fn capacity(&self, n: usize) -> Option<(f64, f64)> {
        let levels = self.levels.as_ref()?;
        let (flat, risen) = self.bracket(n)?;
        let miss = levels.caches.get(n)?.miss / levels.latency(n);
        let point = self.points.iter().find(|point| point.bytes == flat)?;
        Some((flat / (1.0 + self.rise(point) / miss), risen - f64::from(self.nearest_grain())))
    }

    /// How many groups that walk at once have a cache of their own.
    pub(super) fn instances(&self, seen: &[Timed], n: usize) -> Option<u32> {
        let level = self.levels.as_ref()?.caches.get(n)?;
        let own = |timed: &&Timed| {
            let part = timed.spec.range as f64 / level.bytes;
            timed.spec.route == self.name && timed.spec.pair.is_none() && (0.55..0.85).contains(&part)
        };
        let range = seen.iter().filter(own).filter(|timed| timed.spec.walkers > 1).map(|timed| timed.spec.range).next()?;
        let walks = seen.iter().filter(own).filter(|timed| timed.spec.range == range);
        let mut walks: Vec<(u32, f64)> = walks.map(|timed| (timed.spec.walkers, timed.seconds)).collect();
        walks.sort_by_key(|walk| walk.0);
        let alone = walks.first().filter(|walk| walk.0 == 1)?.1;
        let rises = walks.windows(2).find(|two| two[1].1 > alone * (1.0 + 2.0 * LONGER));
        rises.map(|two| two[0].0)
    }

    /// Strides at which walks tell the line of a small cache from what a miss brings.
    pub(super) fn other_strides(&self, n: usize) -> impl Iterator<Item = u32> + use<> {
        let grain = self.nearest_grain();
        let bytes = self.levels.as_ref().and_then(|levels| levels.caches.get(n)).map_or(f64::INFINITY, |level| level.bytes);
        let small = n == 0 && bytes <= SMALL * f64::from(grain);
        let (least, most) = (self.name.unit().max(LEAST_LINE), 4 * grain);
        let strides = std::iter::successors(Some(least), |stride| Some(stride * 2)).take_while(move |&stride| stride <= most);
        strides.filter(move |&stride| small && stride != grain)
    }

    /// Shapes of a cache that explain its walks, by groups that they cannot tell apart, the best first.
    pub(super) fn shapes(&self, seen: &[Timed], n: usize, line: u32) -> Vec<Fitted> {
        let Some((levels, level)) = self.levels.as_ref().and_then(|levels| Some((levels, levels.caches.get(n)?))) else { return vec![] };
        let possible: Vec<u64> = std::iter::once(line).chain(self.other_strides(n)).map(u64::from).collect();
        let line = u64::from(line);
        if level.bytes > LARGEST * line as f64 {
            return vec![];
        }
        let sigma = self.noise.max(0.001);
        let next = levels.caches.get(n + 1).map_or(f64::INFINITY, |next| 0.5 * next.bytes);
        let lines = level.bytes / line as f64;
        let telling = |timed: &&Timed| {
            let spec = &timed.spec;
            let ratio = spec.range as f64 / level.bytes;
            let places = spec.range as f64 / f64::from(spec.stride);
            let dense = u64::from(spec.stride) == line && (0.7..1.6).contains(&ratio);
            let near = dense || possible.contains(&spec.stride.into()) && (0.2..2.2).contains(&ratio);
            let strided =
                u64::from(spec.stride) > line && u64::from(spec.stride).is_multiple_of(line) && places <= FEW * lines && ratio > 1.0;
            spec.route == self.name && spec.pair.is_none() && spec.walkers == 1 && (near || strided) && places * (line as f64) < next
        };
        let walks: Vec<lru::Walk> = seen
            .iter()
            .filter(telling)
            .map(|timed| lru::Walk {
                addresses: timed.spec.addresses(timed.seed),
                seconds: timed.seconds,
                sigma: sigma.max(timed.spread / 2.0) * timed.seconds,
            })
            .collect();
        let grain = u64::from(self.nearest_grain());
        let seen_end = self.capacity(n).unwrap_or(level.between);
        let (lo, hi) = (level.between.0.min(seen_end.0), level.between.1.max(seen_end.1));
        let shapes = possible.iter().flat_map(|&line| {
            let whole = move |bytes: f64| (bytes / line as f64).round().max(1.0) as u64;
            // Where lines are shorter than the stride of the curve, those that are left out may leave sets empty.
            let scales = std::iter::successors(Some(1.0), |scale| Some(scale / 2.0))
                .take_while(move |scale| scale * grain as f64 >= line.min(grain) as f64);
            let capacities = scales.flat_map(move |scale| whole(scale * lo).saturating_sub(1).max(1)..=whole(scale * hi) + 1);
            capacities.flat_map(move |lines| lru::candidates(lines * line, line))
        });
        let fitted = lru::fit(&walks, shapes.take(SHAPES));
        // Victims that are no least recently used ones miss otherwise, whatever the shape.
        let explained = fitted.first().is_some_and(|best| best.chi2 <= EXPLAINED * best.freedom.max(1) as f64);
        if explained { lru::consistent(&fitted).into_iter().cloned().collect() } else { vec![] }
    }
}
