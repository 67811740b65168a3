//! By what configurations are judged.

use super::Target;
use warpsight_engine::tune::Judge;
use warpsight_generate::Passes;
use warpsight_generate::prune::Allowance;
use warpsight_graph::Plan;
use warpsight_graph::memory::in_pass;
use warpsight_ir::{Meanwhile, Profile, RankFamily};

/// The model and limits a run judges by.
pub struct Judging {
    model: Box<dyn RankFamily + Sync>,
    allowance: Allowance,
    passes: Passes,
    top: usize,
    runs: u32,
}

impl Judging {
    /// By so many of the model's first choices, each timed in so many runs; a kernel is launched again and again.
    pub fn new(target: &Target, top: u32, runs: u32) -> Self {
        Self::of(Meanwhile::default(), target, top, runs)
    }
    /// The same of the kernels of a network, which are launched one after another.
    pub fn in_pass(plan: &Plan, target: &Target, top: u32, runs: u32) -> Self {
        Self::of(in_pass(plan), target, top, runs)
    }
    fn of(meanwhile: Meanwhile, target: &Target, top: u32, runs: u32) -> Self {
        Self { model: target.model.get(meanwhile), allowance: target.allowance, passes: target.passes, top: top as usize, runs }
    }
    /// The model's first choice, briefly timed: for verbs that only run.
    pub fn first(plan: &Plan, target: &Target) -> Self {
        Self::in_pass(plan, target, 1, 5)
    }
    /// For the engine.
    pub fn judge<'a>(&'a self, profile: &'a Profile) -> Judge<'a> {
        Judge { profile, model: &*self.model, allowance: self.allowance, passes: self.passes, top: self.top, runs: self.runs }
    }
}
