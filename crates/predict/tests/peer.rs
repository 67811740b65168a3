//! Volumes against those of the paper's public implementation, configuration by configuration.

use std::path::{Path, PathBuf};
use warpsight_ir::accesses::text;
use warpsight_predict::volumes::block::{Sizes, block_uses, instructions};
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

/// Requested, compulsory and store volumes of the star on A100, in bytes per point.
#[test]
fn star_of_range_four_on_a100() {
    let Some(file) = shared("peer/star3d25_r4_dp_640x512x512__DeviceAmpereA100_40GB.json") else { return };
    let peer: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let example = include_str!("../../../examples/accesses/star3d-r4-f64.toml");
    let sizes = Sizes { warp: 32, sector: 32, line: 128, banks: 32 };
    let configs = peer["configs"].as_array().unwrap();
    assert_eq!(configs.len(), 55);
    for config in configs {
        let block: Vec<String> = config["launch"]["block"].as_array().unwrap().iter().map(|v| v.to_string()).collect();
        if config["launch"]["block"][0].as_u64() > Some(640) {
            // The domain is 640 wide. The original lets threads beyond it load, wrapped into the next row.
            continue;
        }
        let written = text::parse(example, &[("block".into(), block.join(","))]).unwrap_or_else(|error| panic!("{error:?}"));
        let subject = Subject::of(&written.kernel).unwrap();
        let points = written.points as f64;
        let requested: u64 = instructions(&subject, sizes).iter().filter(|i| i.field == 0).map(|i| i.sectors).sum();
        let stored: u64 = instructions(&subject, sizes).iter().filter(|i| i.field == 1).map(|i| i.sectors).sum();
        let compulsory: u64 = block_uses(&subject, sizes).iter().map(|use_| use_.loaded_sectors).sum();
        let derived = &config["derived"];
        for (name, found) in [("L1Load", requested), ("L2LoadV1", compulsory), ("L2Store", stored)] {
            let (found, expected) = (32.0 * found as f64 / points, derived[name].as_f64().unwrap());
            assert!((found / expected - 1.0).abs() < 0.01, "{name} of {block:?}: {found} instead of {expected}");
        }
    }
}
