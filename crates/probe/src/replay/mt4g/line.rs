//! How long a line is: a chase at a stride beyond it leaves lines out, and fits into a cache at larger footprints.

use super::fetch::SLOWER;
use super::size::beyond;
use crate::fit::steps::quantile;
use std::collections::BTreeMap;
use warpsight_ir::profile::{Fact, Source};

/// Misfit that a line may leave: a mean difference of shares of misses.
const UNEXPLAINED: f64 = 0.1;
/// How much better than any other power of two the best explains what misses.
const BETTER: f64 = 1.25;
/// Misses that the smallest footprints may have: more, and the curve's foot is not seen.
const FOOT: f64 = 0.05;

/// What a file of strides and footprints shows.
pub struct Line {
    pub bytes: Fact<f64>,
    /// Mean share of misses against stride: measured, and of the line that was found.
    pub shares: Vec<(f64, f64, f64)>,
    /// Share of misses against footprint, at strides that leave nothing out.
    pub whole: Vec<(f64, f64)>,
}

/// A grid of shares of misses: strides, footprints.
struct Grid {
    strides: Vec<f64>,
    sizes: Vec<f64>,
    shares: Vec<Vec<f64>>,
}

/// The bytes of a line, a power of two that is no less than what a miss brings, where that is known.
pub fn length(rows: &[Vec<f64>], fetched: Option<f64>) -> Line {
    let grid = match Grid::of(rows) {
        Ok(grid) => grid,
        Err(why) => return Line { bytes: Fact::unknown(why), shares: vec![], whole: vec![] },
    };
    let least = fetched.unwrap_or(0.0).max(grid.strides[0]);
    let found = grid.line(least);
    let line = found.as_ref().ok().and_then(|fact| fact.get()).copied();
    let whole = grid.whole(least, line.unwrap_or(least));
    let mean = |shares: Vec<f64>| shares.iter().sum::<f64>() / shares.len() as f64;
    let explained = |stride: f64| {
        let of = |size: &f64| at(&grid.sizes, &whole, size * shrunk(stride, line.unwrap_or(stride))).unwrap_or(0.0);
        mean(grid.sizes.iter().map(of).collect())
    };
    let shares = grid.strides.iter().zip(&grid.shares).map(|(&stride, own)| (stride, mean(own.clone()), explained(stride)));
    Line { shares: shares.collect(), whole: grid.sizes.iter().copied().zip(whole).collect(), bytes: found.unwrap_or_else(Fact::unknown) }
}

/// By how much fewer lines than the footprint has bytes for a chase touches.
fn shrunk(stride: f64, line: f64) -> f64 {
    (line / stride).min(1.0)
}

/// A curve between its points; none below its first, unless it is flat there.
fn at(sizes: &[f64], curve: &[f64], size: f64) -> Option<f64> {
    let after = sizes.partition_point(|own| *own <= size);
    match (after.checked_sub(1), sizes.get(after)) {
        (None, _) => curve.first().copied().filter(|share| *share <= FOOT),
        (Some(before), None) => curve.get(before).copied(),
        (Some(before), Some(next)) => {
            let way = (size - sizes[before]) / (next - sizes[before]);
            Some(curve[before] * (1.0 - way) + curve[after] * way)
        }
    }
}

impl Grid {
    fn of(rows: &[Vec<f64>]) -> Result<Self, String> {
        let mut all: Vec<f64> = rows.iter().flat_map(|row| row.iter().skip(2).copied()).collect();
        all.sort_by(f64::total_cmp);
        let middle = |row: &Vec<f64>| {
            let mut loads: Vec<f64> = row.iter().skip(2).copied().collect();
            loads.sort_by(f64::total_cmp);
            quantile(&loads, 0.5)
        };
        let (fast, slow) = (rows.iter().map(middle).fold(f64::INFINITY, f64::min), quantile(&all, 0.95));
        // No row at all has no quantile.
        if slow.is_nan() || slow <= SLOWER * fast {
            return Err(format!("no footprint tried is slow at any stride: loads take {fast} to {slow} cycles"));
        }
        let mut cells: BTreeMap<u64, BTreeMap<u64, f64>> = BTreeMap::new();
        for row in rows {
            if let [stride, size, loads @ ..] = &row[..] {
                // Positive numbers sort as their bits do.
                cells.entry(stride.to_bits()).or_default().insert(size.to_bits(), beyond(loads, fast, slow));
            }
        }
        // Of a file that breaks off, the last stride is left out; of other rows that are missing, their footprint.
        let most = cells.values().map(BTreeMap::len).max().unwrap_or_default();
        cells.retain(|_, own| 10 * own.len() >= 9 * most);
        let common = |size: &u64| cells.values().all(|own| own.contains_key(size));
        let sizes: Vec<u64> = cells.values().next().into_iter().flat_map(BTreeMap::keys).copied().filter(common).collect();
        if sizes.len() < 2 || cells.len() < 2 {
            return Err("the recording has too few strides and footprints".to_owned());
        }
        Ok(Self {
            strides: cells.keys().copied().map(f64::from_bits).collect(),
            shares: cells.values().map(|own| sizes.iter().filter_map(|size| own.get(size).copied()).collect()).collect(),
            sizes: sizes.into_iter().map(f64::from_bits).collect(),
        })
    }

    /// The fact, or why there is none.
    fn line(&self, least: f64) -> Result<Fact<f64>, String> {
        let last = self.strides.last().copied().unwrap_or(least);
        let powers = (0..).map(|bit| 2f64.powi(bit)).skip_while(|line| *line < least).take_while(|line| *line <= last);
        // The last candidate stands for all lines that no stride exceeds.
        let mut tried: Vec<(f64, f64)> = powers.chain([f64::INFINITY]).filter_map(|line| Some((self.misfit(least, line)?, line))).collect();
        tried.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (Some(&(best, line)), Some(&(next, other))) = (tried.first(), tried.get(1)) else {
            return Err(format!("strides up to {last} bytes are too few"));
        };
        if line.is_infinite() {
            return Err(format!("no stride up to {last} bytes leaves lines out: what misses is the same at all"));
        }
        if best > UNEXPLAINED || next < BETTER * best {
            return Err(format!(
                "what misses at which stride does not tell lines of {line} and {other} bytes apart: {best:.3} and {next:.3} unexplained"
            ));
        }
        let lo = self.strides.iter().copied().filter(|stride| *stride <= line).fold(0.0, f64::max);
        let hi = self.strides.iter().copied().find(|stride| *stride > line).unwrap_or(line);
        let cite = format!(
            "MT4G's chases at strides from {} to {last} bytes: those above {line} fit into more, misses agree to {best:.3}, with {other} to {next:.3}",
            self.strides[0]
        );
        Ok(Fact::between(lo.min(line), line, hi, Source::Measured, cite))
    }

    /// Median share of misses at each footprint, over the strides at which each load fetches, and no line is left out.
    fn whole(&self, least: f64, line: f64) -> Vec<f64> {
        let of = |size: usize| {
            let own = self.strides.iter().zip(&self.shares).filter(|(stride, _)| (least..=line).contains(*stride));
            let mut shares: Vec<f64> = own.map(|(_, shares)| shares[size]).collect();
            shares.sort_by(f64::total_cmp);
            quantile(&shares, 0.5)
        };
        (0..self.sizes.len()).map(of).collect()
    }

    /// What a line leaves unexplained: at strides beyond it, a chase misses like one of a footprint smaller by as much. At multiples of
    /// two lines a chase may meet every other set alone, and fit into half: they tell nothing.
    fn misfit(&self, least: f64, line: f64) -> Option<f64> {
        let whole = self.whole(least, line);
        let mut strides = vec![];
        let mut beyond = false;
        for (&stride, shares) in self.strides.iter().zip(&self.shares) {
            if stride < least || stride > line && stride % (2.0 * line) == 0.0 {
                continue;
            }
            let off = |(&size, share): (&f64, &f64)| Some((share - at(&self.sizes, &whole, size * shrunk(stride, line))?).abs());
            let off: Vec<f64> = self.sizes.iter().zip(shares).filter_map(off).filter(|off| off.is_finite()).collect();
            if !off.is_empty() {
                beyond |= stride > line;
                strides.push(off.iter().sum::<f64>() / off.len() as f64);
            }
        }
        (beyond || line.is_infinite()).then(|| strides.iter().sum::<f64>() / strides.len() as f64).filter(|misfit| misfit.is_finite())
    }
}
