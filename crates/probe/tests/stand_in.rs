//! Stencils, peaks, tiles and all aspects through the CUDA back end, on the stand-in for its driver. A process loads a driver once: the tests of this
//! file start themselves again, with the stand-in on the loader's path.

#[path = "../../run/tests/fake_cuda/mod.rs"]
mod fake_cuda;

use std::collections::BTreeSet;
use std::process::Command;
use std::time::{Duration, Instant};
use warpsight_ir::TimeSource;
use warpsight_probe::{Cause, Context, Outcome, Scale, aspects, battery, phases};
use warpsight_run::{Code, Options, open};

#[test]
fn tiny_measurements_verify() {
    stands_in("on_the_stand_in");
}

#[test]
fn aspects_verify() {
    stands_in("aspects_on_the_stand_in");
}

fn stands_in(test: &str) {
    let Some(folder) = fake_cuda::build() else { return };
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--ignored", "--nocapture"]).env("LD_LIBRARY_PATH", &folder).env("WARPSIGHT_CUDA", &folder);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

/// The first measurement of every kernel.
#[test]
#[ignore = "is started by the other test"]
fn on_the_stand_in() {
    let mut device = open("cuda:0", &Options { in_process: true, cache: None, ..Options::default() }).unwrap();
    let mut info = device.info().clone();
    assert_eq!(info.clock, Some(TimeSource::Simulated));
    info.limits.compute_units = Some(2);
    let mut seen = BTreeSet::new();
    for phase in phases::all().into_iter().filter(|phase| ["stencils", "peaks", "peaks_tiles"].contains(&phase.name)) {
        for measurement in (phase.plan)(&Context { device: &info, scale: Scale::Tiny, seed: 3 }) {
            let Code::Program(program) = &measurement.job.programs[0] else { panic!("{}", measurement.name) };
            if !seen.insert(program.name.clone()) {
                continue;
            }
            let result = device.run(&measurement.job).unwrap_or_else(|error| panic!("{}: {error}", measurement.name));
            (measurement.check)(&result).unwrap_or_else(|what| panic!("{}: {what}", measurement.name));
            assert_eq!(result.timed.source, Some(TimeSource::Simulated));
        }
    }
    assert_eq!(seen.len(), 9 + 10 + 2, "{seen:?}");
}

/// What aspects ask for first runs and is right: processors take minutes for all that they would ask a GPU.
#[test]
#[ignore = "is started by the other test"]
fn aspects_on_the_stand_in() {
    let mut device = open("cuda:0", &Options { in_process: true, cache: None, ..Options::default() }).unwrap();
    let info = device.info().clone();
    let mut ran = BTreeSet::new();
    for aspect in aspects::all() {
        let name = aspect.phase.name;
        let context = Context { device: &info, scale: Scale::Tiny, seed: 3 };
        let begun = Instant::now();
        let (codes, records) = battery::rehearse(&aspect.phase, &context, &mut *device, begun + Duration::from_secs(3));
        println!("{name}: {} records, {:.1} s", records.len(), begun.elapsed().as_secs_f64());
        for record in &records {
            match &record.outcome {
                Outcome::Verified => _ = ran.insert(name),
                // How much local memory a group may have is found by asking for more.
                Outcome::Failed { cause: Cause::Refused, .. } if name == "local" => {}
                Outcome::Skipped { .. } => {}
                bad => panic!("{name}, `{}`: {bad:?}", record.name),
            }
        }
        assert!(codes.len() >= records.len());
    }
    let names: BTreeSet<&str> = aspects::all().iter().map(|aspect| aspect.phase.name).collect();
    assert_eq!(ran, names);
}
