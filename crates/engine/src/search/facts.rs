//! What a model that learns of timed configurations sees of one: the Kernel and what the analytical model says of it, without names of axes
//! or operators, so that what is learned of one expression holds of others.

use warpsight_ir::{Estimate, Facts, Kernel, Limiter, OpClass};

/// A limit below this part of the whole is nothing.
const LEAST: f64 = 1e-4;

/// The numbers of a configuration on a device whose warps have so many lanes, as many of each: its facts, as logarithms, and those of the parts of
/// the time that each limit alone would take.
pub fn row(kernel: &Kernel, estimate: &Estimate, warp: u32) -> Vec<f64> {
    let facts = Facts::of(kernel, warp);
    let lanes = |n: usize| kernel.launch.lanes.get(n).map_or(0.0, |&lanes| f64::from(lanes).ln());
    let special: u64 = kernel.ops.0.iter().filter(|own| own.0.0 == OpClass::Special).map(|own| *own.1).sum();
    let moved = [facts.step, facts.warp_step, facts.fetched, facts.loaded, facts.shared, facts.touched[0], facts.touched[1]];
    let wide: f64 = facts.widths.iter().map(|bytes| bytes.0).sum();
    let mut row = vec![
        (facts.groups as f64).ln_1p(),
        f64::from(facts.group).ln(),
        lanes(0),
        lanes(1),
        f64::from(facts.registers),
        f64::from(kernel.kept),
        facts.local.0.ln_1p(),
        (facts.flops as f64).ln_1p(),
        (special as f64).ln_1p(),
        facts.instructions.ln_1p(),
        estimate.time.0.max(f64::MIN_POSITIVE).ln(),
    ];
    row.extend(moved.map(|bytes| bytes.0.ln_1p()));
    row.extend(facts.widths.map(|bytes| bytes.0 / wide.max(1.0)));
    let part = |limiter: Limiter| estimate.limits.of(limiter).0 / estimate.time.0;
    row.extend(Limiter::ALL.map(|limiter| part(limiter).max(LEAST).ln()));
    row
}
