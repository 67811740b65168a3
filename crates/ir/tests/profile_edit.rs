//! Numbers of a profile by key: every one can be set, keeps what was said before, and is refused where no device can have it.

use warpsight_ir::profile::{EditError, Fact, Source, builtin, builtin_names};
use warpsight_ir::{Bytes, BytesPerSecond, Cycles, Hertz, Profile, Seconds};

fn a100() -> Profile {
    builtin("a100-40").expect("built in").expect("parses")
}

#[test]
fn units_belong_to_the_number() {
    let set = |key: &str, value: &str| a100().with(key, value).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(set("memory.l2_effective", "40MB").memory.l2_effective.get(), Some(&Bytes(40e6)));
    assert_eq!(set("l2_effective", "20 MiB").memory.l2_effective.get(), Some(&Bytes(20.0 * 1024.0 * 1024.0)));
    assert_eq!(set("l2_effective", "1e6").memory.l2_effective.get(), Some(&Bytes(1e6)));
    assert_eq!(set("l2.bandwidth", "1.4TB/s").memory.l2.bandwidth.get(), Some(&BytesPerSecond(1.4e12)));
    assert_eq!(set("clock", "1.41GHz").execution.clock.get(), Some(&Hertz(1.41e9)));
    assert_eq!(set("launch_overhead", "2.5us").execution.launch_overhead.get(), Some(&Seconds(2.5 * 1e-6)));
    assert_eq!(set("dram_latency", "600 cycles").memory.dram_latency.get(), Some(&Cycles(600.0)));
    assert_eq!(set("execution.cores", "54").execution.cores.get(), Some(&54));
    assert_eq!(set("special_per_clock", "0.5").execution.special_per_clock.get(), Some(&0.5));
}

#[test]
fn what_was_said_before_stays_beside_it() {
    let changed = a100().with("l2_effective", "1MB").expect("a number");
    let Fact::Known { value, source, lo, hi, alternatives, .. } = &changed.memory.l2_effective else { panic!("known") };
    assert_eq!((*value, *source, *lo, *hi), (Bytes(1e6), Source::Given, None, None));
    let others: Vec<_> = alternatives.iter().map(|claim| (claim.value.0, claim.source)).collect();
    assert_eq!(others, [(34_900_000.0, Source::Measured), (20_971_520.0, Source::Measured), (41_943_040.0, Source::Vendor)]);
    // All else is as it was.
    let mut back = changed;
    back.memory.l2_effective = a100().memory.l2_effective;
    assert_eq!(back, a100());
    // What was not there or not known can be given.
    assert_eq!(a100().describe("memory.llc.bytes").expect("a fact"), "nothing (absent: L2 stands before HBM2)");
    let llc = a100().with("llc.bytes", "64MB").expect("a number").memory.llc.bytes;
    assert!(matches!(llc, Fact::Known { value: Bytes(64e6), source: Source::Given, .. }), "{llc:?}");
}

#[test]
fn every_number_of_every_profile_can_be_set_to_itself() {
    let mut set = 0;
    for name in builtin_names() {
        let profile = builtin(name).expect(name).expect(name);
        for (key, value) in profile.numbers() {
            let again = profile.with(&key, &value.to_string()).unwrap_or_else(|error| panic!("{name}: {error}"));
            let same = again.numbers().into_iter().find(|(other, _)| *other == key).map(|(_, value)| value);
            assert_eq!(same, Some(value), "{name}: {key}");
            set += 1;
        }
    }
    assert!(set > 500, "{set}");
}

#[test]
fn refusals_name_what_is_meant() {
    let refused = |key: &str, value: &str| a100().with(key, value).expect_err("refused");
    let EditError::Key { like, .. } = refused("memory.l2.bandwith", "1") else { panic!("a key") };
    assert_eq!(like[0], "memory.l2.bandwidth");
    let EditError::Key { like, .. } = refused("colck", "1") else { panic!("a key") };
    assert_eq!(like[0], "execution.clock");
    let EditError::Key { like, .. } = refused("bandwidth", "1") else { panic!("a key") };
    assert_eq!(like.len(), 5, "all that end so: {like:?}");
    // Neither a table nor a description is a number.
    for key in ["", ".", "memory", "memory.l2", "name", "description", "value", "l2_effective.value"] {
        assert!(matches!(refused(key, "1"), EditError::Key { .. }), "{key}");
    }
    for value in ["", "x", "1.41", "-1", "0", "4294967296", "1e300", "NaN", "inf", "108MB"] {
        let error = refused("cores", value);
        assert!(matches!(&error, EditError::Value { key, .. } if key == "execution.cores"), "{value}: {error}");
    }
    for value in ["1e300", "1e-300", "-1", "NaN", "40MB", "GB/s", "1.4 TB / s"] {
        let error = refused("memory.dram_bandwidth", value);
        assert!(error.to_string().starts_with("`memory.dram_bandwidth` cannot be"), "{value}: {error}");
    }
    assert!(matches!(refused("image.layout", "3"), EditError::Value { .. }));
}

#[test]
fn numbers_that_make_no_sense_are_named() {
    let unlikely = |edits: &[(&str, &str)]| a100().edited(edits.iter().copied()).unwrap_or_else(|error| panic!("{error}")).unlikely;
    // A clock without its unit is 1.41 Hz.
    let clock = "execution.clock = 1.41 is 1.0e-9 times what the profile says, 1.41e9: is a unit missing?";
    assert_eq!(unlikely(&[("clock", "1.41")]), [clock]);
    let own = a100().memory.dram_bandwidth.get().expect("known").0;
    let of = |times: f64| format!("{:e}", own * times);
    for (times, says) in [
        (0.5, false),
        (2.0, false),
        (0.0034, false),
        (299.0, false),
        (0.0033, true),
        (0.0011, true),
        (301.0, true),
        (1000.0, true),
        (1e-6, true),
    ] {
        assert_eq!(unlikely(&[("dram_bandwidth", &of(times))]).len(), usize::from(says), "{times}");
    }
    assert_eq!(unlikely(&[("dram_bandwidth", "1B/s"), ("clock", "1.2GHz"), ("execution.cores", "1000000")]).len(), 2);
    // Step by step is as far; what was not known has no measure.
    assert_eq!(unlikely(&[("clock", "10MHz"), ("clock", "100kHz")]).len(), 1);
    assert_eq!(unlikely(&[("llc.bytes", "1")]), [""; 0]);
    let edited = a100().edited([("clock", "1.41"), ("cores", "54")]).expect("numbers");
    assert_eq!(edited.notes.len(), 2);
    assert_eq!(edited.profile, a100().with("clock", "1.41").expect("a number").with("cores", "54").expect("a number"));
}
