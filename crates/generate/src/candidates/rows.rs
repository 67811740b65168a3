//! Reductions of rows, and what is made of their elements, as one expression.

use crate::candidates::alone;
use crate::expr::{AxisId, Combine, Index, Reduction, ScalarExpr, TensorExpr};
use warpsight_ir::OpClass;

/// A step that has its place in the whole, and its axes as forms of the first one's.
struct Made<'a> {
    step: &'a TensorExpr,
    forms: Vec<Index>,
}

/// Walks over the elements of a row in one kernel, and what is made of them, at most: several times what normalisations have.
const MOST_WALKS: usize = 16;

/// Reductions over rows, each of which may use what earlier ones came to, and what the last step makes of that, as one expression; `None`
/// where rows are not all alike.
pub fn one_walk(steps: &[TensorExpr]) -> Option<TensorExpr> {
    let (first, later) = steps.split_first().filter(|(first, later)| !first.reduce.is_empty() && (1..MOST_WALKS).contains(&later.len()))?;
    let mut whole = TensorExpr { before: vec![], ..first.clone() };
    let mut made: Vec<Made> = vec![];
    for (number, step) in steps.iter().enumerate() {
        if !step.before.is_empty()
            || step.stores_each()
            || step.coefficients.is_some()
            || step.across.is_some()
            || step.clipped
            || !step.is_plain()
        {
            return None;
        }
        let last = number == later.len();
        // What is made of elements in between is of each element; what is stored as less is rounded.
        if !last && (step.reduce.is_empty() || step.output.element != step.arithmetic()) {
            return None;
        }
        let forms = if number == 0 {
            (0..step.all_axes().count()).map(|a| Index::var(AxisId(a))).collect()
        } else {
            same_walk(first, step, &made)?
        };
        let mut inputs = vec![];
        for tensor in &step.inputs {
            let known = whole.inputs.iter().position(|own| own.name == tensor.name);
            if known.is_some_and(|known| whole.inputs[known].shape != tensor.shape) {
                return None;
            }
            let earlier = made.iter().position(|own| own.step.output.name == tensor.name);
            inputs.push(match (known, earlier) {
                (_, Some(earlier)) => Err(earlier),
                (Some(known), None) => Ok(known),
                (None, None) => {
                    whole.inputs.push(tensor.clone());
                    Ok(whole.inputs.len() - 1)
                }
            });
        }
        let moved = |scalar: &ScalarExpr| {
            let mut whole = true;
            let own = scalar.with_leaves(&mut |leaf| {
                let ScalarExpr::Load { tensor, index, padded } = leaf else { return leaf.clone() };
                let tensor = match inputs[*tensor] {
                    Ok(tensor) => tensor,
                    Err(earlier) => return ScalarExpr::Before(earlier),
                };
                let index: Option<Vec<Index>> = index.iter().map(|form| form.substitute(|a| forms.get(a.0))).collect();
                whole &= index.is_some();
                ScalarExpr::Load { tensor, index: index.unwrap_or_default(), padded: *padded }
            });
            whole.then_some(own)
        };
        let (body, epilogue) = (moved(&step.body)?, moved(&step.epilogue)?);
        if !last {
            whole.before.push(Reduction { combine: step.combine, body, epilogue, kept: false });
            made.push(Made { step, forms });
            continue;
        }
        whole.store = step.store.iter().map(|form| form.substitute(|a| forms.get(a.0))).collect::<Option<_>>()?;
        whole.combine = if step.reduce.is_empty() { Combine::Each } else { step.combine };
        (whole.body, whole.epilogue) = (body, epilogue);
        (whole.name, whole.output) = (step.name.clone(), step.output.clone());
    }
    Some(whole)
}

/// The same with the values of a reduction kept where results will be, which are made of them; `None` where nothing is made twice that costs
/// more than it takes to load it.
pub fn keeping(whole: &TensorExpr) -> Option<TensorExpr> {
    if !whole.stores_each() || whole.clipped || whole.output.element != whole.arithmetic() {
        return None;
    }
    let load = ScalarExpr::Load { tensor: whole.inputs.len(), index: whole.store.clone(), padded: false };
    let dear = whole.before.iter().enumerate().rev().filter(|own| is_dear(&own.1.body));
    let mut with = dear.map(|(number, own)| (number, whole.body.replaced(&own.body, &load)));
    let (number, body) = with.find(|own| own.1 != whole.body)?;
    let mut kept = TensorExpr { body, ..whole.clone() };
    kept.before[number].kept = true;
    Some(kept)
}

/// Whether a function of the library is in it.
pub(super) fn is_dear(scalar: &ScalarExpr) -> bool {
    let mut found = false;
    scalar.each(&mut |own| found |= matches!(own, ScalarExpr::Unary(op, _) if OpClass::of_unary(*op) == OpClass::Special));
    found
}

/// The axes of a step in those of the first one, where it walks over the same rows: each of the first one's results is read where one of its
/// own is made, and what is left of its axes is as long as those that the first one reduces.
fn same_walk(first: &TensorExpr, step: &TensorExpr, made: &[Made]) -> Option<Vec<Index>> {
    let mut rows: Vec<Option<AxisId>> = vec![None; step.axes.len()];
    let mut agree = true;
    let mut see = |tensor: usize, index: &[Index], _| {
        let Some(own) = made.iter().find(|own| own.step.output.name == step.inputs[tensor].name) else { return };
        for (form, stored) in index.iter().zip(&own.step.store) {
            match (alone(form), alone(stored).and_then(|a| alone(&own.forms[a.0]))) {
                (Some(here), Some(there)) if here.0 < rows.len() && rows[here.0].is_none_or(|own| own == there) => {
                    rows[here.0] = Some(there)
                }
                (None, None) if form.is_constant() && form == stored => {}
                // An axis of one row has one position.
                (None, Some(there))
                    if form.is_constant() && form.constant == 0 && first.axes.get(there.0).is_some_and(|own| own.extent == 1) => {}
                _ => agree = false,
            }
        }
    };
    step.body.loads(&mut see);
    step.epilogue.loads(&mut see);
    let one = first.axes.len() == 1 && first.axes[0].extent == 1;
    let mut inner = (0..first.reduce.len()).map(|r| AxisId(first.axes.len() + r));
    let mut forms = vec![];
    for (a, own) in step.all_axes().enumerate() {
        let there = match rows.get(a).copied().flatten() {
            Some(there) => there,
            // A step with reductions of its own keeps an axis for its only row.
            None if one && own.extent == 1 && a < step.axes.len() && !step.reduce.is_empty() => AxisId(0),
            None if a >= step.axes.len() || step.reduce.is_empty() => inner.next()?,
            None => return None,
        };
        agree &= first.all_axes().nth(there.0).is_some_and(|other| other.extent == own.extent);
        forms.push(Index::var(there));
    }
    let distinct = |at: usize| forms[..at].iter().all(|other| *other != forms[at]);
    (agree && inner.next().is_none() && (0..forms.len()).all(distinct) && (one || forms.len() == first.all_axes().count())).then_some(forms)
}

#[cfg(test)]
mod tests {
    use super::one_walk;
    use crate::expr::{Combine, ScalarExpr, TensorExpr};
    use crate::operators::parse_operator;
    use warpsight_ir::{BinaryOp, Scalar};

    fn softmax() -> Vec<TensorExpr> {
        parse_operator("softmax n=3 c=10").expect("an operator").steps
    }

    #[test]
    fn rows_that_are_not_alike_stay_steps() {
        let whole = one_walk(&softmax()).expect("a walk");
        assert_eq!((whole.before.len(), whole.combine), (2, Combine::Each));
        // Elements in between are no reduction.
        let mut between = softmax();
        let twice = |x: &ScalarExpr| ScalarExpr::binary(BinaryOp::Add, x.clone(), x.clone());
        let mut last = between[2].clone();
        between[2].output.name = "between".into();
        last.inputs = vec![crate::Tensor { role: crate::Role::Activation, ..between[2].output.clone() }];
        last.body = twice(&ScalarExpr::Load { tensor: 0, index: last.store.clone(), padded: false });
        between.push(last);
        assert_eq!(one_walk(&between), None);
        // A temporary of halves is rounded.
        let mut halves = softmax();
        halves[1].output.element = Scalar::F16;
        assert_eq!(one_walk(&halves), None);
        // Rows of another length.
        let mut longer = softmax();
        longer[1].reduce[0].extent = 9;
        assert_eq!(one_walk(&longer), None);
        // Elements alone, or reductions of nothing else.
        assert_eq!(one_walk(&softmax()[2..]), None);
        assert_eq!(one_walk(&softmax()[..1]), None);
    }
}
