//! What one device says of another.

use super::{Pair, Scores, Subject, by_group};
use crate::shader::models::{Fit, FitError, Row};
use serde::Serialize;
use std::collections::BTreeMap;
use warpsight_ir::Seconds;

/// How well times of another device are known from this one's. All scales are medians over the shaders that both have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transfer {
    /// This device's seconds for each of the other's.
    pub scale: f64,
    /// The other's measured times, scaled.
    pub measured: Scores,
    /// A model of the other's times asked about shaders that it was not fitted on, scaled.
    pub model: Scores,
    /// A model of this device's own times, asked so.
    pub own: Scores,
}

/// Predicts the times of `here` from those of `there`. None where they share no scored shader.
///
/// # Errors
/// See [`FitError`].
pub fn transfer(by: &dyn Fit, there: &[&Row], here: &[&Row]) -> Result<Option<Transfer>, FitError> {
    let key = |row: &Row| (row.id.clone(), row.pixels.to_bits());
    let time = |row: &&Row| row.seconds.map(|Seconds(s)| (key(row), s));
    let (from, to): (BTreeMap<_, _>, BTreeMap<_, _>) = (there.iter().filter_map(time).collect(), here.iter().filter_map(time).collect());
    let mut ratios: Vec<f64> = to.iter().filter_map(|(key, t)| Some(t / from.get(key)?)).collect();
    if ratios.is_empty() {
        return Ok(None);
    }
    ratios.sort_by(f64::total_cmp);
    let scale = ratios[ratios.len() / 2];
    let subject = Subject { by, calibrated: false };
    let shared: Vec<&Row> = here.iter().copied().filter(|row| from.contains_key(&key(row))).collect();
    let scored: Vec<Pair> =
        shared.iter().filter(|row| !row.mutant).filter_map(|row| Some((row.seconds?.0, scale * from.get(&key(row))?))).collect();
    let by_model = by_group(subject, there)?;
    let model: Vec<Pair> = by_model.iter().filter_map(|h| Some((*to.get(&key(h.row))?, scale * h.predicted))).collect();
    let own: Vec<Pair> = by_group(subject, here)?.iter().filter(|h| from.contains_key(&key(h.row))).map(|h| h.pair()).collect();
    let scores = (Scores::of(&scored), Scores::of(&model), Scores::of(&own));
    Ok(match scores {
        (Some(measured), Some(model), Some(own)) => Some(Transfer { scale, measured, model, own }),
        _ => None,
    })
}
