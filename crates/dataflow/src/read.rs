//! `dataflow-graph/1`: an object with `format`, `app`, `tensors` (by name: `shape`, `dtype_bytes`, `kind`) and `nodes` (`id`, `op`, `cls`,
//! `inputs`, `outputs`, `flops`, `bytes_read`, `bytes_written`, `phase`), in any order.

use crate::graph::{Class, Gemm, Graph, Node, NodeId, Phase, Tensor, TensorId, TensorKind};
use serde::Deserialize;
use serde_json::Value;
use smallvec::SmallVec;
use std::collections::{BTreeMap, HashMap};
use warpsight_ir::Bytes;

/// Why a graph cannot be planned, with the node or tensor that it is about.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// Not the JSON that was expected.
    #[error("this is no dataflow-graph/1: {0}")]
    Form(String),
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
    /// Numbers that contradict each other.
    #[error("node `{node}`: {what}")]
    Mismatch {
        /// The node.
        node: String,
        /// What does not fit.
        what: String,
    },
}

/// Operations that a node has fewer of: steps of a pipeline's firings count them in 64 bits.
const OPERATIONS: f64 = (1_u64 << 63) as f64;

#[derive(Deserialize)]
#[serde(expecting = "an object with `format`, `tensors` and `nodes`")]
struct File {
    format: String,
    #[serde(default)]
    app: String,
    tensors: BTreeMap<String, FileTensor>,
    nodes: Vec<FileNode>,
}

#[derive(Deserialize)]
#[serde(expecting = "a tensor with `shape`, `dtype_bytes` and `kind`")]
struct FileTensor {
    shape: Vec<Value>,
    dtype_bytes: u64,
    kind: TensorKind,
}

#[derive(Deserialize)]
#[serde(expecting = "a node with `id`, `op`, `cls`, `inputs`, `outputs` and `flops`")]
struct FileNode {
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

impl Graph {
    /// Reads `dataflow-graph/1`.
    ///
    /// # Errors
    /// What is wrong, by node or tensor.
    pub fn read(json: &str) -> Result<Self, GraphError> {
        let file: File = serde_json::from_str(json).map_err(|error| GraphError::Form(error.to_string()))?;
        if file.format != "dataflow-graph/1" {
            return Err(GraphError::Form(format!("its format is `{}`", file.format)));
        }
        let mut positions = HashMap::new();
        let mut tensors = Vec::with_capacity(file.tensors.len());
        for (name, tensor) in file.tensors {
            positions.insert(name.clone(), TensorId(tensors.len()));
            tensors.push(read_tensor(name, &tensor)?);
        }
        let node = |node: FileNode| {
            let name = node.id.as_str().map_or_else(|| node.id.to_string(), str::to_owned);
            let find = |tensor: &String| {
                positions.get(tensor).copied().ok_or_else(|| GraphError::NoTensor { node: name.clone(), tensor: tensor.clone() })
            };
            let inputs = node.inputs.iter().map(find).collect::<Result<SmallVec<_>, _>>()?;
            let outputs = node.outputs.iter().map(find).collect::<Result<SmallVec<_>, _>>()?;
            let phase = match node.phase.as_deref() {
                None | Some("fw") => Phase::Forward,
                Some("bw") => Phase::Backward,
                Some(other) => return Err(GraphError::Mismatch { node: name, what: format!("there is no phase `{other}`") }),
            };
            let sum = |ids: &[TensorId]| ids.iter().map(|id| tensors[id.0].bytes() as f64).sum::<f64>();
            let (read, written) = (node.bytes_read.unwrap_or_else(|| sum(&inputs)), node.bytes_written.unwrap_or_else(|| sum(&outputs)));
            let (read, written) = (Bytes(read), Bytes(written));
            Ok(Node { name, op: node.op, class: node.cls, phase, inputs, outputs, flops: node.flops, read, written, gemm: None })
        };
        let nodes = file.nodes.into_iter().map(node).collect::<Result<Vec<_>, _>>()?;
        Self::new(file.app, nodes, tensors)
    }

    /// Of nodes and tensors in any order. Producers, consumers and shapes of products are found here.
    ///
    /// # Errors
    /// What is wrong, by node or tensor.
    pub fn new(name: String, mut nodes: Vec<Node>, mut tensors: Vec<Tensor>) -> Result<Self, GraphError> {
        if nodes.is_empty() {
            return Err(GraphError::Empty);
        }
        unique(&nodes)?;
        sized(&tensors)?;
        connect(&nodes, &mut tensors)?;
        let order = crate::order::canonical(&nodes, &tensors)?;
        for node in &mut nodes {
            check_sizes(node, &tensors)?;
            node.gemm = gemm(node, &tensors)?;
        }
        Ok(crate::order::arranged(name, nodes, tensors, &order))
    }
}

fn read_tensor(name: String, tensor: &FileTensor) -> Result<Tensor, GraphError> {
    let extent = |value: &Value| {
        let found = value.as_u64().filter(|&extent| extent > 0);
        found.ok_or_else(|| GraphError::Dynamic { tensor: name.clone(), extent: value.to_string() })
    };
    let shape = tensor.shape.iter().map(extent).collect::<Result<SmallVec<[u64; 4]>, _>>()?;
    Ok(Tensor { name, shape, element: tensor.dtype_bytes, kind: tensor.kind, producer: None, consumers: SmallVec::new() })
}

fn unique(nodes: &[Node]) -> Result<(), GraphError> {
    let mut seen = std::collections::HashSet::new();
    match nodes.iter().find(|node| !seen.insert(&node.name)) {
        Some(node) => Err(GraphError::SameId(node.name.clone())),
        None => Ok(()),
    }
}

/// Bytes of a tensor are a whole number, also as `f64`.
fn sized(tensors: &[Tensor]) -> Result<(), GraphError> {
    let wrong = tensors.iter().find(|tensor| !(1..1 << 53).contains(&tensor.bytes()));
    wrong.map_or(Ok(()), |tensor| Err(GraphError::Size(tensor.name.clone())))
}

/// Finds producers and consumers, in the order of the nodes given.
fn connect(nodes: &[Node], tensors: &mut [Tensor]) -> Result<(), GraphError> {
    for (at, node) in nodes.iter().enumerate() {
        for id in &node.outputs {
            let tensor = &mut tensors[id.0];
            let already = match tensor.producer {
                Some(other) => Some(format!("written by node `{}`", nodes[other.0].name)),
                None if !matches!(tensor.kind, TensorKind::Act | TensorKind::Output) => Some("given from outside".to_owned()),
                None => None,
            };
            if let Some(already) = already {
                return Err(GraphError::Rewritten { tensor: tensor.name.clone(), node: node.name.clone(), already });
            }
            tensor.producer = Some(NodeId(at));
        }
        for id in &node.inputs {
            let consumers = &mut tensors[id.0].consumers;
            if consumers.last() != Some(&NodeId(at)) {
                consumers.push(NodeId(at));
            }
        }
    }
    for tensor in tensors.iter() {
        let outside = !matches!(tensor.kind, TensorKind::Act | TensorKind::Output);
        if let (false, None, Some(reader)) = (outside, tensor.producer, tensor.consumers.first()) {
            return Err(GraphError::Unwritten { tensor: tensor.name.clone(), node: nodes[reader.0].name.clone() });
        }
    }
    Ok(())
}

/// Attributes are not part of the format, so that slices, expansions and concatenations look like any other shapes; what no operator of a
/// class can do is an error.
fn check_sizes(node: &Node, tensors: &[Tensor]) -> Result<(), GraphError> {
    let mismatch = |what: String| Err(GraphError::Mismatch { node: node.name.clone(), what });
    if !(0.0..OPERATIONS).contains(&node.flops) {
        return mismatch(format!("{:e} operations, where 0 or more, and fewer than 2^63, were expected", node.flops));
    }
    if node.outputs.is_empty() || node.inputs.is_empty() {
        return mismatch("it reads or writes nothing".to_owned());
    }
    let sum = |ids: &[TensorId]| ids.iter().map(|id| tensors[id.0].bytes() as f64).sum::<f64>();
    let (reads, writes) = (sum(&node.inputs), sum(&node.outputs));
    if node.written.0 != writes {
        return mismatch(format!("it writes {} B, but its outputs have {writes} B", node.written.0));
    }
    // A gather reads the rows that it touches.
    if !(node.read.0 == reads || node.class == Class::Gather && node.read.0 >= 0.0 && node.read.0.is_finite()) {
        return mismatch(format!("it reads {} B, but its inputs have {reads} B", node.read.0));
    }
    let output = &tensors[node.outputs[0].0];
    let shown = |tensor: &Tensor| format!("`{}` {:?}", tensor.name, tensor.shape.as_slice());
    if node.class == Class::Reduce && !node.inputs.iter().any(|id| tensors[id.0].elements().is_multiple_of(output.elements())) {
        return mismatch(format!("it reduces to {}, of which no input is a multiple", shown(output)));
    }
    if node.class == Class::Simt {
        // As many elements are those of the output, transposed or not.
        let alike = |tensor: &&Tensor| tensor.shape.len() == output.shape.len() && tensor.elements() != output.elements();
        let alike: SmallVec<[&Tensor; 4]> = node.inputs.iter().map(|id| &tensors[id.0]).filter(alike).collect();
        for (axis, &extent) in output.shape.iter().enumerate() {
            let joined: u64 = alike.iter().map(|tensor| tensor.shape[axis]).sum();
            let wrong = |tensor: &&&Tensor| tensor.shape[axis] < extent && !extent.is_multiple_of(tensor.shape[axis]) && joined != extent;
            if let Some(tensor) = alike.iter().find(wrong) {
                return mismatch(format!("{} does not fit its output {}", shown(tensor), shown(output)));
            }
        }
    }
    Ok(())
}

/// The shape of a plain matrix product, from sizes and operations alone: one operand is held whole, the other may be a slice. `None` for
/// batches of products and for whole attention.
fn gemm(node: &Node, tensors: &[Tensor]) -> Result<Option<Gemm>, GraphError> {
    if node.class != Class::Tensor {
        return Ok(None);
    }
    let output = &tensors[node.outputs[0].0];
    let n = output.shape.last().copied().unwrap_or(1);
    let m = output.elements() / n;
    let k = node.flops / (2.0 * output.elements() as f64);
    if k >= 1.0 && k.fract() == 0.0 && k < (1_u64 << 40) as f64 {
        let k = k as u64;
        let elements = |at: usize| tensors[node.inputs[at].0].elements();
        let pairs = (0..node.inputs.len()).flat_map(|right| (0..node.inputs.len()).map(move |left| (right, left)));
        let found = pairs.filter(|(right, left)| right != left).find(|&(right, left)| elements(right) == n * k && elements(left) >= m * k);
        if let Some((right, left)) = found {
            return Ok(Some(Gemm { m, n, k, right: node.inputs[right], left: node.inputs[left] }));
        }
    }
    // A batch of b products has b times fewer operations than its operands together would need as one.
    let mut sizes: SmallVec<[f64; 4]> = node.inputs.iter().map(|id| tensors[id.0].elements() as f64).collect();
    sizes.sort_unstable_by(|a, b| b.total_cmp(a));
    let (a, b) = (sizes[0], sizes.get(1).copied().unwrap_or(sizes[0]));
    let batch = a * b * output.elements() as f64 / (node.flops / 2.0).powi(2);
    if (batch - batch.round()).abs() > 1e-6 * batch || batch < 1.0 || !batch.is_finite() {
        let shapes: Vec<_> = node.inputs.iter().chain(&node.outputs).map(|id| format!("{:?}", tensors[id.0].shape.as_slice())).collect();
        let what = format!("{} operations are no product of the shapes {}", node.flops, shapes.join(", "));
        return Err(GraphError::Mismatch { node: node.name.clone(), what });
    }
    Ok(None)
}
