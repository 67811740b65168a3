//! Program v1: what every work-item of one kernel does, and how many there are.
//!
//! # Semantics
//!
//! A launch runs `Π groups` work-groups of `Π lanes` work-items. The group axes and lane axes are *named*, any number of
//! them, the first running fastest; a body refers to them as integer variables. How they are folded onto the three
//! dimensions of a GPU is the emitter's business, so that coordinates stay affine in the names.
//!
//! The statements of a work-item run in order. Work-items of a group meet at collective statements ([`Stmt::is_collective`]:
//! barriers, tile operations, channel operations), which every one of them reaches or none does; between two barriers no two
//! work-items touch one element when one of them writes it (atomics excepted). Work-groups never synchronise within a
//! launch: two groups never touch one element when one of them writes it (atomics and channels excepted).
//! [`crate::Checked::new`] proves the first rule; the interpreter finds violations of the others.
//!
//! **Numbers.** Arithmetic is done in `i32 u32 i64 u64 half f32 f64 bool`. `f16` and `bf16` are storage types: a load widens to
//! `f32` exactly; a store, or an assignment to a variable of that type, rounds to nearest even. `half` is the same 16 bits computed with: a
//! load gives a `half`, a store takes one, and every result is the exact one rounded to nearest even once, with subnormals kept and what is
//! 65520 or more infinite; special functions of devices may be off by what their languages allow. Nothing converts to or from it but
//! [`Expr::Cast`]. Only some devices compute so ([`Program::computes_halves`]). Integer arithmetic wraps;
//! integer division truncates towards zero, and division by zero is an error. Shifts take the count modulo the width.
//! `fma` rounds once; `min` and `max` of floats give NaN where either operand is NaN. Vectors have 1, 2, 3, 4, 8 or 16 lanes and operate lane by lane; nothing broadcasts
//! implicitly: [`Expr::Splat`] does it visibly.
//!
//! **Addresses.** A load names a coordinate vector, slowest dimension first. A vector load of `width` w reads w consecutive
//! elements along the last dimension. Every coordinate must lie inside its dimension, unless a [`Bound`] of the access's
//! guard is violated: then a load gives zero and a store does nothing, and memory is not touched. A per-lane bound judges each
//! element of a vector access by itself.
//!
//! **Images** hold four components a texel and take coordinates (x, y), x fastest. A read outside follows the image's
//! [`Border`]; a write outside is an error. An image is read or written in one Program, never both. What [`ImageKind`] an image is of
//! changes no result: kinds differ in how the host makes them, where their texels lie and how far they reach. Those of one dimension have
//! the height 1 and every y is the constant 0. An `image1d_buffer` has no sampler, hence [`Border::None`]: reads lie inside, or a guard keeps
//! them from memory, as with buffers. Nothing is tested at run time for it, which a chain of dependent reads would wait for.
//!
//! **Sizes** are integer kernel arguments with a range; extents are size expressions (constants, sizes, + − × ÷ % min max).

mod expr;
pub mod generalise;
pub mod in_place;
pub mod specialise;
pub mod typing;
mod whole;

pub use expr::{BinaryOp, Expr, UnaryOp};

use crate::types::{Scalar, Type};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The name of a tensor, variable, axis or size.
pub type Name = Arc<str>;

/// One kernel. A name occurs once among sizes, parameters, arrays, axes; a variable may not hide another that is in scope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// The kernel's name; a C identifier.
    pub name: Name,
    /// Symbolic sizes, passed as integer arguments.
    pub sizes: Vec<SizeParam>,
    /// Argument buffers, images and channels, in argument order.
    pub params: Vec<Param>,
    /// Memory that lives as long as a group (local), a sub-group (tile) or a work-item (private).
    pub arrays: Vec<Array>,
    /// How many work-items there are.
    pub launch: Launch,
    /// What each does.
    pub body: Vec<Stmt>,
}

/// A kernel argument that holds a size: `lo ≤ value ≤ hi`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeParam {
    /// Its name.
    pub name: Name,
    /// Smallest value it may take; at least 0.
    pub lo: i64,
    /// Largest value it may take.
    pub hi: i64,
}

/// An argument that holds data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Param {
    /// Its name.
    pub name: Name,
    /// What it is.
    pub kind: ParamKind,
}

/// The kinds of argument.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ParamKind {
    /// Elements in memory, row-major, slowest dimension first.
    Buffer {
        /// `Global` or `Constant`.
        space: Space,
        /// The type of one element.
        element: Scalar,
        /// Extents, size expressions, slowest first; at least one.
        dims: Vec<Expr>,
        /// What the body may do with it.
        access: Access,
    },
    /// An image of four-component texels.
    Image {
        /// Which kind of image the host makes.
        #[serde(default)]
        kind: ImageKind,
        /// How a component is stored.
        format: ImageFormat,
        /// Width in texels, a size expression.
        width: Expr,
        /// Height in texels, a size expression; the constant 1 of one-dimensional images.
        height: Expr,
        /// `Read` or `Write`, not both.
        access: Access,
        /// What a read outside gives.
        border: Border,
    },
    /// One end of a queue between Programs that run together (see [`crate::Pipeline`]).
    Channel {
        /// The type of one element of a token.
        element: Scalar,
        /// Extents of a token, constants.
        dims: Vec<u32>,
        /// How many tokens fit.
        depth: u32,
        /// Whether this Program puts tokens in or takes them out.
        direction: Direction,
    },
}

/// An address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Space {
    /// Device memory.
    Global,
    /// Device memory that no launch writes and that may be cached for broadcast.
    Constant,
    /// Memory shared by a work-group.
    Local,
    /// A matrix tile held jointly by the lanes of a sub-group.
    Tile,
    /// Registers of one work-item.
    Private,
}

/// What a body does with an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Access {
    /// Loads only.
    Read,
    /// Stores only.
    Write,
    /// Both.
    ReadWrite,
}

/// Which end of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Direction {
    /// Puts tokens in.
    Send,
    /// Takes tokens out.
    Receive,
}

/// The kinds of image, by OpenCL's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageKind {
    /// One row of texels, read through a sampler; at most as wide as a two-dimensional image.
    Image1d,
    /// The texels of a buffer one after the other, read without a sampler; as long as [`Self::Image1d`] cannot be.
    Image1dBuffer,
    /// Two dimensions, in the order that the device likes best.
    #[default]
    Image2d,
    /// A buffer whose rows begin at multiples of a pitch, read as a two-dimensional image (`cl_khr_image2d_from_buffer`). A kernel cannot
    /// tell it from [`Self::Image2d`]; the host and the caches can.
    Image2dFromBuffer,
}

impl ImageKind {
    /// Whether it has one row.
    pub fn is_one_dimensional(self) -> bool {
        matches!(self, Self::Image1d | Self::Image1dBuffer)
    }
    /// Whether texels lie row by row, whatever the device does with two-dimensional images.
    pub fn is_linear(self) -> bool {
        self != Self::Image2d
    }
    /// The border of an image whose text says nothing: zeros where there is a sampler.
    pub fn border(self) -> Border {
        if self == Self::Image1dBuffer { Border::None } else { Border::Zero }
    }
}

/// How an image stores a component, and what reads give: vectors of four `f32`, `half`, `i32` or `u32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ImageFormat {
    /// Four 32-bit floats, 16 bytes.
    Rgba32F,
    /// Four 16-bit floats, 8 bytes, read as `f32`.
    Rgba16F,
    /// The same texels, read as `half`.
    Rgba16H,
    /// Four 32-bit signed integers, 16 bytes.
    Rgba32I,
    /// Four 32-bit unsigned integers, 16 bytes.
    Rgba32U,
    /// Four bytes read as fractions of 255, 4 bytes.
    Rgba8Unorm,
}

impl ImageFormat {
    /// Bytes of one texel.
    pub fn bytes(self) -> u32 {
        match self {
            Self::Rgba32F | Self::Rgba32I | Self::Rgba32U => 16,
            Self::Rgba16F | Self::Rgba16H => 8,
            Self::Rgba8Unorm => 4,
        }
    }
    /// The format of the same texels, whatever they are computed with: what models and hosts know.
    pub fn stored(self) -> Self {
        if self == Self::Rgba16H { Self::Rgba16F } else { self }
    }
    /// The scalar type a read gives and a write takes.
    pub fn scalar(self) -> Scalar {
        match self {
            Self::Rgba32F | Self::Rgba16F | Self::Rgba8Unorm => Scalar::F32,
            Self::Rgba16H => Scalar::Half,
            Self::Rgba32I => Scalar::I32,
            Self::Rgba32U => Scalar::U32,
        }
    }
}

/// What an image read outside gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Border {
    /// (0, 0, 0, 0).
    Zero,
    /// The nearest texel inside.
    ClampToEdge,
    /// An error: every read lies inside.
    None,
}

/// Memory declared by the Program itself. Its contents are undefined at the start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Array {
    /// Its name.
    pub name: Name,
    /// `Local`, `Tile` or `Private`.
    pub space: Space,
    /// The type of one element.
    pub element: Scalar,
    /// Extents, slowest first. A tile has two: rows, columns.
    pub dims: Vec<u32>,
}

impl Array {
    /// Elements in it.
    pub fn len(&self) -> usize {
        self.dims.iter().map(|&d| d as usize).product()
    }
    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The shape of a launch. Axes are listed fastest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// Group axes: how many work-groups along each, size expressions.
    pub groups: Vec<GroupAxis>,
    /// Lane axes: how many work-items of a group along each.
    pub lanes: Vec<LaneAxis>,
    /// The number of lanes that tile operations are shared by; needed by them only.
    pub subgroup: Option<u32>,
}

impl Launch {
    /// Work-items in a group.
    pub fn group_size(&self) -> u32 {
        self.lanes.iter().map(|axis| axis.extent).product()
    }
}

/// One axis of work-groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupAxis {
    /// The variable that holds the group's coordinate.
    pub name: Name,
    /// Its extent, a size expression.
    pub extent: Expr,
}

/// One axis of work-items within a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaneAxis {
    /// The variable that holds the lane's coordinate.
    pub name: Name,
    /// Its extent, at least 1.
    pub extent: u32,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Stmt {
    /// A value that does not change, visible to the end of the enclosing block.
    Let {
        /// Its name.
        name: Name,
        /// Its value.
        value: Expr,
    },
    /// A register that [`Stmt::Assign`] changes, visible to the end of the enclosing block.
    Var {
        /// Its name.
        name: Name,
        /// Its type; the initial value has it (or `f32` where this is a 16-bit float).
        ty: Type,
        /// Its first value.
        init: Expr,
    },
    /// Changes a [`Stmt::Var`].
    Assign {
        /// Which.
        name: Name,
        /// The new value.
        value: Expr,
    },
    /// `for var = from; var < to; var += step`; the bounds are evaluated once. Trip counts may depend on data.
    For {
        /// The loop variable, an `i32` that the body does not change.
        var: Name,
        /// First value.
        from: Expr,
        /// The loop ends before this value.
        to: Expr,
        /// Distance between values, at least 1.
        step: u32,
        /// What the emitter tells the compiler.
        unroll: Unroll,
        /// What is repeated.
        body: Vec<Stmt>,
    },
    /// Runs one side.
    If {
        /// A scalar `bool`.
        condition: Expr,
        /// When true.
        then: Vec<Stmt>,
        /// When false.
        otherwise: Vec<Stmt>,
    },
    /// A block of its own: what it declares ends with it.
    Scope(Vec<Stmt>),
    /// Writes an element, or `value.width` consecutive ones along the last dimension.
    Store {
        /// A buffer parameter or an array (not a tile).
        target: Name,
        /// Its coordinate vector, slowest first.
        index: Vec<Expr>,
        /// What is written; of the element's type, or `f32` where that is a 16-bit float.
        value: Expr,
        /// When it is not written.
        guard: Vec<Bound>,
        /// A hint for caches.
        policy: StorePolicy,
    },
    /// Writes a texel.
    StoreTexel {
        /// An image parameter that is written.
        image: Name,
        /// Column.
        x: Expr,
        /// Row; the constant 0 of one-dimensional images.
        y: Expr,
        /// Four components.
        value: Expr,
        /// When it is not written.
        guard: Vec<Bound>,
    },
    /// Reads, changes and writes one element indivisibly.
    Atomic {
        /// What is done.
        op: AtomicOp,
        /// A buffer parameter (read-write) or a local array of `i32`, `u32`, `i64`, `u64` or, for `Add` and `Exchange`, `f32`.
        target: Name,
        /// Its coordinate vector.
        index: Vec<Expr>,
        /// The operand.
        value: Expr,
        /// For `CompareExchange`: written where the old value equals this.
        compare: Option<Expr>,
        /// What it orders.
        order: Order,
        /// Among whom.
        scope: Scope,
        /// A name for the old value, as by `Let`.
        old: Option<Name>,
    },
    /// All work-items of the scope meet; what was written before is seen after. Collective.
    Barrier {
        /// `Subgroup` or `Group`.
        scope: Scope,
        /// Orders local memory.
        local: bool,
        /// Orders global memory within the group.
        global: bool,
    },
    /// Fills a tile from a buffer or local array, rows × columns elements from `index` on, along its last two dimensions. Collective.
    TileLoad {
        /// The tile.
        tile: Name,
        /// A buffer or local array with two or more dimensions.
        source: Name,
        /// Coordinate of the tile's corner.
        index: Vec<Expr>,
    },
    /// Writes a tile out; the counterpart of [`Stmt::TileLoad`]. Collective.
    TileStore {
        /// A buffer or local array.
        target: Name,
        /// Coordinate of the tile's corner.
        index: Vec<Expr>,
        /// The tile.
        tile: Name,
    },
    /// Sets every element of a tile. Collective.
    TileFill {
        /// The tile.
        tile: Name,
        /// A scalar, the same in every lane.
        value: Expr,
    },
    /// `d += a · b`: m×n += m×k · k×n; products and sums in `d`'s type (`f32` for 16-bit operands). Collective.
    Mma {
        /// The accumulator tile, m × n.
        d: Name,
        /// The left tile, m × k.
        a: Name,
        /// The right tile, k × n.
        b: Name,
    },
    /// Puts the contents of a local array, one token, into a channel; waits while it is full. Collective for the group.
    Send {
        /// A `Send` channel.
        channel: Name,
        /// A local array with the token's element and dims.
        from: Name,
    },
    /// Takes a token out of a channel into a local array; waits while it is empty. Collective for the group.
    Receive {
        /// A `Receive` channel.
        channel: Name,
        /// A local array with the token's element and dims.
        into: Name,
    },
}

impl Stmt {
    /// Whether all work-items of a group (or sub-group) must reach it together; nested statements count.
    pub fn is_collective(&self) -> bool {
        match self {
            Self::Barrier { .. }
            | Self::TileLoad { .. }
            | Self::TileStore { .. }
            | Self::TileFill { .. }
            | Self::Mma { .. }
            | Self::Send { .. }
            | Self::Receive { .. } => true,
            Self::For { body, .. } | Self::Scope(body) => body.iter().any(Self::is_collective),
            Self::If { then, otherwise, .. } => then.iter().chain(otherwise).any(Self::is_collective),
            _ => false,
        }
    }
}

/// What the emitter tells the compiler about a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unroll {
    /// Nothing: the compiler decides.
    Auto,
    /// Keep it rolled.
    None,
    /// Repeat the body so many times.
    By(u32),
    /// All of it.
    Full,
}

/// A condition `0 ≤ value < extent` that an access needs; see the module's semantics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// An `i32`.
    pub value: Expr,
    /// An `i32`, a size expression.
    pub extent: Expr,
    /// For lane j of a vector access the condition is `0 ≤ value + j < extent`, each lane for itself.
    pub per_lane: bool,
}

/// What a store asks of caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum StorePolicy {
    /// Whatever the device does by itself.
    #[default]
    WriteBack,
    /// Past the first level.
    WriteThrough,
    /// Kept in no cache for longer than needed.
    NonTemporal,
}

/// What an atomic does with old value and operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AtomicOp {
    /// old + operand
    Add,
    /// old − operand
    Sub,
    /// the smaller
    Min,
    /// the larger
    Max,
    /// bitwise and
    And,
    /// bitwise or
    Or,
    /// bitwise exclusive or
    Xor,
    /// operand
    Exchange,
    /// operand where old equals the comparand
    CompareExchange,
}

/// Memory order of an atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Order {
    /// Orders nothing else.
    Relaxed,
    /// Later accesses stay later.
    Acquire,
    /// Earlier accesses stay earlier.
    Release,
    /// Both.
    AcquireRelease,
}

/// Among whom something is ordered or met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Scope {
    /// Lanes of a sub-group (warp).
    Subgroup,
    /// Work-items of a group.
    Group,
    /// All of a device.
    Device,
}

impl Stmt {
    /// The expressions this statement evaluates itself (nested statements excluded), guards included.
    pub fn exprs(&self) -> Vec<&Expr> {
        fn guard_exprs(guard: &[Bound]) -> impl Iterator<Item = &Expr> {
            guard.iter().flat_map(|b| [&b.value, &b.extent])
        }
        match self {
            Self::Let { value, .. } | Self::Assign { value, .. } | Self::TileFill { value, .. } => vec![value],
            Self::Var { init, .. } => vec![init],
            Self::For { from, to, .. } => vec![from, to],
            Self::If { condition, .. } => vec![condition],
            Self::Store { index, value, guard, .. } => index.iter().chain([value]).chain(guard_exprs(guard)).collect(),
            Self::StoreTexel { x, y, value, guard, .. } => [x, y, value].into_iter().chain(guard_exprs(guard)).collect(),
            Self::Atomic { index, value, compare, .. } => index.iter().chain([value]).chain(compare).collect(),
            Self::TileLoad { index, .. } | Self::TileStore { index, .. } => index.iter().collect(),
            Self::Scope(_) | Self::Barrier { .. } | Self::Mma { .. } | Self::Send { .. } | Self::Receive { .. } => vec![],
        }
    }
    /// Blocks nested in this statement.
    pub fn blocks(&self) -> Vec<&Vec<Stmt>> {
        match self {
            Self::For { body, .. } | Self::Scope(body) => vec![body],
            Self::If { then, otherwise, .. } => vec![then, otherwise],
            _ => vec![],
        }
    }
}
