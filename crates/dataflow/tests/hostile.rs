//! Graphs that no application has: one tensor with hundreds of readers, long chains, complete bipartite graphs, trees.

mod common;

use common::{Builder, can_run};
use std::cell::Cell;
use warpsight_dataflow::{Group, Judge, Modelled, NodeId, Plan, Platform, Policy, View, planned, select};
use warpsight_ir::profile::builtin;
use warpsight_predict::StageRoofline;

fn plan(graph: &View, policy: Policy) -> Plan {
    let profile = builtin("a100-40").expect("a profile").expect("it parses");
    let platform = Platform::of(&profile).expect("numbers");
    let model = StageRoofline::new().expect("constants");
    planned(graph, policy, &platform, &Modelled { model: &model, on: &profile }).expect("a plan")
}

/// One operator after each of these.
fn each(b: &mut Builder, inputs: &[String]) -> Vec<String> {
    inputs.iter().map(|input| b.simt(&[input], 1.0)).collect()
}

fn shape(name: &str, count: usize) -> View {
    let mut b = Builder::default();
    let x = b.input(&[4096, 64], "input");
    let copies = vec![x.clone(); count];
    match name {
        "independent" => drop(each(&mut b, &copies)),
        "chain" => drop((0..count).fold(x, |x, _| b.simt(&[&x], 1.0))),
        "readers" => {
            let read = b.simt(&[&x], 1.0);
            each(&mut b, &vec![read; count]);
        }
        "inputs" => {
            let all = each(&mut b, &copies);
            b.simt(&all.iter().map(String::as_str).collect::<Vec<_>>(), 1.0);
        }
        "bipartite" => {
            let all = each(&mut b, &copies);
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            (0..count).for_each(|_| drop(b.simt(&all, 1.0)));
        }
        _ => {
            let mut level = vec![x];
            while level.len() < count {
                level = each(&mut b, &[level.clone(), level].concat());
            }
        }
    }
    b.graph()
}

#[test]
fn every_shape_is_planned_and_never_slower_than_operator_by_operator() {
    for (name, count) in [("independent", 500), ("chain", 1000), ("readers", 150), ("inputs", 300), ("bipartite", 12), ("tree", 128)] {
        let graph = shape(name, count);
        for policy in [Policy::Kitsune, Policy::Best] {
            let plan = plan(&graph, policy);
            let groups: Vec<Group> = plan.together().cloned().collect();
            let inside: usize = groups.iter().map(|group| group.nodes.len()).sum();
            assert_eq!(inside + plan.rest.len(), graph.nodes.len(), "{name}");
            assert!(plan.times.dataflow.eager <= plan.times.bsp.eager, "{name}");
            assert!(graph.nodes.len() > 400 || can_run(&graph, &groups), "{name}");
        }
    }
}

/// Launches and traffic, with a count of what it was asked.
struct Counting(Cell<usize>);

impl Judge for Counting {
    fn seconds(&self, graph: &View, group: &Group) -> Option<f64> {
        Some(self.bound(graph, group))
    }

    fn alone(&self, graph: &View, node: NodeId) -> f64 {
        2.5e-6 + (graph.node(node).read + graph.node(node).written).0 / 1.4e12
    }

    fn bound(&self, graph: &View, group: &Group) -> f64 {
        self.0.set(self.0.get() + group.nodes.len());
        2.5e-6 + group.traffic(graph).bytes().0 / 1.4e12
    }
}

/// Each reader borders on the group of the others, so that all pairs of them were looked at for each that joined.
#[test]
fn what_a_judge_is_asked_grows_with_the_readers() {
    let asked = |count: usize| {
        let judge = Counting(Cell::new(0));
        select::best(&shape("readers", count), &judge, &[]);
        judge.0.get()
    };
    // Twice the readers were asked for eight times as many operators.
    let (few, many) = (asked(600), asked(1200));
    assert!(many * 2 < 5 * few, "{few} and {many} operators");
}

/// Fingerprints went one operator further at a time; no step calls itself.
#[test]
fn long_chains_are_read() {
    let work = || (shape("chain", 20_000).nodes.len(), shape("tree", 4096).nodes.len());
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(work).expect("a thread");
    assert_eq!(thread.join().expect("no overflow"), (20_000, 8190));
}
