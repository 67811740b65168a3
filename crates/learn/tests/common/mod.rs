//! Samples for tests.

use warpsight_ir::sample::{Device, Sample, Status, SubjectKind, TimeSource};
use warpsight_ir::{Estimate, Limiter, Limits, ModelId, Seconds, Volumes};
use warpsight_learn::subject_hash;

pub fn device(name: &str) -> Device {
    Device { backend: "opencl".into(), name: name.into(), driver: "PoCL 3.1".into() }
}

pub fn sample(text: &str, config: &str, device: &Device, times: &[f64]) -> Sample {
    Sample {
        subject: subject_hash(text),
        kind: SubjectKind::Program,
        text: text.into(),
        config: config.into(),
        device: device.clone(),
        times: times.iter().copied().map(Seconds).collect(),
        quantum: Seconds(1e-9),
        clock_hz: Some(2.6e9),
        reference: Some(Seconds(3.25e-5)),
        source: TimeSource::Measured,
        verified: true,
        status: Status::Done,
    }
}

#[allow(dead_code)] // Not every test file asks models.
pub fn estimate(seconds: f64) -> (ModelId, Estimate) {
    let estimate = Estimate {
        time: Seconds(seconds),
        interval: (Seconds(seconds / 2.0), Seconds(seconds * 2.0)),
        limits: Limits(vec![(Limiter::Fp, Seconds(seconds / 4.0)), (Limiter::Dram, Seconds(seconds))]),
        volumes: Volumes::default(),
        bound: None,
    };
    (ModelId { name: "roofline".into(), version: 1, fit: String::new() }, estimate)
}
