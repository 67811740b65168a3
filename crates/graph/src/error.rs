//! What may be wrong with a model, where, and what to do.

use crate::onnx::declared::{FreeDimension, OPSETS};
use crate::room::NoRoom;
use warpsight_files::FileError;
use warpsight_generate::operators::OperatorError;
use warpsight_ir::near::did_you_mean;

/// Why a file is no model that can be planned.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// The file cannot be opened or read, or is too long.
    #[error("cannot read {}: {_0}", _0.path().display())]
    Read(#[from] FileError),
    /// Nothing in it.
    #[error("the model file is empty")]
    Empty,
    /// Its first bytes are not those of an ONNX model.
    #[error("this is not an ONNX file: {reason}")]
    NotOnnx {
        /// What says so.
        reason: String,
    },
    /// It ends inside a field.
    #[error("the model file is truncated: the field at byte {at} is {needed} bytes long, {have} are left; fetch the file again")]
    Truncated {
        /// Where the field starts.
        at: usize,
        /// Its length.
        needed: u64,
        /// What is there.
        have: usize,
    },
    /// Its fields contradict the format.
    #[error("the model file is corrupted: {reason}; fetch the file again")]
    Corrupted {
        /// What the decoder says.
        reason: String,
    },
    /// No version of the operator set.
    #[error("the model states no version of the ONNX operator set")]
    NoOpset,
    /// A version of the operator set that is not read.
    #[error("the model uses ONNX opset {version}; supported are {} to {}: convert it, for example with onnx.version_converter", OPSETS.start(), OPSETS.end())]
    Opset {
        /// Its version.
        version: i64,
    },
    /// Weights beside the model file.
    #[error(
        "tensor `{tensor}` is stored outside the model, in `{location}`: save the model with its data inside (onnx.save_model, save_as_external_data=False)"
    )]
    ExternalData {
        /// The tensor.
        tensor: String,
        /// The file it names.
        location: String,
    },
    /// A constant whose data do not fit its type and shape.
    #[error("tensor `{tensor}`: {what}")]
    BadTensor {
        /// The tensor.
        tensor: String,
        /// How.
        what: String,
    },
    /// An input that a graph reads, with a type that is not supported.
    #[error("tensor `{tensor}` has element type {found}; expected {expected}")]
    WrongType {
        /// The tensor.
        tensor: String,
        /// Its type.
        found: String,
        /// What is read.
        expected: &'static str,
    },
    /// Inputs whose shape the model leaves open and nobody gave.
    #[error("{}", free_text(dimensions, flags))]
    FreeDimensions {
        /// Every one of them.
        dimensions: Vec<FreeDimension>,
        /// The flag per input, as in `--input-shape x=?,3,?,?`.
        flags: Vec<String>,
    },
    /// A shape that cannot be read.
    #[error("`{text}` is no input shape: {reason}; write it as in x=1,3,48,192")]
    InputShape {
        /// What was written.
        text: String,
        /// Why not.
        reason: String,
    },
    /// Values that cannot be read, or are none of their input.
    #[error("`{text}` are no input's values: {reason}; write them as in axes=0,2")]
    InputValues {
        /// What was written, or the input.
        text: String,
        /// Why not.
        reason: String,
    },
    /// What decides shapes, and is computed or an input of the model.
    #[error("node `{node}`: `{tensor}` has to be known before a run, and {}", open(tensor, *input))]
    Open {
        /// The node.
        node: String,
        /// What it reads.
        tensor: String,
        /// Whether that is an input of the model.
        input: bool,
    },
    /// A shape for an input that the model does not have.
    #[error("the model has no input `{name}`; its inputs: {inputs}{}", did_you_mean(name, inputs.split(", ")))]
    NoSuchInput {
        /// The name given.
        name: String,
        /// The names there are.
        inputs: String,
    },
    /// A shape that contradicts the model's own.
    #[error("input `{input}` cannot have shape {given:?}: expected {declared}")]
    ShapeConflict {
        /// The input.
        input: String,
        /// The shape given.
        given: Vec<i64>,
        /// What the model declares, or what any shape must be.
        declared: String,
    },
    /// Opaque work cannot be executed.
    #[error("node `{node}`: what {kind} computes is not known here, only what it takes")]
    Opaque {
        /// The node.
        node: String,
        /// What its source calls its operator.
        kind: String,
    },
    /// A graph that computes nothing.
    #[error("the model has no outputs: there is nothing to compute")]
    NoOutputs,
    /// Tensors that are not held in memory.
    #[error("{what} take {bytes} bytes; {why}")]
    TooLarge {
        /// Which.
        what: String,
        /// Their size, eight bytes an element.
        bytes: u64,
        /// Why they are not.
        why: NoRoom,
    },
    /// An output that nothing computes.
    #[error("graph output `{tensor}` is computed by no node")]
    NoOutput {
        /// The output.
        tensor: String,
    },
    /// Two definitions of one tensor.
    #[error("tensor `{tensor}` is defined twice, by {first} and by {second}")]
    DuplicateTensor {
        /// The tensor.
        tensor: String,
        /// The first.
        first: String,
        /// The second.
        second: String,
    },
    /// A tensor that is read and defined nowhere.
    #[error("node `{node}` ({operator}) reads `{tensor}`, which nothing defines")]
    MissingInput {
        /// The node.
        node: String,
        /// Its operator.
        operator: String,
        /// The tensor.
        tensor: String,
    },
    /// Nodes that wait for each other.
    #[error("the graph has a cycle: {}", nodes.join(" → "))]
    Cycle {
        /// The nodes of one cycle, the first one again at the end.
        nodes: Vec<String>,
    },
    /// Operators that are not read, each with the nodes that use it.
    #[error("{}", operators_text(*opset, operators))]
    UnsupportedOperators {
        /// The version of the operator set.
        opset: i64,
        /// Name of the operator, with its domain where that is not ONNX's own, and the nodes.
        operators: Vec<(String, Vec<String>)>,
    },
    /// A way of using an operator that is not supported.
    #[error("node `{node}`: {operator} (opset {opset}) with {what} is not supported")]
    Unsupported {
        /// The node.
        node: String,
        /// The operator.
        operator: String,
        /// The version of the operator set.
        opset: i64,
        /// What is not supported.
        what: String,
    },
    /// Inputs or attributes that do not go together.
    #[error("node `{node}`: {operator} (opset {opset}): {what}")]
    BadNode {
        /// The node.
        node: String,
        /// The operator.
        operator: String,
        /// The version of the operator set.
        opset: i64,
        /// How.
        what: String,
    },
    /// A node that has no form as a tensor expression.
    #[error("node `{node}`: {source}")]
    Operator {
        /// The node.
        node: String,
        /// What is wrong.
        source: OperatorError,
    },
    /// An element that is stored where its tensor has none.
    #[error("operator `{operator}` stores point {point:?} outside of its output `{tensor}` of shape {shape:?}")]
    Unplaced {
        /// The operator of the plan.
        operator: String,
        /// What is written.
        tensor: String,
        /// Its extents.
        shape: Vec<i64>,
        /// Indices of the parallel axes.
        point: Vec<i64>,
    },
    /// Values for an evaluation that do not fit the graph.
    #[error("{what}")]
    Values {
        /// Which, and how.
        what: String,
    },
}

fn open(tensor: &str, input: bool) -> String {
    match input {
        true => format!("is an input: --input-value {tensor}=N,N,… makes a constant of it"),
        false => "is computed".to_owned(),
    }
}

fn free_text(dimensions: &[FreeDimension], flags: &[String]) -> String {
    let list: Vec<String> = dimensions.iter().map(ToString::to_string).collect();
    format!("the model leaves dimensions of its inputs open: {}; give them with {}", list.join(", "), flags.join(" "))
}

fn operators_text(opset: i64, operators: &[(String, Vec<String>)]) -> String {
    if let [(operator, nodes)] = operators
        && let [node] = nodes.as_slice()
    {
        return format!("node `{node}`: operator {operator} (opset {opset}) is not supported");
    }
    let nodes: usize = operators.iter().map(|o| o.1.len()).sum();
    let each = operators.iter().map(|(operator, nodes)| format!("{operator} ×{} (first `{}`)", nodes.len(), nodes[0]));
    format!("{nodes} nodes have operators that are not supported (opset {opset}): {}", each.collect::<Vec<_>>().join(", "))
}
