//! A job: everything a device is asked to do at once. Plain values, so that it can be done in a process of its own.

use serde::{Deserialize, Serialize};
use warpsight_ir::{Feedback, ImageFormat, ImageKind, Name, Program, Seconds, TimeSource, Times};

pub use crate::init::Init;

/// Programs, the memory they work on, and the launches in order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Job {
    /// What is compiled; every Program was validated by the sender, and is validated again by the receiver.
    pub programs: Vec<Code>,
    /// Device memory.
    pub memory: Vec<MemorySpec>,
    /// Executed in this order.
    pub launches: Vec<LaunchSpec>,
    /// Memory whose contents after the first pass over the launches are returned.
    pub read: Vec<usize>,
    /// Parts of memory that are returned likewise, where the whole would be too much.
    pub peek: Vec<Peek>,
    /// Whether and how launches are timed.
    pub timing: Option<TimingSpec>,
}

/// What a device compiles: one kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Code {
    /// A Program, which every back end emits for itself.
    Program(Program),
    /// CUDA C++ text, for what Programs do not say (queues between groups, clusters). Only CUDA devices take it.
    Cuda(CudaText),
}

impl From<Program> for Code {
    fn from(program: Program) -> Self {
        Self::Program(program)
    }
}

impl Code {
    /// The kernel's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Program(program) => &program.name,
            Self::Cuda(text) => &text.entry,
        }
    }
}

/// One kernel as CUDA C++, with its launch. Its arguments are pointers to [`LaunchSpec::args`] in order, then
/// [`LaunchSpec::sizes`] as `int`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CudaText {
    /// The text; needs no header.
    pub text: String,
    /// The kernel function, `extern "C"`.
    pub entry: Name,
    /// Blocks per dimension.
    pub grid: [u32; 3],
    /// Threads of a block per dimension.
    pub block: [u32; 3],
    /// Bytes of shared memory beside what the text declares.
    pub dynamic_shared: u32,
    /// Blocks of a cluster along x, which divides `grid[0]`; 1 for none. Above 1 it needs compute capability 9.0.
    pub cluster: u32,
    /// Whether all blocks must be resident together; the launch is refused where they cannot be.
    pub cooperative: bool,
    /// Position in [`LaunchSpec::args`] of memory whose lines the L2 cache is asked to keep (persisting access window).
    pub pinned: Option<usize>,
}

/// A few pieces of one buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peek {
    /// Position in [`Job::memory`], a buffer.
    pub memory: usize,
    /// Where each piece begins, in bytes.
    pub offsets: Vec<u64>,
    /// Bytes of each piece.
    pub bytes: u32,
}

impl Job {
    /// Whether anything that its launches write is looked at: canaries are only where a driver writes them.
    pub fn wants_results(&self) -> bool {
        !self.read.is_empty() || !self.peek.is_empty() || self.memory.iter().any(|memory| memory.canaries)
    }
}

/// One piece of device memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MemorySpec {
    /// Buffer or image.
    pub kind: MemoryKind,
    /// Its first contents.
    pub init: Init,
    /// Whether bytes before and after a buffer are filled with a pattern and checked after the first pass, and after the timed ones where memory is read again.
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
    /// An image; one of one dimension has the height 1.
    Image {
        /// Which kind of image.
        kind: ImageKind,
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
            Self::Image { format, width, height, .. } => (u64::from(*width) * u64::from(*height)).saturating_mul(format.bytes().into()),
        }
    }
}

/// One launch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LaunchSpec {
    /// Position in [`Job::programs`].
    pub program: usize,
    /// Position in [`Job::memory`] of each parameter, in order.
    pub args: Vec<usize>,
    /// A value per size parameter, in order.
    pub sizes: Vec<i64>,
}

/// How launches are timed: after one untimed pass (which also warms every kernel and local size), `runs` passes over all launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimingSpec {
    /// Timed passes, at least 1.
    pub runs: u32,
    /// How a pass is handed to the device.
    pub submit: Submit,
    /// What caches hold when a launch begins.
    pub cache: CacheState,
}

impl TimingSpec {
    /// Passes as a program would run them: launch by launch, caches as the launch before left them.
    pub fn runs(runs: u32) -> Self {
        Self { runs, submit: Submit::Eager, cache: CacheState::Warm }
    }
}

/// How a pass is handed to the device. A device that cannot answers [`crate::DeviceError::Unsupported`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Submit {
    /// Launch by launch.
    Eager,
    /// As one graph that was recorded and instantiated before.
    Graph,
    /// Launch by launch, each allowed to begin while the one before ends (programmatic dependent launch).
    Programmatic,
    /// As one graph with programmatic edges.
    ProgrammaticGraph,
}

/// What caches hold when a timed launch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CacheState {
    /// What the launch before left.
    Warm,
    /// Nothing of the job's memory, and nothing that has to be written back: before each launch, untimed, a CUDA device overwrites
    /// memory of twice the size of its L2 cache and then reads as much other memory, which leaves the cache full of unchanged lines.
    Flushed,
}

/// What came of a job.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JobResult {
    /// The contents of [`Job::read`], in order.
    pub read: Vec<Contents>,
    /// Positions in [`Job::memory`] whose canaries were overwritten, by whichever pass.
    pub damaged: Vec<usize>,
    /// For each of [`Job::peek`], its pieces one after the other.
    pub peeked: Vec<Contents>,
    /// Memory when the timed passes were done; `None` without timing, and from devices that do not look again.
    pub after: Option<After>,
    /// What the compiler said of each program.
    pub feedback: Vec<Feedback>,
    /// How long the timed passes took; nothing without timing.
    pub timed: Timed,
}

/// How long passes took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// For each launch, its time in each pass.
    pub times: Vec<Times>,
    /// The whole sequence of launches in each pass, gaps between kernels included.
    pub pass_times: Times,
    /// Processor time of the driver's process for one pass, all threads together, on average; `None` where that says nothing.
    pub cpu_time: Option<Seconds>,
    /// Where the times come from; `None` where nothing was timed.
    pub source: Option<TimeSource>,
    /// Smallest step of the clock; 0 for a simulator.
    pub quantum: Seconds,
    /// Which clock [`Timed::times`] were taken with.
    pub clock: Option<LaunchClock>,
    /// What a launch of a kernel that does nothing takes by that clock; times are reported with it included.
    pub empty_launch: Option<Seconds>,
    /// The device's clocks before and after the passes, where it tells them.
    pub clocks: Vec<ClockState>,
    /// How often the launches ran for this, warming up included, from devices that count.
    pub passes: Option<u64>,
}

/// What memory held after all passes: the timed ones, however they were handed over, must have done what the first one did.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct After {
    /// Passes until then, the first and those for warming up included: a kernel that adds to memory has done so as often.
    pub passes: u64,
    /// The contents of [`Job::read`], in order.
    pub read: Vec<Contents>,
    /// For each of [`Job::peek`], its pieces one after the other.
    pub peeked: Vec<Contents>,
}

/// Clocks of a device at one moment. They are read, never set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockState {
    /// Clock of the multiprocessors in MHz.
    pub sm_mhz: Option<u32>,
    /// Clock of the memory in MHz.
    pub memory_mhz: Option<u32>,
    /// Degrees Celsius.
    pub temperature_c: Option<u32>,
    /// Milliwatts.
    pub power_mw: Option<u32>,
    /// Why clocks are held down, in the driver's words (`sw_power_cap`, `hw_thermal_slowdown`, …); empty where nothing does.
    pub throttle: Vec<String>,
}

/// The clock of a launch's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LaunchClock {
    /// The driver's events: from the kernel's start to its end on the device.
    Event,
    /// The host's clock around one launch and the wait for its end, where events are not credible.
    Host,
    /// The driver's events around a graph that repeats the launch, divided by the repetitions: for kernels too short for events.
    Graph,
    /// The simulator's.
    Simulated,
}

/// Bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Contents(#[serde(with = "serde_bytes")] pub Vec<u8>);
