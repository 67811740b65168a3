//! What threads have no registers for goes to memory of the thread's own and comes back: what they load once for several of their points and
//! keep until the last of them, on GPUs whose compilers keep the order of the text (AMD); of all that they compute with, what is beyond the
//! registers that an instruction can name (NVIDIA). What has room takes registers from other threads, all the same.

use super::dram::{Cause, Curve, Dram, Memory};
use crate::volumes::first_level::l1::Rule;
use warpsight_ir::occupancy::Occupancy;
use warpsight_ir::{Kernel, Profile};

/// Work-items of a group that compilers expect where nobody tells them (HIP's default), so that each has its part of a core's registers.
const EXPECTED: u32 = 1024;

/// Bytes of a warp's words.
const WAVEFRONT_BYTES: f64 = 128.0;

/// Bytes of the launch that are stored, and loaded again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spilled {
    /// Stored.
    pub stored: f64,
    /// Loaded.
    pub loaded: f64,
    /// Of the work-items that are resident at once.
    footprint: f64,
    /// Wavefronts of the first level, both ways.
    wavefronts: f64,
}

impl Spilled {
    /// Of a kernel on a device; nothing where compilers move uses to loads, as NVIDIA's do, or nothing is recorded.
    pub fn of(kernel: &Kernel, on: &Profile, resident: &Occupancy) -> Self {
        let e = &on.execution;
        let Some(registers) = keeping(on) else {
            return match Rule::of(on) {
                Ok(Rule::Nvidia { .. }) => Self::beyond(kernel, on, resident),
                _ => Self::default(),
            };
        };
        let (needed, registers) = (needed(kernel), f64::from(registers));
        if kernel.kept == 0 || needed <= registers {
            return Self::default();
        }
        // Each value stays for as long as the others: the same part of all has room.
        let part = 1.0 - registers / needed;
        let own = |words: u32| 4.0 * f64::from(words) * part;
        let group = f64::from(kernel.launch.group_size());
        let launched = group * kernel.launch.group_count() as f64;
        let at_once = (e.cores.get().copied().map_or(1.0, f64::from) * f64::from(resident.groups) * group).min(launched);
        let (stored, loaded) = (own(kernel.reused.words), own(kernel.reused.uses));
        let wavefronts = (stored + loaded) * launched / WAVEFRONT_BYTES;
        Self { stored: stored * launched, loaded: loaded * launched, footprint: stored * at_once, wavefronts }
    }

    /// Of words beyond the registers that an instruction can name.
    fn beyond(kernel: &Kernel, on: &Profile, resident: &Occupancy) -> Self {
        let (beyond, moved) = beyond_registers(kernel, on);
        let group = f64::from(kernel.launch.group_size());
        let launched = group * kernel.launch.group_count() as f64;
        let at_once = (on.execution.cores.get().copied().map_or(1.0, f64::from) * f64::from(resident.groups) * group).min(launched);
        let bytes = 4.0 * moved * launched;
        Self { stored: bytes, loaded: bytes, footprint: 4.0 * beyond * at_once, wavefronts: 2.0 * bytes / WAVEFRONT_BYTES }
    }

    /// Cycles of the first level.
    pub fn cycles(&self, on: &Profile) -> f64 {
        match Rule::of(on) {
            Ok(Rule::Nvidia { lsu_lanes, wavefront }) => self.wavefronts * wavefront.max(32.0 / lsu_lanes),
            // Lanes side by side, as of any other words: 64 bytes a cycle, or 128.
            Ok(Rule::Cdna) => 2.0 * self.wavefronts,
            Ok(Rule::Rdna) => self.wavefronts,
            Err(_) => 0.0,
        }
    }

    /// Adds what caches do not hold.
    pub fn behind_l2(self, dram: &mut Dram, memory: &Memory, curve: &Curve) {
        if self.stored <= 0.0 {
            return;
        }
        let behind = 1.0 - curve.survives(self.footprint, memory.l2_effective);
        let own = memory.last_level.map_or(behind, |(size, curve)| behind * (1.0 - curve.survives(self.footprint, size)));
        dram.behind_l2 += self.loaded * behind;
        dram.load += self.loaded * own;
        dram.store += self.stored * own;
        dram.spilled += self.stored * own;
        if own > 0.0 {
            dram.by_cause.push((Cause::Spilled, self.loaded * own));
        }
    }
}

/// Registers of 32 bits that a work-item may take where its compiler keeps what it uses again; `None` where it moves uses to loads, as NVIDIA's
/// does, or nothing is recorded.
fn keeping(on: &Profile) -> Option<u32> {
    // A group of RDNA has both cores of a work-group processor.
    let shared = match Rule::of(on) {
        Ok(Rule::Cdna) => 1,
        Ok(Rule::Rdna) => 2,
        _ => return None,
    };
    let e = &on.execution;
    let all = e.registers.get().copied().unwrap_or(u32::MAX);
    Some((all / EXPECTED * shared).min(e.max_registers.get().copied().unwrap_or(u32::MAX)).max(1))
}

/// Registers that a work-item has a use for where all is kept.
fn needed(kernel: &Kernel) -> f64 {
    f64::from(kernel.registers) + f64::from(kernel.kept)
}

/// Registers that a work-item takes of its core's. A group that needs two cores for what it keeps, as those of RDNA have, is taken to fill one.
pub fn taken(kernel: &Kernel, on: &Profile) -> u32 {
    let Some(most) = keeping(on).filter(|_| kernel.kept > 0) else { return kernel.registers };
    let e = &on.execution;
    let granule = e.register_granule.get().copied().unwrap_or(1).max(1);
    let warp = e.warp.get().copied().unwrap_or(1).max(1) * e.warp_granule.get().copied().unwrap_or(1).max(1);
    let lanes = kernel.launch.group_size().next_multiple_of(warp).max(1);
    let room = e.registers.get().map_or(most, |all| all / lanes / granule * granule);
    kernel.registers + kernel.kept.min(most.min(room).saturating_sub(kernel.registers))
}

/// Words of a work-item beyond the registers that an instruction can name, and how many of them it stores, and loads again: each operation changes
/// one of all its words, so that a spilled one comes and goes as often as operations walk through them all.
pub fn beyond_registers(kernel: &Kernel, on: &Profile) -> (f64, f64) {
    let most = on.execution.max_registers.get().copied().unwrap_or(u32::MAX);
    let beyond = f64::from(kernel.registers.saturating_sub(most));
    let operations = kernel.ops.0.values().sum::<u64>() as f64;
    (beyond, beyond * (operations / f64::from(kernel.registers.max(1))).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::{Spilled, taken};
    use warpsight_ir::Kernel;
    use warpsight_ir::accesses::text::parse;
    use warpsight_ir::occupancy::{Residency, occupancy};
    use warpsight_ir::profile::builtin;

    /// 225 taps of two points a block apart, whose results are stored under conditions or are not: 450 words, of which the second point's are kept.
    fn taps(domain: u32) -> Kernel {
        let text = format!(
            "name = \"k\"\nblock = [64]\ndomain = [{domain}]\nfold = [2]\nfold_mode = \"strided\"\nregisters = 32\nflops = 450\n\
             [[loop]]\nname = \"j\"\ntrips = 15\norder = \"unrolled\"\n[[loop]]\nname = \"i\"\ntrips = 15\norder = \"unrolled\"\n\
             [[field]]\nname = \"a\"\nelement = \"f32\"\ndims = [200000]\nload = [[\"tx + 128*i + 1920*j\"]]\n\
             [[field]]\nname = \"b\"\nelement = \"f32\"\ndims = [4096]\nstore = [[\"tx\"]]\n"
        );
        parse(&text, &[]).unwrap_or_else(|error| panic!("{error:?}")).kernel
    }

    fn spilled(kernel: &Kernel, device: &str) -> (u32, Spilled) {
        let on = builtin(device).unwrap_or_else(|| panic!("{device}")).unwrap_or_else(|error| panic!("{error}"));
        let registers = taken(kernel, &on);
        let resident = occupancy(&Residency::of(&on), registers, 64, kernel.local).unwrap_or_else(|error| panic!("{error}"));
        (registers, Spilled::of(kernel, &on, &resident))
    }

    #[test]
    fn what_is_kept_takes_registers_and_what_has_none_is_spilled() {
        let (guarded, whole) = (taps(4090), taps(4096));
        for device in ["mi250x", "w6600"] {
            // 257 words for the 128 registers that groups of 1024 leave a work-item: half of 225 has none. 32 groups of 64.
            let (registers, own) = spilled(&guarded, device);
            let expected = 225.0 * (1.0 - 128.0 / 257.0) * 4.0 * 32.0 * 64.0;
            assert_eq!(registers, 128, "{device}");
            assert!((own.stored - expected).abs() < 1e-6 * expected && own.loaded == own.stored, "{device}: {own:?}");
            // Points that share nothing keep nothing in the order of the text.
            assert_eq!(spilled(&whole, device), (32, Spilled::default()), "{device}");
        }
        assert_eq!(spilled(&guarded, "a100-40"), (32, Spilled::default()));
    }
}
