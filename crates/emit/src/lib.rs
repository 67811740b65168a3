//! Programs as source text: OpenCL C, CUDA C++, and what a user needs to run it elsewhere. Pure: no I/O, same Program, same text.
//!
//! [`opencl()`] turns a [`Checked`](warpsight_ir::Checked) Program into a [`Source`], [`cuda()`] into a [`CudaSource`]; [`host`] writes the
//! launch description, C header and C host example of a sequence of kernels. Both languages are dialects of one writer (`clike`). What
//! every emitter shares has modules of its own: [`grid`] (named axes on hardware dimensions), [`index`] (linear positions), [`divisor`]
//! (powers of two that divide integers), [`names`] (identifiers).
//!
//! ```
//! use warpsight_ir::{Checked, text};
//! let text = "
//! program twice {
//!   read buffer x: f32[4]
//!   write buffer y: f32[4]
//!   lanes l = 4
//!   { y[l] = x[l] * 2.0 }
//! }";
//! let source = warpsight_emit::opencl(&Checked::new(text::parse(text)?)?)?;
//! assert!(source.text.contains("void twice("), "{}", source.text);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clike;
pub mod cuda;
pub mod divisor;
pub mod grid;
pub mod host;
pub mod index;
pub mod names;
mod opencl;

pub use cuda::{CUDA_OPTIONS, CudaSource, cuda};
pub use grid::{Grid, SizeError};
pub use opencl::{Contraction, Options, Source, opencl, opencl_with};

/// A construct of the Program that the target language cannot express.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{target} has no form for {what}")]
pub struct Unsupported {
    /// The language.
    pub target: &'static str,
    /// The construct, in words.
    pub what: String,
}
