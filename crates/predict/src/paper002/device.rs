//! Numbers of a device: those of the authors where they have the device, else those of its profile.

use crate::volumes::first_level::l1::Rule as Measured;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use warpsight_ir::{NoEstimate, Profile};

/// How the first level works off an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// Banks, tags, load-store lanes.
    Nvidia,
    /// Four cycles where lanes do not follow each other word by word; even and odd lines.
    Cdna,
    /// Banks, even and odd lines.
    Rdna,
}

/// What the model knows of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Of its first level.
    pub rule: Rule,
    /// Multiprocessors or compute units.
    pub cores: f64,
    /// Cycles per second.
    pub clock: f64,
    /// Bytes of a first level.
    pub l1: f64,
    /// Bytes of the second level.
    pub l2: f64,
    /// Bytes per second between the second level and all first ones.
    pub l2_bandwidth: f64,
    /// Bytes per second.
    pub memory_bandwidth: f64,
    /// Bytes of a line that the first level allocates.
    pub line: u32,
    /// Bytes that it fetches at once.
    pub fetch: u32,
    /// Bytes that are written at once to the second level.
    pub write: u32,
    /// Bytes that memory delivers at once.
    pub memory_fetch: u32,
    /// Bytes of all banks of the first level.
    pub bank_width: u32,
    /// Lanes of a warp.
    pub warp: u32,
    /// Lanes that the first level takes together.
    pub sub_warp: u32,
    /// Words of four bytes that load-store units take a cycle.
    pub lsu: f64,
    /// Fused multiply-adds of f64 a cycle and core; 0 of a device without.
    pub fp64: f64,
    /// The same of f32.
    pub fp32: f64,
    /// Where the numbers come from, in words.
    pub source: &'static str,
}

/// A row of the authors' table, in its units.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    rule: Rule,
    cores: f64,
    clock: f64,
    l1: f64,
    l2: f64,
    l2_bandwidth: f64,
    memory_bandwidth: f64,
    line: u32,
    fetch: u32,
    write: u32,
    memory_fetch: u32,
    bank_width: u32,
    sub_warp: u32,
    lsu: Option<f64>,
    fp64: f64,
    fp32: f64,
}

fn table() -> &'static BTreeMap<String, Row> {
    static TABLE: LazyLock<BTreeMap<String, Row>> = LazyLock::new(|| {
        // The file is compiled in.
        toml::from_str(include_str!("devices.toml")).expect("devices.toml holds a row for each device")
    });
    &TABLE
}

/// Whether the authors have numbers of their own for the device of this name: then those of its profile count for nothing.
pub fn is_theirs(name: &str) -> bool {
    table().contains_key(name)
}

impl Device {
    /// Of a device with this profile.
    ///
    /// # Errors
    /// A number that neither the authors nor the profile know.
    pub fn of(on: &Profile) -> Result<Self, NoEstimate> {
        table().get(&on.name).map_or_else(|| Self::by_profile(on), |row| Ok(Self::by_authors(row)))
    }

    fn by_authors(row: &Row) -> Self {
        // "Warp size 32 (NVIDIA, RDNA), 64 (CDNA)".
        let warp = if row.rule == Rule::Cdna { 64 } else { 32 };
        Self {
            rule: row.rule,
            cores: row.cores,
            clock: row.clock * 1e9,
            l1: row.l1 * 1024.0,
            l2: row.l2 * 1024.0 * 1024.0,
            l2_bandwidth: row.l2_bandwidth * 1e9,
            memory_bandwidth: row.memory_bandwidth * 1e9,
            line: row.line,
            fetch: row.fetch,
            write: row.write,
            memory_fetch: row.memory_fetch,
            bank_width: row.bank_width,
            warp,
            sub_warp: row.sub_warp,
            lsu: row.lsu.unwrap_or(32.0),
            fp64: row.fp64,
            fp32: row.fp32,
            source: "numbers of the device as the authors' implementation has them (its device table)",
        }
    }

    fn by_profile(on: &Profile) -> Result<Self, NoEstimate> {
        let (e, m) = (&on.execution, &on.memory);
        let rule = match Measured::of(on).map_err(|unknown| unknown.of(on))? {
            Measured::Nvidia { .. } => Rule::Nvidia,
            Measured::Cdna => Rule::Cdna,
            Measured::Rdna => Rule::Rdna,
        };
        let line = m.buffer_l1.line.need(on, "memory.buffer_l1.line")?.0 as u32;
        let fetch = m.sector.get().map_or(line, |bytes| bytes.0 as u32);
        let warp = e.warp.need(on, "execution.warp")?;
        let l2 = match m.l2_effective.get() {
            Some(bytes) => bytes.0,
            None => m.l2.bytes.need(on, "memory.l2.bytes")?.0 * f64::from(m.l2.instances.get().copied().unwrap_or(1)),
        };
        let fp32 = e.fma_per_clock.need(on, "execution.fma_per_clock")?;
        Ok(Self {
            rule,
            cores: f64::from(e.cores.need(on, "execution.cores")?),
            clock: e.clock.need(on, "execution.clock")?.0,
            l1: m.buffer_l1.bytes.need(on, "memory.buffer_l1.bytes")?.0,
            l2,
            l2_bandwidth: m.l2.bandwidth.need(on, "memory.l2.bandwidth")?.0,
            memory_bandwidth: m.dram_bandwidth.need(on, "memory.dram_bandwidth")?.0,
            line,
            fetch,
            write: fetch,
            memory_fetch: m.dram_fetch.get().map_or(fetch, |bytes| bytes.0 as u32),
            // As the authors have it: banks of NVIDIA and RDNA are as wide as 32 words, those of CDNA as 16, which serve a quarter of a warp.
            bank_width: if rule == Rule::Cdna { 64 } else { 128 },
            warp,
            sub_warp: if rule == Rule::Cdna { 16 } else { warp },
            lsu: f64::from(e.lsu_lanes.need(on, "execution.lsu_lanes")?),
            fp64: e.fma64_per_clock.get().copied().unwrap_or(0.0),
            fp32,
            source: "numbers of the device from its profile: the authors have none for it",
        })
    }
}
