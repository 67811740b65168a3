//! The lines of memory that the lanes of one instruction touch.

use crate::memory::cache::span;

/// One line an instruction touches, and which of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// Address of the line's first byte.
    pub line: u64,
    /// Bit i: the i-th unit of the line's bytes ([`crate::memory::cache::span`]).
    pub bytes: u64,
    /// Lanes that touch it.
    pub lanes: u32,
}

/// The lines of one instruction, in the order of the lanes that touch them first.
#[derive(Debug)]
pub struct Lines {
    /// The lines.
    pub list: Vec<Touched>,
    /// Position plus one by a hash of the line, 0 where free.
    table: [u16; TABLE],
    /// How many of the list are in the table. While lines come in rising order none has to be.
    listed: usize,
    highest: u64,
}

/// Places of the hash table: more than the lines that 128 lanes can touch with 16 elements of 8 bytes each, where every lane touches 16.
const TABLE: usize = 4096;

impl Lines {
    /// None.
    pub fn new() -> Self {
        Self { list: vec![], table: [0; TABLE], listed: 0, highest: 0 }
    }

    fn slot(line: u64) -> usize {
        (line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize
    }

    /// Forgets all.
    #[inline]
    pub fn clear(&mut self) {
        if self.listed > 0 {
            self.unlist();
        }
        self.list.clear();
        self.highest = 0;
    }

    fn unlist(&mut self) {
        if self.listed > TABLE / 8 {
            self.table = [0; TABLE];
        } else {
            // Entries that collided lie right behind their slot.
            for touched in &self.list {
                let mut slot = Self::slot(touched.line);
                while self.table[slot] != 0 {
                    self.table[slot] = 0;
                    slot = (slot + 1) % TABLE;
                }
            }
        }
        self.listed = 0;
    }

    /// Notes that a lane touches `len` bytes from `address` on, in lines of `size` bytes.
    #[inline]
    pub fn add(&mut self, address: u64, len: u64, size: u64) {
        let line = address & !(size - 1);
        if address + len <= line + size {
            return self.touch(line, span(address - line, len, size));
        }
        let end = address + len;
        let mut at = address;
        while at < end {
            let line = at & !(size - 1);
            let next = end.min(line + size);
            self.touch(line, span(at - line, next - at, size));
            at = next;
        }
    }

    #[inline]
    fn touch(&mut self, line: u64, bytes: u64) {
        match self.list.last_mut() {
            Some(last) if last.line == line => {
                last.bytes |= bytes;
                last.lanes += 1;
            }
            Some(_) if line <= self.highest => self.insert(line, bytes),
            _ => {
                self.highest = line;
                self.list.push(Touched { line, bytes, lanes: 1 });
            }
        }
    }

    fn insert(&mut self, line: u64, bytes: u64) {
        for at in self.listed..self.list.len() {
            let mut slot = Self::slot(self.list[at].line);
            while self.table[slot] != 0 {
                slot = (slot + 1) % TABLE;
            }
            self.table[slot] = at as u16 + 1;
        }
        let mut slot = Self::slot(line);
        while let at @ 1.. = self.table[slot] {
            let touched = &mut self.list[usize::from(at) - 1];
            if touched.line == line {
                touched.bytes |= bytes;
                touched.lanes += 1;
                self.listed = self.list.len();
                return;
            }
            slot = (slot + 1) % TABLE;
        }
        self.list.push(Touched { line, bytes, lanes: 1 });
        self.table[slot] = self.list.len() as u16;
        self.listed = self.list.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_merge_what_lanes_share() {
        let mut lines = Lines::new();
        for lane in 0..64 {
            lines.add(1000 + lane * 4, 4, 64);
        }
        // 1000 .. 1256 touches the lines at 960, 1024, 1088, 1152, 1216.
        assert_eq!(
            lines.list.iter().map(|l| (l.line, l.bytes.count_ones())).collect::<Vec<_>>(),
            [(960, 24), (1024, 64), (1088, 64), (1152, 64), (1216, 40)]
        );
        lines.clear();
        for lane in 0..64 {
            lines.add(lane * 4096 % 8192, 16, 64);
        }
        assert_eq!(lines.list, [Touched { line: 0, bytes: 0xffff, lanes: 32 }, Touched { line: 4096, bytes: 0xffff, lanes: 32 }]);
    }

    #[test]
    fn lines_agree_with_a_set() {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut lines = Lines::new();
        for _ in 0..200 {
            lines.clear();
            let mut brute = std::collections::BTreeMap::<u64, u64>::new();
            for _ in 0..64 {
                let scale = rng.u32(6..20);
                let (address, len) = (rng.u64(0..1 << scale), rng.u64(1..=128));
                lines.add(address, len, 64);
                for byte in address..address + len {
                    *brute.entry(byte / 64 * 64).or_default() |= 1 << (byte % 64);
                }
            }
            let mut got: Vec<(u64, u64)> = lines.list.iter().map(|l| (l.line, l.bytes)).collect();
            got.sort_unstable();
            assert_eq!(got, brute.into_iter().collect::<Vec<_>>());
        }
    }
}
