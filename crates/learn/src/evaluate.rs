//! How well models predict shaders that they were not fitted on.
//!
//! A shader is never predicted by a model that saw a near-duplicate of it: splits are by [`group`](super::models::Row::group), and a
//! source that is left out takes its groups out of all other sources, too. Mutants are learned from and never scored.

mod judged;
mod metrics;
mod transfer;

pub use judged::{APART, Judged, Way, judge};
pub use metrics::{HeatMap, Pair, Scores};
pub use transfer::{CALIBRATION, Platform, Transfer, transfers};

use super::models::{Calibrated, Fit, FitError, Fitted, Row, folds};
use std::collections::{BTreeMap, BTreeSet};
use std::thread;

/// Parts of a group split.
pub const FOLDS: usize = 5;

/// Shaders that a source must have to be left out and scored.
pub const SOURCE: usize = 25;

/// A prediction of a shader that the model had not seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Held<'a> {
    /// The shader.
    pub row: &'a Row,
    /// Measured seconds.
    pub measured: f64,
    /// Predicted seconds.
    pub predicted: f64,
    /// Within which seconds it should be in four of five cases, where the model was calibrated.
    pub interval: Option<[f64; 2]>,
}

impl Held<'_> {
    /// As scores are computed from.
    #[must_use]
    pub fn pair(&self) -> Pair {
        (self.measured, self.predicted)
    }
}

/// What is fitted and asked.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// What makes the model.
    pub by: &'a dyn Fit,
    /// With intervals.
    pub calibrated: bool,
}

/// Predicts every scored row by a model of the other folds.
///
/// # Errors
/// See [`FitError`].
pub fn by_group<'a>(subject: Subject, rows: &[&'a Row]) -> Result<Vec<Held<'a>>, FitError> {
    let folds = folds(rows, FOLDS);
    let parts: Vec<Split> = (0..FOLDS)
        .map(|fold| {
            let (test, train) = rows.iter().partition(|row| folds[row.group.as_str()] == fold);
            Split { train, test }
        })
        .collect();
    let mut held: Vec<Held> = run(subject, parts)?.into_iter().flatten().collect();
    held.sort_by(|a, b| a.row.id.cmp(&b.row.id));
    Ok(held)
}

/// Predicts the rows of each source that has at least [`SOURCE`] scored ones by a model of the other sources.
///
/// # Errors
/// See [`FitError`].
pub fn by_source<'a>(subject: Subject, rows: &[&'a Row]) -> Result<BTreeMap<&'a str, Vec<Held<'a>>>, FitError> {
    let sources = sources(rows);
    let parts = sources.iter().map(|source| {
        let test: Vec<&Row> = rows.iter().copied().filter(|row| row.source == *source).collect();
        let groups: BTreeSet<&str> = test.iter().map(|row| row.group.as_str()).collect();
        let train = rows.iter().copied().filter(|row| row.source != *source && !groups.contains(row.group.as_str())).collect();
        Split { train, test }
    });
    let held = run(subject, parts.collect())?;
    Ok(sources.into_iter().zip(held).collect())
}

/// The sources that have at least [`SOURCE`] scored rows.
#[must_use]
pub fn sources<'a>(rows: &[&'a Row]) -> Vec<&'a str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    rows.iter().filter(|row| !row.mutant).for_each(|row| *counts.entry(&row.source).or_default() += 1);
    counts.into_iter().filter(|(_, n)| *n >= SOURCE).map(|(source, _)| source).collect()
}

struct Split<'a> {
    train: Vec<&'a Row>,
    test: Vec<&'a Row>,
}

/// Fits and asks once for each split, side by side.
fn run<'a>(subject: Subject, splits: Vec<Split<'a>>) -> Result<Vec<Vec<Held<'a>>>, FitError> {
    side_by_side(splits.into_iter().map(|split| move || held(subject, &split)))
}

/// Does some work side by side.
fn side_by_side<T: Send>(work: impl Iterator<Item = impl FnOnce() -> Result<T, FitError> + Send>) -> Result<Vec<T>, FitError> {
    thread::scope(|scope| {
        let threads: Vec<_> = work.map(|work| scope.spawn(work)).collect();
        // A panic goes on here.
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

fn held<'a>(subject: Subject, split: &Split<'a>) -> Result<Vec<Held<'a>>, FitError> {
    let test = split.test.iter().copied().filter(|row| !row.mutant);
    let test: Vec<(&Row, f64)> = test.filter_map(|row| Some((row, row.seconds?.0))).collect();
    if test.is_empty() {
        return Ok(Vec::new());
    }
    enum Asked {
        Plain(Fitted),
        Calibrated(Calibrated),
    }
    let model = match subject.calibrated {
        true => Asked::Calibrated(Calibrated::fit(subject.by, &split.train)?),
        false => Asked::Plain(subject.by.fit(&split.train)?),
    };
    let ask = |row: &Row| match &model {
        Asked::Plain(model) => (model.predict(row).0, None),
        Asked::Calibrated(model) => {
            let (seconds, [low, high]) = model.predict(row);
            (seconds.0, Some([low.0, high.0]))
        }
    };
    Ok(test
        .into_iter()
        .map(|(row, measured)| {
            let (predicted, interval) = ask(row);
            Held { row, measured, predicted, interval }
        })
        .collect())
}

/// The share of predictions whose interval holds what was measured; none where there are no intervals.
#[must_use]
pub fn coverage(held: &[Held]) -> Option<f64> {
    let inside: Vec<bool> = held.iter().filter_map(|h| h.interval.map(|[low, high]| (low..=high).contains(&h.measured))).collect();
    (!inside.is_empty()).then(|| inside.iter().filter(|i| **i).count() as f64 / inside.len() as f64)
}
