//! What criteria need of a device.

use warpsight_ir::occupancy::{Residency, occupancy};
use warpsight_ir::profile::{Cache, Fact};
use warpsight_ir::{Bytes, Facts, LaneOrder, Profile};

/// Lanes of a warp where nobody knows.
const WARP: u32 = 1;
/// α of paper 001, section 4.2, as published.
pub const PUBLISHED_ALPHA: f64 = 3.0;

/// What criteria need of a device; `None` where nobody knows, and then nothing is dropped for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Hardware {
    pub(super) residency: Residency,
    /// How lanes lie.
    pub(super) lanes: LaneOrder,
    /// Cores.
    pub(super) cores: u32,
    /// f32 lanes of a core that work at once.
    pub(super) alus: Option<f64>,
    /// The first level of images, or of buffers where these share it.
    pub(super) l1: Option<Bytes>,
    /// Instances of it.
    pub(super) units: f64,
    /// Whether only images have a first level.
    pub(super) images_alone: bool,
    /// Work-items of a launch, by ALUs of all cores, up to which sharing a reduction gains.
    pub(super) alpha: Option<f64>,
}

impl Hardware {
    /// By a profile, of cores that hold so much.
    pub fn of(profile: &Profile, residency: Residency) -> Self {
        let (execution, memory) = (&profile.execution, &profile.memory);
        let texture = memory.texture_l1.bytes.get().is_some();
        let level: &Cache = if texture { &memory.texture_l1 } else { &memory.buffer_l1 };
        let cores = execution.cores.get().copied().unwrap_or(1).max(1);
        let probed = profile.probed.alus.get().map(|&alus| f64::from(alus));
        Self {
            residency,
            lanes: LaneOrder::of(profile),
            cores,
            alus: probed.or(execution.fma_per_clock.get().copied()),
            l1: level.bytes.get().copied(),
            units: level.instances.get().map_or(f64::from(cores), |&units| f64::from(units)),
            images_alone: texture && matches!(memory.buffer_l1.bytes, Fact::Absent { .. }),
            alpha: highest(&profile.probed.local_split),
        }
    }

    /// Lanes of a warp.
    pub fn warp(&self) -> u32 {
        self.residency.warp.unwrap_or(WARP)
    }

    /// Warps of a core that hide what others wait for: those of a group of the greatest size.
    pub(super) fn enough_warps(&self) -> f64 {
        self.residency.max_group_size.map_or(f64::INFINITY, |size| f64::from(size.div_ceil(self.warp())))
    }

    /// Warps of a group.
    pub(super) fn warps(&self, facts: &Facts) -> f64 {
        f64::from(facts.group.max(1).div_ceil(self.warp()))
    }

    /// Groups that a core holds at once, of those that it has to do; `None` of what it cannot run.
    pub(super) fn resident(&self, facts: &Facts) -> Option<f64> {
        let most = occupancy(&self.residency, facts.registers, facts.group, facts.local).ok()?.groups;
        Some(f64::from(most).min((facts.groups as f64 / f64::from(self.cores)).ceil()).max(1.0))
    }
}

/// The upper end of a number: what is less is sure to be below.
fn highest(fact: &Fact<f64>) -> Option<f64> {
    match fact {
        Fact::Known { value, hi, .. } => Some(hi.unwrap_or(*value)),
        _ => None,
    }
}
