//! Bandwidths by bytes in flight against recordings, and the fit that makes `data/fits/bandwidth.toml`.

use std::collections::BTreeMap;
use std::path::Path;
use warpsight_predict::volumes::speed::Basis;

#[path = "../examples/fit_time/bandwidth.rs"]
mod bandwidth;
#[path = "../examples/fit_time/fit.rs"]
mod fit;
#[path = "../examples/fit_time/stream.rs"]
mod stream;

/// A recording; `None` where there is none.
fn recorded(name: &str) -> Option<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/volumes/measured").join(name);
    let Ok(text) = std::fs::read_to_string(&file) else {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing", file.display());
        eprintln!("skipped: no recordings");
        return None;
    };
    Some(text)
}

#[test]
fn the_committed_bandwidths_are_what_the_recordings_give() {
    let Some(text) = recorded("gpu_stream.json") else { return };
    let streams = bandwidth::Streams::read(&text).unwrap();
    assert!(streams.rows.len() > 3500 && streams.profiles.len() == 12, "{} rows", streams.rows.len());
    let found = streams.fitted();
    assert!(found.text == include_str!("../../../data/fits/bandwidth.toml"), "run the example fit_time:\n{}", found.text);

    let mean = |basis: Basis, kernel: &str| {
        let held = found.held_out.iter().filter(|held| held.basis == basis && (kernel.is_empty() || held.kernel == kernel));
        let offs: Vec<f64> = held.map(|held| held.off).collect();
        assert!(offs.len() > 100, "{basis:?} {kernel}");
        bandwidth::error(&offs)
    };
    let by_kernel: BTreeMap<&str, _> =
        ["init", "read", "scale", "triad", "3pt", "5pt"].map(|kernel| (kernel, mean(Basis::Device, kernel))).into();
    println!("held-out kernels, (mean, worst) relative error: {by_kernel:?}");
    let bases = [Basis::Device, Basis::Architecture, Basis::Pooled].map(|basis| (basis, mean(basis, "")));
    println!("by what the device's numbers rest on: {bases:?}");
}
