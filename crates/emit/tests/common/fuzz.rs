//! Random Programs without loops: expressions over every register type and width.

use super::programs::*;
use warpsight_ir::data::{bytes_f32, f32_bytes};
use warpsight_ir::*;

/// Random expressions over every register type and width.
struct Fuzz {
    rng: fastrand::Rng,
    types: &'static [(Scalar, &'static str)],
}

/// Every register type, and what its input is called.
const TYPES: [(Scalar, &str); 8] = [
    (Scalar::I32, "i"),
    (Scalar::U32, "u"),
    (Scalar::I64, "il"),
    (Scalar::U64, "ul"),
    (Scalar::F32, "f"),
    (Scalar::F64, "d"),
    (Scalar::Bool, "b"),
    // Last: not every device has it.
    (Scalar::Half, "h"),
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
                let scalar = std::iter::repeat_with(|| self.scalar()).find(|s| *s != Scalar::Bool).expect("most are none");
                let of = Type { scalar, ..ty };
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
            Scalar::Half | Scalar::F32 | Scalar::F64 => &[Add, Sub, Mul, Min, Max],
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
            Scalar::Half | Scalar::F32 | Scalar::F64 => &[Neg, Abs, Floor, Ceil],
            _ => &[Neg, Not, Abs],
        };
        let op = *self.rng.choice(ops).unwrap();
        Expr::unary(op, self.expr(ty, d))
    }

    fn scalar(&mut self) -> Scalar {
        self.types[self.rng.usize(0..self.types.len())].0
    }

    fn constant(&mut self, scalar: Scalar, range: std::ops::Range<i64>) -> Expr {
        let v = self.rng.i64(range);
        Expr::Const(match scalar {
            Scalar::Bool => Const::Bool(v % 2 == 0),
            Scalar::I32 => Const::I32(v as i32),
            Scalar::U32 => Const::U32(v as u32),
            Scalar::I64 => Const::I64(v),
            Scalar::U64 => Const::U64(v as u64),
            Scalar::Half => Const::Half(half::f16::from_f32(v as f32 * 0.1)),
            Scalar::F64 => Const::F64(v as f64 * 0.1),
            _ => Const::F32(v as f32 * 0.1),
        })
    }

    fn leaf(&mut self, ty: Type) -> Expr {
        let name = TYPES.iter().find(|t| t.0 == ty.scalar).expect("listed").1;
        let width = i64::from(ty.width);
        match self.rng.u32(0..5) {
            0 => splat(self.constant(ty.scalar, -20..20), ty.width),
            // Whole vectors of 64 elements, one for each of eight lanes or for all.
            4 if width <= 8 && self.rng.bool() => load(name, &[bin(BinaryOp::Mul, var("l"), int(width))], ty.width),
            4 => load(name, &[int(width * self.rng.i64(0..64 / width))], ty.width),
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
                Scalar::Half => bytes.extend(half::f16::from_f32(v as f32 * 0.37).to_le_bytes()),
                Scalar::F64 => bytes.extend((v as f64 * 0.37).to_le_bytes()),
                _ => bytes.extend((v as f32 * 0.37).to_le_bytes()),
            }
        }
        bytes
    }
}

/// Bytes with one NaN and one zero: which NaN an operation gives, and which zero a minimum, is not defined.
pub fn canonical(scalar: Scalar, bytes: &[u8]) -> Vec<u8> {
    match scalar {
        Scalar::F32 => {
            let same = |v: f32| if v.is_nan() { f32::NAN } else { v + 0.0 };
            f32_bytes(&bytes_f32(bytes).into_iter().map(same).collect::<Vec<_>>())
        }
        Scalar::Half => {
            let same = |v: half::f16| if v.is_nan() { half::f16::NAN } else { v + half::f16::ZERO };
            bytes.as_chunks::<2>().0.iter().flat_map(|b| same(half::f16::from_le_bytes(*b)).to_le_bytes()).collect()
        }
        Scalar::F64 => {
            let same = |v: f64| if v.is_nan() { f64::NAN } else { v + 0.0 };
            bytes.as_chunks::<8>().0.iter().flat_map(|b| same(f64::from_le_bytes(*b)).to_le_bytes()).collect()
        }
        _ => bytes.to_vec(),
    }
}

/// A Program that stores eight expressions, with `halves` among them or without, the data of its parameters, and the element types of its
/// outputs, which come last.
pub fn expressions(name: &str, seed: u64, halves: bool) -> (Checked, Vec<Vec<u8>>, Vec<Scalar>) {
    let types = if halves { &TYPES } else { TYPES.split_last().expect("eight").1 };
    let mut fuzz = Fuzz { rng: fastrand::Rng::with_seed(seed), types };
    let mut params: Vec<Param> = types.iter().map(|(scalar, name)| input(name, *scalar, &[64])).collect();
    let mut data: Vec<Vec<u8>> = types.iter().map(|t| fuzz.data(t.0)).collect();
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
    let program = checked(program(name, params, launch(&[], &[("l", 8)]), body));
    (program, data, outputs)
}
