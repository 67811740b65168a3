//! Programs built by hand, one per feature that the emitter must get right.

use warpsight_ir::*;

pub fn int(v: i64) -> Expr {
    Expr::int(v)
}
pub fn var(name: &str) -> Expr {
    Expr::var(name)
}
pub fn size(name: &str) -> Expr {
    Expr::Size(name.into())
}
pub fn add(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::Add, a, b)
}
pub fn mul(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::Mul, a, b)
}
pub fn bin(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::binary(op, a, b)
}
pub fn fma(a: Expr, b: Expr, c: Expr) -> Expr {
    Expr::Fma(Box::new(a), Box::new(b), Box::new(c))
}
pub fn splat(a: Expr, width: u8) -> Expr {
    Expr::Splat(Box::new(a), width)
}
pub fn cast(to: Scalar, a: Expr) -> Expr {
    Expr::Cast(to, Box::new(a))
}
pub fn select(c: Expr, a: Expr, b: Expr) -> Expr {
    Expr::Select(Box::new(c), Box::new(a), Box::new(b))
}
pub fn lane(v: Expr, i: Expr) -> Expr {
    Expr::Lane(Box::new(v), Box::new(i))
}
pub fn slice(v: Expr, start: u8, width: u8) -> Expr {
    Expr::Slice { vector: Box::new(v), start, width }
}
pub fn load(source: &str, index: &[Expr], width: u8) -> Expr {
    Expr::Load { source: source.into(), index: index.to_vec(), width, guard: vec![] }
}
pub fn load_if(source: &str, index: &[Expr], width: u8, guard: &[Bound]) -> Expr {
    Expr::Load { source: source.into(), index: index.to_vec(), width, guard: guard.to_vec() }
}
pub fn texel(image: &str, x: Expr, y: Expr) -> Expr {
    Expr::Texel { image: image.into(), x: Box::new(x), y: Box::new(y), guard: vec![] }
}
pub fn whole(value: Expr, extent: Expr) -> Bound {
    Bound { value, extent, per_lane: false }
}
pub fn each(value: Expr, extent: Expr) -> Bound {
    Bound { value, extent, per_lane: true }
}
pub fn bind(name: &str, value: Expr) -> Stmt {
    Stmt::Let { name: name.into(), value }
}
pub fn register(name: &str, ty: Type, init: Expr) -> Stmt {
    Stmt::Var { name: name.into(), ty, init }
}
pub fn set(name: &str, value: Expr) -> Stmt {
    Stmt::Assign { name: name.into(), value }
}
pub fn store(target: &str, index: &[Expr], value: Expr) -> Stmt {
    store_if(target, index, value, &[])
}
pub fn store_if(target: &str, index: &[Expr], value: Expr, guard: &[Bound]) -> Stmt {
    Stmt::Store { target: target.into(), index: index.to_vec(), value, guard: guard.to_vec(), policy: StorePolicy::WriteBack }
}
pub fn repeat(name: &str, to: Expr, unroll: Unroll, body: Vec<Stmt>) -> Stmt {
    Stmt::For { var: name.into(), from: int(0), to, step: 1, unroll, body }
}
pub fn barrier() -> Stmt {
    Stmt::Barrier { scope: Scope::Group, local: true, global: false }
}
/// The smaller and the larger of all pairs of `a` and `b`, in `f32` and `f64`, by themselves, four at a time, and against a literal.
pub fn extrema(count: i64) -> Program {
    let mut params = vec![];
    let mut body = vec![];
    for (scalar, suffix) in [(Scalar::F32, "f"), (Scalar::F64, "d")] {
        let (a, b) = (format!("a{suffix}"), format!("b{suffix}"));
        params.extend([input(&a, scalar, &[count]), input(&b, scalar, &[count])]);
        for (op, name) in [(BinaryOp::Min, "min"), (BinaryOp::Max, "max")] {
            let [single, four, zero] = ["", "four", "zero"].map(|form| format!("{name}{suffix}{form}"));
            params.extend([&single, &four, &zero].map(|name| output(name, scalar, &[count])));
            let literal = if scalar == Scalar::F32 { Const::F32(0.0) } else { Const::F64(0.0) };
            let all = vec![
                store(&single, &[var("i")], bin(op, load(&a, &[var("i")], 1), load(&b, &[var("i")], 1))),
                store(&zero, &[var("i")], bin(op, load(&a, &[var("i")], 1), Expr::Const(literal))),
            ];
            body.push(repeat("i", int(count), Unroll::Auto, all));
            let four_at_once = store(&four, &[var("i")], bin(op, load(&a, &[var("i")], 4), load(&b, &[var("i")], 4)));
            body.push(Stmt::For { var: "i".into(), from: int(0), to: int(count), step: 4, unroll: Unroll::Auto, body: vec![four_at_once] });
        }
    }
    program("extrema", params, launch(&[], &[("l", 1)]), body)
}

/// The data of [`extrema`]: all pairs of numbers that a comparison may get wrong.
pub fn extrema_data() -> (i64, Vec<Vec<u8>>) {
    let special = [f64::NAN, f64::NEG_INFINITY, -1.5, 0.0, 2.0, f64::INFINITY];
    let pairs: Vec<(f64, f64)> = special.iter().flat_map(|&a| special.map(|b| (a, b))).collect();
    let single = |of: fn(&(f64, f64)) -> f64| pairs.iter().flat_map(|p| (of(p) as f32).to_le_bytes()).collect::<Vec<u8>>();
    let double = |of: fn(&(f64, f64)) -> f64| pairs.iter().flat_map(|p| of(p).to_le_bytes()).collect::<Vec<u8>>();
    let mut data = vec![single(|p| p.0), single(|p| p.1)];
    data.extend(vec![vec![0; pairs.len() * 4]; 6]);
    data.extend([double(|p| p.0), double(|p| p.1)]);
    data.extend(vec![vec![0; pairs.len() * 8]; 6]);
    (pairs.len() as i64, data)
}

pub fn buffer(name: &str, element: Scalar, access: Access, dims: &[Expr]) -> Param {
    Param { name: name.into(), kind: ParamKind::Buffer { space: Space::Global, element, dims: dims.to_vec(), access } }
}
pub fn input(name: &str, element: Scalar, dims: &[i64]) -> Param {
    buffer(name, element, Access::Read, &dims.iter().map(|&d| int(d)).collect::<Vec<_>>())
}
pub fn output(name: &str, element: Scalar, dims: &[i64]) -> Param {
    buffer(name, element, Access::Write, &dims.iter().map(|&d| int(d)).collect::<Vec<_>>())
}
pub fn launch(groups: &[(&str, Expr)], lanes: &[(&str, u32)]) -> Launch {
    Launch {
        groups: groups.iter().map(|(n, e)| GroupAxis { name: (*n).into(), extent: e.clone() }).collect(),
        lanes: lanes.iter().map(|(n, e)| LaneAxis { name: (*n).into(), extent: *e }).collect(),
        subgroup: None,
    }
}
pub fn program(name: &str, params: Vec<Param>, launch: Launch, body: Vec<Stmt>) -> Program {
    Program { name: name.into(), sizes: vec![], params, arrays: vec![], launch, body }
}
pub fn checked(program: Program) -> Checked {
    Checked::new(program).expect("a valid Program")
}

/// 3×3 convolution with padding 1: 3×10×12 → 4×10×12, a work-item per output, guarded loads.
pub fn convolution() -> Program {
    let (y, x) = (add(mul(var("gy"), int(2)), var("ly")), add(mul(var("gx"), int(4)), var("lx")));
    let iy = add(add(var("y"), var("r")), int(-1));
    let ix = add(add(var("x"), var("s")), int(-1));
    let pixel = load_if("input", &[var("c"), iy.clone(), ix.clone()], 1, &[whole(iy, int(10)), whole(ix, int(12))]);
    let weight = load("weights", &[var("k"), var("c"), var("r"), var("s")], 1);
    let inner = set("sum", fma(pixel, weight, var("sum")));
    let nest =
        repeat("c", int(3), Unroll::Auto, vec![repeat("r", int(3), Unroll::Full, vec![repeat("s", int(3), Unroll::Full, vec![inner])])]);
    let body = vec![
        bind("y", y),
        bind("x", x),
        register("sum", Type::scalar(Scalar::F32), load("bias", &[var("k")], 1)),
        nest,
        store("output", &[var("k"), var("y"), var("x")], Expr::binary(BinaryOp::Max, var("sum"), Expr::f32(0.0))),
    ];
    let weights = Param {
        name: "weights".into(),
        kind: ParamKind::Buffer {
            space: Space::Constant,
            element: Scalar::F32,
            dims: [4, 3, 3, 3].map(int).to_vec(),
            access: Access::Read,
        },
    };
    let params = vec![
        input("input", Scalar::F32, &[3, 10, 12]),
        weights,
        input("bias", Scalar::F32, &[4]),
        output("output", Scalar::F32, &[4, 10, 12]),
    ];
    program("convolution", params, launch(&[("gx", int(3)), ("gy", int(5)), ("k", int(4))], &[("lx", 4), ("ly", 2)]), body)
}

/// Vertical blur of an RGBA image with clamped border, guarded against the ragged edge of the launch.
pub fn image_blur() -> Program {
    let image = |name: &str, access, border| Param {
        name: name.into(),
        kind: ParamKind::Image { kind: ImageKind::Image2d, format: ImageFormat::Rgba32F, width: int(13), height: int(9), access, border },
    };
    let weight = |w: f32| splat(Expr::f32(w), 4);
    let row = |dy: i64| texel("source", var("x"), add(var("y"), int(dy)));
    let sum = fma(row(-1), weight(0.25), fma(row(1), weight(0.25), mul(row(0), weight(0.5))));
    let outside = Expr::Texel {
        image: "zeroes".into(),
        x: Box::new(add(var("x"), int(-20))),
        y: Box::new(var("y")),
        guard: vec![whole(add(var("x"), int(-5)), int(100))],
    };
    let body = vec![
        bind("x", add(mul(var("gx"), int(8)), var("lx"))),
        bind("y", add(mul(var("gy"), int(2)), var("ly"))),
        bind("border", outside),
        Stmt::StoreTexel {
            image: "target".into(),
            x: var("x"),
            y: var("y"),
            value: add(sum, var("border")),
            guard: vec![whole(var("x"), int(13)), whole(var("y"), int(9))],
        },
    ];
    let params = vec![
        image("source", Access::Read, Border::ClampToEdge),
        image("zeroes", Access::Read, Border::Zero),
        image("target", Access::Write, Border::Zero),
    ];
    program("image_blur", params, launch(&[("gx", int(2)), ("gy", int(5))], &[("lx", 8), ("ly", 2)]), body)
}

/// Images of one dimension and images over buffers, of several formats, read and written.
pub fn image_kinds() -> Program {
    let text = "
program image_kinds {
  read image1d line: rgba32f[13] border clamp
  read image1d_buffer plain: rgba32f[13]
  read image2d_from_buffer rows: rgba16f[13, 3] border none
  write image1d sums: rgba32f[13]
  write image1d_buffer copies: rgba8unorm[13]
  write image2d_from_buffer flipped: rgba16f[13, 3]
  groups gx = 2, gy = 3
  lanes lx = 8
  {
    let x = gx * 8 + lx
    let t = plain@[x if 0 <= x < 13]
    sums@[x if 0 <= x < 13, 0 <= gy < 1] = line@[x - 1] + line@[x + 1] + t
    copies@[x if 0 <= x < 13, 0 <= gy < 1] = t
    flipped@[x, gy if 0 <= x < 13] = rows@[12 - x, gy if 0 <= x < 13] * splat4(2.0)
  }
}";
    warpsight_ir::text::parse(text).expect("a Program")
}

/// C = A·B, 16×16 tiles in local memory, 48×32 times 32×32.
pub fn tiled_matmul() -> Program {
    let tile = |name: &str, source: &str, row: Expr, column: Expr| store(name, &[var("ly"), var("lx")], load(source, &[row, column], 1));
    let row = add(mul(var("gy"), int(16)), var("ly"));
    let column = add(mul(var("gx"), int(16)), var("lx"));
    let step = vec![
        tile("tile_a", "a", var("row"), add(mul(var("block"), int(16)), var("lx"))),
        tile("tile_b", "b", add(mul(var("block"), int(16)), var("ly")), var("column")),
        barrier(),
        repeat(
            "k",
            int(16),
            Unroll::By(4),
            vec![set("sum", fma(load("tile_a", &[var("ly"), var("k")], 1), load("tile_b", &[var("k"), var("lx")], 1), var("sum")))],
        ),
        barrier(),
    ];
    let body = vec![
        bind("row", row),
        bind("column", column),
        register("sum", Type::scalar(Scalar::F32), Expr::f32(0.0)),
        repeat("block", int(2), Unroll::None, step),
        store("c", &[var("row"), var("column")], var("sum")),
    ];
    let params = vec![input("a", Scalar::F32, &[48, 32]), input("b", Scalar::F32, &[32, 32]), output("c", Scalar::F32, &[48, 32])];
    let tiles = ["tile_a", "tile_b"].map(|n| Array { name: n.into(), space: Space::Local, element: Scalar::F32, dims: vec![16, 17] });
    let mut p = program("tiled_matmul", params, launch(&[("gx", int(2)), ("gy", int(3))], &[("lx", 16), ("ly", 16)]), body);
    p.arrays = tiles.to_vec();
    p
}

/// A histogram in local memory merged into global memory, a float sum, and a ticket per item.
pub fn atomics() -> Program {
    let atomic = |op, target: &str, index: Expr, value: Expr, old: Option<&str>| Stmt::Atomic {
        op,
        target: target.into(),
        index: vec![index],
        value,
        compare: None,
        order: Order::Relaxed,
        scope: if target == "bins" { Scope::Group } else { Scope::Device },
        old: old.map(Into::into),
    };
    let item = add(mul(var("g"), int(32)), var("l"));
    let body = vec![
        bind("item", item),
        Stmt::If { condition: bin(BinaryOp::Lt, var("l"), int(8)), then: vec![store("bins", &[var("l")], int(0))], otherwise: vec![] },
        barrier(),
        bind("key", load("keys", &[var("item")], 1)),
        atomic(AtomicOp::Add, "bins", bin(BinaryOp::And, var("key"), int(7)), int(1), None),
        atomic(AtomicOp::Add, "total", int(0), cast(Scalar::F32, var("key")), None),
        atomic(AtomicOp::Max, "largest", int(0), var("key"), None),
        atomic(AtomicOp::Add, "largest", int(1), int(1), Some("ticket")),
        store("tickets", &[var("item")], var("ticket")),
        barrier(),
        Stmt::If {
            condition: bin(BinaryOp::Lt, var("l"), int(8)),
            then: vec![atomic(AtomicOp::Add, "histogram", var("l"), load("bins", &[var("l")], 1), None)],
            otherwise: vec![],
        },
    ];
    let params = vec![
        input("keys", Scalar::I32, &[96]),
        buffer("histogram", Scalar::I32, Access::ReadWrite, &[int(8)]),
        buffer("total", Scalar::F32, Access::ReadWrite, &[int(1)]),
        buffer("largest", Scalar::I32, Access::ReadWrite, &[int(2)]),
        output("tickets", Scalar::I32, &[96]),
    ];
    let mut p = program("atomics", params, launch(&[("g", int(3))], &[("l", 32)]), body);
    p.arrays.push(Array { name: "bins".into(), space: Space::Local, element: Scalar::I32, dims: vec![8] });
    p
}

/// y = x·scale, x in half precision, y in bfloat16 and half, four at a time, with a tile of halves in local memory.
pub fn half_storage() -> Program {
    let at = mul(add(mul(var("g"), int(8)), var("l")), int(4));
    let body = vec![
        bind("i", at),
        store("stage", &[mul(var("l"), int(4))], load("x", &[var("i")], 4)),
        bind("v", mul(load("stage", &[mul(var("l"), int(4))], 4), splat(load("scale", &[int(0)], 1), 4))),
        register("h", Type::vector(Scalar::F16, 4), var("v")),
        set("h", add(var("h"), splat(Expr::f32(1.0), 4))),
        store("brain", &[var("i")], var("v")),
        store("y", &[var("i")], var("h")),
        store(
            "single",
            &[add(mul(var("g"), int(8)), var("l"))],
            cast(Scalar::Bf16, add(load("x", &[var("i")], 1), load("scale", &[int(1)], 1))),
        ),
    ];
    let params = vec![
        input("x", Scalar::F16, &[64]),
        input("scale", Scalar::Bf16, &[2]),
        output("brain", Scalar::Bf16, &[64]),
        output("y", Scalar::F16, &[64]),
        output("single", Scalar::F32, &[16]),
    ];
    let mut p = program("half_storage", params, launch(&[("g", int(2))], &[("l", 8)]), body);
    p.arrays.push(Array { name: "stage".into(), space: Space::Local, element: Scalar::F16, dims: vec![32] });
    p
}

fn read_text(text: &str) -> Program {
    text::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Everything that is different in half precision: literals, vectors, local memory, choices, functions, conversions.
pub fn half_arithmetic() -> Program {
    read_text(
        "program half_arithmetic {
            read buffer x: half[64]
            write buffer y: half[64]
            write buffer z: f32[16]
            local stage: half[32]
            groups g = 2
            lanes l = 8
            {
                let i = (g * 8 + l) * 4
                stage[l * 4] = x[i : 4]
                let v = stage[l * 4 : 4]
                var sum: halfx4 = splat4(0.5h)
                for k in 0..3 unroll none {
                    sum = fma(v, sum, sum * v - splat4(0.1h))
                }
                let least = min(sum, v)
                y[i] = select(sum < v, abs(sum), sqrt(abs(v)) / splat4(3.0h)) + least
                z[g * 8 + l] = f32(lane(sum, l & 3)) + f32(half(i) * x[i + 1 if 0 <= i + 1 < 60])
            }
        }",
    )
}

/// Texels read and written in half precision.
pub fn half_image() -> Program {
    read_text(
        "program half_image {
            read image2d from: rgba16h[8, 4]
            write image2d to: rgba16h[8, 4]
            groups g = 4
            lanes l = 8
            {
                to@[l, g] = from@[l - 1, g] * splat4(0.25h)
            }
        }",
    )
}

/// A shift along rows of any length with vectors of four: lanes outside read zero, and are not written.
pub fn symbolic_shift() -> Program {
    let column = mul(add(mul(var("gx"), int(8)), var("lx")), int(4));
    let shifted = add(var("column"), int(-3));
    let rows = whole(var("row"), size("rows"));
    let body = vec![
        bind("column", column),
        bind("row", add(mul(var("gy"), int(2)), var("ly"))),
        bind("v", load_if("x", &[var("row"), shifted.clone()], 4, &[rows.clone(), each(shifted, size("columns"))])),
        store_if("y", &[var("row"), var("column")], mul(var("v"), splat(Expr::f32(2.0), 4)), &[rows, each(var("column"), size("columns"))]),
    ];
    let dims = [size("rows"), size("columns")];
    let ceil = |n: &str, by: i64| bin(BinaryOp::Div, add(size(n), int(by - 1)), int(by));
    let launch = launch(&[("gx", ceil("columns", 32)), ("gy", ceil("rows", 2))], &[("lx", 8), ("ly", 2)]);
    let params = vec![buffer("x", Scalar::F32, Access::Read, &dims), buffer("y", Scalar::F32, Access::Write, &dims)];
    let mut p = program("symbolic_shift", params, launch, body);
    p.sizes = ["rows", "columns"].map(|n| SizeParam { name: n.into(), lo: 1, hi: 4096 }).to_vec();
    p
}

/// Four group axes and four lane axes, under names that mean something in OpenCL C or look like temporaries.
pub fn many_axes() -> Program {
    let index = ["t0", "dot", "M_PI", "d", "l0", "l1", "l2", "l3"].map(var);
    let body = vec![store("out", &index, add(mul(var("M_PI"), int(10)), add(var("d"), mul(var("l3"), int(100)))))];
    let dims = [2, 3, 2, 3, 2, 2, 3, 2];
    let launch = launch(&[("d", int(3)), ("M_PI", int(2)), ("dot", int(3)), ("t0", int(2))], &[("l3", 2), ("l2", 3), ("l1", 2), ("l0", 2)]);
    program("ws_many_axes", vec![output("out", Scalar::I32, &dims)], launch, body)
}

/// Loops with changing bounds, branches, blocks, private arrays, lanes chosen at run time, and an exchange.
pub fn control_flow() -> Program {
    let step = |by: Expr| set("total", add(var("total"), by));
    let less = |a, b| bin(BinaryOp::Lt, a, b);
    let body = vec![
        register("bound", Type::scalar(Scalar::I32), add(bin(BinaryOp::And, load("x", &[var("l")], 1), int(7)), int(1))),
        register("total", Type::scalar(Scalar::I32), int(0)),
        Stmt::For {
            var: "i".into(),
            from: int(1),
            to: var("bound"),
            step: 2,
            unroll: Unroll::Auto,
            body: vec![set("bound", add(var("bound"), int(-1))), step(mul(var("i"), load("x", &[var("i")], 1)))],
        },
        repeat("j", int(4), Unroll::Full, vec![store("memo", &[int(1), var("j")], add(var("total"), var("j")))]),
        Stmt::Scope(vec![bind("k", load("memo", &[int(1), bin(BinaryOp::And, var("l"), int(3))], 1)), step(var("k"))]),
        Stmt::Scope(vec![bind("k", load("memo", &[int(1), int(0)], 4)), step(lane(var("k"), bin(BinaryOp::And, var("total"), int(3))))]),
        Stmt::If {
            condition: less(var("total"), int(10)),
            then: vec![step(int(1000))],
            otherwise: vec![Stmt::If {
                condition: less(var("total"), int(50)),
                then: vec![step(int(2000))],
                otherwise: vec![Stmt::If {
                    condition: less(lane(load("x", &[int(0)], 4), bin(BinaryOp::And, var("total"), int(3))), int(50)),
                    then: vec![step(int(3000))],
                    otherwise: vec![step(int(4000))],
                }],
            }],
        },
        Stmt::Atomic {
            op: AtomicOp::CompareExchange,
            target: "flags".into(),
            index: vec![var("l")],
            value: var("total"),
            compare: Some(load("x", &[add(var("l"), int(1))], 1)),
            order: Order::AcquireRelease,
            scope: Scope::Group,
            old: Some("before".into()),
        },
        store("y", &[var("l")], bin(BinaryOp::Xor, var("total"), var("before"))),
    ];
    let params =
        vec![input("x", Scalar::I32, &[16]), buffer("flags", Scalar::I32, Access::ReadWrite, &[int(8)]), output("y", Scalar::I32, &[8])];
    let mut p = program("control_flow", params, launch(&[], &[("l", 8)]), body);
    p.arrays.push(Array { name: "memo".into(), space: Space::Private, element: Scalar::I32, dims: vec![2, 4] });
    p
}
