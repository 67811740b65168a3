//! What cores of a CPU wait for: lines that they miss and nobody foresees, and lines that other cores store to.

use super::Level;
use super::loops::Loops;
use crate::volumes::behind::reuse::bypasses;
use crate::volumes::kernel::lanes;
use crate::volumes::kernel::subject::{Field, Subject, Touch, Var};
use smallvec::SmallVec;
use warpsight_ir::{AccessKind, Profile, Unknown};

/// Lines that a core waits for at once where nobody measured how many: line-fill buffers of L1, 10 to 16 on Intel's cores of the
/// last ten years, 22 to 24 on AMD's, of which one was measured to wait for 14 lines of memory.
const IN_FLIGHT: f64 = 12.0;

/// What cores wait for.
#[derive(Clone, Debug)]
pub(super) struct Waits {
    /// Lines of all cores, by the level they come from.
    pub(super) lines: SmallVec<[Missed; 3]>,
    /// Lines that a core waits for at a time.
    pub(super) at_a_time: f64,
    /// Cycles for lines that other cores store to.
    pub(super) contested: f64,
}

/// Lines that come from one level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missed {
    all: f64,
    /// Those of them that no prefetcher foresees.
    unforeseen: f64,
    /// Cycles until one comes.
    latency: f64,
}

impl Waits {
    /// Cycles that cores stand still beside `busy` ones, in which they go through so many windows of instructions. A load that is missed holds up a
    /// core when the window behind it is full: of its latency what the window takes is hidden, and what else is missed in the window comes meanwhile,
    /// as many lines at a time as a core can wait for (interval analysis: Karkhanis and Smith, ISCA 2004). Lines that nobody foresees lie as close as
    /// others do.
    pub(super) fn stalled(&self, busy: f64, windows: f64) -> f64 {
        // Cycles, and those of them that a window hides: of all levels together no more than cores are busy.
        let of = |own: &Missed| {
            let (window, together) = if windows > 0.0 { (busy / windows, (own.all / windows).max(1.0)) } else { (0.0, 1.0) };
            let latency = own.latency * (together / self.at_a_time).max(1.0);
            let times = own.unforeseen / together;
            (times * latency, times * latency.min(window))
        };
        let (all, hidden) = self.lines.iter().map(of).fold((0.0, 0.0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
        all - f64::min(hidden, busy) + self.contested
    }
}

/// Lines that cores miss.
pub(super) fn missed(
    loops: &Loops,
    subject: &Subject,
    units: &[Var],
    behind: &[Level],
    on: &Profile,
    line: f64,
) -> Result<SmallVec<[Missed; 3]>, Unknown> {
    let m = &on.memory;
    let latencies =
        [(&m.l2.latency, "memory.l2.latency"), (&m.llc.latency, "memory.llc.latency"), (&m.dram_latency, "memory.dram_latency")];
    let unforeseen = |field: &Field| if field.gathers.is_empty() { loops.unforeseen(field, units, line) } else { 1.0 };
    let parts: Vec<f64> = subject.fields.iter().map(unforeseen).collect();
    let mut missed: SmallVec<[Missed; 3]> = SmallVec::new();
    for (n, level) in behind.iter().enumerate() {
        let mut own = Missed { all: 0.0, unforeseen: 0.0, latency: 0.0 };
        for (i, part) in parts.iter().enumerate() {
            let further = behind.get(n + 1).map_or(0.0, |level| level.per_field[i].0);
            let lines = (level.per_field[i].0 - further).max(0.0) / line;
            (own.all, own.unforeseen) = (own.all + lines, own.unforeseen + part * lines);
        }
        if own.unforeseen > 0.0 {
            // What leaves the last cache comes from memory, however many caches there are.
            let (latency, name) = latencies[if n + 1 == behind.len() { 2 } else { n }];
            missed.push(Missed { latency: latency.known_as(name)?.0, ..own });
        }
    }
    Ok(missed)
}

/// Cycles in which cores wait for lines that another core stores to at the time (false sharing). Cores take groups in order, each a run of them, so
/// groups that share a line but lie far apart in that order take it away from each other. What a work-item stores to a line at once is one
/// wait: as long as what the cores share takes, the last level or memory.
pub(super) fn contested(loops: &Loops, subject: &Subject, on: &Profile, line: f64) -> Result<f64, Unknown> {
    let groups: f64 = subject.groups.iter().map(|var| f64::from(var.count)).product();
    let of_field = |field: &Field| {
        let stores = || field.all().filter(|touch| matches!(touch.kind, AccessKind::Store(_)));
        let mut lines: SmallVec<[i64; 16]> = stores().map(|touch| touch.origin(&field.geometry).div_euclid(line as i64)).collect();
        let touches = lines.len() as f64;
        lines.sort_unstable();
        lines.dedup();
        let of_touch = |touch: &Touch| {
            let stride = |var: &Var| touch.stride(&field.geometry, var.id);
            let apart = subject.groups.iter().map(|var| (stride(var), var.count));
            let waits = lanes::executing(subject, touch) / loops.stored_together(loops.along.map_or(0, |var| stride(&var)), line);
            taken_away(apart, groups, on, line) * waits
        };
        stores().map(of_touch).sum::<f64>() * lines.len() as f64 / touches.max(1.0)
    };
    waited(subject.fields.iter().filter(|field| !bypasses(field)).map(of_field).sum(), on)
}

/// Share of the lines a group stores to that another core stores to at the time. `groups` in all, in the order in which cores take them: for each
/// axis by how many bytes a step moves, and its steps.
pub(super) fn taken_away(axes: impl Iterator<Item = (i64, u32)>, groups: f64, on: &Profile, line: f64) -> f64 {
    let cores = f64::from(on.execution.cores.get().copied().unwrap_or(1));
    let (mut apart, mut shared) = (1.0, 0.0_f64);
    for (stride, count) in axes {
        let (stride, count) = (stride.unsigned_abs() as f64, f64::from(count));
        if stride > 0.0 && stride < line {
            let neighbours = (line / stride).min(count) - 1.0;
            shared = shared.max((neighbours * apart * cores / groups).min(1.0));
        }
        apart *= count;
    }
    if cores > 1.0 { shared } else { 0.0 }
}

/// Lines that a core waits for at a time.
pub(super) fn in_flight(on: &Profile) -> f64 {
    on.memory.in_flight.get().copied().unwrap_or(IN_FLIGHT)
}

/// Cycles that so many lines taken away are waited for, as many at a time as others: stores to them are under way side by side. Cores that store to the
/// same few lines again and again wait longer (docs/where-we-are-wrong.md, "Lines that two cores store to").
pub(super) fn waited(lines: f64, on: &Profile) -> Result<f64, Unknown> {
    let m = &on.memory;
    match lines > 0.0 {
        true if m.llc.bytes.get().is_some() => Ok(lines / in_flight(on) * m.llc.latency.known_as("memory.llc.latency")?.0),
        true => Ok(lines / in_flight(on) * m.dram_latency.known_as("memory.dram_latency")?.0),
        false => Ok(0.0),
    }
}

/// What a work-item stores to a tensor, coarsely.
pub(super) struct Stored {
    tensor: u16,
    /// How often a line is waited for if each store is to one of its own.
    waits: f64,
    stores: f64,
    /// Bytes at which the first and the last of them begin.
    ends: (i64, i64),
}

impl Stored {
    pub(super) fn add(to: &mut SmallVec<[Self; 2]>, tensor: u16, (waits, stores): (f64, f64), at: i64) {
        match to.iter_mut().find(|own| own.tensor == tensor) {
            Some(own) => {
                (own.waits, own.stores, own.ends) = (own.waits + waits, own.stores + stores, (own.ends.0.min(at), own.ends.1.max(at)))
            }
            None => to.push(Self { tensor, waits, stores, ends: (at, at) }),
        }
    }

    /// How often lines are waited for: once for all stores to one.
    pub(super) fn lines(&self, line: f64) -> f64 {
        let lines = (self.ends.1.saturating_sub(self.ends.0) as f64 / line).floor() + 1.0;
        self.waits * (lines / self.stores).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stalled(lines: &[(f64, f64, f64)], busy: f64, windows: f64) -> f64 {
        let lines = lines.iter().map(|&(all, unforeseen, latency)| Missed { all, unforeseen, latency }).collect();
        Waits { lines, at_a_time: 10.0, contested: 7.0 }.stalled(busy, windows)
    }

    #[test]
    fn windows_hide_what_fits_them() {
        // A line in each of 100 windows of 50 cycles: 40 fit, 90 are 40 too many, of which half are foreseen.
        assert_eq!(stalled(&[(100.0, 100.0, 40.0)], 5e3, 100.0), 7.0);
        assert_eq!(stalled(&[(100.0, 100.0, 90.0)], 5e3, 100.0), 4007.0);
        assert_eq!(stalled(&[(100.0, 50.0, 90.0)], 5e3, 100.0), 2007.0);
        // Five in a window come together; of twenty the second ten come as late again.
        assert_eq!(stalled(&[(500.0, 500.0, 90.0)], 5e3, 100.0), 4007.0);
        assert_eq!(stalled(&[(2000.0, 2000.0, 90.0)], 5e3, 100.0), 13_007.0);
        // Nothing is hidden twice, and nothing where a core does nothing else.
        assert_eq!(stalled(&[(100.0, 100.0, 50.0); 3], 5e3, 100.0), 10_007.0);
        assert_eq!(stalled(&[(3.0, 3.0, 50.0)], 0.0, 0.0), 157.0);
    }
}
