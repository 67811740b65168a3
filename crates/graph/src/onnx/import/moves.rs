//! Operators that move or reinterpret elements, on floats and on known whole numbers.

use super::known::joined;
use super::{Importer, IntTensor, MAX_FOLDED, MAX_RANK, Value, axes, axis, checked_length, within_rank};
use crate::error::GraphError;
use crate::graph::op::Op;
use crate::graph::{Origin, TensorId};
use crate::onnx::attributes::NodeView;
use crate::onnx::literal::{Literal, Numbers, elements};
use crate::onnx::proto::tensor_proto::DataType;
use warpsight_generate::operators::Beyond;

/// Slices that a gathering becomes, at most: beyond these its positions are a tensor.
const MAX_PARTS: usize = 16;

impl Importer {
    pub(super) fn size_of(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let count = self.shape_of_value(view, 0)?.iter().product();
        Ok(Value::Ints(IntTensor { shape: vec![], values: vec![count], kind: DataType::Int64 }))
    }

    /// Inference: the identity. A mode that is computed, or true, is training.
    pub(super) fn dropout(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        if self.ints(view, 2)?.is_some_and(|m| m.values != [0]) {
            return Err(view.unsupported("training_mode"));
        }
        self.reshaped(view, |s| Ok(s.to_vec()))
    }

    pub(super) fn flatten(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let at = view.int("axis", 1)?;
        self.reshaped(view, |s| {
            let at = if at == s.len() as i64 { s.len() } else { axis(view, at, s.len())? };
            Ok(vec![s[..at].iter().product(), s[at..].iter().product()])
        })
    }

    pub(super) fn squeeze(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let list = self.ints_or_attribute(view, 1, "axes")?;
        self.reshaped(view, |s| squeezed(view, s, list.as_deref()))
    }

    pub(super) fn unsqueeze(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let list = self.ints_or_attribute(view, 1, "axes")?.ok_or_else(|| view.bad("no axes"))?;
        self.reshaped(view, |s| unsqueezed(view, s, &list))
    }

    pub(super) fn shape_of_value(&self, view: NodeView<'_>, position: usize) -> Result<Vec<i64>, GraphError> {
        Ok(match self.value(view, position)? {
            Value::Tensor(id) => self.shape(*id).to_vec(),
            Value::Ints(ints) => ints.shape.clone(),
        })
    }

    pub(super) fn constant_node(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let name = &view.proto.output[0];
        let floats = |shape, values| Literal { shape, kind: DataType::Float, values: Numbers::Floats(values) };
        let ints = |shape, values| Literal { shape, kind: DataType::Int64, values: Numbers::Ints(values) };
        let literal = if let Some(tensor) = view.tensor("value")? {
            self.hold(name, elements(tensor))?;
            Literal::read(tensor, name)?
        } else if view.has("value_float") {
            floats(vec![], vec![view.float("value_float", 0.0)?])
        } else if view.has("value_int") {
            ints(vec![], vec![view.int("value_int", 0)?])
        } else if let Some(list) = view.ints("value_ints")? {
            ints(vec![list.len() as i64], list.to_vec())
        } else if let Some(list) = view.floats("value_floats")? {
            floats(vec![list.len() as i64], list.iter().map(|&v| v.into()).collect())
        } else {
            return Err(view.unsupported("a value that is neither a tensor nor a number"));
        };
        Ok(self.literal(literal, name, Origin::Constant))
    }

    pub(super) fn constant_of_shape(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let shape = self.ints(view, 0)?.ok_or_else(|| view.bad("input 0 is missing"))?.values.clone();
        let length = checked_length(view, &shape, 0, MAX_FOLDED)?;
        let name = view.proto.output[0].clone();
        let zero = Literal { shape: vec![1], kind: DataType::Float, values: Numbers::Floats(vec![0.0]) };
        let value = view.tensor("value")?.map_or(Ok(zero), |t| Literal::read(t, &name))?;
        self.hold(&name, length as u64)?;
        let values = match value.values {
            Numbers::Floats(v) if v.len() == 1 => Numbers::Floats(vec![v[0]; length]),
            Numbers::Ints(v) if v.len() == 1 => Numbers::Ints(vec![v[0]; length]),
            _ => return Err(view.bad("its value is not one number")),
        };
        Ok(self.literal(Literal { shape, kind: value.kind, values }, &name, Origin::Constant))
    }

    pub(super) fn shape_of(&self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let shape = self.shape_of_value(view, 0)?;
        let rank = shape.len() as i64;
        let clamp = |at: i64| (if at < 0 { at + rank } else { at }).clamp(0, rank) as usize;
        let (start, end) = (clamp(view.int("start", 0)?), clamp(view.int("end", rank)?));
        let values = shape.get(start..end).unwrap_or_default().to_vec();
        Ok(Value::Ints(IntTensor { shape: vec![values.len() as i64], values, kind: DataType::Int64 }))
    }

    /// The first input's elements under another shape.
    pub(super) fn reshaped(
        &mut self,
        view: NodeView<'_>,
        shape: impl FnOnce(&[i64]) -> Result<Vec<i64>, GraphError>,
    ) -> Result<Value, GraphError> {
        match self.value(view, 0)?.clone() {
            Value::Ints(ints) => Ok(Value::Ints(IntTensor { shape: within_rank(view, shape(&ints.shape)?)?, ..ints })),
            Value::Tensor(id) => {
                let shape = shape(self.shape(id))?;
                self.emit(view, Op::Alias, vec![id], shape)
            }
        }
    }

    /// 0 keeps the input's extent (unless `allowzero`), −1 takes what is left.
    pub(super) fn reshape(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let target = self.ints(view, 1)?.ok_or_else(|| view.bad("input 1 is missing"))?.values.clone();
        let keep_zero = view.int("allowzero", 0)? == 0;
        self.reshaped(view, |shape| {
            let fail = || view.bad(format!("shape {shape:?} cannot become {target:?}"));
            let mut output = target.clone();
            for (d, extent) in output.iter_mut().enumerate() {
                if *extent == 0 && keep_zero {
                    *extent = *shape.get(d).ok_or_else(fail)?;
                }
            }
            let length: i64 = shape.iter().product();
            let open: Vec<usize> = (0..output.len()).filter(|&d| output[d] == -1).collect();
            let known = output.iter().filter(|&&e| e != -1).try_fold(1i64, |n, &e| n.checked_mul(e)).ok_or_else(fail)?;
            match open.as_slice() {
                [] => {}
                [d] if known > 0 && length % known == 0 => output[*d] = length / known,
                _ => return Err(fail()),
            }
            if output.iter().any(|&e| e < 0) || output.iter().product::<i64>() != length {
                return Err(fail());
            }
            Ok(output)
        })
    }

    pub(super) fn transpose(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let shape = self.shape_of_value(view, 0)?;
        let permutation = match view.ints("perm")? {
            None => (0..shape.len()).rev().collect(),
            Some(list) => {
                axes(view, list, shape.len())?;
                if list.len() != shape.len() {
                    return Err(view.bad(format!("perm {list:?} for {} dimensions", shape.len())));
                }
                list.iter().map(|&p| axis(view, p, shape.len())).collect::<Result<Vec<_>, _>>()?
            }
        };
        if let Value::Ints(ints) = self.value(view, 0)? {
            return ints.transposed(view, &permutation).map(Value::Ints);
        }
        let x = self.data(view, 0)?;
        let output = permutation.iter().map(|&p| shape[p]).collect();
        self.emit(view, Op::Transpose { permutation }, vec![x], output)
    }

    /// Starts, ends, axes and steps are attributes before opset 10, inputs since.
    pub(super) fn slice(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let shape = self.shape_of_value(view, 0)?;
        let list = |position, name| self.ints_or_attribute(view, position, name);
        let given = list(1, "starts")?.ok_or_else(|| view.bad("no starts"))?;
        let ends = list(2, "ends")?.ok_or_else(|| view.bad("no ends"))?;
        let at = list(3, "axes")?.unwrap_or_else(|| (0..given.len() as i64).collect());
        let by = list(4, "steps")?.unwrap_or_else(|| vec![1; given.len()]);
        if [ends.len(), at.len(), by.len()] != [given.len(); 3] || by.iter().any(|&s| s == 0 || s == i64::MIN) {
            return Err(view.bad(format!("starts {given:?}, ends {ends:?}, axes {at:?}, steps {by:?}")));
        }
        axes(view, &at, shape.len())?;
        let (mut starts, mut steps, mut extents) = (vec![0; shape.len()], vec![1; shape.len()], shape.clone());
        for i in 0..given.len() {
            let d = axis(view, at[i], shape.len())?;
            let extent = shape[d];
            if extent == 0 {
                continue;
            }
            let from_end = |v: i64| if v < 0 { v.saturating_add(extent) } else { v };
            let (start, end) = if by[i] > 0 {
                (from_end(given[i]).clamp(0, extent), from_end(ends[i]).clamp(0, extent))
            } else {
                (from_end(given[i]).clamp(0, extent - 1), from_end(ends[i]).clamp(-1, extent - 1))
            };
            let (reach, step) = if by[i] > 0 { (end - start, by[i]) } else { (start - end, -by[i]) };
            (starts[d], steps[d]) = (start, by[i]);
            extents[d] = if reach <= 0 { 0 } else { (reach - 1) / step + 1 };
        }
        match self.value(view, 0)?.clone() {
            Value::Tensor(x) => self.emit(view, Op::Slice { starts, steps }, vec![x], extents),
            Value::Ints(ints) => {
                self.may_spread(view, 1, &extents)?;
                ints.sliced(view, &starts, &steps, extents).map(Value::Ints)
            }
        }
    }

    /// With known indices: a slice for each, joined.
    pub(super) fn gather(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let shape = self.shape_of_value(view, 0)?;
        let at = axis(view, view.int("axis", 0)?, shape.len())?;
        let Value::Ints(indices) = self.value(view, 1)?.clone() else { return self.gather_computed(view) };
        let position = |&i: &i64| {
            let wrapped = if i < 0 { i + shape[at] } else { i };
            if (0..shape[at]).contains(&wrapped) { Ok(wrapped) } else { Err(view.bad(format!("index {i} into extent {}", shape[at]))) }
        };
        let positions = indices.values.iter().map(position).collect::<Result<Vec<_>, _>>()?;
        let output: Vec<i64> = shape[..at].iter().chain(&indices.shape).chain(&shape[at + 1..]).copied().collect();
        let x = match self.value(view, 0)?.clone() {
            Value::Tensor(x) => x,
            Value::Ints(ints) => {
                self.may_spread(view, 1, &output)?;
                return ints.gathered(view, at, &positions, output).map(Value::Ints);
            }
        };
        if runs(&positions) > MAX_PARTS {
            return self.gather_computed(view);
        }
        let name = view.proto.output[0].clone();
        let mut parts: Vec<TensorId> = Vec::new();
        let mut from = 0;
        while from < positions.len() {
            let run = run_length(&positions[from..]);
            let (mut starts, mut steps, mut part) = (vec![0; shape.len()], vec![1; shape.len()], shape.clone());
            starts[at] = positions[from];
            steps[at] = if run > 1 { positions[from + 1] - positions[from] } else { 1 };
            part[at] = run as i64;
            parts.push(self.emit_part(view, &format!("{name}.from{from}"), Op::Slice { starts, steps }, vec![x], part)?);
            from += run;
        }
        let joined = match parts.as_slice() {
            [] => return Err(view.bad("no indices")),
            [one] => *one,
            _ => {
                let mut whole = shape.clone();
                whole[at] = positions.len() as i64;
                self.emit_part(view, &format!("{name}.joined"), Op::Concat { axis: at }, parts, whole)?
            }
        };
        self.emit(view, Op::Alias, vec![joined], output)
    }

    pub(super) fn concat(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let count = view.proto.input.len();
        let first = self.shape_of_value(view, 0)?;
        let at = axis(view, view.int("axis", 0)?, first.len())?;
        let mut shape = first.clone();
        shape[at] = 0;
        for i in 0..count {
            let part = self.shape_of_value(view, i)?;
            let alike = part.len() == shape.len() && (0..shape.len()).all(|d| d == at || part[d] == shape[d]);
            if !alike {
                return Err(view.bad(format!("shapes {first:?} and {part:?} along axis {at}")));
            }
            shape[at] += part[at];
        }
        if let Value::Ints(_) = self.value(view, 0)? {
            // Twice itself, again and again, is soon more than there is.
            self.may_spread(view, 1, &shape)?;
            let part = |i: usize| self.ints(view, i)?.cloned().ok_or_else(|| view.bad(format!("input {i} is missing")));
            return Ok(joined(&(0..count).map(part).collect::<Result<Vec<_>, _>>()?, at, shape));
        }
        let inputs = (0..count).map(|i| self.data(view, i)).collect::<Result<Vec<_>, _>>()?;
        self.emit(view, Op::Concat { axis: at }, inputs, shape)
    }

    /// Padding; attributes before opset 11, inputs since.
    pub(super) fn pad(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let x = self.data(view, 0)?;
        let shape = self.shape(x).to_vec();
        let mode = view.string("mode")?.unwrap_or_else(|| "constant".into());
        let value = match self.constant_scalar(view, 2)? {
            Some(value) => value,
            None => view.float("value", 0.0)?,
        };
        let pads = self.ints_or_attribute(view, 1, "pads")?.ok_or_else(|| view.bad("no pads"))?;
        let pads = self.all_pads(view, pads, shape.len())?;
        if pads.len() != 2 * shape.len() || pads.iter().any(|p| p.unsigned_abs() > i32::MAX as u64) {
            return Err(view.bad(format!("pads {pads:?} for {} dimensions", shape.len())));
        }
        let beyond = match mode.as_str() {
            "constant" => Beyond::Zeros,
            "reflect" => Beyond::Mirrored,
            "edge" => Beyond::Last,
            "wrap" => Beyond::Around,
            other => return Err(view.unsupported(format!("mode `{other}`"))),
        };
        // Zeros alone lie around what is cropped, too.
        let (x, pads) = if beyond.is_zeros() && value == 0.0 { (x, pads) } else { self.cropped(view, x, pads)? };
        if beyond.is_zeros() && value != 0.0 {
            return self.surrounded(view, x, &pads, value);
        }
        let shape = self.shape(x).to_vec();
        let (before, after) = pads.split_at(shape.len());
        if let Some(d) = (0..shape.len()).find(|&d| before[d].max(after[d]) > beyond.most(shape[d])) {
            return Err(view.unsupported(format!("padding {} and {} of extent {} in this mode", before[d], after[d], shape[d])));
        }
        let output = (0..shape.len()).map(|d| shape[d] + before[d] + after[d]).collect();
        self.emit(view, Op::Pad { before: before.to_vec(), after: after.to_vec(), beyond }, vec![x], output)
    }
}

/// In how many runs of equal steps positions are.
fn runs(mut positions: &[i64]) -> usize {
    let mut count = 0;
    while !positions.is_empty() {
        positions = &positions[run_length(positions)..];
        count += 1;
    }
    count
}

/// How many of the first positions are equally far apart.
fn run_length(positions: &[i64]) -> usize {
    let [a, b, ..] = positions else { return positions.len() };
    if a == b {
        return 1;
    }
    1 + positions.windows(2).take_while(|w| w[1] - w[0] == b - a).count()
}

fn squeezed(view: NodeView<'_>, shape: &[i64], list: Option<&[i64]>) -> Result<Vec<i64>, GraphError> {
    let Some(list) = list else { return Ok(shape.iter().copied().filter(|&e| e != 1).collect()) };
    let axes = axes(view, list, shape.len())?;
    if let Some(&d) = axes.iter().find(|&&d| shape[d] != 1) {
        return Err(view.bad(format!("dimension {d} of shape {shape:?} is not 1")));
    }
    Ok((0..shape.len()).filter(|d| !axes.contains(d)).map(|d| shape[d]).collect())
}

fn unsqueezed(view: NodeView<'_>, shape: &[i64], list: &[i64]) -> Result<Vec<i64>, GraphError> {
    let rank = shape.len() + list.len();
    if rank > MAX_RANK {
        return Err(view.unsupported(format!("{rank} dimensions (at most {MAX_RANK})")));
    }
    let axes = axes(view, list, rank)?;
    let mut rest = shape.iter().copied();
    // As many extents are left as there are dimensions that are not new.
    Ok((0..rank).map(|d| if axes.contains(&d) { 1 } else { rest.next().unwrap_or(1) }).collect())
}
