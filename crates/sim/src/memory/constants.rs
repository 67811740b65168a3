//! Caches of constants.

use crate::divisor::Divisor;
use crate::memory::cache::{Cache, Chooser, Found, Victim};
use crate::memory::caches::Caches;
use crate::memory::lines::Lines;
use crate::silicon::Constants;
use crate::timing::{Server, Time, ticks};

/// A core's cache of constants.
#[derive(Debug)]
pub struct ConstantCache {
    unit: Server,
    /// When lines arrive.
    cache: Cache<Time>,
    sets: Chooser,
    line: Divisor,
    step: Time,
    latency: Time,
    miss: Time,
}

impl ConstantCache {
    /// An empty one.
    pub fn new(silicon: &Constants) -> Self {
        Self {
            unit: Server::default(),
            cache: Cache::new(&silicon.cache, Victim::LeastRecent),
            sets: Chooser::new(None, silicon.cache.sets),
            line: Divisor::new(silicon.cache.line.into()),
            step: ticks(silicon.step),
            latency: ticks(silicon.latency),
            miss: ticks(silicon.miss_latency),
        }
    }

    /// Bytes of a line.
    pub fn line(&self) -> u64 {
        self.line.get()
    }

    /// A load, one line after the other; gives when the registers hold what was asked for.
    pub fn load(&mut self, at: Time, lines: &Lines, caches: &mut Caches) -> Time {
        let mut ready = at;
        for touched in &lines.list {
            let looked = self.unit.serve(at, self.step) + self.step;
            let number = self.line.of(touched.line);
            let (arrives, found) = self.cache.access(self.sets.of(touched.line, number), number);
            if let Found::Miss(_) = found {
                *arrives = caches.read_span(looked, touched.line, self.line.get()) + self.miss;
            }
            ready = ready.max(looked).max(*arrives);
        }
        ready + self.latency
    }
}
