//! What an adversary puts into files, names and disks: nothing is read without end, printed raw, or left half-written.
#![cfg(target_os = "linux")]

mod common;

use common::{Sandbox, WARPSIGHT, said};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output};

fn example(name: &str) -> String {
    format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Every file that a verb reads, by its argument: `ZERO` stands for a file that never ends, with the ending that follows.
const READERS: &[&str] = &[
    "predict ZERO --device a100-40",
    "predict STAR --device ZERO.toml",
    "predict STAR --device a100-40 --volumes ZERO",
    "explore ZERO --device a100-40",
    "pipeline --device a100-40 ZERO",
    "pipeline --device a100-40 ZERO.onnx",
    "pipeline --device a100-40 GRAPH --compare ZERO",
    "pipeline --device a100-40 --check ZERO",
    "optimize ZERO.onnx",
    "run MODEL --input x=ZERO.npy --output OUT --device sim:adreno640",
    "run MODEL --input x=ZERO.png --output OUT --device sim:adreno640",
    "shader predict ZERO",
    "shader predict ZERO.frag",
    "shader predict SHADER --model ZERO.json",
    "shader trace ZERO",
    "shader diff ZERO SHADER",
    "shader evaluate --rows ZERO",
    "shader evaluate --corpus CORPUS --shots ZERO",
    "shader train --rows ZERO --out OUT",
    "import ZERO --store STORE",
    "import FOLDER --store STORE",
];

#[test]
fn nothing_is_read_without_end() {
    let s = Sandbox::new();
    for folder in ["CORPUS", "FOLDER"] {
        fs::create_dir(s.path(folder)).expect("a folder");
    }
    for name in ["ZERO", "ZERO.toml", "ZERO.onnx", "ZERO.npy", "ZERO.png", "ZERO.frag", "ZERO.json", "CORPUS/corpus.jsonl", "FOLDER/x.json"]
    {
        symlink("/dev/zero", s.path(name)).expect("a link");
    }
    fs::write(s.path("SHADER"), "void main() { gl_FragColor = vec4(1.0); }").expect("writes");
    for line in READERS {
        let args: Vec<String> = line
            .split(' ')
            .map(|word| match word {
                "STAR" => example("examples/accesses/star2d5-f64.toml"),
                "GRAPH" => example("examples/dataflow/nerf.json"),
                "MODEL" => example("models/text-orientation.onnx"),
                word if word.starts_with("x=") => format!("x={}", s.text(&word[2..])),
                word if word.chars().next().is_some_and(char::is_uppercase) => s.text(word),
                word => word.to_owned(),
            })
            .collect();
        let output = s.run(&args.iter().map(String::as_str).collect::<Vec<_>>(), 2);
        let said = said(&output);
        assert!(said.contains("it has more than") && said.contains("are read"), "{line}: {said}");
    }
}

#[test]
fn an_error_quotes_little_of_a_long_line() {
    let s = Sandbox::new();
    let long = "y".repeat(10 << 20);
    let quoted = |before: &str, after: &str| format!("{before}{long}{after}");
    let cases: &[(&[&str], String)] = &[
        (&["predict", "--device", "a100-40"], quoted("name = \"x\" ", "")),
        (&["predict", "--device", "a100-40"], quoted("name = \"x\"\n", " = 1")),
        (&["predict", "--device", "a100-40"], quoted("domain = [\"", "\"]")),
        (&["predict", &example("examples/accesses/star2d5-f64.toml"), "--device"], quoted("name = \"x\" ", "")),
        (&["predict", &example("examples/accesses/star2d5-f64.toml"), "--device", "a100-40", "--volumes"], quoted("{\"", "\": 1}")),
        (&["pipeline", "--device", "a100-40"], quoted("{\"format\":\"", "\"}")),
        (&["pipeline", "--device", "a100-40"], quoted("[", "")),
        (&["pipeline", "--device", "a100-40", "--check"], quoted("{\"", "\":1}")),
        (&["shader", "evaluate", "--rows"], quoted("{\"format\":\"", "\"}")),
        (&["import"], quoted("{\"", "\":1}")),
    ];
    for (args, text) in cases {
        let file = s.text("long.toml");
        fs::write(&file, text).expect("writes");
        for json in [&[][..], &["--json"]] {
            let output = s.run(&[args, &[file.as_str()][..], json].concat(), 2);
            assert!(output.stderr.len() < 3_000, "{args:?}: {} bytes", output.stderr.len());
            // Reports fill up lines; nothing quoted is longer than a line of 200.
            let most = said(&output).matches('y').count();
            assert!(most < 450, "{args:?}: {most}");
        }
    }
}

const NAME: &str = "a\u{1b}[31m\u{1b}]0;t\u{7}\rb\nFORGED \u{9b}2J\u{202e}c";

/// Neither obeyed by a terminal, nor taken for lines of ours.
fn harmless(output: &Output) {
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let raw = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
    assert_eq!(raw, None, "{text}");
    assert!(!text.lines().any(|line| line.starts_with("FORGED")), "{text}");
    assert!(text.contains("FORGED"), "the name is shown: {text}");
}

#[test]
fn names_are_shown_and_not_obeyed() {
    let s = Sandbox::new();
    let written = |name: &str, text: String| {
        fs::write(s.path(name), text).expect("writes");
        s.text(name)
    };
    // As TOML and JSON write it.
    let name = serde_json::to_string(NAME).expect("JSON").replace('\u{9b}', "\\u009b");
    let star = fs::read_to_string(example("examples/accesses/star2d5-f64.toml")).expect("an example");
    let kernel = written("kernel.toml", star.replace("\"star2d5-f64\"", &name).replace("\"A\"", &name));
    harmless(&s.run(&["predict", &kernel, "--device", "a100-40"], 0));
    harmless(&s.run(&["predict", &kernel, "--device", "a100-40,mi210"], 0));
    harmless(&s.run(&["explore", &kernel, "--device", "a100-40", "--block-sizes", "64x2"], 0));
    let found: Value = serde_json::from_slice(&s.run(&["predict", &kernel, "--device", "a100-40", "--json"], 0).stdout).expect("JSON");
    assert!(found.to_string().contains(&serde_json::to_string(NAME).expect("JSON")[1..8]), "{found}");

    let graph: Value =
        serde_json::from_str(&fs::read_to_string(example("examples/dataflow/nerf.json")).expect("an example")).expect("JSON");
    let renamed = graph.to_string().replace("\"NERF\"", &name).replace("\"t5\"", &name);
    let graph = written("graph.json", renamed.clone());
    harmless(&s.run(&["pipeline", "--device", "a100-40", &graph], 0));
    // What is wrong is about the name.
    let broken = written("broken.json", renamed.replacen(&format!("{name}:"), "\"gone\":", 1));
    harmless(&s.run(&["pipeline", "--device", "a100-40", &broken], 2));

    let file = s.path(&NAME.replace('/', ""));
    fs::write(&file, "void main() { gl_FragColor = vec4(1.0); }").expect("writes");
    let file = file.to_str().expect("text");
    harmless(&s.run(&["shader", "predict", file], 0));
    harmless(&s.run(&["shader", "predict", file, file, &s.text("kernel.toml")], 2));
    harmless(&s.run(&["predict", file, "--device", "a100-40"], 2));
    harmless(&s.run(&["predict", &s.text(&format!("gone{NAME}")), "--device", "a100-40"], 5));
}

#[test]
fn a_full_disk_is_said_and_nothing_is_left() {
    let s = Sandbox::new();
    let star = example("examples/accesses/star2d5-f64.toml");
    let explore = format!("explore {star} --device a100-40 --block-sizes 128 --sweep n=64..6400:64");
    fs::write(s.path("table.csv"), "before").expect("writes");
    // Files may not grow beyond 8 KiB; pipes may.
    let line = format!("ulimit -f 8; exec {WARPSIGHT} {explore} --csv {}", s.text("table.csv"));
    let output = Command::new("bash").args(["-c", &line]).output().expect("bash");
    assert_eq!(output.status.code(), Some(5), "{}", said(&output));
    assert!(said(&output).contains("table.csv") && said(&output).contains("File too large"), "{}", said(&output));
    assert_eq!(fs::read(s.path("table.csv")).expect("there"), b"before");
    assert_eq!(fs::read_dir(s.path("")).expect("a folder").count(), 1, "no temporary file is left");

    for (redirected, code) in [("--csv /dev/full", 5), (">/dev/full", 5), ("2>/dev/full", 0), ("--fold nonsense 2>/dev/full", 2)] {
        let output = Command::new("bash").args(["-c", &format!("{WARPSIGHT} {explore} {redirected}")]).output().expect("bash");
        assert_eq!(output.status.code(), Some(code), "{redirected}: {}", said(&output));
    }
}
