//! The lattice-Boltzmann kernel in blocks of 512 threads on A100: our volumes against those of the paper's public implementation.

use super::peers;
use warpsight_ir::accesses::text;
use warpsight_ir::profile::builtin;
use warpsight_predict::explore::score::tau;
use warpsight_predict::volumes::report::{PointVolumes, Settings, Work, report};

const LBM: &str = include_str!("../../../../examples/accesses/lbm-d3q15-interface.toml");
const FILE: &str = "lbm_ac_d3q15_dp_254x198x198__DeviceAmpereA100_40GB";

fn volumes(text: &str, block: [u64; 3]) -> PointVolumes {
    let on = builtin("a100-40").unwrap().unwrap();
    let block = block.map(|n| n.to_string()).join(",");
    let written = text::parse(text, &[("block".to_owned(), block)]).unwrap();
    report(&Work { kernel: &written.kernel, points: written.points }, &on, &Settings::default()).unwrap().volumes
}

/// A block and bytes a point between memory and the second level, theirs and ours: loaded, stored.
struct Row {
    block: [u64; 3],
    /// Part of the threads that lie in the domain.
    inside: f64,
    theirs: [f64; 2],
    ours: [f64; 2],
}

fn rows() -> Vec<Row> {
    let Some((_, peer)) = peers().into_iter().find(|(name, _)| name == FILE) else { return vec![] };
    let row = |config: &serde_json::Value| {
        let block = [0, 1, 2].map(|i| config["launch"]["block"][i].as_u64().unwrap());
        let theirs = ["memLoadV4", "memStoreV2"].map(|name| config["derived"][name].as_f64().unwrap());
        let found = volumes(LBM, block);
        let [grid, domain] = [&config["launch"]["grid"], &peer["kernel"]["domain"]].map(|of| [0, 1, 2].map(|i| of[i].as_u64().unwrap()));
        let inside = (0..3).map(|i| domain[i] as f64 / (grid[i] * block[i]) as f64).product();
        Row { block, inside, theirs, ours: [found.dram_load.unwrap(), found.dram_store.unwrap()] }
    };
    peer["configs"].as_array().unwrap().iter().map(row).collect()
}

/// Section 5.6: narrow blocks load and store much more, as stores that fill lines in part miss in the second level.
#[test]
fn narrow_blocks_lose_lines_that_are_stored_in_part() {
    let rows = rows();
    if rows.is_empty() {
        return;
    }
    println!("lattice-Boltzmann kernel, B/point loaded and stored: block, theirs, ours (predicted)");
    for Row { block, theirs, ours, .. } in &rows {
        println!("{:12} {:6.1} {:6.1}  {:6.1} {:6.1}", block.map(|n| n.to_string()).join("x"), theirs[0], theirs[1], ours[0], ours[1]);
    }
    // Theirs takes a wave for as large as if all of its threads lay in the domain: of 1x512x1 38 % do.
    for Row { block, theirs, ours, .. } in rows.iter().filter(|row| row.inside > 0.5) {
        for i in 0..2 {
            assert!((ours[i] / theirs[i] - 1.0).abs() < 0.1, "{block:?}: {ours:?} for {theirs:?}");
        }
    }
    let width = |n: u64| rows.iter().filter(move |row| row.block[0] == n && row.inside > 0.5).map(|row| row.ours[0]);
    let (least, most) = (width(1).fold(f64::INFINITY, f64::min), width(32).fold(0.0, f64::max));
    println!("loads of blocks one thread wide at least {least:.1}, of those 32 wide at most {most:.1} B/point, predicted");
    let of = |block: [u64; 3]| rows.iter().find(|row| row.block == block).unwrap().ours;
    assert!(of([1, 16, 32])[0] >= 1.2 * most && least >= 1.18 * most, "{least} {most}");
    let both: Vec<(f64, f64)> = rows.iter().map(|row| (row.theirs.iter().sum(), row.ours.iter().sum())).collect();
    let tau = tau(&both);
    println!("order of {} blocks by loads and stores: τ-b {tau:.3}", both.len());
    assert!(tau >= 0.6, "{tau}");
}

/// A range-four star stores whole sectors in blocks of four and more: each once, nothing read back.
#[test]
fn whole_lines_are_stored_once() {
    let star = include_str!("../../../../examples/accesses/star3d-r4-f64.toml");
    for block in [[64, 4, 4], [32, 4, 8], [16, 16, 4], [4, 16, 16], [1024, 1, 1]] {
        let found = volumes(star, block);
        assert!((found.dram_store.unwrap() / 8.0 - 1.0).abs() < 1e-9, "{block:?}: {found:?}");
        assert!(found.by_cause.iter().all(|(cause, _)| !cause.contains("read back")), "{block:?}: {found:?}");
    }
    // Four blocks fill a sector one after the other.
    let narrow = volumes(star, [1, 16, 16]);
    assert!(narrow.dram_store.unwrap() > 8.1, "{narrow:?}");
}
