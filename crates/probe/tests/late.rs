//! What there was no time for is unknown: of records that end early no more is told than all of them would tell.

#[path = "common/probing.rs"]
mod probing;

use probing::{opened, recorded, silicon};
use warpsight_ir::profile::{Fact, Geometry, Source};
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

/// Whether what is told of a run that ended early is said otherwise by the whole one: a value beyond its interval, or, of what is searched
/// for from wide to narrow, an interval that does not meet its.
fn contradicts(cut: &Finding, whole: Option<&Finding>, searched: bool) -> bool {
    match (cut, whole) {
        (
            Finding::Number(Fact::Known { value, lo: least, hi: most, .. }),
            Some(Finding::Number(Fact::Known { value: all, lo, hi, .. })),
        ) => {
            let near = 1e-9 * all.abs();
            let (lo, hi) = (lo.unwrap_or(*all) - near, hi.unwrap_or(*all) + near);
            let (least, most) = if searched { (least.unwrap_or(*value), most.unwrap_or(*value)) } else { (*value, *value) };
            most < lo || least > hi
        }
        (Finding::Number(Fact::Unknown { .. }) | Finding::Word(Fact::Unknown { .. }) | Finding::Numbers(Fact::Unknown { .. }), _) => false,
        // What explains fewer walks are more geometries, and models of fewer walks other numbers of the same.
        (Finding::Geometries(Fact::Known { value, .. }), Some(Finding::Geometries(Fact::Known { value: all, .. }))) => {
            let same = |a: &Geometry, b: &Geometry| (a.sets, a.ways, &a.hash, a.layout) == (b.sets, b.ways, &b.hash, b.layout);
            !all.iter().all(|own| value.iter().any(|other| same(own, other)))
        }
        (Finding::Geometries(Fact::Unknown { .. }) | Finding::Texture(_) | Finding::Paper000(_), _) => false,
        (Finding::Word(Fact::Known { value, .. }), Some(Finding::Word(Fact::Known { value: all, .. }))) if searched => {
            !all.split(" or ").any(|own| value.split(" or ").any(|other| own == other))
        }
        (told, whole) => Some(told) != whole,
    }
}

/// Of one aspect all facts of runs that ended early, at every place or at so many by chance, judged by those of the whole one.
fn judged(aspect: &Aspect, device: &mut dyn Device, before: &[Record], known: &Findings, places: Option<usize>) -> Vec<Record> {
    let records = recorded(aspect, device, Scale::Quick);
    let analysed = |own: &[Record]| {
        let records: Vec<Record> = before.iter().chain(own).cloned().collect();
        (aspect.analyse)(&Seen { device: device.info(), records: &records, found: known })
    };
    let whole = analysed(&records);
    let mut all: Vec<usize> = (0..records.len()).collect();
    let mut rng = fastrand::Rng::with_seed(1);
    if let Some(places) = places {
        rng.shuffle(&mut all);
        all.truncate(places);
    }
    for kept in all {
        // By chance one of both, too.
        let ways = if places.is_some() { vec![rng.bool()] } else { vec![true, false] };
        for once in ways {
            let found = analysed(&cut(aspect, device, &records, kept, once));
            // How far a model is off is said of that model.
            for (key, finding) in found.facts.iter().filter(|(key, _)| !key.contains("_error.")) {
                let all = whole.facts.get(key);
                let next = &records[kept].name;
                assert!(
                    !contradicts(finding, all, SEARCHED.contains(&aspect.phase.name)),
                    "{key} without `{next}` ({once}) is {finding:?}, not {all:?}"
                );
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
        before.extend(judged(&aspect, &mut *device, &before, &known, None));
        println!("{}: {:.1} s", aspect.phase.name, begun.elapsed().as_secs_f64());
        let found = (aspect.analyse)(&Seen { device: device.info(), records: &before, found: &known });
        known.extend(found);
    }
}

/// What is searched for, from wide intervals to narrow ones.
const SEARCHED: [&str; 4] = ["texture", "bandwidth", "paths", "hierarchy"];

/// One cache that all groups share, as sim:adreno640 has for buffers, is not told as each core's before groups have walked at once.
#[test]
fn walks_that_end_early_tell_no_other_caches() {
    let mut device = opened("sim:adreno640");
    let aspect = all().into_iter().find(|aspect| aspect.phase.name == "hierarchy").expect("hierarchy");
    let records = judged(&aspect, &mut *device, &[], &Findings::default(), Some(8));
    let told = |kept: usize| {
        let records = cut(&aspect, &*device, &records, kept, true);
        let found = (aspect.analyse)(&Seen { device: device.info(), records: &records, found: &Findings::default() });
        (found.facts.get("buffer.l1.capacity_bytes").cloned(), found.get("buffer.l2.capacity_bytes"))
    };
    let of_buffers = |record: &Record| record.name.starts_with("buffer");
    let together = |record: &Record| of_buffers(record) && record.name.contains("walkers");
    let before = told(records.iter().position(together).expect("groups that walk at once"));
    let (Some(Finding::Number(Fact::Unknown { unknown })), None) = &before else { panic!("{before:?}") };
    assert!(unknown.contains("out of time") && unknown.contains("nobody knows"), "{unknown}");
    // They are asked for before the ends of caches are: three quarters of the walks tell which level it is, and about where it ends.
    let walks = records.iter().filter(|record| of_buffers(record)).count();
    let first = records.iter().position(of_buffers).expect("walks");
    let most = told(first + 3 * walks / 4);
    assert!(matches!(&most.0, Some(Finding::Number(Fact::Absent { .. }))), "{most:?}");
    assert!(most.1.is_some_and(|bytes| (bytes / 131_072.0 - 1.0).abs() < 0.25), "{most:?}");
    // What is missing after that does not make the level unknown.
    let after = told(records.iter().rposition(of_buffers).expect("walks"));
    assert_eq!(after.1, Some(131_072.0), "{after:?}");
}

/// Memory's bandwidth is the faster of loads' and stores': without time for stores it is what loads reach at least.
#[test]
fn the_bandwidth_of_memory_waits_for_stores() {
    let mut device = opened("sim:mali-g76");
    let aspect = all().into_iter().find(|aspect| aspect.phase.name == "bandwidth").expect("bandwidth");
    let records = recorded(&aspect, &mut *device, Scale::Quick);
    let told = |records: &[Record]| {
        let found = (aspect.analyse)(&Seen { device: device.info(), records, found: &Findings::default() });
        (found.get("read.bandwidth"), found.facts.get("dram.bandwidth").cloned())
    };
    let (read, whole) = told(&records);
    let read = read.expect("loads of much memory");
    let Some(Finding::Number(Fact::Known { value, .. })) = whole else { panic!("{whole:?}") };
    assert!(value >= read, "{value} of {read}");
    let kept = records.iter().position(|record| record.name.starts_with("stream out")).expect("stores");
    let (loads, early) = told(&cut(&aspect, &*device, &records, kept, true));
    assert_eq!(loads, Some(read));
    let Some(Finding::Number(Fact::Unknown { unknown })) = early else { panic!("{early:?}") };
    assert!(unknown.contains("stream out") && unknown.contains("out of time") && unknown.contains("at least"), "{unknown}");
}

/// Of aspects whose every place would take minutes, places by chance.
#[test]
fn curves_that_end_early_tell_what_whole_ones_do() {
    let (mut device, _file) = silicon("mali-g76", &[("core.count", 2.0)]);
    let (mut before, mut known) = (vec![], Findings::default());
    for (key, bytes) in [
        ("texture.l1.capacity_bytes", 8192.0),
        ("texture.l1.line_bytes", 64.0),
        ("buffer.l1.capacity_bytes", 16_384.0),
        ("buffer.l2.capacity_bytes", 262_144.0),
    ] {
        known.number(key, Fact::known(bytes, Source::Measured, "said by the test"));
    }
    for aspect in all().into_iter().filter(|aspect| ["warp", "texture", "bandwidth", "paths"].contains(&aspect.phase.name)) {
        let begun = std::time::Instant::now();
        before.extend(judged(&aspect, &mut *device, &before, &known, Some(if aspect.phase.name == "texture" { 4 } else { 40 })));
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
    let found = without("4 chains 64 steps 96 x 128");
    assert_eq!(found.get("cores"), Some(2.0));
    assert!(found.get("fma.latency_s").is_some() && found.get("peak.fp32").is_none());
    assert!(reason(&found, "peak.fp32").contains("out of time"), "{:?}", found.facts);
    // The last of several shapes might have been the fastest.
    let found = without("4 chains 64 steps 12 x 1024");
    assert!(reason(&found, "peak.fp32").contains("out of time") && reason(&found, "peak.fp32").contains("at least"), "{:?}", found.facts);
    // Widths that were measured are told, but not which is the shortest of the fastest.
    let found = without("vectors of 16");
    assert!(found.get("peak.fp32_x8").is_some() && found.get("peak.fp32").is_some());
    assert!(reason(&found, "alu.vector_components").contains("vectors of 16"), "{:?}", found.facts);
    assert!(reason(&found, "peak.fp32_x16").contains("vectors of 16"), "{:?}", found.facts);
    assert!([1, 16].iter().all(|width| !reason(&found, &format!("peak.fp16_x{width}")).is_empty()));
    assert!(found.curves.iter().all(|curve| !curve.points.is_empty()), "{:?}", found.curves);
}
