//! What others only say where elements are, or make of each once, is made where it is read: parts of a split, dimensions in another order, padding,
//! the squares that a variance adds up. No kernel moves what its readers find by themselves.

use super::uses::Uses;
use super::{Plan, PlanRole, PlannedOp};
use crate::graph::TensorId;
use std::collections::{HashMap, HashSet};
use warpsight_generate::candidates::through::{Cost, asked, cost, in_order, made_where_read, moved_where_read, reshaped};
use warpsight_generate::expr::{Operator, TensorExpr};
use warpsight_generate::operators::external_inputs;
use warpsight_ir::Name;

/// How an expression makes what it reads of another one.
type Reading = fn(&TensorExpr, &TensorExpr) -> Option<TensorExpr>;

/// Leaves operators out that all who read them do without, as they are.
pub(super) fn read_through(plan: &mut Plan) {
    leave_out(plan, made_where_read);
}

/// The same of those that are still there, where who reads what they move walks over more axes, or constants lie in another order for that.
pub(super) fn read_apart(plan: &mut Plan) {
    leave_out(plan, moved_where_read);
    for position in 0..plan.operators.len() {
        let operator = &plan.operators[position].operator;
        let turned: Vec<Option<[TensorExpr; 2]>> = operator.steps.iter().map(in_order).collect();
        if turned.iter().any(Option::is_some) {
            let steps = turned.into_iter().zip(&operator.steps).flat_map(|(own, step)| own.map_or_else(|| vec![step.clone()], Vec::from));
            let operator = Operator { kind: operator.kind.clone(), steps: steps.collect() };
            plan.replace(position, operator);
        }
    }
}

fn leave_out(plan: &mut Plan, through: Reading) {
    let mut uses = Uses::of(plan);
    let mut all: Vec<Option<PlannedOp>> = plan.operators.drain(..).map(Some).collect();
    let mut gone = vec![];
    for position in 0..all.len() {
        let Some(made) = &all[position] else { continue };
        let tensor = made.output;
        // What it reads has to be there still when others read it.
        let lasting = made.inputs.iter().all(|id| uses.last_writer(*id).is_none_or(|writer| writer < position));
        let own = matches!(plan.tensor(tensor).role, PlanRole::Intermediate) && uses.last_writer(tensor) == Some(position);
        let at = uses.readers(tensor).to_vec();
        if !own || !lasting || at.is_empty() {
            continue;
        }
        let by: Option<Vec<&PlannedOp>> = at.iter().map(|&reader| all[reader].as_ref()).collect();
        let Some(others) = by.and_then(|by| without(plan, made, &by, through)) else { continue };
        made.inputs.iter().for_each(|id| uses.hand_on(*id, position, &at));
        for (reader, op) in at.into_iter().zip(others) {
            all[reader] = Some(op);
        }
        all[position] = None;
        gone.push(tensor);
    }
    plan.operators = all.into_iter().flatten().collect();
    plan.forget(&gone);
}

/// All who read what an operator makes, without it; `None` where one of them needs it, or all together would load more than with it.
fn without(plan: &Plan, made: &PlannedOp, by: &[&PlannedOp], through: Reading) -> Option<Vec<PlannedOp>> {
    let [step] = &made.operator.steps[..] else { return None };
    let length = step.output.len() as i64;
    let price = cost(step)?;
    let mut places = 0;
    for op in by {
        // One that sees it under several shapes has several names for it.
        let name = name_of(op, made.output).filter(|_| op.inputs.iter().filter(|id| **id == made.output).count() == 1)?;
        for own in &op.operator.steps {
            let (count, most) = asked(own, &name)?;
            if price != Cost::Moved && most > length {
                return None;
            }
            places += count;
        }
    }
    if let Cost::Made { loaded, dear } = price {
        let places = places as i64;
        let (with, without) = (loaded.saturating_add(length).saturating_add(places.saturating_mul(length)), places.saturating_mul(loaded));
        if dear && places > 1 || without > with {
            return None;
        }
    }
    let seen = as_made(plan, made, step);
    by.iter().map(|op| reading(op, made, &seen, through)).collect()
}

/// An expression that sees pictures that it reads under the shape in which they are made, where that can be said: a tensor that all see alike may lie otherwise
/// than in rows.
fn as_made(plan: &Plan, made: &PlannedOp, step: &TensorExpr) -> TensorExpr {
    let mut own = step.clone();
    for (at, tensor) in step.inputs.iter().enumerate() {
        let shape = made.reads().find(|own| own.0.name == tensor.name).map(|own| &plan.tensor(own.1).shape);
        let other = shape.filter(|shape| shape.len() >= 4 && **shape != tensor.shape).and_then(|shape| reshaped(&own, at, shape));
        own = other.unwrap_or(own);
    }
    own
}

/// The name that an operator has for a tensor that it reads.
fn name_of(op: &PlannedOp, id: TensorId) -> Option<Name> {
    op.reads().find(|own| own.1 == id).map(|own| own.0.name.clone())
}

/// An operator that makes what it reads of another one itself.
fn reading(op: &PlannedOp, made: &PlannedOp, step: &TensorExpr, through: Reading) -> Option<PlannedOp> {
    let read = name_of(op, made.output)?;
    let steps = &op.operator.steps;
    let mut taken: HashSet<Name> =
        steps.iter().flat_map(|own| own.inputs.iter().chain([&own.output])).map(|own| own.name.clone()).collect();
    let mut known: HashMap<Name, TensorId> = op.reads().map(|(own, id)| (own.name.clone(), id)).collect();
    let mut own = step.clone();
    for tensor in &mut own.inputs {
        let id = made.reads().find(|own| own.0.name == tensor.name)?.1;
        // What works in place of something reads it before.
        if op.output == id || op.temporaries.contains(&id) {
            return None;
        }
        tensor.name = match name_of(op, id) {
            Some(name) => name,
            None => {
                let stem = tensor.name.to_string();
                let name: Name = (0..).map(|n| format!("{stem}{}", "_of".repeat(n)).into()).find(|name| !taken.contains(name))?;
                taken.insert(name.clone());
                known.insert(name.clone(), id);
                name
            }
        };
    }
    own.output.name = read.clone();
    let reads = |by: &TensorExpr| by.inputs.iter().any(|own| own.name == read);
    let steps: Option<Vec<TensorExpr>> = steps.iter().map(|by| if reads(by) { through(by, &own) } else { Some(by.clone()) }).collect();
    let operator = Operator { kind: op.operator.kind.clone(), steps: steps? };
    let inputs = external_inputs(&operator).into_iter().map(|own| known.get(&own.name).copied()).collect::<Option<_>>()?;
    let nodes = made.nodes.iter().chain(&op.nodes).cloned().collect();
    Some(PlannedOp { operator, inputs, nodes, ..op.clone() })
}
