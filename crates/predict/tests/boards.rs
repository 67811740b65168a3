//! Every built-in profile of a GPU answers, whatever of it is not public, and no prediction is faster than the board.

use warpsight_ir::accesses::text;
use warpsight_ir::profile::{Fact, builtin, builtin_names};
use warpsight_ir::{Limiter, Profile};
use warpsight_predict::volumes::fitted::speed::{Basis, Speed};
use warpsight_predict::volumes::report::{Report, Settings, Work, report};

const STAR: &str = include_str!("../../../examples/accesses/star3d-r4-f64.toml");
const SCALE: &str = include_str!("../../../examples/accesses/stream-scale.toml");

const NEW: [&str; 13] =
    ["a6000", "a4000", "rtx3090", "l4", "l40s", "rtx4090", "rtx2080ti", "h100-sxm", "h100-nvl", "mi50", "rx7900xtx", "w6600", "a770"];

fn load(name: &str) -> Profile {
    builtin(name).expect("built in").expect("parses")
}

fn of(text: &str, n: Option<&str>, on: &Profile) -> Report {
    let settings: Vec<(String, String)> = n.map(|n| ("n".to_owned(), n.to_owned())).into_iter().collect();
    let written = text::parse(text, &settings).unwrap_or_else(|error| panic!("{error:?}"));
    let work = Work { kernel: &written.kernel, points: written.points };
    report(&work, on, &Settings::default()).unwrap_or_else(|error| panic!("{}: {error}", on.name))
}

/// Bytes per second that the vendor prints.
fn nominal(on: &Profile) -> f64 {
    let Fact::Known { alternatives, .. } = &on.memory.dram_bandwidth else { panic!("known") };
    alternatives.iter().filter(|claim| claim.cite.contains("nominal")).map(|claim| claim.value.0).fold(0.0, f64::max)
}

#[test]
fn every_gpu_predicts_a_stencil_and_copies_no_faster_than_its_memory() {
    for name in NEW {
        let on = load(name);
        let star = of(STAR, None, &on);
        assert!((1e-4..1.0).contains(&star.seconds.0), "{name}: {:?}", star.seconds);
        let copy = of(SCALE, Some("67108864"), &on);
        let rate = 16.0 * 67_108_864.0 / copy.seconds.0;
        assert!(nominal(&on) > 0.0 && (0.7..=1.0).contains(&(rate / nominal(&on))), "{name}: {rate:e} of {:e}", nominal(&on));
        assert_eq!(copy.limiter, Some(Limiter::Dram), "{name}");
    }
}

/// Boards of one design share what was fitted to the one that was recorded; of new designs nothing is pretended.
#[test]
fn fits_go_by_what_a_profile_says_of_its_design() {
    for name in NEW {
        let from = Speed::of(&load(name)).from;
        let recorded = !["rtx2080ti", "mi50", "rx7900xtx", "a770"].contains(&name);
        assert_eq!(from, if recorded { Basis::Architecture } else { Basis::Pooled }, "{name}");
    }
    let mut mine = load("a6000");
    mine.name = "mine".to_owned();
    assert_eq!(Speed::of(&mine), Speed::of(&load("a6000")), "a file's name matters as little");
    mine.architecture = None;
    assert_eq!(Speed::of(&mine).from, Basis::Pooled);
    for name in builtin_names().into_iter().filter(|name| !name.starts_with("adreno") && !name.starts_with("mali")) {
        assert!(load(name).architecture.is_some(), "{name}");
    }
}
