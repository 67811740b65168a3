//! Searches within a budget on planted spaces: what a configuration takes is a rule over its knobs, so the best is known.

use std::collections::HashSet;
use warpsight_engine::search::guided::{Found, Guided, Learned, Learner, Strategy};
use warpsight_engine::search::{Earlier, Ran, Timed};
use warpsight_engine::tune::Judge;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::Allowance;
use warpsight_generate::{Passes, ScheduleFamily};
use warpsight_ir::sample::trees::{Ensemble, Growth, Table, Trees};
use warpsight_ir::{Config, Family, Profile, Ranked, Seconds, profile};
use warpsight_predict::baselines::Roofline;

const GROWTH: Growth = Growth {
    ensemble: Ensemble::Boosted,
    trees: 80,
    depth: 4,
    rate: 0.15,
    leaf: 2.0,
    ridge: 1.0,
    rows: 0.8,
    columns: 0.5,
    clip: 2.0,
    seed: 0,
};

struct Grown;

impl Learner for Grown {
    fn learn(&self, rows: &[Vec<f64>], targets: &[f64]) -> Learned {
        let columns: Vec<Vec<f64>> = (0..rows[0].len()).map(|column| rows.iter().map(|row| row[column]).collect()).collect();
        let trees = Trees::grow(&Table::new(&columns), targets, &vec![1.0; rows.len()], GROWTH);
        Box::new(move |row| trees.predict(row))
    }
}

/// Learns nothing.
struct Idle;

impl Learner for Idle {
    fn learn(&self, _: &[Vec<f64>], _: &[f64]) -> Learned {
        Box::new(|_| 0.0)
    }
}

fn family(text: &str) -> ScheduleFamily {
    ScheduleFamily::new(parse_operator(text).expect("an operator").steps.remove(0))
}

/// Seeds of the optima that are planted, and searches for each.
const OPTIMA: std::ops::RangeInclusive<u64> = 3..=8;
const SEEDS: u64 = 3;

/// A model that knows nothing of schedules.
fn judge(profile: &Profile) -> Judge<'_> {
    Judge { profile, model: &Roofline, allowance: Allowance::of(profile), passes: Passes::default(), top: 1, runs: 1 }
}

/// Seconds by how far each knob's value is from another configuration's, a factor of two from one end to the other: 1 µs there.
fn planted(family: &ScheduleFamily, best: &Config, own: &Config) -> Seconds {
    let position = |values: &[i32], value: i32| values.iter().position(|own| *own == value).expect("a value of the knob") as f64;
    let knobs = family.space().knobs.iter().zip(own.0.iter().zip(&best.0)).filter(|own| own.0.values.len() > 1);
    let off = knobs.map(|(knob, (own, best))| {
        let most = (knob.values.len() - 1) as f64;
        (position(&knob.values, *own) - position(&knob.values, *best)).abs() / most
    });
    Seconds(1e-6 * off.sum::<f64>().exp2())
}

struct Ground {
    family: ScheduleFamily,
    profile: Profile,
    best: Config,
}

impl Ground {
    fn new(text: &str, seed: u64) -> Self {
        let family = family(text);
        let profile = profile::builtin("adreno640").expect("is there").expect("parses");
        let allowance = Allowance::of(&profile);
        let drawn = family.sample(seed, 20, allowance.meeting);
        let best = warpsight_generate::prune(&family, drawn.into_iter(), &allowance).next().expect("one runs").0;
        Self { family, profile, best }
    }

    /// What a search finds, and the batches that it timed.
    fn search(&self, strategy: Strategy, learner: &dyn Learner, budget: usize, seed: u64, known: &[Config]) -> (Found, Vec<Config>) {
        let judge = judge(&self.profile);
        let guided = Guided { family: &self.family, judge: &judge, learner, strategy, budget, seed, wanted: &|_| true };
        let earlier = |own: &Config| (own.clone(), Earlier { time: Some(planted(&self.family, &self.best, own)), exact: true });
        let mut tried = vec![];
        let mut trying = |batch: &[Ranked], _: Seconds| {
            tried.extend(batch.iter().map(|own| own.config.clone()));
            let time = |own: &Ranked| {
                let time = planted(&self.family, &self.best, &own.config);
                Ran::Timed(Timed { config: own.config.clone(), estimate: Some(own.estimate.clone()), time, exact: true })
            };
            Ok(batch.iter().map(time).collect())
        };
        let found = guided.run(&[], known.iter().map(earlier).collect(), vec![], &mut trying).expect("searches");
        (found, tried)
    }

    fn over(&self, strategy: Strategy, learner: &dyn Learner, seed: u64) -> f64 {
        let (found, _) = self.search(strategy, learner, 160, seed, &[]);
        assert_eq!(found.runs, 160);
        found.curve.last().expect("a point").best.0 / 1e-6
    }
}

/// Geometric means over planted optima and seeds: single searches end up to a half apart, and which optima are planted follows what is drawn
/// of a space.
#[test]
fn guided_searches_find_what_chance_does_not() {
    let learners: [(Strategy, &dyn Learner); 4] =
        [(Strategy::Random, &Idle), (Strategy::Evolutionary, &Idle), (Strategy::Evolutionary, &Grown), (Strategy::Anneal, &Grown)];
    let all = ["matmul m=64 n=64 k=64", "conv2d n=1 c=16 h=16 w=16 k=32 r=3 s=3 stride=1 pad=1"].map(|text| {
        let grounds: Vec<Ground> = OPTIMA.map(|seed| Ground::new(text, seed)).collect();
        learners.map(|(strategy, learner)| {
            let found = grounds.iter().flat_map(|ground| (1..=SEEDS).map(|seed| ground.over(strategy, learner, seed).ln()));
            (found.sum::<f64>() / (grounds.len() as f64 * SEEDS as f64)).exp()
        })
    });
    println!("random, evolution that learns nothing, evolution, annealing over the best: {all:.2?}");
    for [random, _, evolution, anneal] in all {
        assert!(evolution < 0.75 * random && anneal < 0.85 * random && evolution < 1.6, "{random} {evolution} {anneal}");
    }
    let [idle, evolution] = [1, 2].map(|own| all.map(|means| means[own]).iter().product::<f64>().sqrt());
    assert!(evolution < 0.9 * idle, "{idle} {evolution}");
}

/// What is known counts as tried, is not tried again, and equal searches are equal.
#[test]
fn a_search_goes_on_from_what_is_known() {
    let ground = Ground::new("matmul m=64 n=64 k=64", 3);
    let (found, tried) = ground.search(Strategy::Evolutionary, &Grown, 64, 1, &[]);
    assert_eq!((found.runs, found.known, tried.len()), (64, 0, 64));
    assert_eq!(tried.iter().collect::<HashSet<_>>().len(), 64, "none is tried twice");
    assert_eq!(ground.search(Strategy::Evolutionary, &Grown, 64, 1, &[]).1, tried);
    assert_ne!(ground.search(Strategy::Evolutionary, &Grown, 64, 2, &[]).1, tried);
    let known = &tried[..40];
    let (later, others) = ground.search(Strategy::Evolutionary, &Grown, 64, 1, known);
    assert_eq!((later.runs, later.known, others.len()), (64, 40, 24));
    assert!(others.iter().all(|own| !known.contains(own)));
    // Nothing is tried where all of the budget is known.
    assert_eq!(ground.search(Strategy::Anneal, &Grown, 40, 1, known).1, Vec::<Config>::new());
    // The curve falls, and ends with the last run.
    let rises = |pair: &[warpsight_engine::search::guided::Point]| pair[0].runs < pair[1].runs && pair[1].best.0 <= pair[0].best.0;
    assert!(found.curve.windows(2).all(rises) && found.curve.last().is_some_and(|own| own.runs == 64), "{:?}", found.curve);
}

/// What is given up for its length is not what is refused.
#[test]
fn slower_ones_are_told_from_refused_ones() {
    let ground = Ground::new("matmul m=64 n=64 k=64", 3);
    let judge = judge(&ground.profile);
    let guided = Guided {
        family: &ground.family,
        judge: &judge,
        learner: &Idle,
        strategy: Strategy::Random,
        budget: 40,
        seed: 1,
        wanted: &|_| true,
    };
    let mut tried = 0;
    let mut trying = |batch: &[Ranked], _: Seconds| {
        let ran = |own: &Ranked| {
            tried += 1;
            match tried % 4 {
                0 => Ran::Refused,
                1 => Ran::Slower,
                _ => Ran::Timed(Timed { config: own.config.clone(), estimate: None, time: Seconds(1e-6), exact: true }),
            }
        };
        Ok(batch.iter().map(ran).collect())
    };
    let known = ground.family.sample(9, 1, Allowance::of(&ground.profile).meeting).pop().expect("one is drawn");
    let refused = vec![(known, Earlier { time: None, exact: true })];
    let found = guided.run(&[], refused, vec![], &mut trying).expect("searches");
    // One was refused earlier; of 39 others every fourth is, and the first of each four is slower.
    assert_eq!((found.runs, found.known, found.timed.len(), found.slower, found.refused), (40, 1, 20, 10, 10));
}

/// A space smaller than the budget is tried as far as it goes, once.
#[test]
fn a_small_space_ends() {
    for strategy in [Strategy::Random, Strategy::Evolutionary, Strategy::Anneal] {
        let ground = Ground::new("matmul m=2 n=1 k=1", 1);
        let all: HashSet<Config> = ground.family.configs().collect();
        let allowance = Allowance::of(&ground.profile);
        let run = warpsight_generate::prune(&ground.family, all.iter().cloned(), &allowance).count();
        let (found, tried) = ground.search(strategy, &Grown, 500, 1, &[]);
        assert!(
            found.runs == tried.len()
                && if strategy == Strategy::Random { tried.len() == run } else { 2 * tried.len() >= run && tried.len() <= run },
            "{strategy:?}: {} of {run}",
            tried.len()
        );
    }
}
