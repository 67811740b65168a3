//! How caches hold what is used again, from where recorded bandwidths fall: `caches.toml`.

pub mod judge;
pub mod sweeps;

use super::{FitError, Recordings};
use crate::volumes::first_level::l1::Rule;
use crate::volumes::fitted::caches::{Caches, Second};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use sweeps::{Cliff, Level, Sweep, crossing};
use warpsight_ir::profile::Fact;

/// A first-level sweep that falls this far beyond the capacity has another cache in between: those of RDNA's shader arrays.
const ANOTHER: f64 = 4.0;

/// By device: what its sweeps say.
type Found<T> = BTreeMap<String, Vec<T>>;

/// What sweeps say of each kind of cache, by device.
#[derive(Clone, Default)]
pub struct Evidence {
    nvidia: Found<f64>,
    amd: Found<f64>,
    partitioned: Found<Second>,
    whole: Found<Second>,
    in_step: Found<f64>,
}

/// Any caches, to begin with.
const START: Caches = Caches {
    nvidia: 1.0,
    amd: 1.0,
    partitioned: Second { share: 0.8, steepness: 7.0 },
    whole: Second { share: 1.0, steepness: 7.0 },
    cdna_in_step: 0.8,
};

/// The number with which the model falls where the recording does: it falls later the greater it is.
fn solved(sweep: &Sweep, cliff: &Cliff, (least, most): (f64, f64), with: impl Fn(f64) -> Caches) -> Result<f64, FitError> {
    let (mut lo, mut hi) = (least, most);
    for _ in 0..STEPS {
        let middle = (lo * hi).sqrt();
        let found = Cliff::between(&sweep.predicted(with(middle))?, cliff.rows);
        if found.is_some_and(|found| found.at < cliff.at) { lo = middle } else { hi = middle }
    }
    Ok((lo * hi).sqrt())
}

/// Steps of a bisection from a factor of 16 apart: a thousandth.
const STEPS: usize = 12;

/// Between where half and nine tenths of the lines are gone: a time grows in proportion to what misses, as soon as that limits it.
fn steepness(sweep: &Sweep, cliff: &Cliff) -> Result<f64, FitError> {
    let at = |missed: f64| crossing(&sweep.rows, cliff.after / missed).ok_or(FitError::Short("end of a sweep"));
    Ok(9.0_f64.ln() / (at(0.9)? / at(0.5)?).ln())
}

/// What sweeps say one by one.
pub fn evidence(sweeps: &[Sweep]) -> Result<Evidence, FitError> {
    let mut found = Evidence::default();
    for sweep in sweeps {
        let cliff = Cliff::of(&sweep.rows).ok_or(FitError::Short("fall of a sweep's bandwidth"))?;
        let nominal = sweep.nominal()?;
        let cdna = matches!(Rule::of(&sweep.on), Ok(Rule::Cdna));
        let device = || sweep.device.clone();
        match sweep.level {
            Level::First if cliff.at > ANOTHER * nominal => {}
            Level::First => {
                let share = solved(sweep, &cliff, (0.25, 4.0), |share| Caches { nvidia: share, amd: share, ..START })?;
                let kind = if matches!(Rule::of(&sweep.on), Ok(Rule::Nvidia { .. })) { &mut found.nvidia } else { &mut found.amd };
                kind.entry(device()).or_default().push(share);
            }
            // With the curve of stencils.
            Level::Second if cdna => {
                let own = solved(sweep, &cliff, (0.0625, 1.0), |cdna_in_step| Caches { cdna_in_step, ..START })?;
                found.in_step.entry(device()).or_default().push(own);
            }
            Level::Second if sweep.on.memory.l2.instances.get().is_some_and(|&n| n > 1) => {
                let steepness = steepness(sweep, &cliff)?;
                let mut bare = sweep.clone();
                bare.on.memory.l2_effective = Fact::unknown("what is sought");
                let with = |share| Caches { partitioned: Second { share, steepness }, ..START };
                let share = solved(&bare, &cliff, (0.25, 4.0), with)?;
                found.partitioned.entry(device()).or_default().push(Second { share, steepness });
            }
            // A small second level before a large last one is a kind of its own, of which there is one recording: no rule can be judged.
            Level::Second if sweep.on.memory.llc.bytes.get().is_some() => {}
            Level::Second | Level::Last => {
                let steepness = steepness(sweep, &cliff)?;
                let share = solved(sweep, &cliff, (0.25, 4.0), |share| Caches { whole: Second { share, steepness }, ..START })?;
                found.whole.entry(device()).or_default().push(Second { share, steepness });
            }
        }
    }
    Ok(found)
}

/// Geometric mean over devices of geometric means over a device's sweeps.
fn mean<T>(found: &Found<T>, of: impl Fn(&T) -> f64) -> f64 {
    let devices = found.values().map(|own| own.iter().map(|one| of(one).ln()).sum::<f64>() / own.len() as f64);
    (devices.sum::<f64>() / found.len() as f64).exp()
}

/// The fit to this evidence.
pub fn fit(found: &Evidence) -> Caches {
    let kind = |found: &Found<Second>| Second { share: mean(found, |one| one.share), steepness: mean(found, |one| one.steepness) };
    Caches {
        nvidia: mean(&found.nvidia, |one| *one),
        amd: mean(&found.amd, |one| *one),
        partitioned: kind(&found.partitioned),
        whole: kind(&found.whole),
        cdna_in_step: mean(&found.in_step, |one| *one),
    }
}

const HEAD: &str = "\
# How caches of each kind hold what is used again, from where bandwidths fall in sweeps over sizes.
# Made by: warpsight probe fit ../shared/data
# Data: gpu_cache.json (14 sweeps of first levels) and gpu_l2_cache.json (7 of second levels, one of a last one), gpu-benches.
# A sweep falls where its bandwidth first crosses the geometric mean of the medians before and after; rows are parted where they lie closest
# to the medians of both sides. A number is the one with which the predicted sweep falls there; the geometric mean over devices.
# First levels (`nvidia`, `amd`): lines go at random, 1 − m = exp(−m · footprint / (share · bytes)). Left out: sweeps that fall beyond four times
# the capacity, where another cache follows (RX 6900 XT), or the second level does (MI210 of gbr).
# Second levels: survival = 1 / (1 + (footprint / (share · bytes))^steepness), steepness from where 50 and 90 % are gone. `partitioned`: A100,
# H100, GH200 (60 MB); `whole`: L40, and the last level of the RX 6900 XT, whose second level, small before a large one, takes part in nothing.
# CDNA: the curve of dram.toml; of blocks that walk through the same piece at the same time `cdna_in_step` stay in step.
# `alone`: what each device's sweeps say; `left_out`: the fit without each device.

";

/// The file.
pub fn text(recordings: &Recordings) -> Result<String, FitError> {
    Ok(written(&evidence(&sweeps::read(recordings)?)?))
}

/// The file of this evidence.
pub fn written(found: &Evidence) -> String {
    let all = fit(found);
    let mut text = String::from(HEAD);
    let second = |own: &Second| format!("share = {:.3}\nsteepness = {:.2}", own.share, own.steepness);
    let _ = writeln!(text, "nvidia = {:.3}\namd = {:.3}\ncdna_in_step = {:.3}", all.nvidia, all.amd, all.cdna_in_step);
    for (name, body) in [("partitioned", second(&all.partitioned)), ("whole", second(&all.whole))] {
        let _ = writeln!(text, "\n[{name}]\n{body}");
    }
    let _ = writeln!(text, "\n[alone]");
    let list = |found: &[f64]| found.iter().map(|own| format!("{own:.3}")).collect::<Vec<_>>().join(", ");
    for (kind, own) in [("nvidia", &found.nvidia), ("amd", &found.amd), ("in_step", &found.in_step)] {
        let each = own.iter().map(|(device, found)| format!("{device} = [{}]", list(found)));
        let _ = writeln!(text, "{kind} = {{ {} }}", each.collect::<Vec<_>>().join(", "));
    }
    for (kind, own) in [("partitioned", &found.partitioned), ("whole", &found.whole)] {
        let each = own.iter().flat_map(|(device, found)| found.iter().map(move |own| (device, own)));
        let each = each.map(|(device, own)| format!("{device} = [{:.3}, {:.2}]", own.share, own.steepness));
        let _ = writeln!(text, "{kind} = {{ {} }}", each.collect::<Vec<_>>().join(", "));
    }
    let _ = writeln!(text, "\n[left_out]");
    for device in found.devices() {
        let own = fit(&found.without(device));
        let _ = writeln!(
            text,
            "{device} = {{ nvidia = {:.3}, amd = {:.3}, partitioned = [{:.3}, {:.2}], whole = [{:.3}, {:.2}], in_step = {:.3} }}",
            own.nvidia, own.amd, own.partitioned.share, own.partitioned.steepness, own.whole.share, own.whole.steepness, own.cdna_in_step
        );
    }
    text
}

impl Evidence {
    fn devices(&self) -> BTreeSet<&str> {
        let first = self.nvidia.keys().chain(self.amd.keys()).chain(self.in_step.keys());
        first.chain(self.partitioned.keys()).chain(self.whole.keys()).map(String::as_str).collect()
    }

    /// All but that of a device.
    pub fn without(&self, device: &str) -> Self {
        let mut left = self.clone();
        left.nvidia.remove(device);
        left.amd.remove(device);
        left.partitioned.remove(device);
        left.whole.remove(device);
        left.in_step.remove(device);
        left
    }
}
