//! Values of the constructors against loops written out by hand, what every expression must obey, and the grammar's messages.

mod grammar;

use super::*;

/// Every element of an operator's last output, its external inputs given in order.
fn run(operator: &Operator, inputs: &[Vec<f64>]) -> Vec<f64> {
    let names = external_inputs(operator).into_iter().map(|t| t.name.clone());
    let mut known: Vec<(Name, Vec<f64>)> = names.zip(inputs.iter().cloned()).collect();
    for step in &operator.steps {
        let read: Vec<&[f64]> = step.inputs.iter().map(|t| known.iter().find(|k| k.0 == t.name).unwrap().1.as_slice()).collect();
        let mut output = vec![f64::NAN; step.output.len()];
        for point in points(&step.axes.iter().map(|a| a.extent).collect::<Vec<_>>()) {
            if !step.leaves_out(&point) {
                output[place(step, &point)] = step.evaluate(&point, &read);
            }
        }
        known.push((step.output.name.clone(), output));
    }
    known.pop().unwrap().1
}

fn points(extents: &[i64]) -> Vec<Vec<i64>> {
    let count: i64 = extents.iter().product();
    let of = |mut flat: i64| {
        let mut point = vec![0; extents.len()];
        for (slot, extent) in point.iter_mut().zip(extents).rev() {
            *slot = flat % extent;
            flat /= extent;
        }
        point
    };
    (0..count).map(of).collect()
}

fn place(step: &TensorExpr, point: &[i64]) -> usize {
    step.store.iter().zip(&step.output.shape).fold(0, |flat, (form, extent)| {
        let at = form.eval(|a| point[a.0]).expect("small");
        assert!((0..*extent).contains(&at), "{}: stores outside", step.name);
        flat * extent + at
    }) as usize
}

/// What every expression must obey, checked point by point: names, axes, one store per element, and `padded` exactly where needed.
fn check(operator: &Operator) {
    for step in &operator.steps {
        let names: Vec<&Name> = step.inputs.iter().map(|t| &t.name).chain([&step.output.name]).collect();
        let axes: Vec<&Name> = step.all_axes().map(|a| &a.name).collect();
        for list in [&names, &axes] {
            assert!(list.iter().enumerate().all(|(i, n)| !list[..i].contains(n)), "{list:?}");
            assert!(list.iter().all(|n| !n.is_empty() && !n.starts_with(|c: char| c.is_ascii_digit())));
            assert!(list.iter().all(|n| n.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')), "{list:?}");
        }
        assert!(!step.axes.is_empty());
        assert!(step.all_axes().all(|a| a.extent > 1) || step.axes.len() == 1, "{axes:?}");
        assert_eq!(step.output.role, Role::Output);
        let mut written = vec![false; step.output.len()];
        for point in points(&step.axes.iter().map(|a| a.extent).collect::<Vec<_>>()) {
            if !step.leaves_out(&point) {
                assert!(!std::mem::replace(&mut written[place(step, &point)], true), "{}: stores twice", step.name);
            }
        }
        assert!(written.iter().all(|w| *w), "{}: leaves elements out", step.name);
        let all = points(&step.all_axes().map(|a| a.extent).collect::<Vec<_>>());
        for scalar in [&step.body, &step.epilogue] {
            scalar.loads(&mut |tensor, index, padded| {
                let shape = &step.inputs[tensor].shape;
                assert_eq!(index.len(), shape.len());
                let outside =
                    all.iter().any(|p| index.iter().zip(shape).any(|(f, e)| !(0..*e).contains(&f.eval(|a| p[a.0]).expect("small"))));
                assert_eq!(padded, outside, "{} of {}", step.inputs[tensor].name, step.name);
            });
        }
    }
}

fn random(rng: &mut fastrand::Rng, count: i64) -> Vec<f64> {
    (0..count).map(|_| rng.f64() * 2.0 - 1.0).collect()
}

fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() <= 1e-12 * (1.0 + e.abs()), "{found:?} instead of {expected:?}");
    }
}

fn window(rng: &mut fastrand::Rng) -> Window {
    loop {
        let w = Window {
            input: rng.i64(1..8),
            kernel: rng.i64(1..4),
            stride: rng.i64(1..4),
            pad_before: rng.i64(0..3),
            pad_after: rng.i64(0..3),
            dilation: rng.i64(1..3),
        };
        if w.output() > 0 {
            return w;
        }
    }
}

/// Scalar of `x` (rows of `w` columns, per plane) or nothing in the padding.
fn tap(x: &[f64], plane: i64, (h, w): (&Window, &Window), (y, r): (i64, i64), (c, s): (i64, i64)) -> Option<f64> {
    let (row, column) = (y * h.stride - h.pad_before + r * h.dilation, c * w.stride - w.pad_before + s * w.dilation);
    let inside = (0..h.input).contains(&row) && (0..w.input).contains(&column);
    inside.then(|| x[((plane * h.input + row) * w.input + column) as usize])
}

#[test]
fn random_convolutions() {
    let mut rng = fastrand::Rng::with_seed(1);
    for _ in 0..60 {
        let groups = rng.i64(1..4);
        let (n, c, k) = (rng.i64(1..3), groups * rng.i64(1..3), groups * rng.i64(1..4));
        let (h, w, bias) = (window(&mut rng), window(&mut rng), rng.bool());
        let spatial = vec![h, w];
        let built = conv(&Conv { batch: n, channels: c, filters: k, groups, spatial, bias, element: Scalar::F32 }).unwrap();
        check(&built);
        let inner = c / groups;
        let mut inputs = vec![random(&mut rng, n * c * h.input * w.input), random(&mut rng, k * inner * h.kernel * w.kernel)];
        if bias {
            inputs.push(random(&mut rng, k));
        }
        let mut expected = Vec::new();
        for p in points(&[n, k, h.output(), w.output()]) {
            let mut sum = if bias { inputs[2][p[1] as usize] } else { 0.0 };
            for t in points(&[inner, h.kernel, w.kernel]) {
                let channel = p[1] / (k / groups) * inner + t[0];
                let x = tap(&inputs[0], p[0] * c + channel, (&h, &w), (p[2], t[1]), (p[3], t[2]));
                sum += x.unwrap_or(0.0) * inputs[1][(((p[1] * inner + t[0]) * h.kernel + t[1]) * w.kernel + t[2]) as usize];
            }
            expected.push(sum);
        }
        close(&run(&built, &inputs), &expected);
    }
}

/// Each input element is scattered over the outputs it reaches.
#[test]
fn random_transposed_convolutions() {
    let mut rng = fastrand::Rng::with_seed(2);
    let mut done = 0;
    while done < 200 {
        let (n, groups) = (rng.i64(1..3), rng.i64(1..4));
        let (c, k) = (groups * rng.i64(1..4), groups * rng.i64(1..4));
        let (inner, own) = (c / groups, k / groups);
        let both = |w: Window, rng: &mut fastrand::Rng| Window { stride: rng.i64(1..7), dilation: rng.i64(1..7), ..w };
        let spatial: Vec<Window> = (0..2).map(|_| both(window(&mut rng), &mut rng)).collect();
        let bias = rng.bool();
        let deconvolution = Deconv { batch: n, channels: c, filters: k, groups, spatial: spatial.clone(), bias, element: Scalar::F32 };
        let built = match deconv(&deconvolution) {
            Ok(built) => built,
            Err(OperatorError::EmptyOutput { .. }) => continue,
            Err(e) => panic!("{e}"),
        };
        done += 1;
        check(&built);
        let (h, w) = (&spatial[0], &spatial[1]);
        let (oh, ow) = (built.steps[0].output.shape[2], built.steps[0].output.shape[3]);
        let mut inputs = vec![random(&mut rng, n * c * h.input * w.input), random(&mut rng, c * own * h.kernel * w.kernel)];
        if bias {
            inputs.push(random(&mut rng, k));
        }
        let mut expected: Vec<f64> = points(&[n, k, oh, ow]).iter().map(|p| if bias { inputs[2][p[1] as usize] } else { 0.0 }).collect();
        for p in points(&[n, c, h.input, w.input, own, h.kernel, w.kernel]) {
            let (y, x) = (p[2] * h.stride + p[5] * h.dilation - h.pad_before, p[3] * w.stride + p[6] * w.dilation - w.pad_before);
            if (0..oh).contains(&y) && (0..ow).contains(&x) {
                let value = inputs[0][(((p[0] * c + p[1]) * h.input + p[2]) * w.input + p[3]) as usize];
                let weight = inputs[1][(((p[1] * own + p[4]) * h.kernel + p[5]) * w.kernel + p[6]) as usize];
                let filter = p[1] / inner * own + p[4];
                expected[(((p[0] * k + filter) * oh + y) * ow + x) as usize] += value * weight;
            }
        }
        close(&run(&built, &inputs), &expected);
    }
}

#[test]
fn random_poolings() {
    let mut rng = fastrand::Rng::with_seed(3);
    let mut with_constants = 0;
    for i in 0..90 {
        let kind = [PoolKind::Max, PoolKind::Average, PoolKind::AverageWithPadding][i % 3];
        let valid = |rng: &mut fastrand::Rng| loop {
            let w = window(rng);
            if w.pad_before < w.kernel && w.pad_after < w.kernel && w.dilation == 1 {
                return w;
            }
        };
        let (h, w) = (valid(&mut rng), valid(&mut rng));
        let (n, c, ceil_mode) = (rng.i64(1..3), rng.i64(1..3), rng.bool());
        let pooling = Pool { kind, batch: n, channels: c, spatial: vec![h, w], ceil_mode, element: Scalar::F32 };
        let built = pool(&pooling).unwrap();
        check(&built);
        // All below zero: padding must not win.
        let x: Vec<f64> = random(&mut rng, n * c * h.input * w.input).iter().map(|v| v - 2.0).collect();
        let mut inputs = vec![x];
        for input in &external_inputs(&built)[1..] {
            inputs.push(input.values.as_ref().unwrap().to_vec());
            with_constants += 1;
        }
        let extents = pooling.outputs();
        let expected = points(&[n, c, extents[0], extents[1]]).into_iter().map(|p| {
            let (mut sum, mut largest, mut count) = (0.0, f64::NEG_INFINITY, 0);
            for t in points(&[h.kernel, w.kernel]) {
                let padding = |w: &Window, o: i64, t: i64| o * w.stride + t < w.pad_before + w.input + w.pad_after;
                if let Some(v) = tap(&inputs[0], p[0] * c + p[1], (&h, &w), (p[2], t[0]), (p[3], t[1])) {
                    (sum, largest, count) = (sum + v, f64::max(largest, v), count + 1);
                } else if kind == PoolKind::AverageWithPadding && padding(&h, p[2], t[0]) && padding(&w, p[3], t[1]) {
                    count += 1;
                }
            }
            if kind == PoolKind::Max { largest } else { sum / f64::from(count) }
        });
        close(&run(&built, &inputs), &expected.collect::<Vec<_>>());
    }
    assert!(with_constants > 20, "{with_constants}");
}

#[test]
fn ceil_mode_adds_a_window_only_where_it_starts_inside() {
    let of = |w: Window| {
        let pooling = |ceil_mode| Pool { kind: PoolKind::Max, batch: 1, channels: 1, spatial: vec![w], ceil_mode, element: Scalar::F32 };
        (pooling(false).outputs()[0], pooling(true).outputs()[0])
    };
    assert_eq!(of(Window { stride: 2, ..Window::new(6, 3) }), (2, 3));
    assert_eq!(of(Window { stride: 2, ..Window::new(7, 3) }), (3, 3));
    // The third window would start in the padding after the input.
    assert_eq!(of(Window { stride: 3, pad_before: 1, pad_after: 1, ..Window::new(5, 2) }), (2, 2));
}

#[test]
fn random_products() {
    let mut rng = fastrand::Rng::with_seed(4);
    for _ in 0..40 {
        let (m, n, k) = (rng.i64(1..5), rng.i64(1..5), rng.i64(1..5));
        let (transpose_left, transpose_right) = (rng.bool(), rng.bool());
        let (b, left_b, right_b) = (rng.i64(1..4), rng.bool(), rng.bool());
        let shape = |flip: bool, b: i64, rows: i64, columns: i64| if flip { vec![b, columns, rows] } else { vec![b, rows, columns] };
        let left = shape(transpose_left, if left_b { b } else { 1 }, m, k);
        let right = shape(transpose_right, if right_b { b } else { 1 }, k, n);
        let built =
            matmul(&MatMul { left: left.clone(), right: right.clone(), transpose_left, transpose_right, ..MatMul::new(m, n, k) }).unwrap();
        check(&built);
        let inputs = [random(&mut rng, left.iter().product()), random(&mut rng, right.iter().product())];
        let batch = built.steps[0].output.shape[0];
        let at = |x: &[f64], shape: &[i64], flip: bool, b: i64, i: i64, j: i64| {
            let (b, i, j) = (if shape[0] == 1 { 0 } else { b }, if flip { j } else { i }, if flip { i } else { j });
            x[((b * shape[1] + i) * shape[2] + j) as usize]
        };
        let expected = points(&[batch, m, n]).into_iter().map(|p| {
            let term = |i| at(&inputs[0], &left, transpose_left, p[0], p[1], i) * at(&inputs[1], &right, transpose_right, p[0], i, p[2]);
            (0..k).map(term).sum()
        });
        close(&run(&built, &inputs), &expected.collect::<Vec<_>>());
    }
    assert!(matches!(matmul(&MatMul { right: vec![3, 2], ..MatMul::new(2, 2, 2) }), Err(OperatorError::Mismatch { .. })));
}

#[test]
fn softmax_is_stable_and_sums_to_one() {
    for (shape, axis) in [(vec![3, 5], 1), (vec![3, 5], 0), (vec![2, 3, 4], 1), (vec![1, 7], 1), (vec![4, 1], 1)] {
        let built = softmax(&shape, axis, Scalar::F32).unwrap();
        check(&built);
        assert_eq!(temporaries(&built).len(), 2);
        let count: i64 = shape.iter().product();
        // e to these has no finite value.
        let x: Vec<f64> = (0..count).map(|i| 1000.0 + (i * 7 % 5) as f64).collect();
        let found = run(&built, std::slice::from_ref(&x));
        let all = points(&shape);
        let row = |p: &Vec<i64>| {
            all.iter().enumerate().filter(|(_, q)| (0..q.len()).all(|d| d == axis || q[d] == p[d])).map(|(i, _)| i).collect::<Vec<_>>()
        };
        let expected = all.iter().enumerate().map(|(i, p)| 1.0 / row(p).into_iter().map(|j| (x[j] - x[i]).exp()).sum::<f64>());
        close(&found, &expected.collect::<Vec<_>>());
    }
}

#[test]
fn layer_normalisation_has_mean_zero_and_variance_one() {
    let built = layernorm(&[3, 2, 4], 1, 0.0, true, true, Scalar::F32).unwrap();
    check(&built);
    let mut rng = fastrand::Rng::with_seed(5);
    let x = random(&mut rng, 24);
    let (scale, bias) = (random(&mut rng, 8), random(&mut rng, 8));
    let found = run(&built, &[x.clone(), scale.clone(), bias.clone()]);
    for row in 0..3 {
        let plain: Vec<f64> = (0..8).map(|i| (found[row * 8 + i] - bias[i]) / scale[i]).collect();
        assert!(plain.iter().sum::<f64>().abs() < 1e-9);
        assert!((plain.iter().map(|v| v * v).sum::<f64>() / 8.0 - 1.0).abs() < 1e-9);
        // Order is kept where the scale is divided out.
        assert_eq!(plain[0] < plain[1], x[row * 8] < x[row * 8 + 1]);
    }
}

#[test]
fn moves_and_reductions() {
    let x: Vec<f64> = (0..24).map(f64::from).collect();
    let input = |name: &str, shape: &[i64]| tensor(name, shape, Scalar::F32, Role::Activation);
    let one = |operator: Operator| {
        check(&operator);
        run(&operator, std::slice::from_ref(&x))
    };
    let f = Scalar::F32;
    assert_eq!(one(copy(&[2, 3, 4], f).unwrap()), x);
    assert_eq!(one(transpose(&[4, 6], &[1, 0], f).unwrap())[..5], [0.0, 6.0, 12.0, 18.0, 1.0]);
    assert_eq!(one(slice(&[4, 6], &[3, 1], &[-2, 3], &[2, 2], f).unwrap()), [19.0, 22.0, 7.0, 10.0]);
    assert_eq!(one(pad(&[24], &[1], &[-22], f).unwrap()), [0.0, 0.0, 1.0]);
    assert_eq!(one(reduce(ReduceKind::Sum, &[2, 3, 4], &[0, 2], false, f).unwrap()), [60.0, 92.0, 124.0]);
    assert_eq!(one(reduce(ReduceKind::Max, &[2, 12], &[0, 1], false, f).unwrap()), [23.0]);
    assert_eq!(one(reduce(ReduceKind::Mean, &[24], &[0], true, f).unwrap()), [11.5]);
    assert_eq!(one(reduce(ReduceKind::Min, &[2, 12], &[1], false, f).unwrap()), [0.0, 12.0]);
    assert_eq!(one(reduce(ReduceKind::SumSquare, &[4, 6], &[1], false, f).unwrap())[0], 55.0);
    assert_eq!(one(reduce(ReduceKind::Prod, &[8, 3], &[1], true, f).unwrap())[..3], [0.0, 60.0, 336.0]);
    close(&one(reduce(ReduceKind::LogSum, &[2, 3, 4], &[0, 2], false, f).unwrap()), &[60.0, 92.0, 124.0].map(f64::ln));
    let logarithm = |row: std::ops::Range<i32>| row.map(|x| f64::from(x).exp()).sum::<f64>().ln();
    close(&one(reduce(ReduceKind::LogSumExp, &[2, 12], &[1], false, f).unwrap()), &[logarithm(0..12), logarithm(12..24)]);
    close(&one(reduce(ReduceKind::LogSumExp, &[24], &[0], true, f).unwrap()), &[logarithm(0..24)]);
    assert_eq!(one(global_average_pool(&[1, 2, 3, 4], f).unwrap()), [5.5, 17.5]);
    let joined = concat(&[input("a", &[1, 2]), input("b", &[1, 3])], 1).unwrap();
    check(&joined);
    assert_eq!(run(&joined, &[vec![1.0, 2.0], vec![3.0, 4.0, 5.0]]), [1.0, 2.0, 3.0, 4.0, 5.0]);
    let sum = elementwise("sum", &[input("a", &[2, 1]), input("b", &[3])], &[2, 3], f, |x, _| add(x[0].clone(), x[1].clone())).unwrap();
    check(&sum);
    assert_eq!(run(&sum, &[vec![10.0, 20.0], vec![1.0, 2.0, 3.0]]), [11.0, 12.0, 13.0, 21.0, 22.0, 23.0]);
    let wrong = elementwise("sum", &[input("a", &[2])], &[2, 3], f, |x, _| x[0].clone()).unwrap_err();
    assert_eq!(wrong.to_string(), "`sum`: `a` of shape [2] does not broadcast to [2, 3]");
    assert!(slice(&[4], &[0], &[1], &[5], f).is_err() && transpose(&[4, 6], &[0, 0], f).is_err());
}

/// Factors whose product stays near to 1.
fn near_one(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| 1.0 + 1e-3 * value).collect()
}

/// A reduction of any length and shape is the same in parts, none of which is too long for one work-item.
#[test]
fn long_reductions_in_parts() {
    let mut rng = fastrand::Rng::with_seed(14);
    let f = Scalar::F32;
    let short = |operator: &Operator| {
        for step in &operator.steps {
            assert!(step.reduce.iter().map(|a| a.extent).product::<i64>() <= LONGEST, "{}", step.name);
            assert!(step.all_axes().all(|a| a.extent > 1) || step.axes.len() == 1, "{}", step.name);
            assert!(std::ptr::eq(step, operator.steps.last().unwrap()) || step.output.element == Scalar::F32);
        }
    };
    // Divisible, odd and prime lengths, one output and several, one axis and several, two levels.
    for (shape, over, steps) in [
        (vec![32768], vec![0], 1),
        (vec![32770], vec![0], 3),
        (vec![1_000_000], vec![0], 2),
        (vec![3, 40_009], vec![1], 3),
        (vec![40_009, 2], vec![0], 3),
        (vec![2, 200, 300], vec![1, 2], 2),
        (vec![199, 3, 211], vec![0, 2], 3),
        (vec![2; 17], (0..17).collect(), 3),
    ] {
        let input = random(&mut rng, shape.iter().product());
        for kind in [ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max, ReduceKind::Min, ReduceKind::L1, ReduceKind::L2, ReduceKind::Prod]
        {
            let input = if kind == ReduceKind::Prod { near_one(&input) } else { input.clone() };
            let operator = reduce(kind, &shape, &over, false, f).unwrap();
            short(&operator);
            assert_eq!(operator.steps.len(), steps, "{shape:?}");
            let kept: Vec<usize> = (0..shape.len()).filter(|d| !over.contains(d)).collect();
            let mut expected = vec![
                match kind {
                    ReduceKind::Max => f64::MIN,
                    ReduceKind::Min => f64::MAX,
                    ReduceKind::Prod => 1.0,
                    _ => 0.0,
                };
                kept.iter().map(|&d| shape[d] as usize).product()
            ];
            for (flat, point) in points(&shape).iter().enumerate() {
                let at = &mut expected[kept.iter().fold(0, |at, &d| at * shape[d] as usize + point[d] as usize)];
                *at = match (kind, input[flat]) {
                    (ReduceKind::Max, x) => at.max(x),
                    (ReduceKind::Min, x) => at.min(x),
                    (ReduceKind::L1, x) => *at + x.abs(),
                    (ReduceKind::L2, x) => *at + x * x,
                    (ReduceKind::Prod, x) => *at * x,
                    (_, x) => *at + x,
                };
            }
            if kind == ReduceKind::Mean {
                let count = over.iter().map(|&d| shape[d]).product::<i64>() as f64;
                expected.iter_mut().for_each(|e| *e /= count);
            }
            if kind == ReduceKind::L2 {
                expected.iter_mut().for_each(|e| *e = e.sqrt());
            }
            close(&run(&operator, std::slice::from_ref(&input)), &expected);
        }
    }
    for text in ["matmul m=2 n=3 k=40001", "fc n=1 k=70000 m=2", "conv2d n=1 c=4000 h=4 w=3 k=2 r=3 s=3 pad=1 dtype=f16s"] {
        let operator = parse_operator(text).unwrap();
        short(&operator);
        assert!(operator.steps.len() > 1, "{text}");
        let [left, right] = external_inputs(&operator)[..] else { panic!("{text}") };
        let values = [random(&mut rng, left.len() as i64), random(&mut rng, right.len() as i64)];
        // The same expression as it is before it is cut.
        let whole = unsplit(text);
        close(&run(&operator, &values), &run(&whole, &values));
    }
    // No partial result may need more than 32 bits to be addressed.
    assert_eq!(parse_operator("matmul m=40000 n=40000 k=50000").unwrap().steps.len(), 1);
}

/// What was cut is found again, whatever it is of and whatever reads it; what was not stays.
#[test]
fn pieces_of_a_reduction_are_one_again() {
    let f = Scalar::F32;
    let names = |steps: &[TensorExpr]| steps.iter().map(|step| step.name.to_string()).collect::<Vec<_>>();
    for text in [
        "softmax n=3 c=100000",
        "softmax n=1 c=40009",
        "layernorm n=2 c=65538",
        "softmax n=5 c=3000 dtype=f16",
        "softmax n=2 c=600000 dtype=f16",
    ] {
        let operator = parse_operator(text).unwrap();
        let whole = split::whole(&operator.steps);
        assert_eq!((whole.len(), operator.steps.len() > 3), (3, true), "{text}");
        let again = split::split(whole.clone());
        assert_eq!(names(&again), names(&operator.steps), "{text}");
        assert!(text.contains("n=1 ") || again == operator.steps, "{text}");
        // Of another length, nothing was cut.
        let c = whole[0].reduce[0].extent;
        let short = parse_operator(&text.replace(&format!("c={c}"), "c=100")).unwrap();
        assert_eq!(names(&whole), names(&short.steps), "{text}");
        assert_eq!(split::whole(&short.steps), short.steps);
    }
    for (shape, over) in
        [(vec![32770], vec![0]), (vec![3, 40_009], vec![1]), (vec![2, 200, 300], vec![1, 2]), (vec![199, 3, 211], vec![0, 2])]
    {
        let operator = reduce(ReduceKind::Mean, &shape, &over, false, f).unwrap();
        let [whole] = &split::whole(&operator.steps)[..] else { panic!("{shape:?}") };
        assert_eq!(split::split(vec![whole.clone()]), operator.steps);
        let terms: i64 = whole.reduce.iter().map(|own| own.extent).product();
        assert_eq!(terms, over.iter().map(|&d| shape[d]).product::<i64>());
        // Something else than what was cut is no part of it.
        let mut other = operator.steps.clone();
        other[0].body = add(other[0].body.clone(), ScalarExpr::Const(1.0));
        assert_eq!(split::whole(&other).len(), if other.len() == 3 { 3 } else { 1 }, "{shape:?}");
    }
}

/// The matrix product or convolution of a text in one step.
fn unsplit(text: &str) -> Operator {
    let shorter = text.replace("40001", "11").replace("70000", "11").replace("4000", "11");
    let mut operator = parse_operator(&shorter).unwrap();
    let long = [("matmul", 40001), ("fc", 70000), ("conv2d", 4000)].into_iter().find(|l| text.starts_with(l.0)).unwrap().1;
    let step = &mut operator.steps[0];
    step.reduce.iter_mut().filter(|a| a.extent == 11).for_each(|a| a.extent = long);
    step.inputs.iter_mut().flat_map(|t| &mut t.shape).filter(|e| **e == 11).for_each(|e| *e = long);
    operator
}

/// What is found through numbers, in loops written out; positions from the end, and beyond both ends, among them.
#[test]
fn elements_found_through_positions() {
    let own = |shape: &[i64], axis, index: &[i64]| {
        let (shape, index) = (shape.to_vec(), index.to_vec());
        Lookup { shape, axis, dimensions: 1, index, positions: Scalar::I32, element: Scalar::F32 }
    };
    let ten: Vec<f64> = (0..12).map(f64::from).collect();
    // [3, 4], columns.
    let columns = gather(&own(&[3, 4], 1, &[3])).unwrap();
    check(&columns);
    assert_eq!(run(&columns, &[vec![2.0, -1.0, 4.0], ten.clone()]), [2., 3., 0., 6., 7., 0., 10., 11., 0.]);
    let one = gather(&own(&[3, 4], 0, &[])).unwrap();
    assert_eq!(run(&one, &[vec![1.0], ten.clone()]), [4., 5., 6., 7.]);
    let square = gather(&own(&[3, 2], 0, &[2, 2])).unwrap();
    assert_eq!(run(&square, &[vec![0., 2., 1., -4.], ten[..6].to_vec()]), [0., 1., 4., 5., 2., 3., 0., 0.]);
    let elements = gather_elements(&own(&[3, 4], 0, &[2, 3])).unwrap();
    check(&elements);
    assert_eq!(run(&elements, &[vec![0., 1., 2., -1., 0., 3.], ten.clone()]), [0., 5., 10., 8., 1., 0.]);
    // Rows are added to, one of them twice, one beyond the end not at all.
    let add = scatter(ScatterKind::Add, &own(&[3, 2], 0, &[4, 1]), &[3, 2], &[4, 2]).unwrap();
    check(&add);
    let updates: Vec<f64> = (1..9).map(f64::from).collect();
    assert_eq!(run(&add, &[vec![2., 0., 2., 3.], updates.clone(), vec![0.5; 6]]), [3.5, 4.5, 0.5, 0.5, 6.5, 8.5]);
    let each = scatter(ScatterKind::Add, &own(&[2, 2], 1, &[2, 3]), &[2, 2], &[2, 3]).unwrap();
    assert_eq!(run(&each, &[vec![0., 1., 0., 1., 1., -1.], updates[..6].to_vec(), vec![0.0; 4]]), [4., 2., 0., 15.]);
    let bag = embedding_bag(&own(&[4, 2], 0, &[5]), 3, false).unwrap();
    check(&bag);
    let rows: Vec<f64> = (0..8).map(f64::from).collect();
    // Inputs in the order in which they are read: offsets, positions, rows.
    let offsets: Vec<&str> = bag.steps[0].inputs.iter().map(|t| &*t.name).collect();
    assert_eq!(offsets, ["offsets", "index", "input"]);
    assert_eq!(run(&bag, &[vec![0., 2., 2.], vec![0., 3., 1., 1., 2.], rows]), [6., 8., 0., 0., 8., 11.]);
    // Positions of rows and of columns together: elements, and sums at them, from one number on.
    let pair = |index: &[i64]| Lookup { dimensions: 2, ..own(&[2, 3, 2], 0, index) };
    let points = gather(&pair(&[3])).unwrap();
    check(&points);
    assert_eq!(run(&points, &[vec![1., 0., -1.], vec![2., -3., 3.], ten.clone()]), [10., 11., 0., 1., 0., 0.]);
    let put = scatter(ScatterKind::Add, &pair(&[3, 1]), &[1], &[3, 2]).unwrap();
    check(&put);
    let sums = run(&put, &[vec![1., 0., -1.], vec![2., -3., 2.], updates[..6].to_vec(), vec![0.5]]);
    assert_eq!(sums, [3.5, 4.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 6.5, 8.5]);
    assert!(gather(&Lookup { dimensions: 3, ..own(&[2, 3], 0, &[3]) }).is_err());
    let triangle = lower_triangle(&[1, 3, 3], 1, -1, Scalar::F32).unwrap();
    assert_eq!(triangle.steps[0].inputs.iter().filter_map(|own| own.values.as_deref()).collect::<Vec<_>>(), [[1., 2., 2.], [0., 0., 1.]]);
    let inputs = [vec![1., 2., 2.], vec![0., 0., 1.], (0..9).map(f64::from).collect()];
    assert_eq!(run(&triangle, &inputs), [3., 6., 7.]);
    // A million rows have positions in 24 bits, seventeen million have not.
    let floats = |rows| gather(&Lookup { positions: Scalar::F32, ..own(&[rows, 1], 0, &[3]) });
    assert!(floats(1 << 24).is_ok() && floats((1 << 24) + 1).is_err());
    assert!(gather(&own(&[3, 4], 2, &[3])).is_err());
    assert!(scatter(ScatterKind::Add, &own(&[3, 4], 0, &[2]), &[3, 4], &[2, 4]).is_err());
    assert!(scatter(ScatterKind::Add, &own(&[3, 4], 0, &[2, 1]), &[3, 4], &[2, 5]).is_err());
    assert!(scatter(ScatterKind::Add, &own(&[3, 4], 0, &[2, 1]), &[3, 3], &[2, 4]).is_err());
}

/// Updates in place of elements, or combined with them, against a walk over the updates in their order.
#[test]
fn elements_put_to_positions() {
    let mut rng = fastrand::Rng::with_seed(11);
    let (mut again, mut beyond, mut fewer) = (0, 0, 0);
    for n in 0..600 {
        let shape: Vec<i64> = (0..rng.usize(1..4)).map(|_| rng.i64(1..5)).collect();
        let axis = rng.usize(..shape.len());
        let dimensions = if rng.bool() { 1 } else { rng.usize(1..=shape.len() - axis) };
        let behind = axis + dimensions;
        let mut updates = [&shape[..axis], &[rng.i64(1..6)], &shape[behind..]].concat();
        // Of some dimensions the first elements alone.
        (0..updates.len()).filter(|d| *d != axis).for_each(|d| updates[d] = if rng.bool() { updates[d] } else { rng.i64(1..=updates[d]) });
        let each = dimensions == 1 && rng.bool();
        let index: Vec<i64> = (0..updates.len()).map(|d| if each || d == axis { updates[d] } else { 1 }).collect();
        let input: Vec<i64> = shape.iter().map(|&e| if rng.bool() { e } else { 1 }).collect();
        let positions = if rng.bool() { Scalar::I32 } else { Scalar::F32 };
        let own = Lookup { shape: shape.clone(), axis, dimensions, index: index.clone(), positions, element: Scalar::F32 };
        let kind = ScatterKind::ALL[n % 5];
        let operator = scatter(kind, &own, &input, &updates).unwrap();
        check(&operator);
        let count = |shape: &[i64]| shape.iter().product::<i64>() as usize;
        let found: Vec<Vec<f64>> =
            (axis..behind).map(|d| (0..count(&index)).map(|_| rng.i64(-shape[d] - 1..=shape[d]) as f64).collect()).collect();
        let mut numbers = |shape: &[i64]| -> Vec<f64> { (0..count(shape)).map(|_| f64::from(rng.i32(-8..9)) / 4.0).collect() };
        let (put, data) = (numbers(&updates), numbers(&input));

        let plain =
            |shape: &[i64], at: &[i64]| shape.iter().zip(at).fold(0, |flat, (e, i)| flat * e + if *e == 1 { 0 } else { *i }) as usize;
        let mut expected = vec![0.0; count(&shape)];
        for at in points(&shape) {
            expected[plain(&shape, &at)] = data[plain(&input, &at[..])];
        }
        let mut seen = vec![false; expected.len()];
        fewer += usize::from((0..updates.len()).any(|u| u != axis && updates[u] < [&shape[..axis], &[0], &shape[behind..]].concat()[u]));
        for at in points(&updates) {
            let here = plain(&index, &at);
            let place = |(d, said): (usize, &Vec<f64>)| if said[here] < 0.0 { said[here] as i64 + shape[d] } else { said[here] as i64 };
            let places: Vec<i64> = (axis..behind).zip(&found).map(place).collect();
            let to = [&at[..axis], &places, &at[axis + 1..]].concat();
            if to.iter().zip(&shape).any(|(i, e)| !(0..*e).contains(i)) {
                beyond += 1;
                continue;
            }
            let (there, update) = (&mut expected[plain(&shape, &to)], put[plain(&updates, &at)]);
            *there = match kind {
                ScatterKind::Last => update,
                ScatterKind::Add => *there + update,
                ScatterKind::Mul => *there * update,
                ScatterKind::Max => there.max(update),
                ScatterKind::Min => there.min(update),
            };
            again += usize::from(std::mem::replace(&mut seen[plain(&shape, &to)], true));
        }
        let given = external_inputs(&operator).into_iter().map(|own| match &*own.name {
            "updates" => put.clone(),
            "input" => data.clone(),
            name => found[name.strip_prefix("index").unwrap().parse().unwrap_or(0)].clone(),
        });
        let made = run(&operator, &given.collect::<Vec<_>>());
        let text = format!("{kind:?} of {updates:?} at {index:?} in {shape:?} along {dimensions} from {axis}");
        assert_eq!(made, expected, "{text}");
    }
    assert!(again > 100 && beyond > 100 && fewer > 50, "{again} {beyond} {fewer}");
}

/// The examples of ONNX's Resize, and what it says of each mode.
#[test]
fn resized_values() {
    let resized = |shape: &[i64], output: &[i64], how, coordinates, values: Vec<f64>| {
        let taps = |(&own, &out): (&i64, &i64)| Some(Taps::new(how, coordinates, (own, out), out as f64 / own as f64));
        let taps: Vec<_> = shape.iter().zip(output).map(taps).collect();
        let own = resize(shape, &taps, Scalar::F32).unwrap();
        check(&own);
        let find = |t: &Tensor| t.values.as_ref().map_or_else(|| values.clone(), |known| known.to_vec());
        run(&own, &external_inputs(&own).into_iter().map(find).collect::<Vec<_>>())
    };
    let four = vec![1., 2., 3., 4.];
    let linear = resized(&[2, 2], &[4, 4], Interpolation::Linear, Coordinates::HalfPixel, four.clone());
    let expected = [1., 1.25, 1.75, 2., 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3., 3.25, 3.75, 4.];
    assert_eq!(linear, expected);
    let aligned = resized(&[2, 2], &[4, 4], Interpolation::Linear, Coordinates::AlignCorners, four.clone());
    assert!((aligned[1] - 4.0 / 3.0).abs() < 1e-12 && aligned[15] == 4.0, "{aligned:?}");
    let sixteen: Vec<f64> = (1..17).map(f64::from).collect();
    let cubic = resized(&[4, 4], &[8, 8], Interpolation::Cubic, Coordinates::HalfPixel, sixteen.clone());
    assert!((cubic[0] - 0.47265625).abs() < 1e-12 && (cubic[1] - 0.76953125).abs() < 1e-12, "{cubic:?}");
    let nearest = |how, coordinates, output: &[i64]| resized(&[2, 2], output, Interpolation::Nearest(how), coordinates, four.clone());
    let twice = nearest(Nearest::RoundPreferFloor, Coordinates::HalfPixel, &[4, 6]);
    assert_eq!(twice[..12], [1., 1., 1., 2., 2., 2., 1., 1., 1., 2., 2., 2.]);
    assert_eq!(nearest(Nearest::Floor, Coordinates::Asymmetric, &[3, 3]), [1., 1., 2., 1., 1., 2., 3., 3., 4.]);
    assert_eq!(nearest(Nearest::Ceil, Coordinates::Asymmetric, &[3, 3]), [1., 2., 2., 3., 4., 4., 3., 4., 4.]);
    // Smaller than it was: the middle of the first two.
    let half = resized(&[1, 4], &[1, 2], Interpolation::Linear, Coordinates::HalfPixel, four.clone());
    assert_eq!(half, [1.5, 3.5]);
    assert!(resize(&[2, 2], &[None], Scalar::F32).is_err());
}

/// What a kernel could not compute is said where the operator is made, never wrapped.
#[test]
fn positions_beyond_32_bits_are_refused() {
    let far = |made: Result<Operator, OperatorError>| matches!(made, Err(OperatorError::TooFar { .. }));
    let window = Window { stride: (1 << 30) - 1, pad_after: i64::from(i32::MAX), dilation: i64::from(i32::MAX), ..Window::new(1 << 30, 2) };
    let sparse =
        |window| conv(&Conv { batch: 1, channels: 1, filters: 1, groups: 1, spatial: vec![window], bias: false, element: Scalar::F32 });
    assert!(far(sparse(window)), "its second window ends behind 2^31");
    assert!(sparse(Window { stride: 1 << 30, ..window }).is_ok(), "there is no second one");

    assert!(far(pad(&[4], &[i64::MAX], &[1], Scalar::F32)));
    assert!(pad(&[4], &[i64::MIN], &[1], Scalar::F32).is_err());
    assert!(slice(&[9], &[2], &[i64::MAX], &[2], Scalar::F32).is_err());
    let one = slice(&[9], &[2], &[i64::MAX], &[1], Scalar::F32).expect("the step to the next of one element means nothing");
    assert_eq!(one.steps[0].evaluate(&[0], &[&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]]), 2.0);
}
