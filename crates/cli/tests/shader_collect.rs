//! `warpsight shader collect`: from folders to a corpus, and what it says of bad input.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn collect(paths: &[&Path], into: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsight"));
    command.args(["shader", "collect", "--into"]).arg(into).args(paths).args(more);
    command.output().expect("the command runs")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/shaders/sample")
}

fn entries(corpus: &Path) -> BTreeMap<String, Value> {
    let text = std::fs::read_to_string(corpus.join("corpus.jsonl")).expect("a corpus");
    let all = text.lines().map(|l| serde_json::from_str::<Value>(l).expect("an entry"));
    all.map(|e| (e["origin"].as_str().expect("an origin").to_owned(), e)).collect()
}

#[test]
fn the_sample_becomes_a_corpus() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("corpus");
    let page = folder.path().join("page.html");
    let output = collect(&[&sample()], &corpus, &["--json", "--html", page.to_str().unwrap()]);
    assert!(output.status.success());
    let report = json(&output);
    let all = report["funnel"].as_array().unwrap().last().unwrap();
    let numbers = ["found", "text", "wrapped", "compiled", "read", "valid", "traced", "unique", "looping", "groups"];
    assert_eq!(numbers.map(|n| all[n].as_u64().unwrap()), [60, 60, 60, 60, 60, 60, 60, 60, 21, 59]);
    assert_eq!(report["corpus"]["instructions"], serde_json::json!([174, 624, 944]));

    // Ids, licences and sources are those of the files.
    let entries = entries(&corpus);
    let ids: String = entries.iter().map(|(origin, e)| format!("{} {origin}\n", e["id"].as_str().unwrap())).collect();
    assert_eq!(ids, std::fs::read_to_string(sample().join("ids.txt")).unwrap());
    let water = &entries["paper-design-shaders_water.frag"];
    assert_eq!((water["source"].as_str(), water["licence"].as_str()), (Some("@paper-design/shaders"), Some("Apache-2.0")));
    assert_eq!(entries["butterchurn-presets_444_warp.frag"]["dialect"], "butterchurn-warp");
    for entry in entries.values() {
        let id = entry["id"].as_str().unwrap();
        assert!(corpus.join(format!("spv/{id}.spv")).is_file() && corpus.join(format!("glsl/{id}.frag")).is_file());
    }

    // The page is well-formed and loads nothing.
    let page = std::fs::read_to_string(page).unwrap();
    let parsed =
        roxmltree::Document::parse_with_options(&page, roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() }).unwrap();
    assert_eq!(parsed.descendants().filter(|n| n.has_tag_name(("http://www.w3.org/2000/svg", "svg"))).count(), 3);
    assert!(!page.contains("src=") && page.contains("@paper-design/shaders"));

    // Once more: nothing is compiled or written anew, and nothing changes.
    let before = std::fs::read(corpus.join("corpus.jsonl")).unwrap();
    let any = corpus.join(format!("spv/{}.spv", water["id"].as_str().unwrap()));
    let written = any.metadata().unwrap().modified().unwrap();
    let again = collect(&[&sample()], &corpus, &["--json", "--threads", "1"]);
    assert_eq!(json(&again), report);
    assert_eq!(std::fs::read(corpus.join("corpus.jsonl")).unwrap(), before);
    assert_eq!(any.metadata().unwrap().modified().unwrap(), written);
}

#[test]
fn a_batch_goes_on_and_says_what_it_left() {
    let folder = tempfile::tempdir().unwrap();
    let shaders = folder.path().join("mine");
    std::fs::create_dir(&shaders).unwrap();
    let file = |name: &str, text: &[u8]| std::fs::write(shaders.join(name), text).unwrap();
    file("good.frag", b"uniform float a; // = 0.5\nvoid main() { gl_FragColor = vec4(a); }\n");
    file("same.glsl", b"/* the same */ uniform float b;\nvoid main() { gl_FragColor = vec4(b); }\n");
    file("wrong.frag", b"varying vec2 uv;\n\nvoid main() {\n  gl_FragColor = vec4(uv, colour, 1.0);\n}\n");
    file("vertex.glsl", b"attribute vec3 p; void main() { gl_Position = vec4(p, 1.0); }");
    file("latin.frag", b"// \xe9t\xe9\nvoid main() {}\n");
    file("endless.frag", b"void main() { float x = 1.0; while (x > 0.0) x += 1e-9; gl_FragColor = vec4(x); }");
    file("huge.frag", &vec![b' '; (1 << 20) + 1]);
    file("empty.frag", b"");
    let output = collect(&[&shaders], &folder.path().join("corpus"), &["--json"]);
    assert!(output.status.success());
    let report = json(&output);
    let failures: Vec<String> = report["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| {
            format!("{}:{} {}: {}", f["origin"].as_str().unwrap(), f["line"], f["step"].as_str().unwrap(), f["message"].as_str().unwrap())
        })
        .collect();
    assert_eq!(failures[0], "empty.frag:null wrapped: there is nothing in it");
    assert!(failures[1].starts_with("endless.frag:null traced: ") && failures[1].contains("endless loop"), "{}", failures[1]);
    assert_eq!(failures[2], "huge.frag:null text: it has 1048577 bytes; at most 1048576 are read");
    assert_eq!(failures[3], "latin.frag:null text: this is not text (UTF-8): byte 3 is wrong");
    assert_eq!(failures[4], "vertex.glsl:null wrapped: it is a vertex shader, no fragment shader");
    assert_eq!(failures[5], "wrong.frag:4 compiled: 'colour' : undeclared identifier");
    assert_eq!(failures.len(), 6);
    let entries = entries(&folder.path().join("corpus"));
    assert_eq!(entries.len(), 1, "names and comments make no other shader");
    assert_eq!(entries["good.frag"]["uniforms"], serde_json::json!({"a": [0.5]}));
}

#[test]
fn nothing_to_collect_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let shaders = folder.path().join("shaders");
    std::fs::create_dir(&shaders).unwrap();
    let corpus = folder.path().join("corpus");
    let says = |paths: &[&Path]| {
        let output = collect(paths, &corpus, &["--json"]);
        let error: Value = serde_json::from_slice(output.stderr.split(|b| *b == b'\n').rfind(|l| !l.is_empty()).unwrap()).unwrap();
        (
            output.status.code(),
            error["error"]["message"].as_str().unwrap().to_owned(),
            error["error"]["where"].as_str().unwrap_or("").to_owned(),
        )
    };
    let (code, message, _) = says(&[&shaders]);
    assert_eq!((code, message.starts_with("no shaders in it")), (Some(2), true));
    assert_eq!(says(&[&shaders.join("gone")]).0, Some(5));
    std::fs::write(shaders.join("a.frag"), "void main() {\n  gl_FragColor = 1;\n}\n").unwrap();
    let (code, message, place) = says(&[&shaders]);
    assert_eq!((code, place.as_str()), (Some(2), "a.frag:2"));
    assert!(message.contains("cannot convert"), "{message}");
    // A corpus that is none is not written over.
    std::fs::write(corpus.join("corpus.jsonl"), "{}\n").unwrap();
    assert!(says(&[&sample()]).1.contains("line 1 is no entry of a corpus"));
    assert_eq!(std::fs::read_to_string(corpus.join("corpus.jsonl")).unwrap(), "{}\n");
}
