//! Reads of buffers and writes to them, as the battery has them, asked by their trips.

use super::super::ask::{RUNS, Trips};
use crate::Measurement;
use crate::kernels::stream::{Op, Stream};
use crate::kernels::sweep::Sweep;
use crate::kernels::{ONE_WAVE, Occupancy};
use warpsight_ir::Scalar;

/// Work-items of a group: few, so that a group's turn is small.
pub(crate) const LANES: u32 = 64;
/// Most turns.
const MOST: u64 = 1 << 20;

/// Reads of a footprint, over and over, by all groups.
pub(crate) struct Swept {
    name: String,
    sweep: Sweep,
    seed: u64,
}

impl Swept {
    /// By so many groups, `width` words at a time.
    pub(crate) fn new(groups: u32, width: u32, footprint: u64, seed: u64) -> Self {
        let occupancy = Occupancy { threads: LANES, per_unit: 1, units: groups };
        let sweep = Sweep { level: "any", element: Scalar::F32, width, occupancy, footprint, per_thread: 0 };
        Self { name: format!("read f32x{width} {footprint} B {groups} x {LANES}"), sweep, seed }
    }
    /// Bytes that a trip of all groups loads.
    pub(crate) fn trip_bytes(&self) -> u64 {
        self.sweep.chunk_bytes() * u64::from(self.sweep.occupancy.blocks())
    }
}

impl Trips for Swept {
    fn name(&self) -> &str {
        &self.name
    }
    fn bounds(&self) -> (u64, u64) {
        (1, MOST)
    }
    fn measurement(&self, trips: u64) -> Measurement {
        let per_thread = trips * self.sweep.chunk_bytes() / u64::from(LANES);
        asked(Sweep { per_thread, ..self.sweep }.measurement(self.seed), self.named(trips))
    }
}

/// A stream through memory, each byte once; a trip is a turn of all groups.
pub(crate) struct Streamed {
    name: String,
    op: Op,
    width: u32,
    groups: u32,
    seed: u64,
}

impl Streamed {
    /// What is read.
    pub(crate) fn read(groups: u32, seed: u64) -> Self {
        Self { name: format!("stream in {groups} x {LANES}"), op: Op::Sum, width: 4, groups, seed }
    }
    /// What is written, so many words at a time.
    pub(crate) fn written(groups: u32, width: u32, seed: u64) -> Self {
        Self { name: format!("stream out f32x{width} {groups} x {LANES}"), op: Op::Write, width, groups, seed }
    }
    fn stream(&self, bytes: u64) -> Stream {
        let occupancy = Occupancy { threads: LANES, per_unit: 1, units: self.groups };
        Stream { op: self.op, element: Scalar::F32, width: self.width, occupancy, bytes, flushed: false }
    }
    /// Bytes of a trip.
    pub(crate) fn trip_bytes(&self) -> u64 {
        self.stream(0).turn_bytes()
    }
}

impl Trips for Streamed {
    fn name(&self) -> &str {
        &self.name
    }
    fn bounds(&self) -> (u64, u64) {
        (1, MOST)
    }
    fn measurement(&self, trips: u64) -> Measurement {
        asked(self.stream(trips * self.trip_bytes()).measurement(self.seed), self.named(trips))
    }
}

/// The same under another name, timed as often as aspects are; groups need not be resident at once.
fn asked(mut measurement: Measurement, name: String) -> Measurement {
    measurement.name = name;
    measurement.params.remove(ONE_WAVE);
    if let Some(timing) = &mut measurement.job.timing {
        timing.runs = RUNS;
    }
    measurement
}
