//! Simulated GPUs by chance are found to be what they are made of; `--example round_trip` does the same with as many as one likes.

#[path = "common/silicon.rs"]
mod silicon;

use silicon::{Judged, Silicon};

/// Facts of other aspects.
const OTHERS: [&str; 9] = ["cores", "registers", "peak", "ALUs", "schedulers", "bandwidth", "DRAM", "layout", "held-out"];

#[test]
fn silicon_by_chance_comes_back() {
    let mut rng = fastrand::Rng::with_seed(20261126);
    for n in 0..3 {
        let silicon = Silicon::by_chance(&mut rng, 0.03);
        let judged = silicon.judged(&silicon.probed(&["warp", "hierarchy"]));
        // What other aspects find is not asked for here.
        let asked = |name: &str| name == "warp" || !OTHERS.iter().any(|other| name.contains(other));
        let said = |Judged { name, truth, found, .. }| format!("{name} is {truth}, found {found:?}");
        let wrong: Vec<String> = judged.into_iter().filter(|judged| asked(judged.name) && !judged.right).map(said).collect();
        assert!(wrong.is_empty(), "{n}: {wrong:?} of {silicon:?}");
    }
}
