//! What a GPU is, as far as anybody knows.
//!
//! Every number says where it comes from; what is not known stays unknown, with the reason.

use crate::texture::TextureFit;
use crate::texture::paper000::Paper000;
use crate::units::{Bytes, BytesPerSecond, Cycles, Hertz, Seconds};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use unknown::{NoEstimate, Unknown};

mod builtin;
mod check;
mod edit;
mod facts;
pub mod mt4g;
mod over;
mod text;
pub mod unknown;
mod write;

pub use builtin::{builtin_names, probed_names};
pub use edit::{EditError, Edited};
pub use text::{Place, ProfileError, Text, builtin, is_file, of_simulated};

/// A number and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, try_from = "check::RawFact<T>", bound(deserialize = "T: Deserialize<'de>"))]
pub enum Fact<T> {
    /// `{ value = …, source = "…", cite = "…" }`, with `lo` and `hi` where the value is uncertain and `alternatives` where others disagree.
    Known {
        /// The number.
        value: T,
        /// Who says so.
        source: Source,
        /// Document, table, recording or command.
        cite: String,
        /// Lower end of its interval.
        #[serde(skip_serializing_if = "Option::is_none")]
        lo: Option<T>,
        /// Upper end of its interval.
        #[serde(skip_serializing_if = "Option::is_none")]
        hi: Option<T>,
        /// What other sources say; models do not use it.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        alternatives: Vec<Claim<T>>,
    },
    /// `{ absent = "evidence" }`: the device has no such thing.
    Absent {
        /// What shows it.
        absent: String,
    },
    /// `{ unknown = "reason" }`.
    Unknown {
        /// Why.
        unknown: String,
    },
}

/// What another source says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim<T> {
    /// The number.
    pub value: T,
    /// Who says so.
    pub source: Source,
    /// Document, table, recording or command.
    pub cite: String,
}

/// Who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A micro-benchmark on the device.
    Measured,
    /// A micro-benchmark on a simulated device.
    Simulated,
    /// The vendor's or driver's documents.
    Vendor,
    /// A published paper.
    Paper,
    /// Nobody: an assumption, its reason in `cite`.
    Assumed,
    /// Whoever asked: it replaces what the profile said ([`Profile::with`]).
    Given,
}

/// What a profile leaves out is not known.
impl<T> Default for Fact<T> {
    fn default() -> Self {
        Self::unknown("not stated")
    }
}

impl<T> Fact<T> {
    /// The number where it is known.
    pub fn get(&self) -> Option<&T> {
        match self {
            Self::Known { value, .. } => Some(value),
            _ => None,
        }
    }
    /// A known number.
    pub fn known(value: T, source: Source, cite: impl Into<String>) -> Self {
        Self::Known { value, source, cite: cite.into(), lo: None, hi: None, alternatives: vec![] }
    }
    /// A number between limits.
    pub fn between(lo: T, value: T, hi: T, source: Source, cite: impl Into<String>) -> Self {
        Self::Known { value, source, cite: cite.into(), lo: Some(lo), hi: Some(hi), alternatives: vec![] }
    }
    /// A thing that is not there.
    pub fn absent(evidence: impl Into<String>) -> Self {
        Self::Absent { absent: evidence.into() }
    }
    /// An unknown number.
    pub fn unknown(reason: impl Into<String>) -> Self {
        Self::Unknown { unknown: reason.into() }
    }
}

impl Unknown {
    /// That nothing can be said without it.
    pub fn of(self, profile: &Profile) -> NoEstimate {
        NoEstimate::Missing { profile: profile.name.clone(), unknown: self }
    }
}

impl<T> Fact<T> {
    /// The number; `field` is its path, for the error.
    ///
    /// # Errors
    /// [`Unknown`], also of what is absent.
    pub fn known_as(&self, field: impl Into<Cow<'static, str>>) -> Result<&T, Unknown> {
        match self {
            Self::Known { value, .. } => Ok(value),
            Self::Absent { absent: reason } | Self::Unknown { unknown: reason } => Err(Unknown::new(field, reason.clone())),
        }
    }
}

impl<T: Copy> Fact<T> {
    /// The number, or the error that names it.
    pub fn need(&self, profile: &Profile, field: &'static str) -> Result<T, NoEstimate> {
        self.known_as(field).copied().map_err(|unknown| unknown.of(profile))
    }
}

/// What a GPU is, as far as anybody knows. Text form: `profiles/*.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its short name, for instance `adreno640`.
    pub name: String,
    /// What it is, in words.
    pub description: String,
    /// Its design, in a word (`ampere-ga10x`): what was recorded of one device of a design holds for its sisters, where nothing is of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// Cores and what runs on them.
    pub execution: Execution,
    /// Caches and memory.
    pub memory: Memory,
    /// Images.
    pub image: Images,
    /// What probes tell beyond what models use.
    #[serde(default)]
    pub probed: Probed,
}

/// What probes tell of a device beyond what models use: each is not stated unless somebody measured it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probed {
    /// f32 lanes that work in a core at once.
    #[serde(default)]
    pub alus: Fact<u32>,
    /// Warps of a core that issue at once.
    #[serde(default)]
    pub schedulers: Fact<u32>,
    /// Warp sizes of a device that has several.
    #[serde(default)]
    pub warps: Fact<Vec<u32>>,
    /// Whether work-items of few registers leave theirs to more of them: `pooled`; otherwise `dedicated`.
    #[serde(default)]
    pub register_file: Fact<String>,
    /// Warps that a core runs at once, each of a group of its own, where work-items have as many registers as they may.
    #[serde(default)]
    pub warps_full: Fact<u32>,
    /// The same with half as many.
    #[serde(default)]
    pub warps_half: Fact<u32>,
    /// In which order lanes of a warp have coordinates of a group: `x` first, `y` first, or tiles, as `4 x 2` (see [`crate::LaneOrder`]).
    #[serde(default)]
    pub lane_order: Fact<String>,
    /// What a barrier of a group takes.
    #[serde(default)]
    pub barrier: Fact<Seconds>,
    /// What an integer division takes longer than an addition.
    #[serde(default)]
    pub division: Fact<Seconds>,
    /// What an `if` takes.
    #[serde(default)]
    pub branch: Fact<Seconds>,
    /// α of paper 001, section 4: the part of local memory up to which splits of a reduction gain.
    #[serde(default)]
    pub local_split: Fact<f64>,
    /// Banks of local memory.
    #[serde(default)]
    pub local_banks: Fact<u32>,
    /// Bytes of a lane's load with which buffers are read fastest.
    #[serde(default)]
    pub load_width: Fact<Bytes>,
    /// Bytes a second of buffers that the nearest cache holds, by loads of 1, 2, 4, 8 and 16 words of a lane.
    #[serde(default)]
    pub load_bandwidths: Fact<Vec<f64>>,
    /// Bytes a second of stores of so many words.
    #[serde(default)]
    pub store_bandwidths: Fact<Vec<f64>>,
    /// Bytes a second of texels of four halves that the nearest cache holds: units that hand out texels at one rate give half the bytes.
    #[serde(default)]
    pub half_texels: Fact<BytesPerSecond>,
    /// Whether images and buffers are read through ways of their own: `independent`, `shared`.
    #[serde(default)]
    pub read_paths: Fact<String>,
    /// What a fetch waits longer where its coordinates are made of one number by a quotient and a remainder.
    #[serde(default)]
    pub image_address: Fact<Seconds>,
    /// The cache of constants.
    #[serde(default)]
    pub constant_l1: Cache,
    /// Shapes of the texture cache that are consistent with everything measured, jointly.
    #[serde(default)]
    pub texture_geometries: Fact<Vec<Geometry>>,
    /// The same of the first cache of buffers.
    #[serde(default)]
    pub buffer_geometries: Fact<Vec<Geometry>>,
    /// What fetches of texels take by where they go (paper 000, sections 3 and 4).
    #[serde(default)]
    pub texture_fit: Fact<TextureFit>,
    /// The same as paper 000 has it: a baseline.
    #[serde(default)]
    pub texture_paper000: Fact<Paper000>,
}

/// How a cache may be organised, and its images lie in memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Sets.
    pub sets: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Per bit of the set's number the address bits whose XOR it is; the line's number modulo the sets where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<Vec<Vec<u32>>>,
    /// How texels lie in memory, where images of two dimensions are cached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<crate::layout::ImageLayout>,
    /// What the best curve of it misses what was measured by, relative, root mean square.
    pub error: f64,
}

/// Cores and what runs on them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Execution {
    /// Cores (SP, SM, CU, shader core).
    pub cores: Fact<u32>,
    /// Clock rate that times are made with. `lo`: what is kept at least where power or heat limit a long run, the vendor's base clock where
    /// nothing else is recorded; intervals reach down to it. `hi`: the highest boost; intervals and bounds are made with it.
    pub clock: Fact<Hertz>,
    /// Lanes of a warp (wave, sub-group).
    pub warp: Fact<u32>,
    /// Warps resident on a core.
    pub max_warps: Fact<u32>,
    /// Groups resident on a core.
    pub max_groups: Fact<u32>,
    /// 32-bit registers of a core.
    pub registers: Fact<u32>,
    /// 32-bit registers a work-item may use.
    pub max_registers: Fact<u32>,
    /// Registers per work-item are allocated in multiples of this.
    pub register_granule: Fact<u32>,
    /// Warps are allocated in multiples of this.
    pub warp_granule: Fact<u32>,
    /// Work-items a group may have.
    pub max_group_size: Fact<u32>,
    /// Groups of more than one warp resident on a core, where these are fewer than [`max_groups`](Self::max_groups): each holds a barrier.
    #[serde(default)]
    pub max_barriers: Fact<u32>,
    /// Local memory of a core.
    pub local: Fact<Bytes>,
    /// Local memory is given to groups in multiples of this.
    #[serde(default)]
    pub local_granule: Fact<Bytes>,
    /// Local memory that the system takes for itself in every group.
    #[serde(default)]
    pub local_reserved: Fact<Bytes>,
    /// f32 fused multiply-adds a core finishes per clock, lanes counted.
    pub fma_per_clock: Fact<f64>,
    /// f16 fused multiply-adds a core finishes per clock, lanes counted.
    pub fma16_per_clock: Fact<f64>,
    /// f64 fused multiply-adds a core finishes per clock, lanes counted.
    #[serde(default)]
    pub fma64_per_clock: Fact<f64>,
    /// Lanes of 4 bytes that a core's load-store unit serves per clock.
    #[serde(default)]
    pub lsu_lanes: Fact<u32>,
    /// Special functions (exp, sqrt, division) a core finishes per clock, lanes counted.
    pub special_per_clock: Fact<f64>,
    /// Matrix units.
    #[serde(default)]
    pub matrix: Matrix,
    /// Instructions of a warp that a core issues per clock.
    pub issue_per_clock: Fact<f64>,
    /// f32 lanes that one work-item must use at once to reach the peak: 1 on SIMT hardware, the SIMD width on CPUs.
    pub vector_width: Fact<u32>,
    /// What an empty kernel takes by the clock that kernels are timed with.
    pub launch_overhead: Fact<Seconds>,
    /// From the end of a kernel to the beginning of the next in its queue while cores are awake, which that clock does not show; where it is
    /// unknown, nothing.
    #[serde(default)]
    pub launch_gap: Fact<Seconds>,
    /// How much later than the first core the others begin a kernel, where their threads sleep until a driver wakes them, and how much later the
    /// next kernel begins where they have fallen asleep ([`Profile::gap_behind`]). Of CPUs; where it is unknown, all begin at once.
    #[serde(default)]
    pub wake: Fact<Seconds>,
}

impl Profile {
    /// How texels of two dimensions lie: as is known, or as is the likeliest of what walks cannot tell apart
    /// ([`Probed::texture_geometries`], the best first). There texels in rows stand behind blocks of them: drivers lay images out in blocks
    /// wherever both are to be had, and what a cache too small for several blocks shows is rows, whatever it is.
    pub fn likely_layout(&self) -> Option<crate::layout::ImageLayout> {
        let known = self.image.layout.get().copied();
        let mut all = self.probed.texture_geometries.get().into_iter().flatten().filter_map(|shape| shape.layout).filter(|_| {
            // What is not there has no layout.
            !matches!(self.image.layout, Fact::Absent { .. })
        });
        known.or_else(|| {
            let first = all.next()?;
            let is_rows = |layout: &crate::layout::ImageLayout| matches!(layout, crate::layout::ImageLayout::Linear { .. });
            Some(std::iter::once(first).chain(all).find(|layout| !is_rows(layout)).unwrap_or(first))
        })
    }

    /// What lies between a kernel of so many seconds and the next ([`Execution::launch_gap`]). Behind one that keeps cores waiting for longer than
    /// waking them takes ([`Execution::wake`]), whoever ends it has to wake them: one of more than two wakes (docs/provenance.md, "Gaps").
    pub fn gap_behind(&self, time: Seconds) -> Seconds {
        let [gap, wake] = [&self.execution.launch_gap, &self.execution.wake].map(|own| own.get().copied().unwrap_or(Seconds::ZERO));
        if time.0 > 2.0 * wake.0 { Seconds(gap.0 + wake.0) } else { gap }
    }

    /// What kernels of so many seconds take that run one after another, with what lies between them.
    pub fn in_turn(&self, times: impl IntoIterator<Item = Seconds>) -> Seconds {
        let mut behind = Seconds::ZERO;
        let each = times.into_iter().map(|time| {
            let before = std::mem::replace(&mut behind, self.gap_behind(time));
            Seconds(before.0 + time.0)
        });
        each.sum()
    }
}

/// Multiply-adds that a core's matrix units finish per clock, by the type of their operands; of dense matrices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matrix {
    /// Half precision.
    #[serde(default)]
    pub f16: Fact<f64>,
    /// bfloat16.
    #[serde(default)]
    pub bf16: Fact<f64>,
    /// Single precision, which NVIDIA's units round to TF32.
    #[serde(default)]
    pub f32: Fact<f64>,
    /// Double precision.
    #[serde(default)]
    pub f64: Fact<f64>,
    /// Integers of 8 bits.
    #[serde(default)]
    pub int8: Fact<f64>,
}

/// Caches and memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// First-level cache of images.
    pub texture_l1: Cache,
    /// First-level cache of buffers.
    pub buffer_l1: Cache,
    /// Second-level cache.
    pub l2: Cache,
    /// Last-level cache before memory.
    pub llc: Cache,
    /// Local memory's bandwidth, whole device.
    pub local_bandwidth: Fact<BytesPerSecond>,
    /// Memory's bandwidth.
    pub dram_bandwidth: Fact<BytesPerSecond>,
    /// Latency of a load that misses every cache.
    pub dram_latency: Fact<Cycles>,
    /// What a miss of the first-level buffer cache fetches at once: its line, or a sector of it.
    #[serde(default)]
    pub sector: Fact<Bytes>,
    /// What memory delivers at once.
    #[serde(default)]
    pub dram_fetch: Fact<Bytes>,
    /// How much of the second-level cache one core's data can use: less than all instances together where each serves its own cores and
    /// keeps its own copy of a line.
    #[serde(default)]
    pub l2_effective: Fact<Bytes>,
    /// Lines that a core waits for at a time. Of CPUs; where it is unknown, the model takes twelve.
    #[serde(default)]
    pub in_flight: Fact<f64>,
    /// Of what a stream from the last level takes, or arithmetic of a core meanwhile if that is less, the part that one hides of the other: 1 where
    /// prefetchers ask for lines as if nothing else went on, 0 where a core does one after the other. Of CPUs; where it is unknown, nothing is hidden.
    #[serde(default)]
    pub llc_beside: Fact<f64>,
    /// The same of a stream from memory.
    #[serde(default)]
    pub dram_beside: Fact<f64>,
    /// Translation of addresses.
    #[serde(default)]
    pub tlb: Tlb,
}

/// Translation of addresses, as far as a load of a core notices it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tlb {
    /// What one entry maps.
    #[serde(default)]
    pub page: Fact<Bytes>,
    /// Memory that all entries map together: touching no more costs nothing.
    #[serde(default)]
    pub reach: Fact<Bytes>,
    /// What a load whose page has no entry waits longer.
    #[serde(default)]
    pub miss_latency: Fact<Cycles>,
    /// How much later than another each of such loads comes, which do not wait for each other. Of CPUs; where it is unknown, one is looked up after
    /// the other.
    #[serde(default)]
    pub lookup: Fact<Cycles>,
}

/// One cache level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Capacity of one instance.
    pub bytes: Fact<Bytes>,
    /// Its line: what it allocates at once.
    pub line: Fact<Bytes>,
    /// Associativity.
    pub ways: Fact<u32>,
    /// Per bit of the set's number the address bits whose XOR it is.
    #[serde(default)]
    pub set_hash: Fact<Vec<Vec<u32>>>,
    /// Instances in the whole device.
    pub instances: Fact<u32>,
    /// Bandwidth of all instances together.
    pub bandwidth: Fact<BytesPerSecond>,
    /// Latency of a hit.
    pub latency: Fact<Cycles>,
}

/// Images.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Images {
    /// Largest width of a 2D image, texels.
    pub max_width: Fact<u32>,
    /// Largest height of a 2D image, texels.
    pub max_height: Fact<u32>,
    /// How texels lie in memory.
    pub layout: Fact<crate::layout::ImageLayout>,
}

impl Cache {
    /// A level that does not exist.
    pub fn absent(evidence: &str) -> Self {
        Self {
            bytes: Fact::absent(evidence),
            line: Fact::absent(evidence),
            ways: Fact::absent(evidence),
            set_hash: Fact::absent(evidence),
            instances: Fact::absent(evidence),
            bandwidth: Fact::absent(evidence),
            latency: Fact::absent(evidence),
        }
    }
}
