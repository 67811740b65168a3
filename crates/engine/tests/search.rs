//! A search finds of each kind what a ranking of the whole family does, and looks at far fewer.

use warpsight_engine::tune::{self, Judge};
use warpsight_generate::candidates::candidates;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::Allowance;
use warpsight_generate::{Passes, Place, ScheduleFamily, TensorExpr};
use warpsight_ir::{Config, Profile, profile};
use warpsight_predict::KernelModel;

fn judge(profile: &Profile) -> Judge<'_> {
    Judge { profile, model: &KernelModel, allowance: Allowance::of(profile), passes: Passes::default(), top: 1, runs: 1 }
}

/// Expressions of convolutions, products and rows.
fn expressions() -> Vec<TensorExpr> {
    let direct = |text: &str| parse_operator(text).expect("an operator").steps.remove(0);
    let softmax = candidates(&parse_operator("softmax n=300 c=700").expect("an operator"));
    let rows = softmax.into_iter().find(|own| own.name == "rows").expect("rows").operator.steps.remove(0);
    vec![
        direct("conv2d n=1 c=32 h=28 w=28 k=64 r=3 s=3 stride=1 pad=1"),
        direct("dwconv2d n=1 c=64 h=30 w=30 r=3 s=3 stride=2 pad=1"),
        direct("matmul m=120 n=200 k=300 weights=none"),
        rows,
    ]
}

#[test]
fn a_search_finds_what_a_ranking_does() {
    for name in ["adreno640", "a100-40"] {
        let profile = profile::builtin(name).expect("is there").expect("parses");
        let judge = judge(&profile);
        let mut lost = vec![];
        for expr in expressions() {
            let family = ScheduleFamily::new(expr);
            let (all, ranked) = tune::rank_all(&family, &judge).expect("ranks");
            let (looked, _) = tune::search_each(&family, &judge, |_| Some(())).expect("searches");
            let found = tune::search_one(&family, &judge, |_| true).expect("searches");
            lost.push(found[0].estimate.time.0 / ranked[0].estimate.time.0);
            assert!(looked.total * 3 < all.total, "{name} {}: {} of {}", family.expr().name, looked.total, all.total);
        }
        println!("{name}: {lost:.3?}");
        assert!(lost.iter().all(|lost| *lost <= 1.10), "{name}: {lost:?}");
        assert!(lost.iter().product::<f64>() <= 1.04_f64.powi(4), "{name}: {lost:?}");
    }
}

#[test]
fn every_way_to_lie_is_found() {
    let profile = profile::builtin("adreno640").expect("is there").expect("parses");
    let judge = judge(&profile);
    let family = ScheduleFamily::new(expressions().remove(0));
    let output = |config: &Config| family.places(config).and_then(|places| places.last().copied());
    let (_, found) = tune::search_each(&family, &judge, output).expect("searches");
    let places: Vec<Place> = found.keys().copied().collect();
    assert_eq!(places, [Place::Buffer, Place::Image, Place::blocks(4), Place::blocks(8), Place::blocks(16)]);
    for (place, time) in found {
        let best = tune::search_one(&family, &judge, |config| output(config) == Some(place)).expect("searches");
        assert!(best.iter().all(|own| output(&own.config) == Some(place)));
        // A thorough search finds no worse.
        assert!(best[0].estimate.time.0 <= time.0 * 1.0001, "{place:?}: {} {}", best[0].estimate.time.0, time.0);
    }
}
