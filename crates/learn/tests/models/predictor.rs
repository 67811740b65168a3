//! A model as a file: what it says of shaders like those it knows, and of others.

use warpsight_ir::Seconds;
use warpsight_learn::models::table::Table;
use warpsight_learn::models::{Amount, Fitted, Method, Model, Row};
use warpsight_learn::predictor::{Additive, Device, Predictor, PredictorError};

/// A row of `sines` and `adds` a pixel that takes what they cost, and `noise` as a factor.
pub fn row(id: usize, sines: f64, adds: f64, noise: f64) -> Row {
    let amount = |traced| Amount { traced, masked: traced, text: 1.0 };
    let seconds = (1e-4 + 1e5 * (3e-9 * sines + 1e-9 * adds)) * noise;
    Row {
        id: format!("{id:016x}"),
        source: if id.is_multiple_of(3) { "three" } else { "two" }.to_owned(),
        group: format!("{id:016x}"),
        mutant: false,
        loops: false,
        pixels: 1e5,
        seconds: Some(Seconds(seconds)),
        operations: [("ext.sin".to_owned(), amount(sines)), ("f32.add".to_owned(), amount(adds))].into(),
        lean: [("ext.sin".to_owned(), amount(sines)), ("f32.add".to_owned(), amount(adds))].into(),
        opcodes: [("ExtInst".to_owned(), amount(sines)), ("FAdd".to_owned(), amount(adds))].into(),
        sizes: [("blocks".to_owned(), 1.0)].into(),
        words: [].into(),
    }
}

pub fn device() -> Device {
    Device { name: "lavapipe".to_owned(), description: "llvmpipe".to_owned(), software: true }
}

pub fn predictor() -> Predictor {
    let noise = |i: usize| if i.is_multiple_of(2) { 1.1 } else { 1.0 / 1.1 };
    let rows: Vec<Row> = (0..60).map(|i| row(i, 1.0 + (i % 10) as f64, 5.0 + (i * 7 % 30) as f64, noise(i / 2))).collect();
    Predictor::fit(device(), Method::Nnls, &rows.iter().collect::<Vec<_>>()).unwrap()
}

#[test]
fn what_is_like_the_training_is_predicted_within_its_interval() {
    let predictor = predictor();
    let found = predictor.predict(&row(0, 4.0, 20.0, 1.0));
    let truth = 1e-4 + 1e5 * 32e-9;
    assert!((found.seconds.0 / truth - 1.0).abs() < 0.1, "{found:?}");
    let [low, high] = found.interval.map(|end| end.0 / truth);
    assert!((0.8..0.95).contains(&low) && (1.05..1.25).contains(&high), "{low} to {high}");
    assert!(found.extrapolating.is_empty());
    assert_eq!(predictor.trained, [("three".to_owned(), 20), ("two".to_owned(), 40)].into());
    let sine = warpsight_shader::features::names().iter().position(|n| n == "ext.sin").unwrap();
    assert!((predictor.base.weights()[sine] / 3e-9 - 1.0).abs() < 0.1, "{:e}", predictor.base.weights()[sine]);
}

#[test]
fn what_is_out_of_range_is_said_the_farthest_first() {
    let mut other = row(0, 40.0, 3.0, 1.0);
    other.pixels = 5e4;
    other.operations.insert("ext.exp".to_owned(), Amount { traced: 2.0, masked: 2.0, text: 1.0 });
    let found = predictor().predict(&other);
    let said: Vec<_> = found.extrapolating.iter().map(|o| (o.what.as_str(), o.value, o.trained)).collect();
    assert_eq!(said, [("ext.exp", 2.0, None), ("ext.sin", 40.0, Some([1.0, 10.0])), ("pixels", 5e4, Some([1e5, 1e5]))]);
}

#[test]
fn a_file_gives_the_model_back_and_other_versions_are_refused() {
    let predictor = predictor();
    let text = predictor.text().unwrap();
    let again = Predictor::read(&text).unwrap();
    assert_eq!((again.id().unwrap(), again.text().unwrap()), (predictor.id().unwrap(), text.clone()));
    let row = row(1, 3.0, 9.0, 1.0);
    assert_eq!(again.predict(&row), predictor.predict(&row));
    let newer = text.replace("warpsight-shader-model/1", "warpsight-shader-model/2");
    assert!(matches!(Predictor::read(&newer), Err(PredictorError::Format { found }) if found.ends_with("/2")));
    assert!(matches!(Predictor::read("{\"format\": \"warpsight-shader-model/1\"}"), Err(PredictorError::Json(_))));
    assert!(matches!(Predictor::read("[]"), Err(PredictorError::Json(_))));
    let unknown = text.replacen("\"nnls\"", "\"magic\"", 1);
    assert!(matches!(Predictor::read(&unknown), Err(PredictorError::Method(said)) if said.starts_with("`magic` is none of sh,")));
    let mut other = predictor.clone();
    other.device.name.push('2');
    assert_ne!(other.id().unwrap(), predictor.id().unwrap());
}

/// The shipped model's additive base is what its rows give; its trees come from the same rows by the same command, which takes longer
/// than a test may.
#[test]
fn the_shipped_model_comes_from_its_rows() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/models/");
    let read = |name: &str| std::fs::read_to_string(format!("{folder}{name}")).unwrap();
    let predictor = Predictor::read(&read("lavapipe.json")).unwrap();
    let table = Table::read(&read("lavapipe.rows.jsonl")).unwrap();
    assert_eq!(predictor.device, table.device);
    assert_eq!(predictor.trained.values().sum::<usize>(), table.rows.len());
    let rows: Vec<&Row> = table.rows.iter().collect();
    let Fitted::Lean(base) = Method::Lean.fit(&rows).unwrap() else { panic!() };
    let Additive::Lean(shipped) = &predictor.base else { panic!() };
    for row in &rows {
        // Rounding may differ between processors.
        assert!((base.predict(row).0 / shipped.predict(row).0 - 1.0).abs() < 1e-6, "{}", row.id);
    }
    let errors: Vec<f64> = rows.iter().map(|row| (predictor.predict(row).seconds.0 / row.seconds.unwrap().0 - 1.0).abs()).collect();
    assert!(errors.iter().sum::<f64>() / (errors.len() as f64) < 0.15, "it was not trained on these rows");
}
