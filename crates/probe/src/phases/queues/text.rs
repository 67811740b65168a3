//! CUDA C++ texts: the helpers, the constants of one kernel as `constexpr` lines, and its body.

use warpsight_run::CudaText;

/// Turns of a spin before a watchdog ends it: seconds on a GPU, where a turn takes about half a microsecond.
pub(in crate::phases) const SPINS: u32 = 1 << 22;
/// The same where a turn runs every other thread once.
pub(in crate::phases) const TINY_SPINS: u32 = 1 << 12;

/// One kernel's text.
pub(in crate::phases) struct Text {
    constants: Vec<(&'static str, u64)>,
    parts: Vec<&'static str>,
    entry: &'static str,
}

/// Texts that kernels are made of.
pub(in crate::phases) mod part {
    pub(in crate::phases) const TOKENS: &str = include_str!("tokens.cu");
    pub(in crate::phases) const WATCHDOG: &str = include_str!("watchdog.cu");
}

impl Text {
    /// A kernel whose body follows these parts.
    pub(in crate::phases) fn new(entry: &'static str, parts: &[&'static str]) -> Self {
        Self { constants: vec![], parts: parts.to_vec(), entry }
    }

    /// `constexpr unsigned name = value`.
    pub(in crate::phases) fn constant(mut self, name: &'static str, value: impl Into<u64>) -> Self {
        self.constants.push((name, value.into()));
        self
    }

    /// As a kernel of so many blocks of so many threads.
    pub(in crate::phases) fn launch(self, blocks: u32, threads: u32) -> CudaText {
        let constants = self.constants.iter().map(|(name, value)| format!("constexpr unsigned {name} = {value}u;\n"));
        let head = format!("constexpr unsigned kThreads = {threads}u;\n{}", constants.collect::<String>());
        let text = format!("{}\n{head}\n{}", include_str!("prelude.cu"), self.parts.join("\n"));
        CudaText {
            text,
            entry: self.entry.into(),
            grid: [blocks, 1, 1],
            block: [threads, 1, 1],
            dynamic_shared: 0,
            cluster: 1,
            cooperative: false,
            pinned: None,
        }
    }
}
