//! Simulated GPUs by chance, probed: `cargo run --release -p warpsight-probe --example round_trip -- [SEED [HOW MANY [NOISE [ASPECT…]]]]`;
//! for `3..5` instead of how many, those alone. `bench/round-trip` makes `bench/round_trip.md` of it.
//! The table counts how many of each fact were found.

#[path = "../tests/common/silicon.rs"]
mod silicon;

use silicon::{Judged, Silicon};
use std::collections::BTreeMap;
use std::time::Instant;

/// What is judged of one fact.
#[derive(Default)]
struct Row {
    right: usize,
    of: usize,
    /// Of what is an error itself: all of them.
    errors: Vec<f64>,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |n: usize, otherwise: f64| args.get(n).and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let (seed, noise) = (number(0, 20261126.0) as u64, number(2, 0.03));
    let ends = args.get(1).map_or("30", String::as_str);
    let (from, to) = ends.split_once("..").unwrap_or(("0", ends));
    let (from, to): (usize, usize) = (from.parse().unwrap_or(0), to.parse().unwrap_or(30));
    let only: Vec<&str> = args.iter().skip(3).map(String::as_str).collect();
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mut table, mut wrong) = (BTreeMap::<&str, Row>::new(), vec![]);
    let begun = Instant::now();
    for n in 0..to {
        let silicon = Silicon::by_chance(&mut rng, noise);
        if n < from {
            continue;
        }
        let since = Instant::now();
        let found = silicon.probed(&only);
        for Judged { name, truth, found, right } in silicon.judged(&found) {
            let row = table.entry(name).or_default();
            row.right += usize::from(right);
            row.of += 1;
            row.errors.extend(found.filter(|_| name.starts_with("held-out")));
            if !right {
                let found = found.map_or("nothing".to_owned(), |found| format!("{found:.4e}"));
                wrong.push(format!("- {n}: {name} is {truth:.4e}, found {found}"));
            }
        }
        eprintln!("{n}: {silicon:?}: {:.1} s", since.elapsed().as_secs_f64());
    }
    let all = to.saturating_sub(from);
    println!("## Seed {seed}, noise {noise}, {all} silicons (simulated, {:.0} s)\n", begun.elapsed().as_secs_f64());
    println!("| fact | found | of | mean error |\n|---|---|---|---|");
    for (name, Row { right, of, errors }) in &table {
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let mean = if errors.is_empty() { String::new() } else { format!("{:.1} %", 100.0 * mean) };
        println!("| {name} | {right} | {of} | {mean} |");
    }
    println!("\nNot found:\n\n{}\n", wrong.join("\n"));
}
