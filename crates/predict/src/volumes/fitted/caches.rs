//! How caches of each kind hold what is used again: `data/fits/caches.toml`, made by `fit::caches` from recorded sweeps over
//! sizes, which says how well they are met by fits that have not seen them.

use super::curve::Fitted;
use super::waves::within;
use crate::volumes::behind::dram::Curve;
use crate::volumes::behind::steps::in_step;
use crate::volumes::behind::within::{Curves, Within};
use crate::volumes::first_level::l1::Rule;
use serde::Deserialize;
use std::sync::LazyLock;
use warpsight_ir::Profile;
use warpsight_ir::profile::Fact;

pub(crate) const TEXT: &str = include_str!("../../../fits/caches.toml");

/// Every fitted number of caches but the second level's curve under stencils ([`Fitted`]).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Caches {
    /// Lines that first levels of NVIDIA's cores hold, as a share of the vendor's capacity.
    pub nvidia: f64,
    /// The same of AMD's compute units.
    pub amd: f64,
    /// Second levels in partitions that keep copies of each other's lines. `share`: of all bytes, where no one knows what is effective.
    pub partitioned: Second,
    /// Second and last levels that serve all cores alike.
    pub whole: Second,
    /// [`Curve::in_step`] of CDNA.
    pub cdna_in_step: f64,
}

/// Where and how fast a second level lets go of lines; see [`Curve`].
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Second {
    /// Of the bytes: at this footprint half of the lines survive.
    pub share: f64,
    /// [`Curve::steepness`].
    pub steepness: f64,
}

impl Caches {
    /// The committed fit.
    pub fn fitted() -> &'static Self {
        static FITS: LazyLock<Caches> = LazyLock::new(|| {
            // The file is compiled in, and a test reruns the fit that makes it.
            toml::from_str(TEXT).expect("data/fits/caches.toml holds the fit's sections")
        });
        &FITS
    }

    /// What the first level of a device holds, as a share of its capacity.
    pub fn first(&self, on: &Profile) -> f64 {
        match Rule::of(on) {
            Ok(Rule::Nvidia { .. }) => self.nvidia,
            Ok(Rule::Cdna | Rule::Rdna) => self.amd,
            // Nothing is recorded of others.
            Err(_) => 1.0,
        }
    }

    /// How the second level of a device lets go of lines. Of CDNA from stencils; of devices of which nothing is recorded as one that serves all
    /// cores alike, and of the size that is known of it.
    pub fn second(&self, on: &Profile) -> Fitted {
        let own = self.between(on);
        // Cores next to any part of NVIDIA's want all of a wave's data; where parts are those of chips, each has its own part of a wave.
        let l2 = &on.memory.l2;
        let rule = Rule::of(on);
        let parts = l2.instances.get().filter(|_| !matches!(rule, Ok(Rule::Nvidia { .. }))).map_or(1.0, |&parts| parts.into());
        let bytes = l2.bytes.get().map(|part| part.0 * parts).or(on.memory.l2_effective.get().map(|bytes| bytes.0));
        let within = bytes.map(within).and_then(|found| match rule {
            // Fitted to stencils, whose loads have lost whatever blocks of a wave take from each other.
            Ok(Rule::Cdna) => Some(Within { curves: Curves { loads: None, ..found.curves }, ..found }),
            Ok(_) => Some(found),
            // Their waves run in step: see `behind::steps`.
            Err(_) => None,
        });
        Fitted { curve: Curve { within, ..own.curve }, ..own }
    }

    /// How it lets go of lines that blocks far apart share.
    fn between(&self, on: &Profile) -> Fitted {
        let rule = Rule::of(on);
        if let Ok(Rule::Cdna) = rule {
            let own = Curve::fitted("cdna2");
            return Fitted { curve: Curve { in_step: Some(self.cdna_in_step), ..own.curve }, ..own };
        }
        let own = Curve::fitted("pooled");
        if in_step(on) {
            return Fitted { curve: Curve { capacity: 1.0, steepness: self.whole.steepness, ..own.curve }, swept: true, ..own };
        }
        let (capacity, steepness) =
            if partitioned(on) { (1.0, self.partitioned.steepness) } else { (self.whole.share, self.whole.steepness) };
        Fitted { curve: Curve { capacity, steepness, in_step: Some(0.0), ..own.curve }, swept: true, ..own }
    }

    /// How the last level does.
    pub fn last(&self, on: &Profile) -> Curve {
        let within = on.memory.llc.bytes.get().map(|bytes| within(bytes.0));
        let second = Curve { within, ..self.between(on).curve };
        if in_step(on) {
            return second;
        }
        Curve { capacity: self.whole.share, steepness: self.whole.steepness, ..second }
    }

    /// Bytes of a second level that data can use where no one has measured it, of all its bytes.
    pub fn effective(&self, on: &Profile, all: f64) -> f64 {
        if partitioned(on) && Rule::of(on).is_ok() { self.partitioned.share * all } else { all }
    }
}

impl Caches {
    /// Bytes of a second level, of which so many are effective, that hold what is drawn anywhere: all cores want it, so that each part has a
    /// copy.
    pub fn drawn(on: &Profile, effective: f64) -> f64 {
        let part = on.memory.l2.bytes.get().filter(|_| partitioned(on));
        part.map_or(effective, |part| part.0.min(effective))
    }
}

/// Whether cores are each next to one of several parts of the second level.
fn partitioned(on: &Profile) -> bool {
    matches!(&on.memory.l2.instances, Fact::Known { value, .. } if *value > 1)
}
