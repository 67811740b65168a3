//! Reductions that lanes of a group share: each combines a part of the terms, then all of them in local memory.

use crate::nest::Nest;
use smallvec::SmallVec;

impl Nest<'_> {
    /// The digit of lanes that share reductions, a position in [`Nest::lane_parts`].
    pub fn reduction_lane(&self) -> Option<usize> {
        self.lane_parts.iter().position(|part| part.axis >= self.splits.len())
    }

    /// How many lanes have results of others put onto theirs, one time after the other.
    pub fn halves(&self) -> impl Iterator<Item = u32> + use<> {
        std::iter::successors(Some(self.choice.reduction_lanes / 2), |half| Some(half / 2)).take_while(|half| *half > 0)
    }

    /// Extents of local memory for partial results: points of a tile, lanes, vector lanes. `None` where lanes share nothing.
    pub fn partial_dims(&self) -> Option<SmallVec<[i64; 6]>> {
        self.reduction_lane()?;
        let points: i64 = self.splits.iter().map(|split| i64::from(split.tile)).product();
        let lanes = self.lane_parts.iter().rev().map(|part| i64::from(part.size));
        Some(std::iter::once(points).chain(lanes).chain([i64::from(self.out_width())]).collect())
    }
}
