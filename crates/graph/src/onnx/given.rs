//! Shapes that are given for a model's inputs, and values that make constants of them.

use crate::error::GraphError;
use crate::onnx::declared::{Dimension, ModelInput};
use crate::onnx::literal::{is_int, wrapped};
use crate::onnx::proto::TensorProto;
use crate::onnx::proto::tensor_proto::DataType;
use std::str::FromStr;

/// A shape given for an input, as in `x=1,3,48,192`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputShape {
    /// The input's name.
    pub input: String,
    /// Its extents, each at least 1.
    pub shape: Vec<i64>,
}

impl FromStr for InputShape {
    type Err = GraphError;

    fn from_str(text: &str) -> Result<Self, GraphError> {
        let fail = |reason: String| GraphError::InputShape { text: text.into(), reason };
        // The last `=`: names may have others.
        let (input, list) = text.rsplit_once('=').ok_or_else(|| fail("there is no `=`".into()))?;
        if input.trim().is_empty() {
            return Err(fail("the input's name is missing".into()));
        }
        let extent = |word: &str| match word.trim().parse::<i64>() {
            Ok(extent) if extent >= 1 => Ok(extent),
            _ => Err(fail(format!("`{}` is no positive whole number", word.trim()))),
        };
        let shape = list.split(',').map(extent).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { input: input.trim().into(), shape })
    }
}

impl InputShape {
    /// Its extents may be those of this input.
    ///
    /// # Errors
    /// [`GraphError::ShapeConflict`].
    pub(super) fn check(&self, input: &ModelInput) -> Result<(), GraphError> {
        let conflict = |declared| GraphError::ShapeConflict { input: input.name.clone(), given: self.shape.clone(), declared };
        let length = self.shape.iter().try_fold(1i64, |n, &e| if e < 1 { None } else { n.checked_mul(e) });
        if length.is_none_or(|n| n > i64::from(i32::MAX)) {
            return Err(conflict("extents of 1 or more and at most 2147483647 elements".into()));
        }
        let agrees = |(d, given): (&Dimension, &i64)| !matches!(d, Dimension::Fixed(v) if v != given);
        let fits = |shape: &Vec<Dimension>| shape.len() == self.shape.len() && shape.iter().zip(&self.shape).all(agrees);
        if input.shape.as_ref().is_none_or(fits) { Ok(()) } else { Err(conflict(input.pattern())) }
    }
}

/// Values given for an input, row by row, as in `axes=0,2`: a network is read for these, as if they were constants.
#[derive(Clone, Debug, PartialEq)]
pub struct InputValues {
    /// The input's name.
    pub input: String,
    /// Its elements.
    pub values: Vec<Given>,
}

/// A number as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Given {
    /// Without a point, or a truth value.
    Whole(i64),
    /// Any other.
    Float(f64),
}

impl FromStr for InputValues {
    type Err = GraphError;

    fn from_str(text: &str) -> Result<Self, GraphError> {
        let fail = |reason: String| GraphError::InputValues { text: text.into(), reason };
        let (input, list) = text.rsplit_once('=').ok_or_else(|| fail("there is no `=`".into()))?;
        if input.trim().is_empty() {
            return Err(fail("the input's name is missing".into()));
        }
        let value = |word: &str| match (word.trim(), word.trim().parse::<i64>(), word.trim().parse::<f64>()) {
            ("true", ..) => Ok(Given::Whole(1)),
            ("false", ..) => Ok(Given::Whole(0)),
            (_, Ok(whole), _) => Ok(Given::Whole(whole)),
            (_, _, Ok(value)) if value.is_finite() => Ok(Given::Float(value)),
            (word, ..) => Err(fail(format!("`{word}` is no number"))),
        };
        // An empty list is one, too.
        let words = list.split(',').filter(|_| !list.trim().is_empty());
        Ok(Self { input: input.trim().into(), values: words.map(value).collect::<Result<_, _>>()? })
    }
}

impl InputValues {
    /// The constant that it makes of an input of this type: in the shape that was given or is declared, else as a list.
    ///
    /// # Errors
    /// [`GraphError::InputValues`], and a given shape that the input cannot have.
    pub(super) fn constant(&self, input: &ModelInput, kind: DataType, given: Option<&InputShape>) -> Result<TensorProto, GraphError> {
        let fail = |reason: String| GraphError::InputValues { text: self.input.clone(), reason };
        given.map_or(Ok(()), |shape| shape.check(input))?;
        let shape = given.map(|own| own.shape.clone()).or_else(|| input.fixed()).unwrap_or_else(|| vec![self.values.len() as i64]);
        let declared = input.shape.as_ref().map_or(shape.len(), Vec::len);
        let length = shape.iter().try_fold(1_i64, |n, &extent| n.checked_mul(extent));
        if declared != shape.len() || length != Some(self.values.len() as i64) {
            let of = given.map_or_else(|| input.pattern(), |own| format!("{:?}", own.shape));
            return Err(fail(format!("{} values for an input of shape {of}, which --input-shape may say", self.values.len())));
        }
        let mut constant = TensorProto { name: self.input.clone(), dims: shape, data_type: kind.into(), ..TensorProto::default() };
        let type_name = kind.as_str_name();
        if is_int(kind) == Some(true) {
            let fits = |own: &Given| match *own {
                Given::Whole(value) if wrapped(kind, value) == Some(value) => Ok(value),
                Given::Whole(value) => Err(fail(format!("{value} is no {type_name}"))),
                Given::Float(value) => Err(fail(format!("{value} is no {type_name}: whole numbers up to {} are read", i64::MAX))),
            };
            let values = self.values.iter().map(fits).collect::<Result<Vec<i64>, _>>()?;
            match kind {
                DataType::Int64 => constant.int64_data = values,
                DataType::Uint32 | DataType::Uint64 => constant.uint64_data = values.iter().map(|&own| own as u64).collect(),
                _ => constant.int32_data = values.iter().map(|&own| own as i32).collect(),
            }
            return Ok(constant);
        }
        let number = |own: &Given| match *own {
            Given::Whole(value) => value as f64,
            Given::Float(value) => value,
        };
        let values: Vec<f64> = self.values.iter().map(number).collect();
        match kind {
            DataType::Float => constant.float_data = values.iter().map(|&own| own as f32).collect(),
            DataType::Double => constant.double_data = values,
            _ => return Err(fail(format!("values of an input of type {type_name} cannot be given"))),
        }
        match constant.float_data.iter().all(|own| own.is_finite()) {
            true => Ok(constant),
            false => Err(fail(format!("a number beyond {type_name}"))),
        }
    }
}
