//! What addresses and control need of a Program: all that has to be computed to know how long it takes.

use super::{Node, Tree, Value};
use crate::code::{Action, Target};
use warpsight_ir::Name;

/// Which values are needed, or the tensor whose contents decide where the Program goes or what it touches.
pub(super) fn needed(tree: &Tree) -> Result<Vec<bool>, Name> {
    let mut needed = vec![false; tree.infos.len()];
    roots(&tree.body, &mut |v| needed[v as usize] = true);
    // Variables are written before and behind where they are read: until nothing changes.
    while spread(&tree.body, tree.pinned as usize, &mut needed)? {}
    Ok(needed)
}

/// Calls `f` with what conditions, bounds and addresses read themselves.
fn roots(nodes: &[Node], f: &mut impl FnMut(Value)) {
    for node in nodes {
        match node {
            Node::Loop { .. } | Node::If { .. } => node.reads(&mut *f),
            Node::Access(access) => {
                f(access.offset);
                access.coords.iter().for_each(|&(v, _)| f(v));
                access.guard.iter().for_each(|&v| f(v));
            }
            _ => {}
        }
        node.blocks().for_each(|block| roots(block, f));
    }
}

/// Marks what nodes that write something needed read; whether that is more. The first `pinned` values are private arrays.
fn spread(nodes: &[Node], pinned: usize, needed: &mut [bool]) -> Result<bool, Name> {
    let mut more = false;
    // Backwards: what is read was mostly written before.
    for node in nodes.iter().rev() {
        for block in node.blocks() {
            more |= spread(block, pinned, needed)?;
        }
        let mut wanted = false;
        node.writes(|v| wanted |= needed[v as usize]);
        if let Node::Access(access) = node {
            match access.target {
                // Which element is found at run time: any of them may be the one.
                Target::Private(_) if access.action == Action::Store => wanted = needed[..pinned].contains(&true),
                Target::Private(_) if wanted => {
                    needed[..pinned].iter_mut().for_each(|own| more |= !std::mem::replace(own, true));
                }
                Target::Private(_) => {}
                _ if wanted => return Err(access.name.clone()),
                _ => {}
            }
        }
        if wanted {
            node.reads(|v| more |= !std::mem::replace(&mut needed[v as usize], true));
        }
    }
    Ok(more)
}
