//! `predict --witness`: volumes by execution beside the predicted ones.

mod common;

use common::{Sandbox, said};
use serde_json::{Value, json};

fn example(name: &str) -> String {
    format!("{}/../../examples/accesses/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

fn volumes(of: &Value) -> [f64; 5] {
    ["l1_requested", "l2_load", "l2_store", "dram_load", "dram_store"].map(|key| of[key].as_f64().unwrap_or(f64::NAN))
}

#[test]
fn both_witnesses_stand_beside_each_other() {
    let s = Sandbox::new();
    let (strided, set) = (example("strided-load"), ["--set", "stride=8"]);
    let output = s.run(&[&["predict", &strided, "--device", "a100-40", "--witness", "--json"], &set[..]].concat(), 0);
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    // f64, 8 elements apart: a sector of 32 bytes for each lane, and memory delivers 64.
    let expected = [32.0, 32.0, 0.0, 64.0, 0.0];
    assert_eq!(volumes(&found["volumes"]), expected);
    let witness = &found["witness"];
    assert_eq!(volumes(&witness["volumes"]), expected);
    assert_eq!(volumes(&witness["volumes"]["per_field"]["A"]), expected);
    assert_eq!((&witness["source"], &witness["silicon"]), (&json!("simulated"), &json!("a100-40")));
    let part = &witness["part"];
    assert_eq!((&part["executed"], &part["of"], &part["lanes"], &part["share"]), (&json!(32), &json!(32), &json!(1024), &json!(1.0)));
    assert_eq!(witness["loads_in_a_turn"], json!(8));
    assert_eq!(part["stands_for_the_rest"], Value::Null);
    assert_eq!(witness["assumed"], json!(["l1.hashed", "l1.cache.sets", "l1.cache.ways", "l2.cache.sets", "l2.cache.ways"]));

    let table = s.run(&[&["predict", &strided, "--device", "a100-40", "--witness"], &set[..]].concat(), 0);
    let text = String::from_utf8(table.stdout).expect("text");
    let row = |name: &str| text.lines().filter(|line| line.starts_with(name)).map(str::to_owned).next_back().unwrap_or_default();
    assert_eq!(row("witness").split_whitespace().collect::<Vec<_>>(), ["witness", "predicted", "simulated", "predicted", "/", "simulated"]);
    assert_eq!(row("DRAM load, B/point").split_whitespace().skip(3).collect::<Vec<_>>(), ["64.00", "64.00", "1.000"]);
    assert_eq!(row("DRAM store, B/point").split_whitespace().skip(3).collect::<Vec<_>>(), ["0.00", "0.00", "-"]);
    assert!(text.contains("- simulated: all 32 accesses of warps, executed through the caches of a100-40"), "{text}");
    assert!(text.contains("- simulated: assumed: a warp makes up to 8 loads before the next one's turn"), "{text}");

    // Without it nothing is said of it.
    let plain = s.run(&[&["predict", &strided, "--device", "a100-40", "--json"], &set[..]].concat(), 0);
    assert!(serde_json::from_slice::<Value>(&plain.stdout).expect("JSON").get("witness").is_none());
}

#[test]
fn warps_of_64_and_lines_of_64_are_those_of_an_mi250x() {
    let s = Sandbox::new();
    let output = s.run(&["predict", &example("vec3-aos"), "--device", "mi250x", "--witness", "--json", "--set", "n=256000"], 0);
    let witness = serde_json::from_slice::<Value>(&output.stdout).expect("JSON")["witness"].take();
    // A point has 24 bytes of A, which are loaded as 16 and 8, 8 of B and 24 of D: 64 lanes touch every line of A twice, and store D twice.
    assert_eq!(volumes(&witness["volumes"]), [56.0, 32.0, 56.0, 32.0, 32.0]);
}

#[test]
fn a_device_without_silicon_is_told_which_have_some() {
    let s = Sandbox::new();
    let file = example("strided-load");
    let output = s.run(&["predict", &file, "--device", "v100", "--witness"], 2);
    let text = said(&output);
    for word in ["v100: there is no witness for this device", "--witness", "mi250x, a100-40, h200"] {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
    // Others have their say.
    let both = s.run(&["predict", &file, "--device", "v100", "h200", "--witness", "--json"], 0);
    let both: Value = serde_json::from_slice(&both.stdout).expect("JSON");
    assert!(both["h200"]["witness"].is_object() && both["v100"]["witness"].is_null() && both["v100"].to_string().contains("no witness"));
    for other in [&["--diff", file.as_str()][..], &["--model", "paper002"]] {
        let output = s.run(&[&["predict", &file, "--device", "a100-40", "--witness"], other].concat(), 2);
        assert!(said(&output).contains("--witness"), "{}", said(&output));
    }
}
