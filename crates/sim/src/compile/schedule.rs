//! Moves loads ahead of arithmetic, as a driver's compiler does: their latencies then overlap within one wave.

use super::{Node, Tree, Value};
use crate::code::{Action, Target};
use std::collections::{HashMap, HashSet};

/// Moves loads up in every block; so many rows may be under way at once, or one load.
pub(super) fn hoist_loads(tree: &mut Tree, under_way: usize) {
    let body = std::mem::take(&mut tree.body);
    tree.body = block(body, under_way);
}

fn block(nodes: Vec<Node>, under_way: usize) -> Vec<Node> {
    let mut done = Vec::with_capacity(nodes.len());
    let mut window: Vec<Node> = vec![];
    let mut rows = 0;
    for node in nodes {
        let loaded = match &node {
            Node::Access(access) if access.action == Action::Load && !matches!(access.target, Target::Private(_)) => access.values.len(),
            Node::Alu(_) | Node::Wide(_) | Node::Lane(_) => 0,
            _ => {
                flush(&mut window, &mut done);
                rows = 0;
                done.push(match node {
                    Node::Loop { var, from, to, step, charged, body } => {
                        Node::Loop { var, from, to, step, charged, body: block(body, under_way) }
                    }
                    Node::If { condition, then, otherwise } => {
                        Node::If { condition, then: block(then, under_way), otherwise: block(otherwise, under_way) }
                    }
                    other => other,
                });
                continue;
            }
        };
        if rows > 0 && loaded > 0 && rows + loaded > under_way {
            flush(&mut window, &mut done);
            rows = 0;
        }
        rows += loaded;
        window.push(node);
    }
    flush(&mut window, &mut done);
    done
}

/// Loads and what their addresses need first, then the rest; both in their old order.
fn flush(window: &mut Vec<Node>, done: &mut Vec<Node>) {
    let mut needed = vec![false; window.len()];
    let mut writers: HashMap<Value, usize> = HashMap::new();
    let mut sources: Vec<Vec<usize>> = vec![];
    for (i, node) in window.iter().enumerate() {
        let mut of = vec![];
        node.reads(|v| of.extend(writers.get(&v)));
        sources.push(of);
        node.writes(|v| {
            writers.insert(v, i);
        });
        needed[i] = matches!(node, Node::Access(_));
    }
    for i in (0..window.len()).rev() {
        if needed[i] {
            sources[i].iter().for_each(|&j| needed[j] = true);
        }
    }
    // What stays behind must not be overtaken by what it reads from or writes to.
    let (mut read, mut written) = (HashSet::new(), HashSet::new());
    let mut rest = vec![];
    for (i, node) in window.drain(..).enumerate() {
        let mut free = needed[i];
        node.reads(|v| free &= !written.contains(&v));
        node.writes(|v| free &= !written.contains(&v) && !read.contains(&v));
        if free {
            done.push(node);
        } else {
            node.reads(|v| {
                read.insert(v);
            });
            node.writes(|v| {
                written.insert(v);
            });
            rest.push(node);
        }
    }
    done.append(&mut rest);
}
