//! Long reductions as several steps: partial results side by side, then their combination.
//!
//! One work-item that adds up n numbers of one sign in `f32` is off by about √n · 1.4e-8 of the sum: every addition rounds, to either side
//! alike, by up to half a unit in the last place of what has been added up so far. A million numbers are then wrong in the fifth digit, and
//! one lane works while all others wait. Partial sums of a strided selection each, added up in turn, are off by √(length + number) · 1.4e-8.

use super::Builder;
use crate::expr::{Axis, AxisId, Index, Role, ScalarExpr, Tensor, TensorExpr};
use crate::schedule::runs_along;
use std::sync::Arc;
use warpsight_ir::{Name, Scalar};

/// The longest reduction in one variable: its sum is off by about 2.6e-6, a quarter of what verification allows in `f32`, so that a kernel
/// that is right fails one time in ten thousand at most.
pub const LONGEST: i64 = 1 << 15;
/// The same in half precision, where a number is lost in a sum of 4096 times it: the sum is off by about √n · 1.2e-4, a third of what
/// verification allows.
const LONGEST_OF_HALVES: i64 = 1 << 10;
/// Partial results that a device should have to work on side by side, while none becomes shorter than there are of them.
const PARALLEL: i64 = 1 << 12;
/// What the name of an axis of partial results ends with, after that of the axis that was cut.
const PART: &str = "_part";

/// The longest reduction of one work-item that computes in this type.
pub(crate) fn longest(number: Scalar) -> i64 {
    if number == Scalar::Half { LONGEST_OF_HALVES } else { LONGEST }
}

/// Replaces every step whose reduction is too long by steps that are not.
pub(crate) fn split(steps: Vec<TensorExpr>) -> Vec<TensorExpr> {
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

/// The same in parts that are runs: each of positions that follow each other, in memory, too; `None` where they do not.
pub(crate) fn in_runs(step: &TensorExpr, parts: i64) -> Option<Vec<TensorExpr>> {
    let cut = Cut::into_parts(step, parts).filter(|cut| runs_along(step, AxisId(step.axes.len() + cut.axis)))?;
    Cut { runs: true, ..cut }.steps()
}

/// Whether a reduction is long, and there is a way to cut it.
pub(crate) fn can_be_cut(step: &TensorExpr) -> bool {
    Cut::of(step).is_some()
}

/// Steps as they were before long reductions were cut: a schedule may share these among lanes, too. Pieces that were cut again are joined first.
pub(crate) fn whole(steps: &[TensorExpr]) -> Vec<TensorExpr> {
    let mut all = steps.to_vec();
    loop {
        let fewer = joined_once(&all);
        if fewer.len() == all.len() {
            return all;
        }
        all = fewer;
    }
}

fn joined_once(steps: &[TensorExpr]) -> Vec<TensorExpr> {
    let mut left = steps;
    let mut all = vec![];
    while let [first, rest @ ..] = left {
        let joined = [3, 2].into_iter().find_map(|pieces| Some((joined(left.get(..pieces)?)?, &left[pieces..])));
        let (own, further) = joined.unwrap_or_else(|| (first.clone(), rest));
        all.push(own);
        left = further;
    }
    all
}

/// The reduction that these are the pieces of.
fn joined(pieces: &[TensorExpr]) -> Option<TensorExpr> {
    let (partial, last) = (pieces.first()?, pieces.last()?);
    let rest = pieces.get(1).filter(|_| pieces.len() == 3);
    let (part, outer) = partial.axes.split_last()?;
    let cut = part.name.strip_suffix(PART)?;
    // As everywhere, reductions of one term are no axes: of what was cut into as many parts as it had terms, none is left.
    let terms = |step: &TensorExpr| step.reduce.iter().find(|own| *own.name == *cut).map_or(1, |own| own.extent);
    let extent = terms(partial).checked_mul(part.extent)?.checked_add(rest.map_or(0, terms))?;
    let mut reduce = partial.reduce.clone();
    let axis = reduce.iter().position(|own| *own.name == *cut).unwrap_or_else(|| {
        reduce.push(Axis { name: cut.into(), extent });
        reduce.len() - 1
    });
    reduce[axis].extent = extent;
    let first = last.axes.len();
    let along = |own: &Axis| Some(Index::var(AxisId(last.axes.iter().position(|axis| axis.name == own.name)?)));
    let mut forms: Vec<Index> = outer.iter().map(along).collect::<Option<_>>()?;
    forms.push(Index::var(AxisId(first + axis)));
    forms.extend((0..partial.reduce.len()).map(|r| if r == axis { Index::constant(0) } else { Index::var(AxisId(first + r)) }));
    let mut builder = Builder::of(&last.name, &last.axes, &reduce);
    let body = read(&mut builder, &partial.inputs, &partial.body, &forms)?;
    let point: Vec<Index> = (0..first).map(|a| Index::var(AxisId(a))).collect();
    let mut epilogue = last.epilogue.clone();
    if let Some(rest) = rest {
        let of_rest = |own: &ScalarExpr| matches!(own, ScalarExpr::Load { tensor, .. } if last.inputs[*tensor].name == rest.output.name);
        let mut with_rest = None;
        last.epilogue.each(&mut |own| {
            if matches!(own, ScalarExpr::Binary(_, a, b) if **a == ScalarExpr::Acc && of_rest(b)) {
                with_rest = Some(own);
            }
        });
        epilogue = epilogue.replaced(with_rest?, &ScalarExpr::Acc);
    }
    let epilogue = read(&mut builder, &last.inputs, &epilogue, &point)?;
    let whole = builder.finish(last.combine, body, epilogue, last.output.clone(), last.store.clone());
    let whole = TensorExpr { clipped: last.clipped, ..whole };
    // Whatever these are, they are pieces of it if cutting it gives them.
    let cut = Cut::of(&whole)?.steps()?;
    (cut.len() == pieces.len() && cut.iter().zip(pieces).all(|(a, b)| without_lonely(a) == without_lonely(b))).then_some(whole)
}

/// An expression that says 0 in place of axes of one position, as most do: where no other axis is left, one stays, and pieces have others.
fn without_lonely(step: &TensorExpr) -> Option<TensorExpr> {
    let form = |(a, axis): (usize, &Axis)| if axis.extent == 1 { Index::constant(0) } else { Index::var(AxisId(a)) };
    let forms: Vec<Index> = step.all_axes().enumerate().map(form).collect();
    Some(TensorExpr { body: step.body.substitute(&forms)?, epilogue: step.epilogue.substitute(&forms)?, ..step.clone() })
}

/// Terms of each result.
pub(crate) fn terms(step: &TensorExpr) -> i64 {
    step.reduce.iter().try_fold(1i64, |n, a| n.checked_mul(a.extent)).unwrap_or(i64::MAX)
}

/// Where a reduction is cut: its longest axis is `length · blocks + rest`. Partial result j is of the positions i · blocks + j, so that
/// neighbouring work-items read neighbouring elements, or, of runs, j · length + i, so that each reads what lies together.
struct Cut<'a> {
    expr: &'a TensorExpr,
    /// Position of the axis among the reduction axes.
    axis: usize,
    /// The name of the axis of partial results.
    part: Name,
    blocks: i64,
    length: i64,
    rest: i64,
    runs: bool,
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
        let part = Arc::from(format!("{}{PART}", expr.reduce[axis].name));
        fits.then_some(Self { expr, axis, part, blocks, length: extent / blocks, rest: extent % blocks, runs: false })
    }

    /// `None` where positions exceed 32 bits.
    fn steps(&self) -> Option<Vec<TensorExpr>> {
        let at = |own: &Index, part: &[Index]| if self.runs { own.plus(&part[0], self.length) } else { part[0].plus(own, self.blocks) };
        let partial = self.piece("part", &[(&*self.part, self.blocks)], self.length, at)?;
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
        let output = Tensor { name: named(&expr.output.name), shape, element: expr.arithmetic(), role: Role::Output, values: None };
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
pub(crate) fn read(builder: &mut Builder, inputs: &[Tensor], scalar: &ScalarExpr, forms: &[Index]) -> Option<ScalarExpr> {
    let moved = scalar.substitute(forms)?;
    Some(moved.with_leaves(&mut |leaf| match leaf {
        ScalarExpr::Load { tensor, index, .. } => builder.load(&inputs[*tensor], index.clone()),
        ScalarExpr::Gather { tensor, index, found } => builder.gather(&inputs[*tensor], index.clone(), found.clone()),
        other => other.clone(),
    }))
}
