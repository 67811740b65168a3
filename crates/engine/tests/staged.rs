//! Copies of images to local memory: texels that work-items of a group fetch together are what each would have fetched, wherever it runs.
//!
//! Extents are odd, channels make no whole texels, windows leave the picture; configurations are drawn of those that copy an image.

mod common;

use common::{Case, copied_images, execute, interpret, judge, skip};
use fastrand::Rng;
use std::collections::BTreeSet;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::{Meeting, Pass, Passes, Place, ScheduleFamily};
use warpsight_ir::{Config, Family, KnobValue};
use warpsight_run::{Device, Options};

const OPERATORS: [&str; 10] = [
    "conv2d n=1 c=13 h=11 w=17 k=10 r=3 s=3 stride=1 pad=1",
    "conv2d n=3 c=10 h=9 w=13 k=12 r=3 s=3 stride=1 pad=1 weights=none",
    "conv2d n=1 c=9 h=19 w=23 k=8 r=5 s=3 stride=2 pad=2",
    "conv2d n=2 c=11 h=15 w=14 k=9 r=3 s=3 stride=1 pad=1 dilation=2",
    "conv2d n=1 c=24 h=9 w=11 k=16 r=3 s=3 stride=1 pad=1 groups=2",
    "conv2d n=1 c=45 h=8 w=9 k=20 r=1 s=1 dtype=f16s",
    "conv2d n=1 c=22 h=10 w=13 k=16 r=3 s=3 stride=1 pad=1 dtype=f16s",
    "matmul m=37 n=29 k=61 transpose_right=1 weights=none",
    "matmul m=33 n=40 k=70 transpose_left=1 dtype=f16s",
    "matmul m=24 n=20 k=45 batch=3 weights=none",
];

/// Configurations of each operator, for interpreter and simulators.
const CASES: usize = 14;
/// Those of them that a driver compiles.
const COMPILED: usize = 3;

/// Configurations of an operator that copy images, of many schedules, and of as many kinds as there are.
fn drawn(text: &str, n: usize) -> Vec<Case> {
    let mut rng = Rng::with_seed(n as u64);
    let passes = Passes::default().set(Pass::Patterns, n % 2 == 1).set(Pass::Sampler, n % 3 == 1);
    let expr = parse_operator(text).expect("an operator").steps.remove(0);
    let family = || ScheduleFamily::by(expr.clone(), passes);
    let own = family();
    let mut all: Vec<Config> =
        own.sample(n as u64, 1500, Meeting::ANY).into_iter().filter(|config| copied_images(&own, config) > 0).collect();
    rng.shuffle(&mut all);
    // Not a dozen of one kind.
    let mut seen = BTreeSet::new();
    let (new, again): (Vec<Config>, Vec<Config>) = all.into_iter().partition(|config| seen.insert(kind(&own, config)));
    let chosen = new.into_iter().chain(again).take(CASES).enumerate();
    let cases: Vec<Case> = chosen.map(|(at, config)| Case::new(format!("{text} #{at}"), family(), config, rng.u64(..))).collect();
    assert_eq!(cases.len(), CASES, "{text}");
    cases
}

/// What tells kinds of copies apart: how many images, when they are loaded, for how many trips, and where they lie.
fn kind(family: &ScheduleFamily, config: &Config) -> (usize, bool, bool, Vec<Place>) {
    let own = family.space().describe(config);
    let ahead = own.get("stage_ahead") == Some(&KnobValue::Label("trip".into()));
    let nested = own.get("stage_trips").is_some_and(|trips| *trips != KnobValue::Number(1));
    (copied_images(family, config), ahead, nested, family.places(config).expect("legal"))
}

/// Whether interpreter, simulators, to the bit, and a driver compute a case.
fn computes(case: &Case, simulators: &mut [Box<dyn Device>], driver: Option<&mut (dyn Device + 'static)>) -> Result<(), String> {
    let trial = case.trial();
    let job = trial.job(&case.program, None);
    let own = interpret(&case.program, &job)?;
    judge(&trial, &own)?;
    for device in simulators {
        if execute(&mut **device, &job)? != own {
            return Err("not the interpreter's bits".into());
        }
    }
    driver.map_or(Ok(()), |device| judge(&trial, &execute(device, &job)?))
}

#[test]
fn texels_are_copied_as_they_are_fetched() {
    let mut simulators = ["sim:adreno640", "sim:mali-g76"].map(|id| warpsight_run::open(id, &Options::default()).expect("is always there"));
    let options = Options { in_process: true, cache: None, ..Options::default() };
    let found = warpsight_run::devices(&options).devices.into_iter().find(|device| device.backend == "opencl" && device.is_cpu);
    let mut driver = found.map(|info| warpsight_run::open(&info.id, &options).expect("a device that is listed opens"));
    if driver.is_none() {
        skip("no OpenCL device that is a CPU");
    }
    let (mut both, mut ahead, mut nested, mut patterns) = (0, 0, 0, 0);
    for (n, text) in OPERATORS.into_iter().enumerate() {
        for (at, case) in drawn(text, n).into_iter().enumerate() {
            let (images, loaded_ahead, several, places) = kind(&case.family, &case.config);
            both += usize::from(images == 2);
            ahead += usize::from(loaded_ahead);
            nested += usize::from(several);
            patterns += usize::from(places.iter().any(|place| matches!(place, Place::Column | Place::Tall(_))));
            let compiled = driver.as_deref_mut().filter(|_| at < COMPILED);
            computes(&case, &mut simulators, compiled).unwrap_or_else(|error| panic!("{}: {error}", case.describe()));
        }
    }
    println!("{both} copy two images, {ahead} a trip ahead, {nested} for several trips, {patterns} with other patterns than rows");
    assert!(both >= 15 && ahead >= 30 && nested >= 15 && patterns >= 10, "{both} {ahead} {nested} {patterns}");
}
