//! Clocks are a range: times are made with the profile's, intervals cover it, bounds are made with the highest.

use warpsight_ir::accesses::text;
use warpsight_ir::profile::builtin;
use warpsight_ir::{Limiter, Profile};
use warpsight_predict::volumes::report::{Report, Settings, Work, report};

const MATMUL: &str = include_str!("../../../examples/accesses/matmul-tiled.toml");
const TRIAD: &str = include_str!("../../../examples/accesses/stream-triad.toml");

fn on(text: &str, device: &Profile) -> Report {
    let written = text::parse(text, &[]).unwrap();
    report(&Work { kernel: &written.kernel, points: written.points }, device, &Settings::default()).unwrap()
}

fn set(device: &Profile, key: &str, value: &str) -> Profile {
    device.with(key, value).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_range_of_the_clock_moves_ends_of_the_interval_and_a_bound_the_highest() {
    let device = builtin("a100-40").unwrap().unwrap();
    let before = on(MATMUL, &device);
    let slower = on(MATMUL, &set(&device, "clock.lo", "600MHz"));
    assert_eq!((slower.seconds, slower.interval.lo, slower.bound), (before.seconds, before.interval.lo, before.bound));
    let ratio = slower.interval.hi.0 / before.interval.hi.0;
    assert!((1.2..765.0 / 600.0 + 1e-9).contains(&ratio), "{ratio}");
    let faster = on(MATMUL, &set(&device, "execution.clock.hi", "1.8GHz"));
    assert_eq!((faster.seconds, faster.interval.hi), (before.seconds, before.interval.hi));
    assert!(faster.interval.lo < before.interval.lo);
    let bounds = before.bound.unwrap().0 / faster.bound.unwrap().0;
    assert!((bounds - 1.8 / 1.41).abs() < 1e-9, "{bounds}");
    let units = before.limits.iter().find(|limit| limit.0 == Limiter::Fp).unwrap().1.clone().unwrap();
    assert_eq!(before.bound, Some(units), "the profile's clock is the highest");
    assert!(before.provenance.iter().any(|own| own == "execution.clock: 1410 MHz; the interval covers 765 MHz to 1410 MHz"));
}

#[test]
fn what_memory_limits_hardly_knows_the_clock() {
    let device = builtin("a100-40").unwrap().unwrap();
    let [fast, slow] = on(TRIAD, &device).span;
    assert!(slow.0 / fast.0 < 1.1, "{slow:?} {fast:?}");
    let [fast, slow] = on(MATMUL, &device).span;
    assert!(slow.0 / fast.0 > 1.7, "{slow:?} {fast:?}");
}

#[test]
fn a_clock_without_a_range_is_said() {
    let device = builtin("h200").unwrap().unwrap();
    let found = on(MATMUL, &device);
    assert_eq!(found.span[0], found.span[1]);
    assert!(found.provenance.iter().any(|own| own.contains("its range is not known")), "{:?}", found.provenance);
}
