//! What a model says of a piece of work.

use crate::family::{Config, Family};
use crate::profile::Profile;
use crate::profile::unknown::NoEstimate;
use crate::units::{Bytes, Seconds};
use serde::{Deserialize, Serialize};

/// A model's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Predicted execution time of one launch.
    pub time: Seconds,
    /// Where the time is expected to lie.
    pub interval: (Seconds, Seconds),
    /// What each resource alone would take.
    pub limits: Limits,
    /// Bytes each level is predicted to move.
    pub volumes: Volumes,
    /// The bound of what is computed ([`crate::bound`]), where known: models leave it open, who knows what is computed sets it.
    pub bound: Option<Seconds>,
}

impl Estimate {
    /// The resource that takes longest.
    pub fn limiter(&self) -> Limiter {
        self.limits.limiter()
    }
    /// What part of the bound is reached in such a time, in percent.
    pub fn percent_of_bound(&self, time: Seconds) -> Option<f64> {
        self.bound.filter(|_| time.0 > 0.0).map(|bound| 100.0 * (bound.0 / time.0))
    }
    /// Two sentences: what limits, and what comes next.
    pub fn explain(&self) -> String {
        let mut sorted: Vec<_> = self.limits.0.iter().filter(|(_, t)| t.0 > 0.0).collect();
        sorted.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
        let us = |s: Seconds| s.0 * 1e6;
        match sorted.as_slice() {
            [] => "Nothing takes time.".to_owned(),
            [(l, t)] => format!("Limited by {} alone ({:.2} µs).", l.name(), us(*t)),
            [(l, t), (m, u), ..] => format!(
                "Limited by {} ({:.2} µs alone). Without it, {} would need {:.2} µs, {:.0} % of it.",
                l.name(),
                us(*t),
                m.name(),
                us(*u),
                100.0 * (u.0 / t.0)
            ),
        }
    }
}

/// A resource that can limit a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    /// Starting the kernel, and waking cores for it.
    Launch,
    /// Floating-point units.
    Fp,
    /// Instruction issue.
    Issue,
    /// First-level cache of buffers, load-store units.
    L1,
    /// Texture units and their cache.
    Texture,
    /// Local memory.
    Local,
    /// Second-level cache.
    L2,
    /// Last-level cache.
    Llc,
    /// Device memory.
    Dram,
    /// Waiting that too few warps hide.
    Latency,
    /// Address translation.
    Tlb,
}

impl Limiter {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Launch,
        Self::Fp,
        Self::Issue,
        Self::L1,
        Self::Texture,
        Self::Local,
        Self::L2,
        Self::Llc,
        Self::Dram,
        Self::Latency,
        Self::Tlb,
    ];

    /// Its name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Fp => "fp",
            Self::Issue => "issue",
            Self::L1 => "l1",
            Self::Texture => "texture",
            Self::Local => "local",
            Self::L2 => "l2",
            Self::Llc => "llc",
            Self::Dram => "dram",
            Self::Latency => "latency",
            Self::Tlb => "tlb",
        }
    }
}

/// Seconds that each resource alone would take.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits(pub Vec<(Limiter, Seconds)>);

impl Limits {
    /// The resource that takes longest; `Launch` where there is none.
    pub fn limiter(&self) -> Limiter {
        self.0.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0)).map_or(Limiter::Launch, |l| l.0)
    }
    /// The seconds of a resource, 0 where not listed.
    pub fn of(&self, limiter: Limiter) -> Seconds {
        self.0.iter().find(|l| l.0 == limiter).map_or(Seconds::ZERO, |l| l.1)
    }
}

/// Bytes a launch moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Volumes {
    /// Requested from texture units.
    pub texture: Bytes,
    /// Requested from load-store units.
    pub l1: Bytes,
    /// Between first- and second-level cache.
    pub l2: Bytes,
    /// Between the last cache and memory.
    pub dram: Bytes,
    /// Of local memory.
    pub local: Bytes,
}

/// Name, version and the hash of what was fitted; stored with every Estimate.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModelId {
    /// The model's name.
    pub name: String,
    /// Its version; a change of formula changes it.
    pub version: u32,
    /// Hash of its fitted numbers; empty where nothing is fitted.
    pub fit: String,
}

/// Predicts the time of a piece of work: a [`crate::Kernel`], [`crate::StageWork`] or [`crate::Shader`]. Pure: same input, same bits.
pub trait CostModel<W> {
    /// What made the estimate.
    fn id(&self) -> ModelId;
    /// Predicts one launch.
    fn estimate(&self, work: &W, on: &Profile) -> Result<Estimate, NoEstimate>;
}

/// A model that judges thousands of configurations in a batch.
pub trait RankFamily: CostModel<crate::Kernel> {
    /// Opens a ranking of configurations of a family, of which the `k` fastest are asked for.
    ///
    /// # Errors
    /// What the profile lacks.
    fn ranking<'a>(&'a self, family: &'a dyn Family, on: &'a Profile, k: usize) -> Result<Box<dyn Ranking + Send + 'a>, NoEstimate>;

    /// What the first of a list, fastest first, is expected to lose to the fastest there is, unmeasured: 0.05 where it takes 5 % longer in the mean.
    /// `None` where nobody knows how far off this model is.
    fn expected_loss(&self, _: &[Ranked]) -> Option<f64> {
        None
    }

    /// The `k` fastest of `configs`, fastest first. Ties keep the order of `configs`.
    ///
    /// # Errors
    /// As [`Ranking::best`].
    fn rank(
        &self,
        family: &dyn Family,
        configs: &mut dyn Iterator<Item = Config>,
        on: &Profile,
        k: usize,
    ) -> Result<Vec<Ranked>, NoEstimate> {
        let mut ranking = self.ranking(family, on, k)?;
        configs.for_each(|config| {
            let outline = family.outline(&config);
            let _ = ranking.take(config, &outline);
        });
        ranking.best()
    }
}

/// Configurations as they come, of which the fastest are kept.
pub trait Ranking {
    /// Takes one more, with its outline ([`Family::outline`]): what it takes, coarsely.
    fn take(&mut self, config: Config, outline: &crate::Kernel) -> Option<Seconds>;

    /// What the fastest so far takes, coarsely.
    fn least(&self) -> Option<Seconds>;

    /// So many of the fastest by the coarse count, counted exactly, fastest first.
    ///
    /// # Errors
    /// Where none has an estimate, why the first has none.
    fn nearest(&self, number: usize) -> Result<Vec<Ranked>, NoEstimate>;

    /// The fastest, fastest first; ties in the order in which they came.
    ///
    /// # Errors
    /// Where none has an estimate, why the first has none.
    fn best(self: Box<Self>) -> Result<Vec<Ranked>, NoEstimate>;
}

/// A configuration and what a model says of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// The configuration.
    pub config: Config,
    /// Its estimate.
    pub estimate: Estimate,
}
