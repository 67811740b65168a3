//! How many work-groups a core holds at once. Definitions only: what residency is worth in time is the models' and the simulator's.

pub mod bound;

use crate::profile::Profile;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// What limits residency on one core. `None` is not a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Residency {
    /// Lanes of a warp; 1 where unknown.
    pub warp: Option<u32>,
    /// Warps.
    pub max_warps: Option<u32>,
    /// Groups.
    pub max_groups: Option<u32>,
    /// 32-bit registers.
    pub registers: Option<u32>,
    /// 32-bit registers a work-item may have. A work-item that wants more gets so many; the compiler spills the rest.
    pub max_registers: Option<u32>,
    /// Registers of a work-item are allocated in multiples of this; 1 where unknown.
    pub register_granule: Option<u32>,
    /// The register file is divided into slots for so many warps; 1 where unknown. Where each of a core's schedulers has a register file of
    /// its own, this is the number of schedulers.
    pub warp_granule: Option<u32>,
    /// Work-items of a group.
    pub max_group_size: Option<u32>,
    /// Groups of more than one warp: each holds a barrier.
    pub max_barriers: Option<u32>,
    /// Local memory.
    pub local: Option<Bytes>,
    /// Local memory is given out in multiples of this; 1 byte where unknown.
    pub local_granule: Option<Bytes>,
    /// Local memory that the system takes for itself in every group; none where unknown.
    pub local_reserved: Option<Bytes>,
}

impl Residency {
    /// What a profile knows.
    pub fn of(profile: &Profile) -> Self {
        let e = &profile.execution;
        Self {
            warp: e.warp.get().copied(),
            max_warps: e.max_warps.get().copied(),
            max_groups: e.max_groups.get().copied(),
            registers: e.registers.get().copied(),
            max_registers: e.max_registers.get().copied(),
            register_granule: e.register_granule.get().copied(),
            warp_granule: e.warp_granule.get().copied(),
            max_group_size: e.max_group_size.get().copied(),
            max_barriers: e.max_barriers.get().copied(),
            local: e.local.get().copied(),
            local_granule: e.local_granule.get().copied(),
            local_reserved: e.local_reserved.get().copied(),
        }
    }

    /// Warps whose registers fit a core at once; `None` where the register file is unknown.
    ///
    /// `⌊registers / (registers per work-item, rounded up · warp · warp granule)⌋ · warp granule`: with granules of 4 registers and 2 warps of
    /// 64 this is Adreno's ⌊144 / vec4⌋ · 2, with granules of 32 registers Mali's halving beyond 32; with a granule of 4 warps ⌊512 / VGPRs⌋ on
    /// each of the 4 SIMDs of CDNA2, and ⌊16384 / registers of a warp⌋ on each of the 4 partitions of an NVIDIA multiprocessor.
    pub fn warps_by_registers(&self, registers_per_item: u32) -> Option<u32> {
        let wanted = registers_per_item.max(1).min(self.max_registers.unwrap_or(u32::MAX));
        let wanted = u64::from(wanted).next_multiple_of(u64::from(self.register_granule.unwrap_or(1).max(1)));
        let granule = self.warp_granule.unwrap_or(1).max(1);
        let slot = wanted * u64::from(self.warp_size()) * u64::from(granule);
        // At most the number of registers, which is a u32.
        self.registers.map(|r| (u64::from(r) / slot) as u32 * granule)
    }

    /// What a group that wants `local` takes of a core's local memory.
    fn local_of(&self, local: Bytes) -> Bytes {
        let granule = self.local_granule.map_or(1.0, |g| g.0.max(1.0));
        Bytes(((local.0 + self.local_reserved.map_or(0.0, |r| r.0)) / granule).ceil() * granule)
    }

    /// What keeps groups of several kinds from being on a core together: so many of each. `None` where they fit, or where no limit is known.
    /// Each kind's warps are spread over the slots of the register file by themselves, as hardware does with one kind.
    pub fn keeps_apart(&self, groups: &[(GroupNeeds, u32)]) -> Option<Resident> {
        let granule = u64::from(self.warp_granule.unwrap_or(1).max(1));
        let mut taken = (0_u64, 0_u64, 0.0_f64, 0_u64, 0_u64);
        for &(needs, count) in groups {
            let count = u64::from(count);
            let warps = u64::from(needs.lanes.max(1).div_ceil(self.warp_size())) * count;
            let registers = needs.registers.max(1).min(self.max_registers.unwrap_or(u32::MAX));
            let registers = u64::from(registers).next_multiple_of(u64::from(self.register_granule.unwrap_or(1).max(1)));
            taken.0 += warps.next_multiple_of(granule) * registers * u64::from(self.warp_size());
            taken.1 += warps;
            taken.2 += if needs.local.0 > 0.0 { self.local_of(needs.local).0 * count as f64 } else { 0.0 };
            taken.3 += count;
            taken.4 += if warps > count { count } else { 0 };
        }
        let over = [
            (Resident::Registers, self.registers.is_some_and(|max| taken.0 > u64::from(max))),
            (Resident::Warps, self.max_warps.is_some_and(|max| taken.1 > u64::from(max))),
            (Resident::Local, self.local.is_some_and(|max| taken.2 > max.0)),
            (Resident::Groups, self.max_groups.is_some_and(|max| taken.3 > u64::from(max))),
            (Resident::Groups, self.max_barriers.is_some_and(|max| taken.4 > u64::from(max))),
        ];
        over.into_iter().find(|over| over.1).map(|over| over.0)
    }

    fn warp_size(&self) -> u32 {
        self.warp.unwrap_or(1).max(1)
    }
}

/// What a group takes of a core.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupNeeds {
    /// Work-items.
    pub lanes: u32,
    /// 32-bit registers of a work-item.
    pub registers: u32,
    /// Local memory.
    pub local: Bytes,
}

/// What a core holds at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Groups, at least 1.
    pub groups: u32,
    /// Warps of these groups.
    pub warps: u32,
    /// What keeps the next group out; the first of equals in the order of [`Resident`]. `None` where no limit is known: then `groups` is 1.
    pub limiter: Option<Resident>,
}

/// What groups compete for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resident {
    /// Registers.
    Registers,
    /// Slots for warps.
    Warps,
    /// Local memory.
    Local,
    /// Slots for groups, or barriers.
    Groups,
}

/// Why not even one group fits a core.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum CannotRun {
    /// Too many work-items in a group.
    #[error("a group has {size} work-items, the device allows {max}")]
    GroupSize {
        /// Of the kernel.
        size: u32,
        /// Of the device.
        max: u32,
    },
    /// Too many warps in a group.
    #[error("a group has {warps} warps, a core holds {max}")]
    Warps {
        /// Of the kernel.
        warps: u32,
        /// Of the device.
        max: u32,
    },
    /// The registers of a group do not fit.
    #[error("a group has {warps} warps of {registers} registers per work-item, the registers of a core hold {max} such warps")]
    Registers {
        /// Of the kernel.
        warps: u32,
        /// Of the kernel.
        registers: u32,
        /// Of the device.
        max: u32,
    },
    /// Too much local memory.
    #[error("a group needs {} bytes of local memory{}, a core has {}", need.0, beside(*reserved), max.0)]
    Local {
        /// Of the kernel.
        need: Bytes,
        /// What the system takes for itself in every group.
        reserved: Bytes,
        /// Of the device.
        max: Bytes,
    },
}

fn beside(reserved: Bytes) -> String {
    if reserved.0 > 0.0 { format!(" and {} for the system", reserved.0) } else { String::new() }
}

/// How many groups of `group_size` work-items, each with so many 32-bit registers and `local` memory per group, a core holds at once.
pub fn occupancy(limits: &Residency, registers_per_item: u32, group_size: u32, local: Bytes) -> Result<Occupancy, CannotRun> {
    if let Some(max) = limits.max_group_size.filter(|&max| group_size > max) {
        return Err(CannotRun::GroupSize { size: group_size, max });
    }
    let warps = group_size.max(1).div_ceil(limits.warp_size());
    let by_registers = limits.warps_by_registers(registers_per_item);
    if let Some(max) = by_registers.filter(|&max| warps > max) {
        return Err(CannotRun::Registers { warps, registers: registers_per_item, max });
    }
    if let Some(max) = limits.max_warps.filter(|&max| warps > max) {
        return Err(CannotRun::Warps { warps, max });
    }
    let taken = limits.local_of(local);
    let local_limit = limits.local.filter(|_| local.0 > 0.0);
    if let Some(max) = local_limit.filter(|max| taken.0 > max.0) {
        return Err(CannotRun::Local { need: local, reserved: limits.local_reserved.unwrap_or(Bytes::ZERO), max });
    }
    let by_local = local_limit.map(|max| (max / taken) as u32);
    let candidates = [
        (Resident::Registers, by_registers.map(|max| max / warps)),
        (Resident::Warps, limits.max_warps.map(|max| max / warps)),
        (Resident::Local, by_local),
        (Resident::Groups, limits.max_groups.map(|max| max.max(1))),
        (Resident::Groups, limits.max_barriers.filter(|_| warps > 1).map(|max| max.max(1))),
    ];
    let known = candidates.into_iter().filter_map(|(what, groups)| Some((groups?, what)));
    let (groups, limiter) = known.min().map_or((1, None), |(groups, what)| (groups, Some(what)));
    Ok(Occupancy { groups, warps: groups * warps, limiter })
}
