//! `warpsight shader profile` on a CPU rasteriser, from a corpus to the store, with shaders that hang and files that are none.

mod common;

use common::{Sandbox, said};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};
use warpsight_learn::Store;
use warpsight_learn::measured::Outcome;

/// The first rasteriser; `None` (and a word of it) where there is none, which no CI may say.
fn rasteriser() -> Option<String> {
    let listing = warpsight_run::vulkan::list();
    let found = listing.devices.iter().find(|d| d.is_cpu).map(|d| d.id.clone());
    if found.is_none() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "CI needs a Vulkan rasteriser: {:?}", listing.skipped);
        eprintln!("skipped: {:?}", listing.skipped);
    }
    found
}

fn shaders() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shader/tests/shaders")
}

fn work() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../run/src/vulkan/shaders/tests/work.frag.spv")
}

/// Writes a corpus: a number as id, a name, the module's bytes and defaults of uniforms each.
fn corpus(s: &Sandbox, shaders: &[(u32, &str, Vec<u8>, Value)]) {
    std::fs::create_dir_all(s.path("corpus/spv")).expect("a folder");
    let mut lines = String::new();
    for (id, name, bytes, uniforms) in shaders {
        let id = format!("{id:016x}");
        // llvmpipe leaves loops after 65535 iterations altogether; for this many pixels, that takes minutes.
        let resolution = if *name == "endless" { [2048, 2048] } else { [32, 24] };
        std::fs::write(s.path(&format!("corpus/spv/{id}.spv")), bytes).expect("writes");
        let entry = json!({"id": id, "name": name, "source": "tests", "licence": "MIT", "origin": name, "dialect": "plain", "group": id,
            "loops": false, "uniforms": uniforms, "instructions": 1, "blocks": 1, "resolution": resolution});
        lines += &format!("{entry}\n");
    }
    std::fs::write(s.path("corpus/corpus.jsonl"), lines).expect("writes");
}

fn module(name: &str) -> Vec<u8> {
    std::fs::read(shaders().join(name).with_extension("spv")).expect("a module")
}

fn profile(s: &Sandbox, device: &str, more: &[&str]) -> Vec<String> {
    let (corpus, store) = (s.text("corpus"), s.text("store.sqlite"));
    let all = ["shader", "profile", &corpus, "--device", device, "--into", &store, "--texture-size", "16"];
    all.iter().chain(more).map(|a| (*a).to_owned()).collect()
}

fn run(s: &Sandbox, args: &[String], code: i32) -> Value {
    let args: Vec<&str> = args.iter().map(String::as_str).chain(["--json"]).collect();
    let output = s.run(&args, code);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", said(&output)))
}

#[test]
fn a_batch_survives_what_is_in_it_and_is_measured_once() {
    let Some(device) = rasteriser() else { return };
    let s = Sandbox::new();
    let endless = json!({"rounds": [4_294_967_295u32], "base": [0.3], "slope": [0.01]});
    let truncated = module("march")[..400].to_vec();
    let vertices = std::fs::read(work().with_file_name("../frame.vert.spv")).expect("a module");
    let black = json!({"rounds": [0], "base": [0.0], "slope": [0.0]});
    let bytes = std::fs::read(work()).expect("a module");
    corpus(
        &s,
        &[
            (1, "endless", bytes.clone(), endless),
            (2, "loops", module("loops"), json!({})),
            (3, "truncated", truncated, json!({})),
            (4, "vertices", vertices, json!({})),
            (5, "textures", module("textures"), json!({})),
            (6, "black", bytes, black),
        ],
    );
    let (csv, store) = (s.text("shots.csv"), s.path("store.sqlite"));
    let first = run(&s, &profile(&s, &device, &["--timeout", "5", "--csv", &csv]), 0);
    assert_eq!(["done", "hang", "lost", "refused", "known"].map(|k| first[k].as_u64().expect(k)), [3, 1, 0, 2, 0], "{first}");
    assert!(first["device"]["software"].as_str().is_some_and(|s| s.contains("CPU rasteriser")), "{first}");
    assert_eq!(first["store"]["seconds"]["source"], "measured");

    let shots = Store::open(&store).expect("a store").shots(None).expect("shots");
    assert_eq!(shots.len(), 6);
    let of = |id: u32| &shots.iter().find(|s| s.shader == format!("{id:016x}")).expect("a shot").outcome;
    assert!(matches!(of(1), Outcome::Hang { reason } if reason.contains("did not answer within 5 s")), "{:?}", of(1));
    assert!(
        matches!(of(3), Outcome::Refused { .. }) && matches!(of(4), Outcome::Refused { reason } if reason.contains("fragment")),
        "{:?}",
        of(4)
    );
    for id in [2, 5, 6] {
        let Outcome::Done(timed) = of(id) else { panic!("{id}: {:?}", of(id)) };
        assert!(timed.trials.len() >= 5 && timed.seconds(timed.reference()).0 > 0.0 && timed.first.0 > 0.0);
        assert!(timed.trials.iter().all(|t| t.seconds * f64::from(t.draws) >= 0.05), "{timed:?}");
        let flags: Vec<&str> = timed.flags.iter().map(|f| f.name()).collect();
        assert_eq!(flags, if id == 6 { vec!["black", "constant"] } else { vec![] }, "{id}");
    }
    let text = std::fs::read_to_string(&csv).expect("a file");
    assert_eq!((text.lines().count(), text.matches(",measured,").count()), (7, 6), "{text}");

    // The same again measures nothing; another frame is another scene; what hung is tried again when that is asked for.
    let again = run(&s, &profile(&s, &device, &[]), 0);
    assert_eq!((&again["known"], &again["done"], &again["hang"]), (&6.into(), &0.into(), &0.into()));
    assert_eq!(run(&s, &profile(&s, &device, &["--only", "loops", "--resolution", "16x16"]), 0)["done"], 1);
    // Where nothing at all could be measured, the exit code says so, the next time too.
    let retried = run(&s, &profile(&s, &device, &["--retry", "--only", "truncated"]), 4);
    assert_eq!((&retried["refused"], &retried["known"]), (&1.into(), &0.into()));
    assert_eq!(run(&s, &profile(&s, &device, &["--only", "truncated"]), 4)["known"], 1);
}

/// Killed with no chance to clean up: what was measured is there, and the same command goes on.
#[cfg(unix)]
#[test]
fn a_kill_loses_the_shader_at_hand_at_most() {
    let Some(device) = rasteriser() else { return };
    let s = Sandbox::new();
    let bytes = std::fs::read(work()).expect("a module");
    let shaders: Vec<_> = (0..5).map(|i| (i, "work", bytes.clone(), json!({"rounds": [i], "base": [0.3], "slope": [0.01]}))).collect();
    corpus(&s, &shaders);
    let args = profile(&s, &device, &["--workers", "1"]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut child = s.command(&args).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().expect("starts");
    let stored = || {
        let path = s.path("store.sqlite");
        if path.exists() { Store::open(path).and_then(|s| s.shots(None)).map_or(0, |s| s.len()) } else { 0 }
    };
    let deadline = Instant::now() + Duration::from_secs(120);
    while stored() < 2 {
        assert!(Instant::now() < deadline && child.try_wait().expect("a process").is_none(), "nothing is stored");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("a process");
    child.wait().expect("a process");
    let before = stored();
    assert!((2..5).contains(&before), "{before}");
    let args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
    let rest = run(&s, &args, 0);
    assert_eq!((rest["known"].as_u64(), rest["done"].as_u64()), (Some(before as u64), Some(5 - before as u64)));
    assert_eq!(stored(), 5);
}

#[test]
fn what_cannot_be_measured_is_said() {
    let s = Sandbox::new();
    let missing = s.run(&["shader", "profile", &s.text("none"), "--into", &s.text("store.sqlite")], 5);
    assert!(said(&missing).contains("corpus.jsonl"), "{}", said(&missing));
    corpus(&s, &[(1, "loops", module("loops"), json!({}))]);
    let output = s.run(&["shader", "profile", &s.text("corpus"), "--device", "vulkan:99", "--into", &s.text("store.sqlite")], 3);
    assert!(said(&output).contains("no device `vulkan:99`"), "{}", said(&output));
    let args = ["shader", "profile", &s.text("corpus"), "--into", &s.text("store.sqlite"), "--only", "nothing"];
    assert!(said(&s.run(&args, 2)).contains("no shader of the corpus is asked for"));
    // No driver at all: no other device's times are taken instead.
    let args = ["shader", "profile", &s.text("corpus"), "--into", &s.text("store.sqlite")];
    let output = s.command(&args).env("VK_DRIVER_FILES", "/dev/null").env("VK_ICD_FILENAMES", "/dev/null").output().expect("starts");
    assert_eq!(output.status.code(), Some(3));
    assert!(said(&output).contains("no Vulkan"), "{}", said(&output));
    if let Some(device) = rasteriser() {
        std::fs::write(s.path("store.sqlite"), "my thesis ".repeat(500)).expect("writes");
        let output = s.run(&["shader", "profile", &s.text("corpus"), "--device", &device, "--into", &s.text("store.sqlite")], 5);
        assert!(said(&output).contains("is not a warpsight store"), "{}", said(&output));
        assert!(said(&output).contains("--into FILE") && !said(&output).contains("--store"), "{}", said(&output));
    }
}

/// A device's counts of a corpus against the interpreter's: exact, flagged, and what cannot be compared.
#[test]
fn counts_of_a_corpus_are_those_of_the_interpreter() {
    let Some(device) = rasteriser() else { return };
    let s = Sandbox::new();
    let truncated = module("march")[..400].to_vec();
    let shaders = [(1, "loops", module("loops")), (2, "march", module("march")), (3, "truncated", truncated), (4, "kill", module("kill"))];
    corpus(&s, &shaders.map(|(id, name, bytes)| (id, name, bytes, json!({}))));
    let folder = s.text("corpus");
    let args = ["shader", "trace", &folder, "--device", &device, "--texture-size", "16", "--resolution", "36x20"].map(str::to_owned);
    let found = run(&s, &args, 0);
    let number = |at: &str| found.pointer(at).and_then(Value::as_u64).unwrap_or_else(|| panic!("{at}: {found}"));
    assert_eq!(["exact_expected", "exact", "flagged", "failed"].map(|name| number(&format!("/summary/{name}"))), [2, 2, 1, 1]);
    // A ray that grazes may hit or miss.
    assert!((number("/shaders/1/differing") as f64) < 0.01 * number("/shaders/1/counts") as f64, "{found}");
    assert!(number("/shaders/0/counts") > 36 * 20 && found["shaders"][2]["reason"].as_str().is_some_and(|r| !r.is_empty()));
    let text = said(&s.run(&args.iter().map(String::as_str).collect::<Vec<_>>(), 0));
    assert!(text.contains("2 of 2 shaders are exact") && text.contains("CPU rasteriser"), "{text}");
    let alone = said(&s.run(&["shader", "trace", &folder], 2));
    assert!(alone.contains("--device"), "{alone}");
}
