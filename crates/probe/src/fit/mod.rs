//! What samples say: pure functions from numbers to facts, shared by what is measured here and what others recorded.

pub mod levels;
pub mod lru;
pub mod registers;
pub mod steps;
pub mod warp;

/// Coefficients, none negative, with which rows add up to targets best (least squares). A column that would be negative is left out.
pub(crate) fn least_squares(rows: &[Vec<f64>], targets: &[f64], columns: usize) -> Vec<f64> {
    let mut kept: Vec<usize> = (0..columns).collect();
    loop {
        let found = normal(rows, targets, &kept);
        match found.iter().position(|value| *value < 0.0) {
            None => {
                let mut all = vec![0.0; columns];
                kept.iter().zip(found).for_each(|(&column, value)| all[column] = value);
                return all;
            }
            Some(_) => {
                let worst = (0..found.len()).min_by(|&a, &b| found[a].total_cmp(&found[b])).unwrap_or(0);
                kept.remove(worst);
            }
        }
    }
}

/// The normal equations of some columns, solved by elimination. A touch on the diagonal gives columns that others make up a share of theirs.
fn normal(rows: &[Vec<f64>], targets: &[f64], kept: &[usize]) -> Vec<f64> {
    let n = kept.len();
    let sum = |f: &dyn Fn(&[f64], f64) -> f64| rows.iter().zip(targets).map(|(row, target)| f(row, *target)).sum::<f64>();
    let entry = |i: usize, j: usize| match kept.get(j) {
        Some(&column) => sum(&|row, _| row[kept[i]] * row[column]) * if i == j { 1.0 + 1e-10 } else { 1.0 },
        None => sum(&|row, target| row[kept[i]] * target),
    };
    let mut system: Vec<Vec<f64>> = (0..n).map(|i| (0..=n).map(|j| entry(i, j)).collect()).collect();
    for pivot in 0..n {
        let own = system[pivot].clone();
        // A column of zeros explains nothing.
        let Some(inverse) = Some(1.0 / own[pivot]).filter(|inverse| inverse.is_finite()) else { continue };
        for (_, row) in system.iter_mut().enumerate().filter(|(i, _)| *i != pivot) {
            let factor = row[pivot] * inverse;
            row.iter_mut().zip(&own).for_each(|(value, own)| *value -= factor * own);
        }
    }
    (0..n).map(|i| if system[i][i] > 0.0 { system[i][n] / system[i][i] } else { 0.0 }).collect()
}
