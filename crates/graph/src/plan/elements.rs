//! What each tensor of a planned graph is stored as.

use crate::graph::op::{Arithmetic, Function, Op};
use crate::graph::{Graph, Node, TensorId};
use warpsight_ir::Scalar;

/// Per tensor of the graph its element type: `wanted`, but `F32` for whole numbers, from the caller or made of floats, for what is made of these
/// alone before anything weighs it (masks, angles of positions), for what known numbers are beside these, for positions in tensors, and for what
/// positions are made of. Tensors that share their elements (`roots`) share the type.
pub(crate) fn elements(graph: &Graph, roots: &[TensorId], wanted: Scalar) -> Vec<Scalar> {
    let known = |id: &TensorId| graph.tensor(*id).constant.is_some() || graph.tensor(*id).fill.is_some();
    let mut exact: Vec<bool> = graph.tensors.iter().map(|tensor| tensor.whole).collect();
    // Known numbers, and what is made of these alone.
    let mut given: Vec<bool> = (0..graph.tensors.len()).map(|id| known(&TensorId(id))).collect();
    for node in &graph.nodes {
        let mut read = values(node).filter(|id| !known(id)).peekable();
        let whole = matches!(node.op(), Some(Op::Unary(Function::Trunc) | Op::Binary(Arithmetic::Quotient)));
        if whole || read.peek().is_some() && read.all(|id| exact[roots[id.0].0]) {
            node.outputs.iter().for_each(|output| exact[roots[output.0].0] = true);
        }
        if node.inputs.iter().all(|id| given[roots[id.0].0]) {
            node.outputs.iter().for_each(|output| given[roots[output.0].0] = true);
        }
    }
    // Floats that whole numbers are made of need not be exact, those that positions are made of are.
    let mut positions = vec![false; exact.len()];
    for node in graph.nodes.iter().rev() {
        let made = |of: &[bool]| node.outputs.iter().any(|output| of[roots[output.0].0]);
        let (finds, beside) = (made(&positions), made(&exact));
        let own = node.op().map_or(0..0, |op| op.positions(node.inputs.len()));
        for (at, input) in node.inputs.iter().enumerate() {
            let root = roots[input.0].0;
            positions[root] |= finds || own.contains(&at);
            exact[root] |= beside && given[root];
        }
    }
    roots.iter().map(|root| if exact[root.0] || positions[root.0] { Scalar::F32 } else { wanted }).collect()
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
    // What says which of two is chosen is neither.
    let others = op.map_or(0..0, |op| if *op == Op::Select { 0..1 } else { op.positions(node.inputs.len()) });
    let count = if op.is_some() { node.inputs.len() } else { 0 };
    node.inputs[..count].iter().enumerate().filter(move |(at, _)| !others.contains(at)).map(|(_, id)| id)
}
