//! Models of the fixtures on devices, against what onnxruntime makes of them: networks that join tensors, in which no kernel copies what another one
//! makes for the join alone, on simulated devices and on PoCL; and what single precision may lose.

mod common;
#[path = "../../graph/tests/support/mod.rs"]
mod support;

use common::{Sandbox, WARPSIGHT};
use serde_json::Value;
use std::process::Command;
use support::{draw, relative};

const CASES: &str = include_str!("../../graph/tests/fixtures/ops.json");

/// Networks, and of how many kernels each is: one more where tensors are copied that others read, too, three for a softmax.
const NETWORKS: [(&str, usize); 6] =
    [("fire", 3), ("fire of odd channels, squeezed again", 4), ("inception", 6), ("dense", 6), ("joined rows", 8), ("shuffled", 2)];

fn integers(value: &Value) -> Vec<i64> {
    value.as_array().expect("a list").iter().map(|own| own.as_i64().expect("a whole number")).collect()
}

/// How many kernels a network has that gives what it should.
fn kernels(name: &str, device: &str) -> usize {
    let s = Sandbox::new();
    let cases: Vec<Value> = serde_json::from_str(CASES).expect("JSON");
    let case = cases.iter().find(|own| own["name"] == name).unwrap_or_else(|| panic!("{name}"));
    let hex = case["model"].as_str().expect("a model");
    let model: Vec<u8> = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect();
    std::fs::write(s.path("model.onnx"), model).expect("writes");
    let shape = integers(&case["inputs"][0]);
    let list: String = shape.iter().map(|own| format!("{own}, ")).collect();
    // As in `make.py`: whole numbers where two numbers say what is added and multiplied.
    let whole = case["whole"][0].as_array().map(|own| [0, 1].map(|at| own[at].as_f64().expect("a number")));
    let value = |own: &f64| whole.map_or(*own, |[add, times]| ((own + add) * times).floor()) as f32;
    let values: Vec<f32> = draw(1, shape.iter().product::<i64>() as usize).iter().map(value).collect();
    let input = format!("x={}", s.npy("x.npy", &format!("({list})"), &values));
    let (store, out) = (s.text("store.sqlite"), s.text("out"));
    let common = [s.text("model.onnx"), "--device".into(), device.into(), "--store".into(), store];
    let common: Vec<&str> = common.iter().map(String::as_str).collect();
    let report = s.run(&[&["optimize"], &common[..], &["--sequences", "direct", "--json"]].concat(), 0);
    let report: Value = serde_json::from_slice(&report.stdout).expect("JSON");
    s.run(&[&["run"], &common[..], &["--input", &input, "--output", &out]].concat(), 0);
    let expected: Vec<f64> = case["output"].as_array().expect("a list").iter().map(|own| own.as_f64().expect("a number")).collect();
    let found: Vec<f64> = s.elements("out/y.npy", expected.len()).into_iter().map(f64::from).collect();
    let off = relative(&found, &expected);
    assert!(off < 1e-5, "{name} on {device}: off by {off}");
    let operators = report["operators"].as_array().expect("operators");
    operators.iter().map(|own| own["nodes"].as_array().expect("nodes").len()).sum()
}

#[test]
fn joins_on_simulated_devices() {
    for (name, count) in NETWORKS {
        for device in ["sim:adreno640", "sim:mali-g76"] {
            assert_eq!(kernels(name, device), count, "{name} on {device}");
        }
    }
}

/// Where there is a driver.
#[test]
fn joins_on_opencl() {
    let listed = Command::new(WARPSIGHT).args(["devices", "--json"]).output().expect("starts");
    if !String::from_utf8_lossy(&listed.stdout).contains("\"opencl:0\"") {
        eprintln!("no OpenCL here");
        return;
    }
    for (name, count) in NETWORKS {
        assert_eq!(kernels(name, "opencl:0"), count, "{name}");
    }
}

/// What lies beyond ends is found at positions that are affine but there: the model judges such kernels, too.
#[test]
fn borders_on_simulated_devices() {
    for name in ["pad reflect", "pad edge", "pad wrap"] {
        assert_eq!(kernels(name, "sim:adreno640"), 1, "{name}");
    }
}

/// What is finite, ranks, and the elements that they find are a kernel each: nothing is stored of the comparisons of all with all.
#[test]
fn the_greatest_of_a_dimension_are_three_kernels() {
    for name in ["top of channels", "least of rows", "top by an attribute"] {
        assert_eq!(kernels(name, "sim:adreno640"), 3, "{name}");
    }
}

/// Of numbers about ten thousand that differ by seven at most their logarithms of shares are as exact as of small ones.
#[test]
fn large_numbers_lose_no_digits() {
    assert!(kernels("log softmax of large numbers", "sim:adreno640") >= 2);
}
