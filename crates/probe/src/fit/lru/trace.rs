//! Exact counts of misses.

use super::Shape;

/// A cycle of addresses as a cache of one line size sees it.
pub struct Trace {
    line_bytes: u64,
    /// The numbers of its lines, each once.
    lines: Vec<u64>,
    /// The cycle as places in `lines`, without steps to the line of the step before: these hit in any cache.
    steps: Vec<u32>,
    /// All of `lines` in the order of their last steps.
    last: Vec<u32>,
}

impl Trace {
    pub fn new(addresses: &[u64], line_bytes: u64) -> Self {
        let line_bytes = line_bytes.max(1);
        let mut visits: Vec<u64> = addresses.iter().map(|address| address / line_bytes).collect();
        visits.dedup();
        if visits.len() > 1 && visits.first() == visits.last() {
            visits.pop();
        }
        let mut lines = visits.clone();
        lines.sort_unstable();
        lines.dedup();
        let steps: Vec<u32> = visits.iter().map(|line| lines.partition_point(|other| other < line) as u32).collect();
        let mut seen = vec![false; lines.len()];
        let mut last: Vec<u32> = steps.iter().rev().copied().filter(|&line| !std::mem::replace(&mut seen[line as usize], true)).collect();
        last.reverse();
        Self { line_bytes, lines, steps, last }
    }

    /// Steps of one cycle that miss, in the steady state.
    pub fn misses(&self, shape: &Shape) -> u64 {
        let sets = shape.sets.max(1) as usize;
        let ways = shape.ways.max(1);
        let set_of = self.sets(shape, sets as u64);
        let mut held = vec![0u32; sets];
        for &set in &set_of {
            held[set as usize] += 1;
        }
        // A set that holds all of its lines never misses; one that is visited once a cycle by more lines than it holds always does.
        if held.iter().all(|&lines| lines <= ways) {
            return 0;
        }
        if self.steps.len() == self.lines.len() {
            return held.iter().filter(|&&lines| lines > ways).map(|&lines| u64::from(lines)).sum();
        }
        let mut cache = Lru::new(sets, self.lines.len(), ways);
        // A cycle leaves its lines in the order of their last steps, whatever was there before: the next one is the steady state.
        let mut miss = |&line: &u32| {
            let set = set_of[line as usize] as usize;
            held[set] > ways && cache.miss(set, line)
        };
        self.last.iter().for_each(|line| {
            miss(line);
        });
        self.steps.iter().map(|line| u64::from(miss(line))).sum()
    }

    /// The set of each line.
    fn sets(&self, shape: &Shape, sets: u64) -> Vec<u32> {
        match &shape.hash {
            None => self.lines.iter().map(|line| (line % sets) as u32).collect(),
            Some(hash) => {
                let mask = |bits: &Vec<u32>| bits.iter().filter(|&&bit| bit < 64).fold(0u64, |mask, &bit| mask ^ (1 << bit));
                let masks: Vec<u64> = hash.iter().take(32).map(mask).collect();
                let set = |line: &u64| {
                    let address = line * self.line_bytes;
                    let bits = masks.iter().enumerate();
                    let set = bits.fold(0, |set, (place, mask)| set | (u64::from((address & mask).count_ones() & 1) << place));
                    (set % sets) as u32
                };
                self.lines.iter().map(set).collect()
            }
        }
    }
}

/// No line.
const NONE: u32 = u32::MAX;

/// Per set a doubly linked list of its lines, the last used one first.
struct Lru {
    ways: u32,
    /// Per line: its neighbours in the list, newer and older.
    links: Vec<(u32, u32)>,
    resident: Vec<bool>,
    /// Per set: newest, oldest, number of lines.
    ends: Vec<(u32, u32, u32)>,
}

impl Lru {
    fn new(sets: usize, lines: usize, ways: u32) -> Self {
        Self { ways, links: vec![(NONE, NONE); lines], resident: vec![false; lines], ends: vec![(NONE, NONE, 0); sets] }
    }

    /// Uses a line; whether it was missing.
    fn miss(&mut self, set: usize, line: u32) -> bool {
        let missing = !self.resident[line as usize];
        if !missing {
            self.unlink(set, line);
        } else if self.ends[set].2 == self.ways {
            let oldest = self.ends[set].1;
            self.unlink(set, oldest);
            self.resident[oldest as usize] = false;
        }
        let (newest, oldest, held) = self.ends[set];
        self.links[line as usize] = (NONE, newest);
        self.resident[line as usize] = true;
        if newest != NONE {
            self.links[newest as usize].0 = line;
        }
        self.ends[set] = (line, if oldest == NONE { line } else { oldest }, held + 1);
        missing
    }

    fn unlink(&mut self, set: usize, line: u32) {
        let (newer, older) = self.links[line as usize];
        let ends = &mut self.ends[set];
        match newer {
            NONE => ends.0 = older,
            _ => self.links[newer as usize].1 = older,
        }
        match older {
            NONE => ends.1 = newer,
            _ => self.links[older as usize].0 = newer,
        }
        ends.2 -= 1;
    }
}
