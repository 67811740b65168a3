//! A second witness of data volumes: a kernel's touches executed one by one through caches that let go of what was not used for longest.
//!
//! Nothing is counted by a formula. Work-groups start in launch order on cores with room for them; the warps of all resident groups take
//! turns, each of a store or of a few loads that need nothing of each other ([`Options::turn`]); the lanes of an access become addresses,
//! these the distinct sectors of its request, and these go through the core's first-level cache, the second level that all share, and device
//! memory. What is reused depends on who came in between, as on hardware. Models that count the same volumes in closed form share nothing
//! with it but the kernel and the arithmetic of residency in [`warpsight_ir`].
//!
//! What is taken for granted: warps proceed in step, whatever their requests have to wait for; the order of accesses is that of the text;
//! first levels are written through and do not keep what is only written; data-dependent addresses are drawn once, from a seed; local memory
//! and constants are no part of the volumes, nor is what compilers spill. A launch that is too long is executed in part ([`Part`]).
//!
//! The files, in the order in which they know each other: `options`, `fault`, `levels` (what a GPU has), `volumes`; `lru` (a cache), `memory` (the
//! caches of a GPU); `form`, `draw` (linear addresses, and dice), `touch` (an access), `joined` (accesses that compilers make one), `laid` (where
//! tensors lie), `script` (a kernel as steps); `request` (lanes to sectors), `launch` (who does what when).

mod draw;
mod fault;
mod form;
mod joined;
mod laid;
mod launch;
mod levels;
mod lru;
mod memory;
mod options;
mod request;
mod script;
mod touch;
mod volumes;

pub use fault::TraceFault;
pub use levels::{Level, Levels};
pub use options::Options;
pub use volumes::{Part, Traced, Volumes};

use warpsight_ir::Kernel;
use warpsight_ir::occupancy::occupancy;

/// Executes the touches of a launch of this kernel.
///
/// # Errors
/// See [`TraceFault`].
pub fn trace(kernel: &Kernel, levels: &Levels, options: &Options) -> Result<Traced, TraceFault> {
    levels.check()?;
    let resident = occupancy(&levels.residency, kernel.registers, kernel.launch.group_size(), kernel.local)?;
    let script = script::Script::of(kernel, levels, options.seed)?;
    let memory = memory::Memory::new(levels, resident.groups, kernel.local, script.names.len());
    Ok(launch::Launch::new(&script, memory, levels, resident).run(*options))
}
