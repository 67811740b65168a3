//! Occupancy of NVIDIA and AMD GPUs from their profiles, against the vendors' allocation rules worked out by hand, and against a core that is
//! filled group by group.

use warpsight_ir::Bytes;
use warpsight_ir::occupancy::{CannotRun, GroupNeeds, Residency, Resident, occupancy};
use warpsight_ir::profile;

fn limits(name: &str) -> Residency {
    Residency::of(&profile::builtin(name).expect(name).expect(name))
}

/// Blocks a multiprocessor holds: registers of a warp in units of 256 within a quarter of 65536, shared memory and 1 KiB in units of 128
/// bytes (256 and none before 8.0), warps, blocks, as `cuda_occupancy.h` counts them.
#[test]
fn nvidia_blocks_by_hand() {
    use Resident::{Groups, Local, Registers, Warps};
    const KIB: u32 = 1024;
    for (name, registers, threads, shared, blocks, limiter) in [
        // 32 · 32 = 1024 registers a warp: 16 in each quarter, all 64.
        ("a100-40", 32, 256, 0, 8, Registers),
        ("a100-40", 64, 256, 0, 4, Registers),
        // 33 registers are allocated as 40: 12 warps in each quarter.
        ("a100-40", 33, 256, 0, 6, Registers),
        ("a100-40", 40, 256, 0, 6, Registers),
        // 72 · 32 = 2304: 7 in each quarter, 28.
        ("a100-40", 72, 256, 0, 3, Registers),
        ("a100-40", 168, 128, 0, 3, Registers),
        // 255 are allocated as 256: 2 in each quarter.
        ("a100-40", 255, 128, 0, 2, Registers),
        ("a100-40", 255, 256, 0, 1, Registers),
        // What exceeds 255 is spilled.
        ("a100-40", 300, 128, 0, 2, Registers),
        ("a100-40", 16, 256, 0, 8, Warps),
        ("a100-40", 16, 1024, 0, 2, Warps),
        ("a100-40", 16, 32, 0, 32, Groups),
        ("a100-40", 16, 48, 0, 32, Warps),
        // ⌊164 / (48 + 1)⌋.
        ("a100-40", 16, 128, 48 * KIB, 3, Local),
        ("a100-40", 16, 128, 40 * KIB, 4, Local),
        ("a100-40", 16, 128, 163 * KIB, 1, Local),
        // 10 880 + 1024 are 93 units, of which 167 936 bytes hold 14; one byte more takes another unit.
        ("a100-40", 16, 64, 10_880, 14, Local),
        ("a100-40", 16, 64, 10_881, 13, Local),
        // Nothing reserved: two halves of 96 KiB; 32 769 bytes are allocated as 33 024.
        ("v100", 16, 128, 48 * KIB, 2, Local),
        ("v100", 16, 128, 32 * KIB, 3, Local),
        ("v100", 16, 128, 32 * KIB + 1, 2, Local),
        ("v100", 32, 64, 0, 32, Registers),
        // 48 warps, 16 blocks.
        ("a40", 16, 1024, 0, 1, Warps),
        ("a40", 16, 128, 0, 12, Warps),
        ("a40", 16, 64, 0, 16, Groups),
        ("a40", 40, 256, 0, 6, Registers),
        ("a40", 48, 256, 0, 5, Registers),
        // 48 warps, 24 blocks.
        ("l40", 16, 64, 0, 24, Warps),
        ("l40", 16, 32, 0, 24, Groups),
        ("l40", 16, 128, 99 * KIB, 1, Local),
        ("h100", 16, 128, 113 * KIB, 2, Local),
        ("h200", 16, 128, 56 * KIB, 4, Local),
        ("h200", 128, 128, 0, 4, Registers),
    ] {
        let fit = occupancy(&limits(name), registers, threads, Bytes(shared.into())).map(|o| (o.groups, o.limiter));
        assert_eq!(fit, Ok((blocks, Some(limiter))), "{name}, {registers} registers, {threads} threads, {shared} bytes");
    }
    let fails = |name, registers, threads, shared: u32| occupancy(&limits(name), registers, threads, Bytes(shared.into())).unwrap_err();
    assert!(matches!(fails("a100-40", 72, 1024, 0), CannotRun::Registers { warps: 32, max: 28, .. }));
    assert!(matches!(fails("a100-40", 32, 2048, 0), CannotRun::GroupSize { size: 2048, max: 1024 }));
    assert_eq!(
        fails("a100-40", 32, 128, 164 * KIB).to_string(),
        "a group needs 167936 bytes of local memory and 1024 for the system, a core has 167936"
    );
}

/// Waves of a SIMD by vector registers, as the vendor's tables have them: the last number of registers at which so many fit.
#[test]
fn amd_waves_of_a_simd() {
    type Table<'a> = &'a [(u32, u32)];
    // CDNA 2 (“Register pressure in AMD CDNA2 GPUs”, AMD lab notes): 512 registers in units of 8, eight waves at most.
    let cdna2: Table = &[(64, 8), (72, 7), (80, 6), (96, 5), (128, 4), (168, 3), (256, 2), (512, 1)];
    // CDNA, as GCN before it: 256 registers in units of 4, ten waves at most.
    let cdna: Table = &[(24, 10), (28, 9), (32, 8), (36, 7), (40, 6), (48, 5), (64, 4), (84, 3), (128, 2), (256, 1)];
    // RDNA 2, waves of 32: 1024 registers in units of 16, sixteen waves at most.
    let rdna2: Table = &[(64, 16), (80, 12), (96, 10), (112, 9), (128, 8), (144, 7), (160, 6), (192, 5), (256, 4)];
    for (name, simds, table) in
        [("mi210", 4, cdna2), ("mi250x", 4, cdna2), ("mi300x", 4, cdna2), ("mi100", 4, cdna), ("rx6900xt", 2, rdna2)]
    {
        let limits = limits(name);
        let mut first = 1;
        for &(last, waves) in table {
            for registers in first..=last {
                // One wave in each SIMD.
                let group = simds * limits.warp.unwrap();
                let fit = occupancy(&Residency { max_barriers: None, ..limits }, registers, group, Bytes::ZERO).map(|o| o.groups);
                assert_eq!(fit, Ok(waves), "{name}, {registers} registers");
            }
            first = last + 1;
        }
        assert_eq!(Some(first - 1), limits.max_registers, "{name}");
    }
}

#[test]
fn amd_groups_by_hand() {
    use Resident::{Groups, Local, Registers, Warps};
    for (name, registers, items, local, groups, limiter) in [
        // 64 registers: 8 waves in each SIMD, 8 groups of 4.
        ("mi210", 64, 256, 0, 8, Registers),
        ("mi210", 128, 256, 0, 4, Registers),
        ("mi210", 512, 256, 0, 1, Registers),
        ("mi250x", 32, 256, 0, 8, Warps),
        // Single waves take no barrier, pairs do: 16 of them, where registers and slots would allow as many.
        ("mi210", 32, 64, 0, 32, Warps),
        ("mi210", 32, 65, 0, 16, Warps),
        ("mi100", 24, 64, 0, 40, Registers),
        ("mi100", 24, 128, 0, 16, Groups),
        ("mi100", 24, 256, 0, 10, Registers),
        ("mi100", 65, 256, 0, 3, Registers),
        // 64 KiB in units of 512: 16 385 bytes are allocated as 16 896.
        ("mi300x", 32, 256, 16_384, 4, Local),
        ("mi300x", 32, 256, 16_385, 3, Local),
        ("mi300x", 32, 256, 65_536, 1, Local),
        ("rx6900xt", 64, 32, 0, 32, Registers),
        ("rx6900xt", 65, 64, 0, 12, Registers),
        ("rx6900xt", 16, 1024, 0, 1, Warps),
    ] {
        let fit = occupancy(&limits(name), registers, items, Bytes(local.into())).map(|o| (o.groups, o.limiter));
        assert_eq!(fit, Ok((groups, Some(limiter))), "{name}, {registers} registers, {items} work-items, {local} bytes");
    }
}

/// Fills a core group by group: each warp goes to the emptiest of the register files.
fn filled(l: &Residency, registers: u32, size: u32, local: u32) -> u32 {
    let (lanes, files) = (l.warp.unwrap(), l.warp_granule.unwrap_or(1));
    let warps = size.div_ceil(lanes);
    let take = registers.min(l.max_registers.unwrap()).next_multiple_of(l.register_granule.unwrap()) * lanes;
    let mut free = vec![l.registers.unwrap() / files; files as usize];
    let mut local_free = l.local.map_or(f64::INFINITY, |l| l.0);
    let granule = l.local_granule.map_or(1.0, |g| g.0);
    let local_take = ((f64::from(local) + l.local_reserved.map_or(0.0, |r| r.0)) / granule).ceil() * granule;
    let (mut groups, mut resident) = (0, 0);
    loop {
        for _ in 0..warps {
            let emptiest = free.iter_mut().max().unwrap();
            match emptiest.checked_sub(take) {
                Some(left) => *emptiest = left,
                None => return groups,
            }
        }
        resident += warps;
        local_free -= local_take;
        let slots = l.max_groups.into_iter().chain(l.max_barriers.filter(|_| warps > 1)).min().unwrap_or(u32::MAX);
        if resident > l.max_warps.unwrap() || (local > 0 && local_free < 0.0) || groups == slots {
            return groups;
        }
        groups += 1;
    }
}

#[test]
fn equal_to_a_core_filled_group_by_group() {
    let (mut compared, mut refused) = (0, 0);
    for name in profile::builtin_names() {
        let l = limits(name);
        let l = Residency { max_registers: l.max_registers.or(Some(192)), ..l };
        if l.registers.is_none() || l.max_warps.is_none() || l.warp.is_none() {
            continue;
        }
        for registers in (1..=260).step_by(7) {
            for size in [1, 31, 32, 33, 64, 96, 100, 128, 160, 192, 256, 320, 384, 512, 640, 768, 1000, 1024] {
                for local in [0, 1, 127, 1024, 5000, 12_288, 32_768, 49_152, 65_536, 100_000, 166_912] {
                    let expected = filled(&l, registers, size, local);
                    match occupancy(&l, registers, size, Bytes(local.into())) {
                        Ok(fit) => assert_eq!(fit.groups, expected, "{name}, {registers} registers, {size} work-items, {local} bytes"),
                        Err(CannotRun::GroupSize { .. }) => {}
                        Err(why) => {
                            assert_eq!(expected, 0, "{name}, {registers} registers, {size} work-items, {local} bytes: {why}");
                            refused += 1;
                        }
                    }
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 100_000 && refused > 1000, "{compared} {refused}");
}

/// More of anything never lets more groups in.
#[test]
fn monotone_in_registers_work_items_and_local_memory() {
    for name in profile::builtin_names() {
        let l = limits(name);
        let groups = |registers, size, local: u32| occupancy(&l, registers, size, Bytes(local.into())).map_or(0, |fit| fit.groups);
        for size in [32, 64, 128, 256, 512, 1024] {
            for local in [0, 3000, 40_000] {
                assert!((1..=300).is_sorted_by(|&a, &b| groups(a, size, local) >= groups(b, size, local)), "{name}: registers");
            }
            assert!((0..4000).is_sorted_by(|&a, &b| groups(40, size, 64 * a) >= groups(40, size, 64 * b)), "{name}: local");
        }
        for registers in [16, 40, 100, 192] {
            assert!((1..=1100).is_sorted_by(|&a, &b| groups(registers, a, 3000) >= groups(registers, b, 3000)), "{name}: work-items");
        }
    }
}

/// Of one kind, as many fit together as `occupancy` says; of two kinds, neither more than of each alone nor, where each takes less than
/// half, fewer.
#[test]
fn kinds_that_share_a_core() {
    let mut rng = fastrand::Rng::with_seed(3);
    let mut compared = 0;
    for name in profile::builtin_names() {
        let l = limits(name);
        for _ in 0..400 {
            let needs = |rng: &mut fastrand::Rng| GroupNeeds {
                lanes: rng.u32(1..=512),
                registers: rng.u32(1..=128),
                local: Bytes(f64::from(if rng.bool() { 0 } else { rng.u32(1..60_000) })),
            };
            let (a, b) = (needs(&mut rng), needs(&mut rng));
            let most =
                |n: GroupNeeds| occupancy(&l, n.registers, n.lanes, n.local).ok().filter(|fit| fit.limiter.is_some()).map(|fit| fit.groups);
            let (Some(of_a), Some(of_b)) = (most(a), most(b)) else { continue };
            assert_eq!(l.keeps_apart(&[(a, of_a)]), None, "{name}: {of_a} of {a:?}");
            assert!(l.keeps_apart(&[(a, of_a + 1)]).is_some(), "{name}: {} of {a:?}", of_a + 1);
            let apart = l.keeps_apart(&[(a, 1), (b, of_b)]);
            assert!(l.keeps_apart(&[(a, of_a), (b, of_b + 1)]).is_some(), "{name}: {a:?} {b:?} {apart:?}");
            compared += 1;
        }
    }
    assert!(compared > 3000, "{compared}");
}
