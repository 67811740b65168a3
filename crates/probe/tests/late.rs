//! What there was no time for is unknown: of records that end early no more is told than all of them would tell.

#[path = "common/probing.rs"]
mod probing;

use probing::{opened, recorded, silicon};
use warpsight_ir::profile::Fact;
use warpsight_probe::aspects::{Aspect, Seen, all};
use warpsight_probe::{Context, Finding, Findings, Record, Scale};
use warpsight_run::Device;

/// The records of a run whose time is over after so many of all, where a plan asks for more and is refused: once, as `battery` ends it, or
/// whatever else it wants.
fn cut(aspect: &Aspect, device: &dyn Device, records: &[Record], kept: usize, once: bool) -> Vec<Record> {
    let mut plan = (aspect.phase.plan)(&Context { device: device.info(), scale: Scale::Quick, seed: 1 });
    let mut records = records[..kept].to_vec();
    while let Some(next) = plan.ask(&records) {
        assert!(records.len() < 1000, "{} asks for more and more", aspect.phase.name);
        records.push(Record::skipped(aspect.phase.name, &next.name, "out of time: its 9 s are used up"));
        if once {
            break;
        }
    }
    records
}

/// Why what is told of a run that ended early cannot be true by the whole one.
fn contradicts(cut: &Finding, whole: Option<&Finding>) -> bool {
    match (cut, whole) {
        (Finding::Number(Fact::Known { value, .. }), Some(Finding::Number(Fact::Known { value: all, lo, hi, .. }))) => {
            let near = 1e-9 * all.abs();
            !(lo.unwrap_or(*all) - near..=hi.unwrap_or(*all) + near).contains(value)
        }
        (Finding::Number(Fact::Unknown { .. }) | Finding::Word(Fact::Unknown { .. }) | Finding::Numbers(Fact::Unknown { .. }), _) => false,
        (told, whole) => Some(told) != whole,
    }
}

/// Of one aspect all facts of runs that ended early, judged by those of the whole one.
fn judged(aspect: &Aspect, device: &mut dyn Device, before: &[Record], known: &Findings) -> Vec<Record> {
    let records = recorded(aspect, device, Scale::Quick);
    let analysed = |own: &[Record]| {
        let records: Vec<Record> = before.iter().chain(own).cloned().collect();
        (aspect.analyse)(&Seen { device: device.info(), records: &records, found: known })
    };
    let whole = analysed(&records);
    for kept in 0..records.len() {
        for once in [true, false] {
            let found = analysed(&cut(aspect, device, &records, kept, once));
            for (key, finding) in &found.facts {
                let all = whole.facts.get(key);
                let next = &records[kept].name;
                assert!(!contradicts(finding, all), "{key} without `{next}` ({once}) is {finding:?}, not {all:?}");
            }
        }
    }
    records
}

/// Silicon whose rates grow with the width of vectors and of pairs of halves.
fn wide() -> (Box<dyn Device>, tempfile::TempPath) {
    silicon("adreno640", &[("core.ports", 3.0), ("core.alu_latency", 6.0)])
}

#[test]
fn what_is_told_of_records_that_end_early_is_true() {
    let (mut device, _file) = wide();
    let (mut before, mut known) = (vec![], Findings::default());
    let names = ["timer", "warp", "arithmetic", "registers", "local", "control", "reads"];
    for aspect in all().into_iter().filter(|aspect| names.contains(&aspect.phase.name)) {
        let begun = std::time::Instant::now();
        before.extend(judged(&aspect, &mut *device, &before, &known));
        println!("{}: {:.1} s", aspect.phase.name, begun.elapsed().as_secs_f64());
        let found = (aspect.analyse)(&Seen { device: device.info(), records: &before, found: &known });
        known.extend(found);
    }
}

/// What arithmetic measured before its time was over is told.
#[test]
fn peaks_without_time_keep_nothing_else_from_being_told() {
    let mut device = opened("sim:adreno640");
    let aspect = all().into_iter().find(|aspect| aspect.phase.name == "arithmetic").expect("arithmetic");
    let records = recorded(&aspect, &mut *device, Scale::Quick);
    let without = |name: &str| {
        let kept = records.iter().position(|record| record.name.starts_with(name)).expect(name);
        let records = cut(&aspect, &*device, &records, kept, true);
        (aspect.analyse)(&Seen { device: device.info(), records: &records, found: &Findings::default() })
    };
    let reason = |found: &Findings, key: &str| match found.facts.get(key) {
        Some(Finding::Number(Fact::Unknown { unknown })) => unknown.clone(),
        other => panic!("{key} is {other:?}"),
    };
    let found = without("4 chains 64 steps 192 x 128");
    assert_eq!(found.get("cores"), Some(2.0));
    assert!(found.get("fma.latency_s").is_some() && found.get("peak.fp32").is_none());
    assert!(reason(&found, "peak.fp32").contains("out of time"), "{:?}", found.facts);
    // The last of several shapes might have been the fastest.
    let found = without("4 chains 64 steps 24 x 1024");
    assert!(reason(&found, "peak.fp32").contains("out of time") && reason(&found, "peak.fp32").contains("at least"), "{:?}", found.facts);
    // Widths that were measured are told, but not which is the shortest of the fastest.
    let found = without("vectors of 16");
    assert!(found.get("peak.fp32_x8").is_some() && found.get("peak.fp32").is_some());
    assert!(reason(&found, "alu.vector_components").contains("vectors of 16"), "{:?}", found.facts);
}
