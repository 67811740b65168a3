//! Operators on the command line: `conv2d n=1 c=64 h=56 w=56 k=64 r=3 s=3 stride=1 pad=1`.

use super::{
    Conv, Coordinates, Deconv, Interpolation, Lookup, MOST_ROWS, MatMul, Nearest, OperatorError, Pool, PoolKind, ReduceKind, ScatterKind,
    Taps, Window, concat, conv, copy, deconv, elementwise, embedding_bag, gather, gelu, gelu_tanh, layernorm, layernorm_gradient,
    lower_triangle, matmul, pool, reduce, resize, scatter, softmax, split, tensor, then, transpose,
};
use crate::expr::{Operator, Role, ScalarExpr, Tensor};
use warpsight_ir::{BinaryOp, Scalar};

/// An operator's name, the keys it needs, and those it may have with what they are without.
type Form = (&'static str, &'static [&'static str], &'static [(&'static str, i64)]);

/// Where columns are padded as rows are.
const AS_PAD: i64 = -1;
/// Where an operand has the extent of the result.
const OWN: i64 = 0;

/// Dimensions of what is broadcast.
const DIMS: [&str; 4] = ["n", "c", "h", "w"];

/// The operands of what is broadcast. Each has a key for each dimension, `left_n`, for its own extent there.
fn operands(name: &str) -> &'static [&'static str] {
    match name {
        "add" | "mul" => &["left", "right"],
        "where" => &["condition", "left", "right"],
        "expand" => &["input"],
        _ => &[],
    }
}

const FORMS: &[Form] = &[
    (
        "conv2d",
        &["n", "c", "h", "w", "k", "r", "s"],
        &[
            ("stride", 1),
            ("pad", 0),
            ("padw", AS_PAD),
            ("dilation", 1),
            ("groups", 1),
            ("maxpool", 0),
            ("avgpool", 0),
            ("poolstride", 0),
            ("poolpad", 0),
            ("winograd", 0),
        ],
    ),
    ("dwconv2d", &["n", "c", "h", "w", "r", "s"], &[("stride", 1), ("pad", 0), ("dilation", 1), ("multiplier", 1)]),
    ("conv3d", &["n", "c", "d", "h", "w", "k", "t", "r", "s"], &[("stride", 1), ("pad", 0), ("dilation", 1), ("groups", 1)]),
    ("deconv2d", &["n", "c", "h", "w", "k", "r", "s"], &[("stride", 1), ("pad", 0), ("dilation", 1), ("groups", 1)]),
    ("deconv3d", &["n", "c", "d", "h", "w", "k", "t", "r", "s"], &[("stride", 1), ("pad", 0), ("dilation", 1), ("groups", 1)]),
    ("matmul", &["m", "n", "k"], &[("batch", 1), ("transpose_left", 0), ("transpose_right", 0), ("softmax", 0), ("layernorm", 0)]),
    ("fc", &["n", "k", "m"], &[]),
    ("softmax", &["n", "c"], &[]),
    ("layernorm", &["n", "c"], &[]),
    ("maxpool", &["n", "c", "h", "w", "r", "s"], &[("stride", 1), ("pad", 0), ("dilation", 1)]),
    ("avgpool", &["n", "c", "h", "w", "r", "s"], &[("stride", 1), ("pad", 0), ("dilation", 1)]),
    ("reduce_sum", &["n", "c"], &[]),
    ("reduce_mean", &["n", "c"], &[]),
    ("reduce_max", &["n", "c"], &[]),
    ("reduce_min", &["n", "c"], &[]),
    ("reduce_l1", &["n", "c"], &[]),
    ("reduce_l2", &["n", "c"], &[]),
    ("reduce_sum_square", &["n", "c"], &[]),
    ("reduce_prod", &["n", "c"], &[]),
    ("reduce_log_sum", &["n", "c"], &[]),
    ("reduce_log_sum_exp", &["n", "c"], &[]),
    ("copy", &["n", "c"], &[]),
    ("add", &["n", "c"], &[("rows", OWN), ("h", 1), ("w", 1)]),
    ("mul", &["n", "c"], &[("rows", OWN), ("h", 1), ("w", 1)]),
    ("relu", &["n", "c"], &[]),
    ("gelu", &["n", "c"], &[]),
    ("gelu_tanh", &["n", "c"], &[]),
    ("where", &["n", "c"], &[("h", 1), ("w", 1)]),
    ("expand", &["n", "c"], &[("h", 1), ("w", 1)]),
    ("transpose", &["n", "c"], &[]),
    ("concat", &["n", "c", "parts"], &[]),
    ("split", &["n", "c", "parts"], &[]),
    ("gather", &["rows", "c", "n"], &[]),
    ("scatter", &["rows", "c", "n"], &[]),
    ("scatter_add", &["rows", "c", "n"], &[]),
    ("scatter_mul", &["rows", "c", "n"], &[]),
    ("scatter_max", &["rows", "c", "n"], &[]),
    ("scatter_min", &["rows", "c", "n"], &[]),
    ("embedding_bag", &["rows", "c", "n", "bags"], &[]),
    ("lower_triangle", &["n", "c"], &[]),
    ("layernorm_gradient", &["n", "c"], &[]),
    ("resize_nearest", &["n", "c", "h", "w", "oh", "ow"], &[]),
    ("resize_linear", &["n", "c", "h", "w", "oh", "ow"], &[]),
    ("resize_cubic", &["n", "c", "h", "w", "oh", "ow"], &[]),
];

/// Keys that may be 0.
const MAY_BE_ZERO: &[&str] = &[
    "pad",
    "padw",
    "winograd",
    "maxpool",
    "avgpool",
    "poolstride",
    "poolpad",
    "rows",
    "transpose_left",
    "transpose_right",
    "softmax",
    "layernorm",
];

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
    let own = operands(name).iter().flat_map(|own| DIMS.map(|d| format!("{own}_{d}")));
    let optional = optional.iter().map(|o| o.0.to_owned()).chain(own).map(|key| format!("[{key}=]"));
    needed.iter().map(|k| format!("{k}=")).chain(optional).chain(["[dtype=]", "[weights=]"].map(String::from)).collect::<Vec<_>>().join(" ")
}

/// Reads one operator with its sizes, as [`forms`] lists them; `fc` has a weight of m×k, `dtype` is one of [`DTYPES`], `weights` is `constant` (what kernels may pack in advance) or `none` (all operands are inputs, row by row).
///
/// `maxpool` or `avgpool` of `conv2d` is a pooling of what it makes, of windows of so many rows and columns, every `poolstride` of them (as far as they
/// reach where that is 0) and with `poolpad` around. `softmax` or `layernorm` of `matmul` is 1 where rows of what it makes are normalised.
/// `transpose_left` and `transpose_right` are 0, or 1 where that operand of `matmul` is stored k×m, n×k. `padw` pads columns where `pad` is that of rows alone. What has `n` and `c` alone is of n rows of c elements. Results of `add`, `mul`, `where` and `expand` may have `h` and `w`, too; `left_n=1`, `right_c=1`, `condition_h=1`, `input_w=1` and
/// others like them say where an operand has extent 1 and is broadcast (`rows` is another word for `right_n`). `expand` repeats one row n times unless `input_n` says otherwise; `split` gives each of its parts; `gather` finds n of `rows` rows where n integers say, `scatter` puts n rows in place of some and `scatter_add`, `scatter_mul`, `scatter_max` and `scatter_min` combine n
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
            spatial: keys.windows(spatial(name)),
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
        "softmax" => softmax(&[keys.get("n"), keys.get("c")], 1, element)?,
        "layernorm_gradient" => layernorm_gradient(&[keys.get("n"), keys.get("c")], 1, true, element)?,
        "layernorm" => layernorm(&[keys.get("n"), keys.get("c")], 1, EPSILON, true, true, element)?,
        "maxpool" | "avgpool" => {
            let kind = if name == "maxpool" { PoolKind::Max } else { PoolKind::Average };
            let spatial = keys.windows(&[("h", "r"), ("w", "s")]);
            pool(&Pool { kind, batch: keys.get("n"), channels: keys.get("c"), spatial, ceil_mode: false, element })?
        }
        _ if let Some(kind) = ReduceKind::ALL.into_iter().find(|kind| kind.name() == name) => {
            reduce(kind, &[keys.get("n"), keys.get("c")], &[1], false, element)?
        }
        "gather" | "scatter" | "scatter_add" | "scatter_mul" | "scatter_max" | "scatter_min" | "embedding_bag" => {
            let (rows, c, n) = (keys.get("rows"), keys.get("c"), keys.get("n"));
            if rows < 1 {
                return Err(OperatorError::TooSmall { operator: name.into(), what: "rows".into(), minimum: 1, value: rows });
            }
            let own = |index| Lookup { shape: vec![rows, c], axis: 0, dimensions: 1, index, positions: Scalar::I32, element };
            match name {
                "gather" => gather(&own(vec![n]))?,
                "embedding_bag" => embedding_bag(&own(vec![n]), keys.get("bags"), false)?,
                _ => {
                    let kind = ScatterKind::ALL.into_iter().find(|kind| kind.name() == name).unwrap_or(ScatterKind::Add);
                    scatter(kind, &own(vec![n, 1]), &[rows, c], &[n, c])?
                }
            }
        }
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

/// Operators of n rows of c elements without reductions.
fn of_rows(name: &str, keys: &Keys) -> Result<Operator, OperatorError> {
    let (n, c, element) = (keys.get("n"), keys.get("c"), keys.element);
    let own = |name: &str, element: Scalar| tensor(name, &[n, c], element, Role::Activation);
    let extents = keys.extents();
    let operand = |name: &str, element: Scalar| keys.operand(name, element);
    let number = ScalarExpr::Const;
    let function =
        |f: &dyn Fn(ScalarExpr) -> ScalarExpr| elementwise(name, &[own("input", element)], &[n, c], element, |x, _| f(x[0].clone()));
    match name {
        "add" | "mul" => {
            let op = if name == "add" { BinaryOp::Add } else { BinaryOp::Mul };
            let inputs = [operand("left", element)?, operand("right", element)?];
            elementwise(&format!("elementwise_{name}"), &inputs, &extents, element, |x, _| {
                ScalarExpr::binary(op, x[0].clone(), x[1].clone())
            })
        }
        "relu" => function(&|x| ScalarExpr::binary(BinaryOp::Max, x, number(0.0))),
        "gelu" => function(&gelu),
        "gelu_tanh" => function(&gelu_tanh),
        "where" => {
            let inputs = [operand("condition", Scalar::I32)?, operand("left", element)?, operand("right", element)?];
            elementwise(name, &inputs, &extents, element, |x, _| ScalarExpr::select(x[0].clone(), x[1].clone(), x[2].clone()))
        }
        "copy" => copy(&[n, c], element),
        "expand" => elementwise(name, &[operand("input", element)?], &extents, element, |x, _| x[0].clone()),
        "transpose" => transpose(&[n, c], &[1, 0], element),
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
            let broadcast = || key.split_once('_').is_some_and(|(own, d)| operands(operator).contains(&own) && DIMS.contains(&d));
            if !needed.contains(&key) && !optional.iter().any(|own| own.0 == key) && !broadcast() {
                return Err(OperatorError::UnknownKey { operator: owned(operator), key: owned(key), known: known() });
            }
            let number: i64 = value.parse().map_err(|_| bad("a whole number"))?;
            let minimum = i64::from(!MAY_BE_ZERO.contains(&key));
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
        for &(key, default) in optional {
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
        let pictures = if h.max(w) > 1 { vec![h, w] } else { vec![] };
        [vec![self.get("n"), self.get("c")], pictures].concat()
    }

    /// An operand that is broadcast to these where it is said to have other extents.
    fn operand(&self, name: &str, element: Scalar) -> Result<Tensor, OperatorError> {
        let said = |d: &str| self.get(&format!("{name}_{d}"));
        // What repeats a row has one.
        let rows = match name {
            "right" => self.get("rows"),
            "input" => 1,
            _ => OWN,
        };
        if name == "right" && rows != OWN && said("n") != OWN {
            let what = "`right_n` beside `rows`".into();
            return Err(OperatorError::Unsupported { operator: self.operator.into(), what });
        }
        let extents = self.extents();
        if let Some(d) = DIMS[extents.len()..].iter().find(|d| said(d) > 1) {
            return Err(OperatorError::Mismatch { operator: self.operator.into(), what: format!("`{name}_{d}` is given, and no `{d}`") });
        }
        let own = |(extent, d): (i64, &str)| [said(d), if d == "n" { rows } else { OWN }].into_iter().find(|e| *e != OWN).unwrap_or(extent);
        let shape: Vec<i64> = extents.into_iter().zip(DIMS).map(own).collect();
        Ok(tensor(name, &shape, element, Role::Activation))
    }

    fn product(&self, a: &str, b: &str) -> Result<i64, OperatorError> {
        let what = || format!("{a}·{b} is above 2147483647");
        let product = self.get(a) * self.get(b);
        if product > i64::from(i32::MAX) {
            return Err(OperatorError::Mismatch { operator: self.operator.into(), what: what() });
        }
        Ok(product)
    }

    /// One window per (input extent, kernel extent), all with the same stride, padding and dilation.
    fn windows(&self, dims: &[(&str, &str)]) -> Vec<Window> {
        let (stride, pad, dilation) = (self.get("stride"), self.get("pad"), self.get("dilation"));
        let columns = if self.values.iter().any(|own| own.0 == "padw" && own.1 != AS_PAD) { self.get("padw") } else { pad };
        let of = |&(input, kernel): &(&str, &str)| {
            let pad = if input == "w" { columns } else { pad };
            Window { input: self.get(input), kernel: self.get(kernel), stride, pad_before: pad, pad_after: pad, dilation }
        };
        dims.iter().map(of).collect()
    }
}
