//! A model that knows how far off it may be.
//!
//! What it is off by is measured on groups that were held out, as logarithms of measured over predicted. Trees learn how large that is
//! where; quantiles of errors in units of what the trees say (of groups that these trees had not seen) become the interval.

use super::boosted::{Forest, GROWTH};
use super::columns::View;
use super::folds::folds;
use super::{Fit, FitError, Fitted, Row, times};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use warpsight_ir::Seconds;
use warpsight_ir::sample::trees::Growth;

/// The share of cases in which an interval should hold the measured time.
pub const INTERVAL: f64 = 0.8;

/// Parts in which groups are held out.
const PARTS: usize = 5;

/// Trees for the size of errors are few and flat: the size is known far less well than the time.
const SPREAD: Growth = Growth { trees: 60, depth: 2, leaf: 15.0, clip: 1.0, ..GROWTH };

/// A model and the sizes of its errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibrated {
    model: Fitted,
    /// Logarithms that are added to the prediction's: what makes the relative error smallest.
    shift: f64,
    /// Sizes of errors; none where there are too few groups to hold any out.
    spread: Option<Forest>,
    /// The smallest size of an error.
    least: f64,
    /// The interval's ends, in sizes of errors.
    ends: [f64; 2],
}

impl Calibrated {
    /// Fits a model, and its errors on groups that it did not learn from: those that it held out by itself, or those of models that are
    /// fitted without one part after another.
    ///
    /// # Errors
    /// See [`FitError`].
    pub fn fit(by: &dyn Fit, rows: &[&Row]) -> Result<Self, FitError> {
        times(rows)?;
        let model = by.fit(rows)?;
        let held = match model.held_out(rows) {
            Some(held) => held.into_iter().map(|row| (row, model.predict(row).0)).collect(),
            None => held_out(by, rows)?,
        };
        Self::of(model, &held)
    }

    /// A model whose errors are those of predictions, in seconds, by models that did not see the row.
    fn of(model: Fitted, held: &[(&Row, f64)]) -> Result<Self, FitError> {
        let rows: Vec<&Row> = held.iter().map(|(row, _)| *row).collect();
        let parts = folds(&rows, PARTS);
        let part = |row: &Row| parts[row.group.as_str()];
        let used = parts.values().max().map_or(0, |last| last + 1);
        if used < 2 {
            // Nothing was held out: an interval of a factor of ten is honest about that.
            return Ok(Self { model, shift: 0.0, spread: None, least: 10f64.ln(), ends: [-1.0, 1.0] });
        }
        let ratios: Vec<f64> = held.iter().zip(times(&rows)?).map(|((_, said), time)| time / said.max(1e-9)).collect();
        let scored: Vec<usize> = (0..rows.len()).filter(|i| !rows[*i].mutant).collect();
        let scored = if scored.is_empty() { (0..rows.len()).collect() } else { scored };
        let shift = best_factor(&scored.iter().map(|i| ratios[*i]).collect::<Vec<_>>()).ln();
        let errors: Vec<f64> = scored.iter().map(|i| ratios[*i].ln() - shift).collect();
        let own: Vec<&Row> = scored.iter().map(|i| rows[*i]).collect();
        let none = BTreeMap::new();
        let views: Vec<View> = own.iter().map(|row| View::new(row, &none, model.predict(row).0)).collect();
        let sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
        let least = 0.25 * sizes.iter().sum::<f64>() / sizes.len() as f64 + 1e-6;
        let grow = |keep: &dyn Fn(&Row) -> bool| {
            let kept: Vec<usize> = (0..own.len()).filter(|i| keep(own[*i])).collect();
            let rows: Vec<&Row> = kept.iter().map(|i| own[*i]).collect();
            let targets: Vec<f64> = kept.iter().map(|i| sizes[*i]).collect();
            let views: Vec<View> = kept.iter().map(|i| views[*i]).collect();
            Forest::fit(&rows, &views, &targets, true, SPREAD, 1)
        };
        let without: Vec<Forest> = (0..used).map(|now| grow(&|row| part(row) != now)).collect();
        let size = |i: usize| without[part(own[i])].predict(&views[i]).max(least);
        let mut relative: Vec<f64> = errors.iter().enumerate().map(|(i, error)| error / size(i)).collect();
        relative.sort_by(f64::total_cmp);
        let ends = [0.5 * (1.0 - INTERVAL), 0.5 * (1.0 + INTERVAL)].map(|share| quantile(&relative, share));
        let spread = Some(grow(&|_| true));
        Ok(Self { model, shift, spread, least, ends: [ends[0].min(0.0), ends[1].max(0.0)] })
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &Fitted {
        &self.model
    }

    /// What a frame takes, and within which seconds that is in four of five cases.
    #[must_use]
    pub fn predict(&self, row: &Row) -> (Seconds, [Seconds; 2]) {
        let said = self.model.predict(row).0.max(1e-9);
        let size = match &self.spread {
            Some(forest) => forest.predict(&View::new(row, &BTreeMap::new(), said)).max(self.least),
            None => self.least,
        };
        let seconds = said * self.shift.exp();
        (Seconds(seconds), self.ends.map(|end| Seconds(seconds * (end * size).exp())))
    }
}

/// Rows and what models say of them that were fitted to the other parts; nothing where there is but one group.
fn held_out<'r>(by: &dyn Fit, rows: &[&'r Row]) -> Result<Vec<(&'r Row, f64)>, FitError> {
    let parts = folds(rows, PARTS);
    let part = |row: &Row| parts[row.group.as_str()];
    let used = parts.values().max().map_or(0, |last| last + 1);
    if used < 2 {
        return Ok(Vec::new());
    }
    let without = |now: usize| by.fit(&rows.iter().copied().filter(|row| part(row) != now).collect::<Vec<_>>());
    let models: Vec<Fitted> = (0..used).map(without).collect::<Result<_, _>>()?;
    Ok(rows.iter().map(|row| (*row, models[part(row)].predict(row).0)).collect())
}

/// The factor that makes the mean relative error of predictions smallest, by ratios of measured over predicted: |1 - f / r| is
/// |r - f| with the weight 1 / r, so it is the median with these weights.
fn best_factor(ratios: &[f64]) -> f64 {
    let mut sorted = ratios.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = 0.5 * sorted.iter().map(|r| r.recip()).sum::<f64>();
    let mut sum = 0.0;
    let found = sorted.iter().find(|r| {
        sum += r.recip();
        sum >= half
    });
    found.copied().unwrap_or(1.0)
}

/// Between the sorted numbers' ranks.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (share * (sorted.len() as f64 + 1.0) - 1.0).clamp(0.0, sorted.len() as f64 - 1.0);
    let (low, part) = (at.floor() as usize, at.fract());
    sorted[low] + part * (sorted[(low + 1).min(sorted.len() - 1)] - sorted[low])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_factor_is_the_best() {
        let ratios = [0.5, 0.9, 1.1, 1.2, 3.0];
        let error = |f: f64| ratios.iter().map(|r| (1.0 - f / r).abs()).sum::<f64>();
        let best = best_factor(&ratios);
        assert!((1..400).all(|f| error(best) <= error(0.01 * f as f64)), "{best}");
        assert_eq!(best, 0.9);
    }

    #[test]
    fn quantiles_by_hand() {
        let nine: Vec<f64> = (1..10).map(f64::from).collect();
        assert_eq!(quantile(&nine, 0.1), 1.0);
        assert_eq!(quantile(&nine, 0.9), 9.0);
        assert_eq!(quantile(&nine, 0.55), 5.5);
        assert_eq!(quantile(&[4.0], 0.1), 4.0);
    }
}
