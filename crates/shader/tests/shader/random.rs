//! Random shaders, evaluated a second time without SPIR-V.

use crate::common::{compile, draw, has, optimised};
use fastrand::Rng;
use warpsight_shader::interpret::Inputs;
use warpsight_shader::module::Module;

/// A value of GLSL.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Float(Vec<f32>),
    Int(i32),
    Uint(u32),
    Bool(bool),
}

use Value::{Bool, Float, Int, Uint};

/// The variables of one pixel.
type State = Vec<Value>;

/// An expression as its text, and as a function.
struct Expr(String, Box<dyn Fn(&State) -> Value>);

/// A statement likewise.
struct Stmt(String, Box<dyn Fn(&mut State)>);

impl Expr {
    fn float(&self, s: &State) -> Vec<f32> {
        let Float(v) = (self.1)(s) else { panic!("{}", self.0) };
        v
    }
    fn int(&self, s: &State) -> i32 {
        let Int(v) = (self.1)(s) else { panic!("{}", self.0) };
        v
    }
    fn uint(&self, s: &State) -> u32 {
        let Uint(v) = (self.1)(s) else { panic!("{}", self.0) };
        v
    }
    fn bool(&self, s: &State) -> bool {
        let Bool(v) = (self.1)(s) else { panic!("{}", self.0) };
        v
    }
}

/// Variables 0 to 3 are a float and vectors of 2, 3 and 4; 4 and 5 ints, 6 a uint, 7 a bool.
const NAMES: [&str; 8] = ["f", "v2", "v3", "v4", "i", "j", "u", "b"];

fn float(r: &mut Rng, n: usize, depth: u32) -> Expr {
    let pairwise = |a: Expr, b: Expr, text: String, f: fn(f32, f32) -> f32| {
        Expr(text, Box::new(move |s| Float(a.float(s).into_iter().zip(b.float(s)).map(|(x, y)| f(x, y)).collect())))
    };
    if depth == 0 {
        return Expr(NAMES[n - 1].to_owned(), Box::new(move |s| s[n - 1].clone()));
    }
    let mut sub = |n| float(r, n, depth - 1);
    let (a, b, c) = (sub(n), sub(n), sub(n));
    match r.u32(..16) {
        0 => pairwise_text(pairwise, a, b, "+", |x, y| x + y),
        1 => pairwise_text(pairwise, a, b, "-", |x, y| x - y),
        2 => pairwise_text(pairwise, a, b, "*", |x, y| x * y),
        3 => {
            let text = format!("({} / (abs({}) + 1.5))", a.0, b.0);
            pairwise(a, b, text, |x, y| x / (y.abs() + 1.5))
        }
        4 => each(a, "floor", f32::floor),
        5 => each(a, "abs", f32::abs),
        6 => each(a, "ceil", f32::ceil),
        7 => each(a, "fract", |x| x - x.floor()),
        8 => each(a, "-", |x| -x),
        9 => {
            let text = format!("min({}, {})", a.0, b.0);
            pairwise(a, b, text, f32::min)
        }
        10 => {
            let text = format!("step({}, {})", a.0, b.0);
            pairwise(a, b, text, |edge, x| if x < edge { 0.0 } else { 1.0 })
        }
        11 => {
            let text = format!("mix({}, {}, {})", a.0, b.0, c.0);
            Expr(
                text,
                Box::new(move |s| {
                    let (a, b, c) = (a.float(s), b.float(s), c.float(s));
                    Float((0..n).map(|i| a[i] * (1.0 - c[i]) + b[i] * c[i]).collect())
                }),
            )
        }
        12 => {
            let condition = boolean(r, depth - 1);
            let text = format!("({} ? {} : {})", condition.0, a.0, b.0);
            Expr(text, Box::new(move |s| Float(if condition.bool(s) { a.float(s) } else { b.float(s) })))
        }
        13 if n == 1 => {
            let (x, y) = (float(r, 2, depth - 1), float(r, 2, depth - 1));
            let text = format!("dot({}, {})", x.0, y.0);
            Expr(
                text,
                Box::new(move |s| {
                    let (x, y) = (x.float(s), y.float(s));
                    Float(vec![x[0] * y[0] + x[1] * y[1]])
                }),
            )
        }
        13 if n == 2 => {
            let text = format!("(mat2({}, {}) * {})", a.0, b.0, c.0);
            Expr(
                text,
                Box::new(move |s| {
                    let (a, b, c) = (a.float(s), b.float(s), c.float(s));
                    Float((0..2).map(|i| a[i] * c[0] + b[i] * c[1]).collect())
                }),
            )
        }
        13 | 14 if n == 1 => {
            let (wide, at) = (2 + r.usize(..3), r.usize(..2));
            let vector = float(r, wide, depth - 1);
            let text = format!("({}).{}", vector.0, ["x", "y"][at]);
            Expr(text, Box::new(move |s| Float(vec![vector.float(s)[at]])))
        }
        13 | 14 => {
            let parts: Vec<Expr> = (0..n).map(|_| float(r, 1, depth - 1)).collect();
            let text = format!("vec{n}({})", parts.iter().map(|p| p.0.as_str()).collect::<Vec<_>>().join(", "));
            Expr(text, Box::new(move |s| Float(parts.iter().map(|p| p.float(s)[0]).collect())))
        }
        _ if n == 1 => {
            let i = int(r, depth - 1);
            Expr(format!("float({} & 1023)", i.0), Box::new(move |s| Float(vec![(i.int(s) & 1023) as f32])))
        }
        _ => {
            let by = float(r, 1, depth - 1);
            Expr(
                format!("({} * {})", a.0, by.0),
                Box::new(move |s| {
                    let by = by.float(s)[0];
                    Float(a.float(s).iter().map(|x| x * by).collect())
                }),
            )
        }
    }
}

type Pairwise = fn(Expr, Expr, String, fn(f32, f32) -> f32) -> Expr;

fn pairwise_text(make: Pairwise, a: Expr, b: Expr, op: &str, f: fn(f32, f32) -> f32) -> Expr {
    let text = format!("({} {op} {})", a.0, b.0);
    make(a, b, text, f)
}

fn each(a: Expr, name: &str, f: fn(f32) -> f32) -> Expr {
    Expr(format!("{name}({})", a.0), Box::new(move |s| Float(a.float(s).into_iter().map(f).collect())))
}

fn int(r: &mut Rng, depth: u32) -> Expr {
    if depth == 0 {
        let at = 4 + r.usize(..2);
        return Expr(NAMES[at].to_owned(), Box::new(move |s| s[at].clone()));
    }
    let (a, b) = (int(r, depth - 1), int(r, depth - 1));
    let two = |op: &str, a: Expr, b: Expr, f: fn(i32, i32) -> i32| {
        Expr(format!("({} {op} {})", a.0, b.0), Box::new(move |s| Int(f(a.int(s), b.int(s)))))
    };
    match r.u32(..9) {
        0 => two("+", a, b, i32::wrapping_add),
        1 => two("-", a, b, i32::wrapping_sub),
        2 => two("*", a, b, i32::wrapping_mul),
        3 => two("&", a, b, |x, y| x & y),
        4 => two("^", a, b, |x, y| x ^ y),
        5 => {
            let k = r.u32(1..31);
            Expr(format!("({} >> {k})", a.0), Box::new(move |s| Int(a.int(s) >> k)))
        }
        6 => {
            let k = r.i32(1..9);
            Expr(format!("({} / {k})", a.0), Box::new(move |s| Int(a.int(s).wrapping_div(k))))
        }
        7 => {
            let f = float(r, 1, depth - 1);
            Expr(format!("int(clamp({}, -1e6, 1e6))", f.0), Box::new(move |s| Int(f.float(s)[0].clamp(-1e6, 1e6) as i32)))
        }
        _ => {
            let u = uint(r, depth - 1);
            Expr(format!("int({})", u.0), Box::new(move |s| Int(u.uint(s) as i32)))
        }
    }
}

fn uint(r: &mut Rng, depth: u32) -> Expr {
    if depth == 0 {
        return Expr("u".to_owned(), Box::new(|s| s[6].clone()));
    }
    let (a, k) = (uint(r, depth - 1), r.u32(1..30));
    let with = |text: String, f: fn(u32, u32) -> u32, a: Expr| Expr(text, Box::new(move |s| Uint(f(a.uint(s), k))));
    match r.u32(..6) {
        0 => with(format!("({} % {k}u)", a.0), |x, k| x % k, a),
        1 => with(format!("({} >> {k})", a.0), |x, k| x >> k, a),
        2 => with(format!("({} << {k})", a.0), |x, k| x << k, a),
        3 => with(format!("({} * {k}u + 77u)", a.0), |x, k| x.wrapping_mul(k).wrapping_add(77), a),
        4 => with(format!("bitfieldExtract({}, {}, {})", a.0, k % 16, 1 + k / 2), |x, k| x >> (k % 16) & ((1u32 << (1 + k / 2)) - 1), a),
        _ => {
            let i = int(r, depth - 1);
            Expr(format!("(uint({}) ^ uint(bitCount({})))", i.0, a.0), Box::new(move |s| Uint(i.int(s) as u32 ^ a.uint(s).count_ones())))
        }
    }
}

fn boolean(r: &mut Rng, depth: u32) -> Expr {
    if depth == 0 {
        return Expr("b".to_owned(), Box::new(|s| s[7].clone()));
    }
    let (a, b) = (boolean(r, depth - 1), boolean(r, depth - 1));
    match r.u32(..6) {
        0 => {
            let (x, y) = (float(r, 1, depth - 1), float(r, 1, depth - 1));
            Expr(format!("({} < {})", x.0, y.0), Box::new(move |s| Bool(x.float(s) < y.float(s))))
        }
        1 => {
            let (x, y) = (int(r, depth - 1), int(r, depth - 1));
            Expr(format!("({} >= {})", x.0, y.0), Box::new(move |s| Bool(x.int(s) >= y.int(s))))
        }
        2 => Expr(format!("({} && {})", a.0, b.0), Box::new(move |s| Bool(a.bool(s) && b.bool(s)))),
        3 => Expr(format!("({} || {})", a.0, b.0), Box::new(move |s| Bool(a.bool(s) || b.bool(s)))),
        4 => Expr(format!("(!{} ^^ {})", a.0, b.0), Box::new(move |s| Bool(!a.bool(s) ^ b.bool(s)))),
        _ => {
            let (x, y) = (float(r, 3, depth - 1), float(r, 3, depth - 1));
            let text = format!("any(greaterThan({}, {}))", x.0, y.0);
            Expr(text, Box::new(move |s| Bool(x.float(s).iter().zip(y.float(s)).any(|(x, y)| *x > y))))
        }
    }
}

fn block(r: &mut Rng, count: usize, nest: u32) -> Stmt {
    let all: Vec<Stmt> = (0..count).map(|_| statement(r, nest)).collect();
    let text = all.iter().map(|s| s.0.as_str()).collect::<Vec<_>>().join("\n");
    Stmt(format!("{{\n{text}\n}}"), Box::new(move |s| all.iter().for_each(|stmt| (stmt.1)(s))))
}

fn statement(r: &mut Rng, nest: u32) -> Stmt {
    let depth = r.u32(1..4);
    match r.u32(..if nest > 0 { 10 } else { 7 }) {
        at @ 0..=3 => {
            // So that nothing overflows in a loop.
            let (n, e) = (at as usize + 1, float(r, at as usize + 1, depth));
            let text = format!("{} = clamp({}, -100.0, 100.0);", NAMES[n - 1], e.0);
            Stmt(text, Box::new(move |s| s[n - 1] = Float(e.float(s).into_iter().map(|x| x.clamp(-100.0, 100.0)).collect())))
        }
        4 => {
            let (at, e) = (4 + r.usize(..2), int(r, depth));
            Stmt(format!("{} = {};", NAMES[at], e.0), Box::new(move |s| s[at] = Int(e.int(s))))
        }
        5 => {
            let e = uint(r, depth);
            Stmt(format!("u = {};", e.0), Box::new(move |s| s[6] = Uint(e.uint(s))))
        }
        6 => {
            let e = boolean(r, depth);
            Stmt(format!("b = {};", e.0), Box::new(move |s| s[7] = Bool(e.bool(s))))
        }
        7 | 8 => {
            let (c, yes, no) = (boolean(r, depth), block(r, 2, nest - 1), block(r, 1, nest - 1));
            Stmt(format!("if ({}) {} else {}", c.0, yes.0, no.0), Box::new(move |s| if c.bool(s) { (yes.1)(s) } else { (no.1)(s) }))
        }
        _ => {
            let (bound, stop, inner) = (int(r, depth), boolean(r, 1), block(r, 2, nest - 1));
            let (n, k) = (format!("n{}", r.u32(..)), format!("k{}", r.u32(..)));
            let text = format!("int {n} = {} & 7; for (int {k} = 0; {k} < {n}; {k}++) {{ {} if ({}) break; }}", bound.0, inner.0, stop.0);
            Stmt(
                text,
                Box::new(move |s| {
                    for _ in 0..bound.int(s) & 7 {
                        (inner.1)(s);
                        if stop.bool(s) {
                            break;
                        }
                    }
                }),
            )
        }
    }
}

#[test]
fn random_shaders_give_what_a_second_evaluator_gives() {
    if !has("glslangValidator") || !has("spirv-opt") {
        return;
    }
    let (width, height) = (6, 4);
    let mut distinct = std::collections::HashSet::new();
    for seed in 0..40 {
        let body = block(&mut Rng::with_seed(seed), 8, 2);
        // precise: or spirv-opt may reorder.
        let source = format!(
            "#version 450\nlayout(location = 0) out vec4 color;\nvoid main() {{\nprecise float f = gl_FragCoord.x * 0.75;\nprecise vec2 v2 = gl_FragCoord.yx - 2.0;\nprecise vec3 v3 = vec3(gl_FragCoord.xy, -f);\nprecise vec4 v4 = vec4(v2, f, 1.25);\nint i = int(gl_FragCoord.x) * 77 - 200; int j = int(gl_FragCoord.y);\nuint u = uint(i * j) + 3u;\nbool b = ((i ^ j) & 1) == 1;\n{}\nprecise float sum = f + v2.y + v3.z + v4.w;\ncolor = vec4(sum, intBitsToFloat(i & 0x3fffffff), uintBitsToFloat(u & 0x3fffffffu), b ? 1.0 : float(j & 0xffff));\n}}",
            body.0
        );
        let plain = compile(&source);
        for bytes in [optimised(&plain, "-O"), plain] {
            let drawn = draw(&Module::from_bytes(&bytes).unwrap(), &Inputs::of_frame(width, height)).unwrap();
            for (at, pixel) in drawn.pixels.iter().enumerate() {
                let (x, y) = ((at as u32 % width) as f32 + 0.5, (at as u32 / width) as f32 + 0.5);
                let f = x * 0.75;
                let (i, j) = (x as i32 * 77 - 200, y as i32);
                let v2 = vec![y - 2.0, x - 2.0];
                let v4 = vec![v2[0], v2[1], f, 1.25];
                let mut state = vec![
                    Float(vec![f]),
                    Float(v2),
                    Float(vec![x, y, -f]),
                    Float(v4),
                    Int(i),
                    Int(j),
                    Uint((i.wrapping_mul(j) as u32).wrapping_add(3)),
                    Bool((i ^ j) & 1 == 1),
                ];
                (body.1)(&mut state);
                let part = |v: usize, c: usize| if let Float(v) = &state[v] { v[c] } else { f32::NAN };
                let (Int(i), Int(j), Uint(u), Bool(b)) = (&state[4], &state[5], &state[6], &state[7]) else { panic!() };
                let sum = part(0, 0) + part(1, 1) + part(2, 2) + part(3, 3);
                let last = if *b { 1.0 } else { (j & 0xffff) as f32 };
                let wants = [sum.to_bits(), (i & 0x3fff_ffff) as u32, u & 0x3fff_ffff, f32::to_bits(last)];
                assert_eq!(pixel.unwrap().map(f32::to_bits), wants, "seed {seed}, pixel {at}:\n{source}");
                distinct.insert(wants);
            }
        }
    }
    // Shaders that all give one colour would test nothing.
    assert!(distinct.len() > 400, "{} colours", distinct.len());
}
