//! Matrix tiles held in registers: every warp multiplies the same two tiles again and again, into accumulators of its own.
//!
//! Tiles become `wmma` (`mma.sync`), which on Hopper reaches only a part of the rate of its asynchronous `wgmma`: records say `path = wmma`.
//!
//! Operands are small integers, and sums stay below 2²⁴, so that results are exact in whatever order they are added.

use super::{Load, job, loads, memory, parameters, peeked, sample};
use crate::kernels::{WARP, word};
use crate::{Amounts, Context, Measurement, Plan, Scale};
use half::{bf16, f16};
use std::fmt::Write;
use warpsight_ir::Scalar;
use warpsight_run::{Init, Peek};

/// Rows, columns and depth of a tile.
const SIDE: u32 = 16;
/// Bytes of an accumulator.
const TILE_BYTES: u32 = SIDE * SIDE * 4;
/// Multiplications of an accumulator that the body of the loop holds.
const WRITTEN: u32 = 4;

pub(super) fn plan(context: &Context) -> Plan {
    let (scale, units) = (context.scale, context.units());
    let seed = context.seed;
    let elements = [Scalar::F16, Scalar::Bf16];
    let all = loads(scale).into_iter().flat_map(move |load| elements.map(|element| (element, load)));
    // An accumulator takes 8 registers of a lane, the operands 16, all else about as much.
    let fitting = all.filter(|(_, load)| load.fits(8 * load.chains + 32));
    Plan::list(fitting.map(move |(element, load)| measurement(element, load, units, scale, seed)))
}

/// Element (row, column) of the left and the right operand: −1, 0, 1 and −2 … 2.
fn operands(row: u32, column: u32) -> [i32; 2] {
    let left = (row * 7 + column * 3 + row * column) % 3;
    let right = (row * 5 + column * 2 + row * column) % 5;
    [left as i32 - 1, right as i32 - 2]
}

/// An operand as it lies in memory.
fn bytes(element: Scalar, which: usize) -> Vec<u8> {
    let bits = |value: i32| match element {
        Scalar::Bf16 => bf16::from_f32(value as f32).to_bits(),
        _ => f16::from_f32(value as f32).to_bits(),
    };
    (0..SIDE * SIDE).flat_map(|at| bits(operands(at / SIDE, at % SIDE)[which]).to_le_bytes()).collect()
}

/// Element (row, column) of an accumulator that began with `first`, after so many multiplications.
fn expected(row: u32, column: u32, first: u32, times: u32) -> f32 {
    let product: i32 = (0..SIDE).map(|k| operands(row, k)[0] * operands(k, column)[1]).sum();
    (first as i32 + times as i32 * product) as f32
}

/// The text of the Program. Accumulator j of warp w ends in rows (w·chains + j)·16 and following.
fn program(element: Scalar, load: Load, blocks: u32, times: u32) -> String {
    let (threads, _) = load.block();
    let (warps, chains) = (threads / WARP, load.chains);
    let name = element.name();
    let operand = format!("{name}[{SIDE}, {SIDE}]");
    let mut text = format!(
        "program mma_{name} {{\n  read buffer left: {operand}\n  read buffer right: {operand}\n  \
         write buffer sums: f32[{}, {SIDE}]\n  tile a: {operand}\n  tile b: {operand}\n",
        blocks * warps * chains * SIDE
    );
    let each = |line: &dyn Fn(u32) -> String| (0..chains).map(line).collect::<String>();
    let _ = write!(
        text,
        "{}  groups g = {blocks}\n  lanes l = 32, w = {warps}\n  subgroup 32\n  {{\n    tile load a = left[0, 0]\n    tile load b = right[0, 0]\n",
        each(&|j| format!("  tile d{j}: f32[{SIDE}, {SIDE}]\n"))
    );
    text += &each(&|j| format!("    tile fill d{j} = {j}.0\n"));
    let _ = writeln!(text, "    for i in 0..{} unroll none {{", times / WRITTEN);
    for _ in 0..WRITTEN {
        text += &each(&|j| format!("      tile mma d{j} += a * b\n"));
    }
    text += "    }\n";
    text += &each(&|j| format!("    tile store sums[((g * {warps} + w) * {chains} + {j}) * {SIDE}, 0] = d{j}\n"));
    text + "  }\n}\n"
}

fn measurement(element: Scalar, load: Load, units: u32, scale: Scale, seed: u64) -> Measurement {
    let (threads, per_unit) = load.block();
    let blocks = per_unit * units;
    let times = if scale != Scale::Tiny { 4096 } else { 2 * WRITTEN };
    let accumulators = u64::from(blocks * threads / WARP * load.chains);
    let tiles = sample(accumulators, seed);
    let offsets = tiles.iter().map(|tile| tile * u64::from(TILE_BYTES)).collect();
    let operand = |which| memory(u64::from(SIDE * SIDE * 2), Init::Data(bytes(element, which)));
    let memory = vec![operand(0), operand(1), memory(accumulators * u64::from(TILE_BYTES), Init::Poison)];
    let name = format!("mma_{}", element.name());
    Measurement {
        params: parameters(&name, load, units).into_iter().chain([("path".to_owned(), word("wmma"))]).collect(),
        name: format!("{name} {} warps {} chains", load.warps, load.chains),
        job: job(&program(element, load, blocks, times), memory, vec![Peek { memory: 2, offsets, bytes: TILE_BYTES }], scale),
        launch: 0,
        amounts: Amounts {
            operations: accumulators as f64 * f64::from(times) * f64::from(2 * SIDE * SIDE * SIDE),
            steps: times.into(),
            ..Amounts::default()
        },
        check: Box::new(move |result| {
            let found = warpsight_ir::data::bytes_f32(&peeked(result, tiles.len() * TILE_BYTES as usize)?.0);
            for (tile, values) in tiles.iter().zip(found.chunks_exact((SIDE * SIDE) as usize)) {
                for (at, &value) in (0..).zip(values) {
                    let wanted = expected(at / SIDE, at % SIDE, (tile % u64::from(load.chains)) as u32, times);
                    if value != wanted {
                        return Err(format!("tile {tile}, row {}, column {}: {value}, not {wanted}", at / SIDE, at % SIDE));
                    }
                }
            }
            Ok(())
        }),
    }
}
