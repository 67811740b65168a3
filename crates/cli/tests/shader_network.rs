//! `--model transformer` of the shader verbs: trained, killed and gone on with, asked, judged.
#![cfg(feature = "nn")]

mod common;

use common::{Sandbox, said};
use serde_json::Value;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use warpsight_shader::corpus;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/shaders/sample");
const SHADER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/shaders/sample/butterchurn-presets_444_warp.frag");

/// The shortest shaders of the sample, as if each instruction took 10 µs.
fn measured() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(&["shader", "collect", SAMPLE, "--into", &sandbox.text("corpus")], 0);
    let list = std::fs::read_to_string(sandbox.path("corpus/corpus.jsonl")).expect("a list");
    let mut entries = corpus::read(&list).expect("entries");
    entries.sort_by(|a, b| (a.instructions, &a.id).cmp(&(b.instructions, &b.id)));
    let row = |e: &corpus::Entry| format!("{},{},done,llvmpipe of a test\n", e.id, 1e-3 + 1e-5 * f64::from(e.instructions));
    let rows: String = entries.iter().take(16).map(row).collect();
    std::fs::write(sandbox.path("shots.csv"), format!("shader,seconds,status,device\n{rows}")).expect("written");
    sandbox
}

/// The arguments of `verb` for the transformer.
fn args<'a>(sandbox: &Sandbox, verb: &'a str, more: &[&'a str]) -> Vec<String> {
    let (corpus, shots) = (sandbox.text("corpus"), sandbox.text("shots.csv"));
    let all = ["shader", verb, "--model", "transformer", "--corpus", &corpus, "--shots", &shots];
    all.iter().chain(more).map(|arg| (*arg).to_owned()).collect()
}

fn run(sandbox: &Sandbox, verb: &str, more: &[&str], code: i32) -> std::process::Output {
    let args = args(sandbox, verb, more);
    sandbox.run(&args.iter().map(String::as_str).collect::<Vec<_>>(), code)
}

fn json(sandbox: &Sandbox, args: &[&str]) -> Value {
    serde_json::from_slice(&sandbox.run(&[args, &["--json"]].concat(), 0).stdout).expect("JSON")
}

#[test]
fn a_network_is_trained_asked_and_judged() {
    let sandbox = measured();
    let [model, table, picture] = ["model.json", "curve.csv", "curve.svg"].map(|name| sandbox.text(name));
    let output = run(&sandbox, "train", &["--epochs", "2", "--out", &model, "--curve", &table, "--curve", &picture, "--json"], 0);
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let network = &found["network"];
    let count = |name: &str| network[name].as_u64().expect(name);
    assert_eq!(count("training") + count("selection") + count("unseen"), 16);
    assert_eq!((count("weights"), network["curve"]["epochs"].as_array().map(Vec::len)), (323_233, Some(2)));
    assert!(network["scores"]["mape"].as_f64().is_some_and(f64::is_finite) && network["lean+trees"]["mape"].is_f64());
    let curve = std::fs::read_to_string(&table).expect("a curve");
    assert_eq!(curve.lines().count(), 3, "{curve}");
    assert!(std::fs::read_to_string(&picture).expect("a picture").contains("Learning curve of the transformer, lavapipe"));

    let answer = json(&sandbox, &["shader", "predict", SHADER, "--model", &model]);
    let device = &answer["shaders"][0]["devices"][0];
    let (seconds, low, high) = (&device["seconds"], &device["interval"][0], &device["interval"][1]);
    let [seconds, low, high] = [seconds, low, high].map(|v| v.as_f64().expect("a time"));
    assert!(0.0 < low && low < seconds && seconds < high, "{device}");
    let same = json(&sandbox, &["shader", "diff", SHADER, SHADER, "--model", &model]);
    assert_eq!(same["devices"][0]["change"].as_f64(), Some(0.0), "{same}");

    let judged = run(&sandbox, "evaluate", &["--only", "group", "--epochs", "1", "--html", &sandbox.text("page.html"), "--json"], 0);
    let judged: Value = serde_json::from_slice(&judged.stdout).expect("JSON");
    let first = &judged["models"][0];
    assert_eq!((first["model"].as_str(), first["group"]["shaders"].as_u64()), (Some("transformer"), Some(16)));
    assert!(first["untraced"].is_null() && first["coverage"].is_f64(), "{first}");
}

/// Waits until a training was kept.
fn kept(sandbox: &Sandbox, child: &mut Child) {
    let begun = Instant::now();
    let any = || {
        std::fs::read_dir(sandbox.path("kept"))
            .is_ok_and(|mut files| files.any(|f| f.is_ok_and(|f| f.path().extension().is_some_and(|e| e == "training"))))
    };
    while !any() {
        assert!(begun.elapsed() < Duration::from_secs(120) && child.try_wait().expect("waits").is_none(), "nothing was kept");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_training_goes_on_where_it_was_killed() {
    let sandbox = measured();
    let whole = sandbox.text("whole.json");
    run(&sandbox, "train", &["--epochs", "8", "--out", &whole], 0);
    let (parts, folder) = (sandbox.text("parts.json"), sandbox.text("kept"));
    let more = ["--epochs", "8", "--out", &parts, "--checkpoints", &folder];
    let start = || {
        let args = args(&sandbox, "train", &more);
        let mut command = sandbox.command(&args.iter().map(String::as_str).collect::<Vec<_>>());
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts")
    };
    let mut killed = start();
    kept(&sandbox, &mut killed);
    killed.kill().expect("killed");
    killed.wait().expect("ends");
    assert!(!sandbox.path("parts.json").exists());
    let mut interrupted = start();
    // It has to read the shaders first; there is no hurry to be missed.
    std::thread::sleep(Duration::from_millis(100));
    let id = interrupted.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().expect("kill").success());
    interrupted.wait().expect("ends");
    run(&sandbox, "train", &more, 0);
    let [whole, parts] = [&whole, &parts].map(|file| std::fs::read_to_string(file).expect("a model"));
    assert!(whole == parts, "a training that was killed and interrupted gives another model");

    // What was kept is damaged.
    let file = std::fs::read_dir(&folder).expect("a folder").next().expect("a file").expect("a file").path();
    std::fs::write(&file, b"wsnet").expect("written");
    let text = said(&run(&sandbox, "train", &more, 2));
    assert!(text.contains("no training of warpsight's") && text.contains(".training"), "{text}");
}

#[test]
fn what_no_network_can_be_made_of_is_refused() {
    let sandbox = measured();
    let out = sandbox.text("model.json");
    let (corpus, shots, rows) = (sandbox.text("corpus"), sandbox.text("shots.csv"), sandbox.text("rows.jsonl"));
    sandbox.run(&["shader", "train", "--model", "sh", "--corpus", &corpus, "--shots", &shots, "--rows", &rows, "--out", &out], 0);
    let text = said(&sandbox.run(&["shader", "train", "--model", "transformer", "--rows", &rows, "--out", &out], 2));
    assert!(text.contains("this model reads modules") && text.contains("give --corpus and --shots"), "{text}");
    let text = said(&sandbox.run(&["shader", "train", "--model", "sh", "--rows", &rows, "--out", &out, "--epochs", "3"], 2));
    assert!(text.contains("for --model transformer"), "{text}");
    let text = said(&run(&sandbox, "train", &["--out", &out, "--processor", "cuda"], 3));
    assert!(text.contains("this build trains on CPUs only") || text.contains("no CUDA device"), "{text}");
    let text = said(&run(&sandbox, "train", &["--out", &out, "--epochs", "0"], 2));
    assert!(text.contains("epochs is out of range"), "{text}");
}
