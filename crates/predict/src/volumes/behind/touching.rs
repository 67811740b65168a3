//! Touches of lines in the order of time, for each combination of the classes along all axes.

use super::histogram::Gaps;
use smallvec::SmallVec;

/// Launches are left to runs of blocks that are so large that a touch may lie further from its line's own block.
pub(super) const EARLIEST: i64 = 1 << 48;

/// Blocks that touch the lines of a class, for each of the axis's sets.
pub(super) type Blocks = SmallVec<[SmallVec<[i32; 8]>; 8]>;

/// Lines that the same blocks touch, relative to where they lie.
pub(super) struct Class {
    pub(super) lines: f64,
    pub(super) blocks: Blocks,
}

/// A coordinate and the group axis that moves it, or a group axis that moves none.
pub(super) struct Axis {
    /// Position of the group axis and blocks launched from one to the next along it.
    pub(super) group: Option<(usize, i64)>,
    /// Blocks along it, where classes stand for lines with all their blocks.
    pub(super) blocks: Option<f64>,
    /// How many blocks each of its sets spans.
    pub(super) spans: SmallVec<[f64; 8]>,
    pub(super) classes: Vec<Class>,
}

/// A block's box of elements, touched at one time.
pub(super) struct Member {
    /// Which of each axis's sets.
    pub(super) sets: SmallVec<[usize; 4]>,
    /// Blocks launched since its own.
    pub(super) time: i64,
}

/// Group axes that this handles.
pub(super) const GROUPS: usize = 4;
/// More touches of one line, or more edges along a coordinate, are left to runs of blocks.
pub(super) const MOST: usize = 4096;

/// A touch of a line: blocks launched before it, and its block along each group axis, 16 bits each, the slowest axis highest.
#[derive(Clone, Copy)]
struct Touching {
    time: i64,
    at: u64,
    member: usize,
}

/// Before all touches.
const NEVER: i64 = i64::MIN;

/// Numbers are faster to sort than what they stand for: a time, and the position of a touch.
fn key(time: i64, position: usize) -> i64 {
    (time + EARLIEST) * MOST as i64 + position as i64
}

/// The time and position of a key.
fn unkey(key: i64) -> (i64, usize) {
    (key / MOST as i64 - EARLIEST, key as usize % MOST)
}

/// Each combination of classes. `None` where there are too many touches.
pub(super) fn product(axes: &[Axis], members: &[Member]) -> Option<Gaps> {
    let slowest = Ends::of(axes, members);
    let levels: SmallVec<[Level; 6]> = (0..axes.len()).map(|i| Level::of(&axes[i], i, members, &slowest)).collect();
    let mut walk = Walk { slowest: &slowest, gaps: Gaps::default(), before: Touching { time: NEVER, at: 0, member: 0 } };
    let touching = |(member, own): (usize, &Member)| Touching { time: own.time, at: 0, member };
    walk.down(&levels, &members.iter().enumerate().map(touching).collect::<Vec<_>>(), 1.0)?;
    Some(walk.gaps)
}

/// An axis as it is walked along.
struct Level<'a> {
    /// Blocks launched from one to the next.
    unit: i64,
    /// Where in [`Touching::at`] they are.
    shift: u32,
    classes: Vec<Spread<'a>>,
}

/// How a class spreads touches over blocks.
struct Spread<'a> {
    lines: f64,
    /// Of each member, ascending.
    blocks: SmallVec<[&'a [i32]; 16]>,
    /// The first block of all.
    first: i32,
    /// Blocks from the first of all to the last.
    count: usize,
    /// For each member a bit for each of its blocks, the first of all lowest; empty where these are more than [`BITS`].
    masks: SmallVec<[u16; 16]>,
}

/// Blocks of a class that have a bit each.
const BITS: usize = 16;

impl<'a> Level<'a> {
    fn of(axis: &'a Axis, i: usize, members: &[Member], slowest: &[Ends]) -> Self {
        let classes = axis.classes.iter().map(|class| {
            let blocks = members.iter().map(|member| match class.blocks[member.sets[i]].as_slice() {
                // Nothing is moved.
                [_, ..] if axis.group.is_none() => &[0],
                blocks => blocks,
            });
            let blocks: SmallVec<[&[i32]; 16]> = blocks.collect();
            let ends = blocks.iter().filter_map(|own| Some((*own.first()?, *own.last()?)));
            let (first, last) = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((0, 0));
            let count = first.abs_diff(last) as usize + 1;
            let mask = |own: &&[i32]| own.iter().fold(0, |mask, block| mask | 1 << block.abs_diff(first));
            let masks = if count > BITS { SmallVec::new() } else { blocks.iter().map(mask).collect() };
            Spread { lines: class.lines, blocks, first, count, masks }
        });
        let (unit, shift) = axis.group.map_or((0, 0), |(group, unit)| (unit, Ends::shift(slowest, group)));
        Self { unit, shift, classes: classes.collect() }
    }

    /// A touch by this block.
    fn moved(&self, row: &Touching, block: i32) -> Touching {
        Touching { time: row.time + self.unit * i64::from(block), at: row.at | u64::from(block as u16) << self.shift, member: row.member }
    }
}

/// On the way through all combinations of classes, the last axis outermost.
struct Walk<'a> {
    slowest: &'a [Ends],
    gaps: Gaps,
    /// The last touch of the lines that are looked at.
    before: Touching,
}

impl Walk<'_> {
    /// With the touches that are left by the classes of axes behind these. `None` where there are too many.
    fn down(&mut self, levels: &[Level], rows: &[Touching], lines: f64) -> Option<()> {
        let (level, inner) = levels.split_last()?;
        if inner.is_empty() {
            return self.innermost(level, rows, lines);
        }
        let mut touches: Vec<Touching> = Vec::with_capacity(2 * rows.len());
        for class in &level.classes {
            touches.clear();
            for row in rows {
                touches.extend(class.blocks[row.member].iter().map(|&block| level.moved(row, block)));
                if touches.len() > MOST {
                    return None;
                }
            }
            if !touches.is_empty() {
                self.down(inner, &touches, lines * class.lines)?;
            }
        }
        Some(())
    }

    /// The lines of each class of the last axis. Its blocks are near each other in time: rows of one time are spread together, and rows of
    /// another mostly come before or after.
    fn innermost(&mut self, level: &Level, rows: &[Touching], lines: f64) -> Option<()> {
        let mut order: Vec<i64> = rows.iter().enumerate().map(|(i, row)| key(row.time, i)).collect();
        order.sort_unstable();
        let mut ordered: Vec<(i64, usize)> = Vec::with_capacity(rows.len());
        ordered.extend(order.iter().map(|&key| unkey(key)));
        let sorted: Vec<Touching> = ordered.iter().map(|&(_, row)| rows[row]).collect();
        // Rows of one time.
        let mut runs: Vec<(usize, usize)> = Vec::with_capacity(ordered.len());
        for (i, row) in ordered.iter().enumerate() {
            match runs.last_mut() {
                Some(run) if ordered[run.0].0 == row.0 => run.1 = i + 1,
                _ => runs.push((i, i + 1)),
            }
        }
        for class in &level.classes {
            let touches = || rows.iter().map(|row| class.blocks[row.member].len()).sum::<usize>();
            if rows.len() * class.count > MOST && touches() > MOST {
                return None;
            }
            let lines = lines * class.lines;
            self.before.time = NEVER;
            // What rows spread over.
            let reach = level.unit * (class.count as i64 - 1);
            let mut run = 0;
            while run < runs.len() {
                let (from, alike) = runs[run];
                run += 1;
                while run < runs.len() && ordered[runs[run].0].0 - ordered[runs[run - 1].0].0 <= reach {
                    run += 1;
                }
                let until = runs[run - 1].1;
                if until == alike && !class.masks.is_empty() {
                    self.together(level, class.first, (&sorted[from..until], &class.masks), lines);
                } else {
                    order.clear();
                    for &(_, row) in &ordered[from..until] {
                        order.extend(class.blocks[rows[row].member].iter().map(|&block| key(level.moved(&rows[row], block).time, row)));
                    }
                    order.sort_unstable();
                    for (time, row) in order.iter().map(|&key| unkey(key)) {
                        // Rows that lie apart in time have blocks, which do so too.
                        let blocks = time - rows[row].time;
                        // Along the fastest axis nothing has to be divided, which would take long.
                        let block = if level.unit == 1 { blocks } else { blocks.checked_div(level.unit).unwrap_or(0) } as i32;
                        let touch = level.moved(&rows[row], block);
                        self.meet(touch, touch, lines);
                    }
                }
            }
        }
        Some(())
    }

    /// Rows of one time: of those that have a block, the first meets what was before it, and the last is met.
    fn together(&mut self, level: &Level, first: i32, (alike, masks): (&[Touching], &[u16]), lines: f64) {
        if let [row] = alike {
            let mut left = masks[row.member];
            while left != 0 {
                let touch = level.moved(row, first + left.trailing_zeros() as i32);
                self.meet(touch, touch, lines);
                left &= left - 1;
            }
            return;
        }
        let mut any = 0_u16;
        let mut ends = [(0_u32, 0_u32); BITS];
        for (i, row) in alike.iter().enumerate() {
            let mask = masks[row.member];
            let mut left = mask;
            while left != 0 {
                let end = &mut ends[left.trailing_zeros() as usize % BITS];
                *end = (if any & left & left.wrapping_neg() == 0 { i as u32 } else { end.0 }, i as u32);
                left &= left - 1;
            }
            any |= mask;
        }
        while any != 0 {
            let bit = any.trailing_zeros() as usize % BITS;
            let [from, to] = [ends[bit].0, ends[bit].1].map(|end| level.moved(&alike[end as usize], first + bit as i32));
            self.meet(from, to, lines);
            any &= any - 1;
        }
    }

    /// Touches at the same time, of which these are the first and the last.
    #[inline(always)]
    fn meet(&mut self, first: Touching, last: Touching, lines: f64) {
        if self.before.time < first.time && self.before.time > NEVER {
            self.gaps.add(first.time.abs_diff(self.before.time), lines * both(self.slowest, &self.before, &first));
        }
        self.before = last;
    }
}

/// A group axis, the slowest of a launch first.
struct Ends {
    group: usize,
    /// Blocks along it; infinite where lines stand for themselves.
    blocks: f64,
    /// For so many blocks between two touches, the part of lines that have both.
    parts: [f64; 16],
    /// For each member, how many lines more have both touches than blocks do: blocks at the end reach beyond it.
    more: Vec<f64>,
}

impl Ends {
    fn of(axes: &[Axis], members: &[Member]) -> SmallVec<[Self; GROUPS]> {
        let mut found: SmallVec<[(i64, Self); GROUPS]> = SmallVec::new();
        for (i, axis) in axes.iter().enumerate() {
            if let Some((group, unit)) = axis.group {
                let blocks = axis.blocks.unwrap_or(f64::INFINITY);
                let spans = members.iter().map(|member| axis.spans.get(member.sets[i]).copied().unwrap_or(1.0));
                found.push((
                    unit,
                    Self {
                        group,
                        blocks,
                        parts: std::array::from_fn(|steps| part(blocks, steps as u16)),
                        more: spans.map(|span| 1.0 + (span - 1.0) / blocks).collect(),
                    },
                ));
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
#[inline(always)]
fn both(slowest: &[Ends], before: &Touching, touch: &Touching) -> f64 {
    let first = (before.at ^ touch.at).leading_zeros() as usize / 16;
    let Some((own, faster)) = slowest.get(first..).and_then(<[Ends]>::split_first) else { return 1.0 };
    let at = |at: u64| (at >> (48 - 16 * first)) as i16;
    let steps = at(before.at).abs_diff(at(touch.at));
    let mut part = own.parts.get(usize::from(steps)).copied().unwrap_or_else(|| part(own.blocks, steps));
    for Ends { blocks, more, .. } in faster {
        if *blocks < f64::INFINITY {
            part *= more[before.member].min(more[touch.member]);
        }
    }
    part
}

/// Which part of as many lines as blocks have touches of two that lie so far apart.
fn part(blocks: f64, steps: u16) -> f64 {
    if blocks < f64::INFINITY { ((blocks.ceil() - f64::from(steps)) / blocks).clamp(0.0, 1.0) } else { 1.0 }
}
