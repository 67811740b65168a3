//! Operators that are one where one kernel may do the work of both: a pooling, or what only moves elements, and what it reads, which nobody else
//! does; a reduction of rows, and what is made of their elements with it, as normalisations are that come in pieces; a product, and what normalises
//! rows of its results.

use super::uses::Uses;
use super::{Plan, PlannedOp};
use warpsight_generate::candidates::{holds, of_rows, pools};
use warpsight_generate::operators::then;
use warpsight_ir::Name;

/// Joins each of these with the operator that makes what it reads, in its place: what both read was there before, and nobody waits for what the
/// first one makes. What works in place of something is the only one that reads it.
pub(super) fn join(plan: &mut Plan) {
    // What two of them read is read by one where these are joined.
    while join_once(plan) {}
}

fn join_once(plan: &mut Plan) -> bool {
    let uses = Uses::of(plan);
    let mut all: Vec<Option<PlannedOp>> = plan.operators.drain(..).map(Some).collect();
    let count = all.len();
    for position in 0..count {
        let Some(next) = &all[position] else { continue };
        let whole = next.inputs.iter().enumerate().find_map(|(at, id)| {
            let writer = uses.maker(plan, *id)?;
            let made = all[writer].as_ref().filter(|made| made.output == *id && writer < position)?;
            let handed = made.temporaries.iter().all(|id| !uses.is_read(*id));
            let whole = handed.then(|| joined(made, next, at)).flatten()?;
            Some((writer, whole))
        });
        if let Some((writer, whole)) = whole {
            all[writer] = None;
            all[position] = Some(whole);
        }
    }
    plan.operators = all.into_iter().flatten().collect();
    plan.operators.len() < count
}

fn joined(made: &PlannedOp, next: &PlannedOp, at: usize) -> Option<PlannedOp> {
    let input = next.reads().nth(at)?.0.name.clone();
    // One tensor is one input.
    let mut shared: Vec<(Name, Name)> = vec![];
    for (own, id) in next.reads() {
        let Some((other, _)) = made.reads().find(|other| other.1 == id) else { continue };
        if other.shape != own.shape || other.role != own.role {
            return None;
        }
        shared.push((own.name.clone(), other.name.clone()));
    }
    let operator = then(&made.operator, &next.operator, &input, &shared)?;
    // Where one kernel may do the work of the two that meet.
    if pools(&operator) != Some(made.operator.steps.len()) && !of_rows(&operator) && holds(&operator) != Some(made.operator.steps.len()) {
        return None;
    }
    // Those of the second come behind those of the first, but for what joins them.
    let others = next.inputs.iter().enumerate().filter(|own| own.0 != at && !made.inputs.contains(own.1)).map(|own| own.1);
    Some(PlannedOp {
        name: made.name.clone(),
        nodes: made.nodes.iter().chain(&next.nodes).cloned().collect(),
        operator,
        inputs: made.inputs.iter().chain(others).copied().collect(),
        temporaries: made.temporaries.iter().chain([&made.output]).chain(&next.temporaries).copied().collect(),
        output: next.output,
    })
}
