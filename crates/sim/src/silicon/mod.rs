//! What a simulated GPU is made of. Text form: `sim/devices/*.toml`; the comments there say where each number comes from.

mod check;
mod pipeline;
mod rates;
mod read;

pub use check::Problem;
pub use pipeline::{LaunchSilicon, PipelineSilicon, QueueSilicon};
pub use read::SiliconError;

use serde::Deserialize;
use warpsight_ir::layout::ImageLayout;
use warpsight_ir::occupancy::Residency;
use warpsight_ir::{Bytes, ImageKind};

/// A simulated GPU: its units, their rates (cycles of [`Core::clock`]) and their sizes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Silicon {
    /// Its short name, as in `sim:adreno640`.
    pub name: String,
    /// What it is, in words.
    pub description: String,
    /// Keys whose numbers have no source: choices of this project. Reports on such a device say so.
    #[serde(default)]
    pub assumed: Vec<String>,
    /// Cores and their arithmetic.
    pub core: Core,
    /// What may be resident on a core.
    pub residency: Residency,
    /// What a program may ask for.
    pub limits: Limits,
    /// The start of a kernel.
    pub launch: Launch,
    /// What its clock shows.
    #[serde(default)]
    pub timer: Timer,
    /// Texture units and their caches.
    pub texture: Texture,
    /// First-level caches of the load-store units; loads of buffers go to the second level where there are none.
    pub l1: Option<DataCache>,
    /// Load-store units.
    pub buffer: Buffer,
    /// Caches of constants, one a core; constants are loaded as other buffers are where there are none.
    pub constant: Option<Constants>,
    /// Local memory.
    pub local: Local,
    /// The second-level cache.
    pub l2: L2,
    /// Device memory.
    pub dram: Dram,
    /// What pipelines see of it.
    pub pipeline: Option<PipelineSilicon>,
}

/// Cores and their arithmetic. Rates are scalar instructions a result costs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// Cores (Adreno: shader processors; NVIDIA: multiprocessors).
    pub count: u32,
    /// Issue ports of a core (Adreno: uSPTPs; NVIDIA: schedulers), each with its ALUs. A wave stays on one.
    pub ports: u32,
    /// Consecutive waves of a group that share a port, before the next port gets some.
    pub waves_together: u32,
    /// Hz.
    pub clock: f64,
    /// Lanes of a wave, 4 to 128.
    pub wave: u32,
    /// ALU lanes of a port: a scalar instruction occupies it for `wave / lanes` cycles.
    pub lanes: u32,
    /// Cycles until a result may be read.
    pub alu_latency: f64,
    /// Floating-point arithmetic, selections, conversions.
    pub float_rate: f64,
    /// Half precision, where there is any.
    pub half: Option<Half>,
    /// Integer arithmetic.
    pub int_rate: f64,
    /// 32-bit products.
    pub int_multiply_rate: f64,
    /// Integer quotients and remainders.
    pub int_divide_rate: f64,
    /// Quotients, roots, exponentials, sines.
    pub special_rate: f64,
    /// Any 64-bit arithmetic.
    pub wide_rate: f64,
    /// Instructions at a loop's end.
    pub loop_issue: f64,
    /// Cycles from a body's last instruction to the next trip.
    pub loop_latency: f64,
    /// Cycles a wave waits at a branch.
    pub branch_latency: f64,
    /// Cycles from the last arrival at a barrier to the release.
    pub barrier_latency: f64,
    /// 32-bit registers that the compiler takes besides the values alive at once.
    pub own_registers: u32,
    /// Bytes of a lane up to which compilers make neighbouring accesses one; 0 where they leave them as they are. Traces follow it; what
    /// executes Programs takes their accesses as they are.
    #[serde(default)]
    pub joined: u32,
}

/// Arithmetic in half precision.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Half {
    /// Scalar instructions a result costs, where `f32` costs [`Core::float_rate`].
    pub rate: f64,
    /// Whether only pairs of neighbouring lanes of a vector are computed at that rate, and others at that of `f32`.
    pub paired: bool,
    /// Halves that a 32-bit register holds: 1 or 2.
    pub in_register: u32,
}

/// What a program may ask for, besides what fits a core.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Texels along each dimension of an image.
    pub image: u32,
    /// Texels of an image that lies in a buffer.
    pub image_buffer: u32,
    /// Bytes of device memory.
    pub memory: u64,
    /// Steps of all waves that a launch may take before it is stopped.
    #[serde(default = "steps")]
    pub steps: u64,
}

/// About a minute of the host.
fn steps() -> u64 {
    1_000_000_000
}

/// What may begin when a wave ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refill {
    /// The next wave, at once.
    Wave,
    /// Nothing before every resident wave of the core has ended: occupancy groups run concurrently inside and serially between (paper 000,
    /// section 3.2.2).
    OccupancyGroup,
}

/// The start of a kernel.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// Seconds before the first group.
    pub overhead: f64,
    /// Cycles between groups leaving the dispatcher.
    pub group_interval: f64,
    /// Cycles from dispatch to a wave's first instruction.
    pub wave_start: f64,
    /// What takes the place of a wave that ended.
    pub refill: Refill,
}

/// What the device's clock shows of a launch. By default exactly what it took.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timer {
    /// Seconds that times are rounded to multiples of.
    pub quantum: f64,
    /// Times are longer by up to this part, differently each time.
    pub noise: f64,
    /// What the noise begins with: the same seed gives the same times.
    pub seed: u64,
    /// What heat does.
    pub throttle: Option<Throttle>,
}

/// The clock of a GPU that got hot.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Throttle {
    /// Seconds of work before the clock falls.
    pub after: f64,
    /// What is left of it in the end, above 0 and at most 1.
    pub to: f64,
    /// Seconds of work in which two thirds (1 − 1/e) of the fall have come.
    pub within: f64,
}

/// A cache's shape. Lines × sets × ways is its size.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Its size; of the second level, of all slices.
    pub bytes: u64,
    /// Bytes of a line, 16 to 256.
    pub line: u32,
    /// Sets, any number; of the second level, of one slice.
    pub sets: u32,
    /// Lines of a set.
    pub ways: u32,
}

impl Geometry {
    /// The most ways that a set has, a power of two.
    pub const MOST_WAYS: u32 = 1024;
}

/// Which port a unit belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// One each.
    Port,
    /// One for all ports of a core.
    Core,
}

/// Texture units and their caches.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Texture {
    /// How many there are.
    pub per: Per,
    /// Consecutive lanes handled together.
    pub lanes_per_step: u32,
    /// Cycles for them.
    pub step: f64,
    /// Cycles a fetch costs besides.
    pub wave_overhead: f64,
    /// Texels wider than this cost twice.
    pub wide_texel_bytes: u32,
    /// Cycles from the unit to the register on a hit.
    pub latency: f64,
    /// Its cache.
    pub cache: Geometry,
    /// Whether that is the first-level cache of buffers instead, `cache` then being without effect.
    #[serde(default)]
    pub unified: bool,
    /// Cycles beyond a hit when the second level has the line.
    pub miss_latency: f64,
    /// Bytes a cycle that arrive in one cache.
    pub fill: f64,
    /// Images of one row.
    pub image1d: ImagePath,
    /// Images of one row that lie in a buffer.
    pub image1d_buffer: ImagePath,
    /// Images of rows and columns.
    pub image2d: ImagePath,
    /// The same on the memory of a buffer.
    pub image2d_from_buffer: ImagePath,
}

/// How a kind of image is fetched from.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImagePath {
    /// How texels lie in memory.
    pub layout: ImageLayout,
    /// Per bit of the set number the address bits whose XOR it is; the line's number modulo the sets where there is none.
    pub set_hash: Option<Vec<Vec<u32>>>,
    /// Steps of the unit that a step takes.
    #[serde(default = "one")]
    pub steps: f64,
}

fn one() -> f64 {
    1.0
}

/// First-level caches of the load-store units. They hold what loads brought; stores pass through.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataCache {
    /// Its shape, where nothing of it is local memory.
    pub cache: Geometry,
    /// How much of it may become local memory, ascending: the least that suffices is taken. Empty where local memory is apart.
    #[serde(default)]
    pub carve: Vec<u32>,
    /// Whether sets are taken by a hash of a line's number, or else by its lowest digits.
    pub hashed: bool,
    /// Bytes that are fetched at a time.
    pub sector: u32,
    /// Cycles from the unit to the register on a hit.
    pub latency: f64,
    /// Bytes a cycle that arrive in one cache.
    pub fill: f64,
}

/// Load-store units, one a core.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Cycles from the second level to the register.
    pub latency: f64,
    /// Throughput.
    pub bytes_per_cycle: f64,
    /// Cycles an access costs besides.
    pub wave_overhead: f64,
    /// Cycles of stores under way before a wave has to wait.
    pub store_queue: f64,
}

/// A cache of constants: made for words that all lanes want.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constants {
    /// Its shape.
    pub cache: Geometry,
    /// Cycles for each line that lanes want, one after the other.
    pub step: f64,
    /// Cycles to the register on a hit.
    pub latency: f64,
    /// Cycles beyond a hit when the second level has the line.
    pub miss_latency: f64,
}

/// Local memory, one a core.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Local {
    /// Banks of four bytes.
    pub banks: u32,
    /// Cycles in which every bank serves one word.
    pub pass: f64,
    /// Cycles to the register.
    pub latency: f64,
    /// Cycles for each lane of an atomic.
    pub atomic: f64,
}

/// The second-level cache.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L2 {
    /// Its shape, the sets those of one slice.
    pub cache: Geometry,
    /// Slices, any number.
    pub slices: u32,
    /// Per bit of the slice number the address bits whose XOR it is; mixed and modulo the slices where there is none.
    pub slice_hash: Option<Vec<Vec<u32>>>,
    /// Pseudo-random victims; least recently used otherwise.
    pub random: bool,
    /// Bytes a slice moves at a time.
    pub sector: u32,
    /// Cycles for them.
    pub sector_time: f64,
    /// Misses a slice keeps under way.
    pub misses: u32,
    /// Cycles for each lane of an atomic.
    pub atomic: f64,
}

/// Device memory.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dram {
    /// Channels.
    pub channels: u32,
    /// Throughput of a channel.
    pub bytes_per_cycle: f64,
    /// Bytes before the next channel.
    pub interleave: u32,
    /// Bytes of a transfer.
    pub burst: u32,
    /// Banks of a channel.
    pub banks: u32,
    /// Bytes of a row.
    pub row: u32,
    /// Cycles of an access to an open row, beyond the caches'.
    pub latency: f64,
    /// Cycles more when another row is open.
    pub row_change: f64,
    /// Cycles of the data bus lost at a change of row.
    pub row_overhead: f64,
}

/// Bytes of a first level that become local memory where a core holds so many groups with so much of it each, of these possible parts.
pub(crate) fn carved(parts: &[u32], groups: u32, local: Bytes, residency: &Residency) -> u64 {
    let reserved = residency.local_reserved.unwrap_or(Bytes::ZERO);
    let taken = if local.0 > 0.0 { (local.0 + reserved.0) * f64::from(groups) } else { 0.0 };
    parts.iter().find(|&&bytes| f64::from(bytes) >= taken).or(parts.last()).copied().unwrap_or(0).into()
}

impl DataCache {
    /// What is left of it on a core that holds so many groups with so much local memory each.
    pub fn beside(&self, groups: u32, local: Bytes, residency: &Residency) -> Geometry {
        let set = u64::from(self.cache.line) * u64::from(self.cache.ways);
        let left = self.cache.bytes.saturating_sub(carved(&self.carve, groups, local, residency));
        // Something is left.
        let sets = (left / set.max(1)).max(1);
        Geometry { bytes: sets * set, sets: sets as u32, ..self.cache.clone() }
    }
}

impl Texture {
    /// How images of a kind are fetched from.
    pub fn path(&self, kind: ImageKind) -> &ImagePath {
        match kind {
            ImageKind::Image1d => &self.image1d,
            ImageKind::Image1dBuffer => &self.image1d_buffer,
            ImageKind::Image2d => &self.image2d,
            ImageKind::Image2dFromBuffer => &self.image2d_from_buffer,
        }
    }
}

impl Silicon {
    /// Waves that a core holds at most; 64 where nothing says so.
    pub fn max_waves(&self) -> u32 {
        self.residency.max_warps.unwrap_or(64)
    }

    /// Work-items of a group at most.
    pub fn group_size(&self) -> u32 {
        self.residency.max_group_size.unwrap_or(1024)
    }

    /// Bytes of local memory that a group may have.
    pub fn local_bytes(&self) -> u32 {
        self.residency.local.map_or(0, |bytes| bytes.0 as u32)
    }

    /// With so many times the cores and the bandwidth of the second-level cache, device memory as it is (paper 003, section 6.3).
    #[must_use]
    pub fn scaled(&self, cores: f64, l2: f64) -> Self {
        let mut scaled = self.clone();
        scaled.core.count = ((f64::from(self.core.count) * cores).round() as u32).max(1);
        scaled.l2.sector_time /= l2;
        if let Some(pipeline) = &mut scaled.pipeline {
            pipeline.l2_bandwidth *= l2;
            pipeline.queue.spilled *= l2;
        }
        scaled
    }
}
