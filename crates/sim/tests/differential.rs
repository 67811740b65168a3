//! The simulator gives what the interpreter gives, bit by bit.

mod common;
use common::*;
use warpsight_ir::interpret::interpret;
use warpsight_ir::*;
use warpsight_sim::{Sampling, Silicon, SimFault, Simulator};

/// Runs both on the same data and compares all memory; NaNs of any payload are the same.
fn compare(program: &Checked, data: Vec<Vec<u8>>, what: &str) {
    let mut expected = bindings(data.clone());
    interpret(program, &mut expected).unwrap_or_else(|e| panic!("{what}: interpreter: {e}"));
    for silicon in silicons() {
        let what = format!("{what} in waves of {}", silicon.core.wave);
        compare_on(&Simulator::new(silicon), program, data.clone(), &expected, &what);
    }
}

/// Waves that fill a row, that fill one partly, and of every size of rows.
fn silicons() -> Vec<Silicon> {
    let of = |wave: u32| {
        let text =
            format!("base = \"adreno640\"\n[core]\nwave = {wave}\nlanes = {}\n[residency]\nwarp = {wave}\nmax_warps = 300\n", 2 * wave);
        Silicon::parse(&text).unwrap_or_else(|e| panic!("{e}"))
    };
    let mut all = vec![Silicon::adreno640(), of(4), of(24), of(128)];
    all.push(Silicon::named("a100-40").unwrap_or_else(|| panic!("embedded")));
    all
}

fn compare_on(sim: &Simulator, program: &Checked, data: Vec<Vec<u8>>, expected: &Bindings, what: &str) {
    let mut got = bindings(data);
    let report = sim.simulate(program, &mut got).unwrap_or_else(|e| panic!("{what}: simulator: {e}"));
    assert!(report.cycles.0 > 0.0);
    // Without results, everything else is the same.
    match sim.time(program, &got.sizes, Sampling::ALL) {
        Ok(timed) => assert_eq!(timed, report, "{what}"),
        Err(SimFault::NeedsData { .. }) => {}
        Err(e) => panic!("{what}: {e}"),
    }
    for (at, (e, g)) in expected.data.iter().zip(&got.data).enumerate() {
        if e == g {
            continue;
        }
        let halves = match program.params[at].kind {
            ParamKind::Buffer { element, .. } => matches!(element, Scalar::F16 | Scalar::Half),
            ParamKind::Image { format, .. } => format.bytes() == 8,
            ParamKind::Channel { .. } => false,
        };
        let word = e.as_chunks::<4>().0.iter().zip(g.as_chunks::<4>().0).position(|(a, b)| {
            if halves {
                let half = |word: &[u8; 4], at: usize| half::f16::from_le_bytes([word[at], word[at + 1]]);
                return [0, 2].into_iter().any(|at| a[at..at + 2] != b[at..at + 2] && !(half(a, at).is_nan() && half(b, at).is_nan()));
            }
            let (x, y) = (f32::from_le_bytes(*a), f32::from_le_bytes(*b));
            a != b && !(x.is_nan() && y.is_nan())
        });
        if let Some(w) = word {
            panic!("{what}: argument {at}, word {w}: {:?} instead of {:?}", &g[w * 4..w * 4 + 4], &e[w * 4..w * 4 + 4]);
        }
        assert!(e.len() % 4 == 0, "{what}: argument {at} differs");
    }
}

/// Convolution with a guard at each edge, one output a work-item.
fn convolution(rng: &mut fastrand::Rng) -> (Checked, Vec<Vec<u8>>, String) {
    let (c, h, w) = (rng.i64(1..5), rng.i64(1..14), rng.i64(1..14));
    let (k, r, s) = (rng.i64(1..5), rng.i64(1..4), rng.i64(1..4));
    let (stride, pad) = (rng.i64(1..3), rng.i64(0..2));
    let (oh, ow) = (((h + 2 * pad - r) / stride + 1).max(1), ((w + 2 * pad - s) / stride + 1).max(1));
    let (lx, ly) = (rng.u32(1..9), rng.u32(1..5));
    let unroll = [Unroll::None, Unroll::Full, Unroll::By(2), Unroll::Auto][rng.usize(0..4)];
    let y_in = |e: Expr| sub(add(mul(v("y"), i(stride)), e), i(pad));
    let x_in = |e: Expr| sub(add(mul(v("x"), i(stride)), e), i(pad));
    let guard = vec![bound(y_in(v("dy")), i(h)), bound(x_in(v("dx")), i(w))];
    let a = Expr::Load { source: "a".into(), index: vec![v("dc"), y_in(v("dy")), x_in(v("dx"))], width: 1, guard };
    let b = load("b", vec![v("gk"), v("dc"), v("dy"), v("dx")], 1);
    let inner = for_("dx", i(s), unroll, vec![set("s", fma(a, b, v("s")))]);
    let body = vec![
        let_("x", add(mul(v("gx"), i(lx.into())), v("lx"))),
        let_("y", add(mul(v("gy"), i(ly.into())), v("ly"))),
        Stmt::If {
            condition: bin(BinaryOp::And, bin(BinaryOp::Lt, v("x"), i(ow)), bin(BinaryOp::Lt, v("y"), i(oh))),
            then: vec![
                var("s", F32, f(0.5)),
                for_("dc", i(c), Unroll::None, vec![for_("dy", i(r), unroll, vec![inner])]),
                store("out", vec![v("gk"), v("y"), v("x")], v("s")),
            ],
            otherwise: vec![],
        },
    ];
    let params = vec![
        buffer("a", Scalar::F32, &[c, h, w], Access::Read),
        buffer("b", Scalar::F32, &[k, c, r, s], Access::Read),
        buffer("out", Scalar::F32, &[k, oh, ow], Access::Write),
    ];
    let groups = [("gx", (ow as u32).div_ceil(lx).into()), ("gy", (oh as u32).div_ceil(ly).into()), ("gk", k)];
    let p = program(params, vec![], launch(&groups, &[("lx", lx), ("ly", ly)]), body);
    let data =
        vec![random_f32(rng, (c * h * w) as usize), random_f32(rng, (k * c * r * s) as usize), vec![0xff; (k * oh * ow * 4) as usize]];
    (p, data, format!("conv c={c} h={h} w={w} k={k} r={r} s={s} stride={stride} pad={pad} {unroll:?}"))
}

#[test]
fn convolutions_agree() {
    let mut rng = fastrand::Rng::with_seed(1);
    for _ in 0..40 {
        let (p, data, what) = convolution(&mut rng);
        compare(&p, data, &what);
    }
}

/// Matrix product with a tile in local memory, barriers and a private accumulator; edges guarded per element.
fn tiled_product(rng: &mut fastrand::Rng) -> (Checked, Vec<Vec<u8>>, String) {
    let (m, n, k) = (rng.i64(1..40), rng.i64(1..40), rng.i64(1..40));
    let tile = [4i64, 8][rng.usize(0..2)];
    let unroll = [Unroll::Full, Unroll::None][rng.usize(0..2)];
    let per_lane = |value: Expr, extent: i64| Bound { value, extent: i(extent), per_lane: true };
    let row = add(mul(v("gy"), i(tile)), v("ly"));
    let column = add(mul(v("gx"), i(tile * 4)), mul(v("lx"), i(4)));
    let load_a = Expr::Load {
        source: "a".into(),
        index: vec![row.clone(), add(v("k0"), v("lx"))],
        width: 1,
        guard: vec![bound(row.clone(), i(m)), bound(add(v("k0"), v("lx")), i(k))],
    };
    let load_b = Expr::Load {
        source: "b".into(),
        index: vec![add(v("k0"), v("kk")), column.clone()],
        width: 4,
        guard: vec![bound(add(v("k0"), v("kk")), i(k)), per_lane(column.clone(), n)],
    };
    let step = vec![
        let_("av", load("ta", vec![v("ly"), v("kk")], 1)),
        let_("bv", load_b),
        store("acc", vec![i(0)], fma(splat(v("av"), 4), v("bv"), load("acc", vec![i(0)], 4))),
    ];
    let body = vec![
        store("acc", vec![i(0)], splat(f(0.0), 4)),
        Stmt::For {
            var: "k0".into(),
            from: i(0),
            to: i(k),
            step: tile as u32,
            unroll: Unroll::None,
            body: vec![store("ta", vec![v("ly"), v("lx")], load_a), barrier(), for_("kk", i(tile), unroll, step), barrier()],
        },
        for_(
            "j",
            i(4),
            unroll,
            vec![store_if(
                "out",
                vec![row.clone(), add(column.clone(), v("j"))],
                load("acc", vec![v("j")], 1),
                vec![bound(row, i(m)), bound(add(column, v("j")), i(n))],
            )],
        ),
    ];
    let params = vec![
        buffer("a", Scalar::F32, &[m, k], Access::Read),
        buffer("b", Scalar::F32, &[k, n], Access::Read),
        buffer("out", Scalar::F32, &[m, n], Access::Write),
    ];
    let arrays = vec![array("ta", Space::Local, Scalar::F32, &[tile as u32, tile as u32]), array("acc", Space::Private, Scalar::F32, &[4])];
    let up = |a: i64, b: i64| (a + b - 1) / b;
    let p =
        program(params, arrays, launch(&[("gx", up(n, tile * 4)), ("gy", up(m, tile))], &[("lx", tile as u32), ("ly", tile as u32)]), body);
    let data = vec![random_f32(rng, (m * k) as usize), random_f32(rng, (k * n) as usize), vec![0xff; (m * n * 4) as usize]];
    (p, data, format!("product m={m} n={n} k={k} tile={tile} {unroll:?}"))
}

#[test]
fn products_through_local_memory_agree() {
    let mut rng = fastrand::Rng::with_seed(2);
    for _ in 0..40 {
        let (p, data, what) = tiled_product(&mut rng);
        compare(&p, data, &what);
    }
}

#[test]
fn images_agree_in_every_format_and_at_borders() {
    let mut rng = fastrand::Rng::with_seed(3);
    for format in [
        ImageFormat::Rgba32F,
        ImageFormat::Rgba16F,
        ImageFormat::Rgba16H,
        ImageFormat::Rgba32I,
        ImageFormat::Rgba32U,
        ImageFormat::Rgba8Unorm,
    ] {
        for border in [Border::Zero, Border::ClampToEdge] {
            let (w, h, dx, dy) = (rng.i64(1..30), rng.i64(1..20), rng.i64(-3..4), rng.i64(-3..4));
            let mut source = image("a", format, w, h, Access::Read);
            if let ParamKind::Image { border: b, .. } = &mut source.kind {
                *b = border;
            }
            let inside = vec![bound(v("x"), i(w)), bound(v("y"), i(h))];
            let at = |e: Expr, by: i64| add(e, i(by));
            let body = vec![
                let_("x", add(mul(v("gx"), i(8)), v("lx"))),
                let_("y", add(mul(v("gy"), i(4)), v("ly"))),
                let_("t", texel("a", at(v("x"), dx), at(v("y"), dy))),
                let_(
                    "u",
                    Expr::Texel { image: "a".into(), x: Box::new(v("x")), y: Box::new(v("y")), guard: vec![bound(v("x"), i(w / 2))] },
                ),
                Stmt::StoreTexel { image: "out".into(), x: v("x"), y: v("y"), value: add(v("t"), v("u")), guard: inside },
            ];
            let params = vec![source, image("out", format, w, h, Access::Write)];
            let p = program(params, vec![], launch(&[("gx", (w + 7) / 8), ("gy", (h + 3) / 4)], &[("lx", 8), ("ly", 4)]), body);
            let bytes = (w * h) as usize * format.bytes() as usize;
            let data: Vec<u8> = match format {
                ImageFormat::Rgba32F => random_f32(&mut rng, bytes / 4),
                ImageFormat::Rgba16F | ImageFormat::Rgba16H => {
                    (0..bytes / 2).flat_map(|_| half::f16::from_f32(rng.f32()).to_le_bytes()).collect()
                }
                _ => (0..bytes).map(|_| rng.u8(..)).collect(),
            };
            compare(&p, vec![data, vec![0xff; bytes]], &format!("{format:?} {border:?} {w} x {h} by ({dx}, {dy})"));
        }
    }
}

#[test]
fn atomics_agree_where_order_does_not_matter() {
    let mut rng = fastrand::Rng::with_seed(4);
    for (op, scalar) in [
        (AtomicOp::Add, Scalar::I32),
        (AtomicOp::Sub, Scalar::U32),
        (AtomicOp::Min, Scalar::I32),
        (AtomicOp::Max, Scalar::U32),
        (AtomicOp::And, Scalar::U32),
        (AtomicOp::Or, Scalar::I32),
        (AtomicOp::Xor, Scalar::U64),
        (AtomicOp::Add, Scalar::I64),
    ] {
        let (bins, lanes) = (rng.i64(1..9), rng.u32(1..150));
        let n = 3 * i64::from(lanes);
        let at = add(mul(v("g"), i(lanes.into())), v("l"));
        let atomic = |target: &str, value: Expr| Stmt::Atomic {
            op,
            target: target.into(),
            index: vec![bin(BinaryOp::Rem, v("l"), i(bins))],
            value,
            compare: None,
            order: Order::Relaxed,
            scope: Scope::Group,
            old: None,
        };
        let body = vec![
            Stmt::If {
                condition: bin(BinaryOp::Lt, v("l"), i(bins)),
                then: vec![store("t", vec![v("l")], Expr::Cast(scalar, Box::new(i(77))))],
                otherwise: vec![],
            },
            barrier(),
            let_("x", load("a", vec![at], 1)),
            atomic("t", v("x")),
            barrier(),
            Stmt::If {
                condition: bin(BinaryOp::Lt, v("l"), i(bins)),
                then: vec![atomic("out", load("t", vec![v("l")], 1))],
                otherwise: vec![],
            },
        ];
        // Every lane below `bins` owns its own bin of the group; fewer lanes than bins leave some untouched.
        let params = vec![buffer("a", scalar, &[n], Access::Read), buffer("out", scalar, &[bins], Access::ReadWrite)];
        let p = program(params, vec![array("t", Space::Local, scalar, &[bins as u32])], launch(&[("g", 3)], &[("l", lanes)]), body);
        let size = scalar.bytes() as usize;
        let data = vec![(0..n as usize * size).map(|_| rng.u8(..)).collect(), (0..bins as usize * size).map(|_| rng.u8(..)).collect()];
        if i64::from(lanes) >= bins {
            compare(&p, data, &format!("{op:?} {scalar:?} bins={bins} lanes={lanes}"));
        }
    }
}

/// A random expression of a type over the variables in scope.
fn expression(rng: &mut fastrand::Rng, ty: Type, depth: u32) -> Expr {
    let leaf = depth == 0 || rng.u8(0..6) == 0;
    let Type { scalar, width } = ty;
    if leaf {
        let name = match scalar {
            Scalar::F32 => ["f0", "f1"][rng.usize(0..2)],
            Scalar::F64 => "d0",
            Scalar::Half => ["h0", "h1"][rng.usize(0..2)],
            Scalar::I32 => ["i0", "i1", "lx"][rng.usize(0..3)],
            Scalar::U32 => "u0",
            Scalar::I64 => "l0",
            Scalar::U64 => "ul0",
            _ => "b0",
        };
        return if width == 1 { v(name) } else { splat(v(name), width) };
    }
    let sub_ = |rng: &mut fastrand::Rng, ty: Type| expression(rng, ty, depth - 1);
    let boxed = |rng: &mut fastrand::Rng, ty: Type| Box::new(expression(rng, ty, depth - 1));
    let scalars = [Scalar::F32, Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64, Scalar::F64, Scalar::Half, Scalar::Bool];
    match rng.u8(0..12) {
        0 => {
            let from = scalars[rng.usize(0..8)];
            // To a truth value only from integers: whether a float differs from zero is said nowhere.
            let from = if scalar == Scalar::Bool && from.is_float() { Scalar::I32 } else { from };
            Expr::Cast(scalar, boxed(rng, Type { scalar: from, width }))
        }
        1 => Expr::Select(boxed(rng, Type { scalar: Scalar::Bool, width }), boxed(rng, ty), boxed(rng, ty)),
        2 if width == 4 => Expr::Concat(vec![
            sub_(rng, Type { scalar, width: 2 }),
            sub_(rng, Type { scalar, width: 1 }),
            sub_(rng, Type { scalar, width: 1 }),
        ]),
        2 if width == 2 => Expr::Slice { vector: boxed(rng, Type { scalar, width: 4 }), start: rng.u8(0..3), width: 2 },
        2 => Expr::Lane(boxed(rng, Type { scalar, width: 4 }), Box::new(bin(BinaryOp::And, v("i1"), i(3)))),
        3 if scalar.is_float() => Expr::Fma(boxed(rng, ty), boxed(rng, ty), boxed(rng, ty)),
        4 | 5 if scalar.is_float() => {
            let ops =
                [UnaryOp::Neg, UnaryOp::Abs, UnaryOp::Floor, UnaryOp::Ceil, UnaryOp::Exp, UnaryOp::Log, UnaryOp::Sqrt, UnaryOp::Rsqrt];
            let more = [UnaryOp::Tanh, UnaryOp::Sin, UnaryOp::Cos, UnaryOp::Erf];
            let all = [ops.as_slice(), more.as_slice()].concat();
            Expr::Unary(all[rng.usize(0..all.len())], boxed(rng, ty))
        }
        4 if scalar.is_int() => Expr::Unary([UnaryOp::Neg, UnaryOp::Not, UnaryOp::Abs][rng.usize(0..3)], boxed(rng, ty)),
        _ if scalar == Scalar::Bool => match rng.u8(0..3) {
            0 => Expr::Unary(UnaryOp::Not, boxed(rng, ty)),
            1 => Expr::binary([BinaryOp::And, BinaryOp::Or, BinaryOp::Xor, BinaryOp::Eq][rng.usize(0..4)], sub_(rng, ty), sub_(rng, ty)),
            _ => {
                let of = Type { scalar: scalars[rng.usize(0..7)], width };
                let op = [BinaryOp::Lt, BinaryOp::Le, BinaryOp::Eq, BinaryOp::Ne][rng.usize(0..4)];
                Expr::binary(op, sub_(rng, of), sub_(rng, of))
            }
        },
        _ => {
            let float = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Min, BinaryOp::Max, BinaryOp::Rem];
            let int = [
                BinaryOp::Add,
                BinaryOp::Sub,
                BinaryOp::Mul,
                BinaryOp::Min,
                BinaryOp::Max,
                BinaryOp::And,
                BinaryOp::Or,
                BinaryOp::Xor,
                BinaryOp::Shl,
                BinaryOp::Shr,
                BinaryOp::Div,
                BinaryOp::Rem,
            ];
            let op = if scalar.is_float() { float[rng.usize(0..float.len())] } else { int[rng.usize(0..int.len())] };
            let a = sub_(rng, ty);
            let mut b = sub_(rng, ty);
            if scalar.is_int() && matches!(op, BinaryOp::Div | BinaryOp::Rem) {
                // Odd, so not zero.
                let one = Expr::Cast(scalar, Box::new(splat_to(i(1), width)));
                b = bin(BinaryOp::Or, b, one);
            }
            bin(op, a, b)
        }
    }
}

fn splat_to(e: Expr, width: u8) -> Expr {
    if width == 1 { e } else { splat(e, width) }
}

/// Random statements: assignments under divergent control flow, loops with bounds that depend on the lane, private arrays.
fn statements(rng: &mut fastrand::Rng, depth: u32, loops: &mut u32) -> Vec<Stmt> {
    (0..rng.usize(1..5))
        .map(|_| match rng.u8(0..10) {
            0 if depth > 0 => Stmt::If {
                condition: expression(rng, Type::scalar(Scalar::Bool), 2),
                then: statements(rng, depth - 1, loops),
                otherwise: statements(rng, depth - 1, loops),
            },
            1 if depth > 0 => {
                *loops += 1;
                let name = format!("n{loops}");
                let to = [i(3), bin(BinaryOp::And, v("lx"), i(3)), bin(BinaryOp::And, v("i1"), i(1))][rng.usize(0..3)].clone();
                let unroll = [Unroll::None, Unroll::Full, Unroll::Auto, Unroll::By(3)][rng.usize(0..4)];
                let mut body = statements(rng, depth - 1, loops);
                body.push(set("i1", bin(BinaryOp::Xor, v("i1"), v(&name))));
                for_(&name, to, unroll, body)
            }
            2 => {
                let at = [i(rng.i64(0..4)), bin(BinaryOp::And, v("i1"), i(3))][rng.usize(0..2)].clone();
                store("p", vec![at], expression(rng, F32, 2))
            }
            3 => {
                set("f1", add(v("f1"), load("p", vec![[i(rng.i64(0..4)), bin(BinaryOp::And, v("i0"), i(3))][rng.usize(0..2)].clone()], 1)))
            }
            4 => set("v", expression(rng, F32X4, 3)),
            5 => {
                // A permutation: parts read what other parts change.
                let swap = Expr::Concat(vec![lane(v("v"), 3), lane(v("v"), 2), lane(v("v"), 0), lane(v("v"), 1)]);
                set("v", fma(swap.clone(), splat(v("f0"), 4), swap))
            }
            8 => set("f1", load("a", vec![[v("g"), v("lx"), sub(v("at"), v("g"))][rng.usize(0..3)].clone()], 1)),
            9 => set("h1", expression(rng, Type::scalar(Scalar::Half), 3)),
            6 => set("i1", expression(rng, I32, 3)),
            _ => set("h", expression(rng, F32, 3)),
        })
        .collect()
}

#[test]
fn random_programs_agree() {
    for seed in 0..250 {
        let mut rng = fastrand::Rng::with_seed(1000 + seed);
        let lanes = rng.u32(1..80);
        let at = add(mul(v("g"), i(lanes.into())), v("lx"));
        let cast = |s, e| Expr::Cast(s, Box::new(e));
        let mut body = vec![
            let_("at", at),
            let_("f0", load("a", vec![v("at")], 1)),
            var("f1", F32, mul(v("f0"), f(3.0))),
            let_("i0", load("b", vec![v("at")], 1)),
            var("i1", I32, bin(BinaryOp::Shr, v("i0"), i(7))),
            let_("u0", cast(Scalar::U32, bin(BinaryOp::And, v("i0"), i(0x7fff_ffff)))),
            let_("l0", mul(cast(Scalar::I64, v("i0")), cast(Scalar::I64, v("i0")))),
            let_("ul0", cast(Scalar::U64, v("u0"))),
            let_("d0", cast(Scalar::F64, v("f0"))),
            let_("h0", cast(Scalar::Half, v("f0"))),
            var("h1", Type::scalar(Scalar::Half), bin(BinaryOp::Mul, v("h0"), v("h0"))),
            let_("b0", bin(BinaryOp::Lt, v("f0"), f(0.1))),
            var("v", F32X4, splat(v("f0"), 4)),
            var("h", Type::scalar(Scalar::F16), v("f0")),
            store("p", vec![i(0)], splat(v("f0"), 4)),
        ];
        let mut loops = 0;
        body.extend(statements(&mut rng, 2, &mut loops));
        for (n, scalar) in [Scalar::F32, Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64, Scalar::F64].into_iter().enumerate() {
            body.push(store(&format!("o{n}"), vec![v("at")], expression(&mut rng, Type::scalar(scalar), 3)));
        }
        body.push(store("o6", vec![v("at"), i(0)], v("v")));
        body.push(store("o7", vec![v("at")], v("h")));
        body.push(store("o8", vec![v("at"), i(0)], load("p", vec![i(0)], 4)));
        body.push(store("o1", vec![v("at")], v("i1")));
        let pair = Type::vector(Scalar::Half, 2);
        body.push(store("o9", vec![v("at"), i(0)], bin(BinaryOp::Add, expression(&mut rng, pair, 3), splat(v("h1"), 2))));
        let groups = 2;
        let n = groups * i64::from(lanes);
        let mut params = vec![buffer("a", Scalar::F32, &[n], Access::Read), buffer("b", Scalar::I32, &[n], Access::Read)];
        let outs = [Scalar::F32, Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64, Scalar::F64];
        params.extend(outs.iter().enumerate().map(|(k, &s)| buffer(&format!("o{k}"), s, &[n], Access::Write)));
        params.push(buffer("o6", Scalar::F32, &[n, 4], Access::Write));
        params.push(buffer("o7", Scalar::F16, &[n], Access::Write));
        params.push(buffer("o8", Scalar::F32, &[n, 4], Access::Write));
        params.push(buffer("o9", Scalar::Half, &[n, 2], Access::Write));
        let p = program(params, vec![array("p", Space::Private, Scalar::F32, &[4])], launch(&[("g", groups)], &[("lx", lanes)]), body);
        let n = n as usize;
        let mut data = vec![random_f32(&mut rng, n), (0..n * 4).map(|_| rng.u8(..)).collect()];
        data.extend(outs.iter().map(|s| vec![0; n * s.bytes() as usize]));
        data.extend([vec![0; n * 16], vec![0; n * 2], vec![0; n * 16], vec![0; n * 4]]);
        compare(&p, data, &format!("seed {seed}"));
    }
}

#[test]
fn faults_name_kernel_tensor_and_coordinates() {
    let body = vec![store("out", vec![v("g"), add(v("l"), i(2))], f(1.0))];
    let p = program(vec![buffer("out", Scalar::F32, &[3, 66], Access::Write)], vec![], launch(&[("g", 3)], &[("l", 65)]), body);
    let fault = Simulator::new(Silicon::adreno640()).simulate(&p, &mut bindings(vec![vec![0; 3 * 66 * 4]])).expect_err("65 lanes + 2 > 66");
    assert_eq!(fault.to_string(), "kernel `k`, group [0], work-item 64: store of `out` at [0, 66] is outside its extents [3, 66]");

    let body = vec![store("out", vec![v("l")], bin(BinaryOp::Div, i(7), sub(v("l"), i(3))))];
    let p = program(vec![buffer("out", Scalar::I32, &[8], Access::Write)], vec![], launch(&[("g", 1)], &[("l", 8)]), body);
    let fault = Simulator::new(Silicon::adreno640()).simulate(&p, &mut bindings(vec![vec![0; 32]])).expect_err("divides by zero");
    assert_eq!(fault.to_string(), "kernel `k`, group [0], work-item 3: an integer is divided by zero");

    let missing = Simulator::new(Silicon::adreno640()).simulate(&p, &mut bindings(vec![vec![0; 31]])).expect_err("31 bytes");
    assert_eq!(missing.to_string(), "kernel `k`: argument `out` has 31 bytes; its extents [8] need 32");
    assert!(matches!(missing, SimFault::Binding { .. }));
}

#[test]
fn what_a_guard_leaves_out_is_not_computed() {
    // Indices beyond the table are guarded by the outer access; the inner one alone would be out of bounds.
    let inner = load("t", vec![v("l")], 1);
    let guarded = Expr::Load { source: "a".into(), index: vec![inner.clone()], width: 1, guard: vec![bound(v("l"), i(5))] };
    let body = vec![
        let_("x", guarded),
        store_if("out", vec![v("l")], add(load("a", vec![inner], 1), v("x")), vec![bound(v("l"), i(5))]),
        store("all", vec![v("l")], v("x")),
    ];
    let params = vec![
        buffer("t", Scalar::I32, &[5], Access::Read),
        buffer("a", Scalar::F32, &[9], Access::Read),
        buffer("out", Scalar::F32, &[5], Access::Write),
        buffer("all", Scalar::F32, &[8], Access::Write),
    ];
    let p = program(params, vec![], launch(&[("g", 1)], &[("l", 8)]), body);
    let mut rng = fastrand::Rng::with_seed(5);
    let table: Vec<u8> = [8i32, 0, 3, 3, 7].iter().flat_map(|t| t.to_le_bytes()).collect();
    compare(&p, vec![table, random_f32(&mut rng, 9), vec![0xff; 20], vec![0xff; 32]], "guards");
}

#[test]
fn sizes_are_arguments() {
    let n = || Expr::Size("n".into());
    let at = add(mul(v("g"), i(32)), v("l"));
    let guard = vec![Bound { value: at.clone(), extent: n(), per_lane: true }];
    let a = Expr::Load { source: "a".into(), index: vec![at.clone()], width: 1, guard: guard.clone() };
    let program = Program {
        name: "scale".into(),
        sizes: vec![SizeParam { name: "n".into(), lo: 1, hi: 1000 }],
        params: vec!["a", "out"]
            .into_iter()
            .map(|name| {
                let access = if name == "a" { Access::Read } else { Access::Write };
                Param { name: name.into(), kind: ParamKind::Buffer { space: Space::Global, element: Scalar::F32, dims: vec![n()], access } }
            })
            .collect(),
        arrays: vec![],
        launch: Launch {
            groups: vec![GroupAxis { name: "g".into(), extent: bin(BinaryOp::Div, add(n(), i(31)), i(32)) }],
            lanes: vec![LaneAxis { name: "l".into(), extent: 32 }],
            subgroup: None,
        },
        body: vec![store_if("out", vec![at], mul(a, f(3.0)), guard)],
    };
    let p = Checked::new(program).unwrap_or_else(|e| panic!("{e}"));
    let mut rng = fastrand::Rng::with_seed(6);
    for n in [1usize, 31, 32, 33, 97, 1000] {
        let mut expected = bindings(vec![random_f32(&mut rng, n), vec![0xff; n * 4]]);
        expected.sizes.insert("n".into(), n as i64);
        let mut got = expected.clone();
        interpret(&p, &mut expected).unwrap_or_else(|e| panic!("{e}"));
        Simulator::new(Silicon::adreno640()).simulate(&p, &mut got).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(expected, got);
    }
    let mut wrong = bindings(vec![vec![], vec![]]);
    wrong.sizes.insert("n".into(), 1001);
    let fault = Simulator::new(Silicon::adreno640()).simulate(&p, &mut wrong).expect_err("1001 > 1000");
    assert_eq!(fault.to_string(), "kernel `scale`: argument `n` is 1001; it must be from 1 to 1000");
}
