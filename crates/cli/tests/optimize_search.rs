//! `optimize --search random|evolutionary|anneal`: what is tried is stored, what is stored is not tried again, and the report says what it came to.

use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const CONV: &str = "conv2d n=1 c=4 h=12 w=12 k=8 r=3 s=3 stride=1 pad=1";

fn command(store: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsight"));
    command.args(args).arg("--store").arg(store);
    command
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON on stdout")
}

/// Configurations in a store.
fn tried(store: &Path) -> HashSet<String> {
    let samples = warpsight_learn::Store::open(store).and_then(|s| s.samples(Default::default())).unwrap_or_default();
    samples.into_iter().map(|own| own.sample.config).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Killed in the middle, the same command goes on from what is stored.
#[cfg(unix)]
#[test]
fn a_killed_search_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("s");
    let args = ["optimize", "--op", CONV, "--sequences", "direct", "--search", "evolutionary", "--budget", "60", "--json"];
    let mut search = command(&store, &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
    for _ in 0..1200 {
        std::thread::sleep(Duration::from_millis(50));
        if tried(&store).len() > 20 {
            break;
        }
    }
    search.kill().expect("is killed");
    search.wait().expect("ends");
    let kept = tried(&store).len();
    assert!((21..60).contains(&kept), "{kept} kept");
    let report = json(&command(&store, &args).output().expect("starts"));
    let own = &report["search"]["kernels"][0];
    assert_eq!((number(&own["runs"]), number(&own["known"])), (60.0, kept as f64), "{own}");
    assert!(tried(&store).len() <= 60 && tried(&store).len() as f64 >= 60.0 - number(&own["slower"]), "{}", tried(&store).len());
    let curve = own["curve"].as_array().expect("points");
    let falls =
        |pair: &[Value]| number(&pair[1]["best_s"]) <= number(&pair[0]["best_s"]) && number(&pair[1]["runs"]) > number(&pair[0]["runs"]);
    assert!(curve.windows(2).all(falls), "{curve:?}");
    assert_eq!(number(&curve[curve.len() - 1]["runs"]), 60.0);
    // What is chosen is what was found, verified, and no worse than the model's pick.
    assert_eq!(report["chosen"]["time_s"], own["best_s"]);
    assert!(number(&own["best_s"]) <= number(&own["picked_s"]) && own["source"] == "simulated", "{own}");
    assert_eq!(report["search"]["strategy"], "evolutionary");
    // All of the budget is known now.
    let again = json(&command(&store, &args).output().expect("starts"));
    assert_eq!(again["chosen"]["config"], report["chosen"]["config"]);
}

/// The kernels of a sequence share the budget, and run together at the end.
#[test]
fn a_sequence_is_searched() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("s");
    let args = ["optimize", "--op", "softmax n=8 c=40", "--sequences", "direct", "--search", "anneal", "--budget", "40", "--json"];
    let report = json(&command(&store, &args).output().expect("starts"));
    let kernels = report["search"]["kernels"].as_array().expect("kernels");
    assert_eq!(kernels.len(), 3, "{report}");
    assert_eq!(kernels.iter().map(|own| number(&own["runs"])).sum::<f64>(), 40.0, "{kernels:?}");
    for (own, step) in kernels.iter().zip(report["steps"].as_array().expect("steps")) {
        assert!(number(&own["best_s"]) <= number(&own["picked_s"]), "{own}");
        assert_eq!(step["verified"], true);
    }
    assert!(number(&report["network"]["max_abs_diff"]) < 1e-5, "{report}");
    // A second expression learns from the first ones.
    let args = ["optimize", "--op", "softmax n=8 c=48", "--sequences", "direct", "--search", "random", "--budget", "6", "--json"];
    let report = json(&command(&store, &args).output().expect("starts"));
    assert!(number(&report["search"]["kernels"][0]["lessons"]) >= 20.0, "{report}");
}

/// What was tried goes to Kernel Tuner and comes back; files of others, or cut short, are said or read as far as they go.
#[test]
fn kernel_tuner_is_told_and_heard() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, tuner) = (folder.path().join("s"), folder.path().join("tuner"));
    let file = |name: &str| tuner.join(name);
    let op = ["optimize", "--op", "matmul m=8 n=8 k=16", "--sequences", "direct"];
    let export = ["--search", "random", "--budget", "30", "--export-kernel-tuner", tuner.to_str().expect("plain"), "--json"];
    let report = json(&command(&store, &[&op[..], &export].concat()).output().expect("starts"));
    let read = |name: &str| std::fs::read_to_string(file(name)).expect("a file");
    let value = |name: &str| serde_json::from_str::<Value>(&read(name)).expect("JSON");
    let problem = value("matmul.t1.json");
    let names: Vec<&str> = problem["ConfigurationSpace"]["TuningParameters"]
        .as_array()
        .expect("parameters")
        .iter()
        .filter_map(|own| own["Name"].as_str())
        .collect();
    assert!(names.starts_with(&["group"]) || names.contains(&"tile_m"), "{names:?}");
    assert!(names.ends_with(&["block_size_x", "block_size_y", "block_size_z", "groups_x", "groups_y", "groups_z"]), "{names:?}");
    let kernels = read("matmul.cl");
    assert_eq!(
        (kernels.matches("#if tile_m ==").count() + kernels.matches("#if group ==").count(), kernels.matches("__kernel").count() >= 30),
        (30, true)
    );
    let results = value("matmul.t4.json")["results"].as_array().expect("results").clone();
    assert_eq!(results.len(), 30);
    let best = results.iter().filter_map(|own| own["times"]["runtimes"][0].as_f64()).fold(f64::INFINITY, f64::min);
    assert!(
        (best * 1e-3 / number(&report["search"]["kernels"][0]["curve"].as_array().expect("points").last().expect("one")["best_s"]) - 1.0)
            .abs()
            < 1e-9
    );
    let cache = read("matmul.cache.json");
    assert!(cache.ends_with("}}}"));
    // Cut short after an entry, as a killed tuner leaves it.
    let cut = cache.rfind("},\"").expect("entries") + 2;
    std::fs::write(file("cut.json"), &cache[..cut]).expect("writes");
    let compare = |name: &str| {
        command(&store, &[&op[..], &["--import-kernel-tuner", file(name).to_str().expect("plain"), "--json"]].concat())
            .output()
            .expect("starts")
    };
    let import = |name: &str| {
        // Importing keeps no samples, and opens no store.
        let own = json(&compare(name));
        (number(&own["rows"]), number(&own["pick"]), own["kernel"].clone())
    };
    let (rows, pick, kernel) = import("matmul.t4.json");
    assert!(rows + number(&json(&compare("matmul.t4.json"))["failed"]) == 30.0 && pick >= 1.0 && kernel == "matmul", "{rows} {pick}");
    assert_eq!(import("matmul.cache.json"), (rows, pick, kernel));
    assert!((import("cut.json").0 - rows).abs() <= 1.0);
    for (name, text, said) in [
        ("a", cache.replace("\"tune_params_keys\"", "\"keys\"").replace("\"tune_params\"", "\"params\""), "tune_params_keys"),
        ("b", cache.replace("\"tile_m\"", "\"tile_q\""), "tile_m"),
        ("c", "{\"results\": 3}".to_owned(), "results"),
        ("d", "tile_m,ms\n1".to_owned(), "1 cells"),
    ] {
        std::fs::write(file(name), text).expect("writes");
        let output = compare(name);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && stderr.contains(said), "{name}: {stderr}");
    }
    // Another store is told of all of it, once; a search takes it for known, verifies what it chooses, and is no worse.
    let other = folder.path().join("other");
    let whole = file("matmul.cache.json");
    let keep = [&op[..], &["--import-kernel-tuner", whole.to_str().expect("plain"), "--keep-imported", "--json"]].concat();
    assert_eq!([(); 2].map(|()| number(&json(&command(&other, &keep).output().expect("starts"))["kept"])), [rows, 0.0]);
    let samples = || warpsight_learn::Store::open(&other).and_then(|own| own.samples(Default::default())).expect("reads");
    let before = samples();
    assert!(before.len() as f64 == rows && before.iter().all(|own| !own.sample.verified), "{} of {rows}", before.len());
    let budget = (rows + 1.0).to_string();
    let search = [&op[..], &["--search", "random", "--budget", &budget, "--json"]].concat();
    let report = json(&command(&other, &search).output().expect("starts"));
    let own = &report["search"]["kernels"][0];
    assert!(number(&own["known"]) >= rows && number(&own["best_s"]) <= best * 1.02e-3, "{own}");
    assert!(samples().iter().any(|own| own.sample.verified));
}

/// A choice says what it is expected to lose; with `auto`, those that are doubted are timed among others, and the sure ones alone.
#[test]
fn doubt_is_told_and_times_several() {
    let folder = tempfile::tempdir().expect("a folder");
    for op in ["matmul m=24 n=24 k=16", "softmax n=8 c=40"] {
        let store = folder.path().join(op.split(' ').next().expect("a name"));
        let args = ["optimize", "--op", op, "--top", "auto", "--json"];
        let report = json(&command(&store, &args).output().expect("starts"));
        let kernels = report["steps"].as_array().cloned().unwrap_or_else(|| vec![report["chosen"].clone()]);
        let timed: usize = kernels.iter().map(|own| if own["doubtful"] == true { 8 } else { 1 }).sum();
        for own in &kernels {
            assert_eq!(own["doubtful"] == true, number(&own["expected_loss_percent"]) > 5.0, "{own}");
        }
        // Those that were wrong or spilled come on top.
        let tried = tried(&store).len();
        assert!(tried >= timed && tried <= timed + 8, "{op}: {tried} for {timed}");
    }
    // A baseline does not know how far off it is, so that all is doubted.
    let args = ["optimize", "--op", "matmul m=8 n=8 k=16", "--model", "roofline", "--json"];
    let report = json(&command(&folder.path().join("other"), &args).output().expect("starts"));
    assert_eq!((&report["chosen"]["doubtful"], &report["chosen"]["expected_loss_percent"]), (&Value::Bool(true), &Value::Null));
}
