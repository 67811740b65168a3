//! Dropping what a device cannot run, each reason counted.

use std::collections::BTreeMap;
use warpsight_ir::occupancy::{CannotRun, Residency, occupancy};
use warpsight_ir::profile::Fact;
use warpsight_ir::{Config, Family, Kernel, Profile, TensorPlace};

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

/// The configurations that a device can run, in the family's order, each with its outline, and how many were left and dropped so far.
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
    type Item = (Config, Kernel);

    fn next(&mut self) -> Option<(Config, Kernel)> {
        loop {
            let config = self.configs.next()?;
            let outline = self.family.outline(&config);
            match obstacle(&outline, self.allow) {
                Some(reason) => *self.dropped.entry(reason).or_default() += 1,
                None => {
                    self.left += 1;
                    return Some((config, outline));
                }
            }
        }
    }
}

/// The first reason for which a device cannot run something; more registers than a work-item may have would be spilled.
fn obstacle(kernel: &Kernel, allow: &Allowance) -> Option<&'static str> {
    let too_large = |place: &TensorPlace, (w, h): (u32, u32)| match place {
        TensorPlace::Image { width, height, .. } => *width > w.into() || *height > h.into(),
        TensorPlace::Buffer { .. } => false,
    };
    if allow.image.is_some_and(|most| kernel.accesses.tensors.iter().any(|own| too_large(&own.place, most))) {
        return Some("image_size");
    }
    if allow.residency.max_registers.is_some_and(|max| kernel.registers > max) {
        return Some("registers");
    }
    match occupancy(&allow.residency, kernel.registers, kernel.launch.group_size(), kernel.local) {
        Ok(_) => None,
        Err(CannotRun::Registers { .. }) => Some("registers"),
        Err(CannotRun::GroupSize { .. } | CannotRun::Warps { .. }) => Some("group_size"),
        Err(CannotRun::Local { .. }) => Some("local_memory"),
    }
}
