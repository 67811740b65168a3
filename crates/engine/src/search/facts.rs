//! What a model that learns of timed configurations sees of one: the Kernel and what the analytical model says of it, without names of axes
//! or operators, so that what is learned of one expression holds of others.

use warpsight_ir::{AccessKind, Estimate, Kernel, Limiter, OpClass, Space, TensorPlace};

/// Every limit of an estimate, in the order of the columns.
const LIMITS: [Limiter; 11] = [
    Limiter::Launch,
    Limiter::Fp,
    Limiter::Issue,
    Limiter::L1,
    Limiter::Texture,
    Limiter::Local,
    Limiter::L2,
    Limiter::Llc,
    Limiter::Dram,
    Limiter::Latency,
    Limiter::Tlb,
];
/// A limit below this part of the whole is nothing.
const LEAST: f64 = 1e-4;

/// Where accesses go.
const WAYS: usize = 4;

/// The numbers of a configuration, as many of each: logarithms of counts, and of the parts of the time that each limit alone would take.
pub fn row(kernel: &Kernel, estimate: &Estimate) -> Vec<f64> {
    let lanes = |n: usize| kernel.launch.lanes.get(n).map_or(0.0, |&lanes| f64::from(lanes).ln());
    let flops = kernel.ops.flops() as f64;
    let special: u64 = kernel.ops.0.iter().filter(|own| own.0.0 == OpClass::Special).map(|own| *own.1).sum();
    let (counts, widths) = ways(kernel);
    let touched: f64 = counts.iter().zip(&widths).map(|(count, width)| count * width).sum();
    let mut row = vec![
        (kernel.launch.group_count() as f64).ln(),
        f64::from(kernel.launch.group_size()).ln(),
        lanes(0),
        lanes(1),
        f64::from(kernel.registers),
        f64::from(kernel.kept),
        kernel.local.0.ln_1p(),
        flops.ln_1p(),
        (special as f64).ln_1p(),
        (flops / touched.max(1.0)).ln_1p(),
        estimate.time.0.max(f64::MIN_POSITIVE).ln(),
    ];
    row.extend(counts.iter().map(|count| count.ln_1p()));
    row.extend(widths);
    let part = |limiter: Limiter| estimate.limits.of(limiter).0 / estimate.time.0;
    row.extend(LIMITS.map(|limiter| part(limiter).max(LEAST).ln()));
    row
}

/// Accesses of a work-item and their mean width: loads of texels, of buffers, of local memory, and stores.
fn ways(kernel: &Kernel) -> ([f64; WAYS], [f64; WAYS]) {
    let (mut counts, mut elements) = ([0.0; WAYS], [0.0; WAYS]);
    let accesses = &kernel.accesses;
    accesses.each_with_trips(&mut |access, trips| {
        let way = match (access.kind, accesses.tensors.get(usize::from(access.tensor)).map(|own| &own.place)) {
            (AccessKind::Load, Some(TensorPlace::Image { .. })) => 0,
            (AccessKind::Load, Some(TensorPlace::Buffer { space: Space::Local, .. })) => 2,
            (AccessKind::Load, _) => 1,
            _ => 3,
        };
        let times = trips * f64::from(access.times);
        counts[way] += times;
        elements[way] += times * f64::from(access.width);
    });
    let widths = std::array::from_fn(|way| if counts[way] > 0.0 { elements[way] / counts[way] } else { 0.0 });
    (counts, widths)
}
