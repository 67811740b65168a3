//! Models on rows whose truth is known.

use std::collections::BTreeMap;
use warpsight_ir::Seconds;
use warpsight_learn::evaluate::{Platform, Subject, Way, by_group, by_source, coverage, judge, transfers};
use warpsight_learn::models::{Amount, FitError, Fitted, Method, Row, folds};
use warpsight_learn::predictor::Device;

const NAMES: [&str; 6] = ["f32.add", "f32.mul", "ext.sin", "ext.pow", "texture.2d.sample", "load.local"];
const COSTS: [f64; 6] = [1e-9, 0.0, 12e-9, 20e-9, 60e-9, 0.5e-9];
const DRAW: f64 = 2e-4;

/// A row of these amounts a pixel; an opcode for each.
fn row(id: usize, amounts: [f64; 6], seconds: f64) -> Row {
    let used = NAMES.iter().zip(amounts).filter(|(_, a)| *a > 0.0);
    let of = |a: f64| Amount { traced: a, masked: a, text: a.min(3.0) };
    Row {
        id: format!("{id:016x}"),
        source: ["one", "two", "three"][id % 3].to_owned(),
        group: format!("{id:016x}"),
        mutant: false,
        loops: false,
        pixels: 1e5,
        seconds: Some(Seconds(seconds)),
        operations: used.clone().map(|(name, a)| ((*name).to_owned(), of(a))).collect(),
        lean: used.clone().map(|(name, a)| ((*name).to_owned(), of(a))).collect(),
        opcodes: used.map(|(name, a)| (name.to_uppercase(), of(a))).collect(),
        sizes: [("blocks".to_owned(), 1.0)].into(),
        words: [].into(),
    }
}

fn truth(amounts: [f64; 6]) -> f64 {
    DRAW + 1e5 * amounts.iter().zip(COSTS).map(|(a, c)| a * c).sum::<f64>()
}

/// Rows of random amounts whose times are off by a factor of `exp(±noise)`.
fn rows(n: usize, noise: f64, seed: u64) -> Vec<Row> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..n)
        .map(|id| {
            let mut amounts = [0.0; 6];
            amounts.iter_mut().for_each(|a| *a = if rng.f64() < 0.8 { (30.0 * rng.f64()).floor() + 1.0 } else { 0.0 });
            row(id, amounts, truth(amounts) * (noise * (2.0 * rng.f64() - 1.0)).exp())
        })
        .collect()
}

fn all(rows: &[Row]) -> Vec<&Row> {
    rows.iter().collect()
}

fn mape(method: Method, rows: &[Row]) -> f64 {
    let held = by_group(Subject { by: &method, calibrated: false }, &all(rows)).unwrap();
    held.iter().map(|h| (h.predicted / h.measured - 1.0).abs()).sum::<f64>() / held.len() as f64
}

#[test]
fn planted_costs_are_found() {
    // One expects other costs, which many rows outweigh.
    for (method, n, near) in [(Method::Nnls, 80, 1e-6), (Method::Lean, 80, 6e-2), (Method::Lean, 800, 1e-2), (Method::Pilr, 80, 1e-6)] {
        let rows = rows(n, 0.0, 1);
        let model = method.fit(&all(&rows)).unwrap();
        for row in &rows {
            let off = (model.predict(row).0 / row.seconds.unwrap().0 - 1.0).abs();
            assert!(off < near, "{method} of {n}: {off}");
        }
        if let Fitted::Nnls(linear) = &model {
            assert!((linear.intercept / DRAW - 1.0).abs() < 1e-5, "{}", linear.intercept);
            let found: Vec<f64> = NAMES.iter().map(|n| linear.costs.get(*n).copied().unwrap_or(0.0)).collect();
            found.iter().zip(COSTS).for_each(|(f, c)| assert!((f - c).abs() < 1e-5 * 6e-8, "{found:?}"));
        }
    }
}

#[test]
fn published_forms_are_what_they_say() {
    // One instruction costs the same as any other: 3 s each and 2 s a draw.
    let sized = |id, n: f64| row(id, [n, 0.0, 0.0, 0.0, n, 0.0], 2.0 + 3.0 * 2.0 * n * 1e5);
    let rows: Vec<Row> = (1..9).map(|i| sized(i, i as f64)).collect();
    let Fitted::Sh(sh) = Method::Sh.fit(&all(&rows)).unwrap() else { panic!() };
    assert!((sh.intercept - 2.0).abs() < 1e-2 && (sh.costs["instruction"] - 3.0).abs() < 1e-6, "{sh:?}");
    // A texture is a hundred operations; loads are none, and there is no cost of a draw.
    let rows: Vec<Row> = (1..9).map(|i| row(i, [i as f64, 0.0, 2.0, 0.0, 1.0, 7.0], 5e5 * (i as f64 + 102.0))).collect();
    let Fitted::He(he) = Method::He.fit(&all(&rows)).unwrap() else { panic!() };
    assert!((he.costs["operation"] - 5.0).abs() < 1e-6 && he.intercept == 0.0, "{he:?}");
    // Costs by opcode may be negative, others may not.
    let rows: Vec<Row> =
        (1..40).map(|i| (i, (i % 7) as f64)).map(|(i, b)| row(i, [i as f64, b, 0.0, 0.0, 0.0, 0.0], 1e5 * (10.0 * i as f64 - b))).collect();
    let Fitted::Pilr(pilr) = Method::Pilr.fit(&all(&rows)).unwrap() else { panic!() };
    assert!((pilr.costs["F32.MUL"] + 1.0).abs() < 1e-3, "{pilr:?}");
    let Fitted::Nnls(nnls) = Method::Nnls.fit(&all(&rows)).unwrap() else { panic!() };
    assert!(nnls.costs.values().all(|c| *c >= 0.0) && !nnls.costs.contains_key("f32.mul"), "{nnls:?}");
}

#[test]
fn the_order_of_rows_changes_no_bit_and_a_file_none() {
    let rows = rows(60, 0.2, 2);
    let mut others = rows.clone();
    fastrand::Rng::with_seed(9).shuffle(&mut others);
    for &method in Method::ALL.iter().filter(|method| method.dialect().is_none()) {
        let (one, other) = (method.fit(&all(&rows)).unwrap(), method.fit(&all(&others)).unwrap());
        assert_eq!(one, other, "{method}");
        let text = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<Fitted>(&text).unwrap(), one, "{method}");
        // Alone or among others: a row is all that a prediction sees.
        let alone: Vec<Seconds> = rows.iter().map(|row| one.predict(&row.clone())).collect();
        let backwards: Vec<Seconds> = rows.iter().rev().map(|row| one.predict(row)).collect();
        assert!(alone.iter().eq(backwards.iter().rev()), "{method}");
    }
}

#[test]
fn other_names_for_the_same_columns_change_nothing() {
    let rows = rows(60, 0.2, 3);
    // Each name of a family becomes the other one.
    let swap = |name: &String| match name.as_str() {
        "f32.add" => "f32.mul".to_owned(),
        "f32.mul" => "f32.add".to_owned(),
        "ext.sin" => "ext.pow".to_owned(),
        "ext.pow" => "ext.sin".to_owned(),
        _ => name.clone(),
    };
    let swapped = |amounts: &BTreeMap<String, Amount>| amounts.iter().map(|(name, a)| (swap(name), *a)).collect();
    let others: Vec<Row> =
        rows.iter().map(|row| Row { operations: swapped(&row.operations), lean: swapped(&row.lean), ..row.clone() }).collect();
    for method in [Method::Sh, Method::He, Method::Nnls] {
        let (one, other) = (method.fit(&all(&rows)).unwrap(), method.fit(&all(&others)).unwrap());
        for (row, twin) in rows.iter().zip(&others) {
            assert!((one.predict(row).0 / other.predict(twin).0 - 1.0).abs() < 1e-7, "{method}");
        }
    }
}

#[test]
fn an_operation_that_was_never_timed_costs_what_is_expected() {
    // Every operation costs what it is expected to: 25 additions for a sine, 24 for an element of an array.
    let time = |[add, _, sin, _, _, local]: [f64; 6]| DRAW + 1e5 * 2e-9 * (add + 25.0 * sin + 24.0 * local);
    let known = |i: usize| [1.0 + i as f64, 0.0, (i % 7) as f64, 0.0, 0.0, if i == 30 { 8.0 } else { 0.0 }];
    let rows: Vec<Row> = (0..60).map(|i| row(i, known(i), time(known(i)))).collect();
    // The only one with an array was interrupted: ten times its time says little of arrays.
    let mut once = rows.clone();
    once[30].seconds = Some(Seconds(10.0 * time(known(30))));
    let unseen = [9.0, 0.0, 1.0, 0.0, 0.0, 40.0];
    let off = |method: Method, rows: &[Row]| method.fit(&all(rows)).unwrap().predict(&row(99, unseen, 0.0)).0 / time(unseen);
    assert!((off(Method::Lean, &rows) - 1.0).abs() < 0.05, "{}", off(Method::Lean, &rows));
    assert!((off(Method::Lean, &once) - 1.0).abs() < 0.3, "{}", off(Method::Lean, &once));
    // Who expects nothing blames the array.
    assert!(off(Method::Nnls, &once) > 5.0, "{}", off(Method::Nnls, &once));
}

#[test]
fn trees_find_what_does_not_add_up() {
    // Sines are ten times as dear beside textures.
    let mut rows = rows(240, 0.02, 4);
    for row in &mut rows {
        let dear = row.operation("texture.2d.sample").traced > 0.0;
        let sines = row.operation("ext.sin").traced;
        row.seconds = row.seconds.map(|Seconds(s)| Seconds(s + if dear { 1e5 * 100e-9 * sines } else { 0.0 }));
    }
    let [nnls, trees, corrected] = [Method::Nnls, Method::Trees, Method::Corrected].map(|method| mape(method, &rows));
    assert!(corrected < 0.6 * nnls, "{corrected} of {nnls}");
    assert!(trees < 0.9 * nnls && trees < 0.2, "{trees} of {nnls}");
}

#[test]
fn near_duplicates_do_not_help() {
    // Times that nothing explains: who saw a twin knows, who did not cannot.
    let mut rng = fastrand::Rng::with_seed(5);
    let alone: Vec<Row> = (0..60).map(|id| row(id, [(id % 30) as f64 + 1.0; 6], 1e-3 * (2.0 * rng.f64()).exp())).collect();
    let distinct: Vec<Row> = alone
        .iter()
        .enumerate()
        .map(|(i, row)| {
            let mut row = row.clone();
            row.lean.insert("int.add".to_owned(), Amount { traced: 1.0 + i as f64, masked: 1.0 + i as f64, text: 1.0 });
            row
        })
        .collect();
    let twins = |same_group: bool| -> Vec<Row> {
        let again = (0..3).flat_map(|copy| {
            distinct.iter().enumerate().map(move |(i, row)| {
                let id = format!("{:016x}", 1000 * (copy + 1) + i);
                Row { group: if same_group { row.group.clone() } else { id.clone() }, id, ..row.clone() }
            })
        });
        distinct.iter().cloned().chain(again).collect()
    };
    let [honest, leaking, without] = [twins(true), twins(false), distinct.clone()].map(|rows| mape(Method::Trees, &rows));
    assert!(leaking < 0.7 * without, "duplicates would help: {leaking} of {without}");
    assert!(honest > 0.85 * without, "they must not: {honest} of {without}");
}

#[test]
fn sources_that_are_left_out_take_their_groups_along() {
    let mut rows = rows(90, 0.1, 6);
    // A copy of each row of "one" in "two", far off in time: were it learned from, it would spoil the prediction.
    let copies: Vec<Row> = rows
        .iter()
        .filter(|row| row.source == "one")
        .map(|row| Row {
            id: format!("f{}", &row.id[1..]),
            source: "two".to_owned(),
            seconds: Some(Seconds(1.0)),
            mutant: true,
            ..row.clone()
        })
        .collect();
    rows.extend(copies);
    let held = by_source(Subject { by: &Method::Nnls, calibrated: false }, &all(&rows)).unwrap();
    assert_eq!(held.keys().copied().collect::<Vec<_>>(), ["one", "three", "two"]);
    assert!(held["one"].iter().all(|h| (h.predicted / h.measured - 1.0).abs() < 0.3), "their groups were learned from");
    assert!(held["two"].iter().all(|h| !h.row.mutant) && held["two"].len() == 30, "mutants are not scored");
}

#[test]
fn folds_are_equal_in_what_is_scored() {
    let mut rows = rows(103, 0.1, 7);
    rows.iter_mut().enumerate().for_each(|(i, row)| (row.group, row.mutant) = (format!("{}", i / 3), i % 3 == 2));
    let folds = folds(&all(&rows), 5);
    let mut sizes = [0; 5];
    rows.iter().filter(|row| !row.mutant).for_each(|row| sizes[folds[row.group.as_str()]] += 1);
    assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 2, "{sizes:?}");
}

#[test]
fn intervals_hold_four_of_five_and_are_wide_where_errors_are() {
    let mut rows = rows(300, 0.0, 8);
    let mut rng = fastrand::Rng::with_seed(3);
    // Shaders with a texture are far less certain.
    for row in &mut rows {
        let noise = if row.operation("texture.2d.sample").traced > 0.0 { 0.5 } else { 0.05 };
        row.seconds = row.seconds.map(|Seconds(s)| Seconds(s * (noise * (2.0 * rng.f64() - 1.0)).exp()));
    }
    let held = by_group(Subject { by: &Method::Nnls, calibrated: true }, &all(&rows)).unwrap();
    let covered = coverage(&held).unwrap();
    assert!((0.75..=0.85).contains(&covered), "{covered}");
    let width = |with: bool| {
        let own = held.iter().filter(|h| (h.row.operation("texture.2d.sample").traced > 0.0) == with);
        let widths: Vec<f64> = own.filter_map(|h| h.interval).map(|[low, high]| (high / low).ln()).collect();
        widths.iter().sum::<f64>() / widths.len() as f64
    };
    assert!(width(true) > 1.5 * width(false), "{} {}", width(true), width(false));
}

#[test]
fn constants_single_rows_and_nothing() {
    let constant: Vec<Row> = rows(12, 0.0, 10).into_iter().map(|row| Row { seconds: Some(Seconds(0.004)), ..row }).collect();
    for &method in Method::ALL.iter().filter(|method| method.dialect().is_none()) {
        if method != Method::He {
            let model = method.fit(&all(&constant)).unwrap();
            constant.iter().for_each(|row| assert!((model.predict(row).0 / 0.004 - 1.0).abs() < 1e-3, "{method}"));
        }
        let one = method.fit(&[&constant[0]]).unwrap().predict(&constant[0]);
        assert!((one.0 / 0.004 - 1.0).abs() < 1e-3, "{method}: {one:?}");
        assert_eq!(method.fit(&[]).unwrap_err(), FitError::Empty);
        let unmeasured = Row { seconds: None, ..constant[0].clone() };
        assert!(matches!(method.fit(&[&unmeasured]), Err(FitError::NotMeasured { .. })));
        for seconds in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let row = Row { seconds: Some(Seconds(seconds)), ..constant[0].clone() };
            assert!(matches!(method.fit(&[&row]), Err(FitError::Time { .. })), "{seconds}");
        }
    }
    let ways = Way::ALL.map(|(_, way)| way);
    assert_eq!(judge(Method::Nnls, &[], &ways), Ok(None));
    // One group can be neither held out nor calibrated by.
    assert_eq!(judge(Method::Corrected, &[&constant[0]], &ways), Err(FitError::Empty));
}

#[test]
fn a_trace_is_what_the_ablation_takes_away() {
    // Two shaders of one text: the trace tells them apart.
    let row = row(1, [40.0, 2.0, 9.0, 0.0, 1.0, 5.0], 1.0);
    let blind = row.untraced();
    assert_eq!(blind.operation("f32.add"), Amount { traced: 3.0, masked: 3.0, text: 3.0 });
    assert_eq!(blind.opcodes["EXT.SIN"].traced, 3.0);
    let rows = rows(90, 0.05, 11);
    let judged = |ways: &[Way]| judge(Method::Nnls, &all(&rows), ways).unwrap().unwrap();
    let whole = judged(&Way::ALL.map(|(_, way)| way));
    let (group, untraced) = (whole.group.unwrap(), whole.untraced.unwrap());
    assert!(group.mape < 0.05 && untraced.mape > 0.3, "{} {}", group.mape, untraced.mape);
    assert_eq!((whole.sources.len(), whole.coverage, whole.looping), (3, None, None));
    assert_eq!(whole.error(), group.mape);
    // One way alone says the same of it, and nothing of the others.
    let blind = judged(&[Way::Trace]);
    assert_eq!((blind.group, blind.untraced, blind.sources.len(), blind.error()), (None, Some(untraced), 0, untraced.mape));
    assert_eq!(judged(&[Way::Source]).macro_average, whole.macro_average);
}

#[test]
fn a_device_that_is_twice_as_slow_is_predicted_from_the_other() {
    let here = rows(120, 0.05, 12);
    let slower = |row: &Row| Row { seconds: row.seconds.map(|Seconds(s)| Seconds(2.0 * s)), ..row.clone() };
    let there: Vec<Row> = here.iter().map(slower).collect();
    let device = |name: &str| Device { name: name.to_owned(), description: String::new(), software: false };
    let names = [device("here"), device("there"), device("elsewhere")];
    let strangers: Vec<Row> = here.iter().map(|row| Row { id: format!("x{}", row.id), ..row.clone() }).collect();
    let all = [all(&here), all(&there), all(&strangers)];
    let platforms: Vec<Platform> = names.iter().zip(&all).map(|(device, rows)| Platform { device, rows }).collect();
    let found = transfers(Method::Nnls, &platforms).unwrap();
    let pairs: Vec<(&str, &str)> = found.iter().map(|t| (t.trained.as_str(), t.asked.as_str())).collect();
    assert_eq!(pairs, [("here", "here"), ("here", "there"), ("there", "here"), ("there", "there"), ("elsewhere", "elsewhere")]);
    let [own, other, back] = [&found[0], &found[1], &found[2]];
    assert_eq!((own.scale, own.calibrated.is_none(), own.plain), (1.0, true, own.scaled));
    assert!((other.scale - 2.0).abs() < 1e-12 && other.measured.mape < 1e-12 && (back.scale - 0.5).abs() < 1e-12);
    // Half of all times is missing until the factor is known; by then it is the model of the device itself.
    assert!((0.4..0.6).contains(&other.plain.mape), "{other:?}");
    assert!((other.scaled.mape - found[3].plain.mape).abs() < 1e-9 && own.plain.mape > 0.01);
    let calibrated = other.calibrated.unwrap();
    assert!((calibrated.shaders, calibrated.mape < 1.5 * other.scaled.mape) == (120, true), "{other:?}");
}
