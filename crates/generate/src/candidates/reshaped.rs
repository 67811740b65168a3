//! The elements of a tensor under another shape, at affine places there; axes are cut in two where that makes them affine.
//!
//! A reshape keeps the order of elements: dimensions that follow each other become others of as many elements. A position in them is a digit of the
//! number of an element: of `p` in a dimension that is split by `g` the digits are `p / g` and `p % g`, which are no affine forms of an axis, but
//! are two axes where it is cut there: `p = g·p1 + p0`. Channels that are shuffled, pixels of channels and windows of tokens are read so.

use crate::candidates::{copied, unused};
use crate::expr::{Axis, AxisId, Index, Reduction, Role, ScalarExpr, Tensor, TensorExpr};
use warpsight_ir::Name;
use warpsight_ir::range::Interval;

/// What is in the way of an affine place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// An axis that is to be cut, and the extent of what lies within.
    Uncut(AxisId, i64),
    /// Something else.
    Other,
}

/// A position in a tensor of one shape as a position in the same elements under another one. Where it is `padded`, it lies outside under the one where it does
/// under the other.
pub(super) fn seen_as(
    index: &[Index],
    shape: &[i64],
    wanted: &[i64],
    padded: bool,
    extent: &impl Fn(AxisId) -> i64,
) -> Result<Vec<Index>, Obstacle> {
    if shape == wanted {
        return Ok(index.to_vec());
    }
    if shape.iter().chain(wanted).any(|extent| *extent < 1) {
        return Err(Obstacle::Other);
    }
    let range = |form: &Index| form.range(|a| Interval::below(extent(a)));
    let inside = |d: usize| !padded || range(&index[d]).within(Interval::below(shape[d]));
    let (from, to) = (long(shape), long(wanted));
    if !(0..shape.len()).filter(|d| !from.contains(d)).all(inside) {
        return Err(Obstacle::Other);
    }
    let mut own = vec![Index::constant(0); wanted.len()];
    for (from, to) in runs(shape, &from, wanted, &to).ok_or(Obstacle::Other)? {
        if let ([d], [to]) = (from, to) {
            own[*to] = index[*d].clone();
            continue;
        }
        if !from.iter().all(|d| inside(*d)) {
            return Err(Obstacle::Other);
        }
        let (mut rest, mut stride) = (Index::constant(0), 1_i64);
        for &d in from.iter().rev() {
            rest.add(&index[d], stride).ok_or(Obstacle::Other)?;
            stride = stride.saturating_mul(shape[d]);
        }
        for &d in to {
            stride /= wanted[d];
            let (position, behind) = rest.divide(stride);
            if !range(&behind).within(Interval::below(stride)) {
                return Err(uncut(&behind, stride, extent));
            }
            (own[d], rest) = (position, behind);
        }
    }
    Ok(own)
}

/// The dimensions that have several elements.
fn long(shape: &[i64]) -> Vec<usize> {
    (0..shape.len()).filter(|d| shape[*d] != 1).collect()
}

/// Dimensions of two shapes that have as many elements, as few of them together as possible, in order; `None` where the shapes have not.
fn runs<'a>(shape: &[i64], from: &'a [usize], wanted: &[i64], to: &'a [usize]) -> Option<Vec<(&'a [usize], &'a [usize])>> {
    let (mut all, mut done) = (vec![], (0, 0));
    while done.0 < from.len() || done.1 < to.len() {
        let (mut next, mut many): ((usize, usize), (i64, i64)) = (done, (1, 1));
        while next.0 == done.0 || many.0 != many.1 {
            if many.0 <= many.1 {
                many.0 = many.0.checked_mul(shape[*from.get(next.0)?])?;
                next.0 += 1;
            } else {
                many.1 = many.1.checked_mul(wanted[*to.get(next.1)?])?;
                next.1 += 1;
            }
        }
        all.push((&from[done.0..next.0], &to[done.1..next.1]));
        done = next;
    }
    Some(all)
}

/// The axis of a form that has to be cut so that all of the form is below a stride, or a multiple of it.
fn uncut(form: &Index, stride: i64, extent: &impl Fn(AxisId) -> i64) -> Obstacle {
    let cuts = |&(a, by): &(AxisId, i32)| {
        let (by, extent) = (i64::from(by), extent(a));
        let inner = if by > 0 && stride % by == 0 { stride / by } else { extent };
        (inner > 1 && inner < extent && extent % inner == 0).then_some(Obstacle::Uncut(a, inner))
    };
    form.terms().iter().find_map(cuts).unwrap_or(Obstacle::Other)
}

/// An expression with two axes in place of one, the inner one of this extent, by which that of the axis can be divided; `None` where known factors
/// depend on it, or numbers are exceeded.
pub(super) fn cut(expr: &TensorExpr, a: AxisId, inner: i64) -> Option<TensorExpr> {
    if expr.coefficients.is_some() {
        return None;
    }
    let mut own = expr.clone();
    let parallel = expr.axes.len();
    let (axes, at) = if a.0 < parallel { (&mut own.axes, a.0) } else { (&mut own.reduce, a.0 - parallel) };
    let whole = axes.remove(at);
    let digit = |n: usize, extent: i64| Some(Axis { name: free(expr, &format!("{}{n}", whole.name))?, extent });
    axes.insert(at, digit(0, inner)?);
    axes.insert(at, digit(1, whole.extent / inner)?);
    let form = |b: usize| match b.cmp(&a.0) {
        std::cmp::Ordering::Less => Some(Index::var(AxisId(b))),
        std::cmp::Ordering::Equal => Index::of([(a, inner), (AxisId(b + 1), 1)], 0),
        std::cmp::Ordering::Greater => Some(Index::var(AxisId(b + 1))),
    };
    let forms: Vec<Index> = (0..parallel + expr.reduce.len()).map(form).collect::<Option<_>>()?;
    (own.body, own.epilogue) = (expr.body.substitute(&forms)?, expr.epilogue.substitute(&forms)?);
    let before = |one: &Reduction| {
        let (body, epilogue): (ScalarExpr, ScalarExpr) = (one.body.substitute(&forms)?, one.epilogue.substitute(&forms)?);
        Some(Reduction { body, epilogue, ..one.clone() })
    };
    own.before = expr.before.iter().map(before).collect::<Option<_>>()?;
    own.store = expr.store.iter().map(|form| form.substitute(|b| forms.get(b.0))).collect::<Option<_>>()?;
    Some(own)
}

/// A name that no axis of an expression has.
fn free(expr: &TensorExpr, stem: &str) -> Option<Name> {
    let names = (0..).map(|n| format!("{stem}{}", "_".repeat(n)));
    names.into_iter().find(|name| expr.all_axes().all(|axis| *axis.name != **name)).map(Name::from)
}

/// An expression that sees one of its inputs under another shape of as many elements; `None` where some place would not be affine.
pub fn reshaped(expr: &TensorExpr, input: usize, shape: &[i64]) -> Option<TensorExpr> {
    let extents: Vec<i64> = expr.all_axes().map(|axis| axis.extent).collect();
    let mut possible = expr.found_along(input).is_none() && !shape.is_empty();
    let mut seen = |scalar: &ScalarExpr| {
        scalar.with_leaves(&mut |leaf| match leaf {
            ScalarExpr::Load { tensor, index, padded } if *tensor == input => {
                let index = seen_as(index, &expr.inputs[input].shape, shape, *padded, &|a| extents[a.0]);
                possible &= index.is_ok();
                ScalarExpr::Load { tensor: input, index: index.unwrap_or_default(), padded: *padded }
            }
            other => other.clone(),
        })
    };
    let mut own = expr.clone();
    (own.body, own.epilogue) = (seen(&expr.body), seen(&expr.epilogue));
    for (one, old) in own.before.iter_mut().zip(&expr.before) {
        (one.body, one.epilogue) = (seen(&old.body), seen(&old.epilogue));
    }
    own.inputs[input].shape = shape.to_vec();
    possible.then_some(own)
}

/// One reduction axis in place of two that follow each other in all that is read but in one constant, and before it that constant in their order: what
/// reads channels that are shuffled then reads them as they lie. `None` where there are no such axes.
pub fn in_order(expr: &TensorExpr) -> Option<[TensorExpr; 2]> {
    if !expr.is_plain() || !expr.before.is_empty() || expr.stores_each() || expr.coefficients.is_some() {
        return None;
    }
    let reduce = || (expr.axes.len()..expr.axes.len() + expr.reduce.len()).map(AxisId);
    reduce().flat_map(|a| reduce().map(move |b| (a, b))).filter(|(a, b)| a != b).find_map(|pair| ordered(expr, pair))
}

/// The same of these two, the second of which goes on where the first ends.
fn ordered(expr: &TensorExpr, (a, b): (AxisId, AxisId)) -> Option<[TensorExpr; 2]> {
    let extent = |a: AxisId| expr.reduce[a.0 - expr.axes.len()].extent;
    let (long, short) = (extent(a), extent(b));
    let follows = |form: &Index| i64::from(form.coefficient(b)) == i64::from(form.coefficient(a)) * long;
    let moved: Vec<Vec<&[Index]>> = (0..expr.inputs.len())
        .map(|t| {
            let mut own: Vec<&[Index]> = vec![];
            let mut see = |tensor: usize, index, _| own.extend((tensor == t && !own.contains(&index)).then_some(index));
            expr.scalars().for_each(|scalar| scalar.loads(&mut see));
            own
        })
        .collect();
    let other = |t: &usize| moved[*t].iter().any(|index| !index.iter().all(follows));
    let mut others = (0..expr.inputs.len()).filter(other);
    let (Some(t), None) = (others.next(), others.next()) else { return None };
    let (constant, [index]) = (&expr.inputs[t], &moved[t][..]) else { return None };
    let apart = Index::of([(a, short), (b, 1)], 0)?;
    let d = index.iter().position(|form| *form == apart)?;
    let alone = index.iter().enumerate().all(|(e, form)| e == d || form.coefficient(a) == 0 && form.coefficient(b) == 0);
    if constant.role != Role::Weight || constant.values.is_some() || constant.shape[d] != long * short || !alone {
        return None;
    }
    // What lies where: the constant with two axes along that dimension.
    let axis = |e: usize, name: &str, extent: i64| Axis { name: format!("{name}{e}").into(), extent };
    let mut axes: Vec<Axis> = (0..constant.shape.len()).map(|e| axis(e, "i", constant.shape[e])).collect();
    axes[d] = axis(d, "run", short);
    axes.insert(d + 1, axis(d, "within", long));
    let at = |first: i64, second: i64| Index::of([(AxisId(d), first), (AxisId(d + 1), second)], 0);
    let form = |e: usize, own: &Index| if e == d { own.clone() } else { Index::var(AxisId(e + usize::from(e > d))) };
    let forms = |own: Index| -> Vec<Index> { (0..constant.shape.len()).map(|e| form(e, &own)).collect() };
    let output = Tensor { name: unused(expr, &format!("{}_in_order", constant.name))?, role: Role::Output, ..constant.clone() };
    let turned = copied(expr, constant, output.clone(), axes, forms(at(long, 1)?), forms(at(1, short)?), false);
    let turned = TensorExpr { inputs: vec![constant.clone()], ..turned };
    // The first of the two is both, and the second is none.
    let (whole, gone) = (a.0 - expr.axes.len(), b.0 - expr.axes.len());
    let place = |c: AxisId| AxisId(c.0 - usize::from(c > b));
    let renamed =
        |form: &Index| Index::of(form.terms().iter().filter(|term| term.0 != b).map(|&(c, by)| (place(c), i64::from(by))), form.constant);
    let mut possible = true;
    let mut seen = |scalar: &ScalarExpr| {
        scalar.with_leaves(&mut |leaf| match leaf {
            ScalarExpr::Load { tensor, index, padded } => {
                let whole = |(e, form): (usize, &Index)| if *tensor == t && e == d { Some(Index::var(place(a))) } else { renamed(form) };
                let own: Option<_> = index.iter().enumerate().map(whole).collect();
                possible &= own.is_some();
                ScalarExpr::Load { tensor: *tensor, index: own.unwrap_or_default(), padded: *padded }
            }
            other => other.clone(),
        })
    };
    let mut own = expr.clone();
    (own.body, own.epilogue) = (seen(&expr.body), seen(&expr.epilogue));
    own.store = expr.store.iter().map(renamed).collect::<Option<_>>()?;
    own.inputs[t] = Tensor { role: Role::Weight, ..output };
    own.reduce[whole].extent = long * short;
    own.reduce.remove(gone);
    possible.then_some([turned, own])
}
