//! The memory units of a core: texture units with their caches, the load-store unit, local memory.

use crate::memory::caches::Caches;
use crate::memory::constants::ConstantCache;
use crate::memory::data::L1;
use crate::memory::lines::Lines;
use crate::memory::texture::TextureUnit;
use crate::silicon::{Per, Silicon};
use crate::timing::{Server, Time, evenly, ticks};
use warpsight_ir::Bytes;

/// The units of one core.
#[derive(Debug)]
pub struct Units {
    /// One a port, or one.
    pub textures: Vec<TextureUnit>,
    /// The load-store unit.
    pub load_store: Server,
    /// Its cache.
    l1: Option<L1>,
    /// The cache of constants.
    constants: Option<ConstantCache>,
    /// Whether images are cached where buffers are.
    unified: bool,
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

impl Units {
    /// Idle units with empty caches of a core that holds so many groups with so much local memory each.
    pub fn new(silicon: &Silicon, groups: u32, local: Bytes) -> Self {
        let (b, l) = (&silicon.buffer, &silicon.local);
        let textures = if silicon.texture.per == Per::Port { silicon.core.ports } else { 1 };
        Self {
            textures: (0..textures).map(|_| TextureUnit::new(silicon)).collect(),
            load_store: Server::default(),
            l1: silicon.l1.as_ref().map(|l1| L1::new(l1, &l1.beside(groups, local, &silicon.residency))),
            constants: silicon.constant.as_ref().map(ConstantCache::new),
            unified: silicon.texture.unified,
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

    /// The texture unit of a port, and the cache of buffers where it is the unit's, too.
    pub fn texture(&mut self, port: usize) -> (&mut TextureUnit, Option<&mut L1>) {
        let at = port.min(self.textures.len() - 1);
        (&mut self.textures[at], self.l1.as_mut().filter(|_| self.unified))
    }

    /// When a fetch of so many bytes begins: where images are cached with buffers, loads and fetches go one after the other.
    pub fn fetch_begins(&mut self, at: Time, bytes: u64) -> Time {
        if self.unified { self.load_store.serve(at, self.buffer_overhead + self.buffer_kib * bytes / 1024) } else { at }
    }

    /// Bytes of the lines that fetches are counted in.
    pub fn texture_line(&self) -> u64 {
        match &self.l1 {
            Some(l1) if self.unified => l1.line(),
            _ => self.textures[0].line(),
        }
    }

    /// Bytes of the lines that loads of buffers are counted in, constant ones where these are cached apart.
    pub fn load_line(&self, caches: &Caches, constant: bool) -> u64 {
        match (&self.constants, &self.l1) {
            (Some(constants), _) if constant => constants.line(),
            (_, Some(l1)) => l1.line(),
            (_, None) => caches.line(),
        }
    }

    /// The cache of constants.
    pub fn constants(&mut self) -> Option<&mut ConstantCache> {
        self.constants.as_mut()
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
        let (beyond, hit) = (self.buffer_latency, l1.latency());
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

#[cfg(test)]
mod tests {
    use super::*;

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
