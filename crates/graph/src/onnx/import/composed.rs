//! Operators that are read as others: what they compute is said by nodes that others are made of, too.

use super::{Importer, IntTensor, MAX_RANK, Value, axes, axis, checked_length};
use crate::error::GraphError;
use crate::graph::op::{Arithmetic, Function, Op};
use crate::graph::{Origin, TensorId};
use crate::onnx::attributes::NodeView;
use warpsight_generate::operators::ReduceKind;

impl Importer {
    /// A number beside tensors.
    pub(super) fn held_number(&mut self, name: &str, value: f64) -> TensorId {
        self.graph.add_constant(format!("{name}.{value}"), vec![], Origin::Constant, vec![value])
    }

    pub(super) fn mapped(&mut self, view: NodeView<'_>, name: &str, function: Function, x: TensorId) -> Result<TensorId, GraphError> {
        let shape = self.shape(x).to_vec();
        self.emit_part(view, name, Op::Unary(function), vec![x], shape)
    }

    /// Of the shape of the first one.
    pub(super) fn paired(&mut self, view: NodeView<'_>, name: &str, op: Arithmetic, pair: [TensorId; 2]) -> Result<TensorId, GraphError> {
        let shape = self.shape(pair[0]).to_vec();
        if super::broadcast(view, &shape, self.shape(pair[1]))? != shape {
            return Err(view.bad(format!("a tensor of shape {:?} does not broadcast to {shape:?}", self.shape(pair[1]))));
        }
        self.emit_part(view, name, Op::Binary(op), pair.to_vec(), shape)
    }

    /// x where positive, else a slope of each element's own times x.
    pub(super) fn sloped(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (x, slope, stem) = (self.data(view, 0)?, self.data(view, 1)?, view.proto.output[0].clone());
        let above = self.mapped(view, &format!("{stem}.above"), Function::Relu, x)?;
        let below = self.mapped(view, &format!("{stem}.below"), Function::Clip(f64::NEG_INFINITY, 0.0), x)?;
        let below = self.paired(view, &format!("{stem}.sloped"), Arithmetic::Mul, [below, slope])?;
        self.paired(view, &stem, Arithmetic::Add, [above, below]).map(Value::Tensor)
    }

    /// ln(1 + eˣ), as max(x, 0) + ln(1 + e⁻ˡˣˡ), which is finite where x is.
    fn soft_plus(&mut self, view: NodeView<'_>, name: &str, x: TensorId) -> Result<TensorId, GraphError> {
        let above = self.mapped(view, &format!("{name}.above"), Function::Relu, x)?;
        let far = self.mapped(view, &format!("{name}.far"), Function::Abs, x)?;
        let near = self.mapped(view, &format!("{name}.near"), Function::Neg, far)?;
        let power = self.mapped(view, &format!("{name}.power"), Function::Exp, near)?;
        let one = self.held_number(name, 1.0);
        let sum = self.paired(view, &format!("{name}.sum"), Arithmetic::Add, [power, one])?;
        let logarithm = self.mapped(view, &format!("{name}.logarithm"), Function::Log, sum)?;
        self.paired(view, name, Arithmetic::Add, [above, logarithm])
    }

    pub(super) fn softplus(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let x = self.data(view, 0)?;
        self.soft_plus(view, &view.proto.output[0], x).map(Value::Tensor)
    }

    /// x · tanh(ln(1 + eˣ)).
    pub(super) fn mish(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (x, stem) = (self.data(view, 0)?, view.proto.output[0].clone());
        let soft = self.soft_plus(view, &format!("{stem}.soft"), x)?;
        let gate = self.mapped(view, &format!("{stem}.gate"), Function::Tanh, soft)?;
        self.paired(view, &stem, Arithmetic::Mul, [x, gate]).map(Value::Tensor)
    }

    /// x less the logarithm of what eˣ comes to; before opset 13 all dimensions from `axis` on are one.
    pub(super) fn log_softmax(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (x, stem, new) = (self.data(view, 0)?, view.proto.output[0].clone(), view.opset >= 13);
        let shape = self.shape(x).to_vec();
        let at = axis(view, view.int("axis", if new { -1 } else { 1 })?, shape.len())?;
        let over: Vec<usize> = if new { vec![at] } else { (at..shape.len()).collect() };
        let rows: Vec<i64> = (0..shape.len()).map(|d| if over.contains(&d) { 1 } else { shape[d] }).collect();
        let op = |kind| Op::Reduce { kind, axes: over.clone(), keep: true };
        // The greatest is taken away first: of large numbers that are close to each other nothing else is left.
        let greatest = self.emit_part(view, &format!("{stem}.greatest"), op(ReduceKind::Max), vec![x], rows.clone())?;
        let below = self.paired(view, &format!("{stem}.below"), Arithmetic::Sub, [x, greatest])?;
        let exponential = self.mapped(view, &format!("{stem}.exponential"), Function::Exp, below)?;
        let total = self.emit_part(view, &format!("{stem}.total"), op(ReduceKind::LogSum), vec![exponential], rows)?;
        self.paired(view, &stem, Arithmetic::Sub, [below, total]).map(Value::Tensor)
    }

    /// The greatest of all dimensions after the second.
    pub(super) fn global_max_pool(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let x = self.data(view, 0)?;
        let shape = self.shape(x).to_vec();
        if shape.len() < 3 {
            return Err(view.unsupported(format!("an input of shape {shape:?} (n, c and spatial dimensions)")));
        }
        let output = (0..shape.len()).map(|d| if d < 2 { shape[d] } else { 1 }).collect();
        self.emit(view, Op::Reduce { kind: ReduceKind::Max, axes: (2..shape.len()).collect(), keep: true }, vec![x], output)
    }

    /// Each of the first dimensions' rows less its mean, over its deviation.
    fn standardised(&mut self, view: NodeView<'_>, x: TensorId, first: usize) -> Result<TensorId, GraphError> {
        let (stem, epsilon) = (view.proto.output[0].clone(), view.float("epsilon", f64::from(1e-5f32))?);
        let shape = self.shape(x).to_vec();
        let mean = Op::Reduce { kind: ReduceKind::Mean, axes: (first..shape.len()).collect(), keep: true };
        let rows: Vec<i64> = (0..shape.len()).map(|d| if d < first { shape[d] } else { 1 }).collect();
        let middle = self.emit_part(view, &format!("{stem}.mean"), mean.clone(), vec![x], rows.clone())?;
        let centred = self.paired(view, &format!("{stem}.centred"), Arithmetic::Sub, [x, middle])?;
        let square = self.paired(view, &format!("{stem}.square"), Arithmetic::Mul, [centred, centred])?;
        let variance = self.emit_part(view, &format!("{stem}.variance"), mean, vec![square], rows)?;
        let epsilon = self.held_number(&stem, epsilon);
        let above = self.paired(view, &format!("{stem}.above"), Arithmetic::Add, [variance, epsilon])?;
        let rate = self.mapped(view, &format!("{stem}.rate"), Function::Power(-0.5), above)?;
        self.paired(view, &format!("{stem}.standardised"), Arithmetic::Mul, [centred, rate])
    }

    /// What is standardised, scaled and moved by a number for each channel, under a shape that has these along one dimension.
    fn scaled_and_moved(&mut self, view: NodeView<'_>, x: TensorId, each: Vec<i64>) -> Result<Value, GraphError> {
        let stem = view.proto.output[0].clone();
        let mut value = x;
        for (position, op, name) in [(1, Arithmetic::Mul, format!("{stem}.scaled")), (2, Arithmetic::Add, stem.clone())] {
            let own = self.data(view, position)?;
            if self.graph.tensor(own).len() as i64 != each.iter().product::<i64>() {
                return Err(view.bad(format!("input {position} has shape {:?}, not one number for each of {each:?}", self.shape(own))));
            }
            let own = self.emit_part(view, &format!("{name}.each"), Op::Alias, vec![own], each.clone())?;
            value = self.paired(view, &name, op, [value, own])?;
        }
        Ok(Value::Tensor(value))
    }

    fn channels_of(&self, view: NodeView<'_>) -> Result<(TensorId, Vec<i64>, Vec<i64>), GraphError> {
        let x = self.data(view, 0)?;
        let shape = self.shape(x).to_vec();
        if shape.len() < 3 {
            return Err(view.unsupported(format!("an input of shape {shape:?} (n, c and spatial dimensions)")));
        }
        let each = (1..shape.len()).map(|d| if d == 1 { shape[1] } else { 1 }).collect();
        Ok((x, shape, each))
    }

    pub(super) fn instance_normalization(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (x, _, each) = self.channels_of(view)?;
        let x = self.standardised(view, x, 2)?;
        self.scaled_and_moved(view, x, each)
    }

    /// Scale and bias of each channel; of each group before opset 21.
    pub(super) fn group_normalization(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (x, shape, each) = self.channels_of(view)?;
        let (groups, stem) = (view.int("num_groups", 0)?, view.proto.output[0].clone());
        if groups < 1 || shape[1] % groups != 0 {
            return Err(view.bad(format!("{groups} groups of {} channels", shape[1])));
        }
        let grouped: Vec<i64> = [shape[0], groups, shape[1] / groups].iter().chain(&shape[2..]).copied().collect();
        let x = self.emit_part(view, &format!("{stem}.grouped"), Op::Alias, vec![x], grouped)?;
        let x = self.standardised(view, x, 2)?;
        if view.opset < 21 {
            let each = (0..shape.len()).map(|d| if d == 0 { groups } else { 1 }).collect();
            let Value::Tensor(y) = self.scaled_and_moved(view, x, each)? else { return Err(view.bad("no floats")) };
            return self.emit_part(view, &format!("{stem}.whole"), Op::Alias, vec![y], shape).map(Value::Tensor);
        }
        let x = self.emit_part(view, &format!("{stem}.whole"), Op::Alias, vec![x], shape)?;
        self.scaled_and_moved(view, x, each)
    }

    /// Blocks of channels become pixels, or pixels channels.
    pub(super) fn depth_to_space(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let x = self.data(view, 0)?;
        let (&[n, c, h, w], b) = (&self.shape(x).to_vec()[..], view.int("blocksize", 0)?) else {
            return Err(view.bad(format!("an input of shape {:?}, where four dimensions were expected", self.shape(x))));
        };
        let bad = || view.bad(format!("blocks of {b} of shape {:?}", [n, c, h, w]));
        let square = b.checked_mul(b).filter(|_| b > 0).ok_or_else(bad)?;
        let columns_first = match view.string("mode")?.as_deref() {
            None | Some("DCR") => false,
            Some("CRD") => true,
            Some(mode) => return Err(view.bad(format!("the mode `{mode}`, which is neither DCR nor CRD"))),
        };
        let (taken, permutation, output) = if view.proto.op_type == "SpaceToDepth" {
            let fits = h % b == 0 && w % b == 0;
            let channels = c.checked_mul(square).filter(|_| fits).ok_or_else(bad)?;
            (vec![n, c, h / b, b, w / b, b], vec![0, 3, 5, 1, 2, 4], vec![n, channels, h / b, w / b])
        } else {
            let (Some(high), Some(wide), 0) = (h.checked_mul(b), w.checked_mul(b), c % square) else { return Err(bad()) };
            let taken = if columns_first { vec![n, c / square, b, b, h, w] } else { vec![n, b, b, c / square, h, w] };
            let permutation = if columns_first { vec![0, 1, 4, 2, 5, 3] } else { vec![0, 3, 4, 1, 5, 2] };
            (taken, permutation, vec![n, c / square, high, wide])
        };
        let stem = view.proto.output[0].clone();
        let turned = permutation.iter().map(|&d| taken[d]).collect();
        let x = self.emit_part(view, &format!("{stem}.taken"), Op::Alias, vec![x], taken)?;
        let x = self.emit_part(view, &format!("{stem}.turned"), Op::Transpose { permutation }, vec![x], turned)?;
        self.emit(view, Op::Alias, vec![x], output)
    }

    /// Each dimension so many times, one behind the other.
    pub(super) fn tile(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let times = self.ints(view, 1)?.ok_or_else(|| view.bad("input 1 is missing"))?.values.clone();
        let (shape, stem) = (self.shape_of_value(view, 0)?, view.proto.output[0].clone());
        if times.len() != shape.len() || 2 * shape.len() > MAX_RANK {
            return Err(view.bad(format!("repeats {times:?} of shape {shape:?}")));
        }
        let product = |(extent, times): (&i64, &i64)| extent.checked_mul(*times).filter(|own| *own >= 1);
        let output: Option<Vec<i64>> = shape.iter().zip(&times).map(product).collect();
        let output = output.ok_or_else(|| view.bad(format!("repeats {times:?} of shape {shape:?}")))?;
        checked_length(view, &output, 1, i64::from(i32::MAX))?;
        // A dimension of its own for what is repeated.
        let (mut apart, mut wide, mut steps) = (vec![], vec![], vec![]);
        for (&extent, &times) in shape.iter().zip(&times) {
            for (own, repeated, step) in [(1, times, 0), (extent, extent, 1)] {
                if step == 1 || times > 1 {
                    apart.push(own);
                    wide.push(repeated);
                    steps.push(step);
                }
            }
        }
        if let Value::Ints(ints) = self.value(view, 0)? {
            self.may_spread(view, 1, &wide)?;
            let apart = IntTensor { shape: apart, ..ints.clone() };
            return Ok(Value::Ints(IntTensor { shape: output, ..apart.sliced(view, &vec![0; wide.len()], &steps, wide)? }));
        }
        let x = self.data(view, 0)?;
        let x = self.emit_part(view, &format!("{stem}.apart"), Op::Alias, vec![x], apart)?;
        let op = Op::Slice { starts: vec![0; wide.len()], steps };
        let x = self.emit_part(view, &format!("{stem}.repeated"), op, vec![x], wide)?;
        self.emit(view, Op::Alias, vec![x], output)
    }

    /// So many places of a tensor along a dimension, from one on.
    pub(super) fn cut(
        &mut self,
        view: NodeView<'_>,
        name: &str,
        x: TensorId,
        (at, from, extent): (usize, i64, i64),
    ) -> Result<TensorId, GraphError> {
        let mut shape = self.shape(x).to_vec();
        let (mut starts, steps) = (vec![0; shape.len()], vec![1; shape.len()]);
        (starts[at], shape[at]) = (from, extent);
        self.emit_part(view, name, Op::Slice { starts, steps }, vec![x], shape)
    }

    /// A place of the last dimension, which goes.
    pub(super) fn column(&mut self, view: NodeView<'_>, name: &str, x: TensorId, at: i64) -> Result<TensorId, GraphError> {
        let shape = self.shape(x).to_vec();
        let Some((_, before)) = shape.split_last() else { return Err(view.bad("a tensor without a dimension")) };
        let column = self.cut(view, &format!("{name}.column"), x, (before.len(), at, 1))?;
        self.emit_part(view, name, Op::Alias, vec![column], before.to_vec())
    }

    /// Makes one of the outputs of a node that has several known by its name.
    pub(super) fn hand_out(&mut self, name: &str, value: Value) {
        self.ignored.remove(name);
        self.values.insert(name.to_owned(), value);
    }

    /// What pads below zero leave, and the others.
    pub(super) fn cropped(&mut self, view: NodeView<'_>, x: TensorId, pads: Vec<i64>) -> Result<(TensorId, Vec<i64>), GraphError> {
        if pads.iter().all(|pad| *pad >= 0) {
            return Ok((x, pads));
        }
        let (rank, stem) = (self.shape(x).len(), &view.proto.output[0]);
        let starts: Vec<i64> = pads[..rank].iter().map(|before| -before.min(&0)).collect();
        let left = |d: usize| self.shape(x)[d] - starts[d] + pads[rank + d].min(0);
        let left: Vec<i64> = (0..rank).map(left).collect();
        checked_length(view, &left, 1, i64::from(i32::MAX))?;
        let op = Op::Slice { starts, steps: vec![1; rank] };
        let x = self.emit_part(view, &format!("{stem}.cropped"), op, vec![x], left)?;
        Ok((x, pads.into_iter().map(|pad| pad.max(0)).collect()))
    }

    /// Padding with a number, dimension by dimension.
    pub(super) fn surrounded(&mut self, view: NodeView<'_>, x: TensorId, pads: &[i64], value: f64) -> Result<Value, GraphError> {
        let (mut x, stem) = (x, view.proto.output[0].clone());
        let rank = self.shape(x).len();
        for d in 0..rank {
            let shape = self.shape(x).to_vec();
            let (before, after) = (pads[d], pads[rank + d]);
            if (before, after) == (0, 0) {
                continue;
            }
            let end = |own: &mut Self, name: &str, count: i64| -> Result<Option<TensorId>, GraphError> {
                if count == 0 {
                    return Ok(None);
                }
                let mut part = shape.clone();
                part[d] = count;
                let length = checked_length(view, &part, 1, super::MAX_FOLDED)?;
                own.hold(&stem, length as u64)?;
                let name = format!("{stem}.{name}{d}");
                Ok(Some(own.graph.add_constant(name, part, Origin::Constant, vec![value; length])))
            };
            let (front, back) = (end(self, "before", before)?, end(self, "after", after)?);
            let parts: Vec<TensorId> = front.into_iter().chain([x]).chain(back).collect();
            let mut whole = shape.clone();
            whole[d] =
                shape[d].checked_add(before).and_then(|sum| sum.checked_add(after)).ok_or_else(|| view.bad("padding beyond 64 bits"))?;
            x = self.emit_part(view, &format!("{stem}.along{d}"), Op::Concat { axis: d }, parts, whole)?;
        }
        let shape = self.shape(x).to_vec();
        self.emit(view, Op::Alias, vec![x], shape)
    }

    /// Pads of the dimensions that `axes` names, as pads of all.
    pub(super) fn all_pads(&self, view: NodeView<'_>, pads: Vec<i64>, rank: usize) -> Result<Vec<i64>, GraphError> {
        let Some(list) = self.ints(view, 3)?.map(|own| own.values.clone()) else { return Ok(pads) };
        axes(view, &list, rank)?;
        if pads.len() != 2 * list.len() {
            return Err(view.bad(format!("pads {pads:?} of axes {list:?}")));
        }
        let mut all = vec![0; 2 * rank];
        for (at, &own) in list.iter().enumerate() {
            let d = axis(view, own, rank)?;
            (all[d], all[rank + d]) = (pads[at], pads[list.len() + at]);
        }
        Ok(all)
    }
}
