//! A 15×15 convolution in single precision, its filter in constant memory: the kernel `convolution` of Kernel Tuner's benchmark hub without
//! shared memory. A thread computes tile_x × tile_y outputs that lie a block's extent apart, so that a warp's accesses stay dense.

use super::shapes::spread;
use super::{Later, parameters};
use crate::kernels;
use crate::{Amounts, Context, Measurement, Scale};
use std::fmt::Write;
use warpsight_ir::Scalar;
use warpsight_run::init::random;
use warpsight_run::{Init, Job, JobResult, LaunchSpec, MemoryKind, MemorySpec, Peek};

/// Rows and columns of the filter.
const FILTER: u32 = 15;
/// Points that are compared.
const SAMPLES: usize = 256;

/// Threads and outputs of a thread, along x and y.
#[derive(Clone, Copy)]
struct Shape {
    block: [u32; 2],
    tile: [u32; 2],
}

/// The convolution over block shapes and tiles that divide the output.
pub(super) fn convolution(context: &Context) -> Vec<Later> {
    let (side, shapes) = match context.scale {
        Scale::Full | Scale::Quick => (4096, full()),
        Scale::Tiny => (24, [([8, 3], [1, 1]), ([3, 4], [2, 2]), ([6, 1], [1, 4])].map(|(block, tile)| Shape { block, tile }).into()),
    };
    let (scale, seed) = (context.scale, context.seed);
    shapes.into_iter().map(|shape| -> Later { Box::new(move || measurement(side, shape, scale, seed)) }).collect()
}

/// The fastest of the recorded A100 runs first, then the recorded block shapes with tiles 1×1 and 2×4.
fn full() -> Vec<Shape> {
    let known = [([128, 2], [2, 4]), ([32, 4], [1, 1]), ([16, 16], [1, 1]), ([64, 1], [1, 4]), ([64, 2], [4, 4]), ([32, 2], [2, 2])];
    let mut blocks = vec![];
    for x in [16, 32, 64, 128, 256] {
        blocks.extend([1, 2, 4, 8, 16].into_iter().filter(|y| x * y <= 1024).map(|y| [x, y]));
    }
    let pairs = blocks.into_iter().flat_map(|block| [[1, 1], [2, 4]].map(|tile| (block, tile)));
    let mut all: Vec<(_, _)> = known.into();
    all.extend(spread(pairs.filter(|pair| !known.contains(pair)).collect()));
    all.into_iter().map(|(block, tile)| Shape { block, tile }).collect()
}

/// The text of the Program.
fn program(side: u32, Shape { block: [bx, by], tile: [tx, ty] }: Shape) -> String {
    let input = side + FILTER - 1;
    let tiles = || (0..ty).flat_map(move |j| (0..tx).map(move |i| (j, i)));
    let plus = |n: u32| if n == 0 { String::new() } else { format!(" + {n}") };
    let mut text = format!(
        "program convolution {{\n  read buffer input: f32[{input}, {input}]\n  read constant buffer filter: f32[{FILTER}, {FILTER}]\n  \
         write buffer output: f32[{side}, {side}]\n  groups gx = {}, gy = {}\n  lanes lx = {bx}, ly = {by}\n  {{\n    \
         let x = gx * {} + lx\n    let y = gy * {} + ly\n",
        side / (bx * tx),
        side / (by * ty),
        bx * tx,
        by * ty
    );
    for (j, i) in tiles() {
        let _ = writeln!(text, "    var s{j}_{i}: f32 = 0.0");
    }
    // Rows stay a loop: unrolled too, sixteen outputs would be 3600 statements for the compiler.
    let _ =
        write!(text, "    for j in 0..{FILTER} unroll none {{\n      for i in 0..{FILTER} unroll full {{\n        let w = filter[j, i]\n");
    for (j, i) in tiles() {
        let at = format!("input[y + j{}, x + i{}]", plus(j * by), plus(i * bx));
        let _ = writeln!(text, "        s{j}_{i} = fma({at}, w, s{j}_{i})");
    }
    text.push_str("      }\n    }\n");
    for (j, i) in tiles() {
        let _ = writeln!(text, "    output[y{}, x{}] = s{j}_{i}", plus(j * by), plus(i * bx));
    }
    text + "  }\n}\n"
}

fn measurement(side: u32, shape: Shape, scale: Scale, seed: u64) -> Measurement {
    let Shape { block: [bx, by], tile: [tx, ty] } = shape;
    let program = kernels::program(&program(side, shape), &[]);
    let input = side + FILTER - 1;
    let square = |side: u32| u64::from(side) * u64::from(side) * 4;
    let memory = [
        (square(input), Init::Random { element: Scalar::F32, seed }),
        (square(FILTER), Init::Random { element: Scalar::F32, seed: seed.wrapping_add(1) }),
        (square(side), Init::Poison),
    ];
    let mut rng = fastrand::Rng::with_seed(seed);
    let last = side - 1;
    let mut points = vec![[0, 0], [last, 0], [0, last], [last, last]];
    points.extend((points.len()..SAMPLES).map(|_| [rng.u32(0..side), rng.u32(0..side)]));
    let offsets = points.iter().map(|[x, y]| (u64::from(*y) * u64::from(side) + u64::from(*x)) * 4).collect();
    let numbers = [
        ("block_x", bx.into()),
        ("block_y", by.into()),
        ("block_z", 1),
        ("tile_x", tx.into()),
        ("tile_y", ty.into()),
        ("grid_x", (side / (bx * tx)).into()),
        ("grid_y", (side / (by * ty)).into()),
        ("grid_z", 1),
        ("domain_x", side.into()),
        ("domain_y", side.into()),
        ("domain_z", 1),
    ];
    let outputs = f64::from(side) * f64::from(side);
    Measurement {
        name: format!("convolution {bx}x{by} tile {tx}x{ty}"),
        params: parameters("convolution", "f32", &numbers),
        amounts: Amounts {
            bytes: memory.iter().map(|(bytes, _)| *bytes as f64).sum(),
            operations: outputs * f64::from(2 * FILTER * FILTER),
            steps: 0.0,
            points: outputs,
        },
        job: Job {
            programs: vec![program.into()],
            memory: memory
                .into_iter()
                .map(|(bytes, init)| MemorySpec { kind: MemoryKind::Buffer { bytes }, init, canaries: true })
                .collect(),
            launches: vec![LaunchSpec { program: 0, args: vec![0, 1, 2], sizes: vec![] }],
            read: vec![],
            peek: vec![Peek { memory: 2, offsets, bytes: 4 }],
            timing: Some(super::timing(scale)),
        },
        launch: 0,
        check: Box::new(move |result| compare(side, &points, seed, result)),
    }
}

/// Compares outputs with sums in `f64`.
fn compare(side: u32, points: &[[u32; 2]], seed: u64, result: &JobResult) -> Result<(), String> {
    if let Some(&memory) = result.damaged.first() {
        return Err(format!("memory beside buffer {memory} was overwritten"));
    }
    let found = match &result.peeked[..] {
        [data] if data.0.len() == points.len() * 4 => warpsight_ir::data::bytes_f32(&data.0),
        _ => return Err("not all results came back".into()),
    };
    let width = u64::from(side + FILTER - 1);
    for ([x, y], found) in points.iter().zip(found) {
        let (mut sum, mut magnitude) = (0.0, 0.0);
        for j in 0..FILTER {
            for i in 0..FILTER {
                let value = random(seed, u64::from(y + j) * width + u64::from(x + i));
                let product = value * random(seed.wrapping_add(1), (j * FILTER + i).into());
                sum += product;
                magnitude += product.abs();
            }
        }
        // Every addition rounds to 2⁻²⁴ of a partial sum, which the magnitude bounds; so does every product that is not fused.
        let tolerance = magnitude * f64::from(FILTER * FILTER + 1) * f64::from(f32::EPSILON) / 2.0;
        if (f64::from(found) - sum).abs() > tolerance || !found.is_finite() {
            return Err(format!("output[{y}, {x}] is {found}, not {sum} (tolerance {tolerance:e})"));
        }
    }
    Ok(())
}
