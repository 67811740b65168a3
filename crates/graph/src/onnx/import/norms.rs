//! Normalisations that are said by nodes of others.

use super::{Importer, Value, axes, axis};
use crate::error::GraphError;
use crate::graph::TensorId;
use crate::graph::op::{Arithmetic, Function, Op};
use crate::onnx::attributes::NodeView;
use warpsight_generate::operators::{PoolKind, ReduceKind, Window};

impl Importer {
    /// What dimensions come to, which stay with extent 1.
    pub(super) fn reduced(
        &mut self,
        view: NodeView<'_>,
        name: &str,
        kind: ReduceKind,
        x: TensorId,
        over: &[usize],
    ) -> Result<TensorId, GraphError> {
        let shape = self.shape(x).iter().enumerate().map(|(d, &extent)| if over.contains(&d) { 1 } else { extent }).collect();
        self.emit_part(view, name, Op::Reduce { kind, axes: over.to_vec(), keep: true }, vec![x], shape)
    }

    /// x over the root of the mean of its squares, times a scale.
    pub(super) fn root_mean_square(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (x, scale, stem) = (self.floats(view, 0)?, self.data(view, 1)?, view.proto.output[0].clone());
        let rank = self.shape(x).len();
        let first = axis(view, view.int("axis", -1)?, rank)?;
        let epsilon = self.held_number(&stem, view.float("epsilon", f64::from(1e-5f32))?);
        let square = self.paired(view, &format!("{stem}.square"), Arithmetic::Mul, [x, x])?;
        let mean = self.reduced(view, &format!("{stem}.mean"), ReduceKind::Mean, square, &(first..rank).collect::<Vec<_>>())?;
        let above = self.paired(view, &format!("{stem}.above"), Arithmetic::Add, [mean, epsilon])?;
        let rate = self.mapped(view, &format!("{stem}.rate"), Function::Power(-0.5), above)?;
        let normal = self.paired(view, &format!("{stem}.normal"), Arithmetic::Mul, [x, rate])?;
        let value = self.paired(view, &stem, Arithmetic::Mul, [normal, scale])?;
        self.as_kind(view, value, self.kind(scale))
    }

    /// x over the sum of magnitudes along a dimension, or the root of the sum of squares.
    pub(super) fn by_length(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (x, stem) = (self.floats(view, 0)?, view.proto.output[0].clone());
        let at = axis(view, view.int("axis", -1)?, self.shape(x).len())?;
        let kind = match view.int("p", 2)? {
            1 => ReduceKind::L1,
            2 => ReduceKind::L2,
            p => return Err(view.bad(format!("p={p}, which is neither 1 nor 2"))),
        };
        let length = self.reduced(view, &format!("{stem}.length"), kind, x, &[at])?;
        // Zeros stay zeros.
        let zero = self.held_number(&stem, 0.0);
        let nothing = self.paired(view, &format!("{stem}.nothing"), Arithmetic::Equal, [length, zero])?;
        let length = self.paired(view, &format!("{stem}.divisor"), Arithmetic::Add, [length, nothing])?;
        self.paired(view, &stem, Arithmetic::Div, [x, length]).map(Value::Tensor)
    }

    /// x less its mean, over its deviation, over some dimensions.
    pub(super) fn mean_variance(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (x, stem) = (self.floats(view, 0)?, view.proto.output[0].clone());
        let over = axes(view, view.ints("axes")?.unwrap_or(&[0, 2, 3]), self.shape(x).len())?;
        if over.is_empty() {
            return Err(view.bad("no axes"));
        }
        let middle = self.reduced(view, &format!("{stem}.mean"), ReduceKind::Mean, x, &over)?;
        let centred = self.paired(view, &format!("{stem}.centred"), Arithmetic::Sub, [x, middle])?;
        let square = self.paired(view, &format!("{stem}.square"), Arithmetic::Mul, [centred, centred])?;
        let variance = self.reduced(view, &format!("{stem}.variance"), ReduceKind::Mean, square, &over)?;
        let deviation = self.mapped(view, &format!("{stem}.deviation"), Function::Sqrt, variance)?;
        let least = self.held_number(&stem, 1e-9);
        let above = self.paired(view, &format!("{stem}.above"), Arithmetic::Add, [deviation, least])?;
        self.paired(view, &stem, Arithmetic::Div, [centred, above]).map(Value::Tensor)
    }

    /// x over a power of what the squares of neighbouring channels come to.
    pub(super) fn local_response(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (x, stem) = (self.floats(view, 0)?, view.proto.output[0].clone());
        let shape = self.shape(x).to_vec();
        let (size, bias) = (view.int("size", 0)?, view.float("bias", 1.0)?);
        let (alpha, beta) = (view.float("alpha", f64::from(1e-4f32))?, view.float("beta", 0.75)?);
        let [n, c, places @ ..] = &shape[..] else { return Err(view.bad(format!("an input of shape {shape:?} has no channels"))) };
        if size < 1 || *c < 1 {
            return Err(view.bad(format!("windows of {size} of {c} channels")));
        }
        if bias <= 0.0 {
            return Err(view.unsupported(format!("bias={bias}")));
        }
        let flat = vec![*n, 1, *c, places.iter().product()];
        let square = self.paired(view, &format!("{stem}.square"), Arithmetic::Mul, [x, x])?;
        let square = self.emit_part(view, &format!("{stem}.flat"), Op::Alias, vec![square], flat.clone())?;
        // What lies beyond all channels adds nothing.
        let (before, after) = (((size - 1) / 2).min(c - 1), (size / 2).min(c - 1));
        let along = Window { pad_before: before, pad_after: after, ..Window::new(*c, before + after + 1) };
        let alpha = alpha * along.kernel as f64 / size as f64;
        let op = Op::Pool { kind: PoolKind::AverageWithPadding, windows: vec![along, Window::new(flat[3], 1)], ceil_mode: false };
        let mean = self.emit_part(view, &format!("{stem}.mean"), op, vec![square], flat)?;
        let mean = self.emit_part(view, &format!("{stem}.around"), Op::Alias, vec![mean], shape)?;
        // The mean times the size is the sum, of which the standard takes the mean again.
        let (alpha, bias) = (self.held_number(&format!("{stem}.alpha"), alpha), self.held_number(&format!("{stem}.bias"), bias));
        let scaled = self.paired(view, &format!("{stem}.scaled"), Arithmetic::Mul, [mean, alpha])?;
        let base = self.paired(view, &format!("{stem}.base"), Arithmetic::Add, [scaled, bias])?;
        let power = match -beta {
            own if crate::graph::shapes::power(own) => self.mapped(view, &format!("{stem}.power"), Function::Power(own), base)?,
            own => {
                let logarithm = self.mapped(view, &format!("{stem}.logarithm"), Function::Log, base)?;
                let own = self.held_number(&format!("{stem}.beta"), own);
                let exponent = self.paired(view, &format!("{stem}.exponent"), Arithmetic::Mul, [logarithm, own])?;
                self.mapped(view, &format!("{stem}.power"), Function::Exp, exponent)?
            }
        };
        self.paired(view, &stem, Arithmetic::Mul, [x, power]).map(Value::Tensor)
    }
}
