//! The battery on the stand-in for the CUDA driver: what a GPU's driver may do, and what becomes of the battery then.

#[path = "../../run/tests/fake_cuda/mod.rs"]
mod fake_cuda;

mod common;

use common::{Sandbox, outcomes, said};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const CUDA: [&str; 8] = ["battery", "--device", "cuda:0", "--scale", "tiny", "--phase", "queues", "--out"];

/// A battery of the queue phase on a driver with these settings.
fn battery(s: &Sandbox, stand_in: &Path, settings: &[(&str, &str)], more: &[&str]) -> Output {
    let mut command = s.command(&[&CUDA[..], &[&s.text("out")], more].concat());
    command.env("LD_LIBRARY_PATH", stand_in).env("WARPSIGHT_CUDA", stand_in);
    for (name, value) in settings {
        command.env(name, value);
    }
    command.output().expect("starts")
}

fn reasons(file: &Value) -> String {
    outcomes(file, "failed").iter().map(|record| record["outcome"]["why"].to_string()).collect::<Vec<_>>().join("\n")
}

#[test]
fn queues_are_verified_and_their_times_are_simulated() {
    let Some(stand_in) = fake_cuda::build() else { return };
    let s = Sandbox::new();
    let output = battery(&s, &stand_in, &[], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let file = s.json("out/queues.json");
    let verified = outcomes(&file, "verified");
    assert!(!verified.is_empty() && outcomes(&file, "wrong").is_empty(), "{}", said(&output));
    for record in &verified {
        assert_eq!(record["source"], "simulated", "a stand-in measures nothing");
    }
    assert_eq!(file["device"]["clock"], "simulated");
    s.run(&["import", &s.text("out"), "--store", &s.text("store.sqlite")], 0);
    let store = warpsight_learn::Store::open(s.path("store.sqlite")).expect("a store");
    let stored = store.samples(warpsight_learn::Filter::default()).expect("samples");
    assert!(stored.iter().all(|stored| stored.sample.source.name() == "simulated"));
    assert!(stored.iter().any(|stored| stored.sample.kind == warpsight_ir::SubjectKind::Probe), "CUDA text is no Program");
}

#[test]
fn without_a_driver_or_a_device_the_reason_is_said() {
    let s = Sandbox::new();
    let nowhere = s.path("nowhere");
    let output = battery(&s, &nowhere, &[], &[]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("libcuda"), "{}", said(&output));
    let Some(stand_in) = fake_cuda::build() else { return };
    let output = battery(&s, &stand_in, &[("WS_FAKE_NO_DEVICE", "1")], &[]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
}

#[test]
fn without_a_compiler_prepared_kernels_run() {
    let Some(stand_in) = fake_cuda::build() else { return };
    let s = Sandbox::new();
    std::fs::create_dir(s.path("driver")).expect("a folder");
    std::fs::copy(stand_in.join("libcuda.so.1"), s.path("driver/libcuda.so.1")).expect("a copy");
    let output = battery(&s, &s.path("driver"), &[("WARPSIGHT_CUDA", "/nowhere")], &[]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("no NVRTC library") && said(&output).contains("--prepare"), "{}", said(&output));
    assert!(!s.path("out").exists(), "nothing is begun");

    let output = s.command(&["devices", "--json"]).env("LD_LIBRARY_PATH", &stand_in).output().expect("starts");
    let devices: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let described = devices["devices"].as_array().expect("devices").iter().find(|d| d["id"] == "cuda:0").expect("the stand-in");
    std::fs::write(s.path("device.json"), described.to_string()).expect("writes");
    let prepared = Sandbox::new();
    let cache = prepared.text("cache");
    let device = s.text("device.json");
    let args = ["battery", "--prepare", "--arch", "sm_90a", "--phase", "queues", "--scale", "tiny", "--cache", &cache, "--like", &device];
    let output = prepared.command(&args).env("WARPSIGHT_CUDA", &stand_in).output().expect("starts");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let output = battery(&s, &s.path("driver"), &[("WARPSIGHT_CUDA", "/nowhere")], &["--cache", &cache]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(outcomes(&s.json("out/queues.json"), "failed").is_empty(), "{}", said(&output));
    let (cached, kernels) = from_cache(&output);
    assert!(kernels > 0 && cached == kernels, "{}", said(&output));
}

/// `3 of 4 kernels were in the cache`.
fn from_cache(output: &Output) -> (usize, usize) {
    let text = said(output);
    let words: Vec<&str> = text.split(" kernels were in the cache").next().expect("text").rsplitn(4, ' ').collect();
    (words[2].parse().expect("a number"), words[0].parse().expect("a number"))
}

#[test]
fn kernels_are_compiled_while_others_are_measured() {
    let Some(stand_in) = fake_cuda::build() else { return };
    let s = Sandbox::new();
    let cache = s.text("kernels");
    // The first launch never ends: the device asks for no other kernel.
    let impatient = ["--timeout", "12", "--minutes", "0.2", "--cache", &cache];
    let output = battery(&s, &stand_in, &[("WS_FAKE_HANG_AT", "1")], &impatient);
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert_eq!(from_cache(&output), (0, 0), "none ran");
    let compiled = std::fs::read_dir(&cache).expect("a cache").count();
    assert!(compiled >= 3, "{compiled} kernels, those of the first measurement included");
    // The same command tries again what failed and had no time.
    let output = battery(&s, &stand_in, &[], &["--cache", &cache]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(outcomes(&s.json("out/queues.json"), "failed").is_empty(), "{}", said(&output));
    assert!(from_cache(&output).0 >= 2, "{}", said(&output));
}

#[test]
fn textures_are_measured_through_opencl_too() {
    let Some(stand_in) = fake_cuda::build() else { return };
    let s = Sandbox::new();
    let listing = s.run(&["devices", "--json"], 0);
    let devices: Value = serde_json::from_slice(&listing.stdout).expect("JSON");
    if !devices["devices"].as_array().expect("devices").iter().any(|device| device["id"] == "opencl:0") {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "PoCL is missing");
        println!("skipped: there is no OpenCL device");
        return;
    }
    let mut command = s.command(&["battery", "--device", "cuda:0", "--opencl", "opencl:0", "--scale", "tiny", "--phase", "texture"]);
    command.args(["--out", &s.text("out")]).env("LD_LIBRARY_PATH", &stand_in).env("WARPSIGHT_CUDA", &stand_in);
    let output = command.output().expect("starts");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let (cuda, opencl) = (s.json("out/texture.json"), s.json("out/texture-opencl.json"));
    for (file, backend) in [(&cuda, "cuda"), (&opencl, "opencl")] {
        assert_eq!(file["device"]["backend"], backend);
        assert!(!outcomes(file, "verified").is_empty(), "{}", said(&output));
        assert!(outcomes(file, "wrong").is_empty() && outcomes(file, "failed").is_empty(), "{}", said(&output));
    }
    let walks = |file: &Value| {
        let records = file["records"].as_array().expect("records").iter();
        records.filter(|record| !record["params"]["kind"].is_null()).map(|record| record["name"].clone()).collect::<Vec<_>>()
    };
    assert!(walks(&cuda).len() >= 50, "{:?}", walks(&cuda));
    assert_eq!(walks(&cuda), walks(&opencl), "the same walks, twice");
    let index = s.json("out/battery.json");
    assert_eq!((&index["phases"][0]["name"], &index["phases"][1]["name"]), (&"texture".into(), &"texture-opencl".into()));
}

#[test]
fn the_dry_run_includes_the_stand_in() {
    let Some(stand_in) = fake_cuda::build() else { return };
    let s = Sandbox::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/gpu-battery");
    let mut command = Command::new("bash");
    command.arg(script).args([
        "--dry-run",
        "--shader-minutes",
        "0",
        "--out",
        &s.text("out"),
        "--",
        "--phase",
        "stencils",
        "--phase",
        "queues",
        "--phase",
        "warp",
    ]);
    command.env("WARPSIGHT", common::WARPSIGHT).env("WARPSIGHT_STANDIN", &stand_in);
    command.env("XDG_CACHE_HOME", s.path("cache")).env("TMPDIR", s.path("."));
    let output = command.output().expect("bash");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    for phase in ["stencils", "queues", "warp"] {
        let file = s.json(&format!("out/stand-in/{phase}.json"));
        assert!(!outcomes(&file, "verified").is_empty(), "{}", said(&output));
        assert!(outcomes(&file, "wrong").is_empty() && outcomes(&file, "failed").is_empty(), "{}", said(&output));
        assert!(file["records"].as_array().expect("records").iter().all(|record| record["source"] != "measured"));
    }
    // What the aspects found has its page.
    assert!(s.path("out/stand-in/probe/page.html").exists() && s.path("out/simulator/probe/profile.toml").exists(), "{}", said(&output));
    assert!(s.path("out.tar.gz").exists() && s.path("out/simulator/stencils.json").exists(), "{}", said(&output));
}

#[test]
fn a_device_that_is_lost_or_hangs_costs_single_measurements() {
    let Some(stand_in) = fake_cuda::build() else { return };
    for (setting, word) in [("WS_FAKE_LOST_AT", "ILLEGAL_ADDRESS"), ("WS_FAKE_HANG_AT", "did not answer within")] {
        let s = Sandbox::new();
        // Counted in each process anew: the first measurement needs fewer launches, all together more.
        let output = battery(&s, &stand_in, &[(setting, "80")], &["--timeout", "10"]);
        assert_eq!(output.status.code(), Some(0), "{setting}: {}", said(&output));
        let file = s.json("out/queues.json");
        assert!(!outcomes(&file, "verified").is_empty() && !outcomes(&file, "failed").is_empty(), "{setting}: {}", said(&output));
        assert!(reasons(&file).contains(word), "{setting}: {}", reasons(&file));
    }
}

#[test]
fn out_of_memory_is_stated() {
    let Some(stand_in) = fake_cuda::build() else { return };
    let s = Sandbox::new();
    let output = battery(&s, &stand_in, &[("WS_FAKE_OOM_BYTES", "1024")], &[]);
    let file = s.json("out/queues.json");
    assert!(!outcomes(&file, "failed").is_empty(), "{}", said(&output));
    assert!(reasons(&file).to_lowercase().contains("memory"), "{}", reasons(&file));
}

#[test]
fn a_second_battery_on_the_device_is_refused() {
    let Some(stand_in) = fake_cuda::build() else { return };
    let s = Sandbox::new();
    let mut first = s.command(&[&CUDA[..], &[&s.text("first")]].concat());
    first.env("LD_LIBRARY_PATH", &stand_in).env("WARPSIGHT_CUDA", &stand_in).env("WS_FAKE_HANG_AT", "3").stderr(Stdio::null());
    let mut first = first.spawn().expect("starts");
    let begun = Instant::now();
    while !s.path("first/battery.json").exists() && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = battery(&s, &stand_in, &[], &[]);
    first.kill().expect("its end");
    first.wait().expect("its end");
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("another battery is measuring on cuda:0"), "{}", said(&output));
    assert!(!s.path("out").exists());
    // The lock went with its holder.
    assert_eq!(battery(&s, &stand_in, &[], &[]).status.code(), Some(0));
}
