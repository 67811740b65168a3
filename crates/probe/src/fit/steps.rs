//! Change points of repeated, noisy samples along x: where the latency of a chase leaves one level, and where it reaches the next.
//!
//! The series is cut in two where a rank test separates both sides best, and each side again, until no cut is significant. Ranks make an
//! outlier count no more than any slow sample; a change of a few samples in each row (some sets of a cache thrash, others hold) counts as
//! well as one of all. Rows that scatter among each other more than their samples do are known by that scatter.

use std::cmp::Ordering;
use std::ops::Range;

/// Probability below which a cut of one stretch is no accident, all cuts of the stretch taken together.
const SIGNIFICANT: f64 = 1e-3;
/// Least difference of two levels, relative: less is the clock's or a neighbour's, no other memory.
const LEAST: f64 = 0.02;
/// Share of samples that may be of something else (an interrupt, a refresh) in every row.
const OUTLIERS: f64 = 0.05;
/// Share of samples at either end that means leave out of account.
const CLIPPED: f64 = 2.0 * OUTLIERS;
/// Standard deviation of a median of n samples over their median deviation from it, times √n.
const MEDIAN_SPREAD: f64 = 1.4826 * 1.2533;
/// Standard deviations from a level beyond which a row beside a change is of the ramp.
const STRANGE: f64 = 4.0;
/// Rows of a plateau inside a ramp.
const PLATEAU: usize = 4;

/// A stretch of x over which nothing changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Its first x.
    pub from: f64,
    /// Its last x.
    pub to: f64,
    /// Rows (values of x) in it.
    pub rows: usize,
    /// [Clipped mean](clipped_mean) of its samples.
    pub mean: f64,
}

/// A change from one level to the next: at once, or over a ramp.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The last x of the level before: a ramp begins here.
    pub begins: f64,
    /// The next x, at which it is left. A step lies between both.
    pub left: f64,
    /// The first x of the level after: a ramp ends here.
    pub ends: f64,
    /// Mean of the level before.
    pub before: f64,
    /// Mean of the level after.
    pub after: f64,
    /// 1 − probability that samples without a change look like this (of a ramp's surest cut).
    pub confidence: f64,
}

impl Change {
    /// Whether the level after is the higher one.
    pub fn rises(&self) -> bool {
        self.after > self.before
    }
}

/// Levels, and the changes between them: one change less than levels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    /// In order of x.
    pub levels: Vec<Level>,
    /// In order of x.
    pub changes: Vec<Change>,
}

/// Finds levels and changes in rows of x and its samples, sorted by x. Samples that are no numbers are ignored, and rows without any.
pub fn steps(rows: &[(f64, Vec<f64>)]) -> Steps {
    let finite = |(x, samples): &(f64, Vec<f64>)| Row { x: *x, samples: samples.iter().copied().filter(|s| s.is_finite()).collect() };
    let rows: Vec<Row> = rows.iter().map(finite).filter(|row| row.x.is_finite() && !row.samples.is_empty()).collect();
    let mut cuts = vec![];
    split(&rows, 0, &mut cuts);
    join(&rows, &cuts)
}

/// The mean of samples clipped to their 10th to 90th percentile: outliers, one in twenty, do not move it, a few slow loads in ten do. `NaN`
/// of none.
pub fn clipped_mean(samples: &[f64]) -> f64 {
    clipped(samples.to_vec(), CLIPPED)
}

fn clipped(mut samples: Vec<f64>, share: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let (lo, hi) = (quantile(&samples, share), quantile(&samples, 1.0 - share));
    samples.iter().map(|sample| sample.max(lo).min(hi)).sum::<f64>() / samples.len() as f64
}

/// The sample of sorted ones below which a share of them lies, at most; `NaN` of none.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = (share * sorted.len() as f64) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

struct Row {
    x: f64,
    samples: Vec<f64>,
}

/// A cut in front of a row.
struct Cut {
    at: usize,
    chance: f64,
}

/// Cuts a stretch that begins at row `first` of all, and what it falls into.
fn split(rows: &[Row], first: usize, cuts: &mut Vec<Cut>) {
    let Some(cut) = best_cut(rows) else { return };
    let (left, right) = rows.split_at(cut.at);
    split(left, first, cuts);
    cuts.push(Cut { at: first + cut.at, ..cut });
    split(right, first + cut.at, cuts);
}

/// The cut that separates the stretch best, if it is significant and large enough.
fn best_cut(rows: &[Row]) -> Option<Cut> {
    if rows.len() < 2 {
        return None;
    }
    let ranks = Ranks::of(rows);
    let best = (1..rows.len()).map(|at| (at, ranks.separation(at))).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let chance = tail(best.1) * (rows.len() - 1) as f64;
    let (left, right) = rows.split_at(best.0);
    let (left, right) = (mean(left), mean(right));
    let large = (right - left).abs() > LEAST * left.abs().min(right.abs());
    (chance < SIGNIFICANT && large).then(|| Cut { at: moved(rows, best.0), chance })
}

/// A cut moved to where the rows' medians change sides. Ranks know that there is a change; where it is, a row with more outliers than
/// others would blur.
fn moved(rows: &[Row], at: usize) -> usize {
    let (left, right) = rows.split_at(at);
    let (left, right) = (median(pooled(left)), median(pooled(right)));
    if (right - left).abs() <= LEAST * left.abs() {
        return at;
    }
    let mut nearest = (0.0, at);
    let mut misfit = 0.0;
    for (next, row) in rows.iter().enumerate().take(rows.len() - 1) {
        let own = median(row.samples.clone());
        misfit += (own - left).abs() - (own - right).abs();
        if misfit < nearest.0 {
            nearest = (misfit, next + 1);
        }
    }
    nearest.1
}

/// Ranks of a stretch's samples, from 0 to 1, ties shared.
struct Ranks {
    /// Mean rank of each row.
    means: Vec<f64>,
    /// Sums of the means, and of their squares, in front of each row.
    sums: Vec<(f64, f64)>,
    /// Variance of a row's mean that its samples explain.
    within: f64,
    samples: usize,
}

impl Ranks {
    fn of(rows: &[Row]) -> Self {
        let mut all: Vec<(f64, usize)> = vec![];
        for (at, row) in rows.iter().enumerate() {
            all.extend(row.samples.iter().map(|&sample| (sample, at)));
        }
        all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let count = all.len() as f64;
        let mut own = vec![(0.0, 0.0); rows.len()];
        let mut at = 0.0;
        for ties in all.chunk_by(|a, b| a.0.total_cmp(&b.0) == Ordering::Equal) {
            let rank = (at + ties.len() as f64 / 2.0) / count;
            at += ties.len() as f64;
            for &(_, row) in ties {
                own[row].0 += rank;
                own[row].1 += rank * rank;
            }
        }
        let (mut means, mut sums, mut within) = (vec![], vec![(0.0, 0.0)], 0.0);
        let mut sum = (0.0, 0.0);
        for (row, (total, squares)) in rows.iter().zip(own) {
            let n = row.samples.len() as f64;
            let mean = total / n;
            // A row of one sample shows no scatter; what is between rows does.
            let scatter = if n > 1.0 { (squares - n * mean * mean).max(0.0) / (n - 1.0) } else { 0.0 };
            // Outliers lie at the far end of the ranks, half of them from the middle.
            within += (scatter + 0.25 * OUTLIERS * (1.0 - OUTLIERS)) / n;
            sum = (sum.0 + mean, sum.1 + mean * mean);
            means.push(mean);
            sums.push(sum);
        }
        Self { within: within / rows.len() as f64, means, sums, samples: all.len() }
    }

    /// By how many standard deviations the mean ranks of both sides of a cut differ.
    fn separation(&self, at: usize) -> f64 {
        let rows = self.means.len();
        let all = self.sums[rows];
        let (left, right) = ((at as f64, self.sums[at]), ((rows - at) as f64, (all.0 - self.sums[at].0, all.1 - self.sums[at].1)));
        let rest = |(n, (sum, squares)): (f64, (f64, f64))| (squares - sum * sum / n).max(0.0);
        let between = (rest(left) + rest(right)) / (rows as f64 - 2.0).max(1.0);
        let (variance, freedom) = match between > self.within {
            true => (between, (rows as f64 - 2.0).max(1.0)),
            false => (self.within, self.samples.saturating_sub(2).max(1) as f64),
        };
        let apart = (left.1.0 / left.0 - right.1.0 / right.0).abs();
        normal(apart / (variance * (1.0 / left.0 + 1.0 / right.0)).sqrt(), freedom)
    }
}

/// Student's t as the normal deviate of the same probability (Wallace's approximation).
fn normal(t: f64, freedom: f64) -> f64 {
    (freedom * (1.0 + t * t / freedom).ln()).sqrt() * (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0)
}

/// Probability of a normal deviate beyond ±z, from above (Mills).
fn tail(z: f64) -> f64 {
    ((-z * z / 2.0).exp() * (2.0 / std::f64::consts::PI).sqrt() / z).min(1.0)
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    quantile(&samples, 0.5)
}

fn pooled(rows: &[Row]) -> Vec<f64> {
    rows.iter().flat_map(|row| row.samples.iter().copied()).collect()
}

fn mean(rows: &[Row]) -> f64 {
    clipped(pooled(rows), CLIPPED)
}

/// Levels and changes of a cut series; pieces of a ramp are joined to one change.
fn join(rows: &[Row], cuts: &[Cut]) -> Steps {
    let ends: Vec<usize> = [0].into_iter().chain(cuts.iter().map(|cut| cut.at)).chain([rows.len()]).collect();
    let pieces: Vec<Range<usize>> = ends.windows(2).map(|ends| ends[0]..ends[1]).filter(|piece| !piece.is_empty()).collect();
    let mut levels: Vec<Range<usize>> = vec![];
    for (at, piece) in pieces.iter().enumerate() {
        let neighbours = at.checked_sub(1).and_then(|before| Some((&rows[pieces[before].clone()], &rows[pieces.get(at + 1)?.clone()])));
        if !neighbours.is_some_and(|(before, after)| is_ramp(before, &rows[piece.clone()], after)) {
            levels.push(trimmed(rows, piece.clone()));
        }
    }
    let change = |(before, after): (&Range<usize>, &Range<usize>)| Change {
        begins: rows[before.end - 1].x,
        left: rows[before.end].x,
        ends: rows[after.start].x,
        before: mean(&rows[before.clone()]),
        after: mean(&rows[after.clone()]),
        confidence: 1.0 - cuts.iter().filter(|cut| (before.end..=after.start).contains(&cut.at)).map(|cut| cut.chance).fold(1.0, f64::min),
    };
    let level =
        |own: &Range<usize>| Level { from: rows[own.start].x, to: rows[own.end - 1].x, rows: own.len(), mean: mean(&rows[own.clone()]) };
    Steps { changes: levels.iter().zip(levels.iter().skip(1)).map(change).collect(), levels: levels.iter().map(level).collect() }
}

/// A level without rows at its ends, next to a cut, that already belong to a ramp: too few for a rank test, but their medians lie
/// farther from the level's than its samples scatter.
fn trimmed(rows: &[Row], mut level: Range<usize>) -> Range<usize> {
    let all = pooled(&rows[level.clone()]);
    let middle = median(all.clone());
    let scatter = MEDIAN_SPREAD * median(all.iter().map(|sample| (sample - middle).abs()).collect());
    let strange = |row: &Row| {
        let apart = (median(row.samples.clone()) - middle).abs();
        apart > LEAST * middle.abs() && apart > STRANGE * scatter / (row.samples.len() as f64).sqrt()
    };
    while level.len() > 1 && level.end < rows.len() && strange(&rows[level.end - 1]) {
        level.end -= 1;
    }
    while level.len() > 1 && level.start > 0 && strange(&rows[level.start]) {
        level.start += 1;
    }
    level
}

/// Whether a piece lies on the way from its neighbour to the next: between both, and short, or sloped itself.
fn is_ramp(before: &[Row], piece: &[Row], after: &[Row]) -> bool {
    // A piece may be of few rows, where an outlier weighs more: quarters are clipped.
    let middle = |rows: &[Row]| clipped(pooled(rows), 0.25);
    let (low, own, high) = (middle(before), middle(piece), middle(after));
    if (own - low) * (high - own) <= 0.0 {
        return false;
    }
    piece.len() < PLATEAU || {
        let (first, last) = piece.split_at(piece.len() / 2);
        (middle(last) - middle(first)) * (high - low).signum() > 0.3 * (high - own).abs().min((own - low).abs())
    }
}

#[cfg(test)]
mod tests;
