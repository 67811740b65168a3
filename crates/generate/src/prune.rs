//! Dropping what a device cannot run, each reason counted.

use std::collections::BTreeMap;
use warpsight_ir::occupancy::{CannotRun, Residency, occupancy};
use warpsight_ir::profile::Fact;
use warpsight_ir::{Config, Demand, Family, Profile};

/// What a device allows; `None` where nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Allowance {
    /// What a core holds.
    pub residency: Residency,
    /// Width and height of an image in texels; `(0, 0)` where there are no images.
    pub image: Option<(u32, u32)>,
}

impl Allowance {
    /// What a device can run by its profile alone, images only where it has texture units: others read and write them by dozens of
    /// instructions a texel, which no layout makes up for.
    pub fn of(profile: &Profile) -> Self {
        let images = &profile.image;
        let image = match &profile.memory.texture_l1.bytes {
            Fact::Absent { .. } => Some((0, 0)),
            _ => images.max_width.get().copied().zip(images.max_height.get().copied()),
        };
        Self { residency: Residency::of(profile), image }
    }
}

/// Why a configuration may be dropped.
pub const REASONS: [&str; 4] = ["image_size", "registers", "local_memory", "group_size"];

/// Drops what a device cannot run, as the configurations are walked.
pub fn prune<'a, C: Iterator<Item = Config> + 'a>(family: &'a dyn Family, configs: C, allow: &'a Allowance) -> Pruned<'a, C> {
    Pruned { family, configs, allow, left: 0, dropped: REASONS.into_iter().map(|reason| (reason, 0)).collect() }
}

/// The configurations that a device can run, in the family's order, and how many were left and dropped so far.
pub struct Pruned<'a, C> {
    family: &'a dyn Family,
    configs: C,
    allow: &'a Allowance,
    /// What the device can run.
    pub left: usize,
    /// Dropped, by the first reason that applies: `image_size`, `registers`, `local_memory`, `group_size`.
    pub dropped: BTreeMap<&'static str, usize>,
}

impl<C: Iterator<Item = Config>> Iterator for Pruned<'_, C> {
    type Item = Config;

    fn next(&mut self) -> Option<Config> {
        loop {
            let config = self.configs.next()?;
            match obstacle(&self.family.demand(&config), self.allow) {
                Some(reason) => *self.dropped.entry(reason).or_default() += 1,
                None => {
                    self.left += 1;
                    return Some(config);
                }
            }
        }
    }
}

/// The first reason for which a device cannot run something; more registers than a work-item may have would be spilled.
fn obstacle(demand: &Demand, allow: &Allowance) -> Option<&'static str> {
    if allow.image.is_some_and(|(w, h)| demand.image.0 > w.into() || demand.image.1 > h.into()) {
        return Some("image_size");
    }
    if allow.residency.max_registers.is_some_and(|max| demand.registers > max) {
        return Some("registers");
    }
    match occupancy(&allow.residency, demand.registers, demand.group_size, demand.local) {
        Ok(_) => None,
        Err(CannotRun::Registers { .. }) => Some("registers"),
        Err(CannotRun::GroupSize { .. } | CannotRun::Warps { .. }) => Some("group_size"),
        Err(CannotRun::Local { .. }) => Some("local_memory"),
    }
}
