//! What `optimize` prints, stores and writes.

#[path = "common/page.rs"]
mod page;

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const NET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/text-orientation.onnx");
const CONV: &str = "conv2d n=1 c=3 h=6 w=7 k=5 r=3 s=3 stride=1 pad=1";

fn command(store: &Path, args: &[&str]) -> Command {
    let mut command = warpsight(args);
    command.arg("--store").arg(store);
    command
}

/// The command, which keeps what it measures of this processor where all of these find it.
fn warpsight(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsight"));
    command.args(args).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON on stdout")
}

fn sum(pruned: &Value) -> u64 {
    pruned.as_object().expect("an object").values().map(|n| n.as_u64().expect("a count")).sum()
}

#[test]
fn one_operator_as_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = json(&command(&folder.path().join("s"), &["optimize", "--op", CONV, "--json"]).output().expect("starts"));
    assert_eq!(report["candidates"].as_u64().expect("a count"), report["ranked"].as_u64().expect("a count") + sum(&report["pruned"]));
    let chosen = &report["chosen"];
    assert!(chosen["predicted_s"].as_f64().is_some_and(|s| s > 0.0) && chosen["time_s"].as_f64().is_some_and(|s| s > 0.0));
    assert_eq!((&chosen["time_source"], &chosen["verified"]), (&Value::from("simulated"), &Value::from(true)));
    assert!(chosen["rel_l2_error"].as_f64().is_some_and(|e| e <= 1e-5));
    assert!(chosen["config"]["vector"].is_number() && chosen["config"]["place_weight"].is_string());
    assert!(report["network"]["max_abs_diff"].is_null());
}

/// Each switch of a pass leaves its mark on the chosen kernel, and what was made by other passes is not taken for it from the store.
#[test]
fn passes_are_switched() {
    const OP: &str = "conv2d n=1 c=16 h=14 w=14 k=16 r=1 s=1";
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("s");
    let dumped = |with: &[&str]| {
        let args = [&["optimize", "--op", OP, "--sequences", "direct", "--dump", "addresses"], with].concat();
        let output = command(&store, &args).output().expect("starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let text = dumped(&[]);
    assert!(text.contains("image") && !text.contains('%') && !text.contains("vec4_0"), "{text}");
    assert!(!dumped(&["--without", "set_image"]).contains("image"));
    assert!(dumped(&["--without", "autobroadcast"]).contains("vec4_0"));
    assert!(dumped(&["--without", "addresses"]).contains('%'));
    assert!(dumped(&["--without", "set_image,qualifiers"]).contains("read write buffer"));

    let run = |with: &[&str]| json(&command(&store, &[&["optimize", "--op", OP, "--json"], with].concat()).output().expect("starts"));
    let time = |report: &Value| report["chosen"]["time_s"].as_f64().expect("seconds");
    let plain = time(&run(&[]));
    // By a profile that does not have operands copied to local memory, of which few addresses are left to make.
    const UNSTAGED: [&str; 2] = ["--profile", "adreno640"];
    assert!(time(&run(&[&UNSTAGED[..], &["--without", "addresses"]].concat())) > 1.1 * time(&run(&UNSTAGED)));
    assert_eq!(time(&run(&[])), plain);
    let patterns = run(&["--with", "patterns"]);
    // What is copied to local memory lies in buffers, whatever patterns there are.
    assert!(patterns["candidates"].as_u64() > run(&[])["candidates"].as_u64().map(|n| 2 * n), "{}", patterns["candidates"]);

    let wrong = command(&store, &["optimize", "--op", OP, "--without", "images"]).output().expect("starts");
    assert!(wrong.status.code() == Some(2) && String::from_utf8_lossy(&wrong.stderr).contains("set_image"));
}

/// What no single kernel computes: its reduction is longer than one work-item's may be.
const LONG: &str = "matmul m=1 n=1 k=33000 weights=none";

#[test]
fn several_kernels_are_one_sequence() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let args = ["optimize", "--op", LONG, "--json", "--out", out.to_str().expect("plain")];
    let report = json(&command(&folder.path().join("s"), &args).output().expect("starts"));
    let steps = report["steps"].as_array().map(Vec::len);
    assert!(steps >= Some(2), "{report}");
    assert_eq!(report["profile"], "sim-adreno640");
    assert_eq!(report["candidates"].as_u64().expect("a count"), report["ranked"].as_u64().expect("a count") + sum(&report["pruned"]));
    let launch: Value = serde_json::from_slice(&std::fs::read(out.join("launch.json")).expect("written")).expect("JSON");
    assert_eq!(launch["shapes"][0]["launches"].as_array().map(Vec::len), steps);
    let kernels =
        std::fs::read_dir(&out).expect("there").filter(|f| f.as_ref().is_ok_and(|f| f.path().extension().is_some_and(|e| e == "cl")));
    assert_eq!(Some(kernels.count()), steps);
    assert!(out.join("matmul.h").exists() && out.join("matmul_host.c").exists());
}

/// What follows from the operator itself is written beside the kernel; all else is the user's to give.
#[test]
fn tables_of_an_operator_are_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let words = |out: &Path, name: &str| -> Vec<f32> {
        let bytes = std::fs::read(out.join(name)).expect("written");
        bytes.chunks_exact(4).map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
    };
    for weights in ["constant", "none"] {
        let out = folder.path().join(weights);
        let op = format!("maxpool n=1 c=4 h=8 w=8 r=3 s=3 stride=2 pad=1 weights={weights}");
        let args = ["optimize", "--op", &op, "--json", "--out", out.to_str().expect("plain")];
        json(&command(&folder.path().join("s"), &args).output().expect("starts"));
        let launch: Value = serde_json::from_slice(&std::fs::read(out.join("launch.json")).expect("written")).expect("JSON");
        assert_eq!(launch["shapes"][0]["inputs"], serde_json::json!([0]), "{launch}");
        for name in ["penalty_y.bin", "penalty_x.bin"] {
            let row = [&[f32::NEG_INFINITY][..], &[0.0; 8]].concat();
            assert_eq!(words(&out, name)[..9], row, "{name}: eight elements behind one of padding");
        }
    }
}

/// Each part of a tensor that is split is a result.
#[test]
fn a_split_tensor_is_all_of_its_parts() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let args = ["optimize", "--op", "split n=6 c=40 parts=5", "--json", "--out", out.to_str().expect("plain")];
    let report = json(&command(&folder.path().join("s"), &args).output().expect("starts"));
    assert_eq!(report["steps"].as_array().map(Vec::len), Some(5), "{report}");
    let launch: Value = serde_json::from_slice(&std::fs::read(out.join("launch.json")).expect("written")).expect("JSON");
    let shape = &launch["shapes"][0];
    assert_eq!((shape["inputs"].as_array().map(Vec::len), shape["outputs"].as_array().map(Vec::len)), (Some(1), Some(5)), "{launch}");
}

#[test]
fn a_full_disk_behind_stdout_is_an_error() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        eprintln!("skipped: no /dev/full here");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let output = command(&folder.path().join("s"), &["optimize", "--op", CONV]).stdout(full).output().expect("starts");
    assert_eq!(output.status.code(), Some(5), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn two_runs_share_a_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("s");
    let start = || command(&store, &["optimize", "--op", CONV, "--json"]).stdout(Stdio::piped()).spawn().expect("starts");
    let both = [start(), start()];
    for run in both {
        json(&run.wait_with_output().expect("ends"));
    }
    let samples = warpsight_learn::Store::open(&store).expect("opens").samples(warpsight_learn::Filter::default()).expect("reads");
    assert_eq!(samples.len(), 2);
    assert!(samples.iter().all(|s| s.sample.verified && s.sample.times.len() == 5));
}

#[cfg(unix)]
#[test]
fn an_interrupted_search_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("s");
    let op = "conv2d n=1 c=4 h=12 w=12 k=8 r=3 s=3 stride=1 pad=1";
    let args = ["optimize", "--op", op, "--search", "exhaustive", "--json"];
    let search = command(&store, &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let count = || warpsight_learn::Store::open(&store).and_then(|s| s.samples(warpsight_learn::Filter::default())).map_or(0, |s| s.len());
    for _ in 0..200 {
        std::thread::sleep(Duration::from_millis(100));
        if count() > 20 {
            break;
        }
    }
    let killed = Command::new("kill").args(["-INT", &search.id().to_string()]).status().expect("kill is there");
    assert!(killed.success());
    let output = search.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    let kept = count();
    assert!(kept > 20, "{kept} samples kept");
}

/// The searches in a store of schema 3, whose families have keys that lead nowhere back, go on: the Programs under them say what they are.
#[test]
fn a_search_of_an_earlier_store_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s");
    // That release's simulator would be another device.
    let fixture = include_str!("../../learn/tests/fixtures/v3.sql");
    let assumed = warpsight_sim::Silicon::adreno640().assumed.len();
    let driver = format!("warpsight-sim {}, simulated; {assumed} numbers of its silicon are assumed", env!("CARGO_PKG_VERSION"));
    let fixture = fixture.replace("warpsight-sim 0.1.0", &driver);
    // Schedules of version 2 made it; later ones lower these expressions to the same Programs.
    let schedules = format!(" v{}", warpsight_generate::family::VERSION);
    assert!(fixture.contains(" v2"), "the schedules' version");
    let fixture = fixture.replace(" v2", &schedules);
    rusqlite::Connection::open(&path).and_then(|c| c.execute_batch(&fixture)).expect("the fixture");
    let count = || warpsight_learn::Store::open(&path).and_then(|s| s.samples(Default::default())).expect("reads").len();
    let search = |op: &str| {
        let args = ["optimize", "--op", op, "--top", "1", "--search", "exhaustive", "--json"];
        let report = json(&command(&path, &args).output().expect("starts"));
        (report["timed"].as_u64().expect("a count"), report["best"]["time_s"].as_f64().expect("seconds"))
    };
    assert_eq!(count(), 5);
    // All four were timed then; the model's choice alone is timed anew.
    let (timed, best) = search("matmul m=2 n=1 k=1");
    assert_eq!((timed, count()), (4, 5 + 1));
    // Of the other one, only what a model chose then was: today's choice is verified, and the other two are timed, then verified as finalists.
    let before = count();
    let (timed, _) = search("matmul m=1 n=2 k=1");
    assert_eq!((timed, count()), (4, before + 5));
    // What is stored now goes on as well.
    let before = count();
    assert_eq!((search("matmul m=2 n=1 k=1"), search("matmul m=1 n=2 k=1").0, count()), ((4, best), 4, before + 2));
    // An expression of the same name that nobody searched is not taken for one of them.
    search("matmul m=3 n=1 k=1");
    assert!(count() > before + 2 + 3, "{}", count());
}

/// What was timed before a knob was there is what its first value makes: a search goes on.
#[test]
fn a_search_from_before_a_knob_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s");
    let count = || warpsight_learn::Store::open(&path).and_then(|s| s.samples(Default::default())).expect("reads").len();
    let search = || {
        let args = ["optimize", "--op", "matmul m=2 n=2 k=4", "--sequences", "direct", "--search", "exhaustive", "--json"];
        let report = json(&command(&path, &args).output().expect("starts"));
        (report["timed"].as_u64().expect("a count"), count())
    };
    let (timed, all) = search();
    let (again, more) = search();
    assert!(timed >= 10 && again == timed && more - all < 4, "{timed} {all}, then {again} {more}");
    // As a store of then has it, which nobody may change.
    let store = rusqlite::Connection::open(&path).expect("opens");
    store.execute_batch("DROP TRIGGER sample_kept").expect("is there");
    let changed =
        store.execute(r#"UPDATE sample SET config = replace(config, '"stage_ahead":"none",', '') WHERE config LIKE '%stage_ahead%'"#, []);
    assert_eq!(changed, Ok(more), "each has that knob");
    let (earlier, with) = search();
    assert!(earlier == timed && with - more < 4, "{earlier} {with}");
}

/// What is picked stands beside the fastest of everything, of one kernel and of sequences.
#[test]
fn a_choice_is_held_against_everything() {
    let folder = tempfile::tempdir().expect("a folder");
    let search = |op: &str, more: &[&str]| {
        let args = [&["optimize", "--op", op, "--search", "exhaustive", "--json"], more].concat();
        json(&command(&folder.path().join("s"), &args).output().expect("starts"))
    };
    let one = search("matmul m=3 n=4 k=5", &[]);
    let three = search("softmax n=2 c=6", &["--sequences", "direct"]);
    let all = search("softmax n=2 c=6", &[]);
    for report in [&one, &three, &all] {
        let (picked, best) = (number(&report["picked_s"]), number(&report["best"]["time_s"]));
        assert!((number(&report["loss_percent"]) - 100.0 * (picked / best - 1.0)).abs() < 1e-9 && best <= picked, "{report}");
        let searched = report["searched"].as_array().expect("sequences");
        let least = searched.iter().map(|own| number(&own["time_s"])).fold(f64::INFINITY, f64::min);
        assert_eq!(best, least.min(picked));
        // What was not timed to its end took longer, or did not run.
        let counted = |own: &Value| ["timed", "slower", "refused", "beyond_limits"].map(|name| number(&own[name])).iter().sum::<f64>();
        assert!(searched.iter().all(|own| counted(own) == number(&own["candidates"])), "{searched:?}");
        // Ranks are compared of what was timed to its end, and it says so.
        let (correlated, slower) = (&report["correlated"], searched.iter().any(|own| number(&own["slower"]) > 0.0));
        assert!(number(&correlated["configurations"]) <= number(&report["timed"]), "{report}");
        assert!(correlated["within_times_the_least"].is_null() || slower, "{report}");
    }
    assert_eq!(one["chosen"]["time_s"], one["picked_s"]);
    assert_eq!(number(&one["searched"][0]["candidates"]), number(&one["candidates"]), "the pick is of what is timed");
    let steps = three["best"]["steps"].as_array().expect("kernels");
    let sum: f64 = steps.iter().map(|step| number(&step["time_s"])).sum();
    assert!(steps.len() == 3 && sum >= number(&three["best"]["time_s"]), "{steps:?}");
    let names: Vec<&str> = all["searched"].as_array().expect("sequences").iter().filter_map(|own| own["name"].as_str()).collect();
    assert_eq!(names, ["direct", "rows", "rows_kept", "held"]);
    assert!(number(&all["best"]["time_s"]) <= number(&three["best"]["time_s"]));
}

/// A simulated phone is judged by what a probe found of it, under its own name and as a file; by another profile where one is named.
#[test]
fn files_of_simulated_phones_are_judged_as_the_phones() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy.toml");
    let silicon = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sim/devices");
    let judged = |device: &str, more: &[&str]| {
        let args = [&["optimize", "--op", "fc n=1 k=8 m=8", "--device", device, "--json"], more].concat();
        json(&command(&folder.path().join("s"), &args).output().expect("starts"))["profile"].clone()
    };
    for (name, wanted) in [("adreno640", "sim-adreno640"), ("mali-g76", "sim-mali-g76"), ("a100-40", "a100-40")] {
        std::fs::copy(format!("{silicon}/{name}.toml"), &copy).expect("copied");
        let file = format!("sim:{}", copy.display());
        assert_eq!((judged(&format!("sim:{name}"), &[]), judged(&file, &[])), (wanted.into(), wanted.into()), "{name}");
    }
    assert_eq!(judged("sim:adreno640", &["--profile", "adreno640"]), "adreno640");
}

/// What is said of a chosen kernel by a verb: seconds, limiter and interval, each bit of them.
fn bits(seconds: &Value, limiter: &Value, interval: &Value) -> (u64, String, Vec<u64>) {
    let bits = |number: &Value| number.as_f64().expect("a number").to_bits();
    (bits(seconds), limiter.to_string(), interval.as_array().expect("an interval").iter().map(bits).collect())
}

#[test]
fn what_is_said_of_the_shipped_network_agrees() {
    let folder = tempfile::tempdir().expect("a folder");
    let [page, accesses] = ["net.html", "accesses"].map(|name| folder.path().join(name).display().to_string());
    let args = ["optimize", NET, "--json", "--html", &page, "--accesses", &accesses];
    let report = json(&command(&folder.path().join("s"), &args).output().expect("starts"));
    predict_says_of_what_a_kernel_touches_what_optimize_says_of_the_kernel(&report);
    the_page_says_what_the_json_says(&std::fs::read_to_string(page).expect("a page"), &report);
}

fn predict_says_of_what_a_kernel_touches_what_optimize_says_of_the_kernel(report: &Value) {
    let rows = report["operators"].as_array().expect("operators");
    assert!(rows.len() >= 60, "{}", rows.len());
    let [between, pass] = ["between_bytes", "pass_bytes"].map(|name| report["network"][name].as_f64().unwrap_or_else(|| panic!("{name}")));
    assert!(between > 1e5 && pass > between + 4e5, "{between} {pass}");
    let meanwhile = [between, pass].map(|bytes| bytes.to_string());
    let mut files: Vec<&str> = vec![];
    for row in rows {
        let file = row["accesses"].as_str().expect("a file");
        let said = predicted(file, "sim-adreno640", &meanwhile);
        let expected = bits(&row["predicted_s"], &row["limiter"], &row["interval_s"]);
        assert_eq!(bits(&said["seconds"], &said["limiter"], &said["interval"]["seconds"]), expected, "{file}: {row}");
        files.push(file);
    }
    files.sort_unstable();
    files.dedup();
    assert_eq!(files.len(), rows.len());
}

/// The same on a driver that runs kernels on this processor, of which `host` is the profile: buffers of every kind of loop, no images.
#[test]
fn predict_says_of_this_processor_what_optimize_says_of_its_kernels() {
    let devices = Command::new(env!("CARGO_BIN_EXE_warpsight")).args(["devices", "--json"]).output().expect("starts");
    if !String::from_utf8_lossy(&devices.stdout).contains("opencl:0") {
        eprintln!("skipped: no OpenCL device here");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("kernels").display().to_string();
    let operators = [(CONV, 1), ("matmul m=13 n=20 k=37 batch=3 dtype=f16s", 1), ("softmax n=4 c=100", 1), (LONG, 2)];
    for (op, kernels) in operators {
        let args = ["optimize", "--op", op, "--device", "opencl:0", "--top", "1", "--json", "--accesses", &out];
        let report = json(&command(&folder.path().join("s"), &args).output().expect("starts"));
        let rows = report["steps"].as_array().map_or_else(|| vec![&report["chosen"]], |steps| steps.iter().collect());
        assert!(rows.len() >= kernels, "{op}: {report}");
        for row in rows {
            let file = row["accesses"].as_str().expect("a file");
            let said = predicted(file, "host", &NOTHING);
            let expected = bits(&row["predicted_s"], &row["limiter"], &row["interval_s"]);
            assert_eq!(bits(&said["seconds"], &said["limiter"], &said["interval"]["seconds"]), expected, "{op}, {file}: {row}");
        }
    }
}

fn the_page_says_what_the_json_says(html: &str, report: &Value) {
    let found = page::sound(html, report);
    let layers = report["layers"].as_array().expect("layers");
    assert_eq!(layers.len(), 74);
    // Two bars of every kernel, and its row.
    assert!(found["layers"] >= 4 * layers.len(), "{found:?}");
    assert!(found["memory"] > 3 && found["network"] == 3, "{found:?}");
    let sum = |key: &str| layers.iter().map(|layer| layer[key].as_f64().expect("a number")).sum::<f64>();
    let close = |a: f64, b: &Value| (a / b.as_f64().expect("a number") - 1.0).abs() < 1e-9;
    assert!(close(sum("predicted_s"), &report["network"]["predicted_s"]) && close(sum("time_s"), &report["network"]["kernels_s"]));
    // A simulator takes the same each time: the fastest pass is all of them, and so is each kernel's.
    let network = &report["network"];
    assert!(
        close(sum("fastest_s"), &network["fastest_kernels_s"])
            && network["fastest_s"].is_f64()
            && network["fastest_s"] == network["time_s"]
    );
    assert!((sum("share_percent") - 100.0).abs() < 1e-9);
    // Tensors that share memory are never needed together but where one is written over the other, and what is allocated is what the slots hold.
    let memory = &report["memory"];
    let slots: Vec<u64> = memory["slots"].as_array().expect("slots").iter().filter_map(Value::as_u64).collect();
    assert_eq!(memory["total_bytes"].as_u64(), Some(slots.iter().sum()));
    let tensors = memory["tensors"].as_array().expect("tensors");
    let number = |tensor: &Value, key: &str| tensor[key].as_u64().expect("a number");
    for (n, a) in tensors.iter().enumerate() {
        assert!(number(a, "own_bytes") <= slots[number(a, "slot") as usize] && number(a, "last") < layers.len() as u64);
        for b in &tensors[..n] {
            let apart = number(a, "first") > number(b, "last") || number(b, "first") > number(a, "last");
            let over = |a, b| number(a, "first") == number(b, "last") && a["own_bytes"] == b["own_bytes"];
            assert!(a["slot"] != b["slot"] || apart || over(a, b) || over(b, a), "{a} {b}");
        }
    }
}

/// What `predict` says of a file, as JSON.
/// A kernel that is launched again and again.
const NOTHING: [&str; 2] = ["0", "0"];

fn predicted(file: &str, device: &str, [between, pass]: &[impl AsRef<str>; 2]) -> Value {
    let args = ["predict", file, "--device", device, "--between", between.as_ref(), "--pass", pass.as_ref(), "--json"];
    json(&warpsight(&args).output().expect("starts"))
}

#[test]
fn what_chosen_kernels_touch_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("new/kernels");
    let optimize = |op: &str, more: &[&str]| {
        let args = [&["optimize", "--op", op, "--json", "--accesses", out.to_str().expect("plain")], more].concat();
        command(&folder.path().join("s"), &args).output().expect("starts")
    };
    // One kernel, and several.
    let one = json(&optimize(CONV, &[]));
    let several = json(&optimize(LONG, &[]));
    let files: Vec<&str> =
        several["steps"].as_array().expect("steps").iter().map(|step| step["accesses"].as_str().expect("a file")).collect();
    let file = one["chosen"]["accesses"].as_str().expect("a file");
    let names = ["0_conv2d.toml", "0_matmul_k_part_0.toml", "1_matmul_1.toml"];
    assert_eq!([&[file][..], &files].concat(), names.map(|name| out.join(name).display().to_string()));
    for (file, kernel) in [file].iter().chain(&files).zip(["conv2d", "matmul_k_part_0", "matmul_1"]) {
        let text = std::fs::read_to_string(file).expect("written");
        assert!(text.starts_with("# ") && text.contains(&format!("\nname = \"{kernel}\"\n")) && !text.contains("seconds"), "{text}");
        for device in ["adreno640", "host"] {
            let said = predicted(file, device, &NOTHING);
            assert!(said["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{file} on {device}: {said}");
        }
    }
    // The same where everything is timed, whose kernels are timed one by one.
    let all = json(&optimize("matmul m=1 n=1 k=3", &["--search", "exhaustive"]));
    assert_eq!(all["chosen"]["accesses"].as_str(), out.join("0_matmul.toml").to_str());
    // Where there can be no folder, nothing is said to be there.
    let taken = format!("{file}/kernels");
    let args = ["optimize", "--op", CONV, "--accesses", &taken];
    let refused = command(&folder.path().join("s"), &args).output().expect("starts");
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(5), 0), "{}", String::from_utf8_lossy(&refused.stderr));
    let dumped =
        command(&folder.path().join("s"), &["optimize", "--op", CONV, "--dump", "tile", "--accesses", "d"]).output().expect("starts");
    assert_eq!(dumped.status.code(), Some(2), "a step of lowering chooses nothing to write");
}

/// What `--trace` wrote while an operator was optimized, and what was printed.
fn traced(device: &str, op: &str) -> (Value, Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("trace.json");
    let args = ["optimize", "--op", op, "--device", device, "--json", "--trace", file.to_str().expect("plain")];
    let report = json(&command(&folder.path().join("s"), &args).output().expect("starts"));
    let trace = serde_json::from_slice(&std::fs::read(&file).expect("written")).expect("JSON");
    (trace, report)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number: {value}"))
}

/// Events of a kind, and where they say so of a category.
fn events<'a>(trace: &'a Value, phase: &str, category: Option<&str>) -> Vec<&'a Value> {
    let all = trace["traceEvents"].as_array().expect("events").iter();
    all.filter(|event| event["ph"] == phase && category.is_none_or(|own| event["cat"] == own)).collect()
}

/// From when to when, in microseconds.
fn lasts(event: &Value) -> (f64, f64) {
    (number(&event["ts"]), number(&event["ts"]) + number(&event["dur"]))
}

fn row(event: &Value) -> (u64, u64) {
    (event["pid"].as_u64().expect("a process"), event["tid"].as_u64().expect("a row"))
}

#[test]
fn a_trace_shows_waves_and_caches_of_the_chosen_kernel() {
    for device in ["sim:adreno640", "sim:a100-40"] {
        let (trace, report) = traced(device, "matmul m=64 n=96 k=48");
        let about = &trace["otherData"];
        assert_eq!((&about["kind"], &about["device"]), (&Value::from("simulated"), &Value::from(device)));
        let silicon = warpsight_sim::Silicon::named(&device[4..]).expect("built in");
        assert_eq!((&about["assumed"], &about["left_out"]), (&Value::from(silicon.assumed.len()), &Value::Array(vec![])));
        let [launch] = events(&trace, "X", Some("launch"))[..] else { panic!("one launch") };
        assert_eq!(launch["name"], report["name"]);
        let end = lasts(launch).1;
        assert!((end * 1e-6 / number(&report["chosen"]["time_s"]) - 1.0).abs() < 1e-9, "{launch} {report}");

        // Each row has a name and one wave at a time; waits lie within the wave that is there.
        let waves = events(&trace, "X", Some("wave"));
        let names = |what: &str| events(&trace, "M", None).into_iter().filter(|event| event["name"] == what).count();
        let mut rows: Vec<(u64, u64)> = waves.iter().map(|wave| row(wave)).collect();
        rows.sort_unstable();
        rows.dedup();
        let cores: std::collections::BTreeSet<u64> = rows.iter().map(|row| row.0).collect();
        assert_eq!((names("thread_name"), names("process_name")), (rows.len() + 1, cores.len() + 1));
        let close = 1e-6;
        for own in rows {
            let mut last = 0.0;
            for (from, to) in waves.iter().filter(|wave| row(wave) == own).map(|wave| lasts(wave)) {
                assert!(from >= last - close && from < to && to <= end + close, "{own:?}: {from} {to} after {last}");
                last = to;
            }
        }
        let waits = [events(&trace, "X", Some("memory")), events(&trace, "X", Some("barrier"))].concat();
        assert!(waits.iter().any(|wait| wait["args"]["level"] == "L2") && waves.len() > 1);
        for wait in waits {
            let (from, to) = lasts(wait);
            let within = |wave: &&&Value| row(wave) == row(wait) && lasts(wave).0 <= from + close && to <= lasts(wave).1 + close;
            assert_eq!(waves.iter().filter(within).count(), 1, "{wait}");
        }

        // What caches answered adds up to what the launch says; nothing runs on.
        let counted = |track: &str, what: &str| -> u64 {
            let own = events(&trace, "C", None).into_iter().filter(|event| event["name"] == track);
            own.map(|event| event["args"][what].as_u64().expect("a count")).sum()
        };
        let traffic = &launch["args"]["traffic"];
        for (track, what, total) in [
            ("texture L1 lines", "hits", "texture_hits"),
            ("texture L1 lines", "misses", "texture_misses"),
            ("L1 lines", "hits", "l1_hits"),
            ("L1 lines", "misses", "l1_misses"),
            ("L2 lines", "hits", "l2_hits"),
            ("L2 lines", "misses", "l2_misses"),
            ("DRAM bytes", "read", "dram_read"),
        ] {
            assert_eq!(Value::from(counted(track, what)), traffic[total], "{device}: {track}, {what}");
        }
        assert!(counted("L2 lines", "hits") > 0);
        let fit = number(&launch["args"]["waves_that_fit"]);
        let resident: Vec<(u64, f64)> = events(&trace, "C", None)
            .into_iter()
            .filter(|event| event["name"] == "waves")
            .map(|event| (event["pid"].as_u64().expect("a core"), event["args"].as_object().expect("states").values().map(number).sum()))
            .collect();
        assert!(resident.iter().all(|(_, waves)| (0.0..=fit * (1.0 + 1e-9)).contains(waves)), "{resident:?}");
        for core in cores {
            assert_eq!(resident.iter().rfind(|(own, _)| *own == core).map(|own| own.1), Some(0.0));
        }
    }
}

#[test]
fn kernels_of_an_operator_are_traced_one_after_another() {
    let (trace, report) = traced("sim:adreno640", LONG);
    let launches = events(&trace, "X", Some("launch"));
    assert_eq!(launches.len(), report["steps"].as_array().map_or(0, Vec::len));
    let mut now = 0.0;
    for launch in &launches {
        assert!((lasts(launch).0 - now).abs() < 1e-9, "{launch}");
        now = lasts(launch).1;
    }
    assert!((now * 1e-6 / number(&report["chosen"]["time_s"]) - 1.0).abs() < 1e-9, "{now} {report}");
    let last = launches.last().expect("three");
    assert!(events(&trace, "X", Some("wave")).into_iter().any(|wave| lasts(wave).0 > lasts(last).0), "waves of the last one");
}

#[test]
fn what_cannot_be_traced_is_said_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("t.json");
    let refused = |more: &[&str], to: &Path, code: i32| {
        let args = [&["optimize", "--trace", to.to_str().expect("plain")], more].concat();
        let output = command(&folder.path().join("s"), &args).output().expect("starts");
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(!to.exists() && !folder.path().join("s").exists(), "nothing was begun");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let said = refused(&["--op", CONV, "--device", "opencl:0"], &file, 2);
    assert!(said.contains("--trace") && said.contains("`opencl:0` is none"), "{said}");
    refused(&["--op", CONV], &folder.path().join("no/t.json"), 5);
    let said = refused(&[NET], &file, 2);
    assert!(said.contains("cannot be used with"), "{said}");
    refused(&["--op", CONV, "--dump", "program"], &file, 2);
}

/// A small product, whose spaces are walked in no time.
const PRODUCT: &str = "matmul m=16 n=16 k=16";

#[test]
fn pruning_is_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |rule: &str, more: &[&str]| {
        let args = [&["optimize", "--op", PRODUCT, "--prune", rule, "--explain-pruning"], more].concat();
        command(&folder.path().join("s"), &args).output().expect("starts")
    };
    let step = |rule: &str| json(&run(rule, &["--json"]))["steps"][0].clone();
    let (none, hardware, paper) = (step("none"), step("hardware"), step("paper001"));
    for own in [&none, &hardware, &paper] {
        assert_eq!(own["candidates"], none["candidates"]);
        assert_eq!(own["candidates"].as_u64().expect("a count"), own["left"].as_u64().expect("a count") + sum(&own["dropped"]));
    }
    let left = |own: &Value| own["left"].as_u64().expect("a count");
    assert!(0 < left(&hardware) && left(&hardware) * 4 < left(&none), "{hardware}");
    assert!(hardware["nearest"].is_null());
    assert_eq!(left(&paper), 0, "a texel for each lane of a warp fills the cache");
    let violated = paper["nearest"]["violated"].as_object().expect("criteria");
    assert!(!violated.is_empty() && violated.values().all(|over| over.as_f64().is_some_and(|over| over > 1.0)), "{paper}");
    let text = String::from_utf8(run("paper001", &[]).stdout).expect("text");
    assert!(text.contains("least violated by") && text.contains("l1_cache"), "{text}");
}

#[test]
fn what_is_left_is_chosen_from() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |rule: &str| {
        let args = ["optimize", "--op", PRODUCT, "--prune", rule, "--json"];
        command(&folder.path().join("s"), &args).output().expect("starts")
    };
    let report = json(&run("hardware"));
    assert_eq!(report["candidates"].as_u64().expect("a count"), report["ranked"].as_u64().expect("a count") + sum(&report["pruned"]));
    assert!(report["pruned"]["data_access_width"].as_u64().is_some_and(|count| count > 0), "{}", report["pruned"]);
    let chosen = &report["chosen"];
    let [bound, time, part] = ["bound_s", "time_s", "percent_of_bound"].map(|key| chosen[key].as_f64().expect("a number"));
    assert!(0.0 < bound && bound < time && (part - 100.0 * bound / time).abs() < 1e-9, "{chosen}");
    let nothing = run("paper001");
    let said = String::from_utf8_lossy(&nothing.stderr).into_owned();
    assert_eq!(nothing.status.code(), Some(2), "{said}");
    assert!(said.contains("least") && said.contains("l1_cache"), "{said}");
}

/// The full space has the patterns of texels, too.
#[test]
fn a_full_space_has_patterns() {
    let folder = tempfile::tempdir().expect("a folder");
    let candidates = |more: &[&str]| {
        let args = [&["optimize", "--op", "softmax n=4 c=8", "--sequences", "rows", "--search", "exhaustive", "--json"], more].concat();
        let report = json(&command(&folder.path().join("s"), &args).output().expect("starts"));
        number(&report["searched"][0]["candidates"])
    };
    let full = candidates(&["--space", "full"]);
    assert!(full > candidates(&[]));
    assert_eq!(full, candidates(&["--space", "full", "--with", "patterns"]));
}
