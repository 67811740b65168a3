//! Interface tracking of a two-phase lattice-Boltzmann method: the conservative Allen–Cahn equation on D3Q15, as in section 5.3 of
//! the paper on data volumes (Fakhari, Mitchell, Leonardi, Bolster, 2017, give the method).
//!
//! A point pulls 15 populations h from its neighbours, takes the gradient of the phase field C by central differences, and relaxes
//! with one rate ω towards φ·Γ(u), φ = Σ h, with the term that keeps the interface sharp:
//!
//! ```text
//! h'ᵢ = (1 − ω) hᵢ + ω φ Γᵢ + (1 − ω/2) Fᵢ        Γᵢ = wᵢ (1 + 3 e·u + 4.5 (e·u)² − 1.5 u·u)
//! Fᵢ = wᵢ (eᵢ·n) (1 − 4 (C − ½)²) / W             n = ∇C / |∇C|
//! ```
//!
//! It stores h' and φ. The paper's kernel does about 400 operations a point with its weighted relaxation; this one does fewer, and the same
//! loads and stores.

use super::Later;
use super::grid::{Body, Grid, Kernel, Loads};
use super::shapes::{Shape, blocks, folded, once, plain, spread};
use crate::{Context, Scale};

/// Velocities: rest, the axes, the diagonals, numbered as in the paper's kernel.
const E: [[i64; 3]; 15] = [
    [0, 0, 0],
    [1, 0, 0],
    [-1, 0, 0],
    [0, 1, 0],
    [0, -1, 0],
    [0, 0, 1],
    [0, 0, -1],
    [1, 1, 1],
    [1, 1, -1],
    [1, -1, 1],
    [1, -1, -1],
    [-1, 1, 1],
    [-1, 1, -1],
    [-1, -1, 1],
    [-1, -1, -1],
];
/// The field C, after the populations; then u along x, y, z.
const C: usize = 15;
/// Rate of relaxation.
const OMEGA: f64 = 1.25;
/// 1/W, the inverse of the interface's width in cells.
const SHARPNESS: f64 = 0.25;
/// Keeps the direction of a vanishing gradient finite.
const TINY: f64 = 1e-30;
/// Additions and multiplications, and the root and the quotient, of a point.
const FLOPS: f64 = 234.0;

/// Weight of a velocity: 2/9 at rest, 1/9 along axes, 1/72 along diagonals.
fn weight(e: [i64; 3]) -> f64 {
    match e.iter().map(|d| d * d).sum::<i64>() {
        0 => 2.0 / 9.0,
        1 => 1.0 / 9.0,
        _ => 1.0 / 72.0,
    }
}

/// The neighbours of C, ahead and behind along x, y, z.
const AROUND: [[[i64; 3]; 2]; 3] = [[[1, 0, 0], [-1, 0, 0]], [[0, 1, 0], [0, -1, 0]], [[0, 0, 1], [0, 0, -1]]];

/// The kernel over its block shapes.
pub(super) fn interface(context: &Context) -> Vec<Later> {
    let (dims, shapes) = match context.scale {
        Scale::Full | Scale::Quick => ([256, 200, 200], full()),
        Scale::Tiny => ([12, 8, 8], tiny()),
    };
    let grid = Grid::new(dims, dims.map(|n| n - 2), 1, [1; 3]);
    let kernel = Kernel {
        name: "lbm_d3q15",
        grid,
        reads: (0..15).map(|i| format!("h_{i}")).chain(["C", "u_0", "u_1", "u_2"].map(String::from)).collect(),
        writes: (0..15).map(|i| format!("htmp_{i}")).chain(["Ctmp".into()]).collect(),
        flops: FLOPS,
        point: Box::new(point),
        reference: Box::new(reference),
        // Values stay below 100 (φ < 15, e·u < 3), and some 30 operations on the longest way each round to 2⁻⁵³ of that.
        tolerance: 100.0 * 30.0 * f64::EPSILON,
        samples: 64,
    };
    kernel.over(shapes, context)
}

fn full() -> Vec<Shape> {
    let known = [[64, 4, 2], [256, 1, 2], [512, 1, 1], [32, 4, 4], [128, 2, 2], [16, 8, 4], [256, 2, 1], [8, 8, 8], [1, 64, 8]];
    once(vec![
        plain(known.into()),
        folded(vec![[64, 2, 2], [128, 2, 1], [256, 1, 1], [32, 4, 2]]),
        plain(spread(blocks(512, 1))),
        plain(spread(blocks(256, 32))),
    ])
}

fn tiny() -> Vec<Shape> {
    once(vec![plain(vec![[8, 2, 2], [3, 5, 1]]), folded(vec![[4, 1, 3]])])
}

/// A sum of those variables that have a sign.
fn signed(e: [i64; 3], names: &[String; 3]) -> String {
    let mut sum = String::new();
    for (sign, name) in e.iter().zip(names).filter(|(sign, _)| **sign != 0) {
        let operator = match (sum.is_empty(), *sign < 0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        sum += &format!("{operator}{name}");
    }
    sum
}

/// The square of a vector's length.
fn square([x, y, z]: [&str; 3]) -> String {
    format!("fma({x}, {x}, fma({y}, {y}, {z} * {z}))")
}

/// The statements of a point. Multiplications and additions are joined here, because compilers are told not to do it by themselves.
fn point(body: &mut Body) {
    let h: Vec<String> = E.iter().enumerate().map(|(i, e)| body.load(i, e.map(|d| -d))).collect();
    let c = body.load(C, [0; 3]);
    let around = AROUND.map(|pair| pair.map(|offset| body.load(C, offset)));
    let u = [1, 2, 3].map(|axis| body.load(C + axis, [0; 3]));
    let mut gradient = vec![];
    for (axis, [ahead, behind]) in ["x", "y", "z"].iter().zip(&around) {
        gradient.push(body.bind(&format!("d{axis}"), &format!("({ahead} - {behind}) * 0.5d")));
    }
    let [x, y, z] = [0, 1, 2].map(|axis| gradient[axis].as_str());
    let length = body.bind("length", &format!("sqrt({})", square([x, y, z])));
    let off = body.bind("off", &format!("{c} - 0.5d"));
    let sharp = body.bind("sharp", &format!("fma({off} * {off}, -4.0d, 1.0d) * {SHARPNESS:?}d / ({length} + {TINY:?}d)"));
    let force = [x, y, z].map(|d| format!("{d} * {sharp}"));
    let force = [0, 1, 2].map(|axis| body.bind(["fx", "fy", "fz"][axis], &force[axis]));
    let phi = body.bind("phi", &h.join(" + "));
    let still = body.bind("still", &format!("fma({}, -1.5d, 1.0d)", square(u.each_ref().map(String::as_str))));
    let pull = body.bind("pull", &format!("{phi} * {OMEGA:?}d"));
    let keep = format!("{:?}d", 1.0 - OMEGA);
    for (i, e) in E.into_iter().enumerate() {
        let w = format!("{:?}d", weight(e));
        if i == 0 {
            body.store(i, &format!("fma({}, {keep}, {pull} * {still} * {w})", h[i]));
            continue;
        }
        let eu = body.bind(&format!("eu{i}"), &signed(e, &u));
        let ef = signed(e, &force);
        let gamma = format!("fma({eu}, fma({eu}, 4.5d, 3.0d), {still})");
        body.store(i, &format!("fma({}, {keep}, fma({pull}, {gamma}, ({ef}) * {:?}d) * {w})", h[i], 1.0 - OMEGA / 2.0));
    }
    body.store(C, &phi);
}

/// The same in `f64`, from the formulas above.
fn reference(load: &Loads) -> Vec<f64> {
    let h: Vec<f64> = E.iter().enumerate().map(|(i, e)| load(i, e.map(|d| -d))).collect();
    let gradient = AROUND.map(|[ahead, behind]| (load(C, ahead) - load(C, behind)) / 2.0);
    let length = gradient.iter().map(|g| g * g).sum::<f64>().sqrt() + TINY;
    let u = [1, 2, 3].map(|axis| load(C + axis, [0; 3]));
    let dot = |e: [i64; 3], v: [f64; 3]| e.iter().zip(v).map(|(&e, v)| e as f64 * v).sum::<f64>();
    let sharp = (1.0 - 4.0 * (load(C, [0; 3]) - 0.5).powi(2)) * SHARPNESS;
    let phi: f64 = h.iter().sum();
    let relaxed = E.iter().zip(&h).map(|(&e, h)| {
        let eu = dot(e, u);
        let gamma = weight(e) * (1.0 + 3.0 * eu + 4.5 * eu * eu - 1.5 * u.iter().map(|u| u * u).sum::<f64>());
        let force = weight(e) * dot(e, gradient) / length * sharp;
        (1.0 - OMEGA) * h + OMEGA * phi * gamma + (1.0 - OMEGA / 2.0) * force
    });
    relaxed.chain([phi]).collect()
}
