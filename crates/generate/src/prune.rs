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

/// The configurations that are left, and how many were dropped for which reason.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pruned {
    /// What the device can run, in the family's order.
    pub configs: Vec<Config>,
    /// Dropped, by the first reason that applies: `image_size`, `registers`, `local_memory`, `group_size`.
    pub dropped: BTreeMap<&'static str, usize>,
}

/// Why a configuration may be dropped.
pub const REASONS: [&str; 4] = ["image_size", "registers", "local_memory", "group_size"];

impl Pruned {
    /// How many there were.
    pub fn total(&self) -> usize {
        self.configs.len() + self.dropped.values().sum::<usize>()
    }
}

/// Drops what a device cannot run.
pub fn prune(family: &dyn Family, configs: impl IntoIterator<Item = Config>, allow: &Allowance) -> Pruned {
    let mut pruned = Pruned { dropped: REASONS.into_iter().map(|r| (r, 0)).collect(), ..Pruned::default() };
    for config in configs {
        match obstacle(&family.demand(&config), allow) {
            Some(reason) => *pruned.dropped.entry(reason).or_default() += 1,
            None => pruned.configs.push(config),
        }
    }
    pruned
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
