//! What a configuration costs, in short, or why it has no prediction.

use crate::volumes::report::Report;
use warpsight_ir::{Limiter, NoEstimate, Seconds};

/// What a configuration costs, in short: what all of them are ranked and written down by. Predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Of one launch.
    pub seconds: Seconds,
    /// Where the time is expected to lie.
    pub interval: (Seconds, Seconds),
    /// What configurations are ranked by: swept domains differ in size.
    pub points_per_second: f64,
    /// Bytes that lanes load and store, per second.
    pub effective_bytes: f64,
    /// The limiter with the longest time.
    pub limiter: Option<Limiter>,
    /// Cycles of one core's first-level cache per point.
    pub l1_cycles_per_point: Option<f64>,
    /// Bytes per point, in the order of [`Outcome::VOLUMES`].
    pub volumes: [Option<f64>; 7],
    /// Blocks and warps that a core holds.
    pub resident: (u32, u32),
    /// How often the device is filled with blocks.
    pub waves: f64,
    /// Blocks of an average core over blocks of the busiest.
    pub tail_efficiency: f64,
}

impl Outcome {
    /// Names of the volumes, as in [`crate::volumes::report::PointVolumes`].
    pub const VOLUMES: [&str; 7] =
        ["l1_requested", "l2_load_compulsory", "l2_load", "l2_store", "dram_load_wave", "dram_load", "dram_store"];

    /// What is kept of a report.
    ///
    /// # Errors
    /// A kernel that does nothing is no faster than others.
    pub fn of(report: &Report) -> Result<Self, Refusal> {
        if report.seconds.0 <= 0.0 {
            return Err(Refusal(report.interval.basis.clone()));
        }
        let v = &report.volumes;
        Ok(Self {
            seconds: report.seconds,
            interval: (report.interval.lo, report.interval.hi),
            points_per_second: report.points_per_second,
            effective_bytes: report.effective.bytes,
            limiter: report.limiter,
            l1_cycles_per_point: report.l1_cycles_per_point,
            volumes: [v.l1_requested, v.l2_load_compulsory, v.l2_load, v.l2_store, v.dram_load_wave, v.dram_load, v.dram_store],
            resident: (report.occupancy.groups, report.occupancy.warps),
            waves: report.waves,
            tail_efficiency: report.tail_efficiency,
        })
    }

    /// A volume by its name.
    pub fn volume(&self, name: &str) -> Option<f64> {
        Self::VOLUMES.iter().position(|own| *own == name).and_then(|i| self.volumes[i])
    }
}

/// Why a configuration has no prediction: in words, without the configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

impl From<NoEstimate> for Refusal {
    fn from(error: NoEstimate) -> Self {
        Self(error.to_string())
    }
}
