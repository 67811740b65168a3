//! Angles by what their sines, cosines and tangents are.

use super::{Importer, Value};
use crate::error::GraphError;
use crate::graph::TensorId;
use crate::graph::op::{Arithmetic, Function};
use crate::onnx::attributes::NodeView;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

/// Of what an angle is given.
#[derive(Clone, Copy)]
pub(super) enum Given {
    Sine,
    Cosine,
    Tangent,
}

/// Terms of the series of an angle by its tangent. Up to tan(π/8) the next one would add less than 5e-8 of the angle.
const TERMS: i32 = 8;

impl Importer {
    pub(super) fn angle(&mut self, view: NodeView<'_>, given: Given) -> Result<Value, GraphError> {
        let (x, stem) = (self.floats(view, 0)?, view.proto.output[0].clone());
        let part = |name: &str| format!("{stem}.{name}");
        let value = match given {
            Given::Tangent => self.by_tangent(view, &stem, x)?,
            // By (1 - x)(1 + x) nothing cancels: a root of 0 is a right angle, of less no number.
            Given::Sine | Given::Cosine => {
                let one = self.held_number(&part("one"), 1.0);
                let (less, more) = (
                    self.pair(view, &part("less"), Arithmetic::Sub, [one, x])?,
                    self.pair(view, &part("more"), Arithmetic::Add, [one, x])?,
                );
                if let Given::Sine = given {
                    let square = self.pair(view, &part("square"), Arithmetic::Mul, [less, more])?;
                    let cosine = self.mapped(view, &part("cosine"), Function::Sqrt, square)?;
                    let tangent = self.pair(view, &part("tangent"), Arithmetic::Div, [x, cosine])?;
                    self.by_tangent(view, &stem, tangent)?
                } else {
                    // Twice the angle whose tangent this is, however small.
                    let square = self.pair(view, &part("square"), Arithmetic::Div, [less, more])?;
                    let tangent = self.mapped(view, &part("tangent"), Function::Sqrt, square)?;
                    let half = self.by_tangent(view, &part("half"), tangent)?;
                    self.with_number(view, &stem, Arithmetic::Mul, half, 2.0)?
                }
            }
        };
        Ok(Value::Tensor(value))
    }

    /// The angle of a tangent: above 1 what its reciprocal leaves of a right one, above tan(π/8) half a right one beside what is left.
    fn by_tangent(&mut self, view: NodeView<'_>, stem: &str, x: TensorId) -> Result<TensorId, GraphError> {
        let part = |name: &str| format!("{stem}.atan.{name}");
        let one = self.held_number(&part("one"), 1.0);
        let size = self.mapped(view, &part("size"), Function::Abs, x)?;
        let steep = self.pair(view, &part("steep"), Arithmetic::Less, [one, size])?;
        let turned = self.pair(view, &part("turned"), Arithmetic::Div, [one, size])?;
        let near = self.selected(view, &part("near"), [steep, turned, size])?;
        let bound = self.held_number(&part("bound"), std::f64::consts::SQRT_2 - 1.0);
        let middle = self.pair(view, &part("middle"), Arithmetic::Less, [bound, near])?;
        let below = self.pair(view, &part("below"), Arithmetic::Sub, [near, one])?;
        let above = self.pair(view, &part("above"), Arithmetic::Add, [near, one])?;
        let beside = self.pair(view, &part("beside"), Arithmetic::Div, [below, above])?;
        let near = self.selected(view, &part("least"), [middle, beside, near])?;
        // t - t³/3 + t⁵/5 - …, from the last term on.
        let square = self.pair(view, &part("square"), Arithmetic::Mul, [near, near])?;
        let coefficient = |term: i32| f64::from(1 - term % 2 * 2) / f64::from(2 * term + 1);
        let mut sum = self.held_number(&part("last"), coefficient(TERMS - 1));
        for term in (0..TERMS - 1).rev() {
            let product = self.pair(view, &part(&format!("product{term}")), Arithmetic::Mul, [sum, square])?;
            let own = self.held_number(&part(&format!("term{term}")), coefficient(term));
            sum = self.pair(view, &part(&format!("sum{term}")), Arithmetic::Add, [product, own])?;
        }
        let angle = self.pair(view, &part("angle"), Arithmetic::Mul, [sum, near])?;
        let more = self.with_number(view, &part("more"), Arithmetic::Add, angle, FRAC_PI_4)?;
        let angle = self.selected(view, &part("from_half"), [middle, more, angle])?;
        let right = self.held_number(&part("right"), FRAC_PI_2);
        let left = self.pair(view, &part("left"), Arithmetic::Sub, [right, angle])?;
        let angle = self.selected(view, &part("own"), [steep, left, angle])?;
        let negative = self.with_number(view, &part("negative"), Arithmetic::Less, x, 0.0)?;
        let away = self.mapped(view, &part("away"), Function::Neg, angle)?;
        let angle = self.selected(view, &part("signed"), [negative, away, angle])?;
        // Zero keeps its sign.
        let nothing = self.with_number(view, &part("nothing"), Arithmetic::Equal, x, 0.0)?;
        self.selected(view, stem, [nothing, x, angle])
    }
}
