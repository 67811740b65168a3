//! Aspects on simulated GPUs: what several tests share, each a part of it.

#![allow(dead_code)]

use std::collections::BTreeMap;
use std::io::Write;
use warpsight_ir::profile::{Fact, Source};
use warpsight_probe::aspects::{Aspect, Seen, all};
use warpsight_probe::{Cause, Context, Finding, Findings, Outcome, Record, Scale, battery};
use warpsight_run::{Device, Options, open};

/// A simulated GPU in this process.
pub fn opened(id: &str) -> Box<dyn Device> {
    open(id, &Options { in_process: true, cache: None, ..Options::default() }).expect("a simulated GPU")
}

/// Silicon like that of an embedded GPU, but for these numbers; by the table and key of each.
pub fn silicon(base: &str, changes: &[(&str, f64)]) -> (Box<dyn Device>, tempfile::TempPath) {
    silicon_with(base, changes, "")
}

/// The same, and tables as text.
pub fn silicon_with(base: &str, changes: &[(&str, f64)], tables_more: &str) -> (Box<dyn Device>, tempfile::TempPath) {
    let mut tables: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (key, value) in changes {
        let (table, key) = key.rsplit_once('.').expect("a table");
        tables.entry(table).or_default().push(format!("{key} = {}", toml_number(key, *value)));
    }
    let mut text = format!("base = \"{base}\"\nname = \"changed\"\n");
    for (table, keys) in tables {
        text += &format!("[{table}]\n{}\n", keys.join("\n"));
    }
    text += tables_more;
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
pub fn recorded(aspect: &Aspect, device: &mut dyn Device, scale: Scale) -> Vec<Record> {
    let mut plan = (aspect.phase.plan)(&Context { device: device.info(), scale, seed: 1 });
    let mut records: Vec<Record> = vec![];
    while let Some(measurement) = plan.ask(&records) {
        assert!(records.len() < 800, "{} asks for more and more", aspect.phase.name);
        assert!(records.iter().all(|record| record.name != measurement.name), "`{}` is asked for again", measurement.name);
        let (record, _) = battery::take(aspect.phase.name, measurement, device);
        if let Outcome::Failed { why, cause } = &record.outcome {
            assert_eq!(*cause, Cause::Refused, "`{}`: {why}", record.name);
        }
        if let Outcome::Wrong { what } = &record.outcome {
            panic!("`{}` is wrong: {what}", record.name);
        }
        records.push(record);
    }
    records
}

/// What these aspects find, where sizes of caches are known already.
pub fn probed(device: &mut dyn Device, names: &[&str], capacities: &[(&str, f64)]) -> Findings {
    let (mut found, mut records) = (Findings::default(), vec![]);
    for (key, bytes) in capacities {
        found.number(*key, Fact::known(*bytes, Source::Measured, "said by the test"));
    }
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
pub fn near(found: &Findings, key: &str, truth: f64, part: f64) {
    let value = found.get(key).unwrap_or_else(|| panic!("{key}: {:?}", found.facts.get(key)));
    assert!((value / truth - 1.0).abs() <= part, "{key} is {value}, not {truth}");
}

pub fn word(found: &Findings, key: &str) -> String {
    match found.facts.get(key) {
        Some(Finding::Word(fact)) => fact.get().cloned().unwrap_or_default(),
        other => panic!("{other:?}"),
    }
}

pub fn warps(found: &Findings) -> Vec<f64> {
    match found.facts.get("warp.sizes") {
        Some(Finding::Numbers(fact)) => fact.get().cloned().unwrap_or_default(),
        other => panic!("{other:?}"),
    }
}
