//! `warpsight probe diff`: what two probes do not agree in.

use super::found::Found;
use super::keys::Cells;
use super::replay;
use crate::failure::{Failure, Kind};
use crate::report::Column::Keep;
use crate::report::{out, table};
use crate::target::profiles;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use warpsight_ir::Profile;
use warpsight_ir::profile::{Fact, Source};
use warpsight_probe::diff::{How, diff};
use warpsight_probe::{Finding, Findings, profile};

/// Compare what was found of two devices, with two drivers, or on two days: keys whose intervals have no value in common, and what only
/// one of the two knows. Exit code 0: the same; 1: different.
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// A folder of a probe, its findings.json, a recording, or a profile: a file that ends with .toml, or a built-in one's name.
    a: PathBuf,
    /// What it is compared with.
    b: PathBuf,
}

const EXAMPLES: &str = "Examples:
  Two profiles:
    warpsight probe diff profiles/adreno640.toml profiles/mali-g76.toml
  What a probe found, and what a profile says:
    warpsight probe diff probed profiles/adreno640.toml

Exit codes: 0 the same, 1 different, others as of every verb.";

/// One of the two.
enum Side {
    /// What a probe found.
    Findings(Box<Findings>),
    /// A profile, which has fewer keys, and others.
    Profile(Box<Profile>),
}

/// Facts under their keys.
type Facts = BTreeMap<String, Finding>;

/// Runs the verb.
pub fn run(args: &Args, json: bool) -> Result<(), Failure> {
    let (a, b) = match (side(&args.a)?, side(&args.b)?) {
        (Side::Findings(a), Side::Findings(b)) => (a.facts, b.facts),
        // Both as what the poorer one is.
        (a, b) => (of_profile(a)?, of_profile(b)?),
    };
    let differences = diff(&a, &b);
    if json {
        out(json!({ "same": differences.is_empty(), "keys": a.keys().chain(b.keys()).collect::<std::collections::BTreeSet<_>>().len(),
                    "differences": differences }))?;
    } else {
        let mut rows = table(&[Keep("key"), Keep("how"), Keep("a"), Keep("b")]);
        for one in &differences {
            let words = |finding: &Option<Finding>| finding.as_ref().map_or("-".to_owned(), |finding| words(&one.key, finding));
            rows.add_row([one.key.clone(), how(one.how).to_owned(), words(&one.a), words(&one.b)]);
        }
        if differences.is_empty() { out("the same")? } else { out(rows)? }
    }
    match differences.len() {
        0 => Ok(()),
        n => Err(Failure::new(Kind::Different, format!("{n} keys differ"))),
    }
}

/// What a folder, a file or a name holds.
fn side(path: &Path) -> Result<Side, Failure> {
    let findings = path.join("findings.json");
    let found = |found: Found| Ok(Side::Findings(Box::new(found.findings)));
    match path {
        _ if findings.is_file() => found(Found::read(&findings)?),
        path if path.is_dir() => found(replay::replay(path)?),
        path if path.extension().is_some_and(|ending| ending == "json") => found(Found::read(path)?),
        path => Ok(Side::Profile(Box::new(profiles::profile(&path.to_string_lossy())?))),
    }
}

/// The facts of a profile.
fn of_profile(side: Side) -> Result<Facts, Failure> {
    let profile = match side {
        Side::Profile(profile) => *profile,
        Side::Findings(findings) => profile(&findings, "probed", "probed"),
    };
    let tree = serde_json::to_value(&profile).map_err(|error| Failure::input(format!("the profile has no JSON: {error}")))?;
    let mut facts = Facts::new();
    gather(&tree, "", &mut facts);
    Ok(by_the_second(facts))
}

/// Latencies and rates by the second: two devices may differ in their clocks alone, and where none was found a profile assumes one.
fn by_the_second(facts: Facts) -> Facts {
    const CLOCK: &str = "execution.clock";
    let clock = match facts.get(CLOCK) {
        Some(Finding::Number(fact)) => fact.get().copied(),
        _ => None,
    };
    let scaled = |(key, finding): (String, Finding)| {
        let (key, scale) = match key.strip_suffix("_per_clock") {
            Some(of) => (format!("{of}.rate"), clock),
            None if key.ends_with("latency") => (format!("{key}_s"), clock.map(f64::recip)),
            None => return (key, finding),
        };
        let finding = match (finding, scale) {
            (Finding::Number(fact), Some(scale)) => Finding::Number(times(fact, scale)),
            (Finding::Number(Fact::Known { .. }), None) => Finding::Number(Fact::unknown("the profile has no clock")),
            (other, _) => other,
        };
        (key, finding)
    };
    let is_assumed = |finding: &Finding| matches!(finding, Finding::Number(Fact::Known { source: Source::Assumed, .. }));
    facts.into_iter().filter(|(key, finding)| key != CLOCK || !is_assumed(finding)).map(scaled).collect()
}

fn times(fact: Fact<f64>, scale: f64) -> Fact<f64> {
    match fact {
        Fact::Known { value, source, cite, lo, hi, .. } => {
            let [lo, hi] = [lo, hi].map(|end| end.map(|end| end * scale));
            Fact::Known { value: value * scale, source, cite, lo, hi, alternatives: vec![] }
        }
        other => other,
    }
}

/// Facts in a tree, by their paths.
fn gather(tree: &Value, path: &str, facts: &mut Facts) {
    let Value::Object(fields) = tree else { return };
    if ["value", "absent", "unknown"].iter().any(|own| fields.contains_key(*own)) {
        facts.extend(fact(tree).map(|fact| (path.to_owned(), fact)));
        return;
    }
    for (name, field) in fields {
        gather(field, &if path.is_empty() { name.clone() } else { format!("{path}.{name}") }, facts);
    }
}

/// A fact; one whose value is of no kind that findings have, as the word that its JSON is.
fn fact(tree: &Value) -> Option<Finding> {
    serde_json::from_value(tree.clone()).ok().or_else(|| {
        let mut word = tree.clone();
        for key in ["value", "lo", "hi"] {
            if let Some(own) = word.get_mut(key) {
                *own = own.to_string().into();
            }
        }
        word.as_object_mut()?.remove("alternatives");
        serde_json::from_value(word).ok()
    })
}

fn how(how: How) -> &'static str {
    match how {
        How::Apart => "apart",
        How::OnlyA => "only a",
        How::OnlyB => "only b",
    }
}

fn words(key: &str, finding: &Finding) -> String {
    let cells = Cells::of(key, finding);
    let unit = if cells.unit.is_empty() { String::new() } else { format!(" {}", cells.unit) };
    let interval = if cells.interval.is_empty() { String::new() } else { format!(" ({})", cells.interval) };
    format!("{}{unit}{interval}", cells.value)
}
