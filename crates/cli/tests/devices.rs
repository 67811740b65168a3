//! `warpsight devices` prints profiles that other verbs take back, from built-in ones and files.

mod common;

use common::Sandbox;
use serde_json::Value;
use warpsight_ir::Profile;
use warpsight_ir::profile::{Fact, Source, builtin};

const KERNEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/accesses/star3d-r4-f64.toml");

fn text(output: &std::process::Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// What is said on stderr, as JSON.
fn refused(s: &Sandbox, args: &[&str], code: i32) -> (String, String) {
    let output = s.run(&[args, &["--json"]].concat(), code);
    let error: Value = serde_json::from_slice(&output.stderr).expect("JSON");
    let of = |key: &str| error["error"][key].as_str().unwrap_or_default().to_owned();
    (of("message"), of("where"))
}

#[test]
fn what_is_printed_is_taken_by_every_option_and_predicts_the_same() {
    let s = Sandbox::new();
    let printed = text(&s.run(&["devices", "--profile", "A40"], 0));
    assert_eq!(Profile::parse(&printed).unwrap(), builtin("a40").unwrap().unwrap());
    let file = s.text("mine.toml");
    std::fs::write(&file, &printed).unwrap();
    assert_eq!(text(&s.run(&["devices", "--from", &file], 0)), printed);
    assert_eq!(text(&s.run(&["devices", "--profile", &file], 0)), printed);
    let predicted = |device: &str| text(&s.run(&["predict", KERNEL, "--device", device, "--json"], 0));
    assert_eq!(predicted(&file), predicted("a40"));
    let json: Value = serde_json::from_slice(&s.run(&["devices", "--profile", "a40", "--json"], 0).stdout).unwrap();
    assert_eq!((json["name"].as_str(), json["execution"]["cores"]["value"].as_u64()), (Some("a40"), Some(84)));
    assert!(json["memory"]["l2"]["bytes"]["cite"].as_str().unwrap().contains("whitepaper"));
    // The processor this runs on, too.
    let host = text(&s.run(&["devices", "--profile", "host"], 0));
    assert_eq!(Profile::parse(&host).unwrap().text(), host);
}

#[test]
fn a_file_inherits_from_one_in_another_folder_and_goes_wherever_a_name_goes() {
    let s = Sandbox::new();
    std::fs::create_dir(s.path("base")).unwrap();
    std::fs::write(
        s.path("base/mid.toml"),
        "inherits = \"a40\"\n[execution]\nclock = { value = \"1.5GHz\", source = \"given\", cite = \"x\" }\n",
    )
    .unwrap();
    let file = s.text("slow.toml");
    std::fs::write(
        &file,
        "inherits = \"base/mid.toml\"\n[memory]\ndram_bandwidth = { value = \"300GB/s\", source = \"given\", cite = \"y\" }\n",
    )
    .unwrap();
    let found = Profile::parse(&text(&s.run(&["devices", "--from", &file], 0))).unwrap();
    assert_eq!(found.name, "slow");
    assert!(matches!(&found.execution.clock, Fact::Known { source: Source::Given, cite, .. } if cite == "mid: x"));
    let seconds = |device: &str| {
        let output = s.run(&["predict", KERNEL, "--device", device, "--json"], 0);
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["seconds"].as_f64().unwrap()
    };
    assert!(seconds(&file) > 1.5 * seconds("a40"), "half the bandwidth");
    let capped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/profiles/a40-capped.toml");
    assert!(seconds(capped) > seconds("a40"));
    s.run(&["optimize", "--op", "matmul m=8 n=8 k=8", "--profile", &file, "--top", "1"], 0);
}

#[test]
fn what_is_wrong_with_files_is_named_with_its_place() {
    let s = Sandbox::new();
    let write = |name: &str, text: &[u8]| {
        std::fs::write(s.path(name), text).unwrap();
        s.text(name)
    };
    let (a, _) = (write("a.toml", b"inherits = \"b.toml\""), write("b.toml", b"\ninherits = \"./a.toml\""));
    for args in [["devices", "--from", &a], ["devices", "--profile", &a]] {
        let (message, place) = refused(&s, &args, 2);
        assert!(message.contains("`inherits`: profiles inherit in a circle: "), "{message}");
        assert!(place.ends_with("b.toml:2:12"), "{place}");
    }
    let (message, place) = refused(&s, &["predict", KERNEL, "--device", &a], 2);
    assert!(message.contains("circle") && place.ends_with("b.toml:2:12"), "{message} {place}");
    let unit = write("u.toml", b"inherits = \"a40\"\n[execution]\nclock = { value = \"40MB\", source = \"given\", cite = \"x\" }");
    let (message, place) = refused(&s, &["devices", "--from", &unit], 2);
    assert!(message.contains("`execution.clock`: ") && message.contains("hertz") && place.ends_with("u.toml:3:19"), "{message} {place}");
    let size = write("s.toml", b"inherits = \"a40\"\n[memory]\ndram_bandwidth = { value = 696, source = \"given\", cite = \"x\" }");
    let (message, place) = refused(&s, &["devices", "--from", &size], 2);
    assert!(message.contains("`memory.dram_bandwidth`: this is 696, which is less than any device has"), "{message}");
    assert!(place.ends_with("s.toml:3:28"), "{place}");
    let gone = write("g.toml", b"inherits = \"gone.toml\"");
    let (message, place) = refused(&s, &["devices", "--from", &gone], 2);
    assert!(message.contains("gone.toml") && place.ends_with("g.toml:1:12"), "{message} {place}");
    let stranger = write("n.toml", b"inherits = \"a41\"");
    assert!(refused(&s, &["devices", "--from", &stranger], 2).0.contains("there is no profile `a41`; did you mean `a40`"));
    // Hostile: binary, huge, deep, no file, two at once.
    let binary = write("x.toml", &[0xff; 4096]);
    assert!(refused(&s, &["devices", "--from", &binary], 2).0.contains("not text"));
    let huge = write("h.toml", &vec![b'#'; (16 << 20) + 1]);
    assert!(refused(&s, &["devices", "--from", &huge], 2).0.contains("16"));
    let deep = write("d.toml", format!("inherits = \"a40\"\nmemory = {}", "{a=".repeat(1 << 20)).as_bytes());
    assert!(refused(&s, &["devices", "--from", &deep], 2).1.contains("d.toml:"));
    refused(&s, &["devices", "--from", &s.text("none.toml")], 5);
    refused(&s, &["devices", "--from", &a, "--profile", "a40"], 2);
    assert!(refused(&s, &["devices", "--profile", "a41"], 2).0.contains("did you mean `a40`"));
}

#[test]
fn what_mt4g_found_is_printed_and_predicts_before_a_sister() {
    let mt4g = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/devices/mt4g/");
    let Ok(v100) = std::fs::read_to_string(format!("{mt4g}Tesla_V100-PCIE-16GB.json")) else {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{mt4g} is missing");
        eprintln!("skipped: {mt4g} is missing");
        return;
    };
    let s = Sandbox::new();
    for entry in std::fs::read_dir(mt4g).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        let printed = text(&s.run(&["devices", "--mt4g", entry.to_str().unwrap()], 0));
        let file = s.text("found.toml");
        std::fs::write(&file, &printed).unwrap();
        assert_eq!(text(&s.run(&["devices", "--from", &file], 0)), printed, "{entry:?}");
    }
    let file = s.text("v100.json");
    std::fs::write(&file, &v100).unwrap();
    let both = s.text("both.toml");
    std::fs::write(&both, text(&s.run(&["devices", "--mt4g", &file, "--inherits", "v100"], 0))).unwrap();
    let output = s.run(&["predict", KERNEL, "--device", &both, "--json"], 0);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(found["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0));
    // What predictions need and nobody says is named.
    std::fs::write(s.path("alone.toml"), text(&s.run(&["devices", "--mt4g", &file], 0))).unwrap();
    let (message, _) = refused(&s, &["predict", KERNEL, "--device", &s.text("alone.toml")], 2);
    assert!(message.contains("lacks `memory.buffer_l1.line`"), "{message}");
    let write = |name: &str, text: &str| {
        std::fs::write(s.path(name), text).unwrap();
        s.text(name)
    };
    for (text, said) in [
        (v100.replace("\"warpSize\"", "\"lanes\""), "the file of MT4G lacks `compute.warpSize`"),
        (
            v100.replace("\"meta\": {", "\"meta\": { \"mt4gVersion\": \"1.2.0\","),
            "another version of MT4G: `meta.mt4gVersion` is \"1.2.0\"",
        ),
        (v100.replace("\"bytes\"", "\"KiB\""), "its unit is `KiB`"),
        ("{".repeat(1 << 20), "not a file of MT4G"),
        ("[".repeat(1 << 20), "not a file of MT4G"),
        (String::new(), "not a file of MT4G"),
    ] {
        let file = write("bad.json", &text);
        let (message, place) = refused(&s, &["devices", "--mt4g", &file], 2);
        assert!(message.contains(said) && place.ends_with("bad.json"), "{message} {place}");
    }
    std::fs::write(s.path("binary.json"), [0xfe; 4096]).unwrap();
    assert!(refused(&s, &["devices", "--mt4g", &s.text("binary.json")], 2).0.contains("not text"));
    refused(&s, &["devices", "--profile", "a40", "--inherits", "v100"], 2);
    refused(&s, &["devices", "--mt4g", &file, "--inherits", "v101"], 2);
}

/// The recorded chases of the six GPUs that have them: NVIDIA's first loads into each part of 1 GiB wait for a walk, AMD's for several kinds.
#[test]
fn raw_chases_show_what_misses_of_translations_cost() {
    let mt4g = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/devices/mt4g/");
    if !std::path::Path::new(mt4g).exists() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{mt4g} is missing");
        eprintln!("skipped: {mt4g} is missing");
        return;
    }
    let s = Sandbox::new();
    for (name, miss) in [
        ("NVIDIA_A100-PCIE-40GB", Some(495.0)),
        ("NVIDIA_GeForce_RTX_2080_Ti", Some(593.0)),
        ("Quadro_P6000", Some(530.0)),
        ("Tesla_V100-PCIE-16GB", Some(566.0)),
        ("AMD_Instinct_MI100", None),
        ("AMD_Instinct_MI300X_VF", None),
    ] {
        let (file, chase) = (format!("{mt4g}{name}.json"), format!("{mt4g}raw/{name}/Main_Memory_Latency.csv.gz"));
        let profile = Profile::parse(&text(&s.run(&["devices", "--mt4g", &file, "--chase", &chase], 0))).unwrap();
        let found = profile.memory.tlb.miss_latency.get().map(|cycles| cycles.0);
        assert!(found.is_some() == miss.is_some() && (found.unwrap_or(0.0) - miss.unwrap_or(0.0)).abs() <= 5.0, "{name}: {found:?}");
    }
    let file = format!("{mt4g}Quadro_P6000.json");
    for (bytes, said) in [(&[0x1f, 0x8b, 0xff][..], "bad.csv"), (b"a letter", "line 1"), (&[0xff; 64], "not text")] {
        std::fs::write(s.path("bad.csv"), bytes).unwrap();
        let output = s.command(&["devices", "--mt4g", &file, "--chase", &s.text("bad.csv"), "--json"]).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!([Some(2), Some(5)].contains(&output.status.code()) && error.contains(said), "{error}");
    }
    refused(&s, &["devices", "--profile", "a40", "--chase", "x.csv"], 2);
}

const SILICON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sim/devices/");

#[test]
fn a_simulated_gpu_is_judged() {
    let s = Sandbox::new();
    let file = format!("{SILICON}adreno640.toml");
    assert_eq!(
        text(&s.run(&["devices", "--check", &file], 0)),
        "adreno640: ok; Adreno 640: 2 shader processors of 3 micro-processors, simulated
  898.6 GFLOP/s: 2 cores of 3 ports of 128 lanes at 585 MHz, waves of 64
  texture L1: 1024 B each, 2 sets of 16 lines of 32 B; 194.3 GB/s together
  buffer L1: none
  L2: 131072 B, 4 slices of 32 sets of 16 lines of 64 B; 99.8 GB/s
  DRAM: 4 channels; 30.9 GB/s
  24 of its numbers are assumed
"
    );
    let told: Value = serde_json::from_slice(&s.run(&["devices", "--check", &file, "--json"], 0).stdout).unwrap();
    assert_eq!((told["ok"].as_bool(), told["assumed"].as_array().map(Vec::len)), (Some(true), Some(24)));
    assert!((told["bandwidth"]["dram"].as_f64().unwrap() / 30.888e9 - 1.0).abs() < 1e-9);
    for name in warpsight_sim::Silicon::names() {
        let said = text(&s.run(&["devices", "--check", &format!("{SILICON}{name}.toml")], 0));
        assert!(said.starts_with(&format!("{name}: ok; ")), "{said}");
    }
}

#[test]
fn every_contradiction_of_a_simulated_gpu_is_explained() {
    let s = Sandbox::new();
    let file = s.text("mine.toml");
    let own = "base = \"adreno640\"\nname = \"mine\"\n[texture.cache]\nbytes = 2048\n[l2.cache]\nways = 0\n[core]\nlanes = 48\n";
    std::fs::write(&file, own).unwrap();
    let output = s.run(&["devices", "--check", &file], 2);
    assert_eq!(
        text(&output),
        "core.lanes is 48; it must be a multiple or a divisor of core.wave, which is 64
texture.cache.bytes is 2048; it must be line × sets × ways = 32 × 2 × 16 = 1024
l2.cache.ways is 0; it must be from 1 to 1024
l2.cache.bytes is 131072; it must be line × sets × ways = 64 × 32 × 0 × 4 slices = 0
"
    );
    let (message, place) = refused(&s, &["devices", "--check", &file], 2);
    assert_eq!((message.as_str(), place.as_str()), ("silicon `mine` has 4 problems", file.as_str()));
    let told: Value = serde_json::from_slice(&s.run(&["devices", "--check", &file, "--json"], 2).stdout).unwrap();
    assert_eq!(told["problems"][0]["key"], "core.lanes");
    // The same file is no device.
    let (message, _) = refused(&s, &["optimize", "--op", "matmul m=8 n=8 k=8", "--device", &format!("sim:{file}")], 3);
    assert!(message.contains("silicon `mine`: core.lanes is 48; it must be a multiple"), "{message}");
    for (text, said) in [
        ("name = ", "silicon description: TOML parse error"),
        ("base = \"adreno999\"", "`base` is \"adreno999\"; there are adreno630, "),
        ("base = \"adreno640\"\n[core]\nspeed = 1.0", "unknown field `speed`"),
        ("base = \"adreno640\"\n[core]\nwave = -1", "invalid value"),
    ] {
        std::fs::write(&file, text).unwrap();
        let (message, place) = refused(&s, &["devices", "--check", &file], 2);
        assert!(message.contains(said) && place == file, "{message} {place}");
    }
    std::fs::write(&file, [0xff; 64]).unwrap();
    assert!(refused(&s, &["devices", "--check", &file], 2).0.contains("not text"));
    refused(&s, &["devices", "--check", &s.text("none.toml")], 5);
    refused(&s, &["devices", "--check", &file, "--profile", "a40"], 2);
}

#[test]
fn reports_on_simulated_gpus_say_how_much_is_assumed() {
    let s = Sandbox::new();
    let said = "simulated; 24 numbers of its silicon are assumed";
    let listed: Value = serde_json::from_slice(&s.run(&["devices", "--json"], 0).stdout).unwrap();
    let devices = listed["devices"].as_array().unwrap();
    let of = |id: &str| devices.iter().find(|d| d["id"] == id).and_then(|d| d["driver"].as_str()).unwrap_or_default().to_owned();
    assert!(of("sim:adreno640").ends_with(said), "{}", of("sim:adreno640"));
    for name in ["adreno640", "mali-g76", "mali-g77", "mali-g77-paper"] {
        let device = format!("sim:{name}");
        let output = s.run(&["optimize", "--op", "matmul m=8 n=8 k=8", "--device", &device, "--json"], 0);
        let report = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(report.contains(&of(&device)) && report.contains("are assumed"), "{report}");
        let told = text(&s.run(&["optimize", "--op", "matmul m=8 n=8 k=8", "--device", &device], 0));
        assert!(told.ends_with(&format!("{device}: {}; judged by the profile sim-{name}\n", of(&device))), "{told}");
    }
    // Of what vendors say enough the profile is what they say.
    let told = text(&s.run(&["optimize", "--op", "matmul m=8 n=8 k=8", "--device", "sim:a100-40"], 0));
    assert!(told.ends_with("; judged by the profile a100-40\n"), "{told}");
}

#[test]
fn a_roofline_with_operators_under_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("roofline.svg");
    let ask = |more: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_warpsight"));
        command.args(["devices", "--profile", "adreno640", "--roofline"]).arg(&file).args(more).output().expect("starts")
    };
    let output =
        ask(&["--json", "--op", "conv2d n=1 c=512 h=64 w=64 k=256 r=1 s=1 stride=1 pad=0 dtype=f16s", "--op", "fc n=1 k=768 m=3072"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(value["peak_flops"].as_f64(), Some(2.0 * 2.0 * 384.0 * 585e6));
    let own = |n: usize, key: &str| value["operators"][n][key].as_f64().expect("a number");
    // 4 x 7 results of a work-item in 72 registers, at 194.55 + 96.3 GB/s.
    let products = 64.0 * 64.0 * 512.0 * 256.0;
    assert!((own(0, "bound_s") / (products * (1.0 / 4.0 + 1.0 / 7.0) * 2.0 / (194.55e9 + 96.3e9)) - 1.0).abs() < 1e-6, "{value}");
    assert!(own(1, "flops_per_byte") < 1.0 && value["operators"][1]["limiters"][0] == "dram", "{value}");
    let svg = std::fs::read_to_string(&file).expect("drawn");
    assert!(svg.contains("images, L1, 194.6 GB/s") && svg.contains("memory, 30.2 GB/s") && svg.contains("fc n=1 k=768 m=3072"));
    assert_eq!(svg.matches("<circle").count(), 2);
    let wrong = ask(&["--op", "matmul m=0"]);
    assert_eq!(wrong.status.code(), Some(2));
}
