//! Operators that are one where one kernel may do the work of both: a pooling, or what only moves elements, and what it reads, which nobody else
//! does.

use super::uses::Uses;
use super::{Plan, PlannedOp};
use warpsight_generate::candidates::pools;
use warpsight_generate::operators::{external_inputs, then};

/// Joins each of these with the operator that makes what it reads, in its place: what both read was there before, and nobody waits for what the
/// first one makes. What works in place of something is the only one that reads it.
pub(super) fn join(plan: &mut Plan) {
    let uses = Uses::of(plan);
    let mut all: Vec<Option<PlannedOp>> = plan.operators.drain(..).map(Some).collect();
    for position in 0..all.len() {
        let Some(next) = &all[position] else { continue };
        let whole = next.inputs.iter().enumerate().find_map(|(at, id)| {
            let writer = uses.maker(plan, *id)?;
            let made = all[writer].as_ref().filter(|made| made.output == *id && writer < position)?;
            let handed = made.temporaries.iter().all(|id| !uses.is_read(*id));
            // One tensor is one input.
            let apart = next.inputs.iter().all(|other| !made.inputs.contains(other));
            let whole = (apart && handed).then(|| joined(made, next, at)).flatten()?;
            Some((writer, whole))
        });
        if let Some((writer, whole)) = whole {
            all[writer] = None;
            all[position] = Some(whole);
        }
    }
    plan.operators = all.into_iter().flatten().collect();
}

fn joined(made: &PlannedOp, next: &PlannedOp, at: usize) -> Option<PlannedOp> {
    let input = external_inputs(&next.operator).get(at)?.name.clone();
    let operator = then(&made.operator, &next.operator, &input)?;
    // Where one kernel may do the work of the two that meet.
    if pools(&operator) != Some(made.operator.steps.len()) {
        return None;
    }
    // Those of the second come behind those of the first, but for what joins them.
    let others = next.inputs.iter().enumerate().filter(|own| own.0 != at).map(|own| own.1);
    Some(PlannedOp {
        name: made.name.clone(),
        nodes: made.nodes.iter().chain(&next.nodes).cloned().collect(),
        operator,
        inputs: made.inputs.iter().chain(others).copied().collect(),
        temporaries: made.temporaries.iter().chain([&made.output]).chain(&next.temporaries).copied().collect(),
        output: next.output,
    })
}
