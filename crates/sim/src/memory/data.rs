//! First-level caches of buffers.

use crate::divisor::Divisor;
use crate::memory::cache::{Cache, Chooser, Line, Victim, span};
use crate::memory::caches::Caches;
use crate::memory::lines::Touched;
use crate::silicon::{DataCache, Geometry};
use crate::timing::{Server, Time, ticks};

/// A first-level cache of buffers.
#[derive(Debug)]
pub struct L1 {
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

impl L1 {
    /// An empty one of this shape.
    pub fn new(silicon: &DataCache, cache: &Geometry) -> Self {
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

    /// Bytes of a line.
    pub fn line(&self) -> u64 {
        self.line.get()
    }

    /// Ticks to the register on a hit.
    pub fn latency(&self) -> Time {
        self.latency
    }

    /// Bytes of the sectors that these bytes of a line lie in.
    pub fn sector_bytes(&self, bytes: u64) -> u64 {
        self.sectors.iter().map(|mask| u64::from(bytes & mask != 0)).sum::<u64>() * self.sector
    }

    /// When a line's bytes are there, `beyond` ticks after the second level gives what is missing.
    pub fn read(&mut self, at: Time, touched: &Touched, beyond: Time, caches: &mut Caches) -> Time {
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
