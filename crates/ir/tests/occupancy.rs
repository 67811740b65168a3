//! Residency against what is known of real devices.

use warpsight_ir::Bytes;
use warpsight_ir::occupancy::{CannotRun, Occupancy, Residency, Resident, occupancy};

fn adreno640() -> Residency {
    Residency {
        warp: Some(64),
        max_warps: Some(30),
        registers: Some(144 * 4 * 128),
        max_registers: Some(192),
        register_granule: Some(4),
        warp_granule: Some(2),
        max_group_size: Some(1024),
        local: Some(Bytes(32768.0)),
        ..Residency::default()
    }
}

fn mali_g76() -> Residency {
    Residency {
        warp: Some(8),
        max_warps: Some(96),
        registers: Some(24576),
        max_registers: Some(64),
        register_granule: Some(32),
        ..Residency::default()
    }
}

#[test]
fn adreno_waves_are_a_function_of_vec4_registers() {
    for registers in 1..=192_u32 {
        let expected = 144 / registers.div_ceil(4) * 2;
        assert_eq!(adreno640().warps_by_registers(registers), Some(expected));
        let fit = occupancy(&adreno640(), registers, 64, Bytes::ZERO).unwrap();
        assert_eq!((fit.groups, fit.warps), (expected.min(30), expected.min(30)));
        assert_eq!(fit.limiter, Some(if expected <= 30 { Resident::Registers } else { Resident::Warps }));
    }
    // The recording: 384 work-items of 192 registers a core; 12 and 24 groups of one work-item on two cores.
    assert_eq!(adreno640().warps_by_registers(192).map(|w| w * 64), Some(384));
    let on_two_cores = |registers| occupancy(&adreno640(), registers, 1, Bytes::ZERO).map(|fit| 2 * fit.groups);
    assert_eq!((on_two_cores(192), on_two_cores(96)), (Ok(12), Ok(24)));
    // Beyond the limit the compiler spills; a core still holds as many.
    assert_eq!(on_two_cores(500), Ok(12));
    let adreno630 = Residency { registers: Some(96 * 4 * 128), ..adreno640() };
    assert_eq!(adreno630.warps_by_registers(192).map(|w| w * 64), Some(256));
}

#[test]
fn mali_threads_halve_beyond_32_registers() {
    let threads = |registers| mali_g76().warps_by_registers(registers).map(|w| w * 8);
    assert_eq!([1, 32, 33, 64].map(threads), [768, 768, 384, 384].map(Some));
    assert_eq!(occupancy(&mali_g76(), 40, 240, Bytes::ZERO).map(|fit| (fit.groups, fit.warps)), Ok((1, 30)));
    assert!(matches!(occupancy(&mali_g76(), 40, 512, Bytes::ZERO), Err(CannotRun::Registers { warps: 64, registers: 40, max: 48 })));
}

#[test]
fn the_scarcest_resource_limits() {
    let fit = |registers, size, local| occupancy(&adreno640(), registers, size, Bytes(local));
    // 12 waves of 96 registers are 3 groups of 4; 10 KiB of 32 leave 3 as well: the first of equals.
    assert_eq!(fit(96, 256, 0.0), Ok(Occupancy { groups: 3, warps: 12, limiter: Some(Resident::Registers) }));
    assert_eq!(fit(96, 256, 10240.0), Ok(Occupancy { groups: 3, warps: 12, limiter: Some(Resident::Registers) }));
    assert_eq!(fit(96, 256, 16384.0), Ok(Occupancy { groups: 2, warps: 8, limiter: Some(Resident::Local) }));
    // 65 work-items are two waves.
    assert_eq!(fit(8, 65, 0.0), Ok(Occupancy { groups: 15, warps: 30, limiter: Some(Resident::Warps) }));
    let few = Residency { max_groups: Some(2), ..adreno640() };
    assert_eq!(occupancy(&few, 8, 64, Bytes::ZERO), Ok(Occupancy { groups: 2, warps: 2, limiter: Some(Resident::Groups) }));
    // Nothing known: one group, nothing limits.
    assert_eq!(occupancy(&Residency::default(), 300, 7, Bytes(1e9)), Ok(Occupancy { groups: 1, warps: 7, limiter: None }));
}

#[test]
fn what_cannot_run_says_why() {
    let message = |registers, size, local| occupancy(&adreno640(), registers, size, Bytes(local)).unwrap_err().to_string();
    assert_eq!(message(8, 2048, 0.0), "a group has 2048 work-items, the device allows 1024");
    assert_eq!(message(8, 64, 40000.0), "a group needs 40000 bytes of local memory, a core has 32768");
    assert_eq!(message(192, 512, 0.0), "a group has 8 warps of 192 registers per work-item, the registers of a core hold 6 such warps");
    let narrow = Residency { max_warps: Some(4), registers: None, ..adreno640() };
    assert_eq!(occupancy(&narrow, 8, 512, Bytes::ZERO).unwrap_err().to_string(), "a group has 8 warps, a core holds 4");
}
