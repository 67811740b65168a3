//! The phases on memory: every measurement of the small scale runs and verifies, planted faults show, and the full scale fits.

use warpsight_probe::{Context, Measurement, Phase, Scale, phases};
use warpsight_run::{Device, Options};

fn phase(name: &str) -> Phase {
    phases::all().into_iter().find(|phase| phase.name == name).unwrap()
}

fn plan(name: &str, device: &dyn Device, seed: u64) -> Vec<Measurement> {
    let context = Context { device: device.info(), scale: Scale::Tiny, seed };
    (phase(name).plan)(&context).collect()
}

fn open(id: &str) -> Box<dyn Device> {
    warpsight_run::open(id, &Options { in_process: true, cache: None, ..Options::default() }).unwrap()
}

fn simulator() -> Box<dyn Device> {
    open("sim:adreno640")
}

fn verify(device: &mut dyn Device, measurement: &Measurement) -> Result<(), String> {
    let result = device.run(&measurement.job).map_err(|error| error.to_string())?;
    if !result.damaged.is_empty() {
        return Err(format!("canaries of {:?} are damaged", result.damaged));
    }
    assert!(result.times[measurement.launch].iter().all(|time| time.0 > 0.0), "{}", measurement.name);
    (measurement.check)(&result)
}

#[test]
fn tiny_bandwidth_runs_and_verifies_on_the_simulator() {
    let mut device = simulator();
    let measurements = plan("bandwidth", &*device, 7);
    assert!(measurements.len() >= 27, "{}", measurements.len());
    for measurement in &measurements {
        assert_eq!(verify(&mut *device, measurement), Ok(()), "{}", measurement.name);
    }
}

#[test]
fn tiny_latency_runs_and_verifies_on_the_simulator() {
    let mut device = simulator();
    let measurements = plan("latency", &*device, 7);
    assert!(measurements.len() >= 5, "{}", measurements.len());
    for measurement in &measurements {
        assert_eq!(verify(&mut *device, measurement), Ok(()), "{}", measurement.name);
    }
}

#[test]
fn tiny_texture_runs_and_verifies_on_the_simulator() {
    let mut device = simulator();
    let measurements = plan("texture", &*device, 7);
    assert!(measurements.len() >= 34, "{}", measurements.len());
    for measurement in &measurements {
        assert_eq!(verify(&mut *device, measurement), Ok(()), "{}", measurement.name);
    }
}
