//! The models there are.

use clap::ValueEnum;
use warpsight_ir::RankFamily;
use warpsight_predict::KernelModel;
use warpsight_predict::baselines::{ReuseDistance, Roofline};
use warpsight_predict::paper000::Paper000;

/// By which model configurations are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Model {
    /// What a launch asks for, counted, by what the profile knows.
    #[default]
    Counts,
    /// As paper 000 has it, equations 1 to 7: a baseline. The profile has to have its fit, which `probe` makes.
    Paper000,
    /// Arithmetic at its peak, or every tensor moved once: a baseline.
    Roofline,
    /// Misses of the texture cache by distances of reuse: a baseline.
    ReuseDistance,
}

impl Model {
    /// The model.
    pub fn get(self) -> &'static (dyn RankFamily + Sync) {
        match self {
            Self::Counts => &KernelModel,
            Self::Paper000 => &Paper000,
            Self::Roofline => &Roofline,
            Self::ReuseDistance => &ReuseDistance,
        }
    }
}
