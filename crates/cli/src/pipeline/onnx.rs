//! A network as a graph of operators with the classes that pipelines are planned by. As in the graphs of paper 003, what only moves or
//! renames elements (reshape, transpose, slice) is no operator, and a bias belongs to its product.

use std::collections::{BTreeMap, BTreeSet};
use warpsight_dataflow as dataflow;
use warpsight_dataflow::{Class, Phase, TensorKind};
use warpsight_graph::{Arithmetic, Function, Graph, Node, Op, TensorId};
use warpsight_ir::Bytes;

/// Why a network is no such graph.
#[derive(Debug, thiserror::Error)]
pub enum OnnxError {
    /// Operators of none of the classes.
    #[error("{}", refused_text(.0))]
    Operators(Vec<Refused>),
    /// The graph contradicts the rules of pipelines.
    #[error(transparent)]
    Graph(#[from] dataflow::GraphError),
}

/// Nodes that are refused for one reason.
#[derive(Debug)]
pub struct Refused {
    /// Why.
    what: &'static str,
    /// The nodes.
    nodes: Vec<String>,
}

fn refused_text(all: &[Refused]) -> String {
    let each = all.iter().map(|Refused { what, nodes }| match nodes.as_slice() {
        [node] => format!("node `{node}`: {what}"),
        nodes => format!("{} nodes, the first `{}`: {what}", nodes.len(), nodes[0]),
    });
    each.collect::<Vec<_>>().join("; ")
}

/// Why an operator is of none of the classes.
fn refusal(op: &Op) -> Option<&'static str> {
    match op {
        Op::Conv { .. } | Op::ConvTranspose { .. } => {
            Some("a convolution: its windows overlap, so that its input does not come in rows of a matrix product")
        }
        Op::Pool { .. } => Some("a pooling: its windows overlap, so that its input does not come in rows"),
        Op::Pad { .. } => Some("padding: its output has elements that no input has"),
        _ => None,
    }
}

/// The operators of a network whose elements have so many bytes (best after [`warpsight_graph::simplify`]).
///
/// # Errors
/// All nodes that stand in the way.
pub fn converted(name: &str, graph: &Graph, element: u64) -> Result<dataflow::Graph, OnnxError> {
    let mut converter = Converter::of(graph, element);
    let mut refused: Vec<Refused> = vec![];
    for node in graph.nodes.iter().zip(&converter.live).filter(|(_, live)| **live).map(|(node, _)| node) {
        let Some(what) = refusal(&node.op) else { continue };
        match refused.iter_mut().find(|r| r.what == what) {
            Some(known) => known.nodes.push(node.name.clone()),
            None => refused.push(Refused { what, nodes: vec![node.name.clone()] }),
        }
    }
    if !refused.is_empty() {
        return Err(OnnxError::Operators(refused));
    }
    for (at, node) in graph.nodes.iter().enumerate() {
        if converter.live[at] && !is_view(&node.op) && !converter.biases.contains_key(&at) {
            converter.add(at, node);
        }
    }
    let Converter { nodes, tensors, .. } = converter;
    Ok(dataflow::Graph::new(name.to_owned(), nodes, tensors)?)
}

/// Whether a node only says where elements are found.
fn is_view(op: &Op) -> bool {
    matches!(op, Op::Alias | Op::Transpose { .. } | Op::Slice { .. })
}

struct Converter<'a> {
    graph: &'a Graph,
    element: u64,
    /// Whose elements each tensor has.
    source: Vec<TensorId>,
    /// Nodes that an output depends on.
    live: Vec<bool>,
    /// Additions of a bias, each with the product it belongs to.
    biases: BTreeMap<usize, usize>,
    outputs: BTreeSet<TensorId>,
    names: BTreeSet<String>,
    positions: BTreeMap<TensorId, dataflow::TensorId>,
    nodes: Vec<dataflow::Node>,
    tensors: Vec<dataflow::Tensor>,
}

impl<'a> Converter<'a> {
    fn of(graph: &'a Graph, element: u64) -> Self {
        let mut source: Vec<TensorId> = (0..graph.tensors.len()).map(TensorId).collect();
        for node in graph.nodes.iter().filter(|node| is_view(&node.op)) {
            source[node.output.0] = source[node.inputs[0].0];
        }
        let mut wanted: BTreeSet<TensorId> = graph.outputs.iter().copied().collect();
        let mut live = vec![false; graph.nodes.len()];
        for (at, node) in graph.nodes.iter().enumerate().rev() {
            live[at] = wanted.contains(&node.output);
            if live[at] {
                wanted.extend(node.inputs.iter().copied());
            }
        }
        let outputs: BTreeSet<TensorId> = graph.outputs.iter().map(|id| source[id.0]).collect();
        let mut converter = Self {
            graph,
            element,
            source,
            live,
            biases: BTreeMap::new(),
            outputs,
            names: BTreeSet::new(),
            positions: BTreeMap::new(),
            nodes: Vec::new(),
            tensors: Vec::new(),
        };
        converter.biases = converter.biases();
        converter
    }

    /// Additions of a constant for each column to a product that nobody else reads.
    fn biases(&self) -> BTreeMap<usize, usize> {
        let (readers, writers) = (self.graph.readers(), self.graph.writers());
        let is_bias = |node: &Node| {
            let columns = self.graph.tensor(node.output).shape.last().copied().unwrap_or(1);
            let one = |at: usize| -> Option<usize> {
                let (product, bias) = (node.inputs[at], self.graph.tensor(node.inputs[1 - at]));
                let by = writers[product.0]?;
                let fits = bias.constant.is_some() && bias.shape.last() == Some(&columns) && bias.len() as i64 == columns;
                let alone = readers[product.0].len() == 1 && !self.graph.outputs.contains(&product);
                let same = self.graph.tensor(product).shape == self.graph.tensor(node.output).shape;
                (fits && alone && same && matches!(self.graph.nodes[by].op, Op::MatMul { .. })).then_some(by)
            };
            one(0).or_else(|| one(1))
        };
        let sums = self.graph.nodes.iter().enumerate().filter(|(_, node)| node.op == Op::Binary(Arithmetic::Add));
        sums.filter_map(|(at, node)| Some((at, is_bias(node)?))).collect()
    }

    fn add(&mut self, at: usize, node: &Node) {
        let elements = |id: TensorId| self.graph.tensor(id).len() as f64;
        let out = elements(node.output);
        let (class, op, flops) = match &node.op {
            Op::MatMul { transpose_left, .. } => {
                let shape = &self.graph.tensor(node.inputs[0]).shape;
                let k = shape.iter().rev().nth(usize::from(*transpose_left)).copied().unwrap_or(1);
                let held = self.graph.tensor(self.source[node.inputs[1].0]).constant.is_some();
                (Class::Tensor, if held { "linear" } else { "bmm" }, 2.0 * out * k as f64)
            }
            Op::Unary(function) => (Class::Simt, unary(function), out),
            Op::Binary(arithmetic) => (Class::Simt, binary(*arithmetic), out),
            // A product and a sum.
            Op::BatchNormalization { .. } => (Class::Simt, "batchnorm", 2.0 * out),
            // Operations of an element as the rebuilt graphs of paper 003 count them: 5 and 8.
            Op::Softmax { .. } => (Class::Simt, "softmax", 5.0 * out),
            Op::LayerNormalization { .. } => (Class::Simt, "layernorm", 8.0 * out),
            Op::Reduce { .. } | Op::GlobalAveragePool => (Class::Reduce, "reduce", elements(node.inputs[0])),
            Op::Concat { .. } => (Class::Simt, "concat", 0.0),
            // `converted` lets none of the others pass.
            Op::Conv { .. } | Op::ConvTranspose { .. } | Op::Pool { .. } | Op::Pad { .. } => return,
            Op::Alias | Op::Transpose { .. } | Op::Slice { .. } => return,
        };
        let mut inputs: Vec<TensorId> = node.inputs.clone();
        let (mut output, mut name) = (node.output, &node.name);
        if let Some((&bias, _)) = self.biases.iter().find(|(_, product)| **product == at) {
            let sum = &self.graph.nodes[bias];
            inputs.extend(sum.inputs.iter().copied().filter(|&id| id != output));
            // A product that is one half of its node is called as its tensor is.
            if *name == self.graph.tensor(output).name {
                name = &sum.name;
            }
            output = sum.output;
        }
        // A constant of one element is part of the operator, as an exponent is.
        let operand = |id: &TensorId| self.graph.tensor(*id).constant.is_none() || self.graph.tensor(*id).len() > 1;
        let inputs: Vec<dataflow::TensorId> = inputs.into_iter().filter(operand).map(|id| self.position(id)).collect();
        let output = self.position(output);
        let bytes = |id: &dataflow::TensorId| Bytes(self.tensors[id.0].bytes() as f64);
        let (read, written) = (inputs.iter().map(bytes).sum(), bytes(&output));
        let name = self.unique(name);
        self.nodes.push(dataflow::Node {
            name,
            op: op.to_owned(),
            class,
            phase: Phase::Forward,
            inputs: inputs.into_iter().collect(),
            outputs: [output].into_iter().collect(),
            flops,
            read,
            written,
            gemm: None,
        });
    }

    /// The tensor with these elements.
    fn position(&mut self, id: TensorId) -> dataflow::TensorId {
        let id = self.source[id.0];
        if let Some(&position) = self.positions.get(&id) {
            return position;
        }
        let tensor = self.graph.tensor(id);
        let kind = match () {
            () if self.graph.inputs.contains(&id) => TensorKind::Input,
            () if tensor.constant.is_some() => TensorKind::Param,
            () if self.outputs.contains(&id) => TensorKind::Output,
            () => TensorKind::Act,
        };
        let position = dataflow::TensorId(self.tensors.len());
        self.tensors.push(dataflow::Tensor {
            name: tensor.name.clone(),
            shape: tensor.shape.iter().map(|&extent| extent.unsigned_abs()).collect(),
            element: self.element,
            kind,
            producer: None,
            consumers: Default::default(),
        });
        self.positions.insert(id, position);
        position
    }

    /// A node's name, with a number where several have it.
    fn unique(&mut self, name: &str) -> String {
        let mut own = name.to_owned();
        let mut number = 2;
        while !self.names.insert(own.clone()) {
            own = format!("{name} ({number})");
            number += 1;
        }
        own
    }
}

fn unary(function: &Function) -> &'static str {
    match function {
        Function::Relu => "relu",
        Function::LeakyRelu(_) => "leaky_relu",
        Function::Sigmoid => "sigmoid",
        Function::HardSigmoid(..) => "hard_sigmoid",
        Function::HardSwish => "hard_swish",
        Function::Clip(..) => "clip",
        Function::Tanh => "tanh",
        Function::Exp => "exp",
        Function::Log => "log",
        Function::Sqrt => "sqrt",
        Function::Erf => "erf",
        Function::Neg => "neg",
        Function::Abs => "abs",
        Function::Floor => "floor",
        Function::Ceil => "ceil",
        Function::Reciprocal => "reciprocal",
        Function::Power(_) => "pow",
        Function::Round(_) => "cast",
    }
}

fn binary(arithmetic: Arithmetic) -> &'static str {
    match arithmetic {
        Arithmetic::Add => "add",
        Arithmetic::Sub => "sub",
        Arithmetic::Mul => "mul",
        Arithmetic::Div => "div",
        Arithmetic::Min => "min",
        Arithmetic::Max => "max",
    }
}
