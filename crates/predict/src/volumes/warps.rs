//! What one memory instruction of a warp touches: sectors, lines, and wavefronts of the data pipe (paper 002, section 4.1, corrected
//! by measurements of strided loads on A100).
//! .
//! Warps of a launch differ in where they begin, but have few shapes: one where the warp divides the rows of the block. What a shape
//! touches depends on where it begins within a line only, so that warps, blocks and trips of loops are counted by residue classes
//! instead of one by one.

use smallvec::SmallVec;

/// A variable that moves addresses: bytes a step, and how many values it takes from 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    let warp = u64::from(warp.max(1));
    let mut shapes: Vec<Shape> = Vec::new();
    let mut offsets: SmallVec<[i64; 64]> = SmallVec::new();
    for first in (0..size).step_by(warp as usize) {
        offsets.clear();
        for lane in first..(first + warp).min(size) {
            let mut rest = lane;
            let mut offset = Some(0);
            for (axis, active) in lanes.iter().zip(active) {
                let value = (rest % u64::from(axis.count)) as u32;
                rest /= u64::from(axis.count);
                offset = offset.filter(|_| (active.0..active.1).contains(&value)).map(|at| at + axis.stride * i64::from(value));
            }
            offsets.extend(offset);
        }
        let Some(&start) = offsets.first() else { continue };
        offsets.iter_mut().for_each(|offset| *offset -= start);
        match shapes.iter_mut().find(|shape| shape.offsets == offsets) {
            Some(shape) => shape.starts.push(start),
            None => shapes.push(Shape { offsets: offsets.clone(), starts: vec![start] }),
        }
    }
    shapes
}

/// How often addresses begin at each byte of a line: `counts[r]` of them at r.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Residues {
    counts: Vec<u64>,
}

impl Residues {
    /// Addresses `origin + start` modulo `line`.
    pub fn of(origin: i64, starts: &[i64], line: u32) -> Self {
        let mut counts = vec![0; line as usize];
        for start in starts {
            counts[(origin + start).rem_euclid(line.into()) as usize] += 1;
        }
        Self { counts }
    }

    /// Each of them moved by every value of a variable.
    pub fn moved(self, by: Axis) -> Self {
        let line = self.counts.len() as i64;
        let step = by.stride.rem_euclid(line);
        if step == 0 || by.count == 1 {
            let counts = self.counts.into_iter().map(|count| count * u64::from(by.count)).collect();
            return Self { counts };
        }
        // The steps repeat after `period` values.
        let period = (line / gcd(line, step)) as u32;
        let mut counts = vec![0; self.counts.len()];
        for value in 0..by.count.min(period) {
            let times = u64::from((by.count - value).div_ceil(period));
            let shift = (step * i64::from(value)).rem_euclid(line) as usize;
            for (begin, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                counts[(begin + shift) % line as usize] += count * times;
            }
        }
        Self { counts }
    }

    /// Where they begin, and how many.
    pub fn iter(&self) -> impl Iterator<Item = (i64, u64)> {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(begin, count)| (begin as i64, *count))
    }
}

/// Distinct lines of `line` bytes that lanes of `bytes` each touch when the first begins at `begin`.
pub fn distinct(offsets: &[i64], bytes: i64, begin: i64, line: i64) -> u64 {
    let mut spans: SmallVec<[(i64, i64); 64]> =
        offsets.iter().map(|offset| ((begin + offset).div_euclid(line), (begin + offset + bytes - 1).div_euclid(line))).collect();
    if spans.windows(2).any(|pair| pair[0] > pair[1]) {
        spans.sort_unstable();
    }
    let (mut last, mut lines) = (i64::MIN, 0);
    for (lo, hi) in spans {
        let lo = lo.max(last.saturating_add(1));
        if hi >= lo {
            lines += hi.abs_diff(lo) + 1;
            last = hi;
        }
    }
    lines
}

/// Wavefronts of the data pipe: lanes go through in phases of `banks` four-byte words (32 lanes of 4 bytes, 16 of 8, 8 of 16), and a
/// phase takes as many cycles as distinct words fall into its fullest bank. Reproduces all 144 rows of strided loads measured on A100
/// (`l1tex__data_pipe_lsu_wavefronts`); so do bank conflicts of local memory.
pub fn wavefronts(offsets: &[i64], bytes: i64, begin: i64, banks: usize) -> u64 {
    let words = (bytes / 4).max(1);
    let lanes = (banks / words as usize).max(1);
    let mut cycles = 0;
    for phase in offsets.chunks(lanes) {
        let mut touched: SmallVec<[i64; 64]> = SmallVec::new();
        for offset in phase {
            let first = (begin + offset).div_euclid(4);
            touched.extend(first..=(begin + offset + bytes - 1).div_euclid(4).min(first + words));
        }
        touched.sort_unstable();
        touched.dedup();
        let mut full = [0_u32; 64];
        for word in touched {
            full[word.rem_euclid(banks as i64) as usize] += 1;
        }
        cycles += u64::from(full.iter().copied().max().unwrap_or(0));
    }
    cycles
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}
