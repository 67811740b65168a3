//! What was measured of a corpus: the last rows of table 1 of paper 004, and figure 6.

use crate::failure::Failure;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use warpsight_learn::Store;
use warpsight_learn::measured::{Flag, Outcome, Shot, newest, usual_reference};
use warpsight_shader::corpus::Entry;

/// The largest variation of a measurement that counts as calm.
const CALM: f64 = 0.03;

/// A row of a histogram.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// What is counted, for instance `64–127`.
    pub of: String,
    /// How many.
    pub count: u64,
}

/// The measurements of one device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drawn {
    /// Name and driver; software says that it is.
    pub device: String,
    /// Shaders of the corpus that were tried, in any scene.
    pub tried: usize,
    /// Measurements that came to an end.
    pub done: usize,
    /// Of these, those whose image is neither black nor white.
    pub coloured: usize,
    /// Of these, those whose image was the same after every trial.
    pub steady: usize,
    /// Of these, those whose coefficient of variation is at most 3 %.
    pub calm: usize,
    /// Half of what is steady varies by no more than this.
    pub median_cv: f64,
    /// Measured times of a draw, in bins that double.
    pub times: Vec<Bin>,
    /// Coefficients of variation, in bins of half a per cent.
    pub cvs: Vec<Bin>,
}

/// Reads a store for what is in it of these shaders, by device.
pub fn read(store: &Path, entries: &[Entry]) -> Result<Vec<Drawn>, Failure> {
    // Opening would make one.
    store.metadata().map_err(|e| Failure::io(store, &e))?;
    let ids: BTreeSet<&str> = entries.iter().map(|e| e.id.as_str()).collect();
    let shots: Vec<Shot> = newest(Store::open(store)?.shots(None)?).into_iter().filter(|s| ids.contains(s.shader.as_str())).collect();
    let mut devices: BTreeMap<String, Vec<&Shot>> = BTreeMap::new();
    for shot in &shots {
        devices.entry(format!("{} ({})", shot.device.name, shot.device.driver)).or_default().push(shot);
    }
    Ok(devices.into_iter().map(|(device, shots)| drawn(device, &shots)).collect())
}

fn drawn(device: String, shots: &[&Shot]) -> Drawn {
    let timed: Vec<_> = shots.iter().filter_map(|s| if let Outcome::Done(timed) = &s.outcome { Some((*s, timed)) } else { None }).collect();
    let coloured: Vec<_> = timed.iter().filter(|(_, t)| !t.flags.contains(&Flag::Black) && !t.flags.contains(&Flag::White)).collect();
    let steady: Vec<_> = coloured.iter().filter(|(_, t)| !t.flags.contains(&Flag::Unstable)).collect();
    let mut cvs: Vec<f64> = steady.iter().map(|(_, t)| t.cv()).filter(|cv| cv.is_finite()).collect();
    cvs.sort_by(f64::total_cmp);
    let reference = shots.first().and_then(|s| usual_reference(shots.iter().copied(), &s.device));
    let times: Vec<f64> = steady.iter().filter_map(|(_, t)| Some(t.seconds(reference?).0 * 1e3)).filter(|t| *t > 0.0).collect();
    Drawn {
        device,
        tried: shots.iter().map(|s| &s.shader).collect::<BTreeSet<_>>().len(),
        done: timed.len(),
        coloured: coloured.len(),
        steady: steady.len(),
        calm: cvs.iter().filter(|cv| **cv <= CALM).count(),
        median_cv: cvs.get(cvs.len() / 2).copied().unwrap_or(0.0),
        times: bins(times.iter().map(|t| t.log2().floor() as i32), |p| format!("{}–{} ms", power(p), power(p + 1))),
        // What varies by more than ten per cent is one bin.
        cvs: bins(cvs.iter().map(|cv| ((cv * 200.0) as i32).min(20)), |b| match b {
            20 => "10 % and more".to_owned(),
            b => format!("{}–{} %", f64::from(b) / 2.0, f64::from(b + 1) / 2.0),
        }),
    }
}

/// A power of two as people write it.
fn power(p: i32) -> String {
    let value = 2f64.powi(p);
    if p >= 0 { format!("{value}") } else { format!("{value:.4}").trim_end_matches('0').to_owned() }
}

/// How often each number occurs, from the smallest to the largest.
fn bins(numbers: impl Iterator<Item = i32>, name: impl Fn(i32) -> String) -> Vec<Bin> {
    let mut counts: BTreeMap<i32, u64> = BTreeMap::new();
    numbers.for_each(|n| *counts.entry(n).or_default() += 1);
    let (Some(&first), Some(&last)) = (counts.keys().next(), counts.keys().next_back()) else { return Vec::new() };
    (first..=last).map(|n| Bin { of: name(n), count: counts.get(&n).copied().unwrap_or(0) }).collect()
}

#[cfg(test)]
mod tests {
    use super::{bins, power};

    #[test]
    fn bins_have_no_gaps() {
        let all = bins([3, 1, 3].into_iter(), |n| n.to_string());
        assert_eq!(all.iter().map(|b| (b.of.as_str(), b.count)).collect::<Vec<_>>(), [("1", 1), ("2", 0), ("3", 2)]);
        assert_eq!((power(3), power(-2)), ("8".to_owned(), "0.25".to_owned()));
    }
}
