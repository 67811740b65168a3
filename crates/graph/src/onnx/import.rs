//! From the nodes of a file to a [`Graph`]: order, names, constants; each operator's part is in a submodule.
//!
//! Whole numbers that shapes and axes are made of must be known here: chains of Shape, Cast, Slice, Gather and Concat are evaluated as they are
//! read. So is every node whose inputs are all constant. Whole numbers that come from outside (words, masks) are computed as the floats that
//! they are, exact up to 2²⁴.

mod angles;
mod attention;
mod cast;
mod choose;
mod composed;
mod einsum;
mod elementwise;
mod functions;
mod known;
mod moves;
mod norms;
mod places;
mod ranks;
mod recurrent;
mod reductions;
mod sample;
mod sequence;
mod table;
mod windows;

pub use table::{SupportedOperator, supported_operators};

use crate::error::GraphError;
use crate::evaluate::evaluate_node;
use crate::graph::op::Op;
use crate::graph::{Graph, GraphTensor, Node, Origin, TensorId};
use crate::onnx::attributes::{NodeView, node_name, operator_name};
use crate::onnx::given::InputShape;
use crate::onnx::literal::{Literal, Numbers, elements, is_int, length_of};
use crate::onnx::proto::tensor_proto::DataType;
use crate::onnx::proto::{GraphProto, NodeProto};
use crate::room::room;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Elements of a constant that is computed here rather than stored: a small file must not ask for all memory.
pub(crate) const MAX_FOLDED: i64 = 1 << 26;
/// Dimensions of a tensor.
const MAX_RANK: usize = 64;

/// What a name of the file stands for.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// Floats, computed or constant; whole numbers and truth values that are computed.
    Tensor(TensorId),
    /// Known whole numbers.
    Ints(IntTensor),
}

/// Known whole numbers of some shape, row-major.
#[derive(Clone, Debug)]
pub(crate) struct IntTensor {
    pub(crate) shape: Vec<i64>,
    pub(crate) values: Vec<i64>,
    /// Their type; each value is in its range.
    pub(crate) kind: DataType,
}

/// The graph being made.
pub(crate) struct Importer {
    graph: Graph,
    values: HashMap<String, Value>,
    /// The types of tensors; those that are not here are `FLOAT`.
    kinds: HashMap<TensorId, DataType>,
    /// Bytes of all constants.
    held: u64,
    /// Outputs that operators have but nobody computes here (indices of a pooling, masks), with the operator.
    ignored: HashMap<String, String>,
}

/// Whole numbers up to this are floats, as which outputs are given.
const EXACT: u64 = 1 << 24;

/// The nodes that some output needs, in an order in which they can run.
///
/// # Errors
/// A graph without outputs, one without such an order, and all operators in it that are not read.
pub(crate) fn order(proto: &GraphProto, opset: i64) -> Result<Vec<&NodeProto>, GraphError> {
    if proto.output.is_empty() {
        return Err(GraphError::NoOutputs);
    }
    let order = sequence::order(proto)?;
    let mut unknown: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for node in order.iter().filter(|node| table::row(node).is_none()) {
        unknown.entry(operator_name(node)).or_default().push(node_name(node));
    }
    if unknown.is_empty() { Ok(order) } else { Err(GraphError::UnsupportedOperators { opset, operators: unknown.into_iter().collect() }) }
}

/// Makes the graph of a file's nodes, in this order, with inputs of these shapes.
pub(crate) fn import(
    proto: &GraphProto,
    order: &[&NodeProto],
    opset: i64,
    inputs: Vec<(InputShape, DataType)>,
) -> Result<Graph, GraphError> {
    let empty = Graph { name: proto.name.clone(), ..Graph::default() };
    let mut importer = Importer { graph: empty, values: HashMap::new(), kinds: HashMap::new(), held: 0, ignored: HashMap::new() };
    for (InputShape { input, shape }, kind) in inputs {
        let whole = is_int(kind) == Some(true);
        let id = importer.graph.add(GraphTensor { whole, ..GraphTensor::new(input.clone(), shape, Origin::Input) });
        importer.graph.inputs.push(id);
        importer.declare(&Value::Tensor(id), kind);
        importer.values.insert(input, Value::Tensor(id));
    }
    // All are counted before the first is made.
    for tensor in &proto.initializer {
        importer.hold(&tensor.name, elements(tensor))?;
    }
    for tensor in &proto.initializer {
        let value = importer.literal(Literal::read(tensor, &tensor.name)?, &tensor.name, Origin::Parameter);
        importer.values.insert(tensor.name.clone(), value);
    }
    for node in order {
        importer.node(NodeView { proto: node, opset })?;
    }
    for output in &proto.output {
        match importer.values.get(&output.name) {
            Some(Value::Tensor(id)) => importer.graph.outputs.push(*id),
            // What is known is held as a constant.
            Some(Value::Ints(own)) if own.values.iter().all(|value| value.unsigned_abs() <= EXACT) => {
                let IntTensor { shape, values, kind } = own.clone();
                let values = values.into_iter().map(|value| value as f64).collect();
                let id = importer.graph.add_constant(output.name.clone(), shape, Origin::Constant, values);
                importer.declare(&Value::Tensor(id), kind);
                // Whatever other tensors are stored as.
                importer.graph.tensors[id.0].whole = true;
                importer.graph.outputs.push(id);
            }
            Some(Value::Ints(_)) => {
                let found = format!("a whole-number type, with numbers beyond {EXACT}");
                return Err(GraphError::WrongType { tensor: output.name.clone(), found, expected: "float32" });
            }
            None => return Err(GraphError::NoOutput { tensor: output.name.clone() }),
        }
    }
    importer.drop_unneeded();
    Ok(importer.graph)
}

impl Importer {
    /// Leaves out what is made of nodes for outputs that nobody reads.
    fn drop_unneeded(&mut self) {
        let mut needed: HashSet<TensorId> = self.graph.outputs.iter().copied().collect();
        let mut kept: Vec<_> = std::mem::take(&mut self.graph.nodes).into_iter().rev().collect();
        kept.retain(|node| {
            let own = node.outputs.iter().any(|id| needed.contains(id));
            needed.extend(node.inputs.iter().filter(|_| own));
            own
        });
        kept.reverse();
        self.graph.nodes = kept;
    }

    fn node(&mut self, view: NodeView<'_>) -> Result<(), GraphError> {
        // `order` let only those pass that have a row.
        let row = table::row(view.proto).ok_or_else(|| view.unsupported("its domain"))?;
        if view.first_output().is_empty() || view.proto.output[0].is_empty() && !row.several {
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
        let value = (row.read)(self, view)?;
        let value = self.typed(view, value, row.computes)?;
        if let Value::Ints(known) = &value {
            self.hold(&view.proto.output[0], known.values.len() as u64)?;
        }
        if !view.proto.output[0].is_empty() {
            self.values.insert(view.proto.output[0].clone(), value);
        }
        Ok(())
    }

    /// A constant whose elements were counted.
    fn literal(&mut self, Literal { shape, kind, values }: Literal, name: &str, origin: Origin) -> Value {
        match values {
            Numbers::Floats(values) => {
                let value = Value::Tensor(self.graph.add_constant(name.into(), shape, origin, values));
                self.declare(&value, kind);
                value
            }
            Numbers::Ints(values) => Value::Ints(IntTensor { shape, values, kind }),
        }
    }

    /// Counts a constant's elements, before they are made.
    fn hold(&mut self, name: &str, elements: u64) -> Result<(), GraphError> {
        self.held = self.may_hold(name, elements)?;
        Ok(())
    }

    /// Bytes of all constants with this one.
    fn may_hold(&self, name: &str, elements: u64) -> Result<u64, GraphError> {
        let bytes = self.held.saturating_add(elements.saturating_mul(8));
        room(bytes).map_err(|why| GraphError::TooLarge { what: format!("the constants up to `{name}`"), bytes, why })?;
        Ok(bytes)
    }

    /// The same of so many lists of known numbers of a shape: operands that are spread to it, and the result.
    fn may_spread(&self, view: NodeView<'_>, lists: u64, shape: &[i64]) -> Result<u64, GraphError> {
        let length = shape.iter().fold(1_u64, |product, extent| product.saturating_mul(extent.unsigned_abs()));
        self.may_hold(&view.proto.output[0], length.saturating_mul(lists))
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
            Some(Value::Tensor(id)) if is_int(self.kind(*id)) == Some(true) => Err(GraphError::Open {
                node: view.name(),
                tensor: view.proto.input[position].clone(),
                input: self.graph.inputs.contains(id),
            }),
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
            None => Err(self.open(view, position, id).unwrap_or_else(|| view.unsupported(format!("a computed input {position}")))),
        }
    }

    /// Why a tensor cannot be taken for a constant, where that is because it is an input of the model.
    fn open(&self, view: NodeView<'_>, position: usize, id: TensorId) -> Option<GraphError> {
        let tensor = view.proto.input[position].clone();
        self.graph.inputs.contains(&id).then(|| GraphError::Open { node: view.name(), tensor, input: true })
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
        let shape = within_rank(view, shape)?;
        let length = checked_length(view, &shape, 1, i64::from(i32::MAX))?;
        let name = if output == view.proto.output[0] { view.name() } else { output.to_string() };
        let output = GraphTensor::new(output, shape, Origin::Node);
        let id = TensorId(self.graph.tensors.len());
        let node = Node::of(name, op, inputs, id);
        let constants: Option<Vec<_>> = node.inputs.iter().map(|i| self.graph.tensor(*i).constant.clone()).collect();
        self.graph.tensors.push(output);
        match constants {
            Some(_) if length > MAX_FOLDED as usize => {
                return Err(view.unsupported(format!("a constant of {length} elements (at most {MAX_FOLDED})")));
            }
            Some(constants) => {
                self.hold(&self.graph.tensor(id).name.clone(), length as u64)?;
                let inputs: Vec<&[f64]> = constants.iter().map(AsRef::as_ref).collect();
                let values = evaluate_node(&self.graph, &node, &inputs)?.swap_remove(0);
                self.graph.tensors[id.0] = GraphTensor { origin: Origin::Constant, ..self.graph.tensors[id.0].clone() }.with_values(values);
            }
            None => self.graph.nodes.push(node),
        }
        Ok(id)
    }
}

fn missing(node: &NodeProto, tensor: &str) -> GraphError {
    GraphError::MissingInput { node: node_name(node), operator: node.op_type.clone(), tensor: tensor.into() }
}

/// A shape of not too many dimensions.
fn within_rank(view: NodeView<'_>, shape: Vec<i64>) -> Result<Vec<i64>, GraphError> {
    if shape.len() <= MAX_RANK { Ok(shape) } else { Err(view.unsupported(format!("{} dimensions (at most {MAX_RANK})", shape.len()))) }
}

/// Elements of a shape whose extents are at least so large, `most` of them at most.
fn checked_length(view: NodeView<'_>, shape: &[i64], least: i64, most: i64) -> Result<usize, GraphError> {
    let what = || format!("its output would have shape {shape:?}: extents are {least} or more, elements at most {most}");
    length_of(shape, least, most).ok_or_else(|| view.bad(what()))
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
