//! Softmax and layer normalisation: reductions into temporaries, then one elementwise step.

use super::{Builder, OperatorError, add, at_least, axis_names, mul, named, operator, sub, tensor};
use crate::expr::{Combine, Index, Operator, Role, ScalarExpr, Tensor, TensorExpr};
use warpsight_ir::{BinaryOp, Scalar, UnaryOp};

/// exp(x − max) · (1 / Σ exp(x − max)) along `axis`, in three steps with two temporaries: a row is divided by once, not by each of its elements.
pub fn softmax(shape: &[i64], axis: usize, element: Scalar) -> Result<Operator, OperatorError> {
    let kind = "softmax";
    check(kind, shape, axis..axis + 1)?;
    let input = tensor("input", shape, element, Role::Activation);
    let row = reduced(shape, axis..axis + 1);
    let maximum = tensor("maximum", &row, element.widened(), Role::Activation);
    let inverse = tensor("inverse_total", &row, element.widened(), Role::Activation);
    let shifted = |x, max| ScalarExpr::unary(UnaryOp::Exp, sub(x, max));

    let first =
        over("softmax_max", shape, axis..axis + 1, &maximum, Combine::Max, |b, at, _| b.load(&input, at.to_vec()), |_, _| ScalarExpr::Acc);
    let second = over(
        "softmax_sum",
        shape,
        axis..axis + 1,
        &inverse,
        Combine::Sum,
        |b, at, row| shifted(b.load(&input, at.to_vec()), b.load(&maximum, row.to_vec())),
        |_, _| ScalarExpr::binary(BinaryOp::Div, ScalarExpr::Const(1.0), ScalarExpr::Acc),
    );
    let third = pointwise("softmax", shape, element, axis..axis + 1, |b, at, row| {
        let numerator = shifted(b.load(&input, at.to_vec()), b.load(&maximum, row.to_vec()));
        mul(numerator, b.load(&inverse, row.to_vec()))
    });
    operator(kind, vec![first, second, third])
}

/// Temporaries of a layer normalisation: of each row the mean, and one over the deviation.
pub const STATISTICS: [&str; 2] = ["mean", "inverse_deviation"];

/// (x − mean) / √(variance + epsilon) over the dimensions from `axis` on, times `scale`, plus `bias` where asked for
/// (each of the shape of those dimensions).
pub fn layernorm(shape: &[i64], axis: usize, epsilon: f64, scale: bool, bias: bool, element: Scalar) -> Result<Operator, OperatorError> {
    let kind = "layernorm";
    let range = axis..shape.len();
    check(kind, shape, range.clone())?;
    let input = tensor("input", shape, element, Role::Activation);
    let row = reduced(shape, range.clone());
    let count = shape[axis..].iter().product::<i64>() as f64;
    let mean = tensor(STATISTICS[0], &row, element.widened(), Role::Activation);
    let deviation = tensor(STATISTICS[1], &row, element.widened(), Role::Activation);
    let weight = |name| tensor(name, &shape[axis..], element, Role::Weight);

    let first = over(
        "layernorm_mean",
        shape,
        range.clone(),
        &mean,
        Combine::Sum,
        |b, at, _| b.load(&input, at.to_vec()),
        |_, _| mul(ScalarExpr::Acc, ScalarExpr::Const(1.0 / count)),
    );
    let second = over(
        "layernorm_deviation",
        shape,
        range.clone(),
        &deviation,
        Combine::Sum,
        |b, at, row| {
            let centred = sub(b.load(&input, at.to_vec()), b.load(&mean, row.to_vec()));
            mul(centred.clone(), centred)
        },
        |_, _| {
            let variance = mul(ScalarExpr::Acc, ScalarExpr::Const(1.0 / count));
            ScalarExpr::unary(UnaryOp::Rsqrt, add(variance, ScalarExpr::Const(epsilon)))
        },
    );
    let third = pointwise("layernorm", shape, element, range, |b, at, row| {
        let centred = sub(b.load(&input, at.to_vec()), b.load(&mean, row.to_vec()));
        let mut value = mul(centred, b.load(&deviation, row.to_vec()));
        if scale {
            value = mul(value, b.load(&weight("scale"), at[axis..].to_vec()));
        }
        if bias {
            value = add(value, b.load(&weight("bias"), at[axis..].to_vec()));
        }
        value
    });
    operator(kind, vec![first, second, third])
}

/// Further results of a layer normalisation's gradient, before that of the data.
pub const GRADIENTS: [&str; 2] = ["of_scale", "of_bias"];

/// The gradient of a layer normalisation over the dimensions from `axis` on: of the data, and where that is asked for [`GRADIENTS`] of scale and
/// bias. It reads `from`, the gradient of the result, `input`, the [`STATISTICS`] of its rows, and `scale`.
pub fn layernorm_gradient(shape: &[i64], axis: usize, further: bool, element: Scalar) -> Result<Operator, OperatorError> {
    let kind = "layernorm_gradient";
    let (columns, rows) = (axis..shape.len(), 0..axis);
    check(kind, shape, columns.clone())?;
    let row = reduced(shape, columns.clone());
    let given = |name: &str, shape: &[i64], element: Scalar| tensor(name, shape, element, Role::Activation);
    let (input, from) = (given("input", shape, element), given("from", shape, element));
    let [mean, deviation] = STATISTICS.map(|name| given(name, &row, element.widened()));
    let scale = tensor("scale", &shape[axis..], element, Role::Weight);
    let of_row = |at: &[Index]| -> Vec<Index> { [&at[..axis], &vec![Index::constant(0); shape.len() - axis]].concat() };
    let normal = |b: &mut Builder, at: &[Index]| {
        let centred = sub(b.load(&input, at.to_vec()), b.load(&mean, of_row(at)));
        mul(centred, b.load(&deviation, of_row(at)))
    };
    let scaled = |b: &mut Builder, at: &[Index]| mul(b.load(&from, at.to_vec()), b.load(&scale, at[axis..].to_vec()));

    // What the elements of a row share: means of the scaled gradient, and of it times the normalised data.
    let count = 1.0 / shape[axis..].iter().product::<i64>() as f64;
    let [along, level] = ["along", "level"].map(|name| given(name, &row, element.widened()));
    let average = |_: &mut Builder, _: &[Index]| mul(ScalarExpr::Acc, ScalarExpr::Const(count));
    let of_along = |b: &mut Builder, at: &[Index], _: &[Index]| mul(scaled(b, at), normal(b, at));
    let of_level = |b: &mut Builder, at: &[Index], _: &[Index]| scaled(b, at);
    let mut steps = vec![
        over("layernorm_along", shape, columns.clone(), &along, Combine::Sum, of_along, average),
        over("layernorm_level", shape, columns.clone(), &level, Combine::Sum, of_level, average),
    ];
    if further {
        let [of_scale, of_bias] = GRADIENTS.map(|name| given(name, &reduced(shape, rows.clone()), element));
        let sum = |_: &mut Builder, _: &[Index]| ScalarExpr::Acc;
        let product = |b: &mut Builder, at: &[Index], _: &[Index]| mul(b.load(&from, at.to_vec()), normal(b, at));
        let plain = |b: &mut Builder, at: &[Index], _: &[Index]| b.load(&from, at.to_vec());
        steps.push(over("layernorm_of_scale", shape, rows.clone(), &of_scale, Combine::Sum, product, sum));
        steps.push(over("layernorm_of_bias", shape, rows, &of_bias, Combine::Sum, plain, sum));
    }
    steps.push(pointwise(kind, shape, element, columns, |b, at, row| {
        let shared = add(b.load(&level, row.to_vec()), mul(normal(b, at), b.load(&along, row.to_vec())));
        mul(sub(scaled(b, at), shared), b.load(&deviation, row.to_vec()))
    }));
    operator(kind, steps)
}

fn check(kind: &str, shape: &[i64], range: std::ops::Range<usize>) -> Result<(), OperatorError> {
    if range.is_empty() || range.end > shape.len() {
        let what = format!("axis {} of {} dimensions", range.start, shape.len());
        return Err(OperatorError::Mismatch { operator: kind.into(), what });
    }
    shape.iter().try_for_each(|&extent| at_least(kind, 1, &[("extent", extent)]))
}

fn reduced(shape: &[i64], range: std::ops::Range<usize>) -> Vec<i64> {
    shape.iter().enumerate().map(|(d, &e)| if range.contains(&d) { 1 } else { e }).collect()
}

/// A step that reduces the dimensions of `range` into `output`, which has extent 1 there. `body` gets the index of the element
/// and that of its row.
fn over(
    name: &str,
    shape: &[i64],
    range: std::ops::Range<usize>,
    output: &Tensor,
    combine: Combine,
    body: impl FnOnce(&mut Builder, &[Index], &[Index]) -> ScalarExpr,
    epilogue: impl FnOnce(&mut Builder, &[Index]) -> ScalarExpr,
) -> TensorExpr {
    let names = axis_names(shape.len());
    let all = named(&names, shape);
    let parallel: Vec<_> = all.iter().enumerate().map(|(d, &(n, e))| (n, if range.contains(&d) { 1 } else { e })).collect();
    let inner: Vec<String> = range.clone().map(|d| format!("r{d}")).collect();
    let (mut builder, row, tap) = Builder::new(name, &parallel, &named(&inner, &shape[range.clone()]));
    // Where every dimension but the reduced ones has extent 1, the kept axis stands for one of them and reads position 0.
    let at: Vec<Index> = (0..shape.len()).map(|d| if range.contains(&d) { tap[d - range.start].clone() } else { row[d].clone() }).collect();
    let body = body(&mut builder, &at, &row);
    let epilogue = epilogue(&mut builder, &row);
    let output = Tensor { role: Role::Output, ..output.clone() };
    builder.finish(combine, body, epilogue, output, row)
}

/// The last step: one value per element.
fn pointwise(
    name: &str,
    shape: &[i64],
    element: Scalar,
    range: std::ops::Range<usize>,
    body: impl FnOnce(&mut Builder, &[Index], &[Index]) -> ScalarExpr,
) -> TensorExpr {
    let names = axis_names(shape.len());
    let (mut builder, at, _) = Builder::new(name, &named(&names, shape), &[]);
    let row: Vec<Index> = at.iter().enumerate().map(|(d, f)| if range.contains(&d) { Index::constant(0) } else { f.clone() }).collect();
    let body = body(&mut builder, &at, &row);
    let output = tensor("output", shape, element, Role::Output);
    builder.finish(Combine::Sum, body, ScalarExpr::Acc, output, at)
}
