//! Models and options that a command must not fall over: nothing to compute, sizes beyond memory, numbers that are none, hostile arrays.

#[path = "../../run/tests/fake_cuda/mod.rs"]
mod fake_cuda;

mod common;

use common::{Sandbox, said};
use prost::Message;
use serde_json::{Value, json};
use warpsight_graph::onnx::proto::tensor_shape_proto::{Dimension, dimension};
use warpsight_graph::onnx::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TensorShapeProto, TypeProto, ValueInfoProto,
    attribute_proto, tensor_proto, type_proto,
};

fn value(name: &str, dims: &[i64]) -> ValueInfoProto {
    let dim = dims.iter().map(|&extent| Dimension { value: Some(dimension::Value::DimValue(extent)) }).collect();
    let tensor = type_proto::Tensor { elem_type: tensor_proto::DataType::Float as i32, shape: Some(TensorShapeProto { dim }) };
    ValueInfoProto { name: name.into(), r#type: Some(TypeProto { value: Some(type_proto::Value::TensorType(tensor)) }) }
}

fn node(op: &str, inputs: &[&str], output: &str, attributes: Vec<AttributeProto>) -> NodeProto {
    let input = inputs.iter().map(|&name| name.to_owned()).collect();
    NodeProto { op_type: op.into(), name: output.into(), input, output: vec![output.into()], attribute: attributes, ..NodeProto::default() }
}

fn to(kind: tensor_proto::DataType) -> AttributeProto {
    AttributeProto { name: "to".into(), i: kind as i64, r#type: attribute_proto::AttributeType::Int as i32, ..AttributeProto::default() }
}

/// A model of these nodes, with inputs of one shape.
fn model(s: &Sandbox, name: &str, nodes: Vec<NodeProto>, shape: &[i64], outputs: &[&str], constants: Vec<TensorProto>) -> String {
    let output = outputs.iter().map(|name| value(name, &[])).collect();
    let graph = GraphProto { node: nodes, initializer: constants, input: vec![value("x", shape)], output, ..GraphProto::default() };
    let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: 13 }];
    let model = ModelProto { ir_version: 8, opset_import, graph: Some(graph), ..ModelProto::default() };
    std::fs::write(s.path(name), model.encode_to_vec()).expect("writes");
    s.text(name)
}

#[test]
fn a_model_without_outputs_is_bad_input() {
    let s = Sandbox::new();
    let empty = model(&s, "empty.onnx", vec![node("Relu", &["x"], "y", vec![])], &[2, 3], &[], vec![]);
    let (input, out) = (format!("x={}", s.npy("x.npy", "(2, 3)", &[0.0; 6])), s.text("out"));
    let verbs: [&[&str]; 3] =
        [&["optimize", &empty], &["run", &empty, "--input", &input, "--output", &out], &["pipeline", &empty, "--device", "a100-40"]];
    for verb in verbs {
        let said = said(&s.run(verb, 2));
        assert!(said.contains("the model has no outputs: there is nothing to compute"), "{said}");
    }
}

#[test]
fn unsupported_operators_are_named_at_once_before_shapes_are_asked_for() {
    let s = Sandbox::new();
    let nodes =
        vec![node("MaxRoiPool", &["x"], "a", vec![]), node("NonZero", &["a"], "b", vec![]), node("MaxRoiPool", &["b"], "y", vec![])];
    let strange = model(&s, "strange.onnx", nodes, &[0, 3], &["y"], vec![]);
    for verb in [&["optimize", &strange][..], &["pipeline", &strange, "--device", "a100-40"]] {
        let said = said(&s.run(verb, 2));
        let expected = "3 nodes have operators that are not supported (opset 13): MaxRoiPool ×2 (first `a`), NonZero ×1 (first `b`)";
        assert!(said.contains(expected), "{said}");
        assert!(said.contains("`warpsight operators` lists those that are"), "{said}");
    }
}

#[test]
fn sizes_are_checked_before_anything_is_made() {
    let s = Sandbox::new();
    let relu = |name: &str, shape: &[i64]| model(&s, name, vec![node("Relu", &["x"], "y", vec![])], shape, &["y"], vec![]);
    let limit = "take 2147483648 bytes; at most 1073741824 are held at a time";
    let large = relu("large.onnx", &[1 << 13, 1 << 14]);
    assert!(said(&s.run(&["optimize", &large], 2)).contains(limit));
    let input = format!("x={}", s.npy("x.npy", "(1099511627776,)", &[0.0; 4]));
    assert!(said(&s.run(&["run", &large, "--input", &input, "--output", &s.text("out")], 2)).contains(limit));
    let beyond = relu("beyond.onnx", &[1 << 31, 1 << 31, 1 << 31]);
    assert!(said(&s.run(&["optimize", &beyond], 2)).contains("at most 2147483647 elements"));
    // A pipeline holds no elements: it is planned.
    s.run(&["pipeline", &large, "--device", "a100-40"], 0);
    for operator in ["matmul m=16384 n=16384 k=4", "layernorm n=1 c=100000000", "fc n=1 k=20000 m=15000"] {
        let said = said(&s.run(&["optimize", "--op", operator], 2));
        assert!(said.contains("bytes together; at most 1073741824 are held at a time"), "{operator}: {said}");
    }
    // What no device holds is its limit's, before constants are drawn.
    for operator in ["softmax n=2 c=1000000000", "layernorm n=1 c=2000000000", "fc n=1 k=100000 m=20000"] {
        let said = said(&s.run(&["optimize", "--op", operator], 3));
        assert!(said.contains("4294967296"), "{operator}: {said}");
    }
}

/// An allocation that fails ends the process: whatever the system grants, large ones are asked for first.
#[cfg(unix)]
#[test]
fn little_memory_is_refused_by_name() {
    let s = Sandbox::new();
    let dims = vec![4096, 4096];
    let raw_data = vec![0x3f; 4 << 24];
    let weights =
        TensorProto { dims, data_type: tensor_proto::DataType::Float as i32, raw_data, name: "w".into(), ..TensorProto::default() };
    let file = model(&s, "weights.onnx", vec![node("MatMul", &["x", "w"], "y", vec![])], &[1, 4096], &["y"], vec![weights]);
    for kilobytes in (150_000..850_000).step_by(50_000) {
        let limited = format!("ulimit -v {kilobytes}; exec \"$0\" optimize \"$1\"");
        let mut shell = std::process::Command::new("sh");
        let output = shell.args(["-c", &limited, common::WARPSIGHT, &file]).env("XDG_DATA_HOME", s.path("data")).output().expect("starts");
        let said = said(&output);
        // Bad input, or what the system does not do.
        assert!(matches!(output.status.code(), Some(2 | 5)) && !said.contains("memory allocation"), "{kilobytes} kB: {said}");
    }
}

#[test]
fn numbers_of_options_are_bounded() {
    let s = Sandbox::new();
    let operator = ["optimize", "--op", "matmul m=4 n=4 k=4"];
    let absurd = [("--runs", "4294967295", "10000"), ("--top", "4294967295", "10000"), ("--timeout", "18446744073709551615", "86400")];
    for (option, value, limit) in absurd {
        let said = said(&s.run(&[&operator[..], &[option, value]].concat(), 2));
        assert!(said.contains(value) && said.contains(limit), "{said}");
    }
}

#[test]
fn hostile_arrays_and_pictures_are_refused() {
    let s = Sandbox::new();
    let relu = model(&s, "relu.onnx", vec![node("Relu", &["x"], "y", vec![])], &[1, 3, 4, 4], &["y"], vec![]);
    std::fs::write(
        s.path("relu.toml"),
        "[[input]]\nname = \"x\"\nshape = [1, 3, 4, 4]\npicture = { width = 4, height = 4, layout = \"nchw\", channels = \"rgb\", scale = 1.0, \
         mean = [0, 0, 0], std = [1, 1, 1] }\n",
    )
    .expect("writes");
    let refused = |file: &str, words: &[&str]| {
        let said = said(&s.run(&["run", &relu, "--input", &format!("x={file}"), "--output", &s.text("out")], 2));
        words.iter().for_each(|word| assert!(said.contains(word), "{said}"));
    };
    refused(&s.npy("long.npy", "(1099511627776,)", &[0.0; 4]), &["the array has shape [1099511627776], the input [1, 3, 4, 4]"]);
    refused(
        &s.npy("over.npy", "(4294967296, 4294967296)", &[0.0; 4]),
        &["the array has shape [4294967296, 4294967296], the input [1, 3, 4, 4]"],
    );
    refused(&s.npy("short.npy", "(1, 3, 4, 4)", &[0.0; 4]), &["the array cannot be read"]);
    image::GrayImage::new(40_000, 1).save(s.path("wide.png")).expect("a picture");
    refused(&s.text("wide.png"), &["the picture has 40000 × 1 pixels; at most 67108864 pixels are read, 32768 on a side"]);
    assert!(!s.path("out").exists(), "nothing was written");
}

/// From the file through the kernels to the file.
#[test]
fn nan_and_roundings_arrive() {
    use tensor_proto::DataType::{Bfloat16, Float, Float16};
    let s = Sandbox::new();
    let scalar =
        |name: &str, v: f32| TensorProto { name: name.into(), data_type: Float as i32, float_data: vec![v], ..TensorProto::default() };
    let axes = AttributeProto {
        name: "axes".into(),
        ints: vec![1],
        r#type: attribute_proto::AttributeType::Ints as i32,
        ..AttributeProto::default()
    };
    let nodes = vec![
        node("Relu", &["x"], "relu", vec![]),
        node("Clip", &["x", "low", "high"], "clip", vec![]),
        node("Max", &["x", "low"], "max", vec![]),
        node("Min", &["x", "high"], "min", vec![]),
        node("ReduceMax", &["x"], "reduced", vec![axes]),
        node("Cast", &["x"], "h", vec![to(Float16)]),
        node("Cast", &["h"], "half", vec![to(Float)]),
        node("Cast", &["x"], "b", vec![to(Bfloat16)]),
        node("Cast", &["b"], "brain", vec![to(Float)]),
    ];
    let outputs = ["relu", "clip", "max", "min", "reduced", "half", "brain"];
    let all = model(&s, "all.onnx", nodes, &[2, 4], &outputs, vec![scalar("low", -2.0), scalar("high", 1.5)]);
    let inf = f32::INFINITY;
    let given = [1.0, f32::NAN, -3.0, 2.0, 2049.0, 65520.0, -inf, 0.1];
    let input = format!("x={}", s.npy("x.npy", "(2, 4)", &given));
    s.run(&["run", &all, "--input", &input, "--output", &s.text("out")], 0);
    let found = |name: &str, count: usize| s.elements(&format!("out/{name}.npy"), count);
    let nan = f32::NAN;
    let expected: [(&str, &[f32]); 7] = [
        ("relu", &[1.0, nan, 0.0, 2.0, 2049.0, 65520.0, 0.0, 0.1]),
        ("clip", &[1.0, nan, -2.0, 1.5, 1.5, 1.5, -2.0, 0.1]),
        ("max", &[1.0, nan, -2.0, 2.0, 2049.0, 65520.0, -2.0, 0.1]),
        ("min", &[1.0, nan, -3.0, 1.5, 1.5, 1.5, -inf, 0.1]),
        ("reduced", &[nan, 65520.0]),
        ("half", &[1.0, nan, -3.0, 2.0, 2048.0, inf, -inf, 0.099_975_586]),
        ("brain", &[1.0, nan, -3.0, 2.0, 2048.0, 65536.0, -inf, 0.100_097_656]),
    ];
    for (name, expected) in expected {
        let found = found(name, expected.len());
        let same = found.iter().zip(expected).all(|(f, e)| f == e || f.is_nan() && e.is_nan());
        assert!(same, "{name}: {found:?} instead of {expected:?}");
    }
}

#[test]
fn operators_are_listed_with_what_of_each_is_read() {
    let s = Sandbox::new();
    let listed: Value = serde_json::from_slice(&s.run(&["operators", "--json"], 0).stdout).expect("JSON");
    assert_eq!((&listed["opsets"]["first"], &listed["opsets"]["last"]), (&7.into(), &24.into()));
    let operators = listed["operators"].as_array().expect("operators");
    let limits = |name: &str| operators.iter().find(|o| o["name"] == name).unwrap_or_else(|| panic!("no {name}"))["limits"].clone();
    assert_eq!(limits("Relu"), "");
    assert_eq!(limits("ConvTranspose"), "one to three spatial dimensions");
    let text = said(&s.run(&["operators"], 0));
    assert!(operators.iter().all(|o| text.contains(o["name"].as_str().expect("a name"))), "{text}");
}

/// A million runs of a simulator are counted, not kept: by memory, and by the store.
#[test]
fn a_million_simulated_runs_take_no_room() {
    let s = Sandbox::new();
    let doubled = model(&s, "add.onnx", vec![node("Add", &["x", "x"], "y", vec![])], &[4, 32], &["y"], vec![]);
    let input = format!("x={}", s.npy("x.npy", "(4, 32)", &[1.0; 128]));
    let run = |repeat: &str| -> Value {
        let (out, store) = (s.text("out"), s.text("store.sqlite"));
        let args = ["run", &doubled, "--json", "--device", "sim:adreno640", "--input", &input, "--output", &out, "--store", &store];
        let args = [&args[..], &["--repeat", repeat]].concat();
        serde_json::from_slice(&s.run(&args, 0).stdout).expect("JSON")
    };
    let (one, million) = (run("1"), run("1000000"));
    assert_eq!(million["times"]["count"], json!(1_000_000));
    for part in ["min_s", "median_s", "p90_s", "max_s"] {
        assert_eq!(million["times"][part], one["time_s"], "{part}");
    }
    let stored = std::fs::metadata(s.path("store.sqlite")).expect("a store").len();
    assert!(stored < 2 << 20, "{stored} bytes");
}

/// However often a network runs, its weights cross to the device once, as the driver counts; its times are spread.
#[test]
fn repeated_runs_send_weights_once() {
    let Some(stand_in) = fake_cuda::build() else { return };
    let s = Sandbox::new();
    let weights = TensorProto {
        name: "w".into(),
        dims: vec![32, 48],
        data_type: tensor_proto::DataType::Float as i32,
        float_data: (0..32 * 48).map(|n| n as f32 / 1024.0).collect(),
        ..TensorProto::default()
    };
    let product = model(&s, "product.onnx", vec![node("MatMul", &["x", "w"], "y", vec![])], &[4, 32], &["y"], vec![weights]);
    let input = format!("x={}", s.npy("x.npy", "(4, 32)", &[1.0; 128]));
    let sent = s.text("sent");
    let run = |more: &[&str]| -> (Value, u64) {
        std::fs::write(&sent, "").expect("writes");
        let out = s.text("out");
        let args =
            [&["run", &product, "--json", "--device", "cuda:0", "--profile", "host", "--input", &input, "--output", &out], more].concat();
        let mut command = s.command(&args);
        command.env("LD_LIBRARY_PATH", &stand_in).env("WARPSIGHT_CUDA", &stand_in).env("WS_FAKE_SENT", &sent);
        let output = command.output().expect("starts");
        assert!(output.status.success(), "{}", said(&output));
        let bytes = std::fs::read_to_string(&sent).expect("is there").lines().map(|line| line.parse::<u64>().expect("a number")).sum();
        (serde_json::from_slice(&output.stdout).expect("JSON"), bytes)
    };
    // The first one also verifies the kernel that the others use.
    run(&[]);
    let ((_, once), (many, often)) = (run(&["--repeat", "1"]), run(&["--repeat", "40"]));
    assert_eq!(once, often);
    assert!((4 * 32 * 48..3 * 4 * 32 * 48).contains(&once), "{once}: the weights, packed, and an input");
    let times = &many["times"];
    assert_eq!((&times["count"], &times["source"], &many["time_source"]), (&json!(40), &json!("simulated"), &json!("simulated")));
    let of = |name: &str| times[name].as_f64().expect("a time");
    assert!(of("min_s") > 0.0 && of("min_s") <= of("median_s") && of("median_s") <= of("p90_s") && of("p90_s") <= of("max_s"));
    assert_eq!(times["median_s"], many["time_s"]);
    s.run(&["run", &product, "--input", &input, "--output", &s.text("out"), "--repeat", "0"], 2);
}

/// A network in halves rounds what it stores, and finds rows by positions that no half has.
#[test]
fn networks_are_stored_in_halves_and_positions_are_not() {
    let s = Sandbox::new();
    let table = TensorProto {
        name: "table".into(),
        dims: vec![4100, 2],
        data_type: tensor_proto::DataType::Float as i32,
        float_data: (0..8200).map(|n| n as f32 / 4096.0).collect(),
        ..TensorProto::default()
    };
    let nodes = vec![node("Gather", &["table", "x"], "rows", vec![]), node("Neg", &["rows"], "y", vec![])];
    let file = model(&s, "lookup.onnx", nodes, &[4], &["y"], vec![table]);
    let mut whole = ModelProto::decode(&*std::fs::read(&file).expect("is there")).expect("a model");
    if let Some(type_proto::Value::TensorType(own)) =
        whole.graph.as_mut().and_then(|graph| graph.input[0].r#type.as_mut()).and_then(|own| own.value.as_mut())
    {
        own.elem_type = tensor_proto::DataType::Int64 as i32;
    }
    std::fs::write(&file, whole.encode_to_vec()).expect("writes");
    let positions = [4099.0f32, 2049.0, 3001.0, 0.0];
    let input = format!("x={}", s.npy("x.npy", "(4,)", &positions));
    let found = |dtype: &[&str]| {
        let (out, store) = (s.text("out"), s.text("store.sqlite"));
        s.run(&[&["run", &file, "--input", &input, "--output", &out, "--store", &store], dtype].concat(), 0);
        s.elements("out/y.npy", 8)
    };
    let exact: Vec<f32> = positions.iter().flat_map(|at| [2.0 * at, 2.0 * at + 1.0]).map(|n| -n / 4096.0).collect();
    let halves: Vec<f32> = exact.iter().map(|v| half::f16::from_f32(*v).to_f32()).collect();
    assert_eq!((found(&[]), found(&["--dtype", "f16s"])), (exact.clone(), halves.clone()));
    assert_eq!((found(&["--dtype", "f16"]), found(&["--dtype", "f32"])), (halves.clone(), exact));
    assert_ne!(halves, found(&[]));
    let wrong = s.run(&["optimize", "--op", "softmax n=1 c=3", "--dtype", "f16s"], 2);
    assert!(said(&wrong).contains("--dtype"), "{}", said(&wrong));
    let wrong = s.run(&["optimize", &file, "--dtype", "f8"], 2);
    assert!(said(&wrong).contains("f16s"), "{}", said(&wrong));
}

/// What was optimized by other passes is found by `run` with the same passes, and by no other.
#[test]
fn kernels_of_other_passes_are_used_again() {
    let s = Sandbox::new();
    let weights = |name: &str| TensorProto {
        name: name.into(),
        dims: vec![32, 32],
        data_type: tensor_proto::DataType::Float as i32,
        float_data: (0..32 * 32).map(|n| n as f32 / 4096.0).collect(),
        ..TensorProto::default()
    };
    let nodes = vec![node("MatMul", &["x", "a"], "h", vec![]), node("MatMul", &["h", "b"], "y", vec![])];
    let file = model(&s, "two.onnx", nodes, &[8, 32], &["y"], vec![weights("a"), weights("b")]);
    let (input, store, out) = (format!("x={}", s.npy("x.npy", "(8, 32)", &[1.0; 256])), s.text("store.sqlite"), s.text("out"));
    // Every kernel that is tried is a sample of its own.
    let tried = || {
        let samples = warpsight_learn::Store::open(&store).expect("opens").samples(warpsight_learn::Filter::default()).expect("reads");
        samples.iter().filter(|own| own.sample.kind == warpsight_ir::SubjectKind::Program).count()
    };
    s.run(&["optimize", &file, "--with", "strips", "--store", &store], 0);
    let once = tried();
    let run = |with: &[&str]| s.run(&[&["run", &file, "--input", &input, "--output", &out, "--store", &store], with].concat(), 0);
    run(&["--with", "strips"]);
    assert_eq!(tried(), once);
    run(&[]);
    assert!(tried() > once, "made as usual, these are others");
}

/// Of a sequence no kernel works: the operators that have it are computed as they are, and others keep theirs.
#[test]
fn only_the_sequence_that_fails_is_given_up() {
    use warpsight_ir::{Status, SubjectKind};
    use warpsight_learn::{Filter, RunInfo, Store};
    let s = Sandbox::new();
    // Rows of 40 twice, rows of 24 once.
    let nodes = vec![
        node("Softmax", &["x"], "a", vec![]),
        node("Softmax", &["a"], "b", vec![]),
        node("Transpose", &["b"], "turned", vec![]),
        node("Softmax", &["turned"], "y", vec![]),
    ];
    let file = model(&s, "rows.onnx", nodes, &[24, 40], &["y"], vec![]);
    let store = s.text("store.sqlite");
    let optimize = || -> Vec<(String, String)> {
        let output = s.command(&["optimize", &file, "--json", "--store", &store]).output().expect("starts");
        assert!(output.status.success(), "{}", said(&output));
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let word = |own: &Value, key: &str| own[key].as_str().expect("a word").to_owned();
        report["sequences"].as_array().expect("a list").iter().map(|own| (word(own, "operator"), word(own, "name"))).collect()
    };
    let first = optimize();
    assert_eq!(first.len(), 3, "{first:?}");
    // Every kernel of the first softmax that was tried fails from now on, until none is left to try.
    for _ in 0..12 {
        let mut open = Store::open(&store).expect("opens");
        let run = open.begin_run(&RunInfo { host: "here".into(), argv: vec![], git: None }).expect("begins");
        for own in open.samples(Filter::default()).expect("reads") {
            let mut own = own.sample;
            if own.kind == SubjectKind::Program && own.status == Status::Done && own.text.contains("program softmax_0 ") {
                (own.status, own.verified, own.times) = (Status::Wrong("planted".into()), false, vec![]);
                open.append(run, &own, None, None).expect("stores");
            }
        }
        drop(open);
        let now = optimize();
        if now.len() < first.len() {
            assert_eq!(now, first[2..], "both operators of rows of 40 lost theirs at once");
            return;
        }
    }
    panic!("never given up");
}
