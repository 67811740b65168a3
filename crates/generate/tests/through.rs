//! What is made where it is read: an expression that reads another's result, against both in turn.

use fastrand::Rng;
use warpsight_generate::candidates::through::{in_order, made_where_read, moved_where_read, reshaped};
use warpsight_generate::expr::{Evaluator, Role, TensorExpr};
use warpsight_generate::operators::{concat, pad, parse_operator, slice, tensor, transpose};
use warpsight_ir::Scalar;

const ELEMENT: Scalar = Scalar::F32;

/// An expression of a result of this shape, by what only moves elements or what makes each of one.
fn made(rng: &mut Rng, shape: &[i64]) -> TensorExpr {
    let operator = match rng.u8(..6) {
        0 => {
            let mut permutation: Vec<usize> = (0..shape.len()).collect();
            rng.shuffle(&mut permutation);
            let mut from = vec![0; shape.len()];
            permutation.iter().zip(shape).for_each(|(&d, &extent)| from[d] = extent);
            transpose(&from, &permutation, ELEMENT)
        }
        1 => {
            let (starts, steps): (Vec<i64>, Vec<i64>) = shape.iter().map(|_| (rng.i64(0..3), rng.i64(1..3))).unzip();
            let ends = starts.iter().zip(&steps).zip(shape).map(|((start, step), extent)| start + step * (extent - 1));
            let from: Vec<i64> = ends.map(|last| last + 1 + rng.i64(0..2)).collect();
            slice(&from, &starts, &steps, shape, ELEMENT)
        }
        2 => {
            let inside: Vec<i64> = shape.iter().map(|&extent| rng.i64(1..=extent)).collect();
            let before: Vec<i64> = inside.iter().zip(shape).map(|(own, extent)| rng.i64(0..=extent - own)).collect();
            let after: Vec<i64> = inside.iter().zip(&before).zip(shape).map(|((own, before), extent)| extent - own - before).collect();
            pad(&inside, &before, &after, ELEMENT)
        }
        // Channels that are shuffled.
        3 => match split(rng, shape[1])[..] {
            [run, groups] => transpose(&[shape[0], groups, run, shape[2], shape[3]], &[0, 2, 1, 3, 4], ELEMENT),
            _ => transpose(shape, &[0, 1, 2, 3], ELEMENT),
        },
        // Reshaped, in another order, and reshaped again: pixels of channels, windows, and much else.
        4 => {
            let parts: Vec<i64> = shape.iter().flat_map(|&extent| split(rng, extent)).collect();
            let mut permutation: Vec<usize> = (0..parts.len()).collect();
            let few = rng.usize(2..=parts.len());
            let first = rng.usize(..=parts.len() - few);
            rng.shuffle(&mut permutation[first..first + few]);
            let mut from = vec![0; parts.len()];
            permutation.iter().zip(&parts).for_each(|(&d, &extent)| from[d] = extent);
            transpose(&from, &permutation, ELEMENT)
        }
        _ => {
            let text = format!("gelu n={} c={}", shape[0], shape[1..].iter().product::<i64>());
            parse_operator(&text)
        }
    };
    operator.expect("an operator").steps.remove(0)
}

/// A dimension as itself, or as two.
fn split(rng: &mut Rng, extent: i64) -> Vec<i64> {
    let divisors: Vec<i64> = (2..extent).filter(|by| extent % by == 0).collect();
    match rng.choice(divisors).filter(|_| rng.u8(..3) > 0) {
        Some(by) => vec![extent / by, by],
        None => vec![extent],
    }
}

fn evaluated(expr: &TensorExpr, inputs: &[&[f64]]) -> Vec<f64> {
    Evaluator::new(expr, inputs).output(vec![f64::NAN; expr.output.len()]).expect("all placed")
}

/// Windows that go beyond the ends, channels that are joined and rows that are added up, of results with dimensions of one element, and with dimensions that are
/// taken apart and put together in another order.
#[test]
fn what_is_made_where_it_is_read_is_what_was_read() {
    let mut rng = Rng::with_seed(29);
    let (mut done, mut padded, mut cut, mut turned) = (0, 0, [0; 3], 0);
    for _ in 0..3000 {
        let channels = [1, 2, 3, 4, 6, 8, 12];
        let [n, c, h, w] = [rng.i64(1..3), channels[rng.usize(..channels.len())], rng.i64(1..7), rng.i64(1..7)];
        let by = match rng.u8(..7) {
            0 => parse_operator(&format!("conv2d n={n} c={c} h={h} w={w} k=2 r=3 s=3 stride=1 pad=1")).expect("reads"),
            1 => parse_operator(&format!("avgpool n={n} c={c} h={h} w={w} r=3 s=2 stride=2 pad=1")).expect("reads"),
            2 => {
                let part = tensor("input", &[n, c, h, w], ELEMENT, Role::Activation);
                concat(&[part.clone(), part.clone(), part], rng.usize(..4)).expect("joins")
            }
            3 => parse_operator(&format!("dwconv2d n={n} c={c} h={h} w={w} r=3 s=3 stride=2 pad=1")).expect("reads"),
            4 => parse_operator(&format!("conv2d n={n} c={c} h={h} w={w} k=3 r=1 s=1")).expect("reads"),
            5 => parse_operator(&format!("matmul m={} n=3 k={w}", n * c * h)).expect("reads"),
            _ => parse_operator(&format!("softmax n={} c={w}", n * c * h)).expect("reads"),
        };
        let by = &by.steps[0];
        let read = by.inputs.iter().position(|own| own.shape.iter().product::<i64>() == n * c * h * w).expect("reads it");
        let shape = [n, c, h, w];
        let mut made = made(&mut rng, &shape);
        if rng.bool() {
            made = reshaped(&made, 0, &shape).unwrap_or(made);
        }
        made.output.name = by.inputs[read].name.clone();
        made.inputs[0].name = "source".into();
        let whole = made_where_read(by, &made);
        let is_cut = whole.is_none();
        let Some(own) = whole.or_else(|| moved_where_read(by, &made)) else { continue };
        done += 1;
        let mut outside = false;
        by.scalars().for_each(|own| own.loads(&mut |_, _, own| outside |= own));
        padded += usize::from(outside);
        if is_cut {
            assert!(own.all_axes().count() > by.all_axes().count());
            let counts = [own.axes.len() > by.axes.len(), own.reduce.len() > by.reduce.len(), outside];
            cut.iter_mut().zip(counts).for_each(|(all, own)| *all += usize::from(own));
        }
        let drawn: Vec<(String, Vec<f64>)> = [&made.inputs[0]]
            .into_iter()
            .chain(&by.inputs)
            .map(|own| (own.name.to_string(), (0..own.len()).map(|_| rng.f64() - 0.5).collect()))
            .collect();
        let of = |expr: &TensorExpr, result: Option<&[f64]>| {
            let inputs: Vec<&[f64]> = (expr.inputs.iter())
                .map(|own| match result {
                    Some(result) if own.name == made.output.name => result,
                    _ => &drawn.iter().find(|other| other.0 == *own.name).expect("drawn").1[..],
                })
                .collect();
            evaluated(expr, &inputs)
        };
        let result = of(&made, None);
        let (wanted, found) = (of(by, Some(&result)), of(&own, None));
        let off = wanted.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-12 && found.iter().all(|own| own.is_finite()), "{} of {} {shape:?}: off by {off}", by.name, made.name);
        // What is cut is whole again where a constant lies in another order.
        let Some([constant, whole]) = in_order(&own).filter(|_| is_cut) else { continue };
        turned += 1;
        assert!(constant.is_known() && whole.reduce.len() == own.reduce.len() - 1);
        let other = of(&constant, None);
        let inputs: Vec<&[f64]> = (whole.inputs.iter())
            .map(|own| {
                if own.name == constant.output.name {
                    &other[..]
                } else {
                    &drawn.iter().find(|other| other.0 == *own.name).expect("drawn").1[..]
                }
            })
            .collect();
        let found = evaluated(&whole, &inputs);
        let off = wanted.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-12, "{} of {} {shape:?} in order: off by {off}", by.name, made.name);
    }
    println!("{done} of them, {padded} padded, {cut:?} cut, {turned} in order again");
    assert!(done > 500 && padded > 200, "{done} of them, {padded} that read beyond ends");
    // Axes of results, axes of reductions, and those of what reads beyond ends.
    assert!(cut[0] > 100 && cut[1] > 50 && cut[2] > 20 && turned > 15, "{cut:?}, {turned}");
}

/// Windows of tokens: products that read each element often keep their tiles, and a copy.
#[test]
fn what_is_read_often_is_copied() {
    let read = |columns: i64| {
        let by = parse_operator(&format!("matmul m=64 n={columns} k=3")).expect("reads").steps.remove(0);
        let mut made = transpose(&[2, 4, 2, 4, 3], &[0, 2, 1, 3, 4], ELEMENT).expect("moves").steps.remove(0);
        made.output.name = by.inputs[0].name.clone();
        made.inputs[0].name = "source".into();
        moved_where_read(&by, &made)
    };
    let axes: Vec<i64> = read(64).expect("is cut").axes.iter().map(|axis| axis.extent).collect();
    assert_eq!(axes, [2, 2, 4, 4, 64]);
    assert_eq!(read(65), None);
}
