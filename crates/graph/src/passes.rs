//! Rewrites of a graph that keep its meaning. Constants are folded as they are read.

use crate::graph::op::{Arithmetic, Op};
use crate::graph::{Body, Graph, GraphTensor, Node, Origin, TensorId};

/// Removes nodes that do nothing and folds every batch normalisation: into the convolution before it where that serves nobody else,
/// else into a product and a sum with constants, which fuse.
pub fn simplify(graph: &Graph) -> Graph {
    let graph = remove_identities(graph.clone());
    let graph = fold_batch_normalizations(graph);
    drop_unused(graph)
}

/// Readers of an alias with its source's own shape read the source.
fn remove_identities(mut graph: Graph) -> Graph {
    let mut source: Vec<TensorId> = (0..graph.tensors.len()).map(TensorId).collect();
    let mut nodes = Vec::with_capacity(graph.nodes.len());
    for mut node in std::mem::take(&mut graph.nodes) {
        node.inputs.iter_mut().for_each(|i| *i = source[i.0]);
        let same = node.op() == Some(&Op::Alias) && graph.tensor(node.inputs[0]).shape == graph.tensor(node.output()).shape;
        if same && !graph.outputs.contains(&node.output()) {
            source[node.output().0] = node.inputs[0];
        } else {
            nodes.push(node);
        }
    }
    graph.nodes = nodes;
    graph
}

fn fold_batch_normalizations(mut graph: Graph) -> Graph {
    let readers = graph.readers();
    let mut nodes: Vec<Node> = Vec::with_capacity(graph.nodes.len());
    for node in std::mem::take(&mut graph.nodes) {
        let Some(&Op::BatchNormalization { epsilon }) = node.op() else {
            nodes.push(node);
            continue;
        };
        let Some((factor, offset)) = affine(&graph, &node, epsilon) else {
            nodes.push(node);
            continue;
        };
        let data = node.inputs[0];
        let alone = readers[data.0].len() == 1 && !graph.outputs.contains(&data);
        let before = nodes.iter().position(|n| n.output() == data).filter(|_| alone);
        match before.and_then(|at| folded(&mut graph, &nodes[at], &factor, &offset).map(|inputs| (at, inputs))) {
            Some((at, inputs)) => {
                nodes[at].inputs = inputs;
                nodes[at].outputs = node.outputs;
            }
            None => nodes.extend(product_and_sum(&mut graph, node, factor, offset)),
        }
    }
    graph.nodes = nodes;
    graph
}

/// A normalisation as `factor · x + offset` per channel; `None` where its parameters are not constant.
fn affine(graph: &Graph, node: &Node, epsilon: f64) -> Option<(Vec<f64>, Vec<f64>)> {
    let parameter = |i: usize| graph.tensor(node.inputs[i]).constant.as_deref();
    let (scale, offset, mean, variance) = (parameter(1)?, parameter(2)?, parameter(3)?, parameter(4)?);
    let factor: Vec<f64> = scale.iter().zip(variance).map(|(s, v)| s / (v + epsilon).sqrt()).collect();
    let offset = offset.iter().zip(mean.iter().zip(&factor)).map(|(o, (m, f))| o - m * f).collect();
    Some((factor, offset))
}

/// Inputs of a convolution that normalises its output too; `None` where it cannot.
fn folded(graph: &mut Graph, conv: &Node, factor: &[f64], offset: &[f64]) -> Option<Vec<TensorId>> {
    if !matches!(conv.op(), Some(Op::Conv { .. })) {
        return None;
    }
    let weight = graph.tensor(conv.inputs[1]).clone();
    let bias = match conv.inputs.get(2) {
        None => vec![0.0; factor.len()],
        Some(bias) => graph.tensor(*bias).constant.as_deref()?.to_vec(),
    };
    let per_filter = weight.len() / factor.len();
    let values = weight.constant.as_deref()?.iter().enumerate().map(|(i, w)| w * factor[i / per_filter]).collect();
    let bias = bias.iter().zip(factor.iter().zip(offset)).map(|(b, (f, o))| b * f + o).collect();
    let weight = graph.add_constant(format!("{}.normalised", weight.name), weight.shape, Origin::Parameter, values);
    let bias = graph.add_constant(format!("{}.bias", graph.tensor(weight).name), vec![factor.len() as i64], Origin::Parameter, bias);
    Some(vec![conv.inputs[0], weight, bias])
}

fn product_and_sum(graph: &mut Graph, node: Node, factor: Vec<f64>, offset: Vec<f64>) -> [Node; 2] {
    let shape = graph.tensor(node.output()).shape.clone();
    let channels: Vec<i64> = std::iter::once(shape[1]).chain(shape[2..].iter().map(|_| 1)).collect();
    let factor = graph.add_constant(format!("{}.factor", node.name), channels.clone(), Origin::Parameter, factor);
    let offset = graph.add_constant(format!("{}.offset", node.name), channels, Origin::Parameter, offset);
    let scaled = graph.add(GraphTensor::new(format!("{}.scaled", node.name), shape, Origin::Node));
    let product = Node::of(format!("{}.scale", node.name), Op::Binary(Arithmetic::Mul), vec![node.inputs[0], factor], scaled);
    let body = Body::Op { op: Op::Binary(Arithmetic::Add), stated: None };
    [product, Node { body, inputs: vec![scaled, offset], ..node }]
}

/// Renumbers tensors so that only those in use are left.
fn drop_unused(graph: Graph) -> Graph {
    let mut used = vec![false; graph.tensors.len()];
    graph.inputs.iter().chain(&graph.outputs).for_each(|t| used[t.0] = true);
    for node in &graph.nodes {
        node.inputs.iter().chain(&node.outputs).for_each(|t| used[t.0] = true);
    }
    let mut place = vec![TensorId(0); graph.tensors.len()];
    let mut tensors: Vec<GraphTensor> = Vec::new();
    for (i, tensor) in graph.tensors.into_iter().enumerate().filter(|(i, _)| used[*i]) {
        place[i] = TensorId(tensors.len());
        tensors.push(tensor);
    }
    let moved = |list: Vec<TensorId>| list.into_iter().map(|t| place[t.0]).collect();
    let nodes = graph.nodes.into_iter().map(|n| Node { inputs: moved(n.inputs), outputs: moved(n.outputs), ..n }).collect();
    Graph { name: graph.name, nodes, tensors, inputs: moved(graph.inputs), outputs: moved(graph.outputs) }
}
