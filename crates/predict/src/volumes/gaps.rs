//! After how many launched blocks the lines of a field are met again: the exact distribution, in closed form.
//! .
//! Along each coordinate, which blocks touch a line depends on where it lies within the step from one block to the next, so that lines fall
//! into few classes. A line's touches, each at the launch index of its block plus the access's share of a block's life, are then known, and
//! with them the gaps between one and the next: nothing is unioned, and no run of blocks looked at. Lines that lie across rows average over
//! how rows begin; lines near the ends of the grid, where some of their blocks are missing, count by the number of blocks of which both
//! exist. Where a grid is so short that no line has all its blocks, every line stands for itself.

use super::intervals::{Intervals, gcd};
use super::lines::Geometry;
use super::reuse::Pattern;
use smallvec::SmallVec;

/// Lines by the gap between one touch and the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gaps {
    /// Lines, and lines times gap. Buckets are a sixteenth to a thirty-second of an octave wide.
    buckets: Vec<(f64, f64)>,
}

impl Gaps {
    /// Adds lines that are met again after so many blocks.
    pub fn add(&mut self, gap: u64, lines: f64) {
        // Four bits after the leading one.
        let octave = gap.max(1).ilog2().saturating_sub(4);
        let bucket = 16 * octave as usize + (gap >> octave) as usize;
        if self.buckets.len() <= bucket {
            // Seldom: by many octaves at once.
            self.buckets.resize((bucket + 1).next_multiple_of(256), (0.0, 0.0));
        }
        let (sum, weighted) = &mut self.buckets[bucket];
        *sum += lines;
        *weighted += lines * gap as f64;
    }

    /// By bucket: its number, mean gap, lines.
    pub fn iter(&self) -> impl Iterator<Item = (usize, f64, f64)> {
        let filled = self.buckets.iter().enumerate().filter(|(_, bucket)| bucket.0 != 0.0);
        filled.map(|(i, &(lines, weighted))| (i, weighted / lines, lines))
    }
}

/// Blocks that touch the lines of a class, for each of the axis's sets.
type Blocks = SmallVec<[SmallVec<[i32; 8]>; 8]>;

/// Lines that the same blocks touch, relative to where they lie.
struct Class {
    lines: f64,
    blocks: Blocks,
}

/// A coordinate and the group axis that moves it, or a group axis that moves none.
struct Axis {
    /// Position of the group axis and blocks launched from one to the next along it.
    group: Option<(usize, i64)>,
    /// Blocks along it, where classes stand for lines with all their blocks.
    blocks: Option<f64>,
    /// How many blocks each of its sets spans.
    spans: SmallVec<[f64; 8]>,
    classes: Vec<Class>,
}

/// A block's box of elements, touched at one time.
struct Member {
    /// Which of each axis's sets.
    sets: SmallVec<[usize; 4]>,
    /// Blocks launched since its own.
    time: i64,
}

/// A touch of a line: blocks launched before it, and its block along each group axis, 16 bits each, the slowest axis highest.
#[derive(Clone, Copy)]
struct Touching {
    time: i64,
    member: u32,
    at: u64,
}

/// Group axes that this handles.
const GROUPS: usize = 4;
/// More touches of one line, or more edges along a coordinate, are left to runs of blocks.
const MOST: usize = 4096;
/// So are launches so large that a touch may lie further from its line's own block.
const EARLIEST: i64 = 1 << 48;

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

/// Each combination of classes.
fn product(axes: &[Axis], members: &[Member]) -> Option<Gaps> {
    let slowest = Ends::of(axes, members);
    let blocks = |i: usize, class: &'_ Class| -> Along { members.iter().map(|member| class.blocks[member.sets[i]].clone()).collect() };
    let levels = axes.iter().enumerate().map(|(i, axis)| Level {
        moves: axis.group.map(|(group, unit)| (unit, Ends::shift(&slowest, group))),
        classes: axis.classes.iter().map(|class| (class.lines, blocks(i, class))).collect(),
    });
    let mut walk = Walk { slowest: &slowest, gaps: Gaps::default(), order: Vec::with_capacity(64) };
    let all: Vec<Touching> = (0..).zip(members).map(|(i, member)| Touching { time: member.time, member: i, at: 0 }).collect();
    walk.down(&levels.collect::<SmallVec<[Level; 6]>>(), &all, 1.0)?;
    Some(walk.gaps)
}

/// Blocks of each member.
type Along = Vec<SmallVec<[i32; 8]>>;

/// An axis as it is walked along.
struct Level {
    /// Blocks launched from one to the next, and where in [`Touching::at`] they are.
    moves: Option<(i64, u32)>,
    /// Lines of each class, and blocks.
    classes: Vec<(f64, Along)>,
}

/// On the way through all combinations of classes, the last axis outermost.
struct Walk<'a> {
    slowest: &'a [Ends],
    gaps: Gaps,
    order: Vec<i64>,
}

impl Walk<'_> {
    /// With the touches that are left by the classes of axes behind these. `None` where there are too many.
    fn down(&mut self, levels: &[Level], rows: &[Touching], lines: f64) -> Option<()> {
        let Some((level, inner)) = levels.split_last() else {
            self.sorted(rows, lines);
            return Some(());
        };
        let mut touches: Vec<Touching> = Vec::with_capacity(2 * rows.len());
        for (class_lines, blocks) in &level.classes {
            touches.clear();
            for row in rows {
                let blocks = &blocks[row.member as usize];
                match level.moves {
                    Some((unit, shift)) => touches.extend(blocks.iter().map(|&block| Touching {
                        time: row.time + unit * i64::from(block),
                        at: row.at | u64::from(block as u16) << shift,
                        ..*row
                    })),
                    None if blocks.is_empty() => {}
                    None => touches.push(*row),
                }
                if touches.len() > MOST {
                    return None;
                }
            }
            if !touches.is_empty() {
                self.down(inner, &touches, lines * class_lines)?;
            }
        }
        Some(())
    }

    /// Lines with all these touches.
    fn sorted(&mut self, touches: &[Touching], lines: f64) {
        // Numbers are faster to sort than what they stand for.
        self.order.clear();
        self.order.extend((0..).zip(touches).map(|(i, touch)| (touch.time + EARLIEST) * MOST as i64 + i));
        self.order.sort_unstable();
        let mut sorted = self.order.iter().map(|key| &touches[*key as usize % MOST]);
        let Some(mut before) = sorted.next() else { return };
        for touch in sorted {
            if before.time < touch.time {
                self.gaps.add(touch.time.abs_diff(before.time), lines * both(self.slowest, before, touch));
            }
            before = touch;
        }
    }
}

/// A group axis, the slowest of a launch first.
struct Ends {
    group: usize,
    /// Blocks along it; infinite where lines stand for themselves.
    blocks: f64,
    /// How many of its blocks each member spans.
    spans: SmallVec<[f64; 16]>,
}

impl Ends {
    fn of(axes: &[Axis], members: &[Member]) -> SmallVec<[Self; GROUPS]> {
        let mut found: SmallVec<[(i64, Self); GROUPS]> = SmallVec::new();
        for (i, axis) in axes.iter().enumerate() {
            if let Some((group, unit)) = axis.group {
                let spans = members.iter().map(|member| axis.spans.get(member.sets[i]).copied().unwrap_or(1.0)).collect();
                found.push((unit, Self { group, blocks: axis.blocks.unwrap_or(f64::INFINITY), spans }));
            }
        }
        found.sort_unstable_by_key(|ends| std::cmp::Reverse(ends.0));
        found.into_iter().map(|ends| ends.1).collect()
    }

    /// Where in [`Touching::at`] the blocks along a group axis are.
    fn shift(slowest: &[Self], group: usize) -> u32 {
        48 - 16 * slowest.iter().position(|ends| ends.group == group).unwrap_or(0) as u32
    }
}

/// Which part of the lines of a class, of which there are as many as blocks, have both touches in a grid that ends. Where the blocks differ
/// along several axes, the slowest decides: a line at the end of a faster one has another pair of much the same gap.
fn both(slowest: &[Ends], before: &Touching, touch: &Touching) -> f64 {
    let first = (before.at ^ touch.at).leading_zeros() as usize / 16;
    let Some((own, faster)) = slowest.get(first..).and_then(<[Ends]>::split_first) else { return 1.0 };
    let mut part = 1.0;
    if own.blocks < f64::INFINITY {
        let at = |at: u64| (at >> (48 - 16 * first)) as i16;
        let steps = f64::from(at(before.at).abs_diff(at(touch.at)));
        part = ((own.blocks.ceil() - steps) / own.blocks).clamp(0.0, 1.0);
    }
    for Ends { blocks, spans, .. } in faster {
        if *blocks < f64::INFINITY {
            // Blocks at the end reach beyond it.
            part *= 1.0 + (spans[before.member as usize].min(spans[touch.member as usize]) - 1.0) / blocks;
        }
    }
    part
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
