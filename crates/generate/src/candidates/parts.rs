//! What is joined of several tensors as several expressions, each of which copies one into its part.
//!
//! As one expression every result is a sum of what all tensors hold there, which is zero for all but one of them: each result asks for each of
//! them whether it is theirs. Nothing here asks what an operator is called: it is terms of a sum that are zero beyond tensors' ends which decide, where
//! no two of them reach one result and every result is reached.

use super::phases::{MOST_PHASES, inside, phase};
use crate::expr::{Operator, ScalarExpr, TensorExpr};
use crate::parts;
use std::ops::Range;
use warpsight_ir::{BinaryOp, UnaryOp};

/// The expressions, each of which writes a part of what this one does; `None` where results have several terms, or one.
pub(super) fn parted(step: &TensorExpr) -> Option<Vec<TensorExpr>> {
    if step.is_known() || !step.reduce.is_empty() || !step.before.is_empty() || step.coefficients.is_some() || step.clipped {
        return None;
    }
    let mut terms = vec![];
    summands(&step.body, &mut terms);
    if !(2..=MOST_PHASES as usize).contains(&terms.len()) {
        return None;
    }
    let part = |(number, term): (usize, &&ScalarExpr)| {
        let mut ranges: Vec<Range<i64>> = step.axes.iter().map(|axis| 0..axis.extent).collect();
        narrow(term, step, &mut ranges)?;
        phase(&TensorExpr { body: (*term).clone(), ..step.clone() }, &ranges, &format!("{}_part{number}", step.name))
    };
    let steps = terms.iter().enumerate().map(part).collect::<Option<_>>()?;
    let operator = Operator { kind: step.name.clone(), steps };
    parts::check(&operator).ok().map(|()| operator.steps)
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
