//! The operators of papers 000 and 001 that `bench/settings.py` makes tables of: how many there are, and that each is an operator of ours.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use warpsight_generate::Operator;
use warpsight_generate::operators::parse_operator;
use warpsight_ir::Scalar;

fn listed() -> Value {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let output = Command::new("python3").current_dir(root).args(["bench/settings.py", "--list"]).output().expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Each operator with its kind, and with what its kind is by its own shape.
fn operators(list: &Value) -> Vec<(String, String, Operator)> {
    let text = |own: &Value, key: &str| own[key].as_str().expect("a text").to_owned();
    let one = |own: &Value| {
        let op = text(own, "op");
        let operator = parse_operator(&op).unwrap_or_else(|error| panic!("{op}: {error}"));
        (text(own, "kind"), op, operator)
    };
    list.as_array().expect("operators").iter().map(one).collect()
}

fn counts<'a>(kinds: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    kinds.fold(BTreeMap::new(), |mut counts, kind| {
        *counts.entry(kind).or_default() += 1;
        counts
    })
}

/// Paper 001 counts 96, 45 of them 1 × 1; which of the 46 of its networks it leaves out is not said.
#[test]
fn operators_of_paper_001_are_counted() {
    let all = operators(&listed()["001"]);
    let wanted = [("1x1", 46), ("3x3", 25), ("depthwise", 9), ("fully connected", 2), ("other", 15)];
    assert_eq!(counts(all.iter().map(|own| &*own.0)), BTreeMap::from(wanted));
    // By shape, not by what the list says of them.
    let window = |operator: &Operator| {
        let weight = operator.steps[0].inputs.iter().find(|input| &*input.name == "weight").expect("a weight");
        weight.shape[weight.shape.len() - 2..].to_vec()
    };
    for (kind, op, operator) in &all {
        assert_eq!(operator.steps[0].output.element, Scalar::F16, "{op}");
        let own = match &*operator.kind {
            "dwconv2d" => "depthwise",
            "conv2d" if window(operator) == [1, 1] => "1x1",
            "conv2d" if window(operator) == [3, 3] => "3x3",
            "conv2d" => "other",
            _ => "fully connected",
        };
        assert_eq!(kind, own, "{op}");
    }
    assert_eq!(all.iter().map(|own| &own.1).collect::<BTreeSet<_>>().len(), all.len(), "each once");
}

/// What is published beside our totals (figure 15 of paper 001) is what the script has, which keeps the totals of the page.
#[test]
fn totals_stand_beside_what_is_published() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let again =
        "import sys; sys.path.insert(0, 'bench'); import settings; print(settings.with_networks(settings.PAGE.read_text()), end='')";
    let output = Command::new("python3").current_dir(root).env("PYTHONDONTWRITEBYTECODE", "1").args(["-c", again]).output();
    let output = output.expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(format!("{root}/bench/settings.md")).expect("the page");
    assert_eq!(String::from_utf8_lossy(&output.stdout), page);
    let row = |device: &str| page.lines().find(|line| line.starts_with(device) && line.split('|').count() == 9).expect("a row");
    assert!(row("| sim:adreno630 |").ends_with("| 6.6 to 9.1 | up to 1.28 |"));
    assert!(row("| sim:adreno640 |").ends_with("| 6.6 to 9.1 | up to 1.21 |"));
    assert!(row("| sim:mali-g76 |").ends_with("| 2.3 to 2.8 | up to 1.37 |"));
    assert!(row("| sim:adreno740 |").ends_with("| - | - |"));
}

#[test]
fn operators_of_paper_000_are_of_nine_kinds() {
    let all = operators(&listed()["000"]);
    let wanted = ["Conv2Ds1", "Conv2Ds2", "Conv3D", "DeConv2Ds1", "DeConv2Ds2", "DwConv2D", "LayerNorm", "MatMul", "SoftMax"];
    let counted = counts(all.iter().map(|own| &*own.0));
    assert_eq!((counted.keys().copied().collect::<Vec<_>>(), all.len()), (wanted.to_vec(), 59));
    assert!(all.iter().all(|own| own.2.steps.iter().all(|step| step.output.element == Scalar::F32)));
}
