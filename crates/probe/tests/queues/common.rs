//! What the tests of queues and launches share: plans, texts, and a device without hardware.
#![allow(dead_code)]

#[path = "../../../run/tests/fake_cuda/mod.rs"]
mod fake_cuda;
#[path = "../common/mod.rs"]
mod shared;

pub use shared::{h200, toolkit};

use std::collections::BTreeMap;
use warpsight_probe::{Context, Measurement, Scale, phases};
use warpsight_run::cuda::{Arch, Compiled, Toolkit};
use warpsight_run::{Code, CudaText, Device, DeviceInfo, Options};

/// A device with other facts.
pub fn with_facts(facts: &[(&str, &str)]) -> DeviceInfo {
    let mut device = h200();
    device.facts.extend(facts.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())));
    device
}

/// All measurements of a phase.
pub fn plan(phase: &str, device: &DeviceInfo, scale: Scale) -> Vec<Measurement> {
    let phase = phases::all().into_iter().find(|p| p.name == phase).expect("a phase of that name");
    (phase.plan)(&Context { device, scale, seed: 7 }).into_iter().collect()
}

/// The CUDA text that a measurement times.
pub fn text(measurement: &Measurement) -> Option<&CudaText> {
    match &measurement.job.programs[measurement.job.launches[measurement.launch].program] {
        Code::Cuda(text) => Some(text),
        Code::Program(_) => None,
    }
}

/// Distinct texts with the name of a measurement that uses each.
pub fn distinct(measurements: &[Measurement]) -> BTreeMap<&str, (&str, &CudaText)> {
    measurements.iter().filter_map(|m| text(m).map(|t| (t.text.as_str(), (m.name.as_str(), t)))).collect()
}

/// Compiles a text and asserts that nothing is spilled.
pub fn compile(toolkit: &Toolkit, text: &CudaText, capability: u32) -> Compiled {
    let arch = Arch { capability, specific: capability >= 90 };
    let compiled = toolkit.compile(&text.text, &text.entry, arch).unwrap_or_else(|error| panic!("{error}\n{}", text.text));
    let resources = compiled.resources.expect("ptxas says");
    assert_eq!((resources.spill_store_bytes, resources.spill_load_bytes, resources.stack_bytes), (0, 0, 0), "{}", text.entry);
    // One block must fit a multiprocessor of 64 Ki registers.
    assert!(resources.registers * text.block[0] <= 65536, "{} registers of {} threads", resources.registers, text.block[0]);
    compiled
}

/// Runs the rest of a test on the stand-in for a GPU: in this same test started anew, because the loader reads its path at the start.
/// Does nothing, with a note, where the stand-in cannot be built.
pub fn on_stand_in(test: &str, body: impl FnOnce(&mut dyn Device)) {
    on_stand_in_with(test, &[], body);
}

/// [`on_stand_in`] with the stand-in's own settings.
pub fn on_stand_in_with(test: &str, settings: &[(&str, &str)], body: impl FnOnce(&mut dyn Device)) {
    const INSIDE: &str = "WARPSIGHT_TEST_STAND_IN";
    if std::env::var_os(INSIDE).is_some() {
        let options = Options { in_process: true, cache: None, ..Options::default() };
        let mut device = warpsight_run::open("cuda:0", &options).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(device.info().clock, Some(warpsight_ir::TimeSource::Simulated), "a GPU that is none");
        return body(&mut *device);
    }
    let Some(libraries) = fake_cuda::build() else { return };
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .envs(settings.iter().copied())
        // The stand-in's compiler, not one of real GPUs.
        .envs(["WARPSIGHT_CUDA", "CUDA_HOME", "CUDA_PATH"].map(|name| (name, &libraries)))
        .env("LD_LIBRARY_PATH", &libraries)
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    println!("{said}");
}
