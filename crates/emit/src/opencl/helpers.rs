//! Functions and samplers written before the kernel, each only where it is used.

use super::words::Vocabulary;
use crate::clike::Words;
use warpsight_ir::{Border, Scalar, Space, Type};

/// Something a kernel needs besides itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Helper {
    /// Reads outside give zero.
    SamplerZero,
    /// Reads outside give the nearest texel.
    SamplerEdge,
    /// Nothing is read outside.
    SamplerNone,
    /// `f32` to half precision and back; lanes.
    RoundHalf(u8),
    /// Halves from any place of global memory, or of local memory, on; lanes.
    LoadHalf(bool, u8),
    /// Halves to any place there; lanes.
    StoreHalf(bool, u8),
    /// `f32` to the bits of a bfloat16; lanes.
    PackBf16(u8),
    /// `f32` to bfloat16 and back; lanes.
    RoundBf16(u8),
    /// The smaller of two floats, NaN where either is; of a type, lanes.
    Smaller(Scalar, u8),
    /// The larger, likewise.
    Larger(Scalar, u8),
    /// Indivisible addition of `f32` in global memory.
    AtomicAddGlobal,
    /// Indivisible addition of `f32` in local memory.
    AtomicAddLocal,
}

/// What PoCL compiles, which says so by a macro of its own, and what others do.
fn of_pocl(own: &str, others: &str) -> String {
    format!("#ifdef POCL_DEVICE_ADDRESS_BITS\n{own}#else\n{others}#endif\n")
}

impl Helper {
    /// The sampler of a border rule.
    pub fn sampler(border: Border) -> Self {
        match border {
            Border::Zero => Self::SamplerZero,
            Border::ClampToEdge => Self::SamplerEdge,
            Border::None => Self::SamplerNone,
        }
    }

    /// The `f32` addition of a space.
    pub fn atomic_add(space: Space) -> Self {
        if space == Space::Local { Self::AtomicAddLocal } else { Self::AtomicAddGlobal }
    }

    /// What it is called.
    pub fn name(self) -> String {
        let lanes = |width: u8| if width == 1 { String::new() } else { width.to_string() };
        match self {
            Self::SamplerZero => "ws_border_zero".to_owned(),
            Self::SamplerEdge => "ws_border_edge".to_owned(),
            Self::SamplerNone => "ws_border_none".to_owned(),
            Self::RoundHalf(width) => format!("ws_round_half{}", lanes(width)),
            Self::LoadHalf(local, width) => format!("ws_load_half{width}{}", if local { "_local" } else { "" }),
            Self::StoreHalf(local, width) => format!("ws_store_half{width}{}", if local { "_local" } else { "" }),
            Self::PackBf16(width) => format!("ws_pack_bf16_{width}"),
            Self::RoundBf16(width) => format!("ws_round_bf16_{width}"),
            Self::Smaller(scalar, width) => format!("ws_min_{}", Vocabulary::type_name(Type::vector(scalar, width))),
            Self::Larger(scalar, width) => format!("ws_max_{}", Vocabulary::type_name(Type::vector(scalar, width))),
            Self::AtomicAddGlobal => "ws_atomic_add_global".to_owned(),
            Self::AtomicAddLocal => "ws_atomic_add_local".to_owned(),
        }
    }

    /// Its definition.
    pub fn text(self) -> String {
        let name = self.name();
        let ty = |scalar, width| Vocabulary::type_name(Type::vector(scalar, width));
        let lanes = |width: u8| if width == 1 { String::new() } else { width.to_string() };
        match self {
            Self::SamplerZero => sampler(&name, "CLK_ADDRESS_CLAMP"),
            Self::SamplerEdge => sampler(&name, "CLK_ADDRESS_CLAMP_TO_EDGE"),
            Self::SamplerNone => sampler(&name, "CLK_ADDRESS_NONE"),
            Self::RoundHalf(width) => {
                let (float, n) = (ty(Scalar::F32, width), lanes(width));
                format!(
                    "{float} {name}({float} value)\n{{\n    ushort bits[{width}];\n    vstore_half{n}_rte(value, 0, (__private half*)bits);\n    \
                     return vload_half{n}(0, (const __private half*)bits);\n}}\n"
                )
            }
            Self::LoadHalf(local, width) => {
                let space = if local { "__local" } else { "__global" };
                let bits = format!(
                    "    const ushort{width} bits = vload{width}(0, (const {space} ushort*)from);\n    \
                     return vload_half{width}(0, (const __private half*)&bits);\n"
                );
                let plain = format!("    return vload_half{width}(0, from);\n");
                let head = format!("{} {name}(const {space} half* from)", ty(Scalar::F32, width));
                format!("{head}\n{{\n{}}}\n", of_pocl(&bits, &plain))
            }
            Self::StoreHalf(local, width) => {
                let space = if local { "__local" } else { "__global" };
                let bits = format!(
                    "    ushort{width} bits;\n    vstore_half{width}_rte(value, 0, (__private half*)&bits);\n    \
                     vstore{width}(bits, 0, ({space} ushort*)to);\n"
                );
                let plain = format!("    vstore_half{width}_rte(value, 0, to);\n");
                format!("void {name}({} value, {space} half* to)\n{{\n{}}}\n", ty(Scalar::F32, width), of_pocl(&bits, &plain))
            }
            Self::PackBf16(width) => {
                let (float, uint, n) = (ty(Scalar::F32, width), ty(Scalar::U32, width), lanes(width));
                // Adding just under half a unit carries into the kept bits where nearest-even rounds up; a NaN must not become infinite.
                format!(
                    "ushort{n} {name}({float} value)\n{{\n    const {uint} bits = as_{uint}(value);\n    \
                     const {uint} rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;\n    \
                     const {uint} quiet = (bits >> 16) | 0x40u;\n    \
                     return convert_ushort{n}({});\n}}\n",
                    if width == 1 { "isnan(value) ? quiet : rounded" } else { "select(rounded, quiet, isnan(value))" }
                )
            }
            Self::RoundBf16(width) => {
                let (float, uint) = (ty(Scalar::F32, width), ty(Scalar::U32, width));
                let pack = Self::PackBf16(width).name();
                format!("{float} {name}({float} value)\n{{\n    return as_{float}(convert_{uint}({pack}(value)) << 16);\n}}\n")
            }
            Self::Smaller(scalar, width) => extremum(&name, Type::vector(scalar, width), "<"),
            Self::Larger(scalar, width) => extremum(&name, Type::vector(scalar, width), ">"),
            Self::AtomicAddGlobal => atomic_add(&name, "__global"),
            Self::AtomicAddLocal => atomic_add(&name, "__local"),
        }
    }
}

fn sampler(name: &str, address: &str) -> String {
    format!("__constant sampler_t {name} = CLK_NORMALIZED_COORDS_FALSE | {address} | CLK_FILTER_NEAREST;\n")
}

/// `fmin` and `fmax` give the other operand where one is NaN. With a literal for `b` this is one comparison; where `a` is what a reduction has come
/// to, whether `b` is NaN is known before. Of vectors the choice within the choice is one instruction on x86 (`vmaxps`), where one of both conditions
/// together is four.
fn extremum(name: &str, ty: Type, sign: &str) -> String {
    let chosen = if ty.width == 1 { format!("b {sign} a || isnan(b) ? b : a") } else { format!("b == b ? (b {sign} a ? b : a) : b") };
    let ty = Vocabulary::type_name(ty);
    format!("{ty} {name}({ty} a, {ty} b)\n{{\n    return {chosen};\n}}\n")
}

/// OpenCL C 1.2 adds floats indivisibly by trying until nobody came between.
fn atomic_add(name: &str, space: &str) -> String {
    format!(
        "float {name}(volatile {space} float* at, float value)\n{{\n    volatile {space} uint* bits = (volatile {space} uint*)at;\n    \
         uint seen, found = *bits;\n    do {{\n        seen = found;\n        \
         found = atomic_cmpxchg(bits, seen, as_uint(as_float(seen) + value));\n    }} while (found != seen);\n    return as_float(seen);\n}}\n"
    )
}
