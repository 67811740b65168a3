//! Groups as pipelines: Algorithm 1 of paper 003, tiles, depths, and what is refused.

mod common;

use common::graph;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use warpsight_dataflow::design::{deepen, sums_rows};
use warpsight_dataflow::rates::key;
use warpsight_dataflow::{
    Class, Design, Group, Measured, Modelled, NodeId, Patterns, Platform, Rates, Role, Tiling, View, design, pipeline, plan, select,
};
use warpsight_ir::profile::{Fact, Source, builtin};
use warpsight_ir::{Bytes, Profile, Seconds, StageClass};
use warpsight_predict::StageRoofline;

const TILING: Tiling = Tiling { rows: 128, epilogues: true, held: 108, partials: 16 };

fn a100() -> Profile {
    builtin("a100-40").expect("a profile").expect("it parses")
}

fn platform() -> Platform {
    Platform::of(&a100()).expect("numbers")
}

fn all(graph: &View) -> Group {
    Group { nodes: graph.ids().collect(), rule: "all".to_owned() }
}

/// A graph of these nodes: name, class, inputs, output, operations.
fn small(tensors: &[(&str, &[u64], &str)], nodes: &[(&str, &str, &[&str], &str, f64)]) -> View {
    wide(2, tensors, nodes)
}

fn wide(element: u64, tensors: &[(&str, &[u64], &str)], nodes: &[(&str, &str, &[&str], &str, f64)]) -> View {
    let tensor =
        |&(name, shape, kind): &(&str, &[u64], &str)| (name.to_owned(), json!({"shape": shape, "dtype_bytes": element, "kind": kind}));
    let node = |&(id, class, inputs, output, flops): &(&str, &str, &[&str], &str, f64)| json!({"id": id, "op": class, "cls": class, "inputs": inputs, "outputs": [output], "flops": flops});
    let tensors: serde_json::Map<String, Value> = tensors.iter().map(tensor).collect();
    let nodes: Vec<Value> = nodes.iter().map(node).collect();
    let graph = json!({"format": "dataflow-graph/1", "app": "small", "tensors": tensors, "nodes": nodes});
    common::read(&graph.to_string()).expect("a graph")
}

/// An element-wise gradient, the two products that it goes to, and its sum of columns (figures 2c and 8e).
fn backward() -> View {
    let (rows, units) = (65536_u64, 256_u64);
    let flops = 2.0 * (rows * units * units) as f64;
    small(
        &[
            ("dy", &[rows, units], "input"),
            ("mask", &[rows, units], "input"),
            ("x", &[rows, units], "input"),
            ("w", &[units, units], "input"),
            ("dz", &[rows, units], "act"),
            ("dx", &[rows, units], "output"),
            ("dw", &[units, units], "output"),
            ("db", &[1, units], "output"),
        ],
        &[
            ("mask_dy", "simt", &["dy", "mask"], "dz", (rows * units) as f64),
            ("to_x", "tensor", &["dz", "w"], "dx", flops),
            ("to_w", "tensor", &["dz", "x"], "dw", flops),
            ("to_b", "reduce", &["dz"], "db", units as f64),
        ],
    )
}

fn named<'a>(design: &'a Design, name: &str) -> &'a warpsight_dataflow::Stage {
    design.stages.iter().find(|stage| stage.name == name).unwrap_or_else(|| panic!("{name}: {:?}", names(design)))
}

fn names(design: &Design) -> Vec<&str> {
    design.stages.iter().map(|stage| stage.name.as_str()).collect()
}

#[test]
fn reductions_are_split_and_one_queue_serves_many() {
    let graph = backward();
    let found = design(&graph, &all(&graph), TILING, &platform()).expect("a design");
    // 512 tokens of 128 rows: 64 partial sums of columns come together by eights.
    let (fan, tree, last) = (named(&found, "to_b fan-in"), named(&found, "to_b tree of 8"), named(&found, "to_b final"));
    assert_eq!((fan.role, fan.firings, tree.firings, last.firings), (Role::FanIn, 64, 8, 1));
    assert_eq!((fan.class, last.role, last.written.0), (StageClass::Simt, Role::Final, 512.0));
    // The gradient of parameters sums over rows: 256 × 256 sums are two tiles, each in registers of its own work-group.
    let fan = named(&found, "to_w fan-in");
    assert_eq!((fan.class, fan.role, fan.parts), (StageClass::Tensor, Role::FanIn, 2));
    assert_eq!(fan.firings % 2, 0, "{}", fan.firings);
    assert_eq!(named(&found, "to_x").role, Role::Whole);
    // One queue, three consumers.
    let multicast: Vec<_> = found.queues.iter().filter(|queue| queue.consumers.len() == 3).collect();
    assert_eq!(multicast.len(), 1);
    assert_eq!((multicast[0].payload.0, multicast[0].tokens), (65536.0, 512));
    let sums = graph.ids().filter(|&id| sums_rows(&graph, graph.node(id))).count();
    assert_eq!(sums, 2);
}

/// A product, an element-wise operator, another product; the activation goes to memory too.
fn network(hidden: u64, saved: bool) -> View {
    let rows = 32768;
    small(
        &[
            ("x", &[rows, 256], "input"),
            ("w", &[hidden, 256], "param"),
            ("h", &[rows, hidden], "act"),
            ("a", &[rows, hidden], if saved { "output" } else { "act" }),
            ("v", &[256, hidden], "param"),
            ("y", &[rows, 256], "output"),
        ],
        &[
            ("up", "tensor", &["x", "w"], "h", 2.0 * (rows * 256 * hidden) as f64),
            ("act", "simt", &["h"], "a", (rows * hidden) as f64),
            ("down", "tensor", &["a", "v"], "y", 2.0 * (rows * 256 * hidden) as f64),
        ],
    )
}

#[test]
fn hidden_units_are_divided_and_epilogues_decided_by_time() {
    let graph = network(1024, false);
    let found = design(&graph, &all(&graph), TILING, &platform()).expect("a design");
    assert_eq!(names(&found), ["up+act", "down"]);
    // 512 KB of parameters, 121 KB of shared memory less 24 KB of slabs for a work-group: six parts.
    assert_eq!(found.stages.iter().map(|stage| stage.parts).collect::<Vec<_>>(), [6, 6]);
    assert!(found.stages.iter().all(|stage| stage.shared <= platform().tensor_shared));
    let apart = design(&graph, &all(&graph), Tiling { epilogues: false, ..TILING }, &platform()).expect("a design");
    assert_eq!(names(&apart), ["up", "act", "down"]);
    let streamed = design(&graph, &all(&graph), Tiling { held: 0, ..TILING }, &platform()).expect("a design");
    assert_eq!((streamed.stages[0].parts, streamed.stages[0].firings_per_token, streamed.stages[0].firings), (1, 8, 2048));
    // 64 MB of parameters are held nowhere.
    let graph = network(131_072, false);
    let found = design(&graph, &all(&graph), Tiling { rows: 32, ..TILING }, &platform()).expect("a design");
    assert_eq!(found.stages[0].parts, 1);
    assert!(found.stages[0].reread.0 > 1e9, "{:?}", found.stages[0].reread);
    // The faster one is taken, and the other one's time is told.
    let (graph, profile) = (network(1024, false), a100());
    let model = StageRoofline::new().expect("constants");
    let plan = pipeline(&graph, &all(&graph), &platform(), &Modelled { model: &model, on: &profile }).expect("a pipeline");
    let (tiling, seconds) = plan.otherwise.expect("both can be");
    assert_ne!(tiling.epilogues, plan.design.tiling.epilogues);
    assert!(seconds >= plan.seconds);
}

#[test]
fn what_a_backward_pass_needs_is_written_beside() {
    let graph = network(1024, true);
    let found = design(&graph, &all(&graph), TILING, &platform()).expect("a design");
    let (own, tensor) = (named(&found, "up+act"), 32768.0 * 1024.0 * 2.0);
    assert_eq!((own.written.0, own.side_outputs.len()), (tensor, 1));
    assert_eq!(graph.tensor(own.side_outputs[0]).name, "a");
    assert_eq!(found.queues.len(), 1, "and still passes the queue");
}

#[test]
fn attention_is_a_pipeline() {
    let (batch, rows, depth) = (64_u64, 512_u64, 128_u64);
    let flops = 2.0 * (batch * rows * rows * depth) as f64;
    let graph = small(
        &[
            ("q", &[batch, rows, depth], "input"),
            ("k", &[batch, rows, depth], "input"),
            ("v", &[batch, rows, depth], "input"),
            ("s", &[batch, rows, rows], "act"),
            ("c", &[batch, rows, rows], "act"),
            ("p", &[batch, rows, rows], "act"),
            ("o", &[batch, rows, depth], "output"),
        ],
        &[
            ("qk", "tensor", &["q", "k"], "s", flops),
            ("scale", "simt", &["s"], "c", (batch * rows * rows) as f64),
            ("softmax", "simt", &["c"], "p", 5.0 * (batch * rows * rows) as f64),
            ("pv", "tensor", &["p", "v"], "o", flops),
        ],
    );
    let found = design(&graph, &all(&graph), TILING, &platform()).expect("a design");
    // Scaling is done on the tiles; a softmax needs rows.
    assert_eq!(names(&found), ["qk+scale", "softmax", "pv"]);
    assert!(found.queues.iter().all(|queue| (queue.tokens, queue.payload.0) == (256, 131_072.0)), "{:?}", found.queues);
    let (profile, model) = (a100(), StageRoofline::new().expect("constants"));
    let plan = plan(&graph, &[all(&graph)], &[], &platform(), &Modelled { model: &model, on: &profile }).expect("a plan");
    assert_eq!(plan.groups.len(), 1, "{:?}", plan.refused);
}

#[test]
fn shorter_paths_hold_what_longer_ones_take() {
    // Two layers beside a skip.
    let rows = 32768;
    let flops = 2.0 * (rows * 256 * 256) as f64;
    let act: &[u64] = &[rows, 256];
    let graph = small(
        &[("x", act, "input"), ("a", act, "act"), ("b", act, "act"), ("c", act, "act"), ("y", act, "output"), ("w", &[256, 256], "param")],
        &[
            ("first", "simt", &["x"], "a", 1e7),
            ("one", "tensor", &["a", "w"], "b", flops),
            ("two", "tensor", &["b", "w"], "c", flops),
            ("join", "simt", &["a", "c"], "y", 1e7),
        ],
    );
    let mut found = design(&graph, &all(&graph), TILING, &platform()).expect("a design");
    let sets = |design: &Design| design.stages.iter().map(|stage| 4 * stage.parts).collect::<Vec<u32>>();
    let ctas = sets(&found);
    deepen(&mut found, &graph, &ctas, &platform()).expect("room");
    let depth = |design: &Design, tensor: &str| {
        design.queues.iter().find(|queue| graph.tensor(queue.tensor).name == tensor).expect("a queue").depth
    };
    // Four sets each: eight slots between neighbours; the skip holds the eight tokens of both layers more.
    assert_eq!((depth(&found, "b"), depth(&found, "a")), (8, 16));
    // In a smaller cache the depths shrink, not below two; then the least is refused with its bytes.
    let cache = |slots: f64| Platform { slots: Bytes(slots), ..platform() };
    deepen(&mut found, &graph, &ctas, &cache(8.0 * 65536.0)).expect("room");
    assert!((2..8).contains(&depth(&found, "b")) && depth(&found, "a") < 16);
    let error = deepen(&mut found, &graph, &ctas, &cache(4.0 * 65536.0)).expect_err("no room").to_string();
    assert!(error.starts_with("queues need 393216 B at least, the second-level cache has 262144 B for them"), "{error}");
}

#[test]
fn what_is_no_pipeline_says_why() {
    let with = |graph: &View, profile: &Profile| {
        let platform = Platform::of(profile).expect("numbers");
        let model = StageRoofline::new().expect("constants");
        pipeline(graph, &all(graph), &platform, &Modelled { model: &model, on: profile }).expect_err("no pipeline").to_string()
    };
    let error = |graph: &View| with(graph, &a100());
    let dlrm = graph("dlrm");
    assert_eq!(error(&dlrm), "node `6` reads through indices: its input does not come in tokens");
    // Sums that registers do not hold.
    let (rows, units) = (1536_u64, 14336_u64);
    let flops = 2.0 * (rows * units * 4096) as f64;
    let graph = small(
        &[("g", &[rows, units], "input"), ("d", &[rows, units], "act"), ("x", &[rows, 4096], "input"), ("dw", &[units, 4096], "output")],
        &[("mul", "simt", &["g"], "d", 1e7), ("to_w", "tensor", &["d", "x"], "dw", flops)],
    );
    assert_eq!(
        error(&graph),
        "node `to_w` keeps 1792 tiles of sums, each in the registers of a work-group of its own, and 108 multiprocessors are there"
    );
    // Rows that shared memory does not hold.
    let act: &[u64] = &[1024, 131_072];
    let graph = small(
        &[("x", act, "input"), ("y", act, "act"), ("z", act, "output")],
        &[("scale", "simt", &["x"], "y", 1e8), ("softmax", "simt", &["y"], "z", 5.0 * 1024.0 * 131_072.0)],
    );
    assert!(
        error(&graph).starts_with("node `scale` needs 524288 B of shared memory, a work-group of its class has 41"),
        "{}",
        error(&graph)
    );
    // The transposed result of one product as the other's whole operand.
    let square: &[u64] = &[512, 512];
    let flops = 2.0 * 512_f64.powi(3);
    let graph = small(
        &[
            ("x", &[1024, 512], "input"),
            ("w", square, "input"),
            ("v", square, "input"),
            ("u", square, "act"),
            ("y", &[1024, 512], "output"),
        ],
        &[("first", "tensor", &["w", "v"], "u", flops), ("second", "tensor", &["x", "u"], "y", 2.0 * flops)],
    );
    assert_eq!(error(&graph), "node `second` needs `u` whole, but it would come token by token");
    // Elements that matrix units do not take.
    let graph = wide(
        3,
        &[("x", square, "input"), ("w", square, "param"), ("y", square, "act"), ("z", square, "output")],
        &[("product", "tensor", &["x", "w"], "y", flops), ("act", "simt", &["y"], "z", 1e5)],
    );
    assert_eq!(error(&graph), "node `product`: not covered by this model: matrix units take no elements of 3 B");
    // Devices without matrix units for a type, and with little shared memory.
    let mut other = a100();
    other.execution.matrix.f16 = Fact::absent("none for halves");
    assert_eq!(with(&network(256, false), &other), "node `up`: profile `a100-40` lacks `execution.matrix.f16`: none for halves");
    other.execution.local = Fact::known(Bytes(16384.0), Source::Assumed, "little");
    assert!(with(&network(256, false), &other).starts_with("node `up` needs "), "{}", with(&network(256, false), &other));
}

#[test]
fn an_operator_in_the_way_runs_by_itself() {
    let graph = graph("train_llama");
    let (profile, model) = (a100(), StageRoofline::new().expect("constants"));
    let groups = select::kitsune(&graph, &Patterns::kitsune());
    let plan = plan(&graph, &groups, &[], &platform(), &Modelled { model: &model, on: &profile }).expect("a plan");
    let single: Vec<&Group> = plan.refused.iter().map(|(group, _)| group).filter(|group| group.nodes.len() == 1).collect();
    assert!(single.iter().any(|group| graph.node(group.nodes[0]).gemm.is_some_and(|gemm| (gemm.m, gemm.n) == (14336, 4096))));
    assert!(single.iter().all(|group| plan.rest.contains(&group.nodes[0]) && graph.node(group.nodes[0]).class == Class::Tensor));
}

/// Which operator stands in the way does not depend on what it is called.
#[test]
fn names_may_occur_twice() {
    let graph = graph("train_llama");
    let (profile, model) = (a100(), StageRoofline::new().expect("constants"));
    let planned = |graph: &View| {
        let groups = select::kitsune(graph, &Patterns::kitsune());
        let plan = plan(graph, &groups, &[], &platform(), &Modelled { model: &model, on: &profile }).expect("a plan");
        let refused: Vec<(Group, Option<NodeId>)> =
            plan.refused.into_iter().map(|(group, why)| (group, why.node().map(|node| node.id))).collect();
        let groups: Vec<Group> = plan.groups.into_iter().map(|plan| plan.group).collect();
        (groups, refused, plan.rest)
    };
    let mut alike = graph.clone();
    alike.nodes.iter_mut().for_each(|node| node.name = "same".to_owned());
    let expected = planned(&graph);
    assert!(expected.1.iter().any(|(group, node)| *node == Some(group.nodes[0])), "an operator that stands in the way: {:?}", expected.1);
    assert_eq!(planned(&alike), expected);
}

#[test]
fn measured_rates_come_first_and_are_scaled() {
    let (profile, model) = (a100(), StageRoofline::new().expect("constants"));
    let graph = network(1024, false);
    let found = design(&graph, &all(&graph), TILING, &platform()).expect("a design");
    let (measured, other) = (&found.stages[0], &found.stages[1]);
    let modelled = || Modelled { model: &model, on: &profile };
    let table = BTreeMap::from([(key(&measured.work(1)), BTreeMap::from([(12, Seconds(1e-3))]))]);
    let rates = Measured { table, model: modelled() };
    assert_eq!(rates.seconds(&measured.work(12)).expect("measured"), Seconds(1e-3));
    // Twice the sets of work-groups: half the rounds.
    assert!((rates.seconds(&measured.work(24)).expect("scaled").0 - 5e-4).abs() < 1e-12);
    assert_eq!(rates.seconds(&other.work(12)), modelled().seconds(&other.work(12)));
    let slow = pipeline(&graph, &all(&graph), &platform(), &rates).expect("a pipeline");
    let plain = pipeline(&graph, &all(&graph), &platform(), &modelled()).expect("a pipeline");
    assert!(slow.seconds >= plain.seconds, "what is measured slower is planned slower or otherwise");
    assert_eq!(NodeId(0), plain.group.nodes[0]);
}
