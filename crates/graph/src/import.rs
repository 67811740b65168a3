//! From the nodes of a file to a [`Graph`]: order, names, constants; each operator's part is in a submodule.
//!
//! Whole numbers (shapes, axes) are never computed on a device, so every value of them must be known here: chains of Shape, Cast,
//! Slice, Gather and Concat are evaluated as they are read. So is every node whose inputs are all constant.

mod elementwise;
mod moves;
mod reductions;
mod sequence;
mod windows;

use crate::attributes::{NodeView, node_name};
use crate::error::GraphError;
use crate::evaluate::evaluate_node;
use crate::graph::{Graph, GraphTensor, Node, Op, TensorId};
use crate::literal::{Literal, Numbers};
use crate::model::InputShape;
use crate::onnx::{GraphProto, NodeProto};
use std::collections::HashMap;

/// Elements of a constant that is computed here rather than stored: a small file must not ask for all memory.
pub(crate) const MAX_FOLDED: i64 = 1 << 26;

/// What a name of the file stands for.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// Floats, computed or constant.
    Tensor(TensorId),
    /// Known whole numbers.
    Ints(IntTensor),
}

/// Known whole numbers of some shape, row-major.
#[derive(Clone, Debug)]
pub(crate) struct IntTensor {
    pub(crate) shape: Vec<i64>,
    pub(crate) values: Vec<i64>,
}

/// The graph being made.
pub(crate) struct Importer {
    graph: Graph,
    values: HashMap<String, Value>,
    /// Outputs that operators have but nobody computes here (indices of a pooling, masks), with the operator.
    ignored: HashMap<String, String>,
}

/// Makes the graph of a file whose inputs have these shapes.
pub(crate) fn import(proto: &GraphProto, opset: i64, inputs: Vec<InputShape>) -> Result<Graph, GraphError> {
    let empty = Graph { nodes: vec![], tensors: vec![], inputs: vec![], outputs: vec![] };
    let mut importer = Importer { graph: empty, values: HashMap::new(), ignored: HashMap::new() };
    for InputShape { input, shape } in inputs {
        let id = importer.graph.add_tensor(input.clone(), shape);
        importer.graph.inputs.push(id);
        importer.values.insert(input, Value::Tensor(id));
    }
    for tensor in &proto.initializer {
        let value = importer.literal(Literal::read(tensor, &tensor.name)?, &tensor.name);
        importer.values.insert(tensor.name.clone(), value);
    }
    let order = sequence::order(proto)?;
    for node in order {
        importer.node(NodeView { proto: node, opset })?;
    }
    for output in &proto.output {
        match importer.values.get(&output.name) {
            Some(Value::Tensor(id)) => importer.graph.outputs.push(*id),
            Some(Value::Ints(_)) => {
                let found = "a whole-number type".into();
                return Err(GraphError::WrongType { tensor: output.name.clone(), found, expected: "float32" });
            }
            None => return Err(GraphError::NoOutput { tensor: output.name.clone() }),
        }
    }
    Ok(importer.graph)
}

impl Importer {
    fn node(&mut self, view: NodeView<'_>) -> Result<(), GraphError> {
        if !(view.proto.domain.is_empty() || view.proto.domain == "ai.onnx") {
            return Err(view.unknown());
        }
        if view.proto.output.first().is_none_or(String::is_empty) {
            return Err(view.bad("it has no output"));
        }
        for name in view.proto.output.iter().skip(1).filter(|n| !n.is_empty()) {
            self.ignored.insert(name.clone(), view.proto.op_type.clone());
        }
        for name in &view.proto.input {
            if let Some(operator) = self.ignored.get(name) {
                return Err(view.unsupported(format!("the further output `{name}` of {operator} as its input")));
            }
        }
        let value = match view.proto.op_type.as_str() {
            "Conv" | "ConvTranspose" | "MaxPool" | "AveragePool" | "GlobalAveragePool" => self.window_node(view)?,
            "BatchNormalization" | "MatMul" | "Gemm" | "Softmax" | "LayerNormalization" | "ReduceMean" | "ReduceSum" | "ReduceMax" => {
                self.reduction_node(view)?
            }
            "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" | "Identity" | "Dropout" | "Cast" | "Shape" | "Size" | "Constant"
            | "ConstantOfShape" | "Transpose" | "Slice" | "Gather" | "Concat" | "Pad" => self.move_node(view)?,
            _ => self.elementwise_node(view)?,
        };
        self.values.insert(view.proto.output[0].clone(), value);
        Ok(())
    }

    /// A constant of the file.
    fn literal(&mut self, literal: Literal, name: &str) -> Value {
        match literal.values {
            Numbers::Floats(values) => Value::Tensor(self.graph.add_constant(name.into(), literal.shape, values)),
            Numbers::Ints(values) => Value::Ints(IntTensor { shape: literal.shape, values }),
        }
    }

    /// Input `position`, if the node has it.
    fn optional(&self, view: NodeView<'_>, position: usize) -> Result<Option<&Value>, GraphError> {
        match view.proto.input.get(position) {
            None => Ok(None),
            Some(name) if name.is_empty() => Ok(None),
            Some(name) => match self.values.get(name) {
                Some(value) => Ok(Some(value)),
                None => Err(missing(view.proto, name)),
            },
        }
    }

    fn value(&self, view: NodeView<'_>, position: usize) -> Result<&Value, GraphError> {
        self.optional(view, position)?.ok_or_else(|| view.bad(format!("input {position} is missing")))
    }

    /// Input `position`, which must hold floats, at least one.
    fn data(&self, view: NodeView<'_>, position: usize) -> Result<TensorId, GraphError> {
        match self.value(view, position)? {
            Value::Tensor(id) if self.graph.tensor(*id).is_empty() => Err(view.bad(format!("input {position} is empty"))),
            Value::Tensor(id) => Ok(*id),
            Value::Ints(_) => Err(GraphError::WrongType {
                tensor: view.proto.input[position].clone(),
                found: "a whole-number type".into(),
                expected: "float32",
            }),
        }
    }

    fn optional_data(&self, view: NodeView<'_>, position: usize) -> Result<Option<TensorId>, GraphError> {
        if self.optional(view, position)?.is_none() { Ok(None) } else { self.data(view, position).map(Some) }
    }

    /// Input `position` as known whole numbers, if the node has it.
    fn ints(&self, view: NodeView<'_>, position: usize) -> Result<Option<&IntTensor>, GraphError> {
        match self.optional(view, position)? {
            None => Ok(None),
            Some(Value::Ints(ints)) => Ok(Some(ints)),
            Some(Value::Tensor(_)) => Err(GraphError::WrongType {
                tensor: view.proto.input[position].clone(),
                found: "a floating-point type".into(),
                expected: "int64",
            }),
        }
    }

    /// Whole numbers that moved from attribute `name` to input `position` in some version of the operator.
    fn ints_or_attribute(&self, view: NodeView<'_>, position: usize, name: &str) -> Result<Option<Vec<i64>>, GraphError> {
        if let Some(list) = view.ints(name)? {
            return Ok(Some(list.to_vec()));
        }
        Ok(self.ints(view, position)?.map(|t| t.values.clone()))
    }

    /// Input `position` as one constant float, if the node has it.
    fn constant_scalar(&self, view: NodeView<'_>, position: usize) -> Result<Option<f64>, GraphError> {
        let Some(id) = self.optional_data(view, position)? else { return Ok(None) };
        match self.graph.tensor(id).constant.as_deref() {
            Some([value]) => Ok(Some(*value)),
            Some(_) => Err(view.bad(format!("input {position} is not one number"))),
            None => Err(view.unsupported(format!("a computed input {position}"))),
        }
    }

    fn shape(&self, id: TensorId) -> &[i64] {
        &self.graph.tensor(id).shape
    }

    /// Adds a node that writes the view's output; evaluates it at once where all its inputs are constant.
    fn emit(&mut self, view: NodeView<'_>, op: Op, inputs: Vec<TensorId>, shape: Vec<i64>) -> Result<Value, GraphError> {
        self.emit_part(view, &view.proto.output[0], op, inputs, shape).map(Value::Tensor)
    }

    /// The same for a node that stands for a part of the view's.
    fn emit_part(
        &mut self,
        view: NodeView<'_>,
        output: &str,
        op: Op,
        inputs: Vec<TensorId>,
        shape: Vec<i64>,
    ) -> Result<TensorId, GraphError> {
        let length = shape.iter().try_fold(1i64, |n, &e| n.checked_mul(e));
        if shape.iter().any(|&e| e < 1) || length.is_none_or(|n| n > i64::from(i32::MAX)) {
            return Err(view.bad(format!("its output would have shape {shape:?}: extents are 1 or more, elements at most 2147483647")));
        }
        let name = if output == view.proto.output[0] { view.name() } else { output.to_string() };
        let output = GraphTensor { name: output.into(), shape, constant: None };
        let id = TensorId(self.graph.tensors.len());
        let node = Node { name, op, inputs, output: id };
        let constants: Option<Vec<_>> = node.inputs.iter().map(|i| self.graph.tensor(*i).constant.clone()).collect();
        self.graph.tensors.push(output);
        match constants {
            Some(_) if length > Some(MAX_FOLDED) => return Err(view.unsupported(format!("a constant of more than {MAX_FOLDED} elements"))),
            Some(constants) => {
                let inputs: Vec<&[f64]> = constants.iter().map(AsRef::as_ref).collect();
                self.graph.tensors[id.0].constant = Some(evaluate_node(&self.graph, &node, &inputs).into());
            }
            None => self.graph.nodes.push(node),
        }
        Ok(id)
    }
}

fn missing(node: &NodeProto, tensor: &str) -> GraphError {
    GraphError::MissingInput { node: node_name(node), operator: node.op_type.clone(), tensor: tensor.into() }
}

/// A position counted from the end where negative.
pub(crate) fn axis(view: NodeView<'_>, axis: i64, rank: usize) -> Result<usize, GraphError> {
    let rank_i = rank as i64;
    let at = if axis < 0 { axis + rank_i } else { axis };
    if (0..rank_i).contains(&at) { Ok(at as usize) } else { Err(view.bad(format!("axis {axis} of a tensor of {rank} dimensions"))) }
}

/// Several positions, sorted, each once.
pub(crate) fn axes(view: NodeView<'_>, list: &[i64], rank: usize) -> Result<Vec<usize>, GraphError> {
    let mut axes = list.iter().map(|&a| axis(view, a, rank)).collect::<Result<Vec<_>, _>>()?;
    axes.sort_unstable();
    if axes.windows(2).any(|w| w[0] == w[1]) {
        return Err(view.bad(format!("axes {list:?} name one dimension twice")));
    }
    Ok(axes)
}

/// The shape that two shapes are broadcast to.
pub(crate) fn broadcast(view: NodeView<'_>, a: &[i64], b: &[i64]) -> Result<Vec<i64>, GraphError> {
    let rank = a.len().max(b.len());
    let extent = |shape: &[i64], d: usize| (d + shape.len()).checked_sub(rank).map_or(1, |i| shape[i]);
    let of = |d| match (extent(a, d), extent(b, d)) {
        (x, y) if x == y || y == 1 => Ok(x),
        (1, y) => Ok(y),
        _ => Err(view.bad(format!("shapes {a:?} and {b:?} do not broadcast"))),
    };
    (0..rank).map(of).collect()
}
