//! Keeps what waves do as they do it, for a [`Timeline`]. The engine's times stay as they are: nothing is asked of it, it only tells.

use crate::report::MemoryCounters;
use crate::silicon::Silicon;
use crate::timeline::{Bin, Bounds, Cause, LeftOut, Level, Timeline, Wait, WaveSpan};
use crate::timing::{Time, cycles};
use std::ops::Range;
use warpsight_ir::{Cycles, Hertz, Name, Seconds};

/// A timeline in the making.
#[derive(Debug)]
pub struct Recorder {
    bounds: Bounds,
    clock: Hertz,
    overhead: Seconds,
    timeline: Timeline,
    /// Of each place for waves in the engine, the wave that is there.
    living: Vec<Living>,
    /// Of each core, which slots are taken.
    slots: Vec<Vec<bool>>,
    /// Ticks of a bin.
    width: Time,
    cores: Vec<Vec<Counted>>,
    /// What had moved when it was asked last.
    moved: MemoryCounters,
}

/// A resident wave.
#[derive(Debug, Default)]
struct Living {
    core: usize,
    slot: usize,
    begin: Time,
    /// Where it is listed.
    span: Option<usize>,
    /// Loads whose values are not there.
    loads: Vec<(Time, Name, Level)>,
}

/// A bin in ticks, by [`Spent`].
#[derive(Clone, Debug, Default)]
struct Counted {
    traffic: MemoryCounters,
    ticks: [Time; 4],
}

/// What ticks of waves are counted as.
#[derive(Clone, Copy)]
enum Spent {
    Resident,
    Memory,
    Barrier,
    Issue,
}

/// Ticks of the first bins.
const FINEST: Time = 256;

impl Recorder {
    /// For one launch on such a GPU.
    pub fn new(silicon: &Silicon, bounds: Bounds) -> Self {
        let (clock, overhead) = (Hertz(silicon.core.clock), Seconds(silicon.launch.overhead));
        let timeline = Timeline { waves: vec![], waits: vec![], left_out: None, begin: overhead, width: Seconds::ZERO, cores: vec![] };
        let cores = silicon.core.count as usize;
        Self {
            bounds: Bounds { bins: bounds.bins.max(1), ..bounds },
            clock,
            overhead,
            timeline,
            living: vec![],
            slots: vec![vec![]; cores],
            width: FINEST,
            cores: vec![vec![]; cores],
            moved: MemoryCounters::default(),
        }
    }

    /// A wave begins: the engine's `at`-th, number `wave` of a group.
    pub fn begins(&mut self, at: usize, core: usize, group: u64, wave: u32, begin: Time) {
        let slots = &mut self.slots[core];
        let slot = slots.iter().position(|taken| !taken).unwrap_or(slots.len());
        slots.resize(slots.len().max(slot + 1), false);
        slots[slot] = true;
        let span = self.listed(begin, |left_out| &mut left_out.waves).then_some(self.timeline.waves.len());
        if span.is_some() {
            let begin = self.seconds(begin);
            self.timeline.waves.push(WaveSpan { core, slot, group, wave, begin, end: begin });
        }
        self.living.resize_with(self.living.len().max(at + 1), Living::default);
        self.living[at] = Living { core, slot, begin, span, loads: vec![] };
    }

    /// It ends.
    pub fn ends(&mut self, at: usize, end: Time) {
        let Living { core, slot, begin, span, .. } = std::mem::take(&mut self.living[at]);
        self.slots[core][slot] = false;
        self.spend(core, Spent::Resident, begin..end);
        if let Some(span) = span {
            self.timeline.waves[span].end = self.seconds(end);
        }
    }

    /// It issued a store, which lets it go on at the end of `wait`; `total` is what all accesses moved.
    pub fn stores(&mut self, at: usize, tensor: &Name, wait: Range<Time>, total: &MemoryCounters) {
        self.moves(at, wait.start, total);
        self.waits(at, Spent::Memory, Some(Cause::Store(tensor.clone())), wait);
    }

    /// It issued a load or an atomic, whose values are there when `ready` says; `total` is what all accesses moved.
    pub fn asks(&mut self, at: usize, tensor: &Name, now: Time, ready: Time, total: &MemoryCounters) {
        let moved = self.moves(at, now, total);
        let level = match &moved {
            moved if moved.dram_read > 0 => Level::Dram,
            moved if moved.l2_hits + moved.l2_misses > 0 => Level::Second,
            moved if moved.l1_hits + moved.texture_hits > 0 => Level::First,
            _ => Level::Local,
        };
        let loads = &mut self.living[at].loads;
        loads.retain(|(ready, ..)| *ready > now);
        if ready > now {
            loads.push((ready, tensor.clone(), level));
        }
    }

    /// It waits for loads until the last of those it needs is there.
    pub fn loads(&mut self, at: usize, wait: Range<Time>) {
        let awaited = self.living[at].loads.iter().filter(|(ready, ..)| *ready == wait.end).max_by_key(|(.., level)| *level);
        let cause = awaited.map(|(_, tensor, level)| Cause::Load(tensor.clone(), *level));
        self.waits(at, Spent::Memory, cause, wait);
    }

    /// It waits for values that the registers could not keep; `total` is what all accesses moved.
    pub fn spills(&mut self, at: usize, wait: Range<Time>, total: &MemoryCounters) {
        self.moves(at, wait.start, total);
        self.waits(at, Spent::Memory, Some(Cause::Spill), wait);
    }

    /// It waits for its group.
    pub fn meets(&mut self, at: usize, wait: Range<Time>) {
        self.waits(at, Spent::Barrier, Some(Cause::Barrier), wait);
    }

    /// It waits for its port.
    pub fn queues(&mut self, at: usize, wait: Range<Time>) {
        self.waits(at, Spent::Issue, None, wait);
    }

    fn waits(&mut self, at: usize, spent: Spent, cause: Option<Cause>, wait: Range<Time>) {
        if wait.is_empty() {
            return;
        }
        self.spend(self.living[at].core, spent, wait.clone());
        let Some(cause) = cause else { return };
        if self.listed(wait.start, |left_out| &mut left_out.waits)
            && let Some(wave) = self.living[at].span
        {
            let (begin, end) = (self.seconds(wait.start), self.seconds(wait.end));
            self.timeline.waits.push(Wait { wave, cause, begin, end });
        }
    }

    /// Whether there is room for a span; where not, it is counted. Once there is none, there never is, so that no listed wait lacks its wave.
    fn listed(&mut self, begin: Time, count: impl Fn(&mut LeftOut) -> &mut u64) -> bool {
        if self.timeline.waves.len() + self.timeline.waits.len() < self.bounds.spans {
            return true;
        }
        let from = self.seconds(begin);
        let left_out = self.timeline.left_out.get_or_insert(LeftOut { waves: 0, waits: 0, from });
        left_out.from.0 = left_out.from.0.min(from.0);
        *count(left_out) += 1;
        false
    }

    /// Counts what moved since it was asked last.
    fn moves(&mut self, at: usize, now: Time, total: &MemoryCounters) -> MemoryCounters {
        let moved = total.since(std::mem::replace(&mut self.moved, total.clone()));
        self.bin(self.living[at].core, now).traffic.add(moved.clone());
        moved
    }

    fn spend(&mut self, core: usize, spent: Spent, time: Range<Time>) {
        if time.is_empty() {
            return;
        }
        // What this makes wider, it makes before the rest is cut.
        self.bin(core, time.end - 1);
        let mut from = time.start;
        while from < time.end {
            let to = time.end.min((from / self.width + 1) * self.width);
            self.bin(core, from).ticks[spent as usize] += to - from;
            from = to;
        }
    }

    /// The bin of a time. Bins become twice as wide until they are few enough.
    fn bin(&mut self, core: usize, time: Time) -> &mut Counted {
        while time / self.width >= self.bounds.bins as Time {
            self.width *= 2;
            for bins in &mut self.cores {
                *bins = bins.chunks(2).map(|pair| pair.iter().cloned().fold(Counted::default(), Counted::and)).collect();
            }
        }
        let at = (time / self.width) as usize;
        let bins = &mut self.cores[core];
        bins.resize(bins.len().max(at + 1), Counted::default());
        &mut bins[at]
    }

    /// Seconds since the launch was asked for.
    fn seconds(&self, time: Time) -> Seconds {
        self.overhead + self.lasting(time)
    }

    fn lasting(&self, time: Time) -> Seconds {
        Cycles(cycles(time)) / self.clock
    }

    /// What there is to see.
    pub fn finish(mut self) -> Timeline {
        let bin = |counted: &Counted| {
            let [resident, memory, barrier, issue] = counted.ticks.map(|ticks| self.lasting(ticks));
            Bin { traffic: counted.traffic.clone(), resident, memory, barrier, issue }
        };
        self.timeline.cores = self.cores.iter().map(|bins| bins.iter().map(bin).collect()).collect();
        self.timeline.width = self.lasting(self.width);
        self.timeline
    }
}

impl Counted {
    fn and(mut self, other: Self) -> Self {
        self.traffic.add(other.traffic);
        self.ticks.iter_mut().zip(other.ticks).for_each(|(sum, more)| *sum += more);
        self
    }
}
