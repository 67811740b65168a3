//! `warpsight shader mutate`: a corpus of two shaders and what becomes of it.

mod common;

use common::{Sandbox, said};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use warpsight_shader::cfg::Cfg;
use warpsight_shader::corpus::{self, Entry};
use warpsight_shader::module::Module;
use warpsight_shader::wrap::{Source, wrap};

const LOOPS: &str = "#version 330 core\nuniform vec2 resolution;\nuniform float time;\nuniform int rounds = 7;\nout vec4 color;\nvoid main() {\n\
    vec4 sum = vec4(gl_FragCoord.xy / resolution, 0.0, 1.0);\nfor (int i = 0; i < rounds; i++)\nfor (int j = 0; j < 12; j++) sum += sin(sum * time);\ncolor = sum;\n}\n";
const PLAIN: &str = "void mainImage(out vec4 c, in vec2 p) {\nc = vec4(p / iResolution.xy, sin(iTime), 1.0);\n}\n";

/// Whether SPIR-V Tools are there. Where `CI=true`, they have to be.
fn tools() -> bool {
    let found = ["spirv-val", "spirv-opt"].iter().all(|t| Command::new(t).arg("--version").output().is_ok());
    assert!(found || std::env::var("CI").is_err(), "SPIR-V Tools are needed where CI=true");
    found
}

/// Writes a corpus of these shaders.
fn write(folder: &Path, shaders: &[(&str, &str)]) {
    let mut entries = Vec::new();
    for sub in ["spv", "glsl"] {
        std::fs::create_dir_all(folder.join(sub)).unwrap();
    }
    for (name, text) in shaders {
        let wrapped = wrap(&Source::new(text)).unwrap();
        let words = warpsight_run::glslang::fragment(&wrapped.glsl).unwrap();
        let module = Module::new(words).unwrap();
        let cfg = Cfg::new(&module).unwrap();
        let id = corpus::id(&module);
        let bytes: Vec<u8> = module.words().iter().flat_map(|w| w.to_le_bytes()).collect();
        std::fs::write(folder.join(format!("spv/{id}.spv")), bytes).unwrap();
        std::fs::write(folder.join(format!("glsl/{id}.frag")), &wrapped.glsl).unwrap();
        entries.push(Entry {
            group: id.clone(),
            id,
            name: (*name).to_owned(),
            source: "test".into(),
            licence: "MIT".into(),
            origin: (*name).to_owned(),
            dialect: "plain".into(),
            parent: None,
            change: None,
            loops: cfg.blocks.iter().any(|b| b.is_loop),
            uniforms: wrapped.uniforms,
            resolution: None,
            texture: None,
            instructions: cfg.blocks.iter().map(|b| b.insts.len() as u32).sum(),
            blocks: cfg.blocks.len() as u32,
        });
    }
    std::fs::write(folder.join("corpus.jsonl"), corpus::write(&entries).unwrap()).unwrap();
}

fn entries(folder: &Path) -> Vec<Entry> {
    corpus::read(&std::fs::read_to_string(folder.join("corpus.jsonl")).unwrap()).unwrap()
}

#[test]
fn mutants_have_parents_groups_and_changes() {
    if !tools() {
        return;
    }
    let sandbox = Sandbox::new();
    write(&sandbox.path("a"), &[("loops", LOOPS), ("plain", PLAIN)]);
    let parent = entries(&sandbox.path("a")).into_iter().find(|e| e.loops).unwrap();
    assert_eq!(parent.uniforms.get("rounds"), Some(&vec![7.0]));
    let mutate = |into: &str, more: &[&str]| -> Value {
        let (from, into) = (sandbox.text("a"), sandbox.text(into));
        let output = sandbox.run(&[&["shader", "mutate", &from, "--into", &into, "--json"], more].concat(), 0);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let said = mutate("b", &["--per-parent", "6"]);
    let made = entries(&sandbox.path("b"));
    assert_eq!((said["parents"].as_u64(), said["mutants"].as_u64()), (Some(1), Some(made.len() as u64)));
    assert_eq!(said["faults"], serde_json::json!([]));
    let kinds: BTreeMap<String, u64> = serde_json::from_value(said["kinds"].clone()).unwrap();
    // Some recipes may make the same of it.
    assert!(kinds["loop bounds"] >= 2 && kinds["uniforms"] >= 1 && kinds["frames"] == 1 && kinds["the optimiser"] >= 2, "{kinds:?}");
    assert_eq!(kinds.values().sum::<u64>() - kinds["the optimiser"], 6);
    let mut changes = BTreeSet::new();
    for entry in &made {
        assert_eq!((entry.parent.as_ref(), &entry.group, &entry.source), (Some(&parent.id), &parent.group, &parent.source));
        let bytes = std::fs::read(sandbox.path(&format!("b/spv/{}.spv", entry.id))).unwrap();
        let module = Module::from_bytes(&bytes).unwrap();
        let change = entry.change.clone().unwrap();
        // Those that are drawn otherwise are the same module under another name.
        let same = corpus::id(&module) == parent.id;
        assert_eq!(same, !change.starts_with("loop bound 12 →") && !change.starts_with("spirv-opt"), "{change}");
        assert_eq!(entry.resolution.is_some(), change.starts_with("frame of"), "{change}");
        assert_eq!(entry.uniforms != parent.uniforms, change.contains("rounds = "), "{change}");
        assert!(same || corpus::id(&module) == entry.id);
        assert!(sandbox.path(&format!("b/glsl/{}.frag", entry.id)).exists());
        changes.insert(change);
    }
    assert_eq!(changes.len(), made.len());
    // Equal seeds, equal mutants; others are others.
    mutate("c", &["--per-parent", "6", "--threads", "1"]);
    let text = |folder: &str| std::fs::read_to_string(sandbox.path(folder).join("corpus.jsonl")).unwrap();
    assert_eq!(text("b"), text("c"));
    mutate("d", &["--per-parent", "6", "--seed", "5"]);
    assert_ne!(text("b"), text("d"));
    // Added to itself, a corpus keeps its parents, and mutants have no mutants.
    mutate("a", &["--per-parent", "2", "--optimised", "0", "--all"]);
    let all = entries(&sandbox.path("a"));
    assert_eq!(all.iter().filter(|e| e.parent.is_none()).count(), 2);
    assert!(all.iter().any(|e| e.change.as_deref().is_some_and(|c| c.starts_with("frame of")) && !e.loops), "--all");
    let before = text("a");
    mutate("a", &["--per-parent", "2", "--optimised", "0", "--all"]);
    assert_eq!(before, text("a"));
}

const TEXTURED: &str = "uniform sampler2D image; varying vec2 uv;\nvoid main() {\nvec4 sum = vec4(0.0);\n\
    for (int i = 0; i < 9; i++) sum += texture2D(image, uv * float(i));\ngl_FragColor = sum;\n}\n";

/// The side of textures is part of a mutant's scene, as its frame is: both are written down, and measured so.
#[test]
fn textures_of_other_sides_are_kept_and_measured() {
    if !tools() {
        return;
    }
    let sandbox = Sandbox::new();
    write(&sandbox.path("a"), &[("textured", TEXTURED)]);
    let (from, into) = (sandbox.text("a"), sandbox.text("b"));
    let output = sandbox.run(&["shader", "mutate", &from, "--into", &into, "--per-parent", "12", "--optimised", "0", "--json"], 0);
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let made = entries(&sandbox.path("b"));
    let sides: BTreeMap<u32, String> = made.iter().filter_map(|e| Some((e.texture?, e.change.clone()?))).collect();
    assert_eq!(said["kinds"]["textures"].as_u64(), Some(sides.len() as u64));
    assert!(sides.len() >= 2 && sides.iter().all(|(side, change)| *change == format!("textures of {side}×{side}")), "{sides:?}");
    assert!(made.iter().all(|e| e.texture.is_none() || e.resolution.is_none()), "one change each");
    let devices = sandbox.run(&["devices", "--json"], 0);
    if !common::said(&devices).contains("vulkan:0") {
        return;
    }
    let store = sandbox.text("s.sqlite");
    let measure = |more: &[&str]| {
        let args = ["shader", "profile", &into, "--device", "vulkan:0", "--into", &store, "--resolution", "16x16", "--json"];
        sandbox.run(&[&args[..], more].concat(), 0)
    };
    let measured = |id: &str| {
        let shots = warpsight_learn::Store::open(sandbox.path("s.sqlite")).unwrap().shots(None).unwrap();
        shots.iter().filter(|s| s.shader == id).map(|s| s.texture).collect::<Vec<_>>()
    };
    let small = made.iter().filter(|e| e.texture.is_some()).min_by_key(|e| e.texture).unwrap();
    measure(&["--only", &small.id]);
    assert_eq!(measured(&small.id), [small.texture.unwrap()]);
    // What the user says goes before.
    measure(&["--only", &small.id, "--texture-size", "16"]);
    assert_eq!(measured(&small.id), [small.texture.unwrap(), 16]);
}

#[test]
fn broken_corpora_are_told() {
    if !tools() {
        return;
    }
    let sandbox = Sandbox::new();
    let (none, into) = (sandbox.text("none"), sandbox.text("out"));
    let output = sandbox.run(&["shader", "mutate", &none, "--into", &into], 5);
    assert!(said(&output).contains("shader collect"), "{}", said(&output));
    // A module that is not there costs its mutants, not the batch.
    write(&sandbox.path("a"), &[("loops", LOOPS)]);
    let id = entries(&sandbox.path("a"))[0].id.clone();
    std::fs::write(sandbox.path(&format!("a/spv/{id}.spv")), b"not words").unwrap();
    let output = sandbox.run(&["shader", "mutate", &sandbox.text("a"), "--into", &into, "--json"], 0);
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((said["mutants"].as_u64(), said["faults"][0]["id"].as_str()), (Some(0), Some(id.as_str())));
    std::fs::write(sandbox.path("a/corpus.jsonl"), "{}\n").unwrap();
    sandbox.run(&["shader", "mutate", &sandbox.text("a"), "--into", &into], 2);
}
