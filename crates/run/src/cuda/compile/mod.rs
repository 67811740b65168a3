//! From CUDA C++ to machine code, and into the device.

mod arch;
mod build;
mod error;
mod nvrtc;
mod ptxas;
mod toolkit;

pub use arch::NotAnArch;
pub(crate) use build::{Built, KernelText, Target};
pub use error::ToolkitError;
pub use toolkit::{Compiled, Toolkit};
