//! A search finds of each kind what a ranking of the whole family does, and looks at far fewer.

use warpsight_engine::search::{self, Search, Space, Within};
use warpsight_engine::tune::{self, Attempt, Judge};
use warpsight_generate::candidates::candidates;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::{Allowance, prune};
use warpsight_generate::{Passes, Place, ScheduleFamily, TensorExpr};
use warpsight_ir::profile::{Fact, Source};
use warpsight_ir::{Config, Profile, Seconds, profile};
use warpsight_predict::KernelModel;
use warpsight_run::sim::Sim;
use warpsight_run::{Device, DeviceError, DeviceInfo, MemorySpec, Session};

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
            let found = tune::search_one(&family, &judge, &[]).expect("searches");
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
    for (place, time) in found.into_iter().map(|(place, own)| (place, own.estimate.time)) {
        let at: Vec<Option<Place>> = vec![None; family.expr().inputs.len()].into_iter().chain([Some(place)]).collect();
        let best = tune::search_one(&family, &judge, &at).expect("searches");
        assert!(best.iter().all(|own| output(&own.config) == Some(place)));
        // A thorough search finds no worse.
        assert!(best[0].estimate.time.0 <= time.0 * 1.0001, "{place:?}: {} {}", best[0].estimate.time.0, time.0);
    }
}

/// A device that times one kernel after another, as real ones are.
struct Alone {
    sim: Sim,
    info: DeviceInfo,
}

impl Alone {
    fn new() -> Self {
        let sim = Sim::open("adreno640").expect("built in");
        let info = DeviceInfo { id: "alone:0".into(), ..sim.info().clone() };
        Self { sim, info }
    }
}

impl Device for Alone {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn open<'a>(&'a mut self, memory: &[MemorySpec]) -> Result<Box<dyn Session + 'a>, DeviceError> {
        self.sim.open(memory)
    }
}

/// Some of a space, timed.
struct Searched {
    /// Configurations.
    all: usize,
    space: Space,
    /// What the observer saw of the reference.
    seen: Vec<Option<Seconds>>,
    fastest: Option<(Config, Seconds)>,
}

/// Times some of a space on a device, by a profile whose work-items have too few registers for every kernel.
fn timed_without_registers(device: &mut dyn Device) -> Searched {
    let mut profile = profile::builtin("adreno640").expect("is there").expect("parses");
    let few = || Fact::known(8, Source::Assumed, "a test");
    (profile.execution.registers, profile.execution.max_registers) = (few(), few());
    let judge = judge(&profile);
    let family = ScheduleFamily::new(parse_operator("matmul m=4 n=8 k=4").expect("an operator").steps.remove(0));
    let configs = family.some(40);
    assert_eq!(prune(&family, configs.iter().cloned(), &judge.allowance).count(), 0, "the model would try none");
    let mut seen = vec![];
    let mut observe = |attempt: &Attempt| {
        seen.push(attempt.reference);
        Ok(())
    };
    let mut rng = fastrand::Rng::with_seed(1);
    let mut search = Search { family: &family, judge: &judge, device, rng: &mut rng, observe: &mut observe };
    let within = Within { least: Seconds(f64::INFINITY), times: search::LONGEST };
    let space = search.all(&configs, within, &|_| None, &mut |_| Ok(())).expect("times");
    let fastest = search.fastest(&space.timed).expect("verifies");
    Searched { all: configs.len(), space, seen, fastest }
}

/// What loses by a choice is told from all that a device can launch, whatever a model or a profile says of it.
#[test]
fn what_a_model_says_leaves_nothing_out_that_is_timed() {
    for (device, alone) in [(&mut Alone::new() as &mut dyn Device, true), (&mut Sim::open("adreno640").expect("built in"), false)] {
        let Searched { all, space, fastest, .. } = timed_without_registers(device);
        assert_eq!(space.timed.len() + space.slower + space.refused + space.beyond, all);
        assert!(space.refused + space.beyond < all / 2 && space.timed.iter().all(|own| own.estimate.is_none()), "{space:?}");
        assert!(space.timed.iter().all(|own| own.exact == alone) && fastest.is_some());
        let least = space.timed.iter().map(|own| own.time.0).fold(f64::INFINITY, f64::min);
        assert!(fastest.expect("one is right").1.0 <= least * 1.02);
    }
}

/// What a device cannot launch is not tried.
#[test]
fn what_cannot_be_launched_is_left_out() {
    let mut device = Alone::new();
    device.info.limits.max_group_size = Some(4);
    let Searched { all, space, .. } = timed_without_registers(&mut device);
    assert!((1..all).contains(&space.beyond) && space.refused == 0, "{} of {all}", space.beyond);
}

/// A kernel between the others shows whether a device slows down, also where everything is timed.
#[test]
fn a_reference_is_timed_between_all() {
    let Searched { space, seen, .. } = timed_without_registers(&mut Alone::new());
    let reference = space.reference.expect("one was right");
    assert_eq!(reference.times.len(), (space.timed.len() + space.refused - 1).div_ceil(9));
    assert_eq!(reference.drift().map(|drift| drift < 1e-9), Some(true), "simulated devices do not slow down");
    assert!(seen.iter().filter(|own| own.is_some()).count() + 2 > space.timed.len(), "{seen:?}");
    assert!(timed_without_registers(&mut Sim::open("adreno640").expect("built in")).space.reference.is_none());
}
