//! An expression as several, each of the results whose sums have the same terms.
//!
//! Of a strided transposed convolution the results of one remainder by the stride have taps of their own: a window of three has two of them for one of
//! two neighbours and one for the other. As one expression every result has as many terms as the most, and what is no tap is read beyond the
//! weight's end, as zero. Nothing here asks what an operator is called: it is an axis of few positions that decides, with one of a reduction, whether
//! a factor lies within its tensor.

use crate::expr::{Axis, AxisId, Combine, Index, ScalarExpr, Tensor, TensorExpr};
use crate::nest::for_each;
use crate::operators::Builder;
use crate::operators::split::read;
use crate::parts::{self, Part};
use std::ops::Range;
use warpsight_ir::BinaryOp;

/// Expressions that one becomes, at most: each is a kernel.
pub(super) const MOST_PHASES: i64 = 16;

/// A parallel axis whose positions have terms of their own along a reduction axis.
struct Phased {
    axis: AxisId,
    reduced: AxisId,
    /// Per position the terms that may be other than zero.
    terms: Vec<Range<i64>>,
}

/// The expressions, each of which writes a part of what this one does; `None` where all results have the same terms.
pub(super) fn phases(step: &TensorExpr) -> Option<Vec<TensorExpr>> {
    if step.is_known() || step.combine != Combine::Sum || !step.before.is_empty() || step.coefficients.is_some() {
        return None;
    }
    let mut found: Vec<Phased> = vec![];
    factors(
        &step.body,
        &mut |tensor, index| {
            for (form, &extent) in index.iter().zip(&tensor.shape) {
                let own = phased(step, form, extent);
                // What two factors say of one axis is left to the first.
                found.extend(own.filter(|own| found.iter().all(|other| other.axis != own.axis && other.reduced != own.reduced)));
            }
        },
        &step.inputs,
    );
    let counts: Vec<i64> = found.iter().map(|own| own.terms.len() as i64).collect();
    let all: i64 = counts.iter().product();
    if found.is_empty() || all > MOST_PHASES {
        return None;
    }
    let mut steps: Vec<Option<TensorExpr>> = vec![];
    for_each(&counts, |at| {
        let at: Vec<(&Phased, i64)> = found.iter().zip(at.iter().copied()).collect();
        if let Some(ranges) = walked(step, &at) {
            steps.push(phase(step, &ranges, &format!("{}_phase{}", step.name, steps.len())));
        }
    });
    let steps: Vec<TensorExpr> = steps.into_iter().collect::<Option<_>>()?;
    parts::share(step, &steps).then_some(steps)
}

/// Loads that a product is zero without.
fn factors(scalar: &ScalarExpr, f: &mut impl FnMut(&Tensor, &[Index]), inputs: &[Tensor]) {
    match scalar {
        ScalarExpr::Binary(BinaryOp::Mul, a, b) => {
            factors(a, f, inputs);
            factors(b, f, inputs);
        }
        ScalarExpr::Load { tensor, index, padded: true } => f(&inputs[*tensor], index),
        _ => {}
    }
}

/// What decides whether a position lies within an extent, where one axis of each kind does and it matters.
fn phased(step: &TensorExpr, form: &Index, extent: i64) -> Option<Phased> {
    let parallel = step.axes.len();
    let [(axis, by), (reduced, steps)] = *form.terms() else { return None };
    let ((axis, by), (reduced, steps)) = if axis.0 < parallel { ((axis, by), (reduced, steps)) } else { ((reduced, steps), (axis, by)) };
    // A remainder is the finer one of the axes along its dimension; the ends of a picture have fewer terms, too.
    let finer = |by: i32, form: &Index| form.terms().iter().all(|term| term.0 == axis || term.1.abs() > by.abs());
    let remainder = |store: &Index| match store.coefficient(axis) {
        0 => false,
        by => store.terms().len() > 1 && finer(by, store),
    };
    if axis.0 >= parallel || reduced.0 < parallel || !step.store.iter().any(remainder) {
        return None;
    }
    let terms = step.reduce[reduced.0 - parallel].extent;
    let of = |position: i64| inside(form.constant + i64::from(by) * position, steps, extent, &(0..terms));
    // A result without terms keeps one, which is zero.
    let own: Vec<Range<i64>> = (0..step.axes[axis.0].extent.min(MOST_PHASES + 1)).map(|position| of(position).unwrap_or(0..1)).collect();
    let fewer = own.iter().any(|range| range.end - range.start < terms);
    fewer.then_some(Phased { axis, reduced, terms: own })
}

/// What is walked for the results at these positions of their axes, but for those that are left out of the output; `None` where that is all of them.
fn walked(step: &TensorExpr, at: &[(&Phased, i64)]) -> Option<Vec<Range<i64>>> {
    let mut ranges: Vec<Range<i64>> = step.all_axes().map(|axis| 0..axis.extent).collect();
    for (own, position) in at {
        ranges[own.axis.0] = *position..position + 1;
        ranges[own.reduced.0] = own.terms[*position as usize].clone();
    }
    for (form, extent) in step.store.iter().zip(&step.output.shape).filter(|_| step.clipped) {
        // Along a dimension that several axes walk some may still be left out.
        let open: Vec<AxisId> = form.terms().iter().map(|term| term.0).filter(|a| several(&ranges[a.0])).collect();
        let first = form.terms().first().map(|term| term.0);
        let Some(axis) = open.first().copied().or(first).filter(|_| open.len() < 2) else { continue };
        let others = form.eval(|a| if a == axis { 0 } else { ranges[a.0].start })?;
        ranges[axis.0] = inside(others, form.coefficient(axis), *extent, &ranges[axis.0])?;
    }
    Some(ranges)
}

/// The positions of a range at which `first + by · position` is within an extent; `None` where there are none.
pub(super) fn inside(first: i64, by: i32, extent: i64, range: &Range<i64>) -> Option<Range<i64>> {
    let by = i64::from(by);
    // Backwards, the last one comes first.
    let (low, high) = if by > 0 { (-first, extent - 1 - first) } else { (first - extent + 1, first) };
    let own = -(-low).div_euclid(by.abs())..high.div_euclid(by.abs()) + 1;
    let own = own.start.max(range.start)..own.end.min(range.end);
    (own.start < own.end).then_some(own)
}

fn several(range: &Range<i64>) -> bool {
    range.end - range.start > 1
}

/// The expression of these results; `None` where forms leave their numbers.
pub(super) fn phase(step: &TensorExpr, ranges: &[Range<i64>], name: &str) -> Option<TensorExpr> {
    let parallel = step.axes.len();
    let lonely = !ranges[..parallel].iter().any(several);
    let kept = |a: usize| several(&ranges[a]) || lonely && a + 1 == parallel;
    let axes: Vec<(usize, Axis)> = step
        .all_axes()
        .enumerate()
        .filter(|own| kept(own.0))
        .map(|(a, axis)| (a, Axis { extent: ranges[a].end - ranges[a].start, ..axis.clone() }))
        .collect();
    let form = |(a, range): (usize, &Range<i64>)| match axes.iter().position(|own| own.0 == a) {
        Some(own) => Index::var(AxisId(own)).offset(range.start),
        None => Some(Index::constant(range.start)),
    };
    let forms: Vec<Index> = ranges.iter().enumerate().map(form).collect::<Option<_>>()?;
    let (outer, inner): (Vec<_>, Vec<_>) = axes.into_iter().partition(|own| own.0 < parallel);
    let [outer, inner] = [outer, inner].map(|list| list.into_iter().map(|own| own.1).collect::<Vec<Axis>>());
    let mut builder = Builder::of(name, &outer, &inner);
    let body = read(&mut builder, &step.inputs, &step.body, &forms)?;
    let epilogue = read(&mut builder, &step.inputs, &step.epilogue, &forms)?;
    let store: Vec<Index> = step.store.iter().map(|form| form.substitute(|a| forms.get(a.0))).collect::<Option<_>>()?;
    let own = builder.finish(step.combine, body, epilogue, step.output.clone(), store);
    let clipped = step.clipped && Part::of(&own).is_none();
    Some(TensorExpr { clipped, ..own })
}
