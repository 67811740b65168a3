use super::*;
use warpsight_ir::profile::{Source, mt4g as format};
use warpsight_ir::{Bytes, Cycles, Hertz};

fn stated() -> Stated {
    Stated {
        name: Some("Some GPU".to_owned()),
        vendor: Some("NVIDIA".to_owned()),
        compute_capability: Some((7, 5)),
        clock_hz: Some(1.5e9),
        multiprocessors: Some(68),
        fp32_units: Some(64),
        warp: Some(32),
        threads: Some(1024),
        block_threads: Some(1024),
        blocks: Some(16),
        registers: Some(65536),
        shared_bytes: Some(65536.0),
        shared_reserved_bytes: Some(0.0),
        l2_bytes: Some(6.0 * 1048576.0),
        timestamp: Some("2026-01-02T03:04:05Z".to_owned()),
    }
}

fn findings() -> Findings {
    let mut findings = Findings::default();
    let mut put = |key: &str, lo: f64, value: f64, hi: f64| findings.number(key, Fact::between(lo, value, hi, Source::Measured, "a test"));
    put("buffer.l1.capacity_bytes", 60000.0, 65536.0, 66000.0);
    put("buffer.l1.line_bytes", 128.0, 128.0, 144.0);
    put("buffer.l1.fetch_bytes", 32.0, 32.0, 32.0);
    put("texture.l1.capacity_bytes", 60000.0, 65536.0, 66000.0);
    put("buffer.l2.capacity_bytes", 3.0e6, 3.1e6, 3.2e6);
    put("buffer.l2.fetch_bytes", 32.0, 32.0, 32.0);
    put("buffer.l1.latency_cycles", 30.0, 32.0, 40.0);
    put("texture.l1.latency_cycles", 80.0, 90.0, 95.0);
    put("buffer.l2.latency_cycles", 200.0, 210.0, 230.0);
    put("dram.latency_s", 2e-7, 3e-7, 4e-7);
    findings.number("constant.l15.capacity_bytes", Fact::unknown("no change point"));
    findings.number("constant.l15.latency_cycles", Fact::between(1.0, 1.0, 1.0, Source::Measured, "a test"));
    findings
}

#[test]
fn what_is_exported_is_read_back() {
    let json = mt4g(&findings(), &stated()).unwrap();
    let profile = format::read(&json.to_string()).unwrap();
    let m = &profile.memory;
    assert_eq!(m.buffer_l1.bytes.get(), Some(&Bytes(65536.0)));
    assert_eq!(m.texture_l1.bytes.get(), Some(&Bytes(65536.0)));
    assert_eq!(m.sector.get(), Some(&Bytes(32.0)));
    assert_eq!(m.buffer_l1.latency.get(), Some(&Cycles(32.0)));
    assert!((m.dram_latency.get().unwrap().0 - 450.0).abs() < 1e-9, "0.3 µs at 1.5 GHz");
    // Two segments of 3 MiB, of which one lies in the interval.
    assert_eq!((m.l2.bytes.get(), m.l2.instances.get()), (Some(&Bytes(3145728.0)), Some(&2)));
    assert_eq!((profile.execution.cores.get(), profile.execution.clock.get()), (Some(&68), Some(&Hertz(1.5e9))));
    assert_eq!(json.pointer("/memory/constant/l1.5/size/confidence"), Some(&json!(0.0)), "unknown");
    assert!(json.pointer("/memory/scalarL1").is_none());
}

#[test]
fn an_unknown_capacity_stays_unknown() {
    let mut findings = findings();
    findings.number("buffer.l1.capacity_bytes", Fact::unknown("no change point"));
    findings.facts.remove("texture.l1.capacity_bytes");
    let profile = format::read(&mt4g(&findings, &stated()).unwrap().to_string()).unwrap();
    assert_eq!((profile.memory.buffer_l1.bytes.get(), profile.memory.texture_l1.bytes.get()), (None, None));
}

#[test]
fn amd_files_have_no_texture_and_the_sum_of_shared_memory() {
    let mut findings = findings();
    findings.facts.retain(|key, _| !key.starts_with("texture"));
    let stated = Stated { vendor: Some("AMD".to_owned()), blocks: None, registers: None, ..stated() };
    let profile = format::read(&mt4g(&findings, &stated).unwrap().to_string()).unwrap();
    assert_eq!(profile.memory.buffer_l1.bytes.get(), Some(&Bytes(65536.0)));
    assert_eq!(profile.execution.local.get(), Some(&Bytes(65536.0)));
}

#[test]
fn what_is_not_known_is_left_out() {
    let mut findings = findings();
    findings.facts.remove("dram.latency_s");
    findings.number("dram.bandwidth", Fact::between(1e9, 1073741824.0, 2e9, Source::Measured, "a test"));
    let json = mt4g(&findings, &Stated { warp: None, timestamp: None, vendor: None, ..stated() }).unwrap();
    assert_eq!(json["memory"]["main"], json!({ "readBandwidth": { "unit": "GiB/s", "value": 1.0 } }));
    assert_eq!((json["compute"].get("warpSize"), &json["compute"]["multiProcessorCount"]), (None, &json!(68)));
    assert_eq!((&json["meta"], json["general"].get("vendor")), (&json!({ "partial": true }), None));
    // What is not in it is unknown, the rest is what it was.
    let read = format::read(&json.to_string()).unwrap();
    let reason = |fact: &Fact<u32>| fact.known_as("").unwrap_err().reason;
    assert_eq!(reason(&read.execution.warp), "the file of MT4G has no `compute.warpSize`");
    assert_eq!(reason(&read.execution.max_warps), "the file of MT4G has no `compute.warpSize`");
    assert!(read.memory.dram_latency.get().is_none());
    assert_eq!((read.execution.cores.get(), read.memory.buffer_l1.bytes.get()), (Some(&68), Some(&Bytes(65536.0))));
    assert_eq!((read.memory.l2.bytes.get(), read.execution.local.get()), (Some(&Bytes(3145728.0)), Some(&Bytes(65536.0))));
    // A reader that wants all says what there is not, and nothing else.
    let mut whole = json.clone();
    whole["meta"] = json!({});
    let refused = format::read(&whole.to_string()).unwrap_err().to_string();
    for missing in ["compute.warpSize", "general.vendor", "memory.main.latency.p50", "meta.timestamp"] {
        assert!(refused.contains(missing), "{missing}: {refused}");
    }
    assert!(!refused.contains("memory.l1") && !refused.contains("memory.l2"), "{refused}");
}

#[test]
fn seconds_without_a_clock_are_no_cycles() {
    let json = mt4g(&findings(), &Stated { clock_hz: None, ..stated() }).unwrap();
    assert!(json.pointer("/memory/main").is_none() && json.pointer("/general/clockRate").is_none(), "{json}");
    assert_eq!(json.pointer("/memory/l1/latency/p50"), Some(&json!(32.0)), "counted");
}

#[test]
fn memory_is_what_walks_told_of_it() {
    let mut findings = Findings::default();
    findings.number("buffer.memory.latency_s", Fact::between(1e-7, 2e-7, 3e-7, Source::Measured, "a test"));
    let json = mt4g(&findings, &Stated { clock_hz: Some(1e9), ..Stated::default() }).unwrap();
    let p50 = json.pointer("/memory/main/latency/p50").and_then(Value::as_f64).unwrap();
    assert!((p50 - 200.0).abs() < 1e-9, "{json}");
}

#[test]
fn nothing_is_refused() {
    let mut findings = Findings::default();
    findings.number("buffer.l1.capacity_bytes", Fact::unknown("no change point"));
    findings.number("timer.quantum_s", Fact::known(1e-9, Source::Measured, "a test"));
    assert_eq!(mt4g(&findings, &Stated::default()), Err(ExportError::Nothing));
    let some = mt4g(&findings, &Stated { warp: Some(32), ..Stated::default() }).unwrap();
    assert_eq!(some, json!({ "compute": { "warpSize": 32 }, "general": {}, "memory": {}, "meta": { "partial": true } }));
}

#[test]
fn third_levels_are_exported_and_read_back() {
    let mut findings = findings();
    assert!(mt4g(&findings, &stated()).unwrap().pointer("/memory/l3").is_none());
    let mut put = |key: &str, value: f64| findings.number(key, Fact::between(value, value, value, Source::Measured, "a test"));
    put("buffer.l3.capacity_bytes", 33_554_432.0);
    put("buffer.l3.line_bytes", 128.0);
    put("buffer.l3.latency_cycles", 500.0);
    let json = mt4g(&findings, &stated()).unwrap();
    let profile = format::read(&json.to_string()).unwrap();
    assert_eq!((profile.memory.llc.bytes.get(), profile.memory.llc.latency.get()), (Some(&Bytes(33_554_432.0)), Some(&Cycles(500.0))));
    assert_eq!(json.pointer("/memory/l3/lineSize/size"), Some(&json!(128.0)));
    assert!(json.pointer("/meta/partial").is_none(), "it has all that a file has");
}
