//! Why a job, a session's request or a draw cannot run: which part of it, and what is wrong with that.

use serde::{Deserialize, Serialize};
use std::fmt;
use warpsight_ir::text::Word;
use warpsight_ir::{Hazard, ImageFormat, ImageKind, Name, Scalar};

/// A part that contradicts itself, its Program or its device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobError {
    /// Which part.
    pub field: Field,
    /// What is wrong with it.
    pub reason: Reason,
}

impl std::error::Error for JobError {}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Field::Draw => write!(f, "{}", self.reason),
            Field::Memory(memory) => write!(f, "memory {memory} {}", self.reason),
            field => write!(f, "{field}: {}", self.reason),
        }
    }
}

/// A part of a job; numbers are positions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Field {
    /// One of the programs.
    #[error("program {program} (`{kernel}`)")]
    Program {
        /// Which.
        program: usize,
        /// Its kernel.
        kernel: String,
    },
    /// A piece of memory.
    #[error("memory {0}")]
    Memory(usize),
    /// A peek.
    #[error("peek {0}")]
    Peek(usize),
    /// A launch whose program there is not.
    #[error("launch {0}")]
    Launch(usize),
    /// A launch.
    #[error("launch {launch} (`{kernel}`)")]
    LaunchOf {
        /// Which.
        launch: usize,
        /// The kernel.
        kernel: String,
    },
    /// An argument of a launch.
    #[error("launch {launch} (`{kernel}`): `{param}`, memory {memory}")]
    Argument {
        /// Which launch.
        launch: usize,
        /// The kernel.
        kernel: String,
        /// The parameter.
        param: Name,
        /// The memory that is bound to it.
        memory: usize,
    },
    /// A draw.
    #[error("the draw")]
    Draw,
}

/// What is wrong with a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
pub enum Reason {
    /// A Program breaks its own rules.
    #[error("{0}")]
    Invalid(String),
    /// Text is launched with nothing.
    #[error("a launch of no blocks or threads")]
    NoBlocks,
    /// Clusters and blocks do not go together.
    #[error("clusters of {cluster} do not divide {blocks} blocks")]
    Cluster {
        /// Blocks of a cluster.
        cluster: u32,
        /// Blocks along x.
        blocks: u32,
    },
    /// The name of a kernel function is none.
    #[error("`{0}` is no name of a kernel")]
    KernelName(String),
    /// Memory of no bytes.
    #[error("is empty")]
    Empty,
    /// Its contents do not fit.
    #[error(transparent)]
    Contents(#[from] InitError),
    /// It is to be read, and is not there.
    #[error("is to be read, there are {there}")]
    NotThereToRead {
        /// How many there are.
        there: usize,
    },
    /// It is to be written, and is not there.
    #[error("is to be written, there are {there}")]
    NotThereToWrite {
        /// How many there are.
        there: usize,
    },
    /// There is no such memory.
    #[error("there is no memory {0}")]
    NoMemory(usize),
    /// Pieces are read of buffers only.
    #[error("memory {0} is an image")]
    IsImage(usize),
    /// Bytes beyond the end.
    #[error("{bytes} bytes from {from} on lie outside memory {memory} of {size}")]
    Outside {
        /// How many.
        bytes: u64,
        /// The first.
        from: u64,
        /// The memory.
        memory: usize,
        /// Its bytes.
        size: u64,
    },
    /// There is no such program.
    #[error("there is no program {0}")]
    NoProgram(usize),
    /// An argument is bound to what is not there.
    #[error("an argument is memory {memory}, there are {there}")]
    NoArgument {
        /// As bound.
        memory: usize,
        /// How many there are.
        there: usize,
    },
    /// A parameter is bound to what is not there.
    #[error("`{param}` is bound to memory {memory}, there are {there}")]
    Unbound {
        /// The parameter.
        param: Name,
        /// As bound.
        memory: usize,
        /// How many there are.
        there: usize,
    },
    /// An argument that is to stay in the cache is not there.
    #[error("argument {argument} is to stay in the cache, there are {there}")]
    NotPinned {
        /// As named.
        argument: usize,
        /// How many there are.
        there: usize,
    },
    /// Only buffers stay in the cache.
    #[error("an image cannot be kept in the cache")]
    PinnedImage,
    /// More or fewer sizes than the Program declares.
    #[error("{given} sizes for {wanted}")]
    Sizes {
        /// How many are given.
        given: usize,
        /// How many are declared.
        wanted: usize,
    },
    /// A size outside what the Program declares.
    #[error("size `{size}` is {value}, outside {lo} to {hi}")]
    SizeOutside {
        /// The size.
        size: Name,
        /// As given.
        value: i64,
        /// Smallest.
        lo: i64,
        /// Largest.
        hi: i64,
    },
    /// More or fewer arguments than the Program has parameters.
    #[error("{given} arguments for {wanted} parameters")]
    Arguments {
        /// How many are given.
        given: usize,
        /// How many are declared.
        wanted: usize,
    },
    /// Memory is too small for a parameter.
    #[error("{needed} bytes are needed, it has {available}")]
    TooSmall {
        /// Bytes of the parameter.
        needed: u64,
        /// Bytes of the memory.
        available: u64,
    },
    /// An image of another kind.
    #[error("an {} is needed, it is an {}", needed.word(), available.word())]
    Kind {
        /// The parameter's.
        needed: ImageKind,
        /// The memory's.
        available: ImageKind,
    },
    /// An image of one dimension that is higher.
    #[error("is an {} of {height} rows, which has one", kind.word())]
    Height {
        /// Which kind of image.
        kind: ImageKind,
        /// As asked for.
        height: u32,
    },
    /// An image over a buffer, where the device has none.
    #[error("is an image2d_from_buffer, for which the device lacks cl_khr_image2d_from_buffer")]
    FromBuffer,
    /// An image of another format.
    #[error("the format {needed:?} is needed, it has {available:?}")]
    Format {
        /// The parameter's.
        needed: ImageFormat,
        /// The memory's.
        available: ImageFormat,
    },
    /// An image of other extents.
    #[error("{} × {} texels are needed, it has {} × {}", needed.0, needed.1, available.0, available.1)]
    Texels {
        /// Width and height of the parameter.
        needed: (u64, u64),
        /// Width and height of the memory.
        available: (u32, u32),
    },
    /// An image where a buffer is needed.
    #[error("a buffer is needed, it is an image")]
    NotABuffer,
    /// A buffer where an image is needed.
    #[error("an image is needed, it is a buffer")]
    NotAnImage,
    /// Channels join Programs that run together.
    #[error("a channel needs Programs that run together, a job runs them one by one")]
    Channel,
    /// An extent of a parameter has no value.
    #[error("{0}")]
    Extent(String),
    /// A number that the driver takes as 32 bits.
    #[error("{what} exceeds 32 bits")]
    Beyond32Bits {
        /// The number and what it is of.
        what: String,
    },
    /// One piece of memory is bound twice and written, where that is no work in place.
    #[error("`{first}` and `{second}` are both memory {memory}, and one of them is written: {why}")]
    Shared {
        /// A parameter.
        first: Name,
        /// Another.
        second: Name,
        /// What both are bound to.
        memory: usize,
        /// What forbids that.
        why: Hazard,
    },
    /// An argument as the simulator found it.
    #[error("argument `{argument}` {what}")]
    Binding {
        /// The argument.
        argument: Name,
        /// What is wrong with it.
        what: String,
    },
    /// A draw that means nothing.
    #[error("{0}")]
    Draw(String),
}

/// A rule for contents that does not fit its memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum InitError {
    /// More bytes than this machine can hold.
    #[error("{bytes} bytes exceed this machine's address space")]
    AddressSpace {
        /// How many.
        bytes: u64,
    },
    /// Other bytes than the memory has.
    #[error("has {bytes} bytes, its first contents {given}")]
    Bytes {
        /// Of the memory.
        bytes: u64,
        /// Given.
        given: u64,
    },
    /// Truth values are not random.
    #[error("cannot hold random truth values")]
    Truth,
    /// No whole number of elements.
    #[error("has {bytes} bytes, no multiple of {}", element.bytes())]
    Elements {
        /// Of the memory.
        bytes: u64,
        /// The type of an element.
        element: Scalar,
    },
    /// A cycle through so many slots is none.
    #[error("a cycle needs a power of two of slots, at least 4, not {slots}")]
    Slots {
        /// How many.
        slots: u32,
    },
    /// Slots of no size.
    #[error("a cycle needs a stride of at least 1")]
    Stride,
    /// Positions are 32 bits.
    #[error("a cycle over {elements} elements exceeds 32 bits")]
    Elements32 {
        /// How many.
        elements: u64,
    },
    /// A cycle longer than its memory.
    #[error("has {bytes} bytes, its cycle {needed}")]
    Cycle {
        /// Of the memory.
        bytes: u64,
        /// Of the cycle.
        needed: u64,
    },
}

impl InitError {
    /// The error of that piece of memory.
    pub(crate) fn of(self, memory: usize) -> crate::DeviceError {
        Reason::from(self).at(Field::Memory(memory))
    }
}

impl Reason {
    /// The error of that part.
    pub(crate) fn at(self, field: Field) -> crate::DeviceError {
        crate::DeviceError::BadJob(Box::new(JobError { field, reason: self }))
    }

    /// The error of a draw.
    pub(crate) fn draw(what: impl Into<String>) -> crate::DeviceError {
        Self::Draw(what.into()).at(Field::Draw)
    }
}
