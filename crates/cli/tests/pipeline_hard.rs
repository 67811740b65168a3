//! `pipeline` on graphs that no application has.

mod common;

use common::Sandbox;
use serde_json::{Map, Value, json};
use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Elementwise operators: each reads the one before it, or all read the first.
fn graph(count: usize, chain: bool) -> String {
    let tensor = |kind: &str| json!({"shape": [4096, 64], "dtype_bytes": 2, "kind": kind});
    let mut tensors = Map::from_iter([("t0".to_owned(), tensor("input"))]);
    let nodes = (1..=count).map(|at| {
        tensors.insert(format!("t{at}"), tensor("act"));
        let read = if chain { at - 1 } else { 1.min(at - 1) };
        json!({"id": at, "op": "add", "cls": "simt", "inputs": [format!("t{read}")], "outputs": [format!("t{at}")], "flops": 1 << 18})
    });
    let nodes: Vec<Value> = nodes.collect();
    json!({"format": "dataflow-graph/1", "tensors": tensors, "nodes": nodes}).to_string()
}

#[test]
fn hundreds_of_readers_are_planned_and_nothing_is_slower() {
    let sandbox = Sandbox::new();
    let file = sandbox.text("readers.json");
    std::fs::write(&file, graph(2400, false)).expect("writes");
    for policy in ["best", "kitsune"] {
        let output = sandbox.run(&["pipeline", &file, "--device", "a100-40", "--policy", policy, "--json"], 0);
        let plan: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let seconds = [&plan["dataflow"]["s"], &plan["bsp_s"]].map(|seconds| seconds.as_f64().expect("seconds"));
        assert!(seconds[0] <= seconds[1] && plan["ops"] == 2400, "{policy}: {seconds:?}");
    }
}

#[cfg(unix)]
#[test]
fn long_planning_says_so_and_is_interrupted_within_a_second() {
    let sandbox = Sandbox::new();
    let file = sandbox.text("chain.json");
    std::fs::write(&file, graph(60_000, true)).expect("writes");
    let mut child = sandbox
        .command(&["pipeline", &file, "--device", "a100-40", "--html", &sandbox.text("page.html")])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    // Reading takes less than a second; the first line comes after two of planning.
    std::thread::sleep(Duration::from_secs(5));
    assert!(child.try_wait().expect("looks").is_none(), "it ended before it could be interrupted");
    let asked = Instant::now();
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill is there").success());
    let status = child.wait().expect("ends");
    let obeyed = asked.elapsed();
    let mut said = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut said).expect("reads");
    assert_eq!(status.code(), Some(130), "{said}");
    // Twice what is promised: tests run side by side.
    assert!(obeyed < Duration::from_secs(2), "{obeyed:?}: {said}");
    let names = std::fs::read_dir(sandbox.path("")).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let begun: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with(".warpsight") || name == "page.html").collect();
    assert!(begun.is_empty(), "what was begun is taken back: {begun:?}");
    assert!(said.contains("planning: 0/1 ") && said.contains("chain.json on a100-40"), "{said}");
}
