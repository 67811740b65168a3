//! What is joined of several tensors: written where it belongs by what makes it, where nobody else reads it.

mod support;

use std::collections::BTreeSet;
use support::relative;
use warpsight_generate::Operator;
use warpsight_generate::candidates::candidates;
use warpsight_generate::operators::{PoolKind, Window};
use warpsight_generate::parts::{Part, check};
use warpsight_graph::{Function, Graph, GraphTensor, Node, Op, Origin, Plan, PlanRole, TensorId, evaluate_f64, simplify};
use warpsight_ir::Scalar;

/// A graph under construction.
struct Draft {
    graph: Graph,
    rng: fastrand::Rng,
}

impl Draft {
    fn new(seed: u64) -> Self {
        Self { graph: Graph::default(), rng: fastrand::Rng::with_seed(seed) }
    }

    fn input(&mut self, shape: &[i64]) -> TensorId {
        let id = self.graph.add(GraphTensor::new(format!("x{}", self.graph.inputs.len()), shape, Origin::Input));
        self.graph.inputs.push(id);
        id
    }

    fn shape(&self, id: TensorId) -> Vec<i64> {
        self.graph.tensor(id).shape.clone()
    }

    fn node(&mut self, op: Op, inputs: &[TensorId], shape: &[i64]) -> TensorId {
        let name = format!("n{}", self.graph.nodes.len());
        let output = self.graph.add(GraphTensor::new(format!("{name}.out"), shape, Origin::Node));
        self.graph.nodes.push(Node::of(name, op, inputs.to_vec(), output));
        output
    }

    /// Windows of so many rows and columns, of results in the same places.
    fn conv(&mut self, x: TensorId, filters: i64, taps: i64) -> TensorId {
        let [n, c, h, w] = self.shape(x)[..] else { panic!("a picture") };
        let shape = [filters, c, taps, taps];
        let values: Vec<f64> = (0..shape.iter().product()).map(|_| self.rng.f64() - 0.5).collect();
        let weight = GraphTensor::new(format!("w{}", self.graph.tensors.len()), shape, Origin::Constant).with_values(values);
        let weight = self.graph.add(weight);
        let windows = [h, w].map(|input| Window { pad_before: taps / 2, pad_after: taps / 2, ..Window::new(input, taps) }).to_vec();
        self.node(Op::Conv { windows, groups: 1 }, &[x, weight], &[n, filters, h, w])
    }

    fn relu(&mut self, x: TensorId) -> TensorId {
        let shape = self.shape(x);
        self.node(Op::Unary(Function::Relu), &[x], &shape)
    }

    /// The largest of three rows and columns each, in the same places.
    fn pool(&mut self, x: TensorId) -> TensorId {
        let shape = self.shape(x);
        let windows = [shape[2], shape[3]].map(|input| Window { pad_before: 1, pad_after: 1, ..Window::new(input, 3) }).to_vec();
        self.node(Op::Pool { kind: PoolKind::Max, windows, ceil_mode: false }, &[x], &shape)
    }

    fn concat(&mut self, inputs: &[TensorId], axis: usize) -> TensorId {
        let mut shape = self.shape(inputs[0]);
        shape[axis] = inputs.iter().map(|&id| self.graph.tensor(id).shape[axis]).sum();
        self.node(Op::Concat { axis }, inputs, &shape)
    }

    /// The plan, which computes what the graph does, and whose tensors that several operators write are written whole and once.
    fn plan(mut self, outputs: &[TensorId]) -> Plan {
        self.graph.outputs = outputs.to_vec();
        planned(&self.graph, &mut self.rng)
    }
}

fn planned(graph: &Graph, rng: &mut fastrand::Rng) -> Plan {
    let drawn = |id: &TensorId| (0..graph.tensor(*id).shape.iter().product()).map(|_| rng.f64() - 0.5).collect();
    let inputs: Vec<Vec<f64>> = graph.inputs.iter().map(drawn).collect();
    let expected = evaluate_f64(graph, &inputs).expect("evaluates");
    let plan = Plan::of(&simplify(graph)).expect("a plan");
    let found = plan.evaluate_f64(&inputs).expect("evaluates");
    assert_eq!(found.len(), expected.len());
    found.iter().zip(&expected).for_each(|(found, expected)| assert!(relative(found, expected) < 1e-12));
    for id in (0..plan.tensors.len()).map(TensorId) {
        let steps = plan.operators.iter().flat_map(|op| op.operator.steps.iter().zip(op.temporaries.iter().chain([&op.output])));
        let mut steps: Vec<_> = steps.filter(|own| *own.1 == id).map(|own| own.0.clone()).collect();
        if steps.len() > 1 {
            steps.iter_mut().for_each(|step| step.output.name = "whole".into());
            assert_eq!(check(&Operator { kind: "parts".into(), steps }), Ok(()), "{}", plan.tensor(id).name);
        }
        let used = plan.operators.iter().any(|op| op.inputs.iter().chain(&op.temporaries).chain([&op.output]).any(|own| *own == id));
        assert!(used || plan.inputs.contains(&id), "{} is used", plan.tensor(id).name);
    }
    plan
}

/// Of each operator its kind and how many elements of its output it writes.
fn written(plan: &Plan) -> Vec<(String, u64)> {
    let own = |op: &warpsight_graph::PlannedOp| {
        let step = op.operator.steps.last().expect("a step");
        (op.operator.kind.to_string(), Part::of(step).expect("runs").len())
    };
    plan.operators.iter().map(own).collect()
}

fn kinds(list: &[(&str, u64)]) -> Vec<(String, u64)> {
    list.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect()
}

/// As in SqueezeNet and Inception: nothing is copied, whatever the channels are, with what follows each and what follows all.
#[test]
fn what_makes_tensors_writes_their_parts() {
    for channels in [[8, 12, 4], [3, 7, 5]] {
        let mut draft = Draft::new(1);
        let x = draft.input(&[2, 6, 5, 7]);
        let (a, b) = (draft.conv(x, channels[0], 1), draft.conv(x, channels[1], 3));
        let (a, pooled) = (draft.relu(a), draft.pool(x));
        let c = draft.conv(pooled, channels[2], 1);
        let whole = draft.concat(&[a, b, c, pooled], 1);
        let whole = draft.relu(whole);
        let last = draft.conv(whole, 3, 1);
        let plan = draft.plan(&[last]);
        // Two read what is pooled.
        let [a, b, c] = channels.map(|own| 2 * 35 * own as u64);
        let expected = kinds(&[("conv2d", a), ("conv2d", b), ("maxpool", 420), ("conv2d", c), ("concat", 420), ("conv2d", 210)]);
        assert_eq!(written(&plan), expected);
        assert_eq!(plan.operators.iter().flat_map(|op| &op.nodes).count(), 8, "every node is of some operator");
    }
}

#[test]
fn what_joins_what_is_joined_is_written_once() {
    let mut draft = Draft::new(2);
    let x = draft.input(&[1, 4, 3, 5]);
    let (a, b, c, d) = (draft.conv(x, 3, 1), draft.conv(x, 5, 3), draft.conv(x, 2, 3), draft.conv(x, 1, 1));
    let first = draft.concat(&[a, b], 1);
    let second = draft.concat(&[c, first, d], 1);
    let whole = draft.concat(&[second, x], 1);
    // The caller sees it.
    let plan = draft.plan(&[whole]);
    let all = [("conv2d", 45), ("conv2d", 75), ("conv2d", 30), ("conv2d", 15), ("concat", 60)];
    assert_eq!(written(&plan), kinds(&all));
    assert!(plan.operators.iter().all(|op| op.output == plan.outputs[0]));
    assert_eq!(plan.tensors.iter().filter(|own| matches!(own.role, PlanRole::Intermediate)).count(), 0);
}

/// What others read stays, and what lies between two of these with it: there are as many kernels as before.
#[test]
fn what_others_read_is_copied() {
    let mut draft = Draft::new(3);
    let x = draft.input(&[1, 4, 3, 5]);
    let (a, b, c, d) = (draft.conv(x, 3, 1), draft.conv(x, 5, 3), draft.conv(x, 2, 3), draft.conv(x, 1, 1));
    let whole = draft.concat(&[a, b, c, x, d], 1);
    let again = draft.relu(b);
    let plan = draft.plan(&[whole, again]);
    let all = [("conv2d", 45), ("conv2d", 75), ("conv2d", 30), ("conv2d", 15), ("concat", 75 + 30 + 60), ("elementwise_relu", 75)];
    let mut found = written(&plan);
    found.sort();
    let mut all = kinds(&all);
    all.sort();
    assert_eq!(found, all);
    // One tensor twice, and outputs.
    let mut draft = Draft::new(4);
    let x = draft.input(&[1, 4, 3, 5]);
    let (a, b) = (draft.conv(x, 3, 1), draft.conv(x, 5, 3));
    let twice = draft.concat(&[a, a], 1);
    let seen = draft.concat(&[b, x], 1);
    let plan = draft.plan(&[twice, seen, b]);
    assert_eq!(plan.operators.len(), 4);
    assert_eq!(plan.operators.iter().filter(|op| op.operator.kind.contains("concat")).count(), 2);
}

/// Other axes, other shapes of the same elements, moved elements, halves; what is left out at ends stays in its part.
#[test]
fn parts_along_any_axis() {
    for axis in 0..4 {
        let mut draft = Draft::new(5);
        let x = draft.input(&[2, 4, 3, 5]);
        let (a, b) = (draft.conv(x, 4, 3), draft.conv(x, 4, 1));
        let turned = draft.node(Op::Transpose { permutation: vec![0, 1, 3, 2] }, &[b], &[2, 4, 5, 3]);
        let back = draft.node(Op::Transpose { permutation: vec![0, 1, 3, 2] }, &[turned], &[2, 4, 3, 5]);
        let soft = draft.node(Op::Softmax { axis: 1 }, &[x], &[2, 4, 3, 5]);
        let whole = draft.concat(&[a, back, soft], axis);
        let plan = draft.plan(&[whole]);
        assert!(plan.operators.iter().all(|op| !op.operator.kind.contains("concat")), "{axis}");
    }
    let mut draft = Draft::new(6);
    let x = draft.input(&[1, 4, 4, 5]);
    let weight: Vec<f64> = (0..4 * 4 * 9).map(|n| f64::from(n % 7) - 3.0).collect();
    let weight = draft.graph.add(GraphTensor::new("w", [4, 4, 3, 3], Origin::Constant).with_values(weight));
    // A transposed convolution with ends that are left out, above other rows.
    let windows = [4, 5].map(|input| Window { stride: 2, pad_before: 1, pad_after: 1, ..Window::new(input, 3) }).to_vec();
    let large = draft.node(Op::ConvTranspose { windows, groups: 1 }, &[x, weight], &[1, 4, 7, 9]);
    let (y, flat) = (draft.input(&[1, 4, 2, 9]), draft.conv(x, 9, 1));
    let other = draft.conv(y, 4, 3);
    let reshaped = draft.node(Op::Alias, &[flat], &[1, 4, 5, 9]);
    let whole = draft.concat(&[large, other, reshaped], 2);
    let plan = draft.plan(&[whole]);
    assert_eq!(plan.operators.len(), 4);
}

/// Whatever sequence an operator is computed by, it writes its part: tiles and remainders that go beyond it are left out, or are not offered.
#[test]
fn every_sequence_writes_its_part() {
    let mut seen = BTreeSet::new();
    for axis in 1..4 {
        let mut draft = Draft::new(7);
        let x = draft.input(&[1, 4, 7, 7]);
        let weight: Vec<f64> = (0..4 * 4 * 9).map(|n| f64::from(n % 7) - 3.0).collect();
        let weight = draft.graph.add(GraphTensor::new("w", [4, 4, 3, 3], Origin::Constant).with_values(weight));
        let small = draft.input(&[1, 4, 4, 4]);
        let windows = [4, 4].map(|input| Window { stride: 2, pad_before: 1, pad_after: 1, ..Window::new(input, 3) }).to_vec();
        let large = draft.node(Op::ConvTranspose { windows, groups: 1 }, &[small, weight], &[1, 4, 7, 7]);
        let big = draft.input(&[1, 4, 14, 14]);
        let (tiled, made) = (draft.conv(x, 4, 3), draft.conv(big, 4, 3));
        let halves = vec![Window { stride: 2, ..Window::new(14, 2) }; 2];
        let pooled = draft.node(Op::Pool { kind: PoolKind::Max, windows: halves, ceil_mode: false }, &[made], &[1, 4, 7, 7]);
        let soft = draft.node(Op::Softmax { axis: 3 }, &[x], &[1, 4, 7, 7]);
        let whole = draft.concat(&[tiled, pooled, soft, large, x], axis);
        draft.graph.outputs = vec![whole];
        let graph = draft.graph.clone();
        let plan = draft.plan(&[whole]);
        let drawn = |own: &TensorId| {
            let count = graph.tensor(*own).shape.iter().product::<i64>();
            (0..count).map(|n| f64::from((n * 37 % 19) as i32) / 9.0 - 1.0).collect()
        };
        let inputs: Vec<Vec<f64>> = graph.inputs.iter().map(drawn).collect();
        let expected = evaluate_f64(&graph, &inputs).expect("evaluates").remove(0);
        for position in 0..plan.operators.len() {
            for own in candidates(&plan.operators[position].operator).into_iter().skip(1) {
                seen.insert(own.name);
                let mut other = plan.clone();
                other.replace(position, own.operator);
                let found = other.evaluate_f64(&inputs).expect("evaluates").remove(0);
                assert!(relative(&found, &expected) < 1e-9, "{} of {} along {axis}", own.name, plan.operators[position].name);
            }
        }
    }
    assert_eq!(seen, BTreeSet::from(["held", "padded", "parts", "phases", "pooled", "rows", "rows_kept", "winograd2", "winograd4"]));
}

/// Random nets of convolutions, poolings and what is joined of them.
#[test]
fn random_joins_keep_their_meaning() {
    let (mut joined, mut left) = (0, 0);
    for seed in 0..150 {
        let mut draft = Draft::new(seed);
        let mut all = vec![draft.input(&[2, 3, 4, 3]), draft.input(&[2, 2, 4, 3])];
        for _ in 0..4 + seed % 10 {
            let from = draft.rng.usize(all.len().saturating_sub(4)..all.len());
            let x = all[from];
            let made = match draft.rng.u8(0..6) {
                0 => draft.relu(x),
                1 => draft.pool(x),
                2 => {
                    let (filters, taps) = (draft.rng.i64(1..5), 1 + 2 * draft.rng.i64(0..2));
                    draft.conv(x, filters, taps)
                }
                _ => {
                    let count = draft.rng.usize(2..5);
                    let parts: Vec<TensorId> = (0..count).map(|_| all[draft.rng.usize(all.len().saturating_sub(5)..all.len())]).collect();
                    joined += 1;
                    draft.concat(&parts, 1)
                }
            };
            all.push(made);
        }
        let mut outputs = vec![all[all.len() - 1]];
        if draft.rng.bool() {
            outputs.push(all[draft.rng.usize(2..all.len())]);
        }
        outputs.dedup();
        let plan = draft.plan(&outputs);
        left += plan.operators.iter().filter(|op| op.operator.kind.contains("concat")).count();
    }
    assert!(joined > 300 && left < joined, "{left} of {joined}");
}

/// Tensors of halves are written in parts, too.
#[test]
fn halves_are_written_in_parts() {
    let mut draft = Draft::new(8);
    let x = draft.input(&[1, 4, 3, 5]);
    let (a, b) = (draft.conv(x, 3, 1), draft.conv(x, 5, 3));
    let whole = draft.concat(&[a, b], 1);
    draft.graph.outputs = vec![whole];
    for element in [Scalar::F16, Scalar::Half] {
        assert_eq!(Plan::of_elements(&draft.graph, element).expect("a plan").operators.len(), 2);
    }
}
