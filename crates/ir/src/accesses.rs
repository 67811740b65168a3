//! How a kernel touches memory: an ordered loop nest of ordered accesses with affine coordinate vectors.
//!
//! Derived from a Program before its addresses are linearised ([`Accesses::of`]), computed by a [`crate::Family`] without
//! lowering, or written by hand. Coordinates stay vectors: a linear address cannot tell a row from a column, an image can.

mod bounds;
mod build;
mod canonical;
mod conditions;
mod expand;
mod kept;
mod raw;
mod reader;
mod resize;
mod resolve;
mod run;
mod symbol;
pub mod text;
mod unknown;
mod words;
pub mod write;
mod wrong;

pub use bounds::Outside;
pub use canonical::{Canonical, Order};

use crate::affine::{Affine, VarId};
use crate::program::{ImageFormat, ImageKind, Name, Space, StorePolicy};
use crate::types::Scalar;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// The accesses of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Accesses {
    /// Every variable of the coordinates: group axes first, then lane axes, then loops in order of appearance.
    pub vars: Vec<NestVar>,
    /// Every tensor, in the order of the kernel's parameters, then its arrays in device or local memory.
    pub tensors: Vec<TensorUse>,
    /// What happens, in program order.
    pub nest: Vec<Nest>,
}

/// A variable of the coordinates. It runs `0, step, 2·step, …` below `trips · step` (plus its loop's `from`, which is part of the affine forms).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NestVar {
    /// Its name in the Program.
    pub name: Name,
    /// What it counts.
    pub kind: VarKind,
    /// How many values it takes; `None` where that depends on data.
    pub trips: Option<u32>,
}

/// What a variable counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VarKind {
    /// Work-groups along an axis (fastest first).
    Group,
    /// Work-items of a group along an axis (fastest first).
    Lane,
    /// Trips of a sequential loop: the number of the trip, from 0.
    Loop,
}

/// A tensor as the accesses see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TensorUse {
    /// Its name.
    pub name: Name,
    /// Where it lies, and how large it is.
    pub place: TensorPlace,
}

/// Where a tensor lies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TensorPlace {
    /// Row-major elements, slowest dimension first.
    Buffer {
        /// `Global`, `Constant` or `Local`.
        space: Space,
        /// Of one element.
        element: Scalar,
        /// Extents.
        dims: Vec<i64>,
        /// How they lie beyond that.
        layout: BufferLayout,
    },
    /// Four-component texels; coordinates are (x, y), y is 0 of one-dimensional ones. The layout of an `image2d` in memory is the
    /// device's; all others lie row by row ([`ImageKind::is_linear`]).
    Image {
        /// Which kind of image it is.
        #[serde(default)]
        kind: ImageKind,
        /// How a component is stored.
        format: ImageFormat,
        /// Texels.
        width: i64,
        /// Texels.
        height: i64,
    },
}

/// Where the elements of a buffer lie.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BufferLayout {
    /// Elements from one index to the next along each dimension, slowest first; empty where they are packed row-major.
    pub strides: Vec<i64>,
    /// Elements that (0, …, 0) lies after a boundary of every line.
    pub align: i64,
}

impl Accesses {
    /// Calls for every access, in program order.
    pub fn each<'a>(&'a self, to: &mut impl FnMut(&'a AccessRef)) {
        self.each_with_trips(&mut |access, _| to(access));
    }
    /// Calls for every access, in program order, with how often a work-item executes it: loops whose trips depend on data count as one.
    pub fn each_with_trips<'a>(&'a self, to: &mut impl FnMut(&'a AccessRef, f64)) {
        fn walk<'a>(all: &Accesses, nest: &'a [Nest], times: f64, to: &mut impl FnMut(&'a AccessRef, f64)) {
            for node in nest {
                match node {
                    Nest::Loop { var, body } => walk(all, body, times * f64::from(all.vars[usize::from(var.0)].trips.unwrap_or(1)), to),
                    Nest::Access(access) => to(access, times * f64::from(access.times)),
                    Nest::Barrier => {}
                }
            }
        }
        walk(self, &self.nest, 1.0, to);
    }
}

impl TensorPlace {
    /// Bytes it occupies, without padding.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Buffer { element, dims, .. } => dims.iter().map(|&d| d as u64).product::<u64>() * u64::from(element.bytes()),
            Self::Image { format, width, height, .. } => (*width * *height) as u64 * u64::from(format.bytes()),
        }
    }
}

/// A node of the nest.
// A nest is mostly accesses: boxing them would cost an allocation for each.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Nest {
    /// A loop around nodes.
    Loop {
        /// Its variable, of kind `Loop`.
        var: VarId,
        /// What each trip does.
        body: Vec<Nest>,
    },
    /// One access of every work-item.
    Access(AccessRef),
    /// A barrier: a new phase begins.
    Barrier,
}

/// One access.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccessRef {
    /// Position in [`Accesses::tensors`].
    pub tensor: u16,
    /// Load, store or atomic.
    pub kind: AccessKind,
    /// One affine form per dimension, slowest first for buffers, (x, y) for images.
    pub coords: SmallVec<[Affine; 4]>,
    /// Consecutive elements along the last dimension (1 for a texel).
    pub width: u8,
    /// The access happens where every bound holds.
    pub guard: Vec<AffineBound>,
    /// Which way a load takes.
    pub path: LoadPath,
    /// For an address that depends on data: what is known of it.
    pub indirect: Option<Indirect>,
    /// Which branch of the program it is in, where it states a condition for itself: what is loaded there is not at hand elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<u32>,
    /// Whether nobody waits for what is loaded before work-items of the group meet next: it is under way while others compute.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ahead: bool,
    /// How many accesses that follow each other, and differ in constants only, it stands for: 1 but in a Family's outlines
    /// ([`Family::outline`](crate::Family::outline)), which only coarse counts read.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub times: u32,
}

impl AccessRef {
    /// One access at known coordinates, in no branch of its own.
    pub fn plain(tensor: u16, kind: AccessKind, coords: SmallVec<[Affine; 4]>, width: u8, guard: Vec<AffineBound>) -> Self {
        Self { tensor, kind, coords, width, guard, path: LoadPath::Default, indirect: None, branch: None, ahead: false, times: 1 }
    }
}

fn one() -> u32 {
    1
}

fn is_one(times: &u32) -> bool {
    *times == 1
}

/// What is known of an address that depends on data: one or more of its coordinates are drawn anew for each value of each variable, but of
/// those that move other coordinates and none of these. Draws of different variables, and of different accesses, know nothing of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Indirect {
    /// How elements are drawn.
    pub pattern: Pattern,
    /// Elements that the drawn coordinates are one of; 1 says that the access's own coordinates are what is touched.
    pub elements: u64,
    /// Which of the coordinates are drawn, a bit each.
    pub drawn: u16,
}

/// How an element is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Pattern {
    /// Any of the elements, all equally likely.
    Random,
    /// As random, but that the threads of the launch, in the order in which blocks start and lanes are numbered, have theirs in ascending
    /// order: again in each trip of a loop.
    Sorted,
    /// Any of so many elements, all equally likely, in whose middle the access's own coordinate lies.
    Banded(u64),
}

impl Indirect {
    /// Whether what is touched is not the access's own coordinates.
    pub fn unknown(&self) -> bool {
        self.elements > 1 && self.pattern != Pattern::Banded(1)
    }
}

/// Which way a load takes to the first-level cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadPath {
    /// As any load.
    #[default]
    Default,
    /// Through the read-only (texture) path: `__ldg`.
    ReadOnly,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store(StorePolicy),
    /// Reads, changes, writes.
    Atomic,
}

impl AffineBound {
    /// An extent that is never reached: the bound says `0 ≤ value`.
    pub const UNBOUNDED: i64 = i64::MAX / 4;
}

/// `0 ≤ value < extent`; per lane of a vector access where so marked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AffineBound {
    /// The judged form.
    pub value: Affine,
    /// Its limit.
    pub extent: i64,
    /// See [`crate::Bound::per_lane`].
    pub per_lane: bool,
}
