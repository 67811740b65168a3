//! Translation of addresses: what a wave touches against what the entries reach.

use super::wave::{BlockBox, boxes, distinct};
use crate::volumes::first_level::warps::{self, Axis, shapes};
use crate::volumes::kernel::gathers::{Gather, Whose};
use crate::volumes::kernel::subject::{Field, Side, Subject, Touch, Var};
use smallvec::SmallVec;
use warpsight_ir::occupancy::Occupancy;
use warpsight_ir::{Profile, Seconds, Unknown};

/// Seconds that nothing but misses of translations would take. Pages that a wave touches beyond the reach miss as a chase through them does,
/// each time; the pages of a warp's lanes are translated one after another (an assumption), those of different warps side by side.
///
/// # Errors
/// Which number the profile lacks.
pub fn seconds(subject: &Subject, warp: u32, resident: &Occupancy, on: &Profile) -> Result<Seconds, Unknown> {
    let tlb = &on.memory.tlb;
    let page = tlb.page.known_as("memory.tlb.page")?.0;
    if !(4096.0..=2_147_483_648.0).contains(&page) {
        return Err(Unknown::new("memory.tlb.page", format!("pages of {page} B are not known to exist")));
    }
    let reach = tlb.reach.known_as("memory.tlb.reach")?.0;
    let cores = f64::from(*on.execution.cores.known_as("execution.cores")?);
    let clock = on.execution.clock.known_as("execution.clock")?.0;
    let counts: Vec<u32> = subject.groups.iter().map(|group| group.count).collect();
    let groups: f64 = counts.iter().map(|&count| f64::from(count)).product();
    // In the middle of the grid.
    let wave = (cores * f64::from(resident.groups)).min(groups);
    let run = boxes(&counts, ((groups - wave) / 2.0) as u64, wave as u64);
    let buffers = || subject.fields.iter().filter(|field| field.image.is_none());
    // What lies between a field's first and last byte bounds its pages, cheaply: most launches go no further.
    let drawn: Vec<Gather> = [Side::Loads, Side::Stores].into_iter().flat_map(|side| Gather::all(subject, side)).map(|own| own.1).collect();
    let drawn_pages: f64 = drawn.iter().map(|own| own.pieces(Whose::Blocks(wave), page)).sum();
    let between: f64 = drawn_pages + buffers().map(|field| span(subject, field, &run) / page + 2.0).sum::<f64>();
    if between * page <= reach {
        return Ok(Seconds::ZERO);
    }
    let pages = |side| buffers().map(|field| distinct(subject, field, side, &run, page as i64)).sum::<u64>() as f64;
    let touched = (pages(Side::Loads) + pages(Side::Stores) + drawn_pages) * page;
    if touched <= reach {
        return Ok(Seconds::ZERO);
    }
    let miss = tlb.miss_latency.known_as("memory.tlb.miss_latency")?.0;
    // As a block's warps begin a page: whether lanes share pages is what counts, not where the last of them ends.
    let mut translations = 0.0;
    for (field, touch) in buffers().flat_map(|field| field.touches.iter().map(move |touch| (field, touch))) {
        let lane = |lane: &Var| Axis { stride: touch.stride(&field.geometry, lane.id), count: lane.count };
        let lanes: SmallVec<[Axis; 4]> = subject.lanes.iter().map(lane).collect();
        let all: SmallVec<[(u32, u32); 4]> = lanes.iter().map(|lane| (0, lane.count)).collect();
        let trips: f64 = touch.loops.iter().map(|var| f64::from(var.count)).product();
        let bytes = touch.width * field.geometry.element;
        let pages =
            shapes(&lanes, &all, warp).into_iter().map(|of| warps::distinct(&of.offsets, bytes, 0, page as i64) * of.starts.len() as u64);
        translations += pages.sum::<u64>() as f64 * trips;
    }
    translations += drawn.iter().map(|own| own.of_warps(warp, page)).sum::<f64>();
    let busiest = (groups / cores).ceil();
    let lanes: u32 = subject.lanes.iter().map(|lane| lane.count).product();
    let at_once = f64::from(resident.groups).min(busiest).max(1.0) * f64::from(lanes.div_ceil(warp.max(1)));
    Ok(Seconds(translations * busiest / at_once * miss * (1.0 - reach / touched) / clock))
}

/// Bytes from the first to the last that these blocks touch of a field.
fn span(subject: &Subject, field: &Field, run: &[BlockBox]) -> f64 {
    let (mut first, mut last) = (f64::INFINITY, f64::NEG_INFINITY);
    // Of accesses that move alike, those that begin first and last.
    let mut kinds: SmallVec<[(&Touch, f64, f64); 4]> = SmallVec::new();
    for touch in &field.touches {
        let origin = touch.origin(&field.geometry) as f64;
        match kinds.iter_mut().find(|(other, ..)| other.moves_like(touch)) {
            Some((_, least, most)) => (*least, *most) = (least.min(origin), most.max(origin)),
            None => kinds.push((touch, origin, origin)),
        }
    }
    for (touch, least, most) in kinds {
        let end = (touch.width * field.geometry.element) as f64;
        let strides: SmallVec<[f64; 4]> = subject.groups.iter().map(|group| touch.stride(&field.geometry, group.id) as f64).collect();
        let within: SmallVec<[(f64, f64); 8]> = subject
            .lanes
            .iter()
            .chain(&touch.loops)
            .map(|var| (touch.stride(&field.geometry, var.id) as f64, f64::from(var.count - 1)))
            .collect();
        for blocks in run {
            let (mut lo, mut hi) = (least, most + end);
            let groups = strides.iter().zip(blocks).map(|(&stride, at)| {
                lo += stride * at.0 as f64;
                hi += stride * at.0 as f64;
                (stride, f64::from(at.1 - 1))
            });
            let groups: SmallVec<[(f64, f64); 4]> = groups.collect();
            for (stride, steps) in groups.iter().chain(&within) {
                lo += (stride * steps).min(0.0);
                hi += (stride * steps).max(0.0);
            }
            (first, last) = (first.min(lo), last.max(hi));
        }
    }
    (last - first).max(0.0)
}
