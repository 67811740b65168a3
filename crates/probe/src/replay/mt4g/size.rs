//! How much a cache holds: the footprint up to which a chase is served by it.

use crate::fit::steps::{Steps, quantile, steps};
use warpsight_ir::profile::{Fact, Source};

/// Share of loads beyond a first level up to which it still counts as holding all: outliers are half of it.
const SPILLED: f64 = 0.1;

/// Where between the first load that is slow and the last that was fast a capacity lies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Where loads begin to miss: an LRU cache, addressed by the addresses of the chase, thrashes from the first line too many.
    Begin,
    /// In the middle: pages lie anywhere in a memory of which a cache further out sees physical addresses. Some of its sets overflow
    /// early, others late.
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
            "no change point within the range tried: a load takes {level:.0} cycles from {first} to {last} bytes, so the capacity is not \
             among them"
        ));
    };
    let shares = Shares::of(rows, rise.begins, place);
    let inside = shares.up_to(if place == Place::Begin { SPILLED } else { 0.5 });
    let (Some(value), Some(begins)) = (inside, shares.untouched(rise.begins)) else {
        return Err(format!("loads are slow at the smallest footprint tried, {first} bytes, already"));
    };
    let ends = shares.up_to(1.0 - SPILLED).and_then(|at| rows.iter().map(|(x, _)| *x).find(|x| *x > at)).unwrap_or(*last);
    let cite = format!(
        "MT4G's chase: {:.0} cycles up to {begins} bytes, {:.0} from {ends} on; a change point with confidence {:.6}{}",
        rise.before,
        steps.levels.last().map_or(rise.after, |level| level.mean),
        rise.confidence,
        if ends == *last { ", not over at the largest footprint tried" } else { "" }
    );
    Ok(Fact::between(begins.min(value), value, ends.max(value), Source::Measured, cite))
}

/// Of each footprint the share of the way from the level before to the one after.
struct Shares<'r> {
    rows: &'r [(f64, Vec<f64>)],
    shares: Vec<f64>,
}

impl<'r> Shares<'r> {
    fn of(rows: &'r [(f64, Vec<f64>)], begins: f64, place: Place) -> Self {
        let pool = |of: &dyn Fn(f64) -> bool| {
            let mut all: Vec<f64> = rows.iter().filter(|(x, _)| of(*x)).flat_map(|(_, loads)| loads.iter().copied()).collect();
            all.sort_by(f64::total_cmp);
            all
        };
        let fast = quantile(&pool(&|x| x <= begins), 0.5);
        let slow = quantile(&pool(&|x| x > begins), 0.95);
        let mut shares: Vec<f64> = rows.iter().map(|(_, loads)| beyond(loads, fast, slow)).collect();
        if place == Place::Middle {
            // Not all loads of what exceeds a large cache miss: the way ends at the plateau.
            let mut sorted = shares.clone();
            sorted.sort_by(f64::total_cmp);
            let plateau = quantile(&sorted, 0.9);
            shares.iter_mut().for_each(|share| *share /= plateau);
        }
        Self { rows, shares }
    }

    /// The last footprint of those that lie at or below a share, counted: a stray row moves it by one row.
    fn up_to(&self, share: f64) -> Option<f64> {
        let below = self.shares.iter().filter(|own| **own <= share).count();
        self.rows.get(below.checked_sub(1)?).map(|(x, _)| *x)
    }

    /// The last footprint in front of the first at which more loads are slow than in the first half of the rows that are on one level.
    fn untouched(&self, level: f64) -> Option<f64> {
        let rows = self.rows.iter().filter(|(x, _)| *x <= level).count();
        let stray = self.shares.iter().take(rows.div_ceil(2)).copied().fold(0.0, f64::max);
        let until = self.shares.iter().position(|share| *share > stray).unwrap_or(self.shares.len());
        self.rows.get(until.checked_sub(1)?).map(|(x, _)| *x)
    }
}

/// How far loads are from fast to slow, from 0 to 1, on average: the share of misses, where there are but hits and misses.
pub fn beyond(loads: &[f64], fast: f64, slow: f64) -> f64 {
    loads.iter().map(|load| ((load - fast) / (slow - fast)).clamp(0.0, 1.0)).sum::<f64>() / loads.len() as f64
}
