//! Long reductions as several steps: partial results side by side, then their combination.
//!
//! One work-item that adds up n numbers of one sign in `f32` is off by about √n · 1.4e-8 of the sum: every addition rounds, to either side
//! alike, by up to half a unit in the last place of what has been added up so far. A million numbers are then wrong in the fifth digit, and
//! one lane works while all others wait. Partial sums of a strided selection each, added up in turn, are off by √(length + number) · 1.4e-8.

use super::Builder;
use crate::expr::{Index, Role, ScalarExpr, Tensor, TensorExpr};
use std::sync::Arc;
use warpsight_ir::{Name, Scalar};

/// The longest reduction of one work-item: its sum is off by about 2.6e-6, a quarter of what verification allows in `f32`, so that a kernel
/// that is right fails one time in ten thousand at most.
pub const LONGEST: i64 = 1 << 15;
/// The same in half precision, where a number is lost in a sum of 4096 times it: the sum is off by about √n · 1.2e-4, a third of what
/// verification allows.
const LONGEST_OF_HALVES: i64 = 1 << 10;
/// Partial results that a device should have to work on side by side, while none becomes shorter than there are of them.
const PARALLEL: i64 = 1 << 12;

/// The longest reduction of one work-item that computes in this type.
fn longest(number: Scalar) -> i64 {
    if number == Scalar::Half { LONGEST_OF_HALVES } else { LONGEST }
}

/// Replaces every step whose reduction is too long by steps that are not.
pub(super) fn split(steps: Vec<TensorExpr>) -> Vec<TensorExpr> {
    let mut open: Vec<TensorExpr> = steps.into_iter().rev().collect();
    let mut done = vec![];
    while let Some(step) = open.pop() {
        match Cut::of(&step).and_then(|cut| cut.steps()) {
            Some(steps) => open.extend(steps.into_iter().rev()),
            None => done.push(step),
        }
    }
    done
}

/// The steps of a reduction whose longest axis is cut into about so many parts; `None` where there is nothing to cut.
pub(crate) fn in_parts(step: &TensorExpr, parts: i64) -> Option<Vec<TensorExpr>> {
    Cut::into_parts(step, parts)?.steps()
}

/// Terms of each result.
fn terms(step: &TensorExpr) -> i64 {
    step.reduce.iter().try_fold(1i64, |n, a| n.checked_mul(a.extent)).unwrap_or(i64::MAX)
}

/// Where a reduction is cut: its longest axis is `length · blocks + rest`. Partial result j is of the positions i · blocks + j, so that
/// neighbouring work-items read neighbouring elements.
struct Cut<'a> {
    expr: &'a TensorExpr,
    /// Position of the axis among the reduction axes.
    axis: usize,
    /// The name of the axis of partial results.
    part: Name,
    blocks: i64,
    length: i64,
    rest: i64,
}

impl<'a> Cut<'a> {
    /// `None` where the reduction is short enough, or partial results would not fit 32-bit indices.
    fn of(expr: &'a TensorExpr) -> Option<Self> {
        let total = terms(expr);
        let outputs = expr.axes.iter().map(|a| a.extent).product::<i64>();
        // Room for the rounding of the second step.
        let block = longest(expr.arithmetic()) / 2;
        let wanted = (total / block).max(total.isqrt().min(PARALLEL / outputs));
        (total > longest(expr.arithmetic())).then(|| Self::into_parts(expr, wanted)).flatten()
    }

    /// The longest axis in about so many parts.
    fn into_parts(expr: &'a TensorExpr, wanted: i64) -> Option<Self> {
        if !expr.before.is_empty() || expr.stores_each() || expr.coefficients.is_some() {
            return None;
        }
        let (axis, extent) = expr.reduce.iter().map(|a| a.extent).enumerate().max_by_key(|a| a.1).filter(|own| own.1 > 1)?;
        let outputs = expr.axes.iter().map(|a| a.extent).product::<i64>();
        let wanted = wanted.clamp(2, extent);
        // Multiples of 4 keep texels whole, divisors leave no rest.
        let mut fours = ((wanted + 3) / 4 * 4..=extent.min(2 * wanted)).step_by(4);
        let first = fours.clone().next().unwrap_or(wanted);
        let blocks = fours.find(|b| extent % b == 0).unwrap_or(first);
        let fits = outputs.checked_mul(blocks).is_some_and(|elements| elements <= i64::from(i32::MAX));
        let part = Arc::from(format!("{}_part", expr.reduce[axis].name));
        fits.then_some(Self { expr, axis, part, blocks, length: extent / blocks, rest: extent % blocks })
    }

    /// `None` where positions exceed 32 bits.
    fn steps(&self) -> Option<Vec<TensorExpr>> {
        let strided = |own: &Index, part: &[Index]| part[0].plus(own, self.blocks);
        let partial = self.piece("part", &[(&*self.part, self.blocks)], self.length, strided)?;
        let behind = |own: &Index, _: &[Index]| own.clone().offset(self.length * self.blocks);
        let rest = if self.rest > 0 { Some(self.piece("rest", &[], self.rest, behind)?) } else { None };
        let last = self.last(&partial.output, rest.as_ref().map(|r| &r.output))?;
        Some([Some(partial), rest, Some(last)].into_iter().flatten().collect())
    }

    fn parallel(&self) -> Vec<(&'a str, i64)> {
        self.expr.axes.iter().map(|a| (&*a.name, a.extent)).collect()
    }

    /// The reduction over `extent` positions of the axis, each where `at` says, for every point of the parallel axes and of `more`.
    fn piece(&self, name: &str, more: &[(&str, i64)], extent: i64, at: impl Fn(&Index, &[Index]) -> Option<Index>) -> Option<TensorExpr> {
        let expr = self.expr;
        let parallel = [&self.parallel(), more].concat();
        let reduce: Vec<_> = expr.reduce.iter().map(|a| &*a.name).zip(self.extents(extent)).collect();
        // No other cut gives these names: a tensor is never cut twice along one axis.
        let named = |stem: &Name| -> Name { Arc::from(format!("{stem}_{}_{name}", expr.reduce[self.axis].name)) };
        let (mut builder, store, mut own) = Builder::new(&named(&expr.name), &parallel, &reduce);
        let (outer, more) = store.split_at(expr.axes.len());
        own[self.axis] = at(&own[self.axis], more)?;
        let forms: Vec<Index> = outer.iter().cloned().chain(own).collect();
        let body = read(&mut builder, &expr.inputs, &expr.body, &forms)?;
        let shape = parallel.iter().map(|a| a.1).collect();
        let output = Tensor { name: named(&expr.output.name), shape, element: expr.arithmetic(), role: Role::Output };
        Some(builder.finish(expr.combine, body, ScalarExpr::Acc, output, store))
    }

    fn extents(&self, own: i64) -> impl Iterator<Item = i64> {
        self.expr.reduce.iter().enumerate().map(move |(r, a)| if r == self.axis { own } else { a.extent })
    }

    /// Combines the partial results, then does what the expression did with the combined value.
    fn last(&self, partial: &Tensor, rest: Option<&Tensor>) -> Option<TensorExpr> {
        let expr = self.expr;
        let (mut builder, point, part) = Builder::new(&expr.name, &self.parallel(), &[(&*self.part, self.blocks)]);
        let written = |tensor: &Tensor| Tensor { role: Role::Activation, ..tensor.clone() };
        let body = builder.load(&written(partial), [&point[..], &part].concat());
        let combine = expr.combine.operation();
        let whole =
            rest.map_or(ScalarExpr::Acc, |rest| ScalarExpr::binary(combine, ScalarExpr::Acc, builder.load(&written(rest), point.clone())));
        let epilogue = read(&mut builder, &expr.inputs, &expr.epilogue, &point)?.with_acc(&whole);
        let whole = builder.finish(expr.combine, body, epilogue, expr.output.clone(), expr.store.clone());
        Some(TensorExpr { clipped: expr.clipped, ..whole })
    }
}

/// A scalar with its loads from `inputs` made those of `builder`, a form in place of each axis; `None` where one exceeds its numbers.
fn read(builder: &mut Builder, inputs: &[Tensor], scalar: &ScalarExpr, forms: &[Index]) -> Option<ScalarExpr> {
    let moved = scalar.substitute(forms)?;
    Some(moved.with_leaves(&mut |leaf| match leaf {
        ScalarExpr::Load { tensor, index, .. } => builder.load(&inputs[*tensor], index.clone()),
        ScalarExpr::Gather { tensor, index, found } => builder.gather(&inputs[*tensor], index.clone(), found.clone()),
        other => other.clone(),
    }))
}
