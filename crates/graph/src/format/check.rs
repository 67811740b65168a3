//! What no graph of operators may be.

use super::{Draft, FormatError, mismatch};
use crate::graph::counted::plain_product;
use crate::graph::work::{Class, IndexSource, Work};
use crate::graph::{Body, Graph, GraphTensor, Node, Origin, TensorId};
use std::collections::HashSet;

/// Operations that a node has fewer of: steps of a pipeline's firings count them in 64 bits.
const OPERATIONS: f64 = (1_u64 << 63) as f64;

pub(super) fn unique(drafts: &[Draft]) -> Result<(), FormatError> {
    let mut seen = HashSet::new();
    match drafts.iter().find(|draft| !seen.insert(&draft.node.name)) {
        Some(draft) => Err(FormatError::SameId(draft.node.name.clone())),
        None => Ok(()),
    }
}

/// Bytes of a tensor are a whole number, also as `f64`.
pub(super) fn sized(tensors: &[GraphTensor]) -> Result<(), FormatError> {
    let wrong = tensors.iter().find(|tensor| !(1..1 << 53).contains(&tensor.bytes()));
    wrong.map_or(Ok(()), |tensor| Err(FormatError::Size(tensor.name.clone())))
}

/// Every tensor that is read is written once, or comes from outside.
pub(super) fn connected(drafts: &[Draft], graph: &Graph) -> Result<(), FormatError> {
    let mut writer: Vec<Option<&Node>> = vec![None; graph.tensors.len()];
    let mut reader: Vec<Option<&Node>> = vec![None; graph.tensors.len()];
    for node in drafts.iter().map(|draft| &draft.node) {
        for id in &node.outputs {
            let tensor = graph.tensor(*id);
            let already = match writer[id.0] {
                Some(other) => Some(format!("written by node `{}`", other.name)),
                None => (tensor.origin != Origin::Node).then(|| "given from outside".to_owned()),
            };
            if let Some(already) = already {
                return Err(FormatError::Rewritten { tensor: tensor.name.clone(), node: node.name.clone(), already });
            }
            writer[id.0] = Some(node);
        }
        for id in &node.inputs {
            reader[id.0].get_or_insert(node);
        }
    }
    for (at, tensor) in graph.tensors.iter().enumerate() {
        if let (Origin::Node, None, Some(reader)) = (tensor.origin, writer[at], reader[at]) {
            return Err(FormatError::Unwritten { tensor: tensor.name.clone(), node: reader.name.clone() });
        }
    }
    Ok(())
}

/// Whether a node can have these operands.
pub(super) fn node(draft: &Draft, graph: &Graph) -> Result<(), FormatError> {
    let node = &draft.node;
    if let Body::Op { stated: Some(work), .. } | Body::Opaque { work, .. } = &node.body {
        counted(node, work)?;
    }
    if node.outputs.is_empty() || node.inputs.is_empty() {
        return Err(mismatch(&node.name, "it reads or writes nothing".to_owned()));
    }
    match &node.body {
        Body::Op { op, .. } => {
            let shapes = |ids: &[TensorId]| -> Vec<&[i64]> { ids.iter().map(|id| graph.tensor(*id).shape.as_slice()).collect() };
            op.fits(&shapes(&node.inputs), &shapes(&node.outputs)).map_err(|what| mismatch(&node.name, what))?;
            counted(node, &graph.work(node))?;
            if draft.read.is_some() || draft.written.is_some() {
                return Err(mismatch(&node.name, "the bytes of a node with a `body` are those of its operands".to_owned()));
            }
            views_keep_elements(node, graph)
        }
        Body::Opaque { work, index } => {
            sizes(draft, work, graph)?;
            for (at, source) in index.iter().enumerate() {
                indexed(node, source, graph).map_err(|what| mismatch(&node.name, format!("index[{at}].{what}")))?;
            }
            product(node, work, graph)
        }
    }
}

/// What positions come from is there: inputs, and dimensions of what else the node reads or of what it writes.
fn indexed(node: &Node, source: &IndexSource, graph: &Graph) -> Result<(), String> {
    let shape = |id: &TensorId| graph.tensor(*id).shape.as_slice();
    let (key, input) = match *source {
        IndexSource::Input { input, .. } => ("input.input", input),
        IndexSource::Offsets { input } => ("offsets.input", input),
        IndexSource::LowerTriangle { axis, diagonal } => {
            // Rows and columns of what is read.
            let pair = |id| axis.checked_add(2).and_then(|end| shape(id).get(axis..end));
            let pairs: Vec<&[i64]> = node.inputs.iter().filter_map(pair).collect();
            if pairs.is_empty() {
                return Err(format!("lower_triangle.axis: no input has a dimension {axis} and one after it"));
            }
            let has = |pair: &&[i64]| (1 - pair[0]..pair[1]).contains(&diagonal);
            return match pairs.iter().any(has) {
                true => Ok(()),
                false => Err(format!("lower_triangle.diagonal: there is no diagonal {diagonal} in {}x{}", pairs[0][0], pairs[0][1])),
            };
        }
    };
    if input >= node.inputs.len() {
        return Err(format!("{key}: input {input} of {}", node.inputs.len()));
    }
    if let IndexSource::Input { axis, .. } = *source {
        let others = node.inputs.iter().enumerate().filter(|&(at, _)| at != input).map(|(_, id)| id);
        let most = others.chain(&node.outputs).map(|id| shape(id).len()).max().unwrap_or(0);
        if axis >= most {
            return Err(format!("input.axis: dimension {axis} of {most}"));
        }
    }
    Ok(())
}

/// A view has the elements that it shows.
fn views_keep_elements(node: &Node, graph: &Graph) -> Result<(), FormatError> {
    let (from, to) = (graph.tensor(node.inputs[0]), graph.tensor(node.output()));
    if node.is_view() && from.element != to.element {
        return Err(mismatch(&node.name, format!("it shows elements of {} B as elements of {} B", from.element, to.element)));
    }
    Ok(())
}

fn counted(node: &Node, work: &Work) -> Result<(), FormatError> {
    if (0.0..OPERATIONS).contains(&work.flops) {
        return Ok(());
    }
    Err(mismatch(&node.name, format!("{:e} operations, where 0 or more, and fewer than 2^63, were expected", work.flops)))
}

/// An opaque node has no attributes, so that slices, expansions and concatenations look like any other shapes; what no operator of a class
/// can do is an error.
fn sizes(draft: &Draft, work: &Work, graph: &Graph) -> Result<(), FormatError> {
    let node = &draft.node;
    let mismatch = |what: String| Err(mismatch(&node.name, what));
    let sum = |ids: &[TensorId]| ids.iter().map(|id| graph.tensor(*id).bytes() as f64).sum::<f64>();
    let (reads, writes) = (sum(&node.inputs), sum(&node.outputs));
    let (read, written) = (draft.read.unwrap_or(reads), draft.written.unwrap_or(writes));
    if written != writes {
        return mismatch(format!("it writes {written} B, but its outputs have {writes} B"));
    }
    // A gather reads the rows that it touches.
    if !(read == reads || work.class == Class::Gather && read >= 0.0 && read.is_finite()) {
        return mismatch(format!("it reads {read} B, but its inputs have {reads} B"));
    }
    let output = graph.tensor(node.output());
    let inputs = || node.inputs.iter().map(|id| graph.tensor(*id));
    let shown = |tensor: &GraphTensor| format!("`{}` {:?}", tensor.name, tensor.shape);
    if work.class == Class::Reduce && !inputs().any(|input| input.elements().is_multiple_of(output.elements())) {
        return mismatch(format!("it reduces to {}, of which no input is a multiple", shown(output)));
    }
    if work.class == Class::Simt {
        // As many elements are those of the output, transposed or not.
        let alike = |tensor: &&GraphTensor| tensor.shape.len() == output.shape.len() && tensor.elements() != output.elements();
        let alike: Vec<&GraphTensor> = inputs().filter(alike).collect();
        for (axis, &extent) in output.shape.iter().enumerate() {
            let joined = alike.iter().fold(0_i64, |sum, tensor| sum.saturating_add(tensor.shape[axis]));
            let wrong = |tensor: &&&GraphTensor| tensor.shape[axis] < extent && extent % tensor.shape[axis] != 0 && joined != extent;
            if let Some(tensor) = alike.iter().find(wrong) {
                return mismatch(format!("{} does not fit its output {}", shown(tensor), shown(output)));
            }
        }
    }
    Ok(())
}

/// Whether opaque work on matrix units can be a product, a batch of them or a whole attention.
fn product(node: &Node, work: &Work, graph: &Graph) -> Result<(), FormatError> {
    let output = graph.tensor(node.output());
    let mut sizes: Vec<u64> = node.inputs.iter().map(|id| graph.tensor(*id).elements()).collect();
    if work.class != Class::Tensor || plain_product(&sizes, output, Err(work.flops)).is_some() {
        return Ok(());
    }
    // A batch of b products has b times fewer operations than its operands together would need as one.
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let (a, b) = (sizes[0] as f64, sizes.get(1).map_or(sizes[0] as f64, |&size| size as f64));
    let batch = a * b * output.elements() as f64 / (work.flops / 2.0).powi(2);
    if (batch - batch.round()).abs() > 1e-6 * batch || batch < 1.0 || !batch.is_finite() {
        let shapes: Vec<_> = node.inputs.iter().chain(&node.outputs).map(|id| format!("{:?}", graph.tensor(*id).shape)).collect();
        return Err(mismatch(&node.name, format!("{} operations are no product of the shapes {}", work.flops, shapes.join(", "))));
    }
    Ok(())
}
