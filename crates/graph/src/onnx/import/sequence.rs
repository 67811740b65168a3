//! An order of the file's nodes in which each comes after those it reads from; names play no part in it.

use crate::error::GraphError;
use crate::onnx::attributes::node_name;
use crate::onnx::proto::{GraphProto, NodeProto};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Nodes that some output needs, in an order in which they can run; the file's own order where that is one.
pub(super) fn order(graph: &GraphProto) -> Result<Vec<&NodeProto>, GraphError> {
    let producers = producers(graph)?;
    let needs = needs(graph, &producers)?;
    let mut waiting: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut readers = vec![Vec::new(); graph.node.len()];
    for (reader, sources) in needs.iter().enumerate() {
        sources.iter().for_each(|&s| readers[s].push(reader));
    }
    let mut ready: BinaryHeap<Reverse<usize>> = (0..graph.node.len()).filter(|&n| waiting[n] == 0).map(Reverse).collect();
    let mut order = Vec::new();
    while let Some(Reverse(node)) = ready.pop() {
        order.push(node);
        for &reader in &readers[node] {
            waiting[reader] -= 1;
            if waiting[reader] == 0 {
                ready.push(Reverse(reader));
            }
        }
    }
    if order.len() < graph.node.len() {
        return Err(cycle(graph, &needs, &waiting));
    }
    let mut needed = vec![false; graph.node.len()];
    for output in &graph.output {
        if let Some(&Definition::Node(n)) = producers.get(output.name.as_str()) {
            needed[n] = true;
        }
    }
    for &node in order.iter().rev().filter(|&&n| n < graph.node.len()) {
        if needed[node] {
            needs[node].iter().for_each(|&s| needed[s] = true);
        }
    }
    Ok(order.into_iter().filter(|&n| needed[n]).map(|n| &graph.node[n]).collect())
}

#[derive(Clone, Copy)]
enum Definition {
    Given,
    Node(usize),
}

/// What defines each name.
fn producers(graph: &GraphProto) -> Result<HashMap<&str, Definition>, GraphError> {
    let mut producers = HashMap::new();
    // A file may list its initialisers among its inputs too.
    let initialisers = graph.initializer.iter().map(|t| (t.name.as_str(), "an initialiser"));
    let inputs = graph.input.iter().filter(|i| !graph.initializer.iter().any(|t| t.name == i.name));
    let mut described: HashMap<&str, String> = HashMap::new();
    let duplicate =
        |tensor: &str, first: &str, second: String| GraphError::DuplicateTensor { tensor: tensor.into(), first: first.into(), second };
    for (name, what) in initialisers.chain(inputs.map(|i| (i.name.as_str(), "an input"))) {
        if let Some(first) = described.insert(name, what.into()) {
            return Err(duplicate(name, &first, what.into()));
        }
        producers.insert(name, Definition::Given);
    }
    for (position, node) in graph.node.iter().enumerate() {
        for name in node.output.iter().filter(|n| !n.is_empty()) {
            let what = format!("node `{}`", node_name(node));
            if let Some(first) = described.insert(name, what.clone()) {
                return Err(duplicate(name, &first, what));
            }
            producers.insert(name, Definition::Node(position));
        }
    }
    Ok(producers)
}

/// Per node, the nodes it reads from, each once.
fn needs(graph: &GraphProto, producers: &HashMap<&str, Definition>) -> Result<Vec<Vec<usize>>, GraphError> {
    let of = |node: &NodeProto| {
        let mut sources = Vec::new();
        for name in node.input.iter().filter(|n| !n.is_empty()) {
            match producers.get(name.as_str()) {
                None => return Err(super::missing(node, name)),
                Some(Definition::Given) => {}
                Some(&Definition::Node(source)) => {
                    if !sources.contains(&source) {
                        sources.push(source);
                    }
                }
            }
        }
        Ok(sources)
    };
    graph.node.iter().map(of).collect()
}

/// Names one cycle among the nodes that still wait.
fn cycle(graph: &GraphProto, needs: &[Vec<usize>], waiting: &[usize]) -> GraphError {
    let mut path: Vec<usize> = Vec::new();
    let mut at = waiting.iter().position(|&w| w > 0);
    while let Some(node) = at {
        if let Some(start) = path.iter().position(|&p| p == node) {
            path.drain(..start);
            path.push(node);
            break;
        }
        path.push(node);
        // A node that waits reads from another one that does.
        at = needs[node].iter().copied().find(|&s| waiting[s] > 0);
    }
    path.reverse();
    GraphError::Cycle { nodes: path.into_iter().map(|n| node_name(&graph.node[n])).collect() }
}
