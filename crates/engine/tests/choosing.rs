//! Choices that measure nothing beside everything timed: a sample of what the example `choose` does at length.

#[path = "../examples/choose/cases.rs"]
mod cases;
#[path = "../examples/choose/kept.rs"]
mod kept;

use cases::{Most, OPERATORS, drawn};
use warpsight_engine::search::times;
use warpsight_engine::tune::{self, Judge};
use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::{Allowance, prune};
use warpsight_generate::{Passes, ScheduleFamily};
use warpsight_ir::profile::{Fact, Text};
use warpsight_ir::{Config, CostModel, Family, Profile, RankFamily, Seconds};
use warpsight_predict::KernelModel;
use warpsight_predict::baselines::Roofline;
use warpsight_predict::paper000::{Level, Paper000, UpTo};
use warpsight_run::sim::Sim;

/// What a probe found of the simulated Adreno 740.
fn probed() -> Profile {
    let text = Text { name: "sim-adreno740.toml".into(), text: include_str!("../../../profiles/sim-adreno740.toml").into() };
    Profile::read(text, &mut |_, _| Err("it inherits from nothing".into())).expect("a profile")
}

/// What the pick of a model takes over the fastest of a space.
fn over(model: &(dyn RankFamily + Sync), on: &Profile, family: &ScheduleFamily, timed: &[(Config, f64)]) -> f64 {
    let judge = Judge { profile: on, model, allowance: Allowance::of(on), passes: Passes::default(), top: 1, runs: 1 };
    let (_, ranked) = tune::rank(family, timed.iter().map(|own| own.0.clone()), &judge).expect("a choice");
    let time = |config: &Config| timed.iter().find(|own| own.0 == *config).map_or(f64::INFINITY, |own| own.1);
    time(&ranked[0].config) / timed.iter().map(|own| own.1).fold(f64::INFINITY, f64::min)
}

#[test]
fn picks_are_near_the_best_and_baselines_are_not() {
    let (on, sim) = (probed(), Sim::open("adreno740").expect("is there"));
    let models: [&(dyn RankFamily + Sync); 3] = [&KernelModel, &Paper000, &Roofline];
    let mut all = [vec![], vec![], vec![]];
    for text in ["matmul m=32 n=64 k=48", "conv2d n=1 c=16 h=10 w=10 k=16 r=3 s=3 stride=1 pad=1", "softmax n=24 c=96"] {
        let mut ways = warpsight_generate::candidates(&parse_operator(text).expect("an operator"));
        let one = ways.iter().position(|own| own.name == "rows").unwrap_or(ways.len() - 1);
        let operator = ways.swap_remove(one).operator;
        let family = ScheduleFamily::new(match operator.steps.as_slice() {
            [one] => one.clone(),
            _ => parse_operator(text).expect("an operator").steps.remove(0),
        });
        let configs = family.some(160);
        let taken = times(&family, &sim, &configs, Seconds(f64::INFINITY)).expect("they are the family's");
        let timed: Vec<(Config, f64)> = configs.into_iter().zip(taken).filter_map(|(config, time)| Some((config, time?.0))).collect();
        for (all, model) in all.iter_mut().zip(models) {
            all.push(over(model, &on, &family, &timed));
        }
    }
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    println!("{all:.3?}");
    // What it is today (1.045, and 1.10 at worst) and a little more; no promise: the page says where the rest is lost.
    assert!(mean(&all[0]) <= 1.07 && all[0].iter().all(|over| *over <= 1.13), "{:?}", all[0]);
    assert!(mean(&all[1]) > mean(&all[0]) && mean(&all[2]) > mean(&all[0]), "{all:?}");
}

#[test]
fn without_a_fit_of_fetches_the_rest_of_the_model_judges() {
    let whole = probed();
    let mut without = whole.clone();
    without.probed.texture_fit = Fact::unknown("left out");
    without.probed.texture_paper000 = Fact::unknown("left out");
    let family = ScheduleFamily::new(parse_operator("matmul m=32 n=64 k=48").expect("an operator").steps.remove(0));
    let judge = |on, model| Judge { profile: on, model, allowance: Allowance::of(on), passes: Passes::default(), top: 1, runs: 1 };
    let configs = || family.some(400).into_iter();
    assert!(tune::rank(&family, configs(), &judge(&without, &KernelModel)).is_ok_and(|ranked| !ranked.1.is_empty()));
    // The model as published has nothing else.
    let refused = tune::rank(&family, configs(), &judge(&without, &Paper000)).map(|_| ()).expect_err("no weights");
    assert!(refused.to_string().contains("probed.texture_paper000"), "{refused}");
}

#[test]
fn shapes_are_those_of_the_seed() {
    let most = Most { macs: 2e9, bytes: 256e6 };
    for operator in OPERATORS {
        let own = drawn(operator, 7, (4, 2), most);
        assert_eq!(own, drawn(operator, 7, (4, 2), most), "the same again");
        assert!(own.len() == 6 && own != drawn(operator, 8, (4, 2), most), "{own:?}");
        own.iter().for_each(|text| assert!(parse_operator(text).is_ok(), "{text}"));
    }
    // Of the grid, then near to it: primes.
    let products = drawn("MatMul", 7, (4, 2), most);
    let sizes = |text: &str| text.split(['=', ' ']).filter_map(|word| word.parse::<u64>().ok()).collect::<Vec<_>>();
    assert!(products[..4].iter().all(|text| sizes(text).iter().all(|n| n.is_power_of_two())), "{products:?}");
    let prime = |n: u64| n >= 2 && (2..n).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d));
    assert!(products[4..].iter().all(|text| sizes(text).iter().all(|&n| prime(n))), "{products:?}");
}

/// The levels of figure 10: the last is the model; threads do not see that lanes diverge, warps not how many of them wait together.
#[test]
fn a_model_is_taken_apart_by_levels() {
    let on = probed();
    let family = ScheduleFamily::new(parse_operator("matmul m=64 n=64 k=48").expect("an operator").steps.remove(0));
    let image = |config: &Config| family.places(config).is_some_and(|places| places.iter().all(|place| place.is_image()));
    let allowance = Allowance::of(&on);
    let runs = prune(&family, family.configs().filter(image), &allowance);
    let configs: Vec<Config> = runs.map(|own| own.0).step_by(7).take(20).collect();
    let mut apart = 0;
    for config in &configs {
        let kernel = family.kernel(config);
        let at = |level| UpTo(level).estimate(&kernel, &on).expect("has a fit").time.0;
        let (thread, warp, whole) = (at(Level::Thread), at(Level::Warp), at(Level::Integrated));
        assert_eq!(whole, Paper000.estimate(&kernel, &on).expect("has a fit").time.0);
        assert!(whole <= warp && warp > 0.0 && thread > 0.0);
        apart += usize::from(warp != thread && whole != warp);
    }
    assert!(apart > 10 && configs.len() == 20, "{apart} of {}", configs.len());
}

/// What is searched is large enough: more than 2,000 configurations of convolutions, 300 of everything, 100,000 where patterns are asked for.
#[test]
fn spaces_are_large_enough() {
    use warpsight_generate::{Pass, Passes};
    let kernel = |text: &str| {
        let ways = warpsight_generate::candidates(&parse_operator(text).expect(text));
        ways.into_iter().find(|way| way.operator.steps.len() == 1).expect("one kernel").operator.steps.remove(0)
    };
    let most = Most { macs: 2e9, bytes: 256e6 };
    for operator in OPERATORS {
        let text = drawn(operator, 20_261_126, (1, 0), most).remove(0);
        let family = ScheduleFamily::new(kernel(&text));
        let least = if operator.contains("Conv") { 2000 } else { 300 };
        assert!(family.count() >= least, "{text}: {}", family.count());
        if ["Conv2Ds1", "Conv2Ds2", "DeConv2Ds1", "DeConv2Ds2", "Conv3D"].contains(&operator) {
            let full = ScheduleFamily::by(kernel(&text), Passes::default().set(Pass::Patterns, true)).count();
            assert!(full >= 100_000, "{text}: {full}");
        }
    }
    let small = ScheduleFamily::new(kernel("gather rows=10 c=9 n=6"));
    assert_eq!(small.count(), small.configs().count());
}

/// Times that are kept are of silicon as it is, whatever it is called.
#[test]
fn kept_times_are_of_one_silicon() {
    let family = ScheduleFamily::new(parse_operator("matmul m=32 n=64 k=48").expect("an operator").steps.remove(0));
    let configs = family.some(20);
    let own = Sim::open("adreno740").expect("is there").simulator().silicon().clone();
    let mut faster = own.clone();
    faster.core.clock *= 1.01;
    let name = kept::name(&own, &family, &configs);
    assert_eq!(kept::name(&own.clone(), &family, &configs), name);
    assert_ne!(kept::name(&faster, &family, &configs), name);
    assert_ne!(kept::name(&own, &family, &configs[1..]), name);
}
