//! The models there are.

use clap::ValueEnum;
use warpsight_ir::{Meanwhile, RankFamily};
use warpsight_predict::InPass;
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
    /// The model, of kernels between two launches of which others touch so much.
    pub fn get(self, meanwhile: Meanwhile) -> Box<dyn RankFamily + Sync> {
        match self {
            Self::Counts => Box::new(InPass { meanwhile }),
            Self::Paper000 => Box::new(Paper000),
            Self::Roofline => Box::new(Roofline),
            Self::ReuseDistance => Box::new(ReuseDistance),
        }
    }
}
