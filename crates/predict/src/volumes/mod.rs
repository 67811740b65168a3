//! Data volumes of affine kernels (paper 002): which bytes, sectors and lines warps, blocks and waves touch, exactly.

pub mod block;
pub mod cpu;
mod cpu_report;
pub mod curve;
pub mod dram;
pub mod gaps;
pub mod guards;
pub mod images;
pub mod interval;
pub mod intervals;
pub mod l1;
pub mod l1_capacity;
pub mod lines;
pub mod measured;
pub mod report;
pub mod reuse;
pub mod speed;
pub mod subject;
pub mod time;
pub mod tlb;
mod touching;
pub mod warps;
pub mod wave;
