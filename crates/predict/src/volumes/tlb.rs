//! Translation of addresses: what a wave touches against what the entries reach.

use super::block::{Sizes, priced};
use super::subject::Subject;
use super::time::known;
use super::wave::{Side, boxes, distinct};
use warpsight_ir::occupancy::Occupancy;
use warpsight_ir::{Profile, Seconds};

/// Seconds that nothing but misses of translations would take. Pages that a wave touches beyond the reach miss as a chase through them does,
/// each time; the pages of a warp's lanes are translated one after another (an assumption), those of different warps side by side.
///
/// # Errors
/// Which number the profile lacks.
pub fn seconds(subject: &Subject, sizes: Sizes, resident: &Occupancy, on: &Profile) -> Result<Seconds, String> {
    let tlb = &on.memory.tlb;
    let page = known(&tlb.page, "memory.tlb.page")?.0;
    if !(4096.0..=2_147_483_648.0).contains(&page) {
        return Err(format!("memory.tlb.page: pages of {page} B are not known to exist"));
    }
    let reach = known(&tlb.reach, "memory.tlb.reach")?.0;
    let cores = f64::from(*known(&on.execution.cores, "execution.cores")?);
    let clock = known(&on.execution.clock, "execution.clock")?.0;
    let counts: Vec<u32> = subject.groups.iter().map(|group| group.count).collect();
    let groups: f64 = counts.iter().map(|&count| f64::from(count)).product();
    // In the middle of the grid.
    let wave = (cores * f64::from(resident.groups)).min(groups);
    let run = boxes(&counts, ((groups - wave) / 2.0) as u64, wave as u64);
    let pages = |side| subject.fields.iter().map(|field| distinct(subject, field, side, &run, page as i64)).sum::<u64>() as f64;
    let touched = (pages(Side::Loads) + pages(Side::Stores)) * page;
    if touched <= reach {
        return Ok(Seconds::ZERO);
    }
    let miss = known(&tlb.miss_latency, "memory.tlb.miss_latency")?.0;
    let by_page = Sizes { sector: page as u32, line: page as u32, ..sizes };
    let translations: u64 = priced(subject, &subject.fields, by_page, &|_| 0.0).iter().map(|found| found.sectors).sum();
    let busiest = (groups / cores).ceil();
    let lanes: u32 = subject.lanes.iter().map(|lane| lane.count).product();
    let warps = f64::from(lanes.div_ceil(sizes.warp.max(1)));
    let at_once = f64::from(resident.groups).min(busiest).max(1.0) * warps;
    Ok(Seconds(translations as f64 / groups * busiest / at_once * miss * (1.0 - reach / touched) / clock))
}
