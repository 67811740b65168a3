//! Kernels compiled ahead, on this or another machine, for devices whose driver comes without NVRTC.

use super::Arch;
use super::compile::{KernelText, Toolkit, ToolkitError};
use super::device::passes::empty_kernel;
use super::device::{fill, flush};
use crate::cache::Cache;
use std::path::Path;
use warpsight_ir::Feedback;

/// Compiles a kernel into a directory that devices are then given as their cache. What is there already is not compiled again.
///
/// # Errors
/// [`ToolkitError`] as from [`Toolkit::compile`].
pub fn prepare(toolkit: &Toolkit, text: &str, entry: &str, arch: Arch, cache: &Path) -> Result<Feedback, ToolkitError> {
    let kernel = KernelText { name: entry.into(), text: text.into(), entry: entry.into() };
    kernel.prepare(toolkit, arch, &Cache(Some(cache.into())))
}

/// [`prepare`] for the kernels that devices use themselves: the empty one, those that fill large arrays, and the one that flushes.
///
/// # Errors
/// [`ToolkitError`] as from [`Toolkit::compile`].
pub fn prepare_own(toolkit: &Toolkit, arch: Arch, cache: &Path) -> Result<(), ToolkitError> {
    let cache = Cache(Some(cache.into()));
    [empty_kernel(), fill::random(), fill::cycle(), flush::kernel()]
        .iter()
        .try_for_each(|kernel| kernel.prepare(toolkit, arch, &cache).map(drop))
}
