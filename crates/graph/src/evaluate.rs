//! The oracle: a graph evaluated node by node in `f64` with plain loops over ONNX's definitions.
//!
//! Nothing here passes through tensor expressions, so that it can say whether fusion and lowering kept the meaning.

mod attention;
mod gradients;

use crate::error::GraphError;
use crate::graph::op::{Arithmetic, Function, MOST_DIVIDED, Op};
use crate::graph::{Graph, Node, TensorId};
use std::sync::Arc;
use warpsight_generate::operators::{Coordinates, GELU_TANH, Interpolation, Nearest, PoolKind, ReduceKind, ScatterKind, Window};
use warpsight_ir::interpret::{larger, rounded, smaller};

/// The graph's outputs for one array per input, all row-major and in the graph's order. What nobody reads any more is let go.
///
/// # Errors
/// [`GraphError::Values`] where arrays and inputs do not fit; [`GraphError::TooLarge`]; [`GraphError::Opaque`].
pub fn evaluate_f64(graph: &Graph, inputs: &[Vec<f64>]) -> Result<Vec<Vec<f64>>, GraphError> {
    check_inputs(graph, inputs)?;
    graph.fits()?;
    graph.has_values()?;
    let last = graph.last_uses();
    let mut values: Vec<Option<Arc<[f64]>>> = graph.tensors.iter().map(|t| t.constant.clone()).collect();
    for (id, input) in graph.inputs.iter().zip(inputs) {
        values[id.0] = Some(input.as_slice().into());
    }
    // Nodes are in order, so what a node reads is there, or all of it is one number; an absent value could only be an empty one.
    let get = |values: &[Option<Arc<[f64]>>], i: usize| values[i].clone().or_else(|| graph.tensors[i].filled()).unwrap_or_default();
    for (position, node) in graph.nodes.iter().enumerate() {
        let read: Vec<Arc<[f64]>> = node.inputs.iter().map(|i| get(&values, i.0)).collect();
        let slices: Vec<&[f64]> = read.iter().map(AsRef::as_ref).collect();
        for (output, made) in node.outputs.iter().zip(evaluate_node(graph, node, &slices)?) {
            values[output.0] = Some(made.into());
        }
        for input in node.inputs.iter().filter(|i| last[i.0] == position) {
            values[input.0] = None;
        }
    }
    Ok(graph.outputs.iter().map(|o| get(&values, o.0).to_vec()).collect())
}

/// Whether there is one array of the right length per input.
pub(crate) fn check_inputs(graph: &Graph, inputs: &[Vec<f64>]) -> Result<(), GraphError> {
    if inputs.len() != graph.inputs.len() {
        return Err(GraphError::Values { what: format!("{} arrays for {} inputs", inputs.len(), graph.inputs.len()) });
    }
    for (id, input) in graph.inputs.iter().zip(inputs) {
        let tensor = graph.tensor(*id);
        if tensor.len() != input.len() {
            let what = format!("input `{}` of shape {:?} needs {} elements, not {}", tensor.name, tensor.shape, tensor.len(), input.len());
            return Err(GraphError::Values { what });
        }
    }
    Ok(())
}

/// One node's outputs; shapes are those of the graph's tensors.
pub(crate) fn evaluate_node(graph: &Graph, node: &Node, x: &[&[f64]]) -> Result<Vec<Vec<f64>>, GraphError> {
    let op = node.known_op()?;
    let shape = |id: &TensorId| graph.tensor(*id).shape.as_slice();
    let shapes = (node.inputs.iter().map(shape).collect::<Vec<_>>(), node.outputs.iter().map(shape).collect::<Vec<_>>());
    match op {
        Op::Attention(own) => return Ok(attention::attention(own, x, &shapes.0)),
        Op::AttentionGradient(own) => return Ok(attention::gradient(own, x, &shapes.0, &shapes.1)),
        Op::LayerNormalizationGradient { axis } => return Ok(gradients::layer_normalization(x, shapes.0[1], *axis)),
        Op::EmbeddingBag => return Ok(gradients::bags(x, shapes.0[0])),
        Op::EmbeddingBagGradient => return Ok(vec![gradients::of_bags(x, shapes.1[0])]),
        _ => {}
    }
    let mut outputs = vec![result(graph, node, op, x)];
    if let (Op::LayerNormalization { axis, epsilon }, true) = (op, node.outputs.len() > 1) {
        outputs.extend(statistics(x[0], &graph.tensor(node.output()).shape, *axis, *epsilon));
    }
    Ok(outputs)
}

fn result(graph: &Graph, node: &Node, op: &Op, x: &[&[f64]]) -> Vec<f64> {
    let shape = |i: usize| graph.tensor(node.inputs[i]).shape.as_slice();
    let output = graph.tensor(node.output()).shape.as_slice();
    match op {
        Op::Unary(f) => x[0].iter().map(|&v| function(*f, v)).collect(),
        Op::Binary(f) => {
            let (a, b) = (strides(shape(0), output.len()), strides(shape(1), output.len()));
            points(output).map(|p| arithmetic(*f, x[0][at(&p, &a)], x[1][at(&p, &b)])).collect()
        }
        Op::Select => {
            let from = [0, 1, 2].map(|i| strides(shape(i), output.len()));
            let of = |p: Vec<usize>| if x[0][at(&p, &from[0])] != 0.0 { x[1][at(&p, &from[1])] } else { x[2][at(&p, &from[2])] };
            points(output).map(of).collect()
        }
        Op::Gradient(f) => {
            let (a, b) = (strides(shape(0), output.len()), strides(shape(1), output.len()));
            points(output).map(|p| x[0][at(&p, &a)] * slope(*f, x[1][at(&p, &b)])).collect()
        }
        Op::Gather { axis } => {
            let (whole, rank, behind) = (shape(0), shape(1).len(), axis + x.len() - 1);
            let plain: Vec<usize> = (0..rank).map(|d| from_plain(shape(1), d)).collect();
            let of = |p: Vec<usize>| {
                let from = at(&p[*axis..*axis + rank], &plain);
                let found = (*axis..behind).zip(&x[1..]).map(|(d, said)| position(said[from], whole[d])).collect::<Option<Vec<_>>>()?;
                let own = p[..*axis].iter().chain(&found).chain(&p[*axis + rank..]);
                Some(x[0][own.enumerate().map(|(d, i)| i * from_plain(whole, d)).sum::<usize>()])
            };
            points(output).map(|p| of(p).unwrap_or(0.0)).collect()
        }
        Op::GatherElements { axis } => {
            let of = |(n, mut p): (usize, Vec<usize>)| {
                p[*axis] = position(x[1][n], shape(0)[*axis])?;
                Some(x[0][p.iter().enumerate().map(|(d, i)| i * from_plain(shape(0), d)).sum::<usize>()])
            };
            points(output).enumerate().map(|own| of(own).unwrap_or(0.0)).collect()
        }
        Op::Scatter { axis, kind } => {
            let (data, last) = (strides(shape(0), output.len()), x.len() - 1);
            let mut made: Vec<f64> = points(output).map(|p| x[0][at(&p, &data)]).collect();
            let each = last == 2 && shape(1) == shape(2);
            for (n, p) in points(shape(last)).enumerate() {
                let from = if each { n } else { p[*axis] };
                let found = (*axis..).zip(&x[1..last]).map(|(d, said)| position(said[from], output[d])).collect::<Option<Vec<_>>>();
                if let Some(found) = found {
                    let own = p[..*axis].iter().chain(&found).chain(&p[*axis + 1..]);
                    let (there, put) = (&mut made[own.enumerate().map(|(d, i)| i * from_plain(output, d)).sum::<usize>()], x[last][n]);
                    *there = match kind {
                        ScatterKind::Last => put,
                        ScatterKind::Add => *there + put,
                        ScatterKind::Mul => *there * put,
                        ScatterKind::Max => larger(*there, put),
                        ScatterKind::Min => smaller(*there, put),
                    };
                }
            }
            made
        }
        Op::Update { axis, start } => updated([x[0], x[1]], output, shape(1), *axis, *start),
        Op::CachedMatMul { start, transpose_right } => {
            let (kept, made) = (shape(1), output);
            let rows = updated([x[1], x[2]], kept, shape(2), 1, *start);
            let [groups, depth] = [1, 3].map(|d| shape(0)[d] as usize);
            let columns = kept[2] as usize / groups;
            // A row's element that belongs to a group.
            let element = |b: usize, row: usize, g: usize, c: usize| rows[((b * kept[1] as usize + row) * groups + g) * columns + c];
            let value = |p: Vec<usize>| {
                let left = &x[0][((p[0] * groups + p[1]) * made[2] as usize + p[2]) * depth..][..depth];
                let right = |k: usize| if *transpose_right { element(p[0], p[3], p[1], k) } else { element(p[0], k, p[1], p[3]) };
                left.iter().enumerate().map(|(k, own)| own * right(k)).sum()
            };
            points(output).map(value).collect()
        }
        Op::LowerPairs { axis, diagonal } => {
            let (whole, extent) = (shape(0), shape(0)[*axis]);
            let pairs: Vec<(i64, i64)> =
                (0..extent).flat_map(|i| (0..extent).map(move |j| (i, j))).filter(|(i, j)| *j <= i + diagonal).collect();
            let source = |p: Vec<usize>| {
                let (i, j) = pairs[p[*axis]];
                let own = p[..*axis].iter().copied().chain([i as usize, j as usize]).chain(p[*axis + 1..].iter().copied());
                own.enumerate().map(|(d, i)| i * from_plain(whole, d)).sum::<usize>()
            };
            points(output).map(|p| x[0][source(p)]).collect()
        }
        Op::Triangle { upper, diagonal, beyond } => {
            let stays = |p: &[usize]| {
                let (column, middle) = (p[p.len() - 1] as i128, p[p.len() - 2] as i128 + i128::from(*diagonal));
                column == middle || (column > middle) == *upper
            };
            points(output).zip(x[0]).map(|(p, &own)| if stays(&p) { own } else { *beyond }).collect()
        }
        // Those of several outputs are evaluated by themselves.
        Op::Attention(_) | Op::AttentionGradient(_) | Op::LayerNormalizationGradient { .. } => vec![],
        Op::EmbeddingBag | Op::EmbeddingBagGradient => vec![],
        Op::Resize { interpolation, coordinates, scales } => resized(x[0], shape(0), output, (*interpolation, *coordinates), scales),
        Op::Alias => x[0].to_vec(),
        Op::Conv { windows, groups } => convolution(x, shape(0), shape(1), output, windows, *groups as usize),
        Op::ConvTranspose { windows, .. } => transposed(x, shape(0), shape(1), output, windows),
        Op::BatchNormalization { epsilon } => {
            let inner: usize = output[2..].iter().product::<i64>() as usize;
            let channels = output[1] as usize;
            let of = |(i, &v): (usize, &f64)| {
                let c = i / inner % channels;
                (v - x[3][c]) / (x[4][c] + epsilon).sqrt() * x[1][c] + x[2][c]
            };
            x[0].iter().enumerate().map(of).collect()
        }
        Op::MatMul { transpose_left, transpose_right } => {
            let (left, right, bias) = graph.factors(node);
            let mut product = matmul([x[left], x[right]], shape(left), shape(right), output, (*transpose_left, *transpose_right));
            if let Some(bias) = bias.map(|i| x[i]) {
                product.iter_mut().enumerate().for_each(|(i, sum)| *sum += bias[i % bias.len()]);
            }
            product
        }
        Op::Pool { kind, windows, .. } => pool(x[0], output, windows, *kind),
        Op::GlobalAveragePool => {
            let inner = x[0].len() / (output[0] * output[1]) as usize;
            x[0].chunks(inner).map(|c| c.iter().sum::<f64>() / inner as f64).collect()
        }
        Op::Reduce { kind, axes, .. } => reduce(x[0], shape(0), axes, *kind),
        Op::Softmax { axis } => softmax(x[0], output, *axis),
        Op::LayerNormalization { axis, epsilon } => layer_normalization(x, output, *axis, *epsilon),
        Op::Transpose { permutation } => {
            let moved: Vec<usize> = permutation.iter().map(|&p| from_plain(shape(0), p)).collect();
            points(output).map(|p| x[0][at(&p, &moved)]).collect()
        }
        Op::Slice { starts, steps } => {
            let plain: Vec<usize> = (0..output.len()).map(|d| from_plain(shape(0), d)).collect();
            let source = |p: Vec<usize>| (0..p.len()).map(|d| (starts[d] + steps[d] * p[d] as i64) as usize * plain[d]).sum::<usize>();
            points(output).map(|p| x[0][source(p)]).collect()
        }
        Op::Concat { axis } => {
            let outer: usize = output[..*axis].iter().product::<i64>() as usize;
            let mut joined = Vec::with_capacity(output.iter().product::<i64>() as usize);
            for o in 0..outer {
                for part in x {
                    let length = part.len() / outer;
                    joined.extend(&part[o * length..(o + 1) * length]);
                }
            }
            joined
        }
        Op::Pad { before, beyond, .. } => {
            let of = |p: Vec<usize>| {
                let mut flat = 0;
                for (d, &extent) in shape(0).iter().enumerate() {
                    let Some(i) = beyond.place(p[d] as i64 - before[d], extent) else { return 0.0 };
                    flat = flat * extent as usize + i as usize;
                }
                x[0][flat]
            };
            points(output).map(of).collect()
        }
    }
}

fn function(f: Function, x: f64) -> f64 {
    match f {
        Function::Relu => larger(x, 0.0),
        Function::LeakyRelu(alpha) => {
            if x >= 0.0 {
                x
            } else {
                alpha * x
            }
        }
        Function::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Function::Silu => x / (1.0 + (-x).exp()),
        Function::HardSigmoid(alpha, beta) => (alpha * x + beta).clamp(0.0, 1.0),
        Function::HardSwish => x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
        // ONNX: where low exceeds high, high wins.
        Function::Clip(low, high) => smaller(larger(x, low), high),
        Function::Tanh => x.tanh(),
        Function::Exp => x.exp(),
        Function::Log => x.ln(),
        Function::Sqrt => x.sqrt(),
        Function::Erf => libm::erf(x),
        Function::Neg => -x,
        Function::Abs => x.abs(),
        Function::Floor => x.floor(),
        Function::Ceil => x.ceil(),
        // No whole number is -0.
        Function::Trunc => x.trunc() + 0.0,
        Function::Reciprocal => 1.0 / x,
        Function::Power(p) => x.powf(p),
        Function::Round(to) => rounded(to, x),
        Function::Not => f64::from(x == 0.0),
        Function::Sin => x.sin(),
        Function::Cos => x.cos(),
        Function::Gelu => 0.5 * x * (1.0 + libm::erf(x / std::f64::consts::SQRT_2)),
        Function::GeluTanh => 0.5 * x * (1.0 + (GELU_TANH.0 * (x + GELU_TANH.1 * x.powi(3))).tanh()),
    }
}

fn arithmetic(f: Arithmetic, a: f64, b: f64) -> f64 {
    match f {
        Arithmetic::Add => a + b,
        Arithmetic::Sub => a - b,
        Arithmetic::Mul => a * b,
        Arithmetic::Div => a / b,
        // Nothing is said of a division by 0, but that there is a number.
        Arithmetic::Quotient => {
            let [a, b] = [a, b].map(|own| smaller(larger(own, -MOST_DIVIDED), MOST_DIVIDED));
            (a / if b == 0.0 { 1.0 } else { b }).trunc() + 0.0
        }
        Arithmetic::Min => smaller(a, b),
        Arithmetic::Max => larger(a, b),
        Arithmetic::Less => f64::from(a < b),
        Arithmetic::LessOrEqual => f64::from(a <= b),
        Arithmetic::Equal => f64::from(a == b),
        Arithmetic::And => f64::from(a != 0.0 && b != 0.0),
        Arithmetic::Or => f64::from(a != 0.0 || b != 0.0),
    }
}

/// The slope of a function, of its argument or its result as [`Op::Gradient`] has them.
fn slope(f: Function, at: f64) -> f64 {
    match f {
        Function::Relu => f64::from(at > 0.0),
        Function::Sigmoid => at * (1.0 - at),
        Function::Tanh => 1.0 - at * at,
        // SiLU: others have no gradient here.
        _ => {
            let sigmoid = 1.0 / (1.0 + (-at).exp());
            sigmoid * (1.0 + at * (1.0 - sigmoid))
        }
    }
}

/// Data in which a part takes its places along a dimension.
fn updated(x: [&[f64]; 2], whole: &[i64], part: &[i64], axis: usize, start: i64) -> Vec<f64> {
    let mut all = x[0].to_vec();
    for (n, mut p) in points(part).enumerate() {
        p[axis] += start as usize;
        all[p.iter().enumerate().map(|(d, i)| i * from_plain(whole, d)).sum::<usize>()] = x[1][n];
    }
    all
}

/// A position that may count from the end; `None` beyond both.
fn position(said: f64, extent: i64) -> Option<usize> {
    let whole = if said < 0.0 { said + extent as f64 } else { said }.trunc();
    (0.0..extent as f64).contains(&whole).then_some(whole as usize)
}

/// Dimension by dimension, each position of the output from the input's neighbours.
fn resized(x: &[f64], shape: &[i64], output: &[i64], (how, place): (Interpolation, Coordinates), scales: &[f64]) -> Vec<f64> {
    let (mut values, mut extents) = (x.to_vec(), shape.to_vec());
    for d in 0..shape.len() {
        let (own, wanted) = (shape[d], output[d]);
        if own == wanted && scales[d] == 1.0 {
            continue;
        }
        let middle = |i: i64| match place {
            Coordinates::PytorchHalfPixel | Coordinates::AlignCorners if wanted == 1 => 0.0,
            Coordinates::HalfPixel | Coordinates::PytorchHalfPixel => (i as f64 + 0.5) / scales[d] - 0.5,
            Coordinates::AlignCorners => i as f64 * (own - 1) as f64 / (wanted - 1) as f64,
            Coordinates::Asymmetric => i as f64 / scales[d],
        };
        let (inner, outer) = (from_plain(&extents, d), extents[..d].iter().product::<i64>() as usize);
        let mut made = Vec::with_capacity(outer * wanted as usize * inner);
        for (o, i, n) in (0..outer).flat_map(|o| (0..wanted).flat_map(move |i| (0..inner).map(move |n| (o, i, n)))) {
            let element = |at: f64| values[(o * own as usize + at.clamp(0.0, (own - 1) as f64) as usize) * inner + n];
            let at = middle(i);
            let (first, rest) = (at.floor(), at - at.floor());
            made.push(match how {
                Interpolation::Nearest(Nearest::RoundPreferFloor) => element(if rest > 0.5 { first + 1.0 } else { first }),
                Interpolation::Nearest(Nearest::RoundPreferCeil) => element(if rest >= 0.5 { first + 1.0 } else { first }),
                Interpolation::Nearest(Nearest::Floor) => element(first),
                Interpolation::Nearest(Nearest::Ceil) => element(at.ceil()),
                Interpolation::Linear => element(first) * (1.0 - rest) + element(first + 1.0) * rest,
                Interpolation::Cubic => {
                    let weight = |distance: f64| match distance {
                        d if d <= 1.0 => 1.25 * d.powi(3) - 2.25 * d.powi(2) + 1.0,
                        d => -0.75 * d.powi(3) + 3.75 * d.powi(2) - 6.0 * d + 3.0,
                    };
                    [-1.0, 0.0, 1.0, 2.0].iter().map(|step| element(first + step) * weight((step - rest).abs())).sum()
                }
            });
        }
        (values, extents[d]) = (made, wanted);
    }
    values
}

/// All points of a shape, last dimension fastest.
fn points(shape: &[i64]) -> impl Iterator<Item = Vec<usize>> {
    let length: usize = shape.iter().product::<i64>() as usize;
    let extents: Vec<usize> = shape.iter().map(|&e| e as usize).collect();
    (0..length).map(move |mut flat| {
        let mut point = vec![0; extents.len()];
        for d in (0..extents.len()).rev() {
            point[d] = flat % extents[d];
            flat /= extents[d];
        }
        point
    })
}

/// Elements from one to the next in dimension `d`.
fn from_plain(shape: &[i64], d: usize) -> usize {
    shape[d + 1..].iter().product::<i64>() as usize
}

/// Strides of a shape broadcast to `rank` dimensions; 0 where it is repeated.
fn strides(shape: &[i64], rank: usize) -> Vec<usize> {
    let missing = rank - shape.len();
    (0..rank).map(|d| if d < missing || shape[d - missing] == 1 { 0 } else { from_plain(shape, d - missing) }).collect()
}

fn at(point: &[usize], strides: &[usize]) -> usize {
    point.iter().zip(strides).map(|(p, s)| p * s).sum()
}

/// Extents as three spatial dimensions.
fn three(shape: &[i64]) -> [usize; 3] {
    let mut all = [1; 3];
    for (slot, &e) in all[3 - shape.len()..].iter_mut().zip(shape) {
        *slot = e as usize;
    }
    all
}

/// Windows as three spatial dimensions; the added ones have extent 1.
fn three_windows(windows: &[Window]) -> [Window; 3] {
    let mut all = [Window::new(1, 1); 3];
    all[3 - windows.len()..].copy_from_slice(windows);
    all
}

/// Where tap `t` of window `o` reads; `None` in the padding.
fn read(w: &Window, o: usize, t: usize) -> Option<usize> {
    let i = o as i64 * w.stride - w.pad_before + t as i64 * w.dilation;
    (0..w.input).contains(&i).then_some(i as usize)
}

fn convolution(x: &[&[f64]], input: &[i64], weight: &[i64], output: &[i64], windows: &[Window], groups: usize) -> Vec<f64> {
    let ([iz, iy, ix], [kz, ky, kx], [oz, oy, ox]) = (three(&input[2..]), three(&weight[2..]), three(&output[2..]));
    let [wz, wy, wx] = three_windows(windows);
    let (channels, filters, inner) = (input[1] as usize, output[1] as usize, weight[1] as usize);
    let (in_plane, out_plane, taps) = (iz * iy * ix, oz * oy * ox, kz * ky * kx);
    let mut y = vec![0.0; output.iter().product::<i64>() as usize];
    for (plane, out) in y.chunks_mut(out_plane).enumerate() {
        let (n, k) = (plane / filters, plane % filters);
        out.fill(x.get(2).map_or(0.0, |bias| bias[k]));
        for c in 0..inner {
            let channel = k / (filters / groups) * inner + c;
            let data = &x[0][(n * channels + channel) * in_plane..][..in_plane];
            for tap in 0..taps {
                let w = x[1][(k * inner + c) * taps + tap];
                let (tz, ty, tx) = (tap / (ky * kx), tap / kx % ky, tap % kx);
                for (z, row) in (0..oz).flat_map(|z| (0..oy).map(move |row| (z, row))) {
                    let (Some(sz), Some(sy)) = (read(&wz, z, tz), read(&wy, row, ty)) else { continue };
                    let source = &data[(sz * iy + sy) * ix..][..ix];
                    for (o, sum) in out[(z * oy + row) * ox..][..ox].iter_mut().enumerate() {
                        if let Some(sx) = read(&wx, o, tx) {
                            *sum += w * source[sx];
                        }
                    }
                }
            }
        }
    }
    y
}

/// Scatters each input element over the outputs it reaches.
fn transposed(x: &[&[f64]], input: &[i64], weight: &[i64], output: &[i64], windows: &[Window]) -> Vec<f64> {
    // Filters in all, and of a group.
    let (filters, own) = (output[1] as usize, weight[1] as usize);
    let plane: usize = output[2..].iter().product::<i64>() as usize;
    let taps: usize = weight[2..].iter().product::<i64>() as usize;
    let mut y: Vec<f64> =
        (0..output.iter().product::<i64>() as usize).map(|i| x.get(2).map_or(0.0, |bias| bias[i / plane % filters])).collect();
    for (i, p) in points(input).enumerate() {
        for (t, tap) in points(&weight[2..]).enumerate() {
            let mut flat = 0;
            let mut inside = true;
            for (d, w) in windows.iter().enumerate() {
                let o = p[d + 2] as i64 * w.stride + tap[d] as i64 * w.dilation - w.pad_before;
                inside &= (0..output[d + 2]).contains(&o);
                flat = flat * output[d + 2] + o;
            }
            if inside {
                let group = p[1] / (input[1] as usize * own / filters);
                for k in 0..own {
                    y[(p[0] * filters + group * own + k) * plane + flat as usize] += x[0][i] * x[1][(p[1] * own + k) * taps + t];
                }
            }
        }
    }
    y
}

fn matmul(x: [&[f64]; 2], left: &[i64], right: &[i64], output: &[i64], flips: (bool, bool)) -> Vec<f64> {
    let rank = output.len();
    let k = if flips.0 { left[left.len() - 2] } else { left[left.len() - 1] } as usize;
    let (mut a, mut b) = (strides(left, rank), strides(right, rank));
    // The matrix dimensions are not broadcast, whatever their extent.
    let (la, lb) = (left[left.len() - 1] as usize, right[right.len() - 1] as usize);
    let (row, left_k) = if flips.0 { (1, la) } else { (la, 1) };
    let (column, right_k) = if flips.1 { (lb, 1) } else { (1, lb) };
    (a[rank - 2], a[rank - 1], b[rank - 2], b[rank - 1]) = (row, 0, 0, column);
    let value = |p: Vec<usize>| {
        let (from_a, from_b) = (at(&p, &a), at(&p, &b));
        (0..k).map(|i| x[0][from_a + i * left_k] * x[1][from_b + i * right_k]).sum()
    };
    points(output).map(value).collect()
}

fn pool(x: &[f64], output: &[i64], windows: &[Window], kind: PoolKind) -> Vec<f64> {
    let [wz, wy, wx] = three_windows(windows);
    let (out_plane, in_plane) = (output[2..].iter().product::<i64>() as usize, windows.iter().map(|w| w.input as usize).product::<usize>());
    let [_, oy, ox] = three(&output[2..]);
    // A tap counts in a mean where it lies in the input or, if asked for, in its padding.
    let padded = |w: &Window, o: usize, t: usize| {
        let i = o as i64 * w.stride - w.pad_before + t as i64 * w.dilation;
        (-w.pad_before..w.input + w.pad_after).contains(&i)
    };
    let mut y = Vec::with_capacity(output.iter().product::<i64>() as usize);
    for data in x.chunks(in_plane) {
        for o in 0..out_plane {
            let (z, row, column) = (o / (oy * ox), o / ox % oy, o % ox);
            let (mut sum, mut largest, mut count) = (0.0, f64::NEG_INFINITY, 0.0);
            for tap in points(&[wz.kernel, wy.kernel, wx.kernel]) {
                let source = (read(&wz, z, tap[0]), read(&wy, row, tap[1]), read(&wx, column, tap[2]));
                if let (Some(sz), Some(sy), Some(sx)) = source {
                    let v = data[(sz * wy.input as usize + sy) * wx.input as usize + sx];
                    sum += v;
                    largest = larger(largest, v);
                    count += 1.0;
                } else if kind == PoolKind::AverageWithPadding
                    && padded(&wz, z, tap[0])
                    && padded(&wy, row, tap[1])
                    && padded(&wx, column, tap[2])
                {
                    count += 1.0;
                }
            }
            y.push(if kind == PoolKind::Max { largest } else { sum / count });
        }
    }
    y
}

fn reduce(x: &[f64], shape: &[i64], axes: &[usize], kind: ReduceKind) -> Vec<f64> {
    let kept: Vec<i64> = (0..shape.len()).map(|d| if axes.contains(&d) { 1 } else { shape[d] }).collect();
    let to = strides(&kept, shape.len());
    let length = kept.iter().product::<i64>() as usize;
    let count = (x.len() / length) as f64;
    let start = match kind {
        ReduceKind::Max => f64::NEG_INFINITY,
        ReduceKind::Min => f64::INFINITY,
        ReduceKind::Prod => 1.0,
        _ => 0.0,
    };
    let mut y = vec![start; length];
    // Of infinite elements what they differ from zero by.
    let largest = if kind == ReduceKind::LogSumExp { reduce(x, shape, axes, ReduceKind::Max) } else { vec![] };
    let shift: Vec<f64> = largest.into_iter().map(|v| if v.is_infinite() { 0.0 } else { v }).collect();
    for (p, &v) in points(shape).zip(x) {
        let slot = &mut y[at(&p, &to)];
        *slot = match kind {
            ReduceKind::Max => larger(*slot, v),
            ReduceKind::Min => smaller(*slot, v),
            ReduceKind::L1 => *slot + v.abs(),
            ReduceKind::L2 | ReduceKind::SumSquare => *slot + v * v,
            ReduceKind::Sum | ReduceKind::Mean | ReduceKind::LogSum => *slot + v,
            ReduceKind::Prod => *slot * v,
            ReduceKind::LogSumExp => *slot + (v - shift[at(&p, &to)]).exp(),
        };
    }
    if matches!(kind, ReduceKind::LogSum | ReduceKind::LogSumExp) {
        y.iter_mut().enumerate().for_each(|(i, v)| *v = v.ln() + shift.get(i).copied().unwrap_or(0.0));
    }
    if kind == ReduceKind::Mean {
        y.iter_mut().for_each(|v| *v /= count);
    }
    if kind == ReduceKind::L2 {
        y.iter_mut().for_each(|v| *v = v.sqrt());
    }
    y
}

fn softmax(x: &[f64], shape: &[i64], axis: usize) -> Vec<f64> {
    let (extent, inner) = (shape[axis] as usize, from_plain(shape, axis));
    let mut y = vec![0.0; x.len()];
    for row in 0..x.len() / extent {
        let base = row / inner * extent * inner + row % inner;
        let all = || (0..extent).map(|i| base + i * inner);
        let largest = all().map(|i| x[i]).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = all().map(|i| (x[i] - largest).exp()).sum();
        all().for_each(|i| y[i] = (x[i] - largest).exp() / total);
    }
    y
}

fn layer_normalization(x: &[&[f64]], shape: &[i64], axis: usize, epsilon: f64) -> Vec<f64> {
    let inner = shape[axis..].iter().product::<i64>() as usize;
    let [mean, deviation] = statistics(x[0], shape, axis, epsilon);
    let of = |(i, v): (usize, &f64)| {
        let (row, column) = (i / inner, i % inner);
        (v - mean[row]) * deviation[row] * x[1][column] + x.get(2).map_or(0.0, |b| b[column])
    };
    x[0].iter().enumerate().map(of).collect()
}

/// The mean of each row, and one over its standard deviation.
fn statistics(x: &[f64], shape: &[i64], axis: usize, epsilon: f64) -> [Vec<f64>; 2] {
    let inner = shape[axis..].iter().product::<i64>() as usize;
    let mean: Vec<f64> = x.chunks(inner).map(|row| row.iter().sum::<f64>() / inner as f64).collect();
    let variance = |(row, mean): (&[f64], &f64)| row.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / inner as f64;
    let deviation = x.chunks(inner).zip(&mean).map(|row| 1.0 / (variance(row) + epsilon).sqrt()).collect();
    [mean, deviation]
}
