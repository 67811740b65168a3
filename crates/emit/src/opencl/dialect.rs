//! What OpenCL C says in its own way.

use super::helpers::Helper;
use super::words::{Vocabulary, space_name, swizzle};
use super::{Contraction, Options};
use crate::clike::text::{ADD, BITS, COMPARE, OR, PRIMARY, Text, UNARY, call};
use crate::clike::{Atomic, Dialect, Fenced, Image, Place, Result, Tensor, Words, Writer, lacks};
use crate::grid::Grid;
use std::collections::BTreeSet;
use warpsight_ir::text::Word;
use warpsight_ir::{
    Access, Array, AtomicOp, BinaryOp, ImageFormat, ImageKind, Launch, Order, Scalar, Scope, Space, Stmt, StorePolicy, Type, UnaryOp,
};

/// The language, and what a kernel in it needs.
pub(super) struct OpenCl {
    options: Options,
    helpers: BTreeSet<Helper>,
    extensions: BTreeSet<&'static str>,
    /// Whether a product of floats was written, which a compiler might contract.
    float_product: bool,
}

impl OpenCl {
    pub fn new(options: Options) -> Self {
        Self { options, helpers: BTreeSet::new(), extensions: BTreeSet::new(), float_product: false }
    }

    /// Notes that a helper is needed, and what it needs itself.
    fn require(&mut self, helper: Helper) {
        if let Helper::RoundBf16(width) = helper {
            self.require(Helper::PackBf16(width));
        }
        self.helpers.insert(helper);
    }

    /// What stands before the kernel, and the extensions it needs.
    pub fn before(self) -> (String, Vec<&'static str>) {
        let mut text = String::new();
        for extension in &self.extensions {
            text += &format!("#pragma OPENCL EXTENSION {extension} : enable\n");
        }
        if self.options.contraction == Contraction::Fma && self.float_product {
            text += "#pragma OPENCL FP_CONTRACT OFF\n";
        }
        for helper in &self.helpers {
            text += if text.is_empty() { "" } else { "\n" };
            text += &helper.text();
        }
        (text, self.extensions.into_iter().collect())
    }

    fn atomic_function(&mut self, op: AtomicOp, element: Scalar, space: Space) -> Result<String> {
        if element == Scalar::F32 {
            return match op {
                AtomicOp::Add => {
                    self.require(Helper::atomic_add(space));
                    Ok(Helper::atomic_add(space).name())
                }
                AtomicOp::Exchange => Ok("atomic_xchg".to_owned()),
                _ => lacks(format!("atomic {op:?} of f32")),
            };
        }
        let (name, extended) = match op {
            AtomicOp::Exchange => ("xchg", false),
            AtomicOp::CompareExchange => ("cmpxchg", false),
            AtomicOp::Add | AtomicOp::Sub => (op.word(), false),
            AtomicOp::Min | AtomicOp::Max | AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => (op.word(), true),
        };
        match element {
            Scalar::I32 | Scalar::U32 => Ok(format!("atomic_{name}")),
            Scalar::I64 | Scalar::U64 => {
                self.extensions.insert(if extended { "cl_khr_int64_extended_atomics" } else { "cl_khr_int64_base_atomics" });
                Ok(format!("atom_{name}"))
            }
            _ => lacks(format!("atomics of {}", element.name())),
        }
    }
}

impl Dialect for OpenCl {
    const TARGET: &'static str = "OpenCL C 1.2";
    const POINTER_WIDE: Option<&'static str> = Some("ptrdiff_t");
    type Words = Vocabulary;

    fn head(name: &str, launch: &Launch) -> String {
        let [x, y, z] = Grid::of(launch).local;
        format!("__kernel __attribute__((reqd_work_group_size({x}, {y}, {z})))\nvoid {name}(")
    }
    fn buffer(name: &str, space: Space, element: Scalar, access: Access) -> Option<String> {
        let element = Vocabulary::memory_name(element, false);
        match (space, access) {
            (Space::Constant, _) => Some(format!("__constant {element}* {name}")),
            (Space::Global, Access::Read) => Some(format!("const __global {element}* restrict {name}")),
            (Space::Global, _) => Some(format!("__global {element}* restrict {name}")),
            _ => None,
        }
    }
    fn image(name: &str, kind: ImageKind, access: Access) -> String {
        let qualifier = if access == Access::Read { "__read_only" } else { "__write_only" };
        let ty = match kind {
            ImageKind::Image1d => "image1d_t",
            ImageKind::Image1dBuffer => "image1d_buffer_t",
            ImageKind::Image2d | ImageKind::Image2dFromBuffer => "image2d_t",
        };
        format!("{qualifier} {ty} {name}")
    }
    fn group_id(dim: usize) -> String {
        format!("get_group_id({dim})")
    }
    fn lane_id(dim: usize) -> String {
        format!("get_local_id({dim})")
    }
    fn array(&mut self, array: &Array, name: &str) -> Result<Option<String>> {
        Ok(match array.space {
            Space::Local => Some(Self::elements("__local ", array, name)),
            Space::Private => Some(Self::elements("", array, name)),
            Space::Global | Space::Constant | Space::Tile => None,
        })
    }
    fn uses(&mut self, scalar: Scalar) {
        match scalar {
            Scalar::F64 => self.extensions.insert("cl_khr_fp64"),
            Scalar::Half => self.extensions.insert("cl_khr_fp16"),
            _ => false,
        };
    }
    fn multiplies_floats(&mut self) {
        self.float_product = true;
    }

    fn splat(scalar: &Text, width: u8) -> Text {
        let ty = Type::vector(scalar.ty.scalar, width);
        Text::new(format!("({})({})", Vocabulary::type_name(ty), lane_text(scalar)), UNARY, ty)
    }
    fn concat(parts: &[Text], ty: Type) -> Text {
        let lanes: Vec<String> = parts.iter().map(lane_text).collect();
        Text::new(format!("({})({})", Vocabulary::type_name(ty), lanes.join(", ")), UNARY, ty)
    }
    fn slice(vector: &Text, start: u8, width: u8) -> Text {
        let ty = Type::vector(vector.ty.scalar, width);
        let lanes = Text::new(format!("{}{}", vector.at(PRIMARY), swizzle(start, width)), PRIMARY, ty);
        let int = Text { ty: Type::vector(Scalar::I32, width), ..lanes.clone() };
        if ty == Type::scalar(Scalar::Bool) { truth(&int) } else { lanes }
    }
    /// Through a private array.
    fn lane(writer: &mut Writer<'_, Self>, vector: &Text, lane: &Text) -> Text {
        let lanes = writer.names.fresh();
        let memory = Type::scalar(if vector.ty.scalar == Scalar::Bool { Scalar::I32 } else { vector.ty.scalar });
        writer.line(format!("{} {lanes}[{}];", Vocabulary::type_name(memory), vector.ty.width));
        writer.line(format!("vstore{}({}, 0, {lanes});", vector.ty.width, vector.code));
        let element = Text::new(format!("{lanes}[{}]", lane.code), PRIMARY, memory);
        if vector.ty.scalar == Scalar::Bool { truth(&element) } else { element }
    }
    fn set_lane(variable: &str, lane: u8, value: &Text) -> String {
        format!("{variable}{} = {};", swizzle(lane, 1), lane_text(value))
    }
    fn select(condition: &Text, a: &Text, b: &Text) -> Text {
        let as_wide = match a.ty.scalar.bytes() {
            8 => "long",
            2 => "short",
            _ => return call("select", &[b, a, condition], a.ty),
        };
        let condition = Text::new(format!("convert_{as_wide}{}({})", a.ty.width, condition.code), PRIMARY, condition.ty);
        call("select", &[b, a, &condition], a.ty)
    }
    fn truths(of: Type, comparison: Text) -> Text {
        // Truth values of vectors are `int` whatever is compared.
        if of.width > 1 && matches!(of.scalar.bytes(), 2 | 8) {
            return call(&format!("convert_int{}", of.width), &[&comparison], comparison.ty);
        }
        comparison
    }

    fn fma(&self) -> &'static str {
        if self.options.contraction == Contraction::Fma { "fma" } else { "mad" }
    }
    fn function(op: UnaryOp) -> String {
        // `abs` is of integers.
        if op == UnaryOp::Abs { "fabs".to_owned() } else { op.word().to_owned() }
    }
    /// Shifts have operators: they take the count modulo the width, as Programs do.
    fn function_of_two(&mut self, op: BinaryOp, ty: Type) -> Option<String> {
        let helper = match op {
            BinaryOp::Rem if ty.scalar.is_float() => return Some("fmod".to_owned()),
            BinaryOp::Min if ty.scalar.is_float() => Helper::Smaller(ty.scalar, ty.width),
            BinaryOp::Max if ty.scalar.is_float() => Helper::Larger(ty.scalar, ty.width),
            _ => return None,
        };
        self.require(helper);
        Some(helper.name())
    }
    fn reinterpret(a: &Text, to: Scalar) -> Text {
        let ty = Type::vector(to, a.ty.width);
        call(&format!("as_{}", Vocabulary::type_name(ty)), &[a], ty)
    }
    fn convert(a: &Text, to: Scalar) -> Text {
        let (from, width) = (a.ty.scalar, a.ty.width);
        let ty = Type::vector(to, width);
        let convert = |suffix: &str, a: &Text| Text::new(format!("convert_{}{suffix}({})", Vocabulary::type_name(ty), a.code), PRIMARY, ty);
        match (from, to) {
            (_, Scalar::Bool) => truth(a),
            (Scalar::Bool, _) if width > 1 => {
                let ones = Text::new(format!("{} & 1", a.at(UNARY)), BITS, Type::vector(Scalar::I32, width));
                if to == Scalar::I32 { ones } else { convert("", &ones) }
            }
            (_, _) if from.is_float() && to.is_int() => convert("_sat_rtz", a),
            (_, _) if from.is_int() && to.is_int() && !widens(from, to) => convert("_sat", a),
            _ if width == 1 => Vocabulary::as_type(a, ty),
            _ => convert("", a),
        }
    }
    fn rounded(&mut self, to: Scalar, a: &Text) -> Text {
        let helper = if to == Scalar::F16 { Helper::RoundHalf(a.ty.width) } else { Helper::RoundBf16(a.ty.width) };
        self.require(helper);
        call(&helper.name(), &[a], a.ty)
    }

    fn read(&mut self, place: &Place<'_>, width: u8) -> Text {
        let element = place.tensor.element;
        let ty = Type::vector(element.widened(), width);
        let code = match (element, width) {
            (Scalar::F16, 1) => {
                return Text::new(format!("vload_half({}, {})", place.position.code, base(place, true)), PRIMARY, ty);
            }
            (Scalar::F16, _) if let Some(helper) = apart(place, width, Helper::LoadHalf) => {
                self.require(helper);
                format!("{}({})", helper.name(), place.pointer(base(place, true)).code)
            }
            (Scalar::F16, _) => format!("vload_half{width}(0, {})", place.pointer(base(place, true)).code),
            (_, 1) => place.element(),
            _ => match vector(place, width, true) {
                // In parentheses: components of it may be taken, and it may be divided by.
                Some(vector) => format!("({vector})"),
                None => format!("vload{width}(0, {})", Self::pointer(place).code),
            },
        };
        match (element, width) {
            (Scalar::Bool, 1) => truth(&Text::new(code, PRIMARY, Type::scalar(Scalar::I32))),
            (Scalar::Bool, _) => truth(&Text::new(format!("convert_int{width}({code})"), PRIMARY, Type::vector(Scalar::I32, width))),
            (Scalar::Bf16, 1) => Text::new(format!("as_float((uint){code} << 16)"), PRIMARY, ty),
            (Scalar::Bf16, _) => Text::new(format!("as_float{width}(convert_uint{width}({code}) << 16)"), PRIMARY, ty),
            _ => Text::new(code, PRIMARY, ty),
        }
    }
    fn write(&mut self, place: &Place<'_>, value: &Text, _policy: StorePolicy) -> String {
        let (element, width) = (place.tensor.element, value.ty.width);
        if element == Scalar::F16 {
            return if width == 1 {
                format!("vstore_half_rte({}, {}, {});", value.code, place.position.code, base(place, false))
            } else if let Some(helper) = apart(place, width, Helper::StoreHalf) {
                self.require(helper);
                format!("{}({}, {});", helper.name(), value.code, place.pointer(base(place, false)).code)
            } else {
                format!("vstore_half{width}_rte({}, 0, {});", value.code, place.pointer(base(place, false)).code)
            };
        }
        let memory = match element {
            Scalar::Bf16 => {
                self.require(Helper::PackBf16(width));
                call(&Helper::PackBf16(width).name(), &[value], Type::vector(Scalar::Bf16, width)).code
            }
            Scalar::Bool if width > 1 => format!("convert_{}{width}({} & 1)", Vocabulary::memory_name(Scalar::Bool, true), value.at(UNARY)),
            _ => value.code.clone(),
        };
        match vector(place, width, false) {
            _ if width == 1 => format!("{} = {memory};", place.element()),
            Some(vector) => format!("{vector} = {memory};"),
            None => format!("vstore{width}({memory}, 0, {});", Self::pointer(place).code),
        }
    }
    fn texel(&mut self, image: &Image, at: [&str; 2]) -> Text {
        let mut sampler = String::new();
        if image.kind != ImageKind::Image1dBuffer {
            let helper = Helper::sampler(image.border);
            self.require(helper);
            sampler = format!(" {},", helper.name());
        }
        let code = format!("read_image{}({},{sampler} {})", suffix(image.format), image.name, place(image.kind, at));
        Text::new(code, PRIMARY, Type::vector(image.format.scalar(), 4))
    }
    fn write_texel(image: &Image, at: [&str; 2], value: &Text) -> String {
        format!("write_image{}({}, {}, {});", suffix(image.format), image.name, place(image.kind, at), value.code)
    }

    fn barrier(local: bool, global: bool) -> &'static str {
        match (local, global) {
            (true, true) => "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
            (false, true) => "barrier(CLK_GLOBAL_MEM_FENCE);",
            _ => "barrier(CLK_LOCAL_MEM_FENCE);",
        }
    }
    fn subgroup_barrier(_launch: &Launch) -> Result<&'static str> {
        lacks("a barrier of a sub-group")
    }
    fn atomic(&mut self, atomic: &Atomic) -> Result<Fenced> {
        let Atomic { op, element, space, order, scope, .. } = atomic;
        if *order != Order::Relaxed && *scope == Scope::Device {
            return lacks(format!("{order:?} atomics of the device"));
        }
        let call = call(&self.atomic_function(*op, *element, *space)?, &atomic.operands(), Type::scalar(*element)).code;
        let fence = |wanted: bool| wanted.then(|| "mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);".to_owned());
        let before = fence(matches!(order, Order::Release | Order::AcquireRelease));
        let after = fence(matches!(order, Order::Acquire | Order::AcquireRelease));
        Ok(Fenced { before, call, after })
    }
    fn tile(_writer: &mut Writer<'_, Self>, _stmt: &Stmt) -> Result<()> {
        lacks("matrix tiles")
    }
}

/// A pointer to the first element; arrays of half-precision floats hold bits that need a cast.
fn base(place: &Place<'_>, read: bool) -> String {
    let tensor = place.tensor;
    match space_name(tensor.space) {
        Some(space) if tensor.array && tensor.element == Scalar::F16 => {
            format!("({}{space} half*){}", if read { "const " } else { "" }, tensor.identifier)
        }
        _ => tensor.identifier.clone(),
    }
}

/// What reads or writes halves side by side whose address is not proved to be a multiple of their length, as arrays in local memory never are:
/// PoCL's `vload_half8` moves them as one vector that is aligned to it, which faults.
fn apart(place: &Place<'_>, width: u8, helper: impl Fn(bool, u8) -> Helper) -> Option<Helper> {
    let known = width.is_power_of_two() && place.divisor >= width.trailing_zeros() && !place.tensor.array;
    let local = place.tensor.space == Space::Local;
    ((place.tensor.space == Space::Global || local) && !known).then(|| helper(local, width))
}

/// A whole vector in memory, an expression of unary operators, where its address is proved to be a multiple of its length: of buffers, which
/// begin at a multiple of the longest vector's. PoCL makes of `vload16` as many loads of a part where conditions surround it (a depthwise
/// convolution ran 1.7 times as long).
fn vector(place: &Place<'_>, width: u8, read: bool) -> Option<String> {
    let Tensor { space, element, array, .. } = place.tensor;
    let space = space_name(*space).filter(|_| matches!(space, Space::Global | Space::Constant) && !array)?;
    let aligned = width.is_power_of_two() && place.divisor >= width.trailing_zeros();
    let ty = format!("{}{space} {}{width}*", if read { "const " } else { "" }, Vocabulary::memory_name(*element, false));
    let pointer = OpenCl::pointer(place);
    aligned.then(|| format!("*({ty}){}", pointer.at(PRIMARY)))
}

/// Whether each lane is not zero.
fn truth(a: &Text) -> Text {
    let zero = match a.ty.scalar {
        Scalar::F32 => "0.0f",
        Scalar::Half => "0.0h",
        Scalar::F64 => "0.0",
        _ => "0",
    };
    let text = Text::new(format!("{} != {zero}", a.at(ADD)), COMPARE, Type::vector(Scalar::Bool, a.ty.width));
    OpenCl::truths(a.ty, text)
}

/// A part of a vector literal: a scalar truth value becomes a lane of −1 or 0.
fn lane_text(a: &Text) -> String {
    match a.code.as_str() {
        "true" => return "-1".to_owned(),
        "false" => return "0".to_owned(),
        _ => {}
    }
    if a.ty == Type::scalar(Scalar::Bool) { format!("{} ? -1 : 0", a.at(OR)) } else { a.code.clone() }
}

/// Whether every value of an integer type has its like in the other.
fn widens(from: Scalar, to: Scalar) -> bool {
    matches!((from, to), (Scalar::I32, Scalar::I64) | (Scalar::U32, Scalar::I64 | Scalar::U64))
}

/// The coordinate of a texel.
fn place(kind: ImageKind, [x, y]: [&str; 2]) -> String {
    if kind.is_one_dimensional() { x.to_owned() } else { format!("(int2)({x}, {y})") }
}

/// The last letters of an image function for a format.
fn suffix(format: ImageFormat) -> &'static str {
    match format.scalar() {
        Scalar::I32 => "i",
        Scalar::U32 => "ui",
        Scalar::Half => "h",
        _ => "f",
    }
}
