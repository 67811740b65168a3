//! Sets of integers, and the lines that sets of elements lie in.

pub mod intervals;
pub mod lines;
