//! Sets of integers, and the lines that sets of elements lie in.

pub mod drawn;
pub mod intervals;
pub mod lines;
pub mod regions;
