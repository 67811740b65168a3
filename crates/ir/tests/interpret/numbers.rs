//! Operations against plain Rust, over random and over special operands.

use crate::{ints, program};
use warpsight_ir::interpret::{Undefined, binary, cast, fma, interpret, unary};
use warpsight_ir::{BinaryOp, Bindings, Const, Expr, Scalar, Stmt, UnaryOp};

const INTS: [BinaryOp; 11] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Rem,
    BinaryOp::Min,
    BinaryOp::Max,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Shl,
    BinaryOp::Shr,
];

/// What Rust's own integers give.
macro_rules! by_rust {
    ($op:expr, $a:expr, $b:expr, $kind:path, $mask:expr) => {
        match $op {
            BinaryOp::Add => Ok($kind($a.wrapping_add($b))),
            BinaryOp::Sub => Ok($kind($a.wrapping_sub($b))),
            BinaryOp::Mul => Ok($kind($a.wrapping_mul($b))),
            BinaryOp::Div if $b == 0 => Err(Undefined::DivisionByZero),
            BinaryOp::Rem if $b == 0 => Err(Undefined::DivisionByZero),
            BinaryOp::Div => Ok($kind($a.wrapping_div($b))),
            BinaryOp::Rem => Ok($kind($a.wrapping_rem($b))),
            BinaryOp::Min => Ok($kind($a.min($b))),
            BinaryOp::Max => Ok($kind($a.max($b))),
            BinaryOp::And => Ok($kind($a & $b)),
            BinaryOp::Or => Ok($kind($a | $b)),
            BinaryOp::Shl => Ok($kind($a.wrapping_shl(($b & $mask) as u32))),
            BinaryOp::Shr => Ok($kind($a.wrapping_shr(($b & $mask) as u32))),
            other => panic!("{other:?}"),
        }
    };
}

#[test]
fn integers_wrap_like_rusts() {
    let mut rng = fastrand::Rng::with_seed(11);
    for _ in 0..20_000 {
        let mut any = || {
            let special = [0, 1, -1, i64::MIN, i64::MAX, i32::MIN.into(), i32::MAX.into(), u32::MAX.into()];
            if rng.bool() { special[rng.usize(0..8)] } else { rng.i64(..) >> rng.u32(0..64) }
        };
        let (a, b) = (any(), any());
        let op = INTS[rng.usize(0..INTS.len())];
        assert_eq!(
            binary(op, Const::I32(a as i32), Const::I32(b as i32)),
            by_rust!(op, (a as i32), b as i32, Const::I32, 31),
            "{op:?} {a} {b}"
        );
        assert_eq!(
            binary(op, Const::U32(a as u32), Const::U32(b as u32)),
            by_rust!(op, (a as u32), b as u32, Const::U32, 31),
            "{op:?} {a} {b}"
        );
        assert_eq!(binary(op, Const::I64(a), Const::I64(b)), by_rust!(op, a, b, Const::I64, 63), "{op:?} {a} {b}");
        assert_eq!(
            binary(op, Const::U64(a as u64), Const::U64(b as u64)),
            by_rust!(op, (a as u64), b as u64, Const::U64, 63),
            "{op:?} {a} {b}"
        );
        assert_eq!(binary(BinaryOp::Lt, Const::U32(a as u32), Const::U32(b as u32)), Ok(Const::Bool((a as u32) < (b as u32))));
        assert_eq!(binary(BinaryOp::Le, Const::I64(a), Const::I64(b)), Ok(Const::Bool(a <= b)));
    }
    assert_eq!(unary(UnaryOp::Neg, Const::I32(i32::MIN)), Ok(Const::I32(i32::MIN)));
    assert_eq!(unary(UnaryOp::Abs, Const::I64(i64::MIN)), Ok(Const::I64(i64::MIN)));
    assert_eq!(unary(UnaryOp::Neg, Const::U32(1)), Ok(Const::U32(u32::MAX)));
    assert_eq!(unary(UnaryOp::Not, Const::U64(0)), Ok(Const::U64(u64::MAX)));
    assert_eq!(binary(BinaryOp::Add, Const::I32(1), Const::U32(1)), Err(Undefined::Types));
}

#[test]
fn floats_are_ieee() {
    let mut rng = fastrand::Rng::with_seed(12);
    for _ in 0..20_000 {
        let (a, b, c) = (f32::from_bits(rng.u32(..)), f32::from_bits(rng.u32(..)), f32::from_bits(rng.u32(..)));
        let same = |got: Result<Const, Undefined>, expected: f32| match got {
            Ok(Const::F32(v)) => assert!(v.to_bits() == expected.to_bits() || v.is_nan() && expected.is_nan(), "{v} {expected}"),
            other => panic!("{other:?}"),
        };
        let (x, y) = (Const::F32(a), Const::F32(b));
        same(binary(BinaryOp::Add, x, y), a + b);
        same(binary(BinaryOp::Mul, x, y), a * b);
        same(binary(BinaryOp::Div, x, y), a / b);
        same(binary(BinaryOp::Rem, x, y), a % b);
        same(fma(x, y, Const::F32(c)), a.mul_add(b, c));
        same(unary(UnaryOp::Sqrt, x), a.sqrt());
        same(unary(UnaryOp::Floor, x), a.floor());
        same(unary(UnaryOp::Neg, x), -a);
        assert_eq!(binary(BinaryOp::Ne, x, y), Ok(Const::Bool(a != b)));
    }
    // Once rounded: a·b + c differs from rounding the product first.
    let (a, c) = (1.0 + f32::EPSILON, -1.0 - 2.0 * f32::EPSILON);
    assert_eq!(fma(Const::F32(a), Const::F32(a), Const::F32(c)), Ok(Const::F32(f32::EPSILON * f32::EPSILON)));
}

#[test]
fn minimum_and_maximum_keep_what_is_not_a_number() {
    let nan = f64::NAN;
    for (a, b, least, most) in [
        (1.0, 2.0, 1.0, 2.0),
        (2.0, 1.0, 1.0, 2.0),
        (nan, 2.0, nan, nan),
        (2.0, nan, nan, nan),
        (nan, nan, nan, nan),
        (nan, f64::INFINITY, nan, nan),
    ] {
        for (op, expected) in [(BinaryOp::Min, least), (BinaryOp::Max, most)] {
            let Ok(Const::F64(wide)) = binary(op, Const::F64(a), Const::F64(b)) else { panic!("{op:?}") };
            let Ok(Const::F32(single)) = binary(op, Const::F32(a as f32), Const::F32(b as f32)) else { panic!("{op:?}") };
            assert!(wide == expected || wide.is_nan() && expected.is_nan(), "{op:?} of {a} and {b} is {wide}");
            assert!(f64::from(single) == wide || single.is_nan() && wide.is_nan(), "{op:?} of {a} and {b} is {single}");
        }
    }
}

#[test]
fn functions_are_accurate_to_the_last_bit_of_f32() {
    // Values of 20 digits (Abramowitz and Stegun's tables, to their precision), rounded.
    let cases = [
        (UnaryOp::Exp, 1.0, std::f64::consts::E),
        (UnaryOp::Log, 2.0, std::f64::consts::LN_2),
        (UnaryOp::Rsqrt, 2.0, std::f64::consts::FRAC_1_SQRT_2),
        (UnaryOp::Tanh, 1.0, 0.761_594_155_955_764_9),
        (UnaryOp::Sin, 1.0, 0.841_470_984_807_896_5),
        (UnaryOp::Cos, 1.0, 0.540_302_305_868_139_8),
        (UnaryOp::Erf, 0.5, 0.520_499_877_813_046_5),
        (UnaryOp::Erf, 1.0, 0.842_700_792_949_714_9),
        (UnaryOp::Ceil, 1.25, 2.0),
        (UnaryOp::Abs, -3.5, 3.5),
    ];
    for (op, x, expected) in cases {
        assert_eq!(unary(op, Const::F32(x as f32)), Ok(Const::F32(expected as f32)), "{op:?} {x}");
        let Ok(Const::F64(v)) = unary(op, Const::F64(x)) else { panic!("{op:?}") };
        assert!((v - expected).abs() <= 2e-16 * expected.abs().max(1.0), "{op:?} {x}: {v}");
    }
    assert_eq!(unary(UnaryOp::Exp, Const::I32(1)), Err(Undefined::Types));
}

#[test]
fn conversions_saturate_and_round_once() {
    assert_eq!(cast(Scalar::I32, Const::F32(3e9)), Const::I32(i32::MAX));
    assert_eq!(cast(Scalar::I32, Const::F32(-1.9)), Const::I32(-1));
    assert_eq!(cast(Scalar::U32, Const::F64(-1.0)), Const::U32(0));
    assert_eq!(cast(Scalar::I64, Const::F32(f32::NAN)), Const::I64(0));
    assert_eq!(cast(Scalar::I32, Const::I64(1 << 40)), Const::I32(i32::MAX));
    assert_eq!(cast(Scalar::U64, Const::I32(-5)), Const::U64(0));
    assert_eq!(cast(Scalar::F32, Const::I32(16_777_217)), Const::F32(16_777_216.0));
    assert_eq!(cast(Scalar::F32, Const::Bool(true)), Const::F32(1.0));
    assert_eq!(cast(Scalar::Bool, Const::F32(0.5)), Const::Bool(true));
    // Just above the middle of two halves: rounded by way of f32 it would fall on the middle, and down.
    assert_eq!(cast(Scalar::F16, Const::F64(1.0 + 2_f64.powi(-11) + 2_f64.powi(-40))), Const::F32(1.0 + 2_f32.powi(-10)));
    assert_eq!(cast(Scalar::F16, Const::F64(1.0 + 2_f64.powi(-11))), Const::F32(1.0));
    assert_eq!(cast(Scalar::Bf16, Const::I64((1 << 40) + (1 << 32) + 1)), Const::F32(1_108_101_562_368.0));
    assert_eq!(cast(Scalar::F16, Const::F64(1e9)), Const::F32(f32::INFINITY));
    assert_eq!(cast(Scalar::F16, Const::I32(65_519)), Const::F32(65_504.0));
}

/// Halves against exact sums in integers: of the two neighbours of a result, and what lies between, the nearest, and the even one of two.
#[test]
fn halves_are_rounded_once() {
    use half::f16;
    let mut rng = fastrand::Rng::with_seed(16);
    let quanta = |v: f16| (f64::from(v) * 2_f64.powi(24)) as i128;
    // The half nearest to a number of 2⁻⁴⁸, found by trying.
    let nearest = |exact: i128| {
        let magnitude = exact.unsigned_abs() as f64 * 2_f64.powi(-48);
        let near = f16::from_f64(magnitude).to_bits();
        let distance = |bits: u16| {
            // The half above the largest, if there were one, is what infinity stands for.
            let at = if bits == 0x7c00 { 65536_i128 << 48 } else { quanta(f16::from_bits(bits)) << 24 };
            ((at - exact.abs()).abs(), bits & 1)
        };
        let best = (near.saturating_sub(1)..=(near + 1).min(0x7c00)).min_by_key(|&bits| distance(bits)).expect("three");
        f16::from_bits(best | if exact < 0 { 0x8000 } else { 0 })
    };
    let mut any = || {
        let bits = rng.u16(..) & if rng.bool() { 0xbbff } else { 0x87ff };
        f16::from_bits(bits)
    };
    for _ in 0..50_000 {
        let (a, b, c) = (any(), any(), any());
        let [x, y, z] = [a, b, c].map(Const::Half);
        let (sum, product) = ((quanta(a) + quanta(b)) << 24, quanta(a) * quanta(b));
        for (found, exact) in [
            (binary(BinaryOp::Add, x, y), sum),
            (binary(BinaryOp::Sub, x, y), (quanta(a) - quanta(b)) << 24),
            (binary(BinaryOp::Mul, x, y), product),
            (fma(x, y, z), product + (quanta(c) << 24)),
        ] {
            let Ok(Const::Half(found)) = found else { panic!("{found:?}") };
            assert_eq!(f64::from(found), f64::from(nearest(exact)), "{a} {b} {c}");
        }
    }
    let half = |v: f32| Const::Half(f16::from_f32(v));
    assert_eq!(binary(BinaryOp::Add, half(65504.0), half(16.0)), Ok(half(f32::INFINITY)));
    assert_eq!(binary(BinaryOp::Add, half(65504.0), half(15.0)), Ok(half(65504.0)));
    assert_eq!(binary(BinaryOp::Div, half(1.0), half(3.0)), Ok(half(1.0 / 3.0)));
    // The smallest half, halved: a tie with zero, which is even.
    assert_eq!(binary(BinaryOp::Mul, Const::Half(f16::from_bits(1)), half(0.5)), Ok(half(0.0)));
    assert_eq!(unary(UnaryOp::Exp, half(1.0)), Ok(half(std::f32::consts::E)));
    assert_eq!(cast(Scalar::Half, Const::F64(1.0 + 2_f64.powi(-11) + 2_f64.powi(-40))), half(1.0 + 2_f32.powi(-10)));
    assert_eq!(cast(Scalar::Half, Const::I32(65_519)), half(65_504.0));
    assert_eq!(cast(Scalar::Half, Const::I64(i64::MAX)), half(f32::INFINITY));
    assert_eq!(cast(Scalar::I32, half(-1.9)), Const::I32(-1));
    assert_eq!(binary(BinaryOp::Add, half(1.0), Const::F32(1.0)), Err(Undefined::Types));
}

/// A random `i32` expression over two variables, and what it gives.
fn expression(rng: &mut fastrand::Rng, depth: u32, [x, y]: [i32; 2]) -> (Expr, i32) {
    let operand = |rng: &mut fastrand::Rng| expression(rng, depth - 1, [x, y]);
    if depth == 0 {
        return match rng.u8(0..3) {
            0 => (Expr::var("x"), x),
            1 => (Expr::var("y"), y),
            _ => {
                let v = rng.i32(-9..9);
                (Expr::int(v.into()), v)
            }
        };
    }
    let ((a, va), (b, vb)) = (operand(rng), operand(rng));
    match rng.u8(0..7) {
        0 => (Expr::binary(BinaryOp::Add, a, b), va.wrapping_add(vb)),
        1 => (Expr::binary(BinaryOp::Mul, a, b), va.wrapping_mul(vb)),
        2 => (Expr::binary(BinaryOp::Xor, a, b), va ^ vb),
        3 => {
            let less = Expr::binary(BinaryOp::Lt, a.clone(), b.clone());
            (Expr::Select(Box::new(less), Box::new(b), Box::new(a)), va.max(vb))
        }
        4 => {
            let odd = Expr::binary(BinaryOp::Or, b, Expr::int(1));
            (Expr::binary(BinaryOp::Div, a, odd), va.wrapping_div(vb | 1))
        }
        5 => {
            // The second of four lanes, each doubled.
            let vector = Expr::Concat(vec![a.clone(), b, Expr::Splat(Box::new(a), 2)]);
            let doubled = Expr::binary(BinaryOp::Add, vector.clone(), vector);
            let lane = Expr::Lane(Box::new(doubled), Box::new(Expr::int(1)));
            (Expr::Slice { vector: Box::new(lane), start: 0, width: 1 }, vb.wrapping_mul(2))
        }
        _ => (Expr::Cast(Scalar::I32, Box::new(Expr::Cast(Scalar::F64, Box::new(Expr::binary(BinaryOp::Sub, a, b))))), va.wrapping_sub(vb)),
    }
}

#[test]
fn random_expressions_give_what_rust_gives() {
    let mut rng = fastrand::Rng::with_seed(13);
    let frame = program(
        "
program frame {
  read buffer v: i32[2]
  write buffer out: i32[1]
  groups g = 1
  lanes l = 1
  { let x = v[0] let y = v[1] out[0] = 0 }
}",
    )
    .into_inner();
    for _ in 0..300 {
        let values = [rng.i32(..), rng.i32(-100..100)];
        let depth = rng.u32(1..6);
        let (expr, expected) = expression(&mut rng, depth, values);
        let mut changed = frame.clone();
        let Some(Stmt::Store { value, .. }) = changed.body.last_mut() else { panic!() };
        *value = expr;
        let checked = warpsight_ir::Checked::new(changed).unwrap();
        let mut bindings = Bindings { data: vec![ints(&values), ints(&[0])], ..Bindings::default() };
        interpret(&checked, &mut bindings).unwrap();
        assert_eq!(bindings.data[1], ints(&[expected]), "{}", *checked);
    }
}
