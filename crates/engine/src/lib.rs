//! From a planned graph or a single operator to verified, timed kernels on a device.
//!
//! One configuration of a matrix product, compared with its reference and timed on the simulated GPU:
//!
//! ```
//! use warpsight_engine::verify::Trial;
//! use warpsight_generate::{ScheduleFamily, operators::parse_operator};
//! use warpsight_ir::Family;
//! use warpsight_run::{Options, TimingSpec};
//! let family = ScheduleFamily::new(parse_operator("matmul m=16 n=16 k=16")?.steps.remove(0));
//! let config = &family.configs().next().ok_or("no configuration")?;
//! let (program, layouts) = (family.finish(config)?, family.layouts(config)?);
//! let trial = Trial::new(family.expr(), &layouts, &mut fastrand::Rng::with_seed(1));
//! let mut device = warpsight_run::open("sim:adreno640", &Options::default())?;
//! let result = device.run(&trial.job(&program, Some(TimingSpec::runs(1))))?;
//! let verdict = trial.judge(&result).map_err(|wrong| wrong.to_string())?;
//! assert!(verdict.rel_l2 < 1e-5 && result.timed.times[0].first().is_some_and(|time| time.0 > 0.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod candidates;
pub mod dynamic;
mod elsewhere;
pub mod found;
pub mod network;
mod places;
pub mod search;
mod sequence;
pub mod settle;
pub mod tune;
pub mod verify;

use warpsight_graph::NoRoom;
use warpsight_ir::{LowerError, NoEstimate};
use warpsight_run::DeviceError;

/// Why the engine gives up.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A family lowered to something invalid: a defect of this project.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// The model lacks a number.
    #[error(transparent)]
    Estimate(#[from] NoEstimate),
    /// The device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// No candidate gave right results.
    #[error("no kernel for `{name}` could be verified on this device ({tried} tried); the first failed because {first}")]
    NothingVerified {
        /// The expression.
        name: String,
        /// Candidates tried.
        tried: usize,
        /// Why the first failed.
        first: String,
    },
    /// Kernels that find no place for a tensor between them.
    #[error("the kernels that use `{tensor}` agree on no place where it could lie")]
    NoPlace {
        /// The tensor.
        tensor: String,
    },
    /// A tensor without elements.
    #[error("tensor `{name}` has shape {shape:?}: nothing to compute")]
    EmptyTensor {
        /// The tensor.
        name: String,
        /// Its shape.
        shape: Vec<i64>,
    },
    /// Tensors that are not held in memory together.
    #[error("the tensors of `{name}` take {bytes} bytes together; {why}")]
    TooLarge {
        /// The operator.
        name: String,
        /// Their size.
        bytes: u64,
        /// Why they are not.
        why: NoRoom,
    },
    /// The user asked for an end.
    #[error("interrupted")]
    Interrupted,
    /// A sample could not be stored.
    #[error("a result could not be stored: {0}")]
    Store(String),
}
