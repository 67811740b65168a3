//! Cycles of the first level, and what it asks the second for (`data-volumes.md`, sections 2 and 3; paper 002, sections 4.1 and 4.2).
//! .
//! The implementation looks at the first blocks of a launch, [`SAMPLE`] along each axis, and for cycles at the first [`THREADS`] threads. These are
//! consecutive threads, so that residue classes count them all.

use super::curves::{L1_CAPACITY, between_blocks, l1_coverage};
use super::device::{Device, Rule};
use super::field::{Access, Field, Launch};
use crate::volumes::first_level::warps::{Axis, Residues, distinct};
use smallvec::SmallVec;

/// Blocks along each axis that are looked at.
const SAMPLE: i64 = 8;
/// Threads along each axis that cycles are judged by.
const THREADS: i64 = 64;
/// Along x, at least as many warps as this many threads have.
const WIDE: i64 = 16;
/// Earlier blocks that a block is compared with, and how far apart they are in launch order: the cores of an A100, whatever the device.
const EARLIER: (usize, i64) = (40, 108);

/// Per thread, in bytes and cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FirstLevel {
    /// Cycles of a core.
    pub cycles: f64,
    /// Sectors of each load of each warp.
    pub requested: f64,
    /// Sectors of a block's loads.
    pub compulsory: f64,
    /// What the first level asks for, misses of repeats included.
    pub load: f64,
    /// Pieces of each store of each warp.
    pub store: f64,
}

impl FirstLevel {
    /// Of a launch.
    pub fn of(launch: &Launch, device: &Device) -> Self {
        let threads = launch.block.iter().product::<i64>() as f64;
        let (loads, stores): (Vec<&Field>, Vec<&Field>) = launch.fields.iter().partition(|field| !field.stores);
        let line = i64::from(device.line);
        let sum = |fields: &[&Field], of: &dyn Fn(&Field) -> f64| fields.iter().map(|field| of(field)).sum::<f64>();
        let fetch = i64::from(device.fetch);
        let allocated = sum(&loads, &|field| in_block(launch, field, line)) * line as f64;
        let block = sum(&loads, &|field| in_block(launch, field, fetch) * field.repeats) * fetch as f64;
        let requested = sum(&loads, &|field| by_warps(launch, field, device.warp.into(), fetch));
        let compulsory = block / threads;
        let evicted = (requested - compulsory) * L1_CAPACITY.misses(l1_coverage(allocated, device.l1));
        let earlier = sum(&loads, &|field| with_earlier(launch, field, fetch) * field.repeats) * fetch as f64 / threads;
        let found = earlier * (1.0 - L1_CAPACITY.misses(between_blocks(block, device.l1)));
        Self {
            cycles: launch.fields.iter().map(|field| cycles(launch, field, device)).sum(),
            requested,
            compulsory,
            load: compulsory + evicted - found,
            store: sum(&stores, &|field| by_warps(launch, field, device.warp.into(), device.write.into())),
        }
    }
}

/// Lanes of a warp, laid x first.
fn warp(lanes: i64, [x, y, z]: [i64; 3]) -> [i64; 3] {
    [lanes.min(x), y.min((lanes / x).max(1)), z.min((lanes / x / y).max(1))]
}

/// Blocks that are looked at, along each axis.
fn sample(launch: &Launch) -> [i64; 3] {
    launch.grid.map(|blocks| blocks.min(SAMPLE))
}

/// Bytes from the first lane of a warp to each.
fn offsets(launch: &Launch, field: &Field, access: &Access, warp: [i64; 3]) -> SmallVec<[i64; 64]> {
    let [x, y, z] = launch.strides(field, &access.touch);
    let lanes = (0..warp[2]).flat_map(|k| (0..warp[1]).flat_map(move |j| (0..warp[0]).map(move |i| i * x + j * y + k * z)));
    lanes.collect()
}

/// Where these warps begin within a line, loops that move the access included.
fn begins(launch: &Launch, field: &Field, access: &Access, (warp, warps): ([i64; 3], [i64; 3]), line: u32) -> Residues {
    let strides = launch.strides(field, &access.touch);
    let first = Residues::of(access.touch.origin(&field.geometry), &[0], line);
    let over = (0..3).map(|i| Axis { stride: strides[i] * warp[i], count: warps[i] as u32 });
    let loops = launch.loops(field, &access.touch).map(|(stride, count)| Axis { stride, count });
    over.chain(loops).fold(first, Residues::moved)
}

/// Bytes per thread of pieces of this size that each access of each warp of these blocks touches.
fn by_warps(launch: &Launch, field: &Field, lanes: i64, size: i64) -> f64 {
    let (warp, blocks) = (warp(lanes, launch.block), sample(launch));
    let warps = [0, 1, 2].map(|i| blocks[i] * launch.block[i] / warp[i]);
    let of = |access: &Access| {
        let offsets = offsets(launch, field, access, warp);
        let begins = begins(launch, field, access, (warp, warps), size as u32);
        let pieces: u64 = begins.iter().map(|(begin, times)| distinct(&offsets, 1, begin, size) * times).sum();
        pieces as f64 * access.repeats
    };
    let threads: i64 = (0..3).map(|i| blocks[i] * launch.block[i]).product();
    field.accesses.iter().map(of).sum::<f64>() * size as f64 / threads as f64
}

/// Distinct pieces of this size that a block touches of a field, a mean over those that are looked at.
fn in_block(launch: &Launch, field: &Field, size: i64) -> f64 {
    let blocks = sample(launch);
    let count = blocks.iter().product::<i64>() as f64;
    let strides: Vec<[i64; 3]> = field.accesses.iter().map(|access| launch.strides(field, &access.touch)).collect();
    let mut regions = Vec::new();
    if strides.windows(2).all(|pair| pair[0] == pair[1]) {
        // Blocks touch the same, moved by some bytes.
        launch.regions(field, block_at(launch, [0; 3]), &mut regions);
        let axis = |i: usize| Axis { stride: strides[0][i] * launch.block[i], count: blocks[i] as u32 };
        let shifts: Vec<(i64, u64)> = (0..3).map(axis).fold(Residues::of(0, &[0], size as u32), Residues::moved).iter().collect();
        return pieces(field, &regions, size, &shifts) / count;
    }
    let mut all = 0.0;
    for at in (0..blocks[2]).flat_map(|z| (0..blocks[1]).flat_map(move |y| (0..blocks[0]).map(move |x| [x, y, z]))) {
        regions.clear();
        launch.regions(field, block_at(launch, at), &mut regions);
        all += pieces(field, &regions, size, &[(0, 1)]);
    }
    all / count
}

fn pieces(field: &Field, regions: &[crate::volumes::sets::regions::Region], size: i64, shifts: &[(i64, u64)]) -> f64 {
    let [found] = crate::volumes::sets::lines::distinct_lines(regions, &field.geometry, [size], shifts);
    found as f64
}

/// Threads of a block.
fn block_at(launch: &Launch, at: [i64; 3]) -> [(i64, i64); 3] {
    [0, 1, 2].map(|i| (at[i] * launch.block[i], (at[i] + 1) * launch.block[i]))
}

/// Pieces that the block in the middle shares with an earlier one, a mean over some of them.
fn with_earlier(launch: &Launch, field: &Field, size: i64) -> f64 {
    let [x, y, _] = launch.grid;
    let middle = launch.grid.map(|blocks| blocks / 2);
    let mut own = Vec::new();
    launch.regions(field, block_at(launch, middle), &mut own);
    let alone = pieces(field, &own, size, &[(0, 1)]);
    let (mut before, mut shared, mut count) = (middle[0] + middle[1] * x + middle[2] * x * y, 0.0, 0);
    while before > 0 && count < EARLIER.0 {
        before = (before - EARLIER.1).max(0);
        count += 1;
        let mut other = Vec::new();
        launch.regions(field, block_at(launch, [before % x, before / x % y, before / (x * y)]), &mut other);
        let beside = pieces(field, &other, size, &[(0, 1)]);
        other.extend(own.iter().cloned());
        shared += alone + beside - pieces(field, &other, size, &[(0, 1)]);
    }
    if count == 0 { 0.0 } else { shared / count as f64 }
}

/// Cycles per thread of a field: the longest of its instructions one by one, their tags, and their banks with the lines that come in.
fn cycles(launch: &Launch, field: &Field, device: &Device) -> f64 {
    let lanes = i64::from(device.sub_warp);
    let warp = warp(lanes, launch.block);
    let blocks = sample(launch);
    let mut warps = [0, 1, 2].map(|i| THREADS.min(launch.block[i] * blocks[i]) / warp[i]);
    warps[0] = warps[0].max(WIDE / launch.block[0]);
    let mut all = Cost::default();
    for access in &field.accesses {
        let offsets = offsets(launch, field, access, warp);
        let line = device.line.max(device.bank_width);
        for (begin, times) in begins(launch, field, access, (warp, warps), line).iter() {
            all.add(Cost::of(&offsets, access.bytes, begin, device), times as f64 * access.repeats);
        }
    }
    // "Partial warps still divide by a full warp" (section 6).
    let executed = (warps.iter().product::<i64>() * lanes) as f64;
    let threads = launch.block.iter().product::<i64>() as f64;
    let lines = in_block(launch, field, device.line.into()) * field.repeats / threads;
    (all.cycles / executed).max(all.tags / executed).max(all.banks / executed + lines)
}

/// Cycles of an instruction of a warp.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cost {
    cycles: f64,
    tags: f64,
    banks: f64,
}

impl Cost {
    fn add(&mut self, other: Self, times: f64) {
        self.cycles += other.cycles * times;
        self.tags += other.tags * times;
        self.banks += other.banks * times;
    }

    /// Lanes of so many bytes, the first of them at this byte of a line.
    fn of(offsets: &[i64], bytes: i64, begin: i64, device: &Device) -> Self {
        let unique = |of: &dyn Fn(i64) -> i64| -> Vec<i64> {
            let pieces = offsets.iter().flat_map(|offset| (0..bytes.max(1)).step_by(4).map(move |piece| begin + offset + piece));
            let mut found: Vec<i64> = pieces.map(of).collect();
            found.sort_unstable();
            found.dedup();
            found
        };
        let fullest = |of: &[i64], classes: i64| {
            let mut counts = vec![0_u32; classes.max(1) as usize];
            of.iter().for_each(|at| counts[at.rem_euclid(classes.max(1)) as usize] += 1);
            f64::from(counts.into_iter().max().unwrap_or(0))
        };
        let lines = unique(&|byte| byte.div_euclid(device.line.into()));
        // Words as wide as what a lane asks for.
        let banks = fullest(&unique(&|byte| byte.div_euclid(bytes)), i64::from(device.bank_width) / bytes);
        let tags = match device.rule {
            Rule::Nvidia => ((lines.len().max(1) + 2) as f64 / 4.0).ceil(),
            Rule::Cdna | Rule::Rdna => fullest(&lines, 2),
        };
        let least = match device.rule {
            Rule::Nvidia => offsets.len() as f64 * bytes as f64 / (device.lsu * 4.0),
            Rule::Cdna if bytes == 4 && offsets.windows(2).all(|pair| pair[1] - pair[0] == 4) => 1.0,
            Rule::Cdna => 4.0,
            Rule::Rdna => 0.0,
        };
        Self { cycles: least.max(tags).max(banks), tags, banks }
    }
}
