//! Wrong inputs end with a clear error and an exit code of their own, and leave nothing half-written.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/text-orientation.onnx");

struct Sandbox(tempfile::TempDir);

impl Sandbox {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("writes");
        path
    }
    fn warpsight(&self, args: &[&str]) -> Output {
        let command = Command::new(env!("CARGO_BIN_EXE_warpsight")).args(args).env("XDG_DATA_HOME", self.path("data")).output();
        command.expect("starts")
    }
    /// Asserts the exit code and that stderr speaks of all these.
    fn refused(&self, args: &[&str], code: i32, speaks_of: &[&str]) {
        let output = self.warpsight(args);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
        // Reports wrap lines: compare without white space.
        let flat: String = text.chars().filter(|c| !c.is_whitespace() && *c != '│').collect();
        for word in speaks_of {
            let word: String = word.chars().filter(|c| !c.is_whitespace()).collect();
            assert!(flat.contains(&word), "{args:?}: `{word}` is not in: {text}");
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

#[test]
fn models() {
    let s = Sandbox::new();
    let bytes = std::fs::read(MODEL).expect("the shipped model");
    s.refused(&["optimize", text(&s.path("missing.onnx"))], 5, &["missing.onnx"]);
    s.refused(&["optimize", text(&s.file("empty.onnx", b""))], 2, &["empty"]);
    s.refused(&["optimize", text(&s.file("text.onnx", b"this is a letter, not a network"))], 2, &["not an ONNX file"]);
    s.refused(&["optimize", text(&s.file("short.onnx", &bytes[..bytes.len() / 2]))], 2, &["truncated"]);
    // Without the file beside it nothing states the open dimensions.
    let bare = s.file("bare.onnx", &bytes);
    s.refused(&["optimize", text(&bare)], 2, &["x[0]", "x[2]", "x[3]", "--input-shape"]);
    s.refused(&["optimize", text(&bare), "--input-shape", "x=1,3,48"], 2, &["x"]);
    s.refused(&["optimize", text(&bare), "--input-shape", "y=1,3,48,192"], 2, &["y"]);
    s.refused(&["optimize", text(&bare), "--input-shape", "x=1,3,zero,192"], 2, &["zero"]);
    s.refused(&["optimize", text(&bare), "--input-value", "y=1"], 2, &["no input `y`"]);
    s.refused(&["optimize", text(&bare), "--input-value", "x=1,two"], 2, &["`two` is no number"]);
    s.refused(&["optimize", text(&bare), "--input-value", "x=1,2", "--input-value", "x=1"], 2, &["given twice"]);
    s.refused(&["optimize", text(&bare), "--input-value", "x=1,2"], 2, &["2 values for an input of shape"]);
}

#[test]
fn operators() {
    let s = Sandbox::new();
    s.refused(&["optimize", "--op", "conv9d n=1"], 2, &["conv9d", "conv2d"]);
    s.refused(&["optimize", "--op", "matmul m=4 n=4"], 2, &["k="]);
    s.refused(&["optimize", "--op", "matmul m=4 n=4 k=-1"], 2, &["k"]);
    s.refused(&["optimize", "--op", "matmul m=4 n=4 k=4 q=1"], 2, &["q"]);
    s.refused(&["optimize", "--op", "matmul m=4 n=4 k=4", "--dump", "nowhere"], 2, &["expression", "addresses"]);
    s.refused(&["optimize"], 2, &["<MODEL>"]);
}

#[test]
fn devices() {
    let s = Sandbox::new();
    s.refused(&["optimize", "--op", "matmul m=4 n=4 k=4", "--device", "sim:nothing"], 3, &["sim:nothing"]);
    s.refused(&["optimize", "--op", "matmul m=4 n=4 k=4", "--device", "opencl:99"], 3, &["opencl:99"]);
    s.refused(&["optimize", "--op", "matmul m=4 n=4 k=4", "--device", "abacus"], 3, &["abacus"]);
    s.refused(&["optimize", "--op", "matmul m=4 n=4 k=4", "--profile", "nothing"], 2, &["nothing", "adreno640"]);
}

#[test]
fn stores_and_folders() {
    let s = Sandbox::new();
    let not_a_store =
        s.file("letter.sqlite", b"this is a letter, not a database, and long enough to be looked at in full by anyone who cares");
    s.refused(&["optimize", "--op", "matmul m=4 n=4 k=4", "--store", text(&not_a_store)], 5, &["letter.sqlite"]);
    assert!(std::fs::read(&not_a_store).expect("still there").starts_with(b"this is a letter"));
    let occupied = s.file("occupied", b"");
    s.refused(&["optimize", "--op", "matmul m=4 n=4 k=4", "--out", text(&occupied)], 5, &["occupied"]);
}

#[test]
fn inputs_of_run() {
    let s = Sandbox::new();
    let out = s.path("out");
    let run = |input: &str, code: i32, words: &[&str]| s.refused(&["run", MODEL, "--input", input, "--output", text(&out)], code, words);
    run("x", 2, &["NAME=FILE"]);
    run("z=a.npy", 2, &["z", "x"]);
    run(&format!("x={}", text(&s.path("none.npy"))), 5, &["none.npy"]);
    run(&format!("x={}", text(&s.file("bad.npy", b"no numbers here"))), 2, &["bad.npy"]);
    run(&format!("x={}", text(&s.file("bad.png", b"no picture here"))), 2, &["bad.png"]);
    assert!(!out.exists(), "nothing was written");
    // A picture without a card that says how to read it.
    let bare = s.file("bare.onnx", &std::fs::read(MODEL).expect("the shipped model"));
    let picture = s.file("p.png", b"never read");
    let input = format!("x={}", text(&picture));
    let args = ["run", text(&bare), "--input", &input, "--output", text(&out), "--input-shape", "x=1,3,48,192"];
    s.refused(&args, 2, &["size, layout, scale, mean and std", ".toml"]);
}

#[test]
fn errors_as_json() {
    let s = Sandbox::new();
    let output = s.warpsight(&["optimize", "--op", "matmul m=4", "--json"]);
    let error: serde_json::Value = serde_json::from_slice(&output.stderr).expect("JSON on stderr");
    assert_eq!(error["error"]["kind"], "input");
    assert!(error["error"]["message"].as_str().is_some_and(|m| m.contains("n=") || m.contains("k=")), "{error}");
    assert!(output.stdout.is_empty());
    let usage = s.warpsight(&["optimize", "--json", "--no-such-option"]);
    let error: serde_json::Value = serde_json::from_slice(&usage.stderr).expect("JSON on stderr");
    assert_eq!((usage.status.code(), &error["error"]["kind"]), (Some(2), &serde_json::json!("input")));
}
