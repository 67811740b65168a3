//! How sure it is that a curve changes where it is said to.

/// Points on either side that are looked at.
const SIDE: usize = 6;
/// No clock is read more exactly, as a part of what it shows.
const EXACT: f64 = 1e-3;

/// How sure something is that lies so many standard errors from nothing, where these were told by so many numbers: an upper bound of what
/// Student's distribution leaves is taken off 1.
pub fn certain(errors: f64, freedom: f64) -> f64 {
    let freedom = freedom.max(1.0);
    if errors.is_nan() { 0.0 } else { 1.0 - (1.0 + errors * errors / freedom).powf(-freedom / 2.0) }
}

/// How sure it is that a curve (x, y, lower and upper end of y) steps behind `at`, whatever straight trend it has on both sides; 0 where too few
/// points tell.
pub fn confidence(points: &[[f64; 4]], log_x: bool, at: f64) -> f64 {
    let mut points: Vec<[f64; 4]> = points.iter().copied().filter(|point| point.iter().all(|number| number.is_finite())).collect();
    points.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let behind = points.partition_point(|point| point[0] <= at);
    let own = &points[behind.saturating_sub(SIDE)..(behind + SIDE).min(points.len())];
    let before = behind.min(SIDE);
    let after = own.len() - before;
    if before == 0 || after == 0 || own.len() < 3 {
        return 0.0;
    }
    let along = |x: f64| if log_x { x.max(f64::MIN_POSITIVE).ln() } else { x };
    let step = |n: usize| f64::from(u8::from(n >= before));
    // Too few points tell a trend from a step.
    let columns = if before >= 2 && after >= 2 && own.len() >= 5 { 3 } else { 2 };
    let rows: Vec<f64> = own.iter().enumerate().flat_map(|(n, point)| [1.0, step(n), along(point[0])].into_iter().take(columns)).collect();
    let targets: Vec<f64> = own.iter().map(|point| point[1]).collect();
    let all: Vec<usize> = (0..columns).collect();
    let solved = super::solved(&super::normal(&rows, &targets, columns), columns + 1, &all);
    let told = |row: &[f64]| row.iter().zip(&solved).map(|(a, x)| a * x).sum::<f64>();
    let squares: f64 = rows.chunks(columns).zip(&targets).map(|(row, y)| (y - told(row)).powi(2)).sum();
    let freedom = own.len().saturating_sub(columns).max(1) as f64;
    let measured = own.iter().map(|point| ((point[3] - point[2]) / 2.0).max(EXACT * point[1].abs())).sum::<f64>() / own.len() as f64;
    let sigma = (squares / freedom).sqrt().max(measured) * (1.0 / before as f64 + 1.0 / after as f64).sqrt();
    certain(solved.get(1).copied().unwrap_or(0.0) / sigma, freedom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(y: impl Fn(f64) -> f64) -> Vec<[f64; 4]> {
        (1..=12).map(f64::from).map(|x| [x, y(x), 0.995 * y(x), 1.005 * y(x)]).collect()
    }

    #[test]
    fn steps_are_surer_than_trends_and_noise() {
        let step = curve(|x| if x <= 6.0 { 1.0 } else { 1.5 });
        assert!(confidence(&step, false, 6.0) > 0.99, "{}", confidence(&step, false, 6.0));
        let trend = curve(|x| 1.0 + 0.1 * x);
        assert!(confidence(&trend, false, 6.0) < 0.5, "{}", confidence(&trend, false, 6.0));
        // A step on a slope is one.
        let both = curve(|x| 1.0 + 0.1 * x + if x <= 6.0 { 0.0 } else { 1.0 });
        assert!(confidence(&both, false, 6.0) > 0.99, "{}", confidence(&both, false, 6.0));
        let noise = curve(|x| 1.0 + 0.2 * (7.0 * x).sin());
        assert!(confidence(&noise, false, 6.0) < 0.9, "{}", confidence(&noise, false, 6.0));
        assert_eq!((confidence(&step, false, 20.0), confidence(&[], true, 1.0)), (0.0, 0.0));
    }
}
