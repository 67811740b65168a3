//! Dropping what a device cannot run, each reason counted.

use std::collections::BTreeMap;
use warpsight_ir::{Config, Family};

/// What a device allows; `None` where nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Allowance {
    /// 32-bit registers per work-item.
    pub registers: Option<u32>,
    /// Local memory per group, bytes.
    pub local: Option<u64>,
    /// Work-items per group.
    pub group_size: Option<u32>,
    /// Width and height of an image in texels; `(0, 0)` where there are no images.
    pub image: Option<(u32, u32)>,
}

/// The configurations that are left, and how many were dropped for which reason.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pruned {
    /// What the device can run, in the family's order.
    pub configs: Vec<Config>,
    /// Dropped, by the first reason that applies: `registers`, `local_memory`, `group_size`, `image_size`.
    pub dropped: BTreeMap<&'static str, usize>,
}

/// Drops what a device cannot run.
pub fn prune(family: &dyn Family, configs: &[Config], allow: &Allowance) -> Pruned {
    let mut pruned = Pruned::default();
    for config in configs {
        let demand = family.demand(config);
        let reason = if allow.group_size.is_some_and(|max| demand.group_size > max) {
            Some("group_size")
        } else if allow.image.is_some_and(|(w, h)| demand.image.0 > w.into() || demand.image.1 > h.into()) {
            Some("image_size")
        } else if allow.local.is_some_and(|max| demand.local.0 > max as f64) {
            Some("local_memory")
        } else if allow.registers.is_some_and(|max| demand.registers > max) {
            Some("registers")
        } else {
            None
        };
        match reason {
            Some(reason) => *pruned.dropped.entry(reason).or_default() += 1,
            None => pruned.configs.push(config.clone()),
        }
    }
    pruned
}
