//! The rebuilt applications of paper 003, and other forms of them.
#![allow(dead_code, reason = "each test uses a part")]

use serde_json::{Map, Value, json};
use warpsight_dataflow::{Group, Node, NodeId, Phase, TensorId, View};
use warpsight_graph::{FormatError, Graph};

/// Names and numbers of operators.
pub const ALL: [(&str, usize); 11] = [
    ("dlrm", 21),
    ("grc", 35),
    ("mgn", 51),
    ("nerf", 24),
    ("llama_ctx_t512", 27),
    ("llama_tok", 27),
    ("train_dlrm", 58),
    ("train_grc", 98),
    ("train_mgn", 142),
    ("train_nerf", 69),
    ("train_llama", 88),
];

/// The text of an example.
pub fn text(name: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/dataflow");
    std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What is planned of a file.
pub fn read(json: &str) -> Result<View, FormatError> {
    Graph::read(json).map(|graph| View::of(&graph).expect("operators"))
}

/// An example.
pub fn graph(name: &str) -> View {
    read(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The same graph, its nodes in another order and everything renamed.
pub fn disguised(json: &str, seed: u64) -> String {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut value: Value = serde_json::from_str(json).expect("JSON");
    let names: Vec<String> = value["tensors"].as_object().expect("tensors").keys().cloned().collect();
    let mut numbers: Vec<usize> = (0..names.len()).collect();
    rng.shuffle(&mut numbers);
    let renamed = |name: &str| format!("x{}", numbers[names.iter().position(|other| other == name).expect("a tensor")]);
    let tensors = value["tensors"].as_object().expect("tensors").iter().map(|(name, tensor)| (renamed(name), tensor.clone())).collect();
    let nodes = value["nodes"].as_array_mut().expect("nodes");
    rng.shuffle(nodes);
    for (at, node) in nodes.iter_mut().enumerate() {
        node["id"] = format!("n{at}").into();
        node["op"] = "f".into();
        node["tag"] = "none".into();
        for side in ["inputs", "outputs"] {
            for name in node[side].as_array_mut().expect("tensors") {
                *name = renamed(name.as_str().expect("a name")).into();
            }
        }
    }
    value["tensors"] = Value::Object(tensors);
    value["app"] = "other".into();
    value.to_string()
}

/// What is planned of a graph as a file of version 1, all nodes of which are opaque.
pub fn first(view: &View) -> String {
    let name = |id: &TensorId| view.tensor(*id).name.clone();
    let tensors = view
        .tensors
        .iter()
        .map(|own| (own.name.clone(), json!({"shape": own.shape.as_slice(), "dtype_bytes": own.element, "kind": own.kind})));
    let node = |node: &Node| {
        json!({
            "id": node.name, "op": node.op, "cls": node.class, "phase": if node.phase == Phase::Forward { "fw" } else { "bw" },
            "inputs": node.inputs.iter().map(name).collect::<Vec<_>>(), "outputs": node.outputs.iter().map(name).collect::<Vec<_>>(),
            "flops": node.flops, "bytes_read": node.read.0, "bytes_written": node.written.0,
        })
    };
    let (tensors, nodes): (Map<String, Value>, Vec<Value>) = (tensors.collect(), view.nodes.iter().map(node).collect());
    json!({"format": "dataflow-graph/1", "app": view.name, "tensors": tensors, "nodes": nodes}).to_string()
}

/// The same graph where extents have other values: `(from, to)`. Operations follow, of products and of others; bytes are left out.
pub fn scaled(json: &str, extents: &[(u64, u64)]) -> String {
    let mut value: Value = serde_json::from_str(&first(&read(json).expect("a graph"))).expect("JSON");
    let old = value["tensors"].clone();
    for (_, tensor) in value["tensors"].as_object_mut().expect("tensors") {
        for extent in tensor["shape"].as_array_mut().expect("a shape") {
            if let Some((_, to)) = extents.iter().find(|(from, _)| extent.as_u64() == Some(*from)) {
                *extent = (*to).into();
            }
        }
    }
    let elements = |tensor: &Value| -> f64 { tensor["shape"].as_array().expect("a shape").iter().filter_map(Value::as_f64).product() };
    let new = value["tensors"].clone();
    for node in value["nodes"].as_array_mut().expect("nodes") {
        let size = |tensors: &Value, name: &Value| elements(&tensors[name.as_str().expect("a name")]);
        let mut inputs: Vec<(f64, f64)> =
            node["inputs"].as_array().expect("inputs").iter().map(|t| (size(&old, t), size(&new, t))).collect();
        inputs.sort_by(|a, b| b.0.total_cmp(&a.0));
        let output = &node["outputs"][0];
        let mut ratio = size(&new, output) / size(&old, output);
        if node["cls"] == "tensor" && inputs.len() > 1 {
            // Both operands and the result have m·k, k·n and m·n elements.
            ratio = (ratio * inputs[0].1 / inputs[0].0 * inputs[1].1 / inputs[1].0).sqrt();
        }
        node["flops"] = (node["flops"].as_f64().expect("operations") * ratio).round().into();
        node.as_object_mut().expect("a node").retain(|key, _| !key.starts_with("bytes"));
    }
    value["tensors"] = new;
    value.to_string()
}

/// Whether groups can run one after the other, each as a whole.
pub fn can_run(graph: &View, groups: &[Group]) -> bool {
    let of = |id: NodeId| groups.iter().position(|group| group.has(id)).map_or(id.0 + groups.len(), |at| at);
    let mut done: Vec<bool> = vec![false; graph.nodes.len()];
    loop {
        let ready = |id: NodeId| graph.producers(id).iter().all(|producer| done[producer.0] || of(*producer) == of(id));
        let next = graph.ids().find(|&id| !done[id.0] && graph.ids().filter(|&other| of(other) == of(id)).all(ready));
        let Some(next) = next else { return done.iter().all(|done| *done) };
        for id in graph.ids().filter(|&other| of(other) == of(next)) {
            done[id.0] = true;
        }
    }
}

/// A graph that no application has, operator by operator.
#[derive(Default)]
pub struct Builder {
    tensors: serde_json::Map<String, Value>,
    nodes: Vec<Value>,
    /// Of operators that are added.
    pub backward: bool,
}

impl Builder {
    /// A tensor from outside.
    pub fn input(&mut self, shape: &[u64], kind: &str) -> String {
        let name = format!("t{}", self.tensors.len());
        self.tensors.insert(name.clone(), json!({"shape": shape, "dtype_bytes": 2, "kind": kind}));
        name
    }

    fn shape(&self, name: &str) -> Vec<u64> {
        self.tensors[name]["shape"].as_array().expect("a shape").iter().filter_map(Value::as_u64).collect()
    }

    /// An operator with a result of this shape.
    pub fn node(&mut self, class: &str, inputs: &[&str], shape: &[u64], flops: f64) -> String {
        let output = self.input(shape, "act");
        let phase = if self.backward { "bw" } else { "fw" };
        let (id, outputs) = (self.nodes.len(), [&output]);
        self.nodes.push(json!({"id": id, "op": "f", "cls": class, "phase": phase, "inputs": inputs, "outputs": outputs, "flops": flops}));
        output
    }

    /// Columns of new weights times rows of x.
    pub fn linear(&mut self, x: &str, columns: u64) -> String {
        let shape = self.shape(x);
        let (rows, k) = (shape[0], shape[1]);
        let weights = self.input(&[columns, k], "param");
        self.node("tensor", &[x, &weights], &[rows, columns], (2 * rows * k * columns) as f64)
    }

    /// Element by element, `each` operations.
    pub fn simt(&mut self, inputs: &[&str], each: f64) -> String {
        let shape = self.shape(inputs[0]);
        let elements: u64 = shape.iter().product();
        self.node("simt", inputs, &shape, each * elements as f64)
    }

    /// A normalisation with a scale.
    pub fn norm(&mut self, x: &str) -> String {
        let columns = self.shape(x)[1];
        let scale = self.input(&[2 * columns], "param");
        self.simt(&[x, &scale], 8.0)
    }

    /// Side by side.
    pub fn concat(&mut self, inputs: &[&str]) -> String {
        let shapes: Vec<Vec<u64>> = inputs.iter().map(|name| self.shape(name)).collect();
        self.node("simt", inputs, &[shapes[0][0], shapes.iter().map(|shape| shape[1]).sum()], 0.0)
    }

    /// As text.
    pub fn json(&self) -> String {
        json!({"format": "dataflow-graph/1", "app": "made up", "tensors": self.tensors, "nodes": self.nodes}).to_string()
    }

    /// As read.
    pub fn graph(&self) -> View {
        read(&self.json()).unwrap_or_else(|error| panic!("{error}"))
    }
}
