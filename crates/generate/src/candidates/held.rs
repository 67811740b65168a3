//! Rows that a group holds: reductions of what it has just made, and what is made of that, in one kernel that writes each element once.

use crate::candidates::alone;
use crate::candidates::rows::{is_dear, one_walk};
use crate::expr::{Across, AxisId, Combine, Index, Reduction, ScalarExpr, Tensor, TensorExpr};

/// Elements of a row that a group holds, at most: those of a thousand work-items in 32 registers each.
const LONGEST_ROW: i64 = 1 << 15;

/// Where steps that normalise rows begin, behind the one that makes these if one does, and all of them as one expression that holds each row;
/// `None` where they are no such steps.
pub fn held(steps: &[TensorExpr]) -> Option<(usize, TensorExpr)> {
    let alone = || Some((0, holding(&one_walk(steps)?)?));
    let made = || {
        let (first, rows) = steps.split_first()?;
        Some((1, made_by(first, &holding(&one_walk(rows)?)?)?))
    };
    alone().or_else(made)
}

/// A walk over rows, in which elements are loaded once and held.
fn holding(whole: &TensorExpr) -> Option<TensorExpr> {
    let [inner] = &whole.reduce[..] else { return None };
    if !whole.stores_each() || whole.clipped || whole.before.is_empty() || inner.extent > LONGEST_ROW {
        return None;
    }
    // What the first reduction is of, or, where others are of less, an element that all read.
    let first = &whole.before[0].body;
    let mut element = None;
    first.loads(&mut |tensor, index, padded| element = Some(ScalarExpr::Load { tensor, index: index.to_vec(), padded }));
    let along = AxisId(whole.axes.len());
    [Some(first.clone()), element].into_iter().flatten().find_map(|value| {
        let held = |scalar: &ScalarExpr| scalar.replaced(&value, &ScalarExpr::Acc);
        let mut made: Vec<Reduction> = whole.before.iter().map(|own| Reduction { body: held(&own.body), ..own.clone() }).collect();
        let loads = |scalar: &ScalarExpr| {
            let mut any = false;
            scalar.loads(&mut |_, _, _| any = true);
            any
        };
        if made.iter().any(|own| loads(&own.body) || loads(&own.epilogue)) {
            return None;
        }
        let mut last = whole.epilogue.with_acc(&held(&whole.body));
        keep(&mut made, &mut last);
        let across = Some(Across { along, made, epilogue: last });
        let axes = whole.axes.iter().chain([inner]).cloned().collect();
        let (body, epilogue) = (value, ScalarExpr::Acc);
        Some(TensorExpr { axes, reduce: vec![], before: vec![], combine: Combine::Sum, body, epilogue, across, ..whole.clone() })
    })
}

/// Keeps what costs much and is made again of each element, where nothing else is made of what was held.
fn keep(made: &mut [Reduction], last: &mut ScalarExpr) {
    for number in (0..made.len()).rev().filter(|&n| is_dear(&made[n].body)).collect::<Vec<_>>() {
        // A name that nothing else has.
        let mark = ScalarExpr::Before(usize::MAX);
        let body = made[number].body.clone();
        let later: Vec<ScalarExpr> =
            made[number + 1..].iter().map(|own| own.body.replaced(&body, &mark)).chain([last.replaced(&body, &mark)]).collect();
        let with = |scalar: &ScalarExpr, what: &ScalarExpr| {
            let mut any = false;
            scalar.each(&mut |own| any |= own == what);
            any
        };
        if later.iter().any(|own| with(own, &mark)) && !later.iter().any(|own| with(own, &ScalarExpr::Acc)) {
            let mut later = later.into_iter().map(|own| own.replaced(&mark, &ScalarExpr::Acc));
            made[number].kept = true;
            made[number + 1..].iter_mut().zip(later.by_ref()).for_each(|(own, body)| own.body = body);
            *last = later.next().unwrap_or(ScalarExpr::Acc);
            return;
        }
    }
}

/// The same of what another step makes, whose results a group holds instead.
fn made_by(first: &TensorExpr, rows: &TensorExpr) -> Option<TensorExpr> {
    let across = rows.across.as_ref()?;
    let plain = first.before.is_empty() && !first.stores_each() && !first.clipped && first.coefficients.is_none() && first.is_plain();
    let element = first.output.element;
    if !plain || first.reduce.is_empty() || !element.is_float() || rows.arithmetic() != first.arithmetic() {
        return None;
    }
    // What would be stored as less is rounded.
    let value = if element == first.arithmetic() { first.epilogue.clone() } else { ScalarExpr::round(element, first.epilogue.clone()) };
    let position = rows.inputs.iter().position(|own| own.name == first.output.name)?;
    // Each axis of the rows is the one that the first step stores along the dimension which it reads along.
    let mut forms: Vec<Option<Index>> = vec![None; rows.axes.len()];
    let mut agree = true;
    let mut see = |tensor: usize, index: &[Index], padded: bool| {
        if tensor != position {
            return;
        }
        agree &= !padded;
        for (d, (form, stored)) in index.iter().zip(&first.store).enumerate() {
            let extent = first.output.shape[d];
            match (alone(form), alone(stored)) {
                (Some(here), Some(there))
                    if rows.axes[here.0].extent == extent && first.axes.get(there.0).is_some_and(|a| a.extent == extent) =>
                {
                    let known = forms[here.0].get_or_insert_with(|| Index::var(there));
                    agree &= *known == Index::var(there);
                }
                (_, other) => {
                    // Of one position each.
                    agree &= extent == 1 && form.is_constant() && form.constant == 0;
                    agree &= other.is_some() || stored.is_constant() && stored.constant == 0;
                }
            }
        }
    };
    rows.scalars().for_each(|own| own.loads(&mut see));
    let one = |a: &usize| rows.axes[*a].extent == 1;
    let forms: Vec<Index> =
        forms.into_iter().enumerate().map(|(a, form)| form.or_else(|| one(&a).then(|| Index::constant(0)))).collect::<Option<_>>()?;
    let along = alone(&forms[across.along.0])?;
    let distinct = |at: usize| forms[..at].iter().all(|other| *other != forms[at] || other.is_constant());
    // Every result of the first step is one of a row.
    let missing = |a: usize| first.axes[a].extent > 1 && !forms.contains(&Index::var(AxisId(a)));
    if !agree || !(0..forms.len()).all(distinct) || (0..first.axes.len()).any(missing) {
        return None;
    }
    let mut inputs: Vec<Tensor> = first.inputs.clone();
    let mut numbers = vec![];
    for tensor in &rows.inputs {
        let known = inputs.iter().position(|own| own.name == tensor.name);
        if known.is_some_and(|known| inputs[known].shape != tensor.shape || inputs[known].role != tensor.role) {
            return None;
        }
        numbers.push(known.unwrap_or_else(|| {
            inputs.push(tensor.clone());
            inputs.len() - 1
        }));
    }
    // The tensor between them is none.
    let between = inputs.iter().position(|own| own.name == first.output.name)?;
    inputs.remove(between);
    numbers.iter_mut().filter(|number| **number > between).for_each(|number| *number -= 1);
    let moved = |scalar: &ScalarExpr| {
        let own = scalar.substitute(&forms)?;
        Some(own.with_leaves(&mut |leaf| match leaf {
            ScalarExpr::Load { tensor, .. } if *tensor == position => value.clone(),
            ScalarExpr::Load { tensor, index, padded } => {
                ScalarExpr::Load { tensor: numbers[*tensor], index: index.clone(), padded: *padded }
            }
            other => other.clone(),
        }))
    };
    // What is stored is made of what is held alone, not of what the first step made.
    let mut again = false;
    across.epilogue.loads(&mut |tensor, _, _| again |= tensor == position);
    if again {
        return None;
    }
    let epilogue = moved(&rows.body)?;
    let across = Across { along, made: across.made.clone(), epilogue: moved(&across.epilogue)? };
    let store = rows.store.iter().map(|form| form.substitute(|a| forms.get(a.0))).collect::<Option<_>>()?;
    let name = format!("{}_{}", first.name, rows.name).into();
    Some(TensorExpr { name, inputs, output: rows.output.clone(), epilogue, across: Some(across), store, ..first.clone() })
}
