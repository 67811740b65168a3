//! Which schedules are legal, whatever a device is.

use super::offers::{Inputs, SHORTEST_COPY};
use super::{Knobs, SHARING_LANES, single_axis};
use crate::expr::{AxisId, TensorExpr};
use crate::operators::split::{can_be_cut, longest, terms};
use crate::schedule::{Bind, Loop, Near, Schedule, Stage, axis, stays};

/// Points (vectors) one work-item may compute: beyond this, the text of a kernel grows and no register file gains.
const MAX_POINTS: i64 = 32;
/// Elements one work-item may compute: the most that a register file of today holds for one, 32 registers of AVX-512. What is too many
/// on a device its profile says, and pruning reads.
const MAX_ELEMENTS: i64 = 512;
/// Accumulator updates one loop body may hold: beyond this, instruction caches and compilers suffer. PoCL takes seconds for bodies of 600.
const MAX_BODY: i64 = 256;
/// Results, or parts of results, that a work-item combines side by side where one result has several accumulators: as many as two units of four
/// cycles each keep busy.
const MOST_CHAINS: i64 = 8;
/// Steps of a deep reduction that are written out where lanes share it.
const SHARED_UNROLLED: [i64; 2] = [1, 4];
/// Elements of a work-item that reads copies, at least: with fewer it reads local memory as often as it would caches.
const LEAST_ELEMENTS: i64 = 8;
/// Work-items of a group that any API takes.
const LARGEST_GROUP: u32 = 1024;
/// Lanes of a group that copies tensors together, at least: the largest warp of today's GPUs.
const LEAST_COPYING: u32 = 64;
/// Positions of the deep axis that a copy is of, at most, where several trips read it: 14 drawn products of 512³ on two simulated GPUs gained
/// by 16 instead of 4 (×0.87 in the mean), not by 32 instead of 8 (×1.01).
const LONGEST_COPY: i64 = 16;

impl Knobs {
    /// Whether a group that does not share reductions has more than a work-item or two, where there are larger ones.
    pub fn fills(&self, schedule: &Schedule) -> bool {
        let few = |lanes: u32| lanes <= SHARING_LANES;
        schedule.reduction_lanes() > 1
            || schedule.across.is_some()
            || !few(group_lanes(schedule))
            || self.groups.iter().all(|own| few(own.iter().product()))
    }

    /// Rules that need no look at the loads: knobs that have no effect must be at their first value, nothing may be absurd.
    pub fn legal(&self, expr: &TensorExpr, schedule: &Schedule, unroll: i64, order: usize) -> bool {
        let (copies, shares) = (schedule.copied().next().is_some(), schedule.reduction_lanes() > 1);
        // In loops inside that of the deep axis what was copied is read again. Without rolled window loops their order means nothing.
        if order != 0 && (copies || shares || schedule.bound(Bind::Sequential).count() < self.orders[order].len()) {
            return false;
        }
        // Of what is long, and is not cut into several reductions though it could be, lanes and accumulators have parts that are not.
        let sums = || {
            let lanes = if schedule.reduces_vectors(expr) { schedule.width() } else { 1 };
            lanes * i64::from(schedule.reduction_lanes() * schedule.accumulators)
        };
        if terms(expr) > longest(expr.arithmetic()).saturating_mul(sums()) && (!expr.before.is_empty() || can_be_cut(expr)) {
            return false;
        }
        // Each of the lanes that share a reduction has a part of it.
        let busy = schedule.bound(Bind::Sequential).all(|own| own.trips > 0);
        if shares && (copies || !busy || !SHARED_UNROLLED.contains(&unroll)) {
            return false;
        }
        // What is copied is read several times in each trip, by lanes that lie along results.
        let short = |a: AxisId| unroll < SHORTEST_COPY && unroll < axis(expr, a).extent;
        if copies && (schedule.reduces_vectors(expr) || self.deep.is_none_or(short)) {
            return false;
        }
        if schedule.ahead && !schedule.copies_again() {
            return false;
        }
        // What is kept is all that is the same in all rounds along this axis, where it can be.
        let kept = || schedule.stages.iter().filter(|own| own.to == Near::Private);
        let same = |own: &Stage| schedule.can_keep(expr, own);
        if kept().next().is_some() && !(kept().all(same) && self.keeps_all(expr, schedule)) {
            return false;
        }
        // Several trips read a copy only where something is copied, and again.
        if schedule.nested().is_some_and(|outer| !copies || outer.trips < 2 || outer.step > LONGEST_COPY) {
            return false;
        }
        let written = |of: &dyn Fn(AxisId) -> bool| -> i64 {
            schedule.bound(Bind::Unrolled).filter(|own| of(own.axis)).map(|own| own.trips).product()
        };
        let points = written(&|a| a.0 < expr.axes.len());
        let elements = points * schedule.width();
        if copies && elements < LEAST_ELEMENTS {
            return false;
        }
        // What is written out in any case is no choice.
        let body = match schedule.known {
            Some(known) => points / i64::from(known.points) * i64::from(known.terms),
            None => points * unroll * written(&|a| a.0 >= expr.axes.len() && Some(a) != self.deep),
        };
        debug_assert!(!self.is_too_large(points, schedule.width()), "refused before its loops were laid out");
        if !self.is_least(points) && body > MAX_BODY {
            return false;
        }
        // Per axis: no more lanes than blocks (rounded up to a power of two), no tile beyond the extent.
        schedule.loops.iter().filter(|own| own.axis.0 < expr.axes.len()).all(|own| {
            let extent = axis(expr, own.axis).extent;
            match own.bind {
                Bind::Unrolled => own.trips * own.step < 2 * extent,
                // Nor more rounds than tiles of a group.
                Bind::Lane | Bind::Round => own.trips < 2 * ((extent + own.step - 1) / own.step),
                _ => true,
            }
        })
    }

    /// Whether no other set of inputs that may be kept is the same in all rounds, and has this one in it.
    fn keeps_all(&self, expr: &TensorExpr, schedule: &Schedule) -> bool {
        let Some(round) = schedule.rounds() else { return true };
        let all = |own: &Inputs| own.iter().all(|&t| stays(expr, t, round.axis));
        let most = self.keeps.iter().filter(|own| all(own)).map(|own| own.len()).max();
        most == Some(schedule.stages.iter().filter(|own| own.to == Near::Private).count())
    }

    /// Whether a work-item computes more points, in vectors of so many lanes, than any gains by.
    pub fn is_too_large(&self, points: i64, width: i64) -> bool {
        points * width > MAX_ELEMENTS || !self.is_least(points) && points > MAX_POINTS
    }

    /// Whether accumulators of so many points each have a turn in each trip, which walks over so many terms, and are not more than gain.
    pub fn take_turns(accumulators: i64, points: i64, terms: i64) -> bool {
        accumulators == 1 || points * accumulators <= MOST_CHAINS && terms >= accumulators
    }

    /// Whether these are the points that are written out in any case.
    fn is_least(&self, points: i64) -> bool {
        self.known.is_some_and(|known| points == i64::from(known.points))
    }

    /// Packed results are written whole texels or blocks at a time: the vector axis is the packed one, a vector of as many texels as one
    /// likes or one block.
    pub fn whole_blocks(&self, expr: &TensorExpr, schedule: &Schedule) -> bool {
        let place = schedule.places[expr.inputs.len()];
        let Some((dim, block)) = place.packed(expr.store.len()) else { return true };
        let Some(&Loop { axis: along, trips: width, .. }) = schedule.vector() else { return false };
        let form = &expr.store[dim];
        let whole = if place.is_image() { width % block == 0 } else { width == block };
        whole
            && single_axis(form).is_none_or(|a| a == along)
            && form.coefficient(along) == 1
            && form.constant % block == 0
            && form.terms().iter().all(|&(a, c)| a == along || i64::from(c) % block == 0)
            // What makes no whole vector of a reduction is stored value by value.
            && !(schedule.reduces_vectors(expr) && place.is_image() && axis(expr, along).extent % width != 0)
    }
}

/// Work-items of a group, but for those that share reductions.
fn group_lanes(schedule: &Schedule) -> u32 {
    schedule.bound(Bind::Lane).map(|own| own.trips as u32).product()
}

/// Whether groups are large enough to share what they copy, lanes along an axis can be cut anywhere, and no group is beyond all devices.
pub fn meeting_pays(schedule: &Schedule) -> bool {
    let (lanes, sharing) = (group_lanes(schedule), schedule.reduction_lanes());
    let cut = || schedule.bound(Bind::Lane).all(|own| (own.trips as u32).is_power_of_two());
    (schedule.copied().next().is_none() || lanes >= LEAST_COPYING && cut()) && (sharing == 1 || lanes * sharing <= LARGEST_GROUP)
}
