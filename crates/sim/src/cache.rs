//! Set-associative caches: tags only, contents stay in the launch's memory.

use crate::timing::Time;

/// One line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    /// Its number plus one; 0 where there is none.
    tag: u64,
    /// Counts accesses: the smallest is the least recently used.
    used: u64,
    /// When its contents arrive.
    pub ready: Time,
    /// Bytes that were written and not yet passed on.
    pub dirty: u64,
    /// Whether bytes that were not written are there too.
    pub full: bool,
}

impl Line {
    /// The address of its first byte, given the bytes of a line.
    pub fn address(&self, bytes: u64) -> u64 {
        (self.tag - 1) * bytes
    }
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
    lines: Vec<Line>,
    ways: usize,
    clock: u64,
    victim: Victim,
}

/// What an access found.
pub enum Found {
    /// The line.
    Hit,
    /// It was not there; it is now, in place of this one.
    Miss(Line),
}

impl Cache {
    /// An empty cache.
    pub fn new(sets: usize, ways: usize, victim: Victim) -> Self {
        Self { lines: vec![Line::default(); sets * ways], ways, clock: 0, victim }
    }

    /// Looks for line `number` in `set`, and puts it there where it is missing.
    pub fn access(&mut self, set: usize, number: u64) -> (&mut Line, Found) {
        self.clock += 1;
        let tag = number + 1;
        let set = &mut self.lines[set * self.ways..(set + 1) * self.ways];
        let hit = set.iter().position(|line| line.tag == tag);
        let at = hit.unwrap_or_else(|| {
            let empty = set.iter().position(|line| line.tag == 0);
            empty.unwrap_or_else(|| match &mut self.victim {
                Victim::LeastRecent => set.iter().enumerate().min_by_key(|(_, line)| line.used).map_or(0, |(i, _)| i),
                Victim::Random(state) => {
                    // xorshift64
                    *state ^= *state << 13;
                    *state ^= *state >> 7;
                    *state ^= *state << 17;
                    (*state % set.len() as u64) as usize
                }
            })
        });
        let line = &mut set[at];
        if hit.is_some() {
            line.used = self.clock;
            return (line, Found::Hit);
        }
        let old = std::mem::replace(line, Line { tag, used: self.clock, ..Line::default() });
        (line, Found::Miss(old))
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
