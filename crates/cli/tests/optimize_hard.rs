//! `optimize` and `run` on hard inputs: halves, long rows, an impatient user, options that go together badly.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/text-orientation.onnx");

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsight"));
    command.args(args).arg("--store").arg(folder.join("store")).current_dir(folder);
    command
}

fn run(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().expect("starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Every kernel is verified, those of halves within what halves round, those of floats within what floats do.
fn verifies(folder: &Path, device: &str, op: &str) {
    let output = run(folder, &["optimize", "--device", device, "--op", op, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{op} on {device}: {}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let most = match op.split_once("dtype=") {
        Some((_, "f16s")) => 2e-3,
        // No work-item adds up more than 1024.
        Some((_, "f16")) => 1e-2,
        _ => 1e-5,
    };
    let kernels = report["steps"].as_array().cloned().unwrap_or_else(|| vec![report["chosen"].clone()]);
    for kernel in &kernels {
        let error = kernel["rel_l2_error"].as_f64().expect("an error");
        assert!(kernel["verified"] == true && error <= most, "{op} on {device}: {kernel}");
        // A driver may bring itself down (PoCL takes eight halves to begin at multiples of 16 bytes), and a compiler hold more registers than a
        // group of many waves may have; no result is ever wrong.
        let lost = |why: &str| device.starts_with("opencl") && op.contains("f16s") && why.contains("device was lost");
        let full = |why: &str| {
            device.starts_with("sim:") && why.contains("a work-group with barriers, in waves") && why.contains("the device has")
        };
        let mut rejected = kernel["rejected"].as_array().expect("a list").iter().map(|own| own["reason"].as_str().expect("why"));
        assert!(rejected.all(|why| lost(why) || full(why)), "{op} on {device}: {kernel}");
    }
}

#[test]
fn halves_and_long_rows_verify() {
    let folder = tempfile::tempdir().expect("a folder");
    for op in [
        "softmax n=4 c=100 dtype=f16s",
        "softmax n=1 c=1 dtype=f16s",
        "layernorm n=3 c=77 dtype=f16s",
        // Of so many, none is a normal half.
        "softmax n=1 c=100000 dtype=f16s",
        "softmax n=1 c=1000000",
        "layernorm n=2 c=300000",
        "layernorm n=2 c=40009 dtype=f16s",
        // A sum beyond the largest half, were its terms not small.
        "matmul m=1 n=1 k=2000003 dtype=f16s",
        "matmul m=3 n=5 k=40009",
        "fc n=1 k=100003 m=3",
        "conv2d n=1 c=32 h=14 w=14 k=32 r=3 s=3 pad=1 dtype=f16",
        "layernorm n=2 c=40009 dtype=f16",
        "softmax n=1 c=100000 dtype=f16",
        // Of a single result of so many halves, which may be next to nothing by chance, no relative error is told.
        "matmul m=2 n=3 k=200003 dtype=f16",
    ] {
        verifies(folder.path(), "sim:adreno640", op);
    }
}

#[test]
fn halves_and_long_rows_verify_on_a_driver() {
    let folder = tempfile::tempdir().expect("a folder");
    let devices = Command::new(env!("CARGO_BIN_EXE_warpsight")).args(["devices", "--json"]).output().expect("starts");
    if !String::from_utf8_lossy(&devices.stdout).contains("opencl:0") {
        eprintln!("skipped: no OpenCL device here");
        return;
    }
    verifies(folder.path(), "opencl:0", "softmax n=4 c=100 dtype=f16s");
    verifies(folder.path(), "opencl:0", "layernorm n=2 c=40009");
    // What it cannot compute in is said before anything is tried.
    let output = run(folder.path(), &["optimize", "--device", "opencl:0", "--op", "matmul m=4 n=4 k=4 dtype=f16"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("kernel `matmul` computes in half precision (f16), which this device does not have"), "{said}");
    assert!(said.contains("sim:adreno640") && said.contains("dtype=f16s"), "{said}");
}

#[test]
fn what_does_not_fit_the_device_is_refused_before_anything_is_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let begun = Instant::now();
    let output = run(folder.path(), &["optimize", "--op", "softmax n=1 c=2000000000"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("8000000000") && stderr(&output).contains("4294967296"), "{}", stderr(&output));
    let output = run(folder.path(), &["optimize", MODEL, "--input-shape", "x=1,3,48,9999999"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("4294967296"), "{}", stderr(&output));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn options_that_would_be_ignored_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let op = "softmax n=2 c=5";
    for (args, said) in [
        (&[MODEL, "--search", "exhaustive"][..], "--op"),
        (&[MODEL, "--dump", "tile"], "--dump"),
        (&["--op", op, "--input-shape", "x=1"], "--input-shape"),
        (&["--op", op, "--input-value", "x=1"], "--input-value"),
        (&["--op", op, "--dump", "tile", "--out", "kernels"], "--out"),
        (&["--op", op, "--dump", "tile", "--search", "exhaustive"], "--search"),
        (&["--op", op, "--dump", "tile", "--top", "3"], "--top"),
        (&["--op", op, "--budget", "30"], "--search"),
        (&["--op", op, "--search", "exhaustive", "--seed", "3"], "--seed"),
        (&["--op", op, "--space", "full"], "--search exhaustive"),
        (&["--op", op, "--space", "full", "--search", "random"], "--search exhaustive"),
        (&["--op", op, "--keep-imported"], "--import-kernel-tuner"),
        (&["--op", op, "--sequences", "direct", "--prune", "hardware"], "--search exhaustive"),
        (&["--op", op, "--in-process", "--timeout", "9"], "--timeout"),
        (&[MODEL, "--input-shape", "x=1,3,48,192", "--input-shape", "x=1,3,48,96"], "twice"),
    ] {
        let output = run(folder.path(), &[&["optimize"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{args:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty() && !folder.path().join("kernels").exists(), "{args:?}");
    }
    let output = run(folder.path(), &["run", MODEL, "--input", "x=a.npy", "--input", "x=b.npy", "--output", "out"]);
    assert_eq!((output.status.code(), stderr(&output).contains("twice")), (Some(2), true), "{}", stderr(&output));
    // What goes together: a dump as JSON.
    let output = run(folder.path(), &["optimize", "--op", op, "--dump", "tile", "--json"]);
    let dump: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(dump["steps"].as_array().map(Vec::len), Some(1), "{dump}");
    // The simulator too is stopped where a limit is given.
    let output = run(folder.path(), &["optimize", "--op", op, "--timeout", "0"]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("within 0 s"), "{}", stderr(&output));
}

#[cfg(unix)]
#[test]
fn an_interrupt_is_acknowledged_at_once_and_obeyed_within_a_second() {
    use std::io::{BufRead, BufReader, Read};
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let long = ["optimize", "--op", "softmax n=1 c=30000000", "--out", out.to_str().expect("plain")];
    let driver = [&long[..], &["--device", "opencl:0"]].concat();
    let network = ["optimize", MODEL, "--input-shape", "x=1,3,48,99999"];
    // While inputs are drawn and packed, a kernel is simulated, a driver works in its child, a network is ranked and timed.
    for (args, millis) in [(&long[..], 300), (&long[..], 2500), (&driver[..], 2500), (&network[..], 1500)] {
        let mut child = command(folder.path(), args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("starts");
        std::thread::sleep(Duration::from_millis(millis));
        if let Some(status) = child.try_wait().expect("looks") {
            // No such device, or a machine that is very fast.
            assert!(matches!(status.code(), Some(0 | 3)), "{args:?}: {status}");
            eprintln!("skipped {args:?}: it ended with {status}");
            continue;
        }
        let asked = Instant::now();
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there").success());
        let mut said = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        while !line.contains("interrupted") && said.read_line(&mut line).expect("reads") > 0 {}
        let acknowledged = asked.elapsed();
        let status = child.wait().expect("ends");
        let obeyed = asked.elapsed();
        said.read_to_string(&mut line).expect("reads");
        assert_eq!(status.code(), Some(130), "{args:?}: {line}");
        // Twice what is promised: tests run side by side.
        assert!(acknowledged < Duration::from_millis(500) && obeyed < Duration::from_secs(2), "{acknowledged:?}, {obeyed:?}: {line}");
        assert!(!out.exists() || std::fs::read_dir(&out).expect("there").next().is_none(), "nothing half-written");
    }
}

#[cfg(unix)]
#[test]
fn a_second_interrupt_ends_a_verb_that_ends_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("measured");
    let args = ["battery", "--device", "sim:adreno640", "--out", out.to_str().expect("plain")];
    let mut child = Command::new(env!("CARGO_BIN_EXE_warpsight"))
        .args(args)
        .env("XDG_DATA_HOME", folder.path())
        .env("TMPDIR", folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    std::thread::sleep(Duration::from_millis(1500));
    for _ in 0..2 {
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        std::thread::sleep(Duration::from_millis(100));
    }
    let begun = Instant::now();
    assert_eq!(child.wait().expect("ends").code(), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(1));
    let output = child.wait_with_output().expect("ended");
    assert!(stderr(&output).contains("interrupted: "), "{}", stderr(&output));
}

/// What a driver crashed by is not given to it again, until that is asked for.
#[test]
fn a_kernel_that_failed_before_is_passed_over() {
    use warpsight_ir::Status;
    use warpsight_learn::{Filter, RunInfo, Store};
    let folder = tempfile::tempdir().expect("a folder");
    let chosen = |more: &[&str]| -> Value {
        let output = run(folder.path(), &[&["optimize", "--op", "matmul m=8 n=8 k=8", "--json"], more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        value["chosen"].clone()
    };
    let first = chosen(&[]);
    assert_eq!(first["rejected"], serde_json::json!([]));
    let mut store = Store::open(folder.path().join("store")).expect("opens");
    let mut sample = store.samples(Filter::default()).expect("reads").pop().expect("an attempt").sample;
    (sample.status, sample.verified, sample.times) = (Status::DeviceLost("killed by signal 11".into()), false, vec![]);
    let id = store.begin_run(&RunInfo { host: "here".into(), argv: vec![], git: None }).expect("begins");
    store.append(id, &sample, None, None).expect("stores");
    let second = chosen(&[]);
    assert_ne!(second["config"], first["config"]);
    let why = second["rejected"][0].to_string();
    assert!(why.contains("failed here before: killed by signal 11"), "{why}");
    assert_eq!(chosen(&["--again"])["config"], first["config"], "once more, and it is right");
    assert_eq!(chosen(&[])["config"], first["config"], "its newest attempt counts");
}
