//! A kernel as the counting sees it: fields, what lanes, blocks and loops touch of them, and in which pieces of memory that lies.

pub mod gathers;
pub mod image;
pub mod lanes;
pub(super) mod pieces;
pub(super) mod structure;
pub mod subject;
