//! Devices that are nothing but formulas: what is asked of them, and what is found, whatever disturbs their clocks.

use super::plan::plan;
use super::spec::Spec;
use super::timed::Walks;
use super::{aspect, route};
use crate::aspects::Seen;
use crate::fit::levels::Victims;
use crate::fit::lru::{Shape, misses};
use crate::kernels::walk::Route;
use crate::{Context, Finding, Findings, Outcome, Parameter, Record, Scale};
use fastrand::Rng;
use warpsight_ir::TimeSource;
use warpsight_ir::profile::{Fact, Source};
use warpsight_run::DeviceInfo;

/// A device that is measured, with so much memory; it has no images.
fn device(memory: u64) -> DeviceInfo {
    let options = warpsight_run::Options { in_process: true, ..warpsight_run::Options::default() };
    let mut info = warpsight_run::open("sim:adreno640", &options).expect("a device").info().clone();
    info.clock = Some(TimeSource::Measured);
    (info.limits.max_allocation, info.limits.memory) = (Some(memory), Some(memory));
    (info.limits.image_2d, info.limits.image_1d, info.limits.image_buffer) = (None, None, None);
    info
}

/// All that is asked of a device on which a step of a walk takes so long each time it is measured, and what a launch of so many seconds shows.
fn recorded(info: &DeviceInfo, mut step: impl FnMut(&Spec, &[u64]) -> f64, mut shown: impl FnMut(f64) -> f64) -> Vec<Record> {
    let mut plan = plan(&Context { device: info, scale: Scale::Quick, seed: 1 });
    let mut records: Vec<Record> = vec![];
    while let Some(measurement) = plan.ask(&records) {
        assert!(records.len() < 1500, "it asks for more and more");
        assert!(records.iter().all(|record| record.name != measurement.name), "`{}` is asked for again", measurement.name);
        let Some((spec, seed)) = Spec::of(&measurement.params) else {
            // A reference launch, of a device that is never hot.
            let times_s = vec![3e-5];
            records.push(Record { outcome: Outcome::Verified, times_s, ..Record::skipped(super::NAME, &measurement.name, "") });
            continue;
        };
        let seconds = step(&spec, &spec.addresses(seed));
        let runs = measurement.job.timing.expect("timed").runs;
        let Some(Parameter::Int(before)) = measurement.params.get("steps_before") else { panic!("{:?}", measurement.params) };
        let mut launches = |steps: f64| (0..runs).map(|_| shown(1e-6 + steps * seconds)).collect::<Vec<f64>>();
        records.push(Record {
            earlier_times_s: vec![launches(*before as f64)],
            times_s: launches(measurement.amounts.steps),
            params: measurement.params,
            amounts: measurement.amounts,
            outcome: Outcome::Verified,
            ..Record::skipped(super::NAME, &measurement.name, "")
        });
    }
    records
}

fn found(info: &DeviceInfo, records: &[Record]) -> Findings {
    (aspect().analyse)(&Seen { device: info, records: &crate::aspects::kept(records), found: &Findings::default() })
}

/// The caches of buffers; constants lie in the same.
fn levels(found: &Findings) -> Vec<&str> {
    let own = |key: &&String| key.starts_with("buffer.") && key.ends_with("capacity_bytes") && found.get(key).is_some();
    let keys = found.facts.keys().filter(own);
    keys.map(String::as_str).collect()
}

/// A CPU's 48 KiB of 12 ways, and 1 MiB by the addresses of pages, wherever these lie.
fn cpu(spec: &Spec, addresses: &[u64]) -> f64 {
    let near = Shape { line_bytes: 64, sets: 64, ways: 12, hash: None };
    let mut lines: Vec<u64> = addresses.iter().map(|address| address / 64).collect();
    lines.sort_unstable();
    lines.dedup();
    let far = Victims::Hashed(16.0).share(f64::from(1 << 20), 64.0 * lines.len() as f64);
    let missed = misses(&near, addresses);
    // Groups of two threads wait for each other.
    (1.4e-9 + missed * (2.4e-9 + far * 9e-9)) * f64::from(spec.walkers.div_ceil(2))
}

#[test]
fn a_cpu_that_others_use_shows_its_caches_and_no_others() {
    let info = device(16 << 20);
    let (mut rng, mut others) = (Rng::with_seed(1), Rng::with_seed(2));
    // What is far away others share as they like, for as long as a measurement takes.
    let step = |spec: &Spec, addresses: &[u64]| cpu(spec, addresses) * if spec.range > 5 << 19 { 1.0 + 9.0 * others.f64() } else { 1.0 };
    // They run now and then, and the longer a launch takes, the surer.
    let shown = |seconds: f64| {
        let meanwhile = rng.f64() < 0.1 + 1.0 - (-seconds / 3e-3).exp();
        seconds * (1.0 + 0.02 * rng.f64()) + if meanwhile { 5e-3 * rng.f64() } else { 0.0 }
    };
    let found = found(&info, &recorded(&info, step, shown));
    assert_eq!(levels(&found), ["buffer.l1.capacity_bytes", "buffer.l2.capacity_bytes"]);
    let near = |key: &str, truth: f64, part: f64| {
        let value = found.get(key).unwrap_or_else(|| panic!("{key}: {:?}", found.facts.get(key)));
        assert!((value / truth).max(truth / value) <= 1.0 + part, "{key} is {value}, not {truth}");
    };
    near("buffer.l1.capacity_bytes", 49152.0, 0.01);
    near("buffer.l1.line_bytes", 64.0, 0.0);
    near("buffer.l1.latency_s", 1.4e-9, 0.05);
    near("buffer.l2.capacity_bytes", f64::from(1 << 20), 0.2);
    near("buffer.l2.latency_s", 3.8e-9, 0.05);
}

#[test]
fn where_pages_are_too_many_no_cache_ends() {
    let info = device(16 << 20);
    // 16 KiB, and 256 pages that are translated at once.
    let step = |_: &Spec, addresses: &[u64]| {
        let lines = Shape { line_bytes: 64, sets: 64, ways: 4, hash: None };
        let pages = Shape { line_bytes: 4096, sets: 1, ways: 256, hash: None };
        2e-9 + 5e-9 * misses(&lines, addresses) + 20e-9 * misses(&pages, addresses)
    };
    let found = found(&info, &recorded(&info, step, |seconds| seconds));
    assert_eq!(levels(&found), ["buffer.l1.capacity_bytes"], "{:?}", found.facts);
    let reach = found.get("buffer.translation.l1.reach_bytes").expect("a reach");
    assert!((reach / f64::from(1 << 20) - 1.0).abs() < 0.1, "{reach}");
}

#[test]
fn pages_that_are_too_many_for_lines_of_the_nearest_cache_are_told_from_a_cache() {
    let info = device(16 << 20);
    // 64 pages: as many lines lie in the first level, far faster than the second, where the translation's end shows.
    let step = |spec: &Spec, addresses: &[u64]| {
        let pages = Shape { line_bytes: 4096, sets: 1, ways: 64, hash: None };
        cpu(spec, addresses) + 1.6e-9 * misses(&pages, addresses)
    };
    let found = found(&info, &recorded(&info, step, |seconds| seconds));
    assert_eq!(levels(&found), ["buffer.l1.capacity_bytes", "buffer.l2.capacity_bytes"], "{:?}", found.facts);
    let reach = found.get("buffer.translation.l1.reach_bytes").expect("a reach");
    assert!((reach / (64.0 * 4096.0) - 1.0).abs() < 0.1, "{reach}");
}

/// Where time ends early it is known which levels are caches, not how many ways they have.
#[test]
fn what_is_a_cache_at_all_is_asked_first() {
    let info = device(16 << 20);
    let records = recorded(&info, cpu, |seconds| seconds);
    let specs: Vec<Spec> = records.iter().filter_map(|record| Some(Spec::of(&record.params)?.0)).collect();
    let first = |is: &dyn Fn(&Spec) -> bool| specs.iter().position(is).expect("asked");
    let few = first(&|spec| spec.pair.is_none() && spec.stride > 4096 && !spec.stride.is_power_of_two());
    let ways = first(&|spec| spec.pair.is_none() && spec.stride >= 4096 && spec.stride.is_power_of_two());
    assert!(few < ways && few < first(&|spec| spec.walkers > 1), "{few} {ways}");
}

/// The caches of a device of two, whose nearest one a few lines in many pages miss at some strides.
fn nearest_and_second(near: &Shape, far: &Shape, seconds: [f64; 3]) -> Findings {
    let info = device(16 << 20);
    let step = |_: &Spec, addresses: &[u64]| seconds[0] + seconds[1] * misses(near, addresses) + seconds[2] * misses(far, addresses);
    found(&info, &recorded(&info, step, |seconds| seconds))
}

#[test]
fn few_lines_in_many_pages_lie_in_all_sets_of_the_nearest_cache() {
    // As many lines as pages fit the nearest cache, but not half its sets, to which multiples of the second's lines go.
    let near = Shape { line_bytes: 32, sets: 128, ways: 4, hash: None };
    let far = Shape { line_bytes: 64, sets: 1024, ways: 16, hash: None };
    let found = nearest_and_second(&near, &far, [2e-9, 20e-9, 30e-9]);
    assert_eq!(levels(&found), ["buffer.l1.capacity_bytes", "buffer.l2.capacity_bytes"], "{:?}", found.facts);
    assert_eq!(found.get("buffer.l2.capacity_bytes"), Some(1_048_576.0));
}

#[test]
fn few_lines_in_many_pages_are_as_many_strides_as_a_hash_needs() {
    // Of the three strides two send so many of 70 lines to few of its sets that half of them or more miss 96 lines.
    let hash = (6..10).map(|bit| vec![bit, bit + 2, bit + 4]).collect();
    let near = Shape { line_bytes: 64, sets: 16, ways: 6, hash: Some(hash) };
    let far = Shape { line_bytes: 64, sets: 256, ways: 9, hash: None };
    let found = nearest_and_second(&near, &far, [2e-9, 20e-9, 12e-9]);
    assert_eq!(levels(&found), ["buffer.l1.capacity_bytes", "buffer.l2.capacity_bytes"], "{:?}", found.facts);
    let second = found.get("buffer.l2.capacity_bytes").expect("a size");
    assert!((second / 147_456.0 - 1.0).abs() < 0.1, "{second}");
}

#[test]
fn a_nearer_caches_end_is_not_where_the_next_begins_to_miss() {
    // Three times as much: the first one's misses rise where the second still has everything.
    let near = Shape { line_bytes: 64, sets: 64, ways: 4, hash: None };
    let far = Shape { line_bytes: 64, sets: 64, ways: 12, hash: None };
    let found = nearest_and_second(&near, &far, [2e-9, 20e-9, 30e-9]);
    let Some(Finding::Number(Fact::Known { value, lo: Some(lo), .. })) = found.facts.get("buffer.l2.capacity_bytes") else {
        panic!("{:?}", found.facts)
    };
    assert!((*value / 49_152.0 - 1.0).abs() < 0.01 && *lo > 40_000.0, "{value} from {lo}");
}

#[test]
fn caches_between_two_numbers_of_groups_are_as_many_as_cores() {
    let info = device(1 << 20);
    // Five caches of 16 KiB: a sixth group waits for one of them, where it walks through more than next to nothing.
    let step = |spec: &Spec, addresses: &[u64]| {
        let near = Shape { line_bytes: 64, sets: 64, ways: 4, hash: None };
        let busy = spec.walkers > 5 && spec.range > 1024;
        (2e-9 + 5e-9 * misses(&near, addresses)) * if busy { 1.5 } else { 1.0 }
    };
    let records = crate::aspects::kept(&recorded(&info, step, |seconds| seconds));
    let instances = |cores: Option<f64>| {
        let mut before = Findings::default();
        cores.into_iter().for_each(|cores| before.number("cores", Fact::known(cores, Source::Measured, "said by the test")));
        let found = (aspect().analyse)(&Seen { device: &info, records: &records, found: &before });
        match found.facts.get("buffer.l1.instances") {
            Some(Finding::Number(Fact::Known { value, lo, hi, .. })) => (*value, *lo, *hi),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(instances(Some(5.0)), (5.0, Some(4.0), Some(5.0)));
    assert_eq!([instances(Some(8.0)).0, instances(None).0], [4.0, 4.0]);
}

/// A cache of each of 32 cores, more than are tried at first: groups are doubled until one waits. Walks of 2,048 groups would need more than is read.
#[test]
fn caches_of_many_cores_are_counted_to_the_last() {
    let info = device(8 << 20);
    for caches in [32, 100] {
        let step = |spec: &Spec, addresses: &[u64]| {
            let near = Shape { line_bytes: 64, sets: 16, ways: 4, hash: None };
            let busy = spec.walkers > caches && spec.range > 1024;
            (2e-9 + 5e-9 * misses(&near, addresses)) * if busy { 1.5 } else { 1.0 }
        };
        let records = crate::aspects::kept(&recorded(&info, step, |seconds| seconds));
        let mut before = Findings::default();
        before.number("cores", Fact::known(f64::from(caches), Source::Measured, "said by the test"));
        let found = (aspect().analyse)(&Seen { device: &info, records: &records, found: &before });
        assert_eq!(found.get("buffer.l1.instances"), Some(f64::from(caches)), "{:?}", found.facts.get("buffer.l1.instances"));
    }
}

#[test]
fn a_cache_of_few_lines_does_not_hide_behind_long_strides() {
    let info = device(4 << 20);
    // Five lines of 32 bytes, and 128 KiB behind them, where a miss brings 256.
    let step = |_: &Spec, addresses: &[u64]| {
        let near = Shape { line_bytes: 32, sets: 1, ways: 5, hash: None };
        let far = Shape { line_bytes: 256, sets: 32, ways: 16, hash: None };
        94e-9 + 40e-9 * misses(&near, addresses) + 300e-9 * misses(&far, addresses)
    };
    let found = found(&info, &recorded(&info, step, |seconds| seconds));
    assert_eq!((found.get("buffer.l1.capacity_bytes"), found.get("buffer.l1.line_bytes")), (Some(160.0), Some(32.0)));
    assert_eq!(found.get("buffer.l2.capacity_bytes"), Some(131_072.0));
}

/// Two sets of six lines of 16 bytes, as short as texels, so that no pair shows them: walks stride what the next cache brings, 256 bytes, and all
/// places lie in one set, however many there are. Only ranges of about as many places of 16 bytes each tell that.
#[test]
fn lines_as_short_as_texels_are_as_many_as_they_are() {
    let mut info = device(1 << 20);
    info.limits.image_buffer = Some(1 << 16);
    let step = |_: &Spec, addresses: &[u64]| {
        let near = Shape { line_bytes: 16, sets: 2, ways: 6, hash: None };
        let far = Shape { line_bytes: 256, sets: 32, ways: 16, hash: None };
        80e-9 + 190e-9 * misses(&near, addresses) + 300e-9 * misses(&far, addresses)
    };
    let found = found(&info, &recorded(&info, step, |seconds| seconds));
    let Some(Finding::Number(Fact::Known { value, lo, hi, .. })) = found.facts.get("texture.l1.capacity_bytes") else {
        panic!("{:?}", found.facts)
    };
    assert_eq!((*value, *lo, *hi), (192.0, Some(192.0), Some(192.0)));
    assert_eq!(found.get("texture.l1.line_bytes"), Some(16.0));
}

#[test]
fn a_plan_that_was_interrupted_goes_on_as_it_would_have() {
    let info = device(1 << 20);
    let records = recorded(&info, cpu, |seconds| seconds);
    for kept in [1, records.len() / 3, records.len() / 2, records.len() - 1] {
        let mut plan = plan(&Context { device: &info, scale: Scale::Quick, seed: 1 });
        let next = plan.ask(&records[..kept]).map(|measurement| measurement.name);
        assert_eq!(next.as_deref(), Some(records[kept].name.as_str()));
    }
}

#[test]
fn a_clock_that_shows_nonsense_shows_no_cache() {
    let info = device(1 << 20);
    let mut launches = 0.0;
    let clocks: [&mut dyn FnMut(f64) -> f64; 5] =
        [&mut |_| 0.0, &mut |_| f64::NAN, &mut |_| -1e-6, &mut |seconds| (seconds / 1e-3).floor() * 1e-3, &mut |_| {
            launches += 1.0;
            1.0 / launches
        }];
    for (n, clock) in clocks.into_iter().enumerate() {
        let records = recorded(&info, cpu, clock);
        for records in [&records[..], &records[..records.len() / 2]] {
            let found = found(&info, records);
            assert!(levels(&found).is_empty(), "clock {n}: {:?}", levels(&found));
            assert!(!found.facts.is_empty(), "clock {n}: no reason is given");
        }
    }
}

#[test]
fn what_was_not_walked_is_unknown_with_the_reason() {
    let info = device(1 << 20);
    let unknown = |found: &Findings, key: &str| format!("{:?}", found.facts.get(key));
    assert!(unknown(&found(&info, &[]), "buffer.l1.capacity_bytes").contains("no walk was tried"));
    let refused = Record::skipped(super::NAME, "buffer 2097152 B by 512 B and 4 B on", "out of time: its 3 s are used up");
    assert!(unknown(&found(&info, &[refused]), "buffer.l1.capacity_bytes").contains("out of time"));
    assert_eq!(Walks::of([].into_iter()).seen.len(), 0);
    assert_eq!(route::distances(Route::Buffer).count(), 7);
}

/// However far beyond the last cache walks of a quick probe go, a larger one may be behind their ends, as the 50 MiB of sim:h200 are. Where no longer
/// ones are to be had, there is none.
#[test]
fn levels_behind_walks_that_were_cut_short_are_not_absent() {
    let mut info = device(256 << 20);
    info.clock = Some(TimeSource::Simulated);
    let near = Shape { line_bytes: 64, sets: 64, ways: 4, hash: None };
    let records = recorded(&info, |_, addresses| 2e-9 + 5e-9 * misses(&near, addresses), |seconds| seconds);
    let second = |info: &DeviceInfo| {
        let found = found(info, &records);
        assert_eq!(found.get("buffer.l1.capacity_bytes"), Some(16_384.0));
        ["l2", "l3"].map(|level| match found.facts.get(&format!("buffer.{level}.capacity_bytes")) {
            Some(Finding::Number(fact)) => fact.clone(),
            other => panic!("{level}: {other:?}"),
        })
    };
    for fact in second(&info) {
        let Fact::Unknown { unknown } = &fact else { panic!("{fact:?}") };
        assert!(unknown.contains("16777216 B show no further level") && unknown.contains("a whole probe"), "{unknown}");
    }
    info.limits.max_allocation = Some(32 << 20);
    for fact in second(&info) {
        assert!(matches!(&fact, Fact::Absent { absent } if absent.contains("16777216 B show no further level")), "{fact:?}");
    }
}

/// Of every level that walks looked for it is said what they saw: that it is not there, or why they do not tell.
#[test]
fn levels_that_no_walk_found_have_their_reason() {
    let info = device(16 << 20);
    // One cache that all groups share, and of constants none, or one that holds them all.
    let step = |spec: &Spec, addresses: &[u64]| {
        let near = Shape { line_bytes: 64, sets: 64, ways: 4, hash: None };
        let missed = if spec.route == Route::Constant { 0.0 } else { misses(&near, addresses) };
        (2e-9 + 5e-9 * missed) * if spec.walkers > 1 && spec.range > 1024 { 1.5 } else { 1.0 }
    };
    let records = recorded(&info, step, |seconds| seconds);
    let own = crate::profile(&found(&info, &records), "a", "a test");
    let (first, last) = (&own.memory.buffer_l1, &own.memory.llc);
    for (cache, evidence) in [(first, "shared by groups that run at once"), (last, "show no further level")] {
        assert!(matches!(&cache.bytes, Fact::Absent { absent } if absent.contains(evidence)), "{cache:?}");
        assert!(matches!(&cache.ways, Fact::Absent { absent } if absent.contains(evidence)), "{cache:?}");
        assert!(matches!(&cache.bandwidth, Fact::Absent { absent } if absent.contains(evidence)), "{cache:?}");
    }
    assert_eq!(own.memory.l2.bytes.get().map(|own| own.0), Some(16_384.0));
    let constants = &own.probed.constant_l1;
    assert!(matches!(&constants.bytes, Fact::Unknown { unknown } if unknown.contains("take as long as the shortest")), "{constants:?}");
    // What no walk goes through has its reason, too.
    assert!(matches!(&own.memory.texture_l1.ways, Fact::Unknown { unknown } if unknown.contains("no walk was tried")));
}
