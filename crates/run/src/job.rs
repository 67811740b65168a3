//! A job: everything a device is asked to do at once, self-contained, so that it can run in a process of its own.

use serde::{Deserialize, Serialize};
use warpsight_ir::{ImageFormat, Program, Seconds, TimeSource};

/// Programs, the memory they work on, and the launches in order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Job {
    /// What is compiled; every Program was validated by the sender, and is validated again by the receiver.
    pub programs: Vec<Program>,
    /// Device memory.
    pub memory: Vec<MemorySpec>,
    /// Executed in this order.
    pub launches: Vec<LaunchSpec>,
    /// Memory whose contents after the first pass over the launches are returned.
    pub read: Vec<usize>,
    /// Whether and how launches are timed.
    pub timing: Option<TimingSpec>,
}

/// One piece of device memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MemorySpec {
    /// Buffer or image.
    pub kind: MemoryKind,
    /// Its first contents.
    pub init: Init,
    /// Whether bytes before and after a buffer are filled with a pattern and checked after the first pass.
    pub canaries: bool,
}

/// Buffer or image.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum MemoryKind {
    /// So many bytes.
    Buffer {
        /// At least 1.
        bytes: u64,
    },
    /// A two-dimensional image.
    Image {
        /// Component format.
        format: ImageFormat,
        /// Texels.
        width: u32,
        /// Texels.
        height: u32,
    },
}

impl MemoryKind {
    /// Bytes of its contents as the host sees them (rows without padding).
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Buffer { bytes } => *bytes,
            Self::Image { format, width, height } => (u64::from(*width) * u64::from(*height)).saturating_mul(format.bytes().into()),
        }
    }
}

/// First contents of memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Init {
    /// Every byte 0xFF: a NaN for every float type, so that what a kernel forgets to write shows.
    Poison,
    /// These bytes.
    Data(#[serde(with = "serde_bytes")] Vec<u8>),
}

/// One launch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LaunchSpec {
    /// Position in [`Job::programs`].
    pub program: usize,
    /// Position in [`Job::memory`] of each parameter, in order.
    pub args: Vec<usize>,
    /// A value per size parameter, in order.
    pub sizes: Vec<i64>,
}

/// How launches are timed: after one untimed pass (which also warms every kernel and local size), `runs` passes over all launches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimingSpec {
    /// Timed passes, at least 1.
    pub runs: u32,
}

/// What came of a job.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JobResult {
    /// The contents of [`Job::read`], in order.
    pub read: Vec<Contents>,
    /// Positions in [`Job::memory`] whose canaries were overwritten.
    pub damaged: Vec<usize>,
    /// What the compiler said of each program.
    pub feedback: Vec<Feedback>,
    /// For each launch, its time in each timed pass; empty without timing.
    pub times: Vec<Vec<Seconds>>,
    /// The whole sequence of launches in each timed pass, gaps between kernels included.
    pub pass_times: Vec<Seconds>,
    /// Processor time of the driver's process for one timed pass, all threads together, on average; `None` where that says nothing.
    pub cpu_time: Option<Seconds>,
    /// Where the times come from; `None` without timing.
    pub source: Option<TimeSource>,
    /// Smallest step of the clock; 0 for a simulator.
    pub quantum: Seconds,
    /// Which clock [`JobResult::times`] were taken with; `None` without timing.
    pub clock: Option<LaunchClock>,
    /// What a launch of a kernel that does nothing takes by that clock; times are reported with it included. `None` without
    /// timing.
    pub empty_launch: Option<Seconds>,
}

/// The clock of a launch's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LaunchClock {
    /// The driver's events: from the kernel's start to its end on the device.
    Event,
    /// The host's clock around one launch and the wait for its end, where events are not credible.
    Host,
    /// The simulator's.
    Simulated,
}

/// Bytes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Contents(#[serde(with = "serde_bytes")] pub Vec<u8>);

/// What a driver or the simulator reports of a compiled kernel; `None` where it does not say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Feedback {
    /// 32-bit registers per work-item.
    pub registers: Option<u32>,
    /// Private (spilled) bytes per work-item: `CL_KERNEL_PRIVATE_MEM_SIZE`.
    pub private_bytes: Option<u64>,
    /// Local bytes per group.
    pub local_bytes: Option<u64>,
    /// Largest group this kernel can run in: `CL_KERNEL_WORK_GROUP_SIZE`.
    pub max_group_size: Option<u32>,
    /// Whether the compiled kernel came from the cache on disk, or was still held from an earlier job.
    pub cached: bool,
}
