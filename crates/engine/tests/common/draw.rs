//! Random operators of every kind, small, odd and prime extents included.

use fastrand::Rng;
use warpsight_generate::candidates::candidates;
use warpsight_generate::candidates::through::{moved_where_read, reshaped};
use warpsight_generate::expr::{AxisId, Index, Operator, Role, ScalarExpr, Tensor};
use warpsight_generate::operators::{
    Beyond, Conv, Coordinates, Deconv, Interpolation, Lookup, MatMul, Nearest, OperatorError, Pool, PoolKind, ReduceKind, ScatterKind,
    Taps, Window, border, concat, conv, copy, deconv, elementwise, embedding_bag, gather, gather_elements, global_average_pool, layernorm,
    layernorm_gradient, lower_triangle, matmul, pad, parse_operator, pool, reduce, resize, scatter, slice, softmax, tensor, then,
    transpose, update,
};
use warpsight_ir::{BinaryOp, Scalar, UnaryOp};

/// Extents to draw from.
const EXTENTS: [i64; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17, 23];

/// A way to draw operators of one kind.
pub struct Kind {
    pub name: &'static str,
    draw: fn(&mut Rng, Scalar) -> Result<Operator, OperatorError>,
}

impl Kind {
    /// An operator of this kind, in any of the sequences that it may be computed by, whose steps do not take more than so many multiply-adds
    /// each.
    pub fn draw(&self, rng: &mut Rng, element: Scalar, work: usize) -> Operator {
        for _ in 0..100_000 {
            // Some sizes do not go together (a window larger than its input): others are drawn.
            let Ok(operator) = (self.draw)(rng, element) else { continue };
            let all = candidates(&operator);
            let own = all[rng.usize(..all.len())].operator.clone();
            if own.steps.iter().all(|s| s.rows().iter().map(|&extent| extent as usize).product::<usize>() * s.work_per_row() <= work) {
                return own;
            }
        }
        panic!("{}: nothing small was drawn", self.name)
    }
}

/// Every operator there is.
pub const KINDS: &[Kind] = &[
    Kind { name: "conv2d", draw: |rng, e| convolution(rng, e, 2, 1) },
    Kind { name: "conv2d_1x1", draw: pointwise_convolution },
    Kind { name: "conv2d_activated", draw: activated_convolution },
    Kind {
        name: "conv2d_groups",

        draw: |rng, e| {
            let groups = rng.i64(2..4);
            convolution(rng, e, 2, groups)
        },
    },
    Kind { name: "winograd", draw: tiled_convolution },
    Kind { name: "dwconv2d", draw: depthwise_convolution },
    Kind { name: "conv1d", draw: |rng, e| convolution(rng, e, 1, 1) },
    Kind { name: "conv3d", draw: |rng, e| convolution(rng, e, 3, 1) },
    Kind { name: "deconv2d", draw: |rng, e| deconvolution(rng, e, 2) },
    Kind { name: "matmul", draw: |rng, e| product(rng, e, false) },
    Kind { name: "matmul_batch", draw: |rng, e| product(rng, e, true) },
    Kind { name: "fc", draw: fully_connected },
    Kind { name: "maxpool", draw: |rng, e| pooling(rng, e, &[PoolKind::Max]) },
    Kind { name: "avgpool", draw: |rng, e| pooling(rng, e, &[PoolKind::Average, PoolKind::AverageWithPadding]) },
    Kind { name: "global_average_pool", draw: |rng, e| global_average_pool(&extents(rng, 4), e) },
    Kind { name: "reduce", draw: reduction },
    Kind {
        name: "softmax",

        draw: |rng, e| {
            let shape = ranked(rng, 1..5);
            softmax(&shape, rng.usize(..shape.len()), e)
        },
    },
    Kind { name: "layernorm", draw: normalisation },
    Kind { name: "elementwise", draw: pointwise },
    Kind { name: "concat", draw: concatenation },
    Kind { name: "slice", draw: slicing },
    Kind {
        name: "transpose",

        draw: |rng, e| {
            let shape = ranked(rng, 2..5);
            let order = permutation(rng, shape.len());
            transpose(&shape, &order, e)
        },
    },
    Kind { name: "pad", draw: padding },
    Kind { name: "copy", draw: |rng, e| copy(&ranked(rng, 1..6), e) },
    Kind {
        name: "gather",

        draw: |rng, e| {
            let own = looked_into(rng, e);
            gather(&Lookup { dimensions: rng.usize(1..=own.shape.len() - own.axis), ..own })
        },
    },
    Kind {
        name: "gather_elements",

        draw: |rng, e| {
            let own = looked_into(rng, e);
            let index =
                own.shape.iter().enumerate().map(|(d, &most)| if d == own.axis { extent(rng) } else { rng.i64(1..=most) }).collect();
            gather_elements(&Lookup { index, ..own })
        },
    },
    Kind { name: "scatter_add", draw: |rng, e| scattered(rng, e, &[ScatterKind::Add]) },
    Kind {
        name: "embedding_bag",

        draw: |rng, e| {
            let own = looked_into(rng, e);
            embedding_bag(&Lookup { index: vec![extent(rng)], axis: 0, ..own }, rng.i64(1..6), rng.bool())
        },
    },
    Kind {
        name: "lower_triangle",

        draw: |rng, e| {
            let mut shape = ranked(rng, 1..4);
            let axis = rng.usize(..shape.len());
            shape.insert(axis, shape[axis]);
            lower_triangle(&shape, axis, rng.i64(-2..3), e)
        },
    },
    Kind { name: "resize", draw: resizing },
    Kind { name: "where", draw: choosing },
    Kind { name: "integers", draw: integers },
    Kind {
        name: "layernorm_gradient",

        draw: |rng, e| {
            let shape = ranked(rng, 1..4);
            layernorm_gradient(&shape, rng.usize(..shape.len()), rng.bool(), e)
        },
    },
    Kind {
        name: "update",

        draw: |rng, e| {
            let shape = ranked(rng, 1..4);
            let axis = rng.usize(..shape.len());
            let start = rng.i64(0..shape[axis]);
            let mut part = shape.clone();
            part[axis] = rng.i64(1..=shape[axis] - start);
            update(&shape, &part, axis, start, e)
        },
    },
    Kind { name: "pooled", draw: pooled },
    // Those of other operations, and of two steps.
    Kind { name: "reduce_prod", draw: |rng, e| reduction_of(rng, e, &[ReduceKind::Prod]) },
    Kind { name: "reduce_log", draw: |rng, e| reduction_of(rng, e, &[ReduceKind::LogSum, ReduceKind::LogSumExp]) },
    Kind { name: "broadcast", draw: broadcast },
    Kind { name: "border", draw: bordered },
    Kind { name: "shuffled", draw: shuffled },
    Kind { name: "held", draw: held },
    Kind { name: "deconv3d", draw: |rng, e| deconvolution(rng, e, 3) },
    Kind { name: "quotients", draw: quotients },
    Kind { name: "scatter", draw: |rng, e| scattered(rng, e, &[ScatterKind::Last]) },
    Kind { name: "scatter_combined", draw: |rng, e| scattered(rng, e, &[ScatterKind::Mul, ScatterKind::Max, ScatterKind::Min]) },
];

/// A tensor that is looked into through another.
fn looked_into(rng: &mut Rng, element: Scalar) -> Lookup {
    let shape = ranked(rng, 1..4);
    let axis = rng.usize(..shape.len());
    let positions = if rng.bool() { Scalar::I32 } else { Scalar::F32 };
    Lookup { shape, axis, dimensions: 1, index: ranked(rng, 1..3), positions, element }
}

/// Elements that are put to others: each with a position, or rows of them.
fn scattered(rng: &mut Rng, element: Scalar, kinds: &[ScatterKind]) -> Result<Operator, OperatorError> {
    let own = looked_into(rng, element);
    let updates: Vec<i64> =
        own.shape.iter().enumerate().map(|(d, &most)| if d == own.axis { extent(rng) } else { rng.i64(1..=most) }).collect();
    let column = updates.iter().enumerate().map(|(d, &own_extent)| if d == own.axis { own_extent } else { 1 }).collect();
    let index = if rng.bool() { updates.clone() } else { column };
    let input: Vec<i64> = own.shape.iter().map(|&most| if rng.bool() { most } else { 1 }).collect();
    let kind = *rng.choice(kinds).expect("some");
    scatter(kind, &Lookup { index, ..own }, &input, &updates)
}

fn resizing(rng: &mut Rng, element: Scalar) -> Result<Operator, OperatorError> {
    let shape = ranked(rng, 1..5);
    let whole = rng.bool();
    let interpolation = [
        Interpolation::Linear,
        Interpolation::Cubic,
        Interpolation::Nearest(Nearest::Floor),
        Interpolation::Nearest(Nearest::Ceil),
        Interpolation::Nearest(Nearest::RoundPreferFloor),
        Interpolation::Nearest(Nearest::RoundPreferCeil),
    ][rng.usize(..6)];
    let coordinates =
        [Coordinates::HalfPixel, Coordinates::PytorchHalfPixel, Coordinates::AlignCorners, Coordinates::Asymmetric][rng.usize(..4)];
    let taps: Vec<Option<Taps>> = shape
        .iter()
        .map(|&input| {
            let output = if whole { input * rng.i64(1..4) } else { extent(rng) };
            let taps = Taps::new(interpolation, coordinates, (input, output), output as f64 / input as f64);
            rng.bool().then_some(taps)
        })
        .collect();
    resize(&shape, &taps, element)
}

/// One of two tensors by a condition: another tensor, a comparison, or of positions alone.
fn choosing(rng: &mut Rng, element: Scalar) -> Result<Operator, OperatorError> {
    let shape = ranked(rng, 1..5);
    let narrow: Vec<i64> = shape.iter().map(|&extent| if rng.bool() { extent } else { 1 }).collect();
    let condition = tensor("condition", &narrow, if rng.bool() { Scalar::I32 } else { element }, Role::Activation);
    let [a, b] = ["a", "b"].map(|name| tensor(name, &shape, element, Role::Activation));
    let how = rng.usize(..4);
    let op = [BinaryOp::Lt, BinaryOp::Le, BinaryOp::Eq, BinaryOp::Ne][rng.usize(..4)];
    let mut operator = elementwise("where", &[condition, a, b], &shape, element, |x, _| {
        let compared = || ScalarExpr::binary(op, x[1].clone(), x[2].clone());
        let truth = match how {
            0 => x[0].clone(),
            1 => compared(),
            2 => ScalarExpr::binary(BinaryOp::Or, ScalarExpr::unary(UnaryOp::Not, compared()), x[0].clone()),
            _ => return ScalarExpr::binary(BinaryOp::Mul, compared(), x[0].clone()),
        };
        ScalarExpr::select(truth, x[1].clone(), x[2].clone())
    })?;
    let step = &mut operator.steps[0];
    if how == 0 && step.axes.len() > 1 {
        // A causal mask.
        let [y, x] = [0, 1].map(|a| ScalarExpr::Position(Index::var(AxisId(a))));
        step.body = ScalarExpr::select(ScalarExpr::binary(BinaryOp::Le, x, y), step.body.clone(), ScalarExpr::Const(-1.0));
    }
    Ok(operator)
}

/// Arithmetic of integers, stored as such.
fn integers(rng: &mut Rng, element: Scalar) -> Result<Operator, OperatorError> {
    let shape = ranked(rng, 1..4);
    let index = tensor("index", &shape, Scalar::I32, Role::Activation);
    let x = tensor("x", &shape, element, Role::Activation);
    let op = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Rem, BinaryOp::Min, BinaryOp::Max][rng.usize(..7)];
    let number = ScalarExpr::Const(rng.i64(1..6) as f64);
    let (position, stored) = (rng.bool(), if rng.bool() { Scalar::I32 } else { element });
    let mut operator = elementwise("integers", &[index, x], &shape, stored, |x, _| {
        let own = ScalarExpr::binary(op, x[0].clone(), number);
        if position { own } else { ScalarExpr::binary(BinaryOp::Add, own, ScalarExpr::round(Scalar::I32, x[1].clone())) }
    })?;
    let step = &mut operator.steps[0];
    if position && !step.axes.is_empty() {
        step.body = ScalarExpr::binary(
            BinaryOp::Sub,
            ScalarExpr::unary(UnaryOp::Neg, step.body.clone()),
            ScalarExpr::Position(Index::var(AxisId(0))),
        );
    }
    Ok(operator)
}

/// Whole numbers of both signs, divided by others; by none that are 0.
fn quotients(rng: &mut Rng, element: Scalar) -> Result<Operator, OperatorError> {
    let shape = ranked(rng, 1..4);
    let narrow: Vec<i64> = shape.iter().map(|&extent| if rng.bool() { extent } else { 1 }).collect();
    let [a, b] = [("a", &shape), ("b", &narrow)].map(|(name, shape)| tensor(name, shape, element, Role::Activation));
    let [times, from] = [rng.i64(5..60), rng.i64(0..200)].map(|own| ScalarExpr::Const(own as f64));
    elementwise("quotients", &[a, b], &shape, element, |x, at| {
        let whole = |x: &ScalarExpr, more: ScalarExpr| ScalarExpr::binary(BinaryOp::Add, ScalarExpr::round(Scalar::I32, x.clone()), more);
        let place = |d: usize| ScalarExpr::Position(at[d].clone());
        let over = ScalarExpr::binary(BinaryOp::Sub, ScalarExpr::binary(BinaryOp::Mul, place(0), times), from);
        let by = whole(&x[1], ScalarExpr::binary(BinaryOp::Sub, place(at.len() - 1), ScalarExpr::Const(3.0)));
        let none = ScalarExpr::binary(BinaryOp::Eq, by.clone(), ScalarExpr::Const(0.0));
        let by = ScalarExpr::select(none, ScalarExpr::Const(1.0), by);
        ScalarExpr::round(Scalar::F32, ScalarExpr::binary(BinaryOp::Div, whole(&x[0], over), by))
    })
}

fn extent(rng: &mut Rng) -> i64 {
    EXTENTS[rng.usize(..EXTENTS.len())]
}

fn extents(rng: &mut Rng, rank: usize) -> Vec<i64> {
    (0..rank).map(|_| extent(rng)).collect()
}

fn ranked(rng: &mut Rng, ranks: std::ops::Range<usize>) -> Vec<i64> {
    let rank = rng.usize(ranks);
    extents(rng, rank)
}

fn permutation(rng: &mut Rng, rank: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rank).collect();
    rng.shuffle(&mut order);
    order
}

fn window(rng: &mut Rng) -> Window {
    Window {
        input: extent(rng),
        kernel: rng.i64(1..6),
        stride: rng.i64(1..4),
        pad_before: rng.i64(0..3),
        pad_after: rng.i64(0..3),
        dilation: rng.i64(1..3),
    }
}

fn convolution(rng: &mut Rng, element: Scalar, dims: usize, groups: i64) -> Result<Operator, OperatorError> {
    conv(&Conv {
        batch: rng.i64(1..3),
        channels: groups * rng.i64(1..8),
        filters: groups * extent(rng),
        groups,
        spatial: (0..dims).map(|_| window(rng)).collect(),
        bias: rng.bool(),
        element,
    })
}

fn pointwise_convolution(rng: &mut Rng, element: Scalar) -> Result<Operator, OperatorError> {
    let (channels, filters, spatial) = (extent(rng), extent(rng), (0..2).map(|_| Window::new(extent(rng), 1)).collect());
    conv(&Conv { batch: rng.i64(1..3), channels, filters, groups: 1, spatial, bias: rng.bool(), element })
}

/// A 3×3 convolution that ends in x · clamp(x/6 + 1/2, 0, 1), the way networks are fused.
fn activated_convolution(rng: &mut Rng, element: Scalar) -> Result<Operator, OperatorError> {
    let spatial = (0..2).map(|_| Window { pad_before: 1, pad_after: 1, stride: rng.i64(1..3), ..Window::new(extent(rng), 3) }).collect();
    let mut operator = conv(&Conv { batch: 1, channels: rng.i64(1..8), filters: extent(rng), groups: 1, spatial, bias: true, element })?;
    let sum = operator.steps[0].epilogue.clone();
    let line = ScalarExpr::binary(
        BinaryOp::Add,
        ScalarExpr::binary(BinaryOp::Mul, sum.clone(), ScalarExpr::Const(1.0 / 6.0)),
        ScalarExpr::Const(0.5),
    );
    let clamp = ScalarExpr::binary(BinaryOp::Min, ScalarExpr::binary(BinaryOp::Max, line, ScalarExpr::Const(0.0)), ScalarExpr::Const(1.0));
    operator.steps[0].epilogue = ScalarExpr::binary(BinaryOp::Mul, sum, clamp);
    Ok(operator)
}

/// A 3×3 convolution, or its transpose, by transformed tiles, edges that end within one included, with a bias.
fn tiled_convolution(rng: &mut Rng, element: Scalar) -> Result<Operator, OperatorError> {
    let window = |rng: &mut Rng| Window { pad_before: rng.i64(0..3), pad_after: rng.i64(0..3), ..Window::new(rng.i64(1..8), 3) };
    let groups = if rng.u8(..3) == 0 { 2 } else { 1 };
    let (channels, filters, spatial) = (groups * rng.i64(1..6), groups * rng.i64(1..6), vec![window(rng), window(rng)]);
    let (batch, bias) = (rng.i64(1..3), rng.bool());
    let whole = if rng.u8(..3) == 0 {
        deconv(&Deconv { batch, channels, filters, groups, spatial, bias, element })?
    } else {
        conv(&Conv { batch, channels, filters, groups, spatial, bias, element })?
    };
    let name = *rng.choice(&["winograd2", "winograd4"]).expect("two");
    // Of one row or column there are no tiles.
    Ok(candidates(&whole).into_iter().find(|own| own.name == name).map_or(whole, |own| own.operator))
}

fn depthwise_convolution(rng: &mut Rng, element: Scalar) -> Result<Operator, OperatorError> {
    let channels = extent(rng).max(2);
    let filters = channels * rng.i64(1..3);
    conv(&Conv {
        batch: rng.i64(1..3),
        channels,
        filters,
        groups: channels,
        spatial: vec![window(rng), window(rng)],
        bias: rng.bool(),
        element,
    })
}

fn deconvolution(rng: &mut Rng, element: Scalar, dims: usize) -> Result<Operator, OperatorError> {
    let spatial = (0..dims).map(|_| Window { stride: rng.i64(1..5), dilation: rng.i64(1..5), ..window(rng) }).collect();
    let groups = if rng.u8(0..3) == 0 { rng.i64(2..4) } else { 1 };
    let (channels, filters) = (groups * rng.i64(1..8), groups * extent(rng));
    deconv(&Deconv { batch: rng.i64(1..3), channels, filters, groups, spatial, bias: rng.bool(), element })
}

fn product(rng: &mut Rng, element: Scalar, batch: bool) -> Result<Operator, OperatorError> {
    let (m, n, k) = (extent(rng), extent(rng), extent(rng));
    let (transpose_left, transpose_right) = (rng.bool(), rng.bool());
    let matrix = |rows, columns, transposed: bool| if transposed { vec![columns, rows] } else { vec![rows, columns] };
    let (mut left, mut right) = (matrix(m, k, transpose_left), matrix(k, n, transpose_right));
    if batch {
        // Either may have less dimensions than the other, or extent 1.
        let (outer, inner) = (rng.i64(2..4), rng.i64(2..4));
        let stacks = [vec![outer, inner], vec![inner], vec![outer, 1], vec![1, inner], vec![]];
        left.splice(0..0, rng.choice(&stacks[..4]).expect("four").clone());
        right.splice(0..0, rng.choice(&stacks).expect("five").clone());
    }
    let right_role = if rng.bool() { Role::Weight } else { Role::Activation };
    matmul(&MatMul { left, right, transpose_left, transpose_right, left_role: Role::Activation, right_role, element })
}

fn fully_connected(rng: &mut Rng, element: Scalar) -> Result<Operator, OperatorError> {
    let dtype = match element {
        Scalar::F16 => "f16s",
        Scalar::Half => "f16",
        _ => "f32",
    };
    parse_operator(&format!("fc n={} k={} m={} dtype={dtype}", rng.i64(1..4), extent(rng) * rng.i64(1..4), extent(rng)))
}

fn pooling(rng: &mut Rng, element: Scalar, kinds: &[PoolKind]) -> Result<Operator, OperatorError> {
    let kind = *rng.choice(kinds).expect("a kind");
    let spatial = (0..rng.usize(1..4)).map(|_| window(rng)).collect();
    pool(&Pool { kind, batch: rng.i64(1..3), channels: extent(rng), spatial, ceil_mode: rng.bool(), element })
}

fn reduction(rng: &mut Rng, element: Scalar) -> Result<Operator, OperatorError> {
    use ReduceKind::{L1, L2, Max, Mean, Min, Sum};
    reduction_of(rng, element, &[Sum, Mean, Max, Min, L1, L2])
}

/// What the grammar broadcasts, on either side.
fn broadcast(rng: &mut Rng, element: Scalar) -> Result<Operator, OperatorError> {
    let dtype = match element {
        Scalar::F16 => "f16s",
        Scalar::Half => "f16",
        _ => "f32",
    };
    let name = *rng.choice(&["add", "mul", "where", "expand"]).expect("some");
    let dims = if rng.bool() { &["n", "c", "h", "w"][..] } else { &["n", "c"] };
    let operands: &[&str] = match name {
        "where" => &["condition", "left", "right"],
        "expand" => &["input"],
        _ => &["left", "right"],
    };
    let mut text = format!("{name} dtype={dtype}");
    dims.iter().for_each(|d| text += &format!(" {d}={}", rng.i64(2..8)));
    for operand in operands {
        dims.iter().filter(|_| rng.u8(..3) == 0).for_each(|d| text += &format!(" {operand}_{d}=1"));
    }
    parse_operator(&text)
}

fn reduction_of(rng: &mut Rng, element: Scalar, kinds: &[ReduceKind]) -> Result<Operator, OperatorError> {
    let shape = ranked(rng, 1..5);
    let kind = *rng.choice(kinds).expect("some");
    let over: Vec<usize> = (0..shape.len()).filter(|_| rng.bool()).collect();
    reduce(kind, &shape, if over.is_empty() { &[0] } else { &over }, rng.bool(), element)
}

/// Rows that a group holds: of a product, or of what is read.
fn held(rng: &mut Rng, element: Scalar) -> Result<Operator, OperatorError> {
    let normalised = |shape: &[i64], rng: &mut Rng| {
        let last = shape.len() - 1;
        if rng.bool() { softmax(shape, last, element) } else { layernorm(shape, last, 1e-5, true, true, element) }
    };
    let whole = if rng.u8(..4) == 0 {
        normalised(&[rng.i64(1..9), rng.i64(2..100)], rng)?
    } else {
        let batch = rng.bool();
        let made = product(rng, element, batch)?;
        let shape = made.steps.last().map_or_else(Vec::new, |step| step.output.shape.clone());
        then(&made, &normalised(&shape, rng)?, "input", &[]).ok_or_else(|| nothing("held"))?
    };
    let own = candidates(&whole).into_iter().find(|own| own.name == "held");
    own.map(|own| own.operator).ok_or_else(|| nothing("held"))
}

fn nothing(kind: &str) -> OperatorError {
    OperatorError::Unsupported { operator: kind.into(), what: "several kernels".into() }
}

/// A convolution and a pooling of what it makes.
fn pooled(rng: &mut Rng, element: Scalar) -> Result<Operator, OperatorError> {
    let made = convolution(rng, element, 2, 1)?;
    let shape = made.steps.last().map_or(&[][..], |step| &step.output.shape).to_vec();
    let kind = *rng.choice(&[PoolKind::Max, PoolKind::Average, PoolKind::AverageWithPadding]).expect("a kind");
    let spatial = shape[2..].iter().map(|&input| {
        let kernel = rng.i64(1..4);
        let pad = rng.i64(0..kernel);
        let (stride, dilation) = (rng.i64(1..kernel + 2), rng.i64(1..3));
        Window { input, kernel, stride, pad_before: pad / 2, pad_after: pad - pad / 2, dilation }
    });
    let next = pool(&Pool { kind, batch: shape[0], channels: shape[1], spatial: spatial.collect(), ceil_mode: rng.bool(), element })?;
    let whole = then(&made, &next, "input", &[]).expect("it is read");
    // Others are drawn where one kernel may not do both.
    let own = candidates(&whole).into_iter().find(|own| own.name == "pooled");
    own.map(|own| own.operator).ok_or_else(|| OperatorError::Unsupported { operator: "pooled".into(), what: "two kernels".into() })
}

fn normalisation(rng: &mut Rng, element: Scalar) -> Result<Operator, OperatorError> {
    let shape = ranked(rng, 1..5);
    layernorm(&shape, rng.usize(..shape.len()), 1e-5, rng.bool(), rng.bool(), element)
}

/// Up to three operands, each broadcast along some dimensions, and a body that uses what expressions may use.
fn pointwise(rng: &mut Rng, element: Scalar) -> Result<Operator, OperatorError> {
    let shape = ranked(rng, 1..5);
    let operand = |rng: &mut Rng, name: &str| -> Tensor {
        let skip = if rng.u8(..4) == 0 { rng.usize(..shape.len()) } else { 0 };
        let of: Vec<i64> = shape[skip..].iter().map(|&e| if rng.u8(..3) == 0 { 1 } else { e }).collect();
        tensor(name, &of, element, if rng.bool() { Role::Activation } else { Role::Weight })
    };
    let inputs: Vec<Tensor> = ["a", "b", "c"][..rng.usize(1..4)].iter().map(|name| operand(rng, name)).collect();
    let operations = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Min, BinaryOp::Max];
    let functions = [UnaryOp::Neg, UnaryOp::Abs, UnaryOp::Exp, UnaryOp::Tanh, UnaryOp::Erf, UnaryOp::Sin, UnaryOp::Cos];
    let (operation, function) = (*rng.choice(&operations).expect("some"), *rng.choice(&functions).expect("some"));
    let quotient = rng.u8(..3) == 0;
    elementwise("elementwise", &inputs, &shape, element, |loads, _| {
        let joined = loads.iter().cloned().reduce(|a, b| ScalarExpr::binary(operation, a, b)).expect("an operand");
        let value = ScalarExpr::unary(function, joined.clone());
        if !quotient {
            return value;
        }
        // 1 + x² is never 0.
        let square = ScalarExpr::binary(BinaryOp::Mul, joined.clone(), joined);
        ScalarExpr::binary(
            BinaryOp::Div,
            value,
            ScalarExpr::unary(UnaryOp::Sqrt, ScalarExpr::binary(BinaryOp::Add, ScalarExpr::Const(1.0), square)),
        )
    })
}

fn concatenation(rng: &mut Rng, element: Scalar) -> Result<Operator, OperatorError> {
    let shape = ranked(rng, 1..5);
    let axis = rng.usize(..shape.len());
    let part = |rng: &mut Rng, name: &str| {
        let mut shape = shape.clone();
        shape[axis] = extent(rng);
        tensor(name, &shape, element, Role::Activation)
    };
    let parts: Vec<Tensor> = ["a", "b", "c"][..rng.usize(2..4)].iter().map(|name| part(rng, name)).collect();
    concat(&parts, axis)
}

fn slicing(rng: &mut Rng, element: Scalar) -> Result<Operator, OperatorError> {
    let shape = ranked(rng, 1..5);
    let (mut starts, mut steps, mut extents) = (vec![], vec![], vec![]);
    for &size in &shape {
        let step = *rng.choice(&[1, 1, 2, 3, -1, -2]).expect("six");
        let start = rng.i64(0..size);
        let room = if step > 0 { size - 1 - start } else { start };
        starts.push(start);
        steps.push(step);
        extents.push(rng.i64(0..=room / i64::abs(step)) + 1);
    }
    slice(&shape, &starts, &steps, &extents, element)
}

fn bordered(rng: &mut Rng, element: Scalar) -> Result<Operator, OperatorError> {
    let shape = ranked(rng, 1..6);
    let beyond = [Beyond::Mirrored, Beyond::Last, Beyond::Around][rng.usize(..3)];
    let mut pads = || -> Vec<i64> { shape.iter().map(|&extent| rng.i64(0..4).min(beyond.most(extent))).collect() };
    let (before, after) = (pads(), pads());
    border(&shape, &before, &after, beyond, element)
}

/// What reads channels in another order, or rows of them: axes of results and of reductions that are cut.
fn shuffled(rng: &mut Rng, element: Scalar) -> Result<Operator, OperatorError> {
    let ([n, run, groups], [h, w]) = ([rng.i64(1..3), rng.i64(2..7), rng.i64(2..6)], [rng.i64(1..9), rng.i64(1..9)]);
    let shape = [n, run * groups, h, w];
    let window = |input: i64, kernel: i64| Window { pad_before: kernel / 2, pad_after: kernel / 2, ..Window::new(input, kernel) };
    let kernel = [1, 3][rng.usize(..2)];
    let spatial = vec![window(h, kernel), window(w, kernel)];
    let channels = shape[1];
    let by = match rng.u8(..3) {
        0 => conv(&Conv { batch: n, channels, filters: rng.i64(1..9), groups: 1, spatial, bias: false, element })?,
        1 => conv(&Conv { batch: n, channels, filters: channels, groups: channels, spatial, bias: false, element })?,
        _ => copy(&shape, element)?,
    };
    let mut made = transpose(&[n, groups, run, h, w], &[0, 2, 1, 3, 4], element)?.steps.remove(0);
    made = reshaped(&made, 0, &shape).filter(|_| rng.bool()).unwrap_or(made);
    made.output.name = by.steps[0].inputs[0].name.clone();
    made.inputs[0].name = "source".into();
    let read = moved_where_read(&by.steps[0], &made);
    let read = read.ok_or_else(|| OperatorError::Unsupported { operator: "shuffled".into(), what: "this reader".into() })?;
    Ok(Operator { kind: "shuffled".into(), steps: vec![read] })
}

fn padding(rng: &mut Rng, element: Scalar) -> Result<Operator, OperatorError> {
    let shape = ranked(rng, 1..5);
    // A negative number crops.
    let mut around = || shape.iter().map(|_| rng.i64(-1..4)).collect::<Vec<_>>();
    let (before, after) = (around(), around());
    pad(&shape, &before, &after, element)
}
