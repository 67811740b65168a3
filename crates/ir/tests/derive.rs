//! What `derive` says of small programs, by value; `derive_random.rs` compares it with execution.

use warpsight_ir::derive::{NotAffine, Obstacle, local_bytes, registers};
use warpsight_ir::program::BinaryOp::{self, *};
use warpsight_ir::*;

fn var(name: &str) -> Expr {
    Expr::var(name)
}
fn int(value: i64) -> Expr {
    Expr::int(value)
}
fn bin(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::binary(op, a, b)
}
fn load(source: &str, index: Vec<Expr>, width: u8) -> Expr {
    Expr::Load { source: source.into(), index, width, guard: vec![] }
}
fn store(target: &str, index: Vec<Expr>, value: Expr) -> Stmt {
    Stmt::Store { target: target.into(), index, value, guard: vec![], policy: StorePolicy::WriteBack }
}
fn let_(name: &str, value: Expr) -> Stmt {
    Stmt::Let { name: name.into(), value }
}
fn for_(name: &str, from: Expr, to: Expr, step: u32, body: Vec<Stmt>) -> Stmt {
    Stmt::For { var: name.into(), from, to, step, unroll: Unroll::Auto, body }
}
fn buffer(name: &str, element: Scalar, dims: &[i64]) -> Param {
    let dims = dims.iter().map(|&d| int(d)).collect();
    Param { name: name.into(), kind: ParamKind::Buffer { space: Space::Global, element, dims, access: Access::ReadWrite } }
}
/// Groups g = 0..3, lanes l = 0..8, buffers a and b of 64×64 floats, i of 64 integers.
fn program(body: Vec<Stmt>) -> Program {
    Program {
        name: "p".into(),
        sizes: vec![],
        params: vec![buffer("a", Scalar::F32, &[64, 64]), buffer("b", Scalar::F32, &[64, 64]), buffer("i", Scalar::I32, &[64])],
        arrays: vec![],
        launch: Launch {
            groups: vec![GroupAxis { name: "g".into(), extent: int(3) }],
            lanes: vec![LaneAxis { name: "l".into(), extent: 8 }],
            subgroup: None,
        },
        body,
    }
}
/// The accesses of a nest in order, loops opened.
fn flat(nest: &[Nest]) -> Vec<&AccessRef> {
    nest.iter()
        .flat_map(|n| match n {
            Nest::Loop { body, .. } => flat(body),
            Nest::Access(a) => vec![a],
            Nest::Barrier => vec![],
        })
        .collect()
}
fn form(terms: &[(u16, i32)], constant: i64) -> Affine {
    Affine::of(terms.iter().map(|&(v, c)| (VarId(v), i64::from(c))), constant).expect("small")
}
const G: u16 = 0;
const L: u16 = 1;
const LOOP: u16 = 2;

/// Coordinates of one access `a[0][index]`, or why there are none.
fn coordinate(index: Expr) -> Result<Affine, NotAffine> {
    let body = vec![
        let_("x", load("i", vec![int(0)], 1)),
        Stmt::Var { name: "m".into(), ty: Type::scalar(Scalar::I32), init: int(0) },
        store("a", vec![int(0), index], Expr::f32(0.0)),
    ];
    let accesses = Accesses::of(&program(body))?;
    Ok(flat(&accesses.nest)[1].coords[1].clone())
}

#[test]
fn an_element_wise_kernel() {
    let body = vec![
        let_("row", bin(Add, bin(Mul, var("g"), int(8)), var("l"))),
        for_(
            "k",
            int(4),
            int(64),
            8,
            vec![
                let_("v", load("a", vec![var("row"), var("k")], 4)),
                store("b", vec![var("row"), var("k")], Expr::Fma(Box::new(var("v")), Box::new(var("v")), Box::new(var("v")))),
            ],
        ),
        Stmt::Barrier { scope: Scope::Group, local: true, global: false },
    ];
    let kernel = Kernel::of(&Checked::new(program(body)).unwrap()).unwrap();
    let names: Vec<_> = kernel.accesses.vars.iter().map(|v| (&*v.name, v.kind, v.trips)).collect();
    assert_eq!(names, [("g", VarKind::Group, Some(3)), ("l", VarKind::Lane, Some(8)), ("k", VarKind::Loop, Some(8))]);
    assert_eq!(kernel.accesses.tensors.iter().map(|t| &*t.name).collect::<Vec<_>>(), ["a", "b", "i"]);
    let coords = vec![form(&[(G, 8), (L, 1)], 0), form(&[(LOOP, 8)], 4)];
    let access = |tensor, kind| {
        Nest::Access(AccessRef {
            tensor,
            kind,
            coords: coords.clone().into(),
            width: 4,
            guard: vec![],
            path: LoadPath::Default,
            indirect: None,
            branch: None,
            ahead: false,
            times: 1,
        })
    };
    let body = vec![access(0, AccessKind::Load), access(1, AccessKind::Store(StorePolicy::WriteBack))];
    assert_eq!(kernel.accesses.nest, [Nest::Loop { var: VarId(LOOP), body }, Nest::Barrier]);
    assert_eq!(kernel.launch, LaunchShape { groups: vec![3], lanes: vec![8] });
    assert_eq!(kernel.ops.0.into_iter().collect::<Vec<_>>(), [((OpClass::Fma, Scalar::F32, 4), 8)]);
    // g, l, row, k and the four lanes of v.
    assert_eq!(kernel.registers, 8);
}

#[test]
fn what_is_followed() {
    let linear = || bin(Add, bin(Mul, var("g"), int(8)), var("l"));
    for (expr, expected) in [
        (bin(Sub, int(7), var("l")), form(&[(L, -1)], 7)),
        (Expr::unary(UnaryOp::Neg, bin(Sub, var("l"), int(9))), form(&[(L, -1)], 9)),
        (bin(Shl, var("g"), int(3)), form(&[(G, 8)], 0)),
        (bin(Div, linear(), int(8)), form(&[(G, 1)], 0)),
        (bin(Rem, linear(), int(8)), form(&[(L, 1)], 0)),
        (bin(Shr, bin(Sub, linear(), int(8)), int(3)), form(&[(G, 1)], -1)),
        (bin(Div, bin(Mul, var("l"), int(6)), int(3)), form(&[(L, 2)], 0)),
        (bin(Min, var("l"), int(7)), form(&[(L, 1)], 0)),
        (bin(Max, var("l"), int(7)), form(&[], 7)),
        (bin(Sub, var("l"), var("l")), form(&[], 0)),
    ] {
        assert_eq!(coordinate(expr.clone()), Ok(expected), "{expr:?}");
    }
}

#[test]
fn what_is_refused_and_why() {
    let linear = || bin(Add, bin(Mul, var("g"), int(8)), var("l"));
    for (expr, what) in [
        (bin(Mul, var("g"), var("l")), Obstacle::Product),
        (bin(Div, linear(), int(3)), Obstacle::Quotient),
        // −8/8 = −1 but −7/8 = 0: truncation is not a shift.
        (bin(Div, bin(Sub, linear(), int(8)), int(8)), Obstacle::Quotient),
        (bin(Rem, var("l"), var("g")), Obstacle::Quotient),
        (bin(Min, var("l"), int(3)), Obstacle::Operation),
        (var("x"), Obstacle::Data("i".into())),
        (var("m"), Obstacle::Mutable("m".into())),
        (bin(Mul, bin(Mul, var("g"), int(1 << 30)), int(1 << 30)), Obstacle::Overflow),
        (bin(Mul, var("g"), int(2_000_000_000)), Obstacle::Overflow),
    ] {
        assert_eq!(coordinate(expr.clone()), Err(NotAffine { tensor: "a".into(), what }), "{expr:?}");
    }
    let error = coordinate(bin(Mul, var("g"), var("l"))).unwrap_err();
    assert_eq!(error.to_string(), "`a`: a product of two variables");
    let mut open = program(vec![store("a", vec![int(0), Expr::Size("n".into())], Expr::f32(0.0))]);
    open.sizes.push(SizeParam { name: "n".into(), lo: 0, hi: 9 });
    assert_eq!(Accesses::of(&open).unwrap_err().to_string(), "`a`: size `n` is not fixed");
    open.sizes[0].lo = 9;
    assert_eq!(flat(&Accesses::of(&open).unwrap().nest)[0].coords[1], form(&[], 9));
}

/// What is found through data is any element along that dimension, and moves with what says where.
#[test]
fn places_that_depend_on_data_are_drawn() {
    let text = "program p { read buffer x: f32[100, 16] read buffer i: i32[40] write buffer y: f32[40, 16]
        groups g = 5 lanes l = 8 { let e = g * 8 + l let at = i[e]
        for c in 0..4 { let four = c * 4 y[e, four] = x[at + 0 if 0 <= at < 100, four : 4] } } }";
    let text = text.replace("x[at + 0 if 0 <= at < 100, four : 4]", "x[at, four : 4 if 0 <= at < 100]");
    let program = warpsight_ir::text::parse(&text).unwrap_or_else(|e| panic!("{e}"));
    let accesses = Accesses::of(&program).expect("a description");
    let found = flat(&accesses.nest).into_iter().find(|own| own.tensor == 0).expect("a load of x").clone();
    assert_eq!(found.indirect, Some(Indirect { pattern: Pattern::Random, elements: 100, drawn: 1 }));
    assert_eq!((found.coords[0].clone(), found.coords[1].clone()), (form(&[(0, 8), (1, 1)], 0), form(&[(2, 4)], 0)));
    assert!(found.guard.is_empty(), "it is taken to hold");
    // However the place is computed of it.
    let computed = text.replace("let at = i[e]", "let own = i[e] let at = select(own < 0, own + 100, own)");
    let program = warpsight_ir::text::parse(&computed).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(flat(&Accesses::of(&program).expect("a description").nest).into_iter().find(|own| own.tensor == 0), Some(&found));
    // What is written has a place of its own.
    let scattered = text.replace("y[e, four]", "y[at, four]").replace("x[at, four : 4 if 0 <= at < 100]", "x[e, four : 4]");
    let program = warpsight_ir::text::parse(&scattered).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(Accesses::of(&program), Err(NotAffine { tensor: "y".into(), what: Obstacle::Data("i".into()) }));
}

/// Borders by reflection, by the last element and by the other end: what is read is affine but at the ends, and only read; what is stored, and what
/// is affine nowhere, is refused. Two dimensions of which one is drawn are drawn.
#[test]
fn borders_are_followed() {
    let read = |index: Vec<Expr>| {
        let guard = vec![Bound { value: index[1].clone(), extent: int(64), per_lane: false }];
        let value = Expr::Load { source: "b".into(), index, width: 1, guard };
        Accesses::of(&program(vec![store("a", vec![int(0), var("l")], value)]))
    };
    let abs = |own: Expr| Expr::unary(UnaryOp::Abs, own);
    let at = || bin(Sub, bin(Add, bin(Mul, var("g"), int(8)), var("l")), int(2));
    let reflected = bin(Sub, int(63), abs(bin(Sub, int(63), abs(at()))));
    let clamped = bin(Max, bin(Min, at(), int(20)), int(0));
    let around = bin(Rem, bin(Add, at(), int(22)), int(22));
    for (index, name) in [(reflected.clone(), "reflected"), (clamped, "clamped"), (around, "around")] {
        let accesses = read(vec![var("g"), index.clone()]).expect(name);
        let own = flat(&accesses.nest)[0];
        assert_eq!(own.coords[..], [form(&[(G, 1)], 0), form(&[(G, 8), (L, 1)], -2)], "{name}");
        assert_eq!(own.indirect, Some(Indirect { pattern: Pattern::Banded(1), elements: 1, drawn: 2 }), "{name}");
        assert!(!own.indirect.expect(name).unknown() && own.guard.is_empty(), "{name}: beyond the ends another element is read");
        let stored = Accesses::of(&program(vec![store("a", vec![int(0), index], Expr::f32(0.0))]));
        assert!(stored.is_err(), "{name}: what is written has its own place");
    }
    let drawn = read(vec![load("i", vec![var("l")], 1), reflected]).expect("is drawn");
    let own = flat(&drawn.nest)[1].indirect.expect("is drawn");
    assert_eq!(own, Indirect { pattern: Pattern::Random, elements: 64, drawn: 1 });
    // What lies beyond the ends for the most part is drawn, and one place beyond them is the last.
    let far = |by: i64| bin(Max, bin(Min, bin(Sub, var("l"), int(by)), int(20)), int(0));
    let accesses = read(vec![int(0), far(5)]).expect("is drawn");
    assert_eq!(flat(&accesses.nest)[0].indirect, Some(Indirect { pattern: Pattern::Random, elements: 64, drawn: 2 }));
    let accesses = read(vec![int(0), bin(Max, bin(Min, bin(Sub, var("g"), var("g")), int(-3)), int(0))]).expect("is known");
    assert_eq!(flat(&accesses.nest)[0].coords[1], Affine::constant(0));
    assert!(read(vec![int(0), bin(Rem, var("l"), var("g"))]).is_err() && read(vec![int(0), bin(Mul, var("l"), var("l"))]).is_err());
}

#[test]
fn conditions_become_guards() {
    let guard_of = |condition: Expr, otherwise: bool| {
        let access = vec![store("a", vec![int(0), var("l")], Expr::f32(0.0))];
        let (then, otherwise) = if otherwise { (vec![], access) } else { (access, vec![]) };
        let body = vec![let_("c", bin(Lt, var("l"), int(5))), Stmt::If { condition, then, otherwise }];
        let accesses = Accesses::of(&program(body))?;
        Ok::<_, NotAffine>(flat(&accesses.nest)[0].guard.iter().map(|b| (b.value.clone(), b.extent)).collect::<Vec<_>>())
    };
    let less = || bin(Lt, var("l"), int(5));
    assert_eq!(guard_of(less(), false), Ok(vec![(form(&[(L, 1)], 0), 5)]));
    assert_eq!(guard_of(var("c"), false), Ok(vec![(form(&[(L, 1)], 0), 5)]));
    assert_eq!(guard_of(bin(Le, var("l"), int(5)), false), Ok(vec![(form(&[(L, 1)], 0), 6)]));
    // not l < 5: 5 ≤ l, which is 0 ≤ l − 5.
    assert_eq!(guard_of(less(), true), Ok(vec![(form(&[(L, 1)], -5), AffineBound::UNBOUNDED)]));
    assert_eq!(guard_of(bin(Lt, var("l"), var("g")), false), Ok(vec![(form(&[(G, 1), (L, -1)], -1), AffineBound::UNBOUNDED)]));
    assert_eq!(guard_of(bin(Eq, var("l"), var("g")), false), Ok(vec![(form(&[(G, -1), (L, 1)], 0), 1)]));
    let both = bin(And, less(), bin(Eq, var("g"), int(2)));
    assert_eq!(guard_of(both.clone(), false), Ok(vec![(form(&[(L, 1)], 0), 5), (form(&[(G, 1)], -2), 1)]));
    assert_eq!(guard_of(both, true), Err(NotAffine { tensor: "a".into(), what: Obstacle::Condition }));
    // A condition that cannot be expressed matters only where something is accessed.
    let harmless = Stmt::If { condition: bin(Ne, var("l"), int(1)), then: vec![let_("y", int(1))], otherwise: vec![] };
    assert!(Accesses::of(&program(vec![harmless])).unwrap().nest.is_empty());
}

#[test]
fn operations_of_addresses_are_free() {
    let boxed = |name| Box::new(var(name));
    let body = vec![
        let_("row", bin(Add, bin(Mul, var("g"), int(8)), var("l"))),
        let_("bit", bin(Add, bin(Mul, var("g"), int(8)), int(1))),
        let_("tag", bin(Xor, var("bit"), int(3))),
        for_(
            "k",
            int(0),
            bin(Add, int(5), int(5)),
            3,
            vec![
                let_("v", load("a", vec![var("row"), bin(Mul, var("k"), int(4))], 4)),
                let_("e", Expr::unary(UnaryOp::Exp, Expr::Fma(boxed("v"), boxed("v"), boxed("v")))),
                store("b", vec![var("row"), var("k")], bin(Div, var("e"), bin(Max, var("e"), var("v")))),
            ],
        ),
        Stmt::If {
            condition: bin(Lt, bin(Add, var("l"), int(1)), int(4)),
            then: vec![store("a", vec![int(0), int(0)], bin(Add, Expr::f32(1.0), Expr::f32(2.0)))],
            otherwise: vec![store("a", vec![int(0), int(0)], Expr::f32(1.0))],
        },
        store("i", vec![bin(Add, var("l"), int(1))], var("tag")),
    ];
    let counts = OpCounts::of(&program(body)).unwrap();
    let expected = [
        ((OpClass::Fma, Scalar::F32, 4), 4),
        ((OpClass::Float, Scalar::F32, 1), 1),
        ((OpClass::Float, Scalar::F32, 4), 4),
        ((OpClass::Special, Scalar::F32, 4), 8),
        // g·8, + 1, xor: they reach `i`. `row` does not.
        ((OpClass::Int, Scalar::I32, 1), 3),
    ];
    assert_eq!(counts.0.into_iter().collect::<Vec<_>>(), expected);
    let opaque = for_("k", int(0), load("i", vec![int(0)], 1), 1, vec![let_("z", bin(Add, Expr::f32(1.0), Expr::f32(1.0)))]);
    let error = OpCounts::of(&program(vec![opaque.clone()])).unwrap_err();
    assert_eq!(error.to_string(), "`k`: the number of trips is not a constant");
    assert_eq!(Accesses::of(&program(vec![opaque])).unwrap().vars[2].trips, None);
}

#[test]
fn registers_follow_scopes() {
    let wide = |name| let_(name, load("a", vec![int(0), int(0)], 16));
    let half = Stmt::Var { name: "h".into(), ty: Type::vector(Scalar::F16, 3), init: Expr::Splat(Box::new(Expr::f32(0.0)), 3) };
    let mut p = program(vec![
        Stmt::Scope(vec![wide("u"), let_("s", Expr::f32(0.0))]),
        Stmt::If { condition: bin(Lt, var("l"), int(1)), then: vec![wide("v")], otherwise: vec![wide("w"), wide("x")] },
        for_("k", int(0), int(2), 1, vec![half.clone()]),
        let_("end", int(0)),
    ]);
    assert_eq!(registers(&p), 2 + 32);
    // k and three halves: two words.
    assert_eq!(registers(&program(vec![for_("k", int(0), int(2), 1, vec![half])])), 2 + 1 + 2);
    let array = |name: &str, space, element, dims: &[u32]| Array { name: name.into(), space, element, dims: dims.to_vec() };
    p.arrays = vec![
        array("r", Space::Private, Scalar::F32, &[3, 5]),
        array("t", Space::Tile, Scalar::F16, &[16, 16]),
        array("s", Space::Local, Scalar::F16, &[10, 7]),
    ];
    p.launch.subgroup = Some(32);
    assert_eq!(registers(&p), 2 + 32 + 15 + 4);
    assert_eq!(local_bytes(&p), Bytes(140.0));
}

#[test]
fn tiles_are_accessed_by_rows() {
    let mut p = program(vec![
        Stmt::TileLoad { tile: "t".into(), source: "a".into(), index: vec![var("g"), int(4)] },
        Stmt::Mma { d: "d".into(), a: "t".into(), b: "u".into() },
    ]);
    let tile = |name: &str, dims: &[u32]| Array { name: name.into(), space: Space::Tile, element: Scalar::F32, dims: dims.to_vec() };
    p.arrays = vec![tile("t", &[3, 4]), tile("u", &[4, 8]), tile("d", &[3, 8])];
    p.launch.subgroup = Some(8);
    let accesses = Accesses::of(&p).unwrap();
    let rows: Vec<_> = flat(&accesses.nest).iter().map(|a| (a.coords.to_vec(), a.width)).collect();
    let row = |r| (vec![form(&[(G, 1)], r), form(&[], 4)], 4);
    assert_eq!(rows, [row(0), row(1), row(2)]);
    assert_eq!(OpCounts::of(&p).unwrap().0.into_iter().collect::<Vec<_>>(), [((OpClass::Mma, Scalar::F32, 1), 12)]);
}

#[test]
fn loads_that_are_under_way_while_others_compute() {
    let text = |body: &str| {
        format!(
            "program ahead {{\n  read buffer a: f32[9, 8]\n  write buffer b: f32[8, 8]\n  groups g = 1\n  lanes l = 8\n  local tile: f32[8]\n  private mine: f32[1]\n  {{\n    \
             var next: f32 = a[0, l]\n    var sum: f32 = 0.0\n    for k in 0..8 unroll none {{\n{body}    }}\n  }}\n}}\n"
        )
    };
    let ahead = |body: &str| {
        let program = Checked::new(warpsight_ir::text::parse(&text(body)).expect("parses")).expect("valid");
        let mut found = vec![];
        Kernel::of(&program).expect("affine").accesses.each(&mut |access| found.push(access.ahead));
        found
    };
    let (put, load, sum) = ("tile[l] = next\n", "next = a[k + 1, l]\n", "let t = tile[7 - l]\nsum = sum + t\nb[k, l] = sum\n");
    let meet = "barrier group local\n";
    // The first load is waited for; that of the next trip is not, until lanes meet.
    assert_eq!(ahead(&format!("{meet}{put}{meet}{load}{sum}")), [false, false, true, false, false]);
    // Read before they do, or with something made of it, it is waited for where it stands.
    assert_eq!(ahead(&format!("{put}{meet}{load}{sum}")), [false, false, false, false, false]);
    assert_eq!(ahead(&format!("{meet}{put}{meet}next = a[k + 1, l] + 1.0\n{sum}")), [false, false, false, false, false]);
    assert_eq!(ahead(&format!("{meet}{put}{meet}{load}sum = sum + next\n{sum}")), [false, false, false, false, false]);
    // What comes from registers says nothing of the access before it.
    let kept = "next = mine[0]\n";
    assert_eq!(ahead(&format!("{meet}{put}{meet}let t = tile[7 - l]\n{kept}b[k, l] = t\n")), [false, false, false, false]);
    assert_eq!(ahead(&format!("{meet}{put}{kept}{meet}{load}{sum}")), [false, false, true, false, false]);
}

#[test]
fn operations_that_wait_for_each_other() {
    let chain = |body: &str| {
        let text = format!(
            "program chain {{\n  read buffer a: f32[64, 64]\n  write buffer b: f32[64, 64]\n  groups g = 1\n  lanes l = 8\n  {{\n    \
             var x: f32 = 0.0\n    var y: f32 = 0.0\n{body}    b[0, l] = x + y\n  }}\n}}\n"
        );
        let program = Checked::new(warpsight_ir::text::parse(&text).expect("parses")).expect("valid");
        Kernel::of(&program).expect("affine").chain
    };
    let (x, y) = ("x = x + a[k, l]\n", "y = fma(a[k, l], a[l, k], y)\n");
    let times = |n: u32, body: &str| format!("for k in 0..{n} unroll none {{\n{body}}}\n");
    assert_eq!(chain(""), Some(0));
    assert_eq!(chain(&times(8, x)), Some(8));
    // Two variables side by side: the longer one; two updates of one, one after the other.
    assert_eq!(chain(&times(8, &[x, y, y].concat())), Some(16));
    assert_eq!(chain(&[times(8, x), times(5, y)].concat()), Some(8));
    // What is new each time waits for nothing.
    assert_eq!(chain(&times(8, "x = a[k, l]\n")), Some(0));
    // Variables of blocks one after another: the second reduction begins when the first has ended.
    let block = |n: u32| format!("{{\n  var z: f32 = 0.0\n{}  y = z\n}}\n", times(n, "  z = z * a[k, l]\n"));
    assert_eq!(chain(&[block(8), block(5)].concat()), Some(13));
    assert_eq!(chain(&[block(8), times(5, x)].concat()), Some(13));
    // The longer side counts.
    let sides = format!("if l < 4 {{\n{}}} else {{\n{}}}\n", times(3, x), times(7, x));
    assert_eq!(chain(&sides), Some(7));
    // Trips that differ from lane to lane matter only to what is updated.
    assert_eq!(chain("for k in 0..l unroll none {\n  b[k, l] = 0.0\n}\n"), Some(0));
}
