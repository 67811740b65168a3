//! Time inside the simulator: whole sixteenths of a cycle, so that sums do not depend on their order.

/// Sixteenths of a cycle since the launch.
pub type Time = u64;

/// Ticks of a cycle.
pub const PER_CYCLE: f64 = 16.0;

/// Cycles as ticks, to the nearest.
pub fn ticks(cycles: f64) -> Time {
    (cycles * PER_CYCLE).round() as Time
}

/// Ticks as cycles.
pub fn cycles(time: Time) -> f64 {
    time as f64 / PER_CYCLE
}

/// Something that serves one request after another.
#[derive(Clone, Copy, Debug, Default)]
pub struct Server {
    /// When it is free.
    pub free: Time,
    /// Ticks it was busy.
    pub busy: Time,
}

impl Server {
    /// Serves a request that arrives at `at` and takes `ticks`; gives its start.
    #[inline]
    pub fn serve(&mut self, at: Time, ticks: Time) -> Time {
        let start = at.max(self.free);
        self.free = start + ticks;
        self.busy += ticks;
        start
    }
}

/// When each of `count` requests arrives that come evenly in `ticks` from `start` on.
pub fn evenly(start: Time, ticks: Time, count: usize) -> impl Iterator<Item = Time> {
    let count = count.max(1) as Time;
    let (whole, rest) = (ticks / count, ticks % count);
    // What is left of a tick is kept until it is one.
    let mut next = (start, 0);
    std::iter::repeat_with(move || {
        let (now, left) = next;
        let more = Time::from(left + rest >= count);
        next = (now + whole + more, left + rest - more * count);
        now
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_arrivals_are_whole_parts() {
        for (ticks, count) in [(0, 1), (7, 3), (10, 4), (64, 64), (63, 64), (1000, 7), (5, 0)] {
            let parts: Vec<Time> = evenly(10, ticks, count).take(count).collect();
            let wanted: Vec<Time> = (0..count as Time).map(|i| 10 + ticks * i / (count as Time)).collect();
            assert_eq!(parts, wanted, "{ticks} in {count}");
        }
    }
}
