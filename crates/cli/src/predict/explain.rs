//! What limits a kernel, and what would help, in sentences.

use super::Predicted;
use super::show::time;
use crate::report::clean;
use warpsight_ir::Seconds;
use warpsight_predict::explain::{Change, What, WhatIf};
use warpsight_predict::volumes::report::Report;

/// A change that helps less is not worth a sentence.
const WORTH: f64 = 0.01;
/// Numbers that are listed.
const LISTED: usize = 3;

/// `With --set block=64,4,1`.
pub fn words(what: &What) -> String {
    match what {
        What::Key { key, extents, registers_guessed } => {
            let value = extents.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            format!("With --set {key}={value}{}", if *registers_guessed { " (registers are a guess)" } else { "" })
        }
        What::Aligned { field } => format!("With align = 0 for field {}", clean(field)),
    }
}

/// Two sentences: what limits, and what would help by how much. Then the numbers of the profile that matter most.
pub fn explain(of: &Predicted, what_if: &WhatIf) -> String {
    let (limits, unknown) = (known(&of.report), of.report.limits.iter().filter(|limit| limit.1.is_err()).count());
    let share = |seconds: Seconds| 100.0 * (1.0 - seconds.0 / limits[0].1.0);
    let first = match limits.as_slice() {
        [] => "Nothing that is known limits it (predicted)".to_owned(),
        [(name, alone)] => format!("Limited by {name} ({} alone, predicted)", time(*alone)),
        [(name, alone), (next, then), ..] => {
            let headroom = share(*then);
            format!("Limited by {name} ({} alone, predicted); next is {next} with {headroom:.0} % headroom (predicted)", time(*alone))
        }
    };
    let first = match unknown {
        0 => first,
        1 => format!("{first}; one limiter is unknown"),
        more => format!("{first}; {more} limiters are unknown"),
    };
    let second = if of.settings.measured.is_some() {
        "What would help is not said of measured volumes: another kernel has others".to_owned()
    } else {
        suggestion(of, &what_if.changes)
    };
    format!("{first}. {second}.\n{}", sensitivity(&what_if.elasticities))
}

/// The change that helps most, and by how much.
fn suggestion(of: &Predicted, changes: &[Change]) -> String {
    let now = of.report.seconds;
    let best = changes.iter().min_by(|a, b| a.seconds.0.total_cmp(&b.seconds.0));
    match best.filter(|best| best.seconds.0 < now.0 * (1.0 - WORTH)) {
        Some(Change { what, seconds }) => {
            format!("{} it would take {}, {:.1} % less (predicted)", words(what), time(*seconds), 100.0 * (1.0 - seconds.0 / now.0))
        }
        None => {
            let tried = "another block of as many threads, another folding of two or four points nor align = 0 for a field";
            format!("Neither {tried} would be faster by 1 % (predicted)")
        }
    }
}

/// Known limiters, the longest first.
fn known(report: &Report) -> Vec<(&'static str, Seconds)> {
    let mut limits: Vec<_> = report.limits.iter().filter_map(|(limiter, alone)| Some((limiter.name(), *alone.as_ref().ok()?))).collect();
    limits.retain(|(_, alone)| alone.0 > 0.0);
    limits.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    limits
}

/// The numbers that the time depends on most.
fn sensitivity(found: &[(String, f64)]) -> String {
    let listed: Vec<String> = found.iter().take(LISTED).map(|(name, elasticity)| format!("{name} {elasticity:+.2} %")).collect();
    match listed.is_empty() {
        true => "No number of the profile alone matters (predicted).\n".to_owned(),
        false => format!("Raising a number of the profile by 1 % changes the time by (predicted): {}.\n", listed.join(", ")),
    }
}
