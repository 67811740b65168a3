//! Groups by modelled gain, under a judge of this file: a roofline.

mod common;

use common::{ALL, Builder, disguised, graph, text};
use std::cell::Cell;
use warpsight_dataflow::{Class, Graph, Group, Judge, NodeId, Patterns, select, vertical};
use warpsight_ir::Bytes;

/// Seconds of a pipeline: memory, or the busier of two kinds of units, of which tensor and SIMT work at the same time; a launch each. More
/// stages than there is room for cannot be.
struct Roofline {
    tensor: f64,
    simt: f64,
    memory: f64,
    launch: f64,
    stages: usize,
    asked: Cell<usize>,
}

impl Roofline {
    fn a100() -> Self {
        Self { tensor: 312e12, simt: 19.5e12, memory: 1.4e12, launch: 2.5e-6, stages: 40, asked: Cell::new(0) }
    }

    fn units(&self, graph: &Graph, nodes: &[NodeId]) -> f64 {
        let of = |tensor: bool| {
            let nodes = nodes.iter().map(|id| graph.node(*id)).filter(|node| (node.class == Class::Tensor) == tensor);
            nodes.map(|node| node.flops).sum::<f64>()
        };
        (of(true) / self.tensor).max(of(false) / self.simt)
    }

    fn total(&self, graph: &Graph, groups: &[Group]) -> f64 {
        let alone = graph.ids().filter(|id| !groups.iter().any(|group| group.has(*id)));
        let alone: f64 = alone.map(|id| self.alone(graph, id)).sum();
        alone + groups.iter().map(|group| self.seconds(graph, group).unwrap_or(f64::INFINITY)).sum::<f64>()
    }
}

impl Judge for Roofline {
    fn seconds(&self, graph: &Graph, group: &Group) -> Option<f64> {
        self.asked.set(self.asked.get() + 1);
        assert!(graph.is_convex(&group.nodes), "{group:?}");
        let gathers = group.nodes.iter().any(|id| graph.node(*id).class == Class::Gather);
        let moved = group.traffic(graph).bytes().0 / self.memory;
        // Queues cost a tenth.
        let seconds = moved.max(1.1 * self.units(graph, &group.nodes)) + self.launch;
        (!gathers && group.nodes.len() <= self.stages).then_some(seconds)
    }

    fn alone(&self, graph: &Graph, node: NodeId) -> f64 {
        let moved = (graph.node(node).read + graph.node(node).written).0 / self.memory;
        moved.max(self.units(graph, &[node])) + self.launch
    }
}

fn starts(graph: &Graph) -> [Vec<Group>; 2] {
    let vertical = vertical::vertical(graph, &Patterns::vertical(), Bytes(166_912.0));
    [select::kitsune(graph, &Patterns::kitsune()), vertical.groups.into_iter().map(|(group, _)| group).collect()]
}

#[test]
fn never_slower_than_any_start() {
    let mut strictly = 0;
    println!("predicted (roofline), s: kitsune, vertical, alone, best");
    for (name, _) in ALL {
        let graph = graph(name);
        let judge = Roofline::a100();
        let starts = starts(&graph);
        judge.asked.set(0);
        let begin = std::time::Instant::now();
        let best = select::best(&graph, &judge, &starts);
        let (asked, took) = (judge.asked.get(), begin.elapsed());
        let times = [&starts[0], &starts[1], &vec![], &best].map(|groups| judge.total(&graph, groups));
        println!("{name:16} {times:?}, {asked} questions, {took:?}");
        let others = times[..3].iter().copied().fold(f64::INFINITY, f64::min);
        assert!(times[3] <= others, "{name}: {times:?}");
        strictly += usize::from(times[3] < 0.99 * others);
        assert_eq!(best, select::best(&graph, &judge, &starts), "{name}");
        assert!(vertical_order(&graph, &best), "{name}");
    }
    assert!(strictly >= 3, "{strictly}");
}

/// Whether groups can run one after the other, each as a whole.
fn vertical_order(graph: &Graph, groups: &[Group]) -> bool {
    let of = |id: NodeId| groups.iter().position(|group| group.has(id)).map_or(id.0 + groups.len(), |at| at);
    let mut done: Vec<bool> = vec![false; graph.nodes.len()];
    loop {
        let ready = |id: NodeId| graph.producers(id).iter().all(|producer| done[producer.0] || of(*producer) == of(id));
        let next = graph.ids().find(|&id| !done[id.0] && graph.ids().filter(|&other| of(other) == of(id)).all(ready));
        let Some(next) = next else { return done.iter().all(|done| *done) };
        for id in graph.ids().filter(|&other| of(other) == of(next)) {
            done[id.0] = true;
        }
    }
}
