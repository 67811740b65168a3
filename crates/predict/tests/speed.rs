//! Bandwidths by bytes in flight against recordings, and the fit that makes `data/fits/bandwidth.toml`.

mod recordings;

use warpsight_predict::fit::time::{bandwidth, calibrate, held};
use warpsight_predict::volumes::fitted::speed::Basis;

#[test]
fn the_committed_fits_are_what_the_recordings_give() {
    let Some(recordings) = recordings::recordings() else { return };
    let streams = bandwidth::Streams::read(&recordings).unwrap();
    assert!(streams.rows.len() > 3500 && streams.profiles.len() == 12, "{} rows", streams.rows.len());
    let found = streams.fitted();
    assert!(found.text == include_str!("../../../data/fits/bandwidth.toml"), "run `warpsight probe fit`:\n{}", found.text);

    // Kernels that no fit saw, and devices left out of it.
    let mean = |basis: Basis, kernels: &[&str]| {
        let held = found.held_out.iter().filter(|held| held.basis == basis && kernels.contains(&held.kernel.as_str()));
        let offs: Vec<f64> = held.map(|held| -held.off[0]).collect();
        assert!(offs.len() > 300, "{basis:?} {kernels:?}");
        bandwidth::error(&offs).0
    };
    let unseen = mean(Basis::Device, &["triad", "3pt", "5pt"]);
    let elsewhere = mean(Basis::Pooled, &["init", "read", "scale", "triad", "3pt", "5pt"]);
    println!("mean relative error of seconds: unseen kernels {unseen:.3}, devices without recordings {elsewhere:.3}");
    assert!(unseen < 0.08 && elsewhere < 0.10, "{unseen} {elsewhere}");

    let mut held = found.held_out;
    held.extend(held::all(&recordings).unwrap());
    let ranges = calibrate::text(&held);
    assert!(ranges == include_str!("../../../data/fits/time.toml"), "run `warpsight probe fit`:\n{ranges}");
    for (left, what) in [(calibrate::Left::Device, "a device's recording"), (calibrate::Left::Kernel, "a kernel's rows")] {
        let coverage = calibrate::coverage(&held, left);
        let of = |keep: &dyn Fn(&calibrate::Coverage) -> bool| -> (usize, (f64, f64)) {
            let rows: Vec<(bool, f64)> = coverage.iter().filter(|each| keep(each)).flat_map(|each| each.rows.clone()).collect();
            (rows.len(), calibrate::summary(&rows))
        };
        for recorded in [true, false] {
            let (rows, (inside, width)) = of(&|each| each.recorded == recorded);
            println!("without {what}: {rows} held-out rows, recorded {recorded}: {inside:.3} inside, median width ×{width:.3}");
            assert!(inside >= 0.70 && width <= 1.8, "{inside} {width}");
        }
        // Most rows are streams: the others by themselves.
        for family in ["convolution", "stencil", "streams", "strides"] {
            let (rows, (inside, width)) = of(&|each| each.family == family);
            println!("  {family}: {rows} rows, {inside:.3} inside, ×{width:.3}");
        }
    }
}
