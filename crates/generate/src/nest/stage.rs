//! Tensors of which the work-items of a group together copy to local memory what all of them read in one trip of a loop, before each reads
//! its own from there.
//!
//! A copy is taken apart into positions that are affine in lanes: lanes are spread over the copied part in the order in which it lies in
//! memory, so that neighbours copy neighbours, an axis of lanes being cut in two where a row of the part ends within it. Of an image texels are
//! copied: the part begins with a whole one, and what the last one has beyond the part lies beside it in local memory, where nobody reads it.

use crate::expr::{AxisId, Index};
use crate::layout::{Coord, Coords, Layout, Place};
use crate::nest::local::{LanePart, Share, Staged};
use crate::nest::{LaneKind, Nest, Offsets};
use crate::schedule::{axis, runs_along};
use smallvec::{SmallVec, smallvec};
use warpsight_ir::Affine;
use warpsight_ir::range::Interval;

/// The widest vector that is copied at a time: 128 bits of 32-bit elements.
const WIDEST: i64 = 4;

/// Work-items of a group along the third dimension, which all digits of lanes but the first two share, on every NVIDIA GPU (CUDA C++
/// Programming Guide, "Technical Specifications per Compute Capability").
const LAST_LANES: u32 = 64;

/// Copies that a work-item makes one after the other, written out.
const MOST_COPIES: i64 = 16;

/// What is copied at a time: a part of the deep axis, with all of the axes whose loops are inside, which are all others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chunk {
    /// The first position along the deep axis, in the first trip of its loop.
    pub from: i64,
    /// Positions along it that are read until the next copy.
    pub count: i64,
    /// Whether a loop of the deep axis is around the copy.
    pub looped: bool,
    /// Whether something was copied before it.
    pub again: bool,
    /// Trips of the loop around the copy, where what each copies is loaded in the one before.
    pub ahead: Option<u32>,
}

impl Chunk {
    /// What the first trip copies.
    pub fn first(&self) -> Self {
        Self { looped: false, ahead: None, ..*self }
    }
}

/// What a position of a copy depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moves {
    /// The group along a parallel axis.
    Group(usize),
    /// A digit of lanes: a position in [`Nest::lane_parts`].
    Lane(usize),
    /// The trip of a reduction axis's loop around the copy.
    Trip(AxisId),
}

/// Coordinates, or positions along dimensions.
pub type Position = SmallVec<[Affine<Moves>; 4]>;

/// `0 ≤ value < extent`.
pub type Within = (Affine<Moves>, i64);

/// One load of a copy and where it is put.
pub struct Copied {
    /// Coordinates in the tensor's argument.
    pub load: Position,
    /// Elements of the load.
    pub width: u8,
    /// Beyond these bounds nothing is copied: the part ends there.
    pub part: Vec<Within>,
    /// Beyond these zeros are: the tensor ends there, or nothing more is copied.
    pub tensor: Vec<Within>,
    /// Where it is put.
    pub stores: Vec<Put>,
}

/// A store of a part of what was loaded.
pub struct Put {
    /// Coordinates in local memory.
    pub to: Position,
    /// Its first lane of the load.
    pub start: u8,
    /// Lanes.
    pub width: u8,
}

/// All loads of a copy by one work-item.
pub struct Copies<'n> {
    own: &'n Staged,
    layout: &'n Layout,
    /// The dimension along which neighbours lie side by side.
    memory: usize,
    /// Elements of a load along it.
    width: i64,
    /// Where the group's part begins.
    origins: Position,
    /// Where the work-item's first load is in it, in loads.
    digits: Position,
    /// Lanes along each dimension.
    lanes: Offsets,
    spare: Vec<Within>,
    /// Dimensions along which the part may reach beyond the tensor.
    ends: SmallVec<[usize; 4]>,
    /// That there is a next trip, where what it copies is loaded.
    next: Option<Within>,
    /// Loads that make the part, along each dimension.
    loads: Offsets,
}

impl Copies<'_> {
    /// Loads of one work-item along a dimension.
    fn along(&self, dim: usize) -> i64 {
        rounds(self.loads[dim], self.lanes[dim])
    }

    /// How many there are.
    pub fn number(&self) -> i64 {
        (0..self.loads.len()).map(|dim| self.along(dim)).product()
    }

    /// The load of a number, and where it is put; those along the last dimension follow each other.
    pub fn at(&self, mut number: i64) -> Option<Copied> {
        let dims = self.loads.len();
        let mut at: Position = self.digits.clone();
        for dim in (0..dims).rev() {
            at[dim].constant = number % self.along(dim) * self.lanes[dim];
            number /= self.along(dim);
        }
        let guarded = |dim: &usize| self.loads[*dim] % self.lanes[*dim] != 0;
        let part = (0..dims).filter(guarded).map(|dim| (at[dim].clone(), self.loads[dim])).chain(self.spare.iter().cloned()).collect();
        let mut place = at;
        place[self.memory] = place[self.memory].times(self.width)?;
        let global: Position = (0..dims).map(|dim| self.origins[dim].plus(&place[dim], 1)).collect::<Option<_>>()?;
        let ends = self.ends.iter().map(|&dim| (global[dim].clone(), self.layout.extents()[dim]));
        let tensor = ends.chain(self.next.clone()).collect();
        let width = if self.own.local.innermost()?.0 == self.memory { self.width } else { 1 };
        let stores = (0..self.width / width).map(|lane| {
            let mut to = place.clone();
            to[self.memory] = to[self.memory].clone().offset(lane * width)?;
            Some(Put { to: self.own.local.place(&to)?, start: (lane * width) as u8, width: width as u8 })
        });
        let stores = stores.collect::<Option<_>>()?;
        Some(Copied { load: self.layout.place(&global)?, width: self.width as u8, part, tensor, stores })
    }
}

impl Nest<'_> {
    /// Whether there is a loop of the deep axis inside of that in which tensors are copied.
    pub fn nested(&self) -> bool {
        self.schedule.nested().is_some()
    }

    /// The tensors that are copied. `None` where a copy cannot be made in few affine steps.
    pub fn stage(&self) -> Option<Vec<Staged>> {
        let templates = (0..self.templates.len()).filter(|&t| self.schedule.copies(self.templates[t].tensor));
        templates.map(|t| Some(Staged { template: t, ..self.staged(self.templates[t].tensor, self.templates[t].index)? })).collect()
    }

    /// How a tensor is copied from where it lies, by its first template. `None` where that is neither rows nor texels, or no few affine steps
    /// copy it.
    pub fn staged(&self, input: usize, index: &[Index]) -> Option<Staged> {
        let (place, tensor) = (self.schedule.places[input], &self.layouts[input]);
        let part = self.part(index, tensor, self.copied);
        let (memory, side_by_side) = tensor.innermost()?;
        let innermost = self.read_along(index).unwrap_or(memory);
        let width = match place {
            Place::Buffer | Place::Strips(_, None) => {
                (0..).map(|n| WIDEST >> n).find(|&width| width == 1 || self.copies_whole(index, tensor, &part, memory, width))
            }
            _ => Some(side_by_side).filter(|texel| place.is_image() && index[memory].constant % texel == 0),
        }?;
        // Neighbouring rows of an odd length begin in different banks; those that neighbouring lanes read lie a tile apart.
        let alike = innermost == memory;
        let vectors = self.lane_kind(input, index) == LaneKind::Consecutive;
        // Texels stay texels where each is read whole.
        let texels = Some(width).filter(|texel| place.is_image() && alike && self.aligned(&index[memory], *texel));
        let pad = match (vectors, alike) {
            _ if texels.is_some() => 0,
            (true, true) => 0,
            (true, false) => i64::from(self.width()),
            (false, _) => 1 - part[innermost] % 2,
        };
        let mut extents = part.clone();
        extents[innermost] += pad;
        let rows = (0..index.len()).filter(|&d| d != innermost).chain([innermost]).map(|d| (d, 1));
        let local = Layout::ordered(&extents, texels.map(|texel| (memory, texel)).into_iter().chain(rows));

        // Digits of lanes, the fastest first, to dimensions, the fastest first.
        let lanes = self.launched.iter().map(|&axis| LanePart { axis, below: 1, size: self.splits[axis].lanes });
        let mut free: Vec<LanePart> = lanes.filter(|part| part.size > 1).rev().collect();
        let mut shares = vec![];
        let mut reps = 1;
        // Of an image the last axis is within a load.
        let axes = &tensor.axes()[..tensor.axes().len() - usize::from(place.is_image())];
        let mut dims: SmallVec<[usize; 6]> = SmallVec::new();
        axes.iter().rev().for_each(|axis| dims.extend((!dims.contains(&axis.dim)).then_some(axis.dim)));
        for dim in dims {
            let loads = if dim == memory { part[dim] / width } else { part[dim] };
            let mut factor = 1;
            while factor < loads {
                let Some(lanes) = free.pop() else { break };
                let wanted = u64::try_from(rounds(loads, factor)).ok()?.next_power_of_two() as u32;
                let own = LanePart { size: lanes.size.min(wanted), ..lanes };
                if own.size < lanes.size {
                    free.push(LanePart { below: lanes.below * own.size, size: lanes.size / own.size, ..lanes });
                }
                shares.push(Share { dim, part: own, factor });
                factor *= i64::from(own.size);
            }
            reps *= rounds(loads, factor);
        }
        // What groups, lanes and trips add are whole parts of dimensions that are taken apart.
        let lanes = |d: usize, part: i64| {
            let width = if d == memory { width } else { 1 };
            shares.iter().filter(|share| share.dim == d).all(|share| share.factor * width % part == 0)
        };
        let whole = tensor.parts().all(|(d, part)| self.begins_whole(&index[d], part) && lanes(d, part));
        let words = reps as u32 * self.loaded_words(input, width as u8);
        (whole && reps <= MOST_COPIES).then_some(Staged { template: 0, local, width, words, shares, spare: free })
    }

    /// Whether parts that groups and trips copy begin a multiple of a stride apart.
    fn begins_whole(&self, form: &Index, stride: i64) -> bool {
        form.terms().iter().all(|&(a, c)| {
            let apart = match self.splits.get(a.0) {
                Some(split) if split.groups > 1 => split.per_item() * i64::from(split.lanes),
                None if Some(a) == self.deep && self.copied < self.walk(a).extent => self.copied,
                _ => 0,
            };
            i64::from(c) * apart % stride == 0
        })
    }

    /// The dimension along which lanes of a vector read side by side.
    pub fn read_along(&self, index: &[Index]) -> Option<usize> {
        let mut moving = (0..index.len()).filter(|&d| self.along_vector(&index[d]) != 0);
        let first = moving.next().filter(|&d| self.along_vector(&index[d]) == 1)?;
        moving.next().is_none().then_some(first)
    }

    /// Whether vectors so wide along a dimension lie inside the tensor or outside, and make the whole of the part.
    fn copies_whole(&self, index: &[Index], tensor: &Layout, part: &[i64], dim: usize, width: i64) -> bool {
        let moved = |&(a, c): &(AxisId, i32)| {
            let step = match self.splits.get(a.0) {
                Some(split) if split.groups > 1 => i64::from(c) * split.per_item() * i64::from(split.lanes),
                Some(_) => 0,
                None if Some(a) == self.deep => i64::from(c) * self.copied,
                None => i64::from(c) * self.trip(a),
            };
            step % width == 0
        };
        let form = &index[dim];
        form.terms().iter().all(moved) && [form.constant, part[dim], tensor.extents()[dim]].iter().all(|number| number % width == 0)
    }

    /// Extents, along each dimension of a tensor, of what the work-items of a group read at an index of so many positions of the deep axis, in
    /// whole texels.
    fn part(&self, index: &[Index], tensor: &Layout, count: i64) -> Offsets {
        let reach = |&(a, c): &(AxisId, i32)| {
            let positions = match self.splits.get(a.0) {
                Some(split) => split.per_item() * i64::from(split.lanes),
                None if Some(a) == self.deep => count,
                None => axis(self.expr, a).extent,
            };
            i64::from(c) * (positions - 1)
        };
        let mut part: Offsets = index.iter().map(|form| 1 + form.terms().iter().map(reach).sum::<i64>()).collect();
        if let Some((pack, texel)) = tensor.innermost().filter(|_| tensor.is_image()) {
            part[pack] = rounds(part[pack], texel) * texel;
        }
        part
    }

    /// The digits of all lanes, the fastest first: those that copies ask for, otherwise one an axis. `None` where too many of them share the
    /// last dimension of a launch.
    pub fn cut_lanes(&self, staged: &[Staged]) -> Option<Vec<LanePart>> {
        let mut parts = vec![];
        for &a in &self.launched {
            let all = self.splits[a].lanes;
            let own = staged.iter().flat_map(|own| own.shares.iter().map(|share| share.part).chain(own.spare.iter().copied()));
            let mut cuts: Vec<u32> = own.filter(|part| part.axis == a).map(|part| part.below).chain([1, all]).collect();
            cuts.sort_unstable();
            cuts.dedup();
            parts.extend(cuts.windows(2).map(|cut| LanePart { axis: a, below: cut[0], size: cut[1] / cut[0] }));
        }
        if let Some(deep) = self.deep.filter(|_| self.reduction_lanes > 1) {
            // Neighbouring lanes read neighbours, where what is reduced lies side by side.
            let at = if runs_along(self.expr, deep) { 0 } else { parts.len() };
            parts.insert(at, LanePart { axis: deep.0, below: 1, size: self.reduction_lanes });
        }
        let last: u32 = parts.iter().skip(2).map(|part| part.size).product();
        (last <= LAST_LANES || !self.schedule.meets()).then_some(parts)
    }

    /// The loads and stores of one work-item that copy a tensor; where it is loaded ahead, the loads are the next trip's.
    pub fn copies<'n>(&'n self, own: &'n Staged, chunk: &Chunk) -> Option<Copies<'n>> {
        let template = &self.templates[own.template];
        let layout = &self.layouts[template.tensor];
        let part = self.part(template.index, layout, chunk.count);
        let (memory, _) = layout.innermost()?;
        let origins: Position = template.index.iter().map(|form| self.origin(form, chunk)).collect::<Option<_>>()?;
        // What is left of an axis may be no whole vectors.
        let whole = [part[memory], origins[memory].constant].iter().all(|number| number % own.width == 0);
        let width = if whole { own.width } else { 1 };
        let loads: Offsets = (0..part.len()).map(|d| if d == memory { part[d] / width } else { part[d] }).collect();
        let mut digits: Position = smallvec![Affine::default(); part.len()];
        let mut lanes: Offsets = smallvec![1; part.len()];
        for share in &own.shares {
            lanes[share.dim] *= i64::from(share.part.size);
            for (number, digit) in self.digits(share.part) {
                digits[share.dim].add_term(Moves::Lane(number), share.factor * digit)?;
            }
        }
        let spare = own.spare.iter().flat_map(|part| self.digits(*part)).map(|(number, _)| (Affine::var(Moves::Lane(number)), 1));
        // The first element of a load decides.
        let reach = |d: usize| part[d] - if d == memory { width - 1 } else { 0 };
        let ends = (0..part.len()).filter(|&d| self.leaves(&template.index[d], chunk, reach(d), layout.extents()[d])).collect();
        let next = match self.deep.zip(chunk.ahead) {
            Some((a, trips)) => Some((Affine::var(Moves::Trip(a)).offset(1)?, trips.into())),
            None => None,
        };
        Some(Copies { own, layout, memory, width, origins, digits, lanes, spare: spare.collect(), ends, next, loads })
    }

    /// Positions among [`Nest::lane_parts`] of the digits that make one, with what each counts in it.
    fn digits(&self, part: LanePart) -> impl Iterator<Item = (usize, i64)> + '_ {
        let inside = move |own: &LanePart| own.axis == part.axis && own.below >= part.below && own.below < part.below * part.size;
        self.lane_parts.iter().enumerate().filter(move |own| inside(own.1)).map(move |(n, own)| (n, i64::from(own.below / part.below)))
    }

    /// The first position that a group's copy has along a dimension.
    fn origin(&self, form: &Index, chunk: &Chunk) -> Option<Affine<Moves>> {
        let mut origin = Affine::constant(form.constant);
        for &(a, c) in form.terms() {
            match self.splits.get(a.0) {
                Some(split) => origin.add_term(Moves::Group(a.0), i64::from(c) * split.per_item() * i64::from(split.lanes))?,
                None if Some(a) == self.deep => {
                    // The next trip's is as wide: trips are whole vectors where a copy is made of these.
                    let next = if chunk.ahead.is_some() { self.copied } else { 0 };
                    origin.constant = origin.constant.checked_add(i64::from(c) * (chunk.from + next))?;
                    if chunk.looped {
                        origin.add_term(Moves::Trip(a), i64::from(c) * self.copied)?;
                    }
                }
                None => {}
            }
        }
        Some(origin)
    }

    /// Whether some group's copy reaches beyond an end of the tensor.
    fn leaves(&self, form: &Index, chunk: &Chunk, extent: i64, tensor: i64) -> bool {
        let first = form.range(|a| match self.splits.get(a.0) {
            Some(split) => Interval::new(0, (split.groups - 1) * split.per_item() * i64::from(split.lanes)),
            None if Some(a) == self.deep => {
                let last = if chunk.looped { (self.walk(a).extent / self.copied - 1) * self.copied } else { 0 };
                Interval::new(chunk.from, chunk.from + last)
            }
            None => Interval::exactly(0),
        });
        first.lo < 0 || first.hi + i128::from(extent) > i128::from(tensor)
    }

    /// Where the copy of a tensor is read, as far as it varies: forms in which a parallel axis stands for its lanes.
    pub fn read_from(&self, own: &Staged, looped: &[bool]) -> Coords {
        let moves = |form: &Index| {
            let terms = form.terms().iter().filter_map(|&(a, c)| match self.splits.get(a.0) {
                Some(split) => (split.lanes > 1).then(|| (a, i64::from(c) * split.per_item())),
                None => {
                    let inside = looped[a.0 - self.splits.len()] && (Some(a) != self.deep || self.nested());
                    inside.then(|| (a, i64::from(c) * self.trip(a)))
                }
            });
            // Within a part of a tensor, whose positions have 32 bits.
            Coord::of(terms, 0).unwrap_or_default()
        };
        let dims: Coords = self.templates[own.template].index.iter().map(moves).collect();
        own.local.varying(&dims).unwrap_or_default()
    }

    /// The constant part of where the copy is read for an offset of a load, loops of `looped` axes running.
    pub fn read_at(&self, own: &Staged, chunk: &Chunk, offsets: &[i64], looped: &[bool]) -> SmallVec<[i64; 4]> {
        let index = self.templates[own.template].index;
        let looped = self.deep.is_some_and(|a| looped[a.0 - self.splits.len()]);
        let deep = |form: &Index| self.deep.map_or(0, |a| i64::from(form.coefficient(a)));
        // A loop inside of the copy counts from where it begins.
        let from = if looped { 0 } else { chunk.from };
        let before = |form: &Index| form.constant + deep(form) * from;
        let inside: Offsets = index.iter().zip(offsets).map(|(form, offset)| offset - before(form)).collect();
        own.local.coords(&inside)
    }
}

/// How many times so many at a time make all.
fn rounds(all: i64, at_a_time: i64) -> i64 {
    (all + at_a_time - 1) / at_a_time
}
