//! Where the time is expected to lie: `data/fits/time.toml`, made by the example `fit_time` from all recorded seconds that the fits have not
//! seen, says how far off they are, by what limits a launch and whether its device was recorded.

use super::speed::Basis;
use crate::volumes::first_level::l1::Rule;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use warpsight_ir::{Limiter, Profile};

/// What limits a launch, as coarsely as there are recordings of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Device memory.
    Dram,
    /// Waiting.
    Latency,
    /// Units and caches, with NVIDIA's rule for the first level.
    Core,
    /// The same with another rule, or none: what compilers make of a kernel has been seen to matter by factors.
    Other,
}

impl Class {
    /// Of a launch with this limiter.
    pub fn of(limiter: Limiter, on: &Profile) -> Self {
        match limiter {
            Limiter::Dram => Self::Dram,
            Limiter::Latency => Self::Latency,
            _ if matches!(Rule::of(on), Ok(Rule::Nvidia { .. })) => Self::Core,
            _ => Self::Other,
        }
    }

    /// Its name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dram => "dram",
            Self::Latency => "latency",
            Self::Core => "core",
            Self::Other => "other",
        }
    }
}

/// Logarithms of measured over predicted seconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Range {
    /// Below it lies a tenth of the rows of a group, in nine of ten groups at most.
    pub lo: f64,
    /// Above it lies a tenth.
    pub hi: f64,
    /// Groups of rows that say so.
    pub groups: u32,
}

#[derive(Deserialize)]
struct File {
    range: BTreeMap<String, BTreeMap<String, Range>>,
}

static FITS: LazyLock<File> = LazyLock::new(|| {
    // The file is compiled in, and a test makes it anew.
    toml::from_str(include_str!("../../../fits/time.toml")).expect("data/fits/time.toml holds the ranges")
});

/// Of a launch with this limiter on a device whose numbers rest on this; and in words. A sister's recordings count as the device's.
pub fn range(limiter: Limiter, basis: Basis, on: &Profile) -> (Range, String) {
    let class = Class::of(limiter, on);
    let known = if basis == Basis::Pooled { "pooled" } else { "recorded" };
    let range = FITS.range[class.name()][known];
    let device = if basis == Basis::Pooled { "a device without recordings, so widened" } else { "a recorded device or its sister" };
    let text = format!(
        "80 % of the rows of most groups lie inside: {} groups (recording, device, kernel) limited by {}, each predicted by fits without it; {device}",
        range.groups,
        match class {
            Class::Dram => "memory",
            Class::Latency => "waiting",
            Class::Core => "units and caches of NVIDIA's cores",
            Class::Other => "units and caches of other cores",
        }
    );
    (range, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limiter_has_a_range_and_unrecorded_devices_a_wider_one() {
        for name in ["a100-40", "mi250x", "adreno640"] {
            let on = warpsight_ir::profile::builtin(name).unwrap().unwrap();
            for limiter in [Limiter::Dram, Limiter::Latency, Limiter::L1, Limiter::Fp, Limiter::Tlb, Limiter::Launch] {
                let of = |basis| range(limiter, basis, &on).0;
                let (own, pooled) = (of(Basis::Device), of(Basis::Pooled));
                assert!(own.lo < own.hi && own.groups > 0, "{own:?}");
                assert!(pooled.lo < own.lo && pooled.hi > own.hi, "{limiter:?}: {pooled:?} {own:?}");
                assert_eq!(of(Basis::Architecture), own);
            }
        }
    }
}
