//! What samples say: pure functions from numbers to facts, shared by what is measured here and what others recorded.

pub mod steps;
