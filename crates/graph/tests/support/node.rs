//! A graph of one node: its definition, its plan, and what differences of its results say.

use super::{draw, relative};
use warpsight_graph::{Graph, GraphTensor, Node, Op, Origin, Plan, TensorId, evaluate_f64};

/// One node with inputs and outputs of these shapes.
pub fn alone(op: Op, inputs: &[Vec<i64>], outputs: &[Vec<i64>]) -> Graph {
    let shapes = [inputs, outputs].map(|all| all.iter().map(Vec::as_slice).collect::<Vec<&[i64]>>());
    assert_eq!(op.fits(&shapes[0], &shapes[1]), Ok(()));
    let mut graph = Graph::default();
    let mut add = |name: &str, at: usize, shape: &[i64], origin| graph.add(GraphTensor::new(format!("{name}{at}"), shape, origin));
    let x: Vec<TensorId> = inputs.iter().enumerate().map(|(at, shape)| add("x", at, shape, Origin::Input)).collect();
    let y: Vec<TensorId> = outputs.iter().enumerate().map(|(at, shape)| add("y", at, shape, Origin::Node)).collect();
    graph.nodes.push(Node { outputs: y.clone(), ..Node::of("node", op, x.clone(), y[0]) });
    (graph.inputs, graph.outputs) = (x, y);
    graph
}

/// Numbers for each input.
pub fn drawn(graph: &Graph) -> Vec<Vec<f64>> {
    graph.inputs.iter().zip(1..).map(|(id, seed)| draw(seed, graph.tensor(*id).len())).collect()
}

/// The outputs by definition, which those of the plan are.
pub fn checked(graph: &Graph, inputs: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let expected = evaluate_f64(graph, inputs).expect("the definition");
    let planned = Plan::of(graph).expect("a plan").evaluate_f64(inputs).expect("values");
    assert_eq!(planned.len(), expected.len());
    for (own, expected) in planned.iter().zip(&expected) {
        assert!(relative(own, expected) < 1e-12, "{}", relative(own, expected));
    }
    expected
}

/// By how much the first output, weighted by these numbers, grows with each element of an input.
pub fn differences(graph: &Graph, inputs: &[Vec<f64>], weights: &[f64], input: usize) -> Vec<f64> {
    const STEP: f64 = 1e-5;
    let of = |element: usize| {
        let moved = |by: f64| {
            let mut inputs = inputs.to_vec();
            inputs[input][element] += by;
            let found = evaluate_f64(graph, &inputs).expect("values");
            found[0].iter().zip(weights).map(|(a, b)| a * b).sum::<f64>()
        };
        (moved(STEP) - moved(-STEP)) / (2.0 * STEP)
    };
    (0..inputs[input].len()).map(of).collect()
}
