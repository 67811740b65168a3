//! Which configuration of a kernel is fastest: every block, folding and swept parameter, on every device (paper 002, section 5).
//! .
//! A configuration is a number: [`Space`] says what it stands for, [`Explorer`] what it costs, [`Ranking`] which ones are best. Nothing is
//! kept of a configuration that is not among the best, so that a million of them need no memory.

mod axes;
mod ranking;
mod space;

pub use axes::{AxesError, Blocks, Extents, Fold, Sweep};
pub use ranking::{Ranked, Ranking, Refusals, Winners, sample};
pub use space::{Configuration, Space, SpaceError};

use crate::volumes::report::{Report, Settings, Work, report};
use warpsight_ir::accesses::text::{Document, Written};
use warpsight_ir::{Limiter, NoEstimate, Profile, Seconds};

/// What a configuration costs, in short: what all of them are ranked and written down by. Predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Of one launch.
    pub seconds: Seconds,
    /// Where the time is expected to lie.
    pub interval: (Seconds, Seconds),
    /// What configurations are ranked by: swept domains differ in size.
    pub points_per_second: f64,
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

/// A kernel, devices, and the configurations that are asked for.
#[derive(Clone, Copy)]
pub struct Explorer<'a> {
    /// The kernel.
    pub document: &'a Document,
    /// What holds for all configurations.
    pub fixed: &'a [(String, String)],
    /// The devices that the space was made for.
    pub devices: &'a [Profile],
    /// The configurations.
    pub space: &'a Space,
}

impl Explorer<'_> {
    /// Predicts a configuration.
    ///
    /// # Errors
    /// What keeps it from being a kernel or from running.
    pub fn report(&self, index: u64) -> Result<(Written, Report), Refusal> {
        self.predicted(index, &Settings::default())
    }

    fn predicted(&self, index: u64, settings: &Settings) -> Result<(Written, Report), Refusal> {
        let configuration = self.space.get(index);
        let written = self.document.written(&self.settings(&configuration)).map_err(|error| Refusal(error.what))?;
        let work = Work { kernel: &written.kernel, points: written.points };
        let found = report(&work, &self.devices[configuration.device], settings)?;
        Ok((written, found))
    }

    /// Predicts a configuration, in short.
    ///
    /// # Errors
    /// As [`Self::report`].
    pub fn outcome(&self, index: u64) -> Result<Outcome, Refusal> {
        Outcome::of(&self.predicted(index, &Settings { brief: true, ..Settings::default() })?.1)
    }

    /// What makes the kernel of a configuration: what holds for all, then its own.
    pub fn settings(&self, configuration: &Configuration) -> Vec<(String, String)> {
        self.fixed.iter().cloned().chain(self.space.settings(configuration)).collect()
    }
}
