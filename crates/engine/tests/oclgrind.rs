//! Every operator under oclgrind, an OpenCL device that watches each access: nothing out of bounds, no race, no use of what was never
//! written.
//!
//! The checks are set by environment variables and the runtime is loaded at the first call, so that a process of its own is needed:
//! each test starts this executable again with [`child`] alone, and reads what oclgrind wrote.

mod common;

use common::draw::KINDS;
use common::{Case, any_config, copied_images, execute, judge, skip};
use fastrand::Rng;
use std::path::{Path, PathBuf};
use std::process::Command;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::{Meeting, ScheduleFamily};
use warpsight_ir::{Checked, Config, Scalar, text};
use warpsight_run::{Code, Device, Init, Job, LaunchSpec, MemoryKind, MemorySpec, Options};

/// Tells the child what to run: `operators`, `initialized`, or the name of a planted fault.
const CHILD: &str = "WARPSIGHT_UNDER_OCLGRIND";
/// Multiply-adds of an operator, at most.
const WORK: usize = 200;

/// Operators large enough for groups that copy images to local memory, and configurations of each that do.
const COPIED: [&str; 2] = ["conv2d n=1 c=9 h=5 w=7 k=12 r=3 s=3 pad=1", "matmul m=17 n=20 k=21 transpose_right=1 weights=none"];
const OF_COPIES: usize = 4;

/// Faults that pass validation: (name, the check that finds it, what oclgrind says, what the kernel does to x and y of 8 elements).
const FAULTS: [(&str, &str, &str, &str); 4] = [
    ("write_outside", RACES, "Invalid write", "{ y[l + 1] = x[l] }"),
    ("read_outside", RACES, "Invalid read", "{ y[l] = x[l + 1] }"),
    ("race", RACES, "data race", "{ y[l / 2] = x[l] }"),
    ("never_written", UNINITIALIZED, "Uninitialized", "{ a[0] = x[l] y[l] = a[l % 2] }"),
];

const RACES: &str = "OCLGRIND_DATA_RACES";
const UNINITIALIZED: &str = "OCLGRIND_UNINITIALIZED";

#[test]
fn no_operator_races_or_leaves_its_tensors() {
    if let Some(log) = log_of("operators", RACES) {
        assert!(log.is_empty(), "{log}");
    }
}

#[test]
fn no_operator_uses_what_was_not_written() {
    if let Some(log) = log_of("initialized", UNINITIALIZED) {
        assert!(log.is_empty(), "{log}");
    }
}

#[test]
fn planted_faults_are_reported() {
    for (name, check, message, _) in FAULTS {
        let Some(log) = log_of(name, check) else { return };
        assert!(log.contains(message) && log.contains(name), "`{message}` in kernel `{name}` was not reported, but: {log:?}");
    }
}

/// What runs under oclgrind; by itself, nothing.
#[test]
#[ignore = "started by the other tests"]
fn child() {
    let Ok(what) = std::env::var(CHILD) else { return };
    let options = Options { in_process: true, cache: None, ..Options::default() };
    let listing = warpsight_run::devices(&options);
    let info = listing.devices.iter().find(|d| d.backend == "opencl").unwrap_or_else(|| panic!("no device: {:?}", listing.skipped));
    assert!(info.name.contains("Oclgrind"), "{info:?}");
    let mut device = warpsight_run::open(&info.id, &options).expect("a device that is listed opens");
    match FAULTS.iter().find(|f| f.0 == what) {
        Some((name, _, _, body)) => fault(&mut *device, name, body),
        None => operators(&mut *device, what != "initialized"),
    }
}

/// Every operator; without `images` where oclgrind checks for uninitialised values, because it takes every texel for one.
fn operators(device: &mut dyn Device, images: bool) {
    for (kind, element) in KINDS.iter().flat_map(|kind| [(kind, Scalar::F32), (kind, Scalar::F16)]) {
        let mut rng = Rng::with_seed(kind.name.len() as u64);
        for expr in kind.draw(&mut rng, element, WORK).steps {
            for (number, config) in configs(&ScheduleFamily::new(expr.clone()), images, &mut rng).into_iter().enumerate() {
                let name = format!("{}_{}_{}_{number}", kind.name, expr.name, element.name());
                watch(device, &Case::new(name, ScheduleFamily::new(expr.clone()), config, rng.u64(..)));
            }
        }
    }
    for (n, text) in COPIED.into_iter().enumerate().filter(|_| images) {
        let family = || ScheduleFamily::new(parse_operator(text).expect("an operator").steps.remove(0));
        let own = family();
        let mut drawn = own.sample(n as u64, 300, Meeting::ANY);
        Rng::with_seed(n as u64).shuffle(&mut drawn);
        let copies: Vec<Config> = drawn.into_iter().filter(|config| copied_images(&own, config) > 0).take(OF_COPIES).collect();
        assert_eq!(copies.len(), OF_COPIES, "{text}");
        for (number, config) in copies.into_iter().enumerate() {
            watch(device, &Case::new(format!("copied_{n}_{number}"), family(), config, 1));
        }
    }
}

fn watch(device: &mut dyn Device, case: &Case) {
    // Where oclgrind itself fails, this is what is seen of it.
    eprintln!("{}", case.describe());
    let trial = case.trial();
    let mut job = trial.job(&case.program, None);
    // The log names the kernel; what lies around a buffer must not belong to it.
    let Code::Program(program) = &mut job.programs[0] else { unreachable!("a trial runs a Program") };
    program.name = case.name.as_str().into();
    job.memory.iter_mut().for_each(|m| m.canaries = false);
    let checked = execute(device, &job).and_then(|output| judge(&trial, &output));
    checked.unwrap_or_else(|error| panic!("{}: {error}", case.describe()));
}

/// One with buffers alone, one with as many images as can be, and any: the first two among some that were drawn.
fn configs(family: &ScheduleFamily, images: bool, rng: &mut Rng) -> Vec<Config> {
    let has_images = |c: &Config| family.places(c).is_none_or(|places| places.iter().any(|place| place.is_image()));
    let drawn: Vec<Config> = (0..200).map(|_| any_config(family, rng)).filter(|c| images || !has_images(c)).collect();
    let count = |c: &&Config| family.places(c).map_or(0, |places| places.iter().filter(|place| place.is_image()).count());
    let mut configs: Vec<Config> =
        [drawn.iter().min_by_key(count), drawn.iter().max_by_key(count), drawn.last()].into_iter().flatten().cloned().collect();
    configs.dedup();
    configs
}

fn fault(device: &mut dyn Device, name: &str, body: &str) {
    let declared = "read buffer x: f32[8] write buffer y: f32[8] private a: f32[2] groups g = 1 lanes l = 8";
    let program = text::parse(&format!("program {name} {{ {declared} {body} }}")).expect("parses");
    let program = Checked::new(program).expect("valid: only execution shows the fault");
    let buffer = |init| MemorySpec { kind: MemoryKind::Buffer { bytes: 32 }, init, canaries: false };
    let job = Job {
        programs: vec![program.into_inner().into()],
        memory: vec![buffer(Init::Data(warpsight_ir::data::f32_bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]))), buffer(Init::Poison)],
        launches: vec![LaunchSpec { program: 0, args: vec![0, 1], sizes: vec![] }],
        read: vec![1],
        peek: vec![],
        timing: None,
    };
    execute(device, &job).expect("oclgrind reports and goes on");
}

/// What oclgrind reports of a run of the child; `None` where there is no oclgrind.
fn log_of(what: &str, check: &str) -> Option<String> {
    let Some(runtime) = runtime() else {
        skip("no oclgrind");
        return None;
    };
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("oclgrind-{what}-{}.log", std::process::id()));
    let output = Command::new(std::env::current_exe().expect("this executable"))
        .args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"])
        .env(CHILD, what)
        .env("OPENCL_DYLIB_PATH", runtime)
        .env("OCLGRIND_LOG", &log)
        .env("OCLGRIND_CHECK_API", "1")
        // Optimised code contains instructions that its check for uninitialised values does not know.
        .env("OCLGRIND_BUILD_OPTIONS", if check == UNINITIALIZED { "-cl-opt-disable" } else { "" })
        .env(check, "1")
        .output()
        .expect("starts");
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{what}: {}\n{}{}", output.status, said(&output.stdout), said(&output.stderr));
    assert!(said(&output.stdout).contains("1 passed"), "{what} was not run: {}", said(&output.stdout));
    let text = std::fs::read_to_string(&log).expect("oclgrind writes a log");
    std::fs::remove_file(&log).expect("it is ours");
    Some(text)
}

/// The library that oclgrind's command would load, beside that command.
fn runtime() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let command = std::env::split_paths(&path).map(|folder| folder.join("oclgrind")).find(|file| file.is_file())?;
    let library = command.canonicalize().ok()?.parent()?.parent()?.join("lib/oclgrind/liboclgrind-rt.so");
    library.is_file().then_some(library)
}
