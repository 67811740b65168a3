//! The best schedules with their tensors elsewhere: in places that are no part of a space, since with all of them it would be many times as
//! large (panels of matrices, all channels side by side, texels in columns and blocks; docs/provenance.md, "Strips"). What they take there the
//! exact count says: where tensors lie is what coarse counts know little of.

use std::collections::HashSet;
use warpsight_generate::ScheduleFamily;
use warpsight_generate::prune::{Allowance, prune};
use warpsight_ir::{Config, CostModel, Family, Kernel, Profile, Ranked};

/// What has to be taken of the time of what is usual (an operator as it is, tensors in places of the space) for something else to be taken
/// instead: more than samples and counts are off by.
pub(crate) const GAIN: f64 = 0.95;

/// Schedules that are looked at elsewhere, the best ones.
const SCHEDULES: usize = 4;

/// What judges configurations.
pub struct Elsewhere<'a> {
    /// Whose they are.
    pub family: &'a ScheduleFamily,
    /// What the device can run.
    pub allowance: &'a Allowance,
    /// What they take there.
    pub model: &'a dyn CostModel<Kernel>,
    /// By these numbers.
    pub profile: &'a Profile,
    /// Which may be taken.
    pub wanted: &'a dyn Fn(&Config) -> bool,
}

impl Elsewhere<'_> {
    /// A list, fastest first, with those places of tensors in front by which its best schedules take less than all of it, by enough.
    pub fn put(&self, ranked: Vec<Ranked>) -> Vec<Ranked> {
        let Some(least) = ranked.first().map(|own| own.estimate.time.0) else { return ranked };
        let first = self.family.placing().start;
        let mut known = HashSet::new();
        let schedules = ranked.iter().filter(|own| known.insert(&own.config.0[..first])).take(SCHEDULES);
        let mut found: Vec<Ranked> = schedules.filter_map(|own| self.best(own)).filter(|own| own.estimate.time.0 < GAIN * least).collect();
        found.sort_by(|a, b| a.estimate.time.0.total_cmp(&b.estimate.time.0));
        found.extend(ranked);
        found
    }

    /// The best that moves of tensors lead to, one after another; `None` where none gains.
    fn best(&self, of: &Ranked) -> Option<Ranked> {
        let gains = |from: &Ranked| {
            let next = self.moved(from).into_iter().min_by(|a, b| a.estimate.time.0.total_cmp(&b.estimate.time.0))?;
            (next.estimate.time.0 < from.estimate.time.0).then_some(next)
        };
        std::iter::successors(gains(of), gains).last()
    }

    /// What a configuration takes with one of its tensors, or all that others see, elsewhere.
    pub fn moved(&self, of: &Ranked) -> Vec<Ranked> {
        let configs = self.family.elsewhere(&of.config, |place| self.allowance.nowhere(place).is_none());
        let runs = prune(self.family, configs.into_iter().filter(self.wanted), self.allowance);
        let judged = runs.filter_map(|(config, _)| {
            let estimate = self.model.estimate(&self.family.kernel(&config), self.profile).ok()?;
            Some(Ranked { config, estimate })
        });
        judged.collect()
    }
}
