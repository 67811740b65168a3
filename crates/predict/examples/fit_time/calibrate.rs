//! How far off predicted seconds are: ranges by what limits and whether the device was recorded, and how often they hold on what was left
//! out of them.

use crate::bandwidth::HeldOut;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use warpsight_predict::volumes::fitted::expected::{Class, Range};
use warpsight_predict::volumes::fitted::speed::Basis;

/// Rows of a group outside of its interval, on either side.
const OUTSIDE: f64 = 0.1;
/// Groups, by weight, whose interval is not inside of the range, on either side.
const EXCEPT: f64 = 0.1;
/// A group with fewer rows has no tenths.
const ENOUGH: usize = 3;
/// Devices without recordings are expected to be off by this much more than those that were left out of fits to similar ones.
const WIDENED: f64 = 1.25;

type Key = (Class, bool);

fn key(held: &HeldOut) -> Key {
    (held.class, held.basis == Basis::Pooled)
}

/// What lies between the values at this part of them.
fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = part * (values.len() - 1) as f64;
    let (i, rest) = (at as usize, at.fract());
    values[i] + (values[(i + 1).min(values.len() - 1)] - values[i]) * rest
}

/// Groups of rows: recording, device and kernel. Logarithms of measured over predicted.
fn groups<'a>(rows: impl Iterator<Item = &'a HeldOut>) -> BTreeMap<(Key, &'a str, &'a str, &'a str), Vec<f64>> {
    let mut groups: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for held in rows {
        groups.entry((key(held), held.family.as_str(), held.device.as_str(), held.kernel.as_str())).or_default().push(-held.off);
    }
    groups.retain(|_, rows| rows.len() >= ENOUGH);
    groups
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

/// A range for each class, of recorded devices (`false`) and others. Recordings weigh the same, however many groups each has.
fn ranges<'a>(rows: impl Iterator<Item = &'a HeldOut>) -> BTreeMap<Key, Range> {
    let groups = groups(rows);
    let mut sides: BTreeMap<Key, [Vec<(f64, f64)>; 2]> = BTreeMap::new();
    for ((key, family, ..), rows) in &groups {
        let weight = 1.0 / groups.keys().filter(|other| (other.0, other.1) == (*key, *family)).count() as f64;
        let sides = sides.entry(*key).or_default();
        for (side, part) in sides.iter_mut().zip([OUTSIDE, 1.0 - OUTSIDE]) {
            side.push((quantile(&mut rows.clone(), part), weight));
        }
    }
    let of = |(key, [mut lo, mut hi]): (Key, [Vec<(f64, f64)>; 2])| {
        let groups = lo.len() as u32;
        // From above on the upper side, so that both sides are treated alike.
        hi.iter_mut().for_each(|value| value.0 = -value.0);
        (key, Range { lo: weighted(&mut lo, EXCEPT), hi: -weighted(&mut hi, EXCEPT), groups })
    };
    let mut ranges: BTreeMap<Key, Range> = sides.into_iter().map(of).collect();
    // A device without recordings is not better known than one with them, even where it happened to be.
    for class in [Class::Dram, Class::Latency, Class::Core, Class::Other] {
        let Some(own) = ranges.get(&(class, false)).copied() else { continue };
        let pooled = ranges.entry((class, true)).or_insert(own);
        let (middle, half) = ((own.lo + own.hi) / 2.0, (own.hi - own.lo) / 2.0 * WIDENED);
        (pooled.lo, pooled.hi) = (pooled.lo.min(middle - half), pooled.hi.max(middle + half));
    }
    ranges
}

/// How often ranges hold on a device's rows of a recording that they were made without.
pub struct Coverage {
    pub family: String,
    pub device: String,
    pub recorded: bool,
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
        for recorded in [true, false] {
            let rows = held.iter().filter(is_out).filter(|row| key(row).1 != recorded);
            let judged = rows.filter_map(|row| {
                // Where nothing else is known of other cores, what is known of NVIDIA's.
                let range = ranges.get(&key(row)).or(ranges.get(&(Class::Core, key(row).1)))?;
                Some(((range.lo..=range.hi).contains(&-row.off), (range.hi - range.lo).exp()))
            });
            let rows: Vec<_> = judged.collect();
            if !rows.is_empty() {
                found.push(Coverage { family: out.0.clone(), device: out.1.clone(), recorded, rows });
            }
        }
    }
    found
}

/// The part of rows inside, and the median width.
pub fn summary(rows: &[(bool, f64)]) -> (f64, f64) {
    let inside = rows.iter().filter(|row| row.0).count() as f64 / rows.len() as f64;
    (inside, quantile(&mut rows.iter().map(|row| row.1).collect::<Vec<_>>(), 0.5))
}

/// The file.
pub fn text(held: &[HeldOut]) -> String {
    let mut text = String::from(HEAD);
    let known = |pooled: bool| if pooled { "pooled" } else { "recorded" };
    for ((class, pooled), range) in ranges(held.iter()) {
        let _ = writeln!(
            text,
            "[range.{}.{}]\nlo = {:.4}\nhi = {:.4}\ngroups = {}\n",
            class.name(),
            known(pooled),
            range.lo,
            range.hi,
            range.groups
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
        let mut families: BTreeMap<&str, Vec<(bool, f64)>> = BTreeMap::new();
        for each in &coverage {
            families.entry(&each.family).or_default().extend(&each.rows);
            families.entry(if each.recorded { "all, recorded" } else { "all, pooled" }).or_default().extend(&each.rows);
        }
        families.iter().for_each(|(name, rows)| text += &line(name, rows));
        for each in coverage.iter().filter(|_| left == Left::Device) {
            text += &line(&format!("{}, {}, {}", each.family, each.device, known(!each.recorded)), &each.rows);
        }
        text += "\n";
    }
    text += "# Groups: rows, and logarithms of measured over predicted seconds: a tenth below, the median, a tenth above.\n";
    let mut last = None;
    for ((key, family, device, kernel), mut rows) in groups(held.iter()) {
        if last.replace(key) != Some(key) {
            let _ = writeln!(text, "[group.{}.{}]", key.0.name(), known(key.1));
        }
        let [lo, middle, hi] = [OUTSIDE, 0.5, 1.0 - OUTSIDE].map(|part| quantile(&mut rows, part));
        let _ = writeln!(text, "\"{family}, {device}, {kernel}\" = [{}, {lo:.3}, {middle:.3}, {hi:.3}]", rows.len());
    }
    text
}

const HEAD: &str = "\
# How far off predicted seconds are, as logarithms of measured over predicted.
# Made by: cargo run --release -p warpsight-predict --example fit_time -- ../shared/data
# Data: the rows that the fit of bandwidth.toml did not see, each predicted without its kernel, its device or its architecture; a 7-point
# stencil on MI250X (amd_laplacian.json); a convolution of 15 x 15 on A100 and MI250X, rows that divide the image and load by the ordinary
# path (kt_convolution_noshmem); cycles of strided loads, odd strides, which the fit of l1-nvidia.toml did not see (gpu_strides.json).
# A range holds the middle 80 % of the rows of nine in ten groups on either side, recordings weighing the same. Devices without recordings: at least a quarter as wide again.

";
