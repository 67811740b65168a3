//! A model, judged in all the ways that count.

use super::{HeatMap, Held, Pair, Scores, Subject, by_group, by_source, coverage};
use crate::models::{Fit, FitError, Method, Row};
use serde::Serialize;
use std::collections::BTreeMap;
use std::str::FromStr;
use warpsight_ir::near::pick;

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
    pub group: Option<Scores>,
    /// The looping ones of these.
    pub looping: Option<Scores>,
    /// The same split, fitted and asked as if every block ran once a pixel.
    pub untraced: Option<Scores>,
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

/// A way to hold shaders out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By groups of near-duplicates, in five parts.
    Group,
    /// The same, as if every block ran once a pixel.
    Trace,
    /// Each source by all others.
    Source,
}

impl Way {
    /// All of them, with their names.
    pub const ALL: [(&str, Self); 3] = [("group", Self::Group), ("trace", Self::Trace), ("source", Self::Source)];
}

impl FromStr for Way {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        pick(text, Self::ALL)
    }
}

/// Judges a model by measured rows, in these ways. None where no row can be scored.
///
/// # Errors
/// See [`FitError`].
pub fn judge(by: impl Fit, rows: &[&Row], ways: &[Way]) -> Result<Option<Judged>, FitError> {
    let (model, in_way) = (by.method(), |way: Way| ways.contains(&way));
    let peer = model.is_peer();
    let subject = Subject { by: &by, calibrated: !peer };
    let pairs = |held: &[Held]| -> Vec<Pair> { held.iter().map(Held::pair).collect() };
    let held = if in_way(Way::Group) { by_group(subject, rows)? } else { Vec::new() };
    let blind: Vec<Row> = if in_way(Way::Trace) { rows.iter().map(|row| row.untraced()).collect() } else { Vec::new() };
    let untraced = by_group(subject, &blind.iter().collect::<Vec<_>>()).map(|held| Scores::of(&pairs(&held)))?;
    let by_source = if in_way(Way::Source) { by_source(subject, rows)? } else { BTreeMap::new() };
    let scored = by_source.iter().filter_map(|(source, held)| Some(((*source).to_owned(), Scores::of(&pairs(held))?)));
    let sources: BTreeMap<String, Scores> = scored.collect();
    if held.is_empty() && untraced.is_none() && sources.is_empty() {
        return Ok(None);
    }
    let looping: Vec<Pair> = held.iter().filter(|h| h.row.loops).map(Held::pair).collect();
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
        group: Scores::of(&pairs(&held)),
        looping: Scores::of(&looping),
        untraced,
        macro_average: Scores::macro_average(&others),
        coverage: coverage(&held),
        source_coverage: coverage(&unseen),
        heat: HeatMap::of(&pairs(&held), range),
        farthest: farthest.iter().take(FARTHEST).map(|h| (h.row.id.clone(), h.row.source.clone(), h.measured, h.predicted)).collect(),
        sources,
    }))
}

impl Judged {
    /// How far the model is off on average, in the first of the ways that it was judged in.
    #[must_use]
    pub fn error(&self) -> f64 {
        let first = self.group.or(self.untraced).or(self.macro_average).or_else(|| self.sources.values().next().copied());
        first.map_or(f64::INFINITY, |scores| scores.mape)
    }
}
