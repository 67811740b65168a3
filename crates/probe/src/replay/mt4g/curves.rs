//! Curves for the page: what was recorded, and the model that explains it.

use super::fetch::{Fetch, expected};
use super::line::Line;
use super::size::Size;
use crate::Curve;
use crate::fit::steps::{clipped_mean, quantile};

/// Points that a curve of single loads is shown with.
const POINTS: usize = 64;

/// Latency against footprint.
pub fn size(key: &str, rows: &[(f64, Vec<f64>)], size: &Size) -> Curve {
    Curve {
        title: format!("{key}: latency of a load against footprint"),
        x: "footprint (bytes)".to_owned(),
        y: "latency (cycles)".to_owned(),
        log_x: true,
        points: rows.iter().map(|(x, loads)| point(*x, loads)).collect(),
        model: size.steps.levels.iter().flat_map(|level| [[level.from, level.mean], [level.to, level.mean]]).collect(),
        changes: size.bytes.get().copied().into_iter().collect(),
        // What it is told by.
        confidence: size
            .bytes
            .get()
            .and(size.steps.changes.iter().find(|change| change.rises()))
            .map(|rise| rise.confidence)
            .into_iter()
            .collect(),
        ..Curve::default()
    }
}

/// Misses of first touches against stride.
pub fn fetch(key: &str, fetch: &Fetch) -> Curve {
    let bytes = fetch.bytes.get().copied();
    Curve {
        title: format!("{key}: share of first touches that miss against stride"),
        x: "stride (bytes)".to_owned(),
        y: "share".to_owned(),
        points: fetch.shares.iter().map(|(stride, share)| [*stride, *share, *share, *share]).collect(),
        model: bytes.map(|bytes| fetch.shares.iter().map(|(stride, _)| [*stride, expected(*stride, bytes)]).collect()).unwrap_or_default(),
        changes: bytes.into_iter().collect(),
        ..Curve::default()
    }
}

/// Misses of chases against stride.
pub fn line(key: &str, line: &Line) -> Curve {
    let bytes = line.bytes.get().copied();
    Curve {
        title: format!("{key}: share of loads that miss against stride, over all footprints"),
        x: "stride (bytes)".to_owned(),
        y: "share".to_owned(),
        points: line.shares.iter().map(|(stride, share, _)| [*stride, *share, *share, *share]).collect(),
        model: bytes.map(|_| line.shares.iter().map(|(stride, _, model)| [*stride, *model]).collect()).unwrap_or_default(),
        changes: bytes.into_iter().collect(),
        ..Curve::default()
    }
}

/// Latencies in the order of the loads.
pub fn latency(key: &str, loads: &[f64]) -> Curve {
    let at_once = loads.len().div_ceil(POINTS).max(1);
    Curve {
        title: format!("{key}: latency of loads in their order"),
        x: "load".to_owned(),
        y: "latency (cycles)".to_owned(),
        points: loads.chunks(at_once).enumerate().map(|(at, loads)| point((at * at_once) as f64, loads)).collect(),
        ..Curve::default()
    }
}

/// Mean and the 5th and 95th percentile.
fn point(x: f64, loads: &[f64]) -> [f64; 4] {
    let mut sorted = loads.to_vec();
    sorted.sort_by(f64::total_cmp);
    [x, clipped_mean(&sorted), quantile(&sorted, 0.05), quantile(&sorted, 0.95)]
}
