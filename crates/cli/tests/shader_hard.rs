//! Shaders that ask for much: text that only a compiler's limits stop, production GLSL, several passes.

mod common;

use common::{Sandbox, said};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const GOOD: &str = "uniform float t;\nvoid main() {\n  gl_FragColor = vec4(sin(t));\n}\n";

/// Macros of which each is twice the one before: a million sums in a thousand bytes.
fn doubling() -> String {
    let mut text = "uniform float t;\n#define a0 +t+t+t+t+t+t+t+t\n".to_owned();
    for i in 1..=17 {
        let _ = writeln!(text, "#define a{i} a{} a{}", i - 1, i - 1);
    }
    text + "void main() { gl_FragColor = vec4(t a17); }\n"
}

fn shader(s: &Sandbox, args: &[&str], code: i32) -> Value {
    let output = s.run(&[&["shader"], args, &["--json"]].concat(), code);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", said(&output)))
}

fn write(s: &Sandbox, name: &str, text: &str) -> String {
    let path = s.path(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("writes");
    s.text(name)
}

/// What is said of the only shader's passes, or of its only one: seconds.
fn seconds(said: &Value) -> f64 {
    said["devices"][0]["seconds"].as_f64().unwrap_or_else(|| panic!("no time: {said}"))
}

#[test]
fn what_the_compiler_does_not_survive_ends_no_folder() {
    let s = Sandbox::new();
    write(&s, "all/a.frag", GOOD);
    write(&s, "all/doubling.frag", &doubling());
    let nested = |n: usize| format!("void main() {{ gl_FragColor = vec4({}1.0{}); }}\n", "-(".repeat(n), ")".repeat(n));
    write(&s, "all/nested.frag", &nested(5_000));
    // Deep, but not too deep for a stack of its own.
    write(&s, "all/sum.frag", &format!("uniform float t; void main() {{ gl_FragColor = vec4(t{}); }}\n", " + t".repeat(25_000)));
    write(&s, "all/z.frag", GOOD);
    let said = shader(&s, &["predict", &s.text("all")], 2);
    let all = said["shaders"].as_array().expect("a list");
    let names: Vec<&str> = all.iter().filter_map(|v| v["file"].as_str()?.rsplit('/').next()).collect();
    assert_eq!(names, ["a.frag", "doubling.frag", "nested.frag", "sum.frag", "z.frag"], "every file is there by its name");
    assert_eq!(seconds(&all[0]), seconds(&all[4]));
    assert!(seconds(&all[3]) > seconds(&all[0]));
    for refused in [&all[1], &all[2]] {
        let message = refused["error"]["message"].as_str().expect("a message");
        assert!(message.contains("the compiler of GLSL"), "{message}");
        assert_eq!(refused["error"]["kind"], "input");
    }
    // A corpus of it, too.
    let said = shader(&s, &["collect", &s.text("all"), "--into", &s.text("corpus")], 0).to_string();
    assert!(said.contains("doubling.frag") && said.contains("nested.frag"), "{said}");
    let list = std::fs::read_to_string(s.path("corpus/corpus.jsonl")).expect("a list");
    assert_eq!(list.lines().count(), 2, "{list}");
}

const PRODUCTION: &str = "#version 460
#extension GL_AMD_gpu_shader_half_float : enable
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define half4 vec4
#define float16_t float
precision highp float;
#if __VERSION__ != 460
#error another version
#endif
struct Stop { vec4 colour; mat2 turn; float at[2]; };
layout(constant_id = 0) const float decal = 1.0;
layout(std140) readonly buffer Stops { int count; Stop stops[]; } stops;
uniform Info { half4 tint; float at; float gain[3]; } info;
uniform sampler2D picture;
in vec2 uv;
out half4 colour;
Stop nearest(float at) {
  Stop found = stops.stops[0];
  for (int i = 0; i < min(stops.stops.length(), 4); i++)
    if (stops.stops[i].at[1] < at) found = stops.stops[i];
  return found;
}
void main() {
  vec4 tint = texture(picture, uv) * float16_t(0.5hf);
  Stop stop = nearest(info.at);
  colour = tint * info.tint + stop.colour * decal + vec4(stop.turn * uv, info.gain[2], stop.at[0]);
}
";

#[test]
fn production_shaders_keep_their_version_extensions_blocks_and_buffers() {
    let s = Sandbox::new();
    let file = write(&s, "production.frag", PRODUCTION);
    let said = shader(&s, &["predict", &file, "--uniform", "gain=2"], 0);
    let shader_of = &said["shaders"][0];
    assert!(seconds(shader_of) > 0.0);
    let lines: Vec<u64> = shader_of["devices"][0]["lines"].as_array().expect("lines").iter().filter_map(|l| l["line"].as_u64()).collect();
    assert!(lines.iter().all(|l| (10..=27).contains(l)) && lines.contains(&26), "{lines:?}");
    let assumed = shader_of["devices"][0]["assumptions"].to_string();
    assert!(["Stops", "tint", "picture"].iter().all(|name| assumed.contains(name)), "{assumed}");
    // A local name hides no member of a block.
    let hidden = |name: &str| PRODUCTION.replace("vec4 tint =", &format!("vec4 {name} =")).replace("= tint *", &format!("= {name} *"));
    let other = write(&s, "other.frag", &hidden("other"));
    let same = shader(&s, &["diff", &file, &other], 0);
    assert_eq!(same["devices"][0]["change"].as_f64(), Some(0.0), "{same}");
    let es = "#version 310 es\nprecision highp float;\nlayout(std430, binding = 3) buffer B { mat4 m; vec3 v[]; } b;\nin vec2 uv;\nout vec4 c;\n\
        void main() { mat4 m = b.m; b.v[int(uv.x * 9.0)] = b.m[1].xyz; c = m * vec4(uv, b.v[2].x, 1.0); }\n";
    assert!(seconds(&shader(&s, &["predict", &write(&s, "es.frag", es)], 0)["shaders"][0]) > 0.0);
}

#[test]
fn a_shader_without_a_colour_is_a_shader() {
    let s = Sandbox::new();
    for (name, text) in [
        ("nothing.frag", "uniform float t;\nvoid main() { float x = t; }"),
        ("kill.frag", "uniform float t;\nvoid main() { if (t > 2.0) discard; }"),
        ("depth.frag", "#version 330\nuniform float t;\nvoid main() { gl_FragDepth = sin(t); }"),
        ("buffer.frag", "#version 430\nbuffer B { float x[]; };\nvoid main() { x[int(gl_FragCoord.x)] = 1.0; }"),
    ] {
        let said = shader(&s, &["predict", &write(&s, name, text)], 0);
        assert!(seconds(&said["shaders"][0]) > 0.0, "{name}");
    }
    let array = "#version 330\nlayout(location = 0) out vec4 c[2];\nvoid main() { c[0] = vec4(1.0); c[1] = vec4(0.5); }";
    shader(&s, &["predict", &write(&s, "array.frag", array)], 0);
}

const PASSES: &str = "/*{\"INPUTS\": [{\"NAME\": \"part\", \"TYPE\": \"float\", \"DEFAULT\": 4.0}],
  \"PASSES\": [{\"TARGET\": \"small\", \"WIDTH\": \"floor($WIDTH / $part)\", \"HEIGHT\": 32, \"PERSISTENT\": true}, {}]}*/
void main() {
  if (PASSINDEX == 0) {
    gl_FragColor = vec4(1.0);
  } else {
    vec4 sum = vec4(0.0);
    for (int i = 0; i < 30; i++) sum += IMG_NORM_PIXEL(small, isf_FragNormCoord + float(i) / RENDERSIZE);
    gl_FragColor = sum;
  }
}
";

#[test]
fn each_pass_is_predicted_and_their_sum_told() {
    let s = Sandbox::new();
    let file = write(&s, "blur.fs", PASSES);
    let said = shader(&s, &["predict", &file], 0);
    let all = &said["shaders"][0];
    let passes = all["passes"].as_array().expect("passes");
    assert_eq!(
        passes.iter().map(|p| (&p["pass"], &p["target"])).collect::<Vec<_>>(),
        [(&0.into(), &"small".into()), (&1.into(), &Value::Null)]
    );
    assert_eq!((&passes[0]["frame"], &passes[1]["frame"]), (&serde_json::json!([128, 32]), &serde_json::json!([512, 384])));
    let [first, second] = [&passes[0], &passes[1]].map(seconds);
    assert!(second > 3.0 * first && (seconds(all) - first - second).abs() < 1e-12, "{first} {second}");
    let text = common::said(&s.run(&["shader", "predict", &file], 0));
    assert!(["pass 1 of 2 (small)", "pass 2 of 2", "all 2 passes on lavapipe:"].iter().all(|word| text.contains(word)), "{text}");
    write(&s, "all/a.frag", GOOD);
    write(&s, "all/blur.fs", PASSES);
    let table = common::said(&s.run(&["shader", "predict", &s.text("all")], 0));
    assert!(table.contains("(2 passes)"), "{table}");
    let refused = common::said(&s.run(&["shader", "diff", &file, &file], 2));
    assert!(refused.contains("it has 2 passes"), "{refused}");
    let unknown = write(&s, "unknown.fs", &PASSES.replace("floor(", "fluor("));
    assert!(common::said(&s.run(&["shader", "predict", &unknown], 2)).contains("a pass whose size cannot be calculated"));
}

/// 36 shaders of a user interface's engine, where they are at hand.
#[test]
fn an_engines_shaders_pass_and_its_vertex_shaders_are_called_so() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/shaders/mali-offline");
    let Ok(found) = std::fs::read_dir(&folder) else { return eprintln!("skipped: {} is not there", folder.display()) };
    let s = Sandbox::new();
    let mut files: Vec<_> = found.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let of = |ending: &str| files.iter().filter(|f| f.extension().is_some_and(|e| e == ending)).collect::<Vec<_>>();
    let (fragments, vertices) = (of("frag"), of("vert"));
    assert_eq!((fragments.len(), vertices.len()), (26, 10));
    let mut modules = Vec::new();
    if Command::new("glslangValidator").arg("--version").output().is_ok() {
        std::fs::create_dir(s.path("spv")).expect("a folder");
        for file in &fragments {
            let module = s.path("spv").join(file.file_name().expect("a name")).with_extension("spv");
            let args = ["-V", "--target-env", "vulkan1.1", "--amb", "--aml", "-g"];
            let made = Command::new("glslangValidator").args(args).arg(file).arg("-o").arg(&module).output().expect("starts");
            assert!(made.status.success(), "{}", said(&made));
            modules.push(module);
        }
    }
    let names: Vec<&str> = fragments.iter().copied().chain(&modules).filter_map(|p| p.to_str()).collect();
    let said = shader(&s, &[&["predict"], &names[..]].concat(), 0);
    let times: Vec<f64> = said["shaders"].as_array().expect("a list").iter().map(seconds).collect();
    assert_eq!(times.len(), names.len());
    // The text and the module are one shader, though the wrapper makes inputs of the vertex stage in its own way.
    for (at, module) in times.iter().skip(26).enumerate() {
        let ratio = times[at] / module;
        assert!((0.3..3.0).contains(&ratio), "{}: {ratio}", names[at]);
    }
    for file in vertices {
        let text = common::said(&s.run(&["shader", "predict", file.to_str().expect("a name")], 2));
        assert!(text.contains("it is a vertex shader"), "{}: {text}", file.display());
    }
}
