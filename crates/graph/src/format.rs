//! `dataflow-graph`: a graph of operators as JSON, an object with `format`, `app`, `tensors` (by name: `shape`, `dtype_bytes`, `kind`) and
//! `nodes` (`id`, `op`, `cls`, `inputs`, `outputs`, `flops`, `bytes_read`, `bytes_written`, `phase`), in any order.
//!
//! In version 1 all nodes are opaque. In version 2 a node may have a `body`, its operator with all that execution needs; then what it takes
//! follows from it unless it is stated. `docs/dataflow-graph.md` tells both.

mod check;
mod order;

use crate::graph::op::Op;
use crate::graph::work::{Class, IndexSource, Phase, Work};
use crate::graph::{Body, Graph, GraphTensor, Node, Origin, TensorId, TensorKind};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use warpsight_ir::Bytes;

/// What is wrong with a text as JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// What was found.
    what: String,
    /// Line and column, from 1; `None` where it is about the whole.
    pub place: Option<(usize, usize)>,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl From<serde_json::Error> for Malformed {
    fn from(error: serde_json::Error) -> Self {
        Self { place: (error.line() > 0).then(|| (error.line(), error.column())), what: error.to_string() }
    }
}

impl From<String> for Malformed {
    fn from(what: String) -> Self {
        Self { what, place: None }
    }
}

/// Why a file is no graph of operators, with the node or tensor that it is about.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// Not the JSON that was expected.
    #[error("this is no dataflow-graph/{version}: {what}")]
    Form {
        /// The version that it was read as.
        version: u8,
        /// What was found.
        what: Malformed,
    },
    /// A graph of nothing.
    #[error("the graph has no nodes")]
    Empty,
    /// Two nodes of one name.
    #[error("two nodes have the id `{0}`")]
    SameId(String),
    /// A tensor that is not listed.
    #[error("node `{node}` uses tensor `{tensor}`, which the graph does not have")]
    NoTensor {
        /// The node.
        node: String,
        /// The tensor.
        tensor: String,
    },
    /// A tensor that somebody reads and nobody writes.
    #[error("tensor `{tensor}` is read by node `{node}`, but no node writes it and it is not an input")]
    Unwritten {
        /// The tensor.
        tensor: String,
        /// Its first reader.
        node: String,
    },
    /// A tensor with two producers, or one that comes from outside and is written.
    #[error("tensor `{tensor}`, written by node `{node}`, is {already} already")]
    Rewritten {
        /// The tensor.
        tensor: String,
        /// The node.
        node: String,
        /// Who writes it otherwise.
        already: String,
    },
    /// Nodes that wait for each other.
    #[error("a cycle: {}", .0.join(" → "))]
    Cycle(Vec<String>),
    /// An extent that is not known before execution.
    #[error("tensor `{tensor}` has the extent {extent}: only positive, fixed shapes can be planned")]
    Dynamic {
        /// The tensor.
        tensor: String,
        /// What is written there.
        extent: String,
    },
    /// A tensor of a size that nobody has.
    #[error("tensor `{0}` has no bytes, or 2^53 and more")]
    Size(String),
    /// A value of what is given by a caller or a node.
    #[error("tensor `{tensor}` has a value and is no constant")]
    Value {
        /// The tensor.
        tensor: String,
    },
    /// Numbers that contradict each other.
    #[error("node `{node}`: {what}")]
    Mismatch {
        /// The node.
        node: String,
        /// What does not fit.
        what: String,
    },
}

#[derive(Deserialize)]
#[serde(expecting = "an object with `format`, `tensors` and `nodes`")]
struct File<T, N> {
    format: String,
    #[serde(default)]
    app: String,
    tensors: BTreeMap<String, T>,
    nodes: Vec<N>,
}

#[derive(Deserialize)]
struct Head {
    format: String,
}

#[derive(Deserialize)]
#[serde(expecting = "a tensor with `shape`, `dtype_bytes` and `kind`")]
struct Tensor1 {
    shape: Vec<Value>,
    dtype_bytes: u64,
    kind: TensorKind,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a tensor with `shape`, `dtype_bytes` and `kind`")]
struct Tensor2 {
    shape: Vec<Value>,
    dtype_bytes: u64,
    kind: TensorKind,
    /// All elements are this number.
    value: Option<f64>,
}

#[derive(Deserialize)]
#[serde(expecting = "a node with `id`, `op`, `cls`, `inputs`, `outputs` and `flops`")]
struct Node1 {
    id: Value,
    op: String,
    cls: Class,
    #[serde(default)]
    phase: Option<String>,
    inputs: Vec<String>,
    outputs: Vec<String>,
    flops: f64,
    bytes_read: Option<f64>,
    bytes_written: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a node with `id`, `op`, `inputs`, `outputs` and a `body` or `cls` and `flops`")]
struct Node2 {
    id: Value,
    op: String,
    body: Option<Op>,
    #[serde(default)]
    index: Vec<IndexSource>,
    cls: Option<Class>,
    #[serde(default)]
    phase: Option<String>,
    /// For people.
    #[serde(default, rename = "tag")]
    _tag: Option<String>,
    inputs: Vec<String>,
    outputs: Vec<String>,
    flops: Option<f64>,
    bytes_read: Option<f64>,
    bytes_written: Option<f64>,
}

impl From<Tensor1> for Tensor2 {
    fn from(Tensor1 { shape, dtype_bytes, kind }: Tensor1) -> Self {
        Self { shape, dtype_bytes, kind, value: None }
    }
}

impl From<Node1> for Node2 {
    fn from(node: Node1) -> Self {
        let Node1 { id, op, cls, phase, inputs, outputs, flops, bytes_read, bytes_written } = node;
        let (cls, flops) = (Some(cls), Some(flops));
        Self { id, op, body: None, index: Vec::new(), cls, phase, _tag: None, inputs, outputs, flops, bytes_read, bytes_written }
    }
}

/// A node as it was read, with what is checked and then follows from its operands.
struct Draft {
    node: Node,
    read: Option<f64>,
    written: Option<f64>,
}

impl Graph {
    /// Reads `dataflow-graph/1` or `/2`.
    ///
    /// # Errors
    /// What is wrong, by node or tensor.
    pub fn read(json: &str) -> Result<Self, FormatError> {
        // Of what is no JSON the format cannot be read: what is wrong is told of the version that is named somewhere.
        let head = serde_json::from_str(json);
        if head.map_or_else(|_| json.contains("\"dataflow-graph/2\""), |head: Head| head.format == "dataflow-graph/2") {
            let file = serde_json::from_str(json).map_err(|error| FormatError::Form { version: 2, what: error.into() })?;
            return made::<Tensor2, Node2>(file);
        }
        let form = |what| FormatError::Form { version: 1, what };
        let file: File<Tensor1, Node1> = serde_json::from_str(json).map_err(|error| form(error.into()))?;
        if file.format != "dataflow-graph/1" {
            return Err(form(format!("its format is `{}`", file.format).into()));
        }
        made(file)
    }
}

fn made<T: Into<Tensor2>, N: Into<Node2>>(file: File<T, N>) -> Result<Graph, FormatError> {
    let mut positions = HashMap::new();
    let mut graph = Graph { name: file.app, ..Graph::default() };
    for (name, tensor) in file.tensors {
        let tensor: Tensor2 = tensor.into();
        let id = TensorId(graph.tensors.len());
        match tensor.kind {
            TensorKind::Input => graph.inputs.push(id),
            TensorKind::Output => graph.outputs.push(id),
            TensorKind::Param | TensorKind::Const | TensorKind::Act => {}
        }
        positions.insert(name.clone(), id);
        let tensor = read_tensor(name, tensor)?;
        graph.add(tensor);
    }
    let drafts = file.nodes.into_iter().map(|node| read_node(node.into(), &positions)).collect::<Result<Vec<_>, _>>()?;
    if drafts.is_empty() {
        return Err(FormatError::Empty);
    }
    check::unique(&drafts)?;
    check::sized(&graph.tensors)?;
    check::connected(&drafts, &graph)?;
    let order = order::runnable(&drafts, &graph)?;
    drafts.iter().try_for_each(|draft| check::node(draft, &graph))?;
    let mut nodes: Vec<Option<Node>> = drafts.into_iter().map(|draft| Some(draft.node)).collect();
    // Each is named once.
    graph.nodes = order.into_iter().filter_map(|at| nodes[at].take()).collect();
    Ok(graph)
}

fn read_tensor(name: String, tensor: Tensor2) -> Result<GraphTensor, FormatError> {
    let extent = |value: &Value| {
        let found = value.as_u64().filter(|&extent| extent > 0);
        // What is more than that is refused with the tensor's size.
        let extent = found.map(|extent| i64::try_from(extent).unwrap_or(i64::MAX));
        extent.ok_or_else(|| FormatError::Dynamic { tensor: name.clone(), extent: value.to_string() })
    };
    let shape = tensor.shape.iter().map(extent).collect::<Result<Vec<i64>, _>>()?;
    let origin = match tensor.kind {
        TensorKind::Input => Origin::Input,
        TensorKind::Param => Origin::Parameter,
        TensorKind::Const => Origin::Constant,
        TensorKind::Act | TensorKind::Output => Origin::Node,
    };
    if tensor.value.is_some() && tensor.kind != TensorKind::Const {
        return Err(FormatError::Value { tensor: name });
    }
    let read = GraphTensor { element: tensor.dtype_bytes, fill: tensor.value, ..GraphTensor::new(name, shape, origin) };
    Ok(match tensor.value {
        Some(value) if read.elements() == 1 => read.with_values([value]),
        _ => read,
    })
}

fn read_node(node: Node2, positions: &HashMap<String, TensorId>) -> Result<Draft, FormatError> {
    let name = node.id.as_str().map_or_else(|| node.id.to_string(), str::to_owned);
    let find = |tensor: &String| {
        positions.get(tensor).copied().ok_or_else(|| FormatError::NoTensor { node: name.clone(), tensor: tensor.clone() })
    };
    let inputs = node.inputs.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let outputs = node.outputs.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let phase = match node.phase.as_deref() {
        None | Some("fw") => Phase::Forward,
        Some("bw") => Phase::Backward,
        Some(other) => return Err(mismatch(&name, format!("there is no phase `{other}`"))),
    };
    let stated = match (node.cls, node.flops) {
        (Some(class), Some(flops)) => {
            // Others read all of their operands.
            let read = node.bytes_read.map(Bytes).filter(|_| class == Class::Gather);
            Some(Work { class, flops, read })
        }
        (None, None) => None,
        _ => return Err(mismatch(&name, "`cls` and `flops` belong together".to_owned())),
    };
    let body = match (node.body, stated) {
        (Some(_), _) if !node.index.is_empty() => return Err(mismatch(&name, "a `body` has no `index` beside it".to_owned())),
        (Some(op), stated) => Body::Op { op, stated },
        (None, Some(work)) => Body::Opaque { work, index: node.index },
        (None, None) => return Err(mismatch(&name, "without a `body` it needs `cls` and `flops`".to_owned())),
    };
    let (read, written) = (node.bytes_read, node.bytes_written);
    Ok(Draft { node: Node { name, kind: Some(node.op), body, phase, inputs, outputs }, read, written })
}

fn mismatch(node: &str, what: String) -> FormatError {
    FormatError::Mismatch { node: node.to_owned(), what }
}
