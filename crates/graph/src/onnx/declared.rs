//! What a model declares of itself: versions, and the shapes of its inputs as far as it knows them.

use crate::onnx::proto::tensor_shape_proto::dimension::Value as DimValue;
use crate::onnx::proto::{ValueInfoProto, type_proto};
use std::ops::RangeInclusive;

/// Versions of ONNX's operator set that are read. Before 7, operators broadcast by an attribute.
pub const OPSETS: RangeInclusive<i64> = 7..=24;

/// One dimension of a declared shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// A number.
    Fixed(i64),
    /// Open, perhaps with a name.
    Free(Option<String>),
}

/// An input as the model declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelInput {
    /// Its name.
    pub name: String,
    /// Its dimensions; `None` where even their number is open.
    pub shape: Option<Vec<Dimension>>,
}

/// A dimension of an input that the model leaves open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreeDimension {
    /// The input.
    pub input: String,
    /// Its position; `None` where the number of dimensions is open as well.
    pub axis: Option<usize>,
    /// The model's name for it.
    pub name: Option<String>,
}

impl std::fmt::Display for FreeDimension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.axis, &self.name) {
            (Some(axis), Some(name)) => write!(f, "{}[{axis}] ({name})", self.input),
            (Some(axis), None) => write!(f, "{}[{axis}]", self.input),
            (None, _) => write!(f, "all of {}", self.input),
        }
    }
}

impl ModelInput {
    /// As a file has it.
    pub(super) fn of(input: &ValueInfoProto) -> Self {
        Self { name: input.name.clone(), shape: declared_shape(input) }
    }

    /// Its extents, where all are numbers.
    pub(super) fn fixed(&self) -> Option<Vec<i64>> {
        let of = |d: &Dimension| match d {
            Dimension::Fixed(v) => Some(*v),
            Dimension::Free(_) => None,
        };
        self.shape.as_ref()?.iter().map(of).collect()
    }

    /// The dimensions that are open.
    pub(super) fn free_dimensions(&self) -> Vec<FreeDimension> {
        let Some(shape) = &self.shape else {
            return vec![FreeDimension { input: self.name.clone(), axis: None, name: None }];
        };
        let of = |(axis, d): (usize, &Dimension)| match d {
            Dimension::Fixed(_) => None,
            Dimension::Free(name) => Some(FreeDimension { input: self.name.clone(), axis: Some(axis), name: name.clone() }),
        };
        shape.iter().enumerate().filter_map(of).collect()
    }

    /// `?,3,?,?`
    pub(super) fn pattern(&self) -> String {
        let of = |d: &Dimension| match d {
            Dimension::Fixed(v) => v.to_string(),
            Dimension::Free(_) => "?".into(),
        };
        self.shape.as_ref().map_or_else(|| "?".into(), |s| s.iter().map(of).collect::<Vec<_>>().join(","))
    }
}

fn declared_shape(input: &ValueInfoProto) -> Option<Vec<Dimension>> {
    let Some(type_proto::Value::TensorType(tensor)) = input.r#type.as_ref()?.value.as_ref() else { return None };
    let of = |value: Option<&DimValue>| match value {
        Some(DimValue::DimValue(v)) if *v > 0 => Dimension::Fixed(*v),
        // Some exporters write −1 or 0 for "any".
        Some(DimValue::DimValue(_)) | None => Dimension::Free(None),
        Some(DimValue::DimParam(p)) => Dimension::Free((!p.is_empty()).then(|| p.clone())),
    };
    Some(tensor.shape.as_ref()?.dim.iter().map(|d| of(d.value.as_ref())).collect())
}
