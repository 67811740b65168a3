//! The functions of GLSL against those of Rust, in 64 bits where it matters.

use crate::common::{draw, module};
use warpsight_shader::interpret::Inputs;

type V3 = [f64; 3];

fn dot(a: V3, b: V3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn length(a: V3) -> f64 {
    dot(a, a).sqrt()
}

fn scale(a: V3, by: f64) -> V3 {
    a.map(|x| x * by)
}

fn plus(a: V3, b: V3) -> V3 {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn with(a: V3, last: f64) -> [f64; 4] {
    [a[0], a[1], a[2], last]
}

/// Determinant and inverse by Gauss and Jordan, columns as GLSL has them.
fn solve<const N: usize>(columns: [[f64; N]; N]) -> (f64, [[f64; N]; N]) {
    let mut m = columns;
    let mut inverse: [[f64; N]; N] = std::array::from_fn(|c| std::array::from_fn(|r| f64::from(u8::from(c == r))));
    let mut determinant = 1.0;
    // Column operations: the inverse is that of the same side.
    for at in 0..N {
        let best = (at..N).max_by(|a, b| m[*a][at].abs().total_cmp(&m[*b][at].abs())).unwrap();
        if best != at {
            m.swap(at, best);
            inverse.swap(at, best);
            determinant = -determinant;
        }
        let pivot = m[at][at];
        determinant *= pivot;
        m[at].iter_mut().chain(&mut inverse[at]).for_each(|x| *x /= pivot);
        for other in (0..N).filter(|o| *o != at) {
            let factor = m[other][at];
            for r in 0..N {
                m[other][r] -= factor * m[at][r];
                inverse[other][r] -= factor * inverse[at][r];
            }
        }
    }
    (determinant, inverse)
}

fn round_half(x: f32) -> f64 {
    f64::from(half::f16::from_f32(x).to_f32())
}

fn wants(row: u32, column: u32) -> [f64; 4] {
    // Inputs are those of 32 bits.
    let x32 = (column as f32 + 0.5 - 8.0) * 0.37;
    let (p32, s32) = (x32.abs() + 0.125, (x32 * 0.3).clamp(-0.99, 0.99));
    let (x, p, s) = (f64::from(x32), f64::from(p32), f64::from(s32));
    let i = (column as i32).wrapping_mul(1_103_515_245).wrapping_sub(77);
    let u = i as u32;
    let (a, b): (V3, V3) = ([x, 1.0 - x, p], [0.5, x * x, -1.0]);
    let (of_m, inverse_m) = solve([a, b, [1.0, 2.0, x]]);
    let (of_n, inverse_n) = solve([[x, 1.0], [-2.0, p]]);
    let (of_w, inverse_w) = solve([with(a, 1.0), with(b, 2.0), [1.0, x, 3.0, 4.0], [p, 0.0, -1.0, 0.5]]);
    let unit = |v: V3| scale(v, 1.0 / length(v));
    let smooth = ((x + 1.0) / 2.0).clamp(0.0, 1.0);
    let unorm = |v: f64, most: f64| (v.clamp(0.0, 1.0) * most).round() / most;
    let snorm = |v: f64, most: f64| (v.clamp(-1.0, 1.0) * most).round() / most;
    let msb = |v: u32| if v == 0 { -1.0 } else { f64::from(v.ilog2()) };
    match row {
        0 => [x.sin(), x.cos(), x.tan(), x.to_radians()],
        1 => [s.asin(), s.acos(), x.atan(), x.atan2(p)],
        2 => [x.sinh(), x.cosh(), x.tanh(), x.to_degrees()],
        3 => [x.asinh(), (1.0 + p).acosh(), s.atanh(), p.powf(x)],
        4 => [x.exp(), p.ln(), x.exp2(), p.log2()],
        5 => [p.sqrt(), 1.0 / p.sqrt(), (2.0 * x).round_ties_even(), (2.0 * x).round_ties_even()],
        6 => [x.trunc(), x.floor(), x.ceil(), x - x.floor()],
        7 => [x.abs(), x.signum(), x - 0.7 * (x / 0.7).floor(), x.min(0.5)],
        8 => [x.max(0.5), x.clamp(-0.5, 0.5), x * 0.75 + 0.75, f64::from(u8::from(x >= 0.5))],
        9 => [smooth * smooth * (3.0 - 2.0 * smooth), x * p + s, length(a), length(plus(a, scale(b, -1.0)))],
        10 => [a[1] * b[2] - b[1] * a[2], a[2] * b[0] - b[2] * a[0], a[0] * b[1] - b[0] * a[1], dot(a, b)],
        11 => with(unit(a), of_m),
        12 => with(if dot([0.3, -0.2, 1.0], b) < 0.0 { a } else { scale(a, -1.0) }, of_n),
        13 => with(plus(a, scale(unit(b), -2.0 * dot(unit(b), a))), of_w),
        14 => {
            let (i, n, eta) = (unit(a), unit(b), 0.8);
            let cosine = dot(n, i);
            let k = 1.0 - eta * eta * (1.0 - cosine * cosine);
            with(plus(scale(i, eta), scale(n, -(eta * cosine + k.sqrt()))), x.abs())
        }
        15 => with(inverse_m[0], inverse_n[1][0]),
        16 => inverse_w[1],
        17 => [a[1], b[1], 2.0, a[1] * b[2]],
        18 => [unorm(s, 255.0), unorm(p, 255.0), unorm(x, 255.0), unorm(0.5, 255.0)],
        19 => [snorm(s, 127.0), snorm(p, 127.0), snorm(x, 127.0), -64.0 / 127.0],
        20 => [round_half(x32), round_half(p32), unorm(p, 65535.0), unorm(s, 65535.0)],
        21 => [snorm(s, 32767.0), snorm(x, 32767.0), 8.0 * x, 4.0],
        22 => [f64::from(u.trailing_zeros()), msb(if i < 0 { !u } else { u }), msb(u), f64::from(u.count_ones())],
        23 => {
            let signed = (i << (32 - 14)) >> (32 - 9);
            let inserted = u & !(7 << 4) | 3 << 4;
            [f64::from(signed), f64::from(u >> 7 & 0x7ff), f64::from(inserted >> 8), f64::from(u.reverse_bits() >> 8)]
        }
        24 => {
            let (sum, carry) = u.overflowing_add(1 << 31);
            let (less, borrow) = u.overflowing_sub(0x1234_5678);
            let product = u64::from(u) * 12345;
            let mixed = (sum ^ less ^ product as u32) >> 8;
            [f64::from(u8::from(carry)), f64::from(u8::from(borrow)), (product >> 32) as f64, f64::from(mixed)]
        }
        25 => {
            let exponent = x.abs().log2().floor() + 1.0;
            let high = (i64::from(i) * -77) >> 32;
            let triple = f64::from(x32 * 3.0);
            [x / exponent.exp2() + exponent, triple - triple.trunc(), triple.trunc(), high as f64]
        }
        // Remainders of glslang have the divisor's sign.
        _ => [f64::from(i / 7), f64::from(i.rem_euclid(i32::MAX)), f64::from(i.max(-5)), f64::from(u.min(77))],
    }
}

#[test]
fn functions_of_glsl_give_what_mathematics_says() {
    let drawn = draw(&module("maths"), &Inputs::of_frame(16, 27)).unwrap();
    for (at, pixel) in drawn.pixels.iter().enumerate() {
        let (row, column) = (at as u32 / 16, at as u32 % 16);
        let (got, wants) = (pixel.unwrap(), wants(row, column));
        for (c, (got, want)) in got.into_iter().zip(wants).enumerate() {
            // Inverses lose digits to their determinant, which is small at some x; integers beyond 2²⁴ are rounded.
            let tolerance = if matches!(row, 15 | 16) { 2e-4 } else { 3e-6 };
            assert!(
                (f64::from(got) - want).abs() <= tolerance * want.abs().max(1.0),
                "row {row}, column {column}, {c}: {got} instead of {want}"
            );
        }
    }
}
