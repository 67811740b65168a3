//! `shader train` and `shader evaluate`: from a table of rows to a model, its card and the comparison.

mod common;

use common::{Sandbox, said};
use serde_json::Value;
use warpsight_ir::Seconds;
use warpsight_learn::models::table::Table;
use warpsight_learn::models::{Amount, Row};
use warpsight_learn::predictor::{Device, Predictor};

/// Ninety shaders of three sources whose sines cost three nanoseconds and additions one; every tenth is a mutant.
fn table() -> Table {
    let rows = (0..90).map(|id: usize| {
        let (sines, adds) = ((id % 9 + 1) as f64, (id * 7 % 23 + 1) as f64);
        let amounts = [("ext.sin", sines), ("f32.add", adds)];
        let counted = || amounts.iter().map(|(name, n)| ((*name).to_owned(), Amount { traced: *n, masked: *n, text: 1.0 })).collect();
        let noise = [0.95, 1.0, 1.06][id * 5 % 7 % 3];
        Row {
            id: format!("{id:016x}"),
            source: ["one", "two", "butterchurn-presets"][id % 3].to_owned(),
            group: format!("{id:016x}"),
            mutant: id % 10 == 9,
            loops: id.is_multiple_of(4),
            pixels: 196_608.0,
            seconds: Some(Seconds(noise * (2e-4 + 196_608.0 * 1e-9 * (3.0 * sines + adds)))),
            operations: counted(),
            lean: counted(),
            opcodes: counted(),
            sizes: [("blocks".to_owned(), 1.0)].into(),
            words: [].into(),
        }
    });
    let device = Device { name: "lavapipe".to_owned(), description: "llvmpipe (LLVM 15.0.6, 256 bits)".to_owned(), software: true };
    Table { device, date: None, licences: [("one".to_owned(), "MIT".to_owned())].into(), rows: rows.collect() }
}

#[test]
fn models_are_compared_with_the_strongest_peer_first() {
    let sandbox = Sandbox::new();
    let (rows, html) = (sandbox.path("rows.jsonl"), sandbox.path("page.html"));
    std::fs::write(&rows, table().text().expect("a text")).expect("written");
    let (rows, html) = (rows.to_str().expect("UTF-8"), html.to_str().expect("UTF-8"));
    let double = sandbox.path("double.jsonl");
    let same = Table { device: Device { name: "double".to_owned(), ..table().device }, ..table() };
    std::fs::write(&double, same.text().expect("a text")).expect("written");
    let double = double.to_str().expect("UTF-8");
    let args = ["shader", "evaluate", "--rows", rows, "--model", "sh,nnls,lean", "--html", html, "--transfer", double];
    let output = sandbox.run(&[&args[..], &["--json"]].concat(), 0);
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((found["shaders"].as_u64(), found["mutants"].as_u64()), (Some(81), Some(9)));
    assert!(found["note"].as_str().expect("said").contains("CPU rasteriser"));
    let models = found["models"].as_array().expect("models");
    let names: Vec<&str> = models.iter().filter_map(|m| m["model"].as_str()).collect();
    assert_eq!(names, ["nnls", "lean", "sh"], "the strongest peer, ours, the rest");
    let number = |at: &str| found.pointer(at).and_then(Value::as_f64).expect(at);
    assert!(number("/models/0/group/mape") < 0.06 && number("/models/0/untraced/mape") > 0.2);
    assert!(number("/models/2/group/mape") > 2.0 * number("/models/0/group/mape"));
    assert!((0.6..=1.0).contains(&number("/models/1/coverage")) && models[0]["coverage"].is_null());
    // Butterchurn's presets are left out of the mean over sources, not of the list.
    assert_eq!(models[0]["sources"].as_object().expect("sources").len(), 3);
    let mean = 0.5 * (number("/models/0/sources/one/mape") + number("/models/0/sources/two/mape"));
    assert!((number("/models/0/macro_average/mape") - mean).abs() < 1e-12);
    // A device and its double: the same model, calibrated by shaders that it is right about.
    assert_eq!(found["transfer"].as_array().map(Vec::len), Some(4));
    assert_eq!((&found["transfer"][1]["trained"], &found["transfer"][1]["asked"]), (&"lavapipe".into(), &"double".into()));
    assert!((number("/transfer/1/scale") - 1.0).abs() < 1e-12 && found["transfer"][0]["calibrated"].is_null());
    assert!(number("/transfer/1/calibrated/mape") < 0.1 && number("/transfer/1/plain/mape") == number("/transfer/0/plain/mape"));
    let page = std::fs::read_to_string(html).expect("a page");
    let page = roxmltree::Document::parse_with_options(&page, roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() });
    let page = page.expect("well-formed");
    assert_eq!(page.descendants().filter(|n| n.tag_name().name() == "svg").count(), 1);
    let text = said(&sandbox.run(&args, 0));
    assert!(text.contains("81 measured shaders on lavapipe (a CPU rasteriser") && text.contains("lean *"), "{text}");
    assert!(text.contains("asked about") && text.contains("double"), "{text}");

    // In one way only, with the same numbers.
    let some = ["shader", "evaluate", "--rows", rows, "--model", "sh,nnls", "--only", "source", "--html", html];
    let output = sandbox.run(&[&some[..], &["--json"]].concat(), 0);
    let only: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(only["models"][0]["group"].is_null() && only["models"][0]["untraced"].is_null());
    assert_eq!(only["models"][0]["macro_average"], models[0]["macro_average"]);
}

#[test]
fn a_finished_model_is_asked_about_other_measurements() {
    let sandbox = Sandbox::new();
    let (rows, others, model) = (sandbox.path("rows.jsonl"), sandbox.path("others.jsonl"), sandbox.path("model.json"));
    std::fs::write(&rows, table().text().expect("a text")).expect("written");
    // Elsewhere everything takes twice as long.
    let mut slow = table();
    slow.rows.retain(|row| row.source != "two");
    slow.rows.iter_mut().for_each(|row| row.seconds = row.seconds.map(|s| Seconds(2.0 * s.0)));
    std::fs::write(&others, slow.text().expect("a text")).expect("written");
    let paths = [&rows, &others, &model].map(|p| p.to_str().expect("UTF-8").to_owned());
    sandbox.run(&["shader", "train", "--rows", &paths[0], "--model", "lean", "--out", &paths[2]], 0);
    let ask = |rows: &str| -> Value {
        let output = sandbox.run(&["shader", "evaluate", "--rows", rows, "--trained", &paths[2], "--json"], 0);
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let (own, slow) = (ask(&paths[0]), ask(&paths[1]));
    assert_eq!((own["all"]["shaders"].as_u64(), slow["all"]["shaders"].as_u64()), (Some(90), Some(60)));
    assert!(own["all"]["mape"].as_f64().expect("a number") < 0.08 && own["coverage"].as_f64().expect("a number") > 0.5, "{own}");
    assert!((slow["all"]["mape"].as_f64().expect("a number") - 0.5).abs() < 0.05 && slow["coverage"].as_f64() == Some(0.0), "{slow}");
    assert_eq!(slow["sources"].as_object().expect("sources").len(), 2);
    let text = said(&sandbox.run(&["shader", "evaluate", "--rows", &paths[1], "--trained", &paths[2]], 0));
    assert!(text.contains("The model of lavapipe (a CPU rasteriser") && text.contains("80 % intervals hold 0.0 %"), "{text}");
    // There is one that ships.
    said(&sandbox.run(&["shader", "evaluate", "--rows", &paths[0], "--trained"], 0));
}

#[test]
fn a_model_is_trained_and_its_card_says_what_it_is_worth() {
    let sandbox = Sandbox::new();
    let (rows, model, card) = (sandbox.path("rows.jsonl"), sandbox.path("model.json"), sandbox.path("card.md"));
    std::fs::write(&rows, table().text().expect("a text")).expect("written");
    let paths = [&rows, &model, &card].map(|p| p.to_str().expect("UTF-8").to_owned());
    let args = ["shader", "train", "--rows", &paths[0], "--model", "lean", "--out", &paths[1], "--card", &paths[2], "--json"];
    let output = sandbox.run(&args, 0);
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let predictor = Predictor::read(&std::fs::read_to_string(&model).expect("a model")).expect("a model");
    assert_eq!(found["id"].as_str(), Some(predictor.id().expect("an id").as_str()));
    let row = &table().rows[20];
    let said_of_it = predictor.predict(row);
    assert!((said_of_it.seconds.0 / row.seconds.expect("measured").0 - 1.0).abs() < 0.15, "{said_of_it:?}");
    let card = std::fs::read_to_string(&card).expect("a card");
    for part in
        ["llvmpipe (LLVM 15.0.6, 256 bits)", "CPU rasteriser", "| one | MIT | 27 | 3 |", "| lean |", "| nnls |", "train --rows rows.jsonl"]
    {
        assert!(card.contains(part), "{part}: {card}");
    }
    assert!(!card.contains(sandbox.path("").to_str().expect("UTF-8")), "where folders lie: {card}");
}

#[cfg(not(feature = "nn"))]
#[test]
fn a_build_without_the_transformer_says_so() {
    let sandbox = Sandbox::new();
    let path = sandbox.text("rows.jsonl");
    std::fs::write(&path, table().text().expect("a text")).expect("written");
    let args = ["shader", "train", "--rows", &path, "--out", "x.json", "--model", "transformer"];
    let text = said(&sandbox.run(&args, 2));
    assert!(text.contains("this build has no transformer; build with `cargo build --features nn`"), "{text}");
    let model = sandbox.text("model.json");
    sandbox.run(&["shader", "train", "--rows", &path, "--out", &model, "--model", "nnls"], 0);
    let text = std::fs::read_to_string(&model).expect("a model").replacen("\"nnls\"", "\"transformer\"", 1);
    std::fs::write(&model, text).expect("written");
    let shader = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/shaders/sample/butterchurn-presets_444_warp.frag");
    let text = said(&sandbox.run(&["shader", "predict", shader, "--model", &model], 2));
    assert!(text.contains("this build has no transformer") && text.contains("model.json"), "{text}");
}

#[test]
fn what_is_no_table_is_refused() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("rows.jsonl");
    std::fs::write(&path, "{\"format\":\"warpsight-shader-rows/9\"}\n").expect("written");
    let path = path.to_str().expect("UTF-8");
    for (args, code, part) in [
        (vec!["shader", "evaluate", "--rows", path], 2, "warpsight-shader-rows/9"),
        (vec!["shader", "evaluate", "--rows", "nowhere.jsonl"], 5, "nowhere.jsonl"),
        (vec!["shader", "evaluate"], 2, "--rows"),
        (vec!["shader", "evaluate", "--rows", path, "--model", "magic"], 2, "`magic` is none of"),
        (vec!["shader", "evaluate", "--rows", path, "--only", "magic"], 2, "`magic` is none of group, trace, source"),
        (vec!["shader", "train", "--corpus", path, "--out", "x.json"], 2, "--shots"),
    ] {
        let text = said(&sandbox.run(&args, code));
        assert!(text.contains(part), "{args:?}: {text}");
    }
}
