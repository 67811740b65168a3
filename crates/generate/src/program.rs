//! From a resolved configuration to statements.

mod across;
mod gather;
mod value;

use crate::expr::{Across, AxisId, Combine, Pass, ScalarExpr, TensorExpr};
use crate::layout::{Coord, Coords, image_format};
use crate::names::Names;
use crate::nest::loops::{Counts, Step, Tree};
use crate::nest::share::Partials;
use crate::nest::stage::{Chunk, Copied, Moves, Put, Within};
use crate::nest::{Item, Items, Nest, Offsets, Operand, Part, Places};
use crate::program::value::{Value, literal, splat};
use warpsight_ir::{
    Access, Affine, BinaryOp, Border, Bound, Expr, GroupAxis, ImageKind, LaneAxis, Launch, Name, Param, ParamKind, Program, Scalar, Scope,
    Space, Stmt, StorePolicy, Type, UnaryOp, Unroll,
};

/// The Program of a configuration, coordinates not linearised. `None` where they exceed 32 bits, as in no configuration that is legal.
pub fn program(nest: &Nest) -> Option<Program> {
    let places = nest.templates.iter().map(|t| nest.places(t.index, &nest.layouts[t.tensor])).collect::<Option<_>>()?;
    let stored = nest.places(&nest.expr.store, nest.output_layout())?;
    let writer = Writer { nest, expr: nest.expr, names: Names::new(nest.expr), places, stored, kept: nest.kept().list };
    Some(Program {
        name: nest.expr.name.clone(),
        sizes: vec![],
        params: writer.params(),
        arrays: nest.local_arrays(),
        launch: writer.launch(),
        body: writer.body()?,
    })
}

/// What is at hand where a statement stands: loops, and what was copied to local memory.
#[derive(Clone, Copy)]
struct Here<'s> {
    looped: &'s [bool],
    copied: Option<&'s Chunk>,
}

/// A point for which a scalar is evaluated: of the tile, of the reduction, and so many lanes of it, loops of some axes running.
#[derive(Clone, Copy)]
struct At<'s> {
    tile: &'s [i64],
    point: &'s [i64],
    width: u8,
    looped: &'s [bool],
}

/// One load of a copy, of so many elements of an input, and what puts them into local memory.
struct Copying {
    tensor: usize,
    width: u8,
    load: Expr,
    stores: Vec<Stmt>,
}

struct Writer<'a> {
    nest: &'a Nest<'a>,
    expr: &'a TensorExpr,
    names: Names<'a>,
    /// What the loads of each template share.
    places: Vec<Places>,
    /// What stores share.
    stored: Places,
    /// What is loaded before all rounds.
    kept: Vec<Item>,
}

impl Writer<'_> {
    fn params(&self) -> Vec<Param> {
        let written = if self.expr.kept().is_some() { Access::ReadWrite } else { Access::Write };
        let tensors = self.expr.inputs.iter().map(|t| (t, Access::Read)).chain([(&self.expr.output, written)]);
        tensors
            .zip(&self.nest.layouts)
            .map(|((tensor, access), layout)| {
                let kind = match layout.image_size() {
                    None => ParamKind::Buffer {
                        space: Space::Global,
                        element: tensor.element,
                        dims: layout.axes().iter().map(|axis| Expr::int(axis.extent)).collect(),
                        access,
                    },
                    Some((width, height)) => {
                        let format = image_format(tensor.element);
                        ParamKind::Image {
                            kind: ImageKind::Image2d,
                            format,
                            width: Expr::int(width),
                            height: Expr::int(height),
                            access,
                            border: Border::Zero,
                        }
                    }
                };
                Param { name: tensor.name.clone(), kind }
            })
            .collect()
    }

    fn launch(&self) -> Launch {
        let groups = self
            .nest
            .launched
            .iter()
            .map(|&a| GroupAxis { name: self.names.group(AxisId(a)), extent: Expr::int(self.nest.splits[a].launched()) });
        let lanes = self.nest.lane_parts.iter().enumerate().map(|(n, part)| LaneAxis { name: self.digit(n), extent: part.size });
        Launch { groups: groups.collect(), lanes: lanes.collect(), subgroup: None }
    }

    /// The name of a digit of lanes.
    fn digit(&self, n: usize) -> Name {
        self.names.digit(&self.nest.lane_parts, n)
    }

    fn body(&self) -> Option<Vec<Stmt>> {
        let mut stmts = vec![];
        for a in (0..self.nest.splits.len()).filter(|&a| self.nest.lane_parts.iter().filter(|part| part.axis == a).count() > 1) {
            let digits = self.nest.lane_parts.iter().enumerate().filter(|own| own.1.axis == a);
            let lane = digits.map(|(n, part)| mul(Expr::Var(self.digit(n)), part.below.into())).reduce(add);
            stmts.extend(lane.map(|value| Stmt::Let { name: self.names.lane(AxisId(a)), value }));
        }
        let round = self.nest.round();
        let (inside, outside): (Vec<usize>, Vec<usize>) = (0..self.nest.splits.len()).partition(|&a| Some(AxisId(a)) == round);
        stmts.extend(outside.iter().map(|&a| self.tile(a)));
        let work = self.work()?;
        let work = match round {
            Some(a) => {
                let own = inside.iter().map(|&a| self.tile(a)).chain(self.busy(&inside, work));
                // What others read in this round is theirs until all have.
                let body = own.chain(self.nest.schedule.meets().then(meet)).collect();
                let (var, rounds) = (self.names.round(a), self.nest.splits[a.0].rounds);
                let (from, to) = (Expr::int(0), Expr::int(rounds));
                let none = self.unlooped();
                let kept = |(n, item)| Stmt::Let { name: self.names.kept(n), value: self.load(item, Here { looped: &none, copied: None }) };
                let kept = self.kept.iter().enumerate().map(kept);
                kept.chain([Stmt::For { var, from, to, step: 1, unroll: Unroll::None, body }]).collect()
            }
            None => work,
        };
        stmts.extend(self.busy(&outside, work));
        Some(stmts)
    }

    /// The number of a group's tile along an axis.
    fn group(&self, a: usize) -> Expr {
        let group = Expr::Var(self.names.group(AxisId(a)));
        match self.nest.round().filter(|own| own.0 == a) {
            Some(own) => add(mul(group, self.nest.splits[a].rounds), Expr::Var(self.names.round(own))),
            None => group,
        }
    }

    /// The number of a work-item's tile along an axis.
    fn tile(&self, a: usize) -> Stmt {
        let (group, lanes) = (self.group(a), self.nest.splits[a].lanes);
        let value = if lanes > 1 { add(mul(group, i64::from(lanes)), Expr::Var(self.names.lane(AxisId(a)))) } else { group };
        Stmt::Let { name: self.names.block(AxisId(a)), value }
    }

    /// Work of those that have some along these axes.
    fn busy(&self, axes: &[usize], work: Vec<Stmt>) -> Vec<Stmt> {
        let idle = axes.iter().map(|&a| (a, &self.nest.splits[a])).filter(|(_, s)| s.idle_lanes());
        let condition = idle
            .map(|(a, s)| Expr::binary(BinaryOp::Lt, Expr::Var(self.names.block(AxisId(a))), Expr::int(s.blocks)))
            .reduce(|a, b| Expr::binary(BinaryOp::And, a, b));
        match condition {
            Some(condition) => vec![Stmt::If { condition, then: work, otherwise: vec![] }],
            None => work,
        }
    }

    fn work(&self) -> Option<Vec<Stmt>> {
        let mut stmts = vec![];
        let tile = self.nest.tile_points();
        for (number, pass) in self.expr.passes().take(self.expr.before.len()).enumerate() {
            let ty = Type::vector(self.nest.number, self.nest.out_width());
            let result = |n: usize| self.names.before(number, n);
            stmts.extend((0..tile.len()).map(|n| Stmt::Var { name: result(n), ty, init: splat(literal(ty.scalar, 0.0), ty.width) }));
            let mut own = self.reduction(pass, &tile)?;
            if let Some(partials) = self.nest.partials() {
                self.combine_lanes(&partials, pass.combine, |n, stmts| self.folded(pass.combine, n, stmts), &mut own);
                own.push(meet());
            }
            own.extend(tile.iter().enumerate().map(|(n, at)| {
                let (mut stmts, value) = self.result(pass, n, at);
                stmts.push(Stmt::Assign { name: result(n), value });
                Stmt::Scope(stmts)
            }));
            // What lanes have in common is theirs before others take its place, where others do.
            own.extend(self.nest.reduction_lane().filter(|_| self.expr.combines_after(number)).map(|_| meet()));
            stmts.push(Stmt::Scope(own));
        }
        stmts.extend(self.own_pass(&tile)?);
        Some(stmts)
    }

    /// The walk that stores.
    fn own_pass(&self, tile: &[Offsets]) -> Option<Vec<Stmt>> {
        let pass = self.expr.own_pass();
        if pass.combine == Combine::Each {
            return self.trees(&self.nest.body(pass), pass, tile, None);
        }
        if let Some(across) = &self.expr.across {
            return self.rows(pass, across, tile);
        }
        let mut stmts = if self.expr.reduce.is_empty() { vec![] } else { self.reduction(pass, tile)? };
        let none = self.unlooped();
        let results = tile.iter().enumerate().map(|(n, at)| {
            let (mut stmts, value) = self.result(pass, n, at);
            stmts.push(Stmt::Let { name: self.names.value(), value });
            self.store(At { tile: at, point: &[], width: self.nest.out_width(), looped: &none }, &mut stmts);
            Stmt::Scope(stmts)
        });
        match self.nest.partials() {
            Some(own) => {
                self.combine_lanes(&own, pass.combine, |n, stmts| self.folded(pass.combine, n, stmts), &mut stmts);
                stmts.push(Stmt::If { condition: self.below(own.along, 1), then: results.collect(), otherwise: vec![] });
            }
            None => stmts.extend(results),
        }
        Some(stmts)
    }

    /// What this work-item combines.
    fn reduction(&self, pass: Pass, tile: &[Offsets]) -> Option<Vec<Stmt>> {
        let number = self.nest.number;
        let (mut stmts, start) = (vec![], literal(number, pass.combine.start()));
        let ty = Type::vector(number, self.nest.width());
        for n in 0..tile.len() {
            stmts.extend(self.accumulators(n).map(|name| Stmt::Var { name, ty, init: splat(start.clone(), ty.width) }));
            if self.nest.has_rest() {
                stmts.push(Stmt::Var { name: self.names.rest(n), ty: Type::scalar(number), init: start.clone() });
            }
        }
        stmts.extend(self.trees(&self.nest.body(pass), pass, tile, None)?);
        Some(stmts)
    }

    /// Whether this is one of the first of the lanes that combine what they have.
    fn below(&self, along: AxisId, lanes: u32) -> Expr {
        Expr::binary(BinaryOp::Lt, Expr::Var(self.names.lane(along)), Expr::int(lanes.into()))
    }

    /// Puts one half of what lanes have onto the other until the first lane has it all; `folded` makes what this one has of a result.
    fn combine_lanes(&self, own: &Partials, combine: Combine, folded: impl Fn(usize, &mut Vec<Stmt>) -> Expr, stmts: &mut Vec<Stmt>) {
        let results = 0..own.results as usize;
        let put = |n: usize, value: Expr| {
            let (target, index) = (self.names.partial(), self.partial_index(own, n, Some(0)));
            Stmt::Store { target, index, value, guard: vec![], policy: StorePolicy::WriteBack }
        };
        for n in results.clone() {
            let mut part = vec![];
            let value = folded(n, &mut part);
            part.push(put(n, value));
            stmts.push(Stmt::Scope(part));
        }
        for half in own.halves() {
            stmts.push(meet());
            let both =
                |n: usize| Expr::binary(combine.operation(), self.partial_value(own, n, Some(0)), self.partial_value(own, n, Some(half)));
            let then = results.clone().map(|n| put(n, both(n))).collect();
            stmts.push(Stmt::If { condition: self.below(own.along, half), then, otherwise: vec![] });
        }
    }

    /// What the lane so far behind this one has of a result, or the first lane.
    fn partial_value(&self, own: &Partials, n: usize, behind: Option<u32>) -> Expr {
        let (source, index) = (self.names.partial(), self.partial_index(own, n, behind));
        Expr::Load { source, index, width: own.width, guard: vec![] }
    }

    fn partial_index(&self, own: &Partials, n: usize, behind: Option<u32>) -> Vec<Expr> {
        let lane = |a: &AxisId| match behind {
            _ if *a != own.along => Expr::Var(self.names.lane(*a)),
            Some(behind) => sum(std::iter::once(Expr::Var(self.names.lane(*a))), behind.into()),
            None => Expr::int(0),
        };
        std::iter::once(Expr::int(n as i64)).chain(own.axes.iter().map(lane)).chain([Expr::int(0)]).collect()
    }

    fn trees<'t>(&self, trees: &'t [Tree<Step>], pass: Pass, tile: &[Offsets], mut copied: Option<&'t Chunk>) -> Option<Vec<Stmt>> {
        let mut stmts = vec![];
        for tree in trees {
            match tree {
                Tree::Loop { axis, trips, counts, body, .. } => {
                    let (trip, inner) = (self.names.trip(*axis), self.names.inner(*axis));
                    let blocks = |of: u32| mul(Expr::Var(trip.clone()), of.into());
                    let block = |first, own| Some(Stmt::Let { name: self.names.block(*axis), value: add(first, Expr::Var(own)) });
                    let (var, own) = match *counts {
                        Counts::Blocks => (self.names.block(*axis), None),
                        Counts::Lanes(lanes) => (trip.clone(), block(blocks(lanes), self.names.lane(*axis))),
                        Counts::Parts => (trip, None),
                        Counts::Inside { first, of } => {
                            (inner.clone(), block(first.map_or_else(|| blocks(of), |first| Expr::int(first.into())), inner))
                        }
                    };
                    stmts.push(Stmt::For {
                        var,
                        from: Expr::int(0),
                        to: Expr::int(i64::from(*trips)),
                        step: 1,
                        unroll: Unroll::None,
                        body: own.into_iter().chain(self.trees(body, pass, tile, copied)?).collect(),
                    });
                }
                Tree::Lanes { axis, first, lanes, body } => {
                    let own = first.map(|first| self.own_block(*axis, (first > 0).then(|| Expr::int(first.into()))));
                    let then: Vec<Stmt> = own.into_iter().chain(self.trees(body, pass, tile, copied)?).collect();
                    stmts.push(match *lanes < self.nest.reduction_lanes {
                        true => Stmt::If { condition: self.below(*axis, *lanes), then, otherwise: vec![] },
                        false => Stmt::Scope(then),
                    });
                }
                Tree::Step(step) => stmts.push(Stmt::Scope(self.step(step, pass, tile, copied))),
                Tree::Copy(own) => {
                    copied = Some(own);
                    self.copy(own, &mut stmts)?;
                }
                Tree::Ahead { chunk, body } => {
                    let first = self.copies(&chunk.first())?.into_iter().enumerate().map(|(n, own)| Stmt::Var {
                        name: self.names.copied(n),
                        ty: Type::vector(self.expr.inputs[own.tensor].element.widened(), own.width),
                        init: own.load,
                    });
                    let mut all: Vec<Stmt> = first.collect();
                    all.extend(self.trees(body, pass, tile, copied)?);
                    stmts.push(Stmt::Scope(all));
                }
            }
        }
        Some(stmts)
    }

    /// The block of a lane that shares a reduction, of those from the first on.
    fn own_block(&self, axis: AxisId, first: Option<Expr>) -> Stmt {
        let lane = Expr::Var(self.names.lane(axis));
        Stmt::Let { name: self.names.block(axis), value: first.map_or(lane.clone(), |first| add(first, lane)) }
    }

    /// All work-items of the group copy, then meet; those of an earlier copy are waited for before. What one copies is loaded before any of it
    /// is stored, so that it waits for memory once; or what the next trip copies is when all have met, so that it waits for that while it computes.
    fn copy(&self, chunk: &Chunk, stmts: &mut Vec<Stmt>) -> Option<()> {
        stmts.extend(chunk.again.then(meet));
        let (mut loads, mut stores) = (vec![], vec![]);
        for (n, own) in self.copies(chunk)?.into_iter().enumerate() {
            loads.push((self.names.copied(n), own.load));
            stores.extend(own.stores);
        }
        if chunk.ahead.is_some() {
            stmts.extend(stores);
            stmts.push(meet());
            stmts.extend(loads.into_iter().map(|(name, value)| Stmt::Assign { name, value }));
        } else {
            let loads = loads.into_iter().map(|(name, value)| Stmt::Let { name, value });
            stmts.push(Stmt::Scope(loads.chain(stores).collect()));
            stmts.push(meet());
        }
        Some(())
    }

    /// All loads of a copy, with the stores of what each brings.
    fn copies(&self, chunk: &Chunk) -> Option<Vec<Copying>> {
        let mut all = vec![];
        for own in &self.nest.staged {
            let tensor = self.nest.templates[own.template].tensor;
            let copies = self.nest.copies(own, chunk)?;
            for number in 0..copies.number() {
                let copied = copies.at(number)?;
                let stores = self.stored(tensor, &copied, &self.names.copied(all.len()));
                all.push(Copying { tensor, width: copied.width, load: self.copied(tensor, &copied), stores });
            }
        }
        Some(all)
    }

    fn copied(&self, tensor: usize, own: &Copied) -> Expr {
        let guard = own.part.iter().chain(&own.tensor).map(|own| self.within(own)).collect();
        self.read(tensor, own.load.iter().map(|form| self.moved(form)).collect(), own.width, guard)
    }

    /// A load of an argument where it lies: of elements side by side, or of a texel.
    fn read(&self, tensor: usize, mut index: Vec<Expr>, width: u8, guard: Vec<Bound>) -> Expr {
        let source = self.expr.tensor(tensor).name.clone();
        if !self.nest.layouts[tensor].is_image() {
            return Expr::Load { source, index, width, guard };
        }
        // An image has exactly two coordinates.
        let y = index.pop().unwrap_or(Expr::int(0));
        let x = index.pop().unwrap_or(Expr::int(0));
        Expr::Texel { image: source, x: Box::new(x), y: Box::new(y), guard }
    }

    fn stored(&self, tensor: usize, own: &Copied, name: &Name) -> Vec<Stmt> {
        let store = |put: &Put| {
            let (whole, start, width) = (Expr::Var(name.clone()), put.start, put.width);
            let value = if width == own.width { whole } else { Expr::Slice { vector: Box::new(whole), start, width } };
            let index = put.to.iter().map(|form| self.moved(form)).collect();
            let guard = own.part.iter().map(|own| self.within(own)).collect();
            Stmt::Store { target: self.names.local(tensor), index, value, guard, policy: StorePolicy::WriteBack }
        };
        own.stores.iter().map(store).collect()
    }

    fn within(&self, (value, extent): &Within) -> Bound {
        Bound { value: self.moved(value), extent: Expr::int(*extent), per_lane: false }
    }

    fn moved(&self, form: &Affine<Moves>) -> Expr {
        let moved = |moves| match moves {
            Moves::Group(a) => self.group(a),
            Moves::Lane(n) => Expr::Var(self.digit(n)),
            Moves::Trip(a) if self.nest.nested() => Expr::Var(self.names.trip(a)),
            Moves::Trip(a) => Expr::Var(self.names.block(a)),
        };
        sum(form.terms().iter().map(|&(moves, c)| mul(moved(moves), i64::from(c))), form.constant)
    }

    fn step(&self, step: &Step, pass: Pass, tile: &[Offsets], copied: Option<&Chunk>) -> Vec<Stmt> {
        let mut stmts = self.lets(&step.items.list, Here { looped: &step.looped, copied });
        let mut items = step.items.clone();
        for point in &step.points {
            for (n, own) in tile.iter().enumerate() {
                let width = step.width;
                let factor = self.nest.factor(pass, own, point);
                if factor == Some(0.0) {
                    continue;
                }
                let at = At { tile: own, point, width, looped: &step.looped };
                let turn = (self.nest.turn(point), self.nest.schedule.accumulators);
                let name = if width == self.nest.width() { self.names.acc(n, turn) } else { self.names.rest(n) };
                let acc = || Expr::Var(name.clone());
                let mut value = |s: &ScalarExpr| self.value(s, at, &mut items, None);
                let updated = match (pass.combine, pass.body) {
                    (Combine::Each, body) => {
                        let acc = self.number(self.lanes_of(value(body), width), width);
                        let value = self.stored_value(self.value(pass.epilogue, at, &mut items, Some(&acc)), width);
                        let mut stored = vec![Stmt::Let { name: self.names.value(), value }];
                        self.store(at, &mut stored);
                        stmts.push(Stmt::Scope(stored));
                        continue;
                    }
                    (_, body) if factor.is_some() => {
                        let (factor, value) = (literal(self.nest.number, factor.unwrap_or(1.0)), self.lanes_of(value(body), width));
                        Expr::Fma(Box::new(splat(factor, width)), Box::new(value), Box::new(acc()))
                    }
                    (combine, body) if pass.kept || self.nest.narrower(width).next().is_some() => {
                        let mut own = vec![];
                        let made = self.number(self.lanes_of(value(body), width), width);
                        let value = if pass.kept { self.stored_value(made, width) } else { made.expr };
                        own.push(Stmt::Let { name: self.names.value(), value });
                        if pass.kept {
                            self.store(at, &mut own);
                        }
                        let value = self.halved(combine, Expr::Var(self.names.value()), self.nest.narrower(width), &mut own);
                        let value = Expr::binary(combine.operation(), acc(), value);
                        own.push(Stmt::Assign { name, value });
                        stmts.push(Stmt::Scope(own));
                        continue;
                    }
                    (Combine::Sum, ScalarExpr::Binary(BinaryOp::Mul, a, b)) => {
                        let [a, b] = [a, b].map(|own| self.lanes_of(value(own), width));
                        Expr::Fma(Box::new(a), Box::new(b), Box::new(acc()))
                    }
                    (combine, body) => Expr::binary(combine.operation(), acc(), self.lanes_of(value(body), width)),
                };
                stmts.push(Stmt::Assign { name, value: updated });
            }
        }
        debug_assert_eq!(items.list.len(), step.items.list.len(), "every load of a step is among its items");
        stmts
    }

    /// The accumulators of a point.
    fn accumulators(&self, n: usize) -> impl Iterator<Item = Name> {
        let of = self.nest.schedule.accumulators;
        (0..of).map(move |turn| self.names.acc(n, (turn, of)))
    }

    /// The value of the accumulators of a point together: one half of their lanes onto the other until one is left where they lie along the
    /// reduction, then what made no whole vector.
    fn folded(&self, combine: Combine, n: usize, stmts: &mut Vec<Stmt>) -> Expr {
        let mut parts: Vec<Expr> = self.accumulators(n).map(Expr::Var).collect();
        let several = parts.len() > 1;
        while parts.len() > 1 {
            let others = parts.split_off(parts.len().div_ceil(2));
            let pairs = others.into_iter().enumerate();
            pairs.for_each(|(n, other)| parts[n] = Expr::binary(combine.operation(), parts[n].clone(), other));
        }
        // A schedule has one at least.
        let mut value = parts.pop().unwrap_or_else(|| splat(literal(self.nest.number, combine.start()), self.nest.width()));
        if several {
            stmts.push(Stmt::Let { name: self.names.joined(), value });
            value = Expr::Var(self.names.joined());
        }
        value = self.halved(combine, value, self.nest.folds(), stmts);
        if self.nest.has_rest() { Expr::binary(combine.operation(), value, Expr::Var(self.names.rest(n))) } else { value }
    }

    /// A vector of which one half is put onto the other, as many times as lanes are left.
    fn halved(&self, combine: Combine, mut value: Expr, left: impl Iterator<Item = u8>, stmts: &mut Vec<Stmt>) -> Expr {
        for width in left {
            let half = |start: u8| Expr::Slice { vector: Box::new(value.clone()), start, width };
            stmts.push(Stmt::Let { name: self.names.folded(width), value: Expr::binary(combine.operation(), half(0), half(width)) });
            value = Expr::Var(self.names.folded(width));
        }
        value
    }

    fn unlooped(&self) -> Vec<bool> {
        vec![false; self.expr.reduce.len()]
    }

    /// What a pass comes to at a point of the tile, after statements that make it.
    fn result(&self, pass: Pass, n: usize, tile: &Offsets) -> (Vec<Stmt>, Expr) {
        let none: Offsets = Offsets::from_elem(0, self.expr.reduce.len());
        let mut items = self.nest.epilogue_items(pass, tile);
        let looped = self.unlooped();
        let mut stmts = self.lets(&items.list, Here { looped: &looped, copied: None });
        let width = self.nest.out_width();
        let at = At { tile, point: &none, width, looped: &looped };
        let acc = if self.expr.reduce.is_empty() {
            let body = self.value(pass.body, at, &mut items, None);
            let width = body.width;
            self.number(self.lanes_of(body, width), width)
        } else {
            let expr = match self.nest.partials().filter(|_| self.expr.across.is_none()) {
                Some(own) => {
                    stmts.push(Stmt::Let { name: self.names.total(), value: self.partial_value(&own, n, None) });
                    Expr::Var(self.names.total())
                }
                None => self.folded(pass.combine, n, &mut stmts),
            };
            self.number(expr, width)
        };
        let value = self.value(pass.epilogue, at, &mut items, Some(&acc));
        // What an earlier reduction comes to is a number, and so is what is held.
        let stored = std::ptr::eq(pass.epilogue, self.expr.stored());
        (stmts, if stored { self.stored_value(value, width) } else { self.lanes_of(value, width) })
    }

    /// A value as elements of the output are.
    fn stored_value(&self, value: Value, width: u8) -> Expr {
        let kind = self.expr.output.element.widened();
        let value = if kind == Scalar::I32 { value } else { value.to(self.nest.number) };
        value.to(kind).widen(width)
    }

    /// A number that the expression computes.
    fn number(&self, expr: Expr, width: u8) -> Value {
        Value { expr, width, kind: self.nest.number }
    }

    /// What is computed in where an expression says `F32`.
    fn computed(&self, kind: Scalar) -> Scalar {
        if kind == Scalar::F32 { self.nest.number } else { kind }
    }

    /// A value as so many lanes of numbers.
    fn lanes_of(&self, value: Value, width: u8) -> Expr {
        value.to(self.nest.number).widen(width)
    }

    /// Stores the value at hand.
    fn store(&self, At { tile, point, width, looped }: At, stmts: &mut Vec<Stmt>) {
        for store in self.nest.stores(tile, point, width) {
            let mut coords = self.coords(&self.stored.coords, &self.nest.output_layout().coords(&store.offsets), looped).into_iter();
            let whole = Expr::Var(self.names.value());
            let value =
                if store.width == width { whole } else { Expr::Slice { vector: Box::new(whole), start: store.start, width: store.width } };
            let guard = store.bounds.iter().map(|b| Bound {
                value: self.coord(&b.value, b.value.constant, looped),
                extent: Expr::int(b.extent),
                per_lane: b.per_lane,
            });
            let (target, guard) = (self.expr.output.name.clone(), guard.collect());
            stmts.push(match (self.nest.output_layout().is_image(), coords.next(), coords.next()) {
                (true, Some(x), Some(y)) => Stmt::StoreTexel { image: target, x, y, value, guard },
                (_, first, second) => Stmt::Store {
                    target,
                    index: first.into_iter().chain(second).chain(coords).collect(),
                    value,
                    guard,
                    policy: StorePolicy::WriteBack,
                },
            });
        }
    }

    fn lets(&self, items: &[Item], here: Here) -> Vec<Stmt> {
        let own = items.iter().enumerate().filter(|(_, item)| !self.kept.contains(item));
        own.map(|(n, item)| Stmt::Let { name: self.loaded(items, n), value: self.load(item, here) }).collect()
    }

    fn loaded(&self, items: &[Item], n: usize) -> Name {
        if let Some(kept) = self.kept.iter().position(|own| *own == items[n]) {
            return self.names.kept(kept);
        }
        self.names.loaded(self.nest.templates[items[n].template].tensor, n)
    }

    fn load(&self, item: &Item, here: Here) -> Expr {
        let template = &self.nest.templates[item.template];
        let staged = self.nest.staged.iter().find(|own| own.template == item.template);
        if let Some((own, chunk)) = staged.zip(here.copied) {
            let variable = self.nest.read_from(own, here.looped);
            let var = |a: AxisId| match a {
                _ if a.0 < self.expr.axes.len() => self.names.lane(a),
                _ if Some(a) == self.nest.deep => self.names.inner(a),
                _ => self.names.block(a),
            };
            let coord =
                |(form, constant): (&Coord, i64)| sum(form.terms().iter().map(|&(a, c)| mul(Expr::Var(var(a)), i64::from(c))), constant);
            let index = variable.iter().zip(self.nest.read_at(own, chunk, &item.offsets, here.looped)).map(coord).collect();
            return Expr::Load { source: self.names.local(template.tensor), index, width: item.width, guard: vec![] };
        }
        let looped = here.looped;
        let layout = &self.nest.layouts[template.tensor];
        let guard = self.nest.bounds(item, looped).into_iter().map(|(d, per_lane)| Bound {
            value: self.coord(&self.places[item.template].dims[d], item.offsets[d], looped),
            extent: Expr::int(layout.extents()[d]),
            per_lane,
        });
        let index = self.coords(&self.places[item.template].coords, &layout.coords(&item.offsets), looped);
        self.read(template.tensor, index, item.width, guard.collect())
    }

    fn coords(&self, variable: &Coords, constants: &[i64], looped: &[bool]) -> Vec<Expr> {
        variable.iter().zip(constants).map(|(form, &constant)| self.coord(form, constant, looped)).collect()
    }

    /// The variable part of a form, of axes that have a variable here, and a constant.
    fn coord(&self, variable: &Coord, constant: i64, looped: &[bool]) -> Expr {
        let parallel = self.expr.axes.len();
        let here = |a: AxisId| a.0 < parallel || looped[a.0 - parallel];
        let terms = variable.terms().iter().filter(|t| here(t.0)).map(|&(a, c)| mul(Expr::Var(self.names.block(a)), i64::from(c)));
        sum(terms, constant)
    }

    fn value(&self, scalar: &ScalarExpr, at: At, items: &mut Items, acc: Option<&Value>) -> Value {
        match scalar {
            ScalarExpr::Const(c) => Value { expr: Expr::f32(*c as f32), width: 1, kind: Scalar::F32 },
            ScalarExpr::Position(form) => self.position(form, at),
            ScalarExpr::Acc => acc.cloned().unwrap_or_else(|| self.number(literal(self.nest.number, 0.0), 1)),
            ScalarExpr::Before(number) => match &self.expr.across {
                Some(Across { along, .. }) => {
                    self.number(Expr::Var(self.names.before(*number, self.nest.row(*along, at.tile))), self.nest.row_width(*along))
                }
                None => self.number(Expr::Var(self.names.before(*number, self.nest.point(at.tile))), self.nest.out_width()),
            },
            ScalarExpr::Load { tensor, index, .. } => {
                let template = self.nest.template(*tensor, index);
                let part = |p: &Part, items: &[Item]| {
                    let whole = Expr::Var(self.loaded(items, p.item));
                    if p.width == items[p.item].width {
                        whole
                    } else {
                        Expr::Slice { vector: Box::new(whole), start: p.start, width: p.width }
                    }
                };
                let kind = self.expr.tensor(*tensor).element.widened();
                match self.nest.operand(template, at.tile, at.point, at.width, items) {
                    Operand::Scalar(p) => Value { expr: part(&p, &items.list), width: 1, kind },
                    Operand::Lanes(parts) => Value::joined(parts.iter().map(|p| part(p, &items.list)).collect(), at.width, kind),
                }
            }
            ScalarExpr::Gather { tensor, index, found } => {
                let found: Vec<(usize, Value)> =
                    found.iter().map(|(d, own)| (*d, self.value(own, at, items, acc).to(Scalar::I32))).collect();
                self.gather(*tensor, index, &found, at)
            }
            ScalarExpr::Unary(op, a) => {
                let a = self.value(a, at, items, acc);
                let kind = match op {
                    UnaryOp::Not => Scalar::Bool,
                    UnaryOp::Neg | UnaryOp::Abs if a.kind == Scalar::I32 => Scalar::I32,
                    _ => self.nest.number,
                };
                let a = a.to(kind);
                Value { expr: Expr::unary(*op, a.expr), ..a }
            }
            ScalarExpr::Round(to @ (Scalar::I32 | Scalar::F32), a) => self.value(a, at, items, acc).to(self.computed(*to)),
            ScalarExpr::Round(to, a) => {
                let a = self.value(a, at, items, acc).to(Scalar::F32);
                Value { expr: Expr::Cast(*to, Box::new(a.expr)), ..a }
            }
            ScalarExpr::Binary(op, a, b) => {
                let [left, right] = [a, b].map(|own| self.value(own, at, items, acc));
                let operands = match op {
                    BinaryOp::And | BinaryOp::Or => Scalar::Bool,
                    _ => self.computed(ScalarExpr::joined((a, left.kind), (b, right.kind))),
                };
                let [a, b] = [left, right].map(|own| own.to(operands));
                let width = a.width.max(b.width);
                let expr = Expr::binary(*op, a.widen(width), b.widen(width));
                Value { expr, width, kind: if op.is_comparison() { Scalar::Bool } else { operands } }
            }
            ScalarExpr::Select(condition, a, b) => {
                let condition = self.value(condition, at, items, acc).to(Scalar::Bool);
                let [left, right] = [a, b].map(|own| self.value(own, at, items, acc));
                let kind = match (left.kind, right.kind) {
                    (Scalar::Bool, Scalar::Bool) => Scalar::Bool,
                    _ => self.computed(ScalarExpr::joined((a, left.kind), (b, right.kind))),
                };
                let [a, b] = [left, right].map(|own| own.to(kind));
                let width = condition.width.max(a.width).max(b.width);
                let [condition, a, b] = [condition, a, b].map(|own| Box::new(own.widen(width)));
                Value { expr: Expr::Select(condition, a, b), width, kind }
            }
        }
    }
}

/// The work-items of a group wait for each other, and see what others put into local memory.
fn meet() -> Stmt {
    Stmt::Barrier { scope: Scope::Group, local: true, global: false }
}

/// Terms and a constant.
fn sum(terms: impl Iterator<Item = Expr>, constant: i64) -> Expr {
    match terms.reduce(add) {
        Some(sum) if constant < 0 => Expr::binary(BinaryOp::Sub, sum, Expr::int(-constant)),
        Some(sum) if constant > 0 => add(sum, Expr::int(constant)),
        Some(sum) => sum,
        None => Expr::int(constant),
    }
}

fn add(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::Add, a, b)
}

fn mul(e: Expr, factor: i64) -> Expr {
    if factor == 1 { e } else { Expr::binary(BinaryOp::Mul, e, Expr::int(factor)) }
}
