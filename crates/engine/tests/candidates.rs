//! The sequence that is taken is the one that runs fastest: Winograd's transforms where their products save more than their memory costs.

mod common;

use common::Doctored;
use fastrand::Rng;
use warpsight_engine::candidates::{Offer, choose, timed};
use warpsight_engine::found::Found;
use warpsight_engine::network::Network;
use warpsight_engine::tune::{self, Judge};
use warpsight_generate::operators::parse_operator;
use warpsight_generate::prune::Allowance;
use warpsight_generate::{Operator, Passes, ScheduleFamily, candidates};
use warpsight_graph::Plan;
use warpsight_ir::profile::{Fact, Source};
use warpsight_ir::{KnobValue, Profile, Seconds, Times, profile};
use warpsight_predict::KernelModel;
use warpsight_run::{DeviceLimits, Job, JobResult, Options};

fn adreno640() -> Profile {
    known("adreno640")
}

fn known(name: &str) -> Profile {
    profile::builtin(name).expect("is there").expect("parses")
}

fn judge(profile: &Profile) -> Judge<'_> {
    Judge { profile, model: &KernelModel, allowance: Allowance::of(profile), passes: Passes::default(), top: 1, runs: 1 }
}

/// Simulated seconds of an operator by a sequence in place of it, its constants random, and its relative L2 error.
fn run(direct: &Operator, name: &str) -> (f64, f64) {
    let mut rng = Rng::with_seed(5);
    let whole = Plan::of_operator(direct, |n| (0..n).map(|_| rng.f64() - 0.5).collect());
    let mut plan = whole.clone();
    if let Some(own) = candidates(direct).into_iter().find(|own| own.name == name && name != "direct") {
        plan.replace(0, own.operator);
    }
    let network = Network::new(&plan).expect("a network");
    let mut device = warpsight_run::open("sim:adreno640", &Options::default()).expect("the simulator is always there");
    let choice = network
        .optimize(&judge(&adreno640()), &Found::default(), &mut *device, &mut rng, &mut |_, _| Ok(()), &mut |_, _| true)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let inputs: Vec<Vec<f32>> = plan.inputs.iter().map(|&id| (0..plan.tensor(id).len()).map(|_| rng.f32() - 0.5).collect()).collect();
    let run = network.run(&choice.selection, &inputs, &mut *device, 1).expect("runs");
    let doubles: Vec<Vec<f64>> = inputs.iter().map(|own| own.iter().map(|&x| f64::from(x)).collect()).collect();
    let expected = &whole.evaluate_f64(&doubles).expect("evaluates")[0];
    let square = |value: f64| value * value;
    let off: f64 = expected.iter().zip(&run.outputs[0].2).map(|(a, b)| square(a - f64::from(*b))).sum();
    let norm: f64 = expected.iter().map(|a| square(*a)).sum();
    (run.passes.median().expect("a clock").0, (off / norm).sqrt())
}

fn taken(direct: &Operator) -> &'static str {
    taken_on(direct, &adreno640())
}

fn taken_on(direct: &Operator, profile: &Profile) -> &'static str {
    let limits = DeviceLimits::default();
    let chosen = choose(direct, &judge(profile), &Offer { limits: &limits, names: None }).expect("an estimate");
    for own in &chosen.considered {
        println!("{}: {:?} s, whole: {}", own.name, own.time, own.whole);
    }
    chosen.taken.name
}

#[test]
fn winograd_is_taken_where_it_wins() {
    // Edges within tiles included.
    let conv = parse_operator("conv2d n=1 c=64 h=27 w=27 k=64 r=3 s=3 stride=1 pad=1").expect("an operator");
    let name = taken(&conv);
    let (direct, own) = (run(&conv, "direct"), run(&conv, name));
    println!("direct {direct:?}, {name} {own:?}");
    assert!(name.starts_with("winograd") && own.0 < 0.9 * direct.0, "{name}: {own:?}, direct {direct:?}");
    assert!(direct.1 < 1e-5 && own.1 < 1e-5, "{own:?}, {direct:?}");
}

/// What lies between kernels counts: where it is more than a sequence saves, there is one kernel.
#[test]
fn kernels_are_divided_by_gaps() {
    let conv = parse_operator("conv2d n=1 c=64 h=27 w=27 k=64 r=3 s=3 stride=1 pad=1").expect("an operator");
    let mut apart = adreno640();
    assert_ne!(taken_on(&conv, &apart), "direct");
    apart.execution.launch_gap = Fact::known(Seconds(1e-3), Source::Assumed, "made up for a test");
    assert_eq!(taken_on(&conv, &apart), "direct");
    assert_eq!([0, 1, 3].map(|kernels| apart.in_turn(vec![Seconds(1e-3); kernels])), [Seconds(0.0), Seconds(1e-3), Seconds(5e-3)]);
    // Behind what is short cores are awake still.
    apart.execution.wake = Fact::known(Seconds(1e-4), Source::Assumed, "made up for a test");
    let times = [2e-4, 3e-4, 1e-4].map(Seconds);
    assert!((apart.in_turn(times).0 - (6e-4 + 2e-3 + 1e-4)).abs() < 1e-12);
}

#[test]
fn winograd_is_left_where_it_saves_nothing() {
    // One channel: products as large as what they are made of.
    let thin = parse_operator("conv2d n=1 c=1 h=64 w=64 k=2 r=3 s=3 stride=1 pad=1").expect("an operator");
    assert!(!taken(&thin).starts_with("winograd"));
}

/// Each of its kernels by itself is fast where the next one is slow, and a quick search finds kernels of one sequence better than those of
/// another: compared so, F(4,3) was taken, which takes 8.9 ms beside 5.1 (simulated).
#[test]
fn sequences_are_compared_where_places_agree() {
    let conv = parse_operator("conv2d n=1 c=64 h=56 w=56 k=64 r=3 s=3 stride=1 pad=1").expect("an operator");
    assert_eq!(taken_on(&conv, &known("sim-mali-g76")), "direct");
}

/// Simulated seconds of a fully connected layer of one row, and whether lanes share its reductions.
fn connected(profile: &Profile, text: &str, shares: bool) -> (f64, bool) {
    let family = ScheduleFamily::new(parse_operator(text).expect("an operator").steps.remove(0));
    let mut judge = judge(profile);
    judge.allowance.meeting.shares &= shares;
    let (_, ranked) = tune::rank_all(&family, &judge).expect("an estimate");
    let mut device = warpsight_run::open("sim:adreno640", &Options::default()).expect("the simulator is always there");
    let chosen = tune::choose(&family, &ranked, &judge, &mut *device, &mut Rng::with_seed(2), &mut |_| Ok(())).expect("a kernel");
    (chosen.time.expect("a clock").0.0, chosen.knobs["reduction_lanes"] != KnobValue::Number(1))
}

/// With few results lanes that share reductions are what keeps a GPU busy; with many of them memory is, which weights come from once.
#[test]
fn fully_connected_layers_share_reductions_where_results_are_few() {
    let profile = adreno640();
    let bandwidth = profile.memory.dram_bandwidth.get().expect("recorded").0;
    for (k, m) in [(2048, 64), (512, 100)] {
        let text = format!("fc n=1 k={k} m={m}");
        let (apart, shared) = (connected(&profile, &text, false), connected(&profile, &text, true));
        println!("{text}: {apart:?} {shared:?}");
        assert!(!apart.1 && shared.1 && 2.0 * shared.0 <= apart.0, "{text}: {shared:?}, without {apart:?}");
    }
    for (k, m) in [(512, 1000), (1280, 1000)] {
        let least = 4.0 * f64::from(k * m) / bandwidth;
        for shares in [false, true] {
            let own = connected(&profile, &format!("fc n=1 k={k} m={m}"), shares);
            println!("{k} {m} {shares}: {own:?}, weights {least}");
            assert!(own.0 <= 1.25 * least, "{k} x {m}: {own:?}, weights take {least}");
        }
    }
}

/// Where several may be timed, of sequences, too: the model's first choice gives way to what is faster here.
#[test]
fn what_is_faster_here_is_taken() {
    let profile = adreno640();
    let judge = judge(&profile);
    let operator = parse_operator("softmax n=64 c=400").expect("an operator");
    let limits = DeviceLimits::default();
    let offer = Offer { limits: &limits, names: None };
    let first = choose(&operator, &judge, &offer).expect("one");
    // The first kernel that is timed takes a second, every other one a microsecond.
    let mut timed_first = false;
    let doctor = |_: &Job, result: &mut JobResult| {
        let time = Seconds(if std::mem::replace(&mut timed_first, true) { 1e-6 } else { 1.0 });
        result.timed.times.iter_mut().for_each(|times| *times = Times::alike(time, 1));
    };
    let device = warpsight_run::open("sim:adreno640", &Options::default()).expect("is there");
    let mut device = Doctored { device, doctor };
    let mut asked = vec![];
    let mut goes_on = |name| {
        asked.push(name);
        true
    };
    let rng = &mut fastrand::Rng::with_seed(3);
    // One kernel of each is timed, of the model's choice the slow one.
    let found = timed::choose(&operator, &judge, &offer, (&mut device, rng), &mut |_, _| Ok(()), &mut goes_on).expect("one");
    assert_eq!(asked[0], first.taken.name, "the nearest first");
    assert!(asked.len() > 1 && found.taken.name != first.taken.name, "{asked:?}: {}", found.taken.name);
    let time = |name: &str| found.considered.iter().find(|own| own.name == name).and_then(|own| own.timed).expect("timed").0.0;
    assert!(time(first.taken.name) >= 1.0);
    let least = asked.iter().map(|name| time(name)).fold(f64::INFINITY, f64::min);
    assert_eq!(time(found.taken.name), least);
    assert!(least < 1e-3);
}
