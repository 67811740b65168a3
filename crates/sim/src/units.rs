//! The memory units of a core: texture units with their caches, the load-store unit, local memory.

use crate::cache::{Cache, Chooser, Found, Line, Victim, span};
use crate::code::Mask;
use crate::divisor::Divisor;
use crate::memory::Caches;
use crate::silicon::{DataCache, Geometry, ImagePath, Per, Silicon};
use crate::timing::{Server, Time, evenly, ticks};
use warpsight_ir::{Bytes, ImageKind};

/// One line an instruction touches, and which of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// Address of the line's first byte.
    pub line: u64,
    /// Bit i: the i-th unit of the line's bytes ([`crate::cache::span`]).
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

/// The units of one core.
#[derive(Debug)]
pub struct Units {
    /// One a port, or one.
    pub textures: Vec<TextureUnit>,
    /// The load-store unit.
    pub load_store: Server,
    /// Its cache.
    l1: Option<L1>,
    /// Local memory.
    pub local: Server,
    buffer_latency: Time,
    buffer_overhead: Time,
    /// Ticks for 1024 bytes.
    buffer_kib: Time,
    store_queue: Time,
    banks: Banks,
    pass: Time,
    local_latency: Time,
    local_atomic: Time,
}

/// A first-level cache of buffers.
#[derive(Debug)]
struct L1 {
    cache: Cache<Line>,
    sets: Chooser,
    hashed: bool,
    fill: Server,
    line: Divisor,
    sector: u64,
    /// The bytes of each sector of a line.
    sectors: Vec<u64>,
    filling: Time,
    latency: Time,
}

/// Kinds of images, in the order of [`TextureUnit`]'s paths.
const KINDS: [ImageKind; 4] = [ImageKind::Image2d, ImageKind::Image1d, ImageKind::Image1dBuffer, ImageKind::Image2dFromBuffer];

/// A texture unit.
#[derive(Debug)]
pub struct TextureUnit {
    /// Its address and filter pipeline.
    pub pipe: Server,
    fill: Server,
    /// When lines arrive.
    cache: Cache<Time>,
    /// By kind of image ([`KINDS`]): what chooses the set, ticks of a step.
    paths: [(Chooser, Time); 4],
    line: Divisor,
    lanes_per_step: u32,
    /// Steps that the lanes of the last fetch took.
    steps: (Mask, Time),
    overhead: Time,
    latency: Time,
    miss: Time,
    filling: Time,
    wide: u32,
    /// Results leave in the order of their instructions.
    last: Time,
}

impl Units {
    /// Idle units with empty caches of a core that holds so many groups with so much local memory each.
    pub fn new(silicon: &Silicon, groups: u32, local: Bytes) -> Self {
        let (b, l) = (&silicon.buffer, &silicon.local);
        let textures = if silicon.texture.per == Per::Port { silicon.core.ports } else { 1 };
        Self {
            textures: (0..textures).map(|_| TextureUnit::new(silicon)).collect(),
            load_store: Server::default(),
            l1: silicon.l1.as_ref().map(|l1| L1::new(l1, &l1.beside(groups, local, &silicon.residency))),
            local: Server::default(),
            buffer_latency: ticks(b.latency),
            buffer_overhead: ticks(b.wave_overhead),
            buffer_kib: ticks(1024.0 / b.bytes_per_cycle),
            store_queue: ticks(b.store_queue),
            banks: Banks::new(l.banks as usize),
            pass: ticks(l.pass),
            local_latency: ticks(l.latency),
            local_atomic: ticks(l.atomic),
        }
    }

    /// The texture unit of a port.
    pub fn texture(&mut self, port: usize) -> &mut TextureUnit {
        let at = port.min(self.textures.len() - 1);
        &mut self.textures[at]
    }

    /// Bytes of the lines that loads of buffers are counted in.
    pub fn load_line(&self, caches: &Caches) -> u64 {
        self.l1.as_ref().map_or(caches.line(), |l1| l1.line.get())
    }

    /// Ticks the load-store unit is busy: by the bytes of all lanes, since each gets its own, or of all sectors
    /// where they are more.
    fn moving(&self, lines: &Lines, lane_bytes: u64, sectors: impl Fn(u64) -> u64) -> Time {
        let sectors: u64 = lines.list.iter().map(|l| sectors(l.bytes)).sum();
        self.buffer_overhead + self.buffer_kib * lane_bytes.max(sectors) / 1024
    }

    /// A load of buffers; gives when the registers hold it.
    pub fn load(&mut self, at: Time, lines: &Lines, lane_bytes: u64, caches: &mut Caches) -> Time {
        let count = lines.list.len();
        let Some(l1) = &self.l1 else {
            let moving = self.moving(lines, lane_bytes, |bytes| caches.sector_bytes(bytes));
            let start = self.load_store.serve(at, moving);
            let mut ready = start + moving;
            for (touched, at) in lines.list.iter().zip(evenly(start, moving, count)) {
                ready = ready.max(caches.read(at, touched.line, touched.bytes));
            }
            return ready + self.buffer_latency;
        };
        let moving = self.moving(lines, lane_bytes, |bytes| l1.sector_bytes(bytes));
        let start = self.load_store.serve(at, moving);
        let mut ready = start + moving;
        let (beyond, hit) = (self.buffer_latency, l1.latency);
        if let Some(l1) = &mut self.l1 {
            for (touched, at) in lines.list.iter().zip(evenly(start, moving, count)) {
                ready = ready.max(l1.read(at, touched, beyond.saturating_sub(hit), caches));
            }
        }
        ready + hit
    }

    /// A store; gives when the wave may go on and when the last byte is taken.
    pub fn store(&mut self, at: Time, lines: &Lines, lane_bytes: u64, caches: &mut Caches) -> (Time, Time) {
        let moving = self.moving(lines, lane_bytes, |bytes| caches.sector_bytes(bytes));
        let start = self.load_store.serve(at, moving);
        let mut taken = start + moving;
        for (touched, at) in lines.list.iter().zip(evenly(start, moving, lines.list.len())) {
            taken = taken.max(caches.write(at, touched.line, touched.bytes));
        }
        let go = at.max(taken.saturating_sub(self.store_queue));
        self.load_store.free = self.load_store.free.max(go);
        (go, taken)
    }

    /// Atomics on buffers; gives when the registers hold the old values.
    pub fn atomic(&mut self, at: Time, lines: &Lines, lane_bytes: u64, caches: &mut Caches) -> Time {
        let moving = self.moving(lines, lane_bytes, |bytes| caches.sector_bytes(bytes));
        let start = self.load_store.serve(at, moving);
        let done = lines.list.iter().map(|l| caches.atomic(start, l.line, l.bytes, l.lanes)).max();
        done.unwrap_or(start) + self.buffer_latency
    }

    /// An access to local memory at these byte addresses, `len` bytes each; gives when registers hold it.
    pub fn local(&mut self, at: Time, addresses: &[u32], len: u32, atomic: bool) -> Time {
        let busy = if atomic {
            self.local_atomic * addresses.len() as Time
        } else {
            self.pass * self.banks.conflicts(addresses, len) // at least one pass
        };
        self.local.serve(at, busy) + busy + self.local_latency
    }
}

impl L1 {
    fn new(silicon: &DataCache, cache: &Geometry) -> Self {
        let (line, sector) = (u64::from(silicon.cache.line), u64::from(silicon.sector));
        Self {
            cache: Cache::new(cache, Victim::LeastRecent),
            sets: Chooser::new(None, cache.sets),
            hashed: silicon.hashed,
            fill: Server::default(),
            line: Divisor::new(line),
            sector,
            sectors: (0..line / sector).map(|s| span(s * sector, sector, line)).collect(),
            filling: ticks(f64::from(silicon.sector) / silicon.fill),
            latency: ticks(silicon.latency),
        }
    }

    /// Bytes of the sectors that these bytes of a line lie in.
    fn sector_bytes(&self, bytes: u64) -> u64 {
        self.sectors.iter().map(|mask| u64::from(bytes & mask != 0)).sum::<u64>() * self.sector
    }

    /// When a line's bytes are there, `beyond` ticks after the second level gives what is missing.
    fn read(&mut self, at: Time, touched: &Touched, beyond: Time, caches: &mut Caches) -> Time {
        let number = self.line.of(touched.line);
        let set = self.sets.of(0, if self.hashed { number ^ (number >> 7) } else { number });
        let (line, _) = self.cache.access(set, number);
        let missing: u64 = touched.bytes & !line.present;
        if missing == 0 {
            caches.traffic.l1_hits += 1;
            return line.ready;
        }
        caches.traffic.l1_misses += 1;
        let step = self.sector.min(caches.line());
        for (number, mask) in self.sectors.iter().enumerate().filter(|(_, mask)| missing & **mask != 0) {
            let address = touched.line + number as u64 * self.sector;
            let mut arrived = at;
            for piece in 0..self.sector / step {
                arrived = arrived.max(caches.read_span(at, address + piece * step, step));
            }
            line.present |= mask;
            line.ready = line.ready.max(self.fill.serve(arrived, self.filling) + self.filling + beyond);
        }
        line.ready
    }
}

/// Words that banks gave last, to count how often they have to give another.
#[derive(Debug)]
struct Banks {
    words: Vec<[u32; REMEMBERED]>,
    counts: Vec<u32>,
}

/// A bank compares with the words it gave last; lanes that share a word are rarely further apart.
const REMEMBERED: usize = 4;

impl Banks {
    fn new(count: usize) -> Self {
        Self { words: vec![[u32::MAX; REMEMBERED]; count], counts: vec![0; count] }
    }

    /// Passes that banks of four bytes need: the most distinct words any of them has to give.
    fn conflicts(&mut self, addresses: &[u32], len: u32) -> Time {
        self.words.fill([u32::MAX; REMEMBERED]);
        self.counts.fill(0);
        let banks = self.counts.len() as u32;
        let power = banks.is_power_of_two();
        for &address in addresses {
            for word in address / 4..(address + len).div_ceil(4) {
                let bank = (if power { word & (banks - 1) } else { word % banks }) as usize;
                if !self.words[bank].contains(&word) {
                    self.words[bank][self.counts[bank] as usize % REMEMBERED] = word;
                    self.counts[bank] += 1;
                }
            }
        }
        self.counts.iter().copied().max().unwrap_or(0).max(1).into()
    }
}

impl TextureUnit {
    fn new(silicon: &Silicon) -> Self {
        let t = &silicon.texture;
        let path = |path: &ImagePath| (Chooser::new(path.set_hash.as_ref(), t.cache.sets), ticks(t.step * path.steps));
        Self {
            pipe: Server::default(),
            fill: Server::default(),
            cache: Cache::new(&t.cache, Victim::LeastRecent),
            paths: KINDS.map(|kind| path(t.path(kind))),
            line: Divisor::new(t.cache.line.into()),
            lanes_per_step: t.lanes_per_step,
            steps: (0, 0),
            overhead: ticks(t.wave_overhead),
            latency: ticks(t.latency),
            miss: ticks(t.miss_latency),
            filling: ticks(f64::from(t.cache.line) / t.fill),
            wide: t.wide_texel_bytes,
            last: 0,
        }
    }

    /// Bytes of a line.
    pub fn line(&self) -> u64 {
        self.line.get()
    }

    /// A fetch by the lanes of `mask` from an image of this kind; gives when the registers hold the texels.
    pub fn fetch(&mut self, at: Time, mask: Mask, lines: &Lines, kind: ImageKind, texel_bytes: u32, caches: &mut Caches) -> Time {
        if self.steps.0 != mask {
            let each = self.lanes_per_step.min(128);
            let group = if each == 128 { Mask::MAX } else { (1 << each) - 1 };
            self.steps = (mask, (0..128 / each).filter(|s| mask >> (s * each) & group != 0).count() as Time);
        }
        let path = KINDS.iter().position(|own| *own == kind).unwrap_or(0);
        let (chooser, step) = &self.paths[path];
        let work = self.steps.1 * step * if texel_bytes > self.wide { 2 } else { 1 };
        let start = self.pipe.serve(at, work + self.overhead);
        let mut ready = start + work;
        for (touched, looked) in lines.list.iter().zip(evenly(start, work, lines.list.len())) {
            let number = self.line.of(touched.line);
            let set = chooser.of(touched.line, number);
            let (arrives, found) = self.cache.access(set, number);
            match found {
                Found::Hit => caches.traffic.texture_hits += 1,
                Found::Miss(_) => {
                    caches.traffic.texture_misses += 1;
                    let arrived = caches.read_span(looked, touched.line, self.line.get());
                    *arrives = self.fill.serve(arrived, self.filling) + self.filling + self.miss;
                }
            }
            ready = ready.max(*arrives);
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
        let conflicts = |addresses: &[u32], len| Banks::new(32).conflicts(addresses, len);
        assert_eq!(conflicts(&stride(4), 4), 2);
        assert_eq!(conflicts(&stride(16), 16), 8);
        assert_eq!(conflicts(&stride(128), 4), 64);
        assert_eq!(conflicts(&stride(0), 4), 1);
        assert_eq!(conflicts(&stride(132), 4), 2);
    }
}
