//! What the loops of each axis come to.

use crate::expr::{Axis, TensorExpr};
use crate::schedule::{Bind, Loop};
use smallvec::SmallVec;

/// How a parallel axis is split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// Points (or vectors) of one work-item.
    pub tile: u32,
    /// Vector width along this axis, 1 for all but one.
    pub width: u32,
    /// Lanes of a group.
    pub lanes: u32,
    /// Work-items needed; all of the groups where those of a group copy tensors together, so that none is left out.
    pub blocks: i64,
    /// Tiles of a group: work-groups times rounds.
    pub groups: i64,
    /// How many of them a group has, one after the other.
    pub rounds: i64,
    /// The axis's extent.
    pub extent: i64,
}

impl Split {
    /// Elements of one work-item.
    pub fn per_item(&self) -> i64 {
        i64::from(self.tile * self.width)
    }
    /// Whether some lanes have nothing to do.
    pub fn idle_lanes(&self) -> bool {
        self.blocks < self.groups * i64::from(self.lanes)
    }
    /// Work-groups.
    pub fn launched(&self) -> i64 {
        self.groups / self.rounds
    }
    /// Whether the last work-item's tile reaches beyond the extent.
    pub fn ragged(&self) -> bool {
        self.extent % self.per_item() != 0
    }
}

/// How a reduction axis is walked over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Walk {
    /// The axis's extent.
    pub extent: i64,
    /// Whether it has a sequential loop, which may have one trip.
    pub rolled: bool,
    /// Elements that are written out in each trip of the innermost of these loops; 1 without one.
    pub trip: i64,
    /// Vector lanes along it.
    pub lanes: i64,
}

/// What the loops of each axis come to.
pub fn resolve(expr: &TensorExpr, loops: &[Loop]) -> (SmallVec<[Split; 5]>, SmallVec<[Walk; 4]>) {
    let split = |own: &Axis| Split { tile: 1, width: 1, lanes: 1, blocks: own.extent, groups: own.extent, rounds: 1, extent: own.extent };
    let walk = |own: &Axis| Walk { extent: own.extent, rolled: false, trip: 1, lanes: 1 };
    let mut splits: SmallVec<[Split; 5]> = expr.axes.iter().map(split).collect();
    let mut walks: SmallVec<[Walk; 4]> = expr.reduce.iter().map(walk).collect();
    for own in loops.iter().rev() {
        match (splits.get_mut(own.axis.0), own.bind) {
            (Some(split), Bind::Vector) => split.width = own.trips as u32,
            (Some(split), Bind::Lane) => split.lanes = own.trips as u32,
            (Some(split), Bind::Round) => split.rounds = own.trips,
            (Some(split), Bind::Group) => split.groups = own.trips * split.rounds,
            (Some(split), _) => split.tile *= own.trips as u32,
            (None, bind) => {
                let walk = &mut walks[own.axis.0 - expr.axes.len()];
                match bind {
                    Bind::Vector => walk.lanes = own.trips,
                    Bind::Sequential | Bind::ReductionLane if !walk.rolled => (walk.rolled, walk.trip) = (true, own.step),
                    _ => {}
                }
            }
        }
    }
    splits.iter_mut().for_each(|split| split.blocks = (split.extent + split.per_item() - 1) / split.per_item());
    (splits, walks)
}
