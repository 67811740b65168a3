//! Devices: what compiles, launches and times Programs, and what draws fragment shaders ([`vulkan`]).
//!
//! [`open`] gives a [`Device`] for an id like `opencl:0` or `sim:adreno640`. A [`Session`] on it has memory that stays there from launch to
//! launch; a [`Job`] is a session of one pass. Drivers hang and crash,
//! so that driver work happens in a child process (see [`isolated`]) unless [`Options::in_process`] says otherwise; a command
//! that uses this crate calls [`child_main`] first thing in its `main`.
//!
//! Features `opencl`, `cuda`, `vulkan` and `glsl` (the compiler of GLSL) are all on by default; a build without one says so when it is
//! asked for.
//!
//! ```
//! use warpsight_ir::TimeSource;
//! let device = warpsight_run::open("sim:adreno640", &warpsight_run::Options::default())?;
//! assert_eq!(device.info().clock, Some(TimeSource::Simulated));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(
    not(all(feature = "opencl", feature = "cuda", feature = "vulkan", feature = "glsl")),
    allow(dead_code, unused_variables, reason = "what back ends share is used in part where some are left out")
)]

// What tests of several back ends run is also that of tests beside this crate.
#[cfg(test)]
extern crate self as warpsight_run;

mod absent;
mod cache;
mod check;
#[cfg(any(feature = "cuda", feature = "vulkan"))]
mod clocks;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod glslang;
mod guard;
mod here;
pub mod host;
pub mod init;
pub mod isolated;
pub mod job;
mod open;
#[cfg(feature = "opencl")]
pub mod opencl;
mod options;
mod processor;
mod refusal;
mod remembered;
mod session;
pub mod sim;
#[cfg(test)]
mod testing;
pub mod vulkan;

pub use init::Init;
pub use isolated::{CHILD_ARGUMENT, Isolated, child_main, serve_child};
pub use job::{
    After, CacheState, ClockState, Code, Contents, CudaText, Job, JobResult, LaunchClock, LaunchSpec, MemoryKind, MemorySpec, Peek, Submit,
    Timed, TimingSpec,
};
pub use open::{devices, open, open_renderer, renderers};
pub use options::Options;
pub use refusal::{Field, InitError, JobError, Reason};
pub use remembered::Remembered;
pub use session::{Ends, Look, Seen, Session, Whole};

use serde::{Deserialize, Serialize};

/// The devices there are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    /// Those that can be opened.
    pub devices: Vec<DeviceInfo>,
    /// Platforms and devices that were passed over, each with its reason.
    pub skipped: Vec<(String, String)>,
}

/// A device that Programs run on.
pub trait Device {
    /// What it is and what it can.
    fn info(&self) -> &DeviceInfo;
    /// Makes memory on the device and fills it: a session, of which there is one at a time.
    ///
    /// # Errors
    /// [`DeviceError::BadJob`] and [`DeviceError::Limit`] for memory that cannot be, and those of the driver.
    fn open<'a>(&'a mut self, memory: &[MemorySpec]) -> Result<Box<dyn Session + 'a>, DeviceError>;
    /// Runs a job to its end: a session of one pass.
    ///
    /// # Errors
    /// Those of [`Device::open`] and of what is asked of the session.
    fn run(&mut self, job: &Job) -> Result<JobResult, DeviceError> {
        session::run(self, job)
    }
    /// Compiles the programs of jobs ahead, by running each once, as many at a time as there are processors: what runs them afterwards finds
    /// them compiled. What fails does so again then. Without effect where devices are opened in this process.
    fn prepare(&self, _jobs: &[Job]) {}
    /// From now on no job, and nothing that is asked of a session, may take longer than this. Without effect where devices are opened in
    /// this process.
    fn limit(&mut self, _timeout: std::time::Duration) {}
}

/// What a device says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// How it is named on the command line: `opencl:0`, `sim:adreno640`.
    pub id: String,
    /// `opencl`, `sim`, …
    pub backend: String,
    /// Its own name.
    pub name: String,
    /// Driver and version.
    pub driver: String,
    /// Whether it is this machine's processor, driven by a runtime for CPUs.
    pub is_cpu: bool,
    /// What it can run.
    pub limits: DeviceLimits,
    /// Whether times it reports are measured or simulated; `None` where it has no clock.
    pub clock: Option<warpsight_ir::TimeSource>,
    /// Everything else the driver tells, by the driver's names: `multiprocessor_count`, `l2_cache_bytes`, `compute_capability`, …
    pub facts: std::collections::BTreeMap<String, String>,
}

/// What a device can run; `None` where it does not say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceLimits {
    /// Work-items in a group.
    pub max_group_size: Option<u32>,
    /// Work-items along each of the three dimensions of a group.
    pub max_group_dims: Option<[u32; 3]>,
    /// Bytes of local memory per group.
    pub local_bytes: Option<u64>,
    /// Bytes of local arrays that a Program may declare, where these are fewer.
    #[serde(default)]
    pub local_arrays: Option<u64>,
    /// Width and height of a 2D image in texels; `(0, 0)` when it has no images.
    pub image_2d: Option<(u32, u32)>,
    /// Width of an `image1d` in texels; 0 when it has no images.
    #[serde(default)]
    pub image_1d: Option<u32>,
    /// Texels of an `image1d_buffer`; 0 when it has no images.
    #[serde(default)]
    pub image_buffer: Option<u64>,
    /// Rows of an `image2d_from_buffer` begin at multiples of so many texels; 0 when it has no such images.
    #[serde(default)]
    pub image_pitch: Option<u32>,
    /// Largest single allocation in bytes.
    pub max_allocation: Option<u64>,
    /// All device memory in bytes.
    pub memory: Option<u64>,
    /// Compute units.
    pub compute_units: Option<u32>,
    /// Has double precision.
    pub f64: bool,
    /// Has half-precision arithmetic.
    pub f16: bool,
}

/// Why a job failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
pub enum DeviceError {
    /// No device of that name.
    #[error("no device `{id}`: {reason}")]
    NoDevice {
        /// As asked for.
        id: String,
        /// What was looked for and found.
        reason: String,
    },
    /// The driver refused a program.
    #[error("the driver could not build kernel `{kernel}`{}: {log}", line.map(|l| format!(" (source line {l})")).unwrap_or_default())]
    Build {
        /// Position in the job's programs.
        program: usize,
        /// The kernel's name.
        kernel: String,
        /// The driver's log.
        log: String,
        /// First source line the log names.
        line: Option<u32>,
    },
    /// The emitter has no form for a construct.
    #[error("kernel `{kernel}`: {what} is not supported by this back end")]
    Unsupported {
        /// Position in the job's programs.
        program: usize,
        /// The kernel's name.
        kernel: String,
        /// The construct.
        what: String,
    },
    /// A tensor or group is beyond the device's limits.
    #[error("{what} needs {needed}, the device has {available}")]
    Limit {
        /// What.
        what: String,
        /// How much it needs.
        needed: u64,
        /// How much there is.
        available: u64,
    },
    /// A kernel computes in half precision and the device does not.
    #[error("kernel `{kernel}` computes in half precision (f16), which this device does not have")]
    NoHalves {
        /// The kernel's name.
        kernel: String,
    },
    /// A job, a session's request or a draw contradicts itself or its Programs.
    #[error("the job cannot run: {0}")]
    BadJob(Box<JobError>),
    /// A program did something forbidden (found by the simulator or interpreter).
    #[error("kernel `{kernel}`: {what}")]
    Fault {
        /// The kernel's name.
        kernel: String,
        /// What it did.
        what: String,
    },
    /// A program failed on this device before, and is not tried again ([`Remembered`]).
    #[error("kernel `{kernel}` failed here before: {how}")]
    Before {
        /// The kernel's name.
        kernel: String,
        /// How it failed then.
        how: String,
    },
    /// The driver crashed or the device was lost.
    #[error("the device was lost: {0}")]
    Lost(String),
    /// The driver did not answer in time and was killed.
    #[error("the driver did not answer within {0} s and was stopped")]
    Timeout(u64),
    /// Any other error of the driver.
    #[error("driver call {call} failed with {code}")]
    Driver {
        /// The call.
        call: String,
        /// Its error.
        code: String,
    },
}
