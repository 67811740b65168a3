//! Matrix products.

use super::{Builder, OperatorError, at_least, broadcast_index, mul, operator, tensor};
use crate::expr::{Combine, Operator, Role, ScalarExpr};
use warpsight_ir::Scalar;

/// A product of matrices, or of stacks of them that are broadcast against each other.
#[derive(Clone, Debug, PartialEq)]
pub struct MatMul {
    /// Shape `batch… m k`, or `batch… k m` where transposed.
    pub left: Vec<i64>,
    /// Shape `batch… k n`, or `batch… n k` where transposed.
    pub right: Vec<i64>,
    /// Whether the left matrix is stored transposed.
    pub transpose_left: bool,
    /// Whether the right matrix is stored transposed.
    pub transpose_right: bool,
    /// What the left one is.
    pub left_role: Role,
    /// What the right one is.
    pub right_role: Role,
    /// Element type in memory.
    pub element: Scalar,
}

impl MatMul {
    /// `m×k` times `k×n`, the right one a weight.
    pub fn new(m: i64, n: i64, k: i64) -> Self {
        Self {
            left: vec![m, k],
            right: vec![k, n],
            transpose_left: false,
            transpose_right: false,
            left_role: Role::Activation,
            right_role: Role::Weight,
            element: Scalar::F32,
        }
    }
}

/// The shape that two shapes are broadcast to (ONNX: aligned at the last dimension), if they go together.
pub(crate) fn broadcast(a: &[i64], b: &[i64]) -> Option<Vec<i64>> {
    let rank = a.len().max(b.len());
    let at = |s: &[i64], i: usize| if i + s.len() < rank { 1 } else { s[i + s.len() - rank] };
    (0..rank)
        .map(|i| match (at(a, i), at(b, i)) {
            (x, y) if x == y => Some(x),
            (1, y) => Some(y),
            (x, 1) => Some(x),
            _ => None,
        })
        .collect()
}

/// Builds a matrix product. Axes: batch, m, n; reduction: k. Output shape `batch… m n`.
pub fn matmul(product: &MatMul) -> Result<Operator, OperatorError> {
    let kind = "matmul";
    let fail = |what: String| OperatorError::Mismatch { operator: kind.into(), what };
    let (left, right) = (&product.left, &product.right);
    if left.len() < 2 || right.len() < 2 {
        return Err(fail(format!("{left:?} times {right:?}: a matrix has two dimensions")));
    }
    for &extent in left.iter().chain(right) {
        at_least(kind, 1, &[("extent", extent)])?;
    }
    let (left_batch, l) = left.split_at(left.len() - 2);
    let (right_batch, r) = right.split_at(right.len() - 2);
    let (m, k) = if product.transpose_left { (l[1], l[0]) } else { (l[0], l[1]) };
    let (n, other) = if product.transpose_right { (r[0], r[1]) } else { (r[1], r[0]) };
    if k != other {
        return Err(fail(format!("{left:?} times {right:?}: inner extents {k} and {other} differ")));
    }
    let batch =
        broadcast(left_batch, right_batch).ok_or_else(|| fail(format!("batches {left_batch:?} and {right_batch:?} do not broadcast")))?;

    let names: Vec<String> = (0..batch.len()).map(|i| if batch.len() == 1 { "b".into() } else { format!("b{i}") }).collect();
    let mut parallel = super::named(&names, &batch);
    parallel.extend([("m", m), ("n", n)]);
    let (mut builder, at, inner) = Builder::new(kind, &parallel, &[("k", k)]);
    let (outer, mn) = at.split_at(batch.len());

    let mut index = broadcast_index(left_batch, outer);
    let row = [mn[0].clone(), inner[0].clone()];
    index.extend(if product.transpose_left { [row[1].clone(), row[0].clone()] } else { row });
    let a = builder.load(&tensor("left", left, product.element, product.left_role), index);
    let mut index = broadcast_index(right_batch, outer);
    let column = [inner[0].clone(), mn[1].clone()];
    index.extend(if product.transpose_right { [column[1].clone(), column[0].clone()] } else { column });
    let b = builder.load(&tensor("right", right, product.element, product.right_role), index);

    let shape: Vec<i64> = batch.iter().copied().chain([m, n]).collect();
    let output = tensor("output", &shape, product.element, Role::Output);
    operator(kind, vec![builder.finish(Combine::Sum, mul(a, b), ScalarExpr::Acc, output, at)])
}
