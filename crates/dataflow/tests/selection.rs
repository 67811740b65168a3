//! Which operators run as one, against table 2 of paper 003.

mod common;

use common::graph;
use warpsight_dataflow::{Graph, Group, NodeId, Patterns, Phase, TensorKind, group, select, vertical};
use warpsight_ir::Bytes;

/// Application, operators in pipelines and traffic that they keep on chip in per cent, as in table 2; how far off we may be.
const TABLE: [(&str, usize, f64, usize, f64); 11] = [
    ("dlrm", 17, 44.27, 1, 3.0),
    ("grc", 29, 57.20, 1, 3.0),
    ("mgn", 41, 57.76, 1, 3.0),
    ("nerf", 24, 98.58, 1, 3.0),
    ("llama_ctx_t512", 19, 49.07, 1, 5.0),
    ("llama_tok", 19, 0.07, 1, 3.0),
    ("train_dlrm", 46, 25.07, 4, 5.0),
    ("train_grc", 76, 40.06, 4, 5.0),
    ("train_mgn", 108, 40.26, 4, 5.0),
    ("train_nerf", 56, 45.47, 4, 10.0),
    // The paper's tokens are unknown: `more_tokens_keep_more` has what is missing.
    ("train_llama", 34, 45.16, 4, 21.0),
];

fn covered(groups: &[Group]) -> usize {
    groups.iter().map(|group| group.nodes.len()).sum()
}

/// Per cent of the traffic that groups keep on chip.
fn kept(graph: &Graph, groups: &[Group]) -> f64 {
    100.0 * (1.0 - group::traffic(graph, groups).bytes() / graph.bytes())
}

#[test]
fn pipelines_of_table_2() {
    let patterns = Patterns::kitsune();
    println!("predicted         operators: paper, ours   traffic kept on chip, %: paper, ours");
    for (name, operators, percent, near, close) in TABLE {
        let graph = graph(name);
        let groups = select::kitsune(&graph, &patterns);
        let (ours, cut) = (covered(&groups), kept(&graph, &groups));
        println!("{name:16} {operators:18} {ours:5} {percent:34.2} {cut:6.2}");
        assert!(ours.abs_diff(operators) <= near, "{name}: {ours} operators");
        assert!((cut - percent).abs() <= close, "{name}: {cut} %");
        for group in &groups {
            assert!(graph.is_convex(&group.nodes), "{name}: {group:?}");
        }
    }
}

/// As [`TABLE`], for vertical fusion.
const VERTICAL: [(&str, usize, f64); 11] = [
    ("dlrm", 17, 22.53),
    ("grc", 21, 23.98),
    ("mgn", 36, 56.54),
    ("nerf", 18, 40.19),
    ("llama_ctx_t512", 10, 10.04),
    ("llama_tok", 10, 0.01),
    ("train_dlrm", 18, 7.86),
    ("train_grc", 20, 9.06),
    ("train_mgn", 36, 21.76),
    ("train_nerf", 18, 14.13),
    ("train_llama", 10, 2.85),
];

/// Of a block on the A100: 164 KB of a multiprocessor without the 1 KB that is reserved.
const A100: Bytes = Bytes(166_912.0);

#[test]
fn kernels_of_table_2() {
    let patterns = Patterns::vertical();
    println!("predicted         operators: paper, ours   traffic kept on chip, %: paper, ours, ours without side outputs");
    for (name, operators, percent) in VERTICAL {
        let graph = graph(name);
        let vertical = vertical::vertical(&graph, &patterns, A100);
        let groups: Vec<Group> = vertical.groups.iter().map(|(group, _)| group.clone()).collect();
        let (ours, cut) = (covered(&groups), kept(&graph, &groups));
        println!("{name:16} {operators:18} {ours:5} {percent:34.2} {cut:6.2} {:6.2}", kept_without_side_outputs(&graph, &groups));
        assert!(ours.abs_diff(operators) <= 4, "{name}: {ours} operators");
        assert!((kept_without_side_outputs(&graph, &groups) - percent).abs() <= 4.0, "{name}: {cut} %");
        assert!(vertical.groups.iter().all(|(_, bytes)| bytes.fits()) && vertical.refusals.iter().all(|(_, bytes)| !bytes.fits()));
    }
}

/// As [`kept`], without the writes of what only the backward pass reads. This is how table 2 counts vertical fusion in training, though
/// section 6.4 says that activations are stored: with it we are within a point in four of five applications, and without it 7 below.
fn kept_without_side_outputs(graph: &Graph, groups: &[Group]) -> f64 {
    let side = |group: &Group| -> f64 {
        let late = |reader: &NodeId| graph.node(*reader).phase == Phase::Backward;
        let saved = group.external_outputs(graph).into_iter().map(|id| graph.tensor(id)).filter(|tensor| {
            let (inside, outside): (Vec<NodeId>, Vec<NodeId>) = tensor.consumers.iter().partition(|reader| group.has(**reader));
            tensor.kind == TensorKind::Act && inside.iter().any(|reader| !late(reader)) && outside.iter().all(late)
        });
        saved.map(|tensor| tensor.bytes() as f64).sum()
    };
    kept(graph, groups) + 100.0 * groups.iter().map(side).sum::<f64>() / graph.bytes().0
}
