//! Set-associative caches: tags only, contents stay in the launch's memory.

use crate::silicon::Geometry;
use crate::timing::Time;

/// What is known of a line. Bit i of a mask stands for the i-th unit of the line's bytes ([`unit`]).
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    /// When its contents arrive.
    pub ready: Time,
    /// Bytes that were written and not yet passed on.
    pub dirty: u64,
    /// Bytes that are there.
    pub present: u64,
}

/// Bytes that a bit of a mask stands for in lines of so many: masks have 64.
pub const fn unit(line: u64) -> u64 {
    if line > 64 { line / 64 } else { 1 }
}

/// The mask of `len` bytes from byte `from` of a line on.
#[inline]
pub fn span(from: u64, len: u64, line: u64) -> u64 {
    let unit = unit(line);
    let (first, end) = (from / unit, (from + len).div_ceil(unit));
    ones(end - first) << first
}

/// The lowest `n` bits.
#[inline]
pub fn ones(n: u64) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

/// How a set chooses what it gives up.
#[derive(Clone, Copy, Debug)]
pub enum Victim {
    /// The line not used for longest.
    LeastRecent,
    /// Any, by a generator with this state.
    Random(u64),
}

/// A cache's tags.
#[derive(Clone, Debug)]
pub struct Cache {
    /// Numbers of the lines plus one; 0 where there is none.
    tags: Vec<u64>,
    /// When each was used: the smallest is the least recently used.
    used: Vec<u64>,
    lines: Vec<Line>,
    /// Of each set, where it was found last.
    last: Vec<u32>,
    ways: usize,
    clock: u64,
    victim: Victim,
}

/// What an access found.
pub enum Found {
    /// The line.
    Hit,
    /// It was not there; it is now, in a place that was empty or where this line was.
    Miss(Option<(u64, Line)>),
}

impl Cache {
    /// An empty cache.
    pub fn new(geometry: &Geometry, victim: Victim) -> Self {
        let (sets, ways) = (geometry.sets as usize, geometry.ways as usize);
        let places = sets * ways;
        let (tags, used, lines) = (vec![0; places], vec![0; places], vec![Line::default(); places]);
        Self { tags, used, lines, last: vec![0; sets], ways, clock: 0, victim }
    }

    /// Looks for line `number` in `set`, and puts it there where it is missing.
    #[inline]
    pub fn access(&mut self, set: usize, number: u64) -> (&mut Line, Found) {
        self.clock += 1;
        let first = set * self.ways;
        let hinted = first + self.last[set] as usize;
        if self.tags[hinted] == number + 1 {
            self.used[hinted] = self.clock;
            return (&mut self.lines[hinted], Found::Hit);
        }
        self.search(set, number)
    }

    fn search(&mut self, set: usize, number: u64) -> (&mut Line, Found) {
        let tag = number + 1;
        let range = set * self.ways..(set + 1) * self.ways;
        let tags = &mut self.tags[range.clone()];
        let used = &mut self.used[range.clone()];
        let lines = &mut self.lines[range];
        if let Some(at) = place(tags, tag) {
            used[at] = self.clock;
            self.last[set] = at as u32;
            return (&mut lines[at], Found::Hit);
        }
        let at = place(tags, 0).unwrap_or_else(|| match &mut self.victim {
            Victim::LeastRecent => used.iter().enumerate().min_by_key(|(_, used)| **used).map_or(0, |(i, _)| i),
            Victim::Random(state) => {
                // xorshift64
                *state ^= *state << 13;
                *state ^= *state >> 7;
                *state ^= *state << 17;
                (*state % tags.len() as u64) as usize
            }
        });
        self.last[set] = at as u32;
        used[at] = self.clock;
        let old_tag = std::mem::replace(&mut tags[at], tag);
        let old = std::mem::take(&mut lines[at]);
        (&mut lines[at], Found::Miss(old_tag.checked_sub(1).map(|number| (number, old))))
    }

    /// Forgets when lines arrive: a new launch begins at time 0.
    pub fn settle(&mut self) {
        self.lines.iter_mut().for_each(|line| line.ready = 0);
    }
}

/// Where a tag is. Looked at in pieces, each without a branch.
#[inline]
fn place(tags: &[u64], tag: u64) -> Option<usize> {
    for (i, piece) in tags.chunks(16).enumerate() {
        let found = piece.iter().enumerate().fold(0u32, |found, (at, &t)| found | u32::from(t == tag) << at);
        if found != 0 {
            return Some(i * 16 + found.trailing_zeros() as usize);
        }
    }
    None
}

/// Which of several places an address belongs to: sets of a cache, slices of a level.
#[derive(Clone, Debug)]
pub struct Chooser {
    /// Per bit of the number the address bits whose parity it is.
    hash: Option<Vec<u64>>,
    count: u64,
}

impl Chooser {
    /// By these lists of address bits, or by the number of the line.
    pub fn new(hash: Option<&Vec<Vec<u32>>>, count: u32) -> Self {
        let mask = |bits: &Vec<u32>| bits.iter().fold(0, |mask, &bit| mask ^ 1 << bit);
        Self { hash: hash.map(|lists| lists.iter().map(mask).collect()), count: count.into() }
    }

    /// The place of an address whose line (or what else numbers it) has this number.
    #[inline]
    pub fn of(&self, address: u64, number: u64) -> usize {
        match &self.hash {
            Some(hash) => hash.iter().enumerate().fold(0, |at, (bit, &mask)| at | ((address & mask).count_ones() as usize & 1) << bit),
            None if self.count.is_power_of_two() => (number & (self.count - 1)) as usize,
            None => (number % self.count) as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(sets: u32, ways: u32, victim: Victim) -> Cache {
        Cache::new(&Geometry { bytes: 0, line: 32, sets, ways }, victim)
    }

    /// Misses of a ring of `lines` lines after it went round often, per round.
    fn ring(cache: &mut Cache, lines: u64, set: impl Fn(u64) -> usize) -> u64 {
        let mut misses = 0;
        for round in 0..20 {
            for line in 0..lines {
                if let (_, Found::Miss(_)) = cache.access(set(line), line) {
                    misses += u64::from(round >= 10);
                }
            }
        }
        misses / 10
    }

    #[test]
    fn a_ring_one_line_too_long_thrashes_one_set() {
        let sets = Chooser::new(Some(&vec![vec![0]]), 2);
        let set = |line| sets.of(line, 0);
        assert_eq!(ring(&mut cache(2, 16, Victim::LeastRecent), 32, set), 0);
        assert_eq!(ring(&mut cache(2, 16, Victim::LeastRecent), 33, set), 17);
        assert_eq!(ring(&mut cache(2, 16, Victim::LeastRecent), 34, set), 34);
        // Random victims keep most of it.
        let random = ring(&mut cache(2, 16, Victim::Random(1)), 33, set);
        assert!((1..10).contains(&random), "{random}");
        // Three sets of 20: 60 fit, of 61 the first set has one too many.
        let sets = Chooser::new(None, 3);
        let set = |line| sets.of(line * 32, line);
        assert_eq!([60, 61].map(|lines| ring(&mut cache(3, 20, Victim::LeastRecent), lines, set)), [0, 21]);
    }

    #[test]
    fn a_hash_is_a_parity() {
        let hash = Chooser::new(Some(&vec![vec![5, 6], vec![7]]), 4);
        assert_eq!([0, 32, 64, 96, 128, 160].map(|a| hash.of(a, 0)), [0, 1, 1, 0, 2, 3]);
    }

    #[test]
    fn masks_of_long_lines_are_coarser() {
        assert_eq!(span(4, 8, 64), 0xff0);
        assert_eq!(span(4, 8, 256), 0b110);
        assert_eq!(span(0, 256, 256), u64::MAX);
        // A byte is a whole unit.
        assert_eq!(span(255, 1, 256), 1 << 63);
    }
}
