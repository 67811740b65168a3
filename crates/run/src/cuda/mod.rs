//! NVIDIA GPUs: the CUDA driver, loaded at run time, and the compilers that turn CUDA C++ into machine code, with or without a GPU.
//!
//! The functions of the driver that are called stand in `driver/functions`, with the types that cudarc has for CUDA 12.8. Machine code is kept
//! on disk under the text, the architecture and the options alone, so that another machine can [`prepare()`] it. A library
//! that exports `warpsight_simulated_driver` is a stand-in without a GPU behind it: its times count as simulated.

mod compile;
mod device;
mod driver;
mod listing;
mod prepare;

pub use compile::{Compiled, NotAnArch, Toolkit, ToolkitError};
pub use device::Cuda;
pub use listing::list;
pub use prepare::{prepare, prepare_own};

use serde::{Deserialize, Serialize};

/// What machine code is made for: `sm_80`, `sm_90a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Arch {
    /// Compute capability times ten: 80, 90, 100.
    pub capability: u32,
    /// Whether instructions of exactly this architecture may be used (`a`).
    pub specific: bool,
}

/// What `ptxas` says of one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// 32-bit registers of a thread.
    pub registers: u32,
    /// Bytes of a thread's stack frame.
    pub stack_bytes: u32,
    /// Bytes of spill stores of a thread.
    pub spill_store_bytes: u32,
    /// Bytes of spill loads of a thread.
    pub spill_load_bytes: u32,
    /// Bytes of static shared memory of a block.
    pub shared_bytes: u32,
    /// Bytes of constant memory, arguments included.
    pub constant_bytes: u32,
    /// Hardware barriers used.
    pub barriers: u32,
}
