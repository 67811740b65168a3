//! What the time model takes from recordings and no profile states: `data/fits/bandwidth.toml`, made by `fit::time::bandwidth`, which says
//! what it was fitted to, how wide each number's interval is, and how well held-out kernels and devices are predicted.

use crate::volumes::first_level::l1::Rule;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use warpsight_ir::Profile;

/// The fitted numbers of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// What all devices share.
    pub shared: Shared,
    /// What a device has for itself.
    pub own: Own,
    /// How long a block that stores waits for that before its slot is free, in latencies of memory.
    pub drain: f64,
    /// Order of the norm that combines what a first level takes with what lies behind it.
    pub first: f64,
    /// Whose recordings [`own`](Self::own) comes from.
    pub from: Basis,
}

/// Whose recordings a device's numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Basis {
    /// The device's.
    Device,
    /// Those of devices of its architecture.
    Architecture,
    /// Those of all devices.
    Pooled,
}

impl Basis {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Device => "from recordings of this device",
            Self::Architecture => "from recordings of its architecture, none of this device",
            Self::Pooled => "pooled, for want of recordings of its architecture",
        }
    }
}

/// Numbers that all devices share.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Shared {
    /// Order of the norm that combines what levels of memory, units and waits take.
    pub norm: f64,
    /// On AMD, whose loads return in order, so that hits wait behind misses: the order for a first level and what lies behind it.
    pub first_amd: f64,
    /// A load's wait grows by this part of itself where memory is as busy as it can be; in proportion below.
    pub queue: f64,
    /// A copy takes longer per byte by this part than loads alone or stores alone: memory turns around between them.
    pub mix: f64,
    /// How long a block that stores waits for that before its slot is free, in latencies of memory: NVIDIA, and vendors without recordings.
    pub drain: f64,
    /// The same on AMD, where a wave ends only after its stores.
    pub drain_amd: f64,
}

/// Two numbers of a device.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Own {
    /// Bandwidth of a copy that enough bytes in flight reach, over the profile's.
    pub peak: f64,
    /// Cycles from the end of a block to the first load of the one that takes its place.
    pub turnover: f64,
}

#[derive(Deserialize)]
struct File {
    shared: Shared,
    pooled: Own,
    architecture: BTreeMap<String, Own>,
    device: BTreeMap<String, Own>,
}

pub(crate) const TEXT: &str = include_str!("../../../fits/bandwidth.toml");

static FITS: LazyLock<File> = LazyLock::new(|| {
    // The file is compiled in, and a test reruns the fit that makes it.
    toml::from_str(TEXT).expect("data/fits/bandwidth.toml holds the fit's sections")
});

impl Speed {
    /// Of a device, by its profile's name; where there are no recordings of it, of its architecture, and else of all devices.
    pub fn of(on: &Profile) -> Self {
        let fits = &*FITS;
        let device = fits.device.get(&on.name).map(|own| (*own, Basis::Device));
        let sister = || fits.architecture.get(on.architecture.as_ref()?).map(|own| (*own, Basis::Architecture));
        let (own, from) = device.or_else(sister).unwrap_or((fits.pooled, Basis::Pooled));
        Self::new(fits.shared, own, on, from)
    }

    /// For a device with numbers of its own.
    pub fn new(shared: Shared, own: Own, on: &Profile, from: Basis) -> Self {
        let amd = matches!(Rule::of(on), Ok(Rule::Cdna | Rule::Rdna));
        let (drain, first) = if amd { (shared.drain_amd, shared.first_amd) } else { (shared.drain, shared.norm) };
        Self { shared, own, drain, first, from }
    }

    /// Seconds per byte relative to a copy's, where this part of the bytes is loaded.
    pub fn mix(&self, loaded: f64) -> f64 {
        (1.0 + self.shared.mix * 4.0 * loaded * (1.0 - loaded)) / (1.0 + self.shared.mix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_the_measure_and_pure_streams_are_faster() {
        let on = |name: &str| warpsight_ir::profile::builtin(name).unwrap().unwrap();
        let speed = Speed::of(&on("a100-80"));
        assert_eq!(speed.from, Basis::Device);
        assert_eq!(speed.mix(0.5), 1.0);
        assert_eq!(speed.mix(0.0), speed.mix(1.0));
        assert!(speed.mix(0.0) < speed.mix(0.75) && speed.mix(0.75) < 1.0);
        assert_eq!((Speed::of(&on("h200")).from, Speed::of(&on("mi250x")).from), (Basis::Architecture, Basis::Architecture));
        assert_eq!(Speed::of(&on("mi250x")).own, Speed::of(&on("mi210")).own, "one die of two with the same chip");
        assert_eq!(Speed::of(&on("adreno640")).from, Basis::Pooled);
    }
}
