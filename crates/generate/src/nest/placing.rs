//! Where the tensors of a configuration lie.

use crate::expr::{AxisId, Index};
use crate::layout::{Layout, Place, is_free};
use crate::nest::Nest;
use crate::nest::split::Split;
use crate::schedule::Bind;
use smallvec::SmallVec;

impl<'a> Nest<'a> {
    /// Where a tensor lies. Activations have the forms that a network knows; constants are packed so that the vector axis is
    /// contiguous, in the order in which they are read, and padded so that no bound is needed.
    pub fn lay_out(&self, t: usize) -> Layout {
        let (tensor, place) = (self.expr.tensor(t), self.schedule.places[t]);
        if !is_free(tensor) {
            return Layout::of(tensor, place);
        }
        let image = place.is_image();
        let index = self.index_of(t);
        let extents: Vec<i64> =
            (0..tensor.shape.len()).map(|d| self.padded_extent(tensor.shape[d], index.and_then(|i| i.get(d)))).collect();
        let innermost = index
            .and_then(|i| i.iter().position(|form| self.along_vector(form) == 1))
            .or_else(|| image.then(|| index.and_then(|i| (0..i.len()).rev().find(|&d| self.aligned(&i[d], 4)))).flatten())
            .unwrap_or(tensor.shape.len() - 1);
        match index {
            _ if image => Layout::texels(&extents, innermost).patterned(place),
            Some(index) if place == Place::Panels => Layout::ordered(&extents, self.order_of_reading(index, innermost)),
            _ => Layout::ordered(&extents, (0..extents.len()).filter(|&d| d != innermost).chain([innermost]).map(|d| (d, 1))),
        }
    }

    /// The axes of a constant that is read at this index, in the order in which a work-item reads it: a panel for each tile of it, in that the
    /// loops from the outermost to the innermost, in those the elements of one step, with those of one dimension side by side.
    fn order_of_reading(&self, index: &[Index], mut innermost: usize) -> SmallVec<[(usize, i64); 6]> {
        let parallel = self.splits.len();
        let along = |d: usize| match (index[d].terms(), index[d].constant) {
            (&[(a, 1)], 0) => Some(a),
            _ => None,
        };
        let tile = |d: usize| {
            let split = along(d).and_then(|a| self.splits.get(a.0));
            split.filter(|split| split.blocks > 1).map(Split::per_item).filter(|&tile| tile > 1 && index.len() > 1)
        };
        if self.width() == 1 {
            innermost = (0..index.len()).find(|&d| tile(d).is_some()).unwrap_or(innermost);
        }
        let mut order: SmallVec<[(usize, i64); 6]> = tile(innermost).map(|tile| (innermost, tile)).into_iter().collect();
        let reduced = |d: usize| along(d).filter(|a| a.0 >= parallel && d != innermost);
        order.extend((0..index.len()).filter(|&d| d != innermost && reduced(d).is_none()).map(|d| (d, 1)));
        let of_axis = |a: AxisId| (0..index.len()).filter(move |&d| reduced(d) == Some(a));
        let looped = |a: AxisId| self.walk(a).rolled && self.trip(a) < self.walk(a).extent;
        let sequential = self.schedule.sequential().1.iter().filter(|own| own.bind == Bind::Sequential);
        let mut rolled: SmallVec<[AxisId; 4]> = sequential.map(|own| own.axis).filter(|&a| looped(a)).collect();
        rolled.dedup();
        order.extend(rolled.iter().flat_map(|&a| of_axis(a).map(move |d| (d, self.trip(a)))));
        let inside = (0..self.expr.reduce.len()).map(|r| AxisId(parallel + r)).filter(|&a| !looped(a) || self.trip(a) > 1);
        order.extend(inside.flat_map(|a| of_axis(a).map(|d| (d, 1))));
        order.push((innermost, 1));
        order
    }

    /// The index by which the body (or epilogue) reads an input; the first where there are several.
    fn index_of(&self, tensor: usize) -> Option<&'a [Index]> {
        let mut found = None;
        for scalar in self.expr.scalars() {
            scalar.loads(&mut |t, index, _| {
                if t == tensor && found.is_none() {
                    found = Some(index);
                }
            });
        }
        found
    }

    /// A constant's extent rounded up to what tiles reach along a single parallel axis.
    fn padded_extent(&self, extent: i64, form: Option<&Index>) -> i64 {
        match form.map(|f| (f.terms(), f.constant)) {
            Some((&[(a, 1)], 0)) if a.0 < self.splits.len() => extent.max(self.splits[a.0].blocks * self.splits[a.0].per_item()),
            _ => extent,
        }
    }
}
