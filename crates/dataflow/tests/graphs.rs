//! The rebuilt applications of paper 003, table 2, as read.

mod common;

use common::{ALL, disguised, graph};
use warpsight_dataflow::{Graph, GraphError, Group, NodeId, group};

#[test]
fn all_applications_are_read() {
    for (name, operators) in ALL {
        let graph = graph(name);
        assert_eq!(graph.nodes.len(), operators, "{name}");
        for id in graph.ids() {
            assert!(graph.producers(id).iter().all(|&producer| producer < id), "{name}: {id:?} before its producer");
        }
    }
}

#[test]
fn one_group_of_all_operators_keeps_everything_between_them() {
    let graph = graph("nerf");
    let all = Group { nodes: graph.ids().collect(), rule: "all".to_owned() };
    let kept = 1.0 - group::traffic(&graph, &[all]).bytes() / graph.bytes();
    // Rebuilt graph; the paper has 98.6 %.
    assert!((kept - 0.991).abs() < 5e-4, "{kept}");
    assert_eq!(group::traffic(&graph, &[]).bytes(), graph.bytes());
}

#[test]
fn paths_that_leave_and_return_are_seen() {
    let graph = graph("nerf");
    let on_the_way = |a: NodeId, b: NodeId| graph.consumers(a).into_iter().find(|&c| graph.consumers(c).contains(&b));
    // The skip connection apart, a node and the consumer of its consumer are no convex set.
    let pairs = graph.ids().flat_map(|a| graph.ids().map(move |b| (a, b))).filter(|&(a, b)| on_the_way(a, b).is_some());
    let mut seen = 0;
    for (a, b) in pairs {
        assert!(!graph.is_convex(&[a, b]), "{a:?} {b:?}");
        let middle: Vec<NodeId> = graph.consumers(a).into_iter().filter(|&c| graph.consumers(c).contains(&b)).collect();
        let mut whole = vec![a];
        whole.extend(middle);
        whole.push(b);
        seen += usize::from(graph.is_convex(&whole));
    }
    assert!(seen > 15, "{seen}");
}

#[test]
fn names_and_order_change_nothing() {
    for (name, _) in ALL {
        let text = common::text(name);
        let shape = |graph: &Graph| -> Vec<_> {
            let nodes = graph.nodes.iter().map(|node| (node.class, node.flops.to_bits(), node.inputs.clone(), node.outputs.clone()));
            nodes.collect()
        };
        let plain = Graph::read(&text).expect("a graph");
        for seed in 0..4 {
            let other = Graph::read(&disguised(&text, seed)).expect("a graph");
            assert_eq!(shape(&plain), shape(&other), "{name}, seed {seed}");
        }
    }
}

#[test]
fn what_is_wrong_is_named() {
    let graph = |edit: fn(&mut serde_json::Value)| {
        let mut value = serde_json::json!({
            "format": "dataflow-graph/1", "app": "two",
            "tensors": {
                "x": {"shape": [64, 32], "dtype_bytes": 2, "kind": "input"},
                "w": {"shape": [16, 32], "dtype_bytes": 2, "kind": "param"},
                "y": {"shape": [64, 16], "dtype_bytes": 2, "kind": "act"},
                "z": {"shape": [64, 16], "dtype_bytes": 2, "kind": "output"},
            },
            "nodes": [
                {"id": 0, "op": "linear", "cls": "tensor", "inputs": ["x", "w"], "outputs": ["y"], "flops": 65536},
                {"id": 1, "op": "relu", "cls": "simt", "inputs": ["y"], "outputs": ["z"], "flops": 1024},
            ],
        });
        edit(&mut value);
        match Graph::read(&value.to_string()) {
            Ok(_) => "fine".to_owned(),
            Err(GraphError::Form(_)) => "form".to_owned(),
            Err(error) => error.to_string(),
        }
    };
    assert_eq!(graph(|_| ()), "fine");
    assert_eq!(graph(|g| g["format"] = "other".into()), "form");
    assert_eq!(graph(|g| g["nodes"] = serde_json::json!([])), "the graph has no nodes");
    assert_eq!(graph(|g| g["nodes"][0]["inputs"][0] = "z".into()), "a cycle: 0 → 1 → 0");
    assert_eq!(graph(|g| g["nodes"][1]["inputs"][0] = "q".into()), "node `1` uses tensor `q`, which the graph does not have");
    assert_eq!(graph(|g| g["nodes"][0]["outputs"][0] = "z".into()), "tensor `z`, written by node `1`, is written by node `0` already");
    assert_eq!(
        graph(|g| g["tensors"]["y"]["shape"][0] = (-1).into()),
        "tensor `y` has the extent -1: only positive, fixed shapes can be planned"
    );
    assert_eq!(
        graph(|g| g["tensors"]["y"]["shape"][0] = "batch".into()),
        "tensor `y` has the extent \"batch\": only positive, fixed shapes can be planned"
    );
    assert_eq!(
        graph(|g| g["tensors"]["x"]["kind"] = "act".into()),
        "tensor `x` is read by node `0`, but no node writes it and it is not an input"
    );
    assert_eq!(
        graph(|g| {
            g["tensors"]["w"]["shape"][0] = 17.into();
        }),
        "node `0`: 65536 operations are no product of the shapes [64, 32], [17, 32], [64, 16]"
    );
    assert_eq!(
        graph(|g| {
            g["tensors"]["z"]["shape"] = serde_json::json!([65, 16]);
        }),
        "node `1`: `y` [64, 16] does not fit its output `z` [65, 16]"
    );
    assert_eq!(graph(|g| g["nodes"][0]["bytes_written"] = 7.into()), "node `0`: it writes 7 B, but its outputs have 2048 B");
}
