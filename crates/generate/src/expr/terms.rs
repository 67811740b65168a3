//! The terms of a reduction whose body loads one element, or is the product of two, wherever its axes are: what is added for each point of
//! them is found in steps that are the same for all results.

use super::{AxisId, Coefficients, Index, TensorExpr};
use smallvec::SmallVec;

/// Points of the reduction axes, at most.
const MOST: usize = 1 << 16;

/// A position as steps of axes. What is beyond all numbers in between comes back where the whole is within.
#[derive(Clone)]
pub(super) struct Position {
    terms: SmallVec<[(usize, i64); 4]>,
    constant: i64,
}

impl Position {
    /// Of an element, row by row.
    pub(super) fn new(index: &[Index], shape: &[i64]) -> Self {
        let mut at = Self { terms: SmallVec::new(), constant: 0 };
        let mut stride = 1_i64;
        for (form, &extent) in index.iter().zip(shape).rev() {
            at.constant = at.constant.wrapping_add(form.constant.wrapping_mul(stride));
            for &(a, c) in form.terms() {
                let step = i64::from(c).wrapping_mul(stride);
                match at.terms.iter_mut().find(|term| term.0 == a.0) {
                    Some(term) => term.1 = term.1.wrapping_add(step),
                    None => at.terms.push((a.0, step)),
                }
            }
            stride = stride.wrapping_mul(extent);
        }
        at
    }

    #[inline]
    pub(super) fn at(&self, point: &[i64]) -> usize {
        self.terms.iter().fold(self.constant, |at, &(a, step)| at.wrapping_add(step.wrapping_mul(point[a]))) as usize
    }

    /// How far one step along an axis goes.
    pub(super) fn step(&self, axis: usize) -> usize {
        self.terms.iter().find(|term| term.0 == axis).map_or(0, |term| term.1 as usize)
    }
}

/// Terms in the order in which they are combined.
pub(super) struct Terms<'a, T> {
    loads: Vec<(&'a [T], Position)>,
    /// Of each term how far from that of the first point its elements are, in each of the loads, and its factor among those known.
    steps: Vec<[usize; 3]>,
    known: Option<&'a Coefficients>,
}

impl<'a, T: Copy + Into<f64>> Terms<'a, T> {
    /// Of an expression, whose body loads elements at these places of these tensors; `None` where they are none or more than two, or there are
    /// too many points.
    pub(super) fn new(expr: &TensorExpr, loads: Vec<(&'a [T], Position)>, known: Option<&'a Coefficients>) -> Option<Self> {
        let extents: Vec<i64> = expr.reduce.iter().map(|axis| axis.extent).collect();
        let points = extents.iter().try_fold(1_usize, |n, &extent| n.checked_mul(usize::try_from(extent).ok()?));
        points.filter(|&points| points <= MOST && (1..=2).contains(&loads.len()))?;
        let mut point = vec![0; expr.axes.len() + extents.len()];
        let mut steps = vec![];
        loop {
            let mut step = [0; 3];
            for (own, load) in step.iter_mut().zip(&loads) {
                *own = load.1.at(&point).wrapping_sub(load.1.constant as usize);
            }
            step[2] = known.map_or(0, |known| moved(&known.at, &point));
            steps.push(step);
            let inner = point[expr.axes.len()..].iter_mut().zip(&extents);
            let mut on = inner.rev();
            let turned = on.any(|(at, extent)| {
                *at = (*at + 1) % extent;
                *at != 0
            });
            if !turned {
                return Some(Self { loads, steps, known });
            }
        }
    }

    /// Combines the terms of points of all axes, one behind the other along an axis that no known factor depends on, into what each has so far;
    /// the axes of the reduction are at their first. All of them term by term, so that each is combined as alone.
    pub(super) fn combine(&self, point: &[i64], axis: usize, accs: &mut [f64], both: impl Fn(f64, f64) -> f64) {
        let first = |n: usize| self.loads.get(n).map_or((0, 0), |load| (load.1.at(point), load.1.step(axis)));
        let [(a, along_a), (b, along_b)] = [first(0), first(1)];
        let known = self.known.map(|known| (known, moved(&known.at, point).wrapping_add(known.at.constant as usize)));
        for step in &self.steps {
            let factor = known.map_or(1.0, |(known, at)| known.values[at.wrapping_add(step[2])]);
            if factor == 0.0 {
                continue;
            }
            let (mut a, mut b) = (a.wrapping_add(step[0]), b.wrapping_add(step[1]));
            for acc in &mut *accs {
                let own: f64 = self.loads[0].0[a].into();
                let value = self.loads.get(1).map_or(own, |other| own * other.0[b].into());
                *acc = both(*acc, factor * value);
                (a, b) = (a.wrapping_add(along_a), b.wrapping_add(along_b));
            }
        }
    }
}

/// What a form is at a point beside its constant; forms of small lists stay within numbers.
fn moved(form: &Index, point: &[i64]) -> usize {
    form.terms().iter().fold(0_i64, |at, &(AxisId(a), c)| at.wrapping_add(i64::from(c).wrapping_mul(point[a]))) as usize
}
