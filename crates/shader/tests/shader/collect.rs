//! Corpora: ids, lines, wrapping, near-duplicates.

use std::cell::Cell;
use std::collections::BTreeMap;
use warpsight_shader::corpus::{self, Entry};
use warpsight_shader::module::Module;
use warpsight_shader::shingles::{groups, jaccard, shingles};
use warpsight_shader::wrap::{Dialect, OURS, Source, WrapError, forget_own_lines, wrap};

fn wrapped(text: &str) -> String {
    wrap(&Source::new(text)).unwrap().glsl
}

/// A wrapped text without `#line`, white space made one.
fn flat(glsl: &str) -> String {
    glsl.lines().filter(|l| !l.starts_with("#line")).collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The line that a compiler gives to what follows the text.
fn line_of(glsl: &str, what: &str) -> u32 {
    let mut line = 0;
    for row in glsl.lines() {
        if let Some(number) = row.strip_prefix("#line ") {
            line = number.parse().unwrap();
            continue;
        }
        if row.contains(what) {
            return line;
        }
        line += 1;
    }
    panic!("{what} is not in {glsl}");
}

#[test]
fn an_id_forgets_debug_information() {
    let bytes = include_bytes!("../shaders/loops.spv");
    let module = Module::from_bytes(bytes).unwrap();
    let id = corpus::id(&module);
    assert_eq!(id.len(), 16);
    // Without OpLine the module is the same shader, with another constant it is another.
    let mut bare = module.words()[..5].to_vec();
    module.insts().iter().filter(|i| !corpus::is_debug(i.op)).for_each(|i| bare.extend(&module.words()[i.words()]));
    assert!(bare.len() < module.words().len());
    assert_eq!(corpus::id(&Module::new(bare.clone()).unwrap()), id);
    let constant = module.insts().iter().find(|i| format!("{:?}", i.op) == "Constant").unwrap();
    let mut other = module.words().to_vec();
    other[constant.words().end - 1] += 1;
    assert_ne!(corpus::id(&Module::new(other).unwrap()), id);
}

fn entry(id: &str) -> Entry {
    Entry {
        id: id.to_owned(),
        name: "a \"b\"\n".to_owned(),
        source: "s".to_owned(),
        licence: "MIT".to_owned(),
        origin: "o".to_owned(),
        dialect: "plain".to_owned(),
        group: id.to_owned(),
        parent: None,
        change: None,
        loops: true,
        uniforms: BTreeMap::from([("t".to_owned(), vec![0.5, 1.0])]),
        resolution: Some([8, 4]),
        texture: Some(64),
        instructions: 3,
        blocks: 1,
    }
}

#[test]
fn a_sample_has_about_as_many_of_each_source() {
    let of = |i: u32, source: &str| Entry { source: source.to_owned(), ..entry(&format!("{i:016x}")) };
    let all: Vec<Entry> = (0..40).map(|i| of(i, if i < 3 { "few" } else { ["some", "many"][usize::from(i % 4 > 0)] })).collect();
    let sample = corpus::sample(all.clone(), 13, 7);
    let count = |source: &str| sample.iter().filter(|e| e.source == source).count();
    assert_eq!([count("few"), count("some"), count("many")], [3, 5, 5]);
    assert!(sample.is_sorted_by(|a, b| a.id < b.id) && sample == corpus::sample(all.clone(), 13, 7));
    assert_ne!(sample, corpus::sample(all.clone(), 13, 8));
    // A shader that goes takes no other one's place but its own.
    let (gone, rest): (Vec<Entry>, Vec<Entry>) = all.clone().into_iter().partition(|e| e.id == sample[12].id);
    let kept = corpus::sample(rest, 13, 7);
    assert_eq!(kept.iter().filter(|e| sample.contains(e)).count(), 12, "{gone:?}");
    assert_eq!(corpus::sample(all.clone(), 99, 7), all);
}

#[test]
fn entries_are_lines() {
    let all = [entry("bbbbbbbbbbbbbbbb"), entry("aaaaaaaaaaaaaaaa")];
    let text = corpus::write(&all).unwrap();
    assert_eq!(text.lines().count(), 2);
    assert_eq!(corpus::read(&text).unwrap(), [all[1].clone(), all[0].clone()]);
    let bad = |text: &str| corpus::read(text).unwrap_err().to_string();
    assert!(bad("\n{}").starts_with("line 2 is no entry of a corpus: missing field"));
    assert!(bad(&format!("{text}{text}")).contains("line 3 is no entry of a corpus: `aaaaaaaaaaaaaaaa` stands in it twice"));
    // An id names a file.
    assert!(bad(&text.replace("aaaaaaaaaaaaaaaa", "../../../etc/pas")).contains("no id"));
}

#[test]
fn loose_uniforms_meet_in_a_block_and_inputs_span_the_frame() {
    let text = "precision mediump float;\nuniform highp float a, b[N];\n#define N 3\nvarying vec2 vUv;\nuniform sampler2D tex;\nuniform vec2 c;\n\
        void main() { gl_FragColor = texture2D(tex, vUv * c) * a * b[1]; }\n";
    let glsl = wrapped(text);
    assert_eq!(
        flat(&glsl),
        "#version 450 layout(set = 0, binding = 0, std140) uniform ws_Uniforms { vec2 _resolution; float a; float b[3]; vec2 c; }; \
         layout(set = 0, binding = 1) uniform sampler2D tex; layout(location = 0) out vec4 ws_color; \
         vec2 ws_uv = gl_FragCoord.xy / _resolution; #define N 3 vec2 vUv = ws_uv; \
         void main() { ws_color = texture(tex, vUv * c) * a * b[1]; }"
    );
    assert_eq!((line_of(&glsl, "float b["), line_of(&glsl, "void main"), line_of(&glsl, "sampler2D")), (2, 7, 5));
    assert!(line_of(&glsl, "ws_uv =") >= OURS);
}

#[test]
fn conditions_are_followed() {
    let text = "#version 300 es\n#define HIGH 2\n#if HIGH > 1 && !defined(LOW) // yes\nuniform float a;\n#elif 1\nuniform vec2 a;\n#else\n!!\n\
        #endif\n#ifdef GL_ES\nprecision highp float;\n#endif\nout vec4 color;\nvoid main() {\n#if (HIGH << 1) % 3 == 1\n color = vec4(a);\n#endif\n}\n";
    let glsl = wrapped(text);
    assert!(
        flat(&glsl).contains("float a; }; layout(location = 0) out vec4 color; #define HIGH 2 void main() { color = vec4(a); }"),
        "{glsl}"
    );
    assert_eq!(line_of(&glsl, "vec4(a)"), 16);
    let wrong = |text: &str| wrap(&Source::new(text)).unwrap_err();
    assert_eq!(wrong("#if 1\n\n#if 2\n#endif\n"), WrapError::Condition { line: 1, what: "#if without #endif" });
    assert_eq!(wrong("\n#if F(1)\n#endif\n").line(), Some(2));
    assert_eq!(wrong("\n\n#include <common>\n"), WrapError::Include { line: 3, name: "common".to_owned() });
    assert_eq!(wrong("#error no float textures\n").to_string(), "line 1: #error no float textures");
}

#[test]
fn dialects_are_told_apart_and_have_their_main() {
    let toy = "void mainImage(out vec4 c, in vec2 p) {\n  c = texture(iChannel1, p / iResolution.xy) * iTime;\n}\n";
    let transition = "uniform float size = 0.25;\nuniform vec3 tint; // = vec3(1., 0.5, 0)\nvec4 transition(vec2 uv) { return mix(getFromColor(uv), getToColor(uv), progress * size) * tint.x; }\n";
    let warp = " shader_body { ret = texture2D(sampler_main, uv).xyz * q7; }";
    let comp = "float f(float x) { return x; }\nshader_body {\n ret = hue_shader * f(rad); }";
    let isf = "/*{\"INPUTS\": [{\"NAME\": \"gain\", \"TYPE\": \"float\", \"DEFAULT\": 0.5}, {\"NAME\": \"inputImage\", \"TYPE\": \"image\"}]}*/\n\
        void main() { gl_FragColor = IMG_THIS_PIXEL(inputImage) * gain; }";
    let effect = "uniform float w; void mainImage(const in vec4 i, const in vec2 uv, out vec4 o) { o = i * w; }";
    let three = "#include <common>\nuniform sampler2D tDiffuse; varying vec2 vUv; void main() { gl_FragColor = texture2D(tDiffuse, vUv); }";
    let vulkan =
        "#version 450\nlayout(set = 1, binding = 2) uniform sampler2D t; layout(location = 0) out vec4 c; void main() { c = vec4(1); }";
    let babylon = "varying vec2 vUV;uniform sampler2D textureSampler;\n#define CUSTOM_FRAGMENT_DEFINITIONS\nvoid main(void) {gl_FragColor=texture2D(textureSampler,vUV);}";
    let expected = [
        (toy, Dialect::Shadertoy),
        (transition, Dialect::GlTransitions),
        (warp, Dialect::ButterchurnWarp),
        (comp, Dialect::ButterchurnComp),
        (isf, Dialect::Isf),
        (effect, Dialect::Postprocessing),
        (three, Dialect::Three),
        (vulkan, Dialect::Vulkan),
        (babylon, Dialect::Babylon),
        ("void main() {}", Dialect::Plain),
    ];
    for (text, dialect) in expected {
        assert_eq!(Dialect::detect(text), dialect, "{text}");
        assert_eq!(dialect.name().parse::<Dialect>(), Ok(dialect));
    }
    assert!(flat(&wrapped(toy)).ends_with("* iTime; } void main() { mainImage(ws_color, gl_FragCoord.xy); }"));
    // Only what is used is declared.
    assert!(wrapped(toy).contains("iChannel1") && !wrapped(toy).contains("iChannel0"));
    let made = wrap(&Source::new(transition)).unwrap();
    assert_eq!(made.uniforms, BTreeMap::from([("size".to_owned(), vec![0.25]), ("tint".to_owned(), vec![1.0, 0.5, 0.0])]));
    assert!(flat(&made.glsl).ends_with("void main() { ws_color = transition(ws_uv); }"));
    assert!(flat(&wrapped(warp)).contains("#define q7 _qb.z"));
    assert_eq!(line_of(&wrapped(comp), "hue_shader * f"), 3);
    assert_eq!(wrap(&Source::new(isf)).unwrap().uniforms, BTreeMap::from([("gain".to_owned(), vec![0.5])]));
    assert_eq!(wrapped(vulkan), vulkan);
}

#[test]
fn blocks_structures_and_outputs_of_other_types() {
    let text = "#version 300 es\nstruct Light { vec3 at; float far; };\nuniform Light lights[2];\nlayout(std140) uniform Camera { mat4 view; vec3 eye; } camera;\n\
        in Varying { vec3 normal; } inside;\nlayout(location = 1) out vec4 second;\nlayout(location = 0) out vec3 first;\n\
        float sample = 1.0;\nvoid main() { first = camera.eye + lights[1].at + inside.normal * sample; second = vec4(0); }\n";
    let glsl = flat(&wrapped(text));
    assert!(glsl.starts_with("#version 450 struct Light { vec3 at; float far; }; layout(set = 0, binding = 0, std140) uniform ws_Uniforms { vec2 _resolution; Light lights[2]; };"), "{glsl}");
    // A block with a name keeps it: a name of its own may be that of a member, too.
    assert!(glsl.contains("layout(set = 0, binding = 1, std140) uniform Camera { mat4 view; vec3 eye; } camera;"), "{glsl}");
    assert!(glsl.contains("vec3 first; vec4 second; "), "{glsl}");
    assert!(glsl.contains("ws_sample = 1.0; void ws_main() { first = camera.eye + lights[1].at + normal * ws_sample;"), "{glsl}");
    assert!(glsl.ends_with("void main() { ws_main(); ws_color = vec4(first, 1.0); }"), "{glsl}");
}

#[test]
fn what_is_no_fragment_shader_is_said() {
    let wrong = |text: &str| wrap(&Source::new(text)).unwrap_err().to_string();
    assert_eq!(wrong(" \n"), "there is nothing in it");
    assert_eq!(wrong("float f() { return 1.0; }"), "it has no function `main`");
    assert_eq!(wrong("attribute vec3 p; void main() {}"), "it is a vertex shader, no fragment shader");
    assert_eq!(wrong("void main() { gl_Position = vec4(0); }"), "it is a vertex shader, no fragment shader");
    assert_eq!(wrong("void main() { }}"), "line 1: a bracket closes that was never opened");
    assert_eq!(wrong("\nfloat x = 1.0"), "line 2: a statement that does not end");
    assert_eq!(
        wrong("uniform float a[n]; void main() { gl_FragColor = vec4(a[0]); }").split_once(": ").unwrap().1,
        "a uniform array whose length is no constant"
    );
    assert!(wrong("#version 430\nlayout(rgba8) uniform writeonly image2D i; void main() { }").contains("an image or separate texture"));
    assert!(wrong(&" ".repeat(1 << 21)).contains("more than 1048576 bytes"));
    // Neither deep nor strange texts do harm.
    for text in [
        "(".repeat(100_000),
        "#if ".to_owned() + &"(".repeat(100_000) + "\n#endif",
        "#define a a\n#if a\n#endif".to_owned(),
        "/*".to_owned(),
        "\u{feff}é\u{301}#".to_owned(),
    ] {
        assert!(wrap(&Source::new(&text)).is_err());
    }
}

#[test]
fn lines_of_what_was_put_in_are_forgotten() {
    let mut words = vec![0x0723_0203, 0x0001_0300, 0, 9, 0, 0x0004_0008, 1, OURS + 3, 0, 0x0004_0008, 1, 12, 0];
    forget_own_lines(&mut words);
    assert_eq!((words[7], words[11]), (0, 12));
    // A count of zero ends it.
    forget_own_lines(&mut [0, 0, 0, 0, 0, 0, 8]);
}

#[test]
fn near_duplicates_are_found() {
    let body = |n: u32, name: &str, more: &str| {
        let call = ["sin", "cos", "tan", "exp", "log", "sqrt", "abs", "sign", "floor", "ceil", "fract", "exp2", "log2"];
        let lines: String = (0..n).map(|i| format!("{name} += {}({name} * {i}.5);\n", call[i as usize % call.len()])).collect();
        format!("#version 450\n#line 1\nvoid main() {{ float {name} = 0.0;\n{lines}{more}}}\n#line 2000000\nvoid other() {{}}\n")
    };
    let first = shingles(&body(13, "a", ""));
    // Other names and numbers are the same; a few lines more are near; another text is far.
    assert_eq!(shingles(&body(13, "bb", "")), first);
    let near = shingles(&body(13, "a", "for (int i = 0; i < 4; i++) { a = cos(a); }"));
    let far = shingles("void main() { if (x > 0.5) discard; gl_FragDepth = length(normalize(v) + vec3(1.0, 2.0, 3.0)); }");
    assert!((0.7..1.0).contains(&jaccard(&first, &near)) && jaccard(&first, &far) == 0.0, "{}", jaccard(&first, &near));
    assert_eq!(groups(&[far.clone(), first.clone(), near, first, far, Vec::new()]), [0, 1, 1, 1, 0, 5]);
}

/// The pairs that the index finds are those that comparing all with all finds.
#[test]
fn groups_are_those_of_all_pairs() {
    let mut random = fastrand::Rng::with_seed(5);
    let sets: Vec<Vec<u64>> = (0..120)
        .map(|at| {
            let base = at / 6 * 100;
            let mut set: Vec<u64> = (0..random.u64(20..60)).map(|_| base + random.u64(0..24)).collect();
            set.sort_unstable();
            set.dedup();
            set
        })
        .collect();
    let mut expected: Vec<usize> = (0..sets.len()).collect();
    for _ in 0..sets.len() {
        for a in 0..sets.len() {
            for b in 0..sets.len() {
                if jaccard(&sets[a], &sets[b]) >= 0.7 {
                    expected[a] = expected[a].min(expected[b]);
                }
            }
        }
    }
    assert_eq!(groups(&sets), expected);
    assert!(expected.iter().enumerate().any(|(at, root)| at != *root));
}

#[test]
fn what_vulkan_glsl_includes_stands_in_its_place() {
    let include = |name: &str| match name {
        "a.glsl" => Some("#include \"b.glsl\"\nfloat a;".to_owned()),
        "b.glsl" => Some("float b;".to_owned()),
        "twice" => Some("#include <twice>\n#include <twice>\n".to_owned()),
        _ => None,
    };
    let text = |text: &str, dialect| wrap(&Source { text, dialect, include: &include, ..Source::new("") });
    let glsl = text("#version 450\n#include \"a.glsl\"\n// #include <b.glsl>\n#include \"c.glsl\"\nvoid main() {}\n", Dialect::Vulkan)
        .unwrap()
        .glsl;
    assert_eq!(
        glsl,
        format!(
            "#version 450\n#line {OURS}\n#line {OURS}\nfloat b;\n#line {OURS}\nfloat a;\n#line 3\n\
             // #include <b.glsl>\n#include \"c.glsl\"\nvoid main() {{}}\n"
        )
    );
    for dialect in [Dialect::Vulkan, Dialect::Plain] {
        assert!(matches!(text("#include <twice>\nvoid main() {}\n", dialect), Err(WrapError::TooLong | WrapError::Include { .. })));
    }
}

/// What is followed here without the compiler: macros that double and come to nothing, and structures of structures.
/// A comment is hardly a token: what is counted is how much is read.
#[test]
fn long_comments_that_include_themselves_are_bounded() {
    let (visits, comment) = (Cell::new(0), format!("/*{}*/\n", "x".repeat(1 << 19)));
    let include = |name: &str| {
        visits.set(visits.get() + 1);
        (name == "c").then(|| format!("{comment}#include <c>\n#include <c>\n"))
    };
    let source = Source { dialect: Dialect::Vulkan, include: &include, ..Source::new("#version 450\n#include <c>\nvoid main() {}\n") };
    assert_eq!(wrap(&source).unwrap_err(), WrapError::TooLong);
    assert!(visits.get() < 40, "{}", visits.get());
}

#[test]
fn what_is_followed_is_bounded() {
    let main = "void main() { gl_FragColor = vec4(1.0); }\n";
    let doubling: String = (1..=31).map(|i| format!("#define a{i} a{0} a{0}\n", i - 1)).collect();
    let error = wrap(&Source::new(&format!("#define a0\n{doubling}#if a31 1\n#endif\n{main}"))).unwrap_err();
    assert_eq!(error, WrapError::Condition { line: 33, what: "a condition that cannot be evaluated" });
    let chain: String = (1..30_000).map(|i| format!("struct s{i} {{ s{} a; }};", i - 1)).collect();
    let glsl = wrapped(&format!("struct s0 {{ float x; }};struct other {{ float x; }};{chain}uniform s29999 u;{main}"));
    let at = |what: &str| glsl.find(what).unwrap();
    assert!(at("struct s0 ") < at("struct s29999 ") && at("struct s29999 ") < at("ws_Uniforms") && at("ws_Uniforms") < at("struct other"));
    let words = format!("#define W {}\nconst float x = {};{main}", "w ".repeat(100_000), "W ".repeat(100_000));
    assert!(wrap(&Source::new(&words)).is_ok());
    let deep = format!("/*{{\"INPUTS\": {}{}}}*/{main}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(Dialect::detect(&deep), Dialect::Plain);
}

#[test]
fn versions_extensions_named_blocks_and_buffers_stay() {
    let text = "#version 460\n#extension GL_X : require\n#define half vec4\nuniform U { half a; } u;\nuniform sampler2D t;\nuniform float b;\n\
        layout(std140) readonly buffer B { vec4 v[]; };\nout half c;\nvoid main() { float a = b; c = u.a * a * v[__VERSION__ - 460]; }\n";
    assert_eq!(
        flat(&wrapped(text)),
        "#version 460 #extension GL_X : enable layout(set = 0, binding = 0, std140) uniform ws_Uniforms { float b; }; \
         layout(set = 0, binding = 1) uniform sampler2D t; layout(location = 0) out vec4 c; #define half vec4 \
         layout(set = 0, binding = 2) uniform U { half a; } u; \
         layout(set = 0, binding = 3, std140) readonly buffer B { vec4 v[]; }; \
         void main() { float a = b; c = u.a * a * v[__VERSION__ - 460]; }"
    );
    assert!(wrapped("#version 330\n#extension GL_ARB_y : enable\nvoid main() {}\n").starts_with("#version 450\n"));
    assert!(wrapped("#version 100\nvoid main() { discard; }\n").contains("void main() { discard; }"), "no colour");
}
