//! `bench/paper002.py`: what its rows say is what `warpsight predict` says when it is asked for them one by one.

mod common;

use common::Sandbox;
use serde_json::Value;
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// What the program writes as JSON, without recordings; `None` where there is no Python that reads TOML.
fn figures(s: &Sandbox, names: &[&str]) -> Option<Value> {
    let python = Command::new("python3").args(["-c", "import tomllib"]).output();
    if !python.is_ok_and(|done| done.status.success()) {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "no Python 3.11");
        eprintln!("skipped: no Python 3.11");
        return None;
    }
    let to = s.path("rows.json");
    let mut command = Command::new("python3");
    command.arg(format!("{ROOT}/bench/paper002.py")).args(["--warpsight", env!("CARGO_BIN_EXE_warpsight"), "--data", "/nowhere"]);
    for name in names {
        command.args(["--figure", name]);
    }
    let done = command.arg("--json").arg(&to).output().expect("it runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(serde_json::from_str(&std::fs::read_to_string(to).expect("the file")).expect("JSON"))
}

#[test]
fn rows_are_what_predict_says() {
    let s = Sandbox::new();
    let Some(found) = figures(&s, &["4", "25"]) else { return };
    let [loads, lbm] = found.as_array().expect("figures").as_slice() else { panic!("two figures") };
    // A warp's 32 lanes, of a point each.
    for (figure, file, key, lanes) in
        [(loads, "strided-load", "l1_cycles_per_point", 32.0), (lbm, "lbm-d3q15-interface", "points_per_second", 1.0)]
    {
        let rows = figure["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), if lanes > 1.0 { 3 } else { 49 }, "every block of 512 threads");
        for row in [&rows[0], &rows[rows.len() / 2], &rows[rows.len() - 1]] {
            let file = format!("{ROOT}/examples/accesses/{file}.toml");
            let set = row["set"].as_array().expect("settings").iter().flat_map(|own| ["--set", own.as_str().expect("a setting")]);
            let asked: Vec<&str> = ["predict", &file, "--device", "a100-40", "--json"].into_iter().chain(set).collect();
            let answer = |more: &[&str]| -> f64 {
                let said = s.run(&[asked.as_slice(), more].concat(), 0);
                let said: Value = serde_json::from_slice(&said.stdout).expect("JSON");
                said[key].as_f64().expect("a number") * lanes
            };
            assert_eq!(row["ours"].as_f64(), Some(answer(&[])), "{row}");
            assert_eq!(row["paper002"].as_f64(), Some(answer(&["--model", "paper002"])), "{row}");
        }
    }
    // What the paper states stands beside each.
    let stated = loads["published"].as_array().expect("numbers");
    assert_eq!(stated.len(), 3);
    assert!(stated.iter().all(|number| number["value"].as_f64() == number["ours"].as_f64()), "{stated:?}");
}
