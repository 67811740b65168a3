//! How many distinct lines (sectors, cache lines, pages) a union of boxes of elements touches: exact, in closed form.
//! .
//! Boxes are cut at every edge of any of them (coordinate compression), so that all rows of a cell hold the same elements. How
//! these fall into lines depends on where a row begins within a line, of which there are few kinds (residue classes). Elements left or
//! right of a row belong to the row before or after (row wrap), and a line may hold the end of one row and the begin of the next.

use super::intervals::{Intervals, covered, gcd};
use super::regions::{Ranges, Region, held, joined, parts};
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

/// Rows that hold the same elements.
struct Cell {
    y: (i64, i64),
    /// Which of [`Residues::known`].
    x: usize,
}

/// Planes whose rows hold the same elements.
struct Layer {
    on: Ranges,
    /// Ascending.
    cells: Vec<Cell>,
}

/// A number for each kind of beginning.
type Kinds = SmallVec<[u64; 16]>;

/// What a row touches, by where it begins.
struct Touched {
    /// First and last bytes from the row's begin.
    spans: SmallVec<[(i64, i64); 16]>,
    /// Distinct lines.
    lines: Kinds,
    /// Where the line is touched that the row begins in, 1.
    first: Kinds,
    /// Where the line is touched that the row ends in, 1.
    last: Kinds,
}

/// Where rows begin within a line.
struct Residues {
    line: i64,
    origin: i64,
    row: i64,
    plane: i64,
    /// The distance between possible beginnings.
    grain: i64,
    /// How often a row that begins with a line begins in each kind under all translations.
    shifted: Kinds,
    /// What rows were found to touch.
    known: Vec<Touched>,
}

/// Distinct lines, of each of these sizes in bytes, that a union of regions touches, summed over translations by so many bytes, each so
/// many times.
pub fn distinct_lines<const N: usize>(regions: &[Region], geometry: &Geometry, lines: [i64; N], shifts: &[(i64, u64)]) -> [u64; N] {
    let regions = joined(regions);
    // Only where within a line they lead counts.
    let residues = |line: i64| {
        let mut residues: SmallVec<[(i64, u64); 8]> = SmallVec::new();
        for &(shift, times) in shifts {
            let shift = shift.rem_euclid(line);
            match residues.iter_mut().find(|(other, _)| *other == shift) {
                Some((_, all)) => *all += times,
                None => residues.push((shift, times)),
            }
        }
        residues
    };
    if let Some(runs) = runs(&regions, geometry, RUNS / shifts.len().max(1)) {
        return lines.map(|line| of_runs(&runs, geometry, line, &residues(line)));
    }
    let parts = parts(&regions, geometry.row, geometry.plane);
    lines.map(|line| lines_of(&parts, geometry, line, &residues(line)))
}

/// Runs of elements that are looked at one by one.
const RUNS: usize = 128;

/// Regions as runs of elements in memory, where they are few: rows that reach from one to the next are one run, and so are planes.
fn runs(regions: &[Region], geometry: &Geometry, most: usize) -> Option<SmallVec<[(i64, i64); 32]>> {
    let mut runs: SmallVec<[(i64, i64); 32]> = SmallVec::new();
    let length = |(lo, hi): (i64, i64)| hi.abs_diff(lo);
    for region in regions {
        for &x in region.x.as_slice() {
            for &y in region.y.as_slice() {
                let rows = x.1 - x.0 >= geometry.row;
                let plane = (y.1 - y.0 - 1) * geometry.row + x.1 - x.0;
                for &z in region.z.as_slice() {
                    let planes = rows && geometry.plane.is_some_and(|rows| plane >= rows * geometry.row);
                    let (each_y, each_z) = (if rows { 1 } else { length(y) }, if planes { 1 } else { length(z) });
                    if each_y.saturating_mul(each_z).saturating_add(runs.len() as u64) > most as u64 {
                        return None;
                    }
                    for z_run in 0..each_z as i64 {
                        let z_last = if planes { z.1 - 1 } else { z.0 + z_run };
                        for y_run in 0..each_y as i64 {
                            let y_last = if rows { y.1 - 1 } else { y.0 + y_run };
                            let row = |y: i64, z: i64| (z * geometry.plane.unwrap_or(0) + y) * geometry.row;
                            runs.push((row(y.0 + y_run, z.0 + z_run) + x.0, row(y_last, z_last) + x.1));
                        }
                    }
                }
            }
        }
    }
    Some(runs)
}

/// Of regions that lie within rows and planes.
fn lines_of(parts: &[Region], geometry: &Geometry, line: i64, shifts: &[(i64, u64)]) -> u64 {
    if geometry.row * geometry.element < line {
        return by_planes(parts, geometry, line, shifts);
    }
    if let Some(found) = row_by_row(parts, geometry, line, shifts) {
        return found;
    }
    let mut residues = Residues::of(geometry, line, shifts);
    let mut total = 0;
    let mut layers: SmallVec<[Layer; 4]> = SmallVec::new();
    for layer in held(parts.iter(), |own| &own.z) {
        let planes = residues.planes(&layer.on, 0);
        let mut cells: Vec<Cell> = Vec::new();
        for rows in held(layer.by.iter().copied(), |own| &own.y) {
            let Some(x) = residues.touched(rows.by.iter().map(|own| &own.x), geometry.element) else { continue };
            total += rows.on.iter().map(|&y| residues.sum(&planes, y, &residues.known[x].lines)).sum::<u64>();
            cells.extend(rows.on.iter().map(|&y| Cell { y, x }));
        }
        cells.sort_unstable_by_key(|cell| cell.y);
        total -= residues.shared(&cells, &planes);
        layers.push(Layer { on: layer.on, cells });
    }
    total - geometry.plane.map_or(0, |plane| residues.shared_by_planes(&layers, plane))
}

/// The distance between possible beginnings of rows within a line.
fn grain(geometry: &Geometry, line: i64, shifts: &[(i64, u64)]) -> i64 {
    let row = geometry.row * geometry.element;
    let own = gcd(gcd(line, row), geometry.plane.map_or(0, |rows| rows * row));
    shifts.iter().fold(own, |grain, shift| gcd(grain, shift.0))
}

impl Residues {
    fn of(geometry: &Geometry, line: i64, shifts: &[(i64, u64)]) -> Self {
        let row = geometry.row * geometry.element;
        let plane = geometry.plane.map_or(0, |rows| rows * row);
        let grain = grain(geometry, line, shifts);
        let mut shifted = Kinds::from_elem(0, (line / grain) as usize);
        shifts.iter().for_each(|&(shift, times)| shifted[(shift.rem_euclid(line) / grain) as usize] += times);
        Self { line, origin: geometry.origin, row, plane, grain, shifted, known: vec![] }
    }

    /// By how many kinds a beginning moves on with so many bytes.
    fn further(&self, bytes: i64) -> usize {
        (bytes.rem_euclid(self.line) / self.grain) as usize
    }

    /// How beginnings move on, from where, in so many steps of so many bytes: for each, how often.
    fn steps(&self, from: usize, bytes: i64, count: i64) -> impl Iterator<Item = (usize, u64)> {
        steps(self.shifted.len(), from, self.further(bytes), count)
    }

    /// Where rows 0 of these planes begin, under all translations; the last ones of each range left out.
    fn planes(&self, ranges: &[(i64, i64)], last: i64) -> Kinds {
        let kinds = self.shifted.len();
        let mut planes = Kinds::from_elem(0, kinds);
        for z in ranges {
            for (moved, times) in self.steps(self.further(self.origin + z.0 * self.plane), self.plane, z.1 - z.0 - last) {
                let (low, high) = self.shifted.split_at(kinds - moved);
                planes.iter_mut().zip(high.iter().chain(low)).for_each(|(to, shifted)| *to += shifted * times);
            }
        }
        planes
    }

    /// What these rows of planes sum up to.
    fn sum(&self, planes: &[u64], y: (i64, i64), each: &[u64]) -> u64 {
        let sum = self.steps(self.further(y.0 * self.row), self.row, y.1 - y.0).map(|(moved, times)| {
            let (low, high) = each.split_at(moved);
            let (begin, end) = planes.split_at(each.len() - moved);
            let dot = |a: &[u64], b: &[u64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<u64>();
            times * (dot(begin, high) + dot(end, low))
        });
        sum.sum()
    }

    /// What rows that hold these elements touch; `None` where they hold none.
    fn touched<'s>(&mut self, x: impl Iterator<Item = &'s Intervals>, element: i64) -> Option<usize> {
        let mut spans: SmallVec<[(i64, i64); 16]> = SmallVec::new();
        x.for_each(|set| set.as_slice().iter().for_each(|&(lo, hi)| spans.push((lo * element, hi * element - 1))));
        if spans.len() > 1 {
            spans.sort_unstable();
            spans.dedup();
        }
        let first_byte = spans.first()?.0;
        if let Some(known) = self.known.iter().position(|own| own.spans == spans) {
            return Some(known);
        }
        let last_byte = spans.iter().map(|span| span.1).max()?;
        let (mut lines, mut first, mut last) = (Kinds::new(), Kinds::new(), Kinds::new());
        for begin in (0..self.line / self.grain).map(|kind| self.origin.rem_euclid(self.grain) + kind * self.grain) {
            // Below the first line, which is 0 or later.
            let (mut count, mut before) = (0, -1);
            for &(lo, hi) in &spans {
                let (lo, hi) = (((begin + lo) / self.line).max(before + 1), (begin + hi) / self.line);
                if hi >= lo {
                    count += hi.abs_diff(lo) + 1;
                    before = hi;
                }
            }
            let ends = (begin + self.row - 1) / self.line;
            lines.push(count);
            first.push(u64::from((begin + first_byte) / self.line == 0));
            last.push(u64::from((begin + last_byte) / self.line == ends));
        }
        self.known.push(Touched { spans, lines, first, last });
        Some(self.known.len() - 1)
    }

    /// Lines counted twice because they hold the end of one row and the begin of the next, of a plane.
    fn shared(&self, cells: &[Cell], planes: &[u64]) -> u64 {
        let own = || Kinds::from_slice(planes);
        let within = cells.iter().map(|cell| self.pairs(cell, cell, (cell.y.0, cell.y.1 - 1), own, self.row));
        let next = cells.windows(2).filter(|own| own[0].y.1 == own[1].y.0);
        let next = next.map(|pair| self.pairs(&pair[0], &pair[1], (pair[0].y.1 - 1, pair[0].y.1), own, self.row));
        within.chain(next).sum()
    }

    /// The same of the last row of a plane of so many and the first one of the next.
    fn shared_by_planes(&self, layers: &[Layer], plane: i64) -> u64 {
        let over = self.plane - (plane - 1) * self.row;
        let last = |layer: &'_ Layer| layer.cells.iter().position(|cell| cell.y.1 == plane);
        let first = |layer: &'_ Layer| layer.cells.iter().position(|cell| cell.y.0 == 0);
        let mut shared = 0;
        for end in layers {
            let Some(from) = last(end) else { continue };
            for begin in layers {
                let Some(to) = first(begin) else { continue };
                let planes = || match std::ptr::eq(end, begin) {
                    true => self.planes(&end.on, 1),
                    false => {
                        let meets = |z: &&(i64, i64)| begin.on.binary_search_by_key(&z.1, |next| next.0).is_ok();
                        self.planes(&end.on.iter().filter(meets).map(|z| (z.1 - 1, z.1)).collect::<Ranges>(), 0)
                    }
                };
                shared += self.pairs(&end.cells[from], &begin.cells[to], (plane - 1, plane), planes, over);
            }
        }
        shared
    }

    /// Lines that hold the end of rows of one cell and the begin of those of another, so many bytes on.
    fn pairs(&self, from: &Cell, to: &Cell, y: (i64, i64), planes: impl Fn() -> Kinds, next: i64) -> u64 {
        let (last, first) = (&self.known[from.x].last, &self.known[to.x].first);
        if !last.contains(&1) || !first.contains(&1) {
            return 0;
        }
        let (kinds, on) = (first.len(), self.further(next));
        // A row that begins with a line shares none.
        let whole = |kind: usize| kind == 0 && self.origin % self.grain == 0;
        let both = (0..kinds).map(|end| {
            let begin = (end + on) % kinds;
            if whole(begin) { 0 } else { last[end] * first[begin] }
        });
        self.sum(&planes(), y, &both.collect::<Kinds>())
    }
}

/// Of so many kinds of beginnings those that so many steps lead to, each of so many kinds on from the last: for each, how often.
fn steps(kinds: usize, from: usize, step: usize, count: i64) -> impl Iterator<Item = (usize, u64)> {
    let count = count.max(0).unsigned_abs();
    // They repeat after a period.
    let period = kinds as u64 / gcd(kinds as i64, step as i64).unsigned_abs();
    let (rounds, rest) = (count / period, count % period);
    (0..period.min(count)).scan(from, move |at, i| {
        let here = *at;
        *at = if here + step < kinds { here + step } else { here + step - kinds };
        Some((here, rounds + u64::from(i < rest)))
    })
}

/// Elements of a row.
type Row = SmallVec<[(i64, i64); 8]>;

/// Distinct lines that regions touch whose rows share none, wherever these go beyond their field: for each byte of a line in which element
/// (0, 0, 0) may begin, an element's or a line's common divisor apart.
pub(in crate::volumes) fn by_begin(regions: &[Region], geometry: &Geometry, line: i64) -> SmallVec<[u64; 16]> {
    let grain = gcd(line, geometry.element);
    let kinds = (line / grain) as usize;
    let rows = geometry.plane.unwrap_or(0);
    let further = |rows: i64| ((rows * geometry.row * geometry.element).rem_euclid(line) / grain) as usize;
    let (row, plane) = (further(1), further(rows));
    let mut total: SmallVec<[u64; 16]> = SmallVec::from_elem(0, kinds);
    let mut known: SmallVec<[(Row, Kinds); 4]> = SmallVec::new();
    let mut begins = Kinds::new();
    for layer in held(regions.iter(), |own| &own.z) {
        for own in held(layer.by.iter().copied(), |own| &own.y) {
            let mut spans: Row = own.by.iter().flat_map(|own| own.x.as_slice()).copied().collect();
            if spans.is_empty() {
                continue;
            }
            spans.sort_unstable();
            let at = known.iter().position(|own| own.0 == spans).unwrap_or_else(|| {
                let each = (0..kinds as i64).map(|kind| {
                    let byte = |x: i64| kind * grain + x * geometry.element;
                    let lines = |&(lo, hi): &(i64, i64)| (byte(lo).div_euclid(line), (byte(hi) - 1).div_euclid(line));
                    covered(&spans.iter().map(lines).collect::<Row>())
                });
                let each = each.collect();
                known.push((std::mem::take(&mut spans), each));
                known.len() - 1
            });
            begins.clear();
            begins.resize(kinds, 0);
            for (z, y) in layer.on.iter().flat_map(|z| own.on.iter().map(move |y| (z, y))) {
                for (at, planes) in steps(kinds, further(z.0 * rows + y.0), plane, z.1 - z.0) {
                    steps(kinds, at, row, y.1 - y.0).for_each(|(at, rows)| begins[at] += planes * rows);
                }
            }
            for (from, &rows) in begins.iter().enumerate().filter(|own| *own.1 > 0) {
                let (low, high) = known[at].1.split_at(from);
                total.iter_mut().zip(high.iter().chain(low)).for_each(|(total, lines)| *total += rows * lines);
            }
        }
    }
    total
}

/// Where a line is longer than a row, what lies between the rows of a slab is shorter than a line: its rows of a plane touch a run of
/// lines, as if they were one row.
fn by_planes(parts: &[Region], geometry: &Geometry, line: i64, shifts: &[(i64, u64)]) -> u64 {
    let mut rows: SmallVec<[Region; 8]> = SmallVec::new();
    for part in parts {
        let Some((lo, hi)) = part.x.bounds() else { continue };
        let run = |y: &(i64, i64)| Intervals::range(y.0 * geometry.row + lo, (y.1 - 1) * geometry.row + hi + 1);
        rows.extend(part.y.as_slice().iter().map(|y| Region { x: run(y), y: part.z.clone(), z: Intervals::point(0) }));
    }
    match geometry.plane {
        Some(plane) => {
            let planes = Geometry { row: geometry.row * plane, plane: None, ..*geometry };
            distinct_lines(&rows, &planes, [line], shifts)[0]
        }
        None => {
            let runs: Vec<(i64, i64)> = rows.iter().flat_map(|own| own.x.as_slice()).copied().collect();
            of_runs(&runs, geometry, line, shifts)
        }
    }
}

/// Where rows are fewer than the ways in which they may lie in a line, as rows of odd lengths in pages: each row by itself.
fn row_by_row(parts: &[Region], geometry: &Geometry, line: i64, shifts: &[(i64, u64)]) -> Option<u64> {
    let kinds = (line / grain(geometry, line, shifts)).unsigned_abs();
    let runs = |own: &Region| own.y.count().saturating_mul(own.z.count()).saturating_mul(own.x.as_slice().len() as u64);
    let all = parts.iter().fold(0_u64, |sum, own| sum.saturating_add(runs(own)));
    if all.saturating_mul(shifts.len() as u64) >= kinds {
        return None;
    }
    let each = |set: &'_ Intervals| set.as_slice().iter().flat_map(|&(lo, hi)| lo..hi).collect::<SmallVec<[i64; 32]>>();
    let mut runs: Vec<(i64, i64)> = Vec::with_capacity(all as usize);
    for own in parts {
        for z in each(&own.z) {
            for y in each(&own.y) {
                let row = (z * geometry.plane.unwrap_or(0) + y) * geometry.row;
                runs.extend(own.x.as_slice().iter().map(|&(lo, hi)| (row + lo, row + hi)));
            }
        }
    }
    Some(of_runs(&runs, geometry, line, shifts))
}

/// Distinct lines of these runs of elements.
fn of_runs(runs: &[(i64, i64)], geometry: &Geometry, line: i64, shifts: &[(i64, u64)]) -> u64 {
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
    fn rows_that_share_no_line_count_by_where_they_begin() {
        let mut rng = fastrand::Rng::with_seed(12);
        for case in 0..2000 {
            let element = *rng.choice(&[2, 4, 8, 16]).unwrap();
            let line = *rng.choice(&[32, 64, 128]).unwrap();
            let regions: Vec<Region> = (0..rng.usize(1..5))
                .map(|_| Region { x: any_set(&mut rng, 9), y: any_set(&mut rng, 5), z: any_set(&mut rng, 4) })
                .collect();
            let ends = |set: fn(&Region) -> &Intervals| {
                let bounds = regions.iter().filter_map(|own| set(own).bounds()).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
                bounds.map_or(0, |(lo, hi)| hi - lo + 1)
            };
            let row = ends(|own| &own.x) + line / element + rng.i64(0..40);
            let geometry = Geometry { element, origin: 0, row, plane: Some(ends(|own| &own.y) + rng.i64(0..5)) };
            // As they lie in a field that is larger by whole lines.
            let larger = Geometry { row: row % line, plane: geometry.plane.map(|rows| rows % line), ..geometry };
            let found = by_begin(&regions, &larger, line);
            let begin = rng.usize(0..found.len());
            let origin = begin as i64 * (line / found.len() as i64);
            assert_eq!(
                found[begin],
                brute(&regions, &Geometry { origin, ..geometry }, line),
                "case {case}: {geometry:?} {line} {regions:?}"
            );
        }
    }

    #[test]
    fn closed_form_equals_enumeration() {
        let mut rng = fastrand::Rng::with_seed(11);
        for case in 0..4000 {
            let element = *rng.choice(&[2, 4, 8, 16]).unwrap();
            let line = *rng.choice(&[32, 64, 128, 4096]).unwrap();
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
