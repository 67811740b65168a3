//! What windows are made of, made where they are: a pooling in the kernel of the convolution that it reads, or what is moved in that of what makes it.
//!
//! Each position of a window is a walk over the reduction axes of what is pooled, with its epilogue; what the walks come to is combined as
//! they go, so that one value of a window is held at a time. Nothing here asks what an operator is called: it is a reduction of few terms, each
//! another result of one reduction.

use crate::expr::{Axis, AxisId, Combine, Index, Operator, Reduction, ScalarExpr, TensorExpr};
use crate::nest::for_each;
use crate::operators::Builder;
use crate::operators::split::{longest, read, terms};
use warpsight_ir::range::Interval;
use warpsight_ir::{BinaryOp, Name};

/// Walks of one kernel, at most: each is written out.
const MOST_POSITIONS: i64 = 9;
/// How often a value that is pooled is made, at most, where windows overlap.
const MOST_AGAIN: i64 = 3;

/// The step that pools what the one before it makes.
fn pooling(steps: &[TensorExpr]) -> Option<usize> {
    (1..steps.len()).find(|&at| {
        let (made, by) = (&steps[at - 1], &steps[at]);
        let alone = steps.iter().enumerate().all(|(n, own)| n == at || own.inputs.iter().all(|tensor| tensor.name != made.output.name));
        let once = steps.iter().filter(|own| own.output.name == made.output.name).count() == 1;
        alone && once && window(made, by).is_some()
    })
}

/// The step that pools, and an operator's steps with what its windows are made of in its kernel; `None` where there is none.
pub(super) fn pooled(operator: &Operator) -> Option<(usize, Vec<TensorExpr>)> {
    let at = pooling(&operator.steps)?;
    let (made, by) = (&operator.steps[at - 1], &operator.steps[at]);
    let own = joined(made, by, window(made, by)?)?;
    let (before, after) = (&operator.steps[..at - 1], &operator.steps[at + 1..]);
    Some((at, before.iter().chain([&own]).chain(after).cloned().collect()))
}

/// Where a pooling reads what another step makes, always the same; `None` where it is none, or makes more again than it saves.
fn window<'a>(made: &TensorExpr, by: &'a TensorExpr) -> Option<&'a [Index]> {
    let plain =
        |own: &TensorExpr| own.before.is_empty() && own.coefficients.is_none() && !own.stores_each() && !own.clipped && own.is_plain();
    let positions = terms(by);
    if made.reduce.is_empty() || !plain(made) || !plain(by) || positions > MOST_POSITIONS || made.arithmetic() != by.arithmetic() {
        return None;
    }
    let (mut read, mut others) = (None, false);
    by.body.loads(&mut |tensor, index, _| {
        if by.inputs[tensor].name == made.output.name {
            others |= read.is_some_and(|own| own != index);
            read = Some(index);
        }
    });
    by.epilogue.loads(&mut |tensor, _, _| others |= by.inputs[tensor].name == made.output.name);
    let read = read.filter(|_| !others)?;
    let moves = |axis: AxisId| read.iter().any(|form| form.coefficient(axis) != 0);
    let all_move = (by.axes.len()..by.axes.len() + by.reduce.len()).all(|a| moves(AxisId(a)));
    // Of a part of a tensor, those that are in it.
    let results = by.result_axes().map(|axis| axis.extent).fold(1, i64::saturating_mul);
    let short =
        made.combine != Combine::Sum || by.combine != Combine::Sum || terms(made).saturating_mul(positions) <= longest(by.arithmetic());
    // What is moved alone is no reason to make it again.
    let most_again = if by.reduce.is_empty() { 1 } else { MOST_AGAIN };
    let again = results.saturating_mul(positions) <= most_again.saturating_mul(made.output.len() as i64);
    (all_move && short && again).then_some(read)
}

/// One expression of both.
fn joined(made: &TensorExpr, by: &TensorExpr, window: &[Index]) -> Option<TensorExpr> {
    let outer = by.axes.len();
    let mut inner: Vec<Axis> = vec![];
    for axis in &made.reduce {
        let taken = |name: &str| by.axes.iter().chain(&inner).any(|own| *own.name == *name);
        let names = (0..).map(|n| if n == 0 { axis.name.to_string() } else { format!("{}_in{n}", axis.name) });
        let name: Name = names.into_iter().find(|name| !taken(name))?.into();
        inner.push(Axis { name, extent: axis.extent });
    }
    let mut builder = Builder::of(&format!("{}_{}", made.name, by.name), &by.axes, &inner);
    let extents: Vec<i64> = by.reduce.iter().map(|axis| axis.extent).collect();
    let mut positions: Vec<Vec<i64>> = vec![];
    for_each(&extents, |at| positions.push(at.to_vec()));
    let mut walks: Vec<Reduction> = vec![];
    for (number, position) in positions.iter().enumerate() {
        // The pooling's axes, those of its windows at this position.
        let parallel = (0..outer).map(|a| Index::var(AxisId(a)));
        let forms: Vec<Index> = parallel.chain(position.iter().map(|&at| Index::constant(at))).collect();
        let element: Vec<Index> = window.iter().map(|form| form.substitute(|a| forms.get(a.0))).collect::<Option<_>>()?;
        // The axes of what is pooled, by the dimension that each is stored along.
        let mut made_at = vec![None; made.axes.len()];
        for (form, there) in made.store.iter().zip(&element) {
            match super::alone(form) {
                Some(axis) => made_at[axis.0] = Some(there.clone()),
                None if form.is_constant() && form.constant == 0 => {}
                None => return None,
            }
        }
        let reduced = (0..inner.len()).map(|r| Some(Index::var(AxisId(outer + r))));
        // An axis that is stored along no dimension has one position.
        let lonely = |a: usize| (made.axes.get(a)?.extent == 1).then(|| Index::constant(0));
        let made_forms = made_at.into_iter().chain(reduced).enumerate().map(|(a, form)| form.or_else(|| lonely(a)));
        let made_forms: Vec<Index> = made_forms.collect::<Option<_>>()?;
        let body = read(&mut builder, &made.inputs, &made.body, &made_forms)?;
        let value = read(&mut builder, &made.inputs, &made.epilogue, &made_forms)?;
        let value = or_zero(by, &element, &made.output.shape, value);
        // What is pooled stands where it is loaded, which no input of the new expression does.
        let marked = by.body.with_leaves(&mut |leaf| match leaf {
            ScalarExpr::Load { tensor, .. } if by.inputs[*tensor].name == made.output.name => ScalarExpr::Acc,
            other => other.clone(),
        });
        let term = read(&mut builder, &by.inputs, &marked, &forms)?.with_acc(&value);
        let epilogue = match number {
            0 => term,
            _ => ScalarExpr::binary(by.combine.operation(), ScalarExpr::Before(number - 1), term),
        };
        walks.push(Reduction { combine: made.combine, body, epilogue, kept: false });
    }
    let last = walks.pop()?;
    let parallel: Vec<Index> = (0..outer).map(|a| Index::var(AxisId(a))).chain(extents.iter().map(|_| Index::constant(0))).collect();
    let epilogue = read(&mut builder, &by.inputs, &by.epilogue, &parallel)?.with_acc(&last.epilogue);
    let own = builder.finish(made.combine, last.body, epilogue, by.output.clone(), by.store.clone());
    Some(TensorExpr { before: walks, ..own })
}

/// A value, 0 where its position is outside of what is pooled, as a load there reads.
fn or_zero(by: &TensorExpr, element: &[Index], shape: &[i64], value: ScalarExpr) -> ScalarExpr {
    let mut inside = vec![];
    for (form, &extent) in element.iter().zip(shape) {
        let range = form.range(|a| Interval::below(by.axes[a.0].extent));
        let position = || ScalarExpr::Position(form.clone());
        if range.lo < 0 {
            inside.push(ScalarExpr::binary(BinaryOp::Le, ScalarExpr::Const(0.0), position()));
        }
        if range.hi >= extent.into() {
            inside.push(ScalarExpr::binary(BinaryOp::Lt, position(), ScalarExpr::Const(extent as f64)));
        }
    }
    match inside.into_iter().reduce(|a, b| ScalarExpr::binary(BinaryOp::And, a, b)) {
        Some(condition) => ScalarExpr::select(condition, value, ScalarExpr::Const(0.0)),
        None => value,
    }
}
