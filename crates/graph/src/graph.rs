//! The graph of operators: what a model or a file says, for those who execute it and those who plan it.
//!
//! A node's [`Body`] is an operator that tensor expressions state, or opaque work of which numbers alone are known. What only moves or
//! renames elements is a node too; who plans looks past it.

pub(crate) mod counted;
pub(crate) mod heads;
pub(crate) mod op;
pub(crate) mod shapes;
pub(crate) mod work;

use crate::error::GraphError;
use crate::graph::op::Op;
use crate::graph::work::{IndexSource, Phase, Work};
use crate::room::room;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Position of a tensor in its [`Graph`] or [`Plan`](crate::Plan).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TensorId(pub usize);

/// Nodes in an order in which they can run, and the tensors between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// Its name, for people.
    pub name: String,
    /// Every node comes after those whose outputs it reads; a tensor is the output of at most one.
    pub nodes: Vec<Node>,
    /// All tensors, constants among them; some may be used by nobody.
    pub tensors: Vec<GraphTensor>,
    /// What a caller provides for each run, in the model's order.
    pub inputs: Vec<TensorId>,
    /// What a caller gets, in the model's order.
    pub outputs: Vec<TensorId>,
}

/// A tensor, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphTensor {
    /// Its name in the model.
    pub name: String,
    /// Extents, slowest first; empty for a scalar.
    pub shape: Vec<i64>,
    /// Bytes of an element in the memory of who executes the graph.
    pub element: u64,
    /// Where its elements come from.
    pub origin: Origin,
    /// Its elements, where they are known: of parameters and constants alone.
    pub constant: Option<Arc<[f64]>>,
    /// Its elements where all are this number and too many to be listed: of constants alone.
    pub fill: Option<f64>,
    /// Whether they are whole numbers, as the model declares them: of inputs alone.
    pub whole: bool,
}

/// Where a tensor's elements come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// From the caller, anew for each run (graphs of training do not tell parameters apart).
    Input,
    /// From outside, the same during a run; what an optimizer writes.
    Parameter,
    /// Known when the graph is made.
    Constant,
    /// From a node.
    Node,
}

/// What a tensor is to its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TensorKind {
    /// From outside, anew for each execution.
    Input,
    /// From outside, the same for many executions.
    Param,
    /// Known when the graph is made, such as zeros.
    Const,
    /// Between nodes.
    Act,
    /// What the graph is for: written to memory, whoever else reads it.
    Output,
}

impl GraphTensor {
    /// One of four-byte elements.
    pub fn new(name: impl Into<String>, shape: impl Into<Vec<i64>>, origin: Origin) -> Self {
        Self { name: name.into(), shape: shape.into(), element: 4, origin, constant: None, fill: None, whole: false }
    }
    /// The same with these elements.
    pub fn with_values(self, values: impl Into<Arc<[f64]>>) -> Self {
        Self { constant: Some(values.into()), ..self }
    }
    /// Its elements, where all are one number.
    pub fn filled(&self) -> Option<Arc<[f64]>> {
        self.fill.map(|value| vec![value; self.len()].into())
    }
    /// Elements; 1 for a scalar.
    pub fn len(&self) -> usize {
        self.shape.iter().product::<i64>() as usize
    }
    /// The same number, where it may be more than 64 bits can count.
    pub fn elements(&self) -> u64 {
        self.shape.iter().fold(1, |product, extent| product.saturating_mul(extent.unsigned_abs()))
    }
    /// Bytes of all elements in the memory of who executes the graph.
    pub fn bytes(&self) -> u64 {
        self.elements().saturating_mul(self.element)
    }
    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One computation.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The model's name for it, or the name of its output.
    pub name: String,
    /// What its source calls its operator, for people.
    pub kind: Option<String>,
    /// What it computes.
    pub body: Body,
    /// Which pass it is part of.
    pub phase: Phase,
    /// What it reads, in the operator's order; a tensor may occur twice.
    pub inputs: Vec<TensorId>,
    /// What it writes, at least one: its result, then statistics.
    pub outputs: Vec<TensorId>,
}

/// What a node computes.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// An operator that tensor expressions state.
    Op {
        /// Which.
        op: Op,
        /// Its work as its source counts it; else it is counted from the operator.
        stated: Option<Work>,
    },
    /// Work of which these numbers alone are known.
    Opaque {
        /// They.
        work: Work,
        /// Which of its inputs say where elements are found, as far as that is known.
        index: Vec<IndexSource>,
    },
}

impl Node {
    /// An operator with one output.
    pub fn of(name: impl Into<String>, op: Op, inputs: Vec<TensorId>, output: TensorId) -> Self {
        let body = Body::Op { op, stated: None };
        Self { name: name.into(), kind: None, body, phase: Phase::Forward, inputs, outputs: vec![output] }
    }
    /// Its operator; `None` where it is opaque.
    pub fn op(&self) -> Option<&Op> {
        match &self.body {
            Body::Op { op, .. } => Some(op),
            Body::Opaque { .. } => None,
        }
    }
    /// Its operator.
    ///
    /// # Errors
    /// [`GraphError::Opaque`].
    pub fn known_op(&self) -> Result<&Op, GraphError> {
        let kind = || self.kind.clone().unwrap_or_else(|| "its operator".to_owned());
        self.op().ok_or_else(|| GraphError::Opaque { node: self.name.clone(), kind: kind() })
    }
    /// Whether each element of its result is a function of elements at the same (broadcast) place.
    pub fn is_elementwise(&self) -> bool {
        self.op().is_some_and(Op::is_elementwise)
    }
    /// Its result.
    pub fn output(&self) -> TensorId {
        self.outputs[0]
    }
    /// Whether it only says where elements of its input are found.
    pub fn is_view(&self) -> bool {
        matches!(self.op(), Some(Op::Alias | Op::Transpose { .. } | Op::Slice { .. }))
    }
}

impl Graph {
    /// A tensor.
    pub fn tensor(&self, id: TensorId) -> &GraphTensor {
        &self.tensors[id.0]
    }
    /// Per tensor, the nodes that read it.
    pub fn readers(&self) -> Vec<Vec<usize>> {
        let mut readers = vec![Vec::new(); self.tensors.len()];
        for (position, node) in self.nodes.iter().enumerate() {
            for input in &node.inputs {
                if readers[input.0].last() != Some(&position) {
                    readers[input.0].push(position);
                }
            }
        }
        readers
    }
    /// Per tensor, the node that writes it.
    pub fn writers(&self) -> Vec<Option<usize>> {
        let mut writers = vec![None; self.tensors.len()];
        for (position, node) in self.nodes.iter().enumerate() {
            node.outputs.iter().for_each(|output| writers[output.0] = Some(position));
        }
        writers
    }
    /// Per tensor, the last node that reads it; beyond all nodes for outputs, and for what nobody reads.
    pub(crate) fn last_uses(&self) -> Vec<usize> {
        let mut last = vec![usize::MAX; self.tensors.len()];
        for (position, node) in self.nodes.iter().enumerate() {
            node.inputs.iter().for_each(|i| last[i.0] = position);
        }
        self.outputs.iter().for_each(|o| last[o.0] = usize::MAX);
        last
    }
    /// Whether its constants, and what is alive at one time while it is executed node by node, may be held in memory.
    ///
    /// # Errors
    /// [`GraphError::TooLarge`] names the node at which there is most.
    pub fn fits(&self) -> Result<(), GraphError> {
        let bytes = |id: TensorId| 8 * self.tensor(id).len() as u64;
        let last = self.last_uses();
        let constants = (0..self.tensors.len()).map(TensorId).filter(|id| self.tensor(*id).constant.is_some());
        let mut alive: u64 = constants.chain(self.inputs.iter().copied()).map(bytes).sum();
        let mut most = (alive, "the beginning".to_owned());
        // Constants stay with the graph, inputs with the caller.
        let mut made = vec![false; self.tensors.len()];
        for (position, node) in self.nodes.iter().enumerate() {
            for output in &node.outputs {
                alive += bytes(*output);
                made[output.0] = true;
            }
            if alive > most.0 {
                most = (alive, format!("node `{}`", node.name));
            }
            let mut done: Vec<TensorId> = node.inputs.iter().copied().filter(|i| made[i.0] && last[i.0] == position).collect();
            done.sort_unstable();
            done.dedup();
            alive -= done.into_iter().map(bytes).sum::<u64>();
        }
        let (bytes, at) = most;
        let what = || format!("the tensors that exist at {at}, constants included,");
        room(bytes).map_err(|why| GraphError::TooLarge { what: what(), bytes, why })
    }
    /// That every tensor which somebody reads, or which is an output, has elements, is an input or is written by a node.
    ///
    /// # Errors
    /// [`GraphError::Values`], of the first that has none: a parameter of a file that states sizes alone.
    pub(crate) fn has_values(&self) -> Result<(), GraphError> {
        let known = |id: &TensorId| {
            let tensor = self.tensor(*id);
            tensor.origin == Origin::Node || tensor.constant.is_some() || tensor.fill.is_some() || tensor.is_empty()
        };
        let mut read = self.nodes.iter().flat_map(|node| &node.inputs).chain(&self.outputs);
        match read.find(|id| !known(id) && !self.inputs.contains(id)) {
            Some(id) => Err(GraphError::Values { what: format!("`{}` has no elements: only its size is known", self.tensor(*id).name) }),
            None => Ok(()),
        }
    }
    /// The same graph to be run on what is drawn: parameters of which only sizes are known are inputs, and inputs that hold positions hold whole
    /// numbers.
    pub fn with_drawn_parameters(mut self) -> Self {
        let given = |tensor: &GraphTensor| tensor.origin == Origin::Parameter && tensor.constant.is_none() && tensor.fill.is_none();
        self.inputs.extend((0..self.tensors.len()).map(TensorId).filter(|id| given(&self.tensors[id.0])));
        let mut source: Vec<TensorId> = (0..self.tensors.len()).map(TensorId).collect();
        for node in &self.nodes {
            if node.is_view() {
                source[node.output().0] = source[node.inputs[0].0];
            }
            let positions = node.op().map_or(0..0, |op| op.positions(node.inputs.len()));
            for id in &node.inputs[positions] {
                let from = source[id.0];
                self.tensors[from.0].whole = self.inputs.contains(&from);
            }
        }
        self
    }
    /// The same graph of elements of so many bytes.
    pub fn with_elements(mut self, bytes: u64) -> Self {
        self.tensors.iter_mut().for_each(|tensor| tensor.element = bytes);
        self
    }
    /// Adds a tensor.
    pub fn add(&mut self, tensor: GraphTensor) -> TensorId {
        self.tensors.push(tensor);
        TensorId(self.tensors.len() - 1)
    }
    /// Adds a tensor whose elements are known.
    pub(crate) fn add_constant(&mut self, name: String, shape: Vec<i64>, origin: Origin, values: Vec<f64>) -> TensorId {
        debug_assert_eq!(shape.iter().product::<i64>() as usize, values.len());
        self.add(GraphTensor::new(name, shape, origin).with_values(values))
    }
}
