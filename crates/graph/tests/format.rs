//! Graphs of operators as JSON, and what is wrong with them.

use warpsight_graph::{FormatError, Graph};

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
