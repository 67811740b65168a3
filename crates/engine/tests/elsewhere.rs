//! Tensors in places that are no part of a space: kernels are right there, choices take them where they gain, and networks know of them.

mod common;

use common::Case;
use fastrand::Rng;
use std::collections::BTreeSet;
use warpsight_engine::found::{Found, pattern_of, places_of};
use warpsight_engine::tune::{self, Judge};
use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::Allowance;
use warpsight_generate::{Along, Meeting, Passes, Place, ScheduleFamily};
use warpsight_ir::profile::Text;
use warpsight_ir::{Config, Family, Profile, profile};
use warpsight_predict::KernelModel;
use warpsight_run::Options;

fn family(text: &str) -> ScheduleFamily {
    ScheduleFamily::new(parse_operator(text).expect("an operator").steps.remove(0))
}

fn on(profile: &Profile) -> Judge<'_> {
    Judge { profile, model: &KernelModel, allowance: Allowance::of(profile), passes: Passes::default(), top: 1, runs: 1 }
}

fn read(name: &str, text: &'static str) -> Profile {
    let text = Text { name: name.into(), text: text.into() };
    Profile::read(text, &mut |_, _| Err("it inherits from nothing".into())).expect("a profile")
}

fn is_further(place: Place) -> bool {
    let of_picture = matches!(place, Place::Strips(Along::Rows, Some(_)));
    matches!(place, Place::Column | Place::Tall(_) | Place::Strips(..)) && !of_picture
}

#[test]
fn what_lies_elsewhere_is_right() {
    let mut rng = Rng::with_seed(43);
    let mut device = warpsight_run::open("sim:adreno640", &Options::default()).expect("is there");
    let mut seen: BTreeSet<Place> = BTreeSet::new();
    for (n, text) in [
        "conv2d n=1 c=17 h=9 w=10 k=20 r=3 s=3 pad=1",
        "conv2d n=2 c=24 h=5 w=7 k=16 r=1 s=1",
        "dwconv2d n=1 c=12 h=9 w=8 r=3 s=3 pad=1",
        "matmul m=24 n=33 k=17 weights=none",
        "matmul m=9 n=24 k=40 batch=2 transpose_right=1 weights=none",
        "matmul m=20 n=36 k=24",
        "add n=2 c=6 h=9 w=5",
    ]
    .into_iter()
    .enumerate()
    {
        let mut here: BTreeSet<(usize, Place)> = BTreeSet::new();
        let walked = family(text);
        let mut configs = walked.sample(n as u64, 80, Meeting::ANY);
        let places = |config: &Config| walked.places(config).expect("legal").into_iter().enumerate().collect::<Vec<_>>();
        assert!(configs.iter().flat_map(places).all(|own| !is_further(own.1)), "{text}");
        rng.shuffle(&mut configs);
        for config in configs.iter().flat_map(|own| walked.elsewhere(own, |_| true)) {
            let there: Vec<(usize, Place)> = places(&config).into_iter().filter(|own| is_further(own.1)).collect();
            if there.iter().all(|own| here.contains(own)) {
                continue;
            }
            here.extend(&there);
            let words = walked.space().describe(&config);
            assert_eq!(walked.space().parse(&words), Some(config.clone()), "{words:?}");
            assert_eq!(walked.outline(&config).registers, walked.kernel(&config).registers, "{words:?}");
            let case = Case::new(format!("{text} #{n}"), family(text), config, rng.u64(..));
            case.is_right_on(&mut *device);
        }
        seen.extend(here.into_iter().map(|own| own.1));
    }
    let patterns = [Place::Column, Place::Tall(2), Place::Tall(4), Place::Tall(8), Place::Strips(Along::Rows, None)];
    let columns = [4, 8, 16].map(|width| Place::Strips(Along::Columns, Some(width)));
    let missing: Vec<Place> = patterns.into_iter().chain(columns).filter(|place| !seen.contains(place)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// A choice takes such a place where that is predicted to gain, and never one that is not.
#[test]
fn what_gains_elsewhere_is_taken() {
    let mut taken = vec![];
    let adreno640 = read("sim-adreno640", include_str!("../../../profiles/sim-adreno640.toml"));
    let adreno740 = read("sim-adreno740", include_str!("../../../profiles/sim-adreno740.toml"));
    for (name, profile) in [("adreno640", adreno640), ("adreno740", adreno740)] {
        for text in ["matmul m=64 n=96 k=128 weights=none", "dwconv2d n=1 c=64 h=28 w=28 r=3 s=3 pad=1"] {
            let family = family(text);
            let (_, ranked) = tune::rank_all(&family, &on(&profile)).expect("an estimate");
            let is_usual = |config: &Config| family.places(config).expect("legal").into_iter().all(|own| !is_further(own));
            let times: Vec<f64> = ranked.iter().map(|own| own.estimate.time.0).collect();
            assert!(times.is_sorted(), "{name} {text}: {times:?}");
            if !is_usual(&ranked[0].config) {
                let usual = ranked.iter().find(|own| is_usual(&own.config)).expect("what it gains over is behind it");
                taken.push((name, text, times[0] / usual.estimate.time.0));
            }
        }
    }
    println!("{taken:?}");
    assert!(taken.len() >= 2 && taken.iter().all(|own| own.2 < 0.95), "{taken:?}");
}

/// What a network chooses by has such places, and the search for one finds kernels there.
#[test]
fn networks_know_of_places_elsewhere() {
    let profile = profile::builtin("adreno640").expect("is there").expect("parses");
    let (judge, found) = (on(&profile), Found::default());
    let family = family("conv2d n=1 c=24 h=12 w=12 k=20 r=3 s=3 pad=1");
    let all = found.by_pattern(family.expr(), &judge).expect("an estimate");
    let further: Vec<_> = all.1.keys().filter(|pattern| pattern.iter().any(|place| is_further(*place))).collect();
    assert!(further.iter().any(|own| own.contains(&Place::Column)) && further.len() > 4, "{further:?}");
    for pattern in further.into_iter().step_by(3) {
        let best = tune::search_one(&family, &judge, &places_of(family.expr(), pattern)).expect("searches");
        assert!(!best.is_empty() && best.iter().all(|own| pattern_of(&family, &own.config).as_ref() == Some(pattern)), "{pattern:?}");
        // A thorough search finds no worse than the best of another place that was moved.
        assert!(best[0].estimate.time.0 <= all.1[pattern].0 * 1.1, "{pattern:?}: {} {}", best[0].estimate.time.0, all.1[pattern].0);
    }
}
