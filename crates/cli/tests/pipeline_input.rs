//! What `warpsight pipeline` reads: models as graphs, and what is wrong with files.

mod common;

use common::{Sandbox, said};
use prost::Message;
use serde_json::{Value, json};
use warpsight_graph::onnx::proto::tensor_shape_proto::{Dimension, dimension};
use warpsight_graph::onnx::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TensorShapeProto, TypeProto, ValueInfoProto,
    attribute_proto, tensor_proto, type_proto,
};

fn tensor(name: &str, dims: &[i64]) -> TensorProto {
    let elements = dims.iter().product::<i64>() as usize;
    let float_data = (0..elements).map(|at| (at % 7) as f32 - 3.0).collect();
    TensorProto {
        name: name.into(),
        dims: dims.to_vec(),
        data_type: tensor_proto::DataType::Float as i32,
        float_data,
        ..TensorProto::default()
    }
}

fn ints(name: &str, values: &[i64]) -> TensorProto {
    let (dims, int64_data) = (vec![values.len() as i64], values.to_vec());
    TensorProto { name: name.into(), dims, data_type: tensor_proto::DataType::Int64 as i32, int64_data, ..TensorProto::default() }
}

/// A float with these extents; 0 is open.
fn value(name: &str, dims: &[i64]) -> ValueInfoProto {
    let dim = |&extent: &i64| {
        let value = if extent > 0 { dimension::Value::DimValue(extent) } else { dimension::Value::DimParam("batch".into()) };
        Dimension { value: Some(value) }
    };
    let shape = Some(TensorShapeProto { dim: dims.iter().map(dim).collect() });
    let tensor = type_proto::Tensor { elem_type: tensor_proto::DataType::Float as i32, shape };
    let r#type = Some(TypeProto { value: Some(type_proto::Value::TensorType(tensor)) });
    ValueInfoProto { name: name.into(), r#type }
}

fn node(op: &str, name: &str, inputs: &[&str], output: &str) -> NodeProto {
    let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    NodeProto { op_type: op.into(), name: name.into(), input: own(inputs), output: own(&[output]), ..NodeProto::default() }
}

fn attribute(name: &str, i: i64) -> AttributeProto {
    AttributeProto { name: name.into(), i, r#type: attribute_proto::AttributeType::Int as i32, ..AttributeProto::default() }
}

/// Two layers with biases, written in two ways, a view and a softmax.
fn network(batch: i64) -> GraphProto {
    let mut first = node("Gemm", "first", &["x", "w1", "b1"], "h");
    first.attribute.push(attribute("transB", 1));
    let mut soft = node("Softmax", "soft", &["folded"], "y");
    soft.attribute.push(attribute("axis", -1));
    GraphProto {
        name: "layers".into(),
        node: vec![
            first,
            node("Relu", "act", &["h"], "a"),
            node("MatMul", "second", &["a", "w2"], "p"),
            node("Add", "bias", &["p", "b2"], "o"),
            node("Reshape", "fold", &["o", "shape"], "folded"),
            soft,
        ],
        initializer: vec![
            tensor("w1", &[128, 256]),
            tensor("b1", &[128]),
            tensor("w2", &[128, 64]),
            tensor("b2", &[64]),
            ints("shape", &[8, -1, 64]),
        ],
        input: vec![value("x", &[batch, 256])],
        output: vec![value("y", &[8, batch / 8, 64])],
    }
}

fn write(s: &Sandbox, name: &str, graph: GraphProto) -> String {
    let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: 17 }];
    let model = ModelProto { ir_version: 8, opset_import, graph: Some(graph), ..ModelProto::default() };
    std::fs::write(s.path(name), model.encode_to_vec()).expect("writes");
    s.text(name)
}

/// The same network as a graph of operators.
fn equal() -> Value {
    let tensor = |shape: &[u64], kind: &str| json!({"shape": shape, "dtype_bytes": 2, "kind": kind});
    json!({
        "format": "dataflow-graph/1", "app": "layers",
        "tensors": {
            "x": tensor(&[8192, 256], "input"), "w1": tensor(&[128, 256], "param"), "b1": tensor(&[128], "param"),
            "h": tensor(&[8192, 128], "act"), "a": tensor(&[8192, 128], "act"),
            "w2": tensor(&[128, 64], "param"), "b2": tensor(&[64], "param"), "o": tensor(&[8192, 64], "act"), "y": tensor(&[8, 1024, 64], "output"),
        },
        "nodes": [
            {"id": "first", "op": "linear", "cls": "tensor", "inputs": ["x", "w1", "b1"], "outputs": ["h"], "flops": 2 * 8192 * 256 * 128},
            {"id": "act", "op": "relu", "cls": "simt", "inputs": ["h"], "outputs": ["a"], "flops": 8192 * 128},
            {"id": "second", "op": "linear", "cls": "tensor", "inputs": ["a", "w2", "b2"], "outputs": ["o"], "flops": 2 * 8192 * 128 * 64},
            {"id": "soft", "op": "softmax", "cls": "simt", "inputs": ["o"], "outputs": ["y"], "flops": 5 * 8192 * 64},
        ],
    })
}

#[test]
fn a_model_is_planned_as_the_graph_that_says_the_same() {
    let s = Sandbox::new();
    let model = write(&s, "layers.onnx", network(8192));
    let graph = s.text("layers.json");
    std::fs::write(&graph, equal().to_string()).expect("writes");
    let plan = |args: &[&str]| -> Value {
        let output = s.run(&[&["pipeline", "--device", "a100-40", "--json", "--simulate"], args].concat(), 0);
        let mut plan: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        // Only names of files and tensors differ.
        plan["file"] = Value::Null;
        for group in plan["groups"].as_array_mut().expect("groups") {
            group["channels"].as_array_mut().expect("channels").iter_mut().for_each(|channel| channel["tensor"] = Value::Null);
        }
        plan
    };
    let expected = plan(&["--policy", "kitsune", &graph]);
    assert_eq!((&expected["ops"], &expected["dataflow"]["ops"]), (&json!(4), &json!(4)), "{expected}");
    // `--device` takes all that follows: the file comes first.
    let found = plan(&["--policy", "kitsune", "--elements", "f16", &model]);
    let name = |plan: &Value| {
        plan["groups"][0]["stages"].as_array().expect("stages").iter().map(|stage| stage["nodes"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(name(&found), name(&expected));
    assert_eq!(found, expected);
    // f32, as the file has it: twice the traffic, and no simulation of products that sim/devices do not describe.
    let wide = plan(&["--policy", "kitsune", &model]);
    assert_eq!(wide["bsp"]["traffic_bytes"].as_f64().zip(found["bsp"]["traffic_bytes"].as_f64()).map(|(a, b)| a / b), Some(2.0));
    assert!(wide["simulated"]["unknown"].as_str().expect("a reason").contains("multiplies elements of 4 B"), "{wide}");
}

#[test]
fn models_that_cannot_be_planned_say_which_node() {
    let s = Sandbox::new();
    let refused = |file: &str, more: &[&str]| said(&s.run(&[&["pipeline", file, "--device", "a100-40"], more].concat(), 2));
    let open = write(&s, "open.onnx", network(0));
    let text = refused(&open, &[]);
    assert!(text.contains("the model leaves dimensions of its inputs open: x[0] (batch); give them with --input-shape x=?,256"), "{text}");
    s.run(&["pipeline", &open, "--device", "a100-40", "--input-shape", "x=512,256"], 0);
    let bytes = std::fs::read(&open).expect("a model");
    std::fs::write(s.path("cut.onnx"), &bytes[..bytes.len() / 2]).expect("writes");
    assert!(refused(&s.text("cut.onnx"), &[]).contains("the model file is truncated"));
    let mut huge = network(512);
    huge.input = vec![value("x", &[1 << 60, 256])];
    let text = refused(&write(&s, "huge.onnx", huge), &[]);
    assert!(text.contains("expected extents of 1 or more and at most 2147483647 elements"), "{text}");
    let mut strange = network(512);
    strange.node[1] = node("NonZero", "act", &["h"], "a");
    assert!(refused(&write(&s, "strange.onnx", strange), &[]).contains("node `act`: operator NonZero (opset 17) is not supported"));
    let mut nothing = network(512);
    nothing.node = vec![node("Identity", "same", &["x"], "y")];
    nothing.output = vec![value("y", &[512, 256])];
    assert!(refused(&write(&s, "nothing.onnx", nothing), &[]).contains("the graph has no operators, only views of tensors: `same`"));
}

/// Convolutions run by themselves; what comes behind them is planned as ever.
#[test]
fn a_network_with_convolutions_is_planned() {
    let s = Sandbox::new();
    let model = format!("{}/../../models/text-orientation.onnx", env!("CARGO_MANIFEST_DIR"));
    let output = s.run(&["pipeline", &model, "--device", "a100-40", "--input-shape", "x=1,3,48,192", "--elements", "f16", "--json"], 0);
    let plan: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(plan["ops"].as_u64().expect("operators") > 60, "{}", plan["ops"]);
    assert!(plan["bsp_s"].as_f64().expect("seconds") > 0.0);
}

#[test]
fn wrong_graphs_are_named_at_their_place() {
    let s = Sandbox::new();
    let refused = |edit: &dyn Fn(&mut Value)| -> (String, String) {
        let mut graph = equal();
        edit(&mut graph);
        let file = s.text("wrong.json");
        std::fs::write(&file, serde_json::to_string_pretty(&graph).expect("JSON")).expect("writes");
        let output = s.run(&["pipeline", &file, "--device", "a100-40", "--json"], 2);
        let error: Value = serde_json::from_slice(&output.stderr).expect("JSON");
        assert_eq!(error["error"]["kind"], json!("input"));
        let place = error["error"]["where"].as_str().expect("a place").rsplit_once("wrong.json").expect("the file").1.to_owned();
        // What stands there.
        let line = place.split(':').nth(1).and_then(|line| line.parse::<usize>().ok());
        let text = std::fs::read_to_string(&file).expect("the file");
        let there = line.and_then(|line| text.lines().nth(line - 1)).unwrap_or_default().trim().trim_end_matches(',').to_owned();
        (error["error"]["message"].as_str().expect("a message").to_owned(), there)
    };
    type Edit = fn(&mut Value);
    let cases: [(Edit, &str, &str); 14] = [
        (|g| g["nodes"] = json!([]), "the graph has no nodes", ""),
        (|g| g["nodes"][0]["inputs"][0] = "y".into(), "a cycle: first → act → second → soft → first", "\"id\": \"first\""),
        (|g| g["nodes"][1]["inputs"][0] = "q".into(), "node `act` uses tensor `q`, which the graph does not have", "\"id\": \"act\""),
        (|g| g["nodes"][1]["id"] = "first".into(), "two nodes have the id `first`", "\"id\": \"first\""),
        (
            |g| g["tensors"]["a"]["shape"][0] = "n".into(),
            "tensor `a` has the extent \"n\": only positive, fixed shapes can be planned",
            "\"a\": {",
        ),
        (
            |g| g["tensors"]["a"]["shape"][0] = 0.into(),
            "tensor `a` has the extent 0: only positive, fixed shapes can be planned",
            "\"a\": {",
        ),
        (|g| g["tensors"]["a"]["dtype_bytes"] = 0.into(), "tensor `a` has no bytes, or 2^53 and more", "\"a\": {"),
        (|g| g["tensors"]["a"]["shape"] = json!([1_u64 << 40, 1_u64 << 40]), "tensor `a` has no bytes, or 2^53 and more", "\"a\": {"),
        (
            |g| g["nodes"][0]["flops"] = json!(1e300),
            "node `first`: 1e300 operations, where 0 or more, and fewer than 2^63, were expected",
            "\"id\": \"first\"",
        ),
        (
            |g| g["tensors"]["w2"]["shape"][0] = 17.into(),
            "node `second`: 134217728 operations are no product of the shapes [8192, 128], [17, 64], [64], [8192, 64]",
            "\"id\": \"second\"",
        ),
        (
            |g| g["tensors"].as_object_mut().expect("tensors").values_mut().for_each(|tensor| tensor["dtype_bytes"] = 3.into()),
            "a100-40: node `first`: not covered by this model: matrix units take no elements of 3 B",
            "\"id\": \"first\"",
        ),
        (|g| g["nodes"][0]["cls"] = "matrix".into(), "this is no dataflow-graph/1: unknown variant `matrix`", "\"cls\": \"matrix\""),
        (|g| g["format"] = "dataflow-graph/3".into(), "this is no dataflow-graph/1: its format is `dataflow-graph/3`", ""),
        (|g| g["nodes"][0]["flops"] = "many".into(), "this is no dataflow-graph/1: invalid type: string \"many\"", "\"flops\": \"many\""),
    ];
    for (edit, message, place) in cases {
        let (found, there) = refused(&edit);
        assert!(found.starts_with(message), "{found}, expected {message}");
        assert_eq!(there, place, "{found}");
    }
}

/// What an opaque node reads through, and what has views alone, is told at the line of its node.
#[test]
fn positions_and_views_are_named_at_their_place() {
    let s = Sandbox::new();
    let tensor = |kind: &str, shape: &[u64]| json!({"shape": shape, "dtype_bytes": 4, "kind": kind});
    let tensors =
        json!({"x": tensor("input", &[8, 4]), "at": tensor("input", &[6]), "y": tensor("act", &[6, 4]), "z": tensor("output", &[24])});
    let refused = |tensors: &Value, nodes: Value, here: &str, message: &str| {
        let text = serde_json::to_string_pretty(&json!({"format": "dataflow-graph/2", "tensors": tensors, "nodes": nodes})).expect("JSON");
        std::fs::write(s.path("graph.json"), &text).expect("writes");
        let output = s.run(&["pipeline", &s.text("graph.json"), "--device", "a100-40", "--json"], 2);
        let error = serde_json::from_slice::<Value>(&output.stderr).expect("JSON")["error"].clone();
        assert_eq!(error["message"], json!(message));
        let (line, there) = text.lines().enumerate().find(|(_, line)| line.contains(here)).expect("the line");
        let place = format!("graph.json:{}:{}", line + 1, there.find('"').expect("a key") + 1);
        assert!(error["where"].as_str().expect("a place").ends_with(&place), "{error}, expected {place}");
    };
    let gather = |index: Value| {
        let node =
            json!({"id": "rows", "op": "gather", "inputs": ["x", "at"], "outputs": ["y"], "cls": "gather", "flops": 0, "index": [index]});
        json!([node, {"id": "flat", "op": "view", "body": "alias", "inputs": ["y"], "outputs": ["z"]}])
    };
    for (index, message) in [
        (json!({"input": {"input": 2, "axis": 0}}), "node `rows`: index[0].input.input: input 2 of 2"),
        (json!({"input": {"input": 1, "axis": 2}}), "node `rows`: index[0].input.axis: dimension 2 of 2"),
        (json!({"offsets": {"input": 9}}), "node `rows`: index[0].offsets.input: input 9 of 2"),
        (
            json!({"lower_triangle": {"axis": 1, "diagonal": 0}}),
            "node `rows`: index[0].lower_triangle.axis: no input has a dimension 1 and one after it",
        ),
        (
            json!({"lower_triangle": {"axis": 0, "diagonal": -8}}),
            "node `rows`: index[0].lower_triangle.diagonal: there is no diagonal -8 in 8x4",
        ),
    ] {
        refused(&tensors, gather(index), "\"id\": \"rows\"", message);
    }
    let views = json!([
        {"id": "turned", "op": "view", "body": {"transpose": {"permutation": [1, 0]}}, "inputs": ["x"], "outputs": ["y"]},
        {"id": "flat", "op": "view", "body": "alias", "inputs": ["y"], "outputs": ["z"]},
    ]);
    let tensors = json!({"x": tensor("input", &[8, 4]), "y": tensor("act", &[4, 8]), "z": tensor("output", &[32])});
    refused(&tensors, views, "\"id\": \"turned\"", "the graph has no operators, only views of tensors: `turned` and 1 more");
}

/// The same network in version 2, a line for each part.
fn second() -> String {
    let mut graph = equal();
    graph["format"] = "dataflow-graph/2".into();
    graph["tensors"]["folded"] = json!({"shape": [8, 1024, 64], "dtype_bytes": 2, "kind": "act"});
    let linear = json!({"mat_mul": {"transpose_left": false, "transpose_right": true}});
    let bodies = [linear.clone(), json!({"unary": "relu"}), linear, json!({"softmax": {"axis": 2}})];
    for (node, body) in graph["nodes"].as_array_mut().expect("nodes").iter_mut().zip(bodies) {
        let node = node.as_object_mut().expect("a node");
        node.retain(|key, _| key != "cls" && key != "flops");
        node.insert("body".into(), body);
    }
    let tensors = graph["tensors"].as_object_mut().expect("tensors");
    tensors.insert("w2".into(), json!({"shape": [64, 128], "dtype_bytes": 2, "kind": "param"}));
    graph["nodes"][3]["inputs"] = json!(["folded"]);
    let fold = json!({"id": "fold", "op": "reshape", "body": "alias", "inputs": ["o"], "outputs": ["folded"]});
    graph["nodes"].as_array_mut().expect("nodes").push(fold);
    serde_json::to_string_pretty(&graph).expect("JSON")
}

#[test]
fn graphs_of_version_2_are_planned_and_named_alike() {
    let s = Sandbox::new();
    let file = s.text("second.json");
    let found = |text: &str, code: i32| -> Value {
        std::fs::write(&file, text).expect("writes");
        let output = s.run(&["pipeline", &file, "--device", "a100-40", "--policy", "kitsune", "--json"], code);
        serde_json::from_slice(if code == 0 { &output.stdout } else { &output.stderr }).expect("JSON")
    };
    let mut second_plan = found(&second(), 0);
    let mut first = found(&equal().to_string(), 0);
    // The weights of the second layer are the other way round.
    for plan in [&mut second_plan, &mut first] {
        plan["file"] = Value::Null;
    }
    assert_eq!(second_plan, first);
    let cases = [
        ("\"unary\": \"relu\"", "\"unary\": \"rellu\"", "this is no dataflow-graph/2: unknown variant `rellu`", "\"unary\": \"rellu\""),
        (
            "\"unary\": \"relu\"",
            "\"unary\": {\"round\": \"i32\"}",
            "node `act`: it rounds to i32, which is no floating-point type",
            "\"id\": \"act\"",
        ),
        ("\"axis\": 2", "\"axis\": 3", "node `soft`: axis 3 of 3 dimensions", "\"id\": \"soft\""),
        ("\"axis\": 2", "\"axes\": 2", "this is no dataflow-graph/2: unknown field `axes`, expected `axis`", "\"axes\": 2"),
        ("\"body\": \"alias\"", "\"bodi\": \"alias\"", "this is no dataflow-graph/2: unknown field `bodi`", "\"bodi\": \"alias\""),
        ("\"body\": \"alias\",", "", "node `fold`: without a `body` it needs `cls` and `flops`", "\"id\": \"fold\""),
        ("\"transpose_right\": true", "\"transpose_right\": false", "node `first`: rows of 256 times columns of 128", "\"id\": \"first\""),
        ("1024", "1025", "node `soft`: its output has the shape [8, 1024, 64], not [8, 1025, 64]", "\"id\": \"soft\""),
    ];
    for (from, to, message, place) in cases {
        let text = second().replacen(from, to, 1);
        assert_ne!(text, second(), "{from}");
        let error = found(&text, 2)["error"].clone();
        assert!(error["message"].as_str().expect("a message").starts_with(message), "{error}, expected {message}");
        let line =
            error["where"].as_str().expect("a place").rsplit_once("second.json:").expect("a line").1.split(':').next().expect("a line");
        let there = text.lines().nth(line.parse::<usize>().expect("a number") - 1).expect("the line");
        assert_eq!(there.trim().trim_end_matches(','), place, "{error}");
    }
}

#[test]
fn files_that_are_no_graphs() {
    let s = Sandbox::new();
    let refused = |text: &[u8], code: i32| {
        std::fs::write(s.path("file.json"), text).expect("writes");
        said(&s.run(&["pipeline", &s.text("file.json"), "--device", "a100-40"], code))
    };
    assert!(refused(b"", 2).contains("EOF while parsing a value"));
    assert!(
        refused(b"kernel k {}", 2)
            .contains("a graph is dataflow-graph/1 or /2 (JSON; see examples/dataflow), or a model that ends with .onnx")
    );
    assert!(refused(b"null", 2).contains("invalid type: null, expected an object with `format`, `tensors` and `nodes`"));
    assert!(refused(&[0xff, 0xfe, 0], 2).contains("this is not text (UTF-8)"));
    let text = equal().to_string();
    for part in 1..8 {
        let found = refused(&text.as_bytes()[..text.len() * part / 8], 2);
        assert!(found.contains("this is no dataflow-graph/1: EOF while parsing") && found.contains("file.json:1:"), "{found}");
    }
    // Deeper than anybody nests graphs.
    assert!(refused("[".repeat(100_000).as_bytes(), 2).contains("this is no dataflow-graph/1"));
    let missing = s.run(&["pipeline", &s.text("none.json"), "--device", "a100-40"], 5);
    assert!(said(&missing).contains("none.json"));
    std::fs::write(s.path("file.json"), text).expect("writes");
    let file = s.text("file.json");
    assert!(said(&s.run(&["pipeline", &file, "--device", "a101"], 2)).contains("there is no device `a101`"));
    assert!(said(&s.run(&["pipeline", "--device", "a100-40"], 2)).contains("no graph is given"));
    assert!(said(&s.run(&["pipeline", &file, "--device", "a100-40", "--policy", "worst"], 2)).contains("`worst` is none of best, kitsune"));
    let shaped = s.run(&["pipeline", &file, "--device", "a100-40", "--input-shape", "x=8"], 2);
    assert!(said(&shaped).contains("only models (.onnx) leave shapes open"));
    let stored = s.run(&["pipeline", &file, "--device", "a100-40", "--elements", "f16"], 2);
    assert!(said(&stored).contains("a graph in JSON states the bytes of its elements"));
    // A device whose profile lacks a number says which.
    let text = said(&s.run(&["pipeline", &file, "--device", "adreno640"], 2));
    assert!(text.contains("lacks `") && text.contains("a profile with this number, or another device"), "{text}");
}
