//! Functions of single elements.

use super::{Importer, IntTensor, Value, broadcast};
use crate::error::GraphError;
use crate::graph::op::{Arithmetic, Function, Op};
use crate::onnx::attributes::NodeView;
use crate::onnx::proto::tensor_proto::DataType;

impl Importer {
    /// A function of each element of the first input.
    pub(super) fn function(&mut self, view: NodeView<'_>, function: Function) -> Result<Value, GraphError> {
        let whole = matches!(function, Function::Neg | Function::Abs | Function::Not);
        let x = if whole { self.data(view, 0)? } else { self.floats(view, 0)? };
        let shape = self.shape(x).to_vec();
        self.emit(view, Op::Unary(function), vec![x], shape)
    }

    pub(super) fn leaky_relu(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        self.function(view, Function::LeakyRelu(view.float("alpha", f64::from(0.01f32))?))
    }

    pub(super) fn hard_sigmoid(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        self.function(view, Function::HardSigmoid(view.float("alpha", f64::from(0.2f32))?, view.float("beta", 0.5)?))
    }

    /// Bounds are attributes before opset 11, inputs since. One that is no number is none.
    pub(super) fn clip(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let computed = |value: Option<&Value>| match value {
            Some(Value::Tensor(id)) => self.graph.tensor(*id).constant.is_none(),
            Some(Value::Ints(_)) => true,
            None => false,
        };
        if self.is_whole(view, 0)? || computed(self.optional(view, 1)?) || computed(self.optional(view, 2)?) {
            return self.bounded(view);
        }
        let bound = |position: usize, name: &str, default: f64| -> Result<f64, GraphError> {
            let bound = match self.constant_scalar(view, position)? {
                Some(value) => value,
                None => view.float(name, default)?,
            };
            Ok(if bound.is_nan() { default } else { bound })
        };
        let clip = Function::Clip(bound(1, "min", f64::NEG_INFINITY)?, bound(2, "max", f64::INFINITY)?);
        self.function(view, clip)
    }

    pub(super) fn power(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let exponent = match self.value(view, 1)? {
            Value::Ints(IntTensor { values, .. }) if values.len() == 1 => Some(values[0] as f64),
            Value::Ints(_) => None,
            // One number of more dimensions gives the result these.
            Value::Tensor(id) => match self.graph.tensor(*id).constant.as_deref() {
                Some([value]) if self.shape(*id).len() <= self.shape_of_value(view, 0)?.len() => Some(*value),
                _ => None,
            },
        };
        match exponent.filter(|own| crate::graph::shapes::power(*own)) {
            Some(exponent) => self.function(view, Function::Power(exponent)),
            None => self.any_power(view),
        }
    }

    /// Two inputs, or any number for Min, Max and Sum.
    pub(super) fn arithmetic(&mut self, view: NodeView<'_>, op: Arithmetic) -> Result<Value, GraphError> {
        let count = view.proto.input.len();
        let many = matches!(op, Arithmetic::Min | Arithmetic::Max) || view.proto.op_type == "Sum";
        if count < 1 || (count != 2 && !many) {
            return Err(view.bad(format!("{count} inputs")));
        }
        if let (Value::Ints(a), Ok(Value::Ints(b))) = (self.value(view, 0)?, self.value(view, count - 1)) {
            if count != 2 {
                return Err(view.unsupported("whole numbers and other than two inputs"));
            }
            return self.integers(view, op, a, b).map(Value::Ints);
        }
        let whole = (0..count).map(|i| self.is_whole(view, i)).collect::<Result<Vec<_>, _>>()?;
        if whole.contains(&true) && whole.contains(&false) {
            return Err(view.unsupported("computed whole numbers beside floats"));
        }
        let op = if whole[0] && op == Arithmetic::Div { Arithmetic::Quotient } else { op };
        let mut value = self.number(view, 0)?;
        if count == 1 {
            let shape = self.shape(value).to_vec();
            return self.emit(view, Op::Alias, vec![value], shape);
        }
        for position in 1..count {
            let other = self.number(view, position)?;
            let shape = broadcast(view, self.shape(value), self.shape(other))?;
            let last = position + 1 == count;
            let name = if last { view.proto.output[0].clone() } else { format!("{}.{position}", view.proto.output[0]) };
            value = self.emit_part(view, &name, Op::Binary(op), vec![value, other], shape)?;
        }
        Ok(Value::Tensor(value))
    }

    /// The same on known whole numbers.
    pub(super) fn integers(&self, view: NodeView<'_>, op: Arithmetic, a: &IntTensor, b: &IntTensor) -> Result<IntTensor, GraphError> {
        let truth = matches!(op, Arithmetic::Equal | Arithmetic::And | Arithmetic::Or);
        if a.kind != b.kind || a.kind == DataType::Bool && !truth {
            return Err(view.bad(format!("whole numbers of types {} and {}", a.kind.as_str_name(), b.kind.as_str_name())));
        }
        self.zipped(view, &format!("{op:?}"), a, b, |x, y| match op {
            Arithmetic::Add => x.checked_add(y),
            Arithmetic::Sub => x.checked_sub(y),
            Arithmetic::Mul => x.checked_mul(y),
            Arithmetic::Div | Arithmetic::Quotient => x.checked_div(y),
            Arithmetic::Min => Some(x.min(y)),
            Arithmetic::Max => Some(x.max(y)),
            Arithmetic::Less => Some((x < y).into()),
            Arithmetic::LessOrEqual => Some((x <= y).into()),
            Arithmetic::Equal => Some((x == y).into()),
            Arithmetic::And => Some((x != 0 && y != 0).into()),
            Arithmetic::Or => Some((x != 0 || y != 0).into()),
        })
    }
}
