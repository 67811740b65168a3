//! Volumes against those of the paper's public implementation, configuration by configuration.

#[path = "peer/defects.rs"]
mod defects;
#[path = "peer/kernels.rs"]
mod kernels;
#[path = "peer/lattice_boltzmann.rs"]
mod lattice_boltzmann;
#[path = "peer/paper002.rs"]
mod paper002;

use defects::peer_defect;
use kernels::{Config, Threads, kernel};
use std::path::{Path, PathBuf};
use warpsight_ir::AccessKind;
use warpsight_predict::volumes::behind::dram::{Between, Curve, Memory, Wave, dram};
use warpsight_predict::volumes::first_level::block::{block_uses, instructions};
use warpsight_predict::volumes::first_level::costs::Sizes;
use warpsight_predict::volumes::kernel::subject::Subject;

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
    let subject = Subject::of(&kernel(peer, &numbers, Threads::Grid).kernel).unwrap();
    let sizes = |sector: u64| Sizes { warp: numbers.warp as u32, sector: sector as u32, line: 128, banks: 32, texture: None };
    let threads = (numbers.threads() * numbers.grid.iter().product::<u64>()) as f64;
    let is_store = |kind| matches!(kind, AccessKind::Store(_));
    let requested: u64 = instructions(&subject, sizes(numbers.sector)).iter().filter(|i| !is_store(i.kind)).map(|i| i.sectors).sum();
    let stored: u64 = instructions(&subject, sizes(numbers.write)).iter().filter(|i| is_store(i.kind)).map(|i| i.sectors).sum();
    let compulsory: u64 = block_uses(&subject, sizes(numbers.sector)).iter().map(|use_| use_.loaded_sectors).sum();
    let memory = Memory {
        fetch: numbers.fetch as u32,
        write: numbers.write as u32,
        l2_effective: 20e6,
        last_level: None,
        between: Between::NOTHING,
    };
    let curve = Curve { capacity: 1.0, steepness: 8.0, spread: 1.0, in_step: None, within: None };
    // Its waves end at the domain, its requests do not.
    let inside = kernel(peer, &numbers, Threads::Domain);
    let found = dram(&Subject::of(&inside.kernel).unwrap(), &memory, &Wave { blocks: numbers.wave_box().iter().product() }, &curve);
    let per_thread = |pieces: u64, bytes: u64| (pieces * bytes) as f64 / threads;
    let found = [
        per_thread(requested, numbers.sector),
        per_thread(compulsory, numbers.sector),
        per_thread(stored, numbers.write),
        found.load_wave / inside.points as f64,
    ];
    let expected = VOLUMES.map(|name| config["derived"][name].as_f64().unwrap());
    [0, 1, 2, 3].map(|i| found[i] / expected[i])
}

#[test]
fn table() {
    let (mut all, mut excluded, mut waves) = (0, 0, 0);
    let mut wrong = Vec::new();
    println!("deviations from the original in %, predicted against its output: mean and worst of those without a defect of its own");
    println!("{:58} {:>7} {:>8}  {}", "file", "configs", "excluded", VOLUMES.map(|name| format!("{name:>15}")).join(""));
    for (name, peer) in peers() {
        let configs = peer["configs"].as_array().unwrap();
        let (mut sum, mut worst, mut left, mut defects) = ([0.0; 4], [0.0_f64; 4], 0, Vec::new());
        for config in configs {
            let numbers = Config::of(&peer, config);
            if let Some(defect) = peer_defect(&numbers) {
                defects.push((defect, numbers.block));
                continue;
            }
            left += 1;
            let off = ratios(&peer, config).map(|ratio| (ratio - 1.0).abs());
            for i in 0..4 {
                sum[i] += off[i];
                worst[i] = worst[i].max(off[i]);
            }
            wrong.extend(
                (0..3).filter(|&i| off[i] > 0.01).map(|i| format!("{name} {:?}: {} is {:.3} off", numbers.block, VOLUMES[i], off[i])),
            );
            waves += usize::from(off[3] > 0.03);
        }
        let columns = [0, 1, 2, 3].map(|i| format!("{:>7.2} {:>6.2} ", 100.0 * sum[i] / f64::from(left.max(1)), 100.0 * worst[i]));
        println!("{name:58} {:7} {:8}  {}", configs.len(), defects.len(), columns.join(""));
        defects.iter().for_each(|(defect, block)| println!("    defect {defect}: {block:?}"));
        all += configs.len();
        excluded += defects.len();
    }
    println!("{all} configurations, {excluded} excluded, {waves} waves more than 3 % off");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(excluded * 100 <= 15 * all, "{excluded} of {all}");
    assert!(waves * 20 <= all - excluded, "{waves} of {}", all - excluded);
}
