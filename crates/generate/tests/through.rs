//! What is made where it is read: an expression that reads another's result, against both in turn.

use fastrand::Rng;
use warpsight_generate::candidates::through::made_where_read;
use warpsight_generate::expr::{Evaluator, Role, TensorExpr};
use warpsight_generate::operators::{concat, pad, parse_operator, slice, tensor, transpose};
use warpsight_ir::Scalar;

const ELEMENT: Scalar = Scalar::F32;

/// An expression of a result of this shape, by what only moves elements or what makes each of one.
fn made(rng: &mut Rng, shape: &[i64]) -> TensorExpr {
    let operator = match rng.u8(..4) {
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
        _ => {
            let text = format!("gelu n={} c={}", shape[0], shape[1..].iter().product::<i64>());
            parse_operator(&text)
        }
    };
    operator.expect("an operator").steps.remove(0)
}

fn evaluated(expr: &TensorExpr, inputs: &[&[f64]]) -> Vec<f64> {
    Evaluator::new(expr, inputs).output(vec![f64::NAN; expr.output.len()]).expect("all placed")
}

/// Windows that go beyond the ends, channels that are joined and rows that are added up, of results with dimensions of one element.
#[test]
fn what_is_made_where_it_is_read_is_what_was_read() {
    let mut rng = Rng::with_seed(29);
    let (mut done, mut padded) = (0, 0);
    for _ in 0..3000 {
        let [n, c, h, w] = [rng.i64(1..3), rng.i64(1..4), rng.i64(1..5), rng.i64(1..5)];
        let by = match rng.u8(..4) {
            0 => parse_operator(&format!("conv2d n={n} c={c} h={h} w={w} k=2 r=3 s=3 stride=1 pad=1")).expect("reads"),
            1 => parse_operator(&format!("avgpool n={n} c={c} h={h} w={w} r=3 s=2 stride=2 pad=1")).expect("reads"),
            2 => {
                let part = tensor("input", &[n, c, h, w], ELEMENT, Role::Activation);
                concat(&[part.clone(), part.clone(), part], rng.usize(..4)).expect("joins")
            }
            _ => parse_operator(&format!("softmax n={} c={w}", n * c * h)).expect("reads"),
        };
        let by = &by.steps[0];
        let read = by.inputs.iter().position(|own| own.shape.iter().product::<i64>() == n * c * h * w).expect("reads it");
        let shape = [n, c, h, w];
        let mut made = made(&mut rng, &shape);
        made.output.name = by.inputs[read].name.clone();
        made.inputs[0].name = "source".into();
        let Some(own) = made_where_read(by, &made) else { continue };
        done += 1;
        by.scalars().for_each(|own| own.loads(&mut |_, _, own| padded += usize::from(own)));
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
    }
    assert!(done > 500 && padded > 200, "{done} of them, {padded} padded loads");
}
