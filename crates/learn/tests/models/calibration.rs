//! A model fitted to another device by a few measurements there, and how two predictions compare.

use crate::predictor::{device, predictor, row};
use warpsight_ir::Seconds;
use warpsight_learn::calibration::{Head, HeadError, LEAST, choose};
use warpsight_learn::difference::{Side, difference};
use warpsight_learn::models::Row;
use warpsight_learn::predictor::{Device, Prediction};

fn gpu() -> Device {
    Device { name: "a GPU".to_owned(), software: false, ..device() }
}

/// Twenty shaders with different amounts of both operations, and their times on a device where sines cost relatively less.
fn measured(sine: f64, add: f64, noise: f64) -> Vec<(String, Row, Seconds)> {
    let shot = |i: usize| {
        let (sines, adds) = (1.0 + (i % 5) as f64 * 2.0, 5.0 + (i * 7 % 20) as f64);
        let seconds = 1e5 * (sine * sines + add * adds) * (1.0 + noise * ((i * 37 % 11) as f64 - 5.0) / 5.0);
        (format!("s{i}"), row(i, sines, adds, 1.0), Seconds(seconds))
    };
    (0..20).map(shot).collect()
}

#[test]
fn a_factor_is_found_and_nothing_is_made_of_noise() {
    let predictor = predictor();
    // A hundredth of what the model says, give or take some percent.
    let shots: Vec<_> = measured(0.0, 0.0, 0.0)
        .into_iter()
        .enumerate()
        .map(|(i, (name, row, _))| {
            let said = predictor.predict(&row).seconds.0;
            (name, row, Seconds(said * 0.01 * if i.is_multiple_of(2) { 1.03 } else { 0.97 }))
        })
        .collect();
    let head = Head::fit(gpu(), &predictor, &shots).unwrap();
    let other = row(7, 4.0, 20.0, 1.0);
    let (said, base) = (head.predict(&predictor, &other), predictor.predict(&other));
    assert!((said.seconds.0 / base.seconds.0 / 0.01 - 1.0).abs() < 0.02, "{said:?} {base:?}");
    assert!((0.025..0.045).contains(&head.error()), "{}", head.error());
    assert!((1.025..1.06).contains(&head.spread()), "{}", head.spread());
    let ends = [said.seconds.0 / head.spread(), said.seconds.0 * head.spread()];
    assert!(said.interval.iter().zip(ends).all(|(end, wanted)| (end.0 / wanted - 1.0).abs() < 1e-12), "{said:?}");
    assert!(said.extrapolating.is_empty());
    assert_eq!(head.device.name, "a GPU");
}

#[test]
fn another_balance_of_operations_is_found() {
    let predictor = predictor();
    // Sines nearly for free: the model's device takes three adds for one.
    let shots = measured(1e-13, 1e-11, 0.02);
    let head = Head::fit(gpu(), &predictor, &shots).unwrap();
    let plain: Vec<f64> = shots.iter().map(|(_, row, s)| (s.0 / predictor.predict(row).seconds.0).ln()).collect();
    let mean = plain.iter().sum::<f64>() / 20.0;
    let off = plain.iter().map(|p| (p - mean).abs()).sum::<f64>() / 20.0;
    assert!(head.error() < 0.4 * off, "{} instead of {off}", head.error());
}

#[test]
fn what_takes_longer_than_all_that_was_measured_is_said() {
    let predictor = predictor();
    let head = Head::fit(gpu(), &predictor, &measured(3e-11, 1e-11, 0.01)).unwrap();
    let said = head.predict(&predictor, &row(3, 9.0, 34.0, 1.0));
    assert_eq!(said.extrapolating[0].what, "seconds on the model's device");
}

#[test]
fn a_file_belongs_to_its_model() {
    let predictor = predictor();
    let head = Head::fit(gpu(), &predictor, &measured(3e-11, 1e-11, 0.01)).unwrap();
    let text = head.text().unwrap();
    assert_eq!(Head::read(&text, &predictor).unwrap(), head);
    let mut other = predictor.clone();
    other.device.description += " 2";
    assert!(matches!(Head::read(&text, &other), Err(HeadError::Model { .. })));
    let newer = text.replace("shader-head/1", "shader-head/9");
    assert!(matches!(Head::read(&newer, &predictor), Err(HeadError::Format { found }) if found.ends_with("/9")));
    assert!(matches!(Head::read("{}", &predictor), Err(HeadError::Json(_))));
}

#[test]
fn few_shaders_and_times_that_are_none_are_refused() {
    let (predictor, mut shots) = (predictor(), measured(3e-11, 1e-11, 0.01));
    assert!(matches!(Head::fit(gpu(), &predictor, &shots[..LEAST - 1]), Err(HeadError::Few { found: 7 })));
    shots[3].2 = Seconds(f64::NAN);
    assert!(matches!(Head::fit(gpu(), &predictor, &shots), Err(HeadError::Time { name, .. }) if name == "s3"));
}

#[test]
fn what_is_measured_spreads_over_all_there_is() {
    let predictor = predictor();
    // A hundred alike, and three that are not.
    let mut rows: Vec<Row> = (0..100).map(|i| row(i, 5.0, 20.0 + 0.001 * i as f64, 1.0)).collect();
    rows.push(row(100, 1.0, 100.0, 1.0));
    rows.push(row(101, 50.0, 20.0, 1.0));
    rows.push(row(102, 1.0, 1.0, 1.0));
    let chosen = choose(&predictor, &rows.iter().collect::<Vec<_>>(), 4);
    let mut apart: Vec<usize> = chosen.iter().copied().filter(|i| *i >= 100).collect();
    apart.sort_unstable();
    assert_eq!((chosen.len(), apart), (4, vec![100, 101, 102]));
    let all = choose(&predictor, &rows[..5].iter().collect::<Vec<_>>(), 20);
    let mut sorted = all.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [0, 1, 2, 3, 4], "each once: {all:?}");
}

fn prediction(seconds: f64, factor: f64) -> Prediction {
    Prediction { seconds: Seconds(seconds), interval: [seconds / factor, seconds * factor].map(Seconds), extrapolating: vec![] }
}

#[test]
fn errors_that_two_shaders_share_are_not_in_their_difference() {
    let (a, b) = (prediction(1e-3, 1.3), prediction(1.1e-3, 1.3));
    let of = |first: &[f64], second: &[f64], sampled| {
        difference(&Side { prediction: &a, parts: first }, &Side { prediction: &b, parts: second }, sampled)
    };
    let width = |d: warpsight_learn::difference::Difference| (d.interval[1] / d.interval[0]).ln() / 2.0;
    let same = of(&[1.0, 2.0], &[1.1, 2.2], 0.0);
    assert!((same.ratio - 1.1).abs() < 1e-12);
    assert!((width(same) - (0.15 * 1.1f64.ln()).hypot(0.03)).abs() < 1e-9, "the same work, more often: {same:?}");
    let nothing = of(&[1.0, 0.0], &[0.0, 1.1], 0.0);
    assert!((width(nothing) - 1.5 * 2f64.sqrt() * 1.3f64.ln()).abs() < 2e-3, "nothing in common: {nothing:?}");
    let some = of(&[1.0, 1.0], &[1.0, 1.2], 0.0);
    assert!(width(same) < width(some) && width(some) < width(nothing));
    assert!((width(of(&[1.0, 2.0], &[1.1, 2.2], 0.1)) - 0.1324).abs() < 0.001, "1.28 standard errors of what was sampled");
    let itself = difference(&Side { prediction: &a, parts: &[0.3, 0.4] }, &Side { prediction: &a, parts: &[0.3, 0.4] }, 0.0);
    assert_eq!((itself.ratio, itself.interval), (1.0, [1.0, 1.0]));
    let unknown = of(&[], &[], 0.0);
    assert!((width(unknown) - 1.5 * 2f64.sqrt() * 1.3f64.ln()).abs() < 2e-3);
}
