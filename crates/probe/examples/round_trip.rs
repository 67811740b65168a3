//! Simulated GPUs by chance, probed: `cargo run --release -p warpsight-probe --example round_trip -- [SEED [HOW MANY [NOISE [ASPECT…]]]]`;
//! for `3..5` instead of how many, those alone.
//! The table counts how many of each fact were found.

#[path = "../tests/common/silicon.rs"]
mod silicon;

use silicon::Silicon;
use std::collections::BTreeMap;
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize, otherwise: f64| args.get(n).and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let (seed, noise) = (number(0, 20261126.0) as u64, number(2, 0.03));
    let ends = args.get(1).map_or("30", String::as_str);
    let (from, to) = ends.split_once("..").unwrap_or(("0", ends));
    let (from, to): (usize, usize) = (from.parse().unwrap_or(0), to.parse().unwrap_or(30));
    let only: Vec<&str> = args.iter().skip(3).map(String::as_str).collect();
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut table: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let begun = Instant::now();
    for n in 0..to {
        let silicon = Silicon::by_chance(&mut rng, noise);
        if n < from {
            continue;
        }
        let since = Instant::now();
        let found = silicon.probed(&only);
        for (name, truth, found, right) in silicon.judged(&found) {
            let counts = table.entry(name).or_default();
            counts.0 += usize::from(right);
            counts.1 += 1;
            if !right {
                println!("{n}: {name} is {truth}, found {found:?}");
            }
        }
        eprintln!("{n}: {silicon:?}: {:.1} s", since.elapsed().as_secs_f64());
    }
    println!("\nsimulated, seed {seed}, noise {noise}, {:.0} s\n\n| fact | found | of |\n|---|---|---|", begun.elapsed().as_secs_f64());
    table.iter().for_each(|(name, (right, all))| println!("| {name} | {right} | {all} |"));
}
