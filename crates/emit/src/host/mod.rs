//! What a user needs to run a sequence of kernels without warpsight: a launch description, a C header, a C host example.
//!
//! All three say the same; the C example builds with `cc NAME_host.c -lOpenCL` against any OpenCL from 1.2 on. Files that it reads
//! (kernels, weights) lie beside the executable.

use crate::names::sanitise;
use serde::Serialize;
use std::fmt::Write;
use warpsight_ir::{ImageFormat, ImageKind, Name};

/// A sequence of kernel launches and the memory they share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostPlan {
    /// What the files are called after; anything that is no C identifier is replaced.
    pub name: String,
    /// The kernels.
    pub kernels: Vec<HostKernel>,
    /// What they do.
    #[serde(flatten)]
    pub work: HostWork,
}

/// Launches and what they work on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostWork {
    /// Buffers and images.
    pub memory: Vec<HostMemory>,
    /// What runs, in order.
    pub launches: Vec<HostLaunch>,
    /// Positions in `memory` that the user fills, in the order of the example's arguments.
    pub inputs: Vec<usize>,
    /// Positions in `memory` that the user reads, in the order of the example's arguments, after the inputs.
    pub outputs: Vec<usize>,
}

/// Kernels that serve several shapes of one operator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostRange {
    /// What it is called.
    pub name: String,
    /// The sizes that differ from shape to shape.
    pub open: Vec<String>,
    /// The kernels.
    pub kernels: Vec<HostKernel>,
    /// What they do for each shape.
    pub shapes: Vec<HostShape>,
}

/// What is done for one shape.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostShape {
    /// The values of [`HostRange::open`].
    pub sizes: Vec<i64>,
    /// Launches, and memory of this shape.
    #[serde(flatten)]
    pub work: HostWork,
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
    /// In words: shape, element type, and how elements lie in it; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub contents: String,
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
    /// Position in [`HostPlan::kernels`] or [`HostRange::kernels`].
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
    /// Position in [`HostWork::memory`].
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
    /// A plan needs at least one kernel, memory and launch, since C has no empty tables; a range at least one shape.
    #[error("the plan has no {0}")]
    Empty(&'static str),
    /// A global size is no positive multiple of the local size.
    #[error("launch {launch}: {global} work-items cannot be split in groups of {local}")]
    Split {
        /// Position in [`HostWork::launches`].
        launch: usize,
        /// Work-items in the dimension.
        global: u64,
        /// Of a group.
        local: u64,
    },
}

/// The files of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct HostFiles {
    /// The launch description, `launch.json`.
    pub json: String,
    /// Name and text of the C header, `NAME.h`.
    pub header: (String, String),
    /// Name and text of the C host example, `NAME_host.c`.
    pub example: (String, String),
}

/// Writes the three files of a plan.
///
/// # Errors
/// A rule that the plan breaks.
pub fn files(plan: &HostPlan) -> Result<HostFiles, PlanError> {
    check(&plan.kernels, &plan.work)?;
    let name = sanitise(&plan.name);
    let example = include_str!("example.c").replace("@name@", &name).replace("@NAME@", &name.to_uppercase());
    Ok(HostFiles { json: pretty(plan), header: (format!("{name}.h"), header(plan, &name)), example: (format!("{name}_host.c"), example) })
}

/// Writes the launch description of kernels that serve several shapes.
///
/// # Errors
/// A rule that a shape breaks.
pub fn range(range: &HostRange) -> Result<String, PlanError> {
    if range.shapes.is_empty() {
        return Err(PlanError::Empty("shape"));
    }
    range.shapes.iter().try_for_each(|shape| check(&range.kernels, &shape.work))?;
    Ok(pretty(range))
}

fn check(kernels: &[HostKernel], work: &HostWork) -> Result<(), PlanError> {
    for (what, empty) in [("kernel", kernels.is_empty()), ("memory", work.memory.is_empty()), ("launch", work.launches.is_empty())] {
        if empty {
            return Err(PlanError::Empty(what));
        }
    }
    let within = |by: String, what: &'static str, index: usize, count: usize| {
        if index < count { Ok(()) } else { Err(PlanError::OutOfRange { by, what, index, count }) }
    };
    for (i, launch) in work.launches.iter().enumerate() {
        within(format!("launch {i}"), "kernel", launch.kernel, kernels.len())?;
        for arg in &launch.args {
            if let HostArg::Memory(index) = arg {
                within(format!("launch {i}"), "memory", *index, work.memory.len())?;
            }
        }
        for (&global, &local) in launch.global.iter().zip(&launch.local) {
            if global == 0 || local == 0 || global % local != 0 {
                return Err(PlanError::Split { launch: i, global, local });
            }
        }
    }
    for (by, indices) in [("an input", &work.inputs), ("an output", &work.outputs)] {
        for &index in indices {
            within(by.to_owned(), "memory", index, work.memory.len())?;
        }
    }
    Ok(())
}

fn pretty(description: &impl Serialize) -> String {
    // Plain structs with string keys always have a JSON form, so no message is lost here.
    serde_json::to_string_pretty(description).unwrap_or_default() + "\n"
}

/// The C header: everything the example does is in its tables.
fn header(plan: &HostPlan, name: &str) -> String {
    let upper = name.to_uppercase();
    let most = plan.work.launches.iter().map(|l| l.args.len()).max().unwrap_or(0).max(1);
    let mut h = include_str!("types.h").replace("@name@", name).replace("@NAME@", &upper).replace("@args@", &most.to_string());
    table(&mut h, name, "kernel", plan.kernels.iter().map(|k| format!("{{ {}, {} }}", text(&k.file), text(&k.entry))));
    table(&mut h, name, "memory", plan.work.memory.iter().map(|m| memory_row(m, &upper)));
    table(&mut h, name, "launch", plan.work.launches.iter().map(launch_row));
    for (what, indices) in [("input", &plan.work.inputs), ("output", &plan.work.outputs)] {
        // C has no empty arrays; the count says how many are meant.
        let mut list: Vec<String> = indices.iter().map(usize::to_string).collect();
        let count = list.len();
        list.resize(count.max(1), "0".to_owned());
        let _ = writeln!(h, "/* Positions in {name}_memories. */\nenum {{ {upper}_{}S = {count} }};", what.to_uppercase());
        let _ = writeln!(h, "static const int {name}_{what}s[] = {{ {} }};\n", list.join(", "));
    }
    let _ = writeln!(h, "#endif");
    h
}

fn table(h: &mut String, name: &str, what: &str, rows: impl ExactSizeIterator<Item = String>) {
    let plural = match what {
        "memory" => "memories",
        "launch" => "launches",
        _ => "kernels",
    };
    let _ = writeln!(h, "enum {{ {}_{} = {} }};", name.to_uppercase(), plural.to_uppercase(), rows.len());
    let _ = writeln!(h, "static const {name}_{what} {name}_{plural}[] = {{");
    for row in rows {
        let _ = writeln!(h, "    {row},");
    }
    let _ = writeln!(h, "}};\n");
}

fn memory_row(memory: &HostMemory, upper: &str) -> String {
    let file = match &memory.initial {
        HostInitial::Zero => "NULL".to_owned(),
        HostInitial::File(file) => text(file),
    };
    let (kind, width, height, channel, texel) = match memory.kind {
        HostMemoryKind::Buffer { .. } => ("BUFFER", 0, 0, "0", 0),
        HostMemoryKind::Image { image, width, height, format } => (kind(image), width, height, channel(format), format.bytes()),
    };
    let place = format!("{upper}_{kind}, {width}u, {height}u, {channel}, {texel}u");
    format!("{{ {}, {}u, {place}, {file} }}", text(&memory.name), memory.kind.bytes())
}

fn launch_row(launch: &HostLaunch) -> String {
    let args: Vec<String> = launch
        .args
        .iter()
        .map(|arg| match arg {
            HostArg::Memory(index) => format!("{{ {index}, 0 }}"),
            HostArg::Int(value) => {
                format!("{{ -1, {} }}", if *value == i32::MIN { "-2147483647 - 1".to_owned() } else { value.to_string() })
            }
        })
        .collect();
    let args = if args.is_empty() { "{ 0, 0 }".to_owned() } else { args.join(", ") };
    let triple = |[x, y, z]: [u64; 3]| format!("{{ {x}u, {y}u, {z}u }}");
    format!("{{ {}, {}, {{ {args} }}, {}, {} }}", launch.kernel, launch.args.len(), triple(launch.global), triple(launch.local))
}

/// Whether an image is of the kind that needs no word.
fn is_usual(kind: &ImageKind) -> bool {
    *kind == ImageKind::default()
}

fn kind(image: ImageKind) -> &'static str {
    match image {
        ImageKind::Image1d => "IMAGE1D",
        ImageKind::Image1dBuffer => "IMAGE1D_BUFFER",
        ImageKind::Image2d => "IMAGE2D",
        ImageKind::Image2dFromBuffer => "IMAGE2D_FROM_BUFFER",
    }
}

fn channel(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Rgba32F => "CL_FLOAT",
        ImageFormat::Rgba16F | ImageFormat::Rgba16H => "CL_HALF_FLOAT",
        ImageFormat::Rgba32I => "CL_SIGNED_INT32",
        ImageFormat::Rgba32U => "CL_UNSIGNED_INT32",
        ImageFormat::Rgba8Unorm => "CL_UNORM_INT8",
    }
}

/// A C string literal.
fn text(value: &str) -> String {
    let mut literal = String::from("\"");
    for byte in value.bytes() {
        match byte {
            b'"' | b'\\' => literal.extend(['\\', char::from(byte)]),
            b' '..=b'~' => literal.push(char::from(byte)),
            // Three octal digits end by themselves, whatever follows.
            _ => {
                let _ = write!(literal, "\\{byte:03o}");
            }
        }
    }
    literal + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted() {
        assert_eq!(text("a\"b\\c\nü"), "\"a\\\"b\\\\c\\012\\303\\274\"");
    }
}
