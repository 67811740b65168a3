//! How much a cache holds: the footprint up to which a chase is served by it.
//!
//! Where everything misses that exceeds an LRU cache, its capacity is where loads begin to miss. Other caches give way by and by, as
//! their sets overflow one after the other: then it is somewhere between, and of the sizes that the recording allows the
//! [likeliest](crate::fit::sizes) is the best. No capacity is less than what was held. Where the recording ends before the rise does, nothing
//! in it says how much larger a capacity is: the interval goes on beyond its end.

use super::fetch::SLOWER;
use crate::fit::sizes::likeliest;
use crate::fit::steps::{Change, Steps, quantile, steps};
use warpsight_ir::profile::{Fact, Source};

/// Share of slow loads up to which a footprint still counts as held: outliers are half of it.
const SPILLED: f64 = 0.1;
/// Share of slow loads from which on all that can miss does.
const THRASHED: f64 = 0.8;
/// Part of the footprints beyond a capacity that have to be thrashed before the rise counts as over.
const PLATEAU: f64 = 0.25;
/// What shares of a level's rows may differ by: less is not seen in a few hundred loads.
const STRAY: f64 = 0.01;
/// How far from where it is seen a capacity may lie that gives way by and by. Farther than 1/7, and sizes of up to seven equal banks could
/// be taken for eight.
const AROUND: f64 = 1.0 / 8.0;
/// By what part the middle of a rise is off.
const OFF: f64 = 0.02;

/// Where between the last footprint that is held and the first of which nothing is a capacity is seen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Where loads begin to miss: a cache addressed by the addresses of the chase.
    Begin,
    /// In the middle: a cache further out is addressed by where pages lie in memory, anywhere. Some of its sets overflow early, others
    /// late.
    Middle,
}

/// What a file of sizes shows.
pub struct Size {
    pub bytes: Fact<f64>,
    pub steps: Steps,
}

/// The capacity in bytes, between the last footprint at which nothing misses and the first at which what can miss does.
pub fn capacity(rows: &[(f64, Vec<f64>)], place: Place) -> Size {
    let steps = steps(rows);
    let bytes = bytes(rows, &steps, place).unwrap_or_else(Fact::unknown);
    Size { bytes, steps }
}

/// The fact, or why there is none.
fn bytes(rows: &[(f64, Vec<f64>)], steps: &Steps, place: Place) -> Result<Fact<f64>, String> {
    let (Some((first, _)), Some((last, _))) = (rows.first(), rows.last()) else { return Err("the recording has no footprint".to_owned()) };
    let Some(rise) = steps.changes.iter().find(|change| change.rises()) else {
        let level = steps.levels.first().map_or(f64::NAN, |level| level.mean);
        return Err(format!(
            "no change point within the range tried: loads take {level:.0} cycles on average, and no footprint from {first} to {last} \
             bytes stands out"
        ));
    };
    let shares = Shares::of(rows, rise, place);
    let seen = shares.up_to(if place == Place::Begin { SPILLED } else { 0.5 });
    let Some((held, (seen, next))) = seen.and_then(|seen| Some((shares.held(seen)?, (rows[seen].0, rows.get(seen + 1)?.0)))) else {
        return Err(format!("loads are slow at the smallest footprint tried, {first} bytes, already"));
    };
    let over = shares.thrashed(next);
    let (from, to) = match (place, over) {
        // All loads miss soon: the first line too many showed.
        (Place::Begin, Some(_)) => (held, next - 1.0),
        (Place::Begin, None) => (held, seen * (1.0 + AROUND)),
        (Place::Middle, Some(over)) => (held * (1.0 - STRAY), (seen * (1.0 + AROUND / 2.0)).min(over)),
        (Place::Middle, None) => (seen, seen * (1.0 + AROUND / 2.0)),
    };
    let from = from.max(seen * (1.0 - AROUND));
    // Only where the rise is over one knows where its middle is.
    let off = if place == Place::Middle && over.is_some() { OFF } else { f64::INFINITY };
    let value = likeliest(from, seen, to, [off; 2], 1.0);
    let ends = over.unwrap_or(to);
    let cite = format!(
        "MT4G's chase: a change point with confidence {:.6}; loads take {:.0} cycles up to {held} bytes, and {} {}; the likeliest of the \
         sizes from {from:.0} to {to:.0}",
        rise.confidence,
        rise.before,
        if over.is_some() { "most are slow from" } else { "some still do at the most tried," },
        over.unwrap_or(*last),
    );
    Ok(Fact::between(held.min(value), value, ends.max(value), Source::Measured, cite))
}

/// Of each footprint the share of loads that are slow.
struct Shares<'r> {
    rows: &'r [(f64, Vec<f64>)],
    shares: Vec<f64>,
    /// The share where the level before the rise begins.
    usual: f64,
}

impl<'r> Shares<'r> {
    fn of(rows: &'r [(f64, Vec<f64>)], rise: &Change, place: Place) -> Self {
        let pool = |of: &dyn Fn(f64, f64) -> bool| {
            let all = rows.iter().flat_map(|(x, loads)| loads.iter().filter(|load| of(*x, **load)).copied());
            sorted(all.collect())
        };
        let fast = quantile(&pool(&|x, _| x <= rise.begins), 0.5);
        let slow = quantile(&pool(&|x, load| x > rise.begins && load > SLOWER * fast), 0.5);
        // A rise by less than to another memory: there is no slow load.
        let slow = if slow.is_finite() { slow } else { rise.after.max(fast * (1.0 + f64::EPSILON)) };
        let mut shares: Vec<f64> = rows.iter().map(|(_, loads)| beyond(loads, fast, slow)).collect();
        let level = rows.iter().filter(|(x, _)| *x <= rise.begins).count();
        let mut usual = quantile(&sorted(shares[..level.div_ceil(2)].to_vec()), 0.5);
        if place == Place::Middle {
            // Latencies of hits differ, and not all loads of what exceeds a large cache miss.
            let plateau = quantile(&sorted(shares.clone()), 0.9);
            shares.iter_mut().for_each(|share| *share = (*share - usual) / (plateau - usual));
            usual = 0.0;
        }
        Self { rows, shares, usual }
    }

    /// The last row of those that lie at or below a share, counted: a stray row moves it by one.
    fn up_to(&self, share: f64) -> Option<usize> {
        let at = self.shares.iter().filter(|own| **own <= share).count().checked_sub(1)?;
        (at + 1 < self.rows.len()).then_some(at)
    }

    /// The last footprint, up to the one at a row, at which no more loads are slow than where the level before the rise begins; none
    /// where there are more than outliers.
    fn held(&self, row: usize) -> Option<f64> {
        let held = (0..=row).rev().find(|at| self.shares[*at] <= self.usual + STRAY)?;
        (self.usual <= SPILLED / 2.0).then_some(self.rows[held].0)
    }

    /// The first footprint, from one on, at which most loads are slow, if enough of them are.
    fn thrashed(&self, from: f64) -> Option<f64> {
        let beyond = self.rows.iter().filter(|(x, _)| *x >= from).count();
        let first = self.up_to(THRASHED)? + 1;
        ((self.rows.len() - first) as f64 >= PLATEAU * beyond as f64).then_some(self.rows[first].0)
    }
}

fn sorted(mut numbers: Vec<f64>) -> Vec<f64> {
    numbers.sort_by(f64::total_cmp);
    numbers
}

/// How far loads are from fast to slow, from 0 to 1, on average: the share of misses, where there are but hits and misses.
pub fn beyond(loads: &[f64], fast: f64, slow: f64) -> f64 {
    loads.iter().map(|load| ((load - fast) / (slow - fast)).clamp(0.0, 1.0)).sum::<f64>() / loads.len() as f64
}
