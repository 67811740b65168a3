//! What is wrong in the text form of accesses.

use std::ops::Range;

/// What is wrong in the text, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct TextError {
    /// In words.
    pub what: String,
    /// What stands at the place.
    pub label: Option<String>,
    /// What to do, where that is not plain.
    pub help: Option<String>,
    /// Where, in bytes; `None` where a setting from outside is wrong.
    pub at: Option<Range<usize>>,
}

pub(super) type Result<T> = std::result::Result<T, TextError>;

pub(super) fn wrong<T>(at: Range<usize>, what: impl Into<String>, help: Option<&str>) -> Result<T> {
    // What was set from outside stands nowhere in the file.
    Err(TextError { what: what.into(), label: None, help: help.map(str::to_owned), at: (!at.is_empty()).then_some(at) })
}
