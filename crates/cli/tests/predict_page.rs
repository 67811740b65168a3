//! What `predict` and its like say beside their numbers: the page, notes on stderr, refusals.

mod common;

use common::page::{parsed, sound, words};
use common::{Sandbox, said};
use serde_json::Value;
use std::process::Output;

fn example(name: &str) -> String {
    format!("{}/../../examples/accesses/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(output)))
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn notes(value: &Value) -> Vec<&str> {
    value["provenance"].as_array().expect("notes").iter().filter_map(Value::as_str).collect()
}

#[test]
fn the_page_stands_alone_and_says_what_the_json_says() {
    let s = Sandbox::new();
    let page = s.text("page.html");
    let args = ["predict", &example("star3d-r4-f64"), "--device", "a100-40", "mi210", "h200", "--html", &page, "--json"];
    let found = json(&s.run(&args, 0));
    let html = std::fs::read_to_string(&page).expect("a page");
    let numbers = sound(&html, &found["figures"]);
    for figure in ["times", "limits", "volumes", "causes", "fields", "changes", "sensitivities"] {
        assert!(numbers.get(figure).is_some_and(|&count| count >= 3), "{figure}: {numbers:?}");
        for row in found["figures"][figure].as_array().expect("rows") {
            assert!(["predicted", "measured"].contains(&row["tag"].as_str().expect("a tag")), "{row}");
        }
    }
    // The same numbers as those of the verb, for each device.
    for device in ["a100-40", "mi210", "h200"] {
        let own = |figure: &str| -> Vec<Value> {
            let rows = found["figures"][figure].as_array().expect("rows");
            rows.iter().filter(|row| row["device"] == device).cloned().collect()
        };
        let of = &found[device];
        assert_eq!((&own("times")[0]["time_s"], &own("times")[0]["limiter"]), (&of["seconds"], &of["limiter"]));
        for row in own("limits") {
            assert_eq!(row["alone_s"], of["limits_s"][row["limiter"].as_str().expect("a name")], "{device} {row}");
        }
        let moved = |level: &str| own("volumes").iter().find(|row| row["level"] == level).expect("a level")["moved_per_point"].clone();
        assert_eq!((moved("DRAM load"), moved("L2 load")), (of["volumes"]["dram_load"].clone(), of["volumes"]["l2_load"].clone()));
        let parts: f64 =
            own("causes").iter().filter(|row| row["level"] == "DRAM load").filter_map(|row| row["moved_per_point"].as_f64()).sum();
        assert!((parts / of["volumes"]["dram_load"].as_f64().expect("known") - 1.0).abs() < 1e-12);
        assert_eq!(own("notes").len(), notes(of).len());
    }
    let text = words(parsed(&html).root_element());
    assert!(text.contains("leaves the field by 4 elements along x") && text.contains("predicted"), "{text}");

    // Measured volumes are said to be.
    let (kernel, volumes) =
        (example("star3d-r1-f64"), format!("{}/../../examples/volumes/star3d-r1-f64-mi250x.json", env!("CARGO_MANIFEST_DIR")));
    let args = ["predict", &kernel, "--device", "mi250x", "--volumes", &volumes, "--html", &page, "--json"];
    let found = json(&s.run(&args, 0));
    sound(&std::fs::read_to_string(&page).expect("a page"), &found["figures"]);
    let rows = found["figures"]["volumes"].as_array().expect("rows");
    assert!(rows.iter().any(|row| row["tag"] == "measured") && rows.iter().any(|row| row["tag"] == "predicted"), "{rows:?}");
    s.run(&["predict", &kernel, "--device", "a100-40", "--html", &s.text("no/folder/x.html")], 5);
}

#[test]
fn hostile_names_are_text() {
    let s = Sandbox::new();
    let evil = "<script>alert('1')</script>&\\\"";
    let text = format!(
        "name = \"{evil}\"\nblock = [64]\ndomain = [4096]\nregisters = 16\n[[field]]\nname = \"{evil}\"\nelement = \"f32\"\n\
         dims = [4096]\nload = [[\"tx\"]]\n[[field]]\nname = \"B\"\nelement = \"f32\"\ndims = [4096]\nstore = [[\"tx\"]]\n"
    );
    let (file, page) = (s.text("<b>&'.toml"), s.text("page.html"));
    std::fs::write(&file, text).expect("writes");
    let found = json(&s.run(&["predict", &file, "--device", "a100-40", "--diff", &file, "--html", &page, "--json"], 0));
    let html = std::fs::read_to_string(&page).expect("a page");
    sound(&html, &found["figures"]);
    let text = words(parsed(&html).root_element());
    assert!(text.contains("<script>alert('1')</script>&\"") && text.contains("<b>&'.toml"), "{text}");
}

#[test]
fn accesses_beside_their_field_are_noted_or_refused() {
    let s = Sandbox::new();
    let star = example("star3d-r4-f64");
    let output = s.run(&["predict", &star, "--device", "a100-40", "--json"], 0);
    let found = json(&output);
    let said: Vec<&str> = notes(&found).into_iter().filter(|note| note.contains("leaves the field by 4 elements along ")).collect();
    assert_eq!(said.len(), 3, "{found}");
    for note in &said {
        assert!(note.starts_with("access ") && note.contains(" of A leaves") && errors(&output).contains(note), "{note}");
    }
    let output = s.run(&["predict", &star, "--device", "a100-40", "--strict"], 2);
    assert!(errors(&output).contains("leaves the field by 4 elements"), "{}", errors(&output));
    s.run(&["explore", &star, "--device", "a100-40", "--block-sizes", "64x4x4", "--strict"], 2);
    let explored = s.run(&["explore", &star, "--device", "a100-40", "--block-sizes", "64x4x4"], 0);
    assert!(errors(&explored).contains("leaves the field by 4 elements along z"), "{}", errors(&explored));
    // What stays inside is neither noted nor refused.
    let output = s.run(&["predict", &example("stream-triad"), "--device", "a100-40", "--strict"], 0);
    assert!(!errors(&output).contains("note"), "{}", errors(&output));
}

#[test]
fn the_order_of_the_file_counts_where_it_is_asked_for() {
    let s = Sandbox::new();
    let load = |file: &str, more: &[&str]| {
        let args = ["predict", file, "--device", "mi250x", "--set", "block=256,1,1", "--json"];
        json(&s.run(&[&args[..], more].concat(), 0))["volumes"]["dram_load"].as_f64().expect("known")
    };
    // Point by point, and ascending: MI250X was measured to load 15.18 and 10.15 B a point.
    let points = example("star3d-r1-f64");
    let text = std::fs::read_to_string(&points).expect("reads");
    let line = text.lines().find(|line| line.contains("tx+1")).expect("neighbours").to_owned();
    let ascending = text.replace("    [\"tx\", \"ty\", \"tz\"],\n", "").replace(
        &line,
        "[\"tx\", \"ty\", \"tz-1\"], [\"tx\", \"ty-1\", \"tz\"], [\"tx-1\", \"ty\", \"tz\"], [\"tx\", \"ty\", \"tz\"], [\"tx+1\", \"ty\", \"tz\"], \
         [\"tx\", \"ty+1\", \"tz\"], [\"tx\", \"ty\", \"tz+1\"],",
    );
    assert_ne!(ascending, text);
    let file = s.text("ascending.toml");
    std::fs::write(&file, ascending).expect("writes");
    assert_eq!(load(&points, &[]), load(&file, &[]));
    assert_eq!(load(&file, &["--in-order"]), load(&file, &[]));
    let kept = load(&points, &["--in-order"]);
    assert!(kept > 1.2 * load(&points, &[]) && (kept / 15.18 - 1.0).abs() < 0.05, "{kept}");
}

#[test]
fn a_condition_that_never_holds_is_no_time_and_no_rank() {
    let s = Sandbox::new();
    let text = "name = \"never\"\nblock = [64]\ndomain = [4096]\nregisters = 16\nguard = [\"tx < limit\"]\n[params]\nlimit = 0\n\
        [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [4096]\nload = [[\"tx\"]]\nstore = [[\"tx\"]]\n";
    let (file, page) = (s.text("never.toml"), s.text("page.html"));
    std::fs::write(&file, text).expect("writes");
    let found = json(&s.run(&["predict", &file, "--device", "a100-40", "--html", &page, "--json"], 0));
    assert_eq!((&found["seconds"], &found["points_per_second"]), (&Value::from(0.0), &Value::from(0.0)), "{found}");
    assert!(notes(&found).iter().any(|note| note.contains("never holds")), "{found}");
    sound(&std::fs::read_to_string(&page).expect("a page"), &found["figures"]);
    let output = s.run(&["predict", &file, "--device", "a100-40", "v100"], 0);
    assert!(!said(&output).contains("NaN") && said(&output).contains("never holds"), "{}", said(&output));
    // With some work beside none, the work is ranked and the rest is left out, with the reason.
    let args = ["explore", &file, "--device", "a100-40", "--sweep", "limit=0..64:64", "--block-sizes", "64", "--json"];
    let found = json(&s.run(&args, 0));
    assert_eq!((&found["predicted"], &found["refused"]["configurations"]), (&Value::from(1), &Value::from(1)), "{found}");
    assert!(found["refused"]["reasons"][0]["reason"].as_str().is_some_and(|why| why.contains("never holds")), "{found}");
    assert_eq!(found["ranking"][0]["params"]["limit"], 64);
    let output = s.run(&["explore", &file, "--device", "a100-40", "--block-sizes", "64"], 2);
    assert!(said(&output).contains("never holds"), "{}", said(&output));
}

#[test]
fn overrides_that_make_no_sense_are_noted_everywhere() {
    let s = Sandbox::new();
    let triad = example("stream-triad");
    let graph = format!("{}/../../examples/dataflow/nerf.json", env!("CARGO_MANIFEST_DIR"));
    for (number, says) in [("clock=1.41", true), ("dram_bandwidth=1B/s", true), ("clock=1.2GHz", false)] {
        let predicted = s.run(&["predict", &triad, "--device", "a100-40", "--override", number, "--json"], 0);
        let explored = s.run(&["explore", &triad, "--device", "a100-40", "--block-sizes", "256", "--override", number, "--json"], 0);
        let planned = s.run(&["pipeline", &graph, "--device", "a100-40", "--override", number, "--json"], 0);
        for output in [&predicted, &explored, &planned] {
            assert_eq!(errors(output).contains("is a unit missing?"), says, "{number}: {}", errors(output));
            assert_eq!(json(output).to_string().contains("is a unit missing?"), says, "{number}: {}", json(output));
        }
    }
}
