//! Operators without a reduction: elementwise, and those that move data.

use super::{Builder, OperatorError, add, axis_names, broadcast_index, named, near, operator, tensor};
use crate::expr::{Combine, Index, Operator, Role, ScalarExpr, Tensor, TensorExpr};
use std::ops::Range;
use warpsight_ir::{BinaryOp, Scalar, UnaryOp};

/// One function of the elements of `inputs`, which are broadcast to `shape`; `body` gets a load per input, and where the result is.
pub fn elementwise(
    kind: &str,
    inputs: &[Tensor],
    shape: &[i64],
    element: Scalar,
    body: impl FnOnce(&[ScalarExpr], &[Index]) -> ScalarExpr,
) -> Result<Operator, OperatorError> {
    gathered(kind, shape, element, |builder, at| {
        let mut loads = Vec::with_capacity(inputs.len());
        for input in inputs {
            let skip = at.len().checked_sub(input.shape.len());
            let fits = skip.is_some_and(|skip| input.shape.iter().zip(&output_shape(shape)[skip..]).all(|(&i, &o)| i == o || i == 1));
            if !fits {
                let what = format!("`{}` of shape {:?} does not broadcast to {shape:?}", input.name, input.shape);
                return Err(OperatorError::Mismatch { operator: kind.into(), what });
            }
            loads.push(builder.load(input, broadcast_index(&input.shape, at)));
        }
        Ok(body(&loads, at))
    })
}

/// The same elements in another tensor.
pub fn copy(shape: &[i64], element: Scalar) -> Result<Operator, OperatorError> {
    elementwise("copy", &[tensor("input", shape, element, Role::Activation)], shape, element, |x, _| x[0].clone())
}

/// Dimension `i` of the output is dimension `permutation[i]` of the input.
pub fn transpose(shape: &[i64], permutation: &[usize], element: Scalar) -> Result<Operator, OperatorError> {
    let mut sorted = permutation.to_vec();
    sorted.sort_unstable();
    if sorted != (0..shape.len()).collect::<Vec<_>>() {
        let what = format!("{permutation:?} is no permutation of {} dimensions", shape.len());
        return Err(OperatorError::Mismatch { operator: "transpose".into(), what });
    }
    let output: Vec<i64> = permutation.iter().map(|&p| shape[p]).collect();
    let input = tensor("input", shape, element, Role::Activation);
    gathered("transpose", &output, element, |builder, at| {
        let mut index = vec![Index::constant(0); input.shape.len()];
        for (form, &p) in at.iter().zip(permutation) {
            index[p] = form.clone();
        }
        Ok(builder.load(&input, index))
    })
}

/// Every `steps[i]`-th element from `starts[i]` on, `extents[i]` of them; steps may be negative.
pub fn slice(shape: &[i64], starts: &[i64], steps: &[i64], extents: &[i64], element: Scalar) -> Result<Operator, OperatorError> {
    let fail = |what: String| OperatorError::Mismatch { operator: "slice".into(), what };
    if [starts.len(), steps.len(), extents.len()] != [shape.len(); 3] {
        return Err(fail(format!("{starts:?}, {steps:?}, {extents:?} for {} dimensions", shape.len())));
    }
    for (d, &extent) in extents.iter().enumerate() {
        let last = i128::from(starts[d]) + i128::from(steps[d]) * (i128::from(extent) - 1);
        if !(0..shape[d]).contains(&starts[d]) || !(0..i128::from(shape[d])).contains(&last) {
            return Err(fail(format!("dimension {d} of extent {} read from {} to {last}", shape[d], starts[d])));
        }
    }
    let input = tensor("input", shape, element, Role::Activation);
    gathered("slice", extents, element, |builder, at| {
        // Of one element, the step to the next means nothing.
        let step = |d: usize| if extents[d] == 1 { 0 } else { steps[d] };
        let index = (0..at.len()).map(|d| near("slice", Index::constant(starts[d]).plus(&at[d], step(d)))).collect::<Result<_, _>>()?;
        Ok(builder.load(&input, index))
    })
}

/// Parts of a tensor along a dimension, as many elements each: a tensor and an expression for each of them, the last one named `output`.
///
/// # Errors
/// [`OperatorError::Mismatch`] where the parts are not alike.
pub fn split(shape: &[i64], axis: usize, parts: i64, element: Scalar) -> Result<Operator, OperatorError> {
    let fail = |what: String| OperatorError::Mismatch { operator: "split".into(), what };
    let whole = *shape.get(axis).ok_or_else(|| fail(format!("axis {axis} of {} dimensions", shape.len())))?;
    if parts < 1 || whole % parts != 0 {
        return Err(fail(format!("{whole} columns in {parts} parts")));
    }
    let extents: Vec<i64> = (0..shape.len()).map(|d| if d == axis { whole / parts } else { shape[d] }).collect();
    let part = |number: i64| {
        let starts: Vec<i64> = (0..shape.len()).map(|d| if d == axis { number * extents[axis] } else { 0 }).collect();
        let mut steps = slice(shape, &starts, &vec![1; shape.len()], &extents, element)?.steps;
        for step in steps.iter_mut().filter(|_| number + 1 < parts) {
            (step.name, step.output.name) = (format!("split_{number}").into(), format!("output{number}").into());
        }
        Ok(steps)
    };
    let steps: Vec<Vec<TensorExpr>> = (0..parts).map(part).collect::<Result<_, OperatorError>>()?;
    operator("split", steps.concat())
}

/// Zeros around a tensor; a negative number crops.
pub fn pad(shape: &[i64], before: &[i64], after: &[i64], element: Scalar) -> Result<Operator, OperatorError> {
    if [before.len(), after.len()] != [shape.len(); 2] {
        let what = format!("{before:?} and {after:?} for {} dimensions", shape.len());
        return Err(OperatorError::Mismatch { operator: "pad".into(), what });
    }
    let extent = |(s, (b, a)): (&i64, (&i64, &i64))| s.checked_add(*b)?.checked_add(*a);
    let output: Option<Vec<i64>> = shape.iter().zip(before.iter().zip(after)).map(extent).collect();
    let output = output.ok_or_else(|| OperatorError::TooFar { operator: "pad".into() })?;
    let input = tensor("input", shape, element, Role::Activation);
    gathered("pad", &output, element, |builder, at| {
        let moved = |(form, b): (&Index, &i64)| near("pad", b.checked_neg().and_then(|b| form.clone().offset(b)));
        let index = at.iter().zip(before).map(moved).collect::<Result<_, _>>()?;
        Ok(builder.load(&input, index))
    })
}

/// What lies beyond the ends of a dimension that is padded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beyond {
    /// Zeros.
    #[default]
    Zeros,
    /// The dimension mirrored at its first and last elements: no farther than these are from each other.
    Mirrored,
    /// The first and the last element.
    Last,
    /// The dimension again: once at most.
    Around,
}

impl Beyond {
    /// Whether it is zeros.
    pub fn is_zeros(&self) -> bool {
        *self == Self::Zeros
    }

    /// How far one may go beyond the ends of a dimension.
    pub fn most(self, extent: i64) -> i64 {
        match self {
            Self::Mirrored => (extent - 1).max(0),
            Self::Around => extent,
            Self::Last if extent < 1 => 0,
            Self::Zeros | Self::Last => i64::MAX,
        }
    }

    /// The position within a dimension of what is found at one, no farther beyond its ends than is allowed; `None` of zeros.
    pub fn place(self, at: i64, extent: i64) -> Option<i64> {
        match self {
            _ if (0..extent).contains(&at) => Some(at),
            Self::Zeros => None,
            Self::Mirrored => Some((extent - 1) - ((extent - 1) - at.abs()).abs()),
            Self::Last => Some(at.clamp(0, extent - 1)),
            Self::Around => Some(at.rem_euclid(extent)),
        }
    }

    /// The same as an expression.
    fn found(self, at: ScalarExpr, extent: i64) -> ScalarExpr {
        let (end, binary) = (|| ScalarExpr::Const((extent - 1) as f64), ScalarExpr::binary);
        let from_end = |own: ScalarExpr| binary(BinaryOp::Sub, end(), ScalarExpr::unary(UnaryOp::Abs, own));
        match self {
            Self::Zeros => at,
            Self::Mirrored => from_end(from_end(at)),
            Self::Last => binary(BinaryOp::Max, binary(BinaryOp::Min, at, end()), ScalarExpr::Const(0.0)),
            Self::Around => {
                let whole = || ScalarExpr::Const(extent as f64);
                binary(BinaryOp::Rem, binary(BinaryOp::Add, at, whole()), whole())
            }
        }
    }
}

/// Something else than zeros around a tensor: elements of its own, found by their positions; a negative number crops.
///
/// # Errors
/// [`OperatorError::Mismatch`] where it reaches farther beyond ends than [`Beyond::most`].
pub fn border(shape: &[i64], before: &[i64], after: &[i64], beyond: Beyond, element: Scalar) -> Result<Operator, OperatorError> {
    let zeros = pad(shape, before, after, element)?;
    let far = |d: usize| before[d].max(after[d]) > beyond.most(shape[d]);
    if let Some(d) = (0..shape.len()).find(|d| far(*d)) {
        let what = format!("{} and {} beyond an extent of {}", before[d], after[d], shape[d]);
        return Err(OperatorError::Mismatch { operator: "pad".into(), what });
    }
    let output = &zeros.steps[0].output.shape;
    let input = tensor("input", shape, element, Role::Activation);
    gathered("pad", output, element, |builder, at| {
        let moved = |d: usize| near("pad", before[d].checked_neg().and_then(|b| at[d].clone().offset(b)));
        let (mut index, mut found) = (vec![], vec![]);
        for d in 0..shape.len() {
            let bordered = before[d].max(after[d]) > 0 && !beyond.is_zeros();
            let form = moved(d)?;
            if bordered {
                found.push((d, beyond.found(ScalarExpr::Position(form.clone()), shape[d])));
            }
            index.push(if bordered { Index::constant(0) } else { form });
        }
        Ok(if found.is_empty() { builder.load(&input, index) } else { builder.gather(&input, index, found) })
    })
}

/// `input` in which `part` takes the places along `axis` from `start` on: what stays and what is new are parts of the output, each with an expression
/// of its own ([`crate::parts`]). In place of `input` the last one is all that is left.
pub fn update(shape: &[i64], part: &[i64], axis: usize, start: i64, element: Scalar) -> Result<Operator, OperatorError> {
    let kind = "update";
    let alike = part.len() == shape.len() && (0..shape.len()).all(|d| d == axis || part[d] == shape[d]);
    let end = part.get(axis).and_then(|extent| start.checked_add(*extent));
    let Some(end) = end.filter(|end| alike && start >= 0 && *end <= shape[axis] && part.iter().all(|&e| e > 0)) else {
        let what = format!("{part:?} from {start} on along axis {axis} of {shape:?}");
        return Err(OperatorError::Mismatch { operator: kind.into(), what });
    };
    let output = tensor("output", shape, element, Role::Output);
    // So many positions from one on, of a tensor in which they begin elsewhere.
    let piece = |name: &str, from: &Tensor, first: i64, positions: Range<i64>| {
        let extents: Vec<i64> = (0..shape.len()).map(|d| if d == axis { positions.end - positions.start } else { shape[d] }).collect();
        let names = axis_names(shape.len());
        let (mut builder, at, _) = Builder::new(name, &named(&names, &extents), &[]);
        let moved = |by: i64| -> Result<Vec<Index>, OperatorError> {
            (0..at.len()).map(|d| near(kind, at[d].clone().offset(if d == axis { by } else { 0 }))).collect()
        };
        let body = builder.load(from, moved(first)?);
        Ok(builder.finish(Combine::Sum, body, ScalarExpr::Acc, output.clone(), moved(positions.start)?))
    };
    let input = tensor("input", shape, element, Role::Activation);
    let stays = [("update_before", 0..start), ("update_after", end..shape[axis])].into_iter().filter(|own| !own.1.is_empty());
    let mut steps = stays.map(|(name, own)| piece(name, &input, own.start, own)).collect::<Result<Vec<_>, OperatorError>>()?;
    steps.push(piece(kind, &tensor("part", part, element, Role::Activation), 0, start..end)?);
    operator(kind, steps)
}

/// Tensors one after another along `axis`: a sum of loads, each 0 outside its part.
pub fn concat(inputs: &[Tensor], axis: usize) -> Result<Operator, OperatorError> {
    let fail = |what: String| OperatorError::Mismatch { operator: "concat".into(), what };
    let first = inputs.first().ok_or_else(|| fail("nothing to join".into()))?;
    let mut shape = first.shape.clone();
    if axis >= shape.len() {
        return Err(fail(format!("axis {axis} of {} dimensions", shape.len())));
    }
    shape[axis] = 0;
    for input in inputs {
        let alike = input.shape.len() == shape.len() && (0..shape.len()).all(|d| d == axis || input.shape[d] == shape[d]);
        if !alike {
            return Err(fail(format!("shapes {:?} and {:?} differ beside axis {axis}", first.shape, input.shape)));
        }
        shape[axis] += input.shape[axis];
    }
    gathered("concat", &shape, first.element, |builder, at| {
        let mut offset = 0;
        let mut parts = Vec::new();
        for input in inputs {
            let mut index = at.to_vec();
            index[axis] = near("concat", at[axis].clone().offset(-offset))?;
            offset += input.shape[axis];
            parts.push(builder.load(input, index));
        }
        // `inputs` has a first element, so there is a sum.
        Ok(parts.into_iter().reduce(add).unwrap_or(ScalarExpr::Const(0.0)))
    })
}

fn output_shape(shape: &[i64]) -> Vec<i64> {
    if shape.is_empty() { vec![1] } else { shape.to_vec() }
}

/// An expression that stores `body` at every point of `shape`.
fn gathered(
    kind: &str,
    shape: &[i64],
    element: Scalar,
    body: impl FnOnce(&mut Builder, &[Index]) -> Result<ScalarExpr, OperatorError>,
) -> Result<Operator, OperatorError> {
    let shape = output_shape(shape);
    if shape.iter().any(|&e| e < 1) {
        return Err(OperatorError::EmptyOutput { operator: kind.into(), what: format!("shape {shape:?}") });
    }
    let names = axis_names(shape.len());
    let (mut builder, at, _) = Builder::new(kind, &named(&names, &shape), &[]);
    let body = body(&mut builder, &at)?;
    let output = tensor("output", &shape, element, Role::Output);
    operator(kind, vec![builder.finish(Combine::Sum, body, ScalarExpr::Acc, output, at)])
}
