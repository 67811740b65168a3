//! What one memory instruction of a warp touches: sectors, lines, and wavefronts of the data pipe (paper 002, section 4.1, corrected
//! by measurements of strided loads on A100).
//! .
//! Warps of a launch differ in where they begin, but have few shapes: one where the warp divides the rows of the block. What a shape
//! touches depends on where it begins within a line only, so that warps, blocks and trips of loops are counted by residue classes
//! instead of one by one.

use super::costs::{Request, Sizes};
use crate::volumes::kernel::lanes::Lanes;
use crate::volumes::known::Question;
use crate::volumes::sets::intervals::{covered, gcd, lcm};
use smallvec::SmallVec;
use std::cell::RefCell;

/// A variable that moves addresses: bytes a step, and how many values it takes from 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Axis {
    /// Bytes from one value to the next.
    pub stride: i64,
    /// Values.
    pub count: u32,
}

/// Lanes of a warp relative to the first, and where warps of that shape begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes from the first active lane to each; the first is 0.
    pub offsets: SmallVec<[i64; 64]>,
    /// Bytes from lane (0, 0, 0) of the block to the first active lane of each warp of this shape.
    pub starts: Vec<i64>,
}

/// The shapes of the warps of a block. `lanes` are its axes, fastest first, with the block's full extents; of these the lanes in
/// `active` (first and past the last of each axis) take part. A warp is `warp` consecutive lanes, the last may be cut.
pub fn shapes(lanes: &[Axis], active: &[(u32, u32)], warp: u32) -> Vec<Shape> {
    let size: u64 = lanes.iter().map(|axis| u64::from(axis.count)).product();
    let warp = u64::from(warp.max(1)) as usize;
    if size == 0 {
        return Vec::new();
    }
    let whole = lanes.iter().zip(active).all(|(axis, active)| *active == (0, axis.count));
    if let Some(shape) = even(lanes, warp).filter(|_| whole) {
        return vec![shape];
    }
    // Without lanes they are even.
    let (Some((axis, slower)), Some((&(first, last), within))) = (lanes.split_first(), active.split_first()) else { return Vec::new() };
    let mut shapes: Vec<Shape> = Vec::new();
    let mut offsets: SmallVec<[i64; 64]> = SmallVec::new();
    let mut finish = |offsets: &mut SmallVec<[i64; 64]>| {
        let Some(&start) = offsets.first() else { return };
        offsets.iter_mut().for_each(|offset| *offset -= start);
        match shapes.iter_mut().find(|shape| shape.offsets == *offsets) {
            Some(shape) => shape.starts.push(start),
            None => shapes.push(Shape { offsets: offsets.clone(), starts: vec![start] }),
        }
        offsets.clear();
    };
    // Row by row: its place on the slower axes, and its offset, move on like an odometer.
    let mut at: SmallVec<[u32; 4]> = SmallVec::from_elem(0, slower.len());
    let mut offset = 0;
    let (row, first, last) = (axis.count as usize, first as usize, last.min(axis.count) as usize);
    for begin in (0..size as usize).step_by(row) {
        let inside = at.iter().zip(within).all(|(value, active)| (active.0..active.1).contains(value));
        let mut lane = 0;
        while lane < row {
            if begin + lane > 0 && (begin + lane).is_multiple_of(warp) {
                finish(&mut offsets);
            }
            // To the end of the row, or of the warp.
            let until = row.min(((begin + lane) / warp + 1) * warp - begin);
            if inside {
                offsets.extend((lane.max(first)..until.min(last)).map(|lane| offset + lane as i64 * axis.stride));
            }
            lane = until;
        }
        for (value, axis) in at.iter_mut().zip(slower) {
            *value += 1;
            offset += axis.stride;
            if *value < axis.count {
                break;
            }
            offset -= axis.stride * i64::from(axis.count);
            *value = 0;
        }
    }
    finish(&mut offsets);
    shapes
}

/// The shape of all warps where they fill rows (or planes, or parts of them) evenly.
fn even(lanes: &[Axis], warp: usize) -> Option<Shape> {
    let mut offsets: SmallVec<[i64; 64]> = SmallVec::from_elem(0, 1);
    let mut starts: Vec<i64> = vec![0];
    for axis in lanes {
        let count = axis.count as usize;
        // How much of this axis lies within a warp.
        let within = count.min(warp / offsets.len());
        if within == 0 || !count.is_multiple_of(within) || !warp.is_multiple_of(offsets.len() * within) {
            return None;
        }
        let filled = offsets.len();
        for step in 1..within {
            let base = axis.stride * step as i64;
            (0..filled).for_each(|i| offsets.push(offsets[i] + base));
        }
        if within < count {
            // The warp is full here: the rest of the axis is other warps.
            if offsets.len() != warp {
                return None;
            }
            let known = starts.len();
            for step in 1..count / within {
                let base = axis.stride * (step * within) as i64;
                (0..known).for_each(|i| starts.push(starts[i] + base));
            }
        }
    }
    // A block smaller than a warp is one cut warp.
    Some(Shape { offsets, starts })
}

/// What is asked of requests beside how much they touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asked {
    /// Nothing.
    Volumes,
    /// Cycles of the device's first level.
    Cycles,
    /// Turns of atomics in local memory.
    Turns,
    /// Wavefronts of loads and stores in local memory.
    Passes,
    /// Replays of loads of constants.
    Replays,
}

/// The warps of a block of which these lanes take part, of an access that moves like this modulo lines and banks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WarpsKey {
    axes: SmallVec<[Axis; 4]>,
    active: Lanes,
    /// Of each lane.
    bytes: i64,
    sizes: Sizes,
    asked: Asked,
}

/// Those warps by shape.
pub type WarpsOf = Vec<Alike>;

impl Question for WarpsKey {
    type Answer = WarpsOf;
}

/// Warps of one shape, and what those cost that begin at a byte of a line.
#[derive(Debug)]
pub struct Alike {
    /// As in [`Shape`].
    pub offsets: SmallVec<[i64; 64]>,
    /// Where they begin within a line, relative to the block's first lane.
    pub starts: Residues,
    bytes: i64,
    runs: Runs,
    costs: RefCell<Costs>,
}

/// What warps cost that begin at these bytes of a line.
#[derive(Debug, Default)]
struct Costs {
    /// For each byte of a line, one more than the position of what is known.
    places: Vec<u8>,
    known: Vec<(i64, Cost)>,
}

/// What one execution of a request costs.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Distinct sectors.
    pub sectors: u64,
    /// Distinct lines.
    pub lines: u64,
    /// Wavefronts of the data pipe.
    pub wavefronts: u64,
    /// What is asked beside these.
    pub price: f64,
}

impl WarpsKey {
    /// Of lanes of `bytes` each, which move like this.
    pub fn of(lanes: &[Axis], active: &Lanes, bytes: i64, sizes: Sizes, asked: Asked) -> Self {
        let banks = lcm(4 * i64::from(sizes.banks), CLASS);
        let period = 4 * lcm(lcm(sizes.line.into(), sizes.sector.into()), banks);
        Self { axes: near(lanes, bytes, period), active: active.clone(), bytes, sizes, asked }
    }

    /// The warps.
    pub fn warps(&self) -> WarpsOf {
        let shapes = shapes(&self.axes, &self.active, self.sizes.warp).into_iter();
        let own = |own: Shape| Alike::of(own, self.bytes, self.sizes.line);
        shapes.map(own).collect()
    }
}

/// Bytes of a line that tags of NVIDIA count.
const CLASS: i64 = 128;

/// The same lanes as near to each other as they may lie without a change to what lines and banks see: where steps along an axis lead so far that
/// nothing there shares a piece of `period` bytes with what was before, or neighbours it, only where in such a piece they lead counts.
fn near(lanes: &[Axis], bytes: i64, period: i64) -> SmallVec<[Axis; 4]> {
    let mut order: SmallVec<[usize; 4]> = (0..lanes.len()).filter(|&i| lanes[i].count > 1).collect();
    order.sort_by_key(|&i| lanes[i].stride.abs());
    // What does not move is the same wherever it would.
    let still = |axis: &Axis| if axis.count > 1 { *axis } else { Axis { stride: 0, ..*axis } };
    let mut moved: SmallVec<[Axis; 4]> = lanes.iter().map(still).collect();
    let (mut reach, mut near) = (bytes, bytes);
    for i in order {
        let (stride, steps) = (lanes[i].stride, i64::from(lanes[i].count) - 1);
        let far = stride.abs() >= reach + 2 * period;
        if far {
            let least = near + 2 * period;
            moved[i].stride = stride.signum() * (least + (stride.abs() - least).rem_euclid(period));
        } else if near != reach {
            // Among what has been moved already.
            return lanes.iter().map(still).collect();
        }
        (reach, near) = (reach + stride.abs() * steps, near + moved[i].stride.abs() * steps);
    }
    moved
}

impl Alike {
    fn of(shape: Shape, bytes: i64, line: u32) -> Self {
        let runs = runs(&shape.offsets, bytes);
        Self { starts: Residues::of(0, &shape.starts, line), offsets: shape.offsets, bytes, runs, costs: RefCell::default() }
    }

    /// What one of them costs that begins there.
    pub fn cost(&self, begin: i64, sizes: Sizes, price: &dyn Fn(&Request) -> f64) -> Cost {
        let mut costs = self.costs.borrow_mut();
        if let Some(&place @ 1..) = costs.places.get(begin as usize) {
            return costs.known[usize::from(place) - 1].1;
        }
        let (line, sector) = (i64::from(sizes.line), i64::from(sizes.sector));
        // Only where in a sector decides on sectors, where in a word on banks.
        let alike = |size: i64| costs.known.iter().find(|own| (own.0 - begin) % size == 0).map(|own| own.1);
        let (offsets, bytes) = (&self.offsets, self.bytes);
        let lines = lines_of(&self.runs, begin, line);
        let sectors = alike(sector).map_or_else(|| lines_of(&self.runs, begin.rem_euclid(sector), sector), |own| own.sectors);
        let wavefronts =
            alike(4).map_or_else(|| wavefronts(offsets, bytes, begin.rem_euclid(4), sizes.banks as usize), |own| own.wavefronts);
        let price = price(&Request { offsets, bytes, begin, lines, wavefronts });
        let cost = Cost { sectors, lines, wavefronts, price };
        if costs.places.is_empty() {
            costs.places.resize(line as usize, 0);
        }
        costs.known.push((begin, cost));
        // Of lines with more places than a number has values, some are counted anew.
        if let (Ok(place), Some(own)) = (u8::try_from(costs.known.len()), costs.places.get_mut(begin as usize)) {
            *own = place;
        }
        cost
    }
}

/// How often addresses begin at each byte of a line: (byte, times), ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Residues {
    line: i64,
    counts: SmallVec<[(i64, u64); 8]>,
}

impl Residues {
    /// Addresses `origin + start` modulo `line`.
    pub fn of(origin: i64, starts: &[i64], line: u32) -> Self {
        let line = i64::from(line);
        let mut found = Self { line, counts: SmallVec::new() };
        starts.iter().for_each(|start| found.add((origin + start).rem_euclid(line), 1));
        found.counts.sort_unstable();
        found
    }

    fn add(&mut self, begin: i64, times: u64) {
        match self.counts.iter_mut().find(|(other, _)| *other == begin) {
            Some((_, count)) => *count += times,
            None => self.counts.push((begin, times)),
        }
    }

    /// These and others.
    pub fn join(&mut self, others: &Self) {
        others.iter().for_each(|(begin, times)| self.add(begin, times));
        self.counts.sort_unstable();
    }

    /// Each of them moved by every value of a variable.
    pub fn moved(mut self, by: Axis) -> Self {
        let step = by.stride.rem_euclid(self.line);
        if step == 0 || by.count == 1 {
            self.counts.iter_mut().for_each(|(_, count)| *count *= u64::from(by.count));
            return self;
        }
        // The steps repeat after `period` values.
        let period = (self.line / gcd(self.line, step)) as u32;
        let mut moved = Self { line: self.line, counts: SmallVec::new() };
        for value in 0..by.count.min(period) {
            let times = u64::from((by.count - value).div_ceil(period));
            let shift = step * i64::from(value);
            for &(begin, count) in &self.counts {
                moved.add((begin + shift) % self.line, count * times);
            }
        }
        moved.counts.sort_unstable();
        moved
    }

    /// Each of them moved by so many bytes.
    pub fn shifted(mut self, by: i64) -> Self {
        self.counts.iter_mut().for_each(|(begin, _)| *begin = (*begin + by).rem_euclid(self.line));
        self.counts.sort_unstable();
        self
    }

    /// Where they begin, and how many.
    pub fn iter(&self) -> impl Iterator<Item = (i64, u64)> {
        self.counts.iter().copied()
    }
}

/// Distinct lines of `line` bytes that lanes of `bytes` each touch when the first begins at `begin`.
pub fn distinct(offsets: &[i64], bytes: i64, begin: i64, line: i64) -> u64 {
    lines_of(&runs(offsets, bytes), begin, line)
}

/// From byte to byte: lanes without a gap between them are as one.
type Runs = SmallVec<[(i64, i64); 8]>;

fn runs(offsets: &[i64], bytes: i64) -> Runs {
    let Some((&first, others)) = offsets.split_first() else { return Runs::new() };
    let mut runs = Runs::new();
    let mut run = (first, first + bytes);
    for &offset in others {
        if run.0 <= offset && offset <= run.1 {
            run.1 = run.1.max(offset + bytes);
        } else {
            runs.push(run);
            run = (offset, offset + bytes);
        }
    }
    runs.push(run);
    runs
}

/// Distinct lines of runs of bytes, when these begin at `begin`.
fn lines_of(runs: &[(i64, i64)], begin: i64, line: i64) -> u64 {
    // Divisions take long.
    let shift = line.trailing_zeros();
    let of = |byte: i64| if line == 1 << shift { byte >> shift } else { byte.div_euclid(line) };
    let mut spans: SmallVec<[(i64, i64); 64]> = SmallVec::new();
    spans.extend(runs.iter().map(|&(lo, hi)| (of(begin + lo), of(begin + hi - 1))));
    if spans.windows(2).any(|pair| pair[0] > pair[1]) {
        spans.sort_unstable();
    }
    covered(&spans)
}

/// Wavefronts of the data pipe: lanes go through in phases of `banks` four-byte words (32 lanes of 4 bytes, 16 of 8, 8 of 16), and a
/// phase takes as many cycles as distinct words fall into its fullest bank. Reproduces all 144 rows of strided loads measured on A100
/// (`l1tex__data_pipe_lsu_wavefronts`); so do bank conflicts of local memory.
pub fn wavefronts(offsets: &[i64], bytes: i64, begin: i64, banks: usize) -> u64 {
    let words = (bytes / 4).max(1);
    let lanes = (banks / words as usize).max(1);
    let mut cycles = 0;
    let mut touched: SmallVec<[i64; 64]> = SmallVec::new();
    for phase in offsets.chunks(lanes) {
        touched.clear();
        let mut ascending = true;
        for offset in phase {
            let first = (begin + offset).div_euclid(4);
            for word in first..=(begin + offset + bytes - 1).div_euclid(4).min(first + words) {
                let last = touched.last().copied();
                ascending &= last.is_none_or(|last| last <= word);
                if last != Some(word) {
                    touched.push(word);
                }
            }
        }
        if !ascending {
            touched.sort_unstable();
            touched.dedup();
        }
        let mut full = [0_u8; 64];
        let mut most = 0;
        for word in &touched {
            let bank = &mut full[word.rem_euclid(banks as i64) as usize];
            *bank += 1;
            most = most.max(*bank);
        }
        cycles += u64::from(most);
    }
    cycles
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volumes::first_level::l1::Rule;

    /// Lanes that are moved near to each other cost what they cost where they lie, whatever the rule.
    #[test]
    fn near_lanes_cost_what_far_ones_do() {
        let mut rng = fastrand::Rng::with_seed(9);
        let rules = [(Rule::Nvidia { lsu_lanes: 16.0, wavefront: 2.0 }, 32, 128), (Rule::Cdna, 64, 64), (Rule::Rdna, 32, 128)];
        let mut moved = 0;
        for case in 0..3000 {
            let (rule, warp, line) = *rng.choice(&rules).unwrap();
            let sizes = Sizes { warp, sector: *rng.choice(&[32, line]).unwrap(), line, banks: rule.banks(), texture: None };
            let bytes = *rng.choice(&[2, 4, 8, 16]).unwrap();
            let far = [1, 3, 64, 1000, 5000, 300_000];
            let lane = |rng: &mut fastrand::Rng| Axis { stride: bytes * rng.choice(&far).unwrap() * rng.i64(-3..4), count: rng.u32(1..9) };
            let lanes: SmallVec<[Axis; 4]> = (0..rng.usize(1..4)).map(|_| lane(&mut rng)).collect();
            let part = |rng: &mut fastrand::Rng, count| (rng.u32(0..count), rng.u32(1..count + 1));
            let active: Lanes = lanes.iter().map(|axis| if rng.bool() { (0, axis.count) } else { part(&mut rng, axis.count) }).collect();
            let key = WarpsKey::of(&lanes, &active, bytes, sizes, Asked::Cycles);
            moved += usize::from(key.axes.iter().zip(&lanes).any(|(near, own)| own.count > 1 && near.stride != own.stride));
            let (near, own) = (key.warps(), shapes(&lanes, &active, warp));
            assert_eq!(near.len(), own.len(), "case {case}: {lanes:?}");
            for (near, own) in near.iter().zip(own) {
                assert_eq!(near.starts, Residues::of(0, &own.starts, line), "case {case}: {lanes:?}");
                let alone = Alike::of(own, bytes, line);
                for begin in (0..i64::from(line)).step_by(bytes as usize) {
                    let cost = |own: &Alike| format!("{:?}", own.cost(begin, sizes, &|request| rule.cycles(request, sizes)));
                    assert_eq!(cost(near), cost(&alone), "case {case}: {lanes:?} {active:?} {sizes:?} at {begin}");
                }
            }
        }
        assert!(moved > 1000, "{moved}");
    }
}
