//! Why there is no machine code.

/// Names a folder with the compilers; nothing else is then looked at.
pub(super) const VARIABLE: &str = "WARPSIGHT_CUDA";

/// Python packages that bring the compilers and the headers they need.
pub(super) const PACKAGES: &str = "nvidia-cuda-nvrtc nvidia-cuda-nvcc nvidia-cuda-crt nvidia-cuda-runtime";

/// What logs call the text.
pub(super) const FILE: &str = "kernel.cu";

/// Why there is no machine code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolkitError {
    /// NVRTC is nowhere.
    #[error(
        "no NVRTC library; looked in {}; {VARIABLE} may name a folder of a CUDA toolkit, and `pip install {PACKAGES}` brings one",
        looked.join(", ")
    )]
    Missing {
        /// Where it was looked for.
        looked: Vec<String>,
    },
    /// The compiler makes no code for an architecture.
    #[error("NVRTC {version} makes no code for {arch}; it does for {}", supported.join(", "))]
    Architecture {
        /// For what.
        arch: String,
        /// The compiler's version.
        version: String,
        /// What it makes code for.
        supported: Vec<String>,
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

impl ToolkitError {
    /// The first line of the text that the compiler's log complains of.
    pub fn line(&self) -> Option<u32> {
        let Self::Refused { log, .. } = self else { return None };
        let position = |line: &str| line.split_once(FILE)?.1.strip_prefix('(')?.split(')').next()?.parse().ok();
        log.lines().filter(|line| line.contains("error")).find_map(position)
    }
}
