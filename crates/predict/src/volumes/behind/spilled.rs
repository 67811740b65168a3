//! What threads have no registers for goes to memory of the thread's own and comes back: what they load once for several of their points and
//! keep until the last of them, on GPUs whose compilers keep the order of the text (AMD); of all that they compute with, what is beyond the
//! registers that an instruction can name (NVIDIA).

use super::dram::{Cause, Curve, Dram, Memory};
use crate::volumes::first_level::l1::Rule;
use warpsight_ir::occupancy::Occupancy;
use warpsight_ir::{AccessKind, Kernel, Nest, Profile, Space, TensorPlace};

/// Work-items of a group that compilers expect where nobody tells them (HIP's default), so that each has its part of a core's registers.
const EXPECTED: u32 = 1024;

/// Bytes of a warp's words.
const WAVEFRONT_BYTES: f64 = 128.0;

/// Bytes of the launch that are stored, and loaded again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spilled {
    /// One way.
    pub bytes: f64,
    /// Of the work-items that are resident at once.
    footprint: f64,
    /// Wavefronts of the first level, both ways.
    wavefronts: f64,
}

impl Spilled {
    /// Of a kernel on a device; nothing where compilers move uses to loads, as NVIDIA's do, or nothing is recorded.
    pub fn of(kernel: &Kernel, on: &Profile, resident: &Occupancy) -> Self {
        let e = &on.execution;
        let rule = Rule::of(on);
        // A group of RDNA has both cores of a work-group processor.
        let shared = if matches!(rule, Ok(Rule::Rdna)) { 2 } else { 1 };
        let all = e.registers.get().copied().unwrap_or(u32::MAX);
        let registers = f64::from((all / EXPECTED * shared).min(e.max_registers.get().copied().unwrap_or(u32::MAX)).max(1));
        let needed = f64::from(kernel.registers) + f64::from(kernel.kept);
        if let Ok(Rule::Nvidia { .. }) = rule {
            return Self::beyond(kernel, on, resident);
        }
        if kernel.kept == 0 || needed <= registers || !matches!(rule, Ok(Rule::Cdna | Rule::Rdna)) {
            return Self::default();
        }
        // Each value stays for as long as the others: the same part of all has room.
        let own = 4.0 * words(kernel, &kernel.accesses.nest, 1.0) * (1.0 - registers / needed);
        let group = f64::from(kernel.launch.group_size());
        let launched = group * kernel.launch.group_count() as f64;
        let held = (f64::from(all) / registers).min(f64::from(resident.groups) * group);
        let at_once = (e.cores.get().copied().map_or(1.0, f64::from) * held).min(launched);
        Self { bytes: own * launched, footprint: own * at_once, wavefronts: 0.0 }
    }

    /// Of words beyond the registers that an instruction can name.
    fn beyond(kernel: &Kernel, on: &Profile, resident: &Occupancy) -> Self {
        let (beyond, moved) = beyond_registers(kernel, on);
        let group = f64::from(kernel.launch.group_size());
        let launched = group * kernel.launch.group_count() as f64;
        let at_once = (on.execution.cores.get().copied().map_or(1.0, f64::from) * f64::from(resident.groups) * group).min(launched);
        let bytes = 4.0 * moved * launched;
        Self { bytes, footprint: 4.0 * beyond * at_once, wavefronts: 2.0 * bytes / WAVEFRONT_BYTES }
    }

    /// Cycles of the first level.
    pub fn cycles(&self, on: &Profile) -> f64 {
        match Rule::of(on) {
            Ok(Rule::Nvidia { lsu_lanes, wavefront }) => self.wavefronts * wavefront.max(32.0 / lsu_lanes),
            _ => 0.0,
        }
    }

    /// Adds what caches do not hold.
    pub fn behind_l2(self, dram: &mut Dram, memory: &Memory, curve: &Curve) {
        if self.bytes <= 0.0 {
            return;
        }
        let behind = self.bytes * (1.0 - curve.survives(self.footprint, memory.l2_effective));
        let own = memory.last_level.map_or(behind, |(size, curve)| behind * (1.0 - curve.survives(self.footprint, size)));
        dram.behind_l2 += behind;
        dram.load += own;
        dram.store += own;
        if own > 0.0 {
            dram.by_cause.push((Cause::Spilled, own));
        }
    }
}

/// Words of a work-item beyond the registers that an instruction can name, and how many of them it stores, and loads again: each operation changes
/// one of all its words, so that a spilled one comes and goes as often as operations walk through them all.
pub fn beyond_registers(kernel: &Kernel, on: &Profile) -> (f64, f64) {
    let most = on.execution.max_registers.get().copied().unwrap_or(u32::MAX);
    let beyond = f64::from(kernel.registers.saturating_sub(most));
    let operations = kernel.ops.0.values().sum::<u64>() as f64;
    (beyond, beyond * (operations / f64::from(kernel.registers.max(1))).max(1.0))
}

/// Words of 32 bits that a work-item loads, from memory and from what a block shares.
fn words(kernel: &Kernel, nest: &[Nest], times: f64) -> f64 {
    let own = |node: &Nest| match node {
        Nest::Access(access) if access.kind == AccessKind::Load => {
            let element = match &kernel.accesses.tensors[usize::from(access.tensor)].place {
                TensorPlace::Buffer { space: Space::Constant | Space::Tile, .. } => 0.0,
                TensorPlace::Buffer { element, .. } => f64::from(element.bytes()),
                TensorPlace::Image { format, .. } => f64::from(format.bytes()),
            };
            times * f64::from(access.width) * (element / 4.0).ceil()
        }
        Nest::Loop { var, body } => words(kernel, body, times * f64::from(kernel.accesses.vars[usize::from(var.0)].trips.unwrap_or(1))),
        _ => 0.0,
    };
    nest.iter().map(own).sum()
}
