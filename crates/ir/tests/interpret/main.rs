//! The interpreter against direct loops, and against every rule it must see broken.

mod faults;
mod numbers;
mod pipelines;
mod programs;

use warpsight_ir::interpret::{Budget, Fault, Items, Who, interpret_within};
use warpsight_ir::{Bindings, Checked};

/// The valid Program of a text.
fn program(text: &str) -> Checked {
    let parsed = warpsight_ir::text::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    Checked::new(parsed).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Runs a text on data and gives the data after it.
fn run(text: &str, sizes: &[(&str, i64)], data: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Fault> {
    let mut bindings = bindings(sizes, data);
    interpret_within(&program(text), &mut bindings, Budget { steps: Some(2_000_000) })?;
    Ok(bindings.data)
}

fn bindings(sizes: &[(&str, i64)], data: Vec<Vec<u8>>) -> Bindings {
    Bindings { sizes: sizes.iter().map(|&(name, value)| (name.into(), value)).collect(), data }
}

fn ints(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn as_ints(bytes: &[u8]) -> Vec<i32> {
    bytes.as_chunks::<4>().0.iter().map(|b| i32::from_le_bytes(*b)).collect()
}

fn halves(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|&v| half::f16::from_f32(v).to_le_bytes()).collect()
}

fn random_f32(rng: &mut fastrand::Rng, count: usize) -> Vec<f32> {
    (0..count).map(|_| rng.f32() * 2.0 - 1.0).collect()
}

/// `a · b`, each sum in ascending k, rounding products and sums.
fn matmul(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Vec<f32> {
    let mut c = vec![0.0; m * n];
    for i in 0..m {
        for j in 0..n {
            c[i * n + j] = (0..k).fold(0.0, |sum, l| sum + a[i * k + l] * b[l * n + j]);
        }
    }
    c
}

/// The coordinates of a work-item: its group's, its own.
fn one(who: &Who) -> (Vec<i64>, Vec<i64>) {
    let values = |axes: &[(warpsight_ir::Name, i64)]| axes.iter().map(|a| a.1).collect();
    match &who.items {
        Items::One(lane) => (values(&who.group), values(lane)),
        other => panic!("{other:?} is not one work-item"),
    }
}
