//! The load balance at the size of real groups, and plans of whole graphs.

use warpsight_dataflow::balance::{Caps, Demand, Pools, balance};
use warpsight_dataflow::{Graph, Machine, Modelled, Patterns, plan, select};
use warpsight_ir::profile::builtin;
use warpsight_ir::{Seconds, StageClass};
use warpsight_predict::StageRoofline;

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

#[divan::bench(args = ["nerf", "train_mgn"])]
fn of_a_graph(bencher: divan::Bencher, name: &str) {
    let path = format!("{}/../../examples/dataflow/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let graph = Graph::read(&std::fs::read_to_string(path).expect("an example")).expect("a graph");
    let profile = builtin("a100-40").expect("a profile").expect("it parses");
    let (machine, model) = (Machine::of(&profile).expect("numbers"), StageRoofline::new().expect("constants"));
    let groups = select::kitsune(&graph, &Patterns::kitsune());
    bencher.bench(|| plan(&graph, &groups, &[], &machine, &Modelled { model: &model, on: &profile }));
}
