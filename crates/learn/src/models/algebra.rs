//! Least squares: normal equations of scaled columns, solved as they are or with no coefficient below 0.

/// A ridge on columns of length one: makes the solution unique where columns depend on each other, and changes no digit that counts
/// where they do not.
const RIDGE: f64 = 1e-9;

/// Normal equations of columns that were scaled to length one.
pub struct Normal {
    /// Products of columns, row by row.
    gram: Vec<f64>,
    /// Products of columns and the target.
    target: Vec<f64>,
    /// Lengths of the columns before they were scaled.
    lengths: Vec<f64>,
}

impl Normal {
    /// Of rows, each with its target and its weight; all have `columns` numbers.
    pub fn new<'a>(columns: usize, rows: impl Iterator<Item = (&'a [f64], f64, f64)> + Clone) -> Self {
        let mut lengths = vec![0.0; columns];
        for (row, _, weight) in rows.clone() {
            lengths.iter_mut().zip(row).for_each(|(sum, x)| *sum += weight * x * x);
        }
        // An empty column stays empty.
        lengths.iter_mut().for_each(|sum| *sum = if *sum > 0.0 { sum.sqrt() } else { 1.0 });
        let mut normal = Self { gram: vec![0.0; columns * columns], target: vec![0.0; columns], lengths };
        let mut scaled: Vec<(usize, f64)> = Vec::new();
        for (row, target, weight) in rows {
            let root = weight.sqrt();
            scaled.clear();
            scaled.extend(row.iter().enumerate().filter(|(_, x)| **x != 0.0).map(|(j, x)| (j, root * x / normal.lengths[j])));
            for &(i, a) in &scaled {
                normal.target[i] += a * root * target;
                scaled.iter().for_each(|&(j, b)| normal.gram[i * columns + j] += a * b);
            }
        }
        (0..columns).for_each(|j| normal.gram[j * columns + j] += RIDGE);
        normal
    }

    /// Adds to the ridge: coefficients of columns of length one are drawn to 0.
    pub fn ridge(mut self, ridge: f64) -> Self {
        let n = self.target.len();
        (0..n).for_each(|j| self.gram[j * n + j] += ridge);
        self
    }

    /// Adds to the squared error, for each coefficient that is expected to be something, the square of how far off that it is, as a
    /// share of it.
    pub fn with_prior(mut self, strength: f64, expected: &[f64]) -> Self {
        let n = self.target.len();
        for (j, expected) in expected.iter().enumerate().filter(|(_, expected)| **expected > 0.0) {
            let scaled = expected * self.lengths[j];
            self.gram[j * n + j] += strength / scaled.powi(2);
            self.target[j] += strength / scaled;
        }
        self
    }

    /// The coefficients of the smallest squared error.
    pub fn solve(&self) -> Vec<f64> {
        let all: Vec<usize> = (0..self.target.len()).collect();
        self.unscaled(self.solve_for(&all))
    }

    /// The coefficients of the smallest squared error among those that are not negative (Lawson and Hanson, Solving Least Squares
    /// Problems, 1974, chapter 23).
    pub fn solve_non_negative(&self) -> Vec<f64> {
        let n = self.target.len();
        let mut x = vec![0.0; n];
        let mut free = vec![false; n];
        let scale = self.target.iter().fold(0.0f64, |max, t| max.max(t.abs()));
        let mut stuck = vec![false; n];
        // Each round frees one column; a column comes back a few times at most.
        for _ in 0..10 * n {
            let slope = self.slope(&x);
            let open = (0..n).filter(|&j| !free[j] && !stuck[j] && slope[j] > 1e-10 * scale);
            let Some(next) = open.max_by(|&a, &b| slope[a].total_cmp(&slope[b]).then(b.cmp(&a))) else { break };
            free[next] = true;
            let mut moved = false;
            loop {
                let columns: Vec<usize> = (0..n).filter(|&j| free[j]).collect();
                let wanted = self.solve_for(&columns);
                let step = columns.iter().zip(&wanted).filter(|(_, w)| **w <= 0.0).map(|(&j, w)| x[j] / (x[j] - w).max(f64::MIN_POSITIVE));
                let step = step.fold(1.0f64, f64::min);
                for (&j, w) in columns.iter().zip(&wanted) {
                    x[j] += step * (w - x[j]);
                    if *w <= 0.0 && x[j] <= 1e-14 * scale {
                        (x[j], free[j]) = (0.0, false);
                    }
                }
                moved |= step > 0.0;
                if wanted.iter().all(|w| *w > 0.0) || columns.is_empty() {
                    break;
                }
            }
            // A column that rounding lets in and puts out again is no way down.
            if free[next] || moved { stuck.fill(false) } else { stuck[next] = true }
        }
        self.unscaled(x)
    }

    /// How fast the squared error falls along each scaled column.
    fn slope(&self, x: &[f64]) -> Vec<f64> {
        let n = x.len();
        let row = |j: usize| self.gram[j * n..(j + 1) * n].iter().zip(x).map(|(g, x)| g * x).sum::<f64>();
        (0..n).map(|j| self.target[j] - row(j)).collect()
    }

    /// Some columns' coefficients, the others being 0; by Cholesky's factorisation.
    fn solve_for(&self, columns: &[usize]) -> Vec<f64> {
        let (n, k) = (self.target.len(), columns.len());
        let mut factor = vec![0.0; k * k];
        for i in 0..k {
            for j in 0..=i {
                let inner: f64 = (0..j).map(|m| factor[i * k + m] * factor[j * k + m]).sum();
                let left = self.gram[columns[i] * n + columns[j]] - inner;
                factor[i * k + j] = if i == j { left.max(RIDGE * RIDGE).sqrt() } else { left / factor[j * k + j] };
            }
        }
        let mut x: Vec<f64> = columns.iter().map(|&j| self.target[j]).collect();
        for i in 0..k {
            let inner: f64 = (0..i).map(|m| factor[i * k + m] * x[m]).sum();
            x[i] = (x[i] - inner) / factor[i * k + i];
        }
        for i in (0..k).rev() {
            let inner: f64 = (i + 1..k).map(|m| factor[m * k + i] * x[m]).sum();
            x[i] = (x[i] - inner) / factor[i * k + i];
        }
        x
    }

    fn unscaled(&self, x: Vec<f64>) -> Vec<f64> {
        x.into_iter().zip(&self.lengths).map(|(x, length)| x / length).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: u64) -> impl FnMut() -> f64 {
        let mut rng = fastrand::Rng::with_seed(seed);
        move || rng.f64()
    }

    fn error(rows: &[(Vec<f64>, f64, f64)], x: &[f64]) -> f64 {
        rows.iter().map(|(row, t, w)| w * (row.iter().zip(x).map(|(a, b)| a * b).sum::<f64>() - t).powi(2)).sum()
    }

    /// Rows of which some columns want negative coefficients.
    fn rows(columns: usize, seed: u64) -> Vec<(Vec<f64>, f64, f64)> {
        let mut next = random(seed);
        let planted: Vec<f64> = (0..columns).map(|_| next() - 0.5).collect();
        (0..40)
            .map(|_| {
                let row: Vec<f64> = (0..columns).map(|j| next() * 10f64.powi(j as i32)).collect();
                let target = row.iter().zip(&planted).enumerate().map(|(j, (a, b))| a * b / 10f64.powi(j as i32)).sum::<f64>();
                (row, target + 0.3 * next(), 0.5 + next())
            })
            .collect()
    }

    fn normal(rows: &[(Vec<f64>, f64, f64)]) -> Normal {
        Normal::new(rows[0].0.len(), rows.iter().map(|(r, t, w)| (&r[..], *t, *w)))
    }

    #[test]
    fn least_squares_reach_a_flat_place() {
        let rows = rows(5, 1);
        let x = normal(&rows).solve();
        for j in 0..5 {
            for step in [-1e-3, 1e-3] {
                let mut other = x.clone();
                other[j] += step / 10f64.powi(j as i32);
                assert!(error(&rows, &other) > error(&rows, &x), "column {j}");
            }
        }
    }

    #[test]
    fn non_negative_ones_are_the_best_of_all_subsets() {
        for seed in 0..20 {
            let rows = rows(7, seed);
            let normal = normal(&rows);
            let x = normal.solve_non_negative();
            assert!(x.iter().all(|x| *x >= 0.0), "{x:?}");
            // The best non-negative solution is the plain one of some subset of columns.
            let subsets = (0..1usize << 7).map(|bits| (0..7).filter(|j| bits >> j & 1 == 1).collect::<Vec<_>>());
            let plain = subsets.filter_map(|columns| {
                let mut x = vec![0.0; 7];
                columns.iter().zip(normal.solve_for(&columns)).for_each(|(&j, value)| x[j] = value / normal.lengths[j]);
                x.iter().all(|x| *x >= 0.0).then(|| error(&rows, &x))
            });
            let best = plain.fold(f64::INFINITY, f64::min);
            assert!((error(&rows, &x) - best).abs() <= 1e-6 * best, "seed {seed}: {} instead of {best}", error(&rows, &x));
        }
    }

    #[test]
    fn many_columns_satisfy_the_conditions_of_karush_kuhn_and_tucker() {
        let mut next = random(3);
        // Columns come in nearly equal pairs, as classes of operations do that always go together.
        let rows: Vec<(Vec<f64>, f64, f64)> = (0..150)
            .map(|_| {
                let half: Vec<f64> = (0..40).map(|_| if next() < 0.3 { next() } else { 0.0 }).collect();
                let row: Vec<f64> = half.iter().flat_map(|x| [*x, x * (1.0 + 1e-3 * next())]).collect();
                let target = 1.0 + row.iter().enumerate().map(|(j, x)| x * (j % 3) as f64).sum::<f64>() * (0.8 + 0.4 * next());
                (row, target, target.powi(-2))
            })
            .collect();
        let normal = normal(&rows);
        let x: Vec<f64> = normal.solve_non_negative().iter().zip(&normal.lengths).map(|(x, l)| x * l).collect();
        for (j, slope) in normal.slope(&x).into_iter().enumerate() {
            assert!(slope <= 1e-7, "column {j} could grow: {slope:e}");
            assert!(x[j] == 0.0 || slope.abs() <= 1e-7, "column {j} is not at rest: {slope:e}");
        }
        assert!(x.iter().filter(|x| **x > 0.0).count() > 20);
    }

    #[test]
    fn a_prior_holds_what_few_rows_know() {
        // Fifty rows know the first column's cost of 2; one row says 30 for the second.
        let rows: Vec<(Vec<f64>, f64, f64)> =
            (0..50).map(|i| if i == 0 { (vec![1.0, 1.0], 32.0, 1.0) } else { (vec![1.0, 0.0], 2.0, 1.0) }).collect();
        let x = normal(&rows).with_prior(1.0, &[0.0, 1.0]).solve_non_negative();
        // Both squares are as dear: half way from 1 to 30, but for what the first column takes of it.
        assert!((x[1] - 15.5).abs() < 0.3 && (x[0] - 2.0).abs() < 0.5, "{x:?}");
        // What no row knows is as expected.
        let unknown: Vec<(Vec<f64>, f64, f64)> = (0..9).map(|_| (vec![1.0, 0.0], 2.0, 1.0)).collect();
        assert!((normal(&unknown).with_prior(1.0, &[0.0, 7.0]).solve_non_negative()[1] - 7.0).abs() < 1e-6);
        let free = normal(&rows).with_prior(1.0, &[0.0, 0.0]).solve_non_negative();
        assert!((free[1] - 30.0).abs() < 1e-6 && (free[0] - 2.0).abs() < 1e-6, "{free:?}");
    }

    #[test]
    fn empty_and_equal_columns_do_no_harm() {
        let rows: Vec<(Vec<f64>, f64, f64)> = (1..9).map(|i| (vec![f64::from(i), 0.0, f64::from(i)], 6.0 * f64::from(i), 1.0)).collect();
        for x in [normal(&rows).solve(), normal(&rows).solve_non_negative()] {
            assert_eq!(x[1], 0.0);
            assert!((x[0] + x[2] - 6.0).abs() < 1e-6, "{x:?}");
        }
    }
}
