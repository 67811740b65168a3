//! What a simulated GPU is made of. Text form: `sim/devices/*.toml`; the comments there say where each number comes from.

use serde::Deserialize;
use warpsight_ir::Bytes;
use warpsight_ir::layout::ImageLayout;
use warpsight_ir::occupancy::Residency;

/// A simulated GPU: its units, their rates (cycles of [`Core::clock`]) and their sizes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Silicon {
    /// Its short name, as in `sim:adreno640`.
    pub name: String,
    /// What it is, in words.
    pub description: String,
    /// Cores and their arithmetic.
    pub core: Core,
    /// What may be resident, and what a program may ask for.
    pub limits: Limits,
    /// The start of a kernel.
    pub launch: Launch,
    /// Texture units and their caches.
    pub texture: Texture,
    /// Load-store units.
    pub buffer: Buffer,
    /// Local memory.
    pub local: Local,
    /// The second-level cache.
    pub l2: L2,
    /// Device memory.
    pub dram: Dram,
}

/// Cores and their arithmetic. Rates are scalar instructions a result costs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// Cores (Adreno: shader processors).
    pub count: u32,
    /// Issue ports of a core (Adreno: uSPTPs), each with its ALUs and texture unit. A wave stays on one.
    pub ports: u32,
    /// Hz.
    pub clock: f64,
    /// Lanes of a wave; at most 64.
    pub wave: u32,
    /// ALU lanes of a port: a scalar instruction occupies it for `wave / lanes` cycles.
    pub lanes: u32,
    /// Cycles until a result may be read.
    pub alu_latency: f64,
    /// Floating-point arithmetic, selections, conversions.
    pub float_rate: f64,
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
}

/// What may be resident, and what a program may ask for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// 32-bit registers of a work-item; what a program needs beyond is spilled.
    pub registers: u32,
    /// Quanta of four registers in a core's file.
    pub register_quanta: u32,
    /// Waves that fit for each time a work-item's quanta fit.
    pub waves_per_quantum: u32,
    /// Waves resident on a core.
    pub max_waves: u32,
    /// Groups resident on a core.
    pub max_groups: u32,
    /// Work-items in a group.
    pub group_size: u32,
    /// Bytes of local memory, of a group and of a core.
    pub local_bytes: u32,
    /// Texels along each dimension of an image.
    pub image: u32,
    /// Bytes of device memory.
    pub memory: u64,
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
}

/// Texture units and their caches, one of each a port.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Texture {
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
    /// Bytes of a line.
    pub line: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Per bit of the set number the address bits whose XOR it is.
    pub set_hash: Vec<Vec<u32>>,
    /// Cycles beyond a hit when the second level has the line.
    pub miss_latency: f64,
    /// Bytes a cycle that arrive in one cache.
    pub fill: f64,
    /// How texels lie in memory.
    pub layout: ImageLayout,
}

/// Load-store units, one a core. Buffers have no first-level cache.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Cycles from the unit to the register when the second level has the line.
    pub latency: f64,
    /// Throughput.
    pub bytes_per_cycle: f64,
    /// Cycles an access costs besides.
    pub wave_overhead: f64,
    /// Cycles of stores under way before a wave has to wait.
    pub store_queue: f64,
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
    /// Of all slices.
    pub bytes: u32,
    /// Bytes of a line; at most 64.
    pub line: u32,
    /// Lines of a set.
    pub ways: u32,
    /// Slices.
    pub slices: u32,
    /// Per bit of the slice number the address bits whose XOR it is.
    pub slice_hash: Vec<Vec<u32>>,
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

/// Why a text describes no silicon.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SiliconError {
    /// Not the expected TOML.
    #[error("silicon description: {0}")]
    Text(String),
    /// A value the simulator cannot work with.
    #[error("silicon `{name}`: {field} is {value}; it must be {rule}")]
    Value {
        /// The silicon's name.
        name: String,
        /// Table and key.
        field: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        rule: &'static str,
    },
}

impl Limits {
    /// What groups compete for on a core whose waves have so many lanes.
    pub fn residency(&self, wave: u32) -> Residency {
        Residency {
            warp: Some(wave),
            max_warps: Some(self.max_waves),
            max_groups: Some(self.max_groups),
            registers: Some(self.register_quanta * 4 * wave * self.waves_per_quantum),
            max_registers: Some(self.registers),
            register_granule: Some(4),
            warp_granule: Some(self.waves_per_quantum),
            max_group_size: Some(self.group_size),
            local: Some(Bytes(self.local_bytes.into())),
            ..Residency::default()
        }
    }
}

impl Silicon {
    /// The Adreno 640 of `sim/devices/adreno640.toml`.
    pub fn adreno640() -> Self {
        // The text is part of the build; the test below fails where it does not parse.
        match Self::parse(include_str!("../devices/adreno640.toml")) {
            Ok(silicon) => silicon,
            Err(error) => unreachable!("the embedded description is tested: {error}"),
        }
    }

    /// The embedded silicon of that name.
    pub fn named(name: &str) -> Option<Self> {
        (name == "adreno640").then(Self::adreno640)
    }

    /// The names of all embedded silicon.
    pub const NAMES: [&'static str; 1] = ["adreno640"];

    /// Reads a description.
    pub fn parse(text: &str) -> Result<Self, SiliconError> {
        let silicon: Self = toml::from_str(text).map_err(|e| SiliconError::Text(e.to_string()))?;
        silicon.check()?;
        Ok(silicon)
    }

    fn check(&self) -> Result<(), SiliconError> {
        let require = |ok: bool, field: &'static str, value: String, rule: &'static str| {
            if ok { Ok(()) } else { Err(SiliconError::Value { name: self.name.clone(), field, value, rule }) }
        };
        let count = |n: u32, field| require((1..=4096).contains(&n), field, n.to_string(), "from 1 to 4096");
        let rate = |v: f64, field| require(v > 0.0 && v < 1e6, field, v.to_string(), "above 0 and below 1e6");
        let wait = |v: f64, field| require((0.0..1e6).contains(&v), field, v.to_string(), "from 0 to below 1e6");
        let size = |n: u32, field| require(n.is_power_of_two() && n >= 4, field, n.to_string(), "a power of two of at least 4");
        require((1..=64).contains(&self.core.wave), "core.wave", self.core.wave.to_string(), "from 1 to 64")?;
        require(self.core.clock > 0.0 && self.core.clock < 1e12, "core.clock", self.core.clock.to_string(), "above 0 and below 1e12")?;
        require((0.0..1.0).contains(&self.launch.overhead), "launch.overhead", self.launch.overhead.to_string(), "from 0 to below 1")?;
        for (n, field) in [
            (self.core.count, "core.count"),
            (self.core.ports, "core.ports"),
            (self.core.lanes, "core.lanes"),
            (self.limits.registers, "limits.registers"),
            (self.limits.register_quanta, "limits.register_quanta"),
            (self.limits.waves_per_quantum, "limits.waves_per_quantum"),
            (self.limits.max_waves, "limits.max_waves"),
            (self.limits.max_groups, "limits.max_groups"),
            (self.limits.group_size, "limits.group_size"),
            (self.texture.lanes_per_step, "texture.lanes_per_step"),
            (self.texture.wide_texel_bytes, "texture.wide_texel_bytes"),
            (self.texture.ways, "texture.ways"),
            (self.local.banks, "local.banks"),
            (self.l2.ways, "l2.ways"),
            (self.l2.misses, "l2.misses"),
            (self.dram.channels, "dram.channels"),
            (self.dram.banks, "dram.banks"),
        ] {
            count(n, field)?;
        }
        for (v, field) in [
            (self.core.float_rate, "core.float_rate"),
            (self.core.int_rate, "core.int_rate"),
            (self.core.int_multiply_rate, "core.int_multiply_rate"),
            (self.core.int_divide_rate, "core.int_divide_rate"),
            (self.core.special_rate, "core.special_rate"),
            (self.core.wide_rate, "core.wide_rate"),
            (self.texture.step, "texture.step"),
            (self.texture.fill, "texture.fill"),
            (self.buffer.bytes_per_cycle, "buffer.bytes_per_cycle"),
            (self.local.pass, "local.pass"),
            (self.l2.sector_time, "l2.sector_time"),
            (self.dram.bytes_per_cycle, "dram.bytes_per_cycle"),
        ] {
            rate(v, field)?;
        }
        for (v, field) in [
            (self.core.alu_latency, "core.alu_latency"),
            (self.core.loop_issue, "core.loop_issue"),
            (self.core.loop_latency, "core.loop_latency"),
            (self.core.branch_latency, "core.branch_latency"),
            (self.core.barrier_latency, "core.barrier_latency"),
            (self.launch.group_interval, "launch.group_interval"),
            (self.launch.wave_start, "launch.wave_start"),
            (self.texture.wave_overhead, "texture.wave_overhead"),
            (self.texture.latency, "texture.latency"),
            (self.texture.miss_latency, "texture.miss_latency"),
            (self.buffer.latency, "buffer.latency"),
            (self.buffer.wave_overhead, "buffer.wave_overhead"),
            (self.buffer.store_queue, "buffer.store_queue"),
            (self.local.latency, "local.latency"),
            (self.local.atomic, "local.atomic"),
            (self.l2.atomic, "l2.atomic"),
            (self.dram.latency, "dram.latency"),
            (self.dram.row_change, "dram.row_change"),
            (self.dram.row_overhead, "dram.row_overhead"),
        ] {
            wait(v, field)?;
        }
        for (n, field) in [
            (self.texture.line, "texture.line"),
            (self.l2.bytes, "l2.bytes"),
            (self.l2.line, "l2.line"),
            (self.l2.sector, "l2.sector"),
            (self.dram.interleave, "dram.interleave"),
            (self.dram.burst, "dram.burst"),
            (self.dram.row, "dram.row"),
        ] {
            size(n, field)?;
        }
        require(self.l2.line <= 64, "l2.line", self.l2.line.to_string(), "at most 64")?;
        require(self.l2.sector <= self.l2.line, "l2.sector", self.l2.sector.to_string(), "at most l2.line")?;
        require(self.texture.line <= self.l2.line, "texture.line", self.texture.line.to_string(), "at most l2.line")?;
        require(self.dram.interleave >= self.l2.line, "dram.interleave", self.dram.interleave.to_string(), "at least l2.line")?;
        require(self.dram.row >= self.dram.interleave, "dram.row", self.dram.row.to_string(), "at least dram.interleave")?;
        let bits = |hash: &[Vec<u32>]| hash.len() <= 12 && hash.iter().flatten().all(|&b| b < 40);
        let hash_rule = "at most 12 lists of bit numbers below 40";
        require(bits(&self.texture.set_hash), "texture.set_hash", format!("{:?}", self.texture.set_hash), hash_rule)?;
        require(bits(&self.l2.slice_hash), "l2.slice_hash", format!("{:?}", self.l2.slice_hash), hash_rule)?;
        let slices = 1u32 << self.l2.slice_hash.len();
        require(self.l2.slices == slices, "l2.slices", self.l2.slices.to_string(), "two to the number of lists of slice_hash")?;
        let lines = self.l2.bytes / self.l2.line / slices / self.l2.ways;
        require(lines.is_power_of_two(), "l2.ways", self.l2.ways.to_string(), "such that a slice has a power of two of sets")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = include_str!("../devices/adreno640.toml");

    #[test]
    fn the_embedded_description_parses() {
        let silicon = Silicon::parse(TEXT).expect("valid");
        assert_eq!(silicon, Silicon::named("adreno640").expect("embedded"));
        assert_eq!(Silicon::NAMES, [silicon.name.as_str()]);
    }

    #[test]
    fn bad_values_are_named() {
        let broken = TEXT.replace("wave = 64", "wave = 65");
        let error = Silicon::parse(&broken).expect_err("65 lanes");
        assert_eq!(error.to_string(), "silicon `adreno640`: core.wave is 65; it must be from 1 to 64");
        let broken = TEXT.replace("slices = 4", "slices = 3");
        assert!(Silicon::parse(&broken).expect_err("3 slices").to_string().contains("l2.slices"));
        assert!(matches!(Silicon::parse("name = 1"), Err(SiliconError::Text(_))));
    }
}
