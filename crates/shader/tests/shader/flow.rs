//! Control flow with counts that are known.

use crate::common::{Drawn, count_at, draw, module};
use warpsight_shader::interpret::{Inputs, InterpretError};
use warpsight_shader::module::Op;

fn loops(width: u32, height: u32) -> (Drawn, impl Fn(&str, Op) -> u64) {
    let (module, source) = (module("loops"), include_str!("../shaders/loops.frag"));
    let drawn = draw(&module, &Inputs::of_frame(width, height)).unwrap();
    let copy = draw(&module, &Inputs::of_frame(width, height)).unwrap();
    (drawn, move |text: &str, op| count_at(&module, source, &copy, text, op))
}

/// What `loops.frag` does, again; with how often each of its marked lines runs.
struct Model {
    pixel: [f32; 4],
    odd: u64,
    skipped: u64,
    inner: u64,
    halved: u64,
    negated: u64,
    hundred: u64,
    twenty: u64,
}

fn model(x: i32, y: i32) -> Model {
    let mut m = Model { pixel: [0.0; 4], odd: 0, skipped: 0, inner: 0, halved: 0, negated: 0, hundred: 0, twenty: 0 };
    let mut odd = 0;
    for i in 0..100 {
        if i % 2 == 0 {
            m.skipped += 1;
            continue;
        }
        odd += i;
        m.odd += 1;
        if odd > x * x {
            break;
        }
    }
    let mut n = 3 + y;
    loop {
        n -= 2;
        m.halved += 1;
        if n <= 0 {
            break;
        }
    }
    m.inner = ((x + 1) * (x + 2) / 2) as u64;
    let p = x + 8 * y;
    let picked = match p % 5 {
        0 => 10,
        1 => p + 120,
        2 => p + 20,
        4 => -p,
        _ => 7,
    };
    m.hundred = u64::from(p % 5 == 1);
    m.twenty = u64::from(p % 5 == 1 || p % 5 == 2);
    m.negated = u64::from(p % 5 == 4);
    m.pixel = [odd as f32 + m.odd as f32, m.inner as f32, picked as f32, n as f32];
    m
}

#[test]
fn loops_breaks_switches_and_calls_run_as_often_as_they_should() {
    // Odd sides, so that some lanes are helpers.
    let (width, height) = (7, 5);
    let (drawn, count) = loops(width, height);
    let models: Vec<Model> = (0..height).flat_map(|y| (0..width).map(move |x| model(x as i32, y as i32))).collect();
    for (at, (pixel, model)) in drawn.pixels.iter().zip(&models).enumerate() {
        assert_eq!(pixel.unwrap(), model.pixel, "pixel {at}");
    }
    let sum = |f: fn(&Model) -> u64| models.iter().map(f).sum::<u64>();
    assert_eq!(count("odd += i", Op::IAdd), sum(|m| m.odd));
    assert_eq!(count("(i & 1)", Op::BitwiseAnd), sum(|m| m.odd + m.skipped));
    assert_eq!(count("sum++", Op::IAdd), sum(|m| m.inner));
    assert_eq!(count("n -= 2", Op::ISub), sum(|m| m.halved));
    assert_eq!(count("x += 100", Op::IAdd), sum(|m| m.hundred));
    assert_eq!(count("x += 20;", Op::IAdd), sum(|m| m.twenty));
    assert_eq!(count("x = -x", Op::SNegate), sum(|m| m.negated));
    assert_eq!(drawn.counts[0], u64::from(width * height));
    assert!(drawn.rough.iter().all(|r| !r), "integers are exact");
}

#[test]
fn discarded_pixels_count_up_to_their_end_and_early_returns_keep_their_colour() {
    let (module, source) = (module("kill"), include_str!("../shaders/kill.frag"));
    let drawn = draw(&module, &Inputs::of_frame(6, 4)).unwrap();
    for (at, pixel) in drawn.pixels.iter().enumerate() {
        let (x, y) = (at % 6, at / 6);
        let wants = match (x % 2, y % 2) {
            (1, 1) => None,
            (0, 0) => Some([1.0; 4]),
            _ => Some([(x + y) as f32, 0.0, 0.0, 2.0]),
        };
        assert_eq!(*pixel, wants, "pixel {at}");
    }
    let count = |text: &str, op| count_at(&module, source, &drawn, text, op);
    assert_eq!(count("discard;", Op::Kill), 6);
    assert_eq!(count("return float", Op::ReturnValue), 12);
    assert_eq!(count("float v = body", Op::FunctionCall), 18);
    // The block after the call is the same one; it was entered by those that were discarded too.
    assert_eq!(count("color = vec4(v", Op::CompositeConstruct), 18);
}

#[test]
fn an_endless_loop_ends_with_the_line_where_the_budget_ran_out() {
    if !crate::common::has("glslangValidator") {
        return;
    }
    let source = "#version 450\nlayout(location=0) out vec4 c;\nvoid main() {\n float x = gl_FragCoord.x;\n while (x > -1.0)\n  x += 1.0;\n c = vec4(x);\n}";
    let module = warpsight_shader::module::Module::from_bytes(&crate::common::compile(source)).unwrap();
    let inputs = Inputs { budget: 10_000, ..Inputs::of_frame(4, 4) };
    let error = draw(&module, &inputs).unwrap_err();
    assert!(matches!(error, InterpretError::Budget { limit: 10_000, line: 5 | 6 }), "{error}");
    assert!(error.to_string().starts_with("a quad took more than 10000 instructions (line "), "{error}");
}

#[test]
fn pixels_of_a_quad_meet_again_before_derivatives() {
    let drawn = draw(&module("meet"), &Inputs::of_frame(8, 6)).unwrap();
    let v = |x: i32, y: i32| {
        let mut v = 0;
        for _ in (0..x * y).filter(|i| i % 3 != x % 3) {
            v += 1;
            if v > 9 {
                break;
            }
        }
        v as f32
    };
    let part = |n: i32| if n >= 39 { -1.0 } else { (n * (n + 1) / 2) as f32 };
    let w = |x: i32, y: i32| if x == 0 { 5.0 } else { part(x + y) };
    for (at, pixel) in drawn.pixels.iter().enumerate() {
        let (x, y) = (at as i32 % 8, at as i32 / 8);
        let (left, top) = (x & !1, y & !1);
        let wants =
            [v(left + 1, y) - v(left, y), v(x, top + 1) - v(x, top), w(left + 1, y) - w(left, y), part((top + 1) * 9) - part(top * 9)];
        assert_eq!(pixel.unwrap(), wants, "pixel {x} {y}");
    }
}
