//! One group of nodes as an operator: the anchor's tensor expressions, the followers in the last one's epilogue.

use crate::error::GraphError;
use crate::graph::op::{Arithmetic, Function, MOST_DIVIDED, Op};
use crate::graph::{Graph, Node, TensorId};
use crate::plan::fuse::Group;
use std::sync::Arc;
use warpsight_generate::expr::{Index, Operator, Role, ScalarExpr, TensorExpr};
use warpsight_generate::operators::{
    self, Conv, Deconv, Lookup, MatMul, OperatorError, Pool, Taps, broadcast_index, external_inputs, tensor,
};
use warpsight_ir::{BinaryOp, Name, Scalar, UnaryOp};

/// An operator with what each of its inputs is.
pub(crate) struct Lowered {
    pub(crate) operator: Operator,
    /// Per external input, by name.
    pub(crate) sources: Vec<(Name, Source)>,
    /// Temporaries that are further outputs of the node, in their order.
    pub(crate) further: &'static [&'static str],
}

/// What an operator reads.
#[derive(Clone)]
pub(crate) enum Source {
    /// A tensor of the graph.
    Tensor(TensorId),
    /// Values that belong to the operator itself.
    Constant(Arc<[f64]>),
}

/// A group's operator, of tensors that are stored as `elements` has it for each of the graph's; what the node writes beside its result is settled there.
/// `roots` says which tensors share their elements.
pub(crate) fn lower(graph: &Graph, group: &Group, roots: &[TensorId], elements: &mut [Scalar]) -> Result<Lowered, GraphError> {
    let anchor = &graph.nodes[group.anchor];
    let wrong = |source| GraphError::Operator { node: anchor.name.clone(), source };
    let element = elements[graph.nodes[group.exit()].output().0];
    let mut lowered = lower_anchor(graph, anchor, anchor.known_op()?, element).map_err(wrong)?;
    for (name, id) in lowered.further.iter().zip(&anchor.outputs[1..]) {
        settle(&mut lowered.operator, name, roots, (*id, elements));
    }
    // A constructed operator has a last step.
    if let Some(step) = lowered.operator.steps.last_mut() {
        fuse(graph, group, step, &mut lowered.sources);
    }
    for step in &mut lowered.operator.steps {
        for input in &mut step.inputs {
            let source = lowered.sources.iter().find(|s| s.0 == input.name).map(|s| &s.1);
            if let Some(Source::Tensor(id)) = source {
                input.element = elements[id.0];
            }
            input.role = match source {
                Some(Source::Tensor(id)) if graph.tensor(*id).constant.is_none() => Role::Activation,
                Some(_) => Role::Weight,
                None => input.role,
            };
        }
    }
    widen(&mut lowered.operator);
    Ok(lowered)
}

/// A tensor that a node writes beside its result: its readers may need it exact, else it is stored as the operator says.
fn settle(operator: &mut Operator, name: &str, roots: &[TensorId], (id, elements): (TensorId, &mut [Scalar])) {
    let tensors = operator.steps.iter_mut().flat_map(|step| [&mut step.output].into_iter().chain(&mut step.inputs));
    for tensor in tensors.filter(|own| *own.name == *name) {
        if elements[id.0] == Scalar::F32 {
            tensor.element = Scalar::F32;
        }
        roots.iter().zip(&mut *elements).filter(|own| *own.0 == roots[id.0]).for_each(|own| *own.1 = tensor.element);
    }
}

/// Where one of an operator's tensors is of four bytes, its halves are what is stored alone: a position is a number that no half may have. Numbers
/// that are known stay finite among halves that are computed with.
fn widen(operator: &mut Operator) {
    let tensors = |step: &TensorExpr| step.inputs.iter().chain([&step.output]).any(|own| own.element == Scalar::F32);
    if operator.steps.iter().any(tensors) {
        let steps = operator.steps.iter_mut();
        let halves = steps.flat_map(|step| step.inputs.iter_mut().chain([&mut step.output])).filter(|own| own.element == Scalar::Half);
        halves.for_each(|own| own.element = Scalar::F16);
    }
    for step in operator.steps.iter_mut().filter(|step| step.arithmetic() == Scalar::Half) {
        let mut finite = |own: &ScalarExpr| match own {
            ScalarExpr::Const(value) => ScalarExpr::Const(Scalar::Half.finite(*value)),
            other => other.clone(),
        };
        (step.body, step.epilogue) = (step.body.with_leaves(&mut finite), step.epilogue.with_leaves(&mut finite));
        for own in &mut step.before {
            (own.body, own.epilogue) = (own.body.with_leaves(&mut finite), own.epilogue.with_leaves(&mut finite));
        }
    }
}

/// Replaces the epilogue of the anchor's last step by the value of the group's last node.
fn fuse(graph: &Graph, group: &Group, step: &mut TensorExpr, sources: &mut Vec<(Name, Source)>) {
    let mut values = vec![(graph.nodes[group.anchor].output(), step.epilogue.clone())];
    for &follower in &group.followers {
        let node = &graph.nodes[follower];
        let mut operands = Vec::with_capacity(node.inputs.len());
        for &input in &node.inputs {
            let inside = values.iter().find(|v| v.0 == input).map(|v| v.1.clone());
            operands.push(inside.unwrap_or_else(|| operand(graph, input, step, sources)));
        }
        // Followers are elementwise.
        if let Some(op) = node.op() {
            values.push((node.output(), apply(op, &operands, &step.store)));
        }
    }
    if let Some((_, value)) = values.pop() {
        step.epilogue = value;
    }
}

/// A tensor of the graph at the place where `step` stores.
fn operand(graph: &Graph, id: TensorId, step: &mut TensorExpr, sources: &mut Vec<(Name, Source)>) -> ScalarExpr {
    let source = graph.tensor(id);
    if let Some([value]) = source.constant.as_deref() {
        return ScalarExpr::Const(*value);
    }
    let known = sources.iter().find(|s| matches!(s.1, Source::Tensor(t) if t == id)).map(|s| s.0.clone());
    let name = known.unwrap_or_else(|| {
        let fresh: Name = format!("operand{}", sources.len()).into();
        sources.push((fresh.clone(), Source::Tensor(id)));
        fresh
    });
    let input = tensor(&name, &source.shape, step.output.element, Role::Activation);
    let index = broadcast_index(&input.shape, &step.store);
    let position = step.inputs.iter().position(|t| t.name == name).unwrap_or_else(|| {
        step.inputs.push(input);
        step.inputs.len() - 1
    });
    ScalarExpr::Load { tensor: position, index, padded: false }
}

fn lower_anchor(graph: &Graph, node: &Node, op: &Op, element: Scalar) -> Result<Lowered, OperatorError> {
    let shape = |i: usize| graph.tensor(node.inputs[i]).shape.as_slice();
    let output = graph.tensor(node.output()).shape.as_slice();
    let with = |operator: Operator, names: &[&str]| Lowered {
        operator,
        sources: names.iter().zip(&node.inputs).map(|(n, id)| ((*n).into(), Source::Tensor(*id))).collect(),
        further: &[],
    };
    let with_tables = |operator: Operator| {
        let tables =
            external_inputs(&operator).into_iter().filter_map(|own| Some((own.name.clone(), Source::Constant(own.values.clone()?))));
        let tables: Vec<_> = tables.collect();
        let mut lowered = with(operator, &["input"]);
        lowered.sources.extend(tables);
        lowered
    };
    Ok(match op {
        Op::Conv { windows, groups } => {
            let conv = Conv {
                batch: output[0],
                channels: shape(0)[1],
                filters: output[1],
                groups: *groups,
                spatial: windows.clone(),
                bias: node.inputs.len() > 2,
                element,
            };
            with(operators::conv(&conv)?, &["input", "weight", "bias"])
        }
        Op::ConvTranspose { windows, groups } => {
            let deconv = Deconv {
                batch: output[0],
                channels: shape(0)[1],
                filters: output[1],
                groups: *groups,
                spatial: windows.clone(),
                bias: node.inputs.len() > 2,
                element,
            };
            with(operators::deconv(&deconv)?, &["input", "weight", "bias"])
        }
        Op::MatMul { transpose_left, transpose_right } => {
            let (left, right, bias) = graph.factors(node);
            let product = MatMul {
                left: shape(left).to_vec(),
                right: shape(right).to_vec(),
                transpose_left: *transpose_left,
                transpose_right: *transpose_right,
                left_role: Role::Activation,
                right_role: Role::Activation,
                element,
            };
            let source = |name: &str, at: usize| (name.into(), Source::Tensor(node.inputs[at]));
            let sources = vec![source("left", left), source("right", right)];
            let mut lowered = Lowered { operator: operators::matmul(&product)?, sources, further: &[] };
            if let (Some(bias), Some(step)) = (bias, lowered.operator.steps.last_mut()) {
                let bias = operand(graph, node.inputs[bias], step, &mut lowered.sources);
                step.epilogue = ScalarExpr::binary(BinaryOp::Add, step.epilogue.clone(), bias);
            }
            lowered
        }
        Op::Pool { kind, windows, ceil_mode } => {
            let pool =
                Pool { kind: *kind, batch: output[0], channels: output[1], spatial: windows.clone(), ceil_mode: *ceil_mode, element };
            with_tables(operators::pool(&pool)?)
        }
        Op::GlobalAveragePool => with(operators::global_average_pool(shape(0), element)?, &["input"]),
        Op::Reduce { kind, axes, keep } => with(operators::reduce(*kind, shape(0), axes, *keep, element)?, &["input"]),
        Op::Softmax { axis } => with(operators::softmax(output, *axis, element)?, &["input"]),
        Op::LayerNormalization { axis, epsilon } => {
            let operator = operators::layernorm(output, *axis, *epsilon, true, node.inputs.len() > 2, element)?;
            Lowered { further: &operators::STATISTICS, ..with(operator, &["input", "scale", "bias"]) }
        }
        Op::LayerNormalizationGradient { axis } => {
            let operator = operators::layernorm_gradient(output, *axis, node.outputs.len() > 1, element)?;
            let [mean, deviation] = operators::STATISTICS;
            Lowered { further: &operators::GRADIENTS, ..with(operator, &["from", "input", mean, deviation, "scale"]) }
        }
        Op::EmbeddingBag => {
            let operator = operators::embedding_bag(&lookup(shape(0), 0, 1, shape(1), element), output[0], node.outputs.len() > 1)?;
            Lowered { further: &operators::BAGS, ..with(operator, &["input", "index", "offsets"]) }
        }
        Op::Transpose { permutation } => with(operators::transpose(shape(0), permutation, element)?, &["input"]),
        Op::Slice { starts, steps } => with(operators::slice(shape(0), starts, steps, output, element)?, &["input"]),
        Op::Pad { before, after, beyond } => with(operators::border(shape(0), before, after, *beyond, element)?, &["input"]),
        Op::Concat { axis } => concat(graph, node, *axis, element)?,
        // Aliases are no anchors; as one, an alias would be a copy.
        Op::Alias => with(operators::copy(output, element)?, &["input"]),
        Op::BatchNormalization { .. } => {
            let what = "a normalisation with computed parameters".into();
            return Err(OperatorError::Unsupported { operator: "batch_normalization".into(), what });
        }
        Op::Unary(_) | Op::Binary(_) | Op::Select | Op::Gradient(_) | Op::Triangle { .. } => elementwise(graph, node, op, element)?,
        // Nodes of these are sequences of others.
        Op::Attention(_) | Op::AttentionGradient(_) | Op::EmbeddingBagGradient | Op::CachedMatMul { .. } => {
            return Err(OperatorError::Unsupported { operator: "a sequence".into(), what: "a single expression".into() });
        }
        Op::Gather { axis } => {
            let count = node.inputs.len() - 1;
            let operator = operators::gather(&lookup(shape(0), *axis, count, shape(1), element))?;
            Lowered { operator, sources: looked_up(node, count), further: &[] }
        }
        Op::GatherElements { axis } => {
            with(operators::gather_elements(&lookup(shape(0), *axis, 1, shape(1), element))?, &["input", "index"])
        }
        Op::Scatter { axis, kind } => {
            let count = node.inputs.len() - 2;
            let updates = shape(count + 1);
            let column: Vec<i64> = (0..updates.len()).map(|d| if d == *axis { updates[d] } else { 1 }).collect();
            let index = if count == 1 && shape(1) == updates { updates } else { &column };
            let operator = operators::scatter(*kind, &lookup(output, *axis, count, index, element), shape(0), updates)?;
            let mut sources = looked_up(node, count);
            sources.push(("updates".into(), Source::Tensor(node.inputs[count + 1])));
            Lowered { operator, sources, further: &[] }
        }
        Op::Update { axis, start } => with(operators::update(shape(0), shape(1), *axis, *start, element)?, &["input", "part"]),
        Op::LowerPairs { axis, diagonal } => with_tables(operators::lower_triangle(shape(0), *axis, *diagonal, element)?),
        Op::Resize { interpolation, coordinates, scales } => {
            let taps = (0..output.len()).map(|d| {
                let (own, wanted) = (shape(0)[d], output[d]);
                let stays = own == wanted && scales[d] == 1.0;
                (!stays).then(|| Taps::new(*interpolation, *coordinates, (own, wanted), scales[d]))
            });
            with_tables(operators::resize(shape(0), &taps.collect::<Vec<_>>(), element)?)
        }
    })
}

/// What positions in a tensor find in another: whole numbers among floats of four bytes.
fn lookup(shape: &[i64], axis: usize, dimensions: usize, index: &[i64], element: Scalar) -> Lookup {
    Lookup { shape: shape.to_vec(), axis, dimensions, index: index.to_vec(), positions: Scalar::F32, element }
}

/// Where data and so many tensors of positions come from. One tensor of positions may be used along several dimensions.
fn looked_up(node: &Node, count: usize) -> Vec<(Name, Source)> {
    let name = |at: usize| match at {
        0 => "input".into(),
        1 => "index".into(),
        _ => format!("index{}", at - 1).into(),
    };
    (0..=count).map(|at| (name(at), Source::Tensor(node.inputs[at]))).collect()
}

/// Inputs may be one tensor several times, which is one input of the operator.
fn concat(graph: &Graph, node: &Node, axis: usize, element: Scalar) -> Result<Lowered, OperatorError> {
    let mut sources: Vec<(Name, Source)> = Vec::new();
    let mut inputs = Vec::new();
    for &id in &node.inputs {
        let name = source_name(&mut sources, id);
        inputs.push(tensor(&name, &graph.tensor(id).shape, element, Role::Activation));
    }
    Ok(Lowered { operator: operators::concat(&inputs, axis)?, sources, further: &[] })
}

fn source_name(sources: &mut Vec<(Name, Source)>, id: TensorId) -> Name {
    if let Some(known) = sources.iter().find(|s| matches!(s.1, Source::Tensor(t) if t == id)) {
        return known.0.clone();
    }
    let name: Name = format!("input{}", sources.len()).into();
    sources.push((name.clone(), Source::Tensor(id)));
    name
}

fn elementwise(graph: &Graph, node: &Node, op: &Op, element: Scalar) -> Result<Lowered, OperatorError> {
    let mut sources = Vec::new();
    let mut inputs = Vec::new();
    // Per operand a number, or the position of its load.
    let mut operands: Vec<Result<f64, usize>> = Vec::new();
    for &id in &node.inputs {
        if let Some([value]) = graph.tensor(id).constant.as_deref() {
            operands.push(Ok(*value));
            continue;
        }
        let name = source_name(&mut sources, id);
        operands.push(Err(inputs.len()));
        inputs.push(tensor(&name, &graph.tensor(id).shape, element, Role::Activation));
    }
    // The prefix keeps names apart from functions of kernel languages: `max`, `exp`.
    let debug = match op {
        Op::Unary(f) => format!("{f:?}"),
        Op::Binary(f) => format!("{f:?}"),
        Op::Select => "select".to_owned(),
        Op::Triangle { .. } => "triangle".to_owned(),
        Op::Gradient(_) => "gradient".to_owned(),
        _ => String::new(),
    };
    let kind = format!("elementwise_{}", debug.split('(').next().unwrap_or_default().to_lowercase());
    let operator = operators::elementwise(&kind, &inputs, &graph.tensor(node.output()).shape, element, |loads, at| {
        let of = |o: &Result<f64, usize>| o.map_or_else(|position| loads[position].clone(), ScalarExpr::Const);
        apply(op, &operands.iter().map(of).collect::<Vec<_>>(), at)
    })?;
    Ok(Lowered { operator, sources, further: &[] })
}

/// An elementwise operation on expressions, for the element at a place of the result.
fn apply(op: &Op, x: &[ScalarExpr], at: &[Index]) -> ScalarExpr {
    match op {
        Op::Triangle { upper, diagonal, beyond } => {
            // It has two dimensions, and diagonals that are no further off than 32 bits can count.
            let [.., row, column] = at else { return x[0].clone() };
            let middle = ScalarExpr::Position(row.clone().offset(*diagonal).unwrap_or_default());
            let column = ScalarExpr::Position(column.clone());
            let (least, most) = if *upper { (middle, column) } else { (column, middle) };
            ScalarExpr::select(ScalarExpr::binary(BinaryOp::Le, least, most), x[0].clone(), ScalarExpr::Const(*beyond))
        }
        Op::Unary(f) => unary(*f, x[0].clone()),
        Op::Binary(f) => {
            let op = match f {
                Arithmetic::Add => BinaryOp::Add,
                Arithmetic::Sub => BinaryOp::Sub,
                Arithmetic::Mul => BinaryOp::Mul,
                Arithmetic::Div => BinaryOp::Div,
                Arithmetic::Quotient => return quotient(&x[0], &x[1]),
                Arithmetic::Min => BinaryOp::Min,
                Arithmetic::Max => BinaryOp::Max,
                Arithmetic::Less => BinaryOp::Lt,
                Arithmetic::LessOrEqual => BinaryOp::Le,
                Arithmetic::Equal => BinaryOp::Eq,
                Arithmetic::And => BinaryOp::And,
                Arithmetic::Or => BinaryOp::Or,
            };
            ScalarExpr::binary(op, x[0].clone(), x[1].clone())
        }
        Op::Select => ScalarExpr::select(x[0].clone(), x[1].clone(), x[2].clone()),
        Op::Gradient(f) => gradient(*f, x[0].clone(), x[1].clone()),
        // Only elementwise nodes follow or are lowered by this.
        _ => x[0].clone(),
    }
}

/// A quotient of whole numbers that are kept as floats: of integers, since a device may round a quotient of floats upwards. What no integer
/// holds is cut as the reference cuts it: no conversion is left to the device, and no integer is the one that -1 does not divide.
fn quotient(a: &ScalarExpr, b: &ScalarExpr) -> ScalarExpr {
    let held = Function::Clip(-MOST_DIVIDED, MOST_DIVIDED);
    let [a, b] = [a, b].map(|own| ScalarExpr::round(Scalar::I32, unary(held, own.clone())));
    // Beyond the ends of tensors there are zeros.
    let none = ScalarExpr::binary(BinaryOp::Eq, b.clone(), ScalarExpr::Const(0.0));
    let by = ScalarExpr::select(none, ScalarExpr::Const(1.0), b);
    ScalarExpr::round(Scalar::F32, ScalarExpr::binary(BinaryOp::Div, a, by))
}

/// A gradient times the slope of a function.
fn gradient(f: Function, from: ScalarExpr, at: ScalarExpr) -> ScalarExpr {
    use BinaryOp::{Add, Lt, Mul, Sub};
    let number = ScalarExpr::Const;
    let rest = |x: ScalarExpr| ScalarExpr::binary(Sub, number(1.0), x);
    let slope = match f {
        Function::Relu => {
            let positive = ScalarExpr::binary(Lt, number(0.0), at);
            return ScalarExpr::select(positive, from, number(0.0));
        }
        Function::Sigmoid => ScalarExpr::binary(Mul, at.clone(), rest(at)),
        Function::Tanh => rest(ScalarExpr::binary(Mul, at.clone(), at)),
        // SiLU: others do not fit.
        _ => {
            let sigmoid = unary(Function::Sigmoid, at.clone());
            let line = ScalarExpr::binary(Add, number(1.0), ScalarExpr::binary(Mul, at, rest(sigmoid.clone())));
            ScalarExpr::binary(Mul, sigmoid, line)
        }
    };
    ScalarExpr::binary(Mul, from, slope)
}

fn unary(f: Function, x: ScalarExpr) -> ScalarExpr {
    use BinaryOp::{Add, Div, Max, Min, Mul};
    let number = ScalarExpr::Const;
    let clamp = |x: ScalarExpr, low: f64, high: f64| {
        let x = if low == f64::NEG_INFINITY { x } else { ScalarExpr::binary(Max, x, number(low)) };
        if high == f64::INFINITY { x } else { ScalarExpr::binary(Min, x, number(high)) }
    };
    match f {
        Function::Relu => ScalarExpr::binary(Max, x, number(0.0)),
        Function::LeakyRelu(alpha) => {
            let negative = ScalarExpr::binary(Mul, number(alpha), ScalarExpr::binary(Min, x.clone(), number(0.0)));
            ScalarExpr::binary(Add, ScalarExpr::binary(Max, x, number(0.0)), negative)
        }
        Function::Sigmoid => operators::sigmoid(x),
        Function::Silu => {
            let power = ScalarExpr::unary(UnaryOp::Exp, ScalarExpr::unary(UnaryOp::Neg, x.clone()));
            ScalarExpr::binary(Div, x, ScalarExpr::binary(Add, number(1.0), power))
        }
        Function::HardSigmoid(alpha, beta) => {
            clamp(ScalarExpr::binary(Add, ScalarExpr::binary(Mul, x, number(alpha)), number(beta)), 0.0, 1.0)
        }
        Function::HardSwish => {
            let gate = clamp(ScalarExpr::binary(Add, ScalarExpr::binary(Mul, x.clone(), number(1.0 / 6.0)), number(0.5)), 0.0, 1.0);
            ScalarExpr::binary(Mul, x, gate)
        }
        Function::Clip(low, high) => clamp(x, low, high),
        Function::Tanh => ScalarExpr::unary(UnaryOp::Tanh, x),
        Function::Exp => ScalarExpr::unary(UnaryOp::Exp, x),
        Function::Log => ScalarExpr::unary(UnaryOp::Log, x),
        Function::Sqrt => ScalarExpr::unary(UnaryOp::Sqrt, x),
        Function::Erf => ScalarExpr::unary(UnaryOp::Erf, x),
        Function::Neg => ScalarExpr::unary(UnaryOp::Neg, x),
        Function::Abs => ScalarExpr::unary(UnaryOp::Abs, x),
        Function::Floor => ScalarExpr::unary(UnaryOp::Floor, x),
        Function::Ceil => ScalarExpr::unary(UnaryOp::Ceil, x),
        // Not by way of an integer: a number may be larger than any.
        Function::Trunc => {
            let negative = ScalarExpr::binary(BinaryOp::Lt, x.clone(), number(0.0));
            let whole = ScalarExpr::select(negative, ScalarExpr::unary(UnaryOp::Ceil, x.clone()), ScalarExpr::unary(UnaryOp::Floor, x));
            // No whole number is -0.
            ScalarExpr::binary(Add, whole, number(0.0))
        }
        Function::Reciprocal => ScalarExpr::binary(Div, number(1.0), x),
        Function::Power(p) => power(x, p),
        // All else is as narrow as that already, or folded.
        Function::Round(to @ (Scalar::F16 | Scalar::Bf16)) => ScalarExpr::Round(to, Box::new(x)),
        Function::Round(_) => x,
        Function::Not => ScalarExpr::unary(UnaryOp::Not, x),
        Function::Sin => ScalarExpr::unary(UnaryOp::Sin, x),
        Function::Cos => ScalarExpr::unary(UnaryOp::Cos, x),
        Function::Gelu => operators::gelu(x),
        Function::GeluTanh => operators::gelu_tanh(x),
    }
}

/// Products, and a reciprocal where the exponent is negative.
fn power(x: ScalarExpr, exponent: f64) -> ScalarExpr {
    if exponent == 0.5 {
        return ScalarExpr::unary(UnaryOp::Sqrt, x);
    }
    if exponent == -0.5 {
        return ScalarExpr::unary(UnaryOp::Rsqrt, x);
    }
    // The importer lets whole exponents up to 8 pass.
    let product = (1..exponent.abs() as u32).fold(x.clone(), |product, _| ScalarExpr::binary(BinaryOp::Mul, product, x.clone()));
    match exponent {
        0.0 => ScalarExpr::Const(1.0),
        e if e < 0.0 => ScalarExpr::binary(BinaryOp::Div, ScalarExpr::Const(1.0), product),
        _ => product,
    }
}
