//! Levels of memory in the latency of walks against their footprint.
//!
//! A walk through `n` bytes in random order, again and again, waits `h` a step while a cache of `c` bytes holds all of it. Beyond that a
//! share of the steps waits `d` longer, which depends on what the cache replaces. Least-recently-used lines of sets that fill evenly:
//! `min(1, (ways + 1)·(1 − c/n))`, exactly. Random ones of a set: the `q` for which `1 − q` is the chance
//! `(1 − 1/ways)^(q·(ways·n/c − 1))` that a line outlives the misses of the others of its set. Least-recently-used lines of sets that a hash
//! fills by chance: the chance that a Poisson number of mean `ways·n/c` is at least `ways`, since all lines of a set that is too full miss. A curve is the sum of such levels. Levels are added while one explains
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
    /// The least recently used of so many, in sets that a hash fills by chance.
    Hashed(f64),
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
/// Standard errors by which a walk takes longer than noise explains.
const DISTURBED: f64 = 5.0;
/// A cache right behind one that is not much smaller would hardly help; its curve looks like one cache of other replacement.
const APART: f64 = 3.0;
/// Curves that miss more than so many times the squares that the best misses do not become the best.
const PROMISING: f64 = 4.0;
/// How steep misses begin.
const STEEP: [f64; 9] = [1.0, 1.5, 2.0, 3.0, 5.0, 9.0, 17.0, 33.0, 65.0];

/// A capacity and what is replaced.
type Shape = (f64, Victims);
/// Shapes with their best curve, and the sum of squares of what it misses.
type Found = (Vec<Shape>, (Levels, f64));

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
        })
    }
    fn kind(self) -> usize {
        match self {
            Self::Lru(_) => 0,
            Self::Random(_) => 1,
            Self::Hashed(_) => 2,
        }
    }
    fn all() -> impl Iterator<Item = Self> {
        STEEP
            .into_iter()
            .map(Self::Lru)
            .chain([4.0, 8.0, 16.0, 1e6].map(Self::Random))
            .chain([4.0, 8.0, 16.0, 64.0, 256.0].map(Self::Hashed))
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
    // Latency does not fall where more is walked through: what takes much longer than a longer walk was disturbed.
    let mut least = f64::INFINITY;
    for point in points.iter_mut().rev() {
        point.noise = point.noise.max(UNLIKE);
        least = least.min(point.seconds);
        if point.seconds > least * (1.0 + DISTURBED * point.noise) {
            point.seconds = least;
        }
    }
    let mut shapes: Vec<Shape> = vec![];
    let mut best = solve(&points, &shapes);
    while shapes.len() < MOST_LEVELS {
        let Some((found, better)) = added(&points, &shapes) else { break };
        // Two parameters more than before, and one for the rise: what noise alone would explain, many times over.
        let gained = best.1 - better.1;
        let small = better.0.caches.iter().enumerate().any(|(n, level)| level.miss < LEAST_RISE * better.0.latency(n));
        if gained < 30.0 || small {
            break;
        }
        (shapes, best) = (found, better);
    }
    let (mut levels, least) = best;
    let scale = (least / points.len() as f64).clamp(0.01, 1.0);
    for (n, level) in levels.caches.iter_mut().enumerate() {
        level.between = interval(&points, &shapes, n, least, scale);
    }
    Some(levels)
}

/// The best curve with one level more: that is looked for, then each of the others anew, since each was the best without it.
fn added(points: &[Point], shapes: &[Shape]) -> Option<Found> {
    let mut best = placed(points, shapes)?;
    for n in 0..best.0.len() {
        let others: Vec<Shape> = best.0.iter().enumerate().filter(|(i, _)| *i != n).map(|(_, shape)| *shape).collect();
        best = placed(points, &others).into_iter().chain([best]).min_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    }
    Some(best)
}

/// The best curve with one level beside others: a grid for it, then all of them moved.
fn placed(points: &[Point], shapes: &[Shape]) -> Option<Found> {
    // Of each kind of victims the best, to be moved: the best before is not always the best after.
    let mut best: [Option<Found>; 3] = [const { None }; 3];
    let mut between: Vec<f64> = points.windows(2).map(|pair| (pair[0].bytes * pair[1].bytes).sqrt()).collect();
    // Many ranges near one end say no more of where another is.
    between.dedup_by(|next, last| *next < *last * 1.12);
    for bytes in between {
        for victims in Victims::all() {
            let mut tried = shapes.to_vec();
            tried.push((bytes, victims));
            tried.sort_by(|a, b| a.0.total_cmp(&b.0));
            if !apart(&tried) {
                continue;
            }
            let solved = solve(points, &tried);
            let best = &mut best[victims.kind()];
            if best.as_ref().is_none_or(|best| solved.1 < best.1.1) {
                *best = Some((tried, solved));
            }
        }
    }
    let least = best.iter().flatten().map(|found| found.1.1).reduce(f64::min)?;
    let promising = best.into_iter().flatten().filter(|found| found.1.1 <= PROMISING * least);
    promising.map(|found| moved(points, found)).min_by(|a, b| a.1.1.total_cmp(&b.1.1))
}

/// The same with all levels moved in turn while that explains more.
fn moved(points: &[Point], (mut shapes, mut solved): Found) -> Found {
    let mut width = 0.3;
    while width > 1e-3 {
        let mut moved = false;
        for n in 0..shapes.len() {
            let (bytes, victims) = shapes[n];
            let moves = [(bytes * (1.0 + width), victims), (bytes / (1.0 + width), victims)];
            for other in moves.into_iter().chain(victims.near(width).map(|victims| (bytes, victims))) {
                let mut tried = shapes.clone();
                tried[n] = other;
                let own = solve(points, &tried);
                if own.1 < solved.1 * (1.0 - 1e-9) && apart(&tried) {
                    (shapes, solved, moved) = (tried, own, true);
                }
            }
        }
        if !moved {
            width /= 2.0;
        }
    }
    (shapes, solved)
}

/// The chance that a Poisson number of this mean is below another; between whole numbers, and of large ones, by the normal distribution of its
/// root (Anscombe), within a part in a hundred.
fn below(than: f64, mean: f64) -> f64 {
    let z = 2.0 * ((than - 0.5 + 0.375).sqrt() - (mean + 0.125).sqrt());
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

fn apart(shapes: &[Shape]) -> bool {
    shapes.windows(2).all(|two| two[1].0 >= APART * two[0].0)
}

/// Rises of levels of given shapes: least squares of relative errors, none negative. With it the sum of squares, in standard errors.
fn solve(points: &[Point], shapes: &[Shape]) -> (Levels, f64) {
    let columns = shapes.len() + 1;
    let mut rows = Vec::with_capacity(points.len() * columns);
    for point in points {
        let scale = 1.0 / (point.seconds * point.noise);
        rows.push(scale);
        rows.extend(shapes.iter().map(|&(bytes, victims)| victims.share(bytes, point.bytes) * scale));
    }
    let targets: Vec<f64> = points.iter().map(|point| 1.0 / point.noise).collect();
    let rises = super::least_squares(&rows, &targets, columns);
    let off = |row: &[f64], target: f64| row.iter().zip(&rises).map(|(x, rise)| x * rise).sum::<f64>() - target;
    let offs = || rows.chunks(columns).zip(&targets).zip(points).map(|((row, target), point)| (off(row, *target), point.noise));
    let caches = shapes.iter().zip(&rises[1..]);
    let caches = caches.map(|(&(bytes, victims), &miss)| Level { bytes, between: (bytes, bytes), victims, miss }).collect();
    let error = (offs().map(|(off, noise)| (off * noise).powi(2)).sum::<f64>() / points.len() as f64).sqrt();
    (Levels { first: rises[0], caches, error }, offs().map(|(off, _)| off * off).sum())
}

/// Capacities of a level with which the curve is no significantly worse, what it replaces free: 3.84 is the chi-squared of one parameter at 95 %.
fn interval(points: &[Point], shapes: &[Shape], n: usize, least: f64, scale: f64) -> (f64, f64) {
    let as_good = |bytes: f64| {
        let nearby = [0.1, 0.5].into_iter().flat_map(|width| shapes[n].1.near(width));
        nearby.chain([shapes[n].1]).any(|victims| {
            let mut tried = shapes.to_vec();
            tried[n] = (bytes, victims);
            solve(points, &tried).1 <= least + 3.84 * scale
        })
    };
    let end = |up: bool| {
        let (mut good, mut step) = (shapes[n].0, 0.1);
        while step > 3e-4 {
            let next = if up { good * (1.0 + step) } else { good / (1.0 + step) };
            if as_good(next) && (next / shapes[n].0).ln().abs() < 2.0 { good = next } else { step /= 2.0 }
        }
        good
    };
    (end(false), end(true))
}

#[cfg(test)]
mod tests;
