//! Functions of single elements that are said by nodes of others.

use super::{Importer, IntTensor, Value, axis, broadcast};
use crate::error::GraphError;
use crate::graph::op::{Arithmetic, Function, Op};
use crate::graph::{Origin, TensorId};
use crate::onnx::attributes::NodeView;
use crate::onnx::literal::{is_int, type_name, wrapped};
use crate::onnx::proto::tensor_proto::DataType;
use warpsight_generate::operators::EXACT;

/// Functions by powers of e, [`Importer::exponential`].
#[derive(Clone, Copy)]
pub(super) enum Exponential {
    Sinh,
    Cosh,
    Asinh,
    Acosh,
    Atanh,
    Tan,
}

impl Importer {
    /// Of the shape that both are broadcast to.
    pub(super) fn pair(&mut self, view: NodeView<'_>, name: &str, op: Arithmetic, pair: [TensorId; 2]) -> Result<TensorId, GraphError> {
        let shape = broadcast(view, self.shape(pair[0]), self.shape(pair[1]))?;
        self.emit_part(view, name, Op::Binary(op), pair.to_vec(), shape)
    }

    /// The first of two where a condition is not 0, else the second; of the shape that all are broadcast to.
    pub(super) fn selected(&mut self, view: NodeView<'_>, name: &str, all: [TensorId; 3]) -> Result<TensorId, GraphError> {
        let shape = broadcast(view, &broadcast(view, self.shape(all[0]), self.shape(all[1]))?, self.shape(all[2]))?;
        self.emit_part(view, name, Op::Select, all.to_vec(), shape)
    }

    /// The same with numbers beside the tensor.
    pub(super) fn with_number(
        &mut self,
        view: NodeView<'_>,
        name: &str,
        op: Arithmetic,
        x: TensorId,
        number: f64,
    ) -> Result<TensorId, GraphError> {
        let number = self.held_number(name, number);
        self.pair(view, name, op, [x, number])
    }

    /// What is left of a quotient: with the sign of the divisor, or (`fmod`) of the dividend.
    pub(super) fn remainder(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let truncated = view.int("fmod", 0)? != 0;
        if let (Value::Ints(a), Value::Ints(b)) = (self.value(view, 0)?, self.value(view, 1)?) {
            let rest = |x: i64, y: i64| {
                let rest = if y == 0 { return None } else { x.wrapping_rem(y) };
                Some(if truncated || rest == 0 || (rest < 0) == (y < 0) { rest } else { rest + y })
            };
            return self.zipped(view, "Mod", a, b, rest).map(Value::Ints);
        }
        let whole = self.is_whole(view, 0)?;
        if whole != self.is_whole(view, 1)? {
            return Err(view.bad("one of its inputs holds whole numbers, the other does not"));
        }
        if !whole && !truncated {
            return Err(view.bad("fmod=0 of floats"));
        }
        let (a, b, stem) = (self.number(view, 0)?, self.number(view, 1)?, view.proto.output[0].clone());
        let kind = self.kind(a);
        let part = |name: &str| format!("{stem}.{name}");
        let mut times = self.pair(view, &part("quotient"), if whole { Arithmetic::Quotient } else { Arithmetic::Div }, [a, b])?;
        if !whole {
            times = self.mapped(view, &part("times"), Function::Trunc, times)?;
        }
        let product = self.pair(view, &part("product"), Arithmetic::Mul, [times, b])?;
        let mut rest = self.pair(view, &part("rest"), Arithmetic::Sub, [a, product])?;
        let size = if whole { b } else { self.mapped(view, &part("size"), Function::Abs, b)? };
        // Floats are truncated, and a quotient that was rounded up leaves what has the other sign.
        if !truncated || !whole {
            let sign = if whole { b } else { a };
            let signs = self.pair(view, &part("signs"), Arithmetic::Mul, [rest, sign])?;
            let differ = self.with_number(view, &part("differ"), Arithmetic::Less, signs, 0.0)?;
            let step = if !whole {
                let below = self.with_number(view, &part("negative"), Arithmetic::Less, a, 0.0)?;
                let away = self.mapped(view, &part("away"), Function::Neg, size)?;
                self.selected(view, &part("step"), [below, away, size])?
            } else {
                size
            };
            let moved = self.pair(view, &part("moved"), Arithmetic::Add, [rest, step])?;
            rest = self.selected(view, &part("right"), [differ, moved, rest])?;
        }
        if !whole {
            // What is less than the divisor is left, of an endless one, too.
            let far = self.mapped(view, &part("far"), Function::Abs, a)?;
            let less = self.pair(view, &part("less"), Arithmetic::Less, [far, size])?;
            rest = self.selected(view, &part("own"), [less, a, rest])?;
        }
        let shape = self.shape(rest).to_vec();
        let rest = self.emit_part(view, &stem, Op::Alias, vec![rest], shape)?;
        self.as_kind(view, rest, kind)
    }

    /// Input `position`, which must hold floats, not whole numbers.
    pub(super) fn floats(&self, view: NodeView<'_>, position: usize) -> Result<TensorId, GraphError> {
        let x = self.data(view, position)?;
        if is_int(self.kind(x)) == Some(true) {
            let (tensor, found) = (view.proto.input[position].clone(), self.kind(x).as_str_name());
            return Err(GraphError::WrongType { tensor, found, expected: "float32" });
        }
        Ok(x)
    }

    /// 1, 0 or -1.
    pub(super) fn sign(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (x, stem) = (self.data(view, 0)?, view.proto.output[0].clone());
        let zero = self.held_number(&stem, 0.0);
        let above = self.pair(view, &format!("{stem}.above"), Arithmetic::Less, [zero, x])?;
        let below = self.pair(view, &format!("{stem}.below"), Arithmetic::Less, [x, zero])?;
        let value = Value::Tensor(self.pair(view, &stem, Arithmetic::Sub, [above, below])?);
        self.declare(&value, self.kind(x));
        Ok(value)
    }

    /// The next whole number; of two the even one.
    pub(super) fn round(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let x = self.floats(view, 0)?;
        self.rounded(view, &view.proto.output[0], x).map(Value::Tensor)
    }

    pub(super) fn rounded(&mut self, view: NodeView<'_>, stem: &str, x: TensorId) -> Result<TensorId, GraphError> {
        let below = self.mapped(view, &format!("{stem}.below"), Function::Floor, x)?;
        let above = self.pair(view, &format!("{stem}.above"), Arithmetic::Sub, [x, below])?;
        let half = self.held_number(stem, 0.5);
        let more = self.pair(view, &format!("{stem}.more"), Arithmetic::Less, [half, above])?;
        let middle = self.pair(view, &format!("{stem}.middle"), Arithmetic::Equal, [above, half])?;
        let odd = self.odd(view, stem, below)?;
        let even = self.pair(view, &format!("{stem}.to_even"), Arithmetic::And, [middle, odd])?;
        let up = self.pair(view, &format!("{stem}.up"), Arithmetic::Or, [more, even])?;
        self.pair(view, stem, Arithmetic::Add, [below, up])
    }

    /// 1 of odd whole numbers, 0 of even ones.
    fn odd(&mut self, view: NodeView<'_>, stem: &str, x: TensorId) -> Result<TensorId, GraphError> {
        let half = self.with_number(view, &format!("{stem}.halved"), Arithmetic::Mul, x, 0.5)?;
        let half = self.mapped(view, &format!("{stem}.whole_half"), Function::Floor, half)?;
        let twice = self.with_number(view, &format!("{stem}.doubled"), Arithmetic::Mul, half, 2.0)?;
        self.pair(view, &format!("{stem}.odd"), Arithmetic::Sub, [x, twice])
    }

    /// γ · (x where positive, else α · (eˣᐟᵝ - 1)): Elu with β = γ = 1, Celu with β = α, Selu.
    pub(super) fn exponential_unit(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (x, stem) = (self.floats(view, 0)?, view.proto.output[0].clone());
        let (alpha, beta, gamma) = match view.proto.op_type.as_str() {
            "Celu" => (view.float("alpha", 1.0)?, view.float("alpha", 1.0)?, 1.0),
            "Selu" => (view.float("alpha", f64::from(1.673_263_2_f32))?, 1.0, view.float("gamma", f64::from(1.050_701_f32))?),
            _ => (view.float("alpha", 1.0)?, 1.0, 1.0),
        };
        let above = self.mapped(view, &format!("{stem}.above"), Function::Relu, x)?;
        let mut below = self.mapped(view, &format!("{stem}.below"), Function::Clip(f64::NEG_INFINITY, 0.0), x)?;
        if beta != 1.0 {
            below = self.with_number(view, &format!("{stem}.slower"), Arithmetic::Div, below, beta)?;
        }
        let power = self.mapped(view, &format!("{stem}.power"), Function::Exp, below)?;
        let rest = self.with_number(view, &format!("{stem}.rest"), Arithmetic::Sub, power, 1.0)?;
        let rest = self.with_number(view, &format!("{stem}.scaled"), Arithmetic::Mul, rest, alpha)?;
        if gamma == 1.0 {
            return self.pair(view, &stem, Arithmetic::Add, [above, rest]).map(Value::Tensor);
        }
        let sum = self.pair(view, &format!("{stem}.sum"), Arithmetic::Add, [above, rest])?;
        self.with_number(view, &stem, Arithmetic::Mul, sum, gamma).map(Value::Tensor)
    }

    /// x / (1 + |x|).
    pub(super) fn softsign(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (x, stem) = (self.floats(view, 0)?, view.proto.output[0].clone());
        let far = self.mapped(view, &format!("{stem}.far"), Function::Abs, x)?;
        let below = self.with_number(view, &format!("{stem}.below"), Arithmetic::Add, far, 1.0)?;
        self.pair(view, &stem, Arithmetic::Div, [x, below]).map(Value::Tensor)
    }

    /// x / (1 + e⁻ᵅˣ).
    pub(super) fn swish(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (x, stem, alpha) = (self.floats(view, 0)?, view.proto.output[0].clone(), view.float("alpha", 1.0)?);
        if alpha == 1.0 {
            return self.function(view, Function::Silu);
        }
        let steep = self.with_number(view, &format!("{stem}.steep"), Arithmetic::Mul, x, alpha)?;
        let gate = self.mapped(view, &format!("{stem}.gate"), Function::Sigmoid, steep)?;
        self.pair(view, &stem, Arithmetic::Mul, [x, gate]).map(Value::Tensor)
    }

    /// x where it is beyond a threshold (of Shrink on either side, nearer by the bias), else 0.
    pub(super) fn beyond_threshold(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (x, stem, zero) = (self.floats(view, 0)?, view.proto.output[0].clone(), self.held_number(&view.proto.output[0], 0.0));
        let kind = self.kind(x);
        let value = if view.proto.op_type == "ThresholdedRelu" {
            let least = self.held_number(&format!("{stem}.least"), view.float("alpha", 1.0)?);
            let beyond = self.pair(view, &format!("{stem}.beyond"), Arithmetic::Less, [least, x])?;
            self.selected(view, &stem, [beyond, x, zero])?
        } else {
            let (far, bias) = (view.float("lambd", 0.5)?, view.float("bias", 0.0)?);
            let most = self.held_number(&format!("{stem}.most"), far);
            let above = self.pair(view, &format!("{stem}.above"), Arithmetic::Less, [most, x])?;
            let below = self.with_number(view, &format!("{stem}.below"), Arithmetic::Less, x, -far)?;
            let down = self.with_number(view, &format!("{stem}.down"), Arithmetic::Sub, x, bias)?;
            let up = self.with_number(view, &format!("{stem}.up"), Arithmetic::Add, x, bias)?;
            let rest = self.selected(view, &format!("{stem}.rest"), [below, up, zero])?;
            self.selected(view, &stem, [above, down, rest])?
        };
        self.as_kind(view, value, kind)
    }

    /// Functions that are made of eˣ, logarithms, sines and cosines.
    pub(super) fn exponential(&mut self, view: NodeView<'_>, function: Exponential) -> Result<Value, GraphError> {
        let (x, stem) = (self.floats(view, 0)?, view.proto.output[0].clone());
        let part = |name: &str| format!("{stem}.{name}");
        let value = match function {
            Exponential::Tan => {
                let (sine, cosine) =
                    (self.mapped(view, &part("sine"), Function::Sin, x)?, self.mapped(view, &part("cosine"), Function::Cos, x)?);
                self.pair(view, &stem, Arithmetic::Div, [sine, cosine])?
            }
            Exponential::Sinh | Exponential::Cosh => {
                let op = if matches!(function, Exponential::Sinh) { Arithmetic::Sub } else { Arithmetic::Add };
                let away = self.mapped(view, &part("negated"), Function::Neg, x)?;
                let (up, down) =
                    (self.mapped(view, &part("up"), Function::Exp, x)?, self.mapped(view, &part("down"), Function::Exp, away)?);
                let twice = self.pair(view, &part("twice"), op, [up, down])?;
                self.with_number(view, &stem, Arithmetic::Mul, twice, 0.5)?
            }
            Exponential::Asinh => {
                // Of |x|, where nothing cancels; its sign is x's.
                let far = self.mapped(view, &part("far"), Function::Abs, x)?;
                let square = self.pair(view, &part("square"), Arithmetic::Mul, [x, x])?;
                let above = self.with_number(view, &part("above"), Arithmetic::Add, square, 1.0)?;
                let root = self.mapped(view, &part("root"), Function::Sqrt, above)?;
                let sum = self.pair(view, &part("sum"), Arithmetic::Add, [far, root])?;
                let own = self.mapped(view, &part("logarithm"), Function::Log, sum)?;
                let (away, below) = (
                    self.mapped(view, &part("away"), Function::Neg, own)?,
                    self.with_number(view, &part("negative"), Arithmetic::Less, x, 0.0)?,
                );
                self.selected(view, &stem, [below, away, own])?
            }
            Exponential::Acosh => {
                let square = self.pair(view, &part("square"), Arithmetic::Mul, [x, x])?;
                let below = self.with_number(view, &part("below"), Arithmetic::Sub, square, 1.0)?;
                let root = self.mapped(view, &part("root"), Function::Sqrt, below)?;
                let sum = self.pair(view, &part("sum"), Arithmetic::Add, [x, root])?;
                self.mapped(view, &stem, Function::Log, sum)?
            }
            Exponential::Atanh => {
                let one = self.held_number(&stem, 1.0);
                let (up, down) =
                    (self.pair(view, &part("up"), Arithmetic::Add, [one, x])?, self.pair(view, &part("down"), Arithmetic::Sub, [one, x])?);
                let quotient = self.pair(view, &part("quotient"), Arithmetic::Div, [up, down])?;
                let own = self.mapped(view, &part("logarithm"), Function::Log, quotient)?;
                self.with_number(view, &stem, Arithmetic::Mul, own, 0.5)?
            }
        };
        Ok(Value::Tensor(value))
    }

    /// Whether an element is no number, or an infinity.
    pub(super) fn is_no_number(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (x, stem) = (self.floats(view, 0)?, view.proto.output[0].clone());
        let value = if view.proto.op_type == "IsNaN" {
            let same = self.pair(view, &format!("{stem}.same"), Arithmetic::Equal, [x, x])?;
            self.mapped(view, &stem, Function::Not, same)?
        } else {
            let wanted = [(f64::INFINITY, view.int("detect_positive", 1)?), (f64::NEG_INFINITY, view.int("detect_negative", 1)?)];
            let asked = wanted.into_iter().filter(|own| own.1 != 0).map(|own| own.0);
            // An infinity in place of another that nobody asks for says the same twice; of none nothing is.
            let found: Vec<f64> = asked.collect();
            let (first, second) = match found[..] {
                [first, second] => (first, second),
                [one] => (one, one),
                _ => (f64::NAN, f64::NAN),
            };
            let first = self.with_number(view, &format!("{stem}.first"), Arithmetic::Equal, x, first)?;
            let second = self.with_number(view, &format!("{stem}.second"), Arithmetic::Equal, x, second)?;
            self.pair(view, &stem, Arithmetic::Or, [first, second])?
        };
        self.declare(&Value::Tensor(value), DataType::Bool);
        Ok(Value::Tensor(value))
    }

    /// The mean of tensors, each broadcast.
    pub(super) fn mean(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let (mut sum, stem, count) = (self.floats(view, 0)?, view.proto.output[0].clone(), view.proto.input.len());
        for position in 1..count {
            let other = self.floats(view, position)?;
            sum = self.pair(view, &format!("{stem}.{position}"), Arithmetic::Add, [sum, other])?;
        }
        self.with_number(view, &stem, Arithmetic::Div, sum, count as f64).map(Value::Tensor)
    }

    /// No less than one bound, then no more than the other, of which one is computed or of whole numbers.
    pub(super) fn bounded(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let bounds = [(1, Arithmetic::Max), (2, Arithmetic::Min)];
        if let Value::Ints(known) = self.value(view, 0)? {
            let mut known = known.clone();
            for (position, op) in bounds {
                if let Some(bound) = self.ints(view, position)? {
                    known = self.integers(view, op, &known, bound)?;
                }
            }
            return Ok(Value::Ints(known));
        }
        let (mut x, stem) = (self.number(view, 0)?, view.proto.output[0].clone());
        let kind = self.kind(x);
        for (position, op) in bounds {
            // Beyond what computed whole numbers are exact to, none of them is.
            let beyond = |bound: i64| if op == Arithmetic::Max { bound < -EXACT } else { bound > EXACT };
            let is_one = match self.optional(view, position)? {
                Some(Value::Ints(bound)) => !bound.values.iter().all(|bound| beyond(*bound)),
                bound => bound.is_some(),
            };
            if is_one {
                let bound = self.number(view, position)?;
                x = self.paired(view, &format!("{stem}.bounded{position}"), op, [x, bound])?;
            }
        }
        let shape = self.shape(x).to_vec();
        let value = self.emit(view, Op::Alias, vec![x], shape)?;
        self.declare(&value, kind);
        Ok(value)
    }

    /// Any power: eʸˡⁿˡˣˡ, of x below 0 with the sign that whole exponents give it.
    pub(super) fn any_power(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        if self.is_whole(view, 0)? {
            return Err(view.unsupported("a computed whole number to such a power"));
        }
        let (x, y, stem) = (self.data(view, 0)?, self.number(view, 1)?, view.proto.output[0].clone());
        let part = |name: &str| format!("{stem}.{name}");
        let far = self.mapped(view, &part("far"), Function::Abs, x)?;
        let logarithm = self.mapped(view, &part("logarithm"), Function::Log, far)?;
        let exponent = self.pair(view, &part("exponent"), Arithmetic::Mul, [y, logarithm])?;
        let power = self.mapped(view, &part("power"), Function::Exp, exponent)?;
        let (zero, one) = (self.held_number(&part("zero"), 0.0), self.held_number(&part("one"), 1.0));
        // Of x below 0: 1 − 2 · (y is odd) times the power, and no number where y is not whole.
        let floor = self.mapped(view, &part("floor"), Function::Floor, y)?;
        let whole = self.pair(view, &part("whole"), Arithmetic::Equal, [y, floor])?;
        let odd = self.odd(view, &stem, floor)?;
        let twice = self.with_number(view, &part("twice"), Arithmetic::Mul, odd, 2.0)?;
        let sign = self.pair(view, &part("sign"), Arithmetic::Sub, [one, twice])?;
        let nothing = self.held_number(&part("nothing"), f64::NAN);
        let sign = self.selected(view, &part("signed"), [whole, sign, nothing])?;
        let below = self.pair(view, &part("below"), Arithmetic::Less, [x, zero])?;
        let turned = self.pair(view, &part("turned"), Arithmetic::Mul, [power, sign])?;
        let own = self.selected(view, &part("own"), [below, turned, power])?;
        let none = self.pair(view, &part("none"), Arithmetic::Equal, [y, zero])?;
        self.selected(view, &stem, [none, one, own]).map(Value::Tensor)
    }

    /// The type of the second input.
    pub(super) fn cast_like(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        let to = match self.value(view, 1)? {
            Value::Ints(ints) => ints.kind,
            Value::Tensor(id) => self.kind(*id),
        };
        self.cast_to(view, to)
    }

    /// Two lists of known whole numbers, element by element.
    pub(super) fn zipped(
        &self,
        view: NodeView<'_>,
        what: &str,
        a: &IntTensor,
        b: &IntTensor,
        function: impl Fn(i64, i64) -> Option<i64>,
    ) -> Result<IntTensor, GraphError> {
        let shape = broadcast(view, &a.shape, &b.shape)?;
        self.may_spread(view, 3, &shape)?;
        let (a, b) = (&*a.spread(view, &shape)?, &*b.spread(view, &shape)?);
        let value = |i: usize| {
            let (x, y) = (a.values[i], b.values[i]);
            let kept = function(x, y).filter(|&v| wrapped(a.kind, v) == Some(v));
            kept.ok_or_else(|| view.bad(format!("{what} of {x} and {y} has no value of type {}", a.kind.as_str_name())))
        };
        let values = (0..a.values.len()).map(value).collect::<Result<_, _>>()?;
        Ok(IntTensor { shape, values, kind: a.kind })
    }

    /// What is quantized: (x − zero point) · scale, both for all or for each place along a dimension.
    pub(super) fn dequantize(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        if view.int("block_size", 0)? != 0 {
            return Err(view.unsupported("block_size"));
        }
        let stem = view.proto.output[0].clone();
        let mut x = match self.value(view, 0)?.clone() {
            // Exact here, whatever they are: what is made of them is rounded once.
            Value::Ints(known) => {
                self.hold(&stem, known.values.len() as u64)?;
                let values = known.values.iter().map(|&own| own as f64).collect();
                self.graph.add_constant(format!("{stem}.stored"), known.shape, Origin::Constant, values)
            }
            Value::Tensor(_) if self.is_whole(view, 0)? => self.data(view, 0)?,
            Value::Tensor(id) => {
                let (tensor, found) = (view.proto.input[0].clone(), self.kind(id).as_str_name());
                return Err(GraphError::WrongType { tensor, found, expected: "a whole-number type" });
            }
        };
        let scale = self.beside(view, x, 1)?.ok_or_else(|| view.bad("input 1 is missing"))?;
        let kind = stated(view)?.unwrap_or(self.kind(self.data(view, 1)?));
        if let Some(zero) = self.beside(view, x, 2)? {
            x = self.paired(view, &format!("{stem}.centred"), Arithmetic::Sub, [x, zero])?;
        }
        let value = self.paired(view, &stem, Arithmetic::Mul, [x, scale])?;
        self.as_kind(view, value, kind)
    }

    /// Rounded x / scale + zero point, as far as its type goes.
    pub(super) fn quantize(&mut self, view: NodeView<'_>) -> Result<Value, GraphError> {
        if view.int("block_size", 0)? != 0 {
            return Err(view.unsupported("block_size"));
        }
        let (x, stem) = (self.floats(view, 0)?, view.proto.output[0].clone());
        let scale = self.beside(view, x, 1)?.ok_or_else(|| view.bad("input 1 is missing"))?;
        let given = self.optional(view, 2)?.map(|value| match value {
            Value::Ints(ints) => ints.kind,
            Value::Tensor(id) => self.kind(*id),
        });
        let stated = stated(view)?;
        if given.zip(stated).is_some_and(|(given, stated)| given != stated) {
            return Err(view.bad("a zero point of another type than output_dtype"));
        }
        let kind = given.or(stated).unwrap_or(DataType::Uint8);
        let (least, most) = match kind {
            DataType::Uint8 => (0.0, 255.0),
            DataType::Int8 => (-128.0, 127.0),
            DataType::Uint16 => (0.0, 65535.0),
            DataType::Int16 => (-32768.0, 32767.0),
            _ => return Err(view.unsupported(format!("the type {}", type_name(kind as i64)))),
        };
        let steps = self.paired(view, &format!("{stem}.steps"), Arithmetic::Div, [x, scale])?;
        let mut whole = self.rounded(view, &format!("{stem}.rounded"), steps)?;
        if let Some(zero) = self.beside(view, x, 2)? {
            whole = self.paired(view, &format!("{stem}.moved"), Arithmetic::Add, [whole, zero])?;
        }
        let value = Value::Tensor(self.mapped(view, &stem, Function::Clip(least, most), whole)?);
        self.declare(&value, kind);
        Ok(value)
    }

    /// An input that has one number for all of a tensor, or one for each place along the dimension `axis`.
    fn beside(&mut self, view: NodeView<'_>, x: TensorId, position: usize) -> Result<Option<TensorId>, GraphError> {
        if self.optional(view, position)?.is_none() {
            return Ok(None);
        }
        let (own, rank) = (self.number(view, position)?, self.shape(x).len());
        let each = match self.shape(own) {
            [] | [1] => vec![1; rank.min(1)],
            &[places] => {
                let at = axis(view, view.int("axis", 1)?, rank)?;
                (0..rank).map(|d| if d == at { places } else { 1 }).collect()
            }
            shape => return Err(view.unsupported(format!("input {position} of shape {shape:?}"))),
        };
        let name = format!("{}.{}", view.proto.output[0], ["x", "scale", "zero"][position]);
        self.emit_part(view, &name, Op::Alias, vec![own], each).map(Some)
    }
}

/// The type that a node states for its result.
fn stated(view: NodeView<'_>) -> Result<Option<DataType>, GraphError> {
    match view.int("output_dtype", 0)? {
        0 => Ok(None),
        number => {
            let known = i32::try_from(number).ok().and_then(|n| DataType::try_from(n).ok()).filter(|kind| is_int(*kind).is_some());
            known.map(Some).ok_or_else(|| view.unsupported(format!("output_dtype {}", type_name(number))))
        }
    }
}
