//! Paper 000, figure 5: one work-group of 1 to 16 warps, all of whose work-items read the same pixels and take their logarithms.

use crate::patterns::run;
use crate::shared::checked;
use std::fmt::Write;
use warpsight_sim::Simulator;

/// Unrolls of the figure.
pub const UNROLLS: [u32; 4] = [1, 4, 8, 16];

/// Pixels that each work-item reads, in rows of so many.
const PIXELS: u32 = 12288;
const ROW: u32 = 1024;

/// Vectors of four that a work-item keeps besides, so that the Program's occupancy without unrolling is the paper's.
const KEPT: u32 = 9;

/// What one work-group took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Warps of the work-group.
    pub warps: u32,
    /// Warps that a core holds at once, by the simulator's own rule for registers.
    pub occupancy: u32,
    /// Fetches that missed the texture cache, of all.
    pub miss_rate: f64,
    /// Cycles of the launch.
    pub cycles: f64,
}

/// The Program `logarithms`: so many pixels a trip, each with a sum of its own.
///
/// # Errors
/// What the simulator refuses.
pub fn logarithms(simulator: &Simulator, unroll: u32, warps: u32) -> Result<Point, String> {
    assert!(u64::from(PIXELS) * 16 > simulator.silicon().l2.cache.bytes, "the pixels are larger than the second level");
    let lanes = warps * simulator.silicon().core.wave;
    let (mut before, mut body, mut after) = (String::new(), String::new(), String::new());
    // Writing to a text does not fail.
    for n in 0..KEPT {
        _ = writeln!(before, "let k{n} = b[(l + {n}) * 4 : 4]");
        _ = write!(after, " + k{n}");
    }
    for n in 0..unroll {
        _ = writeln!(before, "var s{n}: f32x4 = splat4(0.0)");
        _ = writeln!(body, "s{n} = s{n} + log(a@[(at & {}) + {n} + own, at >> {}])", ROW - 1, ROW.ilog2());
        _ = write!(after, " + s{n}");
    }
    // Every work-item reads the same pixels, but a compiler does not know it: `own` is 0 of all.
    let program = checked(&format!(
        "program logarithms {{
          read image a: rgba32f[{ROW}, {}]
          read buffer b: f32[({lanes} + {KEPT}) * 4]
          write buffer end: f32[{lanes} * 4]
          lanes l = {lanes}
          {{
            let own = l >> 10
            {before}
            for at in 0..{PIXELS} step {unroll} unroll none {{ {body} }}
            end[l * 4] = splat4(0.0){after}
          }}
        }}",
        PIXELS / ROW
    ));
    let report = run(simulator, &program, &[16 * PIXELS as usize, 16 * (lanes + KEPT) as usize, 16 * lanes as usize])?;
    let (hits, misses) = (report.traffic.texture_hits as f64, report.traffic.texture_misses as f64);
    Ok(Point { warps, occupancy: report.occupancy.waves, miss_rate: misses / (hits + misses), cycles: report.cycles.0 })
}
