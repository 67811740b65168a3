//! Shared by the tests: random Programs that cover the whole grammar, and a count of what they covered.

pub mod arbitrary;
pub mod coverage;
