//! What a group becomes in a plan.

use super::kernel::{Fused, Run};
use crate::assign::Pair;
use crate::balance::Allocation;
use crate::design::{Design, Tiling};
use crate::group::Group;
use crate::select::vertical::Footprint;
use warpsight_ir::Seconds;

/// What a group becomes.
pub enum Chosen {
    /// A pipeline.
    Pipeline(Box<GroupPlan>),
    /// One kernel.
    Kernel(KernelPlan),
}

/// A group as a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupPlan {
    /// The group.
    pub group: Group,
    /// Its stages and queues.
    pub design: Design,
    /// Work-groups of each stage, and what limits.
    pub allocation: Allocation,
    /// What each multiprocessor holds.
    pub assignment: Vec<Pair>,
    /// Until the slowest stage has its first token, and from its last one to the end.
    pub fill: Seconds,
    /// Predicted for one execution, without the launch.
    pub seconds: Seconds,
    /// The best design that decides otherwise on epilogues, with its time: why this one was taken.
    pub otherwise: Option<(Tiling, Seconds)>,
    /// What its units compute.
    pub run: Run,
}

/// A group as one kernel, fused vertically.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelPlan {
    /// The group and the rows of its tiles.
    pub fused: Fused,
    /// Its shared memory.
    pub footprint: Footprint,
    /// Its time and traffic.
    pub run: Run,
}
