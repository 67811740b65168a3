//! Keys are equal exactly where expressions differ in names alone.

#[path = "../../engine/tests/common/draw.rs"]
mod draw;
#[path = "key/mutate.rs"]
mod mutate;

use fastrand::Rng;
use mutate::{mutate, wild};
use std::collections::{BTreeMap, HashMap, HashSet};
use warpsight_generate::expr::{Axis, Coefficients, Operator, Reduction, ScalarExpr, Tensor, TensorExpr, name};
use warpsight_generate::operators::parse_operator;
use warpsight_generate::{ExprKey, ScheduleFamily};
use warpsight_ir::{ConfigSpace, Family, Knob, Name, Scalar};

const PAIRS: usize = 10_000;

/// Whether two operators differ in names alone, compared side by side: names of tensors have to correspond one to one.
fn same(a: &Operator, b: &Operator) -> bool {
    let (mut there, mut back) = (HashMap::new(), HashMap::new());
    let mut one = |a: &Tensor, b: &Tensor| {
        let (to, from) =
            (there.entry(a.name.clone()).or_insert(b.name.clone()).clone(), back.entry(b.name.clone()).or_insert(a.name.clone()).clone());
        to == b.name && from == a.name && (&a.shape, a.element, a.role) == (&b.shape, b.element, b.role)
    };
    a.steps.len() == b.steps.len()
        && a.steps.iter().zip(&b.steps).all(|(a, b)| {
            let extents = |axes: &[Axis]| axes.iter().map(|a| a.extent).collect::<Vec<_>>();
            a.inputs.len() == b.inputs.len()
                && a.inputs.iter().zip(&b.inputs).all(|(a, b)| one(a, b))
                && one(&a.output, &b.output)
                && (extents(&a.axes), extents(&a.reduce)) == (extents(&b.axes), extents(&b.reduce))
                && (a.combine, &a.store, a.clipped) == (b.combine, &b.store, b.clipped)
                && same_coefficients(a.coefficients.as_ref(), b.coefficients.as_ref())
                && same_reductions(&a.before, &b.before)
                && match (&a.across, &b.across) {
                    (Some(a), Some(b)) => a.along == b.along && same_reductions(&a.made, &b.made) && same_scalar(&a.epilogue, &b.epilogue),
                    (a, b) => a.is_none() && b.is_none(),
                }
                && same_scalar(&a.body, &b.body)
                && same_scalar(&a.epilogue, &b.epilogue)
        })
}

fn same_reductions(a: &[Reduction], b: &[Reduction]) -> bool {
    let one = |a: &Reduction, b: &Reduction| {
        (a.combine, a.kept) == (b.combine, b.kept) && same_scalar(&a.body, &b.body) && same_scalar(&a.epilogue, &b.epilogue)
    };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| one(a, b))
}

fn same_coefficients(a: Option<&Coefficients>, b: Option<&Coefficients>) -> bool {
    let bits =
        |own: &Coefficients| own.values.iter().map(|v| if v.is_nan() { f64::NAN.to_bits() } else { v.to_bits() }).collect::<Vec<_>>();
    match (a, b) {
        (Some(a), Some(b)) => bits(a) == bits(b) && a.at == b.at,
        _ => a.is_none() && b.is_none(),
    }
}

fn same_scalar(a: &ScalarExpr, b: &ScalarExpr) -> bool {
    match (a, b) {
        (ScalarExpr::Const(a), ScalarExpr::Const(b)) => a.is_nan() && b.is_nan() || a.to_bits() == b.to_bits(),
        (ScalarExpr::Unary(op, a), ScalarExpr::Unary(other, b)) => op == other && same_scalar(a, b),
        (ScalarExpr::Round(to, a), ScalarExpr::Round(other, b)) => to == other && same_scalar(a, b),
        (ScalarExpr::Binary(op, a, c), ScalarExpr::Binary(other, b, d)) => op == other && same_scalar(a, b) && same_scalar(c, d),
        (ScalarExpr::Select(c, a, b), ScalarExpr::Select(f, d, e)) => same_scalar(c, f) && same_scalar(a, d) && same_scalar(b, e),
        (ScalarExpr::Gather { tensor, index, found }, ScalarExpr::Gather { tensor: other, index: forms, found: others }) => {
            let same = |(a, b): (&(usize, ScalarExpr), &(usize, ScalarExpr))| a.0 == b.0 && same_scalar(&a.1, &b.1);
            (tensor, index, found.len()) == (other, forms, others.len()) && found.iter().zip(others).all(same)
        }
        (ScalarExpr::Load { .. } | ScalarExpr::Acc | ScalarExpr::Before(_) | ScalarExpr::Position(_), _) => a == b,
        _ => false,
    }
}

/// Names that would confuse an encoding which only strings things together.
const HOSTILE: [&str; 14] = ["", "t", "t0", "0", "1", "a;b", "a\0b", "\n", "[1]", ", ", "é", "🦀", "\u{202e}", "\u{1}\0\0\0\0\0\0\0a"];

/// The same with other names, those of tensors one to one.
fn renamed(rng: &mut Rng, operator: &Operator) -> Operator {
    let any = |rng: &mut Rng| (0..rng.usize(..4)).map(|_| HOSTILE[rng.usize(..HOSTILE.len())]).collect::<String>();
    let mut names: HashMap<Name, Name> = HashMap::new();
    let mut taken = HashSet::new();
    let mut operator = operator.clone();
    operator.kind = name(any(rng));
    for step in &mut operator.steps {
        step.name = name(any(rng));
        step.axes.iter_mut().chain(&mut step.reduce).for_each(|a| a.name = name(any(rng)));
        for tensor in step.inputs.iter_mut().chain([&mut step.output]) {
            let fresh = || std::iter::repeat_with(|| any(rng)).find(|n| taken.insert(n.clone())).map(name).expect("endless");
            tensor.name = names.entry(tensor.name.clone()).or_insert_with(fresh).clone();
        }
    }
    operator
}

/// Of the kinds that there are, of the grammar, or of nothing that makes sense.
fn draw(rng: &mut Rng) -> Operator {
    let element = *rng.choice(&[Scalar::F32, Scalar::F16, Scalar::Bf16]).expect("three");
    match rng.u8(..8) {
        0..4 => draw::KINDS[rng.usize(..draw::KINDS.len())].draw(rng, element, 1 << 20),
        4 => written(rng, 40),
        _ => wild(rng),
    }
}

/// An operator of the grammar, with sizes below a limit.
fn written(rng: &mut Rng, limit: i64) -> Operator {
    let [a, b, c] = [(); 3].map(|()| rng.i64(1..limit));
    let texts = [
        format!("matmul m={a} n={b} k={c}"),
        format!("fc n={a} k={b} m={c}"),
        format!("softmax n={a} c={b}"),
        format!("layernorm n={a} c={b}"),
        format!("conv2d n=1 c={a} h={b} w=9 k={c} r=3 s=3 stride=1 pad=1"),
    ];
    parse_operator(&texts[rng.usize(..texts.len())]).expect("an operator")
}

#[test]
fn keys_are_equal_exactly_where_names_alone_differ() {
    let mut rng = Rng::with_seed(47);
    let (mut renamings, mut equal_draws) = (0, 0);
    let mut changes: BTreeMap<&str, usize> = BTreeMap::new();
    for pair in 0..PAIRS {
        // Small ones of the grammar meet by chance.
        let near = pair % 4 == 3 && pair % 16 != 3;
        let a = if near { written(&mut rng, 4) } else { draw(&mut rng) };
        let b = match pair % 4 {
            0 => renamed(&mut rng, &a),
            1 | 2 => {
                let mut b = if pair % 4 == 1 { a.clone() } else { renamed(&mut rng, &a) };
                let what = mutate(&mut rng, &mut b);
                *changes.entry(what).or_default() += usize::from(!same(&a, &b));
                b
            }
            _ if near => written(&mut rng, 4),
            _ => draw(&mut rng),
        };
        let expected = same(&a, &b);
        match pair % 4 {
            0 => {
                assert!(expected, "a renaming is one: {a:?}\n{b:?}");
                renamings += 1;
            }
            3 => equal_draws += usize::from(expected),
            _ => {}
        }
        assert_eq!(ExprKey::of_operator(&a) == ExprKey::of_operator(&b), expected, "pair {pair}:\n{a:?}\n{b:?}");
        assert_eq!(ExprKey::of_operator(&a).to_string() == ExprKey::of_operator(&b).to_string(), expected, "the short form");
        for (a, b) in a.steps.iter().zip(&b.steps) {
            let alone = |step: &TensorExpr| Operator { kind: "".into(), steps: vec![step.clone()] };
            assert_eq!(ExprKey::of(a) == ExprKey::of(b), same(&alone(a), &alone(b)), "pair {pair}:\n{a:?}\n{b:?}");
            assert_eq!(ExprKey::of(a), ExprKey::of_operator(&alone(a)), "an operator of one expression is that expression");
        }
    }
    eprintln!("{PAIRS} pairs: {renamings} renamings, {equal_draws} equal by chance, changed: {changes:?}");
    // Every field was changed often, and nearly every change was one.
    assert_eq!(changes.keys().copied().collect::<Vec<_>>(), mutate::FIELDS);
    assert!(changes.values().all(|n| *n >= 10), "{changes:?}");
    assert!(changes.values().sum::<usize>() > PAIRS * 2 / 5, "{changes:?}");
    assert!(equal_draws > 10, "{equal_draws} pairs drawn one by one were the same");
}

/// A key that changes where neither its version nor the operator does takes what was stored for something else: change `key::VERSION`, then these.
#[test]
fn keys_stay() {
    let keys = ["matmul m=64 n=32 k=16", "softmax n=3 c=7", "conv2d n=1 c=3 h=6 w=7 k=5 r=3 s=3 stride=1 pad=1 dtype=f16s"];
    let keys = keys.map(|text| ExprKey::of_operator(&parse_operator(text).expect("an operator")).to_string());
    assert_eq!(keys, ["e1-b139fee492398a2e1de29b3d11978ad2", "e1-82978ad3fd6bfbf3f0daf782e04b64ea", "e1-d86b793b2472fa4c64a9313fbe19aaf3"]);
}

#[test]
fn constants_count_by_their_bits_but_a_nan_is_a_nan() {
    let with = |value: f64| {
        let mut expr = parse_operator("matmul m=4 n=4 k=4").expect("an operator").steps.remove(0);
        expr.epilogue = ScalarExpr::Const(value);
        ExprKey::of(&expr)
    };
    assert_ne!(with(0.0), with(-0.0));
    assert_ne!(with(1.0), with(1.0 + f64::EPSILON));
    assert_eq!(with(f64::NAN), with(-f64::NAN));
    assert_eq!(with(f64::NAN), with(f64::from_bits(f64::NAN.to_bits() | 7)));
}

/// A later step that reads an earlier one's output is not one that reads another tensor of that shape.
#[test]
fn tensors_between_expressions_count() {
    let softmax = parse_operator("softmax n=3 c=7").expect("an operator");
    let mut other = softmax.clone();
    let last = other.steps.last_mut().expect("steps");
    let input = last.inputs.last_mut().expect("inputs");
    input.name = "another".into();
    assert_ne!(ExprKey::of_operator(&softmax), ExprKey::of_operator(&other));
    let alone = |o: &Operator| o.steps.iter().map(ExprKey::of).collect::<Vec<_>>();
    assert_eq!(alone(&softmax), alone(&other));
}

/// Where configurations are kept in words, what the words mean is part of the key.
#[test]
fn words_of_configurations_count_where_they_are_asked_for() {
    let product = parse_operator("matmul m=16 n=16 k=16").expect("an operator").steps.remove(0);
    let mut swapped = product.clone();
    (swapped.axes[0].name, swapped.axes[1].name) = (product.axes[1].name.clone(), product.axes[0].name.clone());
    assert_eq!(ExprKey::of(&product), ExprKey::of(&swapped));
    let family = |expr: &TensorExpr| ScheduleFamily::new(expr.clone());
    let words = |expr: &TensorExpr| ExprKey::of(expr).with_words(family(expr).space());
    assert_ne!(words(&product), words(&swapped), "`tile_m` of one is `tile_n` of the other");
    let mut called = product.clone();
    called.name = "gemm".into();
    assert_eq!(words(&product), words(&called), "no word of a configuration holds the expression's name");

    let of = |knobs: &[(&str, &[i32], &[&str])]| {
        let knob = |&(name, values, labels): &(&str, &[i32], &[&str])| Knob {
            name: name.into(),
            values: values.to_vec(),
            labels: labels.iter().map(|l| Name::from(*l)).collect(),
            further: vec![],
        };
        ExprKey::of(&product).with_words(&ConfigSpace { knobs: knobs.iter().map(knob).collect() })
    };
    let all = [
        of(&[]),
        of(&[("ab", &[1], &["c"])]),
        of(&[("a", &[1], &["bc"])]),
        of(&[("ab", &[1, 2], &["c"])]),
        of(&[("ab", &[2], &["c"])]),
        of(&[("ab", &[1], &["c", ""])]),
        of(&[("ab", &[1], &[]), ("", &[], &["c"])]),
        ExprKey::of(&product),
    ];
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
}
