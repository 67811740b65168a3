//! A model, judged in all the ways that count.

use super::{HeatMap, Held, Pair, Scores, Subject, by_group, by_source, coverage};
use crate::shader::models::{FitError, Method, Row};
use serde::Serialize;
use std::collections::BTreeMap;

/// Sources whose names begin so are scored apart: this one is three quarters of the shaders that install.
pub const APART: &str = "butterchurn";

/// How a model did on shaders that it was not fitted on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// The model.
    pub model: Method,
    /// Whether it stands for what others have published or would try first.
    pub peer: bool,
    /// By groups of near-duplicates, in five parts.
    pub group: Scores,
    /// The looping ones of these.
    pub looping: Option<Scores>,
    /// The same split, fitted and asked as if every block ran once a pixel.
    pub untraced: Scores,
    /// Each source by all others.
    pub sources: BTreeMap<String, Scores>,
    /// The mean over these sources but [`APART`].
    pub macro_average: Option<Scores>,
    /// The share of intervals that hold what was measured, in the group split; models of others have none.
    pub coverage: Option<f64>,
    /// The same when sources are left out.
    pub source_coverage: Option<f64>,
    /// Figure 7 of paper 004, of the group split.
    pub heat: Option<HeatMap>,
    /// The group split's predictions, the farthest off first: shader, source, measured and predicted seconds.
    pub farthest: Vec<(String, String, f64, f64)>,
}

/// How many of the predictions that are farthest off are named.
const FARTHEST: usize = 20;

/// Judges a model by measured rows. None where no row can be scored.
///
/// # Errors
/// See [`FitError`].
pub fn judge(model: Method, rows: &[&Row]) -> Result<Option<Judged>, FitError> {
    let peer = model.is_peer();
    let subject = Subject { method: model, calibrated: !peer };
    let held = by_group(subject, rows)?;
    let pairs = |held: &[Held]| -> Vec<Pair> { held.iter().map(Held::pair).collect() };
    let Some(group) = Scores::of(&pairs(&held)) else { return Ok(None) };
    let looping: Vec<Pair> = held.iter().filter(|h| h.row.loops).map(Held::pair).collect();
    let blind: Vec<Row> = rows.iter().map(|row| row.untraced()).collect();
    let blind = by_group(subject, &blind.iter().collect::<Vec<_>>()).map(|held| Scores::of(&pairs(&held)))?;
    let by_source = by_source(subject, rows)?;
    let scored = by_source.iter().filter_map(|(source, held)| Some(((*source).to_owned(), Scores::of(&pairs(held))?)));
    let sources: BTreeMap<String, Scores> = scored.collect();
    let others: Vec<Scores> = sources.iter().filter(|(name, _)| !name.starts_with(APART)).map(|(_, s)| *s).collect();
    let unseen: Vec<Held> = by_source.into_values().flatten().collect();
    let times = held.iter().map(|h| h.measured);
    let range = times.fold((f64::INFINITY, 0.0f64), |(low, high), t| (low.min(t), high.max(t)));
    let far = |h: &&Held| (h.predicted.max(1e-9) / h.measured).ln().abs();
    let mut farthest: Vec<&Held> = held.iter().collect();
    farthest.sort_by(|a, b| far(b).total_cmp(&far(a)));
    Ok(Some(Judged {
        model,
        peer,
        looping: Scores::of(&looping),
        untraced: blind.unwrap_or(group),
        macro_average: Scores::macro_average(&others),
        coverage: coverage(&held),
        source_coverage: coverage(&unseen),
        heat: HeatMap::of(&pairs(&held), range),
        farthest: farthest.iter().take(FARTHEST).map(|h| (h.row.id.clone(), h.row.source.clone(), h.measured, h.predicted)).collect(),
        sources,
        group,
    }))
}
