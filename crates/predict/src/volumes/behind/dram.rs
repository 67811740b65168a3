//! What device memory delivers and takes: compulsory lines, and those that were evicted before their reuse.
//! .
//! A line is touched by blocks at known times, counted in launched blocks ([`super::reuse`]). It is loaded once, and again after each gap n
//! between two touches that it does not survive: with probability h(n). h depends on the bytes F(n) of all fields that n consecutive
//! blocks touch, in units of the cache: h = 1 / (1 + (F / capacity)^steepness); strict LRU is the limit of a steep h. Both come from one
//! distribution: n blocks meet a line once for each gap that is longer than n, so that F(n) is the sum of min(n, gap) over all touches.
//! Lines that blocks at work at the same time share are lost besides as [`super::within`] says.
//! The distribution is in closed form where blocks step along coordinates ([`super::gaps`]), and taken from what runs of blocks touch otherwise.

use super::histogram::Gaps;
use super::reuse::{Footprint, bypasses, phases};
use super::within::Within;
use crate::volumes::kernel::subject::{Side, Subject};
use warpsight_ir::{Bytes, Kernel, Meanwhile, Name};

/// The memory behind the first-level caches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Bytes device memory delivers at once.
    pub fetch: u32,
    /// Bytes it takes at once.
    pub write: u32,
    /// Bytes of the second-level cache that the launch's data can use.
    pub l2_effective: f64,
    /// Bytes of a cache between that and device memory, and how it lets go of lines.
    pub last_level: Option<(f64, Curve)>,
    /// What other launches touch between two of this one.
    pub between: Between,
}

/// Bytes that other launches touch between two of a kernel, for each of its fields.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Between {
    meanwhile: Meanwhile,
    /// Which fields are known, by bits: of the first 64.
    known: u64,
}

impl Between {
    /// Nothing.
    pub const NOTHING: Self = Self { meanwhile: Meanwhile { handed: Bytes(0.0), pass: Bytes(0.0) }, known: 0 };

    /// Of a kernel that is one of a pass.
    pub fn of(kernel: &Kernel, subject: &Subject, meanwhile: Meanwhile) -> Self {
        let fields = subject.fields.iter().take(64).enumerate().filter(|own| kernel.knows(&own.1.name));
        Self { meanwhile, known: fields.fold(0, |bits, own| bits | 1 << own.0) }
    }

    /// For a field.
    pub fn bytes(&self, field: usize) -> f64 {
        self.meanwhile.bytes(field < 64 && self.known >> field & 1 == 1)
    }
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
    /// Of blocks that walk through the same data at the same time, the share that stays in step for launches of many waves, so that the
    /// first one's lines serve all; `None` where blocks do not begin together.
    pub in_step: Option<f64>,
    /// What blocks at work at the same time take from each other; `None` where nothing.
    pub within: Option<Within>,
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
    /// A thread reads again what it had no registers for.
    Spilled,
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
    /// What of that spilled.
    pub spilled: f64,
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

    /// The part of a launch's bytes that an equal launch before it has not left in a cache of `size` bytes.
    pub fn cold(&self, touched: f64, size: f64) -> f64 {
        1.0 - self.survives(touched, size)
    }
}

/// Volumes of the whole launch between the caches and device memory.
pub fn dram(subject: &Subject, memory: &Memory, wave: &Wave, curve: &Curve) -> Dram {
    Runs::of(subject, memory, wave, curve.spread).volumes(memory, curve)
}

/// What blocks touch and meet again, which no capacity changes.
#[derive(Clone, Debug)]
pub struct Runs {
    resident: u64,
    blocks: u64,
    load_wave: f64,
    /// What blocks of the whole launch do, of what those in its middle do.
    activity: f64,
    /// Gaps in launched blocks after which lines are met again, ascending, and the bytes that so many blocks touch.
    gaps: Vec<(f64, f64)>,
    /// Which of these is a wave.
    wave: usize,
    fields: Vec<FieldRuns>,
}

#[derive(Clone, Debug)]
struct FieldRuns {
    name: Name,
    bypasses: bool,
    /// Whether blocks are led through it by loops.
    walked: bool,
    loads: Option<SideRuns>,
    stores: Option<SideRuns>,
    /// Bytes of lines that no store covers, although it touches them.
    partial: f64,
}

/// A field on one side.
#[derive(Clone, Debug)]
struct SideRuns {
    /// Bytes of the whole launch.
    all: f64,
    /// Bytes that are met again: position of the gap, bytes.
    again: Vec<(usize, f64)>,
    /// The part of these that another block met before: the rest is that of the same one.
    others: f64,
}

impl Runs {
    /// Of a kernel; see [`Curve::spread`].
    pub fn of(subject: &Subject, memory: &Memory, wave: &Wave, spread: f64) -> Self {
        let blocks: u64 = subject.groups.iter().map(|group| u64::from(group.count)).product();
        let resident = wave.blocks.clamp(1, blocks.max(1));
        let (phases, late) = (phases(subject), resident as f64 * spread);
        let begin = middle(subject, resident);
        let side = |field: usize, side| {
            let field = &subject.fields[field];
            let footprint = Footprint::of(subject, field, Some(side), None)?;
            Some((footprint, i64::from(if side == Side::Loads { memory.fetch } else { memory.write })))
        };
        let sides: Vec<_> = (0..subject.fields.len()).map(|field| [side(field, Side::Loads), side(field, Side::Stores)]).collect();
        // Blocks at the edge of the grid have less to do than those in its middle.
        let mut every = sides.iter().flatten().flatten();
        let activity = every.find_map(|side| side.0.activity(begin.unsigned_abs(), resident)).unwrap_or(1.0);

        let mut load_wave = 0.0;
        let mut fields = Vec::with_capacity(sides.len());
        let mut buckets: Vec<(f64, f64)> = Vec::new();
        for (field, [loads, stores]) in subject.fields.iter().zip(&sides) {
            let mut runs = |side: &Option<(Footprint<'_>, i64)>, kind| {
                let (footprint, line) = side.as_ref()?;
                let all = footprint.distinct(0, blocks, 0.0, *line) as f64 * *line as f64;
                let (mut again, mut others) = (Vec::new(), 1.0);
                if !footprint.streams(kind, *line) {
                    let timed = Footprint::of(subject, field, Some(kind), Some(&phases))?;
                    let found = timed.gaps(late, *line).unwrap_or_else(|| of_runs(&timed, subject, (late, *line), activity, all));
                    for (bucket, gap, lines) in found.iter() {
                        let bytes = lines * *line as f64;
                        if buckets.len() <= bucket {
                            buckets.resize(bucket + 1, (0.0, 0.0));
                        }
                        buckets[bucket].0 += bytes;
                        buckets[bucket].1 += bytes * gap;
                        again.push((bucket, bytes));
                    }
                    if !timed.at_once() {
                        let by_block = activity * footprint.distinct(begin, 1, 0.0, *line) as f64 * *line as f64 * blocks as f64;
                        others = ((by_block - all) / again.iter().map(|own| own.1).sum::<f64>().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
                    }
                }
                Some(SideRuns { all, again, others })
            };
            let (own_loads, own_stores) = (runs(loads, Side::Loads), runs(stores, Side::Stores));
            if let Some((footprint, line)) = loads {
                let lines = footprint.distinct(begin, resident, 0.0, *line);
                load_wave += activity * lines as f64 * *line as f64 * blocks as f64 / resident as f64;
            }
            let mut partial = 0.0;
            if let (None, Some((footprint, line)), Some(stores)) = (loads, stores, &own_stores) {
                // Stores that leave gaps touch more lines than they fill. At the ends of rows half a line is missing.
                let element = field.geometry.element;
                let missing = stores.all - footprint.distinct(0, blocks, 0.0, element) as f64 * element as f64;
                partial = stores.all.min(2.0 * missing.max(0.0)).min(if *line > element { f64::INFINITY } else { 0.0 });
            }
            let walked = field.touches.iter().all(|touch| touch.loops.iter().any(|var| var.count > 1));
            let (name, bypasses) = (field.name.clone(), bypasses(field));
            fields.push(FieldRuns { name, bypasses, walked, loads: own_loads, stores: own_stores, partial });
        }

        // Buckets that hold anything, one after another, and a wave.
        let mut places = vec![0; buckets.len()];
        let mut gaps: Vec<(f64, f64)> = Vec::new();
        let mut longest = None;
        for (place, (bytes, weighted)) in places.iter_mut().zip(buckets) {
            if bytes != 0.0 {
                if longest.is_none() && weighted / bytes > resident as f64 {
                    longest = Some(gaps.len());
                    gaps.push((resident as f64, 0.0));
                }
                *place = gaps.len();
                gaps.push((weighted / bytes, 0.0));
            }
        }
        let wave = longest.unwrap_or(gaps.len());
        if longest.is_none() {
            gaps.push((resident as f64, 0.0));
        }
        let sides = fields.iter_mut().flat_map(|field| [&mut field.loads, &mut field.stores]).flatten();
        sides.flat_map(|side| &mut side.again).for_each(|(bucket, _)| *bucket = places[*bucket]);
        for field in &fields {
            let touched = |side: &Option<SideRuns>| side.as_ref().map(|side| side.touched(&gaps, blocks));
            let stores = touched(&field.stores).filter(|_| !field.bypasses);
            // A field that is loaded and stored counts once.
            match (touched(&field.loads), stores) {
                (Some(loads), Some(stores)) => gaps.iter_mut().zip(loads.iter().zip(stores)).for_each(|(gap, (a, b))| gap.1 += a.max(b)),
                (Some(bytes), None) | (None, Some(bytes)) => gaps.iter_mut().zip(bytes).for_each(|(gap, bytes)| gap.1 += bytes),
                (None, None) => {}
            }
        }
        Self { resident, blocks, load_wave, activity, gaps, wave, fields }
    }

    /// With these capacities and this curve; its spread is that of the runs.
    pub fn volumes(&self, memory: &Memory, curve: &Curve) -> Dram {
        let behind = Level::of(self, memory.l2_effective, curve);
        let last = memory.last_level.map(|(size, curve)| Level::of(self, size, &curve));
        let last = last.as_ref().unwrap_or(&behind);
        // Of gaps within a wave, the part that blocks in step do not have.
        let together: Vec<f64> = self.gaps.iter().map(|gap| self.together(gap.0, curve.in_step)).collect();

        self.summed(self.load_wave, &|_| 1.0, &|field, side, from| {
            let own = &self.fields[field];
            let Some(runs) = self.side(field, side) else { return [0.0; 3] };
            let lost = match side {
                Side::Loads => Lost::Loads,
                // Lines that are loaded as well are whole.
                Side::Stores if own.loads.is_some() => Lost::None,
                Side::Stores => Lost::Stores,
            };
            let level = if from == Behind::Second { &behind } else { last };
            let found = self.misses(own, runs, (level, &together), lost);
            [runs.all, found.within, found.between]
        })
    }

    /// Bytes of all fields, of those that go through a cache: what the launch touches for the first time, what was gone within a wave, and between
    /// waves. `cold`: the part of a field's lines that nobody left in the cache.
    pub(super) fn summed(&self, load_wave: f64, cold: &dyn Fn(usize) -> f64, volumes: &dyn Fn(usize, Side, Behind) -> [f64; 3]) -> Dram {
        let mut dram = Dram { load_wave, load: 0.0, store: 0.0, spilled: 0.0, behind_l2: 0.0, by_cause: vec![], per_field: vec![] };
        let mut causes = [0.0; 4];
        for (i, field) in self.fields.iter().enumerate() {
            let (mut load, mut store) = (0.0, 0.0);
            if field.loads.is_some() {
                let found = volumes(i, Side::Loads, Behind::Last);
                (0..3).for_each(|k| causes[k] += found[k]);
                load += found.iter().sum::<f64>();
                dram.behind_l2 += volumes(i, Side::Loads, Behind::Second).iter().sum::<f64>();
            }
            if field.stores.is_some() {
                let stored = |from| {
                    let [first, within, between] = volumes(i, Side::Stores, from);
                    (first, if field.bypasses { 0.0 } else { within + between })
                };
                let (first, again) = stored(Behind::Last);
                store = first + again;
                if field.loads.is_none() {
                    // What is evicted half written is read back.
                    let partial = field.partial * cold(i);
                    causes[3] += partial + again;
                    load += partial + again;
                    dram.behind_l2 += partial + stored(Behind::Second).1;
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

    /// What blocks of the whole launch do, of what those in its middle do.
    pub(super) fn activity(&self) -> f64 {
        self.activity
    }

    /// Bytes of lines that the launch touches of a field.
    pub(super) fn all(&self, field: usize, side: Side) -> f64 {
        self.side(field, side).map_or(0.0, |own| own.all)
    }

    /// Bytes of lines that the launch touches.
    pub(super) fn touched(&self) -> f64 {
        (0..self.fields.len()).map(|field| self.all(field, Side::Loads).max(self.all(field, Side::Stores))).sum()
    }

    /// Lines that are met again more than a wave later: bytes that are touched meanwhile, and theirs. And what a wave touches.
    pub(super) fn later(&self, field: usize, side: Side) -> (Vec<(f64, f64)>, f64) {
        let again = self.side(field, side).into_iter().flat_map(|own| &own.again);
        let far = again.filter(|own| self.gaps[own.0].0 > self.resident as f64).map(|own| (self.gaps[own.0].1, own.1));
        (far.collect(), self.gaps[self.wave].1)
    }

    fn side(&self, field: usize, side: Side) -> Option<&SideRuns> {
        let own = &self.fields[field];
        if side == Side::Loads { own.loads.as_ref() } else { own.stores.as_ref() }
    }

    /// Bytes beyond the compulsory ones.
    fn misses(&self, field: &FieldRuns, side: &SideRuns, (level, together): (&Level, &[f64]), lost: Lost) -> Misses {
        let mut misses = Misses { within: 0.0, between: 0.0 };
        for &(gap, bytes) in &side.again {
            let within = self.gaps[gap].0 <= self.resident as f64;
            // Blocks that walk through the same data together lose nothing to each other.
            let lost = match lost {
                Lost::Loads if within && !field.walked => side.others * level.loads,
                Lost::Stores => level.full * level.within.map_or(0.0, |own| own.stores(self.gaps[gap.max(self.wave)].1)),
                _ => 0.0,
            };
            let evicted = lost + (1.0 - lost) * level.evicted[gap];
            let sum = if within { &mut misses.within } else { &mut misses.between };
            // What a block walks through a second time it has to itself.
            *sum += bytes * evicted * if field.walked { 1.0 - side.others * together[gap] } else { 1.0 };
        }
        misses
    }

    /// Part of the pairs of blocks so far apart that begin together, in one wave of the launch, and stay in step: of the first wave all.
    fn together(&self, gap: f64, in_step: Option<f64>) -> f64 {
        let (blocks, resident) = (self.blocks as f64, self.resident as f64);
        let Some(in_step) = in_step.filter(|_| gap < resident) else { return 0.0 };
        let first = resident / blocks;
        let pairs = (blocks / resident * (resident - gap) / (blocks - gap)).min(1.0);
        pairs * (first + in_step * (1.0 - first))
    }
}

impl SideRuns {
    /// Bytes that runs of blocks touch, for each of these lengths.
    fn touched(&self, gaps: &[(f64, f64)], blocks: u64) -> Vec<f64> {
        // Each line once, and once for each gap, as far as it is not longer than the run.
        let (mut shorter, mut longer) = (0.0, self.all + self.again.iter().map(|again| again.1).sum::<f64>());
        let mut again = self.again.iter().peekable();
        let each = gaps.iter().enumerate().map(|(i, gap)| {
            if let Some((_, bytes)) = again.next_if(|again| again.0 == i) {
                shorter += bytes * gap.0;
                longer -= bytes;
            }
            ((shorter + longer * gap.0) / blocks as f64).min(self.all)
        });
        each.collect()
    }
}

/// The gaps from what runs of blocks around the middle of the grid touch: n blocks and one more meet as many new lines as have gaps longer
/// than n.
fn of_runs(timed: &Footprint<'_>, subject: &Subject, (late, line): (f64, i64), activity: f64, all: f64) -> Gaps {
    let blocks: u64 = subject.groups.iter().map(|group| u64::from(group.count)).product();
    let mut distances = Vec::new();
    timed.distances(late, &mut distances);
    let centre = centre(subject) as i64;
    let mut gaps = Gaps::default();
    // A block's touches so far: at first all, at last as many as lines of the launch.
    let (mut n, mut lines, mut before) = (0.0, 0.0, None);
    for next in thinned(distances, blocks) {
        // With the accesses that happen late before the middle and the early ones behind it.
        let count = (next as u64).min(blocks);
        let first = centre - count as i64 / 2 + (late / 2.0) as i64;
        let until = timed.distinct(first.clamp(0, (blocks - count) as i64), count, late, line) as f64;
        let excess = ((until - lines) / (next - n) * activity * blocks as f64 - all / line as f64).max(0.0);
        if let Some(before) = before {
            gaps.add(n as u64, before - excess);
        }
        (n, lines, before) = (next, until, Some(excess));
    }
    gaps.add(n as u64, before.unwrap_or(0.0));
    gaps
}

/// What memory is asked through.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// The second level.
    Second,
    /// The last one.
    Last,
}

/// Bytes by when they were evicted.
struct Misses {
    within: f64,
    between: f64,
}

/// What blocks at work at the same time take from each other.
#[derive(Clone, Copy)]
enum Lost {
    None,
    Loads,
    Stores,
}

/// A cache.
struct Level {
    /// The part of lines that is gone after each gap, whatever they are.
    evicted: Vec<f64>,
    within: Option<Within>,
    /// The part of the launch before which it has been filled once: until then nothing is lost.
    full: f64,
    /// What blocks of a wave take of each other's loads.
    loads: f64,
}

impl Level {
    fn of(runs: &Runs, size: f64, curve: &Curve) -> Self {
        let evicted = runs.gaps.iter().map(|gap| 1.0 - curve.survives(gap.1, size)).collect();
        let full = (1.0 - size / runs.touched()).max(0.0);
        Self { evicted, within: curve.within, full, loads: full * curve.within.map_or(0.0, |own| own.loads(runs.gaps[runs.wave].1)) }
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
pub(super) fn middle(subject: &Subject, count: u64) -> i64 {
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
