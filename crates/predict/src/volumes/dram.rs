//! What device memory delivers and takes: compulsory lines, and those that were evicted before their reuse.
//! .
//! Let U(n) be the lines that n consecutive blocks touch, each access at its time ([`super::reuse`]). A cache that holds all that was
//! touched during the last n launches misses dU/dn lines a block: those whose last use lies longer back. So with h(n) the probability
//! that a line survives until n blocks later, a block loads Σ M(n) · (h(n) − h(n′)) lines over neighbouring distances n < n′, M their
//! difference quotient of U, and beyond the last distance of any reuse what the whole launch touches, per block. h depends on the bytes
//! F(n) of all fields together, in units of the cache: h = 1 / (1 + (F / capacity)^steepness). Strict LRU is the limit of a steep h.

use super::reuse::{Footprint, bypasses, phases};
use super::subject::Subject;
use super::wave::Side;
use warpsight_ir::Name;

/// The memory behind the first-level caches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Bytes device memory delivers at once.
    pub fetch: u32,
    /// Bytes it takes at once.
    pub write: u32,
    /// Bytes of the second-level cache that one block's data can use.
    pub l2_effective: f64,
    /// Bytes of a cache between that and device memory.
    pub last_level: Option<f64>,
}

/// Blocks at work at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wave {
    /// Blocks that are resident at once, on all cores.
    pub blocks: u64,
}

/// How a cache lets go of lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// Footprint at which half of the lines survive, as a share of [`Memory::l2_effective`].
    pub capacity: f64,
    /// Slope at that point, on logarithmic axes, is a quarter of this.
    pub steepness: f64,
    /// Share of a block's life over which its loads are spread.
    pub spread: f64,
}

/// Why bytes are loaded from device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The launch touches the line for the first time.
    Compulsory,
    /// Evicted before a reuse by a block that is resident at the same time.
    WithinWave,
    /// Evicted before a reuse by a later block.
    BetweenWaves,
    /// A store leaves part of a line as it was.
    PartialStore,
}

/// Bytes of the whole launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Dram {
    /// If every wave loaded each line it touches once.
    pub load_wave: f64,
    /// Loaded from device memory.
    pub load: f64,
    /// Stored to it.
    pub store: f64,
    /// Loaded behind the second-level cache, whether from device memory or from a last-level cache.
    pub behind_l2: f64,
    /// `load` by cause, where there is any.
    pub by_cause: Vec<(Cause, f64)>,
    /// `load` and `store` by field.
    pub per_field: Vec<(Name, f64, f64)>,
}

impl Curve {
    /// Probability that a line survives until `footprint` bytes more were touched in a cache of `size` bytes.
    pub fn survives(&self, footprint: f64, size: f64) -> f64 {
        1.0 / (1.0 + (footprint / (self.capacity * size)).powf(self.steepness))
    }
}

/// Volumes of the whole launch between the caches and device memory.
pub fn dram(subject: &Subject, memory: &Memory, wave: &Wave, curve: &Curve) -> Dram {
    Runs::of(subject, memory, wave, curve.spread).volumes(memory, curve)
}

/// What runs of consecutive blocks touch, which no capacity changes.
#[derive(Clone, Debug)]
pub struct Runs {
    blocks: u64,
    resident: u64,
    load_wave: f64,
    /// Work of the mean block, relative to one in the middle of the grid.
    activity: f64,
    /// Launched blocks after which lines are met again.
    distances: Vec<f64>,
    fields: Vec<FieldRuns>,
}

#[derive(Clone, Debug)]
struct FieldRuns {
    name: Name,
    bypasses: bool,
    loads: Option<SideRuns>,
    stores: Option<SideRuns>,
    /// Bytes of lines that no store covers, although it touches them.
    partial: f64,
}

/// A field on one side.
#[derive(Clone, Debug)]
struct SideRuns {
    /// Bytes that the run up to each distance touches.
    until: Vec<f64>,
    /// Bytes of the whole launch.
    all: f64,
}

impl Runs {
    /// Of a kernel; see [`Curve::spread`].
    pub fn of(subject: &Subject, memory: &Memory, wave: &Wave, spread: f64) -> Self {
        let blocks: u64 = subject.groups.iter().map(|group| u64::from(group.count)).product();
        let resident = wave.blocks.clamp(1, blocks.max(1));
        let (phases, late) = (phases(subject), resident as f64 * spread);
        let (begin, centre) = (middle(subject, resident), centre(subject) as i64);

        let side = |field: usize, side| {
            let field = &subject.fields[field];
            let footprint = Footprint::of(subject, field, Some(side), None)?;
            let timed = Footprint::of(subject, field, Some(side), Some(&phases)).filter(|_| !footprint.streams());
            Some((footprint, timed, i64::from(if side == Side::Loads { memory.fetch } else { memory.write })))
        };
        let sides: Vec<_> = (0..subject.fields.len()).map(|field| [side(field, Side::Loads), side(field, Side::Stores)]).collect();

        // Blocks at the edge of the grid have less to do than those in its middle.
        let mut every = sides.iter().flatten().flatten();
        let activity = every.find_map(|side| side.0.activity(begin.unsigned_abs(), resident)).unwrap_or(1.0);
        let mut distances = Vec::new();
        for (_, timed, _) in sides.iter().flatten().flatten() {
            timed.iter().for_each(|timed| timed.distances(late, &mut distances));
        }
        let distances = thinned(distances, blocks);

        let mut load_wave = 0.0;
        let mut fields = Vec::new();
        for (field, [loads, stores]) in subject.fields.iter().zip(&sides) {
            // Around the middle of the grid, with the accesses that happen late before it and the early ones behind it.
            let run = |timed: &Footprint<'_>, line, n: f64| {
                let count = (n as u64).min(blocks);
                let first = centre - count as i64 / 2 + (late / 2.0) as i64;
                timed.distinct(first.clamp(0, (blocks - count) as i64), count, late, line) as f64 * line as f64
            };
            let runs = |side: &Option<(Footprint<'_>, Option<Footprint<'_>>, i64)>| {
                let (footprint, timed, line) = side.as_ref()?;
                let all = footprint.distinct(0, blocks, 0.0, *line) as f64 * *line as f64;
                let until = distances.iter().map(|&n| timed.as_ref().map_or(all * n / blocks as f64, |timed| run(timed, *line, n)));
                Some(SideRuns { until: until.collect(), all })
            };
            if let Some((footprint, _, line)) = loads {
                let lines = footprint.distinct(begin, resident, 0.0, *line);
                load_wave += activity * lines as f64 * *line as f64 * blocks as f64 / resident as f64;
            }
            let found = runs(stores);
            let mut partial = 0.0;
            if let (None, Some((footprint, _, line)), Some(stores)) = (loads, stores, &found) {
                // Stores that leave gaps touch more lines than they fill. At the ends of rows half a line is missing.
                let element = field.geometry.element;
                let missing = stores.all - footprint.distinct(0, blocks, 0.0, element) as f64 * element as f64;
                partial = stores.all.min(2.0 * missing.max(0.0)).min(if *line > element { f64::INFINITY } else { 0.0 });
            }
            fields.push(FieldRuns { name: field.name.clone(), bypasses: bypasses(field), loads: runs(loads), stores: found, partial });
        }
        Self { blocks, resident, load_wave, activity, distances, fields }
    }

    /// With these capacities and this curve; its spread is that of the runs.
    pub fn volumes(&self, memory: &Memory, curve: &Curve) -> Dram {
        // Bytes of everything touched until each distance. A field that is loaded and stored counts once.
        let together = |i: usize| -> f64 {
            let bytes = |side: &Option<SideRuns>| side.as_ref().map_or(0.0, |side| side.until[i]);
            self.fields.iter().map(|field| bytes(&field.loads).max(if field.bypasses { 0.0 } else { bytes(&field.stores) })).sum()
        };
        let together: Vec<f64> = (0..self.distances.len()).map(together).collect();
        let survives = |size: f64| -> Vec<f64> { together.iter().map(|&bytes| curve.survives(bytes, size)).collect() };
        let behind = survives(memory.l2_effective);
        let last = memory.last_level.map_or_else(|| behind.clone(), survives);

        let mut dram = Dram { load_wave: self.load_wave, load: 0.0, store: 0.0, behind_l2: 0.0, by_cause: vec![], per_field: vec![] };
        let mut causes = [0.0; 4];
        for field in &self.fields {
            let (mut load, mut store) = (0.0, 0.0);
            if let Some(loads) = &field.loads {
                let found = self.misses(loads, &last);
                causes[0] += loads.all;
                causes[1] += found.within;
                causes[2] += found.between;
                load += loads.all + found.within + found.between;
                let found = self.misses(loads, &behind);
                dram.behind_l2 += loads.all + found.within + found.between;
            }
            if let Some(stores) = &field.stores {
                let found = if field.bypasses { Misses { within: 0.0, between: 0.0 } } else { self.misses(stores, &last) };
                store = stores.all + found.within + found.between;
                if field.loads.is_none() {
                    // What is evicted half written is read back.
                    let read = field.partial + found.within + found.between;
                    causes[3] += read;
                    load += read;
                    dram.behind_l2 += read;
                }
            }
            dram.load += load;
            dram.store += store;
            dram.per_field.push((field.name.clone(), load, store));
        }
        let names = [Cause::Compulsory, Cause::WithinWave, Cause::BetweenWaves, Cause::PartialStore];
        dram.by_cause = names.into_iter().zip(causes).filter(|cause| cause.1 > 0.0).collect();
        dram
    }

    /// Bytes beyond the compulsory ones.
    fn misses(&self, side: &SideRuns, survives: &[f64]) -> Misses {
        let mut misses = Misses { within: 0.0, between: 0.0 };
        let (mut n, mut bytes, mut alive) = (0.0, 0.0, 1.0);
        for ((&next, &until), &still) in self.distances.iter().zip(&side.until).zip(survives) {
            // A cache that reaches this far misses more than the compulsory lines.
            let excess = ((until - bytes) / (next - n) * self.activity * self.blocks as f64 - side.all).max(0.0);
            let evicted = excess * (alive - still).max(0.0);
            if next <= self.resident as f64 {
                misses.within += evicted
            } else {
                misses.between += evicted
            }
            (n, bytes, alive) = (next, until, still);
        }
        misses
    }
}

/// Bytes by when they were evicted.
struct Misses {
    within: f64,
    between: f64,
}

/// The block in the middle of the grid along every axis.
fn centre(subject: &Subject) -> u64 {
    let mut unit = 1;
    let along = subject.groups.iter().map(|group| {
        let at = u64::from(group.count / 2) * unit;
        unit *= u64::from(group.count);
        at
    });
    along.sum()
}

/// Where a wave of `count` blocks in the middle of the grid begins: with a row or layer if it holds whole ones, else where waves do that
/// follow each other from the begin of the row or layer.
fn middle(subject: &Subject, count: u64) -> i64 {
    let (mut unit, mut longer) = (1, 1);
    for group in &subject.groups {
        (unit, longer) = (longer, longer * u64::from(group.count));
        if longer > count {
            break;
        }
    }
    let centre = centre(subject);
    // In units of whole rows, from the begin of the layer.
    let (layer, within, length) = (centre / longer * longer, centre % longer / unit, longer / unit);
    let rows = count.div_ceil(unit).max(1);
    let before = (within.saturating_sub(rows / 2) / rows * rows).min(length.saturating_sub(rows));
    (layer + before * unit) as i64
}

/// Distances less than this factor apart count as one.
const NEAR: f64 = 1.35;

/// Distances in ascending order, 1 the first, none much like the one before.
fn thinned(mut distances: Vec<f64>, blocks: u64) -> Vec<f64> {
    distances.push(1.0);
    distances.iter_mut().for_each(|n| *n = n.round());
    distances.retain(|&n| n >= 1.0 && n <= blocks as f64);
    distances.sort_unstable_by(f64::total_cmp);
    let mut kept: Vec<f64> = Vec::new();
    for n in distances {
        if kept.last().is_none_or(|&last| n > last * NEAR) {
            kept.push(n);
        }
    }
    kept
}
