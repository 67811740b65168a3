//! Accesses of a block that move alike, and the elements that boxes of blocks touch by them.

use super::wave::BlockBox;
use crate::volumes::kernel::subject::{Ranges, Subject, Touch};
use crate::volumes::sets::intervals::{Intervals, gcd};
use crate::volumes::sets::regions::Region;
use smallvec::SmallVec;
use warpsight_ir::{Affine, AffineBound, VarId};

/// Accesses whose addresses differ in constants only, and that happen at about the same time.
#[derive(Clone, Debug)]
pub(super) struct Pattern<'a> {
    /// One of them, of which only the variable part counts.
    pub(super) like: &'a Touch,
    /// Elements of a block at 0, for each coordinate; `None` where a variable moves several coordinates.
    pub(super) inner: Option<[Intervals; 3]>,
    /// Steps from one block to the next along each group axis, for each coordinate.
    pub(super) steps: SmallVec<[[i64; 3]; 4]>,
    /// What guards leave of the variable part.
    pub(super) within: [Option<(i64, i64)>; 3],
    /// The constant parts.
    pub(super) offsets: SmallVec<[Region; 8]>,
    /// Share of a block's life that is over when it happens.
    pub(super) phase: f64,
}

impl Pattern<'_> {
    pub(super) fn regions(&self, subject: &Subject, blocks: &BlockBox, to: &mut SmallVec<[Region; 16]>) {
        match &self.inner {
            Some(inner) => {
                let axis = |i: usize| self.axis(inner, blocks, i);
                self.push([axis(0), axis(1), axis(2)], to);
            }
            None => {
                let groups = subject.groups.iter().zip(blocks);
                let ranges: Ranges = groups.fold(subject.launch(), |ranges, (group, &(first, count))| ranges.with(group.id, first, count));
                let mut found = Vec::new();
                let [x, y, z] = [(); 3].map(|()| Intervals::point(0));
                self.like.regions_of(&[Region { x, y, z }], &ranges, &mut found);
                for region in found {
                    let clip = |set: Intervals, i: usize| self.within[i].map_or_else(|| set.clone(), |(lo, hi)| set.clipped(lo, hi));
                    self.push([clip(region.x, 0), clip(region.y, 1), clip(region.z, 2)], to);
                }
            }
        }
    }

    /// A coordinate's variable part over these blocks.
    pub(super) fn axis(&self, inner: &[Intervals; 3], blocks: &BlockBox, i: usize) -> Intervals {
        let mut set = inner[i].clone();
        for (&(first, count), step) in blocks.iter().zip(&self.steps).filter(|(_, step)| step[i] != 0) {
            set = set.plus_progression(step[i], count.into());
            if first != 0 {
                set = set.shifted(first * step[i]);
            }
        }
        self.within[i].map_or_else(|| set.clone(), |(lo, hi)| set.clipped(lo, hi))
    }

    /// Elements that these blocks touch, those that several touch as often.
    pub(super) fn active(&self, inner: &[Intervals; 3], blocks: &BlockBox) -> f64 {
        let moved_by = |i: usize| self.steps.iter().enumerate().filter(move |(_, step)| step[i] != 0).map(|own| own.0);
        let still = self.steps.iter().zip(blocks).filter(|(step, _)| **step == [0; 3]).map(|(_, own)| f64::from(own.1));
        let along = |i: usize| {
            let alone = moved_by(i).next().filter(|_| moved_by(i).count() == 1).filter(|&group| {
                let span = inner[i].bounds().map_or(0, |(lo, hi)| hi - lo + 1);
                (0..3).all(|other| other == i || self.steps[group][other] == 0) && self.steps[group][i].abs() < span
            });
            // Blocks that touch elements of their own touch as many together.
            let Some(group) = alone else { return self.axis(inner, blocks, i).count() as f64 };
            let (first, count) = blocks[group];
            let looked_at = count.min(LOOKED_AT);
            let one = |k: u32| {
                let mut own = blocks.clone();
                own[group] = (first + i64::from(k) * i64::from(count - 1) / i64::from(looked_at - 1).max(1), 1);
                self.axis(inner, &own, i).count() as f64
            };
            (0..looked_at).map(one).sum::<f64>() * f64::from(count) / f64::from(looked_at)
        };
        still.product::<f64>() * (0..3).map(along).product::<f64>()
    }

    fn push(&self, [x, y, z]: [Intervals; 3], to: &mut SmallVec<[Region; 16]>) {
        if [&x, &y, &z].iter().all(|set| set.bounds().is_some()) {
            to.extend(self.offsets.iter().map(|by| Region { x: x.sum(&by.x), y: y.sum(&by.y), z: z.sum(&by.z) }));
        }
    }
}

/// Blocks in a row whose elements are counted one by one, of those that share some.
const LOOKED_AT: u32 = 32;

/// What guards leave of a coordinate's variable part: where bounds judge multiples of it, or of parts of it that share no variable (planes of
/// several channels' rows: one judges the row, another the channel); variables that no bound judges take all their values. What is left are
/// the ends of all this: what a bound leaves out in between is taken to be touched. Other bounds are taken to hold.
pub(super) fn within(subject: &Subject, touch: &Touch) -> [Option<(i64, i64)>; 3] {
    if touch.guard.is_empty() {
        return [None; 3];
    }
    let counts = || subject.groups.iter().chain(&subject.lanes).chain(&touch.loops);
    let range = |terms: &[(VarId, i32)]| {
        terms.iter().fold((0_i64, 0_i64), |(lo, hi), &(var, by)| {
            let most = counts().find(|own| own.id == var).map_or(0, |own| i64::from(own.count) - 1).saturating_mul(by.into());
            (lo.saturating_add(most.min(0)), hi.saturating_add(most.max(0)))
        })
    };
    [0, 1, 2].map(|i| {
        let form = &touch.coords[i];
        let mut judged: SmallVec<[(Affine, (i64, i64)); 4]> = SmallVec::new();
        for bound in &touch.guard {
            let part = part(form, &bound.value);
            let Some((lo, hi)) = left(bound, &part) else { continue };
            match judged.iter_mut().find(|own| own.0 == part) {
                Some((_, known)) => *known = (known.0.max(lo), known.1.min(hi)),
                None => judged.push((part, (lo, hi))),
            }
        }
        // Of parts that share variables the larger ones.
        judged.sort_by_key(|own| std::cmp::Reverse(own.0.terms().len()));
        let mut rest: SmallVec<[(VarId, i32); 8]> = form.terms().iter().copied().collect();
        let (mut lo, mut hi, mut any) = (0_i64, 0_i64, false);
        // Elements of a vector that are not judged one by one are touched with its first.
        let each = touch.guard.iter().any(|bound| bound.per_lane && !part(form, &bound.value).terms().is_empty());
        let width = if i > 0 || each { 1 } else { touch.width };
        for (part, (from, until)) in &judged {
            if part.terms().iter().all(|term| rest.contains(term)) {
                rest.retain(|term| !part.terms().contains(term));
                // Of a part that steps from channel to channel the last one there is.
                let step = part.terms().iter().fold(0, |step, term| gcd(step, term.1.into())).max(1);
                let (least, most) = range(part.terms());
                let (first, last) = ((-(-from).div_euclid(step) * step).max(least), ((until - 1).div_euclid(step) * step).min(most));
                // Nothing is left by a bound that never holds.
                if first > last {
                    return Some((0, 0));
                }
                (lo, hi, any) = (lo.saturating_add(first), hi.saturating_add(last), true);
            }
        }
        let (least, most) = range(&rest);
        (lo, hi) = (lo.saturating_add(least), hi.saturating_add(most));
        // Sets lie within 62 bits.
        let end = 1_i64 << 62;
        any.then_some((lo.clamp(-end, end), hi.clamp(-end, end - width) + width))
    })
}

/// The terms of a form whose variables another one has.
fn part(form: &Affine, of: &Affine) -> Affine {
    let mut own = form.with_constant(0);
    own.retain(|var| of.coefficient(*var) != 0);
    own
}

/// First and past the last value of a form's variable part for which a bound holds; `None` where it judges no multiple of it.
pub(in crate::volumes) fn left(bound: &AffineBound, form: &Affine) -> Option<(i64, i64)> {
    let (judged, own) = (bound.value.terms(), form.terms());
    let (times, over) = (i128::from(judged.first()?.1), i128::from(own.first()?.1));
    let alike = |(a, b): (&(VarId, i32), &(VarId, i32))| a.0 == b.0 && i128::from(a.1) * over == i128::from(b.1) * times;
    if judged.len() != own.len() || !judged.iter().zip(own).all(alike) {
        return None;
    }
    // 0 ≤ variable part · times / over + constant < extent.
    let (sign, constant) = ((times * over).signum(), i128::from(bound.value.constant));
    let limit = |value: i128| (value - constant) * over.abs() * sign;
    let least = |value: i128| -(-value).div_euclid(times.abs());
    let most = |value: i128| value.div_euclid(times.abs()) + 1;
    let (zero, extent) = (limit(0), limit(bound.extent.into()));
    let (lo, hi) = if sign > 0 { (least(zero), least(extent)) } else { (most(extent), most(zero)) };
    // Sets lie within 62 bits.
    let [lo, hi] = [lo, hi].map(|value| value.clamp(-(1 << 62), 1 << 62) as i64);
    Some((lo, hi))
}

/// What lanes and loops make of each coordinate; `None` where a variable moves several coordinates.
pub(super) fn inner(subject: &Subject, touch: &Touch) -> Option<[Intervals; 3]> {
    let moved = |var: VarId| touch.coords.iter().filter(|form| form.coefficient(var) != 0).count();
    let inner = || subject.lanes.iter().chain(&touch.loops);
    let shared = inner().chain(&subject.groups).any(|var| var.count > 1 && moved(var.id) > 1);
    let axis = |form: &Affine, width: i64| {
        let mut steps: SmallVec<[(i64, i64); 8]> =
            inner().map(|var| (i64::from(form.coefficient(var.id)), i64::from(var.count))).filter(|step| step.0 != 0).collect();
        // Small steps first: they make runs that larger ones join.
        steps.sort_unstable_by_key(|step| step.0.abs());
        steps.into_iter().fold(Intervals::range(0, width), |set, (step, count)| set.plus_progression(step, count))
    };
    (!shared).then(|| [axis(&touch.coords[0], touch.width), axis(&touch.coords[1], 1), axis(&touch.coords[2], 1)])
}
