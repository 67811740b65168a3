//! How many shaders are left after each step: table 1 of paper 004, for what was collected now.

use super::folder::{Checks, Left, Step};
use super::found::Found;
use super::make::Made;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A source's way through the steps, or that of all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The package or folder; `all` for the sum.
    pub source: String,
    /// Its licences, as stated.
    pub licences: BTreeSet<String>,
    /// Shaders that were found.
    pub found: usize,
    /// Those whose text is known.
    pub text: usize,
    /// Those that were wrapped.
    pub wrapped: usize,
    /// Those that compile.
    pub compiled: usize,
    /// Those that this project reads.
    pub read: usize,
    /// Those that spirv-val accepts; all where it is not installed.
    pub valid: usize,
    /// Those that can be interpreted.
    pub traced: usize,
    /// Different modules among those, of which no source before has one.
    pub unique: usize,
    /// Of these, those that loop.
    pub looping: usize,
    /// Groups of near-duplicates that these are in.
    pub groups: usize,
}

/// Why shaders were left: a step, a message and how many.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The step that they did not make.
    pub step: Step,
    /// What was wrong, without names.
    pub message: String,
    /// How many.
    pub shaders: usize,
}

/// A shader that was left.
#[derive(Clone, Debug, Serialize)]
pub struct Failed {
    /// The package or folder.
    pub source: String,
    /// What it is called.
    pub name: String,
    /// The file in it.
    pub origin: String,
    /// Why.
    #[serde(flatten)]
    pub left: Left,
}

/// How far each came, in the order of what was found. What cannot be validated or interpreted is no part of the corpus.
pub fn failed(found: &[Found], made: &[Made], checks: impl Fn(&str) -> Option<Checks>) -> Vec<Option<Failed>> {
    let of = |made: &Made| match &made.outcome {
        Err(left) => Some(left.clone()),
        Ok((entry, _)) => {
            let checks = checks(&entry.id)?;
            let invalid = checks.valid.and_then(Result::err).map(|message| Left { step: Step::Valid, line: None, message });
            invalid.or(checks.untraced.map(|message| Left { step: Step::Traced, line: None, message }))
        }
    };
    let one = |(found, made): (&Found, &Made)| {
        let left = of(made)?;
        Some(Failed { source: found.source.clone(), name: found.name.clone(), origin: found.origin.clone(), left })
    };
    found.iter().zip(made).map(one).collect()
}

/// The rows of all sources, the sum last. `groups` has the group of each module.
pub fn rows(found: &[Found], made: &[Made], failed: &[Option<Failed>], groups: &BTreeMap<String, String>) -> Vec<Row> {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut of: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for ((found, made), failed) in found.iter().zip(made).zip(failed) {
        let row = rows.entry(&found.source).or_insert_with(|| Row { source: found.source.clone(), ..Row::default() });
        row.found += 1;
        row.licences.insert(found.licence.clone());
        let left = failed.as_ref().map(|f| f.left.step);
        let passed = |step: Step| usize::from(left.is_none_or(|left| left > step));
        row.text += passed(Step::Text);
        row.wrapped += passed(Step::Wrapped);
        row.compiled += passed(Step::Compiled);
        row.read += passed(Step::Read);
        row.valid += passed(Step::Valid);
        row.traced += passed(Step::Traced);
        if let (None, Ok((entry, _))) = (failed, &made.outcome) {
            if seen.insert(&entry.id) {
                row.unique += 1;
                row.looping += usize::from(entry.loops);
            }
            of.entry(&found.source).or_default().extend(groups.get(&entry.id).map(String::as_str));
        }
    }
    for (source, groups) in &of {
        if let Some(row) = rows.get_mut(source) {
            row.groups = groups.len();
        }
    }
    let mut all = Row { source: "all".to_owned(), ..Row::default() };
    for row in rows.values() {
        all.licences.extend(row.licences.iter().cloned());
        let pairs = [
            (&mut all.found, row.found),
            (&mut all.text, row.text),
            (&mut all.wrapped, row.wrapped),
            (&mut all.compiled, row.compiled),
            (&mut all.read, row.read),
            (&mut all.valid, row.valid),
            (&mut all.traced, row.traced),
            (&mut all.unique, row.unique),
            (&mut all.looping, row.looping),
        ];
        pairs.into_iter().for_each(|(sum, own)| *sum += own);
    }
    all.groups = of.values().flatten().collect::<BTreeSet<_>>().len();
    rows.into_values().chain([all]).collect()
}

/// Why shaders were left, the most frequent first.
pub fn reasons(failed: &[Option<Failed>]) -> Vec<Reason> {
    let mut all: BTreeMap<(Step, String), usize> = BTreeMap::new();
    for failed in failed.iter().flatten() {
        *all.entry((failed.left.step, anonymous(&failed.left.message))).or_default() += 1;
    }
    let mut all: Vec<Reason> = all.into_iter().map(|((step, message), shaders)| Reason { step, message, shaders }).collect();
    all.sort_by(|a, b| b.shaders.cmp(&a.shaders).then(a.step.cmp(&b.step)).then(a.message.cmp(&b.message)));
    all
}

/// A message without the names and numbers in it.
fn anonymous(message: &str) -> String {
    let mut out = String::new();
    for (index, part) in message.split(['\'', '`']).enumerate() {
        out.push_str(if index % 2 == 1 { "…" } else { part });
    }
    let words = out.split_whitespace().map(|w| if w.trim_end_matches([':', ',']).bytes().all(|b| b.is_ascii_digit()) { "N" } else { w });
    words.collect::<Vec<_>>().join(" ").trim_start_matches("line N ").to_owned()
}
