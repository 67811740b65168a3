//! OpenCL C 1.2.
//!
//! **Numbers.** Truth values are `bool`; in vectors, `intN` of −1 and 0. 16-bit floats are loaded and stored with the conversions that
//! every OpenCL C has (`vload_half`, `vstore_half_rte`; bit patterns for bfloat16). What is computed in half precision needs `cl_khr_fp16`.
//!
//! **Memory.** Buffers are `restrict`: a launch must not bind overlapping memory to two parameters. Store policies
//! are hints that OpenCL C cannot express; they are dropped. What lies at a multiple of a vector's length is read and written through a
//! pointer to vectors: buffers begin at a multiple of 128 bytes, as OpenCL's do (CL_DEVICE_MEM_BASE_ADDR_ALIGN) unless a caller's own
//! memory (CL_MEM_USE_HOST_PTR) does not.

mod dialect;
mod helpers;
mod words;

use crate::grid::{Grid, SizeError};
use crate::{Unsupported, clike};
use dialect::OpenCl;
use std::collections::BTreeMap;
use warpsight_ir::{Checked, Name};

pub(crate) use words::Vocabulary;

/// A kernel in OpenCL C.
///
/// Its arguments are the Program's parameters in order (buffers, images), then its sizes as `int`.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The text.
    pub text: String,
    /// The kernel function.
    pub entry: Name,
    /// Extensions that the device must have, such as `cl_khr_fp64`.
    pub extensions: Vec<&'static str>,
    /// The launch in hardware dimensions.
    pub global: Grid,
}

impl Source {
    /// Global and local size of a launch with the given sizes; see [`Grid::ndrange`].
    pub fn ndrange(&self, sizes: &BTreeMap<Name, i64>) -> Result<([u64; 3], [u64; 3]), SizeError> {
        self.global.ndrange(sizes)
    }
}

/// Choices that do not change what a kernel does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How products are added.
    pub contraction: Contraction,
}

/// How `a·b + c` is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contraction {
    /// `fma(a, b, c)` where the Program says so, rounded once; nothing else is contracted.
    #[default]
    Fma,
    /// `mad(a, b, c)`, rounded as the device likes, and other products may be contracted too: faster without fast `fma`.
    Mad,
}

/// Writes a Program in OpenCL C 1.2.
pub fn opencl(program: &Checked) -> Result<Source, Unsupported> {
    opencl_with(program, Options::default())
}

/// Writes a Program in OpenCL C 1.2, with choices.
pub fn opencl_with(program: &Checked, options: Options) -> Result<Source, Unsupported> {
    let written = clike::write(program, OpenCl::new(options))?;
    let (before, extensions) = written.dialect.before();
    let gap = if before.is_empty() { "" } else { "\n" };
    let text = format!("{before}{gap}{}", written.text);
    Ok(Source { text, entry: written.entry, extensions, global: Grid::of(&program.launch) })
}
