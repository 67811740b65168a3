//! Why a Program could not be simulated to its end.

use crate::code::FaultKind;
use warpsight_ir::Name;

/// The lane of a wave that did something forbidden, and what.
pub(crate) type LaneFault = (usize, FaultKind);

/// Why a Program could not be simulated to its end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimFault {
    /// A work-item did something forbidden.
    #[error("kernel `{kernel}`, group {group:?}, work-item {item}: {what}")]
    Fault {
        /// The kernel.
        kernel: Name,
        /// The group's coordinates, fastest first.
        group: Vec<u32>,
        /// The work-item's number in its group.
        item: u32,
        /// What it did.
        what: Box<FaultKind>,
    },
    /// A construct this simulator does not execute.
    #[error("kernel `{kernel}`: the simulator does not execute {what}")]
    Unsupported {
        /// The kernel.
        kernel: Name,
        /// The construct.
        what: String,
    },
    /// More than the device has.
    #[error("kernel `{kernel}`: {what} needs {needed}, the device has {available}")]
    Limit {
        /// The kernel.
        kernel: Name,
        /// What.
        what: String,
        /// How much it needs.
        needed: u64,
        /// How much there is.
        available: u64,
    },
    /// Where it goes or what it touches depends on what this tensor holds: only an execution tells how long it takes.
    #[error("kernel `{kernel}`: what it touches depends on the contents of `{tensor}`; it has to be executed")]
    NeedsData {
        /// The kernel.
        kernel: Name,
        /// The tensor.
        tensor: Name,
    },
    /// It does not end, or not in the steps that a launch may take.
    #[error("kernel `{kernel}`: more than {limit} steps; a loop without end? (`limits.steps` of the silicon)")]
    Steps {
        /// The kernel.
        kernel: Name,
        /// Steps of all waves that were taken.
        limit: u64,
    },
    /// It takes more cycles than were asked about.
    #[error("kernel `{kernel}`: more than {cycles} cycles")]
    Longer {
        /// The kernel.
        kernel: Name,
        /// The cycles.
        cycles: u64,
    },
    /// A rule of the simulator's own compiler that it broke.
    #[error("kernel `{kernel}`: the simulator contradicts itself: {what}")]
    Contradiction {
        /// The kernel.
        kernel: Name,
        /// The rule.
        what: &'static str,
    },
    /// An argument that is missing or of the wrong size.
    #[error("kernel `{kernel}`: argument `{argument}` {what}")]
    Binding {
        /// The kernel.
        kernel: Name,
        /// The size or tensor.
        argument: Name,
        /// What is wrong.
        what: String,
    },
}
