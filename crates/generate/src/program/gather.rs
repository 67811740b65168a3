//! Positions as values, and elements found through them.

use super::value::Value;
use super::{At, Writer, add};
use crate::expr::Index;
use crate::layout::Coords;
use crate::nest::Offsets;
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
        let several = |piece: u8| {
            let parts = (0..at.width).step_by(piece.into()).map(|lane| load(lane, piece)).collect();
            Value::joined(parts, at.width, kind)
        };
        match moving[..] {
            [] => Value { expr: load(0, 1), width: 1, kind },
            [d] if beside(d) => several(self.nest.layouts[tensor].together(&self.offsets(index, at, 0), at.width)),
            _ => several(1),
        }
    }

    fn offsets(&self, index: &[Index], at: At, lane: u8) -> Offsets {
        index.iter().map(|form| self.nest.offset(form, at.tile, at.point, lane.into())).collect()
    }

    fn found(&self, tensor: usize, (index, found): (&[Index], &[(usize, Value)]), at: At, (lane, width): (u8, u8)) -> Expr {
        let (layout, shape) = (&self.nest.layouts[tensor], &self.expr.inputs[tensor].shape);
        let offsets = self.offsets(index, at, lane);
        let moved = |d: usize, form: Expr| {
            let numbers = found.iter().filter(|own| own.0 == d).map(|own| own.1.lane(lane));
            numbers.fold(form, |at, number| if at == Expr::int(0) { number } else { add(at, number) })
        };
        let guard = (0..index.len()).filter_map(|d| {
            let run = layout.run(d, width);
            let known = found.iter().all(|own| own.0 != d) && self.nest.stays(&index[d], offsets[d], run, shape[d], at.looped);
            let bound = || Bound { value: moved(d, self.place(&index[d], at, lane)), extent: Expr::int(shape[d]), per_lane: run > 0 };
            (!known).then(bound)
        });
        let guard = guard.collect();
        // Numbers move along dimensions of one axis each: those that are taken apart are read by forms alone.
        let dims: Coords = index.iter().map(|form| self.nest.in_blocks(form).unwrap_or_default()).collect();
        let forms = self.coords(&layout.varying(&dims).unwrap_or_default(), &layout.coords(&offsets), at.looped);
        let index = layout.axes().iter().zip(forms).map(|(axis, form)| moved(axis.dim, form)).collect();
        Expr::Load { source: self.expr.inputs[tensor].name.clone(), index, width, guard }
    }
}
