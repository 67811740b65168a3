//! What each tensor of a planned graph is stored as.

use crate::graph::{Graph, TensorId};
use warpsight_ir::Scalar;

/// Per tensor of the graph its element type: `wanted`, but `F32` for positions, for what they are made of, and for whole numbers from the
/// caller. Tensors that share their elements (`roots`) share the type.
pub(crate) fn elements(graph: &Graph, roots: &[TensorId], wanted: Scalar) -> Vec<Scalar> {
    let mut exact: Vec<bool> = graph.tensors.iter().map(|tensor| tensor.whole).collect();
    for node in graph.nodes.iter().rev() {
        let made = node.outputs.iter().any(|output| exact[roots[output.0].0]);
        let positions = node.op().map_or(0..0, |op| op.positions(node.inputs.len()));
        for (at, input) in node.inputs.iter().enumerate() {
            exact[roots[input.0].0] |= made || positions.contains(&at);
        }
    }
    roots.iter().map(|root| if exact[root.0] { Scalar::F32 } else { wanted }).collect()
}
