//! What a work-item stores.

use crate::expr::{AxisId, Index};
use crate::layout::Coord;
use crate::nest::{Nest, Offsets};
use smallvec::SmallVec;

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
    /// Position along a parallel axis.
    pub value: Coord,
    /// The axis's extent.
    pub extent: i64,
    /// Judged for each lane by itself.
    pub per_lane: bool,
}

impl Nest<'_> {
    /// The stores of one tile point, and of a point of the reduction where each has results, so many lanes wide: whole vectors where lanes are
    /// consecutive in memory, single lanes otherwise.
    pub fn stores(&self, at: &[i64], point: &[i64], width: u8) -> Vec<StoreItem> {
        let vector = self.choice.vector.0;
        let store = |start: u8, lanes: u8, per_lane: bool| {
            let position = |a: usize| {
                let lane = if vector.0 == a { i64::from(start) } else { 0 };
                let first = self.splits.get(a).map_or_else(|| point[a - self.splits.len()], |split| at[a] * i64::from(split.width));
                first + lane
            };
            let at = |form: &Index| form.constant + form.terms().iter().map(|&(a, c)| i64::from(c) * position(a.0)).sum::<i64>();
            let offsets = self.expr.store.iter().map(at).collect();
            let bounds = self.splits.iter().enumerate().filter_map(|(a, split)| {
                let run = if vector.0 == a && per_lane { i64::from(lanes) - 1 } else { 0 };
                let last = (split.blocks - 1) * split.per_item() + position(a) + run;
                (last >= split.extent).then(|| StoreBound {
                    value: Coord::term(AxisId(a), (split.tile * split.width) as i32).with_constant(position(a)),
                    extent: split.extent,
                    per_lane: run > 0,
                })
            });
            StoreItem { offsets, start, width: lanes, bounds: bounds.collect() }
        };
        let layout = self.output_layout();
        let innermost = layout.innermost().map(|own| own.0);
        let consecutive = self.expr.store.iter().enumerate().all(|(d, form)| form.coefficient(vector) == i32::from(innermost == Some(d)));
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
