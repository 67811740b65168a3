//! Paper 000, figure 4: four orders in which a warp reads an image; and images of rows and columns beside images of one row (section 3).

use crate::shared::checked;
use std::collections::BTreeMap;
use warpsight_ir::{Bindings, Checked};
use warpsight_sim::{Report, Silicon, Simulator};

/// An order in which work-items read pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Each work-item goes down a column; neighbours consume a line together.
    Column,
    /// Each goes along a band of so many rows, down the band first. One row: row-major.
    Band(u32),
}

/// The orders of the figure, and what the paper states of one work-item: the gain over columns.
pub const PATTERNS: [(&str, Pattern, f64); 4] = [
    ("column", Pattern::Column, 1.0),
    ("row", Pattern::Band(1), 1.08),
    ("block-2", Pattern::Band(2), 1.35),
    ("block-4", Pattern::Band(4), 1.79),
];

/// Pixels that a work-item reads.
const STEPS: u32 = 4096;

/// Work-items of the widest warp that reads.
const LANES: u32 = 64;

/// Bytes a cycle that so many work-items of a warp read in this order, from an image larger than the second level.
///
/// # Errors
/// What the simulator refuses.
pub fn throughput(simulator: &Simulator, pattern: Pattern, lanes: u32) -> Result<f64, String> {
    let (width, height, x, y) = match pattern {
        Pattern::Column => (LANES, STEPS, "l".to_owned(), "n".to_owned()),
        Pattern::Band(rows) => {
            let along = if rows == 1 { "n".to_owned() } else { format!("(n >> {})", rows.ilog2()) };
            let down = if rows == 1 { "l".to_owned() } else { format!("(l * {rows} + (n & {}))", rows - 1) };
            (STEPS / rows, LANES * rows, along, down)
        }
    };
    assert!(u64::from(width) * u64::from(height) * 16 > simulator.silicon().l2.cache.bytes, "the image is larger than the second level");
    let program = checked(&format!(
        "program pattern {{
          read image a: rgba32f[{width}, {height}]
          write buffer end: f32[{lanes} * 4]
          lanes l = {lanes}
          {{
            var sum: f32x4 = splat4(0.0)
            for n in 0..{STEPS} unroll none {{ sum = sum + a@[{x}, {y}] }}
            end[l * 4] = sum
          }}
        }}"
    ));
    let report = run(simulator, &program, &[16 * (width * height) as usize, 16 * lanes as usize])?;
    Ok(16.0 * f64::from(lanes) * f64::from(STEPS) / report.cycles.0)
}

/// Bytes a cycle that many warps read of an image that the texture caches hold: of rows and columns, and of one row.
///
/// # Errors
/// What the simulator refuses.
pub fn kinds(silicon: &Silicon) -> Result<[f64; 2], String> {
    let simulator = Simulator::new(silicon.clone());
    let (lanes, trips) = (silicon.core.wave, 256);
    let groups = 16 * silicon.core.count;
    let bytes = 16.0 * f64::from(lanes) * f64::from(trips) * f64::from(groups);
    let rate = |image: &str, row: &str| {
        let program = checked(&format!(
            "program kinds {{
          read {image} a: rgba32f[{lanes}{row}]
          write buffer end: f32[{groups}, {lanes} * 4]
          groups g = {groups}
          lanes l = {lanes}
          {{
            var sum: f32x4 = splat4(0.0)
            for n in 0..{trips} unroll 8 {{ sum = sum + a@[(l + n) & {}, 0] }}
            end[g, l * 4] = sum
          }}
        }}",
            lanes - 1
        ));
        let data = [16 * lanes as usize, 16 * (lanes * groups) as usize];
        Ok::<_, String>(bytes / run(&simulator, &program, &data)?.cycles.0)
    };
    Ok([rate("image", ", 1")?, rate("image1d", ", 1")?])
}

/// Runs a Program on arguments of zeros.
pub fn run(simulator: &Simulator, program: &Checked, data: &[usize]) -> Result<Report, String> {
    let data = data.iter().map(|&bytes| vec![0; bytes]).collect();
    simulator.simulate(program, &mut Bindings { sizes: BTreeMap::new(), data }).map_err(|fault| fault.to_string())
}
