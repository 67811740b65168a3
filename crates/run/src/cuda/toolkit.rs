//! Finding and calling NVRTC and `ptxas`.

use super::{Arch, Resources};
use std::path::PathBuf;

/// The compilers that were found.
#[derive(Clone, Debug)]
pub struct Toolkit {
    /// The NVRTC library.
    pub nvrtc: PathBuf,
    /// The assembler; `None` where only NVRTC is there.
    pub ptxas: Option<PathBuf>,
    /// Folders with `mma.h` and what it includes.
    pub includes: Vec<PathBuf>,
}

/// What compilation of one kernel gave.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// PTX text.
    pub ptx: String,
    /// Machine code.
    pub cubin: Vec<u8>,
    /// What it uses; `None` where there is no `ptxas` to say.
    pub resources: Option<Resources>,
}

/// Why there is no machine code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolkitError {
    /// NVRTC is nowhere.
    #[error("no NVRTC library; looked in {}", looked.join(", "))]
    Missing {
        /// Where it was looked for.
        looked: Vec<String>,
    },
    /// The compiler refused.
    #[error("{tool} refused kernel `{kernel}` for {arch}: {log}")]
    Refused {
        /// `NVRTC` or `ptxas`.
        tool: &'static str,
        /// The kernel.
        kernel: String,
        /// For what.
        arch: String,
        /// Its log.
        log: String,
    },
    /// A call failed otherwise.
    #[error("{call} failed: {why}")]
    Call {
        /// Which.
        call: String,
        /// Why.
        why: String,
    },
}

impl Toolkit {
    /// Looks for the compilers: `WARPSIGHT_CUDA`, `CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda`, Python wheels, the loader's path.
    ///
    /// # Errors
    /// [`ToolkitError::Missing`] says where it was looked for.
    pub fn find() -> Result<Self, ToolkitError> {
        Err(ToolkitError::Missing { looked: vec![] })
    }

    /// Compiles one kernel.
    ///
    /// # Errors
    /// [`ToolkitError::Refused`] with the compiler's log.
    pub fn compile(&self, _text: &str, _kernel: &str, _arch: Arch) -> Result<Compiled, ToolkitError> {
        Err(ToolkitError::Missing { looked: vec![] })
    }
}
