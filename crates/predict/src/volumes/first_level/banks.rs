//! Banks of local memory, and how long they take to answer.

use warpsight_ir::Profile;

/// Banks of four bytes where no probe counted them: those of NVIDIA and of most others.
pub(super) const USUAL_BANKS: u32 = 32;

/// Banks of four bytes of a device's local memory; 32 where a number was found that no hardware has.
pub fn banks(on: &Profile) -> u32 {
    on.probed.local_banks.get().copied().filter(|banks| (1..=64).contains(banks)).unwrap_or(USUAL_BANKS)
}

/// Cycles in which all banks of local memory answer once, by its bandwidth, whatever path the bytes take afterwards; one where nothing is known of it.
/// Stated at the profile's clock: at another it changes with it.
pub fn wavefront(on: &Profile) -> f64 {
    let e = &on.execution;
    let known = || Some(4.0 * f64::from(banks(on)) * f64::from(*e.cores.get()?) * e.clock.get()?.0 / on.memory.local_bandwidth.get()?.0);
    // Bandwidths are rounded.
    known().map_or(1.0, |cycles| if (cycles - 1.0).abs() < 0.01 { 1.0 } else { cycles })
}
