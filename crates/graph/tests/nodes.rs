//! Every node of the example graphs that has a body, evaluated at small extents: by its definition, and as tensor expressions, both equal to
//! what numpy found (`bench/graph_nodes.py`, which says how extents become small).

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use warpsight_graph::{Body, Graph, GraphTensor, Node, Op, Origin, Plan, TensorId, evaluate_f64};

/// Extents are no greater.
const MOST: i64 = 6;

#[derive(Deserialize)]
struct Fixture {
    /// By graph and node, which case it is.
    nodes: BTreeMap<String, BTreeMap<String, usize>>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    inputs: Vec<Vec<i64>>,
    outputs: Vec<Vec<i64>>,
    values: Vec<Vec<f64>>,
}

fn graphs() -> Vec<(String, Graph)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/dataflow");
    let files = std::fs::read_dir(folder).expect("examples").map(|entry| entry.expect("a file").path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect();
    files.sort();
    let read = |path: &PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let graph = Graph::read(&std::fs::read_to_string(path).expect("a file")).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, graph)
    };
    files.iter().map(read).collect()
}

fn fixture() -> Fixture {
    serde_json::from_str(include_str!("fixtures/graph_nodes.json")).expect("what bench/graph_nodes.py writes")
}

fn small(shape: &[i64]) -> Vec<i64> {
    shape.iter().map(|&extent| extent.min(MOST)).collect()
}

/// A length or position along a dimension whose whole becomes small.
fn scaled(at: i64, whole: i64, least: i64) -> i64 {
    if whole > MOST { (at * MOST / whole).max(least) } else { at }
}

/// An operator at small extents: the same rule as in `bench/graph_nodes.py`, in its own words.
fn cut(op: &Op, inputs: &[&[i64]], outputs: &[&[i64]]) -> (Op, Vec<Vec<i64>>, Vec<Vec<i64>>) {
    match op {
        Op::Slice { starts, steps } => {
            let whole = inputs[0];
            let own = (0..whole.len()).map(|d| if steps[d] == 0 { outputs[0][d].min(MOST) } else { scaled(outputs[0][d], whole[d], 1) });
            let starts = (0..whole.len()).map(|d| scaled(starts[d], whole[d], 0)).collect();
            (Op::Slice { starts, steps: steps.clone() }, vec![small(whole)], vec![own.collect()])
        }
        Op::Concat { axis } => {
            let mut parts: Vec<Vec<i64>> = inputs.iter().map(|shape| small(shape)).collect();
            parts.iter_mut().zip(inputs).for_each(|(part, full)| part[*axis] = scaled(full[*axis], outputs[0][*axis], 1));
            let mut whole = small(outputs[0]);
            whole[*axis] = parts.iter().map(|part| part[*axis]).sum();
            (op.clone(), parts, vec![whole])
        }
        Op::Pad { before, after, beyond } => {
            let whole = outputs[0];
            let of = |list: &[i64], least: i64| -> Vec<i64> { (0..whole.len()).map(|d| scaled(list[d], whole[d], least)).collect() };
            let (before, own, after) = (of(before, 0), of(inputs[0], 1), of(after, 0));
            let padded = (0..whole.len()).map(|d| before[d] + own[d] + after[d]).collect();
            (Op::Pad { before, after, beyond: *beyond }, vec![own], vec![padded])
        }
        Op::Attention(_) | Op::AttentionGradient(_) => {
            let first = usize::from(matches!(op, Op::AttentionGradient(_)));
            let (heads, groups) = (inputs[first][1], inputs[first + 1][1]);
            let few = |of: i64| groups.min(2) * if of == heads { (heads / groups).min(3) } else { 1 };
            let own = |shape: &&[i64]| [&[shape[0], few(shape[1])], &small(&shape[2..])[..]].concat();
            (op.clone(), inputs.iter().map(own).collect(), outputs.iter().map(own).collect())
        }
        Op::CachedMatMul { start, transpose_right } => {
            let (groups, kept) = (inputs[0][1], inputs[1]);
            let (few, columns, length) = (groups.min(2), (kept[2] / groups).min(3), kept[1].min(MOST));
            let (summed, made) = if *transpose_right { (columns, length) } else { (length, columns) };
            let matrices = [kept[0], few, inputs[0][2].min(MOST)];
            let rows = |rows: i64| vec![kept[0], rows, few * columns];
            let own = vec![[&matrices[..], &[summed]].concat(), rows(length), rows(scaled(inputs[2][1], kept[1], 1))];
            let op = Op::CachedMatMul { start: scaled(*start, kept[1], 0), transpose_right: *transpose_right };
            (op, own, vec![[&matrices[..], &[made]].concat()])
        }
        Op::LowerPairs { axis, diagonal } => {
            let (whole, mut pairs) = (small(inputs[0]), small(outputs[0]));
            pairs[*axis] = (0..whole[*axis]).map(|i| (i + diagonal + 1).clamp(0, whole[*axis])).sum();
            (op.clone(), vec![whole], vec![pairs])
        }
        _ => (op.clone(), inputs.iter().map(|shape| small(shape)).collect(), outputs.iter().map(|shape| small(shape)).collect()),
    }
}

/// Elements of operand `place`.
fn operand(place: usize, elements: usize, positive: bool) -> Vec<f64> {
    let of = |at: usize| ((at * 37 + place * 101 + 11) % 97) as f64 / 97.0 * 2.0 - 1.0;
    (0..elements).map(|at| if positive { of(at).abs() + 0.25 } else { of(at) }).collect()
}

/// What positions in an operand are below; `None` of other operands.
fn found(op: &Op, place: usize, inputs: &[Vec<i64>], outputs: &[Vec<i64>]) -> Option<i64> {
    op.positions(inputs.len()).contains(&place).then(|| match op {
        Op::Gather { axis } => inputs[0][axis + place - 1],
        Op::Scatter { axis, .. } => outputs[0][axis + place - 1],
        Op::EmbeddingBag => inputs[place - 1][0],
        // Beginnings of bags have no part in gradients.
        Op::EmbeddingBagGradient => {
            if place == 1 {
                outputs[0][0]
            } else {
                inputs[0][0]
            }
        }
        other => panic!("{other:?}"),
    })
}

/// The graph of one node at small extents, and the elements of its inputs.
fn alone(graph: &Graph, node: &Node, op: &Op) -> (Graph, Vec<Vec<f64>>) {
    let shapes = |ids: &[TensorId]| ids.iter().map(|id| graph.tensor(*id).shape.as_slice()).collect::<Vec<_>>();
    let (op, inputs, outputs) = cut(op, &shapes(&node.inputs), &shapes(&node.outputs));
    let fits = op.fits(&inputs.iter().map(Vec::as_slice).collect::<Vec<_>>(), &outputs.iter().map(Vec::as_slice).collect::<Vec<_>>());
    assert_eq!(fits, Ok(()), "{}", node.name);
    let positive = matches!(&op, Op::Unary(warpsight_graph::Function::Power(exponent)) if *exponent < 0.0);
    let mut own = Graph::default();
    let mut values = Vec::new();
    let mut ids = Vec::new();
    for (place, (shape, id)) in inputs.iter().cloned().zip(&node.inputs).enumerate() {
        let name = format!("x{place}");
        // One number everywhere, or in the only place.
        let known = graph.tensor(*id).fill.or(graph.tensor(*id).constant.as_deref().and_then(|known| known.first().copied()));
        ids.push(match known {
            Some(value) => {
                let values = vec![value; shape.iter().product::<i64>() as usize];
                own.add(GraphTensor::new(name, shape, Origin::Constant).with_values(values))
            }
            None => {
                let id = own.add(GraphTensor::new(name, shape, Origin::Input));
                own.inputs.push(id);
                let drawn = operand(place, own.tensor(id).len(), positive);
                let mut drawn = match found(&op, place, &inputs, &outputs) {
                    Some(extent) => drawn.iter().map(|value| ((value + 1.0) / 2.0 * extent as f64).floor()).collect(),
                    None => drawn,
                };
                if op == Op::EmbeddingBag && place == 2 {
                    drawn.sort_by(f64::total_cmp);
                    drawn[0] = 0.0;
                }
                values.push(drawn);
                id
            }
        });
    }
    for (place, shape) in outputs.into_iter().enumerate() {
        let id = own.add(GraphTensor::new(format!("y{place}"), shape, Origin::Node));
        own.outputs.push(id);
    }
    let mut computes = Node::of("node", op, ids, own.outputs[0]);
    computes.outputs.clone_from(&own.outputs);
    own.nodes.push(computes);
    (own, values)
}

/// The greatest difference, relative to the greatest expected magnitude.
fn difference(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let scale = expected.iter().fold(1e-9, |most: f64, value| most.max(value.abs()));
    found.iter().zip(expected).map(|(a, b)| (a - b).abs() / scale).fold(0.0, f64::max)
}

#[test]
fn every_node_with_a_body_is_what_numpy_finds() {
    let Fixture { nodes, cases } = fixture();
    let mut evaluated = 0;
    for (name, graph) in graphs() {
        let mut expected = nodes.get(&name).cloned().unwrap_or_default();
        for node in &graph.nodes {
            // An alias is no work: its elements are its input's.
            let Some(op) = node.op().filter(|op| **op != Op::Alias) else { continue };
            let at = expected.remove(&node.name).unwrap_or_else(|| panic!("{name}: node {} is not in the fixture", node.name));
            let (own, values) = alone(&graph, node, op);
            let case = &cases[at];
            let shapes = |ids: &[TensorId]| ids.iter().map(|id| own.tensor(*id).shape.clone()).collect::<Vec<_>>();
            assert_eq!((shapes(&own.nodes[0].inputs), shapes(&own.outputs)), (case.inputs.clone(), case.outputs.clone()));
            let plan = Plan::of(&own).unwrap_or_else(|error| panic!("{name}, node {}: {error}", node.name));
            for found in [evaluate_f64(&own, &values), plan.evaluate_f64(&values)] {
                let found = found.unwrap_or_else(|error| panic!("{name}, node {}: {error}", node.name));
                assert_eq!(found.len(), case.values.len());
                let worst = found.iter().zip(&case.values).map(|(found, expected)| difference(found, expected)).fold(0.0, f64::max);
                assert!(worst < 1e-9, "{name}, node {}: {worst}", node.name);
            }
            evaluated += 1;
        }
        assert!(expected.is_empty(), "{name} has no nodes {:?}", expected.keys());
    }
    assert!(evaluated > 700, "{evaluated}");
}

/// Of no node only numbers are known.
#[test]
fn no_node_is_opaque() {
    for (name, graph) in graphs() {
        for node in &graph.nodes {
            assert!(matches!(node.body, Body::Op { .. }), "{name}, node {}", node.name);
        }
    }
}
