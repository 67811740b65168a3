//! By what configurations are judged.

use super::Target;
use super::model::Model;
use warpsight_engine::tune::Judge;
use warpsight_generate::Passes;
use warpsight_generate::prune::Allowance;
use warpsight_ir::Profile;

/// The model and limits a run judges by.
pub struct Judging {
    model: Model,
    allowance: Allowance,
    passes: Passes,
    top: usize,
    runs: u32,
}

impl Judging {
    /// By so many of the model's first choices, each timed in so many runs.
    pub fn new(target: &Target, top: u32, runs: u32) -> Self {
        Self { model: target.model, allowance: target.allowance, passes: target.passes, top: top as usize, runs }
    }
    /// The model's first choice, briefly timed: for verbs that only run.
    pub fn first(target: &Target) -> Self {
        Self::new(target, 1, 5)
    }
    /// For the engine.
    pub fn judge<'a>(&'a self, profile: &'a Profile) -> Judge<'a> {
        Judge { profile, model: self.model.get(), allowance: self.allowance, passes: self.passes, top: self.top, runs: self.runs }
    }
}
