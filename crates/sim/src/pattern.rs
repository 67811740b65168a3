//! Lanes whose places differ by the same distances as the last time: then it is known which of them are one run of bytes, or one texel.

use crate::alu::lanes;
use crate::code::{Mask, Row};

/// How an access's lanes lay when it was executed last.
#[derive(Clone, Debug)]
pub struct Pattern<const W: usize> {
    mask: Mask,
    /// All ones in lanes of the mask.
    active: Row<W>,
    /// What each lane's coordinates are more than the first one's.
    apart: [Row<W>; 2],
    /// See [`Pattern::runs`].
    runs: Vec<(u8, u32)>,
    /// How often in a row lanes lay otherwise than the time before.
    changes: u32,
}

/// After so many changes in a row nothing is learnt any more, but each time that this divides.
const RESTLESS: u32 = 64;

/// Runs among which the same is looked for: what is further away is noted twice, as several lanes would.
const NEAR: usize = 16;

impl<const W: usize> Default for Pattern<W> {
    fn default() -> Self {
        Self { mask: 0, active: [0; W], apart: [[0; W]; 2], runs: vec![], changes: 0 }
    }
}

impl<const W: usize> Pattern<W> {
    /// Runs of elements that the lanes of `mask` touch, `width` each from the place that `rows` say (one row twice, or y and x): the lane that
    /// begins it, and its elements. Lanes that touch the same are in one run, and those that go on where the one before ends. `None` where
    /// lanes lie otherwise each time.
    #[inline(always)]
    pub fn runs(&mut self, mask: Mask, rows: [&Row<W>; 2], width: u32) -> Option<&[(u8, u32)]> {
        if self.fits(mask, rows) {
            self.changes = 0;
        } else {
            self.changes += 1;
            if self.changes > 4 && !self.changes.is_multiple_of(RESTLESS) {
                self.mask = 0;
                return None;
            }
            self.learn(mask, rows, width);
        }
        Some(&self.runs)
    }

    #[inline(always)]
    fn fits(&self, mask: Mask, rows: [&Row<W>; 2]) -> bool {
        if mask != self.mask || mask == 0 {
            return false;
        }
        let first = mask.trailing_zeros() as usize;
        let differs = |row: &Row<W>, apart: &Row<W>| {
            let from = row[first];
            (0..W).fold(0, |other, lane| other | (row[lane].wrapping_sub(from) ^ apart[lane]) & self.active[lane])
        };
        differs(rows[0], &self.apart[0]) | differs(rows[1], &self.apart[1]) == 0
    }

    #[inline(never)]
    fn learn(&mut self, mask: Mask, rows: [&Row<W>; 2], width: u32) {
        let first = mask.trailing_zeros() as usize % W;
        self.mask = mask;
        self.active = std::array::from_fn(|lane| if mask >> lane & 1 != 0 { u32::MAX } else { 0 });
        self.apart = rows.map(|row| std::array::from_fn(|lane| row[lane].wrapping_sub(row[first])));
        self.runs.clear();
        // Runs of lanes with the same slow coordinate; of images, whose texels lie apart, there is one for each texel.
        let one = !std::ptr::eq(rows[0], rows[1]);
        for lane in lanes(mask) {
            let (slow, fast) = (rows[0][lane], rows[1][lane]);
            let same = |&(start, elements): &(u8, u32)| {
                let start = usize::from(start);
                let from = fast.wrapping_sub(rows[1][start]);
                if one { rows[0][start] == slow && from == 0 } else { from < elements && from + width <= elements }
            };
            let follows = self.runs.last().is_some_and(|&(start, elements)| fast.wrapping_sub(rows[1][usize::from(start)]) == elements);
            if follows && !one {
                let last = self.runs.len() - 1;
                self.runs[last].1 += width;
            } else if !self.runs.iter().rev().take(NEAR).any(same) {
                self.runs.push((lane as u8, width));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_that_touch_the_same_are_one_run() {
        let mut pattern = Pattern::<16>::default();
        let anew = Pattern::<16>::default;
        let row = |f: fn(u32) -> u32| -> Row<16> { std::array::from_fn(|lane| f(lane as u32)) };
        let all = 0xffff;
        let vectors = row(|lane| 100 + 4 * lane);
        assert_eq!(pattern.runs(all, [&vectors, &vectors], 4), Some(&[(0, 64)][..]));
        // The same distances from elsewhere, and other distances.
        let further = row(|lane| 7 + 4 * lane);
        assert_eq!(pattern.runs(all, [&further, &further], 4), Some(&[(0, 64)][..]));
        let twice = row(|lane| lane % 8 * 4);
        assert_eq!(pattern.runs(all, [&twice, &twice], 4), Some(&[(0, 32)][..]));
        let rows = row(|lane| lane / 4 * 1000 + lane % 4);
        assert_eq!(anew().runs(0xfff0, [&rows, &rows], 1), Some(&[(4, 4), (8, 4), (12, 4)][..]));
        // Texels: four of them, two in each of two rows.
        let (ys, xs) = (row(|lane| lane / 8), row(|lane| lane % 2));
        assert_eq!(anew().runs(all, [&ys, &xs], 1), Some(&[(0, 1), (1, 1), (8, 1), (9, 1)][..]));
        // An element of two that overlap is touched twice, and noted twice.
        let overlap = row(|lane| lane * 2);
        assert_eq!(anew().runs(0b111, [&overlap, &overlap], 3), Some(&[(0, 3), (1, 3), (2, 3)][..]));
    }
}
