//! The names a lowered Program uses, kept apart from the names of its tensors.

use crate::expr::{AxisId, TensorExpr};
use crate::nest::local::LanePart;
use crate::schedule::axis;
use warpsight_ir::Name;

/// Names derived from axes and tensors.
pub struct Names<'a> {
    expr: &'a TensorExpr,
}

impl<'a> Names<'a> {
    /// The names for an expression.
    pub fn new(expr: &'a TensorExpr) -> Self {
        Self { expr }
    }
    /// The axis of work-groups along a parallel axis.
    pub fn group(&self, a: AxisId) -> Name {
        self.free(format!("g{}", axis(self.expr, a).name))
    }
    /// The axis of lanes along a parallel axis.
    pub fn lane(&self, a: AxisId) -> Name {
        self.free(format!("l{}", axis(self.expr, a).name))
    }
    /// A digit of lanes: all of them along an axis where they are not cut.
    pub fn digit(&self, parts: &[LanePart], n: usize) -> Name {
        let a = parts[n].axis;
        let alike = |parts: &[LanePart]| parts.iter().filter(|part| part.axis == a).count();
        match alike(parts) {
            1 => self.lane(AxisId(a)),
            _ => self.free(format!("l{}_{}", axis(self.expr, AxisId(a)).name, alike(&parts[..n]))),
        }
    }
    /// The copy of an input in local memory.
    pub fn local(&self, tensor: usize) -> Name {
        self.free(format!("{}_local", self.expr.inputs[tensor].name))
    }
    /// Partial results of lanes that share a reduction.
    pub fn partial(&self) -> Name {
        self.free("partial_local".to_owned())
    }
    /// What lanes that share a reduction have together.
    pub fn total(&self) -> Name {
        self.free("total".to_owned())
    }
    /// The block of a part of a reduction axis, in the loop of the part.
    pub fn inner(&self, a: AxisId) -> Name {
        self.free(format!("i{}", axis(self.expr, a).name))
    }
    /// The trip along a reduction axis of which each lane has a block, or which has a loop inside.
    pub fn trip(&self, a: AxisId) -> Name {
        self.free(format!("t{}", axis(self.expr, a).name))
    }
    /// The round of a group along a parallel axis.
    pub fn round(&self, a: AxisId) -> Name {
        self.free(format!("r{}", axis(self.expr, a).name))
    }
    /// The n-th value that is kept through all rounds.
    pub fn kept(&self, n: usize) -> Name {
        self.free(format!("kept{n}"))
    }
    /// The n-th value of a copy.
    pub fn copied(&self, n: usize) -> Name {
        self.free(format!("copied{n}"))
    }
    /// The number of a work-item's tile along a parallel axis, or of the trip along a reduction axis.
    pub fn block(&self, a: AxisId) -> Name {
        self.free(format!("{}0", axis(self.expr, a).name))
    }
    /// An accumulator of the n-th point: the one of so many whose turn it is.
    pub fn acc(&self, n: usize, (turn, of): (u32, u32)) -> Name {
        self.free(if of == 1 { format!("acc{n}") } else { format!("acc{n}_{turn}") })
    }
    /// What all accumulators of a point come to.
    pub fn joined(&self) -> Name {
        self.free("joined".to_owned())
    }
    /// What the n-th accumulator has no whole vector for.
    pub fn rest(&self, n: usize) -> Name {
        self.free(format!("rest{n}"))
    }
    /// What an earlier reduction came to at the n-th point of the tile.
    pub fn before(&self, number: usize, n: usize) -> Name {
        self.free(format!("before{number}_{n}"))
    }
    /// What a work-item has combined of a row of its tile.
    pub fn part(&self, row: usize) -> Name {
        self.free(format!("part{row}"))
    }
    /// An accumulator folded to so many lanes.
    pub fn folded(&self, width: u8) -> Name {
        self.free(format!("folded{width}"))
    }
    /// The n-th value loaded in a block, from this input.
    pub fn loaded(&self, tensor: usize, n: usize) -> Name {
        self.free(format!("{}_{n}", self.expr.tensor(tensor).name))
    }
    /// The value a block stores.
    pub fn value(&self) -> Name {
        self.free("value".to_owned())
    }

    fn free(&self, mut text: String) -> Name {
        let taken = |t: &str| self.expr.inputs.iter().chain([&self.expr.output]).any(|x| &*x.name == t);
        while taken(&text) {
            text.push('_');
        }
        text.into()
    }
}
