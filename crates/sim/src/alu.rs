//! Arithmetic on rows. What each operation gives is the IR's semantics; the frequent ones are loops that a compiler vectorises.

use crate::code::{Alu, AluOp, FaultKind, HalfOp, Mask, Reg, Row, SHARED, Wide, WideOp};
use crate::fault::LaneFault;
use crate::halves;
use warpsight_ir::interpret as arith;
use warpsight_ir::{BinaryOp, Const, Scalar, UnaryOp};

/// Executes instructions for one wave. Inactive lanes get values too, except by `Merge`: nothing reads them.
///
/// Inlined into what an instruction set is chosen for: with it, `mul_add` is one machine instruction.
#[inline(always)]
pub fn run<const W: usize>(
    instructions: &[Alu],
    wide: &[Wide],
    shared: &[Row<W>],
    rows: &mut [Row<W>],
    mask: Mask,
) -> Result<(), LaneFault> {
    let mut rows = Rows { own: rows, shared };
    for alu in instructions {
        match alu.op {
            AluOp::Wide(at) => rows.wide(&wide[at as usize], mask)?,
            AluOp::Binary(BinaryOp::Div | BinaryOp::Rem, scalar) if scalar.is_int() => rows.divide(alu, mask)?,
            _ => rows.execute(alu, mask),
        }
    }
    Ok(())
}

/// The rows of a wave and those of all.
struct Rows<'a, const W: usize> {
    own: &'a mut [Row<W>],
    shared: &'a [Row<W>],
}

impl<const W: usize> Rows<'_, W> {
    #[inline(always)]
    fn get(&self, r: Reg) -> &Row<W> {
        if r & SHARED != 0 { &self.shared[usize::from(r & !SHARED)] } else { &self.own[usize::from(r)] }
    }
    #[inline(always)]
    fn map1(&mut self, alu: &Alu, f: impl Fn(u32) -> u32) {
        let (a, mut out) = (self.get(alu.a), [0; W]);
        for lane in 0..W {
            out[lane] = f(a[lane]);
        }
        self.own[usize::from(alu.dst)] = out;
    }
    #[inline(always)]
    fn map2(&mut self, alu: &Alu, f: impl Fn(u32, u32) -> u32) {
        let (a, b, mut out) = (self.get(alu.a), self.get(alu.b), [0; W]);
        for lane in 0..W {
            out[lane] = f(a[lane], b[lane]);
        }
        self.own[usize::from(alu.dst)] = out;
    }
    #[inline(always)]
    fn map3(&mut self, alu: &Alu, f: impl Fn(u32, u32, u32) -> u32) {
        let (a, b, c, mut out) = (self.get(alu.a), self.get(alu.b), self.get(alu.c), [0; W]);
        for lane in 0..W {
            out[lane] = f(a[lane], b[lane], c[lane]);
        }
        self.own[usize::from(alu.dst)] = out;
    }
    #[inline(always)]
    fn float1(&mut self, alu: &Alu, f: impl Fn(f32) -> f32) {
        self.map1(alu, |a| f(f32::from_bits(a)).to_bits());
    }
    #[inline(always)]
    fn float2(&mut self, alu: &Alu, f: impl Fn(f32, f32) -> f32) {
        self.map2(alu, |a, b| f(f32::from_bits(a), f32::from_bits(b)).to_bits());
    }
    #[inline(always)]
    fn compare(&mut self, alu: &Alu, f: impl Fn(f32, f32) -> bool) {
        self.map2(alu, |a, b| f(f32::from_bits(a), f32::from_bits(b)).into());
    }

    #[inline(always)]
    fn execute(&mut self, alu: &Alu, mask: Mask) {
        use BinaryOp as B;
        match alu.op {
            AluOp::Fma => self.map3(alu, |a, b, c| f32::from_bits(a).mul_add(f32::from_bits(b), f32::from_bits(c)).to_bits()),
            AluOp::Mov => self.map1(alu, |a| a),
            AluOp::Merge => {
                let a = *self.get(alu.a);
                merge(&mut self.own[usize::from(alu.dst)], &a, mask);
            }
            AluOp::Select => self.map3(alu, |a, b, c| if c != 0 { a } else { b }),
            AluOp::Binary(op, Scalar::F32) => match op {
                B::Add => self.float2(alu, |a, b| a + b),
                B::Sub => self.float2(alu, |a, b| a - b),
                B::Mul => self.float2(alu, |a, b| a * b),
                B::Div => self.float2(alu, |a, b| a / b),
                B::Rem => self.float2(alu, |a, b| a % b),
                B::Min => self.float2(alu, arith::smaller),
                B::Max => self.float2(alu, arith::larger),
                B::Lt => self.compare(alu, |a, b| a < b),
                B::Le => self.compare(alu, |a, b| a <= b),
                B::Eq => self.compare(alu, |a, b| a == b),
                B::Ne => self.compare(alu, |a, b| a != b),
                B::And | B::Or | B::Xor | B::Shl | B::Shr => {}
            },
            AluOp::Binary(op, scalar) => {
                let signed = scalar == Scalar::I32;
                match op {
                    B::Add => self.map2(alu, u32::wrapping_add),
                    B::Sub => self.map2(alu, u32::wrapping_sub),
                    B::Mul => self.map2(alu, u32::wrapping_mul),
                    B::And => self.map2(alu, |a, b| a & b),
                    B::Or => self.map2(alu, |a, b| a | b),
                    B::Xor => self.map2(alu, |a, b| a ^ b),
                    B::Shl => self.map2(alu, |a, b| a << (b & 31)),
                    B::Shr if signed => self.map2(alu, |a, b| (a as i32 >> (b & 31)) as u32),
                    B::Shr => self.map2(alu, |a, b| a >> (b & 31)),
                    B::Min if signed => self.map2(alu, |a, b| (a as i32).min(b as i32) as u32),
                    B::Min => self.map2(alu, u32::min),
                    B::Max if signed => self.map2(alu, |a, b| (a as i32).max(b as i32) as u32),
                    B::Max => self.map2(alu, u32::max),
                    B::Lt if signed => self.map2(alu, |a, b| u32::from((a as i32) < b as i32)),
                    B::Lt => self.map2(alu, |a, b| u32::from(a < b)),
                    B::Le if signed => self.map2(alu, |a, b| u32::from(a as i32 <= b as i32)),
                    B::Le => self.map2(alu, |a, b| u32::from(a <= b)),
                    B::Eq => self.map2(alu, |a, b| u32::from(a == b)),
                    B::Ne => self.map2(alu, |a, b| u32::from(a != b)),
                    B::Div | B::Rem => {} // by `divide`
                }
            }
            AluOp::Half { op, .. } => self.half(alu, op, mask),
            AluOp::Unary(op, Scalar::F32) => match op {
                UnaryOp::Neg => self.map1(alu, |a| a ^ 0x8000_0000),
                UnaryOp::Abs => self.map1(alu, |a| a & 0x7fff_ffff),
                UnaryOp::Floor => self.float1(alu, f32::floor),
                UnaryOp::Ceil => self.float1(alu, f32::ceil),
                UnaryOp::Sqrt => self.float1(alu, f32::sqrt),
                _ => self.function(alu, op, mask, |v| v as f32),
            },
            AluOp::Unary(op, scalar) => match (op, scalar) {
                (UnaryOp::Not, Scalar::Bool) => self.map1(alu, |a| a ^ 1),
                (UnaryOp::Not, _) => self.map1(alu, |a| !a),
                (UnaryOp::Neg, _) => self.map1(alu, u32::wrapping_neg),
                (UnaryOp::Abs, Scalar::I32) => self.map1(alu, |a| (a as i32).wrapping_abs() as u32),
                _ => self.map1(alu, |a| a),
            },
            AluOp::Cast(from, to) => match (from, to) {
                (Scalar::I32, Scalar::F32) => self.map1(alu, |a| (a as i32 as f32).to_bits()),
                (Scalar::U32, Scalar::F32) => self.map1(alu, |a| (a as f32).to_bits()),
                (Scalar::F32, Scalar::I32) => self.map1(alu, |a| f32::from_bits(a) as i32 as u32),
                (Scalar::F32, Scalar::U32) => self.map1(alu, |a| f32::from_bits(a) as u32),
                (Scalar::Bool, Scalar::I32 | Scalar::U32) | (Scalar::Half, Scalar::F32) => self.map1(alu, |a| a),
                (Scalar::F32, Scalar::Half) => self.float1(alu, halves::nearest),
                _ => {
                    let a = *self.get(alu.a);
                    let dst = &mut self.own[usize::from(alu.dst)];
                    for lane in 0..W {
                        dst[lane] = crate::code::bits(arith::cast(to, literal(from, [a[lane], 0])))[0];
                    }
                }
            },
            AluOp::Round(to) => self.float1(alu, |a| round(to, a)),
            AluOp::Wide(_) => {}
        }
    }

    /// Half precision: what is computed of the same numbers as `f32`, rounded. Of sums, products, quotients and roots that is as if rounded once.
    #[inline(never)]
    fn half(&mut self, alu: &Alu, op: HalfOp, mask: Mask) {
        use BinaryOp as B;
        let of = |op| Alu { op, ..*alu };
        match op {
            HalfOp::Binary(B::Add) => self.float2(alu, |a, b| halves::nearest(a + b)),
            HalfOp::Binary(B::Sub) => self.float2(alu, |a, b| halves::nearest(a - b)),
            HalfOp::Binary(B::Mul) => self.float2(alu, |a, b| halves::nearest(a * b)),
            HalfOp::Binary(B::Div) => self.float2(alu, |a, b| halves::nearest(a / b)),
            HalfOp::Fma => {
                self.map3(alu, |a, b, c| halves::fma(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c)).to_bits());
            }
            // Nothing is rounded.
            HalfOp::Binary(op) => self.execute(&of(AluOp::Binary(op, Scalar::F32)), mask),
            HalfOp::Unary(op @ (UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Floor | UnaryOp::Ceil)) => {
                self.execute(&of(AluOp::Unary(op, Scalar::F32)), mask);
            }
            HalfOp::Unary(UnaryOp::Sqrt) => self.float1(alu, |a| halves::nearest(a.sqrt())),
            HalfOp::Unary(op) => self.function(alu, op, mask, |v| arith::rounded(Scalar::F16, v) as f32),
        }
    }

    /// Functions without a machine instruction, computed for active lanes only and then rounded.
    #[inline(never)]
    fn function(&mut self, alu: &Alu, op: UnaryOp, mask: Mask, rounded: impl Fn(f64) -> f32) {
        let f: fn(f64) -> f64 = match op {
            UnaryOp::Exp => libm::exp,
            UnaryOp::Log => libm::log,
            UnaryOp::Tanh => libm::tanh,
            UnaryOp::Sin => libm::sin,
            UnaryOp::Cos => libm::cos,
            UnaryOp::Erf => libm::erf,
            _ => |x| 1.0 / x.sqrt(),
        };
        let a = *self.get(alu.a);
        let dst = &mut self.own[usize::from(alu.dst)];
        for lane in lanes(mask) {
            dst[lane] = rounded(f(number(a[lane]))).to_bits();
        }
    }

    /// Integer quotients and remainders.
    #[inline(never)]
    fn divide(&mut self, alu: &Alu, mask: Mask) -> Result<(), LaneFault> {
        let (a, b) = (*self.get(alu.a), *self.get(alu.b));
        let dst = &mut self.own[usize::from(alu.dst)];
        for lane in lanes(mask) {
            let (a, b) = (a[lane], b[lane]);
            if b == 0 {
                return Err((lane, FaultKind::DivisionByZero));
            }
            dst[lane] = match alu.op {
                AluOp::Binary(BinaryOp::Div, Scalar::I32) => (a as i32).wrapping_div(b as i32) as u32,
                AluOp::Binary(BinaryOp::Rem, Scalar::I32) => (a as i32).wrapping_rem(b as i32) as u32,
                AluOp::Binary(BinaryOp::Div, _) => a / b,
                _ => a % b,
            };
        }
        Ok(())
    }

    /// Values of 64 bits, one lane at a time by the interpreter's arithmetic.
    #[inline(never)]
    fn wide(&mut self, wide: &Wide, mask: Mask) -> Result<(), LaneFault> {
        for lane in lanes(mask) {
            let at = |arg: usize| [self.get(wide.args[arg][0])[lane], self.get(wide.args[arg][1])[lane]];
            let result = match wide.op {
                WideOp::Unary(op, s) => arith::unary(op, literal(s, at(0))),
                WideOp::Binary(op, s) => arith::binary(op, literal(s, at(0)), literal(s, at(1))),
                WideOp::Fma => arith::fma(literal(Scalar::F64, at(0)), literal(Scalar::F64, at(1)), literal(Scalar::F64, at(2))),
                WideOp::Cast(from, to) => Ok(arith::cast(to, literal(from, at(0)))),
            };
            // A validated Program has operands of the right types, so only a division can fail.
            let [low, high] = crate::code::bits(result.map_err(|_| (lane, FaultKind::DivisionByZero))?);
            self.own[usize::from(wide.dst[0])][lane] = low;
            if wide.dst[1] != wide.dst[0] {
                self.own[usize::from(wide.dst[1])][lane] = high;
            }
        }
        Ok(())
    }
}

/// Gives lanes of the mask what another row holds.
#[inline(always)]
pub fn merge<const W: usize>(to: &mut Row<W>, from: &Row<W>, mask: Mask) {
    if mask == full::<W>() {
        *to = *from;
        return;
    }
    let halves = [mask as u64, (mask >> 64) as u64];
    for lane in 0..W {
        to[lane] = if halves[lane / 64] >> (lane % 64) & 1 != 0 { from[lane] } else { to[lane] };
    }
}

/// All lanes of a row.
pub const fn full<const W: usize>() -> Mask {
    if W == 128 { Mask::MAX } else { (1 << W) - 1 }
}

/// Calls `f` with each active lane of a row, in order.
#[inline(always)]
pub fn each<const W: usize>(mask: Mask, mut f: impl FnMut(usize)) {
    if mask == full::<W>() {
        (0..W).for_each(f);
    } else {
        lanes(mask).for_each(|lane| f(lane % W));
    }
}

/// The active lanes.
#[inline(always)]
pub fn lanes(mask: Mask) -> impl Iterator<Item = usize> {
    let half = |mut mask: u64, first: usize| {
        std::iter::from_fn(move || {
            (mask != 0).then(|| {
                let lane = mask.trailing_zeros() as usize;
                mask &= mask - 1;
                first + lane
            })
        })
    };
    half(mask as u64, 0).chain(half((mask >> 64) as u64, 64))
}

/// The lanes below `W` of which something holds.
#[inline(always)]
pub fn which<const W: usize>(holds: impl Fn(usize) -> bool) -> Mask {
    // A byte of each lane, which vector units compare at once; then eight bytes to eight bits by a product that moves each to its place.
    let bytes: [u8; W] = std::array::from_fn(|lane| u8::from(holds(lane)));
    let bits = |eight: &[u8; 8]| u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let half = |bytes: &[u8]| bytes.as_chunks().0.iter().enumerate().fold(0, |mask, (i, eight)| mask | bits(eight) << (8 * i));
    Mask::from(half(&bytes[..W.min(64)])) | if W > 64 { Mask::from(half(&bytes[64..])) << 64 } else { 0 }
}

/// Lanes whose row is not zero.
#[inline(always)]
pub fn truth<const W: usize>(row: &Row<W>) -> Mask {
    which::<W>(|lane| row[lane] != 0)
}

/// The number in a register of `f32`.
#[inline(always)]
fn number(bits: u32) -> f64 {
    f32::from_bits(bits).into()
}

/// The value of a register.
pub fn literal(scalar: Scalar, [low, high]: [u32; 2]) -> Const {
    let both = u64::from(high) << 32 | u64::from(low);
    match scalar {
        Scalar::Bool => Const::Bool(low != 0),
        Scalar::I32 => Const::I32(low as i32),
        Scalar::U32 => Const::U32(low),
        Scalar::I64 => Const::I64(both as i64),
        Scalar::U64 => Const::U64(both),
        Scalar::Half => Const::Half(half::f16::from_f32(f32::from_bits(low))),
        Scalar::F16 | Scalar::Bf16 | Scalar::F32 => Const::F32(f32::from_bits(low)),
        Scalar::F64 => Const::F64(f64::from_bits(both)),
    }
}

/// To the nearest value of a 16-bit storage type.
#[inline(always)]
pub fn round(to: Scalar, v: f32) -> f32 {
    match to {
        Scalar::F16 => halves::nearest(v),
        Scalar::Bf16 => half::bf16::from_f32(v).to_f32(),
        _ => v,
    }
}
