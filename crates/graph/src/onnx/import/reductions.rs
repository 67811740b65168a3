//! Products, normalisations and reductions.

use super::{Importer, Value, axes, axis, broadcast};
use crate::error::GraphError;
use crate::graph::op::{Arithmetic, Op};
use crate::graph::{Origin, TensorId};
use crate::onnx::attributes::NodeView;
use warpsight_generate::operators::ReduceKind;

impl Importer {
    pub(super) fn batch_normalization(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        if view.int("training_mode", 0)? != 0 || view.int("spatial", 1)? != 1 {
            return Err(view.unsupported("training_mode=1 or spatial=0"));
        }
        let inputs = (0..5).map(|i| self.data(view, i)).collect::<Result<Vec<_>, _>>()?;
        let shape = self.shape(inputs[0]).to_vec();
        let channels = *shape.get(1).ok_or_else(|| view.bad(format!("an input of shape {shape:?} has no channels")))?;
        for (i, &input) in inputs.iter().enumerate().skip(1) {
            if self.shape(input) != [channels] {
                return Err(view.bad(format!("input {i} has shape {:?} for {channels} channels", self.shape(input))));
            }
            if self.graph.tensor(input).constant.is_none() {
                return Err(view.unsupported(format!("a computed input {i}")));
            }
        }
        let epsilon = view.float("epsilon", 1e-5)?;
        self.emit(view, Op::BatchNormalization { epsilon }, inputs, shape)
    }

    /// The shape of a product of (stacks of) matrices.
    fn product_shape(&self, view: NodeView<'_>, a: &[i64], b: &[i64], flips: (bool, bool)) -> Result<Vec<i64>, GraphError> {
        let (left, l) = a.split_at(a.len() - 2);
        let (right, r) = b.split_at(b.len() - 2);
        let (m, k) = if flips.0 { (l[1], l[0]) } else { (l[0], l[1]) };
        let (n, other) = if flips.1 { (r[0], r[1]) } else { (r[1], r[0]) };
        if k != other {
            return Err(view.bad(format!("shapes {a:?} and {b:?}: inner extents {k} and {other} differ")));
        }
        let mut shape = broadcast(view, left, right)?;
        shape.extend([m, n]);
        Ok(shape)
    }

    pub(super) fn matmul(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (mut a, mut b) = (self.data(view, 0)?, self.data(view, 1)?);
        let (ranks, output) = ((self.shape(a).len(), self.shape(b).len()), view.proto.output[0].clone());
        if ranks.0 == 0 || ranks.1 == 0 {
            return Err(view.bad("a scalar is no matrix"));
        }
        // A vector on the left is a row, one on the right a column; its dimension is dropped from the output.
        if ranks.0 == 1 {
            let shape = vec![1, self.shape(a)[0]];
            a = self.emit_part(view, &format!("{output}.row"), Op::Alias, vec![a], shape)?;
        }
        if ranks.1 == 1 {
            let shape = vec![self.shape(b)[0], 1];
            b = self.emit_part(view, &format!("{output}.column"), Op::Alias, vec![b], shape)?;
        }
        let full = self.product_shape(view, self.shape(a), self.shape(b), (false, false))?;
        let op = Op::MatMul { transpose_left: false, transpose_right: false };
        if ranks.0 > 1 && ranks.1 > 1 {
            return self.emit(view, op, vec![a, b], full);
        }
        let mut shape = full.clone();
        if ranks.1 == 1 {
            shape.pop();
        }
        if ranks.0 == 1 {
            shape.remove(full.len() - 2);
        }
        let product = self.emit_part(view, &format!("{output}.product"), op, vec![a, b], full)?;
        self.emit(view, Op::Alias, vec![product], shape)
    }

    /// alpha · A B + beta · C, as a product and elementwise nodes that fuse into it.
    pub(super) fn gemm(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (a, b) = (self.data(view, 0)?, self.data(view, 1)?);
        let flips = (view.int("transA", 0)? != 0, view.int("transB", 0)? != 0);
        if self.shape(a).len() != 2 || self.shape(b).len() != 2 {
            return Err(view.bad(format!("shapes {:?} and {:?}: both must be matrices", self.shape(a), self.shape(b))));
        }
        let shape = self.product_shape(view, self.shape(a), self.shape(b), flips)?;
        let (alpha, beta) = (view.float("alpha", 1.0)?, view.float("beta", 1.0)?);
        let added = self.optional_data(view, 2)?.filter(|_| beta != 0.0);
        let op = Op::MatMul { transpose_left: flips.0, transpose_right: flips.1 };
        let output = view.proto.output[0].clone();
        if alpha == 1.0 && added.is_none() {
            return self.emit(view, op, vec![a, b], shape);
        }
        let mut value = self.emit_part(view, &format!("{output}.product"), op, vec![a, b], shape.clone())?;
        if alpha != 1.0 {
            value = self.scale(view, value, alpha, &format!("{output}.scaled"))?;
        }
        let Some(mut c) = added else { return self.emit(view, Op::Alias, vec![value], shape) };
        if beta != 1.0 {
            c = self.scale(view, c, beta, &format!("{output}.beta"))?;
        }
        if broadcast(view, &shape, self.shape(c))? != shape {
            return Err(view.bad(format!("C of shape {:?} does not broadcast to {shape:?}", self.shape(c))));
        }
        self.emit(view, Op::Binary(Arithmetic::Add), vec![value, c], shape)
    }

    fn scale(&mut self, view: NodeView<'_>, value: TensorId, factor: f64, name: &str) -> Result<TensorId, GraphError> {
        let shape = self.shape(value).to_vec();
        let factor = self.graph.add_constant(format!("{name}.factor"), vec![], Origin::Constant, vec![factor]);
        self.emit_part(view, name, Op::Binary(Arithmetic::Mul), vec![value, factor], shape)
    }

    pub(super) fn softmax(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let x = self.data(view, 0)?;
        let shape = self.shape(x).to_vec();
        if view.opset >= 13 {
            let axis = axis(view, view.int("axis", -1)?, shape.len())?;
            return self.emit(view, Op::Softmax { axis }, vec![x], shape);
        }
        // Before opset 13 all dimensions from `axis` on are one.
        let axis = axis(view, view.int("axis", 1)?, shape.len())?;
        if axis + 1 == shape.len() {
            return self.emit(view, Op::Softmax { axis }, vec![x], shape);
        }
        let matrix = vec![shape[..axis].iter().product(), shape[axis..].iter().product()];
        let output = view.proto.output[0].clone();
        let flat = self.emit_part(view, &format!("{output}.flat"), Op::Alias, vec![x], matrix.clone())?;
        let soft = self.emit_part(view, &format!("{output}.softmax"), Op::Softmax { axis: 1 }, vec![flat], matrix)?;
        self.emit(view, Op::Alias, vec![soft], shape)
    }

    pub(super) fn layer_normalization(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (x, scale) = (self.data(view, 0)?, self.data(view, 1)?);
        let shape = self.shape(x).to_vec();
        let axis = axis(view, view.int("axis", -1)?, shape.len())?;
        let mut inputs = vec![x, scale];
        inputs.extend(self.optional_data(view, 2)?);
        for &weight in &inputs[1..] {
            if self.shape(weight) != &shape[axis..] {
                return Err(view.unsupported(format!("scale or bias of shape {:?} over {:?}", self.shape(weight), &shape[axis..])));
            }
        }
        let epsilon = view.float("epsilon", 1e-5)?;
        self.emit(view, Op::LayerNormalization { axis, epsilon }, inputs, shape)
    }

    pub(super) fn reduce(&mut self, view: NodeView<'_>, kind: ReduceKind) -> Result<Value, GraphError> {
        let x = self.data(view, 0)?;
        let shape = self.shape(x).to_vec();
        let list = self.ints_or_attribute(view, 1, "axes")?.filter(|l| !l.is_empty());
        let keep = view.int("keepdims", 1)? != 0;
        let over = match list {
            Some(list) => axes(view, &list, shape.len())?,
            None if view.int("noop_with_empty_axes", 0)? != 0 => return self.emit(view, Op::Alias, vec![x], shape),
            None => (0..shape.len()).collect(),
        };
        let kept = |d: &usize| keep || !over.contains(d);
        let output: Vec<i64> = (0..shape.len()).filter(kept).map(|d| if over.contains(&d) { 1 } else { shape[d] }).collect();
        if !self.is_whole(view, 0)? {
            return self.emit(view, Op::Reduce { kind, axes: over, keep }, vec![x], output);
        }
        match kind {
            ReduceKind::L2 | ReduceKind::LogSum | ReduceKind::LogSumExp => Err(view.unsupported("computed whole numbers")),
            // As integers have it: towards zero.
            ReduceKind::Mean => {
                let name = &view.proto.output[0];
                let count = over.iter().map(|&d| shape[d]).product::<i64>() as f64;
                let count = self.graph.add_constant(format!("{name}.count"), vec![], Origin::Constant, vec![count]);
                let sum = Op::Reduce { kind: ReduceKind::Sum, axes: over, keep };
                let sum = self.emit_part(view, &format!("{name}.sum"), sum, vec![x], output.clone())?;
                self.emit(view, Op::Binary(Arithmetic::Quotient), vec![sum, count], output)
            }
            _ => self.emit(view, Op::Reduce { kind, axes: over, keep }, vec![x], output),
        }
    }
}
