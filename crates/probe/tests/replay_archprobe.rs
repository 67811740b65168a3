//! Replays of ArchProbe's recording of an Adreno 640, and of copies of it that were altered.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use warpsight_ir::profile::Fact;
use warpsight_probe::fit::lru::{Shape, candidates, misses};
use warpsight_probe::replay::archprobe::{analyse, is_one, read};
use warpsight_probe::{Finding, Findings};

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/adreno640")
}

/// A copy of the recording in a folder of any name; what is given replaces files, or removes them.
fn copy(files: &[(&str, Option<String>)]) -> tempfile::TempDir {
    let folder = tempfile::Builder::new().prefix("unnamed").tempdir().expect("a folder");
    for entry in std::fs::read_dir(recorded()).expect("the recording") {
        let path = entry.expect("an entry").path();
        std::fs::copy(&path, folder.path().join(path.file_name().expect("a name"))).expect("copied");
    }
    for (file, text) in files {
        let path = folder.path().join(file);
        match text {
            Some(text) => std::fs::write(path, text).expect("written"),
            None => std::fs::remove_file(path).expect("removed"),
        }
    }
    folder
}

fn of(folder: &Path) -> Findings {
    analyse(&read(folder).expect("a recording"))
}

/// Least, best and most of a number.
fn ends(found: &Findings, key: &str) -> (f64, f64, f64) {
    match found.facts.get(key) {
        Some(Finding::Number(Fact::Known { value, lo, hi, .. })) => (lo.unwrap_or(*value), *value, hi.unwrap_or(*value)),
        other => panic!("{key}: {other:?}"),
    }
}

fn near(found: &Findings, key: &str, value: f64, part: f64) {
    let (lo, best, hi) = ends(found, key);
    assert!((best / value - 1.0).abs() <= part, "{key}: {best:e}, not {value:e}");
    assert!(lo <= best && best <= hi, "{key}: {lo:e} {best:e} {hi:e}");
}

/// Sets, ways and hash.
type Told = (u32, u32, Option<Vec<Vec<u32>>>);

fn geometries(found: &Findings, key: &str) -> Vec<Told> {
    match found.facts.get(key) {
        Some(Finding::Geometries(fact)) => {
            fact.get().expect("known").iter().map(|geometry| (geometry.sets, geometry.ways, geometry.hash.clone())).collect()
        }
        other => panic!("{key}: {other:?}"),
    }
}

#[test]
fn the_recording_says_what_the_device_is() {
    let found = of(&recorded());
    assert_eq!(ends(&found, "texture.l1.capacity_bytes"), (1024.0, 1024.0, 1024.0));
    assert_eq!(ends(&found, "texture.l1.line_bytes"), (32.0, 32.0, 32.0));
    let shapes = geometries(&found, "texture.l1.geometries");
    assert_eq!(shapes[0], (2, 16, None));
    assert!(shapes.len() <= 4, "64 strides leave few shapes: {shapes:?}");
    near(&found, "texture.l1.latency_s", 130.0e-9, 0.002);
    near(&found, "texture.l2.latency_s", 189.8e-9, 0.002);
    near(&found, "texture.l1.bandwidth", 194.6e9, 0.005);
    near(&found, "texture.l2.bandwidth", 99.5e9, 0.01);

    let levels: Vec<&str> = found.facts.keys().map(String::as_str).filter(|key| key.ends_with("capacity_bytes")).collect();
    let all = ["buffer.l1.capacity_bytes", "buffer.l2.capacity_bytes", "texture.l1.capacity_bytes", "texture.l2.capacity_bytes"];
    assert_eq!(levels, all, "no level that is not there");
    assert!(matches!(found.facts["buffer.l1.capacity_bytes"], Finding::Number(Fact::Absent { .. })));
    assert_eq!(ends(&found, "buffer.l2.capacity_bytes").1, 131_072.0);
    assert_eq!(ends(&found, "texture.l2.capacity_bytes").1, 131_072.0);
    assert_eq!(ends(&found, "buffer.l2.line_bytes").1, 64.0);
    near(&found, "buffer.l2.latency_s", 112.9e-9, 0.01);
    near(&found, "buffer.l2.bandwidth", 96.0e9, 0.02);
    near(&found, "dram.bandwidth", 30.3e9, 0.01);
    near(&found, "local.bandwidth", 103.0e9, 0.01);
    near(&found, "constant.bandwidth", 95.0e9, 0.02);

    assert_eq!(ends(&found, "registers.per_thread_max"), (180.0, 183.0, 184.0));
    assert_eq!((found.get("concurrency.full"), found.get("concurrency.half")), (Some(12.0), Some(24.0)));
    assert!(matches!(&found.facts["registers.pooled"], Finding::Word(fact) if fact.get().is_some_and(|word| word == "pooled")));
    assert_eq!((found.get("warp.by_order"), found.get("warp.by_latency")), (Some(128.0), Some(64.0)));
    assert!(matches!(&found.facts["warp.sizes"], Finding::Numbers(fact) if fact.get() == Some(&vec![64.0])));
    near(&found, "peak.fp32", 890e9, 0.002);
    // Halves as fast as floats may be a mode's doing: twice as much is not excluded.
    let (_, half, most) = ends(&found, "peak.fp16");
    assert!((most / half - 2.0).abs() < 1e-9);
    assert_eq!((found.get("read.width_words"), found.get("alu.vector_components")), (Some(4.0), Some(1.0)));
    near(&found, "launch.overhead_s", 3.3e-6, 0.15);
    assert_eq!((found.get("texture.l1.texels_x"), found.get("texture.l1.texels_y")), (Some(64.0), Some(32.0)));
    assert_eq!(found.contradictions, Vec::<String>::new());

    let figures: Vec<&str> = found.curves.iter().filter_map(|curve| curve.figure.as_deref()).collect();
    for figure in 5..=9 {
        assert!(figures.contains(&format!("001, figure {figure}").as_str()), "figure {figure}");
    }
    let chase = found.curves.iter().find(|curve| curve.title.contains("read of an image")).expect("a curve");
    assert!(chase.points.len() > 100 && chase.model.len() > 30 && chase.changes.len() == 2, "{:?}", chase.changes);
}

#[test]
fn names_change_nothing() {
    let report = std::fs::read_to_string(recorded().join("ArchProbeReport.json")).expect("a report");
    let report = report.replacen("\"Device\": {", "\"Device\": { \"Name\": \"Mali-G76\",", 1);
    let folder = copy(&[("ArchProbeReport.json", Some(report))]);
    assert_eq!(of(folder.path()), of(&recorded()));
}

/// Letters of names in any case, and packed files, say the same.
#[test]
fn files_may_be_packed_and_called_in_any_case() {
    let folder = tempfile::tempdir().expect("a folder");
    for (n, entry) in std::fs::read_dir(recorded()).expect("the recording").enumerate() {
        let path = entry.expect("an entry").path();
        let (name, bytes) = (path.file_name().expect("a name").to_string_lossy().into_owned(), std::fs::read(&path).expect("bytes"));
        if n % 2 == 0 {
            std::fs::write(folder.path().join(name.to_uppercase()), bytes).expect("written");
            continue;
        }
        let file = std::fs::File::create(folder.path().join(format!("{}.gz", name.to_lowercase()))).expect("a file");
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, &bytes).expect("packed");
        packed.finish().expect("written");
    }
    assert!(warpsight_probe::replay::archprobe::is_one(folder.path()));
    assert_eq!(of(folder.path()), of(&recorded()));
}

/// Every measured number lies in an interval, every change has a confidence, and the driver's number of cores is the driver's.
#[test]
fn what_is_measured_has_an_interval() {
    let found = of(&recorded());
    for (key, finding) in &found.facts {
        if let Finding::Number(Fact::Known { lo, hi, source: warpsight_ir::profile::Source::Measured, .. }) = finding {
            assert!(lo.is_some() && hi.is_some(), "{key}: {finding:?}");
        }
    }
    for curve in &found.curves {
        assert_eq!(curve.changes.len(), curve.confidence.len(), "{}", curve.title);
        assert!(curve.confidence.iter().all(|sure| (0.0..=1.0).contains(sure)), "{}: {:?}", curve.title, curve.confidence);
    }
    // What can be held against each other agrees: 183 registers of 6 warps of a core, 91 of 12; the shape and the end of the curve.
    let all = warpsight_probe::consistency(&found);
    let held = |what: &str| all.iter().find(|one| one.what.contains(what)).unwrap_or_else(|| panic!("{what}: {all:?}"));
    for what in ["register file", "texture.l1", "L2 of buffers", "order of atomics"] {
        assert_eq!(held(what).verdict, warpsight_probe::Verdict::Consistent, "{:?}", held(what));
    }
    assert_eq!((held("register file").expected, held("register file").found), (Some(70_272.0), Some(69_888.0)));
    let peak = held("peak f32");
    assert!(peak.verdict == warpsight_probe::Verdict::Uncheckable && peak.why.contains("peak.fp32_one_core"), "{peak:?}");
    let chase = found.curves.iter().find(|curve| curve.title.contains("read of an image")).expect("a curve");
    assert!(chase.confidence[0] > 0.9, "{:?}", chase.confidence);
    assert!(matches!(
        &found.facts["cores"],
        Finding::Number(Fact::Known { value: 2.0, source: warpsight_ir::profile::Source::Vendor, .. })
    ));
}

/// A cache of images to write a recording of.
struct Planted {
    shape: Shape,
    /// The next cache.
    behind: Option<Shape>,
    hit: f64,
    miss: f64,
    far: f64,
    noise: f64,
    /// Whether walks with other strides are there.
    rings: bool,
    /// Whether walks beyond the capacity go from line to line, as the profiler's do once it found a line.
    by_lines: bool,
}

impl Planted {
    /// The profiler's file: all footprints with the smallest stride, and rings of strides where a jump would be found.
    fn csv(&self, random: &mut fastrand::Rng) -> String {
        let mut text = String::from("range (byte),stride (byte),niter,t (us)\n");
        let mut line = |range: u64, stride: u64, iterations: u64| {
            let steps = (0..range / gcd(range, stride)).map(|step| step * stride % range);
            let addresses: Vec<u64> = steps.collect();
            let share = misses(&self.shape, &addresses);
            let far = self.behind.as_ref().map_or(0.0, |behind| misses(behind, &addresses));
            // The sum of twelve uniform numbers is nearly normal.
            let normal = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
            let latency = (self.hit + share * (self.miss - self.hit) + far * self.far) * (1.0 + self.noise * normal);
            let time = 3.0 + 1e6 * latency * iterations as f64;
            text.push_str(&format!("{range},{stride},{iterations},{time:.6}\n"));
        };
        line(16, 16, 100);
        let capacity = self.shape.capacity_bytes();
        // Beyond some KiB, every eighth footprint: enough, and faster to simulate.
        for range in
            (1..=16384u64).map(|texels| 16 * texels).filter(|range| *range <= 4096 || range % 128 == 0 || range.abs_diff(capacity) < 2048)
        {
            let stride = if self.by_lines && range > capacity + 16 { self.shape.line_bytes } else { 16 };
            line(range, stride, 32768);
            if self.rings && range == capacity + 16 {
                (1..range / 16).take(256).for_each(|stride| line(range, 16 * stride, 32768));
            }
        }
        text
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[test]
fn another_cache_is_found_whatever_it_is() {
    let mut random = fastrand::Rng::with_seed(19);
    for round in 0..10 {
        let line = 32u64 << random.u32(0..3);
        let (sets, ways) = (1u64 << random.u32(0..4), random.u64(3..24));
        let capacity = line * sets * ways;
        let shapes: Vec<Shape> = candidates(capacity, line).filter(|shape| u64::from(shape.sets) == sets).collect();
        let shape = if round % 3 == 2 { shapes[random.usize(0..shapes.len())].clone() } else { shapes[0].clone() };
        let behind = Shape { line_bytes: 64, sets: 128, ways: 16, hash: None };
        let hit = 60e-9 + 200e-9 * random.f64();
        let planted = Planted {
            shape,
            behind: (round % 2 == 0).then_some(behind),
            hit,
            miss: hit * (1.35 + random.f64()),
            far: 150e-9,
            noise: [0.0, 0.003, 0.01, 0.03][round % 4],
            rings: round % 5 != 4,
            by_lines: round % 5 == 3,
        };
        let folder = copy(&[("ImageCacheHierarchyPChase.csv", Some(planted.csv(&mut random)))]);
        let found = of(folder.path());
        let case = format!("round {round}: {:?}, hit {hit:e}, miss {:e}, noise {}", planted.shape, planted.miss, planted.noise);
        let (lo, value, hi) = ends(&found, "texture.l1.capacity_bytes");
        assert!((value - capacity as f64).abs() <= 64.0, "{case}: {lo} {value} {hi}");
        assert!(lo <= capacity as f64 && capacity as f64 <= hi, "{case}: {lo} {value} {hi}");
        let latency = found.get("texture.l1.latency_s").expect("known");
        assert!((latency - hit).abs() <= 3e-9, "{case}: {latency:e}");
        let truth = (planted.shape.sets, planted.shape.ways, planted.shape.hash.clone());
        assert!(geometries(&found, "texture.l1.geometries").contains(&truth), "{case}: not among what is consistent");
        if planted.behind.is_some() {
            let (_, second, _) = ends(&found, "texture.l2.capacity_bytes");
            assert!((second / 131_072.0 - 1.0).abs() < 0.02, "{case}: {second}");
        }
        let levels = found.facts.iter().filter(|(key, _)| key.starts_with("texture.l") && key.ends_with("capacity_bytes")).count();
        assert_eq!(levels, 1 + usize::from(planted.behind.is_some()), "{case}");
        // The other files are those of a cache of 1024 bytes: they are unmoved, and what they contradict is said.
        assert_eq!(ends(&found, "buffer.l2.capacity_bytes").1, 131_072.0, "{case}");
        let contradicts = found.contradictions.iter().any(|text| text.contains("ImageBandwidth"));
        match capacity {
            1088..2000 => assert!(!contradicts, "{case}: {:?}", found.contradictions),
            // With much noise the interval may reach to where bandwidth falls.
            ..960 | 2112.. if planted.noise < 0.03 => assert!(contradicts, "{case}: {:?}", found.contradictions),
            _ => (),
        }
    }
}

#[test]
fn what_is_missing_or_damaged_is_said_and_the_rest_goes_on() {
    let chase = std::fs::read_to_string(recorded().join("BufferCacheHierarchyPChase.csv")).expect("text");
    let damaged: String =
        chase.lines().enumerate().map(|(at, line)| if at % 500 == 7 { "16,16,NaN,abc\n".into() } else { format!("{line}\n") }).collect();
    let folder = copy(&[
        ("RegCount.csv", None),
        ("WarpSizeMethodA.csv", Some("nthread\n1\n".to_owned())),
        ("Gflops.csv", Some(String::new())),
        ("BufferCacheHierarchyPChase.csv", Some(damaged)),
        ("LocalMemBandwidth.csv", Some("range (byte),bandwidth (gbps)\n16,inf\n".to_owned())),
    ]);
    let recording = read(folder.path()).expect("a recording");
    let said = |file: &str, what: &str| recording.notes.iter().any(|note| note.starts_with(file) && note.contains(what));
    assert!(said("RegCount.csv", "missing") && said("WarpSizeMethodA.csv", "no column `nascend`"), "{:?}", recording.notes);
    assert!(said("Gflops.csv", "no column") && said("BufferCacheHierarchyPChase.csv", "left out"), "{:?}", recording.notes);
    assert!(said("LocalMemBandwidth.csv", "nothing usable") && said("ImageBandwidth.csv", "8 rows discarded"), "{:?}", recording.notes);
    let found = analyse(&recording);
    for key in ["registers.per_thread_max", "warp.by_order", "peak.fp32", "local.bandwidth"] {
        assert!(matches!(&found.facts[key], Finding::Number(Fact::Unknown { .. })), "{key}: {:?}", found.facts[key]);
    }
    assert_eq!(ends(&found, "buffer.l2.capacity_bytes").1, 131_072.0);
    assert_eq!(ends(&found, "texture.l1.capacity_bytes").1, 1024.0);
    assert!(matches!(&found.facts["warp.sizes"], Finding::Numbers(fact) if fact.get() == Some(&vec![64.0])));

    // Without the device's limits, reads past the end of an image look fast: that is seen, and no level is made of them.
    let folder = copy(&[("ArchProbeReport.json", None)]);
    let recording = read(folder.path()).expect("a recording");
    assert!(recording.notes.iter().any(|note| note.starts_with("ArchProbeReport.json")), "{:?}", recording.notes);
    let found = analyse(&recording);
    assert!(found.contradictions.iter().any(|text| text.contains("more bytes are read faster than fewer")), "{:?}", found.contradictions);
    assert!(!found.facts.contains_key("texture.l3.bandwidth"));
    near(&found, "texture.l2.bandwidth", 99.5e9, 0.01);
    assert!(matches!(&found.facts["peak.fp32"], Finding::Number(Fact::Unknown { .. })));

    let nothing = tempfile::tempdir().expect("a folder");
    assert!(!is_one(nothing.path()) && is_one(&recorded()));
    let error = read(nothing.path()).expect_err("no recording").to_string();
    assert!(error.ends_with("no recording of ArchProbe: none of its CSV files is there"), "{error}");
}

#[test]
fn one_file_alone_is_a_recording() {
    let files: Vec<(&str, Option<String>)> = std::fs::read_dir(recorded())
        .expect("the recording")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .filter(|name| name != "WarpSizeMethodB.csv")
        .map(|name| (&*name.leak(), None))
        .collect();
    let folder = copy(&files);
    let found = of(folder.path());
    let known: BTreeMap<_, _> = found
        .facts
        .iter()
        .filter(|(_, fact)| matches!(fact, Finding::Number(Fact::Known { .. }) | Finding::Numbers(Fact::Known { .. })))
        .collect();
    assert_eq!(known.keys().map(|key| key.as_str()).collect::<Vec<_>>(), ["warp.by_latency", "warp.sizes"]);
}
