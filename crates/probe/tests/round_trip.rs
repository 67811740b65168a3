//! Simulated GPUs by chance are found to be what they are made of; `--example round_trip` does the same with as many as one likes.

#[path = "common/silicon.rs"]
mod silicon;

use silicon::{Judged, Silicon};

/// Facts of other aspects than of warps and of caches, and those of arithmetic and of registers among them.
const OTHERS: [&str; 9] = ["cores", "registers", "peak", "ALUs", "schedulers", "bandwidth", "DRAM", "layout", "held-out"];
const COMPUTED: [&str; 5] = ["cores", "registers", "peak", "ALUs", "schedulers"];

/// Three silicons of the committed seed, by some aspects: of the facts that are asked for none is wrong.
fn come_back(aspects: &[&str], asked: impl Fn(&str) -> bool) {
    let mut rng = fastrand::Rng::with_seed(20261126);
    for n in 0..3 {
        let silicon = Silicon::by_chance(&mut rng, 0.03);
        let judged: Vec<Judged> = silicon.judged(&silicon.probed(aspects)).into_iter().filter(|judged| asked(judged.name)).collect();
        assert!(!judged.is_empty());
        let said = |Judged { name, truth, found, .. }| format!("{name} is {truth}, found {found:?}");
        let wrong: Vec<String> = judged.into_iter().filter(|judged| !judged.right).map(said).collect();
        assert!(wrong.is_empty(), "{n}: {wrong:?} of {silicon:?}");
    }
}

#[test]
fn silicon_by_chance_comes_back() {
    come_back(&["warp", "hierarchy"], |name| name == "warp" || !OTHERS.iter().any(|other| name.contains(other)));
}

#[test]
fn what_silicon_by_chance_computes_with_comes_back() {
    come_back(&["warp", "arithmetic", "registers"], |name| COMPUTED.iter().any(|own| name.contains(own)));
}
