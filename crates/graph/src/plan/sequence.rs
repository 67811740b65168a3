//! Operators that are sequences of others: their nodes become those of the sequence, which are fused and lowered like any others.
//!
//! What joins the nodes of a sequence is new; what the node wrote is written by one of them, further outputs only where the node has them.

use crate::graph::heads::Heads;
use crate::graph::op::{Arithmetic, Attention, Function, Op};
use crate::graph::{Body, Graph, GraphTensor, Node, Origin, TensorId};
use std::borrow::Cow;
use warpsight_generate::operators::{ReduceKind, ScatterKind};

/// The same graph without such operators.
pub(crate) fn expanded(graph: &Graph) -> Cow<'_, Graph> {
    if !graph.nodes.iter().any(|node| node.op().is_some_and(is_sequence)) {
        return Cow::Borrowed(graph);
    }
    let mut graph = graph.clone();
    let mut nodes = Vec::with_capacity(graph.nodes.len());
    for node in std::mem::take(&mut graph.nodes) {
        match node.op().cloned().filter(is_sequence) {
            None => nodes.push(node),
            Some(op) => {
                let mut sequence = Sequence { graph: &mut graph, node: &node, nodes: vec![] };
                sequence.expand(&op);
                nodes.extend(sequence.nodes);
            }
        }
    }
    graph.nodes = nodes;
    Cow::Owned(graph)
}

fn is_sequence(op: &Op) -> bool {
    matches!(op, Op::Attention(_) | Op::AttentionGradient(_) | Op::EmbeddingBagGradient | Op::CachedMatMul { .. })
}

/// The nodes that one node becomes.
struct Sequence<'a> {
    graph: &'a mut Graph,
    node: &'a Node,
    nodes: Vec<Node>,
}

impl Sequence<'_> {
    fn expand(&mut self, op: &Op) {
        match op {
            Op::Attention(own) => self.attention(own),
            Op::AttentionGradient(own) => self.attention_gradient(own),
            Op::EmbeddingBagGradient => self.bags_gradient(),
            Op::CachedMatMul { start, transpose_right } => self.cached_product(*start, *transpose_right),
            // Others are no sequences.
            _ => {}
        }
    }

    fn shape(&self, id: TensorId) -> Vec<i64> {
        self.graph.tensor(id).shape.clone()
    }

    fn heads(&self, first: usize) -> Option<Heads> {
        let shape = |at: usize| self.graph.tensor(self.node.inputs[first + at]).shape.as_slice();
        // Shapes were checked as the graph was made.
        Heads::of(shape(0), shape(1), shape(2)).ok()
    }

    /// A node that writes this tensor.
    fn write(&mut self, name: &str, op: Op, inputs: &[TensorId], output: TensorId) {
        let Node { kind, phase, name: own, .. } = self.node.clone();
        let body = Body::Op { op, stated: None };
        self.nodes.push(Node { name: format!("{own}.{name}"), kind, body, phase, inputs: inputs.to_vec(), outputs: vec![output] });
    }

    /// A node that writes a new tensor.
    fn add(&mut self, name: &str, op: Op, inputs: &[TensorId], shape: Vec<i64>) -> TensorId {
        let output = self.graph.add(GraphTensor::new(format!("{}.{name}", self.node.name), shape, Origin::Node));
        self.write(name, op, inputs, output);
        output
    }

    /// The same elements under another shape.
    fn shaped(&mut self, id: TensorId, shape: &[i64]) -> TensorId {
        if self.shape(id) == shape {
            return id;
        }
        self.add("shaped", Op::Alias, &[id], shape.to_vec())
    }

    /// A node whose elements, under the shape that it makes, are those of one of the outputs.
    fn end(&mut self, name: &str, op: Op, inputs: &[TensorId], shape: &[i64], output: TensorId) {
        if self.shape(output) == shape {
            self.write(name, op, inputs, output);
        } else {
            let made = self.add(name, op, inputs, shape.to_vec());
            self.write("shaped", Op::Alias, &[made], output);
        }
    }

    fn number(&mut self, value: f64) -> TensorId {
        self.graph.add_constant(format!("{}.{value}", self.node.name), vec![], Origin::Constant, vec![value])
    }

    /// Products of queries and keys, scaled and masked.
    fn products(&mut self, own: &Attention, heads: &Heads, (queries, keys): (TensorId, TensorId), mask: Option<TensorId>) -> TensorId {
        let (groups, rows, shape) = (heads.groups, heads.sharing() * heads.queries, heads.products());
        // Heads that share keys are rows of one product.
        let queries = self.shaped(queries, &heads.with(&[groups, rows, heads.depth]));
        let mut products = self.add("products", TRANSPOSED, &[queries, keys], heads.with(&[groups, rows, heads.keys]));
        let scale = self.number(heads.scale(own));
        products = self.add("scaled", Op::Binary(Arithmetic::Mul), &[products, scale], heads.with(&[groups, rows, heads.keys]));
        products = self.shaped(products, &shape);
        if let Some(mask) = mask {
            products = self.add("masked", Op::Binary(Arithmetic::Add), &[products, mask], shape.clone());
        }
        if own.causal {
            let causal = Op::Triangle { upper: false, diagonal: 0, beyond: f64::NEG_INFINITY };
            products = self.add("causal", causal, &[products], shape);
        }
        products
    }

    fn attention(&mut self, own: &Attention) {
        let Some(heads) = self.heads(0) else { return };
        let [queries, keys, values] = [0, 1, 2].map(|at| self.node.inputs[at]);
        let products = self.products(own, &heads, (queries, keys), self.node.inputs.get(3).copied());
        let last = heads.stack.len() + 2;
        let weights = match self.node.outputs.get(1).copied() {
            None => self.add("weights", Op::Softmax { axis: last }, &[products], heads.products()),
            Some(logarithms) => self.weights(&heads, products, logarithms),
        };
        let rows = heads.sharing() * heads.queries;
        let weights = self.shaped(weights, &heads.with(&[heads.groups, rows, heads.keys]));
        self.end("result", PLAIN, &[weights, values], &heads.with(&[heads.groups, rows, heads.width]), self.node.output());
    }

    /// A softmax that tells the logarithm of what each row came to.
    fn weights(&mut self, heads: &Heads, products: TensorId, logarithms: TensorId) -> TensorId {
        let (whole, rows) = (heads.products(), heads.with(&[heads.heads, heads.queries, 1]));
        let over = |kind| Op::Reduce { kind, axes: vec![heads.stack.len() + 2], keep: true };
        let largest = self.add("largest", over(ReduceKind::Max), &[products], rows.clone());
        let shifted = self.add("shifted", Op::Binary(Arithmetic::Sub), &[products, largest], whole.clone());
        let powers = self.add("powers", Op::Unary(Function::Exp), &[shifted], whole.clone());
        let total = self.add("total", over(ReduceKind::Sum), &[powers], rows.clone());
        let of_total = self.add("logarithm", Op::Unary(Function::Log), &[total], rows.clone());
        self.end("logarithms", Op::Binary(Arithmetic::Add), &[of_total, largest], &rows, logarithms);
        self.add("weights", Op::Binary(Arithmetic::Div), &[powers, total], whole)
    }

    fn attention_gradient(&mut self, own: &Attention) {
        let Some(heads) = self.heads(1) else { return };
        let [from, queries, keys, values, result, logarithms] = [0, 1, 2, 3, 4, 5].map(|at| self.node.inputs[at]);
        let (whole, rows) = (heads.products(), heads.with(&[heads.heads, heads.queries, 1]));
        let (groups, shared) = (heads.groups, heads.sharing() * heads.queries);
        let grouped = |columns: i64| heads.with(&[groups, shared, columns]);

        // The weights, from the logarithms of what their rows come to.
        let products = self.products(own, &heads, (queries, keys), self.node.inputs.get(6).copied());
        let logarithms = self.shaped(logarithms, &rows);
        let shifted = self.add("shifted", Op::Binary(Arithmetic::Sub), &[products, logarithms], whole.clone());
        let weights = self.add("weights", Op::Unary(Function::Exp), &[shifted], whole.clone());

        // What each row has in common.
        let both = self.add("of_result", Op::Binary(Arithmetic::Mul), &[from, result], self.shape(from));
        let sum = Op::Reduce { kind: ReduceKind::Sum, axes: vec![heads.stack.len() + 2], keep: true };
        let common = self.add("common", sum, &[both], rows);

        let rows_from = self.shaped(from, &grouped(heads.width));
        let of_weights = self.add("of_weights", TRANSPOSED, &[rows_from, values], grouped(heads.keys));
        let of_weights = self.shaped(of_weights, &whole);
        let centred = self.add("centred", Op::Binary(Arithmetic::Sub), &[of_weights, common], whole.clone());
        let of_products = self.add("of_products", Op::Binary(Arithmetic::Mul), &[centred, weights], whole.clone());
        let scale = self.number(heads.scale(own));
        let of_products = self.add("of_scaled", Op::Binary(Arithmetic::Mul), &[of_products, scale], whole);

        let [of_queries, of_keys, of_values] = [0, 1, 2].map(|at| self.node.outputs[at]);
        let rows_products = self.shaped(of_products, &grouped(heads.keys));
        self.end("of_queries", PLAIN, &[rows_products, keys], &grouped(heads.depth), of_queries);
        self.by_keys("of_keys", &heads, (of_products, queries), heads.depth, of_keys);
        self.by_keys("of_values", &heads, (weights, from), heads.width, of_values);
    }

    /// Rows that are kept are updated, then taken apart for each matrix on the left.
    fn cached_product(&mut self, start: i64, transpose_right: bool) {
        let [left, kept, rows] = [0, 1, 2].map(|at| self.node.inputs[at]);
        let (groups, shape) = (self.shape(left)[1], self.shape(kept));
        let updated = self.add("kept", Op::Update { axis: 1, start }, &[kept, rows], shape.clone());
        let parted = self.shaped(updated, &[shape[0], shape[1], groups, shape[2] / groups]);
        let permutation = vec![0, 2, 1, 3];
        let turned = [shape[0], groups, shape[1], shape[2] / groups].to_vec();
        let turned = self.add("turned", Op::Transpose { permutation }, &[parted], turned);
        self.write("products", Op::MatMul { transpose_left: false, transpose_right }, &[left, turned], self.node.output());
    }

    /// The gradient of each position's bag, added to the position's row.
    fn bags_gradient(&mut self) {
        let [from, positions, bags] = [0, 1, 3].map(|at| self.node.inputs[at]);
        let each = [self.shape(positions), self.shape(from)[1..].to_vec()].concat();
        let each = self.add("each", Op::Gather { axis: 0 }, &[from, bags], each);
        let zero = self.number(0.0);
        self.write("rows", Op::Scatter { axis: 0, kind: ScatterKind::Add }, &[zero, positions, each], self.node.output());
    }

    /// The product of one tensor of products, turned, and one of queries: of each head, or summed over those that share keys, as the output is.
    fn by_keys(&mut self, name: &str, heads: &Heads, (left, right): (TensorId, TensorId), columns: i64, output: TensorId) {
        let each = self.shape(output)[heads.stack.len()] == heads.heads;
        let (count, rows) = if each { (heads.heads, heads.queries) } else { (heads.groups, heads.sharing() * heads.queries) };
        let left = self.shaped(left, &heads.with(&[count, rows, heads.keys]));
        let right = self.shaped(right, &heads.with(&[count, rows, columns]));
        self.write(name, Op::MatMul { transpose_left: true, transpose_right: false }, &[left, right], output);
    }
}

const PLAIN: Op = Op::MatMul { transpose_left: false, transpose_right: false };
const TRANSPOSED: Op = Op::MatMul { transpose_left: false, transpose_right: true };
