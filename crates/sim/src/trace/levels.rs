//! What a trace knows of a GPU: how many cores there are, what they hold, and the caches behind them. Truth of the simulator, as its silicon is:
//! models never see it. The numbers of three GPUs stand here, and nowhere else.

use super::fault::TraceFault;
use warpsight_ir::Bytes;
use warpsight_ir::layout::ImageLayout;
use warpsight_ir::occupancy::Residency;

/// A cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// What it holds.
    pub bytes: u64,
    /// Bytes that are there under one tag; a power of two of at most 128.
    pub line: u64,
    /// Bytes that are loaded into a line at once: a power of two of at most 64, at least an eighth of a line.
    pub sector: u64,
    /// Lines of a set; `None` where every line may lie everywhere.
    pub ways: Option<u32>,
    /// Whether sets are taken by a hash of all bits of a line's number, or else by the lowest ones.
    pub hashed: bool,
}

/// A GPU as far as volumes go.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    /// Its name.
    pub name: String,
    /// Cores, each with a first-level cache.
    pub cores: u32,
    /// What a core holds at once.
    pub residency: Residency,
    /// The first-level cache of a core.
    pub l1: Level,
    /// How much of the first level may become local memory, ascending: the least that suffices is taken. Empty where local memory is apart.
    pub carve: Vec<u64>,
    /// The second-level cache, shared.
    pub l2: Level,
    /// Bytes that device memory delivers at once, a multiple of the second level's sectors.
    pub fetch: u64,
    /// Bytes of a lane up to which compilers make neighbouring accesses one; 0 where they leave them as they are.
    pub joined: u64,
    /// How images lie in memory.
    pub image: ImageLayout,
    /// What has no public source, in words.
    pub assumed: Vec<&'static str>,
}

/// The GPUs that [`Levels::named`] knows.
pub const NAMES: [&str; 3] = ["a100-40", "h200", "mi250x"];

const KIB: u64 = 1024;

impl Levels {
    /// One of [`NAMES`].
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "a100-40" => Some(Self::a100_40()),
            "h200" => Some(Self::h200()),
            "mi250x" => Some(Self::mi250x()),
            _ => None,
        }
    }

    /// NVIDIA A100 (A100 whitepaper; CUDA C++ Programming Guide, compute capability 8.0: residency, capacities of shared memory; 64 bytes of
    /// device memory at once: device table of the implementation of paper 002).
    fn a100_40() -> Self {
        Self {
            name: "a100-40".to_owned(),
            cores: 108,
            residency: nvidia(164 * KIB),
            l1: Level { bytes: 192 * KIB, line: 128, sector: 32, ways: Some(64), hashed: true },
            carve: [0, 8, 16, 32, 64, 100, 132, 164].map(|kib| kib * KIB).to_vec(),
            l2: Level { bytes: 40 << 20, line: 128, sector: 32, ways: Some(16), hashed: true },
            fetch: 64,
            joined: 0,
            image: ImageLayout::NvidiaBlockLinear { gobs_log2: 4 },
            assumed: vec![NVIDIA_SETS, NVIDIA_L2],
        }
    }

    /// NVIDIA H200 (H100 whitepaper; CUDA C++ Programming Guide, compute capability 9.0; device table of the implementation of paper 002).
    fn h200() -> Self {
        Self {
            name: "h200".to_owned(),
            cores: 132,
            residency: nvidia(228 * KIB),
            l1: Level { bytes: 256 * KIB, line: 128, sector: 32, ways: Some(64), hashed: true },
            carve: [0, 8, 16, 32, 64, 100, 132, 164, 196, 228].map(|kib| kib * KIB).to_vec(),
            l2: Level { bytes: 50 << 20, line: 128, sector: 32, ways: Some(16), hashed: true },
            fetch: 64,
            joined: 0,
            image: ImageLayout::NvidiaBlockLinear { gobs_log2: 4 },
            assumed: vec![NVIDIA_SETS, NVIDIA_L2],
        }
    }

    /// One die of an AMD MI250X (CDNA 2 whitepaper; AMDGPU back end of LLVM: residency, loads and stores of up to 16 bytes;
    /// ROCm Compute Profiler documentation: lines of 64 and 128 bytes, requests of 64).
    fn mi250x() -> Self {
        Self {
            name: "mi250x".to_owned(),
            cores: 110,
            residency: Residency {
                warp: Some(64),
                max_warps: Some(32),
                max_groups: Some(32),
                registers: Some(131_072),
                max_registers: Some(512),
                register_granule: Some(8),
                warp_granule: Some(4),
                max_group_size: Some(1024),
                max_barriers: Some(16),
                local: Some(Bytes(65_536.0)),
                local_granule: Some(Bytes(512.0)),
                local_reserved: None,
            },
            l1: Level { bytes: 16 * KIB, line: 64, sector: 64, ways: Some(64), hashed: false },
            carve: Vec::new(),
            l2: Level { bytes: 8 << 20, line: 128, sector: 64, ways: Some(16), hashed: true },
            fetch: 64,
            joined: 16,
            image: ImageLayout::MaliInterleaved,
            assumed: vec![
                "the first level has 64 ways",
                "sets of the second level are taken by a hash of the address",
                "texels lie in tiles of 16 × 16, in Morton's order",
            ],
        }
    }

    /// Whether these caches can be.
    pub(super) fn check(&self) -> Result<(), TraceFault> {
        let fault = |what: String| Err(TraceFault::Levels(what));
        for (name, level) in [("first", self.l1), ("second", self.l2)] {
            let Level { bytes, line, sector, ways, .. } = level;
            if !line.is_power_of_two() || line > 128 {
                return fault(format!("lines of the {name} level have {line} bytes, which is no power of two up to 128"));
            }
            if !sector.is_power_of_two() || sector > line.min(64) || line / sector > 8 {
                return fault(format!(
                    "sectors of the {name} level have {sector} bytes, which is no half, quarter or eighth of lines of {line}"
                ));
            }
            if ways == Some(0) || bytes / line < ways.map_or(1, u64::from) {
                return fault(format!("the {name} level has {bytes} bytes, which are not {} lines of {line}", ways.unwrap_or(1).max(1)));
            }
        }
        if self.l1.sector != self.l2.sector || self.l1.line > self.l2.line {
            return fault(
                "sectors of both levels have to be the same, and lines of the first no longer than those of the second".to_owned(),
            );
        }
        if !self.fetch.is_power_of_two() || self.fetch < self.l2.sector || self.fetch > self.l2.line {
            return fault(format!("device memory delivers {} bytes, which is no whole part of a line of the second level", self.fetch));
        }
        if self.cores == 0 || !(1..=128).contains(&self.residency.warp.unwrap_or(1)) {
            return fault("there are no cores, or warps of more than 128 lanes".to_owned());
        }
        Ok(())
    }

    /// The first level of a core that holds so many groups with so much local memory each.
    pub(super) fn first(&self, groups: u32, local: Bytes) -> Level {
        let reserved = self.residency.local_reserved.unwrap_or(Bytes::ZERO);
        let taken = if local.0 > 0.0 { (local.0 + reserved.0) * f64::from(groups) } else { 0.0 };
        let cut = self.carve.iter().find(|&&bytes| bytes as f64 >= taken).or(self.carve.last()).copied().unwrap_or(0);
        // Something is left.
        let least = self.l1.line * self.l1.ways.map_or(1, u64::from);
        Level { bytes: self.l1.bytes.saturating_sub(cut).max(least), ..self.l1 }
    }
}

const NVIDIA_SETS: &str = "the first level has 64 ways, the second 16; sets of both are taken by a hash of the address";
const NVIDIA_L2: &str = "the second level is one cache for all cores: what both of its partitions use is kept once";

/// What compute capabilities 8.0 and 9.0 have in common.
fn nvidia(local: u64) -> Residency {
    Residency {
        warp: Some(32),
        max_warps: Some(64),
        max_groups: Some(32),
        registers: Some(65_536),
        max_registers: Some(255),
        register_granule: Some(8),
        warp_granule: Some(4),
        max_group_size: Some(1024),
        max_barriers: None,
        local: Some(Bytes(local as f64)),
        local_granule: Some(Bytes(128.0)),
        local_reserved: Some(Bytes(1024.0)),
    }
}
