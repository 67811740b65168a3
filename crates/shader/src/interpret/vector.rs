//! The extended instructions of `GLSL.std.450` that need a whole vector or matrix, in one lane.
//!
//! Arguments come as words one after the other; vectors of an instruction have equal lengths, so each finds its own by dividing.

use super::glsl::Ext;
use super::step::LaneFun;
use half::f16;

/// A floating point number in words.
trait Real:
    Copy
    + PartialOrd
    + std::ops::Neg<Output = Self>
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
{
    const CELLS: usize;
    fn of(x: f32) -> Self;
    fn get(from: &[u32], at: usize) -> Self;
    fn put(self, to: &mut [u32], at: usize);
    fn sqrt(self) -> Self;
    fn trunc(self) -> Self;
    fn frexp(self) -> (Self, i32);
}

impl Real for f32 {
    const CELLS: usize = 1;
    fn of(x: f32) -> Self {
        x
    }
    fn get(from: &[u32], at: usize) -> Self {
        Self::from_bits(from[at])
    }
    fn put(self, to: &mut [u32], at: usize) {
        to[at] = self.to_bits();
    }
    fn sqrt(self) -> Self {
        self.sqrt()
    }
    fn trunc(self) -> Self {
        self.trunc()
    }
    fn frexp(self) -> (Self, i32) {
        libm::frexpf(self)
    }
}

impl Real for f64 {
    const CELLS: usize = 2;
    fn of(x: f32) -> Self {
        Self::from(x)
    }
    fn get(from: &[u32], at: usize) -> Self {
        Self::from_bits(u64::from(from[2 * at]) | u64::from(from[2 * at + 1]) << 32)
    }
    fn put(self, to: &mut [u32], at: usize) {
        let bits = self.to_bits();
        (to[2 * at], to[2 * at + 1]) = (bits as u32, (bits >> 32) as u32);
    }
    fn sqrt(self) -> Self {
        self.sqrt()
    }
    fn trunc(self) -> Self {
        self.trunc()
    }
    fn frexp(self) -> (Self, i32) {
        libm::frexp(self)
    }
}

fn dot<R: Real>(a: &[u32], b: &[u32]) -> R {
    let n = a.len() / R::CELLS;
    (1..n).fold(R::get(a, 0) * R::get(b, 0), |sum, i| sum + R::get(a, i) * R::get(b, i))
}

fn length<R: Real>(args: &[u32], out: &mut [u32]) {
    dot::<R>(args, args).sqrt().put(out, 0);
}

fn distance<R: Real>(args: &[u32], out: &mut [u32]) {
    let (a, b) = args.split_at(args.len() / 2);
    let mut difference = [0; 8];
    let n = a.len() / R::CELLS;
    (0..n).for_each(|i| (R::get(a, i) - R::get(b, i)).put(&mut difference, i));
    length::<R>(&difference[..a.len()], out);
}

fn cross<R: Real>(args: &[u32], out: &mut [u32]) {
    let (a, b) = args.split_at(args.len() / 2);
    for (i, j, k) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
        (R::get(a, j) * R::get(b, k) - R::get(a, k) * R::get(b, j)).put(out, i);
    }
}

fn normalize<R: Real>(args: &[u32], out: &mut [u32]) {
    let length = dot::<R>(args, args).sqrt();
    (0..args.len() / R::CELLS).for_each(|i| (R::get(args, i) / length).put(out, i));
}

fn face_forward<R: Real>(args: &[u32], out: &mut [u32]) {
    let n = args.len() / 3;
    let back = dot::<R>(&args[2 * n..], &args[n..2 * n]) >= R::of(0.0);
    (0..n / R::CELLS).for_each(|i| {
        let x = R::get(args, i);
        (if back { -x } else { x }).put(out, i);
    });
}

fn reflect<R: Real>(args: &[u32], out: &mut [u32]) {
    let (i, n) = args.split_at(args.len() / 2);
    let twice = R::of(2.0) * dot::<R>(n, i);
    (0..i.len() / R::CELLS).for_each(|c| (R::get(i, c) - twice * R::get(n, c)).put(out, c));
}

/// Incident ray, normal, and the ratio of indices at the end.
fn refract<R: Real>(args: &[u32], out: &mut [u32]) {
    let (vectors, eta) = args.split_at(args.len() - R::CELLS);
    let (i, n) = vectors.split_at(vectors.len() / 2);
    let (eta, cosine, one) = (R::get(eta, 0), dot::<R>(n, i), R::of(1.0));
    let k = one - eta * eta * (one - cosine * cosine);
    for c in 0..i.len() / R::CELLS {
        let bent = if k < R::of(0.0) { R::of(0.0) } else { eta * R::get(i, c) - (eta * cosine + k.sqrt()) * R::get(n, c) };
        bent.put(out, c);
    }
}

/// The determinant of a matrix of `n` columns with some rows and columns left out.
fn minor<R: Real>(m: &[u32], n: usize, rows: &[usize], columns: &[usize]) -> R {
    let at = |r: usize, c: usize| R::get(m, columns[c] * n + rows[r]);
    match rows.len() {
        1 => at(0, 0),
        2 => at(0, 0) * at(1, 1) - at(1, 0) * at(0, 1),
        _ => {
            let mut sum = R::of(0.0);
            for c in 0..columns.len() {
                let rest = without(columns, c);
                let part = at(0, c) * minor::<R>(m, n, &rows[1..], &rest[..columns.len() - 1]);
                sum = if c % 2 == 0 { sum + part } else { sum - part };
            }
            sum
        }
    }
}

fn without(all: &[usize], index: usize) -> [usize; 4] {
    let mut out = [0; 4];
    all.iter().enumerate().filter(|(i, _)| *i != index).map(|(_, x)| *x).zip(&mut out).for_each(|(x, out)| *out = x);
    out
}

/// How many columns a square matrix of so many components has.
fn side(components: usize) -> usize {
    match components {
        4 => 2,
        9 => 3,
        _ => 4,
    }
}

fn determinant<R: Real>(args: &[u32], out: &mut [u32]) {
    let n = side(args.len() / R::CELLS);
    let all = [0, 1, 2, 3];
    minor::<R>(args, n, &all[..n], &all[..n]).put(out, 0);
}

fn inverse<R: Real>(args: &[u32], out: &mut [u32]) {
    let n = side(args.len() / R::CELLS);
    let all = [0, 1, 2, 3];
    let determinant = minor::<R>(args, n, &all[..n], &all[..n]);
    for c in 0..n {
        for r in 0..n {
            // The cofactor of the transposed place.
            let (rows, columns) = (without(&all[..n], c), without(&all[..n], r));
            let cofactor = minor::<R>(args, n, &rows[..n - 1], &columns[..n - 1]);
            let signed = if (r + c) % 2 == 0 { cofactor } else { -cofactor };
            (signed / determinant).put(out, c * n + r);
        }
    }
}

/// Fraction, then whole part.
fn modf<R: Real>(args: &[u32], out: &mut [u32]) {
    let n = args.len() / R::CELLS;
    for i in 0..n {
        let x = R::get(args, i);
        (x - x.trunc()).put(out, i);
        x.trunc().put(out, n + i);
    }
}

/// Significand, then exponent.
fn frexp<R: Real>(args: &[u32], out: &mut [u32]) {
    for i in 0..args.len() / R::CELLS {
        let (significand, exponent) = R::get(args, i).frexp();
        significand.put(out, i);
        out[args.len() + i] = exponent.cast_unsigned();
    }
}

fn pack<const N: usize, const BITS: u32>(args: &[u32], out: &mut [u32], one: fn(f32) -> u32) {
    out[0] = (0..N).fold(0, |word, i| word | (one(f32::from_bits(args[i])) & ((1 << BITS) - 1)) << (BITS * i as u32));
}

fn unpack<const N: usize, const BITS: u32>(args: &[u32], out: &mut [u32], one: fn(u32) -> f32) {
    (0..N).for_each(|i| out[i] = one(args[0] >> (BITS * i as u32) & ((1 << BITS) - 1)).to_bits());
}

fn snorm(x: f32, most: f32) -> u32 {
    ((x.clamp(-1.0, 1.0) * most).round_ties_even() as i32).cast_unsigned()
}

fn unorm(x: f32, most: f32) -> u32 {
    (x.clamp(0.0, 1.0) * most).round_ties_even() as u32
}

/// The function of a whole vector in one lane, where the instruction is one. `wide`: components have 64 bits.
pub(crate) fn lane(op: Ext, wide: bool) -> Option<LaneFun> {
    macro_rules! real {
        ($f:ident) => {
            if wide { $f::<f64> } else { $f::<f32> }
        };
    }
    Some(match op {
        Ext::Length => real!(length),
        Ext::Distance => real!(distance),
        Ext::Cross => real!(cross),
        Ext::Normalize => real!(normalize),
        Ext::FaceForward => real!(face_forward),
        Ext::Reflect => real!(reflect),
        Ext::Refract => real!(refract),
        Ext::Determinant => real!(determinant),
        Ext::MatrixInverse => real!(inverse),
        Ext::Modf | Ext::ModfStruct => real!(modf),
        Ext::Frexp | Ext::FrexpStruct => real!(frexp),
        Ext::PackSnorm4x8 => |a, o| pack::<4, 8>(a, o, |x| snorm(x, 127.0)),
        Ext::PackUnorm4x8 => |a, o| pack::<4, 8>(a, o, |x| unorm(x, 255.0)),
        Ext::PackSnorm2x16 => |a, o| pack::<2, 16>(a, o, |x| snorm(x, 32767.0)),
        Ext::PackUnorm2x16 => |a, o| pack::<2, 16>(a, o, |x| unorm(x, 65535.0)),
        Ext::PackHalf2x16 => |a, o| pack::<2, 16>(a, o, |x| u32::from(f16::from_f32(x).to_bits())),
        Ext::UnpackSnorm4x8 => |a, o| unpack::<4, 8>(a, o, |x| (f32::from(x as u8 as i8) / 127.0).clamp(-1.0, 1.0)),
        Ext::UnpackUnorm4x8 => |a, o| unpack::<4, 8>(a, o, |x| x as f32 / 255.0),
        Ext::UnpackSnorm2x16 => |a, o| unpack::<2, 16>(a, o, |x| (f32::from(x as u16 as i16) / 32767.0).clamp(-1.0, 1.0)),
        Ext::UnpackUnorm2x16 => |a, o| unpack::<2, 16>(a, o, |x| x as f32 / 65535.0),
        Ext::UnpackHalf2x16 => |a, o| unpack::<2, 16>(a, o, |x| f16::from_bits(x as u16).to_f32()),
        Ext::PackDouble2x32 | Ext::UnpackDouble2x32 => |a, o| o.copy_from_slice(a),
        _ => return None,
    })
}
