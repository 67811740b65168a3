//! Rows that a group holds: reductions of what it has just made, and what is made of that, in one kernel that writes each element once.

use crate::candidates::alone;
use crate::candidates::rows::{is_dear, one_walk};
use crate::expr::{Across, AxisId, Combine, Index, Reduction, ScalarExpr, Tensor, TensorExpr};

/// Elements of a row that a group holds, at most: 256 work-items, the most that knobs offer along a row, in 32 registers each.
const LONGEST_ROW: i64 = 1 << 13;

/// Steps that normalise rows, each of which a group holds.
pub struct Held {
    /// Where they begin: behind the step that makes the rows, if one does.
    pub begin: usize,
    /// They as one expression.
    pub rows: TensorExpr,
    /// The same with the step that makes the rows, if one does.
    pub whole: TensorExpr,
}

/// Steps that normalise rows, behind the one that makes these if one does; `None` where they are no such steps.
pub fn held(steps: &[TensorExpr]) -> Option<Held> {
    if let Some(rows) = one_walk(steps).and_then(|walk| holding(&walk)) {
        return Some(Held { begin: 0, whole: rows.clone(), rows });
    }
    let (first, rows) = steps.split_first()?;
    let rows = holding(&one_walk(rows)?)?;
    Some(Held { begin: 1, whole: made_by(first, &rows)?, rows })
}

/// A walk over rows, in which elements are loaded once and held.
fn holding(whole: &TensorExpr) -> Option<TensorExpr> {
    let [inner] = &whole.reduce[..] else { return None };
    if !whole.stores_each() || whole.clipped || whole.before.is_empty() || inner.extent > LONGEST_ROW {
        return None;
    }
    // What the first reduction is of, or, where others are made of less, the element that it reads.
    let first = &whole.before[0].body;
    let mut element = None;
    first.loads(&mut |tensor, index, padded| element = Some(ScalarExpr::Load { tensor, index: index.to_vec(), padded }));
    let along = AxisId(whole.axes.len());
    [Some(first.clone()), element].into_iter().flatten().find_map(|value| {
        let held = |scalar: &ScalarExpr| scalar.replaced(&value, &ScalarExpr::Acc);
        let mut made: Vec<Reduction> = whole.before.iter().map(|own| Reduction { body: held(&own.body), ..own.clone() }).collect();
        let loads = |scalar: &ScalarExpr, of: &dyn Fn(usize) -> bool| {
            let mut any = false;
            scalar.loads(&mut |tensor, _, _| any |= of(tensor));
            any
        };
        let mut last = whole.epilogue.with_acc(&held(&whole.body));
        // Reductions are of what is held alone, and nothing that was loaded for it is loaded again.
        let again = |tensor: usize| loads(&value, &|own| own == tensor);
        let alone =
            made.iter().all(|own| own.combine != Combine::Product && !loads(&own.body, &|_| true) && !loads(&own.epilogue, &|_| true));
        if !alone || loads(&last, &again) {
            return None;
        }
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
        // Nothing else is called so.
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
    let epilogue = moved(&rows.body)?;
    let across = Across { along, made: across.made.clone(), epilogue: moved(&across.epilogue)? };
    let store = rows.store.iter().map(|form| form.substitute(|a| forms.get(a.0))).collect::<Option<_>>()?;
    let name = format!("{}_{}", first.name, rows.name).into();
    Some(TensorExpr { name, inputs, output: rows.output.clone(), epilogue, across: Some(across), store, ..first.clone() })
}

#[cfg(test)]
mod tests {
    use super::held;
    use crate::expr::{Combine, ScalarExpr, TensorExpr};
    use crate::operators::{parse_operator, then};
    use warpsight_ir::{BinaryOp, UnaryOp};

    /// x / √Σx², from the steps of a softmax.
    fn by_length() -> Vec<TensorExpr> {
        let mut steps = parse_operator("softmax n=3 c=10").expect("an operator").steps;
        steps.remove(0);
        let load = |step: &TensorExpr, name: &str| {
            let mut found = None;
            step.body.each(&mut |own| {
                if matches!(own, ScalarExpr::Load { tensor, .. } if *step.inputs[*tensor].name == *name) {
                    found = Some(own.clone());
                }
            });
            found.expect("it is read")
        };
        let x = load(&steps[0], "input");
        steps[0].body = ScalarExpr::binary(BinaryOp::Mul, x.clone(), x);
        steps[0].epilogue = ScalarExpr::unary(UnaryOp::Rsqrt, ScalarExpr::Acc);
        steps[1].body = ScalarExpr::binary(BinaryOp::Mul, load(&steps[1], "input"), load(&steps[1], "inverse_total"));
        steps
    }

    #[test]
    fn an_element_is_held_where_its_square_is_summed() {
        let own = held(&by_length()).expect("rows");
        let across = own.whole.across.as_ref().expect("rows are held");
        let acc = || ScalarExpr::Acc;
        assert_eq!(across.made[0].body, ScalarExpr::binary(BinaryOp::Mul, acc(), acc()));
        assert_eq!(across.epilogue, ScalarExpr::binary(BinaryOp::Mul, acc(), ScalarExpr::Before(0)));
        assert!(matches!(own.whole.body, ScalarExpr::Load { .. }) && own.begin == 0);
    }

    #[test]
    fn a_product_of_factors_and_long_rows_are_not_held() {
        let mut steps = by_length();
        steps[0].combine = Combine::Product;
        assert!(held(&steps).is_none());
        let text = |c: usize| format!("softmax n=2 c={c}");
        assert!(held(&parse_operator(&text(8192)).expect("an operator").steps).is_some());
        assert!(held(&parse_operator(&text(8193)).expect("an operator").steps).is_none());
    }

    /// What another step makes is held only where all of it is rows.
    #[test]
    fn rows_are_those_that_are_made() {
        let product = parse_operator("matmul m=3 n=10 k=4 weights=none").expect("an operator");
        let softmax = parse_operator("softmax n=3 c=10").expect("an operator");
        let whole = then(&product, &softmax, "input", &[]).expect("it is read");
        let own = held(&whole.steps).expect("rows of a product");
        assert_eq!((own.begin, own.whole.inputs.len(), own.rows.inputs.len()), (1, 2, 1));
        // A value that is read beside the row, too.
        let mut again = whole.clone();
        let made = again.steps[0].output.name.clone();
        let last = again.steps.last_mut().expect("steps");
        let elsewhere = last.body.with_leaves(&mut |leaf| match leaf {
            ScalarExpr::Load { tensor, index, padded } if last.inputs[*tensor].name == made => {
                let index = index.iter().map(|form| form.with_constant(form.constant)).rev().collect();
                ScalarExpr::Load { tensor: *tensor, index, padded: *padded }
            }
            other => other.clone(),
        });
        last.body = ScalarExpr::binary(BinaryOp::Add, last.body.clone(), elsewhere);
        assert!(held(&again.steps).is_none());
    }
}
