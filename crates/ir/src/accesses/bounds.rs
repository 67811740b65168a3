//! What conditions leave of linear forms: one interval for each, and how far coordinates go beyond their field.

use super::{AccessRef, Accesses, AffineBound, TensorPlace};
use crate::affine::{Affine, VarId};
use crate::program::{ImageKind, Name};
use crate::range::gcd;
use smallvec::SmallVec;
use std::fmt;

/// Conditions that are looked at together, where one alone says nothing of a form.
const TOGETHER: usize = 3;
/// From so many conditions on, one at a time: three of them are looked at in as many ways as their number to the third.
const MANY: usize = 12;

/// An access that touches what lies beside its field, as far as it goes along one axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// Its position among all accesses, in program order.
    pub access: usize,
    /// The field.
    pub field: Name,
    /// How far beyond the first or the last element.
    pub elements: u64,
    /// Along which axis, the fastest being 0.
    pub axis: usize,
    /// Accesses of the field that leave it along this axis, too, no farther.
    pub others: usize,
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { access, field, elements, axis, others } = self;
        let axis = ["x", "y", "z"].get(*axis).map_or_else(|| format!("axis {axis}"), |name| (*name).to_owned());
        write!(f, "access {access} of {field} leaves the field by {elements} elements along {axis}")?;
        match others {
            0 => Ok(()),
            1 => write!(f, ", and 1 other no farther"),
            _ => write!(f, ", and {others} others no farther"),
        }
    }
}

/// Terms of a form, by variable.
type Terms = SmallVec<[(VarId, i128); 6]>;

/// The largest value of each variable; the smallest is 0.
pub(super) struct Ranges(Vec<i128>);

/// least ≤ form ≤ most.
struct Interval {
    terms: Terms,
    least: i128,
    most: i128,
}

impl Ranges {
    pub(super) fn of(accesses: &Accesses) -> Self {
        // Trips that depend on data are as many as a loop can have.
        Self(accesses.vars.iter().map(|var| i128::from(var.trips.unwrap_or(u32::MAX).max(1)) - 1).collect())
    }

    /// A form without variables that have one value, 0.
    pub(super) fn moving(&self, form: &Affine) -> Affine {
        if form.terms().iter().all(|term| self.0[usize::from(term.0.0)] > 0) {
            return form.clone();
        }
        let mut moving = form.clone();
        moving.retain(|var| self.0[usize::from(var.0)] > 0);
        moving
    }

    /// The largest value of a form's variable part; `None` where it is beyond all numbers.
    fn most(&self, terms: &[(VarId, i128)]) -> Option<i128> {
        terms.iter().try_fold(0_i128, |most, &(var, c)| most.checked_add(c.checked_mul(self.0[usize::from(var.0)])?.max(0)))
    }

    /// The same where conditions hold, or more than that: each of them says something of a form that it is a part of.
    fn most_where(&self, terms: &[(VarId, i128)], hold: &[&Interval], together: usize) -> Option<i128> {
        let mut most = self.most(terms);
        if together == 0 || terms.is_empty() {
            return most;
        }
        for (i, own) in hold.iter().enumerate() {
            let mut tried: SmallVec<[i128; 6]> = SmallVec::new();
            for &(var, c) in terms {
                let Some(&(_, part)) = own.terms.iter().find(|term| term.0 == var) else { continue };
                let times = c / part;
                if c % part != 0 || tried.contains(&times) {
                    continue;
                }
                tried.push(times);
                let others: SmallVec<[&Interval; 6]> = hold.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, other)| *other).collect();
                let of_own = times.checked_mul(if times > 0 { own.most } else { own.least });
                let rest = less(terms, &own.terms, times).and_then(|rest| self.most_where(&rest, &others, together - 1));
                // What is beyond all numbers bounds nothing.
                if let Some(sum) = of_own.zip(rest).and_then(|(own, rest)| own.checked_add(rest)) {
                    most = Some(most.map_or(sum, |most| most.min(sum)));
                }
            }
        }
        most
    }

    /// The range of a form's variable part.
    fn range(&self, terms: &[(VarId, i128)]) -> (i128, i128) {
        self.range_where(terms, &[])
    }

    /// The range of a form's variable part where conditions hold.
    fn range_where(&self, terms: &[(VarId, i128)], hold: &[&Interval]) -> (i128, i128) {
        let negative: Terms = terms.iter().map(|&(var, c)| (var, -c)).collect();
        let together = if hold.len() > MANY { 1 } else { TOGETHER };
        // Forms of kernels have coefficients of 64 bits at most, ranges of 32 and few terms: without conditions they have a largest value.
        let most = |terms: &[(VarId, i128)]| self.most_where(terms, hold, together).unwrap_or(i128::MAX / 4);
        (-most(&negative), most(terms))
    }
}

/// terms − times · other
fn less(terms: &[(VarId, i128)], other: &[(VarId, i128)], times: i128) -> Option<Terms> {
    let mut rest: Terms = terms.iter().copied().collect();
    for &(var, c) in other {
        let part = times.checked_mul(c)?;
        match rest.iter_mut().find(|term| term.0 == var) {
            Some(term) => term.1 = term.1.checked_sub(part)?,
            None => rest.push((var, part.checked_neg()?)),
        }
    }
    rest.retain(|term| term.1 != 0);
    Some(rest)
}

fn wide(form: &Affine) -> Terms {
    form.terms().iter().map(|&(var, c)| (var, c.into())).collect()
}

/// An interval for each form that conditions judge, its terms without a common factor, the first positive. `None` where they never hold.
fn intervals(guard: &[AffineBound], ranges: &Ranges) -> Option<Vec<Interval>> {
    let mut found: Vec<Interval> = Vec::new();
    for bound in guard.iter().filter(|bound| !bound.per_lane) {
        let form = ranges.moving(&bound.value);
        let (constant, last) = (i128::from(form.constant), i128::from(bound.extent) - 1);
        let Some(&(_, first)) = form.terms().first() else {
            if constant < 0 || constant > last {
                return None;
            }
            continue;
        };
        let mut terms = wide(&form);
        let common = terms.iter().fold(0, |common, term| gcd(common, term.1.abs()));
        terms.iter_mut().for_each(|term| term.1 /= common * i128::from(first.signum()));
        let (from, to) = if first > 0 { (-constant, last - constant) } else { (constant - last, constant) };
        let (least, most) = (-(-from).div_euclid(common), to.div_euclid(common));
        match found.iter_mut().find(|own| own.terms == terms) {
            Some(own) => (own.least, own.most) = (own.least.max(least), own.most.min(most)),
            None => found.push(Interval { terms, least, most }),
        }
    }
    for own in &mut found {
        let (least, most) = ranges.range(&own.terms);
        (own.least, own.most) = (own.least.max(least), own.most.min(most));
        if own.least > own.most {
            return None;
        }
    }
    found.sort_by(|a, b| a.terms.cmp(&b.terms));
    Some(found)
}

/// Conditions in one form each, those that always hold left out; `None` where they never hold together.
pub(super) fn narrowed(guard: &[AffineBound], ranges: &Ranges) -> Option<Vec<AffineBound>> {
    if guard.is_empty() {
        return Some(vec![]);
    }
    let mut found = intervals(guard, ranges)?;
    let mut i = 0;
    while i < found.len() {
        let (least, most) = {
            let others: SmallVec<[&Interval; 6]> = found.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, own)| own).collect();
            ranges.range_where(&found[i].terms, &others)
        };
        if least > found[i].most || most < found[i].least {
            return None;
        }
        if found[i].least <= least && most <= found[i].most {
            found.remove(i);
        } else {
            i += 1;
        }
    }
    let bound = |own: &Interval| {
        let terms = own.terms.iter().map(|&(var, c)| (var, c as i64));
        // Terms and ends are those of conditions without a common factor: smaller than what they were read from.
        let value = Affine::of(terms, -(own.least as i64)).unwrap_or_default();
        AffineBound { value, extent: (own.most - own.least + 1) as i64, per_lane: false }
    };
    let lanes =
        guard.iter().filter(|bound| bound.per_lane).map(|bound| AffineBound { value: ranges.moving(&bound.value), ..bound.clone() });
    let mut bounds: Vec<AffineBound> = found.iter().map(bound).chain(lanes).collect();
    bounds.sort();
    bounds.dedup();
    Some(bounds)
}

impl Accesses {
    /// Accesses of buffers that touch what lies beside their field: for each field and axis the one that goes farthest. Images with a
    /// sampler answer beyond their edges, and an address that depends on data stands for others.
    pub fn outside(&self) -> Vec<Outside> {
        let ranges = Ranges::of(self);
        let (mut found, mut position) = (Vec::new(), 0);
        self.each(&mut |access| {
            self.leaves(access, position, &ranges, &mut found);
            position += 1;
        });
        found.sort_by_key(|own: &(u16, Outside)| (own.0, own.1.axis));
        found.into_iter().map(|own| own.1).collect()
    }

    fn leaves(&self, access: &AccessRef, position: usize, ranges: &Ranges, to: &mut Vec<(u16, Outside)>) {
        let tensor = &self.tensors[usize::from(access.tensor)];
        let dims = match &tensor.place {
            TensorPlace::Buffer { dims, .. } => dims.as_slice(),
            TensorPlace::Image { kind: ImageKind::Image1dBuffer, width, .. } => std::slice::from_ref(width),
            TensorPlace::Image { .. } => return,
        };
        if access.indirect.is_some() {
            return;
        }
        for (axis, (form, &extent)) in access.coords.iter().zip(dims).rev().enumerate() {
            let (terms, constant) = (wide(form), i128::from(form.constant));
            let last = i128::from(extent) - if axis == 0 { i128::from(access.width) } else { 1 };
            let beyond = |(least, most): (i128, i128)| (-(least + constant)).max(most + constant - last);
            // Conditions are seldom needed to see that it stays inside.
            if beyond(ranges.range(&terms)) <= 0 {
                continue;
            }
            let Some(hold) = intervals(&access.guard, ranges) else { return };
            let elements = beyond(ranges.range_where(&terms, &hold.iter().collect::<SmallVec<[&Interval; 6]>>()));
            let Ok(elements @ 1..) = u64::try_from(elements) else { continue };
            match to.iter_mut().find(|own| own.0 == access.tensor && own.1.axis == axis) {
                Some((_, own)) => {
                    own.others += 1;
                    if own.elements < elements {
                        (own.access, own.elements) = (position, elements);
                    }
                }
                None => {
                    let field = tensor.name.clone();
                    to.push((access.tensor, Outside { access: position, field, elements, axis, others: 0 }));
                }
            }
        }
    }
}
