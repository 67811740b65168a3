//! Banks of local memory, and how long they take to answer.

use warpsight_ir::Profile;
use warpsight_ir::profile::Fact;

/// Banks of four bytes where no probe counted them: those of NVIDIA and of most others.
pub(super) const USUAL_BANKS: u32 = 32;
/// Where a probe looked for the number and did not find it: lanes met at no distance that it tried, as they would where no power of two divides
/// the number.
const UNSEEN_BANKS: u32 = 31;

/// Banks of four bytes of a device's local memory.
pub fn banks(on: &Profile) -> u32 {
    match &on.probed.local_banks {
        Fact::Absent { .. } => UNSEEN_BANKS,
        own => own.get().copied().filter(|banks| (1..=64).contains(banks)).unwrap_or(USUAL_BANKS),
    }
}

/// Cycles in which all banks of local memory answer once, by its bandwidth, whatever path the bytes take afterwards; one where nothing is known of it.
/// Stated at the profile's clock: at another it changes with it.
pub fn wavefront(on: &Profile) -> f64 {
    let e = &on.execution;
    let usual = on.probed.local_banks.get().map_or(USUAL_BANKS, |_| banks(on));
    let known = || Some(4.0 * f64::from(usual) * f64::from(*e.cores.get()?) * e.clock.get()?.0 / on.memory.local_bandwidth.get()?.0);
    // Bandwidths are rounded.
    known().map_or(1.0, |cycles| if (cycles - 1.0).abs() < 0.01 { 1.0 } else { cycles })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::volumes::first_level::local::fullest;
    use warpsight_ir::profile::{Source, builtin};

    /// 32 lanes that are 32 words apart, by what is known of banks.
    fn apart(known: Fact<u32>) -> u32 {
        let mut on = builtin("sim-adreno740").expect("is there").expect("parses");
        on.probed.local_banks = known;
        let lanes: Vec<i64> = (0..32).map(|lane| 4 * 32 * lane).collect();
        fullest(&lanes, 4, 0, banks(&on))
    }

    #[test]
    fn lanes_meet_at_no_distance_where_a_probe_found_none() {
        let found = |banks| Fact::known(banks, Source::Simulated, "a test");
        assert_eq!([apart(found(32)), apart(found(16))], [32; 2]);
        // Nobody looked: as most have them.
        assert_eq!(apart(Fact::unknown("nobody looked")), 32);
        assert_eq!(apart(Fact::absent("as long at any distance")), 2);
    }
}
