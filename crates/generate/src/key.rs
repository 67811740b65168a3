//! The identity of expressions: everything but names.

use crate::expr::{Across, Axis, AxisId, Coefficients, Combine, Index, Operator, Reduction, Role, ScalarExpr, Tensor, TensorExpr};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use warpsight_ir::{BinaryOp, ConfigSpace, Knob, Scalar, UnaryOp};

/// The first byte of every encoding. It changes whenever an expression is encoded otherwise than before: what the store keeps under keys
/// of another version is then never taken for today's.
pub const VERSION: u8 = 1;

/// The bits that stand for every NaN.
const NAN: u64 = 0x7ff8_0000_0000_0000;

/// What makes expressions one: two keys are equal exactly where the expressions differ in names alone, those of expressions, tensors and
/// axes.
///
/// A key holds the whole encoding and no hash of it, so equality is exact. Every list has its length before it, every alternative a
/// number, and numbers a fixed width, so no two expressions share an encoding. Tensors are known by the order in which they first
/// appear; that way a key of several expressions also says which of them reads what another one writes. Constants count by their bits:
/// 0 and −0 are two, since a division tells them apart; all NaNs are one, since no kernel does.
///
/// [`Display`](fmt::Display) is its short form: the version and 128 bits of the encoding's SHA-256, `e1-` and 32 hexadecimal digits.
///
/// ```
/// use warpsight_generate::{ExprKey, operators::parse_operator};
/// let mut product = parse_operator("matmul m=4 n=8 k=2").unwrap().steps.remove(0);
/// let key = ExprKey::of(&product);
/// product.name = "gemm".into();
/// product.axes[0].name = "row".into();
/// assert_eq!(ExprKey::of(&product), key);
/// product.axes[0].extent = 5;
/// assert_ne!(ExprKey::of(&product), key);
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExprKey(Arc<[u8]>);

impl ExprKey {
    /// The key of an expression.
    pub fn of(expr: &TensorExpr) -> Self {
        Self::of_steps(std::slice::from_ref(expr))
    }

    /// The key of an operator's expressions in their order; what it is called does not matter.
    pub fn of_operator(operator: &Operator) -> Self {
        let Operator { kind: _, steps } = operator;
        Self::of_steps(steps)
    }

    fn of_steps(steps: &[TensorExpr]) -> Self {
        let mut encoder = Encoder { bytes: vec![VERSION], tensors: HashMap::new() };
        encoder.list(steps, Encoder::expression);
        Self(encoder.bytes.into())
    }

    /// The key of expressions whose configurations are kept in the words of this space.
    ///
    /// Such words hold names of axes and tensors: `tile_m` of one expression may be `tile_n` of another one that differs in names alone.
    /// Where a configuration is kept in words, they are a part of what it belongs to.
    pub fn with_words(&self, space: &ConfigSpace) -> Self {
        let ConfigSpace { knobs } = space;
        let mut encoder = Encoder { bytes: self.0.to_vec(), tensors: HashMap::new() };
        encoder.list(knobs, |e, Knob { name, values, labels, further: _ }| {
            e.text(name);
            e.list(values, |e, value| e.integer(i64::from(*value)));
            e.list(labels, |e, label| e.text(label));
        });
        Self(encoder.bytes.into())
    }
}

impl fmt::Display for ExprKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "e{VERSION}-")?;
        Sha256::digest(&self.0).iter().take(16).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ExprKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExprKey({self})")
    }
}

/// An encoding under construction. Structures are taken apart field by field: one more field does not compile until it is written here.
struct Encoder<'a> {
    bytes: Vec<u8>,
    /// The tensors so far, by name.
    tensors: HashMap<&'a str, usize>,
}

impl<'a> Encoder<'a> {
    fn tag(&mut self, number: u8) {
        self.bytes.push(number);
    }

    fn integer(&mut self, value: i64) {
        self.bytes.extend(value.to_le_bytes());
    }

    fn count(&mut self, value: usize) {
        self.bytes.extend((value as u64).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes.extend(text.as_bytes());
    }

    fn list<T>(&mut self, all: &'a [T], mut one: impl FnMut(&mut Self, &'a T)) {
        self.count(all.len());
        all.iter().for_each(|item| one(self, item));
    }

    fn expression(&mut self, expr: &'a TensorExpr) {
        let TensorExpr { name: _, inputs, output, axes, reduce, before, combine, coefficients, body, epilogue, across, store, clipped } =
            expr;
        self.list(inputs, Self::tensor);
        self.tensor(output);
        self.list(axes, Self::axis);
        self.list(reduce, Self::axis);
        // A tag of its own, so that what has none before is encoded as ever.
        if !before.is_empty() {
            self.tag(3);
            self.list(before, Self::reduction);
        }
        // The same of what most have none of.
        if let Some(Coefficients { values, at }) = coefficients {
            self.tag(4);
            self.list(values, Self::number);
            self.index(at);
        }
        if *clipped {
            self.tag(5);
        }
        if let Some(Across { along, made, epilogue }) = across {
            self.tag(7);
            self.count(along.0);
            self.list(made, Self::reduction);
            self.scalar(epilogue);
        }
        self.combine(*combine);
        self.scalar(body);
        self.scalar(epilogue);
        self.list(store, Self::index);
    }

    fn reduction(&mut self, Reduction { combine, body, epilogue, kept }: &'a Reduction) {
        if *kept {
            self.tag(6);
        }
        self.combine(*combine);
        self.scalar(body);
        self.scalar(epilogue);
    }

    fn number(&mut self, value: &f64) {
        let bits = if value.is_nan() { NAN } else { value.to_bits() };
        self.bytes.extend(bits.to_le_bytes());
    }

    fn combine(&mut self, combine: Combine) {
        self.tag(match combine {
            Combine::Sum => 0,
            Combine::Max => 1,
            Combine::Each => 2,
            Combine::Product => 3,
        });
    }

    fn tensor(&mut self, tensor: &'a Tensor) {
        // Kernels are the same whatever a table holds.
        let Tensor { name, shape, element, role, values: _ } = tensor;
        let next = self.tensors.len();
        let number = *self.tensors.entry(name).or_insert(next);
        self.count(number);
        self.list(shape, |e, extent| e.integer(*extent));
        self.element(*element);
        self.tag(match role {
            Role::Activation => 0,
            Role::Weight => 1,
            Role::Output => 2,
        });
    }

    fn axis(&mut self, axis: &'a Axis) {
        let Axis { name: _, extent } = axis;
        self.integer(*extent);
    }

    fn index(&mut self, index: &'a Index) {
        self.list(index.terms(), |e, (AxisId(axis), coefficient)| {
            e.count(*axis);
            e.integer(i64::from(*coefficient));
        });
        self.integer(index.constant);
    }

    fn scalar(&mut self, scalar: &'a ScalarExpr) {
        match scalar {
            ScalarExpr::Const(value) => {
                self.tag(0);
                self.number(value);
            }
            ScalarExpr::Acc => self.tag(1),
            ScalarExpr::Load { tensor, index, padded } => {
                self.tag(2);
                self.count(*tensor);
                self.list(index, Self::index);
                self.tag(u8::from(*padded));
            }
            ScalarExpr::Unary(op, a) => {
                self.tag(3);
                self.unary(*op);
                self.scalar(a);
            }
            ScalarExpr::Binary(op, a, b) => {
                self.tag(4);
                self.binary(*op);
                self.scalar(a);
                self.scalar(b);
            }
            ScalarExpr::Round(to, a) => {
                self.tag(5);
                self.element(*to);
                self.scalar(a);
            }
            ScalarExpr::Before(n) => {
                self.tag(6);
                self.count(*n);
            }
            ScalarExpr::Position(form) => {
                self.tag(7);
                self.index(form);
            }
            ScalarExpr::Gather { tensor, index, found } => {
                self.tag(8);
                self.count(*tensor);
                self.list(index, Self::index);
                self.list(found, |e, (d, own)| {
                    e.count(*d);
                    e.scalar(own);
                });
            }
            ScalarExpr::Select(condition, a, b) => {
                self.tag(9);
                [condition, a, b].into_iter().for_each(|own| self.scalar(own));
            }
        }
    }

    fn element(&mut self, element: Scalar) {
        self.tag(match element {
            Scalar::Bool => 0,
            Scalar::I32 => 1,
            Scalar::U32 => 2,
            Scalar::I64 => 3,
            Scalar::U64 => 4,
            Scalar::F16 => 5,
            Scalar::Bf16 => 6,
            Scalar::F32 => 7,
            Scalar::F64 => 8,
            Scalar::Half => 9,
        });
    }

    fn unary(&mut self, op: UnaryOp) {
        self.tag(match op {
            UnaryOp::Neg => 0,
            UnaryOp::Not => 1,
            UnaryOp::Abs => 2,
            UnaryOp::Floor => 3,
            UnaryOp::Ceil => 4,
            UnaryOp::Exp => 5,
            UnaryOp::Log => 6,
            UnaryOp::Sqrt => 7,
            UnaryOp::Rsqrt => 8,
            UnaryOp::Tanh => 9,
            UnaryOp::Sin => 10,
            UnaryOp::Cos => 11,
            UnaryOp::Erf => 12,
        });
    }

    fn binary(&mut self, op: BinaryOp) {
        self.tag(match op {
            BinaryOp::Add => 0,
            BinaryOp::Sub => 1,
            BinaryOp::Mul => 2,
            BinaryOp::Div => 3,
            BinaryOp::Rem => 4,
            BinaryOp::Min => 5,
            BinaryOp::Max => 6,
            BinaryOp::And => 7,
            BinaryOp::Or => 8,
            BinaryOp::Xor => 9,
            BinaryOp::Shl => 10,
            BinaryOp::Shr => 11,
            BinaryOp::Lt => 12,
            BinaryOp::Le => 13,
            BinaryOp::Eq => 14,
            BinaryOp::Ne => 15,
        });
    }
}
