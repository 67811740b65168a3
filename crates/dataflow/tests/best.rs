//! Groups by modelled gain, under a judge of this file: a roofline.

mod common;

use common::{ALL, Builder, can_run, disguised, graph, text};
use std::cell::Cell;
use warpsight_dataflow::select::vertical;
use warpsight_dataflow::{Class, Group, Judge, Modelled, NodeId, Patterns, Platform, Policy, View, planned, select};
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
    /// Operators of all groups that it was asked for.
    asked: Cell<usize>,
}

impl Roofline {
    fn a100() -> Self {
        Self { tensor: 312e12, simt: 19.5e12, memory: 1.4e12, launch: 2.5e-6, stages: 40, bounds: true, asked: Cell::new(0) }
    }

    fn units(&self, graph: &View, nodes: &[NodeId]) -> f64 {
        let of = |tensor: bool| {
            let nodes = nodes.iter().map(|id| graph.node(*id)).filter(|node| (node.class == Class::Tensor) == tensor);
            nodes.map(|node| node.flops).sum::<f64>()
        };
        (of(true) / self.tensor).max(of(false) / self.simt)
    }

    fn total(&self, graph: &View, groups: &[Group]) -> f64 {
        let alone = graph.ids().filter(|id| !groups.iter().any(|group| group.has(*id)));
        let alone: f64 = alone.map(|id| self.alone(graph, id)).sum();
        alone + groups.iter().map(|group| self.seconds(graph, group).unwrap_or(f64::INFINITY)).sum::<f64>()
    }
}

impl Judge for Roofline {
    fn seconds(&self, graph: &View, group: &Group) -> Option<f64> {
        self.asked.set(self.asked.get() + group.nodes.len());
        assert!(graph.is_convex(&group.nodes), "{group:?}");
        let gathers = group.nodes.iter().any(|id| graph.node(*id).class == Class::Gather);
        let moved = group.traffic(graph).bytes().0 / self.memory;
        // Queues cost a tenth.
        let seconds = moved.max(1.1 * self.units(graph, &group.nodes)) + self.launch;
        (!gathers && group.nodes.len() <= self.stages).then_some(seconds)
    }

    fn bound(&self, graph: &View, group: &Group) -> f64 {
        // Of memory alone.
        if self.bounds { group.traffic(graph).bytes().0 / self.memory } else { 0.0 }
    }

    fn alone(&self, graph: &View, node: NodeId) -> f64 {
        let moved = (graph.node(node).read + graph.node(node).written).0 / self.memory;
        moved.max(self.units(graph, &[node])) + self.launch
    }
}

/// Of a block on the A100.
const SHARED: Bytes = Bytes(166_912.0);

fn starts(graph: &View) -> [Vec<Group>; 2] {
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
        println!("{name:16} {times:?}, asked for {asked} operators, {took:?}");
        let others = times[..3].iter().copied().fold(f64::INFINITY, f64::min);
        assert!(times[3] <= others, "{name}: {times:?}");
        // The starting points on top of what may be asked.
        assert!(asked <= 2000 + 2 * graph.nodes.len(), "{name}: {asked} operators");
        // Bounds save questions and change nothing else, as long as it may ask.
        let without = Roofline { bounds: false, ..Roofline::a100() };
        let same = select::best(&graph, &without, &starts) == best;
        assert!(same || without.asked.get() > 1900, "{name}: {asked} operators, {} without bounds", without.asked.get());
        enough += usize::from(same);
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
            let graph = common::read(text).expect("a graph");
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

/// Made up graphs: chains and perceptrons of random widths, joined at random.
fn random(seed: u64) -> View {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut b = Builder::default();
    let rows = 1 << rng.u32(8..18);
    let width = |rng: &mut fastrand::Rng| 16 * rng.u64(1..40);
    let mut open = vec![b.input(&[rows, width(&mut rng)], "input")];
    for _ in 0..rng.usize(6..30) {
        let x = open[rng.usize(0..open.len())].clone();
        let y = match rng.u32(0..6) {
            0 | 1 => b.linear(&x, width(&mut rng)),
            2 | 3 => b.simt(&[&x], f64::from(rng.u32(1..4))),
            4 => b.norm(&x),
            _ => {
                let other = open[rng.usize(0..open.len())].clone();
                b.concat(&[&x, &other])
            }
        };
        open.push(y);
    }
    b.graph()
}

#[test]
fn never_slower_under_the_model_of_stages() {
    let profile = builtin("a100-40").expect("a profile").expect("it parses");
    let platform = Platform::of(&profile).expect("numbers");
    let model = StageRoofline::new().expect("constants");
    let rates = Modelled { model: &model, on: &profile };
    let plans = |graph: &View| [Policy::Kitsune, Policy::Best].map(|policy| planned(graph, policy, &platform, &rates).expect("a plan"));
    // Of a plan: never slower than the others. What is saved against the best of them, in which term most.
    let saved = |name: &str, graph: &View| {
        let [paper, best] = plans(graph);
        let others = [&paper.times.bsp, &paper.times.vertical, &paper.times.dataflow];
        let least = others.into_iter().reduce(|a, b| if b.eager < a.eager { b } else { a }).expect("three");
        let own = &best.times.dataflow;
        assert!(own.eager.0 <= least.eager.0 * (1.0 + 1e-12), "{name}: {:?} {:?}", own.eager, least.eager);
        let groups: Vec<Group> =
            best.groups.iter().map(|p| p.group.clone()).chain(best.kernels.iter().map(|p| p.fused.group.clone())).collect();
        assert!(can_run(graph, &groups), "{name}");
        let (term, seconds) = least.terms(&platform).most_saved(&own.terms(&platform));
        let us = |s: warpsight_ir::Seconds| 1e6 * s.0;
        println!(
            "predicted: {name:16} {:9.1} {:9.1} {:9.1} best {:9.1} µs, saves {:8.1} µs of {term}; {} pipelines, {} kernels",
            us(others[0].eager),
            us(others[1].eager),
            us(others[2].eager),
            us(own.eager),
            us(seconds),
            best.groups.len(),
            best.kernels.len()
        );
        (1.0 - own.eager / least.eager, term, best)
    };
    let mut strictly = 0;
    for (name, _) in ALL {
        let (gain, term, best) = saved(name, &graph(name));
        strictly += usize::from(gain > 0.01 && !term.is_empty());
        // The same plan, whatever things are called and wherever they stand.
        if name.len() < 11 {
            let other = common::read(&disguised(&text(name), 5)).expect("a graph");
            let again = plans(&other)[1].times.dataflow.eager;
            assert_eq!(again, best.times.dataflow.eager, "{name}");
        }
    }
    assert_eq!(strictly, ALL.len());
    let mut kernels = 0;
    for seed in 0..40 {
        let (_, _, best) = saved(&format!("seed {seed}"), &random(seed));
        kernels += usize::from(!best.kernels.is_empty());
    }
    println!("{kernels} of 40 made up graphs have kernels");
    // Few rows: a pipeline would be filling all the while.
    let mut b = Builder::default();
    let mut x = b.input(&[512, 64], "input");
    for _ in 0..6 {
        x = b.linear(&x, 64);
        x = b.simt(&[&x], 1.0);
    }
    let (_, _, best) = saved("short", &b.graph());
    assert_eq!(best.kernels.len(), 1);
}

/// A layer after another: what a judge may be asked for grows with the graph, so that thousands of operators become as few launches each.
#[test]
fn long_graphs_are_planned_as_well_as_short_ones() {
    let launches = |layers: usize| {
        let mut b = Builder::default();
        let mut x = b.input(&[4096, 256], "input");
        for _ in 0..layers {
            x = b.linear(&x, 256);
            x = b.simt(&[&x], 1.0);
        }
        let graph = b.graph();
        let groups = select::best(&graph, &Roofline::a100(), &[]);
        let inside: usize = groups.iter().map(|group| group.nodes.len()).sum();
        (groups.len() + graph.nodes.len() - inside) as f64 / layers as f64
    };
    let (short, long) = (launches(75), launches(1500));
    assert!(long < 1.2 * short, "{long} launches a layer, {short} in the short one");
}
