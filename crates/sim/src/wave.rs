//! A wave: its rows, where it is, and its accesses to memory carried out on the launch's data.

use crate::alu::{each, full, lanes, literal, truth, which};
use crate::code::{Access, Action, FaultKind, Mask, Reg, Row, SHARED, Target, bits};
use crate::elements::{read, read_component, write, write_component};
use crate::fault::LaneFault;
use crate::memory::lines::Lines;
use crate::pattern::Pattern;
use crate::tensors::Tensor;
use crate::timing::Time;
use warpsight_ir::interpret as arith;
use warpsight_ir::{AtomicOp, BinaryOp, Border, Const};

/// One wave.
#[derive(Debug, Default)]
pub struct Wave<const W: usize> {
    /// Core it is resident on.
    pub core: usize,
    /// Port of the core.
    pub port: usize,
    /// Its group's place.
    pub group: usize,
    /// Number of its first work-item in the group.
    pub first: u32,
    /// Next step.
    pub at: u32,
    /// When it may go on.
    pub time: Time,
    /// Active lanes.
    pub mask: Mask,
    /// Masks to return to.
    pub stack: Vec<Mask>,
    /// Its registers.
    pub rows: Vec<Row<W>>,
    /// When loaded rows may be read.
    pub ready: Vec<Time>,
    /// The latest of them.
    pub pending: Time,
    /// Spilled accesses owed, in instructions times excess registers.
    pub owed: u64,
}

/// What accesses are carried out on.
pub struct Memory<'a, const W: usize> {
    /// Arguments.
    pub tensors: &'a mut [Tensor],
    /// The group's local memory.
    pub local: &'a mut [u8],
    /// Rows that all waves share.
    pub shared: &'a [Row<W>],
    /// Whether contents are moved.
    pub results: bool,
    /// How the access's lanes lay the last time.
    pub pattern: &'a mut Pattern<W>,
    /// Bytes of a texture line.
    pub texture_line: u64,
    /// Bytes of a line of the second level.
    pub line: u64,
}

/// What an access touched.
pub struct Footprint<'a> {
    /// Lines of device memory.
    pub lines: &'a mut Lines,
    /// Addresses in local memory.
    pub local: &'a mut Vec<u32>,
    /// Bytes all lanes asked for.
    pub bytes: u64,
    /// Lanes that take part.
    pub mask: Mask,
}

impl<const W: usize> Wave<W> {
    /// Takes the innermost mask to return to, which a loop or branch kept when it began.
    pub fn returned(&mut self) -> Result<Mask, LaneFault> {
        self.stack.pop().ok_or((0, FaultKind::Contradiction("a loop or branch ends that did not begin")))
    }

    /// The contents of a row.
    #[inline(always)]
    pub fn row<'a>(&'a self, r: Reg, shared: &'a [Row<W>]) -> &'a Row<W> {
        if r & SHARED != 0 { &shared[usize::from(r & !SHARED)] } else { &self.rows[usize::from(r)] }
    }

    /// One lane of a vector chosen at run time.
    pub fn pick(&mut self, pick: &crate::code::LanePick, shared: &[Row<W>]) -> Result<(), LaneFault> {
        let stride = pick.dst.len();
        let which = *self.row(pick.lane, shared);
        for lane in lanes(self.mask) {
            let at = which[lane] as usize * stride;
            if which[lane] as usize >= pick.from.len() / stride {
                return Err((lane, FaultKind::Lane { lane: which[lane] as i32, width: pick.from.len() / stride }));
            }
            for part in 0..stride {
                let value = self.row(pick.from[at + part], shared)[lane];
                self.rows[usize::from(pick.dst[part])][lane] = value;
            }
        }
        Ok(())
    }

    /// Carries out an access.
    #[inline(always)]
    pub fn access(&mut self, a: &Access, m: &mut Memory<W>, f: &mut Footprint) -> Result<(), LaneFault> {
        f.lines.clear();
        f.local.clear();
        f.bytes = 0;
        let width = usize::from(a.width);
        let shared = m.shared;
        // For each element the lanes that take part; one mask for all where the guard does not differ.
        let mut each: [Mask; 16] = [0; 16];
        let count = if a.guard.len() > 1 { width } else { 1 };
        for (i, mask) in each.iter_mut().enumerate().take(count) {
            *mask = self.mask & a.guard.get(i).map_or(Mask::MAX, |&g| truth(self.row(g, shared)));
        }
        let each = &each[..count];
        f.mask = each.iter().fold(0, |all, m| all | m);
        if m.results && a.action == Action::Load && each.iter().any(|&m| m != self.mask) {
            for (i, &v) in a.values.iter().enumerate() {
                let missing = self.mask & !each[if count > 1 { i / (a.values.len() / width) } else { 0 }];
                let row = &mut self.rows[usize::from(v)];
                lanes(missing).for_each(|lane| row[lane] = 0);
            }
        }
        if f.mask == 0 {
            return Ok(());
        }
        match a.target {
            Target::Image(at) => {
                let granule = if a.action == Action::Store { m.line } else { m.texture_line };
                return self.texel(a, at, granule, m, f);
            }
            _ => self.check(a, each, shared)?,
        }
        let size = a.element.bytes() as usize;
        match a.target {
            Target::Private(base) => self.private(a, base, each, shared),
            Target::Buffer(at) => {
                let (base, line) = (m.tensors[at].base, m.line);
                let offsets = self.row(a.offset, shared);
                if matches!(a.action, Action::Atomic(_)) {
                    // Lanes of a line take turns: each counts.
                    lanes(f.mask).for_each(|lane| f.lines.add(base + u64::from(offsets[lane]) * size as u64, size as u64, line));
                } else if count == 1 {
                    let mut add = |lane: usize, elements: usize| {
                        f.lines.add(base + u64::from(offsets[lane]) * size as u64, (elements * size) as u64, line)
                    };
                    match m.pattern.runs(f.mask, [offsets, offsets], width as u32) {
                        Some(runs) => runs.iter().for_each(|&(lane, elements)| add(lane.into(), elements as usize)),
                        None => lanes(f.mask).for_each(|lane| add(lane, width)),
                    }
                } else {
                    for lane in lanes(f.mask) {
                        for (e, _) in each.iter().enumerate().filter(|(_, m)| *m >> lane & 1 != 0) {
                            f.lines.add(base + (element(offsets[lane], e) * size) as u64, size as u64, line);
                        }
                    }
                }
                f.bytes = Self::lane_bytes(each, width, size);
                if m.results {
                    self.transfer(a, &mut m.tensors[at].bytes, 0, each, shared)?;
                }
            }
            Target::Local(start) => {
                let offsets = self.row(a.offset, shared);
                f.local.extend(lanes(f.mask).map(|lane| (start as u32).wrapping_add(offsets[lane].wrapping_mul(size as u32))));
                f.bytes = Self::lane_bytes(each, width, size);
                if m.results {
                    self.transfer(a, m.local, start, each, shared)?;
                }
            }
            Target::Image(_) => {}
        }
        Ok(())
    }

    #[inline(always)]
    fn lane_bytes(each: &[Mask], width: usize, size: usize) -> u64 {
        let repeat = if each.len() == 1 { width } else { 1 };
        each.iter().map(|m| u64::from(m.count_ones())).sum::<u64>() * (repeat * size) as u64
    }

    /// Whether all coordinates of lanes that take part lie inside.
    #[inline(always)]
    fn check(&self, a: &Access, each: &[Mask], shared: &[Row<W>]) -> Result<(), LaneFault> {
        let last = a.coords.len() - 1;
        let width = u32::from(a.width);
        let all = each.iter().fold(0, |all, m| all | m);
        for (i, &(r, extent)) in a.coords.iter().enumerate() {
            let row = self.row(r, shared);
            if i == last && each.len() > 1 {
                for (e, &mask) in each.iter().enumerate() {
                    // Added in 64 bits: a coordinate may be the largest number.
                    let outside = lanes(mask).find(|&l| !(0..i64::from(extent)).contains(&(i64::from(row[l] as i32) + e as i64)));
                    if let Some(lane) = outside {
                        return Err((lane, self.outside(a, lane, e, shared)));
                    }
                }
                continue;
            }
            // The first element may be at most here.
            let end = if i == last { (i64::from(extent) - i64::from(width) + 1).max(0) as u32 } else { extent };
            let outside = which::<W>(|lane| row[lane] >= end);
            if outside & all != 0 {
                let lane = (outside & all).trailing_zeros() as usize;
                let first = row[lane] as i32;
                let e = if i == last {
                    (0..width as usize).find(|&e| i64::from(first) + e as i64 >= i64::from(extent) || first < 0)
                } else {
                    None
                };
                return Err((lane, self.outside(a, lane, e.unwrap_or(0), shared)));
            }
        }
        Ok(())
    }

    #[cold]
    fn outside(&self, a: &Access, lane: usize, element: usize, shared: &[Row<W>]) -> FaultKind {
        let mut coordinates: Vec<i64> = a.coords.iter().map(|&(r, _)| i64::from(self.row(r, shared)[lane] as i32)).collect();
        if let Some(last) = coordinates.last_mut() {
            *last += element as i64;
        }
        let action = match a.action {
            Action::Load => "load",
            Action::Store => "store",
            Action::Atomic(_) => "atomic",
        };
        FaultKind::OutOfBounds { action, tensor: a.name.clone(), coordinates, extents: a.coords.iter().map(|c| c.1).collect() }
    }

    #[inline(never)]
    fn private(&mut self, a: &Access, base: usize, each: &[Mask], shared: &[Row<W>]) {
        let stride = a.values.len() / usize::from(a.width).max(1);
        let offsets = *self.row(a.offset, shared);
        for (i, &v) in a.values.iter().enumerate() {
            let mask = each[if each.len() > 1 { i / stride } else { 0 }];
            let source = *self.row(v, shared);
            for lane in lanes(mask) {
                let row = base + element(offsets[lane], i / stride) * stride + i % stride;
                if a.action == Action::Load {
                    self.rows[usize::from(v)][lane] = self.rows[row][lane];
                } else {
                    self.rows[row][lane] = source[lane];
                }
            }
        }
    }

    /// Moves elements between memory from byte `start` on and rows.
    #[inline(always)]
    fn transfer(&mut self, a: &Access, memory: &mut [u8], start: usize, masks: &[Mask], shared: &[Row<W>]) -> Result<(), LaneFault> {
        let size = a.element.bytes() as usize;
        if let Action::Atomic(op) = a.action {
            return self.atomic(a, op, &mut memory[start..], masks[0], shared);
        }
        let offsets = *self.row(a.offset, shared);
        let memory = &mut memory[start..];
        let stride = if size == 8 { 2 } else { 1 };
        for (i, &v) in a.values.iter().enumerate() {
            let (e, part) = (i / stride, i % stride);
            let mask = masks[if masks.len() > 1 { e } else { 0 }];
            // Counted in elements, and of those that have whole words in words.
            let number = |lane: usize| element(offsets[lane], e);
            let word = |lane: usize| number(lane) * stride + part;
            if a.action == Action::Load {
                let row = &mut self.rows[usize::from(v)];
                if mask != full::<W>() {
                    // Not what a register held before: integers there would be computed with as denormals, each a hundred cycles of the host.
                    *row = [0; W];
                }
                if size >= 4 {
                    let words = memory.as_chunks::<4>().0;
                    each::<W>(mask, |lane| row[lane] = u32::from_le_bytes(words[word(lane)]));
                } else {
                    each::<W>(mask, |lane| row[lane] = read(memory, number(lane) * size, a.element));
                }
            } else {
                let row = self.row(v, shared);
                if size >= 4 {
                    let words = memory.as_chunks_mut::<4>().0;
                    each::<W>(mask, |lane| words[word(lane)] = row[lane].to_le_bytes());
                } else {
                    each::<W>(mask, |lane| write(memory, number(lane) * size, a.element, row[lane]));
                }
            }
        }
        Ok(())
    }

    /// One lane after another.
    #[inline(never)]
    fn atomic(&mut self, a: &Access, op: AtomicOp, memory: &mut [u8], mask: Mask, shared: &[Row<W>]) -> Result<(), LaneFault> {
        let offsets = *self.row(a.offset, shared);
        let size = a.element.bytes() as usize;
        let stride = a.values.len();
        let operand = |wave: &Self, which: usize, lane: usize| {
            let at = which * stride;
            let (low, high) = (a.operands[at], a.operands[at + stride - 1]);
            literal(a.element, [wave.row(low, shared)[lane], wave.row(high, shared)[lane]])
        };
        for lane in lanes(mask) {
            let at = offsets[lane] as usize * size;
            let part = |p: usize| read(memory, at + p * 4, a.element);
            let old_bits = [part(0), if stride == 2 { part(1) } else { 0 }];
            let old = literal(a.element, old_bits);
            let value = operand(self, 0, lane);
            let new = match op {
                AtomicOp::Exchange => value,
                AtomicOp::CompareExchange => {
                    if operand(self, 1, lane) == old {
                        value
                    } else {
                        old
                    }
                }
                _ => combined(op, old, value).map_err(|what| (lane, what))?,
            };
            let new = bits(new);
            for p in 0..stride {
                write(memory, at + p * 4, a.element, new[p]);
                self.rows[usize::from(a.values[p])][lane] = old_bits[p];
            }
        }
        Ok(())
    }

    /// A texel read or written, in lines of `granule` bytes.
    #[inline(always)]
    fn texel(&mut self, a: &Access, at: usize, granule: u64, m: &mut Memory<W>, f: &mut Footprint) -> Result<(), LaneFault> {
        let (tensor, shared) = (&mut m.tensors[at], m.shared);
        let Some(image) = &tensor.image else { return Err((0, FaultKind::Contradiction("a texel of what is no image"))) };
        let (ys, xs) = (self.row(a.coords[0].0, shared), self.row(a.coords[1].0, shared));
        let (width, height) = (image.width, image.height);
        let bytes = image.format.bytes();
        // Coordinates below zero are large ones.
        let inside = f.mask & which::<W>(|lane| (xs[lane] < width) & (ys[lane] < height));
        f.bytes = u64::from(f.mask.count_ones()) * u64::from(bytes);
        let store = a.action == Action::Store;
        if (store || image.border == Border::None) && inside != f.mask {
            let lane = (f.mask & !inside).trailing_zeros() as usize;
            return Err((lane, self.outside(a, lane, 0, shared)));
        }
        let clamped = a.clamp && inside != f.mask && width > 0 && height > 0;
        let near = |lane: usize| {
            let within = |v: u32, extent: u32| (v as i32).clamp(0, extent as i32 - 1) as u32;
            if clamped { (within(xs[lane], width), within(ys[lane], height)) } else { (xs[lane], ys[lane]) }
        };
        let found = if clamped { f.mask } else { inside };
        let mut add = |lane: usize| {
            let (x, y) = near(lane);
            f.lines.add(tensor.base + image.layout.address(x, y), bytes.into(), granule);
        };
        match if clamped { None } else { m.pattern.runs(found, [ys, xs], 1) } {
            Some(texels) if found != 0 => texels.iter().for_each(|&(lane, _)| add(lane.into())),
            _ => lanes(found).for_each(add),
        }
        if !m.results {
            return Ok(());
        }
        // The number of each lane's texel among the contents.
        let number = |lane: usize| {
            let (x, y) = near(lane);
            y as usize * width as usize + x as usize
        };
        let size = bytes as usize;
        if store {
            for (c, &v) in a.values.iter().enumerate() {
                let row = self.row(v, shared);
                each::<W>(found, |lane| write_component(&mut tensor.bytes, number(lane) * size, c, image.format, row[lane]));
            }
            return Ok(());
        }
        // What lies outside is 0, and what lanes hold that do not ask.
        let mut components = [[0; W]; 4];
        if size == 16 {
            let texels = tensor.bytes.as_chunks::<16>().0;
            each::<W>(found, |lane| {
                let texel = texels[number(lane)].as_chunks::<4>().0;
                (0..4).for_each(|c| components[c][lane] = u32::from_le_bytes(texel[c]));
            });
        } else {
            each::<W>(found, |lane| {
                let at = number(lane) * size;
                (0..4).for_each(|c| components[c][lane] = read_component(&tensor.bytes, at, c, image.format));
            });
        }
        for (&v, row) in a.values.iter().zip(&components) {
            self.rows[usize::from(v)] = *row;
        }
        Ok(())
    }
}

fn combined(op: AtomicOp, old: Const, value: Const) -> Result<Const, FaultKind> {
    let op = match op {
        AtomicOp::Add => BinaryOp::Add,
        AtomicOp::Sub => BinaryOp::Sub,
        AtomicOp::Min => BinaryOp::Min,
        AtomicOp::Max => BinaryOp::Max,
        AtomicOp::And => BinaryOp::And,
        AtomicOp::Or => BinaryOp::Or,
        AtomicOp::Xor => BinaryOp::Xor,
        AtomicOp::Exchange | AtomicOp::CompareExchange => return Err(FaultKind::Contradiction("an exchange taken for arithmetic")),
    };
    // A validated Program has operands of the right types, and none of these divides.
    arith::binary(op, old, value).map_err(|_| FaultKind::Contradiction("an atomic operation that its operands do not have"))
}

/// The number of a vector's element. The vector may begin before the tensor, where a guard leaves out its first elements.
#[inline]
fn element(first: u32, e: usize) -> usize {
    first.wrapping_add(e as u32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_combined_is_no_old_value() {
        assert_eq!(combined(AtomicOp::Add, Const::I32(2), Const::I32(3)), Ok(Const::I32(5)));
        let refused = |op, value| combined(op, Const::I32(2), value).expect_err("no such operation").to_string();
        assert_eq!(refused(AtomicOp::Exchange, Const::I32(3)), "the simulator contradicts itself: an exchange taken for arithmetic");
        let operands = "the simulator contradicts itself: an atomic operation that its operands do not have";
        assert_eq!(refused(AtomicOp::Add, Const::F32(3.0)), operands);
    }
}
