//! Aspects on simulated GPUs: what is found is what the silicon is made of.

#[path = "common/probing.rs"]
mod probing;

use probing::{near, opened, probed, recorded, silicon, silicon_with, warps, word};
use warpsight_ir::profile::{Fact, Source};
use warpsight_probe::aspects::{Seen, all};
use warpsight_probe::{Context, Finding, Findings, Outcome, Record, Scale, Verdict, consistency};

/// The aspects that are looked at here.
const MINE: [&str; 10] = ["timer", "warp", "arithmetic", "registers", "bandwidth", "local", "control", "reads", "paths", "split"];

/// What comes of holding a number against itself.
fn held(found: &Findings, what: &str) -> Verdict {
    let one = consistency(found).into_iter().find(|one| one.what.contains(what)).expect("a comparison");
    println!("{one:?}");
    one.verdict
}

#[test]
fn adreno_640() {
    let mut device = opened("sim:adreno640");
    let found = probed(&mut *device, &MINE, &[]);
    near(&found, "launch.overhead_s", 3.2e-6, 0.05);
    assert_eq!(warps(&found), [64.0]);
    near(&found, "warp.by_order", 64.0, 0.0);
    // Simulated warps take turns, so that all begin before one ends.
    let order = found.facts.get("alu.by_order");
    assert!(matches!(order, Some(Finding::Number(Fact::Unknown { unknown })) if unknown.contains("take turns")), "{order:?}");
    near(&found, "cores", 2.0, 0.0);
    near(&found, "fma.latency_s", 4.0 / 585e6, 0.05);
    near(&found, "peak.fp32", 898.6e9, 0.05);
    near(&found, "peak.fp16", 1797.1e9, 0.05);
    [1, 2, 4, 8, 16].iter().for_each(|width| near(&found, &format!("peak.fp16_x{width}"), 1797.1e9, 0.1));
    near(&found, "alu.per_core", 384.0, 0.05);
    near(&found, "registers.per_thread_max", 185.0, 4.0 / 185.0);
    near(&found, "registers.per_core", 73728.0, 0.05);
    near(&found, "concurrency.full", 12.0, 0.0);
    near(&found, "concurrency.half", 24.0, 0.0);
    assert_eq!(word(&found, "registers.pooled"), "pooled");
    near(&found, "dram.bandwidth", 30.9e9, 0.05);
    near(&found, "buffer.l2.bandwidth", 96.3e9, 0.05);
    near(&found, "texture.l1.bandwidth", 194.6e9, 0.05);
    near(&found, "local.bandwidth", 104e9, 0.05);
    near(&found, "local.banks", 32.0, 0.0);
    near(&found, "local.capacity_bytes", 32768.0, 0.0);
    near(&found, "int.divide_s", 10.0 / 585e6, 0.05);
    near(&found, "barrier.cost_s", 12.0 / 585e6, 0.1);
    // What ends before a branch does is not waited for.
    near(&found, "branch.cost_s", 6.0 / 585e6, 0.34);
    assert!(!found.facts.contains_key("buffer.l1.bandwidth"), "buffers have no first level");
    // One core of two; roots of four instructions each, multiply-adds of doubles of sixteen.
    near(&found, "peak.fp32_one_core", 449.3e9, 0.05);
    near(&found, "special.rate", 112.3e9, 0.02);
    near(&found, "peak.fp64", 898.6e9 / 16.0, 0.05);
    // Constants are read as buffers are, and rows are stored by groups of all cores.
    assert!(
        found.get("constant.bandwidth").is_some_and(|rate| (20e9..400e9).contains(&rate)),
        "{:?}",
        found.facts.get("constant.bandwidth")
    );
    assert!(
        found.get("image.write_bandwidth").is_some_and(|rate| (5e9..200e9).contains(&rate)),
        "{:?}",
        found.facts.get("image.write_bandwidth")
    );
    near(&found, "image.max_width", 16384.0, 0.0);
    // Each key that a profile reads says something, if only why nobody knows it.
    let reasons = ["registers.granule", "warp.granule"].map(|key| {
        found.facts.get(key).is_some_and(|fact| matches!(fact, Finding::Number(Fact::Unknown { unknown }) if !unknown.is_empty()))
    });
    assert_eq!(reasons, [true, true]);
    let own = warpsight_probe::profile(&found, "probed", "a test");
    assert_eq!((own.probed.warps_full.get(), own.probed.warps_half.get()), (Some(&6), Some(&12)));
    assert!(own.execution.special_per_clock.get().is_some() && own.execution.fma64_per_clock.get().is_some());
    // The core alone and all of them, the file by warps and by larger groups.
    for what in ["peak f32", "register file", "order of atomics"] {
        assert_eq!(held(&found, what), Verdict::Consistent, "{what}");
    }
    for (key, finding) in &found.facts {
        if let Finding::Number(Fact::Known { lo, hi, source: Source::Measured, .. }) = finding {
            assert!(lo.is_some() && hi.is_some(), "{key}: {finding:?}");
        }
    }
}

#[test]
fn mali_g76() {
    let mut device = opened("sim:mali-g76");
    let found = probed(&mut *device, &MINE, &[("buffer.l1.capacity_bytes", 16384.0), ("buffer.l2.capacity_bytes", 262_144.0)]);
    assert_eq!(warps(&found), [8.0]);
    near(&found, "cores", 5.0, 0.0);
    near(&found, "peak.fp32", 192e9, 0.05);
    near(&found, "peak.fp16", 384e9, 0.05);
    // Halves are computed in pairs: alone they are as fast as others.
    near(&found, "peak.fp16_x1", 192e9, 0.05);
    [2, 4, 8, 16].iter().for_each(|width| near(&found, &format!("peak.fp16_x{width}"), 384e9, 0.05));
    let halves = found.curves.iter().find(|curve| curve.title.ends_with("vectors of f16")).expect("a curve");
    assert_eq!(halves.points.iter().map(|point| point[0]).collect::<Vec<_>>(), [1.0, 2.0, 4.0, 8.0, 16.0]);
    near(&found, "warp.by_order", 8.0, 0.0);
    near(&found, "registers.per_thread_max", 64.0, 1.0 / 64.0);
    near(&found, "registers.per_core", 24576.0, 0.05);
    assert_eq!(word(&found, "registers.pooled"), "dedicated");
    assert_eq!(held(&found, "register file"), Verdict::Consistent);
    // A file of another size is not what runs in it.
    let mut other = found.clone();
    other.number("registers.per_core", Fact::between(40_000.0, 40_960.0, 41_000.0, Source::Measured, "planted"));
    assert_eq!(held(&other, "register file"), Verdict::Contradiction);
    near(&found, "texture.l1.bandwidth", 30.1e9, 0.05);
    near(&found, "buffer.l1.bandwidth", 23.3e9, 0.05);
    near(&found, "buffer.l2.bandwidth", 15.8e9, 0.05);
    near(&found, "local.bandwidth", 23.3e9, 0.05);
    near(&found, "dram.bandwidth", 11.2e9, 0.05);
}

#[test]
fn a100() {
    let mut device = opened("sim:a100-40");
    let found = probed(&mut *device, &["timer", "warp", "arithmetic", "local", "control"], &[]);
    assert_eq!(warps(&found), [32.0]);
    near(&found, "cores", 108.0, 0.0);
    near(&found, "peak.fp32", 19.5e12, 0.05);
    near(&found, "local.banks", 32.0, 0.0);
}

/// A quarter of its 512 registers still lets no more than half of its groups in.
#[test]
fn groups_that_registers_keep_out_are_counted_with_fewer() {
    let (mut device, _file) = silicon("mi250x", &[("core.count", 2.0)]);
    let found = probed(&mut *device, &["timer", "warp", "registers"], &[]);
    near(&found, "registers.per_thread_max", 512.0, 4.0 / 512.0);
    near(&found, "concurrency.full", 2.0 * 4.0, 0.0);
    near(&found, "concurrency.most", 2.0 * 32.0, 0.0);
    near(&found, "concurrency.items", 2.0 * 32.0 * 64.0, 0.0);
}

/// So wide a device takes minutes.
#[test]
#[ignore = "takes minutes"]
fn a100_memory_and_registers() {
    let mut device = opened("sim:a100-40");
    let capacities = [("buffer.l1.capacity_bytes", 196_608.0), ("buffer.l2.capacity_bytes", 41_943_040.0)];
    let found = probed(&mut *device, &["arithmetic", "registers", "bandwidth", "reads"], &capacities);
    near(&found, "registers.per_thread_max", 255.0, 8.0 / 255.0);
    near(&found, "registers.per_core", 65536.0, 0.05);
    near(&found, "dram.bandwidth", 1.41e12, 0.05);
    near(&found, "buffer.l1.bandwidth", 108.0 * 128.0 * 1.41e9, 0.15);
}

/// Where the largest group is no power of two, and parts of it are no whole warps, all units have work, and the same.
#[test]
fn all_units_of_a_core_compute() {
    let wide = [("core.wave", 64.0), ("residency.warp", 64.0), ("core.lanes", 128.0), ("core.ports", 4.0), ("core.alu_latency", 6.0)];
    let (mut device, _file) = silicon("mali-g76", &[&wide[..], &[("core.count", 2.0), ("residency.registers", 94_208.0)]].concat());
    let found = probed(&mut *device, &["arithmetic"], &[]);
    for key in ["peak.fp32", "peak.fp32_x2"] {
        near(&found, key, 2.0 * 4.0 * 128.0 * 2.0 * 800e6, 0.03);
    }
    // One warp of each waits for the end of loops.
    near(&found, "peak.fp32_one_core", 4.0 * 128.0 * 2.0 * 800e6, 0.1);
}

/// Fetches that the cache of texels never holds go as fast as what lies behind it.
#[test]
fn second_levels_that_images_are_read_through() {
    for (id, first, second, truth) in [("sim:adreno640", 1024.0, 131_072.0, 99.8e9), ("sim:mali-g76", 8192.0, 262_144.0, 15.8e9)] {
        let mut device = opened(id);
        let capacities = [("texture.l1.capacity_bytes", first), ("texture.l2.capacity_bytes", second)];
        near(&probed(&mut *device, &["bandwidth"], &capacities), "texture.l2.bandwidth", truth, 0.05);
    }
}

/// A second level is told from the first by what no group finds there that another brought: where a core holds so few groups at once that
/// others come where they just were, and where it is hardly larger than the first.
#[test]
fn second_levels_beside_first_ones() {
    // Two slices of 64 bytes in 6.5 cycles.
    let truth = |clock: f64| clock * 2.0 * 64.0 / 6.5;
    let few = [("core.count", 7.0), ("core.wave", 4.0), ("residency.warp", 4.0), ("core.lanes", 4.0), ("core.ports", 1.0)];
    let held = [("residency.max_warps", 48.0), ("core.clock", 451e6), ("buffer.bytes_per_cycle", 5.6)];
    let large = [("l2.cache.line", 128.0), ("l2.cache.sets", 128.0), ("l2.cache.ways", 16.0), ("l2.cache.bytes", 524_288.0)];
    let small = [("core.count", 5.0), ("l2.cache.sets", 32.0), ("l2.cache.ways", 12.0), ("l2.cache.bytes", 49_152.0)];
    let small = [&small[..], &[("l2.cache.line", 64.0), ("core.clock", 1140e6), ("l2.misses", 128.0)]].concat();
    for (changes, bytes, clock) in [([few.as_slice(), &held, &large].concat(), 524_288.0, 451e6), (small, 49_152.0, 1140e6)] {
        let (mut device, _file) = silicon("mali-g76", &changes);
        let capacities = [("buffer.l1.capacity_bytes", 16_384.0), ("buffer.l2.capacity_bytes", bytes)];
        let found = probed(&mut *device, &["bandwidth"], &capacities);
        near(&found, "buffer.l2.bandwidth", truth(clock), 0.02);
    }
}

/// Silicon of which so much is by chance: warp, cores, latency, registers, noise of the clock.
fn by_chance(seed: u64) -> Vec<(&'static str, f64)> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let warp = f64::from(4 << rng.u32(0..6));
    let lanes = warp * f64::from(1 + rng.u32(0..2));
    let slots = f64::from(rng.u32(18..40));
    vec![
        ("core.wave", warp),
        ("residency.warp", warp),
        ("core.lanes", lanes),
        ("core.ports", f64::from(rng.u32(1..5))),
        ("core.waves_together", f64::from(rng.u32(1..3))),
        ("core.count", f64::from(rng.u32(1..9))),
        ("core.alu_latency", f64::from(rng.u32(3..8))),
        // A whole number of quanta of 4 registers for two warps.
        ("residency.registers", slots * 4.0 * 2.0 * warp * 8.0),
        ("residency.max_registers", f64::from(rng.u32(64..200))),
        ("residency.max_warps", 48.0),
        ("timer.noise", 0.03),
        ("timer.seed", seed as f64),
    ]
}

/// Warps are told exactly, cores too, registers within a quantum, rates within 5 %.
#[test]
fn silicon_by_chance() {
    for seed in 0..6 {
        let changes = by_chance(seed);
        let truth = |wanted: &str| changes.iter().find(|(key, _)| *key == wanted).map(|(_, value)| *value).expect("a key");
        println!("seed {seed}: {changes:?}");
        let (mut device, _file) = silicon("adreno640", &changes);
        let found = probed(&mut *device, &["timer", "warp", "arithmetic", "registers"], &[]);
        assert_eq!(warps(&found), [truth("core.wave")]);
        near(&found, "cores", truth("core.count"), 0.0);
        near(&found, "fma.latency_s", truth("core.alu_latency") / 585e6, 0.05);
        let alus = truth("core.ports") * truth("core.lanes");
        near(&found, "peak.fp32", truth("core.count") * alus * 2.0 * 585e6, 0.05);
        near(&found, "alu.in_flight", alus * truth("core.alu_latency"), 0.08);
        let registers = truth("residency.max_registers");
        near(&found, "registers.per_thread_max", registers, 4.0 / registers);
        match found.facts.get("registers.per_core") {
            Some(Finding::Number(Fact::Known { lo: Some(lo), hi: Some(hi), .. })) => {
                assert!((*lo..=*hi).contains(&truth("residency.registers")), "from {lo} to {hi}");
            }
            // Where warps are used up before registers are.
            Some(Finding::Number(Fact::Unknown { unknown })) => assert!(unknown.contains("at least"), "{unknown}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn noisy_silicon_with_other_warps() {
    for (warp, cores, noise) in [(4.0, 3.0, 0.03), (32.0, 7.0, 0.03), (128.0, 1.0, 0.1)] {
        let changes = [
            ("core.wave", warp),
            ("residency.warp", warp),
            ("core.lanes", 2.0 * warp),
            ("core.count", cores),
            ("timer.noise", noise),
            ("timer.quantum", 5.2e-8),
        ];
        let (mut device, _file) = silicon("adreno640", &changes);
        let found = probed(&mut *device, &MINE, &[]);
        assert_eq!(warps(&found), [warp]);
        near(&found, "cores", cores, 0.0);
        near(&found, "timer.quantum_s", 5.2e-8, 0.02);
        near(&found, "peak.fp32", cores * 6.0 * warp * 2.0 * 585e6, 0.05);
        near(&found, "registers.per_thread_max", 185.0, 4.0 / 185.0);
        near(&found, "local.banks", 32.0, 0.0);
    }
}

/// Banks that no power of two divides, so that lanes at such distances meet in none: the distances between tell, and cores are counted by them.
#[test]
fn numbers_of_banks_that_are_no_power_of_two() {
    for (banks, cores) in [(35.0, 2.0), (26.0, 3.0)] {
        let (mut device, _file) = silicon("adreno640", &[("local.banks", banks), ("core.count", cores), ("timer.noise", 0.03)]);
        let found = probed(&mut *device, &["timer", "warp", "arithmetic", "local"], &[]);
        near(&found, "local.banks", banks, 0.0);
        near(&found, "cores", cores, 0.0);
    }
}

/// A device whose clock shows nonsense, and one that refuses everything.
#[test]
fn nonsense_is_unknown_with_the_reason() {
    let device = opened("sim:adreno640");
    let context = Context { device: device.info(), scale: Scale::Full, seed: 1 };
    let clocks: [fn(usize) -> Outcome; 2] =
        [|_| Outcome::Verified, |_| Outcome::Failed { why: "it burns".into(), cause: warpsight_probe::Cause::Refused }];
    let times: [fn(usize) -> f64; 4] = [|_| 0.0, |_| 1e-9, |n| 1e-3 / (n as f64 + 1.0), |_| f64::NAN];
    for (outcome, time) in clocks.iter().flat_map(|outcome| times.iter().map(move |time| (outcome, time))) {
        for aspect in all().into_iter().filter(|aspect| MINE.contains(&aspect.phase.name)) {
            let mut plan = (aspect.phase.plan)(&context);
            let mut records: Vec<Record> = vec![];
            while let Some(measurement) = plan.ask(&records) {
                let n = records.len();
                assert!(n < 800, "{} asks for more and more", aspect.phase.name);
                let record = Record::skipped(aspect.phase.name, &measurement.name, "");
                records.push(Record { outcome: outcome(n), times_s: vec![time(n); 3], ..record });
            }
            for records in [&records[..], &records[..records.len() / 2], &[]] {
                let found = (aspect.analyse)(&Seen { device: device.info(), records, found: &Findings::default() });
                assert!(!found.facts.is_empty(), "{}", aspect.phase.name);
                let numbers = found.facts.iter().filter_map(|(key, finding)| match finding {
                    Finding::Number(fact) => Some((key, fact.get().copied()?)),
                    _ => None,
                });
                numbers.for_each(|(key, value)| assert!(value.is_finite() && value >= 0.0, "{key} is {value}"));
            }
        }
    }
}

/// What is asked next depends on the records alone; a rehearsal ends soon.
#[test]
fn a_plan_goes_on_where_another_was_interrupted() {
    let mut device = opened("sim:adreno640");
    for aspect in all().into_iter().filter(|aspect| MINE.contains(&aspect.phase.name)) {
        let records = recorded(&aspect, &mut *device, Scale::Tiny);
        assert!(!records.is_empty(), "{}", aspect.phase.name);
        for kept in [1, records.len() / 2, records.len()] {
            let mut plan = (aspect.phase.plan)(&Context { device: device.info(), scale: Scale::Tiny, seed: 1 });
            let next = plan.ask(&records[..kept]).map(|measurement| measurement.name);
            assert_eq!(next, records.get(kept).map(|record| record.name.clone()));
        }
    }
}

/// A cache of three texels gives them as fast as one of 64 does.
#[test]
fn caches_of_few_texels_are_fetched_from() {
    let aspect = all().into_iter().find(|aspect| aspect.phase.name == "bandwidth").expect("bandwidth");
    let rate = |ways: f64| {
        let cache =
            [("texture.cache.line", 16.0), ("texture.cache.sets", 1.0), ("texture.cache.ways", ways), ("texture.cache.bytes", 16.0 * ways)];
        let plain =
            ["image1d_buffer", "image1d", "image2d", "image2d_from_buffer"].map(|kind| format!("[texture.{kind}]\nset_hash = []\n"));
        let changes: Vec<(&str, f64)> = cache.into_iter().chain([("core.count", 1.0)]).collect();
        let (mut device, _file) = silicon_with("adreno640", &changes, &plain.concat());
        let records = recorded(&aspect, &mut *device, Scale::Tiny);
        let found = (aspect.analyse)(&Seen { device: device.info(), records: &records, found: &Findings::default() });
        found.get("texture.l1.bandwidth").expect("a rate")
    };
    let (few, many) = (rate(3.0), rate(64.0));
    assert!((few / many - 1.0).abs() < 0.02, "{few} of {many}");
}

/// What reads of a few constants bring is the rate of the first cache of constants that holds these, and stands in the profile.
#[test]
fn constants_come_from_their_first_cache() {
    let mut device = opened("sim:mali-g76");
    let aspect = all().into_iter().find(|aspect| aspect.phase.name == "bandwidth").expect("bandwidth");
    let records = recorded(&aspect, &mut *device, Scale::Tiny);
    let rate = |bytes: f64| {
        let mut known = Findings::default();
        known.number("constant.l1.capacity_bytes", Fact::known(bytes, Source::Measured, "said by the test"));
        let mut found = (aspect.analyse)(&Seen { device: device.info(), records: &records, found: &known });
        let read = found.get("constant.bandwidth");
        found.extend(known);
        (warpsight_probe::profile(&found, "probed", "a test").probed.constant_l1.bandwidth, read.expect("a rate"))
    };
    let (known, read) = rate(4096.0);
    assert_eq!(known.get().map(|own| own.0), Some(read));
    let (unknown, _) = rate(512.0);
    assert!(matches!(&unknown, Fact::Unknown { unknown } if unknown.contains("1024 B of constants")), "{unknown:?}");
}
