//! `shader calibrate` on the Vulkan device that there is: measured, fitted, used.

mod common;

use common::{Sandbox, said};
use serde_json::Value;
use warpsight_shader::cfg::Cfg;
use warpsight_shader::corpus::{self, Entry};
use warpsight_shader::module::Module;

/// A corpus of nine shaders that do different amounts of different things; one of them cannot be read.
fn corpus(sandbox: &Sandbox) {
    std::fs::create_dir_all(sandbox.path("corpus/spv")).expect("a folder");
    let mut entries = Vec::new();
    for i in 0..9 {
        let work = ["c += sin(c.yzwx)", "c = c * 1.1 + c.wxyz", "c = sqrt(abs(c) + 0.1)"][i % 3];
        let source = format!(
            "#version 450\nlayout(location=0) out vec4 o;\nvoid main() {{ vec4 c = gl_FragCoord / 64.0;\nfor (int i = 0; i < {}; i++) {work};\no = c; }}",
            10 << (i / 3 * 2)
        );
        let words = warpsight_run::glslang::fragment(&source).expect("compiles");
        let module = Module::new(words.clone()).expect("a module");
        let (id, blocks) = (corpus::id(&module), Cfg::new(&module).expect("blocks").blocks.len() as u32);
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        std::fs::write(sandbox.path(&format!("corpus/spv/{id}.spv")), if i == 8 { &bytes[..40] } else { &bytes }).expect("writes");
        entries.push(Entry {
            id: id.clone(),
            name: format!("shader{i}"),
            source: "test".to_owned(),
            licence: "MIT".to_owned(),
            origin: String::new(),
            dialect: "vulkan".to_owned(),
            group: id,
            parent: None,
            change: None,
            loops: true,
            uniforms: [].into(),
            resolution: None,
            texture: None,
            instructions: 10,
            blocks,
        });
    }
    std::fs::write(sandbox.path("corpus/corpus.jsonl"), corpus::write(&entries).expect("lines")).expect("writes");
}

#[test]
fn a_device_is_measured_fitted_and_predicted_for() {
    let sandbox = Sandbox::new();
    corpus(&sandbox);
    let (folder, head) = (sandbox.text("corpus"), sandbox.text("head.json"));
    let calibrate = |device: &str, code| {
        let args = ["shader", "calibrate", "--corpus", &folder, "--device", device, "--count", "8", "--resolution", "64x64"];
        sandbox.run(&[&args[..], &["--out", &head, "--name", "mine", "--json"]].concat(), code)
    };
    let refusal = said(&calibrate("vulkan:99", 3));
    assert!(refusal.contains("vulkan:99") || refusal.contains("no Vulkan"), "{refusal}");
    assert!(!sandbox.path("head.json").exists(), "nothing is written where nothing was measured");
    let listed = sandbox.run(&["devices", "--json"], 0);
    if !said(&listed).contains("vulkan:0") {
        assert!(std::env::var("CI").is_err(), "a Vulkan device is needed where CI=true");
        return;
    }
    let value: Value = serde_json::from_slice(&calibrate("vulkan:0", 0).stdout).expect("JSON");
    assert_eq!((&value["source"], &value["device"], &value["model_of"]), (&"measured".into(), &"mine".into(), &"lavapipe".into()));
    assert_eq!(value["shaders"].as_array().map(Vec::len), Some(8));
    assert_eq!(value["failed"].as_object().map(|f| f.keys().cloned().collect::<Vec<_>>()), Some(vec!["shader8".to_owned()]));
    let error = value["error"].as_f64().expect("an error");
    assert!(error > 0.0 && error < 3.0, "{error}");
    let shader = sandbox.text("x.frag");
    std::fs::write(&shader, "uniform float t; void main() { gl_FragColor = vec4(sin(gl_FragCoord.x * t)); }").expect("writes");
    let output = sandbox.run(&["shader", "predict", &shader, "--resolution", "64x64", "--calibration", &head, "--json"], 0);
    let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let device = &said["shaders"][0]["devices"][0];
    assert_eq!((&device["device"], &device["calibration"]["shaders"]), (&"mine".into(), &8.into()));
    let seconds = device["seconds"].as_f64().expect("seconds");
    assert!((1e-7..1e-1).contains(&seconds), "{seconds}");
}

/// Without a corpus at hand: the program brings shaders of its own, and says whose they are.
#[test]
fn the_program_alone_is_enough() {
    let sandbox = Sandbox::new();
    let licences = said(&sandbox.run(&["shader", "calibrate", "--licences"], 0));
    assert!(
        licences.contains("Permission is hereby granted, free of charge") && licences.contains("SPDX-PackageName: three"),
        "{licences}"
    );
    if !said(&sandbox.run(&["devices", "--json"], 0)).contains("vulkan:0") {
        assert!(std::env::var("CI").is_err(), "a Vulkan device is needed where CI=true");
        return;
    }
    let head = sandbox.text("head.json");
    // Few and small, for this to be quick: what is measured does not matter here.
    let args = ["shader", "calibrate", "--device", "vulkan:0", "--out", &head, "--count", "8", "--quads", "2", "--json"];
    let output = sandbox.run(&[&args[..], &["--resolution", "16x16", "--texture-size", "16"]].concat(), 0);
    let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let names: Vec<&str> = value["shaders"].as_array().expect("shaders").iter().filter_map(|s| s["name"].as_str()).collect();
    assert_eq!((names.len(), &value["failed"]), (8, &serde_json::json!({})), "{value}");
    assert!(names.iter().any(|name| name.contains('_')), "{names:?}");
    let left = std::fs::read_dir(sandbox.path("."))
        .expect("a folder")
        .filter(|f| f.as_ref().is_ok_and(|f| f.file_name().to_string_lossy().starts_with("warpsight-shaders-")));
    assert_eq!(left.count(), 0, "its folder is gone");
}
