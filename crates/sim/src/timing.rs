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
    pub fn serve(&mut self, at: Time, ticks: Time) -> Time {
        let start = at.max(self.free);
        self.free = start + ticks;
        self.busy += ticks;
        start
    }
}
