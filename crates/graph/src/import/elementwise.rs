//! Functions of single elements.

use super::{Importer, IntTensor, Value, broadcast};
use crate::attributes::NodeView;
use crate::error::GraphError;
use crate::graph::{Arithmetic, Function, Op};

impl Importer {
    pub(super) fn elementwise_node(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let function = match view.proto.op_type.as_str() {
            "Relu" => Function::Relu,
            "LeakyRelu" => Function::LeakyRelu(view.float("alpha", f64::from(0.01f32))?),
            "Sigmoid" => Function::Sigmoid,
            "HardSigmoid" => Function::HardSigmoid(view.float("alpha", f64::from(0.2f32))?, view.float("beta", 0.5)?),
            "HardSwish" => Function::HardSwish,
            "Tanh" => Function::Tanh,
            "Exp" => Function::Exp,
            "Log" => Function::Log,
            "Sqrt" => Function::Sqrt,
            "Erf" => Function::Erf,
            "Neg" => Function::Neg,
            "Abs" => Function::Abs,
            "Floor" => Function::Floor,
            "Ceil" => Function::Ceil,
            "Reciprocal" => Function::Reciprocal,
            "Clip" => self.clip(view)?,
            "Pow" => self.power(view)?,
            "Add" => return self.arithmetic(view, Arithmetic::Add),
            "Sub" => return self.arithmetic(view, Arithmetic::Sub),
            "Mul" => return self.arithmetic(view, Arithmetic::Mul),
            "Div" => return self.arithmetic(view, Arithmetic::Div),
            "Min" => return self.arithmetic(view, Arithmetic::Min),
            "Max" => return self.arithmetic(view, Arithmetic::Max),
            _ => return Err(view.unknown()),
        };
        let x = self.data(view, 0)?;
        let shape = self.shape(x).to_vec();
        self.emit(view, Op::Unary(function), vec![x], shape)
    }

    /// Bounds are attributes before opset 11, inputs since.
    fn clip(&self, view: NodeView<'_>) -> Result<Function, GraphError> {
        let bound = |position: usize, name: &str, default: f64| -> Result<f64, GraphError> {
            match self.constant_scalar(view, position)? {
                Some(value) => Ok(value),
                None => view.float(name, default),
            }
        };
        Ok(Function::Clip(bound(1, "min", f64::NEG_INFINITY)?, bound(2, "max", f64::INFINITY)?))
    }

    fn power(&self, view: NodeView<'_>) -> Result<Function, GraphError> {
        let exponent = match self.value(view, 1)? {
            Value::Ints(IntTensor { values, .. }) if values.len() == 1 => values[0] as f64,
            Value::Ints(_) => return Err(view.unsupported("an exponent that is not one number")),
            Value::Tensor(_) => self.constant_scalar(view, 1)?.ok_or_else(|| view.bad("input 1 is missing"))?,
        };
        let whole = exponent.fract() == 0.0 && exponent.abs() <= 8.0;
        if whole || exponent.abs() == 0.5 {
            return Ok(Function::Power(exponent));
        }
        Err(view.unsupported(format!("exponent {exponent} (whole numbers from -8 to 8, and ±0.5)")))
    }

    /// Two inputs, or any number for Min and Max.
    fn arithmetic(&mut self, view: NodeView<'_>, op: Arithmetic) -> Result<Value, GraphError> {
        let count = view.proto.input.len();
        let many = matches!(op, Arithmetic::Min | Arithmetic::Max);
        if count < 1 || (count != 2 && !many) {
            return Err(view.bad(format!("{count} inputs")));
        }
        if let (Value::Ints(a), Ok(Value::Ints(b))) = (self.value(view, 0)?, self.value(view, count - 1)) {
            if count != 2 {
                return Err(view.unsupported("whole numbers and other than two inputs"));
            }
            return integers(view, op, a, b).map(Value::Ints);
        }
        let mut value = self.data(view, 0)?;
        if count == 1 {
            let shape = self.shape(value).to_vec();
            return self.emit(view, Op::Alias, vec![value], shape);
        }
        for position in 1..count {
            let other = self.data(view, position)?;
            let shape = broadcast(view, self.shape(value), self.shape(other))?;
            let last = position + 1 == count;
            let name = if last { view.proto.output[0].clone() } else { format!("{}.{position}", view.proto.output[0]) };
            value = self.emit_part(view, &name, Op::Binary(op), vec![value, other], shape)?;
        }
        Ok(Value::Tensor(value))
    }
}

/// The same on known whole numbers.
fn integers(view: NodeView<'_>, op: Arithmetic, a: &IntTensor, b: &IntTensor) -> Result<IntTensor, GraphError> {
    let shape = broadcast(view, &a.shape, &b.shape)?;
    let length = shape.iter().product::<i64>() as usize;
    // Shapes and axes have at most one dimension, so a single number is the only thing that is broadcast.
    let fits = |t: &IntTensor| t.values.len() == 1 || t.values.len() == length;
    if !fits(a) || !fits(b) {
        return Err(view.unsupported(format!("whole numbers of shapes {:?} and {:?}", a.shape, b.shape)));
    }
    let at = |t: &IntTensor, i: usize| t.values[if t.values.len() == 1 { 0 } else { i }];
    let value = |i: usize| {
        let (x, y) = (at(a, i), at(b, i));
        let result = match op {
            Arithmetic::Add => x.checked_add(y),
            Arithmetic::Sub => x.checked_sub(y),
            Arithmetic::Mul => x.checked_mul(y),
            Arithmetic::Div => x.checked_div(y),
            Arithmetic::Min => Some(x.min(y)),
            Arithmetic::Max => Some(x.max(y)),
        };
        result.ok_or_else(|| view.bad(format!("{op:?} of {x} and {y} has no value")))
    };
    let values = (0..length).map(value).collect::<Result<_, _>>()?;
    Ok(IntTensor { shape, values })
}
