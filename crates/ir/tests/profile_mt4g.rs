//! Profiles from files of MT4G: what a driver states and chases show is kept with its source, what is unreliable is lost, and files of
//! another version or without a key are named.

use serde_json::{Value, json};
use warpsight_ir::profile::mt4g::{Mt4gError, read, read_with};
use warpsight_ir::profile::{Fact, Source};
use warpsight_ir::{Bytes, Cycles, Hertz, Profile};

const FILES: [&str; 7] = [
    "AMD_Instinct_MI100",
    "AMD_Instinct_MI300X_VF",
    "NVIDIA_A100-PCIE-40GB",
    "NVIDIA_GeForce_RTX_2080_Ti",
    "NVIDIA_H100_80GB_HBM3",
    "Quadro_P6000",
    "Tesla_V100-PCIE-16GB",
];

/// The text of a file, where the data is at hand.
fn text(name: &str) -> Option<String> {
    let path = format!("{}/../../../shared/data/devices/mt4g/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let found = std::fs::read_to_string(&path).ok();
    if found.is_none() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{path} is missing");
        eprintln!("skipped: {path} is missing");
    }
    found
}

fn value<T: Copy>(fact: &Fact<T>) -> (T, Source) {
    let Fact::Known { value, source, cite, .. } = fact else { panic!("not known") };
    assert!(cite.starts_with("MT4G of 2025-08-"), "{cite}");
    (*value, *source)
}

fn reason<T>(fact: &Fact<T>) -> &str {
    let Fact::Unknown { unknown } = fact else { panic!("not unknown") };
    unknown
}

#[test]
fn each_of_the_seven_files_is_a_profile() {
    for name in FILES {
        let Some(text) = text(name) else { return };
        let json: Value = serde_json::from_str(&text).unwrap();
        let profile = read(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(Profile::parse(&profile.text()).unwrap(), profile, "{name}");
        let (e, m) = (&profile.execution, &profile.memory);
        let number = |path: &str| json.pointer(path).and_then(Value::as_f64).unwrap();
        assert_eq!(f64::from(value(&e.cores).0), number("/compute/multiProcessorCount"), "{name}");
        assert_eq!(value(&e.clock), (Hertz(1e3 * number("/general/clockRate/value")), Source::Vendor), "{name}");
        assert_eq!(value(&m.buffer_l1.bytes), (Bytes(number("/memory/l1/size/size")), Source::Measured), "{name}");
        assert_eq!(value(&m.sector).0, Bytes(number("/memory/l1/fetchGranularity/size")), "{name}");
        assert_eq!(value(&m.dram_latency), (Cycles(number("/memory/main/latency/p50")), Source::Measured), "{name}");
        assert_eq!(value(&m.l2.latency).0, Cycles(number("/memory/l2/latency/p50")), "{name}");
        let l2 = value(&m.l2.bytes).0.0 * m.l2.instances.get().map_or(1.0, |&n| n.into());
        assert_eq!(l2, number("/memory/l2/size/value"), "{name}");
        // What its authors call unreliable is lost, with what it said.
        for lost in [&m.buffer_l1.line, &m.l2.line] {
            assert!(reason(lost).contains("bytes") && reason(lost).contains("heuristic"), "{name}: {}", reason(lost));
        }
        for lost in [&m.dram_bandwidth, &m.l2.bandwidth] {
            assert!(reason(lost).contains("GiB/s") && reason(lost).contains("not the best"), "{name}: {}", reason(lost));
        }
        assert!(reason(&m.tlb.miss_latency).contains("raw chase") && reason(&m.buffer_l1.ways) == "MT4G does not say", "{name}");
        let nvidia = json["general"]["vendor"] == "NVIDIA";
        assert_eq!(m.l2_effective.get().is_some(), nvidia, "{name}");
        assert_eq!(m.texture_l1.bytes.get().is_some(), nvidia, "{name}");
        assert_eq!(m.llc.bytes.get().is_some(), name.contains("MI300X"), "{name}");
        assert_eq!(e.registers.get().is_some() && e.max_groups.get().is_some(), nvidia, "{name}");
    }
}

#[test]
fn what_the_files_say_agrees_with_the_profiles_that_are_built_in() {
    for (file, name) in [
        ("NVIDIA_A100-PCIE-40GB", "a100-40"),
        ("Tesla_V100-PCIE-16GB", "v100"),
        ("AMD_Instinct_MI100", "mi100"),
        ("AMD_Instinct_MI300X_VF", "mi300x"),
    ] {
        let Some(text) = text(file) else { return };
        let found = read(&text).unwrap();
        let known = warpsight_ir::profile::builtin(name).unwrap().unwrap();
        let (a, b) = (&found.execution, &known.execution);
        let same = [(&a.cores, &b.cores), (&a.warp, &b.warp), (&a.max_warps, &b.max_warps), (&a.max_group_size, &b.max_group_size)];
        assert!(same.iter().all(|(ours, theirs)| ours.get() == theirs.get()), "{name}");
        assert_eq!((a.clock.get(), a.local.get().is_some()), (b.clock.get(), true), "{name}");
        // A chase sees no more than there is, and of L1 what no local memory takes.
        let l1 = found.memory.buffer_l1.bytes.get().unwrap().0 / known.memory.buffer_l1.bytes.get().unwrap().0;
        assert!((0.85..=1.0).contains(&l1), "{name}: {l1}");
    }
    let Some(a100) = text("NVIDIA_A100-PCIE-40GB") else { return };
    let a100 = read(&a100).unwrap();
    assert_eq!((a100.name.as_str(), a100.architecture.as_deref()), ("nvidia-a100-pcie-40gb", Some("ampere")));
    assert_eq!((value(&a100.memory.l2.bytes).0, value(&a100.memory.l2.instances).0), (Bytes(20_971_520.0), 2));
    assert_eq!(value(&a100.memory.l2_effective).0, Bytes(20_971_520.0));
}

/// A file with another value at a place; `Null` takes the key away.
fn changed(path: &str, to: Value) -> Option<Result<Profile, Mt4gError>> {
    let mut json: Value = serde_json::from_str(&text("NVIDIA_GeForce_RTX_2080_Ti")?).unwrap();
    let (table, key) = path.rsplit_once('/').unwrap();
    let table = json.pointer_mut(table).unwrap().as_object_mut().unwrap();
    if to.is_null() {
        table.remove(key)
    } else {
        table.insert(key.to_owned(), to)
    };
    Some(read(&json.to_string()))
}

#[test]
fn keys_that_are_missing_are_all_named() {
    let keys = [
        "/compute/multiProcessorCount",
        "/compute/warpSize",
        "/general/name",
        "/general/vendor",
        "/general/clockRate/unit",
        "/memory/l1/size",
        "/memory/l1/size/confidence",
        "/memory/l2/segmentSize",
        "/memory/l2/size/value",
        "/memory/main/latency/p50",
        "/memory/main",
        "/memory/texture",
        "/memory/shared/sharedMemPerMultiProcessor",
        "/meta/timestamp",
        "/memory",
        "/meta",
    ];
    for key in keys {
        let Some(found) = changed(key, Value::Null) else { return };
        let Err(Mt4gError::Missing(missing)) = found else { panic!("{key}: {found:?}") };
        let key = key[1..].replace('/', ".");
        assert!(missing.iter().all(|own| own.starts_with(&key)) && !missing.is_empty(), "{key}: {missing:?}");
    }
    let Some(text) = text("AMD_Instinct_MI100") else { return };
    let mut json: Value = serde_json::from_str(&text).unwrap();
    json["memory"]["l1"].as_object_mut().unwrap().remove("latency");
    json["compute"].as_object_mut().unwrap().remove("warpSize");
    let error = read(&json.to_string()).unwrap_err().to_string();
    assert!(error.starts_with("the file of MT4G lacks `compute.warpSize`, `memory.l1.latency.measurements`, "), "{error}");
}

#[test]
fn files_of_another_version_are_named() {
    for (path, to, said) in [
        ("/meta/mt4gVersion", json!("1.2.0-22-g44b6207"), "`meta.mt4gVersion` is \"1.2.0-22-g44b6207\""),
        ("/version", json!(2), "`version` is 2"),
        ("/memory/l4", json!({}), "it has a table `memory.l4`"),
        ("/caches", json!([]), "it has a table `caches`"),
    ] {
        let Some(found) = changed(path, to) else { return };
        let error = found.unwrap_err();
        assert!(matches!(error, Mt4gError::Version(_)) && error.to_string().contains(said), "{error}");
    }
}

#[test]
fn values_that_do_not_fit_are_named_and_doubtful_ones_lost() {
    for (path, to, said) in [
        ("/memory/l1/size/unit", json!("KiB"), "`memory.l1.size`: its unit is `KiB`"),
        ("/general/clockRate/unit", json!("MHz"), "`general.clockRate`: its unit is `MHz`"),
        ("/memory/l2/latency/unit", json!("ns"), "`memory.l2.latency`: its unit is `ns`"),
        ("/compute/multiProcessorCount", json!("68"), "`compute.multiProcessorCount`: `\"68\"` is no count"),
        ("/compute/multiProcessorCount", json!(0), "`execution.cores`: 0 would be its value, which is not positive"),
        ("/compute/multiProcessorCount", json!(1e12), "`compute.multiProcessorCount`"),
        ("/general/clockRate/value", json!(1), "`execution.clock`: 1000 would be its value, which is less than any device has"),
        ("/memory/l1/size/size", json!(-1), "`memory.l1.size.size`: `-1` is no number from 0 on"),
        ("/memory/l1/size/confidence", json!(7), "`memory.l1.size.confidence`"),
        ("/memory/main/latency/p95", json!(1), "outside its interval"),
        ("/general/vendor", json!("Intel"), "`general.vendor`: `Intel` is neither NVIDIA nor AMD"),
    ] {
        let Some(found) = changed(path, to) else { return };
        let error = found.unwrap_err().to_string();
        assert!(error.contains(said), "{path}: {error}");
    }
    let Some(found) = changed("/memory/l1/size/confidence", json!(0.0)) else { return };
    let lost = reason(&found.unwrap().memory.buffer_l1.bytes).to_owned();
    assert_eq!(lost, "MT4G says 62976 bytes (memory.l1.size) with a confidence of 0.000, which says nothing");
    let Some(found) = changed("/memory/l2/segmentSize/size", json!(4_000_000)) else { return };
    let l2 = found.unwrap().memory.l2;
    assert!(reason(&l2.bytes).contains("no number of parts") && l2.instances.get().is_none());
    // The P6000's file has no count of its L1.
    let Some(p6000) = text("Quadro_P6000") else { return };
    assert_eq!(reason(&read(&p6000).unwrap().memory.buffer_l1.instances), "the file of MT4G has no `memory.l1.amountPerMultiprocessor`");
}

#[test]
fn hostile_files_are_refused_in_words() {
    let deep = "[".repeat(100_000);
    for text in
        ["", "{", "[]", "3", "null", "{}", "{\"memory\": 3}", &deep, "\u{0}", "{\"compute\":1,\"general\":1,\"memory\":1,\"meta\":1}"]
    {
        let error = read(text).unwrap_err().to_string();
        assert!(!error.is_empty() && error.len() < 3000, "{error}");
    }
}

#[test]
fn what_is_unknown_can_be_a_sisters_and_says_so() {
    let Some(text) = text("Tesla_V100-PCIE-16GB") else { return };
    let (own, v100) = (read(&text).unwrap(), warpsight_ir::profile::builtin("v100").unwrap().unwrap());
    let both = own.over(&v100).unwrap();
    assert_eq!(
        (&both.name, &both.memory.dram_latency, &both.memory.buffer_l1.bytes),
        (&own.name, &own.memory.dram_latency, &own.memory.buffer_l1.bytes)
    );
    let Fact::Known { value, cite, alternatives, .. } = &both.memory.dram_bandwidth else { panic!("known") };
    assert_eq!(Some(value), v100.memory.dram_bandwidth.get());
    assert!(cite.starts_with("v100: te42kyfo/gpu-benches") && alternatives.iter().all(|claim| claim.cite.starts_with("v100: ")), "{cite}");
    assert!(matches!(&both.memory.llc.bytes, Fact::Absent { absent } if absent.starts_with("v100: ")));
    // What neither knows keeps its own reason.
    assert_eq!(reason(&both.memory.l2.ways), "MT4G does not say");
    assert_eq!(Profile::parse(&both.text()).unwrap(), both);
}

/// A chase of this many loads at 400 cycles; the first of each so many of the first 300 wait 960.
fn chase(loads: usize, every: usize) -> String {
    (0..loads).map(|at| if at < 300 && at % every == 0 { "960\n".to_owned() } else { format!("{}\n", 400 + at % 7) }).collect()
}

#[test]
fn a_chase_shows_what_first_touches_wait() {
    let (Some(nvidia), Some(amd)) = (text("Tesla_V100-PCIE-16GB"), text("AMD_Instinct_MI100")) else { return };
    let miss = |chase: &str| read_with(&nvidia, Some(chase)).map(|profile| profile.memory.tlb.miss_latency);
    let Fact::Known { value, source, cite, lo, hi, .. } = miss(&chase(2047, 10)).unwrap() else { panic!("known") };
    assert_eq!((value, source, lo, hi), (Cycles(557.0), Source::Measured, Some(Cycles(278.5)), Some(Cycles(557.0))));
    assert!(cite.contains("30 of 2047 loads"), "{cite}");
    // Without two kinds of loads there is nothing to see; nor on AMD, whose translations have levels.
    assert!(reason(&miss(&chase(2047, 1000)).unwrap()).contains("1 of 512 wait longer"));
    assert!(reason(&miss(&"400\n".repeat(2047)).unwrap()).contains("0 of 512 wait longer"));
    let other = read_with(&amd, Some(&chase(2047, 10))).unwrap();
    assert!(reason(&other.memory.tlb.miss_latency).contains("all levels of AMD's"));
    for (bad, said) in [
        ("", "the chase, line 1`: it ends after 0 loads"),
        (&*chase(100, 10), "it ends after 100 loads, of 1024 at least"),
        ("12\nx\n", "the chase, line 2`: `x` is no latency in cycles"),
        ("12\n-3\n", "no latency"),
        ("inf", "no latency"),
        ("12,13", "no latency"),
    ] {
        let error = miss(bad).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}
