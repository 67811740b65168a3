//! One simulated GPU, judged: what its description contradicts itself in, or what it comes to.

use crate::failure::Failure;
use crate::report::out;
use serde_json::json;
use std::path::Path;
use warpsight_sim::Silicon;

/// Checks the silicon of a file, and prints what is wrong with it or what it comes to.
pub fn check(file: &Path, json: bool) -> Result<(), Failure> {
    let text = warpsight_files::text(file, warpsight_files::read_or_stdin(file, warpsight_files::TEXT)?)?;
    let place = warpsight_files::name(file).display().to_string();
    let silicon = Silicon::unchecked(&text).map_err(|error| Failure::input(error.to_string()).at(&place))?;
    let problems = silicon.problems();
    if problems.is_empty() {
        return fine(&silicon, json);
    }
    if json {
        let problems: Vec<_> = problems.iter().map(|p| json!({"key": p.key, "value": p.value, "rule": p.rule})).collect();
        out(json!({"name": silicon.name, "ok": false, "problems": problems}))?;
    } else {
        problems.iter().try_for_each(|problem| out(problem.to_string()))?;
    }
    let count = if problems.len() == 1 { "1 problem".to_owned() } else { format!("{} problems", problems.len()) };
    Err(Failure::input(format!("silicon `{}` has {count}", silicon.name)).at(place))
}

fn fine(silicon: &Silicon, json: bool) -> Result<(), Failure> {
    let (texture, l1, l2) = (&silicon.texture.cache, silicon.l1.as_ref().map(|l1| &l1.cache), &silicon.l2.cache);
    let assumed = silicon.assumed.len();
    if json {
        return out(json!({
            "name": silicon.name,
            "ok": true,
            "problems": [],
            "caches": {"texture_l1_bytes": texture.bytes, "buffer_l1_bytes": l1.map(|l1| l1.bytes), "l2_bytes": l2.bytes},
            "peak_flops": silicon.peak_flops(),
            "bandwidth": {"texture_l1": silicon.texture_bandwidth(), "l2": silicon.l2_bandwidth(), "dram": silicon.dram_bandwidth()},
            "assumed": silicon.assumed,
        }));
    }
    out(format_args!("{}: ok; {}", silicon.name, silicon.description))?;
    out(format_args!(
        "  {:.1} GFLOP/s: {} cores of {} ports of {} lanes at {} MHz, waves of {}",
        silicon.peak_flops() / 1e9,
        silicon.core.count,
        silicon.core.ports,
        silicon.core.lanes,
        silicon.core.clock / 1e6,
        silicon.core.wave
    ))?;
    let shape = |cache: &warpsight_sim::Geometry| format!("{} sets of {} lines of {} B", cache.sets, cache.ways, cache.line);
    let gigabytes = |rate: f64| format!("{:.1} GB/s", rate / 1e9);
    let rate = gigabytes(silicon.texture_bandwidth());
    out(format_args!("  texture L1: {} B each, {}; {rate} together", texture.bytes, shape(texture)))?;
    match l1 {
        Some(l1) => out(format_args!("  buffer L1: {} B each, {}", l1.bytes, shape(l1)))?,
        None => out("  buffer L1: none")?,
    }
    let slices = silicon.l2.slices;
    out(format_args!("  L2: {} B, {slices} slices of {}; {}", l2.bytes, shape(l2), gigabytes(silicon.l2_bandwidth())))?;
    out(format_args!("  DRAM: {} channels; {}", silicon.dram.channels, gigabytes(silicon.dram_bandwidth())))?;
    out(format_args!("  {assumed} of its numbers are assumed"))
}
