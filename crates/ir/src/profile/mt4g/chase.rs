//! What MT4G's raw chase through memory shows of translations: 2,047 loads of a random walk through 1 GiB, one after another. Nothing is
//! translated yet: where a first touch of a page walks through the tables, the first loads fall into two kinds, and later ones are all of
//! one.

use super::wrong::Mt4gError;
use crate::profile::{Fact, Source};
use crate::units::Cycles;

/// Loads that a chase must have, and those of its beginning among which first touches are looked for.
const LEAST: usize = 1024;
const EARLY: usize = 512;
/// First touches that make a kind, and how much slower than the others they are.
const KIND: usize = 8;
const SLOWER: f64 = 1.3;

/// Latencies as they stand in the file, one in a line.
pub fn latencies(text: &str) -> Result<Vec<f64>, Mt4gError> {
    let wrong = |line: usize, what: String| Mt4gError::Value { key: format!("the chase, line {line}"), what };
    let mut all = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match line.trim().parse::<f64>() {
            Ok(cycles) if (1.0..1e6).contains(&cycles) => all.push(cycles),
            _ => return Err(wrong(at + 1, format!("`{}` is no latency in cycles", line.chars().take(40).collect::<String>()))),
        }
    }
    if all.len() < LEAST {
        return Err(wrong(all.len() + 1, format!("it ends after {} loads, of {LEAST} at least", all.len())));
    }
    Ok(all)
}

/// What a load waits longer whose page was not touched yet.
pub fn miss(latencies: &[f64], nvidia: bool, day: &str) -> Fact<Cycles> {
    if !nvidia {
        return Fact::unknown(
            "the chase's first touches walk through all levels of AMD's translation: what a miss of the first costs, they do not show",
        );
    }
    let (early, late) = latencies.split_at(EARLY.min(latencies.len()));
    let longest = late.iter().copied().fold(0.0, f64::max);
    let mut slow: Vec<f64> = early.iter().copied().filter(|&cycles| cycles > longest).collect();
    let (usual, first) = (median(&mut late.to_vec()), median(&mut slow));
    if slow.len() < KIND || first < SLOWER * usual {
        return Fact::unknown(format!("the chase's first loads are as fast as the others: {} of {EARLY} wait longer", slow.len()));
    }
    let most = slow.last().map_or(first, |most| *most);
    let cite = format!(
        "MT4G of {day}, raw chase through 1 GiB: {} of {} loads, among the first {EARLY}, wait {first} cycles, the others {usual} (medians): \
         a walk through tables that are in no cache; of walks that find theirs in one nothing is recorded, taken to be half as long at least",
        slow.len(),
        latencies.len()
    );
    Fact::between(Cycles((first - usual) / 2.0), Cycles(first - usual), Cycles(most - usual), Source::Measured, cite)
}

/// The median; the numbers are sorted then.
fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or_default()
}
