//! How many distinct lines (sectors, cache lines, pages) a union of boxes of elements touches: exact, in closed form.
//! .
//! Boxes are cut at every edge of any of them (coordinate compression), so that all rows of a cell hold the same elements. How
//! these fall into lines depends on where a row begins within a line, of which there are few kinds (residue classes). Elements left or
//! right of a row belong to the row before or after (row wrap), and a line may hold the end of one row and the begin of the next.

use super::intervals::{Intervals, covered, gcd};
use smallvec::SmallVec;

/// How the elements of a field lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes of an element.
    pub element: i64,
    /// Where element (0, 0, 0) begins, in bytes from the begin of a line.
    pub origin: i64,
    /// Elements from one row to the next.
    pub row: i64,
    /// Rows from one plane to the next; `None` where there is but one plane.
    pub plane: Option<i64>,
}

impl Geometry {
    /// Whether another field lies like this one, wherever it begins.
    pub fn like(&self, other: &Self) -> bool {
        *self == Self { origin: self.origin, ..*other }
    }
}

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

/// A part of a region: whole rows' share of x on a range of rows and planes, wrapped into the field.
struct Slab {
    x: Intervals,
    y: (i64, i64),
    z: (i64, i64),
}

/// Rows of one cell, and the lines each of them touches for every kind of beginning.
struct Cell {
    y: (i64, i64),
    /// For each of [`Residues::all`]: lines, whether the row's first line is touched, whether its last is.
    kinds: SmallVec<[(u64, bool, bool); 4]>,
}

/// Where rows begin within a line.
struct Residues<'a> {
    line: i64,
    origin: i64,
    row: i64,
    plane: i64,
    /// Whether all rows of a translation begin alike.
    uniform: bool,
    /// The distance between possible beginnings.
    grain: i64,
    /// Translations in bytes, and how often.
    shifts: &'a [(i64, u64)],
}

/// Distinct lines, of each of these sizes in bytes, that a union of regions touches, summed over translations by so many bytes, each so
/// many times.
pub fn distinct_lines<const N: usize>(regions: &[Region], geometry: &Geometry, lines: [i64; N], shifts: &[(i64, u64)]) -> [u64; N] {
    let slabs = slabs(&joined(regions), geometry);
    lines.map(|line| {
        // Only where within a line they lead counts.
        let mut residues: SmallVec<[(i64, u64); 8]> = SmallVec::new();
        for &(shift, times) in shifts {
            let shift = shift.rem_euclid(line);
            match residues.iter_mut().find(|(other, _)| *other == shift) {
                Some((_, all)) => *all += times,
                None => residues.push((shift, times)),
            }
        }
        lines_of(&slabs, geometry, line, &residues)
    })
}

fn lines_of(slabs: &[Slab], geometry: &Geometry, line: i64, shifts: &[(i64, u64)]) -> u64 {
    if geometry.row * geometry.element < line {
        return by_planes(slabs, geometry, line, shifts);
    }
    let residues = Residues::of(geometry, line, shifts);
    let zs = cuts(slabs.iter().map(|slab| slab.z));
    let mut total = 0;
    let mut before: Option<((i64, i64), Vec<Cell>)> = None;
    for z in zs.windows(2).map(|z| (z[0], z[1])) {
        let active: SmallVec<[&Slab; 32]> = slabs.iter().filter(|slab| slab.z.0 <= z.0 && z.1 <= slab.z.1).collect();
        let ys = cuts(active.iter().map(|slab| slab.y));
        let mut cells: Vec<Cell> = Vec::new();
        for y in ys.windows(2).map(|y| (y[0], y[1])) {
            let inside = active.iter().filter(|slab| slab.y.0 <= y.0 && y.1 <= slab.y.1);
            if let Some(cell) = residues.cell(inside.map(|slab| &slab.x), y, geometry) {
                residues.each(y, z, |begin, rows| {
                    let moved = shifts.iter().map(|&(shift, times)| cell.kinds[residues.kind(begin + shift)].0 * times);
                    total += moved.sum::<u64>() * rows;
                });
                cells.push(cell);
            }
        }
        total -= residues.shared(&cells, z, geometry.plane, before.as_ref());
        before = Some((z, cells));
    }
    total
}

/// Every begin and end, once, ascending.
fn cuts(ranges: impl Iterator<Item = (i64, i64)>) -> SmallVec<[i64; 32]> {
    let mut cuts: SmallVec<[i64; 32]> = ranges.flat_map(|(lo, hi)| [lo, hi]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

impl<'a> Residues<'a> {
    fn of(geometry: &Geometry, line: i64, shifts: &'a [(i64, u64)]) -> Self {
        let row = geometry.row * geometry.element;
        let plane = geometry.plane.map_or(0, |rows| rows * row);
        let own = gcd(gcd(line, row), plane);
        let grain = shifts.iter().fold(own, |grain, shift| gcd(grain, shift.0));
        Self { line, origin: geometry.origin, row, plane, uniform: own == line, grain, shifts }
    }

    /// Kinds of beginning.
    fn all(&self) -> impl Iterator<Item = i64> {
        let (first, grain) = (self.origin.rem_euclid(self.grain), self.grain);
        (0..self.line / grain).map(move |kind| first + kind * grain)
    }

    /// Byte at which a row begins.
    fn begin(&self, y: i64, z: i64) -> i64 {
        self.origin + y * self.row + z * self.plane
    }

    /// Which kind of beginning this is.
    fn kind(&self, begin: i64) -> usize {
        (begin.rem_euclid(self.line) / self.grain) as usize
    }

    /// Where rows of a cell begin, one of each kind, and how many have it.
    fn each(&self, y: (i64, i64), z: (i64, i64), mut count: impl FnMut(i64, u64)) {
        if self.uniform {
            return count(self.origin, y.1.abs_diff(y.0) * z.1.abs_diff(z.0));
        }
        self.each_row(y, z, |y, z, rows| count(self.begin(y, z), rows));
    }

    /// What rows that hold these elements touch; `None` where they hold none.
    fn cell<'s>(&self, x: impl Iterator<Item = &'s Intervals>, y: (i64, i64), geometry: &Geometry) -> Option<Cell> {
        let mut spans: SmallVec<[(i64, i64); 32]> = SmallVec::new();
        x.for_each(|set| spans.extend(set.as_slice().iter().map(|&(lo, hi)| (lo * geometry.element, hi * geometry.element - 1))));
        if spans.is_empty() {
            return None;
        }
        spans.sort_unstable();
        let (first_byte, last_byte) = (spans[0].0, spans.iter().map(|span| span.1).max()?);
        let kinds = self.all().map(|begin| {
            // Below the first line, which is 0 or later.
            let (mut lines, mut last) = (0, -1);
            for &(lo, hi) in &spans {
                let (lo, hi) = (((begin + lo) / self.line).max(last + 1), (begin + hi) / self.line);
                if hi >= lo {
                    lines += hi.abs_diff(lo) + 1;
                    last = hi;
                }
            }
            let ends = (begin + self.row - 1) / self.line;
            (lines, (begin + first_byte) / self.line == 0, (begin + last_byte) / self.line == ends)
        });
        Some(Cell { y, kinds: kinds.collect() })
    }

    /// Lines counted twice because they hold the end of one row and the begin of the next.
    fn shared(&self, cells: &[Cell], z: (i64, i64), plane: Option<i64>, before: Option<&((i64, i64), Vec<Cell>)>) -> u64 {
        let mut shared = 0;
        let mut pairs = |from: &Cell, to: &Cell, y: (i64, i64), z: (i64, i64), next: (i64, i64)| {
            let mut count = |end: i64, begin: i64, rows: u64| {
                for &(shift, times) in self.shifts {
                    let within = (begin + shift).rem_euclid(self.line) != 0;
                    if within && from.kinds[self.kind(end + shift)].2 && to.kinds[self.kind(begin + shift)].1 {
                        shared += rows * times;
                    }
                }
            };
            if self.uniform {
                let rows = (y.1 - y.0).max(0) * (z.1 - z.0).max(0);
                return count(self.origin, self.origin, rows.unsigned_abs());
            }
            self.each_row(y, z, |y, z, rows| count(self.begin(y, z), self.begin(y + next.0, z + next.1), rows));
        };
        for (i, cell) in cells.iter().enumerate() {
            pairs(cell, cell, (cell.y.0, cell.y.1 - 1), z, (1, 0));
            if let Some(next) = cells.get(i + 1).filter(|next| next.y.0 == cell.y.1) {
                pairs(cell, next, (cell.y.1 - 1, cell.y.1), z, (1, 0));
            }
        }
        let Some(plane) = plane else { return shared };
        let first = |cells: &'_ [Cell]| cells.iter().position(|cell| cell.y.0 == 0);
        let last = |cells: &'_ [Cell]| cells.iter().position(|cell| cell.y.1 == plane);
        if let (Some(end), Some(begin)) = (last(cells), first(cells)) {
            pairs(&cells[end], &cells[begin], (plane - 1, plane), (z.0, z.1 - 1), (1 - plane, 1));
        }
        if let Some((earlier, cells_before)) = before.filter(|before| before.0.1 == z.0)
            && let (Some(end), Some(begin)) = (last(cells_before), first(cells))
        {
            pairs(&cells_before[end], &cells[begin], (plane - 1, plane), (earlier.1 - 1, earlier.1), (1 - plane, 1));
        }
        shared
    }

    /// Rows of a range by kind: a representative of each class, and how many there are.
    fn each_row(&self, y: (i64, i64), z: (i64, i64), mut count: impl FnMut(i64, i64, u64)) {
        let (ys, zs) = (self.line / gcd(self.line, self.row), self.line / gcd(self.line, self.plane));
        for (first_z, planes) in classes(z, zs) {
            for (first_y, rows) in classes(y, ys) {
                count(first_y, first_z, planes * rows);
            }
        }
    }
}

/// The integers of a range by their remainder: the first of each class, and how many there are.
fn classes((lo, hi): (i64, i64), period: i64) -> impl Iterator<Item = (i64, u64)> {
    let length = (hi - lo).max(0);
    (0..length.min(period)).map(move |i| (lo + i, ((length - i + period - 1) / period).unsigned_abs()))
}

/// Regions as parts that lie within rows and planes.
fn slabs(regions: &[Region], geometry: &Geometry) -> Vec<Slab> {
    let mut slabs = Vec::with_capacity(regions.len());
    for region in regions {
        for (rows_on, x) in wrapped(&region.x, Some(geometry.row)) {
            let y = if rows_on == 0 { region.y.clone() } else { region.y.shifted(rows_on) };
            for (planes_on, y) in wrapped(&y, geometry.plane) {
                for &(lo, hi) in region.z.as_slice() {
                    slabs.extend(y.as_slice().iter().map(|&y| Slab { x: x.clone(), y, z: (lo + planes_on, hi + planes_on) }));
                }
            }
        }
    }
    slabs
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

/// Where a line is longer than a row, what lies between the rows of a slab is shorter than a line: its rows of a plane touch a run of
/// lines, as if they were one row.
fn by_planes(slabs: &[Slab], geometry: &Geometry, line: i64, shifts: &[(i64, u64)]) -> u64 {
    let row = |slab: &Slab| {
        let (lo, hi) = slab.x.bounds()?;
        (slab.y.0 < slab.y.1).then_some((slab.y.0 * geometry.row + lo, (slab.y.1 - 1) * geometry.row + hi + 1))
    };
    if let Some(plane) = geometry.plane {
        let rows = slabs.iter().filter_map(|slab| {
            let (lo, hi) = row(slab)?;
            Some(Region { x: Intervals::range(lo, hi), y: Intervals::range(slab.z.0, slab.z.1), z: Intervals::point(0) })
        });
        let planes = Geometry { row: geometry.row * plane, plane: None, ..*geometry };
        let [found] = distinct_lines(&rows.collect::<SmallVec<[Region; 8]>>(), &planes, [line], shifts);
        return found;
    }
    let runs: SmallVec<[(i64, i64); 32]> = slabs.iter().filter_map(row).collect();
    let found = shifts.iter().map(|&(shift, times)| {
        let byte = |element: i64| geometry.origin + shift + element * geometry.element;
        let mut spans: SmallVec<[(i64, i64); 32]> =
            runs.iter().map(|&(lo, hi)| (byte(lo).div_euclid(line), (byte(hi) - 1).div_euclid(line))).collect();
        spans.sort_unstable();
        covered(&spans) * times
    });
    found.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn brute(regions: &[Region], g: &Geometry, line: i64) -> u64 {
        let mut lines = HashSet::new();
        let each = |set: &Intervals| set.as_slice().iter().flat_map(|&(lo, hi)| lo..hi).collect::<Vec<_>>();
        for region in regions {
            for z in each(&region.z) {
                for y in each(&region.y) {
                    for x in each(&region.x) {
                        let element = x + y * g.row + z * g.row * g.plane.unwrap_or(0);
                        let byte = g.origin + element * g.element;
                        lines.extend((0..g.element).map(|b| (byte + b).div_euclid(line)));
                    }
                }
            }
        }
        lines.len() as u64
    }

    fn any_set(rng: &mut fastrand::Rng, most: i64) -> Intervals {
        let start = Intervals::point(rng.i64(-4..most));
        let dense = start.plus_progression(rng.i64(1..3), rng.i64(1..12));
        if rng.u8(0..4) == 0 { dense.plus_progression(rng.i64(1..9), rng.i64(1..4)) } else { dense }
    }

    /// Ends at once: what lies between is not looked at.
    #[test]
    fn rows_far_apart_cost_no_more_than_near_ones() {
        let geometry = Geometry { element: 8, origin: 0, row: 640, plane: Some(512) };
        let mut y = Intervals::range(0, 4);
        y.insert(1 << 50, (1 << 50) + 4);
        let region = Region { x: Intervals::range(0, 64), y, z: Intervals::range(0, 4) };
        assert_eq!(distinct_lines(&[region], &geometry, [32, 64], &[(0, 1)]), [2 * 4 * 4 * 16, 2 * 4 * 4 * 8]);
    }

    #[test]
    fn closed_form_equals_enumeration() {
        let mut rng = fastrand::Rng::with_seed(11);
        for case in 0..4000 {
            let element = *rng.choice(&[2, 4, 8, 16]).unwrap();
            let line = *rng.choice(&[32, 64, 128]).unwrap();
            // Large planes would never wrap; small ones always.
            let row = if rng.bool() { rng.i64(1..40) } else { line / element * rng.i64(1..4) };
            let plane = (rng.u8(0..4) > 0).then(|| rng.i64(1..12));
            let geometry = Geometry { element, origin: rng.i64(0..9) * element, row, plane };
            let z = |rng: &mut fastrand::Rng| if plane.is_some() { any_set(rng, 6) } else { Intervals::point(0) };
            let count = rng.usize(1..8);
            let base = Region { x: any_set(&mut rng, row), y: any_set(&mut rng, 10), z: z(&mut rng) };
            let regions: Vec<Region> = (0..count)
                .map(|i| match (i, rng.bool()) {
                    (0, _) => base.clone(),
                    // A stencil's neighbours.
                    (_, true) => Region {
                        x: base.x.shifted(rng.i64(-2..3)),
                        y: base.y.shifted(rng.i64(-2..3)),
                        z: if plane.is_some() { base.z.shifted(rng.i64(-2..3)) } else { base.z.clone() },
                    },
                    _ => Region { x: any_set(&mut rng, row), y: any_set(&mut rng, 10), z: z(&mut rng) },
                })
                .collect();
            assert_eq!(
                distinct_lines(&regions, &geometry, [line], &[(0, 1)]),
                [brute(&regions, &geometry, line)],
                "case {case}: {geometry:?} {line} {regions:?}"
            );
            let shifts: Vec<(i64, u64)> = (0..rng.usize(1..4)).map(|_| (rng.i64(-90..90) * element, rng.u64(1..4))).collect();
            let moved = |shift| brute(&regions, &Geometry { origin: geometry.origin + shift, ..geometry }, line);
            let expected = shifts.iter().map(|&(shift, times)| moved(shift) * times).sum::<u64>();
            let found = distinct_lines(&regions, &geometry, [line], &shifts);
            assert_eq!(found, [expected], "case {case}: {geometry:?} {line} {regions:?} {shifts:?}");
        }
    }
}
