//! More of a device never makes a plan slower: the applications of paper 003 on every profile that has what planning asks for.

mod common;

use common::{ALL, Builder, graph};
use warpsight_dataflow::plan::kernel::alone;
use warpsight_dataflow::{Modelled, NodeId, Plan, Platform, Policy, Rates, View, planned};
use warpsight_ir::profile::{builtin, builtin_names};
use warpsight_ir::{NoEstimate, Profile, Seconds, StageWork};
use warpsight_predict::StageRoofline;

const KEYS: [&str; 4] = ["execution.cores", "execution.clock", "memory.dram_bandwidth", "memory.l2.bandwidth"];
/// Of a number of the profile.
const FACTORS: [f64; 8] = [0.25, 0.41, 0.8, 1.0, 1.05, 1.64, 2.0, 4.0];

fn device(name: &str) -> Profile {
    builtin(name).expect("a profile").expect("it parses")
}

/// `None` where the profile lacks a number, or matrix units for these elements.
fn plan(graph: &View, policy: Policy, profile: &Profile) -> Option<Plan> {
    let platform = Platform::of(profile).ok()?;
    let model = StageRoofline::new().expect("constants");
    planned(graph, policy, &platform, &Modelled { model: &model, on: profile }).ok()
}

/// The profile with so many times a number that planning asks for.
fn times(profile: &Profile, key: &str, factor: f64) -> Option<Profile> {
    let platform = Platform::of(profile).ok()?;
    let value = match key {
        "execution.cores" => (f64::from(platform.cores) * factor).round().max(1.0),
        "execution.clock" => profile.execution.clock.get()?.0 * factor,
        "memory.dram_bandwidth" => platform.dram.0 * factor,
        _ => platform.l2_rate.0 * factor,
    };
    Some(profile.with(key, &value.to_string()).expect("a number that a device can have"))
}

/// Seconds of the three executions.
fn seconds(plan: &Plan) -> [f64; 3] {
    [&plan.times.bsp, &plan.times.vertical, &plan.times.dataflow].map(|execution| execution.eager.0)
}

/// Predicts on devices with less and more of a number, sampled by seed, and counts where both can be planned; `slack` is what a plan that was
/// searched for may be slower by.
fn never_slower(policy: Policy, graphs: &[(&str, usize)], samples: usize, slack: f64) -> usize {
    let mut rng = fastrand::Rng::with_seed(14);
    let mut compared = 0;
    for name in builtin_names() {
        let profile = device(name);
        for _ in 0..samples {
            let (key, app) = (KEYS[rng.usize(..KEYS.len())], graphs[rng.usize(..graphs.len())].0);
            let less = rng.usize(..FACTORS.len() - 1);
            let more = rng.usize(less + 1..FACTORS.len());
            let graph = graph(app);
            let both = [less, more].map(|at| seconds(&plan(&graph, policy, &times(&profile, key, FACTORS[at])?)?).into());
            let [Some(less_of), Some(more_of)]: [Option<[f64; 3]>; 2] = both else { continue };
            for (kind, (slower, faster)) in ["bulk-synchronous", "vertical", "dataflow"].iter().zip(less_of.iter().zip(more_of)) {
                let what = format!("{app} on {name}, {kind}: {key} × {} and × {}", FACTORS[less], FACTORS[more]);
                let slack = if *kind == "dataflow" { slack } else { 1e-9 };
                assert!(faster <= slower * (1.0 + slack), "{what}: {slower} and {faster} s (predicted)");
            }
            compared += 1;
        }
    }
    compared
}

#[test]
fn more_of_a_device_is_never_slower() {
    let compared = never_slower(Policy::Kitsune, &ALL, 4, 1e-9);
    assert!(compared > 30, "{compared}");
}

/// What is searched for by merging, moving and splitting is not always found: 10 of 1,155 pairs are slower, by up to 1.2 %.
#[test]
fn more_of_a_device_is_hardly_slower_by_a_search() {
    let compared = never_slower(Policy::Best, &ALL, 2, 0.015);
    assert!(compared > 15, "{compared}");
}

/// Fewer multiprocessors were faster: each had its share of the second-level cache, and those that had nothing to do kept theirs.
#[test]
fn sums_do_not_pay_for_multiprocessors_that_they_leave_idle() {
    let mut b = Builder::default();
    let x = b.input(&[20336, 128], "input");
    b.node("reduce", &[&x], &[128], (20336 * 128) as f64);
    let graph = b.graph();
    let model = StageRoofline::new().expect("constants");
    let on = |cores: &str| {
        let profile = device("a100-40").with("execution.cores", cores).expect("a number");
        let platform = Platform::of(&profile).expect("numbers");
        alone(&graph, NodeId(0), &platform, &Modelled { model: &model, on: &profile }).expect("a time").seconds.0
    };
    // Four work-groups of 32 columns (64 B), each with its part of 5.2 MB through the port of its multiprocessor, 43.3 B a clock at 1.41 GHz.
    let expected = (20336.0 + 1.0) * 128.0 * 2.0 / 4.0 / (43.3 * 1.41e9);
    for cores in ["4", "54", "108", "216"] {
        assert!((on(cores) / expected - 1.0).abs() < 1e-9, "{cores}: {} s, expected {expected}", on(cores));
    }
    assert!((on("2") / expected - 2.0).abs() < 1e-9, "{}", on("2"));
}

/// Seconds that more than so many work-groups only make longer.
struct Crowded(u32);

impl Rates for Crowded {
    fn seconds(&self, stage: &StageWork) -> Result<Seconds, NoEstimate> {
        let rounds = stage.tokens.div_ceil(u64::from(stage.ctas)) as f64;
        Ok(Seconds(rounds * f64::from(stage.ctas.max(self.0)) * 1e-6))
    }
}

/// As measured rates may say.
#[test]
fn a_kernel_has_as_many_work_groups_as_pay() {
    let mut b = Builder::default();
    let x = b.input(&[4096, 10], "input");
    b.simt(&[&x], 1.0);
    let graph = b.graph();
    let on = |cores: &str| {
        let platform = Platform::of(&device("a100-40").with("execution.cores", cores).expect("a number")).expect("numbers");
        let run = alone(&graph, NodeId(0), &platform, &Crowded(4)).expect("a time");
        ((run.seconds.0 * 1e6).round(), run.busy.0 * f64::from(platform.cores))
    };
    // Ten tiles: 10, 5, 4 and 3 rounds of 4 µs; on five two of 5 µs; on seven two of 7; on ten one of 10.
    assert_eq!(["1", "2", "3", "4", "5", "7", "10", "108"].map(|cores| on(cores).0), [40.0, 20.0, 16.0, 12.0, 10.0, 10.0, 10.0, 10.0]);
    // Of five and ten the fewest: ten tiles of 5 µs.
    assert!((on("108").1 - 50e-6).abs() < 1e-9, "{}", on("108").1);
}
