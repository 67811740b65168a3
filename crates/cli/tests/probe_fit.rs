//! `warpsight probe fit`: every fit from its recordings, byte for byte; what is missing or damaged is named and the rest is made.

mod common;

use common::{Sandbox, said};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The recordings beside the repository, where they are.
fn shared() -> Option<PathBuf> {
    let data = Path::new(ROOT).join("../shared/data");
    if !data.is_dir() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", data.display());
        eprintln!("skipped: no recordings");
        return None;
    }
    Some(data)
}

/// A folder with some of the recordings.
fn some(s: &Sandbox, shared: &Path, names: &[&str]) -> PathBuf {
    let data = s.path("data");
    let measured = data.join("volumes/measured");
    std::fs::create_dir_all(&measured).expect("a folder");
    for name in names {
        std::fs::copy(shared.join("volumes/measured").join(name), measured.join(name)).expect("a copy");
    }
    data
}

fn fits(s: &Sandbox, args: &[&str], code: i32) -> BTreeMap<String, Value> {
    let output = s.run(&[&["probe", "fit", "--json"], args].concat(), code);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(&output)));
    let fits = found["fits"].as_array().expect("fits").iter();
    fits.map(|fit| (fit["name"].as_str().expect("a name").to_owned(), fit.clone())).collect()
}

#[test]
fn the_same_recordings_give_the_same_bytes() {
    let Some(shared) = shared() else { return };
    let s = Sandbox::new();
    let data = some(&s, &shared, &["gpu_strides.json", "amd_laplacian.json", "gpu_cache.json"]);
    let (data, into) = (data.display().to_string(), s.text("fits"));
    let found = fits(&s, &[&data, "--into", &into], 2);
    let is = |name: &str| found[name]["is"].as_str().expect("a word");
    assert_eq!(
        ["l1-nvidia.toml", "dram.toml", "caches.toml", "bandwidth.toml", "time.toml"].map(is),
        ["written", "written", "not made", "not made", "not made"]
    );
    for name in ["l1-nvidia.toml", "dram.toml"] {
        let made = std::fs::read(s.path("fits").join(name)).expect("a fit");
        assert!(made == std::fs::read(Path::new(ROOT).join("data/fits").join(name)).expect("the committed one"), "{name}");
    }
    assert!(!s.path("fits/caches.toml").exists());
    // Of two, the one that is missing.
    assert_eq!(found["caches.toml"]["samples"]["volumes/measured/gpu_l2_cache.json"], "is missing");
    assert_eq!(found["caches.toml"]["samples"]["volumes/measured/gpu_cache.json"], Value::Null);
    assert_eq!(found["time.toml"]["samples"]["tuning/gemm_rtx3090.csv"], "is missing");

    // Again: nothing to write. Another number: seen, and only written where that may be.
    assert_eq!(fits(&s, &[&data, "--into", &into], 2)["dram.toml"]["is"], "same");
    let file = s.path("fits/dram.toml");
    let text = std::fs::read_to_string(&file).expect("a fit");
    std::fs::write(&file, text.replacen("capacity = 0.940", "capacity = 0.941", 1)).expect("writes");
    assert_eq!(fits(&s, &[&data, "--into", &into, "--check"], 2)["dram.toml"]["is"], "differs");
    assert_ne!(std::fs::read_to_string(&file).expect("a fit"), text);
    assert_eq!(fits(&s, &[&data, "--into", &into], 2)["dram.toml"]["is"], "written");
    assert_eq!(std::fs::read_to_string(&file).expect("a fit"), text);
}

#[test]
fn what_is_damaged_is_named_and_costs_no_other_fit() {
    let Some(shared) = shared() else { return };
    let s = Sandbox::new();
    let data = some(&s, &shared, &["gpu_strides.json"]);
    std::fs::write(data.join("volumes/measured/amd_laplacian.json"), "{\"mi250x_gcd").expect("writes");
    std::fs::write(data.join("volumes/measured/gpu_stream.json"), b"\xff\xfe").expect("writes");
    std::fs::create_dir_all(data.join("tuning")).expect("a folder");
    std::fs::write(data.join("tuning/gemm_rtx3090.csv.gz"), "no archive").expect("writes");
    let output = s.run(&["probe", "fit", &data.display().to_string(), "--into", &s.text("fits")], 2);
    let said = said(&output);
    let words = [
        "amd_laplacian.json` is no recording of its form: EOF",
        "this is not text",
        "gemm_rtx3090.csv: ",
        "not made, and left as they were",
    ];
    let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in words {
        assert!(flat.contains(word), "{word}: {said}");
    }
    assert!(s.path("fits/l1-nvidia.toml").is_file());

    let nowhere = s.run(&["probe", "fit", &s.text("nowhere")], 2);
    assert!(common::said(&nowhere).contains("there is no such folder"), "{}", common::said(&nowhere));
    // A fit's name is taken by a folder.
    std::fs::remove_file(s.path("fits/l1-nvidia.toml")).expect("removed");
    std::fs::create_dir(s.path("fits/l1-nvidia.toml")).expect("a folder");
    let refused = s.run(&["probe", "fit", &data.display().to_string(), "--into", &s.text("fits")], 5);
    assert!(common::said(&refused).contains("l1-nvidia.toml"), "{}", common::said(&refused));
}
