//! Numbers of the text form that are not known before the kernel runs.

/// A number that is not known before the kernel runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// What sets it from outside ([`super::text::Document::written`]).
    pub key: String,
    /// The least that it is.
    pub lo: i64,
    /// What it is taken for.
    pub typical: i64,
    /// The most.
    pub hi: i64,
    /// Where the range comes from, in words.
    pub why: String,
}
