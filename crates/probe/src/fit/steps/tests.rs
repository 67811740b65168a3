use super::*;
use fastrand::Rng;

/// A normal deviate, near enough.
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0
}

/// Rows of a curve with relative noise, and outliers up to ten times as high.
fn noisy(seed: u64, rows: usize, repeats: usize, noise: f64, outliers: f64, curve: impl Fn(f64) -> f64) -> Vec<(f64, Vec<f64>)> {
    let mut rng = Rng::with_seed(seed);
    let mut sample = |x: f64| {
        let stray = if rng.f64() < outliers { 1.0 + 9.0 * rng.f64() } else { 1.0 };
        curve(x) * (1.0 + noise * normal(&mut rng)) * stray
    };
    (1..=rows).map(|x| (x as f64, (0..repeats).map(|_| sample(x as f64)).collect())).collect()
}

#[test]
fn flat_data_has_one_level_whatever_the_noise() {
    for seed in 0..300 {
        let (rows, repeats) = (3 + (seed as usize * 7) % 60, 1 + (seed as usize * 5) % 20);
        for (noise, outliers) in [(0.03, 0.05), (0.10, 0.05), (0.10, 0.0), (0.0, 0.05)] {
            let found = steps(&noisy(seed, rows, repeats, noise, outliers, |_| 100.0));
            assert_eq!(found.changes, [], "seed {seed}, {rows} rows of {repeats}, noise {noise}, outliers {outliers}");
            assert_eq!(found.levels.len(), 1);
            assert_eq!(found.levels[0].rows, rows);
        }
    }
}

#[test]
fn rows_that_differ_from_each_other_alternately_have_one_level() {
    for seed in 0..50 {
        let rows = noisy(seed, 40, 20, 0.01, 0.0, |x| if (x as u64).is_multiple_of(2) { 100.0 } else { 110.0 });
        assert_eq!(steps(&rows).changes, [], "seed {seed}");
    }
}

#[test]
fn a_step_of_a_tenth_is_found_where_it_is() {
    let (mut exact, mut near) = (0, 0);
    for seed in 0..100 {
        let found = steps(&noisy(seed, 24, 12, 0.03, 0.05, |x| if x <= 10.0 { 100.0 } else { 110.0 }));
        assert_eq!(found.changes.len(), 1, "seed {seed}: {found:?}");
        exact += u32::from(found.changes[0].begins == 10.0 && found.changes[0].left == 11.0 && found.changes[0].ends == 11.0);
        assert!(found.changes[0].rises() && found.changes[0].confidence > 0.999, "seed {seed}: {found:?}");
        let found = steps(&noisy(seed, 24, 20, 0.10, 0.05, |x| if x <= 10.0 { 100.0 } else { 110.0 }));
        near += u32::from(found.changes.len() == 1 && (found.changes[0].begins - 10.0).abs() <= 1.0);
    }
    assert!(exact >= 97, "3 % noise: {exact} of 100 at the very row");
    assert!(near >= 85, "10 % noise: {near} of 100 within a row");
}

#[test]
fn few_rows_of_a_bisection_suffice() {
    let repeats = |level: f64| [1.0, 1.01, 0.99, 1.0, 1.02, 3.0, 1.0, 0.98, 1.01, 1.0].map(|of| of * level).to_vec();
    for (first, begins) in [(10.0, 1024.0), (20.0, 512.0)] {
        let rows = [(512.0, repeats(10.0)), (1024.0, repeats(first)), (1056.0, repeats(20.0))];
        assert_eq!(steps(&rows).changes.iter().map(|change| change.begins).collect::<Vec<_>>(), [begins]);
    }
}

#[test]
fn a_ramp_is_one_change_from_where_it_begins_to_where_it_ends() {
    // A chase through an LRU cache of 20 lines with 4 ways: misses from 20 on, nothing but misses from 25 on.
    let curve = |x: f64| 30.0 + 100.0 * ((x - 20.0) / 5.0).clamp(0.0, 1.0);
    let mut right = 0;
    for seed in 0..200 {
        let found = steps(&noisy(seed, 50, 7, 0.03, 0.05, curve));
        let near = |found: f64, truth: f64| (found / truth - 1.0).abs() < 0.03;
        let is_right = |change: &Change| {
            (change.begins, change.left) == (20.0, 21.0)
                && (24.0..=26.0).contains(&change.ends)
                && near(change.before, 30.0)
                && near(change.after, 130.0)
        };
        right += u32::from(found.changes.len() == 1 && is_right(&found.changes[0]));
    }
    assert!(right >= 185, "{right} of 200");
}

#[test]
fn two_levels_more_are_two_changes() {
    let curve = |x: f64| {
        if x <= 15.0 {
            30.0
        } else if x <= 35.0 {
            120.0
        } else {
            400.0
        }
    };
    let mut exact = 0;
    for seed in 0..100 {
        let found = steps(&noisy(seed, 60, 5, 0.03, 0.05, curve));
        let begins: Vec<f64> = found.changes.iter().map(|change| change.begins).collect();
        assert!(begins.len() == 2 && (begins[0] - 15.0).abs() <= 2.0 && (begins[1] - 35.0).abs() <= 2.0, "seed {seed}: {begins:?}");
        exact += u32::from(begins == [15.0, 35.0]);
    }
    assert!(exact >= 95, "{exact} of 100");
}

#[test]
fn some_slow_loads_in_each_row_are_a_change() {
    // A fifth of the loads misses: the median does not move.
    let loads = |slow: usize| (0..255).map(|at| if at % 5 < slow { 250.0 } else { 68.0 }).collect();
    let rows: Vec<(f64, Vec<f64>)> = (0..40).map(|x| (f64::from(x), loads(usize::from(x > 30)))).collect();
    let found = steps(&rows);
    assert_eq!((found.changes.len(), found.changes[0].begins), (1, 30.0));
}

#[test]
fn nothing_makes_it_panic() {
    assert_eq!(steps(&[]), Steps::default());
    assert_eq!(steps(&[(1.0, vec![])]), Steps::default());
    let odd = [(f64::NAN, vec![1.0]), (1.0, vec![f64::NAN]), (2.0, vec![f64::INFINITY, 5.0]), (3.0, vec![0.0])];
    assert_eq!(steps(&odd).levels.iter().map(|level| level.rows).sum::<usize>(), 2);
}
