//! Random networks: the fused plan computes what the unfused graph does, and memory is never shared by tensors alive together.

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use support::relative;
use warpsight_generate::candidates::candidates;
use warpsight_generate::operators::{PoolKind, ReduceKind, Window};
use warpsight_graph::memory::{Request, Storage, live_ranges, plan};
use warpsight_graph::{Arithmetic, Function, Graph, GraphTensor, Node, Op, Origin, Plan, PlanRole, TensorId, evaluate_f64, simplify};
use warpsight_ir::ImageFormat;

const FULL: [i64; 4] = [1, 3, 4, 5];
const SCALE: [i64; 4] = [1, 3, 1, 1];

/// A graph under construction, with random choices.
struct Random {
    graph: Graph,
    rng: fastrand::Rng,
}

impl Random {
    fn new(seed: u64) -> Self {
        let mut random = Self { graph: Graph::default(), rng: fastrand::Rng::with_seed(seed) };
        for shape in [FULL, FULL, SCALE] {
            let input = random.tensor(&shape, None);
            random.graph.inputs.push(input);
        }
        random
    }

    fn tensor(&mut self, shape: &[i64], constant: Option<Arc<[f64]>>) -> TensorId {
        let origin = if constant.is_some() { Origin::Constant } else { Origin::Node };
        self.graph.add(GraphTensor { constant, ..GraphTensor::new(format!("t{}", self.graph.tensors.len()), shape, origin) })
    }

    fn constant(&mut self, shape: &[i64]) -> TensorId {
        let values = (0..shape.iter().product()).map(|_| self.rng.f64() - 0.4).collect();
        self.tensor(shape, Some(values))
    }

    /// A computed tensor of this shape.
    fn pick(&mut self, shape: &[i64]) -> TensorId {
        let all: Vec<usize> = (0..self.graph.tensors.len())
            .filter(|&t| self.graph.tensors[t].constant.is_none() && self.graph.tensors[t].shape == shape)
            .collect();
        // Recent tensors make chains and diamonds.
        let near = all.len().saturating_sub(4);
        let from = if self.rng.u8(0..4) == 0 { 0 } else { near };
        TensorId(all[self.rng.usize(from..all.len())])
    }

    fn node(&mut self, op: Op, inputs: Vec<TensorId>, shape: &[i64]) {
        let output = self.tensor(shape, None);
        // Names in reverse: the order must not depend on them.
        let name = format!("n{}", 1000 - self.graph.nodes.len());
        self.graph.nodes.push(Node::of(name, op, inputs, output));
    }

    fn step(&mut self) {
        let x = self.pick(&FULL);
        match self.rng.u8(0..12) {
            0 => {
                let groups = if self.rng.bool() { 3 } else { 1 };
                let weight = self.constant(&[3, 3 / groups, 3, 3]);
                let window = |input| Window { pad_before: 1, pad_after: 1, ..Window::new(input, 3) };
                self.node(Op::Conv { windows: vec![window(4), window(5)], groups }, vec![x, weight], &FULL);
            }
            1 => {
                let mut inputs = vec![x];
                inputs.extend((0..3).map(|_| self.constant(&[3])));
                let variance = [0.5, 1.0, 2.0].into();
                inputs.push(self.tensor(&[3], Some(variance)));
                self.node(Op::BatchNormalization { epsilon: 1e-3 }, inputs, &FULL);
            }
            2 => self.node(Op::GlobalAveragePool, vec![x], &SCALE),
            3 => self.node(Op::Softmax { axis: self.rng.clone().usize(1..4) }, vec![x], &FULL),
            4 => self.node(Op::Reduce { kind: ReduceKind::Mean, axes: vec![2, 3], keep: true }, vec![x], &SCALE),
            5 => {
                let functions = [Function::Relu, Function::HardSwish, Function::Clip(-0.3, 0.6), Function::Tanh, Function::Sigmoid];
                let function = functions[self.rng.usize(0..functions.len())];
                self.node(Op::Unary(function), vec![x], &FULL);
            }
            6 => {
                self.node(Op::Alias, vec![x], &[1, 60]);
                let flat = self.pick(&[1, 60]);
                self.node(Op::Alias, vec![flat], &FULL);
            }
            7 => self.node(Op::Alias, vec![x], &FULL),
            8 => {
                let s = self.pick(&SCALE);
                self.node(Op::Unary(Function::HardSigmoid(0.2, 0.5)), vec![s], &SCALE);
            }
            kind => {
                let all = [Arithmetic::Add, Arithmetic::Sub, Arithmetic::Mul, Arithmetic::Min, Arithmetic::Max];
                let op = Op::Binary(all[self.rng.usize(0..all.len())]);
                let other = match kind {
                    9 => self.constant(&[3, 1, 1]),
                    10 => self.pick(&SCALE),
                    _ => self.pick(&FULL),
                };
                let inputs = if self.rng.bool() { vec![x, other] } else { vec![other, x] };
                self.node(op, inputs, &FULL);
            }
        }
    }

    /// A graph of that many steps whose outputs are its last tensor and some others, an input perhaps among them.
    fn finish(mut self, steps: usize) -> Graph {
        (0..steps).for_each(|_| self.step());
        let last = TensorId(self.graph.tensors.len() - 1);
        let mut outputs = vec![self.graph.nodes.last().map_or(last, Node::output)];
        for _ in 0..self.rng.usize(0..3) {
            outputs.push(self.pick(&FULL));
        }
        outputs.dedup();
        self.graph.outputs = outputs;
        self.graph
    }

    fn inputs(seed: u64) -> Vec<Vec<f64>> {
        let mut rng = fastrand::Rng::with_seed(seed ^ 0xabcdef);
        [60, 60, 3].map(|n| (0..n).map(|_| rng.f64() * 2.0 - 1.0).collect()).into()
    }
}

#[test]
fn fused_plans_of_random_networks_keep_their_meaning() {
    let mut fused = 0;
    for seed in 0..300 {
        let steps = 3 + seed as usize % 25;
        let graph = Random::new(seed).finish(steps);
        let inputs = Random::inputs(seed);
        let expected = evaluate_f64(&graph, &inputs).unwrap();
        let plan = Plan::of(&simplify(&graph)).unwrap();
        let found = plan.evaluate_f64(&inputs).unwrap();
        assert_eq!(found.len(), expected.len());
        for (f, e) in found.iter().zip(&expected) {
            assert!(relative(f, e) < 1e-9, "seed {seed}: {graph:#?}");
        }
        for (id, output) in plan.outputs.iter().zip(&graph.outputs) {
            assert!(matches!(plan.tensor(*id).role, PlanRole::Output), "seed {seed}");
            assert_eq!(plan.tensor(*id).shape, graph.tensor(*output).shape, "seed {seed}");
        }
        fused += plan.operators.iter().map(|o| o.nodes.len().saturating_sub(1)).sum::<usize>();
        check_memory(&plan);
    }
    assert!(fused > 500, "{fused} nodes fused");
}

/// Every tensor that an operator reads was written before, and no two alive together share a slot.
fn check_memory(plan_: &Plan) {
    let ranges = live_ranges(plan_);
    for (position, op) in plan_.operators.iter().enumerate() {
        for input in &op.inputs {
            match plan_.tensor(*input).role {
                PlanRole::Input | PlanRole::Constant(_) => assert!(!ranges.contains_key(input)),
                _ => assert!(ranges[input].0 < position && ranges[input].1 >= position),
            }
        }
    }
    let requests: Vec<Request> = ranges
        .iter()
        .map(|(id, &(first, last))| Request { bytes: 4 * plan_.tensor(*id).len() as u64, storage: Storage::Buffer, first, last })
        .collect();
    check_plan(&requests, &BTreeMap::new());
}

fn check_plan(requests: &[Request], onto: &BTreeMap<usize, usize>) -> usize {
    let memory = plan(requests, onto);
    for (i, a) in requests.iter().enumerate() {
        let slot = memory.slots[memory.slot_of[i]];
        assert!(slot.bytes >= a.bytes && slot.storage == a.storage);
        for (j, b) in requests.iter().enumerate().skip(i + 1) {
            let in_place = onto.get(&i) == Some(&j) || onto.get(&j) == Some(&i);
            assert!(!in_place || memory.slot_of[i] == memory.slot_of[j], "{a:?} and {b:?}");
            assert!(in_place || !(memory.slot_of[i] == memory.slot_of[j] && a.overlaps(b)), "{a:?} and {b:?}");
        }
    }
    let naive: u64 = requests.iter().map(|r| r.bytes).sum();
    let end = requests.iter().map(|r| r.last).max().unwrap_or(0);
    // One that is taken over is no more than the one that takes it over.
    let gone = |i: usize, at: usize| onto.iter().any(|(&by, &before)| before == i && requests[by].first == at);
    let alive = |at: usize| {
        let alive = requests.iter().enumerate().filter(|(i, r)| r.first <= at && r.last >= at && !gone(*i, at));
        alive.map(|(_, r)| r.bytes).sum::<u64>()
    };
    assert_eq!(memory.peak, (0..=end).map(alive).max().unwrap_or(0));
    assert_eq!((memory.naive, memory.total), (naive, memory.slots.iter().map(|s| s.bytes).sum()));
    assert!(memory.peak <= memory.total && memory.total <= memory.naive);
    memory.slots.len()
}

#[test]
fn memory_of_random_requests() {
    let mut rng = fastrand::Rng::with_seed(3);
    let (mut shared, mut taken) = (0, 0);
    for _ in 0..500 {
        let request = |rng: &mut fastrand::Rng| {
            let first = rng.usize(0..20);
            let image = |width| Storage::Image { width, height: 2, format: ImageFormat::Rgba32F };
            let storage = [Storage::Buffer, image(4), image(8)][rng.usize(0..3)];
            let bytes = if let Storage::Image { width, .. } = storage { u64::from(width) * 32 } else { rng.u64(0..1000) };
            Request { bytes, storage, first, last: first + rng.usize(0..6) }
        };
        let requests: Vec<Request> = (0..rng.usize(0..30)).map(|_| request(&mut rng)).collect();
        let slots = check_plan(&requests, &BTreeMap::new());
        shared += requests.len() - slots;
        // Some work in place.
        let mut onto = BTreeMap::new();
        for (i, r) in requests.iter().enumerate() {
            let fits = |b: &Request| (b.storage, b.bytes, b.last) == (r.storage, r.bytes, r.first) && b.first < r.first;
            let before = (0..requests.len()).find(|j| fits(&requests[*j]) && !onto.values().any(|taken| taken == j));
            onto.extend(before.map(|before| (i, before)));
        }
        taken += onto.len();
        check_plan(&requests, &onto);
    }
    assert!(shared > 1000 && taken > 100, "{shared} {taken}");
}

#[test]
fn a_chain_needs_two_slots() {
    let requests: Vec<Request> =
        (0..10).map(|i| Request { bytes: 100 - i, storage: Storage::Buffer, first: i as usize, last: i as usize + 1 }).collect();
    let memory = plan(&requests, &BTreeMap::new());
    assert_eq!((memory.slots.len(), memory.total, memory.peak, memory.naive), (2, 199, 199, 955));
    // In place one is enough.
    let requests: Vec<Request> = requests.into_iter().map(|request| Request { bytes: 100, ..request }).collect();
    let memory = plan(&requests, &(1..10).map(|i| (i, i - 1)).collect());
    assert_eq!((memory.slots.len(), memory.total, memory.peak, memory.naive), (1, 100, 100, 1000));
}

/// `x · clip(x + 3, 0, 6) / 6` after a convolution is one operator; where the sum is an output as well, nothing after it may be inside.
#[test]
fn diamonds_fuse_unless_a_value_inside_is_seen() {
    let mut random = Random::new(1);
    let x = random.graph.inputs[0];
    let weight = random.constant(&[3, 3, 1, 1]);
    random.node(Op::Conv { windows: vec![Window::new(4, 1), Window::new(5, 1)], groups: 1 }, vec![x, weight], &FULL);
    let conv = random.graph.nodes[0].output();
    let three = random.tensor(&[], Some([3.0].into()));
    let six = random.tensor(&[], Some([6.0].into()));
    random.node(Op::Binary(Arithmetic::Add), vec![conv, three], &FULL);
    let sum = random.graph.nodes[1].output();
    random.node(Op::Unary(Function::Clip(0.0, 6.0)), vec![sum], &FULL);
    let clip = random.graph.nodes[2].output();
    random.node(Op::Binary(Arithmetic::Mul), vec![conv, clip], &FULL);
    let product = random.graph.nodes[3].output();
    random.node(Op::Binary(Arithmetic::Div), vec![product, six], &FULL);
    let last = random.graph.nodes[4].output();
    let mut graph = random.graph;
    graph.outputs = vec![last];
    let whole = Plan::of(&graph).unwrap();
    assert_eq!(whole.operators.len(), 1);
    assert_eq!(whole.operators[0].nodes.len(), 5);
    // The scalars are part of the expression.
    assert_eq!(whole.operators[0].inputs.len(), 2);
    graph.outputs = vec![last, sum];
    let parts = Plan::of(&graph).unwrap();
    // The convolution itself is read twice, so the sum cannot be in it either.
    assert_eq!(parts.operators.iter().map(|o| o.nodes.len()).collect::<Vec<_>>(), [1, 1, 3]);
}

/// A residual sum goes into the later convolution, which can read the earlier one's output.
#[test]
fn residual_sums_fuse_into_the_later_operator() {
    let mut random = Random::new(2);
    let x = random.graph.inputs[0];
    let weight = random.constant(&[3, 3, 1, 1]);
    let op = Op::Conv { windows: vec![Window::new(4, 1), Window::new(5, 1)], groups: 1 };
    random.node(op.clone(), vec![x, weight], &FULL);
    let first = random.graph.nodes[0].output();
    random.node(op, vec![first, weight], &FULL);
    let second = random.graph.nodes[1].output();
    random.node(Op::Binary(Arithmetic::Add), vec![first, second], &FULL);
    let sum = random.graph.nodes[2].output();
    let mut graph = random.graph;
    graph.outputs = vec![sum];
    let plan = Plan::of(&graph).unwrap();
    assert_eq!(plan.operators.iter().map(|o| o.nodes.len()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(plan.operators[1].inputs.len(), 2, "the first convolution's output is one input, read twice");
    assert_eq!(plan.distinct().len(), 2);
}

/// A convolution of `FULL`, what is made of it, and what a plan makes of that: kinds of its operators.
fn joined(more: impl Fn(&mut Random, TensorId) -> Vec<TensorId>) -> Vec<String> {
    let mut random = Random::new(3);
    let (x, weight) = (random.graph.inputs[0], random.constant(&[3, 3, 1, 1]));
    random.node(Op::Conv { windows: vec![Window::new(4, 1), Window::new(5, 1)], groups: 1 }, vec![x, weight], &FULL);
    let conv = random.graph.nodes[0].output();
    let outputs = more(&mut random, conv);
    let Random { mut graph, mut rng } = random;
    graph.outputs = outputs;
    let plan = Plan::of(&graph).expect("a plan");
    let inputs: Vec<Vec<f64>> =
        graph.inputs.iter().map(|&t| (0..graph.tensor(t).shape.iter().product()).map(|_| rng.f64() - 0.5).collect()).collect();
    let expected = evaluate_f64(&graph, &inputs).expect("evaluates");
    let near = |plan: &Plan| {
        let found = plan.evaluate_f64(&inputs).expect("evaluates");
        found.iter().zip(&expected).for_each(|(found, expected)| assert!(relative(found, expected) < 1e-12));
    };
    near(&plan);
    for position in 0..plan.operators.len() {
        for own in candidates(&plan.operators[position].operator).into_iter().filter(|own| own.name == "pooled") {
            let mut fused = plan.clone();
            fused.replace(position, own.operator);
            assert_eq!(fused.operators[position].operator.steps.len(), 1);
            near(&fused);
        }
    }
    plan.operators.iter().map(|op| op.operator.kind.to_string()).collect()
}

/// A pooling is one operator with what it reads, where nobody else does; what only moves elements, too.
#[test]
fn poolings_join_what_they_alone_read() {
    let halves = |input: i64| Window { stride: 2, pad_after: 1, ..Window::new(input, 2) };
    let pool = |random: &mut Random, x: TensorId, [h, w]: [i64; 2]| {
        let op = Op::Pool { kind: PoolKind::Max, windows: vec![halves(h), halves(w)], ceil_mode: false };
        random.node(op, vec![x], &[1, 3, (h + 1) / 2, (w + 1) / 2]);
        random.graph.nodes.last().expect("a node").output()
    };
    let unary = |random: &mut Random, x: TensorId| {
        let shape = random.graph.tensor(x).shape.clone();
        random.node(Op::Unary(Function::Neg), vec![x], &shape);
        random.graph.nodes.last().expect("a node").output()
    };
    // With what follows each; of two poolings the first.
    let chain = joined(|random, conv| {
        let before = unary(random, conv);
        let first = pool(random, before, [4, 5]);
        let after = unary(random, first);
        vec![pool(random, after, [2, 3])]
    });
    assert_eq!(chain, ["conv2d_maxpool", "maxpool"]);
    // What others read, or see, stays.
    let twice = joined(|random, conv| {
        let (first, second) = (pool(random, conv, [4, 5]), pool(random, conv, [4, 5]));
        vec![first, second]
    });
    assert_eq!(twice, ["conv2d", "maxpool", "maxpool"]);
    assert_eq!(joined(|random, conv| vec![pool(random, conv, [4, 5]), conv]), ["conv2d", "maxpool"]);
    // Windows of another shape of the same elements are others.
    let reshaped = joined(|random, conv| {
        random.node(Op::Alias, vec![conv], &[1, 3, 5, 4]);
        let other = random.graph.nodes.last().expect("a node").output();
        vec![pool(random, other, [5, 4])]
    });
    assert_eq!(reshaped, ["conv2d", "maxpool"]);
    let moved = joined(|random, conv| {
        random.node(Op::Transpose { permutation: vec![0, 3, 1, 2] }, vec![conv], &[1, 5, 3, 4]);
        vec![random.graph.nodes.last().expect("a node").output()]
    });
    assert_eq!(moved, ["conv2d_transpose"]);
}

/// A point that is stored where its tensor has no element is an error of the evaluation, never left out.
#[test]
fn what_is_stored_outside_is_an_error() {
    let mut operator = warpsight_generate::operators::parse_operator("matmul m=3 n=2 k=4").expect("an operator");
    operator.steps[0].store[0].constant = 1;
    let plan = Plan::of_operator(&operator, |n| vec![1.0; n]);
    let inputs: Vec<Vec<f64>> = plan.inputs.iter().map(|&id| vec![1.0; plan.tensor(id).len()]).collect();
    let error = plan.evaluate_f64(&inputs).unwrap_err();
    let warpsight_graph::GraphError::Unplaced { tensor, shape, point, .. } = &error else { panic!("{error}") };
    let last = operator.steps[0].axes.iter().map(|axis| axis.extent).collect::<Vec<_>>();
    assert!(point.iter().zip(&last).all(|(at, extent)| at < extent), "{point:?} of {last:?}");
    let expected = format!("stores point {point:?} outside of its output `{tensor}` of shape {shape:?}");
    assert!(error.to_string().contains(&expected), "{error}");
}
