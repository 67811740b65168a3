//! What a work-item stores.

use crate::expr::{AxisId, Index};
use crate::layout::Coord;
use crate::nest::{Nest, Offsets};
use smallvec::SmallVec;
use warpsight_ir::range::Interval;

/// One store of a tile point.
#[derive(Clone, Debug, PartialEq)]
pub struct StoreItem {
    /// Constant part of each dimension's index.
    pub offsets: Offsets,
    /// First lane of the point's value that is stored.
    pub start: u8,
    /// Lanes stored (4 for a texel).
    pub width: u8,
    /// When it is left out.
    pub bounds: SmallVec<[StoreBound; 3]>,
}

/// `0 ≤ value < extent`.
#[derive(Clone, Debug, PartialEq)]
pub struct StoreBound {
    /// Position along a parallel axis, or a dimension of the output.
    pub value: Coord,
    /// The extent of that.
    pub extent: i64,
    /// Judged for each lane by itself.
    pub per_lane: bool,
}

impl Nest<'_> {
    /// Elements behind the first one that a store so wide reaches along a dimension, where each lane is judged by itself.
    pub fn clipped_run(&self, d: usize, lanes: u8, per_lane: bool) -> i64 {
        if per_lane && self.along_vector(&self.expr.store[d]) != 0 { i64::from(lanes) - 1 } else { 0 }
    }

    /// Whether what is beyond the end of an axis is outside of the output, too, so that this alone is asked.
    fn ends_with_output(&self, a: AxisId) -> bool {
        let beyond = |(form, shape): (&Index, &i64)| {
            let forwards = form.terms().iter().all(|term| term.1 > 0) && form.coefficient(a) > 0;
            forwards && form.constant + i64::from(form.coefficient(a)) * self.splits[a.0].extent >= *shape
        };
        self.expr.clipped && self.expr.store.iter().zip(&self.expr.output.shape).any(beyond)
    }

    /// Whether a store at an offset along a dimension may be outside of the output.
    pub fn clips(&self, d: usize, offset: i64, run: i64) -> bool {
        if !self.expr.clipped {
            return false;
        }
        let form = &self.expr.store[d];
        // Of a reduction whose points have results each the whole is taken.
        let looped: SmallVec<[bool; 5]> = SmallVec::from_elem(true, self.expr.reduce.len());
        let range = form.range(|a| self.starts(a, &looped)) + Interval::exactly(offset - form.constant);
        range.lo < 0 || range.hi + i128::from(run) >= self.expr.output.shape[d].into()
    }

    /// The stores of one tile point, and of a point of the reduction where each has results, so many lanes wide: whole vectors where lanes are
    /// consecutive in memory, single lanes otherwise.
    pub fn stores(&self, at: &[i64], point: &[i64], width: u8) -> Vec<StoreItem> {
        let vector = self.vector;
        let store = |start: u8, lanes: u8, per_lane: bool| {
            let position = |a: usize| {
                let lane = if vector == Some(AxisId(a)) { i64::from(start) } else { 0 };
                let first = self.splits.get(a).map_or_else(|| point[a - self.splits.len()], |split| at[a] * i64::from(split.width));
                first + lane
            };
            let at = |form: &Index| form.constant + form.terms().iter().map(|&(a, c)| i64::from(c) * position(a.0)).sum::<i64>();
            let offsets: Offsets = self.expr.store.iter().map(at).collect();
            let bounds = self.splits.iter().enumerate().filter_map(|(a, split)| {
                let run = if vector == Some(AxisId(a)) && per_lane { i64::from(lanes) - 1 } else { 0 };
                let last = (split.blocks - 1) * split.per_item() + position(a) + run;
                (last >= split.extent && !self.ends_with_output(AxisId(a))).then(|| StoreBound {
                    value: Coord::term(AxisId(a), (split.tile * split.width) as i32).with_constant(position(a)),
                    extent: split.extent,
                    per_lane: run > 0,
                })
            });
            let clips =
                (0..offsets.len()).filter(|&d| self.clips(d, offsets[d], self.clipped_run(d, lanes, per_lane))).map(|d| StoreBound {
                    // Places of what is stored were found to be within their numbers.
                    value: self.in_blocks(&self.expr.store[d]).unwrap_or_default().with_constant(offsets[d]),
                    extent: self.expr.output.shape[d],
                    per_lane: self.clipped_run(d, lanes, per_lane) > 0,
                });
            let bounds = bounds.chain(clips).collect();
            StoreItem { offsets, start, width: lanes, bounds }
        };
        let layout = self.output_layout();
        let innermost = layout.innermost().map(|own| own.0);
        let consecutive = self.expr.store.iter().enumerate().all(|(d, form)| self.along_vector(form) == i32::from(innermost == Some(d)));
        match layout.block() {
            // Whole blocks, behind the last of which nothing follows that matters: the first element decides.
            Some((_, block)) if layout.is_image() || width > 1 && consecutive => {
                let piece = block.min(i64::from(width)) as u8;
                (0..width / piece).map(|i| store(i * piece, piece, false)).collect()
            }
            None if width == 1 || consecutive => vec![store(0, width, true)],
            _ => (0..width).map(|i| store(i, 1, false)).collect(),
        }
    }
}
