//! What a kernel costs: counts × time.

use crate::coarse::Coarse;
use crate::doubt::{Pick, Spreads};
use crate::volumes::report::{Report, Settings, Work, report};
use warpsight_ir::{
    Bytes, Config, CostModel, Estimate, Family, Kernel, Limits, Meanwhile, ModelId, NoEstimate, Profile, RankFamily, Ranked, Ranking,
    Seconds,
};

/// How many configurations are counted exactly for each that is asked for, and at least.
const AGAIN: (usize, usize) = (4, 48);

/// The model of kernels: all configurations of a family are counted coarsely ([`crate::coarse`]), the best again exactly
/// ([`crate::volumes`], paper 002); both counts go through one time model ([`crate::time`]; on CPUs [`crate::volumes::cpu`]).
///
/// Of a kernel that is launched again and again: it finds in caches what the launch before left there. [`InPass`] is the same of others.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelModel;

/// The model of kernels that are launched one after another, as a network's are: before one comes again others touch what they do, and caches
/// of processors, and of GPUs whose waves run in step, hold that much less of what it left, each core's own as much as shared ones. All tensors
/// are taken to be met again as late, but for what is [known](Kernel::known): all of a pass lies between two meetings of that.
#[derive(Clone, Copy, Debug)]
pub struct InPass {
    /// What others touch between two launches of one.
    pub meanwhile: Meanwhile,
}

impl CostModel<Kernel> for KernelModel {
    fn id(&self) -> ModelId {
        ModelId { name: "counts".to_owned(), version: 27, fit: crate::volumes::fitted::digest() }
    }

    fn estimate(&self, kernel: &Kernel, on: &Profile) -> Result<Estimate, NoEstimate> {
        ALONE.estimate(kernel, on)
    }
}

const ALONE: InPass = InPass { meanwhile: Meanwhile { handed: Bytes(0.0), pass: Bytes(0.0) } };

impl CostModel<Kernel> for InPass {
    fn id(&self) -> ModelId {
        KernelModel.id()
    }

    fn estimate(&self, kernel: &Kernel, on: &Profile) -> Result<Estimate, NoEstimate> {
        let points = kernel.launch.group_count().saturating_mul(u64::from(kernel.launch.group_size()));
        Ok(Estimate::from(&report(
            &Work { kernel, points },
            on,
            &Settings { brief: true, meanwhile: self.meanwhile, ..Settings::default() },
        )?))
    }
}

impl From<&Report> for Estimate {
    fn from(report: &Report) -> Self {
        let known = report.limits.iter().filter_map(|(limiter, limit)| Some((*limiter, *limit.as_ref().ok()?)));
        Self {
            time: report.seconds,
            interval: (report.interval.lo, report.interval.hi),
            limits: Limits(known.filter(|limit| limit.1.0 > 0.0).collect()),
            volumes: report.moved,
            bound: None,
        }
    }
}

impl RankFamily for KernelModel {
    fn ranking<'a>(&'a self, family: &'a dyn Family, on: &'a Profile, k: usize) -> Result<Box<dyn Ranking + Send + 'a>, NoEstimate> {
        ALONE.ranking(family, on, k)
    }

    fn expected_loss(&self, ranked: &[Ranked]) -> Option<f64> {
        ALONE.expected_loss(ranked)
    }
}

impl RankFamily for InPass {
    fn ranking<'a>(&'a self, family: &'a dyn Family, on: &'a Profile, k: usize) -> Result<Box<dyn Ranking + Send + 'a>, NoEstimate> {
        let again = k.saturating_mul(AGAIN.0).max(AGAIN.1);
        let coarse = Coarse::of(on, self.meanwhile)?;
        Ok(Box::new(TwoCounts { family, on, model: *self, coarse, k, near: Best::of(again) }))
    }

    fn expected_loss(&self, ranked: &[Ranked]) -> Option<f64> {
        Pick::of(ranked).map(|pick| Spreads::fitted().loss(&pick))
    }
}

/// A ranking by the coarse count, and of the best of it by the exact one.
struct TwoCounts<'a> {
    family: &'a dyn Family,
    on: &'a Profile,
    model: InPass,
    coarse: Coarse<'a>,
    k: usize,
    /// What is to be counted exactly, by coarse seconds.
    near: Best<Config>,
}

impl Ranking for TwoCounts<'_> {
    fn take(&mut self, config: Config, outline: &Kernel) -> Option<Seconds> {
        match self.coarse.seconds(outline) {
            Ok((seconds, ..)) => {
                self.near.take(seconds.0, config);
                Some(seconds)
            }
            Err(error) => self.near.refuse(error),
        }
    }

    fn least(&self) -> Option<Seconds> {
        self.near.least()
    }

    fn nearest(&self, number: usize) -> Result<Vec<Ranked>, NoEstimate> {
        let mut best = Best { refused: self.near.refused.clone(), ..Best::of(self.k.min(number)) };
        for (_, config) in self.near.kept.iter().take(number) {
            match self.model.estimate(&self.family.kernel(config), self.on) {
                Ok(estimate) => best.take(estimate.time.0, Ranked { config: config.clone(), estimate }),
                Err(error) => {
                    best.refuse(error);
                }
            }
        }
        best.first(number)
    }

    fn best(self: Box<Self>) -> Result<Vec<Ranked>, NoEstimate> {
        self.nearest(self.near.most)
    }
}

/// A ranking by a model that estimates every Kernel by itself.
pub(crate) struct EachAlone<'a, M> {
    model: &'a M,
    family: &'a dyn Family,
    on: &'a Profile,
    best: Best<Ranked>,
}

impl<'a, M: CostModel<Kernel>> EachAlone<'a, M> {
    /// Of which the `k` fastest are asked for.
    pub(crate) fn new(model: &'a M, family: &'a dyn Family, on: &'a Profile, k: usize) -> Self {
        Self { model, family, on, best: Best::of(k) }
    }
}

impl<M: CostModel<Kernel> + Sync> Ranking for EachAlone<'_, M> {
    fn take(&mut self, config: Config, _: &Kernel) -> Option<Seconds> {
        match self.model.estimate(&self.family.kernel(&config), self.on) {
            Ok(estimate) => {
                let time = estimate.time;
                self.best.take(time.0, Ranked { config, estimate });
                Some(time)
            }
            Err(error) => self.best.refuse(error),
        }
    }

    fn least(&self) -> Option<Seconds> {
        self.best.least()
    }

    fn nearest(&self, number: usize) -> Result<Vec<Ranked>, NoEstimate> {
        self.best.first(number)
    }

    fn best(self: Box<Self>) -> Result<Vec<Ranked>, NoEstimate> {
        self.nearest(self.best.most)
    }
}

/// So many of the least, ascending, by seconds; ties keep their order. And why the first one has none that has none.
struct Best<T> {
    most: usize,
    kept: Vec<(f64, T)>,
    refused: Option<NoEstimate>,
}

impl<T: Clone> Best<T> {
    fn of(most: usize) -> Self {
        Self { most, kept: vec![], refused: None }
    }

    /// Notes why one is not among them.
    fn refuse(&mut self, error: NoEstimate) -> Option<Seconds> {
        self.refused.get_or_insert(error);
        None
    }

    fn least(&self) -> Option<Seconds> {
        self.kept.first().map(|own| Seconds(own.0))
    }

    /// The first so many; where there are none, why.
    fn first(&self, number: usize) -> Result<Vec<T>, NoEstimate> {
        match (self.kept.is_empty(), &self.refused) {
            (true, Some(error)) => Err(error.clone()),
            _ => Ok(self.kept.iter().take(number).map(|own| own.1.clone()).collect()),
        }
    }

    fn take(&mut self, key: f64, own: T) {
        if self.kept.len() < self.most || self.kept.last().is_some_and(|worst| key < worst.0) {
            self.kept.insert(self.kept.partition_point(|own| own.0 <= key), (key, own));
            self.kept.truncate(self.most);
        }
    }
}
