//! Numbers that a text does not know: its prediction is that of typical ones, and its interval covers the ends of their ranges.

use super::{Interval, Report, Settings, Work, report};
use warpsight_ir::accesses::text::{Document, Unknown, Written};
use warpsight_ir::{NoEstimate, Profile};

/// Predicts one launch of a kernel that was written as text, with what was set from outside.
///
/// # Errors
/// As [`report`], of the kernel with typical numbers.
pub fn report_text(
    (document, set): (&Document, &[(String, String)]),
    written: &Written,
    on: &Profile,
    settings: &Settings,
) -> Result<Report, NoEstimate> {
    let mut found = report(&Work { kernel: &written.kernel, points: written.points }, on, settings)?;
    found.provenance.extend(written.repeated.iter().cloned());
    let brief = Settings { brief: true, ..*settings };
    let at = |values: &[(&Unknown, i64)]| -> Result<Interval, String> {
        let values: Vec<(&str, String)> = values.iter().map(|(own, value)| (own.key.as_str(), value.to_string())).collect();
        let own = set.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let all: Vec<(&str, &str)> = own.chain(values.iter().map(|(key, value)| (*key, value.as_str()))).collect();
        let changed = document.written(&all).map_err(|error| error.to_string())?;
        let work = Work { kernel: &changed.kernel, points: changed.points };
        report(&work, on, &brief).map(|report| report.interval).map_err(|error| error.to_string())
    };
    for own in &written.unknowns {
        let mut said = String::new();
        for end in [own.lo, own.hi].into_iter().filter(|end| *end != own.typical) {
            match at(&[(own, end)]) {
                Ok(interval) => found.interval.cover(&interval),
                Err(why) => {
                    // A kernel that is run runs: the range ends before.
                    let (mut runs, mut fails) = (own.typical, end);
                    while runs.abs_diff(fails) > 1 {
                        let middle = runs + (fails - runs) / 2;
                        match at(&[(own, middle)]) {
                            Ok(interval) => {
                                found.interval.cover(&interval);
                                runs = middle;
                            }
                            Err(_) => fails = middle,
                        }
                    }
                    said += &format!("; at {end} there is no prediction, the last is at {runs}: {why}");
                }
            }
        }
        let Unknown { key, lo, typical, hi, why } = own;
        found.provenance.push(format!("`{key}` is not known: taken for {typical}, the interval covers {lo} to {hi} ({why}){said}"));
    }
    if let [_, _, ..] = written.unknowns.as_slice() {
        // All of them together go further than one by one.
        for ends in [|own: &Unknown| own.lo, |own: &Unknown| own.hi] {
            let values: Vec<(&Unknown, i64)> = written.unknowns.iter().map(|own| (own, ends(own))).collect();
            at(&values).iter().for_each(|end| found.interval.cover(end));
        }
    }
    if let Some(own) = written.unknowns.first() {
        let names: Vec<String> = written.unknowns.iter().map(|own| format!("`{}` from {} to {}", own.key, own.lo, own.hi)).collect();
        let noun = if own == &written.unknowns[written.unknowns.len() - 1] { "what is not known" } else { "what are not known" };
        found.interval.basis = format!("covers {noun}: {}; at each end, {}", names.join(", "), found.interval.basis);
    }
    Ok(found)
}
