//! Ways to read, arithmetic and splits on simulated GPUs, their truth planted.

#[path = "common/probing.rs"]
mod probing;

use probing::{near, opened, probed, recorded, silicon, silicon_with, word};
use std::time::Duration;
use warpsight_ir::Seconds;
use warpsight_ir::profile::Fact;
use warpsight_probe::aspects::{Seen, all};
use warpsight_probe::{Finding, Findings, Scale};
use warpsight_run::{Device, DeviceError, DeviceInfo, DeviceLimits, Job, JobResult, MemoryKind, MemorySpec, Session};

const MINE: [&str; 4] = ["warp", "arithmetic", "paths", "split"];

/// Paper 001, section 5.2: 256 ALUs a core, 145 and 79 GB/s.
#[test]
fn adreno_630_comes_back_with_the_numbers_of_the_paper() {
    let mut device = opened("sim:adreno630");
    let found = probed(&mut *device, &["warp", "arithmetic", "registers", "bandwidth"], &[("buffer.l2.capacity_bytes", 131_072.0)]);
    near(&found, "cores", 2.0, 0.0);
    near(&found, "alu.per_core", 256.0, 0.05);
    near(&found, "peak.fp32", 727e9, 0.05);
    near(&found, "warp.at_once", 2.0, 0.05);
    near(&found, "texture.l1.bandwidth", 145e9, 0.05);
    near(&found, "buffer.l2.bandwidth", 79e9, 0.05);
    near(&found, "dram.bandwidth", 26.4e9, 0.05);
    near(&found, "registers.per_core", 49152.0, 0.05);
    assert_eq!(word(&found, "registers.pooled"), "pooled");
}

#[test]
fn every_device_has_its_alus_and_ways() {
    // Cores, ALUs of each, warps that issue at once, the warp.
    // The last: how much slower images of one row are than others.
    for (name, cores, alus, at_once, warp, rows) in [
        ("adreno640", 2.0, 384.0, 3.0, 64.0, 1.0),
        ("adreno740", 6.0, 256.0, 2.0, 64.0, 2.0),
        ("mali-g76", 5.0, 24.0, 3.0, 8.0, 1.0),
        ("mali-g77", 9.0, 32.0, 2.0, 16.0, 1.0),
    ] {
        println!("{name}");
        let mut device = opened(&format!("sim:{name}"));
        let found = probed(&mut *device, &MINE, &[]);
        near(&found, "cores", cores, 0.0);
        near(&found, "alu.per_core", alus, 0.05);
        near(&found, "warp.at_once", at_once, 0.05);
        near(&found, "warp.by_latency", warp, 0.0);
        near(&found, "alu.vector_components", 1.0, 0.0);
        let peak = found.get("peak.fp32").expect("a peak");
        [1, 2, 4, 8, 16].iter().for_each(|width| near(&found, &format!("peak.fp32_x{width}"), peak, 0.1));
        assert_eq!(word(&found, "read.paths"), "independent");
        assert_eq!(word(&found, "cache.texture_and_buffer"), "apart");
        // Constants are loaded as other buffers are.
        assert_eq!(word(&found, "cache.buffer_and_constant"), "shared");
        // So are those that may be written.
        assert_eq!((word(&found, "cache.buffer_and_data"), word(&found, "cache.texture_and_data")), ("shared".into(), "apart".into()));
        for (kind, slower) in [("image1d", rows), ("image1d_buffer", rows), ("image2d", 1.0), ("image2d_from_buffer", 1.0)] {
            near(&found, &format!("texture.{kind}.bandwidth"), found.get("texture.rgba32i.bandwidth").expect("known") / slower, 0.03);
            assert!(found.get(&format!("texture.{kind}.latency_s")).is_some_and(|latency| latency > 0.0), "{kind}");
        }
        // Texels of half the bytes come half as fast in bytes, or as fast where wide ones cost double.
        let half = found.get("texture.rgba16f.bandwidth").expect("known") / found.get("texture.image2d.bandwidth").expect("known");
        assert!((half - 0.5).abs() < 0.03 || (half - 1.0).abs() < 0.1, "{half}");
        assert!(found.get("local.split").is_some_and(|alpha| (0.2..8.0).contains(&alpha)), "{:?}", found.facts.get("local.split"));
    }
}

/// Two quotients of 20 instructions each, of warps that a scheduler issues in so many cycles.
#[test]
fn places_of_texels_cost_a_quotient_and_a_remainder() {
    for rate in [10.0, 40.0] {
        let (mut device, _file) = silicon("adreno640", &[("core.int_divide_rate", rate)]);
        let found = probed(&mut *device, &["paths"], &[]);
        near(&found, "image.address_s", 2.0 * rate * 0.5 / 585e6, 0.1);
    }
}

const CONSTANTS: &str = "\
[constant]
step = 1.0
latency = 25.0
miss_latency = 40.0
[constant.cache]
bytes = 2048
line = 64
sets = 4
ways = 8
";

#[test]
fn a_cache_of_constants_is_found_and_lies_apart() {
    for base in ["adreno640", "mali-g76"] {
        let (device, _file) = silicon_with(base, &[], CONSTANTS);
        // Other walks would take a minute, and are refused.
        let mut device = Limited { walks: Some("walk_constant"), ..Limited::of(device, true, |_| 1.0) };
        let found = probed(&mut device, &["arithmetic", "hierarchy"], &[]);
        near(&found, "constant.l1.capacity_bytes", 2048.0, 0.0);
        near(&found, "constant.l1.line_bytes", 64.0, 0.0);
        near(&found, "constant.l1.sets", 4.0, 0.0);
        near(&found, "constant.l1.ways", 8.0, 0.0);
        near(&found, "constant.l1.latency_s", 26.5 / found.get("clock.hz").expect("the driver's word"), 0.05);
        let (mut device, _file) = silicon_with(base, &[], CONSTANTS);
        let found = probed(&mut *device, &["paths"], &[]);
        assert_eq!(word(&found, "cache.buffer_and_constant"), "apart");
        assert_eq!(word(&found, "cache.texture_and_constant"), "apart");
    }
}

#[test]
fn one_cache_for_images_and_buffers_is_told_by_both_measures() {
    let (mut device, _file) = silicon_with("mali-g76", &[], "[texture]\nunified = true\n");
    let found = probed(&mut *device, &["paths"], &[]);
    assert_eq!(word(&found, "cache.texture_and_buffer"), "shared");
    assert_eq!(word(&found, "read.paths"), "shared");
}

#[test]
fn splits_gain_up_to_as_many_work_items_as_there_are_lanes_to_fill() {
    let alpha = |changes: &[(&str, f64)]| {
        let (mut device, _file) = silicon("adreno640", changes);
        let found = probed(&mut *device, &["warp", "arithmetic", "split"], &[]);
        (found.get("local.split_items").expect("known"), found.get("local.split").expect("known"))
    };
    let (items, own) = alpha(&[]);
    let (twice, same) = alpha(&[("core.count", 4.0)]);
    assert!((1.7..2.4).contains(&(twice / items)) && (0.8..1.25).contains(&(same / own)), "{items} {own} {twice} {same}");
    // What has to wait longer for its barriers gains less.
    let (fewer, _) = alpha(&[("core.barrier_latency", 400.0)]);
    assert!(fewer < items, "{fewer} {items}");
}

/// A device of which something is not there, or that gets slow.
struct Limited {
    device: Box<dyn Device>,
    info: DeviceInfo,
    images: bool,
    /// The only Programs of walks that it takes.
    walks: Option<&'static str>,
    /// Launches so far, and how much longer each takes.
    launches: usize,
    slower: fn(usize) -> f64,
}

impl Limited {
    fn new(id: &str, images: bool, slower: fn(usize) -> f64) -> Self {
        Self::of(opened(id), images, slower)
    }

    fn of(device: Box<dyn Device>, images: bool, slower: fn(usize) -> f64) -> Self {
        let mut info = device.info().clone();
        if !images {
            info.limits = DeviceLimits { image_2d: Some((0, 0)), image_1d: Some(0), image_buffer: Some(0), ..info.limits };
        }
        Self { device, info, images, walks: None, launches: 0, slower }
    }
}

impl Device for Limited {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn limit(&mut self, patience: Duration) {
        self.device.limit(patience);
    }
    fn open<'a>(&'a mut self, memory: &[MemorySpec]) -> Result<Box<dyn Session + 'a>, DeviceError> {
        self.device.open(memory)
    }
    fn run(&mut self, job: &Job) -> Result<JobResult, DeviceError> {
        if !self.images && job.memory.iter().any(|memory| matches!(memory.kind, MemoryKind::Image { .. })) {
            return Err(DeviceError::Unsupported { program: 0, kernel: "any".into(), what: "images".into() });
        }
        let name = job.programs[0].name();
        if self.walks.is_some_and(|only| name.starts_with("walk_") && name != only) {
            return Err(DeviceError::Unsupported { program: 0, kernel: name.into(), what: "other walks".into() });
        }
        let mut result = self.device.run(job)?;
        let slower = (self.slower)(self.launches);
        self.launches += 1;
        for times in &mut result.timed.times {
            *times = times.iter().map(|time| Seconds(time.0 * slower)).collect();
        }
        Ok(result)
    }
}

#[test]
fn what_a_device_cannot_do_has_its_reason_and_the_rest_is_measured() {
    let mut device = Limited::new("sim:mali-g76", false, |_| 1.0);
    let found = probed(&mut device, &["warp", "arithmetic", "bandwidth", "paths", "split"], &[]);
    near(&found, "cores", 5.0, 0.0);
    near(&found, "dram.bandwidth", 11.2e9, 0.05);
    assert_eq!(word(&found, "cache.buffer_and_constant"), "shared");
    let why = |key: &str| match found.facts.get(key) {
        Some(Finding::Number(Fact::Absent { absent: why } | Fact::Unknown { unknown: why })) => why.clone(),
        Some(Finding::Word(Fact::Absent { absent: why } | Fact::Unknown { unknown: why })) => why.clone(),
        other => panic!("{key}: {other:?}"),
    };
    assert_eq!(why("texture.image2d.bandwidth"), "the driver lists no images");
    assert_eq!(why("cache.texture_and_buffer"), "the driver lists no such way to read");
    for key in ["texture.l1.bandwidth", "read.paths", "image.address_s"] {
        assert!(why(key).contains("images"), "{key}: {}", why(key));
    }
}

/// What these aspects say of records, those that cannot be relied on left out.
fn analysed(device: &mut dyn Device) -> (Findings, usize) {
    let mut records = vec![];
    for aspect in all().into_iter().filter(|aspect| ["warp", "arithmetic", "control"].contains(&aspect.phase.name)) {
        records.extend(recorded(&aspect, device, Scale::Full));
    }
    (warpsight_probe::aspects::analyse(device.info(), &records), records.len())
}

/// A device that is hot for a while is measured again when it is not; the same launches, taken as they are, say something else.
#[test]
fn what_was_measured_of_a_hot_device_is_measured_again() {
    let hot = |n: usize| if (100..170).contains(&n) { 1.6 } else { 1.0 };
    let (cool, few) = analysed(&mut Limited::new("sim:adreno640", true, |_| 1.0));
    let mut device = Limited::new("sim:adreno640", true, hot);
    let (found, more) = analysed(&mut device);
    assert!(more > few + 20, "{more} after {few}");
    assert!((cool.get("timer.slowdown").expect("known") - 1.0).abs() < 1e-6);
    assert!((found.get("timer.slowdown").expect("known") - 1.6).abs() < 0.02);
    assert!(cool.contradictions.is_empty() && found.contradictions.iter().any(|what| what.contains("1.60 times")), "{found:?}");
    for key in ["peak.fp32", "fma.latency_s", "cores", "int.divide_s", "barrier.cost_s", "warp.by_latency", "peak.fp32_x4"] {
        near(&found, key, cool.get(key).expect("known"), 1e-6);
    }
    // Without references between them.
    let mut device = Limited::new("sim:adreno640", true, |n| if (5..75).contains(&n) { 1.6 } else { 1.0 });
    let arithmetic = all().into_iter().find(|aspect| aspect.phase.name == "arithmetic").expect("an aspect");
    let mut records = recorded(&arithmetic, &mut device, Scale::Full);
    records.retain(|record| !record.name.starts_with("reference") && !record.name.ends_with("again"));
    let seen = |name: &str| all().into_iter().find(|aspect| aspect.phase.name == name).expect("an aspect").analyse;
    let naive = seen("arithmetic")(&Seen { device: device.info(), records: &records, found: &Findings::default() });
    let off = |key: &str| naive.get(key).zip(cool.get(key)).map_or(0.0, |(hot, cool)| (hot / cool - 1.0).abs());
    // Whichever was measured then.
    assert!(naive.facts.keys().any(|key| off(key) > 0.05), "{:?}", naive.facts);
}

/// One that stays hot is measured a few times and no more, and that is said.
#[test]
fn a_device_that_stays_hot_is_told() {
    let (_, few) = analysed(&mut Limited::new("sim:mali-g76", true, |_| 1.0));
    let (found, more) = analysed(&mut Limited::new("sim:mali-g76", true, |n| if n < 25 { 1.0 } else { 2.0 }));
    assert!(more < 4 * few, "{more} after {few}");
    assert!(found.get("timer.slowdown").is_some_and(|slower| slower > 1.9), "{:?}", found.facts.get("timer.slowdown"));
    assert!(found.contradictions.iter().any(|what| what.contains("do not count")), "{:?}", found.contradictions);
}
