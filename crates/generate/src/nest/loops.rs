//! The loops of a reduction, down to straight-line steps and what each of these loads.

use crate::expr::{AxisId, Pass, ScalarExpr};
use crate::nest::split::Walk;
use crate::nest::stage::Chunk;
use crate::nest::{Items, Nest, Offsets, for_each};
use crate::schedule::Bind;
use smallvec::SmallVec;

/// What the variable of a loop says of the number of its axis's block, which is what a trip of the innermost loop walks over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// It is the number.
    Blocks,
    /// Of so many lanes each has a block in each trip.
    Lanes(u32),
    /// Each trip has several blocks, which a loop inside counts.
    Parts,
    /// It counts the blocks of a trip of the loop around, or those behind so many.
    Inside {
        /// The number of the first of them, where it is not in a loop of its axis.
        first: Option<u32>,
        /// Blocks of a trip of the loop around.
        of: u32,
    },
}

/// The loops of the reduction, down to straight-line steps.
#[derive(Clone, Debug)]
pub enum Tree<S> {
    /// So many trips one after the other.
    Loop {
        /// A reduction axis.
        axis: AxisId,
        /// At least 2.
        trips: u32,
        /// Elements of a trip, or of what each of the lanes has of one.
        step: u32,
        /// What its variable says.
        counts: Counts,
        /// What is repeated.
        body: Vec<Self>,
    },
    /// The first of the lanes that share a reduction, with a value of the axis each where they have one.
    Lanes {
        /// The reduction axis.
        axis: AxisId,
        /// The value of the first lane.
        first: Option<u32>,
        /// How many lanes.
        lanes: u32,
        /// What they do.
        body: Vec<Self>,
    },
    /// Straight-line code.
    Step(S),
    /// A copy to local memory, of what the steps that follow read.
    Copy(Chunk),
    /// Loads, into registers, of what the first trip of the loop inside puts into local memory: each trip loads what the next one does.
    Ahead {
        /// What a trip copies.
        chunk: Chunk,
        /// The loop.
        body: Vec<Self>,
    },
}

/// Straight-line code: loads, then updates of the accumulators.
#[derive(Clone, Debug)]
pub struct Step {
    /// What is loaded.
    pub items: Items,
    /// Points of the reduction that are combined, as offsets of each reduction axis from its loop variable (or from 0 without one).
    pub points: Vec<Offsets>,
    /// Whether each reduction axis has a loop variable here.
    pub looped: SmallVec<[bool; 5]>,
    /// Vector lanes of what is combined: the nest's, or 1 where a reduction in vectors has no whole one left.
    pub width: u8,
}

/// The points of a reduction that straight-line steps of one form combine, one after the other.
#[derive(Clone, Debug)]
pub struct Steps {
    /// The first point, as offsets of each reduction axis from its loop variable (or from 0 without one).
    pub from: Offsets,
    /// Points of one step along each reduction axis.
    pub counts: Offsets,
    /// Steps along each, the last axis changing fastest.
    pub steps: Offsets,
    /// How far they are from each other along it.
    pub apart: Offsets,
    /// Whether each reduction axis has a loop variable here.
    pub looped: SmallVec<[bool; 5]>,
    /// Vector lanes of what is combined, as in [`Step`].
    pub width: u8,
}

impl Steps {
    /// The points of each step.
    pub fn points(&self) -> Vec<Vec<Offsets>> {
        let mut steps = vec![];
        for_each(&self.steps, |step| {
            let mut points = vec![];
            let at = |r: usize, o: i64| self.from[r] + step[r] * self.apart[r] + o;
            for_each(&self.counts, |o| points.push(o.iter().enumerate().map(|(r, &o)| at(r, o)).collect()));
            steps.push(points);
        });
        steps
    }

    /// How many points there are.
    pub fn count(&self) -> u64 {
        (self.counts.iter().product::<i64>() * self.number()) as u64
    }

    /// The first point and the last.
    pub fn corners(&self) -> [Offsets; 2] {
        let last = (0..self.from.len()).map(|r| self.from[r] + (self.steps[r] - 1) * self.apart[r] + self.counts[r] - 1);
        [self.from.clone(), last.collect()]
    }

    /// How many steps.
    pub fn number(&self) -> i64 {
        self.steps.iter().product()
    }
}

impl Nest<'_> {
    /// The loops of the reduction and what their steps combine.
    pub fn all_steps(&self) -> Vec<Tree<Steps>> {
        let mut state = SmallVec::from_elem(None, self.expr.reduce.len());
        if self.expr.reduce.is_empty() { vec![] } else { self.loops(self.schedule.sequential().0, &mut state) }
    }

    /// The same with what each step of a pass loads.
    pub fn body(&self, pass: Pass) -> Vec<Tree<Step>> {
        self.with_items(self.all_steps(), pass.in_steps())
    }

    fn with_items<'s>(&self, trees: Vec<Tree<Steps>>, scalars: impl Iterator<Item = &'s ScalarExpr> + Clone) -> Vec<Tree<Step>> {
        let mut all = vec![];
        for tree in trees {
            match tree {
                Tree::Loop { axis, trips, step, counts, body } => {
                    all.push(Tree::Loop { axis, trips, step, counts, body: self.with_items(body, scalars.clone()) });
                }
                Tree::Lanes { axis, first, lanes, body } => {
                    all.push(Tree::Lanes { axis, first, lanes, body: self.with_items(body, scalars.clone()) })
                }
                Tree::Copy(chunk) => all.push(Tree::Copy(chunk)),
                Tree::Ahead { chunk, body } => all.push(Tree::Ahead { chunk, body: self.with_items(body, scalars.clone()) }),
                Tree::Step(steps) => all.extend(steps.points().into_iter().map(|points| {
                    let items = self.items(scalars.clone(), &points, steps.width);
                    Tree::Step(Step { items, points, looped: steps.looped.clone(), width: steps.width })
                })),
            }
        }
        all
    }

    /// The sequential loops of a schedule from the one at a position on, the outermost first, then straight-line steps. `state` holds what is
    /// settled of each reduction axis; what is not is unrolled as a whole.
    fn loops(&self, at: usize, state: &mut SmallVec<[Option<Base>; 5]>) -> Vec<Tree<Steps>> {
        let own = match self.schedule.loops.get(at) {
            Some(own) if own.bind == Bind::Sequential => own,
            _ => return self.steps(state),
        };
        let inside = self.schedule.loops.get(at + 1).filter(|next| next.axis == own.axis && next.bind <= Bind::ReductionLane);
        if let Some(lanes) = inside.filter(|next| next.bind == Bind::ReductionLane) {
            return self.shared(own.axis, lanes.trips as u32, at + 2, state);
        }
        let (r, lanes) = (own.axis.0 - self.expr.axes.len(), self.walk(own.axis).lanes);
        let around = state[r];
        // Of a loop of the axis around this one it has a part.
        let part = around.unwrap_or(Base { from: 0, count: self.walk(own.axis).extent, looped: false, lanes });
        let (trips, end) = (part.count / own.step, part.from + part.count);
        let rest = part.count % own.step;
        let mut trees = vec![];
        let add = |base: Base, again: bool, state: &mut SmallVec<[Option<Base>; 5]>| {
            state[r] = Some(base);
            let copy = self.chunk(at, base, again, trips).map(Tree::Copy);
            copy.into_iter().chain(self.loops(at + 1, state)).collect::<Vec<_>>()
        };
        if trips == 1 && !part.looped {
            trees.extend(add(Base { from: part.from, count: own.step, looped: false, lanes }, false, state));
        } else if trips > 0 {
            let counts = match (inside, around) {
                (Some(_), _) => Counts::Parts,
                (None, None) => Counts::Blocks,
                (None, Some(part)) => Counts::Inside { first: (!part.looped).then_some((part.from / own.step) as u32), of: trips as u32 },
            };
            let trip = Base { from: 0, count: own.step, looped: true, lanes };
            let body = add(trip, true, state);
            let whole = Tree::Loop { axis: own.axis, trips: trips as u32, step: own.step as u32, counts, body };
            trees.push(match self.chunk(at, trip, false, trips).filter(|own| own.ahead.is_some()) {
                Some(chunk) => Tree::Ahead { chunk, body: vec![whole] },
                None => whole,
            });
        }
        // What makes no whole trip has the loops inside.
        let left = (end - rest, rest, lanes);
        let rests: SmallVec<[Base; 2]> = if inside.is_some() {
            (rest > 0).then_some(left).map(Base::of).into_iter().collect()
        } else {
            rests(end, rest, lanes).collect()
        };
        for base in rests {
            trees.extend(add(base, true, state));
        }
        state[r] = around;
        trees
    }

    /// The loop of an axis that lanes share: in each trip each has a part; what is left has the first of them.
    fn shared(&self, a: AxisId, all: u32, inside: usize, state: &mut SmallVec<[Option<Base>; 5]>) -> Vec<Tree<Steps>> {
        let r = a.0 - self.expr.axes.len();
        let Walk { extent, trip: step, lanes: vector, .. } = *self.walk(a);
        let (trips, left) = ((extent / step) as u32 / all, (extent / step) as u32 % all);
        let mut trees = vec![];
        state[r] = Some(Base { from: 0, count: step, looped: true, lanes: vector });
        if trips > 1 {
            trees.push(Tree::Loop { axis: a, trips, step: step as u32, counts: Counts::Lanes(all), body: self.loops(inside, state) });
        } else {
            trees.push(Tree::Lanes { axis: a, first: Some(0), lanes: all, body: self.loops(inside, state) });
        }
        if left > 0 {
            trees.push(Tree::Lanes { axis: a, first: Some(trips * all), lanes: left, body: self.loops(inside, state) });
        }
        for base in rests(extent, extent % step, vector) {
            state[r] = Some(base);
            trees.push(Tree::Lanes { axis: a, first: None, lanes: 1, body: self.loops(inside, state) });
        }
        state[r] = None;
        trees
    }

    /// What is copied in front of what is done with a part of an axis in the loop at a position, of so many trips, if anything is.
    fn chunk(&self, at: usize, part: Base, again: bool, trips: i64) -> Option<Chunk> {
        let copied = self.schedule.copied().any(|own| own.at == at);
        let ahead = (self.schedule.ahead && part.looped).then_some(trips as u32);
        copied.then_some(Chunk { from: part.from, count: part.count, looped: part.looped, again, ahead })
    }

    /// Straight-line code for one trip of the innermost loop: a step per row of an unrolled window and texel of the deep axis, then for what
    /// makes no whole texel.
    fn steps(&self, state: &[Option<Base>]) -> Vec<Tree<Steps>> {
        let looped: SmallVec<[bool; 5]> = state.iter().map(|b| b.is_some_and(|b| b.looped)).collect();
        let base: Vec<Base> = state
            .iter()
            .zip(&self.expr.reduce)
            .map(|(b, a)| b.unwrap_or(Base { from: 0, count: a.extent, looped: false, lanes: 1 }))
            .collect();
        let deep = self.deep.map(|a| a.0 - self.expr.axes.len());
        // Axes whose points share a step: the innermost unrolled one, and a texel's worth of the deep one.
        let innermost = (0..base.len()).rev().find(|&r| Some(r) != deep && base[r].count > 1);
        let lanes = deep.map_or(1, |d| base[d].lanes);
        let texel = if lanes == 1 && self.deep_in_texels() { 4 } else { lanes };
        let width = if self.reduces_vectors() { lanes as u8 } else { self.width() };
        let chunk = |r: usize| match r {
            r if Some(r) == innermost => base[r].count,
            r if Some(r) == deep => texel,
            _ => 1,
        };
        let mut parts = vec![];
        // A deep axis that is the innermost unrolled one has no second part.
        let rest = deep.map_or(0, |d| base[d].count % chunk(d));
        for whole in [true, false] {
            let count = |r: usize| match whole {
                _ if Some(r) != deep => base[r].count,
                true => base[r].count - rest,
                false => rest,
            };
            if !whole && rest == 0 || (0..base.len()).any(|r| count(r) == 0) {
                continue;
            }
            let all = 0..base.len();
            let apart: Offsets = all.clone().map(|r| chunk(r).min(count(r))).collect();
            parts.push(Tree::Step(Steps {
                from: all
                    .clone()
                    .map(|r| base[r].from + base[r].count - if whole || Some(r) != deep { base[r].count } else { rest })
                    .collect(),
                counts: all.clone().map(|r| if lanes > 1 && Some(r) == deep { 1 } else { apart[r] }).collect(),
                steps: all.map(|r| count(r) / apart[r]).collect(),
                apart,
                looped: looped.clone(),
                width,
            }));
        }
        parts
    }

    /// Whether some input is read in texels along the deep axis: the only thing that steps know of where tensors lie.
    pub fn deep_in_texels(&self) -> bool {
        let along = |t: usize, axis| self.texels(t).is_some_and(|(pack, _)| self.templates[t].index[pack].coefficient(axis) != 0);
        let packed = |axis: AxisId| (0..self.templates.len()).any(|t| along(t, axis));
        self.deep.is_some_and(packed)
    }
}

/// What is left of an axis: whole vectors first, then of what is less than one a half, a quarter and so on, as far as there are.
fn rests(extent: i64, rest: i64, lanes: i64) -> impl Iterator<Item = Base> {
    let whole = (extent - rest, rest / lanes * lanes, lanes);
    let single = rest % lanes;
    let narrower = std::iter::successors(Some(lanes / 2), |width| Some(width / 2)).take_while(|width| *width > 0);
    let parts = narrower.filter(move |width| single & width != 0).map(move |width| {
        let wider = single / (2 * width) * (2 * width);
        (extent - single + wider, width, width)
    });
    std::iter::once(whole).chain(parts).filter(|part| part.1 > 0).map(Base::of)
}

/// The state of a reduction axis while its loops are laid out.
#[derive(Clone, Copy, Debug)]
struct Base {
    from: i64,
    count: i64,
    looped: bool,
    /// Vector lanes along it.
    lanes: i64,
}

impl Base {
    /// So many positions from one on, written out.
    fn of((from, count, lanes): (i64, i64, i64)) -> Self {
        Self { from, count, looped: false, lanes }
    }
}

impl Counts {
    /// Registers of the variable, and of the number of the block where that is another.
    fn words(self) -> u32 {
        match self {
            Self::Blocks | Self::Parts => 1,
            Self::Lanes(_) | Self::Inside { .. } => 2,
        }
    }
}

/// Registers of loops and of what the steps in them load; `copied` are those of a copy.
pub fn tree_words<S>(trees: &[Tree<S>], copied: u32, step: &mut impl FnMut(&S) -> u32) -> u32 {
    let words = |tree: &Tree<S>| match tree {
        Tree::Loop { body, counts, .. } => counts.words() + tree_words(body, copied, step),
        Tree::Lanes { body, first, .. } => u32::from(first.is_some()) + tree_words(body, copied, step),
        Tree::Step(own) => step(own),
        // What was loaded ahead is in registers already.
        Tree::Copy(chunk) if chunk.ahead.is_some() => 0,
        Tree::Copy(_) => copied,
        Tree::Ahead { body, .. } => copied + tree_words(body, copied, step),
    };
    trees.iter().map(words).max().unwrap_or(0)
}
