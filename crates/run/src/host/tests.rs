use super::*;
use warpsight_ir::occupancy::{Occupancy, Residency, Resident, occupancy};

#[test]
fn this_host_has_what_a_roofline_needs() {
    // Measured beside other tests, so not to be kept.
    let host = Host::read();
    let measured = host.measure();
    let p = profile(&Host { measured, ..host });
    assert_eq!(p.name, "host");
    assert_eq!(Profile::parse(&p.text()).as_ref(), Ok(&p), "what is printed is taken back");
    assert_eq!(p.execution.cores.get().map(|&c| c as usize), std::thread::available_parallelism().ok().map(|n| n.get()));
    assert!(p.execution.clock.get().is_some_and(|c| (1e8..1e11).contains(&c.0)));
    assert!(p.memory.dram_bandwidth.get().is_some() && p.memory.texture_l1.bytes.get().is_none());
    // A group of any size runs: one at a time, whatever registers it has.
    let fit = occupancy(&Residency::of(&p), 2000, 4096, Bytes(1e6));
    assert_eq!(fit, Ok(Occupancy { groups: 1, warps: 4096, limiter: Some(Resident::Groups) }));
    if cfg!(target_arch = "x86_64") {
        let (width, registers) = (*p.execution.vector_width.get().unwrap(), *p.execution.max_registers.get().unwrap());
        assert!([(4, 64), (8, 128), (16, 512)].contains(&(width, registers)), "{width} {registers}");
    }
}

#[test]
fn facts_become_a_profile() {
    let l1 = CacheFacts { bytes: 32768, line: 64, ways: Some(8), sharing: 2 };
    let l2 = CacheFacts { bytes: 1 << 20, line: 64, ways: None, sharing: 2 };
    let p = profile(&Host {
        brand: Some("A CPU".into()),
        cores: Some(8),
        simd: Some(Simd { name: "AVX", lanes: 8, registers: 16, fused: true }),
        clock: Some(Clock { base: 3e9, max: Some(4e9), cite: "test" }),
        caches: [Some(l1), Some(l2), None],
        measured: None,
    });
    assert_eq!(p.description, "A CPU");
    assert_eq!((p.execution.fma_per_clock.get(), p.execution.max_registers.get()), (Some(&16.0), Some(&128)));
    assert!(
        matches!(p.execution.clock, Fact::Known { value: Hertz(v), source: Source::Vendor, hi: Some(Hertz(hi)), .. } if v == 3e9 && hi == 4e9)
    );
    let (l1, l2) = (&p.memory.buffer_l1, &p.memory.l2);
    assert_eq!((l1.bytes.get(), l1.ways.get(), l1.instances.get()), (Some(&Bytes(32768.0)), Some(&8), Some(&4)));
    // Two loads of 32 bytes, 8 cores at 3 GHz.
    assert_eq!(l1.bandwidth.get(), Some(&BytesPerSecond(64.0 * 8.0 * 3e9)));
    assert!(l2.ways.get().is_none() && matches!(p.memory.llc.bytes, Fact::Absent { .. }));
    // Half of the f32 lanes of two ports; 64 bytes a clock; one instance of L2.
    assert_eq!((p.execution.fma64_per_clock.get(), p.execution.lsu_lanes.get()), (Some(&8.0), Some(&16)));
    let m = &p.memory;
    assert_eq!([&m.sector, &m.dram_fetch, &m.l2_effective].map(Fact::get), [64.0, 64.0, 1_048_576.0].map(Bytes).each_ref().map(Some));
    assert!(p.memory.dram_latency.get().is_some_and(|c| (c.0 - 270.0).abs() < 1e-6));
}

#[test]
fn what_was_measured_replaces_assumptions() {
    let simd = Some(Simd { name: "AVX-512", lanes: 16, registers: 32, fused: true });
    let measured = Some(Measured {
        clock: 3.9712e9,
        fma: Some(32.2),
        loads: Some(31.8),
        issue: Some(5.9),
        read: [Some(4e11), None, Some(6e10)],
        held: Some(700e3),
        latency: [Some(15.2), Some(210.0), None],
        in_flight: Some(24.6),
        beside: [Some(0.93), None],
        pages: Some((95, 7.12, 0.02)),
        wake: Some([24e-6, 31e-6, 40e-6]),
    });
    let l2 = Some(CacheFacts { bytes: 1 << 20, line: 64, ways: Some(16), sharing: 1 });
    let host = Host { simd, measured, cores: Some(2), caches: [l2, l2, l2], ..Host::default() };
    let p = profile(&host);
    assert!(
        matches!(p.execution.clock, Fact::Known { value: Hertz(v), source: Source::Measured, .. } if v == 3.97e9),
        "{:?}",
        p.execution.clock
    );
    assert_eq!((p.execution.fma_per_clock.get(), p.execution.fma64_per_clock.get()), (Some(&32.2), Some(&16.1)));
    assert_eq!((p.execution.lsu_lanes.get(), p.execution.issue_per_clock.get()), (Some(&32), Some(&5.9)));
    assert!(matches!(p.execution.wake, Fact::Known { value: Seconds(40e-6), lo: Some(Seconds(24e-6)), hi: Some(Seconds(40e-6)), .. }));
    let m = &p.memory;
    assert_eq!([m.l2.bandwidth.get(), m.dram_bandwidth.get()], [4e11, 6e10].map(BytesPerSecond).each_ref().map(Some));
    assert_eq!((m.tlb.reach.get(), m.tlb.miss_latency.get()), (Some(&Bytes(95.0 * 4096.0)), Some(&Cycles(7.12))));
    assert_eq!(m.in_flight.get(), Some(&24.6));
    assert_eq!((m.llc_beside.get(), m.dram_beside.get(), m.tlb.lookup.get()), (Some(&0.93), None, Some(&Cycles(0.0))));
    assert_eq!(Profile::parse(&p.text()).as_ref(), Ok(&p), "what is printed is taken back");
    assert_eq!([m.l2.latency.get(), m.llc.latency.get()], [Some(&Cycles(15.2)), Some(&Cycles(210.0))]);
    // Others have the rest of the last level.
    assert!(matches!(m.llc.bytes, Fact::Known { value: Bytes(350e3), source: Source::Measured, .. }), "{:?}", m.llc.bytes);
    assert_eq!(m.l2.bytes.get(), Some(&Bytes(1_048_576.0)));
    // What was not measured is assumed, at the measured clock.
    assert!(matches!(m.llc.bandwidth, Fact::Known { value: BytesPerSecond(v), source: Source::Assumed, .. } if v == 20.0 * 3.97e9));
}

#[test]
fn what_is_kept_is_read_back_unless_it_makes_no_sense() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.json");
    let found = Measured {
        clock: 3e9,
        fma: None,
        loads: None,
        issue: None,
        read: [None, Some(1e10), None],
        held: None,
        latency: [None; 3],
        in_flight: None,
        beside: [None, Some(0.5)],
        pages: None,
        wake: Some([1e-5, 2e-5, 3e-5]),
    };
    for (text, read) in [
        (serde_json::to_string(&found).unwrap(), Some(found)),
        ("{\"clock\":0,\"read\":[null,null,null]}".into(), None),
        ("{".into(), None),
        (serde_json::to_string(&Measured { in_flight: Some(0.0), ..found }).unwrap(), None),
        (serde_json::to_string(&Measured { beside: [Some(7.0), None], ..found }).unwrap(), None),
        (serde_json::to_string(&Measured { pages: Some((95, -7.0, 0.1)), ..found }).unwrap(), None),
        (serde_json::to_string(&found).unwrap().replace("1e-5", "-1.0").replace("0.00001", "-1.0"), None),
    ] {
        std::fs::write(&path, text).unwrap();
        assert_eq!(kept(&path), read);
    }
    let old = std::time::SystemTime::now() - KEPT - Duration::from_secs(1);
    std::fs::write(&path, serde_json::to_string(&found).unwrap()).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
    assert_eq!((kept(&path), kept(&folder.path().join("none"))), (None, None));
}

#[test]
fn a_host_that_says_nothing_has_unknowns() {
    let p = profile(&Host::default());
    assert!(p.execution.vector_width.get().is_none() && p.execution.cores.get().is_none() && p.memory.l2.bytes.get().is_none());
    assert!(matches!(p.execution.clock, Fact::Known { source: Source::Assumed, .. }));
}

#[test]
fn clocks_in_brand_strings() {
    assert_eq!(clock_in("Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz"), Some(2.5e9));
    assert_eq!(clock_in("Some CPU @ 800MHz "), Some(8e8));
    assert_eq!(["AMD EPYC", "CPU @ fast", "CPU @ 0GHz", "CPU @ NaNGHz"].map(clock_in), [None; 4]);
}
