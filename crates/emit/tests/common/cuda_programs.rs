//! Programs for what CUDA has beyond the others of [`super::programs`]: tiles, ordered atomics, store policies, wide accesses.

use super::programs::*;
use warpsight_ir::*;

fn array(name: &str, space: Space, element: Scalar, dims: &[u32]) -> Array {
    Array { name: name.into(), space, element, dims: dims.to_vec() }
}

/// C = A·B on matrix units: a warp makes a tile of C in f32 from 16-bit operands, A by way of local memory.
pub fn tile_product(name: &str, element: Scalar, [m, n]: [u32; 2]) -> Program {
    let tile_load =
        |tile: &str, source: &str, index: [Expr; 2]| Stmt::TileLoad { tile: tile.into(), source: source.into(), index: index.to_vec() };
    let (row, column) = (mul(var("gy"), int(m.into())), mul(var("gx"), int(n.into())));
    let mut step = vec![repeat(
        "part",
        int(i64::from(m) / 16),
        Unroll::Full,
        vec![
            bind("r", add(mul(var("part"), int(16)), bin(BinaryOp::Div, var("l"), int(2)))),
            bind("e", mul(bin(BinaryOp::Rem, var("l"), int(2)), int(8))),
            store("stage", &[var("r"), var("e")], load("a", &[add(var("row"), var("r")), add(mul(var("k"), int(16)), var("e"))], 8)),
        ],
    )];
    step.extend([
        Stmt::Barrier { scope: Scope::Subgroup, local: true, global: false },
        tile_load("left", "stage", [int(0), int(0)]),
        tile_load("right", "b", [mul(var("k"), int(16)), var("column")]),
        Stmt::Mma { d: "sum".into(), a: "left".into(), b: "right".into() },
        Stmt::Barrier { scope: Scope::Subgroup, local: true, global: false },
    ]);
    let body = vec![
        bind("row", row),
        bind("column", column),
        Stmt::TileFill { tile: "sum".into(), value: Expr::f32(0.0) },
        repeat("k", int(4), Unroll::None, step),
        Stmt::TileStore { target: "c".into(), index: vec![var("row"), var("column")], tile: "sum".into() },
    ];
    // Tiles of eight columns lie at multiples of 16 bytes only, too few for the next one.
    let columns = if n < 16 { 1 } else { 2 };
    let params = vec![
        input("a", element, &[2 * i64::from(m), 64]),
        input("b", element, &[64, columns * i64::from(n)]),
        output("c", Scalar::F32, &[2 * i64::from(m), columns * i64::from(n)]),
    ];
    let mut p = program(name, params, launch(&[("gx", int(columns)), ("gy", int(2))], &[("l", 32)]), body);
    p.launch.subgroup = Some(32);
    p.arrays = vec![
        array("left", Space::Tile, element, &[m, 16]),
        array("right", Space::Tile, element, &[16, n]),
        array("sum", Space::Tile, Scalar::F32, &[m, n]),
        array("stage", Space::Local, element, &[m, 16]),
    ];
    p
}

/// An atomic statement.
fn atomic(op: AtomicOp, target: &str, value: Expr, (order, scope): (Order, Scope), old: Option<&str>) -> Stmt {
    let compare = (op == AtomicOp::CompareExchange).then(|| int(0));
    Stmt::Atomic { op, target: target.into(), index: vec![int(0)], value, compare, order, scope, old: old.map(Into::into) }
}

/// A value handed from each block to the next by a flag: written, released, awaited and read; every order and scope on the way.
pub fn ordered_atomics() -> Program {
    use AtomicOp::{Add, CompareExchange, Exchange, Or, Sub};
    let device = |order| (order, Scope::Device);
    let body = vec![
        atomic(Add, "tickets", int(1), device(Order::AcquireRelease), Some("ticket")),
        atomic(Or, "flag", int(0), device(Order::Acquire), Some("found")),
        atomic(CompareExchange, "flag", int(1), device(Order::Acquire), Some("before")),
        store("seen", &[var("ticket")], add(var("found"), var("before"))),
        atomic(Sub, "votes", Expr::Const(Const::U64(1)), device(Order::Release), None),
        atomic(AtomicOp::Min, "low", Expr::Const(Const::I64(-5)), (Order::Relaxed, Scope::Device), None),
        atomic(Exchange, "sums", Expr::f32(0.5), device(Order::AcquireRelease), Some("sum")),
        atomic(Add, "sums", var("sum"), device(Order::Relaxed), None),
        Stmt::If {
            condition: bin(BinaryOp::Eq, var("l"), int(0)),
            then: vec![store("shared", &[int(0)], Expr::Const(Const::U32(0)))],
            otherwise: vec![],
        },
        barrier(),
        atomic(AtomicOp::Xor, "shared", cast(Scalar::U32, var("l")), (Order::AcquireRelease, Scope::Group), None),
        atomic(AtomicOp::And, "shared", Expr::Const(Const::U32(3)), (Order::Release, Scope::Subgroup), Some("bits")),
        atomic(AtomicOp::Max, "most", var("bits"), (Order::Acquire, Scope::Device), None),
        atomic(Exchange, "flag", int(1), device(Order::Release), None),
    ];
    let shared = |name: &str, element| buffer(name, element, Access::ReadWrite, &[int(1)]);
    let params = vec![
        shared("tickets", Scalar::I32),
        shared("flag", Scalar::I32),
        output("seen", Scalar::I32, &[64]),
        shared("votes", Scalar::U64),
        shared("low", Scalar::I64),
        shared("sums", Scalar::F32),
        shared("most", Scalar::U32),
    ];
    let mut p = program("ordered_atomics", params, launch(&[("g", int(2))], &[("l", 32)]), body);
    p.arrays.push(array("shared", Space::Local, Scalar::U32, &[1]));
    p
}

/// A copy with each store policy, of one element and of several.
pub fn store_policies() -> Program {
    let at = add(mul(var("g"), int(64)), var("l"));
    let kept = |target: &str, policy, width: u8| {
        let index = vec![mul(var("at"), int(width.into()))];
        Stmt::Store { target: target.into(), value: load("x", &index, width), index, guard: vec![], policy }
    };
    let body = vec![
        bind("at", at),
        kept("single", StorePolicy::NonTemporal, 1),
        kept("through", StorePolicy::WriteThrough, 4),
        kept("stream", StorePolicy::NonTemporal, 4),
        kept("halves", StorePolicy::NonTemporal, 4),
    ];
    let params = vec![
        input("x", Scalar::F32, &[512]),
        output("single", Scalar::F32, &[512]),
        output("through", Scalar::F32, &[512]),
        output("stream", Scalar::F32, &[512]),
        output("halves", Scalar::F16, &[512]),
    ];
    program("store_policies", params, launch(&[("g", int(2))], &[("l", 64)]), body)
}

/// Widths and places: 16 bytes where the position proves them, less where it proves less, elements where it proves nothing.
pub fn wide_vectors() -> Program {
    let at = |by: i64, offset: i64| add(mul(var("l"), int(by)), int(offset));
    let body = vec![
        store("y", &[at(16, 0)], load("x", &[at(16, 0)], 16)),
        store("y", &[at(16, 512)], load("x", &[at(16, 4)], 8)),
        store("y", &[at(2, 1024)], load("x", &[at(2, 6)], 2)),
        store("y", &[at(4, 1152)], load("x", &[at(4, 2)], 4)),
        store("y", &[at(4, 1281)], load("x", &[at(4, 1)], 4)),
        store("y", &[at(3, 1536)], load("x", &[at(3, 3)], 3)),
        store("d", &[at(4, 0)], load("d0", &[at(4, 0)], 4)),
        store("b", &[at(8, 0)], bin(BinaryOp::Lt, load("x", &[at(8, 0)], 8), splat(Expr::f32(0.5), 8))),
        store("h", &[at(8, 0)], load("b16", &[at(8, 8)], 8)),
    ];
    let params = vec![
        input("x", Scalar::F32, &[1024]),
        output("y", Scalar::F32, &[2048]),
        input("d0", Scalar::F64, &[128]),
        output("d", Scalar::F64, &[128]),
        output("b", Scalar::Bool, &[256]),
        input("b16", Scalar::Bf16, &[512]),
        output("h", Scalar::F16, &[256]),
    ];
    program("wide_vectors", params, launch(&[], &[("l", 32)]), body)
}

/// Arithmetic of vectors and scalars: functions, truth values, shifts, casts that saturate, integers that wrap, lanes.
pub fn arithmetic() -> Program {
    let f = |op: UnaryOp, a: Expr| Expr::unary(op, a);
    let less = |a, b| bin(BinaryOp::Lt, a, b);
    let near = bin(BinaryOp::And, less(var("v"), splat(Expr::f32(2.0), 4)), less(splat(Expr::f32(-2.0), 4), var("v")));
    let odd = bin(BinaryOp::Ne, bin(BinaryOp::And, var("i"), splat(int(1), 4)), splat(int(0), 4));
    let chosen = select(bin(BinaryOp::Xor, var("near"), var("odd")), f(UnaryOp::Exp, var("v")), f(UnaryOp::Erf, f(UnaryOp::Abs, var("v"))));
    let curve = fma(f(UnaryOp::Tanh, var("v")), f(UnaryOp::Rsqrt, f(UnaryOp::Abs, var("v"))), f(UnaryOp::Floor, var("v")));
    let mixed = Expr::Concat(vec![slice(var("v"), 1, 2), lane(var("v"), var("l")), lane(var("v"), int(3))]);
    let shifted = bin(BinaryOp::Shr, bin(BinaryOp::Shl, var("i"), splat(int(33), 4)), splat(int(1), 4));
    let wrapped = add(mul(var("i"), splat(int(1_000_003), 4)), f(UnaryOp::Neg, var("i")));
    let at = mul(var("l"), int(4));
    let body = vec![
        bind("v", load("x", std::slice::from_ref(&at), 4)),
        bind("i", cast(Scalar::I32, mul(var("v"), splat(Expr::f32(1.5), 4)))),
        bind("near", near),
        bind("odd", odd),
        bind("chosen", chosen),
        bind("sum", add(bin(BinaryOp::Max, var("chosen"), curve), mixed)),
        store("y", std::slice::from_ref(&at), var("sum")),
        store("k", std::slice::from_ref(&at), bin(BinaryOp::Max, bin(BinaryOp::Xor, shifted, wrapped), f(UnaryOp::Abs, var("i")))),
        bind("s", load("x", &[var("l")], 1)),
        store("n", &[var("l")], add(cast(Scalar::U64, var("s")), cast(Scalar::U64, cast(Scalar::U32, cast(Scalar::I32, var("s")))))),
        store(
            "e",
            &[var("l")],
            select(
                less(var("s"), Expr::f32(f32::INFINITY)),
                cast(Scalar::F64, bin(BinaryOp::Rem, var("s"), Expr::f32(3.0))),
                Expr::Const(Const::F64(f64::NAN)),
            ),
        ),
    ];
    let params = vec![
        input("x", Scalar::F32, &[16]),
        output("y", Scalar::F32, &[16]),
        output("k", Scalar::I32, &[16]),
        output("n", Scalar::U64, &[4]),
        output("e", Scalar::F64, &[4]),
    ];
    program("arithmetic", params, launch(&[], &[("l", 4)]), body)
}
