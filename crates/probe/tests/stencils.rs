//! The stencils' Programs are those of the definitions, run right, and their checks find mistakes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use warpsight_emit::grid::Grid;
use warpsight_ir::{AccessKind, Accesses, Checked, Nest, OpCounts, Program, TensorPlace, TimeSource, VarId, VarKind, text};
use warpsight_probe::{Context, Measurement, Needs, Parameter, Phase, Scale, phases};
use warpsight_run::{Code, Contents, Device, DeviceInfo, DeviceLimits, JobResult, Options, Peek, open};

const SEED: u64 = 2026;

fn phase() -> Phase {
    phases::all().into_iter().find(|phase| phase.name == "stencils").unwrap()
}

/// An H200 as its driver describes it.
fn h200() -> DeviceInfo {
    DeviceInfo {
        id: "cuda:0".into(),
        backend: "cuda".into(),
        name: "NVIDIA H200".into(),
        driver: "CUDA 13.0".into(),
        is_cpu: false,
        limits: DeviceLimits {
            max_group_size: Some(1024),
            max_group_dims: Some([1024, 1024, 64]),
            local_bytes: Some(227 << 10),
            local_arrays: None,
            image_2d: Some((131_072, 65_536)),
            image_1d: Some(32_768),
            image_buffer: Some(1 << 28),
            image_pitch: Some(32),
            max_allocation: Some(141_000_000_000),
            memory: Some(141_000_000_000),
            compute_units: Some(132),
            f64: true,
            f16: true,
        },
        clock: Some(TimeSource::Measured),
        facts: BTreeMap::from([("l2_cache_bytes".into(), (60u64 << 20).to_string())]),
    }
}

fn plan(device: &DeviceInfo, scale: Scale) -> impl Iterator<Item = Measurement> {
    (phase().plan)(&Context { device, scale, seed: SEED }).into_iter()
}

fn program(measurement: &Measurement) -> &Program {
    match &measurement.job.programs[..] {
        [Code::Program(program)] => program,
        other => panic!("{other:?}"),
    }
}

fn number(measurement: &Measurement, name: &str) -> i64 {
    match measurement.params[name] {
        Parameter::Int(value) => value,
        ref other => panic!("{name}: {other:?}"),
    }
}

fn numbers(measurement: &Measurement, what: &str) -> [i64; 3] {
    ["x", "y", "z"].map(|axis| number(measurement, &format!("{what}_{axis}")))
}

fn kernel(measurement: &Measurement) -> &str {
    match &measurement.params["kernel"] {
        Parameter::Word(word) => word,
        other => panic!("{other:?}"),
    }
}

fn options() -> Options {
    Options { in_process: true, cache: None, ..Options::default() }
}

fn simulator() -> Box<dyn Device> {
    open("sim:adreno640", &options()).unwrap()
}

/// Runs a measurement and compares.
fn outcome(device: &mut dyn Device, measurement: &Measurement) -> Result<(), String> {
    let result = device.run(&measurement.job).map_err(|error| error.to_string())?;
    assert_eq!(result.timed.times.len(), measurement.job.launches.len());
    (measurement.check)(&result)
}

#[test]
fn tiny_measurements_verify_on_the_simulator() {
    let mut device = simulator();
    let info = device.info().clone();
    let mut kernels = BTreeMap::new();
    for measurement in plan(&info, Scale::Tiny) {
        outcome(device.as_mut(), &measurement).unwrap_or_else(|what| panic!("{}: {what}\n{}", measurement.name, program(&measurement)));
        *kernels.entry(kernel(&measurement).to_owned()).or_insert(0) += 1;
    }
    let grids = [("lbm_d3q15", 4), ("star2d5", 2), ("star3d25", 6), ("star3d7", 6)];
    let others = [("add", 2), ("convolution", 3), ("copy", 2), ("scale", 2), ("triad", 2)];
    assert_eq!(kernels, grids.into_iter().chain(others).map(|(name, count)| (name.to_owned(), count)).collect());
}

#[test]
fn tiny_measurements_verify_through_opencl() {
    let mut device = match open("opencl:0", &options()) {
        Ok(device) => device,
        Err(error) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "CI needs an OpenCL device: {error}");
            return eprintln!("skipped: {error}");
        }
    };
    let info = device.info().clone();
    for measurement in plan(&info, Scale::Tiny) {
        outcome(device.as_mut(), &measurement).unwrap_or_else(|what| panic!("{}: {what}", measurement.name));
    }
}

/// Each fault, planted into a Program that verifies, must be found.
#[test]
fn planted_faults_are_found() {
    let mut device = simulator();
    let info = device.info().clone();
    let faults = [
        ("star3d25", "c - 4]", "c - 3]", "a wrong neighbour"),
        ("star3d25", "+ v24", "", "a dropped term"),
        ("star3d25", "A[c]", "A[c + 24]", "another row"),
        ("star3d7", "x < 17", "x < 18", "a point too many"),
        ("star3d7", "x < 17", "x < 16", "a point not computed"),
        ("star3d7", "c + 19]", "c + 20]", "a wrong row"),
        ("star2d5", "0.2d", "0.20000000000001d", "a wrong factor"),
        ("lbm_d3q15", "h_7[", "h_8[", "a swapped population"),
        ("lbm_d3q15", "htmp_3[", "htmp_4[", "two populations in one place"),
        ("lbm_d3q15", "fx_0 - fy_0", "fx_0 + fy_0", "a wrong sign of the force"),
        ("lbm_d3q15", "4.5d", "0.0d", "a dropped term of second order"),
        ("lbm_d3q15", "- 0.5d", "- 0.25d", "a shifted interface"),
        ("triad", "0.4d", "0.5d", "a wrong factor"),
        ("copy", "D[c]", "D[999 - c]", "a wrong place"),
        ("convolution", "filter[j, i]", "filter[i, j]", "a transposed filter"),
        ("convolution", "for j in 0..15", "for j in 0..14", "a row of the filter left out"),
    ];
    for (name, from, to, what) in faults {
        let mut measurement = plan(&info, Scale::Tiny).find(|m| kernel(m) == name).unwrap();
        outcome(device.as_mut(), &measurement).unwrap();
        let original = program(&measurement).to_string();
        let faulty = original.replacen(from, to, 1);
        assert_ne!(faulty, original, "{name}: no `{from}` in\n{original}");
        measurement.job.programs = vec![text::parse(&faulty).unwrap().into()];
        assert!(outcome(device.as_mut(), &measurement).is_err(), "{name}: {what} was not noticed");
    }
}

#[test]
fn results_that_are_missing_or_never_written_do_not_verify() {
    for measurement in plan(simulator().info(), Scale::Tiny) {
        assert!((measurement.check)(&JobResult::default()).is_err(), "{}", measurement.name);
        let poison = |peek: &Peek| Contents(vec![0xff; peek.offsets.len() * peek.bytes as usize]);
        let result = JobResult { peeked: measurement.job.peek.iter().map(poison).collect(), ..JobResult::default() };
        assert!((measurement.check)(&result).is_err(), "{}", measurement.name);
    }
}

/// What a large GPU would run, without running it.
#[test]
fn the_full_plan_is_sound() {
    let device = h200();
    assert_eq!(phase().needs, Needs::Programs);
    let mut names = BTreeSet::new();
    let mut first = BTreeSet::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for measurement in plan(&device, Scale::Full) {
        let name = measurement.name.as_str();
        assert!(names.insert(name.to_owned()), "{name} occurs twice");
        *counts.entry(kernel(&measurement).to_owned()).or_default() += 1;
        if names.len() <= 24 {
            first.insert(kernel(&measurement).to_owned());
        }
        let program = Checked::new(program(&measurement).clone()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let grid = Grid::of(&program.launch);
        let block = numbers(&measurement, "block");
        assert_eq!(grid.local.map(i64::from), block, "{name}");
        assert!(block.iter().product::<i64>() <= 1024 && block[2] <= 64, "{name}");
        let groups: [i64; 3] = grid.groups.each_ref().map(|extent| extent.as_int().unwrap());
        assert_eq!(groups, numbers(&measurement, "grid"), "{name}");
        assert!(groups[1] <= 65_535 && groups[2] <= 65_535, "{name}");
        let memory = &measurement.job.memory;
        assert!(memory.iter().map(|memory| memory.kind.bytes()).sum::<u64>() < 8_000_000_000, "{name}");
        assert!(memory.iter().all(|memory| memory.init.check(memory.kind.bytes()).is_ok()), "{name}");
        for peek in &measurement.job.peek {
            assert!(peek.offsets.len() >= 40, "{name}");
            assert!(peek.offsets.iter().all(|at| at + u64::from(peek.bytes) <= memory[peek.memory].kind.bytes()), "{name}");
        }
        let outputs: i64 = ["fold_y", "fold_z", "tile_x", "tile_y"]
            .iter()
            .filter(|p| measurement.params.contains_key(**p))
            .map(|p| number(&measurement, p))
            .product();
        let counted = OpCounts::of(&program).unwrap().flops() as f64 / outputs as f64;
        let per_point = measurement.amounts.operations / measurement.amounts.points;
        assert!((counted - per_point).abs() < 1e-9, "{name}: {counted} operations a point, not {per_point}");
    }
    for kernel in ["convolution", "lbm_d3q15", "star2d5", "star3d25", "star3d7", "copy", "scale", "add", "triad"] {
        assert!(first.contains(kernel), "an early end must leave {kernel} covered");
    }
    let grids = [("lbm_d3q15", 67), ("star2d5", 15), ("star3d25", 150), ("star3d7", 32)];
    let others = [("add", 4), ("convolution", 47), ("copy", 4), ("scale", 4), ("triad", 4)];
    assert_eq!(counts, grids.into_iter().chain(others).map(|(name, count)| (name.to_owned(), count)).collect());
}

/// Definitions of the original estimator, where they lie beside the repository.
fn definition(file: &str) -> Option<serde_json::Value> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("../shared/data/volumes").join(file);
    let Ok(text) = std::fs::read_to_string(path) else {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "CI needs the definitions of data volumes");
        eprintln!("skipped: no definitions of data volumes here");
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

/// `["tidx-1", "tidy", "tidz"]` as a distance in elements.
fn distance(tuple: &serde_json::Value, dims: &[i64]) -> i64 {
    // The 7-point star's store names its point by one letter.
    let Some(tuple) = tuple.as_array() else { return 0 };
    let offset =
        |coordinate: &serde_json::Value| match coordinate.as_str().unwrap().trim_start_matches("tid").trim_start_matches(['x', 'y', 'z']) {
            "" | "0" => 0,
            offset => offset.parse::<i64>().unwrap(),
        };
    tuple.iter().map(offset).zip([1, dims[0], dims[0] * dims[1]]).map(|(offset, stride)| offset * stride).sum()
}

/// Loads or stores of each tensor in program order, as distances from an element.
fn distances(accesses: &Accesses, origin: i64, loads: bool) -> BTreeMap<String, Vec<i64>> {
    let mut found: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for node in &accesses.nest {
        let Nest::Access(access) = node else { panic!("{node:?}") };
        if (access.kind == AccessKind::Load) == loads {
            let name = accesses.tensors[access.tensor as usize].name.to_string();
            found.entry(name).or_default().push(access.coords[0].constant - origin);
        }
    }
    found
}

fn integers(value: &serde_json::Value) -> Vec<i64> {
    value.as_array().unwrap().iter().map(|v| v.as_i64().unwrap()).collect()
}

/// Every kernel touches what its definition says, in the definition's order, and every block shape of the definition is planned.
#[test]
fn accesses_are_those_of_the_definitions() {
    let device = h200();
    let files = [
        ("star3d25", "peer/star3d25_r4_dp_640x512x512__DeviceAmpereA100_40GB.json"),
        ("star3d7", "peer/star3d7_r1_dp_512__DeviceAmpereA100_40GB.json"),
        ("star2d5", "peer/star2d5_dp_15000__DeviceAmpereA100_40GB.json"),
        ("lbm_d3q15", "peer/lbm_ac_d3q15_dp_254x198x198__DeviceAmpereA100_40GB.json"),
    ];
    for (name, file) in files {
        let Some(peer) = definition(file) else { return };
        let (dims, domain) = (integers(&peer["kernel"]["field_dims"]), integers(&peer["kernel"]["domain"]));
        let strides = [1, dims[0], dims[0] * dims[1]];
        let expected = |what: &str| -> BTreeMap<String, Vec<i64>> {
            let fields = peer["kernel"][what].as_object().unwrap();
            fields.iter().map(|(f, tuples)| (f.clone(), tuples.as_array().unwrap().iter().map(|t| distance(t, &dims)).collect())).collect()
        };
        let (expected_loads, expected_stores) = (expected("loads"), expected("stores"));
        let alignment = peer["kernel"]["alignment_elements"].as_i64().unwrap();
        let mut planned = BTreeSet::new();
        for measurement in plan(&device, Scale::Full).filter(|m| kernel(m) == name) {
            let what = measurement.name.as_str();
            assert_eq!(numbers(&measurement, "domain")[..], domain[..]);
            let block = numbers(&measurement, "block");
            let accesses = Accesses::of(program(&measurement)).unwrap();
            let folds = [1, number(&measurement, "fold_y"), number(&measurement, "fold_z")];
            let origin = distances(&accesses, 0, false).values().next().unwrap()[0];
            assert_eq!((origin - alignment) % dims[0], 0, "{what}: the origin is the alignment and whole rows");
            let (loads, stores) = (distances(&accesses, origin, true), distances(&accesses, origin, false));
            if folds == [1; 3] {
                assert_eq!((&loads, &stores), (&expected_loads, &expected_stores), "{what}");
                planned.insert(block);
            } else {
                // A folded thread touches what its points touch, each element once.
                let step = if folds[1] > 1 { strides[1] } else { strides[2] };
                for (found, expected) in [(loads, &expected_loads), (stores, &expected_stores)] {
                    assert_eq!(found.len(), expected.len(), "{what}");
                    for (field, one) in expected {
                        let both: BTreeSet<i64> = one.iter().flat_map(|d| [*d, d + step]).collect();
                        assert_eq!(found[field].len(), both.len(), "{what} {field}");
                        assert_eq!(found[field].iter().copied().collect::<BTreeSet<_>>(), both, "{what} {field}");
                    }
                }
            }
            // Neighbouring threads touch neighbouring points along every axis.
            let rank = accesses.vars.iter().filter(|var| var.kind == VarKind::Lane).count();
            for node in &accesses.nest {
                let Nest::Access(access) = node else { panic!("{node:?}") };
                for axis in 0..rank {
                    let [by_group, by_lane] = [axis, rank + axis].map(|var| i64::from(access.coords[0].coefficient(VarId(var as u16))));
                    assert_eq!((by_lane, by_group), (strides[axis] * folds[axis], by_lane * block[axis]), "{what}");
                }
            }
            // The field of the definition fits, and little is added.
            for tensor in &accesses.tensors {
                let TensorPlace::Buffer { dims: found, .. } = &tensor.place else { panic!("{tensor:?}") };
                let field: i64 = dims.iter().product();
                assert!((0..=9 * strides[2]).contains(&(found[0] - field)), "{what}: {} elements for {field}", found[0]);
                assert!(name == "star3d25" || found[0] == field, "{what}: a domain with a margin needs nothing more");
            }
        }
        let blocks = peer["configs"].as_array().unwrap().iter().map(|c| integers(&c["block"]).try_into().unwrap());
        let missing: Vec<[i64; 3]> = blocks.filter(|block| !planned.contains(block)).collect();
        assert_eq!(missing, Vec::<[i64; 3]>::new(), "{name}");
    }
}

/// Every planned convolution is among the recorded ones, and has the recorded sizes.
#[test]
fn convolutions_are_recorded_ones() {
    let Some(recorded) = definition("measured/kt_convolution_noshmem_A100.json") else { return };
    let rows = recorded["rows"].as_array().unwrap().iter();
    let known: BTreeSet<[i64; 4]> = rows.map(|row| [0, 1, 2, 3].map(|i| row[i].as_i64().unwrap())).collect();
    for measurement in plan(&h200(), Scale::Full).filter(|m| kernel(m) == "convolution") {
        let config = ["block_x", "block_y", "tile_x", "tile_y"].map(|name| number(&measurement, name));
        assert!(known.contains(&config), "{}", measurement.name);
        let accesses = Accesses::of(program(&measurement)).unwrap();
        let dims = |name: &str| match &accesses.tensors.iter().find(|t| &*t.name == name).unwrap().place {
            TensorPlace::Buffer { dims, .. } => dims.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(["input", "filter", "output"].map(dims), [[4110, 4110], [15, 15], [4096, 4096]]);
    }
}
