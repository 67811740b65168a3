//! `warpsight predict`: what it prints is what the model says, and wrong input is named with its place.

mod common;

use common::{Sandbox, said};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Output, Stdio};
use warpsight_ir::Profile;
use warpsight_ir::accesses::text::parse;
use warpsight_ir::profile::{builtin, builtin_names};
use warpsight_predict::volumes::report::measured::Measured;
use warpsight_predict::volumes::report::{Settings, Work, report};

fn example(name: &str) -> String {
    format!("{}/../../examples/accesses/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

fn parsed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// A number as it comes back from JSON, which may miss the last bit.
fn through(number: f64) -> Value {
    serde_json::from_str(&json!(number).to_string()).expect("a number")
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn json_is_the_report() {
    let s = Sandbox::new();
    let file = example("star3d-r4-f64");
    let found = parsed(&s.run(&["predict", &file, "--device", "a100-40", "--json"], 0));
    let expected =
        ["effective", "instructions", "interval", "l1_cycles_per_point", "limiter", "limits_s", "occupancy", "points_per_second"];
    let expected: Vec<&str> = expected.into_iter().chain(["provenance", "seconds", "tail_efficiency", "volumes", "waves"]).collect();
    assert_eq!(keys(&found), expected);
    let volumes = ["by_cause", "dram_load", "dram_load_wave", "dram_store", "l1_requested", "l2_load", "l2_load_compulsory", "l2_store"];
    assert_eq!(keys(&found["volumes"]), volumes.into_iter().chain(["per_field"]).collect::<Vec<_>>());
    assert_eq!(keys(&found["interval"]), ["basis", "seconds"]);
    assert_eq!(keys(&found["occupancy"]), ["blocks", "limited_by", "warps"]);

    // Counted by hand: of 64 × 4 × 4 points a warp reads 32 doubles, 8 sectors; shifts by ±1, ±2, ±3 touch a ninth, ±4 none.
    assert_eq!(found["volumes"]["l1_requested"], json!((25.0 * 8.0 + 6.0) * 32.0 / 32.0));
    assert_eq!(found["volumes"]["l2_store"], json!(8.0));
    let instructions = found["instructions"].as_array().expect("instructions");
    assert_eq!(instructions.len(), 26);
    assert_eq!(instructions[25], json!({"field": "B", "access": 25, "wavefronts": 2.0}));

    // The rest is the library's, bit for bit.
    let written = parse(&std::fs::read_to_string(&file).expect("the example"), &[]).expect("a kernel");
    let device = builtin("a100-40").expect("a profile").expect("a good one");
    let own = report(&Work { kernel: &written.kernel, points: written.points }, &device, &Settings::default()).expect("a report");
    assert_eq!(found["seconds"], through(own.seconds.0));
    assert_eq!(found["points_per_second"], through(own.points_per_second));
    assert_eq!(found["interval"]["seconds"], json!([through(own.interval.lo.0), through(own.interval.hi.0)]));
    assert_eq!(found["volumes"]["dram_load"], own.volumes.dram_load.map_or(Value::Null, through));
    assert_eq!(found["volumes"]["per_field"]["A"]["l2_load_compulsory"], through(own.volumes.per_field[0].l2_load_compulsory));
    assert_eq!(found["limiter"], json!(own.limiter.map(|limiter| limiter.name())));
    for (limiter, alone) in &own.limits {
        let shown = &found["limits_s"][limiter.name()];
        match alone {
            Ok(seconds) => assert_eq!(*shown, through(seconds.0), "{}", limiter.name()),
            Err(reason) => {
                assert!(shown.is_null());
                let notes = found["provenance"].as_array().expect("notes");
                let said =
                    |note: &Value| note.as_str().is_some_and(|note| note.contains(limiter.name()) && note.contains(&*reason.to_string()));
                assert!(notes.iter().any(said), "null has its reason: {reason}");
            }
        }
    }
}

#[test]
fn settings_and_devices() {
    let s = Sandbox::new();
    let file = example("star3d-r4-f64");
    let json = |args: &[&str]| parsed(&s.run(&[&["predict", &file, "--json"], args].concat(), 0));
    let (plain, set) = (json(&["--device", "a100-40"]), json(&["--device", "a100-40", "--set", "block=16,4,16", "--set", "nz=256"]));
    assert_ne!(plain["volumes"]["l2_load_compulsory"], set["volumes"]["l2_load_compulsory"]);
    let two = json(&["--device", "a100-40", "h100"]);
    assert_eq!((keys(&two), &two["a100-40"]), (vec!["a100-40", "h100"], &plain));
    assert_eq!(json(&["--device", "h100,a100-40"]), two);
    let small = json(&["--device", "a100-40", "--override", "l2_effective=1MB"]);
    assert!(small["volumes"]["dram_load"].as_f64() > plain["volumes"]["dram_load"].as_f64(), "less is kept");
    let notes = small["provenance"].as_array().expect("notes");
    let noted = "memory.l2_effective is overridden: 1MB instead of 34900000 (measured)";
    assert!(notes.iter().any(|note| note.as_str().is_some_and(|note| note.starts_with(noted))), "{notes:?}");
    let slow = json(&["--device", "a100-40", "--override", "clock=705MHz", "--override", "memory.l2.bandwidth=2.71TB/s"]);
    for limiter in ["l1", "l2"] {
        let ratio = slow["limits_s"][limiter].as_f64().zip(plain["limits_s"][limiter].as_f64()).map(|(a, b)| a / b).expect("times");
        assert!((ratio - 2.0).abs() < 1e-9, "{limiter}: {ratio}");
    }
    // One device cannot run it, the others still answer.
    let large = json(&["--device", "a100-40", "mali-g76", "--set", "block=64,8,2"]);
    assert!(large["a100-40"]["seconds"].as_f64() > Some(0.0));
    assert_eq!(keys(&large["mali-g76"]), ["error"]);
    assert_eq!(large["mali-g76"]["error"]["kind"], "input");
    let why = large["mali-g76"]["error"]["message"].as_str().expect("a message");
    assert!(why.starts_with("mali-g76: "), "{why}");
    let text = said(&s.run(&["predict", &file, "--device", "a100-40", "mali-g76", "--set", "block=64,8,2"], 0));
    assert!(text.contains(&format!("no answer: {why}")), "{text}");
    let none = s.run(&["predict", &file, "--device", "a100-40", "mali-g76", "--set", "block=64,8,8", "--json"], 2);
    let error: Value = serde_json::from_slice(&none.stderr).expect("JSON");
    let why = error["error"]["message"].as_str().expect("a message");
    assert!(why.contains("a100-40: the device cannot run it") && why.contains("; mali-g76: "), "{why}");
    assert!(none.stdout.is_empty());
    // Two profiles of one name are two devices.
    let copy = s.text("copy.toml");
    let text = std::fs::read_to_string(format!("{}/../../profiles/a100-40.toml", env!("CARGO_MANIFEST_DIR"))).expect("a profile");
    std::fs::write(&copy, text.replace("cores = { value = 108", "cores = { value = 54")).expect("writes");
    let both = json(&["--device", "a100-40", &copy, "a100-40"]);
    assert_eq!((both.as_object().expect("devices").len(), &both["a100-40"]), (2, &plain));
    assert!(both[&copy]["seconds"].as_f64() > plain["seconds"].as_f64());
    // A profile from a file, the kernel from standard input or after the devices.
    let profile = format!("{}/../../profiles/a100-40.toml", env!("CARGO_MANIFEST_DIR"));
    assert_eq!(json(&["--device", &profile]), plain);
    assert_eq!(parsed(&s.run(&["predict", "--json", "--device", "a100-40", &file], 0)), plain);
    let mut child = s.command(&["predict", "-", "--json", "--device", "a100-40"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    let text = std::fs::read(&file).expect("the example");
    child.stdin.take().expect("a pipe").write_all(&text).expect("writes");
    assert_eq!(parsed(&child.wait_with_output().expect("ends")), plain);
}

/// The time in the first row, and the suggestion of `explain` with its time.
fn times(text: &str) -> (String, Option<(String, String)>) {
    let row = text.lines().find_map(|line| line.trim().strip_prefix("time ")).expect("a time").trim().to_owned();
    let suggested = text.lines().find_map(|line| line.split(". With ").nth(1)).map(|rest| {
        let (what, rest) = rest.split_once(" it would take ").expect("a time");
        (what.to_owned(), rest.split_once(',').expect("a share").0.to_owned())
    });
    (row, suggested)
}

#[test]
fn suggestions_are_predictions_of_the_changed_kernel() {
    let s = Sandbox::new();
    let predict = |args: &[&str]| {
        let output = s.run(&[&["predict", "--device", "a100-40"], args].concat(), 0);
        times(&String::from_utf8_lossy(&output.stdout))
    };
    let file = example("star3d-r4-f64");
    let (before, suggested) = predict(&[&file]);
    let (what, promised) = suggested.expect("another block is faster");
    let block = what.strip_prefix("--set ").expect("a setting");
    let (after, _) = predict(&["--set", block, "--device", "a100-40", &file]);
    assert_eq!(after, promised);
    assert_ne!(before, after);
    // A strided field of one axis, off its lines: only the alignment can change.
    let text = |align: u32| {
        format!(
            "name = \"shifted\"\nblock = [32]\ndomain = [4194304]\nregisters = 16\n[[field]]\nname = \"A\"\nelement = \"f64\"\n\
             dims = [16, 4194304]\nalign = {align}\nload = [{{ at = [0, \"tx\"], width = 8 }}]\n"
        )
    };
    std::fs::write(s.path("off.toml"), text(4)).expect("writes");
    std::fs::write(s.path("on.toml"), text(0)).expect("writes");
    let (_, suggested) = predict(&[&s.text("off.toml")]);
    let (what, promised) = suggested.expect("alignment helps");
    assert_eq!(what, "align = 0 for field A");
    assert_eq!(predict(&[&s.text("on.toml")]).0, promised);
}

/// Of every example: what limits it and what comes next are the limits of JSON; the suggestion is the prediction of the changed kernel.
#[test]
fn what_is_explained_is_what_is_predicted() {
    let s = Sandbox::new();
    let folder = format!("{}/../../examples/accesses", env!("CARGO_MANIFEST_DIR"));
    let (mut blocks, mut folds) = (0, 0);
    for file in std::fs::read_dir(folder).expect("the examples").map(|file| file.expect("a file").path()) {
        let file = file.to_str().expect("a plain path");
        let text = String::from_utf8_lossy(&s.run(&["predict", "--device", "h100", file], 0).stdout).into_owned();
        let json = parsed(&s.run(&["predict", "--device", "h100", file, "--json"], 0));
        let limits = json["limits_s"].as_object().expect("limits").iter();
        let mut limits: Vec<(&str, f64)> = limits.filter_map(|(name, alone)| Some((name.as_str(), alone.as_f64()?))).collect();
        limits.sort_by(|a, b| b.1.total_cmp(&a.1));
        let headroom = 100.0 * (1.0 - limits[1].1 / limits[0].1);
        assert!(text.contains(&format!("Limited by {} (", limits[0].0)), "{text}");
        assert!(text.contains(&format!("next is {} with {headroom:.0} % headroom (predicted)", limits[1].0)), "{text}");
        assert_eq!(json["limiter"], limits[0].0);

        let Some((what, promised)) = times(&text).1 else { continue };
        let Some(setting) = what.strip_prefix("--set ").and_then(|what| what.split(' ').next()) else { continue };
        let after = s.run(&["predict", "--set", setting, "--device", "h100", file], 0);
        assert_eq!(times(&String::from_utf8_lossy(&after.stdout)).0, promised, "{file}: {setting}");
        *if setting.starts_with("block=") { &mut blocks } else { &mut folds } += 1;
    }
    assert!(blocks > 0 && folds > 0, "{blocks} blocks and {folds} foldings were suggested");
}

/// Percent of time for a percent of a number: what the changed profile predicts; near −1 for the bandwidth that a stream waits for.
#[test]
fn elasticities_are_those_of_changed_profiles() {
    let s = Sandbox::new();
    let file = example("stream-triad");
    let output = s.run(&["predict", &file, "--device", "a100-40"], 0);
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix("Raising a number of the profile by 1 % changes the time by (predicted): "));
    let listed: Vec<(&str, f64)> = line
        .expect("elasticities")
        .trim_end_matches('.')
        .split(", ")
        .map(|each| each.trim_end_matches(" %").split_once(' ').expect("a number"))
        .map(|(key, elasticity)| (key, elasticity.parse().expect("a number")))
        .collect();
    assert_eq!(listed[0].0, "memory.dram_bandwidth", "{listed:?}");
    assert!((-1.05..-0.8).contains(&listed[0].1), "{listed:?}");
    let seconds = |args: &[&str]| {
        let found = parsed(&s.run(&[&["predict", &file, "--device", "a100-40", "--json"], args].concat(), 0));
        found["seconds"].as_f64().expect("seconds")
    };
    let before = seconds(&[]);
    let numbers = builtin("a100-40").expect("a profile").expect("a good one").numbers();
    for (key, elasticity) in &listed {
        let value = numbers.iter().find(|(own, _)| own == key).expect("a number").1 * 1.01;
        // Counts are whole.
        let value = if value > 1e6 || !key.starts_with("execution") { value } else { value.ceil() };
        let after = seconds(&["--override", &format!("{key}={value}")]);
        let own = (after / before).ln() / (value / numbers.iter().find(|(own, _)| own == key).expect("a number").1).ln();
        assert!((own - elasticity).abs() < 0.006, "{key}: {own} against {elasticity}");
    }
    // No special function, no local memory, no image: their rates do not matter.
    for unrelated in ["special_per_clock", "fma16_per_clock", "local_bandwidth", "image.max_width", "texture_l1.bytes"] {
        let value = numbers.iter().find(|(key, _)| key.ends_with(unrelated)).map_or(1.0, |(_, value)| value * 2.0);
        assert_eq!(seconds(&["--override", &format!("{unrelated}={value}")]), before, "{unrelated}");
    }
}

#[test]
fn two_kernels_side_by_side() {
    let s = Sandbox::new();
    let (aos, soa) = (example("vec3-aos"), example("vec3-soa"));
    let args = ["predict", &aos, "--device", "a100-40", "--diff", &soa];
    let text = said(&s.run(&args, 0));
    assert!(text.contains("vec3-aos (predicted) vec3-soa (predicted) ratio (predicted)"), "{text}");
    // Three loads 24 bytes apart touch each of 24 sectors, each load a third less: 80 bytes a point against 32.
    assert!(text.contains("L1 requested, B/point 80.00 32.00 0.400"), "{text}");
    let both = parsed(&s.run(&[&args[..], &["--json"]].concat(), 0));
    let ratio = both["diff"]["seconds"].as_f64().zip(both["file"]["seconds"].as_f64()).map(|(b, a)| b / a);
    let found = both["ratio"].as_f64().zip(ratio).expect("ratios");
    assert!((found.0 / found.1 - 1.0).abs() < 1e-12, "{found:?}");
}

#[test]
fn every_example_has_a_prediction_with_tags() {
    let s = Sandbox::new();
    let folder = format!("{}/../../examples/accesses", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("the examples").map(|file| file.expect("a file").path()).collect();
    files.sort();
    assert!(files.len() >= 17);
    for file in files {
        let output = s.run(&["predict", file.to_str().expect("a plain path"), "--device", "a100-40"], 0);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
        for line in text.lines().filter(|line| line.starts_with("Limited") || line.starts_with("Raising")) {
            assert!(line.contains("predicted"), "{line}");
        }
    }
}

#[test]
fn wrong_input_is_named_with_its_place() {
    let s = Sandbox::new();
    let star = example("star3d-r4-f64");
    let refused = |args: &[&str], code: i32, words: &[&str]| {
        let output = s.run(&[&["predict"], args].concat(), code);
        let text = said(&output);
        for word in words {
            assert!(text.contains(word), "{args:?}: `{word}` is not in: {text}");
        }
        assert!(output.stdout.is_empty());
    };
    let stencil = s.text("stencil.toml");
    let text = std::fs::read_to_string(&star).expect("the example").replacen("\"tx+1\", \"ty\"", "\"tx*ty\", \"ty\"", 1);
    std::fs::write(&stencil, text).expect("writes");
    let place = "stencil.toml:21:7]";
    let product = "address is not affine in the thread coordinates";
    refused(
        &[&stencil, "--device", "a100-40"],
        2,
        &[product, place, "a product of two coordinates", "give a representative value instead"],
    );
    refused(&[&s.text("missing.toml"), "--device", "a100-40"], 5, &["missing.toml"]);
    std::fs::write(s.path("noise.toml"), [0xff, 0xfe, 0]).expect("writes");
    refused(&[&s.text("noise.toml"), "--device", "a100-40"], 2, &["noise.toml", "not text"]);
    refused(&[&star], 2, &["--device"]);
    refused(&["--device", "a100-40"], 2, &["FILE"]);
    refused(&[&star, "--device", "abacus", "a100-40", "quipu"], 2, &["`abacus`, `quipu`", "known are host, a100-40"]);
    refused(&[&star, "--device", "none.toml"], 5, &["none.toml"]);
    refused(&[&star, "--device", &stencil], 2, &["not a profile"]);
    refused(&[&star, "--device", "a100-40", "--set", "q=1"], 2, &["nothing named `q` to set", "block, domain, grid, fold"]);
    refused(&[&star, "--device", "a100-40", "--set", "q"], 2, &["KEY=VALUE"]);
    refused(&[&star, "--device", "a100-40", "--set", "nx=0"], 2, &["star3d-r4-f64.toml:5:11]", "an extent is 0"]);
    let overridden = |what: &str, words: &[&str]| refused(&[&star, "--device", "a100-40", "--override", what], 2, words);
    overridden("l2_efective=1MB", &["no number of a profile is called `l2_efective`", "did you mean `memory.l2_effective`?"]);
    overridden(
        "bandwidth=1e12",
        &["is called `bandwidth`", "`memory.buffer_l1.bandwidth` or `memory.l2.bandwidth` or `memory.llc.bandwidth`"],
    );
    for size in ["", "1XB", "40MB/s", "1.4GHz"] {
        overridden(&format!("l2_effective={size}"), &["`memory.l2_effective` cannot be", "expected a number of bytes, or as in 40MB"]);
    }
    for (size, why) in [("-1MB", "not positive"), ("NaN", "not a number"), ("0", "not positive"), ("inf", "not a number")] {
        overridden(&format!("l2_effective={size}"), &["`memory.l2_effective` cannot be", why]);
    }
    overridden("cores=1.5", &["`execution.cores` cannot be `1.5`", "expected u32"]);
    overridden("clock=1e30", &["`execution.clock` cannot be `1e30`", "more than any device has"]);
    // A text of one line changed.
    let changed = |from: &str, to: &str, words: &[&str]| {
        let text = std::fs::read_to_string(&star).expect("the example");
        assert!(text.contains(from), "{from}");
        std::fs::write(s.path("changed.toml"), text.replacen(from, to, 1)).expect("writes");
        refused(&[&s.text("changed.toml"), "--device", "a100-40"], 2, words);
    };
    changed("[\"tx+1\", \"ty\"", "[\"tx+q\", \"ty\"", &["changed.toml:21:", "`q`"]);
    changed("block = [64, 4, 4]", "block = [64, 0, 4]", &["changed.toml:4:", "0"]);
    changed("block = [64, 4, 4]", "block = [64, -4, 4]", &["changed.toml:4:", "-4"]);
    changed("[\"tx+1\", \"ty\"", "[\"9223372036854775807*tx+1\", \"ty\"", &["changed.toml:21:"]);
    changed("[\"tx+1\", \"ty\"", "[\"99999999999999999999+tx\", \"ty\"", &["changed.toml:21:"]);
    for huge in ["nx=4294967296", "nx=9223372036854775807", "nx=-5", "fold=1,1,0", "fold=1,1,4000000000"] {
        let output = s.run(&["predict", &star, "--device", "a100-40", "--set", huge], 2);
        assert!(output.stdout.is_empty() && !said(&output).contains("panicked"), "{huge}: {}", said(&output));
    }
    // What the device cannot run is shown where the file says it.
    refused(&[&star, "--device", "a100-40", "--set", "registers=4000"], 2, &["a100-40: the device cannot run it", "registers"]);
    let large = s.text("large.toml");
    let text = std::fs::read_to_string(&star).expect("the example").replacen("[64, 4, 4]", "[64, 8, 8]", 1);
    std::fs::write(&large, text).expect("writes");
    refused(&[&large, "--device", "a100-40"], 2, &["large.toml:4:9]", "4096 work-items, the device allows 1024"]);

    let output = s.run(&["predict", &stencil, "--device", "a100-40", "--json"], 2);
    let error: Value = serde_json::from_slice(&output.stderr).expect("JSON on stderr");
    assert_eq!(error["error"], json!({"kind": "input", "message": product, "where": format!("{stencil}:21:7")}));
}

/// What is degenerate but possible has an answer; what the profile does not know is `null` with its reason.
#[test]
fn degenerate_launches_and_gaps_in_profiles_are_answered() {
    let s = Sandbox::new();
    let text = std::fs::read_to_string(example("star3d-r4-f64")).expect("the example");
    let flops = text.lines().find(|line| line.starts_with("flops")).expect("flops");
    for idle in [text.replace(flops, ""), text.replace(flops, "flops = 0")] {
        std::fs::write(s.path("idle.toml"), idle).expect("writes");
        let found = parsed(&s.run(&["predict", &s.text("idle.toml"), "--device", "a100-40", "--json"], 0));
        assert_eq!(found["limits_s"]["fp"], json!(0.0));
        assert!(found["seconds"].as_f64() > Some(0.0));
    }
    let single = ["predict", &example("star3d-r4-f64"), "--device", "a100-40", "mi210", "--json", "--set", "domain=64,4,4"];
    let single = parsed(&s.run(&single, 0));
    for device in ["a100-40", "mi210"] {
        assert!(single[device]["waves"].as_f64() < Some(0.01) && single[device]["seconds"].as_f64() > Some(0.0), "{device}");
    }
    // Without a bandwidth.
    let profile = std::fs::read_to_string(format!("{}/../../profiles/a100-40.toml", env!("CARGO_MANIFEST_DIR"))).expect("a profile");
    let (begin, rest) = profile.split_once("dram_bandwidth = ").expect("a bandwidth");
    let rest = rest.split_once("\ndram_latency").expect("a latency").1;
    let gap = format!("{begin}dram_bandwidth = {{ unknown = \"nobody measured\" }}\ndram_latency{rest}");
    std::fs::write(s.path("gap.toml"), gap).expect("writes");
    let found = parsed(&s.run(&["predict", &example("star3d-r4-f64"), "--device", &s.text("gap.toml"), "--json"], 0));
    assert!(found["limits_s"]["dram"].is_null());
    assert!(found["provenance"].to_string().contains("dram is unknown: memory.dram_bandwidth: nobody measured"), "{}", found["provenance"]);
    let text = said(&s.run(&["predict", &example("star3d-r4-f64"), "--device", &s.text("gap.toml")], 0));
    assert!(text.contains("dram - memory.dram_bandwidth: nobody measured"), "{text}");
    // Any of it can be given.
    let given = ["predict", &example("star3d-r4-f64"), "--device", &s.text("gap.toml"), "--json", "--override", "dram_bandwidth=1.4TB/s"];
    assert!(parsed(&s.run(&given, 0))["limits_s"]["dram"].as_f64() > Some(0.0));
}

/// Numbers of the examples replaced at random by others that a kernel may have, on any device, with any number of its profile and any
/// measured volume: an answer of finite numbers, or a refusal.
#[test]
fn whatever_is_read_is_answered_or_refused() {
    let folder = format!("{}/../../examples/accesses", env!("CARGO_MANIFEST_DIR"));
    let mut texts: Vec<String> = std::fs::read_dir(folder)
        .expect("the examples")
        .map(|file| std::fs::read_to_string(file.expect("a file").path()).expect("an example"))
        .collect();
    texts.sort();
    let devices: Vec<Profile> = builtin_names().into_iter().map(|name| builtin(name).expect(name).expect(name)).collect();
    let mut rng = fastrand::Rng::with_seed(77);
    let (mut answered, mut refused) = (0, 0);
    for round in 0..400 {
        let mut text = texts[round % texts.len()].clone();
        let body = text.find("block =").unwrap_or(0);
        let digits: Vec<usize> = text.char_indices().filter(|(at, c)| *at > body && c.is_ascii_digit()).map(|(at, _)| at).collect();
        let numbers = ["0", "1", "2", "3", "5", "7", "9"];
        let at = digits[rng.usize(0..digits.len())];
        text.replace_range(at..=at, numbers[rng.usize(0..numbers.len())]);
        let Ok(written) = parse(&text, &[]) else { continue };
        let mut device = devices[rng.usize(0..devices.len())].clone();
        let mut changes = String::new();
        for _ in 0..rng.usize(0..3) {
            let numbers = device.numbers();
            let (key, value) = &numbers[rng.usize(0..numbers.len())];
            // Lines of odd lengths make patterns too long to count quickly.
            if ["line", "sector", "dram_fetch", "warp", "max_group_size"].iter().any(|form| key.ends_with(form)) {
                continue;
            }
            let value = (value * [0.01, 0.5, 2.0, 37.0][rng.usize(0..4)]).to_string();
            changes += &format!("{key}={value} ");
            device = device.with(key, &value).unwrap_or(device);
        }
        let mut some = || rng.bool().then(|| [0.0, 1e-9, 8.0, 1e12][rng.usize(0..4)]);
        let measured = Measured { l1_requested: some(), l2_load: some(), l2_store: some(), behind_l2: some(), ..Measured::default() };
        let measured = Measured { dram_load: some(), dram_store: some(), l1_cycles_per_point: some(), ..measured };
        let settings = Settings { measured: rng.bool().then_some(measured), ..Settings::default() };
        let case = format!("{text}\n{} {changes}{settings:?}", device.name);
        match report(&Work { kernel: &written.kernel, points: written.points }, &device, &settings) {
            Ok(report) => {
                answered += 1;
                let finite = [report.seconds.0, report.points_per_second, report.interval.lo.0, report.interval.hi.0];
                assert!(finite.iter().all(|number| number.is_finite() && *number > 0.0), "{case}: {report:?}");
                let v = &report.volumes;
                let volumes = [v.l1_requested, v.l2_load_compulsory, v.l2_load, v.l2_store, v.dram_load_wave, v.dram_load, v.dram_store];
                let mut numbers: Vec<f64> = volumes.into_iter().flatten().chain(report.l1_cycles_per_point).collect();
                numbers.extend(v.by_cause.iter().map(|cause| cause.1));
                for field in &v.per_field {
                    numbers.extend([field.l1_requested, field.l2_load_compulsory, field.l2_store]);
                    numbers.extend(field.dram_load.iter().chain(&field.dram_store));
                }
                numbers.extend(report.limits.iter().filter_map(|limit| Some(limit.1.as_ref().ok()?.0)));
                numbers.extend(report.instructions.iter().filter_map(|cost| cost.wavefronts));
                numbers.extend([report.waves, report.tail_efficiency]);
                numbers.extend(report.measured.iter().flat_map(|own| std::iter::once(own.measured).chain(own.predicted)));
                assert!(numbers.iter().all(|number| number.is_finite() && *number >= -1e-9), "{case}: {report:?}");
            }
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
            }
        }
    }
    assert!(answered > 150 && refused > 10, "{answered} answered, {refused} refused");
}
