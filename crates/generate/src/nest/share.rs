//! What lanes of a group share: each combines a part of the terms of a reduction, or of a row of results, then all of them what they have in
//! local memory, one half put onto the other until the first lane has it all.

use crate::expr::AxisId;
use crate::names::Names;
use crate::nest::Nest;
use crate::nest::local::Staged;
use warpsight_ir::{Array, Space};

/// What lanes combine in local memory.
pub struct Partials {
    /// Results of a work-item, or vectors of them.
    pub results: u32,
    /// Vector lanes of each.
    pub width: u8,
    /// The axes that have lanes, as what these have lies in local memory.
    pub axes: Vec<AxisId>,
    /// The one whose lanes combine what they have.
    pub along: AxisId,
    /// How many those are.
    pub lanes: u32,
}

impl Partials {
    /// How many lanes have what others have put onto theirs, one time after the other.
    pub fn halves(&self) -> impl Iterator<Item = u32> + use<> {
        std::iter::successors(Some(self.lanes / 2), |half| Some(half / 2)).take_while(|half| *half > 0)
    }
}

impl Nest<'_> {
    /// The digit of lanes that share reductions, a position in [`Nest::lane_parts`].
    pub fn reduction_lane(&self) -> Option<usize> {
        self.lane_parts.iter().position(|part| part.axis >= self.splits.len())
    }

    /// What lanes of a group combine, if they do: a result for each point of the tile, or what they have of each row.
    pub fn partials(&self) -> Option<Partials> {
        if let Some(lane) = self.reduction_lane() {
            // Nothing is copied beside: the lanes of an axis are one digit.
            let axes = self.lane_parts.iter().rev().map(|part| AxisId(part.axis)).collect();
            let along = AxisId(self.lane_parts[lane].axis);
            return Some(Partials { results: self.points(), width: self.out_width(), axes, along, lanes: self.reduction_lanes });
        }
        let across = self.expr.across.as_ref().filter(|_| self.schedule.row_lanes() > 1)?;
        let others = self.launched.iter().rev().filter(|&&a| a != across.along.0 && self.splits[a].lanes > 1);
        let axes = others.map(|&a| AxisId(a)).chain([across.along]).collect();
        let width = self.row_width(across.along);
        Some(Partials { results: self.rows(across), width, axes, along: across.along, lanes: self.schedule.row_lanes() })
    }

    /// Local memory: the copies, then what lanes combine.
    pub fn local_arrays(&self) -> Vec<Array> {
        let names = Names::new(self.expr);
        let array = |name, element, dims| Array { name, space: Space::Local, element, dims };
        let copy = |own: &Staged| {
            let tensor = self.templates[own.template].tensor;
            let dims = own.local.axes().iter().map(|axis| axis.extent as u32).collect();
            array(names.local(tensor), self.expr.inputs[tensor].element, dims)
        };
        let partial = self.partials().map(|own| {
            let lanes = own.axes.iter().map(|a| self.splits.get(a.0).map_or(self.reduction_lanes, |split| split.lanes));
            array(names.partial(), self.number, std::iter::once(own.results).chain(lanes).chain([own.width.into()]).collect())
        });
        self.staged.iter().map(copy).chain(partial).collect()
    }
}
