//! A cache of tags: a set gives up the line that was not used for longest.

use super::levels::Level;
use std::ops::Range;

/// Lines of a cache; `L` is what is known of one.
#[derive(Clone, Debug)]
pub struct Lru<L> {
    /// Numbers of lines plus one, a set after the other, in each the one that was used last first; 0 where there is none.
    tags: Vec<u64>,
    /// Their lower halves, which are compared many at a time.
    short: Vec<u32>,
    lines: Vec<L>,
    ways: usize,
    sets: u64,
    hashed: bool,
}

impl<L: Copy + Default> Lru<L> {
    /// An empty cache.
    pub fn new(level: &Level) -> Self {
        let all = level.bytes / level.line;
        let ways = level.ways.map_or(all, u64::from);
        let sets = all / ways;
        let places = (sets * ways) as usize;
        Self {
            tags: vec![0; places],
            short: vec![0; places],
            lines: vec![L::default(); places],
            ways: ways as usize,
            sets,
            hashed: level.hashed,
        }
    }

    /// The line of this number, if it is there.
    pub fn find(&mut self, number: u64) -> Option<&mut L> {
        let set = self.set(number);
        let at = set.start + self.position(set, number + 1)?;
        Some(&mut self.lines[at])
    }

    /// The line of this number, used now. Where it is not there it is made, and what it takes the place of is said: of those that are
    /// preferred the one not used for longest, of all where none is.
    pub fn access(&mut self, number: u64, preferred: Option<fn(&L) -> bool>) -> (&mut L, Option<L>) {
        let (tag, set) = (number + 1, self.set(number));
        let (first, found) = (set.start, self.position(set.clone(), tag));
        let at = found.unwrap_or_else(|| {
            // Empty places are the last ones.
            let full = self.tags[set.end - 1] > 0;
            let chosen = preferred.filter(|_| full).and_then(|preferred| self.lines[set].iter().rposition(preferred));
            chosen.unwrap_or(self.ways - 1)
        });
        let place = first..first + at + 1;
        self.tags[place.clone()].rotate_right(1);
        self.short[place.clone()].rotate_right(1);
        self.lines[place].rotate_right(1);
        let mut gone = None;
        if found.is_none() {
            let there = std::mem::replace(&mut self.tags[first], tag) > 0;
            self.short[first] = tag as u32;
            gone = Some(std::mem::take(&mut self.lines[first])).filter(|_| there);
        }
        (&mut self.lines[first], gone)
    }

    /// All lines.
    pub fn lines(&self) -> impl Iterator<Item = &L> {
        self.tags.iter().zip(&self.lines).filter(|(tag, _)| **tag > 0).map(|(_, line)| line)
    }

    /// The places where a line may lie.
    fn set(&self, number: u64) -> Range<usize> {
        let set = if self.hashed {
            // Fibonacci hashing: the upper bits of a product by 2⁶⁴ over the golden ratio, folded once before.
            let mixed = (number ^ (number >> 17)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            ((u128::from(mixed) * u128::from(self.sets)) >> 64) as u64
        } else {
            number % self.sets
        };
        let first = set as usize * self.ways;
        first..first + self.ways
    }

    /// Where in a set a tag is.
    fn position(&self, set: Range<usize>, tag: u64) -> Option<usize> {
        let tags = &self.tags[set.clone()];
        self.short[set].chunks(TOGETHER).enumerate().find_map(|(n, chunk)| {
            // All of a chunk, so that compilers compare several at a time.
            if !chunk.iter().fold(false, |any, &short| any | (short == tag as u32)) {
                return None;
            }
            let at = n * TOGETHER;
            tags[at..at + chunk.len()].iter().position(|&own| own == tag).map(|here| at + here)
        })
    }
}

/// Tags that are compared at a time.
const TOGETHER: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(lines: u64, ways: Option<u32>) -> Lru<u8> {
        Lru::new(&Level { bytes: lines * 64, line: 64, sector: 64, ways, hashed: false })
    }

    /// Lines that one round through these gives up, after ten.
    fn misses(cache: &mut Lru<u8>, lines: &[u64]) -> usize {
        let mut last = 0;
        for _ in 0..10 {
            last = lines.iter().filter(|&&line| cache.access(line, None).1.is_some()).count();
        }
        last
    }

    #[test]
    fn a_ring_that_fits_hits_and_one_line_more_thrashes_its_set() {
        let ring = |n: u64| (0..n).collect::<Vec<_>>();
        assert_eq!(misses(&mut cache(8, None), &ring(8)), 0);
        assert_eq!(misses(&mut cache(8, None), &ring(9)), 9);
        // Of four sets of two ways the ninth line thrashes one.
        assert_eq!(misses(&mut cache(8, Some(2)), &ring(9)), 3);
        // Lines of one set, although six places are empty.
        assert_eq!(misses(&mut cache(8, Some(2)), &[0, 4, 8]), 3);
        assert_eq!(misses(&mut cache(8, None), &[0, 4, 8]), 0);
    }

    #[test]
    fn what_was_used_again_stays() {
        let mut own = cache(3, None);
        for line in [10, 11, 12] {
            *own.access(line, None).0 = line as u8;
        }
        assert_eq!(own.access(10, None), (&mut 10, None));
        assert_eq!(own.access(13, None).1, Some(11));
        // 12 is older than 10, but 10 is preferred.
        assert_eq!(own.access(14, Some(|&line| line == 10)).1, Some(10));
        assert_eq!(own.find(12).copied(), Some(12));
        assert_eq!(own.find(10), None);
    }

    #[test]
    fn hashed_sets_are_filled_evenly() {
        let mut own: Lru<u8> = Lru::new(&Level { bytes: 1024 * 64, line: 64, sector: 64, ways: Some(16), hashed: true });
        // A power of two apart: by the lowest bits they would all be in one set.
        let gone = (0..768).filter(|line| own.access(line << 12, None).1.is_some()).count();
        assert!(gone < 60, "{gone} of 768 lines in 1024 places");
    }
}
