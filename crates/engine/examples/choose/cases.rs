//! Operators of the sizes of paper 000's Table 3, drawn.

use fastrand::Rng;

/// The nine operators.
pub const OPERATORS: [&str; 9] =
    ["MatMul", "Conv2Ds1", "Conv2Ds2", "DeConv2Ds1", "DeConv2Ds2", "Conv3D", "DwConv2D", "SoftMax", "LayerNorm"];

/// What is drawn at most: multiply-adds and bytes of all tensors.
#[derive(Clone, Copy, Debug)]
pub struct Most {
    pub macs: f64,
    pub bytes: f64,
}

/// So many operators of the table's grid, then so many of sizes near to it that are odd or prime.
pub fn drawn(operator: &str, seed: u64, (grid, near): (usize, usize), most: Most) -> Vec<String> {
    let salt = operator.bytes().fold(seed, |salt, byte| salt.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let mut rng = Rng::with_seed(salt);
    let mut all: Vec<String> = vec![];
    for at in 0..grid + near {
        // Of a grid with few operators that are small enough some come twice.
        for _ in 0..10_000 {
            let (text, macs, elements) = one(operator, &mut rng, at >= grid);
            if macs <= most.macs && 4.0 * elements <= most.bytes && !all.contains(&text) {
                all.push(text);
                break;
            }
        }
    }
    all
}

/// One operator, its multiply-adds and its elements.
fn one(operator: &str, rng: &mut Rng, near: bool) -> (String, f64, f64) {
    let mut size = |least: u32, most: u32| {
        let grid = 1_i64 << rng.u32(least..=most);
        if near { prime((grid as f64 * (0.7 + 0.3 * rng.f64())) as i64) } else { grid }
    };
    let product = |all: &[i64]| all.iter().map(|&n| n as f64).product::<f64>();
    match operator {
        "MatMul" => {
            let (m, n, k) = (size(4, 12), size(4, 12), size(4, 12));
            (format!("matmul m={m} n={n} k={k}"), product(&[m, n, k]), product(&[m, k]) + product(&[k, n]) + product(&[m, n]))
        }
        "SoftMax" | "LayerNorm" => {
            let (n, c) = (size(4, 12), size(4, 12));
            (format!("{} n={n} c={c}", operator.to_lowercase()), 8.0 * product(&[n, c]), 2.0 * product(&[n, c]))
        }
        _ => {
            let (c, k, h) = (size(4, 9), size(4, 9), size(4, 9));
            let r = 3 + 2 * rng.i64(0..3);
            let pad = r / 2;
            match operator {
                "Conv3D" => {
                    let d = 1_i64 << rng.u32(4..=5);
                    let text = format!("conv3d n=1 c={c} d={d} h={h} w={h} k={k} t={r} r={r} s={r} stride=1 pad={pad}");
                    (text, product(&[c, k, d, h, h, r, r, r]), product(&[c, d, h, h]) + product(&[k, d, h, h]) + product(&[c, k, r, r, r]))
                }
                "DwConv2D" => {
                    let text = format!("dwconv2d n=1 c={c} h={h} w={h} r={r} s={r} stride=1 pad={pad}");
                    (text, product(&[c, h, h, r, r]), 2.0 * product(&[c, h, h]))
                }
                _ => {
                    let stride = if operator.ends_with("s2") { 2 } else { 1 };
                    let kind = if operator.starts_with("De") { "deconv2d" } else { "conv2d" };
                    let out = if kind == "conv2d" { h / stride } else { h * stride };
                    let text = format!("{kind} n=1 c={c} h={h} w={h} k={k} r={r} s={r} stride={stride} pad={pad}");
                    let macs = product(&[c, k, r, r]) * if kind == "conv2d" { product(&[out, out]) } else { product(&[h, h]) };
                    (text, macs, product(&[c, h, h]) + product(&[k, out, out]) + product(&[c, k, r, r]))
                }
            }
        }
    }
}

/// The largest prime that is no larger, 2 at least.
fn prime(most: i64) -> i64 {
    let is_prime = |n: i64| n >= 2 && (2..n).take_while(|d| d * d <= n).all(|d| n % d != 0);
    (2..=most.max(2)).rev().find(|&n| is_prime(n)).unwrap_or(2)
}
