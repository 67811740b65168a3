//! The load balance at the size of real groups, and plans of whole graphs.

use warpsight_dataflow::balance::{Caps, Demand, Pools, balance};
use warpsight_dataflow::lower::lower;
use warpsight_dataflow::{Modelled, Platform, Policy, View, launched, planned};
use warpsight_graph::Graph;
use warpsight_ir::profile::builtin;
use warpsight_ir::{Seconds, StageClass};
use warpsight_predict::StageRoofline;
use warpsight_sim::Silicon;
use warpsight_sim::pipeline::{Scheduler, simulate};

fn main() {
    divan::main();
}

/// Stages of both classes with 64 to 2,048 tiles each.
fn demands(stages: u32, multiprocessors: u32) -> Vec<Demand> {
    let mut rng = fastrand::Rng::with_seed(7);
    let demand = |at: u32| {
        let (tiles, seconds) = (rng.u32(64..2048), 1e-6 * rng.f64());
        let class = if at.is_multiple_of(2) { StageClass::Tensor } else { StageClass::Simt };
        Demand::new(class, (1..=multiprocessors).map(|ctas| Seconds(f64::from(tiles.div_ceil(ctas)) * seconds)))
    };
    (0..stages).map(demand).collect()
}

#[divan::bench(args = [6, 16, 30])]
fn on_132_multiprocessors(bencher: divan::Bencher, stages: u32) {
    let demands = demands(stages, 132);
    let pools = Pools { tensor: 132, simt: 132 };
    bencher.bench(|| balance(divan::black_box(&demands), pools, Caps::default()));
}

fn example(name: &str) -> View {
    let path = format!("{}/../../examples/dataflow/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let graph = Graph::read(&std::fs::read_to_string(path).expect("an example")).expect("a graph");
    View::of(&graph).expect("operators")
}

/// 24 to 142 operators.
const EXAMPLES: [&str; 4] = ["nerf", "train_nerf", "train_grc", "train_mgn"];

#[divan::bench(args = EXAMPLES)]
fn plan_kitsune(bencher: divan::Bencher, name: &str) {
    plan(bencher, name, Policy::Kitsune);
}

#[divan::bench(args = EXAMPLES)]
fn plan_best(bencher: divan::Bencher, name: &str) {
    plan(bencher, name, Policy::Best);
}

fn plan(bencher: divan::Bencher, name: &str, policy: Policy) {
    let graph = example(name);
    let profile = builtin("a100-40").expect("a profile").expect("it parses");
    let (platform, model) = (Platform::of(&profile).expect("numbers"), StageRoofline::new().expect("constants"));
    bencher.bench(|| planned(&graph, policy, &platform, &Modelled { model: &model, on: &profile }));
}

/// All groups of a plan, and every operator by itself; those that do the same once, as the command does.
#[divan::bench(args = EXAMPLES, sample_count = 3)]
fn simulation(bencher: divan::Bencher, name: &str) {
    let graph = example(name);
    let profile = builtin("a100-40").expect("a profile").expect("it parses");
    let silicon = Silicon::named("a100-40").expect("silicon");
    let (platform, model) = (Platform::of(&profile).expect("numbers"), StageRoofline::new().expect("constants"));
    let rates = Modelled { model: &model, on: &profile };
    let plan = planned(&graph, Policy::Kitsune, &platform, &rates).expect("a plan");
    let pipelines: Vec<_> = plan.groups.iter().map(|group| lower(&graph, "group", group).pipeline).collect();
    let mut kernels = Vec::new();
    for id in graph.ids() {
        let kernel = launched::operator(&graph, id, &platform, &rates).expect("a kernel");
        if !kernels.contains(&kernel) {
            kernels.push(kernel);
        }
    }
    bencher.bench(|| {
        let groups = pipelines.iter().map(|pipeline| simulate(pipeline, &silicon, Scheduler::TwoArbiters).expect("it ends").time);
        let alone = kernels.iter().map(|pipeline| simulate(pipeline, &silicon, Scheduler::Greedy).expect("it ends").time);
        groups.chain(alone).collect::<Vec<_>>()
    });
}
