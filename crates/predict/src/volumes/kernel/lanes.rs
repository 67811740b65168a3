//! Which lanes take part in an access, in which blocks.

use super::subject::{Subject, Touch};
use smallvec::SmallVec;
use warpsight_ir::VarId;

/// First and past the last lane that takes part, along each lane axis.
pub(in crate::volumes) type Lanes = SmallVec<[(u32, u32); 4]>;

/// Blocks in which the same lanes take part.
pub(in crate::volumes) struct Class {
    /// First block and number of blocks along each group axis.
    pub(in crate::volumes) blocks: SmallVec<[(i64, u32); 4]>,
    /// Those lanes.
    pub(in crate::volumes) lanes: Lanes,
}

/// How many lanes execute an access, over the launch.
pub fn executing(subject: &Subject, touch: &Touch) -> f64 {
    let trips: f64 = touch.loops.iter().map(|var| f64::from(var.count)).product();
    let of = |class: &Class| {
        let blocks: f64 = class.blocks.iter().map(|at| f64::from(at.1)).product();
        class.lanes.iter().map(|lane| f64::from(lane.1.saturating_sub(lane.0))).product::<f64>() * blocks
    };
    classes(subject, touch).iter().map(of).sum::<f64>() * trips
}

/// The least integer that is not below a / b; b is positive.
fn ceil(a: i64, b: i64) -> i64 {
    -(-a).div_euclid(b)
}

/// Blocks along a group axis at which the set of active lanes changes.
pub(in crate::volumes) fn breaks(touch: &Touch, subject: &Subject, group: VarId, count: i64) -> SmallVec<[i64; 8]> {
    let mut breaks = SmallVec::new();
    for bound in &touch.guard {
        let step = i64::from(bound.value.coefficient(group));
        if step == 0 {
            continue;
        }
        // What lanes and loops add at least and at most.
        let others = subject.lanes.iter().chain(&touch.loops);
        let moved = others.map(|var| i64::from(bound.value.coefficient(var.id)) * i64::from(var.count - 1));
        let (least, most) = moved.fold((0, 0), |(lo, hi), by| (lo + by.min(0), hi + by.max(0)));
        for limit in [-bound.value.constant, bound.extent - bound.value.constant] {
            // From the first block of which some lanes are past the limit to the first of which all are.
            let (first, last) = if step > 0 {
                (ceil(limit - most, step), ceil(limit - least, step))
            } else {
                (1 + (least - limit).div_euclid(-step), 1 + (most - limit).div_euclid(-step))
            };
            breaks.extend(first.max(0)..=last.min(count));
        }
    }
    breaks
}

/// First and past the last active lane along each axis in a block. A bound narrows the axis that it judges alone; one that judges
/// several lanes or a loop is taken to hold.
pub(in crate::volumes) fn active_lanes(subject: &Subject, touch: &Touch, block: &[i64]) -> Lanes {
    let mut lanes: Lanes = subject.lanes.iter().map(|lane| (0, lane.count)).collect();
    for bound in &touch.guard {
        let base = bound.value.constant
            + subject.groups.iter().zip(block).map(|(group, at)| i64::from(bound.value.coefficient(group.id)) * at).sum::<i64>();
        let judged: SmallVec<[usize; 4]> = (0..lanes.len()).filter(|&i| bound.value.coefficient(subject.lanes[i].id) != 0).collect();
        let looped = touch.loops.iter().any(|var| bound.value.coefficient(var.id) != 0);
        match judged.as_slice() {
            _ if looped => {}
            [] if !(0..bound.extent).contains(&base) => lanes.iter_mut().for_each(|lane| *lane = (0, 0)),
            &[axis] => {
                let step = i64::from(bound.value.coefficient(subject.lanes[axis].id));
                let (lo, hi) = lanes[axis];
                let (first, last) = if step > 0 {
                    (ceil(-base, step), ceil(bound.extent - base, step))
                } else {
                    (1 + (base - bound.extent).div_euclid(-step), 1 + base.div_euclid(-step))
                };
                let [first, last] = [first, last].map(|lane| lane.clamp(lo.into(), hi.into()) as u32);
                let (first, last) = if first < last { (first, last) } else { (hi, hi) };
                lanes[axis] = (first, last);
            }
            _ => {}
        }
    }
    lanes
}

/// Blocks by which lanes take part.
pub(in crate::volumes) fn classes(subject: &Subject, touch: &Touch) -> Vec<Class> {
    let mut classes = vec![Class { blocks: SmallVec::new(), lanes: SmallVec::new() }];
    for group in &subject.groups {
        let count = i64::from(group.count);
        let mut edges: Vec<i64> = breaks(touch, subject, group.id, count).into_iter().chain([0, count]).collect();
        edges.sort_unstable();
        edges.dedup();
        classes = classes
            .iter()
            .flat_map(|class| {
                edges.windows(2).map(|range| {
                    let mut blocks = class.blocks.clone();
                    blocks.push((range[0], (range[1] - range[0]) as u32));
                    Class { blocks, lanes: SmallVec::new() }
                })
            })
            .collect();
    }
    for class in &mut classes {
        let first: SmallVec<[i64; 4]> = class.blocks.iter().map(|at| at.0).collect();
        class.lanes = active_lanes(subject, touch, &first);
    }
    classes
}
