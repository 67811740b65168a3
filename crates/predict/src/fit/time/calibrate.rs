//! How far off predicted seconds are: ranges by what limits and whether the device was recorded, and how often they hold on what was left
//! out of them.

use super::bandwidth::HeldOut;
use crate::volumes::fitted::expected::{ENOUGH, Kind, Range};
use crate::volumes::fitted::speed::Basis;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use warpsight_ir::sample::{middle, quantile};

/// Rows outside of the interval, on either side.
const OUTSIDE: f64 = 0.1;
/// Devices without recordings are expected to be off by this much more than those that were left out of fits to similar ones.
const WIDENED: f64 = 1.25;

type Key = (Kind, bool);

/// Rows of each recording of each device.
type ByDevice<'a> = BTreeMap<&'a str, BTreeMap<&'a str, Vec<[f64; 2]>>>;

/// Whose recordings a device's numbers come from matters to memory alone.
fn key(held: &HeldOut) -> Key {
    (held.kind, held.basis == Basis::Pooled && matches!(held.kind, Kind::Stream | Kind::Stencil))
}

/// The value below which this part of the weights lies.
fn weighted(values: &mut [(f64, f64)], part: f64) -> f64 {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = values.iter().map(|value| value.1).sum();
    let mut sum = 0.0;
    let found = values.iter().find(|value| {
        sum += value.1;
        sum >= part * all
    });
    found.or(values.last()).map_or(0.0, |value| value.0)
}

/// A range for each kind, of recorded devices (`false`) and others. Devices weigh the same, and so do recordings of one.
fn ranges<'a>(rows: impl Iterator<Item = &'a HeldOut>) -> BTreeMap<Key, Range> {
    let mut kinds: BTreeMap<Key, ByDevice> = BTreeMap::new();
    for held in rows {
        let devices = kinds.entry(key(held)).or_default();
        devices.entry(held.device.as_str()).or_default().entry(held.family.as_str()).or_default().push(held.off);
    }
    let of = |(key, devices): (Key, ByDevice)| {
        let mut ends: [Vec<(f64, f64)>; 2] = [vec![], vec![]];
        for recordings in devices.values() {
            for rows in recordings.values() {
                let weight = 1.0 / (recordings.len() * rows.len()) as f64;
                for off in rows {
                    (0..2).for_each(|i| ends[i].push((off[i], weight)));
                }
            }
        }
        let rows = ends[0].len() as u32;
        let [mut lo, mut hi] = ends;
        // From above on the upper side, so that both sides are treated alike; what clocks make possible stays inside.
        hi.iter_mut().for_each(|value| value.0 = -value.0);
        let (lo, hi) = (weighted(&mut lo, OUTSIDE).min(0.0), (-weighted(&mut hi, OUTSIDE)).max(0.0));
        (key, Range { lo, hi, rows, devices: devices.len() as u32 })
    };
    let mut ranges: BTreeMap<Key, Range> = kinds.into_iter().map(of).collect();
    // A device without recordings is not better known than one with them, even where it happened to be.
    for kind in Kind::ALL {
        let Some(own) = ranges.get(&(kind, false)).copied() else { continue };
        let pooled = ranges.entry((kind, true)).or_insert(own);
        let (middle, half) = ((own.lo + own.hi) / 2.0, (own.hi - own.lo) / 2.0 * WIDENED);
        (pooled.lo, pooled.hi) = (pooled.lo.min(middle - half), pooled.hi.max(middle + half));
    }
    ranges
}

/// How often ranges hold on a device's rows of a recording that they were made without.
pub struct Coverage {
    /// The recording.
    pub family: String,
    /// The device.
    pub device: String,
    /// Whether other recordings of it are known.
    pub recorded: bool,
    /// What limits the rows.
    pub kind: Kind,
    /// For each row: whether it lies inside, and the longest over the shortest expected time.
    pub rows: Vec<(bool, f64)>,
}

/// What is left out together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// All rows of a device in a recording: what a range says of kernels of another kind.
    Device,
    /// Those of one kernel: what it says of a further kernel where there are recordings of others like it.
    Kernel,
}

/// Leaves rows out in turn.
pub fn coverage(held: &[HeldOut], left: Left) -> Vec<Coverage> {
    let name = |row: &HeldOut| {
        let kernel = if left == Left::Kernel { row.kernel.clone() } else { String::new() };
        (row.family.clone(), row.device.clone(), kernel)
    };
    let outs: BTreeSet<_> = held.iter().map(name).collect();
    let mut found = Vec::new();
    for out in outs {
        let is_out = |row: &&HeldOut| name(row) == out;
        let ranges = ranges(held.iter().filter(|row| !is_out(row)));
        for (kind, recorded) in Kind::ALL.into_iter().flat_map(|kind| [(kind, true), (kind, false)]) {
            let rows = held.iter().filter(is_out).filter(|row| key(row) == (kind, !recorded));
            let judged = rows.filter_map(|row| {
                // Where too few others are known, the widest.
                let own = ranges.get(&key(row)).filter(|own| own.devices >= ENOUGH);
                let all = || ranges.iter().filter(|range| range.0.1 == key(row).1).map(|range| range.1);
                let lo = own.map_or_else(|| all().map(|own| own.lo).fold(0.0, f64::min), |own| own.lo);
                let hi = own.map_or_else(|| all().map(|own| own.hi).fold(0.0, f64::max), |own| own.hi);
                (all().count() > 0).then(|| (row.off[0] >= lo && row.off[1] <= hi, (hi - lo + row.off[0] - row.off[1]).exp()))
            });
            let rows: Vec<_> = judged.collect();
            if !rows.is_empty() {
                found.push(Coverage { family: out.0.clone(), device: out.1.clone(), recorded, kind, rows });
            }
        }
    }
    found
}

/// The part of rows inside, and the median width.
pub fn summary(rows: &[(bool, f64)]) -> (f64, f64) {
    let inside = rows.iter().filter(|row| row.0).count() as f64 / rows.len() as f64;
    (inside, middle(rows.iter().map(|row| row.1).collect()).unwrap_or(f64::NAN))
}

/// The file.
pub fn text(held: &[HeldOut]) -> String {
    let mut text = String::from(HEAD);
    let known = |pooled: bool| if pooled { "pooled" } else { "recorded" };
    for ((kind, pooled), range) in ranges(held.iter()) {
        let _ = writeln!(
            text,
            "[range.{}.{}]\nlo = {:.4}\nhi = {:.4}\nrows = {}\ndevices = {}\n",
            kind.name(),
            known(pooled),
            range.lo,
            range.hi,
            range.rows,
            range.devices
        );
    }
    let line = |name: &str, rows: &[(bool, f64)]| {
        let (inside, width) = summary(rows);
        format!("\"{name}\" = [{}, {inside:.3}, {width:.3}]\n", rows.len())
    };
    let parts = [
        (Left::Device, "the device's rows of the recording", "held_out"),
        (Left::Kernel, "the kernel's rows of the recording on the device", "held_out_kernels"),
    ];
    for (left, what, section) in parts {
        let _ = writeln!(
            text,
            "# Without {what}: rows, the part of them inside, median of the longest over the shortest expected time.\n[{section}]"
        );
        let coverage = coverage(held, left);
        let mut families: BTreeMap<String, Vec<(bool, f64)>> = BTreeMap::new();
        for each in &coverage {
            families.entry(format!("kind: {}, {}", each.kind.name(), known(!each.recorded))).or_default().extend(&each.rows);
        }
        families.iter().for_each(|(name, rows)| text += &line(name, rows));
        for each in coverage.iter().filter(|_| left == Left::Device) {
            text += &line(&format!("{}, {}, {}, {}", each.kind.name(), each.family, each.device, known(!each.recorded)), &each.rows);
        }
        text += "\n";
    }
    text += "# Groups: rows, and logarithms of measured seconds over those predicted at the highest clock: a tenth below, the median, a tenth above.\n";
    let mut groups: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for held in held {
        groups.entry((key(held), &held.family, &held.device, &held.kernel)).or_default().push(held.off[0]);
    }
    let mut last = None;
    for ((key, family, device, kernel), mut rows) in groups {
        if last.replace(key) != Some(key) {
            let _ = writeln!(text, "[group.{}.{}]", key.0.name(), known(key.1));
        }
        rows.sort_by(f64::total_cmp);
        let [lo, middle, hi] = [OUTSIDE, 0.5, 1.0 - OUTSIDE].map(|part| quantile(&rows, part).unwrap_or(f64::NAN));
        let _ = writeln!(text, "\"{family}, {device}, {kernel}\" = [{}, {lo:.3}, {middle:.3}, {hi:.3}]", rows.len());
    }
    text
}

const HEAD: &str = "\
# How far off predicted seconds are, as logarithms of measured over predicted: `lo` of those at the highest clock, `hi` of those at the lowest.
# Made by: warpsight probe fit ../shared/data
# Data: the rows that the fit of bandwidth.toml did not see, each predicted without its kernel, its device or its architecture; a 7-point
# stencil on MI250X (amd_laplacian.json); every so many-th row of tables of auto-tuned kernels, a 15 x 15 convolution on A100, MI250X and W6600
# and a matrix product on RTX 3090 and 2080 Ti (data/tuning); cycles of strided loads, odd strides, which the fit of l1-nvidia.toml did not see
# (gpu_strides.json);
# sweeps over sizes of caches, by fits of caches without the device (gpu_cache.json, gpu_l2_cache.json).
# A range holds the middle 80 % of the rows of a kind, devices weighing the same. Devices without recordings: at least a quarter as wide again.
# Kinds with rows of fewer than two devices take the widest range of all.

";
