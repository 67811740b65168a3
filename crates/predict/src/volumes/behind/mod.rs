//! What moves behind the first level: blocks in launch order, when their lines are met again, and which of them are gone by then.

pub mod crowd;
pub mod dram;
pub mod drawn;
pub mod gaps;
pub mod histogram;
pub(super) mod pattern;
pub mod reuse;
pub mod spilled;
pub mod steps;
pub mod tlb;
mod touching;
pub mod wave;
pub mod within;
