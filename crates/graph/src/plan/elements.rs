//! What each tensor of a planned graph is stored as.

use crate::graph::op::Op;
use crate::graph::{Graph, Node, TensorId};
use warpsight_ir::Scalar;

/// Per tensor of the graph its element type: `wanted`, but `F32` for whole numbers from the caller, for what is made of these alone before
/// anything weighs it (masks, angles of positions), for positions in tensors, and for what these are made of. Tensors that share their elements
/// (`roots`) share the type.
pub(crate) fn elements(graph: &Graph, roots: &[TensorId], wanted: Scalar) -> Vec<Scalar> {
    let mut exact: Vec<bool> = graph.tensors.iter().map(|tensor| tensor.whole).collect();
    for node in &graph.nodes {
        let known = |id: &TensorId| graph.tensor(*id).constant.is_some() || graph.tensor(*id).fill.is_some();
        let mut read = values(node).filter(|id| !known(id)).peekable();
        if read.peek().is_some() && read.all(|id| exact[roots[id.0].0]) {
            node.outputs.iter().for_each(|output| exact[roots[output.0].0] = true);
        }
    }
    for node in graph.nodes.iter().rev() {
        let made = node.outputs.iter().any(|output| exact[roots[output.0].0]);
        let positions = node.op().map_or(0..0, |op| op.positions(node.inputs.len()));
        for (at, input) in node.inputs.iter().enumerate() {
            exact[roots[input.0].0] |= made || positions.contains(&at);
        }
    }
    roots.iter().map(|root| if exact[root.0] { Scalar::F32 } else { wanted }).collect()
}

/// What the results of a node are the numbers of, or functions of: nothing where it weighs and adds.
fn values(node: &Node) -> impl Iterator<Item = &TensorId> {
    let moves = |op: &Op| {
        let moved = matches!(
            op,
            Op::Alias
                | Op::Transpose { .. }
                | Op::Slice { .. }
                | Op::Pad { .. }
                | Op::Concat { .. }
                | Op::Gather { .. }
                | Op::GatherElements { .. }
                | Op::Scatter { .. }
                | Op::Update { .. }
                | Op::LowerPairs { .. }
                | Op::Reduce { .. }
        );
        moved || op.is_elementwise()
    };
    let op = node.op().filter(|op| moves(op));
    let positions = op.map_or(0..0, |op| op.positions(node.inputs.len()));
    let count = if op.is_some() { node.inputs.len() } else { 0 };
    node.inputs[..count].iter().enumerate().filter(move |(at, _)| !positions.contains(at)).map(|(_, id)| id)
}
