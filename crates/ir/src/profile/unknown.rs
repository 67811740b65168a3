//! What is not known, and what cannot be said for that.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A number that is needed and not known: of a profile, of a device, or of what is made of such numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct Unknown {
    /// Its path, as in the profile's text form: `memory.l2.bandwidth`.
    pub field: Cow<'static, str>,
    /// Why nobody knows it.
    pub reason: String,
}

impl Unknown {
    /// That a number is not known, and why.
    pub fn new(field: impl Into<Cow<'static, str>>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }
}

/// Why a model gives no estimate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEstimate {
    /// A number of the profile is needed and not known.
    #[error("profile `{profile}` lacks `{}`: {}", unknown.field, unknown.reason)]
    Missing {
        /// The profile's name.
        profile: String,
        /// Which number, and why it is not known.
        unknown: Unknown,
    },
    /// The kernel cannot run on this device.
    #[error("the device cannot run it: {0}")]
    CannotRun(String),
    /// The work is of a kind the model does not cover.
    #[error("not covered by this model: {0}")]
    NotCovered(String),
}
