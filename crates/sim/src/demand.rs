//! What a launch needs of a core, and what fits.

use crate::fault::SimFault;
use crate::report::Occupancy;
use crate::silicon::Silicon;
use warpsight_ir::occupancy::{CannotRun, Resident, occupancy};
use warpsight_ir::{Bytes, Program};

/// What a launch needs of a core, and what fits.
#[derive(Clone, Debug)]
pub struct Demand {
    /// Work-items of a group.
    pub group_size: u32,
    /// 32-bit registers of a work-item.
    pub registers: u32,
    /// Of them, those beyond what a work-item can have.
    pub spilled: u32,
    /// What fits.
    pub occupancy: Occupancy,
}

impl Demand {
    /// What fits on a core of this silicon.
    pub fn of(program: &Program, registers: u32, local_bytes: u32, silicon: &Silicon) -> Result<Self, SimFault> {
        let limits = &silicon.limits;
        let limit = |what: &str, needed: u64, available: u64| SimFault::Limit {
            kernel: program.name.clone(),
            what: what.into(),
            needed,
            available,
        };
        let group_size = program.launch.group_size();
        let residency = limits.residency(silicon.core.wave);
        let spilled = registers.saturating_sub(limits.registers);
        let has_barrier = program.body.iter().any(warpsight_ir::Stmt::is_collective);
        let occupancy = match occupancy(&residency, registers, group_size, Bytes(local_bytes.into())) {
            Ok(fits) => Occupancy { waves: fits.warps, groups: fits.groups, limiter: fits.limiter },
            // Waves of a group that need not meet take turns.
            Err(CannotRun::Registers { max, .. } | CannotRun::Warps { max, .. }) if max > 0 && !has_barrier => {
                let waves = max.min(limits.max_waves);
                Occupancy { waves, groups: 0, limiter: Some(if waves == limits.max_waves { Resident::Warps } else { Resident::Registers }) }
            }
            Err(CannotRun::GroupSize { size, max }) => return Err(limit("a work-group", size.into(), max.into())),
            Err(CannotRun::Local { max, .. }) => return Err(limit("local memory", local_bytes.into(), max.0 as u64)),
            Err(CannotRun::Warps { warps, max } | CannotRun::Registers { warps, max, .. }) => {
                return Err(limit("a work-group with barriers, in waves", warps.into(), max.into()));
            }
        };
        Ok(Self { group_size, registers, spilled, occupancy })
    }
}
