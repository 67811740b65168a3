//! What is joined of several tensors as several expressions, each of which copies one into its part.
//!
//! As one expression every result is a sum of what all tensors hold there, which is zero for all but one of them: each result asks for each of
//! them whether it is theirs. Nothing here asks what an operator is called: it is terms of a sum that are zero beyond tensors' ends which decide, where
//! no two of them reach one result and every result is reached. What makes one of the tensors may write the part itself ([`stored_by`]).

use super::phases::{MOST_PHASES, inside, phase};
use crate::expr::{Index, Operator, ScalarExpr, Tensor, TensorExpr};
use crate::parts::{Part, share};
use std::ops::Range;
use warpsight_ir::range::Interval;
use warpsight_ir::{BinaryOp, UnaryOp};

/// The expressions, each of which writes a part of what this one does; `None` where results have several terms, or one.
pub(super) fn parted(step: &TensorExpr) -> Option<Vec<TensorExpr>> {
    let alone: Vec<Range<usize>> = (0..terms(step)).map(|at| at..at + 1).collect();
    (2..=MOST_PHASES as usize).contains(&alone.len()).then(|| pieces(step, &alone)).flatten()
}

/// The terms of the sum that each result is; none where it is none of terms that may be told apart.
pub fn terms(step: &TensorExpr) -> usize {
    let mut all = vec![];
    if is_of_each(step) && !step.is_known() {
        summands(&step.body, &mut all);
    }
    all.len()
}

/// An expression for each of these runs of the terms of a sum, which together are all: it writes the results that one of its terms may reach. `None`
/// where two of them would write one result, or none of them.
pub fn pieces(step: &TensorExpr, runs: &[Range<usize>]) -> Option<Vec<TensorExpr>> {
    let mut all = vec![];
    summands(&step.body, &mut all);
    let piece = |(number, run): (usize, &Range<usize>)| {
        let own = all.get(run.clone())?;
        let mut reached: Option<Vec<Range<i64>>> = None;
        for term in own {
            let mut ranges: Vec<Range<i64>> = step.axes.iter().map(|axis| 0..axis.extent).collect();
            narrow(term, step, &mut ranges)?;
            let so_far = reached.get_or_insert_with(|| ranges.clone());
            so_far.iter_mut().zip(ranges).for_each(|(own, more)| *own = own.start.min(more.start)..own.end.max(more.end));
        }
        let body = own.iter().copied().cloned().reduce(|a, b| ScalarExpr::binary(BinaryOp::Add, a, b))?;
        phase(&TensorExpr { body, ..step.clone() }, &reached?, &format!("{}_part{number}", step.name))
    };
    let steps: Vec<TensorExpr> = runs.iter().enumerate().map(piece).collect::<Option<_>>()?;
    share(step, &steps).then_some(steps)
}

/// The operator that stores what it makes where an expression, which only moves all of that and makes a number of each, puts it: its results are
/// another tensor, or a part of one. `None` where it is no such expression, or it cannot be told which elements are written.
pub fn stored_by(made: &Operator, moved: &TensorExpr) -> Option<Operator> {
    let output = &made.steps.last()?.output;
    let ScalarExpr::Load { tensor, index, padded: false } = Some(&moved.body).filter(|_| is_of_each(moved))? else { return None };
    let read = &moved.inputs[*tensor];
    let alike = read.shape == output.shape && [output.element, moved.output.element].iter().all(|own| *own == read.element);
    let whole = moved.axes.iter().map(|axis| axis.extent).product::<i64>() == output.len() as i64;
    let mut others = false;
    moved.epilogue.each(&mut |own| others |= matches!(own, ScalarExpr::Load { .. } | ScalarExpr::Gather { .. }));
    // What works in place of something stays there.
    let again = made.steps.iter().flat_map(|step| &step.inputs).any(|input| input.name == output.name);
    if !alike || !whole || others || again {
        return None;
    }
    let own = |step: &TensorExpr| {
        if step.output.name != output.name {
            return Some(step.clone());
        }
        // The axes that move, by the dimension that each is read along.
        let mut along = vec![None; moved.axes.len()];
        for (form, stored) in index.iter().zip(&step.store) {
            match *form.terms() {
                [(axis, 1)] => along[axis.0] = Some(stored.clone().offset(form.constant.checked_neg()?)?),
                [] if form.constant == 0 => {}
                _ => return None,
            }
        }
        let forms: Vec<Index> = along.into_iter().collect::<Option<_>>()?;
        let store: Vec<Index> = moved.store.iter().map(|form| form.substitute(|a| forms.get(a.0))).collect::<Option<_>>()?;
        // What is left out is beyond the whole, too.
        let ends = |(form, extent): (&Index, &i64)| {
            let range = form.range(|a| Interval::below(step.all_axes().nth(a.0).map_or(1, |axis| axis.extent)));
            let same = store.iter().zip(&moved.output.shape).any(|(own, whole)| own == form && whole == extent);
            range.within(Interval::below(*extent)) || same
        };
        let ends = !step.clipped || step.store.iter().zip(&output.shape).all(ends);
        let epilogue = moved.epilogue.substitute(&forms)?.with_acc(&step.epilogue);
        let own = TensorExpr { epilogue, store, output: Tensor { name: output.name.clone(), ..moved.output.clone() }, ..step.clone() };
        (ends && Part::of(&own).is_some()).then_some(own)
    };
    Some(Operator { kind: made.kind.clone(), steps: made.steps.iter().map(own).collect::<Option<_>>()? })
}

/// Whether each result is stored and nothing is reduced.
fn is_of_each(step: &TensorExpr) -> bool {
    step.reduce.is_empty() && step.before.is_empty() && step.coefficients.is_none() && !step.clipped
}

fn summands<'a>(scalar: &'a ScalarExpr, terms: &mut Vec<&'a ScalarExpr>) {
    match scalar {
        ScalarExpr::Binary(BinaryOp::Add, a, b) => {
            summands(a, terms);
            summands(b, terms);
        }
        other => terms.push(other),
    }
}

/// Leaves the positions of each axis at which a scalar may be other than zero; `None` where there are none.
fn narrow(scalar: &ScalarExpr, step: &TensorExpr, ranges: &mut [Range<i64>]) -> Option<()> {
    let zero = |own: &ScalarExpr| matches!(own, ScalarExpr::Const(value) if *value == 0.0);
    match scalar {
        ScalarExpr::Load { tensor, index, padded: true } => {
            for (form, &extent) in index.iter().zip(&step.inputs[*tensor].shape) {
                if let [(axis, by)] = *form.terms() {
                    ranges[axis.0] = inside(form.constant, by, extent, &ranges[axis.0])?;
                }
            }
            Some(())
        }
        ScalarExpr::Binary(BinaryOp::Mul, a, b) => {
            narrow(a, step, ranges)?;
            narrow(b, step, ranges)
        }
        ScalarExpr::Binary(BinaryOp::Max | BinaryOp::Min, a, b) if zero(b) => narrow(a, step, ranges),
        // What makes zero of zero.
        ScalarExpr::Unary(UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Sqrt | UnaryOp::Tanh, a) | ScalarExpr::Round(_, a) => {
            narrow(a, step, ranges)
        }
        _ => Some(()),
    }
}
