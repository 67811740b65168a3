//! What the tests share: a terse way to build Programs by hand, and PoCL.
#![allow(dead_code)]

pub mod cuda_programs;
pub mod fuzz;
pub mod pocl;
pub mod programs;
