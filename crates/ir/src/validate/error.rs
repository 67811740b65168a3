//! What a Program can do wrong.

use crate::program::{Border, ImageKind, Name, Scope, Space};
use crate::text::Word;
use crate::types::{Scalar, Type};
use crate::typing::TypeError;

/// Which rule a Program breaks, and where.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("invalid program at {at}: {kind}\n  = help: {}", kind.help())]
pub struct Invalid {
    /// The way from the root: `param x`, `groups gx`, `body[3].for c.body[0]`.
    pub at: String,
    /// What is wrong there.
    #[source]
    pub kind: InvalidKind,
}

/// The rules of a Program, each as its violation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InvalidKind {
    /// About names.
    #[error(transparent)]
    Name(#[from] NameError),
    /// About sizes, parameters, arrays and the launch.
    #[error(transparent)]
    Declaration(#[from] DeclarationError),
    /// An expression without a type.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// About what a statement or a load refers to.
    #[error(transparent)]
    Use(#[from] UseError),
    /// A collective statement, or an operand of one, that not all work-items see alike.
    #[error(transparent)]
    Collective(#[from] CollectiveError),
}

/// A name that may not be used here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Something else than letters, digits and underscores, or a digit first.
    #[error("`{0}` is not a C identifier")]
    NotIdentifier(Name),
    /// A word that C, OpenCL C, CUDA C++ or the text form keeps to itself.
    #[error("`{0}` is a reserved word")]
    Reserved(Name),
    /// Two sizes, parameters, arrays or axes of one name.
    #[error("`{0}` is declared twice")]
    Twice(Name),
    /// A variable named like something in scope.
    #[error("`{0}` hides another `{0}` that is in scope")]
    Hides(Name),
    /// A size parameter that does not exist.
    #[error("no size is named `{0}`")]
    NoSize(Name),
    /// A buffer, image, channel or array that does not exist.
    #[error("no parameter or array is named `{0}`")]
    NoTensor(Name),
}

/// A wrong size, parameter, array or launch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeclarationError {
    /// A size's range is empty, negative, or beyond `i32`.
    #[error("the range {lo}..={hi} is not one of sizes")]
    SizeRange {
        /// Smallest value.
        lo: i64,
        /// Largest value.
        hi: i64,
    },
    /// An extent with more in it than constants, sizes and + − · / % min max.
    #[error("an extent may not contain {0}")]
    NotASizeExpression(&'static str),
    /// An extent that is a constant below 1.
    #[error("the extent is {0}")]
    NotPositive(i64),
    /// An extent that is constant and has no value: a division by zero, or beyond `i32`.
    #[error("the extent has no value as an i32")]
    NoValue,
    /// A tensor without dimensions.
    #[error("no dimensions")]
    NoDimensions,
    /// A tile that is not a matrix.
    #[error("a tile has 2 dimensions, not {0}")]
    TileDimensions(usize),
    /// An address space that such a thing cannot have.
    #[error("{what} cannot lie in {space:?} memory")]
    SpaceOf {
        /// A parameter or an array.
        what: &'static str,
        /// The space it names.
        space: Space,
    },
    /// A buffer in constant memory that is written.
    #[error("a buffer in constant memory is read only")]
    ConstantWritten,
    /// An image that is both read and written.
    #[error("an image is read or written, not both")]
    ImageReadWrite,
    /// An image of one dimension that is higher.
    #[error("an {} has one row", .0.word())]
    ImageHeight(ImageKind),
    /// An image without a sampler that reads outside.
    #[error("an image1d_buffer cannot have the border {}: it has no sampler", .0.word())]
    ImageBorder(Border),
    /// A channel of depth 0.
    #[error("a channel without room for a token")]
    NoDepth,
    /// An array, or a group, with more members than 2³¹.
    #[error("more than 2^31 of them")]
    TooMany,
    /// A sub-group that does not divide the group.
    #[error("a group of {group} work-items does not consist of sub-groups of {subgroup}")]
    Subgroup {
        /// Work-items of a group.
        group: u32,
        /// Lanes of a sub-group.
        subgroup: u32,
    },
}

/// A statement or load that does what it may not.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum UseError {
    /// A tensor of a kind or access that the operation does not take.
    #[error("cannot {action} `{name}`, {is}")]
    Cannot {
        /// What was tried: "load from".
        action: &'static str,
        /// The tensor.
        name: Name,
        /// What it is: "a tile".
        is: &'static str,
    },
    /// A coordinate vector of the wrong length.
    #[error("`{name}` has {expected} dimensions, the index {found}")]
    Dimensions {
        /// The tensor.
        name: Name,
        /// Its dimensions.
        expected: usize,
        /// Coordinates given.
        found: usize,
    },
    /// A texel beside the only row of its image.
    #[error("the row of a texel of `{name}`, an {}, is not the constant 0", kind.word())]
    Row {
        /// The image.
        name: Name,
        /// Of which kind it is.
        kind: ImageKind,
    },
    /// A value of the wrong type.
    #[error("{what} is of type {expected}, not {found}")]
    Type {
        /// Which value.
        what: &'static str,
        /// The type it must have.
        expected: Type,
        /// The type it has.
        found: Type,
    },
    /// A vector of a width that does not exist.
    #[error("a vector of {0} lanes")]
    Width(u8),
    /// A constant lane number beyond the vector.
    #[error("lane {lane} of a vector of {of}")]
    Lane {
        /// The lane asked for.
        lane: i64,
        /// Lanes there are.
        of: u8,
    },
    /// An assignment to something that does not change.
    #[error("`{0}` cannot be assigned")]
    NotAVar(Name),
    /// A loop that does not advance.
    #[error("a loop of step {0}")]
    Step(u32),
    /// An unroll factor of 0.
    #[error("unrolled by 0")]
    UnrollByZero,
    /// An element type that an atomic operation is not defined for.
    #[error("no such atomic on {0:?}")]
    AtomicElement(Scalar),
    /// A comparand without, or a missing one with, compare-exchange.
    #[error("a comparand belongs to compare-exchange, and to it alone")]
    Comparand,
    /// A scope that the operation cannot have.
    #[error("{what} cannot have the scope {scope:?}")]
    ScopeOf {
        /// A barrier, or an atomic on a local array.
        what: &'static str,
        /// The scope.
        scope: Scope,
    },
    /// A tile operation in a launch that names no sub-group.
    #[error("tile operations need the launch's sub-group")]
    NoSubgroup,
    /// Two tensors whose elements must agree.
    #[error("`{a}` and `{b}` have different elements")]
    Elements {
        /// One.
        a: Name,
        /// The other.
        b: Name,
    },
    /// Two tensors whose shapes must agree.
    #[error("the shapes of `{a}` and `{b}` do not fit")]
    Shapes {
        /// One.
        a: Name,
        /// The other.
        b: Name,
    },
    /// A tile element that `mma` is not defined for.
    #[error("mma is not defined for a tile of {0:?} here")]
    MmaElement(Scalar),
}

/// A collective statement that some work-items may miss.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CollectiveError {
    /// Control flow around it depends on the work-item.
    #[error("{what} where not all work-items come")]
    ControlFlow {
        /// The statement.
        what: &'static str,
    },
    /// An operand of it depends on the lane.
    #[error("{operand} of {what} differs between lanes")]
    Operand {
        /// The statement.
        what: &'static str,
        /// Which operand.
        operand: &'static str,
    },
}

impl InvalidKind {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Name(error) => match error {
                NameError::NotIdentifier(_) => "use ASCII letters, digits and underscores, a letter first",
                NameError::Reserved(_) => "append an underscore or a digit",
                NameError::Twice(_) => "sizes, parameters, arrays and axes share one set of names; rename one",
                NameError::Hides(_) => "rename the variable; only blocks beside each other may reuse a name",
                NameError::NoSize(_) => "declare it among the sizes",
                NameError::NoTensor(_) => "declare it among the parameters or arrays",
            },
            Self::Declaration(error) => match error {
                DeclarationError::SizeRange { .. } => "give 0 ≤ lo ≤ hi ≤ 2147483647",
                DeclarationError::NotASizeExpression(_) => "build it from i32 constants, sizes, + - * / % min max",
                DeclarationError::NotPositive(_) => "every extent is at least 1",
                DeclarationError::NoValue => "look for a division by zero or a product beyond 2147483647",
                DeclarationError::NoDimensions => "a single element has the extents [1]",
                DeclarationError::TileDimensions(_) => "give rows and columns",
                DeclarationError::SpaceOf { .. } => "parameters lie in global or constant memory, arrays are local, tile or private",
                DeclarationError::ConstantWritten => "place it in global memory, or give it read access",
                DeclarationError::ImageReadWrite => "use two images, or two programs",
                DeclarationError::ImageHeight(_) => "give the height 1 by leaving it out, or take an image of two dimensions",
                DeclarationError::ImageBorder(_) => "leave the border out, and guard reads that may lie outside",
                DeclarationError::NoDepth => "a channel's depth is at least 1",
                DeclarationError::TooMany => "make it smaller",
                DeclarationError::Subgroup { .. } => "choose lane extents whose product is a multiple of the sub-group",
            },
            Self::Type(error) => match error {
                TypeError::Unknown(_) => "declare it before, in this block or one around it",
                TypeError::Mismatch { .. } => "cast or splat one operand; nothing converts by itself",
                TypeError::Operand { .. } => "cast the operand first",
                TypeError::Width(_) => "use 1, 2, 3, 4, 8 or 16 lanes",
                TypeError::Slice { .. } => "take lanes that exist",
            },
            Self::Use(error) => match error {
                UseError::Cannot { .. } => "declare it with the kind and access that this needs",
                UseError::Dimensions { .. } => "give one coordinate per dimension, slowest first",
                UseError::Row { .. } => "leave the second coordinate out",
                UseError::Type { .. } => "cast, splat or slice the value",
                UseError::Width(_) => "use 1, 2, 3, 4, 8 or 16 lanes",
                UseError::Lane { .. } => "lanes are counted from 0",
                UseError::NotAVar(_) => "only what `var` declares is assigned",
                UseError::Step(_) => "a step is 1 to 2147483647",
                UseError::UnrollByZero => "give a factor of at least 1, or none",
                UseError::AtomicElement(_) => "use i32, u32, i64 or u64; add and exchange also take f32",
                UseError::Comparand => "give `compare` exactly where the operation is compare-exchange",
                UseError::ScopeOf { .. } => "barriers have sub-group or group scope; local memory is not seen beyond the group",
                UseError::NoSubgroup => "set launch.subgroup",
                UseError::Elements { .. } => "declare both with one element type",
                UseError::Shapes { .. } => "mma takes m×n, m×k, k×n; a token has the channel's extents",
                UseError::MmaElement(_) => "operands are f16, bf16 or f32, both the same; the accumulator is f32",
            },
            Self::Collective(error) => match error {
                CollectiveError::ControlFlow { .. } => {
                    "move it out of what depends on lanes, mutable memory or atomics; guard accesses instead"
                }
                CollectiveError::Operand { .. } => "compute it from constants, sizes, group axes and values loaded alike by all lanes",
            },
        }
    }
}
