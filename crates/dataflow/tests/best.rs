//! Groups by modelled gain, under a judge of this file: a roofline.

mod common;

use common::{ALL, can_run, disguised, graph, text};
use std::cell::Cell;
use warpsight_dataflow::{Class, Graph, Group, Judge, Machine, Modelled, NodeId, Patterns, Planner, Policy, select, vertical};
use warpsight_ir::Bytes;
use warpsight_ir::profile::builtin;
use warpsight_predict::StageRoofline;

/// Seconds of a pipeline: memory, or the busier of two kinds of units, of which tensor and SIMT work at the same time; a launch each. More
/// stages than there is room for cannot be.
struct Roofline {
    tensor: f64,
    simt: f64,
    memory: f64,
    launch: f64,
    stages: usize,
    /// Whether it says what cannot pay.
    bounds: bool,
    asked: Cell<usize>,
}

impl Roofline {
    fn a100() -> Self {
        Self { tensor: 312e12, simt: 19.5e12, memory: 1.4e12, launch: 2.5e-6, stages: 40, bounds: true, asked: Cell::new(0) }
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

    fn bound(&self, graph: &Graph, group: &Group) -> f64 {
        // Of memory alone.
        if self.bounds { group.traffic(graph).bytes().0 / self.memory } else { 0.0 }
    }

    fn alone(&self, graph: &Graph, node: NodeId) -> f64 {
        let moved = (graph.node(node).read + graph.node(node).written).0 / self.memory;
        moved.max(self.units(graph, &[node])) + self.launch
    }
}

/// Of a block on the A100.
const SHARED: Bytes = Bytes(166_912.0);

fn starts(graph: &Graph) -> [Vec<Group>; 2] {
    let vertical = vertical::vertical(graph, &Patterns::vertical(), SHARED);
    [select::kitsune(graph, &Patterns::kitsune()), vertical.groups.into_iter().map(|(group, _)| group).collect()]
}

#[test]
fn never_slower_than_any_start() {
    let (mut strictly, mut enough) = (0, 0);
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
        assert!(asked <= 200, "{name}: {asked} questions");
        // Bounds save questions and change nothing else, as long as it may ask.
        let without = Roofline { bounds: false, ..Roofline::a100() };
        let same = select::best(&graph, &without, &starts) == best;
        assert!(asked <= without.asked.get() && (same || without.asked.get() == 200), "{name}: {asked} questions");
        enough += usize::from(without.asked.get() < 200);
        strictly += usize::from(times[3] < 0.99 * others);
        assert_eq!(best, select::best(&graph, &judge, &starts), "{name}");
        assert!(can_run(&graph, &best), "{name}");
    }
    assert!(strictly >= 3 && enough >= 6, "{strictly}, {enough}");
}

#[test]
fn names_and_order_change_no_group() {
    for (name, _) in ALL {
        let text = text(name);
        let groups = |text: &str| {
            let graph = Graph::read(text).expect("a graph");
            let starts = starts(&graph);
            let best = Policy::default().groups(&graph, &Patterns::kitsune(), &Roofline::a100(), SHARED);
            assert_eq!(best, select::best(&graph, &Roofline::a100(), &starts), "{name}");
            assert_eq!(Policy::Kitsune.groups(&graph, &Patterns::kitsune(), &Roofline::a100(), SHARED), starts[0], "{name}");
            let nodes = |groups: &[Group]| groups.iter().map(|group| group.nodes.clone()).collect::<Vec<_>>();
            [nodes(&starts[0]), nodes(&starts[1]), nodes(&best)]
        };
        let plain = groups(&text);
        for seed in 0..3 {
            assert_eq!(groups(&disguised(&text, seed)), plain, "{name}, seed {seed}");
        }
    }
}

#[test]
fn a_pipeline_that_cannot_be_is_cut() {
    let graph = graph("nerf");
    let starts = starts(&graph);
    let judge = Roofline { stages: 9, ..Roofline::a100() };
    let best = select::best(&graph, &judge, &starts);
    assert!(best.iter().all(|group| group.nodes.len() <= 9), "{best:?}");
    assert!(judge.total(&graph, &best) < judge.total(&graph, &starts[1]), "the kitsune plan has one pipeline of 24 stages");
    // Where nothing can run together, nothing does.
    assert_eq!(select::best(&graph, &Roofline { stages: 1, ..judge }, &starts), []);
}

#[test]
fn what_costs_more_than_it_saves_is_taken_apart() {
    // Without traffic or launches to save, a pipeline only costs its queues.
    let graph = graph("mgn");
    let judge = Roofline { memory: 1e30, launch: 0.0, simt: 1e30, ..Roofline::a100() };
    assert_eq!(select::best(&graph, &judge, &starts(&graph)), []);
}

#[test]
fn never_slower_under_the_model_of_stages() {
    let profile = builtin("a100-40").expect("a profile").expect("it parses");
    let machine = Machine::of(&profile).expect("numbers");
    let model = StageRoofline::new().expect("constants");
    let planner = Planner { machine: &machine, rates: &Modelled { model: &model, on: &profile } };
    println!("predicted, us: alone, kitsune, best");
    for name in ["dlrm", "mgn", "llama_ctx_t512", "llama_tok"] {
        let graph = graph(name);
        let [paper, best] =
            [Policy::Kitsune, Policy::Best].map(|policy| policy.groups(&graph, &Patterns::kitsune(), &planner, machine.shared));
        let total = |groups: &[Group]| {
            let alone = graph.ids().filter(|id| !groups.iter().any(|group| group.has(*id))).map(|id| planner.alone(&graph, id));
            1e6 * (alone.sum::<f64>() + groups.iter().map(|group| planner.seconds(&graph, group).expect("a pipeline")).sum::<f64>())
        };
        let times = [&[], paper.as_slice(), &best].map(total);
        println!("{name:16} {times:.1?}");
        assert!(times[2] < 0.99 * times[0].min(times[1]), "{name}: {times:?}");
        assert!(can_run(&graph, &best), "{name}");
    }
}
