//! Aspects on simulated GPUs: what is found is what the silicon is made of.

use std::collections::BTreeMap;
use std::io::Write;
use warpsight_ir::profile::Fact;
use warpsight_probe::aspects::{Aspect, Seen, all};
use warpsight_probe::{Context, Finding, Findings, Outcome, Record, Scale};
use warpsight_run::{Device, DeviceError, Options, open};

/// A simulated GPU in this process.
fn opened(id: &str) -> Box<dyn Device> {
    open(id, &Options { in_process: true, cache: None, ..Options::default() }).expect("a simulated GPU")
}

/// Silicon like that of an embedded GPU, but for these numbers; by the table and key of each.
fn silicon(base: &str, changes: &[(&str, f64)]) -> (Box<dyn Device>, tempfile::TempPath) {
    let mut tables: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (key, value) in changes {
        let (table, key) = key.rsplit_once('.').expect("a table");
        tables.entry(table).or_default().push(format!("{key} = {}", toml_number(key, *value)));
    }
    let mut text = format!("base = \"{base}\"\nname = \"changed\"\n");
    for (table, keys) in tables {
        text += &format!("[{table}]\n{}\n", keys.join("\n"));
    }
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().expect("a file");
    file.write_all(text.as_bytes()).expect("written");
    let path = file.into_temp_path();
    (opened(&format!("sim:{}", path.display())), path)
}

/// Whole numbers as such, but for those that silicon has as parts.
fn toml_number(key: &str, value: f64) -> String {
    let part = ["clock", "rate", "latency", "noise", "bytes_per_cycle", "pass", "overhead", "time"].iter().any(|word| key.ends_with(word));
    if part || value.fract() != 0.0 { format!("{value:?}") } else { format!("{value}") }
}

/// Everything an aspect measures.
fn recorded(aspect: &Aspect, device: &mut dyn Device, scale: Scale) -> Vec<Record> {
    let mut plan = (aspect.phase.plan)(&Context { device: device.info(), scale, seed: 1 });
    let mut records: Vec<Record> = vec![];
    while let Some(measurement) = plan.ask(&records) {
        assert!(records.len() < 400, "{} asks for more and more", aspect.phase.name);
        assert!(records.iter().all(|record| record.name != measurement.name), "`{}` is asked for again", measurement.name);
        let mut record = Record { params: measurement.params.clone(), ..Record::skipped(aspect.phase.name, &measurement.name, "") };
        match device.run(&measurement.job) {
            Ok(result) => {
                record.outcome = match (measurement.check)(&result) {
                    Ok(()) => Outcome::Verified,
                    Err(what) => Outcome::Wrong { what },
                };
                record.times_s = result.timed.times[measurement.launch].iter().map(|time| time.0).collect();
                record.quantum_s = result.timed.quantum.0;
            }
            Err(error) => {
                assert!(matches!(error, DeviceError::Limit { .. } | DeviceError::Unsupported { .. }), "`{}`: {error}", measurement.name);
                record.outcome = Outcome::Skipped { why: error.to_string(), later: false };
            }
        }
        if let Outcome::Wrong { what } = &record.outcome {
            panic!("`{}` is wrong: {what}", record.name);
        }
        records.push(record);
    }
    records
}

/// What these aspects find.
fn probed(device: &mut dyn Device, names: &[&str]) -> Findings {
    let (mut found, mut records) = (Findings::default(), vec![]);
    for aspect in all().into_iter().filter(|aspect| names.contains(&aspect.phase.name)) {
        let since = std::time::Instant::now();
        let new = recorded(&aspect, device, Scale::Full);
        let (measured, took) = (new.len(), since.elapsed().as_secs_f64());
        records.extend(new);
        let more = (aspect.analyse)(&Seen { device: device.info(), records: &records, found: &found });
        println!("{}: {measured} measurements in {took:.2} s", aspect.phase.name);
        for (key, finding) in &more.facts {
            println!("  {key} {}", said(finding));
        }
        more.contradictions.iter().for_each(|what| println!("  contradiction: {what}"));
        drawn(&more);
        found.extend(more);
    }
    found
}

/// A finding in a few words.
fn said(finding: &Finding) -> String {
    match finding {
        Finding::Number(Fact::Known { value, lo, hi, .. }) => {
            format!("{value:.5e} ({:.5e} to {:.5e})", lo.unwrap_or(*value), hi.unwrap_or(*value))
        }
        other => format!("{other:?}"),
    }
}

/// Bytes a second by footprint.
fn drawn(found: &Findings) {
    for curve in found.curves.iter().filter(|curve| curve.y == "B/s") {
        curve.points.iter().for_each(|[x, y, ..]| println!("    {x} {:.2e}", y));
    }
}

/// That a number is known, and off by at most this part.
fn near(found: &Findings, key: &str, truth: f64, part: f64) {
    let value = found.get(key).unwrap_or_else(|| panic!("{key}: {:?}", found.facts.get(key)));
    assert!((value / truth - 1.0).abs() <= part, "{key} is {value}, not {truth}");
}

fn word(found: &Findings, key: &str) -> String {
    match found.facts.get(key) {
        Some(Finding::Word(fact)) => fact.get().cloned().unwrap_or_default(),
        other => panic!("{other:?}"),
    }
}

fn warps(found: &Findings) -> Vec<f64> {
    match found.facts.get("warp.sizes") {
        Some(Finding::Numbers(fact)) => fact.get().cloned().unwrap_or_default(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn adreno_640() {
    let mut device = opened("sim:adreno640");
    let found = probed(&mut *device, &["timer", "warp", "arithmetic", "registers", "bandwidth"]);
    near(&found, "launch.overhead_s", 3.2e-6, 0.05);
    assert_eq!(warps(&found), [64.0]);
    near(&found, "cores", 2.0, 0.0);
    near(&found, "fma.latency_s", 4.0 / 585e6, 0.05);
    near(&found, "peak.fp32", 898.6e9, 0.05);
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
    assert!(!found.facts.contains_key("buffer.l1.bandwidth"), "buffers have no first level");
}

#[test]
fn mali_g76() {
    let mut device = opened("sim:mali-g76");
    let found = probed(&mut *device, &["timer", "warp", "arithmetic", "registers", "bandwidth"]);
    assert_eq!(warps(&found), [8.0]);
    near(&found, "cores", 5.0, 0.0);
    near(&found, "peak.fp32", 192e9, 0.05);
    near(&found, "registers.per_thread_max", 64.0, 1.0 / 64.0);
    near(&found, "registers.per_core", 24576.0, 0.05);
    assert_eq!(word(&found, "registers.pooled"), "dedicated");
    near(&found, "texture.l1.bandwidth", 30.1e9, 0.05);
    near(&found, "buffer.l1.bandwidth", 23.3e9, 0.05);
    near(&found, "buffer.l2.bandwidth", 15.8e9, 0.05);
    near(&found, "local.bandwidth", 23.3e9, 0.05);
    near(&found, "dram.bandwidth", 11.2e9, 0.05);
}

#[test]
fn a100() {
    let mut device = opened("sim:a100-40");
    let found = probed(&mut *device, &["timer", "warp", "arithmetic", "registers", "bandwidth"]);
    assert_eq!(warps(&found), [32.0]);
    near(&found, "cores", 108.0, 0.0);
    near(&found, "peak.fp32", 19.5e12, 0.05);
    near(&found, "registers.per_thread_max", 255.0, 8.0 / 255.0);
    near(&found, "registers.per_core", 65536.0, 0.05);
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
        let found = probed(&mut *device, &["timer", "warp", "arithmetic", "registers", "bandwidth"]);
        assert_eq!(warps(&found), [warp]);
        near(&found, "cores", cores, 0.0);
        near(&found, "timer.quantum_s", 5.2e-8, 0.02);
        near(&found, "peak.fp32", cores * 6.0 * warp * 2.0 * 585e6, 0.05);
    }
}
