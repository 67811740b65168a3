//! Emitted kernels, run by a driver, give what the interpreter and native loops give.

mod common;

use common::pocl::Pocl;
use common::programs::{self, *};
use std::collections::BTreeMap;
use warpsight_emit::opencl;
use warpsight_ir::data::{bytes_f32, f32_bytes};
use warpsight_ir::interpret::interpret;
use warpsight_ir::*;

/// The data after a run on the device, and after interpretation.
fn both(program: &Checked, bindings: Bindings) -> Option<[Vec<Vec<u8>>; 2]> {
    let pocl = Pocl::find()?;
    let source = opencl(program).expect("a supported Program");
    let device = pocl.run(program, &source, &bindings);
    let mut oracle = bindings;
    interpret(program, &mut oracle).expect("a run without fault");
    Some([device, oracle.data])
}

fn bind_data(data: Vec<Vec<u8>>) -> Bindings {
    Bindings { sizes: BTreeMap::new(), data }
}

fn floats(rng: &mut fastrand::Rng, count: usize) -> Vec<f32> {
    (0..count).map(|_| rng.f32() * 2.0 - 1.0).collect()
}

fn i32s(bytes: &[u8]) -> Vec<i32> {
    bytes.as_chunks::<4>().0.iter().map(|b| i32::from_le_bytes(*b)).collect()
}

fn i32_bytes(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn convolution_equals_native_loops() {
    let mut rng = fastrand::Rng::with_seed(11);
    let (input, weights, bias) = (floats(&mut rng, 3 * 10 * 12), floats(&mut rng, 4 * 27), floats(&mut rng, 4));
    let program = checked(programs::convolution());
    let data = vec![f32_bytes(&input), f32_bytes(&weights), f32_bytes(&bias), f32_bytes(&[f32::NAN; 480])];
    let Some([device, oracle]) = both(&program, bind_data(data)) else { return };
    assert_eq!(device, oracle);
    let output = bytes_f32(&device[3]);
    for k in 0..4 {
        for y in 0..10i32 {
            for x in 0..12i32 {
                let mut sum = f64::from(bias[k]);
                for (c, r, s) in (0..27).map(|i| (i / 9, i / 3 % 3, i % 3)) {
                    let (iy, ix) = (y + r - 1, x + s - 1);
                    if (0..10).contains(&iy) && (0..12).contains(&ix) {
                        let pixel = input[((c * 10 + iy) * 12 + ix) as usize];
                        sum += f64::from(pixel) * f64::from(weights[k * 27 + (c * 9 + r * 3 + s) as usize]);
                    }
                }
                let found = f64::from(output[(k * 10 + y as usize) * 12 + x as usize]);
                // 27 products of at most 1 in f32.
                assert!((found - sum.max(0.0)).abs() < 1e-5, "{k} {y} {x}: {found} is not {sum}");
            }
        }
    }
}

#[test]
fn matmul_equals_native_loops() {
    let mut rng = fastrand::Rng::with_seed(12);
    let (a, b) = (floats(&mut rng, 48 * 32), floats(&mut rng, 32 * 32));
    let data = vec![f32_bytes(&a), f32_bytes(&b), f32_bytes(&[f32::NAN; 48 * 32])];
    let Some([device, oracle]) = both(&checked(programs::tiled_matmul()), bind_data(data)) else { return };
    assert_eq!(device, oracle);
    for (i, found) in bytes_f32(&device[2]).into_iter().enumerate() {
        let expected = (0..32).fold(0.0f32, |sum, k| a[i / 32 * 32 + k].mul_add(b[k * 32 + i % 32], sum));
        assert_eq!(found, expected, "element {i}");
    }
}

#[test]
fn images_follow_their_borders() {
    let mut rng = fastrand::Rng::with_seed(13);
    let source = floats(&mut rng, 13 * 9 * 4);
    let data = vec![f32_bytes(&source), f32_bytes(&floats(&mut rng, 13 * 9 * 4)), f32_bytes(&[f32::NAN; 13 * 9 * 4])];
    let Some([device, oracle]) = both(&checked(programs::image_blur()), bind_data(data)) else { return };
    assert_eq!(device[2], oracle[2]);
    for (i, found) in bytes_f32(&device[2]).into_iter().enumerate() {
        let (y, x, c) = ((i / 52) as i32, i / 4 % 13, i % 4);
        let at = |row: i32| source[(row.clamp(0, 8) as usize * 13 + x) * 4 + c];
        // The other image is read outside only, where it is zero.
        assert_eq!(found, at(y - 1).mul_add(0.25, at(y + 1).mul_add(0.25, at(y) * 0.5)), "texel {x}, {y}");
    }
}

#[test]
fn atomics_count_everything_once() {
    let mut rng = fastrand::Rng::with_seed(14);
    let keys: Vec<i32> = (0..96).map(|_| rng.i32(0..1000)).collect();
    let data = vec![i32_bytes(&keys), vec![0; 32], vec![0; 4], i32_bytes(&[-1, 0]), vec![0; 96 * 4]];
    let Some([device, _]) = both(&checked(programs::atomics()), bind_data(data)) else { return };
    let mut histogram = vec![0; 8];
    keys.iter().for_each(|k| histogram[(k & 7) as usize] += 1);
    assert_eq!(i32s(&device[1]), histogram);
    // Sums of integers below 2²⁴ are exact in any order.
    assert_eq!(bytes_f32(&device[2]), [keys.iter().sum::<i32>() as f32]);
    assert_eq!(i32s(&device[3]), [*keys.iter().max().unwrap(), 96]);
    let mut tickets = i32s(&device[4]);
    tickets.sort_unstable();
    assert_eq!(tickets, (0..96).collect::<Vec<_>>());
}

#[test]
fn sixteen_bit_floats_round_to_even() {
    let mut rng = fastrand::Rng::with_seed(15);
    // Any finite half, and a scale with a long fraction, so that nothing is exact.
    let halves: Vec<u8> = (0..64).flat_map(|_| (rng.u16(..) & 0xbbff).to_le_bytes()).collect();
    let scale: Vec<u8> = [0x3f9du16, 0x4049].iter().flat_map(|v| v.to_le_bytes()).collect();
    let data = vec![halves, scale, vec![0; 128], vec![0; 128], vec![0; 64]];
    let Some([device, oracle]) = both(&checked(programs::half_storage()), bind_data(data)) else { return };
    assert_eq!(device, oracle);
    assert!(device[2].iter().any(|b| *b != 0) && device[3].iter().any(|b| *b != 0));
}

#[test]
fn lanes_outside_are_zero_and_not_written() {
    let program = checked(programs::symbolic_shift());
    let mut rng = fastrand::Rng::with_seed(16);
    for (rows, columns) in [(1, 1), (3, 37), (2, 32), (5, 3), (4, 64)] {
        let x = floats(&mut rng, rows * columns);
        let sizes = BTreeMap::from([("rows".into(), rows as i64), ("columns".into(), columns as i64)]);
        let bindings = Bindings { sizes, data: vec![f32_bytes(&x), f32_bytes(&vec![f32::NAN; rows * columns])] };
        let Some([device, oracle]) = both(&program, bindings) else { return };
        assert_eq!(device, oracle, "{rows} x {columns}");
        let expected = |i: usize| if i % columns < 3 { 0.0 } else { 2.0 * x[i - 3] };
        assert_eq!(bytes_f32(&device[1]), (0..rows * columns).map(expected).collect::<Vec<_>>());
    }
}

#[test]
fn folded_axes_cover_everything_once() {
    let count = 2 * 3 * 2 * 3 * 2 * 2 * 3 * 2;
    let Some([device, oracle]) = both(&checked(programs::many_axes()), bind_data(vec![vec![0xff; count * 4]])) else { return };
    assert_eq!(device, oracle);
    assert!(i32s(&device[0]).iter().all(|v| *v >= 0));
}

#[test]
fn control_flow_equals_the_interpreter() {
    let mut rng = fastrand::Rng::with_seed(17);
    for _ in 0..4 {
        let x: Vec<i32> = (0..16).map(|_| rng.i32(0..20)).collect();
        let flags: Vec<i32> = (0..8).map(|i| x[i + rng.usize(0..2)]).collect();
        let data = vec![i32_bytes(&x), i32_bytes(&flags), vec![0; 32]];
        let Some([device, oracle]) = both(&checked(programs::control_flow()), bind_data(data)) else { return };
        assert_eq!(device, oracle);
    }
}

/// Random expressions over every register type and width.
struct Fuzz {
    rng: fastrand::Rng,
}

const TYPES: [(Scalar, &str); 7] = [
    (Scalar::I32, "i"),
    (Scalar::U32, "u"),
    (Scalar::I64, "il"),
    (Scalar::U64, "ul"),
    (Scalar::F32, "f"),
    (Scalar::F64, "d"),
    (Scalar::Bool, "b"),
];

impl Fuzz {
    fn expr(&mut self, ty: Type, depth: u32) -> Expr {
        if depth == 0 || self.rng.u32(0..8) == 0 {
            return self.leaf(ty);
        }
        let d = depth - 1;
        match self.rng.u32(0..12) {
            0..=3 => self.arithmetic(ty, d),
            4 => {
                let (condition, a, b) = (self.expr(Type { scalar: Scalar::Bool, ..ty }, d), self.expr(ty, d), self.expr(ty, d));
                select(condition, a, b)
            }
            5 | 6 => {
                let from = self.scalar();
                cast(ty.scalar, self.expr(Type { scalar: from, ..ty }, d))
            }
            7 if ty.width == 1 => {
                let (v, i) = (self.expr(Type { width: 4, ..ty }, d), self.expr(Type::scalar(Scalar::I32), d));
                lane(v, bin(BinaryOp::And, i, int(3)))
            }
            7 => splat(self.expr(Type { width: 1, ..ty }, d), ty.width),
            8 if ty.width.is_multiple_of(2) => {
                let half = Type { width: ty.width / 2, ..ty };
                Expr::Concat(vec![self.expr(half, d), self.expr(half, d)])
            }
            8 | 9 if ty.width <= 8 => {
                let wide = if ty.width <= 4 { 8 } else { 16 };
                slice(self.expr(Type { width: wide, ..ty }, d), self.rng.u8(0..=wide - ty.width), ty.width)
            }
            10 if ty.scalar == Scalar::Bool => {
                let op = *self.rng.choice(&[BinaryOp::Lt, BinaryOp::Le, BinaryOp::Eq, BinaryOp::Ne]).unwrap();
                let of = Type { scalar: TYPES[self.rng.usize(0..6)].0, ..ty };
                bin(op, self.expr(of, d), self.expr(of, d))
            }
            10 if ty.scalar.is_float() => fma(self.expr(ty, d), self.expr(ty, d), self.expr(ty, d)),
            _ => self.unary(ty, d),
        }
    }

    fn arithmetic(&mut self, ty: Type, d: u32) -> Expr {
        use BinaryOp::*;
        let ops: &[BinaryOp] = match ty.scalar {
            Scalar::Bool => &[And, Or, Xor, Eq, Ne],
            Scalar::F32 | Scalar::F64 => &[Add, Sub, Mul, Min, Max],
            _ => &[Add, Sub, Mul, Min, Max, And, Or, Xor, Shl, Shr, Div, Rem],
        };
        let op = *self.rng.choice(ops).unwrap();
        let a = self.expr(ty, d);
        // Divisors are positive constants: division by zero is an error.
        let b = if matches!(op, Div | Rem) { splat(self.constant(ty.scalar, 1..9), ty.width) } else { self.expr(ty, d) };
        bin(op, a, b)
    }

    fn unary(&mut self, ty: Type, d: u32) -> Expr {
        use UnaryOp::*;
        let ops: &[UnaryOp] = match ty.scalar {
            Scalar::Bool => &[Not],
            Scalar::F32 | Scalar::F64 => &[Neg, Abs, Floor, Ceil],
            _ => &[Neg, Not, Abs],
        };
        let op = *self.rng.choice(ops).unwrap();
        Expr::unary(op, self.expr(ty, d))
    }

    fn scalar(&mut self) -> Scalar {
        TYPES[self.rng.usize(0..TYPES.len())].0
    }

    fn constant(&mut self, scalar: Scalar, range: std::ops::Range<i64>) -> Expr {
        let v = self.rng.i64(range);
        Expr::Const(match scalar {
            Scalar::Bool => Const::Bool(v % 2 == 0),
            Scalar::I32 => Const::I32(v as i32),
            Scalar::U32 => Const::U32(v as u32),
            Scalar::I64 => Const::I64(v),
            Scalar::U64 => Const::U64(v as u64),
            Scalar::F64 => Const::F64(v as f64 * 0.1),
            _ => Const::F32(v as f32 * 0.1),
        })
    }

    fn leaf(&mut self, ty: Type) -> Expr {
        let name = TYPES.iter().find(|t| t.0 == ty.scalar).expect("listed").1;
        match self.rng.u32(0..4) {
            0 => splat(self.constant(ty.scalar, -20..20), ty.width),
            1 => {
                // Partly outside, so that guards matter.
                let at = add(var("l"), int(self.rng.i64(-20..60)));
                let bound = if self.rng.bool() { each(at.clone(), int(64)) } else { whole(at.clone(), int(i64::from(64 - ty.width + 1))) };
                load_if(name, &[at], ty.width, &[bound])
            }
            _ => load(name, &[add(var("l"), int(self.rng.i64(0..40)))], ty.width),
        }
    }

    /// Bytes of 64 elements: small and extreme values.
    fn data(&mut self, scalar: Scalar) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..64 {
            let v = match self.rng.u32(0..6) {
                0 => *self.rng.choice(&[i64::MIN, i64::MAX, -1, 0, i32::MIN.into(), i32::MAX.into(), u32::MAX.into()]).unwrap(),
                1 => self.rng.i64(..),
                _ => self.rng.i64(-100..100),
            };
            match scalar {
                Scalar::Bool => bytes.push((v & 1) as u8),
                Scalar::I32 | Scalar::U32 => bytes.extend((v as i32).to_le_bytes()),
                Scalar::I64 | Scalar::U64 => bytes.extend(v.to_le_bytes()),
                Scalar::F64 => bytes.extend((v as f64 * 0.37).to_le_bytes()),
                _ => bytes.extend((v as f32 * 0.37).to_le_bytes()),
            }
        }
        bytes
    }
}

/// Bytes with one NaN and one zero: which NaN an operation gives, and which zero a minimum, is not defined.
fn canonical(scalar: Scalar, bytes: &[u8]) -> Vec<u8> {
    match scalar {
        Scalar::F32 => {
            let same = |v: f32| if v.is_nan() { f32::NAN } else { v + 0.0 };
            f32_bytes(&bytes_f32(bytes).into_iter().map(same).collect::<Vec<_>>())
        }
        Scalar::F64 => {
            let same = |v: f64| if v.is_nan() { f64::NAN } else { v + 0.0 };
            bytes.as_chunks::<8>().0.iter().flat_map(|b| same(f64::from_le_bytes(*b)).to_le_bytes()).collect()
        }
        _ => bytes.to_vec(),
    }
}

#[test]
fn random_expressions_equal_the_interpreter() {
    // SEEDS=200 looks further.
    let seeds = std::env::var("SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(12);
    for seed in 0..seeds {
        let mut fuzz = Fuzz { rng: fastrand::Rng::with_seed(seed) };
        let mut params: Vec<Param> = TYPES.iter().map(|(scalar, name)| input(name, *scalar, &[64])).collect();
        let mut data: Vec<Vec<u8>> = TYPES.iter().map(|t| fuzz.data(t.0)).collect();
        let mut body = Vec::new();
        let mut outputs = Vec::new();
        for n in 0..8 {
            let ty = Type { scalar: fuzz.scalar(), width: *fuzz.rng.choice(&WIDTHS).unwrap() };
            let (name, elements) = (format!("out{n}"), 8 * i64::from(ty.width));
            params.push(output(&name, ty.scalar, &[elements]));
            data.push(vec![0; elements as usize * ty.scalar.bytes() as usize]);
            outputs.push(ty.scalar);
            let at = mul(var("l"), int(ty.width.into()));
            let value = fuzz.expr(ty, 4);
            // Some stores are ragged.
            let guard = if fuzz.rng.bool() { vec![each(at.clone(), int(elements - fuzz.rng.i64(0..3)))] } else { vec![] };
            body.push(store_if(&name, &[at], value, &guard));
        }
        let program = checked(program("fuzz", params, launch(&[], &[("l", 8)]), body));
        let Some([device, oracle]) = both(&program, bind_data(data)) else { return };
        for (n, scalar) in outputs.into_iter().enumerate() {
            let (device, oracle) = (canonical(scalar, &device[TYPES.len() + n]), canonical(scalar, &oracle[TYPES.len() + n]));
            assert_eq!(device, oracle, "seed {seed}, out{n}: {}\n{}", scalar.name(), opencl(&program).unwrap().text);
        }
    }
}
