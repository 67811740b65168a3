//! `warpsight predict --model paper002`: the keys of a prediction, the numbers of the library, and what changes nothing is refused by name.

mod common;

use common::{Sandbox, said};
use serde_json::{Value, json};
use warpsight_ir::accesses::text::parse;
use warpsight_ir::profile::builtin;
use warpsight_predict::paper002::baseline;

const STAR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/accesses/star3d-r4-f64.toml");
const VOLUMES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/volumes/star3d-r1-f64-mi250x.json");

fn parsed(s: &Sandbox, args: &[&str]) -> Value {
    let output = s.run(&[&["predict", STAR, "--json"], args].concat(), 0);
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn keys(value: &Value) -> Vec<&String> {
    value.as_object().expect("an object").keys().collect()
}

#[test]
fn the_keys_are_ours_and_the_numbers_the_papers() {
    let s = Sandbox::new();
    let found = parsed(&s, &["--device", "a100-40", "--model", "paper002"]);
    let ours = parsed(&s, &["--device", "a100-40"]);
    assert_eq!(keys(&found), keys(&ours));
    assert_eq!(keys(&found["volumes"]), keys(&ours["volumes"]));
    assert_eq!(parsed(&s, &["--device", "a100-40", "--model", "Counts"]), ours);
    assert_eq!((&found["interval"], &found["instructions"], &found["tail_efficiency"]), (&Value::Null, &Value::Null, &Value::Null));
    let text = std::fs::read_to_string(STAR).expect("the example");
    let own = baseline(&parse(&text, &[]).expect("a kernel"), &builtin("a100-40").expect("built in").expect("good")).expect("a baseline");
    let through = |number: f64| -> Value { serde_json::from_str(&json!(number).to_string()).expect("a number") };
    assert_eq!((&found["seconds"], &found["limiter"]), (&through(own.seconds.0), &json!(own.limiter.name())));
    assert_eq!(found["volumes"]["dram_load"], through(own.behind.loads[3]));
    assert_eq!(found["volumes"]["dram_load_wave"], through(own.behind.loads[0]));
    let sum: f64 = found["volumes"]["by_cause"]
        .as_object()
        .expect("causes")
        .iter()
        .filter(|own| own.0.starts_with("dram_load"))
        .map(|own| own.1.as_f64().expect("bytes"))
        .sum();
    assert!((sum / own.behind.loads[3] - 1.0).abs() < 1e-12);
    assert!(found["provenance"][0].as_str().is_some_and(|note| note.contains("as published")), "{found}");
}

/// What the authors' implementation says of the star at 1 × 16 × 64 on its A100.
#[test]
fn a_configuration_of_the_authors() {
    let s = Sandbox::new();
    let found = parsed(&s, &["--device", "a100-40", "--model", "paper002", "--set", "block=1,16,64"]);
    let volumes = &found["volumes"];
    for (value, expected) in [
        (&volumes["l1_requested"], 800.0),
        (&volumes["l2_load_compulsory"], 116.0),
        (&volumes["l2_load"], 283.96356365797203),
        (&volumes["l2_store"], 32.0),
        (&volumes["dram_load_wave"], 13.592592592592593),
        (&volumes["dram_load"], 10.019002759611777),
        (&volumes["dram_store"], 8.520101041515055),
        (&found["l1_cycles_per_point"], 28.625),
        (&found["points_per_second"], 5.319825327510917e9),
    ] {
        let value = value.as_f64().expect("a number");
        assert!((value / expected - 1.0).abs() < 1e-9, "{value} for {expected}");
    }
    assert_eq!(found["limiter"], "l1");
}

#[test]
fn devices_and_settings_compose() {
    let s = Sandbox::new();
    let two = parsed(&s, &["--device", "h100", "a100-40", "--model", "paper002", "--set", "block=16,4,16"]);
    assert_eq!(two["a100-40"], parsed(&s, &["--device", "a100-40", "--model", "paper002", "--set", "block=16,4,16"]));
    let small = parsed(&s, &["--device", "h100", "--model", "paper002", "--set", "block=16,4,16", "--override", "l2_effective=1MB"]);
    assert!(small["volumes"]["dram_load"].as_f64() > two["h100"]["volumes"]["dram_load"].as_f64());
    // One device without an answer leaves the other its say.
    let text = said(&s.run(&["predict", STAR, "--device", "a100-40", "adreno640", "--model", "paper002"], 0));
    assert!(text.contains("by the model of paper 002 as published") && text.contains("no answer: adreno640"), "{text}");
}

#[test]
fn what_changes_nothing_is_refused() {
    let s = Sandbox::new();
    for (args, why) in [
        (&["--model", "paper02"][..], "did you mean `paper002`?"),
        (&["--model", "paper002", "--in-order"], "--in-order changes nothing in the model of paper 002"),
        (&["--model", "paper002", "--diff", STAR], "--diff changes nothing"),
        (&["--model", "paper002", "--html", "page.html"], "--html changes nothing"),
        (&["--model", "paper002", "--volumes", VOLUMES], "--volumes changes nothing"),
        (&["--model", "paper002", "--override", "clock=1GHz"], "has numbers of its own for a100-40"),
    ] {
        let text = said(&s.run(&[&["predict", STAR, "--device", "a100-40"], args].concat(), 2));
        assert!(text.contains(why), "{args:?}: {text}");
    }
    let host = said(&s.run(&["predict", STAR, "--device", "host", "--model", "paper002"], 2));
    assert!(host.contains("has no CPUs"), "{host}");
}
