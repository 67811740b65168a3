//! The memory behind the cores: slices of the second-level cache and the channels of device memory.

use crate::divisor::Divisor;
use crate::memory::cache::{Cache, Chooser, Found, Line, Victim, span};
use crate::report::MemoryCounters;
use crate::silicon::Silicon;
use crate::timing::{Server, Time, ticks};
use std::collections::VecDeque;

/// What the memory system remembers from launch to launch: the contents of the second-level cache and the open rows.
#[derive(Clone, Debug)]
pub struct Caches {
    pub(crate) slices: Vec<Slice>,
    pub(crate) dram: Dram,
    pub(crate) traffic: MemoryCounters,
    line: Divisor,
    sector: u64,
    /// The bytes of each sector of a line.
    sectors: Vec<u64>,
    sector_time: Time,
    atomic: Time,
    sets: Chooser,
    choice: Chooser,
    /// What the lowest bits of a line's number choose among.
    among: Divisor,
    /// Ticks of stores or victims that may wait before those behind have to.
    slack: Time,
}

/// A slice of the second-level cache.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    pub port: Server,
    cache: Cache<Line>,
    /// Arrivals of the misses under way, in order.
    misses: VecDeque<Time>,
    most_misses: usize,
}

/// Device memory.
#[derive(Clone, Debug)]
pub(crate) struct Dram {
    pub channels: Vec<Channel>,
    count: Divisor,
    interleave: Divisor,
    burst: Time,
    row: Divisor,
    banks: Divisor,
    latency: Time,
    row_change: Time,
    row_overhead: Time,
}

/// One channel.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    pub bus: Server,
    banks: Vec<Bank>,
}

#[derive(Clone, Debug, Default)]
struct Bank {
    /// The open row plus one.
    open: u64,
    free: Time,
}

impl Caches {
    /// Empty caches.
    pub fn new(silicon: &Silicon) -> Self {
        let (l2, dram) = (&silicon.l2, &silicon.dram);
        let slice = |i: u32| Slice {
            port: Server::default(),
            cache: Cache::new(&l2.cache, if l2.random { Victim::Random(0x9e37_79b9 + u64::from(i)) } else { Victim::LeastRecent }),
            misses: VecDeque::new(),
            most_misses: l2.misses as usize,
        };
        let channel = Channel { bus: Server::default(), banks: vec![Bank::default(); dram.banks as usize] };
        let (line, sector) = (u64::from(l2.cache.line), u64::from(l2.sector));
        Self {
            slices: (0..l2.slices).map(slice).collect(),
            dram: Dram {
                channels: vec![channel; dram.channels as usize],
                count: Divisor::new(dram.channels.into()),
                interleave: Divisor::new(dram.interleave.into()),
                burst: ticks(f64::from(l2.cache.line.max(dram.burst)) / dram.bytes_per_cycle),
                row: Divisor::new(dram.row.into()),
                banks: Divisor::new(dram.banks.into()),
                latency: ticks(dram.latency),
                row_change: ticks(dram.row_change),
                row_overhead: ticks(dram.row_overhead),
            },
            traffic: MemoryCounters::default(),
            line: Divisor::new(line),
            sector,
            sectors: (0..line / sector).map(|s| span(s * sector, sector, line)).collect(),
            sector_time: ticks(l2.sector_time),
            atomic: ticks(l2.atomic),
            sets: Chooser::new(None, l2.cache.sets),
            choice: Chooser::new(l2.slice_hash.as_ref(), l2.slices),
            among: Divisor::new(l2.slices.into()),
            slack: ticks(silicon.buffer.store_queue),
        }
    }

    /// Bytes of a line.
    pub fn line(&self) -> u64 {
        self.line.get()
    }

    /// Begins a launch: time is 0, nothing is under way, contents stay.
    pub fn begin(&mut self) {
        self.traffic = MemoryCounters::default();
        for slice in &mut self.slices {
            slice.port = Server::default();
            slice.misses.clear();
            // Nothing is under way.
            slice.cache.lines().for_each(|line| line.ready = 0);
        }
        for channel in &mut self.dram.channels {
            channel.bus = Server::default();
            channel.banks.iter_mut().for_each(|bank| bank.free = 0);
        }
    }

    /// Ticks the slice moves the sectors of these bytes of a line.
    fn moving(&self, bytes: u64) -> Time {
        self.sectors(bytes) * self.sector_time
    }

    /// Sectors that these bytes of a line lie in.
    fn sectors(&self, bytes: u64) -> u64 {
        self.sectors.iter().map(|mask| u64::from(bytes & mask != 0)).sum()
    }

    /// Bytes of the sectors that these bytes of a line lie in.
    pub fn sector_bytes(&self, bytes: u64) -> u64 {
        self.sectors(bytes) * self.sector
    }

    /// Reads bytes (bit i: byte i) of the line at `address`, arriving at `at`; gives when they leave the slice.
    pub fn read(&mut self, at: Time, address: u64, bytes: u64) -> Time {
        let moving = self.moving(bytes);
        let slice = self.slice(address);
        let start = self.slices[slice].port.serve(at, moving);
        self.fetch(slice, start, address, bytes).max(start) + moving
    }

    /// Writes bytes of the line at `address`; gives when the slice took them.
    pub fn write(&mut self, at: Time, address: u64, bytes: u64) -> Time {
        let moving = self.moving(bytes);
        let slice = self.slice(address);
        let start = self.slices[slice].port.serve(at, moving);
        let number = self.line.of(address);
        let set = self.set(number);
        let (line, found) = self.slices[slice].cache.access(set, number);
        line.dirty |= bytes;
        match found {
            Found::Hit => self.traffic.l2_hits += 1,
            // Bytes are kept with a mask: nothing needs to be fetched.
            Found::Miss(old) => {
                self.traffic.l2_misses += 1;
                if let Some((number, old)) = old {
                    self.evict(slice, start, number, old);
                }
            }
        }
        start + moving
    }

    /// Reads, changes and writes: `lanes` operations on the line; gives when the old values leave.
    pub fn atomic(&mut self, at: Time, address: u64, bytes: u64, lanes: u32) -> Time {
        let slice = self.slice(address);
        let work = self.atomic * Time::from(lanes);
        let start = self.slices[slice].port.serve(at, work);
        let ready = self.fetch(slice, start, address, bytes).max(start);
        let number = self.line.of(address);
        let set = self.set(number);
        self.slices[slice].cache.access(set, number).0.dirty |= bytes;
        ready + work
    }

    /// The slice of an address.
    fn slice(&self, address: u64) -> usize {
        let number = self.line.of(address);
        // Higher bits are folded in, so that large powers of two spread.
        self.choice.of(address, number ^ (number >> 7) ^ (number >> 15))
    }

    fn set(&self, number: u64) -> usize {
        // The lowest bits choose the slice.
        let within = self.among.of(number);
        self.sets.of(0, within ^ (number >> 9) ^ (number >> 16))
    }

    /// Reads `len` bytes from `address` on, all in one line, arriving at `at`; gives when they leave the slice.
    pub fn read_span(&mut self, at: Time, address: u64, len: u64) -> Time {
        let within = self.line.rest(address);
        self.read(at, address - within, span(within, len, self.line.get()))
    }

    /// When bytes of a line are in the slice.
    fn fetch(&mut self, slice: usize, start: Time, address: u64, bytes: u64) -> Time {
        let number = self.line.of(address);
        let set = self.set(number);
        let Slice { port, cache, misses, most_misses } = &mut self.slices[slice];
        let (line, found) = cache.access(set, number);
        if matches!(found, Found::Hit) && bytes & !(line.present | line.dirty) == 0 {
            self.traffic.l2_hits += 1;
            return line.ready;
        }
        self.traffic.l2_misses += 1;
        self.traffic.dram_read += self.line.get();
        while misses.front().is_some_and(|&t| t <= start) {
            misses.pop_front();
        }
        let mut begin = start;
        if misses.len() >= *most_misses {
            begin = begin.max(misses.pop_front().unwrap_or(0));
            port.free = port.free.max(begin);
        }
        let (_, ready) = self.dram.access(begin, number * self.line.get());
        misses.push_back(ready);
        line.ready = ready;
        line.present = u64::MAX;
        if let Found::Miss(Some((old, line))) = found {
            self.evict(slice, begin, old, line);
        }
        ready
    }

    /// Writes a victim back. The slice has to wait when device memory is far behind.
    fn evict(&mut self, slice: usize, at: Time, number: u64, old: Line) {
        if old.dirty == 0 {
            return;
        }
        self.traffic.dram_written += self.line.get();
        let (begin, _) = self.dram.access(at, number * self.line.get());
        let port = &mut self.slices[slice].port;
        port.free = port.free.max(begin.saturating_sub(self.slack));
    }
}

impl Dram {
    /// Moves a line; gives when the bus begins and when the data is there.
    fn access(&mut self, at: Time, address: u64) -> (Time, Time) {
        let block = self.interleave.of(address);
        // The channel number is mixed with higher bits, so that strides of a power of two use all channels.
        let channel = self.count.rest(block ^ (block >> 4) ^ (block >> 9)) as usize;
        let local = self.count.of(block) * self.interleave.get() + self.interleave.rest(address);
        let row = self.row.of(local);
        let bank = self.banks.rest(row ^ self.banks.of(row)) as usize;
        let channel = &mut self.channels[channel];
        let bank = &mut channel.banks[bank];
        let mut bus = self.burst;
        let mut open = at.max(bank.free);
        if bank.open != row + 1 {
            bank.open = row + 1;
            bus += self.row_overhead;
            open += self.row_change;
        }
        bank.free = open;
        // Requests to open rows pass those that wait for a row: the bus is not held for them.
        let begin = channel.bus.serve(at, bus);
        (begin, begin.max(open) + bus + self.latency)
    }
}
