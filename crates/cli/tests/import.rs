//! What a battery wrote reaches the store from its folder, its archive and its files, and times that cannot be are named.

mod common;

use common::{Sandbox, json, said};
use serde_json::{Value, json as value};
use std::process::Command;
use warpsight_learn::{Filter, Store};

/// How many samples an import adds to a fresh store, and what it says.
fn imported(s: &Sandbox, from: &str, code: i32) -> (usize, String) {
    let store = s.path("store.sqlite");
    let _ = std::fs::remove_file(&store);
    let output = s.run(&["import", &s.text(from), "--store", &s.text("store.sqlite")], code);
    let samples = Store::open(&store).and_then(|store| store.samples(Filter::default())).map_or(0, |samples| samples.len());
    (samples, said(&output))
}

fn packed(s: &Sandbox, archive: &str, args: &[&str]) {
    let status = Command::new("tar").args(["-cf", &s.text(archive), "-C", &s.text("")]).args(args).status();
    assert!(status.expect("tar").success());
}

#[test]
fn a_folder_its_archive_and_its_files_hold_the_same() {
    let s = Sandbox::new();
    s.battery("h200", &["--phase", "stencils"], 0);
    // As gpu-battery leaves it: with notes and a folder of its own for shaders.
    std::fs::write(s.path("h200/nvidia-smi.txt"), "a driver").expect("writes");
    std::fs::create_dir(s.path("h200/shaders")).expect("a folder");
    std::fs::write(s.path("h200/shaders/profile.json"), "{}").expect("writes");
    let (all, _) = imported(&s, "h200", 0);
    assert!(all > 3, "{all}");
    packed(&s, "h200.tar.gz", &["-z", "h200"]);
    packed(&s, "plain.tar", &["h200"]);
    packed(&s, "inside.tar.gz", &["-z", "-C", &s.text("h200"), "."]);
    for from in ["h200.tar.gz", "plain.tar", "inside.tar.gz", "h200/stencils.json"] {
        assert_eq!(imported(&s, from, 0).0, all, "{from}");
    }
    packed(&s, "empty.tar.gz", &["-z", "h200/nvidia-smi.txt"]);
    for from in ["empty.tar.gz", "h200/shaders"] {
        let (none, said) = imported(&s, from, 2);
        assert!(none == 0 && (said.contains("there are no files of a battery") || said.contains("profile.json")), "{from}: {said}");
    }
}

#[test]
fn times_that_cannot_be_are_named_and_the_others_stored() {
    let s = Sandbox::new();
    s.battery("out", &["--phase", "stencils"], 0);
    let (all, _) = imported(&s, "out", 0);
    let mut file = json(&s.path("out/stencils.json"));
    let bad = [value!([-3.8]), value!([0.0]), value!([1e-6, 1e308]), value!([null]), value!([])];
    let mut names: Vec<String> = vec![];
    let records = file["records"].as_array_mut().expect("records");
    let timed = records.iter_mut().filter(|record| record["times_s"].as_array().is_some_and(|times| !times.is_empty()));
    for (record, bad) in timed.zip(&bad) {
        record["times_s"] = bad.clone();
        names.push(record["name"].as_str().expect("a name").to_owned());
    }
    assert_eq!(names.len(), bad.len());
    std::fs::write(s.path("out/stencils.json"), file.to_string()).expect("writes");
    let (stored, said) = imported(&s, "out", 2);
    assert_eq!(stored, all - bad.len(), "{said}");
    for (name, what) in names.iter().zip(["-3.8 s", "0.0 s", "1e308 s", "NaN s", "it was timed, and has no times"]) {
        assert!(said.contains(name.as_str()) && said.contains(what), "{name}, {what}: {said}");
    }
    assert!(said.contains("one is above 0 and at most 1000000 s"), "{said}");
    let found: Value =
        serde_json::from_slice(&s.run(&["import", &s.text("out"), "--store", &s.text("store.sqlite"), "--json"], 2).stdout).expect("JSON");
    assert_eq!(found["errors"].as_array().map(Vec::len), Some(bad.len()));
}

#[test]
fn a_battery_of_a_device_that_only_draws_ends_at_once() {
    let s = Sandbox::new();
    let begun = std::time::Instant::now();
    let output = s.command(&["battery", "--device", "vulkan:0", "--out", &s.text("out")]).output().expect("starts");
    // 3 where there is no Vulkan at all.
    assert!(matches!(output.status.code(), Some(2 | 3)), "{}", said(&output));
    assert!(output.status.code() == Some(3) || said(&output).contains("shader profile --device vulkan:0"), "{}", said(&output));
    assert!(begun.elapsed().as_secs() < 20 && !s.path("out").exists());
}
