//! One folder per operator that tells its story: the configuration that is chosen (`config.json`), the expression, the lowered Program,
//! its OpenCL C and CUDA C++, and what the first model predicts. A change of one shows in the others.
//!
//! `UPDATE_GOLDEN=1 cargo test -p warpsight-engine --test goldens` writes what follows from the configurations anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use warpsight_generate::candidates::candidates;
use warpsight_generate::expr::{Operator, Role, ScalarExpr};
use warpsight_generate::operators::{Pool, PoolKind, Window, elementwise, global_average_pool, parse_operator, pool, tensor};
use warpsight_generate::{Lowering, Pass, Passes, ScheduleFamily};
use warpsight_ir::{BinaryOp, Config, CostModel, Family, Knob, KnobValue, Name, Scalar, Seconds, profile};
use warpsight_predict::KernelModel;

/// A folder and the operator whose story it tells; those of several steps have a folder for each.
fn operators() -> Vec<(&'static str, Operator)> {
    let parse = |text| parse_operator(text).expect("an operator");
    let maxpool = Pool {
        kind: PoolKind::Max,
        batch: 1,
        channels: 8,
        spatial: vec![Window { stride: 2, pad_before: 1, pad_after: 1, ..Window::new(15, 3) }; 2],
        ceil_mode: false,
        element: Scalar::F32,
    };
    let sequence = |name, operator| candidates(&operator).into_iter().find(|own| own.name == name).expect("it has one").operator;
    // The gate of a squeeze-and-excite block: one factor per channel.
    let factors =
        [tensor("input", &[1, 16, 9, 14], Scalar::F32, Role::Activation), tensor("gate", &[1, 16, 1, 1], Scalar::F32, Role::Activation)];
    let multiply = |x: &[ScalarExpr], _: &[_]| ScalarExpr::binary(BinaryOp::Mul, x[0].clone(), x[1].clone());
    vec![
        ("conv2d-3x3", parse("conv2d n=1 c=6 h=14 w=14 k=8 r=3 s=3 stride=1 pad=1")),
        ("conv2d-1x1-images", parse("conv2d n=1 c=16 h=7 w=9 k=24 r=1 s=1")),
        // Of ten channels two trips copy a texel at each place; of the last one two channels are read.
        ("conv2d-copied-image", parse("conv2d n=1 c=10 h=13 w=15 k=32 r=3 s=3 stride=1 pad=1")),
        ("conv2d-1x1-halves", parse("conv2d n=1 c=16 h=7 w=9 k=24 r=1 s=1 dtype=f16")),
        ("dwconv2d", parse("dwconv2d n=1 c=8 h=13 w=16 r=3 s=3 stride=1 pad=1")),
        // Rows and columns end with the image: no bound is asked.
        ("dwconv2d-sampler", parse("dwconv2d n=1 c=4 h=13 w=16 r=3 s=3 stride=1 pad=1")),
        // A group goes twice, the second time beyond the end along some of its lanes, and keeps its taps.
        ("dwconv2d-rounds", parse("dwconv2d n=1 c=8 h=13 w=20 r=3 s=3 stride=1 pad=1")),
        ("matmul", parse("matmul m=24 n=40 k=32 weights=none")),
        // The two patterns of paper 000's figure 7.
        ("matmul-column", parse("matmul m=24 n=40 k=32")),
        ("matmul-block4", parse("matmul m=24 n=40 k=32")),
        ("matmul-ahead", parse("matmul m=40 n=64 k=40 weights=none")),
        ("matmul-row", parse("matmul m=1 n=40 k=200 weights=none")),
        ("softmax", parse("softmax n=30 c=10")),
        ("softmax-rows", sequence("rows", parse("softmax n=30 c=70"))),
        ("layernorm-accumulators", sequence("rows", parse("layernorm n=30 c=70"))),
        ("softmax-kept", sequence("rows_kept", parse("softmax n=30 c=70"))),
        // Four lanes hold 37 columns in three vectors of four each: the last one has one column.
        ("matmul-softmax", sequence("held", parse("matmul m=6 n=37 k=20 softmax=1 weights=none"))),
        ("winograd", sequence("winograd2", parse("conv2d n=1 c=8 h=7 w=13 k=12 r=3 s=3 stride=1 pad=1"))),
        ("deconv2d", parse("deconv2d n=1 c=6 h=5 w=7 k=8 r=3 s=3 stride=2 pad=1")),
        ("global_average_pool", global_average_pool(&[1, 16, 7, 7], Scalar::F32).expect("an operator")),
        ("maxpool", pool(&maxpool).expect("an operator")),
        ("multiply", elementwise("multiply", &factors, &[1, 16, 9, 14], Scalar::F32, multiply).expect("an operator")),
    ]
}

#[test]
fn stories_hold() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut differences = vec![];
    let mut told = vec![];
    for (name, operator) in operators() {
        let many = operator.steps.len() > 1;
        for (n, expr) in operator.steps.into_iter().enumerate() {
            let folder = if many { root.join(name).join(format!("{}-{}", n + 1, expr.name)) } else { root.join(name) };
            let patterns = matches!(name, "matmul-column" | "matmul-block4");
            let passes = Passes::default().set(Pass::Patterns, patterns).set(Pass::Sampler, name == "dwconv2d-sampler");
            for (file, text) in story(&ScheduleFamily::by(expr, passes), &folder) {
                differences.extend(compare(&folder.join(file), &text));
            }
            told.push(folder);
        }
    }
    for folder in folders(&root) {
        assert!(told.contains(&folder), "{} belongs to no operator", folder.display());
    }
    assert!(differences.is_empty(), "{}\nUPDATE_GOLDEN=1 writes them anew", differences.join("\n"));
}

/// What follows from a configuration: the other files of its folder.
fn story(family: &ScheduleFamily, folder: &Path) -> Vec<(&'static str, String)> {
    let path = folder.join("config.json");
    let shown = path.display();
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{shown}: {error}; its knobs:\n{}", knobs_of(family)));
    let knobs: BTreeMap<Name, KnobValue> = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{shown}: {error}"));
    let config = family.space().parse(&knobs).unwrap_or_else(|| panic!("{shown} does not set its knobs:\n{}", knobs_of(family)));
    let program = family.finish(&config).unwrap_or_else(|error| panic!("{shown}: {error}"));
    vec![
        ("expression.txt", family.dump(&config, Lowering::Expression).expect("a legal configuration")),
        ("program.txt", program.to_string()),
        ("kernel.cl", warpsight_emit::opencl(&program).expect("has a form in OpenCL C").text),
        // What it stands on has goldens of its own in `emit`.
        ("kernel.cu", warpsight_emit::cuda(&program).expect("has a form in CUDA C++").kernel),
        ("estimate.txt", estimate(family, &config)),
    ]
}

/// Every knob with its values, a line each.
fn knobs_of(family: &ScheduleFamily) -> String {
    let values = |knob: &Knob| match &knob.labels[..] {
        [] => knob.values.iter().map(i32::to_string).collect::<Vec<_>>().join(" "),
        labels => labels.join(" "),
    };
    family.space().knobs.iter().map(|knob| format!("{}: {}\n", knob.name, values(knob))).collect()
}

/// Times in microseconds with six digits: enough to see every change of a formula, too few to see another order of summation.
fn estimate(family: &ScheduleFamily, config: &Config) -> String {
    let profile = profile::builtin("adreno640").expect("is there").expect("parses");
    let estimate = KernelModel.estimate(&family.kernel(config), &profile).expect("the profile states what the model needs");
    let us = |t: Seconds| format!("{:.6} µs", t.0 * 1e6);
    let id = KernelModel.id();
    let mut text = format!("model: {} {}\nprofile: {}\n\n", id.name, id.version, profile.name);
    let (low, high) = estimate.interval;
    let _ = writeln!(text, "time: {} ({} to {})\n", us(estimate.time), us(low), us(high));
    for (limiter, time) in &estimate.limits.0 {
        let _ = writeln!(text, "{:<8} {}", limiter.name(), us(*time));
    }
    let v = &estimate.volumes;
    let _ = writeln!(text);
    for (level, bytes) in [("texture", v.texture), ("l1", v.l1), ("l2", v.l2), ("dram", v.dram), ("local", v.local)] {
        let _ = writeln!(text, "{level:<8} {:.1} bytes", bytes.0);
    }
    let _ = writeln!(text, "\n{}", estimate.explain());
    text
}

/// Compares a file with what it should hold, or writes it.
fn compare(path: &Path, text: &str) -> Option<String> {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return None;
    }
    match std::fs::read_to_string(path) {
        Ok(golden) => difference(&golden, text).map(|(line, shown)| format!("{}:{line} differs:\n{shown}", path.display())),
        Err(error) => Some(format!("{}: {error}", path.display())),
    }
}

/// The first line that differs, and all from there to the last.
fn difference(golden: &str, text: &str) -> Option<(usize, String)> {
    if golden == text {
        return None;
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (golden.lines().collect(), text.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let same_at_end = old[same..].iter().rev().zip(new[same..].iter().rev()).take_while(|(a, b)| a == b).count();
    let mut shown = String::new();
    for (sign, lines) in [('-', &old), ('+', &new)] {
        for line in lines[same..lines.len() - same_at_end].iter().take(20) {
            let _ = writeln!(shown, "{sign} {line}");
        }
    }
    Some((same + 1, shown))
}

/// Every folder below that holds a configuration.
fn folders(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
    let below = entries.map(|entry| entry.expect("is readable").path()).filter(|path| path.is_dir());
    below.flat_map(|path| if path.join("config.json").is_file() { vec![path] } else { folders(&path) }).collect()
}

#[test]
fn differences_are_shown() {
    let golden = "a\nb\nc\nd\n";
    assert_eq!(difference(golden, golden), None);
    assert_eq!(difference(golden, "a\nx\ny\nz\nd\n"), Some((2, "- b\n- c\n+ x\n+ y\n+ z\n".into())));
    assert_eq!(difference(golden, "a\nb\nc\nd"), Some((5, String::new())));
}
