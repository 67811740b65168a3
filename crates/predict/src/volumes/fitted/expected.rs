//! Where the time is expected to lie: `data/fits/time.toml`, made by `fit::time::calibrate` from all recorded seconds that the fits have not
//! seen, says how far off they are, by kind of kernel and whether the device was recorded.

use super::speed::Basis;
use crate::volumes::first_level::l1::Rule;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use warpsight_ir::{Kernel, Limiter, OpClass, Profile};

/// What kind of kernel a launch is, by what was predicted of it, as coarsely as there are recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Memory or waiting for it limits, and what is loaded is hardly used again.
    Stream,
    /// Caches limit.
    Sweep,
    /// Memory or waiting for it limits, and caches hold much of what is loaded.
    Stencil,
    /// Much arithmetic for each byte that has to move, on NVIDIA's GPUs.
    Tile,
    /// The same on others: what their compilers make of a kernel has been seen to matter by factors.
    OtherTile,
}

/// Operations for each byte that has to move, beyond which a kernel is a tile: stencils have up to four.
const INTENSE: f64 = 10.0;
/// Loads over what comes from memory, beyond which a kernel is a stencil.
const REUSED: f64 = 1.5;
/// The same, beyond which it sweeps a cache.
const CACHED: f64 = 20.0;

/// Bytes of a launch that kinds are told by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moved {
    /// What loads ask for.
    pub requested: f64,
    /// What is loaded from memory.
    pub loaded: f64,
    /// What has to move at least.
    pub least: f64,
}

impl Kind {
    /// Every one.
    pub const ALL: [Self; 5] = [Self::Stream, Self::Sweep, Self::Stencil, Self::Tile, Self::OtherTile];

    /// Of a launch with this limiter.
    pub fn of(kernel: &Kernel, limiter: Limiter, moved: Moved, on: &Profile) -> Self {
        let count = |class| if matches!(class, OpClass::Fma | OpClass::Mma) { 2.0 } else { 1.0 };
        let ops: f64 = kernel.ops.0.iter().map(|(&(class, _, width), &n)| count(class) * n as f64 * f64::from(width)).sum();
        let threads = kernel.launch.group_count() as f64 * f64::from(kernel.launch.group_size());
        let reuse = moved.requested / moved.loaded.max(f64::MIN_POSITIVE);
        match limiter {
            // Little arithmetic for each byte that is asked for, however often it is the same one: less than a product's, one FMA a word.
            Limiter::L2 | Limiter::Llc if ops * threads < moved.requested / 2.0 => Self::Sweep,
            _ if ops * threads > INTENSE * moved.least => match Rule::of(on) {
                Ok(Rule::Nvidia { .. }) => Self::Tile,
                _ => Self::OtherTile,
            },
            Limiter::Dram | Limiter::Latency | Limiter::Tlb | Limiter::Launch if reuse <= CACHED || moved.requested == 0.0 => {
                if reuse > REUSED && moved.requested > 0.0 { Self::Stencil } else { Self::Stream }
            }
            _ => Self::Sweep,
        }
    }

    /// Its name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Sweep => "sweep",
            Self::Stencil => "stencil",
            Self::Tile => "tile",
            Self::OtherTile => "other_tile",
        }
    }

    /// In words.
    fn said(self) -> &'static str {
        match self {
            Self::Stream => "streams",
            Self::Sweep => "kernels limited by caches",
            Self::Stencil => "stencils",
            Self::Tile => "compute-bound tiles on NVIDIA's GPUs",
            Self::OtherTile => "compute-bound tiles on other GPUs",
        }
    }
}

/// Logarithms of measured seconds over those predicted at the highest clock (`lo`) and at the lowest (`hi`).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Range {
    /// Below it lies a tenth of the rows, devices weighing the same.
    pub lo: f64,
    /// Above it lies a tenth.
    pub hi: f64,
    /// Rows that say so.
    pub rows: u32,
    /// Of so many devices.
    pub devices: u32,
}

/// Kinds with rows of fewer devices have the widest range.
pub const ENOUGH: u32 = 2;

#[derive(Deserialize)]
struct File {
    range: BTreeMap<String, BTreeMap<String, Range>>,
}

pub(crate) const TEXT: &str = include_str!("../../../fits/time.toml");

static FITS: LazyLock<File> = LazyLock::new(|| {
    // The file is compiled in, and a test makes it anew.
    toml::from_str(TEXT).expect("data/fits/time.toml holds the ranges")
});

/// Of a kind with this limiter, on a device whose numbers rest on this; and in words. A sister's recordings count as the device's.
pub fn range(kind: Kind, limiter: Limiter, basis: Basis) -> (Range, String) {
    let known = if basis == Basis::Pooled { "pooled" } else { "recorded" };
    let own = FITS.range.get(kind.name()).and_then(|own| own.get(known)).copied();
    let device = if basis == Basis::Pooled { "a device without recordings, so widened" } else { "a recorded device or its sister" };
    // Whatever is launched: no recording says how far off the start of a launch is.
    let (own, what) = if limiter == Limiter::Launch { (None, "launches that hardly last") } else { (own, kind.said()) };
    match own.filter(|own| own.devices >= ENOUGH) {
        Some(own) => {
            let text = format!(
                "80 % of the rows of {} lie inside, devices weighing the same: {} rows of {} devices, each predicted by fits without it; {device}",
                what, own.rows, own.devices
            );
            (own, text)
        }
        None => {
            let all = || FITS.range.values().filter_map(|own| own.get(known));
            let widest = Range {
                lo: all().fold(0.0, |lo, own| own.lo.min(lo)),
                hi: all().fold(0.0, |hi, own| own.hi.max(hi)),
                rows: own.map_or(0, |own| own.rows),
                devices: own.map_or(0, |own| own.devices),
            };
            let text = format!(
                "the widest of all kinds, as {what} are recorded of {} devices only ({} rows); {device}",
                widest.devices, widest.rows
            );
            (widest, text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_range_and_unrecorded_devices_a_wider_one() {
        for kind in Kind::ALL {
            let of = |basis| range(kind, Limiter::Dram, basis).0;
            let (own, pooled) = (of(Basis::Device), of(Basis::Pooled));
            assert!(own.lo < own.hi, "{kind:?}: {own:?}");
            assert!(pooled.lo <= own.lo && pooled.hi >= own.hi, "{kind:?}: {pooled:?} {own:?}");
            assert_eq!(of(Basis::Architecture), own);
        }
    }
}
