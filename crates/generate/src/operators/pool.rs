//! Pooling over windows and reductions over whole dimensions.

use super::conv::{spatial_count, spatial_names};
use super::{Builder, OperatorError, Window, add, at_least, axis_names, mul, named, near, operator, sub, table, tensor};
use crate::expr::{Combine, Index, Operator, Role, ScalarExpr};
use warpsight_ir::{BinaryOp, Scalar, UnaryOp};

/// How a window is summarised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolKind {
    /// The largest element; padding never wins.
    Max,
    /// The mean of all elements that are inside the input.
    Average,
    /// The mean of all elements inside the input and its padding (`count_include_pad`).
    AverageWithPadding,
}

/// Pooling of `n c spatial…`.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// How.
    pub kind: PoolKind,
    /// Images.
    pub batch: i64,
    /// Channels.
    pub channels: i64,
    /// Spatial dimensions, slowest first, one to three.
    pub spatial: Vec<Window>,
    /// Whether a last window may reach beyond the padding (it starts inside the input or the padding before it).
    pub ceil_mode: bool,
    /// Element type in memory.
    pub element: Scalar,
}

impl Pool {
    /// Extents of the output's spatial dimensions.
    pub fn outputs(&self) -> Vec<i64> {
        self.spatial.iter().map(|w| output(w, self.ceil_mode)).collect()
    }
}

fn output(w: &Window, ceil_mode: bool) -> i64 {
    let floor = w.output();
    let room = w.input + w.pad_before + w.pad_after - w.span();
    let next_starts_inside = floor * w.stride < w.input + w.pad_before;
    if ceil_mode && room >= 0 && room % w.stride != 0 && next_starts_inside { floor + 1 } else { floor }
}

/// Taps of all windows along one dimension; each is looked at once when the weights that belong to a pooling are made.
const MAX_TAPS: i64 = 1 << 26;

/// Builds a pooling.
///
/// A padded load reads 0, which would win over negative elements and count in a mean. So a maximum adds to each element a
/// penalty per padded coordinate (0 inside, −∞ outside), and a mean multiplies by the inverse count of each window;
/// both are separable, one vector per spatial dimension, and left out where every window lies inside.
pub fn pool(pool: &Pool) -> Result<Operator, OperatorError> {
    let kind = if pool.kind == PoolKind::Max { "maxpool" } else { "avgpool" };
    at_least(kind, 1, &[("n", pool.batch), ("c", pool.channels)])?;
    let dims = spatial_count(kind, pool.spatial.len())?;
    pool.spatial.iter().try_for_each(|w| w.check(kind))?;
    let extents = pool.outputs();
    if let Some(w) = pool.spatial.iter().zip(&extents).find(|(_, e)| **e < 1).map(|p| p.0) {
        return Err(OperatorError::EmptyOutput { operator: kind.into(), what: format!("{w:?}") });
    }
    if let Some((w, _)) = pool.spatial.iter().zip(&extents).find(|(w, e)| e.saturating_mul(w.kernel.max(w.stride)) > MAX_TAPS) {
        return Err(OperatorError::Unsupported { operator: kind.into(), what: format!("more than {MAX_TAPS} taps along {w:?}") });
    }
    let (outer, taps) = spatial_names(dims);
    let mut parallel = vec![("n", pool.batch), ("c", pool.channels)];
    parallel.extend(outer.iter().copied().zip(extents.iter().copied()));
    let reduce: Vec<_> = taps.iter().copied().zip(pool.spatial.iter().map(|w| w.kernel)).collect();
    let (mut builder, at, tap) = Builder::new(kind, &parallel, &reduce);
    let input_shape: Vec<i64> = [pool.batch, pool.channels].into_iter().chain(pool.spatial.iter().map(|w| w.input)).collect();
    let mut read = vec![at[0].clone(), at[1].clone()];
    for d in 0..dims {
        read.push(pool.spatial[d].read(kind, &at[d + 2], &tap[d])?);
    }
    let mut body = builder.load(&tensor("input", &input_shape, pool.element, Role::Activation), read.clone());

    let mut epilogue = ScalarExpr::Acc;
    let mut divisor = 1.0;
    // Of all dimensions first: elements side by side along none of them share the sum.
    let mut penalties: Option<ScalarExpr> = None;
    for (d, w) in pool.spatial.iter().enumerate() {
        let name = |what: &str| format!("{what}_{}", outer[d]);
        if pool.kind == PoolKind::Max {
            let reach = (extents[d] - 1) * w.stride + w.span();
            if w.pad_before > 0 || reach > w.input + w.pad_before {
                let outside = |i: i64| i < w.pad_before || i >= w.input + w.pad_before;
                let values: Vec<f64> = (0..reach).map(|i| if outside(i) { f64::NEG_INFINITY } else { 0.0 }).collect();
                let penalty = table(&name("penalty"), &[reach], pool.element.widened(), values);
                let own = builder.load(&penalty, vec![near(kind, read[d + 2].clone().offset(w.pad_before))?]);
                penalties = Some(penalties.map_or(own.clone(), |others| add(others, own)));
            }
            continue;
        }
        let counts: Vec<i64> = (0..extents[d]).map(|o| count(w, o, pool.kind == PoolKind::AverageWithPadding)).collect();
        if counts.iter().all(|&c| c == counts[0]) {
            // A window wholly in the padding has the mean 0.
            divisor *= counts[0].max(1) as f64;
        } else {
            let values = counts.iter().map(|&c| 1.0 / c.max(1) as f64).collect();
            let inverse = table(&name("inverse_count"), &[extents[d]], pool.element.widened(), values);
            epilogue = mul(epilogue, builder.load(&inverse, vec![at[d + 2].clone()]));
        }
    }
    if let Some(penalties) = penalties {
        body = add(body, penalties);
    }
    if divisor != 1.0 {
        epilogue = mul(epilogue, ScalarExpr::Const(1.0 / divisor));
    }
    let shape: Vec<i64> = [pool.batch, pool.channels].into_iter().chain(extents).collect();
    let combine = if pool.kind == PoolKind::Max { Combine::Max } else { Combine::Sum };
    let step = builder.finish(combine, body, epilogue, tensor("output", &shape, pool.element, Role::Output), at);
    operator(kind, vec![step])
}

/// Taps of window `o` that count.
fn count(w: &Window, o: i64, with_padding: bool) -> i64 {
    let (low, high) = if with_padding { (-w.pad_before, w.input + w.pad_after) } else { (0, w.input) };
    (0..w.kernel).filter(|t| (low..high).contains(&(o * w.stride - w.pad_before + t * w.dilation))).count() as i64
}

/// How whole dimensions are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReduceKind {
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
    /// Their maximum.
    Max,
    /// Their minimum.
    Min,
    /// The sum of their magnitudes.
    L1,
    /// The root of the sum of their squares.
    L2,
    /// The sum of their squares.
    SumSquare,
    /// Their product.
    Prod,
    /// The logarithm of their sum.
    LogSum,
    /// The logarithm of the sum of their exponentials.
    LogSumExp,
}

impl ReduceKind {
    /// All of them.
    pub const ALL: [Self; 10] =
        [Self::Sum, Self::Mean, Self::Max, Self::Min, Self::L1, Self::L2, Self::SumSquare, Self::Prod, Self::LogSum, Self::LogSumExp];

    /// `reduce_sum`, as operators are called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "reduce_sum",
            Self::Mean => "reduce_mean",
            Self::Max => "reduce_max",
            Self::Min => "reduce_min",
            Self::L1 => "reduce_l1",
            Self::L2 => "reduce_l2",
            Self::SumSquare => "reduce_sum_square",
            Self::Prod => "reduce_prod",
            Self::LogSum => "reduce_log_sum",
            Self::LogSumExp => "reduce_log_sum_exp",
        }
    }

    /// What is combined of an element: a minimum is the maximum of the negated, negated.
    fn term(self, x: ScalarExpr) -> ScalarExpr {
        match self {
            Self::Sum | Self::Mean | Self::Max | Self::Prod | Self::LogSum => x,
            Self::LogSumExp => ScalarExpr::unary(UnaryOp::Exp, x),
            Self::Min => ScalarExpr::unary(UnaryOp::Neg, x),
            Self::L1 => ScalarExpr::unary(UnaryOp::Abs, x),
            Self::L2 | Self::SumSquare => mul(x.clone(), x),
        }
    }

    /// What so many combined terms come to.
    fn result(self, count: i64) -> ScalarExpr {
        match self {
            Self::Mean if count > 1 => mul(ScalarExpr::Acc, ScalarExpr::Const(1.0 / count as f64)),
            Self::Min => ScalarExpr::unary(UnaryOp::Neg, ScalarExpr::Acc),
            Self::L2 => ScalarExpr::unary(UnaryOp::Sqrt, ScalarExpr::Acc),
            Self::LogSum | Self::LogSumExp => ScalarExpr::unary(UnaryOp::Log, ScalarExpr::Acc),
            Self::Sum | Self::Mean | Self::Max | Self::L1 | Self::SumSquare | Self::Prod => ScalarExpr::Acc,
        }
    }

    fn combine(self) -> Combine {
        match self {
            Self::Max | Self::Min => Combine::Max,
            Self::Prod => Combine::Product,
            Self::Sum | Self::Mean | Self::L1 | Self::L2 | Self::SumSquare | Self::LogSum | Self::LogSumExp => Combine::Sum,
        }
    }
}

/// Reduces the dimensions `over`; they are left out of the output, or have extent 1 there where `keep`.
pub fn reduce(kind: ReduceKind, shape: &[i64], over: &[usize], keep: bool, element: Scalar) -> Result<Operator, OperatorError> {
    reduction(kind.name(), kind, shape, over, keep, element)
}

/// The mean of each channel of `n c spatial…`; the output has spatial extents 1.
pub fn global_average_pool(shape: &[i64], element: Scalar) -> Result<Operator, OperatorError> {
    let spatial: Vec<usize> = (2..shape.len()).collect();
    reduction("global_average_pool", ReduceKind::Mean, shape, &spatial, true, element)
}

fn reduction(name: &str, kind: ReduceKind, shape: &[i64], over: &[usize], keep: bool, element: Scalar) -> Result<Operator, OperatorError> {
    shape.iter().try_for_each(|&extent| at_least(name, 1, &[("extent", extent)]))?;
    if let Some(axis) = over.iter().find(|&&d| d >= shape.len()) {
        let what = format!("axis {axis} of {} dimensions", shape.len());
        return Err(OperatorError::Mismatch { operator: name.into(), what });
    }
    let input = tensor("input", shape, element, Role::Activation);
    let count: i64 = over.iter().map(|&d| shape[d]).product();
    let kept: Vec<usize> = (0..shape.len()).filter(|d| keep || !over.contains(d)).collect();
    let output_shape: Vec<i64> = kept.iter().map(|&d| if over.contains(&d) { 1 } else { shape[d] }).collect();
    let output = tensor("output", &output_shape, element, Role::Output);
    let mut steps = vec![];
    let (mut builder, at, row) = axes_of(name, shape, over);
    let mut x = builder.load(&input, at);
    let mut epilogue = kind.result(count);
    if kind == ReduceKind::LogSumExp {
        // Exponentials are those of differences to the largest element, none of which is beyond all numbers.
        let rows: Vec<i64> = (0..shape.len()).map(|d| if over.contains(&d) { 1 } else { shape[d] }).collect();
        let largest = tensor("largest", &rows, element.widened(), Role::Activation);
        let (mut first, at, row) = axes_of(&format!("{name}_max"), shape, over);
        let body = first.load(&input, at);
        let stored = tensor("largest", &rows, element.widened(), Role::Output);
        steps.push(first.finish(Combine::Max, body, finite(ScalarExpr::Acc, element), stored, row.clone()));
        let shift = builder.load(&largest, row);
        (x, epilogue) = (sub(x, shift.clone()), add(epilogue, shift));
    }
    let mut store: Vec<Index> = kept.iter().map(|&d| row[d].clone()).collect();
    if store.is_empty() {
        store.push(Index::constant(0));
    }
    steps.push(builder.finish(kind.combine(), kind.term(x), epilogue, output, store));
    operator(name, steps)
}

/// The axes of a reduction of the dimensions `over`: where an element is, and where what its row comes to is, with extent 1 there.
fn axes_of(name: &str, shape: &[i64], over: &[usize]) -> (Builder, Vec<Index>, Vec<Index>) {
    let is_reduced = |d: usize| over.contains(&d);
    let names = axis_names(shape.len());
    let taps: Vec<String> = (0..shape.len()).map(|d| format!("r{d}")).collect();
    let all = named(&names, shape);
    let parallel: Vec<_> = all.iter().enumerate().map(|(d, &(n, e))| (n, if is_reduced(d) { 1 } else { e })).collect();
    let inner: Vec<_> = named(&taps, shape).into_iter().enumerate().map(|(d, (n, e))| (n, if is_reduced(d) { e } else { 1 })).collect();
    let (builder, row, tap) = Builder::new(name, &parallel, &inner);
    let at: Vec<Index> = (0..shape.len()).map(|d| if is_reduced(d) { tap[d].clone() } else { row[d].clone() }).collect();
    (builder, at, row)
}

/// The number, or the greatest of its sign where it is infinite: what an infinity differs from that by is infinite, and not NaN.
fn finite(x: ScalarExpr, element: Scalar) -> ScalarExpr {
    let greatest = ScalarExpr::Const(element.greatest().min(f64::from(f32::MAX)));
    let above = ScalarExpr::binary(BinaryOp::Max, x, ScalarExpr::unary(UnaryOp::Neg, greatest.clone()));
    ScalarExpr::binary(BinaryOp::Min, above, greatest)
}
