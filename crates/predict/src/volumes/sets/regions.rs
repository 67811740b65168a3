//! Sets of elements as products of what their coordinates take, and which of these hold the same numbers along an axis.

use super::intervals::Intervals;
use smallvec::SmallVec;

/// All elements whose coordinates lie in these sets, x running fastest in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// Within a row.
    pub x: Intervals,
    /// Rows of a plane.
    pub y: Intervals,
    /// Planes.
    pub z: Intervals,
}

/// Regions that hold the same numbers along an axis, with no other: these numbers.
pub struct Held<'s> {
    /// The regions.
    pub by: SmallVec<[&'s Region; 8]>,
    /// What they hold.
    pub on: Ranges,
}

/// First numbers, and those behind the last, ascending.
pub type Ranges = SmallVec<[(i64, i64); 4]>;

/// What each number along an axis is held by, as ranges that the same regions hold.
pub fn held<'s>(all: impl Iterator<Item = &'s Region>, along: fn(&Region) -> &Intervals) -> SmallVec<[Held<'s>; 2]> {
    let all: SmallVec<[&Region; 8]> = all.collect();
    if let Some(first) = all.first()
        && all.iter().all(|own| along(own) == along(first))
    {
        let on = along(first).as_slice().into();
        return SmallVec::from_iter([Held { by: all, on }]);
    }
    let ranges = all.iter().enumerate().flat_map(|(i, own)| along(own).as_slice().iter().map(move |&(lo, hi)| (lo, hi, i)));
    let mut begins: SmallVec<[(i64, i64, usize); 32]> = ranges.collect();
    begins.sort_unstable();
    let mut cuts: SmallVec<[i64; 64]> = begins.iter().flat_map(|own| [own.0, own.1]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let mut found: SmallVec<[Held; 2]> = SmallVec::new();
    let mut later = begins.iter().peekable();
    // Ends, and whose they are, in the order of regions.
    let mut inside: SmallVec<[(i64, usize); 16]> = SmallVec::new();
    for cut in cuts.windows(2) {
        inside.retain(|own| cut[1] <= own.0);
        while let Some(&(_, hi, i)) = later.next_if(|own| own.0 <= cut[0]) {
            inside.insert(inside.partition_point(|own| own.1 < i), (hi, i));
        }
        let by = || inside.iter().map(|own| all[own.1]);
        let same = |own: &&mut Held| own.by.len() == inside.len() && own.by.iter().zip(by()).all(|(a, b)| std::ptr::eq(*a, b));
        match found.iter_mut().find(same) {
            _ if inside.is_empty() => {}
            Some(own) => own.on.push((cut[0], cut[1])),
            None => found.push(Held { by: by().collect(), on: Ranges::from_iter([(cut[0], cut[1])]) }),
        }
    }
    found
}

/// Regions as parts that lie within rows of so many elements and planes of so many rows.
pub fn parts(regions: &[Region], row: i64, plane: Option<i64>) -> Vec<Region> {
    let mut parts = Vec::with_capacity(regions.len());
    for region in regions {
        for (rows_on, x) in wrapped(&region.x, Some(row)) {
            let y = if rows_on == 0 { region.y.clone() } else { region.y.shifted(rows_on) };
            for (planes_on, y) in wrapped(&y, plane) {
                parts.push(Region { x: x.clone(), y, z: region.z.shifted(planes_on) });
            }
        }
    }
    parts
}

/// A set cut at multiples of `length`: the multiple, and the members within `0 ≤ i < length` of it.
fn wrapped(set: &Intervals, length: Option<i64>) -> SmallVec<[(i64, Intervals); 2]> {
    let length = match (length, set.bounds()) {
        (_, None) => return SmallVec::new(),
        (Some(length), Some((lo, hi))) if lo < 0 || hi >= length => length,
        _ => return SmallVec::from_iter([(0, set.clone())]),
    };
    // Interval by interval: far apart, they leave out many multiples between them.
    let mut parts: SmallVec<[(i64, Intervals); 2]> = SmallVec::new();
    for &(lo, hi) in set.as_slice() {
        for k in lo.div_euclid(length)..=(hi - 1).div_euclid(length) {
            let (from, to) = ((lo - k * length).max(0), (hi - k * length).min(length));
            match parts.last_mut() {
                Some((last, part)) if *last == k => part.insert(from, to),
                _ => parts.push((k, Intervals::range(from, to))),
            }
        }
    }
    parts
}

/// Regions that differ along one axis only as one: of a star's accesses, one for each axis remains.
pub fn joined(regions: &[Region]) -> SmallVec<[Region; 8]> {
    let mut kept: SmallVec<[Region; 8]> = SmallVec::new();
    for region in regions {
        match kept.iter_mut().find(|other| other.y == region.y && other.z == region.z) {
            Some(other) => other.x.join(&region.x),
            None => kept.push(region.clone()),
        }
    }
    let pass = |kept: &mut SmallVec<[Region; 8]>, same: fn(&Region, &Region) -> bool, join: fn(&mut Region, &Region)| {
        let mut i = 1;
        while i < kept.len() {
            match (0..i).find(|&earlier| same(&kept[earlier], &kept[i])) {
                Some(earlier) => {
                    let later = kept.remove(i);
                    join(&mut kept[earlier], &later);
                }
                None => i += 1,
            }
        }
    };
    pass(&mut kept, |a, b| a.x == b.x && a.z == b.z, |a, b| a.y.join(&b.y));
    // The second of two folded points lacks what the first touches already: with that filled in, their regions are alike.
    let mut filled = false;
    for i in 0..kept.len() {
        filled |= fill(&mut kept, i, |region| &mut region.x) | fill(&mut kept, i, |region| &mut region.y);
    }
    if filled {
        pass(&mut kept, |a, b| a.x == b.x && a.z == b.z, |a, b| a.y.join(&b.y));
    }
    pass(&mut kept, |a, b| a.x == b.x && a.y == b.y, |a, b| a.z.join(&b.z));
    kept
}

/// Fills the gap between the two intervals of a region along an axis, where another region holds it.
fn fill(regions: &mut [Region], i: usize, axis: fn(&mut Region) -> &mut Intervals) -> bool {
    let &[(lo, from), (to, hi)] = axis(&mut regions[i]).as_slice() else { return false };
    let mut gap = regions[i].clone();
    *axis(&mut gap) = Intervals::range(from, to);
    let holds = |other: &Region| other.x.holds(&gap.x) && other.y.holds(&gap.y) && other.z.holds(&gap.z);
    let held = regions.iter().any(holds);
    if held {
        *axis(&mut regions[i]) = Intervals::range(lo, hi);
    }
    held
}
