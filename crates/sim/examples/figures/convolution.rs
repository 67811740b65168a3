//! Paper 001, section 3.1: a convolution through local memory reaches half of what it reaches through the texture cache; and its figure 3b: how
//! busy arithmetic units and the bus to device memory are meanwhile.

use crate::shared::checked;
use std::collections::BTreeMap;
use std::fmt::Write;
use warpsight_ir::data::{bytes_f32, f32_bytes};
use warpsight_ir::{Bindings, Checked, Limiter};
use warpsight_sim::Simulator;

/// Pixels along each side of the output; the input has a border of one.
pub const SIDE: u32 = 32;
/// Vectors of four channels of the input, and of the output.
pub const IN: u32 = 4;
pub const OUT: u32 = 12;
/// Ways to cut the output: rows that a work-item computes, and work-items below each other.
const TILES: [[u32; 2]; 4] = [[4, 2], [4, 4], [8, 2], [8, 4]];
/// Along a side of the input.
const WIDE: u32 = SIDE + 2;

/// What a convolution took.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// Rows that a work-item computes, and work-items below each other.
    pub tile: [u32; 2],
    /// Floating-point operations a second, the launch's own overhead left out.
    pub flops: f64,
    /// The part of the arithmetic units' peak that is.
    pub alu: f64,
    /// The part of the time the bus to device memory was busy.
    pub dram: f64,
    /// What held it up.
    pub limiter: Limiter,
    /// Its output: vectors of channels, rows, columns.
    pub output: Vec<f32>,
}

/// The convolution in the way that is fastest.
///
/// # Errors
/// What the simulator refuses.
pub fn best(simulator: &Simulator, local: bool) -> Result<Ran, String> {
    let (input, weights) = example();
    let mut best = convolution(simulator, local, TILES[0], &input, &weights)?;
    for tile in &TILES[1..] {
        let ran = convolution(simulator, local, *tile, &input, &weights)?;
        if ran.flops > best.flops {
            best = ran;
        }
    }
    Ok(best)
}

/// A 3 × 3 convolution in four groups of channels, so that the output's component c is made of the inputs' components c: nearly all that moves
/// then is the input. It is read through the texture cache, or brought into local memory first.
///
/// # Errors
/// What the simulator refuses.
pub fn convolution(simulator: &Simulator, local: bool, tile: [u32; 2], input: &[f32], weights: &[f32]) -> Result<Ran, String> {
    let output = (OUT * SIDE * SIDE * 4) as usize;
    let data = vec![f32_bytes(input), f32_bytes(weights), vec![0; 4 * output]];
    let mut bindings = Bindings { sizes: BTreeMap::new(), data };
    let report = simulator.simulate(&program(local, tile), &mut bindings).map_err(|fault| fault.to_string())?;
    let work = 2.0 * 9.0 * f64::from(IN) * output as f64;
    let flops = work / (report.cycles.0 / simulator.silicon().core.clock);
    let dram = report.busy.iter().find(|busy| busy.0 == Limiter::Dram).map_or(0.0, |busy| busy.1);
    let alu = flops / simulator.silicon().peak_flops();
    Ok(Ran { tile, flops, alu, dram, limiter: report.limiter, output: bytes_f32(&bindings.data[2]) })
}

/// The convolution as a Program.
fn program(local: bool, [own, down]: [u32; 2]) -> Checked {
    let rows = own * down + 2;
    let (mut body, mut before, mut after) = (String::new(), String::new(), String::new());
    // Writing to a text does not fail.
    // A column of taps at a time; what several rows need is read once.
    for y in 0..own + 2 {
        let read = match local {
            true => format!("kept[((ly * {own} + {y}) * {WIDE} + lx + tap) * 4 : 4]"),
            false => format!("a@[lx + tap, slice * {WIDE} + top + ly * {own} + {y}]"),
        };
        _ = writeln!(body, "let t{y} = {read}");
    }
    for k in 0..3 {
        _ = writeln!(body, "let k{k} = w@[{k} * 3 + tap, m * {IN} + slice]");
    }
    for row in 0..own {
        _ = writeln!(before, "var s{row}: f32x4 = splat4(0.0)");
        for k in 0..3 {
            _ = writeln!(body, "s{row} = fma(t{}, k{k}, s{row})", row + k);
        }
        _ = writeln!(after, "out[m, top + ly * {own} + {row}, lx * 4] = s{row}");
    }
    let (declared, staged, done) = match local {
        true => (
            format!("local kept: f32[{}]", rows * WIDE * 4),
            format!(
                "for i in 0..{} unroll full {{
                   let row = min(i * {down} + ly, {rows} - 1)
                   kept[(row * {WIDE} + lx) * 4] = a@[lx, slice * {WIDE} + top + row]
                 }}
                 let edge = min(ly * {SIDE} + lx, 2 * {rows} - 1)
                 kept[((edge >> 1) * {WIDE} + {SIDE} + (edge & 1)) * 4] = a@[{SIDE} + (edge & 1), slice * {WIDE} + top + (edge >> 1)]
                 barrier group local",
                rows.div_ceil(down)
            ),
            "barrier group local",
        ),
        false => (String::new(), String::new(), ""),
    };
    checked(&format!(
        "program convolution {{
          read image a: rgba32f[{WIDE}, {}]
          read image w: rgba32f[9, {}]
          write buffer out: f32[{OUT}, {SIDE}, {SIDE} * 4]
          {declared}
          groups g = {}, m = {OUT}
          lanes lx = {SIDE}, ly = {down}
          {{
            let top = g * {}
            {before}
            for slice in 0..{IN} unroll none {{
              {staged}
              for tap in 0..3 unroll none {{ {body} }}
              {done}
            }}
            {after}
          }}
        }}",
        WIDE * IN,
        OUT * IN,
        SIDE / (own * down),
        own * down
    ))
}

/// Inputs and weights that tell pixels and taps apart.
pub fn example() -> (Vec<f32>, Vec<f32>) {
    let values = |count: u32, step: u32| (0..count).map(|n| ((n * step) % 17) as f32 / 8.0 - 1.0).collect();
    (values(WIDE * WIDE * IN * 4, 7), values(9 * OUT * IN * 4, 5))
}
