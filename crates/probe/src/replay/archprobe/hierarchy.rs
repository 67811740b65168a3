//! Caches behind a walk: where they end, and which shapes explain how.

use super::recording::{Sample, per_iteration};
use super::rises::{Rise, rises};
use super::streams::median;
use crate::fit::lru::{Fitted, Shape, Walk, candidates, consistent, fit};

/// What walks of one work-item show.
#[derive(Debug, Default)]
pub struct Hierarchy {
    /// Of each footprint the walk with the smallest stride, in order.
    pub walks: Vec<Point>,
    /// Latency of walks that the nearest cache holds: least, median, most.
    pub nearest: Option<(f64, f64, f64)>,
    /// Ends of caches, the nearest first.
    pub caches: Vec<Cache>,
}

/// A walk: footprint and stride in bytes, seconds of a step.
pub type Point = ([f64; 2], f64);

impl Hierarchy {
    /// Seconds of a step against footprint.
    pub fn curve(&self) -> Vec<(f64, f64)> {
        self.walks.iter().map(|point| (point.0[0], point.1)).collect()
    }
}

/// The end of a cache, and what explains it.
#[derive(Debug)]
pub struct Cache {
    /// Where the walks with the smallest strides rise.
    pub rise: Rise,
    /// All that the walks about it cannot tell from the best, the best first; empty where no shape explains them.
    pub shapes: Vec<Fitted>,
    /// Share of what neighbouring walks differ by in what the best shape misses the walks by, of their squares: 1 where it explains the
    /// walks as well as any model can; the rest is the model's fault, and says nothing for or against a shape.
    pub explained: f64,
}

/// Analyses samples of walks of (bytes, stride).
pub fn hierarchy(samples: &[Sample]) -> Hierarchy {
    let (_, points) = per_iteration(samples);
    // Other strides through a footprint tell lines and sets.
    let (mut walks, mut rings) = (vec![], vec![]);
    for ring in points.chunk_by(|a, b| a.0[0] == b.0[0]) {
        walks.push(ring[0]);
        rings.extend_from_slice(&ring[1..]);
    }
    let found = Hierarchy { walks, ..Hierarchy::default() };
    let rises = rises(&found.curve());
    let nearest = nearest(&found.curve(), rises.first());
    let mut caches = vec![];
    for (place, rise) in rises.iter().enumerate() {
        // Walks about a rise: no other rise changes them.
        let from = place.checked_sub(1).map_or(0.0, |before| rises[before].until.unwrap_or(0.0)).max(rise.from / 2.0);
        let end = rises.get(place + 1).map_or(f64::INFINITY, |next| next.between.0).min(2.0 * rise.until.unwrap_or(f64::INFINITY));
        let about =
            |points: &[Point]| -> Vec<Point> { points.iter().copied().filter(|point| (from..=end).contains(&point.0[0])).collect() };
        caches.push(explained(rise.clone(), &about(&found.walks), about(&rings)));
    }
    Hierarchy { nearest, caches, ..found }
}

/// The median of all walks before the first rise, its error, and what latency creeps by up to there.
fn nearest(curve: &[(f64, f64)], rise: Option<&Rise>) -> Option<(f64, f64, f64)> {
    let held = curve.iter().filter(|point| rise.is_none_or(|rise| point.0 <= rise.from));
    let (lo, value, hi) = median(held.map(|point| point.1).collect())?;
    let before = rise.map_or(value, |rise| rise.before);
    Some((lo.min(before), value, hi.max(before)))
}

/// Steps of all walks that are fitted together, at most.
const STEPS: f64 = 200_000.0;
/// Capacities that are tried for a line, at most; rounder ones first.
const CAPACITIES: usize = 9;
/// Capacities and lines for which hashes are tried.
const HASHED: usize = 4;
/// Lines that caches have, in bytes.
const LINES: [u64; 6] = [16, 32, 64, 128, 256, 512];
/// Part of a cache in which the kernel's own data may lie: its code, its arguments, its result.
const OWN: f64 = 1.0 / 256.0;
/// Digits of the recorded times: what a walk is known to, at best.
const DIGITS: f64 = 1e-5;

/// Fits shapes to the walks about a rise.
fn explained(rise: Rise, about: &[Point], rings: Vec<Point>) -> Cache {
    let walks = walks(&rise, about, rings);
    let lines = LINES.iter().copied().filter(|&line| 2.0 * line as f64 <= rise.from);
    let plain = lines.flat_map(|line| capacities(&rise, line).into_iter().flat_map(move |bytes| candidates(bytes, line)));
    let plain: Vec<Shape> = plain.filter(|shape| shape.hash.is_none()).collect();
    let first = fit(&walks, plain.iter().cloned());
    let mut sizes: Vec<(u64, u64)> = vec![];
    for shape in first.iter().flat_map(|fitted| &fitted.shapes) {
        let size = (shape.capacity_bytes(), shape.line_bytes);
        if sizes.len() < HASHED && !sizes.contains(&size) {
            sizes.push(size);
        }
    }
    let hashed = sizes.into_iter().flat_map(|(bytes, line)| candidates(bytes, line)).filter(|shape| shape.hash.is_some());
    let fitted = fit(&walks, plain.into_iter().chain(hashed));
    let error = fitted.first().map_or(f64::INFINITY, |best| best.error);
    let explained = (noise(about).max(DIGITS) / error).powi(2).min(1.0);
    let shapes = consistent(&fitted).into_iter().cloned().collect();
    Cache { rise, shapes, explained }
}

/// What walks scatter by, relative: the median difference of neighbours, as that of normal numbers.
fn noise(about: &[Point]) -> f64 {
    let differences = about.windows(2).map(|pair| (pair[1].1 / pair[0].1 - 1.0).abs()).collect();
    median(differences).map_or(0.0, |(_, middle, _)| 1.48 * middle / std::f64::consts::SQRT_2)
}

/// Whole lines about the interval of a rise.
fn capacities(rise: &Rise, line: u64) -> Vec<u64> {
    let (first, last) = (rise.between.0 * (1.0 - OWN), rise.between.1 * (1.0 + OWN));
    let (first, last) = ((first / line as f64).floor() as u64, (last / line as f64).ceil() as u64);
    let mut lines: Vec<u64> = (first.max(1)..=last).collect();
    lines.sort_by_key(|lines| std::cmp::Reverse(lines.trailing_zeros()));
    lines.truncate(CAPACITIES);
    lines.into_iter().map(|lines| lines * line).collect()
}

/// Walks that tell shapes apart: those on the ramp, some before and after it, and those with other strides.
fn walks(rise: &Rise, about: &[Point], rings: Vec<Point>) -> Vec<Walk> {
    let (begin, end) = (rise.between.0, rise.until.unwrap_or(f64::INFINITY));
    let part = |from: f64, to: f64| about.iter().copied().filter(|point| from <= point.0[0] && point.0[0] < to).collect::<Vec<_>>();
    // Both ends are taken a sixteenth wider: the staircase at either tells the line.
    let (begin, end) = (begin * 15.0 / 16.0, end * 17.0 / 16.0);
    let stride = about.first().map_or(1.0, |point| point.0[1].max(1.0));
    let longest = (end.min(2.0 * begin) / stride).max(1.0);
    let most = ((STEPS / longest / 4.0) as usize).clamp(8, 160);
    let parts =
        [some(part(0.0, begin), most / 4), some(part(begin, end), most), some(part(end, f64::INFINITY), most / 4), some(rings, 2 * most)];
    parts.into_iter().flatten().filter_map(walk).collect()
}

/// So many of them, evenly.
fn some(of: Vec<Point>, most: usize) -> Vec<Point> {
    let step = of.len().div_ceil(most.max(1)).max(1);
    of.into_iter().step_by(step).collect()
}

/// The walk `i → (i + stride) mod range` from 0.
pub fn walk(([range, stride], seconds): Point) -> Option<Walk> {
    let (range, stride) = (range as u64, stride as u64);
    // Walks of more steps than are fitted are no use.
    if range > 1 << 24 || range == 0 || stride == 0 || !range.is_multiple_of(16) || !stride.is_multiple_of(16) {
        return None;
    }
    let mut addresses = vec![0];
    let mut at = stride % range;
    while at != 0 {
        addresses.push(at);
        at = (at + stride) % range;
    }
    Some(Walk { addresses, seconds, sigma: DIGITS * seconds })
}
