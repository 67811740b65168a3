//! Figures of paper 000 come out of silicon that is tuned to them, which is not a validation; paper 001's local memory of the recorded Adreno 640's.

#[path = "../examples/figures/convolution.rs"]
mod convolution;
#[path = "../examples/figures/occupancy.rs"]
mod occupancy;
#[path = "../examples/figures/patterns.rs"]
mod patterns;
#[path = "../examples/shared/mod.rs"]
mod shared;

use convolution::{IN, OUT, SIDE};
use occupancy::{Point, UNROLLS, logarithms};
use patterns::{PATTERNS, Pattern, kinds, throughput};
use warpsight_sim::{Silicon, Simulator};

fn adreno740() -> Silicon {
    Silicon::named("adreno740").expect("embedded")
}

/// Figure 4.
#[test]
fn blocks_are_faster_for_one_work_item_and_scale_worse() {
    let simulator = Simulator::new(adreno740());
    let rate = |pattern, lanes| throughput(&simulator, pattern, lanes).unwrap_or_else(|fault| panic!("{fault}"));
    let column = rate(Pattern::Column, 1);
    let mut before = f64::INFINITY;
    for (name, pattern, stated) in PATTERNS {
        let one = rate(pattern, 1) / column;
        assert!((one / stated - 1.0).abs() < 0.1, "{name}: {one:.2} times a column's, the paper states {stated}");
        let scaling = rate(pattern, 64) / rate(pattern, 1) / 64.0;
        assert!(scaling < before - 0.03, "{name}: 64 work-items reach {scaling:.2} of perfect scaling, the order before {before:.2}");
        before = scaling;
    }
    // As long as all their lines fit the cache, they scale alike.
    for (name, pattern, _) in PATTERNS {
        let scaling = rate(pattern, 4) / rate(pattern, 1) / 4.0;
        assert!(scaling > 0.95, "{name}: {scaling:.2}");
    }
}

/// Section 3.
#[test]
fn images_of_rows_and_columns_have_twice_the_throughput_of_images_of_one_row() {
    let [plane, row] = kinds(&adreno740()).expect("runs");
    assert!((plane / row - 2.0).abs() < 0.1, "{plane} {row}");
}

/// Points of figure 5.
fn points<const N: usize>(silicon: &Silicon, unroll: u32, warps: [u32; N]) -> [Point; N] {
    let simulator = Simulator::new(silicon.clone());
    warps.map(|warps| logarithms(&simulator, unroll, warps).unwrap_or_else(|fault| panic!("{fault}")))
}

/// Figure 5.
#[test]
fn misses_fall_until_the_occupancy_and_then_come_in_waves() {
    let silicon = adreno740();
    let occupancies = UNROLLS.map(|unroll| points(&silicon, unroll, [1])[0].occupancy);
    assert_eq!(occupancies, [14, 10, 6, 4], "the paper has 14 without unrolling and 4 for 16");
    for (unroll, full) in UNROLLS.into_iter().zip(occupancies) {
        let [one, half, all, next] = points(&silicon, unroll, [1, full / 2, full, full + 1]);
        assert!((one.miss_rate - 0.5).abs() < 0.01, "two pixels a line: {one:?}");
        // One warp of a group misses, the others find it: one line for two pixels of all warps, for each group once.
        let expected = |point: &Point| f64::from(point.warps.div_ceil(full)) / f64::from(2 * point.warps);
        for point in [half, all, next] {
            assert!((point.miss_rate / expected(&point) - 1.0).abs() < 0.05, "unroll {unroll}: {point:?}, not {}", expected(&point));
        }
        assert!(all.miss_rate < half.miss_rate && next.miss_rate > 1.5 * all.miss_rate);
        // A warp more is a group more, which takes as long again as one warp alone.
        let step = (next.cycles - all.cycles) / one.cycles;
        assert!((0.95..1.05).contains(&step), "unroll {unroll}: a step of {step}");
    }
    // Three groups of four warps.
    let steps = points(&silicon, 16, [1, 4, 5, 8, 9]).map(|point| point.cycles);
    assert!(steps[2] - steps[1] > 2.0 * (steps[3] - steps[2]) / 3.0 && steps[4] - steps[3] > 0.95 * steps[0], "{steps:?}");
}

/// Section 3.1 and figure 3b of paper 001.
#[test]
fn a_convolution_through_local_memory_reaches_half_of_the_texture_cache() {
    let simulator = Simulator::new(Silicon::adreno640());
    let [image, local] = [false, true].map(|local| convolution::best(&simulator, local).unwrap_or_else(|fault| panic!("{fault}")));
    let part = local.flops / image.flops;
    assert!((0.45..0.55).contains(&part), "{part:.2}: {} and {} FLOP/s", local.flops, image.flops);
    assert_eq!(local.output, image.output);
    // More than 70 % of the arithmetic is wasted, and the bus to memory is not what is waited for.
    for ran in [&image, &local] {
        assert!((0.03..0.3).contains(&ran.alu) && (0.05..0.5).contains(&ran.dram), "{} {}", ran.alu, ran.dram);
    }
    let (input, weights) = convolution::example();
    let wide = (SIDE + 2) as usize;
    for (m, y, x, c) in [(0, 0, 0, 0), (3, 7, 31, 2), (11, 31, 5, 3)] {
        let tap = |slice: usize, tap: usize| {
            let at = ((slice * wide + y + tap / 3) * wide + x + tap % 3) * 4 + c;
            input[at] * weights[((m * IN as usize + slice) * 9 + tap) * 4 + c]
        };
        let expected: f32 = (0..IN as usize).flat_map(|slice| (0..9).map(move |at| (slice, at))).map(|(slice, at)| tap(slice, at)).sum();
        let got = image.output[((m * SIDE as usize + y) * SIDE as usize + x) * 4 + c];
        assert!((got - expected).abs() < 1e-4, "{m} {y} {x} {c}: {got} instead of {expected}; there are {OUT}");
    }
}
