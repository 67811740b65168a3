//! Volumes from gaps in closed form against every touch of every line, block by block.

use std::collections::{BTreeMap, HashMap};
use warpsight_ir::accesses::text;
use warpsight_ir::{Affine, Kernel, Nest, TensorPlace};
use warpsight_predict::volumes::behind::dram::{Between, Cause, Curve, Memory, Wave, dram};
use warpsight_predict::volumes::behind::reuse::phases;

use warpsight_predict::volumes::kernel::subject::{Side, Subject};

const CURVE: Curve = Curve { capacity: 1.0, steepness: 5.5, spread: 0.625, in_step: None, within: None };

/// Loads and stores of device memory: the gaps of every line that is touched, one after another.
fn brute(kernel: &Kernel, memory: &Memory, wave: u64) -> (f64, f64) {
    let subject = Subject::of(kernel).unwrap();
    let launch = &kernel.launch;
    let blocks = launch.group_count();
    let late = wave.min(blocks) as f64 * CURVE.spread;
    let phases = phases(&subject);
    let accesses = &kernel.accesses;
    // Of each field and side: the times at which each line is touched.
    let mut sides: BTreeMap<(usize, bool), HashMap<i64, Vec<i64>>> = BTreeMap::new();
    let counts: Vec<u32> = launch.groups.iter().chain(&launch.lanes).copied().collect();
    let mut values = vec![0_i64; counts.len()];
    let shifts: Vec<i64> = phases.iter().map(|phase| (phase * late).round() as i64).collect();
    loop {
        let block = launch.groups.iter().zip(&values).rev().fold(0, |at, (&n, &value)| at * i64::from(n) + value);
        for (position, node) in accesses.nest.iter().enumerate() {
            let Nest::Access(access) = node else { panic!("a straight program") };
            let at = |form: &Affine| form.eval(|var| values[usize::from(var.0)]).expect("small");
            if !access.guard.iter().all(|bound| (0..bound.extent).contains(&at(&bound.value))) {
                continue;
            }
            let TensorPlace::Buffer { element, dims, layout, .. } = &accesses.tensors[usize::from(access.tensor)].place else { panic!() };
            let linear = access.coords.iter().zip(dims).fold(0, |sum, (form, dim)| sum * dim + at(form));
            let byte = (layout.align + linear) * i64::from(element.bytes());
            let stores = !Side::Loads.has(access.kind);
            let line = i64::from(if stores { memory.write } else { memory.fetch });
            let lines = sides.entry((usize::from(access.tensor), stores)).or_default();
            let times = lines.entry(byte.div_euclid(line)).or_default();
            let time = block + shifts[position];
            if times.last() != Some(&time) {
                times.push(time);
            }
        }
        // Lanes before blocks.
        let order = (launch.groups.len()..counts.len()).chain(0..launch.groups.len());
        let Some(done) = order.clone().position(|var| values[var] + 1 < i64::from(counts[var])) else { break };
        order.enumerate().take(done + 1).for_each(|(i, var)| if i < done { values[var] = 0 } else { values[var] += 1 });
    }
    let gaps = |lines: &HashMap<i64, Vec<i64>>| -> Vec<f64> {
        let mut gaps = Vec::new();
        for times in lines.values() {
            let mut times = times.clone();
            times.sort_unstable();
            gaps.extend(times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).filter(|gap| *gap > 0.0));
        }
        gaps
    };
    let sides: Vec<(bool, f64, f64, Vec<f64>)> = sides
        .iter()
        .map(|(&(_, stores), lines)| (stores, f64::from(if stores { memory.write } else { memory.fetch }), lines.len() as f64, gaps(lines)))
        .collect();
    let footprint = |n: f64| -> f64 {
        let of = |(_, line, lines, gaps): &(bool, f64, f64, Vec<f64>)| {
            line * ((lines * n + gaps.iter().map(|gap| gap.min(n)).sum::<f64>()) / blocks as f64).min(*lines)
        };
        sides.iter().map(of).sum()
    };
    let mut volumes = (0.0, 0.0);
    for (stores, line, lines, gaps) in &sides {
        let mut found: Vec<f64> = gaps.clone();
        found.sort_unstable_by(f64::total_cmp);
        let mut evicted = 0.0;
        let mut last = (0.0, 0.0);
        for gap in found {
            if gap != last.0 {
                last = (gap, 1.0 - CURVE.survives(footprint(gap), memory.l2_effective));
            }
            evicted += line * last.1;
        }
        if *stores {
            volumes.1 += line * lines + evicted;
        } else {
            volumes.0 += line * lines + evicted;
        }
    }
    volumes
}

fn stencil(rng: &mut fastrand::Rng) -> (String, Kernel) {
    let block =
        *rng.choice(&[[8, 2, 2], [16, 2, 1], [4, 4, 4], [32, 1, 1], [1, 8, 4], [1, 16, 8], [2, 2, 8], [64, 2, 1], [5, 3, 2]]).unwrap();
    let fold = *rng.choice(&[[1, 1, 1], [1, 1, 1], [1, 2, 1], [1, 1, 2], [2, 1, 1]]).unwrap();
    let mode = if rng.bool() { "consecutive" } else { "strided" };
    let domain: Vec<i64> = [(64, 160), (24, 64), (24, 64)].iter().map(|&(lo, hi)| rng.i64(lo..hi)).collect();
    // Whole lines in a row, or any number of elements.
    let pad = if rng.bool() { (8 - domain[0] % 8) % 8 } else { rng.i64(0..5) };
    let dims = [domain[0] + 8 + pad, domain[1] + 8, domain[2] + 8];
    let range = rng.i64(1..5);
    let mut load = vec!["[\"tx+4\", \"ty+4\", \"tz+4\"]".to_owned()];
    for axis in 0..3 {
        for by in (-range..=range).filter(|by| *by != 0) {
            let mut at = [4; 3];
            at[axis] += by;
            load.push(format!("[\"tx+{}\", \"ty+{}\", \"tz+{}\"]", at[0], at[1], at[2]));
        }
    }
    rng.shuffle(&mut load);
    let text = format!(
        "name = \"star\"\nblock = {block:?}\ndomain = {domain:?}\nfold = {fold:?}\nfold_mode = \"{mode}\"\nregisters = 32\n\
         [[field]]\nname = \"A\"\nelement = \"f64\"\ndims = {dims:?}\nload = [{}]\n\
         [[field]]\nname = \"B\"\nelement = \"f64\"\ndims = {dims:?}\nstore = [[\"tx+4\", \"ty+4\", \"tz+4\"]]\n",
        load.join(", ")
    );
    let written = text::parse(&text, &[]).unwrap_or_else(|error| panic!("{error:?} in\n{text}"));
    (format!("block {block:?} fold {fold:?} {mode} domain {domain:?} dims {dims:?} range {range}"), written.kernel)
}

#[test]
fn volumes_of_random_stencils_equal_every_touch_counted() {
    let mut rng = fastrand::Rng::with_seed(31);
    let (mut off, mut names) = (Vec::new(), Vec::new());
    for _ in 0..16 {
        let (name, kernel) = stencil(&mut rng);
        let lines = *rng.choice(&[32, 64, 128]).unwrap();
        let wave = rng.u64(1..40);
        let memory =
            Memory { fetch: lines, write: lines, l2_effective: rng.f64() * 8e5 + 1e5, last_level: None, between: Between::NOTHING };
        let found = dram(&Subject::of(&kernel).unwrap(), &memory, &Wave { blocks: wave }, &CURVE);
        let expected = brute(&kernel, &memory, wave);
        let loads: f64 = found.by_cause.iter().filter(|cause| cause.0 != Cause::PartialStore).map(|cause| cause.1).sum();
        off.push([loads / expected.0, found.store / expected.1].map(|ratio| (ratio - 1.0).abs()));
        names.push(name);
    }
    let mut loads: Vec<f64> = off.iter().map(|off| off[0]).collect();
    loads.sort_unstable_by(f64::total_cmp);
    let (median, most, worst) = (loads[loads.len() / 2], loads[loads.len() * 9 / 10], loads[loads.len() - 1]);
    println!("loads off by: median {median:.4}, nine of ten {most:.4}, worst {worst:.4}");
    // Grids of a few blocks along an axis, rows of a few lines: what the ends do to the pairs of blocks is approximate.
    assert!(median <= 0.006 && most <= 0.02 && worst <= 0.03, "{median} {most} {worst} {names:?}");
    let stores = off.iter().map(|off| off[1]).fold(0.0, f64::max);
    assert!(stores <= 0.1, "{stores}");
}
