//! What consecutive blocks touch together: the working set of a wave, a row of blocks, a layer of blocks.
//! .
//! Blocks start in launch order, so that whatever a cache holds was touched by a run of consecutive blocks. [`distinct`] counts the
//! lines of such a run exactly; what a wave has to fetch although `n` blocks before it are still cached is
//! `distinct(n + wave) − distinct(n)` (paper 002, section 4.4, with every distance instead of three).

use crate::volumes::kernel::subject::{Field, Side, Subject};
use crate::volumes::sets::regions::Region;
use smallvec::SmallVec;

/// Blocks in a box: first and number along each group axis.
pub type BlockBox = SmallVec<[(i64, u32); 4]>;

/// The run of `count` blocks from the `first` on, in launch order (first axis fastest), as few boxes. Blocks past the last are left out.
pub fn boxes(groups: &[u32], first: u64, count: u64) -> Vec<BlockBox> {
    let total: u64 = groups.iter().map(|&n| u64::from(n)).product();
    let (first, last) = (first.min(total), first.saturating_add(count).min(total));
    let mut found = Vec::new();
    cut(groups, first, last, &mut found);
    found
}

/// Blocks `first ≤ n < last` of the box spanned by `groups`; the slowest axis is cut first.
fn cut(groups: &[u32], first: u64, last: u64, to: &mut Vec<BlockBox>) {
    if first >= last {
        return;
    }
    let Some((&slowest, faster)) = groups.split_last() else {
        return to.push(SmallVec::new());
    };
    debug_assert!(last <= u64::from(slowest) * faster.iter().map(|&n| u64::from(n)).product::<u64>());
    let layer: u64 = faster.iter().map(|&n| u64::from(n)).product();
    let mut within = |at: u64, from: u64, until: u64| {
        let start = to.len();
        cut(faster, from, until, to);
        to[start..].iter_mut().for_each(|block| block.push((at as i64, 1)));
    };
    let (mut lo, mut hi) = (first / layer, last / layer);
    if lo == hi {
        return within(lo, first % layer, last % layer);
    }
    if !first.is_multiple_of(layer) {
        within(lo, first % layer, layer);
        lo += 1;
    }
    if !last.is_multiple_of(layer) {
        within(hi, 0, last % layer);
    }
    hi = hi.max(lo);
    if hi > lo {
        let mut whole: BlockBox = faster.iter().map(|&n| (0, n)).collect();
        whole.push((lo as i64, (hi - lo) as u32));
        to.push(whole);
    }
}

/// Distinct lines of `line` bytes that blocks in these boxes touch of a field. Lanes beyond the domain count as active.
pub fn distinct(subject: &Subject, field: &Field, side: Side, boxes: &[BlockBox], line: i64) -> u64 {
    let mut regions: Vec<Region> = Vec::new();
    for touch in field.touches.iter().filter(|touch| side.has(touch.kind)) {
        for blocks in boxes {
            touch.regions(&ranges(subject, blocks), &mut regions);
        }
    }
    field.distinct(&regions, [line], &[(0, 1)])[0]
}

fn ranges(subject: &Subject, blocks: &BlockBox) -> crate::volumes::kernel::subject::Ranges {
    let groups = subject.groups.iter().zip(blocks);
    groups.fold(subject.launch(), |ranges, (group, &(first, count))| ranges.with(group.id, first, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_hold_exactly_the_run() {
        let mut rng = fastrand::Rng::with_seed(5);
        for _ in 0..3000 {
            let groups: Vec<u32> = (0..rng.usize(1..4)).map(|_| rng.u32(1..6)).collect();
            let total: u64 = groups.iter().map(|&n| u64::from(n)).product();
            let (first, count) = (rng.u64(0..total), rng.u64(0..total + 2));
            let mut found: Vec<u64> = Vec::new();
            let boxes = boxes(&groups, first, count);
            assert!(boxes.len() < 2 * groups.len(), "{boxes:?}");
            for block in &boxes {
                let mut all = vec![0];
                for ((first, count), size) in block.iter().rev().zip(groups.iter().rev()) {
                    all = all.iter().flat_map(|n| (0..*count).map(move |k| n * u64::from(*size) + *first as u64 + u64::from(k))).collect();
                }
                found.extend(all);
            }
            found.sort_unstable();
            assert_eq!(found, (first..(first + count).min(total)).collect::<Vec<_>>(), "{groups:?}");
        }
    }
}
