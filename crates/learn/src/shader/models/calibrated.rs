//! A model that knows how far off it may be.
//!
//! What it is off by is measured on groups that were held out, as logarithms of measured over predicted. Trees learn how large that is
//! where; quantiles of errors in units of what the trees say (of groups that these trees had not seen) become the interval.

use super::boosted::{Forest, GROWTH};
use super::columns::View;
use super::trees::Growth;
use super::{FitError, Fitted, Method, Row, times};
use crate::shader::evaluate::folds;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use warpsight_ir::Seconds;

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
    /// Fits a model, and its errors on groups that it was not fitted on.
    ///
    /// # Errors
    /// See [`FitError`].
    pub fn fit(method: Method, rows: &[&Row]) -> Result<Self, FitError> {
        let times = times(rows)?;
        let model = method.fit(rows)?;
        let parts = folds(rows, PARTS);
        let part = |row: &Row| parts[row.group.as_str()];
        let used = parts.values().max().map_or(0, |last| last + 1);
        if used < 2 {
            // Nothing can be held out: an interval of a factor of ten is honest about that.
            return Ok(Self { model, shift: 0.0, spread: None, least: 10f64.ln(), ends: [-1.0, 1.0] });
        }
        let without = |now: usize| method.fit(&rows.iter().copied().filter(|row| part(row) != now).collect::<Vec<_>>());
        let models: Vec<Fitted> = (0..used).map(without).collect::<Result<_, _>>()?;
        let ratios: Vec<f64> = rows.iter().zip(&times).map(|(row, time)| time / models[part(row)].predict(row).0.max(1e-9)).collect();
        let scored: Vec<usize> = (0..rows.len()).filter(|i| !rows[*i].mutant).collect();
        let scored = if scored.is_empty() { (0..rows.len()).collect() } else { scored };
        let shift = best_factor(&scored.iter().map(|i| ratios[*i]).collect::<Vec<_>>()).ln();
        let errors: Vec<f64> = ratios.iter().map(|ratio| ratio.ln() - shift).collect();
        let own: Vec<&Row> = scored.iter().map(|i| rows[*i]).collect();
        let sizes: Vec<f64> = scored.iter().map(|i| errors[*i].abs()).collect();
        let least = 0.25 * sizes.iter().sum::<f64>() / sizes.len() as f64 + 1e-6;
        let none = BTreeMap::new();
        let grow = |keep: &dyn Fn(&Row) -> bool| {
            let kept: Vec<usize> = (0..own.len()).filter(|i| keep(own[*i])).collect();
            let rows: Vec<&Row> = kept.iter().map(|i| own[*i]).collect();
            let views: Vec<View> = rows.iter().map(|row| View::new(row, &none, model.predict(row).0)).collect();
            let targets: Vec<f64> = kept.iter().map(|i| sizes[*i]).collect();
            Forest::fit(&rows, &views, &targets, true, SPREAD, 1)
        };
        let held: Vec<Forest> = (0..used).map(|now| grow(&|row| part(row) != now)).collect();
        let size = |forest: &Forest, row: &Row| forest.predict(&View::new(row, &none, model.predict(row).0)).max(least);
        let mut relative: Vec<f64> = own.iter().zip(&scored).map(|(row, i)| errors[*i] / size(&held[part(row)], row)).collect();
        relative.sort_by(f64::total_cmp);
        let ends = [0.5 * (1.0 - INTERVAL), 0.5 * (1.0 + INTERVAL)].map(|share| quantile(&relative, share));
        Ok(Self { spread: Some(grow(&|_| true)), model, shift, least, ends: [ends[0].min(0.0), ends[1].max(0.0)] })
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
