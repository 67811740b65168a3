//! What CUDA C++ says in its own way.

use super::tile::{self, Tiles, WARP};
use super::words::Vocabulary;
use crate::clike::text::{PRIMARY, Text, call};
use crate::clike::{Atomic, Dialect, Fenced, Image, Place, Result, Words, Writer, lacks};
use warpsight_ir::text::Word;
use warpsight_ir::{
    Access, Array, AtomicOp, BinaryOp, Expr, ImageFormat, ImageKind, Launch, Order, Program, Scalar, Scope, Space, Stmt, StorePolicy, Type,
    UnaryOp,
};

/// The most bytes that one access moves.
const WIDEST: u32 = 16;

/// The language, and what is known of the tiles of the Program.
pub(super) struct Cuda {
    pub tiles: Tiles,
}

impl Cuda {
    pub fn new(program: &Program) -> Result<Self> {
        Ok(Self { tiles: Tiles::of(program)? })
    }
}

impl Dialect for Cuda {
    const TARGET: &'static str = "CUDA C++";
    type Words = Vocabulary;

    fn head(name: &str, launch: &Launch) -> String {
        format!("extern \"C\" __global__ void __launch_bounds__({}) {name}(", launch.group_size())
    }
    /// Constant buffers are global memory: parameters cannot lie elsewhere. What is only read goes through the read-only cache.
    fn buffer(name: &str, space: Space, element: Scalar, access: Access) -> Option<String> {
        let element = Vocabulary::memory_name(element, false);
        match (space, access) {
            (Space::Constant, _) | (Space::Global, Access::Read) => Some(format!("const {element}* __restrict__ {name}")),
            (Space::Global, _) => Some(format!("{element}* __restrict__ {name}")),
            _ => None,
        }
    }
    /// The handle of a texture or surface object; the address of what lies row by row and is written, as surfaces lie over arrays only.
    fn image(name: &str, _kind: ImageKind, _access: Access) -> String {
        format!("const unsigned long long {name}")
    }
    fn pitch(width: &Expr) -> Option<Expr> {
        Some(super::linear_pitch(width.clone()))
    }
    fn group_id(dim: usize) -> String {
        format!("blockIdx.{}", ["x", "y", "z"][dim.min(2)])
    }
    fn lane_id(dim: usize) -> String {
        format!("threadIdx.{}", ["x", "y", "z"][dim.min(2)])
    }
    fn array(&mut self, array: &Array, name: &str) -> Result<Option<String>> {
        Ok(match array.space {
            Space::Local => Some(Self::elements(&format!("alignas({}) __shared__ ", self.shared_alignment()), array, name)),
            Space::Private => Some(Self::elements("", array, name)),
            Space::Tile => Some(format!("{} {name};", self.tiles.form(&array.name)?)),
            Space::Global | Space::Constant => None,
        })
    }

    fn splat(scalar: &Text, width: u8) -> Text {
        call(&format!("ws_splat<{width}>"), &[scalar], Type::vector(scalar.ty.scalar, width))
    }
    fn concat(parts: &[Text], ty: Type) -> Text {
        let codes: Vec<&str> = parts.iter().map(|part| part.code.as_str()).collect();
        let codes = codes.join(", ");
        if parts.iter().all(|part| part.ty.width == 1) {
            return Text::new(format!("{}{{{codes}}}", Vocabulary::type_name(ty)), PRIMARY, ty);
        }
        Text::new(format!("ws_concat<{}, {}>({codes})", Vocabulary::type_name(Type::scalar(ty.scalar)), ty.width), PRIMARY, ty)
    }
    fn slice(vector: &Text, start: u8, width: u8) -> Text {
        let ty = Type::vector(vector.ty.scalar, width);
        if width == 1 {
            return Text::new(format!("{}[{start}]", vector.at(PRIMARY)), PRIMARY, ty);
        }
        call(&format!("ws_slice<{start}, {width}>"), &[vector], ty)
    }
    fn lane(_writer: &mut Writer<'_, Self>, vector: &Text, lane: &Text) -> Text {
        call("ws_lane", &[vector, lane], Type::scalar(vector.ty.scalar))
    }
    fn set_lane(variable: &str, lane: u8, value: &Text) -> String {
        format!("{variable}[{lane}] = {};", value.code)
    }
    fn select(condition: &Text, a: &Text, b: &Text) -> Text {
        call("ws_select", &[condition, a, b], a.ty)
    }
    fn truths(_of: Type, comparison: Text) -> Text {
        comparison
    }

    fn fma(&self) -> &'static str {
        "ws_fma"
    }
    fn function(op: UnaryOp) -> String {
        format!("ws_{}", op.word())
    }
    fn function_of_two(&mut self, op: BinaryOp, ty: Type) -> Option<String> {
        let name = match op {
            BinaryOp::Rem if ty.scalar.is_float() => "ws_fmod",
            BinaryOp::Min => "ws_min",
            BinaryOp::Max => "ws_max",
            BinaryOp::Shl => "ws_shl",
            BinaryOp::Shr => "ws_shr",
            _ => return None,
        };
        Some(name.to_owned())
    }
    /// Signed and unsigned integers of one width convert into each other bit by bit.
    fn reinterpret(a: &Text, to: Scalar) -> Text {
        let ty = Type::vector(to, a.ty.width);
        if ty.width == 1 {
            return Vocabulary::as_type(a, ty);
        }
        call(&format!("ws_bits<{}>", Vocabulary::type_name(ty)), &[a], ty)
    }
    fn convert(a: &Text, to: Scalar) -> Text {
        let ty = Type::vector(to, a.ty.width);
        let exact = !to.is_int() || a.ty.scalar == Scalar::Bool || (a.ty.scalar, to) == (Scalar::I32, Scalar::I64);
        if ty.width == 1 && exact && to != Scalar::Bool {
            return Vocabulary::as_type(a, ty);
        }
        call(&format!("ws_cast<{}>", Vocabulary::type_name(Type::scalar(to))), &[a], ty)
    }
    fn rounded(&mut self, to: Scalar, a: &Text) -> Text {
        call(&format!("ws_round<{}>", Vocabulary::memory_name(to, false)), &[a], a.ty)
    }

    fn read(&mut self, place: &Place<'_>, width: u8) -> Text {
        let element = place.tensor.element;
        let ty = Type::vector(element.widened(), width);
        if width > 1 {
            return call(&format!("ws_load<{width}, {}>", alignment(place, width)), &[&Self::pointer(place)], ty);
        }
        let value = Text::new(place.element(), PRIMARY, ty);
        if stored_as_is(element) { value } else { call("ws_widen", &[&value], ty) }
    }
    fn write(&mut self, place: &Place<'_>, value: &Text, policy: StorePolicy) -> String {
        let (element, width) = (place.tensor.element, value.ty.width);
        let policy = match policy {
            StorePolicy::WriteThrough if place.tensor.space == Space::Global => "ws_through",
            StorePolicy::NonTemporal if place.tensor.space == Space::Global => "ws_stream",
            _ => "ws_back",
        };
        let pointer = Self::pointer(place);
        if width > 1 {
            return format!("ws_store<{policy}, {}>({}, {});", alignment(place, width), pointer.code, value.code);
        }
        match (policy, stored_as_is(element)) {
            ("ws_back", true) => format!("{} = {};", place.element(), value.code),
            ("ws_back", false) => format!("ws_narrow({}, {});", place.element(), value.code),
            _ => format!("ws_store<{policy}>({}, {});", pointer.code, value.code),
        }
    }
    /// What a read outside gives is the texture object's: its address mode is `border` for zeros, `clamp` for the nearest texel.
    fn texel(&mut self, image: &Image, [x, y]: [&str; 2]) -> Text {
        let (scalar, from) = (image.format.scalar(), &image.name);
        // Units widen halves.
        let read = if scalar == Scalar::Half { Scalar::F32 } else { scalar };
        let of = Vocabulary::type_name(Type::scalar(read));
        let code = match image.kind {
            ImageKind::Image1d => format!("ws_texel_1d<{of}>({from}, {x})"),
            ImageKind::Image1dBuffer => format!("ws_texel_buffer<{of}>({from}, {x})"),
            ImageKind::Image2d | ImageKind::Image2dFromBuffer => format!("ws_texel<{of}>({from}, {x}, {y})"),
        };
        let texel = Text::new(code, PRIMARY, Type::vector(read, 4));
        if read == scalar { texel } else { Self::convert(&texel, scalar) }
    }
    fn write_texel(image: &Image, [x, y]: [&str; 2], value: &Text) -> String {
        let stored = match image.format {
            ImageFormat::Rgba32F | ImageFormat::Rgba32I | ImageFormat::Rgba32U => "ws_rgba32",
            ImageFormat::Rgba16F | ImageFormat::Rgba16H => "ws_rgba16f",
            ImageFormat::Rgba8Unorm => "ws_rgba8",
        };
        let wide = if value.ty.scalar == Scalar::Half { Self::convert(value, Scalar::F32) } else { value.clone() };
        let (to, value) = (&image.name, &wide.code);
        match image.kind {
            ImageKind::Image1d => format!("ws_write_texel_1d<{stored}>({to}, {x}, {value});"),
            ImageKind::Image1dBuffer => format!("ws_write_texel_buffer<{stored}>({to}, {x}, {value});"),
            ImageKind::Image2d => format!("ws_write_texel<{stored}>({to}, {x}, {y}, {value});"),
            ImageKind::Image2dFromBuffer => format!("ws_write_texel_rows<{stored}>({to}, {x}, {y}, {}, {value});", image.pitch),
        }
    }

    /// Both barriers order all memory among those who meet.
    fn barrier(_local: bool, _global: bool) -> &'static str {
        "__syncthreads();"
    }
    fn subgroup_barrier(launch: &Launch) -> Result<&'static str> {
        if launch.subgroup == Some(WARP) {
            return Ok("__syncwarp();");
        }
        lacks(format!("a barrier of a sub-group that is no warp of {WARP} lanes"))
    }
    fn atomic(&mut self, atomic: &Atomic) -> Result<Fenced> {
        let Atomic { op, element, pointer, value, .. } = atomic;
        let floats = matches!(op, AtomicOp::Add | AtomicOp::Exchange);
        if !(element.is_int() || *element == Scalar::F32 && floats) {
            return lacks(format!("atomic {op:?} of {}", element.name()));
        }
        let order = match atomic.order {
            Order::Relaxed => "ws_relaxed",
            Order::Acquire => "ws_acquire",
            Order::Release => "ws_release",
            Order::AcquireRelease => "ws_acq_rel",
        };
        let scope = if atomic.scope == Scope::Device { "ws_device" } else { "ws_block" };
        let space = if atomic.space == Space::Local { "ws_shared" } else { "ws_global" };
        let function = |name: &str| format!("ws_atomic_{name}<{order}, {scope}, {space}>");
        let ty = Type::scalar(*element);
        let keeps = matches!(op, AtomicOp::Add | AtomicOp::Sub | AtomicOp::Or | AtomicOp::Xor) && atomic.zero && element.is_int();
        let text = match op {
            // What leaves the value as it is reads it, and what nobody asks the old value of writes: no order is lost.
            _ if keeps && atomic.old && matches!(atomic.order, Order::Relaxed | Order::Acquire) => call(&function("load"), &[pointer], ty),
            AtomicOp::Exchange if !atomic.old && matches!(atomic.order, Order::Relaxed | Order::Release) => {
                call(&function("store"), &[pointer, value], ty)
            }
            _ => call(&function(op.word()), &atomic.operands(), ty),
        };
        Ok(Fenced { before: None, call: text.code, after: None })
    }
    fn tile(writer: &mut Writer<'_, Self>, stmt: &Stmt) -> Result<()> {
        writer.dialect.tiles.check(stmt)?;
        tile::write(writer, stmt)
    }
}

impl Cuda {
    /// What the address of a shared array is a multiple of.
    pub(super) fn shared_alignment(&self) -> u32 {
        if self.tiles.is_empty() { WIDEST } else { tile::ADDRESS }
    }
}

/// Whether an element in memory is what a register holds.
fn stored_as_is(element: Scalar) -> bool {
    element != Scalar::Bool && element == element.widened()
}

/// How many bytes an access may move at once: what its address is proved to be a multiple of, and its length too. Registers are
/// moved one by one.
fn alignment(place: &Place<'_>, width: u8) -> u32 {
    let bytes = place.tensor.element.bytes();
    if place.tensor.space == Space::Private {
        return bytes;
    }
    let elements = 1 << place.divisor.min(width.trailing_zeros());
    (elements * bytes).min(WIDEST)
}
