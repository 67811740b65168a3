//! The phase on memory: every measurement of the small scale runs and verifies, planted faults show, and the full scale fits.

mod common;

use common::{h200, toolkit};
use std::collections::{BTreeMap, BTreeSet};
use warpsight_emit::CudaSource;
use warpsight_ir::{Checked, Program, text};
use warpsight_probe::{Context, Measurement, Parameter, Scale, phases};
use warpsight_run::{Code, Contents, Device, DeviceError, DeviceInfo, JobResult, Options};

const PHASE: &str = "streams";

fn plan(info: &DeviceInfo, scale: Scale) -> impl Iterator<Item = Measurement> {
    let phase = phases::all().into_iter().find(|phase| phase.name == PHASE).unwrap();
    (phase.plan)(&Context { device: info, scale, seed: 7 }).into_iter()
}

fn open(id: &str) -> Result<Box<dyn Device>, DeviceError> {
    warpsight_run::open(id, &Options { in_process: true, cache: None, ..Options::default() })
}

fn simulator() -> Box<dyn Device> {
    open("sim:adreno640").unwrap()
}

fn verify(device: &mut dyn Device, measurement: &Measurement) -> Result<(), String> {
    let result = device.run(&measurement.job).map_err(|error| error.to_string())?;
    if !result.damaged.is_empty() {
        return Err(format!("canaries of {:?} are damaged", result.damaged));
    }
    assert!(result.timed.times[measurement.launch].iter().all(|time| time.0 > 0.0), "{}", measurement.name);
    (measurement.check)(&result)
}

/// The Program that is timed.
fn program(measurement: &mut Measurement) -> &mut Program {
    match &mut measurement.job.programs[measurement.job.launches[measurement.launch].program] {
        Code::Program(program) => program,
        Code::Cuda(_) => panic!("{} is no Program", measurement.name),
    }
}

/// `copy`, `sweep`: its Program's name without format, shape and threads.
fn kind(measurement: &mut Measurement) -> String {
    let words = program(measurement).name.to_string();
    let words: Vec<&str> = words.split('_').take_while(|word| !word.contains(|c: char| c.is_ascii_digit() && *word != "l1")).collect();
    words.join("_")
}

fn all_verify(device: &mut dyn Device) {
    let measurements: Vec<_> = plan(&device.info().clone(), Scale::Tiny).collect();
    assert!(measurements.len() >= 51, "{}", measurements.len());
    for measurement in &measurements {
        assert_eq!(verify(device, measurement), Ok(()), "{}", measurement.name);
    }
}

#[test]
fn tiny_streams_verify_on_the_simulator() {
    all_verify(&mut *simulator());
}

#[test]
fn tiny_streams_verify_on_opencl() {
    let mut device = match open("opencl:0") {
        Ok(device) => device,
        Err(error) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "CI needs an OpenCL device: {error}");
            eprintln!("skipped: {error}");
            return;
        }
    };
    all_verify(&mut *device);
}

/// Faults by what they change in a Program's text.
const FAULTS: [(&str, &str, &str); 8] = [
    ("a turn less", "in 0..trips", "in 1..trips"),
    ("a turn less", "in 0..turns", "in 1..turns"),
    ("blocks overlap", "i * blocks + g", "i * blocks"),
    ("a chunk passed over", "select(c + 1 < chunks, c + 1, 0)", "select(c + 2 < chunks, c + 2, 0)"),
    ("a start passed over", "select(c + 1 < starts, c + 1, 0)", "0"),
    ("wrong stride", "lane % row * stride", "lane % row * (stride + 1)"),
    ("wrong slot", "kept[at]", "kept[at ^ 1]"),
    ("wrong factor", "fma(b0, ", "fma(a0, "),
];

#[test]
fn planted_faults_show() {
    let mut device = simulator();
    let info = device.info().clone();
    // Of each kind of kernel, which faults could be planted, and of those which showed.
    let mut planted: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let mut seen = planted.clone();
    for mut measurement in plan(&info, Scale::Tiny) {
        let kind = kind(&mut measurement);
        let right = program(&mut measurement).to_string();
        let stores = ["y[", "sums[", "end["];
        let last = right.lines().rfind(|line| stores.iter().any(|store| line.trim().starts_with(store))).unwrap();
        let dropped = ("a store dropped", right.replace(last, ""));
        let changed = FAULTS.iter().map(|(what, from, to)| (*what, right.replace(from, to)));
        for (what, wrong) in changed.chain([dropped]).filter(|(_, wrong)| *wrong != right) {
            *program(&mut measurement) = text::parse(&wrong).unwrap_or_else(|error| panic!("{error}\n{wrong}"));
            planted.entry(kind.clone()).or_default().insert(what);
            if verify(&mut *device, &measurement).is_err() {
                seen.entry(kind.clone()).or_default().insert(what);
            } else {
                assert!(!matches!(what, "a store dropped" | "a turn less"), "{what} in {}", measurement.name);
            }
        }
    }
    assert_eq!(planted, seen);
    let kinds: Vec<&str> = planted.keys().map(String::as_str).collect();
    let expected = ["copy", "l1_stride", "scale", "shared", "sum", "sweep", "triad", "write"];
    assert_eq!(kinds, expected);
    assert!(planted.values().all(|faults| faults.len() >= 2), "{planted:?}");
}

/// Seconds of a launch on an H200, roughly: bytes at the level's rate, which few warps do not reach, or steps one after the other.
fn roughly(measurement: &Measurement) -> f64 {
    if measurement.amounts.steps > 0.0 {
        return measurement.amounts.steps
            * if measurement.params.get("cache") == Some(&Parameter::Word("flushed".into())) { 8e-7 } else { 2e-7 };
    }
    let Some(Parameter::Int(warps)) = measurement.params.get("warps_per_unit") else { panic!("{}", measurement.name) };
    let (rate, enough) = match measurement.params.get("level") {
        Some(Parameter::Word(level)) if level == "dram" => (4.0e12, 40.0),
        // Some of its footprints lie in DRAM.
        Some(Parameter::Word(level)) if level == "l2" => (4.0e12, 32.0),
        // A load costs up to 32 times what a conflict-free one does; the number of loads allows for it.
        _ => (10.0e12, 16.0),
    };
    measurement.amounts.bytes / (rate * (*warps as f64 / enough).min(1.0))
}

/// What all of a phase at full scale comes to.
#[derive(Default)]
struct Whole {
    names: BTreeSet<String>,
    programs: BTreeMap<String, Checked>,
    seconds: f64,
}

fn whole(each: impl Fn(&Measurement)) -> Whole {
    let (info, mut whole) = (h200(), Whole::default());
    for measurement in plan(&info, Scale::Full) {
        each(&measurement);
        let job = &measurement.job;
        for code in &job.programs {
            let Code::Program(program) = code else { panic!("{}", measurement.name) };
            whole.programs.entry(program.to_string()).or_insert_with(|| Checked::new(program.clone()).unwrap());
        }
        let memory: u64 = job.memory.iter().map(|memory| memory.kind.bytes()).sum();
        assert!(memory < 10 << 30, "{} takes {memory} bytes", measurement.name);
        for launch in &job.launches {
            let Code::Program(program) = &job.programs[launch.program] else { panic!("{}", measurement.name) };
            assert_eq!((launch.args.len(), launch.sizes.len()), (program.params.len(), program.sizes.len()), "{}", measurement.name);
            for (size, value) in program.sizes.iter().zip(&launch.sizes) {
                assert!((size.lo..=size.hi).contains(value), "{}: {} is {value}", measurement.name, size.name);
            }
        }
        if let Some(Parameter::Int(warps)) = measurement.params.get("warps_per_unit") {
            assert!(*warps <= 64, "{} does not fit in one wave", measurement.name);
        }
        // An untimed pass, the timed ones, and 15 ms to allocate, fill, flush and read back.
        whole.seconds += f64::from(job.timing.unwrap().runs + 1) * roughly(&measurement) + 0.015;
        assert!(whole.names.insert(measurement.name.clone()), "{} occurs twice", measurement.name);
    }
    // NVRTC and ptxas take 0.1 to 0.2 s for a small kernel.
    whole.seconds += 0.2 * whole.programs.len() as f64;
    whole
}

/// A kernel that writes nothing but zeros is found out.
fn nothing_is_refused(measurement: &Measurement) {
    let peeked = measurement.job.peek.iter().map(|peek| Contents(vec![0; peek.offsets.len() * peek.bytes as usize]));
    let result = JobResult { peeked: peeked.collect(), ..JobResult::default() };
    assert!((measurement.check)(&result).is_err(), "{}", measurement.name);
}

#[test]
fn the_full_scale_fits_its_time_box() {
    let whole = whole(nothing_is_refused);
    println!("{} measurements, {} Programs, {:.0} s predicted", whole.names.len(), whole.programs.len(), whole.seconds);
    assert!(whole.programs.len() <= 110, "{} Programs", whole.programs.len());
    assert!(whole.seconds < 90.0, "{} s", whole.seconds);
    assert!(whole.names.len() >= 70, "{} measurements", whole.names.len());
}

/// Instructions of the innermost loop in PTX: from its label to the branch back to it. Of several loops, the one with most.
fn loop_instructions(ptx: &str, mnemonic: &str) -> usize {
    let lines: Vec<&str> = ptx.lines().map(str::trim).collect();
    let loops = lines.iter().enumerate().filter_map(|(end, line)| {
        let label = line.split_whitespace().last()?.trim_end_matches(';');
        let start = lines[..end].iter().position(|line| line.strip_suffix(':') == Some(label))?;
        line.contains("bra").then(|| lines[start..end].iter().filter(|line| line.contains(mnemonic)).count())
    });
    loops.max().unwrap_or(0)
}

#[test]
fn every_program_is_emitted_for_cuda_and_keeps_its_loads() {
    let sources: BTreeMap<String, _> = whole(|_| ())
        .programs
        .into_values()
        .map(|program| {
            let source = warpsight_emit::cuda(&program).unwrap_or_else(|error| panic!("{}: {error:?}", program.name));
            (program.name.to_string(), (program, source))
        })
        .collect();
    let Some(toolkit) = toolkit() else { return };
    // Of each kind a shape with many registers and one with vector loads; what a turn of the inner loop must have.
    let wanted = [
        ("copy_f32x4_t128", 4, "ld.global.nc.v4"),
        ("copy_f64x1_t1024", 4, "ld.global"),
        ("triad_f64x4_t128", 8, "ld.global.nc.v2.f64"),
        ("sum_f32x4_t128", 2, "ld.global.nc.v4.f32"),
        ("write_f32x4_t128", 4, "st.global.v4"),
        ("sweep_f32x1_t128", 8, "ld.global"),
        ("sweep_f32x4_t128", 2, "ld.global.nc.v4.f32"),
        ("sweep_f64x1_t1024", 4, "ld.global"),
        ("sweep_f64x4_t128", 2, "ld.global.nc.v2.f64"),
        ("l1_stride_f64x1_t1024", 4, "ld.global"),
        ("shared_f32x4_t256", 2, "ld.shared.v4"),
        ("shared_f64x1_t256", 4, "ld.shared"),
    ];
    let compile = |source: &CudaSource| {
        toolkit.compile(&source.text(), &source.entry, "sm_90a".parse().unwrap()).unwrap_or_else(|error| panic!("{error}"))
    };
    for (name, count, mnemonic) in wanted {
        let (_, source) = sources.get(name).unwrap_or_else(|| panic!("no {name} among {:?}", sources.keys()));
        let compiled = compile(source);
        assert_eq!(loop_instructions(&compiled.ptx, mnemonic), count, "{mnemonic} in {name}:\n{}", compiled.ptx);
        // Without `ptxas`, nobody says.
        let spilled = compiled.resources.map(|resources| resources.spill_store_bytes + resources.spill_load_bytes);
        assert!(spilled.is_none_or(|bytes| bytes == 0), "{name} spills {spilled:?} bytes");
    }
    // The count sees a kernel that is optimised away.
    let (sweep, _) = &sources["sweep_f32x1_t128"];
    let unused: String = sweep.to_string().lines().filter(|line| !line.contains("sums[")).map(|line| line.to_owned() + "\n").collect();
    let unused = warpsight_emit::cuda(&Checked::new(text::parse(&unused).unwrap()).unwrap()).unwrap();
    assert_eq!(loop_instructions(&compile(&unused).ptx, "ld.global"), 0);
}
