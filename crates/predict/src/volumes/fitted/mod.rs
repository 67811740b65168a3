//! Numbers that were fitted to recordings, from `data/fits`.

pub mod caches;
pub mod curve;
pub mod expected;
pub mod speed;
pub mod waves;

use super::first_level::l1;

/// What tells the fitted numbers from others: a digest (FNV-1a) of the files they come from.
pub fn digest() -> String {
    let texts = [speed::TEXT, l1::TEXT, curve::TEXT, caches::TEXT, waves::TEXT];
    let digest = texts
        .iter()
        .flat_map(|text| text.bytes())
        .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{digest:016x}")
}
