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

/// A field on one side, at every distance.
struct Side1<'a> {
    footprint: Footprint<'a>,
    /// Bytes at once.
    line: i64,
    /// Lines that the run up to each distance touches.
    until: Vec<f64>,
    /// Lines of the whole launch.
    all: f64,
}

/// Volumes of the whole launch between the caches and device memory.
pub fn dram(subject: &Subject, memory: &Memory, wave: &Wave, curve: &Curve) -> Dram {
    let blocks: u64 = subject.groups.iter().map(|group| u64::from(group.count)).product();
    let resident = wave.blocks.clamp(1, blocks.max(1));
    let phases = phases(subject);
    let spread = resident as f64 * curve.spread;
    let (begin, centre) = (middle(subject, resident), centre(subject) as i64);

    let mut load_wave = 0.0;
    let mut distances = Vec::new();
    // Blocks at the edge of the grid have less to do than those in its middle.
    let mut activity = None;
    for field in &subject.fields {
        if let Some(any) = Footprint::of(subject, field, None, None).filter(|_| activity.is_none()) {
            activity = any.activity(begin.unsigned_abs(), resident);
        }
        if let Some(loads) = Footprint::of(subject, field, Some(Side::Loads), None) {
            let lines = loads.distinct(begin, resident, 0.0, memory.fetch.into());
            load_wave += lines as f64 * f64::from(memory.fetch) * blocks as f64 / resident as f64;
        }
    }
    let activity = activity.unwrap_or(1.0);
    load_wave *= activity;
    let side = |index: usize, side| {
        let footprint = Footprint::of(subject, &subject.fields[index], Some(side), Some(&phases))?;
        let line = if side == Side::Loads { memory.fetch } else { memory.write };
        let all = footprint.distinct(0, blocks, 0.0, line.into()) as f64;
        Some((footprint, i64::from(line), all))
    };
    let sides: Vec<[Option<(Footprint<'_>, i64, f64)>; 2]> =
        (0..subject.fields.len()).map(|index| [side(index, Side::Loads), side(index, Side::Stores)]).collect();
    sides.iter().flatten().flatten().filter(|side| !side.0.streams()).for_each(|side| side.0.distances(spread, &mut distances));
    let distances = thinned(distances, blocks);
    // Around the middle of the grid, with the accesses that happen late before it and the early ones behind it.
    let at = |footprint: &Footprint<'_>, line, n: f64| {
        let count = (n as u64).min(blocks);
        let latest = (blocks - count) as i64;
        let first = centre - count as i64 / 2 + (spread / 2.0) as i64;
        footprint.distinct(first.clamp(0, latest), count, spread, line) as f64
    };
    let sides: Vec<[Option<Side1<'_>>; 2]> = sides
        .into_iter()
        .map(|sides| {
            sides.map(|side| {
                let (footprint, line, all) = side?;
                let until = if footprint.streams() {
                    distances.iter().map(|n| all * n / blocks as f64).collect()
                } else {
                    distances.iter().map(|&n| at(&footprint, line, n)).collect()
                };
                Some(Side1 { footprint, line, until, all })
            })
        })
        .collect();

    // Bytes of everything touched until each distance. A field that is loaded and stored counts once.
    let together: Vec<f64> = (0..distances.len())
        .map(|i| {
            let bytes = |side: &Option<Side1<'_>>| side.as_ref().map_or(0.0, |side| side.until[i] * side.line as f64);
            let fields = subject.fields.iter().zip(&sides);
            fields.map(|(field, [loads, stores])| if bypasses(field) { bytes(loads) } else { bytes(loads).max(bytes(stores)) }).sum()
        })
        .collect();
    let survives = |size: f64| -> Vec<f64> { together.iter().map(|&bytes| curve.survives(bytes, size)).collect() };
    let behind = survives(memory.l2_effective);
    let last = memory.last_level.map_or_else(|| behind.clone(), survives);

    let mut dram = Dram { load_wave, load: 0.0, store: 0.0, behind_l2: 0.0, by_cause: vec![], per_field: vec![] };
    let mut causes = [0.0; 4];
    for (field, [loads, stores]) in subject.fields.iter().zip(&sides) {
        let (mut load, mut store) = (0.0, 0.0);
        if let Some(loads) = loads {
            let found = loads.misses(&distances, &last, activity, [blocks, resident]);
            causes[0] += found.compulsory;
            causes[1] += found.within;
            causes[2] += found.between;
            load += found.compulsory + found.within + found.between;
            let found = loads.misses(&distances, &behind, activity, [blocks, resident]);
            dram.behind_l2 += found.compulsory + found.within + found.between;
        }
        if let Some(stores) = stores {
            let found = if bypasses(field) {
                Misses { compulsory: stores.all * stores.line as f64, within: 0.0, between: 0.0 }
            } else {
                stores.misses(&distances, &last, activity, [blocks, resident])
            };
            let evicted = found.within + found.between;
            store = found.compulsory + evicted;
            if loads.is_none() {
                // What is evicted half written, and what is never written in full, is read back.
                let written = stores.footprint.distinct(0, blocks, 0.0, field.geometry.element) as f64;
                let elements = stores.line as f64 / field.geometry.element as f64;
                let missing = (stores.all * elements - written).max(0.0);
                let partial = stores.all.min(missing / (elements / 2.0).max(1.0));
                let read = partial * stores.line as f64 + evicted;
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

/// Bytes by when they were evicted.
struct Misses {
    compulsory: f64,
    within: f64,
    between: f64,
}

impl Side1<'_> {
    fn misses(&self, distances: &[f64], survives: &[f64], activity: f64, [blocks, resident]: [u64; 2]) -> Misses {
        let bytes = self.line as f64;
        let per_block = self.all / blocks as f64;
        let (mut within, mut between) = (0.0, 0.0);
        let (mut n, mut lines, mut alive) = (0.0, 0.0, 1.0);
        for ((&next, &until), &still) in distances.iter().zip(&self.until).zip(survives) {
            // A cache that reaches this far misses more than the compulsory lines.
            let excess = ((until - lines) / (next - n) * activity - per_block).max(0.0) * blocks as f64 * bytes;
            let evicted = excess * (alive - still).max(0.0);
            if next <= resident as f64 {
                within += evicted
            } else {
                between += evicted
            }
            (n, lines, alive) = (next, until, still);
        }
        Misses { compulsory: self.all * bytes, within, between }
    }
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

/// Distances in ascending order, 1 the first, none much like the one before.
fn thinned(mut distances: Vec<f64>, blocks: u64) -> Vec<f64> {
    distances.push(1.0);
    distances.iter_mut().for_each(|n| *n = n.round());
    distances.retain(|&n| n >= 1.0 && n <= blocks as f64);
    distances.sort_unstable_by(f64::total_cmp);
    let mut kept: Vec<f64> = Vec::new();
    for n in distances {
        if kept.last().is_none_or(|&last| n > last * 1.06) {
            kept.push(n);
        }
    }
    kept
}
