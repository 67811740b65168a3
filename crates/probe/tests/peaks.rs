//! Peak rates: the Programs compute what the host computes, to the last bit where the type allows it, and checks find mistakes.

use std::collections::{BTreeMap, BTreeSet};
use warpsight_ir::{Bindings, Checked, OpClass, OpCounts, ParamKind, Program, Scalar, interpret::interpret, text};
use warpsight_probe::{Context, Measurement, Needs, Parameter, Scale, phases};
use warpsight_run::{Code, Contents, Device, DeviceInfo, Job, JobResult, Options, open};

fn options() -> Options {
    Options { in_process: true, cache: None, ..Options::default() }
}

fn simulator() -> Box<dyn Device> {
    open("sim:adreno640", &options()).unwrap()
}

/// A device with so many multiprocessors; nothing else matters to these plans.
fn device_of(units: u32) -> DeviceInfo {
    let mut info = simulator().info().clone();
    info.limits.compute_units = Some(units);
    info
}

fn plan(phase: &str, device: &DeviceInfo, scale: Scale) -> Vec<Measurement> {
    let phase = phases::all().into_iter().find(|p| p.name == phase).unwrap();
    (phase.plan)(&Context { device, scale, seed: 7 }).into_iter().collect()
}

fn program(measurement: &Measurement) -> &Program {
    match &measurement.job.programs[..] {
        [Code::Program(program)] => program,
        other => panic!("{other:?}"),
    }
}

fn number(measurement: &Measurement, name: &str) -> u32 {
    match measurement.params[name] {
        Parameter::Int(value) => value.try_into().unwrap(),
        ref other => panic!("{name}: {other:?}"),
    }
}

fn op(measurement: &Measurement) -> &str {
    match &measurement.params["op"] {
        Parameter::Word(word) => word,
        other => panic!("{other:?}"),
    }
}

fn outcome(device: &mut dyn Device, measurement: &Measurement) -> Result<(), String> {
    let result = device.run(&measurement.job).map_err(|error| error.to_string())?;
    (measurement.check)(&result)
}

/// What the interpreter makes of a job of one launch.
fn interpreted(job: &Job) -> JobResult {
    let Code::Program(program) = &job.programs[0] else { panic!() };
    let data = job.memory.iter().map(|memory| memory.init.contents(memory.kind.bytes()).unwrap()).collect();
    let mut bindings = Bindings { sizes: BTreeMap::new(), data };
    interpret(&Checked::new(program.clone()).unwrap(), &mut bindings).unwrap();
    let pieces = |peek: &warpsight_run::Peek| {
        let data = &bindings.data[peek.memory];
        Contents(peek.offsets.iter().flat_map(|&at| data[at as usize..][..peek.bytes as usize].to_vec()).collect())
    };
    JobResult { peeked: job.peek.iter().map(pieces).collect(), ..JobResult::default() }
}

#[test]
fn tiny_measurements_verify_on_the_simulator() {
    let mut device = simulator();
    let measurements = plan("peaks", &device.info().clone(), Scale::Tiny);
    for measurement in &measurements {
        outcome(device.as_mut(), measurement).unwrap_or_else(|what| panic!("{}: {what}\n{}", measurement.name, program(measurement)));
    }
    let ops: BTreeSet<&str> = measurements.iter().map(op).collect();
    let functions = ["exp_f32", "rsqrt_f32", "sin_f32"];
    let exact = ["add_f32", "fma_f32", "fma_f64", "mad_i32", "mad_i64", "round_bf16", "round_f16"];
    assert_eq!(ops, functions.into_iter().chain(exact).collect());
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
    // One load is enough: compiling takes most of the time.
    let info = DeviceInfo { limits: device_of(2).limits, ..device.info().clone() };
    for measurement in plan("peaks", &info, Scale::Tiny).iter().filter(|m| number(m, "chains") == 2) {
        outcome(device.as_mut(), measurement).unwrap_or_else(|what| panic!("{}: {what}", measurement.name));
    }
}

#[test]
fn tiles_verify_on_the_interpreter() {
    let measurements = plan("peaks_tiles", &device_of(2), Scale::Tiny);
    assert_eq!(measurements.iter().map(op).collect::<BTreeSet<_>>(), ["mma_bf16", "mma_f16"].into());
    for measurement in measurements {
        (measurement.check)(&interpreted(&measurement.job)).unwrap_or_else(|what| panic!("{}: {what}", measurement.name));
        assert!((measurement.check)(&JobResult::default()).is_err());
    }
}

#[test]
fn planted_faults_are_found() {
    let mut device = simulator();
    let info = device.info().clone();
    let faults = [
        ("fma_f32", "fma(x0, a, b)", "fma(x0, a, a)"),
        ("fma_f32", "let a = k[0]", "let a = k[0] + 0.00001"),
        ("fma_f64", "0..2 unroll", "0..1 unroll"),
        ("mad_i32", "* a + b", "* a - b"),
        ("mad_i64", "0..2 unroll", "0..3 unroll"),
        ("add_f32", "= x0 + b", "= x0"),
        ("round_f16", "var x0: f16", "var x0: f32"),
        ("round_bf16", "0..2 unroll", "0..1 unroll"),
        ("rsqrt_f32", "0.75", "0.8"),
        ("exp_f32", "exp(-x0 - c0)", "exp(-x0 + c0)"),
        ("sin_f32", "sin(", "cos("),
    ];
    for (name, from, to) in faults {
        let mut measurement = plan("peaks", &info, Scale::Tiny).into_iter().find(|m| op(m) == name).unwrap();
        let original = program(&measurement).to_string();
        let faulty = original.replace(from, to);
        assert_ne!(faulty, original, "{name}: no `{from}` in\n{original}");
        measurement.job.programs = vec![text::parse(&faulty).unwrap().into()];
        assert!(outcome(device.as_mut(), &measurement).is_err(), "{name}: `{to}` was not noticed");
    }
    for (from, to) in [("+= a * b", "+= b * a"), ("0..2 unroll", "0..3 unroll"), ("d0 = 0.0", "d0 = 0.5"), ("+ 1) * 16", "+ 2) * 16")] {
        let mut measurement = plan("peaks_tiles", &device_of(1), Scale::Tiny).into_iter().find(|m| number(m, "chains") == 8).unwrap();
        let original = program(&measurement).to_string();
        let faulty = original.replacen(from, to, 1);
        assert_ne!(faulty, original, "no `{from}` in\n{original}");
        measurement.job.programs = vec![text::parse(&faulty).unwrap().into()];
        // Two stores to one place race, which the interpreter refuses by itself.
        let noticed =
            std::panic::catch_unwind(|| interpreted(&measurement.job)).map_or(true, |result| (measurement.check)(&result).is_err());
        assert!(noticed, "`{to}` was not noticed");
    }
}

/// What a GPU of 132 multiprocessors would run.
#[test]
fn the_full_plans_are_sound() {
    let device = device_of(132);
    let mut names = BTreeSet::new();
    for (phase, needs) in [("peaks", Needs::Programs), ("peaks_tiles", Needs::Tiles)] {
        assert_eq!(phases::all().iter().find(|p| p.name == phase).unwrap().needs, needs);
        let wmma = (needs == Needs::Tiles).then(|| Parameter::Word("wmma".into()));
        let measurements = plan(phase, &device, Scale::Full);
        let first: BTreeSet<&str> = measurements[..10.min(measurements.len())].iter().map(op).collect();
        assert_eq!(first, measurements.iter().map(op).collect(), "every type comes first with its most telling load");
        for measurement in &measurements {
            let name = measurement.name.as_str();
            assert_eq!(measurement.params.get("path"), wmma.as_ref(), "{name}");
            assert!(names.insert(name.to_owned()), "{name} occurs twice");
            let program = Checked::new(program(measurement).clone()).unwrap_or_else(|error| panic!("{name}: {error}"));
            let (threads, per_unit) = (number(measurement, "threads"), number(measurement, "blocks_per_unit"));
            assert_eq!(program.launch.group_size(), threads, "{name}");
            assert_eq!(threads * per_unit, 32 * number(measurement, "warps_per_unit"), "{name}");
            assert!(threads <= 1024 && per_unit <= 32, "{name}");
            let groups = program.launch.groups.iter().map(|axis| axis.extent.as_int().unwrap()).product::<i64>();
            assert_eq!(groups, i64::from(132 * per_unit), "{name}");
            for memory in &measurement.job.memory {
                memory.init.check(memory.kind.bytes()).unwrap_or_else(|what| panic!("{name}: {what}"));
            }
            // The amount by definition is what the Program does, its setup aside.
            let counts = OpCounts::of(&program).unwrap();
            let all = f64::from(threads) * groups as f64;
            let counted: u64 = match op(measurement) {
                word if word.starts_with("mad") => counts.0.iter().filter(|((class, ..), _)| *class == OpClass::Int).map(|(_, n)| n).sum(),
                "exp_f32" | "rsqrt_f32" | "sin_f32" => counts.0[&(OpClass::Special, Scalar::F32, 1)],
                _ => counts.flops(),
            };
            let ratio = counted as f64 * all / measurement.amounts.operations;
            assert!((ratio - 1.0).abs() < 0.01, "{name}: the Program does {ratio} times the stated operations");
            for param in &program.params {
                assert!(matches!(param.kind, ParamKind::Buffer { .. }));
            }
        }
    }
    let of = |word: &str| names.iter().filter(|name| name.starts_with(word)).count();
    assert_eq!((of("fma_f32"), of("exp"), of("mma")), (28, 7, 46), "{} in all", names.len());
}
