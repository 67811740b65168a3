//! Micro-benchmarks: what can be measured of a GPU, as Programs, and the battery that measures all of it within minutes.
//!
//! A [`Phase`] is a group of [`Measurement`]s that belong together (bandwidth against size, stencil volumes, …), planned for a device
//! by its [`plan`](Phase::plan). [`battery`] runs phases, each in its own time box, and hands every [`Record`] out the moment it is
//! there, so that nothing measured is lost. A measurement whose results fail its check is recorded as failed, never dropped.
//!
//! ```
//! use warpsight_probe::{Context, Scale, phases};
//! let device = warpsight_run::open("sim:adreno640", &warpsight_run::Options::default())?;
//! let stencils = phases::all().into_iter().find(|phase| phase.name == "stencils").expect("a phase");
//! let mut plan = (stencils.plan)(&Context { device: device.info(), scale: Scale::Tiny, seed: 1 });
//! let first = plan.ask(&[]).expect("a measurement");
//! assert!(first.amounts.points > 0.0, "{} updates points of a lattice", first.name);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod aspects;
pub mod battery;
mod consistency;
pub mod diff;
pub mod export;
mod finding;
pub mod fit;
mod kernels;
pub mod phases;
mod profile;
mod record;
pub mod replay;

pub use consistency::{Consistency, Verdict, consistency};
pub use finding::{Curve, Finding, Findings};
pub use profile::profile;
pub use record::{Cause, Outcome, Record};
pub use warpsight_ir::profile::Geometry;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use warpsight_run::{DeviceInfo, Job, JobResult};

/// A number or word that distinguishes a measurement from its neighbours: `block_x = 64`, `pattern = "random"`.
#[derive(Clone, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Parameter {
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A word.
    Word(String),
}

/// Named parameters, in alphabetical order.
pub type Parameters = BTreeMap<String, Parameter>;

/// One thing to measure: a job, what its time stands for, and how its results are checked.
pub struct Measurement {
    /// Unique within its phase: `triad f64 4096 KiB 50 %`.
    pub name: String,
    /// What distinguishes it.
    pub params: Parameters,
    /// What the device runs. Its launches are timed as [`Job::timing`] says.
    pub job: Job,
    /// Which launch of the job the amounts and the time are of; others prepare.
    pub launch: usize,
    /// What that launch does, by definition: what a time is divided by.
    pub amounts: Amounts,
    /// Compares what came back with a reference in `f64` or integers. `Err` says what is wrong.
    pub check: Check,
}

/// Compares results with a reference.
pub type Check = Box<dyn Fn(&JobResult) -> Result<(), String> + Send>;

/// What one launch does, by definition of its kernel; 0 where that is not the point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Amounts {
    /// Bytes loaded and stored by all work-items together, each access counted.
    pub bytes: f64,
    /// Floating-point (or integer) operations; an FMA counts 2.
    pub operations: f64,
    /// Dependent steps one after the other: loads of a chase, tokens of a queue, launches of a chain.
    pub steps: f64,
    /// Output points (lattice updates).
    pub points: f64,
}

/// A group of measurements.
pub struct Phase {
    /// A word, the name of its file: `stencils`.
    pub name: &'static str,
    /// One sentence: what is measured, and what for.
    pub purpose: &'static str,
    /// What a device must take.
    pub needs: Needs,
    /// Its part of the battery's time, relative to the other phases.
    pub share: f64,
    /// Its measurements, in order of value where they are a list.
    pub plan: fn(&Context) -> Plan,
}

/// The measurements of a phase, made one at a time: each may hold much memory.
pub enum Plan {
    /// Those of a list.
    List(Box<dyn Iterator<Item = Measurement>>),
    /// What is measured next, told by the records so far, those of an interrupted run included; `None` where enough is known. It depends on
    /// nothing else, so that a run that goes on asks for what the first would have asked for.
    Reacting(Box<React>),
}

/// What to measure next, where there are these records.
type React = dyn FnMut(&[Record]) -> Option<Measurement>;

impl Plan {
    /// A list.
    pub fn list(measurements: impl Iterator<Item = Measurement> + 'static) -> Self {
        Self::List(Box::new(measurements))
    }
    /// Whoever reacts to records.
    pub fn reacting(next: impl FnMut(&[Record]) -> Option<Measurement> + 'static) -> Self {
        Self::Reacting(Box::new(next))
    }
    /// The next measurement, where there are these records of the phase.
    pub fn ask(&mut self, records: &[Record]) -> Option<Measurement> {
        match self {
            Self::List(list) => list.next(),
            Self::Reacting(next) => next(records),
        }
    }
}

/// What is known to be measured before anything was: the whole list, or the first measurement of what reacts.
impl IntoIterator for Plan {
    type Item = Measurement;
    type IntoIter = Box<dyn Iterator<Item = Measurement>>;
    fn into_iter(self) -> Self::IntoIter {
        match self {
            Self::List(list) => list,
            Self::Reacting(mut next) => Box::new(next(&[]).into_iter()),
        }
    }
}

/// What a device must take to run a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Programs: any back end.
    Programs,
    /// Programs with matrix tiles.
    Tiles,
    /// CUDA C++ text.
    CudaText,
}

/// What a plan is made for.
pub struct Context<'a> {
    /// The device.
    pub device: &'a DeviceInfo,
    /// How much.
    pub scale: Scale,
    /// Seed of every random input.
    pub seed: u64,
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Everything, at sizes that say something about the device.
    Full,
    /// What tells most, within two minutes for a whole device. Phases that are lists measure everything.
    Quick,
    /// A few of each kind, small enough for an interpreter, and exercising the same code.
    Tiny,
}

impl Context<'_> {
    /// A whole number among the device's [facts](DeviceInfo::facts).
    pub fn fact(&self, name: &str) -> Option<u64> {
        self.device.facts.get(name)?.parse().ok()
    }
    /// Multiprocessors (compute units); 1 where the device does not say.
    pub fn units(&self) -> u32 {
        self.device.limits.compute_units.unwrap_or(1).max(1)
    }
    /// Bytes of the last-level cache; 4 MiB where the device does not say.
    pub fn l2_bytes(&self) -> u64 {
        self.fact("l2_cache_bytes").unwrap_or(4 << 20)
    }
}
