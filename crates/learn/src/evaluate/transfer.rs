//! What one device says of another.

use super::super::calibration::{Head, choose};
use super::super::predictor::{Device, Predictor};
use super::{FOLDS, Pair, Scores, folds, side_by_side};
use crate::models::{FitError, Method, Row};
use serde::Serialize;
use std::collections::BTreeMap;
use warpsight_ir::Seconds;

/// Shaders that calibrate a model for another device, as many as `shader calibrate` measures.
pub const CALIBRATION: u16 = 20;

/// A device and its rows.
#[derive(Clone, Copy, Debug)]
pub struct Platform<'a> {
    /// The device.
    pub device: &'a Device,
    /// Its rows.
    pub rows: &'a [&'a Row],
}

/// How well times of one device are known from another's. No model saw a shader that it is asked about, nor a near-duplicate of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transfer {
    /// The device whose times a model was fitted to.
    pub trained: String,
    /// The device whose times it is asked about.
    pub asked: String,
    /// The asked device's seconds for each of the trained one's: a median over the shaders that both have.
    pub scale: f64,
    /// The trained device's measured times, scaled.
    pub measured: Scores,
    /// The model as it is.
    pub plain: Scores,
    /// The model, scaled.
    pub scaled: Scores,
    /// The model calibrated by [`CALIBRATION`] shaders on the asked device; none of a device and itself, or where there are too few.
    pub calibrated: Option<Scores>,
}

/// Asks models of each device about each device, itself included: those trained on one after the other, in the given order. Pairs that
/// share no scored shader are left out.
///
/// # Errors
/// See [`FitError`].
pub fn transfers(method: Method, platforms: &[Platform]) -> Result<Vec<Transfer>, FitError> {
    let everything: Vec<&Row> = platforms.iter().flat_map(|p| p.rows.iter().copied()).collect();
    // One division for all, so that a shader is held out everywhere at once.
    let folds = folds(&everything, FOLDS);
    let fold = |row: &Row| folds[row.group.as_str()];
    let mut found = Vec::new();
    for from in platforms {
        let models = (0..FOLDS).map(|held| {
            let train: Vec<&Row> = from.rows.iter().copied().filter(|row| fold(row) != held).collect();
            move || Predictor::fit(from.device.clone(), method, &train)
        });
        let models: Vec<Predictor> = side_by_side(models)?;
        for to in platforms {
            let own = std::ptr::eq(from, to);
            let Some(scale) = scale(from.rows, to.rows) else { continue };
            let heads = (0..FOLDS).map(|held| {
                let (model, train) = (&models[held], to.rows.iter().copied().filter(|row| fold(row) != held && !row.mutant));
                let train: Vec<&Row> = train.collect();
                move || Ok(if own { None } else { head(to.device, model, &train) })
            });
            let heads = side_by_side(heads)?;
            let asked: Vec<(&Row, f64)> = scored(to.rows).collect();
            let pairs = |predicted: &dyn Fn(&Row) -> Option<f64>| -> Option<Scores> {
                let pairs: Vec<Pair> = asked.iter().filter_map(|(row, measured)| Some((*measured, predicted(row)?))).collect();
                Scores::of(&pairs)
            };
            let times: BTreeMap<_, _> = scored(from.rows).map(|(row, seconds)| (key(row), seconds)).collect();
            let plain = |row: &Row| models[fold(row)].predict(row).seconds.0;
            let calibrated = |row: &Row| Some(heads[fold(row)].as_ref()?.predict(&models[fold(row)], row).seconds.0);
            let all =
                (pairs(&|row| Some(scale * times.get(&key(row))?)), pairs(&|row| Some(plain(row))), pairs(&|row| Some(scale * plain(row))));
            if let (Some(measured), Some(plain), Some(scaled)) = all {
                let (trained, asked) = (from.device.name.clone(), to.device.name.clone());
                found.push(Transfer { trained, asked, scale, measured, plain, scaled, calibrated: pairs(&calibrated) });
            }
        }
    }
    Ok(found)
}

/// What is measured where: a shader in a frame.
fn key(row: &Row) -> (&str, u64) {
    (&row.id, row.pixels.to_bits())
}

fn scored<'a>(rows: &[&'a Row]) -> impl Iterator<Item = (&'a Row, f64)> {
    rows.iter().copied().filter(|row| !row.mutant).filter_map(|row| Some((row, row.seconds?.0)))
}

/// Seconds there for each second here.
fn scale(from: &[&Row], to: &[&Row]) -> Option<f64> {
    let times: BTreeMap<_, _> = scored(from).map(|(row, seconds)| (key(row), seconds)).collect();
    let mut ratios: Vec<f64> = scored(to).filter_map(|(row, seconds)| Some(seconds / times.get(&key(row))?)).collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied()
}

/// A head fitted to the shaders that a user would measure.
fn head(device: &Device, model: &Predictor, rows: &[&Row]) -> Option<Head> {
    let chosen = choose(model, rows, CALIBRATION.into()).into_iter().map(|at| rows[at]);
    let measured: Vec<(String, Row, Seconds)> = chosen.filter_map(|row| Some((row.id.clone(), row.clone(), row.seconds?))).collect();
    Head::fit(device.clone(), model, &measured).ok()
}
