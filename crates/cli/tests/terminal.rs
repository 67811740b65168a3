//! What people see: tables that fit the terminal.

mod common;

use common::Sandbox;
use std::time::{Duration, Instant};

/// Prints tables, each with more than 100 characters a row where there is room.
const TABLES: &[&[&str]] = &[
    &["battery", "--list"],
    &["devices"],
    &["optimize", "--op", "softmax n=4 c=40000", "--sequences", "direct"],
    &["predict", "examples/accesses/star3d-r4-f64.toml", "--device", "h200", "v100"],
    &["explore", "examples/accesses/star3d-r4-f64.toml", "--device", "a100-40", "--block-sizes", "1024", "--fold", "1,2y"],
    &["pipeline", "examples/dataflow/nerf.json", "--device", "a100-40", "--policy", "kitsune"],
    &["compile", "--help"],
];

fn printed(args: &[&str], columns: Option<&str>) -> String {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(args);
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).env_remove("COLUMNS");
    if let Some(columns) = columns {
        command.env("COLUMNS", columns);
    }
    let output = command.output().expect("starts");
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Lines of columns: two spaces part them, which no sentence has. Times differ from run to run, words do not.
fn rows(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.trim_start().contains("  ")).collect()
}

#[test]
fn tables_fit_the_terminal_and_a_pipe_has_everything() {
    for args in TABLES {
        for columns in ["80", "100", "200"] {
            let text = printed(args, Some(columns));
            let most: usize = columns.parse().expect("a number");
            let wide: Vec<&str> = rows(&text).into_iter().filter(|line| line.chars().count() > most).collect();
            assert_eq!(wide, Vec::<&str>::new(), "{args:?} at {columns}");
        }
        let (piped, all) = (printed(args, None), printed(&[args, &["--wide"][..]].concat(), Some("80")));
        assert!(!piped.contains("--wide shows all)") && !all.contains("--wide shows all)"), "{args:?}\n{piped}");
        assert_eq!(rows(&piped).first(), rows(&all).first(), "{args:?}");
    }
}

#[test]
fn what_is_left_out_is_named() {
    let text = printed(TABLES[2], Some("80"));
    assert!(text.contains("\n(left out: op, output; --wide shows all)\n"), "{text}");
    assert!(!text.lines().next().expect("headings").contains("configuration") && text.lines().any(|line| line == "    configuration"));
    let whole = printed(TABLES[2], None);
    let headings: Vec<&str> = whole.lines().next().expect("headings").split("  ").map(str::trim).filter(|word| !word.is_empty()).collect();
    let expected =
        ["operator", "uses", "op", "output", "predicted us", "time us", "source", "share %", "% of bound", "limiter", "configuration"];
    assert_eq!(headings, expected);
}

/// A program that reads errors as JSON gets nothing else; people get lines, but none of what is done at once.
#[test]
fn short_work_tells_no_progress() {
    for json in [&[][..], &["--json"]] {
        let args = [&["optimize", "--op", "softmax n=4 c=100"], json].concat();
        let begin = Instant::now();
        let output = Sandbox::new().run(&args, 0);
        if !json.is_empty() || begin.elapsed() < Duration::from_secs(1) {
            assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        }
    }
}
