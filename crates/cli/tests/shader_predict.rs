//! `shader predict` and `shader diff`: what they say of shaders, and of what is none.

mod common;

use common::{Sandbox, said};
use serde_json::Value;
use std::io::Write;
use std::process::{Output, Stdio};
use warpsight_ir::Seconds;
use warpsight_learn::calibration::Head;
use warpsight_learn::models::{Amount, Method, Row};
use warpsight_learn::predictor::{Device, Predictor};

/// What the test's model thinks that operations cost, in picoseconds.
const COSTS: &[(&str, f64)] =
    &[("ext.sin", 300.0), ("ext.cos", 300.0), ("f32.add", 10.0), ("f32.mul", 10.0), ("texture.2d.sample", 2000.0)];
const PIXELS: f64 = 512.0 * 384.0;

const WAVES: &str = "uniform float iTime;
uniform sampler2D picture;
varying vec2 uv;
float wave(float x) {
  return sin(x) + cos(x * iTime);
}
void main() {
  float sum = 0.0;
  for (int i = 0; i < 40; i++)
    sum += wave(uv.x + float(i) * sum);
  gl_FragColor = texture2D(picture, uv) * sum;
}
";

/// A shader that does so much of each, and takes what that costs.
fn row(id: usize, amounts: &[f64]) -> Row {
    let counted =
        || COSTS.iter().zip(amounts).map(|((name, _), n)| ((*name).to_owned(), Amount { traced: *n, masked: *n, text: 1.0 })).collect();
    let cost: f64 = COSTS.iter().zip(amounts).map(|((_, ps), n)| ps * 1e-12 * n).sum();
    Row {
        id: format!("{id:016x}"),
        source: "test".to_owned(),
        group: format!("{id:016x}"),
        mutant: false,
        loops: false,
        pixels: PIXELS,
        seconds: Some(Seconds((1e-4 + cost * PIXELS) * if id.is_multiple_of(2) { 1.02 } else { 0.98 })),
        operations: counted(),
        lean: counted(),
        opcodes: [].into(),
        sizes: [("blocks".to_owned(), 1.0)].into(),
        words: [].into(),
    }
}

fn rows() -> Vec<Row> {
    (0..60)
        .map(|i| row(i, &[(i * 3 % 50) as f64, (i * 7 % 45) as f64, (i * 11 % 90) as f64, (i * 5 % 80) as f64, (i % 4) as f64]))
        .collect()
}

fn model() -> Predictor {
    let device = Device { name: "lavapipe".to_owned(), description: "llvmpipe of a test".to_owned(), software: true };
    Predictor::fit(device, Method::Nnls, &rows().iter().collect::<Vec<_>>()).expect("a model")
}

struct Files(Sandbox);

impl Files {
    fn new() -> Self {
        let files = Self(Sandbox::new());
        files.write("model.json", model().text().expect("text").as_bytes());
        files
    }
    fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.0.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, bytes).expect("writes");
        self.0.text(name)
    }
    fn shader(&self, verb: &str, args: &[&str], code: i32) -> Output {
        self.0.run(&[&["shader", verb, "--model", &self.0.text("model.json")], args].concat(), code)
    }
    fn json(&self, verb: &str, args: &[&str], code: i32) -> Value {
        let output = self.shader(verb, &[args, &["--json"]].concat(), code);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", said(&output)))
    }
    /// Asserts the exit code and that all these are said.
    fn refused(&self, verb: &str, args: &[&str], code: i32, says: &[&str]) {
        let text = said(&self.shader(verb, args, code));
        says.iter().for_each(|word| assert!(text.contains(word), "{args:?}: `{word}` is not in: {text}"));
    }
}

#[test]
fn a_shader_has_a_time_an_interval_and_costly_lines() {
    let files = Files::new();
    let file = files.write("waves.frag", WAVES.as_bytes());
    let value = files.json("predict", &[&file], 0);
    assert_eq!(value["source"], "predicted");
    let shader = &value["shaders"][0];
    assert_eq!((&shader["file"], &shader["frame"]), (&Value::from(file.as_str()), &serde_json::json!([512, 384])));
    let device = &shader["devices"][0];
    assert_eq!(device["device"], "lavapipe");
    assert!(device["note"].as_str().expect("a note").starts_with("a CPU rasteriser"));
    // Forty sines and cosines, some eighty products and a hundred sums, a texel.
    let cost = 1e-4 + PIXELS * 1e-12 * (80.0 * 300.0 + 2000.0);
    let seconds = device["seconds"].as_f64().expect("seconds");
    assert!((0.9 * cost..1.4 * cost).contains(&seconds), "{seconds:e} {cost:e}");
    let [low, high] = [0, 1].map(|i| device["interval"][i].as_f64().expect("an end"));
    assert!(low < seconds && seconds < high && high < 1.2 * seconds, "{low} {seconds} {high}");
    let lines = device["lines"].as_array().expect("lines");
    assert_eq!(lines[0]["line"], 5, "{lines:?}");
    assert_eq!(lines[0]["text"], "  return sin(x) + cos(x * iTime);");
    let shares: Vec<f64> = lines.iter().map(|l| l["share"].as_f64().expect("a share")).collect();
    assert!(shares[0] > 0.8, "{shares:?}");
    let rest: f64 = ["draw", "without_line"].map(|k| device["shares"][k].as_f64().expect("a share")).iter().sum();
    assert!((shares.iter().sum::<f64>() + rest - 1.0).abs() < 1e-9);
    let blocks: f64 = device["blocks"].as_array().expect("blocks").iter().map(|b| b["share"].as_f64().expect("a share")).sum();
    assert!((blocks + device["shares"]["draw"].as_f64().expect("a share") - 1.0).abs() < 1e-9);
    let assumed: Vec<&str> = device["assumptions"].as_array().expect("a list").iter().filter_map(|a| a["name"].as_str()).collect();
    assert_eq!(assumed, ["iTime", "picture"]);
    // A quarter of the pixels is out of range, and a given uniform is not assumed.
    let small = files.json("predict", &[&file, "--resolution", "256x192", "--uniform", "iTime=3", "--texture-size", "64"], 0);
    let small = &small["shaders"][0]["devices"][0];
    assert!(small["seconds"].as_f64().expect("seconds") < 0.35 * seconds);
    assert!(small["extrapolating"].as_array().expect("a list").iter().any(|o| o["what"] == "pixels"), "{small}");
    assert_eq!(small["assumptions"][0]["size"], serde_json::json!([64, 64, 1]));
    // For people.
    let text = said(&files.shader("predict", &[&file], 0));
    for word in [
        "(predicted)",
        "a CPU rasteriser",
        "return sin(x) + cos(x * iTime);",
        "assumed: iTime = 1; picture: noise",
        "% of such shaders take",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

#[test]
fn standard_input_folders_and_several_files() {
    let files = Files::new();
    files.write("all/b/waves.frag", WAVES.as_bytes());
    files.write("all/a.glsl", b"void mainImage(out vec4 c, in vec2 p) { c = vec4(sin(iTime)); }");
    files.write("all/notes.txt", b"no shader");
    let value = files.json("predict", &[&files.0.text("all")], 0);
    let names: Vec<&str> = value["shaders"].as_array().expect("a list").iter().filter_map(|s| s["file"].as_str()).collect();
    assert_eq!(names, [files.0.text("all/a.glsl"), files.0.text("all/b/waves.frag")]);
    let table = said(&files.shader("predict", &[&files.0.text("all"), "--threads", "2"], 0));
    assert!(table.contains("lavapipe is a CPU rasteriser") && table.contains("predicted") && table.contains("5 ("), "{table}");
    let mut command = files.0.command(&["shader", "predict", "--model", &files.0.text("model.json"), "-", "--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    child.stdin.take().expect("a pipe").write_all(WAVES.as_bytes()).expect("writes");
    let output = child.wait_with_output().expect("ends");
    let piped: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let mut expected = value["shaders"][1].clone();
    expected["file"] = "standard input".into();
    assert_eq!(piped["shaders"][0], expected, "the same shader has the same prediction");
    files.refused(
        "predict",
        &[&files.0.text("all/b"), &files.0.text("nowhere.frag")],
        5,
        &["nowhere.frag", "waves.frag", "1 of 2 shaders"],
    );
    files.write("empty/notes.txt", b"");
    files.refused("predict", &[&files.0.text("empty")], 2, &["no shaders in this folder"]);
}

#[test]
fn a_batch_goes_on_after_what_is_broken() {
    let files = Files::new();
    let good = files.write("good.frag", WAVES.as_bytes());
    let bad = files.write("bad.frag", b"void main() { gl_FragColor = vec4(colour); }");
    let value = files.json("predict", &[&bad, &good, &files.0.text("none.spv")], 2);
    let shaders = value["shaders"].as_array().expect("a list");
    assert_eq!(shaders.len(), 3);
    assert!(shaders[0]["error"]["message"].as_str().expect("a message").contains("'colour' : undeclared identifier"), "{}", shaders[0]);
    assert_eq!(shaders[0]["file"], bad.as_str());
    assert!(shaders[1]["devices"][0]["seconds"].as_f64().expect("seconds") > 0.0);
    assert_eq!(shaders[2]["error"]["kind"], "io");
    files.refused("predict", &[&bad, &good], 2, &["undeclared", "good.frag", "1 of 2 shaders have no prediction"]);
}

#[test]
fn what_is_wrong_with_a_shader_is_said_at_its_line() {
    let files = Files::new();
    let broken = files.write("broken.frag", b"uniform float a;\n\nvoid main() {\n  float x = a * ;\n  gl_FragColor = vec4(x);\n}\n");
    files.refused("predict", &[&broken], 2, &["broken.frag:4:3", "syntax error"]);
    let vertex = files.write("vertex.vert", b"attribute vec3 p; void main() { gl_Position = vec4(p, 1.0); }");
    files.refused("predict", &[&vertex], 2, &["vertex.vert", "no fragment shader"]);
    let endless = files.write(
        "endless.frag",
        b"uniform float speed;\nvoid main() {\n  float x = 0.0;\n  while (x < 1.0)\n    x += speed * 0.0;\n  gl_FragColor = vec4(x);\n}\n",
    );
    files.refused(
        "predict",
        &[&endless, "--budget", "100000"],
        2,
        &["more than 100000 instructions", "an endless loop", "--uniform", "--budget"],
    );
    let shader = files.write("waves.frag", WAVES.as_bytes());
    files.refused("predict", &[&shader, "--strict"], 2, &["--strict", "iTime = 1", "picture: noise", "--uniform NAME=VALUE"]);
    files.refused("predict", &[&shader, "--uniform", "iTine=1"], 2, &["no uniform `iTine`; it has"]);
    files.refused("predict", &[&shader, "--uniform", "iTime=1,2"], 2, &["`iTime` has 1 components, 2 values were given"]);
    files.refused("predict", &[&shader, "--resolution", "0x5"], 2, &["a frame of 0×5 pixels"]);
    files.refused("predict", &[&shader, "--quads", "0"], 2, &["a number of quads"]);
    let binary = files.write("binary.frag", &[0xff; 40]);
    files.refused("predict", &[&binary], 2, &["neither SPIR-V nor text"]);
}

/// The words of a shader that glslang wrote, as a corpus keeps them.
fn module() -> Vec<u32> {
    let bytes = include_bytes!("../../shader/tests/shaders/loops.spv");
    bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
}

#[test]
fn hostile_modules_are_refused() {
    let files = Files::new();
    let write = |name: &str, words: &[u32]| files.write(name, &words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>());
    let words = module();
    let good = write("good.spv", &words);
    let value = files.json("predict", &[&good], 0);
    assert!(value["shaders"][0]["devices"][0]["blocks"].as_array().expect("blocks").len() > 3);
    files.refused("predict", &[&write("short.spv", &words[..words.len() / 2])], 2, &["short.spv", "ends within"]);
    files.refused("predict", &[&files.write("odd.spv", &[3, 2, 35, 7, 1])], 2, &["no whole number of words"]);
    files.refused("predict", &[&files.write("text.spv", b"this is text")], 2, &["does not begin with its magic number"]);
    // The first instruction says that it has no words, or all there are.
    for (count, says) in [(0u32, "has 0 words"), (0xffff, "ends within")] {
        let mut broken = words.clone();
        broken[5] = broken[5] & 0xffff | count << 16;
        files.refused("predict", &[&write("count.spv", &broken)], 2, &[says]);
    }
    // A huge bound is no reason to take memory; an id beyond the bound is refused.
    let mut huge = words.clone();
    huge[3] = u32::MAX;
    assert_eq!(files.json("predict", &[&write("huge.spv", &huge)], 0)["shaders"][0]["devices"], value["shaders"][0]["devices"]);
    let mut small = words.clone();
    small[3] = 2;
    files.refused("predict", &[&write("bound.spv", &small)], 2, &["is not below the module's bound 2"]);
    // The function that main calls calls itself.
    let call = words.windows(4).position(|w| w[0] & 0xffff == 57 && w[0] >> 16 >= 4).expect("a call");
    let callee = words[call + 3];
    let at = words.windows(3).position(|w| w[0] == 5 << 16 | 54 && w[2] == callee).expect("its function");
    let label = at + words[at..].windows(2).position(|w| w[0] == 2 << 16 | 248).expect("its first block");
    let end = words.iter().copied().take(label).collect::<Vec<_>>();
    let own: Vec<u32> = words[call..call + (words[call] >> 16) as usize].to_vec();
    let mut fresh = own.clone();
    fresh[2] = words[3];
    let mut recursive = [&end[..], &words[label..label + 2], &fresh, &words[label + 2..]].concat();
    recursive[3] += 1;
    files.refused("predict", &[&write("recursive.spv", &recursive)], 2, &["calls itself"]);
}

#[test]
fn models_and_calibrations_must_fit() {
    let files = Files::new();
    let shader = files.write("waves.frag", WAVES.as_bytes());
    let text = model().text().expect("text");
    let newer = files.write("newer.json", text.replace("shader-model/1", "shader-model/99").as_bytes());
    let run = |args: &[&str], code| said(&files.0.run(&[&["shader", "predict", &shader], args].concat(), code));
    let refusal = run(&["--model", &newer], 2);
    assert!(refusal.contains("warpsight-shader-model/99") && refusal.contains("shader train"), "{refusal}");
    assert!(run(&["--model", &shader], 2).contains("no model of shaders"));
    assert!(run(&["--model", "missing.json"], 5).contains("missing.json"));
    let unknown = run(&["--device", "voodoo"], 2);
    assert!(unknown.contains("no model ships for `voodoo`") && unknown.contains("lavapipe"), "{unknown}");
    // A head of this model names its device; it refuses another model.
    let gpu = Device { name: "Radeon of a test".to_owned(), description: "radv".to_owned(), software: false };
    let measured: Vec<(String, Row, Seconds)> = rows()
        .into_iter()
        .take(20)
        .map(|row| {
            let seconds = Seconds(0.01 * model().predict(&row).seconds.0);
            (row.id.clone(), row, seconds)
        })
        .collect();
    let head = Head::fit(gpu, &model(), &measured).expect("a head");
    let head = files.write("head.json", head.text().expect("text").as_bytes());
    let value = files.json("predict", &[&shader, "--calibration", &head], 0);
    let devices = value["shaders"][0]["devices"].as_array().expect("devices");
    assert_eq!(devices[1]["device"], "Radeon of a test");
    assert_eq!((&devices[1]["note"], &devices[1]["calibration"]["shaders"]), (&Value::Null, &Value::from(20)));
    let ratio = devices[1]["seconds"].as_f64().expect("seconds") / devices[0]["seconds"].as_f64().expect("seconds");
    assert!((ratio - 0.01).abs() < 1e-4, "{ratio}");
    let mut other = model();
    other.device.description.push_str(", another version");
    let other = files.write("other.json", other.text().expect("text").as_bytes());
    let refusal = run(&["--model", &other, "--calibration", &head], 2);
    assert!(refusal.contains("it was fitted to the model") && refusal.contains("shader calibrate"), "{refusal}");
}

#[test]
fn two_shaders_are_compared_and_the_exit_code_says_which_is_slower() {
    let files = Files::new();
    let before = files.write("before.frag", WAVES.as_bytes());
    let same = files.write("same.frag", format!("// a comment\n\n{WAVES}").as_bytes());
    let after = files.write("after.frag", WAVES.replace("i < 40", "i < 60").as_bytes());
    let other = files.write("other.frag", WAVES.replace("sin(x) + cos(x * iTime)", "sin(x) + cos(x * iTime) + cos(x)").as_bytes());
    let equal = files.json("diff", &[&before, &same], 0);
    let device = &equal["devices"][0];
    assert_eq!((&device["change"], &device["interval"]), (&Value::from(0.0), &serde_json::json!([0.0, 0.0])));
    assert_eq!((&equal["slower"], device["lines"].as_array().map(Vec::len)), (&Value::from(false), Some(0)));
    let slower = files.json("diff", &[&before, &after], 1);
    let device = &slower["devices"][0];
    let change = device["change"].as_f64().expect("a change");
    assert!((0.4..0.5).contains(&change), "{change}");
    let [low, high] = [0, 1].map(|i| device["interval"][i].as_f64().expect("an end"));
    assert!(low < change && change < high && low > 0.3 && high < 0.7, "{low} {high}");
    assert_eq!(device["lines"][0]["first"], serde_json::json!([5]));
    let operations: Vec<&str> = device["operations"].as_array().expect("a list").iter().filter_map(|o| o["operation"].as_str()).collect();
    assert!(operations[..2].contains(&"ext.sin") && operations[..2].contains(&"ext.cos"), "{operations:?}");
    files.json("diff", &[&before, &after, "--fail-above", "60%"], 0);
    files.json("diff", &[&after, &before], 0);
    // Another sum makes other lines; the change is on the one that was edited.
    let edited = files.json("diff", &[&before, &other, "--fail-above", "0.9"], 0);
    let lines = edited["devices"][0]["lines"].as_array().expect("lines");
    assert!(lines[..2].iter().all(|l| l["text"].as_str().is_some_and(|t| t.starts_with("return sin(x)"))), "{lines:?}");
    let text = said(&files.shader("diff", &[&before, &after], 1));
    for word in ["% slower", "(predicted)", "a CPU rasteriser", "with 80 % confidence", "--fail-above allows 5.0 %", "ext.sin"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    files.refused("diff", &[&before, "nothing.frag"], 5, &["nothing.frag"]);
    files.refused("diff", &[&before, &after, "--fail-above=-3"], 2, &["a share"]);
    // What is said of lines and of operations sums to what is said of the shader.
    for (second, said) in [(&after, slower), (&other, edited)] {
        let device = &said["devices"][0];
        for parts in ["lines", "operations"] {
            let sum: f64 = device[parts].as_array().expect("a list").iter().map(|p| p["change"].as_f64().expect("a change")).sum();
            assert!((sum - device["change"].as_f64().expect("a change")).abs() < 1e-6, "{second}: {parts}: {sum}: {device}");
        }
    }
    for (share, says) in [("5", ["5%", "0.05"]), ("1", ["1%", "0.01"]), ("500", ["500%", "5"])] {
        files.refused("diff", &[&before, &after, "--fail-above", share], 2, &says);
    }
    files.json("diff", &[&before, &after, "--fail-above", "100%"], 0);
}
