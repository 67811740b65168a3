//! Shared by the tests: random Programs that cover the whole grammar, and a count of what they covered.

// Each test binary compiles this module and uses a part of it.
#![allow(dead_code)]

pub mod arbitrary;
pub mod coverage;
