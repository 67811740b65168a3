//! Algorithm 1's split of reductions: many partial results, and a tree that brings them together.

use crate::view::{Node, Tensor, View};
use warpsight_graph::Class;

/// Partial results that one stage brings together; a queue with more producers than that pays for each of them.
const FAN_IN: u64 = 8;
/// Partial results at most.
const PARTIALS: u64 = 64;

/// Rows of a tensor: all extents but the last.
pub fn rows(tensor: &Tensor) -> u64 {
    tensor.elements() / tensor.shape.last().copied().unwrap_or(1)
}

/// Whether a node sums over the rows of its inputs, so that it has a result only after the last token: a sum of columns, or a product of
/// two tensors along their rows (the gradient of parameters).
pub fn sums_rows(graph: &View, node: &Node) -> bool {
    let output = graph.tensor(node.outputs[0]);
    match node.class {
        _ if node.windows => false,
        Class::Reduce => node.inputs.iter().any(|&id| {
            let input = graph.tensor(id);
            let by_row = rows(input) == rows(output) && output.shape.last() == Some(&1);
            rows(input) > 1 && !by_row && !output.elements().is_multiple_of(rows(input))
        }),
        Class::Tensor => node.gemm.is_some_and(|gemm| {
            let (left, right) = (graph.tensor(gemm.left), graph.tensor(gemm.right));
            let along_rows = rows(left) == gemm.k && rows(right) == gemm.k;
            // Parameters have no producer, so that two computed operands are a gradient and what it belongs to, in whatever layout: but not
            // where rows of the left one are rows of the result.
            let computed = left.producer.is_some() && right.producer.is_some();
            let otherwise = rows(left) != gemm.m && rows(right) != gemm.n;
            if along_rows { computed || gemm.m != gemm.k } else { computed && otherwise }
        }),
        Class::Simt | Class::Gather => false,
    }
}

/// Numbers of partial results, from the fan-in to what the final stage takes; empty where there is one token only. The first divides the
/// tokens and is at least `wanted` where it can be, each next divides the one before.
pub fn levels(tokens: u64, wanted: u64) -> Vec<u64> {
    let wanted = wanted.clamp(2, PARTIALS);
    let mut counts = (2..=tokens.min(PARTIALS)).filter(|&count| tokens.is_multiple_of(count));
    let least = counts.clone().find(|&count| count >= wanted);
    let Some(mut count) = least.or_else(|| counts.next_back()) else { return Vec::new() };
    let mut levels = vec![count];
    while count > FAN_IN {
        let Some(arity) = (2..=FAN_IN).rev().find(|&arity| count.is_multiple_of(arity)) else { break };
        count /= arity;
        levels.push(count);
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::levels;

    #[test]
    fn partial_results_divide_the_tokens_and_come_together_in_a_tree() {
        assert_eq!(levels(64, 64), [64, 8]);
        assert_eq!(levels(48, 5), [6]);
        assert_eq!(levels(320, 100), [64, 8]);
        // More than there are tokens; a prime number of them; a single one.
        assert_eq!(levels(4, 9), [4]);
        assert_eq!(levels(7, 3), [7]);
        assert!(levels(1, 3).is_empty());
    }
}
