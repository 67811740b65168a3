//! Set-associative caches: tags only, contents stay in the launch's memory.

use crate::timing::Time;

/// What is known of a line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    /// Counts accesses: the smallest is the least recently used.
    used: u64,
    /// When its contents arrive.
    pub ready: Time,
    /// Bytes that were written and not yet passed on.
    pub dirty: u64,
    /// Whether bytes that were not written are there too.
    pub full: bool,
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
    lines: Vec<Line>,
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
    pub fn new(sets: usize, ways: usize, victim: Victim) -> Self {
        Self { tags: vec![0; sets * ways], lines: vec![Line::default(); sets * ways], ways, clock: 0, victim }
    }

    /// Looks for line `number` in `set`, and puts it there where it is missing.
    pub fn access(&mut self, set: usize, number: u64) -> (&mut Line, Found) {
        self.clock += 1;
        let tag = number + 1;
        let range = set * self.ways..(set + 1) * self.ways;
        let tags = &mut self.tags[range.clone()];
        let lines = &mut self.lines[range];
        if let Some(at) = tags.iter().position(|&t| t == tag) {
            let line = &mut lines[at];
            line.used = self.clock;
            return (line, Found::Hit);
        }
        let empty = tags.iter().position(|&t| t == 0);
        let at = empty.unwrap_or_else(|| match &mut self.victim {
            Victim::LeastRecent => lines.iter().enumerate().min_by_key(|(_, line)| line.used).map_or(0, |(i, _)| i),
            Victim::Random(state) => {
                // xorshift64
                *state ^= *state << 13;
                *state ^= *state >> 7;
                *state ^= *state << 17;
                (*state % tags.len() as u64) as usize
            }
        });
        let old_tag = std::mem::replace(&mut tags[at], tag);
        let old = std::mem::replace(&mut lines[at], Line { used: self.clock, ..Line::default() });
        (&mut lines[at], Found::Miss(old_tag.checked_sub(1).map(|number| (number, old))))
    }

    /// Forgets when lines arrive: a new launch begins at time 0.
    pub fn settle(&mut self) {
        self.lines.iter_mut().for_each(|line| line.ready = 0);
    }
}

/// One bit per list: the XOR of those address bits.
pub fn hashed(address: u64, hash: &[u64]) -> usize {
    hash.iter().enumerate().fold(0, |set, (bit, &mask)| set | ((address & mask).count_ones() as usize & 1) << bit)
}

/// Lists of bit numbers as masks.
pub fn masks(hash: &[Vec<u32>]) -> Vec<u64> {
    hash.iter().map(|bits| bits.iter().fold(0, |mask, &b| mask ^ 1 << b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let sets = masks(&[vec![0]]);
        let set = |line| hashed(line, &sets);
        assert_eq!(ring(&mut Cache::new(2, 16, Victim::LeastRecent), 32, set), 0);
        assert_eq!(ring(&mut Cache::new(2, 16, Victim::LeastRecent), 33, set), 17);
        assert_eq!(ring(&mut Cache::new(2, 16, Victim::LeastRecent), 34, set), 34);
        // Random victims keep most of it.
        let random = ring(&mut Cache::new(2, 16, Victim::Random(1)), 33, set);
        assert!((1..10).contains(&random), "{random}");
    }

    #[test]
    fn a_hash_is_a_parity() {
        let hash = masks(&[vec![5, 6], vec![7]]);
        assert_eq!([0, 32, 64, 96, 128, 160].map(|a| hashed(a, &hash)), [0, 1, 1, 0, 2, 3]);
    }
}
