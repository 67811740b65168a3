//! Known whole numbers of any shape that are moved: what holds shapes, and masks and positions that are made of constants.

use super::{IntTensor, MAX_FOLDED, Value, checked_length};
use crate::error::GraphError;
use crate::onnx::attributes::NodeView;
use std::borrow::Cow;

/// Strides of a shape whose elements lie row by row.
fn plain(shape: &[i64]) -> Vec<i64> {
    (0..shape.len()).map(|d| shape[d + 1..].iter().product()).collect()
}

impl IntTensor {
    /// Elements from one place on, each dimension of the result by its own stride.
    fn walked(&self, view: NodeView<'_>, shape: Vec<i64>, from: i64, by: &[i64]) -> Result<Self, GraphError> {
        let length = checked_length(view, &shape, 0, MAX_FOLDED)?;
        let strides = plain(&shape);
        let at = |n: i64| from + strides.iter().zip(&shape).zip(by).map(|((stride, extent), by)| n / stride % extent * by).sum::<i64>();
        let values = (0..length as i64).map(|n| self.values[at(n) as usize]).collect();
        Ok(Self { shape, values, kind: self.kind })
    }

    /// Every so many elements from some on; of a dimension of one element a step may be of any length.
    pub(super) fn sliced(&self, view: NodeView<'_>, starts: &[i64], steps: &[i64], extents: Vec<i64>) -> Result<Self, GraphError> {
        let strides = plain(&self.shape);
        let from = starts.iter().zip(&strides).map(|(start, stride)| start * stride).sum();
        let by: Vec<i64> = steps.iter().zip(&strides).map(|(step, stride)| step.wrapping_mul(*stride)).collect();
        self.walked(view, extents, from, &by)
    }

    /// Dimensions in another order.
    pub(super) fn transposed(&self, view: NodeView<'_>, permutation: &[usize]) -> Result<Self, GraphError> {
        let strides = plain(&self.shape);
        let by: Vec<i64> = permutation.iter().map(|&d| strides[d]).collect();
        self.walked(view, permutation.iter().map(|&d| self.shape[d]).collect(), 0, &by)
    }

    /// Repeated along dimensions that it has not, or of which it has one element; it broadcasts to the shape.
    pub(super) fn spread(&self, view: NodeView<'_>, shape: &[i64]) -> Result<Cow<'_, Self>, GraphError> {
        if self.shape == shape {
            return Ok(Cow::Borrowed(self));
        }
        let own = plain(&self.shape);
        let behind = shape.len() - self.shape.len();
        let by = |d: usize| d.checked_sub(behind).map_or(0, |d| if self.shape[d] == 1 { 0 } else { own[d] });
        self.walked(view, shape.to_vec(), 0, &(0..shape.len()).map(by).collect::<Vec<_>>()).map(Cow::Owned)
    }

    /// What lies at these positions along a dimension.
    pub(super) fn gathered(&self, view: NodeView<'_>, axis: usize, positions: &[i64], shape: Vec<i64>) -> Result<Self, GraphError> {
        checked_length(view, &shape, 0, MAX_FOLDED)?;
        let inner = plain(&self.shape)[axis];
        let outer: i64 = self.shape[..axis].iter().product();
        let run = |(o, p): (i64, &i64)| {
            let from = ((o * self.shape[axis] + p) * inner) as usize;
            &self.values[from..from + inner as usize]
        };
        let values = (0..outer).flat_map(|o| positions.iter().map(move |p| (o, p))).flat_map(run).copied().collect();
        Ok(Self { shape, values, kind: self.kind })
    }
}

/// One behind the other along a dimension; they agree in all others.
pub(super) fn joined(parts: &[IntTensor], axis: usize, shape: Vec<i64>) -> Value {
    let outer = shape[..axis].iter().product::<i64>() as usize;
    let run = |o: usize, part: &IntTensor| {
        let length = part.values.len() / outer.max(1);
        part.values[o * length..(o + 1) * length].to_vec()
    };
    let values = (0..outer).flat_map(|o| parts.iter().flat_map(move |part| run(o, part))).collect();
    Value::Ints(IntTensor { shape, values, kind: parts[0].kind })
}
