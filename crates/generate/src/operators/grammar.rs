//! Operators on the command line: `conv2d n=1 c=64 h=56 w=56 k=64 r=3 s=3 stride=1 pad=1`.

use super::{
    Beyond, Conv, Coordinates, Deconv, Interpolation, Lookup, MOST_ROWS, MatMul, Nearest, OperatorError, Pool, PoolKind, ReduceKind,
    ScatterKind, Taps, Window, border, concat, conv, copy, deconv, elementwise, embedding_bag, gather, gather_elements, gelu, gelu_tanh,
    layernorm, layernorm_gradient, lower_triangle, matmul, pool, reduce, resize, scatter, sigmoid, slice, softmax, split, tensor, then,
    transpose, update,
};
use crate::expr::{Operator, Role, ScalarExpr, Tensor};
use warpsight_ir::{BinaryOp, Scalar, UnaryOp};

/// An operator's name, the keys it needs, and those it may have with what they are without, in groups that several operators have.
type Form = (&'static str, &'static [&'static str], &'static [Optional]);
type Optional = &'static [(&'static str, i64)];

/// Where a dimension is as the key for all of them says.
const AS_ALL: i64 = -1;
/// Where an operand has the extent of the result, and where as much of a dimension is taken as there is.
const OWN: i64 = 0;
/// Where a result has no rows or columns of pictures.
const NO_PICTURES: i64 = -1;

/// Dimensions of what is broadcast, or cut.
const DIMS: [&str; 4] = ["n", "c", "h", "w"];

/// What an operator has a key for in each dimension, `left_n`, each with the least that it may be, which is what it is of a dimension that is not
/// there: extents of the operands of what is broadcast, and where parts begin and end.
fn in_each(name: &str) -> &'static [(&'static str, i64)] {
    match name {
        "where" => &[("condition", 1), ("left", 1), ("right", 1)],
        "expand" => &[("input", 1)],
        "slice" => &[("start", 0), ("step", 1), ("size", 1)],
        _ if binary(name).is_some() => &[("left", 1), ("right", 1)],
        _ if beyond(name).is_some() => &[("before", 0), ("after", 0)],
        _ => &[],
    }
}

/// Results that may have rows and columns of pictures, too.
const PICTURES: Optional = &[("h", NO_PICTURES), ("w", NO_PICTURES)];
/// What goes along one dimension, counted from 0.
const ALONG: &[Optional] = &[&[("axis", 1)], PICTURES];
/// Windows, and what they have in one dimension alone.
const WINDOWS: Optional = &[("stride", 1), ("pad", 0), ("dilation", 1)];
const PLANES: Optional =
    &[("strideh", AS_ALL), ("stridew", AS_ALL), ("padh", AS_ALL), ("padw", AS_ALL), ("dilationh", AS_ALL), ("dilationw", AS_ALL)];
const VOLUMES: Optional = &[("strided", AS_ALL), ("padd", AS_ALL), ("dilationd", AS_ALL)];
const GROUPS: Optional = &[("groups", 1)];
/// Results of transposed convolutions behind their end.
const FURTHER: Optional = &[("output_padding", 0), ("output_paddingh", AS_ALL), ("output_paddingw", AS_ALL)];
const POOLED: Optional = &[("maxpool", 0), ("avgpool", 0), ("poolstride", 0), ("poolpad", 0)];
const TRANSPOSED: Optional = &[("transpose_left", 0), ("transpose_right", 0)];
const BROADCAST: &[Optional] = &[&[("rows", OWN)], PICTURES];
const ROWS: &[&str] = &["n", "c"];
const FOUND: &[&str] = &["rows", "c", "n"];
const WINDOW: &[&str] = &["n", "c", "h", "w", "r", "s"];
const KERNEL: &[&str] = &["n", "c", "h", "w", "k", "r", "s"];
const CUBE: &[&str] = &["n", "c", "d", "h", "w", "k", "t", "r", "s"];
const RESIZED: &[&str] = &["n", "c", "h", "w", "oh", "ow"];

const FORMS: &[Form] = &[
    ("conv2d", KERNEL, &[WINDOWS, PLANES, GROUPS, POOLED, &[("winograd", 0)]]),
    ("dwconv2d", WINDOW, &[WINDOWS, PLANES, &[("multiplier", 1)]]),
    ("conv3d", CUBE, &[WINDOWS, VOLUMES, PLANES, GROUPS]),
    ("deconv2d", KERNEL, &[WINDOWS, PLANES, FURTHER, GROUPS]),
    ("deconv3d", CUBE, &[WINDOWS, VOLUMES, PLANES, FURTHER, &[("output_paddingd", AS_ALL)], GROUPS]),
    ("matmul", &["m", "n", "k"], &[&[("batch", 1)], TRANSPOSED, &[("softmax", 0), ("layernorm", 0)]]),
    ("fc", &["n", "k", "m"], &[]),
    ("softmax", ROWS, ALONG),
    ("layernorm", ROWS, ALONG),
    ("maxpool", WINDOW, &[WINDOWS, PLANES]),
    ("avgpool", WINDOW, &[WINDOWS, PLANES]),
    ("reduce_sum", ROWS, ALONG),
    ("reduce_mean", ROWS, ALONG),
    ("reduce_max", ROWS, ALONG),
    ("reduce_min", ROWS, ALONG),
    ("reduce_l1", ROWS, ALONG),
    ("reduce_l2", ROWS, ALONG),
    ("reduce_sum_square", ROWS, ALONG),
    ("reduce_prod", ROWS, ALONG),
    ("reduce_log_sum", ROWS, ALONG),
    ("reduce_log_sum_exp", ROWS, ALONG),
    ("copy", ROWS, &[]),
    ("add", ROWS, BROADCAST),
    ("sub", ROWS, BROADCAST),
    ("mul", ROWS, BROADCAST),
    ("div", ROWS, BROADCAST),
    ("max", ROWS, BROADCAST),
    ("min", ROWS, BROADCAST),
    ("relu", ROWS, &[]),
    ("gelu", ROWS, &[]),
    ("gelu_tanh", ROWS, &[]),
    ("exp", ROWS, &[]),
    ("sigmoid", ROWS, &[]),
    ("tanh", ROWS, &[]),
    ("where", ROWS, &[PICTURES]),
    ("expand", ROWS, &[PICTURES]),
    ("transpose", ROWS, &[]),
    ("concat", &["n", "c", "parts"], &[]),
    ("split", &["n", "c", "parts"], &[]),
    ("slice", ROWS, &[PICTURES]),
    ("pad", ROWS, &[PICTURES]),
    ("pad_reflect", ROWS, &[PICTURES]),
    ("pad_edge", ROWS, &[PICTURES]),
    ("pad_wrap", ROWS, &[PICTURES]),
    ("update", FOUND, &[&[("start", 0)]]),
    ("gather", FOUND, &[]),
    ("gather_elements", FOUND, &[]),
    ("scatter", FOUND, &[]),
    ("scatter_add", FOUND, &[]),
    ("scatter_mul", FOUND, &[]),
    ("scatter_max", FOUND, &[]),
    ("scatter_min", FOUND, &[]),
    ("embedding_bag", &["rows", "c", "n", "bags"], &[]),
    ("lower_triangle", ROWS, &[]),
    ("layernorm_gradient", ROWS, ALONG),
    ("resize_nearest", RESIZED, &[]),
    ("resize_linear", RESIZED, &[]),
    ("resize_cubic", RESIZED, &[]),
];

/// Functions of two elements.
fn binary(name: &str) -> Option<BinaryOp> {
    Some(match name {
        "add" => BinaryOp::Add,
        "sub" => BinaryOp::Sub,
        "mul" => BinaryOp::Mul,
        "div" => BinaryOp::Div,
        "max" => BinaryOp::Max,
        "min" => BinaryOp::Min,
        _ => return None,
    })
}

/// Functions of one element.
fn unary(name: &str) -> Option<fn(ScalarExpr) -> ScalarExpr> {
    Some(match name {
        "relu" => |x| ScalarExpr::binary(BinaryOp::Max, x, ScalarExpr::Const(0.0)),
        "gelu" => gelu,
        "gelu_tanh" => gelu_tanh,
        "exp" => |x| ScalarExpr::unary(UnaryOp::Exp, x),
        "tanh" => |x| ScalarExpr::unary(UnaryOp::Tanh, x),
        "sigmoid" => sigmoid,
        _ => return None,
    })
}

/// What is around a tensor, by ONNX's names.
fn beyond(name: &str) -> Option<Beyond> {
    Some(match name {
        "pad" => Beyond::Zeros,
        "pad_reflect" => Beyond::Mirrored,
        "pad_edge" => Beyond::Last,
        "pad_wrap" => Beyond::Around,
        _ => return None,
    })
}

/// What a key is where nothing is said; `None` of one that an operator needs, or does not have.
fn usual((_, _, optional): &Form, key: &str) -> Option<i64> {
    optional.iter().copied().flatten().find(|own| own.0 == key).map(|own| own.1)
}

/// What keys begin with that say how much is added to a dimension.
const ADDED: [&str; 2] = ["pad", "output_padding"];

/// The least that a key may be: 0 of what is so where nothing is said, and of what is added or counted from 0.
fn least(form: &Form, key: &str) -> i64 {
    let none = usual(form, key) == Some(0) || ADDED.iter().any(|own| key.starts_with(own)) || key == "axis";
    i64::from(!none)
}

/// Keys that are 0 or 1.
const SWITCHES: &[&str] = &["winograd", "transpose_left", "transpose_right", "softmax", "layernorm"];

/// The epsilon of layer normalisations on the command line; ONNX's default.
const EPSILON: f64 = 1e-5;

/// All operators with their keys, those that may be left out in brackets.
pub fn forms() -> impl Iterator<Item = String> {
    FORMS.iter().map(|form| format!("{} {}", form.0, keys(form)))
}

/// Types of elements by their names: `f32`, `f16s` (half storage, float arithmetic), `f16` (half storage and arithmetic).
pub const DTYPES: [(&str, Scalar); 3] = [("f32", Scalar::F32), ("f16s", Scalar::F16), ("f16", Scalar::Half)];

fn keys((name, needed, optional): &Form) -> String {
    let own = in_each(name).iter().flat_map(|own| DIMS.map(|d| format!("{}_{d}", own.0)));
    let optional = optional.iter().copied().flatten().map(|o| o.0.to_owned()).chain(own).map(|key| format!("[{key}=]"));
    needed.iter().map(|k| format!("{k}=")).chain(optional).chain(["[dtype=]", "[weights=]"].map(String::from)).collect::<Vec<_>>().join(" ")
}

/// What is no extent of a tensor: another value makes another operator of it.
pub(super) fn is_no_size(key: &str) -> bool {
    let others =
        ["stride", "pad", "dilation", "output_padding", "groups", "multiplier", "parts", "axis", "start", "step", "before", "after"];
    let in_one = |own: &str| key.strip_prefix(own).is_some_and(|d| ["", "d", "h", "w", "_n", "_c", "_h", "_w"].contains(&d));
    let what_follows = SWITCHES.contains(&key) || POOLED.iter().any(|own| own.0 == key);
    ["dtype", "weights"].contains(&key) || what_follows || others.into_iter().any(in_one)
}

/// Reads one operator with its sizes, as [`forms`] lists them; `fc` has a weight of m×k, `dtype` is one of [`DTYPES`], `weights` is `constant` (what kernels may pack in advance) or `none` (all operands are inputs, row by row).
///
/// `maxpool` or `avgpool` of `conv2d` is a pooling of what it makes, of windows of so many rows and columns, every `poolstride` of them (as far as they
/// reach where that is 0) and with `poolpad` around. `softmax` or `layernorm` of `matmul` is 1 where rows of what it makes are normalised.
/// `transpose_left` and `transpose_right` are 0, or 1 where that operand of `matmul` is stored k×m, n×k. `strideh`, `padw`, `dilationd`
/// and others like them say of one dimension what `stride`, `pad` and `dilation` say of all; `output_padding` adds results behind those of a
/// transposed convolution, fewer than the larger of stride and dilation. What has `n` and `c` alone is of n rows of c elements; where `h` or `w` is
/// given, 1 or more, it is of pictures. `axis`, counted from 0, is the dimension of a softmax or a reduction, and the first one of a layer
/// normalisation. `left_n=1`, `right_c=1`, `condition_h=1`, `input_w=1` and others like them say where an operand has extent 1 and is broadcast (`rows` is another word for `right_n`). `expand` repeats one
/// row n times unless `input_n` says otherwise; `split` gives each of its parts; `slice` takes `size_n` elements (as many as there are unless that is
/// said), every `step_n`th from `start_n` on; `pad` and its kin have `before_n` and `after_n` elements around a tensor; `update` has n rows in place
/// of those from `start` on; `gather` finds n of `rows` rows where n integers say and `gather_elements` n elements of each column,
/// `scatter` puts n rows in place of some and `scatter_add`, `scatter_mul`, `scatter_max` and `scatter_min` combine n
/// rows with them; `embedding_bag` sums n such rows in bags. `lower_triangle` takes what is below the diagonals of n squares of c rows. `resize_*` have middles of elements meet (ONNX's `half_pixel`).
pub fn parse_operator(text: &str) -> Result<Operator, OperatorError> {
    let known = || FORMS.iter().map(|f| f.0).collect::<Vec<_>>().join(" ");
    let mut words = text.split_whitespace();
    let name = words.next().ok_or_else(|| OperatorError::Empty { known: known() })?;
    let form = FORMS.iter().find(|f| f.0.eq_ignore_ascii_case(name));
    let form = form.ok_or_else(|| OperatorError::UnknownOperator { name: name.into(), known: known() })?;
    let keys = Keys::read(form, words)?;
    let element = keys.element;
    let name = form.0;
    let operator = match name {
        "conv2d" | "conv3d" => {
            if keys.get("winograd") != 0 {
                return Err(OperatorError::Unsupported {
                    operator: name.into(),
                    what: "winograd=1 (--sequences winograd2 takes it)".into(),
                });
            }
            let convolved = conv(&Conv {
                batch: keys.get("n"),
                channels: keys.get("c"),
                filters: keys.get("k"),
                groups: keys.get("groups"),
                spatial: keys.windows(spatial(name)),
                bias: false,
                element,
            })?;
            with_pooling(convolved, &keys)?
        }
        "dwconv2d" => conv(&Conv {
            batch: keys.get("n"),
            channels: keys.get("c"),
            filters: keys.product("c", "multiplier")?,
            groups: keys.get("c"),
            spatial: keys.windows(spatial(name)),
            bias: false,
            element,
        })?,
        "deconv2d" | "deconv3d" => deconv(&Deconv {
            batch: keys.get("n"),
            channels: keys.get("c"),
            filters: keys.get("k"),
            groups: keys.get("groups"),
            spatial: keys.transposed(spatial(name))?,
            bias: false,
            element,
        })?,
        "matmul" => {
            let (m, n, k, batch) = (keys.get("m"), keys.get("n"), keys.get("k"), keys.get("batch"));
            let (transpose_left, transpose_right) = (keys.get("transpose_left") != 0, keys.get("transpose_right") != 0);
            let shape = |transposed: bool, rows, columns| match (batch, transposed) {
                (1, false) => vec![rows, columns],
                (1, true) => vec![columns, rows],
                (_, false) => vec![batch, rows, columns],
                (_, true) => vec![batch, columns, rows],
            };
            let (left, right) = (shape(transpose_left, m, k), shape(transpose_right, k, n));
            let product = matmul(&MatMul { left, right, transpose_left, transpose_right, element, ..MatMul::new(m, n, k) })?;
            with_normalisation(product, &keys)?
        }
        "fc" => {
            let (n, k, m) = (keys.get("n"), keys.get("k"), keys.get("m"));
            let product = MatMul { right: vec![m, k], transpose_right: true, right_role: Role::Weight, element, ..MatMul::new(n, m, k) };
            matmul(&product)?
        }
        "softmax" => softmax(&keys.extents(), keys.axis()?, element)?,
        "layernorm_gradient" => layernorm_gradient(&keys.extents(), keys.axis()?, true, element)?,
        "layernorm" => layernorm(&keys.extents(), keys.axis()?, EPSILON, true, true, element)?,
        "maxpool" | "avgpool" => {
            let kind = if name == "maxpool" { PoolKind::Max } else { PoolKind::Average };
            let spatial = keys.windows(spatial(name));
            pool(&Pool { kind, batch: keys.get("n"), channels: keys.get("c"), spatial, ceil_mode: false, element })?
        }
        _ if let Some(kind) = ReduceKind::ALL.into_iter().find(|kind| kind.name() == name) => {
            reduce(kind, &keys.extents(), &[keys.axis()?], false, element)?
        }
        _ if form.1.starts_with(FOUND) => of_found_rows(name, &keys)?,
        "lower_triangle" => {
            let (n, c) = (keys.get("n"), keys.get("c"));
            if c > MOST_ROWS {
                return Err(OperatorError::Unsupported { operator: name.into(), what: format!("more than {MOST_ROWS} rows") });
            }
            lower_triangle(&[n, c, c], 1, -1, element)?
        }
        "resize_nearest" | "resize_linear" | "resize_cubic" => {
            let interpolation = match name {
                "resize_linear" => Interpolation::Linear,
                "resize_cubic" => Interpolation::Cubic,
                _ => Interpolation::Nearest(Nearest::RoundPreferFloor),
            };
            let taps = |input: &str, output: &str| {
                let extents = (keys.get(input), keys.get(output));
                Some(Taps::new(interpolation, Coordinates::HalfPixel, extents, extents.1 as f64 / extents.0 as f64))
            };
            if keys.get("oh").max(keys.get("ow")) > MOST_TAPS {
                return Err(OperatorError::Unsupported { operator: name.into(), what: format!("more than {MOST_TAPS} rows or columns") });
            }
            let shape = ["n", "c", "h", "w"].map(|key| keys.get(key));
            resize(&shape, &[None, None, taps("h", "oh"), taps("w", "ow")], element)?
        }
        // The others of FORMS are of rows.
        _ => of_rows(name, &keys)?,
    };
    // What is pooled or normalised behind it is in the kind that it has.
    let more = ["maxpool", "avgpool", "softmax", "layernorm"].iter().any(|key| keys.get(key) > 0);
    let mut operator = if more { operator } else { Operator { kind: name.into(), ..operator } };
    if !keys.constant {
        let inputs = operator.steps.iter_mut().flat_map(|step| &mut step.inputs);
        inputs.filter(|tensor| tensor.role == Role::Weight && tensor.values.is_none()).for_each(|tensor| tensor.role = Role::Activation);
    }
    Ok(operator)
}

/// A convolution with the pooling that is asked for behind it, of windows of as many rows as columns.
fn with_pooling(convolved: Operator, keys: &Keys) -> Result<Operator, OperatorError> {
    let [most, mean, stride, pad] = ["maxpool", "avgpool", "poolstride", "poolpad"].map(|key| keys.get(key));
    let kernel = most.max(mean);
    let unsupported = |what: &str| OperatorError::Unsupported { operator: keys.operator.into(), what: what.into() };
    if most.min(mean) > 0 {
        return Err(unsupported("maxpool and avgpool together"));
    }
    if kernel == 0 {
        let nothing = stride == 0 && pad == 0;
        return nothing.then_some(convolved).ok_or_else(|| unsupported("poolstride and poolpad without maxpool or avgpool"));
    }
    let shape = convolved.steps.last().map_or_else(Vec::new, |step| step.output.shape.clone());
    let stride = if stride == 0 { kernel } else { stride };
    let window = |&input: &i64| Window { input, kernel, stride, pad_before: pad, pad_after: pad, dilation: 1 };
    let nothing = || unsupported("a pooling of what it makes");
    let [batch, channels, spatial @ ..] = &*shape else { return Err(nothing()) };
    let spatial = spatial.iter().map(window).collect();
    let kind = if most > 0 { PoolKind::Max } else { PoolKind::Average };
    let next = pool(&Pool { kind, batch: *batch, channels: *channels, spatial, ceil_mode: false, element: keys.element })?;
    then(&convolved, &next, "input", &[]).ok_or_else(nothing)
}

/// A product with what normalises rows of its results, if that is asked for.
fn with_normalisation(product: Operator, keys: &Keys) -> Result<Operator, OperatorError> {
    let unsupported = |what: &str| OperatorError::Unsupported { operator: keys.operator.into(), what: what.into() };
    let shape = product.steps.last().map_or_else(Vec::new, |step| step.output.shape.clone());
    let last = shape.len().saturating_sub(1);
    let next = match (keys.get("softmax") != 0, keys.get("layernorm") != 0) {
        (false, false) => return Ok(product),
        (true, true) => return Err(unsupported("softmax and layernorm together")),
        (true, false) => softmax(&shape, last, keys.element)?,
        (false, true) => layernorm(&shape, last, EPSILON, true, true, keys.element)?,
    };
    then(&product, &next, "input", &[]).ok_or_else(|| unsupported("a normalisation of what it makes"))
}

/// Extents and windows of a convolution's dimensions.
fn spatial(name: &str) -> &'static [(&'static str, &'static str)] {
    let all: &[_] = &[("d", "t"), ("h", "r"), ("w", "s")];
    if name.ends_with("3d") { all } else { &all[1..] }
}

/// Positions whose taps are listed along one dimension, at most.
const MOST_TAPS: i64 = 1 << 20;

/// Operators of n rows and as many others as `rows` says, of c elements each.
fn of_found_rows(name: &str, keys: &Keys) -> Result<Operator, OperatorError> {
    let (rows, c, n, element) = (keys.get("rows"), keys.get("c"), keys.get("n"), keys.element);
    let own = |index| Lookup { shape: vec![rows, c], axis: 0, dimensions: 1, index, positions: Scalar::I32, element };
    match name {
        "update" => update(&[rows, c], &[n, c], 0, keys.get("start"), element),
        "gather" => gather(&own(vec![n])),
        "gather_elements" => gather_elements(&own(vec![n, c])),
        "embedding_bag" => embedding_bag(&own(vec![n]), keys.get("bags"), false),
        // The others put rows.
        _ => match ScatterKind::ALL.into_iter().find(|kind| kind.name() == name) {
            Some(kind) => scatter(kind, &own(vec![n, 1]), &[rows, c], &[n, c]),
            None => Err(OperatorError::Unsupported { operator: name.into(), what: "what it does with rows".into() }),
        },
    }
}

/// Operators of n rows of c elements, or of pictures, without reductions.
fn of_rows(name: &str, keys: &Keys) -> Result<Operator, OperatorError> {
    let (n, c, element) = (keys.get("n"), keys.get("c"), keys.element);
    let own = |name: &str, element: Scalar| tensor(name, &[n, c], element, Role::Activation);
    let extents = keys.extents();
    let operand = |name: &str, element: Scalar| keys.operand(name, element);
    if let Some(op) = binary(name) {
        let inputs = [operand("left", element)?, operand("right", element)?];
        let body = |x: &[ScalarExpr]| ScalarExpr::binary(op, x[0].clone(), x[1].clone());
        return elementwise(&format!("elementwise_{name}"), &inputs, &extents, element, |x, _| body(x));
    }
    if let Some(function) = unary(name) {
        return elementwise(name, &[own("input", element)], &[n, c], element, |x, _| function(x[0].clone()));
    }
    if let Some(beyond) = beyond(name) {
        return border(&extents, &keys.each("before")?, &keys.each("after")?, beyond, element);
    }
    match name {
        "where" => {
            let inputs = [operand("condition", Scalar::I32)?, operand("left", element)?, operand("right", element)?];
            elementwise(name, &inputs, &extents, element, |x, _| ScalarExpr::select(x[0].clone(), x[1].clone(), x[2].clone()))
        }
        "copy" => copy(&[n, c], element),
        "expand" => elementwise(name, &[operand("input", element)?], &extents, element, |x, _| x[0].clone()),
        "transpose" => transpose(&[n, c], &[1, 0], element),
        "slice" => {
            let [starts, said] = [keys.each("start")?, keys.each("size")?];
            let steps: Vec<i64> = keys.each("step")?.into_iter().map(|step| step.max(1)).collect();
            let left = |d: usize| (extents[d] - starts[d] + steps[d] - 1) / steps[d];
            let sizes: Vec<i64> = (0..extents.len()).map(|d| if said[d] == OWN { left(d) } else { said[d] }).collect();
            slice(&extents, &starts, &steps, &sizes, element)
        }
        "concat" => {
            let inputs: Vec<_> = (0..some_parts(name, keys)?).map(|part| own(&format!("input{part}"), element)).collect();
            concat(&inputs, 1)
        }
        // The last of FORMS: `split`.
        _ => split(&[n, c], 1, some_parts(name, keys)?, element),
    }
}

/// Tensors that are joined or come of one, at most: each is an argument of the kernel, or has one.
const MOST_PARTS: i64 = 64;

fn some_parts(name: &str, keys: &Keys) -> Result<i64, OperatorError> {
    let parts = keys.get("parts");
    let few = parts <= MOST_PARTS;
    few.then_some(parts).ok_or_else(|| OperatorError::Unsupported { operator: name.into(), what: format!("more than {MOST_PARTS} parts") })
}

/// The keys of one operator, each with a value.
struct Keys<'a> {
    operator: &'a str,
    values: Vec<(&'a str, i64)>,
    element: Scalar,
    /// Whether weights are known before kernels are made.
    constant: bool,
}

impl<'a> Keys<'a> {
    fn read(form: &'a Form, words: impl Iterator<Item = &'a str>) -> Result<Self, OperatorError> {
        let &(operator, needed, optional) = form;
        let known = || keys(form);
        let owned = |s: &str| s.to_string();
        let (mut element, mut constant) = (None, None);
        let mut values: Vec<(&str, i64)> = Vec::new();
        for word in words {
            let (key, value) =
                word.split_once('=').ok_or_else(|| OperatorError::NotAPair { operator: owned(operator), word: owned(word) })?;
            let bad = |expected: &str| OperatorError::BadValue {
                operator: owned(operator),
                key: owned(key),
                value: owned(value),
                expected: owned(expected),
            };
            let duplicate = || OperatorError::DuplicateKey { operator: owned(operator), key: owned(key) };
            if key == "dtype" {
                let known = DTYPES.iter().find(|own| own.0 == value);
                let read = known.ok_or_else(|| bad(&format!("one of {}", DTYPES.map(|own| own.0).join(", "))))?;
                if element.replace(read.1).is_some() {
                    return Err(duplicate());
                }
                continue;
            }
            if key == "weights" {
                let read = match value {
                    "constant" => true,
                    "none" => false,
                    _ => return Err(bad("one of constant, none")),
                };
                if constant.replace(read).is_some() {
                    return Err(duplicate());
                }
                continue;
            }
            let in_one = key.split_once('_').filter(|own| DIMS.contains(&own.1));
            let in_one = in_one.and_then(|(name, _)| in_each(operator).iter().find(|own| own.0 == name));
            if !needed.contains(&key) && usual(form, key).is_none() && in_one.is_none() {
                return Err(OperatorError::UnknownKey { operator: owned(operator), key: owned(key), known: known() });
            }
            let number: i64 = value.parse().map_err(|_| bad("a whole number"))?;
            let minimum = in_one.map_or_else(|| least(form, key), |own| own.1);
            if number < minimum {
                return Err(OperatorError::TooSmall { operator: owned(operator), what: owned(key), minimum, value: number });
            }
            if SWITCHES.contains(&key) && number > 1 {
                return Err(bad("0 or 1"));
            }
            if number > i64::from(i32::MAX) {
                return Err(bad("below 2147483648"));
            }
            if values.iter().any(|v| v.0 == key) {
                return Err(duplicate());
            }
            values.push((key, number));
        }
        if let Some(key) = needed.iter().find(|k| !values.iter().any(|v| v.0 == **k)) {
            return Err(OperatorError::MissingKey { operator: owned(operator), key: owned(key), known: known() });
        }
        for &(key, default) in optional.iter().copied().flatten() {
            if !values.iter().any(|v| v.0 == key) {
                values.push((key, default));
            }
        }
        Ok(Self { operator, values, element: element.unwrap_or(Scalar::F32), constant: constant.unwrap_or(true) })
    }

    /// A key's value; 0 for one that this operator does not have.
    fn get(&self, key: &str) -> i64 {
        self.values.iter().find(|v| v.0 == key).map_or(0, |v| v.1)
    }

    /// Extents of a result that may have rows and columns of pictures, too.
    fn extents(&self) -> Vec<i64> {
        let (h, w) = (self.get("h"), self.get("w"));
        // Of pictures of which one side is given the other is 1.
        let pictures = if h.max(w) > 0 { vec![h.max(1), w.max(1)] } else { vec![] };
        [vec![self.get("n"), self.get("c")], pictures].concat()
    }

    /// An operand that is broadcast to these where it is said to have other extents.
    fn operand(&self, name: &str, element: Scalar) -> Result<Tensor, OperatorError> {
        // What repeats a row has one.
        let rows = match name {
            "right" => self.get("rows"),
            "input" => 1,
            _ => OWN,
        };
        if name == "right" && rows != OWN && self.get("right_n") != OWN {
            let what = "`right_n` beside `rows`".into();
            return Err(OperatorError::Unsupported { operator: self.operator.into(), what });
        }
        let said = self.each(name)?.into_iter().enumerate().map(|(d, said)| if said == OWN && d == 0 { rows } else { said });
        let shape: Vec<i64> = self.extents().into_iter().zip(said).map(|(extent, said)| if said == OWN { extent } else { said }).collect();
        Ok(tensor(name, &shape, element, Role::Activation))
    }

    fn product(&self, a: &str, b: &str) -> Result<i64, OperatorError> {
        let what = || format!("{a}·{b} is above 2147483647");
        let product = self.get(a) * self.get(b);
        if product > i64::from(i32::MAX) {
            return Err(self.mismatch(what()));
        }
        Ok(product)
    }

    /// The dimension that it goes along.
    fn axis(&self) -> Result<usize, OperatorError> {
        let (axis, dimensions) = (self.get("axis"), self.extents().len());
        let own = usize::try_from(axis).ok().filter(|axis| *axis < dimensions);
        own.ok_or_else(|| self.mismatch(format!("axis {axis} of {dimensions} dimensions")))
    }

    /// What the keys of this name say, in each dimension; 0 where they say nothing.
    fn each(&self, name: &str) -> Result<Vec<i64>, OperatorError> {
        let said = |d: &str| self.get(&format!("{name}_{d}"));
        let (own, further) = DIMS.split_at(self.extents().len());
        let nothing = in_each(self.operator).iter().find(|own| own.0 == name).map_or(0, |own| own.1);
        match further.iter().find(|d| said(d) > nothing) {
            Some(d) => Err(self.mismatch(format!("`{name}_{d}` is given, and no `{d}`"))),
            None => Ok(own.iter().map(|d| said(d)).collect()),
        }
    }

    fn mismatch(&self, what: String) -> OperatorError {
        OperatorError::Mismatch { operator: self.operator.into(), what }
    }

    /// The windows of a transposed convolution. Results so far behind its end that a stride or a dilation reaches them would be those of a larger
    /// input.
    fn transposed(&self, dims: &[(&str, &str)]) -> Result<Vec<Window>, OperatorError> {
        let windows = self.windows(dims);
        for (window, (input, _)) in windows.iter().zip(dims) {
            let (further, stride, dilation) = (window.pad_before - window.pad_after, window.stride, window.dilation);
            if further >= stride.max(dilation) {
                let what = format!(
                    "output_padding of {further} along `{input}` must be less than the larger of stride {stride} and dilation {dilation}"
                );
                return Err(self.mismatch(what));
            }
        }
        Ok(windows)
    }

    /// One window per (input extent, kernel extent), as the keys of all dimensions say, or those of its own.
    fn windows(&self, dims: &[(&str, &str)]) -> Vec<Window> {
        let of = |&(input, kernel): &(&str, &str)| {
            let own = |key: &str| match self.values.iter().find(|own| own.0.strip_prefix(key) == Some(input)) {
                Some(&(_, said)) if said != AS_ALL => said,
                _ => self.get(key),
            };
            let pad = own("pad");
            Window {
                input: self.get(input),
                kernel: self.get(kernel),
                stride: own("stride"),
                pad_before: pad,
                pad_after: pad - own("output_padding"),
                dilation: own("dilation"),
            }
        };
        dims.iter().map(of).collect()
    }
}
