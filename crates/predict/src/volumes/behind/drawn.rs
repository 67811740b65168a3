//! What accesses whose addresses depend on data move between the caches and device memory: what the launch is expected to touch, and what it
//! draws again after the caches have let go of it.

use super::dram::{Cause, Dram, Memory};
use crate::volumes::kernel::gathers::{Gather, Whose};
use crate::volumes::kernel::subject::{Side, Subject};
use crate::volumes::sets::drawn::{Drawing, stays};

/// Adds it to what known addresses move. `left`: the part of what blocks ask for that earlier blocks left in the first level.
pub fn add(to: &mut Dram, subject: &Subject, memory: &Memory, left: f64) {
    let (loads, stores) = (Gather::all(subject, Side::Loads), Gather::all(subject, Side::Stores));
    let all = || loads.iter().map(|own| (own, memory.fetch)).chain(stores.iter().map(|own| (own, memory.write)));
    let Some(((_, first), _)) = all().next() else { return };
    let stream = (to.behind_l2 + to.store) / first.blocks();
    let drawings: Vec<Drawing> = all().map(|((_, own), piece)| own.drawing(piece.into())).collect();
    let behind = stays(memory.l2_effective, stream, &drawings);
    let last = memory.last_level.map_or(behind, |(bytes, _)| stays(bytes.max(memory.l2_effective), stream, &drawings));
    for (i, (((field, own), piece), drawing)) in all().zip(&drawings).enumerate() {
        let piece = f64::from(piece);
        let asked = own.blocks() * drawing.step * if i < loads.len() { 1.0 - left } else { 1.0 };
        let once = own.pieces(Whose::Blocks(own.blocks()), piece).min(asked);
        let moved = |steps: f64| [once * piece, (asked - once) * (1.0 - drawing.met(steps)) * piece];
        let ([once, again], [_, behind_l2]) = (moved(last), moved(behind));
        let mut cause = |cause: Cause, bytes: f64| match to.by_cause.iter_mut().find(|own| own.0 == cause) {
            Some(own) => own.1 += bytes,
            None if bytes > 0.0 => to.by_cause.push((cause, bytes)),
            None => {}
        };
        // What is stored in part is read first.
        let partial = own.bytes < piece && field.gathers.iter().all(|touch| !Side::Loads.has(touch.kind));
        let load = if i < loads.len() {
            cause(Cause::Compulsory, once);
            cause(Cause::BetweenWaves, again);
            to.load_wave += own.blocks() * drawing.step * piece;
            once + again
        } else {
            to.store += once + again;
            let read = if partial { once + again } else { 0.0 };
            cause(Cause::PartialStore, read);
            read
        };
        to.load += load;
        to.behind_l2 += if load > 0.0 { once + behind_l2 } else { 0.0 };
        if let Some(per_field) = to.per_field.iter_mut().find(|per_field| per_field.0 == field.name) {
            per_field.1 += load;
            per_field.2 += if i < loads.len() { 0.0 } else { once + again };
        }
    }
}
