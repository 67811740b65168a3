//! What warps and blocks ask of the first level where addresses depend on data: means over warps whose lanes draw as the kernel says.

use super::costs::{BlockUse, Instruction, Request, Sizes};
use super::warps::{distinct, wavefronts};
use crate::volumes::kernel::gathers::{Gather, Whose};
use crate::volumes::kernel::subject::{Field, Side, Subject};
use crate::volumes::sets::drawn::stays;
use smallvec::SmallVec;
use warpsight_ir::{AccessKind, Profile};

/// Warps that are drawn of each shape: means of distinct sectors are within 1 % of those of all.
const WARPS: u32 = 256;

/// Numbers from 0 to 1, the same each time.
fn numbers() -> impl FnMut() -> f64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    move || {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// What an access costs whose warps have so many active lanes, so often each.
pub fn instruction(gather: &Gather, index: usize, warps: &[(usize, u64)], sizes: Sizes, price: &dyn Fn(&Request) -> f64) -> Instruction {
    let (line, sector, bytes) = (i64::from(sizes.line), i64::from(sizes.sector), gather.bytes as i64);
    let touch = gather.touch;
    let mut random = numbers();
    let (mut sums, mut executions) = ([0.0; 4], 0);
    let mut offsets: SmallVec<[i64; 64]> = SmallVec::new();
    for &(lanes, times) in warps {
        let weight = times as f64 / f64::from(WARPS);
        for warp in 0..WARPS {
            // Wherever among others a warp begins, as often as elsewhere.
            let begin = f64::from(warp) / f64::from(WARPS);
            gather.offsets(lanes, begin, &mut random, &mut offsets);
            let Some(&first) = offsets.first() else { continue };
            offsets.iter_mut().for_each(|offset| *offset -= first);
            let begin = first.rem_euclid(line);
            let lines = distinct(&offsets, bytes, begin, line);
            let wavefronts = wavefronts(&offsets, bytes, begin, sizes.banks as usize);
            let found = [distinct(&offsets, bytes, begin, sector) as f64, lines as f64, wavefronts as f64];
            let price = price(&Request { offsets: &offsets, bytes, begin, lines, wavefronts });
            sums.iter_mut().zip(found.into_iter().chain([price])).for_each(|(sum, own)| *sum += weight * own);
        }
        executions += times;
    }
    let [sectors, lines, wavefronts] = [sums[0], sums[1], sums[2]].map(|sum| sum.round() as u64);
    Instruction { position: touch.position, field: index, kind: touch.kind, executions, sectors, lines, wavefronts, price: sums[3] }
}

/// Distinct sectors and lines of blocks, summed over all, as far as their addresses depend on data: draws of different accesses meet by
/// chance alone, which is left out.
pub fn uses(subject: &Subject, field: &Field, sizes: Sizes) -> BlockUse {
    let mut found = BlockUse::default();
    for gather in field.gathers.iter().filter_map(|touch| Gather::of(subject, field, touch)) {
        let of = |piece: u32| (gather.blocks() * gather.pieces(Whose::Block, piece.into())).round() as u64;
        if Side::Loads.has(gather.touch.kind) {
            found.loaded_sectors += of(sizes.sector);
            found.loaded_lines += of(sizes.line);
        }
        if Side::Stores.has(gather.touch.kind) {
            found.stored_sectors += of(sizes.sector);
        }
    }
    found
}

/// Bytes that blocks need not ask the second level for, because earlier blocks of their core have left them in the first one, of which
/// local memory takes `cut`; `stream`: bytes that a block loads besides.
pub fn kept(subject: &Subject, on: &Profile, sizes: Sizes, (cut, stream): (f64, f64), notes: &mut Vec<String>) -> f64 {
    let capacity = on.memory.buffer_l1.bytes.get().map_or(0.0, |bytes| (bytes.0 - cut).max(0.0));
    let cores = on.execution.cores.get().map_or(1.0, |&cores| f64::from(cores));
    let [line, sector] = [sizes.line, sizes.sector].map(f64::from);
    let mut all = Gather::all(subject, Side::Loads);
    // Atomics pass it by.
    all.retain(|(_, own)| own.touch.kind == AccessKind::Load);
    let steps = stays(capacity, stream, &all.iter().map(|(_, own)| own.drawing(line)).collect::<Vec<_>>());
    let mut kept = 0.0;
    for (field, own) in all {
        // A line stays with the sectors that were asked for.
        let drawing = own.drawing(sector);
        let asked = own.blocks() * drawing.step;
        let first = cores.min(own.blocks()) * own.pieces(Whose::Blocks((own.blocks() / cores).ceil()), sector);
        let left = (asked * drawing.met(steps)).min((asked - first).max(0.0));
        notes.push(format!(
            "`{}`, access {}: {}; {:.1} % of what its blocks ask for are left in the first level by earlier ones",
            field.name.as_ref(),
            own.touch.number,
            own.said(),
            100.0 * left / asked.max(1.0)
        ));
        kept += left * sector;
    }
    kept
}
