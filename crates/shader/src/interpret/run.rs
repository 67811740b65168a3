//! Executing a quad.
//!
//! Lanes run together where they stand at the same block. Where they part, the one whose block comes first in structured order goes
//! on: a merge block comes after all blocks of its construct, so that lanes meet there again before it is executed.

use super::InterpretError;
use super::compile::Compiled;
use super::inputs::Varying;
use super::step::{ALL, Atomic, Code, End, LaneFun, Lanes, Mask, Place, Slope, Step, Term, WideArg, WideFun};
use super::texture::Texture;
use std::array::from_fn;
use std::sync::Arc;

/// A lane that waits at no block.
const NOWHERE: u32 = u32::MAX;

/// The state of a quad, and what was counted so far.
pub struct Interpreter<'p> {
    pub(super) program: &'p Compiled,
    pub(super) cells: Vec<Lanes>,
    /// For each cell the lanes whose value is of implementation-defined precision.
    pub(super) rough: Vec<Mask>,
    pub(super) shared: Vec<u32>,
    pub(super) textures: Vec<Arc<Texture>>,
    pub(super) counts: Vec<u64>,
    /// For each block how often any lane that counts executed it.
    pub(super) quads: Vec<u64>,
    /// For each block, whether its end ever depended on such a value.
    pub(super) rough_ends: Vec<bool>,
    /// Lanes that are executed now.
    pub(super) mask: Mask,
    /// Lanes that are pixels of the frame, and not discarded.
    pub(super) covered: Mask,
    /// Lanes that were not ended by a kill.
    pub(super) alive: Mask,
    pub(super) spent: u64,
    pub(super) budget: u64,
    pub(super) frame: [u32; 2],
    pub(super) scratch: (Vec<Lanes>, Vec<Mask>),
    /// The planes of the varyings, one a component.
    pub(super) planes: Vec<Varying>,
}

impl Interpreter<'_> {
    pub(super) fn word(&self, at: u32, lane: usize) -> u32 {
        self.cells[at as usize][lane]
    }

    /// Writes a cell in the lanes that are executed.
    #[inline]
    pub(super) fn put(&mut self, at: u32, value: Lanes, rough: Mask) {
        let (at, mask) = (at as usize, self.mask);
        if mask == ALL {
            self.cells[at] = value;
            self.rough[at] = rough;
        } else {
            let cell = &mut self.cells[at];
            *cell = from_fn(|l| if mask >> l & 1 == 1 { value[l] } else { cell[l] });
            self.rough[at] = self.rough[at] & !mask | rough & mask;
        }
    }

    /// Calls a function with some lanes, until each has returned or ended.
    pub(super) fn call(&mut self, function: u32, lanes: Mask) -> Result<(), InterpretError> {
        let program = self.program;
        let entry = program.functions[function as usize].entry;
        let mut at: [u32; 4] = from_fn(|l| if lanes >> l & 1 == 1 { entry } else { NOWHERE });
        let mut from = [NOWHERE; 4];
        loop {
            // Helpers alone change nothing that anybody sees.
            if self.covered & self.alive == 0 {
                return Ok(());
            }
            let block = (0..4).filter(|l| self.alive >> l & 1 == 1).map(|l| at[l]).min().unwrap_or(NOWHERE);
            if block == NOWHERE {
                return Ok(());
            }
            let group = (0..4).filter(|l| at[*l] == block && self.alive >> l & 1 == 1).fold(0, |m, l| m | 1 << l);
            let code = &program.blocks[block as usize];
            self.enter(block, code, group)?;
            self.phis(code, &from);
            for step in &code.steps {
                self.step(step)?;
            }
            self.leave(block, code, &mut at, &mut from);
        }
    }

    fn enter(&mut self, block: u32, code: &Code, group: Mask) -> Result<(), InterpretError> {
        self.mask = group;
        self.counts[block as usize] += u64::from((group & self.covered).count_ones());
        self.quads[block as usize] += u64::from(group & self.covered != 0);
        self.spent += code.weight.max(1);
        if self.spent > self.budget {
            return Err(InterpretError::Budget { limit: self.budget, line: code.line });
        }
        Ok(())
    }

    fn phis(&mut self, code: &Code, from: &[u32; 4]) {
        if code.phis.is_empty() {
            return;
        }
        let which: [usize; 4] = from_fn(|l| code.preds.iter().position(|p| *p == from[l]).unwrap_or(0));
        // All are read before any is written: one may be another one's operand.
        let (mut values, mut rough) = std::mem::take(&mut self.scratch);
        values.clear();
        rough.clear();
        for phi in &code.phis {
            for i in 0..phi.n {
                let cells: [usize; 4] = from_fn(|l| (phi.from[which[l]] + i) as usize);
                values.push(from_fn(|l| self.cells[cells[l]][l]));
                rough.push((0..4).fold(0, |m, l| m | self.rough[cells[l]] & 1 << l));
            }
        }
        let mut next = values.iter().zip(&rough);
        for phi in &code.phis {
            for (i, (value, rough)) in (0..phi.n).zip(&mut next) {
                self.put(phi.dst + i, *value, *rough);
            }
        }
        self.scratch = (values, rough);
    }

    fn leave(&mut self, block: u32, code: &Code, at: &mut [u32; 4], from: &mut [u32; 4]) {
        let mask = self.mask & self.alive;
        let mut go = |lane: usize, to: u32| {
            at[lane] = to;
            from[lane] = block;
        };
        let depends = match &code.end {
            End::Branch { condition, .. } => Some(*condition),
            End::Switch { selector, .. } => Some(*selector),
            _ => None,
        };
        if depends.is_some_and(|cell| self.rough[cell as usize] & mask & self.covered != 0) {
            self.rough_ends[block as usize] = true;
        }
        for lane in (0..4).filter(|l| mask >> l & 1 == 1) {
            match &code.end {
                End::Jump(to) => go(lane, *to),
                End::Branch { condition, yes, no } => go(lane, if self.word(*condition, lane) == 0 { *no } else { *yes }),
                End::Switch { selector, wide, cases, other } => {
                    let high = if *wide { u64::from(self.word(selector + 1, lane)) << 32 } else { 0 };
                    let value = high | u64::from(self.word(*selector, lane));
                    go(lane, cases.iter().find(|c| c.0 == value).map_or(*other, |c| c.1));
                }
                End::Return => go(lane, NOWHERE),
                End::Kill => {
                    go(lane, NOWHERE);
                    self.alive &= !(1 << lane);
                }
            }
        }
    }

    pub(super) fn step(&mut self, step: &Step) -> Result<(), InterpretError> {
        match step {
            Step::Map1 { f, dst, a, n, rough } => {
                for i in 0..*n {
                    let open = self.open(*rough, self.rough[(a + i) as usize]);
                    self.put(dst + i, f(self.cells[(a + i) as usize]), open);
                }
            }
            Step::Map2 { f, dst, a, b, step, n, rough } => {
                for i in 0..*n {
                    let (x, y) = ((a + i) as usize, (b + i * step) as usize);
                    let open = self.open(*rough, self.rough[x] | self.rough[y]);
                    self.put(dst + i, f(self.cells[x], self.cells[y]), open);
                }
            }
            Step::Map3 { f, dst, a, b, c, n, rough } => {
                for i in 0..*n {
                    let [x, y, z] = [a, b, c].map(|at| (at + i) as usize);
                    let open = self.open(*rough, self.rough[x] | self.rough[y] | self.rough[z]);
                    self.put(dst + i, f(self.cells[x], self.cells[y], self.cells[z]), open);
                }
            }
            Step::Wide { f, dst, wide, args, n, rough } => {
                for i in 0..*n {
                    self.wide(*f, *dst + i * if *wide { 2 } else { 1 }, *wide, args, i, *rough);
                }
            }
            Step::Lane { f, dst, n, args, rough } => self.lane(*f, *dst, *n, args, *rough),
            Step::Copy { dst, src, n } => {
                for i in 0..*n {
                    let at = (src + i) as usize;
                    self.put(dst + i, self.cells[at], self.rough[at]);
                }
            }
            Step::Gather { dst, from } => {
                for (i, at) in from.iter().enumerate() {
                    self.put(dst + i as u32, self.cells[*at as usize], self.rough[*at as usize]);
                }
            }
            Step::Select { dst, condition, cells, a, b, n } => {
                for i in 0..*n {
                    let (c, x, y) = ((condition + i / cells) as usize, (a + i) as usize, (b + i) as usize);
                    let yes = self.cells[c];
                    let value = from_fn(|l| if yes[l] == 0 { self.cells[y][l] } else { self.cells[x][l] });
                    let open = (0..4).fold(0, |m, l| m | (if yes[l] == 0 { self.rough[y] } else { self.rough[x] }) & 1 << l);
                    self.put(dst + i, value, open | self.rough[c]);
                }
            }
            Step::Product { dst, a, b, rows, inner, columns, wide, rough } => {
                for c in 0..*columns {
                    for r in 0..*rows {
                        self.product(*dst, (c * rows + r, r, c), (*a, *rows), (*b, *inner), *wide, *rough);
                    }
                }
            }
            Step::Fold { all, dst, a, n } => {
                let cells = *a as usize..(*a + *n) as usize;
                let value = from_fn(|l| {
                    let mut each = self.cells[cells.clone()].iter().map(|c| c[l] != 0);
                    u32::from(if *all { each.all(|x| x) } else { each.any(|x| x) })
                });
                let open = self.rough[cells].iter().fold(0, |m, r| m | r);
                self.put(*dst, value, open);
            }
            Step::Pick { dst, a, n, cells, index } => {
                let chosen: [u32; 4] = from_fn(|l| self.word(*index, l).min(n - 1) * cells);
                for i in 0..*cells {
                    let at: [usize; 4] = from_fn(|l| (a + chosen[l] + i) as usize);
                    let open = self.lanes_of(&at) | self.rough[*index as usize];
                    self.put(dst + i, from_fn(|l| self.cells[at[l]][l]), open);
                }
            }
            Step::Put { dst, object, n, cells, index } => {
                let whole = self.mask;
                for component in 0..*n {
                    let chosen = (0..4).filter(|l| self.word(*index, *l).min(n - 1) == component).fold(0, |m, l| m | 1 << l);
                    self.mask = whole & chosen;
                    for i in 0..*cells {
                        let at = (object + i) as usize;
                        let open = self.rough[at] | self.rough[*index as usize];
                        self.put(dst + component * cells + i, self.cells[at], open);
                    }
                }
                self.mask = whole;
            }
            Step::Address { dst, base, terms } => self.address(*dst, *base, terms),
            Step::Load { dst, at, n } => {
                let start = self.addresses(*at, *n);
                for i in 0..*n {
                    let cells = start.map(|s| s + i as usize);
                    let open = self.lanes_of(&cells) | self.rough[*at as usize];
                    self.put(dst + i, from_fn(|l| self.cells[cells[l]][l]), open);
                }
            }
            Step::Store { at, src, n } => {
                let start = self.addresses(*at, *n);
                let open = self.rough[*at as usize];
                for i in 0..*n as usize {
                    let (value, rough) = (self.cells[*src as usize + i], self.rough[*src as usize + i] | open);
                    for lane in (0..4).filter(|l| self.mask >> l & 1 == 1) {
                        self.cells[start[lane] + i][lane] = value[lane];
                        let bits = &mut self.rough[start[lane] + i];
                        *bits = *bits & !(1 << lane) | rough & 1 << lane;
                    }
                }
            }
            Step::LoadShared { .. } | Step::StoreShared { .. } | Step::AtomicShared { .. } | Step::LengthShared { .. } => self.memory(step),
            Step::Slope { slope, dst, a, n, rough } => {
                for i in 0..*n {
                    self.slope(*slope, dst + i, (a + i) as usize, *rough);
                }
            }
            Step::Texture(texture) => self.texture(texture),
            Step::Undefine { dst, n } => (0..*n).for_each(|i| self.put(dst + i, [0; 4], ALL)),
            Step::Call { function } => {
                let lanes = self.mask;
                if lanes != 0 {
                    self.call(*function, lanes)?;
                }
                self.mask = lanes & self.alive;
            }
            Step::Demote => self.covered &= !self.mask,
            Step::IsHelper { dst } => {
                let covered = self.covered;
                self.put(*dst, from_fn(|l| u32::from(covered >> l & 1 == 0)), 0);
            }
        }
        Ok(())
    }

    fn open(&self, rough: bool, operands: Mask) -> Mask {
        if rough { ALL } else { operands }
    }

    fn lanes_of(&self, cells: &[usize; 4]) -> Mask {
        (0..4).fold(0, |m, l| m | self.rough[cells[l]] & 1 << l)
    }

    /// Addresses of `n` cells, all of them within the cells that there are.
    fn addresses(&self, at: u32, n: u32) -> [usize; 4] {
        let last = self.cells.len() - n as usize;
        from_fn(|l| (self.word(at, l) as usize).min(last))
    }

    fn address(&mut self, dst: u32, base: Place, terms: &[Term]) {
        let (mut value, mut open) = match base {
            Place::Fixed(at) => ([at; 4], 0),
            Place::At(cell) => (self.cells[cell as usize], self.rough[cell as usize]),
        };
        for term in terms {
            let index = self.cells[term.index as usize];
            open |= self.rough[term.index as usize];
            // Negative indices are taken to be the first, as a clamp would.
            let inside = |i: u32| if term.len < u32::MAX && i.cast_signed() < 0 { 0 } else { i.min(term.len - 1) };
            value = from_fn(|l| value[l].wrapping_add(inside(index[l]).wrapping_mul(term.stride)));
        }
        self.put(dst, value, open);
    }

    fn long(&self, at: u32, lane: usize, wide: bool) -> u64 {
        let high = if wide { u64::from(self.word(at + 1, lane)) << 32 } else { 0 };
        high | u64::from(self.word(at, lane))
    }

    fn put_long(&mut self, at: u32, value: [u64; 4], wide: bool, open: Mask) {
        self.put(at, value.map(|v| v as u32), open);
        if wide {
            self.put(at + 1, value.map(|v| (v >> 32) as u32), open);
        }
    }

    fn wide(&mut self, f: WideFun, dst: u32, wide: bool, args: &[Option<WideArg>; 3], i: u32, rough: bool) {
        let at = |a: &WideArg| a.at + i * a.step * if a.wide { 2 } else { 1 };
        let read = |a: &Option<WideArg>, lane| a.as_ref().map_or(0, |a| self.long(at(a), lane, a.wide));
        let value = from_fn(|l| f(read(&args[0], l), read(&args[1], l), read(&args[2], l)));
        let open = args.iter().flatten().fold(0, |m, a| m | self.rough[at(a) as usize]);
        self.put_long(dst, value, wide, self.open(rough, open));
    }

    fn lane(&mut self, f: LaneFun, dst: u32, n: u32, args: &[(u32, u32)], rough: bool) {
        let mut out = [[0u32; 32]; 4];
        let mut open = 0;
        for (lane, out) in out.iter_mut().enumerate() {
            let mut input = [0u32; 64];
            let mut len = 0;
            for (at, n) in args {
                for i in 0..*n {
                    input[len] = self.word(at + i, lane);
                    open |= self.rough[(at + i) as usize];
                    len += 1;
                }
            }
            f(&input[..len], &mut out[..n as usize]);
        }
        let open = self.open(rough, open);
        (0..n).for_each(|i| self.put(dst + i, from_fn(|l| out[l][i as usize]), open));
    }

    /// One component of a product: (its place, its row, its column), the matrices with the components of their columns.
    fn product(&mut self, dst: u32, at: (u32, u32, u32), a: (u32, u32), b: (u32, u32), wide: bool, rough: bool) {
        let cells = if wide { 2 } else { 1 };
        let place = |k: u32| (a.0 + (k * a.1 + at.1) * cells, b.0 + (at.2 * b.1 + k) * cells);
        let open = (0..b.1).map(place).fold(0, |m, (x, y)| m | self.rough[x as usize] | self.rough[y as usize]);
        let value: [u64; 4] = from_fn(|l| {
            if wide {
                let term = |k| f64::from_bits(self.long(place(k).0, l, true)) * f64::from_bits(self.long(place(k).1, l, true));
                (1..b.1).fold(term(0), |sum, k| sum + term(k)).to_bits()
            } else {
                let term = |k| f32::from_bits(self.word(place(k).0, l)) * f32::from_bits(self.word(place(k).1, l));
                u64::from((1..b.1).fold(term(0), |sum, k| sum + term(k)).to_bits())
            }
        });
        self.put_long(dst + at.0 * cells, value, wide, self.open(rough, open));
    }

    /// Differences along the lane's own row or column, as most devices take them. Where lanes are missing they mean nothing.
    fn slope(&mut self, slope: Slope, dst: u32, a: usize, rough: bool) {
        let value = self.cells[a].map(f32::from_bits);
        let x = |l: usize| value[l | 1] - value[l & 2];
        let y = |l: usize| value[l | 2] - value[l & 1];
        let result = from_fn(|l| match slope {
            Slope::X => x(l),
            Slope::Y => y(l),
            Slope::Width => x(l).abs() + y(l).abs(),
        });
        let open = if rough || self.rough[a] != 0 || !self.whole() { ALL } else { 0 };
        self.put(dst, result.map(f32::to_bits), open);
    }

    /// Storage buffers. Words beyond the end read as 0; helpers write nothing.
    fn memory(&mut self, step: &Step) {
        let writers = self.mask & self.covered;
        match *step {
            Step::LoadShared { dst, at, offset, n } => {
                for i in 0..n {
                    let value = from_fn(|l| self.shared.get(self.word(at, l) as usize + (offset + i) as usize).copied().unwrap_or(0));
                    self.put(dst + i, value, 0);
                }
            }
            Step::StoreShared { at, offset, src, n } => {
                for lane in (0..4).filter(|l| writers >> l & 1 == 1) {
                    for i in 0..n {
                        let value = self.word(src + i, lane);
                        if let Some(word) = self.shared.get_mut(self.cells[at as usize][lane] as usize + (offset + i) as usize) {
                            *word = value;
                        }
                    }
                }
            }
            Step::AtomicShared { how, wide, dst, at, value } => {
                let mut old = [0u64; 4];
                for lane in (0..4).filter(|l| self.mask >> l & 1 == 1) {
                    let place = self.word(at, lane) as usize;
                    let value = value.map_or(0, |v| self.long(v, lane, wide));
                    let n = if wide { 2 } else { 1 };
                    let Some(words) = self.shared.get_mut(place..place + n) else { continue };
                    old[lane] = words.iter().rev().fold(0, |v, w| v << 32 | u64::from(*w));
                    if writers >> lane & 1 == 1 {
                        let new = changed(how, wide, old[lane], value);
                        words.iter_mut().enumerate().for_each(|(i, w)| *w = (new >> (32 * i)) as u32);
                    }
                }
                if let Some(dst) = dst {
                    self.put_long(dst, old, wide, ALL);
                }
            }
            Step::LengthShared { dst, buffer, offset, stride } => {
                let words = self.shared.len() as u32;
                let value = from_fn(|l| words.saturating_sub(self.word(buffer, l).saturating_add(offset)) / stride);
                self.put(dst, value, 0);
            }
            _ => {}
        }
    }
}

/// What an atomic operation leaves.
fn changed(how: Atomic, wide: bool, old: u64, value: u64) -> u64 {
    let signed = |v: u64| if wide { v.cast_signed() } else { i64::from((v as u32).cast_signed()) };
    match how {
        Atomic::Add => old.wrapping_add(value),
        Atomic::Sub => old.wrapping_sub(value),
        Atomic::Min { signed: true } => {
            if signed(value) < signed(old) {
                value
            } else {
                old
            }
        }
        Atomic::Max { signed: true } => {
            if signed(value) > signed(old) {
                value
            } else {
                old
            }
        }
        Atomic::Min { .. } => old.min(value),
        Atomic::Max { .. } => old.max(value),
        Atomic::And => old & value,
        Atomic::Or => old | value,
        Atomic::Xor => old ^ value,
        Atomic::Exchange | Atomic::Store => value,
        Atomic::Load => old,
    }
}
