//! Graphs of operators through `optimize`: operators that are sequences, of several outputs, of parts and in place, on the simulator and on PoCL.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn optimize(graph: &str, more: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let graph = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/graphs").join(graph);
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsight"));
    command.arg("optimize").arg(graph).args(more).arg("--store").arg(folder.path().join("s"));
    command.output().expect("starts")
}

/// Kernels by operator, all of which were right, as was the whole.
fn kernels(graph: &str, device: &str) -> Vec<(String, usize)> {
    let output = optimize(graph, &["--device", device, "--json"]);
    assert!(output.status.success(), "{graph} on {device}: {}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON on stdout");
    let difference = report["network"]["max_abs_diff"].as_f64().expect("compared with the f64 reference");
    assert!(difference < 1e-3, "{graph} on {device}: {difference}");
    let operators = report["operators"].as_array().expect("operators");
    let own = |row: &Value| (row["op"].as_str().expect("a kind").to_owned(), row["nodes"].as_array().expect("nodes").len());
    operators.iter().map(own).collect()
}

fn count(kernels: &[(String, usize)], kind: &str) -> usize {
    kernels.iter().filter(|own| own.0 == kind).map(|own| own.1).sum()
}

/// Attention, gradients and bags; what makes candidates of them may replace some kernels by others.
fn sequences(device: &str) {
    let found = kernels("sequences.json", device);
    assert!(count(&found, "matmul") >= 7, "two products, and five of the gradient: {found:?}");
    assert!(count(&found, "layernorm_gradient") >= 5, "{found:?}");
    for kind in ["elementwise_triangle", "embedding_bag", "gather", "scatter_add", "lower_triangle"] {
        assert!(count(&found, kind) > 0, "{kind}: {found:?}");
    }
}

/// Two caches and one of two further updates are written in place, each by one kernel; the other one is three parts, as its data are read again.
fn updates(device: &str) {
    assert_eq!(count(&kernels("updates.json", device), "update"), 2 + 1 + 3);
}

#[test]
fn sequences_on_the_simulator() {
    sequences("sim:adreno640");
}

#[test]
fn updates_on_the_simulator() {
    updates("sim:adreno640");
    updates("sim:mali-g76");
}

/// Where there is a driver.
#[test]
fn both_on_opencl() {
    let listed = Command::new(env!("CARGO_BIN_EXE_warpsight")).args(["devices", "--json"]).output().expect("starts");
    if !String::from_utf8_lossy(&listed.stdout).contains("\"opencl:0\"") {
        eprintln!("no OpenCL here");
        return;
    }
    sequences("opencl:0");
    updates("opencl:0");
}

#[test]
fn what_is_no_graph_is_refused() {
    let said = |output: Output| (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned());
    let (code, text) = said(optimize("sequences.json", &["--input-shape", "q=1,2"]));
    assert!(code == Some(2) && text.contains("says itself which shapes"), "{code:?} {text}");
    let (code, text) = said(optimize("none.json", &[]));
    assert!(code.is_some_and(|code| code != 0) && text.contains("none.json"), "{code:?} {text}");
}
