//! Depths of queues: so that no path waits for another in vain, and so that work-groups seldom wait (paper 003, section 4.1).

use super::{Design, DesignError, Role};
use crate::platform::Platform;
use crate::view::View;
use warpsight_ir::Bytes;

/// Gives every queue its depth, for stages on so many work-groups.
///
/// At least two slots, or two whole tokens where one is in pieces. Where paths part and meet again, the shorter one must hold what the
/// longer one takes before its first token comes out: everything behind a reduction, otherwise a token for each work-group on the way, so
/// that none of them starves. Beyond what is needed, slots are given while the second-level cache has room.
///
/// # Errors
/// Queues that the cache does not hold even at their least depth.
pub fn deepen(design: &mut Design, graph: &View, ctas: &[u32], platform: &Platform) -> Result<(), DesignError> {
    let on_the_way = |at: usize| {
        let stage = &design.stages[at];
        (u64::from(ctas[at] / stage.parts.max(1)) / stage.firings_per_token.max(1)).max(1)
    };
    let held_back = |at: usize| if design.stages[at].role == Role::Final { design.tokens() } else { 0 };
    // When a stage's first token comes, in tokens that its sources have sent: what it must wait for, and what it waits for at full speed.
    let mut needed = vec![0; design.stages.len()];
    let mut usual = vec![0; design.stages.len()];
    // Queues lead from earlier stages to later ones.
    let mut edges: Vec<(usize, usize)> =
        design.queues.iter().flat_map(|queue| queue.consumers.iter().map(|&to| (queue.producer, to))).collect();
    edges.sort_unstable();
    for (from, to) in edges {
        needed[to] = needed[to].max(needed[from] + held_back(from));
        usual[to] = usual[to].max(usual[from] + held_back(from) + on_the_way(from));
    }
    let depths = |queue: &super::Queue| -> (u64, u64) {
        let (from, whole) = (queue.producer, u64::from(queue.whole.max(1)));
        let pieces = (queue.tokens / design.stages[from].tokens.max(1)).max(1);
        let slack =
            |times: &[u64], own: u64| queue.consumers.iter().map(|&to| times[to].saturating_sub(times[from] + own)).max().unwrap_or(0);
        let least = 2 * whole + slack(&needed, held_back(from)) * pieces;
        let widest = queue.consumers.iter().map(|&to| on_the_way(to)).max().unwrap_or(1);
        let wish = whole * (on_the_way(from) + widest) + slack(&usual, held_back(from) + on_the_way(from)) * pieces;
        // More slots than tokens are never filled.
        let most = queue.tokens.max(2);
        (least.min(most), wish.max(least).min(most))
    };
    let depths: Vec<(u64, u64)> = design.queues.iter().map(depths).collect();
    let bytes = |of: fn(&(u64, u64)) -> u64| -> f64 { design.queues.iter().zip(&depths).map(|(q, d)| q.payload.0 * of(d) as f64).sum() };
    let (least, wish) = (bytes(|d| d.0), bytes(|d| d.1));
    if Bytes(least) > platform.slots {
        let of = |(queue, depth): (&super::Queue, &(u64, u64))| (queue.payload.0 * depth.0 as f64, queue.producer);
        let largest = design.queues.iter().zip(&depths).map(of).max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 0));
        let node = design.stages[largest.1].nodes.last().map_or_else(String::new, |&id| graph.node(id).name.clone());
        return Err(DesignError::Capacity { node, needs: least, has: platform.slots.0, largest: largest.0 });
    }
    let share = if wish > least { ((platform.slots.0 - least) / (wish - least)).min(1.0) } else { 1.0 };
    for (queue, (least, wish)) in design.queues.iter_mut().zip(depths) {
        let depth = least + ((wish - least) as f64 * share) as u64;
        queue.depth = u32::try_from(depth).unwrap_or(u32::MAX);
    }
    Ok(())
}
