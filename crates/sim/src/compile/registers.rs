//! Values that a compiler keeps no register for: it makes them again where they are read.

use super::{Node, Tree, Value};
use crate::code::{Action, Alu, AluOp, HalfOp, WideOp};
use crate::silicon::Silicon;
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

/// Of each value, whether two such share a register: halves, where registers hold two of them.
pub(super) fn halves(tree: &Tree, silicon: &Silicon) -> Vec<bool> {
    let mut halves = vec![false; tree.infos.len()];
    if silicon.core.half.is_some_and(|half| half.in_register == 2) {
        while spread(&tree.body, &mut halves) {}
    }
    halves
}

/// Marks the halves that nodes make, copies of those known included; whether there was a new one.
fn spread(nodes: &[Node], halves: &mut [bool]) -> bool {
    nodes.iter().fold(false, |any, node| {
        let half = match node {
            Node::Alu(Alu { op: AluOp::Half { op, .. }, .. }) => !matches!(op, HalfOp::Binary(op) if op.is_comparison()),
            Node::Alu(Alu { op: AluOp::Cast(_, to), .. }) => *to == Scalar::Half,
            Node::Alu(Alu { op: AluOp::Mov | AluOp::Merge | AluOp::Select, a, .. }) => halves[*a as usize],
            Node::Wide(wide) => matches!(wide.op, WideOp::Cast(_, Scalar::Half)),
            Node::Access(access) => access.action == Action::Load && access.element == Scalar::Half,
            Node::Lane(pick) => pick.from.iter().any(|&v| halves[v as usize]),
            _ => false,
        };
        let mut new = false;
        if half {
            node.writes(|v: Value| new |= !std::mem::replace(&mut halves[v as usize], true));
        }
        node.blocks().fold(any || new, |any, inner| spread(inner, halves) || any)
    })
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
