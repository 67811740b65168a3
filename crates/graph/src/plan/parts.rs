//! What is joined of several tensors: each is written where it belongs by what makes it, where nobody else reads it.
//!
//! Then nothing is copied and no result asks which of the tensors it is of. What is left (inputs of the network, what others read, too) is copied by one
//! kernel: what makes a tensor between two of these stays as it is, so that there are no more kernels than there were.

use super::uses::Uses;
use super::{Plan, PlannedOp};
use crate::graph::TensorId;
use std::collections::HashMap;
use std::ops::Range;
use warpsight_generate::candidates::{pieces, stored_by, terms};
use warpsight_generate::expr::{Operator, TensorExpr};
use warpsight_generate::operators::external_inputs;

/// Lets operators write parts of what others only join of theirs. Those joined last come first: what is joined of what is joined is written once.
pub(super) fn part(plan: &mut Plan) {
    let mut uses = Uses::of(plan);
    let mut left: Vec<Option<PlannedOp>> = plan.operators.drain(..).map(Some).collect();
    let mut gone: Vec<TensorId> = vec![];
    for position in (0..left.len()).rev() {
        let Some((parts, rest)) = left[position].as_ref().and_then(|op| parted(op, &left, plan, &uses)) else { continue };
        let Some(joined) = left[position].take() else { continue };
        let last = parts.len() - 1;
        for (number, Part { writer, operator, tensor }) in parts.into_iter().enumerate() {
            let Some(own) = &mut left[writer] else { continue };
            (own.operator, own.output) = (operator, joined.output);
            if rest.is_none() && number == last {
                own.nodes.extend(joined.nodes.iter().cloned());
            }
            own.temporaries.iter_mut().filter(|id| **id == tensor).for_each(|id| *id = joined.output);
            uses.writes(writer, joined.output);
            gone.push(tensor);
        }
        // The inputs are those that are still read.
        let names: HashMap<_, _> = joined.reads().map(|(own, id)| (own.name.clone(), id)).collect();
        left[position] = rest.map(|step| {
            let operator = Operator { kind: joined.operator.kind.clone(), steps: vec![step] };
            let inputs = external_inputs(&operator).into_iter().map(|own| names[&own.name]).collect();
            PlannedOp { operator, inputs, ..joined }
        });
    }
    plan.operators = left.into_iter().flatten().collect();
    plan.forget(&gone);
}

/// An operator that writes a part of a tensor in place of one of its own.
struct Part {
    /// Its position.
    writer: usize,
    /// What it becomes.
    operator: Operator,
    /// The tensor that is no more.
    tensor: TensorId,
}

/// Those that write what an operator joins into their parts, and what joins the rest, if any; `None` where there are none.
fn parted(op: &PlannedOp, left: &[Option<PlannedOp>], plan: &Plan, uses: &Uses) -> Option<(Vec<Part>, Option<TensorExpr>)> {
    let [step] = &op.operator.steps[..] else { return None };
    let count = terms(step);
    if count < 2 {
        return None;
    }
    let copies = pieces(step, &(0..count).map(|at| at..at + 1).collect::<Vec<_>>())?;
    let mut parts: Vec<Option<Part>> = copies
        .iter()
        .map(|copy| {
            let [read] = &copy.inputs[..] else { return None };
            let tensor = op.reads().find(|own| own.0.name == read.name)?.1;
            let once = copies.iter().flat_map(|own| &own.inputs).filter(|own| own.name == read.name).count() == 1;
            let writer = uses.maker(plan, tensor).filter(|_| once)?;
            let made = left[writer].as_ref().filter(|made| made.output == tensor)?;
            Some(Part { writer, operator: stored_by(&made.operator, copy)?, tensor })
        })
        .collect();
    let mut rest: Option<Range<usize>> = None;
    for at in (0..count).filter(|at| parts[*at].is_none()) {
        rest = Some(rest.map_or(at, |own| own.start)..at + 1);
    }
    let Some(rest) = rest else { return Some((parts.into_iter().flatten().collect(), None)) };
    parts[rest.clone()].iter_mut().for_each(|own| *own = None);
    let runs: Vec<Range<usize>> =
        (0..rest.start).map(|at| at..at + 1).chain([rest.clone()]).chain((rest.end..count).map(|at| at..at + 1)).collect();
    let rest = pieces(step, &runs)?.into_iter().nth(rest.start)?;
    let parts: Vec<Part> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then_some((parts, Some(rest)))
}
