//! `optimize --op` with open sizes.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn run(store: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsight"));
    command.arg("optimize").args(args).arg("--store").arg(store).output().expect("starts")
}

fn refused(op: &str, further: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(&folder.path().join("s"), &[&["--op", op], further].concat());
    assert_eq!(output.status.code(), Some(2), "{op}");
    String::from_utf8(output.stderr).expect("text").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Few kernels for many sizes: each size has one, loses no more than 5 % by the model, and what was timed is right.
#[test]
fn a_range_is_served_by_few_kernels() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("kernels");
    let output = run(&folder.path().join("s"), &["--op", "softmax n=2..20 c=100", "--json", "--out", out.to_str().expect("text")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let (kernels, dispatch) = (report["kernels"].as_array().expect("kernels"), report["dispatch"].as_array().expect("a table"));
    assert_eq!((dispatch.len(), &report["open"], &report["sequence"]), (19, &Value::from(vec!["n"]), &Value::from("rows")));
    assert!(kernels.len() < 10, "{}", kernels.len());
    assert!(kernels.iter().any(|own| own["generic"] == true));
    for (number, kernel) in kernels.iter().enumerate() {
        let own = || dispatch.iter().filter(|row| row["kernel"] == number).map(|row| row["sizes"][0].as_i64().expect("a size"));
        let ends = |text: &Value| {
            text.as_str().map(|text| text.split_once("..").unwrap_or((text, text))).map(|own| (own.0.parse(), own.1.parse()))
        };
        let written = kernel["serves"].as_array().expect("a list").iter().filter_map(ends);
        let written: Vec<i64> = written.flat_map(|(first, last)| first.expect("a size")..=last.expect("a size")).collect();
        assert_eq!(written, own().collect::<Vec<_>>());
        if kernel["generic"] == true {
            assert_eq!((kernel["size"]["lo"].as_i64(), kernel["size"]["hi"].as_i64()), (own().min(), own().max()));
        }
    }
    for (at, row) in dispatch.iter().enumerate() {
        assert_eq!(row["sizes"], Value::from(vec![2 + at]));
        assert!(
            row["predicted_loss_percent"].as_f64().is_some_and(|loss| (0.0..=5.0).contains(&loss))
                && row["chosen_in_s"].as_f64().is_some_and(|took| took > 0.0)
        );
        assert!((row["kernel"].as_u64().expect("a position") as usize) < kernels.len());
    }
    let tried: Vec<&Value> = kernels.iter().flat_map(|own| own["verified"].as_array().expect("a list")).collect();
    assert!(tried.iter().all(|own| own["rel_l2_error"].as_f64().is_some_and(|error| error < 1e-5) && own["time_source"] == "simulated"));
    assert!(report["loss_percent"].as_f64().is_some_and(|loss| loss.abs() <= 5.0));
    let written: Value = serde_json::from_slice(&std::fs::read(out.join("dispatch.json")).expect("is there")).expect("JSON");
    assert_eq!(written["dispatch"], report["dispatch"]);
    for kernel in written["kernels"].as_array().expect("kernels") {
        for file in kernel["files"].as_array().expect("files") {
            let text = std::fs::read_to_string(out.join(file.as_str().expect("a name"))).expect("is there");
            assert_eq!(text.contains("const int size_n"), kernel["generic"] == true, "{text}");
        }
    }
    // What others launch: of each shape the kernel, its arguments with the size, and memory that holds its tensors.
    let launch: Value = serde_json::from_slice(&std::fs::read(out.join("launch.json")).expect("is there")).expect("JSON");
    let shapes = launch["shapes"].as_array().expect("shapes");
    assert_eq!((&launch["open"], shapes.len()), (&report["open"], 19));
    for (shape, row) in shapes.iter().zip(dispatch) {
        assert_eq!(shape["sizes"], row["sizes"]);
        let own = &written["kernels"][row["kernel"].as_u64().expect("a position") as usize];
        let run = &shape["launches"][0];
        let file = &launch["kernels"][run["kernel"].as_u64().expect("a position") as usize]["file"];
        assert!(own["files"].as_array().expect("files").contains(file), "{file}");
        let args = run["args"].as_array().expect("arguments");
        assert_eq!(args.iter().filter(|arg| arg["int"] == row["sizes"][0]).count(), usize::from(own["generic"] == true), "{run}");
        let n = row["sizes"][0].as_i64().expect("a size");
        let memory = shape["memory"].as_array().expect("memory");
        let bytes =
            |own: &Value| own["bytes"].as_i64().unwrap_or(16 * own["width"].as_i64().unwrap_or(0) * own["height"].as_i64().unwrap_or(0));
        assert!(memory.len() == 2 && memory.iter().all(|own| (400 * n..1600 * n + 64).contains(&bytes(own))), "{memory:?}");
        assert_eq!((&shape["inputs"], &shape["outputs"]), (&Value::from(vec![0]), &Value::from(vec![1])));
        let lanes = |of: &str| run[of].as_array().expect("three").iter().map(|own| own.as_u64().expect("a count")).collect::<Vec<_>>();
        assert!(lanes("global").iter().zip(lanes("local")).all(|(global, local)| *global > 0 && global % local == 0));
    }
}

#[test]
fn what_cannot_be_open_is_said() {
    assert!(refused("matmul m=9..3 n=4 k=4", &[]).contains("`m=9..3` is not a range whose first end is the smaller one"));
    assert!(refused("matmul m=3.. n=4 k=4", &[]).contains("a range with two ends"));
    assert!(refused("conv2d n=1 c=4 h=8 w=8 k=4 r=3 s=3 stride=1..2", &[]).contains("only sizes of tensors may be ranges"));
    assert!(refused("matmul m=1..64 n=1..64 k=4", &[]).contains("4096 shapes, at most 1024"));
    assert!(refused("matmul m=1..2 n=4 k=4", &["--search", "exhaustive"]).contains("--search is of an operator of one shape"));
    assert!(refused("matmul m=1..2 n=4 k=4", &["--dump", "program"]).contains("--dump is of an operator of one shape"));
    assert!(refused("softmax n=1..2 c=8", &["--sequences", "direct"]).contains("several kernels"));
}
