//! Each rule of a Program, broken once: the tour is valid, and one replacement in its text makes it break one rule.

use std::collections::BTreeSet;
use warpsight_ir::text::parse;
use warpsight_ir::validate::{CollectiveError, DeclarationError, InvalidKind, NameError, UseError};
use warpsight_ir::*;

const TOUR: &str = include_str!("common/tour.txt");

/// What validation says of the tour with `find` replaced. The tour reads as written, so every `find` must occur.
fn judged(find: &str, replace: &str) -> Result<Checked, Invalid> {
    assert!(TOUR.contains(find), "the tour has no {find:?}");
    let text = TOUR.replacen(find, replace, 1);
    Checked::new(parse(&text).unwrap_or_else(|e| panic!("{e}")))
}

/// What is replaced, by what, where the error is, and how its text begins.
type Case = (&'static str, &'static str, &'static str, &'static str);

const NAMES: &[Case] = &[
    ("program tour", "program main", "program", "`main` is a reserved word"),
    ("size n in", "size float4 in", "size float4", "`float4` is a reserved word"),
    ("buffer y:", "buffer get_global_id:", "param get_global_id", "`get_global_id` is a reserved word"),
    ("private p:", "private __p:", "array __p", "`__p` is a reserved word"),
    ("groups gx", "groups kernel", "groups kernel", "`kernel` is a reserved word"),
    ("lanes lx", "lanes class", "lanes class", "`class` is a reserved word"),
    ("let t =", "let max =", "body[5]", "`max` is a reserved word"),
    ("buffer y:", "buffer n:", "param n", "`n` is declared twice"),
    ("private p:", "private y:", "array y", "`y` is declared twice"),
    ("groups gx", "groups p", "groups p", "`p` is declared twice"),
    ("lanes lx", "lanes gk", "lanes gk", "`gk` is declared twice"),
    ("let t =", "let n =", "body[5]", "`n` hides another"),
    ("let t =", "let y =", "body[5]", "`y` hides another"),
    ("let t =", "let p =", "body[5]", "`p` hides another"),
    ("let t =", "let lx =", "body[5]", "`lx` hides another"),
    ("let t =", "let acc =", "body[5]", "`acc` hides another"),
    ("var acc:", "var x0:", "body[1]", "`x0` hides another"),
    ("for c in", "for x0 in", "body[2]", "`x0` hides another"),
    ("let old =", "let t =", "body[8].then[0]", "`t` hides another"),
    ("let z =", "let z = 1 let z =", "body[9].scope[1]", "`z` hides another"),
    ("let z =", "let c = c let z =", "body[9].scope[0]", "`c` is not declared here"),
    ("= td", "= te", "body[16]", "no parameter or array is named `te`"),
    ("tile store shared", "tile store shard", "body[16]", "no parameter or array is named `shard`"),
];

const DECLARATIONS: &[Case] = &[
    ("n in 1..=64", "n in 65..=64", "size n", "the range 65..=64"),
    ("n in 1..=64", "n in -1..=64", "size n", "the range -1..=64"),
    ("n in 1..=64", "n in 1..=2147483648", "size n", "the range 1..=2147483648"),
    ("n + 2, 56]", "gx, 56]", "param x", "an extent may not contain a variable"),
    ("n + 2, 56]", "gx + n, 56]", "param x", "an extent may not contain a variable"),
    ("n + 2, 56]", "n + gx, 56]", "param x", "an extent may not contain a variable"),
    ("n + 2, 56]", "hist[0], 56]", "param x", "an extent may not contain a load"),
    ("n + 2, 56]", "n << 2, 56]", "param x", "an extent may not contain this operation"),
    ("n + 2, 56]", "-n, 56]", "param x", "an extent may not contain this operation"),
    ("n + 2, 56]", "4u, 56]", "param x", "an extent may not contain a constant that is not an i32"),
    ("n + 2, 56]", "max(0, 3) - 3, 56]", "param x", "the extent is 0"),
    ("n + 2, 56]", "7 / 0, 56]", "param x", "the extent has no value"),
    ("n + 2, 56]", "65536 * 65536 / 65536, 56]", "param x", "the extent has no value"),
    ("f32[1, 64, n + 2, 56]", "f32[]", "param x", "no dimensions"),
    ("rgba32f[n * 4, 56]", "rgba32f[0, 56]", "param a", "the extent is 0"),
    ("rgba32f[n * 4, 56]", "rgba32f[4, 5 - 6]", "param a", "the extent is -1"),
    ("groups gx = 7", "groups gx = 0", "groups gx", "the extent is 0"),
    ("groups gx = 7", "groups gx = lx", "groups gx", "an extent may not contain a variable"),
    ("read write buffer hist", "read write local buffer hist", "param hist", "a parameter cannot lie in Local memory"),
    ("read constant buffer", "read write constant buffer", "param w", "a buffer in constant memory is read only"),
    ("read image a", "read write image a", "param a", "an image is read or written, not both"),
    ("read image a", "read image1d a", "param a", "an image1d has one row"),
    ("rgba32f[64] border none", "rgba32f[64, 2]", "param line", "an image1d_buffer has one row"),
    ("rgba32f[64] border none", "rgba32f[0]", "param line", "the extent is 0"),
    ("border none", "border clamp", "param line", "an image1d_buffer cannot have the border clamp: it has no sampler"),
    ("depth 2", "depth 0", "param q", "a channel without room"),
    ("channel q: f32[16, 16]", "channel q: f32[16, 0]", "param q", "the extent is 0"),
    ("channel q: f32[16, 16]", "channel q: f32[]", "param q", "no dimensions"),
    ("private p: f32[4]", "global p: f32[4]", "array p", "an array cannot lie in Global memory"),
    ("private p: f32[4]", "constant p: f32[4]", "array p", "an array cannot lie in Constant memory"),
    ("private p: f32[4]", "private p: f32[]", "array p", "no dimensions"),
    ("private p: f32[4]", "private p: f32[0]", "array p", "the extent is 0"),
    ("private p: f32[4]", "private p: f32[65536, 32768]", "array p", "more than 2^31"),
    ("tile ta: f16[16, 16]", "tile ta: f16[16]", "array ta", "a tile has 2 dimensions, not 1"),
    ("lx = 32, ly = 2", "lx = 32, ly = 0", "lanes ly", "the extent is 0"),
    ("lx = 32, ly = 2", "lx = 65536, ly = 65536", "launch", "more than 2^31"),
    ("subgroup 32", "subgroup 24", "launch", "a group of 64 work-items does not consist of sub-groups of 24"),
    ("subgroup 32", "subgroup 0", "launch", "a group of 64 work-items does not consist of sub-groups of 0"),
];

const USES: &[Case] = &[
    // Types.
    ("let x0 = gx * 8 + lx", "let x0 = gx * 8 + who", "body[0]", "`who` is not declared here"),
    ("let x0 = gx * 8 + lx", "let x0 = gx * 8 + 1u", "body[0]", "operands of `add` have types i32 and u32"),
    ("let t =", "let u = half(1) + 1.0 let t =", "body[5]", "operands of `add` have types half and f32"),
    ("let t =", "let u = sin(1) let t =", "body[5]", "`sin` is not defined for i32"),
    ("let t =", "let u = splat5(1) let t =", "body[5]", "5 lanes"),
    ("let t =", "let u = acc.[3..5] let t =", "body[5]", "lanes 3..5 of a vector of 4"),
    ("let t =", "let u = lane(acc, 4) let t =", "body[5]", "lane 4 of a vector of 4"),
    ("let t =", "let u = lane(acc, -1) let t =", "body[5]", "lane -1 of a vector of 4"),
    ("let t =", "let u = lane(y[0, 0, 0, 0 : 4], 0) let t =", "body[5]", "cannot load from `y`"),
    ("let t =", "let u = lane(acc, i32(y[0, 0, 0, 0])) let t =", "body[5]", "cannot load from `y`"),
    // Variables.
    ("var acc: f32x4 =", "var acc: f32x5 =", "body[1]", "a vector of 5 lanes"),
    ("= splat4(0.0)", "= 0.0", "body[1]", "the first value is of type f32x4, not f32"),
    ("acc = fma(", "acc = 1.0 acc = fma(", "body[2].for c.body[0]", "the new value is of type f32x4, not f32"),
    ("acc = fma(", "c = 1 acc = fma(", "body[2].for c.body[0]", "`c` cannot be assigned"),
    ("acc = fma(", "x0 = 1 acc = fma(", "body[2].for c.body[0]", "`x0` cannot be assigned"),
    ("acc = fma(", "lx = 1 acc = fma(", "body[2].for c.body[0]", "`lx` cannot be assigned"),
    ("acc = fma(", "new = 1 acc = fma(", "body[2].for c.body[0]", "`new` is not declared here"),
    // Loops and branches.
    ("c in 0..64", "c in 0u..64", "body[2]", "the first value of a loop is of type i32, not u32"),
    ("c in 0..64", "c in 0..64l", "body[2]", "the end of a loop is of type i32, not i64"),
    ("step 2", "step 0", "body[3]", "a loop of step 0"),
    ("step 2", "step 2147483648", "body[3]", "a loop of step 2147483648"),
    ("unroll 2", "unroll 0", "body[2]", "unrolled by 0"),
    ("if x0 & 1 == 0", "if x0", "body[8]", "a condition is of type bool, not i32"),
    // Loads.
    ("splat4(w[gk, c])", "splat4(w[c])", "body[2].for c.body[0]", "`w` has 2 dimensions, the index 1"),
    ("splat4(w[gk, c])", "splat4(w[gk, 1u])", "body[2].for c.body[0]", "a coordinate is of type i32, not u32"),
    ("splat4(w[gk, c])", "splat4(y[0, gk, 0, c])", "body[2].for c.body[0]", "cannot load from `y`, a buffer that is written"),
    ("splat4(w[gk, c])", "splat4(td[0, 0])", "body[2].for c.body[0]", "cannot load from `td`, a tile"),
    ("splat4(w[gk, c])", "splat4(q[0, 0])", "body[2].for c.body[0]", "cannot load from `q`, a channel that is sent to"),
    ("splat4(w[gk, c])", "splat4(a[0, 0])", "body[2].for c.body[0]", "cannot load from `a`, an image that is read"),
    ("splat4(w[gk, c])", "splat4(v[0, 0])", "body[2].for c.body[0]", "no parameter or array is named `v`"),
    ("splat4(w[gk, c])", "w[gk, c : 5]", "body[2].for c.body[0]", "a vector of 5 lanes"),
    ("0 <= x0 < 56 per", "0 <= acc < 56 per", "body[2].for c.body[0]", "a bounded value is of type i32, not f32x4"),
    ("0 <= x0 < 56 per", "0 <= x0 < gx per", "body[2].for c.body[0]", "an extent may not contain a variable"),
    // Texels.
    ("let t = a@", "let t = b@", "body[5]", "cannot read texels of `b`, an image that is written"),
    ("let t = a@", "let t = x@", "body[5]", "cannot read texels of `x`, a buffer that is read"),
    ("a@[x0 - 1,", "a@[1.0,", "body[5]", "a coordinate is of type i32, not f32"),
    ("ly if 0 <= x0 - 1", "0u if 0 <= x0 - 1", "body[5]", "a coordinate is of type i32, not u32"),
    ("0 <= x0 - 1 <", "0 <= 1u <", "body[5]", "a bounded value is of type i32, not u32"),
    ("b@[gk, ly if", "a@[gk, ly if", "body[6]", "cannot write texels of `a`, an image that is read"),
    ("b@[gk,", "b@[acc,", "body[6]", "a coordinate is of type i32, not f32x4"),
    ("ly if 0 <= gk", "true if 0 <= gk", "body[6]", "a coordinate is of type i32, not bool"),
    ("0 <= gk <", "0 <= 1u <", "body[6]", "a bounded value is of type i32, not u32"),
    ("= max(t, acc)", "= 1.0", "body[6]", "a texel is of type f32x4, not f32"),
    ("row@[x0, 0]", "row@[x0, ly]", "body[9].scope[1]", "the row of a texel of `row`, an image1d, is not the constant 0"),
    ("line@[lx, 0 if", "line@[lx, 1 if", "body[9].scope[1]", "the row of a texel of `line`, an image1d_buffer, is not the constant 0"),
    ("row@[x0, 0]", "row@[x0, 0u]", "body[9].scope[1]", "a coordinate is of type i32, not u32"),
    // Stores.
    ("y[0, gk, ly, x0 if", "x[0, gk, ly, x0 if", "body[7]", "cannot store to `x`, a buffer that is read"),
    ("y[0, gk, ly, x0 if", "w[gk, x0 if", "body[7]", "cannot store to `w`, a buffer that is read"),
    ("y[0, gk, ly, x0 if", "td[ly, x0 if", "body[7]", "cannot store to `td`, a tile"),
    ("y[0, gk, ly, x0 if", "r[ly, x0 if", "body[7]", "cannot store to `r`, a channel that is received from"),
    ("y[0, gk, ly, x0 if", "b[ly, x0 if", "body[7]", "cannot store to `b`, an image that is written"),
    ("y[0, gk, ly, x0 if", "y[0, ly, x0 if", "body[7]", "`y` has 4 dimensions, the index 3"),
    ("y[0, gk, ly, x0 if", "y[0, gk, ly, 0.5 if", "body[7]", "a coordinate is of type i32, not f32"),
    ("per lane, 0 <= ly < 56", "per lane, 0 <= true < 56", "body[7]", "a bounded value is of type i32, not bool"),
    ("= acc.[0..2]", "= i32(acc.[0..2])", "body[7]", "the stored value is of type f32x2, not i32x2"),
    // Atomics.
    ("atomic add hist[x0 % 256]", "atomic add x[0, 0, 0, 0]", "body[8].then[0]", "cannot do atomics on `x`, a buffer that is read"),
    ("atomic add hist[x0 % 256]", "atomic add y[0, 0, 0, 0]", "body[8].then[0]", "cannot do atomics on `y`, a buffer that is written"),
    ("atomic add hist[x0 % 256]", "atomic add p[0]", "body[8].then[0]", "cannot do atomics on `p`, a private array"),
    ("atomic add hist[x0 % 256]", "atomic add td[0, 0]", "body[8].then[0]", "cannot do atomics on `td`, a tile"),
    ("atomic add hist[x0 % 256]", "atomic add hist[0, 0]", "body[8].then[0]", "`hist` has 1 dimensions, the index 2"),
    ("with 1u relaxed", "with 1 relaxed", "body[8].then[0]", "the operand is of type u32, not i32"),
    ("with 1u relaxed", "with 1u if was 1u relaxed", "body[8].then[0]", "a comparand belongs to compare-exchange"),
    ("if was old ", "", "body[8].then[1]", "a comparand belongs to compare-exchange"),
    ("if was old", "if was 1", "body[8].then[1]", "the comparand is of type u32, not i32"),
    (
        "let old = atomic add hist[x0 % 256] with 1u",
        "let old = 0u atomic sub shared[0, 0] with 1.0",
        "body[8].then[1]",
        "an atomic on a local array cannot have the scope Device",
    ),
    (
        "let old = atomic add hist[x0 % 256] with 1u relaxed device",
        "let old = 0u atomic sub shared[0, 0] with 1.0 relaxed group",
        "body[8].then[1]",
        "no such atomic on F32",
    ),
    ("hist: u32", "hist: bool", "body[8].then[0]", "no such atomic on Bool"),
    ("hist: u32", "hist: half", "body[8].then[0]", "no such atomic on Half"),
    ("hist: u32", "hist: f16", "body[8].then[0]", "no such atomic on F16"),
    // Barriers, tiles, channels.
    ("barrier group local global", "barrier device local", "body[11]", "a barrier cannot have the scope Device"),
    ("  subgroup 32\n", "", "body[12]", "tile operations need the launch's sub-group"),
    ("tile load ta = w[gk, 0]", "tile load shared = w[gk, 0]", "body[12]", "cannot use as a tile `shared`, a local array"),
    ("tile load ta = w[gk, 0]", "tile load ta = w[gk]", "body[12]", "`w` has 2 dimensions, the index 1"),
    ("tile load ta = w[gk, 0]", "tile load ta = w[gk, 0.0]", "body[12]", "a coordinate is of type i32, not f32"),
    ("tile load ta = w[gk, 0]", "tile load ta = hist[0]", "body[12]", "the shapes of `hist` and `ta` do not fit"),
    ("tile load ta = w[gk, 0]", "tile load ta = x[0, 0, 0, 0]", "body[12]", "`x` and `ta` have different elements"),
    ("tile load ta = w[gk, 0]", "tile load ta = y[0, 0, 0, 0]", "body[12]", "cannot load a tile from `y`, a buffer that is written"),
    ("tile load ta = w[gk, 0]", "tile load ta = tb[0, 0]", "body[12]", "cannot load a tile from `tb`, a tile"),
    ("private p: f32[4]", "private p: f32[4, 4] private pt: f16[1, 1]", "body[4].for i.body[0]", "`p` has 2 dimensions"),
    ("tile store shared[0, 0]", "tile store p[0]", "body[16]", "the shapes of `p` and `td` do not fit"),
    ("tile store shared[0, 0]", "tile store x[0, 0, 0, 0]", "body[16]", "cannot store a tile to `x`, a buffer that is read"),
    ("tile fill td = 0.0", "tile fill td = 0", "body[14]", "the value of a tile is of type f32, not i32"),
    ("tile fill td = 0.0", "tile fill p = 0.0", "body[14]", "cannot use as a tile `p`, a private array"),
    ("td += ta * tb", "ta += ta * tb", "body[15]", "mma is not defined for a tile of F16"),
    ("td += ta * tb", "td += ta * td", "body[15]", "`ta` and `td` have different elements"),
    ("td += ta * tb", "shared += ta * tb", "body[15]", "cannot use as a tile `shared`"),
    ("td += ta * tb", "td += p * tb", "body[15]", "cannot use as a tile `p`"),
    ("td += ta * tb", "td += ta * x", "body[15]", "cannot use as a tile `x`"),
    ("tile ta: f16[16, 16]", "tile ta: f16[16, 8]", "body[15]", "the shapes of `ta` and `tb` do not fit"),
    ("tile ta: f16[16, 16]", "tile ta: f16[8, 16]", "body[15]", "the shapes of `td` and `ta` do not fit"),
    ("tile tb: f16[16, 16]", "tile tb: f16[16, 8]", "body[15]", "the shapes of `td` and `tb` do not fit"),
    ("send q from shared", "send r from shared", "body[18]", "cannot send to `r`, a channel that is received from"),
    ("send q from shared", "send q from p", "body[18]", "cannot hold a token in `p`, a private array"),
    ("receive r into shared", "receive q into shared", "body[10]", "cannot receive from `q`, a channel that is sent to"),
    ("receive r into shared", "receive hist into shared", "body[10]", "cannot receive from `hist`, a buffer"),
    ("channel r: f32[16, 16]", "channel r: f32[16, 8]", "body[10]", "the shapes of `r` and `shared` do not fit"),
    ("channel q: f32[16, 16]", "channel q: f16[16, 16]", "body[18]", "`q` and `shared` have different elements"),
];

#[test]
fn the_tour_is_valid_and_comes_out_as_it_went_in() {
    let program = parse(TOUR).unwrap();
    let checked = Checked::new(program.clone()).unwrap();
    assert_eq!(checked.params.len(), 11);
    assert_eq!(checked.into_inner(), program);
}

fn check_cases(cases: &[Case]) {
    for (find, replace, at, message) in cases {
        let error = judged(find, replace).expect_err(replace);
        assert!(error.kind.to_string().starts_with(message), "{replace}\n{error}");
        assert_eq!(error.at, *at, "{replace}\n{error}");
    }
}

#[test]
fn names_are_judged() {
    check_cases(NAMES);
}

#[test]
fn declarations_are_judged() {
    check_cases(DECLARATIONS);
}

#[test]
fn uses_are_judged() {
    check_cases(USES);
}

#[test]
fn what_text_cannot_say_is_judged_too() {
    let tour = || parse(TOUR).unwrap();
    for name in ["", "9x", "a-b", "ä", "a b"] {
        let mut program = tour();
        program.name = name.into();
        assert_eq!(Checked::new(program).unwrap_err().kind, NameError::NotIdentifier(name.into()).into());
    }
    let mut program = tour();
    program.launch.groups[0].extent = Expr::Size("who".into());
    assert_eq!(Checked::new(program).unwrap_err(), Invalid { at: "groups gx".into(), kind: NameError::NoSize("who".into()).into() });
    let mut program = tour();
    program.body.push(Stmt::Let { name: "v".into(), value: Expr::Size("who".into()) });
    assert_eq!(Checked::new(program).unwrap_err(), Invalid { at: "body[19]".into(), kind: NameError::NoSize("who".into()).into() });
}

#[test]
fn what_is_allowed_stays_allowed() {
    for (find, replace) in [
        ("size n in", "size float5 in 0..=2 size floaty in 0..=2147483647 size n in"),
        ("n + 2, 56]", "min(n, 3) % max(n, 2) / 1 - 0, 56]"),
        ("let z = concat", "let c = 1 let i = c let z = concat"),
        ("= acc.[0..2]", "= acc.[1..4]"),
        (
            "var acc: f32x4 = splat4(0.0)",
            "var acc: f32x4 = splat4(0.0) var half_: f16 = 0.5 half_ = half_ * 2.0 var b16: bf16x2 = splat2(1.0)",
        ),
        ("= acc.[0..2] non_temporal", "= acc.[0..1] tile fill ta = 1.0"),
        ("tile ta: f16[16, 16]\n  tile tb: f16[16, 16]", "tile ta: f16[16, 4]\n  tile tb: f16[4, 16]"),
        ("= 1u", "= 1u"),
        ("let old = atomic add hist[x0 % 256] with 1u relaxed device", "let old = 0u atomic exchange shared[0, 0] with 1.0 release group"),
        ("tile store shared[0, 0]", "tile store y[0, 0, gx, gk]"),
    ] {
        let text = TOUR.replacen(find, replace, 1);
        Checked::new(parse(&text).unwrap_or_else(|e| panic!("{e}"))).unwrap_or_else(|e| panic!("{replace}\n{e}"));
    }
}

#[test]
fn mma_is_for_floats() {
    let multiply = |element: &str| {
        let tiles = format!("tile a: {element}[4, 4] tile b: {element}[4, 4] tile d: f32[4, 4]");
        Checked::new(parse(&format!("program p {{ {tiles} lanes l = 4 subgroup 4 {{ tile mma d += a * b }} }}")).unwrap())
    };
    for element in ["f16", "bf16", "f32"] {
        assert!(multiply(element).is_ok(), "{element}");
    }
    for element in ["f64", "i32", "bool"] {
        assert!(multiply(element).unwrap_err().kind.to_string().starts_with("mma is not defined"), "{element}");
    }
}

/// Statements in place of the tour's group barrier, and what the judgement of them begins with; empty where they are fine.
const UNIFORMITY: &[(&str, &str, &str)] = &[
    ("barrier group", "", ""),
    ("if gx < 3 { barrier group local }", "", ""),
    ("if n < 3 { barrier group local }", "", ""),
    ("if lx < 3 { barrier group local }", "body[11].then[0]", "a barrier where not all"),
    ("if gx < 3 { } else { if lx < 3 { } else { barrier group local } }", "body[11].else[0].else[0]", "a barrier where not all"),
    ("{ if lx < 3 { } barrier group }", "", ""),
    // Sub-groups lie along lx; ly tells them apart.
    ("if ly < 1 { barrier group local }", "body[11].then[0]", "a barrier where not all"),
    ("if ly < 1 { barrier subgroup local }", "", ""),
    ("if lx < 1 { barrier subgroup local }", "body[11].then[0]", "a sub-group barrier where not all"),
    ("if ly < 1 { tile load ta = w[ly, 0] tile fill td = f32(ly) tile mma td += ta * tb tile store shared[ly, 0] = td }", "", ""),
    ("if lx < 1 { tile load ta = w[ly, 0] }", "body[11].then[0]", "a tile load where not all"),
    ("if lx < 1 { tile fill ta = 1.0 }", "body[11].then[0]", "a tile fill where not all"),
    ("if lx < 1 { tile mma td += ta * tb }", "body[11].then[0]", "an mma where not all"),
    ("if lx < 1 { tile store shared[0, 0] = td }", "body[11].then[0]", "a tile store where not all"),
    ("tile load ta = w[lx, 0]", "body[11]", "the index of a tile load differs"),
    ("tile store shared[lx, 0] = td", "body[11]", "the index of a tile store differs"),
    ("tile fill ta = f32(lx)", "body[11]", "the value of a tile fill differs"),
    ("if ly < 1 { send q from shared }", "body[11].then[0]", "a send where not all"),
    ("if ly < 1 { receive r into shared }", "body[11].then[0]", "a receive where not all"),
    // Loops.
    ("for k in gx..n * 2 { if k < 3 { barrier group } }", "", ""),
    ("for k in 0..lx { barrier group }", "body[11].for k.body[0]", "a barrier where not all"),
    ("for k in lx..32 { barrier group }", "body[11].for k.body[0]", "a barrier where not all"),
    ("for k in lx..lx + 2 { } barrier group", "", ""),
    // Lets carry what they hold.
    ("let u = gx + 1 if u < 3 { barrier group }", "", ""),
    ("let u = gx + lx if u < 3 { barrier group }", "body[12].then[0]", "a barrier where not all"),
    ("let u = select(lx < 1, 1, 2) if u < 3 { barrier group }", "body[12].then[0]", "a barrier where not all"),
    // Loads.
    ("if w[gx, 0] < 1.0 { barrier group }", "", ""),
    ("if x[0, 0, gx, 0] < 1.0 { barrier group }", "", ""),
    ("if lane(a@[gx, 0], 0) < 1.0 { barrier group }", "", ""),
    ("if w[lx, 0] < 1.0 { barrier group }", "body[11].then[0]", "a barrier where not all"),
    ("if w[0, 0 if 0 <= lx < 3] < 1.0 { barrier group }", "body[11].then[0]", "a barrier where not all"),
    ("if lane(a@[lx, 0], 0) < 1.0 { barrier group }", "body[11].then[0]", "a barrier where not all"),
    ("if hist[gx] < 1u { barrier group }", "body[11].then[0]", "a barrier where not all"),
    ("if shared[0, 0] < 1.0 { barrier group }", "body[11].then[0]", "a barrier where not all"),
    ("if p[0] < 1.0 { barrier group }", "body[11].then[0]", "a barrier where not all"),
    ("let o = atomic add hist[0] with 1u relaxed device if o < 1u { barrier group }", "body[12].then[0]", "a barrier where not all"),
    // Variables that change.
    ("var v: i32 = gx for k in 0..4 { if v < 1 { barrier group } v = v + k }", "", ""),
    ("var v: i32 = lx if v < 1 { barrier group }", "body[12].then[0]", "a barrier where not all"),
    ("var v: i32 = 0 v = lx v = 0 if v < 1 { barrier group }", "body[14].then[0]", "a barrier where not all"),
    ("var v: i32 = 0 if lx < 2 { v = 1 } if v < 1 { barrier group }", "body[13].then[0]", "a barrier where not all"),
    ("var v: i32 = 0 for k in 0..lx { v = 1 } if v < 1 { barrier group }", "body[13].then[0]", "a barrier where not all"),
    ("var v: i32 = 0 for k in 0..4 { if v < 1 { barrier group } v = lx }", "body[12].for k.body[0].then[0]", "a barrier where not all"),
    (
        "var u: i32 = 0 var v: i32 = 0 for k in 0..4 { if v < 1 { barrier group } v = u u = lx }",
        "body[13].for k.body[0].then[0]",
        "a barrier where not all",
    ),
    // A name used again in a block beside is another variable.
    ("{ let u = lx } { let u = gx if u < 1 { barrier group } }", "", ""),
];

#[test]
fn collective_statements_are_reached_together() {
    for (statements, at, message) in UNIFORMITY {
        match judged("barrier group local global", statements) {
            Ok(_) => assert_eq!(*message, "", "{statements}"),
            Err(error) => {
                assert!(!message.is_empty() && error.kind.to_string().starts_with(message), "{statements}\n{error}");
                assert_eq!(error.at, *at, "{statements}\n{error}");
            }
        }
    }
}

#[test]
fn uniform_axes_follow_the_launch() {
    let program = |lanes: &str, axis: &str, scope: &str| {
        let text = format!("program p {{ groups g = 2 lanes {lanes} {{ if {axis} < 1 {{ barrier {scope} local }} }} }}");
        Checked::new(parse(&text).unwrap()).is_ok()
    };
    // A single lane along an axis is the same for all.
    assert!(program("a = 1, b = 8", "a", "group"));
    assert!(!program("a = 1, b = 8", "b", "group"));
    // Two axes fill a sub-group of 32 together.
    assert!(!program("a = 4, b = 8, c = 2 subgroup 32", "b", "subgroup"));
    assert!(program("a = 4, b = 8, c = 2 subgroup 32", "c", "subgroup"));
    // Sub-groups may be smaller than an axis.
    assert!(!program("a = 64, b = 2 subgroup 32", "a", "subgroup"));
    assert!(program("a = 64, b = 2 subgroup 32", "b", "subgroup"));
    assert!(!program("a = 48, b = 2 subgroup 32", "b", "subgroup"));
    // Without a sub-group nothing is known of it.
    assert!(!program("a = 32, b = 2", "b", "subgroup"));
}

#[test]
fn every_error_has_a_case() {
    let cases = NAMES.iter().chain(DECLARATIONS).chain(USES);
    let mut seen: BTreeSet<&str> = cases.filter_map(|(find, replace, ..)| judged(find, replace).err()).map(|e| name_of(&e.kind)).collect();
    seen.extend(UNIFORMITY.iter().filter_map(|(s, ..)| judged("barrier group local global", s).err()).map(|e| name_of(&e.kind)));
    // These two cannot be written; `what_text_cannot_say_is_judged_too` has them.
    seen.extend(["NotIdentifier", "NoSize"]);
    let missing: Vec<_> = ALL.iter().filter(|name| !seen.contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[rustfmt::skip]
const ALL: &[&str] = &[
    "NotIdentifier", "Reserved", "Twice", "Hides", "NoSize", "NoTensor",
    "SizeRange", "NotASizeExpression", "NotPositive", "NoValue", "NoDimensions", "TileDimensions", "SpaceOf", "ConstantWritten",
    "ImageReadWrite", "ImageHeight", "ImageBorder", "NoDepth", "TooMany", "Subgroup",
    "Unknown", "Mismatch", "Operand", "Width (type)", "Slice",
    "Cannot", "Dimensions", "Row", "Type", "Width", "Lane", "NotAVar", "Step", "UnrollByZero", "AtomicElement", "Comparand", "ScopeOf (use)",
    "NoSubgroup", "Elements", "Shapes", "MmaElement",
    "ControlFlow", "Operand (collective)",
];

/// The name of a violation, as in `ALL`. Exhaustive, so that a new one must be listed.
fn name_of(kind: &InvalidKind) -> &'static str {
    match kind {
        InvalidKind::Name(e) => match e {
            NameError::NotIdentifier(_) => "NotIdentifier",
            NameError::Reserved(_) => "Reserved",
            NameError::Twice(_) => "Twice",
            NameError::Hides(_) => "Hides",
            NameError::NoSize(_) => "NoSize",
            NameError::NoTensor(_) => "NoTensor",
        },
        InvalidKind::Declaration(e) => match e {
            DeclarationError::SizeRange { .. } => "SizeRange",
            DeclarationError::NotASizeExpression(_) => "NotASizeExpression",
            DeclarationError::NotPositive(_) => "NotPositive",
            DeclarationError::NoValue => "NoValue",
            DeclarationError::NoDimensions => "NoDimensions",
            DeclarationError::TileDimensions(_) => "TileDimensions",
            DeclarationError::SpaceOf { .. } => "SpaceOf",
            DeclarationError::ConstantWritten => "ConstantWritten",
            DeclarationError::ImageReadWrite => "ImageReadWrite",
            DeclarationError::ImageHeight(_) => "ImageHeight",
            DeclarationError::ImageBorder(_) => "ImageBorder",
            DeclarationError::NoDepth => "NoDepth",
            DeclarationError::TooMany => "TooMany",
            DeclarationError::Subgroup { .. } => "Subgroup",
        },
        InvalidKind::Type(e) => match e {
            TypeError::Unknown(_) => "Unknown",
            TypeError::Mismatch { .. } => "Mismatch",
            TypeError::Operand { .. } => "Operand",
            TypeError::Width(_) => "Width (type)",
            TypeError::Slice { .. } => "Slice",
        },
        InvalidKind::Use(e) => match e {
            UseError::Cannot { .. } => "Cannot",
            UseError::Dimensions { .. } => "Dimensions",
            UseError::Row { .. } => "Row",
            UseError::Type { .. } => "Type",
            UseError::Width(_) => "Width",
            UseError::Lane { .. } => "Lane",
            UseError::NotAVar(_) => "NotAVar",
            UseError::Step(_) => "Step",
            UseError::UnrollByZero => "UnrollByZero",
            UseError::AtomicElement(_) => "AtomicElement",
            UseError::Comparand => "Comparand",
            UseError::ScopeOf { .. } => "ScopeOf (use)",
            UseError::NoSubgroup => "NoSubgroup",
            UseError::Elements { .. } => "Elements",
            UseError::Shapes { .. } => "Shapes",
            UseError::MmaElement(_) => "MmaElement",
        },
        InvalidKind::Collective(e) => match e {
            CollectiveError::ControlFlow { .. } => "ControlFlow",
            CollectiveError::Operand { .. } => "Operand (collective)",
        },
    }
}

#[test]
fn errors_say_where_what_and_what_to_do() {
    let error = judged("barrier group local global", "for k in 0..4 { if lx < 3 { barrier group local } }").unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid program at body[11].for k.body[0].then[0]: a barrier where not all work-items come\n  \
         = help: move it out of what depends on lanes, mutable memory or atomics; guard accesses instead"
    );
    fn shared<T: Send + Sync + Clone + PartialEq + 'static>(_: &T) {}
    shared(&error);
}
