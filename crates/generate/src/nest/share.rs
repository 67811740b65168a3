//! Reductions that lanes of a group share: each combines a part of the terms, then all of them in local memory.

use crate::names::Names;
use crate::nest::Nest;
use crate::nest::local::Staged;
use warpsight_ir::{Array, Space};

impl Nest<'_> {
    /// The digit of lanes that share reductions, a position in [`Nest::lane_parts`].
    pub fn reduction_lane(&self) -> Option<usize> {
        self.lane_parts.iter().position(|part| part.axis >= self.splits.len())
    }

    /// How many lanes have results of others put onto theirs, one time after the other.
    pub fn halves(&self) -> impl Iterator<Item = u32> + use<> {
        std::iter::successors(Some(self.reduction_lanes / 2), |half| Some(half / 2)).take_while(|half| *half > 0)
    }

    /// Local memory: the copies, then, where lanes share reductions, what they combine: a result for each point of the tile and each lane.
    pub fn local_arrays(&self) -> Vec<Array> {
        let names = Names::new(self.expr);
        let array = |name, element, dims| Array { name, space: Space::Local, element, dims };
        let copy = |own: &Staged| {
            let tensor = self.templates[own.template].tensor;
            let dims = own.local.axes().iter().map(|axis| axis.extent as u32).collect();
            array(names.local(tensor), self.expr.inputs[tensor].element, dims)
        };
        let partial = self.reduction_lane().map(|_| {
            let lanes = self.lane_parts.iter().rev().map(|part| part.size);
            let dims = std::iter::once(self.points()).chain(lanes).chain([self.out_width().into()]).collect();
            array(names.partial(), self.number, dims)
        });
        self.staged.iter().map(copy).chain(partial).chain(self.row_partials(names.partial())).collect()
    }
}
