//! What a launch needs of a core, and what fits.

use crate::code::Code;
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
    ///
    /// Registers are those that the simulator's own compiler gives out, and those it keeps for itself: no estimate that a model shares.
    pub fn of(program: &Program, code: &Code, silicon: &Silicon) -> Result<Self, SimFault> {
        let registers = code.registers + silicon.core.own_registers;
        let local_bytes = code.local_bytes as u32;
        let limit = |what: &str, needed: u64, available: u64| SimFault::Limit {
            kernel: program.name.clone(),
            what: what.into(),
            needed,
            available,
        };
        let group_size = program.launch.group_size();
        let residency = silicon.residency;
        let spilled = registers.saturating_sub(silicon.residency.max_registers.unwrap_or(u32::MAX));
        let has_barrier = program.body.iter().any(warpsight_ir::Stmt::is_collective);
        let occupancy = match occupancy(&residency, registers, group_size, Bytes(local_bytes.into())) {
            Ok(fits) => Occupancy { waves: fits.warps, groups: fits.groups, limiter: fits.limiter },
            // Waves of a group that need not meet take turns.
            Err(CannotRun::Registers { max, .. } | CannotRun::Warps { max, .. }) if max > 0 && !has_barrier => {
                let waves = max.min(silicon.max_waves());
                Occupancy {
                    waves,
                    groups: 0,
                    limiter: Some(if waves == silicon.max_waves() { Resident::Warps } else { Resident::Registers }),
                }
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
