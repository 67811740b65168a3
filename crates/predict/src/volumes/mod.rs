//! Data volumes of affine kernels (paper 002): which bytes, sectors and lines warps, blocks and waves touch, exactly.

pub mod block;
pub mod count;
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
pub mod tlb;
mod touching;
pub mod warps;
pub mod wave;

/// What tells the fitted numbers from others: a digest (FNV-1a) of the files they come from.
pub fn fits() -> String {
    let texts = [speed::TEXT, l1::TEXT, curve::TEXT];
    let digest = texts
        .iter()
        .flat_map(|text| text.bytes())
        .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{digest:016x}")
}
