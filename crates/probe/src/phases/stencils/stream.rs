//! STREAM (McCalpin): copy, scale, add, triad in double precision, one element a thread.

use super::Later;
use super::grid::{Body, Grid, Kernel, Loads};
use super::shapes::Shape;
use crate::{Context, Scale};

/// The factor of scale and triad.
const FACTOR: f64 = 0.4;

/// Its four kernels, block size by block size.
pub(super) fn stream(context: &Context) -> Vec<Later> {
    let (elements, sizes): (i64, &[u32]) = match context.scale {
        Scale::Full | Scale::Quick => (1 << 26, &[256, 1024, 128, 512]),
        Scale::Tiny => (1000, &[64, 37]),
    };
    let grid = Grid::new([elements, 1, 1], [elements, 1, 1], 0, [0; 3]);
    let shapes = sizes.iter().map(|&size| Shape::plain([size, 1, 1]));
    shapes.flat_map(|shape| kernels(grid).map(|kernel| kernel.over(vec![shape], context))).flatten().collect()
}

/// What a kernel of STREAM does with the elements it reads.
struct Definition {
    name: &'static str,
    reads: &'static [&'static str],
    flops: f64,
    text: fn(&[String]) -> String,
    reference: fn(&[f64]) -> f64,
}

const DEFINITIONS: [Definition; 4] = [
    Definition { name: "copy", reads: &["A"], flops: 0.0, text: |v| v[0].clone(), reference: |v| v[0] },
    Definition { name: "scale", reads: &["A"], flops: 1.0, text: |v| format!("{} * {FACTOR:?}d", v[0]), reference: |v| v[0] * FACTOR },
    Definition { name: "add", reads: &["A", "B"], flops: 1.0, text: |v| format!("{} + {}", v[0], v[1]), reference: |v| v[0] + v[1] },
    Definition {
        name: "triad",
        reads: &["A", "B"],
        flops: 2.0,
        text: |v| format!("fma({}, {FACTOR:?}d, {})", v[1], v[0]),
        reference: |v| v[1].mul_add(FACTOR, v[0]),
    },
];

fn kernels(grid: Grid) -> [Kernel; 4] {
    let here = [0; 3];
    DEFINITIONS.map(|Definition { name, reads, flops, text, reference }| {
        let point = move |body: &mut Body| {
            let values: Vec<String> = (0..reads.len()).map(|field| body.load(field, here)).collect();
            body.store(0, &text(&values));
        };
        Kernel {
            name,
            grid,
            reads: reads.iter().map(|&name| name.into()).collect(),
            writes: vec!["D".into()],
            flops,
            point: Box::new(point),
            reference: Box::new(move |load: &Loads| vec![reference(&(0..reads.len()).map(|field| load(field, here)).collect::<Vec<_>>())]),
            // One operation, which rounds once: nothing is left open.
            tolerance: 0.0,
            samples: 256,
        }
    })
}
