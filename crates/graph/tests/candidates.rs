//! Alternative sequences of expressions compute what the operator does.

use fastrand::Rng;
use std::collections::BTreeMap;
use warpsight_generate::candidates::candidates;
use warpsight_generate::operators::parse_operator;
use warpsight_generate::operators::{Deconv, MatMul, Window, deconv, layernorm, matmul, softmax};
use warpsight_generate::{Operator, Role, TensorExpr};
use warpsight_graph::Plan;
use warpsight_ir::Scalar;

const OPERATORS: [&str; 55] = [
    "conv2d n=2 c=3 h=5 w=7 k=4 r=3 s=3 stride=1 pad=1",
    "conv2d n=1 c=4 h=9 w=8 k=3 r=5 s=3 stride=2 pad=2",
    "conv2d n=1 c=2 h=6 w=1 k=3 r=3 s=3 stride=1 pad=1",
    "dwconv2d n=1 c=6 h=7 w=5 r=3 s=3 stride=2 pad=1",
    "matmul m=4 n=5 k=6",
    "softmax n=3 c=10",
    "matmul m=9 n=5 k=6 weights=none",
    "matmul m=17 n=33 k=2 weights=none",
    "matmul m=2 n=3 k=1100 weights=none",
    "matmul m=1 n=1 k=30011 weights=none",
    "matmul m=1 n=1 k=70003 weights=none",
    "matmul m=5 n=1 k=1090",
    "layernorm n=3 c=1100",
    "layernorm n=1 c=50",
    "softmax n=1 c=7",
    "layernorm n=7 c=6 dtype=f16s",
    // Tiles that end with the output, and that do not; one picture, several, one channel, one filter, constants and none.
    "conv2d n=1 c=5 h=9 w=13 k=4 r=3 s=3 pad=2",
    "conv2d n=3 c=2 h=7 w=5 k=3 r=3 s=3",
    "conv2d n=1 c=3 h=14 w=14 k=2 r=3 s=3 pad=1",
    "conv2d n=2 c=1 h=6 w=17 k=1 r=3 s=3 pad=1",
    "conv2d n=1 c=4 h=5 w=3 k=1 r=3 s=3 pad=1 weights=none",
    "conv2d n=1 c=3 h=9 w=9 k=3 r=3 s=3 dilation=2",
    "conv2d n=1 c=4 h=9 w=9 k=4 r=3 s=3 groups=2",
    // Transposed ones, whose taps read backwards, and groups of channels; those of one channel have none.
    "deconv2d n=2 c=3 h=5 w=7 k=4 r=3 s=3 pad=1",
    "deconv2d n=1 c=2 h=5 w=5 k=3 r=3 s=3 dilation=2",
    "conv2d n=2 c=6 h=7 w=8 k=9 r=3 s=3 groups=3 pad=1 weights=none",
    "dwconv2d n=1 c=4 h=6 w=6 r=3 s=3 pad=1",
    // As many taps for each remainder, or not; fewer taps than remainders; ends that are left out.
    "deconv2d n=1 c=6 h=5 w=7 k=8 r=3 s=3 stride=2 pad=1",
    "deconv2d n=1 c=4 h=5 w=4 k=3 r=4 s=4 stride=2 pad=1",
    "deconv2d n=2 c=3 h=4 w=5 k=2 r=5 s=3 stride=3",
    "deconv2d n=1 c=4 h=3 w=3 k=6 r=2 s=2 stride=3 groups=2",
    "deconv2d n=1 c=2 h=1 w=3 k=1 r=3 s=3 stride=2 pad=1",
    "deconv2d n=1 c=5 h=6 w=6 k=4 r=9 s=9 stride=4 pad=3",
    "deconv3d n=1 c=3 d=2 h=3 w=4 k=2 t=3 r=3 s=3 stride=2 pad=1",
    // Of several results.
    "layernorm_gradient n=2048 c=8",
    "split n=5 c=12 parts=4",
    "conv3d n=1 c=2 d=3 h=5 w=6 k=2 t=1 r=3 s=3 pad=1",
    // Windows that do not meet, that overlap, with padding, of elements that are read by two axes, of one row, of means; one that is pooled too often.
    "conv2d n=2 c=3 h=6 w=8 k=4 r=3 s=3 pad=1 maxpool=2",
    "conv2d n=1 c=3 h=9 w=11 k=4 r=3 s=3 stride=2 pad=1 maxpool=3 poolstride=2 poolpad=1",
    "conv2d n=1 c=3 h=7 w=1 k=2 r=3 s=1 maxpool=1 poolstride=2",
    "conv2d n=1 c=1 h=9 w=9 k=1 r=2 s=2 avgpool=3 poolstride=2 poolpad=1",
    "conv2d n=1 c=4 h=8 w=8 k=4 r=1 s=1 avgpool=2 weights=none",
    "conv2d n=1 c=4 h=6 w=6 k=4 r=3 s=3 pad=1 groups=2 maxpool=2",
    "conv2d n=1 c=4 h=6 w=6 k=4 r=3 s=3 pad=1 maxpool=3 poolstride=1",
    // Strides and dilations together: with no divisor in common each remainder has its taps, with one some have none.
    "deconv2d n=1 c=3 h=4 w=5 k=2 r=4 s=3 stride=2 dilation=3 pad=1",
    "deconv2d n=2 c=3 h=4 w=3 k=2 r=3 s=3 stride=3 dilation=2",
    "deconv2d n=1 c=3 h=4 w=5 k=4 r=3 s=2 stride=2 dilation=2 pad=1",
    "deconv2d n=1 c=2 h=3 w=4 k=2 r=3 s=3 stride=4 dilation=6 pad=2",
    // What is joined, and what only looks like it.
    "concat n=5 c=6 parts=2",
    "concat n=3 c=1 parts=4",
    "reduce_log_sum_exp n=3 c=40",
    "reduce_prod n=2 c=1100",
    // What normalises rows of a product: of one row, of a stack, of many columns; of constants.
    "matmul m=5 n=7 k=4 softmax=1 weights=none",
    "matmul m=3 n=6 k=9 batch=2 transpose_right=1 softmax=1",
    "matmul m=1 n=40 k=70 layernorm=1",
];

/// Stacks of products, the second operand of some stored transposed.
fn stacks() -> impl Iterator<Item = (String, Operator)> {
    let shapes: [(&[i64], &[i64], bool); 4] = [
        (&[2, 9, 5], &[2, 5, 7], false),
        (&[2, 3, 8, 5], &[3, 11, 5], true),
        (&[9, 4], &[6, 4], true),
        (&[2, 2, 3, 9, 4], &[2, 2, 3, 4, 6], false),
    ];
    shapes.into_iter().filter_map(|(left, right, transpose_right)| {
        let own =
            MatMul { left: left.to_vec(), right: right.to_vec(), transpose_right, right_role: Role::Activation, ..MatMul::new(1, 1, 1) };
        Some((format!("{own:?}"), matmul(&own).ok()?))
    })
}

/// Rows along other dimensions than the last, and over several.
fn normalised() -> impl Iterator<Item = (String, Operator)> {
    let softmax = [(vec![2, 5, 3], 1), (vec![4, 3], 0)]
        .into_iter()
        .map(|(shape, axis)| (format!("softmax {shape:?} along {axis}"), softmax(&shape, axis, Scalar::F32).expect("a softmax")));
    let whole = layernorm(&[2, 3, 4, 5], 1, 1e-5, true, true, Scalar::F32).expect("a normalisation");
    softmax.chain([("layernorm of three dimensions".to_owned(), whole)])
}

/// Results behind the end of a transposed convolution without a stride, which the command line refuses.
fn further() -> (String, Operator) {
    let window = |input| Window { input, kernel: 3, stride: 1, pad_before: 0, pad_after: -1, dilation: 1 };
    let spatial = vec![window(6), window(3)];
    let own = Deconv { batch: 1, channels: 4, filters: 6, groups: 2, spatial, bias: false, element: Scalar::F32 };
    (format!("{own:?}"), deconv(&own).expect("a transposed convolution"))
}

#[test]
fn every_candidate_computes_the_operator() {
    let mut rng = Rng::with_seed(3);
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let parsed =
        OPERATORS.into_iter().map(|text| (text.to_owned(), parse_operator(text).unwrap_or_else(|error| panic!("{text}: {error}"))));
    for (text, operator) in parsed.chain(stacks()).chain(normalised()).chain([further()]) {
        let mut constants = Rng::with_seed(4);
        let plan = Plan::of_operator(&operator, |n| (0..n).map(|_| constants.f64() - 0.5).collect());
        let inputs: Vec<Vec<f64>> = plan.inputs.iter().map(|&id| (0..plan.tensor(id).len()).map(|_| rng.f64() - 0.5).collect()).collect();
        let expected = plan.evaluate_f64(&inputs).expect("evaluates");
        let all = candidates(&operator);
        assert_eq!(all[0].operator, operator, "{text}: the first is the operator as it is");
        for candidate in all.into_iter().skip(1) {
            *seen.entry(candidate.name).or_default() += 1;
            if candidate.name == "padded" {
                // What is read beyond an end is in the copy: nothing is bound any more but in it, taps that are none, and a pooling behind it.
                let bound = |step: &TensorExpr| {
                    let mut any = false;
                    step.body.loads(&mut |t, _, padded| any |= padded && step.inputs[t].role != Role::Weight);
                    any
                };
                let steps = candidate.operator.steps.iter().filter(|step| step.inputs.iter().all(|tensor| &*tensor.name != "between"));
                assert!(steps.into_iter().all(|step| step.reduce.is_empty() || !bound(step)), "{text}");
            }
            let mut other = plan.clone();
            let (known, kernels) =
                (candidate.operator.steps.len() - candidate.operator.kernels().count(), candidate.operator.kernels().count());
            assert_eq!(known, usize::from(candidate.name.starts_with("winograd") && !text.contains("weights=none")), "{text}");
            other.replace(0, candidate.operator);
            // What reads constants alone was made with the plan.
            assert_eq!(other.operators[0].operator.steps.len(), kernels, "{text}");
            let found = other.evaluate_f64(&inputs).expect("evaluates");
            // Parts are added up in another order, results of tiles are made of other products.
            let other_sums = ["split", "runs", "winograd"].iter().any(|stem| candidate.name.starts_with(stem));
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= if other_sums { 1e-9 * b.abs().max(1.0) } else { 0.0 };
            let all =
                found.len() == expected.len() && found.iter().zip(&expected).all(|(a, b)| a.len() == b.len() && a.iter().zip(b).all(near));
            assert!(all, "{text}: {}", candidate.name);
        }
    }
    assert_eq!(
        seen,
        BTreeMap::from([
            ("packed", 6),
            ("parts", 2),
            ("phases", 7),
            ("padded", 28),
            ("pooled", 5),
            ("rows", 12),
            ("rows_kept", 6),
            ("rows_held", 3),
            ("held", 10),
            ("runs16", 5),
            ("runs256", 2),
            ("split16", 6),
            ("split256", 1),
            ("winograd2", 14),
            ("winograd4", 14)
        ])
    );
}

/// Rows that are too long for one work-item to add up are cut where there is a kernel for each step, and are one kernel, too.
#[test]
fn rows_that_are_cut_are_one_kernel_too() {
    let mut rng = Rng::with_seed(5);
    for (text, names) in [
        ("softmax n=2 c=40009", &["rows", "rows_kept"][..]),
        ("softmax n=1 c=65538", &["rows", "rows_kept"]),
        ("layernorm n=2 c=33000", &["rows"]),
    ] {
        let operator = parse_operator(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(operator.steps.len() > 3, "{text}");
        let plan = Plan::of_operator(&operator, |n| vec![0.5; n]);
        let inputs: Vec<Vec<f64>> = plan.inputs.iter().map(|&id| (0..plan.tensor(id).len()).map(|_| rng.f64() - 0.5).collect()).collect();
        let expected = plan.evaluate_f64(&inputs).expect("evaluates");
        for name in names {
            let own = candidates(&operator).into_iter().find(|own| own.name == *name).unwrap_or_else(|| panic!("{text}: no {name}"));
            assert_eq!(own.operator.steps.len(), 1, "{text}");
            let mut other = plan.clone();
            other.replace(0, own.operator);
            let found = other.evaluate_f64(&inputs).expect("evaluates");
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs().max(1.0);
            assert!(found[0].len() == expected[0].len() && found[0].iter().zip(&expected[0]).all(near), "{text}: {name}");
        }
    }
}
