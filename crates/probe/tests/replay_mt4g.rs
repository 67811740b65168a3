//! Recordings of MT4G: those of six GPUs say what vendors document or MT4G's authors are sure of; recordings of invented caches say what
//! was invented; and what is broken is noted.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use warpsight_ir::profile::Fact;
use warpsight_probe::export::{self, Stated};
use warpsight_probe::replay::mt4g::{self, Kind, ReplayError};
use warpsight_probe::{Finding, Findings};

#[path = "replay_mt4g/invented.rs"]
mod invented;

const GPUS: [&str; 6] = [
    "AMD_Instinct_MI100",
    "AMD_Instinct_MI300X_VF",
    "NVIDIA_A100-PCIE-40GB",
    "NVIDIA_GeForce_RTX_2080_Ti",
    "Quadro_P6000",
    "Tesla_V100-PCIE-16GB",
];

/// Keys of findings, and where MT4G's own result stands in its file.
const KEYS: [(&str, &str); 7] = [
    ("buffer.l1", "/memory/l1"),
    ("buffer.l2", "/memory/l2"),
    ("texture.l1", "/memory/texture"),
    ("readonly", "/memory/readOnly"),
    ("constant.l1", "/memory/constant/l1"),
    ("constant.l15", "/memory/constant/l1.5"),
    ("scalar.l1", "/memory/scalarL1"),
];

/// Capacities that vendors document, in KiB, where MT4G finds others: 2 KiB of constants; an L1 that shares its memory with what is
/// reserved for blocks; a scalar cache of which MT4G is not sure.
const DOCUMENTED: [(&str, &str, f64); 15] = [
    ("NVIDIA_A100-PCIE-40GB", "buffer.l1", 192.0),
    ("NVIDIA_A100-PCIE-40GB", "readonly", 192.0),
    ("NVIDIA_A100-PCIE-40GB", "texture.l1", 192.0),
    ("NVIDIA_A100-PCIE-40GB", "constant.l1", 2.0),
    ("NVIDIA_GeForce_RTX_2080_Ti", "constant.l1", 2.0),
    ("Quadro_P6000", "constant.l1", 2.0),
    ("Tesla_V100-PCIE-16GB", "constant.l1", 2.0),
    ("NVIDIA_GeForce_RTX_2080_Ti", "buffer.l1", 64.0),
    ("NVIDIA_GeForce_RTX_2080_Ti", "readonly", 64.0),
    ("NVIDIA_GeForce_RTX_2080_Ti", "texture.l1", 64.0),
    ("Tesla_V100-PCIE-16GB", "buffer.l1", 128.0),
    ("Tesla_V100-PCIE-16GB", "readonly", 128.0),
    ("Tesla_V100-PCIE-16GB", "texture.l1", 128.0),
    ("AMD_Instinct_MI100", "scalar.l1", 16.0),
    ("AMD_Instinct_MI300X_VF", "scalar.l1", 16.0),
];

/// The folder of recordings, where the data is at hand.
fn data() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/devices/mt4g");
    if !path.join("raw").is_dir() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", path.display());
        eprintln!("skipped: {} is missing", path.display());
        return None;
    }
    Some(path)
}

fn found(dir: &Path) -> Findings {
    mt4g::analyse(&mt4g::read(dir).unwrap())
}

fn fact<'f>(findings: &'f Findings, key: &str) -> &'f Fact<f64> {
    match &findings.facts[key] {
        Finding::Number(fact) => fact,
        other => panic!("{key}: {other:?}"),
    }
}

#[test]
fn six_gpus_are_what_vendors_document_or_the_tool_is_sure_of() {
    let Some(data) = data() else { return };
    let documented: BTreeMap<(&str, &str), f64> = DOCUMENTED.into_iter().map(|(gpu, key, kib)| ((gpu, key), 1024.0 * kib)).collect();
    let mut known = 0;
    for gpu in GPUS {
        let findings = found(&data.join("raw").join(gpu));
        let tool: Value = serde_json::from_str(&std::fs::read_to_string(data.join(format!("{gpu}.json"))).unwrap()).unwrap();
        for (key, path) in KEYS {
            for (what, names) in
                [("capacity_bytes", ["size", "segmentSize"]), ("line_bytes", ["lineSize"; 2]), ("fetch_bytes", ["fetchGranularity"; 2])]
            {
                let own =
                    names.iter().find_map(|name| tool.pointer(&format!("{path}/{name}")).filter(|own| own.get("confidence").is_some()));
                let Some(Value::Number(_)) = own.map(|own| &own["confidence"]) else { continue };
                let (size, confidence) = (own.unwrap()["size"].as_f64().unwrap(), own.unwrap()["confidence"].as_f64().unwrap());
                let fact = fact(&findings, &format!("{key}.{what}"));
                let told = format!("{gpu} {key}.{what}: {fact:?}, where the tool says {size} with {confidence}");
                let Fact::Known { value, lo, hi, .. } = fact else {
                    assert!(confidence == 0.0, "{told}");
                    continue;
                };
                assert!(confidence > 0.0, "{told}");
                let expected = documented.get(&(gpu, key)).filter(|_| what == "capacity_bytes").copied().unwrap_or(size);
                assert!((value - expected).abs() <= 0.05 * expected, "{told}, {expected} expected");
                assert!(lo.unwrap() <= *value && *value <= hi.unwrap(), "{told}");
                if what != "capacity_bytes" {
                    assert_eq!(*value, size, "{told}");
                }
                known += 1;
            }
        }
        assert_eq!(findings.contradictions, Vec::<String>::new(), "{gpu}");
    }
    assert_eq!(known, 80, "all of which the tool is sure");
}

#[test]
fn nothing_is_said_that_the_data_does_not_show() {
    let Some(data) = data() else { return };
    let reason = |findings: &Findings, key: &str| match fact(findings, key) {
        Fact::Unknown { unknown } => unknown.clone(),
        other => panic!("{key}: {other:?}"),
    };
    for gpu in ["NVIDIA_A100-PCIE-40GB", "NVIDIA_GeForce_RTX_2080_Ti", "Tesla_V100-PCIE-16GB"] {
        let why = reason(&found(&data.join("raw").join(gpu)), "constant.l15.capacity_bytes");
        assert!(why.contains("no change point") && why.contains("64512"), "{gpu}: {why}");
    }
    for gpu in ["AMD_Instinct_MI100", "AMD_Instinct_MI300X_VF"] {
        let findings = found(&data.join("raw").join(gpu));
        assert_eq!(reason(&findings, "buffer.l2.capacity_bytes"), "the recording has no file of sizes of buffer.l2");
        assert!(!findings.facts.contains_key("texture.l1.capacity_bytes"), "{gpu} was not asked for textures");
    }
}

#[test]
fn latencies_are_the_medians_of_the_files() {
    let Some(data) = data() else { return };
    for gpu in GPUS {
        let findings = found(&data.join("raw").join(gpu));
        let tool: Value = serde_json::from_str(&std::fs::read_to_string(data.join(format!("{gpu}.json"))).unwrap()).unwrap();
        for (key, path) in [("dram", "/memory/main"), ("local", "/memory/shared"), ("buffer.l1", "/memory/l1")] {
            let own = tool.pointer(&format!("{path}/latency/p50")).and_then(Value::as_f64).unwrap();
            assert_eq!(findings.get(&format!("{key}.latency_cycles")), Some(own), "{gpu} {key}");
        }
    }
}

#[test]
fn the_folders_name_says_nothing_and_every_file_has_a_curve() {
    let Some(data) = data() else { return };
    let from = data.join("raw").join(GPUS[4]);
    let dir = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(&from).unwrap().flatten() {
        std::fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
    }
    assert!(mt4g::is_one(dir.path()) && !mt4g::is_one(&data));
    let findings = found(dir.path());
    assert_eq!(findings, found(&from));
    assert_eq!(findings.curves.len(), 26);
    assert!(findings.curves.iter().all(|curve| !curve.points.is_empty() && curve.points.iter().flatten().all(|y| y.is_finite())));
}

#[test]
fn what_is_found_is_exported_and_read_back() {
    let Some(data) = data() else { return };
    let findings = found(&data.join("raw").join("Quadro_P6000"));
    let stated = Stated {
        name: Some("Some GPU".to_owned()),
        vendor: Some("NVIDIA".to_owned()),
        compute_capability: Some((6, 1)),
        clock_hz: Some(1.645e9),
        multiprocessors: Some(30),
        fp32_units: Some(128),
        warp: Some(32),
        threads: Some(2048),
        block_threads: Some(1024),
        blocks: Some(32),
        registers: Some(65536),
        shared_bytes: Some(98304.0),
        shared_reserved_bytes: Some(0.0),
        l2_bytes: None,
        timestamp: Some("2025-08-10T09:42:18Z".to_owned()),
    };
    let json = export::mt4g(&findings, &stated).unwrap();
    let memory = warpsight_ir::profile::mt4g::read(&json.to_string()).unwrap().memory;
    let bytes = |key: &str| findings.get(key).map(warpsight_ir::Bytes);
    assert_eq!(memory.buffer_l1.bytes.get().copied(), bytes("buffer.l1.capacity_bytes"));
    assert_eq!(memory.texture_l1.bytes.get().copied(), bytes("texture.l1.capacity_bytes"));
    assert_eq!(memory.l2.bytes.get().copied(), bytes("buffer.l2.capacity_bytes"));
    assert_eq!(memory.sector.get().copied(), bytes("buffer.l1.fetch_bytes"));
    assert_eq!(memory.dram_latency.get().map(|cycles| cycles.0), findings.get("dram.latency_cycles"));
}

/// A recording states no driver's numbers: what chases tell is exported all the same.
#[test]
fn what_is_found_is_exported_without_a_driver() {
    let Some(data) = data() else { return };
    for gpu in GPUS {
        let findings = found(&data.join("raw").join(gpu));
        let json = export::mt4g(&findings, &Stated::default()).unwrap();
        for (key, path) in KEYS {
            for (of, names) in [("capacity_bytes", ["size", "segmentSize"]), ("fetch_bytes", ["fetchGranularity"; 2])] {
                let own = names.iter().filter_map(|name| json.pointer(&format!("{path}/{name}"))).find(|own| own["confidence"].is_number());
                let sure = own.filter(|own| own["confidence"].as_f64() > Some(0.0)).map(|own| own["size"].as_f64().unwrap());
                assert_eq!(sure, findings.get(&format!("{key}.{of}")), "{gpu} {key}.{of}: {json}");
            }
            let latency = json.pointer(&format!("{path}/latency/p50")).and_then(Value::as_f64);
            assert_eq!(latency, findings.get(&format!("{key}.latency_cycles")), "{gpu} {key}");
        }
        assert_eq!(json["compute"], serde_json::json!({}), "{gpu}");
    }
}

#[test]
fn counted_latencies_are_the_profiles_and_no_clock_is_made_up() {
    let Some(data) = data() else { return };
    let findings = found(&data.join("raw").join("NVIDIA_GeForce_RTX_2080_Ti"));
    let profile = warpsight_probe::profile(&findings, "some-gpu", "a test");
    let memory = &profile.memory;
    for (key, latency) in [
        ("buffer.l1", &memory.buffer_l1.latency),
        ("texture.l1", &memory.texture_l1.latency),
        ("buffer.l2", &memory.l2.latency),
        ("constant.l1", &profile.probed.constant_l1.latency),
        ("dram", &memory.dram_latency),
    ] {
        let counted = findings.get(&format!("{key}.latency_cycles"));
        assert!(counted.is_some(), "{key}");
        assert_eq!(latency.get().map(|cycles| cycles.0), counted, "{key}");
    }
    assert!(matches!(&profile.execution.clock, Fact::Unknown { unknown } if unknown.contains("counted in cycles")));
    let untimed: BTreeMap<String, Finding> = findings.untimed().collect();
    assert!(
        matches!(&untimed["buffer.l1.latency_s"], Finding::Number(Fact::Unknown { unknown }) if unknown.contains("`buffer.l1.latency_cycles`"))
    );
    // With a clock, what was not counted is none of this.
    let mut clocked = findings.clone();
    clocked.number("clock.hz", Fact::known(2e9, warpsight_ir::profile::Source::Measured, "a test"));
    assert_eq!(clocked.untimed().count(), 0);
    // Without a file of latencies the reason is the recording's.
    let mut silent = findings;
    silent.number("buffer.l1.latency_cycles", Fact::unknown("the recording has no file of latencies of buffer.l1"));
    let latency = warpsight_probe::profile(&silent, "some-gpu", "a test").memory.buffer_l1.latency;
    assert!(matches!(&latency, Fact::Unknown { unknown } if unknown.contains("no file of latencies")), "{latency:?}");
}

#[test]
fn other_clocks_scales_noise_and_missing_rows_change_nothing() {
    let Some(data) = data() else { return };
    for (seed, gpu) in GPUS.into_iter().enumerate() {
        let recording = mt4g::read(&data.join("raw").join(gpu)).unwrap();
        let before = mt4g::analyse(&recording);
        let mut rng = fastrand::Rng::with_seed(seed as u64);
        let mut other = recording;
        for ((_, kind), rows) in &mut other.files {
            // Twice as large, at another clock, with noise; of sizes, one row in eight is lost.
            let heads = [1, 2, 1, 0][*kind as usize];
            rows.retain(|_| *kind != Kind::Size || rng.u32(0..8) > 0);
            for row in rows {
                row.iter_mut().take(heads).for_each(|x| *x *= 2.0);
                row.iter_mut().skip(heads).for_each(|latency| *latency *= 1.7 * (0.98 + 0.04 * rng.f64()));
            }
        }
        let after = mt4g::analyse(&other);
        for (key, _) in before.facts.iter().filter(|(key, _)| key.ends_with("_bytes")) {
            let near = if key.ends_with("capacity_bytes") { 0.05 } else { 0.0 };
            match (before.get(key), after.get(key)) {
                (Some(one), Some(two)) => assert!((two / one / 2.0 - 1.0).abs() <= near, "{gpu} {key}: {one}, {two} from twice the size"),
                (one, two) => assert_eq!(one, two, "{gpu} {key}"),
            }
        }
    }
}

#[test]
fn what_is_broken_is_noted_and_the_rest_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| std::fs::write(dir.path().join(name), text).unwrap();
    let sizes: String = (1..=40).map(|kib| format!("{},{}\n", kib * 1024, ["30"; 40].join(","))).collect();
    let packed = invented::gzip(&sizes);
    write("L1_Size.csv.gz", &packed[..packed.len() - 12]);
    write("L1_Fetch_Granularity.csv", b"stride,latency\n4,nan,30,inf,30\n8\n\n12,-3,30,,30\n");
    write("L1_Latency.csv", b"30\n31\nNaN\n32\n");
    write("Texture_Size.csv.gz", b"no gzip");
    write("Constant_L1_Size.csv", b"");
    write("notes.txt", b"hello");
    assert!(mt4g::is_one(dir.path()));
    let recording = mt4g::read(dir.path()).unwrap();
    let notes = recording.notes.join("\n");
    for note in [
        "`L1_Size.csv.gz`: ends in the middle",
        "`L1_Fetch_Granularity.csv`: 2 rows have not the columns",
        "`L1_Fetch_Granularity.csv`: 4 latencies are no positive numbers",
        "`L1_Latency.csv`: 1 rows",
        "`Texture_Size.csv.gz`: ",
        "`Constant_L1_Size.csv`: holds no row",
        "`notes.txt` is no file of MT4G",
    ] {
        assert!(notes.contains(note), "{note} is not in\n{notes}");
    }
    assert!(recording.files[&("buffer.l1", Kind::Size)].len() > 30);
    let findings = mt4g::analyse(&recording);
    assert_eq!(findings.get("buffer.l1.latency_cycles"), Some(31.0));
    assert!(matches!(fact(&findings, "buffer.l1.capacity_bytes"), Fact::Unknown { .. }), "flat");

    let empty = tempfile::tempdir().unwrap();
    assert!(!mt4g::is_one(empty.path()) && !mt4g::is_one(&empty.path().join("not there")));
    assert!(matches!(mt4g::read(empty.path()), Err(ReplayError::Nothing { .. })));
    assert!(matches!(mt4g::read(&empty.path().join("not there")), Err(ReplayError::Folder(_))));
}
