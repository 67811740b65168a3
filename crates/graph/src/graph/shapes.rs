//! What an operator says of the shapes of its operands.

use crate::graph::heads::Heads;
use crate::graph::op::{Function, Op, factors};
use warpsight_generate::operators::{EXACT, MOST_ROWS, Pool, Window};
use warpsight_ir::Scalar;

/// Extents beyond this are in no window.
const WINDOW: i64 = i32::MAX as i64;

/// Diagonals further off leave 32 bits with the rows.
const DIAGONAL: u64 = 1 << 30;

/// Positions whose neighbours are listed when a tensor is resized.
const MOST_RESIZED: i64 = 1 << 20;

type Checked = Result<(), String>;

impl Op {
    /// Whether an operator can have inputs and outputs of these shapes, all extents positive.
    ///
    /// # Errors
    /// What does not fit.
    pub fn fits(&self, inputs: &[&[i64]], outputs: &[&[i64]]) -> Checked {
        let (least, most) = self.arity();
        if !(least..=most).contains(&inputs.len()) {
            let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
            return Err(format!("it has {} inputs, its operator takes {wanted}", inputs.len()));
        }
        let (fewest, all) = self.outputs();
        if outputs.len() != fewest && outputs.len() != all {
            return Err(format!("it has {} outputs, its operator has {all}", outputs.len()));
        }
        let (x, y) = (inputs[0], outputs[0]);
        match self {
            Self::Unary(Function::Power(exponent)) if !power(*exponent) => {
                Err(format!("exponent {exponent} (whole numbers from -8 to 8, and ±0.5)"))
            }
            Self::Unary(Function::Round(to)) if !to.is_float() => {
                Err(format!("it rounds to {}, which is no floating-point type", to.name()))
            }
            Self::Unary(_) => same("its output", y, x),
            Self::Gradient(function) if !matches!(function, Function::Relu | Function::Sigmoid | Function::Silu | Function::Tanh) => {
                Err(format!("{function:?} has no gradient here"))
            }
            Self::Binary(_) | Self::Select | Self::Gradient(_) => inputs.iter().try_for_each(|input| broadcasts(input, y)),
            Self::Gather { axis } => {
                let behind = looked_into(*axis, inputs.len() - 1, x)?;
                inputs[2..].iter().try_for_each(|own| same("its positions", own, inputs[1]))?;
                same("its output", y, &[&x[..*axis], inputs[1], &x[behind..]].concat())
            }
            Self::GatherElements { axis } => {
                found_in(*axis, x)?;
                beside(*axis, y, x)?;
                same("its positions", inputs[1], y)
            }
            Self::Scatter { axis, .. } => {
                let (positions, updates) = (&inputs[1..inputs.len() - 1], inputs[inputs.len() - 1]);
                let behind = looked_into(*axis, positions.len(), y)?;
                beside(*axis, updates, &[&y[..*axis], &[1], &y[behind..]].concat())?;
                if positions.len() > 1 || *positions[0] != *updates {
                    positions.iter().try_for_each(|own| same("its positions", own, &[updates[*axis]]))?;
                }
                broadcasts(x, y)
            }
            Self::Update { axis, start } => {
                same("its output", y, x)?;
                updated(x, inputs[1], *axis, *start)
            }
            Self::CachedMatMul { start, transpose_right } => {
                let ([batch, groups, rows, depth], [of_kept, kept, columns]) = (x, inputs[1]) else {
                    return Err(format!("products of {x:?} and rows {:?} that are kept", inputs[1]));
                };
                updated(inputs[1], inputs[2], 1, *start)?;
                let own = columns / groups;
                let (summed, made) = if *transpose_right { (own, *kept) } else { (*kept, own) };
                if batch != of_kept || own * groups != *columns || *depth != summed {
                    return Err(format!("products of {x:?} and rows {:?} that are kept", inputs[1]));
                }
                same("its output", y, &[*batch, *groups, *rows, made])
            }
            Self::LowerPairs { axis, diagonal } => {
                let pair = axis.checked_add(2).and_then(|end| x.get(*axis..end)).filter(|pair| pair[0] == pair[1]);
                let extent = pair.ok_or_else(|| format!("dimensions {axis} and the next of {x:?} are no square"))?[0];
                if extent > MOST_ROWS || diagonal.unsigned_abs() > DIAGONAL {
                    return Err(format!("pairs of {extent} rows (at most {MOST_ROWS}), diagonal {diagonal}"));
                }
                let count: i64 = (0..extent).map(|i| (i + diagonal + 1).clamp(0, extent)).sum();
                if count < 1 {
                    return Err(format!("there is no pair below diagonal {diagonal} of {extent} rows"));
                }
                same("its output", y, &[&x[..*axis], &[count], &x[axis + 2..]].concat())
            }
            Self::EmbeddingBag => {
                let [positions, offsets] = [inputs[1], inputs[2]];
                found_in(0, x)?;
                one_dimension(&[positions, offsets])?;
                found_in(0, positions)?;
                let further = [positions, offsets, offsets];
                outputs[1..].iter().zip(further).try_for_each(|(own, of)| same("a further output", own, of))?;
                same("its output", y, &[offsets, &x[1..]].concat())
            }
            Self::EmbeddingBagGradient => {
                let [positions, offsets] = [inputs[1], inputs[2]];
                found_in(0, x)?;
                found_in(0, y)?;
                one_dimension(&[positions, offsets])?;
                let further = [positions, offsets, offsets];
                inputs[3..].iter().zip(further).try_for_each(|(own, of)| same("what belongs to bags", own, of))?;
                same("the gradient", x, &[offsets, &x[1..]].concat())?;
                same("its output", &y[1..], &x[1..])
            }
            Self::Triangle { .. } if x.len() < 2 => Err(format!("{x:?} is no matrix")),
            Self::Triangle { diagonal, .. } if diagonal.unsigned_abs() > DIAGONAL => Err(format!("diagonal {diagonal} of {x:?}")),
            Self::Triangle { .. } => same("its output", y, x),
            Self::Attention(own) | Self::AttentionGradient(own) if own.scale.is_some_and(|scale| !(scale as f32).is_finite()) => {
                Err(format!("a scale of {:e}", own.scale.unwrap_or_default()))
            }
            Self::Attention(_) => {
                let heads = Heads::of(x, inputs[1], inputs[2])?;
                inputs.get(3).map_or(Ok(()), |mask| broadcasts(mask, &heads.products()))?;
                let rows = heads.with(&[heads.heads, heads.queries]);
                outputs.get(1).map_or(Ok(()), |own| same("its logarithms", own, &rows))?;
                same("its output", y, &[&rows[..], &[heads.width]].concat())
            }
            Self::AttentionGradient(_) => attention_gradient(inputs, outputs),
            Self::Resize { scales, .. } => {
                if [scales.len(), y.len()] != [x.len(); 2] || !scales.iter().all(|scale| scale.is_finite() && *scale > 0.0) {
                    return Err(format!("scales {scales:?} of {x:?}, {y:?} of which is no shape"));
                }
                match y.iter().zip(x).zip(scales).find(|((y, x), scale)| (**y != **x || **scale != 1.0) && **y > MOST_RESIZED) {
                    None => Ok(()),
                    Some(_) => Err(format!("{x:?} resized to {y:?}: at most {MOST_RESIZED} along a dimension")),
                }
            }
            Self::Alias => {
                let elements = |shape: &[i64]| shape.iter().map(|&extent| i128::from(extent)).product::<i128>();
                if elements(x) == elements(y) { Ok(()) } else { Err(format!("{x:?} and {y:?} have other numbers of elements")) }
            }
            Self::Conv { windows, groups } => convolution(inputs, y, windows, *groups, false),
            Self::ConvTranspose { windows, groups } => convolution(inputs, y, windows, *groups, true),
            Self::BatchNormalization { .. } => {
                let channels = x.get(1..2).ok_or("its input has no channels")?;
                inputs[1..].iter().try_for_each(|own| same("a parameter", own, channels))?;
                same("its output", y, x)
            }
            Self::MatMul { transpose_left, transpose_right } => product(inputs, y, *transpose_left, *transpose_right),
            Self::Pool { kind, windows, ceil_mode } => {
                spatial(x, windows, false)?;
                let (kind, spatial, ceil_mode) = (*kind, windows.clone(), *ceil_mode);
                let pool = Pool { kind, batch: x[0], channels: x[1], spatial, ceil_mode, element: Scalar::F32 };
                same("its output", y, &[&x[..2], &pool.outputs()].concat())
            }
            Self::GlobalAveragePool => {
                let kept = x.get(..2).ok_or("its input has no channels")?;
                same("its output", y, &[kept, &vec![1; x.len() - 2]].concat())
            }
            Self::Reduce { axes, keep, .. } => {
                if !axes.windows(2).all(|pair| pair[0] < pair[1]) || axes.last().is_none_or(|&last| last >= x.len()) {
                    return Err(format!("axes {axes:?} of {} dimensions: each once, ascending", x.len()));
                }
                let extent = |(d, &extent): (usize, &i64)| if !axes.contains(&d) { Some(extent) } else { keep.then_some(1) };
                same("its output", y, &x.iter().enumerate().filter_map(extent).collect::<Vec<_>>())
            }
            Self::Softmax { axis } => within(*axis, x).and_then(|()| same("its output", y, x)),
            Self::LayerNormalization { axis, .. } => {
                within(*axis, x)?;
                inputs[1..].iter().try_for_each(|own| same("a parameter", own, &x[*axis..]))?;
                let row: Vec<i64> = x.iter().enumerate().map(|(d, &extent)| if d < *axis { extent } else { 1 }).collect();
                outputs[1..].iter().try_for_each(|own| same("a statistic", own, &row))?;
                same("its output", y, x)
            }
            Self::LayerNormalizationGradient { axis } => {
                let data = inputs[1];
                within(*axis, data)?;
                same("the gradient", x, data)?;
                let row: Vec<i64> = data.iter().enumerate().map(|(d, &extent)| if d < *axis { extent } else { 1 }).collect();
                inputs[2..4].iter().try_for_each(|own| same("a statistic", own, &row))?;
                inputs[4..].iter().chain(&outputs[1..]).try_for_each(|own| same("a parameter", own, &data[*axis..]))?;
                same("its output", y, data)
            }
            Self::Transpose { permutation } => {
                let mut seen = permutation.clone();
                seen.sort_unstable();
                if seen != (0..x.len()).collect::<Vec<_>>() {
                    return Err(format!("{permutation:?} is no permutation of {} dimensions", x.len()));
                }
                same("its output", y, &permutation.iter().map(|&from| x[from]).collect::<Vec<_>>())
            }
            Self::Slice { starts, steps } => {
                let ranks = [starts.len(), steps.len(), y.len()];
                if ranks != [x.len(); 3] {
                    return Err(format!("starts, steps and output have {ranks:?} dimensions, the input {}", x.len()));
                }
                let inside = |d: usize| {
                    let last = i128::from(starts[d]) + i128::from(steps[d]) * i128::from(y[d] - 1);
                    (0..i128::from(x[d])).contains(&last) && (0..x[d]).contains(&starts[d])
                };
                (0..x.len()).find(|&d| !inside(d)).map_or(Ok(()), |d| Err(format!("dimension {d} of {x:?} has not all elements of {y:?}")))
            }
            Self::Concat { axis } => {
                within(*axis, x)?;
                let mut whole = x.to_vec();
                for other in &inputs[1..] {
                    let alike = other.len() == x.len() && (0..x.len()).all(|d| d == *axis || other[d] == x[d]);
                    let sum = if alike { whole[*axis].checked_add(other[*axis]) } else { None };
                    whole[*axis] = sum.ok_or_else(|| format!("{other:?} does not come behind {x:?} along dimension {axis}"))?;
                }
                same("its output", y, &whole)
            }
            Self::Pad { before, after, beyond } => {
                let ranks = [before.len(), after.len()];
                if ranks != [x.len(); 2] {
                    return Err(format!("its padding has {ranks:?} dimensions, the input {}", x.len()));
                }
                let padded = |d: usize| x[d].checked_add(before[d])?.checked_add(after[d]);
                let padded: Option<Vec<i64>> = (0..x.len()).map(padded).collect();
                let far = |d: usize| before[d].max(after[d]) > beyond.most(x[d]);
                if let Some(d) = (0..x.len()).find(|d| far(*d)) {
                    return Err(format!("it goes {} and {} beyond dimension {d} of extent {}", before[d], after[d], x[d]));
                }
                same("its output", y, &padded.ok_or("its padding is too large")?)
            }
        }
    }

    /// Fewest and most outputs.
    fn outputs(&self) -> (usize, usize) {
        match self {
            Self::LayerNormalization { .. } | Self::LayerNormalizationGradient { .. } => (1, 3),
            Self::EmbeddingBag => (1, 4),
            Self::Attention(_) => (1, 2),
            Self::AttentionGradient(_) => (3, 3),
            _ => (1, 1),
        }
    }

    /// Least and most inputs.
    fn arity(&self) -> (usize, usize) {
        match self {
            Self::Conv { .. } | Self::ConvTranspose { .. } | Self::MatMul { .. } | Self::LayerNormalization { .. } => (2, 3),
            Self::BatchNormalization { .. } => (5, 5),
            Self::Binary(_) | Self::Gradient(_) | Self::GatherElements { .. } | Self::Update { .. } => (2, 2),
            Self::Select | Self::EmbeddingBag | Self::CachedMatMul { .. } => (3, 3),
            Self::Gather { .. } => (2, usize::MAX),
            Self::Scatter { .. } => (3, usize::MAX),
            Self::LayerNormalizationGradient { .. } => (5, 6),
            Self::EmbeddingBagGradient => (4, 6),
            Self::Concat { .. } => (1, usize::MAX),
            Self::Attention(_) => (3, 4),
            Self::AttentionGradient(_) => (6, 7),
            Self::Unary(_) | Self::Pool { .. } | Self::GlobalAveragePool | Self::Reduce { .. } | Self::Softmax { .. } => (1, 1),
            Self::Alias | Self::Transpose { .. } | Self::Slice { .. } | Self::Pad { .. } | Self::Resize { .. } => (1, 1),
            Self::Triangle { .. } | Self::LowerPairs { .. } => (1, 1),
        }
    }
}

fn attention_gradient(inputs: &[&[i64]], outputs: &[&[i64]]) -> Checked {
    let (from, result, logarithms) = (inputs[0], inputs[4], inputs[5]);
    let heads = Heads::of(inputs[1], inputs[2], inputs[3])?;
    let rows = heads.with(&[heads.heads, heads.queries]);
    same("the gradient", from, &[&rows[..], &[heads.width]].concat())?;
    same("the result", result, from)?;
    same("the logarithms", logarithms, &rows)?;
    inputs.get(6).map_or(Ok(()), |mask| broadcasts(mask, &heads.products()))?;
    same("the queries' gradient", outputs[0], inputs[1])?;
    [(outputs[1], inputs[2], heads.depth), (outputs[2], inputs[3], heads.width)].into_iter().try_for_each(|(own, of, columns)| {
        let each = heads.with(&[heads.heads, heads.keys, columns]);
        if own == each { Ok(()) } else { same("a gradient", own, of) }
    })
}

/// Dimensions that positions are of, so many from one on; the first one behind them.
fn looked_into(axis: usize, count: usize, shape: &[i64]) -> Result<usize, String> {
    let behind = axis.checked_add(count).filter(|behind| *behind <= shape.len());
    let behind = behind.ok_or_else(|| format!("positions along {count} dimensions from {axis} on of {shape:?}"))?;
    (axis..behind).try_for_each(|d| found_in(d, shape))?;
    Ok(behind)
}

/// A part that has its places along a dimension.
fn updated(whole: &[i64], part: &[i64], axis: usize, start: i64) -> Checked {
    within(axis, whole)?;
    let alike = part.len() == whole.len() && (0..whole.len()).all(|d| d == axis || part[d] == whole[d]);
    let fits = alike && start >= 0 && start.checked_add(part[axis]).is_some_and(|end| end <= whole[axis]);
    if fits { Ok(()) } else { Err(format!("{part:?} has no places in {whole:?} from {start} on along dimension {axis}")) }
}

fn one_dimension(shapes: &[&[i64]]) -> Checked {
    match shapes.iter().find(|shape| shape.len() != 1) {
        None => Ok(()),
        Some(shape) => Err(format!("positions of shape {shape:?}, where one dimension was expected")),
    }
}

/// A dimension that positions are of: each is exact as a float.
fn found_in(axis: usize, shape: &[i64]) -> Checked {
    within(axis, shape)?;
    if shape[axis] <= EXACT { Ok(()) } else { Err(format!("positions below {} (at most {EXACT})", shape[axis])) }
}

/// Elements that lie in a tensor but for one dimension.
fn beside(axis: usize, shape: &[i64], whole: &[i64]) -> Checked {
    let fits = shape.len() == whole.len() && (0..shape.len()).all(|d| d == axis || shape[d] <= whole[d]);
    if fits { Ok(()) } else { Err(format!("{shape:?} does not lie in {whole:?} but for dimension {axis}")) }
}

/// Exponents that expressions state.
pub(crate) fn power(exponent: f64) -> bool {
    exponent.fract() == 0.0 && exponent.abs() <= 8.0 || exponent.abs() == 0.5
}

fn same(what: &str, found: &[i64], expected: &[i64]) -> Checked {
    if found == expected { Ok(()) } else { Err(format!("{what} has the shape {found:?}, not {expected:?}")) }
}

fn within(axis: usize, shape: &[i64]) -> Checked {
    if axis < shape.len() { Ok(()) } else { Err(format!("axis {axis} of {} dimensions", shape.len())) }
}

fn broadcasts(from: &[i64], to: &[i64]) -> Checked {
    let fits = from.len() <= to.len() && from.iter().rev().zip(to.iter().rev()).all(|(own, whole)| own == whole || *own == 1);
    if fits { Ok(()) } else { Err(format!("{from:?} does not broadcast to {to:?}")) }
}

fn spatial(x: &[i64], windows: &[Window], transposed: bool) -> Checked {
    let sane = |w: &Window| {
        let positive = [w.input, w.kernel, w.stride, w.dilation].iter().all(|v| (1..=WINDOW).contains(v));
        // At the end of what is transposed results may follow that no input reaches.
        let least = if transposed { -WINDOW } else { 0 };
        positive && (0..=WINDOW).contains(&w.pad_before) && (least..=WINDOW).contains(&w.pad_after)
    };
    if !(1..=3).contains(&windows.len()) || !windows.iter().all(sane) {
        return Err(format!("{windows:?} are no windows of one to three dimensions"));
    }
    let inputs: Vec<i64> = windows.iter().map(|window| window.input).collect();
    if x.len() == windows.len() + 2 && x[2..] == inputs { Ok(()) } else { Err(format!("{x:?} has not the spatial extents {inputs:?}")) }
}

fn convolution(inputs: &[&[i64]], y: &[i64], windows: &[Window], groups: i64, transposed: bool) -> Checked {
    let (x, weight) = (inputs[0], inputs[1]);
    spatial(x, windows, transposed)?;
    let filters = *y.get(1).ok_or("its output has no channels")?;
    if groups < 1 || x[1] % groups != 0 || filters % groups != 0 {
        return Err(format!("{groups} groups of {} channels and {filters} filters", x[1]));
    }
    let channels = if transposed { [x[1], filters / groups] } else { [filters, x[1] / groups] };
    let kernel = windows.iter().map(|window| window.kernel);
    same("its weight", weight, &channels.into_iter().chain(kernel).collect::<Vec<_>>())?;
    inputs.get(2).map_or(Ok(()), |bias| same("its bias", bias, &[filters]))?;
    let extent = |w: &Window| if transposed { w.transposed_output() } else { w.output() };
    same("its output", y, &[x[0], filters].into_iter().chain(windows.iter().map(extent)).collect::<Vec<_>>())
}

fn product(inputs: &[&[i64]], y: &[i64], transpose_left: bool, transpose_right: bool) -> Checked {
    let flipped = |shape: &[i64], flips: bool| match shape {
        [stack @ .., a, b] => Ok((stack.to_vec(), if flips { (*b, *a) } else { (*a, *b) })),
        _ => Err(format!("{shape:?} is no matrix")),
    };
    let (left, right, bias) = factors(inputs.iter().map(|shape| shape.len()));
    let (left, (m, k)) = flipped(inputs[left], transpose_left)?;
    let (right, (other, n)) = flipped(inputs[right], transpose_right)?;
    let (stack, matrix) = flipped(y, false)?;
    if k != other {
        return Err(format!("rows of {k} times columns of {other}"));
    }
    if matrix != (m, n) || stack.len() != left.len().max(right.len()) {
        return Err(format!("its output has the shape {y:?}, not {m} × {n} matrices"));
    }
    broadcasts(&left, &stack)?;
    broadcasts(&right, &stack)?;
    bias.map_or(Ok(()), |bias| same("its bias", inputs[bias], &[n]))
}
