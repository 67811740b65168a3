//! Positions as values, and elements found through them.

use super::value::Value;
use super::{At, Writer, add};
use crate::expr::Index;
use warpsight_ir::{Bound, Expr, Scalar};

impl Writer<'_> {
    /// The integer that a form is at a lane.
    fn place(&self, form: &Index, at: At, lane: u8) -> Expr {
        // Forms of an operator have 32 bits, and so have those of blocks beyond its ends.
        let variable = self.nest.in_blocks(form).unwrap_or_default();
        self.coord(&variable, self.nest.offset(form, at.tile, at.point, lane.into()), at.looped)
    }

    /// The integers that a form is.
    pub fn position(&self, form: &Index, at: At) -> Value {
        let lanes = if at.width > 1 && self.nest.along_vector(form) != 0 { at.width } else { 1 };
        Value::joined((0..lanes).map(|lane| self.place(form, at, lane)).collect(), lanes, Scalar::I32)
    }

    /// Elements of a tensor where forms and numbers say: side by side where only the innermost dimension moves with lanes, and is no number.
    pub fn gather(&self, tensor: usize, index: &[Index], found: &[(usize, Value)], at: At) -> Value {
        let kind = self.expr.inputs[tensor].element.widened();
        let innermost = self.nest.layouts[tensor].innermost().map(|own| own.0);
        let moving = |d: usize| self.nest.along_vector(&index[d]) != 0 || found.iter().any(|own| own.0 == d && own.1.width > 1);
        let moving: Vec<usize> = (0..index.len()).filter(|&d| at.width > 1 && moving(d)).collect();
        let beside = |d: usize| Some(d) == innermost && self.nest.along_vector(&index[d]) == 1 && found.iter().all(|own| own.0 != d);
        let load = |lane: u8, width: u8| self.found(tensor, (index, found), at, (lane, width));
        match moving[..] {
            [] => Value { expr: load(0, 1), width: 1, kind },
            [d] if beside(d) => Value { expr: load(0, at.width), width: at.width, kind },
            _ => Value::joined((0..at.width).map(|lane| load(lane, 1)).collect(), at.width, kind),
        }
    }

    fn found(&self, tensor: usize, (index, found): (&[Index], &[(usize, Value)]), at: At, (lane, width): (u8, u8)) -> Expr {
        let layout = &self.nest.layouts[tensor];
        let shape = &self.expr.inputs[tensor].shape;
        let place = |d: usize| {
            let form = self.place(&index[d], at, lane);
            let numbers = found.iter().filter(|own| own.0 == d).map(|own| own.1.lane(lane));
            numbers.fold(form, |at, number| if at == Expr::int(0) { number } else { add(at, number) })
        };
        let guard = (0..index.len()).filter_map(|d| {
            let run = layout.run(d, width);
            let offset = self.nest.offset(&index[d], at.tile, at.point, lane.into());
            let known = found.iter().all(|own| own.0 != d) && self.nest.stays(&index[d], offset, run, shape[d], at.looped);
            (!known).then(|| Bound { value: place(d), extent: Expr::int(shape[d]), per_lane: run > 0 })
        });
        let guard = guard.collect();
        // It lies row by row: an axis of memory for each dimension.
        let index = layout.axes().iter().map(|axis| place(axis.dim)).collect();
        Expr::Load { source: self.expr.inputs[tensor].name.clone(), index, width, guard }
    }
}
