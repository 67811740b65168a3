//! What was found, for people.

use super::found::Found;
use super::keys::{Cells, digits, figure, part, parts};
use crate::battery::measuring::summary_table;
use crate::failure::Failure;
use crate::report::Column::{Below, Keep, Spare};
use crate::report::{out, table};

/// Prints everything that was found, part by part.
pub fn show(found: &Found) -> Result<(), Failure> {
    out(format_args!("{}: {}", found.name(), found.device.form))?;
    if !found.aspects.is_empty() {
        out("")?;
        out(summary_table("aspect", &found.aspects))?;
    }
    for heading in parts() {
        let own: Vec<_> = found.findings.facts.iter().filter(|(key, _)| part(key) == heading).collect();
        if own.is_empty() {
            continue;
        }
        out(format_args!("\n{heading}"))?;
        let mut rows =
            table(&[Keep("key"), Keep("value"), Keep("unit"), Spare(3, "interval"), Spare(2, "source"), Spare(1, "paper"), Below("why")]);
        for (key, finding) in own {
            let cells = Cells::of(key, finding);
            // What is known has its origin on the page; what is not has its reason here.
            let why = if cells.source.is_empty() { cells.why } else { String::new() };
            rows.add_row([
                key.clone(),
                cells.value,
                cells.unit.to_owned(),
                cells.interval,
                cells.source.to_owned(),
                figure(key).to_owned(),
                why,
            ]);
        }
        out(rows)?;
    }
    list("Contradictions", &found.findings.contradictions)?;
    if !found.consistency.is_empty() {
        out("\nHeld against itself")?;
        let mut rows = table(&[Keep("what"), Keep("expected"), Keep("found"), Keep("verdict"), Keep("why")]);
        for one in &found.consistency {
            let number = |value: Option<f64>| value.map_or("-".to_owned(), digits);
            let verdict = one.verdict.word().to_owned();
            rows.add_row([one.what.clone(), number(one.expected), number(one.found), verdict, one.why.clone()]);
        }
        out(rows)?;
    }
    list("Not read", &found.notes)
}

fn list(heading: &str, all: &[String]) -> Result<(), Failure> {
    if all.is_empty() {
        return Ok(());
    }
    out(format_args!("\n{heading}"))?;
    all.iter().try_for_each(|one| out(format_args!("  {one}")))
}
