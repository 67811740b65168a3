//! The seam between what all languages of the C family share and what each says in its own way.

use super::text::Text;
use super::{Place, Result, Words, Writer};
use warpsight_ir::{
    Access, Array, AtomicOp, BinaryOp, Border, Expr, ImageFormat, ImageKind, Launch, Order, Scalar, Scope, Space, Stmt, StorePolicy, Type,
    UnaryOp,
};

/// An atomic operation whose operands are written.
pub(crate) struct Atomic {
    pub op: AtomicOp,
    pub element: Scalar,
    pub space: Space,
    pub order: Order,
    pub scope: Scope,
    /// Where it happens.
    pub pointer: Text,
    /// The comparand of a compare-exchange.
    pub compare: Option<Text>,
    pub value: Text,
    /// Whether the operand is the literal 0 of an integer type.
    pub zero: bool,
    /// Whether the old value is used.
    pub old: bool,
}

impl Atomic {
    /// What its function is given, in order.
    pub fn operands(&self) -> Vec<&Text> {
        [&self.pointer].into_iter().chain(&self.compare).chain([&self.value]).collect()
    }
}

/// A call and the statements that order it.
pub(crate) struct Fenced {
    pub before: Option<String>,
    pub call: String,
    pub after: Option<String>,
}

/// An image parameter whose texels are accessed.
pub(crate) struct Image {
    /// Its identifier.
    pub name: String,
    /// Which kind of image it is.
    pub kind: ImageKind,
    /// How a component is stored.
    pub format: ImageFormat,
    /// What a read outside gives.
    pub border: Border,
    /// Texels from one row to the next, where [`Dialect::pitch`] says.
    pub pitch: String,
}

/// A language of the C family.
pub(crate) trait Dialect: Sized {
    /// What the language is called.
    const TARGET: &'static str;
    /// How it calls types and writes literals.
    type Words: Words;
    /// The integer type of a pointer's width, where compilers find no constants in sums of narrower ones.
    const POINTER_WIDE: Option<&'static str> = None;

    /// The kernel's head up to the opening parenthesis of its parameters.
    fn head(name: &str, launch: &Launch) -> String;
    /// The declaration of a buffer parameter; `None` where the language has no parameters in that space.
    fn buffer(name: &str, space: Space, element: Scalar, access: Access) -> Option<String>;
    /// The declaration of an image parameter, read or written.
    fn image(name: &str, kind: ImageKind, access: Access) -> String;
    /// Texels from one row to the next of an image of that width, for languages that find the place of a texel themselves.
    fn pitch(_width: &Expr) -> Option<Expr> {
        None
    }
    /// The group's coordinate along a dimension.
    fn group_id(dim: usize) -> String;
    /// The work-item's coordinate in its group along a dimension.
    fn lane_id(dim: usize) -> String;
    /// The declaration of an array; `None` where the language has none in that space.
    fn array(&mut self, array: &Array, name: &str) -> Result<Option<String>>;
    /// The declaration of an array as C has it, behind what says where it lies.
    fn elements(place: &str, array: &Array, name: &str) -> String {
        let extents: Vec<String> = array.dims.iter().map(u32::to_string).collect();
        format!("{place}{} {name}[{}];", Self::Words::memory_name(array.element, true), extents.join(" * "))
    }
    /// Notes that a scalar type is used.
    fn uses(&mut self, _scalar: Scalar) {}
    /// Notes that floats are multiplied: a compiler might contract the product with a sum.
    fn multiplies_floats(&mut self) {}

    /// A scalar in every lane.
    fn splat(scalar: &Text, width: u8) -> Text;
    /// The lanes of several parts in order.
    fn concat(parts: &[Text], ty: Type) -> Text;
    /// Lanes `start .. start + width`, fewer than there are, of a vector that is a name or call.
    fn slice(vector: &Text, start: u8, width: u8) -> Text;
    /// A lane chosen at run time.
    fn lane(writer: &mut Writer<'_, Self>, vector: &Text, lane: &Text) -> Text;
    /// The statement that sets one lane of a variable.
    fn set_lane(variable: &str, lane: u8, value: &Text) -> String;
    /// Lane by lane, one of two vectors.
    fn select(condition: &Text, a: &Text, b: &Text) -> Text;
    /// A comparison as truth values; `of` is the type of what was compared.
    fn truths(of: Type, comparison: Text) -> Text;

    /// The function `a·b + c`.
    fn fma(&self) -> &'static str;
    /// The function of a floating-point operation that has no operator.
    fn function(op: UnaryOp) -> String;
    /// The function of an operation of two operands of a type; `None` where it has an operator.
    fn function_of_two(&mut self, op: BinaryOp, ty: Type) -> Option<String>;
    /// The same bits in another type of that width.
    fn reinterpret(a: &Text, to: Scalar) -> Text;
    /// Each lane in another type that is no 16-bit float: to integers saturating.
    fn convert(a: &Text, to: Scalar) -> Text;
    /// An `f32` rounded to a 16-bit float.
    fn rounded(&mut self, to: Scalar, a: &Text) -> Text;

    /// Elements from a place on.
    fn read(&mut self, place: &Place<'_>, width: u8) -> Text;
    /// The statement that writes elements from a place on.
    fn write(&mut self, place: &Place<'_>, value: &Text, policy: StorePolicy) -> String;
    /// The element at a place, by its address.
    fn pointer(place: &Place<'_>) -> Text {
        place.pointer(place.tensor.identifier.clone())
    }
    /// A texel.
    fn texel(&mut self, image: &Image, at: [&str; 2]) -> Text;
    /// The statement that writes a texel.
    fn write_texel(image: &Image, at: [&str; 2], value: &Text) -> String;

    /// A barrier of the group.
    fn barrier(local: bool, global: bool) -> &'static str;
    /// A barrier of each sub-group.
    fn subgroup_barrier(launch: &Launch) -> Result<&'static str>;
    /// An atomic operation.
    fn atomic(&mut self, atomic: &Atomic) -> Result<Fenced>;
    /// Loads, stores, fills or multiplies tiles.
    fn tile(writer: &mut Writer<'_, Self>, stmt: &Stmt) -> Result<()>;
}
