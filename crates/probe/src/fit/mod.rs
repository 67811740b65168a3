//! What samples say: pure functions from numbers to facts, shared by what is measured here and what others recorded.

pub mod levels;
pub mod lru;
pub mod registers;
pub mod steps;
pub mod warp;

/// Coefficients, none negative, with which rows (one after the other) add up to targets best, by least squares. A column that would be
/// negative is left out.
pub(crate) fn least_squares(rows: &[f64], targets: &[f64], columns: usize) -> Vec<f64> {
    let width = columns + 1;
    let mut system = vec![0.0; columns * width];
    for (row, target) in rows.chunks(columns).zip(targets) {
        for (i, a) in row.iter().enumerate() {
            row.iter().chain([target]).enumerate().for_each(|(j, b)| system[i * width + j] += a * b);
        }
    }
    let mut kept: Vec<usize> = (0..columns).collect();
    loop {
        let found = solved(&system, width, &kept);
        let worst = (0..found.len()).min_by(|&a, &b| found[a].total_cmp(&found[b])).filter(|&worst| found[worst] < 0.0);
        match worst {
            Some(worst) => drop(kept.remove(worst)),
            None => {
                let mut all = vec![0.0; columns];
                kept.iter().zip(found).for_each(|(&column, value)| all[column] = value);
                return all;
            }
        }
    }
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
