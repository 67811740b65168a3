//! Sequences of a network are chosen together with where tensors lie: no choice by operators alone takes less, and what is forced is taken.

use std::collections::BTreeMap;
use warpsight_engine::candidates::{Offer, choose};
use warpsight_engine::found::{ByPattern, Found};
use warpsight_engine::network::Network;
use warpsight_engine::settle::{restore, settle};
use warpsight_engine::tune::Judge;
use warpsight_generate::operators::Window;
use warpsight_generate::prune::Allowance;
use warpsight_generate::{Passes, candidates};
use warpsight_graph::{Graph, GraphTensor, Node, Op, Origin, Plan, TensorId};
use warpsight_ir::profile::{self, Fact, Source};
use warpsight_ir::{Profile, Seconds};
use warpsight_predict::KernelModel;
use warpsight_run::DeviceLimits;

/// Convolutions of a picture, each of what the one before makes: filters, extent of the window, stride.
fn chain(channels: i64, extent: i64, all: &[(i64, i64, i64)]) -> Plan {
    let mut graph = Graph::default();
    let mut x: TensorId = graph.add(GraphTensor::new("x", [1, channels, extent, extent], Origin::Input));
    graph.inputs.push(x);
    let (mut channels, mut extent) = (channels, extent);
    for (n, &(filters, taps, stride)) in all.iter().enumerate() {
        let pad = taps / 2;
        let values: Vec<f64> = (0..filters * channels * taps * taps).map(|n| f64::from((n * 7 % 17) as i32 - 8) / 64.0).collect();
        let weight = GraphTensor::new(format!("w{n}"), [filters, channels, taps, taps], Origin::Constant).with_values(values);
        let inputs = vec![x, graph.add(weight)];
        let window = Window { pad_before: pad, pad_after: pad, stride, ..Window::new(extent, taps) };
        (channels, extent) = (filters, (extent + 2 * pad - taps) / stride + 1);
        let output = graph.add(GraphTensor::new(format!("y{n}"), [1, channels, extent, extent], Origin::Node));
        graph.nodes.push(Node::of(format!("conv{n}"), Op::Conv { windows: vec![window; 2], groups: 1 }, inputs, output));
        x = output;
    }
    graph.outputs.push(x);
    Plan::of(&graph).expect("a plan")
}

fn judge(profile: &Profile) -> Judge<'_> {
    Judge { profile, model: &KernelModel, allowance: Allowance::of(profile), passes: Passes::default(), top: 1, runs: 1 }
}

/// What a plan's kernels take with the gaps between them, each tensor where all together take the least, by the searches that chose.
fn seconds(plan: &Plan, judge: &Judge, found: &Found) -> f64 {
    let network = Network::by(plan, judge.passes).expect("a network");
    let taken = network.families.iter().map(|family| found.by_pattern(family.expr(), judge).expect("an estimate").1.clone());
    let taken: Vec<ByPattern> = taken.collect();
    let keys = network.least(&taken).expect("places");
    let times: Vec<Seconds> = keys.iter().map(|(family, pattern)| taken[*family][pattern]).collect();
    judge.profile.in_turn(times).0
}

fn with(plan: &Plan, names: &[&str]) -> Option<Plan> {
    let mut own = plan.clone();
    let others = names.iter().enumerate().filter(|(_, name)| **name != "direct");
    restore(&mut own, &others.map(|(at, name)| (at, (*name).to_owned())).collect::<Vec<_>>())?;
    Some(own)
}

/// Buffers alone, as on a CPU, where the sum is what is chosen by: no other choice takes less, but for what an operator as it is counts for.
#[test]
fn no_choice_of_sequences_takes_less() {
    let profile = profile::builtin("adreno640").expect("is there").expect("parses");
    let mut judge = judge(&profile);
    judge.allowance.image = Some((0, 0));
    let offer = Offer { limits: &DeviceLimits::default(), names: None };
    let plan = chain(64, 26, &[(64, 3, 1), (64, 3, 1), (48, 3, 2)]);
    let (found, mut own) = (Found::default(), plan.clone());
    let taken = settle(&mut own, &judge, &offer, &found).expect("an estimate");
    let least = seconds(&own, &judge, &found);
    let by_operator: Vec<Vec<&str>> =
        plan.operators.iter().map(|own| candidates(&own.operator).into_iter().map(|own| own.name).collect()).collect();
    let (mut all, mut best, mut worst) = (0, f64::INFINITY, 0.0_f64);
    for a in &by_operator[0] {
        for b in &by_operator[1] {
            for c in &by_operator[2] {
                let other = seconds(&with(&plan, &[a, b, c]).expect("offered"), &judge, &found);
                (all, best, worst) = (all + 1, best.min(other), worst.max(other));
            }
        }
    }
    let names: BTreeMap<usize, &str> = taken.iter().map(|own| (own.position, &*own.name)).collect();
    let as_it_is = seconds(&plan, &judge, &found);
    let alone: Vec<&str> =
        plan.operators.iter().map(|own| choose(&own.operator, &judge, &offer).expect("an estimate").taken.name).collect();
    let apart = seconds(&with(&plan, &alone).expect("offered"), &judge, &found);
    println!("{alone:?} by themselves: {apart}");
    println!("{names:?}: {least} of {best} to {worst}, {all}, {as_it_is} as they are");
    // Operators by themselves do not see what their neighbours lose: 0.2 % where channels may lie side by side, which suits both (2 % before).
    assert!(apart > 1.001 * least && as_it_is > 1.05 * least, "{apart} {as_it_is} {least}");
    // An operator as it is counts for 95 % of what it takes.
    assert!(all >= 16 && best > 0.0 && worst > 1.2 * best && least <= best / 0.95 + 1e-12, "{least} {best} {worst}");
}

/// What lies between kernels makes one kernel of each operator; what is asked for by name is taken alike for all of them.
#[test]
fn gaps_and_names_decide() {
    let mut profile = profile::builtin("adreno640").expect("is there").expect("parses");
    let limits = DeviceLimits::default();
    let plan = chain(32, 14, &[(32, 3, 1), (32, 3, 1)]);
    let names = ["winograd2".to_owned()];
    let forced = settle(&mut plan.clone(), &judge(&profile), &Offer { limits: &limits, names: Some(&names) }, &Found::default());
    let forced: Vec<(usize, String)> = forced.expect("an estimate").into_iter().map(|own| (own.position, own.name)).collect();
    assert_eq!(forced, [(0, "winograd2".to_owned()), (1, "winograd2".to_owned())]);
    profile.execution.launch_gap = Fact::known(Seconds(1.0), Source::Assumed, "made up for a test");
    let (judge, offer) = (judge(&profile), Offer { limits: &limits, names: None });
    assert!(settle(&mut plan.clone(), &judge, &offer, &Found::default()).expect("an estimate").is_empty());
    let alone = choose(&plan.operators[0].operator, &judge, &offer).expect("an estimate");
    assert_eq!((alone.taken.name, alone.considered.len() > 1), ("direct", true));
}
