//! Everything that may be wrong with a model, and what is said about it; damaged files never cause a panic.

use prost::Message;
use warpsight_graph::onnx::proto::attribute_proto::AttributeType;
use warpsight_graph::onnx::proto::tensor_proto::{DataLocation, DataType};
use warpsight_graph::onnx::proto::tensor_shape_proto::{Dimension, dimension};
use warpsight_graph::onnx::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, StringStringEntryProto, TensorProto, TensorShapeProto,
    TypeProto, ValueInfoProto, type_proto,
};
use warpsight_graph::{GraphError, InputShape, InputValues, Model, Plan, evaluate_f64, simplify, supported_operators};

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/text-orientation.onnx");

fn dim(value: Option<dimension::Value>) -> Dimension {
    Dimension { value }
}

fn typed(name: &str, kind: DataType, dims: Vec<Dimension>) -> ValueInfoProto {
    let tensor = type_proto::Tensor { elem_type: kind as i32, shape: Some(TensorShapeProto { dim: dims }) };
    ValueInfoProto { name: name.into(), r#type: Some(TypeProto { value: Some(type_proto::Value::TensorType(tensor)) }) }
}

fn float(name: &str, shape: &[i64]) -> ValueInfoProto {
    typed(name, DataType::Float, shape.iter().map(|&e| dim(Some(dimension::Value::DimValue(e)))).collect())
}

fn node(name: &str, op: &str, input: &[&str], output: &[&str]) -> NodeProto {
    let strings = |list: &[&str]| list.iter().map(|s| s.to_string()).collect();
    NodeProto { name: name.into(), op_type: op.into(), input: strings(input), output: strings(output), ..Default::default() }
}

fn ints(name: &str, list: &[i64]) -> AttributeProto {
    AttributeProto { name: name.into(), ints: list.into(), r#type: AttributeType::Ints as i32, ..Default::default() }
}

fn constant(name: &str, dims: &[i64], values: &[f32]) -> TensorProto {
    TensorProto { name: name.into(), dims: dims.into(), data_type: DataType::Float as i32, float_data: values.into(), ..Default::default() }
}

/// Input `x` of shape 2×3, output `y`, opset 13.
fn model(nodes: Vec<NodeProto>) -> ModelProto {
    let graph = GraphProto { node: nodes, input: vec![float("x", &[2, 3])], output: vec![float("y", &[2, 3])], ..Default::default() };
    let opset = OperatorSetIdProto { domain: String::new(), version: 13 };
    ModelProto { ir_version: 8, graph: Some(graph), opset_import: vec![opset], ..Default::default() }
}

fn error(model: &ModelProto) -> GraphError {
    let read = Model::from_bytes(&model.encode_to_vec()).and_then(|m| m.graph(&[])).and_then(|g| Plan::of(&simplify(&g)));
    read.expect_err("an error")
}

fn message(nodes: Vec<NodeProto>) -> String {
    error(&model(nodes)).to_string()
}

#[test]
fn a_good_model_passes() {
    let good = model(vec![node("n", "Relu", &["x"], &["y"])]);
    assert!(Model::from_bytes(&good.encode_to_vec()).unwrap().graph(&[]).is_ok());
}

#[test]
fn missing_empty_and_foreign_files() {
    let missing = Model::read("no/such/model.onnx").unwrap_err();
    assert!(matches!(missing, GraphError::Read(_)) && missing.to_string().starts_with("cannot read no/such/model.onnx: "));
    assert!(matches!(Model::from_bytes(&[]), Err(GraphError::Empty)));
    let foreign: [&[u8]; 6] = [b"hello, world", b"\x89PNG\r\n\x1a\n", b"{\"a\": 1}", b"\x7fELF\x02\x01", &[0; 64], &[0xff; 64]];
    for bytes in foreign {
        assert!(matches!(Model::from_bytes(bytes), Err(GraphError::NotOnnx { .. })), "{bytes:?}");
    }
    let empty = ModelProto { ir_version: 8, ..Default::default() };
    assert_eq!(Model::from_bytes(&empty.encode_to_vec()).unwrap_err().to_string(), "this is not an ONNX file: it holds no graph");
}

#[test]
fn truncated_and_corrupted_files() {
    let bytes = std::fs::read(MODEL).unwrap();
    for length in [20, 1000, bytes.len() / 2, bytes.len() - 100] {
        let error = Model::from_bytes(&bytes[..length]).unwrap_err();
        assert!(matches!(error, GraphError::Truncated { .. }), "{length}: {error}");
    }
    let mut bytes = model(vec![node("n", "Relu", &["x"], &["y"])]).encode_to_vec();
    let at = bytes.windows(4).position(|w| w == b"Relu").unwrap();
    // The operator's length now runs over the end of its node.
    bytes[at - 1] = 120;
    assert!(matches!(Model::from_bytes(&bytes), Err(GraphError::Corrupted { .. })));
}

#[test]
fn versions_of_the_operator_set() {
    for (version, supported) in [(6, false), (7, true), (24, true), (25, false), (-1, false)] {
        let mut m = model(vec![node("n", "Relu", &["x"], &["y"])]);
        m.opset_import[0].version = version;
        match Model::from_bytes(&m.encode_to_vec()) {
            Ok(m) => assert!(supported && m.opset() == version),
            Err(e) => assert!(!supported && matches!(e, GraphError::Opset { version: v } if v == version), "{e}"),
        }
    }
    let mut m = model(vec![]);
    m.opset_import[0].domain = "com.microsoft".into();
    assert!(matches!(Model::from_bytes(&m.encode_to_vec()), Err(GraphError::NoOpset)));
}

#[test]
fn external_and_malformed_constants() {
    let with = |tensor: TensorProto| {
        let mut m = model(vec![node("n", "Add", &["x", "w"], &["y"])]);
        m.graph.as_mut().unwrap().initializer.push(tensor);
        error(&m)
    };
    let mut external = constant("w", &[3], &[]);
    external.data_location = DataLocation::External as i32;
    external.external_data.push(StringStringEntryProto { key: "location".into(), value: "w.bin".into() });
    let text = with(external).to_string();
    assert!(text.starts_with("tensor `w` is stored outside the model, in `w.bin`"), "{text}");
    assert_eq!(with(constant("w", &[4], &[1.0; 3])).to_string(), "tensor `w`: shape [4] needs 4 elements, 3 are stored");
    assert!(matches!(with(constant("w", &[-1], &[1.0; 3])), GraphError::BadTensor { .. }));
    assert!(matches!(with(constant("w", &[1 << 40, 1 << 40], &[])), GraphError::BadTensor { .. }));
    let mut raw = constant("w", &[1], &[]);
    raw.raw_data = vec![0; 6];
    assert!(matches!(with(raw), GraphError::BadTensor { .. }));
    let mut text = constant("w", &[1], &[]);
    text.data_type = DataType::String as i32;
    assert_eq!(with(text).to_string(), "tensor `w` has element type STRING; expected a number type");
}

#[test]
fn free_dimensions_are_all_named_with_the_flag() {
    let m = Model::read(MODEL).unwrap();
    let free: Vec<String> = m.free_dimensions().iter().map(ToString::to_string).collect();
    assert_eq!(free, ["x[0]", "x[2] (?)", "x[3] (?)"]);
    let expected = "the model leaves dimensions of its inputs open: x[0], x[2] (?), x[3] (?); give them with --input-shape x=?,3,?,?";
    assert_eq!(m.graph(&[]).unwrap_err().to_string(), expected);
    let shape = |text: &str| m.graph(&[text.parse().unwrap()]).unwrap_err().to_string();
    assert_eq!(shape("x=1,4,48,192"), "input `x` cannot have shape [1, 4, 48, 192]: expected ?,3,?,?");
    assert_eq!(shape("x=1,3,48"), "input `x` cannot have shape [1, 3, 48]: expected ?,3,?,?");
    assert_eq!(shape("z=1,3,48,192"), "the model has no input `z`; its inputs: x");
    assert!(shape("x=1,3,100000,100000").contains("at most 2147483647 elements"));
    // Too small for its last pooling.
    assert!(shape("x=1,3,8,8").contains("MaxPool@0"), "{}", shape("x=1,3,8,8"));
    let direct = InputShape { input: "x".into(), shape: vec![1, 3, -48, 192] };
    assert!(matches!(m.graph(&[direct]), Err(GraphError::ShapeConflict { .. })));
}

#[test]
fn written_shapes() {
    let good: InputShape = "a=b=1, 2".parse().unwrap();
    assert_eq!(good, InputShape { input: "a=b".into(), shape: vec![1, 2] });
    for bad in ["x", "=1,2", "x=", "x=1,,2", "x=1,?", "x=0", "x=-1", "x=1.5", "x=99999999999999999999"] {
        assert!(matches!(bad.parse::<InputShape>(), Err(GraphError::InputShape { .. })), "{bad}");
    }
    let text = "x=1,?".parse::<InputShape>().unwrap_err().to_string();
    assert_eq!(text, "`x=1,?` is no input shape: `?` is no positive whole number; write it as in x=1,3,48,192");
}

#[test]
fn wrong_types() {
    let mut m = model(vec![node("n", "Relu", &["x"], &["y"])]);
    m.graph.as_mut().unwrap().input = vec![typed("x", DataType::Int64, vec![])];
    assert_eq!(error(&m).to_string(), "tensor `x` has element type INT64; expected float32");
    let text = message(vec![node("s", "Shape", &["x"], &["i"]), node("n", "Relu", &["i"], &["y"])]);
    assert_eq!(text, "tensor `i` has element type a whole-number type; expected float32");
    let text = message(vec![node("n", "Reshape", &["x", "x"], &["y"])]);
    assert_eq!(text, "tensor `x` has element type a floating-point type; expected int64");
    // Whole numbers that are known are outputs like others.
    let known = model(vec![node("n", "Shape", &["x"], &["y"])]);
    let graph = Model::from_bytes(&known.encode_to_vec()).unwrap().graph(&[]).unwrap();
    assert_eq!(evaluate_f64(&simplify(&graph), &[vec![0.0; 6]]).unwrap(), [vec![2.0, 3.0]]);
    let mut bad = node("n", "Softmax", &["x"], &["y"]);
    bad.attribute.push(ints("axis", &[1]));
    assert_eq!(message(vec![bad]), "node `n`: Softmax (opset 13): attribute `axis` is not of type INT");
}

/// Inputs that others are shaped by are constants where their values are given, in the type and the shape that the model declares.
#[test]
fn inputs_become_constants() {
    let reshaped = |kind| {
        let shape = vec![dim(Some(dimension::Value::DimValue(2)))];
        let mut m = model(vec![node("n", "Reshape", &["x", "to"], &["y"])]);
        m.graph.as_mut().unwrap().input.push(typed("to", kind, shape));
        Model::from_bytes(&m.encode_to_vec()).unwrap()
    };
    let given = |model: Model, text: &str| {
        let values: InputValues = text.parse().unwrap();
        model.with_values(&[values], &[]).and_then(|m| m.graph(&[]))
    };
    let open = || reshaped(DataType::Int64);
    let said = open().graph(&[]).unwrap_err().to_string();
    assert_eq!(said, "node `n`: `to` has to be known before a run, and is an input: --input-value to=N,N,… makes a constant of it");
    for model in [open(), reshaped(DataType::Int32)] {
        let graph = given(model, "to=3,-1").unwrap();
        assert_eq!((graph.inputs.len(), &graph.tensor(graph.outputs[0]).shape[..]), (1, &[3, 2][..]));
    }
    let wrong = |model: Model, text: &str| given(model, text).unwrap_err().to_string();
    assert!(wrong(open(), "to=3").contains("1 values for an input of shape 2"), "{}", wrong(open(), "to=3"));
    assert!(wrong(open(), "to=3,0.5").contains("0.5 is no INT64"));
    assert!(wrong(open(), "too=3,2").contains("did you mean `to`?"));
    assert!(wrong(reshaped(DataType::Int8), "to=3,300").contains("is no INT8"));
    assert!(wrong(reshaped(DataType::Float16), "to=3,2").contains("FLOAT16 cannot be given"));
    assert!(wrong(reshaped(DataType::Int32), "to=3,3000000000").contains("3000000000 is no INT32"));
    assert!(wrong(reshaped(DataType::Bool), "to=true,7").contains("7 is no BOOL"));
    assert!(given(open(), "to=9223372036854775807,1").is_err(), "read exactly, and too large a shape");
    for text in ["to", "=3", "to=3,x", "to=nan", "to=1,,2"] {
        assert!(text.parse::<InputValues>().is_err(), "{text}");
    }
    assert_eq!("a=b= ".parse::<InputValues>().unwrap(), InputValues { input: "a=b".into(), values: vec![] });
}

/// What finds, chooses and resizes says what it cannot do.
#[test]
fn elements_that_cannot_be_found() {
    assert_eq!(
        message(vec![node("g", "Gather", &["x", "x"], &["y"])]),
        "tensor `x` has element type a floating-point type; expected int64"
    );
    let mixed = vec![node("s", "Size", &["x"], &["i"]), node("l", "Less", &["x", "i"], &["y"])];
    assert_eq!(message(mixed), "node `l`: Less (opset 13): one of its inputs holds whole numbers, the other does not");
    let mut split = node("s", "Split", &["x"], &["y", "z"]);
    split.attribute.push(ints("split", &[1, 100]));
    assert!(message(vec![split]).starts_with("node `s`: Split (opset 13): 2 parts [1, 100] of "));
    let mut words = model(vec![node("d", "Div", &["x", "c"], &["y"])]);
    let graph = words.graph.as_mut().unwrap();
    (graph.input, graph.initializer) = (vec![typed("x", DataType::Int64, vec![])], vec![constant("c", &[1], &[2.0])]);
    let text = "node `d`: Div (opset 13) with computed whole numbers beside floats is not supported";
    assert_eq!(error(&words).to_string(), text);
    let resize = message(vec![node("r", "Resize", &["x"], &["y"])]);
    assert!(resize.starts_with("node `r`: Resize (opset 13): scales None and sizes None of "), "{resize}");
    let mut scattered = node("e", "ScatterElements", &["x", "i", "x"], &["y"]);
    let by = AttributeProto { name: "reduction".into(), s: b"mean".to_vec(), r#type: AttributeType::String as i32, ..Default::default() };
    scattered.attribute.push(by);
    let mean = message(vec![node("s", "Size", &["x"], &["i"]), scattered]);
    assert_eq!(mean, "node `e`: ScatterElements (opset 13) with reduction `mean` is not supported");
}

/// Numbers of places known before a run.
fn counted(name: &str, shape: &[i64]) -> ValueInfoProto {
    typed(name, DataType::Int64, shape.iter().map(|&e| dim(Some(dimension::Value::DimValue(e)))).collect())
}

/// Elements are put where each has a position of its own, and where asking all places takes no day.
#[test]
fn elements_that_cannot_be_put() {
    let put = |op: &str, x: &[i64], i: &[i64], u: &[i64]| {
        let mut m = model(vec![node("e", op, &["x", "i", "u"], &["y"])]);
        m.graph.as_mut().unwrap().input = vec![float("x", x), counted("i", i), float("u", u)];
        Model::from_bytes(&m.encode_to_vec()).and_then(|m| m.graph(&[])).map(|_| ()).map_err(|error| error.to_string())
    };
    let elements = |rest: &str| -> Result<(), String> { Err(format!("node `e`: ScatterElements (opset 13){rest}")) };
    let rows = elements(": positions of shape [2] and updates of shape [2, 3] for data of shape [2, 3]");
    assert_eq!(put("ScatterElements", &[2, 3], &[2], &[2, 3]), rows);
    let fewer = elements(": positions of shape [1, 3] and updates of shape [2, 3] for data of shape [2, 3]");
    assert_eq!(put("ScatterElements", &[2, 3], &[1, 3], &[2, 3]), fewer);
    let column = elements(": positions of shape [2] and updates of shape [2] for data of shape [2, 3]");
    assert_eq!(put("ScatterElements", &[2, 3], &[2], &[2]), column);
    assert_eq!(put("ScatterElements", &[1 << 20], &[1 << 20], &[1 << 20]), Ok(()));
    let many = elements(" with 2199023255552 places times updates (at most 1099511627776) is not supported");
    assert_eq!(put("ScatterElements", &[1 << 21], &[1 << 20], &[1 << 20]), many);
    // Of a row one element asks for all.
    assert_eq!(put("ScatterND", &[1 << 20, 1 << 8], &[1 << 19, 1], &[1 << 19, 1 << 8]), Ok(()));
    assert!(put("ScatterND", &[1 << 21, 1], &[1 << 20, 1], &[1 << 20, 1]).is_err());
}

/// What is put nowhere changes nothing; what has no elements otherwise is told.
#[test]
fn no_positions() {
    let put = |op: &str, dims: &[i64], updates: TensorProto| {
        let mut m = model(vec![node("e", op, &["x", "i", "u"], &["y"])]);
        let none = TensorProto { name: "i".into(), dims: dims.into(), data_type: DataType::Int64 as i32, ..Default::default() };
        m.graph.as_mut().unwrap().initializer = vec![none, updates];
        Model::from_bytes(&m.encode_to_vec()).and_then(|m| m.graph(&[])).map_err(|error| error.to_string())
    };
    let x = vec![3.0, -1.0, 4.0, -1.0, 5.0, -9.0];
    for (op, dims) in [("ScatterElements", [0, 3]), ("ScatterND", [0, 1])] {
        let graph = put(op, &dims, constant("u", &[0, 3], &[])).expect("a graph");
        assert_eq!(graph.tensor(graph.outputs[0]).shape, [2, 3]);
        assert_eq!(evaluate_f64(&graph, std::slice::from_ref(&x)).expect("values")[0], x, "{op}");
        assert_eq!(Plan::of(&simplify(&graph)).and_then(|plan| plan.evaluate_f64(std::slice::from_ref(&x))).expect("values")[0], x, "{op}");
    }
    let wrong = put("ScatterND", &[0, 1], constant("u", &[0, 2], &[])).expect_err("an error");
    assert_eq!(wrong, "node `e`: ScatterND (opset 13): input 2 is empty");
    let full = put("ScatterND", &[0, 1], constant("u", &[1, 3], &[0.0; 3])).expect_err("an error");
    assert_eq!(full, "node `e`: ScatterND (opset 13): input 1 is empty");
    let mut m = model(vec![node("g", "Gather", &["x", "i"], &["y"])]);
    let none = TensorProto { name: "i".into(), dims: vec![0], data_type: DataType::Int64 as i32, ..Default::default() };
    m.graph.as_mut().unwrap().initializer = vec![none];
    assert_eq!(error(&m).to_string(), "node `g`: Gather (opset 13): no indices");
}

#[test]
fn unsupported_operators_name_node_operator_and_opset() {
    assert_eq!(message(vec![node("left", "MaxRoiPool", &["x"], &["y"])]), "node `left`: operator MaxRoiPool (opset 13) is not supported");
    assert_eq!(message(vec![node("", "MaxRoiPool", &["x"], &["y"])]), "node `y`: operator MaxRoiPool (opset 13) is not supported");
    let mut foreign = node("n", "Gelu", &["x"], &["y"]);
    foreign.domain = "com.microsoft".into();
    assert_eq!(message(vec![foreign]), "node `n`: operator com.microsoft.Gelu (opset 13) is not supported");
    let used = vec![node("p", "Dropout", &["x"], &["a", "mask"]), node("n", "Add", &["a", "mask"], &["y"])];
    assert_eq!(message(used), "node `n`: Add (opset 13) with the further output `mask` of Dropout as its input is not supported");
    // All of them at once, each with its count.
    let many = vec![
        node("a", "MaxRoiPool", &["x"], &["p"]),
        node("b", "NonZero", &["p"], &["q"]),
        node("", "MaxRoiPool", &["q"], &["r"]),
        node("d", "Relu", &["r"], &["y"]),
    ];
    let expected = "3 nodes have operators that are not supported (opset 13): MaxRoiPool ×2 (first `a`), NonZero ×1 (first `b`)";
    assert_eq!(message(many), expected);
    // Nodes that no output needs are nobody's concern.
    let unused = model(vec![node("n", "Relu", &["x"], &["y"]), node("m", "MaxRoiPool", &["x"], &["z"])]);
    assert!(Model::from_bytes(&unused.encode_to_vec()).unwrap().graph(&[]).is_ok());
}

#[test]
fn malformed_graphs() {
    let cycle = vec![node("a", "Relu", &["q"], &["p"]), node("b", "Relu", &["p"], &["q"]), node("c", "Add", &["x", "q"], &["y"])];
    assert_eq!(message(cycle), "the graph has a cycle: a → b → a");
    assert_eq!(message(vec![node("a", "Add", &["x", "y"], &["y"])]), "the graph has a cycle: a → a");
    let twice = vec![node("a", "Relu", &["x"], &["y"]), node("b", "Relu", &["x"], &["y"])];
    assert_eq!(message(twice), "tensor `y` is defined twice, by node `a` and by node `b`");
    assert_eq!(message(vec![node("a", "Relu", &["x"], &["x"])]), "tensor `x` is defined twice, by an input and by node `a`");
    assert_eq!(message(vec![node("a", "Add", &["x", "w"], &["y"])]), "node `a` (Add) reads `w`, which nothing defines");
    assert_eq!(message(vec![node("a", "Relu", &["x"], &["z"])]), "graph output `y` is computed by no node");
    assert_eq!(message(vec![node("a", "Relu", &[], &["y"])]), "node `a`: Relu (opset 13): input 0 is missing");
    assert_eq!(message(vec![node("a", "Relu", &["x"], &["", "y"])]), "node `a`: Relu (opset 13): it has no output");
}

#[test]
fn shapes_that_do_not_fit() {
    let with = |op: &str, tensor: TensorProto, attributes: Vec<AttributeProto>| {
        let mut n = node("n", op, &["x", &tensor.name], &["y"]);
        n.attribute = attributes;
        let mut m = model(vec![n]);
        m.graph.as_mut().unwrap().initializer.push(tensor);
        error(&m).to_string()
    };
    let head = |op: &str, rest: &str| format!("node `n`: {op} (opset 13): {rest}");
    assert_eq!(with("Add", constant("w", &[4], &[0.0; 4]), vec![]), head("Add", "shapes [2, 3] and [4] do not broadcast"));
    let product = "shapes [2, 3] and [2, 3]: inner extents 3 and 2 differ";
    assert_eq!(with("MatMul", constant("w", &[2, 3], &[0.0; 6]), vec![]), head("MatMul", product));
    assert!(with("Conv", constant("w", &[1, 1, 1], &[0.0]), vec![]).contains("an input of shape [2, 3]"));
    assert_eq!(with("Add", constant("w", &[0], &[]), vec![]), head("Add", "input 1 is empty"));
    let mut n = node("n", "Transpose", &["x"], &["y"]);
    n.attribute = vec![ints("perm", &[0, 0])];
    assert_eq!(message(vec![n]), head("Transpose", "axes [0, 0] name one dimension twice"));
    let graph = Model::from_bytes(&model(vec![node("n", "Relu", &["x"], &["y"])]).encode_to_vec()).unwrap().graph(&[]).unwrap();
    let text = evaluate_f64(&graph, &[vec![0.0; 5]]).unwrap_err().to_string();
    assert_eq!(text, "input `x` of shape [2, 3] needs 6 elements, not 5");
    assert!(Plan::of(&graph).unwrap().evaluate_f64(&[]).is_err());
}

#[test]
fn a_model_without_outputs_computes_nothing() {
    let mut m = model(vec![node("n", "Relu", &["x"], &["y"])]);
    m.graph.as_mut().unwrap().output.clear();
    assert_eq!(error(&m).to_string(), "the model has no outputs: there is nothing to compute");
}

/// Nothing of that size is made, neither by the file's size nor by its shapes.
#[test]
fn sizes_are_checked_before_anything_is_made() {
    let read = |m: &ModelProto| Model::from_bytes(&m.encode_to_vec()).unwrap().graph(&[]);
    let mut large = model(vec![node("n", "Relu", &["x"], &["y"])]);
    large.graph.as_mut().unwrap().input = vec![float("x", &[1 << 13, 1 << 14])];
    let graph = read(&large).unwrap();
    let expected = "the tensors that exist at node `n`, constants included, take 2147483648 bytes; at most 1073741824 are held at a time";
    assert_eq!(graph.fits().unwrap_err().to_string(), expected);
    let mut beyond = large.clone();
    beyond.graph.as_mut().unwrap().input = vec![float("x", &[1 << 31])];
    assert!(read(&beyond).unwrap_err().to_string().contains("[2147483648]: expected extents of 1 or more and at most 2147483647 elements"));
    let mut constant_too = model(vec![node("n", "Add", &["x", "w"], &["y"])]);
    constant_too.graph.as_mut().unwrap().initializer.push(constant("w", &[1 << 29], &[]));
    let expected = "the constants up to `w` take 4294967296 bytes; at most 1073741824 are held at a time";
    assert_eq!(read(&constant_too).unwrap_err().to_string(), expected);
    // Whole numbers that are known are constants too: twice itself, again and again.
    let one =
        TensorProto { data_type: DataType::Int64 as i32, dims: vec![1], int64_data: vec![7], name: "n0".into(), ..Default::default() };
    let doubled = |at: usize| {
        let (from, to) = (format!("n{at}"), format!("n{}", at + 1));
        let mut node = node(&to, "Concat", &[&from, &from], &[&to]);
        node.attribute.push(AttributeProto { name: "axis".into(), r#type: AttributeType::Int as i32, ..Default::default() });
        node
    };
    let mut many = doubled(0);
    many.input = vec!["n0".to_owned(); 1 << 20];
    let mut wide = model(vec![many, node("n", "Reshape", &["x", "n1"], &["y"])]);
    let values = vec![1; 1 << 16];
    let long = TensorProto { dims: vec![1 << 16], int64_data: values, ..one.clone() };
    wide.graph.as_mut().unwrap().initializer.push(long);
    let error = read(&wide).unwrap_err().to_string();
    assert!(error.starts_with("the constants up to `n1` take 54"), "{error}");
    let mut doubling = model((0..40).map(doubled).chain([node("n", "Reshape", &["x", "n40"], &["y"])]).collect());
    doubling.graph.as_mut().unwrap().initializer.push(one);
    let error = read(&doubling).unwrap_err().to_string();
    assert!(error.starts_with("the constants up to `n2") && error.ends_with("are held at a time"), "{error}");
    // As many dimensions as a list of axes asks for.
    let list: Vec<i64> = (0..100).collect();
    let mut deep = node("n", "Unsqueeze", &["x"], &["y"]);
    deep.attribute.push(ints("axes", &list));
    assert_eq!(message(vec![deep]), "node `n`: Unsqueeze (opset 13) with 102 dimensions (at most 64) is not supported");
    let shape = TensorProto {
        data_type: DataType::Int64 as i32,
        dims: vec![2],
        int64_data: vec![1 << 30, 1 << 30],
        name: "s".into(),
        ..Default::default()
    };
    let mut made = model(vec![node("c", "ConstantOfShape", &["s"], &["w"]), node("n", "Add", &["x", "w"], &["y"])]);
    made.graph.as_mut().unwrap().initializer.push(shape);
    assert!(read(&made).unwrap_err().to_string().contains("elements at most 67108864"), "{}", read(&made).unwrap_err());
    // A few nodes ask for as much as they like: they are counted together, before the last is made.
    let shape = TensorProto { dims: vec![1], int64_data: vec![3 << 24], ..made.graph.as_ref().unwrap().initializer[0].clone() };
    let mut nodes: Vec<NodeProto> = ["a", "b", "c"].map(|name| node(name, "ConstantOfShape", &["s"], &[name])).into();
    nodes.push(node("n", "Max", &["x", "a", "b", "c"], &["y"]));
    let mut many = model(nodes);
    many.graph.as_mut().unwrap().initializer.push(shape);
    let expected = "the constants up to `c` take 1207959560 bytes; at most 1073741824 are held at a time";
    assert_eq!(read(&many).unwrap_err().to_string(), expected);
}

/// The list that people see is the table that the importer reads by.
#[test]
fn every_listed_operator_is_read_and_every_fixture_is_listed() {
    let listed: Vec<&str> = supported_operators().map(|o| o.name).collect();
    assert!(listed.is_sorted(), "{listed:?}");
    for &name in &listed {
        let all = ["x", "x", "x", "x", "x"];
        if let Err(error) = Model::from_bytes(&model(vec![node("n", name, &all, &["y"])]).encode_to_vec()).unwrap().graph(&[]) {
            assert!(!matches!(error, GraphError::UnsupportedOperators { .. }), "{name}: {error}");
        }
    }
    let mut tested: Vec<String> =
        tiny_models().iter().flat_map(|m| m.graph.as_ref().unwrap().node.iter().map(|n| n.op_type.clone())).collect();
    tested.sort();
    tested.dedup();
    let untested: Vec<&&str> = listed.iter().filter(|l| !tested.iter().any(|t| t == **l)).collect();
    assert!(untested.is_empty(), "no fixture of {untested:?}");
}

fn tiny_models() -> Vec<ModelProto> {
    let cases: Vec<serde_json::Value> = serde_json::from_str(include_str!("fixtures/ops.json")).unwrap();
    let hex = |s: &str| -> Vec<u8> { (0..s.len()).step_by(2).map(|i| u8::from_str_radix(&s[i..i + 2], 16).unwrap()).collect() };
    cases.iter().map(|c| ModelProto::decode(hex(c["model"].as_str().unwrap()).as_slice()).unwrap()).collect()
}

/// Whether it can be planned; errors must say something.
fn plans(bytes: &[u8]) -> bool {
    let plan = Model::from_bytes(bytes).and_then(|m| m.graph(&[])).and_then(|g| Plan::of(&simplify(&g)));
    plan.inspect_err(|e| assert!(!e.to_string().is_empty())).is_ok()
}

/// Random damage to the bytes of good files: an error or a plan, never a panic and never a lot of time.
#[test]
fn damaged_files_never_panic() {
    let mut random = fastrand::Rng::with_seed(7);
    let (mut good, mut all) = (0, 0);
    for model in tiny_models() {
        let whole = model.encode_to_vec();
        for _ in 0..150 {
            let mut bytes = whole.clone();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(0..bytes.len());
                match random.u8(0..4) {
                    0 => bytes[at] = random.u8(..),
                    1 => bytes[at] ^= 1 << random.u8(0..8),
                    2 => bytes.truncate(at.max(1)),
                    _ => drop(bytes.remove(at)),
                }
                if bytes.is_empty() {
                    bytes.push(0);
                }
            }
            good += usize::from(plans(&bytes));
            all += 1;
        }
    }
    assert!(good > 500 && good < all / 2, "{good} of {all}");
}

/// Extreme numbers in attributes, shapes and constants of good files.
#[test]
fn extreme_numbers_never_panic() {
    const EXTREME: [i64; 14] = [0, 1, -1, 2, 3, 7, -2, 1 << 20, 1 << 31, (1 << 31) - 1, -(1 << 31), i64::MAX, i64::MIN, i64::MIN + 1];
    let mut random = fastrand::Rng::with_seed(8);
    let (mut good, mut all) = (0, 0);
    for model in tiny_models() {
        for _ in 0..150 {
            let mut model = model.clone();
            let graph = model.graph.as_mut().unwrap();
            let mut numbers: Vec<&mut i64> = Vec::new();
            for attribute in graph.node.iter_mut().flat_map(|n| &mut n.attribute) {
                numbers.push(&mut attribute.i);
                numbers.extend(&mut attribute.ints);
            }
            for tensor in &mut graph.initializer {
                if tensor.data_type == DataType::Int64 as i32 && !tensor.raw_data.is_empty() {
                    let values = tensor.raw_data.as_chunks::<8>().0.iter().map(|c| i64::from_le_bytes(*c)).collect();
                    (tensor.int64_data, tensor.raw_data) = (values, vec![]);
                    numbers.extend(&mut tensor.int64_data);
                }
                numbers.extend(&mut tensor.dims);
            }
            for input in &mut graph.input {
                let Some(type_proto::Value::TensorType(tensor)) = input.r#type.as_mut().unwrap().value.as_mut() else { continue };
                for d in &mut tensor.shape.as_mut().unwrap().dim {
                    if let Some(dimension::Value::DimValue(v)) = &mut d.value {
                        numbers.push(v);
                    }
                }
            }
            for _ in 0..random.usize(1..3) {
                let at = random.usize(0..numbers.len());
                *numbers[at] = EXTREME[random.usize(0..EXTREME.len())];
            }
            good += usize::from(plans(&model.encode_to_vec()));
            all += 1;
        }
    }
    assert!(good > 1000 && good < all, "{good} of {all}");
}

/// What layers of sequences and samples between pixels cannot be of is said with shapes.
#[test]
fn sequences_and_places_that_do_not_fit_are_named() {
    let sequence = |op: &str, shape: [&[i64]; 3], attributes: Vec<AttributeProto>, more: Vec<TensorProto>| {
        let mut inputs = vec!["s", "w", "r"];
        inputs.extend(more.iter().map(|own| own.name.as_str()));
        let mut layer = node("n", op, &inputs, &["y"]);
        layer.attribute = attributes;
        let mut made = model(vec![layer]);
        let graph = made.graph.as_mut().unwrap();
        let filled = |name: &str, shape: &[i64]| constant(name, shape, &vec![0.5; shape.iter().product::<i64>() as usize]);
        graph.initializer = vec![filled("w", shape[1]), filled("r", shape[2])];
        graph.initializer.extend(more);
        graph.input.push(float("s", shape[0]));
        error(&made).to_string()
    };
    let fits: [&[i64]; 3] = [&[2, 1, 3], &[1, 12, 3], &[1, 12, 4]];
    let text = |name: &str, own: &str| AttributeProto {
        name: name.into(),
        s: own.into(),
        r#type: AttributeType::String as i32,
        ..Default::default()
    };
    let number = |name: &str, own| AttributeProto { name: name.into(), i: own, r#type: AttributeType::Int as i32, ..Default::default() };
    let cases = [
        (
            "GRU",
            [&[2, 1, 3][..], &[1, 12, 5], &[1, 12, 4]],
            vec![],
            "weights of shapes [1, 12, 5] and [1, 12, 4], not [1, 12, 3] and [1, 12, 4]",
        ),
        ("LSTM", fits, vec![], "weights of shapes [1, 12, 3] and [1, 12, 4], not [1, 16, 3] and [1, 16, 4]"),
        ("GRU", [&[2, 3], fits[1], fits[2]], vec![], "a sequence of shape [2, 3] and weights of shape [1, 12, 4]"),
        ("GRU", fits, vec![number("hidden_size", 7)], "not [1, 21, 3] and [1, 21, 7]"),
        ("LSTM", fits, vec![number("input_forget", 1)], "input_forget=1"),
        ("GRU", fits, vec![text("direction", "sideways")], "direction `sideways`"),
        ("GRU", fits, vec![text("direction", "bidirectional")], "not [2, 12, 3] and [2, 12, 4]"),
        ("GRU", [&[300, 1, 3], fits[1], fits[2]], vec![], "300 steps (at most 256)"),
    ];
    for (op, shapes, attributes, expected) in cases {
        let found = sequence(op, shapes, attributes, vec![]);
        assert!(found.contains(expected) && found.contains("node `n`"), "{found}");
    }
    let bias = sequence("GRU", fits, vec![], vec![constant("b", &[1, 12], &[0.5; 12])]);
    assert!(bias.contains("input 3 of shape [1, 12], not [1, 24]"), "{bias}");
    let lengths =
        TensorProto { name: "l".into(), dims: vec![1], data_type: DataType::Int32 as i32, int32_data: vec![1], ..Default::default() };
    let shorter = sequence("GRU", fits, vec![], vec![constant("b", &[1, 24], &[0.5; 24]), lengths]);
    assert!(shorter.contains("sequences that end before others"), "{shorter}");
    let sampled = |grid: &[i64], attributes: Vec<AttributeProto>| {
        let mut own = node("n", "GridSample", &["s", "g"], &["y"]);
        own.attribute = attributes;
        let mut made = model(vec![own]);
        made.graph.as_mut().unwrap().input.extend([float("s", &[1, 2, 4, 5]), float("g", grid)]);
        error(&made).to_string()
    };
    assert!(sampled(&[1, 3, 3, 3], vec![]).contains("places of shape [1, 3, 3, 3] in data of shape [1, 2, 4, 5]"));
    assert!(sampled(&[2, 3, 3, 2], vec![]).contains("places of shape"));
    assert!(sampled(&[1, 3, 3, 2], vec![text("mode", "sinc")]).contains("mode `sinc`"));
    assert!(sampled(&[1, 3, 3, 2], vec![text("padding_mode", "wrap")]).contains("padding_mode `wrap`"));
}
