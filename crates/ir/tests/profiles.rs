//! The built-in profiles: they parse, every number says where it comes from, and public facts are what the documents' data say.

use serde_json::Value;
use warpsight_ir::Unknown;
use warpsight_ir::layout::ImageLayout;
use warpsight_ir::occupancy::Residency;
use warpsight_ir::profile::{self, Fact, Profile, ProfileError, Source};
use warpsight_ir::{Bytes, Hertz, NoEstimate};

fn load(name: &str) -> Profile {
    profile::builtin(name).expect(name).expect(name)
}

#[test]
fn built_in_profiles_parse_under_their_own_names() {
    let names = [
        "a100-40",
        "a100-80",
        "a40",
        "a4000",
        "a6000",
        "a770",
        "adreno630",
        "adreno640",
        "adreno740",
        "h100",
        "h100-nvl",
        "h100-sxm",
        "h200",
        "l4",
        "l40",
        "l40s",
        "mali-g76",
        "mali-g77",
        "mi100",
        "mi210",
        "mi250x",
        "mi300x",
        "mi50",
        "rtx2080ti",
        "rtx3090",
        "rtx4090",
        "rx6900xt",
        "rx7900xtx",
        "v100",
        "w6600",
    ];
    assert_eq!(profile::builtin_names(), names);
    for name in profile::builtin_names() {
        let profile = load(name);
        assert_eq!(profile.name, name);
        assert!(profile.memory.buffer_l1.ways.get().is_none(), "nobody knows the associativity of a buffer cache");
    }
    assert!(profile::builtin("adreno").is_none());
}

#[test]
fn the_adreno_640_has_what_a_roofline_needs() {
    let p = load("adreno640");
    assert_eq!(p.execution.cores.get(), Some(&2));
    assert_eq!(p.execution.clock.get(), Some(&Hertz(585e6)));
    assert_eq!(p.memory.texture_l1.instances.get(), Some(&6));
    assert!(matches!(&p.memory.buffer_l1.bytes, Fact::Absent { absent } if absent.contains("L2")));
    assert_eq!(p.image.layout.get(), Some(&ImageLayout::AdrenoTiled { channels: 4, highest_bank_bit: 15 }));
    // Peak: lanes · 2 · cores · clock, of which the recording reaches 889.9 GFLOP/s.
    let peak = p.execution.fma_per_clock.get().unwrap() * 2.0 * 2.0 * 585e6;
    assert!((peak - 898.56e9).abs() < 1e3);
    // Two sets of 16 lines of 32 bytes.
    let l1 = &p.memory.texture_l1;
    assert_eq!(l1.bytes.get().unwrap().0 / l1.line.get().unwrap().0 / f64::from(*l1.ways.get().unwrap()), 2.0);
    assert_eq!(l1.set_hash.get(), Some(&vec![vec![5, 6]]));
    let known: [bool; 9] = [
        p.execution.special_per_clock.get().is_some(),
        p.execution.issue_per_clock.get().is_some(),
        p.execution.launch_overhead.get().is_some(),
        p.memory.local_bandwidth.get().is_some(),
        p.memory.dram_bandwidth.get().is_some(),
        p.memory.dram_latency.get().is_some(),
        p.memory.l2.bandwidth.get().is_some(),
        p.memory.l2.latency.get().is_some(),
        l1.bandwidth.get().is_some() && l1.latency.get().is_some(),
    ];
    assert_eq!(known, [true; 9]);
}

#[test]
fn residency_of_profiles() {
    let waves = |name, registers| Residency::of(&load(name)).warps_by_registers(registers);
    assert_eq!([192, 96, 48].map(|r| waves("adreno640", r)), [6, 12, 24].map(Some));
    assert_eq!([192, 96].map(|r| waves("adreno630", r)), [4, 8].map(Some));
    assert_eq!([32, 33].map(|r| waves("mali-g76", r)), [96, 48].map(Some));
    assert_eq!([32, 64].map(|r| waves("mali-g77", r)), [64, 32].map(Some));
}

#[test]
fn conflicting_sources_are_both_kept() {
    let values = |fact: &Fact<Bytes>| match fact {
        Fact::Known { value, source, alternatives, .. } => {
            let others = alternatives.iter().map(|a| (a.value.0, a.source));
            [(value.0, *source)].into_iter().chain(others).collect::<Vec<_>>()
        }
        _ => vec![],
    };
    assert_eq!(values(&load("mali-g76").memory.texture_l1.bytes), [(8192.0, Source::Paper), (32768.0, Source::Vendor)]);
    assert_eq!(values(&load("mali-g77").memory.texture_l1.bytes), [(32768.0, Source::Vendor), (8192.0, Source::Paper)]);
    assert!(matches!(&load("mali-g77").execution.warp, Fact::Known { value: 16, alternatives, .. } if alternatives[0].value == 32));
}

/// Every number of the public facts that a profile has a field for is the profile's value or one of its alternatives.
#[test]
fn public_facts_are_in_the_profiles() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/devices/public-facts.json");
    let Ok(text) = std::fs::read_to_string(path) else {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{path} is missing");
        eprintln!("skipped: {path} is missing");
        return;
    };
    let facts: Value = serde_json::from_str(&text).unwrap();
    let mut compared = 0;
    for (name, device) in [
        ("adreno630", "Adreno 630"),
        ("adreno640", "Adreno 640"),
        ("adreno740", "Adreno 740"),
        ("mali-g76", "Mali-G76"),
        ("mali-g76", "Mali-G76 MP5 (Romou measured)"),
        ("mali-g77", "Mali-G77"),
    ] {
        let p = load(name);
        let (e, m) = (&p.execution, &p.memory);
        let mut compare = |key: &str, claims: Vec<f64>| {
            let fact = &facts["devices"][device][key]["value"];
            let Some(expected) = fact.as_f64().or_else(|| fact[0].as_f64()) else { return };
            let found = claims.iter().any(|c| (c - expected).abs() <= 1e-9 * expected);
            assert!(found, "{name}: {key} is {expected}, the profile says {claims:?}");
            compared += 1;
        };
        compare("cores", claims(&e.cores, |&v| f64::from(v)));
        compare("clock_mhz", claims(&e.clock, |v| v.0 / 1e6));
        compare("alus_per_core", claims(&e.fma_per_clock, |&v| v));
        // A list of sizes; the first is the smallest.
        compare("wave_sizes", claims(&e.warp, |&v| f64::from(v)));
        compare("max_waves_per_core", claims(&e.max_warps, |&v| f64::from(v)));
        compare("regfile_bytes_per_core", claims(&e.registers, |&v| 4.0 * f64::from(v)));
        compare("max_regs32_per_thread", claims(&e.max_registers, |&v| f64::from(v)));
        compare("max_workgroup", claims(&e.max_group_size, |&v| f64::from(v)));
        compare("local_mem_bytes", claims(&e.local, |v| v.0));
        compare("tex_l1_bytes", claims(&m.texture_l1.bytes, |v| v.0));
        compare("tex_l1_line", claims(&m.texture_l1.line, |v| v.0));
        compare("bw_tex_l1_gbs", claims(&m.texture_l1.bandwidth, |v| v.0 / 1e9));
        compare("buf_l1_bytes", claims(&m.buffer_l1.bytes, |v| v.0));
        compare("l2_bytes", claims(&m.l2.bytes, |v| v.0));
        compare("l2_line", claims(&m.l2.line, |v| v.0));
        compare("bw_l2_gbs", claims(&m.l2.bandwidth, |v| v.0 / 1e9));
        compare("bw_local_gbs", claims(&m.local_bandwidth, |v| v.0 / 1e9));
        compare("dram_gbs", claims(&m.dram_bandwidth, |v| v.0 / 1e9));
        compare("img2d_max", claims(&p.image.max_width, |&v| f64::from(v)));
        compare("img2d_max", claims(&p.image.max_height, |&v| f64::from(v)));
        let layout = p.image.layout.get().copied();
        if let Some(ImageLayout::AdrenoTiled { channels, highest_bank_bit }) = layout {
            compare("tile_highest_bank_bit", vec![highest_bank_bit.into()]);
            compare("tile_macrotile_channels", vec![channels.into()]);
        }
    }
    assert!(compared > 70, "{compared} numbers compared");
}

/// The value of a fact and its alternatives.
fn claims<T>(fact: &Fact<T>, number: impl Fn(&T) -> f64) -> Vec<f64> {
    match fact {
        Fact::Known { value, alternatives, .. } => [value].into_iter().chain(alternatives.iter().map(|a| &a.value)).map(number).collect(),
        _ => vec![],
    }
}

/// The text of the Adreno 640 with one piece replaced.
fn changed(from: &str, to: &str) -> Result<Profile, ProfileError> {
    let text = include_str!("../../../profiles/adreno640.toml");
    assert!(text.contains(from));
    Profile::parse(&text.replacen(from, to, 1))
}

#[test]
fn errors_name_place_and_reason() {
    let message = |from, to| changed(from, to).unwrap_err().to_string();
    let cores = "cores = { value = 2, source = \"vendor\", cite =";
    let no_cite = message(cores, "cores = { value = 2, source = \"vendor\" } # ");
    assert!(no_cite.contains("line 7") && no_cite.contains("a `value` needs `source` and `cite`"), "{no_cite}");
    let empty = message(cores, "cores = { value = 2, source = \"vendor\", cite = \" \" } # ");
    assert!(empty.contains("`cite` is empty"), "{empty}");
    let typo = message(cores, "cores = { value = 2, source = \"vendor\", site =");
    assert!(typo.contains("unknown field `site`"), "{typo}");
    let source = message(cores, "cores = { value = 2, source = \"hearsay\", cite =");
    assert!(source.contains("hearsay") && source.contains("measured"), "{source}");
    let both = message(cores, "cores = { value = 2, unknown = \"no source\" } #");
    assert!(both.contains("a fact is one of"), "{both}");
    let missing = message("max_groups = ", "max_droups = ");
    assert!(missing.contains("unknown field `max_droups`"), "{missing}");
    assert_eq!(
        message(cores, "cores = { value = 0, source = \"vendor\", cite ="),
        "line 7, column 19: `execution.cores`: this is 0, which is not positive"
    );
    assert_eq!(
        message("bandwidth = { value = 96.3e9", "bandwidth = { value = 9.63e9"),
        "line 77, column 23: `memory.l2.bandwidth`: this is 9630000000, which is outside its interval"
    );
    let empty = Profile::parse("").unwrap_err().to_string();
    assert!(empty.ends_with("not a profile: missing field `name`"), "{empty}");
}

#[test]
fn an_unknown_number_is_named_where_it_is_needed() {
    let g77 = load("mali-g77");
    let error = g77.memory.dram_latency.need(&g77, "memory.dram_latency").unwrap_err();
    assert_eq!(error.to_string(), "profile `mali-g77` lacks `memory.dram_latency`: no source");
}

/// What is missing says where it would stand and why nobody knows it, whether it is unknown or not there at all.
#[test]
fn what_is_missing_names_its_field() {
    let mali = load("mali-g77");
    let latency = mali.memory.dram_latency.known_as("memory.dram_latency").unwrap_err();
    assert_eq!((&*latency.field, latency.to_string().starts_with("memory.dram_latency: ")), ("memory.dram_latency", true));
    let absent = Fact::<u32>::absent("no such units");
    assert_eq!(absent.known_as("memory.texture_l1.ways"), Err(Unknown::new("memory.texture_l1.ways", "no such units")));
    assert_eq!(Fact::known(7, Source::Vendor, "a table").known_as("execution.cores"), Ok(&7));
    let NoEstimate::Missing { unknown, .. } = mali.memory.dram_latency.need(&mali, "memory.dram_latency").unwrap_err() else { panic!() };
    assert_eq!(unknown, latency);
}

/// What was not found is said in words: no number so large is one of a device.
#[test]
fn no_number_stands_for_one_that_was_not_found() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles");
    let mut several = 0;
    for file in std::fs::read_dir(folder).expect("profiles").map(|file| file.expect("a file").path()) {
        let text = std::fs::read_to_string(&file).expect("a profile");
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || ".+-_".contains(c)));
        let numbers = words.filter(|word| word.contains(|c: char| c.is_ascii_digit()));
        let large = numbers.filter_map(|word| word.parse::<f64>().ok()).find(|number| number.abs() >= 1e30);
        assert_eq!(large, None, "{}", file.display());
        several += 1;
    }
    assert!(several > 30, "{several}");
}
