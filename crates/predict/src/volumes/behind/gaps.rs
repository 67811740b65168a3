//! After how many launched blocks the lines of a field are met again: the exact distribution, in closed form.
//! .
//! Along each coordinate, which blocks touch a line depends on where it lies within the step from one block to the next, so that lines fall
//! into few classes. A line's touches, each at the launch index of its block plus the access's share of a block's life, are then known, and
//! with them the gaps between one and the next: nothing is unioned, and no run of blocks looked at. Lines that lie across rows average over
//! how rows begin; lines near the ends of the grid, where some of their blocks are missing, count by the number of blocks of which both
//! exist. Where a grid is so short that no line has all its blocks, every line stands for itself.

use super::histogram::Gaps;
use super::pattern::Pattern;
use super::touching::{Axis, Blocks, Class, EARLIEST, GROUPS, MOST, Member, product};
use crate::volumes::sets::intervals::{Intervals, gcd};
use crate::volumes::sets::lines::Geometry;
use smallvec::SmallVec;

/// What a coordinate takes in one block: what lanes and loops make of it, what guards leave, and constants.
#[derive(PartialEq)]
struct Set<'a> {
    inner: &'a Intervals,
    within: Option<(i64, i64)>,
    offset: &'a Intervals,
}

/// Gaps between touches of lines of `line` bytes, each access `phase · late` blocks behind its block's begin. `None` where blocks do not
/// step along coordinates, all accesses alike, one group axis for each.
pub(super) fn gaps(groups: &[u32], patterns: &[Pattern], geometry: &Geometry, late: f64, line: i64) -> Option<Gaps> {
    let steps = &patterns.first()?.steps;
    if groups.len() > GROUPS
        || line % geometry.element != 0
        || patterns.iter().any(|pattern| pattern.steps != *steps || pattern.inner.is_none())
    {
        return None;
    }
    let mut unit = 1_i64;
    let mut units = SmallVec::<[i64; GROUPS]>::new();
    for &count in groups {
        units.push(unit);
        unit = unit.checked_mul(count.into()).filter(|&unit| unit < EARLIEST / MOST as i64)?;
    }
    let mut members: Vec<Member> = Vec::new();
    let time = |pattern: &Pattern| (pattern.phase * late).round() as i64;
    members.extend(patterns.iter().flat_map(|own| own.offsets.iter().map(move |_| Member { sets: SmallVec::new(), time: time(own) })));
    let inners: SmallVec<[[Intervals; 3]; 8]> =
        patterns.iter().filter_map(|own| own.inner.as_ref()).map(|inner| [0, 1, 2].map(|i| closed(&inner[i]))).collect();
    let mut axes: SmallVec<[Axis; 4]> = SmallVec::new();
    for i in 0..3 {
        let mut movers = (0..groups.len()).filter(|&group| groups[group] > 1 && steps[group][i] != 0);
        let (mover, others) = (movers.next(), movers.next());
        if others.is_some() || mover.is_some_and(|group| (0..3).any(|j| j != i && steps[group][j] != 0)) {
            return None;
        }
        let mut sets: SmallVec<[Set<'_>; 8]> = SmallVec::new();
        let all = patterns.iter().zip(&inners).flat_map(|(own, inner)| own.offsets.iter().map(move |offset| (own, inner, offset)));
        for (member, (own, inner, offset)) in members.iter_mut().zip(all) {
            let offset = [&offset.x, &offset.y, &offset.z][i];
            let set = Set { inner: &inner[i], within: own.within[i], offset };
            member.sets.push(sets.iter().position(|other| *other == set).unwrap_or_else(|| {
                sets.push(set);
                sets.len() - 1
            }));
        }
        let grid = if i == 0 { Grid::of(geometry, line) } else { Grid { first: 0, grain: 1, line: 1 } };
        let moved = mover.map(|group| (group, steps[group][i], groups[group]));
        axes.push(axis(&sets, moved, &grid).map(|axis| Axis { group: mover.map(|group| (group, units[group])), ..axis })?);
    }
    for group in (0..groups.len()).filter(|&group| groups[group] > 1 && steps[group] == [0; 3]) {
        let all = (0..groups[group].min(MOST as u32 + 1) as i32).collect();
        let classes = vec![Class { lines: 1.0, blocks: SmallVec::from_iter([all]) }];
        axes.push(Axis { group: Some((group, units[group])), blocks: None, spans: SmallVec::new(), classes });
        members.iter_mut().for_each(|member| member.sets.push(0));
    }
    product(&axes, &members)
}

/// A set, but one of many small holes without them: other points of the same thread fill these at nearly the same time.
fn closed(set: &Intervals) -> Intervals {
    match set.bounds() {
        Some((lo, hi)) if set.as_slice().len() > 16 && hi.abs_diff(lo) < 8 * set.count() => Intervals::range(lo, hi + 1),
        _ => set.clone(),
    }
}

/// Where lines may begin, in elements.
struct Grid {
    first: i64,
    /// Between one possible begin and the next.
    grain: i64,
    /// Elements of a line.
    line: i64,
}

impl Grid {
    fn of(geometry: &Geometry, line: i64) -> Self {
        let per = line / geometry.element;
        let row = geometry.row;
        let grain = gcd(gcd(per, row), geometry.plane.map_or(0, |rows| rows * row));
        Self { first: -(geometry.origin / geometry.element).rem_euclid(grain), grain, line: per }
    }

    /// Possible begins of lines that hold one of these elements.
    fn begins(&self, (lo, hi): (i64, i64)) -> (i64, i64) {
        ((lo - self.line - self.first).div_euclid(self.grain) + 1, (hi - 1 - self.first).div_euclid(self.grain) + 1)
    }
}

/// The classes along a coordinate that the group axis at a position moves by a step.
fn axis(sets: &[Set<'_>], moved: Option<(usize, i64, u32)>, grid: &Grid) -> Option<Axis> {
    let share = grid.grain as f64 / grid.line as f64;
    let (step, count) = moved.map_or((0, 1), |(_, step, count)| (step, i64::from(count)));
    let whole: SmallVec<[Intervals; 8]> = sets.iter().map(|set| set.inner.sum(set.offset)).collect();
    let ends = whole.iter().filter_map(Intervals::bounds).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let Some((lo, hi)) = ends else { return Some(Axis { group: None, blocks: None, spans: SmallVec::new(), classes: vec![] }) };
    // Blocks that may touch one line: no further apart than this.
    let reach = if step == 0 { 0 } else { (hi - lo + grid.line) / step.abs() + 1 };
    // Blocks after which lines lie alike.
    let period = if step == 0 { 1 } else { grid.grain / gcd(grid.grain, step) };
    let long = count > reach + period;
    // Lines of one period in the middle, or all.
    let (blocks, window) = if long {
        let from = (lo - grid.first).div_euclid(grid.grain);
        // All blocks that may reach into it, whichever way they go.
        let near = reach + period;
        (-near..near + 1, Some((from, from + step.abs() * period / grid.grain)))
    } else {
        (0..count, None)
    };
    if (blocks.end - blocks.start).saturating_mul(whole.iter().map(|set| set.as_slice().len() as i64).sum()) > MOST as i64 {
        return None;
    }
    let mut spans: Vec<((i64, i64), usize, i32)> = Vec::new();
    let mut cuts: SmallVec<[i64; 64]> = SmallVec::new();
    for (s, set) in sets.iter().enumerate() {
        for block in blocks.clone() {
            let mut push = |(lo, hi): (i64, i64), by: i64| {
                let (mut lo, mut hi) = grid.begins((lo + by, hi + by));
                if let Some((from, until)) = window {
                    (lo, hi) = (lo.max(from), hi.min(until));
                }
                if lo < hi {
                    spans.push(((lo, hi), s, block as i32));
                    cuts.extend([lo, hi]);
                }
            };
            match set.within {
                Some((lo, hi)) if !long => {
                    let clipped = set.inner.shifted(step * block).clipped(lo, hi);
                    clipped.sum(set.offset).as_slice().iter().for_each(|&span| push(span, 0));
                }
                _ => whole[s].as_slice().iter().for_each(|&span| push(span, step * block)),
            }
        }
    }
    cuts.sort_unstable();
    cuts.dedup();
    let extent = |set: &Set<'_>| {
        let all = step.abs() * count;
        set.within.map_or(all, |(lo, hi)| if step > 0 { hi.min(all) - lo.max(0) } else { hi - lo }).clamp(0, all) as f64 / step.abs() as f64
    };
    let number = long.then(|| sets.iter().map(extent).fold(0.0, f64::max));
    let each = number.map_or(1.0, |blocks| blocks / period as f64) * share;
    let mut classes: Vec<Class> = Vec::new();
    for cut in cuts.windows(2) {
        let mut blocks: Blocks = SmallVec::from_elem(SmallVec::new(), sets.len());
        for (span, set, block) in &spans {
            if span.0 <= cut[0] && cut[1] <= span.1 && blocks[*set].last() != Some(block) {
                blocks[*set].push(*block);
            }
        }
        let lines = (cut[1] - cut[0]) as f64 * each;
        match classes.iter_mut().find(|class| class.blocks == blocks) {
            Some(class) => class.lines += lines,
            None => classes.push(Class { lines, blocks }),
        }
    }
    let span = |set: &Intervals| {
        let (lo, hi) = set.bounds().map_or((0, 0), |(lo, hi)| grid.begins((lo, hi + 1)));
        ((hi - lo) * grid.grain) as f64 / step.abs().max(1) as f64
    };
    Some(Axis { group: None, blocks: number, spans: whole.iter().map(span).collect(), classes })
}
