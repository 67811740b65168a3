//! Graphs of operators as JSON, and what is wrong with them.

use warpsight_graph::{FormatError, Graph, Plan, evaluate_f64};

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
            Err(FormatError::Form { .. }) => "form".to_owned(),
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

/// A graph of version 2 of these tensors and nodes, as text.
fn second(tensors: serde_json::Value, nodes: serde_json::Value) -> String {
    serde_json::json!({"format": "dataflow-graph/2", "tensors": tensors, "nodes": nodes}).to_string()
}

/// A file that ends too early is told of the version that it names, at its end.
#[test]
fn what_is_no_json_is_told_of_its_own_version() {
    let whole = second(
        serde_json::json!({"x": {"shape": [4], "dtype_bytes": 4, "kind": "input"}, "y": {"shape": [4], "dtype_bytes": 4, "kind": "output"}}),
        serde_json::json!([{"id": "a", "op": "relu", "body": {"unary": "relu"}, "inputs": ["x"], "outputs": ["y"]}]),
    );
    assert!(Graph::read(&whole).is_ok());
    for cut in [&whole[..whole.len() - 1], &whole.replace("\"body\":", "\"body\"")] {
        let error = Graph::read(cut).unwrap_err();
        assert!(matches!(error, FormatError::Form { version: 2, .. }), "{error}");
    }
}

/// Numbers of files reach evaluation; of a parameter only the size is known.
#[test]
fn constants_have_their_number_and_parameters_none() {
    let graph = |kind: &str, shape: &[i64]| {
        let mut w = serde_json::json!({"shape": shape, "dtype_bytes": 4, "kind": kind});
        if kind == "const" {
            w["value"] = 3.0.into();
        }
        let tensor = |kind: &str| serde_json::json!({"shape": [2, 2], "dtype_bytes": 4, "kind": kind});
        let tensors = serde_json::json!({"x": tensor("input"), "w": w, "y": tensor("output")});
        let nodes = serde_json::json!([{"id": "a", "op": "mul", "body": {"binary": "mul"}, "inputs": ["x", "w"], "outputs": ["y"]}]);
        Graph::read(&second(tensors, nodes)).expect("a graph")
    };
    let inputs = [vec![1.0, 2.0, 3.0, 4.0]];
    for shape in [&[2, 2][..], &[1]] {
        let filled = graph("const", shape);
        assert_eq!(evaluate_f64(&filled, &inputs).expect("values"), [[3.0, 6.0, 9.0, 12.0]]);
        assert_eq!(Plan::of(&filled).expect("planned").evaluate_f64(&inputs).expect("values"), [[3.0, 6.0, 9.0, 12.0]]);
    }
    let unknown = graph("param", &[2, 2]);
    let said = "`w` has no elements: only its size is known";
    assert!(evaluate_f64(&unknown, &inputs).unwrap_err().to_string().contains(said));
    assert!(Plan::of(&unknown).unwrap_err().to_string().contains(said));
}

/// Rows that are too long for one work-item are summed in parts; the statistics are still those of whole rows.
#[test]
fn statistics_of_long_rows_are_those_of_whole_rows() {
    const LONG: i64 = 40_001;
    let row = |kind: &str, shape: &[i64]| serde_json::json!({"shape": shape, "dtype_bytes": 4, "kind": kind});
    let tensors = serde_json::json!({
        "x": row("input", &[2, LONG]), "s": row("input", &[LONG]),
        "y": row("output", &[2, LONG]), "m": row("output", &[2, 1]), "d": row("output", &[2, 1])});
    let body = serde_json::json!({"layer_normalization": {"axis": 1, "epsilon": 1e-5}});
    let nodes = serde_json::json!([{"id": "n", "op": "layernorm", "body": body, "inputs": ["x", "s"], "outputs": ["y", "m", "d"]}]);
    let graph = Graph::read(&second(tensors, nodes)).expect("a graph");
    let x: Vec<f64> = (0..2 * LONG).map(|i| f64::from((i % 97) as i32) / 7.0 + if i < LONG { 0.0 } else { 5.0 }).collect();
    let inputs = [vec![1.0; LONG as usize], x];
    let (oracle, plan) = (evaluate_f64(&graph, &inputs).expect("values"), Plan::of(&graph).expect("planned"));
    let planned = plan.evaluate_f64(&inputs).expect("values");
    for (at, output) in plan.outputs.iter().enumerate() {
        let (found, expected) = (&planned[at], &oracle[at]);
        assert_eq!((plan.tensor(*output).len(), found.len()), (expected.len(), expected.len()));
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "output {at}: {:?} {:?}", &found[..2], &expected[..2]);
    }
}
