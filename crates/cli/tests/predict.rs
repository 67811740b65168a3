//! `warpsight predict`: what it prints is what the model says, and wrong input is named with its place.

mod common;

use common::{Sandbox, said};
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Output, Stdio};
use warpsight_ir::accesses::text::parse;
use warpsight_ir::profile::builtin;
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
    let expected = ["instructions", "interval", "l1_cycles_per_point", "limiter", "limits_s", "occupancy", "points_per_second"];
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
                let said = |note: &Value| note.as_str().is_some_and(|note| note.contains(limiter.name()) && note.contains(reason.as_str()));
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
    let noted = "memory.l2_effective is overridden: 1MB instead of 20971520 (measured)";
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
    overridden("l2_efective=1MB", &["no number of a profile is called `l2_efective`", "there is memory.l2_effective,"]);
    overridden("bandwidth=1e12", &["is called `bandwidth`", "memory.buffer_l1.bandwidth, memory.l2.bandwidth, memory.llc.bandwidth"]);
    for size in ["", "1XB", "40MB/s", "1.4GHz"] {
        overridden(&format!("l2_effective={size}"), &["`memory.l2_effective` cannot be", "expected a number of bytes, or as in 40MB"]);
    }
    for (size, why) in [("-1MB", "not positive"), ("NaN", "not a number"), ("0", "not positive"), ("inf", "not a number")] {
        overridden(&format!("l2_effective={size}"), &["`memory.l2_effective` cannot be", why]);
    }
    overridden("cores=1.5", &["`execution.cores` cannot be `1.5`", "expected u32"]);
    overridden("clock=1e30", &["`execution.clock` cannot be `1e30`", "more than any device has"]);
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

/// Numbers of the examples replaced at random by others that a kernel may have: an answer of finite numbers, or a refusal.
#[test]
fn whatever_is_read_is_answered_or_refused() {
    let folder = format!("{}/../../examples/accesses", env!("CARGO_MANIFEST_DIR"));
    let mut texts: Vec<String> = std::fs::read_dir(folder)
        .expect("the examples")
        .map(|file| std::fs::read_to_string(file.expect("a file").path()).expect("an example"))
        .collect();
    texts.sort();
    let device = builtin("a100-40").expect("a profile").expect("a good one");
    let mut rng = fastrand::Rng::with_seed(77);
    let (mut answered, mut refused) = (0, 0);
    for round in 0..340 {
        let mut text = texts[round % texts.len()].clone();
        let body = text.find("block =").unwrap_or(0);
        let digits: Vec<usize> = text.char_indices().filter(|(at, c)| *at > body && c.is_ascii_digit()).map(|(at, _)| at).collect();
        let numbers = ["0", "1", "2", "3", "5", "7", "9"];
        let at = digits[rng.usize(0..digits.len())];
        text.replace_range(at..=at, numbers[rng.usize(0..numbers.len())]);
        let written = match parse(&text, &[]) {
            Ok(written) => written,
            Err(_) => continue,
        };
        match report(&Work { kernel: &written.kernel, points: written.points }, &device, &Settings::default()) {
            Ok(report) => {
                answered += 1;
                let finite = [report.seconds.0, report.points_per_second, report.interval.lo.0, report.interval.hi.0];
                assert!(finite.iter().all(|number| number.is_finite() && *number > 0.0), "{text}: {report:?}");
                let v = &report.volumes;
                let volumes = [v.l1_requested, v.l2_load_compulsory, v.l2_load, v.l2_store, v.dram_load_wave, v.dram_load, v.dram_store];
                assert!(volumes.iter().flatten().all(|bytes| bytes.is_finite() && *bytes >= 0.0), "{text}: {v:?}");
            }
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
            }
        }
    }
    assert!(answered > 100 && refused > 0, "{answered} answered, {refused} refused");
}
