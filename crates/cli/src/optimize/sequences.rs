//! Sequences of expressions that operators were chosen among, and that were taken, in words and as JSON.

use crate::failure::Failure;
use crate::report::{micros, out};
use serde_json::{Value, json};
use warpsight_engine::candidates::Considered;
use warpsight_engine::settle::Taken;
use warpsight_graph::Plan;

/// The names that `--sequences` takes.
pub const NAMES: [&str; 16] = [
    "direct",
    "padded",
    "packed",
    "phases",
    "parts",
    "split16",
    "split256",
    "runs16",
    "runs256",
    "rows",
    "rows_kept",
    "rows_held",
    "held",
    "pooled",
    "winograd2",
    "winograd4",
];

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 * 1e-6)
}

/// What was looked at for one operator.
pub fn considered(all: &[Considered]) -> Value {
    let one = |own: &Considered| {
        json!({
            "name": own.name,
            "predicted_s": own.time,
            "whole": own.whole,
            "temporary_bytes": own.temporary_bytes,
            "expected_error": own.error,
            "time_s": own.timed.map(|time| time.0),
            "time_source": own.timed.map(|time| time.1),
        })
    };
    all.iter().map(one).collect()
}

/// The same in a line, nothing where there was no choice.
pub fn print(taken: &str, all: &[Considered]) -> Result<(), Failure> {
    if all.is_empty() {
        return Ok(());
    }
    let one = |own: &Considered| {
        let time = own.time.map_or("which the device cannot run".to_owned(), |time| format!("{} us", micros(time)));
        let whole = if own.whole { "" } else { "over " };
        let error = if own.error > 0.0 { format!(", off by {:.0e} for that", own.error) } else { String::new() };
        let between = if own.temporary_bytes > 0 {
            format!(" with {} between kernels{error}", megabytes(own.temporary_bytes))
        } else {
            String::new()
        };
        let timed = own.timed.map_or(String::new(), |(time, source)| format!(", {} us ({})", micros(time), source.name()));
        format!("{} {whole}{time}{between}{timed}", own.name)
    };
    let shown: Vec<String> = all.iter().map(one).collect();
    out(format_args!("computed as {taken}; predicted: {}", shown.join("; ")))
}

/// What was taken in a plan instead of operators as they are.
pub fn taken(plan: &Plan, all: &[Taken]) -> Value {
    let one = |own: &Taken| {
        json!({
            "operator": plan.operators[own.position].name,
            "name": own.name,
            "temporary_bytes": own.temporary_bytes,
            "expected_error": own.error,
        })
    };
    all.iter().map(one).collect()
}

/// The same in a line for each name.
pub fn print_taken(plan: &Plan, all: &[Taken]) -> Result<(), Failure> {
    for name in NAMES {
        let own: Vec<&Taken> = all.iter().filter(|own| own.name == name).collect();
        let Some(most) = own.iter().map(|own| own.temporary_bytes).max() else { continue };
        let error = own.iter().map(|own| own.error).fold(0.0, f64::max);
        let error = if error > 0.0 { format!(", results expected to be off by {error:.0e} for that") } else { String::new() };
        let names: Vec<&str> = own.iter().map(|own| plan.operators[own.position].name.as_str()).collect();
        out(format_args!("computed as {name}: {}; at most {} between their kernels{error}", names.join(", "), megabytes(most)))?;
    }
    Ok(())
}
