//! What is kept of a measurement: one line of a phase's file.

use crate::{Amounts, Parameters};
use serde::{Deserialize, Deserializer, Serialize};
use warpsight_ir::Feedback;
use warpsight_run::{ClockState, LaunchClock, TimingSpec};

/// One measurement, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The phase.
    pub phase: String,
    /// The measurement, unique within its phase.
    pub name: String,
    /// What distinguishes it.
    pub params: Parameters,
    /// What one launch does.
    pub amounts: Amounts,
    /// What came of it.
    pub outcome: Outcome,
    /// Text of the kernel whose launch was timed: a Program's text form, or CUDA C++. In files, its SHA-256; the texts stand
    /// beside the records.
    pub code: String,
    /// The kernel's name.
    pub kernel: String,
    /// Values of its size parameters, in order.
    pub sizes: Vec<i64>,
    /// How it was timed.
    pub timing: Option<TimingSpec>,
    /// Seconds of the launch in each timed pass, an empty launch included; raw, in order.
    #[serde(deserialize_with = "numbers")]
    pub times_s: Vec<f64>,
    /// The same of the launches before it, where the job has several: what they do less of tells what the rest takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_times_s: Vec<Vec<f64>>,
    /// Seconds of each whole pass over the job's launches.
    #[serde(deserialize_with = "numbers")]
    pub pass_times_s: Vec<f64>,
    /// Launches in a pass.
    pub launches: usize,
    /// Which of them the times are of.
    pub launch: usize,
    /// Seconds of a launch that does nothing, by the same clock.
    pub empty_launch_s: Option<f64>,
    /// Smallest step of the clock in seconds.
    pub quantum_s: f64,
    /// The clock.
    pub clock: Option<LaunchClock>,
    /// `measured` or `simulated`.
    pub source: Option<warpsight_ir::TimeSource>,
    /// Clocks of the device before and after.
    pub clocks: Vec<ClockState>,
    /// What the compiler said.
    pub feedback: Feedback,
    /// Seconds since 1970 when it was taken.
    pub unix_time: u64,
}

impl Record {
    /// Whether the device ran it to its end.
    pub fn ran(&self) -> bool {
        matches!(self.outcome, Outcome::Verified | Outcome::Wrong { .. })
    }
}

/// What came of a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status")]
pub enum Outcome {
    /// Timed, and its results agree with the reference.
    Verified,
    /// Its results do not agree: the times are those of a wrong kernel.
    Wrong {
        /// What is wrong.
        what: String,
    },
    /// It could not be run, or not as it says.
    Failed {
        /// The device's error, or what was otherwise.
        why: String,
        /// What kind of error it is.
        cause: Cause,
    },
    /// It was not tried.
    Skipped {
        /// Why not.
        why: String,
        /// Whether there was only no time for it; otherwise the device cannot do it.
        #[serde(default)]
        later: bool,
    },
}

impl Outcome {
    /// Whether another try may end otherwise: there was no time, no compiler, no memory, or the device was lost.
    pub fn may_change(&self) -> bool {
        match self {
            Self::Failed { cause, .. } => *cause != Cause::Waves,
            Self::Skipped { later, .. } => *later,
            Self::Verified | Self::Wrong { .. } => false,
        }
    }
}

/// Why a measurement could not be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// There is no compiler, or it refused the kernel.
    Build,
    /// The kernel did something forbidden.
    Fault,
    /// The driver crashed, hung or lost the device.
    Lost,
    /// The device, its driver or a tool did not take it: memory, a limit, a call that failed.
    Refused,
    /// Its blocks, which are to be resident all at once, were not: the times, which are kept, are of more than one wave.
    Waves,
}

/// Numbers; JSON writes `null` for those that it has not, which must not cost the other records.
fn numbers<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let read: Vec<Option<f64>> = Vec::deserialize(from)?;
    Ok(read.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
}
