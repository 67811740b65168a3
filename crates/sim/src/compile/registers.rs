//! Values that a compiler keeps no register for: it makes them again where they are read.

use super::{Node, Tree, Value};
use crate::code::AluOp;
use warpsight_ir::Scalar;

/// Of each value, whether it takes no register of a work-item: what is the same in all lanes lies in registers that lanes share, and integer
/// arithmetic on such values, on lane axes and on other results of this kind (addresses, conditions) is cheap enough to be done again.
pub(super) fn remade(tree: &Tree) -> Vec<bool> {
    let mut remade: Vec<bool> = tree.infos.iter().map(|info| info.uniform || info.constant.is_some()).collect();
    // Axes hold registers of their own, but what is made of them alone can be made again.
    let mut cheap = remade.clone();
    tree.lane_axes.iter().for_each(|&v| cheap[v as usize] = true);
    mark(tree, &tree.body, &mut cheap, &mut remade);
    remade
}

/// Operands come before what is made of them.
fn mark(tree: &Tree, nodes: &[Node], cheap: &mut [bool], remade: &mut [bool]) {
    for node in nodes {
        if let Node::Alu(alu) = node
            && integer(alu.op)
            && !tree.infos[alu.dst as usize].mutable
        {
            let mut operands = true;
            node.reads(|v: Value| operands &= cheap[v as usize]);
            if operands {
                (cheap[alu.dst as usize], remade[alu.dst as usize]) = (true, true);
            }
        }
        node.blocks().for_each(|block| mark(tree, block, cheap, remade));
    }
}

/// Whether an operation is integer arithmetic without quotients.
fn integer(op: AluOp) -> bool {
    use warpsight_ir::BinaryOp::{Div, Rem};
    match op {
        AluOp::Binary(op, scalar) => (scalar.is_int() || scalar == Scalar::Bool) && !matches!(op, Div | Rem),
        AluOp::Unary(_, scalar) => scalar.is_int() || scalar == Scalar::Bool,
        _ => false,
    }
}
