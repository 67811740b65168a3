//! The memory units of a core: texture units with their caches, the load-store unit, local memory.

use crate::cache::{Cache, Found, Victim, hashed, masks};
use crate::memory::{Caches, ones};
use crate::silicon::Silicon;
use crate::timing::{Server, Time, ticks};

/// One line an instruction touches, and which of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// Address of the line's first byte.
    pub line: u64,
    /// Bit i: byte i.
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
}

/// Places of the hash table: more than the lines 64 lanes can touch with 16 elements of 8 bytes each.
const TABLE: usize = 1024;

impl Lines {
    /// None.
    pub fn new() -> Self {
        Self { list: vec![], table: [0; TABLE] }
    }

    fn slot(line: u64) -> usize {
        (line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        if self.list.len() > 128 {
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
        self.list.clear();
    }

    /// Notes that a lane touches `len` bytes from `address` on, in lines of `size` bytes.
    #[inline]
    pub fn add(&mut self, address: u64, len: u64, size: u64) {
        let line = address & !(size - 1);
        if address + len <= line + size {
            return self.touch(line, ones(len) << (address - line));
        }
        let end = address + len;
        let mut at = address;
        while at < end {
            let line = at & !(size - 1);
            let next = end.min(line + size);
            self.touch(line, ones(next - at) << (at - line));
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
            _ => self.insert(line, bytes),
        }
    }

    fn insert(&mut self, line: u64, bytes: u64) {
        let mut slot = Self::slot(line);
        loop {
            match self.table[slot] {
                0 => break,
                at => {
                    let touched = &mut self.list[usize::from(at) - 1];
                    if touched.line == line {
                        touched.bytes |= bytes;
                        touched.lanes += 1;
                        return;
                    }
                }
            }
            slot = (slot + 1) % TABLE;
        }
        self.list.push(Touched { line, bytes, lanes: 1 });
        self.table[slot] = self.list.len() as u16;
    }
}

/// The units of one core.
#[derive(Debug)]
pub struct Units {
    /// One a port.
    pub textures: Vec<TextureUnit>,
    /// The load-store unit.
    pub load_store: Server,
    /// Local memory.
    pub local: Server,
    buffer_latency: Time,
    buffer_overhead: Time,
    /// Ticks for 1024 bytes.
    buffer_kib: Time,
    store_queue: Time,
    banks: u64,
    pass: Time,
    local_latency: Time,
    local_atomic: Time,
}

/// A texture unit.
#[derive(Debug)]
pub struct TextureUnit {
    /// Its address and filter pipeline.
    pub pipe: Server,
    fill: Server,
    cache: Cache,
    hash: Vec<u64>,
    line: u64,
    lanes_per_step: u32,
    step: Time,
    overhead: Time,
    latency: Time,
    miss: Time,
    filling: Time,
    wide: u32,
    /// Results leave in the order of their instructions.
    last: Time,
}

impl Units {
    /// Idle units with empty caches.
    pub fn new(silicon: &Silicon) -> Self {
        let (b, l) = (&silicon.buffer, &silicon.local);
        Self {
            textures: (0..silicon.core.ports).map(|_| TextureUnit::new(silicon)).collect(),
            load_store: Server::default(),
            local: Server::default(),
            buffer_latency: ticks(b.latency),
            buffer_overhead: ticks(b.wave_overhead),
            buffer_kib: ticks(1024.0 / b.bytes_per_cycle),
            store_queue: ticks(b.store_queue),
            banks: l.banks.into(),
            pass: ticks(l.pass),
            local_latency: ticks(l.latency),
            local_atomic: ticks(l.atomic),
        }
    }

    /// Ticks the load-store unit is busy: by the bytes of all lanes, since each gets its own, or of all sectors
    /// where they are more.
    fn moving(&self, lines: &Lines, lane_bytes: u64, caches: &Caches) -> Time {
        let sectors: u64 = lines.list.iter().map(|l| caches.sector_bytes(l.bytes)).sum();
        self.buffer_overhead + self.buffer_kib * lane_bytes.max(sectors) / 1024
    }

    /// A load of buffers; gives when the registers hold it.
    pub fn load(&mut self, at: Time, lines: &Lines, lane_bytes: u64, caches: &mut Caches) -> Time {
        let moving = self.moving(lines, lane_bytes, caches);
        let start = self.load_store.serve(at, moving);
        let mut ready = start + moving;
        let count = lines.list.len().max(1) as Time;
        for (i, touched) in lines.list.iter().enumerate() {
            ready = ready.max(caches.read(start + moving * i as Time / count, touched.line, touched.bytes));
        }
        ready + self.buffer_latency
    }

    /// A store; gives when the wave may go on and when the last byte is taken.
    pub fn store(&mut self, at: Time, lines: &Lines, lane_bytes: u64, caches: &mut Caches) -> (Time, Time) {
        let moving = self.moving(lines, lane_bytes, caches);
        let start = self.load_store.serve(at, moving);
        let mut taken = start + moving;
        let count = lines.list.len().max(1) as Time;
        for (i, touched) in lines.list.iter().enumerate() {
            taken = taken.max(caches.write(start + moving * i as Time / count, touched.line, touched.bytes));
        }
        let go = at.max(taken.saturating_sub(self.store_queue));
        self.load_store.free = self.load_store.free.max(go);
        (go, taken)
    }

    /// Atomics on buffers; gives when the registers hold the old values.
    pub fn atomic(&mut self, at: Time, lines: &Lines, lane_bytes: u64, caches: &mut Caches) -> Time {
        let moving = self.moving(lines, lane_bytes, caches);
        let start = self.load_store.serve(at, moving);
        let done = lines.list.iter().map(|l| caches.atomic(start, l.line, l.bytes, l.lanes)).max();
        done.unwrap_or(start) + self.buffer_latency
    }

    /// An access to local memory at these byte addresses, `len` bytes each; gives when registers hold it.
    pub fn local(&mut self, at: Time, addresses: &[u32], len: u32, atomic: bool) -> Time {
        let busy = if atomic {
            self.local_atomic * addresses.len() as Time
        } else {
            self.pass * conflicts(addresses, len, self.banks) // at least one pass
        };
        self.local.serve(at, busy) + busy + self.local_latency
    }
}

/// Passes that banks of four bytes need: the most distinct words any of them has to give.
fn conflicts(addresses: &[u32], len: u32, banks: u64) -> Time {
    // A bank compares with the words it gave last; lanes that share a word are rarely further apart.
    const REMEMBERED: usize = 4;
    let mut words = vec![[u32::MAX; REMEMBERED]; banks as usize];
    let mut counts = vec![0; banks as usize];
    for &address in addresses {
        for word in address / 4..(address + len).div_ceil(4) {
            let bank = (u64::from(word) % banks) as usize;
            if !words[bank].contains(&word) {
                words[bank][counts[bank] % REMEMBERED] = word;
                counts[bank] += 1;
            }
        }
    }
    counts.into_iter().max().unwrap_or(0).max(1) as Time
}

impl TextureUnit {
    fn new(silicon: &Silicon) -> Self {
        let t = &silicon.texture;
        let hash = masks(&t.set_hash);
        Self {
            pipe: Server::default(),
            fill: Server::default(),
            cache: Cache::new(1 << hash.len(), t.ways as usize, Victim::LeastRecent),
            hash,
            line: t.line.into(),
            lanes_per_step: t.lanes_per_step,
            step: ticks(t.step),
            overhead: ticks(t.wave_overhead),
            latency: ticks(t.latency),
            miss: ticks(t.miss_latency),
            filling: ticks(f64::from(t.line) / t.fill),
            wide: t.wide_texel_bytes,
            last: 0,
        }
    }

    /// Bytes of a line.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// A fetch by the lanes of `mask`; gives when the registers hold the texels.
    pub fn fetch(&mut self, at: Time, mask: u64, lines: &Lines, texel_bytes: u32, caches: &mut Caches) -> Time {
        let steps = (0..64 / self.lanes_per_step).filter(|s| mask >> (s * self.lanes_per_step) & ones(self.lanes_per_step.into()) != 0);
        let work = steps.count() as Time * self.step * if texel_bytes > self.wide { 2 } else { 1 };
        let start = self.pipe.serve(at, work + self.overhead);
        let mut ready = start + work;
        let count = lines.list.len().max(1) as Time;
        for (i, touched) in lines.list.iter().enumerate() {
            let looked = start + work * i as Time / count;
            let set = hashed(touched.line, &self.hash);
            let (line, found) = self.cache.access(set, touched.line / self.line);
            match found {
                Found::Hit => caches.traffic.texture_hits += 1,
                Found::Miss(_) => {
                    caches.traffic.texture_misses += 1;
                    let within = touched.line % caches.line();
                    let arrived = caches.read(looked, touched.line - within, ones(self.line) << within);
                    line.ready = self.fill.serve(arrived, self.filling) + self.filling + self.miss;
                }
            }
            ready = ready.max(line.ready);
        }
        self.last = self.last.max(ready);
        self.last + self.latency
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

    #[test]
    fn banks_conflict_by_distinct_words() {
        let stride = |bytes: u32| (0..64).map(|l| l * bytes).collect::<Vec<u32>>();
        assert_eq!(conflicts(&stride(4), 4, 32), 2);
        assert_eq!(conflicts(&stride(16), 16, 32), 8);
        assert_eq!(conflicts(&stride(128), 4, 32), 64);
        assert_eq!(conflicts(&stride(0), 4, 32), 1);
        assert_eq!(conflicts(&stride(132), 4, 32), 2);
    }
}
