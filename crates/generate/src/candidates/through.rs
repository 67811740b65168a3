//! What an expression reads of another one, made where it is read, so that the other one is no kernel and its tensor no memory.
//!
//! What only moves elements is free to make again: it says where they are. What makes numbers of elements is made again where no reader loads
//! more elements than the result has. Nothing here asks what an operator is called.

use super::reshaped::{Obstacle, cut, seen_as};
pub use super::reshaped::{in_order, reshaped};
use super::rows::is_dear;
use crate::candidates::alone;
use crate::expr::{AxisId, Index, ScalarExpr, Tensor, TensorExpr};
use warpsight_ir::range::Interval;

/// Terms of an expression that others are written into, at most: a value that is used twice is written twice, so that diamonds in a row would
/// double it each time.
pub const MOST_TERMS: usize = 256;

/// How often a reader may ask for an element, at most, where that cuts an axis that tiles of its results lie along: a copy is then little beside what
/// these save. On a simulated Adreno 640 products of windows of tokens take ×0.61 of what they do with a copy where each is read 64 times, ×0.97 where 192
/// and ×1.37 where 288 times.
const MOST_READS: i64 = 64;

/// How an expression's elements are made where they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// They lie elsewhere.
    Moved,
    /// Numbers are made of so many elements that are loaded, all in all; where `dear`, by a function that takes long.
    Made {
        /// Elements that are loaded for all elements of the result.
        loaded: i64,
        /// Whether a function of the library is asked.
        dear: bool,
    },
}

/// What it costs to make an expression's elements where they are read; `None` where they can be made only all together.
pub fn cost(made: &TensorExpr) -> Option<Cost> {
    let each = made.reduce.is_empty() && made.before.is_empty() && made.coefficients.is_none() && !made.clipped && made.is_plain();
    let whole = made.store.iter().zip(&made.output.shape).all(|(form, &extent)| match alone(form) {
        Some(axis) => made.axes[axis.0].extent == extent,
        None => form.is_constant() && form.constant == 0 && extent == 1,
    });
    // Numbers that are made while kernels are emitted are no part of others.
    let known = |tensor: &Tensor| tensor.values.is_some();
    if !each || !whole || made.inputs.iter().any(known) || made.inputs.iter().any(|own| own.name == made.output.name) {
        return None;
    }
    if let (ScalarExpr::Load { tensor, .. }, ScalarExpr::Acc) = (&made.body, &made.epilogue) {
        return (made.inputs[*tensor].element == made.output.element).then_some(Cost::Moved);
    }
    let mut padded = false;
    made.scalars().for_each(|own| own.loads(&mut |_, _, own| padded |= own));
    let loaded = made.inputs.iter().map(|own| own.len() as i64).sum();
    (!padded).then(|| Cost::Made { loaded, dear: made.scalars().any(is_dear) })
}

/// How often an expression asks for elements of an input, at each place where it is written, all in all; `None` where some are found through numbers.
pub fn asked(by: &TensorExpr, input: &str) -> Option<(usize, i64)> {
    let results: i64 = by.result_axes().map(|axis| axis.extent).fold(1, i64::saturating_mul);
    let all: i64 = by.all_axes().map(|axis| axis.extent).fold(1, i64::saturating_mul);
    let (mut places, mut most, mut found) = (0, 0, false);
    for (scalar, count) in by.passes().flat_map(|pass| [(pass.body, all), (pass.epilogue, results)]) {
        scalar.loads(&mut |tensor, _, _| {
            if *by.tensor(tensor).name == *input {
                (places, most) = (places + 1, count.max(most));
            }
        });
        scalar.each(&mut |own| {
            let ScalarExpr::Gather { tensor, .. } = own else { return };
            found |= *by.tensor(*tensor).name == *input;
        });
    }
    (!found).then_some((places, most))
}

/// An expression with what it reads of another, which only moves elements, made where it reads it, and with axes that are cut where these would lie at no affine
/// places otherwise: what reads channels that are shuffled counts them by two axes.
pub fn moved_where_read(by: &TensorExpr, made: &TensorExpr) -> Option<TensorExpr> {
    let read = by.inputs.iter().position(|own| own.name == made.output.name)?;
    let mut by = by.clone();
    let often = asked(&by, &made.output.name)?.1 > MOST_READS.saturating_mul(made.output.len() as i64);
    while let Some((a, inner)) = uncut(&by, read, &made.output.shape)? {
        if often && shared_along(&by, a) {
            return None;
        }
        by = cut(&by, a, inner)?;
    }
    made_where_read(&by, made).filter(|_| cost(made) == Some(Cost::Moved))
}

/// Whether results along an axis share what a reduction reads.
fn shared_along(by: &TensorExpr, a: AxisId) -> bool {
    let mut shared = false;
    by.body.loads(&mut |_, index, _| shared |= index.iter().all(|form| form.coefficient(a) == 0));
    a.0 < by.axes.len() && !by.reduce.is_empty() && shared
}

/// An axis of an expression that is to be cut so that it may see an input under another shape, and the extent of what lies within; `None` where it may
/// not even so.
fn uncut(by: &TensorExpr, input: usize, shape: &[i64]) -> Option<Option<(AxisId, i64)>> {
    let extents: Vec<i64> = by.all_axes().map(|axis| axis.extent).collect();
    let (mut found, mut possible) = (None, true);
    let mut see = |tensor: usize, index: &[Index], padded: bool| {
        if tensor != input {
            return;
        }
        match seen_as(index, &by.inputs[input].shape, shape, padded, &|a| extents[a.0]) {
            Err(Obstacle::Uncut(a, inner)) => found = Some((a, inner)),
            Err(Obstacle::Other) => possible = false,
            Ok(_) => {}
        }
    };
    by.scalars().for_each(|scalar| scalar.loads(&mut see));
    possible.then_some(found)
}

/// An expression with what it reads of another made where it reads it; `None` where that cannot be said. Inputs of both that have one name are one.
pub fn made_where_read(by: &TensorExpr, made: &TensorExpr) -> Option<TensorExpr> {
    let moved = cost(made)? == Cost::Moved;
    let read = by.inputs.iter().position(|own| own.name == made.output.name)?;
    let view = by.inputs[read].clone();
    if by.output.name == made.output.name || by.arithmetic() != made.arithmetic() || view.element != made.output.element {
        return None;
    }
    let mut own = by.clone();
    own.inputs.remove(read);
    let mut at = read;
    for tensor in &made.inputs {
        match own.inputs.iter().find(|other| other.name == tensor.name) {
            Some(known) if known.shape != tensor.shape || known.element != tensor.element => return None,
            Some(_) => {}
            None => {
                own.inputs.insert(at, tensor.clone());
                at += 1;
            }
        }
    }
    let place = |tensor: &Tensor| own.inputs.iter().position(|other| other.name == tensor.name);
    let places: Vec<usize> = made.inputs.iter().map(place).collect::<Option<_>>()?;
    let others: Vec<usize> = by.inputs.iter().map(|tensor| place(tensor).unwrap_or(read)).collect();
    let extents: Vec<i64> = by.all_axes().map(|axis| axis.extent).collect();
    let range = |form: &Index| form.range(|a| Interval::below(extents.get(a.0).copied().unwrap_or(1)));
    let inside =
        |index: &[Index], shape: &[i64]| index.iter().zip(shape).all(|(form, extent)| range(form).within(Interval::below(*extent)));
    let value = |index: &[Index], padded: bool| -> Option<ScalarExpr> {
        let padded = padded && !inside(index, &view.shape);
        let index = seen_as(index, &view.shape, &made.output.shape, padded, &|a| extents[a.0]).ok()?;
        let leaves = |a: AxisId, form: &Index| padded && !range(form).within(Interval::below(made.axes[a.0].extent));
        let mut forms = vec![Index::constant(0); made.axes.len()];
        for (stored, form) in made.store.iter().zip(&index) {
            match alone(stored) {
                Some(axis) if leaves(axis, form) && !(moved && stays_outside(made, axis)) => return None,
                Some(axis) => forms[axis.0] = form.clone(),
                // A dimension of one element: nothing of the result says where it ends.
                None if padded && !range(form).within(Interval::below(1)) => return None,
                None => {}
            }
        }
        let value = made.epilogue.substitute(&forms)?.with_acc(&made.body.substitute(&forms)?);
        Some(value.with_leaves(&mut |leaf| match leaf {
            ScalarExpr::Load { tensor, index, .. } => {
                let padded = !inside(index, &made.inputs[*tensor].shape);
                ScalarExpr::Load { tensor: places[*tensor], index: index.clone(), padded }
            }
            other => other.clone(),
        }))
    };
    let mut possible = true;
    let mut replaced = |scalar: &ScalarExpr| {
        scalar.with_leaves(&mut |leaf| match leaf {
            ScalarExpr::Load { tensor, index, padded } if *tensor == read => {
                let value = value(index, *padded);
                possible &= value.is_some();
                value.unwrap_or(ScalarExpr::Const(0.0))
            }
            ScalarExpr::Load { tensor, index, padded } => {
                ScalarExpr::Load { tensor: others[*tensor], index: index.clone(), padded: *padded }
            }
            other => other.clone(),
        })
    };
    (own.body, own.epilogue) = (replaced(&by.body), replaced(&by.epilogue));
    let plain = by.before.is_empty() && by.is_plain();
    let mut terms = 0;
    own.scalars().for_each(|scalar| scalar.each(&mut |_| terms += 1));
    (possible && plain && terms <= MOST_TERMS).then_some(own)
}

/// Whether what is read beyond an expression's ends along an axis is beyond those of what it moves, too, where both are zeros.
fn stays_outside(made: &TensorExpr, axis: AxisId) -> bool {
    let ScalarExpr::Load { tensor, index, .. } = &made.body else { return false };
    let mut along = index.iter().zip(&made.inputs[*tensor].shape).filter(|own| own.0.coefficient(axis) != 0);
    matches!((along.next(), along.next()), (Some((form, own)), None)
        if *form.terms() == [(axis, 1)] && form.constant <= 0 && made.axes[axis.0].extent + form.constant >= *own)
}
