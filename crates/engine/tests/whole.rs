//! Whole numbers that kernels compute as the floats that they are: the same as integers.

mod common;

use common::any_config;
use fastrand::Rng;
use std::collections::BTreeMap;
use warpsight_engine::network::Network;
use warpsight_generate::Place;
use warpsight_graph::{Arithmetic, Graph, GraphTensor, Node, Op, Origin, Plan, evaluate_f64};
use warpsight_run::Options;

/// Kernels of one operator.
const CONFIGS: u64 = 6;

/// Multiples of a divisor near 2²⁴ and what is one below them, of all signs, and what no integer of 32 bits is divided by or made of; with the
/// quotients of those that are exact.
fn pairs() -> Vec<(f32, f32, f32)> {
    let mut all = vec![
        (3e9, 1000.0, 2_147_483.0),
        (-3e9, 1000.0, -2_147_483.0),
        (-2_147_483_648.0, -1.0, 2_147_483_520.0),
        (1e30, -1e30, -1.0),
        (5.0, 0.0, 5.0),
        (0.0, -7.0, 0.0),
    ];
    for by in [1_i32, 2, 3, 5, 7, 10, 41, 1000, 4099, 65_537, 5_592_405, 8_388_607, 16_777_215, 16_777_216] {
        let multiple = (1 << 24) / by * by;
        for (a, b) in [multiple, multiple - 1, by - 1].into_iter().flat_map(|a| [(a, by), (-a, by), (a, -by), (-a, -by)]) {
            all.push((a as f32, b as f32, (a / b) as f32));
        }
    }
    all
}

#[test]
fn quotients_are_those_of_integers() {
    let pairs = pairs();
    let shape = vec![pairs.len() as i64];
    let mut graph = Graph::default();
    let [a, b] = ["a", "b"].map(|name| graph.add(GraphTensor::new(name, shape.clone(), Origin::Input)));
    let y = graph.add(GraphTensor::new("y", shape, Origin::Node));
    (graph.inputs, graph.outputs) = (vec![a, b], vec![y]);
    graph.nodes.push(Node::of("quotient", Op::Binary(Arithmetic::Quotient), vec![a, b], y));
    let plan = Plan::of(&graph).expect("a plan");
    let inputs: [Vec<f32>; 2] = [pairs.iter().map(|own| own.0).collect(), pairs.iter().map(|own| own.1).collect()];
    let doubles = inputs.clone().map(|own| own.into_iter().map(f64::from).collect::<Vec<_>>());
    let expected: Vec<f32> = pairs.iter().map(|own| own.2).collect();
    for found in [evaluate_f64(&graph, &doubles), plan.evaluate_f64(&doubles)] {
        let found: Vec<f32> = found.expect("values").remove(0).into_iter().map(|v| v as f32).collect();
        assert_eq!(found, expected);
    }

    let network = Network::new(&plan).expect("kernels");
    let mut device = warpsight_run::open("sim:adreno640", &Options::default()).expect("is there");
    for seed in 0..CONFIGS {
        let mut rng = Rng::with_seed(seed);
        let configs = network.families.iter().enumerate().map(|(n, family)| {
            let buffers = |config: &_| family.places(config).is_some_and(|places| places.iter().all(|place| *place == Place::Buffer));
            let config = (0..1000).map(|_| any_config(family, &mut rng)).find(buffers).expect("one of buffers");
            ((n, vec![Place::Buffer; 3]), config)
        });
        let configs = configs.collect::<BTreeMap<_, _>>();
        let selection = network.select(vec![Place::Buffer; plan.tensors.len()], &configs).expect("fits");
        let run = network.run(&selection, &inputs, &mut *device, 1).expect("runs");
        for (found, own) in run.outputs[0].2.iter().zip(&pairs) {
            assert_eq!(*found, own.2, "{} by {}, seed {seed}", own.0, own.1);
        }
    }
}
