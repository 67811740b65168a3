//! To be written.

use crate::Phase;

/// The phases of this module.
pub(super) fn phases() -> Vec<Phase> {
    vec![]
}
