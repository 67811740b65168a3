//! The shipped model from file to plan, against onnxruntime's outputs.

mod support;

use std::collections::{BTreeMap, HashSet};
use support::{draw, relative};
use warpsight_generate::operators::parse_operator;
use warpsight_graph::{Graph, Model, ModelCard, Op, Plan, PlanRole, TensorId, evaluate_f64, memory, simplify};
use warpsight_ir::{Bytes, Meanwhile};

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/text-orientation.onnx");

fn graph() -> Graph {
    let card = ModelCard::beside(MODEL.as_ref()).unwrap().expect("models/text-orientation.toml");
    Model::read(MODEL).unwrap().graph(&card.shapes()).unwrap()
}

/// The inputs of `fixtures/make.py`, rounded to `f32` where it does.
fn input(seed: u64) -> Vec<f64> {
    let f32s = draw(seed, 3 * 48 * 192).into_iter().map(|v| v as f32);
    match seed {
        2 => f32s.map(|v| f64::from(v * 0.25 - 0.5)).collect(),
        3 => f32s.enumerate().map(|(i, v)| f64::from(if i % 192 < 96 { v + 1.0 } else { v })).collect(),
        _ => f32s.map(f64::from).collect(),
    }
}

#[test]
fn oracle_agrees_with_onnxruntime_on_three_inputs() {
    let cases: Vec<serde_json::Value> = serde_json::from_str(include_str!("fixtures/network.json")).unwrap();
    let graph = graph();
    assert_eq!(cases.len(), 3);
    for case in cases {
        let expected: Vec<f64> = case["output"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        let found = evaluate_f64(&graph, &[input(case["seed"].as_u64().unwrap())]).unwrap();
        // onnxruntime computes in f32 through 53 convolutions.
        let worst = found[0].iter().zip(&expected).map(|(f, e)| (f - e).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-5, "{found:?} instead of {expected:?}");
    }
}

#[test]
fn fused_plan_agrees_with_the_unfused_graph() {
    let graph = graph();
    let input = [input(1)];
    let expected = evaluate_f64(&graph, &input).unwrap();
    let simple = simplify(&graph);
    assert!(relative(&evaluate_f64(&simple, &input).unwrap()[0], &expected[0]) < 1e-9);
    let plan = Plan::of(&simple).unwrap();
    assert!(relative(&plan.evaluate_f64(&input).unwrap()[0], &expected[0]) < 1e-9);
}

#[test]
fn everything_elementwise_but_the_squeeze_and_excite_products_is_fused() {
    let simple = simplify(&graph());
    assert!(!simple.nodes.iter().any(|n| matches!(n.op(), Some(Op::BatchNormalization { .. }))));
    let plan = Plan::of(&simple).unwrap();
    let mut kinds = BTreeMap::new();
    for op in &plan.operators {
        *kinds.entry(op.operator.kind.to_string()).or_insert(0) += 1;
    }
    let expected = [
        ("conv2d", 40),
        // One kernel may do the work of both.
        ("conv2d_maxpool", 1),
        ("dwconv2d", 11),
        ("elementwise_mul", 9),
        ("global_average_pool", 9),
        ("global_average_pool_conv2d", 1),
        ("matmul_softmax", 1),
    ];
    assert_eq!(kinds, expected.map(|(k, n)| (k.to_string(), n)).into());
    assert_eq!(plan.outputs.len(), 1);
    let output = plan.tensor(plan.outputs[0]);
    assert_eq!((output.name.as_str(), output.shape.as_slice()), ("save_infer_model/scale_0.tmp_1", [1, 2].as_slice()));
    assert!(matches!(output.role, PlanRole::Output));
}

#[test]
fn distinct_operators_and_memory() {
    let plan = Plan::of(&simplify(&graph())).unwrap();
    let distinct = plan.distinct();
    assert_eq!(distinct.iter().map(|d| d.uses.len()).sum::<usize>(), plan.operators.len());
    assert!(distinct.len() < plan.operators.len(), "{}", distinct.len());
    let ranges = memory::live_ranges(&plan);
    let request = |(id, &(first, last)): (&TensorId, &(usize, usize))| {
        let bytes = 4 * plan.tensor(*id).len() as u64;
        memory::Request { bytes, storage: memory::Storage::Buffer, first, last }
    };
    let requests: Vec<_> = ranges.iter().map(request).collect();
    let memory = memory::plan(&requests, &BTreeMap::new());
    assert!(memory.total * 5 < memory.naive, "{memory:?}");
    assert_eq!(memory::in_pass(&plan).handed.0, memory.peak as f64);
    let of = |text| Plan::of_operator(&parse_operator(text).expect("an operator"), |n| vec![0.0; n]);
    // 8 rows of 100 halves and of each row a maximum and a sum, all needed by the last kernel; one kernel hands nothing on.
    assert_eq!(memory::in_pass(&of("softmax n=8 c=100 dtype=f16s")).handed.0, 8.0 * (100.0 * 2.0 + 4.0 + 4.0));
    assert_eq!(memory::in_pass(&of("relu n=8 c=100")), Meanwhile::default());
    // Each constant that an operator reads once.
    let read: HashSet<&TensorId> = plan.operators.iter().flat_map(|op| &op.inputs).collect();
    let constants = read.into_iter().map(|id| plan.tensor(*id)).filter(|tensor| matches!(tensor.role, PlanRole::Constant(_)));
    let bytes: usize = constants.map(|tensor| 4 * tensor.len()).sum();
    assert_eq!(memory::in_pass(&plan).pass, Bytes((memory.peak + bytes as u64) as f64));
    assert_eq!(memory::in_pass(&of("matmul m=8 n=8 k=8")), Meanwhile::default());
    assert!(memory.peak <= memory.total && memory.total <= 2 * memory.peak, "{memory:?}");
}
