//! Types: what a cast makes of a value, and how elements of narrow types are kept.
//!
//! Known whole numbers wrap around as the standard says. Floats become the whole numbers that are next towards zero; known ones have to be in range,
//! of computed ones the standard leaves the rest undefined. Kernels compute in single precision; what is of a narrower type is rounded to it after each operator.

use super::{Importer, IntTensor, Value};
use crate::error::GraphError;
use crate::graph::op::{Function, Op};
use crate::graph::{Origin, TensorId};
use crate::onnx::attributes::NodeView;
use crate::onnx::literal::{Literal, Numbers, is_int, type_name, wrapped};
use crate::onnx::proto::tensor_proto::DataType;
use warpsight_ir::Scalar;
use warpsight_ir::interpret::rounded;

impl Importer {
    pub(super) fn cast(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let number = view.int("to", 0)?;
        let known = i32::try_from(number).ok().and_then(|n| DataType::try_from(n).ok());
        self.cast_to(view, known.ok_or_else(|| view.unsupported(format!("target type {}", type_name(number))))?)
    }

    pub(super) fn cast_to(&mut self, view: NodeView<'_>, to: DataType) -> Result<Value, GraphError> {
        let whole = is_int(to).ok_or_else(|| view.unsupported(format!("target type {}", to.as_str_name())))?;
        match (self.value(view, 0)?.clone(), whole) {
            (Value::Ints(ints), true) => {
                let values = ints.values.iter().map(|&v| wrapped(to, v).ok_or_else(|| out_of_range(view, v, to)));
                Ok(Value::Ints(IntTensor { values: values.collect::<Result<_, _>>()?, kind: to, ..ints }))
            }
            (Value::Ints(ints), false) => {
                let scalar = scalar(to);
                // Whole numbers beyond 2⁵³ are rounded once.
                self.hold(&view.proto.output[0], ints.values.len() as u64)?;
                let values = ints.values.iter().map(|&v| whole_as(scalar, v)).collect();
                Ok(self.literal(
                    Literal { shape: ints.shape, kind: to, values: Numbers::Floats(values) },
                    &view.proto.output[0],
                    Origin::Constant,
                ))
            }
            (Value::Tensor(id), true)
                if self.graph.tensor(id).constant.is_none() && (to == DataType::Bool || is_int(self.kind(id)) == Some(true)) =>
            {
                let shape = self.shape(id).to_vec();
                let value = if to == DataType::Bool && self.kind(id) != to {
                    let name = format!("{}.zero", view.proto.output[0]);
                    let zero = self.emit_part(view, &name, Op::Unary(Function::Not), vec![id], shape.clone())?;
                    self.emit(view, Op::Unary(Function::Not), vec![zero], shape)?
                } else {
                    self.emit(view, Op::Alias, vec![id], shape)?
                };
                self.declare(&value, to);
                Ok(value)
            }
            (Value::Tensor(id), true) => {
                let tensor = self.graph.tensor(id);
                let Some(constant) = tensor.constant.as_deref() else {
                    let value = self.function(view, Function::Trunc)?;
                    self.declare(&value, to);
                    return Ok(value);
                };
                let values = constant.iter().map(|&v| truncated(to, v).ok_or_else(|| out_of_range(view, v, to)));
                Ok(Value::Ints(IntTensor { shape: tensor.shape.clone(), values: values.collect::<Result<_, _>>()?, kind: to }))
            }
            (Value::Tensor(id), false) => {
                let shape = self.shape(id).to_vec();
                let op = match (self.kind(id), rounds_to(to)) {
                    (from, Some(scalar)) if from != to => Op::Unary(Function::Round(scalar)),
                    (DataType::Double, None) if to == DataType::Float && self.graph.tensor(id).constant.is_some() => {
                        Op::Unary(Function::Round(Scalar::F32))
                    }
                    _ => Op::Alias,
                };
                let value = self.emit(view, op, vec![id], shape)?;
                self.declare(&value, to);
                Ok(value)
            }
        }
    }

    /// A result as its type holds it; types come from the first input that has floats, where the operator has not declared one.
    pub(super) fn typed(&mut self, view: NodeView<'_>, value: Value, computes: bool) -> Result<Value, GraphError> {
        let Value::Tensor(id) = value else { return Ok(value) };
        if self.kinds.contains_key(&id) {
            return Ok(value);
        }
        let read = view.proto.input.iter().filter_map(|name| match self.values.get(name) {
            Some(Value::Tensor(id)) => Some(self.kind(*id)),
            _ => None,
        });
        let kind = read.into_iter().next().unwrap_or(DataType::Float);
        if computes { self.as_kind(view, id, kind) } else { Ok(self.declared(id, kind)) }
    }

    /// Numbers that were computed, as this type holds them.
    pub(super) fn as_kind(&mut self, view: NodeView<'_>, id: TensorId, kind: DataType) -> Result<Value, GraphError> {
        let constant = self.graph.tensor(id).constant.is_some();
        match (rounds_to(kind), kind) {
            _ if is_int(kind) == Some(true) => Ok(self.declared(id, kind)),
            (None, DataType::Double) if !constant => {
                Err(view.unsupported("computed DOUBLE, which kernels do not compute in (convert the model to float32),"))
            }
            (None, DataType::Float) if !constant => Ok(self.declared(id, kind)),
            (scalar, _) => {
                let tensor = &mut self.graph.tensors[id.0];
                let name = format!("{}.unrounded", tensor.name);
                let (name, shape) = (std::mem::replace(&mut tensor.name, name), tensor.shape.clone());
                let scalar = scalar.unwrap_or(if kind == DataType::Double { Scalar::F64 } else { Scalar::F32 });
                let rounded = self.emit_part(view, &name, Op::Unary(Function::Round(scalar)), vec![id], shape)?;
                Ok(self.declared(rounded, kind))
            }
        }
    }

    fn declared(&mut self, id: TensorId, kind: DataType) -> Value {
        let value = Value::Tensor(id);
        self.declare(&value, kind);
        value
    }

    /// Elements' type of a tensor of floats.
    pub(super) fn kind(&self, id: TensorId) -> DataType {
        self.kinds.get(&id).copied().unwrap_or(DataType::Float)
    }

    pub(super) fn declare(&mut self, value: &Value, kind: DataType) {
        if let Value::Tensor(id) = value {
            self.kinds.insert(*id, kind);
            if is_int(kind) == Some(true) && kind != DataType::Bool {
                self.keep_exact(*id);
            }
        }
    }

    /// Whole numbers that are computed are stored in single precision, whatever other tensors are stored as.
    pub(super) fn keep_exact(&mut self, id: TensorId) {
        let tensor = &mut self.graph.tensors[id.0];
        tensor.whole |= tensor.constant.is_none();
    }
}

fn out_of_range(view: NodeView<'_>, value: impl std::fmt::Display, to: DataType) -> GraphError {
    view.unsupported(format!("the value {value}, which {} does not hold,", to.as_str_name()))
}

/// The type that results are rounded to, where it is narrower than what kernels compute in.
fn rounds_to(kind: DataType) -> Option<Scalar> {
    Some(scalar(kind)).filter(|s| matches!(s, Scalar::F16 | Scalar::Bf16))
}

/// A floating-point type of ONNX's.
fn scalar(kind: DataType) -> Scalar {
    match kind {
        DataType::Float16 => Scalar::F16,
        DataType::Bfloat16 => Scalar::Bf16,
        DataType::Double => Scalar::F64,
        _ => Scalar::F32,
    }
}

/// A whole number in a floating-point type, rounded once.
fn whole_as(to: Scalar, value: i64) -> f64 {
    use warpsight_ir::Const;
    match warpsight_ir::interpret::cast(to, Const::I64(value)) {
        Const::F32(v) => v.into(),
        Const::F64(v) => v,
        _ => rounded(to, value as f64),
    }
}

/// A float as a whole number, towards zero; `None` where the type does not hold it.
fn truncated(to: DataType, value: f64) -> Option<i64> {
    if to == DataType::Bool {
        return Some((value != 0.0).into());
    }
    let whole = value.trunc();
    // 2⁶³ is the first float beyond the whole numbers.
    let fits = whole >= i64::MIN as f64 && whole < i64::MAX as f64;
    let whole = fits.then_some(whole as i64)?;
    wrapped(to, whole).filter(|&kept| kept == whole)
}
