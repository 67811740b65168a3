//! What was found, in the formats of other tools.

use crate::{Finding, Findings};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use warpsight_ir::profile::Fact;

/// What a driver states of a device, none of which a chase shows; `None` where it does not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stated {
    /// The device's own name.
    pub name: String,
    /// `NVIDIA` or `AMD`.
    pub vendor: Option<String>,
    /// Compute capability: major and minor.
    pub compute_capability: Option<(u32, u32)>,
    /// Highest clock in hertz.
    pub clock_hz: Option<f64>,
    /// Multiprocessors (compute units).
    pub multiprocessors: Option<u32>,
    /// FP32 units of one, a multiply-add a clock each.
    pub fp32_units: Option<u32>,
    /// Threads of a warp (wavefront).
    pub warp: Option<u32>,
    /// Threads of a multiprocessor at once.
    pub threads: Option<u32>,
    /// Threads of a block.
    pub block_threads: Option<u32>,
    /// Blocks of a multiprocessor at once.
    pub blocks: Option<u32>,
    /// 32-bit registers of a multiprocessor.
    pub registers: Option<u32>,
    /// Bytes of shared memory of a multiprocessor.
    pub shared_bytes: Option<f64>,
    /// Bytes of it that each block loses; 0 where the driver keeps none.
    pub shared_reserved_bytes: Option<f64>,
    /// Bytes of the whole L2.
    pub l2_bytes: Option<f64>,
    /// When it was measured, as ISO 8601 writes it: `2025-08-10T09:42:18Z`.
    pub timestamp: Option<String>,
}

/// Why something is not exported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// The format has no way to say that these are unknown.
    #[error("MT4G's format needs what is not known here: {}", .0.join(", "))]
    Missing(Vec<String>),
}

/// Caches of the format: the path in its `memory`, and the key of what is found.
const CACHES: [(&[&str], &str); 6] = [
    (&["l1"], "buffer.l1"),
    (&["texture"], "texture.l1"),
    (&["readOnly"], "readonly"),
    (&["constant", "l1"], "constant.l1"),
    (&["constant", "l1.5"], "constant.l15"),
    (&["scalarL1"], "scalar.l1"),
];

/// Caches that every file of the format has; the texture's only NVIDIA's files.
const NEEDED: [&str; 2] = ["buffer.l1", "texture.l1"];

/// Findings as the JSON of MT4G (github.com/caps-tum/mt4g), as of its first version.
///
/// A size that is not known has the confidence 0, which is how the format says so. Of one that is known, the format has no interval: the
/// confidence is 1 less the interval's width over the value. Where the driver states the whole L2, and a whole number of its parts lies in
/// the interval of what was measured, the segment is that part. Latencies are in cycles: `latency_cycles`, or `latency_s` at the clock.
///
/// # Errors
/// [`ExportError::Missing`]: latencies and what a driver states have no unknown in the format.
pub fn mt4g(findings: &Findings, stated: &Stated) -> Result<Value, ExportError> {
    let mut export = Export { findings, stated, missing: vec![] };
    let all = export.all();
    match export.missing.is_empty() {
        true => Ok(all),
        false => Err(ExportError::Missing(export.missing)),
    }
}

struct Export<'f> {
    findings: &'f Findings,
    stated: &'f Stated,
    missing: Vec<String>,
}

impl Export<'_> {
    fn all(&mut self) -> Value {
        let stated = self.stated;
        let nvidia = stated.vendor.as_deref() == Some("NVIDIA");
        let capability = self.need(stated.compute_capability, "compute capability").unwrap_or_default();
        let shared = self.need(stated.shared_bytes, "shared memory of a multiprocessor").unwrap_or_default();
        let units = self.need(stated.multiprocessors, "multiprocessors");
        json!({
            "compute": {
                "maxBlocksPerMultiProcessor": if nvidia { self.need(stated.blocks, "blocks of a multiprocessor") } else { stated.blocks },
                "maxThreadsPerBlock": self.need(stated.block_threads, "threads of a block"),
                "maxThreadsPerMultiProcessor": self.need(stated.threads, "threads of a multiprocessor"),
                "multiProcessorCount": units,
                "numberOfCoresPerMultiProcessor": self.need(stated.fp32_units, "FP32 units of a multiprocessor"),
                "regsPerMultiProcessor": if nvidia { self.need(stated.registers, "registers of a multiprocessor") } else { stated.registers },
                "warpSize": self.need(stated.warp, "warp"),
            },
            "general": {
                "clockRate": { "unit": "kHz", "value": self.need(stated.clock_hz, "clock").map(|hertz| hertz / 1e3) },
                "computeCapability": { "major": capability.0, "minor": capability.1 },
                "name": stated.name,
                "vendor": self.need(stated.vendor.as_deref(), "vendor"),
            },
            "memory": self.memory(nvidia, shared, units.unwrap_or(1)),
            "meta": { "timestamp": self.need(stated.timestamp.as_deref(), "time of measurement") },
        })
    }

    fn memory(&mut self, nvidia: bool, shared: f64, units: u32) -> Value {
        let mut memory = Map::new();
        for (path, key) in CACHES {
            let found = self.findings.facts.keys().any(|own| own.starts_with(&format!("{key}.")));
            if !found && !(NEEDED.contains(&key) && (nvidia || key == NEEDED[0])) {
                continue;
            }
            let cache = json!({
                "size": size(self.fact(&format!("{key}.capacity_bytes"))),
                "lineSize": size(self.fact(&format!("{key}.line_bytes"))),
                "fetchGranularity": size(self.fact(&format!("{key}.fetch_bytes"))),
                "latency": self.latency(key),
            });
            match path {
                [table, level] => memory.entry(*table).or_insert_with(|| json!({}))[*level] = cache,
                [level] => drop(memory.insert((*level).to_owned(), cache)),
                _ => (),
            }
        }
        memory.insert("l2".to_owned(), self.l2());
        memory.insert("main".to_owned(), json!({ "latency": self.latency("dram") }));
        // HIP states the sum over all multiprocessors.
        let shared = if nvidia { shared } else { shared * f64::from(units) };
        let reserved = self.need(self.stated.shared_reserved_bytes, "shared memory reserved of a block");
        let mut local = json!({ "sharedMemPerMultiProcessor": bytes(Some(shared)), "reservedSharedMemPerBlock": bytes(reserved) });
        if self.cycles("local").is_some() {
            local["latency"] = self.latency("local");
        }
        memory.insert("shared".to_owned(), local);
        Value::Object(memory)
    }

    fn l2(&mut self) -> Value {
        let segment = self.fact("buffer.l2.capacity_bytes");
        let whole = self.stated.l2_bytes.or(segment.and_then(|fact| fact.get().copied()));
        let part = match (segment, whole) {
            (Some(Fact::Known { value, lo: Some(lo), hi: Some(hi), .. }), Some(whole)) => {
                let part = whole / (whole / value).round().max(1.0);
                (*lo..=*hi).contains(&part).then_some(part)
            }
            _ => None,
        };
        let mut segment = size(segment);
        if let Some(part) = part {
            segment["size"] = json!(part);
        }
        json!({
            "size": bytes(self.need(whole, "L2's size")),
            "segmentSize": segment,
            "lineSize": size(self.fact("buffer.l2.line_bytes")),
            "fetchGranularity": size(self.fact("buffer.l2.fetch_bytes")),
            "latency": self.latency("buffer.l2"),
        })
    }

    fn latency(&mut self, key: &str) -> Value {
        let found = self.cycles(key);
        let [_, median, most] = self.need(found, &format!("{key}.latency_cycles")).unwrap_or_default();
        // How many loads a fact is of, it does not say.
        json!({ "unit": "cycles", "method": "p-chase", "p50": median, "p95": most, "measurements": 0 })
    }

    /// Lower end, value and upper end of a latency in cycles.
    fn cycles(&self, key: &str) -> Option<[f64; 3]> {
        let ends = |fact: &Fact<f64>, scale: f64| match fact {
            Fact::Known { value, lo, hi, .. } => Some([lo.unwrap_or(*value), *value, hi.unwrap_or(*value)].map(|end| end * scale)),
            _ => None,
        };
        let cycles = self.fact(&format!("{key}.latency_cycles")).and_then(|fact| ends(fact, 1.0));
        cycles.or_else(|| ends(self.fact(&format!("{key}.latency_s"))?, self.stated.clock_hz?))
    }

    fn fact(&self, key: &str) -> Option<&Fact<f64>> {
        match self.findings.facts.get(key)? {
            Finding::Number(fact) => Some(fact),
            _ => None,
        }
    }

    /// What has to be there.
    fn need<T>(&mut self, value: Option<T>, what: &str) -> Option<T> {
        if value.is_none() {
            self.missing.push(what.to_owned());
        }
        value
    }
}

/// A size that a chase found, or did not.
fn size(fact: Option<&Fact<f64>>) -> Value {
    let (value, confidence) = match fact {
        Some(Fact::Known { value, lo, hi, .. }) => {
            let width = hi.unwrap_or(*value) - lo.unwrap_or(*value);
            (*value, (1.0 - width / value).clamp(0.0, 1.0))
        }
        _ => (0.0, 0.0),
    };
    json!({ "confidence": confidence, "method": "p-chase", "randomized": false, "size": value, "unit": "bytes" })
}

fn bytes(value: Option<f64>) -> Value {
    json!({ "unit": "bytes", "value": value })
}

#[cfg(test)]
mod tests;
