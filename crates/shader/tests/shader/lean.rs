//! What is left of a shader when a compiler has evaluated what it can.

use crate::common::{bytes, compile, has, names, optimised};
use std::collections::BTreeMap;
use warpsight_shader::cfg::Cfg;
use warpsight_shader::features;
use warpsight_shader::interpret::Program;
use warpsight_shader::lean::Lean;
use warpsight_shader::module::Module;
use warpsight_shader::scene::Scene;

/// What is left, by name, where loops that stay turn so often.
fn left(bytes: &[u8], turns: f64) -> BTreeMap<&'static str, f64> {
    let module = Module::from_bytes(bytes).unwrap();
    let cfg = Cfg::new(&module).unwrap();
    let program = Program::new(&module, &cfg).unwrap();
    let lean = Lean::new(&program, &module, &cfg, |_| turns).expect("it is evaluated");
    let all = features::names().iter().map(String::as_str).zip(lean.features(|work| work.times));
    all.filter(|(_, n)| *n > 0.0).collect()
}

/// The body of `main`, with the pixel's place in `p`.
fn of(body: &str, turns: f64) -> BTreeMap<&'static str, f64> {
    let functions = "float twice(float x) { x *= 2.0; return x; }\nfloat pick(float x) { float r = 2.0; if (x < 0.5) r = u; return sin(r); }\nfloat g(float x, int n) { for (int i = 0; i < n; i++) x = cos(x); return x; }\n";
    let source = format!(
        "#version 450\nlayout(location=0) out vec4 c;\nlayout(set=0,binding=0,std140) uniform B {{ float u; int n; vec4 many[30]; }};\n\
         layout(set=0,binding=1) uniform sampler2D t;\n{functions}void main() {{ vec2 p = gl_FragCoord.xy; {body} }}"
    );
    left(&compile(&source), turns)
}

#[test]
fn constants_are_folded_and_short_loops_unrolled() {
    if !has("glslangValidator") {
        return;
    }
    // sin(0) = 0 drops out, the first product is added to nothing; the other nine are multiplied, eight times added.
    let lean = of("float s = 0.0; for (int i = 0; i < 10; i++) s += sin(float(i)) * p.x; c = vec4(s);", 99.0);
    assert_eq!(lean, BTreeMap::from([("instructions", 18.0), ("f32.mul", 9.0), ("f32.add", 8.0), ("load.input", 1.0)]));
    // Twice as many operations as are unrolled together: the loop stays, and the sine is not known.
    let lean = of("float s = 0.0; for (int i = 0; i < 900; i++) s += sin(float(i)) * p.x; c = vec4(s);", 900.0);
    assert_eq!((lean["ext.sin"], lean["f32.mul"], lean["f32.add"], lean["loop"]), (900.0, 900.0, 900.0, 900.0));
    // How often it turns is a uniform's.
    let lean = of("float s = 0.0; for (int i = 0; i < n; i++) s += sin(float(i)) * p.x; c = vec4(s);", 7.0);
    assert_eq!((lean["ext.sin"], lean["branch"]), (7.0, 7.0));
    // Loops in functions, with and without a number that is known where they are called.
    assert_eq!(of("c = vec4(g(p.x, 3));", 50.0).get("ext.cos"), Some(&3.0));
    assert_eq!(of("c = vec4(g(p.x, n));", 50.0).get("ext.cos"), Some(&50.0));
    // Each call is a case of its own, in whatever order.
    assert_eq!(of("c = vec4(g(p.x, n) + g(p.y, 3));", 50.0).get("ext.cos"), Some(&53.0));
    assert_eq!(of("c = vec4(g(p.x, 3) + g(p.y, n));", 50.0).get("ext.cos"), Some(&53.0));
    // The inner one is unrolled, the outer one has a uniform's turns.
    let nested = "float s = p.x; for (int i = 0; i < n; i++) for (int j = 0; j < 4; j++) s = sin(s); c = vec4(s);";
    assert_eq!(of(nested, 5.0).get("ext.sin"), Some(&20.0));
}

#[test]
fn loops_whose_turns_a_compiler_does_not_count_stay() {
    if !has("glslangValidator") {
        return;
    }
    // The sines of known numbers are folded where the loop is unrolled, and left where it stays.
    let sines = |body: &str| of(&format!("float s = p.x; {body} c = vec4(s);"), 5.0).get("ext.sin").copied().unwrap_or(0.0);
    let add = "s += sin(float(i)) * s;";
    assert_eq!(sines(&format!("for (int i = 0; i < 32; i++) {{ {add} }}")), 0.0);
    assert_eq!(sines(&format!("for (int i = 0; i < 33; i++) {{ {add} }}")), 5.0, "one turn too many");
    // What leaves it may stand in a branch, but not in one within another.
    assert_eq!(sines(&format!("for (int i = 0; i < 9; i++) {{ {add} if (s > 4.0) {{ s = 2.0; break; }} }}")), 0.0);
    assert_eq!(sines(&format!("for (int i = 0; i < 9; i++) {{ {add} if (s > 4.0) {{ if (p.y > 1.0) break; s = 2.0; }} }}")), 5.0);
    assert_eq!(sines(&format!("for (int i = 0; i < 9; i++) {{ {add} if (s > 4.0) {{ c = vec4(s); return; }} }}")), 0.0);
    // What goes on with the next turn may stand in a branch, too, but nothing may leave after it; a switch is left within a turn.
    assert_eq!(sines(&format!("for (int i = 0; i < 9; i++) {{ if (s > 4.0) continue; {add} }}")), 0.0);
    assert_eq!(sines(&format!("for (int i = 0; i < 9; i++) {{ if (s > 4.0) {{ if (p.y > 1.0) continue; s = 2.0; }} {add} }}")), 5.0);
    assert_eq!(sines(&format!("for (int i = 0; i < 9; i++) {{ if (s > 4.0) continue; {add} if (s < 1.0) break; }}")), 5.0);
    let switched = "switch (n) { case 1: if (p.y > 1.0) break; s = 2.0; break; default: s = 3.0; }";
    assert_eq!(sines(&format!("for (int i = 0; i < 9; i++) {{ {add} {switched} }}")), 0.0);
    // Loops around loops that stay do, those within others need not.
    let inner = format!("for (int i = 0; i < 4; i++) {{ {add} }}");
    assert_eq!(sines(&format!("for (int j = 0; j < 40; j++) {{ {inner} }}")), 0.0);
    // Large ones do not stay where they walk through an array.
    let many = "s += p.x * s + 1.0; ".repeat(30);
    let walked = |turns: u32| {
        let text = format!("float s = p.x, a[20]; for (int i = 0; i < {turns}; i++) {{ {many} a[i] = s; }} c = vec4(a[3]);");
        of(&text, 5.0).get("loop").copied().unwrap_or(0.0)
    };
    assert_eq!((walked(20), walked(19)), (0.0, 5.0));
}

#[test]
fn what_nobody_needs_or_is_there_already_is_not_left() {
    if !has("glslangValidator") {
        return;
    }
    let lean =
        of("float a = sin(p.x) + sin(p.x); float b = exp(p.y); vec4 v = texture(t, p) ; v = vec4(a, 1.0, 2.0, u * 1.0 + 0.0); c = v;", 1.0);
    assert_eq!(
        lean,
        BTreeMap::from([("instructions", 4.0), ("ext.sin", 1.0), ("f32.add", 1.0), ("load.input", 1.0), ("load.uniform", 1.0)])
    );
    // A value that only turns of a loop need is needed where the loop's result is.
    let carried =
        |last: &str| of(&format!("float a = p.x, b = p.y; for (int i = 0; i < n; i++) {{ a = b; b = sin(b); }} c = vec4({last});"), 3.0);
    assert_eq!((carried("a").get("ext.sin"), carried("p.x").get("ext.sin")), (Some(&3.0), None));
    // One component of a vector.
    assert_eq!(of("vec4 v = sin(p.xyxy * vec4(1, 2, 3, 4)); c = vec4(v.z);", 1.0).get("ext.sin"), Some(&1.0));
}

#[test]
fn both_sides_of_an_open_branch_are_left_and_one_of_a_decided_one() {
    if !has("glslangValidator") {
        return;
    }
    let lean = of("float s; if (p.x > u) s = sin(p.y); else s = cos(p.y); c = vec4(s);", 1.0);
    assert_eq!((lean["ext.sin"], lean["ext.cos"], lean["select"], lean["branch"]), (1.0, 1.0, 1.0, 1.0));
    let lean = of("const float k = 2.0; float s; if (k > 1.0) s = sin(p.y); else s = cos(p.y); c = vec4(s);", 1.0);
    assert_eq!(lean, BTreeMap::from([("instructions", 2.0), ("ext.sin", 1.0), ("load.input", 1.0)]));
    // Neither `false` nor a null constant is undefined.
    let found = "bool found = false; for (int i = 0; i < 4; i++) if (p.x > float(i) * u) found = true; c = vec4(found ? sin(p.y) : 0.0);";
    assert_eq!(of(found, 1.0).get("select"), Some(&5.0));
    // Equal values that meet under another condition are another choice, in calls and in turns.
    let lean = of("c = vec4(pick(p.x) + pick(p.y) + pick(p.x * p.y));", 1.0);
    assert_eq!((lean["select"], lean["ext.sin"]), (3.0, 3.0));
    // What no branch wrote needs no choice.
    assert_eq!(of("float s; if (p.x > u) s = sin(p.y); c = vec4(s);", 1.0).get("select"), None);
    let lean = of("if (p.x > u) discard; c = vec4(twice(p.x) + twice(p.y));", 1.0);
    assert_eq!((lean["kill"], lean["f32.mul"], lean["f32.add"]), (1.0, 2.0, 1.0));
}

#[test]
fn choices_between_known_numbers_are_looked_into() {
    if !has("glslangValidator") {
        return;
    }
    // Neither 2 nor 3 is 5: nothing is left but the number.
    assert_eq!(of("bool b = (p.x > u ? 2.0 : 3.0) == 5.0; c = vec4(b ? p.x : 1.0);", 1.0), BTreeMap::new());
    // One of them is: the choice is left, the comparison with 3 is not.
    let lean = of("bool b = (p.x > u ? 2.0 : 3.0) == 3.0; c = vec4(b ? p.x : 1.0);", 1.0);
    assert_eq!((lean["f32.compare"], lean["select"]), (1.0, 2.0), "{lean:?}");
    // One component that differs decides all.
    let lean = of("bvec3 b = equal(vec3(p, 0.5), vec3(u, 1.0, 2.0)); c = vec4(all(b) ? p.x : 1.0);", 1.0);
    assert_eq!(lean, BTreeMap::new());
    let lean = of("bvec3 b = equal(vec3(p.x, 0.5, 2.0), vec3(u, 0.5, 2.0)); c = vec4(all(b) ? p.x : 1.0);", 1.0);
    assert_eq!(lean["f32.compare"], 1.0);
}

#[test]
fn arrays_cost_where_the_index_is_open() {
    if !has("glslangValidator") {
        return;
    }
    let known = of("float a[4]; for (int i = 0; i < 4; i++) a[i] = p.x * float(i + 2); c = vec4(a[1], a[2], a[3], a[0]);", 1.0);
    assert_eq!(known, BTreeMap::from([("instructions", 5.0), ("f32.mul", 4.0), ("load.input", 1.0)]));
    let open = of("float a[4]; for (int i = 0; i < 4; i++) a[i] = p.x * float(i + 2); c = vec4(a[n] + a[n]);", 1.0);
    assert_eq!((open["f32.mul"], open["chain.dynamic"], open["load.local"]), (4.0, 1.0, 1.0));
    let stored = of("float a[4]; a[n] = sin(p.x); a[0] = 1.0; c = vec4(a[1], a[2], a[0], 0.0);", 1.0);
    assert_eq!((stored["ext.sin"], stored["store.local"]), (1.0, 1.0));
    // Of an array of uniforms one element is read, not all.
    let uniforms = of("int i = int(p.x) % 30; c = many[i];", 1.0);
    assert_eq!((uniforms["load.uniform"], uniforms["chain.dynamic"]), (4.0, 1.0), "{uniforms:?}");
    let unread = of("float a[4]; a[n] = sin(p.x); a[0] = 1.0; c = vec4(a[0]);", 1.0);
    assert_eq!(unread.get("ext.sin"), None, "{unread:?}");
}

#[test]
fn optimised_modules_leave_the_same() {
    if !has("glslangValidator") || !has("spirv-opt") {
        return;
    }
    // Whatever spirv-opt moves, merges and drops: functions that cost much stay as they are.
    for name in names() {
        let plain = bytes(&name);
        let costly = |all: BTreeMap<&'static str, f64>| -> Vec<(&'static str, f64)> {
            let kinds = ["ext.sin", "ext.cos", "ext.exp", "ext.sqrt", "ext.length", "texture.2d.sample", "texture.2d.lod"];
            all.into_iter().filter(|(n, _)| kinds.contains(n)).collect()
        };
        assert_eq!(costly(left(&plain, 5.0)), costly(left(&optimised(&plain, "-O"), 5.0)), "{name}");
    }
}

#[test]
fn uniforms_that_decide_branches_are_constants_where_that_leaves_little() {
    if !has("glslangValidator") {
        return;
    }
    let of = |body: &str, n: f64| {
        let source = format!(
            "#version 450\nlayout(location=0) out vec4 c;\nlayout(set=0,binding=0,std140) uniform B {{ float u; int n; }};\nvoid main() {{ vec2 p = gl_FragCoord.xy; {body} }}"
        );
        let module = Module::from_bytes(&compile(&source)).unwrap();
        let cfg = Cfg::new(&module).unwrap();
        let program = Program::new(&module, &cfg).unwrap();
        let scene = Scene { uniforms: BTreeMap::from([("n".to_owned(), vec![n])]), ..Scene::default() };
        let (inputs, _) = scene.inputs(&module).unwrap();
        let lean = Lean::bound(&program, &module, &cfg, &inputs, |_| 7.0).unwrap().features(|work| work.times);
        let at = |name: &str| lean[features::names().iter().position(|n| n == name).unwrap()];
        (at("ext.sin"), at("ext.cos"))
    };
    // Sines are all there is on one side; what is left is less than half.
    let much =
        "float s = p.x; if (n > 2) { s = sin(s); s = sin(s + 1.0); s = sin(s + 2.0); s = sin(s + 3.0); } else s = cos(s); c = vec4(s);";
    assert_eq!((of(much, 1.0), of(much, 3.0)), ((0.0, 1.0), (4.0, 1.0)), "too much is left: both sides stay");
    // The pixel has its say: nothing is decided.
    let open = much.replace("n > 2", "float(n) > p.y");
    assert_eq!(of(&open, 1.0), (4.0, 1.0));
}
