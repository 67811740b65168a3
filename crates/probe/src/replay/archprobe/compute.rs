//! Warps, registers and arithmetic, as facts.

use super::recording::{Recording, Sample, per_iteration};
use crate::fit::{registers, warp};
use crate::{Finding, Findings};
use warpsight_ir::profile::{Fact, Source};

/// Lanes of a warp by both methods, and what explains both.
pub fn warps(recording: &Recording, found: &mut Findings) -> Option<f64> {
    let order = warp::by_order(&recording.order, "WarpSizeMethodA: the largest group whose atomics were in order");
    let latency = warp::by_latency(&recording.division, "WarpSizeMethodB: the first step of the time of integer divisions");
    let sizes = warp::reconcile(&order, &latency).unwrap_or_else(|disagreement| {
        found.contradictions.push(format!("WarpSizeMethodA, WarpSizeMethodB: {disagreement}"));
        Fact::unknown(disagreement.to_string())
    });
    found.number("warp.by_order", order);
    found.number("warp.by_latency", latency);
    let warp = sizes.get().and_then(|sizes| sizes.first().copied());
    found.facts.insert("warp.sizes".to_owned(), Finding::Numbers(sizes));
    warp
}

/// Registers of a work-item, groups resident with all and with half of them, and whether these share them.
pub fn registers(recording: &Recording, warp: Option<f64>, found: &mut Findings) {
    let (_, points) = per_iteration(&recording.registers);
    let one: Vec<(f64, f64)> = points.iter().filter(|point| point.0[0] == 1.0).map(|point| (point.0[1], point.1)).collect();
    found.number("registers.per_thread_max", registers::limit(&one, "RegCount: where the time of one group leaves its trend"));
    // Numbers of registers that ran in several numbers of groups: the profiler takes all that it found, and half of them.
    let mut used: Vec<f64> = points.iter().filter(|point| point.0[0] > 1.0).map(|point| point.0[1]).collect();
    used.sort_by(f64::total_cmp);
    used.dedup();
    let resident = |used: Option<&f64>| {
        let groups: Vec<(f64, f64)> = points.iter().filter(|point| Some(&point.0[1]) == used).map(|point| (point.0[0], point.1)).collect();
        let cite = used.map_or(String::new(), |used| format!("RegCount: groups of {used} registers before the second wave"));
        registers::resident(&groups, &cite)
    };
    let (full, half) = (resident(used.last()), if used.len() > 1 { resident(used.first()) } else { resident(None) });
    let shared = registers::sharing(&full, &half);
    found.number("registers.per_core", file(&shared, used.first(), &half, warp, recording.driver.cores));
    found.facts.insert("registers.pooled".to_owned(), Finding::Word(shared));
    found.number("concurrency.full", full);
    found.number("concurrency.half", half);
}

/// The register file of a core, by groups of one work-item, a warp each, that have so many registers: it has room for all that are resident, and
/// none for one more of a core.
fn file(shared: &Fact<String>, used: Option<&f64>, half: &Fact<f64>, warp: Option<f64>, cores: Option<f64>) -> Fact<f64> {
    if shared.get().is_none_or(|word| word != "pooled") {
        return Fact::unknown("RegCount: with half of the registers no more groups are resident, so that something else limits them");
    }
    let (Some(used), Some(groups), Some(warp), Some(cores)) = (used, half.get(), warp, cores) else {
        return Fact::unknown("RegCount: the warp or the number of cores is not known");
    };
    let warps = (groups / cores).floor();
    let (least, most) = (used * warp * warps, (used + f64::from(registers::QUANTUM)) * warp * (warps + 1.0));
    Fact::between(least, least, most, Source::Measured, format!("RegCount: {groups} groups of {used} registers are resident"))
}

/// Operations of a work-item in one repetition of the profiler's kernel: 256 times `x = mad(y, y, x); y = mad(x, x, y)` over all components.
const OPERATIONS: f64 = 4.0 * 256.0;
/// Groups of the largest size that the profiler launches for each core.
const GROUPS_PER_CORE: f64 = 64.0;
/// Halves and floats that differ by less run at one rate.
const SAME_RATE: f64 = 0.02;
/// A vector that gains less over one of fewer components is no wider than hardware needs.
const GAIN: f64 = 0.05;

/// Peak arithmetic, and the widths of vectors that reach it.
pub fn arithmetic(recording: &Recording, launch: Option<f64>, found: &mut Findings) {
    let rate = |bits: f64| peak(recording, bits, launch);
    let (single, half) = (rate(32.0), rate(16.0));
    let half = match (half, single.get()) {
        (Fact::Known { value, lo, source, .. }, Some(single)) if (value / single - 1.0).abs() < SAME_RATE => {
            let cite = "Gflops: halves ran at the rate of floats; hardware that packs two, or has a mode of its own for halves, does twice as \
                        much, which this kernel does not show";
            Fact::Known { value, source, cite: cite.to_owned(), lo, hi: Some(2.0 * value), alternatives: vec![] }
        }
        (half, _) => half,
    };
    found.number("peak.fp32", single);
    found.number("peak.fp16", half);
    let (_, points) = per_iteration(&recording.arithmetic);
    let floats: Vec<(f64, f64)> = points.iter().filter(|point| point.0[0] == 32.0).map(|point| (point.0[1], point.1)).collect();
    let fastest = floats.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let narrowest = floats.iter().find(|point| point.1 <= fastest * (1.0 + GAIN));
    let cite = "Gflops: the narrowest vector within 5 % of the fastest";
    let width = narrowest
        .map_or(Fact::unknown("Gflops: no usable samples"), |point| Fact::between(point.0, point.0, point.0, Source::Measured, cite));
    found.number("alu.vector_components", width);
    found.number("read.width_words", widest_load(recording));
}

/// Operations a second of numbers of so many bits: the fastest vector, from the slowest one to that without the launch.
fn peak(recording: &Recording, bits: f64, launch: Option<f64>) -> Fact<f64> {
    let (Some(group), Some(cores)) = (recording.driver.group, recording.driver.cores) else {
        return Fact::unknown("Gflops: how much work its kernels had is not recorded (work-items of a group, cores)");
    };
    let seconds = |sample: &Sample| (sample.seconds / sample.iterations, (sample.seconds - launch.unwrap_or(0.0)) / sample.iterations);
    let samples = recording.arithmetic.iter().filter(|sample| sample.at[0] == bits && sample.seconds > 0.0).map(seconds);
    let none = (0.0f64, f64::INFINITY, f64::INFINITY);
    let (slow, fast, bare) =
        samples.fold(none, |(slow, fast, bare), (all, without): (f64, f64)| (slow.max(all), fast.min(all), bare.min(without)));
    if !fast.is_finite() || bare <= 0.0 {
        return Fact::unknown(format!("Gflops: no usable samples of {bits} bits"));
    }
    let work = OPERATIONS * GROUPS_PER_CORE * group * cores;
    Fact::between(work / slow, work / fast, work / bare, Source::Measured, "Gflops: multiply-adds of the fastest vector")
}

/// Cores, as the driver counted them for the profiler: none of its files shows how many there are.
pub fn cores(recording: &Recording, found: &mut Findings) {
    let cite = "what the driver said when it was recorded; nothing was measured of it";
    let unknown = "the driver's number of cores is not recorded";
    let cores = recording.driver.cores.map_or(Fact::unknown(unknown), |cores| Fact::known(cores, Source::Vendor, cite));
    found.number("cores", cores);
    for (key, most) in [("image.max_width", recording.driver.image_width), ("image.max_height", recording.driver.image_height)] {
        let known = most.is_finite().then(|| Fact::known(most, Source::Vendor, cite));
        found.number(key, known.unwrap_or_else(|| Fact::unknown("what the driver said of images is not recorded")));
    }
}

/// Words of the widest load that takes no longer than a narrow one: up to half-way to twice as long, which two loads would take.
fn widest_load(recording: &Recording) -> Fact<f64> {
    let (_, points) = per_iteration(&recording.vectors);
    let Some(narrow) = points.first() else { return Fact::unknown("BufferVecWidth: no usable samples") };
    let free = points.iter().take_while(|point| point.1 < 1.5 * narrow.1).count().max(1);
    let wide = &points[free - 1];
    let Some(next) = points.get(free) else {
        return Fact::unknown(format!("BufferVecWidth: at least {} B: no load took longer than a narrow one", wide.0[0]));
    };
    let cite = "BufferVecWidth: the widest load as fast as a narrow one";
    let words = |bytes: f64| bytes / 4.0;
    Fact::between(words(wide.0[0]), words(wide.0[0]), words(next.0[0]), Source::Measured, cite)
}
