//! Casts, NaN and infinities against onnxruntime (`fixtures/make.py`): the oracle on the graph as read, and the fused plan.

use prost::Message;
use warpsight_graph::onnx::proto::attribute_proto::AttributeType;
use warpsight_graph::onnx::proto::tensor_proto::DataType;
use warpsight_graph::onnx::proto::tensor_shape_proto::Dimension;
use warpsight_graph::onnx::proto::tensor_shape_proto::dimension::Value::DimValue;
use warpsight_graph::onnx::proto::type_proto::{Tensor, Value};
use warpsight_graph::onnx::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TensorShapeProto, TypeProto, ValueInfoProto,
};
use warpsight_graph::{Graph, Model, Plan, evaluate_f64, simplify};

fn bytes(hex: &serde_json::Value) -> Vec<u8> {
    let text = hex.as_str().unwrap();
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

fn floats(hex: &serde_json::Value) -> Vec<f64> {
    bytes(hex).as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b).into()).collect()
}

/// Whether a number is the expected one: NaN where that is, of the same sign and kind where that is infinite or exact.
fn same(found: f64, expected: f64, exact: bool) -> bool {
    let kept = f64::from(found as f32);
    match expected {
        e if e.is_nan() => found.is_nan(),
        e if exact || e.is_infinite() => kept == e,
        e => (found - e).abs() <= 1e-6 * e.abs().max(0.01),
    }
}

#[test]
fn casts_and_special_numbers_are_onnxruntimes() {
    let cases: Vec<serde_json::Value> = serde_json::from_str(include_str!("fixtures/special.json")).unwrap();
    assert!(cases.len() > 130, "{}", cases.len());
    let mut wrong = vec![];
    for case in &cases {
        let name = case["name"].as_str().unwrap();
        let inputs: Vec<Vec<f64>> = case["inputs"].as_array().unwrap().iter().map(floats).collect();
        let (expected, exact) = (floats(&case["output"]), case["exact"].as_bool().unwrap());
        let graph = match Model::from_bytes(&bytes(&case["model"])).and_then(|m| m.graph(&[])) {
            Ok(graph) => graph,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        let plan = Plan::of(&simplify(&graph)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let found = [("oracle", evaluate_f64(&graph, &inputs)), ("plan", plan.evaluate_f64(&inputs))];
        for (who, found) in found {
            let found = found.unwrap().remove(0);
            assert_eq!(found.len(), expected.len(), "{name}");
            if let Some(at) = (0..found.len()).find(|&i| !same(found[i], expected[i], exact)) {
                wrong.push(format!("{name}, {who}: element {at} is {} instead of {}", found[at], expected[at]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

fn cast(name: &str, input: &str, to: DataType) -> NodeProto {
    let to = AttributeProto { name: "to".into(), i: to as i64, r#type: AttributeType::Int as i32, ..Default::default() };
    NodeProto { attribute: vec![to], ..node("Cast", name, &[input]) }
}

fn node(op: &str, name: &str, inputs: &[&str]) -> NodeProto {
    let input = inputs.iter().map(|&i| i.to_owned()).collect();
    NodeProto { name: name.into(), op_type: op.into(), input, output: vec![name.into()], ..Default::default() }
}

/// The graph of nodes that make `y` of `x`, which has as many elements as the constant.
fn graph(nodes: Vec<NodeProto>, constant: TensorProto) -> Result<Graph, String> {
    let value = |name: &str| {
        let dim = constant.dims.iter().map(|&d| Dimension { value: Some(DimValue(d)) }).collect();
        let tensor = Tensor { elem_type: DataType::Float as i32, shape: Some(TensorShapeProto { dim }) };
        ValueInfoProto { name: name.into(), r#type: Some(TypeProto { value: Some(Value::TensorType(tensor)) }) }
    };
    let (input, output) = (vec![value("x")], vec![value("y")]);
    let graph = GraphProto { node: nodes, initializer: vec![constant], input, output, ..Default::default() };
    let opset = OperatorSetIdProto { domain: String::new(), version: 13 };
    let model = ModelProto { ir_version: 8, graph: Some(graph), opset_import: vec![opset], ..Default::default() };
    Model::from_bytes(&model.encode_to_vec()).and_then(|m| m.graph(&[])).map_err(|e| e.to_string())
}

/// `y = x + Cast(Cast(c))`, of a constant of eight bytes an element, by way of `to`.
fn through(kind: DataType, raw: &[[u8; 8]], to: DataType) -> Result<Graph, String> {
    let constant = TensorProto {
        name: "c".into(),
        dims: vec![raw.len() as i64],
        data_type: kind as i32,
        raw_data: raw.concat(),
        ..Default::default()
    };
    graph(vec![cast("a", "c", to), cast("b", "a", DataType::Float), node("Add", "y", &["x", "b"])], constant)
}

/// What the standard leaves undefined, and what is beyond the whole numbers that are kept, is refused with the value.
#[test]
fn casts_without_a_value_are_refused_by_name() {
    let refused = |value: f64, to: DataType, shown: &str| {
        let error = through(DataType::Double, &[0.0f64.to_le_bytes(), value.to_le_bytes()], to).expect_err("an error");
        let expected =
            format!("node `a`: Cast (opset 13) with the value {shown}, which {} does not hold, is not supported", to.as_str_name());
        assert_eq!(error, expected);
    };
    refused(300.0, DataType::Uint8, "300");
    refused(-1.0, DataType::Uint8, "-1");
    refused(-129.5, DataType::Int8, "-129.5");
    refused(3e9, DataType::Int32, "3000000000");
    refused(f64::NAN, DataType::Int64, "NaN");
    refused(f64::INFINITY, DataType::Int32, "inf");
    refused(9_223_372_036_854_775_808.0, DataType::Int64, "9223372036854776000");
    assert!(through(DataType::Double, &[(-9_223_372_036_854_775_808.0f64).to_le_bytes()], DataType::Int64).is_ok());
    let error = through(DataType::Int64, &[(-1i64).to_le_bytes()], DataType::Uint64).expect_err("an error");
    assert!(error.contains("with the value -1, which UINT64 does not hold,"), "{error}");
    let error = through(DataType::Uint64, &[u64::MAX.to_le_bytes()], DataType::Float).expect_err("an error");
    assert_eq!(error, "tensor `c`: whole numbers up to 9223372036854775807 are read, not 18446744073709551615");
    let error = through(DataType::Int64, &[[0; 8]], DataType::String).expect_err("an error");
    assert_eq!(error, "node `a`: Cast (opset 13) with target type STRING is not supported");
}

/// Nothing is computed in fewer bits than its type has, or in another type, without a word.
#[test]
fn types_that_kernels_do_not_compute_in_are_refused_by_name() {
    let constant = || TensorProto {
        name: "c".into(),
        dims: vec![1],
        data_type: DataType::Double as i32,
        double_data: vec![1e300],
        ..Default::default()
    };
    let nodes = vec![cast("d", "x", DataType::Double), node("Mul", "m", &["d", "c"]), cast("y", "m", DataType::Float)];
    let expected =
        "node `m`: Mul (opset 13) with computed DOUBLE, which kernels do not compute in (convert the model to float32), is not supported";
    assert_eq!(graph(nodes, constant()).expect_err("an error"), expected);
    let nodes = vec![cast("b", "x", DataType::Int64), node("Div", "d", &["b", "x"]), cast("y", "d", DataType::Float)];
    let expected = "node `d`: Div (opset 13) with computed whole numbers beside floats is not supported";
    assert_eq!(graph(nodes, constant()).expect_err("an error"), expected);
    // Beyond what floats tell apart.
    let large = TensorProto {
        name: "c".into(),
        dims: vec![1],
        data_type: DataType::Int64 as i32,
        int64_data: vec![16_777_217],
        ..Default::default()
    };
    let nodes = vec![cast("b", "x", DataType::Int64), node("Div", "d", &["b", "c"]), cast("y", "d", DataType::Float)];
    let expected = "node `d`: Div (opset 13) with the whole number 16777217 beside computed ones (at most 16777216) is not supported";
    assert_eq!(graph(nodes, large).expect_err("an error"), expected);
}

/// Whole numbers.
fn wholes(values: &[i64]) -> TensorProto {
    let (dims, data_type) = (vec![values.len() as i64], DataType::Int64 as i32);
    TensorProto { name: "c".into(), dims, data_type, int64_data: values.into(), ..Default::default() }
}

/// What the oracle finds of `x`, bit for bit what the plan does.
fn found(graph: &Graph, x: &[f64]) -> Vec<f64> {
    let plan = Plan::of(&simplify(graph)).expect("a plan").evaluate_f64(&[x.to_vec()]).expect("values").remove(0);
    let oracle = evaluate_f64(graph, &[x.to_vec()]).expect("values").remove(0);
    let bits = |own: &[f64]| own.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&oracle), bits(&plan), "{oracle:?}, {plan:?}");
    oracle
}

/// Towards zero, one below a multiple included; beyond what integers of 32 bits hold as of the last float that they do. Of a division by 0 there is
/// a number, and nowhere -0.
#[test]
fn computed_whole_numbers_are_divided_as_integers() {
    let by = [3, 3, 3, -3, 1, -4, 2, 1000, 1000, -1, 0];
    let x = [16_777_215.0, 16_777_214.0, -16_777_214.0, 16_777_214.0, -16_777_216.0, 3.0, -1.0, 3e9, -3e9, -2_147_483_648.0, 7.0];
    let expected = [5_592_405, 5_592_404, -5_592_404, -5_592_404, -16_777_216, 0, 0, 2_147_483, -2_147_483, 2_147_483_520_i64, 7];
    let nodes = vec![cast("b", "x", DataType::Int64), node("Div", "d", &["b", "c"]), cast("y", "d", DataType::Float)];
    let bits = |own: &[f64]| own.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    let divided = found(&graph(nodes, wholes(&by)).expect("a graph"), &x);
    assert_eq!(bits(&divided), bits(&expected.map(|v| v as f64)), "{divided:?}");
    let nodes = vec![cast("b", "x", DataType::Int64), cast("y", "b", DataType::Float)];
    let cut = found(&graph(nodes, wholes(&[1; 5])).expect("a graph"), &[-0.5, -0.0, 0.75, -3.75, 3e9]);
    assert_eq!(bits(&cut), bits(&[0.0, 0.0, 0.0, -3.0, 3e9]), "{cut:?}");
}

/// What is declared as whole is whole: means are cut, and what would be no integer is refused by name.
#[test]
fn summaries_of_computed_whole_numbers_are_whole() {
    let of = |op: &str| {
        let nodes = vec![cast("b", "x", DataType::Int64), node(op, "m", &["b"]), cast("y", "m", DataType::Float)];
        graph(nodes, wholes(&[1; 3]))
    };
    for (x, mean) in [([3.5, 2.9, 3.0], 2.0), ([-3.5, 2.9, -4.2], -1.0), ([-1.0, 0.5, -1.0], 0.0), ([5.0, 5.0, 5.0], 5.0)] {
        assert_eq!(found(&of("ReduceMean").expect("a graph"), &x), [mean], "{x:?}");
    }
    assert_eq!(found(&of("ReduceSumSquare").expect("a graph"), &[-3.5, 2.9, 1.0]), [14.0]);
    for op in ["ReduceL2", "ReduceLogSum", "ReduceLogSumExp"] {
        let expected = format!("node `m`: {op} (opset 13) with computed whole numbers is not supported");
        assert_eq!(of(op).expect_err("an error"), expected);
    }
    for exponent in [-1.0, 0.5] {
        let constant =
            TensorProto { name: "c".into(), data_type: DataType::Float as i32, float_data: vec![exponent], ..Default::default() };
        let nodes = vec![cast("b", "x", DataType::Int64), node("Pow", "p", &["b", "c"]), cast("y", "p", DataType::Float)];
        assert_eq!(graph(nodes, constant).expect_err("an error"), "tensor `b` has element type INT64; expected float32");
    }
}
