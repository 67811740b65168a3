//! What samples say: pure functions from numbers to facts, shared by what is measured here and what others recorded.

pub mod change;
pub mod levels;
pub mod lru;
pub mod registers;
pub mod sizes;
pub mod steps;
pub mod texture;
pub mod warp;

/// Coefficients, none negative, with which rows (one after the other) add up to targets best, by least squares. A column that would be
/// negative is left out for good, which is soon done and right where columns are few.
pub(crate) fn least_squares(rows: &[f64], targets: &[f64], columns: usize) -> Vec<f64> {
    let (system, mut kept) = (normal(rows, targets, columns), (0..columns).collect());
    let found = positive(&system, columns + 1, &mut kept);
    spread(&kept, found, columns)
}

/// The same where columns are many and alike: those that were left out come back where they make it better (Lawson and Hanson 1974, chapter
/// 23).
pub(crate) fn non_negative(rows: &[f64], targets: &[f64], columns: usize) -> Vec<f64> {
    let (system, width) = (normal(rows, targets, columns), columns + 1);
    let mut kept = (0..columns).collect();
    let mut found = positive(&system, width, &mut kept);
    found = spread(&kept, found, columns);
    for _ in 0..3 * columns {
        // By how much the sum of squares falls with more of a column, relative to what rounding leaves of it.
        let gain = |column: usize| {
            let row = &system[column * width..(column + 1) * width];
            let rest = row[..columns].iter().zip(&found).fold(row[columns], |rest, (a, x)| rest - a * x);
            rest / row[columns].abs().max(f64::MIN_POSITIVE)
        };
        let others = (0..columns).filter(|column| !kept.contains(column)).map(|column| (column, gain(column)));
        let Some((best, _)) = others.filter(|other| other.1 > 1e-7).max_by(|a, b| a.1.total_cmp(&b.1)) else { break };
        kept.push(best);
        loop {
            let next = spread(&kept, solved(&system, width, &kept), columns);
            // Towards the new solution until a column of the old one is used up.
            let part = kept.iter().filter(|&&column| next[column] <= 0.0).map(|&column| found[column] / (found[column] - next[column]));
            let part = part.filter(|part| part.is_finite()).fold(1.0, f64::min);
            found.iter_mut().zip(&next).for_each(|(old, new)| *old += part * (new - *old));
            let before = kept.len();
            kept.retain(|&column| next[column] > 0.0 || found[column] > 1e-12 * next[column].abs());
            (0..columns).filter(|column| !kept.contains(column)).for_each(|column| found[column] = 0.0);
            if kept.len() == before || kept.is_empty() {
                break;
            }
        }
    }
    found
}

/// The normal equations of rows and targets: coefficients of each column and what they add up to, one after the other.
pub(crate) fn normal(rows: &[f64], targets: &[f64], columns: usize) -> Vec<f64> {
    let width = columns + 1;
    let mut system = vec![0.0; columns * width];
    for (row, target) in rows.chunks(columns).zip(targets) {
        for (i, a) in row.iter().enumerate() {
            row.iter().chain([target]).enumerate().for_each(|(j, b)| system[i * width + j] += a * b);
        }
    }
    system
}

/// Coefficients of the columns that are left when those that would be negative are gone, one by one, the worst first.
fn positive(system: &[f64], width: usize, kept: &mut Vec<usize>) -> Vec<f64> {
    loop {
        let found = solved(system, width, kept);
        let worst = (0..found.len()).min_by(|&a, &b| found[a].total_cmp(&found[b])).filter(|&worst| found[worst] < 0.0);
        match worst {
            Some(worst) => drop(kept.remove(worst)),
            None => return found,
        }
    }
}

/// Coefficients of some columns among those of all.
fn spread(kept: &[usize], found: Vec<f64>, columns: usize) -> Vec<f64> {
    let mut all = vec![0.0; columns];
    kept.iter().zip(found).for_each(|(&column, value)| all[column] = value);
    all
}

/// Some columns of normal equations (rows of coefficients and what they add up to, one after the other), solved by elimination; what nothing
/// determines is 0. A touch on the diagonal gives columns that others make up a share of theirs.
pub(crate) fn solved(system: &[f64], width: usize, kept: &[usize]) -> Vec<f64> {
    let n = kept.len();
    let entry = |i: usize, j: usize| {
        let column = kept.get(j).copied().unwrap_or(width - 1);
        system[kept[i] * width + column] * if i == j { 1.0 + 1e-10 } else { 1.0 }
    };
    let mut rows: Vec<Vec<f64>> = (0..n).map(|i| (0..=n).map(|j| entry(i, j)).collect()).collect();
    for pivot in 0..n {
        let own = rows[pivot].clone();
        // A column of zeros explains nothing.
        let Some(inverse) = Some(1.0 / own[pivot]).filter(|inverse| inverse.is_finite()) else { continue };
        for (_, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != pivot) {
            let factor = row[pivot] * inverse;
            row.iter_mut().zip(&own).for_each(|(value, own)| *value -= factor * own);
        }
    }
    (0..n).map(|i| if rows[i][i] > 0.0 { rows[i][n] / rows[i][i] } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::non_negative;

    fn squares(rows: &[f64], targets: &[f64], found: &[f64]) -> f64 {
        let columns = found.len();
        rows.chunks(columns).zip(targets).map(|(row, t)| (row.iter().zip(found).map(|(a, x)| a * x).sum::<f64>() - t).powi(2)).sum()
    }

    /// Of all sets of columns the best whose solution has nothing negative is the answer; columns by chance are alike, more than rows.
    #[test]
    fn nothing_better_is_left_out() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..60 {
            let (count, columns) = (rng.usize(4..12), rng.usize(2..7));
            let base: Vec<f64> = (0..count).map(|_| rng.f64()).collect();
            let rows: Vec<f64> = (0..count * columns).map(|n| base[n / columns] + 0.3 * rng.f64()).collect();
            let targets: Vec<f64> = (0..count).map(|n| base[n] + 0.5 * rng.f64()).collect();
            let found = non_negative(&rows, &targets, columns);
            assert!(found.iter().all(|x| *x >= 0.0), "{found:?}");
            let own = squares(&rows, &targets, &found);
            for _ in 0..400 {
                let other: Vec<f64> = found.iter().map(|x| (x + 0.05 * (rng.f64() - 0.5)).max(0.0)).collect();
                assert!(squares(&rows, &targets, &other) >= own - 1e-9, "{found:?} {other:?}");
            }
        }
    }
}
