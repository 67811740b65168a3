//! What a schedule is: loops over parts of axes in their order, what is kept nearer in them, and where tensors lie.

use crate::expr::{Axis, AxisId, Combine, Index, Tensor, TensorExpr};
use crate::layout::{Place, is_free};
use smallvec::SmallVec;
use std::fmt::Write;

/// A reduction axis this short or shorter is a window (of a convolution or pooling) and may be unrolled as a whole.
pub const WINDOW: i64 = 7;

/// What the trips of a loop become. In a schedule loops of each of these are inside those of all before it; lanes that share a reduction are
/// in the loop of its axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bind {
    /// Work-groups.
    Group,
    /// Work-items of a group.
    Lane,
    /// Rounds of a group, one after the other: all of its work-items move on along a parallel axis together, so that neighbouring lanes have
    /// neighbouring tiles in each. Around what lanes of the axis walk over, and inside of what its groups do.
    Round,
    /// One after the other.
    Sequential,
    /// Work-items of a group that share a reduction, and combine what they have in local memory.
    ReductionLane,
    /// Written out, one after the other.
    Unrolled,
    /// Lanes of a vector.
    Vector,
}

/// A loop over a part of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Loop {
    /// The axis.
    pub axis: AxisId,
    /// How often. Along a parallel axis the last trip may reach beyond its end; what makes no whole trip of a reduction follows its loop.
    pub trips: i64,
    /// Elements of the axis in one trip: all that loops inside walk over.
    pub step: i64,
    /// What the trips become.
    pub bind: Bind,
}

/// An input of which, in each trip of a loop, what is read inside is copied to nearer memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stage {
    /// Position in the expression's inputs.
    pub tensor: usize,
    /// Position in [`Schedule::loops`].
    pub at: usize,
    /// Where to.
    pub to: Near,
}

/// Memory that is nearer than a tensor's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Near {
    /// Local memory, by the work-items of a group together: in the outermost sequential loop of a reduction axis.
    Local,
    /// Registers, by each work-item: in the loop right around that over rounds, through all of which it is kept.
    Private,
}

/// Of a sum whose terms have known factors, what is written out in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Known {
    /// Points of the parallel axes.
    pub points: u32,
    /// Terms of all these points whose factor is not 0.
    pub terms: u32,
    /// The same of one of them, the most.
    pub longest: u32,
}

/// One configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Schedule {
    /// The outermost first. Each parallel axis has a loop over groups; those over lanes are behind each other as their numbers are, the slowest
    /// first.
    pub loops: SmallVec<[Loop; 12]>,
    /// What is copied.
    pub stages: SmallVec<[Stage; 2]>,
    /// Whether what a trip copies is loaded while the one before computes, and held in registers until the group meets.
    pub ahead: bool,
    /// Variables that each result of a reduction is combined in, terms that follow each other taking turns: what they come to is combined at the end.
    pub accumulators: u32,
    /// Where each tensor (inputs, then output) lies.
    pub places: SmallVec<[Place; 8]>,
    /// `None` where terms have no known factors.
    pub known: Option<Known>,
    /// The parallel axis along which a group holds whole rows of results ([`crate::expr::Across`]).
    pub across: Option<AxisId>,
}

impl Schedule {
    /// Loops of one kind, the outermost first.
    pub fn bound(&self, bind: Bind) -> impl DoubleEndedIterator<Item = &Loop> + Clone {
        self.loops.iter().filter(move |own| own.bind == bind)
    }

    /// The loop over lanes of vectors.
    pub fn vector(&self) -> Option<&Loop> {
        self.loops.last().filter(|own| own.bind == Bind::Vector)
    }

    /// Lanes of vectors.
    pub fn width(&self) -> i64 {
        self.vector().map_or(1, |own| own.trips)
    }

    /// Lanes that share a reduction.
    pub fn reduction_lanes(&self) -> u32 {
        self.bound(Bind::ReductionLane).map(|own| own.trips as u32).product()
    }

    /// Whether the work-items of a group meet, so that none may be left out.
    pub fn meets(&self) -> bool {
        self.copied().next().is_some() || self.reduction_lanes() > 1 || self.row_lanes() > 1
    }

    /// Lanes of a group that hold a row of results together.
    pub fn row_lanes(&self) -> u32 {
        self.bound(Bind::Lane).filter(|own| Some(own.axis) == self.across).map(|own| own.trips as u32).product()
    }

    /// Whether a group holds whole rows of results, in one accumulator each; their lanes combine what they have half by half.
    pub(crate) fn holds_rows(&self, expr: &TensorExpr) -> bool {
        let only = expr.across.is_none() || expr.before.is_empty() && !expr.stores_each() && expr.coefficients.is_none();
        let whole = |a| self.bound(Bind::Group).all(|own| own.axis != a || own.trips == 1);
        let alone = self.reduction_lanes() == 1 && self.accumulators == 1 && !self.reduces_vectors(expr);
        only && self.across == expr.across.as_ref().map(|own| own.along)
            && self.across.is_none_or(|a| whole(a) && alone && self.row_lanes().is_power_of_two())
    }

    /// Whether vectors lie along a reduction axis: their lanes are folded into one at the end.
    pub fn reduces_vectors(&self, expr: &TensorExpr) -> bool {
        self.vector().is_some_and(|own| own.axis.0 >= expr.axes.len())
    }

    /// What is copied to local memory.
    pub fn copied(&self) -> impl Iterator<Item = &Stage> {
        self.stages.iter().filter(|own| own.to == Near::Local)
    }

    /// Elements of the deep axis that are copied at a time; 1 where nothing is.
    pub fn copy_step(&self) -> i64 {
        self.copied().next().map_or(1, |own| self.loops[own.at].step)
    }

    /// Whether an input is copied to local memory.
    pub fn copies(&self, tensor: usize) -> bool {
        self.copied().any(|own| own.tensor == tensor)
    }

    /// Whether an input is kept in registers through all rounds.
    pub fn keeps(&self, tensor: usize) -> bool {
        self.stages.iter().any(|own| own.tensor == tensor && own.to == Near::Private)
    }

    /// The loop over rounds of a group.
    pub fn rounds(&self) -> Option<&Loop> {
        self.bound(Bind::Round).next()
    }

    /// Whether there is a trip before one that copies, in which what it copies may be loaded.
    pub fn copies_again(&self) -> bool {
        self.copied().next().and_then(|own| self.loops.get(own.at)).is_some_and(|own| own.trips > 1)
    }

    /// Sequential loops with lanes that share them, the outermost first, and the position of the first.
    pub fn sequential(&self) -> (usize, &[Loop]) {
        let first = self.loops.iter().position(|own| own.bind >= Bind::Sequential).unwrap_or(self.loops.len());
        let behind = self.loops[first..].iter().position(|own| own.bind > Bind::ReductionLane).unwrap_or(self.loops.len() - first);
        (first, &self.loops[first..first + behind])
    }

    /// The outer one of two sequential loops of an axis.
    pub fn nested(&self) -> Option<&Loop> {
        let twice = |pair: &&[Loop]| pair[0].axis == pair[1].axis && pair[1].bind == Bind::Sequential;
        self.sequential().1.windows(2).find(twice).map(|pair| &pair[0])
    }

    /// Whether the loops cover every axis once, in an order that can be lowered, and copies are made in a loop that they can be made in.
    pub fn is_valid(&self, expr: &TensorExpr) -> bool {
        let (parallel, all) = (expr.axes.len(), expr.axes.len() + expr.reduce.len());
        let bound = |own: &Loop| match own.bind {
            Bind::Group | Bind::Lane | Bind::Round => own.axis.0 < parallel,
            Bind::Sequential | Bind::ReductionLane => (parallel..all).contains(&own.axis.0),
            Bind::Unrolled | Bind::Vector => own.axis.0 < all,
        };
        let next = |pair: &[Loop]| match (pair[0].bind, pair[1].bind) {
            (Bind::Vector, _) => false,
            (before, Bind::ReductionLane) => before == Bind::Sequential && pair[0].axis == pair[1].axis,
            (Bind::ReductionLane, Bind::Sequential) => true,
            // Points of the tile are walked over for each of the reduction.
            (Bind::Unrolled, Bind::Unrolled) => (pair[0].axis.0 < parallel, pair[0].axis) < (pair[1].axis.0 < parallel, pair[1].axis),
            (before, after) => before <= after,
        };
        // Lanes are behind each other as groups are.
        let mut groups = self.bound(Bind::Group).map(|own| own.axis);
        let launched = self.bound(Bind::Lane).all(|own| groups.any(|a| a == own.axis));
        let shared = self.bound(Bind::ReductionLane).count();
        let can = |own: &Stage| match own.to {
            Near::Local => self.can_copy(expr, own.at),
            Near::Private => self.can_keep(expr, own) && !self.copies(own.tensor),
        };
        let copied = self.stages.iter().all(|own| own.tensor < expr.inputs.len() && can(own));
        let mut rounds = self.bound(Bind::Round);
        // Rows that a group holds are those of one round.
        let rounds = rounds.next().is_none_or(|own| own.trips > 1 && self.across.is_none()) && rounds.next().is_none();
        let loops = self.loops.iter().all(bound) && self.loops.windows(2).all(next) && launched && shared <= 1 && rounds;
        let ahead = !self.ahead || self.copies_again();
        let combines = !expr.reduce.is_empty() && expr.passes().any(|pass| pass.combine != Combine::Each);
        let turns = self.accumulators == 1 || self.accumulators > 1 && combines && expr.coefficients.is_none();
        loops
            && turns
            && self.holds_rows(expr)
            && (0..all).all(|a| self.covers(expr, AxisId(a)))
            && copied
            && ahead
            && self.places.len() == expr.inputs.len() + 1
    }

    /// Whether each loop of an axis has the trips of those inside as its step, and all together walk over it, but for what makes no whole trip
    /// of a reduction. A parallel axis has one loop over groups; of the sequential ones of a reduction axis, and lanes that share them, there are
    /// two at most, one directly inside of the other.
    fn covers(&self, expr: &TensorExpr, a: AxisId) -> bool {
        let (mut inside, mut outermost) = (1, 1);
        let mut loops: SmallVec<[&Loop; 6]> = self.loops.iter().rev().filter(|own| own.axis == a).collect();
        // In each round lanes have tiles that lie together.
        if let Some(round) = loops.iter().position(|own| own.bind == Bind::Round)
            && loops.get(round + 1).is_some_and(|own| own.bind == Bind::Lane)
        {
            loops.swap(round, round + 1);
        }
        for own in loops {
            if own.trips < 1 || own.step != inside {
                return false;
            }
            (inside, outermost) = (own.step.saturating_mul(own.trips), own.step);
        }
        let rest = axis(expr, a).extent - inside;
        if a.0 < expr.axes.len() {
            return self.bound(Bind::Group).filter(|own| own.axis == a).count() == 1 && (1 - outermost..=0).contains(&rest);
        }
        let sequential = self.sequential().1.iter().enumerate().filter(|own| own.1.axis == a).map(|own| own.0);
        let (first, last) = (sequential.clone().min(), sequential.clone().max());
        // One loop, or two of which the inner one has several trips.
        let several = |inner: usize| self.sequential().1[inner].trips > 1;
        let together = first.zip(last).is_none_or(|(first, last)| last < first + 2 && (first == last || several(last)));
        together && (0..outermost).contains(&rest)
    }

    /// Whether a copy can be made in each trip of a loop: that of the deep axis, inside of which all other reduction axes are walked over.
    fn can_copy(&self, expr: &TensorExpr, at: usize) -> bool {
        let (first, loops) = self.sequential();
        at == first && loops.first().is_some_and(|own| Some(own.axis) == deep_axis(expr)) && self.reduction_lanes() == 1
    }

    /// Whether an input can be kept in registers: the same of it is read in all rounds, by steps that are written out.
    pub(crate) fn can_keep(&self, expr: &TensorExpr, own: &Stage) -> bool {
        let written = self.sequential().1.iter().all(|own| own.bind == Bind::Sequential && own.trips <= 1);
        let around = self.rounds().filter(|round| self.loops.get(own.at + 1) == Some(round));
        around.is_some_and(|round| written && stays(expr, own.tensor, round.axis))
    }

    /// The loops as people read them: the dump of the step `tile`.
    pub fn show(&self, expr: &TensorExpr) -> String {
        let mut text = String::new();
        for (depth, own) in self.loops.iter().enumerate() {
            let (pad, axis) = ("  ".repeat(depth), axis(expr, own.axis));
            let outermost = self.loops[..depth].iter().all(|before| before.axis != own.axis);
            let walked = own.trips * own.step;
            let end = if outermost { walked.min(axis.extent) } else { walked };
            let rest = if outermost && walked < axis.extent { format!(", then {} more", axis.extent - walked) } else { String::new() };
            let _ = writeln!(text, "{pad}{} {} in 0..{end} step {}{rest}", own.bind.name(), axis.name, own.step);
            for stage in self.stages.iter().filter(|stage| stage.at == depth) {
                let to = match stage.to {
                    Near::Local if self.ahead => "local memory, loaded a trip ahead",
                    Near::Local => "local memory",
                    Near::Private => "registers",
                };
                let _ = writeln!(text, "{pad}  copy {} to {to}", expr.inputs[stage.tensor].name);
            }
        }
        if self.accumulators > 1 {
            let _ = writeln!(text, "each result in {} accumulators", self.accumulators);
        }
        if let Some(along) = self.across {
            let _ = writeln!(text, "rows of results along {} are held by the group", axis(expr, along).name);
        }
        text
    }
}

impl Bind {
    /// What people call it.
    fn name(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Lane => "lane",
            Self::Round | Self::Sequential => "sequential",
            Self::ReductionLane => "reduction lane",
            Self::Unrolled => "unrolled",
            Self::Vector => "vector",
        }
    }
}

/// Whether all that a reduction reads along an axis of it is consecutive in memory, row by row. Constants that have a
/// dimension of results are laid out along it instead, where neighbouring lanes share what else is read.
pub fn runs_along(expr: &TensorExpr, a: AxisId) -> bool {
    let (mut any, mut all) = (false, true);
    let along = |index: &[Index], tensor: &Tensor| {
        let moving: SmallVec<[usize; 4]> = (0..index.len()).filter(|&d| index[d].coefficient(a) != 0).collect();
        let result = |own: &AxisId| expr.axes.get(own.0).is_some_and(|axis| axis.extent > 1);
        let of_results = |d: usize| index.iter().enumerate().any(|(e, form)| e != d && form.terms().iter().any(|term| result(&term.0)));
        match moving[..] {
            [] => None,
            _ if is_free(tensor) && expr.stores_each() => Some(moving.len() == 1 && index[moving[0]].coefficient(a) == 1),
            [d] => {
                let last = tensor.shape[d + 1..].iter().all(|&extent| extent == 1);
                Some(index[d].coefficient(a) == 1 && last && !(is_free(tensor) && of_results(d)))
            }
            _ => Some(false),
        }
    };
    for pass in expr.passes() {
        let mut see = |tensor: usize, index: &[Index], _| {
            let own = along(index, expr.tensor(tensor));
            any |= own.is_some();
            all &= own.unwrap_or(true);
        };
        pass.body.loads(&mut see);
        if pass.combine == Combine::Each {
            pass.epilogue.loads(&mut see);
            all &= along(&expr.store, &expr.output).unwrap_or(true);
        }
    }
    any && all
}

/// Whether an input is read by one walk over the reduction alone, the same of it wherever along a parallel axis.
pub fn stays(expr: &TensorExpr, tensor: usize, along: AxisId) -> bool {
    let (mut read, mut moves) = (false, false);
    expr.scalars().for_each(|own| {
        own.loads(&mut |t, index, _| {
            read |= t == tensor;
            moves |= t == tensor && index.iter().any(|form| form.coefficient(along) != 0);
        });
    });
    let once = expr.before.is_empty() && !expr.stores_each() && expr.across.is_none();
    // What is written may be other than it was.
    let alone = expr.inputs[tensor].name != expr.output.name;
    once && alone && read && !moves && expr.found_along(tensor).is_none()
}

/// An axis by its position.
pub fn axis(expr: &TensorExpr, id: AxisId) -> &Axis {
    expr.axes.get(id.0).unwrap_or_else(|| &expr.reduce[id.0 - expr.axes.len()])
}

/// The axis that `unroll` is about: the longest reduction axis that is no window, or the only one.
pub fn deep_axis(expr: &TensorExpr) -> Option<AxisId> {
    let parallel = expr.axes.len();
    let reduce = || (0..expr.reduce.len()).map(|i| AxisId(parallel + i)).filter(|&a| !expr.written_out(a));
    let extent = |a: &AxisId| axis(expr, *a).extent;
    let long = reduce().filter(|a| extent(a) > WINDOW).max_by_key(|a| (extent(a), std::cmp::Reverse(*a)));
    long.or_else(|| reduce().next().filter(|_| expr.reduce.len() == 1))
}
