//! Programs of the battery as machine code, on machines without a GPU too: nothing spills, nothing is optimised away, and as many warps
//! fit as a measurement says.

mod common;
#[path = "common/probing.rs"]
mod probing;

use common::{h200, toolkit};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use warpsight_emit::cuda;
use warpsight_ir::{Checked, Program};
use warpsight_probe::{Context, Measurement, Parameter, Scale, aspects, battery, phases};
use warpsight_run::Code;
use warpsight_run::cuda::{Arch, Compiled, Toolkit};

const ARCHS: [&str; 2] = ["sm_80", "sm_90a"];

/// What an H200 would run.
fn plan(phase: &str) -> Vec<Measurement> {
    let phase = phases::all().into_iter().find(|p| p.name == phase).unwrap();
    (phase.plan)(&Context { device: &h200(), scale: Scale::Full, seed: 1 }).into_iter().collect()
}

fn program(measurement: &Measurement) -> &Program {
    match &measurement.job.programs[..] {
        [Code::Program(program)] => program,
        other => panic!("{other:?}"),
    }
}

fn number(measurement: &Measurement, name: &str) -> Option<i64> {
    match measurement.params.get(name) {
        Some(Parameter::Int(value)) => Some(*value),
        _ => None,
    }
}

/// Compiled for an architecture; nothing spills.
fn compile(toolkit: &Toolkit, measurement: &Measurement, arch: Arch) -> Compiled {
    let name = &measurement.name;
    let source = cuda(&Checked::new(program(measurement).clone()).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let compiled = toolkit.compile(&source.text(), &source.entry, arch).unwrap_or_else(|error| panic!("{name}: {error}"));
    let resources = compiled.resources.unwrap();
    assert_eq!((resources.spill_store_bytes, resources.spill_load_bytes), (0, 0), "{name}, {arch}: {resources:?}");
    compiled
}

/// Of every kernel the first shape, the first folded or tiled one, and the widest block.
#[test]
fn stencils_do_not_spill() {
    let Some(toolkit) = toolkit() else { return };
    let mut samples: BTreeMap<(String, &str), Measurement> = BTreeMap::new();
    for measurement in plan("stencils") {
        let kernel = program(&measurement).name.to_string();
        let several = ["fold_y", "fold_z", "tile_x", "tile_y"].iter().any(|p| number(&measurement, p).is_some_and(|n| n > 1));
        let wide = program(&measurement).launch.group_size() == 1024;
        for (kind, is) in [("first", true), ("several points", several), ("wide", wide)] {
            // A sample of one kind may be that of another, too; each is compiled once.
            if is && !samples.contains_key(&(kernel.clone(), kind)) {
                samples.insert((kernel, kind), measurement);
                break;
            }
        }
    }
    let kernels = ["convolution", "lbm_d3q15", "star2d5", "star3d25", "star3d7", "copy", "scale", "add", "triad"];
    assert!(kernels.iter().all(|kernel| samples.contains_key(&((*kernel).to_owned(), "first"))));
    assert!(samples.contains_key(&("lbm_d3q15".to_owned(), "several points")));
    for measurement in samples.values() {
        for arch in ARCHS {
            compile(&toolkit, measurement, arch.parse().unwrap());
        }
    }
}

/// Occurrences of an instruction in the body of a kernel's only loop.
fn count(ptx: &str, instruction: &str) -> usize {
    let (_, from) = ptx.split_once("$L__BB0_1:").unwrap();
    let (body, _) = from.split_once("bra").unwrap();
    body.lines().filter(|line| line.trim_start().starts_with(instruction)).count()
}

/// The loop's 16 steps of every chain are all there, and not more often.
#[test]
fn peaks_are_not_optimised_away() {
    let Some(toolkit) = toolkit() else { return };
    let instructions = [
        ("fma_f32", "fma.rn.f32", 16),
        ("fma_f64", "fma.rn.f64", 16),
        ("mad_i32", "mad.lo.s32", 16),
        ("mad_i64", "mul.lo.s64", 16),
        ("add_f32", "add.rn.f32", 16),
        ("rsqrt_f32", "rsqrt", 16),
        ("round_f16", "cvt.rn.f16.f32", 16),
        ("round_bf16", "cvt.rn.bf16.f32", 16),
        ("exp_f32", "ex2.approx", 16),
        ("mma_f16", "wmma.mma.sync", 4),
        ("mma_bf16", "wmma.mma.sync", 4),
    ];
    let measurements: Vec<Measurement> = ["peaks", "peaks_tiles"].into_iter().flat_map(plan).collect();
    for (op, instruction, steps) in instructions {
        let measurement = measurements.iter().find(|m| m.params["op"] == Parameter::Word(op.into())).unwrap();
        let chains = number(measurement, "chains").unwrap() as usize;
        let ptx = compile(&toolkit, measurement, ARCHS[1].parse().unwrap()).ptx;
        assert_eq!(count(&ptx, instruction), steps * chains, "{op}: {instruction}");
    }
}

/// As many blocks fit on a multiprocessor as a measurement launches for each, all in one wave: of every kernel the launch with most.
#[test]
fn blocks_are_resident_as_stated() {
    let Some(toolkit) = toolkit() else { return };
    let mut most: BTreeMap<(String, i64, i64), Measurement> = BTreeMap::new();
    for measurement in ["streams", "peaks", "peaks_tiles"].into_iter().flat_map(plan) {
        let (Some(blocks), Some(threads)) = (number(&measurement, "blocks_per_unit"), number(&measurement, "threads")) else { continue };
        let key = (program(&measurement).name.to_string(), threads, number(&measurement, "chains").unwrap_or(0));
        if most.get(&key).and_then(|other| number(other, "blocks_per_unit")).is_none_or(|other| other < blocks) {
            most.insert(key, measurement);
        }
    }
    let kinds = ["copy", "scale", "triad", "sum", "write", "sweep", "shared", "l1_stride", "fma", "mma"];
    assert!(kinds.iter().all(|kind| most.keys().any(|(name, ..)| name.starts_with(kind))), "{:?}", most.keys());
    let mut left: Vec<Measurement> = most.into_values().collect();
    let right = left.split_off(left.len() / 2);
    let ragged = &|measurements: Vec<Measurement>| {
        let of = |measurement: &Measurement, arch: &str| {
            let arch: Arch = arch.parse().unwrap();
            let (threads, wanted) = (number(measurement, "threads").unwrap(), number(measurement, "blocks_per_unit").unwrap());
            let resources = compile(&toolkit, measurement, arch).resources.unwrap();
            let resident = resources.occupancy(arch, threads as u32).unwrap().map_or(0, |occupancy| occupancy.groups);
            let (name, registers) = (&program(measurement).name, resources.registers);
            let said = format!("{arch} {name}: {threads} threads, {registers} registers, {resident} blocks of {wanted}");
            println!("{said}");
            (i64::from(resident) < wanted).then_some(said)
        };
        measurements.iter().flat_map(|measurement| ARCHS.map(|arch| of(measurement, arch))).flatten().collect::<Vec<String>>()
    };
    // The compilers take a fraction of a second for each.
    let ragged = std::thread::scope(|scope| {
        let other = scope.spawn(move || ragged(left));
        [ragged(right), other.join().unwrap()].concat()
    });
    assert!(ragged.is_empty(), "{}", ragged.join("\n"));
}

/// What aspects ask a simulated GPU for is CUDA C++ that compiles; only the one that looks for the end of registers goes beyond them. A few
/// cores are asked for the kernels that all of them would be, in a small part of the time.
#[test]
fn aspects_compile() {
    let Some(toolkit) = toolkit() else { return };
    let (mut device, _file) = probing::silicon("h200", &[("core.count", 3.0)]);
    for aspect in aspects::all() {
        let (name, begun) = (aspect.phase.name, Instant::now());
        let until = begun + Duration::from_secs(20);
        let (codes, records) =
            battery::rehearse(&aspect.phase, &Context { device: &h200(), scale: Scale::Tiny, seed: 1 }, &mut *device, until);
        let mut texts = BTreeSet::new();
        for code in codes {
            let Code::Program(program) = code else { panic!("{name} has text of its own") };
            let source = cuda(&Checked::new(program).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"));
            texts.insert((source.text(), source.entry.to_string()));
        }
        println!("{name}: {} records, {} kernels, {:.1} s", records.len(), texts.len(), begun.elapsed().as_secs_f64());
        assert!(!texts.is_empty(), "{name}");
        // The first and the last of them, and some between.
        for (text, entry) in texts.iter().step_by(texts.len().div_ceil(6)) {
            let compiled = match toolkit.compile(text, entry, ARCHS[1].parse().unwrap()) {
                Ok(compiled) => compiled,
                // How much local memory a group may have is found by asking for more.
                Err(error) if name == "local" && error.to_string().contains("too much shared data") => continue,
                Err(error) => panic!("{name}: {error}\n{text}"),
            };
            let spilled = compiled.resources.map_or(0, |resources| resources.spill_store_bytes + resources.spill_load_bytes);
            assert!(spilled == 0 || name == "registers", "{name}: {entry} spills {spilled} bytes");
        }
    }
}
