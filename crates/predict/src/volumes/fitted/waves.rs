//! What blocks at work at the same time take from each other: `data/fits/waves.toml`, which says where the numbers are from.

use crate::volumes::behind::within::{Curves, Within};
use std::sync::LazyLock;

pub(in crate::volumes) const TEXT: &str = include_str!("../../../fits/waves.toml");

/// In a cache whose parts have so many bytes.
pub fn within(bytes: f64) -> Within {
    static CURVES: LazyLock<Curves> = LazyLock::new(|| {
        // The file is compiled in, and a test reads it.
        toml::from_str(TEXT).expect("data/fits/waves.toml holds two curves and their unit")
    });
    Within { curves: *CURVES, bytes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper002::curves::{L2_LOADS, L2_STORES, l2_coverage};

    /// Of the lattice-Boltzmann kernel a wave of 55 296 threads touches 16.2 MB.
    #[test]
    fn the_curves_are_the_published_ones() {
        let (a100, wave) = (20.0 * 1024.0 * 1024.0, 16.23e6);
        let own = within(a100);
        assert_eq!(own.loads(wave), L2_LOADS.misses(l2_coverage(wave, a100)));
        assert_eq!(own.stores(wave), L2_STORES.misses(l2_coverage(wave, a100)));
        assert!((own.loads(wave) - 0.0187).abs() < 1e-4 && (own.stores(wave) - 0.0879).abs() < 1e-4, "{own:?}");
    }
}
