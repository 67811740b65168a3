//! Volumes against those of the paper's public implementation, configuration by configuration.

#[path = "peer/kernels.rs"]
mod kernels;

use kernels::{Config, kernel};
use std::path::{Path, PathBuf};
use warpsight_ir::AccessKind;
use warpsight_predict::volumes::block::{Sizes, block_uses, instructions};
use warpsight_predict::volumes::dram::{Curve, Memory, Wave, dram};
use warpsight_predict::volumes::subject::Subject;

fn shared(path: &str) -> Option<PathBuf> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/volumes").join(path);
    if file.exists() {
        return Some(file);
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", file.display());
    eprintln!("skipped: no {path}");
    None
}

/// Every file of outputs, by name.
fn peers() -> Vec<(String, serde_json::Value)> {
    let Some(folder) = shared("peer") else { return vec![] };
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    files.sort();
    let read = |path: &Path| serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    files.iter().map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), read(path))).collect()
}

const VOLUMES: [&str; 4] = ["L1Load", "L2LoadV1", "L2Store", "memLoadV1"];

/// What we find for [`VOLUMES`], in bytes per thread, relative to the original.
fn ratios(peer: &serde_json::Value, config: &serde_json::Value) -> [f64; 4] {
    let numbers = Config::of(peer, config);
    let subject = Subject::of(&kernel(peer, &numbers).kernel).unwrap();
    let sizes = |sector: u64| Sizes { warp: numbers.warp as u32, sector: sector as u32, line: 128, banks: 32 };
    let threads = (numbers.threads() * numbers.grid.iter().product::<u64>()) as f64;
    let is_store = |kind| matches!(kind, AccessKind::Store(_));
    let requested: u64 = instructions(&subject, sizes(numbers.sector)).iter().filter(|i| !is_store(i.kind)).map(|i| i.sectors).sum();
    let stored: u64 = instructions(&subject, sizes(numbers.write)).iter().filter(|i| is_store(i.kind)).map(|i| i.sectors).sum();
    let compulsory: u64 = block_uses(&subject, sizes(numbers.sector)).iter().map(|use_| use_.loaded_sectors).sum();
    let memory = Memory { fetch: numbers.fetch as u32, write: numbers.write as u32, l2_effective: 20e6, last_level: None };
    let curve = Curve { capacity: 1.0, steepness: 8.0, spread: 1.0 };
    let found = dram(&subject, &memory, &Wave { blocks: numbers.box_blocks() }, &curve);
    let bytes =
        [(requested * numbers.sector) as f64, (compulsory * numbers.sector) as f64, (stored * numbers.write) as f64, found.load_wave];
    let expected = VOLUMES.map(|name| config["derived"][name].as_f64().unwrap());
    [0, 1, 2, 3].map(|i| bytes[i] / threads / expected[i])
}

#[test]
fn table() {
    for (name, peer) in peers() {
        println!("{name}");
        for config in peer["configs"].as_array().unwrap() {
            let ratios = ratios(&peer, config);
            let c = Config::of(&peer, config);
            println!("  {:?} grid {:?} wave {:?} of {}: {:.4?}", c.block, c.grid, c.wave, c.resident, ratios);
        }
    }
}
