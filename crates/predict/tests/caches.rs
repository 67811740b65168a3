//! Where bandwidths fall in recorded sweeps over sizes, against predictions by fits without the device; and the fit that makes
//! `data/fits/caches.toml`. The tables: `python3 bench/truth.py`.

mod recordings;

use warpsight_predict::fit::caches::sweeps::{self, Level};
use warpsight_predict::fit::caches::{evidence, judge, written};

#[test]
fn sweeps_fall_where_they_were_recorded_to() {
    let Some(recordings) = recordings::recordings() else { return };
    let sweeps = sweeps::read(&recordings).unwrap();
    let count = |level| sweeps.iter().filter(|sweep| sweep.level == level).count();
    assert_eq!([Level::First, Level::Second, Level::Last].map(count), [14, 7, 1]);
    let found = evidence(&sweeps).unwrap();
    let text = written(&found);
    assert!(text == include_str!("../../../data/fits/caches.toml"), "run `warpsight probe fit`:\n{text}");
    let judged = judge::all(&sweeps, &found).unwrap();
    println!("{}", judge::tables(&judged));
    assert!(judged.iter().all(|own| own.predicted_rows.len() == own.sweep.rows.len()));
    // Blocks that walk through one buffer are no words of paper 002's model.
    assert!(judged.iter().all(|own| own.published.as_ref().is_err_and(|why| why.contains("global thread coordinates"))));
    let of = |level: Level| {
        let own: Vec<(f64, f64)> = judged.iter().filter(|own| own.sweep.level == level).map(judge::Judged::off).collect();
        let within = own.iter().filter(|off| off.0.abs() <= 0.1).count();
        (within, own.iter().map(|off| off.1).sum::<f64>() / own.len() as f64)
    };
    let (first, second, last) = (of(Level::First), of(Level::Second), of(Level::Last));
    // One more is 10.1 % off.
    assert!(first.0 >= 6 && first.1 <= 0.125, "{first:?}");
    assert!(second.0 >= 6 && second.1 <= 0.09, "{second:?}");
    assert!(last.0 == 1 && last.1 <= 0.05, "{last:?}");
}

/// A steep fall lies where it was put.
#[test]
fn a_cliff_is_where_the_geometric_mean_is_crossed() {
    let rows: Vec<(f64, f64)> = (0..20).map(|i| (2.0_f64.powi(i), if i < 8 { 1000.0 } else { 10.0 })).collect();
    let cliff = sweeps::Cliff::of(&rows).unwrap();
    assert_eq!((cliff.rows, cliff.before, cliff.after), (8, 1000.0, 10.0));
    // Half way, in logarithms, from 2^7 to 2^8.
    assert!((cliff.at / 2.0_f64.powf(7.5) - 1.0).abs() < 1e-12, "{}", cliff.at);
    let level: Vec<(f64, f64)> = (1..20).map(|i| (f64::from(i), 5.0)).collect();
    assert!(sweeps::Cliff::of(&level).is_none());
}
