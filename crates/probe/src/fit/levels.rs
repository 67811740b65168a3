//! Levels of memory in the latency of walks against their footprint.
//!
//! A walk through `n` bytes in random order, again and again, waits `h` a step while a cache of `c` bytes holds all of it. Beyond that a
//! share of the steps waits `d` longer, which depends on what the cache replaces. Least-recently-used lines of sets that fill evenly:
//! `min(1, (ways + 1)·(1 − c/n))`, exactly. Random ones of a set: the `q` for which `1 − q` is the chance
//! `(1 − 1/ways)^(q·(ways·n/c − 1))` that a line outlives the misses of the others of its set. Least-recently-used lines of sets that a hash
//! fills by chance: the chance that a Poisson number of mean `ways·n/c` is at least `ways`, since all lines of a set that is too full miss; random
//! ones of such sets: what random ones of a set miss, of Poisson numbers of lines. A curve is the sum of such levels. Levels are added while one explains
//! significantly more than noise does.

/// A point of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Footprint in bytes.
    pub bytes: f64,
    /// Seconds of a step.
    pub seconds: f64,
    /// Their relative standard error.
    pub noise: f64,
}

/// A cache whose end the curve shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Bytes that it holds.
    pub bytes: f64,
    /// Smallest and largest capacity that explain the curve as well.
    pub between: (f64, f64),
    /// What is replaced.
    pub victims: Victims,
    /// Seconds that a miss waits longer than a hit.
    pub miss: f64,
}

/// Which lines a cache replaces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Victims {
    /// The least recently used of a set, so steeply: `ways + 1`; 1 where whatever is held stays.
    Lru(f64),
    /// Any of a set of so many.
    Random(f64),
    /// The least recently used of so many, in sets that a hash, or where pages lie, fills by chance.
    Hashed(f64),
    /// Any of so many, in such sets.
    Scattered(f64),
}

/// What a curve shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    /// Seconds of a step where the nearest cache has everything.
    pub first: f64,
    /// Caches, the smallest first; none where the curve is flat.
    pub caches: Vec<Level>,
    /// Root mean square of what the curve misses points by, as a part of them.
    pub error: f64,
}

/// A rise by less than this part of what a step takes is no level: prefetchers, clocks and the distance of a bank do as much.
const LEAST_RISE: f64 = 0.08;
/// Curves of memories have no more levels.
const MOST_LEVELS: usize = 5;
/// Caches replace otherwise than formulas say: a curve misses what is measured by about this part.
const UNLIKE: f64 = 0.015;
/// Squares, in standard errors, that a level explains at least. It has three parameters: noise alone would explain so much once in a million
/// times.
const GAINED: f64 = 30.0;
/// Standard errors by which a walk takes longer than noise explains.
const DISTURBED: f64 = 5.0;
/// A cache right behind one that is not much smaller would hardly help; its curve looks like one cache of other replacement.
const APART: f64 = 3.0;
/// The share of steps that miss, or do not, where a level is all there is to see; and ranges between two that are tried for it.
const PLATEAU: f64 = 0.9;
const BETWEEN: u32 = 12;
/// Curves that miss more than so many times the squares that the best misses do not become the best.
const PROMISING: f64 = 4.0;
/// Points that must lie beyond a cache's end for it to be seen: fewer may be disturbed.
const BEYOND: usize = 3;
/// Parts by which levels are moved at last: while others are looked for, and at the end.
const ROUGH: f64 = 0.015;
const CLOSE: f64 = 1e-3;
/// How steep misses begin.
const STEEP: [f64; 9] = [1.0, 1.5, 2.0, 3.0, 5.0, 9.0, 17.0, 33.0, 65.0];

/// Places and weights with which a function of a normal number is averaged (Gauss and Hermite).
const NORMAL: [(f64, f64); 5] =
    [(-2.856970, 0.0112574), (-1.355626, 0.2220759), (0.0, 0.5333333), (1.355626, 0.2220759), (2.856970, 0.0112574)];

/// A capacity and what is replaced.
type Shape = (f64, Victims);
/// A level of a curve: the share of steps that miss it at each point, in standard errors of the point.
#[derive(Clone)]
struct Part {
    shape: Shape,
    shares: Vec<f64>,
}

impl Part {
    fn of(points: &[Point], shape: Shape) -> Self {
        let (bytes, victims) = shape;
        Self { shape, shares: points.iter().map(|point| victims.share(bytes, point.bytes) * scale(point)).collect() }
    }
}

/// Parts that add up to a curve, and what is best of them.
#[derive(Clone)]
struct Found {
    parts: Vec<Part>,
    /// Seconds of a step in the nearest cache, then what a miss of each part adds.
    rises: Vec<f64>,
    /// What the curve misses points by: the sum of squares, in standard errors.
    squares: f64,
}

impl Levels {
    /// Seconds of a step at a footprint.
    pub fn seconds(&self, bytes: f64) -> f64 {
        self.first + self.caches.iter().map(|level| level.miss * level.victims.share(level.bytes, bytes)).sum::<f64>()
    }

    /// Seconds of a step that the level after so many caches answers.
    pub fn latency(&self, after: usize) -> f64 {
        self.first + self.caches.iter().take(after).map(|level| level.miss).sum::<f64>()
    }
}

impl Victims {
    /// The share of steps that miss, of walks through so many bytes.
    pub fn share(self, capacity: f64, bytes: f64) -> f64 {
        match self {
            Self::Hashed(ways) => 1.0 - below(ways, ways * bytes / capacity),
            Self::Scattered(ways) => {
                // A set with twice as many lines is visited twice as often.
                let spread = (capacity / (ways * bytes)).sqrt();
                let fuller = |(z, weight): (f64, f64)| {
                    let fuller = (1.0 + z * spread).max(0.0);
                    weight * fuller * Self::Random(ways).share(capacity, fuller * bytes)
                };
                NORMAL.into_iter().map(fuller).sum::<f64>().min(1.0)
            }
            _ if bytes <= capacity => 0.0,
            Self::Lru(steepness) => (steepness * (1.0 - capacity / bytes)).min(1.0),
            Self::Random(ways) => {
                let ratio = -(1.0 - 1.0 / ways).ln() * (ways * bytes / capacity - 1.0);
                if ratio <= 1.0 {
                    return 0.0;
                }
                // Newton's steps from above, where the curve is concave.
                (0..7).fold(1.0, |q: f64, _| {
                    let left = (-q * ratio).exp();
                    (q - (q - 1.0 + left) / (1.0 - ratio * left)).clamp(0.0, 1.0)
                })
            }
        }
    }
    /// Others nearby.
    fn near(self, width: f64) -> impl Iterator<Item = Self> {
        let factors = [1.0 + width, 1.0 / (1.0 + width)];
        factors.into_iter().map(move |factor| match self {
            Self::Lru(steepness) => Self::Lru((steepness * factor).clamp(1.0, 1e4)),
            Self::Random(ways) => Self::Random((ways * factor).clamp(2.0, 1e6)),
            Self::Hashed(ways) => Self::Hashed((ways * factor).clamp(2.0, 1e6)),
            Self::Scattered(ways) => Self::Scattered((ways * factor).clamp(2.0, 1e6)),
        })
    }
    fn kind(self) -> usize {
        match self {
            Self::Lru(_) => 0,
            Self::Random(_) => 1,
            Self::Hashed(_) => 2,
            Self::Scattered(_) => 3,
        }
    }
    fn all() -> impl Iterator<Item = Self> {
        STEEP
            .into_iter()
            .map(Self::Lru)
            .chain([4.0, 8.0, 16.0, 1e6].map(Self::Random))
            .chain([4.0, 8.0, 16.0, 64.0, 256.0].map(Self::Hashed))
            .chain([4.0, 8.0, 16.0].map(Self::Scattered))
    }
}

/// Levels of a curve. `None` of fewer than four points.
pub fn fit(points: &[Point]) -> Option<Levels> {
    let mut points = points.to_vec();
    points.retain(|point| point.bytes > 0.0 && point.seconds > 0.0 && point.seconds.is_finite());
    points.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
    if points.len() < 4 {
        return None;
    }
    points.iter_mut().for_each(|point| point.noise = point.noise.max(UNLIKE));
    let points = undisturbed(points);
    if points.len() < 4 {
        return None;
    }
    let grid = grid(&points);
    let (mut best, mut fewer) = (Found::of(&points, vec![]), vec![]);
    while best.parts.len() < MOST_LEVELS {
        let Some(better) = added(&points, &grid, &best.parts) else { break };
        let small = (1..better.rises.len()).any(|n| better.rises[n] < LEAST_RISE * better.rises[..n].iter().sum::<f64>());
        if best.squares - better.squares < GAINED || small {
            break;
        }
        fewer.push(std::mem::replace(&mut best, better));
    }
    // Where even all levels leave more than noise does, as pages that lie elsewhere for each walk do, noise is as much larger.
    let freedom = points.len().saturating_sub(3 * best.parts.len() + 1).max(1);
    let scale = (best.squares / freedom as f64).max(1.0);
    while let Some(simpler) = fewer.pop_if(|simpler| simpler.squares - best.squares < GAINED * scale) {
        best = simpler;
    }
    Some(best.levels(&points))
}

/// Points, the smallest first, without those that were disturbed. Latency does not fall where more is walked through: where a walk takes much
/// longer than a longer one, one of both is wrong, whichever others speak against the most. Most disturbances make a walk take longer; that one
/// took too little, as where a clock was faster for a moment, [`BEYOND`] others have to say for each that says the contrary.
fn undisturbed(mut points: Vec<Point>) -> Vec<Point> {
    let falls = |short: &Point, long: &Point| short.seconds > long.seconds * (1.0 + DISTURBED * short.noise.max(long.noise));
    loop {
        let against = |n: usize| {
            let (shorter, own, longer) = (&points[..n], &points[n], &points[n + 1..]);
            let too_short = shorter.iter().filter(|short| falls(short, own)).count();
            too_short + BEYOND * longer.iter().filter(|long| falls(own, long)).count()
        };
        match (0..points.len()).map(|n| (against(n), n)).max() {
            Some((others, n)) if others > 0 => drop(points.remove(n)),
            _ => return points,
        }
    }
}

/// Parts that may be: ends between points, with all kinds of victims.
fn grid(points: &[Point]) -> Vec<Part> {
    let mut between: Vec<f64> = points.windows(2).map(|pair| (pair[0].bytes * pair[1].bytes).sqrt()).collect();
    // Many ranges near one end say no more of where another is.
    between.dedup_by(|next, last| *next < *last * 1.12);
    between.into_iter().flat_map(|bytes| Victims::all().map(move |victims| (bytes, victims))).map(|shape| Part::of(points, shape)).collect()
}

/// The best curve with one level more: that is looked for, then each of the others anew, since each was the best without it.
fn added(points: &[Point], grid: &[Part], parts: &[Part]) -> Option<Found> {
    let mut best = placed(points, grid, parts)?;
    for n in 0..best.parts.len() {
        let mut others = best.parts.clone();
        others.remove(n);
        best = placed(points, grid, &others).into_iter().chain([best]).min_by(|a, b| a.squares.total_cmp(&b.squares))?;
    }
    Some(best.moved(points, CLOSE))
}

/// The best curve with one level beside others: of a grid, then all of them moved.
fn placed(points: &[Point], grid: &[Part], parts: &[Part]) -> Option<Found> {
    // Of each kind of victims the best, to be moved: the best before is not always the best after.
    let mut best: [Option<(f64, Vec<&Part>)>; 4] = [const { None }; 4];
    for part in grid {
        let mut tried: Vec<&Part> = parts.iter().chain([part]).collect();
        tried.sort_by(|a, b| a.shape.0.total_cmp(&b.shape.0));
        if !possible(points, &tried) {
            continue;
        }
        let squares = solve(points, &tried).1;
        let best = &mut best[part.shape.1.kind()];
        if best.as_ref().is_none_or(|best| squares < best.0) {
            *best = Some((squares, tried));
        }
    }
    let least = best.iter().flatten().map(|found| found.0).reduce(f64::min)?;
    let promising = best.into_iter().flatten().filter(|found| found.0 <= PROMISING * least);
    let moved = promising.map(|(_, parts)| Found::of(points, parts.into_iter().cloned().collect()).moved(points, ROUGH));
    moved.min_by(|a, b| a.squares.total_cmp(&b.squares))
}

impl Found {
    fn of(points: &[Point], parts: Vec<Part>) -> Self {
        let (rises, squares) = solve(points, &parts.iter().collect::<Vec<_>>());
        Self { parts, rises, squares }
    }

    /// The same with another part instead of one.
    fn with(&self, points: &[Point], n: usize, shape: Shape) -> Self {
        let mut parts = self.parts.clone();
        parts[n] = Part::of(points, shape);
        Self::of(points, parts)
    }

    /// The same with all levels moved in turn while that explains more.
    fn moved(mut self, points: &[Point], least: f64) -> Self {
        let mut width = 0.3;
        while width > least {
            let mut moved = false;
            for n in 0..self.parts.len() {
                let (bytes, victims) = self.parts[n].shape;
                let moves = [(bytes * (1.0 + width), victims), (bytes / (1.0 + width), victims)];
                for other in moves.into_iter().chain(victims.near(width).map(|victims| (bytes, victims))) {
                    let tried = self.with(points, n, other);
                    if tried.squares < self.squares * (1.0 - 1e-9) && possible(points, &tried.parts.iter().collect::<Vec<_>>()) {
                        (self, moved) = (tried, true);
                    }
                }
            }
            if !moved {
                width /= 2.0;
            }
        }
        self
    }

    fn levels(&self, points: &[Point]) -> Levels {
        // Where the best leaves more than noise does, noise is as much larger, and as much more explains the curve as well.
        let scale = (self.squares / points.len() as f64).max(0.01);
        let level = |(n, (part, miss)): (usize, (&Part, &f64))| {
            let (bytes, victims) = part.shape;
            Level { bytes, between: self.interval(points, n, scale), victims, miss: *miss }
        };
        let caches = self.parts.iter().zip(&self.rises[1..]).enumerate().map(level).collect();
        let mut levels = Levels { first: self.rises[0], caches, error: 0.0 };
        let off = |point: &Point| (levels.seconds(point.bytes) / point.seconds - 1.0).powi(2);
        levels.error = (points.iter().map(off).sum::<f64>() / points.len() as f64).sqrt();
        levels
    }

    /// Capacities of a level with which the curve is no significantly worse, what it replaces free: 3.84 is the chi-squared of one parameter at
    /// 95 %.
    fn interval(&self, points: &[Point], n: usize, scale: f64) -> (f64, f64) {
        let (own, victims) = self.parts[n].shape;
        let as_good = |bytes: f64| {
            let nearby = [0.1, 0.5].into_iter().flat_map(|width| victims.near(width));
            nearby.chain([victims]).any(|victims| self.with(points, n, (bytes, victims)).squares <= self.squares + 3.84 * scale)
        };
        let end = |up: bool| {
            let (mut good, mut step) = (own, 0.1);
            while step > 3e-4 {
                let next = if up { good * (1.0 + step) } else { good / (1.0 + step) };
                if as_good(next) && (next / own).ln().abs() < 2.0 { good = next } else { step /= 2.0 }
            }
            good
        };
        (end(false), end(true))
    }
}

/// The chance that a Poisson number of this mean is below another; between whole numbers, and of large ones, by the normal distribution of its
/// root (Anscombe), within a part in a hundred.
fn below(than: f64, mean: f64) -> f64 {
    let z = 2.0 * ((than - 0.5 + 0.375).sqrt() - (mean + 0.125).sqrt());
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// Whether caches, the smallest first, are far enough from each other, and each ends where one would see it.
fn possible(points: &[Point], parts: &[&Part]) -> bool {
    let seen = |part: &&Part| points.len().checked_sub(BEYOND).is_some_and(|last| points[last].bytes > part.shape.0);
    let apart = |near: &Part, far: &Part| far.shape.0 >= APART * near.shape.0 && told_apart(near.shape, far.shape);
    parts.windows(2).all(|two| apart(two[0], two[1])) && parts.last().is_none_or(seen)
}

/// Whether there are ranges that one cache does not help with and the next still holds. Where there are none, what looks like two is the slow
/// rise of one whose victims are those of no formula.
fn told_apart(near: Shape, far: Shape) -> bool {
    let ((small, near), (large, far)) = (near, far);
    let between = (1..BETWEEN).map(|n| small * (large / small).powf(f64::from(n) / f64::from(BETWEEN)));
    between.rev().filter(|bytes| far.share(large, *bytes) <= 1.0 - PLATEAU).take(1).any(|bytes| near.share(small, bytes) >= PLATEAU)
}

/// By what a second of a point counts: relative errors count, in standard errors.
fn scale(point: &Point) -> f64 {
    1.0 / (point.seconds * point.noise)
}

/// Rises of parts by least squares, none negative, and the sum of squares that is left.
fn solve(points: &[Point], parts: &[&Part]) -> (Vec<f64>, f64) {
    let columns = parts.len() + 1;
    let mut rows = Vec::with_capacity(points.len() * columns);
    for (at, point) in points.iter().enumerate() {
        rows.push(scale(point));
        rows.extend(parts.iter().map(|part| part.shares[at]));
    }
    let targets: Vec<f64> = points.iter().map(|point| 1.0 / point.noise).collect();
    let rises = super::least_squares(&rows, &targets, columns);
    let off = |row: &[f64], target: f64| row.iter().zip(&rises).map(|(x, rise)| x * rise).sum::<f64>() - target;
    let squares = rows.chunks(columns).zip(&targets).map(|(row, target)| off(row, *target).powi(2)).sum();
    (rises, squares)
}

#[cfg(test)]
mod tests;
