//! From a graph to what is planned of it.

use super::order::{arranged, canonical};
use super::{Gemm, Node, NodeId, Products, Tensor, TensorId, View};
use std::collections::{BTreeMap, BTreeSet};
use warpsight_graph as graph;
use warpsight_graph::{Arithmetic, Class, Function, Graph, Op, Origin, TensorKind, plain_product};
use warpsight_ir::Bytes;

/// A graph without an operator: there is no node, or all of them only say where elements are found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", nothing(views))]
pub struct Nothing {
    /// Names of its nodes.
    pub views: Vec<String>,
}

fn nothing(views: &[String]) -> String {
    let Some(first) = views.first() else { return "the graph has no nodes".to_owned() };
    let more = if views.len() > 1 { format!(" and {} more", views.len() - 1) } else { String::new() };
    format!("the graph has no operators, only views of tensors: `{first}`{more}")
}

impl View {
    /// What is planned of a graph: all of its nodes but what only says where elements are found, and what adds a bias to a product.
    ///
    /// # Errors
    /// Where no node is left.
    pub fn of(graph: &Graph) -> Result<Self, Nothing> {
        let mut builder = Builder::new(graph);
        for (at, node) in graph.nodes.iter().enumerate() {
            if !node.is_view() && !builder.added.contains(&at) {
                builder.add(at, node);
            }
        }
        let Builder { nodes, mut tensors, .. } = builder;
        if nodes.is_empty() {
            return Err(Nothing { views: graph.nodes.iter().map(|node| node.name.clone()).collect() });
        }
        for (at, node) in nodes.iter().enumerate() {
            node.outputs.iter().for_each(|id| tensors[id.0].producer = Some(NodeId(at)));
            for id in &node.inputs {
                let consumers = &mut tensors[id.0].consumers;
                if consumers.last() != Some(&NodeId(at)) {
                    consumers.push(NodeId(at));
                }
            }
        }
        let order = canonical(&nodes, &tensors);
        Ok(arranged(graph.name.clone(), nodes, tensors, &order))
    }
}

struct Builder<'a> {
    graph: &'a Graph,
    /// Whose elements each tensor has.
    source: Vec<graph::TensorId>,
    /// Products that a bias is added to, each with that addition.
    biases: BTreeMap<usize, usize>,
    /// These additions.
    added: BTreeSet<usize>,
    outputs: BTreeSet<graph::TensorId>,
    names: BTreeSet<String>,
    positions: BTreeMap<graph::TensorId, TensorId>,
    nodes: Vec<Node>,
    tensors: Vec<Tensor>,
}

impl<'a> Builder<'a> {
    fn new(graph: &'a Graph) -> Self {
        let mut source: Vec<graph::TensorId> = (0..graph.tensors.len()).map(graph::TensorId).collect();
        for node in graph.nodes.iter().filter(|node| node.is_view()) {
            source[node.output().0] = source[node.inputs[0].0];
        }
        let outputs = graph.outputs.iter().map(|id| source[id.0]).collect();
        let biases = biases(graph);
        let added = biases.values().copied().collect();
        let (names, positions) = (BTreeSet::new(), BTreeMap::new());
        Self { graph, source, biases, added, outputs, names, positions, nodes: Vec::new(), tensors: Vec::new() }
    }

    fn add(&mut self, at: usize, node: &graph::Node) {
        let mut inputs = node.inputs.clone();
        let (mut outputs, mut name) = (node.outputs.clone(), &node.name);
        if let Some(&bias) = self.biases.get(&at) {
            let sum = &self.graph.nodes[bias];
            inputs.extend(sum.inputs.iter().copied().filter(|&id| id != node.output()));
            // A product that is one half of its node is called as its tensor is.
            if *name == self.graph.tensor(node.output()).name {
                name = &sum.name;
            }
            outputs = sum.outputs.clone();
        }
        // A constant of one element is part of the operator, as an exponent is.
        let operand = |id: &graph::TensorId| self.graph.tensor(*id).constant.is_none() || self.graph.tensor(*id).len() > 1;
        if inputs.iter().any(operand) {
            inputs.retain(operand);
        }
        let operands: Vec<TensorId> = inputs.into_iter().map(|id| self.position(id)).collect();
        let mut inputs = operands.clone();
        // An operator reads a tensor once, whichever parts of it are its operands; what stands side by side is there each time.
        if !matches!(node.op(), None | Some(Op::Concat { .. })) {
            let mut seen = BTreeSet::new();
            inputs.retain(|id| seen.insert(*id));
        }
        let outputs: Vec<TensorId> = outputs.into_iter().map(|id| self.position(id)).collect();
        let bytes = |ids: &[TensorId]| -> Bytes { ids.iter().map(|id| Bytes(self.tensors[id.0].bytes() as f64)).sum() };
        let work = self.graph.work(node);
        let (read, written) = (work.read.unwrap_or_else(|| bytes(&inputs)), bytes(&outputs));
        let (gemm, products) = if work.class == Class::Tensor { self.products(node, work.flops, &operands) } else { (None, None) };
        let name = self.unique(name);
        self.nodes.push(Node {
            name,
            op: node.kind.clone().unwrap_or_else(|| self.word(node).to_owned()),
            class: work.class,
            phase: node.phase,
            inputs: inputs.into_iter().collect(),
            outputs: outputs.into_iter().collect(),
            flops: work.flops,
            read,
            written,
            gemm,
            products,
            windows: node.op().is_some_and(reads_windows),
        });
    }

    /// Extents of the products of a node on matrix units, and the operands of a single plain one.
    fn products(&self, node: &graph::Node, flops: f64, inputs: &[TensorId]) -> (Option<Gemm>, Option<Products>) {
        let output = self.graph.tensor(node.output());
        let depth = self.graph.depth(node);
        let extent = |back: usize| output.shape.iter().rev().nth(back).map_or(1, |&extent| extent.unsigned_abs());
        let k = depth.unwrap_or_else(|| (flops / (2.0 * output.elements() as f64)).ceil()).max(1.0);
        if let Some(Op::Conv { .. } | Op::ConvTranspose { .. }) = node.op() {
            // Of each group: its filters for all places of all images.
            let groups = if let Some(Op::Conv { groups, .. }) = node.op() { groups.unsigned_abs() } else { 1 };
            let filters = output.shape.get(1).map_or(1, |&extent| extent.unsigned_abs());
            return (None, Some(Products { m: output.elements() / filters, n: filters / groups, k }));
        }
        let operands: Vec<u64> = inputs.iter().map(|id| self.tensors[id.0].elements()).collect();
        let plain = plain_product(&operands, output, depth.map(|k| k as u64).ok_or(flops));
        let gemm = plain.map(|(extents, right, left)| Gemm::new(extents, inputs[left], inputs[right]));
        // A stack is a product of each of its members.
        let (m, n) = gemm.map_or((extent(1), extent(0)), |gemm| (gemm.m, gemm.n));
        (gemm, Some(Products { m, n, k }))
    }

    /// The tensor with these elements.
    fn position(&mut self, id: graph::TensorId) -> TensorId {
        let id = self.source[id.0];
        if let Some(&position) = self.positions.get(&id) {
            return position;
        }
        let tensor = self.graph.tensor(id);
        let kind = match tensor.origin {
            Origin::Input => TensorKind::Input,
            Origin::Parameter => TensorKind::Param,
            Origin::Constant => TensorKind::Const,
            Origin::Node if self.outputs.contains(&id) => TensorKind::Output,
            Origin::Node => TensorKind::Act,
        };
        let position = TensorId(self.tensors.len());
        self.tensors.push(Tensor {
            name: tensor.name.clone(),
            shape: tensor.shape.iter().map(|&extent| extent.unsigned_abs()).collect(),
            element: tensor.element,
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

    /// What people call a node's operator.
    fn word(&self, node: &graph::Node) -> &'static str {
        let Some(op) = node.op() else { return "opaque" };
        match op {
            Op::MatMul { .. } if self.graph.tensor(self.source[node.inputs[self.graph.factors(node).1].0]).origin == Origin::Node => "bmm",
            Op::MatMul { .. } => "linear",
            Op::Conv { .. } => "conv",
            Op::ConvTranspose { .. } => "conv_transpose",
            Op::Pool { .. } => "pool",
            Op::Pad { .. } => "pad",
            Op::Unary(function) => unary(function),
            Op::Binary(arithmetic) => binary(*arithmetic),
            Op::Select => "select",
            Op::Gradient(Function::Relu) => "threshold_backward",
            Op::Gradient(Function::Silu) => "silu_backward",
            Op::Gradient(_) => "gradient",
            Op::Gather { .. } | Op::GatherElements { .. } => "gather",
            Op::Scatter { kind, .. } => kind.name(),
            Op::Triangle { .. } | Op::LowerPairs { .. } => "triangle",
            Op::EmbeddingBag => "embedding_bag",
            Op::Update { .. } => "update",
            Op::CachedMatMul { .. } => "bmm",
            Op::EmbeddingBagGradient => "embedding_bag_backward",
            Op::LayerNormalizationGradient { .. } => "layernorm_backward",
            Op::Attention(_) => "attention",
            Op::AttentionGradient(_) => "attention_backward",
            Op::Resize { .. } => "resize",
            Op::BatchNormalization { .. } => "batchnorm",
            Op::Softmax { .. } => "softmax",
            Op::LayerNormalization { .. } => "layernorm",
            Op::Reduce { .. } | Op::GlobalAveragePool => "reduce",
            Op::Concat { .. } => "concat",
            Op::Alias | Op::Transpose { .. } | Op::Slice { .. } => "view",
        }
    }
}

/// Whether rows of the result come from several rows of the input, or from none.
fn reads_windows(op: &Op) -> bool {
    match op {
        Op::Conv { .. } | Op::ConvTranspose { .. } | Op::Pool { .. } => true,
        Op::Resize { .. } => true,
        // Rows that become longer stay rows.
        Op::Pad { before, after, .. } => before.iter().zip(after).rev().skip(1).any(|pads| pads != (&0, &0)),
        _ => false,
    }
}

/// Products that nobody else reads than an addition of what is known for each column, each with that addition.
fn biases(graph: &Graph) -> BTreeMap<usize, usize> {
    let (readers, writers) = (graph.readers(), graph.writers());
    let is_bias = |node: &graph::Node| {
        let columns = graph.tensor(node.output()).shape.last().copied().unwrap_or(1);
        let one = |at: usize| -> Option<usize> {
            let (product, bias) = (node.inputs[at], graph.tensor(node.inputs[1 - at]));
            let by = writers[product.0]?;
            let known = matches!(bias.origin, Origin::Parameter | Origin::Constant);
            let fits = known && bias.shape.last() == Some(&columns) && bias.len() as i64 == columns;
            let alone = readers[product.0].len() == 1 && !graph.outputs.contains(&product);
            let same = graph.tensor(product).shape == graph.tensor(node.output()).shape;
            (fits && alone && same && matches!(graph.nodes[by].op(), Some(Op::MatMul { .. }))).then_some(by)
        };
        one(0).or_else(|| one(1))
    };
    let sums = graph.nodes.iter().enumerate().filter(|(_, node)| node.op() == Some(&Op::Binary(Arithmetic::Add)));
    sums.filter_map(|(at, node)| Some((is_bias(node)?, at))).collect()
}

fn unary(function: &Function) -> &'static str {
    match function {
        Function::Relu => "relu",
        Function::LeakyRelu(_) => "leaky_relu",
        Function::Sigmoid => "sigmoid",
        Function::Silu => "silu",
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
        Function::Trunc => "trunc",
        Function::Reciprocal => "reciprocal",
        Function::Power(_) => "pow",
        Function::Round(_) => "cast",
        Function::Not => "not",
        Function::Sin => "sin",
        Function::Cos => "cos",
        Function::Gelu | Function::GeluTanh => "gelu",
    }
}

fn binary(arithmetic: Arithmetic) -> &'static str {
    match arithmetic {
        Arithmetic::Add => "add",
        Arithmetic::Sub => "sub",
        Arithmetic::Mul => "mul",
        Arithmetic::Div | Arithmetic::Quotient => "div",
        Arithmetic::Min => "min",
        Arithmetic::Max => "max",
        Arithmetic::Less => "less",
        Arithmetic::LessOrEqual => "less_or_equal",
        Arithmetic::Equal => "equal",
        Arithmetic::And => "and",
        Arithmetic::Or => "or",
    }
}
