//! What verbs of `shader` say to input that is none: each a sentence and the exit code of its kind.

mod common;

use common::{Sandbox, said};
use std::process::Command;

const GOOD: &str = "uniform float t; uniform vec3 tint; uniform int n; uniform sampler2D tex; varying vec2 v;\n\
    void main() { vec4 c = texture2D(tex, v); for (int i = 0; i < n; i++) c += sin(c * t); gl_FragColor = c * vec4(tint, 1.0); }\n";

/// Files that are no fragment shader, and what is said of them.
const TEXTS: &[(&str, &str, &str)] = &[
    ("empty.frag", "", "there is nothing in it"),
    ("empty.spv", "", "there is nothing in it"),
    ("blank.frag", " \n\t\n", "there is nothing in it"),
    ("data.frag", "{\"a\": 1}", "this looks like JSON"),
    ("page.frag", "<!DOCTYPE html><html><script>void main() {}</script></html>", "this looks like a page"),
    ("short.spv", "void", "it does not begin with its magic number"),
    ("odd.spv", "void main() {}", "14 bytes are no whole number of words"),
    ("vertex.frag", "#version 450\nlayout(location=0) in vec3 p;\nvoid main() { gl_Position = vec4(p, 1.0); }", "it is a vertex shader"),
    ("vertex100.frag", "attribute vec3 p; uniform mat4 m;\nvoid main() { gl_Position = m * vec4(p, 1.0); }", "it is a vertex shader"),
    (
        "bound.frag",
        "#version 450\nlayout(set=0, binding=0) uniform U { mat4 m; };\nvoid main() { gl_Position = m[0]; }",
        "it is a vertex shader",
    ),
    (
        "compute.frag",
        "#version 450\nlayout(local_size_x=8) in;\nlayout(binding=0) buffer B { float a[]; };\nvoid main() { a[gl_GlobalInvocationID.x] = 2.0; }",
        "it is a compute shader",
    ),
    (
        "geometry.frag",
        "#version 330\nlayout(triangles) in;\nvoid main() { gl_Position = vec4(0); EmitVertex(); }",
        "it is a geometry shader",
    ),
    (
        "tessellation.frag",
        "#version 450\nlayout(vertices=3) out;\nvoid main() { gl_TessLevelOuter[0] = 1.0; }",
        "it is a tessellation shader",
    ),
    (
        "rays.frag",
        "#version 460\n#extension GL_EXT_ray_tracing : require\nlayout(location=0) rayPayloadEXT vec3 c;\nvoid main() { uvec2 p = gl_LaunchIDEXT.xy; }",
        "it is a ray tracing shader",
    ),
    (
        "hlsl.frag",
        "Texture2D<float4> t : register(t0); SamplerState s;\nfloat4 main(float2 uv : TEXCOORD0) : SV_Target { return t.Sample(s, uv); }",
        "this looks like HLSL",
    ),
    ("wgsl.frag", "@fragment fn main() -> @location(0) vec4<f32> { return vec4<f32>(1.0); }", "this looks like WGSL"),
    (
        "metal.frag",
        "#include <metal_stdlib>\nusing namespace metal;\nfragment float4 f() { return 0; }",
        "this looks like Metal's language",
    ),
    ("opencl.frag", "__kernel void f(__global float *a) { a[get_global_id(0)] = 1.0f; }", "this looks like OpenCL C"),
    ("cuda.frag", "__global__ void f(float *a) { a[threadIdx.x] = 1.0f; }", "this looks like CUDA C++"),
    ("assembly.frag", "; SPIR-V\nOpCapability Shader\nOpMemoryModel Logical GLSL450\n", "this looks like an assembly text of SPIR-V"),
    ("prose.frag", "Dear diary, no shader today.", "line 1: a statement that does not end"),
    ("function.frag", "#version 450\nlayout(location=0) out vec4 o;\nfloat f(float x) { return x; }", "it has no function `main`"),
    (
        "include.frag",
        "#include \"noise.glsl\"\nvoid main() { gl_FragColor = vec4(1.0); }",
        "line 1: `noise.glsl` is included, which is not at hand",
    ),
    ("syntax.frag", "void main() {\n  float x = ;\n  gl_FragColor = vec4(x);\n}", "syntax.frag:2:3"),
    ("types.frag", "void main() {\n  gl_FragColor = vec2(1.0);\n}", "types.frag:2:3"),
];

/// Options that cannot be, of `predict`.
const OPTIONS: &[(&[&str], i32, &str)] = &[
    (&["--resolution", "0x0"], 2, "a frame of 0×0 pixels; both sides are from 1 to 32768"),
    (&["--resolution", "99999x5"], 2, "a frame of 99999×5 pixels"),
    (&["--resolution", "512"], 2, "a width and a height in pixels"),
    (&["--resolution", "-1x4"], 2, "a width and a height in pixels"),
    (&["--texture-size", "-1"], 2, "invalid value '-1' for '--texture-size"),
    (&["--texture-size", "0"], 2, "textures of 0 texels a side; from 8 to 2048"),
    (&["--texture-size", "99999"], 2, "textures of 99999 texels a side"),
    (&["--texture-size", "99999999999"], 2, "invalid value '99999999999'"),
    (&["--uniform", "nope=1"], 2, "the shader has no uniform `nope`; it has"),
    (&["--uniform", "tex=1"], 2, "the shader has no uniform `tex`"),
    (&["--uniform", "=1"], 2, "a name before the `=`"),
    (&["--uniform", "t"], 2, "a name and values, for instance iTime=2.5"),
    (&["--uniform", "t="], 2, "`` is no number"),
    (&["--uniform", "t=NaN"], 2, "`NaN` is no number"),
    (&["--uniform", "t=-inf"], 2, "`-inf` is no number"),
    (&["--uniform", "t=1e39"], 2, "uniform `t` cannot be 1000000000000000000000000000000000000000"),
    (&["--uniform", "tint=1,2"], 2, "uniform `tint` has 3 components, 2 values were given"),
    (&["--uniform", "n=1.5"], 2, "uniform `n` cannot be 1.5"),
    (&["--uniform", "n=1e10"], 2, "uniform `n` cannot be 10000000000"),
    (&["--uniform", "n=100000000"], 2, "an endless loop, or a budget too small"),
    (&["--quads", "0"], 2, "a number of quads"),
    (&["--quads", "-1"], 2, "invalid value '-1' for '--quads"),
    (&["--seed", "-1"], 2, "invalid value '-1' for '--seed"),
    (&["--budget", "5"], 2, "a quad took more than 5 instructions"),
    (&["--dialect", "nope"], 2, "`nope` is none of plain, vulkan"),
    (&["--dialect", "shadertoy"], 2, "it has no function `mainImage`"),
    (&["--device", "nope"], 2, "no model ships for `nope`; there are lavapipe"),
    (&["--model", "good.frag"], 2, "it is no model of shaders"),
    (&["--model", "missing.json"], 5, "missing.json"),
    (&["--calibration", "good.frag"], 2, "it is no calibration"),
    (&["--strict"], 2, "these would have to be assumed: t = 1"),
];

fn sandbox() -> Sandbox {
    let s = Sandbox::new();
    std::fs::write(s.path("good.frag"), GOOD).expect("writes");
    s
}

/// Runs `shader` with these words in the sandbox's folder.
fn shader(s: &Sandbox, args: &[&str], code: i32) -> String {
    let all = [&["shader"], args].concat();
    let output = s.command(&all).current_dir(s.path(".")).output().expect("starts");
    let text = said(&output);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
    assert!(!text.contains("panicked"), "{args:?}: {text}");
    text
}

fn says(s: &Sandbox, args: &[&str], code: i32, word: &str) {
    let text = shader(s, args, code);
    assert!(text.contains(word), "{args:?}: {text}");
}

#[test]
fn files_that_are_no_fragment_shader_are_told_from_each_other() {
    let s = sandbox();
    for (name, text, word) in TEXTS {
        std::fs::write(s.path(name), text).expect("writes");
        says(&s, &["predict", name], 2, word);
    }
    // The other verbs read shaders in the same way.
    for verb in [&["trace"][..], &["diff", "good.frag"]] {
        says(&s, &[verb, &["hlsl.frag"]].concat(), 2, "this looks like HLSL");
        says(&s, &[verb, &["missing.frag"]].concat(), 5, "missing.frag");
        says(&s, &[verb, &["."]].concat(), 2, "this is a folder");
    }
    let junk: Vec<u8> = (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    std::fs::write(s.path("junk.frag"), &junk).expect("writes");
    says(&s, &["predict", "junk.frag"], 2, "neither SPIR-V nor text");
    says(&s, &["predict", "missing.frag"], 5, "missing.frag");
    std::fs::create_dir(s.path("none")).expect("a folder");
    says(&s, &["predict", "none"], 2, "no shaders in this folder");
    let json = shader(&s, &["predict", "wgsl.frag", "--json"], 2);
    assert!(json.starts_with("{\"error\":") && json.contains("\"kind\":\"input\""), "{json}");
}

#[test]
fn modules_of_other_stages_are_told() {
    let found = ["glslangValidator", "spirv-as"].iter().all(|t| Command::new(t).arg("--version").output().is_ok());
    assert!(found || std::env::var("CI").is_err(), "glslang's and SPIR-V's tools are needed where CI=true");
    if !found {
        return;
    }
    let s = sandbox();
    let make = |tool: &str, args: &[&str]| {
        let out = Command::new(tool).args(args).current_dir(s.path(".")).output().expect("runs");
        assert!(out.status.success(), "{}", said(&out));
    };
    for (name, text) in [("a.vert", TEXTS[7].1), ("b.comp", TEXTS[10].1)] {
        std::fs::write(s.path(name), text).expect("writes");
    }
    make("glslangValidator", &["-V", "a.vert", "-o", "vertex.spv"]);
    make("glslangValidator", &["-V", "b.comp", "-o", "compute.spv"]);
    let begin = "OpCapability Shader\nOpMemoryModel Logical GLSL450\n";
    let points = "OpEntryPoint Fragment %a \"first\"\nOpEntryPoint GLCompute %b \"second\"\nOpEntryPoint Fragment %b \"third\"\nOpExecutionMode %a OriginUpperLeft\n";
    let both = "%v = OpTypeVoid\n%t = OpTypeFunction %v\n%a = OpFunction %v None %t\n%l = OpLabel\nOpReturn\nOpFunctionEnd\n\
        %b = OpFunction %v None %t\n%m = OpLabel\nOpReturn\nOpFunctionEnd\n";
    let kernel = "OpCapability Kernel\nOpCapability Addresses\nOpMemoryModel Physical32 OpenCL\nOpEntryPoint Kernel %a \"f\"\n";
    for (name, text) in
        [("several", format!("{begin}{points}{both}")), ("kernel", format!("{kernel}{both}")), ("library", format!("{begin}{both}"))]
    {
        std::fs::write(s.path(&format!("{name}.spvasm")), text).expect("writes");
        make("spirv-as", &[&format!("{name}.spvasm"), "-o", &format!("{name}.spv")]);
    }
    for (name, word) in [
        ("vertex.spv", "a shader of the stage Vertex; only fragment shaders are read"),
        ("compute.spv", "a shader of the stage GLCompute"),
        ("kernel.spv", "a shader of the stage Kernel"),
        ("library.spv", "the module has no entry point"),
        ("several.spv", "the module has several fragment shaders: first, third"),
    ] {
        says(&s, &["predict", name], 2, word);
        says(&s, &["trace", name], 2, word);
    }
}

#[test]
fn options_that_cannot_be_are_told() {
    let s = sandbox();
    for (options, code, word) in OPTIONS {
        says(&s, &[&["predict", "good.frag"], *options].concat(), *code, word);
    }
    // They share these options.
    for verb in [&["trace", "good.frag"][..], &["diff", "good.frag", "good.frag"]] {
        for (options, code, word) in [&OPTIONS[0], &OPTIONS[4], &OPTIONS[8]] {
            says(&s, &[verb, *options].concat(), *code, word);
        }
    }
}

#[test]
fn corpora_and_stores_that_are_none_are_told() {
    let s = sandbox();
    let broken = |name: &str, list: &[u8]| {
        std::fs::create_dir_all(s.path(&format!("{name}/spv"))).expect("a folder");
        std::fs::write(s.path(&format!("{name}/corpus.jsonl")), list).expect("writes");
    };
    broken("cut", b"{\"id\": \"0123456789abcdef\", \"na");
    broken("none", b"");
    broken("binary", &[0xff; 64]);
    broken("path", b"{\"id\": \"../../etc/passwd\"}\n");
    std::fs::write(s.path("thesis.sqlite"), "my thesis ".repeat(500)).expect("writes");
    std::fs::write(s.path("shots.csv"), "id,colour\n1,red\n").expect("writes");
    std::fs::write(s.path("rows.jsonl"), "no rows\n").expect("writes");
    let cases: &[(&[&str], i32, &str)] = &[
        (&["profile", "missing", "--into", "s.sqlite"], 5, "missing/corpus.jsonl"),
        (&["profile", "cut", "--into", "s.sqlite"], 2, "line 1 is no entry of a corpus"),
        (&["profile", "path", "--into", "s.sqlite"], 2, "line 1 is no entry of a corpus"),
        (&["profile", "binary", "--into", "s.sqlite"], 2, "this is not text (UTF-8)"),
        (&["profile", "none", "--into", "s.sqlite"], 2, "no shader of the corpus is asked for"),
        (&["profile", "--only", "no such shader", "--into", "s.sqlite"], 2, "no shader that comes with the program is asked for"),
        (&["profile", "none"], 2, "--into"),
        (&["profile", "none", "--into", "s.sqlite", "--workers", "0"], 2, "invalid value '0' for '--workers"),
        (&["profile", "none", "--into", "s.sqlite", "--vector-bits", "100"], 2, "128, 256 or 512"),
        (&["calibrate"], 2, "--out"),
        (&["calibrate", "--out", "h.json", "--count", "3"], 2, "invalid value '3' for '--count"),
        (&["calibrate", "--out", "h.json", "--device", "vulkan:99"], 3, "vulkan"),
        (&["calibrate", "--out", "h.json", "--device", "cuda:0"], 3, "ids of Vulkan devices are"),
        (&["calibrate", "--out", "h.json", "--model", "good.frag"], 2, "it is no model of shaders"),
        (&["mutate", "missing", "--into", "m"], 5, "shader collect"),
        (&["mutate", "cut", "--into", "m"], 2, "line 1 is no entry of a corpus"),
        (&["mutate", "none", "--into", "m", "--optimised", "9"], 2, "a number up to"),
        (&["collect", "missing", "--into", "c"], 5, "missing"),
        (&["collect", "none", "--into", "c"], 2, "no shaders in it"),
        (&["collect", "good.frag", "--into", "good.frag"], 5, "good.frag"),
        (&["collect", "good.frag", "--into", "cut"], 2, "line 1 is no entry of a corpus"),
        (&["collect", "good.frag", "--into", "c", "--store", "thesis.sqlite"], 5, "is not a warpsight store"),
        (&["train", "--rows", "missing.jsonl", "--out", "m.json"], 5, "missing.jsonl"),
        (&["train", "--rows", "rows.jsonl", "--out", "m.json"], 2, "rows.jsonl"),
        (&["train", "--corpus", "none", "--out", "m.json"], 2, "--shots"),
        (&["train", "--corpus", "none", "--shots", "shots.csv", "--out", "m.json"], 2, "there is no column"),
        (&["evaluate"], 2, "--rows"),
        (&["evaluate", "--rows", "rows.jsonl"], 2, "rows.jsonl"),
        (&["evaluate", "--corpus", "cut", "--shots", "shots.csv"], 2, "line 1 is no entry of a corpus"),
    ];
    for (args, code, word) in cases {
        says(&s, args, *code, word);
    }
    assert!(!s.path("h.json").exists() && !s.path("m.json").exists() && !s.path("s.sqlite").exists(), "nothing is left of what failed");
}
