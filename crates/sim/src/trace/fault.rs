//! Why a kernel cannot be traced.

use warpsight_ir::Name;
use warpsight_ir::occupancy::CannotRun;

/// Why a kernel cannot be traced.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TraceFault {
    /// Not even one work-group fits a core.
    #[error(transparent)]
    CannotRun(#[from] CannotRun),
    /// Caches that contradict themselves.
    #[error("the caches contradict themselves: {0}")]
    Levels(String),
    /// A loop whose trips depend on data.
    #[error("how often loop `{0}` runs depends on data")]
    Trips(Name),
    /// Group or lane variables that do not make up the launch.
    #[error("the {what} of the accesses are {vars}, those of the launch {launch}")]
    Launch {
        /// Work-groups or work-items of a group.
        what: &'static str,
        /// As the variables have it.
        vars: u64,
        /// As the launch has it.
        launch: u64,
    },
    /// Addresses beyond all numbers.
    #[error("addresses of `{0}` leave what 62 bits hold")]
    TooFar(Name),
}
