//! Networks as graphs that are planned: convolutions, pooling and padding among their operators.

mod common;

use common::can_run;
use warpsight_dataflow::select::vertical;
use warpsight_dataflow::{Class, Modelled, Platform, Policy, Products, View, planned};
use warpsight_generate::operators::{Beyond, PoolKind, Window};
use warpsight_graph::{Body, Function, Graph, GraphTensor, Model, Node, Op, Origin, TensorId, simplify};
use warpsight_ir::profile::builtin;
use warpsight_predict::StageRoofline;

/// Two convolutions, one of them in groups and behind padding, a pooling and a layer.
fn small() -> Graph {
    let mut graph = Graph { name: "small".into(), ..Graph::default() };
    let mut tensor = |name: &str, shape: &[i64], origin| graph.add(GraphTensor::new(name, shape, origin));
    let x = tensor("x", &[4, 8, 34, 34], Origin::Input);
    let parameters = [("w1", vec![16, 8, 3, 3]), ("b1", vec![16]), ("w2", vec![32, 4, 3, 3]), ("w3", vec![32 * 64, 64])];
    let [w1, b1, w2, w3] = parameters.map(|(name, shape)| tensor(name, &shape, Origin::Parameter));
    let (h, a) = (tensor("h", &[4, 16, 32, 32], Origin::Node), tensor("a", &[4, 16, 32, 32], Origin::Node));
    let padded = tensor("padded", &[4, 16, 34, 34], Origin::Node);
    let grouped = tensor("grouped", &[4, 32, 16, 16], Origin::Node);
    let pooled = tensor("pooled", &[4, 32, 8, 8], Origin::Node);
    let (flat, y) = (tensor("flat", &[4, 32 * 64], Origin::Node), tensor("y", &[4, 64], Origin::Node));
    let window = |input, stride| Window { stride, ..Window::new(input, 3) };
    let halves = Window { stride: 2, ..Window::new(16, 2) };
    graph.nodes = vec![
        Node::of("first", Op::Conv { windows: vec![window(34, 1); 2], groups: 1 }, vec![x, w1, b1], h),
        Node::of("act", Op::Unary(Function::Relu), vec![h], a),
        Node::of("pad", Op::Pad { before: vec![0, 0, 1, 1], after: vec![0, 0, 1, 1], beyond: Beyond::Zeros }, vec![a], padded),
        Node::of("grouped", Op::Conv { windows: vec![window(34, 2); 2], groups: 4 }, vec![padded, w2], grouped),
        Node::of("pool", Op::Pool { kind: PoolKind::Max, windows: vec![halves; 2], ceil_mode: false }, vec![grouped], pooled),
        Node::of("flatten", Op::Alias, vec![pooled], flat),
        Node::of("layer", Op::MatMul { transpose_left: false, transpose_right: false }, vec![flat, w3], y),
    ];
    (graph.inputs, graph.outputs) = (vec![x], vec![y]);
    graph
}

#[test]
fn convolutions_pooling_and_padding_are_counted_by_their_shapes() {
    let graph = small();
    for node in &graph.nodes {
        let shapes = |ids: &[TensorId]| ids.iter().map(|id| graph.tensor(*id).shape.as_slice()).collect::<Vec<_>>();
        let Body::Op { op, .. } = &node.body else { panic!("{}", node.name) };
        assert_eq!(op.fits(&shapes(&node.inputs), &shapes(&node.outputs)), Ok(()), "{}", node.name);
    }
    let view = View::of(&graph.with_elements(2)).expect("operators");
    let node = |name: &str| view.nodes.iter().find(|node| node.name == name).unwrap_or_else(|| panic!("{name}"));
    assert_eq!(view.nodes.len(), 6, "a view is no operator");
    let first = node("first");
    assert_eq!((first.class, first.flops), (Class::Tensor, 2.0 * (4 * 16 * 32 * 32) as f64 * 72.0));
    assert_eq!(first.products, Some(Products { m: 4 * 32 * 32, n: 16, k: 72.0 }));
    assert_eq!(first.read.0, 2.0 * f64::from(4 * 8 * 34 * 34 + 16 * 72 + 16));
    assert_eq!(first.gemm, None, "its operands are no matrices");
    // Eight filters of each group see its four channels.
    assert_eq!(node("grouped").products, Some(Products { m: 4 * 16 * 16, n: 8, k: 36.0 }));
    assert_eq!((node("pool").class, node("pool").flops), (Class::Reduce, f64::from(4 * 32 * 8 * 8 * 4)));
    assert_eq!((node("pad").class, node("pad").flops), (Class::Simt, 0.0));
    assert_eq!(node("layer").gemm.map(|gemm| (gemm.m, gemm.n, gemm.k)), Some((4, 64, 32 * 64)));
    let windows: Vec<&str> = view.nodes.iter().filter(|node| node.windows).map(|node| node.name.as_str()).collect();
    assert_eq!(windows, ["first", "pad", "grouped", "pool"]);
}

/// Every operator runs once, what reads windows by itself, and no time is missing.
fn check(name: &str, view: &View) {
    let profile = builtin("a100-40").expect("a profile").expect("it parses");
    let platform = Platform::of(&profile).expect("a platform");
    let model = StageRoofline::new().expect("a model");
    let rates = Modelled { model: &model, on: &profile };
    for policy in [Policy::Kitsune, Policy::Best] {
        let plan = planned(view, policy, &platform, &rates).unwrap_or_else(|error| panic!("{name}: {error}"));
        let groups: Vec<_> = plan.together().cloned().collect();
        assert!(can_run(view, &groups), "{name}");
        assert!(groups.iter().flat_map(|group| &group.nodes).all(|&id| !view.node(id).windows), "{name}");
        assert_eq!(plan.times.bsp.runs.len(), view.nodes.len(), "{name}");
        assert!(plan.times.bsp.runs.iter().all(|run| run.seconds.0 > 0.0 && run.seconds.0.is_finite()), "{name}");
    }
    let vertical = vertical::vertical(view, &warpsight_dataflow::Patterns::vertical(), platform.shared);
    assert!(vertical.groups.iter().flat_map(|(group, _)| &group.nodes).all(|&id| !view.node(id).windows), "{name}");
}

#[test]
fn networks_with_convolutions_are_planned() {
    check("small", &View::of(&small().with_elements(2)).expect("operators"));
    let model = Model::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/text-orientation.onnx")).expect("a model");
    let graph = simplify(&model.graph(&["x=1,3,48,192".parse().expect("a shape")]).expect("a graph"));
    let convolutions = graph.nodes.iter().filter(|node| matches!(node.op(), Some(Op::Conv { .. }))).count();
    let view = View::of(&graph.with_elements(2)).expect("operators");
    let products: Vec<_> = view.nodes.iter().filter(|node| node.windows).filter_map(|node| node.products).collect();
    assert!(convolutions > 20 && products.len() == convolutions, "{convolutions}, {}", products.len());
    assert!(products.iter().all(|own| own.k.fract() == 0.0 && own.k >= 1.0), "{products:?}");
    check("text-orientation", &view);
}
