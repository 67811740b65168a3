//! The outlines of a Family stand for what is derived from its lowered Programs, and these compute the expression.

use std::collections::BTreeMap;
use warpsight_generate::candidates::candidates;
use warpsight_generate::expr::{Axis, AxisId, Combine, Evaluator, Index, Operator, Role, ScalarExpr, Tensor, TensorExpr};
use warpsight_generate::layout::stored;
use warpsight_generate::operators::{Lookup, gather, global_average_pool, layernorm, parse_operator, softmax};
use warpsight_generate::{Along, Layout, Lowering, Meeting, Pass, Passes, Place, ScheduleFamily};
use warpsight_ir::{BinaryOp, Config, ConfigSpace, Family, Kernel, KnobValue, OpClass, Scalar, UnaryOp};

fn tensor(name: &str, shape: &[i64], role: Role) -> Tensor {
    Tensor { name: name.into(), shape: shape.to_vec(), element: Scalar::F32, role, values: None }
}

fn axes(list: &[(&str, i64)]) -> Vec<Axis> {
    list.iter().map(|&(name, extent)| Axis { name: name.into(), extent }).collect()
}

fn load(tensor: usize, index: Vec<Index>, padded: bool) -> ScalarExpr {
    ScalarExpr::Load { tensor, index, padded }
}

/// A convolution with bias and a clamp, input c×h×w, k filters of r×s.
fn conv(c: i64, h: i64, w: i64, k: i64, r: i64, stride: i64) -> TensorExpr {
    let pad = r / 2;
    let (oh, ow) = ((h + 2 * pad - r) / stride + 1, (w + 2 * pad - r) / stride + 1);
    let ax = |i| Index::var(AxisId(i));
    // Axes: k y x | c r s.
    let at = |o: usize, r: usize| Index::of([(AxisId(o), stride), (AxisId(r), 1)], -pad).expect("small");
    TensorExpr {
        name: "conv".into(),
        inputs: vec![
            tensor("x", &[1, c, h, w], Role::Activation),
            tensor("f", &[k, c, r, r], Role::Weight),
            tensor("b", &[k], Role::Weight),
        ],
        output: tensor("y", &[1, k, oh, ow], Role::Output),
        axes: axes(&[("k", k), ("y", oh), ("x", ow)]),
        reduce: axes(&[("c", c), ("r", r), ("s", r)]),
        before: vec![],
        combine: Combine::Sum,
        coefficients: None,
        body: ScalarExpr::binary(
            BinaryOp::Mul,
            load(0, vec![Index::constant(0), ax(3), at(1, 4), at(2, 5)], true),
            load(1, vec![ax(0), ax(3), ax(4), ax(5)], false),
        ),
        epilogue: ScalarExpr::binary(
            BinaryOp::Max,
            ScalarExpr::binary(BinaryOp::Add, ScalarExpr::Acc, load(2, vec![ax(0)], false)),
            ScalarExpr::Const(0.0),
        ),
        store: vec![Index::constant(0), ax(0), ax(1), ax(2)],
        across: None,
        clipped: false,
    }
}

fn matmul(m: i64, n: i64, k: i64) -> TensorExpr {
    let ax = |i| Index::var(AxisId(i));
    TensorExpr {
        name: "matmul".into(),
        inputs: vec![tensor("a", &[m, k], Role::Activation), tensor("b", &[k, n], Role::Weight)],
        output: tensor("c", &[m, n], Role::Output),
        axes: axes(&[("m", m), ("n", n)]),
        reduce: axes(&[("k", k)]),
        before: vec![],
        combine: Combine::Sum,
        coefficients: None,
        body: ScalarExpr::binary(BinaryOp::Mul, load(0, vec![ax(0), ax(2)], false), load(1, vec![ax(2), ax(1)], false)),
        epilogue: ScalarExpr::Acc,
        store: vec![ax(0), ax(1)],
        across: None,
        clipped: false,
    }
}

/// A product whose operands are stored in half the bits.
fn halves(m: i64, n: i64, k: i64) -> TensorExpr {
    let mut expr = matmul(m, n, k);
    expr.inputs.iter_mut().for_each(|tensor| (tensor.element, tensor.role) = (Scalar::F16, Role::Activation));
    expr
}

/// The mean of each channel of a picture.
fn pool(c: i64, h: i64, w: i64) -> TensorExpr {
    global_average_pool(&[1, c, h, w], Scalar::F32).expect("an operator").steps.remove(0)
}

fn pointwise(n: i64, c: i64) -> TensorExpr {
    let ax = |i| Index::var(AxisId(i));
    TensorExpr {
        name: "scale".into(),
        inputs: vec![tensor("x", &[n, c], Role::Activation), tensor("s", &[c], Role::Activation)],
        output: tensor("y", &[n, c], Role::Output),
        axes: axes(&[("n", n), ("c", c)]),
        reduce: vec![],
        before: vec![],
        combine: Combine::Sum,
        coefficients: None,
        body: ScalarExpr::binary(BinaryOp::Mul, load(0, vec![ax(0), ax(1)], false), load(1, vec![ax(1)], false)),
        epilogue: ScalarExpr::unary(UnaryOp::Tanh, ScalarExpr::Acc),
        store: vec![ax(0), ax(1)],
        across: None,
        clipped: false,
    }
}

/// The sum or the greatest of exp(x − m) along rows, scaled by a number of each row.
fn rows(n: i64, c: i64, combine: Combine) -> TensorExpr {
    let ax = |i| Index::var(AxisId(i));
    let shifted = ScalarExpr::binary(BinaryOp::Sub, load(0, vec![ax(0), ax(1)], false), load(1, vec![ax(0)], false));
    TensorExpr {
        name: "rows".into(),
        inputs: vec![tensor("x", &[n, c], Role::Activation), tensor("s", &[n], Role::Activation)],
        output: tensor("y", &[n], Role::Output),
        axes: axes(&[("n", n)]),
        reduce: axes(&[("c", c)]),
        before: vec![],
        combine,
        coefficients: None,
        body: ScalarExpr::unary(UnaryOp::Exp, shifted),
        epilogue: ScalarExpr::binary(BinaryOp::Mul, ScalarExpr::Acc, load(1, vec![ax(0)], false)),
        store: vec![ax(0)],
        across: None,
        clipped: false,
    }
}

/// One of two operands, or what a comparison says, of each row's elements summed.
fn chosen(n: i64, c: i64) -> TensorExpr {
    let mut expr = rows(n, c, Combine::Sum);
    let [x, s] = [load(0, vec![Index::var(AxisId(0)), Index::var(AxisId(1))], false), load(1, vec![Index::var(AxisId(0))], false)];
    let less = ScalarExpr::binary(BinaryOp::Lt, s.clone(), x.clone());
    let either = ScalarExpr::binary(BinaryOp::Or, less.clone(), ScalarExpr::unary(UnaryOp::Not, x.clone()));
    expr.body = ScalarExpr::binary(BinaryOp::Add, ScalarExpr::select(either, ScalarExpr::unary(UnaryOp::Tanh, x), s), less.clone());
    expr.epilogue = ScalarExpr::select(ScalarExpr::Acc, ScalarExpr::binary(BinaryOp::Rem, ScalarExpr::Acc, ScalarExpr::Const(3.0)), less);
    expr.epilogue = expr.epilogue.with_leaves(&mut |leaf| match leaf {
        ScalarExpr::Load { tensor: 0, .. } => ScalarExpr::Const(0.25),
        other => other.clone(),
    });
    expr
}

/// A normalisation of rows as one expression: reductions first, then each element.
fn walked(operator: Operator) -> TensorExpr {
    walked_as("rows", operator)
}

/// The same of a name, `rows_kept` being what is made once.
fn walked_as(name: &str, operator: Operator) -> TensorExpr {
    let rows = candidates(&operator).into_iter().find(|own| own.name == name).expect("rows are alike");
    rows.operator.steps.into_iter().next().expect("an expression")
}

/// Its first input, read again where it is stored.
fn times_itself(mut expr: TensorExpr) -> TensorExpr {
    let first = load(0, expr.store.clone(), false);
    let across = expr.across.as_mut().expect("rows are held");
    across.epilogue = ScalarExpr::binary(BinaryOp::Mul, across.epilogue.clone(), first);
    expr
}

/// Rows that a group holds.
fn held(text: &str) -> TensorExpr {
    walked_as("held", parse_operator(text).expect("an operator"))
}

/// The transforms of a convolution by tiles: of taps, of the input, and into results.
fn tiled(name: &str, text: &str) -> Vec<TensorExpr> {
    let operator = parse_operator(text).expect("an operator");
    let own = candidates(&operator).into_iter().find(|own| own.name == name).expect("windows of 3 x 3");
    own.operator.steps.into_iter().filter(|step| step.coefficients.is_some()).collect()
}

fn direct(text: &str) -> TensorExpr {
    parse_operator(text).expect("an operator").steps.remove(0)
}

fn expressions() -> Vec<TensorExpr> {
    let tiles =
        [tiled("winograd2", "conv2d n=1 c=8 h=9 w=13 k=12 r=3 s=3 pad=1"), tiled("winograd4", "conv2d n=2 c=4 h=7 w=9 k=8 r=3 s=3 pad=1")];
    let [made_twice, kept] =
        ["rows", "rows_kept"].map(|name| move |shape: &[i64], axis| walked_as(name, softmax(shape, axis, Scalar::F32).expect("a softmax")));
    let layernorm = |shape: &[i64], axis| walked(layernorm(shape, axis, 1e-5, true, true, Scalar::F32).expect("a normalisation"));
    vec![
        made_twice(&[6, 45], 1),
        made_twice(&[3, 64], 1),
        made_twice(&[2, 40, 3, 5], 1),
        kept(&[6, 45], 1),
        kept(&[3, 64], 1),
        kept(&[2, 40, 3, 5], 1),
        layernorm(&[5, 72], 1),
        layernorm(&[2, 4, 6, 10], 1),
        rows(9, 37, Combine::Sum),
        rows(6, 64, Combine::Max),
        rows(3, 5, Combine::Sum),
        conv(8, 13, 17, 12, 3, 1),
        conv(5, 9, 9, 7, 3, 2),
        conv(16, 8, 24, 24, 1, 1),
        conv(20, 5, 7, 20, 3, 1),
        held("softmax n=6 c=45"),
        held("layernorm n=5 c=72"),
        held("matmul m=13 n=20 k=37 softmax=1"),
        held("matmul m=6 n=37 k=20 softmax=1 transpose_right=1 weights=none"),
        held("matmul m=12 n=72 k=13 batch=2 layernorm=1"),
        times_itself(held("matmul m=20 n=20 k=20 softmax=1 weights=none")),
        matmul(13, 20, 37),
        matmul(64, 64, 64),
        // A part of a copy is left, of which several trips are made and a rest.
        matmul(40, 24, 61),
        conv(45, 6, 9, 20, 3, 1),
        // Images: a batch, channels that make no whole texels, and an operand that is read across its rows.
        direct("conv2d n=2 c=10 h=9 w=11 k=10 r=3 s=3 stride=2 pad=1 weights=none"),
        direct("matmul m=24 n=20 k=45 transpose_right=1 weights=none"),
        halves(13, 20, 37),
        pool(12, 7, 40),
        pointwise(33, 10),
        chosen(9, 37),
        chosen(6, 64),
    ]
    .into_iter()
    .chain(tiles.into_iter().flatten())
    .flat_map(|expr| [in_halves(&expr), expr])
    .collect()
}

/// The same in half precision.
fn in_halves(expr: &TensorExpr) -> TensorExpr {
    let mut expr = expr.clone();
    let floats = expr.inputs.iter_mut().chain([&mut expr.output]).filter(|tensor| tensor.element.is_float());
    floats.for_each(|tensor| tensor.element = Scalar::Half);
    expr
}

/// What results have in common changes none of them, to the last bit: terms of products, known factors, rows.
#[test]
fn many_results_are_those_of_each() {
    let mut rng = fastrand::Rng::with_seed(5);
    let direct = |text: &str| parse_operator(text).expect("an operator").steps;
    let more = ["conv2d n=1 c=6 h=9 w=7 k=5 r=3 s=3 stride=2 pad=0", "avgpool n=1 c=3 h=9 w=9 r=3 s=3 stride=2", "fc n=3 k=40 m=7"];
    for expr in expressions().into_iter().chain(more.into_iter().flat_map(direct)) {
        let inputs: Vec<Vec<f64>> = expr.inputs.iter().map(|own| (0..own.len()).map(|_| rng.f64() - 0.5).collect()).collect();
        let slices: Vec<&[f64]> = inputs.iter().map(Vec::as_slice).collect();
        let evaluator = Evaluator::new(&expr, &slices);
        for _ in 0..3 {
            let row: Vec<i64> = expr.axes.iter().map(|axis| rng.i64(0..axis.extent)).collect();
            let mut met = 0;
            evaluator.row(&row, |point, _, value| {
                let alone = expr.evaluate(point, &slices);
                assert_eq!(value.to_bits(), alone.to_bits(), "{} at {point:?}: {value} {alone}", expr.name);
                met += 1;
            });
            assert!(met > 0 || expr.clipped);
        }
    }
}

/// An outline stands for the kernel: as many accesses of each kind in each loop, and the same corners of what they touch.
fn says_the_same(outline: &Kernel, kernel: &Kernel, shown: &impl std::fmt::Debug) {
    let totals = |kernel: &Kernel| {
        let mut totals: BTreeMap<String, f64> = BTreeMap::new();
        kernel.accesses.each_with_trips(&mut |access, times| {
            let forms: Vec<_> = access.coords.iter().map(|form| form.with_constant(0)).collect();
            let lanes: Vec<_> = access.guard.iter().map(|bound| (bound.extent, bound.per_lane)).collect();
            let alike = format!("{} {:?} {forms:?} {} {lanes:?} {}", access.tensor, access.kind, access.width, access.ahead);
            *totals.entry(alike).or_default() += times;
        });
        totals
    };
    assert_eq!(totals(outline), totals(kernel), "{shown:?}");
    let corners = |kernel: &Kernel| {
        let mut corners: BTreeMap<(u16, usize), (i64, i64)> = BTreeMap::new();
        kernel.accesses.each(&mut |access| {
            for (d, form) in access.coords.iter().enumerate() {
                let own = corners.entry((access.tensor, d)).or_insert((i64::MAX, i64::MIN));
                *own = (own.0.min(form.constant), own.1.max(form.constant));
            }
        });
        corners
    };
    // Of coordinates within strips the corners of what lies in several of them are not the corners of their parts.
    let blocks = ["block", "\"rows", "\"columns"].iter().any(|own| format!("{shown:?}").contains(own));
    for (own, all) in corners(outline).into_iter().zip(corners(kernel)) {
        assert!(own == all || blocks && own.0 == all.0 && all.1.0 <= own.1.0 && own.1.1 <= all.1.1, "{shown:?}");
    }
    let rest = |k: &Kernel| (k.accesses.tensors.clone(), k.launch.clone(), k.registers, k.local, k.ops.clone(), k.chain, k.known.clone());
    assert_eq!(rest(outline), rest(kernel), "{shown:?}");
}

/// Whether a configuration copies an image to local memory.
fn copies_an_image(family: &ScheduleFamily, config: &Config) -> bool {
    let knobs = family.space().describe(config);
    let Some(KnobValue::Label(stage)) = knobs.get("stage") else { return false };
    let image = |name: &str| matches!(knobs.get(&*format!("place_{name}")), Some(KnobValue::Label(place)) if place.starts_with("image"));
    stage.split('+').any(image)
}

/// Configurations drawn of a family: so many of all, as many of those whose work-items meet, of those that copy images, and of those whose
/// copies serve several trips, if there are any.
fn drawn(family: &ScheduleFamily, rng: &mut fastrand::Rng, number: usize) -> Vec<Config> {
    let (meeting, others): (Vec<Config>, Vec<Config>) = family.configs().partition(|config| family.meets(config) != Meeting::default());
    let trips = family.space().knobs.iter().position(|knob| &*knob.name == "stage_trips");
    let images: Vec<Config> = meeting.iter().filter(|config| copies_an_image(family, config)).cloned().collect();
    let (nested, meeting): (Vec<Config>, Vec<Config>) = meeting.into_iter().partition(|config| trips.is_some_and(|at| config.0[at] > 1));
    let lists = [others, meeting, images, nested].into_iter().filter(|list| !list.is_empty());
    lists.flat_map(|list| (0..number).map(|_| rng.choice(&list).expect("one").clone()).collect::<Vec<_>>()).collect()
}

#[test]
fn outlines_stand_for_kernels() {
    let mut rng = fastrand::Rng::with_seed(7);
    let (mut copying, mut sharing, mut nested, mut ahead, mut turns) = (0, 0, 0, 0, 0);
    let (mut sampling, mut texels, mut texels_ahead) = (0, 0, 0);
    for expr in expressions() {
        let sampled = ScheduleFamily::by(expr.clone(), Passes::default().set(Pass::Sampler, true));
        let family = ScheduleFamily::new(expr);
        for config in drawn(&family, &mut rng, 60) {
            let kernel = family.kernel(&config);
            let knobs = family.space().describe(&config);
            copying += usize::from(knobs.get("stage").is_some_and(|stage| *stage != KnobValue::Label("none".into())));
            sharing += usize::from(knobs.get("reduction_lanes").is_some_and(|lanes| *lanes != KnobValue::Number(1)));
            nested += usize::from(knobs.get("stage_trips").is_some_and(|trips| *trips != KnobValue::Number(1)));
            ahead += usize::from(knobs.get("stage_ahead") == Some(&KnobValue::Label("trip".into())));
            let image = copies_an_image(&family, &config);
            texels += usize::from(image);
            texels_ahead += usize::from(image && knobs.get("stage_ahead") == Some(&KnobValue::Label("trip".into())));
            turns += usize::from(knobs.get("accumulators").is_some_and(|own| *own != KnobValue::Number(1)));
            says_the_same(&family.outline(&config), &kernel, &knobs);
            let other = sampled.kernel(&config);
            sampling += usize::from(other != kernel);
            says_the_same(&sampled.outline(&config), &other, &knobs);
        }
    }
    assert!(sampling >= 20, "{sampling} leave bounds to samplers");
    assert!(texels >= 500 && texels_ahead >= 100, "{texels} copy images, {texels_ahead} of them a trip ahead");
    println!(
        "{copying} copy tensors, {nested} for several trips, {ahead} a trip ahead, {sharing} share reductions, {turns} have accumulators"
    );
    assert!(
        copying >= 100 && nested >= 50 && ahead >= 50 && sharing >= 100 && turns >= 100,
        "{copying} {nested} {ahead} {sharing} {turns}"
    );
}

/// Sixty tensors lie in 3^60 ways: the first and the output do, the others row by row.
#[test]
fn many_tensors_are_no_space_without_end() {
    let concat = parse_operator("concat n=2 c=3 parts=60").expect("an operator").steps.remove(0);
    let family = ScheduleFamily::new(concat);
    let count = family.configs().count();
    assert!((1000..10_000_000).contains(&count), "{count}");
    let placed = family.space().knobs.iter().filter(|knob| knob.name.starts_with("place_")).count();
    assert!((4..12).contains(&placed), "{placed}");
    let config = family.sample(7, 3, Meeting::ANY).pop().expect("a configuration");
    assert!(family.finish(&config).is_ok() && family.kernel(&config).accesses.tensors.len() == 61);
}

#[test]
fn convolutions_have_a_thousand_configurations() {
    for expr in [conv(8, 32, 32, 16, 3, 1), conv(16, 16, 32, 8, 1, 1), conv(3, 48, 192, 8, 3, 2)] {
        let outputs = expr.output.len();
        let configs = ScheduleFamily::new(expr).configs().count();
        assert!(outputs >= 4096 && configs >= 1000, "{configs} configurations for {outputs} outputs");
        eprintln!("{outputs} outputs: {configs} configurations");
    }
}

#[test]
fn so_have_convolutions_of_any_shape() {
    let mut rng = fastrand::Rng::with_seed(12);
    let any = |rng: &mut fastrand::Rng| 1i64 << rng.i64(0..13);
    for _ in 0..25 {
        let outputs = |n: i64, k: i64, h: i64, w: i64| n * k * h * w;
        let (n, k, h, w) = loop {
            let (n, k, h, w) = (any(&mut rng).min(64), any(&mut rng) + rng.i64(0..3), any(&mut rng), any(&mut rng) + rng.i64(0..2));
            if (4096..1 << 18).contains(&outputs(n, k, h, w)) {
                break (n, k, h, w);
            }
        };
        let (c, r, s) = (rng.i64(1..20), *rng.choice(&[1, 3]).expect("two"), *rng.choice(&[1, 3]).expect("two"));
        let text = format!("conv2d n={n} c={c} h={} w={} k={k} r={r} s={s} stride=1 pad=0", h + r - 1, w + s - 1);
        let expr = warpsight_generate::operators::parse_operator(&text).expect("an operator").steps.remove(0);
        let configs = ScheduleFamily::new(expr).configs().count();
        assert!(configs >= 1000, "{text}: {configs} configurations");
    }
}

/// Whether it has a remainder in halves: of a sum that is nearly a multiple it jumps, and says nothing.
fn jumps(expr: &TensorExpr) -> bool {
    let mut found = false;
    expr.scalars().for_each(|own| own.each(&mut |own| found |= matches!(own, ScalarExpr::Binary(BinaryOp::Rem, ..))));
    found && expr.arithmetic() == Scalar::Half
}

/// What Programs of these configurations compute is the expression.
fn compute_it(family: &ScheduleFamily, configs: &[Config], rng: &mut fastrand::Rng) {
    let expr = family.expr();
    // Integers are places.
    let far = |t: &Tensor| if t.element == Scalar::I32 { 5.0 } else { 1.0 };
    let mut values = |t: &Tensor| stored(t.element, (0..t.len()).map(|_| far(t) * (rng.f32() * 2.0 - 1.0)).collect());
    let inputs: Vec<Vec<f32>> = expr.inputs.iter().map(&mut values).collect();
    let doubles: Vec<Vec<f64>> = inputs.iter().map(|v| v.iter().map(|&x| f64::from(x)).collect()).collect();
    let slices: Vec<&[f64]> = doubles.iter().map(Vec::as_slice).collect();
    let evaluator = warpsight_generate::expr::Evaluator::new(expr, &slices);
    for config in configs {
        let layouts = family.layouts(config).expect("legal");
        for program in [family.lower(config).expect("lowers"), family.finish(config).expect("finishes")] {
            let given = expr.inputs.iter().zip(&layouts).zip(&inputs);
            let packed = given.map(|((t, p), v)| p.pack(t, v, if t.role == Role::Weight { 0.0 } else { f32::NAN }));
            let mut data: Vec<Vec<u8>> = packed.collect();
            let out: &Layout = layouts.last().expect("the output's");
            data.push(vec![0xff; out.bytes(Scalar::F32) as usize]);
            let mut bindings = warpsight_ir::Bindings { sizes: Default::default(), data };
            warpsight_ir::interpret::interpret(&program, &mut bindings)
                .unwrap_or_else(|e| panic!("{e}\n{:?}", family.space().describe(config)));
            let got = out.unpack(&expr.output, bindings.data.last().expect("the output's"));
            let (mut worst, mut largest) = (0.0f64, 1.0f64);
            let rows = expr.rows();
            warpsight_generate::indices::for_each_index(&rows, |_, row| {
                evaluator.row(row, |_, flat, want| {
                    largest = largest.max(want.abs());
                    worst = worst.max((want - f64::from(got[flat])).abs()).max(if got[flat].is_nan() { 1e9 } else { 0.0 });
                });
            });
            let most = if expr.arithmetic() == Scalar::Half { 5e-2 * largest } else { 1e-4 };
            assert!(worst < most, "{worst} {:?}", family.space().describe(config));
        }
    }
}

/// Of each expression a few configurations; `WARPSIGHT_SAMPLES` asks for more.
#[test]
fn lowered_programs_compute_the_expression() {
    let mut rng = fastrand::Rng::with_seed(11);
    let samples = std::env::var("WARPSIGHT_SAMPLES").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    for expr in expressions().into_iter().filter(|expr| !jumps(expr)) {
        let family = ScheduleFamily::new(expr);
        let configs = drawn(&family, &mut rng, samples);
        compute_it(&family, &configs, &mut rng);
    }
}

/// What is found through numbers lies in blocks of channels where no number moves along these, and is read in vectors of them; in no other way
/// but row by row.
#[test]
fn what_is_found_lies_in_blocks_of_channels() {
    let mut rng = fastrand::Rng::with_seed(3);
    let along = |axis: usize, index: &[i64]| {
        let (shape, index) = (vec![1, 12, 5, 4], index.to_vec());
        let own = Lookup { shape, axis, dimensions: 1, index, positions: Scalar::I32, element: Scalar::F32 };
        gather(&own).expect("in range")
    };
    let resized = |kind: &str| parse_operator(&format!("{kind} n=1 c=12 h=5 w=4 oh=7 ow=9")).expect("parses");
    let operators = [resized("resize_nearest"), resized("resize_linear"), along(2, &[6]), along(1, &[16])];
    let mut blocks = vec![];
    for operator in operators {
        let family = ScheduleFamily::new(operator.steps[0].clone());
        let found = family.expr().inputs.iter().position(|tensor| &*tensor.name == "input").expect("has one");
        let mut configs = family.sample(1, 400, Meeting::ANY);
        rng.shuffle(&mut configs);
        let place = |config: &Config| family.places(config).expect("legal")[found];
        assert!(configs.iter().all(|config| matches!(place(config), Place::Buffer | Place::Strips(Along::Rows, _))));
        configs.retain(|config| matches!(place(config), Place::Strips(Along::Rows, Some(_))));
        configs.truncate(24);
        blocks.push(configs.len());
        let vectors = |config: &Config| {
            let (kernel, mut wide) = (family.kernel(config), false);
            kernel
                .accesses
                .each(&mut |access| wide |= &*kernel.accesses.tensors[usize::from(access.tensor)].name == "input" && access.width > 1);
            wide
        };
        assert!(configs.is_empty() || configs.iter().any(vectors));
        compute_it(&family, &configs, &mut rng);
    }
    assert_eq!(blocks, [24, 24, 24, 0]);
}

/// Images whose texels lie in columns, or in blocks, of inputs and of results, with samplers that answer beside them: outlines and Programs hold
/// there, too.
#[test]
fn patterns_of_texels_hold_what_rows_do() {
    let mut rng = fastrand::Rng::with_seed(5);
    let mut seen: BTreeMap<(bool, Place), usize> = BTreeMap::new();
    for (n, expr) in expressions().into_iter().filter(|expr| !jumps(expr)).enumerate() {
        let family = ScheduleFamily::by(expr, Passes::default().set(Pass::Patterns, true).set(Pass::Sampler, true));
        let mut configs = family.sample(n as u64, 60, Meeting::ANY);
        rng.shuffle(&mut configs);
        let arranged = |config: &Config| -> Vec<(bool, Place)> {
            let places = family.places(config).expect("legal");
            let last = places.len() - 1;
            let all = places.into_iter().enumerate().map(|(t, place)| (t == last, place));
            all.filter(|own| matches!(own.1, Place::Column | Place::Tall(_))).collect()
        };
        // Of each pattern some, of inputs and of outputs.
        let mut own: BTreeMap<(bool, Place), usize> = BTreeMap::new();
        configs.retain(|config| {
            let arranged = arranged(config);
            let wanted = arranged.iter().any(|place| own.get(place).is_none_or(|&n| n < 2));
            if wanted {
                arranged.into_iter().for_each(|place| *own.entry(place).or_default() += 1);
            }
            wanted
        });
        own.into_iter().for_each(|(place, n)| *seen.entry(place).or_default() += n);
        for config in &configs {
            says_the_same(&family.outline(config), &family.kernel(config), &family.space().describe(config));
        }
        compute_it(&family, &configs, &mut rng);
    }
    println!("{seen:?}");
    assert_eq!(seen.len(), 8, "{seen:?}");
    assert!(seen.values().all(|&n| n >= 20), "{seen:?}");
}

/// Paper 000, figure 7: the second operand of a product by columns and in blocks of four, as Listing 1 means it.
#[test]
fn texels_lie_where_the_paper_says() {
    let at = |place, k, n| {
        let own = Layout::texels(&[16, 12], 1).patterned(place);
        assert_eq!(
            own.image_size(),
            Some(match place {
                Place::Image => (16, 3),
                Place::Column => (3, 16),
                _ => (4, 12),
            })
        );
        own.coords(&[k, n]).to_vec()
    };
    for (k, w) in [(0, 0), (5, 2), (15, 1)] {
        assert_eq!(at(Place::Image, k, w * 4), [k, w]);
        assert_eq!(at(Place::Column, k, w * 4), [w, k]);
        assert_eq!(at(Place::Tall(4), k, w * 4), [k / 4, w * 4 + k % 4]);
    }
}

/// Steps that exceed 32 bits are in no configuration; those that are left have kernels and programs.
#[test]
fn configurations_keep_coordinates_within_32_bits() {
    let expr = parse_operator("conv2d n=1 c=1 h=2147483647 w=1 k=4 r=1 s=1 stride=2147483646").expect("an operator").steps.remove(0);
    let family = ScheduleFamily::new(expr);
    let configs: Vec<_> = family.configs().collect();
    assert!(!configs.is_empty());
    let tiles = |c: &Config| family.space().describe(c)["tile_y"].to_string();
    assert!(configs.iter().all(|c| tiles(c) == "1"), "two of these steps exceed 32 bits");
    for config in configs.iter().step_by(37) {
        says_the_same(&family.outline(config), &family.kernel(config), &family.space().describe(config));
    }
}

/// The walk leaves out whole parts of the product of all knobs, and no configuration.
#[test]
fn every_legal_combination_is_walked_once_in_order() {
    for expr in expressions() {
        let family = ScheduleFamily::new(expr);
        let all = ConfigSpace::combine(&family.space().knobs).map(Config);
        let mut walked = family.configs().peekable();
        let mut seen = 0;
        for config in all.take(20_000) {
            seen += 1;
            let legal = family.layouts(&config).is_ok();
            assert_eq!(walked.next_if_eq(&config).is_some(), legal, "{:?}", family.space().describe(&config));
        }
        assert!(seen == 20_000 || walked.next().is_none());
        assert!(seen as u64 == family.space().combinations().min(20_000));
    }
}

#[test]
fn rows_are_reduced_in_vectors_along_them() {
    let folded = |expr: TensorExpr| {
        let family = ScheduleFamily::new(expr);
        let along = |config: &Config| {
            let knobs = family.space().describe(config);
            knobs["vector_axis"] == KnobValue::Label("c".into()) && knobs["vector"] == KnobValue::Number(8)
        };
        let config = family.configs().find(along)?;
        Some(family.kernel(&config).ops)
    };
    // Of 37 terms four vectors of 8, folded in three steps, one of 4, folded in two, and one term by itself.
    let ops = folded(rows(9, 37, Combine::Sum)).expect("rows have vectors along them");
    let adds = |width: u8| ops.0.get(&(OpClass::Float, Scalar::F32, width)).copied().unwrap_or(0);
    let points = adds(8) / (2 * 4);
    assert_eq!((adds(4), adds(2)), (points * 2, points * 2), "a fold each, x − m of the vector of 4 and its first fold");
    assert_eq!(adds(1), points * (1 + 2 + 2 + 1 + 1), "the last fold, that and the sum of 4, a term, both together, the scale of the row");
    // Terms that lie apart, and constants, have none.
    assert!(folded(conv(16, 8, 24, 24, 1, 1)).is_none());
    assert!(folded(matmul(64, 64, 64)).is_none());
    // No vector is longer than the row.
    assert!(folded(rows(3, 5, Combine::Sum)).is_none());
}

/// A part of a space is a part by chance, and all of it where it is small enough.
#[test]
fn a_part_of_a_space() {
    let family = ScheduleFamily::new(parse_operator("matmul m=40 n=24 k=32").expect("an operator").steps.remove(0));
    let all: Vec<Config> = family.configs().collect();
    let some = family.some(2000);
    assert!(all.len() > 10_000 && (600..=2400).contains(&some.len()), "{} of {}", some.len(), all.len());
    assert_eq!(some, family.some(2000));
    let set: std::collections::BTreeSet<&Config> = all.iter().collect();
    assert!(some.iter().all(|config| set.contains(config)));
    assert_eq!(family.some(all.len()), all);
    // Every value of every knob that legal ones have is among them.
    for (at, knob) in family.space().knobs.iter().enumerate() {
        let values = |of: &[Config]| of.iter().map(|config| config.0[at]).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(values(&some), values(&all), "{}", knob.name);
    }
}

/// Rows too long for one lane to add up are shared: by lanes of a group, by those of a vector, or by both, so that no sum has more terms than
/// those of cut reductions have.
#[test]
fn no_lane_adds_up_a_whole_long_row() {
    for (c, element, longest) in [(128_256, Scalar::F32, 1 << 15), (65_537, Scalar::F32, 1 << 15), (4096, Scalar::Half, 1 << 10)] {
        let family = ScheduleFamily::new(walked_as("rows", softmax(&[64, c], 1, element).expect("a softmax")));
        let (mut legal, mut alone) = (0, 0);
        for config in family.configs() {
            let knobs = family.space().describe(&config);
            let number = |name: &str| knobs.get(name).map_or(1, |own| own.to_string().parse::<i64>().expect("a number"));
            let along = knobs.get("vector_axis").is_some_and(|own| own.to_string().starts_with('r'));
            let sums = number("reduction_lanes") * number("accumulators") * if along { number("vector") } else { 1 };
            assert!(c <= longest * sums, "{knobs:?}");
            (legal, alone) = (legal + 1, alone + usize::from(number("reduction_lanes") == 1));
        }
        assert!(legal > 100 && alone > 0, "{legal} {alone}");
    }
}

/// What is too long to add up and cannot be cut, because its parts would be too many, is computed as it is.
#[test]
fn what_cannot_be_cut_is_computed_whole() {
    for text in ["matmul m=16384 n=16384 k=4096 dtype=f16", "matmul m=32768 n=16384 k=53248", "matmul m=40000 n=40000 k=50000"] {
        let steps = parse_operator(text).expect("an operator").steps;
        assert_eq!(steps.len(), 1, "{text}");
        assert!(steps.into_iter().all(|step| !ScheduleFamily::new(step).sample(7, 3, Meeting::ANY).is_empty()), "{text}");
    }
}

/// Products, in batches and of transposed operands, of prime extents and of some below a width, with panels of each operand and of the results;
/// pictures with their channels side by side, of kernels that slide and of Winograd's tiles: outlines and Programs hold there, too.
#[test]
fn strips_hold_what_rows_do() {
    let mut rng = fastrand::Rng::with_seed(20_261_201);
    let drawn = |rng: &mut fastrand::Rng| {
        let mut any = |most: i64| *rng.choice(&[3, 7, 8, 13, 16, 19, 24, 31]).expect("some").min(&most);
        let (m, n, k, b) = (any(31), any(31), any(31), any(3));
        let flag = |name: &str, on: bool| if on { format!(" {name}=1") } else { String::new() };
        let turned = [flag("transpose_left", rng.bool()), flag("transpose_right", rng.bool())].concat();
        format!("matmul m={m} n={n} k={k}{turned} weights=none{}", if rng.bool() { format!(" batch={b}") } else { String::new() })
    };
    let pictures = [
        "conv2d n=2 c=5 h=6 w=7 k=6 r=3 s=3 pad=1",
        "conv2d n=1 c=24 h=4 w=5 k=20 r=1 s=1",
        "dwconv2d n=1 c=6 h=6 w=5 r=3 s=3 pad=1",
        "maxpool n=1 c=6 h=8 w=8 r=2 s=2 stride=2",
        "resize_linear n=1 c=6 h=5 w=4 oh=7 ow=9",
        "add n=2 c=6 h=4 w=5",
        "add n=5 c=37",
        "softmax n=19 c=21",
        "layernorm n=20 c=19",
    ];
    let mut texts: Vec<String> = (0..24).map(|_| drawn(&mut rng)).collect();
    texts.extend(pictures.map(str::to_owned));
    let mut operators: Vec<Operator> = texts.iter().map(|text| parse_operator(text).expect("an operator")).collect();
    let conv = parse_operator("conv2d n=2 c=6 h=9 w=10 k=10 r=3 s=3 pad=1").expect("an operator");
    operators.push(candidates(&conv).into_iter().find(|own| own.name == "winograd2").expect("offered").operator);
    let mut seen: BTreeMap<(bool, Place), usize> = BTreeMap::new();
    for (n, expr) in operators.into_iter().flat_map(|own| own.steps).enumerate() {
        let family = ScheduleFamily::by(expr, Passes::default().set(Pass::Strips, true));
        let mut configs = family.sample(n as u64, 100, Meeting::ANY);
        rng.shuffle(&mut configs);
        let product = family.expr().inputs.len() == 2 && family.expr().reduce.len() == 1;
        let mut own: BTreeMap<(usize, Place), usize> = BTreeMap::new();
        configs.retain(|config| {
            let places = family.places(config).expect("legal");
            let strips =
                |place: &Place| matches!(place, Place::Strips(along, width) if *along == Along::Columns || width.is_none() || product);
            let all: Vec<(usize, Place)> = places.iter().copied().enumerate().filter(|own| strips(&own.1)).collect();
            let wanted = all.iter().any(|place| own.get(place).is_none_or(|&n| n < 2));
            if wanted {
                all.into_iter().for_each(|place| *own.entry(place).or_default() += 1);
            }
            wanted
        });
        let last = family.expr().inputs.len();
        own.into_iter().for_each(|((t, place), n)| *seen.entry((t == last, place)).or_default() += n);
        for config in &configs {
            says_the_same(&family.outline(config), &family.kernel(config), &family.space().describe(config));
        }
        compute_it(&family, &configs, &mut rng);
    }
    println!("{seen:?}");
    let strips = [Along::Rows, Along::Columns].into_iter().flat_map(|own| [4, 8, 16].map(|width| Place::Strips(own, Some(width))));
    for place in strips.chain([Place::Strips(Along::Rows, None)]) {
        assert!([false, true].iter().all(|out| seen.get(&(*out, place)).is_some_and(|&n| n >= 12)), "{place:?} {seen:?}");
    }
}

/// Where elements of strips lie.
#[test]
fn strips_lie_side_by_side() {
    let at = |shape: &[i64], along, width, index: &[i64]| {
        let own = Layout::of(&tensor("t", shape, Role::Activation), Place::Strips(along, width));
        (own.coords(index).to_vec(), own.bytes(Scalar::F32) / 4)
    };
    let batch = [2, 11, 13];
    assert_eq!(at(&batch, Along::Rows, Some(4), &[1, 6, 9]), (vec![1, 1, 9, 2], 2 * 12 * 13));
    assert_eq!(at(&batch, Along::Columns, Some(8), &[1, 6, 9]), (vec![1, 1, 6, 1], 2 * 11 * 16));
    assert_eq!(at(&[7, 5], Along::Rows, None, &[6, 4]), (vec![4, 6], 35));
    let picture = [2, 11, 3, 5];
    assert_eq!(at(&picture, Along::Rows, Some(8), &[1, 9, 2, 4]), (vec![1, 1, 2, 4, 1], 2 * 16 * 15));
    assert_eq!(at(&picture, Along::Rows, None, &[1, 9, 2, 4]), (vec![1, 2, 4, 9], 2 * 11 * 15));
    assert_eq!(at(&picture, Along::Columns, Some(4), &[1, 9, 2, 4]), (vec![1, 1, 9, 2, 0], 2 * 11 * 3 * 8));
    let labels = |along, width, rank| Place::Strips(along, width).label(rank);
    assert_eq!(labels(Along::Rows, Some(8), 4), "blocks8");
    assert_eq!(labels(Along::Rows, None, 4), "channels_last");
    assert_eq!(labels(Along::Rows, Some(8), 3), "rows8");
    assert_eq!(labels(Along::Columns, Some(16), 2), "columns16");
}

/// Groups that go rounds, with what is the same in all of them in registers or loaded anew, of windows, pictures without a rest and with one, images,
/// and pointwise operators: outlines and Programs hold there, too.
#[test]
fn rounds_hold_what_one_does() {
    let mut rng = fastrand::Rng::with_seed(20_261_201);
    let texts = [
        "dwconv2d n=1 c=13 h=17 w=11 r=3 s=3 pad=1",
        "dwconv2d n=2 c=8 h=32 w=5 r=3 s=3 stride=2 pad=1",
        "dwconv2d n=1 c=24 h=9 w=9 r=5 s=5 pad=2",
        "conv2d n=1 c=3 h=16 w=20 k=10 r=3 s=3 pad=1",
        "conv2d n=1 c=12 h=1 w=40 k=12 r=1 s=5 groups=12 pad=2 padh=0",
    ];
    let mut biased = direct("dwconv2d n=1 c=12 h=16 w=9 r=3 s=3 pad=1");
    biased.inputs.push(tensor("b", &[12], Role::Weight));
    biased.epilogue = ScalarExpr::binary(BinaryOp::Add, ScalarExpr::Acc, load(2, vec![biased.store[1].clone()], false));
    let own = texts.map(direct).into_iter().chain([biased, pointwise(33, 10), conv(5, 17, 9, 7, 3, 2)]);
    let (mut kept, mut anew, mut images, mut beyond, mut twice) = (0, 0, 0, 0, 0);
    for (n, expr) in own.flat_map(|expr| [in_halves(&expr), expr]).enumerate() {
        let family = ScheduleFamily::by(expr, Passes::default().set(Pass::Rounds, true));
        let knobs = |config: &Config| family.space().describe(config);
        let none = |config: &Config, knob: &str| knobs(config)[knob] == KnobValue::Label("none".into());
        let mut configs = family.sample(n as u64, 3000, Meeting::ANY);
        rng.shuffle(&mut configs);
        let mut wanted = [12, 6];
        configs.retain(|config| {
            let left = &mut wanted[usize::from(none(config, "keep"))];
            let own = !none(config, "rounds") && *left > 0;
            *left -= usize::from(own);
            own
        });
        assert_eq!(configs.len(), 18, "{}", family.expr().name);
        for config in &configs {
            let kernel = family.kernel(config);
            says_the_same(&family.outline(config), &kernel, &knobs(config));
            // What is kept is loaded outside of every loop.
            let alone = kernel.accesses.nest.iter().filter(|node| matches!(node, warpsight_ir::Nest::Access(_))).count();
            assert_eq!(alone > 0, !none(config, "keep"), "{:?}", knobs(config));
            let places = family.places(config).expect("legal");
            (kept, anew) = (kept + usize::from(alone > 0), anew + usize::from(alone == 0));
            images += usize::from(alone > 0 && places.iter().any(|place| place.is_image()));
            let dump = |step| family.dump(config, step).expect("legal");
            twice += usize::from(dump(Lowering::Tile).matches("sequential").count() > 1);
            beyond += usize::from(dump(Lowering::Program).lines().any(|line| line.trim_start().starts_with("if ")));
        }
        compute_it(&family, &configs, &mut rng);
    }
    println!(
        "{kept} keep, {anew} do not, {images} of the first with images, {twice} have loops inside, {beyond} have idle lanes or rounds"
    );
    assert!(kept >= 100 && anew >= 50 && images >= 50 && twice >= 10 && beyond >= 20, "{kept} {anew} {images} {twice} {beyond}");
}
