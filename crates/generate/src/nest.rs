//! A configuration with every position resolved: loops, the loads each loop body needs, and their bounds.
//!
//! Both the Program and the outline of a configuration are read off this structure, so that thousands of configurations can be
//! judged without building statements. Offsets within tiles, unrolled loops and vectors are known here, so a load differs from
//! its neighbours in constants only: a [`Template`] holds what they share, an [`Item`] the constants.

pub mod across;
mod borders;
pub mod local;
pub mod loops;
pub mod outline;
pub mod placing;
pub mod share;
pub mod split;
pub mod stage;
pub mod stores;

use crate::expr::{AxisId, Combine, Index, Pass, ScalarExpr, TensorExpr};
use crate::layout::{Coord, Coords, Layout, MemoryAxis, Place, is_free};
use crate::nest::local::{LanePart, Staged};
use crate::nest::loops::Tree;
use crate::nest::split::{Split, Walk, resolve};
use crate::passes::{self, Passes};
use crate::schedule::{Bind, Near, Schedule, axis, deep_axis};
use smallvec::SmallVec;
use warpsight_ir::range::Interval;
use warpsight_ir::{Scalar, Type};

/// Vector lanes that lie apart in memory are collected one by one; inside a reduction wider vectors of them never pay.
const WIDEST_GATHER: u8 = 4;

/// Constants of one load: an offset per dimension of the tensor.
pub type Offsets = SmallVec<[i64; 5]>;

/// A configuration with every position resolved.
pub struct Nest<'a> {
    /// The expression.
    pub expr: &'a TensorExpr,
    /// The configuration.
    pub schedule: Schedule,
    /// What its numbers are computed in.
    pub number: Scalar,
    /// The longest reduction axis that is no window, or the only one.
    pub deep: Option<AxisId>,
    /// The axis of vectors.
    pub vector: Option<AxisId>,
    /// Per parallel axis, what its loops come to.
    pub splits: SmallVec<[Split; 5]>,
    /// Per reduction axis, what its loops come to.
    pub walks: SmallVec<[Walk; 4]>,
    /// Parallel axes, the one whose lanes run fastest first.
    pub launched: SmallVec<[usize; 6]>,
    /// Elements of the deep axis that are copied at a time; 1 where nothing is.
    pub copied: i64,
    /// Lanes of a group that share the reduction of each result.
    pub reduction_lanes: u32,
    /// Where each input, then the output, lies.
    pub layouts: Vec<Layout>,
    /// Every distinct load, of the body and the epilogue.
    pub templates: Vec<Template<'a>>,
    /// What is read from local memory.
    pub staged: Vec<Staged>,
    /// The digits of lanes, the fastest first.
    pub lane_parts: Vec<LanePart>,
    /// Whether samplers answer beside images ([`Pass::Sampler`](crate::Pass::Sampler)).
    sampler: bool,
}

/// What all instances of one load share.
#[derive(Clone, Debug, PartialEq)]
pub struct Template<'a> {
    /// Position in the expression's inputs, or behind them of the output ([`TensorExpr::tensor`]).
    pub tensor: usize,
    /// The load's index, one form per dimension.
    pub index: &'a [Index],
    /// How neighbouring vector lanes relate.
    pub lanes: LaneKind,
    /// The dimensions for which no bound is asked, because the sampler of an image answers beside them.
    pub sampled: SmallVec<[usize; 2]>,
}

/// What accesses of one index share: its part without constants, in blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Places {
    /// One per dimension of the tensor.
    pub dims: Coords,
    /// One per coordinate of its argument.
    pub coords: Coords,
}

impl Template<'_> {
    fn is_of(&self, tensor: usize, index: &[Index]) -> bool {
        self.tensor == tensor && (std::ptr::eq(self.index, index) || self.index == index)
    }
}

/// A load of the expression.
struct Load<'a> {
    tensor: usize,
    index: &'a [Index],
    /// Whether it is made at each point of the reduction.
    reduced: bool,
}

/// How the vector lanes of a load relate to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneKind {
    /// All lanes read one element.
    Same,
    /// Lanes read consecutive elements in memory (of a buffer, or components of texels).
    Consecutive,
    /// Lanes read elements that lie apart.
    Apart,
}

/// One load: `templates[template]` at constant offsets. Texels for images, `width` consecutive elements for buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Position in [`Nest::templates`].
    pub template: usize,
    /// Constant part of each dimension's index (a multiple of 4 in the packed dimension of an image).
    pub offsets: Offsets,
    /// Elements: the vector width or 1 for buffers, 4 for texels.
    pub width: u8,
}

/// Where the value of one vector lane or a whole vector is found among a step's items.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// One element of an item, the same for all lanes.
    Scalar(Part),
    /// The lanes in order.
    Lanes(SmallVec<[Part; 4]>),
}

/// `width` lanes of an item from `start` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Position among the step's items.
    pub item: usize,
    /// First lane.
    pub start: u8,
    /// Lanes.
    pub width: u8,
}

impl<'a> Nest<'a> {
    /// Resolves a schedule; `None` where its loops do not cover each axis, a tensor cannot lie as it says, coordinates exceed
    /// 32 bits, or work-items of a group cannot meet as it says.
    pub fn new(expr: &'a TensorExpr, schedule: &Schedule, passes: Passes) -> Option<Self> {
        let nest = Self::open(expr, schedule.clone(), passes)?;
        nest.legal().iter().all(|own| *own).then_some(nest)
    }

    /// The same wherever tensors can lie, which is asked of each place.
    pub fn open(expr: &'a TensorExpr, schedule: Schedule, passes: Passes) -> Option<Self> {
        if !schedule.is_valid(expr) {
            return None;
        }
        let mut nest = Self { sampler: passes.has(passes::Pass::Sampler), ..Self::placed(expr, schedule) };
        nest.meets().then_some(nest)
    }

    /// Registers of the values of a reduction in scope at once, of which its steps have so many loaded, and its ends so many, with the value
    /// that is stored if it is.
    pub fn words(&self, loaded: u32, loaded_at_end: u32, stored: bool) -> u32 {
        let (points, turns) = (self.points(), self.schedule.accumulators);
        let accumulators =
            if self.expr.reduce.is_empty() { 0 } else { points * (turns * self.words_of(self.width()) + u32::from(self.has_rest())) };
        let joined = if turns > 1 { self.words_of(self.width()) } else { 0 };
        let folded = joined + self.folds().map(|width| self.words_of(width)).sum::<u32>();
        // What lanes have in common is loaded once more.
        let (before, total) = if self.reduction_lanes > 1 { (folded, self.words_of(self.out_width())) } else { (0, folded) };
        let value = if stored { self.stored_words(self.out_width()) } else { 0 };
        accumulators + loaded.max(before).max(loaded_at_end + total + value)
    }

    /// Registers of so many numbers side by side.
    pub fn words_of(&self, width: u8) -> u32 {
        Type::vector(self.number, width).words()
    }

    /// Registers of so many elements of an input side by side.
    pub fn loaded_words(&self, tensor: usize, width: u8) -> u32 {
        Type::vector(self.expr.tensor(tensor).element.widened(), width).words()
    }

    /// Registers of what is loaded at once.
    pub fn item_words(&self, item: &Item) -> u32 {
        self.loaded_words(self.templates[item.template].tensor, item.width)
    }

    /// Registers of so many elements of the output side by side.
    pub fn stored_words(&self, width: u8) -> u32 {
        Type::vector(self.expr.output.element.widened(), width).words()
    }

    /// Whether each tensor, the output last, can lie where it is put. That does not depend on where others lie.
    pub fn legal(&self) -> SmallVec<[bool; 8]> {
        let mut legal = SmallVec::from_elem(true, self.layouts.len());
        legal[self.expr.inputs.len()] = self.holds(&self.expr.store, self.output_layout());
        self.loads(|load| legal[load.tensor] &= self.fits(&load));
        self.expr.finds(&mut |tensor, index, _| legal[tensor] &= self.finds(tensor, index));
        legal
    }

    /// Puts a tensor elsewhere; what work-items of a group do together stays as it is, so that of one that they copy only
    /// [`Nest::legal`] is right then.
    pub fn put(&mut self, tensor: usize, place: Place) {
        if self.schedule.places[tensor] == place {
            return;
        }
        self.schedule.places[tensor] = place;
        self.layouts[tensor] = self.lay_out(tensor);
        for t in (0..self.templates.len()).filter(|&t| self.templates[t].tensor == tensor).collect::<SmallVec<[usize; 8]>>() {
            let index = self.templates[t].index;
            (self.templates[t].lanes, self.templates[t].sampled) = (self.lane_kind(tensor, index), self.sampled(tensor, index));
        }
    }

    /// Whether work-items of a group can be numbered so that they meet as a schedule says; what they copy is asked of each place.
    pub fn can_meet(expr: &'a TensorExpr, schedule: Schedule) -> bool {
        Self::placed(expr, schedule).cut_lanes(&[]).is_some()
    }

    /// How work-items of a group meet; whether they can.
    fn meets(&mut self) -> bool {
        self.templates = self.collect_templates();
        let found = self.stage().and_then(|staged| Some((self.cut_lanes(&staged)?, staged)));
        found.map(|found| (self.lane_parts, self.staged) = found).is_some()
    }

    /// A schedule whose loops are resolved, and where its tensors lie.
    pub fn placed(expr: &'a TensorExpr, schedule: Schedule) -> Self {
        let (mut splits, walks) = resolve(expr, &schedule.loops);
        if schedule.meets() {
            splits.iter_mut().for_each(|split| split.blocks = split.groups * i64::from(split.lanes));
        }
        let mut nest = Self {
            expr,
            number: expr.arithmetic(),
            deep: deep_axis(expr),
            vector: schedule.vector().map(|own| own.axis),
            splits,
            walks,
            launched: schedule.bound(Bind::Group).rev().map(|own| own.axis.0).collect(),
            copied: schedule.copy_step(),
            reduction_lanes: schedule.reduction_lanes(),
            schedule,
            layouts: vec![],
            templates: vec![],
            staged: vec![],
            lane_parts: vec![],
            sampler: false,
        };
        nest.layouts = (0..=expr.inputs.len()).map(|tensor| nest.lay_out(tensor)).collect();
        nest
    }

    /// The axis along which a group goes round.
    pub fn round(&self) -> Option<AxisId> {
        self.schedule.rounds().map(|own| own.axis)
    }

    /// What is kept in registers through all rounds: every distinct load of it.
    pub fn kept(&self) -> Items {
        let mut kept = Items::default();
        let pass = self.expr.own_pass();
        let mut keep = |items: Items| {
            let own = items.list.into_iter().filter(|item| self.schedule.keeps(self.templates[item.template].tensor));
            own.for_each(|item| {
                intern(&mut kept, item);
            });
        };
        if self.schedule.stages.iter().any(|own| own.to == Near::Private) {
            // A step is never in a loop here.
            self.body(pass).into_iter().for_each(|tree| {
                if let Tree::Step(own) = tree {
                    keep(own.items)
                }
            });
            self.tile_points().iter().for_each(|at| keep(self.epilogue_items(pass, at)));
        }
        kept
    }

    /// The number of a point of the tile.
    pub fn point(&self, at: &[i64]) -> usize {
        self.splits.iter().zip(at).fold(0, |n, (split, &i)| n * split.tile as usize + i as usize)
    }

    /// Points of the tile.
    pub fn points(&self) -> u32 {
        self.splits.iter().map(|split| split.tile).product()
    }

    /// Vector lanes of an accumulator.
    pub fn width(&self) -> u8 {
        self.schedule.width() as u8
    }

    /// Vector lanes of a result: those of its accumulator, or 1 where they lie along the reduction.
    pub fn out_width(&self) -> u8 {
        if self.reduces_vectors() { 1 } else { self.width() }
    }

    /// Whether vectors lie along a reduction axis.
    pub fn reduces_vectors(&self) -> bool {
        self.schedule.reduces_vectors(self.expr)
    }

    /// Lanes of an accumulator after each half that is put onto the other, until it is as wide as a result.
    pub fn folds(&self) -> impl Iterator<Item = u8> + use<> {
        halvings(self.width(), self.out_width())
    }

    /// The same of a vector that is narrower than accumulators, until one lane is left: the rest of a reduction that vectors lie along. None of
    /// whole vectors.
    pub fn narrower(&self, width: u8) -> impl Iterator<Item = u8> + use<> {
        halvings(if width < self.width() { width } else { 1 }, 1)
    }

    /// The accumulator whose turn a point of the reduction is, of whole vectors: points of a trip have their turns in order.
    pub fn turn(&self, point: &[i64]) -> u32 {
        let written = |walk: &Walk| if walk.rolled { walk.trip } else { walk.extent };
        let number = point.iter().zip(&self.walks).fold(0, |n, (at, walk)| n * (written(walk) / walk.lanes) + at / walk.lanes);
        number.rem_euclid(self.schedule.accumulators.into()) as u32
    }

    /// Whether terms are left that make no whole vector of a reduction.
    pub fn has_rest(&self) -> bool {
        self.walks.iter().any(|walk| walk.extent % walk.lanes != 0)
    }

    /// How a reduction axis is walked over.
    pub fn walk(&self, a: AxisId) -> &Walk {
        &self.walks[a.0 - self.splits.len()]
    }

    /// Elements of a reduction axis in one trip of its innermost loop.
    pub fn trip(&self, a: AxisId) -> i64 {
        self.walk(a).trip
    }

    /// What vector lanes move a form by.
    pub fn along_vector(&self, form: &Index) -> i32 {
        self.vector.map_or(0, |a| form.coefficient(a))
    }

    /// Whether the variable part of a form is a multiple of a stride, so that the place within a part of its dimension is known.
    pub fn aligned(&self, form: &Index, stride: i64) -> bool {
        form.terms().iter().all(|&(a, c)| {
            let multiple = match self.splits.get(a.0) {
                Some(split) if split.blocks == 1 => 0,
                Some(split) => split.per_item(),
                None if !self.walk(a).rolled => 0,
                None if Some(a) == self.deep && self.trip(a) == self.walk(a).extent => 0,
                None => self.trip(a),
            };
            (i64::from(c) * multiple) % stride == 0
        })
    }

    /// Whether points of the expression read behind the end of a packed dimension and within its last block, where a bound on whole
    /// blocks does not give zero: what lies there is anything, except in constants, which are padded with zeros.
    fn meets_tail(&self, tensor: usize, (pack, block): (usize, i64), form: &Index) -> bool {
        let tensor = self.expr.tensor(tensor);
        let last = form.range(|a| Interval::below(axis(self.expr, a).extent)).hi;
        !is_free(tensor) && tensor.shape[pack] % block != 0 && last >= tensor.shape[pack].into()
    }

    /// Calls `f` for every load, pass by pass, of the body first.
    fn loads(&self, mut f: impl FnMut(Load<'a>)) {
        let reduced = !self.expr.reduce.is_empty();
        for pass in self.expr.passes() {
            pass.body.loads(&mut |tensor, index, _| f(Load { tensor, index, reduced }));
            let reduced = pass.combine == Combine::Each;
            pass.epilogue.loads(&mut |tensor, index, _| f(Load { tensor, index, reduced }));
        }
        if let Some(across) = &self.expr.across {
            across.epilogue.loads(&mut |tensor, index, _| f(Load { tensor, index, reduced: false }));
        }
    }

    fn collect_templates(&self) -> Vec<Template<'a>> {
        let mut templates: Vec<Template> = vec![];
        self.loads(|Load { tensor, index, .. }| {
            if !templates.iter().any(|t| t.is_of(tensor, index)) {
                let (lanes, sampled) = (self.lane_kind(tensor, index), self.sampled(tensor, index));
                templates.push(Template { tensor, index, lanes, sampled });
            }
        });
        templates
    }

    /// Whether a load can be made where its tensor lies.
    fn fits(&self, &Load { tensor, index, reduced }: &Load) -> bool {
        let layout = &self.layouts[tensor];
        if self.schedule.places[tensor] == Place::Panels && layout.is_rows() {
            // That is what buffers are.
            return false;
        }
        if let (Place::Tall(height), Some(axes)) = (self.schedule.places[tensor], layout.image_axes())
            && !axes[1].iter().any(|axis| axis.extent == i64::from(height))
        {
            // That is what rows are.
            return false;
        }
        if self.schedule.copies(tensor) {
            return self.ends_well(tensor, index) && self.near(index, layout) && self.staged(tensor, index).is_some();
        }
        let gathered = reduced && self.width() > WIDEST_GATHER && self.lane_kind(tensor, index) == LaneKind::Apart;
        !gathered && self.finds(tensor, index)
    }

    /// Whether elements can be read, or found from there on, where their tensor lies.
    fn finds(&self, tensor: usize, index: &[Index]) -> bool {
        self.ends_well(tensor, index) && self.holds(index, &self.layouts[tensor])
    }

    /// Whether a bound on whole blocks gives zero behind the end of the packed dimension, wherever points of the expression read there.
    fn ends_well(&self, tensor: usize, index: &[Index]) -> bool {
        self.layouts[tensor].block().is_none_or(|block| !self.meets_tail(tensor, block, &index[block.0]))
    }

    /// Whether the places of an index in memory are affine in the numbers of blocks, and have 32 bits.
    fn holds(&self, index: &[Index], layout: &Layout) -> bool {
        layout.parts().all(|(d, stride)| self.aligned(&index[d], stride)) && self.near(index, layout)
    }

    /// Whether the steps of lanes, groups and loops have 32 bits in the coordinates of an argument.
    fn near(&self, index: &[Index], layout: &Layout) -> bool {
        let step = |&(a, c): &(AxisId, i32)| {
            let lanes = self.splits.get(a.0).map_or(self.reduction_lanes, |split| split.lanes);
            let scale = if Some(a) == self.deep { self.scale(a).max(self.copied) } else { self.scale(a) };
            i64::from(c.unsigned_abs()) * scale * i64::from(lanes)
        };
        let steps = |d: usize| index[d].terms().iter().map(step).sum::<i64>();
        let linear = |axes: &[MemoryAxis]| {
            let mut axes = axes.iter().rev().scan(1_i64, |stride, axis| {
                let own = steps(axis.dim).saturating_mul(*stride);
                *stride = stride.saturating_mul(layout.extents()[axis.dim]);
                Some(own)
            });
            axes.try_fold(0_i64, i64::checked_add)
        };
        let most = match layout.image_axes() {
            None => (0..index.len()).map(steps).max(),
            Some([columns, rows]) => linear(columns).zip(linear(rows)).map(|(x, y)| x.max(y)),
        };
        most.is_some_and(|most| most <= i32::MAX.into())
    }

    /// What accesses of an index share.
    pub fn places(&self, index: &[Index], layout: &Layout) -> Option<Places> {
        let dims: Coords = index.iter().map(|form| self.in_blocks(form)).collect::<Option<_>>()?;
        Some(Places { coords: layout.varying(&dims)?, dims })
    }

    /// A form in blocks, without its constant.
    pub fn in_blocks(&self, form: &Index) -> Option<Coord> {
        Coord::of(form.terms().iter().map(|&(a, c)| (a, i64::from(c) * self.scale(a))), 0)
    }

    /// What the term at a point of the tile and of the reduction is multiplied by; `None` where terms have no known factors.
    pub fn factor(&self, pass: Pass, tile: &[i64], point: &[i64]) -> Option<f64> {
        let at = |a: AxisId| if a.0 < self.splits.len() { tile[a.0] } else { point[a.0 - self.splits.len()] };
        pass.coefficients.map(|own| own.value(at))
    }

    /// Elements that one step of an axis's variable advances by.
    fn scale(&self, a: AxisId) -> i64 {
        match self.splits.get(a.0) {
            Some(split) => split.per_item(),
            None => self.trip(a),
        }
    }

    fn lane_kind(&self, tensor: usize, index: &[Index]) -> LaneKind {
        let moving: SmallVec<[(usize, i32); 4]> =
            index.iter().enumerate().map(|(d, form)| (d, self.along_vector(form))).filter(|m| m.1 != 0).collect();
        if moving.is_empty() {
            return LaneKind::Same;
        }
        let staged = self.schedule.copies(tensor);
        let innermost = if staged { self.read_along(index) } else { self.layouts[tensor].innermost().map(|own| own.0) };
        match moving[..] {
            [(d, 1)] if Some(d) == innermost => LaneKind::Consecutive,
            _ => LaneKind::Apart,
        }
    }

    /// The template of a load.
    pub fn template(&self, tensor: usize, index: &[Index]) -> usize {
        // Every load was collected by `collect_templates`.
        self.templates.iter().position(|t| t.is_of(tensor, index)).unwrap_or_default()
    }

    /// Every distinct load of scalars at reduction points, over the whole tile, in vectors of so many lanes.
    pub fn items<'s>(&self, scalars: impl Iterator<Item = &'s ScalarExpr>, points: &[Offsets], width: u8) -> Items {
        let mut items = Items::default();
        let mut templates: SmallVec<[usize; 8]> = SmallVec::new();
        for scalar in scalars {
            scalar.loads(&mut |tensor, index, _| {
                let t = self.template(tensor, index);
                if !templates.contains(&t) {
                    templates.push(t);
                }
            });
        }
        for point in points {
            for &t in &templates {
                let template = &self.templates[t];
                let counts: Offsets = (0..self.splits.len())
                    .map(|a| if template.index.iter().any(|f| f.coefficient(AxisId(a)) != 0) { i64::from(self.splits[a].tile) } else { 1 })
                    .collect();
                for_each(&counts, |tile| {
                    self.operand(t, tile, point, width, &mut items);
                });
            }
        }
        items
    }

    /// Where the value, of so many lanes, of a load at a tile point and reduction point is found; items it needs are appended where
    /// missing.
    pub fn operand(&self, t: usize, tile: &[i64], point: &[i64], width: u8, items: &mut Items) -> Operand {
        let template = &self.templates[t];
        let offset = |lane: i64| -> Offsets { template.index.iter().map(|form| self.offset(form, tile, point, lane)).collect() };
        if width == 1 || template.lanes == LaneKind::Same {
            return Operand::Scalar(self.element(t, offset(0), items));
        }
        let layout = self.read_layout(t);
        let piece = if template.lanes == LaneKind::Apart { 1 } else { layout.together(&offset(0), width) };
        let part = |first: u8| {
            let offsets = offset(i64::from(first));
            if piece == 1 || self.texels(t).is_some() {
                return Part { width: piece, ..self.element(t, offsets, items) };
            }
            Part { item: intern(items, Item { template: t, offsets, width: piece }), start: 0, width: piece }
        };
        Operand::Lanes((0..width).step_by(piece.into()).map(part).collect())
    }

    /// What a form is at a tile point, a reduction point and a vector lane beside what it is at the first ones of the blocks.
    pub fn offset(&self, form: &Index, tile: &[i64], point: &[i64], lane: i64) -> i64 {
        let at = |&(a, c): &(AxisId, i32)| {
            i64::from(c)
                * match self.splits.get(a.0) {
                    Some(split) if split.width > 1 => tile[a.0] * i64::from(split.width) + lane,
                    Some(_) => tile[a.0],
                    None => point[a.0 - self.splits.len()] + if Some(a) == self.vector { lane } else { 0 },
                }
        };
        form.constant + form.terms().iter().map(at).sum::<i64>()
    }

    /// One element: of a scalar load, or a component of a texel.
    fn element(&self, t: usize, mut offsets: Offsets, items: &mut Items) -> Part {
        match self.texels(t) {
            None => Part { item: intern(items, Item { template: t, offsets, width: 1 }), start: 0, width: 1 },
            Some((pack, texel)) => {
                let component = offsets[pack].rem_euclid(texel);
                offsets[pack] -= component;
                Part { item: intern(items, Item { template: t, offsets, width: texel as u8 }), start: component as u8, width: 1 }
            }
        }
    }

    /// The points of the tile, as offsets in tiles of each parallel axis.
    pub fn tile_points(&self) -> Vec<Offsets> {
        let counts: Offsets = self.splits.iter().map(|s| i64::from(s.tile)).collect();
        let mut points = vec![];
        for_each(&counts, |p| points.push(p.into()));
        points
    }

    /// The first elements of an axis's blocks, loops of `looped` axes running.
    pub fn starts(&self, a: AxisId, looped: &[bool]) -> Interval {
        let scale = self.scale(a);
        let blocks = match self.splits.get(a.0) {
            Some(split) => split.blocks,
            None if looped[a.0 - self.splits.len()] => self.walk(a).extent / scale,
            None => 1,
        };
        Interval::new(0, (blocks - 1) * scale)
    }

    /// How a tensor lies where a load reads it: in local memory if it is copied there.
    pub fn read_layout(&self, template: usize) -> &Layout {
        let staged = self.staged.iter().find(|own| own.template == template);
        staged.map_or(&self.layouts[self.templates[template].tensor], |own| &own.local)
    }

    /// The packed dimension of what a load reads in whole texels, and their width: of an image, or of texels that were copied from one.
    pub fn texels(&self, template: usize) -> Option<(usize, i64)> {
        let layout = self.read_layout(template);
        layout.block().filter(|_| layout.is_image() || self.schedule.copies(self.templates[template].tensor))
    }

    /// The dimensions of a load that may leave the tensor: (dimension, whether each vector lane is judged by itself). What was copied has
    /// zeros there, and so has what lies beside an image whose sampler answers.
    pub fn bounds(&self, item: &Item, looped: &[bool]) -> SmallVec<[(usize, bool); 4]> {
        let template = &self.templates[item.template];
        let layout = &self.layouts[template.tensor];
        let mut bounds = SmallVec::new();
        if self.staged.iter().any(|own| own.template == item.template) {
            return bounds;
        }
        for (d, form) in template.index.iter().enumerate() {
            let run = layout.run(d, item.width);
            if !template.sampled.contains(&d) && !self.stays(form, item.offsets[d], run, layout.extents()[d], looped) {
                bounds.push((d, run > 0));
            }
        }
        bounds
    }

    /// Whether all places along a dimension, so many from an offset on, are within its extent, loops of `looped` axes running.
    pub fn stays(&self, form: &Index, offset: i64, run: i64, extent: i64, looped: &[bool]) -> bool {
        // The form's constant is part of the offset.
        let range = form.range(|a| self.starts(a, looped)) + Interval::exactly(offset) - Interval::exactly(form.constant);
        range.lo >= 0 && range.hi + i128::from(run) < extent.into()
    }
}

/// Lanes that are left each time that one half of so many is put onto the other, until there are no more than the least.
fn halvings(lanes: u8, least: u8) -> impl Iterator<Item = u8> {
    std::iter::successors(Some(lanes), |lanes| Some(lanes / 2)).skip(1).take_while(move |lanes| *lanes >= least)
}

fn intern(items: &mut Items, item: Item) -> usize {
    let key = item.offsets.iter().fold(item.template as u64, |key, &o| (key.rotate_left(5) ^ o as u64).wrapping_mul(0x517c_c1b7_2722_0a95));
    // A step holds tens of items: scanning their keys beats a map.
    let known = items.keys.iter().zip(&items.list).position(|(k, i)| *k == key && *i == item);
    known.unwrap_or_else(|| {
        items.keys.push(key);
        items.list.push(item);
        items.list.len() - 1
    })
}

/// Items while they are collected, each once.
#[derive(Clone, Debug, Default)]
pub struct Items {
    /// The items in order of first use.
    pub list: Vec<Item>,
    keys: Vec<u64>,
}

/// Every point of a box, last dimension fastest.
pub fn for_each(counts: &[i64], mut f: impl FnMut(&[i64])) {
    let mut at: Offsets = SmallVec::from_elem(0, counts.len());
    loop {
        f(&at);
        let mut d = counts.len();
        loop {
            if d == 0 {
                return;
            }
            d -= 1;
            at[d] += 1;
            if at[d] < counts[d] {
                break;
            }
            at[d] = 0;
        }
    }
}

impl Nest<'_> {
    /// Where the output lies.
    pub fn output_layout(&self) -> &Layout {
        // `layouts` has one entry per input and one for the output.
        &self.layouts[self.expr.inputs.len()]
    }

    /// What the epilogue of one tile point of a pass loads (and the body, where nothing is reduced).
    pub fn epilogue_items(&self, pass: Pass, at: &[i64]) -> Items {
        let body = self.expr.reduce.is_empty().then_some(pass.body);
        self.items_at(body.into_iter().chain([pass.epilogue]), at)
    }
}
