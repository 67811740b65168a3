//! What a trace knows of a GPU, read off its [`Silicon`]: how many cores there are, what they hold, and the caches behind them. Sets of the second
//! level are taken by a hash, and it is one cache for all cores: what each of an A100's partitions keeps for itself is kept once.

use super::fault::TraceFault;
use crate::silicon::{Geometry, Silicon, carved};
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
    pub carve: Vec<u32>,
    /// The second-level cache, shared.
    pub l2: Level,
    /// Bytes that device memory delivers at once, a multiple of the second level's sectors.
    pub fetch: u64,
    /// Bytes of a lane up to which compilers make neighbouring accesses one; 0 where they leave them as they are.
    pub joined: u64,
    /// How images lie in memory.
    pub image: ImageLayout,
    /// Keys of the silicon that are read here and have no source.
    pub assumed: Vec<String>,
}

/// What a trace reads of silicon: keys, or sections of them.
const READ: [&str; 8] =
    ["core.count", "core.joined", "residency.", "texture.image2d.layout", "l1.", "l2.cache.", "l2.sector", "dram.burst"];

/// And what it does not: these say how long something takes.
const TIMES: [&str; 2] = ["l1.latency", "l1.fill"];

impl Levels {
    /// Of embedded silicon.
    ///
    /// # Errors
    /// The names of those there are.
    pub fn named(name: &str) -> Result<Self, Vec<&'static str>> {
        let of = |name: &str| Silicon::named(name).and_then(|silicon| Self::of(&silicon));
        of(name).ok_or_else(|| Silicon::names().filter(|name| of(name).is_some()).collect())
    }

    /// Of silicon whose buffers have a first-level cache; `None` of other silicon, and of such that a trace cannot follow.
    pub fn of(silicon: &Silicon) -> Option<Self> {
        let (l1, l2) = (silicon.l1.as_ref()?, &silicon.l2);
        let level = |cache: &Geometry, sector: u32, hashed: bool| Level {
            bytes: cache.bytes,
            line: cache.line.into(),
            sector: sector.into(),
            ways: Some(cache.ways),
            hashed,
        };
        let reads = |key: &&String| READ.iter().any(|read| key.starts_with(read)) && !TIMES.contains(&key.as_str());
        let levels = Self {
            name: silicon.name.clone(),
            cores: silicon.core.count,
            residency: silicon.residency,
            l1: level(&l1.cache, l1.sector, l1.hashed),
            carve: l1.carve.clone(),
            l2: level(&l2.cache, l2.sector, true),
            fetch: silicon.dram.burst.into(),
            joined: silicon.core.joined.into(),
            image: silicon.texture.image2d.layout,
            assumed: silicon.assumed.iter().filter(reads).cloned().collect(),
        };
        levels.check().is_ok().then_some(levels)
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
        // Something is left.
        let least = self.l1.line * self.l1.ways.map_or(1, u64::from);
        let left = self.l1.bytes.saturating_sub(carved(&self.carve, groups, local, &self.residency));
        Level { bytes: left.max(least), ..self.l1 }
    }
}
