//! Comparisons, logic, and elements that are chosen, found, repeated or parted; on floats, on whole numbers that are computed, and on known ones.

use super::{Importer, IntTensor, Value, axis, broadcast, checked_length};
use crate::error::GraphError;
use crate::graph::op::{Arithmetic, Function, Op};
use crate::graph::{Origin, TensorId};
use crate::onnx::attributes::NodeView;
use crate::onnx::literal::is_int;
use crate::onnx::proto::tensor_proto::DataType;
use warpsight_generate::operators::{Coordinates, EXACT, Interpolation, Nearest, ScatterKind};

/// Outputs of a node that parts a tensor.
const MAX_PARTS: usize = 4096;

/// Updates that all places together are asked for, at most.
const MOST_ASKED: i64 = 1 << 40;

/// What becomes of elements that others are put to.
fn scattered(view: NodeView<'_>) -> Result<ScatterKind, GraphError> {
    let reduction = view.string("reduction")?.unwrap_or_else(|| "none".into());
    let known = [
        ("none", ScatterKind::Last),
        ("add", ScatterKind::Add),
        ("mul", ScatterKind::Mul),
        ("max", ScatterKind::Max),
        ("min", ScatterKind::Min),
    ];
    let own = known.iter().find(|own| own.0 == reduction);
    own.map(|own| own.1).ok_or_else(|| view.unsupported(format!("reduction `{reduction}`")))
}

impl Importer {
    /// Input `position` as a tensor: known whole numbers as the floats that they are.
    pub(super) fn number(&mut self, view: NodeView<'_>, position: usize) -> Result<TensorId, GraphError> {
        let Value::Ints(ints) = self.value(view, position)?.clone() else { return self.data(view, position) };
        if ints.values.is_empty() {
            return Err(view.bad(format!("input {position} is empty")));
        }
        if let Some(large) = ints.values.iter().find(|v| v.unsigned_abs() > EXACT.unsigned_abs()) {
            return Err(view.unsupported(format!("the whole number {large} beside computed ones (at most {EXACT})")));
        }
        let name = format!("{}.{}", view.proto.output[0], view.proto.input[position]);
        self.hold(&name, ints.values.len() as u64)?;
        let values: Vec<f64> = ints.values.iter().map(|&v| v as f64).collect();
        let id = self.graph.add_constant(name, ints.shape, Origin::Constant, values);
        self.declare(&Value::Tensor(id), ints.kind);
        Ok(id)
    }

    /// Whether an input holds whole numbers.
    pub(super) fn is_whole(&self, view: NodeView<'_>, position: usize) -> Result<bool, GraphError> {
        Ok(match self.value(view, position)? {
            Value::Ints(_) => true,
            Value::Tensor(id) => is_int(self.kind(*id)) == Some(true),
        })
    }

    /// A comparison or logic: `swapped` has its operands the other way round.
    pub(super) fn truth(&mut self, view: NodeView<'_>, op: Arithmetic, swapped: bool) -> Result<Value, GraphError> {
        let (first, second) = if swapped { (1, 0) } else { (0, 1) };
        if let (Value::Ints(a), Value::Ints(b)) = (self.value(view, first)?, self.value(view, second)?) {
            let made = self.integers(view, op, a, b)?;
            return Ok(Value::Ints(IntTensor { kind: DataType::Bool, ..made }));
        }
        if self.is_whole(view, 0)? != self.is_whole(view, 1)? {
            return Err(view.bad("one of its inputs holds whole numbers, the other does not"));
        }
        let inputs = vec![self.number(view, first)?, self.number(view, second)?];
        let shape = broadcast(view, self.shape(inputs[0]), self.shape(inputs[1]))?;
        let value = self.emit(view, Op::Binary(op), inputs, shape)?;
        self.declare(&value, DataType::Bool);
        Ok(value)
    }

    pub(super) fn not(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        if let Value::Ints(ints) = self.value(view, 0)?.clone() {
            return Ok(Value::Ints(IntTensor { values: ints.values.iter().map(|&v| (v == 0).into()).collect(), ..ints }));
        }
        let value = self.function(view, Function::Not)?;
        self.declare(&value, DataType::Bool);
        Ok(value)
    }

    /// 1 where one of two is not 0 and the other is.
    pub(super) fn either(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        for position in 0..2 {
            let kind = match self.value(view, position)? {
                Value::Ints(own) => own.kind,
                Value::Tensor(id) => self.kind(*id),
            };
            if kind != DataType::Bool {
                return Err(view.bad(format!("input {position} is not of type BOOL")));
            }
        }
        if let (Value::Ints(a), Value::Ints(b)) = (self.value(view, 0)?, self.value(view, 1)?) {
            let made = self.zipped(view, "Xor", a, b, |x, y| Some(i64::from((x == 0) != (y == 0))))?;
            return Ok(Value::Ints(IntTensor { kind: DataType::Bool, ..made }));
        }
        let (a, b, stem) = (self.number(view, 0)?, self.number(view, 1)?, view.proto.output[0].clone());
        let a = self.mapped(view, &format!("{stem}.not_a"), Function::Not, a)?;
        let b = self.mapped(view, &format!("{stem}.not_b"), Function::Not, b)?;
        let same = self.pair(view, &format!("{stem}.same"), Arithmetic::Equal, [a, b])?;
        let value = Value::Tensor(self.mapped(view, &stem, Function::Not, same)?);
        self.declare(&value, DataType::Bool);
        Ok(value)
    }

    pub(super) fn choose(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        if let (Value::Ints(c), Value::Ints(a), Value::Ints(b)) = (self.value(view, 0)?, self.value(view, 1)?, self.value(view, 2)?) {
            let shape = broadcast(view, &broadcast(view, &c.shape, &a.shape)?, &b.shape)?;
            self.may_spread(view, 4, &shape)?;
            let [c, a, b] = [c.spread(view, &shape)?, a.spread(view, &shape)?, b.spread(view, &shape)?];
            let chosen = c.values.iter().zip(a.values.iter().zip(&b.values)).map(|(c, (a, b))| if *c != 0 { *a } else { *b });
            return Ok(Value::Ints(IntTensor { shape, values: chosen.collect(), kind: a.kind }));
        }
        if self.is_whole(view, 1)? != self.is_whole(view, 2)? {
            return Err(view.bad("one of its values is whole, the other is not"));
        }
        let inputs = (0..3).map(|i| self.number(view, i)).collect::<Result<Vec<_>, _>>()?;
        let shape = broadcast(view, &broadcast(view, self.shape(inputs[0]), self.shape(inputs[1]))?, self.shape(inputs[2]))?;
        let kind = self.kind(inputs[1]);
        let value = self.emit(view, Op::Select, inputs, shape)?;
        self.declare(&value, kind);
        Ok(value)
    }

    /// Positions that are computed, or too many to be slices.
    pub(super) fn gather_computed(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        self.whole_positions(view)?;
        let inputs = vec![self.number(view, 0)?, self.number(view, 1)?];
        let (x, index) = (self.shape(inputs[0]), self.shape(inputs[1]));
        let at = axis(view, view.int("axis", 0)?, x.len())?;
        let shape = [&x[..at], index, &x[at + 1..]].concat();
        self.fitting(view, Op::Gather { axis: at }, inputs, shape)
    }

    pub(super) fn gather_elements(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        self.whole_positions(view)?;
        let inputs = vec![self.number(view, 0)?, self.number(view, 1)?];
        let at = axis(view, view.int("axis", 0)?, self.shape(inputs[0]).len())?;
        let shape = self.shape(inputs[1]).to_vec();
        self.fitting(view, Op::GatherElements { axis: at }, inputs, shape)
    }

    /// Of several elements for one place the last one stays, where ONNX says nothing.
    pub(super) fn scatter_elements(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let kind = scattered(view)?;
        self.whole_positions(view)?;
        let [shape, index, updates] = self.put(view)?;
        let at = axis(view, view.int("axis", 0)?, shape.len())?;
        if index != updates || index.len() != shape.len() {
            return Err(view.bad(format!("positions of shape {index:?} and updates of shape {updates:?} for data of shape {shape:?}")));
        }
        if index.contains(&0) {
            return self.untouched(view, shape);
        }
        let inputs = (0..3).map(|i| self.number(view, i)).collect::<Result<Vec<_>, _>>()?;
        self.scatter(view, (at, kind), inputs, shape)
    }

    /// Shapes of data, of positions and of what is put there.
    fn put(&self, view: NodeView<'_>) -> Result<[Vec<i64>; 3], GraphError> {
        Ok([self.shape_of_value(view, 0)?, self.shape_of_value(view, 1)?, self.shape_of_value(view, 2)?])
    }

    /// Data to which nothing is put.
    fn untouched(&mut self, view: NodeView<'_>, shape: Vec<i64>) -> Result<Value, GraphError> {
        let data = self.number(view, 0)?;
        self.fitting(view, Op::Alias, vec![data], shape)
    }

    /// Inputs as of [`Op::Scatter`], which asks every update of every place; where the last of rows stays, of every row.
    fn scatter(
        &mut self,
        view: NodeView<'_>,
        (axis, kind): (usize, ScatterKind),
        inputs: Vec<TensorId>,
        shape: Vec<i64>,
    ) -> Result<Value, GraphError> {
        let (positions, updates) = (inputs.len() - 2, self.shape(inputs[inputs.len() - 1]));
        let rows = kind == ScatterKind::Last && (positions > 1 || self.shape(inputs[1]) != updates);
        let places = if rows { &shape[axis..axis + positions] } else { &shape[..] };
        let asked = places.iter().fold(updates[axis], |all, extent| all.saturating_mul(*extent));
        if asked > MOST_ASKED {
            return Err(view.unsupported(format!("{asked} places times updates (at most {MOST_ASKED})")));
        }
        self.fitting(view, Op::Scatter { axis, kind }, inputs, shape)
    }

    /// Positions along the first dimensions, side by side in the last dimension of a tensor, each as a tensor of its own; and their shape.
    fn coordinates(&mut self, view: NodeView<'_>) -> Result<(Vec<TensorId>, Vec<i64>), GraphError> {
        self.whole_positions(view)?;
        let index = self.number(view, 1)?;
        let shape = self.shape(index).to_vec();
        let Some((&count, before)) = shape.split_last() else { return Err(view.bad("positions without a dimension")) };
        let data = self.number(view, 0)?;
        let rank = self.shape(data).len() as i64;
        if count < 1 || count > rank {
            return Err(view.bad(format!("positions along {count} of {rank} dimensions")));
        }
        let mut found = vec![];
        for at in 0..count {
            let stem = format!("{}.{}.{at}", view.proto.output[0], view.proto.input[1]);
            found.push(self.column(view, &stem, index, at)?);
        }
        Ok((found, before.to_vec()))
    }

    pub(super) fn gather_points(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        if view.int("batch_dims", 0)? != 0 {
            return Err(view.unsupported("batch_dims"));
        }
        let data = self.number(view, 0)?;
        let (positions, before) = self.coordinates(view)?;
        let shape = [&before, &self.shape(data)[positions.len()..]].concat();
        self.fitting(view, Op::Gather { axis: 0 }, [vec![data], positions].concat(), shape)
    }

    /// As of elements.
    pub(super) fn scatter_points(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let kind = scattered(view)?;
        let [shape, index, put] = self.put(view)?;
        if let Some((&count, before)) = index.split_last()
            && before.contains(&0)
            && (1..=shape.len() as i64).contains(&count)
            && put == [before, &shape[count as usize..]].concat()
        {
            self.whole_positions(view)?;
            return self.untouched(view, shape);
        }
        let (data, updates) = (self.number(view, 0)?, self.number(view, 2)?);
        let (positions, before) = self.coordinates(view)?;
        let count = positions.len();
        let stem = view.proto.output[0].clone();
        let all = vec![before.iter().product::<i64>()];
        let mut inputs = vec![data];
        for (at, own) in positions.into_iter().enumerate() {
            inputs.push(self.emit_part(view, &format!("{stem}.at{at}"), Op::Alias, vec![own], all.clone())?);
        }
        let merged = [&all[..], &shape[count..]].concat();
        if self.shape(updates) != [&before[..], &shape[count..]].concat() {
            return Err(view.bad(format!("updates of shape {:?}", self.shape(updates))));
        }
        inputs.push(self.emit_part(view, &format!("{stem}.updates"), Op::Alias, vec![updates], merged)?);
        self.scatter(view, (0, kind), inputs, shape)
    }

    fn whole_positions(&self, view: NodeView<'_>) -> Result<(), GraphError> {
        if self.is_whole(view, 1)? {
            return Ok(());
        }
        let (tensor, found) = (view.proto.input[1].clone(), "a floating-point type".into());
        Err(GraphError::WrongType { tensor, found, expected: "int64" })
    }

    /// A node of an operator that says itself whether shapes go together; of the type of its first input.
    pub(super) fn fitting(&mut self, view: NodeView<'_>, op: Op, inputs: Vec<TensorId>, shape: Vec<i64>) -> Result<Value, GraphError> {
        let shapes: Vec<&[i64]> = inputs.iter().map(|id| self.shape(*id)).collect();
        op.fits(&shapes, &[&shape]).map_err(|what| view.bad(what))?;
        let kind = self.kind(inputs[0]);
        let value = self.emit(view, op, inputs, shape)?;
        self.declare(&value, kind);
        Ok(value)
    }

    /// Each dimension of extent 1 as often as asked for.
    pub(super) fn expand(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let wanted = self.ints(view, 1)?.ok_or_else(|| view.bad("input 1 is missing"))?.values.clone();
        let own = match self.value(view, 0)?.clone() {
            Value::Tensor(id) => self.shape(id).to_vec(),
            Value::Ints(ints) => ints.shape,
        };
        let shape = broadcast(view, &own, &wanted)?;
        checked_length(view, &shape, 1, i64::from(i32::MAX))?;
        if let Value::Ints(ints) = self.value(view, 0)?.clone() {
            self.may_spread(view, 1, &shape)?;
            return Ok(Value::Ints(ints.spread(view, &shape)?.into_owned()));
        }
        let x = self.data(view, 0)?;
        if own == shape {
            return self.emit(view, Op::Alias, vec![x], shape);
        }
        let whole: Vec<i64> = vec![1; shape.len() - own.len()].into_iter().chain(own).collect();
        let steps = whole.iter().zip(&shape).map(|(own, wanted)| i64::from(own == wanted)).collect();
        let aligned = self.emit_part(view, &format!("{}.aligned", view.proto.output[0]), Op::Alias, vec![x], whole)?;
        self.emit(view, Op::Slice { starts: vec![0; shape.len()], steps }, vec![aligned], shape)
    }

    /// A slice for each part.
    pub(super) fn split(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let x = self.number(view, 0)?;
        let shape = self.shape(x).to_vec();
        let at = axis(view, view.int("axis", 0)?, shape.len())?;
        let count = view.proto.output.len();
        let parts = match self.ints_or_attribute(view, 1, "split")? {
            Some(list) => list,
            None => {
                // The last one is smaller where they are not alike.
                let each = (shape[at] + count as i64 - 1) / count as i64;
                (0..count as i64).map(|n| each.min(shape[at] - n * each)).collect()
            }
        };
        let sum = parts.iter().try_fold(0_i64, |sum, part| if *part < 1 { None } else { sum.checked_add(*part) });
        if parts.len() != count || sum != Some(shape[at]) || count > MAX_PARTS {
            return Err(view.bad(format!("{count} parts {parts:?} of {}", shape[at])));
        }
        let kind = self.kind(x);
        let (mut from, mut first) = (0, None);
        for (name, part) in view.proto.output.iter().zip(parts) {
            if !name.is_empty() {
                let value = Value::Tensor(self.cut(view, name, x, (at, from, part))?);
                self.declare(&value, kind);
                self.hand_out(name, value.clone());
                first = first.or(Some(value));
            }
            from += part;
        }
        first.ok_or_else(|| view.bad("it has no output"))
    }

    /// Inputs: data, a region that nobody reads here, scales, sizes; of `Upsample` data and scales.
    pub(super) fn resize(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let x = self.data(view, 0)?;
        let shape = self.shape(x).to_vec();
        // Resize began as Upsample did.
        let old = view.proto.op_type == "Upsample" || view.opset < 11;
        for (name, usual) in [("antialias", 0), ("exclude_outside", 0)] {
            if view.int(name, usual)? != usual {
                return Err(view.unsupported(name));
            }
        }
        let policy = view.string("keep_aspect_ratio_policy")?.unwrap_or_else(|| "stretch".into());
        if view.ints("axes")?.is_some() || policy != "stretch" {
            return Err(view.unsupported("axes or keep_aspect_ratio_policy"));
        }
        let word = |name: &str, usual: &str| -> Result<String, GraphError> { Ok(view.string(name)?.unwrap_or_else(|| usual.into())) };
        let nearest = match word("nearest_mode", if old { "floor" } else { "round_prefer_floor" })?.as_str() {
            "round_prefer_floor" => Nearest::RoundPreferFloor,
            "round_prefer_ceil" => Nearest::RoundPreferCeil,
            "floor" => Nearest::Floor,
            "ceil" => Nearest::Ceil,
            other => return Err(view.unsupported(format!("nearest_mode `{other}`"))),
        };
        let interpolation = match word("mode", "nearest")?.as_str() {
            "nearest" => Interpolation::Nearest(nearest),
            "linear" => Interpolation::Linear,
            "cubic" if view.float("cubic_coeff_a", -0.75)? == -0.75 => Interpolation::Cubic,
            other => return Err(view.unsupported(format!("mode `{other}`"))),
        };
        let coordinates = match word("coordinate_transformation_mode", if old { "asymmetric" } else { "half_pixel" })?.as_str() {
            "half_pixel" => Coordinates::HalfPixel,
            "pytorch_half_pixel" => Coordinates::PytorchHalfPixel,
            "align_corners" => Coordinates::AlignCorners,
            "asymmetric" => Coordinates::Asymmetric,
            other => return Err(view.unsupported(format!("coordinate_transformation_mode `{other}`"))),
        };
        let given = match self.optional(view, if old { 1 } else { 2 })? {
            Some(Value::Tensor(id)) if !self.graph.tensor(*id).is_empty() => {
                let scales = self.graph.tensor(*id).constant.as_deref();
                let open = || self.open(view, if old { 1 } else { 2 }, *id).unwrap_or_else(|| view.unsupported("computed scales"));
                Some(scales.ok_or_else(open)?.to_vec())
            }
            _ => view.floats("scales")?.map(|list| list.iter().map(|&scale| f64::from(scale)).collect()),
        };
        let sizes = if old { None } else { self.ints(view, 3)?.map(|own| own.values.clone()).filter(|own| !own.is_empty()) };
        let (output, scales) = match (given, sizes) {
            (Some(scales), None) => {
                if scales.len() != shape.len() || scales.iter().any(|scale| !(scale.is_finite() && *scale > 0.0)) {
                    return Err(view.bad(format!("scales {scales:?} of {shape:?}")));
                }
                let extent = |(extent, scale): (&i64, &f64)| (*extent as f64 * scale).floor() as i64;
                (shape.iter().zip(&scales).map(extent).collect::<Vec<_>>(), scales)
            }
            (None, Some(sizes)) if sizes.len() == shape.len() => {
                let scales = sizes.iter().zip(&shape).map(|(size, extent)| *size as f64 / *extent as f64).collect();
                (sizes, scales)
            }
            (given, sizes) => return Err(view.bad(format!("scales {given:?} and sizes {sizes:?} of {shape:?}"))),
        };
        checked_length(view, &output, 1, i64::from(i32::MAX))?;
        self.fitting(view, Op::Resize { interpolation, coordinates, scales }, vec![x], output)
    }

    /// The exact one, or its approximation by a hyperbolic tangent.
    pub(super) fn gelu(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        match view.string("approximate")?.as_deref() {
            None | Some("none") => self.function(view, Function::Gelu),
            Some("tanh") => self.function(view, Function::GeluTanh),
            Some(other) => Err(view.unsupported(format!("approximate `{other}`"))),
        }
    }

    /// Of known numbers.
    pub(super) fn range(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let mut one = [0_i64; 3];
        let mut kind = DataType::Int64;
        for (position, own) in one.iter_mut().enumerate() {
            let ints = self.ints(view, position)?.ok_or_else(|| view.bad(format!("input {position} is missing")))?;
            let [value] = ints.values[..] else { return Err(view.bad(format!("input {position} is not one number"))) };
            (*own, kind) = (value, ints.kind);
        }
        let [start, limit, delta] = one.map(i128::from);
        if delta == 0 {
            return Err(view.bad("its step is 0"));
        }
        let count = ((limit - start + delta - delta.signum()) / delta).max(0);
        let count = i64::try_from(count).ok().filter(|count| *count <= super::MAX_FOLDED);
        let count = count.ok_or_else(|| view.unsupported(format!("more than {} numbers", super::MAX_FOLDED)))?;
        self.may_hold(&view.proto.output[0], count as u64)?;
        let values = (0..count).map(|n| (start + i128::from(n) * delta) as i64).collect();
        Ok(Value::Ints(IntTensor { shape: vec![count], values, kind }))
    }
}
