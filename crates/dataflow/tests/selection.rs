//! Which operators run as one, against table 2 of paper 003.

mod common;

use common::{Builder, can_run, graph, scaled, text};
use warpsight_dataflow::select::vertical;
use warpsight_dataflow::{Group, NodeId, Patterns, View, group, select};
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
fn kept(graph: &View, groups: &[Group]) -> f64 {
    100.0 * (1.0 - group::traffic(graph, groups).bytes() / graph.bytes())
}

#[test]
fn pipelines_of_table_2() {
    let patterns = Patterns::kitsune();
    println!("predicted         operators: paper, ours   traffic kept on chip, %: paper, ours, ours without side outputs");
    for (name, operators, percent, near, close) in TABLE {
        let graph = graph(name);
        let groups = select::kitsune(&graph, &patterns);
        let (ours, cut) = (covered(&groups), kept(&graph, &groups));
        println!("{name:16} {operators:18} {ours:5} {percent:34.2} {cut:6.2} {:6.2}", kept_without_side_outputs(&graph, &groups));
        assert!(ours.abs_diff(operators) <= near, "{name}: {ours} operators");
        assert!((cut - percent).abs() <= close, "{name}: {cut} %");
        assert!(can_run(&graph, &groups), "{name}");
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
fn kept_without_side_outputs(graph: &View, groups: &[Group]) -> f64 {
    let side: Bytes = groups.iter().map(|group| group.side_outputs(graph)).sum();
    kept(graph, groups) + 100.0 * (side / graph.bytes())
}

#[test]
fn other_batches_have_the_same_pipelines() {
    let patterns = Patterns::kitsune();
    for (name, rows) in [("dlrm", vec![2048, 53248]), ("nerf", vec![196_608]), ("mgn", vec![240_000, 48_000]), ("train_grc", vec![327_660])]
    {
        let nodes = |graph: &View| select::kitsune(graph, &patterns).into_iter().map(|group| group.nodes).collect::<Vec<_>>();
        let plain = nodes(&graph(name));
        for (multiple, parts) in [(1, 4), (1, 2), (8, 1)] {
            let extents: Vec<(u64, u64)> = rows.iter().map(|&rows| (rows, rows * multiple / parts)).collect();
            let other = common::read(&scaled(&text(name), &extents)).expect("a graph");
            assert_eq!(
                covered(&select::kitsune(&other, &patterns)),
                plain.iter().map(Vec::len).sum::<usize>(),
                "{name}, {multiple}/{parts}"
            );
        }
    }
}

#[test]
fn more_tokens_keep_more() {
    // Weights and their gradients move once per step, however many tokens there are. The paper has 45.16 % and says neither how many tokens
    // nor whether it counts activations stored for the backward pass: with many, and without these, we have 44.
    let kept = |times: u64| {
        let other = common::read(&scaled(&text("train_llama"), &[(1536, 1536 * times)])).expect("a graph");
        let groups = select::kitsune(&other, &Patterns::kitsune());
        assert_eq!(covered(&groups), 37);
        let (stored, not) = (kept(&other, &groups), kept_without_side_outputs(&other, &groups));
        println!("predicted: {times} times 1536 tokens keep {stored:.2} %, without side outputs {not:.2} %");
        [stored, not]
    };
    let [one, four, many] = [1, 4, 64].map(kept);
    assert!(one[0] < four[0] && four[0] < many[0], "{one:?} {four:?} {many:?}");
    assert!((many[0] - 45.16).abs() <= 10.0 && (many[1] - 45.16).abs() <= 2.0, "{many:?}");
}

#[test]
fn narrower_layers_fit_into_shared_memory() {
    let operators = |name: &str, extents: &[(u64, u64)], shared: f64| {
        let other = common::read(&scaled(&text(name), extents)).expect("a graph");
        let vertical = vertical::vertical(&other, &Patterns::vertical(), Bytes(shared));
        (vertical.groups.len(), vertical.groups.iter().map(|(group, _)| group.nodes.len()).sum::<usize>())
    };
    // A quarter of the width: whole perceptrons instead of pairs.
    assert_eq!(operators("grc", &[], A100.0), (10, 20));
    assert_eq!(operators("grc", &[(512, 128), (1024, 256), (1536, 384)], A100.0), (5, 29));
    // The block of an H100 has 227 KB, which hold 256 columns and their weights.
    assert_eq!(operators("nerf", &[], A100.0), (9, 18));
    assert_eq!(operators("nerf", &[], 232_448.0), (6, 19));
}

#[test]
fn bytes_of_a_kernel() {
    let mut b = Builder::default();
    let x = b.input(&[4096, 96], "input");
    let y = b.linear(&x, 128);
    let y = b.simt(&[&y], 1.0);
    let y = b.linear(&y, 64);
    b.norm(&y);
    let graph = b.graph();
    let nodes: Vec<NodeId> = graph.ids().collect();
    let all = vertical::footprint(&graph, &nodes, A100);
    // 64 rows of two bytes; the first product streams 32 of both operands, twice; the second one holds 64 · 128 weights and reads a tile
    // of 128 columns, writes one of 64; the normalisation reads and writes 64.
    assert_eq!((all.rows, all.staging, all.weights), (64, Bytes(2.0 * 32.0 * (64.0 + 128.0) * 2.0), Bytes(64.0 * 128.0 * 2.0)));
    assert_eq!(all.tiles, Bytes(64.0 * (128.0 + 64.0) * 2.0));
    assert_eq!(all.to_string(), "64 rows: weights 16384 B + tiles 24576 B + staging 24576 B = 65536 B ≤ 166912 B");
    let limit = |bytes: f64| vertical::vertical(&graph, &Patterns::vertical(), Bytes(bytes));
    assert_eq!(limit(65536.0).groups.len(), 1);
    let less = limit(65535.0);
    assert!(less.refusals.iter().any(|(refused, bytes)| *refused == nodes && bytes.bytes() == Bytes(65536.0)), "{less:?}");
}

#[test]
fn graphs_of_no_application() {
    let groups = |b: &Builder| {
        let graph = b.graph();
        let groups = select::kitsune(&graph, &Patterns::kitsune());
        assert!(can_run(&graph, &groups));
        groups.iter().map(|group| group.nodes.len()).collect::<Vec<_>>()
    };
    // A transformer of 640 columns with 10 heads: the gated network with its normalisation, and the residual behind it.
    let mut b = Builder::default();
    let x = b.input(&[300, 640], "input");
    let h = b.norm(&x);
    let [q, k, v] = [(); 3].map(|()| b.linear(&h, 640));
    let scores = b.node("tensor", &[&q, &k], &[10, 300, 300], 2.0 * 10.0 * 300.0 * 300.0 * 64.0);
    let scores = b.simt(&[&scores], 5.0);
    let mixed = b.node("tensor", &[&scores, &v], &[300, 640], 2.0 * 10.0 * 300.0 * 300.0 * 64.0);
    let mixed = b.linear(&mixed, 640);
    let x = b.simt(&[&x, &mixed], 1.0);
    let h = b.norm(&x);
    let (gate, up) = (b.linear(&h, 1792), b.linear(&h, 1792));
    let gate = b.simt(&[&gate], 1.0);
    let both = b.simt(&[&gate, &up], 1.0);
    let down = b.linear(&both, 640);
    b.simt(&[&x, &down], 1.0);
    assert_eq!(groups(&b), [7]);
    // A perceptron in the shape of a U, with a connection from the way down to the way up.
    let mut b = Builder::default();
    let x = b.input(&[5000, 48], "input");
    let mut down = vec![x];
    for columns in [160, 80, 40] {
        let y = b.linear(&down[down.len() - 1], columns);
        down.push(b.simt(&[&y], 1.0));
    }
    let y = b.linear(&down[3], 80);
    let y = b.simt(&[&y], 1.0);
    let y = b.concat(&[&y, &down[2]]);
    let y = b.linear(&y, 160);
    let y = b.simt(&[&y], 1.0);
    let y = b.concat(&[&y, &down[1]]);
    b.linear(&y, 48);
    assert_eq!(groups(&b), [13]);
    // A diamond.
    let mut b = Builder::default();
    let x = b.input(&[5000, 48], "input");
    let y = b.linear(&x, 96);
    let y = b.simt(&[&y], 1.0);
    let sides = [(); 2].map(|()| {
        let side = b.linear(&y, 96);
        b.simt(&[&side], 1.0)
    });
    let y = b.simt(&[&sides[0], &sides[1]], 1.0);
    b.linear(&y, 24);
    assert_eq!(groups(&b), [8]);
}
