//! The language of pattern files: both sides of each threshold, errors, and what must not be grouped.

mod common;

use common::{Builder, can_run};
use warpsight_dataflow::{NodeId, Patterns, View, select};

const KITSUNE: &str = include_str!("../patterns/kitsune.toml");
const VERTICAL: &str = include_str!("../patterns/vertical.toml");

const NONE: [usize; 0] = [];

/// Sizes of the groups that a file makes.
fn sizes(patterns: &Patterns, graph: &View) -> Vec<usize> {
    select::kitsune(graph, patterns).iter().map(|group| group.nodes.len()).collect()
}

/// x · weights, an operator, · weights.
fn perceptron(rows: u64, columns: [u64; 3], each: f64, scale: bool) -> View {
    let mut b = Builder::default();
    let x = b.input(&[rows, columns[0]], "input");
    let y = b.linear(&x, columns[1]);
    let scale = scale.then(|| b.input(&[columns[1]], "param"));
    let inputs: Vec<&str> = std::iter::once(y.as_str()).chain(scale.as_deref()).collect();
    let y = b.simt(&inputs, each);
    b.linear(&y, columns[2]);
    b.graph()
}

#[test]
fn products_that_are_bulk_synchronous_friendly() {
    // n³ products have n/3 operations per byte of two-byte operands.
    let square = |n: u64| perceptron(n, [n; 3], 1.0, false);
    let kitsune = Patterns::kitsune();
    assert_eq!(sizes(&kitsune, &square(3 * 5016 - 8)), [3]);
    assert_eq!(sizes(&kitsune, &square(3 * 5016)), NONE);
    let vertical = Patterns::vertical();
    assert_eq!(sizes(&vertical, &square(3 * 608 - 8)), [3]);
    assert_eq!(sizes(&vertical, &square(3 * 608)), NONE);
}

#[test]
fn products_smaller_than_a_matrix_instruction() {
    let vertical = Patterns::vertical();
    assert_eq!(sizes(&vertical, &perceptron(16, [64, 64, 64], 1.0, false)), [3]);
    assert_eq!(sizes(&vertical, &perceptron(15, [64, 64, 64], 1.0, false)), NONE);
    assert_eq!(sizes(&vertical, &perceptron(64, [64, 64, 8], 1.0, false)), [3]);
    assert_eq!(sizes(&vertical, &perceptron(64, [64, 64, 7], 1.0, false)), [2]);
    // Kitsune takes small ones too.
    assert_eq!(sizes(&Patterns::kitsune(), &perceptron(15, [64, 64, 7], 1.0, false)), [3]);
}

#[test]
fn normalisations_are_told_from_scales() {
    let kitsune = Patterns::kitsune();
    assert_eq!(sizes(&kitsune, &perceptron(64, [64; 3], 3.0, true)), [3], "a scale and a shift between two products");
    assert_eq!(sizes(&kitsune, &perceptron(64, [64; 3], 4.0, true)), NONE, "a normalisation ends a perceptron or begins one");
    assert_eq!(sizes(&kitsune, &perceptron(64, [64; 3], 12.0, false)), [3], "an activation of many operations");
}

#[test]
fn one_or_two_operators_between_products() {
    for (between, expected) in [(0, vec![]), (1, vec![3]), (2, vec![4]), (3, vec![])] {
        let mut b = Builder::default();
        let x = b.input(&[64, 64], "input");
        let mut y = b.linear(&x, 64);
        for _ in 0..between {
            y = b.simt(&[&y], 1.0);
        }
        b.linear(&y, 64);
        assert_eq!(sizes(&Patterns::kitsune(), &b.graph()), expected, "{between}");
    }
}

#[test]
fn vertical_fusion_has_one_reader() {
    for (readers, expected) in [(1, vec![2]), (2, vec![])] {
        let mut b = Builder::default();
        let x = b.input(&[64, 64], "input");
        let y = b.linear(&x, 64);
        for _ in 0..readers {
            b.simt(&[&y], 1.0);
        }
        assert_eq!(sizes(&Patterns::vertical(), &b.graph()), expected, "{readers}");
    }
}

/// A backward pass: the gradient of an activation, read by these products: for the input, for the weights, and a sum of its columns.
fn gradients(input: bool, weights: bool) -> View {
    let mut b = Builder::default();
    let x = b.input(&[512, 96], "input");
    let x = b.simt(&[&x], 1.0);
    let y = b.linear(&x, 48);
    let kept = b.simt(&[&y], 1.0);
    b.backward = true;
    let g = b.input(&[512, 48], "input");
    let g = b.simt(&[&g, &kept], 1.0);
    if input {
        b.linear(&g, 96);
    }
    if weights {
        b.node("tensor", &[&g, &x], &[48, 96], 2.0 * 512.0 * 48.0 * 96.0);
    }
    b.node("reduce", &[&g], &[1, 48], 48.0);
    b.graph()
}

#[test]
fn a_gradient_feeds_two_products() {
    let kitsune = Patterns::kitsune();
    assert_eq!(sizes(&kitsune, &gradients(true, true)), [4]);
    assert_eq!(sizes(&kitsune, &gradients(true, false)), NONE);
    assert_eq!(sizes(&kitsune, &gradients(false, true)), NONE);
}

#[test]
fn concatenations_of_what_was_gathered() {
    // Rows from other rows, or each row by itself (an index operand or none, as many rows or others).
    let graph = |rows: u64, index: bool, class: &str| {
        let mut b = Builder::default();
        let (table, index_of) = (b.input(&[rows, 700], "input"), b.input(&[512], "input"));
        let inputs: Vec<&str> = [table.as_str()].into_iter().chain(index.then_some(index_of.as_str())).collect();
        let found = b.node(class, &inputs, &[512, 64], 0.0);
        let x = b.input(&[512, 32], "input");
        let both = b.concat(&[&x, &found]);
        let y = b.linear(&both, 64);
        let y = b.simt(&[&y], 1.0);
        b.linear(&y, 64);
        b.graph()
    };
    let kitsune = Patterns::kitsune();
    assert_eq!(sizes(&kitsune, &graph(512, false, "gather")), [4], "each row by itself");
    assert_eq!(sizes(&kitsune, &graph(513, false, "gather")), [3], "another number of rows");
    assert_eq!(sizes(&kitsune, &graph(512, true, "gather")), [3], "an index for each row");
}

#[test]
fn batches_of_products_are_in_no_group() {
    let graph = |batched: bool| {
        let mut b = Builder::default();
        let x = b.input(&[64, 64], "input");
        let y = b.linear(&x, 64);
        let y = b.simt(&[&y], 1.0);
        if batched {
            let w = b.input(&[4, 16, 64], "param");
            b.node("tensor", &[&y, &w], &[4, 64, 64], 2.0 * 4.0 * 64.0 * 64.0 * 16.0);
        } else {
            b.linear(&y, 64);
        }
        b.graph()
    };
    assert_eq!(sizes(&Patterns::kitsune(), &graph(false)), [3]);
    assert_eq!(sizes(&Patterns::kitsune(), &graph(true)), NONE);
}

const LETTERS: &str = "[letter.point]\nclass = \"simt\"\nrow_wise = false\ncite = \"-\"\n[letter.norm]\nclass = \"simt\"\nrow_wise = true\ncite = \"-\"\n\
    [letter.sum]\nclass = \"reduce\"\ncite = \"-\"\n[letter.gather]\nclass = \"gather\"\ncite = \"-\"\n";

fn one_pattern(chain: &str) -> Patterns {
    Patterns::read(&format!("{LETTERS}[[pattern]]\nname = \"p\"\nchain = \"{chain}\"\ncite = \"-\"\n")).expect("a pattern file")
}

#[test]
fn a_path_that_leaves_and_returns_cuts_a_group() {
    // a → b → d and a → gather → d.
    let mut b = Builder::default();
    let x = b.input(&[64, 64], "input");
    let a = b.simt(&[&x], 1.0);
    let short = b.simt(&[&a], 1.0);
    let long = b.node("gather", &[&a], &[64, 64], 0.0);
    b.simt(&[&short, &long], 2.0);
    let graph = b.graph();
    let groups = select::kitsune(&graph, &one_pattern("point+"));
    assert!(can_run(&graph, &groups));
    let flops: Vec<Vec<f64>> = groups.iter().map(|group| group.nodes.iter().map(|id| graph.node(*id).flops / 4096.0).collect()).collect();
    assert_eq!(flops, [[1.0, 1.0]], "the last one waits for the gather");
    // All four are convex.
    assert_eq!(sizes(&one_pattern("(point | gather)+"), &graph), [4]);
}

#[test]
fn groups_do_not_wait_for_each_other() {
    // Two chains, each convex, whose ends need the other one's beginning.
    let mut b = Builder::default();
    let x = b.input(&[64, 64], "input");
    let first = b.simt(&[&x], 1.0);
    let second = b.norm(&x);
    b.node("reduce", &[&first, &second], &[64, 1], 1.0);
    b.node("gather", &[&second, &first], &[64, 64], 0.0);
    let graph = b.graph();
    for chain in ["point sum", "norm gather"] {
        assert_eq!(sizes(&one_pattern(chain), &graph), [2]);
    }
    let groups = select::kitsune(&graph, &one_pattern("point sum | norm gather"));
    assert!(can_run(&graph, &groups), "{groups:?}");
    assert_eq!(groups.len(), 1);
}

#[test]
fn what_is_wrong_is_named() {
    let error = |from: &str, to: &str| {
        assert_eq!(KITSUNE.matches(from).count(), 1, "{from}");
        match Patterns::read(&KITSUNE.replace(from, to)) {
            Ok(_) => "fine".to_owned(),
            Err(error) => error.to_string(),
        }
    };
    let place = |text: &str| KITSUNE[..KITSUNE.find(text).expect("there")].matches('\n').count() + 1;
    let chain = "chain = \"fork (linear | gradient | reduce)\"";
    let line = place(chain);
    assert_eq!(
        error(chain, "chain = \"fork (linear | dense)\""),
        format!("line {line}, column 25: pattern `gradient`, chain: a letter of the file was expected, found dense")
    );
    assert_eq!(
        error(chain, "chain = \"fork (linear\""),
        format!("line {line}, column 22: pattern `gradient`, chain: `)` was expected, found the end")
    );
    assert_eq!(
        error(chain, "chain = \"fork?\""),
        format!("line {line}, column 10: pattern `gradient`, chain: it matches no operator at all")
    );
    let reads = "reads = [\"gather\"]";
    assert_eq!(
        error(reads, "reads = [\"gatherer\"]"),
        format!("line {}, column 10: letter.gathered.reads: there is no letter `gatherer`", place(reads))
    );
    assert_eq!(
        error(reads, "reads = [\"fork\"]"),
        format!("line {}, column 10: letter.gathered.reads: letter `fork` has neighbours itself", place(reads))
    );
    let cite = "cite = \"figure 2b\"";
    assert_eq!(
        error(cite, "cite = \" \""),
        format!("line {}, column 8: pattern `reduction`.cite: where in the paper does this come from?", place(cite))
    );
    for (from, to, names) in [
        ("product = \"none\"", "products = \"none\"", ["unknown field `products`", "line"]),
        ("cite = \"figure 2b\"", "", ["missing field `cite`", "line"]),
        ("min_intensity = 5016.0", "min_intensity = \"high\"", ["min_intensity", "line"]),
        ("class = \"reduce\"", "class = \"sum\"", ["unknown variant `sum`", "line"]),
    ] {
        let found = error(from, to);
        assert!(names.iter().all(|name| found.contains(name)), "{found}");
    }
    assert!(
        error("min_intensity = 5016.0", "min_intensity = nan").contains("letter.friendly.min_intensity: it is no number of operations")
    );
    assert_eq!(error(cite, "cite = \"here\""), "fine");
}

#[test]
fn files_name_no_application_and_no_operator() {
    // Names of operators in the examples that are not words of the language or of the paper's prose.
    for text in [KITSUNE, VERTICAL] {
        let entries: String =
            text.lines().filter(|line| !line.starts_with('#') && !line.starts_with("cite")).collect::<Vec<_>>().join("\n");
        for word in
            ["relu", "silu", "addmm", "softmax", "bmm", "layernorm", "threshold", "dlrm", "nerf", "graph", "mesh", "llama", "embedding"]
        {
            assert!(!entries.to_lowercase().contains(word), "{word}");
        }
    }
    // Each entry is used by some example.
    let (patterns, mut used) = (Patterns::kitsune(), std::collections::BTreeSet::new());
    for (name, _) in common::ALL {
        let graph = common::graph(name);
        used.extend(graph.ids().flat_map(|id: NodeId| patterns.letters(&graph, id).into_iter().map(str::to_owned).collect::<Vec<_>>()));
    }
    let unused = ["friendly"];
    let all = KITSUNE.lines().filter_map(|line| line.strip_prefix("[letter.")).map(|line| line.trim_end_matches(']'));
    let missing: Vec<&str> = all.filter(|letter| !used.contains(*letter)).collect();
    assert_eq!(missing, unused, "no application of the paper has a product of 5,016 operations per byte");
}
