//! What is known of one way to memory so far.

use super::spec::Spec;
use super::timed::{AGREED, Timed};
use crate::fit::levels::{self, Level, Levels, Point};
use crate::fit::lru::{self, Fitted};
use crate::kernels::walk::Route;
use std::collections::BTreeMap;

/// Lines of the smallest range.
pub(super) const LEAST_LINES: u64 = 2;
/// Bytes of the smallest pages.
pub(super) const PAGE: u32 = 4096;
/// Pages that every translation holds: caches of fewer need no other explanation. Half of the 64 of CPUs, since ends are seen early.
const FEW_PAGES: f64 = 32.0;
/// By how many lines places of few lines in many pages are more than a page from each other.
const BESIDE: [u32; 3] = [1, 5, 11];
/// Places of pairs are this far from each other: no line is longer.
pub(super) const APART: u32 = 512;
/// Distances within a pair.
const PAIRS: [u32; 7] = [4, 8, 16, 32, 64, 128, 256];
/// Ranges of pairs that show what a miss brings; where a cache holds that much, there are larger ones.
pub(super) const PAIRED: [u64; 2] = [2 << 20, 8 << 20];
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
/// Places of walks, times shapes that are held against them, at most: of more the walks would tell few apart, and nobody would wait for it.
const WORK: usize = 1_500_000_000;
const TOO_MANY: &str = "there are too many shapes of so large a cache to hold them against the walks";
/// Lines of a cache whose shapes are looked for: larger ones have too many.
const LARGEST: f64 = 16384.0;
/// No line is shorter.
const LEAST_LINE: u32 = 16;
/// As many steps miss as can, or as others, where so many do.
const ALL: f64 = 0.9;
/// Steps of a walk are answered by a level but for this part, and so many walks tell what one takes.
const WHOLLY: f64 = 0.01;
const SEVERAL: usize = 3;
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
    /// The range whose pairs, of all distances, differ most.
    paired: Option<u64>,
    /// Caches.
    pub(super) levels: Option<Levels>,
    /// Relative noise of a point.
    pub(super) noise: f64,
    /// By what part walks take longer of which turns agree, without any reason but others' work.
    disturbed: f64,
}

impl Known {
    /// Bytes of the longest walk.
    pub(super) fn reach(&self) -> f64 {
        self.points.iter().map(|point| point.bytes).fold(0.0, f64::max)
    }

    pub(super) fn of(seen: &[Timed], name: Route) -> Self {
        Self::fitted(seen, name, levels::fit)
    }

    /// The same with another way to fit levels to points.
    pub(super) fn fitted(seen: &[Timed], name: Route, fit: impl FnOnce(&[Point]) -> Option<Levels>) -> Self {
        let own = trusted(seen, name);
        let mut noises: Vec<f64> = own.iter().map(|timed| timed.noise).collect();
        noises.sort_by(f64::total_cmp);
        let noise = noises.get(noises.len() / 2).copied().unwrap_or(0.0);
        let mut pairs: Vec<(u64, u32, f64)> =
            own.iter().filter_map(|timed| Some((timed.spec.range, timed.spec.pair?, timed.seconds))).collect();
        pairs.sort_by_key(|pair| (pair.0, pair.1));
        // Prefetchers hide what a miss brings where they have the time: the range counts in which it makes the most of a difference.
        let whole = |pairs: &&[(u64, u32, f64)]| pairs[0].0 <= PAIRED[1] && pairs.len() == distances(name).count();
        let contrast = |pairs: &[(u64, u32, f64)]| {
            let seconds = || pairs.iter().map(|pair| pair.2);
            seconds().fold(0.0, f64::max) / seconds().fold(f64::INFINITY, f64::min)
        };
        let told = pairs.chunk_by(|a, b| a.0 == b.0).filter(whole).max_by(|a, b| contrast(a).total_cmp(&contrast(b)));
        let paired = told.map(|pairs| pairs[0].0);
        let disturbed = if own.iter().any(|timed| timed.turns.len() > 1) { 2.0 * AGREED } else { 0.0 };
        let mut route = Self { name, grains: vec![], points: vec![], pairs, paired, levels: None, noise, disturbed };
        let ladder = own.iter().filter(|timed| timed.spec.pair.is_none());
        route.grains = route.steps(ladder.min_by_key(|timed| timed.spec.range).map(|timed| timed.seconds));
        let grain = route.striding(&own);
        let dense = own.iter().filter(|timed| timed.spec.pair.is_none() && timed.spec.stride == grain(timed.spec.range as f64));
        route.points =
            dense.map(|timed| Point { bytes: timed.spec.range as f64, seconds: timed.seconds, noise: noise.max(timed.noise) }).collect();
        route.levels = fit(&route.points);
        route
    }

    /// Distances from which on the second of two near places is answered by another level, in the range whose pairs differ most; `first`
    /// is what a step takes in the nearest cache.
    fn steps(&self, first: Option<f64>) -> Vec<u32> {
        let own: Vec<_> = self.pairs.iter().filter(|pair| Some(pair.0) == self.paired).collect();
        let mut steps = vec![];
        for (n, two) in own.windows(2).enumerate() {
            // The second of two places right beside each other is in the nearest cache; of others it waits as much longer as pairs do.
            let second = |pair: &(u64, u32, f64)| first.unwrap_or(0.0) + 2.0 * (pair.2 - own[0].2);
            let alike = middle(own[..=n].iter().map(|pair| pair.2).collect());
            let longer = LONGER.max(4.0 * self.noise).max(self.disturbed);
            let nearest = steps.is_empty() && two[1].1 >= LEAST_LINE && two[1].2 > alike * (1.0 + longer);
            if nearest || (!steps.is_empty() && first.is_some() && second(two[1]) > ANOTHER_LEVEL * second(two[0])) {
                steps.push(two[1].1);
            }
        }
        if steps.is_empty() { vec![LIKELY_LINE.max(self.name.unit())] } else { steps }
    }

    /// Seconds of a step that the level behind so many caches answers: the middle of the walks that it answers wholly. Where there are few, what
    /// explains all walks together, which leaves some error to each.
    pub(super) fn latency(&self, levels: &Levels, after: usize) -> f64 {
        let (near, far) = levels.caches.split_at(after);
        let missed = |level: &Level, point: &Point| level.victims.share(level.bytes, point.bytes);
        let wholly = |point: &&Point| {
            near.iter().all(|level| missed(level, point) >= 1.0 - WHOLLY) && far.iter().all(|level| missed(level, point) <= WHOLLY)
        };
        let own: Vec<f64> = self.points.iter().filter(wholly).map(|point| point.seconds).collect();
        if own.len() >= SEVERAL { middle(own) } else { levels.latency(after) }
    }

    /// The stride of walks by their range.
    pub(super) fn striding(&self, own: &[&Timed]) -> impl Fn(f64) -> u32 + use<> {
        // What the nearest cache brings before its end shows, what farther ones bring beyond.
        let (turn, near) = (self.turn(own), self.nearest_grain());
        let far = self.grains.get(1).copied().unwrap_or(near);
        move |range| if range <= turn { near } else { far }
    }

    /// Well beyond the range in which the first cache ends, as far as that has shown: there are more places than that cache has lines at the
    /// stride of farther ones, too.
    fn turn(&self, own: &[&Timed]) -> f64 {
        let near = self.grains.first().copied();
        let mut dense: Vec<_> = own.iter().filter(|timed| timed.spec.pair.is_none() && Some(timed.spec.stride) == near).collect();
        dense.sort_by_key(|timed| timed.spec.range);
        let first = dense.first().map_or(0.0, |timed| timed.seconds);
        let risen = dense.iter().find(|timed| timed.seconds > first * (1.0 + 2.0 * LONGER));
        let sparser = self.grains.last().zip(near).map_or(1.0, |(far, near)| f64::from(*far) / f64::from(near));
        risen.map_or(f64::INFINITY, |timed| (2.0 * sparser).max(4.0) * timed.spec.range as f64)
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
            let mut ranges = self.pairs.chunk_by(|a, b| a.0 == b.0).filter(|pairs| pairs.len() == distances(self.name).count());
            let own: Vec<_> = ranges.rfind(|pairs| pairs[0].0 as f64 >= 1.5 * level.bytes * apart)?.iter().collect();
            // The second of two places right beside each other is in the nearest cache; of others it waits as much longer as pairs do.
            let second = |pair: &&(u64, u32, f64)| levels.first + 2.0 * (pair.2 - own[0].2);
            let between = 0.5 * (levels.latency(n) + levels.latency(n + 1));
            let lines = own.iter().filter(|pair| pair.1 >= LEAST_LINE && pair.1 > own[0].1);
            lines.into_iter().find(|pair| second(pair) > between && pair.2 > own[0].2 * (1.0 + self.disturbed)).map(|pair| pair.1)
        };
        levels.caches.iter().enumerate().map(line).collect()
    }

    /// The largest range of which a cache still has everything, as far as noise lets one see, and the next one that was tried.
    pub(super) fn bracket(&self, n: usize) -> Option<(f64, f64)> {
        let levels = self.levels.as_ref()?;
        let level = levels.caches.get(n)?;
        // A nearer cache's misses still rise right behind its end.
        let behind = n.checked_sub(1).map_or(0.0, |nearer| 1.5 * levels.caches[nearer].bytes);
        let near = |point: &&Point| point.bytes >= behind && (0.3..2.0).contains(&(point.bytes / level.bytes));
        let mut near: Vec<&Point> = self.points.iter().filter(near).collect();
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

    /// How many groups that walk at once have a cache of their own, at least and at most: with more, they wait longer for it than for next to
    /// nothing.
    pub(super) fn instances(&self, seen: &[Timed], n: usize) -> Option<(u32, u32)> {
        let mut groups = self.together(seen, n);
        let [_, one] = groups.first().filter(|own| own.0 == 1)?.1;
        // More groups than run at once tell nothing: they wait for each other.
        groups.truncate(groups.iter().position(|(_, [_, nothing])| *nothing > one * (1.0 + 2.0 * LONGER)).unwrap_or(groups.len()));
        let longer: Vec<(u32, f64)> = groups.into_iter().map(|(walkers, [part, nothing])| (walkers, part / nothing)).collect();
        let alone = longer.first()?.1;
        let rises = longer.windows(2).find(|two| two[1].1 > alone * (1.0 + (2.0 * LONGER).max(6.0 * self.noise)));
        rises.map(|two| (two[0].0, two[1].0 - 1))
    }

    /// The most groups that walked at once, where each has a cache of its own and none waits for others that run.
    pub(super) fn alone(&self, seen: &[Timed], level: &Level) -> Option<u32> {
        let n = self.levels.as_ref()?.caches.iter().position(|own| own.bytes == level.bytes)?;
        let groups = self.together(seen, n);
        let (&(_, [part, nothing]), last) = (groups.first().filter(|own| own.0 == 1)?, groups.last()?);
        let held = |own: &(u32, [f64; 2])| {
            let runs = own.1[1] <= nothing * (1.0 + 2.0 * LONGER);
            runs && own.1[0] / own.1[1] <= part / nothing * (1.0 + (2.0 * LONGER).max(6.0 * self.noise))
        };
        groups.iter().all(held).then_some(last.0)
    }

    /// Whether one group and several walked through parts of a level of their own, and through next to nothing: whether they share it is seen.
    pub(super) fn walked_together(&self, seen: &[Timed], n: usize) -> bool {
        let groups = self.together(seen, n);
        groups.first().is_some_and(|own| own.0 == 1) && groups.len() > 1
    }

    /// A walk of several groups, each through a part of a level of its own.
    pub(super) fn part(&self, seen: &[Timed], level: &Level) -> Option<Spec> {
        let own = |spec: &Spec| spec.route == self.name && spec.pair.is_none() && spec.walkers > 1;
        seen.iter().map(|timed| timed.spec).find(|spec| own(spec) && (0.55..0.85).contains(&(spec.range as f64 / level.bytes)))
    }

    /// Of numbers of groups that walked at once, ascending: what each waits in a part of a level of its own, and in next to nothing.
    fn together(&self, seen: &[Timed], n: usize) -> Vec<(u32, [f64; 2])> {
        let level = self.levels.as_ref().and_then(|levels| levels.caches.get(n));
        let Some(spec) = level.and_then(|level| self.part(seen, level)) else { return vec![] };
        let own = |timed: &&Timed| timed.spec.route == self.name && timed.spec.pair.is_none() && timed.agrees();
        let find = |range: u64, walkers: u32| {
            let same = |timed: &&Timed| (timed.spec.range, timed.spec.stride, timed.spec.walkers) == (range, spec.stride, walkers);
            seen.iter().filter(own).find(same).map(|timed| timed.seconds)
        };
        let mut groups: Vec<u32> =
            seen.iter().filter(own).filter(|timed| timed.spec.range == spec.range).map(|timed| timed.spec.walkers).collect();
        groups.sort_unstable();
        let nothing = LEAST_LINES * u64::from(spec.stride);
        let both = |walkers| Some((walkers, [find(spec.range, walkers)?, find(nothing, walkers)?]));
        groups.into_iter().map_while(both).collect()
    }

    /// The nearest level that is a cache.
    pub(super) fn nearest(&self, seen: &[Timed]) -> usize {
        let levels = self.levels.as_ref().map_or(0, |levels| levels.caches.len());
        (0..levels).find(|&n| !self.is_translation(seen, n)).unwrap_or(0)
    }

    /// Whether a level ends where pages are too many to be translated, not where their lines are too many to be held: then a few lines in as
    /// many pages wait as much longer as the level's misses do, though a nearer cache may hold them.
    pub(super) fn is_translation(&self, seen: &[Timed], n: usize) -> bool {
        let Some((levels, level)) = self.levels.as_ref().and_then(|levels| Some((levels, levels.caches.get(n)?))) else { return false };
        let few = |timed: &&Timed| self.is_paged(&timed.spec, level);
        // Beyond what as many lines take that lie beside each other.
        let longer = |timed: &Timed| {
            let lines = (timed.spec.range / u64::from(timed.spec.stride)) as f64 * f64::from(self.nearest_grain());
            timed.seconds - levels.seconds(lines)
        };
        seen.iter()
            .filter(few)
            .filter(|timed| timed.agrees())
            .map(longer)
            .reduce(f64::min)
            .is_some_and(|longer| longer > 0.5 * (levels.seconds(2.0 * level.bytes) - levels.latency(n)))
    }

    /// Whether a walk is one through a few lines in about as many pages as twice a level has.
    fn is_paged(&self, spec: &Spec, level: &Level) -> bool {
        let beside = spec.pair.is_none() && spec.stride > PAGE && !spec.stride.is_power_of_two();
        spec.route == self.name && spec.walkers == 1 && beside && (1.5..2.7).contains(&(spec.range as f64 / level.bytes))
    }

    /// Walks that tell whether a level is a cache at all, up to so many bytes: those that are there, since the next fit moves its end a bit.
    pub(super) fn paged(&self, seen: &[Timed], level: &Level, reach: u64) -> impl Iterator<Item = Spec> {
        paged(level, self.nearest_grain()).filter(move |walk| walk.0 <= reach).map(move |(range, stride)| {
            let there = seen.iter().map(|timed| timed.spec).find(|spec| spec.stride == stride && self.is_paged(spec, level));
            there.unwrap_or(Spec::random(self.name, range, stride))
        })
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

    /// The line of a small cache whose walks no shape explains: places that share one hit where others brought it, so that at the smallest stride
    /// at which none do as many steps miss as at any other. Told by walks of several strides through more than it holds.
    pub(super) fn line_by_strides(&self, seen: &[Timed], n: usize) -> Option<u32> {
        let levels = self.levels.as_ref()?;
        let level = levels.caches.get(n).filter(|level| n == 0 && level.bytes <= SMALL * f64::from(self.nearest_grain()))?;
        let own = trusted(seen, self.name);
        let beyond = own.iter().filter(|timed| timed.spec.pair.is_none() && (1.15..1.6).contains(&(timed.spec.range as f64 / level.bytes)));
        let mut missed: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        beyond.for_each(|timed| missed.entry(timed.spec.stride).or_default().push((timed.seconds - levels.first) / level.miss));
        // A stride of which one walk alone is there tells little.
        let missed: Vec<(u32, f64)> = missed.into_iter().filter(|own| own.1.len() > 1).map(|(stride, own)| (stride, middle(own))).collect();
        let most = missed.iter().map(|own| own.1).fold(0.0, f64::max);
        let line = missed.iter().position(|own| own.1 >= ALL * most)?;
        // Of the smallest stride nobody knows whether a smaller one would do.
        (most > ALL && line > 0).then(|| missed[line].0)
    }

    /// Shapes of a cache that explain its walks, by groups that they cannot tell apart, the best first, and these walks; or why there are none.
    pub(super) fn shapes(&self, seen: &[Timed], n: usize, line: u32) -> Result<(Vec<Fitted>, Vec<lru::Walk>), &'static str> {
        let Some((levels, level)) = self.levels.as_ref().and_then(|levels| Some((levels, levels.caches.get(n)?))) else {
            return Err("no level was seen");
        };
        let possible: Vec<u64> = std::iter::once(line).chain(self.other_strides(n)).map(u64::from).collect();
        let line = u64::from(line);
        if level.bytes > LARGEST * line as f64 {
            return Err(TOO_MANY);
        }
        let sigma = self.noise.max(0.001);
        let next = levels.caches.get(n + 1).map_or(f64::INFINITY, |next| 0.5 * next.bytes);
        let lines = level.bytes / line as f64;
        let telling = |timed: &&Timed| {
            let spec = &timed.spec;
            let ratio = spec.range as f64 / level.bytes;
            let places = spec.range as f64 / f64::from(spec.stride);
            let dense = u64::from(spec.stride) == line && (0.7..1.6).contains(&ratio);
            // As many places as it has, at least, where lines are shorter than what a miss brings.
            let few = (f64::from(spec.stride) / line as f64).min(0.2);
            let near = dense || possible.contains(&spec.stride.into()) && (few..2.2).contains(&ratio);
            let apart = u64::from(spec.stride) > line && spec.stride.is_power_of_two() && u64::from(spec.stride).is_multiple_of(line);
            let strided = apart && places <= FEW * lines && ratio > 1.0;
            spec.pair.is_none() && (near || strided) && places * (line as f64) < next
        };
        let walks: Vec<lru::Walk> = trusted(seen, self.name)
            .into_iter()
            .filter(telling)
            .map(|timed| lru::Walk {
                addresses: timed.spec.addresses(timed.seed),
                seconds: timed.seconds,
                sigma: sigma.max(timed.noise) * timed.seconds,
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
        let shapes: Vec<lru::Shape> = shapes.take(SHAPES).collect();
        let places: usize = walks.iter().map(|walk| walk.addresses.len()).sum();
        if places.saturating_mul(shapes.len()) > WORK {
            return Err(TOO_MANY);
        }
        let fitted = lru::fit(&walks, shapes);
        // Victims that are no least recently used ones miss otherwise, whatever the shape.
        let explained = fitted.first().is_some_and(|best| best.chi2 <= EXPLAINED * best.freedom.max(1) as f64);
        if explained {
            Ok((lru::consistent(&fitted).into_iter().cloned().collect(), walks))
        } else {
            Err("no cache that replaces least recently used lines explains the walks")
        }
    }
}

fn middle(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Walks of one group through a route of which two turns agree; where nothing was measured twice, all of them.
pub(super) fn trusted(seen: &[Timed], name: Route) -> Vec<&Timed> {
    let own = || seen.iter().filter(|timed| timed.spec.route == name && timed.spec.walkers == 1);
    let several = own().any(|timed| timed.turns.len() > 1);
    own().filter(|timed| timed.agrees() && (!several || timed.turns.len() > 1)).collect()
}

/// Walks through a few lines in as many pages as twice a cache has; none of a cache of few pages. Strides are odd numbers of what the nearest
/// cache brings, so that the lines fill all its sets, and several, since a hash may send those of one to few sets: they would miss that cache,
/// which looks like pages that are too many.
fn paged(level: &Level, grain: u32) -> impl Iterator<Item = (u64, u32)> + use<> {
    let bytes = (level.bytes >= FEW_PAGES * f64::from(PAGE)).then_some(2.0 * level.bytes);
    let walk = move |lines| {
        let stride = PAGE + lines * grain;
        Some(((bytes? / f64::from(stride)) as u64 * u64::from(stride), stride))
    };
    BESIDE.into_iter().filter_map(walk)
}

/// Distances within pairs on a way to memory.
pub(super) fn distances(route: Route) -> impl Iterator<Item = u32> {
    PAIRS.into_iter().filter(move |on| *on >= route.unit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::levels::Victims;

    /// Walks right behind the first level's end take longer than farther ones, which the second answers as well: no curve does so.
    #[test]
    fn a_level_takes_what_its_walks_take() {
        let level = |bytes: f64, miss: f64| Level { bytes, between: (bytes, bytes), victims: Victims::Lru(65.0), miss };
        let levels = Levels { first: 38.4, caches: vec![level(16384.0, 34.9), level(262_144.0, 162.0)], error: 0.0 };
        let walks =
            [(20, 83.4), (23, 81.7), (27, 79.5), (32, 76.3), (46, 71.5), (65, 71.5), (92, 71.5), (131, 71.5), (185, 71.5), (220, 71.5)];
        let points = walks.map(|(kib, seconds)| Point { bytes: 1024.0 * f64::from(kib), seconds, noise: 0.002 });
        let seen = |points: &[Point]| Known { points: points.into(), ..Known::fitted(&[], Route::Buffer, |_| None) };
        assert!((levels.latency(1) - 73.3).abs() < 1e-9);
        assert_eq!(seen(&points).latency(&levels, 1), 71.5);
        // Few walks, of which each may be off, say less than all together.
        assert_eq!(seen(&points[8..]).latency(&levels, 1), levels.latency(1));
        assert_eq!(seen(&points).latency(&levels, 0), 38.4);
    }
}
