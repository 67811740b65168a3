//! `warpsight compile`: what it prints, writes and keeps, and how it refuses.

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use warpsight_ir::sample::Device;
use warpsight_ir::{Feedback, Status};
use warpsight_learn::{Filter, Store};
use warpsight_run::cuda::Toolkit;

const TWICE: &str = "\
program twice {
  read buffer x: f32[256]
  write buffer y: f32[256]
  groups g = 4
  lanes l = 64
  {
    let i = g * 64 + l
    y[i] = x[i] * 2.0
  }
}
";

struct Sandbox(tempfile::TempDir);

impl Sandbox {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).expect("writes");
        path.display().to_string()
    }
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpsight"));
        command.arg("compile").args(args).env("XDG_DATA_HOME", self.path("data"));
        if let Some(folder) = compilers() {
            command.env("WARPSIGHT_CUDA", folder);
        }
        command
    }
    fn warpsight(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("starts")
    }
    /// Asserts the exit code and that the error speaks of all these.
    fn refused(&self, args: &[&str], code: i32, speaks_of: &[&str]) {
        let mut args = args.to_vec();
        args.push("--json");
        refused(&self.warpsight(&args), code, speaks_of);
    }
}

fn refused(output: &Output, code: i32, speaks_of: &[&str]) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}");
    let error: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let said = format!("{} at {}", error["error"]["message"].as_str().unwrap_or_default(), error["error"]["where"]);
    for word in speaks_of {
        assert!(said.contains(word), "`{word}` is not in: {said}");
    }
}

/// The folder of the compilers: that of the environment, or of the Python environment that `./check` makes.
fn compilers() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("WARPSIGHT_CUDA") {
        return Some(folder.into());
    }
    let lib = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/lib"));
    let wheels = lib.into_iter().flatten().flatten().map(|python| python.path().join("site-packages/nvidia"));
    wheels.into_iter().find(|folder| Toolkit::under(folder).is_some())
}

/// Whether there are compilers; where there are none the test ends with a message, and fails where `CI=true`.
fn ready() -> bool {
    let ready = compilers().is_some() || Toolkit::find().is_ok();
    assert!(ready || std::env::var("CI").as_deref() != Ok("true"), "no NVRTC, and CI=true");
    if !ready {
        eprintln!("skipped: no NVRTC");
    }
    ready
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON on stdout")
}

#[test]
fn an_operator_is_compiled_shown_written_and_kept() {
    if !ready() {
        return;
    }
    let s = Sandbox::new();
    let (out, store) = (s.path("out"), s.path("store"));
    let args = ["--op", "matmul m=64 n=64 k=64", "--arch", "sm_80,sm_90a", "--out", out.to_str().expect("plain"), "--json"];
    let report = json(&s.command(&args).arg("--store").arg(&store).output().expect("starts"));
    let kernel = &report["kernels"][0];
    assert_eq!((&kernel["name"], kernel["config"].is_object()), (&Value::from("matmul"), true));
    let version = report["reported_by"].as_str().expect("versions");
    for (i, arch) in ["sm_80", "sm_90a"].into_iter().enumerate() {
        let compiled = &kernel["compiled"][i];
        assert_eq!(compiled["arch"], arch);
        let resources = &compiled["resources"];
        assert_eq!((&resources["spill_store_bytes"], &resources["spill_load_bytes"]), (&Value::from(0), &Value::from(0)));
        let registers = resources["registers"].as_u64().filter(|r| (8..=255).contains(r)).expect("registers");
        assert!(compiled["blocks_per_sm"].as_u64().is_some_and(|b| (1..=32).contains(&b)), "{compiled}");
        let ptx = std::fs::read_to_string(out.join(format!("matmul.{arch}.ptx"))).expect("written");
        assert!(ptx.contains(&format!(".target {arch}")) && ptx.contains(".entry matmul"));
        assert!(std::fs::read(out.join(format!("matmul.{arch}.cubin"))).expect("written").starts_with(b"\x7fELF"));
        // What was said is kept with the Program, without times.
        let device = Device { backend: "cuda".into(), name: arch.into(), driver: version.into() };
        let opened = Store::open(&store).expect("opens");
        let samples = opened.samples(Filter { subject: None, device: Some(&device) }).expect("reads");
        let [stored] = &samples[..] else { panic!("{} samples", samples.len()) };
        assert_eq!((&stored.sample.status, stored.sample.verified, stored.sample.times.len()), (&Status::Built, false, 0));
        assert_eq!(serde_json::from_str::<Value>(&stored.sample.config).expect("JSON"), kernel["config"]);
        let feedback: Feedback = opened.feedback(stored.id).expect("reads").expect("kept");
        assert_eq!((feedback.registers.map(u64::from), feedback.spill_bytes), (Some(registers), Some(0)));
    }
    assert!(std::fs::read_to_string(out.join("matmul.cu")).expect("written").contains("__global__"));
    assert_eq!(std::fs::read_dir(&out).expect("there").count(), 5, "nothing half-written is left");

    // As a table; the wished knob is taken, the model chooses the rest.
    let output = s.warpsight(&["--op", "matmul m=64 n=64 k=64", "--arch", "sm_80", "--config", "vector=4"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("registers") && text.contains("matmul") && text.contains("reported by NVRTC"),
        "{text}"
    );
    let report = json(&s.warpsight(&["--op", "matmul m=64 n=64 k=64", "--arch", "8.0", "--config", "{\"vector\": 4}", "--json"]));
    assert_eq!(report["kernels"][0]["config"]["vector"], 4);
    // A configuration in full is taken as it is.
    let full = report["kernels"][0]["config"].to_string();
    let again = json(&s.warpsight(&["--op", "matmul m=64 n=64 k=64", "--arch", "80", "--config", &full, "--json"]));
    assert_eq!(again["kernels"], report["kernels"]);
}

#[test]
fn a_program_comes_from_a_file_or_standard_input() {
    if !ready() {
        return;
    }
    let s = Sandbox::new();
    let from_file = json(&s.warpsight(&[&s.file("twice.ws", TWICE), "--arch", "sm_90a", "--json"]));
    let mut command = s.command(&["-", "--arch", "sm_90a", "--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    child.stdin.take().expect("a pipe").write_all(TWICE.as_bytes()).expect("writes");
    assert_eq!(json(&child.wait_with_output().expect("ends")), from_file);
    let kernel = &from_file["kernels"][0];
    assert_eq!((&kernel["name"], &kernel["threads"], &kernel["config"]), (&Value::from("twice"), &Value::from(64), &Value::Null));
}

#[test]
fn operators_of_several_kernels() {
    if !ready() {
        return;
    }
    let s = Sandbox::new();
    let report = json(&s.warpsight(&["--op", "softmax n=30 c=10", "--arch", "sm_80", "--json"]));
    let names: Vec<&str> = report["kernels"].as_array().expect("kernels").iter().filter_map(|k| k["name"].as_str()).collect();
    assert_eq!(names, ["0_softmax_max", "1_softmax_sum", "2_softmax"]);
}

#[test]
fn bad_input() {
    let s = Sandbox::new();
    s.refused(&[&s.file("a.ws", &TWICE.replace("x[i] *", "x[i] %%")), "--arch", "sm_80"], 2, &["a.ws:8:18", "8 │"]);
    s.refused(&[&s.file("b.ws", &TWICE.replace("y[i] =", "z[i] =")), "--arch", "sm_80"], 2, &["b.ws", "z"]);
    s.refused(&[&s.file("c.ws", ""), "--arch", "sm_80"], 2, &["c.ws:1:1"]);
    s.refused(&["none.ws", "--arch", "sm_80"], 5, &["none.ws"]);
    std::fs::write(s.path("d.ws"), [0xff, 0xfe, 0]).expect("writes");
    s.refused(&[s.path("d.ws").to_str().expect("plain"), "--arch", "sm_80"], 2, &["d.ws", "not text"]);
    let narrow = TWICE.replace("  {\n    let", "  subgroup 8\n  {\n    barrier subgroup global\n    let");
    s.refused(&[&s.file("narrow.ws", &narrow), "--arch", "sm_80"], 2, &["narrow.ws", "CUDA C++ has no form for a barrier of a sub-group"]);

    let op = |config: &str, words: &[&str]| s.refused(&["--op", "matmul m=8 n=8 k=8", "--arch", "sm_80", "--config", config], 2, words);
    op("vector", &["`vector` is not knob=value"]);
    op("colour=4", &["`matmul` has no knob `colour`"]);
    op("vector=3", &["knob `vector` cannot be 3"]);
    op("{\"vector\": ", &["no JSON object of knobs"]);
    op("{\"vector\": [4]}", &["no JSON object of knobs"]);
    s.refused(&["--op", "matmul m=8 n=8", "--arch", "sm_80"], 2, &["k="]);
    s.refused(&["--op", "matmul m=8 n=8 k=8", "--arch", "sm_80", "--profile", "nothing"], 2, &["there is no profile `nothing`"]);
    s.refused(&["--op", "matmul m=8 n=8 k=8", "--arch", "ninety"], 2, &["`ninety` is no architecture", "sm_90a"]);
    s.refused(&["--op", "matmul m=8 n=8 k=8"], 2, &["--arch"]);
    s.refused(&["--arch", "sm_80"], 2, &["PROGRAM"]);
}

#[test]
fn places_that_do_not_serve() {
    let s = Sandbox::new();
    let program = s.file("twice.ws", TWICE);
    let empty = s.path("empty");
    std::fs::create_dir(&empty).expect("made");
    let output = s.command(&[&program, "--arch", "sm_80", "--json"]).env("WARPSIGHT_CUDA", &empty).output().expect("starts");
    refused(&output, 3, &["no NVRTC library; looked in", "empty", "pip install nvidia-cuda-nvrtc"]);
    if !ready() {
        return;
    }
    s.refused(&[&program, "--arch", "sm_35"], 2, &["makes no code for sm_35", "sm_80", "sm_90[a]"]);
    let occupied = s.file("occupied", "");
    s.refused(&[&program, "--arch", "sm_80", "--out", &occupied], 5, &["occupied", "not a directory"]);
    s.refused(&[&program, "--arch", "sm_80", "--store", &program], 5, &["twice.ws"]);
    assert_eq!(std::fs::read_to_string(&program).expect("there"), TWICE);
}

/// What a compiler refuses is kept as failed, and the rest goes on.
#[cfg(unix)]
#[test]
fn a_refusal_is_kept() {
    let Some(folder) = compilers() else { return };
    let s = Sandbox::new();
    let real = Toolkit::under(&folder).expect("compilers");
    // NVRTC as it is, beside an assembler that crashes.
    std::fs::create_dir_all(s.path("kit/bin")).expect("made");
    std::os::unix::fs::symlink(real.nvrtc.parent().expect("a folder"), s.path("kit/lib")).expect("linked");
    std::fs::write(s.path("kit/bin/ptxas"), "#!/bin/sh\necho broken >&2\nexit 1\n").expect("writes");
    let may = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(s.path("kit/bin/ptxas"), may).expect("may");
    let store = s.path("store");
    let mut command =
        s.command(&[&s.file("twice.ws", TWICE), "--arch", "sm_80,sm_90a", "--json", "--store", store.to_str().expect("plain")]);
    let output = command.env("WARPSIGHT_CUDA", s.path("kit")).output().expect("starts");
    refused(&output, 3, &["ptxas refused kernel `twice` for sm_80: broken"]);
    let samples = Store::open(&store).expect("opens").samples(Filter::default()).expect("reads");
    let failed = |s: &Status| matches!(s, Status::BuildFailed(why) if why.contains("broken"));
    assert_eq!(samples.iter().filter(|s| failed(&s.sample.status)).count(), 2);
}
