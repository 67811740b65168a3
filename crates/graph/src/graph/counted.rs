//! What follows for a node's work from its operator and the shapes of its operands.

use crate::graph::heads::Heads;
use crate::graph::op::{Op, factors};
use crate::graph::work::{Class, Work};
use crate::graph::{Body, Graph, GraphTensor, Node};
use warpsight_generate::operators::Interpolation;
use warpsight_ir::Bytes;

/// The extents of a matrix product: output\[m, n\] = left\[m, k\] · right\[k, n\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Rows of the output.
    pub m: u64,
    /// Columns of the output.
    pub n: u64,
    /// Products that are summed.
    pub k: u64,
}

/// No product sums so many.
const LONGEST: u64 = 1 << 40;

/// A plain product of the tensors that have its operands, whole or among other elements: its extents, and which of them are right and left.
/// The right operand is one of them whole, the left one may be a part. `k` is a product's own, where its operands are known. Else it is
/// what each right operand has beside the columns of the output, if so many products are as many operations as are stated. `None` for
/// stacks of products and for whole attention.
pub fn plain_product(operands: &[u64], output: &GraphTensor, k: Result<u64, f64>) -> Option<(Extents, usize, usize)> {
    let elements = output.elements();
    let n = output.shape.last().map_or(1, |&extent| extent.unsigned_abs());
    let m = elements / n;
    (0..operands.len()).flat_map(|right| (0..operands.len()).map(move |left| (right, left))).find_map(|(right, left)| {
        let own = match k {
            Ok(k) => k,
            Err(flops) => Some(operands[right] / n).filter(|&k| flops / (2.0 * elements as f64) == k as f64)?,
        };
        let fits = right != left && (1..LONGEST).contains(&own) && operands[right] == n.saturating_mul(own);
        (fits && operands[left] >= m.saturating_mul(own)).then_some((Extents { m, n, k: own }, right, left))
    })
}

impl Graph {
    /// What a node takes, as its source states it or as it follows from its operator.
    pub fn work(&self, node: &Node) -> Work {
        match &node.body {
            Body::Op { stated: Some(work), .. } | Body::Opaque { work, .. } => *work,
            Body::Op { op, stated: None } => self.counted(node, op),
        }
    }

    fn counted(&self, node: &Node, op: &Op) -> Work {
        let elements = |at: usize| self.tensor(node.inputs[at]).elements() as f64;
        let out = self.tensor(node.output()).elements() as f64;
        let (class, flops) = match op {
            Op::MatMul { .. } | Op::CachedMatMul { .. } | Op::Conv { .. } | Op::ConvTranspose { .. } => {
                (Class::Tensor, 2.0 * out * self.depth(node).unwrap_or(0.0))
            }
            Op::Unary(_) | Op::Binary(_) | Op::Select | Op::Gradient(_) => (Class::Simt, out),
            Op::Gather { .. } | Op::GatherElements { .. } => {
                // The elements that it finds, and the positions.
                let element = self.tensor(node.inputs[0]).element as f64;
                let positions: f64 = node.inputs[1..].iter().map(|id| self.tensor(*id).bytes() as f64).sum();
                let read = Bytes(out * element + positions);
                return Work { class: Class::Gather, flops: 0.0, read: Some(read) };
            }
            Op::LowerPairs { .. } => {
                let read = Bytes(out * self.tensor(node.inputs[0]).element as f64);
                return Work { class: Class::Gather, flops: 0.0, read: Some(read) };
            }
            Op::EmbeddingBag => {
                // The rows that it finds, and all else.
                let (rows, columns) = (elements(1), elements(0) / self.tensor(node.inputs[0]).shape[0] as f64);
                let others: f64 = node.inputs[1..].iter().map(|id| self.tensor(*id).bytes() as f64).sum();
                let read = Bytes(rows * columns * self.tensor(node.inputs[0]).element as f64 + others);
                return Work { class: Class::Gather, flops: rows * columns, read: Some(read) };
            }
            Op::EmbeddingBagGradient => (Class::Gather, elements(1) * out / self.tensor(node.output()).shape[0] as f64),
            Op::Scatter { .. } => (Class::Gather, elements(node.inputs.len() - 1)),
            // Two products, five as a gradient, and a softmax between.
            Op::Attention(_) | Op::AttentionGradient(_) => (Class::Tensor, self.attention(node).unwrap_or(0.0)),
            // A product and a sum for each tap.
            Op::Resize { interpolation, scales, .. } => {
                let taps = match interpolation {
                    Interpolation::Nearest(_) => 0.0,
                    Interpolation::Linear => 2.0_f64,
                    Interpolation::Cubic => 4.0,
                };
                let resized = scales.iter().filter(|scale| **scale != 1.0).count();
                (Class::Simt, if taps > 0.0 { 2.0 * out * taps.powi(resized as i32) } else { 0.0 })
            }
            // A product and a sum.
            Op::BatchNormalization { .. } => (Class::Simt, 2.0 * out),
            // Operations of an element as the rebuilt graphs of paper 003 count them: 5 and 8.
            Op::Softmax { .. } => (Class::Simt, 5.0 * out),
            Op::LayerNormalization { .. } => (Class::Simt, 8.0 * out),
            // Three of the normalised data, two of the scaled gradient and two to put both together, six that are summed.
            Op::LayerNormalizationGradient { .. } => (Class::Simt, 13.0 * out),
            Op::Reduce { .. } | Op::GlobalAveragePool => (Class::Reduce, elements(0)),
            // One for each tap.
            Op::Pool { windows, .. } => (Class::Reduce, out * windows.iter().map(|window| window.kernel as f64).product::<f64>()),
            Op::Concat { .. } | Op::Pad { .. } | Op::Alias | Op::Transpose { .. } | Op::Slice { .. } => (Class::Simt, 0.0),
            Op::Triangle { .. } | Op::Update { .. } => (Class::Simt, 0.0),
        };
        Work { class, flops, read: None }
    }

    /// Operations of an attention, or of its gradient.
    fn attention(&self, node: &Node) -> Option<f64> {
        let gradient = matches!(node.op(), Some(Op::AttentionGradient(_)));
        let shape = |at: usize| self.tensor(node.inputs[at + usize::from(gradient)]).shape.as_slice();
        let heads = Heads::of(shape(0), shape(1), shape(2)).ok()?;
        let products = heads.products().iter().map(|&extent| extent as f64).product::<f64>();
        let (by_depth, by_width) = if gradient { (3.0, 2.0) } else { (1.0, 1.0) };
        Some(products * (2.0 * (by_depth * heads.depth as f64 + by_width * heads.width as f64) + 5.0))
    }

    /// Positions of the inputs of a product of matrices: left, right, bias.
    pub fn factors(&self, node: &Node) -> (usize, usize, Option<usize>) {
        factors(node.inputs.iter().map(|id| self.tensor(*id).shape.len()))
    }

    /// Products that each element of a node's result sums, from the shapes of its operands; `None` where it is no product of matrices and no
    /// convolution.
    pub fn depth(&self, node: &Node) -> Option<f64> {
        let shape = |at: usize| self.tensor(node.inputs[at]).shape.as_slice();
        match node.op()? {
            Op::MatMul { transpose_left, .. } => {
                shape(self.factors(node).0).iter().rev().nth(usize::from(*transpose_left)).map(|&k| k as f64)
            }
            Op::CachedMatMul { .. } => shape(0).last().map(|&k| k as f64),
            // The weight has what one filter sums.
            Op::Conv { .. } => Some(shape(1)[1..].iter().map(|&extent| extent as f64).product()),
            // Each input element is spread over a window of each filter.
            Op::ConvTranspose { .. } => {
                let (input, out) = (self.tensor(node.inputs[0]), self.tensor(node.output()));
                let taps = shape(1)[1..].iter().map(|&extent| extent as f64).product::<f64>();
                Some(input.elements() as f64 * taps / out.elements() as f64)
            }
            _ => None,
        }
    }
}
