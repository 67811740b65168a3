//! Mutants of loops: which constants are bounds, and that only they change.

use crate::common::{bytes, compile, count_at, draw, has, module, names, optimised, validate};
use std::collections::{BTreeMap, BTreeSet};
use warpsight_shader::cfg::Cfg;
use warpsight_shader::interpret::{Inputs, Program};
use warpsight_shader::module::{Module, Op};
use warpsight_shader::mutate::{Bound, Change, Dropped, Mutant, Number, bounds, candidates, keep};
use warpsight_shader::scene::Scene;
use warpsight_shader::trace::{Trace, sample};

/// A shader whose red is what its body leaves in `sum`; `x` is 0.5 in every one of the four pixels' columns.
fn shader(body: &str) -> String {
    format!(
        "#version 450\nlayout(location = 0) out vec4 colour;\nlayout(set = 0, binding = 0) uniform Block {{ int count; float limit; }};\n\
         void main() {{\nfloat x = 0.5 * step(0.0, gl_FragCoord.x);\nfloat sum = 0.0;\n{body}\ncolour = vec4(sum, x, 0.0, 1.0);\n}}\n"
    )
}

fn found(module: &Module) -> Vec<Bound> {
    bounds(module, &Cfg::new(module).unwrap())
}

/// Four pixels; `count` is 3, `limit` 100.
fn inputs() -> Inputs {
    let mut inputs = Inputs::of_frame(2, 2);
    inputs.blocks.insert((0, 0), [3i32.to_le_bytes(), 100f32.to_le_bytes(), [0; 4], [0; 4]].concat());
    inputs
}

/// The red of a pixel.
fn red(module: &Module) -> f32 {
    draw(module, &inputs()).unwrap().pixels[0].unwrap()[0]
}

/// The bounds of a body as (value, whether it is a start), and the red of a pixel with bound `which` times `factor`.
fn mutated(body: &str, which: usize, factor: f64) -> (Vec<(Number, bool)>, f32) {
    let module = Module::from_bytes(&compile(&shader(body))).unwrap();
    let all = found(&module);
    let (to, words) = all[which].scaled(&module, factor).unwrap();
    assert_eq!(Some(to), all[which].value.times(factor));
    validate(&words, "vulkan1.1").unwrap();
    let mutant = Module::new(words).unwrap();
    assert_eq!(found(&mutant).len(), all.len());
    (all.iter().map(|b| (b.value, b.start)).collect(), red(&mutant))
}

fn none(body: &str) {
    let module = Module::from_bytes(&compile(&shader(body))).unwrap();
    assert_eq!(found(&module), [], "{body}");
}

#[test]
fn ten_rounds_doubled_are_twenty() {
    if !has("glslangValidator") || !has("spirv-val") {
        return;
    }
    let source = shader("for (int i = 0; i < 10; i++)\nsum += x + 0.5; // body");
    let module = Module::from_bytes(&compile(&source)).unwrap();
    let count = |module: &Module| {
        let drawn = draw(module, &inputs()).unwrap();
        count_at(module, &source, &drawn, "// body", Op::FAdd) / 4
    };
    let bound = &found(&module)[0];
    assert_eq!((bound.value, bound.line, count(&module)), (Number::Int(10), 7, 10));
    for (factor, rounds) in [(2.0, 20), (4.0, 40), (0.5, 5), (0.25, 2), (0.01, 1)] {
        let (_, words) = bound.scaled(&module, factor).unwrap();
        assert_eq!(count(&Module::new(words).unwrap()), rounds);
    }
    assert_eq!(bound.scaled(&module, 1.0), None);
    assert_eq!(bound.scaled(&module, 1e5), None, "a counter does not reach everything");
}

#[test]
fn bounds_are_found_however_a_loop_counts() {
    if !has("glslangValidator") || !has("spirv-val") {
        return;
    }
    use Number::{Float, Int, Uint};
    let one = |n| vec![(n, false)];
    /// A body, the bound to double, all bounds as (value, whether a counter starts from it), and the rounds that it then makes.
    type Case = (&'static str, usize, Vec<(Number, bool)>, f32);
    let cases: [Case; 12] = [
        ("for (uint i = 0u; i <= 9u; i += 3u) sum += 1.0;", 0, one(Uint(9)), 7.0),
        ("for (float t = 0.0; t < 2.0; t += 0.25) sum += 1.0;", 0, one(Float(2.0)), 16.0),
        ("float t = 0.0; while (true) { t += x; if (t > 3.0) break; sum += 1.0; }", 0, one(Float(3.0)), 12.0),
        ("int i = 0; do { sum += 1.0; } while (++i < 6);", 0, one(Int(6)), 12.0),
        ("for (int i = 9; i >= 0; i--) sum += 1.0;", 0, vec![(Int(9), true)], 19.0),
        ("int left = 8; while (left-- > 0) sum += 1.0;", 0, vec![(Int(8), true)], 16.0),
        ("for (int i = -5; i < 5; i++) sum += 1.0;", 0, vec![(Int(-5), true), (Int(5), false)], 15.0),
        ("for (int i = -5; i < 5; i++) sum += 1.0;", 1, vec![(Int(-5), true), (Int(5), false)], 15.0),
        ("for (int i = 1; i < 64; i *= 2) sum += 1.0;", 0, one(Int(64)), 7.0),
        ("for (int i = 0; 12 > i && sum < limit; i++) sum += 1.0;", 0, one(Int(12)), 24.0),
        // The condition is about something that is made of the counter.
        ("for (int i = 0; float(i) * 0.5 < 3.0; i++) sum += 1.0;", 0, one(Float(3.0)), 12.0),
        // A loop in a loop: each its own.
        ("for (int i = 0; i < 6; i++) for (int j = 0; j < 4; j++) sum += 1.0;", 1, vec![(Int(6), false), (Int(4), false)], 48.0),
    ];
    for (body, which, expected, sum) in cases {
        assert_eq!(mutated(body, which, 2.0), (expected, sum), "{body}");
    }
}

#[test]
fn a_bound_that_is_used_elsewhere_changes_in_the_comparison_only() {
    if !has("glslangValidator") || !has("spirv-val") {
        return;
    }
    // 10 is the bound of two loops, a divisor and a summand.
    let body =
        "for (int i = 0; i < 10; i++) sum += 10.0 / float(10);\nfor (int i = 0; i < 10; i++) sum += 100.0;\nsum += float(10 * count);";
    assert_eq!(mutated(body, 0, 2.0), (vec![(Number::Int(10), false), (Number::Int(10), false)], 20.0 + 1000.0 + 30.0));
    assert_eq!(mutated(body, 1, 0.5).1, 10.0 + 500.0 + 30.0);
}

#[test]
fn what_is_no_bound_stays() {
    if !has("glslangValidator") {
        return;
    }
    // Stepped over if it were another.
    none("for (int i = 0; i != 10; i += 2) sum += 1.0;");
    // An error need not fall as far.
    none("float y = 9.0; while (abs(sin(y)) > 1e-3) { y = cos(x) * 0.01; sum += 1.0; if (y == 7.0) break; }");
    none("for (int i = 0; i < count; i++) sum += 1.0;");
    none("if (x < 10.0) sum += 1.0;");
    // Its array would be left.
    none("float a[8]; for (int i = 0; i < 8; i++) a[i] = x; sum = a[7];");
}

#[test]
fn loops_that_read_arrays_only_shrink() {
    if !has("glslangValidator") || !has("spirv-val") {
        return;
    }
    let source = shader("const float A[4] = float[4](1.0, 2.0, 4.0, 8.0);\nfor (int i = 0; i < 4; i++) sum += A[i] + x;");
    let module = Module::from_bytes(&compile(&source)).unwrap();
    let all = found(&module);
    assert!(all.len() == 1 && all[0].shrinks && all[0].scaled(&module, 2.0).is_none());
    let (_, words) = all[0].scaled(&module, 0.5).unwrap();
    assert_eq!(red(&Module::new(words).unwrap()), 4.0);
}

#[test]
fn bounds_survive_the_optimiser() {
    if !has("glslangValidator") || !has("spirv-opt") || !has("spirv-val") {
        return;
    }
    let source = shader("for (int i = 0; i < 10 + 0; i++) sum += x;\nfor (int j = 7; j > 0; j--) sum += limit * x;");
    let module = Module::from_bytes(&optimised(&compile(&source), "-O")).unwrap();
    let all = found(&module);
    assert_eq!(all.iter().map(|b| (b.value, b.start)).collect::<Vec<_>>(), [(Number::Int(10), false), (Number::Int(7), true)]);
    let red_of = |which: usize| {
        let (_, words) = all[which].scaled(&module, 2.0).unwrap();
        validate(&words, "vulkan1.1").unwrap();
        red(&Module::new(words).unwrap())
    };
    assert_eq!([red(&module), red_of(0), red_of(1)], [355.0, 360.0, 705.0]);
}

#[test]
fn numbers_scale_within_what_loops_count_to() {
    use Number::{Float, Int, Uint};
    assert_eq!(Int(-5).times(2.0), Some(Int(-10)));
    assert_eq!(Int(-5).times(0.5), Some(Int(-2)));
    assert_eq!(Int(1).times(0.5), None);
    assert_eq!(Int(3).times(0.25), Some(Int(1)));
    assert_eq!(Int(i32::MAX).times(2.0), None);
    assert_eq!(Uint(u32::MAX).times(0.5), Some(Uint(u32::MAX / 2)));
    assert_eq!(Uint(40_000).times(2.0), None);
    assert_eq!(Float(1e-38).times(0.25), None);
    assert_eq!(Float(9e3).times(2.0), None);
    assert_eq!(Float(-0.3).times(2.0), Some(Float(-0.6)));
    assert_eq!(Float(f32::NAN).times(2.0), None);
}

fn traced(module: &Module, scene: &Scene) -> (Cfg, Trace) {
    let cfg = Cfg::new(module).unwrap();
    let trace = sample(&Program::new(module, &cfg).unwrap(), &scene.inputs(module).unwrap().0, 4, 0).unwrap();
    (cfg, trace)
}

#[test]
fn candidates_are_of_every_kind_and_repeat_with_the_seed() {
    let module = module("loops");
    let cfg = Cfg::new(&module).unwrap();
    let scene = Scene { frame: [16, 12], ..Scene::default() };
    let all = |seed| candidates(&module, &cfg, &scene, seed).unwrap();
    let said = |mutants: &[Mutant]| mutants.iter().map(|m| m.change.to_string()).collect::<Vec<_>>();
    assert_eq!(said(&all(1)), said(&all(1)));
    assert_ne!(said(&all(1)), said(&all(2)));
    let distinct: BTreeSet<String> = said(&all(1)).into_iter().collect();
    assert_eq!(distinct.len(), all(1).len());
    let (mut frames, mut bounds) = (0, 0);
    for mutant in all(1) {
        match mutant.change {
            Change::Bound { .. } => bounds += usize::from(mutant.module.is_some() && mutant.scene.frame == scene.frame),
            Change::Frame(frame) => frames += usize::from(mutant.module.is_none() && mutant.scene.frame == frame),
            _ => {}
        }
    }
    assert!(frames == 6 && bounds >= 3, "{:?}", said(&all(1)));
}

#[test]
fn a_mutant_is_kept_where_its_counts_differ() {
    if !has("glslangValidator") {
        return;
    }
    let source = "#version 450\nlayout(set = 0, binding = 0) uniform Block { float iTime; int rounds; vec2 iResolution; };\n\
                  layout(set = 0, binding = 1) uniform sampler2D picture;\nlayout(location = 0) out vec4 colour;\n\
                  void main() {\nvec4 sum = vec4(sin(iTime));\nfor (int i = 0; i < rounds; i++) sum += texture(picture, gl_FragCoord.xy);\n\
                  float t = 0.0;\nwhile (t < 8.0) t += 1.0 + 0.0 * sum.x;\ncolour = sum * t;\n}\n";
    let module = Module::from_bytes(&compile(source)).unwrap();
    let scene = Scene { frame: [8, 8], texture: 8, uniforms: BTreeMap::from([("rounds".into(), vec![12.0])]), ..Scene::default() };
    let (cfg, trace) = traced(&module, &scene);
    let verdict = |mutant: &Mutant| keep(mutant, (&module, &cfg, &trace), 4, 0).map(drop);
    let (mut kept, mut uniforms) = (0, 0);
    for mutant in candidates(&module, &cfg, &scene, 3).unwrap() {
        match (&mutant.change, verdict(&mutant)) {
            (Change::Uniforms(values), Ok(())) => {
                assert!(values["rounds"][0] != 12.0 && values["rounds"][0].fract() == 0.0 && (0.0..60.0).contains(&values["iTime"][0]));
                assert!(!values.contains_key("iResolution"));
                uniforms += 1;
            }
            (Change::Uniforms(values), Err(Dropped::Same { .. })) => assert!(!values.contains_key("rounds")),
            (_, Ok(())) => kept += 1,
            (change, Err(why)) => panic!("{change}: {why}"),
        }
    }
    // Four factors of the one bound, six frames, four sides of textures.
    assert_eq!(kept, 14);
    assert!(uniforms >= 2);
    // Time alone changes nothing that is counted.
    let still = Scene { uniforms: BTreeMap::from([("rounds".into(), vec![12.0]), ("iTime".into(), vec![9.0])]), ..scene.clone() };
    let mutant = Mutant { change: Change::Uniforms(BTreeMap::new()), module: None, scene: still };
    assert!(matches!(verdict(&mutant), Err(Dropped::Same { .. })));
    // One that would be measured for minutes is not kept, nor one that does not end.
    let scene_of = |rounds: f64, frame| Scene { frame, uniforms: BTreeMap::from([("rounds".into(), vec![rounds])]), ..scene.clone() };
    let long = Mutant { change: Change::Frame([4096, 4096]), module: None, scene: scene_of(60.0, [4096, 4096]) };
    assert!(matches!(verdict(&long), Err(Dropped::Long { .. })));
    let endless = Mutant { change: Change::Frame([8, 8]), module: None, scene: scene_of(2e9, [8, 8]) };
    assert!(matches!(verdict(&endless), Err(Dropped::Interpret(_))));
}

#[test]
fn mutants_of_all_test_shaders_are_valid() {
    if !has("spirv-val") {
        return;
    }
    let mut checked = 0;
    for name in names() {
        let module = Module::from_bytes(&bytes(&name)).unwrap();
        for bound in found(&module).iter().take(3) {
            for words in [0.5, 2.0].iter().filter_map(|f| bound.scaled(&module, *f)).map(|(_, words)| words) {
                validate(&words, "vulkan1.1").unwrap_or_else(|e| panic!("{name}: {e}"));
                checked += 1;
            }
        }
    }
    assert!(checked >= 8, "{checked}");
}
