//! Shapes that are given for a model's inputs.

use crate::error::GraphError;
use crate::onnx::declared::{Dimension, ModelInput};
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
