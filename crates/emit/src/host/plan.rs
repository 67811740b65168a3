//! What a launch description says: kernels, and for each shape memory and launches.

use serde::{Serialize, Serializer};
use warpsight_ir::{ImageFormat, ImageKind, Name, Scalar};

/// Kernels, and what they do: of a network or an operator of one shape once, of an operator whose sizes are open for each shape.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostPlan {
    /// What the files are called after; anything that is no C identifier is replaced.
    pub name: String,
    /// The device that the kernels were chosen for.
    pub device: String,
    /// Names of the sizes that differ from shape to shape; none where there is one shape.
    pub open: Vec<String>,
    /// The kernels.
    pub kernels: Vec<HostKernel>,
    /// What they do for each shape.
    pub shapes: Vec<HostShape>,
}

/// What is done for one shape.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostShape {
    /// The values of [`HostPlan::open`].
    pub sizes: Vec<i64>,
    /// Buffers and images.
    pub memory: Vec<HostMemory>,
    /// What runs, in order.
    pub launches: Vec<HostLaunch>,
    /// Positions in `memory` that the user fills, in the order of the example's arguments.
    pub inputs: Vec<usize>,
    /// Positions in `memory` that the user reads, in the order of the example's arguments, after the inputs.
    pub outputs: Vec<usize>,
}

/// A kernel in a file of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostKernel {
    /// The file with its source, relative to the executable's folder.
    pub file: String,
    /// The kernel function in it.
    pub entry: Name,
}

/// A buffer or image.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostMemory {
    /// Its name.
    pub name: Name,
    /// What it is.
    #[serde(flatten)]
    pub kind: HostMemoryKind,
    /// What it holds before the first launch.
    pub initial: HostInitial,
    /// The tensor in it; of memory that several share, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tensor: Option<HostTensor>,
}

/// How the elements of a tensor lie in memory.
///
/// The element at index `i` has along each axis of memory the coordinate `i[dim] / stride % extent`. In a buffer its number, in elements,
/// is the coordinates read as one number, the first axis being the slowest. In an image so do the first `rows` axes make the row and those
/// up to the last the column of a texel; the last axis is the component. Places that no element has hold zeros in constants, and have to in what is
/// given; in what comes back they may hold anything.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostTensor {
    /// The type of an element.
    #[serde(serialize_with = "name")]
    pub element: Scalar,
    /// Extents, slowest first.
    pub shape: Vec<i64>,
    /// The axes of memory, slowest first.
    pub axes: Vec<HostAxis>,
    /// Of an image how many of the axes make the row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<usize>,
}

/// An axis of memory: a dimension or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HostAxis {
    /// The dimension.
    pub dim: usize,
    /// Elements of the dimension from one place along this axis to the next.
    pub stride: i64,
    /// Places along this axis.
    pub extent: i64,
}

/// The kinds of memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HostMemoryKind {
    /// Plain bytes.
    Buffer {
        /// How many; at least 1.
        bytes: u64,
    },
    /// Four-component texels, row by row in files.
    Image {
        /// Which kind of image; `image2d` where the description does not say.
        #[serde(skip_serializing_if = "is_usual")]
        image: ImageKind,
        /// Texels.
        width: u64,
        /// Texels.
        height: u64,
        /// How a component is stored.
        format: ImageFormat,
    },
}

impl HostMemoryKind {
    /// Bytes in a file that holds it.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Buffer { bytes } => bytes,
            Self::Image { width, height, format, .. } => width * height * u64::from(format.bytes()),
        }
    }
}

/// What memory holds at the start.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostInitial {
    /// Zeroes.
    Zero,
    /// The bytes of a file, relative to the executable's folder.
    File(String),
}

/// One launch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostLaunch {
    /// Position in [`HostPlan::kernels`].
    pub kernel: usize,
    /// The kernel's arguments in order.
    pub args: Vec<HostArg>,
    /// Work-items per dimension in all.
    pub global: [u64; 3],
    /// Work-items of a group per dimension.
    pub local: [u64; 3],
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostArg {
    /// Position in [`HostShape::memory`].
    Memory(usize),
    /// An `int`: the value of a size.
    Int(i32),
}

/// A rule that a plan breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A launch, input or output refers to something the plan does not have.
    #[error("{by} refers to {what} {index}, of which there are {count}")]
    OutOfRange {
        /// Who refers.
        by: String,
        /// `kernel` or `memory`.
        what: &'static str,
        /// The position.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A plan needs at least one kernel, shape, memory and launch, since C has no empty tables.
    #[error("the plan has no {0}")]
    Empty(&'static str),
    /// A global size is no positive multiple of the local size.
    #[error("launch {launch}: {global} work-items cannot be split in groups of {local}")]
    Split {
        /// Position in [`HostShape::launches`].
        launch: usize,
        /// Work-items in the dimension.
        global: u64,
        /// Of a group.
        local: u64,
    },
    /// A shape has not as many of something as the plan or its first shape.
    #[error("{found} {what} instead of {wanted}")]
    Number {
        /// `sizes`, `inputs` or `outputs`.
        what: &'static str,
        /// How many it has.
        found: usize,
        /// How many it needs.
        wanted: usize,
    },
    /// What is wrong with the shape of these sizes.
    #[error("shape {}: {error}", sizes.iter().map(i64::to_string).collect::<Vec<_>>().join("x"))]
    Shape {
        /// Its open sizes.
        sizes: Vec<i64>,
        /// The rule that it breaks.
        error: Box<PlanError>,
    },
}

impl HostPlan {
    /// Holds the plan against its rules.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn check(&self) -> Result<(), PlanError> {
        for (what, empty) in [("kernel", self.kernels.is_empty()), ("shape", self.shapes.is_empty())] {
            if empty {
                return Err(PlanError::Empty(what));
            }
        }
        self.shapes.iter().try_for_each(|shape| {
            let named = |error| match &shape.sizes[..] {
                [] => error,
                sizes => PlanError::Shape { sizes: sizes.to_vec(), error: Box::new(error) },
            };
            self.check_shape(shape).map_err(named)
        })
    }

    fn check_shape(&self, shape: &HostShape) -> Result<(), PlanError> {
        let first = &self.shapes[0];
        for (what, found, wanted) in [
            ("sizes", shape.sizes.len(), self.open.len()),
            ("inputs", shape.inputs.len(), first.inputs.len()),
            ("outputs", shape.outputs.len(), first.outputs.len()),
        ] {
            if found != wanted {
                return Err(PlanError::Number { what, found, wanted });
            }
        }
        for (what, empty) in [("memory", shape.memory.is_empty()), ("launch", shape.launches.is_empty())] {
            if empty {
                return Err(PlanError::Empty(what));
            }
        }
        let within = |by: String, what: &'static str, index: usize, count: usize| {
            if index < count { Ok(()) } else { Err(PlanError::OutOfRange { by, what, index, count }) }
        };
        for (i, launch) in shape.launches.iter().enumerate() {
            within(format!("launch {i}"), "kernel", launch.kernel, self.kernels.len())?;
            for arg in &launch.args {
                if let HostArg::Memory(index) = arg {
                    within(format!("launch {i}"), "memory", *index, shape.memory.len())?;
                }
            }
            for (&global, &local) in launch.global.iter().zip(&launch.local) {
                if global == 0 || local == 0 || global % local != 0 {
                    return Err(PlanError::Split { launch: i, global, local });
                }
            }
        }
        for (by, indices) in [("an input", &shape.inputs), ("an output", &shape.outputs)] {
            for &index in indices {
                within(by.to_owned(), "memory", index, shape.memory.len())?;
            }
        }
        Ok(())
    }
}

/// Whether an image is of the kind that needs no word.
fn is_usual(kind: &ImageKind) -> bool {
    *kind == ImageKind::default()
}

fn name<S: Serializer>(element: &Scalar, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(element.name())
}
